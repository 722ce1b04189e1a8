#if !defined(REAL)
  #include "muonpolarreal.h"
  #include "muonpanels.h"
  #include "../array/muonclones.h"
  #include <math.h>
  #include <stdlib.h>
  #include <string.h>

  /*
     This file includes itself once for each precision, and for complex numbers again: REAL is the type of an
     entry, REAL_LETTER the letter of its BLAS routines, REAL_NAME(name) the name of a function. Entry by entry
     a complex matrix is one of PARTs
  */
  #define PARTS (sizeof(REAL) / sizeof(PART))
  #define PAIRED
  #define TWICE "../dense/muonpolarreal.c"
  #include "../array/muontwice.h"

  #define DENSE_SINGLE(type, member, name, arguments) MuonDense##name##Single,
  #define DENSE_DOUBLE(type, member, name, arguments) MuonDense##name##Double,

const MuonKernelReal MuonKernelRealSingle = {"single", sizeof(float), 1.0 / 16777216.0, MUON_HOST, &MuonKernelsHost[MUON_SINGLE], 1, MUON_DENSE(DENSE_SINGLE) MUON_DENSE_HOST(DENSE_SINGLE)};
const MuonKernelReal MuonKernelRealDouble = {"double", sizeof(double), 1.0 / 9007199254740992.0, MUON_HOST, &MuonKernelsHost[MUON_DOUBLE], 1, MUON_DENSE(DENSE_DOUBLE) MUON_DENSE_HOST(DENSE_DOUBLE)};

  #define PAIR_SINGLE(type, member, name, arguments) MuonDense##name##PairSingle,
  #define PAIR_DOUBLE(type, member, name, arguments) MuonDense##name##PairDouble,
  #define PAIR_NONE(type, member, name, arguments)   NULL,

const MuonKernelReal MuonKernelRealPairs[2] = {{"single", 2 * sizeof(float), 1.0 / 16777216.0, MUON_HOST, &MuonKernelsHost[MUON_SINGLE], 2, MUON_DENSE(PAIR_SINGLE) MUON_DENSE_HOST(PAIR_NONE)},
                                               {"double", 2 * sizeof(double), 1.0 / 9007199254740992.0, MUON_HOST, &MuonKernelsHost[MUON_DOUBLE], 2, MUON_DENSE(PAIR_DOUBLE) MUON_DENSE_HOST(PAIR_NONE)}};

  #if !defined(PETSCMUON_HAVE_KOKKOS)
const MuonKernelReal *MuonKernelRealOfDevice(const char *name)
{
  return NULL;
}
  #endif

#else

  #if REAL_PAIRS
static double REAL_NAME(Modulus)(REAL x)
{
  return hypot((double)x.re, (double)x.im);
}
  #else
static double REAL_NAME(Modulus)(REAL x)
{
  return fabs((double)x);
}

/*
   Entries are divided in double: an entry can be too small or too large for the precision of the kernel before the division
   by the norm
*/
MUON_KERNEL_CLONES void REAL_NAME(MuonDenseLoad)(size_t m, size_t n, MuonPrecision precision, const void *G, size_t ldg, double norm, int exponent, void *Y, size_t ldy)
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

MUON_KERNEL_CLONES void REAL_NAME(MuonDenseStore)(size_t m, size_t n, double scale, const void *Y, size_t ldy, MuonPrecision precision, void *Q, size_t ldq)
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
  #endif

void REAL_NAME(MuonDenseGram)(int left, size_t s, size_t l, size_t count, double a, const void *Y, size_t ldy, double b, void *A)
{
  const MuonBLASInt side = (MuonBLASInt)s, length = (MuonBLASInt)l, ld = (MuonBLASInt)(ldy > 0 ? ldy : 1);
  const REAL        alpha = REAL_OF(a), beta = REAL_OF(b);

  if (s == 0) return;
  REAL_NAME(MuonPanelSyrk)(left ? "N" : REAL_T, &side, &length, &alpha, (const REAL *)Y, &ld, &beta, (REAL *)A, &side);
}

