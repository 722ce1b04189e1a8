#include "muonstep.h"
#include "../../kernels/dense/muonpanels.h"

/*
   The operations of a group whose layers take a step along the mean of the workers' messages or sums.
*/

/* An uncompressed message is at the end of the buffer, and the exchange may have moved its memory since */
static PetscErrorCode MuonFollowOwn_Private(MuonShard *shard)
{
  MuonValidated *const own = &shard->round->up_own;
  const unsigned char *message;
  size_t               bytes;

  PetscFunctionBegin;
  if (own->bytes == 0 || own->data == own->buffer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeGetOwn(shard->group->exchange, MUON_EXCHANGE_UP, MuonShardNumber(shard), &bytes, &message));
  if (message != NULL) own->data = message + bytes - own->bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGroupMove_Private(MuonGroup group, MuonStatus status)
{
  PetscFunctionBegin;
  if (group->depth > 1) PetscCall(MuonExchangeMoveBegin(group->exchange, status));
  else PetscCall(MuonExchangeMove(group->exchange, MUON_EXCHANGE_UP, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Arrays summed by MPI are sent in full for any status: a NaN shows in the sum. A server waits for one sum at a time, while the
   others progress. They begin in the order in which sums begin before the step, because ranks may differ in what they began
   before it
*/
static PetscErrorCode MuonWorkers_Mean(Muon muon, MuonGroup group, MuonStatus *status)
{
  const PetscBool alone = group->grid->size > 1 && group->grid->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (group->mode != MUON_EXCHANGE_MODE_GATHER) {
    /* In the order of MuonBeginSums_Private(), by which another rank may have begun them: -muon_nan may differ */
    for (PetscInt k = group->nshards - 1; k >= 0; k--) {
      MuonShard *shard = &group->shard[k];

      if (alone) MuonArrayAxpby(1, &shard->round->T, 0, &shard->sum); /* that of one is there */
      else if (shard->round->begun == PETSC_FALSE && MuonShardIsDirect(shard) == PETSC_FALSE) PetscCall(MuonShardReduceBegin_Private(shard, &shard->round->T, &shard->sum));
      shard->round->begun = PETSC_FALSE;
      PetscCall(MuonCountDirect_Private(muon, shard, 0));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[group->exchange->order[k]];

    if (MuonGroupSendsArrays(group, 0)) PetscCall(MuonExchangeGatherBegin(group->exchange, MuonShardNumber(shard), &shard->round->T));
    if (MuonGroupSendsArrays(group, 0) || MuonShardIsDirect(shard)) PetscCall(MuonCountDirect_Private(muon, shard, 0));
    else PetscCall(MuonWorkerEncode_Private(muon, shard, status));
    MuonNoteStatus(muon, shard->layer, *status);
  }
  if (MuonGroupSendsArrays(group, 0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGroupMove_Private(group, *status));
  for (PetscInt k = 0; k < group->nshards; k++) PetscCall(MuonFollowOwn_Private(&group->shard[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

/* Whether a run that begins with that shard ends before another one. A step as a message is made from one; on the host several large ones at once are not faster */
static PetscBool MuonRunEnds_Private(const MuonShard *first, const MuonShard *next, size_t bytes, size_t batch)
{
  const size_t     caches = 131072;
  const MuonMemory memory = first->layer->shape.memory;

  if (MuonShardSendsStep(first) || MuonShardSendsStep(next) || next->layer->shape.memory != memory) return PETSC_TRUE;
  return bytes > (memory == MUON_HOST ? caches : batch) ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Server: aggregates, steps of the layers' optimizers, messages of the new weights, each for all shards of a run in their order.
   Runs have several shards in one memory, whose small products are computed together; their sums and new weights fit in the bytes
   of a batch, scratch or not, because all sums of a run arrive before its first step
*/
static PetscErrorCode MuonServeShards_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  const size_t   batch = *MuonWorkspaceBatch(muon->work);
  MuonShard    **owned;
  MuonLayerTask *task;
  PetscInt       n = 0;
  MuonMark       mark;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(group->nshards, &owned, group->nshards, &task));
  for (PetscInt k = 0; k < group->nshards; k++) {
    if (MuonShardOwns(&group->shard[group->exchange->order[k]])) owned[n++] = &group->shard[group->exchange->order[k]];
  }
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  for (PetscInt first = 0, run; first < n; first += run) {
    MuonShard **shard = owned + first;
    size_t      bytes = 0;

    for (run = 0; first + run < n; run++) {
      const MuonArray state = MuonShardStateShape(shard[run]), W = MuonShardWeightsShape(shard[run]);

      bytes += MuonArrayBytes(&state) + MuonArrayBytes(&W);
      if (run > 0 && MuonRunEnds_Private(shard[0], shard[run], bytes, batch)) break;
    }
    for (PetscInt k = 0; k < run; k++) {
      PetscCall(MuonServerAggregate_Private(muon, shard[k], &task[k].G, status));
      if (*status == MUON_STATUS_OK) PetscCall(MuonScaleInput_Private(muon, shard[k], &task[k].G, status));
      MuonNoteStatus(muon, shard[k]->layer, *status);
    }
    if (*status == MUON_STATUS_OK) PetscCall(MuonServerStep_Private(muon, run, shard, task, record, status));
    PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  }
  PetscCall(PetscFree2(owned, task));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Worker: each message of a server is validated once, and the validated message is kept for the commit. This rank's own messages are here already */
static PetscErrorCode MuonReceive_Private(Muon muon, MuonShard *shard, MuonStatus *status)
{
  const unsigned char *message;
  size_t               bytes;
  MuonCompressorCost   cost;
  MuonStatus           received;
  PetscBool            valid;
  const MuonArray      W = MuonShardWeightsShape(shard);

  PetscFunctionBegin;
  PetscCall(MuonExchangeGet(shard->group->exchange, MUON_EXCHANGE_DOWN, 0, MuonShardNumber(shard), &bytes, &message, &received));
  if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK && shard->round->down_got.bytes == 0) {
    if (shard->downlink == MUON_DOWNLINK_STEP) PetscCall(MuonLayerValidateStep(shard->layer, bytes, message, muon->count_entropy, &cost, &valid));
    else PetscCall(MuonCompressorValidateArray(shard->down, &W, bytes, message, muon->count_entropy, &cost, &shard->round->down_got, &valid));
    if (valid) MuonCountMessage_Private(muon, shard->group, shard, 1, MuonShardOwns(shard), &cost);
    else received = MUON_STATUS_CORRUPT;
  }
  MuonStatusMerge(received, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonServers_Mean(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  const PetscBool sums = group->mode == MUON_EXCHANGE_MODE_GATHER && MuonGroupSendsArrays(group, 0) == PETSC_FALSE ? PETSC_FALSE : PETSC_TRUE;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MuonExchangeMoveEnd(group->exchange));
  if (group->no_downlink == PETSC_FALSE) PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_DOWN, MuonGroupStep(muon, group)));
  for (PetscInt k = 0; k < group->nshards; k++) group->shard[k].round->down_got.bytes = 0;
  if (group->assembly != NULL) PetscCall(MuonServeAssembled_Private(muon, group, record, status));
  else {
    if (sums) MuonKernelSetProgress(MuonExchangeProgress, group->exchange);
    ierr = MuonServeShards_Private(muon, group, record, status);
    MuonKernelSetProgress(NULL, NULL);
    PetscCall(ierr);
  }
  if (sums) PetscCall(MuonExchangeReduceEnd(group->exchange));
  for (PetscInt k = 0; k < group->nshards && group->no_downlink && group->exchange->everywhere == PETSC_FALSE && *status == MUON_STATUS_OK; k++) PetscCall(MuonCountDirect_Private(muon, &group->shard[k], 1));
  if (group->no_downlink) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeMove(group->exchange, MUON_EXCHANGE_DOWN, *status));
  MuonNextPhase(muon, *status);
  for (PetscInt k = 0; k < group->nshards; k++) {
    PetscCall(MuonReceive_Private(muon, &group->shard[k], status));
    MuonNoteStatus(muon, group->shard[k].layer, *status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the received message or, if every rank owns the layer, from this rank's own */
PetscErrorCode MuonShardMove_Private(Muon muon, MuonShard *shard, MuonLayerStepInfo *info, const MuonArray *whole)
{
  const PetscBool      looks = shard->X.data != NULL && MuonShardCounts(shard) ? PETSC_TRUE : PETSC_FALSE; /* what goes down may leave something out, and one server looks at it */
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           received;
  const MuonArray      W = MuonShardPart(shard, whole);

  PetscFunctionBegin;
  if (looks) MuonTryAddons(muon, look, muon, shard, PETSC_FALSE, &shard->Xnew, &W);
  if (MuonShardTakes(shard)) PetscUseTypeMethod(shard->layer, take, info, &shard->round->step, &W);
  else if (shard->group->no_downlink) MuonArrayAxpby(1, &shard->Xnew, 0, &W);
  else if (shard->downlink == MUON_DOWNLINK_STEP) {
    PetscCall(MuonExchangeGet(shard->group->exchange, MUON_EXCHANGE_DOWN, 0, MuonShardNumber(shard), &bytes, &message, &received));
    PetscCall(MuonLayerDecodeStep(shard->layer, info, bytes, message, &W));
  } else PetscCall(MuonCompressorDecodeValidated(shard->down, &shard->round->down_got, shard->down->assignment ? PETSC_FALSE : PETSC_TRUE, 1, &W));
  if (looks) MuonTryAddons(muon, look, muon, shard, PETSC_TRUE, &shard->Xnew, &W);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCommit_Mean(Muon muon, MuonShard *shard)
{
  MuonArray whole;

  PetscFunctionBegin;
  if (MuonGroupSendsArrays(shard->group, 1) && MuonShardOwns(shard) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_TRUE, &whole));
  PetscCall(MuonShardMove_Private(muon, shard, &shard->round->info, &whole));
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_TRUE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetUp_Mean(Muon muon, MuonGroup group)
{
  PetscFunctionBegin;
  PetscCall(MuonGroupSetUpOwners_Private(muon, group));
  PetscCall(MuonGroupSetUpAssembly_Private(muon, group, group->exchange->order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonGroupOps MuonGroupMean = {NULL, NULL, MuonSetUp_Mean, NULL, MuonWorkers_Mean, MuonServers_Mean, MuonCommit_Mean, NULL, NULL, NULL};
