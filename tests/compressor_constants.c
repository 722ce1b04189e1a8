static char help[] = "Constants of contraction: no input exceeds them, and worst cases reach them. Random rounding and random sets: no bias, independent, and the same for the same stream. "
                     "Low-rank types: projections no worse than they must be, what is kept from message to message, and what comes back.\n";

#include "compressor_common.h"

enum {
  M = 6,
  N = 9,
  D = M * N
};

typedef enum {
  GAUSSIAN,
  HEAVY, /* exponents over many powers of two */
  FLAT,  /* all entries alike */
  ONEHOT,
  EYE,        /* all singular values alike, one entry in each row */
  FOURTHIRDS, /* where natural compression has the largest variance */
  MIDDLE,     /* where the nearest power of two is furthest */
  BELOWTWO,   /* where a dropped mantissa is largest */
  TIE,        /* where bfloat16 is furthest */
  NINPUTS
} Input;

/* Powers of two of both signs, different from entry to entry, times a number */
static double Power(PetscInt e, double x)
{
  return (e % 3 == 1 ? -x : x) * ldexp(1, (int)(e * 7 % 11) - 5);
}

/* Doubles are rounded to binary32 first: 3/2 - 2^-24 goes to 3/2, what is below 2 - 2^-24 to the number before 2 */
static void Fill(Matrix X, Input input)
{
  const PetscBool          single = PetscDefined(USE_REAL_SINGLE) ? PETSC_TRUE : PETSC_FALSE;
  const unsigned long long state  = Test.state;

  Test.state = 100 + (unsigned long long)input;
  for (PetscInt e = 0; e < X->m * X->n; e++) {
    double x = 0;

    if (input == GAUSSIAN) x = Normal();
    if (input == HEAVY) x = Normal() * exp(2 * Normal());
    if (input == FLAT) x = e % 2 == 0 ? -0.75 : 0.75;
    if (input == ONEHOT) x = e == 40 ? -2.5 : 0;
    if (input == EYE) x = e / X->n == e % X->n ? 3 : 0;
    if (input == FOURTHIRDS) x = Power(e, 4.0 / 3);
    if (input == MIDDLE) x = Power(e, single ? 1.5 : 1.5 - 1.0 / 16777216);
    if (input == BELOWTWO) x = Power(e, single ? 2 - 1.0 / 8388608 : 2 - 1.0 / 16777216 - 1.0 / 1099511627776.0);
    if (input == TIE) x = Power(e, 1 + 1.0 / 256);
    Set(X, e / X->n, e % X->n, x);
  }
  Test.state = state;
}