const void *REAL_NAME(MuonDenseHold)(size_t s, size_t count, const void *B)
{
  REAL_NAME(MuonDenseMirror)(s, count, (void *)B);
  return B;
}

void REAL_NAME(MuonDenseMultiply)(int left, size_t s, size_t l, size_t count, double a, const void *B, const void *held, const void *Y, size_t ldy, double b, void *Z, size_t ldz)
{
  const MuonBLASInt side = (MuonBLASInt)s, rows = (MuonBLASInt)(left ? s : l), columns = (MuonBLASInt)(left ? l : s), ld = (MuonBLASInt)ldy, ldo = (MuonBLASInt)ldz;
  const REAL        alpha = REAL_OF(a), beta = REAL_OF(b);

  if (s == 0 || l == 0) return;
  if (held == NULL) held = REAL_NAME(MuonDenseHold)(s, count, B);
  if (left) REAL_NAME(MuonPanelGemm)("N", "N", &rows, &columns, &side, &alpha, (const REAL *)held, &side, (const REAL *)Y, &ld, &beta, (REAL *)Z, &ldo);
  else REAL_NAME(MuonPanelGemm)("N", "N", &rows, &columns, &side, &alpha, (const REAL *)Y, &ld, (const REAL *)held, &side, &beta, (REAL *)Z, &ldo);
}

void REAL_NAME(MuonDenseRowSums)(size_t s, const void *S, double *sums)
{
  const REAL *A = (const REAL *)S;

  for (size_t i = 0; i < s; i++) sums[i] = 0.0;
  for (size_t j = 0; j < s; j++) {
    sums[j] += REAL_NAME(Modulus)(A[j * (s + 1)]);
    for (size_t i = j + 1; i < s; i++) {
      const double a = REAL_NAME(Modulus)(A[i + j * s]);

      sums[i] += a;
      sums[j] += a;
    }
  }
}

void REAL_NAME(MuonDenseScale)(int left, size_t s, size_t l, const double *d, void *X, size_t ldy)
{
  PART        *Y    = (PART *)X;
  const size_t rows = PARTS * (left ? s : l), columns = left ? l : s;

  for (size_t j = 0; j < columns; j++) {
    for (size_t i = 0; i < rows; i++) Y[i + PARTS * j * ldy] = (PART)(d[left ? i / PARTS : j] * Y[i + PARTS * j * ldy]);
  }
}

void REAL_NAME(MuonDenseProduct)(size_t s, size_t count, double a, const void *A, const void *B, double b, void *C)
{
  const MuonBLASInt side  = (MuonBLASInt)s;
  const REAL        alpha = REAL_OF(a), beta = REAL_OF(b);

  if (s == 0) return;
  REAL_NAME(MuonPanelLower)(&side, &side, &alpha, (const REAL *)A, &side, (const REAL *)B, &side, &beta, (REAL *)C, &side);
}

void REAL_NAME(MuonDenseShift)(size_t s, size_t count, double shift, void *A)
{
  for (size_t i = 0; i < s; i++) ((PART *)A)[PARTS * i * (s + 1)] += (PART)shift;
}

void REAL_NAME(MuonDenseIdentity)(size_t s, double a, void *A)
{
  memset(A, 0, s * s * sizeof(REAL));
  REAL_NAME(MuonDenseShift)(s, 1, a, A);
}

int REAL_NAME(MuonDenseCholesky)(size_t s, void *A)
{
  const MuonBLASInt side = (MuonBLASInt)s;
  MuonBLASInt       info = 0;

  if (s > 0) REAL_POTRF("L", &side, (REAL *)A, &side, &info);
  return (int)info;
}

  #define DENSE_TRIANGLE(name, BLAS) \
    void REAL_NAME(name)(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy) \
    { \
      const MuonBLASInt side = (MuonBLASInt)s, rows = (MuonBLASInt)(left ? s : l), columns = (MuonBLASInt)(left ? l : s), ld = (MuonBLASInt)ldy; \
      const REAL        one = REAL_OF(1); \
\
      if (s == 0 || l == 0) return; \
      REAL_NAME(BLAS)(left ? "L" : "R", !transposed == !left ? REAL_T : "N", &rows, &columns, &one, (const REAL *)L, &side, (REAL *)Y, &ld); \
    }
