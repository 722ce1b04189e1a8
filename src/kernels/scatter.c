/*
   Entries that a bitmap in row-major order names, out of a matrix by columns and back into one: squares of 64 x 64 entries, so that few pages are used at a time.
*/
#include "muonkernels.h"
#include "muonimage.h"
#include "muonsquare.h"

/* Columns that are asked for early */
#define AHEAD 64

MUON_KERNEL_INLINE size_t CountBits(const unsigned char *bitmap, size_t first, size_t count)
{
  size_t found = 0;

  for (size_t k = 0; k < count; k += SQUARE) {
    uint64_t word = GetBits(bitmap, first + k, count - k < SQUARE ? count - k : SQUARE);

#if defined(__GNUC__)
    found += (size_t)__builtin_popcountll(word);
#else
    for (; word != 0; word &= word - 1) found++;
#endif
  }
  return found;
}

MUON_KERNEL_CLONES size_t MuonKernelCountBits(const unsigned char *bitmap, size_t first, size_t count)
{
  return CountBits(bitmap, first, count);
}

MUON_KERNEL_CLONES int MuonKernelGather(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, MuonKernelScalar limit, const unsigned char *bitmap, MuonKernelScalar *values)
{
  Bits image, reached = 0;

  memcpy(&image, &limit, sizeof(image));
  for (size_t top = 0; top < m; top += SQUARE) {
    const size_t      tall = m - top < SQUARE ? m - top : SQUARE;
    MuonKernelScalar *next[SQUARE];

    for (size_t i = 0; i < tall; i++) {
      next[i] = values;
      values += CountBits(bitmap, (top + i) * n, n);
    }
    for (size_t left = 0; left < n; left += SQUARE) {
      const size_t     wide = n - left < SQUARE ? n - left : SQUARE;
      MuonKernelScalar square[SQUARE][SQUARE]; /* by columns */
      Bits             bits[SQUARE];

      for (size_t j = 0; j < wide; j++) {
        const MuonKernelScalar *t = T + top + (left + j) * ldt, *r = R != NULL ? R + top + (left + j) * ldr : NULL;

        if (left + j + AHEAD < n) {
          for (size_t i = 0; i < tall; i += 64 / sizeof(*t)) {
            MUON_KERNEL_PREFETCH(t + i + AHEAD * ldt);
            if (r != NULL) MUON_KERNEL_PREFETCH(r + i + AHEAD * ldr);
          }
        }
        if (r != NULL) {
          for (size_t i = 0; i < tall; i++) square[j][i] = t[i] - r[i];
        } else {
          for (size_t i = 0; i < tall; i++) square[j][i] = t[i];
        }
        /* The top bit exactly where the limit is reached. Numbers that are not finite must not be computed with: that may be trapped */
        memcpy(bits, square[j], tall * sizeof(*bits));
        for (size_t i = 0; i < tall; i++) reached |= (bits[i] & ~TOP_BIT) + (TOP_BIT - image);
      }
      for (size_t i = 0; i < tall; i++) {
        for (uint64_t word = GetBits(bitmap, (top + i) * n + left, wide); word != 0; word &= word - 1) *next[i]++ = square[LowestBit(word)][i];
      }
    }
  }
  return (reached & TOP_BIT) != 0;
}

MUON_KERNEL_CLONES void MuonKernelScatter(size_t m, size_t n, const unsigned char *bitmap, size_t first, const MuonKernelScalar *values, int add, MuonKernelScalar a, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t top = 0; top < m; top += SQUARE) {
    const size_t            tall = m - top < SQUARE ? m - top : SQUARE;
    const MuonKernelScalar *next[SQUARE];

    for (size_t i = 0; i < tall; i++) {
      next[i] = values;
      values += CountBits(bitmap, first + (top + i) * n, n);
    }
    for (size_t left = 0; left < n; left += SQUARE) {
      const size_t wide = n - left < SQUARE ? n - left : SQUARE;

      for (size_t i = 0; i < tall; i++) {
        MuonKernelScalar *y = Y + top + i + left * ldy;

        if (left + i + AHEAD < n) {
          for (size_t k = 0; k < tall; k += 64 / sizeof(*Y)) MUON_KERNEL_PREFETCH(Y + top + k + (left + i + AHEAD) * ldy);
        }
        for (uint64_t word = GetBits(bitmap, first + (top + i) * n + left, wide); word != 0; word &= word - 1) {
          MuonKernelScalar *at = y + LowestBit(word) * ldy;

          if (add) *at += a * *next[i]++;
          else *at = *next[i]++;
        }
      }
    }
  }
}
