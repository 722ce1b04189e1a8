/*
   Zolotarev's coefficients against theta functions, another way to the same numbers, and against what defines
   them, that the error alternates; inverses and products of matrices against themselves.
*/
#include "kernels_common.h"
#include "kernels/dense/muonpolarzolotarev.h"

static const double intervals[] = {1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 3e-3, 1e-2, 0.1, 0.5, 0.9, 0.999};

/* pi / (2 K) for the modulus whose complement is given */
static long double Mean(long double complement)
{
  long double a = 1, b = complement;

  for (int k = 0; k < 12; k++) {
    const long double mean = (a + b) / 2;

    b = sqrtl(a * b);
    a = mean;
  }
  return a;
}

/*
   c_i = - l^2 sn^2 of an imaginary argument for the modulus l, a quotient of theta functions whose series
   converge at once where l is small
*/
static long double Node(int r, long double l, int i)
{
  /* K'(l) belongs to the modulus whose complement is l */
  const long double pi = 3.14159265358979323846264338327950288L, ratio = Mean(sqrtl((1 - l) * (1 + l))) / Mean(l), q = expl(-pi * ratio), v = 0.5L * pi * ratio * i / (2 * r + 1);
  long double       theta1 = 0, theta2 = 0, theta3 = 1, theta4 = 1;

  for (int n = 0; n < 40; n++) {
    const long double sign = n % 2 == 0 ? 1 : -1, half = (n + 0.5L) * (n + 0.5L), whole = (long double)n * n;

    /* sinh and cosh grow as fast as powers of q fall; together they fit */
    theta1 += sign * (expl(-pi * ratio * half + (2 * n + 1) * v) - expl(-pi * ratio * half - (2 * n + 1) * v));
    theta2 += 2 * powl(q, half);
    if (n > 0) {
      theta3 += 2 * powl(q, whole);
      theta4 += sign * (expl(-pi * ratio * whole + 2 * n * v) + expl(-pi * ratio * whole - 2 * n * v));
    }
  }
  return powl(l * theta3 * theta1 / (theta2 * theta4), 2);
}

static long double Value(const MuonKernelZolotarev *z, long double x)
{
  long double sum = 1;

  for (int j = 0; j < z->poles; j++) sum += z->a[j] / (x * x + z->c[j]);
  return z->scale * x * sum;
}

static void CheckCoefficients(int r, double l)
{
  /* A coefficient is a product of 2r - 1 differences, each right to a few units; 1e-14 is what is promised */
  const long double   tolerance = 1e-14L;
  MuonKernelZolotarev z;
  long double         node[2 * MAXMUONKERNELPOLES + 1], scale = 1, last = 0;
  int                 alternations = 0, side = 0;

  MuonKernelZolotarevSet(r, l, &z);
  for (int i = 1; i <= 2 * r; i++) node[i] = Node(r, (long double)l, i);
  for (int j = 0; j < r; j++) {
    long double a = -1;

    for (int k = 0; k < r; k++) {
      a *= node[2 * j + 1] - node[2 * k + 2];
      if (k != j) a /= node[2 * j + 1] - node[2 * k + 1];
    }
    scale *= (1 + node[2 * j + 1]) / (1 + node[2 * j + 2]);
    Check(fabsl(z.c[j] - node[2 * j + 1]) <= tolerance * node[2 * j + 1], "r %d l %g: c_%d is %.17g, by theta functions %.17Lg", r, l, 2 * j + 1, z.c[j], node[2 * j + 1]);
    Check(fabsl(z.a[j] - a) <= tolerance * fabsl(a), "r %d l %g: a_%d is %.17g, by theta functions %.17Lg", r, l, j + 1, z.a[j], a);
  }
  Check(z.poles == r && fabsl(z.scale - scale) <= tolerance * scale, "r %d l %g: scale %.17g, by theta functions %.17Lg", r, l, z.scale, scale);
  Check(fabsl(z.lowest - Value(&z, (long double)l)) <= 1e-13L, "r %d l %g: smallest value %.17g, at l %.17Lg", r, l, z.lowest, Value(&z, (long double)l));

  /*
     The error of the best approximation reaches its largest value 2r + 2 times with changing sign; where it
     is too small to be seen there is nothing to count
  */
  if (1 - z.lowest < 1e-9) return;
  for (int k = 0; k <= 8000; k++) {
    const long double x = powl((long double)l, 1 - k / 8000.0L), y = Value(&z, x), depth = (1 - y) / (1 - z.lowest);

    Check(depth >= -1e-5L && depth <= 1 + 1e-5L, "r %d l %g: the value at %Lg is %.17Lg, outside of [%.17g,1]", r, l, x, y, z.lowest);
    if (depth < 1e-3L && side != 1) {
      side = 1;
      alternations++;
    } else if (depth > 1 - 1e-3L && side != -1) {
      side = -1;
      alternations++;
    }
    Check(k == 0 || x > last, "the grid increases");
    last = x;
  }
  Check(alternations == 2 * r + 2, "r %d l %g: the error alternates %d times", r, l, alternations);
}

