#if !defined(REAL)
  #include "muonpolarreal.h"
  #include "muonblas.h"
  #include <math.h>

  /* This file includes itself once for each precision: REAL is the type of an entry, REAL_LETTER the letter of its BLAS routines, REAL_NAME(name) the name of a function */
  #define REAL            float
  #define REAL_LETTER     s
  #define REAL_NAME(name) name##Single
  #include "muonpolarreal.c"
  #undef REAL
  #undef REAL_LETTER
  #undef REAL_NAME

  #define REAL            double
  #define REAL_LETTER     d
  #define REAL_NAME(name) name##Double
  #include "muonpolarreal.c"
  #undef REAL
  #undef REAL_LETTER
  #undef REAL_NAME

static void Hold(size_t s, const void *B)
{
  (void)s;
  (void)B;
}

const MuonKernelReal MuonKernelRealSingle = {"single", sizeof(float), 1.0 / 16777216.0, LoadSingle, StoreSingle, GramSingle, MultiplySingle, MirrorSingle, ProductSingle, Hold};
const MuonKernelReal MuonKernelRealDouble = {"double", sizeof(double), 1.0 / 9007199254740992.0, LoadDouble, StoreDouble, GramDouble, MultiplyDouble, MirrorDouble, ProductDouble, Hold};

void MuonKernelRealRowSums(const MuonKernelReal *real, size_t s, const void *A, double *sums)
{
  if (real->size == sizeof(float)) RowSumsSingle(s, (const float *)A, sums);
  else RowSumsDouble(s, (const double *)A, sums);
}

void MuonKernelRealScale(const MuonKernelReal *real, int left, size_t s, size_t l, const double *d, void *Y, size_t ldy)
{
  if (real->size == sizeof(float)) ScaleSingle(left, s, l, d, (float *)Y, ldy);
  else ScaleDouble(left, s, l, d, (double *)Y, ldy);
}

void MuonKernelRealShift(const MuonKernelReal *real, size_t s, double shift, void *A)
{
  for (size_t i = 0; i < s; i++) {
    if (real->size == sizeof(float)) ((float *)A)[i * (s + 1)] += (float)shift;
    else ((double *)A)[i * (s + 1)] += shift;
  }
}

double MuonKernelRealSumSquares(const MuonKernelReal *real, size_t count, const void *x)
{
  return real->size == sizeof(float) ? SumSquaresSingle(count, (const float *)x) : SumSquaresDouble(count, (const double *)x);
}

#else

  #define REAL_BLAS(lower, upper)               REAL_BLAS_OF(REAL_LETTER, lower, upper)
  #define REAL_BLAS_OF(precision, lower, upper) MUON_BLAS(precision, lower, upper)
  #define REAL_SYRK                             REAL_BLAS(syrk, SYRK)
  #define REAL_SYMM                             REAL_BLAS(symm, SYMM)
  #define REAL_GEMM                             REAL_BLAS(gemm, GEMM)
  #define REAL_GEMMT                            REAL_BLAS(gemmt, GEMMT)

  #if defined(__cplusplus)
extern "C" {
  #endif
void REAL_SYRK(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const REAL *, const REAL *, const MuonBLASInt *, const REAL *, REAL *, const MuonBLASInt *);
void REAL_SYMM(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const REAL *, const REAL *, const MuonBLASInt *, const REAL *, const MuonBLASInt *, const REAL *, REAL *, const MuonBLASInt *);
  #if defined(MUON_KERNEL_HAVE_GEMMT)
void REAL_GEMMT(const char *, const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const REAL *, const REAL *, const MuonBLASInt *, const REAL *, const MuonBLASInt *, const REAL *, REAL *, const MuonBLASInt *);
  #else
void REAL_GEMM(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const MuonBLASInt *, const REAL *, const REAL *, const MuonBLASInt *, const REAL *, const MuonBLASInt *, const REAL *, REAL *, const MuonBLASInt *);
  #endif
  #if defined(__cplusplus)
}
  #endif

