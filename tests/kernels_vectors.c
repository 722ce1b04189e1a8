/*
   The kernels on the vectors of an array, and across it, against loops that cannot be wrong, in both precisions: norms of vectors and the matrices
   made of them, lengths and the choice of the longest, products and factors of matrices of few columns.
*/
#include "kernels_common.h"
#include "kernels/array/muonlmokernels.h"

static uint64_t state = 3;
#define Random(k, m, n, gap) NewArray(k, m, n, gap, &state)
#define Zeros(k, m, n, gap)  NewArray(k, m, n, gap, NULL)

static const double bad[] = {NAN, INFINITY, -INFINITY};

/* Slice j of Y is line j, and of T what crosses the lines at j: the same to the last bit, of zeros too */
static void CheckSame(const Array *Y, const Array *T, const char what[])
{
  for (size_t e = 0; e < Y->m * Y->n; e++) {
    const double y = Get(Y, e), t = Get(T, e / Y->m + e % Y->m * T->m);

    Check(y == t && signbit(y) == signbit(t), "%s, %s: entry %d", what, Y->k->name, (int)e);
  }
}

/*
   Norms of vectors and the matrices made of them: both ways are what long double and the simplest loops say. Of
   the second kind are ties, and vectors of zeros of both signs
*/
static void CheckVectors(const MuonKernels *k, size_t m, size_t n, int kind)
{
  const Array *X = Zeros(k, m, n, 3), *T = Zeros(k, n, m, 1), *Y = Zeros(k, m, n, 2), *Z = Zeros(k, n, m, 5);
  double      *a = (double *)Allocate(6 * (n + 1) * sizeof(double)), *b = a + n, *f0 = b + n, *f1 = f0 + n, *most = f1 + n;
  double      *u = (double *)Allocate((m + 1) * sizeof(double));
  int64_t     *p = (int64_t *)Allocate(2 * (n + 1) * sizeof(int64_t)), *q = p + n;

  for (size_t e = 0; e < m * n; e++) {
    double x = NextNormal(&state);

    if (kind == 1) x = e / m % 3 == 2 ? (e % m % 2 == 0 ? 0.0 : -0.0) : floor(5 * NextUniform(&state)) - 2;
    Set(X, e, x);
    Set(T, e / m + e % m * n, x);
  }
  for (size_t j = 0; j < n; j++) {
    f0[j] = j % 4 == 1 ? 0 : ldexp(1, -(int)(j % 5));
    f1[j] = j % 4 == 1 ? 0 : -NextUniform(&state) - 0.1;
  }
  for (size_t i = 0; i < m; i++) u[i] = NextNormal(&state);
  k->VectorArgMax(m, n, X->x, X->ld, 0, most, p);
  k->VectorArgMax(n, m, T->x, T->ld, 1, b, q);
  for (size_t j = 0; j < n; j++) {
    double  largest = 0;
    int64_t first   = -1;

    for (size_t i = 0; i < m; i++) first = fabs(Get(X, i + j * m)) > largest ? (int64_t)i : first, largest = fmax(largest, fabs(Get(X, i + j * m)));
    Near(most[j], largest, 0);
    Near(b[j], largest, 0);
    Check(p[j] == first && q[j] == first, "largest of vector %d, %s: at %d, expected at %d", (int)j, k->name, (int)p[j], (int)first);
  }
  for (int power = 1; power <= 3; power++) {
    if (power < 3) k->VectorSums(m, n, X->x, X->ld, 0, power, a);
    if (power < 3) k->VectorSums(n, m, T->x, T->ld, 1, power, b);
    if (power == 3) k->VectorPowers(m, n, X->x, X->ld, 0, 2.5, most, a);
    if (power == 3) k->VectorPowers(n, m, T->x, T->ld, 1, 2.5, most, b);
    for (size_t j = 0; j < n; j++) {
      long double sum = 0;

      for (size_t i = 0; i < m; i++) {
        const long double x = fabsl((long double)Get(X, i + j * m));

        sum += power == 1 ? x : power == 2 ? x * x : most[j] > 0 ? powl(x / (long double)most[j], 2.5L) : 0;
      }
      Near(a[j], b[j], 0);
      Near(a[j], (double)sum, ((double)m + (power == 3 ? 4 : 0)) * DBL_EPSILON * (double)sum);
    }
  }
  for (int what = 0; what < 5; what++) {
    static const char *const names[] = {"scale", "sign", "power", "pick", "rank one"};

    for (int across = 0; across < 2; across++) {
      const Array *A = across ? T : X, *B = across ? Z : Y;

      if (what == 0) k->VectorScale(A->m, A->n, A->x, A->ld, across, f0, f1, B->x, B->ld);
      if (what == 1) k->VectorSign(A->m, A->n, A->x, A->ld, across, f1, B->x, B->ld);
      if (what == 2) k->VectorPower(A->m, A->n, A->x, A->ld, across, 1.5, most, f1, B->x, B->ld);
      if (what == 3) k->VectorPick(A->m, A->n, A->x, A->ld, across, p, f1, B->x, B->ld);
      if (what == 4) k->RankOne(A->m, A->n, -1, across ? f1 : u, across ? u : f1, B->x, B->ld);
    }
    CheckSame(Y, Z, names[what]);
    for (size_t e = 0; e < m * n; e++) {
      const size_t i = e % m, j = e / m;
      const double x = Get(X, e), sign = x > 0 ? 1 : x < 0 ? -1 : 0, f = Round(k, f1[j]), power = x == 0 ? 0 : f1[j] * pow(fabs(x) / most[j], 1.5);

      if (what == 0) Near(Get(Y, e), x * f0[j] * f1[j], k->unit * fabs(x * f0[j] * f1[j]));
      if (what == 0 && f1[j] == 0) Check(!signbit(Get(Y, e)), "-0");
      if (what == 1) Near(Get(Y, e), sign * f, 0);
      if (what == 2) Near(Get(Y, e), sign * power, (k->unit + 4 * DBL_EPSILON) * fabs(power));
      if (what == 3) Near(Get(Y, e), (int64_t)i != p[j] ? 0 : x > 0 ? f : -f, 0);
      if (what == 4) Near(Get(Y, e), -u[i] * f1[j], k->unit * fabs(u[i] * f1[j]));
    }
  }
  FreeArrays();
}

