/*
   Compiles a loop for several kinds of processors. The program chooses one of them when it starts. This is only for functions
   with the same result, to the last bit, for every width of vectors: integers, single operations on floating-point numbers,
   and sums with partial sums that are explicit in the source. The makefile does not allow fused multiply-add.

   If the compiler, the C library or a sanitizer cannot do this, the function is compiled once, for the processor that the
   flags name.
*/
#pragma once

#include <stddef.h>
#include <stdint.h>

/* clang 14 gives the choosing function another name than its callers use */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__INTEL_COMPILER) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  #if __GNUC__ >= 12
    #define MUON_KERNEL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
    /* Functions for one kind of processor can be defined beside functions for all of them */
    #define MUON_KERNEL_CLONES_X86
  #endif
#endif
#if !defined(MUON_KERNEL_CLONES)
  #define MUON_KERNEL_CLONES
#endif
/* For functions that such a function calls: they must be inlined into each clone */
#if defined(__GNUC__)
  #define MUON_KERNEL_INLINE static inline __attribute__((always_inline))
  /* An address that is read soon; it need not be valid */
  #define MUON_KERNEL_PREFETCH(address) __builtin_prefetch(address, 0, 2)
#else
  #define MUON_KERNEL_INLINE            static inline
  #define MUON_KERNEL_PREFETCH(address) ((void)0)
#endif
/* Functions that also run on a device */
#if defined(KOKKOS_INLINE_FUNCTION)
  #define MUON_ENTRY KOKKOS_INLINE_FUNCTION
#else
  #define MUON_ENTRY MUON_KERNEL_INLINE
#endif
