static char help[] = "Every named set of polynomials on all singular values and factors of hard spectra, for numpy; polynomials of the user.\n\n";

#include "polar_common.h"

/* Their steps by default */
static const struct {
  const char *name;
  int         steps;
} sets[] = {{"kj", 5}, {"quintic", 10}, {"cubic", 15}, {"you", 5}, {"polarexpress", 5}, {"pe105", 5}, {"modded", 5}, {"emerging", 5}, {"cans", 5}, {"aol", 4}, {"deepseekv4", 10}, {"cubic5", 5}};

/* What becomes of diag(a,b), which stays diagonal */
static PetscErrorCode Diagonal(MuonPolar polar, double a, double b, double result[2])
{
  const double A[4] = {a, 0, 0, b};
  double       q[4];

  PetscFunctionBeginUser;
  PetscCall(TestApply(polar, 2, 2, 0, A, MUON_STATUS_OK, q));
  TestCheck(q[1] == 0.0 && q[2] == 0.0, "diag(%g,%g): the factor is not diagonal", a, b);
  result[0] = q[0];
  result[1] = q[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The degree-3 polynomial that is best on [l,u], and the next interval */
static void Best3(double *l, double *u, double c[3])
{
  const double A = sqrt(3.0 / (*u * *u + *l * *u + *l * *l)), B = 4.0 / (2.0 + *l * *u * (*l + *u) * A * A * A);

  c[0] = 1.5 * A * B;
  c[1] = -0.5 * A * A * A * B;
  c[2] = 0.0;
  *l   = c[0] * *l + c[1] * *l * *l * *l;
  *u   = 2.0 - *l;
}

/* A 2 x 2 diagonal matrix has the singular values cos t and sin t times its Frobenius norm: every number in (0,1), or 0.6 and 0.8, for numpy */
static PetscErrorCode Scan(MuonPolar polar, TestOracle *oracle, const char name[], int steps, int points)
{
  double *G, *Q, eps = 0.0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(2 * points, &G, 2 * points, &Q));
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(TestTune(polar, "coefficients %s steps %d", name, steps));
  for (int i = 0; i < points; i++) {
    const double x = points > 1 ? pow(10.0, -3.0 * i / (points - 1)) : 0.6;

    G[2 * i]     = 7.0 * x;
    G[2 * i + 1] = 7.0 * sqrt(1.0 - x * x);
    PetscCall(Diagonal(polar, G[2 * i], G[2 * i + 1], Q + 2 * i));
  }
  PetscCall(TestOracleAdd(oracle, 2 * (size_t)points, G, Q, "scan %s %d 2 %d %.17g\n", name, steps, points, eps));
  PetscCall(PetscFree2(G, Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Past the last row too, which is the eighth at most but for deepseekv4 */
static PetscErrorCode ScanAll(MuonPolar polar, TestOracle *oracle)
{
  static const char *const more[]  = {"quintic", "cubic", "polarexpress", "polarexpress"};
  static const int         steps[] = {5, 5, 6, 10};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sets); k++) {
    if (strcmp(sets[k].name, "aol") == 0) continue;
    PetscCall(Scan(polar, oracle, sets[k].name, sets[k].steps, 2001));
    for (int s = 2; s <= 14; s += 3) PetscCall(Scan(polar, oracle, sets[k].name, s, 1));
  }
  for (int k = 0; k < 4; k++) PetscCall(Scan(polar, oracle, more[k], steps[k], 2001));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Polynomials of the user: the best ones of degree 3 for sigma in [0.01,1], four steps, after which all is
   within the last interval, which is also their bound (1 - l^2)^(2^4) or better
*/
static PetscErrorCode CheckUser(MuonPolar polar)
{
  const double eps = PETSC_MACHINE_EPSILON, A[4] = {1, 2, 3, 4};
  double       l = 0.01, u = 1.0, lowest = 9.0, highest = 0.0, c[12], q[4];
  PetscReal    values[12];
  PetscInt     steps = 0;

  PetscFunctionBeginUser;
  for (int k = 0; k < 4; k++) Best3(&l, &u, c + 3 * k);
  for (int i = 0; i < 12; i++) values[i] = (PetscReal)c[i];
  PetscCall(MuonPolarSetCoefficientValues(polar, 12, values));
  PetscCall(TestGetSteps(polar, &steps, NULL));
  TestNear("steps for four polynomials", steps, 4, 0.0);
  TestNear("what was set", (PetscReal)((MuonPolarPolynomials *)polar->data)->c[4], values[4], 0.0);
  for (int i = 0; i <= 1000; i++) {
    const double x = pow(10.0, -2.0 * i / 1000.0);

    PetscCall(Diagonal(polar, x, sqrt(1.0 - x * x), q));
    lowest  = PetscMin(lowest, q[0]);
    highest = PetscMax(highest, q[0]);
  }
  /* Optimal means that both ends are reached, the upper one between two points of the scan */
  TestNear("best polynomials", lowest, l, 1e4 * eps + 1e-9);
  TestNear("best polynomials", highest, u - 5e-4, 5e-4 + 1e4 * eps);
  TestMost("best polynomials", 1.0 - l, pow(1.0 - 1e-4, 16));
  /* What diverges is a status, and leaves the output alone */
  values[0] = 5.0;
  values[1] = values[2] = 0.0;
  PetscCall(MuonPolarSetCoefficientValues(polar, 3, values));
  PetscCall(TestTune(polar, "steps 600"));
  PetscCall(TestApply(polar, 2, 2, 1, A, MUON_STATUS_LMO, q));
  /* So does a known set that starts again from its first row, beyond the steps that it was made for */
  PetscCall(TestTune(polar, "coefficients cubic5 steps 40"));
  PetscCall(TestApply(polar, 2, 2, 1, A, MUON_STATUS_LMO, q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   aol makes the rows of a diagonal matrix equal first, and its first polynomial is negative above 0.88: whatever the diagonal was, the factor is turned
   around, as its page says
*/
static PetscErrorCode CheckTurned(MuonPolar polar)
{
  double q[2];

  PetscFunctionBeginUser;
  PetscCall(TestTune(polar, "coefficients aol steps -1"));
  PetscCall(Diagonal(polar, 3.0, 400.0, q));
  TestNear("aol on diag(3,400)", q[0], q[1], 100 * PETSC_MACHINE_EPSILON);
  TestNear("aol on diag(3,400)", q[0], -0.995, 0.095);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of all spectra, or of some where one set after the other is applied, for numpy */
static PetscErrorCode WriteCases(MuonPolar polar, TestOracle *oracle, PetscBool all, int number, const int shapes[][2])
{
  const char *name;
  double      eps   = 0.0;
  PetscInt    steps = 0;

  PetscFunctionBeginUser;
  PetscCall(TestEpsilon(polar, &eps));
  for (int k = 0; k < number; k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *A, *Q;

    PetscCall(PetscMalloc2(m * n, &A, m * n, &Q));
    for (int spectrum = 0; spectrum < TEST_SPECTRA; spectrum++) {
      if (all && spectrum != TEST_GAUSSIAN && spectrum != TEST_HARMONIC && spectrum != TEST_MILD && spectrum != TEST_OUTLIER) continue;
      TestMatrix(m, n, spectrum, A);
      for (size_t i = 0; i < (all ? 2 * PETSC_STATIC_ARRAY_LENGTH(sets) : 1); i++) {
        if (all) {
          /* Three more, with which the last one diverges, as was seen above */
          if (i % 2 == 1 && strcmp(sets[i / 2].name, "cubic5") == 0) continue;
          PetscCall(TestTune(polar, "coefficients %s steps -1", sets[i / 2].name));
          PetscCall(TestGetSteps(polar, &steps, NULL));
          TestNear(sets[i / 2].name, steps, sets[i / 2].steps, 0.0);
          PetscCall(TestTune(polar, "steps %d", (int)steps + (i % 2 ? 3 : 0)));
        }
        PetscCall(TestGetSteps(polar, &steps, &name));
        PetscCall(TestApply(polar, m, n, spectrum % 3, A, MUON_STATUS_OK, Q));
        PetscCall(TestOracleAdd(oracle, (size_t)m * n, A, Q, "%s %s %d %d %d %.17g\n", testspectra[spectrum], name, (int)steps, m, n, eps));
      }
    }
    PetscCall(PetscFree2(A, Q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{16, 16}, {20, 33}, {33, 20}, {1, 7}};
  static const int one[][2]    = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {24, 24}, {16, 40}, {40, 16}, {33, 32}};
  MuonPolar        polar;
  TestOracle       oracle;
  PetscBool        type;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lmo_polar_type", &type));
  PetscCall(TestOracleOpen(&oracle));
  PetscCall(TestMake(PETSC_COMM_SELF, type ? "" : PetscDefined(USE_REAL_SINGLE) ? "type newtonschulz precision single" : "type newtonschulz precision double", &polar));
  if (type) PetscCall(WriteCases(polar, &oracle, PETSC_FALSE, 8, one));
  else {
    PetscCall(ScanAll(polar, &oracle));
    PetscCall(CheckTurned(polar));
    PetscCall(CheckUser(polar));
    PetscCall(WriteCases(polar, &oracle, PETSC_TRUE, 4, shapes));
  }
  PetscCall(TestOracleClose(&oracle));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  table: suffix | args | oracle
            |                                                                                                                     | polar_coefficients.py
    svd     | -lmo_polar_type svd                                                                                                 | polar_coefficients.py one
    solvers | -lmo_polar_type svd -lmo_polar_svd_type {{lapack trlanczos}}                                                        | polar_coefficients.py one
    kj      | -lmo_polar_type newtonschulz -lmo_polar_precision {{single double}}                                                 | polar_coefficients.py one
    quintic | -lmo_polar_type newtonschulz -lmo_polar_precision double -lmo_polar_coefficients quintic -lmo_polar_steps {{5 10}}  | polar_coefficients.py one
    cubic   | -lmo_polar_type newtonschulz -lmo_polar_precision double -lmo_polar_coefficients cubic -lmo_polar_steps {{5 10 15}} | polar_coefficients.py one
    gram    | -lmo_polar_type gram -lmo_polar_precision {{single double}}                                                         | polar_coefficients.py gram

TEST*/
