#if !defined(REAL)
  #include "muonpolarzolotarev.h"
  #include "muonpanels.h"
  #include "../array/muonclones.h"
  #include <math.h>
  #include <string.h>

/*
   node[i] = l^2 sc^2(i K / (2r+1)), i = 1 ... 2r, for the modulus whose complement is l and its complete
   integral K. Landen's transformation descends along the arithmetic-geometric mean of 1 and l to the
   cotangent, and climbs back (Bulirsch, Numerical calculation of elliptic integrals and elliptic functions,
   1965) through sums and quotients of positive numbers only, so that no digit is lost where l is tiny and the
   other elliptic functions would lose all.
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

  /* Differences of neighbors lose a digit, of which a long double has four to spare on most machines */
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
    /* The largest value on [l,1] is that at 1, the smallest that at l */
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
     This file includes itself once for each precision: REAL is the type of an entry, REAL_LETTER the letter
     of its BLAS routines, REAL_NAME(name) the name of a function
  */
  #define TWICE "../dense/muonpolarzolotarev.c"
  #include "../array/muontwice.h"

#else

/* Sums of chunks of a column stay in the precision of the entries, and those of chunks are in double */
MUON_KERNEL_CLONES double REAL_NAME(MuonDenseBound)(size_t s, void *A, double *rows)
{
  enum {
    CHUNK = 16
  };
  double squares = 0.0, most = 0.0;

  for (size_t i = 0; i < s; i++) rows[i] = 0.0;
  for (size_t j = 0; j < s; j++) {
    const REAL *a = (const REAL *)A + j * s;
    REAL        sum[CHUNK], square[CHUNK];
    size_t      i = j + 1;

    for (size_t k = 0; k < CHUNK; k++) sum[k] = square[k] = 0;
    for (; i + CHUNK <= s; i += CHUNK) {
      REAL x[CHUNK];

      for (size_t k = 0; k < CHUNK; k++) x[k] = a[i + k] < 0 ? -a[i + k] : a[i + k];
      for (size_t k = 0; k < CHUNK; k++) sum[k] += x[k];
      for (size_t k = 0; k < CHUNK; k++) square[k] += x[k] * x[k];
      for (size_t k = 0; k < CHUNK; k++) rows[i + k] += x[k];
    }
    for (; i < s; i++) {
      const REAL x = a[i] < 0 ? -a[i] : a[i];

      sum[0] += x;
      square[0] += x * x;
      rows[i] += x;
    }
    rows[j] += fabs((double)a[j]);
    squares += (double)a[j] * (double)a[j];
    for (size_t k = 0; k < CHUNK; k++) {
      rows[j] += sum[k];
      squares += 2.0 * square[k];
    }
  }
  for (size_t i = 0; i < s; i++) most = rows[i] > most ? rows[i] : most;
  return most < sqrt(squares) ? most : sqrt(squares);
}

MUON_KERNEL_CLONES void REAL_NAME(MuonDenseCombine)(size_t s, double x, const void *A, double y, void *B, double z)
{
  enum {
    CHUNK = 16
  };
  const REAL p = (REAL)x, q = (REAL)y;

  for (size_t j = 0; j < s; j++) {
    const REAL *a = (const REAL *)A + j * s;
    REAL       *b = (REAL *)B + j * s;
    size_t      i = j;

    if (y == 0.0 && x == 1.0) memmove(b + j, a + j, (s - j) * sizeof(*b));
    else if (y == 0.0) {
      for (; i < s; i++) b[i] = p * a[i];
    } else {
      for (; i + CHUNK <= s; i += CHUNK) {
        REAL sum[CHUNK];

        for (size_t k = 0; k < CHUNK; k++) sum[k] = p * a[i + k] + q * b[i + k];
        memcpy(b + i, sum, sizeof(sum));
      }
      for (; i < s; i++) b[i] = p * a[i] + q * b[i];
    }
    b[j] = (REAL)(b[j] + z);
  }
}

