static char help[] = "Random rounding: no bias, the variance of the theory, independent between steps, senders, directions, layers and entries, and the same for the same stream.\n";

#include "compressor_common.h"
#include "wire_header.h"
#include "parameters.h"

/*
   Everything is drawn with fixed seeds; bounds are six standard deviations of the theory, which a right
   program exceeds with a probability of 2e-9
*/
enum {
  M = 12,
  N = 17,
  D = M * N
};

static PetscErrorCode Create(const char type[], PetscReal ratio, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, type));
  PetscCall(MuonCompressorSetRatio(*c, ratio));
  PetscCall(MuonObjectSetParameter((PetscObject)(*c), "compressor_values", "natural"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of C(X) in the order of memory */
static PetscErrorCode Draw(MuonCompressor c, PetscInt step, Mat X, Mat Y, PetscScalar y[])
{
  PetscScalar *entries;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetStep(c, step));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatGet(Y, PETSC_FALSE, &entries));
  PetscCall(PetscArraycpy(y, entries, D));
  PetscCall(PetscFree(entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 2^a <= |x| < 2^(a+1) */
static PetscReal Power(PetscScalar x)
{
  PetscReal power = 1;

  if (x == 0.0) return 0;
  while (power > PetscAbsScalar(x)) power /= 2;
  while (2 * power <= PetscAbsScalar(x)) power *= 2;
  return power;
}

static PetscReal Variance(PetscScalar x)
{
  return (PetscAbsScalar(x) - Power(x)) * (2 * Power(x) - PetscAbsScalar(x));
}

/*
   mean[e] is where the mean of entry e must come to, which is not X for what a compressor leaves out. With
   exact == PETSC_TRUE the variance of an entry is that of natural compression of mean[e], else it is
   measured. Returns the mean of ||C(X) - X||^2 and its standard deviation
*/
static PetscErrorCode CheckMean(MuonCompressor c, const char what[], Mat X, const PetscScalar mean[], PetscBool exact, PetscInt draws, double *error, double *deviation)
{
  Mat          Y;
  PetscScalar *x, y[D];
  double       sum[D], square[D], total = 0, totals = 0;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 0, &Y));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  for (PetscInt e = 0; e < D; e++) sum[e] = square[e] = 0;
  for (PetscInt k = 0; k < draws; k++) {
    double off = 0;

    PetscCall(Draw(c, k, X, Y, y));
    for (PetscInt e = 0; e < D; e++) {
      sum[e] += (double)(y[e] - mean[e]);
      square[e] += PetscSqr((double)(y[e] - mean[e]));
      off += PetscSqr((double)(y[e] - x[e]));
    }
    total += off;
    totals += off * off;
  }
  for (PetscInt e = 0; e < D; e++) {
    const double variance = exact ? (double)Variance(mean[e]) : square[e] / draws;

    /*
       The rounding of X's decomposition, or of x to binary32, is far below the standard deviation unless that
       is 0
    */
    TestCheck(PetscAbs(sum[e] / draws) <= 6 * PetscSqrtReal((PetscReal)(variance / draws)) + 1e-6 * PetscAbs((double)mean[e]), "%s: the mean of entry %" PetscInt_FMT " is off by %g of %g", what, e, sum[e] / draws, (double)mean[e]);
    /* The square of an error lies between 0 and the square of the power */
    if (exact) TestCheck(PetscAbs(square[e] / draws - variance) <= 6 * PetscSqr((double)Power(mean[e])) / PetscSqrtReal((PetscReal)draws), "%s: the variance of entry %" PetscInt_FMT " is %g, expected %g", what, e, square[e] / draws, variance);
  }
  *error     = total / draws;
  *deviation = (double)PetscSqrtReal((PetscReal)PetscMax(totals / draws - *error * *error, 0.0) / draws);
  PetscCall(PetscFree(x));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* E ||C(X) - X||^2 <= (1 - alpha) ||X||^2, and == expected where that is known */
static PetscErrorCode CheckError(MuonCompressor c, const char what[], Mat X, double error, double deviation, double expected)
{
  PetscReal alpha, squares = 0;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetAlpha(c, M, N, &alpha));
  PetscCall(TestMatSquares(X, &squares));
  TestCheck(error <= (1 - (double)alpha) * (double)squares + 6 * deviation, "%s: the error is %g of %g, alpha is %g", what, error, (double)squares, (double)alpha);
  if (expected >= 0) TestCheck(PetscAbs(error - expected) <= 6 * deviation + 1e-6 * expected, "%s: the error is %g, expected %g", what, error, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckUnbiased(Mat X)
{
  MuonCompressor c;
  Mat            Y;
  PetscScalar   *x, kept[D], flat[D];
  PetscReal      ratio = 0, squares = 0;
  double         error, deviation, expected = 0;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 0, &Y));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  PetscCall(Create(MUONCOMPRESSORNATURAL, 1.0, &c));
  for (PetscInt e = 0; e < D; e++) expected += (double)Variance(x[e]);
  PetscCall(CheckMean(c, "natural", X, x, PETSC_TRUE, 2000, &error, &deviation));
  PetscCall(CheckError(c, "natural", X, error, deviation, expected));

  /* What Top-K keeps is known from the same selection without rounding */
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(c, 0.3));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "native"));
  PetscCall(Draw(c, 0, X, Y, kept));
  expected = 0;
  for (PetscInt e = 0; e < D; e++) expected += kept[e] == 0.0 ? PetscSqr((double)x[e]) : (double)Variance(kept[e]);
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "natural"));
  PetscCall(CheckMean(c, "topk", X, kept, PETSC_TRUE, 2000, &error, &deviation));
  PetscCall(CheckError(c, "topk", X, error, deviation, expected));

  /*
     A random subset keeps each entry with the same probability, and the squares of the others add up to their
     part in the mean. The values add the variance of their rounding
  */
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORRANDK));
  PetscCall(GetReal((PetscObject)c, "compressor_ratio", &ratio));
  PetscCall(TestMatSquares(X, &squares));
  for (PetscInt e = 0; e < D; e++) kept[e] = x[e] * (PetscInt)(ratio * D) / D;
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values += MUON_COMPRESSOR_VALUES_NATURAL) {
    expected = (double)squares;
    for (PetscInt e = 0; e < D; e++) expected += ((values == MUON_COMPRESSOR_VALUES_NATURAL ? (double)Variance(x[e]) : 0) - PetscSqr((double)x[e])) * (PetscInt)(ratio * D) / D;
    PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[(MuonCompressorValues)values]));
    PetscCall(CheckMean(c, "randk", X, kept, PETSC_FALSE, 2000, &error, &deviation));
    PetscCall(CheckError(c, "randk", X, error, deviation, expected));
  }

  /* Independent roundings of both factors: the mean is the product of the factors */
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORRANKK));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "native"));
  PetscCall(Draw(c, 0, X, Y, kept));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "natural"));
  PetscCall(CheckMean(c, "rankk", X, kept, PETSC_FALSE, 2000, &error, &deviation));
  PetscCall(CheckError(c, "rankk", X, error, deviation, -1));

  /* The worst case of natural compression, 4/3 of a power of two everywhere: the bound 1/8 is reached */
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORNATURAL));
  for (PetscInt e = 0; e < D; e++) {
    flat[e] = (PetscScalar)4 / 3;
    PetscCall(TestMatSetEntry(X, e, flat[e]));
  }
  PetscCall(CheckMean(c, "flat", X, flat, PETSC_TRUE, 2000, &error, &deviation));
  PetscCall(CheckError(c, "flat", X, error, deviation, D * 16.0 / 9.0 / 8.0));
  for (PetscInt e = 0; e < D; e++) PetscCall(TestMatSetEntry(X, e, x[e]));
  PetscCall(PetscFree(x));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sum of the products of the errors of two draws over all entries and steps against its standard deviation;
   shift compares an entry with its neighbor
