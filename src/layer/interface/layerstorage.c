#include "../muonslot.h" /*I "petscmuonlayer.h" I*/
#include <ctype.h>

/*
   The storage of a layer's weights: a Mat, or an array view of a range of a Vec or of the caller's memory.
*/
const char *const MuonLayerStorages[] = {"mat", "vec", "array", "MuonLayerStorage", "MUON_LAYER_", NULL};

const char *const MuonFields[] = {"real", "complex", "MuonField", "MUON_FIELD_", NULL};

/* Names become parts of option keys, where PETSc reads _digits_ as a prefix's number and drops it */
static PetscErrorCode MuonLayerCheckName_Private(const char name[])
{
  size_t length;

  PetscFunctionBegin;
  PetscCheck(name != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "A layer needs a name");
  PetscCall(PetscStrlen(name, &length));
  PetscCheck(length > 0 && isalpha((unsigned char)name[0]), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Layer name \"%s\" does not start with a letter", name);
  PetscCheck(length <= MUON_LAYER_NAME_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Layer name \"%.32s...\" has %zu characters, expected at most %d: names are parts of option keys", name, length, MUON_LAYER_NAME_MAX);
  for (size_t i = 0; i < length; i++) {
    const unsigned char c      = (unsigned char)name[i];
    const size_t        digits = strspn(name + i + 1, "0123456789");

    PetscCheck(isalnum(c) || c == '.' || c == '_', PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Layer name \"%s\" has a character that is not a letter, a digit, a point or an underscore", name);
    PetscCheck(c != '_' || digits == 0 || (name[i + 1 + digits] != '\0' && name[i + 1 + digits] != '_'), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "Layer name \"%s\" has digits between underscores, which PETSc drops from option keys: write h0.q, not h_0_q", name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   shape is that of the rows here, from row first on of the matrix, whose rows are distributed over comm
*/
static PetscErrorCode MuonLayerCreate_Private(const char name[], MuonLayerStorage storage, MPI_Comm comm, PetscInt rows, PetscInt first, const MuonArray *shape, MuonLayer *newlayer)
{
  MuonLayer layer;
  char      family[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(MuonLayerInitializePackage());
  PetscCall(MuonLayerCheckName_Private(name));
  PetscCall(PetscHeaderCreate(layer, MUONLAYER_CLASSID, "MuonLayer", "Layer of an optimizer", "MuonLayer", PETSC_COMM_SELF, MuonLayerDestroy, MuonLayerView));
  PetscCall(PetscObjectSetName((PetscObject)layer, name));
  PetscCall(MuonNameHash_Private(name, &layer->hash));
  PetscCallMPI(MPI_Comm_size(comm, &layer->ranks));
  layer->m = layer->M    = rows;
  layer->n               = (PetscInt)MuonArrayColumns(shape);
  layer->rowmajor        = shape->rowmajor;
  layer->comm            = comm;
  layer->first           = first;
  layer->storage         = storage;
  layer->shape           = MuonArrayLike(shape, shape->precision, NULL);
  layer->state.precision = layer->state.kept = shape->precision;
  PetscCall(MuonParametersCreate((PetscObject)layer));
  PetscCall(MuonSlotsCreate(layer));
  PetscCall(MuonLayerResetGradient_Private(layer));
  PetscCall(PetscSNPrintf(family, sizeof(family), "muon_layer_%s_", name));
  PetscCall(PetscStrallocpy(family, (char **)&layer->parameters.family));
  layer->parameters.layer = ((PetscObject)layer)->name;
  PetscCall(MuonWorkspaceCreate(&layer->work));
  PetscCall(MuonBlocksSet_Private(&layer->blocks, 1, NULL, 1, NULL));
  PetscCall(MuonLayerSetType(layer, MUONLAYERLMO));
  layer->why[0] = '\0';
  layer->chosen = PETSC_FALSE;
  *newlayer     = layer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCheckMemory_Private(const char name[], MuonMemory memory, const char what[], const void *data)
{
  const MuonDevice *device = MuonDeviceGet();
  const int         there  = device != NULL && data != NULL && device->owns(data);

  PetscFunctionBegin;
  PetscCheck(data == NULL || there == (memory == MUON_DEVICE), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": %s in the memory of the %s, expected that of the %s", name, what, there ? "device" : "host",
             memory == MUON_DEVICE ? "device" : "host");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there are kernels for the memory of the weights, a matrix or an array */
static PetscErrorCode MuonLayerStartMemory_Private(const char name[], const char what[], MuonMemory memory, const void *data)
{
  const MuonDevice *device = MuonDeviceGet();
  const char       *reason;

  PetscFunctionBegin;
  if (memory == MUON_DEVICE) {
    PetscCheck(device != NULL, PETSC_COMM_SELF, PETSC_ERR_SUP, "Layer \"%s\": %s in the memory of a device, and this PetscMuon was built without Kokkos, expected that of the host", name, what);
    reason = device->start();
    PetscCheck(reason == NULL, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS, "Layer \"%s\": %s in the memory of a device, and %s", name, what, reason);
  }
  PetscCall(MuonLayerCheckMemory_Private(name, memory, "weights", data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCreate(const char name[], Mat W, MuonLayer *layer)
{
  PetscInt   m, n, first, last;
  PetscBool  dense;
  MuonMatrix matrix;
  MuonArray  shape;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(W, MAT_CLASSID, 2);
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)W, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCheck(dense, PetscObjectComm((PetscObject)W), PETSC_ERR_SUP, "Layer \"%s\": weights of type %s, expected a dense matrix, %s or %s, or one of these in the memory of a device", name,
             ((PetscObject)W)->type_name ? ((PetscObject)W)->type_name : "not set", MATSEQDENSE, MATMPIDENSE);
  PetscCall(MatGetSize(W, &m, &n));
  PetscCall(MatGetOwnershipRange(W, &first, &last));
  shape = MuonArrayOfScalars(last - first, n, NULL, last - first);
  PetscCall(MuonMatGetMatrix(W, PETSC_FALSE, &matrix));
  shape.memory = matrix.here.memory;
  PetscCall(MuonLayerStartMemory_Private(name, "a matrix", shape.memory, matrix.here.data));
  PetscCall(MuonMatRestoreMatrix(W, PETSC_FALSE, &matrix));
  PetscCall(MuonLayerCreate_Private(name, MUON_LAYER_MAT, PetscObjectComm((PetscObject)W), m, first, &shape, layer));
  PetscCall(PetscObjectReference((PetscObject)W));
  (*layer)->weights = (PetscObject)W;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCreateFromVec(const char name[], Vec w, Vec g, PetscInt start, PetscInt m, PetscInt n, PetscBool rowmajor, MuonLayer *layer)
{
  PetscInt    size, low, high, first, entries;
  PetscMPIInt ranks;
  PetscBool   standard;
  MuonArray   shape; /* of many ranks the entries are a column */

  PetscFunctionBegin;
  PetscValidHeaderSpecific(w, VEC_CLASSID, 2);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)w, &standard, VECSEQ, VECMPI, ""));
  PetscCheck(standard, PetscObjectComm((PetscObject)w), PETSC_ERR_SUP, "Layer \"%s\": weights of type %s, expected a vector in the memory of the host, %s or %s", name, ((PetscObject)w)->type_name ? ((PetscObject)w)->type_name : "not set", VECSEQ,
             VECMPI);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)w), &ranks));
  PetscCall(VecGetSize(w, &size));
  if (m == PETSC_DECIDE) m = size;
  PetscCheck(start >= 0 && start <= size, PetscObjectComm((PetscObject)w), PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": it begins at entry %" PetscInt_FMT " of a vector of %" PetscInt_FMT, name, start, size);
  PetscCheck(m >= 0 && n >= 0 && (PetscInt64)m * (PetscInt64)n <= (PetscInt64)(size - start), PetscObjectComm((PetscObject)w), PETSC_ERR_ARG_SIZ,
             "Layer \"%s\": %" PetscInt_FMT " x %" PetscInt_FMT " entries from number %" PetscInt_FMT " on of a vector of %" PetscInt_FMT ", expected some of these", name, m, n, start, size);
  if (n == 1) rowmajor = PETSC_FALSE; /* the same memory */
  PetscCall(VecGetOwnershipRange(w, &low, &high));
  first          = PetscMin(PetscMax(low - start, 0), m * n);
  entries        = PetscMin(PetscMax(high - start, 0), m * n) - first;
  shape          = ranks > 1 ? MuonArrayOfScalars(entries, 1, NULL, entries) : rowmajor ? MuonArrayOfScalars(n, m, NULL, n) : MuonArrayOfScalars(m, n, NULL, m);
  shape.rowmajor = ranks == 1 && rowmajor ? 1 : 0;
  PetscCall(MuonLayerCreate_Private(name, MUON_LAYER_VEC, PetscObjectComm((PetscObject)w), ranks > 1 ? m * n : m, first, &shape, layer));
  (*layer)->m        = m;
  (*layer)->n        = n;
  (*layer)->rowmajor = rowmajor ? 1 : 0;
  (*layer)->start    = start;
  (*layer)->skip     = entries > 0 ? start + first - low : 0;
  PetscCall(MuonLayerReplaceVec_Private(*layer, w, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerReplaceVec_Private(MuonLayer layer, Vec w, Vec g)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)w));
  PetscCall(PetscObjectDestroy(&layer->weights));
  layer->weights = (PetscObject)w;
  if (g == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerSetGradientVec(layer, g));
  PetscCall(PetscObjectReference((PetscObject)g));
  PetscCall(VecDestroy(&layer->g));
  layer->g = g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerArrayInitialize - Sets all members of a `MuonLayerArray` to their defaults

  Not Collective

  Output Parameter:
. array - on one rank (`MPI_COMM_SELF`), of `PetscReal`, in host memory, column-major, without gaps, with all rows; no size, no weights and no gradient

  Level: intermediate

.seealso: `MuonLayerArray`, `MuonAddLayerArray()`
@*/
PetscErrorCode MuonLayerArrayInitialize(MuonLayerArray *array)
{
  PetscFunctionBegin;
  PetscAssertPointer(array, 1);
  PetscCall(PetscMemzero(array, sizeof(*array)));
  array->comm    = MPI_COMM_SELF;
  array->type    = PETSC_REAL;
  array->memtype = PETSC_MEMTYPE_HOST;
  array->rows    = PETSC_DECIDE;
  array->ld      = PETSC_DECIDE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCreateFromArray(const char name[], const MuonLayerArray *array, MuonLayer *layer)
{
  MuonLayerArray a;
  MuonArray      shape;
  PetscInt       line;
  PetscMPIInt    size;

  PetscFunctionBegin;
  a = *array;
  PetscCheck(a.comm != MPI_COMM_NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "Layer \"%s\": an array without a communicator, expected MPI_COMM_SELF", name);
  PetscCheck(a.type == PETSC_FLOAT || a.type == PETSC_DOUBLE, PETSC_COMM_SELF, PETSC_ERR_SUP, "Layer \"%s\": an array of PetscDataType %d, expected PETSC_FLOAT or PETSC_DOUBLE%s", name, (int)a.type,
             a.type == PETSC_COMPLEX ? ", with the field MUON_FIELD_COMPLEX" : "");
  if (PetscMemTypeHost(a.memtype) && MuonDeviceGet() != NULL && a.w != NULL && MuonDeviceGet()->owns(a.w)) a.memtype = PETSC_MEMTYPE_DEVICE;
  shape.memory = PetscMemTypeHost(a.memtype) ? MUON_HOST : MUON_DEVICE;
  PetscCall(MuonLayerStartMemory_Private(name, "an array", shape.memory, a.w));
  PetscCall(MuonLayerCheckMemory_Private(name, shape.memory, "a gradient", a.g));
  PetscCheck(a.M >= 0 && a.N >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": an array of %" PetscInt_FMT " x %" PetscInt_FMT " entries, expected sizes of at least 0", name, a.M, a.N);
  if (a.rows == PETSC_DECIDE) a.rows = a.M;
  PetscCallMPI(MPI_Comm_size(a.comm, &size));
  PetscCheck(size > 1 || a.rows == a.M, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": %" PetscInt_FMT " rows of an array on one rank, expected all %" PetscInt_FMT, name, a.rows, a.M);
  PetscCheck(a.first >= 0 && a.rows >= 0 && a.first <= a.M - a.rows, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": %" PetscInt_FMT " rows from number %" PetscInt_FMT " on of an array, expected some of its %" PetscInt_FMT " rows", name,
             a.rows, a.first, a.M);
  PetscCheck(a.field == MUON_FIELD_REAL || a.field == MUON_FIELD_COMPLEX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": an array of MuonField %d, expected MUON_FIELD_REAL or MUON_FIELD_COMPLEX", name, (int)a.field);
  PetscCheck(a.field == MUON_FIELD_REAL || shape.memory == MUON_HOST, PETSC_COMM_SELF, PETSC_ERR_SUP, "Layer \"%s\": a complex array in the memory of a device, for which there are no kernels, expected that of the host", name);
  PetscCheck(a.field == MUON_FIELD_REAL || size == 1, PETSC_COMM_SELF, PETSC_ERR_SUP, "Layer \"%s\": a complex array whose rows are spread over %d ranks, expected MPI_COMM_SELF", name, size);
  line = a.rowmajor ? a.N : a.rows;
  if (a.ld == PETSC_DECIDE) a.ld = line;
  PetscCheck(a.ld >= line, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": ld %" PetscInt_FMT " of an array, expected at least the %" PetscInt_FMT " entries of a %s", name, a.ld, line, a.rowmajor ? "row" : "column");
  PetscCheck(a.w != NULL || a.rows == 0 || a.N == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "Layer \"%s\": an array without weights, expected w", name);
  shape.data      = NULL;
  shape.pairs     = a.field == MUON_FIELD_COMPLEX ? 1 : 0;
  shape.len       = (size_t)line << shape.pairs;
  shape.count     = (size_t)(a.rowmajor ? a.rows : a.N);
  shape.ld        = (size_t)a.ld << shape.pairs;
  shape.precision = a.type == PETSC_FLOAT ? MUON_SINGLE : MUON_DOUBLE;
  shape.rowmajor  = a.rowmajor ? 1 : 0;
  PetscCall(MuonLayerCreate_Private(name, MUON_LAYER_ARRAY, a.comm, a.M, a.first, &shape, layer));
  (*layer)->array = a;
  PetscCall(MuonLayerResetGradient_Private(*layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetStorage - Gets the storage of the weights of a layer, which determines the routines that return them

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. storage - `MUON_LAYER_MAT`, `MUON_LAYER_VEC` or `MUON_LAYER_ARRAY`

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerStorage`, `MuonLayerGetWeights()`, `MuonLayerGetWeightsVec()`, `MuonLayerGetWeightsArray()`
@*/
PetscErrorCode MuonLayerGetStorage(MuonLayer layer, MuonLayerStorage *storage)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, storage, layer->storage);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCheckStorage_Private(MuonLayer layer, MuonLayerStorage storage, const char function[])
{
  const char *const what[] = {"a matrix", "a vector", "an array that is not PETSc's"}, *const suffix[] = {"", "Vec", "Array"};

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscCheck(layer->storage == storage, PetscObjectComm((PetscObject)layer), PETSC_ERR_ARG_WRONGSTATE, "Layer \"%s\" is %s: use %s%s()", ((PetscObject)layer)->name, what[layer->storage], function, suffix[layer->storage]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerCheckReal_Private(MuonLayer layer)
{
  const char *const field = MuonFields[PetscDefined(USE_COMPLEX)];

  PetscFunctionBegin;
  PetscCheck(layer->shape.pairs == PetscDefined(USE_COMPLEX), PetscObjectComm((PetscObject)layer), PETSC_ERR_SUP, "Layer \"%s\" is %s, and a matrix of this PETSc is %s, expected a %s layer; MuonLayerGetWeightsArray() gives its weights",
             ((PetscObject)layer)->name, MuonFields[layer->shape.pairs], field, field);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetWeights - Gets the matrix of weights of a layer

  Not Collective

  Input Parameter:
. layer - the layer, added with `MuonAddLayer()`

  Output Parameter:
. W - the weights, borrowed

  Level: beginner

  Note:
  Call `MuonWeightsChanged()` after you change the weights between two steps.

.seealso: `MuonLayer`, `MuonLayerGetStorage()`, `MuonLayerGetWeightsVec()`, `MuonLayerGetWeightsArray()`, `MuonLayerGetServerWeights()`, `MuonLayerGetGradient()`, `MuonWeightsChanged()`
@*/
PetscErrorCode MuonLayerGetWeights(MuonLayer layer, Mat *W)
{
  PetscFunctionBegin;
  PetscAssertPointer(W, 2);
  PetscCall(MuonLayerCheckStorage_Private(layer, MUON_LAYER_MAT, "MuonLayerGetWeights"));
  *W = (Mat)layer->weights;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetWeightsVec - Gets the vector of weights of a layer that was added with `MuonAddVecLayer()` or
  `MuonAddVecLayers()`

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. w - the weights, borrowed; for a range the full vector, with the range given by `MuonLayerGetVecRange()`

  Level: beginner

.seealso: `MuonLayer`, `MuonLayerGetStorage()`, `MuonLayerGetVecRange()`, `MuonLayerGetWeights()`, `MuonLayerGetGradientVec()`, `MuonAddVecLayer()`, `MuonAddVecLayers()`
@*/
PetscErrorCode MuonLayerGetWeightsVec(MuonLayer layer, Vec *w)
{
  PetscFunctionBegin;
  PetscAssertPointer(w, 2);
  PetscCall(MuonLayerCheckStorage_Private(layer, MUON_LAYER_VEC, "MuonLayerGetWeights"));
  *w = (Vec)layer->weights;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetWeightsArray - Gets the weights of a layer that was added with `MuonAddLayerArray()`

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. array - the caller's array, with `PETSC_DECIDE` replaced by numbers

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerArray`, `MuonLayerGetStorage()`, `MuonLayerGetWeights()`, `MuonLayerGetGradientArray()`, `MuonAddLayerArray()`
@*/
PetscErrorCode MuonLayerGetWeightsArray(MuonLayer layer, MuonLayerArray *array)
{
  PetscFunctionBegin;
  PetscAssertPointer(array, 2);
  PetscCall(MuonLayerCheckStorage_Private(layer, MUON_LAYER_ARRAY, "MuonLayerGetWeights"));
  *array = layer->array;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetVecRange - Gets the range of a layer in its vector

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameters:
+ start    - index of its first entry in the whole vector, may be `NULL`
- rowmajor - whether the entries of a row are contiguous, may be `NULL`

  Level: intermediate

  Note:
  `MuonLayerGetWeightsVec()` gives the vector, and `MuonLayerGetSize()` the rows and columns.

.seealso: `MuonLayer`, `MuonAddVecLayers()`, `MuonLayerGetWeightsVec()`, `MuonLayerGetGradientVec()`, `MuonLayerGetStorage()`
@*/
PetscErrorCode MuonLayerGetVecRange(MuonLayer layer, PetscInt *start, PetscBool *rowmajor)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerCheckStorage_Private(layer, MUON_LAYER_VEC, "MuonLayerGetWeights"));
  if (start != NULL) *start = layer->start;
  if (rowmajor != NULL) *rowmajor = layer->rowmajor ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

MuonArray MuonLayerGetWholeShape(MuonLayer layer)
{
  MuonArray shape = layer->shape;

  if (shape.rowmajor) shape.count = (size_t)layer->M;
  else shape.len = shape.ld = (size_t)layer->M << shape.pairs;
  return shape;
}

MuonArray MuonLayerMatrixOf(MuonLayer layer, const MuonArray *whole)
{
  MuonArray matrix = *whole;

  if (MuonLayerIsEntries(layer) == PETSC_FALSE) return matrix;
  matrix.rowmajor = layer->rowmajor;
  matrix.len = matrix.ld = (size_t)(layer->rowmajor ? layer->n : layer->m);
  matrix.count           = (size_t)(layer->rowmajor ? layer->m : layer->n);
  return matrix;
}

PetscErrorCode MuonLayerSetUpRows_Private(MuonLayer layer)
{
  const PetscInt end = layer->first + MuonLayerRows(layer);

  PetscFunctionBegin;
  PetscCall(PetscFree(layer->ranges));
  PetscCall(PetscMalloc1(layer->ranks + 1, &layer->ranges));
  layer->ranges[0] = 0;
  PetscCallMPI(MPI_Allgather(&end, 1, MPIU_INT, layer->ranges + 1, 1, MPIU_INT, layer->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerOpen_Private(MuonLayer layer, PetscObject object, const void *data, PetscBool write, MuonArray *A)
{
  MuonMatrix         matrix;
  PetscScalar       *entries;
  const PetscScalar *read;

  PetscFunctionBegin;
  if (object != NULL && layer->storage == MUON_LAYER_MAT) {
    PetscCall(MuonMatGetMatrix((Mat)object, write, &matrix));
    *A = matrix.here;
  } else if (object != NULL && write) {
    PetscCall(VecGetArray((Vec)object, &entries));
    A->data = entries + layer->skip;
  } else if (object != NULL) {
    PetscCall(VecGetArrayRead((Vec)object, &read));
    A->data = (void *)(read + layer->skip);
  } else A->data = (void *)data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerClose_Private(MuonLayer layer, PetscObject object, PetscBool write, MuonArray *A)
{
  MuonMatrix         matrix = MuonMatrixOfArray(A);
  PetscScalar       *data   = object != NULL && A->data != NULL ? (PetscScalar *)A->data - layer->skip : NULL;
  const PetscScalar *read   = data;

  PetscFunctionBegin;
  if (object != NULL && layer->storage == MUON_LAYER_MAT) PetscCall(MuonMatRestoreMatrix((Mat)object, write, &matrix));
  else if (object != NULL && write) PetscCall(VecRestoreArray((Vec)object, &data));
  else if (object != NULL) PetscCall(VecRestoreArrayRead((Vec)object, &read));
  A->data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetWeightsMemory(MuonLayer layer, PetscBool write, MuonArray *W)
{
  PetscFunctionBegin;
  *W = layer->shape;
  if (layer->storage == MUON_LAYER_ARRAY) W->ld = (size_t)layer->array.ld << W->pairs;
  PetscCall(MuonLayerOpen_Private(layer, layer->weights, layer->array.w, write, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerRestoreWeightsMemory(MuonLayer layer, PetscBool write, MuonArray *W)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerClose_Private(layer, layer->weights, write, W));
  if (write && layer->note != NULL) PetscCall(MuonLayerNoteWeights(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetFullWeights - Copies the whole weights of a layer whose rows may be distributed over the ranks of a
  worker

  Collective on the matrix of weights

  Input Parameter:
. layer - the layer

  Output Parameter:
. W - the weights, in a `MATSEQDENSE` of the layer's shape on every rank of the worker, with one column for a vector

  Level: intermediate

  Notes:
  Every rank gets all rows (`MPI_Allgatherv()`). `MuonGetTraffic()` counts these bytes for the current or the next
  step. A matrix on one rank is copied.

  A forward pass can gather one layer after the other into the same memory.

.seealso: `MuonLayer`, `MuonLayerGetWeights()`, `MuonLayerGetServerWeights()`, `MuonGetTraffic()`, `MuonAddLayer()`
@*/
PetscErrorCode MuonLayerGetFullWeights(MuonLayer layer, Mat W)
{
  MuonArray  rows, shape, packed, whole;
  MuonMatrix matrix;
  PetscInt   m, n;
  PetscBool  seqdense, other;
  MuonMark   mark;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscValidHeaderSpecific(W, MAT_CLASSID, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)W, MATSEQDENSE, &seqdense));
  PetscCall(MatGetSize(W, &m, &n));
  PetscCheck(seqdense && m == layer->m && n == layer->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Layer \"%s\": matrix of type %s and shape %" PetscInt_FMT " x %" PetscInt_FMT " for its weights, expected %s of %" PetscInt_FMT " x %" PetscInt_FMT,
             ((PetscObject)layer)->name, ((PetscObject)W)->type_name, m, n, MATSEQDENSE, layer->m, layer->n);
  PetscCall(MuonLayerCheckReal_Private(layer));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &rows));
  if (layer->ranks == 1) PetscCall(MuonMatCopyArray(&rows, W));
  else {
    if (layer->ranges == NULL) PetscCall(MuonLayerSetUpRows_Private(layer));
    shape        = MuonLayerGetWholeShape(layer);
    shape.memory = MUON_HOST;
    other        = shape.rowmajor || shape.precision != MUON_PETSCSCALAR || MuonLayerIsEntries(layer) ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonWorkspaceMark(layer->work, &mark));
    PetscCall(MuonWorkspaceGetArray(layer->work, &shape, shape.precision, &packed));
    PetscCall(MuonMatGetMatrix(W, PETSC_TRUE, &matrix));
    whole = matrix.here;
    if (other) PetscCall(MuonArrayCreate(&shape, shape.precision, &whole));
    PetscCall(MuonRowsGather(layer->comm, -1, layer->ranges, &rows, &whole, &packed, &layer->gathered));
    PetscCall(MuonMatRestoreMatrix(W, PETSC_TRUE, &matrix));
    PetscCall(MuonWorkspaceRelease(layer->work, &mark));
    if (other) {
      shape = MuonLayerMatrixOf(layer, &whole);
      PetscCall(MuonMatCopyArray(&shape, W));
      PetscCall(MuonArrayDestroy(&whole));
    }
  }
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetServerWeights - Copies the weights of a layer at its owner

  Not Collective

  Input Parameters:
+ layer - the layer
- X     - a `MATSEQDENSE` with this rank's rows of the layer, with one column for a vector or a range of a parallel vector; or `NULL` to ask only whether this rank owns the layer

  Output Parameters:
+ X    - the server's weights if this rank owns the layer, otherwise unchanged
- owns - whether this rank owns the layer

  Level: intermediate

  Note:
  In `MUONEF21` with a compressor from server to workers, the workers compute gradients at W, which follows the
  server's X. The difference X - W goes to zero with the radius.

.seealso: `MuonLayer`, `MuonLayerGetWeights()`, `MuonLayerGetOwner()`, `MUONEF21`
@*/
PetscErrorCode MuonLayerGetServerWeights(MuonLayer layer, Mat X, PetscBool *owns)
{
  MuonArray W;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (X != NULL) PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscAssertPointer(owns, 3);
  *owns = MuonLayerIsServed(layer);
  if (*owns == PETSC_FALSE || X == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerCheckReal_Private(layer));
  if (layer->driver->server->data == NULL) {
    PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
    PetscCall(MuonMatCopyArray(&W, X));
    PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
  } else PetscCall(MuonMatCopyArray(layer->driver->server, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}
