/*
   The kernels on matrices against loops that cannot be wrong, for sizes around those of tiles and blocks and with gaps between columns.
*/
#include "kernels_common.h"

static const size_t rows[]    = {0, 1, 2, 7, 8, 9, 17, 100};
static const size_t columns[] = {0, 1, 3, 63, 64, 65, 130};

typedef struct {
  size_t            ld, size;
  MuonKernelScalar *x;
} Matrix;

/* The gaps hold NaN: whoever reads them shows it */
static Matrix MatrixCreate(size_t m, size_t n, size_t gap, uint64_t *state)
{
  Matrix A;

  A.ld   = m + gap;
  A.size = A.ld * n;
  A.x    = (MuonKernelScalar *)Allocate(A.size * sizeof(*A.x));
  for (size_t k = 0; k < A.size; k++) A.x[k] = (MuonKernelScalar)(k % A.ld < m ? NextNormal(state) : NAN);
  return A;
}

static Matrix MatrixCopy(const Matrix *A)
{
  Matrix B = *A;

  B.x = (MuonKernelScalar *)Allocate(B.size * sizeof(*B.x));
  memcpy(B.x, A->x, B.size * sizeof(*B.x));
  return B;
}

static void CheckGaps(const Matrix *A, size_t m, const char *what)
{
  for (size_t k = 0; k < A->size; k++) {
    if (k % A->ld >= m) Check(A->x[k] != A->x[k], "%s wrote between the columns", what);
  }
}

static void CheckMatrices(size_t m, size_t n, size_t gap, uint64_t *state)
{
  const MuonKernelScalar a = (MuonKernelScalar)0.9, b = (MuonKernelScalar)0.1;
  Matrix                 X = MatrixCreate(m, n, gap, state), Y = MatrixCreate(m, n, 2 * gap, state), Z = MatrixCopy(&Y);
  MuonKernelScalar      *line    = (MuonKernelScalar *)Allocate(m * n * sizeof(*line));
  long double            squares = 0, sum = 0;

  /* Two products and a sum, each with a relative rounding error of eps / 2 */
  MuonKernelMomentum(m, n, a, X.x, X.ld, b, Z.x, Z.ld);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) {
      const long double p = (long double)a * X.x[i + j * X.ld], q = (long double)b * Y.x[i + j * Y.ld];

      Check(fabsl(p + q - Z.x[i + j * Z.ld]) <= EPSILON * (fabsl(p) + fabsl(q)), "momentum of %d x %d", (int)m, (int)n);
    }
  }
  CheckGaps(&Z, m, "momentum");

  memcpy(Z.x, Y.x, Y.size * sizeof(*Y.x));
  MuonKernelMomentum(m, n, 0, NULL, 1, 1, Z.x, Z.ld);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) Check(Z.x[i + j * Z.ld] == Y.x[i + j * Y.ld], "momentum without a previous one");
  }

  for (size_t k = 0; k < Z.size; k++) Z.x[k] = NAN;
  MuonKernelAxpby(m, n, -2, X.x, X.ld, 0, Z.x, Z.ld);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) Check(Z.x[i + j * Z.ld] == -2 * X.x[i + j * X.ld], "a multiple of %d x %d", (int)m, (int)n);
  }
  CheckGaps(&Z, m, "a multiple");
  memcpy(Z.x, Y.x, Y.size * sizeof(*Y.x));
  MuonKernelAxpby(m, n, -2, X.x, X.ld, 1, Z.x, Z.ld);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) Check(Z.x[i + j * Z.ld] == -2 * X.x[i + j * X.ld] + Y.x[i + j * Y.ld], "a sum of %d x %d", (int)m, (int)n);
  }

  MuonKernelResidualRows(m, n, X.x, X.ld, Y.x, Y.ld, line);
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) Check(line[i * n + j] == X.x[i + j * X.ld] - Y.x[i + j * Y.ld], "residual of %d x %d", (int)m, (int)n);
  }
  MuonKernelResidualRows(m, n, X.x, X.ld, NULL, 0, line);
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) Check(line[i * n + j] == X.x[i + j * X.ld], "rows of %d x %d", (int)m, (int)n);
  }
  for (size_t k = 0; k < Z.size; k++) Z.x[k] = NAN;
  MuonKernelRowsAxpby(m, n, 1, line, 0, Z.x, Z.ld);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) Check(Z.x[i + j * Z.ld] == X.x[i + j * X.ld], "columns of %d x %d", (int)m, (int)n);
  }
  CheckGaps(&Z, m, "columns");
  memcpy(Z.x, Y.x, Y.size * sizeof(*Y.x));
  MuonKernelRowsAxpby(m, n, 4, line, 1, Z.x, Z.ld);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) Check(Z.x[i + j * Z.ld] == 4 * X.x[i + j * X.ld] + Y.x[i + j * Y.ld], "columns added to %d x %d", (int)m, (int)n);
  }
  CheckGaps(&Z, m, "columns");

  /* A sum of N terms of one sign in any order has a relative error below N eps */
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) {
      squares += (long double)X.x[i + j * X.ld] * X.x[i + j * X.ld];
      sum += fabsl((long double)X.x[i + j * X.ld]);
    }
  }
  Check(fabsl(MuonKernelSumSquares(m, n, X.x, X.ld) - squares) <= (long double)(m * n + 1) * DBL_EPSILON * squares, "sum of squares of %d x %d", (int)m, (int)n);
  Check(fabsl(MuonKernelSumAbs(m, n, X.x, X.ld) - sum) <= (long double)(m * n) * DBL_EPSILON * sum, "sum of absolute values of %d x %d", (int)m, (int)n);

  Check(MuonKernelIsFinite(m, n, X.x, X.ld) == 1, "%d x %d is finite", (int)m, (int)n);
  if (m * n > 0) {
    for (int bad = 0; bad < 3; bad++) {
      const size_t           at   = bad == 0 ? 0 : bad == 1 ? m - 1 + (n - 1) * X.ld : m / 2 + n / 2 * X.ld;
      const MuonKernelScalar kept = X.x[at];

      X.x[at] = (MuonKernelScalar)(bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY);
      Check(MuonKernelIsFinite(m, n, X.x, X.ld) == 0, "%d x %d is not finite", (int)m, (int)n);
      X.x[at] = kept;
    }
  }
  free(X.x);
  free(Y.x);
  free(Z.x);
  free(line);
}