static void CheckTable(void)
{
  static const int    poles[]    = {1, 2, 3, 4, 6, 8};
  static const double l[]        = {1e-2, 3e-3, 1e-3, 1e-4};
  static const double e[4][6]    = {{0.329, 0.0650, 0.0125, 2.4e-3, 9.0e-5, 3.3e-6}, {0.480, 0.129, 0.0329, 8.3e-3, 5.4e-4, 3.5e-5}, {0.603, 0.202, 0.0621, 0.0189, 1.8e-3, 1.6e-4}, {0.791, 0.375, 0.153, 0.0605, 9.4e-3, 1.5e-3}};
  static const double last[4][6] = {{1e-3, 1e-4, 1e-4, 1e-4, 1e-6, 1e-7}, {1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-6}, {1e-3, 1e-3, 1e-4, 1e-4, 1e-4, 1e-5}, {1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-4}};

  /* The printed value for r = 6, l = 1e-3 was rounded twice, from 0.0017494 to 0.00175 to 0.0018 */
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 6; j++) Check(fabs(MuonKernelZolotarevError(poles[j], l[i]) - e[i][j]) <= 0.52 * last[i][j], "r %d l %g: error %g, in the table %g", poles[j], l[i], MuonKernelZolotarevError(poles[j], l[i]), e[i][j]);
  }
}

static void CheckNest(double l)
{
  for (int r = 1; r <= MAXMUONKERNELPOLES; r++) {
    MuonKernelZolotarev z, first, second;
    const int           expected = r == 4 ? 1 : r == 7 ? 2 : r == 10 ? 3 : 0;

    Check(MuonKernelZolotarevNest(r, l, &first, &second) == expected, "r %d is not nested as expected", r);
    if (expected == 0) continue;
    MuonKernelZolotarevSet(r, l, &z);
    for (int k = 0; k <= 1000; k++) {
      const long double x = powl((long double)l, 1.2L - 1.2L * k / 1000), y = Value(&z, x);

      /*
         The inner function is right to some units, and the outer one no steeper than 1/l_1 = 1/first.lowest
         relative to its value
      */
      Check(fabsl(Value(&second, Value(&first, x)) - y) <= 1e-13L * y, "r %d l %g: %.17Lg at %Lg, nested %.17Lg", r, l, y, x, Value(&second, Value(&first, x)));
    }
  }
}

/* Entries of an array of that precision, as doubles */
static double Get(const MuonKernelReal *kernel, const void *A, size_t i)
{
  return kernel->size == sizeof(float) ? (double)((const float *)A)[i] : ((const double *)A)[i];
}

static void Set(const MuonKernelReal *kernel, void *A, size_t i, double x)
{
  if (kernel->size == sizeof(float)) ((float *)A)[i] = (float)x;
  else ((double *)A)[i] = x;
}

