static char help[] = "Random rounding and random sets: no bias, independent, and the same for the same stream.\n";

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

/*
   What C(X) must be in the mean: a part of X, or of what the same type makes of X where nothing is rounded at random. Where the variance
   of an entry is that of the natural compression of its mean it is compared, too, else it is measured
*/
static PetscErrorCode CheckMeans(Matrix X)
{
  static const struct {
    const char *choice, *exact; /* NULL: X itself */
    double      part;
    PetscBool   natural;
  } rows[]             = {{"natural", NULL, 1, PETSC_TRUE},
                          {"topk ratio 0.3 values natural", "topk ratio 0.3 values native", 1, PETSC_TRUE},
                          {"rankk ratio 0.3 values natural", "rankk ratio 0.3 values native", 1, PETSC_FALSE},
                          {"sign values natural", "sign values double", 1, PETSC_TRUE},
                          {"dropout ratio 0.4 values natural", NULL, 0.4, PETSC_FALSE},
                          {"randk ratio 0.25 values native", NULL, 0.25, PETSC_FALSE}, /* 51 of 204 */
                          {"randk ratio 0.25 values natural", NULL, 0.25, PETSC_FALSE}};
  const PetscInt draws = 2000;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    const char    *what = rows[k].choice;
    MuonCompressor c, exact;
    Matrix         E, Y;
    double         mean[D] = {0}, square[D] = {0};

    PetscCall(Make(&c, what));
    PetscCall(New(M, N, &E, &Y));
    Copy(X, E);
    if (rows[k].exact != NULL) PetscCall(Make(&exact, rows[k].exact));
    if (rows[k].exact != NULL) PetscCall(Apply(exact, 0, X, E));
    Axpby(0, E, rows[k].part, E);
    for (PetscInt draw = 0; draw < draws; draw++) {
      PetscCall(Apply(c, draw, X, Y));
      for (PetscInt e = 0; e < D; e++) {
        const double off = GetAt(Y, e) - GetAt(E, e);

        mean[e] += off / (double)draws;
        square[e] += off * off / (double)draws;
      }
    }
    for (PetscInt e = 0; e < D; e++) {
      const double expected = GetAt(E, e), variance = rows[k].natural ? Variance(expected) : square[e];

      /* The rounding of X's decomposition, or of x to binary32, is far below the standard deviation unless that is 0 */
      TestMost(what, fabs(mean[e]), 6 * sqrt(variance / draws) + 1e-6 * fabs(expected));
      /* The square of an error lies between 0 and the square of the power */
      TestNear(what, square[e], variance, 6 * PetscSqr(Power(expected)) / sqrt((double)draws));
    }
    PetscCall(Free(1));
  }
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
static PetscErrorCode CheckStreams(const char choice[])
{
  const PetscInt mark = Test.count;
  MuonCompressor a, b;
  Matrix         X;
  double        *first, *second;
  PetscInt       some = 0;
  PetscBool      natural;

  PetscFunctionBegin;
  PetscCall(New(5, 6, &X));
  /*
     Far from the powers of two, so that every rounding goes either way often. The largest entry, the only one in some messages,
     is half way between two of them: its rounding is a fair coin, whatever the order of the types
  */
  for (PetscInt e = 0; e < SIDE; e++) SetAt(X, e, (e % 2 == 0 ? 1 : -1) * ldexp(1.25 + 0.5 * Uniform(), (int)(e % 5)));
  SetAt(X, 0, 48);
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
  Matrix X;
  Choice choice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(6));
  PetscCall(New(M, N, &X));
  Random(X, 1);
  Set(X, 3, 4, 0);
  Set(X, 3, 5, -2);
  PetscCall(CheckMeans(X));
  for (PetscInt k = 0; TestChoice(k, choice); k++) PetscCall(CheckStreams(choice));
  PetscCall(CheckCoin(X));
  PetscCall(Free(0));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