static void CheckScatter(size_t m, size_t n, size_t gap, size_t first, unsigned density, uint64_t *state)
{
  const MuonKernelScalar a = (MuonKernelScalar)0.7;
  Matrix                 Y = MatrixCreate(m, n, gap, state), Z = MatrixCopy(&Y);
  unsigned char         *bitmap = (unsigned char *)Allocate((first + m * n + 7) / 8);
  MuonKernelScalar      *values = (MuonKernelScalar *)Allocate(m * n * sizeof(*values));
  size_t                 count  = 0;

  for (size_t k = 0; k < (first + m * n + 7) / 8; k++) bitmap[k] = (unsigned char)(density == 8 ? 255 : NextBits(state) & (density == 1 ? NextBits(state) & NextBits(state) : 255));
  for (size_t e = first; e < first + m * n; e++) count += bitmap[e / 8] >> e % 8 & 1u;
  for (size_t k = 0; k < count; k++) values[k] = (MuonKernelScalar)NextNormal(state);
  Check(MuonKernelCountBits(bitmap, first, m * n) == count, "bits of %d x %d", (int)m, (int)n);
  for (int add = 1; add >= 0; add--) {
    count = 0;
    MuonKernelScatter(m, n, bitmap, first, values, add, a, Z.x, Z.ld);
    for (size_t i = 0; i < m; i++) {
      for (size_t j = 0; j < n; j++) {
        const size_t     bit = first + i * n + j;
        MuonKernelScalar y   = Y.x[i + j * Y.ld];

        if (bitmap[bit / 8] >> bit % 8 & 1) y = add ? y + a * values[count] : values[count];
        count += bitmap[bit / 8] >> bit % 8 & 1u;
        Check(Z.x[i + j * Z.ld] == y, "entry %d, %d of %d x %d", (int)i, (int)j, (int)m, (int)n);
        Y.x[i + j * Y.ld] = y;
      }
    }
    CheckGaps(&Z, m, "entries");
  }
  free(Y.x);
  free(Z.x);
  free(bitmap);
  free(values);
}

