static char help[] = "Every named set of polynomials: a scalar iteration of their printed rows and rules, output ranges, worked numbers, polynomials of the user, numpy.\n\n";

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

static PetscErrorCode Diagonal(MuonPolar polar, double a, double b, double result[2])
{
  const double A[4] = {a, 0, 0, b};
  double       q[4];
  MuonStatus   status;
  Mat          G, Q;

  PetscFunctionBeginUser;
  PetscCall(TestMat(2, 2, 0, A, &G));
  PetscCall(TestMat(2, 2, 0, NULL, &Q));
  PetscCall(MuonPolarApply(polar, G, Q, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d for diag(%g,%g)", (int)status, a, b);
  PetscCall(TestMatGet(Q, q));
  PetscCheck(q[1] == 0.0 && q[2] == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "diag(%g,%g): the factor is not diagonal", a, b);
  result[0] = q[0];
  result[1] = q[3];
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&Q));
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

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{16, 16}, {20, 33}, {33, 20}, {1, 7}};
  const double     eps         = PETSC_MACHINE_EPSILON;
  MuonPolar        polar;
  double           q[2], c[12];
  PetscReal        values[12];
  PetscInt         steps;
  PetscBool        dump;
  char             directory[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", directory, sizeof(directory), &dump));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(TestSetPrecision(polar, PetscDefined(USE_REAL_SINGLE) ? MUON_POLAR_PRECISION_SINGLE : MUON_POLAR_PRECISION_DOUBLE));

  /*
     A 2 x 2 diagonal matrix has the singular values cos t and sin t times its Frobenius norm: every number in
     (0,1)
  */
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sets); k++) {
    const Set *set         = &sets[k];
    double     range[3][2] = {{9, -9}, {9, -9}, {9, -9}};

    PetscCall(TestSetText(polar, "coefficients", set->name));
    PetscCall(TestSetInt(polar, "steps", set->steps));
    for (int i = 0; i <= 2000; i++) {
      const double x = pow(10.0, -3.0 * i / 2000.0), y = sqrt(1.0 - x * x);
      double       bound;

      PetscCall(Diagonal(polar, x * 7.0, y * 7.0, q));
      for (int j = 0; j < 2; j++) {
        const double sigma = j == 0 ? x : y, expected = Scalar(set, set->steps, sigma, &bound);

        PetscCheck(fabs(q[j] - expected) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %d steps: %.16g became %.16g, expected %.16g up to %g", set->name, set->steps, sigma, q[j], expected, bound);
        for (int l = 0; l < 3; l++) {
          if (sigma < pow(0.1, l + 1) * (1 - 1e-9)) continue;
          range[l][0] = PetscMin(range[l][0], q[j]);
          range[l][1] = PetscMax(range[l][1], q[j]);
        }
      }
    }
    /* The scan of the test finds what is printed: it leaves out at most the peak between two of its points */
    for (int l = 0; l < 3; l++) {
      for (int j = 0; j < 2; j++) {
        PetscCheck(fabs(range[l][j] - set->range[l][j]) <= 2e-3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %d steps: the %s value from [1e-%d,1] is %g, printed %g", set->name, set->steps, j == 0 ? "smallest" : "largest", l + 1, range[l][j],
                   set->range[l][j]);
      }
    }
    PetscCall(TestSetInt(polar, "steps", PETSC_DETERMINE));
    PetscCall(TestGetSteps(polar, &steps));
    if (k == 0 || strcmp(sets[k - 1].name, set->name) != 0) {
      const int made = strcmp(set->name, "quintic") == 0 ? 10 : (strcmp(set->name, "cubic") == 0 ? 15 : set->steps);

      PetscCheck(steps == made, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was made for %" PetscInt_FMT " steps, expected %d", set->name, steps, made);
    }
    /* Past the last row */
    for (int more = 1; more <= 7; more += 3) {
      double expected, bound;

      PetscCall(TestSetInt(polar, "steps", set->rows + more));
      PetscCall(Diagonal(polar, 3.0, 4.0, q));
      expected = Scalar(set, set->rows + more, 0.6, &bound);
      PetscCheck(fabs(q[0] - expected) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %d steps: 0.6 became %.16g, expected %.16g up to %g", set->name, set->rows + more, q[0], expected, bound);
    }
    PetscCall(TestSetInt(polar, "steps", PETSC_DETERMINE));
  }

  /* Worked numbers, ten digits */
  PetscCall(TestSetText(polar, "coefficients", MUONPOLARCOEFFICIENTSYOU));
  PetscCall(Diagonal(polar, 3.0, 4.0, q));
  PetscCheck(fabs(q[0] - 1.0186286858) <= 1e-10 + 2000 * eps && fabs(q[1] - 1.0056321944) <= 1e-10 + 2000 * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "you on diag(3,4): %.12g %.12g", q[0], q[1]);
  PetscCall(TestSetText(polar, "coefficients", MUONPOLARCOEFFICIENTSPOLAREXPRESS));
  PetscCall(Diagonal(polar, 3.0, 4.0, q));
  PetscCheck(fabs(q[0] - 1.0455742076) <= 1e-10 + 2000 * eps && fabs(q[1] - 0.9760712746) <= 1e-10 + 2000 * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "polarexpress on diag(3,4): %.12g %.12g", q[0], q[1]);

  /*
     aol makes the rows of a diagonal matrix equal first, and its first polynomial is negative above 0.88:
     whatever the diagonal was, the factor is turned around, as its page says
  */
  PetscCall(TestSetText(polar, "coefficients", MUONPOLARCOEFFICIENTSAOL));
  PetscCall(Diagonal(polar, 3.0, 400.0, q));
  PetscCheck(fabs(q[0] - q[1]) <= 100 * eps && q[0] > -1.09 && q[0] < -0.9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "aol on diag(3,400): %.12g %.12g", q[0], q[1]);

  /*
     Polynomials of the user: the best ones of degree 3 for sigma in [0.01,1], four steps, after which all is
     within the last interval, which is also their bound (1 - l^2)^(2^4) or better
  */
  {
    double l = 0.01, u = 1.0, lowest = 9.0, highest = 0.0;

    for (int k = 0; k < 4; k++) Best3(&l, &u, c + 3 * k);
    for (int i = 0; i < 12; i++) values[i] = (PetscReal)c[i];
    PetscCall(MuonPolarSetCoefficientValues(polar, 12, values));
    PetscCall(TestGetSteps(polar, &steps));
    PetscCheck(steps == 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps for four polynomials", steps);
    PetscCheck((PetscReal)((MuonPolarPolynomials *)polar->data)->c[4] == (PetscReal)c[4], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Not the values that were set");
    for (int i = 0; i <= 1000; i++) {
      const double x = pow(10.0, -2.0 * i / 1000.0), y = sqrt(1.0 - x * x);

      PetscCall(Diagonal(polar, x, y, q));
      lowest  = PetscMin(lowest, q[0]);
      highest = PetscMax(highest, q[0]);
    }
    /* Optimal means that both ends are reached, the upper one between two points of the scan */
    PetscCheck(fabs(lowest - l) <= 1e4 * eps + 1e-9 && highest <= u + 1e4 * eps && highest >= u - 1e-3 && 1.0 - l <= pow(1.0 - 1e-4, 16), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Best polynomials: [%.12g,%.12g], expected [%.12g,%.12g]", lowest, highest, l,
               u);
    /* What diverges is a status, and leaves the output alone */
    {
      const double A[4] = {1, 2, 3, 4}, seven[4] = {7, 7, 7, 7};
      double       r[4];
      MuonStatus   status;
      Mat          G, Q;

      values[0] = 5.0;
      values[1] = values[2] = 0.0;
      PetscCall(MuonPolarSetCoefficientValues(polar, 3, values));
      PetscCall(TestSetInt(polar, "steps", 600));
      PetscCall(TestMat(2, 2, 1, A, &G));
      PetscCall(TestMat(2, 2, 1, seven, &Q));
      PetscCall(MuonPolarApply(polar, G, Q, &status));
      PetscCall(TestMatGet(Q, r));
      PetscCheck(status == MUON_STATUS_LMO && r[0] == 7.0 && r[3] == 7.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d of an iteration that diverges, output %g", (int)status, r[0]);
      /* So does a known set that starts again from its first row, beyond the steps that it was made for */
      PetscCall(TestSetText(polar, "coefficients", MUONPOLARCOEFFICIENTSCUBIC5));
      PetscCall(TestSetInt(polar, "steps", 40));
      PetscCall(MuonPolarApply(polar, G, Q, &status));
      PetscCall(TestMatGet(Q, r));
      PetscCheck(status == MUON_STATUS_LMO && r[0] == 7.0 && r[3] == 7.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d of a known set that diverges, output %g", (int)status, r[0]);
      PetscCall(TestMatDestroy(&G));
      PetscCall(TestMatDestroy(&Q));
      PetscCall(TestSetInt(polar, "steps", PETSC_DETERMINE));
    }
  }

  /* Whole matrices, for numpy */
  if (dump == PETSC_TRUE) {
    static const char *const names[] = {"kj", "quintic", "cubic", "you", "polarexpress", "pe105", "modded", "emerging", "cans", "aol", "deepseekv4", "cubic5"};
    char                     path[PETSC_MAX_PATH_LEN];
    FILE                    *list;
    int                      dumped = 0;

    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases.txt", directory));
    list = fopen(path, "w");
    PetscCheck(list != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
      const int m = shapes[k][0], n = shapes[k][1];
      double   *A, *R;

      PetscCall(PetscMalloc2(m * n, &A, m * n, &R));
      for (int spectrum = 0; spectrum < TEST_ZERO; spectrum++) {
        if (spectrum != TEST_GAUSSIAN && spectrum != TEST_HARMONIC && spectrum != TEST_MILD && spectrum != TEST_OUTLIER) continue;
        TestMatrix(m, n, spectrum, A);
        for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(names); i++) {
          for (int more = 0; more < 4; more += 3) {
            Mat G, Q;

            /* Which diverges then, as was seen above */
            if (more > 0 && strcmp(names[i], MUONPOLARCOEFFICIENTSCUBIC5) == 0) continue;
            PetscCall(TestSetText(polar, "coefficients", names[i]));
            PetscCall(TestSetInt(polar, "steps", PETSC_DETERMINE));
            PetscCall(TestGetSteps(polar, &steps));
            PetscCall(TestSetInt(polar, "steps", steps + more));
            PetscCall(TestMat(m, n, 0, A, &G));
            PetscCall(TestMat(m, n, 0, NULL, &Q));
            PetscCall(MuonPolarApply(polar, G, Q, NULL));
            PetscCall(TestMatGet(Q, R));
            PetscCall(TestDump(directory, "G", dumped, (size_t)m * n, A));
            PetscCall(TestDump(directory, "Q", dumped, (size_t)m * n, R));
            fprintf(list, "%s %s %d %d %d %.17g\n", testspectra[spectrum], names[i], (int)steps + more, m, n, eps);
            dumped++;
            PetscCall(TestMatDestroy(&G));
            PetscCall(TestMatDestroy(&Q));
          }
        }
      }
      PetscCall(PetscFree2(A, R));
    }
    PetscCheck(fclose(list) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: polar_coefficients.py

TEST*/
