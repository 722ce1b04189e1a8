#include "signvotes.h"
#include "../../../kernels/codec/muonkernels.h"
#include <math.h>

/*
   The row of votes: how it is laid out, filled and sent to where it is counted.
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
    const MuonGroupOps *ops = NULL;

    PetscUseTypeMethod(muon, group, muon->active[l], &ops);
    if (ops == group->ops) votes->entries += (PetscLogDouble)muon->active[l]->m * (PetscLogDouble)muon->active[l]->n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t MuonVotesMessageBytes(MuonVotes votes, PetscInt i, unsigned planes)
{
  return MUON_WIRE_MESSAGE_HEADER_MOST + planes * (size_t)((votes->cut[i + 1] - votes->cut[i] + 7) / 8);
}

/*
   Bits of a message: as the papers count it, as it is, and in its entropy, each plane as bits that know
   nothing of each other
*/
void MuonVotesCountMessage(Muon muon, size_t entries, unsigned planes, const unsigned char *from, double paper, double encoded, PetscLogDouble bits[3])
{
  const double d = (double)entries;

  bits[0] += paper;
  bits[1] += encoded;
  for (unsigned k = 0; k < planes && muon->count_entropy && entries > 0; k++) {
    const double p = (double)MuonKernelCountBits(from + k * ((entries + 7) / 8), 0, entries) / d;

    if (p > 0 && p < 1) bits[2] -= d * (p * log2(p) + (1 - p) * log2(1 - p));
  }
}

/* The header of a message on so many planes of an item */
unsigned MuonVotesWrite(MuonVotes votes, PetscInt i, unsigned planes, unsigned char *to, uint64_t *whole)
{
  MuonWireMessage header;

  header.layer     = (uint32_t)votes->hash[i];
  header.form      = MUON_WIRE_VOTES;
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
  return header.form == MUON_WIRE_VOTES && header.parameter == planes ? message + MuonWireMessageHeaderBytes(&header) : NULL;
}

