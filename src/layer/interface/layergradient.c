#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/
#include <string.h>

/*
   The gradient of a step: the caller's own, in whatever storage, or a buffer of the layer's that the caller
   fills and the step may overwrite.
*/

/* Takes the place of what the caller gave before; neither of both: there is none, or our buffer again */
static PetscErrorCode MuonLayerGive_Private(MuonLayer layer, PetscObject given, const void *array, PetscBool none)
{
  PetscFunctionBegin;
  if (given != NULL) PetscCall(PetscObjectReference(given));
  PetscCall(PetscObjectDestroy(&layer->given));
  layer->given      = given;
  layer->givenarray = array;
  layer->nogradient = none;
  layer->provided   = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerResetGradient_Private(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerGive_Private(layer, (PetscObject)layer->g, layer->array.g, PETSC_FALSE));
  PetscCall(PetscObjectDestroy(&layer->shown));
  PetscCall(MuonArrayDestroy(&layer->gradient));
  layer->seen     = 0;
  layer->provided = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all rows, or of those that are here */
static PetscErrorCode MuonLayerGetGradientShape_Private(MuonLayer layer, MuonArray *shape)
{
  PetscFunctionBegin;
  if (layer->wholegradient) PetscCall(MuonLayerGetWholeShape(layer, shape));
  else PetscCall(MuonLayerGetShape(layer, shape));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix in the memory of a device has a gradient of its own type, whose memory is PETSc's; a step reads it
   as it reads the caller's own
*/
static PetscErrorCode MuonLayerMakeDeviceGradient_Private(MuonLayer layer)
{
  MuonMatrix matrix;
  Mat        here, G;

  PetscFunctionBegin;
  if (layer->shown != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->wholegradient) {
    PetscCall(MatDenseGetLocalMatrix(layer->W, &here));
    PetscCall(MatCreate(PETSC_COMM_SELF, &G));
    PetscCall(MatSetSizes(G, layer->m, layer->n, layer->m, layer->n));
    PetscCall(MatSetType(G, ((PetscObject)here)->type_name));
    PetscCall(MatSetUp(G));
  } else PetscCall(MatDuplicate(layer->W, MAT_DO_NOT_COPY_VALUES, &G));
  PetscCall(MuonMatGetMatrix(G, PETSC_TRUE, &matrix));
  PetscCall(MuonArrayZero(&matrix.here));
  PetscCall(MuonMatRestoreMatrix(G, PETSC_TRUE, &matrix));
  layer->shown = (PetscObject)G;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the gradient of a step is a matrix and not our buffer */
static Mat MuonLayerGradientMat_Private(MuonLayer layer)
{
  return layer->W == NULL ? NULL : (Mat)(layer->given != NULL || layer->gradient.data != NULL ? layer->given : layer->shown);
}

static PetscErrorCode MuonLayerMakeGradient_Private(MuonLayer layer)
{
  MuonArray shape;

  PetscFunctionBegin;
  if (layer->W != NULL && layer->shape.memory == MUON_DEVICE) {
    PetscCall(MuonLayerMakeDeviceGradient_Private(layer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLayerGetGradientShape_Private(layer, &shape));
  if (layer->gradient.data == NULL) PetscCall(MuonArrayCreate(&shape, shape.precision, &layer->gradient));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the gradient is a matrix, or vector, of many ranks */
static PetscBool MuonLayerHasParallelGradient_Private(MuonLayer layer)
{
  return layer->ranks > 1 && layer->wholegradient == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Where the gradient is on one rank its matrix, or vector, has the ranks and the type of the weights all the
   same, so that a program does what it does on more
*/
static PetscBool MuonLayerHasParallelType_Private(MuonLayer layer)
{
  const char *const type = ((PetscObject)(layer->W != NULL ? (PetscObject)layer->W : (PetscObject)layer->w))->type_name;

  if (layer->ranks > 1 || layer->wholetype) return MuonLayerHasParallelGradient_Private(layer);
  return strcmp(type, MATMPIDENSE) == 0 || strcmp(type, VECMPI) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* The memory of our buffer is what the object shows; of a new object, or in place of other memory */
static PetscErrorCode MuonLayerPlaceGradient_Private(MuonLayer layer, PetscBool again)
{
  PetscScalar *const data = (PetscScalar *)layer->gradient.data;

  PetscFunctionBegin;
  if (layer->shown == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (again && layer->W != NULL) PetscCall(MatDenseResetArray((Mat)layer->shown));
  else if (again) PetscCall(VecResetArray((Vec)layer->shown));
  if (layer->W != NULL) PetscCall(MatDensePlaceArray((Mat)layer->shown, data));
  else PetscCall(VecPlaceArray((Vec)layer->shown, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerShowGradient_Private(MuonLayer layer)
{
  const PetscBool    parallel = MuonLayerHasParallelType_Private(layer);
  PetscScalar *const data     = (PetscScalar *)layer->gradient.data;
  PetscInt           columns  = layer->n;
  Mat                G;
  Vec                g;

  PetscFunctionBegin;
  if (layer->shown != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->W != NULL && parallel) {
    PetscCall(MatGetLocalSize(layer->W, NULL, &columns));
    PetscCall(MatCreate(layer->comm, &G));
    PetscCall(MatSetSizes(G, layer->rows, columns, layer->m, layer->n));
    PetscCall(MatSetType(G, MATMPIDENSE));
    PetscCall(MatMPIDenseSetPreallocation(G, data));
  } else if (layer->W != NULL) PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, layer->m, columns, data, &G));
  else if (parallel) PetscCall(VecCreateMPIWithArray(layer->comm, 1, layer->rows, layer->m, data, &g));
  else PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, layer->m, data, &g));
  layer->shown = layer->W != NULL ? (PetscObject)G : (PetscObject)g;
  PetscCall(MuonLayerPlaceGradient_Private(layer, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetWholeGradient - Says that each rank gives a whole gradient of its own for a layer whose rows are
  spread over the ranks of a worker

  Logically Collective

  Input Parameters:
+ layer - the layer
- whole - whether the gradient is of the whole matrix, on every rank; else it has the rows of the weights and is the mean of the worker already, which is the default

  Level: intermediate

  Notes:
  Whole gradients are averaged over the ranks of the worker, by a sum of which each rank gets its own rows
  (`MPI_Ireduce_scatter()`). `MuonLayerGetGradient()` and its kin then give a sequential matrix, vector or an
  array without gaps.

  `MuonLayerSetGradient()` with a sequential matrix says the same. The choice is fixed at `MuonSetUp()`. It
  changes nothing where the matrix is all on one rank.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradient()`, `MuonLayerGradientReady()`
@*/
PetscErrorCode MuonLayerSetWholeGradient(MuonLayer layer, PetscBool whole)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (layer->ranks == 1 && whole != layer->wholetype) {
    PetscCall(MuonLayerResetGradient_Private(layer));
    layer->wholetype = whole;
  }
  if (layer->ranks == 1 || whole == layer->wholegradient) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(layer->g == NULL, PetscObjectComm((PetscObject)layer), PETSC_ERR_SUP, "Layer \"%s\" is a range of a vector on %d ranks, and its gradient is one of a vector with the same entries on each", ((PetscObject)layer)->name, layer->ranks);
  PetscCheck(layer->parameters.fixed == PETSC_FALSE, PetscObjectComm((PetscObject)layer), PETSC_ERR_ORDER, "Layer \"%s\": whether its gradients are whole is fixed at MuonSetUp(), where it was %s; call MuonReset() before", ((PetscObject)layer)->name,
             layer->wholegradient ? "whole" : "rows");
  PetscCall(MuonLayerResetGradient_Private(layer));
  layer->wholegradient = whole;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A caller wants to see his gradient, or our buffer */
static PetscErrorCode MuonLayerProvideGradient_Private(MuonLayer layer, MuonLayerStorage storage)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscCall(MuonLayerCheckStorage_Private(layer, storage, "MuonLayerGetGradient"));
  if (layer->g != NULL && layer->given == NULL) PetscCall(MuonLayerGive_Private(layer, (PetscObject)layer->g, NULL, PETSC_FALSE));
  if (layer->given != NULL || layer->givenarray != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerMakeGradient_Private(layer));
  if (storage != MUON_LAYER_ARRAY) PetscCall(MuonLayerShowGradient_Private(layer));
  layer->nogradient = PETSC_FALSE;
  layer->provided   = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetGradient - Gets the matrix where the callback puts the worker's mean gradient of a layer

  Collective on the matrix of weights

  Input Parameter:
. layer - the layer, added with `MuonAddLayer()`

  Output Parameter:
. G - the gradient, borrowed, of the shape of the weights and without gaps between its columns; the caller's own where `MuonLayerSetGradient()` gave one

  Level: beginner

  Notes:
  The buffer is the step's: after `MuonStep()`, with any type of optimizer, its entries are undefined (NaN in
  debug builds), so that a gradient has to be written whole for each step. The matrix stays the same object
  until `MuonReset()`, but its memory changes: a pointer of `MatDenseGetArray()` is good for one step.

  It holds zeros before the first step. Of weights in the memory of a device it is a matrix of their type, and
  in that memory.

  Of weights whose rows are spread over the ranks of a worker it has the same rows, or all of them after
  `MuonLayerSetWholeGradient()`.

.seealso: `MuonLayer`, `MuonLayerSetGradient()`, `MuonLayerSetWholeGradient()`, `MuonLayerGetGradientVec()`, `MuonLayerGetGradientArray()`, `MuonLayerGetStorage()`, `MuonSetObjectiveAndGradient()`, `MuonStep()`
@*/
PetscErrorCode MuonLayerGetGradient(MuonLayer layer, Mat *G)
{
  PetscFunctionBegin;
  PetscAssertPointer(G, 2);
  PetscCall(MuonLayerProvideGradient_Private(layer, MUON_LAYER_MAT));
  *G = (Mat)(layer->given != NULL ? layer->given : layer->shown);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetGradientVec - Gets the vector where the callback puts the worker's mean gradient of a layer that
  was added with `MuonAddVecLayer()` or `MuonAddVecLayers()`

  Collective on the vector of weights

  Input Parameter:
. layer - the layer

  Output Parameter:
. g - the gradient, borrowed; the caller's own where `MuonLayerSetGradientVec()` gave one

  Level: beginner

  Note:
  What `MuonLayerGetGradient()` says of the buffer holds here too\: it is undefined after a step. Of a range
  that was added with `MuonAddVecLayers()` it is the caller's own full vector, which a step only reads.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradientVec()`, `MuonLayerGetWeightsVec()`
@*/
PetscErrorCode MuonLayerGetGradientVec(MuonLayer layer, Vec *g)
{
  PetscFunctionBegin;
  PetscAssertPointer(g, 2);
  PetscCall(MuonLayerProvideGradient_Private(layer, MUON_LAYER_VEC));
  *g = (Vec)(layer->given != NULL ? layer->given : layer->shown);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetGradientArray - Gets the memory where the callback puts the worker's mean gradient of a layer
  that was added with `MuonAddLayerArray()`

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. array - the type, order and size of the weights; `g` and `w` are the gradient, in a buffer without gaps, or `g` is the caller's own and `w` is `NULL`

  Level: intermediate

  Notes:
  What `MuonLayerGetGradient()` says of the buffer holds here too\: it is undefined after a step, and the
  pointer is good for one.

  An array that came with its own `g`, or got it from `MuonLayerSetGradientArray()`, has no buffer to be
  filled\: the step reads `g`.

.seealso: `MuonLayer`, `MuonLayerArray`, `MuonLayerGetGradient()`, `MuonLayerSetGradientArray()`, `MuonLayerGetWeightsArray()`
@*/
PetscErrorCode MuonLayerGetGradientArray(MuonLayer layer, MuonLayerArray *array)
{
  PetscFunctionBegin;
  PetscAssertPointer(array, 2);
  PetscCall(MuonLayerProvideGradient_Private(layer, MUON_LAYER_ARRAY));
  *array = layer->array;
  if (layer->wholegradient) {
    array->first = 0;
    array->rows  = layer->m;
    array->ld    = array->rowmajor ? layer->n : layer->m;
  }
  array->w = NULL;
  array->g = layer->givenarray;
  if (layer->givenarray != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  array->ld = (PetscInt)layer->gradient.ld;
  array->w  = layer->gradient.data;
  array->g  = layer->gradient.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A gradient of the caller's: its type is one of two, its shape that of the weights, its rows here theirs, or all
*/
static PetscErrorCode MuonLayerCheckGradient_Private(MuonLayer layer, PetscObject G, PetscBool legal, const char expected[], PetscInt m, PetscInt n, PetscInt rows)
{
  const MPI_Comm  comm     = PetscObjectComm((PetscObject)layer);
  const PetscBool parallel = MuonLayerHasParallelGradient_Private(layer);
  PetscInt        M = layer->m, N = layer->n, here = layer->rows;
  PetscMPIInt     ranks;

  PetscFunctionBegin;
  PetscCheck(legal, PetscObjectComm(G), PETSC_ERR_SUP, "Layer \"%s\": gradient of type %s, expected %s", ((PetscObject)layer)->name, G->type_name, expected);
  if (layer->w != NULL) {
    N = 1;
    PetscCall(VecGetSize(layer->w, &M));
    PetscCall(VecGetLocalSize(layer->w, &here));
  }
  if (parallel == PETSC_FALSE) here = M;
  PetscCheck(m == M && n == N, comm, PETSC_ERR_ARG_SIZ, "Layer \"%s\": gradient of shape %" PetscInt_FMT " x %" PetscInt_FMT ", expected %" PetscInt_FMT " x %" PetscInt_FMT, ((PetscObject)layer)->name, m, n, M, N);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(G), &ranks));
  PetscCheck(ranks == (parallel ? layer->ranks : 1) && rows == here, comm, PETSC_ERR_ARG_SIZ, "Layer \"%s\": gradient with %" PetscInt_FMT " rows here on %d ranks, expected %" PetscInt_FMT " rows on %d ranks, as the weights have",
             ((PetscObject)layer)->name, rows, ranks, here, parallel ? layer->ranks : 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A gradient on one rank of weights on many is a whole one */
static PetscErrorCode MuonLayerCheckWhole_Private(MuonLayer layer, PetscObject G)
{
  PetscMPIInt ranks;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(G), &ranks));
  if (ranks == 1 && layer->ranks > 1) PetscCall(MuonLayerSetWholeGradient(layer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetGradient - Gives a layer the caller's own gradient matrix, or says that there is no gradient in
  this step

  Not Collective

  Input Parameters:
+ layer - the layer
- G     - the worker's mean gradient, of the type, shape and rows of the weights, in the same memory; or `NULL` for none, whatever holds the weights

  Level: intermediate

  Notes:
  The layer keeps a reference and reads the matrix at each step; it is not modified. No gradient counts as a
  gradient of zeros, in the coming step and until the gradient is asked for or set again; the layer still
  takes part, on every rank, so that no call waits for another.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradientVec()`, `MuonLayerSetGradientArray()`, `MuonSetObjectiveAndGradient()`
@*/
PetscErrorCode MuonLayerSetGradient(MuonLayer layer, Mat G)
{
  PetscInt    m, n, rows;
  PetscBool   dense;
  MuonMatrix  matrix;
  const char *type;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (G != NULL) {
    PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
    PetscCall(MuonLayerCheckStorage_Private(layer, MUON_LAYER_MAT, "MuonLayerSetGradient"));
    PetscCall(MuonLayerCheckWhole_Private(layer, (PetscObject)G));
    type = MuonLayerHasParallelGradient_Private(layer) ? MATMPIDENSE : MATSEQDENSE;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)G, &dense, type, layer->ranks == 1 ? MATMPIDENSE : "", ""));
    PetscCall(MatGetSize(G, &m, &n));
    PetscCall(MatGetLocalSize(G, &rows, NULL));
    PetscCall(MuonLayerCheckGradient_Private(layer, (PetscObject)G, dense, type, m, n, rows));
    PetscCall(MuonMatGetMatrix(G, PETSC_FALSE, &matrix));
    PetscCall(MuonLayerCheckMemory_Private(((PetscObject)layer)->name, layer->shape.memory, "a gradient", matrix.here.data));
    PetscCall(MuonMatRestoreMatrix(G, PETSC_FALSE, &matrix));
  }
  PetscCall(MuonLayerGive_Private(layer, (PetscObject)G, NULL, G == NULL ? PETSC_TRUE : PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetGradientVec - Gives a layer of a vector the caller's own gradient, or says that there is no
  gradient in this step

  Not Collective

  Input Parameters:
+ layer - the layer
- g     - the worker's mean gradient, of the type, size and distribution of the weights, of a range of those of the full vector; or `NULL` for none

  Level: intermediate

  Note:
  What `MuonLayerSetGradient()` says holds here too.

.seealso: `MuonLayer`, `MuonLayerGetGradientVec()`, `MuonLayerSetGradient()`
@*/
PetscErrorCode MuonLayerSetGradientVec(MuonLayer layer, Vec g)
{
  PetscInt  m, rows;
  PetscBool standard;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (g != NULL) {
    PetscValidHeaderSpecific(g, VEC_CLASSID, 2);
    PetscCall(MuonLayerCheckStorage_Private(layer, MUON_LAYER_VEC, "MuonLayerSetGradient"));
    PetscCall(MuonLayerCheckWhole_Private(layer, (PetscObject)g));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)g, &standard, VECSEQ, VECMPI, ""));
    PetscCall(VecGetSize(g, &m));
    PetscCall(VecGetLocalSize(g, &rows));
    PetscCall(MuonLayerCheckGradient_Private(layer, (PetscObject)g, standard, VECSEQ " or " VECMPI, m, 1, rows));
  }
  PetscCall(MuonLayerGive_Private(layer, (PetscObject)g, NULL, g == NULL ? PETSC_TRUE : PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetGradientArray - Gives a layer of an array the caller's own gradient, or says that there is no
  gradient in this step

  Not Collective

  Input Parameters:
+ layer - the layer
- g     - the worker's mean gradient, of the type of the weights and laid out as they are, borrowed; whole and without gaps after `MuonLayerSetWholeGradient()`; or `NULL` for none

  Level: intermediate

  Note:
  What `MuonLayerSetGradient()` says holds here too. Where a program gets its gradients in new memory at each
  step this says where.

.seealso: `MuonLayer`, `MuonLayerArray`, `MuonLayerGetGradientArray()`, `MuonLayerSetGradient()`
@*/
PetscErrorCode MuonLayerSetGradientArray(MuonLayer layer, const void *g)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (g != NULL) PetscCall(MuonLayerCheckStorage_Private(layer, MUON_LAYER_ARRAY, "MuonLayerSetGradient"));
  PetscCall(MuonLayerCheckMemory_Private(((PetscObject)layer)->name, layer->shape.memory, "a gradient", g));
  PetscCall(MuonLayerGive_Private(layer, NULL, g, g == NULL ? PETSC_TRUE : PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGradientReady - Says that the gradient of a layer is complete, while those of other layers are
  still computed

  Not Collective

  Input Parameter:
. layer - the layer

  Level: intermediate

  Notes:
  Where the gradient is summed over ranks as it is, its sum then travels beside the backward pass\: whole
  gradients of a matrix that is spread over the ranks of a worker (`MuonLayerSetWholeGradient()`,
  `-muon_exchange_type rows`), else gradients whose momentum is at the server, in the modes reduce and
  allreduce of the exchange, but with `-muon_nan zero`. Elsewhere nothing happens before the step.

  Sums begin in the order of a backward pass, the layer that was added last first\: a gradient that is ready
  waits for those of all layers behind it. Ranks may call it in any order and leave out layers, whose sums
  begin with the step. The results do not depend on it.

  The gradient must not be touched afterwards. A second call for a layer before the step is an error of the
  step on all ranks. With a routine of `MuonSetObjectiveAndGradient()`, calls outside of it are ignored.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradient()`, `MuonSetObjectiveAndGradient()`
@*/
PetscErrorCode MuonLayerGradientReady(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (layer->ready != NULL) PetscCall((*layer->ready)(layer->readyctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetGradientMemory(MuonLayer layer, MuonArray *G, PetscBool *ours)
{
  MuonMatrix         matrix;
  const PetscScalar *read;

  PetscFunctionBegin;
  *ours = PETSC_FALSE;
  PetscCall(MuonLayerGetGradientShape_Private(layer, G));
  if (layer->nogradient) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->given == NULL && layer->givenarray == NULL) PetscCall(MuonLayerMakeGradient_Private(layer));
  if (MuonLayerGradientMat_Private(layer) != NULL) {
    PetscCall(MuonMatGetMatrix(MuonLayerGradientMat_Private(layer), PETSC_FALSE, &matrix));
    *G = matrix.here;
  } else if (layer->given != NULL) {
    PetscCall(VecGetArrayRead((Vec)layer->given, &read));
    G->data = (void *)(read + layer->skip);
  } else if (layer->givenarray != NULL) {
    if (layer->wholegradient) G->data = (void *)layer->givenarray;
    else *G = MuonLayerViewOf_Private(layer, layer->givenarray);
  } else {
    *G    = layer->gradient;
    *ours = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerRestoreGradientMemory(MuonLayer layer, MuonArray *G)
{
  MuonMatrix         matrix = MuonMatrixOfArray(G);
  const PetscScalar *read;

  PetscFunctionBegin;
  if (G->data != NULL && MuonLayerGradientMat_Private(layer) != NULL) PetscCall(MuonMatRestoreMatrix(MuonLayerGradientMat_Private(layer), PETSC_FALSE, &matrix));
  else if (G->data != NULL && layer->given != NULL) {
    read = (const PetscScalar *)G->data - layer->skip;
    PetscCall(VecRestoreArrayRead((Vec)layer->given, &read));
  }
  G->data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerSwapGradientMemory(MuonLayer layer, MuonArray *M)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerMakeGradient_Private(layer));
  PetscAssert(M->precision == layer->gradient.precision && M->len == layer->gradient.len && M->count == layer->gradient.count && M->ld == M->len, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer \"%s\": memory of another shape or precision",
              ((PetscObject)layer)->name);
  MuonArraySwap(&layer->gradient, M);
  PetscCall(MuonLayerPlaceGradient_Private(layer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerInvalidateGradient(MuonLayer layer)
{
  const PetscBool own = layer->gradient.data == NULL && layer->W != NULL && layer->shown != NULL ? PETSC_TRUE : PETSC_FALSE;
  MuonMatrix      matrix;

  PetscFunctionBegin;
  if (PetscDefined(USE_DEBUG) && layer->gradient.data != NULL) MuonArrayAxpby((double)NAN, &layer->gradient, 0, &layer->gradient);
  if (PetscDefined(USE_DEBUG) && own) {
    PetscCall(MuonMatGetMatrix((Mat)layer->shown, PETSC_TRUE, &matrix));
    MuonArrayAxpby((double)NAN, &matrix.here, 0, &matrix.here);
    PetscCall(MuonMatRestoreMatrix((Mat)layer->shown, PETSC_TRUE, &matrix));
  }
  if (layer->shown != NULL) {
    PetscCall(PetscObjectStateIncrease(layer->shown));
    PetscCall(PetscObjectStateGet(layer->shown, &layer->seen));
  }
  layer->provided = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerIsGradientProvided(MuonLayer layer, PetscBool *provided)
{
  PetscObjectState state = layer->seen;

  PetscFunctionBegin;
  if (layer->shown != NULL) PetscCall(PetscObjectStateGet(layer->shown, &state));
  *provided = layer->provided || layer->nogradient || layer->given != NULL || layer->givenarray != NULL || state != layer->seen ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