*/
static PetscErrorCode Correlation(MuonCompressor a, PetscInt later, MuonCompressor b, PetscInt shift, Mat X, PetscReal *correlation)
{
  const PetscInt draws = 50;
  Mat            Y;
  PetscScalar   *x, y[D], z[D];
  double         sum = 0, variance = 0;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 0, &Y));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  for (PetscInt k = 0; k < draws; k++) {
    PetscCall(Draw(a, k, X, Y, y));
    PetscCall(Draw(b, k + later, X, Y, z));
    for (PetscInt e = 0; e + shift < D; e++) {
      sum += (double)((y[e] - x[e]) * (z[e + shift] - x[e + shift]));
      variance += (double)(Variance(x[e]) * Variance(x[e + shift]));
    }
  }
  *correlation = (PetscReal)sum / PetscSqrtReal((PetscReal)variance);
  PetscCall(PetscFree(x));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckIndependence(Mat X)
{
  const struct {
    const char *what, *layer;
    PetscInt64  seed;
    PetscInt    sender, direction, later, shift;
    PetscBool   same;
  } cases[] = {
    {"the same stream", "h0.attn.q", 5, 2, 0, 0, 0, PETSC_TRUE}, {"the next entry", "h0.attn.q", 5, 2, 0, 0, 1, PETSC_FALSE}, {"the next block", "h0.attn.q", 5, 2, 0, 0, 4, PETSC_FALSE}, {"the next column", "h0.attn.q", 5, 2, 0, 0, M, PETSC_FALSE}};
  MuonCompressor a, b;
  PetscReal      correlation;

  PetscFunctionBegin;
  PetscCall(Create(MUONCOMPRESSORNATURAL, 1.0, &a));
  PetscCall(Create(MUONCOMPRESSORNATURAL, 1.0, &b));
  PetscCall(MuonCompressorSetStream(a, 5, "h0.attn.q", 2, 0));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscCall(MuonCompressorSetStream(b, cases[k].seed, cases[k].layer, cases[k].sender, cases[k].direction));
    PetscCall(Correlation(a, cases[k].later, b, cases[k].shift, X, &correlation));
    /* Equal errors have a sum of squares: some 90 of these standard deviations for 10200 products */
    if (cases[k].same) TestCheck(correlation > 30, "%s: draws differ (%g)", cases[k].what, (double)correlation);
    else TestCheck(PetscAbsReal(correlation) <= 6, "%s: draws depend on each other (%g)", cases[k].what, (double)correlation);
  }
  PetscCall(MuonCompressorDestroy(&a));
  PetscCall(MuonCompressorDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  DRAWS = 150
};

