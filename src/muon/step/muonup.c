#include "muonstep.h"

/*
   The way up: messages, arrays or sums of T, from the workers of a group to the sum at their servers.
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
PetscErrorCode MuonCountDirect_Private(Muon muon, MuonShard *shard, int down)
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
  MuonUpload         upload;
  MuonCompressorCost cost;
  size_t             most, bytes;
  unsigned char     *to;

  PetscFunctionBegin;
  upload.compressor          = shard->up;
  upload.T                   = &shard->round->T;
  upload.R                   = NULL;
  upload.status              = MUON_STATUS_OK;
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

void MuonGroupChooseUp_Private(MuonGroup group)
{
  if (group->exchange->mode != MUON_EXCHANGE_MODE_GATHER) group->up = &MuonUpSums;
  else group->up = group->exchange->nworkers > 1 && MuonGroupFitsArrays(group, 0) ? &MuonUpArrays : &MuonUpMessages;
}

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
