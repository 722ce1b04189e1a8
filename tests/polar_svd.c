static char help[] = "The wrapper of SLEPc's SVD: few and all triples of hard spectra, arrays of both precisions and orders, solvers by options behind two prefixes, input that SLEPc must not see.\n\n";

#include "polar_common.h"

typedef struct {
  PetscInt     count;
  PetscReal   *sigma;
  PetscScalar *U, *V;
} Triples;

static PetscErrorCode Compute(MuonSVD svd, TestInput *G, PetscInt nsv, int vectors, MuonStatus expected, Triples *t)
{
  const PetscInt room = PetscMax(nsv, 1);
  MuonStatus     status;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(room, &t->sigma, room * G->matrix.rows, &t->U, room * G->matrix.columns, &t->V));
  PetscCall(MuonSVDCompute(svd, &G->matrix, nsv, t->sigma, vectors > 0 ? t->U : NULL, vectors > 1 ? t->V : NULL, &t->count, &status));
  PetscCall(TestStatus(PETSC_COMM_SELF, status, expected, "triples"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Free(Triples *t)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree3(t->sigma, t->U, t->V));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of A v - sigma u of triple p, and of A^T u - sigma v where both are looked at */
static double Residual(int m, int n, const double *A, const Triples *t, int p, int both)
{
  double square = 0.0;

  for (int side = 0; side < 1 + both; side++) {
    for (int i = 0; i < (side ? n : m); i++) {
      double r = -(double)t->sigma[p] * (double)(side ? t->V[i + p * n] : t->U[i + p * m]);

      for (int j = 0; j < (side ? m : n); j++) r += A[side ? j + i * m : i + j * m] * (double)(side ? t->U[j + p * m] : t->V[j + p * n]);
      square += r * r;
    }
  }
  return sqrt(square);
}

static PetscErrorCode Check(MuonSVD svd, int variant, int m, int n, int spectrum, int nsv)
{
  const int s = PetscMin(m, n), l = PetscMax(m, n);
  /* Of PetscScalar, in which SLEPc computes, or of the array, whichever has fewer digits */
  const double eps = TestPrecision(variant) == MUON_SINGLE ? ldexp(1.0, -23) : PETSC_MACHINE_EPSILON, bound = 8.0 * (m + n) * eps;
  double      *A, *B, *U, *V, *sigma, best = 0.0;
  Triples      t, again;
  TestInput    G;
  int          rank = 0;
  char         what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s %d x %d, %d triples", testspectra[spectrum], m, n, nsv));
  PetscCall(PetscMalloc5(m * n, &A, m * n, &B, m * s, &U, n * s, &V, s, &sigma));
  TestMatrix(m, n, spectrum, A);
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 2, A, &G));
  PetscCall(TestGet(&G, A));
  TestSVD(m, n, A, sigma, U, V);
  PetscCall(Compute(svd, &G, nsv, 2, MUON_STATUS_OK, &t));
  /* The same bits again, whatever the solver draws at random, and without vectors */
  for (int vectors = 1; vectors >= 0; vectors--) {
    PetscCall(Compute(svd, &G, nsv, vectors, MUON_STATUS_OK, &again));
    TestCheck(again.count == t.count && memcmp(again.sigma, t.sigma, (size_t)t.count * sizeof(PetscReal)) == 0 && (!vectors || memcmp(again.U, t.U, (size_t)(t.count * m) * sizeof(PetscScalar)) == 0), "%s: two runs differ", what);
    PetscCall(Free(&again));
  }
  while (rank < s && sigma[rank] > l * eps * sigma[0]) rank++;
  TestNear(what, t.count, PetscMin(rank, nsv), 0.0);
  for (int p = 0; p < t.count; p++) {
    /*
       Backward stability: the singular values of a matrix at a distance of a modest multiple of (m + n) eps
       sigma_1. Iterations go on until the residual is a rounding, which says more than their singular values do
    */
    TestNear(what, t.sigma[p], sigma[p], bound * sigma[0]);
    TestMost(what, Residual(m, n, A, &t, p, 1), bound * sigma[0]);
    for (int q = 0; q < t.count; q++) {
      double a = p == q ? -1.0 : 0.0, b = a;

      for (int i = 0; i < m; i++) a += (double)t.U[i + p * m] * (double)t.U[i + q * m];
      for (int i = 0; i < n; i++) b += (double)t.V[i + p * n] * (double)t.V[i + q * n];
      TestMost(what, fabs(a), bound);
      TestMost(what, fabs(b), bound);
    }
  }
  /* No approximation of that rank is better, and this one is as good */
  for (int i = 0; i < m * n; i++) {
    B[i] = A[i];
    for (int p = 0; p < t.count; p++) B[i] -= (double)t.U[i % m + p * m] * (double)t.sigma[p] * (double)t.V[i / m + p * n];
  }
  for (int i = (int)t.count; i < s; i++) best += sigma[i] * sigma[i];
  TestMost(what, TestDistance(m * n, B, NULL), (1 + 1e-7) * sqrt(best) + bound * s * sigma[0]);
  PetscCall(Free(&t));
  PetscCall(TestDestroy(&G));
  PetscCall(PetscFree5(A, B, U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tolerance ends the iteration earlier, and not too early; by default it goes as far as the entries have digits */
static PetscErrorCode CheckTolerance(void)
{
  enum {
    SIDE = 60
  };
  double    A[SIDE * SIDE];
  Triples   t;
  TestInput G;
  MuonSVD   svd;

  PetscFunctionBeginUser;
  TestMatrix(SIDE, SIDE, TEST_GAUSSIAN, A);
  PetscCall(MuonSVDCreate(PETSC_COMM_SELF, &svd));
  for (int k = 0; k < 4; k++) {
    const double eps  = k < 2 ? ldexp(1.0, -23) : (double)PETSC_MACHINE_EPSILON;
    double       most = 0.0;

    PetscCall(TestCreate(k < 2 ? TEST_SINGLE_COLUMNS : TEST_DOUBLE_COLUMNS, TEST_ALONE, SIDE, SIDE, 0, A, &G));
    PetscCall(TestGet(&G, A));
    PetscCall(MuonSVDSetTolerance(svd, k % 2 ? -1 : (PetscReal)1e-3));
    PetscCall(Compute(svd, &G, 4, 2, MUON_STATUS_OK, &t));
    TestNear("triples", t.count, 4, 0.0);
    for (int p = 0; p < 4; p++) most = PetscMax(most, Residual(SIDE, SIDE, A, &t, p, 0) / (double)t.sigma[0]);
    TestCheck(k % 2 ? most <= 1e3 * eps : most > 1e-6 && most <= 2e-3, "Precision %d, tolerance %d: the residual is %g sigma_1", k / 2, k % 2, most);
    PetscCall(Free(&t));
    PetscCall(TestDestroy(&G));
  }
  PetscCall(MuonSVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What SLEPc never sees, zero and NaN and nothing; and singular values 4 and 3 of any magnitude */
static PetscErrorCode CheckSpecial(MuonSVD svd)
{
  const int far = PetscDefined(USE_REAL_SINGLE) ? 120 : 1000;
  const struct {
    double     first, last;
    int        power, n, count;
    MuonStatus status;
  } rows[] = {{0, 0, 0, 2, 0, MUON_STATUS_OK}, {3, NAN, 0, 2, 0, MUON_STATUS_NANORINF}, {3, -INFINITY, 0, 2, 0, MUON_STATUS_NANORINF}, {0, 0, 0, 0, 0, MUON_STATUS_OK}, {3, 4, -far, 2, 2, MUON_STATUS_OK}, {3, 4, far, 2, 2, MUON_STATUS_OK}};
  Triples   t;
  TestInput G;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    const double B[4] = {ldexp(rows[k].first, rows[k].power), 0, 0, ldexp(rows[k].last, rows[k].power)};

    PetscCall(TestCreate(TEST_MAT, TEST_ALONE, rows[k].n, rows[k].n == 0 ? 5 : 2, 1, B, &G));
    PetscCall(Compute(svd, &G, rows[k].n, 2, rows[k].status, &t));
    TestNear("special", t.count, rows[k].count, 0.0);
    for (int p = 0; p < rows[k].count; p++) TestNear("4 and 3", ldexp((double)t.sigma[p], -rows[k].power), 4 - p, 40.0 * PETSC_MACHINE_EPSILON);
    PetscCall(Free(&t));
    PetscCall(TestDestroy(&G));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {20, 20}, {50, 50}, {40, 90}, {90, 40}};
  MuonSVD          svd;
  MuonPolar        parent;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &parent));
  PetscCall(MuonSVDCreate(PETSC_COMM_SELF, &svd));
  PetscCall(MuonSVDSetFromOptions(svd, (PetscObject)parent, "all_"));
  PetscCall(MuonPolarSetOptionsPrefix(parent, "one_"));
  PetscCall(MuonSVDSetFromOptions(svd, (PetscObject)parent, "all_"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1], s = PetscMin(m, n);

    for (int spectrum = 0; spectrum < TEST_ZERO; spectrum++) {
      PetscCall(Check(svd, TEST_DOUBLE_COLUMNS, m, n, spectrum, 1));
      for (int variant = TEST_SINGLE_COLUMNS; variant < TEST_VARIANTS; variant++) {
        /* The order and the other precision change no more than how entries are read */
        if (variant != TEST_DOUBLE_COLUMNS && spectrum != TEST_GAUSSIAN && spectrum != TEST_DEFICIENT) continue;
        PetscCall(Check(svd, variant, m, n, spectrum, PetscMax(1, s / 12)));
        PetscCall(Check(svd, variant, m, n, spectrum, s));
      }
    }
  }
  PetscCall(MuonSVDView(svd, PETSC_VIEWER_STDOUT_SELF));
  PetscCall(CheckTolerance());
  PetscCall(CheckSpecial(svd));
  PetscCall(MuonSVDDestroy(&svd));
  PetscCall(MuonPolarDestroy(&parent));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  table: suffix | args
    default   |
    trlanczos | -all_svd_type trlanczos
    # The later prefix wins
    prefixes  | -all_svd_type trlanczos -one_all_svd_type lapack

  # An iteration that is not allowed to converge: LAPACK takes over, which View tells
  test:
    suffix: takeover
    args: -all_svd_type trlanczos -all_svd_max_it 1
    filter: grep "took over" | sed -e "s/over [0-9]* times/over/"

  table: suffix | args | error
    unknown | -all_svd_type {{bogus lapak}} | Unknown SVD type given:
    nsv     | -one_all_svd_nsv 3            | Option -one_all_svd_nsv asks for 3 singular triples

TEST*/
