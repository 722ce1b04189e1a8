#if !defined(REAL)
  #include "muonpolarzolotarev.h"
  #include "muonpanels.h"
  #include "../array/muonclones.h"
  #include <math.h>
  #include <string.h>

/* The sides of matrices up to which another way is faster than cutting them */
enum {
  LEAF  = 64, /* a factorization without the BLAS */
  WHOLE = 48, /* a symmetric result computed whole, since OpenBLAS's SYRK and its like are slower there */
  SMALL = 96  /* one call for a triangle */
};

/*
   node[i] = l^2 sc^2(i K / (2r+1)), i = 1 ... 2r, for the modulus whose complement is l and its complete
   integral K. Landen's transformation descends along the arithmetic-geometric mean of 1 and l to the
   cotangent, and returns (Bulirsch, Numerical calculation of elliptic integrals and elliptic functions, 1965)
   by sums and quotients of positive numbers only. No digit is lost for a tiny l, for which the other elliptic
   functions would lose all digits.
*/
static void Nodes(int poles, double l, long double *node)
{
  const long double half = 1.5707963267948966963132169163975144L;
  long double       a[16], b[16], mean = 1.0L, other = (long double)l;
  int               levels = 0;

  do {
    a[levels] = mean;
    b[levels] = other;
    mean      = 0.5L * (a[levels] + b[levels]);
    other     = sqrtl(a[levels] * b[levels]);
    levels++;
  } while (levels < 16 && a[levels - 1] - b[levels - 1] > 1e-10L * mean);
  for (int i = 1; i <= 2 * poles; i++) {
    const long double angle = half * i / (2 * poles + 1);
    long double       t = cosl(angle) / sinl(angle), cs = mean * t, dn = 1.0L;

    for (int n = levels - 1; n >= 0; n--) {
      t *= cs;
      cs *= dn;
      dn = (b[n] + t) / (a[n] + t);
      t  = cs / a[n];
    }
    node[i] = ((long double)l / cs) * ((long double)l / cs);
  }
}

void MuonKernelZolotarevSet(int poles, double l, MuonKernelZolotarev *z)
{
  long double node[2 * MAXMUONKERNELPOLES + 1], scale = 1.0L, lowest = (long double)l;

  /* Differences of neighbors lose a digit. On most machines a long double has four digits to spare */
  Nodes(poles, l, node);
  z->poles = poles;
  for (int j = 0; j < poles; j++) {
    const long double pole = node[2 * j + 1], zero = node[2 * j + 2];
    long double       a = zero - pole;

    for (int k = 0; k < poles; k++) {
      if (k != j) a *= (pole - node[2 * k + 2]) / (pole - node[2 * k + 1]);
    }
    z->a[j] = (double)a;
    z->c[j] = (double)pole;
    /* The largest value on [l,1] is at 1, the smallest at l */
    scale *= (1.0L + pole) / (1.0L + zero);
    lowest *= ((long double)l * (long double)l + zero) / ((long double)l * (long double)l + pole);
  }
  z->scale  = (double)scale;
  z->lowest = (double)(scale * lowest);
}

double MuonKernelZolotarevError(int poles, double l)
{
  MuonKernelZolotarev z;

  MuonKernelZolotarevSet(poles, l, &z);
  return (1.0 - z.lowest) / (1.0 + z.lowest);
}

int MuonKernelZolotarevNest(int poles, double l, MuonKernelZolotarev *first, MuonKernelZolotarev *second)
{
  /* Degrees multiply, and that of Z is 2r+1 */
  if (poles < 4 || (2 * poles + 1) % 3 != 0) return 0;
  MuonKernelZolotarevSet(1, l, first);
  MuonKernelZolotarevSet(((2 * poles + 1) / 3 - 1) / 2, first->lowest, second);
  return second->poles;
}

