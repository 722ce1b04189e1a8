#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/
#include <petscmuon/private/muonlmoimpl.h>

/*
   Numbers of a layer that its steps depend on. Each takes effect at the next step.
*/

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
  The radius of a step is learning rate x schedule x scale x shape factor. AdamW, NAdamW and gradient descent
  have no radius and no scale; `MuonLayerSetLearningRate()` is the factor of every optimizer of a layer.

.seealso: `MuonLayer`, `MuonLayerGetScale()`, `MuonLayerGetRadiusFactor()`, `MuonSetLearningRate()`
@*/
PetscErrorCode MuonLayerSetScale(MuonLayer layer, PetscReal scale)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  MuonLayerCheck(layer, scale >= 0 && scale < PETSC_INFINITY, PETSC_ERR_ARG_OUTOFRANGE, "scale %g must be finite and at least 0", (double)scale);
  layer->scale = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetScale - Gets the factor of a layer's radius

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. scale - the factor

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetScale()`
@*/
PetscErrorCode MuonLayerGetScale(MuonLayer layer, PetscReal *scale)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, scale, layer->scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetLearningRate - Sets the learning rate of this layer alone

  Not Collective

  Input Parameters:
+ layer - the layer
- rate  - the rate, finite and at least 0

  Options Database Key:
. -muon_layer_NAME_learning_rate rate - the learning rate of the layer called NAME, that of its rule by default

  Level: intermediate

  Note:
  It takes the place of the rate of `MuonSetLearningRate()`, or of that of the layer's rule; the schedule
  multiplies it, and in a norm ball scale and shape factor do.

.seealso: `MuonLayer`, `MuonLayerGetLearningRate()`, `MuonSetLearningRate()`, `MuonSetAdamWLearningRate()`, `MuonLayerSetScale()`
@*/
PetscErrorCode MuonLayerSetLearningRate(MuonLayer layer, PetscReal rate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  MuonLayerCheck(layer, rate >= 0 && rate < PETSC_INFINITY, PETSC_ERR_ARG_OUTOFRANGE, "learning_rate %g must be finite and at least 0", (double)rate);
  layer->learning_rate    = rate;
  layer->learning_rateset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetLearningRate - Gets the learning rate of this layer

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. rate - the rate, without the schedule; that of its rule or of the optimizer holds after `MuonSetUp()` where the layer has none of its own

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetLearningRate()`, `MuonGetLearningRate()`, `MuonGetRate()`
@*/
PetscErrorCode MuonLayerGetLearningRate(MuonLayer layer, PetscReal *rate)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, rate, layer->learning_rate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetShapeFactor - Sets how the shape of this layer enters its radius

  Not Collective

  Input Parameters:
+ layer  - the layer
- factor - `MUON_SHAPE_FACTOR_NONE`, `MUON_SHAPE_FACTOR_KJ`, `MUON_SHAPE_FACTOR_MOONLIGHT` or `MUON_SHAPE_FACTOR_SCION`

  Options Database Key:
. -muon_layer_NAME_shape_factor factor - the factor (none|kj|moonlight|scion) of the layer called NAME, the optimizer's by default

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerGetShapeFactor()`, `MuonSetShapeFactor()`, `MuonShapeFactor`
@*/
PetscErrorCode MuonLayerSetShapeFactor(MuonLayer layer, MuonShapeFactor factor)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  MuonLayerCheck(layer, factor >= MUON_SHAPE_FACTOR_NONE && factor <= MUON_SHAPE_FACTOR_SCION, PETSC_ERR_ARG_OUTOFRANGE, "shape_factor %d, expected one of MuonShapeFactor", (int)factor);
  layer->shapefactor    = factor;
  layer->shapefactorset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetShapeFactor - Gets how the shape of this layer enters its radius

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. factor - the factor; the optimizer's holds after `MuonSetUp()` where the layer has none of its own

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetShapeFactor()`
@*/
PetscErrorCode MuonLayerGetShapeFactor(MuonLayer layer, MuonShapeFactor *factor)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, factor, layer->shapefactor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetMomentum - Sets the momentum of this layer alone

  Not Collective

  Input Parameters:
+ layer    - the layer
- momentum - weight of the old momentum, in [0,1)

  Options Database Key:
. -muon_layer_NAME_momentum momentum - the momentum of the layer called NAME, the optimizer's by default

  Level: intermediate

  Note:
  It takes effect at the next step. Where it was 0 at `MuonSetUp()` nothing keeps a momentum, and a call with
  another value is an error until `MuonReset()`.

