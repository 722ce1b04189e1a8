static char help[] = "Norm balls of matrices whose rows lie on many ranks: as on one, ties and statuses included; every type, any distribution. Arrays of both precisions, with the same bits in both orders.\n\n";

#include "lmo_common.h"

/* The same bits on all ranks, and near the value on one */
static PetscErrorCode Value(PetscReal value, PetscReal alone, double bound, const char what[])
{
  double range[2] = {(double)value, -(double)value};

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  TestNear(what, range[0], -range[1], 0.0);
  TestNear(what, value, alone, bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  GAUSSIAN,
  TIES,
  WIDE_RANGE,
  ZERO,
  FILLS
};

static void Fill(int fill, int m, int n, double *A)
{
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) {
      double a = 0.0;

      if (fill == GAUSSIAN) a = TestGaussian();
      /* Each column and each row has many that are largest, and columns are equal up to sign in pairs; every fifth row and column is zero */
      if (fill == TIES && i % 5 != 3 && j % 5 != 4) a = (i + j / 2) % 3 == 0 ? 2.0 : (j % 2 == 0 ? -2.0 : 1.0);
      if (fill == TIES && j % 2 == 1 && i % 5 != 3 && j % 5 != 4) a = -A[i + (j - 1) * m];
      /* Columns whose squares vanish or overflow, in doubles */
      if (fill == WIDE_RANGE) a = ldexp(TestGaussian(), (PetscDefined(USE_REAL_SINGLE) ? 30 : 300) * (j % 3 - 1) * 2);
      A[i + j * m] = (double)(PetscScalar)a;
    }
  }
}