double MuonKernelInverseFlops(size_t s)
{
  return (double)s * (double)s * (double)s;
}

  /*
     This file includes itself once for each precision, and for complex numbers again: REAL is the type of an
     entry, REAL_LETTER the letter of its BLAS routines, REAL_NAME(name) the name of a function. Entry by entry
     a complex matrix is one of PARTs
  */
  #define PARTS (sizeof(REAL) / sizeof(PART))
  #define PAIRED
  #define TWICE "../dense/muonpolarzolotarev.c"
  #include "../array/muontwice.h"

#else

  #if REAL_PAIRS
double REAL_NAME(MuonDenseBound)(size_t s, void *A, double *rows)
{
  double squares = 0.0, most = 0.0;

  for (size_t i = 0; i < s; i++) rows[i] = 0.0;
  for (size_t j = 0; j < s; j++) {
    const REAL *a = (const REAL *)A + j * s;

    for (size_t i = j; i < s; i++) {
      const double x = (double)a[i].re, y = (double)a[i].im, square = x * x + y * y;

      rows[i] += sqrt(square);
      if (i > j) rows[j] += sqrt(square);
      squares += i > j ? 2.0 * square : square;
    }
  }
  for (size_t i = 0; i < s; i++) most = rows[i] > most ? rows[i] : most;
  return most < sqrt(squares) ? most : sqrt(squares);
}
  #else
/*
   Sums of a column are in the precision of the entries, sums over columns in double. There are 32 partial sums, too many for a
   compiler to unroll the loop over them: unrolling would prevent vectors
*/
MUON_KERNEL_CLONES double REAL_NAME(MuonDenseBound)(size_t s, void *A, double *rows)
{
  enum {
    CHUNK = 32
  };
  double squares = 0.0, most = 0.0;

  for (size_t i = 0; i < s; i++) rows[i] = 0.0;
  for (size_t j = 0; j < s; j++) {
    const REAL *a          = (const REAL *)A + j * s;
    REAL        sum[CHUNK] = {0}, square[CHUNK] = {0};
    size_t      i = j + 1;

    for (; i < s; i += CHUNK) {
      const size_t last = s - i < CHUNK ? s : i + CHUNK;

      for (size_t k = i; k < last; k++) {
        const REAL x = a[k] < 0 ? -a[k] : a[k];

        sum[k - i] += x;
        square[k - i] += x * x;
      }
    }
    for (size_t half = CHUNK / 2; half > 0; half /= 2) {
      for (size_t k = 0; k < half; k++) sum[k] += sum[k + half];
      for (size_t k = 0; k < half; k++) square[k] += square[k + half];
    }
    for (i = j; i < s; i++) rows[i] += fabs((double)a[i]);
    rows[j] += (double)sum[0];
    squares += (double)a[j] * (double)a[j] + 2.0 * (double)square[0];
  }
  for (size_t i = 0; i < s; i++) most = rows[i] > most ? rows[i] : most;
  return most < sqrt(squares) ? most : sqrt(squares);
}
  #endif

MUON_KERNEL_CLONES void REAL_NAME(MuonDenseCombine)(size_t s, double x, const void *A, double y, void *B, double z)
{
  enum {
    CHUNK = 16
  };
  const PART   p = (PART)x, q = (PART)y;
  const size_t ends = PARTS * s;

  for (size_t j = 0; j < s; j++) {
    const PART *a = (const PART *)A + j * ends;
    PART       *b = (PART *)B + j * ends;
    size_t      i = PARTS * j;

    if (y == 0.0 && x == 1.0) memmove(b + i, a + i, (ends - i) * sizeof(*b));
    else if (y == 0.0) {
      for (; i < ends; i++) b[i] = p * a[i];
    } else {
      for (; i + CHUNK <= ends; i += CHUNK) {
        PART sum[CHUNK];

        for (size_t k = 0; k < CHUNK; k++) sum[k] = p * a[i + k] + q * b[i + k];
        memcpy(b + i, sum, sizeof(sum));
      }
      for (; i < ends; i++) b[i] = p * a[i] + q * b[i];
    }
    b[PARTS * j] = (PART)(b[PARTS * j] + z);
  }
}

  #if REAL_PAIRS
