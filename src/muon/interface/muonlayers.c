#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/

static PetscErrorCode MuonCheckCanAdd_Private(Muon muon, const char name[])
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCheck(muon->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Layer \"%s\": layers are added before MuonSetUp() and the first MuonStep()", name);
  PetscCheck(name != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "A layer needs a name");
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscCall(PetscStrcasecmp(((PetscObject)muon->layer[l])->name, name, &same));
    PetscCheck(same == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\": there is a layer \"%s\" already; names must differ by more than case, as option keys do", name, ((PetscObject)muon->layer[l])->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAdd_Private(Muon muon, MuonLayer layer, MuonLayer *newlayer)
{
  PetscOptions preset;

  PetscFunctionBegin;
  if (muon->nlayers == muon->maxlayers) {
    const PetscInt most = PetscMax(16, 2 * muon->maxlayers);
    MuonLayer     *more;

    PetscCall(PetscMalloc1(most, &more));
    PetscCall(PetscArraycpy(more, muon->layer, muon->nlayers));
    PetscCall(PetscFree(muon->layer));
    muon->layer     = more;
    muon->maxlayers = most;
  }
  muon->layer[muon->nlayers++] = layer;
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)layer, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)layer, ((PetscObject)muon)->options));
  PetscCall(MuonLayerSetOptionsPrefix(layer, ((PetscObject)muon)->prefix));
  PetscCall(MuonLayerSetWorkspace_Private(layer, muon->work));
  if (muon->preset != NULL) {
    PetscCall(MuonPresetBegin_Private(muon, &preset));
    PetscCall(MuonLayerSetFromOptions(layer));
    PetscCall(MuonPresetEnd_Private(muon, &preset));
  }
  PetscCall(MuonMatchRule_Private(muon, layer));
  if (muon->setfromoptionscalled) {
    PetscCall(MuonLayerSetFromOptions(layer));
    PetscCall(MuonHelpLayer_Private(muon, layer));
  }
  if (newlayer != NULL) *newlayer = layer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAddLayer - Adds a matrix of weights to an optimizer

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
. name - name of the layer: a letter, then letters, digits, points and underscores; the same on every rank, different from other names by more than case
- W    - the weights; rows are outputs, columns inputs; the optimizer keeps a reference and moves them

  Output Parameter:
. newlayer - the layer, borrowed; may be `NULL`

  Level: beginner

  Notes:
  The communicator of the matrix is the layer's worker, which has one gradient. A `MATSEQDENSE` makes each rank a worker; its weights are the same on all.

  A `MATMPIDENSE` makes its ranks one worker, and its rows, and those of all state, are spread over them as PETSc's layout says, maybe none on some. The optimizer's communicator must be made of workers of the same number of ranks with
  the same layout, whose weights are the same: one such matrix on all ranks (as in FSDP and ZeRO-3), or one on each of several groups of ranks (hybrid sharding). Ranks of the same position in their workers exchange what they hold of the
  layer; inside a worker the matrix is assembled for its oracle (`MuonSetAssemblyKind()`). Compressors act on the rows of a rank as on a matrix of their own\: low rank sends its right factors once a rank.

  Layers of different workers may live in one optimizer.

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

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
. name - name of the layer, as in `MuonAddLayer()`
- w    - the weights, sequential or spread over the ranks of a worker, as in `MuonAddLayer()`; the optimizer keeps a reference and moves them

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
  PetscCall(MuonLayerCreateFromVec(name, w, &layer));
  PetscCall(MuonAdd_Private(muon, layer, newlayer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonAddLayerArray - Adds weights in memory that is not PETSc's to an optimizer

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon  - the optimizer
. name  - name of the layer, as in `MuonAddLayer()`
- array - where the weights and, if it has any, the gradients are, of which precision and in which order; made by `MuonLayerArrayInitialize()`

  Output Parameter:
. newlayer - the layer, borrowed; may be `NULL`

  Level: intermediate

  Notes:
  Nothing is copied: steps write to the weights where they are, and the memory must stay until the optimizer is destroyed. Gradients are only read.

  Layers in single and in double precision, in the order of C and of Fortran, live in one optimizer, whatever `PetscScalar` is.

.seealso: `Muon`, `MuonLayer`, `MuonLayerArray`, `MuonAddLayer()`, `MuonAddVecLayer()`, `MuonLayerGetGradientArray()`, `MuonSetStatePrecision()`
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

  Not Collective; No Fortran Support

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

  Not Collective; No Fortran Support

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

  Not Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
- name - the name, up to case

  Output Parameter:
. layer - the layer, borrowed; `NULL` where there is none of that name

  Level: beginner

.seealso: `Muon`, `MuonGetLayer()`, `MuonAddLayer()`
@*/
PetscErrorCode MuonGetLayerByName(Muon muon, const char name[], MuonLayer *layer)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(name, 2);
  PetscAssertPointer(layer, 3);
  *layer = NULL;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscCall(PetscStrcasecmp(((PetscObject)muon->layer[l])->name, name, &same));
    if (same) *layer = muon->layer[l];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