PetscErrorCode MuonVotesFill_Private(Muon muon, MuonShard *shard, PetscInt number, const MuonArray *U, MuonStatus *status)
{
  MuonVotes             votes   = MuonVotesOf(shard->group);
  const MuonVotesBlock *one     = MuonVotesFind(shard, number);
  const MuonKernels    *kernels = MuonArrayKernels(U);
  unsigned char        *to;
  double                sum;
  MuonMark              mark;

  PetscFunctionBegin;
  if (one == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  to = votes->own + one->at / 8;
  if (one->at % 8 != 0) PetscCall(MuonWorkspaceGet(muon->work, (one->entries + 7) / 8, &to));
  if (kernels->Signs(U->len, U->count, U->data, U->ld, NULL, 0, to, &sum) != 0) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  if (one->at % 8 != 0) MuonKernelCopyBits(one->entries, to, 0, votes->own, one->at);
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks whose U are made together, side by side in scratch */
typedef struct {
  PetscInt    n;
  size_t      bytes, *at;
  MuonShard **shard;
  PetscInt   *number; /* of the block */
  MuonMatrix *T, *U;
  MuonStatus *status;
} MuonVotesRun;

static PetscErrorCode MuonVotesFillRun_Private(Muon muon, MuonVotesRun *run, MuonStatus *status)
{
  char    *slot;
  MuonMark mark;

  PetscFunctionBegin;
  if (run->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonWorkspaceGetIn(muon->work, run->T[0].here.memory, run->bytes, &slot));
  for (PetscInt k = 0; k < run->n; k++) {
    const MuonArray U = MuonArrayLike(&run->T[k].here, run->T[k].here.precision, slot + run->at[k]);

    run->U[k] = MuonMatrixOfArray(&U);
  }
  PetscCall((*MuonVotesOf(run->shard[0]->group)->rule.direction)(muon, run->n, run->shard, run->T, run->U, run->status));
  for (PetscInt k = 0; k < run->n; k++) {
    MuonStatusMerge(run->status[k], status);
    if (*status == MUON_STATUS_OK) PetscCall(MuonVotesFill_Private(muon, run->shard[k], run->number[k], &run->U[k].here, status));
    MuonNoteStatus(muon, run->shard[k]->layer, *status);
  }
  run->n     = 0;
  run->bytes = 0;
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A worker's signs, one block behind the other. What is made of whole blocks is made of several at once in
   the memory of a device, as long as it stays within the bytes of a batch
*/
PetscErrorCode MuonVotesFillAll_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  const PetscInt most = MuonVotesOf(group)->first[group->nshards];
  MuonVotesRun   run;

  PetscFunctionBegin;
  run.n     = 0;
  run.bytes = 0;
  PetscCall(PetscMalloc6(most, &run.at, most, &run.shard, most, &run.number, most, &run.T, most, &run.U, most, &run.status));
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[k];

    for (PetscInt b = 0; b < MuonVotesCount(shard) && *status == MUON_STATUS_OK; b++) {
      const MuonVotesBlock *one  = MuonVotesBlockOf(shard, b);
      const MuonArray       part = MuonVotesPart(one, &shard->T);
      const size_t          more = MuonScratchBytes(&part);

      if (MuonVotesOf(shard->group)->rule.direction == NULL) {
        PetscCall(MuonVotesFill_Private(muon, shard, one->number, &part, status));
        MuonNoteStatus(muon, shard->layer, *status);
        continue;
      }
      if (run.n > 0 && (part.memory == MUON_HOST || run.T[0].here.memory == MUON_HOST || (PetscReal)(run.bytes + more) > muon->device_batch_bytes)) PetscCall(MuonVotesFillRun_Private(muon, &run, status));
      run.shard[run.n]  = shard;
      run.number[run.n] = one->number;
      run.T[run.n]      = MuonMatrixOfArray(&part);
      run.at[run.n++]   = run.bytes;
      run.bytes += more;
    }
  }
  if (*status == MUON_STATUS_OK) PetscCall(MuonVotesFillRun_Private(muon, &run, status));
  PetscCall(PetscFree6(run.at, run.shard, run.number, run.T, run.U, run.status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesUpGather_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  MuonVotes       votes = MuonVotesOf(group);
  const PetscInt *order;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetOrder(group->exchange, &order));
  for (PetscInt k = 0; k < votes->nitems && *status == MUON_STATUS_OK; k++) {
    const PetscInt i       = order[k];
    const size_t   entries = (size_t)(votes->cut[i + 1] - votes->cut[i]);
    unsigned char *to;
    uint64_t       whole;
    unsigned       head;

    PetscCall(MuonExchangeReserve(group->exchange, MUON_EXCHANGE_UP, i, MuonVotesMessageBytes(votes, i, 1), &to));
    head = MuonVotesWrite(votes, i, 1, to, &whole);
    MuonKernelCopyBits(entries, votes->own, (size_t)votes->cut[i], to + head, 0);
    MuonVotesCountMessage(muon, entries, 1, to + head, (double)entries, 8.0 * (double)whole, muon->traffic.up);
    PetscCall(MuonExchangeAdvance(group->exchange, MUON_EXCHANGE_UP, i, (size_t)whole));
  }
  PetscCall(MuonExchangeUp(group->exchange, *status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums travel in full whatever the status is, which all ranks learn at the end */
static PetscErrorCode MuonVotesUpSum_Private(Muon muon, MuonGroup group)
{
  MuonVotes          votes  = MuonVotesOf(group);
  const PetscInt64   length = (PetscInt64)votes->bits;
  const MPI_Datatype type   = votes->size == 1 ? MPI_INT8_T : MPI_INT16_T;
  const void        *in     = votes->signs;
  const double       bits   = 8.0 * votes->size * (double)votes->bits;

  PetscFunctionBegin;
  MuonKernelVoteSpread(votes->bits, votes->own, votes->size, votes->signs);
  MuonVotesCountMessage(muon, votes->bits, 1, votes->own, 8.0 * (double)votes->bits, bits, muon->traffic.up);
  PetscCall(MuonExchangeReduceTyped(group->exchange, &length, &type, &in, &votes->sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the tree asks of the votes: counts of those below, the worker's own among them */
typedef struct {
  Muon      muon;
  MuonGroup group;
} MuonVotesTree;

static PetscErrorCode MuonVotesTreeMost_Private(void *ctx, PetscMPIInt workers, size_t *bytes)
{
  PetscFunctionBegin;
  *bytes = MuonVotesMessageBytes(MuonVotesOf(((MuonVotesTree *)ctx)->group), 0, MuonKernelVotePlanes((size_t)workers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesTreeMerge_Private(void *ctx, PetscMPIInt workers, size_t bytes, const unsigned char message[], MuonStatus *status)
{
  MuonVotes            votes  = MuonVotesOf(((MuonVotesTree *)ctx)->group);
  const unsigned char *theirs = MuonVotesOpen(votes, 0, MuonKernelVotePlanes((size_t)workers), bytes, message);
  unsigned char       *before = votes->counts[0];

  PetscFunctionBegin;
  if (theirs == NULL) *status = MUON_STATUS_CORRUPT;
  else {
    MuonKernelVoteAdd(votes->bits, (size_t)votes->counted, before, (size_t)workers, theirs, votes->counts[1]);
    votes->counts[0] = votes->counts[1];
    votes->counts[1] = before;
    votes->counted += workers;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesTreeWrite_Private(void *ctx, PetscMPIInt workers, unsigned char message[], size_t *bytes)
{
  Muon           muon   = ((MuonVotesTree *)ctx)->muon;
  MuonVotes      votes  = MuonVotesOf(((MuonVotesTree *)ctx)->group);
  const unsigned planes = MuonKernelVotePlanes((size_t)workers);
  uint64_t       whole;
  const unsigned head = MuonVotesWrite(votes, 0, planes, message, &whole);

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(message + head, votes->counts[0], planes * votes->bytes));
  MuonVotesCountMessage(muon, votes->bits, planes, message + head, (double)votes->bits, 8.0 * (double)whole, muon->traffic.up);
  *bytes = (size_t)whole;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesUpTree_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  MuonVotes                    votes  = MuonVotesOf(group);
  MuonVotesTree                tree   = {muon, group};
  const MuonExchangeTreeClient client = {MuonVotesTreeMost_Private, MuonVotesTreeMerge_Private, MuonVotesTreeWrite_Private, &tree};

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(votes->counts[0], votes->own, votes->bytes));
  votes->counted = 1;
  PetscCall(MuonExchangeTree(group->exchange, &client, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesUp_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  PetscFunctionBegin;
  if (group->mode == MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonVotesUpGather_Private(muon, group, status));
  else if (group->mode == MUON_EXCHANGE_MODE_REDUCE) PetscCall(MuonVotesUpTree_Private(muon, group, status));
  else PetscCall(MuonVotesUpSum_Private(muon, group));
  PetscFunctionReturn(PETSC_SUCCESS);
}
