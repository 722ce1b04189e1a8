/*
   Linear minimization oracles: the steepest step inside a norm ball.
*/
#pragma once

#include <petscmuonpolar.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonLMO */

/*S
   MuonLMO - Linear minimization oracle over the unit ball of a matrix norm

   Level: intermediate

.seealso: `MuonLMOCreate()`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOApply()`, `MuonPolar`
S*/
typedef struct _p_MuonLMO *MuonLMO;

/*J
   MuonLMOType - String with the name of the norm whose ball a `MuonLMO` minimizes over

   Values:
+  `MUONLMOSPECTRAL`  - largest singular value
.  `MUONLMOMAX`       - largest absolute entry
-  `MUONLMOFROBENIUS` - Frobenius norm

   Level: intermediate

.seealso: `MuonLMOSetType()`, `MuonLMO`, `MuonLMORegister()`
J*/
typedef const char *MuonLMOType;
#define MUONLMOSPECTRAL  "spectral"
#define MUONLMOMAX       "max"
#define MUONLMOFROBENIUS "frobenius"

PETSC_EXTERN PetscClassId      MUONLMO_CLASSID;
PETSC_EXTERN PetscFunctionList MuonLMOList;

PETSC_EXTERN PetscErrorCode MuonLMOInitializePackage(void);
PETSC_EXTERN PetscErrorCode MuonLMOFinalizePackage(void);
PETSC_EXTERN PetscErrorCode MuonLMORegister(const char[], PetscErrorCode (*)(MuonLMO));
PETSC_EXTERN PetscErrorCode MuonLMORegisterAll(void);

PETSC_EXTERN PetscErrorCode MuonLMOCreate(MPI_Comm, MuonLMO *);
PETSC_EXTERN PetscErrorCode MuonLMOSetType(MuonLMO, MuonLMOType);
PETSC_EXTERN PetscErrorCode MuonLMOGetType(MuonLMO, MuonLMOType *);
PETSC_EXTERN PetscErrorCode MuonLMOSetOptionsPrefix(MuonLMO, const char[]);
PETSC_EXTERN PetscErrorCode MuonLMOGetOptionsPrefix(MuonLMO, const char *[]);
PETSC_EXTERN PetscErrorCode MuonLMOSetFromOptions(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOApply(MuonLMO, Mat, Mat);
PETSC_EXTERN PetscErrorCode MuonLMOSharp(MuonLMO, Mat, Mat);
PETSC_EXTERN PetscErrorCode MuonLMOComputeNorm(MuonLMO, Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLMOComputeDualNorm(MuonLMO, Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLMOGetStatus(MuonLMO, MuonStatus *);
PETSC_EXTERN PetscErrorCode MuonLMOGetFlops(MuonLMO, PetscInt, PetscInt, PetscLogDouble *);
PETSC_EXTERN PetscErrorCode MuonLMOGetPolar(MuonLMO, MuonPolar *);
PETSC_EXTERN PetscErrorCode MuonLMOView(MuonLMO, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonLMOReset(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMODestroy(MuonLMO *);
