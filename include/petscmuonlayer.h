/*
   Layers: the parameters of a model, each with the rule that moves it.
*/
#pragma once

#include <petscmuonlmo.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonLayer */

/*S
   MuonLayer - One matrix or vector of parameters, with its norm, its scale and the rule that moves it

   Level: beginner

.seealso: `MuonAddLayer()`, `MuonAddVecLayer()`, `MuonLayerGetWeights()`, `MuonLayerGetGradient()`, `MuonLayerGetLMO()`, `MuonLayerSetScale()`, `MuonLayerSetRule()`
S*/
typedef struct _p_MuonLayer *MuonLayer;

/*J
   MuonLayerRule - String with the name of the rule that moves a layer

   Values:
+  `MUONLAYERLMO`    - a step inside a norm ball, the subject of this library
.  `MUONLAYERADAMW`  - AdamW
.  `MUONLAYERNADAMW` - AdamW with Nesterov momentum
.  `MUONLAYERSGD`    - gradient descent
-  `MUONLAYERFROZEN` - never moves, sends nothing and has no state

   Level: intermediate

.seealso: `MuonLayerSetRule()`, `MuonLayer`, `MuonLayerRuleRegister()`
J*/
typedef const char *MuonLayerRule;
#define MUONLAYERLMO    "lmo"
#define MUONLAYERADAMW  "adamw"
#define MUONLAYERNADAMW "nadamw"
#define MUONLAYERSGD    "sgd"
#define MUONLAYERFROZEN "frozen"

/*E
   MuonShapeFactor - How the shape of an m x n layer enters its radius

   Values:
+  `MUON_SHAPE_FACTOR_NONE`      - 1
.  `MUON_SHAPE_FACTOR_KJ`        - sqrt(max(1, m/n)) for the spectral norm
.  `MUON_SHAPE_FACTOR_MOONLIGHT` - 0.2 sqrt(max(m, n)) for the spectral norm
-  `MUON_SHAPE_FACTOR_SCION`     - sqrt(m/n) for the spectral norm, 1/n for the max norm, sqrt(m)/n for the column norm, 1/sqrt(n) for the row norm

   Level: intermediate

   Note:
   Norms that are not named have the factor 1.

.seealso: `MuonSetShapeFactor()`, `MuonLayerSetShapeFactor()`
E*/
typedef enum {
  MUON_SHAPE_FACTOR_NONE,
  MUON_SHAPE_FACTOR_KJ,
  MUON_SHAPE_FACTOR_MOONLIGHT,
  MUON_SHAPE_FACTOR_SCION
} MuonShapeFactor;
PETSC_EXTERN const char *const MuonShapeFactors[];

PETSC_EXTERN PetscClassId      MUONLAYER_CLASSID;
PETSC_EXTERN PetscFunctionList MuonLayerRuleList;

PETSC_EXTERN PetscErrorCode MuonLayerInitializePackage(void);
PETSC_EXTERN PetscErrorCode MuonLayerFinalizePackage(void);
PETSC_EXTERN PetscErrorCode MuonLayerRuleRegister(const char[], PetscErrorCode (*)(MuonLayer));
PETSC_EXTERN PetscErrorCode MuonLayerRegisterAll(void);

PETSC_EXTERN PetscErrorCode MuonLayerCreate(const char[], Mat, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonLayerCreateFromVec(const char[], Vec, MuonLayer *);
PETSC_EXTERN PetscErrorCode MuonLayerSetOptionsPrefix(MuonLayer, const char[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetOptionsPrefix(MuonLayer, const char *[]);
PETSC_EXTERN PetscErrorCode MuonLayerSetFromOptions(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerGetName(MuonLayer, const char *[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetSize(MuonLayer, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode MuonLayerGetWeights(MuonLayer, Mat *);
PETSC_EXTERN PetscErrorCode MuonLayerGetWeightsVec(MuonLayer, Vec *);
PETSC_EXTERN PetscErrorCode MuonLayerGetGradient(MuonLayer, Mat *);
PETSC_EXTERN PetscErrorCode MuonLayerGetGradientVec(MuonLayer, Vec *);
PETSC_EXTERN PetscErrorCode MuonLayerSetGradient(MuonLayer, Mat);
PETSC_EXTERN PetscErrorCode MuonLayerGetServerWeights(MuonLayer, Mat *);
PETSC_EXTERN PetscErrorCode MuonLayerGetOwner(MuonLayer, PetscMPIInt *);
PETSC_EXTERN PetscErrorCode MuonLayerGetLMO(MuonLayer, MuonLMO *);
PETSC_EXTERN PetscErrorCode MuonLayerSetRule(MuonLayer, MuonLayerRule);
PETSC_EXTERN PetscErrorCode MuonLayerGetRule(MuonLayer, MuonLayerRule *);
PETSC_EXTERN PetscErrorCode MuonLayerSetScale(MuonLayer, PetscReal);
PETSC_EXTERN PetscErrorCode MuonLayerGetScale(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerSetShapeFactor(MuonLayer, MuonShapeFactor);
PETSC_EXTERN PetscErrorCode MuonLayerGetShapeFactor(MuonLayer, MuonShapeFactor *);
PETSC_EXTERN PetscErrorCode MuonLayerSetMomentum(MuonLayer, PetscReal);
PETSC_EXTERN PetscErrorCode MuonLayerGetMomentum(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerSetWeightDecay(MuonLayer, PetscReal);
PETSC_EXTERN PetscErrorCode MuonLayerGetWeightDecay(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerSetBlocks(MuonLayer, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetBlocks(MuonLayer, PetscInt *, const PetscInt *[], PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetRadiusFactor(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerComputeNorm(MuonLayer, Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerComputeDualNorm(MuonLayer, Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerAdamWSetBetas(MuonLayer, PetscReal, PetscReal);
PETSC_EXTERN PetscErrorCode MuonLayerAdamWGetBetas(MuonLayer, PetscReal *, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerAdamWSetEpsilon(MuonLayer, PetscReal);
PETSC_EXTERN PetscErrorCode MuonLayerAdamWGetEpsilon(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerView(MuonLayer, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonLayerReset(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerDestroy(MuonLayer *);
