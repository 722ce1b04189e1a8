/*
   Linear combinations and norms of matrices.
*/
#include "muonkernels.h"
#include "muonclones.h"
#include "muonimage.h"
#include <math.h>
#include <string.h>

/* Independent partial sums: what a compiler needs to make vector code of a sum without reordering it itself */
#define SUMS 8
/* Entries of a block whose partial sums are added up before the next one begins */
#define BLOCK 1024

/* A tile: rows that are walked together, and the columns whose entries of a row fill a cache line */
#define TALL 64
#define WIDE 8
/* Columns that are asked for early, and entries of a cache line */
#define AHEAD 16
#define LINE  (64 / sizeof(MuonKernelScalar))

/* A matrix without gaps is one column */
static void Flatten(size_t *m, size_t *n, size_t ld1, size_t ld2)
{
  if (*m == ld1 && *m == ld2) {
    *m *= *n;
    *n = *m > 0;
  }
}

MUON_KERNEL_CLONES int MuonKernelIsBelow(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, MuonKernelScalar limit)
{
  Bits image, reached = 0;

  memcpy(&image, &limit, sizeof(image));
  Flatten(&m, &n, ldx, ldx);
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;

    for (size_t i = 0; i < m; i++) {
      Bits bits;

      memcpy(&bits, x + i, sizeof(bits));
      reached |= (bits & ~TOP_BIT) + (TOP_BIT - image); /* the top bit exactly where the limit is reached: absolute values are in the order of their bits, those that are not finite at the end */
    }
  }
  return (reached & TOP_BIT) == 0;
}

int MuonKernelIsFinite(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx)
{
  return MuonKernelIsBelow(m, n, X, ldx, (MuonKernelScalar)HUGE_VAL);
}

void MuonKernelMomentum(size_t m, size_t n, MuonKernelScalar previous, const MuonKernelScalar *M, size_t ldm, MuonKernelScalar fresh, MuonKernelScalar *G, size_t ldg)
{
  /* Without a previous momentum there need not be an M */
  if (previous == 0) MuonKernelAxpby(m, n, fresh, G, ldg, 0, G, ldg);
  else MuonKernelAxpby(m, n, previous, M, ldm, fresh, G, ldg);
}

MUON_KERNEL_CLONES void MuonKernelAxpby(size_t m, size_t n, MuonKernelScalar a, const MuonKernelScalar *X, size_t ldx, MuonKernelScalar b, MuonKernelScalar *Y, size_t ldy)
{
  Flatten(&m, &n, ldx, ldy);
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;
    MuonKernelScalar       *y = Y + j * ldy;

    if (b == 0) {
      for (size_t i = 0; i < m; i++) y[i] = a * x[i];
    } else if (b == 1) {
      for (size_t i = 0; i < m; i++) y[i] += a * x[i];
    } else {
      for (size_t i = 0; i < m; i++) y[i] = a * x[i] + b * y[i];
    }
  }
}

/* Rows and columns that change places by way of a tile: whole cache lines on both sides. Columns a few tiles ahead are asked for early */
MUON_KERNEL_CLONES void MuonKernelResidualRows(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, MuonKernelScalar *rows)
{
  for (size_t top = 0; top < m; top += TALL) {
    const size_t tall = m - top < TALL ? m - top : TALL;

    for (size_t left = 0; left < n; left += WIDE) {
      const size_t     wide = n - left < WIDE ? n - left : WIDE;
      MuonKernelScalar tile[WIDE][TALL];

      for (size_t j = 0; j < wide; j++) {
        const MuonKernelScalar *t = T + top + (left + j) * ldt, *r = R == NULL ? NULL : R + top + (left + j) * ldr;

        if (left + j + AHEAD < n) {
          for (size_t i = 0; i < tall; i += LINE) {
            MUON_KERNEL_PREFETCH(t + i + AHEAD * ldt);
            if (r != NULL) MUON_KERNEL_PREFETCH(r + i + AHEAD * ldr);
          }
        }
        if (r == NULL) {
          for (size_t i = 0; i < tall; i++) tile[j][i] = t[i];
        } else {
          for (size_t i = 0; i < tall; i++) tile[j][i] = t[i] - r[i];
        }
      }
      for (size_t i = 0; i < tall; i++) {
        MuonKernelScalar *row = rows + (top + i) * n + left;

        if (wide == WIDE) {
          for (size_t j = 0; j < WIDE; j++) row[j] = tile[j][i];
        } else {
          for (size_t j = 0; j < wide; j++) row[j] = tile[j][i];
        }
      }
    }
  }
}

MUON_KERNEL_CLONES void MuonKernelRowsAxpby(size_t m, size_t n, MuonKernelScalar a, const MuonKernelScalar *rows, MuonKernelScalar b, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t top = 0; top < m; top += TALL) {
    const size_t tall = m - top < TALL ? m - top : TALL;

    for (size_t left = 0; left < n; left += WIDE) {
      const size_t     wide = n - left < WIDE ? n - left : WIDE;
      MuonKernelScalar tile[WIDE][TALL];

      for (size_t i = 0; i < tall; i++) {
        const MuonKernelScalar *row = rows + (top + i) * n + left;

        if (wide == WIDE) {
          for (size_t j = 0; j < WIDE; j++) tile[j][i] = row[j];
        } else {
          for (size_t j = 0; j < wide; j++) tile[j][i] = row[j];
        }
      }
      for (size_t j = 0; j < wide; j++) {
        MuonKernelScalar *y = Y + top + (left + j) * ldy;

        if (left + j + AHEAD < n) {
          for (size_t i = 0; i < tall; i += LINE) MUON_KERNEL_PREFETCH(y + i + AHEAD * ldy);
        }
        if (b == 0) {
          for (size_t i = 0; i < tall; i++) y[i] = a * tile[j][i];
        } else {
          for (size_t i = 0; i < tall; i++) y[i] = a * tile[j][i] + b * y[i];
        }
      }
    }
  }
}

MUON_KERNEL_CLONES double MuonKernelSumSquares(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx)
{
  double total = 0;

  Flatten(&m, &n, ldx, ldx);
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;

    for (size_t i = 0; i < m; i += BLOCK) {
      const size_t count     = m - i < BLOCK ? m - i : BLOCK;
      double       sum[SUMS] = {0, 0, 0, 0, 0, 0, 0, 0};
      size_t       k         = 0;

      for (; k + SUMS <= count; k += SUMS) {
        for (size_t s = 0; s < SUMS; s++) sum[s] += (double)x[i + k + s] * (double)x[i + k + s];
      }
      for (; k < count; k++) sum[k % SUMS] += (double)x[i + k] * (double)x[i + k];
      total += ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
  }
  return total;
}

MUON_KERNEL_CLONES double MuonKernelSumAbs(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx)
{
  double total = 0;

  Flatten(&m, &n, ldx, ldx);
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;

    for (size_t i = 0; i < m; i += BLOCK) {
      const size_t count     = m - i < BLOCK ? m - i : BLOCK;
      double       sum[SUMS] = {0, 0, 0, 0, 0, 0, 0, 0};
      size_t       k         = 0;

      for (; k + SUMS <= count; k += SUMS) {
        for (size_t s = 0; s < SUMS; s++) sum[s] += fabs((double)x[i + k + s]);
      }
      for (; k < count; k++) sum[k % SUMS] += fabs((double)x[i + k]);
      total += ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
  }
  return total;
}
