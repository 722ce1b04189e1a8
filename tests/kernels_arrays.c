/*
   The kernels on arrays, on their vectors and across them against loops that cannot be wrong, in both precisions, for sizes around those of stretches and
   blocks and with gaps between lines: sums, norms, moments, stretches, signs, rounding; norms of vectors and the matrices made of them, lengths and the
   choice of the longest, products and factors of matrices of few columns.
*/
#include "kernels_common.h"
#include "kernels/array/muonlmokernels.h"

static uint64_t state = 1; /* of the random numbers */

static const double bad[] = {NAN, INFINITY, -INFINITY};

static const MuonKernels *Other(const MuonKernels *k)
{
  return MuonKernelsGet(k->size == sizeof(float) ? MUON_DOUBLE : MUON_SINGLE, TestMemory);
}

/* Rounding to p significant bits by scaling and the current mode of rounding, which is to nearest even */
static double Nearest(double x, int p)
{
  int exponent;

  if (x == 0) return x;
  (void)frexp(x, &exponent);
  return ldexp(rint(ldexp(x, p - exponent)), exponent - p);
}

/*
   Every entry of Z is the number in double, rounded once or, where each of two products and their sum
   are rounded, up to eps of both. Two of the coefficients are powers of two, so that no product is rounded.
   Nothing of Y is read where b is 0. Coefficients are rounded to single first, but where the other array has doubles
*/
static void CheckSums(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  static const double pairs[][2] = {{0.9, 0.1}, {-2, 0}, {1, 0}, {-2, 1}, {0.5, -0.25}, {0, 0.5}, {0.3, 0}};
  const Array        *X = Random(k, m, n, gap), *Y = Random(k, m, n, 2 * gap), *Z = Zeros(k, m, n, 2 * gap), *O = Zeros(Other(k), m, n, gap);

  Copy(X, O);
  for (size_t c = 0; c < 2 * sizeof(pairs) / sizeof(pairs[0]); c++) {
    const int    other = (int)(c % 2);
    const double a = pairs[c / 2][0], b = pairs[c / 2][1], ra = other ? a : Round(k, a), rb = other ? b : Round(k, b);

    for (size_t e = 0; e < m * n; e++) Set(Z, e, b == 0 ? (double)NAN : Get(Y, e));
    if (other) k->AxpbyOther(m, n, a, O->x, O->ld, b, Z->x, Z->ld);
    else k->Axpby(m, n, a, X->x, X->ld, b, Z->x, Z->ld);
    for (size_t e = 0; e < m * n; e++) {
      const double p = ra * Get(other ? O : X, e), q = rb * Get(Y, e);

      if (c < 2) Near(Get(Z, e), p + q, Epsilon(k) * (fabs(p) + fabs(q)));
      else Near(Get(Z, e), Round(k, p + q), 0);
    }
  }
  FreeArrays();
}

/* Momentum: also into the place of either, without a previous one, and with a gradient of the other precision */
static void CheckMomentum(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  const Array *X = Random(k, m, n, gap), *Y = Random(k, m, n, 2 * gap);

  for (int way = 0; way < 6; way++) {
    const int    other = way >= 4, none = way == 3 || way == 5;
    const double previous = none ? 0 : 0.9, fresh = none ? 0.5 : 0.1, unit = other ? Epsilon(k) / 2 + 2 * DBL_EPSILON : Epsilon(k);
    int          finite;
    const Array *M = Zeros(k, m, n, gap), *G = Zeros(other ? Other(k) : k, m, n, 2 * gap), *Z = way == 1 ? G : way == 2 ? M : Zeros(k, m, n, gap);

    Copy(X, M);
    Copy(Y, G);
    finite = (other ? k->MomentumOther : k->Momentum)(m, n, previous, none ? NULL : M->x, M->ld, fresh, G->x, G->ld, Z->x, Z->ld);
    Check(finite == 1, "way %d is not finite", way);
    for (size_t e = 0; e < m * n; e++) {
      const double p = (other ? previous : Round(k, previous)) * Get(X, e), q = (other ? fresh : Round(k, fresh)) * Round(G->k, Get(Y, e));

      Near(Get(Z, e), none ? Round(k, q) : p + q, none ? 0 : unit * (fabs(p) + fabs(q)));
    }
  }
  FreeArrays();
}

