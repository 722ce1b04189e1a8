static char help[] = "Constants of contraction: no input exceeds them, and worst cases reach them.\n";

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

/*
   With all that there is nothing changes but by the rounding of the values, or of a decomposition. The second message is another one of
   powersgd
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

int main(int argc, char **argv)
{
  PetscInt known = 0;
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
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
