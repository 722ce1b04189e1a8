/*
   Layers: the parameters of a model, each with its optimizer.
*/
#pragma once

#include <petscmuonlmo.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonLayer */

/*S
   MuonLayer - One matrix or vector of parameters, with its norm, its scale and its optimizer

   Level: beginner

.seealso: `MuonAddLayer()`, `MuonAddVecLayer()`, `MuonLayerGetWeights()`, `MuonLayerGetGradient()`, `MuonLayerGetLMO()`, `MuonLayerSetScale()`, `MuonLayerSetRule()`
S*/
typedef struct _p_MuonLayer *MuonLayer;

/*J
   MuonLayerRule - String with the name of the optimizer of a layer

   Values:
+  `MUONLAYERLMO`    - a step inside a norm ball, the subject of this library
.  `MUONLAYERADAMW`  - AdamW
.  `MUONLAYERNADAMW` - AdamW with Nesterov momentum
.  `MUONLAYERSOAP`   - Adam in the eigenvectors of the covariances of both sides
.  `MUONLAYERSGD`    - gradient descent
-  `MUONLAYERFROZEN` - is never updated, sends nothing and has no state

   Level: intermediate

.seealso: `MuonLayerSetRule()`, `MuonLayer`, `MuonLayerRuleRegister()`
J*/
typedef const char *MuonLayerRule;
#define MUONLAYERLMO    "lmo"
#define MUONLAYERADAMW  "adamw"
#define MUONLAYERNADAMW "nadamw"
#define MUONLAYERSOAP   "soap"
#define MUONLAYERSGD    "sgd"
#define MUONLAYERFROZEN "frozen"

/*E
   MuonLayerStorage - What holds the weights of a layer

   Values:
+  `MUON_LAYER_MAT`   - a `Mat`
.  `MUON_LAYER_VEC`   - a `Vec`, or a range of its entries
-  `MUON_LAYER_ARRAY` - memory that is not PETSc's

   Level: intermediate

.seealso: `MuonLayerGetStorage()`, `MuonAddLayer()`, `MuonAddVecLayer()`, `MuonAddLayerArray()`, `MuonAddVecLayers()`
E*/
typedef enum {
  MUON_LAYER_MAT,
  MUON_LAYER_VEC,
  MUON_LAYER_ARRAY
} MuonLayerStorage;
PETSC_EXTERN const char *const MuonLayerStorages[];

/*E
   MuonLayerKind - What a preset takes a layer for, where it splits layers as its source does

   Values:
+  `MUON_LAYER_KIND_AUTO`      - what shape and name say
.  `MUON_LAYER_KIND_MATRIX`    - a matrix, with one row too
-  `MUON_LAYER_KIND_EMBEDDING` - an embedding, whatever its name is

   Level: advanced

.seealso: `MuonLayerArray`, `MuonSetPreset()`
E*/
typedef enum {
  MUON_LAYER_KIND_AUTO,
  MUON_LAYER_KIND_MATRIX,
  MUON_LAYER_KIND_EMBEDDING
} MuonLayerKind;

/*E
   MuonField - The numbers of a matrix

   Values:
+  `MUON_FIELD_REAL`    - real numbers
-  `MUON_FIELD_COMPLEX` - complex numbers, real and imaginary part side by side in memory, as in C, Fortran and numpy

   Level: intermediate

   Notes:
   The gradient of complex weights Z is $2\, \partial f / \partial \bar Z$, which is $\partial f / \partial x +
   i\, \partial f / \partial y$ for numbers $x + i y$\: then $f$ changes by $\mathrm{Re} \langle G, dZ \rangle$ and
   -G descends. It is what PyTorch gives; JAX gives the conjugate.

   Inner products are real, $\mathrm{Re}\, \mathrm{tr}(G^H D)$, and norms are those of complex matrices, see `MuonLMOType`. What is done
   entry by entry, momentum and estimates, is done to real and imaginary parts.

.seealso: `MuonLayerArray`, `MuonAddLayerArray()`, `MuonLMOType`
E*/
typedef enum {
  MUON_FIELD_REAL,
  MUON_FIELD_COMPLEX
} MuonField;
PETSC_EXTERN const char *const MuonFields[];