/* ||C(X) - X||^2 / ||X||^2 in that step */
static PetscErrorCode Error(MuonCompressor c, PetscInt step, Matrix X, Matrix Y, double *error)
{
  MuonStatus status;

  PetscFunctionBegin;
  PetscCall(Apply(c, step, X, Y));
  status = c->status;
  TestCheck(status == MUON_STATUS_OK, "Status %s", MuonStatuses[status]);
  *error = Squares(Y, X) / Squares(X, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   E ||C(X) - X||^2 <= (1 - alpha) ||X||^2. What does not draw has no slack but rounding: a few units for the
   sums of D squares, and for what a decomposition moves. Of what draws the mean of S errors, which lie
   between 0 and B ||X||^2, is below its expectation by less than sqrt(2 V L / S) + 7 B L / (3 (S - 1)), V
   their sample variance, but for a chance of 2 e^-L (Maurer and Pontil, Empirical Bernstein bounds, 2009).

   B is 1 where entries are left out or at most double. It is 4 where they move to an end of an interval: the
   square of its length is four times the variance in its middle, which adds up to at most ||X||^2 where there
   is a constant. Products of rounded factors have bounds of no use, 9 and 49: for them the first term stands
   alone, which is the normal limit and no bound; a wrong constant is seen, a right one may fail with a
   probability that nobody has derived, but the draws are always the same
*/
static PetscErrorCode CheckBound(const char choice[], PetscInt *known)
{
  MuonCompressor c;
  Matrix         X, Y;
  PetscReal      alpha;
  PetscBool      product, draws;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(New(M, N, &X, &Y));
  product = Is(c, "rankk topsvd");
  /* A type that is not known here may draw */
  draws = Is(c, "identity nearest truncated bf16 damping sign topk topsvd columntopk rowtopk rankk") ? PETSC_FALSE : PETSC_TRUE;
  if (c->values == MUON_COMPRESSOR_VALUES_NATURAL && !Is(c, "identity nearest truncated bf16")) draws = PETSC_TRUE;
  PetscCall(MuonCompressorGetAlpha(c, M, N, &alpha));
  TestCheck(alpha == -1 || (alpha >= 0 && alpha <= 1), "%s: alpha is %g", choice, (double)alpha);
  *known += alpha >= 0;
  for (int input = 0; input < NINPUTS && alpha >= 0; input++) {
    const int    S = draws ? (product ? 400 : 1500) : 1;
    const double L = 21.4, B = product ? 0 : Is(c, "qsgd") ? 4 : 1;
    double       sum = 0, squares = 0, slack = 0, error;

    Fill(X, (Input)input);
    for (PetscInt k = 0; k < S; k++) {
      PetscCall(Error(c, k, X, Y, &error));
      sum += error / S;
      squares += error * error / S;
    }
    if (draws) slack = sqrt(2 * PetscMax(squares - sum * sum, 0) * S * L / (S - 1) / S) + 7 * B * L / (3 * (S - 1));
    TestCheck(sum <= 1 - (double)alpha + slack + 2 * D * TEST_EPSILON, "%s, input %d: the error is %g, alpha %g", choice, input, sum, (double)alpha);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inputs for which 1 - alpha is reached: no larger constant would be true. Within so much, where the worst case is a limit */
static PetscErrorCode CheckReached(void)
{
  static const struct {
    const char *choice;
    Input       input;
    double      within;
  } rows[] = {{"nearest", MIDDLE, 0},
              {"truncated", BELOWTWO, 2.4e-7},
              {"bf16", TIE, 2.4e-7},
              {"damping ratio 0.7 values native", HEAVY, 0},
              {"damping ratio 0.25 values native", GAUSSIAN, 0},
              {"topk ratio 0.3 values native", FLAT, 0},
              {"topsvd ratio 0.5 values native", EYE, 0},
              {"columntopk ratio 0.4 values native", FLAT, 0},
              {"rowtopk ratio 0.4 values native", EYE, 0},
              {"sign ratio 0.5 values native", ONEHOT, 0},
              {"rankk ratio 0.3 values native", EYE, 0},
              {"rankk ratio 0.3 rank 5 values native", EYE, 0}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    MuonCompressor c;
    Matrix         X, Y;
    PetscReal      alpha;
    double         error;

    PetscCall(Make(&c, rows[k].choice));
    PetscCall(New(M, N, &X, &Y));
    Fill(X, rows[k].input);
    PetscCall(Error(c, 0, X, Y, &error));
    PetscCall(MuonCompressorGetAlpha(c, M, N, &alpha));
    TestNear(rows[k].choice, error, 1 - (double)alpha, rows[k].within + 2 * D * TEST_EPSILON);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Constants by their formulas; compressor.py and lowrank.py compute the others */
static PetscErrorCode CheckAlphas(void)
{
  /* What natural values leave of doubles, which are rounded to binary32, u; of both factors of rank 10, and of three triples */
  const PetscBool single = PetscDefined(USE_REAL_SINGLE) ? PETSC_TRUE : PETSC_FALSE;
  const double    u = single ? 0 : 1.0 / 16777216, natural = 1 - (1 + u) * (1 + u) / 8 - u * u;
  const double    both = 1 - 17.0 / 64 * pow(1 + u, 4) - 4 * u * u - u * u * sqrt(10);
  const double    e    = 3 * u + 2 * u * u + u * u * (1 + u) * sqrt(3);
  /* What binary32, in which such entries are compared, does not see of doubles */
  const double unseen = single ? 1 : 1 - 1.0 / 4194304;
  const struct {
    const char *choice;
    double      alpha; /* of 10 x 100 */
  } rows[] = {{"identity", 1},
              {"natural", natural},
              {"topk ratio 0.1 values natural", 0.1 * natural * unseen},
              {"rankk ratio 0.3 rank 60 values natural", both},
              {"topsvd topsvd_schatten 4 rank 3 values native", 1 - sqrt(0.7)},
              {"topsvd topsvd_schatten 1 rank 10 values native", 1},
              {"topsvd topsvd_schatten inf rank 30 values native", 1},
              {"topsvd topsvd_schatten 1 rank 3 values natural", -1},
              {"topsvd topsvd_schatten inf rank 10 values natural", -1},
              {"topsvd topsvd_schatten inf rank 3 values bf16", -1},
              {"topsvd topsvd_schatten 1 rank 3 values single", 1 - PetscSqr(0.7 + e * sqrt(6))},
              {"topsvd topsvd_schatten 4 rank 10 values single", 1 - 9 * u * u * sqrt(10)}};
  MuonCompressor c;
  PetscReal      alpha;
  Choice         choice;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    PetscCall(Make(&c, rows[k].choice));
    PetscCall(MuonCompressorGetAlpha(c, 10, 100, &alpha));
    TestNear(rows[k].choice, alpha, rows[k].alpha, 4 * TEST_EPSILON);
    PetscCall(Free(0));
  }
  /* Squares add up over blocks, 3 triples of 5 in each, powers of other norms do not */
  for (int p = 1; p < 3; p++) {
    PetscCall(Make(&c, "topsvd rank 3 values native topsvd_schatten %d", p));
    PetscCall(MuonCompressorSetBlocks(c, 2, NULL, 1, NULL));
    PetscCall(MuonCompressorGetAlpha(c, 10, 100, &alpha));
    TestCheck(fabs((double)alpha - (p == 1 ? -1 : 0.6)) <= 10 * TEST_EPSILON, "Blocks: alpha %g in the norm of exponent %d", (double)alpha, p);
  }
  /* max(1, floor(r d + 1e-9)): 0.29 times 100 is less than 29 in binary64, 0.7 times 10 less than 7 in binary32 */
  for (int k = 1; k < 100; k++) {
    PetscCall(Make(&c, "topk ratio %.2f values native", k / 100.0));
    PetscCall(MuonCompressorGetAlpha(c, 10, 10, &alpha));
    TestCheck(PetscAbsReal(alpha - (PetscReal)k / 100) <= PETSC_MACHINE_EPSILON, "%d percent of 100 are %g", k, (double)(100 * alpha));
  }
  /* Nothing is left out of nothing, whatever the type */
  for (PetscInt k = 0; TestChoice(k, choice); k++) {
    for (int side = 0; side < 2; side++) {
      PetscCall(Make(&c, choice));
      PetscCall(MuonCompressorGetAlpha(c, 7 * side, 7 * (1 - side), &alpha));
      TestCheck(alpha == 1, "%s: alpha %g without entries", choice, (double)alpha);
      PetscCall(Free(0));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With all that there is nothing changes but by the rounding of the values, or of a decomposition. The second message is another one of powersgd */
static PetscErrorCode CheckEverything(void)
{
  static const struct {
    const char *choice;
    double      alpha, units; /* of the error, for each of the larger side; 0 for no error */
  } rows[]                          = {{"topk ratio 1 values native", 1, 0},
                                       {"randk ratio 1 values native", 1, 0},
                                       {"damping ratio 1 values native", 1, 0},
                                       {"dropout ratio 1 values native", 1, 0},
                                       {"columntopk ratio 1 line_norm 1.5 values native", 1, 0},
                                       {"rowtopk ratio 1 line_norm 1.5 values native", 1, 0},
                                       {"rankk ratio 1 values native", 1, 10},
                                       {"topsvd rank 1000 values native", 1, 500},
                                       {"powersgd rank 1000 values native", -1, 500},
                                       {"powersgd rank 1000 values native powersgd_oversampling 3", -1, 500}};
  static const PetscInt shapes[][2] = {{10, 30}, {30, 10}, {1, 1}, {7, 30}, {30, 7}, {1, 600}, {600, 3}, {21, 515}, {12, 12}, {31, 8}, {7, 1}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows) * PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const size_t   r = k % PETSC_STATIC_ARRAY_LENGTH(rows), s = k / PETSC_STATIC_ARRAY_LENGTH(rows);
    const double   bound = PetscSqr(rows[r].units * (double)PetscMax(shapes[s][0], shapes[s][1]) * TEST_EPSILON);
    MuonCompressor c;
    Matrix         X, Y;
    PetscReal      alpha;

    PetscCall(Make(&c, rows[r].choice));
    PetscCall(New(shapes[s][0], shapes[s][1], &X, &Y));
    Random(X, 1);
    for (int message = 0; message < 2; message++) {
      PetscCall(Apply(c, 5, X, Y));
      PetscCall(MuonCompressorCommit(c));
      TestMost(rows[r].choice, Squares(X, Y), bound * Squares(X, NULL));
      TestCheck(bound > 0 || Same(X, Y), "%s: another zero", rows[r].choice);
    }
    PetscCall(MuonCompressorGetAlpha(c, X->m, X->n, &alpha));
    TestCheck(alpha == rows[r].alpha, "%s: alpha of everything is %g", rows[r].choice, (double)alpha);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Blocks of up to so many entries have a constant, the table of the man page; a layer shorter than a block, and none. A single entry just
   above 1 has the natural scale 2, is one and a half of its three levels, and goes to one or two of them: its error is a third of it,
   whatever is drawn
*/
static PetscErrorCode CheckBlocks(void)
{
  static const int longest[2][6] = {{64, 256, 1024, 4096, 16384, 65536}, {32, 128, 512, 2048, 8192, 32768}};
  MuonCompressor   c;
  Matrix           X, Y;
  PetscReal        alpha, one, none;
  double           error;

  PetscFunctionBegin;
  for (int k = 0; k < 7 * 2 * 13 * 5; k++) {
    const int       bits = 2 + k % 7, norm = k / 7 % 2, length = 16 << k / 14 % 13, values = k / 182;
    const PetscBool known   = bits > 2 && length <= longest[norm][bits - 3] ? PETSC_TRUE : PETSC_FALSE;
    const PetscBool natural = values == MUON_COMPRESSOR_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(Make(&c, "qsgd bits %d qsgd_block_length %d values %s", bits, length, MuonCompressorValuesTypes[values]));
    PetscCall(Tune(c, "qsgd_block_norm %s", MuonCompressorBlockNorms[norm]));
    PetscCall(MuonCompressorGetAlpha(c, 300, 300, &alpha));
    TestCheck((alpha > 0 || alpha == -1) && alpha < 1, "%d bits, blocks of %d, norm %d: alpha is %g", bits, length, norm, (double)alpha);
    TestCheck(natural ? known || alpha == -1 : (alpha > 0) == known, "%d bits, blocks of %d: alpha is %g", bits, length, (double)alpha);
    PetscCall(MuonCompressorGetAlpha(c, 1, 1, &one));
    PetscCall(MuonCompressorGetAlpha(c, 0, 4, &none));
    TestCheck((norm == 1 || natural || one > (PetscReal)0.98) && none == 1, "One entry: alpha is %g, none: %g", (double)one, (double)none);
    PetscCall(Free(0));
  }
  PetscCall(Make(&c, "qsgd values natural bits 3"));
  PetscCall(MuonCompressorGetAlpha(c, 1, 1, &alpha));
  PetscCall(New(1, 1, &X, &Y));
  Set(X, 0, 0, 1 + 1.0 / 1048576);
  for (PetscInt k = 0; k < 10; k++) {
    PetscCall(Error(c, k, X, Y, &error));
    TestCheck(alpha > (PetscReal)0.88 && error <= 1 - (double)alpha, "A natural scale has the error %g, alpha %g", error, (double)alpha);
    TestNear("natural scale", error, 1 - (double)alpha, 1e-4);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What draws has fixed seeds here; bounds are six standard deviations of the theory, which a right program exceeds with a probability of 2e-9 */
enum {
  ENTRIES = 12 * 17, /* of a matrix whose means are looked at */
  DRAWS   = 150,
  SIDE    = 30 /* entries of a matrix whose differences are looked at */
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
static double PowerBelow(double x)
{
  int exponent;

  (void)frexp(x, &exponent);
  return x == 0 ? 0 : ldexp(0.5, exponent);
}

static double Variance(double x)
{
  return (fabs(x) - PowerBelow(x)) * (2 * PowerBelow(x) - fabs(x));
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
    double         mean[ENTRIES] = {0}, square[ENTRIES] = {0};

    PetscCall(Make(&c, what));
    PetscCall(New(X->m, X->n, &E, &Y));
    Copy(X, E);
    if (rows[k].exact != NULL) PetscCall(Make(&exact, rows[k].exact));
    if (rows[k].exact != NULL) PetscCall(Apply(exact, 0, X, E));
    Axpby(0, E, rows[k].part, E);
    for (PetscInt draw = 0; draw < draws; draw++) {
      PetscCall(Apply(c, draw, X, Y));
      for (PetscInt e = 0; e < ENTRIES; e++) {
        const double off = GetAt(Y, e) - GetAt(E, e);

        mean[e] += off / (double)draws;
        square[e] += off * off / (double)draws;
      }
    }
    for (PetscInt e = 0; e < ENTRIES; e++) {
      const double expected = GetAt(E, e), variance = rows[k].natural ? Variance(expected) : square[e];

      /* The rounding of X's decomposition, or of x to binary32, is far below the standard deviation unless that is 0 */
      TestMost(what, fabs(mean[e]), 6 * sqrt(variance / draws) + 1e-6 * fabs(expected));
      /* The square of an error lies between 0 and the square of the power */
      TestNear(what, square[e], variance, 6 * PetscSqr(PowerBelow(expected)) / sqrt((double)draws));
    }
    PetscCall(Free(1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
    PetscCall(New(X->m, X->n, &Y[k]));
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

/* C(X) in Y, which takes effect where commit is true, and the columns of the message */
static PetscErrorCode Step(MuonCompressor c, Matrix X, PetscBool commit, Matrix Y, PetscInt *columns)
{
  const PetscInt mark = Test.count;
  Message        M;

  PetscFunctionBegin;
  PetscCall(NewMessage(&M));
  PetscCall(Send(c, X, NULL, M));
  PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
  if (commit) PetscCall(MuonCompressorCommit(c));
  if (columns != NULL) *columns = M->buf[6];
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Gaussian matrix of that rank, of which entry (i, j) is divided by (ij)^decay */
static PetscErrorCode SetRank(Matrix X, PetscInt rank, int decay)
{
  const PetscInt mark = Test.count;
  Matrix         A, B;

  PetscFunctionBegin;
  PetscCall(New(X->m, rank, &A));
  PetscCall(New(rank, X->n, &B));
  Random(X, 1);
  Random(A, 1);
  Random(B, 1);
  for (PetscInt i = 0; i < X->m; i++) {
    for (PetscInt j = 0; j < X->n; j++) {
      double x = rank < PetscMin(X->m, X->n) ? 0 : Get(X, i, j);

      for (PetscInt k = 0; k < rank && rank < PetscMin(X->m, X->n); k++) x += Get(A, i, k) * Get(B, k, j);
      Set(X, i, j, x / pow((double)((i + 1) * (j + 1)), decay));
    }
  }
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What the range finder sends is a projection of X: ||X - C||^2 = ||X||^2 - ||C||^2, which is no less than what the best of that rank
   leaves (Eckart and Young), has its columns, and at least .95 of its square. A matrix of that rank comes over but for rounding
*/
static PetscErrorCode CheckRange(void)
{
  /*
     Rows, columns, rank of the message and of the matrix, and its decay: with the Gram matrix and without, with more columns than
     are sent and without, with one polynomial and with more, with few that have most of the square and without
  */
  static const PetscInt shapes[][5] = {{60, 60, 9, 60, 0},   {40, 160, 6, 40, 0},   {160, 40, 6, 40, 0},  {100, 96, 1, 96, 0},  /* full */
                                       {96, 100, 1, 96, 0},  {90, 110, 70, 90, 0},  {110, 90, 70, 90, 0}, {40, 30, 6, 4, 0},    /* and low */
                                       {200, 100, 2, 2, 0},  {1, 7, 1, 1, 0},       {7, 1, 1, 1, 0},      {70, 80, 6, 70, 0},   /* and small */
                                       {400, 90, 12, 90, 0}, {650, 630, 1, 630, 0}, {70, 80, 6, 70, 1},   {400, 90, 12, 90, 1}, /* and large */
                                       {80, 70, 6, 70, 3},   {100, 120, 70, 100, 1}};

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    const PetscInt m = shapes[s][0], n = shapes[s][1], rank = shapes[s][2];
    const double   slack = 40 * (double)PetscMax(m, n) * TEST_EPSILON;
    MuonCompressor c, best;
    Matrix         X, Y;
    PetscInt       sent, columns;
    double         all, rest, least;

    PetscCall(Make(&c, "rankk rank %d values native rankk_method range", (int)rank));
    PetscCall(Make(&best, "rankk rank %d values native rankk_method exact", (int)rank));
    PetscCall(New(m, n, &X, &Y));
    PetscCall(SetRank(X, shapes[s][3], (int)shapes[s][4]));
    PetscCall(Step(best, X, PETSC_TRUE, Y, &columns));
    least = Squares(X, Y);
    PetscCall(Step(c, X, PETSC_TRUE, Y, &sent));
    rest = Squares(X, Y);
    all  = Squares(X, NULL);
    TestCheck(sent == columns, "%dx%d: %d columns, expected %d", (int)m, (int)n, (int)sent, (int)columns);
    TestNear("projection", rest + Squares(Y, NULL), all, slack * all);
    TestMost("the best", least, rest + slack * all);
    TestMost("range", 0.95 * (all - least), all - rest);
    if (shapes[s][3] <= rank) TestMost("range of all", rest, PetscSqr(500 * (double)PetscMax(m, n) * TEST_EPSILON) * all);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two objects that were shown different matrices write the same bytes for X if what they keep is the same */
static PetscErrorCode CheckTwins(MuonCompressor c, MuonCompressor twin, Matrix X, PetscBool expected, const char what[])
{
  const PetscInt mark = Test.count;
  Message        M, N;

  PetscFunctionBegin;
  PetscCall(NewMessage(&M, &N));
  PetscCall(Send(c, X, NULL, M));
  PetscCall(Send(twin, X, NULL, N));
  TestCheck(SameMessage(M, N) == expected, "After %s: %s message", what, expected ? "another" : "the same");
  PetscCall(Free(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckState(PetscInt m, PetscInt n, int oversampling)
{
  MuonCompressor c, twin, fresh, *all[3] = {&c, &twin, &fresh};
  Matrix         A, B, Z, bad, small, Y;
  Message        M;
  PetscInt       rank;

  PetscFunctionBegin;
  PetscCall(New(m, n, &A, &B, &Z, &bad, &Y));
  PetscCall(New(m, n - 1, &small));
  PetscCall(NewMessage(&M));
  Random(A, 1);
  Random(B, 1);
  Random(bad, 1);
  Random(small, 1);
  Set(bad, m - 1, n - 1, (double)NAN);
  for (int k = 0; k < 3; k++) PetscCall(Make(all[k], "powersgd rank 2 values native powersgd_oversampling %d", oversampling));
  PetscCall(Step(c, A, PETSC_FALSE, Y, NULL));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a message that did not take effect"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(MuonCompressorReset(twin));
  PetscCall(Step(c, A, PETSC_TRUE, Y, NULL));
  PetscCall(CheckTwins(c, twin, B, PETSC_FALSE, "a message that took effect"));
  PetscCall(Step(twin, A, PETSC_TRUE, Y, NULL));
  PetscCall(CheckTwins(c, twin, A, PETSC_TRUE, "the same messages"));
  /* A step that diverges, then the one that replaces it */
  PetscCall(Step(c, B, PETSC_FALSE, Y, NULL));
  PetscCall(CheckTwins(c, twin, A, PETSC_TRUE, "a step that diverged"));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(MuonCompressorCommit(twin));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a commit without a message"));
  PetscCall(Step(c, Z, PETSC_TRUE, Y, &rank));
  TestCheck(rank == 0, "Zero has rank %d", (int)rank);
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a zero matrix"));
  PetscCall(Encode(c, bad, NULL, M));
  TestCheck(M->status == MUON_STATUS_NANORINF, "NaN has status %s", MuonStatuses[M->status]);
  PetscCall(MuonCompressorCommit(c));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "NaN"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_FALSE, "some messages"));
  PetscCall(CheckTwins(c, fresh, small, PETSC_TRUE, "a change of the size"));
  PetscCall(Tune(c, "rank 3"));
  PetscCall(Tune(fresh, "rank 3"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a change of the rank"));
  PetscCall(Tune(c, "rank 2"));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "the old rank again"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(Tune(fresh, "rank 2"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a reset"));
  /* The start is the sender's own, and the same in each step */
  PetscCall(MuonCompressorSetStep(c, 77));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a step"));
  PetscCall(MuonCompressorSetStream(c, 11, "attn.qkv", 4, 1));
  PetscCall(CheckTwins(c, fresh, B, PETSC_FALSE, "a change of the sender"));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message of the range finder is the same wherever and whenever it is made again, and starts anew in each step and for each sender */
static PetscErrorCode CheckStart(void)
{
  MuonCompressor c, twin;
  Matrix         X, Y;

  PetscFunctionBegin;
  PetscCall(New(30, 30, &X, &Y));
  Random(X, 1);
  PetscCall(Make(&c, "rankk rank 2 values native rankk_method range"));
  PetscCall(Make(&twin, "rankk rank 2 values native rankk_method range"));
  PetscCall(CheckTwins(c, twin, X, PETSC_TRUE, "nothing"));
  PetscCall(Step(c, X, PETSC_TRUE, Y, NULL));
  PetscCall(CheckTwins(c, twin, X, PETSC_TRUE, "a message"));
  PetscCall(MuonCompressorSetStep(twin, 6));
  PetscCall(CheckTwins(c, twin, X, PETSC_FALSE, "a step"));
  PetscCall(MuonCompressorSetStep(twin, 5));
  PetscCall(CheckTwins(c, twin, X, PETSC_TRUE, "the step again"));
  PetscCall(MuonCompressorSetStream(twin, 11, "attn.qkv", 4, 1));
  PetscCall(CheckTwins(c, twin, X, PETSC_FALSE, "a change of the sender"));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Directions that vanish come back: after a matrix of rank 1 the next one has all its columns, and one that
   is orthogonal to all that was kept is met at once
*/
static PetscErrorCode CheckVanish(int oversampling)
{
  const PetscInt m = 9, n = 12;
  MuonCompressor c;
  Matrix         X, Y;
  PetscInt       rank;

  PetscFunctionBegin;
  PetscCall(New(m, n, &X, &Y));
  PetscCall(Make(&c, "powersgd rank 4 values native powersgd_oversampling %d", oversampling));
  for (PetscInt j = 0; j < n; j++) {
    /* Only column j, by turns of one entry, which leaves exact zeros everywhere, and of all */
    Axpby(0, X, 0, X);
    for (PetscInt i = 0; i < (j % 2 == 0 ? 1 : m); i++) Set(X, i, j, Normal());
    PetscCall(Step(c, X, PETSC_TRUE, Y, &rank));
    TestCheck(rank == 1, "Column %d: rank %d", (int)j, (int)rank);
    TestMost("column", Squares(X, Y), PetscSqr(100 * TEST_EPSILON) * Squares(X, NULL));
  }
  Random(X, 1);
  PetscCall(Step(c, X, PETSC_TRUE, Y, &rank));
  TestCheck(rank == 4, "%d columns after matrices of rank 1", (int)rank);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of two times the matrix has that power times the message, though its squares are out of range; a state goes on */
static PetscErrorCode CheckScale(const char choice[])
{
  const int      powers[] = {PetscDefined(USE_REAL_SINGLE) ? 100 : 800, PetscDefined(USE_REAL_SINGLE) ? -60 : -800};
  MuonCompressor c, scaled;
  Matrix         X, Y, Z;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(powers); k++) {
    PetscCall(New(11, 7, &X, &Y, &Z));
    PetscCall(Make(&c, choice));
    PetscCall(Make(&scaled, choice));
    for (PetscInt step = 0; step < 3; step++) {
      Random(X, 1);
      PetscCall(Step(c, X, PETSC_TRUE, Y, NULL));
      Axpby(ldexp(1, powers[k]), Y, 0, Y);
      Axpby(ldexp(1, powers[k]), X, 0, X);
      PetscCall(Step(scaled, X, PETSC_TRUE, Z, NULL));
      TestCheck(Same(Y, Z), "%s: 2^%d times the matrix is not 2^%d times the message", choice, powers[k], powers[k]);
    }
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of singular values that are all alike no subspace of the range finder has more than its part, so that the constant of contraction, K/r, is
   reached, at every size; zero has no columns, and what is not finite no message
*/
static PetscErrorCode CheckFlat(PetscInt m, PetscInt n, int rank)
{
  const int      powers[] = {0, PetscDefined(USE_REAL_SINGLE) ? 100 : 800, PetscDefined(USE_REAL_SINGLE) ? -60 : -800};
  const double   r        = (double)PetscMin(m, n);
  MuonCompressor c;
  Matrix         X, Y;
  Message        M;
  PetscInt       sent;

  PetscFunctionBegin;
  PetscCall(New(m, n, &X, &Y));
  PetscCall(NewMessage(&M));
  PetscCall(Make(&c, "rankk rank %d values native rankk_method range", rank));
  PetscCall(Step(c, X, PETSC_FALSE, Y, &sent));
  TestCheck(sent == 0 && Squares(Y, NULL) == 0, "Zero has %d columns", (int)sent);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(powers); k++) {
    for (PetscInt i = 0; i < PetscMin(m, n); i++) Set(X, m - 1 - i, i, ldexp(1, powers[k]));
    PetscCall(Step(c, X, PETSC_FALSE, Y, &sent));
    Axpby(ldexp(1, -powers[k]), X, 0, X);
    Axpby(ldexp(1, -powers[k]), Y, 0, Y);
    TestCheck(sent == rank, "2^%d: %d columns", powers[k], (int)sent);
    TestNear("flat", Squares(X, Y) / r, 1 - rank / r, 40 * (double)PetscMax(m, n) * TEST_EPSILON);
    Axpby(0, X, 0, X);
  }
  Set(X, m - 1, n - 1, (double)NAN);
  PetscCall(Encode(c, X, NULL, M));
  TestCheck(M->status == MUON_STATUS_NANORINF, "NaN has status %s", MuonStatuses[M->status]);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt known = 0;
  Matrix   X;
  Choice   choice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(4));
  for (PetscInt k = 0; TestChoice(k, choice); k++) PetscCall(CheckBound(choice, &known));
  TestCheck(known > 20, "%d choices have a constant", (int)known);
  PetscCall(CheckReached());
  PetscCall(CheckAlphas());
  PetscCall(CheckEverything());
  PetscCall(CheckBlocks());
  PetscCall(TestStart(6));
  PetscCall(New(12, 17, &X));
  Random(X, 1);
  Set(X, 3, 4, 0);
  Set(X, 3, 5, -2);
  PetscCall(CheckMeans(X));
  for (PetscInt k = 0; TestChoice(k, choice); k++) PetscCall(CheckStreams(choice));
  PetscCall(CheckCoin(X));
  PetscCall(Free(0));
  PetscCall(TestStart(21));
  PetscCall(CheckRange());
  for (int oversampling = 0; oversampling < 4; oversampling += 3) {
    PetscCall(CheckState(14, 9, oversampling));
    PetscCall(CheckState(9, 14, oversampling));
    PetscCall(CheckVanish(oversampling));
  }
  PetscCall(CheckStart());
  PetscCall(CheckScale("powersgd rank 3 values native"));
  PetscCall(CheckScale("powersgd rank 3 values native powersgd_oversampling 3"));
  PetscCall(CheckFlat(30, 20, 3));
  PetscCall(CheckFlat(20, 30, 3));
  PetscCall(CheckFlat(100, 100, 1));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
