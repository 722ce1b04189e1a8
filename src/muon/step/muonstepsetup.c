#include "muonstep.h"
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonpolarimpl.h>

static PetscErrorCode MuonStateMade_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonStateMake_Private(MuonStateVisitor *visitor, const char name[], PetscBool entrywise, MuonArray *array)
{
  const MuonArray shape = MuonShardStateShape((const MuonShard *)visitor->ctx);

  PetscFunctionBegin;
  PetscCall(MuonArrayCreate(&shape, shape.precision, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardVisitArray(MuonShard *shard, MuonStateVisitor *visitor, const char name[], PetscBool scratch, MuonArray *array)
{
  PetscFunctionBegin;
  if (visitor->visit == MuonStateMade_Private && (visitor->holder != MUON_STATE_SERVER || MuonShardOwns(shard))) PetscCall((*visitor->make)(visitor, name, PETSC_TRUE, array));
  PetscCall(MuonStateVisitArray(visitor, name, PETSC_TRUE, scratch, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The type names its state, which is made */
PetscErrorCode MuonShardMakeState_Private(Muon muon, MuonShard *shard)
{
  MuonStateVisitor visitor;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit = MuonStateMade_Private;
  visitor.make  = MuonStateMake_Private;
  visitor.ctx   = shard;
  PetscTryTypeMethod(muon, visitstate, shard, &visitor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The form of momentum and moments. Vectors in 8 bits would consist of scales. The senders of messages' streams are below 2^30.
   Several servers of a layer round alike; workers with local steps have streams of their own
*/
void MuonShardSetForm_Private(Muon muon, const MuonShard *shard)
{
  MuonStateForm *form = &shard->layer->state;

  form->precision = form->kept = MuonShardStateShape(shard).precision;
  if (muon->state_precision == MUON_STATE_PRECISION_BF16) form->kept = MUON_BF16;
  if (muon->state_precision == MUON_STATE_PRECISION_INT8 && shard->layer->n > 1) form->kept = MUON_INT8;
  form->stream.seed   = (uint64_t)muon->seed;
  form->stream.layer  = shard->layer->hash;
  form->stream.sender = (uint32_t)1 << 30 | (muon->nested != NULL ? (uint32_t)shard->group->grid->worker : 0);
  form->row           = (size_t)shard->row;
  form->rows          = (size_t)shard->layer->M;
}

/* Arrays that the next step replaces are kept until then; temporary ones are in shared scratch */
PetscErrorCode MuonShardSetUpState_Private(Muon muon, MuonShard *shard)
{
  const PetscBool at_server = muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER ? PETSC_TRUE : PETSC_FALSE, direct = MuonShardIsDirect(shard);
  MuonLayer       layer = shard->layer;
  const MuonArray state = MuonShardStateShape(shard);
  MuonArray       whole, W = MuonShardWeightsShape(shard);

  PetscFunctionBegin;
  if (MuonPortServes(shard->port) == PETSC_FALSE) W = MuonArrayPart(&W, 0, 0, 0, MuonArrayColumns(&W));
  if (shard->port->whole || (shard->port->ranges != NULL && layer->wholegradient)) PetscCall(MuonArrayCreate(&W, W.precision, &shard->port->mean));
  /*
     A sum of the gradients themselves begins when one is ready: over the ranks of a worker, or over the workers if nothing comes
     before
  */
  if (shard->port->mean.data != NULL || shard->group->depth > 1 || (at_server && direct == PETSC_FALSE && shard->group->up->sums && (shard->port->ranges == NULL || shard->group->grid->nworkers > 1))) layer->driver->ready = MuonPortReady_Private;
  if (MuonPortServes(shard->port) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->driver->keepsmomentum && (at_server == PETSC_FALSE || MuonShardOwns(shard))) PetscCall(MuonArrayCreate(&state, layer->state.kept, &shard->M));
  PetscCall(MuonRoundsSetUpState_Private(shard));
  if ((shard->group->up->sums && direct == PETSC_FALSE && (MuonShardOwns(shard) || shard->group->exchange->mode == MUON_EXCHANGE_MODE_ALLREDUCE)) || (MuonShardOwns(shard) && MuonShardKeepsSum(shard)))
    PetscCall(MuonArrayCreate(&state, state.precision, &shard->sum));
  if (MuonShardOwns(shard) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (layer->driver->keepsmomentum && at_server) PetscCall(MuonArrayCreate(&state, layer->state.kept, &shard->Mnew));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &whole));
  W = MuonShardPart(shard, &whole);
  if (shard->down->assignment == PETSC_FALSE && shard->downlink == MUON_DOWNLINK_WEIGHTS) {
    PetscCall(MuonArrayCreate(&W, W.precision, &shard->X));
    MuonArrayAxpby(1, &W, 0, &shard->X);
  }
  if (shard->X.data != NULL || (shard->group->down->messages == PETSC_FALSE && MuonShardTakes(shard) == PETSC_FALSE)) PetscCall(MuonArrayCreate(&W, W.precision, &shard->Xnew));
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &whole));
  layer->driver->server = &shard->X;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sharp steps are those of an LMO, whose dual norm is that of a point in the unit ball */
static PetscErrorCode MuonCheckSharp_Private(Muon muon, const MuonShard *shard)
{
  const MuonLayer layer = shard->layer;
  MuonLMO         lmo;
  PetscBool       spectral;

  PetscFunctionBegin;
  if (layer->ops->applylmo == NULL || layer->step != MUON_STEP_SHARP) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(MuonGroupHasOwners(shard->group), PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_step sharp of layer \"%s\": -%smuon_type %s makes steps of its own, expected lmo", MuonPrefix(muon), ((PetscObject)layer)->name,
             MuonPrefix(muon), ((PetscObject)muon)->type_name);
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOSPECTRAL, &spectral));
  if (!spectral || lmo->polar->leaves == PETSC_FALSE || muon->leaveswarned) PetscFunctionReturn(PETSC_SUCCESS);
  muon->leaveswarned = PETSC_TRUE;
  PetscCall(MuonNotice(PetscObjectComm((PetscObject)muon), "PetscMuon warning: -%smuon_step sharp of layer %s: -lmo_polar_type %s may leave the unit ball, so that steps and dual norms are off by up to its error; svd and zolotarev stay inside\n",
                       MuonPrefix(muon), ((PetscObject)layer)->name, ((PetscObject)lmo->polar)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is done around an LMO is done at the owner, which takes its step */
static PetscErrorCode MuonCheckSlots_Private(Muon muon, const MuonShard *shard)
{
  const MuonLayer   layer = shard->layer;
  const char *const held = MuonLayerHasSlot(layer, MUON_SLOT_MOVE), *key = held;
  double            largest;
  MuonArray         W;

  PetscFunctionBegin;
  if (shard->port->ranges != NULL) PetscCall(MuonParametersCheckType((PetscObject)layer, offsetof(struct _p_MuonLayer, onrows), NULL, "needs a matrix on one rank, and the rows of this one are spread"));
  for (int place = MUON_SLOT_BEFORE; place < MUON_SLOT_MOVE && key == NULL; place++) key = MuonLayerHasSlot(layer, (MuonSlotPlace)place);
  if (key == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(MuonGroupHasOwners(shard->group), PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_layer_%s_%s: -%smuon_type %s makes steps of its own, expected none, or another type of the optimizer", MuonPrefix(muon),
             ((PetscObject)layer)->name, key, MuonPrefix(muon), ((PetscObject)muon)->type_name);
  PetscCheck(shard->port->ranges == NULL || MuonLayerIsEntries(layer) == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
             "-%smuon_layer_%s_%s: the layer is a slice of a vector on %d ranks, which have entries of it and not rows; expected none, or a layer of rows", MuonPrefix(muon), ((PetscObject)layer)->name, key, layer->ranks);
  PetscCheck(held == NULL || layer->weight_decay == 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_layer_%s_%s: the weights keep their norm, and the weight decay is %g, expected 0", MuonPrefix(muon), ((PetscObject)layer)->name, key,
             (double)layer->weight_decay);
  if (held == NULL || muon->setupcalled == PETSC_FALSE || muon->step > 0) PetscFunctionReturn(PETSC_SUCCESS); /* weights may be given between set-up and first step */
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
  largest = MuonArrayKernels(&W)->MaxAbs(W.len, W.count, W.data, W.ld);
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)muon)));
  PetscCheck(largest > 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "-%smuon_layer_%s_%s: the weights are zeros, which have no norm to keep, expected weights before the first step", MuonPrefix(muon), ((PetscObject)layer)->name, key);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers without packed state */
static PetscErrorCode MuonCheckForm_Private(Muon muon, const MuonShard *shard)
{
  const MuonLayer   layer  = shard->layer;
  const MPI_Comm    comm   = PetscObjectComm((PetscObject)muon);
  const char *const prefix = MuonPrefix(muon), *const name = ((PetscObject)layer)->name, *const is = MuonStatePrecisions[muon->state_precision], *const slot = MuonLayerReadsGradient(layer);
  char value[64] = "";

  PetscFunctionBegin;
  if (muon->state_precision <= MUON_STATE_PRECISION_SINGLE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(layer->shape.memory == MUON_HOST, comm, PETSC_ERR_SUP, "-%smuon_state_precision %s: layer \"%s\" is in the memory of a device, which has no kernels for it; expected native or single", prefix, is, name);
  PetscCheck(layer->state.kept == MUON_BF16 || MuonLayerIsEntries(layer) == PETSC_FALSE, comm, PETSC_ERR_SUP,
             "-%smuon_state_precision %s: ranks have ranges of the entries of layer \"%s\", of which rows with scales would be on two; expected bf16, native or single", prefix, is, name);
  if (slot != NULL) PetscCall(MuonParameterWrite_Private((PetscObject)layer, MuonParametersFind((PetscObject)layer, slot, NULL), sizeof(value), value));
  PetscCheck(muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER || slot == NULL, comm, PETSC_ERR_SUP,
             "-%smuon_state_precision %s with -%smuon_layer_%s_%s %s: the server has no gradient beside a momentum that is rounded; expected native or single, or -%smuon_momentum_at worker", prefix, is, prefix, name, slot, value, prefix);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckPairs_Private(Muon muon, const MuonShard *shard)
{
  const MuonLayer   layer = shard->layer;
  const MPI_Comm    comm  = PetscObjectComm((PetscObject)muon);
  const char *const name = ((PetscObject)layer)->name, *const prefix = MuonPrefix(muon), *key = NULL;
  MuonLMO   lmo;
  MuonPolar polar;
  PetscBool spectral;

  PetscFunctionBegin;
  if (!layer->shape.pairs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(MuonGroupHasOwners(shard->group), comm, PETSC_ERR_SUP, "Layer \"%s\" is complex: -%smuon_type %s makes steps of its own, of signs; expected another", name, prefix, ((PetscObject)muon)->type_name);
  PetscCheck(shard->port->ranges == NULL, comm, PETSC_ERR_SUP, "Layer \"%s\" is complex: its rows are spread over %d ranks, expected another -%smuon_exchange_type", name, shard->group->grid->size, prefix);
  PetscCheck(muon->state_precision <= MUON_STATE_PRECISION_SINGLE, comm, PETSC_ERR_SUP, "Layer \"%s\" is complex: -%smuon_state_precision %s is of real matrices, expected native or single", name, prefix, MuonStatePrecisions[muon->state_precision]);
  PetscCheck(muon->weight_decay_style != MUON_WEIGHT_DECAY_CAUTIOUS, comm, PETSC_ERR_SUP, "Layer \"%s\" is complex: -%smuon_weight_decay_style cautious compares signs, expected decoupled or coupled", name, prefix);
  for (int place = MUON_SLOT_BEFORE; place <= MUON_SLOT_MOVE && key == NULL; place++) key = MuonLayerHasSlot(layer, (MuonSlotPlace)place);
  PetscCheck(key == NULL, comm, PETSC_ERR_SUP, "Layer \"%s\" is complex: -%smuon_layer_%s_%s is of real matrices, expected none", name, prefix, name, key);
  PetscCall(MuonParametersCheckType((PetscObject)layer, offsetof(struct _p_MuonLayer, onpairs), NULL, MUON_OF_REALS));
  PetscCall(MuonParametersCheckType((PetscObject)shard->up, offsetof(struct _p_MuonCompressor, onpairs), NULL, MUON_OF_REALS));
  PetscCall(MuonParametersCheckType((PetscObject)shard->down, offsetof(struct _p_MuonCompressor, onpairs), NULL, MUON_OF_REALS));
  if (layer->ops->applylmo == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonParametersCheckType((PetscObject)lmo, offsetof(struct _p_MuonLMO, onpairs), name, MUON_OF_REALS));
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOSPECTRAL, &spectral));
  if (!spectral) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonParametersCheckType((PetscObject)polar, offsetof(struct _p_MuonPolar, onpairs), name, MUON_OF_REALS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks of what may have changed since set-up, such as the norm of an LMO */
PetscErrorCode MuonCheckShards_Private(Muon muon)
{
  const char *type = ((PetscObject)muon)->type_name;
  char        reason[512];

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard *shard = &muon->shard[p];
    const char      *name  = ((PetscObject)shard->layer)->name;

    PetscCall(MuonCheckForm_Private(muon, shard));
    PetscCall(MuonCheckSharp_Private(muon, shard));
    PetscCall(MuonCheckSlots_Private(muon, shard));
    PetscCall(MuonCheckPairs_Private(muon, shard));
    if (shard->downlink != MUON_DOWNLINK_STEP) continue;
    PetscCall(MuonLayerCanEncode_Private(shard->layer, sizeof(reason), reason));
    PetscCheck(reason[0] == '\0', PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%s%s_downlink step of layer \"%s\": %s; -%smuon_layer_%s_%s_downlink weights sends its weights instead", MuonPrefix(muon), type, name, reason, MuonPrefix(muon),
               name, type);
    PetscCheck(shard->port->ranges == NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
               "-%s%s_downlink step of layer \"%s\": its rows are spread over %d ranks, and no rank has its step; -%smuon_layer_%s_%s_downlink weights sends its weights instead", MuonPrefix(muon), type, name, shard->group->grid->size,
               MuonPrefix(muon), name, type);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
