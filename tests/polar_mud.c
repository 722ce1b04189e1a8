static char help[] = "The rows that -lmo_polar_type mud makes, against numpy: every shape, order and distribution.\n\n";

#include "polar_common.h"

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {24, 24}, {16, 40}, {40, 16}, {130, 300}};
  TestOracle       oracle;
  MuonPolar        polar;
  PetscMPIInt      rank, size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
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
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 3}}
    test:
      oracle: polar_mud.py 1 single
    test:
      suffix: double
      args: -lmo_polar_mud_passes 3 -lmo_polar_precision double
      oracle: polar_mud.py 3 double

TEST*/
