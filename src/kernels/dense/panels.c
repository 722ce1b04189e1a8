#if !defined(REAL)
  #include "muonpanels.h"
  #include <math.h>
  #if defined(PETSCMUON_HAVE_ONEDNN)
    #include <oneapi/dnnl/dnnl.h>
  #endif

/* Operations of a panel, about five milliseconds of one core. In double half as many */
enum {
  PANEL = 1 << 29,
  EVERY = 1 << 27,
  INNER = 512, /* the extent of an operand at which a product runs at full speed */
  LEAST = 256, /* the extent of a result at which a product runs at full speed */
  SMALL = 32,  /* triangles and symmetric results up to this size are left to the BLAS, even if oneDNN was chosen */
  TILE  = 96   /* symmetric results up to this size are computed as squares, which is faster than smaller parts */
};

static struct {
  void (*progress)(void *);
  void  *ctx;
  double flops; /* operations since the last call */
} hook;

void MuonKernelSetProgress(void (*progress)(void *), void *ctx)
{
  hook.progress = progress;
  hook.ctx      = ctx;
  hook.flops    = 0.0;
}

void MuonKernelProgress(double flops)
{
  if (hook.progress == NULL) return;
  hook.flops += flops;
  if (hook.flops < (double)EVERY) return;
  hook.flops = 0.0;
  (*hook.progress)(hook.ctx);
}

/*
   The size of the parts of a length. They are about equal, and not longer than most. All but the last one consist of whole
   blocks of 16
*/
static MuonBLASInt Part(MuonBLASInt length, double most)
{
  const double parts = (double)length > most ? (double)(size_t)(((double)length - 1.0) / most) + 1.0 : 1.0;

  return (MuonBLASInt)(((double)length / parts + 15.0) / 16.0) * 16;
}

static MuonBLASInt Least(MuonBLASInt a, MuonBLASInt b)
{
  return a < b ? a : b;
}

/* Half of a size, rounded so that the blocks of the BLAS's kernels stay whole */
static MuonBLASInt Half(MuonBLASInt n)
{
  return (n / 2 + 15) / 16 * 16;
}