/* What is not finite is seen wherever it is, and mended; 1e39 is no binary32 */
static void CheckMending(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  const Array *X = Random(k, m, n, gap), *Y = Random(k, m, n, 2 * gap), *Z = Zeros(k, m, n, 2 * gap), *O = Zeros(Other(k), m, n, gap);

  for (size_t e = 0; e < m * n; e++) Set(O, e, 1);
  for (size_t at = 0; at < m * n; at += m * n / 5 + 1) {
    const double was = Get(Y, at);

    for (int b = 0; b < 3; b++) {
      Set(Y, at, bad[b]);
      Check(k->Momentum(m, n, 0.9, X->x, X->ld, 0.1, Y->x, Y->ld, Z->x, Z->ld) == 0, "%g became finite", bad[b]);
      Check(k->Momentum(m, n, 0, NULL, 1, 1, Y->x, Y->ld, Z->x, Z->ld) == 0, "%g became finite", bad[b]);
      (void)k->Momentum(m, n, 0.5, X->x, X->ld, 0.5, Y->x, Y->ld, Z->x, Z->ld);
      Check(k->MomentumReplace(m, n, 0.5, X->x, X->ld, Z->x, Z->ld) == 1, "%g is not counted", bad[b]);
      for (size_t e = 0; e < m * n; e++) Near(Get(Z, e), e == at ? 0.5 * Get(X, e) : Round(k, 0.5 * Get(X, e) + 0.5 * Get(Y, e)), 0);
      (void)k->Momentum(m, n, 0, NULL, 1, 1, Y->x, Y->ld, Z->x, Z->ld);
      Check(k->MomentumReplace(m, n, 0, NULL, 1, Z->x, Z->ld) == 1 && Get(Z, at) == 0, "%g is mended to something", bad[b]);
      Set(Y, at, was);
      Set(O, at, bad[b]);
      Check(k->MomentumOther(m, n, 0.9, X->x, X->ld, 0.1, O->x, O->ld, Z->x, Z->ld) == 0, "%g of the other precision became finite", bad[b]);
    }
    Set(O, at, 1e39);
    Check(k->MomentumOther(m, n, 0.5, X->x, X->ld, 0.5, O->x, O->ld, Z->x, Z->ld) == 0, "1e39 is a binary32");
    Set(O, at, 1);
  }
  FreeArrays();
}

/* Cautious: entries that the step moves away from zero do not decay; into the place of the step too; zeros, which may keep or decay alike */
static void CheckCautious(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  for (int way = 0; way < 2 && m * n > 0; way++) {
    const Array *X = Random(k, m, n, gap), *Y = Random(k, m, n, 2 * gap), *D = Zeros(k, m, n, 2 * gap), *Z = way == 1 ? D : Zeros(k, m, n, gap);

    Set(X, 0, 0);
    Set(Y, m * n / 2, 0);
    Copy(Y, D);
    Check(k->Cautious(m, n, 0.75, X->x, X->ld, -0.5, D->x, D->ld, Z->x, Z->ld) == 1, "a cautious step of %d x %d is not finite", (int)m, (int)n);
    for (size_t e = 0; e < m * n; e++) {
      const double move = -0.5 * Get(Y, e), x = Get(X, e), kept = (move > 0) == (x > 0) && move != 0 && x != 0 ? x : Round(k, 0.75 * x);

      Near(Get(Z, e), kept + move, Epsilon(k) * (fabs(x) + fabs(move)));
    }
    Set(Y, m * n - 1, INFINITY);
    Check(k->Cautious(m, n, 0.75, X->x, X->ld, -0.5, Y->x, Y->ld, Z->x, Z->ld) == 0, "infinity became finite");
    FreeArrays();
  }
}

