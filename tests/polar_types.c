static char help[] = "Methods for the polar factor. Every registered one: what it keeps, and worked examples. Halley's iteration with dynamic weights: steps, working accuracy up to condition 1e12, "
                     "ranks of matrices, many ranks. Newton-Schulz on the Gram matrix: the same as without it, restarts, operations, and what an indefinite Gram matrix does. Products of bfloat16 matrices "
                     "against the same method in double. The rows that mud makes, and the start of the spectral normalization, for numpy.\n\n";

#include "polar_common.h"
#include "kernels/codec/muonkernels.h"
#include "kernels/dense/muonpolarkernels.h"

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
   Small matrices of three shapes in one call have the bits of each alone: with padding and large and small norms, without full rank, and one of
   zeros. Where a factorization in single precision fails the factor is that of double, and no other one changes
*/
static PetscErrorCode CheckTogether(MuonPolar polar, PetscBool fails)
{
  static const int shapes[][2] = {{8, 12}, {12, 8}, {16, 16}};
  enum {
    MANY = 27
  };
  TestInput  in[MANY], out[MANY];
  Mat        G[MANY], Q[MANY];
  MuonStatus status[MANY];
  double     alone[MANY][16 * 16], A[16 * 16];

  PetscFunctionBeginUser;
  for (int k = 0; k < MANY; k++) {
    const int m = shapes[k % 3][0], n = shapes[k % 3][1];

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
  PetscCall(MuonPolarApplyMany(polar, MANY, G, Q, status));
  for (int k = 0; k < MANY; k++) {
    PetscCall(TestGet(&out[k], A));
    TestCheck(status[k] == MUON_STATUS_OK && TestFarthest(shapes[k % 3][0] * shapes[k % 3][1], A, alone[k]) == 0.0, "%s: matrix %d of many is %g from its factor alone", ((PetscObject)polar)->type_name, k,
              TestFarthest(shapes[k % 3][0] * shapes[k % 3][1], A, alone[k]));
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

static PetscErrorCode CheckTypes(void)
{
  MuonPolar    polar;
  const char  *oracles = "svd newtonschulz gram by polar_coefficients, zolotarev qdwh mud by those of their names";
  const char **types;
  PetscBool    one;
  int          count;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lmo_polar_type", &one));
  PetscCall(TestMake(PETSC_COMM_SELF, "", &polar));
  if (one) PetscCall(CheckInvariance(polar));
  else {
    PetscCall(CheckExamples());
    PetscCall(PetscFunctionListGet(MuonPolarList, &types, &count));
    for (int t = 0; t < count && types[t] != NULL; t++) {
      PetscCall(MuonPolarSetType(polar, types[t]));
      TestCheck(strstr(oracles, types[t]) != NULL, "No test compares the type %s with numpy or with a Jacobi SVD: add one", types[t]);
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HalleySteps until l is one to ten roundoffs, and those of them with weights that need a QR factorization */
static int HalleySteps(double l, int *qr)
{
  int steps = 0;

  for (*qr = 0; 1.0 - l > 10.0 * 2.220446049250313e-16; steps++) {
    double w[3];

    MuonKernelHalley(l, w, &l);
    if (w[2] > 100.0) (*qr)++;
  }
  return steps;
}

/* What it did: steps, steps by QR, decompositions */
#define COUNT(polar) ((const PetscInt *)(polar)->data)

/*
   The orthogonal factor is one, it is that of G, and where the condition is modest it is the one of the
   decomposition. Of a matrix whose rows are on all ranks it is an isometry of that rank that reaches the nuclear norm
*/
static PetscErrorCode CheckHalley(MuonPolar polar, PetscBool spread, double unit, int m, int n, const double *sigma, int rank)
{
  const int s = PetscMin(m, n), l = PetscMax(m, n);
  double   *A, *Q, *U, *V, *W, *tau, most = 0.0, nuclear = 0.0;
  PetscInt  before;
  char      what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%d x %d, rank %d, condition %g", m, n, rank, sigma[0] / sigma[rank - 1]));
  PetscCall(PetscMalloc6(m * n, &A, m * n, &Q, l * s, &U, l * s, &V, l * l, &W, s, &tau));
  for (int j = 0; j < s; j++) tau[j] = j < rank ? sigma[j] : 0.0;
  TestOfValues(m, n, tau, A);
  TestRound(m * n, A);
  before = COUNT(polar)[2];
  PetscCall(TestApplyAs(polar, TEST_MAT, spread ? TEST_EVEN : TEST_ALONE, m, n, 1, A, MUON_STATUS_OK, Q));
  TestNear(what, COUNT(polar)[2] - before, rank < s, 0.0);

  /* Q Q^T Q = Q and the rank, to ten roundoffs for each of the s sums of a product */
  TestMultiply(m, m, n, Q, Q, 1, W);
  TestMultiply(m, n, m, W, Q, 0, U);
  TestMost(what, TestDistance(m * n, U, Q), 10.0 * s * sqrt((double)s) * unit);
  TestNear(what, TestDot(m * n, Q, Q), rank, 20.0 * s * s * unit);
  /* H = G^T Q over the long side is symmetric to the same, positive semidefinite: <G,Q> is the nuclear norm */
  TestSVD(m, n, A, tau, U, V);
  for (int j = 0; j < s; j++) nuclear += tau[j];
  TestNear(what, TestDot(m * n, A, Q), nuclear, (spread ? 40.0 : 20.0) * s * unit * nuclear);
  if (!spread) TestMost(what, TestAsymmetry(m, n, A, Q), 20.0 * s * unit * TestDistance(m * n, A, NULL));
  /*
     A backward error of so many roundoffs of sigma_1 moves the factor by at most twice that over the smallest
     singular value (the sum of the two smallest for square matrices, no less)
  */
  for (int j = 0; j < rank; j++) most = PetscMax(most, tau[0] / tau[j]);
  TestMultiply(m, n, rank, U, V, 1, W);
  if (!spread) TestMost(what, TestDistance(m * n, W, Q), 40.0 * s * unit * most);
  PetscCall(PetscFree6(A, Q, U, V, W, tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Singular values 1 ... 10^-decades, or all but the first so small, or 1, 2, ... */
static void Fill(int s, int decades, int kind, double sigma[])
{
  for (int j = 0; j < s; j++) {
    const double power = kind == 1 ? (j > 0 ? 1.0 : 0.0) : s > 1 ? (double)j / (s - 1) : 0.0;

    sigma[j] = kind == 2 ? 1.0 + j : pow(10.0, -decades * power);
  }
}

static PetscErrorCode CheckWeights(void)
{
  static const double lows[][3] = {{1e-16, 6, 2}, {1e-8, 5, 2}, {1e-3, 4, 1}, {0.9, 3, 0}, {1.0, 0, 0}};
  double              w[3], l;
  int                 qr;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(lows); k++) {
    const int steps = HalleySteps(lows[k][0], &qr);

    TestCheck((k == 3 ? steps <= 3 : steps == (int)lows[k][1]) && qr == (int)lows[k][2], "%d steps, %d by QR from %g", steps, qr, lows[k][0]);
  }
  MuonKernelHalley(1.0, w, &l);
  TestCheck(w[0] == 3.0 && w[1] == 1.0 && w[2] == 3.0 && l == 1.0, "Weights %g %g %g", w[0], w[1], w[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckHalleyOne(MuonPolar polar, int m, int n)
{
  const int s = PetscMin(m, n);
  double   *sigma;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(s, &sigma));
  for (int precision = PetscDefined(USE_REAL_SINGLE) ? 0 : 1; precision >= 0; precision--) {
    const double unit = precision == 0 ? ldexp(1.0, -24) : ldexp(1.0, -53);

    PetscCall(TestTune(polar, "precision %s", precision == 0 ? "single" : "double"));
    for (int decades = 0; decades <= (precision == 0 ? 4 : 12); decades += precision == 0 ? 2 : 4) {
      Fill(s, decades, 0, sigma);
      PetscCall(CheckHalley(polar, PETSC_FALSE, unit, m, n, sigma, s));
      /* The interval is estimated or guessed from below, never too large by much: no more steps than six */
      TestNear("steps", COUNT(polar)[0], 3.0, 3.0);
      TestNear("steps by QR", COUNT(polar)[1], decades == 12 && s > 1 ? 2.0 : 1.0, decades == 12 && s > 1 ? 0.0 : 1.0);
    }
    /* All but one small, and half of them */
    Fill(s, precision == 0 ? 4 : 9, 1, sigma);
    PetscCall(CheckHalley(polar, PETSC_FALSE, unit, m, n, sigma, s));
    Fill(s, 0, 2, sigma);
    if (s > 1) PetscCall(CheckHalley(polar, PETSC_FALSE, unit, m, n, sigma, s / 2));
  }
  PetscCall(PetscFree(sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Condition 1, 100 and the largest that working accuracy is promised for, and half of the singular values zero.
   A rank with less than s of the long side has no memory for the QR factorization, and makes more steps
*/
static PetscErrorCode CheckHalleyMany(MuonPolar polar)
{
  /* With 3 ranks: parts longer than the short side, shorter, empty, wide and tall */
  static const int shapes[][2] = {{90, 12}, {12, 90}, {24, 24}, {2, 2}, {30, 24}};
  const int        most = PetscDefined(USE_REAL_SINGLE) ? 4 : 12, decades[] = {0, 2, most, most};
  PetscBool        alone = PETSC_FALSE, byqr = PETSC_FALSE;
  PetscMPIInt      size;
  double           sigma[24];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < 4 * PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int       m = shapes[k / 4][0], n = shapes[k / 4][1], s = PetscMin(m, n), l = PetscMax(m, n);
    const PetscBool room = l / size >= s ? PETSC_TRUE : PETSC_FALSE;

    Fill(s, decades[k % 4], 0, sigma);
    PetscCall(CheckHalley(polar, PETSC_TRUE, PETSC_MACHINE_EPSILON / 2.0, m, n, sigma, k % 4 == 3 ? s / 2 : s));
    if (k % 4 != 2) continue;
    TestCheck((COUNT(polar)[1] > 0) == room && COUNT(polar)[0] <= (room ? 6 : 16), "%d steps, %d by QR", (int)COUNT(polar)[0], (int)COUNT(polar)[1]);
    if (room) byqr = PETSC_TRUE;
    else alone = PETSC_TRUE;
  }
  TestCheck(byqr && (size == 1 || alone), "Not both ways were taken");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckQDWH(void)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {24, 24}, {16, 40}, {40, 16}, {33, 32}, {30, 200}};
  MuonPolar        polar;
  PetscBool        spread;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-spread", &spread));
  PetscCall(CheckWeights());
  PetscCall(TestMake(spread ? PETSC_COMM_WORLD : PETSC_COMM_SELF, "type qdwh", &polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes) && !spread; k++) PetscCall(CheckHalleyOne(polar, shapes[k][0], shapes[k][1]));
  if (spread) PetscCall(CheckHalleyMany(polar));
  else PetscCall(MuonPolarView(polar, NULL));
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

static PetscErrorCode CheckGram(void)
{
  static const int         shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {12, 60}, {60, 12}, {20, 700}, {24, 24}, {24, 40}};
  static const char *const sets[] = {"kj", "you", "pe105", "polarexpress", "quintic", "cubic"}, *const restarts[] = {"0", "empty", "1,2,3,4,5,6,7,8,9,10,11,12,13,14"};
  static const char *const views[]  = {"type gram", "type gram gram_restart 0", "type gram coefficients quintic gram_restart 2,4,7"};
  const PetscReal          values[] = {(PetscReal)3.4445, (PetscReal)-4.7750, (PetscReal)2.0315, (PetscReal)1.5, (PetscReal)-0.5, 0};
  MuonPolar                polar, plain;
  double                  *A, *Q, *R, *U, *V;

  PetscFunctionBeginUser;
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What Zolotarev's function promises in bfloat16: the factor of the rounded matrix, in the ball, whose product with
   the matrix lacks .022 of the nuclear norm at most beside what single precision lacks. Gaussian matrices, three
   decades, and 40 ones above a tail of .002, in which the directions of the rounding are as large
*/
static PetscErrorCode CheckBall(MuonPolar polar)
{
  static const int shapes[][2] = {{96, 384}, {384, 96}, {96, 96}};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < 3 * PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k / 3][0], n = shapes[k / 3][1], s = PetscMin(m, n), kind = (int)k % 3;
    double   *A, *Q, *U, *V, *sigma, gap[2], nuclear = 0.0;
    char      what[32];

    PetscCall(PetscSNPrintf(what, sizeof(what), "%d x %d, kind %d", m, n, kind));
    PetscCall(PetscMalloc5(m * n, &A, m * n, &Q, m * n, &U, m * n, &V, s, &sigma));
    for (int j = 0; j < s; j++) sigma[j] = kind == 1 ? pow(10.0, -3.0 * j / s) : j < 40 ? 1.0 : 0.002;
    if (kind == 0) TestMatrix(m, n, TEST_GAUSSIAN, A);
    else TestOfValues(m, n, sigma, A);
    TestRound(m * n, A);
    TestSVD(m, n, A, sigma, U, V);
    for (int j = 0; j < s; j++) nuclear += sigma[j];
    for (int p = 0; p < 2; p++) {
      PetscCall(TestTune(polar, "precision %s", p == 0 ? "single" : "bf16"));
      PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, Q));
      gap[p] = 1.0 - TestDot(m * n, A, Q) / nuclear;
    }
    TestSVD(m, n, Q, sigma, U, V);
    TestMost(what, sigma[0], 1.01);
    TestMost(what, gap[1], gap[0] + 0.022);
    TestCheck(gap[0] != gap[1], "%s: nothing was rounded", what);
    PetscCall(PetscInfo(polar, "%s: norm %g, gap %g, in single %g\n", what, sigma[0], gap[1], gap[0]));
    PetscCall(PetscFree5(A, Q, U, V, sigma));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckBF16(void)
{
  static const int shapes[][2] = {{1, 1}, {1, 40}, {40, 1}, {48, 48}, {40, 130}, {130, 40}, {64, 700}, {700, 64}};
  static const int spectra[]   = {TEST_GAUSSIAN, TEST_HARMONIC, TEST_MILD, TEST_DEFICIENT, TEST_FLAT};
  double           most        = 0.0;
  PetscReal        growth      = 1.0;
  MuonPolar        polar;
  PetscBool        rational;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-growth", &growth, NULL));
  PetscCall(TestMake(PETSC_COMM_SELF, "", &polar));
  PetscCall(PetscObjectTypeCompare((PetscObject)polar, MUONPOLARZOLOTAREV, &rational));
  if (rational) PetscCall(CheckBall(polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes) && !rational; k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *A, *Q[2];

    PetscCall(PetscMalloc3(m * n, &A, m * n, &Q[0], m * n, &Q[1]));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(spectra); t++) {
      double error;

      TestMatrix(m, n, spectra[t], A);
      for (int p = 0; p < 2; p++) {
        PetscCall(TestTune(polar, "precision %s", p == 0 ? "double" : "bf16"));
        PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, Q[p]));
      }
      /* Each operand of a product is off by at most 2^-8; polynomials that converge forget that but for the last step or two */
      error = TestDistance(m * n, Q[1], Q[0]) / TestDistance(m * n, Q[0], NULL);
      TestMost(testspectra[spectra[t]], error, growth * 2e-2);
      most = PetscMax(most, error);
    }
    PetscCall(PetscFree3(A, Q[0], Q[1]));
  }
  /* Binary32 would be below that */
  TestCheck(rational || most > 1e-4, "Nothing was rounded to bfloat16");
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMud(void)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {24, 24}, {16, 40}, {40, 16}, {130, 300}};
  TestOracle       oracle;
  MuonPolar        polar;
  PetscMPIInt      rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (rank == 0) PetscCall(TestOracleOpen(&oracle));
  PetscCall(TestMake(PETSC_COMM_WORLD, "type mud", &polar));
  for (size_t k = 0; k < 3 * PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k / 3][0], n = shapes[k / 3][1], kind = (int)k % 3;
    double   *A, *Q, *R;

    PetscCall(PetscMalloc3(m * n, &A, m * n, &Q, m * n, &R));
    TestMatrix(m, n, kind == 1 ? TEST_HARMONIC : TEST_GAUSSIAN, A);
    /* A row or column of the short side that is zero, and one that is another one again */
    for (int i = 0; i < PetscMax(m, n) && kind == 2 && PetscMin(m, n) > 8; i++) {
      A[m <= n ? 3 + i * m : i + 3 * m] = 0.0;
      A[m <= n ? 7 + i * m : i + 7 * m] = A[m <= n ? 2 + i * m : i + 2 * m];
    }
    for (int i = 0; i < m * n; i++) A[i] = (double)(float)A[i];
    PetscCall(TestApplyAs(polar, TEST_MAT, TEST_EVEN, m, n, 0, A, MUON_STATUS_OK, Q));
    if (size == 1) {
      PetscCall(TestApplyAs(polar, PetscDefined(USE_REAL_SINGLE) ? TEST_SINGLE_ROWS : TEST_DOUBLE_ROWS, TEST_ALONE, m, n, 0, A, MUON_STATUS_OK, R));
      TestMost("rows in memory", TestDistance(m * n, Q, R), 1e-4 * TestDistance(m * n, Q, NULL));
    }
    if (rank == 0) PetscCall(TestOracleAdd(&oracle, (size_t)m * n, A, Q, "%d %d\n", m, n));
    PetscCall(PetscFree3(A, Q, R));
  }
  if (rank == 0) PetscCall(TestOracleClose(&oracle));
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix by which the first step begins, which the polynomial x lays open, and the factor by a named set */
static PetscErrorCode Look(TestOracle *oracle, MuonPolar polar, int m, int n, const double *A, int iterations, const char set[])
{
  const PetscReal one[3] = {1, 0, 0};
  const int       s      = PetscMin(m, n);
  PetscInt        steps  = 0;
  double         *Y, *U, *V, *sigma, eps = 0.0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(m * n, &Y, m * s, &U, n * s, &V, s, &sigma));
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(TestTune(polar, "power_iterations %d", iterations));
  for (int k = 0; k < 2; k++) {
    if (k == 0) PetscCall(MuonPolarSetCoefficientValues(polar, 3, one));
    else PetscCall(TestTune(polar, "coefficients %s", set));
    PetscCall(TestGetSteps(polar, &steps, NULL));
    PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, Y));
    if (k == 0) {
      TestSVD(m, n, Y, sigma, U, V);
      TestCheck(sigma[0] < 1.41 && sigma[0] > 0.5, "%d x %d: the iteration begins at a largest singular value of %g", m, n, sigma[0]);
    }
    PetscCall(TestOracleAdd(oracle, (size_t)m * n, A, Y, "%s %d %d %d %d %.17g\n", k == 0 ? "start" : set, (int)steps, iterations, m, n, eps));
  }
  PetscCall(PetscFree4(Y, U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Nothing helps where the direction of the start has no part of the largest singular vector, in double even
   after rounding: then the iteration diverges, which is a status, and the output stays as it was. Enough iterations see what rounding has of it
*/
static PetscErrorCode CheckDivergence(MuonPolar polar, double *A, double *H, double *u)
{
  const MuonKernelStream stream = {0x506f6c6172ULL, 0, 0, 0, 0};
  uint32_t               words[40];
  double                 dot = 0.0, norm = 0.0, eps = 0.0;

  PetscFunctionBeginUser;
  MuonKernelStreamWords(&stream, 0, 40, words);
  TestOrthonormal(40, 40, H);
  for (int i = 0; i < 40; i++) {
    dot += ((double)words[i] / 2147483648.0 - 1.0) * H[i];
    norm += pow((double)words[i] / 2147483648.0 - 1.0, 2);
  }
  for (int i = 0; i < 40; i++) u[i] = H[i] - dot / norm * ((double)words[i] / 2147483648.0 - 1.0);
  norm = sqrt(TestDot(40, u, u));
  for (int i = 0; i < 40; i++) u[i] /= norm;
  /*
     A = 0.2 H + 0.8 (H u) u^T with an orthogonal H: singular values 1 along u, on the side of the columns,
     where a square matrix is worked on, and 0.2 across
  */
  for (int i = 0; i < 40; i++) {
    double part = 0.0;

    for (int j = 0; j < 40; j++) part += H[i + j * 40] * u[j];
    for (int j = 0; j < 40; j++) A[i + j * 40] = 0.2 * H[i + j * 40] + 0.8 * part * u[j];
  }
  TestRound(1600, A);
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(TestTune(polar, "coefficients cubic power_iterations 1"));
  if (eps < 1e-10) PetscCall(TestApply(polar, 40, 40, 0, A, MUON_STATUS_LMO, H));
  PetscCall(TestTune(polar, "power_iterations 60"));
  PetscCall(TestApply(polar, 40, 40, 0, A, MUON_STATUS_OK, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSpectral(void)
{
  static const int   shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {48, 48}, {24, 60}, {60, 24}};
  static const char *sets[]      = {"cubic", "quintic", "kj"};
  TestOracle         oracle;
  MuonPolar          polar;
  double             A[60 * 60], B[60 * 60], sigma[40];

  PetscFunctionBeginUser;
  PetscCall(TestOracleOpen(&oracle));
  TestCheck(oracle.list != NULL, "This test needs -oracle_dir");
  PetscCall(TestMake(PETSC_COMM_SELF, "type newtonschulz normalization spectral", &polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    for (int spectrum = 0; spectrum < TEST_ZERO; spectrum++) {
      for (int draw = 0; draw < (spectrum == TEST_GAUSSIAN ? 6 : 2); draw++) {
        TestMatrix(shapes[k][0], shapes[k][1], spectrum, A);
        PetscCall(Look(&oracle, polar, shapes[k][0], shapes[k][1], A, 1 + draw % 3, sets[(k + spectrum) % 3]));
      }
    }
  }
  /* One value over a tail that holds almost all of the Frobenius norm: two power iterations alone often see the tail */
  for (int draw = 0; draw < 8; draw++) {
    for (int j = 0; j < 40; j++) sigma[j] = j == 0 ? 1.0 : 0.4 + 0.05 * draw;
    TestOfValues(40, 40, sigma, A);
    TestRound(1600, A);
    PetscCall(Look(&oracle, polar, 40, 40, A, 1, "cubic"));
  }
  PetscCall(TestOracleClose(&oracle));
  PetscCall(CheckDivergence(polar, A, B, sigma));
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscErrorCode (*check)(void);
  } parts[]       = {{"types", CheckTypes}, {"qdwh", CheckQDWH}, {"gram", CheckGram}, {"bf16", CheckBF16}, {"mud", CheckMud}, {"spectral", CheckSpectral}};
  char   part[16] = "types";
  size_t k        = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  while (k < PETSC_STATIC_ARRAY_LENGTH(parts) && strcmp(part, parts[k].name) != 0) k++;
  TestCheck(k < PETSC_STATIC_ARRAY_LENGTH(parts), "No part %s", part);
  PetscCall((*parts[k].check)());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  # Every registered type as it is by default, and in double
  table: suffix | args
                 |
    svd          | -lmo_polar_type svd -lmo_polar_svd_type {{lapack trlanczos randomized}}
    newtonschulz | -lmo_polar_type newtonschulz -lmo_polar_precision {{single double}} -lmo_polar_coefficients {{kj quintic cubic}}

  table: suffix | nsize | args | filter
    qdwh        |           | -part qdwh         | grep -c decomposition
    qdwh_spread | {{1 3 4}} | -part qdwh -spread |
    gram        |           | -part gram         | grep restarts

  table: suffix | requires | env | args
    bf16           | onednn | OMP_NUM_THREADS=1 | -part bf16 -lmo_polar_type newtonschulz -lmo_polar_coefficients {{quintic cubic}}
    # These do not converge. On the values that their steps visit the slope is at most 1.7 in absolute value, four times over
    bf16_kj        | onednn | OMP_NUM_THREADS=1 | -part bf16 -lmo_polar_type newtonschulz -lmo_polar_coefficients kj -growth 8
    bf16_zolotarev | onednn | OMP_NUM_THREADS=1 | -part bf16 -lmo_polar_type zolotarev -lmo_polar_zolotarev_poles 4

  table: suffix | nsize | args | oracle
    mud        | {{1 3}} | -part mud                                                            | polar_mud.py 1 single
    mud_double | {{1 3}} | -part mud -lmo_polar_mud_passes 3 -lmo_polar_precision double        | polar_mud.py 3 double
    spectral   |         | -part spectral -lmo_polar_precision {{single double}}                | polar_spectral.py

TEST*/
