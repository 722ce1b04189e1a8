/*
   Linear minimization over norm balls (LMO): the steepest step inside one.
*/
#pragma once

#include <petscmuonpolar.h>
#include <petscmuoncompressor.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonLMO */

/*S
   MuonLMO - Linear minimization oracle (LMO) over the unit ball of a matrix norm

   Level: intermediate

.seealso: `MuonLMOCreate()`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOApply()`, `MuonPolar`
S*/
typedef struct _p_MuonLMO *MuonLMO;

/*J
   MuonLMOType - String with the name of the norm of a `MuonLMO`

   Values:
+  `MUONLMOSPECTRAL`  - largest singular value
.  `MUONLMONUCLEAR`   - sum of singular values
.  `MUONLMOSCHATTEN`  - $p$-norm of the singular values
.  `MUONLMOFROBENIUS` - Frobenius norm
.  `MUONLMOMAX`       - largest absolute entry
.  `MUONLMOL1`        - sum of absolute entries
.  `MUONLMOCOLUMN`    - largest Euclidean norm of a column
.  `MUONLMOROW`       - largest Euclidean norm of a row
.  `MUONLMOCOLSUM`    - largest sum of absolute entries of a column
.  `MUONLMOROWSUM`    - largest sum of absolute entries of a row
.  `MUONLMOL21`       - sum of the Euclidean norms of the columns
-  `MUONLMOMIXED`     - $q$-norm of the $p$-norms of the columns

   Level: intermediate

.seealso: `MuonLMOSetType()`, `MuonLMO`, `MuonLMORegister()`
J*/
typedef const char *MuonLMOType;
#define MUONLMOSPECTRAL  "spectral"
#define MUONLMONUCLEAR   "nuclear"
#define MUONLMOSCHATTEN  "schatten"
#define MUONLMOFROBENIUS "frobenius"
#define MUONLMOMAX       "max"
#define MUONLMOL1        "l1"
#define MUONLMOCOLUMN    "column"
#define MUONLMOROW       "row"
#define MUONLMOCOLSUM    "colsum"
#define MUONLMOROWSUM    "rowsum"
#define MUONLMOL21       "l21"
#define MUONLMOMIXED     "mixed"

/*E
   MuonShapeFactor - Factor of the radius of an m x n layer

   Values:
+  `MUON_SHAPE_FACTOR_NONE`      - 1
.  `MUON_SHAPE_FACTOR_KJ`        - sqrt(max(1, m/n)) for the spectral norm
.  `MUON_SHAPE_FACTOR_MOONLIGHT` - 0.2 sqrt(max(m, n)) for the spectral norm
-  `MUON_SHAPE_FACTOR_SCION`     - sqrt(m/n) for the spectral norm, 1/n for the max norm, sqrt(m)/n for the column norm, 1/sqrt(n) for the row norm

   Level: intermediate

   Note:
   All other norms have the factor 1.

.seealso: `MuonLayerGetRadiusFactor()`, `MuonLMO`
E*/
typedef enum {
  MUON_SHAPE_FACTOR_NONE,
  MUON_SHAPE_FACTOR_KJ,
  MUON_SHAPE_FACTOR_MOONLIGHT,
  MUON_SHAPE_FACTOR_SCION
} MuonShapeFactor;
PETSC_EXTERN const char *const MuonShapeFactors[];

PETSC_EXTERN PetscClassId      MUONLMO_CLASSID;
PETSC_EXTERN PetscFunctionList MuonLMOList;

PETSC_EXTERN PetscErrorCode MuonLMOInitializePackage(void);
PETSC_EXTERN PetscErrorCode MuonLMORegister(const char[], PetscErrorCode (*)(MuonLMO), const struct _MuonParameter *);

PETSC_EXTERN PetscErrorCode MuonLMOCreate(MPI_Comm, MuonLMO *);
PETSC_EXTERN PetscErrorCode MuonLMOSetType(MuonLMO, MuonLMOType);
PETSC_EXTERN PetscErrorCode MuonLMOGetType(MuonLMO, MuonLMOType *);
PETSC_EXTERN PetscErrorCode MuonLMOSetOptionsPrefix(MuonLMO, const char[]);
PETSC_EXTERN PetscErrorCode MuonLMOSetFromOptions(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOSetUp(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMOApply(MuonLMO, Mat, Mat, PetscReal *, MuonStatus *);
PETSC_EXTERN PetscErrorCode MuonLMOComputeNorm(MuonLMO, Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLMOComputeDualNorm(MuonLMO, Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLMOGetFlops(MuonLMO, PetscInt, PetscInt, PetscLogDouble *);
PETSC_EXTERN PetscErrorCode MuonLMOGetPolar(MuonLMO, MuonPolar *);
PETSC_EXTERN PetscErrorCode MuonLMOView(MuonLMO, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonLMOReset(MuonLMO);
PETSC_EXTERN PetscErrorCode MuonLMODestroy(MuonLMO *);
