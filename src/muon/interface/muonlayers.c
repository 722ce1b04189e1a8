#include "muoninterface.h" /*I "petscmuon.h" I*/

static PetscErrorCode MuonCheckCanAdd_Private(Muon muon, const char name[])
{
  PetscInt slot = 0, other = 0;

  PetscFunctionBegin;
  PetscCheck(muon->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Layer \"%s\": layers are added before MuonSetUp() and the first MuonStep()", name);
  PetscCheck(name != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "A layer needs a name");
  if (muon->nlayers > 0) PetscCall(MuonFindName_Private(muon, 2 * muon->maxlayers, muon->names, NULL, name, &slot));
  if (muon->nlayers > 0) other = muon->names[slot];
  PetscCheck(other == 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\": there is a layer \"%s\" already; names must differ by more than case, as option keys do", name, ((PetscObject)muon->layer[other - 1])->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAdd_Private(Muon muon, MuonLayer layer, MuonLayer *newlayer)
{
  PetscInt slot;

  PetscFunctionBegin;
  if (muon->nlayers == muon->maxlayers) {
    const PetscInt most = PetscMax(16, 2 * muon->maxlayers);
    MuonLayer     *more;
    PetscInt      *names;

    PetscCall(PetscMalloc1(most, &more));
    PetscCall(PetscCalloc1(2 * most, &names));
    PetscCall(PetscArraycpy(more, muon->layer, muon->nlayers));
    for (PetscInt l = 0; l < muon->nlayers; l++) {
      PetscCall(MuonFindName_Private(muon, 2 * most, names, NULL, ((PetscObject)more[l])->name, &slot));
      names[slot] = l + 1;
    }
    PetscCall(PetscFree(muon->layer));
    PetscCall(PetscFree(muon->names));
    muon->layer     = more;
    muon->names     = names;
    muon->maxlayers = most;
  }
  PetscCall(MuonFindName_Private(muon, 2 * muon->maxlayers, muon->names, NULL, ((PetscObject)layer)->name, &slot));
  muon->layer[muon->nlayers++] = layer;
  muon->names[slot]            = muon->nlayers;
  for (PetscInt k = 0; k < muon->naddons; k++) {
    if (muon->addon[k].ops->layerrows != NULL) PetscCall(MuonParametersAddPart((PetscObject)layer, muon->addon[k].ops->layerrows, muon->addon[k].ops->layersize, NULL));
  }
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)layer, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)layer, ((PetscObject)muon)->options));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)layer, ((PetscObject)muon)->prefix));
  PetscCall(MuonLayerSetWorkspace_Private(layer, muon->work));
  PetscCall(MuonParametersSetParent((PetscObject)layer, (PetscObject)muon));
  PetscCall(MuonMatchLayerType_Private(muon, layer));
  if (muon->rates->preset != NULL) PetscCall(MuonPresetRead_Private(muon, (PetscObject)layer));
  if (muon->setfromoptionscalled) {
    PetscCall(MuonLayerSetFromOptions((PetscObject)layer));
    PetscCall(MuonHelpLayer_Private(muon, layer));
  }
  if (newlayer != NULL) *newlayer = layer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAddLayer - Adds a matrix of weights to an optimizer

  Logically Collective

  Input Parameters:
+ muon - the optimizer
. name - name of the layer: a letter, then letters, digits, points and underscores; the same on every rank; two names must differ in more than case
- W    - the weights; rows are outputs, columns inputs; the optimizer keeps a reference and updates them

  Output Parameter:
