/*
   Kernels that are written once for the host and for devices. In such a file KERNEL(type, name) begins a kernel, READ, WRITE
   and LIST name its arrays, and PASS and the macros below it loop over entries. The host includes the file once for each
   precision (muontwice.h); this header has its loops. A device includes it once, as templates (muonkokkos.hpp).

   An array x has n contiguous vectors of m entries, with the distance ldx. In a pass AT(x) is entry i of vector j. A pass
   must not depend on the order of the entries. A list has no gaps.
*/
#pragma once

#include "muonstretch.h"
#include "muonentry.h"

/* The number of partial sums, and the entries of a block. At the end of a block the partial sums are added up */
#define LANES 8
#define BLOCK ((size_t)1024)

#if !defined(MUON_KERNELS_DEVICE)
  #define KERNEL(type, name)   MUON_KERNEL_CLONES type REAL_NAME(MuonKernel##name)
  #define FUNCTION(type, name) MUON_KERNEL_INLINE type REAL_NAME(name)
  #define LOCAL(type, name)    MUON_KERNEL_CLONES static type REAL_NAME(name)
  #define CALL(name)           REAL_NAME(MuonKernel##name)
  #define IS_DEVICE            0

  #define READ(type, x, X)         const type *x = (const type *)(X)
  #define WRITE(type, x, X)        type *x = (type *)(X)
  #define LIST(type, x, X, length) type *x = (type *)(X)

  #define AT(x) x[j * ld##x + i]

  #define EACH(k, count, ...) \
    for (size_t k = 0; k < (count); k++) { \
      __VA_ARGS__; \
    }
  /* With declarations that depend only on the vector */
  #define PASS_WITH(declarations, ...) \
    do { \
      for (size_t j = 0; j < n; j++) { \
        declarations; \
        for (size_t i = 0; i < m; i++) { \
          __VA_ARGS__; \
        } \
      } \
    } while (0)
  #define PASS(...) PASS_WITH((void)0, __VA_ARGS__)

  /* Loops over the entries number first ... first + count - 1; k counts from 0 */
  #define RANGE(k, first, count, ...) \
    for (size_t done_ = 0, run_, j = m > 0 ? (first) / m : 0, at_ = (first)-j * m; done_ < count; done_ += run_, j++, at_ = 0) { \
      run_ = m - at_ < count - done_ ? m - at_ : count - done_; \
      for (size_t l_ = 0; l_ < run_; l_++) { \
        const size_t i = at_ + l_, k = done_ + l_; \
        __VA_ARGS__; \
      } \
    }

  /* any = whether the body has set the top bit of reached, by |=, for any entry */
  #define EACH_ANY(any, type, k, count, ...) \
    do { \
      type reached = 0; \
      EACH(k, count, __VA_ARGS__); \
      any = reached >> (8 * sizeof(type) - 1) != 0; \
    } while (0)
  #define PASS_ANY(any, ...) \
    EACH_ANY( \
      any, BITS, j, n, for (size_t i = 0; i < m; i++) { __VA_ARGS__; })

  /* Adds the terms of entries first ... end - 1 to eight partial sums, and these pairwise to the total */
  #define ADD_LANES(total, first, end, ...) \
    do { \
      double lane[LANES] = {0, 0, 0, 0, 0, 0, 0, 0}; \
      size_t k           = first; \
      for (; k + LANES <= end; k += LANES) { \
        for (size_t i = k; i < k + LANES; i++) lane[i - k] += __VA_ARGS__; \
      } \
      for (size_t i = k; i < end; i++) lane[i - k] += __VA_ARGS__; \
      total += ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7])); \
    } while (0)
  /* The sum of a term in double, block by block */
  #define PASS_SUM(total, ...) \
    do { \
      total = 0; \
      for (size_t j = 0; j < n; j++) { \
        for (size_t top = 0; top < m; top += BLOCK) { \
          const size_t bottom = m - top < BLOCK ? m : top + BLOCK; \
          ADD_LANES(total, top, bottom, __VA_ARGS__); \
        } \
      } \
    } while (0)
  /* The sum of a term in the order of entries */
  #define PASS_ORDERED(total, ...) \
    do { \
      total = 0; \
      PASS(total += __VA_ARGS__); \
    } while (0)
  /* The largest value of a term, an unsigned integer, in a part of a vector or in all vectors */
  #define MAX_LANES(most, type, first, end, ...) \
    do { \
      type   lane[LANES] = {0, 0, 0, 0, 0, 0, 0, 0}; \
      size_t k           = first; \
      for (; k + LANES <= end; k += LANES) { \
        for (size_t l = 0; l < LANES; l++) { \
          const size_t i    = k + l; \
          const type   term = __VA_ARGS__; \
          lane[l]           = term > lane[l] ? term : lane[l]; \
        } \
      } \
      for (size_t i = k; i < end; i++) { \
        const type term = __VA_ARGS__; \
        lane[0]         = term > lane[0] ? term : lane[0]; \
      } \
      for (size_t l = 0; l < LANES; l++) most = lane[l] > most ? lane[l] : most; \
    } while (0)
  #define PASS_MAX(most, type, ...) \
    do { \
      most = 0; \
      for (size_t j = 0; j < n; j++) MAX_LANES(most, type, 0, m, __VA_ARGS__); \
    } while (0)
#endif
