#include "signvotes.h"
#include "../../../kernels/codec/muonkernels.h"
#include <math.h>

/*
   The row of votes: its layout, how it is filled and sent to the ranks that count it.
*/

PetscInt MuonVotesCount(const MuonShard *shard)
{
  const MuonVotes votes = MuonVotesOf(shard->group);
  const PetscInt  k     = (PetscInt)(shard - shard->group->shard);

  return votes->first[k + 1] - votes->first[k];
}

/* NULL where none of its rows are here */
MuonVotesBlock *MuonVotesFind(const MuonShard *shard, PetscInt number)
{
  for (PetscInt b = 0; b < MuonVotesCount(shard); b++) {
    if (MuonVotesBlockOf(shard, b)->number == number) return MuonVotesBlockOf(shard, b);
  }
  return NULL;
}

PetscErrorCode MuonVotesGetBlock(const MuonShard *shard, PetscInt b, const MuonArray *whole, MuonArray *part, MuonBlock *block)
{
  const MuonVotesBlock *one = MuonVotesBlockOf(shard, b);

  PetscFunctionBegin;
  if (part != NULL) *part = MuonVotesPart(one, whole);
  PetscCall(MuonLayerGetBlock_Private(shard->layer, one->number, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the row is laid out */
PetscErrorCode MuonVotesLayOut_Private(Muon muon, MuonGroup group)
{
  MuonVotes votes = MuonVotesOf(group);
  PetscInt  most  = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->nshards; k++) most += MuonBlocksCount_Private(&group->shard[k].layer->blocks);
  PetscCall(PetscMalloc2(group->nshards + 1, &votes->first, most, &votes->block));
  PetscCall(PetscMalloc1(group->nshards + 1, &votes->start));
  votes->first[0] = 0;
  votes->bits     = 0;
  for (PetscInt k = 0; k < group->nshards; k++) {
    const MuonShard *shard = &group->shard[k];

    votes->start[k]     = (PetscInt64)votes->bits;
    votes->first[k + 1] = votes->first[k];
    for (PetscInt b = 0; b < MuonBlocksCount_Private(&shard->layer->blocks); b++) {
      MuonVotesBlock *one = &votes->block[votes->first[k + 1]];
      PetscInt        end;

      PetscCall(MuonLayerGetRowsBlock(shard->layer, b, &one->block));
      end            = PetscMin(one->block.row + one->block.m, shard->row + shard->rows);
      one->block.row = PetscMax(one->block.row - shard->row, 0);
      one->block.m   = end - shard->row - one->block.row;
      if (one->block.m <= 0 || one->block.n == 0) continue;
      one->number  = b;
      one->at      = votes->bits;
      one->entries = (size_t)one->block.m * (size_t)one->block.n;
      votes->bits += one->entries;
      votes->first[k + 1]++;
    }
  }
  votes->start[group->nshards] = (PetscInt64)votes->bits;
  votes->bytes                 = (votes->bits + 7) / 8;
  votes->entries               = 0;
  for (PetscInt l = 0; l < muon->nactive; l++) {
    if (MuonShardOf(muon->active[l])->group->ops == group->ops) votes->entries += (PetscLogDouble)muon->active[l]->m * (PetscLogDouble)muon->active[l]->n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t MuonVotesMessageBytes(MuonVotes votes, PetscInt i, unsigned planes)
{
  return MUON_WIRE_MESSAGE_HEADER_MOST + planes * (size_t)((votes->cut[i + 1] - votes->cut[i] + 7) / 8);
}

/*
   Bits of a message: by the papers' count, as encoded, and its entropy, with each plane as independent bits
*/
void MuonVotesCountMessage(Muon muon, MuonGroup group, int down, PetscBool owns, size_t entries, unsigned planes, const unsigned char *from, double paper, double encoded)
{
  const double       d    = (double)entries;
  MuonCompressorCost cost = {paper, encoded, 0};

  for (unsigned k = 0; k < planes && muon->count_entropy && entries > 0; k++) {
    const double p = (double)MuonKernelCountBits(from + k * ((entries + 7) / 8), 0, entries) / d;

    if (p > 0 && p < 1) cost.entropy -= d * (p * log2(p) + (1 - p) * log2(1 - p));
  }
  MuonCountMessage_Private(muon, group, NULL, down, owns, &cost);
}

/* The header of a message on so many planes of an item */
unsigned MuonVotesWrite(MuonVotes votes, PetscInt i, unsigned planes, unsigned char *to, uint64_t *whole)
{
  MuonWireMessage header;

  header.layer     = (uint32_t)votes->hash[i];
  header.kind      = MUON_WIRE_VOTES;
  header.indices   = MUON_WIRE_INDICES_NONE;
  header.values    = 0;
  header.parameter = (uint8_t)planes;
  header.count     = (uint64_t)(votes->cut[i + 1] - votes->cut[i]);
  header.bytes     = planes * ((header.count + 7) / 8);
  *whole           = MuonWireMessageBytes(&header);
  return MuonWireMessageWrite(to, &header);
}

/* The planes of a message, NULL where it is not what was expected */
const unsigned char *MuonVotesOpen(MuonVotes votes, PetscInt i, unsigned planes, size_t bytes, const unsigned char *message)
{
  MuonWireMessage      header;
  const unsigned char *plain;

  if (MuonWireMessageExpand(message, bytes, (uint32_t)votes->hash[i], 1, (uint64_t)(votes->cut[i + 1] - votes->cut[i]), 0, NULL, &plain, &header) != MUON_WIRE_OK) return NULL;
  return header.kind == MUON_WIRE_VOTES && header.parameter == planes ? message + MuonWireMessageHeaderBytes(&header) : NULL;
}

/* Random bits of a round, from bit at on, for a block. Entries are numbered in the whole layer, so that no bit depends on the distribution */
static void MuonVotesDraw_Private(Muon muon, const MuonShard *shard, const MuonVotesBlock *one, PetscBool down, PetscMPIInt sender, unsigned char *bits, size_t at)
{
  const MuonKernelStream stream = {(uint64_t)muon->seed, (uint32_t)shard->layer->hash, (uint32_t)MuonGroupStep(muon, shard->group), (uint32_t)sender, (uint32_t)down};
  const MuonArray        state = MuonShardStateShape(shard), part = MuonVotesPart(one, &state);
  const size_t           row = (size_t)(shard->row + one->block.row), column = (size_t)one->block.column;
  const size_t           len = (size_t)(state.rowmajor ? shard->layer->n : shard->layer->m), first = state.rowmajor ? row * len + column : column * len + row;

  if (part.len == len) MuonKernelStreamBits(&stream, first, one->entries, bits, at);
  else {
    for (size_t v = 0; v < part.count; v++) MuonKernelStreamBits(&stream, first + v * len, part.len, bits, at + v * part.len);
  }
}

void MuonVotesToss_Private(Muon muon, MuonGroup group)
{
  const MuonVotes votes = MuonVotesOf(group);

  for (PetscInt k = 0; k < group->nshards && votes->coin != NULL; k++) {
    for (PetscInt b = votes->first[k]; b < votes->first[k + 1]; b++) MuonVotesDraw_Private(muon, &group->shard[k], &votes->block[b], PETSC_TRUE, 0, votes->coin, votes->block[b].at);
  }
}

/* One bit has no room for a zero: a worker votes for it by a bit of its own */
PetscErrorCode MuonVotesFill_Private(Muon muon, MuonShard *shard, PetscInt number, const MuonArray *U, MuonStatus *status)
{
  MuonVotes             votes   = MuonVotesOf(shard->group);
  const MuonVotesBlock *one     = MuonVotesFind(shard, number);
  const MuonKernels    *kernels = MuonArrayKernels(U);
  const size_t          bytes   = one == NULL ? 0 : (one->entries + 7) / 8;
  unsigned char        *to, *zeros, *own;
  double                sum;
  MuonMark              mark;

  PetscFunctionBegin;
  if (one == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  to = votes->own + one->at / 8;
  if (one->at % 8 != 0) PetscCall(MuonWorkspaceGet(muon->work, bytes, &to));
  PetscCall(MuonWorkspaceGet(muon->work, bytes, &zeros));
  PetscCall(MuonWorkspaceGet(muon->work, bytes, &own));
  if (kernels->Signs(U->len, U->count, U->data, U->ld, NULL, 0, to, zeros, &sum) != 0) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  else if (MuonKernelCountBits(zeros, 0, one->entries) > 0) {
    MuonVotesDraw_Private(muon, shard, one, PETSC_FALSE, shard->group->exchange->worker, own, 0);
    for (size_t k = 0; k < bytes; k++) to[k] &= (unsigned char)(own[k] | ~zeros[k]);
  }
  if (one->at % 8 != 0) MuonKernelCopyBits(one->entries, to, 0, votes->own, one->at);
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A worker's signs, one block behind the other. What is made of whole blocks is made of several at once in
   the memory of a device, as long as it stays within the bytes of a batch
*/
PetscErrorCode MuonVotesFillAll_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  const MuonVotes votes = MuonVotesOf(group);
  const PetscInt  n     = votes->first[group->nshards];
  const size_t    batch = *MuonWorkspaceBatch(muon->work);
  MuonMatrix     *T, *U;
  MuonShard     **shard;
  MuonStatus     *made;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &T, n, &U, n, &shard, n, &made));
  for (PetscInt k = 0; k < group->nshards; k++) {
    for (PetscInt i = votes->first[k]; i < votes->first[k + 1]; i++) {
      const MuonArray part = MuonVotesPart(&votes->block[i], &group->shard[k].round->T);

      shard[i] = &group->shard[k];
      made[i]  = MUON_STATUS_OK;
      T[i] = U[i] = MuonMatrixOfArray(&part);
    }
  }
  for (PetscInt i = 0, end = 0; i < n && *status == MUON_STATUS_OK; i = end) {
    size_t   bytes = 0;
    MuonMark mark;

    PetscCall(MuonWorkspaceMark(muon->work, &mark));
    while (end < n && (end == i || (T[i].here.memory != MUON_HOST && T[end].here.memory != MUON_HOST && bytes + MuonScratchBytes(&T[end].here) <= batch))) {
      bytes += MuonScratchBytes(&T[end].here);
      if (votes->rule.direction != NULL) PetscCall(MuonWorkspaceGetArray(muon->work, &T[end].here, T[end].here.precision, &U[end].here));
      end++;
    }
    if (votes->rule.direction != NULL) PetscCall((*votes->rule.direction)(muon, end - i, shard + i, T + i, U + i, made + i));
    for (PetscInt k = i; k < end; k++) {
      MuonStatusMerge(made[k], status);
      if (*status == MUON_STATUS_OK) PetscCall(MuonVotesFill_Private(muon, shard[k], votes->block[k].number, &U[k].here, status));
      MuonNoteStatus(muon, shard[k]->layer, *status);
    }
    PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  }
  PetscCall(PetscFree4(T, U, shard, made));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesUpGather_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  MuonVotes votes = MuonVotesOf(group);

  PetscFunctionBegin;
  for (PetscInt k = 0; k < votes->nitems && *status == MUON_STATUS_OK; k++) {
    const PetscInt i       = group->exchange->order[k];
    const size_t   entries = (size_t)(votes->cut[i + 1] - votes->cut[i]);
    unsigned char *to;
    uint64_t       whole;
    unsigned       head;
    PetscBool      owns;

    PetscCall(MuonExchangeReserve(group->exchange, MUON_EXCHANGE_UP, i, MuonVotesMessageBytes(votes, i, 1), &to));
    head = MuonVotesWrite(votes, i, 1, to, &whole);
    MuonKernelCopyBits(entries, votes->own, (size_t)votes->cut[i], to + head, 0);
    owns = group->exchange->owner[i] == group->exchange->worker ? PETSC_TRUE : PETSC_FALSE;
    MuonVotesCountMessage(muon, group, 0, owns, entries, 1, to + head, (double)entries, 8.0 * (double)whole);
    PetscCall(MuonExchangeAdvance(group->exchange, MUON_EXCHANGE_UP, i, (size_t)whole));
  }
  PetscCall(MuonGroupMove_Private(group, *status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A binomial tree: worker w is above those from w + 1 to w + 2^k - 1, 2^k being the lowest bit of w, and sends to w - 2^k */
static PetscErrorCode MuonVotesUpTree_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  MuonVotes         votes = MuonVotesOf(group);
  const PetscMPIInt me = group->exchange->worker, all = group->exchange->nworkers;
  PetscMPIInt       workers = 1; /* that counts[0] is of */
  unsigned          planes, head;
  unsigned char    *to;
  uint64_t          whole;
  size_t            max;

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(votes->counts[0], votes->own, votes->bytes));
  for (PetscMPIInt step = 1; step < all && (me & step) == 0; step *= 2) {
    const PetscMPIInt    below = me + step, theirs = PetscMin(step, all - below);
    unsigned char       *before = votes->counts[0];
    const unsigned char *message, *counts = NULL;
    size_t               bytes;
    MuonStatus           received;

    if (below >= all) continue;
    planes = MuonKernelVotePlanes((size_t)theirs);
    PetscCall(MuonExchangeTreeReceive(group->exchange, below, MuonVotesMessageBytes(votes, 0, planes), &bytes, &message, &received));
    if (received == MUON_STATUS_OK) counts = MuonVotesOpen(votes, 0, planes, bytes, message);
    if (received == MUON_STATUS_OK && counts == NULL) received = MUON_STATUS_CORRUPT;
    MuonStatusMerge(received, status);
    if (counts != NULL) {
      MuonKernelVoteAdd(votes->bits, (size_t)workers, before, (size_t)theirs, counts, votes->counts[1]);
      votes->counts[0] = votes->counts[1];
      votes->counts[1] = before;
    }
    workers += theirs;
  }
  if (me == 0) PetscFunctionReturn(PETSC_SUCCESS);
  planes = MuonKernelVotePlanes((size_t)workers);
  max    = MuonVotesMessageBytes(votes, 0, planes);
  if (*status == MUON_STATUS_OK) {
    PetscCall(MuonExchangeReserve(group->exchange, MUON_EXCHANGE_UP, 0, max, &to));
    head = MuonVotesWrite(votes, 0, planes, to, &whole);
    PetscCall(PetscMemcpy(to + head, votes->counts[0], planes * votes->bytes));
    MuonVotesCountMessage(muon, group, 0, PETSC_FALSE, votes->bits, planes, to + head, (double)votes->bits, 8.0 * (double)whole);
    PetscCall(MuonExchangeAdvance(group->exchange, MUON_EXCHANGE_UP, 0, (size_t)whole));
  }
  PetscCall(MuonExchangeTreeSend(group->exchange, me - (me & -me), max, *status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesUp_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  MuonVotes          votes = MuonVotesOf(group);
  const MPI_Datatype type  = votes->size == 1 ? MPI_INT8_T : MPI_INT16_T;

  PetscFunctionBegin;
  if (group->exchange->mode == MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonVotesUpGather_Private(muon, group, status));
  else if (group->exchange->mode == MUON_EXCHANGE_MODE_REDUCE) PetscCall(MuonVotesUpTree_Private(muon, group, status));
  else {
    /* Sums are sent in full for any status, which all ranks learn at the end */
    MuonKernelVoteSpread(votes->bits, votes->own, group->exchange->worker == 0 ? votes->coin : NULL, votes->size, votes->counts[0]);
    MuonVotesCountMessage(muon, group, 0, PETSC_TRUE, votes->bits, 1, votes->own, 8.0 * (double)votes->bits, 8.0 * votes->size * (double)votes->bits);
    PetscCall(MuonExchangeReduceTyped(group->exchange, (PetscInt64)votes->bits, type, votes->counts[0], votes->counts[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