/* Signs of zeros, of the smallest numbers and of differences that vanish */
static void CheckSigns(size_t m, size_t n, size_t gap, uint64_t *state)
{
  const MuonKernelScalar special[] = {0, -(MuonKernelScalar)0, 1, -1, (MuonKernelScalar)(sizeof(MuonKernelScalar) == 4 ? 1e-45 : 5e-324), -(MuonKernelScalar)(sizeof(MuonKernelScalar) == 4 ? 1e-45 : 5e-324)};
  const MuonKernelScalar a         = (MuonKernelScalar)0.3;
  Matrix                 T = MatrixCreate(m, n, gap, state), R = MatrixCreate(m, n, 2 * gap, state), Y = MatrixCreate(m, n, gap, state), Z = MatrixCopy(&Y);
  const size_t           bytes = (m * n + 7) / 8;
  unsigned char         *bits = (unsigned char *)Allocate(bytes + 1), *expected = (unsigned char *)Allocate(bytes + 1);
  double                 sum;

  for (size_t k = 0; k < m * n; k += 3) {
    T.x[k % m + k / m * T.ld] = special[NextBits(state) % 6];
    if (k % 2 == 0) R.x[k % m + k / m * R.ld] = NextBits(state) % 3 == 0 ? T.x[k % m + k / m * T.ld] : special[NextBits(state) % 6];
  }
  for (int without = 0; without < 2; without++) {
    long double exact = 0;

    memset(expected, 0, bytes + 1);
    memset(bits, 0xA5, bytes + 1);
    expected[bytes] = 0xA5;
    for (size_t i = 0; i < m; i++) {
      for (size_t j = 0; j < n; j++) {
        const MuonKernelScalar x = without ? T.x[i + j * T.ld] : T.x[i + j * T.ld] - R.x[i + j * R.ld];

        if (x >= 0) expected[(i * n + j) / 8] |= (unsigned char)(1 << (i * n + j) % 8);
        exact += fabsl((long double)x);
      }
    }
    Check(MuonKernelSigns(m, n, T.x, T.ld, without ? NULL : R.x, R.ld, bits, &sum) == 0, "%d x %d is finite", (int)m, (int)n);
    Check(memcmp(bits, expected, bytes + 1) == 0, "signs of %d x %d", (int)m, (int)n);
    /* As above */
    Check(fabsl(sum - exact) <= (long double)(m * n) * DBL_EPSILON * exact, "sum of absolute values beside the signs of %d x %d", (int)m, (int)n);
    MuonKernelSignsAxpby(m, n, bits, a, Z.x, Z.ld);
    for (size_t i = 0; i < m; i++) {
      for (size_t j = 0; j < n; j++) {
        const MuonKernelScalar y = Y.x[i + j * Y.ld], sign = expected[(i * n + j) / 8] >> (i * n + j) % 8 & 1 ? a : -a;

        Check(Z.x[i + j * Z.ld] == y + sign, "signs added to %d x %d", (int)m, (int)n);
        Y.x[i + j * Y.ld] = y + sign;
      }
    }
    CheckGaps(&Z, m, "signs");
  }
  for (size_t at = 0; at < m * n; at += m * n / 7 + 1) {
    for (int bad = 0; bad < 3; bad++) {
      MuonKernelScalar      *x    = at % 2 == 0 ? &T.x[at % m + at / m * T.ld] : &R.x[at % m + at / m * R.ld];
      const MuonKernelScalar kept = *x;

      *x = (MuonKernelScalar)(bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY);
      Check(MuonKernelSigns(m, n, T.x, T.ld, R.x, R.ld, bits, &sum) == 1, "entry %d of %d x %d is not finite", (int)at, (int)m, (int)n);
      *x = kept;
    }
  }
  free(T.x);
  free(R.x);
  free(Y.x);
  free(Z.x);
  free(bits);
  free(expected);
}

static void CheckGather(size_t m, size_t n, size_t gap, unsigned density, uint64_t *state)
{
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  Matrix              T = MatrixCreate(m, n, gap, state), R = MatrixCreate(m, n, 2 * gap, state);
  unsigned char      *bitmap = (unsigned char *)Allocate((m * n + 7) / 8);
  MuonKernelScalar   *values = (MuonKernelScalar *)Allocate((m * n + 1) * sizeof(*values));

  memset(bitmap, 0, (m * n + 7) / 8);
  for (size_t e = 0; e < m * n; e++) {
    if (NextBits(state) % 8 < density) bitmap[e / 8] |= (unsigned char)(1u << e % 8);
  }
  for (int zero = 0; zero < 2; zero++) {
    size_t count = 0;

    for (size_t k = 0; k <= m * n; k++) values[k] = -7;
    Check(MuonKernelGather(m, n, T.x, T.ld, zero ? NULL : R.x, R.ld, (MuonKernelScalar)INFINITY, bitmap, values) == 0, "%d x %d is not finite", (int)m, (int)n);
    for (size_t e = 0; e < m * n; e++) {
      const MuonKernelScalar x = T.x[e / n + e % n * T.ld] - (zero ? 0 : R.x[e / n + e % n * R.ld]);

      if (bitmap[e / 8] >> e % 8 & 1) Check(values[count++] == x, "gathered entry %d of %d x %d", (int)e, (int)m, (int)n);
    }
    Check(values[count] == -7, "gathered more than there is");
  }
  /* Wherever it is, in T, in R or in their difference */
  for (size_t e = 0; e < m * n; e += 1 + m * n / 5) {
    MuonKernelScalar *t = T.x + e / n + e % n * T.ld, *r = R.x + e / n + e % n * R.ld, twas = *t, rwas = *r;

    for (size_t b = 0; b < 3; b++) {
      *t = (MuonKernelScalar)bad[b];
      Check(MuonKernelGather(m, n, T.x, T.ld, R.x, R.ld, (MuonKernelScalar)INFINITY, bitmap, values) == 1 && MuonKernelGather(m, n, T.x, T.ld, NULL, 0, (MuonKernelScalar)INFINITY, bitmap, values) == 1, "%g of T is finite", bad[b]);
      *t = twas;
      *r = (MuonKernelScalar)bad[b];
      Check(MuonKernelGather(m, n, T.x, T.ld, R.x, R.ld, (MuonKernelScalar)INFINITY, bitmap, values) == 1, "%g of R is finite", bad[b]);
    }
    *t = (MuonKernelScalar)(sizeof(*t) == 4 ? (double)FLT_MAX : DBL_MAX);
    *r = -*t;
    Check(MuonKernelGather(m, n, T.x, T.ld, R.x, R.ld, (MuonKernelScalar)INFINITY, bitmap, values) == 1, "a difference out of range is finite");
    *t = -4096;
    *r = 0;
    Check(MuonKernelGather(m, n, T.x, T.ld, R.x, R.ld, 4096, bitmap, values) == 1 && MuonKernelIsBelow(m, n, T.x, T.ld, 4096) == 0, "the limit is not reached");
    *t = (MuonKernelScalar)4095.999;
    Check(MuonKernelGather(m, n, T.x, T.ld, R.x, R.ld, 4096, bitmap, values) == 0 && MuonKernelIsBelow(m, n, T.x, T.ld, 4096) == 1, "the limit is reached too early");
    *t = twas;
    *r = rwas;
  }
  free(T.x);
  free(R.x);
  free(bitmap);
  free(values);
}

