static char help[] = "Constants of contraction: no input exceeds them, worst cases reach them, examples, and what many messages leave.\n";

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

/* What an exact calculation loses of the square of one number at worst, and how much more the constant may allow */
static PetscErrorCode CheckWorst(const char choice[], double worst, double least, double slack)
{
  MuonCompressor c;
  PetscReal      alpha;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(MuonCompressorGetAlpha(c, 1, 1, &alpha));
  TestMost(choice, worst, 1 - (double)alpha + slack);
  TestMost(choice, 1 - (double)alpha, least);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNumbers(void)
{
  double worst = 0;

  PetscFunctionBegin;
  /*
     Natural compression of one double x, exactly: of its binary32 f in [1, 2) it makes 2 with probability f -
     1. The constant holds where f is furthest from x, and is reached there but for the variance of f beside 4/3
  */
  for (int k = -1000; k <= 1000; k++) {
    const double d = (double)(PetscReal)(11184811.0 / 8388608 + k / 33554432.0), f = (double)(float)d;

    worst = PetscMax(worst, ((2 - d) * (2 - d) * (f - 1) + (1 - d) * (1 - d) * (2 - f)) / (d * d));
  }
  PetscCall(CheckWorst("natural", worst, worst + 1e-7, 4e-16));
  /* r x is rounded before it is written: with an error as close to (1 - r)^2 as the last places of PetscReal show */
  for (int way = 0; way < 2; way++) {
    const PetscReal   r      = way == 0 ? (PetscReal)0.998 : (PetscReal)0.9;
    const char *const choice = way == 0 ? "damping ratio 0.998 values double" : "damping ratio 0.9 values double";

    worst = 0;
    for (int k = 0; k < 4096; k++) {
      const PetscReal x = 1 + (PetscReal)k / 4096, y = r * x;

      worst = PetscMax(worst, PetscSqr((double)(x - y) / (double)x));
    }
    PetscCall(CheckWorst(choice, worst, PetscSqr(1 - (double)r) + 4 * TEST_EPSILON, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All or nothing: what is sent is X, as often as the coin says. Of S coins p S fall so, within 6 standard
   deviations but for a chance of 2e-9, which makes C(X) / p unbiased and p the constant, exactly. With
   natural values the sent ones are those of the type natural in the same step
*/
static PetscErrorCode CheckDropout(double p)
{
  const PetscInt draws = 3000;
  MuonCompressor c, natural, rounds;
  Matrix         X, Y, Z, zero;
  PetscReal      alpha;
  PetscInt       sent = 0;

  PetscFunctionBegin;
  PetscCall(Make(&c, "dropout ratio %.17g values native", p));
  PetscCall(Make(&natural, "dropout ratio %.17g values natural", p));
  PetscCall(Make(&rounds, "natural"));
  PetscCall(New(3, 4, &X, &Y, &Z, &zero));
  Fill(X, HEAVY);
  for (PetscInt k = 0; k < draws; k++) {
    PetscBool one;

    PetscCall(Apply(c, k, X, Y));
    one = Squares(Y, NULL) > 0 ? PETSC_TRUE : PETSC_FALSE;
    TestCheck(!one || Same(X, Y), "What was sent is not what was given");
    sent += one;
    if (k >= 200) continue;
    PetscCall(Apply(natural, k, X, Y));
    PetscCall(Apply(rounds, k, X, Z));
    TestCheck(Same(Y, one ? Z : zero), "Natural values differ from those of natural");
  }
  TestCheck(fabs((double)sent - draws * p) <= 6 * sqrt(draws * p * (1 - p)), "%d of %d were sent with probability %g", (int)sent, (int)draws, p);
  PetscCall(MuonCompressorGetAlpha(c, 3, 4, &alpha));
  TestCheck(alpha == (PetscReal)p, "alpha is %g with probability %g", (double)alpha, p);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = [[3, 0], [4, -0], [0, 2]] after some messages, and how much of its square 29 that keeps; 5 is the largest singular value */
static PetscErrorCode CheckExamples(void)
{
  static const double a[] = {3, 0, 4, -0.0, 0, 2};
  static const struct {
    const char *choice;
    double      expected[6], kept, units;
    int         messages;
  } rows[] = {{"identity", {3, 0, 4, 0, 0, 2}, 1, 0, 1},
              {"rankk rank 1 values native", {3, 0, 4, 0, 0, 0}, 25.0 / 29, 20, 1},
              {"topsvd rank 1 values native", {3, 0, 4, 0, 0, 0}, 25.0 / 29, 20, 1},
              {"topsvd rank 1 values native topsvd_schatten 1", {3, 0, 4, 0, 0, 0}, 25.0 / 29, 20, 1},
              {"topsvd rank 1 values native topsvd_schatten 3", {3, 0, 4, 0, 0, 0}, 25.0 / 29, 20, 1},
              {"topsvd rank 1 values native topsvd_schatten inf", {3, 0, 4, 0, 0, 0}, 25.0 / 29, 20, 1},
              /* (2/5)^2 a step brings the second direction below every tolerance */
              {"powersgd rank 1 values native", {3, 0, 4, 0, 0, 0}, 25.0 / 29, 20, 40},
              {"columntopk ratio 0.5 values native", {3, 0, 4, 0, 0, 0}, 25.0 / 29, 0, 1},
              {"rowtopk ratio 0.4 values native", {0, 0, 4, 0, 0, 0}, 16.0 / 29, 0, 1},
              {"sign values native", {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, 81.0 / 174, 0, 1},
              {"sign values double", {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, 81.0 / 174, 0, 1},
              {"sign values single", {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, 81.0 / 174, 0, 1},
              {"sign values bf16", {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, 81.0 / 174, 0, 1},
              {"topk ratio 0.1 values single", {0, 0, 4, 0, 0, 0}, 16.0 / 29, 0, 1},
              {"nearest", {4, 0, 4, 0, 0, 2}, 28.0 / 29, 0, 1},
              {"truncated", {2, 0, 4, 0, 0, 2}, 28.0 / 29, 0, 1},
              {"bf16", {3, 0, 4, 0, 0, 2}, 1, 0, 1},
              {"damping ratio 0.5 values single", {1.5, 0, 2, 0, 0, 1}, 0.75, 0, 1}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    MuonCompressor c;
    Matrix         A, B;
    double         error;

    PetscCall(Make(&c, rows[k].choice));
    PetscCall(New(3, 2, &A, &B));
    SetRows(A, a);
    for (int message = 0; message < rows[k].messages; message++) {
      PetscCall(Error(c, 5, A, B, &error));
      PetscCall(MuonCompressorCommit(c));
    }
    for (PetscInt e = 0; e < 6; e++) TestNear(rows[k].choice, Get(B, e / 2, e % 2), rows[k].expected[e], rows[k].units * TEST_EPSILON);
    TestNear(rows[k].choice, 1 - error, rows[k].kept, 20 * TEST_EPSILON);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constants by their formulas. Rounding only takes away, at most how much the bound of section 3 says */
static PetscErrorCode CheckAlphas(void)
{
  /* What natural values leave of doubles, which are rounded to binary32, u; of both factors of rank 10, and of three triples */
  const PetscBool single = PetscDefined(USE_REAL_SINGLE) ? PETSC_TRUE : PETSC_FALSE;
  const double    u = single ? 0 : 1.0 / 16777216, natural = 1 - (1 + u) * (1 + u) / 8 - u * u;
  const double    both = 1 - 17.0 / 64 * pow(1 + u, 4) - 4 * u * u - u * u * sqrt(10);
  const double    e = 3 * u + 2 * u * u + u * u * (1 + u) * sqrt(3), lost = u * u * sqrt(3);
  /* What binary32, in which such entries are compared, does not see of doubles */
  const double unseen = single ? 1 : 1 - 1.0 / 4194304;
  const struct {
    const char *choice;
    double      alpha;
    PetscInt    m, n;
    double      lost; /* by rounding, where that is more than a few units */
  } rows[] = {{"identity", 1, 10, 100, 0},
              {"natural", natural, 10, 100, 0},
              {"sign values native", 0.001, 10, 100, 0},
              {"sign values natural", 0.001 * natural, 10, 100, 0},
              {"sign values double", 1.0 / 6, 3, 2, 0.00002 / 6},
              {"sign values single", 1.0 / 6, 3, 2, 0.00002 / 6},
              {"sign values bf16", 1.0 / 6, 3, 2, 0.00002 / 6},
              {"topk ratio 0.7 values native", 0.7, 10, 100, 0},
              {"topk ratio 0.29 values native", 0.29, 10, 100, 0},
              {"topk ratio 0.00001 values native", 0.001, 10, 100, 0},
              {"topk ratio 0.1 values natural", 0.1 * natural * unseen, 10, 100, 0},
              {"rankk ratio 0.3 values native", 0.3, 10, 100, 0},
              {"rankk ratio 0.3 rank 6 values native", 0.6, 10, 100, 0},
              {"rankk ratio 0.3 rank 60 values natural", both, 10, 100, 0},
              {"rankk rank 3 rankk_method range values native", 3.0 / 20, 30, 20, 0},
              {"rankk rank 1 rankk_method range values native", 0.01, 100, 100, 0},
              {"powersgd rank 3 values native", -1, 10, 100, 0},
              {"topsvd topsvd_schatten 1 rank 3 values native", 0.51, 10, 100, 0},
              {"topsvd topsvd_schatten 2 rank 3 values native", 0.3, 10, 100, 0},
              {"topsvd topsvd_schatten 4 rank 3 values native", 1 - sqrt(0.7), 10, 100, 0},
              {"topsvd topsvd_schatten inf rank 3 values native", 0, 10, 100, 0},
              {"topsvd topsvd_schatten 1 rank 10 values native", 1, 10, 100, 0},
              {"topsvd topsvd_schatten inf rank 30 values native", 1, 10, 100, 0},
              {"topsvd topsvd_schatten 2 rank 3 values natural", 0.3 * (1 - 217.0 / 512 * pow(1 + u, 6) - e * e) - lost, 10, 100, 0},
              {"topsvd topsvd_schatten 1 rank 3 values natural", -1, 10, 100, 0},
              {"topsvd topsvd_schatten inf rank 10 values natural", -1, 10, 100, 0},
              {"topsvd topsvd_schatten inf rank 3 values bf16", -1, 10, 100, 0},
              {"topsvd topsvd_schatten 2 rank 3 values single", 0.3 * (1 - e * e) - lost, 10, 100, 0},
              {"topsvd topsvd_schatten 1 rank 3 values single", 1 - PetscSqr(0.7 + e * sqrt(6)), 10, 100, 0},
              {"topsvd topsvd_schatten 4 rank 10 values single", 1 - 9 * u * u * sqrt(10), 10, 100, 0}};
  MuonCompressor c;
  PetscReal      alpha;
  PetscBool      more;
  Choice         choice;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    PetscCall(Make(&c, rows[k].choice));
    PetscCall(MuonCompressorGetAlpha(c, rows[k].m, rows[k].n, &alpha));
    TestMost(rows[k].choice, (double)alpha, rows[k].alpha + 4 * TEST_EPSILON);
    TestMost(rows[k].choice, rows[k].alpha - (double)alpha, rows[k].lost + 4 * TEST_EPSILON);
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
  for (PetscInt k = 0;; k++) {
    PetscCall(GetChoice(k, choice, &more));
    if (!more) break;
    for (int side = 0; side < 2; side++) {
      PetscCall(Make(&c, choice));
      PetscCall(MuonCompressorGetAlpha(c, 7 * side, 7 * (1 - side), &alpha));
      TestCheck(alpha == 1, "%s: alpha %g without entries", choice, (double)alpha);
      PetscCall(Free(0));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With all that there is nothing changes but by the rounding of the values, or of a decomposition; natural
   values are those of the type natural, as they have the random numbers of their places. The second message
   is another one of powersgd
*/
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
    MuonCompressor c, dense;
    Matrix         X, Y, Z;
    PetscReal      alpha;

    PetscCall(Make(&c, rows[r].choice));
    PetscCall(Make(&dense, "natural"));
    PetscCall(New(shapes[s][0], shapes[s][1], &X, &Y, &Z));
    Random(X, 1);
    for (int message = 0; message < 2; message++) {
      PetscCall(Apply(c, 5, X, Y));
      PetscCall(MuonCompressorCommit(c));
      TestMost(rows[r].choice, Squares(X, Y), bound * Squares(X, NULL));
      TestCheck(bound > 0 || Same(X, Y), "%s: another zero", rows[r].choice);
    }
    PetscCall(MuonCompressorGetAlpha(c, X->m, X->n, &alpha));
    TestCheck(alpha == rows[r].alpha, "%s: alpha of everything is %g", rows[r].choice, (double)alpha);
    if (bound == 0) {
      PetscCall(Tune(c, "values natural"));
      PetscCall(Apply(c, 5, X, Y));
      PetscCall(Apply(dense, 5, X, Z));
      TestCheck(Same(Y, Z), "%s: natural values are not those of natural", rows[r].choice);
    }
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Repeated compression of what is missing: the receiver contracts by alpha at each message, and has all after
   as many as it takes, and not before. What is rounded at random contracts in expectation only, as
   compressor_random shows
*/
static PetscErrorCode CheckResidual(void)
{
  static const struct {
    const char *choice;
    PetscInt    m, n;
    PetscInt    steps; /* after which all is there, 0 where that does not come */
  } rows[] = {{"sign values single", 20, 30, 0},
              {"topk ratio 0.1 values native", 20, 30, 10},
              {"topk ratio 0.1 values single", 20, 30, 0},
              {"topk ratio 0.3 values bf16", 20, 30, 0},
              {"nearest", 20, 30, 0},
              {"truncated", 20, 30, 0},
              {"bf16", 20, 30, 0},
              {"damping ratio 0.6 values bf16", 20, 30, 0},
              {"damping ratio 0.3 values single", 20, 30, 0},
              {"rankk ratio 0.1 values native", 20, 30, 10},
              {"rankk ratio 0.3 values single", 20, 30, 0},
              {"rankk ratio 0.3 values bf16", 20, 30, 0},
              {"columntopk ratio 0.3 values double", 10, 10, 4},
              {"columntopk ratio 0.1 values double", 10, 10, 10},
              {"columntopk ratio 1 values double", 9, 5, 1},
              {"rowtopk ratio 1 values double", 5, 9, 1},
              {"columntopk ratio 0.34 values double", 20, 6, 3},
              {"rowtopk ratio 0.3 values double", 10, 10, 4},
              {"rowtopk ratio 0.1 values double", 10, 10, 10},
              {"rowtopk ratio 0.34 values double", 6, 20, 3}};

  PetscFunctionBegin;
  for (size_t r = 0; r < 2 * PETSC_STATIC_ARRAY_LENGTH(rows); r++) {
    const size_t   k = r / 2;
    const PetscInt m = r % 2 == 0 ? rows[k].m : rows[k].n, n = r % 2 == 0 ? rows[k].n : rows[k].m;
    MuonCompressor c;
    Matrix         X, G;
    Message        M;
    PetscReal      alpha;
    PetscBool      there;
    double         before, after, all, rounding = PetscSqr(20 * (double)PetscMax(m, n) * TEST_EPSILON);

    /* Of columns and rows the number of steps depends on the shape */
    if (r % 2 == 1 && (strncmp(rows[k].choice, "column", 6) == 0 || strncmp(rows[k].choice, "row", 3) == 0)) continue;
    PetscCall(Make(&c, rows[k].choice));
    PetscCall(New(m, n, &X, &G));
    PetscCall(NewMessage(&M));
    Random(X, 1);
    PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
    TestCheck(alpha > 0 && alpha <= 1, "%s: alpha is %g", rows[k].choice, (double)alpha);
    before = all = Squares(X, NULL);
    for (PetscInt step = 1; step <= 12; step++) {
      PetscCall(MuonCompressorSetStep(c, step));
      PetscCall(Send(c, X, G, M));
      PetscCall(Decode(c, M, PETSC_TRUE, 1, G));
      after = Squares(X, G);
      TestMost(rows[k].choice, after, (1 - (double)alpha) * before + rounding * all);
      before = after;
      if (rows[k].steps == 0 || step > rows[k].steps) continue;
      there = Is(c, "rankk") && after <= rounding * all ? PETSC_TRUE : Same(X, G);
      TestCheck(there == (step == rows[k].steps), "%s: %g are missing after %d messages", rows[k].choice, after, (int)step);
    }
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||C(X) - X||^2 / ||X||^2 in l_{p,q} over columns, q == 0 being the Frobenius norm */
static PetscErrorCode Left(MuonCompressor c, Matrix X, Matrix Y, double p, double q, double *left)
{
  double all = 0, rest = 0;

  PetscFunctionBegin;
  PetscCall(Apply(c, 5, X, Y));
  if (q == 0) p = q = 2;
  for (PetscInt j = 0; j < X->n; j++) {
    double before = 0, after = 0;

    for (PetscInt i = 0; i < X->m; i++) {
      before += pow(fabs(Get(X, i, j)), p);
      after += pow(fabs(Get(X, i, j) - Get(Y, i, j)), p);
    }
    all += pow(before, q / p);
    rest += pow(after, q / p);
  }
  *left = pow(rest / all, 2 / q);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckColumns(void)
{
  const PetscInt m = 16, n = 10;
  /* The norm, the entry of a column of equal entries with the length 1, and whether random columns are tried */
  static const struct {
    const char *p;
    double      entry;
    PetscBool   random;
  } rows[] = {{"1", 0.0625, PETSC_TRUE}, {"1.5", 0, PETSC_TRUE}, {"2", 0.25, PETSC_TRUE}, {"4", 0.5, PETSC_TRUE}, {"inf", 1, PETSC_FALSE}};
  MuonCompressor c;
  Matrix         X, Y;
  PetscReal      alpha;
  double         left, slack = 100 * TEST_EPSILON;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(rows) * (n - 1); r++) {
    const PetscInt k = r / (n - 1), kept = 1 + r % (n - 1);
    const double   p = strtod(rows[k].p, NULL);

    PetscCall(Make(&c, "columntopk ratio 0.%d line_norm %s values native", (int)kept, rows[k].p));
    PetscCall(New(m, n, &X, &Y));
    PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
    for (PetscInt draw = 0; draw < 20 && kept % 3 == 1 && rows[k].random; draw++) {
      Random(X, 1);
      /*
         Columns between one entry and all, where the norms differ most, and of one length in every other
         draw: only the order of the columns tells them apart then
      */
      for (PetscInt e = 0; e < m * n; e++) {
        if (e / n > (PetscInt)(Bits() % (unsigned long long)m)) Set(X, e / n, e % n, 0);
        else if (draw % 2 == 0) Set(X, e / n, e % n, 1);
      }
      for (int q = 0; q < 4; q++) {
        const double bound = q == 0 ? 1 - (double)alpha : pow(1 - (double)kept / n, 2.0 / q);

        PetscCall(Left(c, X, Y, p, q, &left));
        TestCheck(left <= bound + slack, "l%s,%d, %d columns: %g is left of %g", rows[k].p, q, (int)kept, left, bound);
      }
    }
    /*
       No larger constant is true: all columns have the same l_p norm, the first ones, which are kept, the least
       in l_2: one entry for p > 2, entries that are all alike for p < 2
    */
    for (PetscInt e = 0; e < m * n && rows[k].entry > 0; e++) Set(X, e / n, e % n, (e % n < kept) == (p < 2) ? rows[k].entry : e / n == 3);
    if (rows[k].entry > 0) PetscCall(Left(c, X, Y, 2, 0, &left));
    if (rows[k].entry > 0) TestNear(rows[k].p, left, 1 - (double)alpha, slack);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The constant of quantized blocks against matrices made for the worst: with the norm max one entry of each block at the last
   level and the others at y = s / (s + sqrt(s^2 + B - 1)), with l2 all at 1/2 and so many at 3/2 that the
   squares add up. So much of 1 - alpha is reached; 0: there is a constant where the variance stays below the
   square, and nowhere else
*/
static PetscErrorCode CheckBlocks(void)
{
  static const struct {
    int         bits, length;
    const char *norm;
    double      reached;
  } rows[] = {{3, 64, "max", 0.97}, {4, 256, "max", 0.97}, {5, 512, "max", 0.97}, {8, 1024, "max", 0.97}, /* of the first norm */
              {4, 512, "max", 0},   {2, 64, "max", 0},     {4, 128, "l2", 0.9},   {5, 512, "l2", 0.97},   {5, 256, "l2", 0.9}};
  /* Blocks of up to so many entries have a constant: the table of the man page */
  static const int longest[2][6] = {{64, 256, 1024, 4096, 16384, 65536}, {32, 128, 512, 2048, 8192, 32768}};
  const int        draws         = 60;
  MuonCompressor   c;
  Matrix           X, Y;
  PetscReal        alpha, one, none;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    const int s = (1 << (rows[k].bits - 1)) - 1, B = rows[k].length, high = rows[k].norm[0] == 'm' ? 0 : (4 * s * s - B) / 8;
    double    omega = 0, error;

    PetscCall(Make(&c, "qsgd bits %d qsgd_block_length %d qsgd_block_norm %s", rows[k].bits, B, rows[k].norm));
    PetscCall(New(B, 4096 / B, &X, &Y));
    for (PetscInt e = 0; e < 4096; e++) {
      const double x = rows[k].norm[0] == 'l' ? (e % B < high ? 1.5 : 0.5) : e % B == B / 3 ? 1 : 1 / (s + sqrt(s * s + B - 1));

      SetAt(X, e, e % 2 == 0 ? x : -x);
    }
    for (int draw = 0; draw < draws; draw++) {
      PetscCall(Error(c, draw, X, Y, &error));
      omega += error / draws;
    }
    PetscCall(MuonCompressorGetAlpha(c, X->m, X->n, &alpha));
    /* draws x 4096 errors, each of which deviates by less than half the square of a level: far less than a percent of all */
    TestCheck(rows[k].reached > 0 ? alpha > 0 : alpha == -1 && omega > 1, "Row %d: the variance is %g, alpha %g", (int)k, omega, (double)alpha);
    TestMost(rows[k].norm, omega, rows[k].reached > 0 ? 1.01 * (1 - (double)alpha) : HUGE_VAL);
    TestMost(rows[k].norm, rows[k].reached * (1 - (double)alpha), omega);
    PetscCall(Free(0));
  }
  for (int k = 0; k < 7 * 2 * 13 * 5; k++) {
    const int       bits = 2 + k % 7, norm = k / 7 % 2, length = 16 << k / 14 % 13, values = k / 182;
    const PetscBool known   = bits > 2 && length <= longest[norm][bits - 3] ? PETSC_TRUE : PETSC_FALSE;
    const PetscBool natural = values == MUON_COMPRESSOR_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(Make(&c, "qsgd bits %d qsgd_block_length %d values %s", bits, length, MuonCompressorValuesTypes[values]));
    PetscCall(Tune(c, "qsgd_block_norm %s", MuonCompressorBlockNorms[norm]));
    PetscCall(MuonCompressorGetAlpha(c, 300, 300, &alpha));
    TestCheck((alpha > 0 || alpha == -1) && alpha < 1, "%d bits, blocks of %d, norm %d: alpha is %g", bits, length, norm, (double)alpha);
    TestCheck(natural ? known || alpha == -1 : (alpha > 0) == known, "%d bits, blocks of %d: alpha is %g", bits, length, (double)alpha);
    /* A layer shorter than a block, and none */
    PetscCall(MuonCompressorGetAlpha(c, 1, 1, &one));
    PetscCall(MuonCompressorGetAlpha(c, 0, 4, &none));
    TestCheck((norm == 1 || natural || one > (PetscReal)0.98) && none == 1, "One entry: alpha is %g, none: %g", (double)one, (double)none);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Two constants at their ends. Of a flat spectrum without its last value nothing is gained in the spectral
   norm, and by rounding nothing is lost. A single entry just above 1 has the natural scale 2, is one and a
   half of its three levels, and goes to one or two of them: its error is a third of it, whatever is drawn
*/
static PetscErrorCode CheckEnds(void)
{
  const double   x = 1 + 1.0 / 1048576;
  MuonCompressor c;
  Matrix         X, Y;
  PetscReal      alpha;
  double         error;

  PetscFunctionBegin;
  PetscCall(Make(&c, "topsvd topsvd_schatten inf rank 4 values native"));
  PetscCall(New(5, 5, &X, &Y));
  for (PetscInt k = 0; k < 40; k++) {
    for (PetscInt i = 0; i < 5; i++) Set(X, i, i, 1 + (double)k / 41);
    PetscCall(Error(c, k, X, Y, &error));
  }
  PetscCall(Make(&c, "qsgd values natural bits 3"));
  PetscCall(MuonCompressorGetAlpha(c, 1, 1, &alpha));
  PetscCall(New(1, 1, &X, &Y));
  Set(X, 0, 0, x);
  for (PetscInt k = 0; k < 10; k++) {
    PetscCall(Error(c, k, X, Y, &error));
    TestCheck(alpha > (PetscReal)0.88 && error <= 1 - (double)alpha, "A natural scale has the error %g, alpha %g", error, (double)alpha);
    TestNear("natural scale", error, 1 - (double)alpha, 1e-4);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  known = 0;
  PetscBool more;
  Choice    choice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(4));
  for (PetscInt k = 0;; k++) {
    PetscCall(GetChoice(k, choice, &more));
    if (!more) break;
    PetscCall(CheckBound(choice, &known));
  }
  TestCheck(known > 20, "%d choices have a constant", (int)known);
  PetscCall(CheckReached());
  PetscCall(CheckNumbers());
  PetscCall(CheckDropout(0.5));
  PetscCall(CheckDropout(0.07));
  PetscCall(CheckDropout(1));
  PetscCall(CheckExamples());
  PetscCall(CheckAlphas());
  PetscCall(CheckEverything());
  PetscCall(CheckResidual());
  PetscCall(CheckColumns());
  PetscCall(CheckBlocks());
  PetscCall(CheckEnds());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