/*
   A, s x s with columns ld apart, becomes the inverse of its Cholesky factor: few enough columns for the
   calls of the BLAS to cost more than what they do. 1 where A is not positive definite
*/
static int REAL_NAME(Leaf)(size_t s, REAL *A, size_t ld)
{
  for (size_t j = 0; j < s; j++) {
    REAL *a = A + j * ld;
    REAL  inverse;

    if (!(a[j] > 0)) return 1;
    inverse = 1 / (REAL)sqrt((double)a[j]);
    a[j]    = inverse;
    for (size_t i = j + 1; i < s; i++) a[i] *= inverse;
    for (size_t k = j + 1; k < s; k++) {
      for (size_t i = k; i < s; i++) A[i + k * ld] -= a[k] * a[i];
    }
  }
  /*
     From the last column back: column j of the inverse is the columns after it, times what is below the
     diagonal
  */
  for (size_t j = s; j-- > 0;) {
    REAL *a = A + j * ld;
    REAL  x[16];

    for (size_t i = j + 1; i < s; i++) x[i] = 0;
    for (size_t k = j + 1; k < s; k++) {
      for (size_t i = k; i < s; i++) x[i] -= a[k] * A[i + k * ld];
    }
    for (size_t i = j + 1; i < s; i++) a[i] = x[i] * a[j];
  }
  return 0;
}

/* Halves that keep the blocks of the kernels of the BLAS whole */
static size_t REAL_NAME(Half)(size_t s)
{
  return (s / 2 + 15) / 16 * 16;
}

/*
   A becomes the inverse X of its Cholesky factor L. Halves: X11 from A11; L21 = A21 X11^T; X22 from A22 - L21
   L21^T; X21 = - X22 L21 X11, all in the place of A. POTRF and TRTRI solve with triangles, which OpenBLAS
   does at half the speed of the products here. The error of L21 is that of X11, u sqrt(cond A), which is
   small beside the shift.
*/
static int REAL_NAME(Factor)(size_t s, REAL *A, size_t ld)
{
  const size_t      half = REAL_NAME(Half)(s);
  const MuonBLASInt h = (MuonBLASInt)half, g = (MuonBLASInt)(s - half), d = (MuonBLASInt)ld;
  const REAL        one = 1, minus = -1;
  REAL             *A21 = A + half, *A22 = A21 + half * ld;

  if (s <= 16) return REAL_NAME(Leaf)(s, A, ld);
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

  if (s <= 96) {
    REAL_LAUUM("L", &n, X, &d, &info);
    return;
  }
  REAL_NAME(Square)(half, X, ld);
  REAL_NAME(MuonPanelSyrk)("T", &h, &g, &one, X21, &d, &one, X, &d);
  REAL_NAME(MuonPanelTrmm)("L", "T", &g, &h, &one, X22, &d, X21, &d);
  REAL_NAME(Square)(s - half, X22, ld);
}

/* By tiles, through arrays of a length that the compiler knows */
MUON_KERNEL_CLONES void REAL_NAME(MuonDenseMirror)(size_t s, size_t count, void *W)
{
  enum {
    TILE = 16
  };
  REAL  *A = (REAL *)W;
  size_t J = 0;

  (void)count;
  for (; J + TILE <= s; J += TILE) {
    size_t I = J + TILE;

    for (size_t j = J; j < J + TILE; j++) {
      for (size_t i = j + 1; i < J + TILE; i++) A[j + i * s] = A[i + j * s];
    }
    for (; I + TILE <= s; I += TILE) {
      REAL tile[TILE][TILE];

      for (size_t j = 0; j < TILE; j++) {
        for (size_t i = 0; i < TILE; i++) tile[i][j] = A[I + i + (J + j) * s];
      }
      for (size_t i = 0; i < TILE; i++) memcpy(A + J + (I + i) * s, tile[i], sizeof(tile[i]));
    }
    for (; I < s; I++) {
      for (size_t j = J; j < J + TILE; j++) A[j + I * s] = A[I + j * s];
    }
  }
  for (; J < s; J++) {
    for (size_t i = J + 1; i < s; i++) A[J + i * s] = A[i + J * s];
  }
}

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

/*
   The lower triangle of C += P^T Q, n x n with k terms; small squares are computed whole, since OpenBLAS's
   SYRK and its like are slower there
*/
static void REAL_NAME(AddLower)(size_t n, size_t k, const REAL *P, const REAL *Q, REAL *C, size_t ld)
{
  const size_t      half = n <= 96 ? n : REAL_NAME(Half)(n);
  const MuonBLASInt h = (MuonBLASInt)half, g = (MuonBLASInt)(n - half), inner = (MuonBLASInt)k, d = (MuonBLASInt)ld;
  const REAL        one = 1;

  if (n <= 96) {
    REAL_NAME(MuonPanelGemm)("T", "N", &h, &h, &inner, &one, P, &d, Q, &d, &one, C, &d);
    return;
  }
  REAL_NAME(AddLower)(half, k, P, Q, C, ld);
  REAL_NAME(MuonPanelGemm)("T", "N", &g, &h, &inner, &one, P + half * ld, &d, Q, &d, &one, C + half, &d);
  REAL_NAME(AddLower)(n - half, k, P + half * ld, Q + half * ld, C + half + half * ld, ld);
}

