/*
   Layers: the parameters of a model, each with its optimizer.
*/
#pragma once

#include <petscmuonlmo.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonLayer */

/*S
   MuonLayer - A matrix or vector of parameters, with its norm, its scale and its optimizer

   Level: beginner

.seealso: `MuonAddLayer()`, `MuonAddVecLayer()`, `MuonLayerGetWeights()`, `MuonLayerGetGradient()`, `MuonLayerGetLMO()`, `MuonLayerSetScale()`, `MuonLayerSetType()`
S*/
typedef struct _p_MuonLayer *MuonLayer;

/*J
   MuonLayerType - String with the name of the optimizer of a layer

   Values:
+  `MUONLAYERLMO`    - a step inside a norm ball, the subject of this library
.  `MUONLAYERADAMW`  - AdamW
.  `MUONLAYERNADAMW` - AdamW with Nesterov momentum
.  `MUONLAYERSOAP`   - Adam in the eigenbases of the covariances of both sides
.  `MUONLAYERSGD`    - gradient descent
-  `MUONLAYERFROZEN` - no update, no messages, no state

   Level: intermediate

.seealso: `MuonLayerSetType()`, `MuonLayer`, `MuonLayerRegister()`
J*/
typedef const char *MuonLayerType;
#define MUONLAYERLMO    "lmo"
#define MUONLAYERADAMW  "adamw"
#define MUONLAYERNADAMW "nadamw"
#define MUONLAYERSOAP   "soap"
#define MUONLAYERSGD    "sgd"
#define MUONLAYERFROZEN "frozen"

/*E
   MuonLayerStorage - Storage of the weights of a layer

   Values:
+  `MUON_LAYER_MAT`   - a `Mat`
.  `MUON_LAYER_VEC`   - a `Vec`, or a range of its entries
-  `MUON_LAYER_ARRAY` - memory of the caller

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
   MuonLayerKind - Kind of a layer, for presets that treat kinds of layers differently

   Values:
+  `MUON_LAYER_KIND_AUTO`      - chosen from shape and name
.  `MUON_LAYER_KIND_MATRIX`    - a matrix, even with one row
-  `MUON_LAYER_KIND_EMBEDDING` - an embedding, for any name

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
   The gradient of complex weights Z is $2\, \partial f / \partial Z^*$, which is $\partial f / \partial x +
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
   MuonLayerArray - Weights in memory of the caller

   Values:
+  comm     - communicator of the ranks that hold the matrix together, `MPI_COMM_SELF` for a matrix on one rank
.  type     - `PETSC_FLOAT` or `PETSC_DOUBLE`, whatever `PetscScalar` is
.  memtype  - host or device; device memory is also recognized by its pointers
.  rowmajor - whether the entries of a row are contiguous, as in C and numpy, instead of those of a column
.  M        - rows (outputs) of the whole matrix
.  N        - its columns (inputs)
.  first    - index of the first row on this rank
.  rows     - number of rows on this rank, `PETSC_DECIDE` for all
.  ld       - leading dimension, in entries: distance of rows, of columns if `rowmajor` is `PETSC_FALSE`; `PETSC_DECIDE` if there are no gaps
.  w        - the weights, borrowed; steps change them in place
.  g        - the gradient, borrowed, read only, with the layout of `w`; with `NULL` the layer has its own buffer, see `MuonLayerGetGradientArray()`
.  kind     - kind of the layer for presets, `MUON_LAYER_KIND_AUTO` by default
-  field    - `MUON_FIELD_REAL` by default, or `MUON_FIELD_COMPLEX`\: then entries are complex numbers of two parts of that type, and all sizes count numbers

   Level: intermediate

   Notes:
   `MuonLayerArrayInitialize()` sets every member. Call it first: then new members need no change in the program.

   The rows of a matrix may be distributed over the ranks of `comm`, which are one worker. They are distributed in the
   order of the ranks. A rank may have none.

   Weights in device memory must be there on all ranks. Their gradients and state are in device memory, too. This needs
   a PetscMuon built with Kokkos.

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
   MuonDownlink - Form in which a server sends new weights to the workers

   Values:
+  `MUON_DOWNLINK_WEIGHTS` - a message of a compressor: the weights, or their difference to the workers' weights
-  `MUON_DOWNLINK_STEP`    - the LMO's point in the natural format of its norm; each worker computes the new weights itself

   Level: intermediate

.seealso: `MUONEF21`
E*/
typedef enum {
  MUON_DOWNLINK_WEIGHTS,
  MUON_DOWNLINK_STEP
} MuonDownlink;
PETSC_EXTERN const char *const MuonDownlinks[];