static void CheckMatrices(const MuonKernelReal *kernel, size_t s, uint64_t *state)
{
  const size_t size = kernel->size, ld = s + 1;
  const double u = kernel->unit, shift = 0.25;
  char        *A = (char *)Allocate(s * s * size), *B = (char *)Allocate(s * s * size), *W = (char *)Allocate(s * ld * size), *P = (char *)Allocate(s * ld * size);
  char        *strip = (char *)Allocate(s * MuonKernelInverseStrip(s) * size), *packed = (char *)Allocate((s * (s + 1) / 2 + 1) * size);
  double      *Y = (double *)Allocate(s * s * sizeof(double)), *R = (double *)Allocate(s * s * sizeof(double)), *rows = (double *)Allocate(s * sizeof(double)), most = 0, squares = 0, bound;

  /*
     R = Y Y^T / (4 s), whose eigenvalues are below 1.3 or so, rounded to the precision; NaN above the
     diagonal shows who reads there
  */
  for (size_t k = 0; k < s * s; k++) Y[k] = NextNormal(state);
  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) {
      double sum = 0;

      for (size_t k = 0; k < s; k++) sum += Y[i + k * s] * Y[j + k * s];
      Set(kernel, A, i + j * s, sum / (4.0 * (double)s));
      R[i + j * s] = R[j + i * s] = Get(kernel, A, i + j * s);
      if (i > j) Set(kernel, A, j + i * s, NAN);
    }
  }
  for (size_t i = 0; i < s; i++) {
    double sum = 0;

    for (size_t j = 0; j < s; j++) {
      sum += fabs(R[i + j * s]);
      squares += R[i + j * s] * R[i + j * s];
    }
    most = sum > most ? sum : most;
  }
  bound = kernel->bound(s, A, s, rows);
  most  = most < sqrt(squares) ? most : sqrt(squares);
  Check(fabs(bound - most) <= ((double)s / 16 + 4) * 2 * u * most, "%s %d: bound %.17g, expected %.17g", kernel->name, (int)s, bound, most);

  /* Into the two halves of P and out again */
  for (size_t j = 0; j < s; j++) memcpy(P + j * s * size, A + j * s * size, s * size);
  kernel->stow(s, P);
  for (int pass = 0; pass < 2; pass++) {
    char *half = P + size;

    kernel->fetch(s, P, shift);
    for (size_t j = 0; j < s; j++) {
      for (size_t i = j; i < s; i++) Check(fabs(Get(kernel, half, i + j * ld) - R[i + j * s] - (i == j ? shift : 0)) <= (i == j ? 2 * u : 0), "%s %d: entry %d %d was not fetched", kernel->name, (int)s, (int)i, (int)j);
    }
    Check(kernel->inverse(s, half, ld) == 0, "%s %d: no inverse", kernel->name, (int)s);
  }
  /* The inverse of a matrix of condition 1 + 1.3 / shift, backward stable up to a modest multiple of s u */
  for (size_t j = 0; j < s; j++) memcpy(W + j * s * size, P + (1 + j * ld) * size, s * size);
  kernel->mirror(s, W);
  for (size_t j = 0; j < s; j++) {
    for (size_t i = 0; i < s; i++) {
      double sum = i == j ? -1 : 0;

      for (size_t k = 0; k < s; k++) sum += (R[i + k * s] + (i == k ? shift : 0)) * Get(kernel, W, k + j * s);
      Check(fabs(sum) <= 16 * (double)(s + 8) * u, "%s %d: the inverse leaves %g at %d %d", kernel->name, (int)s, sum, (int)i, (int)j);
    }
  }
  /* A matrix that is not definite, by one of its pivots, wherever that is */
  for (size_t bad = 0; bad < s; bad += 1 + s / 3) {
    kernel->fetch(s, P, shift);
    Set(kernel, P, 1 + bad * (ld + 1), -1.0);
    Check(kernel->inverse(s, P + size, ld) == 1, "%s %d: pivot %d is negative", kernel->name, (int)s, (int)bad);
  }

  /* (I + 2 R) (I + 3 (R + shift)^{-1}): the factors commute */
  memcpy(B, W, s * s * size);
  kernel->shifted(s, 2.0, A, 3.0, B, strip);
  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) {
      double sum = 0;

      for (size_t k = 0; k < s; k++) sum += (2 * R[i + k * s] + (i == k ? 1 : 0)) * (3 * Get(kernel, W, k + j * s) + (k == j ? 1 : 0));
      Check(fabs(Get(kernel, B, i + j * s) - sum) <= 64 * (double)(s + 8) * u, "%s %d: the product has %g at %d %d, expected %g", kernel->name, (int)s, Get(kernel, B, i + j * s), (int)i, (int)j, sum);
    }
  }

  /* (I + 2 (R + shift)^{-1}) (I + 3 (R + shift)^{-1}) from the factor */
  for (size_t j = 0; j < s; j++) {
    for (size_t i = 0; i < s; i++) Set(kernel, A, i + j * s, i >= j ? R[i + j * s] + (i == j ? shift : 0) : NAN);
  }
  memcpy(B, W, s * s * size);
  Check(kernel->root(s, A) == 0, "%s %d: no factor", kernel->name, (int)s);
  kernel->congruence(s, 2.0, A, 3.0, B, strip);
  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) {
      double sum = 0;

      for (size_t k = 0; k < s; k++) sum += (2 * Get(kernel, W, i + k * s) + (i == k ? 1 : 0)) * (3 * Get(kernel, W, k + j * s) + (k == j ? 1 : 0));
      Check(fabs(Get(kernel, B, i + j * s) - sum) <= 128 * (double)(s + 8) * u, "%s %d: from the factor follows %g at %d %d, expected %g", kernel->name, (int)s, Get(kernel, B, i + j * s), (int)i, (int)j, sum);
    }
  }
  Set(kernel, A, 0, -1.0);
  Check(kernel->root(s, A) == 1, "%s %d: a negative pivot", kernel->name, (int)s);

  /* B = 2 W - B + I, W as it is, and the triangle in three messages */
  for (size_t j = 0; j < s; j++) {
    for (size_t i = 0; i < s; i++) Set(kernel, A, i + j * s, i >= j ? R[i + j * s] : NAN);
  }
  kernel->combine(s, 2.0, W, s, -1.0, A, s, 1.0);
  kernel->combine(s, 1.0, A, s, 0.0, B, s, 0.0);
  {
    const size_t cut[4] = {0, s / 4, s / 2, s};

    for (size_t k = 0; k < s * s; k++) Set(kernel, A, k, NAN);
    for (int k = 0; k < 3; k++) {
      kernel->pack(s, cut[k], cut[k + 1], 4.0, B, s, packed);
      kernel->unpack(s, cut[k], cut[k + 1], packed, 8.0, A);
    }
  }
  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) {
      const double w = Get(kernel, W, i + j * s), r = R[i + j * s], sum = 2 * w - r + (i == j ? 1 : 0);

      Check(fabs(Get(kernel, B, i + j * s) - sum) <= 4 * u * (2 * fabs(w) + fabs(r) + 1), "%s %d: a sum of matrices at %d %d", kernel->name, (int)s, (int)i, (int)j);
      Check(fabs(Get(kernel, A, i + j * s) - 4 * Get(kernel, B, i + j * s) - (i == j ? 8 : 0)) <= 2 * u * 64, "%s %d: a message at %d %d", kernel->name, (int)s, (int)i, (int)j);
    }
  }

  /* x^2 Y Y^T v of an s x l matrix and of its transpose, with one strip and with several */
  for (size_t l = 1; l <= 600; l += 599) {
    char   *Z = (char *)Allocate(s * l * size), *v = (char *)Allocate(s * size), *t = (char *)Allocate(s * size);
    double *w = (double *)Allocate(l * sizeof(double));

    for (int left = 0; left < 2; left++) {
      const size_t ldz = left ? s : l;

      for (size_t k = 0; k < s * l; k++) Set(kernel, Z, k, NextNormal(state));
      kernel->draw(s, v);
      kernel->axpby(s, 0.5, v, 0.5, v);
      for (size_t i = 0; i < s; i++) Set(kernel, t, i, NAN);
      kernel->normal(left, s, l, 0.5, Z, ldz, v, t);
      for (size_t k = 0; k < l; k++) {
        w[k] = 0;
        for (size_t i = 0; i < s; i++) w[k] += Get(kernel, Z, left ? i + k * ldz : k + i * ldz) * Get(kernel, v, i);
      }
      squares = 0;
      for (size_t i = 0; i < s; i++) {
        double sum = 0, magnitude = 0;

        for (size_t k = 0; k < l; k++) {
          sum += 0.25 * Get(kernel, Z, left ? i + k * ldz : k + i * ldz) * w[k];
          magnitude += 0.25 * fabs(Get(kernel, Z, left ? i + k * ldz : k + i * ldz)) * (fabs(w[k]) + 4 * sqrt((double)s));
        }
        squares += Get(kernel, t, i) * Get(kernel, t, i);
        Check(fabs(Get(kernel, t, i) - sum) <= (double)(s + l + 8) * u * magnitude, "%s %d x %d: a product with a vector", kernel->name, (int)s, (int)l);
      }
      Check(fabs(kernel->dot(s, t, t) - squares) <= 1e-14 * (double)(s + 8) * squares, "%s %d: an inner product", kernel->name, (int)s);
    }
    free(Z);
    free(v);
    free(t);
    free(w);
  }
  free(A);
  free(B);
  free(W);
  free(P);
  free(strip);
  free(packed);
  free(Y);
  free(R);
  free(rows);
}

