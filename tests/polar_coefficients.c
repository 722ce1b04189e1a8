static char help[] = "Every named set of polynomials: a scalar iteration of their printed rows and rules, output ranges, worked numbers, "
                     "polynomials of the user; factors of hard spectra for numpy.\n\n";

#include "polar_common.h"

/* As their authors print them, with the rules by which their programs apply them */
typedef struct {
  const char *name;
  int         steps, rows;
  PetscBool   cycle;   /* past the last row, from the first again; else the last for ever */
  double      f, norm; /* the argument of the first safe rows is divided by f; that of the first step by norm */
  int         safe;
  double      range[3][2]; /* of the result for sigma / ||G||_F in [l,1], l = 0.1, 0.01, 0.001, by a scan in numpy; three digits */
  double      c[10][3];
} Set;

#define C1 \
  { \
    3.4445, -4.7750, 2.0315 \
  }
#define C4 \
  {8.28721201814563, -23.595886519098837, 17.300387312530933}, {4.107059111542203, -2.9478499167379106, 0.5448431082926601}, {3.9486908534822946, -2.908902115962949, 0.5518191394370137}, {3.3184196573706015, -2.488488024314874, 0.51004894012372}, \
  { \
    2.300652019954817, -1.6689039845747493, 0.4188073119525673 \
  }

#define C4MORE \
  {1.891301407787398, -1.2679958271945868, 0.37680408948524835}, {1.8750014808534479, -1.2500016453999487, 0.3750001645474248}, \
  { \
    1.875, -1.25, .375 \
  }

/* clang-format off */
static const Set sets[] = {
  {"kj", 5, 1, PETSC_FALSE, 1, 1, 0, {{.682, 1.134}, {.682, 1.134}, {.471, 1.202}}, {C1}},
  {"quintic", 5, 1, PETSC_FALSE, 1, 1, 0, {{.996, 1}, {.228, 1}, {.023, 1}}, {{1.875, -1.25, .375}}},
  {"quintic", 10, 1, PETSC_FALSE, 1, 1, 0, {{1, 1}, {1, 1}, {.499, 1}}, {{1.875, -1.25, .375}}},
  {"cubic", 5, 1, PETSC_FALSE, 1, 1, 0, {{.659, 1}, {.076, 1}, {.008, 1}}, {{1.5, -.5, 0}}},
  {"cubic", 15, 1, PETSC_FALSE, 1, 1, 0, {{1, 1}, {1, 1}, {.417, 1}}, {{1.5, -.5, 0}}},
  {"you", 5, 5, PETSC_TRUE, 1, 1, 0, {{.978, 1.032}, {.978, 1.032}, {.475, 1.145}},
   {{4.0848, -6.8946, 2.9270}, {3.9505, -6.3029, 2.6377}, {3.7418, -5.5913, 2.3037}, {2.8769, -3.1427, 1.2046}, {2.8366, -3.0525, 1.2012}}},
  {"polarexpress", 5, 8, PETSC_FALSE, 1.01, 1.01, 7, {{.870, 1.124}, {.870, 1.124}, {.840, 1.124}},
   {C4, C4MORE}},
  {"polarexpress", 6, 8, PETSC_FALSE, 1.01, 1.01, 7, {{.997, 1.001}, {.997, 1.001}, {.993, 1.001}},
   {C4, C4MORE}},
  {"polarexpress", 10, 8, PETSC_FALSE, 1.01, 1.01, 7, {{1, 1}, {1, 1}, {1, 1}},
   {C4, C4MORE}},
  {"pe105", 5, 5, PETSC_FALSE, 1.05, 1, 5, {{.846, 1.124}, {.846, 1.124}, {.729, 1.124}}, {C4}},
  {"modded", 5, 5, PETSC_FALSE, 1, 1.02, 0, {{.859, 1.141}, {.859, 1.141}, {.847, 1.141}},
   {{8.156554524902461, -22.48329292557795, 15.878769915207462}, {4.042929935166739, -2.808917465908714, 0.5000178451051316},
    {3.8916678022926607, -2.772484153217685, 0.5060648178503393}, {3.285753657755655, -2.3681294933425376, 0.46449024233003106}, {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}}},
  {"emerging", 5, 8, PETSC_FALSE, 1, 1, 0, {{.870, 1.124}, {.870, 1.124}, {.846, 1.124}},
   {{8.2051, -22.9019, 16.4607}, {4.0664, -2.8612, .5184}, {3.9096, -2.8234, .5250}, {3.2856, -2.4153, .4853}, {2.2779, -1.6198, .3985}, {1.8726, -1.2307, .3585}, {1.8564, -1.2132, .3568}, {1.8750, -1.25, .375}}},
  {"cans", 5, 5, PETSC_FALSE, 1, 1, 0, {{.884, 1.120}, {.884, 1.120}, {.884, 1.120}},
   {{8.4703, -25.1081, 18.6293}, {4.1828, -3.1087, .5806}, {3.9619, -2.9541, .5630}, {3.2866, -2.4647, .5074}, {2.2737, -1.6447, .4162}}},
  {"deepseekv4", 10, 10, PETSC_FALSE, 1, 1, 0, {{1, 1.0005}, {1, 1.0005}, {1, 1.0005}}, {C1, C1, C1, C1, C1, C1, C1, C1, {2, -1.5, .5}, {2, -1.5, .5}}},
  {"cubic5", 5, 5, PETSC_TRUE, 1, 1, 0, {{.774, 1.3}, {.774, 1.3}, {.119, 1.3}}, {{3.3656576, -3.3420992, 0}, {2.5744352, -1.4957376, 0}, {2.5368962, -1.4312570, 0}, {2.4418906, -1.2764040, 0}, {2.2230472, -.9630650, 0}}},
};
/* clang-format on */

