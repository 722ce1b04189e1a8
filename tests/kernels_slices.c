/*
   Norms of slices and the matrices made of them, in both precisions: lines and what crosses them are the same
   to the last bit, both are what long double and the simplest loops say, and padding is left alone.
*/
#include "kernels_common.h"
#include "kernels/array/muonlmokernels.h"

/* More than a strip and a group, and no multiple of the partial sums */
static const size_t Shapes[][2] = {{1, 1}, {7, 3}, {3, 7}, {65, 9}, {300, 21}, {21, 300}, {520, 2}, {0, 4}, {4, 0}};

typedef struct {
  const MuonKernels *kernels;
  size_t             m, n, ld;
  void              *x;
} Matrix;

static double Get(const Matrix *A, size_t i, size_t j)
{
  return A->kernels->size == sizeof(float) ? (double)((const float *)A->x)[i + j * A->ld] : ((const double *)A->x)[i + j * A->ld];
}

static void Put(Matrix *A, size_t i, size_t j, double x)
{
  if (A->kernels->size == sizeof(float)) ((float *)A->x)[i + j * A->ld] = (float)x;
  else ((double *)A->x)[i + j * A->ld] = x;
}

static Matrix Create(const MuonKernels *kernels, size_t m, size_t n, size_t pad)
{
  Matrix A = {kernels, m, n, m + pad, NULL};

  A.x = Allocate((m + pad) * n * kernels->size);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m + pad; i++) Put(&A, i, j, (double)NAN);
  }
  return A;
}

/* Slice k of X is line k, and of T what crosses the lines at k; place is where in it */
static void CheckSame(const Matrix *Y, const Matrix *T, const char what[])
{
  for (size_t k = 0; k < Y->n; k++) {
    for (size_t i = 0; i < Y->ld; i++)
      Check(i < Y->m ? Get(Y, i, k) == Get(T, k, i) && signbit(Get(Y, i, k)) == signbit(Get(T, k, i)) : isnan(Get(Y, i, k)), "%s, %s: entry %d of slice %d of %d x %d", what, Y->kernels->name, (int)i, (int)k, (int)Y->m, (int)Y->n);
  }
  for (size_t j = 0; j < T->n; j++) {
    for (size_t i = T->m; i < T->ld; i++) Check(isnan(Get(T, i, j)), "%s, %s: padding", what, Y->kernels->name);
  }
}

