/*
   One step. What types outside of the library need of it is in petscmuon/private/muonimpl.h.
*/
#pragma once

#include "../round/muonround.h"

/* State of a shard, when owners are known; later choices that do not fit it */
PETSC_INTERN void           MuonShardSetForm_Private(Muon, const MuonShard *);
PETSC_INTERN PetscErrorCode MuonShardSetUpState_Private(Muon, MuonShard *);
PETSC_INTERN PetscErrorCode MuonShardMakeState_Private(Muon, MuonShard *);
PETSC_INTERN PetscErrorCode MuonCheckShards_Private(Muon);
/*
   The phases of a step up to the status of all ranks, after which the caller may refuse it; its end. The record has loss, hash
   of options and what this rank asks for
*/
PETSC_INTERN PetscErrorCode MuonRound_Private(Muon, MuonRecord *, PetscBool *ok, PetscBool *differs);
PETSC_INTERN PetscErrorCode MuonCommit_Private(Muon, PetscBool *ok);
/* After a successful step: groups of depth 2 begin the round of its gradients */
PETSC_INTERN PetscErrorCode MuonBegin_Private(Muon);
/* A mean is formed of the messages, or the sums, of a group's workers */
PETSC_INTERN const MuonGroupOps MuonGroupMean;
/* Moves the messages up: with depth 1 they arrive here, otherwise by MuonExchangeMoveEnd() */
PETSC_INTERN PetscErrorCode MuonGroupMove_Private(MuonGroup, MuonStatus);