/*
   The product of the BLAS by oneDNN. oneDNN is row-major, so it computes the transposed product. It uses the number of
   threads of OpenMP, which is set to that of the BLAS here
*/
void MuonProductSingle(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const float *alpha, const float *A, const MuonBLASInt *lda, const float *B, const MuonBLASInt *ldb, const float *beta,
                       float *C, const MuonBLASInt *ldc)
{
  #if defined(PETSCMUON_HAVE_ONEDNN)
  if (MuonKernelProductsByOneDNN(sizeof(float)) && *m > 0 && *n > 0 && *k > 0) {
    const int threads = MuonKernelThreadsBegin();

    if (dnnl_sgemm(*transb, *transa, *n, *m, *k, *alpha, B, *ldb, A, *lda, *beta, C, *ldc) != dnnl_success) C[0] = NAN;
    MuonKernelThreadsEnd(threads);
    return;
  }
  #endif
  MUON_BLAS(s, gemm, GEMM)(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

void MuonProductDouble(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const double *alpha, const double *A, const MuonBLASInt *lda, const double *B, const MuonBLASInt *ldb,
                       const double *beta, double *C, const MuonBLASInt *ldc)
{
  MUON_BLAS(d, gemm, GEMM)(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

void MuonProductPairSingle(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const MuonPairSingle *alpha, const MuonPairSingle *A, const MuonBLASInt *lda, const MuonPairSingle *B,
                           const MuonBLASInt *ldb, const MuonPairSingle *beta, MuonPairSingle *C, const MuonBLASInt *ldc)
{
  MUON_BLAS(c, gemm, GEMM)(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

void MuonProductPairDouble(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const MuonPairDouble *alpha, const MuonPairDouble *A, const MuonBLASInt *lda, const MuonPairDouble *B,
                           const MuonBLASInt *ldb, const MuonPairDouble *beta, MuonPairDouble *C, const MuonBLASInt *ldc)
{
  MUON_BLAS(z, gemm, GEMM)(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

  #define PAIRED
  #define TWICE "../dense/panels.c"
  #include "../array/muontwice.h"

#else

  #define LIMIT ((double)PANEL * sizeof(float) / sizeof(REAL))

void REAL_NAME(MuonPanelGemm)(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, const REAL *B, const MuonBLASInt *ldb, const REAL *beta,
                              REAL *C, const MuonBLASInt *ldc)
{
  const double flops = 2.0 * (double)*m * (double)*n * (double)*k;
  const int    rows  = *m > *n; /* cuts the longer side of the result */
  const REAL   one   = REAL_OF(1);
  double       most;
  MuonBLASInt  inner, strip;

  if (flops <= LIMIT) {
    REAL_NAME(MuonProduct)(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    MuonKernelProgress(flops);
    return;
  }
  inner = Part(*k, INNER);
  most  = LIMIT / (2.0 * (double)(rows ? *n : *m) * (double)Least(inner, *k));
  strip = Part(rows ? *m : *n, most < LEAST ? LEAST : most);
  for (MuonBLASInt i = 0; i < (rows ? *m : *n); i += strip) {
    const MuonBLASInt high = rows ? Least(strip, *m - i) : *m, wide = rows ? *n : Least(strip, *n - i);
    const size_t      row = rows ? (size_t)i : 0, column = rows ? 0 : (size_t)i;

    for (MuonBLASInt j = 0; j < *k; j += inner) {
      const MuonBLASInt some = Least(inner, *k - j);
      const REAL       *a    = A + (*transa == 'N' ? row + (size_t)j * (size_t)*lda : (size_t)j + row * (size_t)*lda);
      const REAL       *b    = B + (*transb == 'N' ? (size_t)j + column * (size_t)*ldb : column + (size_t)j * (size_t)*ldb);

      REAL_NAME(MuonProduct)(transa, transb, &high, &wide, &some, alpha, a, lda, b, ldb, j == 0 ? beta : &one, C + row + column * (size_t)*ldc, ldc);
      MuonKernelProgress(2.0 * (double)high * (double)wide * (double)some);
    }
  }
}

void REAL_NAME(MuonPanelSyrk)(const char *trans, const MuonBLASInt *n, const MuonBLASInt *k, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, const REAL *beta, REAL *C, const MuonBLASInt *ldc)
{
  const int         other  = MuonKernelProductsByOneDNN(sizeof(REAL));
  const double      square = (double)*n * (double)*n, most = LIMIT / (square > 0.0 ? square : 1.0);
  const MuonBLASInt h = Half(*n), g = *n - h;
  const REAL        one = REAL_OF(1);
  MuonBLASInt       inner;

  if (other && *n <= TILE) {
    REAL_NAME(MuonPanelGemm)(trans, *trans == 'N' ? REAL_T : "N", n, n, k, alpha, A, lda, A, lda, beta, C, ldc);
    return;
  }
  if (other || (*n > 1024 && most < (double)*k)) {
    const REAL *below = A + (*trans == 'N' ? (size_t)h : (size_t)h * (size_t)*lda);

    REAL_NAME(MuonPanelSyrk)(trans, &h, k, alpha, A, lda, beta, C, ldc);
    REAL_NAME(MuonPanelGemm)(trans, *trans == 'N' ? REAL_T : "N", &g, &h, k, alpha, below, lda, A, lda, beta, C + h, ldc);
    REAL_NAME(MuonPanelSyrk)(trans, &g, k, alpha, below, lda, beta, C + (size_t)h * ((size_t)*ldc + 1), ldc);
    return;
  }
  inner = *k == 0 ? 1 : Part(*k, most < LEAST ? LEAST : most);
  for (MuonBLASInt j = 0; j == 0 || j < *k; j += inner) {
    const MuonBLASInt some = Least(inner, *k - j);

  #if REAL_PAIRS
    REAL_HERK("L", trans, n, &some, &alpha->re, A + (*trans == 'N' ? (size_t)j * (size_t)*lda : (size_t)j), lda, j == 0 ? &beta->re : &one.re, C, ldc);
  #else
    REAL_SYRK("L", trans, n, &some, alpha, A + (*trans == 'N' ? (size_t)j * (size_t)*lda : (size_t)j), lda, j == 0 ? beta : &one, C, ldc);
  #endif
    MuonKernelProgress(square * (double)some);
  }
}

void REAL_NAME(MuonPanelLower)(const MuonBLASInt *n, const MuonBLASInt *k, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, const REAL *B, const MuonBLASInt *ldb, const REAL *beta, REAL *C, const MuonBLASInt *ldc)
{
  /*
     Blocks of columns, each from the diagonal down: eight blocks compute 9/16 of the square, with products that are large
     enough
  */
  const MuonBLASInt most = (*n + 7) / 8, block = most < 32 ? 32 : most;
  #if defined(MUON_KERNEL_HAVE_GEMMT)
  const double      square = (double)*n * (double)*n, size = LIMIT / (square > 0.0 ? square : 1.0);
  const MuonBLASInt h = Half(*n), g = *n - h, inner = Part(*k, size < LEAST ? LEAST : size);
  const REAL        one = REAL_OF(1), *right = B + (size_t)h * (size_t)*ldb;

  if (!MuonKernelProductsByOneDNN(sizeof(REAL))) {
    if (*n > 1024 && size < (double)*k) {
      REAL_NAME(MuonPanelLower)(&h, k, alpha, A, lda, B, ldb, beta, C, ldc);
      REAL_NAME(MuonPanelGemm)("N", "N", &g, &h, k, alpha, A + h, lda, B, ldb, beta, C + h, ldc);
      REAL_NAME(MuonPanelLower)(&g, k, alpha, A + h, lda, right, ldb, beta, C + (size_t)h * ((size_t)*ldc + 1), ldc);
      return;
    }
    for (MuonBLASInt j = 0; j < *k; j += inner) {
      const MuonBLASInt some = Least(inner, *k - j);

      REAL_GEMMT("L", "N", "N", n, &some, alpha, A + (size_t)j * (size_t)*lda, lda, B + j, ldb, j == 0 ? beta : &one, C, ldc);
      MuonKernelProgress(square * (double)some);
    }
    return;
  }
  #endif
  for (MuonBLASInt j = 0; j < *n; j += block) {
    const MuonBLASInt rows = *n - j, columns = Least(block, *n - j);

    REAL_NAME(MuonPanelGemm)("N", "N", &rows, &columns, k, alpha, A + j, lda, B + (size_t)j * (size_t)*ldb, ldb, beta, C + (size_t)j * ((size_t)*ldc + 1), ldc);
  }
}

/*
   B = alpha op(A) B, or B op(A), or with the inverse of A, by halves of the triangle A. The half of B that depends on both
   halves is first in a product, and last in a solve
*/
static void REAL_NAME(Triangle)(int solve, const char *side, const char *trans, const MuonBLASInt *m, const MuonBLASInt *n, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, REAL *B, const MuonBLASInt *ldb)
{
  const int         left = *side == 'L', first = left == (*trans == 'N');
  const MuonBLASInt s = left ? *m : *n, h = Half(s), size[2] = {h, s - h};
  const REAL        one = REAL_OF(1), minus = REAL_OF(-1), *A21 = A + h, *triangle[2] = {A, A21 + (size_t)h * (size_t)*lda};
  REAL             *half[2] = {B, B + (left ? (size_t)h : (size_t)h * (size_t)*ldb)}, *to = half[first], *from = half[!first];

  if (s <= SMALL) {
    if (solve) REAL_TRSM(side, "L", trans, "N", m, n, alpha, A, lda, B, ldb);
    else REAL_TRMM(side, "L", trans, "N", m, n, alpha, A, lda, B, ldb);
    return;
  }
  for (int step = 0; step < 2; step++) {
    const int at = (step == 0) == !solve ? first : !first;

    REAL_NAME(Triangle)(solve, side, trans, left ? &size[at] : m, left ? n : &size[at], solve && step == 1 ? &one : alpha, triangle[at], lda, half[at], ldb);
    if (step == 1) break;
    if (left) REAL_NAME(MuonProduct)(trans, "N", &size[first], n, &size[!first], solve ? &minus : alpha, A21, lda, from, ldb, solve ? alpha : &one, to, ldb);
    else REAL_NAME(MuonProduct)("N", trans, m, &size[first], &size[!first], solve ? &minus : alpha, from, ldb, A21, lda, solve ? alpha : &one, to, ldb);
  }
}

  /* Strips of B, which are independent of each other */
  #define PANEL_TRIANGLE(name, solve, BLAS) \
    void REAL_NAME(name)(const char *side, const char *trans, const MuonBLASInt *m, const MuonBLASInt *n, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, REAL *B, const MuonBLASInt *ldb) \
    { \
      const int         left = *side == 'L'; \
      const MuonBLASInt s = left ? *m : *n, l = left ? *n : *m; \
      const double      square = (double)s * (double)s, most = LIMIT / (square > 0.0 ? square : 1.0); \
      const MuonBLASInt strip = Part(l, most < LEAST ? LEAST : most); \
\
      for (MuonBLASInt i = 0; i < l; i += strip) { \
        const MuonBLASInt some = Least(strip, l - i); \
\
        REAL *b = B + (left ? (size_t)i * (size_t)*ldb : (size_t)i); \
\
        if (MuonKernelProductsByOneDNN(sizeof(REAL))) REAL_NAME(Triangle)(solve, side, trans, left ? m : &some, left ? &some : n, alpha, A, lda, b, ldb); \
        else BLAS(side, "L", trans, "N", left ? m : &some, left ? &some : n, alpha, A, lda, b, ldb); \
        MuonKernelProgress(square *(double)some); \
      } \
    }
PANEL_TRIANGLE(MuonPanelTrmm, 0, REAL_TRMM)
PANEL_TRIANGLE(MuonPanelTrsm, 1, REAL_TRSM)
  #undef PANEL_TRIANGLE
  #undef LIMIT
#endif
