/*
   Adapts releases of PETSc older than the newest, for the library and for programs that use it: both are
   written to the newest API and hold no test of a version.
*/
#pragma once

#include <petscsys.h>

#if PETSC_VERSION_LT(3, 18, 0)
  #error "PetscMuon needs PETSc 3.18 or newer"
#endif

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS ((PetscErrorCode)0)
#endif

/*
   Dense matrices in the memory of a device, which in 3.18 are those of CUDA alone: these functions are
   composed with them, and with the local ones of parallel matrices; they leave the state of the object to the
   caller
*/
#if PETSC_VERSION_LT(3, 19, 0)
  #include <petscmat.h>

static inline PetscErrorCode MuonMatDenseCUDA(Mat A, const char name[], PetscScalar **array, PetscMemType *memtype)
{
  PetscErrorCode (*call)(Mat, PetscScalar **);
  Mat       here;
  PetscBool host;

  PetscFunctionBegin;
  *memtype = PETSC_MEMTYPE_HOST;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQDENSE, &host));
  if (host) PetscFunctionReturn(PETSC_SUCCESS); /* of most small matrices, where the search for a local one would take longer */
  PetscCall(MatDenseGetLocalMatrix(A, &here));
  PetscCall(PetscObjectTypeCompare((PetscObject)here, MATSEQDENSE, &host));
  if (host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(PetscObjectQueryFunction((PetscObject)here, name, &call));
  if (call == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *memtype = PETSC_MEMTYPE_CUDA;
  PetscCall((*call)(here, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatDenseGetArrayAndMemType(Mat A, PetscScalar **array, PetscMemType *memtype)
{
  PetscFunctionBegin;
  PetscCall(MuonMatDenseCUDA(A, "MatDenseCUDAGetArray_C", array, memtype));
  if (PetscMemTypeHost(*memtype)) PetscCall(MatDenseGetArray(A, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatDenseRestoreArrayAndMemType(Mat A, PetscScalar **array)
{
  PetscMemType memtype;

  PetscFunctionBegin;
  PetscCall(MuonMatDenseCUDA(A, "MatDenseCUDARestoreArray_C", array, &memtype));
  if (PetscMemTypeHost(memtype)) PetscCall(MatDenseRestoreArray(A, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatDenseGetArrayReadAndMemType(Mat A, const PetscScalar **array, PetscMemType *memtype)
{
  PetscFunctionBegin;
  PetscCall(MuonMatDenseCUDA(A, "MatDenseCUDAGetArrayRead_C", (PetscScalar **)array, memtype));
  if (PetscMemTypeHost(*memtype)) PetscCall(MatDenseGetArrayRead(A, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatDenseRestoreArrayReadAndMemType(Mat A, const PetscScalar **array)
{
  PetscMemType memtype;

  PetscFunctionBegin;
  PetscCall(MuonMatDenseCUDA(A, "MatDenseCUDARestoreArrayRead_C", (PetscScalar **)array, &memtype));
  if (PetscMemTypeHost(memtype)) PetscCall(MatDenseRestoreArrayRead(A, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

#if PETSC_VERSION_LT(3, 20, 0)
  #define PetscAssertPointer(ptr, arg) PetscValidPointer(ptr, arg)
#endif

#if PETSC_VERSION_LT(3, 22, 0)
  #define PETSC_CURRENT                                                              (-2)
  #define PETSC_UNLIMITED                                                            (-3)
  #define PetscOptionsCreateViewer(comm, options, prefix, name, viewer, format, set) PetscOptionsGetViewer(comm, options, prefix, name, viewer, format, set)
#endif

/* The argument of a type's setfromoptions() became a pointer type in 3.23 */
#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *MuonOptionItems;
typedef PetscErrorCode    PetscCtxDestroyFn(void **);
#else
typedef PetscOptionItems MuonOptionItems;
#endif

/* Counters of the log, of the program and of a thread */
#if PETSC_VERSION_LT(3, 20, 0)
  #define MuonAddLogDouble(counter, more) (counter += (more))
#else
  #define MuonAddLogDouble(counter, more) ((void)PetscAddLogDouble(&counter, &counter##_th, (more)))
#endif
