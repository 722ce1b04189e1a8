#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuonexchange.h>

const char *const MuonStepTypes[] = {"lmo", "sharp", "MuonStepType", "MUON_STEP_", NULL};
const char *const MuonDownlinks[] = {"weights", "step", "MuonDownlink", "MUON_DOWNLINK_", NULL};

/*
   The parameters of a layer, which act at the next step, and its options.
*/
#define ROW(field, kind, value, least, most, names, flags, help) \
  { \
    #field, MUON_PARAMETER_##kind, offsetof(struct _p_MuonLayer, field), value, least, most, names, (flags) | MUON_PARAMETER_HIDDEN, help \
  }

const MuonParameter MuonLayerParameters_Private[] = {
  ROW(scale, REAL, 1, 0, MUON_UNBOUNDED, NULL, 0, "Factor of the layer's radius"),
  ROW(learning_rate, REAL, 0, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_PARENT, "Learning rate, that of the layer's optimizer where not set"),
  ROW(momentum, REAL, 0, 0, 1, NULL, MUON_PARAMETER_BELOW | MUON_PARAMETER_PARENT, "Weight of the old momentum, the optimizer's where not set"),
  ROW(weight_decay, REAL, 0, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_PARENT, "Weight decay, that of the layer's optimizer where not set"),
  ROW(shape_factor, ENUM, 0, 0, 0, MuonShapeFactors, MUON_PARAMETER_PARENT, "How the shape enters the radius, as the optimizer says where not set"),
  ROW(step, ENUM, 0, 0, 0, MuonStepTypes, MUON_PARAMETER_PARENT, "How far a norm ball moves the layer, as the optimizer says where not set"),
  ROW(assembly, ENUM, PETSC_DETERMINE, MUON_ASSEMBLY_ALLGATHER, 0, MuonAssemblyKinds, MUON_PARAMETER_FIXED | MUON_PARAMETER_AUTO | MUON_PARAMETER_PARENT, "Ranks that assemble a distributed matrix, as the optimizer says where not set"),
  {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/* Without memory of earlier steps a momentum would only be a shorter gradient */
PetscErrorCode MuonLayerChanging_Private(PetscObject object, const MuonParameter *row, double value)
{
  const MuonLayer layer = (MuonLayer)object;

  PetscFunctionBegin;
  if (row->flags & MUON_PARAMETER_DATA || row->at != offsetof(struct _p_MuonLayer, momentum)) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLayerCheck(layer, value == 0 || layer->parameters.fixed == PETSC_FALSE || (layer->driver != NULL && layer->driver->keepsmomentum) || layer->workermomentum == PETSC_FALSE, PETSC_ERR_ORDER,
                 "momentum %g: the optimizer was set up without a momentum for this layer, expected a call before MuonSetUp() or after MuonReset()", value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerChildren_Private(PetscObject object, MuonParameterObjectFn *call, void *ctx)
{
  const MuonLayer layer = (MuonLayer)object;

  PetscFunctionBegin;
  if (layer->lmo != NULL) PetscCall((*call)((PetscObject)layer->lmo, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetScale - Sets the factor of a layer's radius

  Not Collective

  Input Parameters:
+ layer - the layer
- scale - the factor, at least 0

  Options Database Key:
. -muon_layer_NAME_scale scale - the factor of the layer called NAME, 1 by default

  Level: intermediate

  Note:
  The radius of a step is learning rate x schedule x scale x shape factor. AdamW, NAdamW, SOAP and gradient descent
  have no radius and do not use the scale. `-muon_layer_NAME_learning_rate` is the rate of one layer of any type.

.seealso: `MuonLayer`, `MuonLayerGetRadiusFactor()`, `MuonSetLearningRate()`
@*/
PetscErrorCode MuonLayerSetScale(MuonLayer layer, PetscReal scale)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscCall(MuonParametersAssign((PetscObject)layer, "scale", (double)scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetUpdateRMS - Gets the root mean square of the entries of a layer's last update

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. rms - root mean square of the last update divided by the rate: of scale x shape factor x the point of the norm ball, or of the direction of another optimizer; -1 on ranks that do not own the layer, and if it
        was not measured

  Level: intermediate

  Notes:
  It is measured with `-muon_measure_update_rms`. It does not include weight decay.

  For an exact m x n polar factor it is $1/\sqrt{\max(m, n)}$. With `MUON_SHAPE_FACTOR_MOONLIGHT` it is 0.2. This
  factor was made to match AdamW, whose updates have 0.2 to 0.4 in practice.

  References:
. * - J. Liu et al., Muon is scalable for LLM training, 2025

.seealso: `MuonLayer`, `MuonLayerGetRadiusFactor()`, `MuonGetRate()`, `MuonLayerGetOwner()`
@*/
PetscErrorCode MuonLayerGetUpdateRMS(MuonLayer layer, PetscReal *rms)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, rms, layer->driver != NULL ? layer->driver->updaterms : -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetRadiusFactor - Gets the ratio of a layer's radius to the learning rate

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. factor - scale x shape factor for the layer's shape and norm

  Level: intermediate

  Note:
  Each block of a layer (`MuonLayerSetBlocks()`) has the factor of its own shape; this is the largest of them. It is 1
  if the layer's optimizer has no norm ball.

.seealso: `MuonLayer`, `MuonLayerSetScale()`, `MuonLayerSetBlocks()`, `MuonShapeFactor`
@*/
PetscErrorCode MuonLayerGetRadiusFactor(MuonLayer layer, PetscReal *factor)
{
  const PetscInt count = layer->ops->applylmo != NULL ? MuonBlocksCount_Private(&layer->blocks) : 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(factor, 2);
  *factor = count > 0 ? 0 : 1;
  for (PetscInt b = 0; b < count; b++) {
    PetscReal one;

    PetscCall(MuonLayerGetBlockFactor_Private(layer, b, &one));
    *factor = PetscMax(*factor, one);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetBlockFactor_Private(MuonLayer layer, PetscInt b, PetscReal *factor)
{
  MuonLMO   lmo;
  MuonBlock block;
  PetscReal shape;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
  PetscCall(MuonLMOGetShapeFactor(lmo, layer->shape_factor, block.m, block.n, &shape));
  *factor = layer->scale * shape;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetOwnPrefix_Private(MuonLayer layer, size_t length, char own[])
{
  const char *prefix = ((PetscObject)layer)->prefix;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(own, length, "%s%s", prefix ? prefix : "", layer->parameters.family));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Keys of the LMO are read for all layers first, then with the layer's name: -lmo_type, -muon_layer_NAME_lmo_type
*/
PetscErrorCode MuonLayerSetFromOptions(PetscObject object)
{
  const MuonLayer layer = (MuonLayer)object;
  MuonLMO         lmo;
  PetscBool       has;
  char            own[PETSC_MAX_OPTION_NAME], type[256];

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLayerGetOwnPrefix_Private(layer, sizeof(own), own));
  PetscCall(MuonSetFromLayeredOptions((PetscObject)lmo, ((PetscObject)layer)->prefix, own));
  PetscCall(MuonParametersSetShared((PetscObject)layer, "muon_layer_"));
  PetscCall(MuonHasOptions((PetscObject)layer, own, &has));
  if (has == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsGetString(((PetscObject)layer)->options, own, "-type", type, sizeof(type), &has));
  if (has) {
    PetscCall(MuonLayerSetType(layer, type));
    PetscCall(PetscStrncpy(layer->why, " by its key", sizeof(layer->why)));
    PetscCall(MuonParametersSetShared((PetscObject)layer, "muon_layer_")); /* those of the type */
  }
  PetscCall(MuonLayerSetBlocksFromOptions_Private(layer, own));
  PetscObjectOptionsBegin((PetscObject)layer);
  PetscCall(MuonParametersSetFromOptions((PetscObject)layer, PetscOptionsObject));
  PetscTryTypeMethod(layer, setfromoptions, PetscOptionsObject);
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}
