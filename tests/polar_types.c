static char help[] = "Every registered method: what it keeps, and worked examples.\n\n";

#include "polar_common.h"

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

int main(int argc, char **argv)
{
  MuonPolar    polar;
  const char  *oracles = "svd newtonschulz gram by polar_coefficients, zolotarev qdwh mud by those of their names";
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
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # Every registered type as it is by default, and in double
  table: suffix | args
                 |
    svd          | -lmo_polar_type svd -lmo_polar_svd_type {{lapack trlanczos randomized}}
    newtonschulz | -lmo_polar_type newtonschulz -lmo_polar_precision {{single double}} -lmo_polar_coefficients {{kj quintic cubic}}

TEST*/
