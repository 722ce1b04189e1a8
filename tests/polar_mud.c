static char help[] = "The rows that -lmo_polar_type mud makes, against numpy: every shape, order and distribution.\n\n";

#include "polar_common.h"

/* The factor of an array whose vectors are rows, which Mats are not */
static PetscErrorCode ApplyRows(MuonPolar polar, int m, int n, const double *A, double *Q)
{
  MuonMatrix   G, D;
  MuonStatus   status;
  PetscScalar *g, *q;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(m * n, &g, m * n, &q));
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) g[i * n + j] = (PetscScalar)A[i + j * m];
  }
  PetscCall(PetscMemzero(&G, sizeof(G)));
  G.comm           = PETSC_COMM_SELF;
  G.size           = 1;
  G.rows           = m;
  G.columns        = n;
  G.here.data      = g;
  G.here.len       = (size_t)n;
  G.here.count     = (size_t)m;
  G.here.ld        = (size_t)n;
  G.here.precision = MUON_PETSCSCALAR;
  G.here.memory    = MUON_HOST;
  G.here.rowmajor  = 1;
  G.here.pairs     = 0;
  D                = G;
  D.here.data      = q;
  PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &G, &D, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rows: status %s", MuonStatuses[status]);
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) Q[i + j * m] = (double)q[i * n + j];
  }
  PetscCall(PetscFree2(g, q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {24, 24}, {16, 40}, {40, 16}, {130, 300}};
  char             folder[PETSC_MAX_PATH_LEN];
  MuonPolar        polar;
  PetscMPIInt      rank, size;
  int              dumped = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", folder, sizeof(folder), NULL));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARMUD));
  PetscCall(MuonPolarSetFromOptions(polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *A, *Q, *R;

    PetscCall(PetscMalloc3(m * n, &A, m * n, &Q, m * n, &R));
    for (int kind = 0; kind < 3; kind++) {
      TestMatrix(m, n, kind == 1 ? TEST_HARMONIC : TEST_GAUSSIAN, A);
      /* A row or column of the short side that is zero, and one that is another one again */
      for (int i = 0; i < PetscMax(m, n) && kind == 2 && PetscMin(m, n) > 8; i++) {
        A[m <= n ? 3 + i * m : i + 3 * m] = 0.0;
        A[m <= n ? 7 + i * m : i + 7 * m] = A[m <= n ? 2 + i * m : i + 2 * m];
      }
      for (int i = 0; i < m * n; i++) A[i] = (double)(float)A[i];
      PetscCall(TestApplySpread(polar, PETSC_DECIDE, m, n, A, Q));
      if (size == 1) {
        PetscCall(ApplyRows(polar, m, n, A, R));
        PetscCheck(TestDistance(m * n, Q, R) <= 1e-4 * TestDistance(m * n, Q, NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, kind %d: rows in memory give another result, by %g", m, n, kind, TestDistance(m * n, Q, R));
      }
      if (rank == 0) {
        PetscCall(TestDump(folder, "G", dumped, (size_t)m * n, A));
        PetscCall(TestDump(folder, "Q", dumped, (size_t)m * n, Q));
      }
      dumped++;
    }
    PetscCall(PetscFree3(A, Q, R));
  }
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
