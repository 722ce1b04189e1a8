#include "signvotes.h"
#include "../../../kernels/codec/muonkernels.h"
#include <float.h>
#include <math.h>

/*
   The majority: how it is found, and what it makes of the weights.
*/

/*
   The majority on an item that is owned here, and the sum of |votes|. A coin that breaks ties is one more voter: the number of
   votes is odd, and |votes| is one larger if the coin has the sign of the majority, otherwise one smaller
*/
static PetscErrorCode MuonVotesCountItem_Private(Muon muon, MuonGroup group, PetscInt i, unsigned char *majority, unsigned char *ties, uint64_t *sum, MuonStatus *status)
{
  MuonVotes            votes   = MuonVotesOf(group);
  const size_t         entries = (size_t)(votes->cut[i + 1] - votes->cut[i]), bytes = (entries + 7) / 8, voters = (size_t)votes->workers + (votes->coin != NULL);
  const MuonKernelTie  tie    = votes->rule.tie == MUON_SIGN_TIE_MINUS ? MUON_KERNEL_TIE_MINUS : MUON_KERNEL_TIE_PLUS;
  const unsigned char *counts = group->exchange->mode == MUON_EXCHANGE_MODE_REDUCE ? votes->counts[0] : NULL;
  unsigned char       *coin   = NULL;
  MuonMark             mark;

  PetscFunctionBegin;
  if (group->exchange->mode != MUON_EXCHANGE_MODE_GATHER || MuonVotesAlone(group)) votes->plane[0] = votes->own;
  for (PetscMPIInt w = 0; w < votes->workers && group->exchange->mode == MUON_EXCHANGE_MODE_GATHER && MuonVotesAlone(group) == PETSC_FALSE; w++) {
    const unsigned char *message;
    size_t               bytes;
    MuonStatus           received;

    PetscCall(MuonExchangeGet(group->exchange, MUON_EXCHANGE_UP, w, i, &bytes, &message, &received));
    if (received == MUON_STATUS_OK) {
      votes->plane[w] = MuonVotesOpen(votes, i, 1, bytes, message);
      if (votes->plane[w] == NULL) received = MUON_STATUS_CORRUPT;
    }
    MuonStatusMerge(received, status);
  }
  *sum = 0;
  if (*status != MUON_STATUS_OK || entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  if (votes->coin != NULL) {
    PetscCall(MuonWorkspaceGet(muon->work, bytes, &coin));
    MuonKernelCopyBits(entries, votes->coin, (size_t)votes->cut[i], coin, 0);
    for (size_t k = 0; k < bytes; k++) coin[k] ^= votes->plane[0][k];
    votes->plane[votes->workers] = coin;
    if (group->exchange->mode == MUON_EXCHANGE_MODE_REDUCE) {
      MuonKernelVoteAdd(entries, (size_t)votes->workers, votes->counts[0], 1, coin, votes->counts[1]);
      counts = votes->counts[1];
    }
  }
  if (group->exchange->mode == MUON_EXCHANGE_MODE_ALLREDUCE) MuonKernelVoteSummed(entries, votes->size, votes->counts[1], tie, majority, ties, sum);
  else MuonKernelVote(entries, voters, votes->plane, counts, tie, majority, ties, sum);
  for (size_t k = 0; k < bytes && coin != NULL; k++) coin[k] ^= majority[k];
  if (coin != NULL) *sum += 2 * MuonKernelCountBits(coin, 0, entries) - entries;
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesServeItem_Private(Muon muon, MuonGroup group, PetscInt i, uint64_t *sum, MuonStatus *status)
{
  MuonVotes      votes   = MuonVotesOf(group);
  const unsigned planes  = votes->planes;
  const size_t   section = (size_t)(votes->cut[i + 1] - votes->cut[i] + 7) / 8;
  unsigned char *to;
  uint64_t       whole;
  unsigned       head;

  PetscFunctionBegin;
  PetscCall(MuonExchangeReserve(group->exchange, MUON_EXCHANGE_DOWN, i, MuonVotesMessageBytes(votes, i, planes), &to));
  head = MuonVotesWrite(votes, i, planes, to, &whole);
  PetscCall(MuonVotesCountItem_Private(muon, group, i, to + head, planes > 1 ? to + head + section : NULL, sum, status));
  if (*status == MUON_STATUS_OK) PetscCall(MuonExchangeAdvance(group->exchange, MUON_EXCHANGE_DOWN, i, (size_t)whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tie has the bit of a plus */
static PetscErrorCode MuonVotesReceive_Private(Muon muon, MuonGroup group, PetscInt i, MuonStatus *status)
{
  MuonVotes            votes   = MuonVotesOf(group);
  const size_t         entries = (size_t)(votes->cut[i + 1] - votes->cut[i]), section = (entries + 7) / 8;
  const unsigned       planes = votes->planes;
  const unsigned char *message, *from;
  size_t               bytes;
  unsigned             alone = 0;
  MuonStatus           received;
  PetscBool            owns;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGet(group->exchange, MUON_EXCHANGE_DOWN, 0, i, &bytes, &message, &received));
  if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK) {
    from = MuonVotesOpen(votes, i, planes, bytes, message);
    for (size_t k = 0; from != NULL && planes > 1 && k < section; k++) alone |= (unsigned)(from[section + k] & ~from[k]);
    if (from == NULL || alone != 0) received = MUON_STATUS_CORRUPT;
    else {
      owns = group->exchange->owner[i] == group->exchange->worker ? PETSC_TRUE : PETSC_FALSE;
      MuonVotesCountMessage(muon, group, 1, owns, entries, planes, from, (double)planes * (double)entries, 8.0 * (double)bytes);
      for (unsigned k = 0; k < planes; k++) MuonKernelCopyBits(entries, from + k * section, 0, votes->majority[k], (size_t)votes->cut[i]);
    }
  }
  MuonStatusMerge(received, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bits of a block from a row, where they begin at a byte or in scratch */
static PetscErrorCode MuonVotesGetBits_Private(Muon muon, const MuonVotesBlock *one, const unsigned char *row, const unsigned char **bits)
{
  unsigned char *copy;

  PetscFunctionBegin;
  *bits = row + one->at / 8;
  if (one->at % 8 == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGet(muon->work, (one->entries + 7) / 8, &copy));
  MuonKernelCopyBits(one->entries, row, one->at, copy, 0);
  *bits = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = keep X + scale S on a block */
PetscErrorCode MuonVotesMove_Private(Muon muon, MuonVotes votes, const MuonVotesBlock *one, double keep, const MuonArray *X, double scale, const MuonArray *Y)
{
  const unsigned char *bits[2] = {NULL, NULL};
  PetscLogDouble       flops;
  MuonMark             mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonLogDeviceBegin(Y->memory, &flops));
  for (unsigned k = 0; k < votes->planes; k++) PetscCall(MuonVotesGetBits_Private(muon, one, votes->majority[k], &bits[k]));
  MuonArrayKernels(Y)->SignsAxpby(Y->len, Y->count, bits[0], bits[1], keep, X->data, X->ld, scale, Y->data, Y->ld);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)one->entries));
  PetscCall(MuonLogDeviceEnd(Y->memory, flops));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesExpand_Private(Muon muon, MuonShard *shard, PetscInt number, MuonArray *S)
{
  const MuonArray state = MuonShardStateShape(shard);
  MuonArray       part  = state; /* *S is scratch, of which the caller has the mark */
  MuonBlock       block;

  PetscFunctionBegin;
  if (number >= 0) {
    const MuonVotesBlock *one = MuonVotesFind(shard, number);

    PetscCall(MuonLayerGetRowsBlock(shard->layer, number, &block));
    part = one != NULL ? MuonVotesPart(one, &state) : MuonArrayPart(&state, 0, (size_t)block.column, 0, (size_t)block.n);
  }
  PetscCall(MuonWorkspaceGetArray(muon->work, &part, state.precision, S));
  PetscCall(MuonArrayZero(S));
  for (PetscInt b = 0; b < MuonVotesCount(shard); b++) {
    const MuonVotesBlock *one = MuonVotesBlockOf(shard, b);

    part = number < 0 ? MuonVotesPart(one, S) : *S;
    if (number < 0 || one->number == number) PetscCall(MuonVotesMove_Private(muon, MuonVotesOf(shard->group), one, 1, &part, 1, &part));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step of the layer's optimizer to S of the whole shard, which all workers compute */
static PetscErrorCode MuonVotesApply_Private(Muon muon, MuonShard *shard, const MuonArray *W, MuonStatus *status)
{
  MuonArray  S;
  MuonStatus stepped = MUON_STATUS_OK;
  MuonMark   mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonVotesExpand_Private(muon, shard, -1, &S));
  PetscCall(MuonLayerStep(shard->layer, &shard->round->info, &S, W, &shard->Xnew, &stepped));
  MuonStatusMerge(stepped, status);
  if (stepped == MUON_STATUS_OK) PetscCall(MuonServerEncode_Private(muon, shard, &shard->Xnew, W, status));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The factor of S. No entry of S exceeds 1, so that it is known before the step whether the new weights are finite
*/
static PetscErrorCode MuonVotesScale_Private(Muon muon, MuonShard *shard, PetscInt b, const MuonArray *W, MuonStatus *status)
{
  const MuonLayerStepInfo *info      = &shard->round->info;
  const MuonVotesRule     *rule      = &MuonVotesOf(shard->group)->rule;
  MuonVotesBlock          *one       = MuonVotesBlockOf(shard, b);
  const MuonArray          part      = MuonVotesPart(one, W);
  const PetscBool          assembled = shard->group->server != NULL && rule->whole ? PETSC_TRUE : PETSC_FALSE;
  PetscReal                factor;
  MuonBlock                block;
  MuonArray                S;
  MuonMatrix               matrix;
  MuonMark                 mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonLayerGetBlock_Private(shard->layer, one->number, &block));
  PetscCall(MuonLayerGetBlockFactor_Private(shard->layer, one->number, &factor));
  if (assembled == PETSC_FALSE) {
    one->length = 1;
    if (rule->whole) {
      PetscCall(MuonVotesExpand_Private(muon, shard, one->number, &S));
      matrix = MuonMatrixOfArray(&S);
    }
    if (rule->length != NULL) PetscCall((*rule->length)(muon, shard, &block, rule->whole ? &matrix : NULL, &one->length, status));
  }
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  one->scale            = one->length > 0 ? -(info->rate * (double)factor) / one->length : 0;
  shard->group->replica = (unsigned int)MuonWireCRC32C((uint32_t)shard->group->replica, (const unsigned char *)&one->scale, sizeof(one->scale));
  if (!(fabs(1 - info->rate * info->decay) * MuonArrayKernels(&part)->MaxAbs(part.len, part.count, part.data, part.ld) + fabs(one->scale) <= (part.precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX))) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesPrepare_Private(Muon muon, MuonShard *shard, MuonStatus *status)
{
  MuonArray whole, W;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  W = MuonShardPart(shard, &whole);
  if (shard->Xnew.data != NULL) PetscCall(MuonVotesApply_Private(muon, shard, &W, status));
  else {
    for (PetscInt b = 0; b < MuonVotesCount(shard) && *status == MUON_STATUS_OK; b++) PetscCall(MuonVotesScale_Private(muon, shard, b, &W, status));
  }
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesDown_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  MuonVotes       votes      = MuonVotesOf(group);
  const PetscBool everywhere = group->exchange->everywhere;
  uint64_t        sum;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Aggregate, muon, 0, 0, 0));
  if (everywhere) {
    PetscCall(MuonVotesCountItem_Private(muon, group, 0, votes->majority[0], votes->planes > 1 ? votes->majority[1] : NULL, &sum, status));
    if (group->exchange->worker == 0) record->score += (double)sum / ((double)votes->workers * votes->entries);
    for (unsigned k = 0; k < votes->planes; k++) group->replica = (unsigned int)MuonWireCRC32C((uint32_t)group->replica, votes->majority[k], votes->bytes);
  } else {
    PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_DOWN, (PetscInt64)muon->step));
    for (PetscInt k = 0; k < votes->nitems && *status == MUON_STATUS_OK; k++) {
      const PetscInt i = group->exchange->order[k];

      if (group->exchange->owner[i] != group->exchange->worker) continue;
      PetscCall(MuonVotesServeItem_Private(muon, group, i, &sum, status));
      record->score += (double)sum / ((double)votes->workers * votes->entries);
    }
  }
  PetscCall(PetscLogEventEnd(MUON_Aggregate, muon, 0, 0, 0));
  MuonNextPhase(muon, *status);
  if (everywhere == PETSC_FALSE) {
    PetscCall(MuonExchangeMove(group->exchange, MUON_EXCHANGE_DOWN, *status));
    for (PetscInt i = 0; i < votes->nitems; i++) PetscCall(MuonVotesReceive_Private(muon, group, i, status));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