/* A sum of N terms in any order has an error below N eps times the sum of their sizes */
static void CheckNorms(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  static const double limits[] = {-4096, 4095.999};
  const Array        *X = Random(k, m, n, gap), *Y = Random(k, m, n, 2 * gap);
  const long double   bound   = (long double)(m * n + 1) * DBL_EPSILON;
  long double         squares = 0, sum = 0, dot = 0, size = 0;
  double              most = 0;

  for (size_t e = 0; e < m * n; e++) {
    const long double x = (long double)Get(X, e), y = (long double)Get(Y, e);

    squares += x * x;
    sum += fabsl(x);
    dot += x * y;
    size += fabsl(x * y);
    most = fmax(most, fabs(Get(X, e)));
  }
  Check(fabsl(k->SumSquares(m, n, X->x, X->ld) - squares) <= bound * squares, "sum of squares of %d x %d", (int)m, (int)n);
  Check(fabsl(k->SumAbs(m, n, X->x, X->ld) - sum) <= (long double)(m * n) * DBL_EPSILON * sum, "sum of absolute values of %d x %d", (int)m, (int)n);
  Check(fabsl(k->Dot(m, n, X->x, X->ld, Y->x, Y->ld) - dot) <= bound * size, "scalar product of %d x %d", (int)m, (int)n);
  Check(k->MaxAbs(m, n, X->x, X->ld) == most, "largest of %d x %d", (int)m, (int)n);
  Check(k->IsBelow(m, n, X->x, X->ld, HUGE_VAL) == 1, "%d x %d is finite", (int)m, (int)n);
  WITH(X, m * n, m * n / 7 + 1, bad, Check(k->IsBelow(m, n, X->x, X->ld, HUGE_VAL) == 0, "%g of %d x %d is finite", with, (int)m, (int)n))
  WITH(X, m * n, m * n / 7 + 1, limits, Check(k->IsBelow(m, n, X->x, X->ld, 4096) == (with > 0), "%g beside the limit", with))
  FreeArrays();
}

/* Norms of any magnitude, and quotients: a norm that is a product by a power of two */
static void CheckScaled(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  const int    most = k->size == sizeof(float) ? 88 : 1000;
  const Array *X = Zeros(k, m, n, gap), *Y = Zeros(k, m, n, 2 * gap), *Z = Random(k, m, n, gap);
  const double bound   = (double)(m * n + 4) * DBL_EPSILON;
  double       squares = 0, norm;
  int          exponent;

  for (size_t e = 0; e < m * n; e++) {
    Set(Z, e, (double)(float)Get(Z, e));
    squares += Get(Z, e) * Get(Z, e);
  }
  for (int shift = -most; shift <= most; shift += most / 4) {
    for (size_t e = 0; e < m * n; e++) Set(X, e, ldexp(Get(Z, e), shift));
    norm = k->Norm(m, n, X->x, X->ld, &exponent);
    Near(ldexp(norm, exponent - shift), sqrt(squares), bound * sqrt(squares));
    if (m * n == 0) continue;
    k->Divide(m, n, X->x, X->ld, norm, exponent, Y->x, Y->ld);
    for (size_t e = 0; e < m * n; e++) Near(Get(Y, e), Get(Z, e) / sqrt(squares), (Epsilon(k) + bound) * fabs(Get(Z, e)) / sqrt(squares));
    /* By a power of two, in its own place: exact */
    k->Divide(m, n, X->x, X->ld, 1, shift, X->x, X->ld);
    for (size_t e = 0; e < m * n; e++) Near(Get(X, e), Get(Z, e), 0);
  }
  for (size_t e = 0; e < m * n; e++) Set(X, e, 0);
  Check(k->Norm(m, n, X->x, X->ld, &exponent) == 0 && exponent == 0, "norm of zero");
  for (int b = 0; b < 2 && m * n > 0; b++) {
    Set(X, m * n / 2, bad[b]);
    Check(k->MaxAbs(m, n, X->x, X->ld) == HUGE_VAL && k->Norm(m, n, X->x, X->ld, &exponent) == HUGE_VAL, "%g has a norm", bad[b]);
  }
  FreeArrays();
}

/* One step of Adam written down in double: some twenty roundings of numbers whose signs do not cancel but in x - r m */
static const double AdamNumbers[] = {0.9, 0.95, 1e-3, 0.19, 0.0975, 0.01, 0.999};

/* Of G, X and Y, and M, V, and what becomes of these */
static int Adam(const MuonKernels *k, int nesterov, const Array *G, const Array *X, const Array *Y, const Array *const A[4])
{
  const double *c = AdamNumbers;
  void *const M = A[0]->x, *const V = A[1]->x;

  return k->AdamW(G->m, G->n, G->x, G->ld, c[0], c[1], c[2], nesterov, c[3], c[4], c[5], c[6], M, V, X->x, X->ld, A[2]->x, A[3]->x, Y->x, Y->ld);
}

