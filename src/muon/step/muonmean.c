#include "muonstep.h"

/*
   The operations of a group whose layers take a step along the mean of the workers' messages or sums.
*/

/* The input of the LMO, scaled if the layer has a slot for it; *input may be scratch, which the caller releases */
static PetscErrorCode MuonScaleInput_Private(Muon muon, MuonShard *shard, MuonArray *input, MuonStatus *status)
{
  const MuonArray from = *input;

  PetscFunctionBegin;
  if (MuonLayerHasSlot(shard->layer, MUON_SLOT_BEFORE) == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGetArray(muon->work, &from, from.precision, input));
  if (MuonLayerReadsGradient(shard->layer)) MuonServerGetGradient_Private(&shard->round->info, &shard->M, &shard->Mnew, &from, input);
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&shard->layer->blocks); b++) {
    MuonArray  part, scaled;
    MuonMatrix block;

    PetscCall(MuonLayerGetBlockArray(shard->layer, b, &from, &part));
    PetscCall(MuonLayerGetBlockArray(shard->layer, b, input, &scaled));
    block = MuonMatrixOfArray(&part);
    PetscUseTypeMethod(shard->layer, slots, MUON_SLOT_BEFORE, b, &shard->round->info, &block, &scaled, status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end of a run. A step as a message is made from one shard; on the host several large ones at once are not faster */
static PetscInt MuonFindRun_Private(Muon muon, PetscInt first, PetscInt n, MuonShard *const shard[])
{
  const size_t     caches = 131072;
  const MuonMemory memory = shard[first]->layer->shape.memory;
  const size_t     most   = memory == MUON_HOST ? caches : *MuonWorkspaceBatch(muon->work);
  size_t           bytes  = 0;

  for (PetscInt k = first; k < n; k++) {
    const MuonArray state = MuonShardStateShape(shard[k]), W = MuonShardWeightsShape(shard[k]);

    bytes += MuonArrayBytes(&state) + MuonArrayBytes(&W);
    if (k > first && (MuonShardSendsStep(shard[first]) || MuonShardSendsStep(shard[k]) || W.memory != memory || bytes > most)) return k;
  }
  return n;
}

/* The shards that this rank steps, in the order of their messages */
static PetscInt MuonFindOwned_Private(const MuonGroup group, MuonShard *owned[])
{
  PetscInt n = 0;

  for (PetscInt k = 0; k < group->nshards && group->server == NULL; k++) {
    owned[n] = &group->shard[group->exchange->order[k]];
    if (MuonShardOwns(owned[n])) n++;
  }
  return n;
}

/*
   Aggregates, steps of the layers' optimizers, messages of the new weights, each for all shards of a run in their order. Runs have
   several shards in one memory, whose small products are computed together; their sums and new weights fit in the bytes of a
   batch, scratch or not, because all sums of a run arrive before its first step
*/
static PetscErrorCode MuonServers_Mean(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  MuonShard    **shard;
  MuonLayerTask *task;
  MuonArray     *weights;
  PetscInt       n;
  MuonMark       mark;

  PetscFunctionBegin;
  if (group->down->messages) PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_DOWN, MuonGroupStep(muon, group)));
  for (PetscInt k = 0; k < group->nshards; k++) group->shard[k].round->down_got.bytes = 0;
  if (group->server != NULL) PetscCall(MuonServeAssembled_Private(muon, group, record, status));
  PetscCall(PetscMalloc3(group->nshards, &shard, group->nshards, &task, group->nshards, &weights));
  n = MuonFindOwned_Private(group, shard);
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  for (PetscInt first = 0, end; first < n; first = end) {
    end = MuonFindRun_Private(muon, first, n, shard);
    for (PetscInt k = first; k < end; k++) {
      PetscCall(MuonServerAggregate_Private(muon, shard[k], &task[k].G, status));
      if (*status == MUON_STATUS_OK) PetscCall(MuonScaleInput_Private(muon, shard[k], &task[k].G, status));
      MuonNoteStatus(muon, shard[k]->layer, *status);
    }
    if (*status == MUON_STATUS_OK) {
      PetscCall(MuonServerPrepare_Private(muon, end - first, shard + first, task + first, weights));
      if (MuonShardSendsStep(shard[first]) == PETSC_FALSE) PetscCall(MuonLayerStepMany(end - first, task + first));
      PetscCall(MuonServerFinish_Private(muon, end - first, shard + first, task + first, weights, record, status));
    }
    PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  }
  PetscCall(PetscFree3(shard, task, weights));
  if (group->up->arrays) PetscCall(MuonExchangeReduceEnd(group->exchange));
  PetscCall(MuonGroupDeliver_Private(muon, group, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetUp_Mean(Muon muon, MuonGroup group)
{
  PetscFunctionBegin;
  PetscCall(MuonGroupSetUpOwners_Private(muon, group));
  MuonGroupChooseWays_Private(group);
  PetscCall(MuonGroupSetUpAssembly_Private(muon, group, group->exchange->order, group->exchange->everywhere));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonGroupOps MuonGroupMean = {NULL, NULL, MuonSetUp_Mean, NULL, NULL, MuonServers_Mean, NULL, NULL, NULL};
