static char help[] = "Halley's iteration with dynamic weights on matrices whose rows lie on many ranks: by QR and by Cholesky alone, ill-conditioned and not of full rank.\n\n";

#include "polar_common.h"

int main(int argc, char **argv)
{
  /* With 3 ranks: parts longer than the short side, shorter, empty, wide and tall */
  static const int shapes[][2] = {{90, 12}, {12, 90}, {24, 24}, {2, 2}, {30, 24}};
  const double     unit        = PETSC_MACHINE_EPSILON / 2.0;
  PetscMPIInt      size, rank;
  MuonPolar        polar;
  PetscBool        alone = PETSC_FALSE, byqr = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARQDWH));
  PetscCall(MuonPolarSetFromOptions(polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1], s = PetscMin(m, n), l = PetscMax(m, n);

    for (int which = 0; which < 4; which++) {
      /*
         Condition 1, 100 and the largest that working accuracy is promised for, and half of the singular
         values zero
      */
      const double lowest = which == 0 ? 1.0 : (which == 1 ? 1e-2 : (PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-12));
      const int    full   = which < 3 ? s : s / 2;
      double      *A, *Q, *U, *V, *W, error, nuclear = 0.0;
      PetscScalar *g;
      PetscInt     begin, end, lda, steps, qr, before, after;
      Mat          G, R;
      MuonStatus   status;

      PetscCall(PetscMalloc5(m * n, &A, m * n, &Q, l * s, &U, l * s, &V, l * l, &W));
      TestOrthonormal(m, s, U);
      TestOrthonormal(n, s, V);
      for (int j = 0; j < s; j++) {
        const double sigma = j < full ? pow(lowest, s > 1 ? (double)j / (s - 1) : 0.0) : 0.0;

        nuclear += sigma;
        for (int i = 0; i < m; i++) U[i + j * m] *= sigma;
      }
      TestMultiply(m, n, s, U, V, 1, A);
      PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, m, n, NULL, &G));
      PetscCall(MatDuplicate(G, MAT_DO_NOT_COPY_VALUES, &R));
      PetscCall(MatGetOwnershipRange(G, &begin, &end));
      PetscCall(MatDenseGetLDA(G, &lda));
      PetscCall(MatDenseGetArrayWrite(G, &g));
      for (int j = 0; j < n; j++) {
        for (PetscInt i = begin; i < end; i++) g[i - begin + j * lda] = (PetscScalar)A[i + j * m];
      }
      PetscCall(MatDenseRestoreArrayWrite(G, &g));
      for (int i = 0; i < m * n; i++) A[i] = (double)(PetscScalar)A[i];
      PetscCall(TestGetCounts(polar, NULL, NULL, &before));
      PetscCall(MuonPolarApply(polar, G, R, &status));
      PetscCall(TestGetCounts(polar, &steps, &qr, &after));
      PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: status %s", m, n, MuonStatuses[status]);
      PetscCheck(after - before == (full < s ? 1 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, case %d: %" PetscInt_FMT " decompositions", m, n, which, after - before);
      /*
         A rank with less than s of the long side has no memory for the QR factorization, and makes more steps
      */
      if (which == 2) {
        const PetscBool room = l / size >= s ? PETSC_TRUE : PETSC_FALSE;

        PetscCheck((qr > 0) == (room == PETSC_TRUE) && (room == PETSC_FALSE || steps <= 6) && steps <= 16, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: %" PetscInt_FMT " steps, %" PetscInt_FMT " by QR", m, n, steps, qr);
        if (room == PETSC_TRUE) byqr = PETSC_TRUE;
        else alone = PETSC_TRUE;
      }

      /* All of it everywhere */
      for (int i = 0; i < m * n; i++) Q[i] = 0.0;
      PetscCall(MatDenseGetLDA(R, &lda));
      PetscCall(MatDenseGetArray(R, &g));
      for (int j = 0; j < n; j++) {
        for (PetscInt i = begin; i < end; i++) Q[i + j * m] = (double)g[i - begin + j * lda];
      }
      PetscCall(MatDenseRestoreArray(R, &g));
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, Q, m * n, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
      /*
         An isometry of that rank that reaches the nuclear norm, to ten roundoffs for each of the s sums of a
         product, and those of the entries of G
      */
      TestMultiply(m, m, n, Q, Q, 1, W);
      TestMultiply(m, n, m, W, Q, 0, U);
      error = TestDistance(m * n, U, Q);
      PetscCheck(error <= 10.0 * s * sqrt((double)s) * unit, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, case %d: Q Q^T Q - Q has norm %g", m, n, which, error);
      PetscCheck(fabs(TestDot(m * n, Q, Q) - full) <= 20.0 * s * s * unit, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, case %d: ||Q||_F^2 is %g", m, n, which, TestDot(m * n, Q, Q));
      PetscCheck(fabs(TestDot(m * n, A, Q) - nuclear) <= 40.0 * s * unit * nuclear, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, case %d: <G,Q> is %.16g, the nuclear norm %.16g", m, n, which, TestDot(m * n, A, Q), nuclear);
      PetscCall(MatDestroy(&G));
      PetscCall(MatDestroy(&R));
      PetscCall(PetscFree5(A, Q, U, V, W));
    }
  }
  PetscCheck(byqr == PETSC_TRUE && (size == 1 || alone == PETSC_TRUE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Not both ways were taken");
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3 4}}

TEST*/