/*E
   MuonStepType - Length of the step of a layer with the optimizer `MUONLAYERLMO`

   Values:
+  `MUON_STEP_LMO`   - the radius: rate x scale x shape factor, independent of the gradient's size
-  `MUON_STEP_SHARP` - the sharp operator: rate x (scale x shape factor)^2 x the dual norm of the LMO's input

   Level: intermediate

   Notes:
   With the LMO's point D, c = scale x shape factor and gamma = rate x schedule, the steps are c gamma D and c^2 gamma
   dual(G) D. The layer's norm is the LMO's norm divided by c. Its unit ball and its dual norm are c times as large,
   which gives the square.

   For `MUONLMOFROBENIUS` the sharp step is gradient descent, for `MUONLMOMAX` it is the signs times the sum of
   absolute entries. The LMO computes the dual norm with its point, <G,-D>. It is exact if the LMO is exact. Of the
   types of `MuonPolar`, `MUONPOLARSVD` is exact. `MUONPOLARZOLOTAREV` gives .93 to .99 of the dual norm, depending on
   its number of poles. `MUONPOLARNEWTONSCHULZ` and `MUONPOLARGRAM` may leave the unit ball and give .87 to 1.2 of it.
   Each block of a layer has its own dual norm.

.seealso: `MuonLayerSetScale()`, `MUONLAYERLMO`, `MuonSetFromOptions()`
E*/
typedef enum {
  MUON_STEP_LMO,
  MUON_STEP_SHARP
} MuonStepType;
PETSC_EXTERN const char *const MuonStepTypes[];

/*E
   MuonTensorKind - Matrices that a tensor of several dimensions is cut into

   Values:
+  `MUON_TENSOR_FLATTEN` - one matrix: the first dimension, or the last, against the product of the others
-  `MUON_TENSOR_BATCH`   - a matrix of the last two dimensions for each index of the others

   Level: intermediate

.seealso: `MuonLayerSetTensor()`, `MuonLayerSetBlocks()`
E*/
typedef enum {
  MUON_TENSOR_FLATTEN,
  MUON_TENSOR_BATCH
} MuonTensorKind;
PETSC_EXTERN const char *const MuonTensorKinds[];

PETSC_EXTERN PetscClassId      MUONLAYER_CLASSID;
PETSC_EXTERN PetscFunctionList MuonLayerList;

PETSC_EXTERN PetscErrorCode MuonLayerInitializePackage(void);
struct _MuonParameter;
PETSC_EXTERN PetscErrorCode MuonLayerRegister(const char[], PetscErrorCode (*)(MuonLayer), const struct _MuonParameter *);

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
PETSC_EXTERN PetscErrorCode MuonLayerSetType(MuonLayer, MuonLayerType);
PETSC_EXTERN PetscErrorCode MuonLayerGetType(MuonLayer, MuonLayerType *);
PETSC_EXTERN PetscErrorCode MuonLayerSetScale(MuonLayer, PetscReal);
PETSC_EXTERN PetscErrorCode MuonLayerSetBlocks(MuonLayer, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode MuonLayerGetBlocks(MuonLayer, PetscInt *, const PetscInt *[], PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode MuonLayerSetTensor(MuonLayer, PetscInt, const PetscInt[], MuonTensorKind);
PETSC_EXTERN PetscErrorCode MuonLayerGetUpdateRMS(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerGetRadiusFactor(MuonLayer, PetscReal *);
PETSC_EXTERN PetscErrorCode MuonLayerView(MuonLayer, PetscViewer);