/* Rounding to p significant bits by scaling and the current mode of rounding, which is to nearest even */
static double Nearest(double x, int p)
{
  int exponent;

  if (x == 0) return x;
  (void)frexp(x, &exponent);
  return ldexp(rint(ldexp(x, p - exponent)), exponent - p);
}

static void CheckRounding(uint64_t *state)
{
  const double special[] = {0, 1, 1 + 1.0 / 256, 1 + 3.0 / 256, 1 + 1.0 / 128, 1 - 1.0 / 512, FLT_MIN, FLT_MAX / 2, 3.3895313892515355e38};

  for (int k = 0; k < 20000; k++) {
    const size_t           specials = sizeof(special) / sizeof(special[0]);
    const double           draw     = (size_t)k < specials ? special[k] : ldexp(NextNormal(state), (int)(NextBits(state) % 240) - 120);
    const MuonKernelScalar x        = (MuonKernelScalar)(k % 2 == 0 ? draw : -draw);
    float                  y, z;

    if (fabs((double)x) < FLT_MIN && x != 0) continue;
    Check(MuonKernelToSingle(1, &x, &y) == 0 && (double)y == Nearest((double)x, 24), "%.17g to binary32 gave %.9g", (double)x, (double)y);
    Check(MuonKernelToBF16(1, &x, &z) == 0 && (double)z == Nearest(Nearest((double)x, 24), 8), "%.17g to bf16 gave %.9g", (double)x, (double)z);
  }
  {
    const MuonKernelScalar bad[3] = {(MuonKernelScalar)NAN, (MuonKernelScalar)INFINITY, (MuonKernelScalar)-INFINITY}, largest = (MuonKernelScalar)FLT_MAX;
    MuonKernelScalar       x[5] = {1, 2, 3, 4, 5};
    float                  y[5];

    for (int b = 0; b < 3; b++) {
      for (int at = 0; at < 5; at++) {
        x[at] = bad[b];
        Check(MuonKernelToSingle(5, x, y) == 1 && MuonKernelToBF16(5, x, y) == 1, "entry %d is not finite", at);
        x[at] = 1;
      }
    }
    Check(MuonKernelToSingle(1, &largest, y) == 0 && MuonKernelToBF16(1, &largest, y) == 1, "the largest binary32 rounds to Inf in bf16");
#if !defined(MUON_KERNEL_SINGLE)
    x[0] = 1e39;
    Check(MuonKernelToSingle(1, x, y) == 1 && MuonKernelToBF16(1, x, y) == 1, "1e39 does not fit");
#endif
  }
}

int main(void)
{
  uint64_t state = 2;

  for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
      for (size_t gap = 0; gap < 3; gap++) CheckMatrices(rows[r], columns[c], gap, &state);
    }
  }
  for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
      for (size_t gap = 0; gap < 2; gap++) {
        CheckSigns(rows[r], columns[c], gap, &state);
        for (unsigned density = 0; density < 9; density += 4) CheckGather(rows[r], columns[c], gap, density, &state);
        for (unsigned density = 0; density < 9; density += density == 0 ? 1 : 7) CheckScatter(rows[r], columns[c], gap, 5 * r, density, &state);
      }
    }
  }
  CheckSigns(513, 130, 0, &state);
  CheckSigns(1030, 67, 1, &state);
  CheckRounding(&state);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/kernels_ok.out

TEST*/