/* c = size 2^exponent with ||w||_p <= 1 and <c, w> = ||c||_p*; and -w / c by two factors, neither of which is out of range */
static void CheckDuals(int bits)
{
  static const double exponents[] = {1, 1.5, 2, 7, HUGE_VAL};

  for (size_t j = 0; j < 300; j++) {
    const double e = exponents[j % 5], dual = e == 1 ? HUGE_VAL : e == HUGE_VAL ? 1 : e / (e - 1);
    double       sizes[5], weights[5], f0[5], f1[5], norm, value = 0, length = 0;
    int          shifts[5], total;

    for (int i = 0; i < 5; i++) {
      sizes[i]  = i == 3 ? 0 : 0.5 + NextUniform(&state) / 2;
      shifts[i] = bits - i % 2;
    }
    norm = MuonKernelScaledNorm(5, dual, sizes, shifts, &total);
    MuonKernelScaledDual(5, e, sizes, shifts, weights);
    MuonKernelVectorFactors(5, sizes, shifts, weights, f0, f1);
    for (int i = 0; i < 5; i++) {
      const double factor = i == 3 ? 0 : -weights[i] / sizes[i];

      Near(ldexp(f0[i], shifts[i] / 2) * ldexp(f1[i], shifts[i] - shifts[i] / 2), factor, DBL_EPSILON * fabs(factor));
      value += ldexp(sizes[i], shifts[i] - bits) * weights[i];
      length = e == HUGE_VAL ? fmax(length, weights[i]) : length + pow(weights[i], e);
    }
    Check(norm >= 0.5 && norm < 1, "a norm is %g", norm);
    Near(value, ldexp(norm, total - bits), 40 * DBL_EPSILON * value);
    Near(length, 1, 100 * DBL_EPSILON);
  }
}

