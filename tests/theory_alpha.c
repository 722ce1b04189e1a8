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

static PetscErrorCode Fill(Mat X, Input input)
{
  unsigned long long state = 7 + (unsigned long long)input;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < D; e++) {
    const PetscReal x = TestNormal(&state), y = TestNormal(&state);
    PetscScalar     value = x;

    if (input == HEAVY) value = x * PetscExpReal(2 * y);
    else if (input == FLAT) value = e % 2 == 0 ? -0.75 : 0.75;
    else if (input == ONEHOT) value = e == 40 ? -2.5 : 0;
    else if (input == EYE) value = e / N == e % N ? 3 : 0;
    else if (input == ONECOLUMN) value = e % N == 4 ? x : 0;
    PetscCall(TestMatSet(X, e / N, e % N, value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
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

/* The mean of ||C(X) - X||^2 / ||X||^2 and what it may be above its expectation: those of compressor_alpha.c, with errors of at most ||X||^2 */
static PetscErrorCode Measure(MuonCompressor c, PetscBool drawn, MuonLMO lmo, Mat X, Mat Y, double *mean, double *slack)
{
  const double L       = 21.4;
  double       squares = 0;
  PetscReal    norm, error;

  PetscFunctionBegin;
  *mean = 0;
  PetscCall(MuonLMOComputeNorm(lmo, X, &norm));
  for (PetscInt k = 0; k < DRAWS; k++) {
    double one;

    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatAxpby(-1.0, X, 1.0, Y));
    PetscCall(MuonLMOComputeNorm(lmo, Y, &error));
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

static PetscErrorCode CheckBounds(const TestChoice *choice, int k, PetscInt *known)
{
  const MuonArray shape = MuonArrayOfScalars(M, N, NULL, M);
  MuonCompressor  c;
  MuonLMO         lmo;
  MuonNorm        norm;
  Mat             X, Y;
  PetscReal       alpha;
  PetscBool       drawn;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)c, &drawn, MUONCOMPRESSORNATURAL, MUONCOMPRESSORRANDK, MUONCOMPRESSORDROPOUT, MUONCOMPRESSORQSGD, ""));
  if (choice->values == MUON_COMPRESSOR_VALUES_NATURAL) drawn = PETSC_TRUE;
  PetscCall(CreateNorm(k, &lmo, &norm));
  PetscCall(TestMatCreate(M, N, 1, &X));
  PetscCall(TestMatCreate(M, N, 0, &Y));
  PetscCall(MuonCompressorGetAlphaOf(c, &shape, &norm, &alpha));
  TestCheck(alpha == -1 || (alpha > 0 && alpha <= 1), "%s in %s: alpha is %g", choice->type, Norms[k].type, (double)alpha);
  if (alpha > 0) *known += 1;
  for (int input = 0; input < NINPUTS && alpha > 0; input++) {
    double mean = 0, slack = 0;

    PetscCall(Fill(X, (Input)input));
    PetscCall(Measure(c, drawn, lmo, X, Y, &mean, &slack));
    TestCheck(mean <= 1 - (double)alpha + slack, "%s %g %s in %s, input %d: the error is %g, alpha %g, slack %g", choice->type, (double)choice->ratio, MuonCompressorValuesTypes[choice->values], Norms[k].type, input, mean, (double)alpha, slack);
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the definitions: what the worst input leaves */
static PetscErrorCode CheckReached(void)
{
  const struct {
    TestChoice choice;
    int        norm; /* in Norms */
    Input      input;
    double     error; /* relative, of the square; -1 where there is no constant */
  } table[]             = {{{MUONCOMPRESSORTOPK, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 5, FLAT, 0.25},
                           {{MUONCOMPRESSORTOPK, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 12, FLAT, 0.62996052494743658},
                           {{MUONCOMPRESSORTOPSVD, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 1, EYE, 0.25},
                           {{MUONCOMPRESSORTOPSVD, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 2, EYE, 0.70710678118654757},
                           {{MUONCOMPRESSORCOLUMNTOPK, 0.34, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 10, FLAT, 4.0 / 9},
                           {{MUONCOMPRESSORDAMPING, 0.75, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0, HEAVY, 0.0625},
                           {{MUONCOMPRESSORTOPK, 0.9, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 4, FLAT, -1},
                           {{MUONCOMPRESSORTOPK, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0, FLAT, -1},
                           {{MUONCOMPRESSORTOPSVD, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0, EYE, -1},
                           {{MUONCOMPRESSORCOLUMNTOPK, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 6, FLAT, -1},
                           {{MUONCOMPRESSORSIGN, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 5, FLAT, -1}};
  const MuonArray shape = MuonArrayOfScalars(M, N, NULL, M);
  Mat             X, Y;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(M, N, 1, &X));
  PetscCall(TestMatCreate(M, N, 0, &Y));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    MuonCompressor c;
    MuonLMO        lmo;
    MuonNorm       norm;
    PetscReal      alpha;
    double         mean = 0, slack = 0, expected = table[k].error;

    PetscCall(TestCreate(&table[k].choice, &c));
    PetscCall(CreateNorm(table[k].norm, &lmo, &norm));
    PetscCall(Fill(X, table[k].input));
    PetscCall(Measure(c, PETSC_FALSE, lmo, X, Y, &mean, &slack));
    PetscCall(MuonCompressorGetAlphaOf(c, &shape, &norm, &alpha));
    if (expected == -1) TestCheck(alpha == -1, "%s in %s has the constant %g, expected none", table[k].choice.type, Norms[table[k].norm].type, (double)alpha);
    else if (expected >= 0)
      TestCheck(PetscAbs(mean - expected) <= 64 * D * (double)PETSC_MACHINE_EPSILON && PetscAbs(1 - (double)alpha - expected) <= 64 * D * (double)PETSC_MACHINE_EPSILON, "%s in %s: the error is %.12g, alpha %.12g, expected 1 - %.12g",
                table[k].choice.type, Norms[table[k].norm].type, mean, (double)alpha, expected);
    PetscCall(MuonCompressorDestroy(&c));
    PetscCall(MuonLMODestroy(&lmo));
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  TestChoice choices[TEST_MOST_CHOICES];
  PetscInt   nchoices = 0, known = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestGetChoices(&nchoices, choices));
  for (PetscInt i = 0; i < nchoices; i++) {
    for (int k = 0; k < NNORMS; k++) PetscCall(CheckBounds(&choices[i], k, &known));
  }
  TestCheck(known > 200, "Only %" PetscInt_FMT " of %" PetscInt_FMT " have a constant", known, nchoices * NNORMS);
  PetscCall(CheckReached());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:

TEST*/
