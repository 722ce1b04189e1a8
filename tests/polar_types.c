static char help[] = "Every registered method: what it keeps, and worked examples.\n\n";

#include "polar_common.h"
#include "kernels/codec/muonkernels.h"

/* The factor of B is Q, up to a bound; 0 are the same bits */
static PetscErrorCode Same(MuonPolar polar, const char what[], int m, int n, int pad, double *B, const double *Q, double bound)
{
  double *R;
  char    text[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s of %d x %d by %s", what, m, n, ((PetscObject)polar)->type_name));
  PetscCall(PetscMalloc1(m * n, &R));
  TestRound(m * n, B);
  PetscCall(TestApply(polar, m, n, pad, B, MUON_STATUS_OK, R));
  TestMost(text, TestDistance(m * n, Q, R), bound);
  PetscCall(PetscFree(R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What every polar factor keeps: transposition, rotation, scale, leading dimension, empty and extreme input */
static PetscErrorCode CheckInvariance(MuonPolar polar)
{
  static const int shapes[][2] = {{1, 1}, {1, 6}, {6, 1}, {12, 12}, {8, 20}, {20, 8}};
  const int        smallest = PetscDefined(USE_REAL_SINGLE) ? -140 : -1060, powers[] = {0, -40, 40, PetscDefined(USE_REAL_SINGLE) ? 120 : 1000, smallest};
  const char      *type = ((PetscObject)polar)->type_name;
  /* The slope at zero of fifteen cubic or ten quintic steps, the steepest of the polynomials here, is 537, and no method is steeper where the singular values are here; that of the exact factor is the
     condition, 10 */
  const double growth = strcmp(type, MUONPOLARSVD) == 0 ? 10.0 : 1000.0, factors[] = {3.7e-5, -1.0};
  double       eps = 0.0;

  PetscFunctionBeginUser;
  PetscCall(TestEpsilon(polar, &eps));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int    m = shapes[k][0], n = shapes[k][1];
    const double bound = growth * 32.0 * (m + n) * eps;
    double      *A, *B, *Q, *R, *T, *U, *V;

    PetscCall(PetscMalloc7(m * n, &A, m * n, &B, m * n, &Q, m * n, &R, m * n, &T, m * m, &U, n * n, &V));
    TestDecades(m, n, 1.0, A);
    PetscCall(TestApply(polar, m, n, 0, A, MUON_STATUS_OK, Q));
    TestMost(type, 0.5, TestDistance(m * n, Q, NULL));
    /*
       The same bits for another leading dimension, and for a power of two times the matrix: close to overflow nothing overflows, and where
       entries are subnormal their rounding is what is left
    */
    for (int e = 0; e < 5; e++) {
      for (int i = 0; i < m * n; i++) B[i] = ldexp(A[i], powers[e]);
      TestRound(m * n, B);
      if (e == 4) {
        PetscCall(TestApply(polar, m, n, 1, B, MUON_STATUS_OK, T));
        for (int i = 0; i < m * n; i++) B[i] = ldexp(B[i], -smallest);
      }
      PetscCall(Same(polar, "a power of two", m, n, 2 - (e > 0), B, e < 4 ? Q : T, 0.0));
    }
    for (int f = 0; f < 2; f++) {
      for (int i = 0; i < m * n; i++) {
        B[i] = factors[f] * A[i];
        R[i] = f == 0 ? Q[i] : -Q[i];
      }
      PetscCall(Same(polar, "a multiple", m, n, 1, B, R, bound));
    }
    /* Of what is a function of singular values polar(G^T) = polar(G)^T, polar(U G V) = U polar(G) V for orthogonal U and V */
    if (strcmp(type, MUONPOLARMUD) != 0) {
      for (int i = 0; i < m * n; i++) {
        B[i / m + i % m * n] = A[i];
        R[i / m + i % m * n] = Q[i];
      }
      PetscCall(Same(polar, "the transpose", n, m, 1, B, R, bound));
      TestOrthonormal(m, m, U);
      TestOrthonormal(n, n, V);
      for (int f = 0; f < 2; f++) {
        TestMultiply(m, n, m, U, f == 0 ? A : Q, 0, T);
        TestMultiply(m, n, n, T, V, 0, f == 0 ? B : R);
      }
      PetscCall(Same(polar, "the rotated", m, n, 1, B, R, bound));
    }
    PetscCall(Same(polar, "the same after other work", m, n, 1, A, Q, 0.0));
    PetscCall(PetscFree7(A, B, Q, R, T, U, V));
  }
  PetscCall(TestApply(polar, 0, 5, 0, NULL, MUON_STATUS_OK, NULL));
  PetscCall(TestApply(polar, 5, 0, 0, NULL, MUON_STATUS_OK, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Small matrices of four shapes in one call have the bits of each alone: with padding and large and small norms, without full rank, and one of
   zeros. Where a factorization in single precision fails the factor is that of double, and no other one changes. By zolotarev they take the
   flops of one pass: a wrong factor would be seen by its norm, and computed again
*/
static PetscErrorCode CheckTogether(MuonPolar polar, PetscBool fails)
{
  static const int shapes[][2] = {{8, 12}, {12, 8}, {16, 16}, {18, 21}};
  enum {
    MANY = 36
  };
  TestInput      in[MANY], out[MANY];
  Mat            G[MANY], Q[MANY];
  MuonStatus     status[MANY];
  PetscLogDouble before, after, one, flops = 0.0;
  double         alone[MANY][18 * 21], A[18 * 21];

  PetscFunctionBeginUser;
  for (int k = 0; k < MANY; k++) {
    const int m = shapes[k % 4][0], n = shapes[k % 4][1];

    PetscCall(MuonPolarGetFlops(polar, m, n, &one));
    flops += k == 4 ? 0.0 : one;
    TestMatrix(m, n, k == 4 ? TEST_ZERO : k % 7 == 1 ? TEST_DEFICIENT : TEST_HARMONIC, A);
    for (int i = 0; i < m * n; i++) A[i] = ldexp(A[i], k % 5 - 2);
    TestRound(m * n, A);
    if (fails && k % 7 == 1) PetscCall(TestTune(polar, "precision double"));
    PetscCall(TestApply(polar, m, n, 0, A, MUON_STATUS_OK, alone[k]));
    if (fails && k % 7 == 1) PetscCall(TestTune(polar, "precision single"));
    PetscCall(TestCreate(TEST_MAT, TEST_ALONE, m, n, k % 2, A, &in[k]));
    PetscCall(TestCreate(TEST_MAT, TEST_ALONE, m, n, k % 4, NULL, &out[k]));
    G[k] = in[k].mat;
    Q[k] = out[k].mat;
  }
  PetscCall(PetscGetFlops(&before));
  PetscCall(MuonPolarApplyMany(polar, MANY, G, Q, status));
  PetscCall(PetscGetFlops(&after));
  if (!fails && strcmp(((PetscObject)polar)->type_name, MUONPOLARZOLOTAREV) == 0) TestNear("flops of many", after - before, flops, 1e-9 * flops);
  for (int k = 0; k < MANY; k++) {
    PetscCall(TestGet(&out[k], A));
    TestCheck(status[k] == MUON_STATUS_OK && TestFarthest(shapes[k % 4][0] * shapes[k % 4][1], A, alone[k]) == 0.0, "%s: matrix %d of many is %g from its factor alone", ((PetscObject)polar)->type_name, k,
              TestFarthest(shapes[k % 4][0] * shapes[k % 4][1], A, alone[k]));
    PetscCall(TestDestroy(&in[k]));
    PetscCall(TestDestroy(&out[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Worked examples, whose results are known in closed form or to ten digits, column by column; units of roundoff, or 0: ten printed digits, and
   rounding that the steps enlarge by at most 500
*/
static PetscErrorCode CheckExamples(void)
{
  static const struct {
    const char *what, *line;
    int         m, n;
    double      A[6], Q[6], units;
  } rows[] = {{"diag(3,4)", "type svd", 2, 2, {3, 0, 0, 4}, {1, 0, 0, 1}, 20},
              {"3 x 2 with singular values 5, 2", "type svd", 3, 2, {3, 4, 0, 0, 0, 2}, {0.6, 0.8, 0, 0, 0, 1}, 50},
              {"2 x 3 with singular values 5, 2", "type svd", 2, 3, {3, 0, 4, 0, 0, 2}, {0.6, 0, 0.8, 0, 0, 1}, 50},
              {"first aggregate of example A", "type svd", 2, 2, {0, -4, 2, 0}, {0, -1, 1, 0}, 20},
              {"rank 1, canonical", "type svd", 2, 2, {0, -2.5, 0, 0}, {0, -1, 0, 0}, 20},
              {"ones", "type svd", 2, 2, {1, 1, 1, 1}, {0.5, 0.5, 0.5, 0.5}, 20},
              {"M_1 of example B", "type svd", 2, 2, {4, -3, 3, 4}, {0.8, -0.6, 0.6, 0.8}, 20},
              {"M_2 of example B", "type svd", 2, 2, {-6, 8, 8, 6}, {-0.6, 0.8, 0.8, 0.6}, 20},
              {"KJ on diag(3,4), 1 step", "type newtonschulz precision double steps 1", 2, 2, {3, 0, 0, 4}, {1.1932694400, 0, 0, 0.9764819200}, 0},
              {"KJ on diag(3,4), 2 steps", "type newtonschulz precision double steps 2", 2, 2, {3, 0, 0, 4}, {0.9119177066, 0, 0, 0.7211175921}, 0},
              {"KJ on diag(3,4), 3 steps", "type newtonschulz precision double steps 3", 2, 2, {3, 0, 0, 4}, {0.8011376942, 0, 0, 1.0894568355}, 0},
              {"KJ on diag(3,4), 4 steps", "type newtonschulz precision double steps 4", 2, 2, {3, 0, 0, 4}, {0.9747023594, 0, 0, 0.6960447483}, 0},
              {"KJ on diag(3,4), 5 steps", "type newtonschulz precision double steps 5", 2, 2, {3, 0, 0, 4}, {0.7228761686, 0, 0, 1.1192039299}, 0},
              /* Five steps are also the default of these coefficients, and these coefficients that of the type */
              {"the default coefficients", "type newtonschulz precision double", 2, 2, {3, 0, 0, 4}, {0.7228761686, 0, 0, 1.1192039299}, 0},
              {"cubic on diag(3,4)", "type newtonschulz precision double coefficients cubic steps 5", 2, 2, {3, 0, 0, 4}, {0.9999999972, 0, 0, 1.0}, 0},
              {"cubic to the end", "type newtonschulz precision double coefficients cubic", 3, 2, {3, 4, 0, 0, 0, 2}, {0.6, 0.8, 0, 0, 0, 1}, 0},
              {"quintic to the end", "type newtonschulz precision double coefficients quintic", 2, 3, {3, 0, 4, 0, 0, 2}, {0.6, 0, 0.8, 0, 0, 1}, 0},
              {"you on diag(3,4)", "type newtonschulz precision double coefficients you", 2, 2, {3, 0, 0, 4}, {1.0186286858, 0, 0, 1.0056321944}, 0},
              {"polarexpress on diag(3,4)", "type newtonschulz precision double coefficients polarexpress", 2, 2, {3, 0, 0, 4}, {1.0455742076, 0, 0, 0.9760712746}, 0},
              {"quintic, rank 1", "type newtonschulz precision double coefficients quintic", 2, 2, {1, 1, 1, 1}, {0.5, 0.5, 0.5, 0.5}, 0}};
  MuonPolar          polar;
  MuonPolarType      type;
  MuonPolarPrecision precision;
  double             q[6];

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    PetscCall(TestMake(PETSC_COMM_SELF, rows[k].line, &polar));
    PetscCall(TestApply(polar, rows[k].m, rows[k].n, 1, rows[k].A, MUON_STATUS_OK, q));
    TestMost(rows[k].what, TestDistance(rows[k].m * rows[k].n, q, rows[k].Q), rows[k].units > 0 ? rows[k].units * PETSC_MACHINE_EPSILON : 1e-10 + 2000.0 * PETSC_MACHINE_EPSILON);
    PetscCall(MuonPolarDestroy(&polar));
  }
  PetscCall(TestMake(PETSC_COMM_SELF, "", &polar));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCall(MuonPolarGetType(polar, &type));
  TestCheck(strcmp(type, MUONPOLARZOLOTAREV) == 0 && precision == MUON_POLAR_PRECISION_SINGLE, "The default type is %s in %s", type, MuonPolarPrecisions[precision]);
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Singular values 1 along u and 0.2 across, 0.2 H + 0.8 (H u) u^T with an orthogonal H, where u, on the side of the columns, where a square matrix is
   worked on, has no part of the direction in which the power iteration starts
*/
static PetscErrorCode Blind(double A[40 * 40])
{
  const MuonKernelStream stream = {0x506f6c6172ULL, 0, 0, 0, 0};
  uint32_t               words[40];
  double                 H[40 * 40], u[40], start[40], dot, norm;

  PetscFunctionBeginUser;
  MuonKernelStreamWords(&stream, 0, 40, words);
  TestOrthonormal(40, 40, H);
  for (int i = 0; i < 40; i++) start[i] = (double)words[i] / 2147483648.0 - 1.0;
  dot = TestDot(40, start, H) / TestDot(40, start, start);
  for (int i = 0; i < 40; i++) u[i] = H[i] - dot * start[i];
  norm = sqrt(TestDot(40, u, u));
  for (int i = 0; i < 40; i++) u[i] /= norm;
  for (int i = 0; i < 40; i++) {
    double part = 0.0;

    for (int j = 0; j < 40; j++) part += H[i + j * 40] * u[j];
    for (int j = 0; j < 40; j++) A[i + j * 40] = 0.2 * H[i + j * 40] + 0.8 * part * u[j];
  }
  TestRound(1600, A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What diverges is a status, and leaves the output alone: a polynomial of the user, a known set that starts again from its first row, beyond the steps
   that it was made for, and a normalization that sees nothing of the largest singular value, not even by rounding, until enough iterations do. In
   a Gram matrix of rank 6 of 20 binary32 rounds the rest: without a restart its negative eigenvalues grow past all bounds, with the rule nothing leaves
   the ball, and zeros stay close to zero
*/
static PetscErrorCode CheckDivergence(void)
{
  static const struct {
    const char *line;
    int         matrix;
    MuonStatus  status;
  } rows[] = {{"type newtonschulz precision double coefficient_values 5,0,0 steps 600", 0, MUON_STATUS_LMO},
              {"type newtonschulz precision double coefficients cubic5 steps 40", 0, MUON_STATUS_LMO},
              {"type newtonschulz precision double coefficients cubic normalization spectral power_iterations 1", 1, PetscDefined(USE_REAL_SINGLE) ? MUON_STATUS_OK : MUON_STATUS_LMO},
              {"type newtonschulz precision double coefficients cubic normalization spectral power_iterations 60", 1, MUON_STATUS_OK},
              {"type newtonschulz precision single coefficients cubic normalization spectral power_iterations 60", 1, MUON_STATUS_OK},
              {"type gram precision single coefficients quintic steps 20 gram_restart 0", 2, MUON_STATUS_LMO},
              {"type gram precision single coefficients quintic steps 20", 2, MUON_STATUS_OK}};
  static double    A[3][20 * 700], Q[20 * 700], U[20 * 20], V[700 * 20], sigma[20];
  static const int shapes[][2] = {{2, 2}, {40, 40}, {20, 700}};
  MuonPolar        polar;

  PetscFunctionBeginUser;
  for (int i = 0; i < 4; i++) A[0][i] = i + 1;
  PetscCall(Blind(A[1]));
  for (int j = 0; j < 20; j++) sigma[j] = j < 6 ? pow(0.1, j / 5.0) : 0.0;
  TestOfValues(20, 700, sigma, A[2]);
  TestRound(20 * 700, A[2]);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    PetscCall(TestMake(PETSC_COMM_SELF, rows[k].line, &polar));
    PetscCall(TestApply(polar, shapes[rows[k].matrix][0], shapes[rows[k].matrix][1], 0, A[rows[k].matrix], rows[k].status, Q));
    PetscCall(MuonPolarDestroy(&polar));
  }
  TestSVD(20, 700, Q, sigma, U, V);
  for (int j = 0; j < 20; j++) TestNear("singular value", sigma[j], j < 6 ? 1.0 : 0.0, j < 6 ? 1e-4 : 1e-2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Steps until l is one to ten roundoffs, and those of them with weights that need a QR factorization */
static int Steps(double l, int *qr)
{
  int steps = 0;

  for (*qr = 0; 1.0 - l > 10.0 * 2.220446049250313e-16; steps++) {
    double w[3];

    MuonKernelHalley(l, w, &l);
    if (w[2] > 100.0) (*qr)++;
  }
  return steps;
}

static PetscErrorCode CheckWeights(void)
{
  static const double lows[][3] = {{1e-16, 6, 2}, {1e-8, 5, 2}, {1e-3, 4, 1}, {0.9, 3, 0}, {1.0, 0, 0}};
  double              w[3], l;
  int                 qr;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(lows); k++) {
    const int steps = Steps(lows[k][0], &qr);

    TestCheck((k == 3 ? steps <= 3 : steps == (int)lows[k][1]) && qr == (int)lows[k][2], "%d steps, %d by QR from %g", steps, qr, lows[k][0]);
  }
  MuonKernelHalley(1.0, w, &l);
  TestCheck(w[0] == 3.0 && w[1] == 1.0 && w[2] == 3.0 && l == 1.0, "Weights %g %g %g", w[0], w[1], w[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonPolar    polar;
  const char  *oracles = "svd newtonschulz gram zolotarev qdwh mud in polar_oracle";
  const char **types;
  PetscBool    one;
  int          count;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lmo_polar_type", &one));
  PetscCall(TestMake(PETSC_COMM_SELF, "", &polar));
  if (one) PetscCall(CheckInvariance(polar));
  else {
    PetscCall(CheckExamples());
    PetscCall(CheckDivergence());
    PetscCall(CheckWeights());
    PetscCall(PetscFunctionListGet(MuonPolarList, &types, &count));
    for (int t = 0; t < count && types[t] != NULL; t++) {
      PetscCall(MuonPolarSetType(polar, types[t]));
      TestCheck(strstr(oracles, types[t]) != NULL, "No row of a test compares the type %s with numpy: add one", types[t]);
      PetscCall(TestTune(polar, "precision own"));
      PetscCall(CheckInvariance(polar));
      PetscCall(CheckTogether(polar, PETSC_FALSE));
      if (strcmp(types[t], MUONPOLARSVD) == 0) continue;
      PetscCall(TestTune(polar, "precision double"));
      PetscCall(CheckInvariance(polar));
    }
    PetscCall(PetscFree(types));
    PetscCall(TestTune(polar, "type zolotarev precision single zolotarev_poles 4 zolotarev_interval 1e-6"));
    PetscCall(CheckTogether(polar, PETSC_TRUE));
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  # Every registered type as it is by default, and in double
  table: suffix | args
                 |
    svd          | -lmo_polar_type svd -lmo_polar_svd_type {{lapack trlanczos randomized}}
    newtonschulz | -lmo_polar_type newtonschulz -lmo_polar_precision {{single double}} -lmo_polar_coefficients {{kj quintic cubic}}

TEST*/
