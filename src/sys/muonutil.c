#include <petscmuon/private/petscmuonimpl.h>
#include "../kernels/muonkernels.h"

const char *const MuonStatuses[] = {"OK", "NANORINF", "CORRUPT", "LMO", "MuonStatus", "MUON_STATUS_", NULL};

PetscErrorCode MuonMatIsFinite_Private(Mat A, PetscBool *finite)
{
  const PetscScalar *a;
  PetscInt           m, n, lda;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArrayRead(A, &a));
  *finite = MuonKernelIsFinite((size_t)m, (size_t)n, a, (size_t)lda) != 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonNameHash_Private(const char name[], unsigned int *hash)
{
  PetscFunctionBegin;
  *hash = 2166136261u;
  for (size_t i = 0; name[i] != '\0'; i++) *hash = (*hash ^ (unsigned char)name[i]) * 16777619u;
  PetscFunctionReturn(PETSC_SUCCESS);
}
