/*
   The table of dense operations: every operation in every precision and memory against sums in double. They
   are exact for small integers, whose products all precisions hold; other numbers are as far off as roundings
   of sums are. Padding, and what lies above a diagonal, is NaN where an operation must not read it.
*/
#include "kernels_common.h"
#include "kernels/dense/muonpolarreal.h"

static uint64_t state = 1; /* of the random numbers */

static const MuonKernelReal *real;

/* Numbers to where the operations have them, and back into the array they came from */
static void *Send(size_t count, const double *x)
{
  void *host = Allocate(count * real->size), *there;

  for (size_t k = 0; k < count; k++) {
    if (real->size == sizeof(float)) ((float *)host)[k] = (float)x[k];
    else ((double *)host)[k] = x[k];
  }
  if (real->memory == MUON_HOST) return host;
  there = MuonDeviceGet()->allocate(count * real->size);
  MuonDeviceGet()->copy(count * real->size, host, there);
  return there;
}

static void Receive(size_t count, void *there, double *x)
{
  void *host = there;

  if (real->memory == MUON_DEVICE) {
    host = Allocate(count * real->size);
    MuonDeviceGet()->copy(count * real->size, there, host);
    MuonDeviceGet()->release(there);
  }
  for (size_t k = 0; k < count; k++) x[k] = real->size == sizeof(float) ? (double)((const float *)host)[k] : ((const double *)host)[k];
}

/* As an operand of a product of that precision: to nearest, ties to even */
static double Rounded(double x)
{
  int    exponent;
  double fraction = frexp(real->size == sizeof(float) ? (double)(float)x : x, &exponent);

  return real->unit < 1e-6 ? ldexp(fraction, exponent) : ldexp(nearbyint(fraction / real->unit), exponent) * real->unit;
}

/* The roundoff of sums, which are in the precision of the entries */
static double Unit(void)
{
  return real->size == sizeof(float) ? ldexp(1.0, -24) : ldexp(1.0, -53);
}

/* Some that all precisions hold exactly, or some that none but double does; padding is NaN */
static double *Draw(size_t rows, size_t columns, size_t ld, int integers)
{
  double *x = (double *)Allocate(ld * columns * sizeof(*x));

  for (size_t k = 0; k < ld * columns; k++) {
    x[k] = integers ? floor(9 * NextUniform(&state)) - 4 : 2 * NextUniform(&state) - 1;
    if (real->size == sizeof(float)) x[k] = (double)(float)x[k];
    if (k % ld >= rows) x[k] = (double)NAN;
  }
  return x;
}

/* A lower triangle: what is above it is NaN */
static double *DrawSymmetric(size_t s, int integers)
{
  double *x = Draw(s, s, s, integers);

  for (size_t j = 0; j < s; j++) {
    for (size_t i = 0; i < j; i++) x[i + j * s] = (double)NAN;
  }
  return x;
}

static double Of(const double *B, size_t s, size_t i, size_t j)
{
  return i < j ? B[i * s + j] : B[j * s + i];
}

/* What was found of an entry that is a sum; exact where bound is 0 */
static void Compare(const char *what, double found, double expected, double bound)
{
  Check(fabs(found - expected) <= bound, "%s in %s precision %s: %.17g, expected %.17g up to %g", what, real->name, real->memory == MUON_HOST ? "on the host" : "on the device", found, expected, bound);
}

/* start + a <x, y> of so many numbers as a product rounds them, each a stride from the next */
static void CompareSum(const char *what, double found, double start, double a, size_t count, const double *x, size_t xstride, const double *y, size_t ystride, double unit)
{
  double sum = start, size = fabs(start);

  for (size_t k = 0; k < count; k++) {
    const double term = a * Rounded(x[k * xstride]) * Rounded(y[k * ystride]);

    sum += term;
    size += fabs(term);
  }
  Compare(what, found, sum, ((double)count + 8) * unit * size);
}

