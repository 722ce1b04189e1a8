#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/

/*
   The gradient of a step: the caller's own, in any storage, or the layer's buffer, which the caller fills and the step may
   overwrite.
*/

struct _n_MuonLayerGradient {
  PetscBool        wholetype; /* on one rank: the Mat or Vec is sequential, whatever that of the weights is */
  PetscBool        none;      /* the caller declared that there is no gradient */
  PetscBool        hidden;
  PetscBool        provided; /* a gradient was taken or given since the last step */
  PetscObject      given;    /* the caller's Mat or Vec */
  const void      *array;    /* or array */
  MuonArray        buffer;   /* of the weights' precision, without gaps, made when first asked for */
  PetscObject      shown;    /* the Mat or Vec that shows it to the caller; of a Mat on a device it holds the gradient itself */
  PetscObjectState used;     /* of shown, after the last step */
};

/* Replaces the caller's previous gradient; without both arguments there is none, or the layer's buffer again */
static PetscErrorCode MuonLayerGive_Private(MuonLayer layer, PetscObject given, const void *array, PetscBool none)
{
  PetscFunctionBegin;
  if (given != NULL) PetscCall(PetscObjectReference(given));
  PetscCall(PetscObjectDestroy(&layer->gradient->given));
  layer->gradient->given    = given;
  layer->gradient->array    = array;
  layer->gradient->none     = none;
  layer->gradient->provided = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerResetGradient_Private(MuonLayer layer)
{
  PetscFunctionBegin;
  if (layer->gradient == NULL) PetscCall(PetscNew(&layer->gradient));
  PetscCall(MuonLayerGive_Private(layer, (PetscObject)layer->g, layer->array.g, PETSC_FALSE));
  PetscCall(PetscObjectDestroy(&layer->gradient->shown));
  PetscCall(MuonArrayDestroy(&layer->gradient->buffer));
  layer->gradient->used     = 0;
  layer->gradient->provided = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MuonLayerHideGradient_Private(MuonLayer layer, PetscBool hidden)
{
  layer->gradient->hidden = hidden;
}

PetscErrorCode MuonLayerVisitGradient_Private(MuonLayer layer, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  PetscCall(MuonStateVisitArray(visitor, "gradient", PETSC_TRUE, PETSC_TRUE, &layer->gradient->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all rows, or of those that are here */
static MuonArray MuonLayerGetGradientShape_Private(MuonLayer layer)
{
  return layer->wholegradient ? MuonLayerGetWholeShape(layer) : layer->shape;
}

/*
   A matrix in device memory has a gradient of its own type, in PETSc's memory; a step reads it like the caller's own
*/
static PetscErrorCode MuonLayerMakeDeviceGradient_Private(MuonLayer layer)
{
  Mat here, G;

  PetscFunctionBegin;
  if (layer->gradient->shown != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->wholegradient) {
    PetscCall(MatDenseGetLocalMatrix((Mat)layer->weights, &here));
    PetscCall(MatCreate(PETSC_COMM_SELF, &G));
    PetscCall(MatSetSizes(G, layer->m, layer->n, layer->m, layer->n));
    PetscCall(MatSetType(G, ((PetscObject)here)->type_name));
    PetscCall(MatSetUp(G));
  } else PetscCall(MatDuplicate((Mat)layer->weights, MAT_DO_NOT_COPY_VALUES, &G));
  PetscCall(MatZeroEntries(G));
  layer->gradient->shown = (PetscObject)G;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix or vector of a step's gradient; NULL if it is an array or the layer's buffer */
static PetscObject MuonLayerGradientObject_Private(MuonLayer layer)
{
  return layer->gradient->given != NULL || layer->gradient->buffer.data != NULL || layer->storage != MUON_LAYER_MAT ? layer->gradient->given : layer->gradient->shown;
}

static PetscErrorCode MuonLayerMakeGradient_Private(MuonLayer layer)
{
  const MuonArray shape = MuonLayerGetGradientShape_Private(layer);

  PetscFunctionBegin;
  if (layer->storage == MUON_LAYER_MAT && shape.memory == MUON_DEVICE) PetscCall(MuonLayerMakeDeviceGradient_Private(layer));
  else if (layer->gradient->buffer.data == NULL) PetscCall(MuonArrayCreate(&shape, shape.precision, &layer->gradient->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the gradient is a matrix, or vector, of many ranks */
static PetscBool MuonLayerHasParallelGradient_Private(MuonLayer layer)
{
  return layer->ranks > 1 && layer->wholegradient == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
}

/* The memory of our buffer is what the object shows; of a new object, or in place of other memory */
static PetscErrorCode MuonLayerPlaceGradient_Private(MuonLayer layer, PetscBool again)
{
  PetscScalar *const data = (PetscScalar *)layer->gradient->buffer.data;

  PetscFunctionBegin;
  if (layer->gradient->shown == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->storage == MUON_LAYER_MAT) {
    if (again) PetscCall(MatDenseResetArray((Mat)layer->gradient->shown));
    PetscCall(MatDensePlaceArray((Mat)layer->gradient->shown, data));
  } else {
    if (again) PetscCall(VecResetArray((Vec)layer->gradient->shown));
    PetscCall(VecPlaceArray((Vec)layer->gradient->shown, data));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   If the gradient is on one rank, its matrix or vector still has the ranks and the type of the weights, so that a program is the
   same as on several
*/
static PetscErrorCode MuonLayerShowGradient_Private(MuonLayer layer)
{
  const char *const  type     = layer->weights->type_name;
  const PetscBool    same     = strcmp(type, MATMPIDENSE) == 0 || strcmp(type, VECMPI) == 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool    parallel = layer->ranks > 1 || layer->gradient->wholetype ? MuonLayerHasParallelGradient_Private(layer) : same;
  const PetscInt     rows     = parallel ? MuonLayerRows(layer) : layer->m;
  PetscScalar *const data     = (PetscScalar *)layer->gradient->buffer.data;
  PetscInt           columns  = layer->n;

  PetscFunctionBegin;
  if (layer->gradient->shown != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->storage == MUON_LAYER_MAT) {
    if (parallel) PetscCall(MatGetLocalSize((Mat)layer->weights, NULL, &columns));
    PetscCall(MatCreate(parallel ? layer->comm : PETSC_COMM_SELF, (Mat *)&layer->gradient->shown));
    PetscCall(MatSetSizes((Mat)layer->gradient->shown, rows, columns, layer->m, layer->n));
    PetscCall(MatSetType((Mat)layer->gradient->shown, parallel ? MATMPIDENSE : MATSEQDENSE));
    PetscCall(MatSeqDenseSetPreallocation((Mat)layer->gradient->shown, data));
    PetscCall(MatMPIDenseSetPreallocation((Mat)layer->gradient->shown, data));
  } else if (parallel) PetscCall(VecCreateMPIWithArray(layer->comm, 1, rows, layer->m, data, (Vec *)&layer->gradient->shown));
  else PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, data, (Vec *)&layer->gradient->shown));
  PetscCall(MuonLayerPlaceGradient_Private(layer, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetWholeGradient - Sets whether each rank gives a whole gradient of its own, for a layer whose rows are
  distributed over the ranks of a worker

  Logically Collective

  Input Parameters:
+ layer - the layer
- whole - whether each rank's gradient has all rows; otherwise, by default, it has the rows of the weights and is the worker's mean already

  Level: intermediate

  Notes:
  Whole gradients are averaged over the ranks of the worker by `MPI_Ireduce_scatter()`, where each rank gets its own
  rows. `MuonLayerGetGradient()` and similar routines then return a sequential matrix, vector or an array without gaps.

  `MuonLayerSetGradient()` with a sequential matrix has the same effect. The choice is fixed at `MuonSetUp()`. It has
  no effect if the matrix is on one rank.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradient()`, `MuonLayerGradientReady()`
@*/
PetscErrorCode MuonLayerSetWholeGradient(MuonLayer layer, PetscBool whole)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (layer->ranks == 1 && whole != layer->gradient->wholetype) {
    PetscCall(MuonLayerResetGradient_Private(layer));
    layer->gradient->wholetype = whole;
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
  PetscCall(MuonLayerCheckStorage_Private(layer, storage, "MuonLayerGetGradient"));
  if (layer->g != NULL && layer->gradient->given == NULL) PetscCall(MuonLayerGive_Private(layer, (PetscObject)layer->g, NULL, PETSC_FALSE));
  if (layer->gradient->given != NULL || layer->gradient->array != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerMakeGradient_Private(layer));
  if (storage != MUON_LAYER_ARRAY) PetscCall(MuonLayerShowGradient_Private(layer));
  layer->gradient->none     = PETSC_FALSE;
  layer->gradient->provided = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetGradient - Gets the matrix for the worker's mean gradient of a layer

  Collective on the matrix of weights

  Input Parameter:
. layer - the layer, added with `MuonAddLayer()`

  Output Parameter:
. G - the gradient, borrowed, of the shape of the weights and without gaps between its columns; the matrix of `MuonLayerSetGradient()` if one was set

  Level: beginner

  Notes:
  Set all entries of the gradient for each step. After `MuonStep()`, with any type of optimizer, they are undefined
  (NaN in debug builds). The matrix is the same object until `MuonReset()`, but its memory changes: a pointer of
  `MatDenseGetArray()` is valid for one step.

  The gradient is zero before the first step. For weights in device memory it is a matrix of their type in
  that memory.

  If the rows of the weights are distributed over the ranks of a worker, it has the same rows, or all of them after
  `MuonLayerSetWholeGradient()`.

.seealso: `MuonLayer`, `MuonLayerSetGradient()`, `MuonLayerSetWholeGradient()`, `MuonLayerGetGradientVec()`, `MuonLayerGetGradientArray()`, `MuonLayerGetStorage()`, `MuonSetObjectiveAndGradient()`, `MuonStep()`
@*/
PetscErrorCode MuonLayerGetGradient(MuonLayer layer, Mat *G)
{
  PetscFunctionBegin;
  PetscAssertPointer(G, 2);
  PetscCall(MuonLayerProvideGradient_Private(layer, MUON_LAYER_MAT));
  *G = (Mat)(layer->gradient->given != NULL ? layer->gradient->given : layer->gradient->shown);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetGradientVec - Gets the vector for the worker's mean gradient of a layer that was added with
  `MuonAddVecLayer()` or `MuonAddVecLayers()`

  Collective on the vector of weights

  Input Parameter:
. layer - the layer

  Output Parameter:
. g - the gradient, borrowed; the vector of `MuonLayerSetGradientVec()` if one was set

  Level: beginner

  Note:
  As for `MuonLayerGetGradient()`, the vector is undefined after a step. For a range that was added with
  `MuonAddVecLayers()` it is the caller's full vector, which a step only reads.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradientVec()`, `MuonLayerGetWeightsVec()`
@*/
PetscErrorCode MuonLayerGetGradientVec(MuonLayer layer, Vec *g)
{
  PetscFunctionBegin;
  PetscAssertPointer(g, 2);
  PetscCall(MuonLayerProvideGradient_Private(layer, MUON_LAYER_VEC));
  *g = (Vec)(layer->gradient->given != NULL ? layer->gradient->given : layer->gradient->shown);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetGradientArray - Gets the memory for the worker's mean gradient of a layer that was added with
  `MuonAddLayerArray()`

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. array - type, order and size as for the weights; `g` and `w` are the gradient, in a buffer without gaps, or `g` is the caller's gradient and `w` is `NULL`

  Level: intermediate

  Notes:
  As for `MuonLayerGetGradient()`, the buffer is undefined after a step, and the pointer is valid for one step.

  An array with its own `g`, given with the layer or by `MuonLayerSetGradientArray()`, has no buffer. The step reads
  `g`.

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
  array->g = layer->gradient->array;
  if (layer->gradient->array != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  array->ld = (PetscInt)(layer->gradient->buffer.ld >> layer->gradient->buffer.pairs);
  array->w  = layer->gradient->buffer.data;
  array->g  = layer->gradient->buffer.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Checks a gradient of the caller: one of two types, the shape of the weights, and the weights' rows here, or all
*/
static PetscErrorCode MuonLayerCheckGradient_Private(MuonLayer layer, PetscObject G)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)layer);
  const char    *type = VECSEQ " or " VECMPI;
  PetscInt       m, n = 1, rows, M, N = 1, here;
  PetscMPIInt    ranks, expected;
  PetscBool      legal;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(G), &ranks));
  if (ranks == 1 && layer->ranks > 1) PetscCall(MuonLayerSetWholeGradient(layer, PETSC_TRUE));
  expected = MuonLayerHasParallelGradient_Private(layer) ? layer->ranks : 1;
  if (layer->storage == MUON_LAYER_MAT) {
    type = expected > 1 ? MATMPIDENSE : MATSEQDENSE;
    PetscCall(PetscObjectBaseTypeCompareAny(G, &legal, type, layer->ranks == 1 ? MATMPIDENSE : "", ""));
    PetscCall(MatGetSize((Mat)G, &m, &n));
    PetscCall(MatGetLocalSize((Mat)G, &rows, NULL));
    PetscCall(MatGetSize((Mat)layer->weights, &M, &N));
    PetscCall(MatGetLocalSize((Mat)layer->weights, &here, NULL));
  } else {
    PetscCall(PetscObjectTypeCompareAny(G, &legal, VECSEQ, VECMPI, ""));
    PetscCall(VecGetSize((Vec)G, &m));
    PetscCall(VecGetLocalSize((Vec)G, &rows));
    PetscCall(VecGetSize((Vec)layer->weights, &M));
    PetscCall(VecGetLocalSize((Vec)layer->weights, &here));
  }
  if (expected == 1) here = M;
  PetscCheck(legal, PetscObjectComm(G), PETSC_ERR_SUP, "Layer \"%s\": gradient of type %s, expected %s", ((PetscObject)layer)->name, G->type_name, type);
  PetscCheck(m == M && n == N, comm, PETSC_ERR_ARG_SIZ, "Layer \"%s\": gradient of shape %" PetscInt_FMT " x %" PetscInt_FMT ", expected %" PetscInt_FMT " x %" PetscInt_FMT, ((PetscObject)layer)->name, m, n, M, N);
  PetscCheck(ranks == expected && rows == here, comm, PETSC_ERR_ARG_SIZ, "Layer \"%s\": gradient with %" PetscInt_FMT " rows here on %d ranks, expected %" PetscInt_FMT " rows on %d ranks, as the weights have", ((PetscObject)layer)->name, rows, ranks,
             here, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a caller gives for this step: an object, an array, or nothing */
static PetscErrorCode MuonLayerSetGradient_Private(MuonLayer layer, MuonLayerStorage storage, PetscObject G, const void *array)
{
  MuonArray view;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (G != NULL || array != NULL) PetscCall(MuonLayerCheckStorage_Private(layer, storage, "MuonLayerSetGradient"));
  if (G != NULL) PetscCall(MuonLayerCheckGradient_Private(layer, G));
  view = layer->shape;
  PetscCall(MuonLayerOpen_Private(layer, G, array, PETSC_FALSE, &view));
  PetscCall(MuonLayerCheckMemory_Private(((PetscObject)layer)->name, layer->shape.memory, "a gradient", view.data));
  PetscCall(MuonLayerClose_Private(layer, G, PETSC_FALSE, &view));
  PetscCall(MuonLayerGive_Private(layer, G, array, G == NULL && array == NULL ? PETSC_TRUE : PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetGradient - Sets the caller's own gradient matrix for a layer, or no gradient for this step

  Not Collective

  Input Parameters:
+ layer - the layer
- G     - the worker's mean gradient, of the type, shape and rows of the weights, in the same memory; or `NULL` for none, with any storage

  Level: intermediate

  Notes:
  The layer keeps a reference and reads the matrix at each step. It does not change the matrix. No gradient counts as a
  zero gradient, until the gradient is gotten or set again. The layer still takes part in the step, on every rank.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradientVec()`, `MuonLayerSetGradientArray()`, `MuonSetObjectiveAndGradient()`
@*/
PetscErrorCode MuonLayerSetGradient(MuonLayer layer, Mat G)
{
  PetscFunctionBegin;
  if (G != NULL) PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscCall(MuonLayerSetGradient_Private(layer, MUON_LAYER_MAT, (PetscObject)G, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetGradientVec - Sets the caller's own gradient vector for a layer, or no gradient for this step

  Not Collective

  Input Parameters:
+ layer - the layer
- g     - the worker's mean gradient, of the type, size and distribution of the weights, for a range of those of the full vector; or `NULL` for none

  Level: intermediate

  Note:
  See `MuonLayerSetGradient()`.

.seealso: `MuonLayer`, `MuonLayerGetGradientVec()`, `MuonLayerSetGradient()`
@*/
PetscErrorCode MuonLayerSetGradientVec(MuonLayer layer, Vec g)
{
  PetscFunctionBegin;
  if (g != NULL) PetscValidHeaderSpecific(g, VEC_CLASSID, 2);
  PetscCall(MuonLayerSetGradient_Private(layer, MUON_LAYER_VEC, (PetscObject)g, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetGradientArray - Sets the caller's own gradient array for a layer, or no gradient for this step

  Not Collective

  Input Parameters:
+ layer - the layer
- g     - the worker's mean gradient, borrowed, of the type and layout of the weights; all rows without gaps after `MuonLayerSetWholeGradient()`; or `NULL` for none

  Level: intermediate

  Note:
  See `MuonLayerSetGradient()`. A program whose gradients are in new memory at each step calls this in each step.

.seealso: `MuonLayer`, `MuonLayerArray`, `MuonLayerGetGradientArray()`, `MuonLayerSetGradient()`
@*/
PetscErrorCode MuonLayerSetGradientArray(MuonLayer layer, const void *g)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerSetGradient_Private(layer, MUON_LAYER_ARRAY, NULL, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGradientReady - Declares the gradient of a layer complete while those of other layers are still computed

  Not Collective

  Input Parameter:
. layer - the layer

  Level: intermediate

  Notes:
  If the gradient is summed over ranks directly, the sum then overlaps with the backward pass. This applies to whole
  gradients of a matrix whose rows are distributed over the ranks of a worker (`MuonLayerSetWholeGradient()`,
  `-muon_exchange_type rows`). It also applies to gradients with their momentum at the server, in the modes reduce and
  allreduce of the exchange, except with `-muon_nan zero`. Otherwise the call does nothing before the step.

  Sums begin in the order of a backward pass, from the last added layer to the first. A gradient that is ready waits
  for those of all later layers. Gradients of at most 32 KiB with the same owner are one sum, which begins when the last
  of them is ready. Ranks may call this in any order and leave out layers, whose sums begin with the step. The results
  do not depend on it.

  With `-muon_delay 1` it progresses the messages of the previous step instead, as `MuonProgress()` does.

  The gradient must not change afterwards. A second call for a layer before the step is an error of the step on all
  ranks. With a routine of `MuonSetObjectiveAndGradient()`, calls outside it are ignored.

.seealso: `MuonLayer`, `MuonLayerGetGradient()`, `MuonLayerSetGradient()`, `MuonSetObjectiveAndGradient()`, `MuonProgress()`
@*/
PetscErrorCode MuonLayerGradientReady(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (layer->driver != NULL && layer->driver->ready != NULL) PetscCall((*layer->driver->ready)(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetGradientMemory(MuonLayer layer, MuonArray *G, PetscBool *ours)
{
  PetscFunctionBegin;
  *ours = PETSC_FALSE;
  *G    = MuonLayerGetGradientShape_Private(layer);
  if (layer->gradient->none || layer->gradient->hidden) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->gradient->given == NULL && layer->gradient->array == NULL) PetscCall(MuonLayerMakeGradient_Private(layer));
  if (layer->gradient->array != NULL && layer->wholegradient == PETSC_FALSE) G->ld = (size_t)layer->array.ld << G->pairs;
  if (MuonLayerGradientObject_Private(layer) != NULL || layer->gradient->array != NULL) PetscCall(MuonLayerOpen_Private(layer, MuonLayerGradientObject_Private(layer), layer->gradient->array, PETSC_FALSE, G));
  else {
    *G    = layer->gradient->buffer;
    *ours = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerRestoreGradientMemory(MuonLayer layer, MuonArray *G)
{
  PetscFunctionBegin;
  if (G->data != NULL) PetscCall(MuonLayerClose_Private(layer, MuonLayerGradientObject_Private(layer), PETSC_FALSE, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerSwapGradientMemory(MuonLayer layer, MuonArray *M)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerMakeGradient_Private(layer));
  PetscAssert(M->precision == layer->gradient->buffer.precision && M->len == layer->gradient->buffer.len && M->count == layer->gradient->buffer.count && M->ld == M->len, PETSC_COMM_SELF, PETSC_ERR_PLIB,
              "Layer \"%s\": memory of another shape or precision", ((PetscObject)layer)->name);
  MuonArraySwap(&layer->gradient->buffer, M);
  PetscCall(MuonLayerPlaceGradient_Private(layer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerInvalidateGradient(MuonLayer layer)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_DEBUG) && layer->gradient->buffer.data != NULL) MuonArrayAxpby((double)NAN, &layer->gradient->buffer, 0, &layer->gradient->buffer);
  if (layer->gradient->shown != NULL) {
    PetscCall(PetscObjectStateIncrease(layer->gradient->shown));
    PetscCall(PetscObjectStateGet(layer->gradient->shown, &layer->gradient->used));
  }
  layer->gradient->provided = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerIsGradientProvided(MuonLayer layer, PetscBool *provided)
{
  PetscObjectState state = layer->gradient->used;

  PetscFunctionBegin;
  if (layer->gradient->shown != NULL) PetscCall(PetscObjectStateGet(layer->gradient->shown, &state));
  *provided = layer->gradient->provided || layer->gradient->none || layer->gradient->hidden || layer->gradient->given != NULL || layer->gradient->array != NULL || state != layer->gradient->used ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