/* Fraction 2^exponent is size 2^scale, up to that many roundings of a double; 0 of them: exactly */
static void CheckLength(const Array *x, size_t count, double p, double size, int scale, double roundings)
{
  MuonKernelLength length;

  Check(x->k->VectorLength(count, x->x, p, &length) == 0, "not finite");
  Check(size == 0 ? length.fraction == 0 : length.fraction >= 0.5 && length.fraction < 1, "p = %g: fraction %g", p, length.fraction);
  if (size > 0) Near(ldexp(length.fraction, length.exponent - scale), size, roundings * DBL_EPSILON * size);
}

static void CheckLengths(const MuonKernels *k)
{
  static const double exponents[] = {1, 2, 3, 1.5, 700, HUGE_VAL};
  static const int    scales[]    = {0, 1, -1, 60, -60, 120, -120};
  const int           single = k->size == sizeof(float), most = single ? 127 : 1023, least = single ? -149 : -1074;
  const double        one = 1 - k->unit;
  const Array        *x = Zeros(k, 1000, 1, 0), *zero = Zeros(k, 1000, 1, 0);
  MuonKernelLength    length;

  /* 3, 4, 12 with the length 13: at every size that the scalar has, and the same to the last bit */
  for (size_t s = 0; s < sizeof(scales) / sizeof(scales[0]); s++) {
    const int scale = scales[s] * (single ? 1 : 8);

    SetRaw(x, 0, ldexp(-3, scale));
    SetRaw(x, 1, ldexp(4, scale));
    SetRaw(x, 2, ldexp(12, scale));
    CheckLength(x, 3, 1, 19, scale, 0);
    CheckLength(x, 3, 2, 169, 2 * scale, 0);
    CheckLength(x, 3, HUGE_VAL, 12, scale, 0);
    CheckLength(x, 3, 3, pow(27 + 64 + 1728, 1.0 / 3), scale, 10);
  }
  for (size_t q = 0; q < sizeof(exponents) / sizeof(exponents[0]); q++) {
    const double p = exponents[q], root = p >= HUGE_VAL ? 1 : p == 2 ? 1000 : pow(1000, 1 / p);

    /* A thousand numbers below one, of the largest, and of the smallest */
    for (int way = 0; way < 3; way++) {
      const double entry = way < 2 ? one : 1;
      const int    scale = way == 0 ? 0 : way == 1 ? most + 1 : least;

      for (size_t i = 0; i < 1000; i++) SetRaw(x, i, ldexp(i % 2 == 0 ? entry : -entry, scale));
      CheckLength(x, 1000, p, root * (p == 2 ? entry * entry : entry), (p == 2 ? 2 : 1) * scale, 2000);
    }
    for (size_t count = 0; count < 1000; count = 3 * count + 1) {
      long double sum = 0;

      for (size_t i = 0; i < count; i++) {
        SetRaw(x, i, NextNormal(&state));
        sum = p >= HUGE_VAL ? fmaxl(sum, fabsl((long double)GetRaw(x, i))) : sum + powl(fabsl((long double)GetRaw(x, i)), (long double)p);
      }
      if (p < HUGE_VAL && p != 2) sum = powl(sum, 1 / (long double)p);
      /* A sum of count terms, each with a power of a quotient that is rounded p times as much */
      CheckLength(x, count, p, (double)sum, 0, 4 + (double)count + 2 * (p < HUGE_VAL ? p : 0));
      CheckLength(zero, count, p, 0, 0, 0);
      WITH(x, count, 1 + count / 3, bad, Check(k->VectorLength(count, x->x, p, &length) == 1, "p = %g: %g at %d is finite", p, with, (int)at))
    }
  }
  FreeArrays();
}

