/*
   A loop compiled for several kinds of processors, one of which is chosen when the program starts. Only for
   functions whose result is the same to the last bit whatever the width of the vectors: integers, single
   operations on floating-point numbers, sums in partial sums that the source writes down. The makefile
   forbids to contract a product and a sum.

   Where compiler, C library or sanitizer do not know how, the function is compiled once, for the processor
   that the flags name.
*/
#pragma once

#include <stddef.h>
#include <stdint.h>

/* clang 14 gives the function that chooses another name than its callers know */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__INTEL_COMPILER) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  #if __GNUC__ >= 12
    #define MUON_KERNEL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
    /* Functions for one kind of processor may stand beside those for all of them */
    #define MUON_KERNEL_CLONES_X86
  #endif
#endif
#if !defined(MUON_KERNEL_CLONES)
  #define MUON_KERNEL_CLONES
#endif
/* For what such a function calls: it must become a part of each clone */
#if defined(__GNUC__)
  #define MUON_KERNEL_INLINE static inline __attribute__((always_inline))
  /* What is read soon; any address is right */
  #define MUON_KERNEL_PREFETCH(address) __builtin_prefetch(address, 0, 2)
#else
  #define MUON_KERNEL_INLINE            static inline
  #define MUON_KERNEL_PREFETCH(address) ((void)0)
#endif
/* What runs on a device as well */
#if defined(KOKKOS_INLINE_FUNCTION)
  #define MUON_ENTRY KOKKOS_INLINE_FUNCTION
#else
  #define MUON_ENTRY MUON_KERNEL_INLINE
#endif