. newlayer - the layer, borrowed; may be `NULL`

  Level: beginner

  Notes:
  The ranks of the matrix's communicator are one worker, which has one gradient. With a `MATSEQDENSE` each rank is a
  worker, and the weights are the same on all ranks.

  With a `MATMPIDENSE` its ranks are one worker. Its rows, and those of all state, are distributed by PETSc's layout; a
  rank may have none. All workers must have the same number of ranks, the same layout and the same weights. Together
  their ranks must be those of the optimizer's communicator. There is one matrix on all ranks (as in FSDP and ZeRO-3),
  or one on each of several groups of ranks (hybrid sharding). Ranks of the same position in their workers exchange
  their rows. Inside a worker the matrix is assembled for its LMO (`-muon_assembly`). Compressors treat the rows of a
  rank as a matrix of its own, so that low rank sends its right factors once a rank.

  An optimizer may have layers with different workers.

  Matrices of these kinds in device memory, such as `MATSEQDENSECUDA`, are used in place
  (`MatDenseGetArrayAndMemType()`). Their gradients are matrices in that memory, too.

.seealso: `Muon`, `MuonLayer`, `MuonAddVecLayer()`, `MuonGetLayer()`, `MuonGetLayerByName()`, `MuonLayerGetGradient()`, `MuonLayerSetBlocks()`
@*/
PetscErrorCode MuonAddLayer(Muon muon, const char name[], Mat W, MuonLayer *newlayer)
{
  MuonLayer layer;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckCanAdd_Private(muon, name));
  PetscCheck(W != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "Layer \"%s\": no matrix of weights, expected one", name);
  PetscValidHeaderSpecific(W, MAT_CLASSID, 3);
  PetscCall(MuonLayerCreate(name, W, &layer));
  PetscCall(MuonAdd_Private(muon, layer, newlayer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAddVecLayer - Adds a vector of weights to an optimizer, which treats it as a matrix of one column

  Logically Collective

  Input Parameters:
+ muon - the optimizer
. name - name of the layer, as in `MuonAddLayer()`
- w    - the weights, sequential or distributed over the ranks of a worker, as in `MuonAddLayer()`; the optimizer keeps a reference and updates them

  Output Parameter:
. newlayer - the layer, borrowed; may be `NULL`

  Level: beginner

.seealso: `Muon`, `MuonLayer`, `MuonAddLayer()`, `MuonLayerGetGradientVec()`
@*/
PetscErrorCode MuonAddVecLayer(Muon muon, const char name[], Vec w, MuonLayer *newlayer)
{
  MuonLayer layer;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckCanAdd_Private(muon, name));
  PetscCheck(w != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "Layer \"%s\": no vector of weights, expected one", name);
  PetscValidHeaderSpecific(w, VEC_CLASSID, 3);
  PetscCall(MuonLayerCreateFromVec(name, w, NULL, 0, PETSC_DECIDE, 1, PETSC_FALSE, &layer));
  PetscCall(MuonAdd_Private(muon, layer, newlayer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two vectors have one type, one communicator's ranks and the same entries on each rank of an optimizer */
static PetscErrorCode MuonVecsAreAlike_Private(Muon muon, PetscObject x, Vec y, PetscBool *alike)
{
  PetscMPIInt result;
  PetscInt    nx, ny;
  int         mine;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_compare(PetscObjectComm(x), PetscObjectComm((PetscObject)y), &result));
  PetscCall(VecGetLocalSize((Vec)x, &nx));
  PetscCall(VecGetLocalSize(y, &ny));
  PetscCall(PetscObjectTypeCompare((PetscObject)y, x->type_name, &same));
  mine = (result == MPI_IDENT || result == MPI_CONGRUENT) && nx == ny && same ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  *alike = mine ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonAddVecLayers - Adds ranges of one vector to an optimizer, each as a matrix of weights

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon     - the optimizer
. x        - the weights, a `VECSEQ`, or a `VECMPI` whose ranks are one worker, as in `MuonAddLayer()`; the optimizer keeps a reference and updates them
. g        - the worker's mean gradient, of the type and distribution of `x`; steps only read it; the optimizer keeps a reference
. n        - number of layers
. names    - their names, as in `MuonAddLayer()`
. m        - their rows (outputs)
. k        - their columns (inputs), 1 for a vector
- rowmajor - for each layer, whether the entries of a row are contiguous, as in C and numpy; `NULL` if those of a column are contiguous in all layers, as in PETSc's dense matrices

  Level: beginner

  Notes:
  The layers follow each other in the order of the entries of x. They cover x\: the sum of m k is its size.

  A rank has a range of the entries of x, which may cut a row or column, and may have no entries of some layers. A
  distributed layer is assembled for its LMO (`-muon_assembly`) by `MUON_ASSEMBLY_ALLGATHER` or `MUON_ASSEMBLY_OWNER`.
  It cannot have blocks; add blocks with contiguous entries as ranges. Compressors treat the entries of a rank as one
  column, for which low rank saves nothing.

  Each step gets and restores the arrays of both vectors. `VecRestoreArray()` of `x` removes norms that PETSc cached.

  `MuonGetLayerByName()` and `MuonGetLayer()` return the layers, `MuonLayerGetVecRange()` the range of one.

.seealso: `Muon`, `MuonLayer`, `MuonAddVecLayer()`, `MuonAddLayer()`, `MuonAddLayerArray()`, `MuonLayerGetVecRange()`, `MuonGetLayerByName()`
@*/
PetscErrorCode MuonAddVecLayers(Muon muon, Vec x, Vec g, PetscInt n, const char *const names[], const PetscInt m[], const PetscInt k[], const PetscBool rowmajor[])
{
  PetscInt  size, left, slot, last, other = 0, *fresh;
  PetscBool alike;
  MuonLayer layer;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(x != NULL && g != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "%" PetscInt_FMT " layers of a vector: no vector of %s, expected one", n, x == NULL ? "weights" : "gradients");
  PetscValidHeaderSpecific(x, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(g, VEC_CLASSID, 3);
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " layers of a vector, expected at least 0", n);
  PetscCall(MuonVecsAreAlike_Private(muon, (PetscObject)x, g, &alike));
  PetscCall(VecGetSize(x, &size));
  PetscCall(VecGetSize(g, &left));
  PetscCheck(alike, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
             "%" PetscInt_FMT " layers of a vector: gradients of type %s and size %" PetscInt_FMT ", weights of type %s and size %" PetscInt_FMT "; expected the same, with as many entries on each rank", n, ((PetscObject)g)->type_name, left,
             ((PetscObject)x)->type_name, size);
  left = size;
  for (PetscInt l = 0; l < n; l++) PetscCall(MuonCheckCanAdd_Private(muon, names[l]));
  PetscCall(PetscCalloc1(2 * n, &fresh));
  for (last = 0; last < n && other == 0; last++) {
    PetscCall(MuonFindName_Private(muon, 2 * n, fresh, names, names[last], &slot));
    other       = fresh[slot];
    fresh[slot] = last + 1;
  }
  PetscCall(PetscFree(fresh));
  PetscCheck(other == 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\": there is a layer \"%s\" already; names must differ by more than case, as option keys do", names[last - 1], names[other - 1]);
  for (PetscInt l = 0; l < n; l++) {
    PetscCheck(m[l] >= 0 && k[l] >= 0 && (PetscInt64)m[l] * (PetscInt64)k[l] <= (PetscInt64)left, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_SIZ,
               "Layer \"%s\" of %" PetscInt_FMT " x %" PetscInt_FMT " entries, of which the %" PetscInt_FMT " of the vector have %" PetscInt_FMT " left; expected layers that are all of the vector", names[l], m[l], k[l], size, left);
    left -= m[l] * k[l];
  }
  PetscCheck(left == 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " layers that end with \"%s\" have %" PetscInt_FMT " of the %" PetscInt_FMT " entries of the vector, expected all of them", n, n > 0 ? names[n - 1] : "",
             size - left, size);
  for (PetscInt l = 0, start = 0; l < n; l++) {
    PetscCall(MuonLayerCreateFromVec(names[l], x, g, start, m[l], k[l], rowmajor != NULL ? rowmajor[l] : PETSC_FALSE, &layer));
    PetscCall(MuonAdd_Private(muon, layer, NULL));
    start += m[l] * k[l];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonReplaceVec_Private(Muon muon, Vec x, Vec g)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer layer = muon->layer[l];
    PetscInt  was, is;
    PetscBool alike;

    PetscCheck(layer->g != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_PLIB, "Layer \"%s\" is no range of a vector", ((PetscObject)layer)->name);
    PetscCall(VecGetLocalSize((Vec)layer->weights, &was));
    PetscCall(VecGetLocalSize(x, &is));
    PetscCall(MuonVecsAreAlike_Private(muon, layer->weights, x, &alike));
    PetscCheck(alike, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP, "Layer \"%s\": a vector of type %s with %" PetscInt_FMT " entries here in place of one of type %s with %" PetscInt_FMT ", expected the same on each rank",
               ((PetscObject)layer)->name, ((PetscObject)x)->type_name, is, layer->weights->type_name, was);
    PetscCall(MuonLayerReplaceVec_Private(layer, x, g));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonAddLayerArray - Adds real or complex weights in memory of the caller to an optimizer

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
. name  - name of the layer, as in `MuonAddLayer()`
- array - pointers, precision and order of the weights and, optionally, the gradients; initialized by `MuonLayerArrayInitialize()`

  Output Parameter:
. newlayer - the layer, borrowed; may be `NULL`

  Level: intermediate

  Notes:
  Nothing is copied. Steps change the weights in place, and the memory must exist until the optimizer is destroyed.
  Gradients are only read.

  An optimizer may have layers in single and in double precision, in the order of C and of Fortran, for any
  `PetscScalar`.

  The weights may be in device memory, on all ranks or on none. A rank without rows has no pointer and sets `memtype`.

.seealso: `Muon`, `MuonLayer`, `MuonLayerArray`, `MuonAddLayer()`, `MuonAddVecLayer()`, `MuonLayerGetGradientArray()`, `MuonSetParameter()`
@*/
PetscErrorCode MuonAddLayerArray(Muon muon, const char name[], const MuonLayerArray *array, MuonLayer *newlayer)
{
  MuonLayer layer;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckCanAdd_Private(muon, name));
  PetscCheck(array != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "Layer \"%s\": no MuonLayerArray, expected one", name);
  PetscCall(MuonLayerCreateFromArray(name, array, &layer));
  PetscCall(MuonAdd_Private(muon, layer, newlayer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetNumLayers - Gets the number of layers of an optimizer

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. n - the number

  Level: beginner

.seealso: `Muon`, `MuonAddLayer()`, `MuonGetLayer()`
@*/
PetscErrorCode MuonGetNumLayers(Muon muon, PetscInt *n)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, n, muon->nlayers);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayer - Gets a layer by its number

  Not Collective

  Input Parameters:
+ muon - the optimizer
- i    - the number, from 0 in the order of `MuonAddLayer()`

  Output Parameter:
. layer - the layer, borrowed

  Level: beginner

.seealso: `Muon`, `MuonGetNumLayers()`, `MuonGetLayerByName()`
@*/
PetscErrorCode MuonGetLayer(Muon muon, PetscInt i, MuonLayer *layer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(layer, 3);
  PetscCheck(i >= 0 && i < muon->nlayers, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "Layer number %" PetscInt_FMT " must be in [0,%" PetscInt_FMT ")", i, muon->nlayers);
  *layer = muon->layer[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayerByName - Gets a layer by its name

  Not Collective

  Input Parameters:
+ muon - the optimizer
- name - the name, case insensitive

  Output Parameter:
. layer - the layer, borrowed; `NULL` if there is none with this name

  Level: beginner

.seealso: `Muon`, `MuonGetLayer()`, `MuonAddLayer()`
@*/
PetscErrorCode MuonGetLayerByName(Muon muon, const char name[], MuonLayer *layer)
{
  PetscInt slot;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(name, 2);
  PetscAssertPointer(layer, 3);
  *layer = NULL;
  if (muon->nlayers == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonFindName_Private(muon, 2 * muon->maxlayers, muon->names, NULL, name, &slot));
  if (muon->names[slot] > 0) *layer = muon->layer[muon->names[slot] - 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}