/* C(X) in one step minus C(X) in another for DRAWS pairs of steps: steps 4 k + later and 4 k + later + 2 */
static PetscErrorCode Differences(MuonCompressor c, PetscInt later, PetscInt m, PetscInt n, Mat X, PetscScalar differences[])
{
  Mat          Y;
  PetscScalar *y[2];

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 0, &Y));
  for (PetscInt k = 0; k < DRAWS; k++) {
    for (PetscInt s = 0; s < 2; s++) {
      PetscCall(MuonCompressorSetStep(c, 4 * k + 2 * s + later));
      PetscCall(MuonCompressorApply(c, X, Y));
      PetscCall(TestMatGet(Y, PETSC_FALSE, &y[s]));
    }
    for (PetscInt e = 0; e < m * n; e++) differences[k * m * n + e] = y[0][e] - y[1][e];
    PetscCall(PetscFree(y[0]));
    PetscCall(PetscFree(y[1]));
  }
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Streams that differ draw independently, whatever a type makes of its random numbers. A difference of two
   steps is as likely as its negative; so is its product with one of another stream, given the other one, and
   sum s is beyond 6.6 sqrt(sum s^2) with a probability of at most 2 exp(-6.6^2 / 2) = 7e-10 (Hoeffding). With
   equal draws sum s / sqrt(sum s^2) is about the root of how many products are not 0