/* MuonKernelSelectVectors() against a sort, with so many lengths that differ */
static void CheckSelection(const MuonKernels *k, size_t lines, uint64_t different)
{
  MuonKernelLength        *lengths = (MuonKernelLength *)Allocate(lines * sizeof(*lengths));
  Item                    *sorted  = (Item *)Allocate(lines * sizeof(*sorted));
  const MuonKernelLength **scratch = (const MuonKernelLength **)Allocate(lines * sizeof(*scratch));
  const size_t             bytes   = (lines + 7) / 8;
  unsigned char           *bitmap = (unsigned char *)Allocate(bytes + 1), *expected = (unsigned char *)Allocate(bytes + 1);
  const Array             *x = Zeros(k, 1, 1, 0);

  for (size_t i = 0; i < lines; i++) {
    SetRaw(x, 0, (double)(NextBits(&state) % different));
    Check(k->VectorLength(1, x->x, 2, &lengths[i]) == 0, "finite");
    sorted[i].magnitude = GetRaw(x, 0);
    sorted[i].number    = i;
  }
  qsort(sorted, lines, sizeof(*sorted), Before);
  memset(expected, 0, bytes + 1);
  for (size_t count = 0; count <= lines; count++) {
    memset(bitmap, 0xA5, bytes);
    bitmap[bytes] = 0;
    MuonKernelSelectVectors(lines, lengths, count, bitmap, scratch);
    Check(memcmp(bitmap, expected, bytes + 1) == 0, "%d of %d lines", (int)count, (int)lines);
    if (count < lines) expected[sorted[count].number / 8] |= (unsigned char)(1u << sorted[count].number % 8);
  }
  FreeArrays();
}

/* Entry (i, j) of op(A) */
static double Of(const Array *A, int trans, size_t i, size_t j)
{
  return trans ? GetRaw(A, j + i * A->ld) : GetRaw(A, i + j * A->ld);
}

static void CheckMultiply(const MuonKernels *kernels, size_t m, size_t n, size_t k)
{
  static const double factors[][2] = {{1, 0}, {-0.3, 0}, {1, 1}, {0.7, -2}};

  for (int t = 0; t < 16; t++) {
    const int    ta = t / 8, tb = t / 4 % 2;
    const double a = factors[t % 4][0], b = factors[t % 4][1];
    const Array *A = Random(kernels, ta ? k : m, ta ? m : k, 1), *B = Random(kernels, tb ? n : k, tb ? k : n, 2);
    const Array *Y = Zeros(kernels, m, n, 3), *Z = Random(kernels, m, n, 0);

    /* What is overwritten is not read */
    for (size_t e = 0; e < m * n; e++) Set(Y, e, b == 0 ? (double)NAN : Get(Z, e));
    kernels->Multiply(ta, tb, m, n, k, a, A->x, A->ld, B->x, B->ld, b, Y->x, Y->ld);
    for (size_t e = 0; e < m * n; e++) {
      double sum = b == 0 ? 0 : Round(kernels, b) * Get(Z, e), size = fabs(b * Get(Z, e));

      for (size_t l = 0; l < k; l++) {
        const double product = Round(kernels, a) * Of(A, ta, e % m, l) * Of(B, tb, l, e / m);

        sum += product;
        size += fabs(product);
      }
      Near(Get(Y, e), sum, (double)(k + 3) * Epsilon(kernels) * size);
    }
    FreeArrays();
  }
}

/* <a, b> of two columns */
static double Product(const Array *A, size_t a, const Array *B, size_t b)
{
  double sum = 0;

  for (size_t i = 0; i < A->m; i++) sum += GetRaw(A, i + a * A->ld) * GetRaw(B, i + b * B->ld);
  return sum;
}

/*
   Columns of length 1 and orthogonal, so many roundings away, also where the matrix has not as many
   directions; what it had is in their span
*/
static void CheckOrthonormalize(const MuonKernels *k, size_t m, size_t l, int deficient)
{
  const double tolerance = 10 * (double)m * Epsilon(k);
  const Array *P = Random(k, m, l, 0), *Q = Zeros(k, m, l, 0), *work;
  size_t       entries = 0;

  for (size_t i = 0; i < m && deficient; i++) SetRaw(P, i + (l - 1) * m, l > 1 ? GetRaw(P, i) : 0);
  Copy(P, Q);
  Check(k->Orthonormalize(m, l, Q->x, &entries, NULL) == 0 && entries > 0, "%d entries of work", (int)entries);
  for (size_t e = 0; e < m * l; e++) Near(Get(P, e), Get(Q, e), 0);
  work = Zeros(k, entries, 1, 0);
  Check(k->Orthonormalize(m, l, Q->x, &entries, work->x) == 0, "%d x %d", (int)m, (int)l);
  for (size_t a = 0; a < l; a++) {
    double left = 0;

    for (size_t b = 0; b < l; b++) Near(Product(Q, a, Q, b), a == b, tolerance);
    for (size_t i = 0; i < m; i++) {
      double x = GetRaw(P, i + a * m);

      for (size_t b = 0; b < l; b++) x -= Product(Q, b, P, a) * GetRaw(Q, i + b * m);
      left += x * x;
    }
    Near(sqrt(left), 0, (double)(l + 1) * tolerance * sqrt(Product(P, a, P, a)));
  }
  FreeArrays();
}