/*
   The value after the steps, and a running bound of the rounding: a step makes less than 16 eps times the sum
   of its terms without their signs, and enlarges what was there by its slope
*/
static double Scalar(const Set *set, int steps, double x, double *bound)
{
  double error = 16.0 * PETSC_MACHINE_EPSILON;

  x /= set->norm;
  for (int k = 0; k < steps; k++) {
    const int    row = k < set->rows ? k : (set->cycle == PETSC_TRUE ? k % set->rows : set->rows - 1);
    const double f = row < set->safe ? set->f : 1.0, y = x / f;
    const double t1 = set->c[row][0] * y, t3 = set->c[row][1] * pow(y, 3), t5 = set->c[row][2] * pow(y, 5);

    error = error / f * fabs(set->c[row][0] + 3.0 * set->c[row][1] * y * y + 5.0 * set->c[row][2] * pow(y, 4)) + 16.0 * PETSC_MACHINE_EPSILON * (fabs(t1) + fabs(t3) + fabs(t5));
    x     = t1 + t3 + t5;
  }
  if (bound != NULL) *bound = error;
  return x;
}

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

/* A 2 x 2 diagonal matrix has the singular values cos t and sin t times its Frobenius norm: every number in (0,1) */
static PetscErrorCode CheckSet(MuonPolar polar, const Set *set, PetscBool first)
{
  const int made        = strcmp(set->name, "quintic") == 0 ? 10 : (strcmp(set->name, "cubic") == 0 ? 15 : set->steps);
  double    range[3][2] = {{9, -9}, {9, -9}, {9, -9}}, expected, bound, q[2];
  PetscInt  steps       = 0;

  PetscFunctionBeginUser;
  PetscCall(TestTune(polar, "coefficients %s steps %d", set->name, set->steps));
  for (int i = 0; i <= 2000; i++) {
    const double x = pow(10.0, -3.0 * i / 2000.0), sigma[2] = {x, sqrt(1.0 - x * x)};

    PetscCall(Diagonal(polar, sigma[0] * 7.0, sigma[1] * 7.0, q));
    for (int j = 0; j < 2; j++) {
      expected = Scalar(set, set->steps, sigma[j], &bound);
      TestNear(set->name, q[j], expected, bound);
      for (int l = 0; l < 3; l++) {
        if (sigma[j] < pow(0.1, l + 1) * (1 - 1e-9)) continue;
        range[l][0] = PetscMin(range[l][0], q[j]);
        range[l][1] = PetscMax(range[l][1], q[j]);
      }
    }
  }
  /* The scan of the test finds what is printed: it leaves out at most the peak between two of its points */
  for (int l = 0; l < 6; l++) TestNear(set->name, range[l / 2][l % 2], set->range[l / 2][l % 2], 2e-3);
  PetscCall(TestTune(polar, "steps -1"));
  PetscCall(TestGetSteps(polar, &steps, NULL));
  if (first) TestNear(set->name, steps, made, 0.0);
  /* Past the last row */
  for (int more = 1; more <= 7; more += 3) {
    PetscCall(TestTune(polar, "steps %d", set->rows + more));
    PetscCall(Diagonal(polar, 3.0, 4.0, q));
    expected = Scalar(set, set->rows + more, 0.6, &bound);
    TestNear(set->name, q[0], expected, bound);
  }
  PetscCall(TestTune(polar, "steps -1"));
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
   Worked numbers, ten digits; aol makes the rows of a diagonal matrix equal first, and its first polynomial is negative above 0.88: whatever
   the diagonal was, the factor is turned around, as its page says
*/
static PetscErrorCode CheckWorked(MuonPolar polar)
{
  const double eps = PETSC_MACHINE_EPSILON, you[2] = {1.0186286858, 1.0056321944}, polarexpress[2] = {1.0455742076, 0.9760712746};
  double       q[2];

  PetscFunctionBeginUser;
  PetscCall(TestTune(polar, "coefficients you"));
  PetscCall(Diagonal(polar, 3.0, 4.0, q));
  TestMost("you on diag(3,4)", TestFarthest(2, q, you), 1e-10 + 2000 * eps);
  PetscCall(TestTune(polar, "coefficients polarexpress"));
  PetscCall(Diagonal(polar, 3.0, 4.0, q));
  TestMost("polarexpress on diag(3,4)", TestFarthest(2, q, polarexpress), 1e-10 + 2000 * eps);
  PetscCall(TestTune(polar, "coefficients aol"));
  PetscCall(Diagonal(polar, 3.0, 400.0, q));
  TestNear("aol on diag(3,400)", q[0], q[1], 100 * eps);
  TestNear("aol on diag(3,400)", q[0], -0.995, 0.095);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of all spectra, or of some where one set after the other is applied, for numpy */
static PetscErrorCode WriteCases(MuonPolar polar, TestOracle *oracle, PetscBool sets, int number, const int shapes[][2])
{
  static const char *const names[] = {"kj", "quintic", "cubic", "you", "polarexpress", "pe105", "modded", "emerging", "cans", "aol", "deepseekv4", "cubic5"};
  const char              *name;
  double                   eps   = 0.0;
  PetscInt                 steps = 0;

  PetscFunctionBeginUser;
  PetscCall(TestEpsilon(polar, &eps));
  for (int k = 0; k < number; k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *A, *Q;

    PetscCall(PetscMalloc2(m * n, &A, m * n, &Q));
    for (int spectrum = 0; spectrum < TEST_SPECTRA; spectrum++) {
      if (sets && spectrum != TEST_GAUSSIAN && spectrum != TEST_HARMONIC && spectrum != TEST_MILD && spectrum != TEST_OUTLIER) continue;
      TestMatrix(m, n, spectrum, A);
      for (size_t i = 0; i < (sets ? 2 * PETSC_STATIC_ARRAY_LENGTH(names) : 1); i++) {
        if (sets) {
          /* Three more, with which the last one diverges, as was seen above */
          if (i % 2 == 1 && strcmp(names[i / 2], "cubic5") == 0) continue;
          PetscCall(TestTune(polar, "coefficients %s steps -1", names[i / 2]));
          PetscCall(TestGetSteps(polar, &steps, NULL));
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
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sets); k++) PetscCall(CheckSet(polar, &sets[k], k == 0 || strcmp(sets[k - 1].name, sets[k].name) != 0 ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(CheckWorked(polar));
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
