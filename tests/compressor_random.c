static char help[] = "Random rounding and random sets: no bias, the variance of the theory, independent, and the same for the same stream.\n";

#include "compressor_common.h"

/*
   Everything is drawn with fixed seeds; bounds are six standard deviations of the theory, which a right
   program exceeds with a probability of 2e-9
*/
enum {
  M = 12,
  N = 17,
  D = M * N
};

/* Which messages: a stream, and how many steps later than the other one */
typedef struct {
  const char *what, *layer;
  PetscInt64  seed;
  PetscInt    sender, direction, later;
} Stream;

static const Stream streams[] = {{"the same stream", "h0.attn.q", 5, 2, 0, 0},
                                 {"another sender", "h0.attn.q", 5, 3, 0, 0},
                                 {"the other direction", "h0.attn.q", 5, 2, 1, 0},
                                 {"another layer", "h0.attn.k", 5, 2, 0, 0},
                                 {"another seed", "h0.attn.q", 6, 2, 0, 0},
                                 {"the next step", "h0.attn.q", 5, 2, 0, 1},
                                 {"a seed's upper half", "h0.attn.q", 5 + ((PetscInt64)1 << 32), 2, 0, 0},
                                 {"a step far away", "h0.attn.q", 5, 2, 0, 77}};

static PetscErrorCode SetStream(MuonCompressor c, const Stream *stream)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorSetStream(c, stream->seed, stream->layer, stream->sender, stream->direction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 2^a <= |x| < 2^(a+1), and the variance of natural compression */
static double Power(double x)
{
  int exponent;

  (void)frexp(x, &exponent);
  return x == 0 ? 0 : ldexp(0.5, exponent);
}

static double Variance(double x)
{
  return (fabs(x) - Power(x)) * (2 * Power(x) - fabs(x));
}

/* Of many draws: means and second moments of C(X) - E by entry, in the order of memory; the mean of ||C(X) - X||^2 and its standard deviation */
typedef struct {
  double mean[D], square[D], error, deviation;
} Moments;

static PetscErrorCode Measure(MuonCompressor c, Matrix X, Matrix E, PetscInt draws, Moments *moments)
{
  const PetscInt mark = Test.count, d = X->m * X->n;
  Matrix         Y;
  double         squares = 0;

  PetscFunctionBegin;
  TestCheck(d <= D, "%d entries are too many", (int)d);
  PetscCall(New(X->m, X->n, &Y));
  PetscCall(PetscMemzero(moments, sizeof(*moments)));
  for (PetscInt k = 0; k < draws; k++) {
    const double scale = 1 / (double)draws;
    double       error;

    PetscCall(Apply(c, k, X, Y));
    error = Squares(Y, X);
    moments->error += scale * error;
    squares += scale * error * error;
    for (PetscInt e = 0; e < d; e++) {
      const double off = GetAt(Y, e) - GetAt(E, e);

      moments->mean[e] += scale * off;
      moments->square[e] += scale * off * off;
    }
  }
  moments->deviation = sqrt(PetscMax(squares - moments->error * moments->error, 0) / (double)draws);
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What C(X) must be in the mean, E, which is not X for what a compressor leaves out, and what ||C(X) - X||^2 must be in the
   mean, if that is known, and at most. Where the variance of an entry is that of the natural compression of E it is compared, too,
   else it is measured
*/
static PetscErrorCode CheckMean(MuonCompressor c, const char what[], Matrix X, Matrix E, PetscBool natural, double expected)
{
  const PetscInt draws = 2000;
  Moments        found;
  PetscReal      alpha;

  PetscFunctionBegin;
  PetscCall(Measure(c, X, E, draws, &found));
  for (PetscInt e = 0; e < D; e++) {
    const double mean = GetAt(E, e), variance = natural ? Variance(mean) : found.square[e];

    /* The rounding of X's decomposition, or of x to binary32, is far below the standard deviation unless that is 0 */
    TestMost(what, fabs(found.mean[e]), 6 * sqrt(variance / draws) + 1e-6 * fabs(mean));
    /* The square of an error lies between 0 and the square of the power */
    TestNear(what, found.square[e], variance, 6 * PetscSqr(Power(mean)) / sqrt((double)draws));
  }
  PetscCall(MuonCompressorGetAlpha(c, M, N, &alpha));
  TestMost(what, found.error, (1 - (double)alpha) * Squares(X, NULL) + 6 * found.deviation);
  if (expected >= 0) TestNear(what, found.error, expected, 6 * found.deviation + 1e-6 * expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckUnbiased(Matrix X)
{
  MuonCompressor c;
  Matrix         E, flat;
  double         expected, kept;

  PetscFunctionBegin;
  PetscCall(Make(&c, "natural"));
  PetscCall(New(M, N, &E, &flat));
  expected = 0;
  for (PetscInt e = 0; e < D; e++) expected += Variance(GetAt(X, e));
  PetscCall(CheckMean(c, "natural", X, X, PETSC_TRUE, expected));

  /* What Top-K keeps is known from the same selection without rounding */
  PetscCall(Tune(c, "topk ratio 0.3 values native"));
  PetscCall(Apply(c, 0, X, E));
  expected = 0;
  for (PetscInt e = 0; e < D; e++) expected += GetAt(E, e) == 0 ? PetscSqr(GetAt(X, e)) : Variance(GetAt(E, e));
  PetscCall(Tune(c, "values natural"));
  PetscCall(CheckMean(c, "topk", X, E, PETSC_TRUE, expected));

  /*
     A random subset keeps each entry with the same probability, and the squares of the others add up to their
     part in the mean. The values add the variance of their rounding
  */
  kept = floor(0.3 * D) / D;
  Axpby(kept, X, 0, E);
  for (int natural = 0; natural < 2; natural++) {
    PetscCall(Tune(c, "randk values %s", natural ? "natural" : "native"));
    expected = Squares(X, NULL);
    for (PetscInt e = 0; e < D; e++) expected += (natural * Variance(GetAt(X, e)) - PetscSqr(GetAt(X, e))) * kept;
    PetscCall(CheckMean(c, "randk", X, E, PETSC_FALSE, expected));
  }

  /* Independent roundings of both factors: the mean is the product of the factors */
  PetscCall(Tune(c, "rankk values native"));
  PetscCall(Apply(c, 0, X, E));
  PetscCall(Tune(c, "values natural"));
  PetscCall(CheckMean(c, "rankk", X, E, PETSC_FALSE, -1));

  /* The worst case of natural compression, 4/3 of a power of two everywhere: the bound 1/8 is reached */
  PetscCall(Tune(c, "natural"));
  for (PetscInt e = 0; e < D; e++) SetAt(flat, e, 4.0 / 3);
  PetscCall(CheckMean(c, "flat", flat, flat, PETSC_TRUE, D * 16.0 / 9 / 8));
  PetscCall(Free(1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Means and variances of all entries of quantized blocks: of an entry y levels large, with the rest f, the variance is f (1 - f) in
   squares of a level, which is the scale of its block over s, and the fourth moment of the error is less than that. What binary32 and
   random numbers of 24 bits lose is 2^-16 of a level and less. 7 x 13: the last block is shorter, and blocks end within columns,
   one of them of zeros
*/
static PetscErrorCode CheckQuantized(void)
{
  const PetscInt m = 7, n = 13, draws = 600;
  MuonCompressor c;
  Matrix         X;
  Moments        found;

  PetscFunctionBegin;
  PetscCall(New(m, n, &X));
  Random(X, 1);
  for (PetscInt e = 14; e < 35; e++) SetAt(X, e, 0);
  for (int k = 0; k < 6; k++) {
    const int bits = 2 + k % 3 * 3, length = k < 3 ? 16 : 32;

    PetscCall(Make(&c, "qsgd values double bits %d qsgd_block_length %d qsgd_block_norm %s", bits, length, k < 3 ? "max" : "l2"));
    PetscCall(Measure(c, X, X, draws, &found));
    for (PetscInt e = 0; e < m * n; e++) {
      const PetscInt begin = e / length * length;
      double         norm  = 0, level, rest, bound;

      for (PetscInt i = begin; i < PetscMin(begin + length, m * n); i++) norm = k < 3 ? fmax(norm, fabs(GetAt(X, i))) : norm + PetscSqr(GetAt(X, i));
      level = (k < 3 ? norm : sqrt(norm)) / ((1 << (bits - 1)) - 1);
      rest  = norm > 0 ? fabs(GetAt(X, e)) / level : 0;
      rest -= floor(rest);
      bound = 6 * sqrt(rest * (1 - rest) / (double)draws) + 3e-5;
      TestMost("quantized", fabs(found.mean[e]), level * bound);
      TestNear("quantized", found.square[e], level * level * rest * (1 - rest), level * level * bound);
    }
  }
  PetscCall(Free(1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Roundings of P and Q that are independent of each other and of the part that is left out: E ||A - C||^2 =
   ||A||^2 - ||P Q^T||^2 + sum_k (E ||p_k||^2 E ||q_k||^2 - ||p_k||^2 ||q_k||^2), at most ||A||^2 - 47/64
   ||P^T A||^2. The mean of many steps is within five of its standard deviations
*/
static PetscErrorCode CheckFactors(PetscInt m, PetscInt n)
{
  const PetscInt draws = 400, rank = 3, mark = Test.count;
  const size_t   count = (size_t)(rank * (m + n));
  MuonCompressor c;
  Matrix         A, Y;
  Message        sent;
  PetscReal      factors[3 * 64];
  double         expected, all, mean = 0, squares = 0, deviation;

  PetscFunctionBegin;
  PetscCall(New(m, n, &A, &Y));
  PetscCall(NewMessage(&sent));
  Random(A, 1);
  all = Squares(A, NULL);
  PetscCall(Make(&c, "powersgd rank %d values native", (int)rank));
  PetscCall(Send(c, A, NULL, sent));
  TestCheck(count <= 3 * 64 && sent->bytes == TestMessageBytes((unsigned long long)rank, count * sizeof(PetscReal)), "%zu bytes", sent->bytes);
  PetscCall(Decode(c, sent, PETSC_FALSE, 1, Y));
  memcpy(factors, sent->buf + sent->bytes - count * sizeof(PetscReal), count * sizeof(PetscReal));
  expected = all - Squares(Y, NULL);
  for (PetscInt k = 0; k < rank; k++) {
    double p[2] = {0, 0}, q[2] = {0, 0};

    /* Rows of the wire, the columns of the matrix, come first */
    for (PetscInt j = 0; j < n; j++) p[0] += PetscSqr((double)factors[k * n + j]), p[1] += Variance((double)factors[k * n + j]);
    for (PetscInt i = 0; i < m; i++) q[0] += PetscSqr((double)factors[rank * n + k * m + i]), q[1] += Variance((double)factors[rank * n + k * m + i]);
    expected += (p[0] + p[1]) * (q[0] + q[1]) - p[0] * q[0];
  }
  TestCheck(expected <= all - 47.0 / 64 * Squares(Y, NULL), "%g is expected, of %g", expected, all);
  PetscCall(Tune(c, "values natural"));
  for (PetscInt k = 0; k < draws; k++) {
    PetscCall(Apply(c, k, A, Y));
    mean += Squares(A, Y) / (double)draws;
    squares += PetscSqr(Squares(A, Y)) / (double)draws;
  }
  deviation = sqrt((squares - mean * mean) / (double)draws);
  TestMost("factors", deviation, 0.02 * mean);
  TestNear("factors", mean, expected, 5 * deviation);
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One number goes up or down, half the time each, within six standard deviations: 3 to 2 or 4, and the magnitude 3/2 of signs to 1 or 2 */
static PetscErrorCode CheckHalves(void)
{
  static const struct {
    const char *choice;
    double      x[6], down[6]; /* by rows */
  } rows[]             = {{"natural", {3, 0, 4, 0, 0, 2}, {2, 0, 4, 0, 0, 2}}, {"sign values natural", {3, 0, 4, 0, 0, 2}, {1, 1, 1, 1, 1, 1}}};
  const PetscInt draws = 2000, mark = Test.count;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    MuonCompressor c;
    Matrix         X, Y;
    PetscInt       up = 0;

    /* The first has no layer: it draws all the same */
    if (k == 0) PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
    if (k == 0) PetscCall(TestKeep(NULL, c, NULL));
    if (k == 0) PetscCall(Tune(c, rows[k].choice));
    else PetscCall(Make(&c, rows[k].choice));
    PetscCall(New(3, 2, &X, &Y));
    SetRows(X, rows[k].x);
    for (PetscInt draw = 0; draw < draws; draw++) {
      PetscCall(Apply(c, draw, X, Y));
      up += Get(Y, 0, 0) == 2 * rows[k].down[0];
      for (PetscInt e = 0; e < 6; e++) {
        const PetscBool moves = e == 0 || k == 1 ? PETSC_TRUE : PETSC_FALSE;
        const double    y     = (moves && Get(Y, 0, 0) == 2 * rows[k].down[0] ? 2 : 1) * rows[k].down[e];

        TestCheck(Get(Y, e / 2, e % 2) == y, "%s made %g of %g", rows[k].choice, Get(Y, e / 2, e % 2), rows[k].x[e]);
      }
    }
    TestCheck(fabs((double)up - (double)draws / 2) <= 3 * sqrt((double)draws), "%s: %d of %d times up", rows[k].choice, (int)up, (int)draws);
  }
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sum of the products of the errors of natural compression over all entries and 50 steps against its standard deviation: of an
   entry with itself, or with its neighbors in the row, the block and the column
*/
static PetscErrorCode CheckNeighbors(Matrix X)
{
  static const PetscInt shifts[] = {0, 1, 4, M};
  MuonCompressor        c;
  Matrix                Y;

  PetscFunctionBegin;
  PetscCall(Make(&c, "natural"));
  PetscCall(New(M, N, &Y));
  PetscCall(SetStream(c, &streams[0]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shifts); k++) {
    double sum = 0, variance = 0;

    for (PetscInt step = 0; step < 50; step++) {
      PetscCall(Apply(c, step, X, Y));
      for (PetscInt e = 0, f = shifts[k]; f < D; e++, f++) {
        sum += (GetAt(Y, e) - GetAt(X, e)) * (GetAt(Y, f) - GetAt(X, f));
        variance += Variance(GetAt(X, e)) * Variance(GetAt(X, f));
      }
    }
    /* Equal errors have a sum of squares: some 90 of these standard deviations for 10200 products */
    if (k == 0) TestMost("the same entry", 30 * sqrt(variance), sum);
    else TestMost("another entry", fabs(sum), 6 * sqrt(variance));
  }
  PetscCall(Free(1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  DRAWS = 150,
  SIDE  = 30 /* entries of a matrix whose differences are looked at */
};

/* C(X) in one step minus C(X) in another for DRAWS pairs of steps: steps 4 k + later and 4 k + later + 2 */
static PetscErrorCode Differences(MuonCompressor c, PetscInt later, Matrix X, double differences[])
{
  Matrix Y, Z;

  PetscFunctionBegin;
  PetscCall(New(X->m, X->n, &Y, &Z));
  for (PetscInt k = 0; k < DRAWS; k++) {
    PetscCall(Apply(c, 4 * k + later, X, Y));
    PetscCall(Apply(c, 4 * k + 2 + later, X, Z));
    for (PetscInt e = 0; e < SIDE; e++) differences[k * SIDE + e] = GetAt(Y, e) - GetAt(Z, e);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Streams that differ draw independently, whatever a type makes of its random numbers. A difference of two
   steps is as likely as its negative; so is its product with one of another stream, given the other one, and
   sum s is beyond 6.6 sqrt(sum s^2) with a probability of at most 2 exp(-6.6^2 / 2) = 7e-10 (Hoeffding). With
   equal draws sum s / sqrt(sum s^2) is about the root of how many products are not 0
*/
static PetscErrorCode CheckStreams(const char choice[], Matrix X)
{
  const PetscInt mark = Test.count;
  MuonCompressor a, b;
  double        *first, *second;
  PetscInt       some = 0;
  PetscBool      natural;

  PetscFunctionBegin;
  PetscCall(Make(&a, choice));
  PetscCall(Make(&b, choice));
  /* A coin that falls on either side */
  if (Is(a, "dropout")) PetscCall(Tune(a, "ratio 0.4"));
  if (Is(b, "dropout")) PetscCall(Tune(b, "ratio 0.4"));
  PetscCall(PetscMalloc2(DRAWS * SIDE, &first, DRAWS * SIDE, &second));
  PetscCall(SetStream(a, &streams[0]));
  PetscCall(Differences(a, 0, X, first));
  for (PetscInt k = 0; k < DRAWS; k++) {
    PetscInt e = 0;

    while (e < SIDE && first[k * SIDE + e] == 0) e++;
    some += e < SIDE;
  }
  natural = a->values == MUON_COMPRESSOR_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE;
  TestCheck(some == 0 || some >= 50, "%s: only %d of %d steps differ", choice, (int)some, DRAWS);
  TestCheck(!Is(a, "natural dropout randk") || some > 0, "%s draws nothing", choice);
  TestCheck(!Is(a, "identity nearest truncated bf16") || some == 0, "%s draws", choice);
  TestCheck(!Is(a, "damping topk rankk") || (some > 0) == natural, "%s: drawn or not", choice);
  for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(streams) && some > 0; j++) {
    const PetscBool equal = j == 0 ? PETSC_TRUE : PETSC_FALSE;
    double          sum = 0, squares = 0;

    PetscCall(SetStream(b, &streams[j]));
    PetscCall(Differences(b, streams[j].later, X, second));
    for (PetscInt k = 0; k < DRAWS; k++) {
      double product = 0;

      for (PetscInt e = 0; e < SIDE; e++) product += first[k * SIDE + e] * second[k * SIDE + e];
      sum += product;
      squares += product * product;
    }
    TestCheck((memcmp(first, second, DRAWS * SIDE * sizeof(*first)) == 0) == equal, "%s: draws of %s", choice, streams[j].what);
    TestCheck(equal || fabs(sum) <= 6.6 * sqrt(squares), "%s: draws of %s depend on each other (%g)", choice, streams[j].what, sum / sqrt(squares));
  }
  PetscCall(PetscFree2(first, second));
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of the mean of four workers' messages has a quarter of the variance of one */
static PetscErrorCode CheckAverage(Matrix X)
{
  const PetscInt workers = 4, draws = 400;
  MuonCompressor c;
  Matrix         Y, mean;
  double         total = 0, totals = 0, expected = 0, deviation;

  PetscFunctionBegin;
  PetscCall(Make(&c, "natural"));
  PetscCall(New(M, N, &Y, &mean));
  for (PetscInt e = 0; e < D; e++) expected += Variance(GetAt(X, e)) / (double)workers;
  for (PetscInt k = 0; k < draws; k++) {
    Axpby(0, Y, 0, mean);
    for (PetscInt j = 0; j < workers; j++) {
      PetscCall(MuonCompressorSetStream(c, 1, "w", j, 0));
      PetscCall(Apply(c, k, X, Y));
      Axpby(1.0 / (double)workers, Y, 1, mean);
    }
    total += Squares(mean, X) / (double)draws;
    totals += PetscSqr(Squares(mean, X)) / (double)draws;
  }
  deviation = sqrt((totals - total * total) / (double)draws);
  TestNear("workers", total, expected, 6 * deviation);
  PetscCall(Free(1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is missing after each step falls by 1 - K/d in the mean, because every step draws another set */
static PetscErrorCode CheckDecay(Matrix X)
{
  const PetscInt runs = 200, steps = 6;
  MuonCompressor c;
  Matrix         G;
  Message        sent;
  double         sum[6] = {0, 0, 0, 0, 0, 0}, squares[6] = {0, 0, 0, 0, 0, 0}, expected = 1;

  PetscFunctionBegin;
  PetscCall(Make(&c, "randk ratio 0.25 values native"));
  PetscCall(New(M, N, &G));
  PetscCall(NewMessage(&sent));
  for (PetscInt run = 0; run < runs; run++) {
    PetscCall(MuonCompressorSetStream(c, run, "w", 0, 0));
    Axpby(0, X, 0, G);
    for (PetscInt k = 0; k < steps; k++) {
      double left;

      PetscCall(MuonCompressorSetStep(c, k));
      PetscCall(Send(c, X, G, sent));
      PetscCall(Decode(c, sent, PETSC_TRUE, 1, G));
      left = Squares(X, G) / Squares(X, NULL);
      sum[k] += left / (double)runs;
      squares[k] += left * left / (double)runs;
    }
  }
  for (PetscInt k = 0; k < steps; k++) {
    expected *= 1 - (double)(D / 4) / D;
    TestNear("missing", sum[k], expected, 6 * sqrt((squares[k] - sum[k] * sum[k]) / (double)runs));
  }
  PetscCall(Free(1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The sets of two streams: as many common entries as chance gives, which are hypergeometric, all of them where the streams are the
   same. Seeds stand behind the header of a message
*/
static PetscErrorCode CheckSets(Matrix X)
{
  const PetscInt     draws = 100, kept = D / 4;
  const double       mean = (double)(kept * kept) / D, variance = mean * (1 - (double)kept / D) * (double)(D - kept) / (D - 1);
  MuonCompressor     a, b;
  Matrix             Y, Z;
  Message            first, second;
  unsigned long long count, payload;
  size_t             head;

  PetscFunctionBegin;
  PetscCall(Make(&a, "randk ratio 0.25 values natural"));
  PetscCall(Make(&b, "randk ratio 0.25 values natural"));
  PetscCall(New(M, N, &Y, &Z));
  PetscCall(NewMessage(&first, &second));
  PetscCall(SetStream(a, &streams[0]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(streams); k++) {
    double common = 0;

    PetscCall(SetStream(b, &streams[k]));
    for (PetscInt s = 0; s < draws; s++) {
      PetscCall(Apply(a, s, X, Y));
      PetscCall(Apply(b, s + streams[k].later, X, Z));
      for (PetscInt e = 0; e < D; e++) common += GetAt(Y, e) != 0 && GetAt(Z, e) != 0;
      PetscCall(Send(a, X, NULL, first));
      PetscCall(Send(b, X, NULL, second));
      head = TestHeader(first->buf, &count, &payload);
      TestCheck((memcmp(first->buf + head, second->buf + head, 8) == 0) == (k == 0), "%s: seeds of step %d", streams[k].what, (int)s);
    }
    TestNear(streams[k].what, common, k == 0 ? draws * kept : draws * mean, k == 0 ? 0 : 6 * sqrt(draws * variance));
  }
  PetscCall(Free(1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A kept entry is rounded as the same entry of the dense message is */
static PetscErrorCode CheckSelected(Matrix X, const char choice[])
{
  MuonCompressor c, all;
  Matrix         dense, sparse;
  PetscInt       kept = 0;

  PetscFunctionBegin;
  PetscCall(Make(&all, "natural"));
  PetscCall(Make(&c, choice));
  PetscCall(New(M, N, &dense, &sparse));
  PetscCall(Apply(all, 9, X, dense));
  PetscCall(Apply(c, 9, X, sparse));
  for (PetscInt e = 0; e < D; e++) {
    if (GetAt(sparse, e) != 0) TestNear(choice, GetAt(sparse, e), GetAt(dense, e), 0);
    kept += GetAt(sparse, e) != 0;
  }
  TestCheck(!Is(c, "topk") || kept == D / 5, "%d entries kept", (int)kept);
  PetscCall(Free(1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The pieces of a layer toss its coin, but draw other roundings; another layer has a coin of its own, which
   is as good as sure to fall otherwise once in 64
*/
static PetscErrorCode CheckCoin(Matrix X)
{
  static const char *const names[] = {"w", "w@0", "w@5", "v@0"};
  MuonCompressor           c[4];
  Matrix                   Y[4];
  PetscInt                 other = 0, sent = 0, rounded = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(New(M, N, &Y[k]));
    PetscCall(Make(&c[k], "dropout ratio 0.5 values natural"));
    PetscCall(MuonCompressorSetStream(c[k], 17, names[k], 1, 0));
  }
  for (PetscInt step = 0; step < 64; step++) {
    PetscBool none[4];

    for (PetscInt k = 0; k < 4; k++) {
      PetscCall(Apply(c[k], step, X, Y[k]));
      none[k] = GetAt(Y[k], 0) == 0 ? PETSC_TRUE : PETSC_FALSE;
    }
    TestCheck(none[1] == none[0] && none[2] == none[0], "Step %d: pieces are sent otherwise than the layer", (int)step);
    sent += !none[0];
    rounded += !Same(Y[1], Y[2]);
    other += none[3] != none[0];
  }
  TestCheck(sent > 8 && sent < 56, "Of 64 coins %d sent", (int)sent);
  TestCheck(rounded == sent && other > 0, "%d with other roundings, %d other ones of another layer", (int)rounded, (int)other);
  PetscCall(Free(1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Matrix    X, Y;
  PetscBool more;
  Choice    choice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(6));
  PetscCall(New(M, N, &X));
  Random(X, 1);
  Set(X, 3, 4, 0);
  Set(X, 3, 5, -2);
  PetscCall(CheckUnbiased(X));
  PetscCall(CheckQuantized());
  PetscCall(CheckFactors(20, 30));
  PetscCall(CheckFactors(40, 9));
  PetscCall(CheckHalves());
  PetscCall(CheckNeighbors(X));
  /* The same for all choices, in whatever order PETSc lists them. The largest entry is half way between two powers of two: its rounding is a fair coin */
  PetscCall(New(5, 6, &Y));
  Random(Y, 1);
  Set(Y, 0, 0, 3);
  for (PetscInt k = 0;; k++) {
    PetscCall(GetChoice(k, choice, &more));
    if (!more) break;
    PetscCall(CheckStreams(choice, Y));
  }
  PetscCall(CheckCoin(X));
  PetscCall(CheckAverage(X));
  PetscCall(CheckSelected(X, "topk ratio 0.2 values natural"));
  PetscCall(CheckSelected(X, "randk ratio 0.2 values natural"));
  Set(X, 3, 4, 0.5);
  PetscCall(CheckDecay(X));
  PetscCall(CheckSets(X));
  PetscCall(Free(0));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