static void CheckProducts(int left, size_t s, size_t l, int integers)
{
  const size_t rows = left ? s : l, columns = left ? l : s, ld = rows + 2, step = 1 + (s + l) / 100, line = left ? 1 : ld, next = left ? ld : 1;
  const double a = integers ? 3 : 1.25, b = integers ? -2 : 0.75, unit = integers ? 0 : Unit();
  double      *Y = Draw(rows, columns, ld, integers), *Z = Draw(rows, columns, ld, integers), *B = DrawSymmetric(s, integers), *found = (double *)Allocate((ld * columns + s * s) * sizeof(double));
  double      *F = (double *)Allocate(s * s * sizeof(double)); /* B with what is above its diagonal */
  void        *y = Send(ld * columns, Y), *A = Send(s * s, B), *C = Send(s * s, B), *z;

  for (size_t k = 0; k < s * s; k++) F[k] = Of(B, s, k % s, k / s);
  real->gram(left, s, l, 1, a, y, ld, b, C);
  Receive(s * s, C, found);
  for (size_t j = 0; j < s; j += step) {
    for (size_t i = j; i < s; i += step) CompareSum("gram", found[j * s + i], b * F[j * s + i], a, l, Y + i * line, next, Y + j * line, next, unit);
  }
  for (int held = 0; held < 3; held++) {
    z = Send(ld * columns, Z);
    real->multiply(left, s, l, 1, a, A, held > 0 ? real->hold(s, 1, A) : NULL, y, ld, held == 2 ? 0 : b, z, ld);
    Receive(ld * columns, z, found);
    for (size_t j = 0; j < columns; j += step) {
      for (size_t i = 0; i < rows; i += step) CompareSum("multiply", found[j * ld + i], held == 2 ? 0 : b * Z[j * ld + i], a, s, F + (left ? i : j) * s, 1, Y + (left ? j : i) * next, line, unit);
      for (size_t i = rows; i < ld; i++) Check(isnan(found[j * ld + i]), "multiply writes between the columns");
    }
  }
  /* A matrix and its double commute */
  real->mirror(s, 1, A);
  C = Send(s * s, B);
  z = Send(s * s, B);
  real->mirror(s, 1, C);
  real->arrays->Axpby(s, s, 0, A, s, 2, C, s);
  real->product(s, 1, a, A, C, b, z);
  Receive(s * s, z, found);
  for (size_t j = 0; j < s; j += step) {
    for (size_t i = j; i < s; i += step) CompareSum("product", found[j * s + i], b * F[j * s + i], 2 * a, s, F + i * s, 1, F + j * s, 1, unit);
  }
  Receive(s * s, C, found);
  for (size_t k = 0; k < s * s; k++) Compare("mirror", found[k], 2 * F[k], 0);
  Receive(s * s, A, found);
  Receive(ld * columns, y, found);
  FreeFrom(0);
}

/* Passes over a symmetric matrix and over a panel, of integers: all are exact */
static void CheckPasses(size_t s, size_t l)
{
  double *B = DrawSymmetric(s, 1), *Y = Draw(s, l, s, 1), *found = (double *)Allocate((s * s + s * l) * sizeof(double)), *d = (double *)Allocate(s * sizeof(double)), *sums = (double *)Allocate(s * sizeof(double));
  double  square = 0, trace = 0, squares = 0, most = 0;
  void   *A = Send(s * s, B), *C = Send(s * s, B), *y, *u, *v;

  real->shift(s, 1, 3, A);
  for (size_t i = 0; i < s; i++) {
    B[i * (s + 1)] += 3;
    d[i] = ldexp(1.0, (int)(i % 5) - 2);
  }
  real->rowsums(s, A, sums);
  for (size_t i = 0; i < s; i++) {
    double sum = 0;

    for (size_t j = 0; j < s; j++) {
      const double x = Of(B, s, i, j) / 2 - (i == j);

      sum += fabs(Of(B, s, i, j));
      square += x * x;
      squares += Of(B, s, i, j) * Of(B, s, i, j);
    }
    most = sum > most ? sum : most;
    trace += B[i * (s + 1)];
    Compare("rowsums", sums[i], sum, 0);
  }
  Compare("trace", real->trace(s, A), trace, 0);
  Compare("distance", real->distance(s, A, 2), sqrt(square), 1e-12 * sqrt(square));
  most = most < sqrt(squares) ? most : sqrt(squares);
  Compare("bound", real->bound(s, A, sums), most, 1e-6 * most);
  /* C is B without the shift by 3 */
  real->combine(s, 2, A, 3, C, 7);
  real->combine(s, 1, C, 0, C, 1);
  Receive(s * s, C, found);
  for (size_t k = 0; k < s * s; k++) {
    if (k % s >= k / s) Compare("combine", found[k], 5 * B[k] - (k % (s + 1) == 0 ? 1 : 0), 0);
  }
  for (int left = 0; left < 2; left++) {
    y = Send(s * l, Y);
    v = Send(s, d);
    u = Send(s, d);
    real->normal(left, s, l, 0.5, y, left ? s : l, v, u);
    Receive(s, u, found);
    for (size_t i = 0; i < s; i++) {
      double sum = 0;

      for (size_t k = 0; k < l; k++) {
        for (size_t j = 0; j < s; j++) sum += 0.25 * Y[left ? i + k * s : k + i * l] * Y[left ? j + k * s : k + j * l] * d[j];
      }
      Compare("normal", found[i], sum, 0);
    }
    Receive(s, v, found);
    Receive(s * l, y, found);
    y = Send(s * l, Y);
    real->scale(left, s, l, d, y, left ? s : l);
    Receive(s * l, y, found);
    for (size_t k = 0; k < s * l; k++) Compare("scale", found[k], Y[k] * d[left ? k % s : k / l], 0);
  }
  real->identity(s, 5, A);
  Receive(s * s, A, found);
  for (size_t k = 0; k < s * s; k++) Compare("identity", found[k], k % (s + 1) == 0 ? 5 : 0, 0);
  FreeFrom(0);
}