.seealso: `MuonLayer`, `MuonLayerGetMomentum()`, `MuonSetMomentum()`
@*/
PetscErrorCode MuonLayerSetMomentum(MuonLayer layer, PetscReal momentum)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  MuonLayerCheck(layer, momentum >= 0 && momentum < 1, PETSC_ERR_ARG_OUTOFRANGE, "momentum %g must be in [0,1)", (double)momentum);
  /* Without what was kept of the steps before, a momentum would be a shorter gradient */
  MuonLayerCheck(layer, momentum == 0 || layer->fixed == PETSC_FALSE || layer->keepsmomentum || layer->workermomentum == PETSC_FALSE, PETSC_ERR_ORDER,
                 "momentum %g: the optimizer was set up without a momentum for this layer, expected a call before MuonSetUp() or after MuonReset()", (double)momentum);
  layer->momentum    = momentum;
  layer->momentumset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetMomentum - Gets the momentum of this layer

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. momentum - weight of the old momentum; the optimizer's holds after `MuonSetUp()` where the layer has none of its own

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetMomentum()`, `MuonGetMomentum()`
@*/
PetscErrorCode MuonLayerGetMomentum(MuonLayer layer, PetscReal *momentum)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, momentum, layer->momentum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetWeightDecay - Sets the weight decay of this layer alone

  Not Collective

  Input Parameters:
+ layer - the layer
- decay - X is multiplied by 1 - (learning rate x schedule) x decay before a step; at least 0

  Options Database Key:
. -muon_layer_NAME_weight_decay decay - the weight decay of the layer called NAME, that of its rule by default

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerGetWeightDecay()`, `MuonSetWeightDecay()`
@*/
PetscErrorCode MuonLayerSetWeightDecay(MuonLayer layer, PetscReal decay)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  MuonLayerCheck(layer, decay >= 0 && decay < PETSC_INFINITY, PETSC_ERR_ARG_OUTOFRANGE, "weight_decay %g must be finite and at least 0", (double)decay);
  layer->weight_decay    = decay;
  layer->weight_decayset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetWeightDecay - Gets the weight decay of this layer

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. decay - the weight decay; the optimizer's holds after `MuonSetUp()` where the layer has none of its own

  Level: intermediate

.seealso: `MuonLayer`, `MuonLayerSetWeightDecay()`, `MuonGetWeightDecay()`
@*/
PetscErrorCode MuonLayerGetWeightDecay(MuonLayer layer, PetscReal *decay)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, decay, layer->weight_decay);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetUpdateRMS - Gets the root mean square of the entries of a layer's last update

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. rms - root mean square of what the rate multiplied in the last step: scale x shape factor x the point of the norm ball, or the direction of another rule; -1 on ranks that do not serve the layer, and where it
        was not measured

  Level: intermediate

  Notes:
  It is measured where `MuonSetMeasureUpdateRMS()` says so. Weight decay is no part of it.

  An exact polar factor of m x n has $1/\sqrt{\max(m, n)}$, and with `MUON_SHAPE_FACTOR_MOONLIGHT` 0.2; AdamW
  has 0.2 to 0.4 in practice, which is what that factor was made for.

  References:
. * - J. Liu et al., Muon is scalable for LLM training, 2025

.seealso: `MuonLayer`, `MuonSetMeasureUpdateRMS()`, `MuonLayerGetRadiusFactor()`, `MuonGetRate()`, `MuonLayerGetOwner()`
@*/
PetscErrorCode MuonLayerGetUpdateRMS(MuonLayer layer, PetscReal *rms)
{
  PetscFunctionBegin;
  MuonGet(layer, MUONLAYER_CLASSID, rms, layer->updaterms);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerGetRadiusFactor - Gets what the learning rate is multiplied by to give a layer's radius

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameter:
. factor - scale x shape factor for a layer of m rows and n columns under the norm it has

  Level: intermediate

  Note:
  Each block of a layer (`MuonLayerSetBlocks()`) has the factor of its own m and n; this is the largest of
  them. It is 1 where the layer's optimizer has no norm ball.

.seealso: `MuonLayer`, `MuonLayerSetScale()`, `MuonLayerSetShapeFactor()`, `MuonLayerSetBlocks()`, `MuonShapeFactor`
@*/
PetscErrorCode MuonLayerGetRadiusFactor(MuonLayer layer, PetscReal *factor)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscAssertPointer(factor, 2);
  *factor = layer->ops->oracle != NULL ? 0 : 1;
  if (layer->ops->oracle == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt b = 0; b < count; b++) {
    MuonBlock block;
    PetscReal one;

    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    PetscCall(MuonLayerGetBlockFactor_Private(layer, &block, &one));
    *factor = PetscMax(*factor, one);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetBlockFactor_Private(MuonLayer layer, const MuonBlock *block, PetscReal *factor)
{
  MuonLMO   lmo;
  PetscReal shape;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOGetShapeFactor(lmo, layer->shapefactor, block->m, block->n, &shape));
  *factor = layer->scale * shape;
  PetscFunctionReturn(PETSC_SUCCESS);
}
