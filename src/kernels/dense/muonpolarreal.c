#if !defined(REAL)
  #include "muonpolarreal.h"
  #include "muonpanels.h"
  #include <math.h>

  /*
     This file includes itself once for each precision: REAL is the type of an entry, REAL_LETTER the letter
     of its BLAS routines, REAL_NAME(name) the name of a function
  */
  #define TWICE "../dense/muonpolarreal.c"
  #include "../array/muontwice.h"

static const void *Hold(size_t s, const void *B)
{
  (void)s;
  (void)B;
  return NULL;
}

const MuonKernelReal MuonKernelRealSingle = {"single", sizeof(float), 1.0 / 16777216.0, LoadSingle, StoreSingle, GramSingle, MultiplySingle, MirrorSingle, ProductSingle, Hold, MUON_HOST, NULL, NULL, NULL, NULL, NULL};
const MuonKernelReal MuonKernelRealDouble = {"double", sizeof(double), 1.0 / 9007199254740992.0, LoadDouble, StoreDouble, GramDouble, MultiplyDouble, MirrorDouble, ProductDouble, Hold, MUON_HOST, NULL, NULL, NULL, NULL, NULL};

  #if !defined(PETSCMUON_HAVE_KOKKOS)
const MuonKernelReal *MuonKernelRealOfDevice(const char *name)
{
  (void)name;
  return NULL;
}
  #endif

void MuonKernelRealRowSums(const MuonKernelReal *real, size_t s, const void *A, double *sums)
{
  if (real->rowsums != NULL) real->rowsums(s, A, sums);
  else if (real->size == sizeof(float)) RowSumsSingle(s, (const float *)A, sums);
  else RowSumsDouble(s, (const double *)A, sums);
}

void MuonKernelRealScale(const MuonKernelReal *real, int left, size_t s, size_t l, const double *d, void *Y, size_t ldy)
{
  if (real->scale != NULL) real->scale(left, s, l, d, Y, ldy);
  else if (real->size == sizeof(float)) ScaleSingle(left, s, l, d, (float *)Y, ldy);
  else ScaleDouble(left, s, l, d, (double *)Y, ldy);
}

void MuonKernelRealShift(const MuonKernelReal *real, size_t s, double shift, void *A)
{
  if (real->shift != NULL) real->shift(s, shift, A);
  for (size_t i = 0; i < s && real->shift == NULL; i++) {
    if (real->size == sizeof(float)) ((float *)A)[i * (s + 1)] += (float)shift;
    else ((double *)A)[i * (s + 1)] += shift;
  }
}

#else

/*
   Entries are divided in double: what is too small or too large for the precision of the kernel is not, once
   it is divided by the norm
*/
static void REAL_NAME(Load)(size_t m, size_t n, MuonPrecision precision, const void *G, size_t ldg, double norm, int exponent, void *Y, size_t ldy)
{
  const double f0 = ldexp(1.0, -(exponent / 2)), f1 = ldexp(1.0, -(exponent - exponent / 2)), inverse = 1.0 / norm;

  for (size_t j = 0; j < n; j++) {
    REAL *y = (REAL *)Y + j * ldy;

    if (precision == MUON_SINGLE) {
      for (size_t i = 0; i < m; i++) y[i] = (REAL)(((const float *)G)[i + j * ldg] * f0 * f1 * inverse);
    } else {
      for (size_t i = 0; i < m; i++) y[i] = (REAL)(((const double *)G)[i + j * ldg] * f0 * f1 * inverse);
    }
  }
}

static void REAL_NAME(Store)(size_t m, size_t n, double scale, const void *Y, size_t ldy, MuonPrecision precision, void *Q, size_t ldq)
{
  for (size_t j = 0; j < n; j++) {
    const REAL *y = (const REAL *)Y + j * ldy;

    if (precision == MUON_SINGLE) {
      for (size_t i = 0; i < m; i++) ((float *)Q)[i + j * ldq] = (float)(scale * y[i]);
    } else {
      for (size_t i = 0; i < m; i++) ((double *)Q)[i + j * ldq] = scale * y[i];
    }
  }
}

static void REAL_NAME(Gram)(int left, size_t s, size_t l, double a, const void *Y, size_t ldy, double b, void *A)
{
  const MuonBLASInt side = (MuonBLASInt)s, length = (MuonBLASInt)l, ld = (MuonBLASInt)(ldy > 0 ? ldy : 1);
  const REAL        alpha = (REAL)a, beta = (REAL)b;

  if (s == 0) return;
  REAL_NAME(MuonPanelSyrk)(left ? "N" : "T", &side, &length, &alpha, (const REAL *)Y, &ld, &beta, (REAL *)A, &side);
}

static void REAL_NAME(Multiply)(int left, size_t s, size_t l, double a, const void *B, const void *held, const void *Y, size_t ldy, double b, void *Z, size_t ldz)
{
  const MuonBLASInt side = (MuonBLASInt)s, rows = (MuonBLASInt)(left ? s : l), columns = (MuonBLASInt)(left ? l : s), ld = (MuonBLASInt)ldy, ldo = (MuonBLASInt)ldz;
  const REAL        alpha = (REAL)a, beta = (REAL)b;

  (void)held;
  if (s == 0 || l == 0) return;
  REAL_NAME(MuonPanelSymm)(left ? "L" : "R", &rows, &columns, &alpha, (const REAL *)B, &side, (const REAL *)Y, &ld, &beta, (REAL *)Z, &ldo);
}

/* By blocks that stay in cache */
static void REAL_NAME(Mirror)(size_t s, void *S)
{
  REAL        *A     = (REAL *)S;
  const size_t block = 32;

  for (size_t J = 0; J < s; J += block) {
    for (size_t I = J; I < s; I += block) {
      for (size_t j = J; j < J + block && j < s; j++) {
        for (size_t i = I > j ? I : j + 1; i < I + block && i < s; i++) A[j + i * s] = A[i + j * s];
      }
    }
  }
}

static void REAL_NAME(RowSums)(size_t s, const REAL *A, double *sums)
{
  for (size_t i = 0; i < s; i++) sums[i] = 0.0;
  for (size_t j = 0; j < s; j++) {
    sums[j] += fabs((double)A[j * (s + 1)]);
    for (size_t i = j + 1; i < s; i++) {
      const double a = fabs((double)A[i + j * s]);

      sums[i] += a;
      sums[j] += a;
    }
  }
}

static void REAL_NAME(Scale)(int left, size_t s, size_t l, const double *d, REAL *Y, size_t ldy)
{
  const size_t rows = left ? s : l, columns = left ? l : s;

  for (size_t j = 0; j < columns; j++) {
    for (size_t i = 0; i < rows; i++) Y[i + j * ldy] = (REAL)(d[left ? i : j] * Y[i + j * ldy]);
  }
}

static void REAL_NAME(Product)(size_t s, double a, const void *A, const void *B, double b, void *C)
{
  const MuonBLASInt side  = (MuonBLASInt)s;
  const REAL        alpha = (REAL)a, beta = (REAL)b;

  if (s == 0) return;
  REAL_NAME(MuonPanelLower)(&side, &side, &alpha, (const REAL *)A, &side, (const REAL *)B, &side, &beta, (REAL *)C, &side);
}
#endif