/* Y = op(L) Y or Y op'(L), where a panel of rows has the transpose of what a panel of columns has */
static double Triangle(const double *L, size_t s, const double *Y, int left, int transposed, size_t l, size_t i, size_t j)
{
  double sum = 0;

  for (size_t k = 0; k < s; k++) {
    const size_t row = transposed ? k : i, column = transposed ? i : k;

    if (row >= column) sum += L[row + column * s] * (left ? Y[k + j * s] : Y[j + k * l]);
  }
  return sum;
}

/* With a factor of small integers that has powers of two on its diagonal nothing is rounded */
static void CheckFactors(size_t s, size_t l)
{
  double *L = DrawSymmetric(s, 1), *G = DrawSymmetric(s, 1), *Y = Draw(s, l, s, 1), *found = (double *)Allocate((s * s + s * l) * sizeof(double));
  double  worst = 0;
  void   *A, *y;

  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) L[i + j * s] = i == j ? 2 : i == j + 1 ? L[i + j * s] / 4 : 0;
  }
  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) {
      G[i + j * s] = 0;
      for (size_t k = 0; k <= j; k++) G[i + j * s] += L[i + k * s] * L[j + k * s];
    }
  }
  A = Send(s * s, G);
  Check(real->cholesky(s, A) == 0, "cholesky of a positive definite matrix");
  for (int left = 0; left < 2; left++) {
    for (int transposed = 0; transposed < 2; transposed++) {
      const size_t rows = left ? s : l;

      y = Send(s * l, Y);
      real->times(left, transposed, s, l, A, y, rows);
      Receive(s * l, y, found);
      for (size_t i = 0; i < s; i++) {
        for (size_t j = 0; j < l; j++) Compare("times", found[left ? i + j * s : j + i * l], Triangle(L, s, Y, left, transposed, l, i, j), 0);
      }
      y = Send(s * l, found);
      real->solve(left, transposed, s, l, A, y, rows);
      Receive(s * l, y, found);
      for (size_t k = 0; k < s * l; k++) Compare("solve", found[k], Y[k], 0);
    }
  }
  Receive(s * s, A, found);
  A = Send(s * s, G);
  Check(real->inverse(s, A) == 0, "inverse");
  Receive(s * s, A, found);
  for (size_t i = 0; i < s; i++) {
    for (size_t j = 0; j < s; j++) {
      double sum = i == j ? -1 : 0;

      for (size_t k = 0; k < s; k++) sum += Of(G, s, i, k) * Of(found, s, k, j);
      worst = fabs(sum) > worst ? fabs(sum) : worst;
    }
  }
  Compare("inverse", worst, 0, 64 * (double)s * Unit());
  /* A matrix that is not definite, by one of its pivots, wherever that is */
  for (size_t bad = 0; bad < s; bad += 1 + s / 3) {
    const double pivot = G[bad * (s + 1)];

    G[bad * (s + 1)] = -100;
    for (int how = 0; how < (real->root != NULL ? 3 : 2); how++) {
      A = Send(s * s, G);
      Check((how == 0 ? real->cholesky(s, A) : how == 1 ? real->inverse(s, A) : real->root(s, A)) != 0, "an indefinite matrix has a factor or an inverse");
      Receive(s * s, A, found);
    }
    G[bad * (s + 1)] = pivot;
  }
  FreeFrom(0);
}