DENSE_TRIANGLE(MuonDenseSolve, MuonPanelTrsm)
DENSE_TRIANGLE(MuonDenseTimes, MuonPanelTrmm)
  #undef DENSE_TRIANGLE

double REAL_NAME(MuonDenseDistance)(size_t s, const void *S, double scale)
{
  const PART *A   = (const PART *)S;
  double      sum = 0.0;

  for (size_t j = 0; j < s; j++, A += PARTS * s) {
    const double d = (double)A[PARTS * j] / scale - 1.0;

    sum += d * d;
    for (size_t i = PARTS * (j + 1); i < PARTS * s; i++) sum += 2.0 * ((double)A[i] / scale) * ((double)A[i] / scale);
  }
  return sqrt(sum);
}

double REAL_NAME(MuonDenseTrace)(size_t s, const void *A)
{
  double trace = 0.0;

  for (size_t i = 0; i < s; i++) trace += (double)((const PART *)A)[PARTS * i * (s + 1)];
  return trace;
}

/* LAPACK returns V transposed */
int REAL_NAME(MuonDenseDecompose)(size_t m, size_t n, void *A, void *S, void *U, void *V)
{
  const MuonBLASInt bm = (MuonBLASInt)m, bn = (MuonBLASInt)n;
  MuonBLASInt       lwork = -1, info = 0;
  REAL              optimal = REAL_OF(0), *work, *v = (REAL *)V;
  #if REAL_PAIRS
  PART             *reals = (PART *)malloc(5 * n * sizeof(*reals) + 1);

  if (reals == NULL) return -1;
    #define DECOMPOSE(work) REAL_GESVD("S", "A", &bm, &bn, (REAL *)A, &bm, (PART *)S, (REAL *)U, &bm, v, &bn, work, &lwork, reals, &info)
  #else
    #define DECOMPOSE(work) REAL_GESVD("S", "A", &bm, &bn, (REAL *)A, &bm, (REAL *)S, (REAL *)U, &bm, v, &bn, work, &lwork, &info)
  #endif

  DECOMPOSE(&optimal);
  lwork = (MuonBLASInt) * (PART *)&optimal;
  work  = (REAL *)malloc((size_t)lwork * sizeof(*work) + 1);
  if (work != NULL) DECOMPOSE(work);
  else info = -1;
  #undef DECOMPOSE
  #if REAL_PAIRS
  free(reals);
  for (size_t j = 0; j < n * n; j++) v[j].im = -v[j].im;
  #endif
  if (work == NULL) return -1;
  free(work);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < j; i++) {
      const REAL swap = v[j * n + i];

      v[j * n + i] = v[i * n + j];
      v[i * n + j] = swap;
    }
  }
  return (int)info;
}

  #if !REAL_PAIRS
/* LAPACK returns the smallest first */
int REAL_NAME(MuonDenseEigen)(size_t s, void *S)
{
  const MuonBLASInt side = (MuonBLASInt)s, lwork = 1 + 6 * side + 2 * side * side, liwork = 3 + 5 * side;
  const size_t      reals = (s + (size_t)lwork) * sizeof(REAL);
  MuonBLASInt       info  = 0;
  REAL             *A     = (REAL *)S, *work;

  if (s == 0) return 0;
  work = (REAL *)malloc(reals + sizeof(double) + (size_t)liwork * sizeof(MuonBLASInt));
  if (work == NULL) return -1;
  REAL_SYEVD("V", "L", &side, A, &side, work, work + s, &lwork, (MuonBLASInt *)((char *)work + (reals + sizeof(double) - 1) / sizeof(double) * sizeof(double)), &liwork, &info);
  for (size_t j = 0; j < s / 2; j++) {
    memcpy(work, A + j * s, s * sizeof(REAL));
    memcpy(A + j * s, A + (s - 1 - j) * s, s * sizeof(REAL));
    memcpy(A + (s - 1 - j) * s, work, s * sizeof(REAL));
  }
  free(work);
  return (int)info;
}
  #endif
#endif
