static char help[] = "Constants of contraction: no input exceeds them, worst cases reach them, and worked examples.\n";

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

/*
   Doubles are rounded to binary32 first: 3/2 - 2^-24 goes to 3/2, what is below 2 - 2^-24 to the number
   before 2
*/
#if defined(PETSC_USE_REAL_SINGLE)
  #define MIDDLE_VALUE   ((PetscScalar)1.5)
  #define BELOWTWO_VALUE (2 - (PetscScalar)1 / 8388608)
#else
  #define MIDDLE_VALUE   (1.5 - 1.0 / 16777216)
  #define BELOWTWO_VALUE (2 - 1.0 / 16777216 - 1.0 / 1099511627776.0)
#endif

static const char *const inputs[] = {"gaussian", "heavy-tailed", "flat", "one-hot", "eye", "4/3 2^a", "1.5 2^a", "almost 2^a", "(1 + 2^-8) 2^a"};

/* Powers of two of both signs, different from entry to entry, times a number */
static PetscScalar Power(PetscInt e, PetscScalar x)
{
  return (e % 3 == 1 ? -x : x) * PetscPowRealInt(2.0, (int)(e * 7 % 11) - 5);
}

static PetscErrorCode Fill(Mat X, Input input)
{
  unsigned long long state = 100 + (unsigned long long)input;
  PetscInt           m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  for (PetscInt e = 0; e < m * n; e++) {
    PetscScalar x = 0;

    switch (input) {
    case GAUSSIAN:
      x = TestNormal(&state);
      break;
    case HEAVY:
      x = TestNormal(&state) * PetscExpReal(2 * TestNormal(&state));
      break;
    case FLAT:
      x = e % 2 == 0 ? -0.75 : 0.75;
      break;
    case ONEHOT:
      x = e == 40 ? -2.5 : 0.0;
      break;
    case EYE:
      x = e / n == e % n ? 3.0 : 0.0;
      break;
    case FOURTHIRDS:
      x = Power(e, (PetscScalar)4 / 3);
      break;
    case MIDDLE:
      x = Power(e, MIDDLE_VALUE);
      break;
    case BELOWTWO:
      x = Power(e, BELOWTWO_VALUE);
      break;
    default:
      x = Power(e, 1 + (PetscScalar)1 / 256);
    }
    PetscCall(TestMatSet(X, e / n, e % n, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether one message is like the other; a type that is not known here may draw */
static PetscErrorCode IsDeterministic(const TestChoice *choice, PetscBool *is)
{
  const struct {
    const char *type;
    PetscBool   naturaldraws; /* natural values are drawn at random */
  } known[] = {{MUONCOMPRESSORIDENTITY, PETSC_FALSE}, {MUONCOMPRESSORNEAREST, PETSC_FALSE}, {MUONCOMPRESSORTRUNCATED, PETSC_FALSE}, {MUONCOMPRESSORBF16, PETSC_FALSE},   {MUONCOMPRESSORDAMPING, PETSC_TRUE}, {MUONCOMPRESSORSIGN, PETSC_TRUE},
               {MUONCOMPRESSORTOPK, PETSC_TRUE},      {MUONCOMPRESSORTOPSVD, PETSC_TRUE},   {MUONCOMPRESSORCOLUMNTOPK, PETSC_TRUE}, {MUONCOMPRESSORROWTOPK, PETSC_TRUE}, {MUONCOMPRESSORRANKK, PETSC_TRUE}};

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(known); k++) {
    PetscBool same;

    PetscCall(TestIs(choice, known[k].type, &same));
    if (same) *is = known[k].naturaldraws == PETSC_FALSE || choice->values != MUON_COMPRESSOR_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||C(X) - X||^2 in the step of that number */
static PetscErrorCode Error(MuonCompressor c, PetscInt step, Mat X, Mat Y, double *error)
{
  MuonStatus status;
  PetscReal  squares;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetStep(c, step));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_OK, "Status %s", MuonStatuses[status]);
  PetscCall(TestMatAxpby(-1.0, X, 1.0, Y));
  squares = 0;
  PetscCall(TestMatSquares(Y, &squares));
  *error = (double)squares;
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
static PetscErrorCode CheckBound(const TestChoice *choice, PetscBool *known)
{
  MuonCompressor c;
  Mat            X, Y;
  PetscReal      alpha, all = 0;
  PetscBool      deterministic, product, blocks;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  PetscCall(TestMatCreate(M, N, 1, &X));
  PetscCall(TestMatCreate(M, N, 0, &Y));
  PetscCall(IsDeterministic(choice, &deterministic));
  PetscCall(MuonCompressorGetAlpha(c, M, N, &alpha));
  TestCheck(alpha == -1.0 || (alpha >= 0.0 && alpha <= 1.0), "%s: alpha is %g", choice->type, (double)alpha);
  *known = alpha >= 0.0 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(TestIs(choice, MUONCOMPRESSORRANKK, &product));
  if (product == PETSC_FALSE) PetscCall(TestIs(choice, MUONCOMPRESSORTOPSVD, &product));
  PetscCall(TestIs(choice, MUONCOMPRESSORQSGD, &blocks));
  for (int input = 0; input < NINPUTS && *known == PETSC_TRUE; input++) {
    const PetscInt draws = deterministic == PETSC_TRUE ? 1 : product == PETSC_TRUE ? 400 : 1500;
    const double   L = 21.4, B = product == PETSC_TRUE ? 0 : blocks == PETSC_TRUE ? 4 : 1;
    double         sum = 0, squares = 0, mean, slack;

    PetscCall(Fill(X, (Input)input));
    PetscCall(TestMatSquares(X, &all));
    for (PetscInt k = 0; k < draws; k++) {
      double error = 0;

      PetscCall(Error(c, k, X, Y, &error));
      sum += error / (double)all;
      squares += PetscSqr(error / (double)all);
    }
    mean  = sum / draws;
    slack = deterministic == PETSC_TRUE ? 0.0 : sqrt(2 * PetscMax(squares / draws - mean * mean, 0.0) * L / (draws - 1)) + 7 * B * L / (3 * (draws - 1));
    TestCheck(mean <= 1 - (double)alpha + slack + 2 * D * (double)PETSC_MACHINE_EPSILON, "%s %g %s, %s: the error is %g, alpha %g, slack %g", choice->type, (double)choice->ratio, MuonCompressorValuesTypes[choice->values], inputs[input], mean,
              (double)alpha, slack);
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Inputs for which 1 - alpha is reached: no larger constant would be true. Within so much of ||X||^2, where
   the worst case is a limit
*/
static PetscErrorCode CheckReached(void)
{
  const struct {
    TestChoice choice;
    Input      input;
    double     within;
  } table[] = {{{MUONCOMPRESSORNEAREST, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, MIDDLE, 0},    {{MUONCOMPRESSORTRUNCATED, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, BELOWTWO, 2.4e-7},
               {{MUONCOMPRESSORBF16, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, TIE, 2.4e-7},     {{MUONCOMPRESSORDAMPING, 0.7, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, HEAVY, 0},
               {{MUONCOMPRESSORDAMPING, 0.25, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, GAUSSIAN, 0}, {{MUONCOMPRESSORTOPK, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, FLAT, 0},
               {{MUONCOMPRESSORTOPSVD, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, EYE, 0},        {{MUONCOMPRESSORCOLUMNTOPK, 0.4, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, FLAT, 0},
               {{MUONCOMPRESSORROWTOPK, 0.4, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, EYE, 0},       {{MUONCOMPRESSORSIGN, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, ONEHOT, 0},
               {{MUONCOMPRESSORRANKK, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, EYE, 0},         {{MUONCOMPRESSORRANKK, 0.3, 5, MUON_COMPRESSOR_VALUES_NATIVE, 0}, EYE, 0}};
  Mat X, Y;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 1, &X));
  PetscCall(TestMatCreate(M, N, 0, &Y));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    MuonCompressor c;
    PetscReal      alpha, all = 0;
    double         error = 0;

    PetscCall(TestCreate(&table[k].choice, &c));
    PetscCall(Fill(X, table[k].input));
    PetscCall(TestMatSquares(X, &all));
    PetscCall(Error(c, 0, X, Y, &error));
    PetscCall(MuonCompressorGetAlpha(c, M, N, &alpha));
    TestCheck(PetscAbs(error / (double)all - (1 - (double)alpha)) <= table[k].within + 2 * D * (double)PETSC_MACHINE_EPSILON, "%s, %s: the error is %g, alpha %g", table[k].choice.type, inputs[table[k].input], error / (double)all, (double)alpha);
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Natural compression of one double x, exactly: of its binary32 f in [1, 2) it makes 2 with probability f -
   1. The constant holds where f is furthest from x, and is reached there but for the variance of f beside 4/3
*/
static PetscErrorCode CheckNatural(void)
{
  const TestChoice choice = {MUONCOMPRESSORNATURAL, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0};
  MuonCompressor   c;
  PetscReal        alpha;
  double           worst = 0;

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, &c));
  PetscCall(MuonCompressorGetAlpha(c, 1, 1, &alpha));
  for (int k = -1000; k <= 1000; k++) {
    const PetscScalar x = (PetscScalar)(11184811.0 / 8388608 + k / 33554432.0);
    const double      d = (double)x, f = (double)(float)x;

    worst = PetscMax(worst, ((2 - d) * (2 - d) * (f - 1) + (1 - d) * (1 - d) * (2 - f)) / (d * d));
  }
  TestCheck(worst <= 1 - (double)alpha + 4e-16 && worst >= 1 - (double)alpha - 1e-7, "natural loses %.12g of a square, alpha is %.12g", worst, (double)alpha);
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   r x is rounded before it is written: with an error as close to (1 - r)^2 as the last places of PetscReal
   show
*/
static PetscErrorCode CheckDamping(PetscReal r)
{
  const TestChoice choice = {MUONCOMPRESSORDAMPING, r, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_DOUBLE, 0};
  MuonCompressor   c;
  PetscReal        alpha;
  double           worst = 0, left = 1 - (double)r;

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, &c));
  PetscCall(MuonCompressorGetAlpha(c, 1, 1, &alpha));
  for (int k = 0; k < 4096; k++) {
    const PetscScalar x = 1 + (PetscScalar)k / 4096, y = r * x;

    worst = PetscMax(worst, PetscSqr((double)(x - y) / (double)x));
  }
  TestCheck(worst <= 1 - (double)alpha && 1 - (double)alpha <= left * left + 4 * (double)PETSC_MACHINE_EPSILON, "damping by %g loses %.12g of a square, alpha is %.12g", (double)r, worst, (double)alpha);
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All or nothing: what is sent is X, as often as the coin says. Of S coins p S fall so, within 6 standard
   deviations but for a chance of 2e-9, which makes C(X) / p unbiased and p the constant, exactly. With
   natural values the sent ones are those of the type natural in the same step
*/
static PetscErrorCode CheckDropout(PetscReal p)
{
  const TestChoice choice = {MUONCOMPRESSORDROPOUT, p, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, natural = {MUONCOMPRESSORNATURAL, p, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0};
  const PetscInt   draws = 3000;
  MuonCompressor   c, rounds;
  Mat              X, Y, Z;
  PetscReal        alpha, squares = 0;
  PetscInt         sent = 0;
  PetscBool        same;

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, &c));
  PetscCall(TestCreate(&natural, &rounds));
  PetscCall(TestMatCreate(3, 4, 1, &X));
  PetscCall(TestMatCreate(3, 4, 0, &Y));
  PetscCall(TestMatCreate(3, 4, 0, &Z));
  PetscCall(Fill(X, HEAVY));
  for (PetscInt k = 0; k < draws; k++) {
    PetscBool one;

    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatSquares(Y, &squares));
    one = squares > 0 ? PETSC_TRUE : PETSC_FALSE;
    if (one) {
      PetscCall(TestMatSame(X, Y, &same));
      TestCheck(same, "What was sent is not what was given");
    }
    sent += one;
    if (k < 200) {
      PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "natural"));
      PetscCall(MuonCompressorApply(c, X, Y));
      PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "native"));
      PetscCall(MuonCompressorSetStep(rounds, k));
      PetscCall(MuonCompressorApply(rounds, X, Z));
      if (!one) PetscCall(MatZeroEntries(Z));
      PetscCall(TestMatSame(Y, Z, &same));
      TestCheck(same, "Natural values differ from those of natural");
    }
  }
  TestCheck(PetscAbs((double)sent - draws * (double)p) <= 6 * sqrt(draws * (double)p * (1 - (double)p)), "%" PetscInt_FMT " of %" PetscInt_FMT " were sent with probability %g", sent, draws, (double)p);
  PetscCall(MuonCompressorGetAlpha(c, 3, 4, &alpha));
  TestCheck(alpha == p, "alpha is %g with probability %g", (double)alpha, (double)p);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&rounds));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = [[3, 0], [4, 0], [0, 2]], what becomes of it, and how much of its square 29 that keeps */
static PetscErrorCode CheckExamples(void)
{
  const PetscScalar a[6] = {3, 0, 4, 0, 0, 2};
  const struct {
    TestChoice  choice;
    PetscScalar expected[6];
    double      alpha;
  } table[] = {{{MUONCOMPRESSORIDENTITY, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, {3, 0, 4, 0, 0, 2}, 1},
               {{MUONCOMPRESSORRANKK, 0.1, 1, MUON_COMPRESSOR_VALUES_NATIVE, 0}, {3, 0, 4, 0, 0, 0}, 25.0 / 29},
               {{MUONCOMPRESSORTOPSVD, 0.1, 1, MUON_COMPRESSOR_VALUES_NATIVE, 0}, {3, 0, 4, 0, 0, 0}, 25.0 / 29},
               {{MUONCOMPRESSORCOLUMNTOPK, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, {3, 0, 4, 0, 0, 0}, 25.0 / 29},
               {{MUONCOMPRESSORROWTOPK, 0.4, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, {0, 0, 4, 0, 0, 0}, 16.0 / 29},
               {{MUONCOMPRESSORSIGN, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, 81.0 / 174},
               {{MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, {0, 0, 4, 0, 0, 0}, 16.0 / 29},
               {{MUONCOMPRESSORNEAREST, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, {4, 0, 4, 0, 0, 2}, 28.0 / 29},
               {{MUONCOMPRESSORTRUNCATED, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, {2, 0, 4, 0, 0, 2}, 28.0 / 29},
               {{MUONCOMPRESSORBF16, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, {3, 0, 4, 0, 0, 2}, 1},
               {{MUONCOMPRESSORDAMPING, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, {1.5, 0, 2, 0, 0, 1}, 0.75}};
  MuonCompressor c;
  Mat            A, B;
  PetscInt       count[2] = {0, 0};

  PetscFunctionBegin;
  PetscCall(TestMatCreate(3, 2, 2, &A));
  PetscCall(TestMatCreate(3, 2, 1, &B));
  for (PetscInt e = 0; e < 6; e++) PetscCall(TestMatSet(A, e / 2, e % 2, a[e]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    PetscScalar *b;
    double       error = 0;

    PetscCall(TestCreate(&table[k].choice, &c));
    PetscCall(MuonCompressorApply(c, A, B));
    PetscCall(TestMatGet(B, PETSC_TRUE, &b));
    for (PetscInt e = 0; e < 6; e++) {
      /* 5 is the largest singular value */
      TestCheck(PetscAbsScalar(b[e] - table[k].expected[e]) <= 20 * PETSC_MACHINE_EPSILON * 5, "%s: entry %" PetscInt_FMT " is %g, expected %g", table[k].choice.type, e, (double)b[e], (double)table[k].expected[e]);
    }
    PetscCall(PetscFree(b));
    PetscCall(Error(c, 5, A, B, &error));
    TestCheck(PetscAbs(1 - error / 29 - table[k].alpha) <= 20 * (double)PETSC_MACHINE_EPSILON, "%s: %g is kept, expected %g", table[k].choice.type, 1 - error / 29, table[k].alpha);
    PetscCall(MuonCompressorDestroy(&c));
  }
  /*
     Natural leaves 4 and 2 and makes 2 or 4 of 3, each with probability 1/2: of 1000 draws 500, within 6
     standard deviations of sqrt(250)
  */
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORNATURAL));
  for (PetscInt k = 0; k < 1000; k++) {
    PetscScalar *b;

    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(MuonCompressorApply(c, A, B));
    PetscCall(TestMatGet(B, PETSC_TRUE, &b));
    TestCheck((b[0] == 2.0 || b[0] == 4.0) && b[1] == 0.0 && b[2] == 4.0 && b[3] == 0.0 && b[4] == 0.0 && b[5] == 2.0, "natural made %g of 3, %g of 4, %g of 2", (double)b[0], (double)b[2], (double)b[5]);
    count[b[0] == 4.0]++;
    PetscCall(PetscFree(b));
  }
  TestCheck(PetscAbs(count[0] - 500) <= 94, "3 became 2 in %" PetscInt_FMT " of 1000 draws", count[0]);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&A));
  PetscCall(TestMatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  TestChoice choices[TEST_MOST_CHOICES];
  PetscInt   nchoices = 0, bounds = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestGetChoices(&nchoices, choices));
  for (PetscInt k = 0; k < nchoices; k++) {
    PetscBool known = PETSC_FALSE;

    PetscCall(CheckBound(&choices[k], &known));
    bounds += known;
  }
  TestCheck(bounds > 20, "%" PetscInt_FMT " choices have a constant", bounds);
  PetscCall(CheckReached());
  PetscCall(CheckNatural());
  PetscCall(CheckDamping((PetscReal)0.998));
  PetscCall(CheckDamping((PetscReal)0.9));
  PetscCall(CheckDropout(0.5));
  PetscCall(CheckDropout(0.07));
  PetscCall(CheckDropout(1.0));
  PetscCall(CheckExamples());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