/*S
   MuonLayerArray - Weights in memory that is not PETSc's

   Values:
+  comm     - communicator of the ranks that hold the matrix together, `MPI_COMM_SELF` for one that is all here
.  type     - `PETSC_FLOAT` or `PETSC_DOUBLE`, whatever `PetscScalar` is
.  memtype  - where the memory is; that of a device is found by its pointers too
.  rowmajor - the entries of a row lie side by side, as in C and numpy, instead of those of a column
.  M        - rows (outputs) of the whole matrix
.  N        - its columns (inputs)
.  first    - number of the first row that is here
.  rows     - how many rows are here, `PETSC_DECIDE` for all
.  ld       - entries from the beginning of one row to that of the next, of one column where `rowmajor` is `PETSC_FALSE`; `PETSC_DECIDE` where there are no gaps
.  w        - the weights, borrowed, which steps change in place
.  g        - the gradient, borrowed and only read, laid out as `w` is, or `NULL`: then the layer has a buffer of its own, see `MuonLayerGetGradientArray()`
.  kind     - what presets take the layer for, `MUON_LAYER_KIND_AUTO` by default
-  field    - `MUON_FIELD_REAL` by default, or `MUON_FIELD_COMPLEX`\: then entries are complex numbers of two parts of that type, and all sizes count numbers

   Level: intermediate

   Notes:
   `MuonLayerArrayInitialize()` sets every member; a program that calls it first needs no change when there
   are more.

   The rows of a matrix may be spread over the ranks of `comm`, which then are one worker\: each has the rows
   that follow those of the rank before, maybe none.

   Weights in the memory of a device are there on all ranks. Their gradients and all that is kept for them is
   there too. It takes a PetscMuon that was built with Kokkos.

.seealso: `MuonLayer`, `MuonLayerArrayInitialize()`, `MuonAddLayerArray()`
S*/
typedef struct {
  MPI_Comm      comm;
  PetscDataType type;
  PetscMemType  memtype;
  PetscBool     rowmajor;
  PetscInt      M, N, first, rows, ld;
  void         *w;
  const void   *g;
  MuonLayerKind kind;
  MuonField     field;
} MuonLayerArray;

/*E
   MuonDownlink - How a server sends new weights to the workers

   Values:
+  `MUON_DOWNLINK_WEIGHTS` - by a message of a compressor: the weights, or their difference to those that the workers have
-  `MUON_DOWNLINK_STEP`    - by the step inside the norm ball, in the natural format of its norm, which each worker takes by itself

   Level: intermediate

.seealso: `MUONEF21`
E*/
typedef enum {
  MUON_DOWNLINK_WEIGHTS,
  MUON_DOWNLINK_STEP
} MuonDownlink;
PETSC_EXTERN const char *const MuonDownlinks[];

/*E
   MuonStepType - How far a layer that a norm ball moves goes

   Values:
+  `MUON_STEP_LMO`   - as far as the radius: rate x scale x shape factor, whatever the gradient's size is
-  `MUON_STEP_SHARP` - by the sharp operator: rate x (scale x shape factor)^2 x the dual norm of what the LMO gets

   Level: intermediate

   Notes:
   With D the point that the LMO gives, c = scale x shape factor and gamma = rate x schedule, the steps are c
   gamma D and c^2 gamma dual(G) D. The square is there because the layer's norm is that of the LMO divided by c\: its
   unit ball is c times as large, and so is its dual norm.

   For `MUONLMOFROBENIUS` the sharp step is gradient descent, for `MUONLMOMAX` signs times the sum of absolute
   entries. The dual norm is the one that the LMO computes with its point, <G,-D>. It is exact where the LMO is:
   of the types of `MuonPolar`, `MUONPOLARSVD` is exact, `MUONPOLARZOLOTAREV` gives .93 to .99 of the dual
   norm, as its page says for its number of poles, and `MUONPOLARNEWTONSCHULZ` and `MUONPOLARGRAM`, which may
   leave the unit ball, between .87 and 1.2 of it. Blocks of a layer are moved each by its own dual norm.

.seealso: `MuonLayerSetScale()`, `MUONLAYERLMO`, `MuonSetFromOptions()`
E*/
typedef enum {
  MUON_STEP_LMO,
  MUON_STEP_SHARP
} MuonStepType;
PETSC_EXTERN const char *const MuonStepTypes[];