static void Fill(const MuonKernelReal *kernel, size_t s, double p, double q, const double *w, int whole, char *A)
{
  for (size_t j = 0; j < s; j++) {
    for (size_t i = 0; i < s; i++) Set(kernel, A, i + j * s, i < j && !whole ? NAN : q * w[i] * w[j] + (i == j ? p : 0));
  }
}

static void Compare(const MuonKernelReal *kernel, size_t s, double p, double q, const double *w, const char *A, const char *what)
{
  /* Entries of matrices of norm up to 40 */
  const double tolerance = 40 * 4 * sqrt((double)s) * kernel->unit;

  for (size_t j = 0; j < s; j++) {
    for (size_t i = j; i < s; i++) {
      Check(fabs(Get(kernel, A, i + j * s) - q * w[i] * w[j] - (i == j ? p : 0)) <= tolerance, "%s %d: %s has %g at %d %d, expected %g", kernel->name, (int)s, what, Get(kernel, A, i + j * s), (int)i, (int)j, q * w[i] * w[j] + (i == j ? p : 0));
    }
  }
}

/* Large ones, of which all blocks occur, by matrices p I + q w w^T, whose inverses and products are known */
static void CheckLarge(const MuonKernelReal *kernel, size_t s, uint64_t *state)
{
  const size_t size = kernel->size;
  char        *A = (char *)Allocate(s * s * size), *B = (char *)Allocate(s * s * size), *strip = (char *)Allocate(s * MuonKernelInverseStrip(s) * size);
  double      *w = (double *)Allocate(s * sizeof(double)), norm = 0;

  for (size_t i = 0; i < s; i++) w[i] = NextNormal(state);
  for (size_t i = 0; i < s; i++) norm += w[i] * w[i];
  for (size_t i = 0; i < s; i++) w[i] /= sqrt(norm);
  /* (0.5 I + w w^T)^{-1} = 2 I - 4/3 w w^T */
  Fill(kernel, s, 0.5, 1, w, 0, A);
  Check(kernel->inverse(s, A, s) == 0, "%s %d: no inverse", kernel->name, (int)s);
  Compare(kernel, s, 2, -4.0 / 3, w, A, "the inverse");
  /* (I + 2 (2 I - 4/3 w w^T)) (I + 3 (I + w w^T)) = (5 I - 8/3 w w^T) (4 I + 3 w w^T) = 20 I - 11/3 w w^T */
  Fill(kernel, s, 1, 1, w, 1, B);
  kernel->shifted(s, 2, A, 3, B, strip);
  Compare(kernel, s, 20, -11.0 / 3, w, B, "the product");
  Fill(kernel, s, 0.5, 1, w, 0, A);
  Fill(kernel, s, 1, 1, w, 1, B);
  Check(kernel->root(s, A) == 0, "%s %d: no factor", kernel->name, (int)s);
  kernel->congruence(s, 2, A, 3, B, strip);
  Compare(kernel, s, 20, -11.0 / 3, w, B, "what follows from the factor");
  free(A);
  free(B);
  free(strip);
  free(w);
}

int main(void)
{
  static const size_t sizes[] = {1, 2, 7, 16, 17, 33, 48, 96, 97, 130, 200};
  uint64_t            state   = 4;

  for (size_t k = 0; k < sizeof(intervals) / sizeof(intervals[0]); k++) {
    for (int r = 1; r <= MAXMUONKERNELPOLES; r++) CheckCoefficients(r, intervals[k]);
    CheckNest(intervals[k]);
  }
  CheckTable();
  for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
    CheckMatrices(&MuonKernelRealSingle, sizes[k], &state);
    CheckMatrices(&MuonKernelRealDouble, sizes[k], &state);
  }
  CheckLarge(&MuonKernelRealSingle, 420, &state);
  CheckLarge(&MuonKernelRealDouble, 421, &state);
  CheckLarge(&MuonKernelRealSingle, 1030, &state);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/kernels_ok.out

TEST*/
