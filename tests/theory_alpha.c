static char help[] = "Constants of contraction in the norms of theorems: no input exceeds them in any norm, worst cases reach them.\n";

#include "compressor_common.h"
#include <petscmuon/private/muonlmoimpl.h>

enum {
  M     = 6,
  N     = 9,
  D     = M * N,
  DRAWS = 100
};

typedef enum {
  GAUSSIAN,
  HEAVY,
  FLAT,
  ONEHOT,
  EYE, /* all singular values alike, one entry in each row */
  ONECOLUMN,
  NINPUTS
} Input;

static const struct {
  MuonLMOType type;
  const char *p, *q; /* of those that have exponents */
} Norms[] = {{MUONLMOSPECTRAL, NULL, NULL}, {MUONLMONUCLEAR, NULL, NULL}, {MUONLMOSCHATTEN, "4", NULL}, {MUONLMOFROBENIUS, NULL, NULL}, {MUONLMOMAX, NULL, NULL},   {MUONLMOL1, NULL, NULL}, {MUONLMOCOLUMN, NULL, NULL},
             {MUONLMOROW, NULL, NULL},      {MUONLMOCOLSUM, NULL, NULL},  {MUONLMOROWSUM, NULL, NULL},  {MUONLMOL21, NULL, NULL},       {MUONLMOMIXED, "1.5", "1"}, {MUONLMOMIXED, "3", "3"}};
#define NNORMS ((int)PETSC_STATIC_ARRAY_LENGTH(Norms))

static void Fill(Matrix X, Input input)
{
  Test.state = 7 + (unsigned long long)input;
  for (PetscInt e = 0; e < D; e++) {
    const double x = Normal(), y = Normal();
    double       value = x;

    if (input == HEAVY) value = x * exp(2 * y);
    else if (input == FLAT) value = e % 2 == 0 ? -0.75 : 0.75;
    else if (input == ONEHOT) value = e == 40 ? -2.5 : 0;
    else if (input == EYE) value = e / N == e % N ? 3 : 0;
    else if (input == ONECOLUMN) value = e % N == 4 ? x : 0;
    Set(X, e / N, e % N, value);
  }
}

