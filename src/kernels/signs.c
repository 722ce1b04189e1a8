/*
   Signs as bits in row-major order, from matrices by columns and back: the signs of 64 rows and 64 columns are a square of bits, which is transposed in registers.
*/
#include "muonkernels.h"
#include "muonimage.h"
#include "muonsquare.h"
#include <math.h>

/* Rows of a column read or written at once: a page of doubles */
#define TALL 512
/* Independent partial sums */
#define SUMS 8

/* The top bit is set for a number below zero: a negative zero loses it with the lowest unit */
MUON_KERNEL_INLINE Bits Below(MuonKernelScalar x)
{
  Bits image;

  memcpy(&image, &x, sizeof(image));
  return image & (image - 1);
}

/* One bit for each of 64 numbers, 1 where it is not below zero, and their absolute values added to the partial sums. Simple loops, which compilers make vector code of */
MUON_KERNEL_INLINE uint64_t Column(const MuonKernelScalar *t, const MuonKernelScalar *r, double *sums)
{
  MuonKernelScalar x[SQUARE];
  Bits             below[SQUARE];
  uint64_t         word = 0;

  for (size_t i = 0; i < SQUARE; i++) x[i] = r == NULL ? t[i] : t[i] - r[i];
  for (size_t i = 0; i < SQUARE; i += SUMS) {
    for (size_t s = 0; s < SUMS; s++) sums[s] += fabs((double)x[i + s]);
  }
  memcpy(below, x, sizeof(below));
  for (size_t i = 0; i < SQUARE; i++) word |= (uint64_t)((below[i] & (below[i] - 1)) >> SIGN_SHIFT) << i;
  return ~word;
}

MUON_KERNEL_CLONES int MuonKernelSigns(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, unsigned char *bits, double *sumabs)
{
  double   total = 0;
  uint64_t image;

  if (m * n > 0) memset(bits, 0, (m * n + 7) / 8);
  for (size_t top = 0; top < m; top += TALL) {
    const size_t tall = m - top < TALL ? m - top : TALL;

    for (size_t left = 0; left < n; left += SQUARE) {
      const size_t wide = n - left < SQUARE ? n - left : SQUARE;
      uint64_t     squares[TALL / SQUARE][SQUARE];

      for (size_t j = 0; j < wide; j++) {
        const MuonKernelScalar *t = T + top + (left + j) * ldt, *r = R == NULL ? NULL : R + top + (left + j) * ldr;
        double                  sums[SUMS] = {0, 0, 0, 0, 0, 0, 0, 0};
        size_t                  i          = 0;

        if (r == NULL) {
          for (; i + SQUARE <= tall; i += SQUARE) squares[i / SQUARE][j] = Column(t + i, NULL, sums);
        } else {
          for (; i + SQUARE <= tall; i += SQUARE) squares[i / SQUARE][j] = Column(t + i, r + i, sums);
        }
        if (i < tall) {
          uint64_t word = 0;

          for (size_t k = 0; i + k < tall; k++) {
            const MuonKernelScalar x = r == NULL ? t[i + k] : t[i + k] - r[i + k];

            word |= (uint64_t)(Below(x) >> SIGN_SHIFT ^ 1u) << k;
            sums[k % SUMS] += fabs((double)x);
          }
          squares[i / SQUARE][j] = word;
        }
        total += ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
      }
      for (size_t q = 0; q * SQUARE < tall; q++) {
        const size_t first = top + q * SQUARE, some = tall - q * SQUARE < SQUARE ? tall - q * SQUARE : SQUARE;

        for (size_t j = wide; j < SQUARE; j++) squares[q][j] = 0;
        SquareTranspose(squares[q]);
        for (size_t i = 0; i < some; i++) PutBits(bits, (first + i) * n + left, wide, squares[q][i]);
      }
    }
  }
  *sumabs = total;
  /* A number that is not finite makes the total not finite; no compiler flag lets a test of its bits go */
  memcpy(&image, &total, sizeof(image));
  return (image >> 52 & 2047) == 2047;
}

MUON_KERNEL_CLONES void MuonKernelSignsAxpby(size_t m, size_t n, const unsigned char *bits, MuonKernelScalar a, MuonKernelScalar *Y, size_t ldy)
{
  Bits negative;

  a = -a;
  memcpy(&negative, &a, sizeof(negative));
  for (size_t top = 0; top < m; top += TALL) {
    const size_t tall = m - top < TALL ? m - top : TALL;

    for (size_t left = 0; left < n; left += SQUARE) {
      const size_t wide = n - left < SQUARE ? n - left : SQUARE;
      uint64_t     squares[TALL / SQUARE][SQUARE];

      for (size_t q = 0; q * SQUARE < tall; q++) {
        const size_t first = top + q * SQUARE, some = tall - q * SQUARE < SQUARE ? tall - q * SQUARE : SQUARE;

        for (size_t i = 0; i < some; i++) squares[q][i] = GetBits(bits, (first + i) * n + left, wide);
        for (size_t i = some; i < SQUARE; i++) squares[q][i] = 0;
        SquareTranspose(squares[q]);
      }
      for (size_t j = 0; j < wide; j++) {
        MuonKernelScalar *y = Y + top + (left + j) * ldy;

        for (size_t i = 0; i < tall; i += SQUARE) {
          const uint64_t word = squares[i / SQUARE][j];
          const size_t   some = tall - i < SQUARE ? tall - i : SQUARE;

          for (size_t k = 0; k < some; k++) {
            const Bits       image = negative ^ (Bits)(word >> k & 1u) << SIGN_SHIFT;
            MuonKernelScalar x;

            memcpy(&x, &image, sizeof(x));
            y[i + k] += x;
          }
        }
      }
    }
  }
}