/*E
   MuonTensorKind - Which matrices a tensor of several dimensions is made of

   Values:
+  `MUON_TENSOR_FLATTEN` - one matrix: the first dimension, or the last, against the product of the others
-  `MUON_TENSOR_BATCH`   - as many matrices of the last two dimensions as the others have places

   Level: intermediate

.seealso: `MuonLayerSetTensor()`, `MuonLayerSetBlocks()`
E*/
typedef enum {
  MUON_TENSOR_FLATTEN,
  MUON_TENSOR_BATCH
} MuonTensorKind;
PETSC_EXTERN const char *const MuonTensorKinds[];

PETSC_EXTERN PetscClassId      MUONLAYER_CLASSID;
PETSC_EXTERN PetscFunctionList MuonLayerRuleList;

PETSC_EXTERN PetscErrorCode MuonLayerInitializePackage(void);
struct _MuonParameter;
PETSC_EXTERN PetscErrorCode MuonLayerRuleRegister(const char[], PetscErrorCode (*)(MuonLayer), const struct _MuonParameter *);

PETSC_EXTERN PetscErrorCode MuonLayerArrayInitialize(MuonLayerArray *);
PETSC_EXTERN PetscErrorCode MuonLayerGetName(MuonLayer, const char *[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetSize(MuonLayer, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode MuonLayerGetStorage(MuonLayer, MuonLayerStorage *);
PETSC_EXTERN PetscErrorCode MuonLayerGetWeights(MuonLayer, Mat *);
PETSC_EXTERN PetscErrorCode MuonLayerGetWeightsVec(MuonLayer, Vec *);
PETSC_EXTERN PetscErrorCode MuonLayerGetWeightsArray(MuonLayer, MuonLayerArray *);
PETSC_EXTERN PetscErrorCode MuonLayerGetVecRange(MuonLayer, PetscInt *, PetscBool *);
PETSC_EXTERN PetscErrorCode MuonLayerGetGradient(MuonLayer, Mat *);
PETSC_EXTERN PetscErrorCode MuonLayerGetGradientVec(MuonLayer, Vec *);
PETSC_EXTERN PetscErrorCode MuonLayerGetGradientArray(MuonLayer, MuonLayerArray *);
PETSC_EXTERN PetscErrorCode MuonLayerSetGradient(MuonLayer, Mat);
PETSC_EXTERN PetscErrorCode MuonLayerSetGradientVec(MuonLayer, Vec);
PETSC_EXTERN PetscErrorCode MuonLayerSetGradientArray(MuonLayer, const void *);
PETSC_EXTERN PetscErrorCode MuonLayerSetWholeGradient(MuonLayer, PetscBool);
PETSC_EXTERN PetscErrorCode MuonLayerGradientReady(MuonLayer);
PETSC_EXTERN PetscErrorCode MuonLayerGetFullWeights(MuonLayer, Mat);
PETSC_EXTERN PetscErrorCode MuonLayerGetServerWeights(MuonLayer, Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MuonLayerGetOwner(MuonLayer, PetscMPIInt *);
PETSC_EXTERN PetscErrorCode MuonLayerGetLMO(MuonLayer, MuonLMO *);
PETSC_EXTERN PetscErrorCode MuonLayerSetRule(MuonLayer, MuonLayerRule);
PETSC_EXTERN PetscErrorCode MuonLayerGetRule(MuonLayer, MuonLayerRule *);
PETSC_EXTERN PetscErrorCode MuonLayerSetScale(MuonLayer, PetscReal);
PETSC_EXTERN PetscErrorCode MuonLayerSetLearningRate(MuonLayer, PetscReal);
PETSC_EXTERN PetscErrorCode MuonLayerSetBlocks(MuonLayer, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetBlocks(MuonLayer, PetscInt *, const PetscInt *[], PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode MuonLayerSetTensor(MuonLayer, PetscInt, const PetscInt[], MuonTensorKind);
PETSC_EXTERN PetscErrorCode MuonLayerGetUpdateRMS(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerGetRadiusFactor(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerComputeNorm(MuonLayer, Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerComputeDualNorm(MuonLayer, Mat, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerView(MuonLayer, PetscViewer);
