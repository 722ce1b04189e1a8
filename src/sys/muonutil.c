#include <petscmuon/private/petscmuonimpl.h>
#include "../kernels/muonkernels.h"

const char *const MuonStatuses[] = {"OK", "NANORINF", "CORRUPT", "LMO", "MuonStatus", "MUON_STATUS_", NULL};

PetscErrorCode MuonMatIsFinite_Private(Mat A, PetscBool *finite)
{
  const PetscScalar *a;
  PetscInt           m, n, lda;
  PetscMPIInt        size;
  int                all;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArrayRead(A, &a));
  all = MuonKernelIsFinite((size_t)m, (size_t)n, a, (size_t)lda) != 0 ? 1 : 0;
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  *finite = all != 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonNameHash_Private(const char name[], unsigned int *hash)
{
  PetscFunctionBegin;
  *hash = 2166136261u;
  for (size_t i = 0; name[i] != '\0'; i++) *hash = (*hash ^ (unsigned char)name[i]) * 16777619u;
  PetscFunctionReturn(PETSC_SUCCESS);
}
