#if !defined(REAL)
/*
   The vendor of a device that is the host. This file includes itself once for each precision: REAL is the
   type of an entry, REAL_LETTER the letter of its BLAS routines, REAL_NAME(name) the name of a function.
*/
  #include "muonvendor.h"
  #include "../dense/muonblas.h"
  #include <stdlib.h>
  #include <string.h>

  #define TWICE "../kokkos/vendorhost.c"
  #include "../array/muontwice.h"

/* To 11 bits, to nearest even: what a tensor core reads of a binary32 */
static float ToTF32(float x)
{
  uint32_t bits;

  memcpy(&bits, &x, sizeof(bits));
  if ((bits & 0x7F800000u) != 0x7F800000u) bits = (bits + 0x0FFFu + (bits >> 13 & 1u)) & 0xFFFFE000u;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

static float FromBF16(uint16_t x)
{
  const uint32_t bits = (uint32_t)x << 16;
  float          y;

  memcpy(&y, &bits, sizeof(y));
  return y;
}

/* The operand in binary32 without gaps, rounded as the arithmetic says */
static float *Rounded(MuonVendorArithmetic arithmetic, size_t rows, size_t columns, const void *A, size_t lda)
{
  float *copy = (float *)malloc((rows * columns + 1) * sizeof(*copy));

  for (size_t j = 0; j < columns && copy != NULL; j++) {
    for (size_t i = 0; i < rows; i++) copy[j * rows + i] = arithmetic == MUON_VENDOR_BF16 ? FromBF16(((const uint16_t *)A)[j * lda + i]) : ToTF32(((const float *)A)[j * lda + i]);
  }
  return copy;
}

void MuonVendorSetStream(void *stream)
{
  (void)stream;
}

void *MuonVendorPin(size_t bytes)
{
  return malloc(bytes > 0 ? bytes : 1);
}

void MuonVendorUnpin(void *data)
{
  free(data);
}

int MuonVendorHas(MuonVendorArithmetic arithmetic)
{
  (void)arithmetic;
  return 1;
}

void MuonVendorProducts(MuonVendorArithmetic arithmetic, int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, size_t stridea, const void *B, size_t ldb, size_t strideb, double b, void *C, size_t ldc,
                        size_t stridec, size_t count)
{
  const size_t size = arithmetic == MUON_VENDOR_DOUBLE ? sizeof(double) : arithmetic == MUON_VENDOR_BF16 ? sizeof(uint16_t) : sizeof(float), rowsa = transa ? k : m, rowsb = transb ? n : k;

  for (size_t c = 0; c < count; c++) {
    const char *from = (const char *)A + c * stridea * size, *with = (const char *)B + c * strideb * size;

    if (arithmetic == MUON_VENDOR_DOUBLE) MuonVendorMultiply(MUON_DOUBLE, transa, transb, m, n, k, a, from, lda, with, ldb, b, (double *)C + c * stridec, ldc);
    else if (arithmetic == MUON_VENDOR_SINGLE) MuonVendorMultiply(MUON_SINGLE, transa, transb, m, n, k, a, from, lda, with, ldb, b, (float *)C + c * stridec, ldc);
    else {
      float *x = Rounded(arithmetic, rowsa, transa ? m : k, from, lda), *y = Rounded(arithmetic, rowsb, transb ? k : n, with, ldb);

      if (x == NULL || y == NULL) abort();
      MuonVendorMultiply(MUON_SINGLE, transa, transb, m, n, k, a, x, rowsa > 0 ? rowsa : 1, y, rowsb > 0 ? rowsb : 1, b, (float *)C + c * stridec, ldc);
      free(x);
      free(y);
    }
  }
}

void MuonVendorMultiply(MuonPrecision precision, int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy)
{
  MuonKernelsGet(precision, MUON_HOST)->Multiply(transa, transb, m, n, k, a, A, lda, B, ldb, b, Y, ldy);
}

int MuonVendorOrthonormalize(MuonPrecision precision, size_t m, size_t l, void *P, size_t *entries, void *work)
{
  return MuonKernelsGet(precision, MUON_HOST)->Orthonormalize(m, l, P, entries, work);
}

int MuonVendorRotation(MuonPrecision precision, size_t n, size_t l, void *V, void *WT, void *S, size_t *entries, void *work)
{
  return MuonKernelsGet(precision, MUON_HOST)->Rotation(n, l, V, WT, S, entries, work);
}

int MuonVendorSVD(MuonPrecision precision, size_t m, size_t n, void *A, size_t lda, void *S, void *U, void *V)
{
  return precision == MUON_SINGLE ? SVDSingle(m, n, (float *)A, lda, (float *)S, (float *)U, (float *)V) : SVDDouble(m, n, (double *)A, lda, (double *)S, (double *)U, (double *)V);
}

int MuonVendorFactor(MuonPrecision precision, size_t m, size_t n, void *A, size_t lda)
{
  return precision == MUON_SINGLE ? FactorSingle(m, n, (float *)A, lda) : FactorDouble(m, n, (double *)A, lda);
}

int MuonVendorCholesky(MuonPrecision precision, size_t n, void *A, size_t lda)
{
  return precision == MUON_SINGLE ? CholeskySingle(n, (float *)A, lda) : CholeskyDouble(n, (double *)A, lda);
}

int MuonVendorInvert(MuonPrecision precision, size_t n, void *L, size_t ldl)
{
  return precision == MUON_SINGLE ? InvertSingle(n, (float *)L, ldl) : InvertDouble(n, (double *)L, ldl);
}

void MuonVendorSolve(MuonPrecision precision, int left, int transposed, size_t m, size_t n, const void *L, size_t ldl, void *B, size_t ldb)
{
  if (precision == MUON_SINGLE) SolveSingle(left, transposed, m, n, (const float *)L, ldl, (float *)B, ldb);
  else SolveDouble(left, transposed, m, n, (const double *)L, ldl, (double *)B, ldb);
}

void MuonVendorTimes(MuonPrecision precision, int left, int transposed, size_t m, size_t n, const void *L, size_t ldl, void *B, size_t ldb)
{
  if (precision == MUON_SINGLE) TimesSingle(left, transposed, m, n, (const float *)L, ldl, (float *)B, ldb);
  else TimesDouble(left, transposed, m, n, (const double *)L, ldl, (double *)B, ldb);
}

#else

/* V comes transposed */
static int REAL_NAME(SVD)(size_t m, size_t n, REAL *A, size_t lda, REAL *S, REAL *U, REAL *V)
{
  const MuonBLASInt bm = (MuonBLASInt)m, bn = (MuonBLASInt)n, ba = (MuonBLASInt)lda;
  MuonBLASInt       lwork = -1, info = 0;
  REAL              room = 0, *work;

  REAL_GESVD("S", "A", &bm, &bn, A, &ba, S, U, &bm, V, &bn, &room, &lwork, &info);
  lwork = (MuonBLASInt)room;
  work  = (REAL *)malloc((size_t)lwork * sizeof(*work) + 1);
  if (work == NULL) return -1;
  REAL_GESVD("S", "A", &bm, &bn, A, &ba, S, U, &bm, V, &bn, work, &lwork, &info);
  free(work);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < j; i++) {
      const REAL swap = V[j * n + i];

      V[j * n + i] = V[i * n + j];
      V[i * n + j] = swap;
    }
  }
  return (int)info;
}