/* Worker: gradient -> momentum T -> message, or the beginning of a sum over the workers */
PETSC_INTERN PetscErrorCode MuonAddWeights_Private(const MuonShard *, double decay, const MuonArray *);
PETSC_INTERN PetscErrorCode MuonWorkerMomentum_Private(Muon, MuonShard *, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonWorkerEncode_Private(Muon, MuonShard *, MuonStatus *);
/* ... of T itself, before a step, if T is the gradient */
PETSC_INTERN PetscErrorCode MuonWorkerBeginSum_Private(Muon, MuonShard *);
PETSC_INTERN PetscErrorCode MuonShardReduceBegin_Private(MuonShard *, const MuonArray *T, const MuonArray *sum);
PETSC_INTERN PetscErrorCode MuonMixMomentum_Private(double beta, const MuonArray *M, double gradient_weight, const MuonArray *G, const MuonArray *Z, int *finite);
/*
   With a single worker and no compression T is not sent: the server's half begins with T itself. On the host T may then have the
   gradient's precision, if the server has the momentum
*/
static inline PetscBool MuonShardIsDirect(const MuonShard *shard)
{
  const MuonGroup group = shard->group;

  if (group->grid->size > 1 || group->grid->nworkers > 1) return PETSC_FALSE;
  if (group->mode != MUON_EXCHANGE_MODE_GATHER) return PETSC_TRUE;
  return MuonShardSendsAsIs(shard);
}
/* The commit adds the step to the weights in place: there is no other copy of the new ones */
static inline PetscBool MuonShardTakes(const MuonShard *shard)
{
  if (shard->round->change.data != NULL) return PETSC_FALSE; /* the correction looks at the new weights */
  if (shard->layer->step == MUON_STEP_SHARP && MuonBlocksCount_Private(&shard->layer->blocks) > 1) return PETSC_FALSE;
  return shard->group->no_downlink && shard->group->assembly == NULL && shard->layer->ops->take != NULL ? PETSC_TRUE : PETSC_FALSE;
}

/* A message up or down, which stays on this rank if it is the owner; one of an array that is not encoded */
PETSC_INTERN void           MuonCountMessage_Private(Muon, const MuonGroup, MuonShard *, int down, PetscBool owns, const MuonCompressorCost *);
PETSC_INTERN PetscErrorCode MuonCountDirect_Private(Muon, MuonShard *, int down);

/*
   Sums of gradients that can begin before the step: when a gradient is ready; at the beginning of the round the others, and the
   wait for means of whole gradients; collective: waits for sums of a step that was never taken
*/
PETSC_INTERN PetscErrorCode MuonPortReady_Private(MuonLayer);
PETSC_INTERN PetscErrorCode MuonBeginSums_Private(Muon);
PETSC_INTERN PetscErrorCode MuonDropSums_Private(Muon);
/* Writes the shard's new rows to whole weights, which may be the caller's memory */
PETSC_INTERN PetscErrorCode MuonShardMove_Private(Muon, MuonShard *, MuonLayerStepInfo *, const MuonArray *whole);
/* Gathers the shards' rows to new weights on all ranks of a worker, if each has whole weights */
PETSC_INTERN PetscErrorCode MuonPortGather_Private(const MuonPort *, const MuonArray *whole);

/*
   Server: input of the LMO, new weights by the type or the layer's optimizer, their message
*/
PETSC_INTERN PetscErrorCode MuonServerSum_Private(MuonShard *, const MuonArray *sum, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonServerAggregate_Private(Muon, MuonShard *, MuonArray *input, MuonStatus *);
PETSC_INTERN void           MuonServerGetGradient_Private(const MuonLayerStepInfo *, const MuonArray *M, const MuonArray *Mnew, const MuonArray *input, const MuonArray *gradient);
/* New weights of n shards, and their messages; G of their tasks are given. The caller releases scratch */
PETSC_INTERN PetscErrorCode MuonServerStep_Private(Muon, PetscInt n, MuonShard *const shard[], MuonLayerTask task[], MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonServerEncode_Private(Muon, MuonShard *, const MuonArray *Xnew, const MuonArray *W, MuonStatus *);

static inline PetscBool MuonShardSendsStep(const MuonShard *shard)
{
  return shard->downlink == MUON_DOWNLINK_STEP && shard->group->no_downlink == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
}

/* A server of several ranks: blocks are assembled from the rows of a group's shards */
typedef struct {
  Muon        muon;
  MuonGroup   group;
  MuonRecord *record;
  MuonStatus *status;
  double     *length;  /* a number for each item, where the group's operations have one */
  void       *Xnew[2]; /* by memory: scratch for new weights of the shard whose outputs come */
} MuonServing;
PETSC_INTERN MuonArray      MuonItemPart(const MuonItem *, const MuonArray *rows);
PETSC_INTERN MuonMatrix     MuonItemMatrix(const MuonItem *, const MuonMatrix *assembled);
PETSC_INTERN PetscErrorCode MuonServeAssembled_Private(Muon, MuonGroup, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonServeLMO_Private(void *serving, PetscInt item, const MuonMatrix *G, const MuonMatrix *D);
PETSC_INTERN PetscErrorCode MuonServeOutput_Private(void *serving, PetscInt item, const MuonArray *D);

/*
   The factor that clips the gradients of this step: of this worker before it sends, or their means at the servers
*/
PETSC_INTERN PetscErrorCode MuonClipSetUp_Private(Muon);
PETSC_INTERN PetscErrorCode MuonClipWorker_Private(Muon);
PETSC_INTERN PetscErrorCode MuonClipServers_Private(Muon, MuonStatus *);
/* Layers without the workers' momentum are those without a norm ball */
static inline PetscBool MuonClipsLayer_Private(Muon muon, MuonLayer layer)
{
  return muon->clip > 0 && (muon->clip_layers == MUON_CLIP_ALL || layer->workermomentum == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
}

/* The server's sum, which there is before its server begins: its norm is part of that of all */
static inline PetscBool MuonClipsSum_Private(Muon muon, MuonLayer layer)
{
  return muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER ? MuonClipsLayer_Private(muon, layer) : PETSC_FALSE;
}

/* What decay adds to the gradient of a layer, 0 where it acts on the weights */
static inline double MuonCoupledDecay_Private(Muon muon, MuonLayer layer)
{
  return muon->weight_decay_style == MUON_WEIGHT_DECAY_COUPLED ? (double)layer->weight_decay : 0;
}

/*
   The status of the step on every rank: ok if it can be committed everywhere; differs if options differ between ranks
*/
PETSC_INTERN PetscErrorCode MuonReduceStatus_Private(Muon, const MuonRecord *, PetscBool *ok, PetscBool *differs);
/* The text of a negative reason: what failed, and where */
PETSC_INTERN PetscErrorCode MuonDescribeReason_Private(Muon, size_t, char[]);