/* The lower triangle of p I + q w w^T, or all of it */
static void *SendOf(size_t s, double p, double q, const double *w, int whole)
{
  double *A = (double *)Allocate(s * s * sizeof(double));

  for (size_t k = 0; k < s * s; k++) A[k] = k % s < k / s && !whole ? NAN : q * w[k % s] * w[k / s] + (k % (s + 1) == 0 ? p : 0);
  return Send(s * s, A);
}

static void CompareOf(size_t s, double p, double q, const double *w, int whole, const char *what, void *A)
{
  double *found = (double *)Allocate(s * s * sizeof(double));

  Receive(s * s, A, found);
  for (size_t k = 0; k < s * s; k++) {
    if (whole || k % s >= k / s) Compare(what, found[k], q * w[k % s] * w[k / s] + (k % (s + 1) == 0 ? p : 0), 160 * sqrt((double)s) * Unit());
  }
}

/* All blocks of large matrices by such ones, whose inverses and products are known */
static void CheckInverses(size_t s)
{
  double *w = Draw(s, 1, s, 0), norm = 0;
  void   *A = NULL, *B;

  for (size_t i = 0; i < s; i++) norm += w[i] * w[i];
  for (size_t i = 0; i < s; i++) w[i] /= sqrt(norm);
  A = SendOf(s, 0.5, 1, w, 0);
  Check(real->inverse(s, A) == 0, "no inverse");
  CompareOf(s, 2, -4.0 / 3, w, 0, "inverse", A);
  if (real->root != NULL) {
    void *strip = Allocate(s * real->size);

    /* (I + 2 (2 I - 4/3 w w^T)) (I + 3 (I + w w^T)) = (5 I - 8/3 w w^T) (4 I + 3 w w^T) = 20 I - 11/3 w w^T */
    A = SendOf(s, 0.5, 1, w, 0);
    B = SendOf(s, 1, 1, w, 1);
    Check(real->root(s, A) == 0, "no factor");
    real->congruence(s, 2, A, 3, B, strip);
    CompareOf(s, 20, -11.0 / 3, w, 1, "congruence", B);
  }
  FreeFrom(0);
}

static void CheckDecompose(size_t m, size_t n)
{
  double *G = Draw(m, n, m, 0), *S = (double *)Allocate(n * sizeof(double)), *U = (double *)Allocate(m * n * sizeof(double)), *V = (double *)Allocate(n * n * sizeof(double));
  void   *A = Send(m * n, G), *s = Send(n, G), *u = Send(m * n, G), *v = Send(n * n, G);

  Check(real->decompose(m, n, A, s, u, v) == 0, "decompose");
  Receive(m * n, A, U);
  Receive(n, s, S);
  Receive(m * n, u, U);
  Receive(n * n, v, V);
  for (size_t j = 0; j < n; j++) {
    Check(S[j] >= 0 && (j == 0 || S[j] <= S[j - 1]), "singular values decrease");
    for (size_t i = 0; i < m; i++) {
      double sum = 0;

      for (size_t k = 0; k < n; k++) sum += U[i + k * m] * S[k] * V[j + k * n];
      Compare("decompose", sum, G[i + j * m], 40 * (double)(m + n) * Unit() * S[0]);
    }
    for (size_t i = 0; i < n; i++) {
      double u2 = 0, v2 = 0;

      for (size_t k = 0; k < m; k++) u2 += U[k + i * m] * U[k + j * m];
      for (size_t k = 0; k < n; k++) v2 += V[k + i * n] * V[k + j * n];
      Compare("columns of U", u2, i == j, 40 * (double)(m + n) * Unit());
      Compare("columns of V", v2, i == j, 40 * (double)(m + n) * Unit());
    }
  }
  FreeFrom(0);
}

