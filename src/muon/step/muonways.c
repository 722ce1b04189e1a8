#include "muonstep.h"
#include <petscmuon/private/muonwire.h>
#include <float.h>
#include <math.h>

/*
   Ways of messages, chosen at set-up. Up: messages, arrays or sums of T, from the workers of a group to the sum at their servers. Down: new weights
   as messages of them or of the step, or as arrays behind the commit; or every rank computes them.
*/

void MuonCountMessage_Private(Muon muon, const MuonGroup group, MuonShard *shard, int down, PetscBool owns, const MuonCompressorCost *cost)
{
  PetscLogDouble *bits   = muon->counted[down];
  const PetscBool leaves = owns == PETSC_FALSE || (down == 0 && MuonGroupKeepsOwn(group) == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;

  if (muon->nested != NULL) return; /* nothing is sent but by the other optimizer */
  if (leaves) bits[3] += cost->encoded;
  if (leaves && shard != NULL) shard->round->figure[down] += cost->encoded / 8;
  bits[0] += cost->paper;
  bits[1] += cost->encoded;
  if (muon->count_entropy) bits[2] += cost->entropy;
}

/* Of sums, and of arrays as they are, the entries alone count */
static PetscErrorCode MuonCountDirect_Private(Muon muon, MuonShard *shard, int down)
{
  const MuonArray      shape   = down ? MuonShardWeightsShape(shard) : MuonShardStateShape(shard);
  const PetscLogDouble entries = (PetscLogDouble)MuonArrayEntries(&shape), bits = 8.0 * (PetscLogDouble)MuonArrayBytes(&shape);
  MuonCompressorCost   cost = {32.0 * entries, bits, bits};
  size_t               bytes;

  PetscFunctionBegin;
  if ((down ? shard->group->down->arrays : shard->group->up->arrays) == PETSC_FALSE) {
    PetscCall(MuonCompressorGetMaxBytesOf(down ? shard->down : shard->up, &shape, &bytes));
    cost.encoded = 8.0 * (PetscLogDouble)bytes;
  }
  MuonCountMessage_Private(muon, shard->group, shard, down, MuonShardOwns(shard), &cost);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardReduceBegin_Private(MuonShard *shard, const MuonArray *T, const MuonArray *sum)
{
  const MuonWorkerGrid grid = shard->group->grid;

  PetscFunctionBegin;
  if (grid->weight != NULL) {
    if (shard->weighted.data == NULL) PetscCall(MuonArrayCreate(T, T->precision, &shard->weighted));
    MuonArrayAxpby(grid->weight[grid->worker], T, 0, &shard->weighted);
    T = &shard->weighted;
  }
  PetscCall(MuonExchangeReduceBegin(shard->group->exchange, MuonShardNumber(shard), T, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWorkerEncode_Private(Muon muon, MuonShard *shard, MuonStatus *status)
{
  MuonExchange       exchange = shard->group->exchange;
  MuonUpload         upload   = {shard->up, &shard->round->T, NULL, MUON_STATUS_OK};
  MuonCompressorCost cost;
  size_t             most, bytes;
  unsigned char     *to;

  PetscFunctionBegin;
  shard->round->up_own.bytes = 0;
  PetscTryTypeMethod(muon, send, shard, &upload);
  MuonStatusMerge(upload.status, status);
  shard->round->sent = upload.compressor;
  if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorSetStep(shard->round->sent, (PetscInt)MuonGroupStep(muon, shard->group)));
  PetscCall(MuonCompressorGetMaxBytesOf(shard->round->sent, upload.T, &most));
  PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, MuonShardNumber(shard), most, &to));
  PetscCall(MuonCompressorEncodeArray(shard->round->sent, upload.T, upload.R, most, to, &bytes, muon->count_entropy, &cost, upload.R != NULL ? &shard->round->up_own : NULL));
  MuonStatusMerge(shard->round->sent->status, status);
  if (shard->round->sent->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  MuonCountMessage_Private(muon, shard->group, shard, 0, MuonShardOwns(shard), &cost);
  PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, MuonShardNumber(shard), bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGroupMove_Private(MuonGroup group, MuonStatus status)
{
  PetscFunctionBegin;
  if (group->depth > 1) PetscCall(MuonExchangeMoveBegin(group->exchange, status));
  else PetscCall(MuonExchangeMove(group->exchange, MUON_EXCHANGE_UP, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

/* Of a single worker without compression nothing is encoded */
static PetscErrorCode MuonSend_Messages(Muon muon, MuonGroup group, MuonStatus *status)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[group->exchange->order[k]];

    if (MuonShardIsDirect(shard)) PetscCall(MuonCountDirect_Private(muon, shard, 0));
    else PetscCall(MuonWorkerEncode_Private(muon, shard, status));
    MuonNoteStatus(muon, shard->layer, *status);
  }
  PetscCall(MuonGroupMove_Private(group, *status));
  for (PetscInt k = 0; k < group->nshards; k++) PetscCall(MuonFollowOwn_Private(&group->shard[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The messages of all workers times their weights, added in the order of workers. The sum is scratch, so that messages need not
   be checked before
*/
static PetscErrorCode MuonSum_Messages(MuonShard *shard, const MuonArray *sum, MuonStatus *status)
{
  const double *const weight = shard->group->grid->weight;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < shard->group->exchange->nworkers; j++) {
    const unsigned char *message;
    size_t               bytes;
    MuonStatus           received;
    PetscBool            valid;

    PetscCall(MuonExchangeGet(shard->group->exchange, MUON_EXCHANGE_UP, (PetscMPIInt)j, MuonShardNumber(shard), &bytes, &message, &received));
    if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK) {
      valid = (PetscMPIInt)j == shard->group->exchange->worker && shard->round->up_own.bytes > 0 ? PETSC_TRUE : PETSC_FALSE;
      if (valid) PetscCall(MuonCompressorDecodeValidated(shard->round->sent, &shard->round->up_own, j > 0 ? PETSC_TRUE : PETSC_FALSE, weight != NULL ? weight[j] : 1, sum));
      else PetscCall(MuonCompressorDecodeArray(shard->round->sent, j > 0 ? PETSC_TRUE : PETSC_FALSE, weight != NULL ? weight[j] : 1, bytes, message, sum, &valid));
      if (valid && j == 0 && weight != NULL) MuonArrayAxpby(weight[0], sum, 0, sum); /* what is not added takes no factor */
      if (valid == PETSC_FALSE) received = MUON_STATUS_CORRUPT;
    }
    MuonStatusMerge(received, status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSend_Arrays(Muon muon, MuonGroup group, MuonStatus *status)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[group->exchange->order[k]];

    PetscCall(MuonExchangeGatherBegin(group->exchange, MuonShardNumber(shard), &shard->round->T));
    PetscCall(MuonCountDirect_Private(muon, shard, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSum_Arrays(MuonShard *shard, const MuonArray *sum, MuonStatus *status)
{
  const double *const weight = shard->group->grid->weight;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Aggregate, shard->muon, 0, 0, 0));
  for (PetscMPIInt j = 0; j < shard->group->exchange->nworkers; j++) {
    const MuonArray one = MuonExchangeGatherGet(shard->group->exchange, MuonShardNumber(shard), j);

    MuonArrayAxpby(weight != NULL ? weight[j] : 1, &one, j > 0 ? 1 : 0, sum);
  }
  PetscCall(PetscLogEventEnd(MUON_Aggregate, shard->muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Arrays summed by MPI are sent in full for any status: a NaN shows in the sum. A server waits for one sum at a time, while the
   others progress. They begin in the order of MuonBeginSums_Private(), by which another rank may have begun them: -muon_nan may differ
*/
static PetscErrorCode MuonSend_Sums(Muon muon, MuonGroup group, MuonStatus *status)
{
  const PetscBool alone = group->grid->size > 1 && group->grid->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt k = group->nshards - 1; k >= 0; k--) {
    MuonShard *shard = &group->shard[k];

    if (alone) MuonArrayAxpby(1, &shard->round->T, 0, &shard->sum); /* that of one is there */
    else if (shard->port->begun == PETSC_FALSE && MuonShardIsDirect(shard) == PETSC_FALSE) PetscCall(MuonShardReduceBegin_Private(shard, &shard->round->T, &shard->sum));
    shard->port->begun = PETSC_FALSE;
    PetscCall(MuonCountDirect_Private(muon, shard, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MuonUpOps MuonUpMessages = {PETSC_FALSE, PETSC_FALSE, MuonSend_Messages, MuonSum_Messages};
static const MuonUpOps MuonUpArrays   = {PETSC_TRUE, PETSC_FALSE, MuonSend_Arrays, MuonSum_Arrays};
static const MuonUpOps MuonUpSums     = {PETSC_TRUE, PETSC_TRUE, MuonSend_Sums, NULL};

PetscErrorCode MuonServerSum_Private(MuonShard *shard, const MuonArray *sum, MuonStatus *status)
{
  const MuonUpOps *up = shard->group->up;

  PetscFunctionBegin;
  if (MuonShardIsDirect(shard)) MuonArrayAxpby(1, &shard->round->T, 0, sum);
  else {
    if (up->arrays) PetscCall(MuonExchangeReduceWait(shard->group->exchange, MuonShardNumber(shard)));
    if (up->sum != NULL) PetscCall((*up->sum)(shard, sum, status));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The checksum of a server's result; if every rank computes it, it must be the same on each */
static void MuonHashReplica_Private(const MuonShard *shard, size_t bytes, const void *data)
{
  if (MuonLayerOwner(shard->layer) < 0 && shard->muon->nested == NULL) shard->group->replica = (unsigned int)MuonWireCRC32C((uint32_t)shard->group->replica, (const unsigned char *)data, bytes);
}

/* What every rank computes */
PetscErrorCode MuonTell_Replicas(Muon muon, MuonShard *shard, const MuonArray *Xnew, const MuonArray *W, MuonStatus *status)
{
  MuonArray host;

  PetscFunctionBegin;
  if (MuonLayerOwner(shard->layer) >= 0 || shard->group->exchange->nworkers == 1) PetscFunctionReturn(PETSC_SUCCESS);
  /* A step says nothing of the weights that it is taken from */
  if (shard->round->step.data != NULL) PetscCall(MuonLayerHashWeights(shard->layer, -1, &shard->group->replica));
  PetscCall(MuonArrayOnHost(Xnew, PETSC_TRUE, &host));
  MuonHashReplica_Private(shard, MuonArrayBytes(&host), host.data);
  PetscCall(MuonArrayOffHost(Xnew, PETSC_FALSE, &host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The step as a message. No entry of D exceeds 1, so that it is known before the commit whether the new weights are finite
*/
PetscErrorCode MuonServerEncodeStep_Private(Muon muon, MuonShard *shard, const MuonArray *input, const MuonArray *W, MuonRecord *record, MuonStatus *status)
{
  MuonLayerStepInfo *info    = &shard->round->info;
  MuonStatus         stepped = MUON_STATUS_OK;
  double             reach;
  size_t             most, bytes;
  unsigned char     *to;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetMaxStepBytes(shard->layer, &most));
  PetscCall(MuonExchangeReserve(shard->group->exchange, MUON_EXCHANGE_DOWN, MuonShardNumber(shard), most, &to));
  PetscCall(MuonLayerEncodeStep(shard->layer, info, input, most, to, &bytes, &stepped));
  reach = info->radius * (shard->layer->step == MUON_STEP_SHARP ? info->dual : 1);
  if (stepped == MUON_STATUS_OK && !(fmax(info->cautious ? 1 : 0, fabs(1 - info->rate * info->decay)) * MuonArrayKernels(W)->MaxAbs(W->len, W->count, W->data, W->ld) + reach <= (W->precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX)))
    stepped = MUON_STATUS_NANORINF;
  MuonStatusMerge(stepped, status);
  if (stepped != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeAdvance(shard->group->exchange, MUON_EXCHANGE_DOWN, MuonShardNumber(shard), bytes));
  MuonHashReplica_Private(shard, bytes, to);
  if (MuonShardCounts(shard)) record->dual += info->dual;
  if (info->measure) {
    const MuonLayerStepInfo unit = {info->step, 1, 0, 0, 0, 0, 0, PETSC_FALSE, PETSC_FALSE, 0};
    MuonArray               update;
    MuonMark                mark;

    /* The step of rate 1 from zero */
    PetscCall(MuonWorkspaceMark(muon->work, &mark));
    PetscCall(MuonWorkspaceGetArray(muon->work, W, W->precision, &update));
    PetscCall(MuonArrayZero(&update));
    PetscCall(MuonLayerDecodeStep(shard->layer, &unit, bytes, to, &update));
    info->squares = MuonLayerSumSquares(&update);
    PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTell_Messages(Muon muon, MuonShard *shard, const MuonArray *Xnew, const MuonArray *W, MuonStatus *status)
{
  MuonExchange       exchange = shard->group->exchange;
  MuonCompressorCost cost;
  size_t             most, bytes;
  unsigned char     *to;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetStep(shard->down, (PetscInt)MuonGroupStep(muon, shard->group)));
  PetscCall(MuonCompressorGetMaxBytesOf(shard->down, Xnew, &most));
  PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_DOWN, MuonShardNumber(shard), most, &to));
  PetscCall(MuonCompressorEncodeArray(shard->down, Xnew, shard->down->assignment ? NULL : W, most, to, &bytes, muon->count_entropy, &cost, &shard->round->down_got));
  MuonStatusMerge(shard->down->status, status);
  if (shard->down->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* What lies in the exchange may move, and is checked as it comes */
  if (shard->round->down_got.data != shard->round->down_got.buffer) shard->round->down_got.bytes = 0;
  else MuonCountMessage_Private(muon, shard->group, shard, 1, MuonShardOwns(shard), &cost);
  PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_DOWN, MuonShardNumber(shard), bytes));
  MuonHashReplica_Private(shard, bytes, to);
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

/* What owners of a single worker have is counted as if it were sent */
PetscErrorCode MuonGroupDeliver_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  PetscFunctionBegin;
  if (group->down->messages == PETSC_FALSE) {
    for (PetscInt k = 0; k < group->nshards && group->exchange->everywhere == PETSC_FALSE && *status == MUON_STATUS_OK; k++) PetscCall(MuonCountDirect_Private(muon, &group->shard[k], 1));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonExchangeMove(group->exchange, MUON_EXCHANGE_DOWN, *status));
  MuonNextPhase(muon, *status);
  for (PetscInt k = 0; k < group->nshards; k++) {
    PetscCall(MuonReceive_Private(muon, &group->shard[k], status));
    MuonNoteStatus(muon, group->shard[k].layer, *status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the received message or, if every rank owns the layer, from this rank's own */
static PetscErrorCode MuonMove_Messages(Muon muon, MuonShard *shard, const MuonLayerStepInfo *info, const MuonArray *W)
{
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           received;

  PetscFunctionBegin;
  if (shard->downlink == MUON_DOWNLINK_STEP) {
    PetscCall(MuonExchangeGet(shard->group->exchange, MUON_EXCHANGE_DOWN, 0, MuonShardNumber(shard), &bytes, &message, &received));
    PetscCall(MuonLayerDecodeStep(shard->layer, info, bytes, message, W));
  } else PetscCall(MuonCompressorDecodeValidated(shard->down, &shard->round->down_got, shard->down->assignment ? PETSC_FALSE : PETSC_TRUE, 1, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MuonDownOps MuonDownMessages = {PETSC_TRUE, PETSC_FALSE, MuonTell_Messages, MuonMove_Messages};
static const MuonDownOps MuonDownArrays   = {PETSC_FALSE, PETSC_TRUE, MuonTell_Replicas, NULL};
static const MuonDownOps MuonDownNothing  = {PETSC_FALSE, PETSC_FALSE, MuonTell_Replicas, NULL};

/* One worker makes no message for itself of weights as they are */
void MuonGroupChooseWays_Private(MuonGroup group)
{
  const MuonExchange exchange = group->exchange;

  if (exchange->mode != MUON_EXCHANGE_MODE_GATHER) group->up = &MuonUpSums;
  else group->up = exchange->nworkers > 1 && MuonGroupFitsArrays(group, 0) ? &MuonUpArrays : &MuonUpMessages;
  group->down = &MuonDownNothing;
  for (PetscInt k = 0; k < group->nshards; k++) {
    const MuonShard *shard = &group->shard[k];

    if (exchange->everywhere ? shard->downlink == MUON_DOWNLINK_WEIGHTS && shard->down->assignment == PETSC_FALSE : exchange->nworkers > 1 || MuonShardComesAsIs(shard) == PETSC_FALSE) group->down = &MuonDownMessages;
  }
  if (exchange->everywhere == PETSC_FALSE && exchange->nworkers > 1 && MuonGroupFitsArrays(group, 1)) group->down = &MuonDownArrays;
}

PetscErrorCode MuonShardMove_Private(Muon muon, MuonShard *shard, MuonLayerStepInfo *info, const MuonArray *whole)
{
  const PetscBool looks = shard->X.data != NULL && MuonShardCounts(shard) ? PETSC_TRUE : PETSC_FALSE; /* what goes down may leave something out, and one server looks at it */
  const MuonArray W     = MuonShardPart(shard, whole);

  PetscFunctionBegin;
  if (looks) MuonTryAddons(muon, look, muon, shard, PETSC_FALSE, &shard->Xnew, &W);
  if (shard->round->step.data != NULL) PetscUseTypeMethod(shard->layer, take, info, &shard->round->step, &W);
  else if (shard->group->down->move != NULL) PetscCall((*shard->group->down->move)(muon, shard, info, &W));
  else MuonArrayAxpby(1, &shard->Xnew, 0, &W);
  if (looks) MuonTryAddons(muon, look, muon, shard, PETSC_TRUE, &shard->Xnew, &W);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Owners send a group's new weights uncompressed to the other workers, and these to all their ranks; group by group on all ranks */
PetscErrorCode MuonGroupSpread_Private(MuonGroup group)
{
  const PetscBool spread = group->down->arrays && group->nshards > 0 && MuonPortServes(group->shard->port) ? PETSC_TRUE : PETSC_FALSE;
  MuonArray      *whole;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(group->nshards, &whole));
  for (PetscInt k = 0; k < group->nshards && spread; k++) {
    MuonShard *shard = &group->shard[k];
    MuonArray  W;

    PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_TRUE, &whole[k]));
    W = MuonShardPart(shard, &whole[k]);
    PetscCall(MuonExchangeSpreadBegin(group->exchange, MuonShardNumber(shard), &W));
  }
  if (spread) PetscCall(MuonExchangeReduceEnd(group->exchange));
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[k];

    if (spread == PETSC_FALSE && shard->port->whole == PETSC_FALSE) continue;
    if (spread == PETSC_FALSE) PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_TRUE, &whole[k]));
    PetscCall(MuonPortGather_Private(shard->port, &whole[k]));
    PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_TRUE, &whole[k]));
  }
  PetscCall(PetscFree(whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}