/* The rotation W that makes the columns of V W orthogonal, sorted by their lengths S */
static void CheckRotation(const MuonKernels *k, size_t n, size_t l)
{
  const double tolerance = 20 * (double)(n + l) * Epsilon(k);
  const Array *V = Random(k, n, l, 0), *X = Zeros(k, n, l, 0), *WT = Zeros(k, l, l, 0), *S = Zeros(k, l, 1, 0), *W = Zeros(k, l, l, 0);
  const Array *Y       = Zeros(MuonKernelsGet(MUON_DOUBLE, TestMemory), n, l, 0), *work;
  size_t       entries = 0;

  Copy(V, X);
  Check(k->Rotation(n, l, X->x, WT->x, S->x, &entries, NULL) == 0 && entries > 0, "%d entries of work", (int)entries);
  for (size_t e = 0; e < n * l; e++) Near(Get(V, e), Get(X, e), 0);
  work = Zeros(k, entries, 1, 0);
  Check(k->Rotation(n, l, X->x, WT->x, S->x, &entries, work->x) == 0, "%d x %d", (int)n, (int)l);
  for (size_t e = 0; e < l * l; e++) Set(W, e, GetRaw(WT, e / l + e % l * l));
  for (size_t e = 0; e < n * l; e++) {
    double sum = 0;

    for (size_t i = 0; i < l; i++) sum += GetRaw(V, e % n + i * n) * GetRaw(W, i + e / n * l);
    Set(Y, e, sum);
  }
  for (size_t a = 0; a < l; a++) {
    Check(GetRaw(S, a) >= 0 && (a == 0 || GetRaw(S, a) <= GetRaw(S, a - 1)), "lengths are not sorted");
    for (size_t b = 0; b < l; b++) {
      Near(Product(W, a, W, b), a == b, tolerance);
      Near(Product(Y, a, Y, b), a == b ? GetRaw(S, a) * GetRaw(S, a) : 0, tolerance * GetRaw(S, 0) * GetRaw(S, 0));
    }
  }
  FreeArrays();
}

int main(int argc, char **argv)
{
  static const size_t vectors[][2]  = {{1, 1}, {7, 3}, {3, 7}, {65, 9}, {300, 21}, {21, 300}, {520, 2}, {0, 4}, {4, 0}};
  static const size_t products[][3] = {{1, 1, 1}, {7, 5, 3}, {3, 40, 2}, {33, 17, 8}, {64, 1, 9}, {1, 12, 4}, {0, 3, 2}, {3, 0, 2}};
  static const size_t tall[][2]     = {{1, 1}, {5, 5}, {9, 2}, {40, 7}, {130, 1}, {64, 33}};

  TestColumn(argc, argv);
  for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
    const MuonKernels *k = MuonKernelsGet((MuonPrecision)precision, TestMemory);

    for (size_t s = 0; s < sizeof(vectors) / sizeof(vectors[0]); s++) {
      for (int kind = 0; kind < 2; kind++) CheckVectors(k, vectors[s][0], vectors[s][1], kind);
    }
    CheckLengths(k);
    for (size_t count = 0; count < 70; count++) {
      CheckSelection(k, count, 5);
      CheckSelection(k, count, 1u << 20);
    }
    CheckSelection(k, 500, 40);
    for (size_t s = 0; s < sizeof(products) / sizeof(products[0]); s++) CheckMultiply(k, products[s][0], products[s][1], products[s][2]);
    for (size_t s = 0; s < sizeof(tall) / sizeof(tall[0]); s++) {
      CheckOrthonormalize(k, tall[s][0], tall[s][1], 0);
      CheckOrthonormalize(k, tall[s][0], tall[s][1], 1);
      CheckRotation(k, tall[s][0], tall[s][1]);
    }
  }
  CheckDuals(0);
  CheckDuals(900);
  CheckDuals(-900);
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