*/
static PetscErrorCode CheckStreams(const TestChoice *choice, PetscBool *random)
{
  const struct {
    const char *what, *layer;
    PetscInt64  seed;
    PetscInt    sender, direction, later;
  } cases[]            = {{"the same stream", "h0.attn.q", 5, 2, 0, 0}, {"another sender", "h0.attn.q", 5, 3, 0, 0},  {"the other direction", "h0.attn.q", 5, 2, 1, 0},
                          {"another layer", "h0.attn.k", 5, 2, 0, 0},   {"another seed", "h0.attn.q", 6, 2, 0, 0},    {"a seed's upper half", "h0.attn.q", 5 + ((PetscInt64)1 << 32), 2, 0, 0},
                          {"the next step", "h0.attn.q", 5, 2, 0, 1},   {"a step far away", "h0.attn.q", 5, 2, 0, 77}};
  const PetscInt     m = 5, n = 6;
  MuonCompressor     a, b;
  Mat                X;
  PetscScalar       *first, *second;
  PetscInt           some  = 0;
  unsigned long long state = 21;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatNormal(X, 1.0, &state));
  PetscCall(TestCreate(choice, &a));
  PetscCall(TestCreate(choice, &b));
  PetscCall(PetscMalloc2(DRAWS * m * n, &first, DRAWS * m * n, &second));
  PetscCall(MuonCompressorSetStream(a, 5, "h0.attn.q", 2, 0));
  PetscCall(Differences(a, 0, m, n, X, first));
  for (PetscInt k = 0; k < DRAWS; k++) {
    PetscBool zero = PETSC_TRUE;

    for (PetscInt e = 0; e < m * n; e++) {
      if (first[k * m * n + e] != 0.0) zero = PETSC_FALSE;
    }
    some += !zero;
  }
  *random = some > 0 ? PETSC_TRUE : PETSC_FALSE;
  TestCheck(some == 0 || some >= 50, "%s: only %" PetscInt_FMT " of %d steps differ", choice->type, some, DRAWS);
  for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(cases) && some > 0; j++) {
    double    sum = 0, squares = 0;
    PetscBool same;

    PetscCall(MuonCompressorSetStream(b, cases[j].seed, cases[j].layer, cases[j].sender, cases[j].direction));
    PetscCall(Differences(b, cases[j].later, m, n, X, second));
    PetscCall(PetscMemcmp(first, second, DRAWS * m * n * sizeof(PetscScalar), &same));
    for (PetscInt k = 0; k < DRAWS; k++) {
      double product = 0;

      for (PetscInt e = 0; e < m * n; e++) product += (double)first[k * m * n + e] * (double)second[k * m * n + e];
      sum += product;
      squares += product * product;
    }
    if (j == 0) TestCheck(same, "%s %s: %s draws otherwise", choice->type, MuonCompressorValuesTypes[choice->values], cases[j].what);
    else TestCheck(!same && PetscAbs(sum) <= 6.6 * (double)PetscSqrtReal((PetscReal)squares), "%s %s: draws of %s depend on each other (%g)", choice->type, MuonCompressorValuesTypes[choice->values], cases[j].what, sum / sqrt(squares));
  }
  PetscCall(PetscFree2(first, second));
  PetscCall(TestMatDestroy(&X));
  PetscCall(MuonCompressorDestroy(&a));
  PetscCall(MuonCompressorDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every type that is registered, and dropout with a coin that falls on either side */
static PetscErrorCode CheckAllStreams(void)
{
  TestChoice choices[TEST_MOST_CHOICES];
  PetscInt   nchoices = 0;

  PetscFunctionBegin;
  PetscCall(TestGetChoices(&nchoices, choices));
  for (PetscInt k = 0; k < nchoices; k++) {
    const char *const always[] = {MUONCOMPRESSORNATURAL, MUONCOMPRESSORDROPOUT, MUONCOMPRESSORRANDK};
    const char *const never[]  = {MUONCOMPRESSORIDENTITY, MUONCOMPRESSORNEAREST, MUONCOMPRESSORTRUNCATED, MUONCOMPRESSORBF16};
    const char *const values[] = {MUONCOMPRESSORDAMPING, MUONCOMPRESSORTOPK, MUONCOMPRESSORRANKK};
    PetscBool         random   = PETSC_FALSE, is;

    PetscCall(TestIs(&choices[k], MUONCOMPRESSORDROPOUT, &is));
    if (is) choices[k].ratio = 0.4;
    PetscCall(CheckStreams(&choices[k], &random));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(always); t++) {
      PetscCall(TestIs(&choices[k], always[t], &is));
      TestCheck(!is || random, "%s draws nothing", choices[k].type);
    }
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(never); t++) {
      PetscCall(TestIs(&choices[k], never[t], &is));
      TestCheck(!is || !random, "%s draws", choices[k].type);
    }
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(values); t++) {
      PetscCall(TestIs(&choices[k], values[t], &is));
      TestCheck(!is || random == (choices[k].values == MUON_COMPRESSOR_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE), "%s with values %s: drawn or not", choices[k].type, MuonCompressorValuesTypes[choices[k].values]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of the mean of four workers' messages has a quarter of the variance of one */
static PetscErrorCode CheckAverage(Mat X)
{
  const PetscInt workers = 4, draws = 400;
  MuonCompressor c;
  Mat            Y;
  PetscScalar   *x, y[D];
  double         total = 0, totals = 0, expected = 0, deviation;

  PetscFunctionBegin;
  PetscCall(Create(MUONCOMPRESSORNATURAL, 1.0, &c));
  PetscCall(TestMatCreate(M, N, 0, &Y));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  for (PetscInt e = 0; e < D; e++) expected += (double)Variance(x[e]) / workers;
  for (PetscInt k = 0; k < draws; k++) {
    double mean[D], off = 0;

    for (PetscInt e = 0; e < D; e++) mean[e] = 0;
    for (PetscInt j = 0; j < workers; j++) {
      PetscCall(MuonCompressorSetStream(c, 1, "w", j, 0));
      PetscCall(Draw(c, k, X, Y, y));
      for (PetscInt e = 0; e < D; e++) mean[e] += (double)y[e] / workers;
    }
    for (PetscInt e = 0; e < D; e++) off += PetscSqr(mean[e] - (double)x[e]);
    total += off;
    totals += off * off;
  }
  deviation = (double)PetscSqrtReal((PetscReal)((totals / draws - PetscSqr(total / draws)) / draws));
  TestCheck(PetscAbs(total / draws - expected) <= 6 * deviation, "The mean of %" PetscInt_FMT " workers is off by %g, expected %g, deviation %g", workers, total / draws, expected, deviation);
  PetscCall(PetscFree(x));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is missing after each step falls by 1 - K/d in the mean, because every step draws another set */
static PetscErrorCode CheckDecay(Mat X)
{
  const PetscInt runs = 200, steps = 6, kept = D / 4;
  MuonCompressor c;
  Mat            G, E;
  unsigned char *buf;
  size_t         bytes;
  PetscReal      all = 0, left = 0;
  double         sum[6] = {0, 0, 0, 0, 0, 0}, squares[6] = {0, 0, 0, 0, 0, 0}, expected;

  PetscFunctionBegin;
  PetscCall(Create(MUONCOMPRESSORRANDK, 0.25, &c));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "native"));
  PetscCall(TestMatSquares(X, &all));
  for (PetscInt run = 0; run < runs; run++) {
    PetscCall(MuonCompressorSetStream(c, run, "w", 0, 0));
    PetscCall(TestMatCreate(M, N, 0, &G));
    PetscCall(TestMatCreate(M, N, 0, &E));
    for (PetscInt k = 0; k < steps; k++) {
      PetscCall(MuonCompressorSetStep(c, k));
      PetscCall(TestEncode(c, X, G, &buf, &bytes));
      PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 1.0, bytes, buf, G));
      PetscCall(PetscFree(buf));
      PetscCall(TestMatAxpby(1.0, X, 0.0, E));
      PetscCall(TestMatAxpby(-1.0, G, 1.0, E));
      PetscCall(TestMatSquares(E, &left));
      sum[k] += (double)(left / all) / runs;
      squares[k] += PetscSqr((double)(left / all)) / runs;
    }
    PetscCall(TestMatDestroy(&G));
    PetscCall(TestMatDestroy(&E));
  }
  expected = 1;
  for (PetscInt k = 0; k < steps; k++) {
    expected *= 1 - (double)kept / D;
    TestCheck(PetscAbs(sum[k] - expected) <= 6 * (double)PetscSqrtReal((PetscReal)((squares[k] - PetscSqr(sum[k])) / runs)), "After %" PetscInt_FMT " steps %g are missing, expected %g", k + 1, sum[k], expected);
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The sets of two streams: as many common entries as chance gives, all of them where the streams are the
   same. Seeds stand behind the header of a message
*/
static PetscErrorCode CheckSets(Mat X)
{
  const struct {
    const char *what, *layer;
    PetscInt64  seed;
    PetscInt    sender, direction, later;
    PetscBool   same;
  } cases[]            = {{"the same stream", "h0.attn.q", 5, 2, 0, 0, PETSC_TRUE}, {"another sender", "h0.attn.q", 5, 3, 0, 0, PETSC_FALSE}, {"the other direction", "h0.attn.q", 5, 2, 1, 0, PETSC_FALSE},
                          {"another layer", "h0.attn.k", 5, 2, 0, 0, PETSC_FALSE},  {"another seed", "h0.attn.q", 6, 2, 0, 0, PETSC_FALSE},   {"the next step", "h0.attn.q", 5, 2, 0, 1, PETSC_FALSE}};
  const PetscInt draws = 100, kept = D / 4;
  /* Common entries of two sets are hypergeometric */
  const double       mean = (double)kept * kept / D, variance = mean * (1 - (double)kept / D) * (D - kept) / (D - 1);
  MuonCompressor     a, b;
  Mat                Y;
  PetscScalar        y[D], z[D];
  unsigned char     *first, *second;
  size_t             bytes;
  PetscBool          same;
  unsigned long long count, payload;

  PetscFunctionBegin;
  PetscCall(Create(MUONCOMPRESSORRANDK, 0.25, &a));
  PetscCall(Create(MUONCOMPRESSORRANDK, 0.25, &b));
  PetscCall(MuonCompressorSetStream(a, 5, "h0.attn.q", 2, 0));
  PetscCall(TestMatCreate(M, N, 0, &Y));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    double common = 0;

    PetscCall(MuonCompressorSetStream(b, cases[k].seed, cases[k].layer, cases[k].sender, cases[k].direction));
    for (PetscInt s = 0; s < draws; s++) {
      PetscCall(Draw(a, s, X, Y, y));
      PetscCall(Draw(b, s + cases[k].later, X, Y, z));
      for (PetscInt e = 0; e < D; e++) common += y[e] != 0.0 && z[e] != 0.0;
      PetscCall(TestEncode(a, X, NULL, &first, &bytes));
      PetscCall(TestEncode(b, X, NULL, &second, &bytes));
      PetscCall(PetscMemcmp(first + TestHeader(first, &count, &payload), second + TestHeader(second, &count, &payload), 8, &same));
      TestCheck(same == cases[k].same, "%s: seeds of step %" PetscInt_FMT, cases[k].what, s);
      PetscCall(PetscFree(first));
      PetscCall(PetscFree(second));
    }
    if (cases[k].same) TestCheck(common == (double)draws * kept, "%s: sets differ", cases[k].what);
    else TestCheck(PetscAbs(common - draws * mean) <= 6 * (double)PetscSqrtReal((PetscReal)(draws * variance)), "%s: %g common entries, expected %g", cases[k].what, common, draws * mean);
  }
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&a));
  PetscCall(MuonCompressorDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A kept entry is rounded as the same entry of the dense message is */
static PetscErrorCode CheckSelected(Mat X)
{
  MuonCompressor c;
  Mat            Y;
  PetscScalar    dense[D], sparse[D];
  PetscInt       kept = 0;

  PetscFunctionBegin;
  PetscCall(Create(MUONCOMPRESSORNATURAL, 0.2, &c));
  PetscCall(TestMatCreate(M, N, 0, &Y));
  PetscCall(Draw(c, 9, X, Y, dense));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  PetscCall(Draw(c, 9, X, Y, sparse));
  for (PetscInt e = 0; e < D; e++) {
    TestCheck(sparse[e] == 0.0 || sparse[e] == dense[e], "Entry %" PetscInt_FMT " is %g, and %g among all", e, (double)sparse[e], (double)dense[e]);
    if (sparse[e] != 0.0) kept++;
  }
  TestCheck(kept == D / 5, "%" PetscInt_FMT " entries kept", kept);
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORRANDK));
  PetscCall(Draw(c, 9, X, Y, sparse));
  for (PetscInt e = 0; e < D; e++) TestCheck(sparse[e] == 0.0 || sparse[e] == dense[e], "Entry %" PetscInt_FMT " of a random set is %g, and %g among all", e, (double)sparse[e], (double)dense[e]);
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The pieces of a layer toss its coin, but draw other roundings; another layer has a coin of its own, which
   is as good as sure to fall otherwise once in 64
