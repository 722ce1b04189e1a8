#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonpolarimpl.h>

/*
   The life of a layer: its optimizer, its LMO, its end.
*/

/*@
  MuonLayerSetType - Sets the optimizer of a layer

  Not Collective

  Input Parameters:
+ layer - the layer
- type  - `MUONLAYERLMO`, `MUONLAYERADAMW`, `MUONLAYERNADAMW`, `MUONLAYERSOAP`, `MUONLAYERSGD` or `MUONLAYERFROZEN`

  Options Database Key:
. -muon_layer_NAME_type type - the optimizer (lmo|adamw|nadamw|soap|sgd|frozen) of the layer called NAME

  Level: intermediate

  Notes:
  The default is `MUONLAYERLMO`. The others are for parameters without a natural norm ball. They keep their own moments
  at the layer's owner, and workers send them gradients without momentum.

  The type is fixed from `MuonSetUp()` to `MuonReset()`.

.seealso: `MuonLayer`, `MuonLayerType`, `MuonLayerGetType()`, `MuonLayerRegister()`
@*/
PetscErrorCode MuonLayerSetType(MuonLayer layer, MuonLayerType type)
{
  MuonParameterTypeFn *create;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(PetscStrncpy(layer->why, " by the program", sizeof(layer->why)));
  layer->chosen = PETSC_TRUE;
  PetscCall(MuonParametersFindType((PetscObject)layer, type, &create));
  if (create == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLayerCheck(layer, layer->parameters.fixed == PETSC_FALSE, PETSC_ERR_ORDER, "type %s: the optimizer was set up with the type %s, expected a call before MuonSetUp() or after MuonReset(); a scale of 0 stops a layer in between", type,
                 ((PetscObject)layer)->type_name);
  PetscTryTypeMethod(layer, reset);
  PetscTryTypeMethod(layer, destroy);
  layer->onpairs = layer->onrows = PETSC_TRUE;
  PetscCall(MuonParametersChangeType((PetscObject)layer, type, create));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetType - Gets the optimizer of a layer

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. type - name of the optimizer

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetType()`
@*/
PetscErrorCode MuonLayerGetType(MuonLayer layer, MuonLayerType *type)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, type, ((PetscObject)layer)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetName - Gets the name of a layer

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. name - the name, borrowed

  Level: beginner

.seealso: `MuonLayer`, `MuonAddLayer()`, `MuonGetLayerByName()`
@*/
PetscErrorCode MuonLayerGetName(MuonLayer layer, const char *name[])
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, name, ((PetscObject)layer)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetSize - Gets the shape of a layer

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameters:
+ m - number of rows (outputs)
- n - number of columns (inputs), 1 for a vector

  Level: beginner

.seealso: `MuonLayer`, `MuonLayerGetWeights()`
@*/
PetscErrorCode MuonLayerGetSize(MuonLayer layer, PetscInt *m, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (m != NULL) *m = layer->m;
  if (n != NULL) *n = layer->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetOwner - Gets the rank that owns a layer

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. owner - the rank in the optimizer's communicator, -1 if every rank owns the layer; the number of the worker if workers are several ranks

  Level: intermediate

  Note:
  Owners are known after `MuonSetUp()`.

.seealso: `MuonLayer`, `MuonLayerGetServerWeights()`, `MuonExchangeAssignment`, `MuonSetUp()`
@*/
PetscErrorCode MuonLayerGetOwner(MuonLayer layer, PetscMPIInt *owner)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, owner, MuonLayerOwner(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetLMO - Gets the LMO of a layer

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. lmo - the LMO, borrowed

  Level: intermediate

.seealso: `MuonLayer`, `MuonLMO`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLayerGetLMO(MuonLayer layer, MuonLMO *lmo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(lmo, 2);
  if (layer->lmo == NULL) {
    PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &layer->lmo));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)layer->lmo, (PetscObject)layer, 1));
    PetscCall(PetscObjectSetOptions((PetscObject)layer->lmo, ((PetscObject)layer)->options));
    PetscCall(MuonLMOSetOptionsPrefix(layer->lmo, ((PetscObject)layer)->prefix));
    PetscCall(MuonNameHash_Private(((PetscObject)layer)->name, &layer->lmo->layer));
    PetscCall(MuonLMOSetWorkspace(layer->lmo, layer->work));
  }
  *lmo = layer->lmo;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerSetWorkspace_Private(MuonLayer layer, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceShare(work, &layer->work));
  if (layer->lmo != NULL) PetscCall(MuonLMOSetWorkspace(layer->lmo, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerView - Prints a layer

  Not Collective

  Input Parameters:
+ layer  - the layer
- viewer - the viewer, `NULL` for standard output

  Level: beginner

.seealso: `MuonLayer`, `MuonView()`
@*/
PetscErrorCode MuonLayerView(MuonLayer layer, PetscViewer viewer)
{
  PetscReal factor;
  PetscBool ascii, string;
  char      ball[128] = "", rows[256], columns[256];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscCall(MuonViewBegin((PetscObject)layer, &viewer, &ascii, &string));
  if (ascii) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)layer, viewer));
    PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    if (layer->ops->applylmo != NULL) PetscCall(PetscSNPrintf(ball, sizeof(ball), ", scale %g, shape factor %s, radius factor %g", (double)layer->scale, MuonShapeFactors[layer->shape_factor], (double)factor));
    PetscCall(PetscViewerASCIIPrintf(viewer, "name %s, %" PetscInt_FMT " x %" PetscInt_FMT "%s\n", ((PetscObject)layer)->name, layer->m, layer->n, ball));
    if (layer->storage != MUON_LAYER_MAT)
      PetscCall(PetscViewerASCIIPrintf(viewer, "weights: %s, %s%s, %s\n", MuonLayerStorages[layer->storage], layer->shape.pairs ? "complex " : "", MuonArrayKernels(&layer->shape)->name, layer->rowmajor ? "row-major" : "column-major"));
    if (MuonBlocksCount_Private(&layer->blocks) > 1) {
      PetscCall(MuonBlocksPrintSide_Private(layer->blocks.nrows, layer->blocks.rows, layer->m, sizeof(rows), rows));
      PetscCall(MuonBlocksPrintSide_Private(layer->blocks.ncolumns, layer->blocks.columns, layer->n, sizeof(columns), columns));
      PetscCall(PetscViewerASCIIPrintf(viewer, "blocks: %" PetscInt_FMT " x %" PetscInt_FMT ", rows %s, columns %s\n", layer->blocks.nrows, layer->blocks.ncolumns, rows, columns));
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "learning rate %g, momentum %g, weight decay %g\n", (double)MuonLayerRate(layer), (double)layer->momentum, (double)layer->weight_decay));
    if (layer->driver != NULL && layer->driver->updaterms >= 0) PetscCall(PetscViewerASCIIPrintf(viewer, "root mean square of the last update %g\n", (double)layer->driver->updaterms));
    PetscCall(MuonParametersView((PetscObject)layer, viewer));
    PetscTryTypeMethod(layer, view, viewer);
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Removes the layer's gradient and the moments of its optimizer; keeps weights and options */
PetscErrorCode MuonLayerReset(MuonLayer layer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscTryTypeMethod(layer, reset);
  PetscCall(MuonLayerResetGradient_Private(layer));
  PetscCall(PetscFree(layer->ranges));
  if (layer->lmo != NULL) PetscCall(MuonLMOReset(layer->lmo));
  layer->parameters.fixed = PETSC_FALSE;
  layer->given_rate       = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerDestroy(MuonLayer *layer)
{
  PetscFunctionBegin;
  MuonDestroyBegin(layer, MUONLAYER_CLASSID);
  PetscCall(VecDestroy(&(*layer)->g)); /* which a reset keeps */
  PetscCall(MuonLayerReset(*layer));
  PetscTryTypeMethod(*layer, destroy);
  PetscCall(PetscFree((*layer)->slots));
  PetscCall(PetscFree((*layer)->gradient));
  PetscCall(MuonLMODestroy(&(*layer)->lmo));
  PetscCall(MuonBlocksDestroy_Private(&(*layer)->blocks));
  PetscCall(PetscObjectDestroy(&(*layer)->weights));
  PetscCall(MuonWorkspaceDestroy(&(*layer)->work));
  PetscCall(MuonParametersDestroy((PetscObject)*layer));
  PetscCall(PetscFree((*layer)->parameters.family));
  PetscCall(PetscHeaderDestroy(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