/* In D the minimizer on one rank, in E that on all */
static PetscErrorCode Check(const TestNorm *norm, MuonLMO lmo, MuonLMO alone, int variant, int how, int fill, int m, int n, const double *matrix, double *D, double *E)
{
  const double eps = TestInputEpsilon(norm, variant), real = PetscMax(eps, (double)PETSC_MACHINE_EPSILON);
  /*
     Whole rows and single entries are the same to the last bit. Sums over ranks turn a quotient of D, raised to 1/(p-1) or 1/(q-1), by a few eps
     times the logarithm of the number of terms in one of them, all in all by less than their number; so do products of factors of the same decomposition
  */
  const double terms = 1.0 + (norm->p > 1.0 && norm->p < 1.1 ? 1.0 / (norm->p - 1.0) : 0.0) + (norm->q > 1.0 && norm->q < 1.1 ? 1.0 / (norm->q - 1.0) : 0.0);
  const double bound = norm->exact || norm->kind == LMO_ROWS ? 0.0 : eps * (m + n) * terms;
  TestInput    G, H, P, Q;
  PetscReal    primal[2], dual[2];
  double      *A, *S;
  char         what[128];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, fill %d, %d x %d, distribution %d", TestNormName(norm), testvariants[variant], fill, m, n, how));
  PetscCall(PetscMalloc2(m * n, &A, m * n, &S));
  for (int i = 0; i < m * n; i++) A[i] = TestPrecision(variant) == MUON_SINGLE ? (double)(float)matrix[i] : matrix[i];
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 1, A, &G));
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 0, NULL, &H));
  PetscCall(TestInputApply(alone, 0, &G, &H));
  PetscCall(TestGet(&H, D));
  PetscCall(TestInputNorms(alone, &G, &primal[0], &dual[0]));
  PetscCall(TestCreate(variant, how, m, n, 1, A, &P));
  PetscCall(TestCreate(variant, how, m, n, 1, NULL, &Q));
  PetscCall(TestInputApply(lmo, 0, &P, &Q));
  PetscCall(TestStatus(PETSC_COMM_WORLD, lmo->status, MUON_STATUS_OK, what));
  PetscCall(TestGet(&Q, E));
  TestMost(what, TestFarthest(m * n, E, D), bound);
  PetscCall(TestGet(&P, S));
  TestMost(what, TestFarthest(m * n, S, A), 0.0);
  PetscCall(TestInputNorms(lmo, &P, &primal[1], &dual[1]));
  PetscCall(TestStatus(PETSC_COMM_WORLD, lmo->status, MUON_STATUS_OK, what));
  PetscCall(Value(primal[1], primal[0], real * (m + n) * (double)primal[0], what));
  PetscCall(Value(dual[1], dual[0], real * (m + n) * (double)dual[0], what));
  if (variant == TEST_MAT) {
    PetscCall(TestInputApply(lmo, 1, &P, &Q));
    PetscCall(TestGet(&Q, S));
    for (int i = 0; i < m * n; i++) TestNear(what, S[i], -(double)dual[0] * D[i], (bound + 2.0 * real * (m + n)) * (double)dual[0]);
  }
  /* On the rank of one row only */
  for (int row = 0; row < m && variant == TEST_MAT && fill == GAUSSIAN; row += PetscMax(1, m - 1)) PetscCall(TestInputNaN(lmo, variant, how, m, n, A, row, how % 2 == 0 ? NAN : -INFINITY, what));
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&H));
  PetscCall(TestDestroy(&P));
  PetscCall(TestDestroy(&Q));
  PetscCall(PetscFree2(A, S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 9}, {9, 1}, {13, 13}, {6, 40}, {1100, 5}};
  MuonLMO          lmo, alone;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestNormsComplete());
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &alone));
  for (int t = 0; t < TEST_NORMS; t++) {
    const TestNorm *norm = &testnorms[t];

    /* lmo_ball has these, other names of the norms above, by their definitions */
    if (strcmp(norm->type, MUONLMOMIXED) == 0 && (norm->p == 1.0 || norm->p == 2.0 || norm->p == norm->q) && (norm->q == 1.0 || norm->q == 2.0 || isinf(norm->q))) continue;
    PetscCall(TestNormSet(norm, lmo));
    PetscCall(TestNormSet(norm, alone));
    for (int k = 0; k < (int)PETSC_STATIC_ARRAY_LENGTH(shapes) * FILLS; k++) {
      /* Every norm meets every distribution, in one shape or the other */
      const int m = shapes[k / FILLS][0], n = shapes[k / FILLS][1], mn = m * n, fill = k % FILLS, how = (t + k / FILLS + fill) % TEST_DISTRIBUTIONS;
      const int first = (t + k / FILLS) % 2 == 0 || (fill == WIDE_RANGE && PetscDefined(USE_REAL_DOUBLE)) ? TEST_DOUBLE_COLUMNS : TEST_SINGLE_COLUMNS;
      /* Sums, and the first of equal entries where there is one in all, are in the order of the memory only there */
      const int    same  = norm->kind != LMO_SINGULAR && !(norm->p == 1.0 && norm->q == 1.0 && fill == TIES);
      const double bound = same ? 0.0 : fill == TIES ? HUGE_VAL : TestInputEpsilon(norm, first) * (m + n);
      double      *A, *D[2], *E[2];

      /* Singular values of this range tell nothing: the smaller are rounding */
      if (norm->kind == LMO_SINGULAR && fill == WIDE_RANGE) continue;
      PetscCall(PetscMalloc5(mn, &A, mn, &D[0], mn, &D[1], mn, &E[0], mn, &E[1]));
      Fill(fill, m, n, A);
      PetscCall(Check(norm, lmo, alone, TEST_MAT, how, fill, m, n, A, D[0], E[0]));
      for (int order = 0; order < 2; order++) PetscCall(Check(norm, lmo, alone, first + order, how, fill, m, n, A, D[order], E[order]));
      TestMost(TestNormName(norm), TestFarthest(mn, E[1], E[0]), bound);
      TestMost(TestNormName(norm), TestFarthest(mn, D[1], D[0]), bound);
      PetscCall(PetscFree5(A, D[0], D[1], E[0], E[1]));
    }
  }
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(MuonLMODestroy(&alone));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