/* Entries of either precision and of sizes that the other one cannot hold, divided and brought back */
static void CheckBorder(MuonPrecision precision, size_t m, size_t n)
{
  const MuonKernelReal *own  = real, *other;
  const size_t          ld   = m + 2;
  const int             most = precision == MUON_DOUBLE ? 900 : 100;
  const double          unit = 4 * (Unit() > (precision == MUON_DOUBLE ? 0 : ldexp(1.0, -24)) ? Unit() : ldexp(1.0, -24));

  other = own->memory == MUON_DEVICE ? MuonKernelRealOfDevice(precision == MUON_SINGLE ? "single" : "double") : precision == MUON_SINGLE ? &MuonKernelRealSingle : &MuonKernelRealDouble;
  for (int e = -most; e <= most; e += most) {
    double *G = Draw(m, n, ld, 0), *Y = Draw(0, n, m, 0), *Q = (double *)Allocate(ld * n * sizeof(double));
    void   *g, *q, *y                                        = Send(m * n, Y);

    real = other;
    for (size_t k = 0; k < ld * n; k++) G[k] = real->size == sizeof(float) ? (double)(float)ldexp(G[k], e) : ldexp(G[k], e);
    g = Send(ld * n, G);
    q = Send(ld * n, G);
    own->load(m, n, precision, g, ld, 0.75, e, y, m);
    own->store(m, n, 1.5, y, m, precision, q, ld);
    Receive(ld * n, q, Q);
    Receive(ld * n, g, G);
    real = own;
    Receive(m * n, y, Y);
    for (size_t k = 0; k < ld * n; k++) {
      if (k % ld >= m) Check(isnan(Q[k]), "store writes between the columns");
      else {
        const double expected = ldexp(G[k], -e) / 0.75, loaded = Y[k % ld + k / ld * m];

        Compare("load", loaded, expected, unit * fabs(expected));
        Compare("store", Q[k], 1.5 * loaded, unit * fabs(1.5 * loaded));
      }
    }
    FreeFrom(0);
  }
}

int main(int argc, char **argv)
{
  static const size_t shapes[][2] = {{1, 1}, {1, 9}, {5, 5}, {13, 40}, {33, 40}, {129, 129}, {40, 13}};
  Check(argc == 3, "expected a precision and a memory");
  if (strcmp(argv[2], "device") == 0) {
    Check(MuonDeviceGet() != NULL && MuonDeviceGet()->start() == NULL, "no device");
    Check(MuonKernelRealOfDevice("half") == NULL, "a precision of no name");
    real = MuonKernelRealOfDevice(argv[1]);
  } else {
    real = strcmp(argv[1], "bf16") == 0 ? MuonKernelRealOfBF16() : strcmp(argv[1], "double") == 0 ? &MuonKernelRealDouble : &MuonKernelRealSingle;
  }
  Check(real != NULL, "no precision %s", argv[1]);
  for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
    const size_t s = shapes[k][0], l = shapes[k][1];

    for (int left = 0; left < 2; left++) {
      for (int integers = 0; integers < 2; integers++) CheckProducts(left, s, l, integers);
    }
    for (int precision = 0; precision < 2; precision++) CheckBorder((MuonPrecision)precision, s, l);
    CheckPasses(s, l);
    CheckFactors(s, l);
    CheckDecompose(s > l ? s : l, s > l ? l : s);
  }
  for (int left = 0; left < 2; left++) {
    CheckProducts(left, 0, 3, 1);
    CheckProducts(left, 2, 0, 1);
  }
  /* A triangle of several blocks of a device, and strips of bfloat16, whose sums stay below 2^24 */
  CheckProducts(1, 1031, 3, 1);
  if (real->memory == MUON_HOST && strcmp(real->name, "bf16") == 0) {
    for (int left = 0; left < 2; left++) CheckProducts(left, 130, 33000, 1);
    /* After it is freed it starts anew */
    MuonKernelBF16Free();
    CheckProducts(0, 33, 40, 1);
    MuonKernelBF16Free();
  }
  for (size_t s = 1; s < 200; s = 2 * s + 1) CheckInverses(s);
  CheckInverses(421);
  CheckInverses(1030);
  return 0;
}

/*TEST

  link: internal

  testset:
    nsize: 0

    table: suffix | requires | args | env
      host   |        | {{single double}} host             |
      bf16   | onednn | bf16 host                          | OMP_NUM_THREADS=1
      device | kokkos | {{single double tf32 bf16}} device |

TEST*/