static void CheckAdamW(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  const int    nesterov = (int)gap;
  const double beta1 = 0.9, beta2 = 0.95, c1 = 0.19, rate = 0.01;
  const double unit = Epsilon(k), wrong[] = {NAN, -INFINITY, k->size == sizeof(float) ? (double)FLT_MAX : DBL_MAX}; /* whose square is out of range */
  const Array *G = Random(k, m, n, gap), *X = Random(k, m, n, 2 * gap), *Y = Zeros(k, m, n, 3 * gap);
  const Array *M = Random(k, m, n, 0), *V = Random(k, m, n, 0), *M1 = Zeros(k, m, n, 0), *V1 = Zeros(k, m, n, 0), *const A[] = {M, V, M1, V1};

  for (size_t e = 0; e < m * n; e++) Set(V, e, fabs(Get(V, e)));
  Check(Adam(k, nesterov, G, X, Y, A) == 1, "Adam of %d x %d is not finite", (int)m, (int)n);
  for (size_t e = 0; e < m * n; e++) {
    const double g = Get(G, e), mean = beta1 * Get(M, e) + (1 - beta1) * g, square = beta2 * Get(V, e) + (1 - beta2) * g * g;
    const double size = fabs(beta1 * Get(M, e)) + fabs((1 - beta1) * g), by = sqrt(square / 0.0975) + 1e-3;
    const double step = rate * (nesterov ? beta1 * mean + (1 - beta1) * g : mean) / c1 / by;

    Near(Get(M1, e), mean, 3 * unit * size);
    Near(Get(V1, e), square, 4 * unit * square);
    Near(Get(Y, e), 0.999 * Get(X, e) - step, 20 * unit * (fabs(Get(X, e)) + rate * (size + fabs(g)) / c1 / by));
  }
  WITH(G, m * n, m * n / 5 + 1, wrong, Check(Adam(k, nesterov, G, X, Y, A) == 0, "Adam with %g is finite", with))
  FreeArrays();
}

/* Stretches of T - R out of arrays and back, wherever they begin and end; and across the lines */
static void CheckStretches(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  const Array *X = Random(k, m, n, gap), *Y = Random(k, m, n, 2 * gap), *Z = Zeros(k, m, n, 2 * gap), *x = Zeros(k, m * n + 1, 1, 0);

  for (size_t first = 0; first <= m * n; first = 3 * first + 1) {
    for (size_t count = 0; first + count <= m * n; count = 2 * count + 1) {
      for (int without = 0; without < 2; without++) {
        SetRaw(x, count, 77);
        k->Residual(m, n, X->x, X->ld, without ? NULL : Y->x, Y->ld, first, count, x->x);
        Near(GetRaw(x, count), 77, 0);
        for (size_t i = 0; i < count; i++) Near(GetRaw(x, i), Round(k, Get(X, first + i) - (without ? 0 : Get(Y, first + i))), 0);
      }
      for (int add = 0; add < 2; add++) {
        Copy(Y, Z);
        k->Spread(m, n, first, count, x->x, add, 0.25, Z->x, Z->ld);
        for (size_t e = 0; e < m * n; e++) {
          const double y = Get(Y, e), part = e < first || e >= first + count ? NAN : GetRaw(x, e - first);

          Near(Get(Z, e), isnan(part) ? y : add ? Round(k, y + 0.25 * part) : part, 0);
        }
      }
    }
  }
  for (size_t first = 0; first < m; first++) {
    for (size_t count = 1; first + count <= m; count = 2 * count + 1) {
      for (int without = 0; without < 2; without++) {
        SetRaw(x, count * n, 77);
        k->ResidualStrided(n, X->x, X->ld, without ? NULL : Y->x, Y->ld, first, count, x->x);
        Near(GetRaw(x, count * n), 77, 0);
        for (size_t i = 0; i < count * n; i++) {
          const size_t e = first + i / n + i % n * m;

          Near(GetRaw(x, i), Round(k, Get(X, e) - (without ? 0 : Get(Y, e))), 0);
        }
      }
    }
  }
  FreeArrays();
}