static PetscErrorCode CreateNorm(int k, MuonLMO *lmo, MuonNorm *norm)
{
  PetscBool known;

  PetscFunctionBegin;
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, lmo));
  PetscCall(MuonLMOSetType(*lmo, Norms[k].type));
  if (Norms[k].q != NULL) PetscCall(MuonObjectSetParameter((PetscObject)*lmo, "lmo_mixed_exponent_p", Norms[k].p));
  if (Norms[k].q != NULL) PetscCall(MuonObjectSetParameter((PetscObject)*lmo, "lmo_mixed_exponent_q", Norms[k].q));
  else if (Norms[k].p != NULL) PetscCall(MuonObjectSetParameter((PetscObject)*lmo, "lmo_schatten_exponent", Norms[k].p));
  PetscCall(MuonLMOGetNorm(*lmo, norm, &known));
  TestCheck(known, "The norm %s is not known", Norms[k].type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean of ||C(X) - X||^2 / ||X||^2 and what it may be above its expectation: those of compressor_constants.c, with errors of at most ||X||^2 */
static PetscErrorCode Measure(MuonCompressor c, PetscBool drawn, MuonLMO lmo, Matrix X, Matrix Y, double *mean, double *slack)
{
  const double L       = 21.4;
  double       squares = 0;
  PetscReal    norm, error;

  PetscFunctionBegin;
  *mean = 0;
  PetscCall(MuonLMOComputeNorm(lmo, X->mat, &norm));
  for (PetscInt k = 0; k < DRAWS; k++) {
    double one;

    PetscCall(Apply(c, k, X, Y));
    Axpby(-1, X, 1, Y);
    PetscCall(MuonLMOComputeNorm(lmo, Y->mat, &error));
    one = PetscSqr((double)error / (double)norm);
    *mean += one / DRAWS;
    squares += one * one / DRAWS;
    if (drawn == PETSC_FALSE) {
      *mean   = one;
      squares = one * one;
      break;
    }
  }
  squares = PetscMax(squares - *mean * *mean, 0.0);
  *slack  = 4 * D * (double)PETSC_MACHINE_EPSILON + (drawn ? sqrt(2 * squares * L / (DRAWS - 1)) + 7 * L / (3 * (DRAWS - 1)) : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckBounds(const char choice[], int k, PetscInt *known)
{
  const MuonArray shape = MuonArrayOfScalars(M, N, NULL, M);
  MuonCompressor  c;
  MuonLMO         lmo;
  MuonNorm        norm;
  Matrix          X, Y;
  PetscReal       alpha;
  PetscBool       drawn;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  drawn = c->values == MUON_COMPRESSOR_VALUES_NATURAL ? PETSC_TRUE : Is(c, "natural randk dropout qsgd");
  PetscCall(CreateNorm(k, &lmo, &norm));
  PetscCall(New(M, N, &X, &Y));
  PetscCall(MuonCompressorGetAlphaOf(c, &shape, &norm, &alpha));
  TestCheck(alpha == -1 || (alpha > 0 && alpha <= 1), "%s in %s: alpha is %g", choice, Norms[k].type, (double)alpha);
  if (alpha > 0) *known += 1;
  for (int input = 0; input < NINPUTS && alpha > 0; input++) {
    double mean = 0, slack = 0;

    Fill(X, (Input)input);
    PetscCall(Measure(c, drawn, lmo, X, Y, &mean, &slack));
    TestCheck(mean <= 1 - (double)alpha + slack, "%s in %s, input %d: the error is %g, alpha %g", choice, Norms[k].type, input, mean, (double)alpha);
  }
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the definitions: what the worst input leaves */
static PetscErrorCode CheckReached(void)
{
  static const struct {
    const char *choice;
    int         norm; /* in Norms */
    Input       input;
    double      error; /* relative, of the square; -1 where there is no constant */
  } table[]             = {{"topk ratio 0.5 values native", 5, FLAT, 0.25},
                           {"topk ratio 0.5 values native", 12, FLAT, 0.62996052494743658},
                           {"topsvd ratio 0.5 values native", 1, EYE, 0.25},
                           {"topsvd ratio 0.5 values native", 2, EYE, 0.70710678118654757},
                           {"columntopk ratio 0.34 values native", 10, FLAT, 4.0 / 9},
                           {"damping ratio 0.75 values native", 0, HEAVY, 0.0625},
                           {"topk ratio 0.9 values native", 4, FLAT, -1},
                           {"topk ratio 0.5 values native", 0, FLAT, -1},
                           {"topsvd ratio 0.5 values native", 0, EYE, -1},
                           {"columntopk ratio 0.5 values native", 6, FLAT, -1},
                           {"sign ratio 0.5 values native", 5, FLAT, -1}};
  const MuonArray shape = MuonArrayOfScalars(M, N, NULL, M);
  Matrix          X, Y;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    MuonCompressor c;
    MuonLMO        lmo;
    MuonNorm       norm;
    PetscReal      alpha;
    double         mean = 0, slack = 0, expected = table[k].error;

    PetscCall(New(M, N, &X, &Y));
    PetscCall(Make(&c, table[k].choice));
    PetscCall(CreateNorm(table[k].norm, &lmo, &norm));
    Fill(X, table[k].input);
    PetscCall(Measure(c, PETSC_FALSE, lmo, X, Y, &mean, &slack));
    PetscCall(MuonCompressorGetAlphaOf(c, &shape, &norm, &alpha));
    TestCheck(expected >= 0 || alpha == -1, "%s in %s has the constant %g, expected none", table[k].choice, Norms[table[k].norm].type, (double)alpha);
    mean = PetscMax(fabs(mean - expected), fabs(1 - (double)alpha - expected));
    if (expected >= 0) TestMost(table[k].choice, mean, 64 * D * TEST_EPSILON);
    PetscCall(MuonLMODestroy(&lmo));
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt known = 0, tried = 0;
  Choice   choice;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(7));
  for (; TestChoice(tried, choice); tried++) {
    for (int k = 0; k < NNORMS; k++) PetscCall(CheckBounds(choice, k, &known));
  }
  TestCheck(known > 200, "Only %d of %d have a constant", (int)known, (int)tried * NNORMS);
  PetscCall(CheckReached());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:

TEST*/
