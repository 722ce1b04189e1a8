static char help[] = "A PETSc of complex scalars: LMO, polar factor and compressor of a matrix, and what is refused.\n";

#include <petscmuon.h>
#include "fails.h"
#include "number_common.h"

enum {
  M = 5,
  N = 3
};

/* Real and imaginary part of a number in the square of side 2 around 0 */
static PetscScalar Number(PetscInt a, PetscInt b, PetscInt c)
{
  const PetscReal re = (PetscReal)(TestHash((uint32_t)a, (uint32_t)b, (uint32_t)c, 1) % 4096) / 2048 - 1, im = (PetscReal)(TestHash((uint32_t)a, (uint32_t)b, (uint32_t)c, 2) % 4096) / 2048 - 1;

  return PetscCMPLX(re, im);
}

/* The point of a norm ball attains minus the dual norm, a polar factor has orthonormal columns, a message of all entries is the matrix */
static PetscErrorCode Objects(void)
{
  Mat            A, D, Q;
  MuonLMO        lmo;
  MuonPolar      polar;
  MuonCompressor c;
  PetscScalar   *a, *d, sum = 0, one;
  PetscReal      value, size;
  MuonStatus     status;
  unsigned char *message;
  size_t         bytes, most;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &A));
  PetscCall(MatDenseGetArray(A, &a));
  for (PetscInt e = 0; e < M * N; e++) a[e] = Number(9, e, 9);
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &D));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &Q));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetFromOptions(lmo));
  PetscCall(MuonLMOApply(lmo, A, D, &value, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d of the LMO", (int)status);
  PetscCall(MatDenseGetArray(A, &a));
  PetscCall(MatDenseGetArray(D, &d));
  for (PetscInt e = 0; e < M * N; e++) sum += PetscConj(a[e]) * d[e];
  PetscCall(MatDenseRestoreArray(D, &d));
  PetscCall(MatDenseRestoreArray(A, &a));
  /* <A, D> is minus the dual norm and real: a sum of M N products */
  PetscCheck(PetscAbsScalar(sum + value) <= 100 * M * N * PETSC_MACHINE_EPSILON * value, PETSC_COMM_SELF, PETSC_ERR_PLIB, "<A, D> is %g + %g i, expected %g", (double)PetscRealPart(sum), (double)PetscImaginaryPart(sum), (double)-value);
  PetscCall(MuonLMOComputeNorm(lmo, D, &size));
  PetscCheck(size <= 1 + 100 * M * N * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The point has the norm %g", (double)size);
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarApply(polar, A, Q, &status));
  PetscCall(MatDenseGetArray(Q, &d));
  for (PetscInt i = 0; i < N; i++) {
    for (PetscInt j = 0; j < N; j++) {
      one = 0;
      for (PetscInt k = 0; k < M; k++) one += PetscConj(d[k + i * M]) * d[k + j * M];
      PetscCheck(PetscAbsScalar(one - (PetscReal)(i == j)) <= 100 * M * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Q^H Q has %g + %g i at (%d,%d)", (double)PetscRealPart(one), (double)PetscImaginaryPart(one), (int)i, (int)j);
    }
  }
  PetscCall(MatDenseRestoreArray(Q, &d));
  PetscCall(MuonPolarSetType(polar, MUONPOLARMUD));
  Fails(MuonPolarApply(polar, A, Q, &status), PETSC_ERR_SUP, "mud is of real matrices");
  /* All entries, kept as they are, come back */
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(c, 1));
  PetscCall(MuonCompressorGetMaxBytes(c, M, N, &most));
  PetscCall(PetscMalloc1(most, &message));
  PetscCall(MuonCompressorEncode(c, A, NULL, most, message, &bytes));
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, message, D));
  PetscCall(MatAXPY(D, -1, A, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &size));
  PetscCheck(size == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A message of all entries differs by %g", (double)size);
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORSIGN));
  Fails(MuonCompressorEncode(c, A, NULL, most, message, &bytes), PETSC_ERR_SUP, "-compressor sign is of real matrices, and this one is complex, expected");
  PetscCall(PetscFree(message));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(Objects());
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    requires: complex

  test:
    args: -lmo_polar_type svd -lmo_type {{spectral frobenius max l1 nuclear}}

TEST*/
