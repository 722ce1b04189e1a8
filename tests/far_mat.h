/*
   A stand-in for a matrix in the memory of a device: a MATSEQDENSE with the functions by which PETSc asks for
   such memory, those of 3.18 and of what came later. Its memory on the host has NaN, and its copies are such matrices.
*/
#pragma once

#include <petscmat.h>
#include <petscmuon/private/muonkernelsdevice.h>

enum {
  FAR_MATS = 64
};

typedef struct {
  Mat    A; /* or NULL */
  void  *data;
  size_t bytes;
} FarMat;

static FarMat   FarMats[FAR_MATS];
static PetscInt FarTaken; /* arrays that did not come back */
static PetscErrorCode (*FarMatDestroyDense)(Mat);

/* That of a matrix, or the next one that is free; NULL for none */
static inline FarMat *FarMatOf(Mat A)
{
  for (int k = 0; k < FAR_MATS; k++) {
    if (FarMats[k].A == A) return &FarMats[k];
  }
  return NULL;
}

static inline PetscErrorCode FarMatTake(Mat A, PetscScalar **array)
{
  PetscFunctionBegin;
  *array = (PetscScalar *)FarMatOf(A)->data;
  FarTaken++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FarMatTakeWith(Mat A, PetscScalar **array, PetscMemType *memtype)
{
  PetscFunctionBegin;
  PetscCall(FarMatTake(A, array));
  *memtype = PETSC_MEMTYPE_CUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FarMatGiveBack(Mat A, PetscScalar **array)
{
  PetscFunctionBegin;
  PetscCheck(*array == FarMatOf(A)->data, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Another pointer comes back");
  *array = NULL;
  FarTaken--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FarMatDestroy(Mat A)
{
  FarMat *far = FarMatOf(A);

  PetscFunctionBegin;
  MuonDeviceGet()->release(far->data);
  far->A = NULL;
  PetscCall((*FarMatDestroyDense)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FarMatDuplicate(Mat, MatDuplicateOption, Mat *);

static inline PetscErrorCode FarMatMake(Mat A)
{
  static const char *const take[] = {"MatDenseCUDAGetArray_C", "MatDenseCUDAGetArrayRead_C"}, *const with[] = {"MatDenseGetArrayAndMemType_C", "MatDenseGetArrayReadAndMemType_C"};
  static const char *const giveback[] = {"MatDenseCUDARestoreArray_C", "MatDenseCUDARestoreArrayRead_C", "MatDenseRestoreArrayAndMemType_C", "MatDenseRestoreArrayReadAndMemType_C"};
  PetscInt                 n, ld;
  PetscScalar             *host;
  FarMat                  *far = FarMatOf(NULL);

  PetscFunctionBegin;
  PetscCheck(far != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many matrices");
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(MatDenseGetArray(A, &host));
  for (PetscInt k = 0; k < ld * n; k++) host[k] = (PetscScalar)NAN;
  PetscCall(MatDenseRestoreArray(A, &host));
  far->A     = A;
  far->bytes = (size_t)(ld * n) * sizeof(PetscScalar);
  far->data  = MuonDeviceGet()->allocate(far->bytes);
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, "seqdensecuda"));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscObjectComposeFunction((PetscObject)A, take[k], FarMatTake));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, with[k], FarMatTakeWith));
  }
  for (int k = 0; k < 4; k++) PetscCall(PetscObjectComposeFunction((PetscObject)A, giveback[k], FarMatGiveBack));
  PetscCall(MatGetOperation(A, MATOP_DESTROY, (void (**)(void)) & FarMatDestroyDense));
  PetscCall(MatSetOperation(A, MATOP_DESTROY, (void (*)(void))FarMatDestroy));
  PetscCall(MatSetOperation(A, MATOP_DUPLICATE, (void (*)(void))FarMatDuplicate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FarMatDuplicate(Mat A, MatDuplicateOption option, Mat *B)
{
  PetscInt m, n;

  PetscFunctionBegin;
  (void)option;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, B));
  PetscCall(FarMatMake(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