/* Entries are divided in double: what is too small or too large for the precision of the kernel is not, once it is divided by the norm */
static void REAL_NAME(Load)(size_t m, size_t n, const MuonKernelScalar *G, size_t ldg, double norm, int exponent, void *Y, size_t ldy)
{
  const double f0 = ldexp(1.0, -(exponent / 2)), f1 = ldexp(1.0, -(exponent - exponent / 2)), inverse = 1.0 / norm;

  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *g = G + j * ldg;
    REAL                   *y = (REAL *)Y + j * ldy;

    for (size_t i = 0; i < m; i++) y[i] = (REAL)(g[i] * f0 * f1 * inverse);
  }
}

static void REAL_NAME(Store)(size_t m, size_t n, double scale, const void *Y, size_t ldy, MuonKernelScalar *Q, size_t ldq)
{
  for (size_t j = 0; j < n; j++) {
    const REAL       *y = (const REAL *)Y + j * ldy;
    MuonKernelScalar *q = Q + j * ldq;

    for (size_t i = 0; i < m; i++) q[i] = (MuonKernelScalar)(scale * y[i]);
  }
}

static void REAL_NAME(Gram)(int left, size_t s, size_t l, double a, const void *Y, size_t ldy, double b, void *A)
{
  const MuonBLASInt side = (MuonBLASInt)s, length = (MuonBLASInt)l, ld = (MuonBLASInt)(ldy > 0 ? ldy : 1);
  const REAL        alpha = (REAL)a, beta = (REAL)b;

  if (s == 0) return;
  REAL_SYRK("L", left ? "N" : "T", &side, &length, &alpha, (const REAL *)Y, &ld, &beta, (REAL *)A, &side);
}

static void REAL_NAME(Multiply)(int left, size_t s, size_t l, double a, const void *B, const void *Y, size_t ldy, double b, void *Z, size_t ldz)
{
  const MuonBLASInt side = (MuonBLASInt)s, rows = (MuonBLASInt)(left ? s : l), columns = (MuonBLASInt)(left ? l : s), ld = (MuonBLASInt)ldy, ldo = (MuonBLASInt)ldz;
  const REAL        alpha = (REAL)a, beta = (REAL)b;

  if (s == 0 || l == 0) return;
  REAL_SYMM(left ? "L" : "R", "L", &rows, &columns, &alpha, (const REAL *)B, &side, (const REAL *)Y, &ld, &beta, (REAL *)Z, &ldo);
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

static double REAL_NAME(SumSquares)(size_t count, const REAL *x)
{
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  size_t i;

  for (i = 0; i + 4 <= count; i += 4) {
    s0 += (double)x[i] * (double)x[i];
    s1 += (double)x[i + 1] * (double)x[i + 1];
    s2 += (double)x[i + 2] * (double)x[i + 2];
    s3 += (double)x[i + 3] * (double)x[i + 3];
  }
  for (; i < count; i++) s0 += (double)x[i] * (double)x[i];
  return (s0 + s1) + (s2 + s3);
}

  #if defined(MUON_KERNEL_HAVE_GEMMT)
static void REAL_NAME(Product)(size_t s, double a, const void *A, const void *B, double b, void *C)
{
  const MuonBLASInt side  = (MuonBLASInt)s;
  const REAL        alpha = (REAL)a, beta = (REAL)b;

  if (s == 0) return;
  REAL_GEMMT("L", "N", "N", &side, &side, &alpha, (const REAL *)A, &side, (const REAL *)B, &side, &beta, (REAL *)C, &side);
}
  #else
/* Blocks of columns, each from its diagonal on: with eight of them 9/16 of the square are computed, by products that are large enough */
static void REAL_NAME(Product)(size_t s, double a, const void *A, const void *B, double b, void *C)
{
  const size_t      most = (s + 7) / 8, block = most < 32 ? 32 : most;
  const MuonBLASInt side  = (MuonBLASInt)s;
  const REAL        alpha = (REAL)a, beta = (REAL)b;

  for (size_t j = 0; j < s; j += block) {
    const MuonBLASInt rows = (MuonBLASInt)(s - j), columns = (MuonBLASInt)(s - j < block ? s - j : block);

    REAL_GEMM("N", "N", &rows, &columns, &side, &alpha, (const REAL *)A + j, &side, (const REAL *)B + j * s, &side, &beta, (REAL *)C + j * (s + 1), &side);
  }
}
  #endif

  #undef REAL_BLAS
  #undef REAL_BLAS_OF
  #undef REAL_SYRK
  #undef REAL_SYMM
  #undef REAL_GEMM
  #undef REAL_GEMMT
#endif