static int REAL_NAME(Factor)(size_t m, size_t n, REAL *A, size_t lda)
{
  const MuonBLASInt bm = (MuonBLASInt)m, bn = (MuonBLASInt)n, ba = (MuonBLASInt)lda, query = -1;
  REAL              room[2] = {0, 0}, none = 0, *work;
  MuonBLASInt       lwork, info = 0, formed = 0;

  REAL_GEQRF(&bm, &bn, A, &ba, &none, &room[0], &query, &info);
  REAL_ORGQR(&bm, &bn, &bn, A, &ba, &none, &room[1], &query, &formed);
  lwork = (MuonBLASInt)(room[0] > room[1] ? room[0] : room[1]);
  work  = (REAL *)malloc((n + (size_t)lwork) * sizeof(*work) + 1);
  if (work == NULL) return -1;
  REAL_GEQRF(&bm, &bn, A, &ba, work, work + n, &lwork, &info);
  REAL_ORGQR(&bm, &bn, &bn, A, &ba, work, work + n, &lwork, &formed);
  free(work);
  return info != 0 ? (int)info : (int)formed;
}

static int REAL_NAME(Cholesky)(size_t n, REAL *A, size_t lda)
{
  const MuonBLASInt bn = (MuonBLASInt)n, ba = (MuonBLASInt)lda;
  MuonBLASInt       info = 0;

  REAL_POTRF("L", &bn, A, &ba, &info);
  return (int)info;
}

static void REAL_NAME(Solve)(int left, int transposed, size_t m, size_t n, const REAL *L, size_t ldl, REAL *B, size_t ldb)
{
  const MuonBLASInt bm = (MuonBLASInt)m, bn = (MuonBLASInt)n, bl = (MuonBLASInt)ldl, bb = (MuonBLASInt)ldb;
  const REAL        one = 1;

  REAL_TRSM(left ? "L" : "R", "L", transposed ? "T" : "N", "N", &bm, &bn, &one, L, &bl, B, &bb);
}

static void REAL_NAME(Times)(int left, int transposed, size_t m, size_t n, const REAL *L, size_t ldl, REAL *B, size_t ldb)
{
  const MuonBLASInt bm = (MuonBLASInt)m, bn = (MuonBLASInt)n, bl = (MuonBLASInt)ldl, bb = (MuonBLASInt)ldb;
  const REAL        one = 1;

  REAL_TRMM(left ? "L" : "R", "L", transposed ? "T" : "N", "N", &bm, &bn, &one, L, &bl, B, &bb);
}

static int REAL_NAME(Invert)(size_t n, REAL *L, size_t ldl)
{
  REAL *inverse = (REAL *)calloc(n * n + 1, sizeof(*inverse));

  if (inverse == NULL) return -1;
  for (size_t i = 0; i < n; i++) inverse[i * (n + 1)] = 1;
  REAL_NAME(Solve)(0, 1, n, n, L, ldl, inverse, n);
  REAL_NAME(Solve)(0, 0, n, n, L, ldl, inverse, n);
  for (size_t j = 0; j < n; j++) memcpy(L + j * ldl + j, inverse + j * n + j, (n - j) * sizeof(*inverse));
  free(inverse);
  return 0;
}
#endif
