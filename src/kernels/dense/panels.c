#if !defined(REAL)
  #include "muonpanels.h"

/* Operations of a panel, two milliseconds or so of one core: half as many in double */
enum {
  PANEL = 1 << 28,
  EVERY = 1 << 27,
  INNER = 512, /* at which a product runs at full speed, however it was cut */
  LEAST = 256  /* likewise, of a side of its result */
};

static struct {
  void (*progress)(void *);
  void  *ctx;
  double flops; /* since it was called last */
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
   Of parts of a length that are about equal and have at most so many entries each, all but the last one whole
   blocks of 16, the size
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

/* Halves that keep the blocks of the kernels of the BLAS whole */
static MuonBLASInt Half(MuonBLASInt n)
{
  return (n / 2 + 15) / 16 * 16;
}

  #define TWICE "../dense/panels.c"
  #include "../array/muontwice.h"

#else

  #define LIMIT ((double)PANEL * sizeof(float) / sizeof(REAL))

void REAL_NAME(MuonPanelGemm)(const char *transa, const char *transb, const MuonBLASInt *m, const MuonBLASInt *n, const MuonBLASInt *k, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, const REAL *B, const MuonBLASInt *ldb, const REAL *beta,
                              REAL *C, const MuonBLASInt *ldc)
{
  const double flops = 2.0 * (double)*m * (double)*n * (double)*k;
  const int    rows  = *m > *n; /* the longer side of the result is cut */
  const REAL   one   = 1;
  double       most;
  MuonBLASInt  inner, strip;

  if (flops <= LIMIT) {
    REAL_GEMM(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
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

      REAL_GEMM(transa, transb, &high, &wide, &some, alpha, a, lda, b, ldb, j == 0 ? beta : &one, C + row + column * (size_t)*ldc, ldc);
      MuonKernelProgress(2.0 * (double)high * (double)wide * (double)some);
    }
  }
}

void REAL_NAME(MuonPanelSyrk)(const char *trans, const MuonBLASInt *n, const MuonBLASInt *k, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, const REAL *beta, REAL *C, const MuonBLASInt *ldc)
{
  const double      square = (double)*n * (double)*n, most = LIMIT / (square > 0.0 ? square : 1.0);
  const MuonBLASInt h = Half(*n), g = *n - h;
  const REAL        one = 1;
  MuonBLASInt       inner;

  if (*n > 1024 && most < (double)*k) {
    const REAL *below = A + (*trans == 'N' ? (size_t)h : (size_t)h * (size_t)*lda);

    REAL_NAME(MuonPanelSyrk)(trans, &h, k, alpha, A, lda, beta, C, ldc);
    REAL_NAME(MuonPanelGemm)(trans, *trans == 'N' ? "T" : "N", &g, &h, k, alpha, below, lda, A, lda, beta, C + h, ldc);
    REAL_NAME(MuonPanelSyrk)(trans, &g, k, alpha, below, lda, beta, C + (size_t)h * ((size_t)*ldc + 1), ldc);
    return;
  }
  inner = *k == 0 ? 1 : Part(*k, most < LEAST ? LEAST : most);
  for (MuonBLASInt j = 0; j == 0 || j < *k; j += inner) {
    const MuonBLASInt some = Least(inner, *k - j);

    REAL_SYRK("L", trans, n, &some, alpha, A + (*trans == 'N' ? (size_t)j * (size_t)*lda : (size_t)j), lda, j == 0 ? beta : &one, C, ldc);
    MuonKernelProgress(square * (double)some);
  }
}

/*
   Strips of the other matrix that stay in cache, then halves of the symmetric one until SYMM is short, since
   it copies that matrix for each of its calls
*/
void REAL_NAME(MuonPanelSymm)(const char *side, const MuonBLASInt *m, const MuonBLASInt *n, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, const REAL *B, const MuonBLASInt *ldb, const REAL *beta, REAL *C, const MuonBLASInt *ldc)
{
  const int         left = *side == 'L';
  const MuonBLASInt s = left ? *m : *n, l = left ? *n : *m, h = Half(s), g = s - h;
  const double      flops = 2.0 * (double)s * (double)s * (double)l;
  const REAL        one = 1, *A21 = A + h, *A22 = A + (size_t)h * ((size_t)*lda + 1), *B2 = B + (left ? (size_t)h : (size_t)h * (size_t)*ldb);
  REAL             *C2 = C + (left ? (size_t)h : (size_t)h * (size_t)*ldc);

  if (flops > LIMIT && s > 384 && l <= INNER) {
    REAL_NAME(MuonPanelSymm)(side, left ? &h : m, left ? n : &h, alpha, A, lda, B, ldb, beta, C, ldc);
    REAL_NAME(MuonPanelSymm)(side, left ? &g : m, left ? n : &g, alpha, A22, lda, B2, ldb, beta, C2, ldc);
    if (left) {
      REAL_NAME(MuonPanelGemm)("T", "N", &h, n, &g, alpha, A21, lda, B2, ldb, &one, C, ldc);
      REAL_NAME(MuonPanelGemm)("N", "N", &g, n, &h, alpha, A21, lda, B, ldb, &one, C2, ldc);
    } else {
      REAL_NAME(MuonPanelGemm)("N", "N", m, &h, &g, alpha, B2, ldb, A21, lda, &one, C, ldc);
      REAL_NAME(MuonPanelGemm)("N", "T", m, &g, &h, alpha, B, ldb, A21, lda, &one, C2, ldc);
    }
  } else {
    const int         again = flops > LIMIT && s > 384;
    const MuonBLASInt strip = Part(l, again ? INNER : flops > 0.0 ? LIMIT * (double)l / flops : (double)l);

    for (MuonBLASInt i = 0; i < l; i += strip) {
      const MuonBLASInt some = Least(strip, l - i);
      const size_t      from = left ? (size_t)i * (size_t)*ldb : (size_t)i, to = left ? (size_t)i * (size_t)*ldc : (size_t)i;

      if (again) {
        REAL_NAME(MuonPanelSymm)(side, left ? m : &some, left ? &some : n, alpha, A, lda, B + from, ldb, beta, C + to, ldc);
        continue;
      }
      REAL_SYMM(side, "L", left ? m : &some, left ? &some : n, alpha, A, lda, B + from, ldb, beta, C + to, ldc);
      MuonKernelProgress(2.0 * (double)s * (double)s * (double)some);
    }
  }
}

void REAL_NAME(MuonPanelLower)(const MuonBLASInt *n, const MuonBLASInt *k, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, const REAL *B, const MuonBLASInt *ldb, const REAL *beta, REAL *C, const MuonBLASInt *ldc)
{
  #if defined(MUON_KERNEL_HAVE_GEMMT)
  const double      square = (double)*n * (double)*n, most = LIMIT / (square > 0.0 ? square : 1.0);
  const MuonBLASInt h = Half(*n), g = *n - h;
  const REAL        one = 1;
  MuonBLASInt       inner;

  if (*n > 1024 && most < (double)*k) {
    const REAL *right = B + (size_t)h * (size_t)*ldb;

    REAL_NAME(MuonPanelLower)(&h, k, alpha, A, lda, B, ldb, beta, C, ldc);
    REAL_NAME(MuonPanelGemm)("N", "N", &g, &h, k, alpha, A + h, lda, B, ldb, beta, C + h, ldc);
    REAL_NAME(MuonPanelLower)(&g, k, alpha, A + h, lda, right, ldb, beta, C + (size_t)h * ((size_t)*ldc + 1), ldc);
    return;
  }
  inner = Part(*k, most < LEAST ? LEAST : most);
  for (MuonBLASInt j = 0; j < *k; j += inner) {
    const MuonBLASInt some = Least(inner, *k - j);

    REAL_GEMMT("L", "N", "N", n, &some, alpha, A + (size_t)j * (size_t)*lda, lda, B + j, ldb, j == 0 ? beta : &one, C, ldc);
    MuonKernelProgress(square * (double)some);
  }
  #else
  /*
     Blocks of columns, each from its diagonal on: with eight of them 9/16 of the square are computed, by
     products that are large enough
  */
  const MuonBLASInt most = (*n + 7) / 8, block = most < 32 ? 32 : most;

  for (MuonBLASInt j = 0; j < *n; j += block) {
    const MuonBLASInt rows = *n - j, columns = Least(block, *n - j);

    REAL_NAME(MuonPanelGemm)("N", "N", &rows, &columns, k, alpha, A + j, lda, B + (size_t)j * (size_t)*ldb, ldb, beta, C + (size_t)j * ((size_t)*ldc + 1), ldc);
  }
  #endif
}

  /* Strips of what the triangle is applied to, which are independent of each other */
  #define PANEL_TRIANGLE(name, BLAS) \
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
        BLAS(side, "L", trans, "N", left ? m : &some, left ? &some : n, alpha, A, lda, B + (left ? (size_t)i * (size_t)*ldb : (size_t)i), ldb); \
        MuonKernelProgress(square *(double)some); \
      } \
    }
PANEL_TRIANGLE(MuonPanelTrmm, REAL_TRMM)
PANEL_TRIANGLE(MuonPanelTrsm, REAL_TRSM)
  #undef PANEL_TRIANGLE
  #undef LIMIT
#endif
