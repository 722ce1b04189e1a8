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
/*
   How T of a group comes to its servers, chosen at set-up: send() gives that of all shards to the exchange, which need not have arrived behind it; sum() adds
   at the server what has come of one. arrays: what travels are arrays and no messages, which MPI progresses; sums: which it adds, too
*/
struct _MuonUpOps {
  PetscBool arrays, sums;
  PetscErrorCode (*send)(Muon, MuonGroup, MuonStatus *);
  PetscErrorCode (*sum)(MuonShard *, const MuonArray *sum, MuonStatus *);
};

/*
   How new weights come to the workers: tell() is given those of one shard and the workers' W; move() changes W at the commit, by Xnew if it is NULL. messages:
   what the servers send before the commit; otherwise every rank or the owner has new weights. arrays: the owner sends them as they are behind it
*/
struct _MuonDownOps {
  PetscBool messages, arrays;
  PetscErrorCode (*tell)(Muon, MuonShard *, const MuonArray *Xnew, const MuonArray *W, MuonStatus *);
  PetscErrorCode (*move)(Muon, MuonShard *, const MuonLayerStepInfo *, const MuonArray *W);
};
/* Those of means; that of weights that every rank computes */
PETSC_INTERN void           MuonGroupChooseWays_Private(MuonGroup);
PETSC_INTERN PetscErrorCode MuonTell_Replicas(Muon, MuonShard *, const MuonArray *Xnew, const MuonArray *W, MuonStatus *);
/* Owners send a group's new weights uncompressed to the other workers, and these to all their ranks; group by group on all ranks */
PETSC_INTERN PetscErrorCode MuonGroupSpread_Private(MuonGroup);
/* A mean is formed of the messages, or the sums, of a group's workers */
PETSC_INTERN const MuonGroupOps MuonGroupMean;
/* Moves the messages up: with depth 1 they arrive here, otherwise by MuonExchangeMoveEnd() */
PETSC_INTERN PetscErrorCode MuonGroupMove_Private(MuonGroup, MuonStatus);

/* Worker: gradient -> momentum T -> message, or the beginning of a sum over the workers */
PETSC_INTERN PetscErrorCode MuonAddWeights_Private(const MuonShard *, double decay, const MuonArray *);
PETSC_INTERN PetscErrorCode MuonWorkerMomentum_Private(Muon, MuonShard *, MuonRecord *, MuonStatus *);
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
  return group->up->sums || MuonShardSendsAsIs(shard) ? PETSC_TRUE : PETSC_FALSE;
}
/* The commit adds the step to the weights in place: there is no other copy of the new ones */
static inline PetscBool MuonShardTakes(const MuonShard *shard)
{
  if (shard->round->change.data != NULL) return PETSC_FALSE; /* the correction looks at the new weights */
  if (shard->layer->step == MUON_STEP_SHARP && MuonBlocksCount_Private(&shard->layer->blocks) > 1) return PETSC_FALSE;
  return shard->group->down->messages == PETSC_FALSE && shard->group->server == NULL && shard->layer->ops->take != NULL ? PETSC_TRUE : PETSC_FALSE;
}

/* A message up or down, which stays on this rank if it is the owner */
PETSC_INTERN void MuonCountMessage_Private(Muon, const MuonGroup, MuonShard *, int down, PetscBool owns, const MuonCompressorCost *);

/*
   Sums of gradients that can begin before the step: when a gradient is ready; at the beginning of the round the others, and the
   wait for means of whole gradients; collective: waits for sums of a step that was never taken
*/
PETSC_INTERN PetscErrorCode MuonPortReady_Private(MuonLayer);
PETSC_INTERN PetscErrorCode MuonBeginSums_Private(Muon);
PETSC_INTERN PetscErrorCode MuonDropSums_Private(Muon);
/* Writes the shard's new rows to whole weights, which may be the caller's memory */
PETSC_INTERN PetscErrorCode MuonShardMove_Private(Muon, MuonShard *, MuonLayerStepInfo *, const MuonArray *whole);
/* The messages of a group's servers, each of which a worker validates once, for the commit */
PETSC_INTERN PetscErrorCode MuonGroupDeliver_Private(Muon, MuonGroup, MuonStatus *);
/* Gathers the shards' rows to new weights on all ranks of a worker, if each has whole weights */
PETSC_INTERN PetscErrorCode MuonPortGather_Private(const MuonPort *, const MuonArray *whole);

/*
   Server: input of the LMO, new weights by the type or the layer's optimizer, their message
*/
PETSC_INTERN PetscErrorCode MuonServerSum_Private(MuonShard *, const MuonArray *sum, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonServerAggregate_Private(Muon, MuonShard *, MuonArray *input, MuonStatus *);
PETSC_INTERN void           MuonServerGetGradient_Private(const MuonLayerStepInfo *, const MuonArray *M, const MuonArray *Mnew, const MuonArray *input, const MuonArray *gradient);
/*
   New weights of n shards, G of whose tasks is given: what their steps get, in scratch that the caller releases; and behind MuonLayerStepMany(), or in its place
   where they are one that sends the step, the messages. weights are borrowed meanwhile
*/
PETSC_INTERN PetscErrorCode MuonServerPrepare_Private(Muon, PetscInt n, MuonShard *const shard[], MuonLayerTask task[], MuonArray weights[]);
PETSC_INTERN PetscErrorCode MuonServerFinish_Private(Muon, PetscInt n, MuonShard *const shard[], MuonLayerTask task[], MuonArray weights[], MuonRecord *, MuonStatus *);
/* The message of new weights; that of a step, which it computes */
PETSC_INTERN PetscErrorCode MuonServerEncode_Private(Muon, MuonShard *, const MuonArray *Xnew, const MuonArray *W, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonServerEncodeStep_Private(Muon, MuonShard *, const MuonArray *input, const MuonArray *W, MuonRecord *, MuonStatus *);

static inline PetscBool MuonShardSendsStep(const MuonShard *shard)
{
  return shard->downlink == MUON_DOWNLINK_STEP && shard->group->down->messages ? PETSC_TRUE : PETSC_FALSE;
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