/* Entries that a bitmap chooses, with one of eight of density, all or none */
static void CheckScatter(const MuonKernels *k, size_t m, size_t n, size_t gap, unsigned density)
{
  const size_t   entries = m * n;
  const Array   *Y = Random(k, m, n, gap), *Z = Zeros(k, m, n, gap), *values = Random(k, entries, 1, 0);
  unsigned char *bitmap = (unsigned char *)Allocate((entries + 7) / 8);

  Copy(Y, Z);
  for (size_t i = 0; i < (entries + 7) / 8; i++) {
    const uint64_t one = NextBits(&state), two = NextBits(&state), three = NextBits(&state);

    bitmap[i] = (unsigned char)(density == 8 ? 255 : density == 0 ? 0 : density == 1 ? one & two & three : one);
  }
  for (size_t first = 0; first <= entries; first += 64 * (1 + entries / 640)) {
    for (size_t count = 0; first + count <= entries; count = count == 0 ? 1 : 3 * count) {
      size_t set = 0;

      for (size_t e = first; e < first + count; e++) set += (size_t)Bit(bitmap, e);
      Check(MuonKernelCountBits(bitmap, first, count) == set, "bits of %d from %d", (int)count, (int)first);
      for (int add = 1; add >= 0; add--) {
        size_t at = 0;

        k->Scatter(m, n, bitmap, first, count, values->x, add, Round(k, 0.7), Z->x, Z->ld);
        for (size_t e = 0; e < entries; e++) {
          if (e >= first && e < first + count && Bit(bitmap, e)) {
            const double x = GetRaw(values, at++);

            Set(Y, e, add ? Get(Y, e) + Round(k, Round(k, 0.7) * x) : x);
          }
          Near(Get(Z, e), Get(Y, e), 0);
        }
      }
    }
  }
  FreeArrays();
}

/* Signs of zeros, of the smallest numbers and of differences that vanish */
static void CheckSigns(const MuonKernels *k, size_t m, size_t n, size_t gap)
{
  const double   tiny = k->size == sizeof(float) ? ldexp(1, -149) : ldexp(1, -1074), special[] = {0, -0.0, 1, -1, tiny, -tiny};
  const Array   *T = Random(k, m, n, gap), *R = Random(k, m, n, 2 * gap);
  const size_t   bytes = (m * n + 7) / 8;
  unsigned char *bits = (unsigned char *)Allocate(4 * bytes + 4), *expected = bits + bytes + 1;
  unsigned char *zeros = expected + bytes + 1, *vanish = zeros + bytes + 1;
  double         sum;

  for (size_t e = 0; e < m * n; e += 3) {
    Set(T, e, special[NextBits(&state) % 6]);
    if (e % 2 == 0) Set(R, e, NextBits(&state) % 3 == 0 ? Get(T, e) : special[NextBits(&state) % 6]);
  }
  for (int without = 0; without < 2; without++) {
    const void *r     = without ? NULL : R->x;
    long double exact = 0;

    memset(expected, 0, bytes + 1);
    memset(vanish, 0, bytes + 1);
    memset(zeros, 0, bytes + 1);
    memset(bits, 0xA5, bytes + 1);
    expected[bytes] = 0xA5;
    for (size_t e = 0; e < m * n; e++) {
      const double x = Round(k, Get(T, e) - (without ? 0 : Get(R, e)));

      if (x >= 0) expected[e / 8] |= (unsigned char)(1 << e % 8);
      if (x == 0) vanish[e / 8] |= (unsigned char)(1 << e % 8);
      exact += fabsl((long double)x);
    }
    for (int way = 0; way < 2; way++) {
      Check(k->Signs(m, n, T->x, T->ld, r, R->ld, bits, way ? zeros : NULL, &sum) == 0, "%d x %d is finite", (int)m, (int)n);
      Check(memcmp(bits, expected, bytes + 1) == 0, "signs of %d x %d, way %d", (int)m, (int)n, way);
    }
    Check(memcmp(zeros, vanish, bytes + 1) == 0, "zeros of %d x %d", (int)m, (int)n);
    Near(sum, (double)exact, (double)(m * n) * DBL_EPSILON * (double)exact);
  }
  WITH(T, m * n, m * n / 7 + 1, bad, Check(k->Signs(m, n, T->x, T->ld, R->x, R->ld, bits, NULL, &sum) == 1, "%g at %d of %d x %d is finite", with, (int)at, (int)m, (int)n))
  WITH(R, m * n, m * n / 7 + 1, bad, Check(k->Signs(m, n, T->x, T->ld, R->x, R->ld, bits, NULL, &sum) == 1, "%g at %d of %d x %d is finite", with, (int)at, (int)m, (int)n))
  FreeArrays();
}

