static char help[] = "Newton-Schulz on the Gram matrix: the same as without it, restarts, operations, and what an indefinite Gram matrix does.\n\n";

#include "polar_common.h"

/* The restarts that View tells, after the line of parameters */
static PetscErrorCode CheckRestarts(MuonPolar polar, const char line[], const char expected[])
{
  char        text[256];
  const char *at;

  PetscFunctionBeginUser;
  PetscCall(TestTune(polar, "%s", line));
  PetscCall(MuonPolarSetUp(polar));
  PetscCall(TestDescribe(polar, sizeof(text), text));
  at = strstr(text, " restarts ");
  TestCheck(strcmp(at == NULL ? "" : at + 10, expected) == 0, "%s:%s, expected restarts \"%s\"", line, text, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The operations of five steps with a restart after the second: 4 rectangular and 14 square products, all but
   the last two rectangular ones symmetric, and a sum of squares. Of a square matrix they are those of Newton and Schulz and the sum
*/
static PetscErrorCode CheckFlops(MuonPolar polar, MuonPolar plain, int m, int n, const double *A, double *q)
{
  const double   s = PetscMin(m, n), l = PetscMax(m, n), expected = 2.0 * s * (s + 1) * l + 2.0 * 2.0 * s * s * l + 14.0 * s * s * (s + 1) + 2.0 * s * l;
  PetscLogDouble before, after, flops, others;

  PetscFunctionBeginUser;
  PetscCall(MuonPolarGetFlops(polar, m, n, &flops));
  PetscCall(MuonPolarGetFlops(plain, m, n, &others));
  if (m == n) TestNear("square", flops, others + 2.0 * s * l, 0.0);
  if (l < 3 * s) PetscFunctionReturn(PETSC_SUCCESS); /* the Gram matrix does not pay */
  TestNear("announced", flops, expected, 0.0);
  PetscCall(PetscGetFlops(&before));
  PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, q));
  PetscCall(PetscGetFlops(&after));
  TestNear("logged", after - before, expected, 1e-9 * expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rank 6 of 20, with the rounding of binary32 in the rest of the Gram matrix: without a restart its negative eigenvalues grow past all bounds, with
   the rule nothing leaves the ball, and zeros stay close to zero
*/
static PetscErrorCode CheckIndefinite(MuonPolar polar, double *A, double *Q, double *U, double *V)
{
  double sigma[20];

  PetscFunctionBeginUser;
  for (int j = 0; j < 20; j++) sigma[j] = j < 6 ? pow(0.1, j / 5.0) : 0.0;
  TestOfValues(20, 700, sigma, A);
  TestRound(20 * 700, A);
  PetscCall(TestTune(polar, "precision single coefficients quintic steps 20 gram_restart 0"));
  PetscCall(TestApply(polar, 20, 700, 0, A, MUON_STATUS_LMO, Q));
  PetscCall(TestTune(polar, "gram_restart empty"));
  PetscCall(TestApply(polar, 20, 700, 0, A, MUON_STATUS_OK, Q));
  TestSVD(20, 700, Q, sigma, U, V);
  for (int j = 0; j < 20; j++) TestNear("singular value", sigma[j], j < 6 ? 1.0 : 0.0, j < 6 ? 1e-4 : 1e-2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int         shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {12, 60}, {60, 12}, {20, 700}, {24, 24}, {24, 40}};
  static const char *const sets[] = {"kj", "you", "pe105", "polarexpress", "quintic", "cubic"}, *const restarts[] = {"0", "empty", "1,2,3,4,5,6,7,8,9,10,11,12,13,14"};
  static const char *const views[]  = {"type gram", "type gram gram_restart 0", "type gram coefficients quintic gram_restart 2,4,7"};
  const PetscReal          values[] = {(PetscReal)3.4445, (PetscReal)-4.7750, (PetscReal)2.0315, (PetscReal)1.5, (PetscReal)-0.5, 0};
  MuonPolar                polar, plain;
  double                  *A, *Q, *R, *U, *V;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMalloc5(20 * 700, &A, 20 * 700, &Q, 20 * 700, &R, 700 * 40, &U, 700 * 40, &V));
  PetscCall(TestMake(PETSC_COMM_SELF, "type gram precision double", &polar));
  PetscCall(TestMake(PETSC_COMM_SELF, "type newtonschulz precision double", &plain));

  /* The rule, by hand for the five steps of the sets that it comes from; getters give what setters set below the number of steps */
  PetscCall(CheckRestarts(polar, "", "2"));
  PetscCall(CheckRestarts(polar, "gram_restart 2,4,40", "2,4"));
  PetscCall(CheckRestarts(polar, "steps 4", "2"));
  PetscCall(CheckRestarts(polar, "steps -1 gram_restart 0", ""));
  for (int c = 0; c < 6; c++) {
    PetscCall(TestTune(polar, "gram_restart empty coefficients %s", sets[c]));
    PetscCall(CheckRestarts(polar, "", c < 4 ? "2" : (c == 4 ? "6" : "10")));
    PetscCall(CheckRestarts(polar, "steps 2", ""));
    PetscCall(TestTune(polar, "steps -1"));
  }

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1], s = PetscMin(m, n);

    TestDecades(m, n, 1.0, A);
    for (int c = 0; c <= 6; c++) {
      for (int restart = 0; restart < 3; restart++) {
        /* The Gram matrix is off by a modest multiple of s roundoffs, which changes a singular value x of the normalized matrix by that over x. Then Q, whose condition number is at most 128 between restarts of the rule,
           passes it on. x is at least 0.1/sqrt(s), and the result is rounded to PetscScalar. A segment of 5 steps without restart has condition numbers of 1e3 for such x and no eigenvalue below zero to speak of */
        const double bound = 8.0 * s * (restart == 0 ? 1e3 : 128.0) * 10.0 * sqrt((double)s) * ldexp(1.0, -53) + sqrt((double)s) * 4.0 * PETSC_MACHINE_EPSILON;

        /* Ten steps of these without a restart are what must not be */
        if (restart == 0 && (c == 4 || c == 5)) continue;
        for (int p = 0; p < 2; p++) {
          if (c < 6) PetscCall(TestSetText(p == 0 ? plain : polar, "coefficients", sets[c]));
          else PetscCall(MuonPolarSetCoefficientValues(p == 0 ? plain : polar, 6, values));
        }
        PetscCall(TestTune(polar, "gram_restart %s", restarts[restart]));
        PetscCall(TestApply(plain, m, n, 1, A, MUON_STATUS_OK, R));
        PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, Q));
        TestMost(c < 6 ? sets[c] : "values", TestDistance(m * n, Q, R), bound);
        TestMost(c < 6 ? sets[c] : "values", 0.5, TestDistance(m * n, Q, NULL));
      }
    }
    PetscCall(TestTune(polar, "gram_restart empty coefficients pe105"));
    PetscCall(TestTune(plain, "coefficients pe105"));
    PetscCall(CheckFlops(polar, plain, m, n, A, Q));
  }
  PetscCall(CheckIndefinite(polar, A, Q, U, V));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MuonPolarDestroy(&plain));
  PetscCall(PetscFree5(A, Q, R, U, V));
  for (int k = 0; k < 3; k++) {
    PetscCall(TestMake(PETSC_COMM_SELF, views[k], &polar));
    PetscCall(MuonPolarView(polar, NULL));
    PetscCall(MuonPolarDestroy(&polar));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    filter: grep restarts

TEST*/