static void CheckShape(const MuonKernels *kernels, size_t m, size_t n, int kind, uint64_t *state)
{
  Matrix   X = Create(kernels, m, n, 3), T = Create(kernels, n, m, 1), Y = Create(kernels, m, n, 2), Z = Create(kernels, n, m, 5);
  double  *a = (double *)Allocate(6 * (n + 1) * sizeof(double)), *b = a + n, *f0 = b + n, *f1 = f0 + n, *most = f1 + n, *u = (double *)Allocate((m + 1) * sizeof(double));
  int64_t *p = (int64_t *)Allocate(2 * (n + 1) * sizeof(int64_t)), *q = p + n;
  int      bits;

  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) {
      double x = NextNormal(state);

      /* Ties, and slices of zeros of both signs */
      if (kind == 1) x = floor(5 * NextUniform(state)) - 2;
      if (kind == 1 && j % 3 == 2) x = i % 2 == 0 ? 0.0 : -0.0;
      Put(&X, i, j, x);
      Put(&T, j, i, x);
    }
    f0[j] = j % 4 == 1 ? 0 : ldexp(1, -(int)(j % 5));
    f1[j] = j % 4 == 1 ? 0 : -NextUniform(state) - 0.1;
  }
  for (int power = 1; power <= 2; power++) {
    kernels->VectorSums(m, n, X.x, X.ld, 0, power, a);
    kernels->VectorSums(n, m, T.x, T.ld, 1, power, b);
    for (size_t j = 0; j < n; j++) {
      long double sum = 0;

      for (size_t i = 0; i < m; i++) sum += power == 1 ? fabsl((long double)Get(&X, i, j)) : (long double)Get(&X, i, j) * (long double)Get(&X, i, j);
      Check(a[j] == b[j] && fabs(a[j] - (double)sum) <= (double)m * DBL_EPSILON * (double)sum, "sum %d of powers %d, %s: %.17g and %.17g, expected %.17g", (int)j, power, kernels->name, a[j], b[j], (double)sum);
    }
  }
  kernels->VectorArgMax(m, n, X.x, X.ld, 0, most, p);
  kernels->VectorArgMax(n, m, T.x, T.ld, 1, b, q);
  for (size_t j = 0; j < n; j++) {
    double  largest = 0;
    int64_t first   = -1;

    for (size_t i = 0; i < m; i++) {
      if (fabs(Get(&X, i, j)) > largest) {
        largest = fabs(Get(&X, i, j));
        first   = (int64_t)i;
      }
    }
    Check(most[j] == largest && b[j] == largest && p[j] == first && q[j] == first, "largest of slice %d, %s: %g at %d and %g at %d, expected %g at %d", (int)j, kernels->name, most[j], (int)p[j], b[j], (int)q[j], largest, (int)first);
  }
  kernels->VectorPowers(m, n, X.x, X.ld, 0, 2.5, most, a);
  kernels->VectorPowers(n, m, T.x, T.ld, 1, 2.5, most, b);
  for (size_t j = 0; j < n; j++) {
    long double sum = 0;

    for (size_t i = 0; i < m && most[j] > 0; i++) sum += powl(fabsl((long double)Get(&X, i, j)) / (long double)most[j], 2.5L);
    Check(a[j] == b[j] && fabs(a[j] - (double)sum) <= ((double)m + 4) * DBL_EPSILON * (double)sum, "powers of slice %d, %s: %.17g and %.17g, expected %.17g", (int)j, kernels->name, a[j], b[j], (double)sum);
  }

  kernels->VectorScale(m, n, X.x, X.ld, 0, f0, f1, Y.x, Y.ld);
  kernels->VectorScale(n, m, T.x, T.ld, 1, f0, f1, Z.x, Z.ld);
  CheckSame(&Y, &Z, "scale");
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) {
      const double expected = Get(&X, i, j) * f0[j] * f1[j];

      Check(f1[j] == 0 ? Get(&Y, i, j) == 0 && !signbit(Get(&Y, i, j)) : fabs(Get(&Y, i, j) - expected) <= kernels->unit * fabs(expected), "scaled entry %d of slice %d, %s", (int)i, (int)j, kernels->name);
    }
  }
  kernels->VectorSign(m, n, X.x, X.ld, 0, f1, Y.x, Y.ld);
  kernels->VectorSign(n, m, T.x, T.ld, 1, f1, Z.x, Z.ld);
  CheckSame(&Y, &Z, "sign");
  for (size_t j = 0; j < n; j++) {
    const double factor = kernels->size == sizeof(float) ? (double)(float)f1[j] : f1[j];

    for (size_t i = 0; i < m; i++) Check(Get(&Y, i, j) == (Get(&X, i, j) > 0 ? factor : (Get(&X, i, j) < 0 ? -factor : 0)), "sign %d of slice %d, %s", (int)i, (int)j, kernels->name);
  }
  kernels->VectorPower(m, n, X.x, X.ld, 0, 1.5, most, f1, Y.x, Y.ld);
  kernels->VectorPower(n, m, T.x, T.ld, 1, 1.5, most, f1, Z.x, Z.ld);
  CheckSame(&Y, &Z, "power");
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) {
      const double x = Get(&X, i, j), expected = x == 0 ? 0 : (x > 0 ? f1[j] : -f1[j]) * pow(fabs(x) / most[j], 1.5);

      Check(fabs(Get(&Y, i, j) - expected) <= (kernels->unit + 4 * DBL_EPSILON) * fabs(expected), "power %d of slice %d, %s", (int)i, (int)j, kernels->name);
    }
  }
  kernels->VectorPick(m, n, X.x, X.ld, 0, p, f1, Y.x, Y.ld);
  kernels->VectorPick(n, m, T.x, T.ld, 1, p, f1, Z.x, Z.ld);
  CheckSame(&Y, &Z, "pick");
  for (size_t j = 0; j < n; j++) {
    const double factor = kernels->size == sizeof(float) ? (double)(float)f1[j] : f1[j];

    for (size_t i = 0; i < m; i++) Check(Get(&Y, i, j) == ((int64_t)i != p[j] ? 0 : (Get(&X, i, j) > 0 ? factor : -factor)), "picked %d of slice %d, %s", (int)i, (int)j, kernels->name);
  }
  for (size_t i = 0; i < m; i++) u[i] = NextNormal(state);
  kernels->RankOne(m, n, -1, u, f1, Y.x, Y.ld);
  kernels->RankOne(n, m, -1, f1, u, Z.x, Z.ld);
  CheckSame(&Y, &Z, "rank one");
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < m; i++) Check(fabs(Get(&Y, i, j) + u[i] * f1[j]) <= kernels->unit * fabs(u[i] * f1[j]), "product %d of slice %d, %s", (int)i, (int)j, kernels->name);
  }

  /* c = size 2^exponent with ||w||_p <= 1 and <c, w> = ||c||_p* */
  bits = kind == 0 ? 0 : 900;
  for (size_t j = 0; j < n; j++) {
    static const double exponents[] = {1, 1.5, 2, 7, HUGE_VAL};
    const double        e = exponents[j % 5], dual = e == 1 ? HUGE_VAL : (e == HUGE_VAL ? 1 : e / (e - 1));
    double              sizes[5], weights[5], norm, value = 0, length = 0;
    int                 shifts[5], total;

    for (int k = 0; k < 5; k++) {
      sizes[k]  = k == 3 ? 0 : 0.5 + NextUniform(state) / 2;
      shifts[k] = bits - k % 2;
    }
    norm = MuonKernelScaledNorm(5, dual, sizes, shifts, &total);
    MuonKernelScaledDual(5, e, sizes, shifts, weights);
    for (int k = 0; k < 5; k++) {
      value += ldexp(sizes[k], shifts[k] - bits) * weights[k];
      length = e == HUGE_VAL ? (weights[k] > length ? weights[k] : length) : length + pow(weights[k], e);
    }
    Check(norm >= 0.5 && norm < 1 && fabs(value - ldexp(norm, total - bits)) <= 40 * DBL_EPSILON * value && fabs(length - 1) <= 100 * DBL_EPSILON, "dual of p = %g: %.17g of length %.17g, expected %.17g", e, value, length, ldexp(norm, total - bits));
  }
  free(X.x);
  free(T.x);
  free(Y.x);
  free(Z.x);
  free(a);
  free(u);
  free(p);
}

int main(int argc, char **argv)
{
  uint64_t state = 11;

  TestColumn(argc, argv);
  for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
    for (size_t s = 0; s < sizeof(Shapes) / sizeof(Shapes[0]); s++) {
      for (int kind = 0; kind < 2; kind++) CheckShape(MuonKernelsGet((MuonPrecision)precision, TestMemory), Shapes[s][0], Shapes[s][1], kind, &state);
    }
  }
  printf("ok\n");
  return 0;
}

/*TEST

  link: internal

  testset:
    nsize: 0
    output_file: output/kernels_ok.out

    test:
    test:
      suffix: device
      requires: kokkos
      args: device

TEST*/