/* By LAPACK. Here it need not be faster than the BLAS */
int REAL_NAME(MuonDenseInverse)(size_t s, void *W)
{
  const MuonBLASInt side = (MuonBLASInt)s;
  MuonBLASInt       info = 0;

  REAL_POTRF("L", &side, (REAL *)W, &side, &info);
  if (info == 0) REAL_POTRI("L", &side, (REAL *)W, &side, &info);
  return info != 0;
}

static REAL REAL_NAME(Conjugate)(REAL x)
{
  x.im = -x.im;
  return x;
}
    #define CONJUGATE(x) REAL_NAME(Conjugate)(x)
  #else
    #define CONJUGATE(x) (x)
/*
   A, s x s with leading dimension ld, becomes the inverse of its Cholesky factor. This is for matrices so small that calls of
   the BLAS cost more than their arithmetic. It is an elimination in [A I], with its rows in M. Row j has the inverse up to
   column j, and the transposed factor behind it. Returns 1 if A is not positive definite
*/
MUON_KERNEL_CLONES static int REAL_NAME(Leaf)(size_t s, REAL *A, size_t ld)
{
  const size_t width = (s + 15) / 16 * 16;
  REAL         M[LEAF][LEAF], row[LEAF];

  for (size_t j = 0; j < s; j++) {
    memset(M[j], 0, width * sizeof(REAL));
    memcpy(M[j] + j, A + j * (ld + 1), (s - j) * sizeof(REAL));
  }
  for (size_t j = 0; j < s; j++) {
    REAL inverse;

    if (!(M[j][j] > 0)) return 1;
    inverse = 1 / (REAL)sqrt((double)M[j][j]);
    M[j][j] = 1;
    for (size_t k = 0; k < width; k++) row[k] = M[j][k] * inverse;
    for (size_t i = j + 1; i < s; i++) {
      for (size_t k = 0; k < width; k++) M[i][k] -= row[i] * row[k];
      M[i][j] = -row[i] * inverse;
    }
    memcpy(M[j], row, width * sizeof(REAL));
  }
  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) A[i + j * ld] = M[i][j];
  }
  return 0;
}

/* Half of a size, rounded so that the blocks of the BLAS's kernels stay whole */
static size_t REAL_NAME(Half)(size_t s)
{
  return (s / 2 + 15) / 16 * 16;
}

/*
   A becomes the inverse X of its Cholesky factor L, by halves: X11 from A11; L21 = A21 X11^T; X22 from A22 - L21 L21^T;
   X21 = - X22 L21 X11, all in the memory of A. POTRF and TRTRI solve with triangles, and OpenBLAS solves at half the speed of
   the products here. The error of L21 is that of X11, u sqrt(cond A). It is small compared with the shift.
*/
static int REAL_NAME(Factor)(size_t s, REAL *A, size_t ld)
{
  const size_t      half = REAL_NAME(Half)(s);
  const MuonBLASInt h = (MuonBLASInt)half, g = (MuonBLASInt)(s - half), d = (MuonBLASInt)ld;
  const REAL        one = 1, minus = -1;
  REAL             *A21 = A + half, *A22 = A21 + half * ld;

  if (s <= LEAF) return REAL_NAME(Leaf)(s, A, ld);
  if (REAL_NAME(Factor)(half, A, ld)) return 1;
  REAL_NAME(MuonPanelTrmm)("R", "T", &g, &h, &one, A, &d, A21, &d);
  REAL_NAME(MuonPanelSyrk)("N", &g, &h, &minus, A21, &d, &one, A22, &d);
  if (REAL_NAME(Factor)(s - half, A22, ld)) return 1;
  REAL_NAME(MuonPanelTrmm)("L", "N", &g, &h, &minus, A22, &d, A21, &d);
  REAL_NAME(MuonPanelTrmm)("R", "N", &g, &h, &one, A, &d, A21, &d);
  return 0;
}