/* The lower triangle of T becomes that of X^T T, for a lower triangle X; what T has above it is lost */
static void REAL_NAME(Lower)(size_t s, const REAL *X, REAL *T, size_t ld)
{
  const size_t      half = REAL_NAME(Half)(s);
  const MuonBLASInt n = (MuonBLASInt)s, h = (MuonBLASInt)half, g = (MuonBLASInt)(s - half), d = (MuonBLASInt)ld;
  const REAL        one = 1;

  if (s <= 96) {
    REAL_NAME(MuonPanelTrmm)("L", "T", &n, &n, &one, X, &d, T, &d);
    return;
  }
  REAL_NAME(Lower)(half, X, T, ld);
  REAL_NAME(AddLower)(half, s - half, X + half, T + half, T, ld);
  REAL_NAME(MuonPanelTrmm)("L", "T", &g, &h, &one, X + half + half * ld, &d, T + half, &d);
  REAL_NAME(Lower)(s - half, X + half + half * ld, T + half + half * ld, ld);
}

/*
   With B' = B + I/y the result is y B' + x y X^T (X B'). The product with a triangle runs at the full speed
   of GEMM and spares X^T X, which makes up for what the triangle of a product costs. B' waits above the
   diagonal of X, where nobody looks
*/
MUON_KERNEL_CLONES void REAL_NAME(MuonDenseCongruence)(size_t s, double x, void *X, double y, void *B, void *strip)
{
  enum {
    TILE = 16
  };
  const MuonBLASInt n  = (MuonBLASInt)s;
  const REAL        xy = (REAL)(x * y), factor = (REAL)y;
  REAL             *a = (REAL *)X, *b = (REAL *)B, *diagonal = (REAL *)strip;

  for (size_t j = 0; j < s; j++) {
    diagonal[j]  = (REAL)(b[j + j * s] + 1.0 / y);
    b[j + j * s] = diagonal[j];
    memcpy(a + j * s, b + j * s, j * sizeof(*a));
  }
  REAL_NAME(MuonPanelTrmm)("L", "N", &n, &n, &xy, a, &n, b, &n);
  REAL_NAME(Lower)(s, a, b, s);
  for (size_t J = 0; J < s; J += TILE) {
    const size_t last = s - J < TILE ? s : J + TILE;

    for (size_t j = J; j < last; j++) {
      b[j + j * s] += factor * diagonal[j];
      for (size_t i = j + 1; i < last; i++) b[i + j * s] += factor * a[j + i * s];
    }
    for (size_t i = last; i < s; i++) {
      for (size_t j = J; j < last; j++) b[i + j * s] += factor * a[j + i * s];
    }
  }
}

/*
   u = x^2 Y Y^T v for Y of s rows: a few columns at a time, which are in the nearest cache when they are read
   again. The last ones stand in for those that are not there, with the weight 0
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

void REAL_NAME(MuonDenseNormal)(int left, size_t s, size_t l, double x, const void *Y, size_t ldy, const void *v, void *u)
{
  /* What goes through the cache is read once for both products */
  const size_t strip = 256;
  const REAL   one = 1, zero = 0, square = (REAL)(x * x);
  REAL         w[256];

  for (size_t i = 0; i < s; i++) ((REAL *)u)[i] = 0;
  if (left) REAL_NAME(NormalOfColumns)(s, l, square, (const REAL *)Y, ldy, (const REAL *)v, (REAL *)u);
  for (size_t first = 0; first < l && !left; first += strip) {
    const size_t      count = l - first < strip ? l - first : strip;
    const MuonBLASInt rows = (MuonBLASInt)count, columns = (MuonBLASInt)s, ld = (MuonBLASInt)ldy, step = 1;
    const REAL       *y = (const REAL *)Y + first;

    REAL_GEMV("N", &rows, &columns, &square, y, &ld, (const REAL *)v, &step, &zero, w, &step);
    REAL_GEMV("T", &rows, &columns, &one, y, &ld, w, &step, &one, (REAL *)u, &step);
  }
}

#endif