/* What a majority does to weights, entry by entry, in place and not: keep X + by or - by, and keep X where there is a tie */
static void CheckMoves(const MuonKernels *k, size_t m, size_t n, int way)
{
  const double   decay = way & 2 ? 0.99 : way & 16 ? 0 : 1, by = way & 4 ? -0.3 : 1e-3;
  const int      tied = way & 8;
  const Array   *X = Random(k, m, n, way & 1 ? 3 : 0), *Y = Zeros(k, m, n, way & 1 ? 3 : 0);
  unsigned char *bits = (unsigned char *)Allocate(m * n / 8 + 1), *ties = (unsigned char *)Allocate(m * n / 8 + 1);

  for (size_t i = 0; i < m * n / 8 + 1; i++) {
    bits[i] = (unsigned char)(NextBits(&state) >> 7 & 255);
    ties[i] = (unsigned char)(NextBits(&state) >> 7 & NextBits(&state) >> 7 & 255);
  }
  k->SignsAxpby(m, n, bits, tied ? ties : NULL, decay, X->x, X->ld, by, Y->x, Y->ld);
  for (size_t e = 0; e < m * n; e++) {
    const double kept = Round(k, Round(k, decay) * Get(X, e)), step = Bit(bits, e) ? Round(k, by) : -Round(k, by);

    Near(Get(Y, e), tied && Bit(ties, e) ? kept : Round(k, kept + step), 0);
  }
  k->SignsAxpby(m, n, bits, tied ? ties : NULL, decay, X->x, X->ld, by, X->x, X->ld);
  for (size_t e = 0; e < m * n; e++) Near(Get(X, e), Get(Y, e), 0);
  FreeArrays();
}

static void CheckGather(const MuonKernels *k, size_t m, size_t n, size_t gap, unsigned density)
{
  const double   most = k->size == sizeof(float) ? (double)FLT_MAX : DBL_MAX;
  const Array   *T = Random(k, m, n, gap), *R = Random(k, m, n, 2 * gap), *values = Zeros(k, m * n + 1, 1, 0);
  unsigned char *bitmap = (unsigned char *)Allocate((m * n + 7) / 8);

  memset(bitmap, 0, (m * n + 7) / 8);
  for (size_t e = 0; e < m * n; e++) bitmap[e / 8] |= (unsigned char)((NextBits(&state) % 8 < density) << e % 8);
  for (int without = 0; without < 2; without++) {
    size_t count = 0;

    for (size_t i = 0; i <= m * n; i++) SetRaw(values, i, -7);
    Check(k->Gather(m, n, T->x, T->ld, without ? NULL : R->x, R->ld, HUGE_VAL, bitmap, values->x) == 0, "%d x %d is not finite", (int)m, (int)n);
    for (size_t e = 0; e < m * n; e++) {
      if (Bit(bitmap, e)) Near(GetRaw(values, count++), Round(k, Get(T, e) - (without ? 0 : Get(R, e))), 0);
    }
    Near(GetRaw(values, count), -7, 0);
  }
  /* Wherever it is, in T, in R or in their difference: no number, one that is out of range, the limit and a number below it */
  for (size_t e = 0; e < m * n; e += 1 + m * n / 5) {
    const struct {
      double t, r, limit;
      int    status;
    } rows[]       = {{NAN, 1, HUGE_VAL, 1},      {INFINITY, 1, HUGE_VAL, 1}, {-INFINITY, 1, HUGE_VAL, 1}, /* of T */
                      {1, NAN, HUGE_VAL, 1},      {1, INFINITY, HUGE_VAL, 1}, {1, -INFINITY, HUGE_VAL, 1}, /* of R */
                      {most, -most, HUGE_VAL, 1}, {-4096, 0, 4096, 1},        {4095.999, 0, 4096, 0}};
    const double t = Get(T, e), r = Get(R, e);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
      Set(T, e, rows[i].t);
      Set(R, e, rows[i].r);
      Check(k->Gather(m, n, T->x, T->ld, R->x, R->ld, rows[i].limit, bitmap, values->x) == rows[i].status, "row %d of what is not finite", (int)i);
      if (i < 3) Check(k->Gather(m, n, T->x, T->ld, NULL, 0, HUGE_VAL, bitmap, values->x) == 1, "%g of T is finite", rows[i].t);
    }
    Set(T, e, t);
    Set(R, e, r);
  }
  FreeArrays();
}