/* X becomes X^T X */
static void REAL_NAME(Square)(size_t s, REAL *X, size_t ld)
{
  const size_t      half = REAL_NAME(Half)(s);
  const MuonBLASInt n = (MuonBLASInt)s, h = (MuonBLASInt)half, g = (MuonBLASInt)(s - half), d = (MuonBLASInt)ld;
  const REAL        one = 1;
  REAL             *X21 = X + half, *X22 = X21 + half * ld;
  MuonBLASInt       info;

  if (s <= SMALL) {
    REAL_LAUUM("L", &n, X, &d, &info);
    return;
  }
  REAL_NAME(Square)(half, X, ld);
  REAL_NAME(MuonPanelSyrk)("T", &h, &g, &one, X21, &d, &one, X, &d);
  REAL_NAME(MuonPanelTrmm)("L", "T", &g, &h, &one, X22, &d, X21, &d);
  REAL_NAME(Square)(s - half, X22, ld);
}

  #endif

/* By tiles, in arrays of constant length */
MUON_KERNEL_CLONES void REAL_NAME(MuonDenseMirror)(size_t s, size_t count, void *W)
{
  enum {
    TILE = 16
  };
  REAL  *A = (REAL *)W;
  size_t J = 0;

  for (; J + TILE <= s; J += TILE) {
    size_t I = J + TILE;

    for (size_t j = J; j < J + TILE; j++) {
      for (size_t i = j + 1; i < J + TILE; i++) A[j + i * s] = CONJUGATE(A[i + j * s]);
    }
    for (; I + TILE <= s; I += TILE) {
      REAL tile[TILE][TILE];

      for (size_t j = 0; j < TILE; j++) {
        for (size_t i = 0; i < TILE; i++) tile[i][j] = CONJUGATE(A[I + i + (J + j) * s]);
      }
      for (size_t i = 0; i < TILE; i++) memcpy(A + J + (I + i) * s, tile[i], sizeof(tile[i]));
    }
    for (; I < s; I++) {
      for (size_t j = J; j < J + TILE; j++) A[j + I * s] = CONJUGATE(A[I + j * s]);
    }
  }
  for (; J < s; J++) {
    for (size_t i = J + 1; i < s; i++) A[J + i * s] = CONJUGATE(A[i + J * s]);
  }
}
  #undef CONJUGATE

  #if !REAL_PAIRS
int REAL_NAME(MuonDenseInverse)(size_t s, void *W)
{
  if (REAL_NAME(Factor)(s, (REAL *)W, s)) return 1;
  REAL_NAME(Square)(s, (REAL *)W, s);
  return 0;
}

int REAL_NAME(MuonDenseRoot)(size_t s, void *W)
{
  return REAL_NAME(Factor)(s, (REAL *)W, s);
}

/* The lower triangle of C += op(P) Q, n x n with k terms. Entries above it in small squares are lost */
static void REAL_NAME(AddLower)(const char *trans, size_t n, size_t k, const REAL *P, const REAL *Q, REAL *C, size_t ld)
{
  const size_t      half = n <= WHOLE ? n : REAL_NAME(Half)(n);
  const MuonBLASInt h = (MuonBLASInt)half, g = (MuonBLASInt)(n - half), inner = (MuonBLASInt)k, d = (MuonBLASInt)ld;
  const REAL        one = 1, *P2 = P + (*trans == 'N' ? half : half * ld);

  if (n <= WHOLE) {
    REAL_NAME(MuonPanelGemm)(trans, "N", &h, &h, &inner, &one, P, &d, Q, &d, &one, C, &d);
    return;
  }
  REAL_NAME(AddLower)(trans, half, k, P, Q, C, ld);
  REAL_NAME(MuonPanelGemm)(trans, "N", &g, &h, &inner, &one, P2, &d, Q, &d, &one, C + half, &d);
  REAL_NAME(AddLower)(trans, n - half, k, P2, Q + half * ld, C + half + half * ld, ld);
}

