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

/* Dense matrices in the memory of a device are read and written on the host in 3.18 */
#if PETSC_VERSION_LT(3, 19, 0)
  #define MatDenseGetArrayAndMemType(A, array, memtype)     (*(memtype) = PETSC_MEMTYPE_HOST, MatDenseGetArray(A, array))
  #define MatDenseRestoreArrayAndMemType(A, array)          MatDenseRestoreArray(A, array)
  #define MatDenseGetArrayReadAndMemType(A, array, memtype) (*(memtype) = PETSC_MEMTYPE_HOST, MatDenseGetArrayRead(A, array))
  #define MatDenseRestoreArrayReadAndMemType(A, array)      MatDenseRestoreArrayRead(A, array)
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