static void CheckRounding(const MuonKernels *k)
{
  static const double special[] = {0, 1, 1 + 1.0 / 256, 1 + 3.0 / 256, 1 + 1.0 / 128, 1 - 1.0 / 512, FLT_MIN, FLT_MAX / 2, 3.3895313892515355e38};
  const size_t        specials  = sizeof(special) / sizeof(special[0]);
  const Array        *x = Zeros(k, 1, 1, 0), *many = Zeros(k, 5, 1, 0);
  float               rounded[5], y, z;

  for (size_t i = 0; i < 20000; i++) {
    const double draw = i < specials ? special[i] : ldexp(NextNormal(&state), (int)(NextBits(&state) % 240) - 120);

    SetRaw(x, 0, i % 2 == 0 ? draw : -draw);
    if (fabs(GetRaw(x, 0)) < FLT_MIN && GetRaw(x, 0) != 0) continue;
    Check(k->ToSingle(1, x->x, 0, &y) == 0 && k->ToSingle(1, x->x, 1, &z) == 0, "%g is not finite", draw);
    Near((double)y, Nearest(GetRaw(x, 0), 24), 0);
    Near((double)z, Nearest(Nearest(GetRaw(x, 0), 24), 8), 0);
  }
  for (size_t at = 0; at < 25; at++) {
    /* The largest binary32 rounds to Inf in bf16, and 1e39 does not fit */
    const double wrong[] = {NAN, INFINITY, -INFINITY, (double)FLT_MAX, 1e39};

    SetRaw(many, at % 5, wrong[at / 5]);
    Check(k->ToSingle(5, many->x, 0, rounded) == (at / 5 != 3) && k->ToSingle(5, many->x, 1, rounded) == 1, "%g at %d", wrong[at / 5], (int)at % 5);
    SetRaw(many, at % 5, 1);
  }
  FreeArrays();
}

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

/* Columns of length 1 and orthogonal, so many roundings away, also where the matrix has not as many directions; what it had is in their span */
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
  static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 17, 100}, lines[] = {0, 1, 3, 63, 64, 65, 130};
  static const size_t moves[][2] = {{1, 1}, {64, 3}, {65, 2}, {7, 19}, {300, 5}, {0, 4}, {513, 130}, {1030, 67}};

  TestColumn(argc, argv);
  for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
    const MuonKernels *k = MuonKernelsGet((MuonPrecision)precision, TestMemory);

    for (size_t r = 0; r < 56 * 3; r++) {
      const size_t m = lengths[r / 21], n = lines[r / 3 % 7], gap = r % 3;

      CheckSums(k, m, n, gap);
      CheckMomentum(k, m, n, gap);
      CheckMending(k, m, n, gap);
      CheckCautious(k, m, n, gap);
      CheckNorms(k, m, n, gap);
      CheckScaled(k, m, n, gap);
      if (gap == 2) continue;
      CheckAdamW(k, m, n, gap);
      CheckStretches(k, m, n, gap);
      CheckSigns(k, m, n, gap);
      CheckMoves(k, m, n, (int)(r % 24));
      for (unsigned density = 0; density < 9; density += 4) CheckGather(k, m, n, gap, density);
      for (unsigned density = 0; density < 9; density += density < 2 ? 1 : 6) CheckScatter(k, m, n, gap, density);
    }
    CheckSigns(k, 513, 130, 0);
    CheckSigns(k, 1030, 67, 1);
    for (size_t s = 0; s < sizeof(moves) / sizeof(moves[0]); s++) {
      for (int way = 0; way < 24; way += s < 6 ? 1 : 7) CheckMoves(k, moves[s][0], moves[s][1], way);
    }
    CheckRounding(k);
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
  return 0;
}

/*TEST

  link: internal

  table: suffix | nsize | requires | args
           | 0 |        |
    device | 0 | kokkos | device

TEST*/