*/
static PetscErrorCode CheckCoin(Mat X)
{
  const char *const names[] = {"w", "w@0", "w@5", "v@0"};
  MuonCompressor    c[4];
  Mat               Y;
  PetscScalar       y[4][D];
  PetscInt          other = 0, sent = 0, rounded = 0;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 0, &Y));
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(Create(MUONCOMPRESSORDROPOUT, (PetscReal)0.5, &c[k]));
    PetscCall(MuonCompressorSetStream(c[k], 17, names[k], 1, 0));
  }
  for (PetscInt step = 0; step < 64; step++) {
    PetscBool same = PETSC_TRUE;

    for (PetscInt k = 0; k < 4; k++) PetscCall(Draw(c[k], step, X, Y, y[k]));
    for (PetscInt k = 1; k < 3; k++) PetscCheck((y[k][0] == 0) == (y[0][0] == 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ": %s is sent otherwise than %s", step, names[k], names[0]);
    for (PetscInt e = 0; e < D; e++) same = y[1][e] == y[2][e] ? same : PETSC_FALSE;
    if (y[0][0] != 0) sent++;
    if (same == PETSC_FALSE) rounded++;
    if ((y[3][0] == 0) != (y[0][0] == 0)) other++;
  }
  PetscCheck(sent > 8 && sent < 56 && rounded == sent && other > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Of 64 coins %" PetscInt_FMT " sent, %" PetscInt_FMT " with other roundings, %" PetscInt_FMT " other ones of another layer", sent, rounded, other);
  for (PetscInt k = 0; k < 4; k++) PetscCall(MuonCompressorDestroy(&c[k]));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat                X;
  unsigned long long state = 6;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestMatCreate(M, N, 2, &X));
  PetscCall(TestMatNormal(X, 1.0, &state));
  PetscCall(TestMatSet(X, 3, 4, 0.0));
  PetscCall(TestMatSet(X, 3, 5, -2.0));
  PetscCall(CheckUnbiased(X));
  PetscCall(CheckIndependence(X));
  PetscCall(CheckAllStreams());
  PetscCall(CheckCoin(X));
  PetscCall(CheckAverage(X));
  PetscCall(CheckSelected(X));
  PetscCall(TestMatSet(X, 3, 4, 0.5));
  PetscCall(CheckDecay(X));
  PetscCall(CheckSets(X));
  PetscCall(TestMatDestroy(&X));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