/*
   The lower triangle of T becomes that of op(X) T, for a lower triangle X. For X T the whole matrix T is needed, for X^T T not.
   Entries of T above the triangle stay, except in small squares. Half of the result saves a third of the operations, or two
   thirds
*/
static void REAL_NAME(Lower)(const char *trans, size_t s, const REAL *X, REAL *T, size_t ld)
{
  const size_t      half = REAL_NAME(Half)(s);
  const MuonBLASInt n = (MuonBLASInt)s, h = (MuonBLASInt)half, g = (MuonBLASInt)(s - half), d = (MuonBLASInt)ld;
  const REAL        one = 1, *X21 = X + half, *X22 = X21 + half * ld;
  REAL             *T21 = T + half, *T12 = T + half * ld, *T22 = T21 + half * ld;

  if (s <= SMALL) {
    REAL_NAME(MuonPanelTrmm)("L", trans, &n, &n, &one, X, &d, T, &d);
    return;
  }
  if (*trans == 'T') {
    REAL_NAME(Lower)(trans, half, X, T, ld);
    REAL_NAME(AddLower)(trans, half, s - half, X21, T21, T, ld);
  }
  REAL_NAME(MuonPanelTrmm)("L", trans, &g, &h, &one, X22, &d, T21, &d);
  REAL_NAME(Lower)(trans, s - half, X22, T22, ld);
  if (*trans == 'N') {
    REAL_NAME(AddLower)(trans, s - half, half, X21, T12, T22, ld);
    REAL_NAME(MuonPanelGemm)("N", "N", &g, &h, &h, &one, X21, &d, T, &d, &one, T21, &d);
    REAL_NAME(Lower)(trans, half, X, T, ld);
  }
}

/* Entries above the diagonal that can be in a small square */
static void REAL_NAME(CopyNear)(size_t s, const REAL *A, REAL *B)
{
  for (size_t j = 0; j < s; j++) {
    const size_t first = j < SMALL ? 0 : j - SMALL;

    memcpy(B + first + j * s, A + first + j * s, (j - first) * sizeof(*B));
  }
}

/*
   With B' = B + I/y the result is y B' + x y X^T (X B'). Its lower triangle needs only the lower triangle of X B'. Meanwhile B'
   is stored above the diagonal of B, and its part near the diagonal above that of X, which is not read
*/
MUON_KERNEL_CLONES void REAL_NAME(MuonDenseCongruence)(size_t s, double x, void *X, double y, void *B, void *strip)
{
  enum {
    TILE = 16
  };
  const REAL p = (REAL)(x * y), q = (REAL)y;
  REAL      *b = (REAL *)B, *diagonal = (REAL *)strip;

  for (size_t j = 0; j < s; j++) b[j + j * s] = diagonal[j] = (REAL)(b[j + j * s] + 1.0 / y);
  REAL_NAME(CopyNear)(s, b, (REAL *)X);
  REAL_NAME(Lower)("N", s, (const REAL *)X, b, s);
  REAL_NAME(Lower)("T", s, (const REAL *)X, b, s);
  REAL_NAME(CopyNear)(s, (const REAL *)X, b);
  for (size_t J = 0; J < s; J += TILE) {
    const size_t last = s - J < TILE ? s : J + TILE;
    size_t       I    = last;

    for (size_t j = J; j < last; j++) {
      b[j + j * s] = p * b[j + j * s] + q * diagonal[j];
      for (size_t i = j + 1; i < last; i++) b[j + i * s] = b[i + j * s] = p * b[i + j * s] + q * b[j + i * s];
    }
    for (; I + TILE <= s; I += TILE) {
      REAL tile[TILE][TILE], turned[TILE][TILE];

      for (size_t j = 0; j < TILE; j++) {
        for (size_t i = 0; i < TILE; i++) tile[i][j] = b[I + i + (J + j) * s];
      }
      for (size_t i = 0; i < TILE; i++) {
        for (size_t j = 0; j < TILE; j++) tile[i][j] = p * tile[i][j] + q * b[J + j + (I + i) * s];
        memcpy(b + J + (I + i) * s, tile[i], sizeof(tile[i]));
      }
      for (size_t j = 0; j < TILE; j++) {
        for (size_t i = 0; i < TILE; i++) turned[j][i] = tile[i][j];
      }
      for (size_t j = 0; j < TILE; j++) memcpy(b + I + (J + j) * s, turned[j], sizeof(turned[j]));
    }
    for (; I < s; I++) {
      for (size_t j = J; j < last; j++) b[j + I * s] = b[I + j * s] = p * b[I + j * s] + q * b[j + I * s];
    }
  }
}

