static char help[] = "Newton-Schulz on the Gram matrix: the same as without it, restarts, operations, and what an indefinite Gram matrix does.\n\n";

#include "polar_common.h"
#include <string.h>

static PetscErrorCode Apply(MuonPolar polar, Mat G, MuonStatus expected, int count, double *q)
{
  MuonStatus status;
  Mat        Q;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(G, MAT_DO_NOT_COPY_VALUES, &Q));
  PetscCall(MuonPolarApply(polar, G, Q, &status));
  PetscCheck(status == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %s, expected %s", MuonStatuses[status], MuonStatuses[expected]);
  PetscCall(TestMatGet(Q, q));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectRestarts(MuonPolar polar, PetscInt number, PetscInt first, PetscInt second)
{
  PetscInt    count, steps[2] = {0, 0};
  const char *at;
  char        text[256];

  PetscFunctionBeginUser;
  PetscCall(MuonPolarSetUp(polar));
  PetscCall(TestDescribe(polar, sizeof(text), text));
  at    = strstr(text, " restarts ");
  count = at == NULL ? 0 : sscanf(at, " restarts %" PetscInt_FMT ",%" PetscInt_FMT, &steps[0], &steps[1]);
  PetscCheck(count == number && (number < 1 || steps[0] == first) && (number < 2 || steps[1] == second), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%" PetscInt_FMT " restarts, after %" PetscInt_FMT " and %" PetscInt_FMT ", expected %" PetscInt_FMT " after %" PetscInt_FMT " and %" PetscInt_FMT, count, steps[0], steps[1], number, first, second);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The operations of five steps with a restart after the second: 4 rectangular and 14 square products, all but
   the last two rectangular ones symmetric, and a sum of squares
*/
static PetscErrorCode Flops(MuonPolar polar, Mat G, double s, double l, double *q)
{
  const double   expected = 2.0 * s * (s + 1) * l + 2.0 * 2.0 * s * s * l + 14.0 * s * s * (s + 1) + 2.0 * s * l;
  PetscLogDouble before, after, flops;
  PetscInt       m, n;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(MuonPolarGetFlops(polar, m, n, &flops));
  PetscCheck(flops == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g operations announced, expected %g", (double)flops, expected);
  PetscCall(PetscGetFlops(&before));
  PetscCall(Apply(polar, G, MUON_STATUS_OK, (int)(m * n), q));
  PetscCall(PetscGetFlops(&after));
  PetscCheck(fabs((double)(after - before) - expected) <= 1e-9 * expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g operations logged, expected %g", (double)(after - before), expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int         shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {12, 60}, {60, 12}, {20, 700}, {24, 24}, {24, 40}};
  static const char *const sets[]      = {"kj", "you", "pe105", "polarexpress", "quintic", "cubic"};
  static const PetscInt    none[1] = {0}, each[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, four[] = {2, 4, 40};
  const double             values[] = {3.4445, -4.7750, 2.0315, 1.5, -0.5, 0.0};
  MuonPolar                polar, plain;
  PetscReal                given[6];
  double                  *A, *Q, *R, *U, *V;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMalloc5(20 * 700, &A, 20 * 700, &Q, 20 * 700, &R, 700 * 40, &U, 700 * 40, &V));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARGRAM));
  PetscCall(TestSetPrecision(polar, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &plain));
  PetscCall(MuonPolarSetType(plain, MUONPOLARNEWTONSCHULZ));
  PetscCall(TestSetPrecision(plain, MUON_POLAR_PRECISION_DOUBLE));

  /*
     The rule, by hand for the five steps of the sets that it comes from; getters give what setters set below
     the number of steps
  */
  PetscCall(ExpectRestarts(polar, 1, 2, 0));
  PetscCall(TestSetRestart(polar, 3, four));
  PetscCall(ExpectRestarts(polar, 2, 2, 4));
  PetscCall(TestSetInt(polar, "steps", 4));
  PetscCall(ExpectRestarts(polar, 1, 2, 0));
  PetscCall(TestSetInt(polar, "steps", PETSC_DETERMINE));
  PetscCall(TestSetRestart(polar, 0, none));
  PetscCall(ExpectRestarts(polar, 0, 0, 0));
  PetscCall(TestSetRestart(polar, PETSC_DETERMINE, NULL));
  for (int c = 0; c < 6; c++) {
    PetscCall(TestSetText(polar, "coefficients", sets[c]));
    PetscCall(ExpectRestarts(polar, 1, c < 4 ? 2 : (c == 4 ? 6 : 10), 0));
    PetscCall(TestSetInt(polar, "steps", 2));
    PetscCall(ExpectRestarts(polar, 0, 0, 0));
    PetscCall(TestSetInt(polar, "steps", PETSC_DETERMINE));
  }

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1], s = PetscMin(m, n), l = PetscMax(m, n);
    Mat       G;

    TestDecades(m, n, 1.0, A);
    PetscCall(TestMat(m, n, 1, A, &G));
    for (int c = 0; c <= 6; c++) {
      for (int restart = 0; restart < 3; restart++) {
        /* The Gram matrix is off by a modest multiple of s roundoffs, which changes a singular value x of the normalized matrix by that over x. Then Q, whose condition number is at most 128 between restarts of the rule,
           passes it on. x is at least 0.1/sqrt(s), and the result is rounded to PetscScalar. A segment of 5 steps without restart has condition numbers of 1e3 for such x and no eigenvalue below zero to speak of */
        const double bound = 8.0 * s * (restart == 0 ? 1e3 : 128.0) * 10.0 * sqrt((double)s) * ldexp(1.0, -53) + sqrt((double)s) * 4.0 * PETSC_MACHINE_EPSILON;
        double       error;

        if (c < 6) {
          PetscCall(TestSetText(polar, "coefficients", sets[c]));
          PetscCall(TestSetText(plain, "coefficients", sets[c]));
        } else {
          for (int i = 0; i < 6; i++) given[i] = (PetscReal)values[i];
          PetscCall(MuonPolarSetCoefficientValues(polar, 6, given));
          PetscCall(MuonPolarSetCoefficientValues(plain, 6, given));
        }
        /* Ten steps of these without a restart are what must not be */
        if (restart == 0 && (c == 4 || c == 5)) continue;
        PetscCall(TestSetRestart(polar, restart == 0 ? 0 : (restart == 1 ? PETSC_DETERMINE : 14), restart == 2 ? each : none));
        PetscCall(Apply(plain, G, MUON_STATUS_OK, m * n, R));
        PetscCall(Apply(polar, G, MUON_STATUS_OK, m * n, Q));
        error = TestDistance(m * n, Q, R);
        PetscCheck(error <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, set %d, restarts %d: off by %g, bound %g", m, n, c, restart, error, bound);
        PetscCheck(TestDistance(m * n, Q, NULL) > 0.5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: norm %g", m, n, TestDistance(m * n, Q, NULL));
      }
    }
    /*
       Counted where the Gram matrix pays; of a square matrix they are those of Newton and Schulz and the sum
       of squares
    */
    PetscCall(TestSetRestart(polar, PETSC_DETERMINE, NULL));
    PetscCall(TestSetText(polar, "coefficients", "pe105"));
    PetscCall(TestSetText(plain, "coefficients", "pe105"));
    if (l >= 3 * s) PetscCall(Flops(polar, G, s, l, Q));
    if (l == s) {
      PetscLogDouble flops, others;

      PetscCall(MuonPolarGetFlops(polar, m, n, &flops));
      PetscCall(MuonPolarGetFlops(plain, m, n, &others));
      PetscCheck(flops == others + 2.0 * s * l, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g operations, Newton and Schulz %g", (double)flops, (double)others);
    }
    PetscCall(TestMatDestroy(&G));
  }

  /*
     Rank 6 of 20, with the rounding of binary32 in the rest of the Gram matrix: without a restart its
     negative eigenvalues grow past all bounds, with the rule nothing leaves the ball, and zeros stay close to
     zero
  */
  {
    Mat    G;
    double most = 0.0, least = 2.0, sigma[20];
    int    lifted = 0;

    TestOrthonormal(20, 20, U);
    TestOrthonormal(700, 20, V);
    for (int j = 0; j < 20; j++) {
      for (int i = 0; i < 20; i++) U[i + j * 20] *= j < 6 ? pow(0.1, j / 5.0) : 0.0;
    }
    TestMultiply(20, 700, 20, U, V, 1, A);
    PetscCall(TestMat(20, 700, 0, A, &G));
    PetscCall(TestSetPrecision(polar, MUON_POLAR_PRECISION_SINGLE));
    PetscCall(TestSetText(polar, "coefficients", "quintic"));
    PetscCall(TestSetInt(polar, "steps", 20));
    PetscCall(TestSetRestart(polar, 0, none));
    PetscCall(Apply(polar, G, MUON_STATUS_LMO, 20 * 700, Q));
    PetscCall(TestSetRestart(polar, PETSC_DETERMINE, NULL));
    PetscCall(Apply(polar, G, MUON_STATUS_OK, 20 * 700, Q));
    TestSVD(20, 700, Q, sigma, U, V);
    for (int j = 0; j < 20; j++) {
      most = PetscMax(most, sigma[j]);
      if (j < 6) least = PetscMin(least, sigma[j]);
      else if (sigma[j] > 1e-2) lifted++;
    }
    PetscCheck(most <= 1.0 + 1e-4 && least >= 1.0 - 1e-4 && lifted == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Singular values between %g and %g, and %d lifted from zero", least, most, lifted);
    PetscCall(TestMatDestroy(&G));
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MuonPolarDestroy(&plain));

  /* From options */
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "net_"));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarView(polar, NULL));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFree5(A, Q, R, U, V));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    filter: grep restarts
    table: suffix | args
      rule | -net_lmo_polar_type gram
      none | -net_lmo_polar_type gram -net_lmo_polar_gram_restart 0
      some | -net_lmo_polar_type gram -net_lmo_polar_coefficients quintic -net_lmo_polar_gram_restart 2,4,7

  test:
    suffix: error
    args: -net_lmo_polar_type gram -net_lmo_polar_gram_restart 2,2
    error: Number 1 of option -net_lmo_polar_gram_restart is 2, expected increasing numbers of steps

TEST*/
