static char help[] = "Polar factors of matrices whose rows lie on many ranks: statuses and errors that agree; several matrices in one call.\n\n";

#include "polar_common.h"
#include <slepcsvd.h>

/* How many of m rows this rank gets: uneven, none on the first where they are few */
static PetscInt Rows(PetscInt m, PetscMPIInt size, PetscMPIInt rank)
{
  return (m * (rank + 1) * (rank + 1)) / (size * size) - (m * rank * rank) / (size * size);
}

/* A parallel matrix with padding that is NaN; entries of A, or 7 */
static PetscErrorCode Create(int pad, int m, int n, const double *A, Mat *M, PetscScalar **array)
{
  PetscMPIInt size, rank;
  PetscInt    local, begin;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  local = Rows(m, size, rank);
  PetscCallMPI(MPI_Scan(&local, &begin, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  begin -= local;
  PetscCall(PetscMalloc1((size_t)(local + pad) * n + 1, array));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < local + pad; i++) (*array)[i + j * (local + pad)] = i >= local ? (PetscScalar)NAN : (A != NULL ? (PetscScalar)A[begin + i + j * m] : (PetscScalar)7);
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, M));
  PetscCall(MatSetSizes(*M, local, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(*M, MATMPIDENSE));
  PetscCall(MatDenseSetLDA(*M, PetscMax(1, local + pad)));
  PetscCall(MatMPIDenseSetPreallocation(*M, *array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference of the rows here to those of A, over the ranks; padding must still be NaN */
static PetscErrorCode Difference(Mat M, const double *A, double *largest)
{
  const PetscScalar *a;
  PetscInt           m, n, lda, begin, end;

  PetscFunctionBeginUser;
  *largest = 0.0;
  PetscCall(MatGetSize(M, &m, &n));
  PetscCall(MatGetOwnershipRange(M, &begin, &end));
  PetscCall(MatDenseGetLDA(M, &lda));
  PetscCall(MatDenseGetArrayRead(M, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < end - begin; i++) {
      const double d = fabs((double)a[i + j * lda] - (A != NULL ? A[begin + i + j * m] : 7.0));

      *largest = d <= *largest ? *largest : d; /* a NaN stays */
      if (PetscIsNanReal((PetscReal)d)) *largest = INFINITY;
    }
    for (PetscInt i = end - begin; i < lda && lda > end - begin && end > begin; i++) PetscCheck(PetscIsNanScalar(a[i + j * lda]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Padding was written");
  }
  PetscCall(MatDenseRestoreArrayRead(M, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Status(MuonStatus status, MuonStatus expected, const char what[])
{
  int here = (int)status, least, most;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(&here, &least, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&here, &most, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(least == (int)expected && most == (int)expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the statuses are between %d and %d, expected %d", what, least, most, (int)expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver of SLEPc that options may name, and that is refused where it is to decompose a matrix */
static PetscErrorCode Refuse(SVD svd)
{
  static int calls = 0;

  PetscFunctionBeginUser;
  PetscCheck(calls++ == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Refused");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error on the rank that gathers the matrix is one on all of its ranks, of the factor as of its quality */
static PetscErrorCode CheckError(void)
{
  MuonPolar        polar;
  MuonPolarQuality quality;
  Mat              G, Q;
  PetscErrorCode   ierr[2];

  PetscFunctionBeginUser;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 8, 5, NULL, &G));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 8, 5, NULL, &Q));
  PetscCall(MatShift(G, 1.0));
  PetscCall(MatShift(Q, 1.0));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "refused_"));
  PetscCall(PetscOptionsSetValue(NULL, "-refused_lmo_polar_svd_type", "refuse"));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(SVDRegister("refuse", Refuse));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarSetUp(polar));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr[0] = MuonPolarApply(polar, G, Q, NULL);
  ierr[1] = MuonPolarComputeQuality(polar, G, Q, &quality);
  PetscCall(PetscPopErrorHandler());
  for (int k = 0; k < 2; k++) PetscCheck(ierr[k] == PETSC_ERR_LIB, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d of %s, expected %d", (int)ierr[k], k == 0 ? "a factor" : "a quality", (int)PETSC_ERR_LIB);
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&Q));
  /* What was begun where a call ended with an error stays allocated */
  PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {13, 13}, {8, 30}, {31, 10}};
  MuonPolar        polar;
  const char     **types;
  int              count;
  PetscMPIInt      size, rank;
  PetscBool        first;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  first = rank == 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(PetscFunctionListGet(MuonPolarList, &types, &count));
  for (int t = 0; t < count && types[t] != NULL; t++) {
    MuonStatus   status, many[6];
    Mat          G[6], Q[6], H[6], R[6];
    PetscScalar *g[6], *q[6], *r[6];
    double      *A[6], *B[6];

    PetscCall(MuonPolarSetType(polar, types[t]));
    for (int k = 0; k < 6; k++) {
      const int m = shapes[k][0], n = shapes[k][1];

      PetscCall(PetscMalloc1(m * n, &A[k]));
      PetscCall(PetscCalloc1(m * n, &B[k]));
      TestMatrix(m, n, TEST_HARMONIC, A[k]);
      PetscCall(Create(k % 3, m, n, A[k], &G[k], &g[k]));
      PetscCall(Create(2 - k % 3, m, n, NULL, &Q[k], &q[k]));
      PetscCall(MuonPolarApply(polar, G[k], Q[k], &status));
      PetscCall(Status(status, MUON_STATUS_OK, types[t]));
    }
    /*
       All in one call, the same bits as one by one; one is zero, and one has a NaN on one rank alone, whose
       factor is left alone on all
    */
    for (int k = 0; k < 6; k++) {
      const int    m = shapes[k][0], n = shapes[k][1];
      double       difference;
      PetscScalar *a;
      PetscInt     begin, end;

      PetscCall(MatDuplicate(G[k], MAT_COPY_VALUES, &H[k]));
      PetscCall(Create(1, m, n, NULL, &R[k], &r[k]));
      if (k == 3) PetscCall(MatZeroEntries(H[k]));
      if (k == 4) {
        PetscCall(MatGetOwnershipRange(H[k], &begin, &end));
        PetscCall(MatDenseGetArray(H[k], &a));
        if (begin < m && end == m) a[0] = (PetscScalar)(t % 2 == 0 ? NAN : -INFINITY);
        PetscCall(MatDenseRestoreArray(H[k], &a));
        PetscCall(MuonPolarApply(polar, H[k], R[k], &status));
        PetscCall(Status(status, MUON_STATUS_NANORINF, types[t]));
        PetscCall(Difference(R[k], NULL, &difference));
        PetscCheck(difference == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the factor of NaN was written", types[t]);
      }
    }
    PetscCall(MuonPolarApplyMany(polar, 6, H, R, many));
    PetscCall(Status(many[4], MUON_STATUS_NANORINF, types[t]));
    /* The first rank has matrices of its own between the shared ones, whatever the order of sizes is */
    {
      const PetscInt sides[3] = {1, 9, 60};
      Mat            in[6], out[6];
      MuonStatus     mixed[6];
      PetscInt       n = 0, own = 0;

      for (int k = 0; k < 3; k++) {
        in[n]    = H[k];
        out[n++] = R[k];
        if (first == PETSC_FALSE) continue;
        PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, sides[k], sides[k], NULL, &in[n]));
        PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, sides[k], sides[k], NULL, &out[n]));
        PetscCall(MatShift(in[n], 2.0));
        n++;
        own++;
      }
      PetscCall(MuonPolarApplyMany(polar, n, in, out, mixed));
      for (PetscInt k = 0; k < n; k++) PetscCheck(mixed[k] == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: status %d of matrix %" PetscInt_FMT, types[t], (int)mixed[k], k);
      for (PetscInt k = 0; k < own; k++) {
        PetscCall(MatDestroy(&in[2 * k + 1]));
        PetscCall(MatDestroy(&out[2 * k + 1]));
      }
    }
    for (int k = 0; k < 6; k++) {
      const PetscScalar *one, *all;
      PetscInt           local, ldq, ldr;
      double             difference;

      PetscCall(Status(many[k], k == 4 ? MUON_STATUS_NANORINF : MUON_STATUS_OK, types[t]));
      if (k == 3 || k == 4) {
        PetscCall(Difference(R[k], k == 4 ? NULL : B[k], &difference));
        PetscCheck(difference == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: matrix %d of many is off by %g", types[t], k, difference);
      } else {
        PetscCall(MatGetLocalSize(Q[k], &local, NULL));
        PetscCall(MatDenseGetLDA(Q[k], &ldq));
        PetscCall(MatDenseGetLDA(R[k], &ldr));
        PetscCall(MatDenseGetArrayRead(Q[k], &one));
        PetscCall(MatDenseGetArrayRead(R[k], &all));
        for (PetscInt j = 0; j < shapes[k][1]; j++) {
          for (PetscInt i = 0; i < local; i++) PetscCheck(one[i + j * ldq] == all[i + j * ldr], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: matrix %d of many differs from itself alone", types[t], k);
        }
        PetscCall(MatDenseRestoreArrayRead(Q[k], &one));
        PetscCall(MatDenseRestoreArrayRead(R[k], &all));
      }
      PetscCall(MatDestroy(&G[k]));
      PetscCall(MatDestroy(&Q[k]));
      PetscCall(MatDestroy(&H[k]));
      PetscCall(MatDestroy(&R[k]));
      PetscCall(PetscFree(g[k]));
      PetscCall(PetscFree(q[k]));
      PetscCall(PetscFree(r[k]));
      PetscCall(PetscFree(A[k]));
      PetscCall(PetscFree(B[k]));
    }
  }
  PetscCall(PetscFree(types));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(CheckError());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