/*
   u = x^2 Y Y^T v for Y with s rows, a few columns at a time: these are still in the first cache when they are read again. In
   an incomplete group the last columns take the places of missing ones, with the weight 0
*/
MUON_KERNEL_CLONES static void REAL_NAME(NormalOfColumns)(size_t s, size_t l, REAL square, const REAL *Y, size_t ldy, const REAL *v, REAL *u)
{
  enum {
    CHUNK   = 16,
    COLUMNS = 4
  };

  for (size_t first = 0; first < l; first += COLUMNS) {
    const REAL *y[COLUMNS];
    REAL        sum[COLUMNS][CHUNK], w[COLUMNS];
    size_t      i = 0;

    for (size_t c = 0; c < COLUMNS; c++) {
      y[c] = Y + (first + c < l ? first + c : l - 1) * ldy;
      for (size_t k = 0; k < CHUNK; k++) sum[c][k] = 0;
    }
    for (; i + CHUNK <= s; i += CHUNK) {
      for (size_t c = 0; c < COLUMNS; c++) {
        MUON_KERNEL_PREFETCH(y[c] + i + COLUMNS * ldy);
        for (size_t k = 0; k < CHUNK; k++) sum[c][k] += y[c][i + k] * v[i + k];
      }
    }
    for (size_t c = 0; c < COLUMNS; c++) {
      w[c] = 0;
      for (size_t k = 0; k < CHUNK; k++) w[c] += sum[c][k];
      for (size_t k = i; k < s; k++) w[c] += y[c][k] * v[k];
      w[c] = first + c < l ? w[c] * square : 0;
    }
    for (size_t k = 0; k < s; k++) u[k] += (w[0] * y[0][k] + w[1] * y[1][k]) + (w[2] * y[2][k] + w[3] * y[3][k]);
  }
}

  #endif

void REAL_NAME(MuonDenseNormal)(int left, size_t s, size_t l, double x, const void *Y, size_t ldy, const void *v, void *u)
{
  /* A strip is read from memory once for both products */
  const size_t strip = 256;
  const REAL   one = REAL_OF(1), zero = REAL_OF(0), square = REAL_OF(x * x);
  REAL         w[256];

  memset(u, 0, s * sizeof(REAL));
  #if !REAL_PAIRS
  if (left) {
    REAL_NAME(NormalOfColumns)(s, l, square, (const REAL *)Y, ldy, (const REAL *)v, (REAL *)u);
    return;
  }
  #endif
  for (size_t first = 0; first < l; first += strip) {
    const size_t      count = l - first < strip ? l - first : strip;
    const MuonBLASInt rows = (MuonBLASInt)(left ? s : count), columns = (MuonBLASInt)(left ? count : s), ld = (MuonBLASInt)ldy, step = 1;
    const REAL       *y = (const REAL *)Y + (left ? first * ldy : first);

    REAL_GEMV(left ? REAL_T : "N", &rows, &columns, &square, y, &ld, (const REAL *)v, &step, &zero, w, &step);
    REAL_GEMV(left ? "N" : REAL_T, &rows, &columns, &one, y, &ld, w, &step, &one, (REAL *)u, &step);
  }
}

#endif
