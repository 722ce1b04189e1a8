#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muonwire.h>
#include "../../../kernels/codec/muonkernels.h"
#include <float.h>
#include <math.h>

/*
   The round of a group that votes. The signs of all its shards are one row of bits, a shard behind the other
   and a block behind the other in a shard; the exchange cuts it into items of its own. A worker fills the
   row, items are voted on where the exchange says, and then every worker has the row of the majority, from
   which it makes its new weights at the commit. Where a worker is several ranks the row is of the shards at
   one position, and what is made of whole blocks goes through the group's assembly (muonassemble.c).
*/

/* A block of a layer, or the rows of it that are in a shard */
typedef struct {
  MuonBlock block; /* in the shard */
  PetscInt  number;
  size_t    at, entries;
  double    length, by; /* what the majority is divided by in this step, and what it is multiplied with in all */
} MuonVotesBlock;

struct _n_MuonVotes {
  PetscInt             *first; /* block of each shard, and the end */
  MuonVotesBlock       *block;
  PetscInt              nitems;
  PetscInt64           *cut;  /* where each item begins, and the end */
  unsigned int         *hash; /* by which messages know it */
  size_t                bits, bytes;
  PetscLogDouble        entries; /* of all layers that vote */
  PetscMPIInt           workers;
  unsigned char        *own, *majority, *ties; /* rows; ties is NULL where nobody asks for them or there are none */
  unsigned char        *counts[2];             /* of a tree */
  PetscMPIInt           counted;               /* how many workers counts[0] is of */
  void                 *signs, *sums;          /* of the mode allreduce */
  unsigned              size;                  /* bytes of one of them */
  const unsigned char **plane;
};

PetscInt MuonVotesCount(const MuonShard *shard)
{
  const MuonVotes votes = shard->group->votes;
  const PetscInt  k     = (PetscInt)(shard - shard->group->shard);

  return votes->first[k + 1] - votes->first[k];
}

static MuonVotesBlock *MuonVotesBlockOf(const MuonShard *shard, PetscInt b)
{
  return &shard->group->votes->block[shard->group->votes->first[shard - shard->group->shard] + b];
}

/* NULL where none of its rows are here */
static MuonVotesBlock *MuonVotesFind(const MuonShard *shard, PetscInt number)
{
  for (PetscInt b = 0; b < MuonVotesCount(shard); b++) {
    if (MuonVotesBlockOf(shard, b)->number == number) return MuonVotesBlockOf(shard, b);
  }
  return NULL;
}

/* There is nobody to vote with */
static PetscBool MuonVotesAlone(const MuonGroup group)
{
  return group->grid->size > 1 && group->grid->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;
}

static MuonArray MuonVotesPart(const MuonVotesBlock *one, const MuonArray *whole)
{
  return MuonArrayPart(whole, (size_t)one->block.row, (size_t)one->block.column, (size_t)one->block.m, (size_t)one->block.n);
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
static PetscErrorCode MuonVotesLayOut_Private(Muon muon, MuonGroup group, PetscInt64 **start)
{
  MuonVotes votes = group->votes;
  PetscInt  most  = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->nshards; k++) most += MuonBlocksCount_Private(&group->shard[k].layer->blocks);
  PetscCall(PetscMalloc2(group->nshards + 1, &votes->first, most, &votes->block));
  PetscCall(PetscMalloc1(group->nshards + 1, start));
  votes->first[0] = 0;
  votes->bits     = 0;
  for (PetscInt k = 0; k < group->nshards; k++) {
    const MuonShard *shard = &group->shard[k];

    (*start)[k]         = (PetscInt64)votes->bits;
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
  (*start)[group->nshards] = (PetscInt64)votes->bits;
  votes->bytes             = (votes->bits + 7) / 8;
  votes->entries           = 0;
  for (PetscInt l = 0; l < muon->nactive; l++) {
    PetscBool does;

    PetscUseTypeMethod(muon, votes, muon->active[l], &does);
    if (does) votes->entries += (PetscLogDouble)muon->active[l]->m * (PetscLogDouble)muon->active[l]->n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t MuonVotesMessageBytes(MuonVotes votes, PetscInt i, unsigned planes)
{
  return MUON_WIRE_MESSAGE_HEADER_MOST + planes * (size_t)((votes->cut[i + 1] - votes->cut[i] + 7) / 8);
}

static unsigned MuonVotesPlanesDown(MuonVotes votes)
{
  return votes->ties != NULL ? 2 : 1;
}

/* Items are known by what is in the whole row, and by where in it they begin */
static PetscErrorCode MuonVotesSetItems_Private(MuonGroup group, const PetscInt64 start[])
{
  MuonVotes       votes  = group->votes;
  size_t          length = 6, one, *up, *down;
  char           *text, **names, name[64];
  PetscLogDouble *bytes;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCutVotes(group->exchange, group->nshards, start, &votes->nitems, &votes->cut));
  for (PetscInt k = 0; k < group->nshards; k++) {
    PetscCall(PetscStrlen(group->shard[k].name, &one));
    length += one + 1;
  }
  length += sizeof(name);
  PetscCall(PetscMalloc1(length, &text));
  PetscCall(PetscStrncpy(text, "votes", length));
  for (PetscInt k = 0; k < group->nshards; k++) {
    PetscCall(PetscStrlcat(text, "@", length));
    PetscCall(PetscStrlcat(text, group->shard[k].name, length));
  }
  PetscCall(PetscStrlen(text, &one));
  PetscCall(PetscMalloc1(votes->nitems, &votes->hash));
  PetscCall(PetscMalloc4(votes->nitems, &names, votes->nitems, &bytes, votes->nitems, &up, votes->nitems, &down));
  for (PetscInt i = 0; i < votes->nitems; i++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "[%" PetscInt64_FMT "]", votes->cut[i]));
    PetscCall(PetscStrncpy(text + one, name, length - one));
    PetscCall(MuonNameHash_Private(text, &votes->hash[i]));
    PetscCall(PetscSNPrintf(name, sizeof(name), "votes %" PetscInt_FMT " from [%" PetscInt64_FMT "]", i, votes->cut[i]));
    PetscCall(PetscStrallocpy(name, &names[i]));
    bytes[i] = (PetscLogDouble)(votes->cut[i + 1] - votes->cut[i]) / 8;
    up[i]    = MuonVotesMessageBytes(votes, i, 1);
    down[i]  = MuonVotesMessageBytes(votes, i, MuonVotesPlanesDown(votes));
  }
  PetscCall(MuonExchangeSetItems(group->exchange, votes->nitems, (const char *const *)names, bytes, bytes));
  PetscCall(MuonExchangeSetUp(group->exchange));
  PetscCall(MuonExchangeSetMaxBytes(group->exchange, up, down));
  for (PetscInt i = 0; i < votes->nitems; i++) PetscCall(PetscFree(names[i]));
  PetscCall(PetscFree4(names, bytes, up, down));
  PetscCall(PetscFree(text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesCreate_Private(MuonGroup group)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(&group->votes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesSetUp_Private(Muon muon, MuonGroup group)
{
  MuonVotes   votes = group->votes;
  PetscMPIInt worker;
  PetscInt64 *start;

  PetscFunctionBegin;
  PetscCall(MuonVotesLayOut_Private(muon, group, &start));
  PetscCall(MuonExchangeGetWorkers(group->exchange, &votes->workers, &worker));
  PetscCall(PetscCalloc2(votes->bytes, &votes->own, votes->bytes, &votes->majority));
  if (muon->tieszero && votes->workers % 2 == 0) PetscCall(PetscCalloc1(PetscMax(votes->bytes, 1), &votes->ties));
  PetscCall(MuonVotesSetItems_Private(group, start));
  PetscCall(PetscFree(start));
  PetscCall(MuonExchangeResolveMode(group->exchange, PETSC_TRUE, NULL, &group->mode));
  if (MuonVotesAlone(group)) group->mode = MUON_EXCHANGE_MODE_GATHER; /* of its own votes, which are there */
  if (group->mode == MUON_EXCHANGE_MODE_ALLREDUCE) {
    PetscCheck(votes->workers <= 32767, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_exchange_mode allreduce sums the votes of at most 32767 workers, got %d; gather has no limit", MuonPrefix(muon), votes->workers);
    votes->size = votes->workers > 127 ? 2 : 1;
    PetscCall(PetscMalloc2(votes->bits * votes->size, (char **)&votes->signs, votes->bits * votes->size, (char **)&votes->sums));
  } else if (group->mode == MUON_EXCHANGE_MODE_REDUCE) {
    const size_t most = MuonKernelVotePlanes((size_t)votes->workers) * votes->bytes;

    for (int k = 0; k < 2; k++) PetscCall(PetscMalloc1(most, &votes->counts[k])); /* they change places */
  } else PetscCall(PetscMalloc1(votes->workers, &votes->plane));
  group->direct = PETSC_FALSE;
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[k];

    /* Nobody has other weights than the workers' */
    shard->layer->owner           = -1;
    shard->layer->serverisweights = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesDestroy_Private(MuonVotes *votes)
{
  PetscFunctionBegin;
  if (*votes == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree2((*votes)->first, (*votes)->block));
  PetscCall(PetscFree2((*votes)->own, (*votes)->majority));
  PetscCall(PetscFree2((*votes)->signs, (*votes)->sums));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree((*votes)->counts[k]));
  PetscCall(PetscFree((*votes)->ties));
  PetscCall(PetscFree((*votes)->cut));
  PetscCall(PetscFree((*votes)->hash));
  PetscCall(PetscFree((*votes)->plane));
  PetscCall(PetscFree(*votes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesGetMemory_Private(MuonVotes votes, PetscLogDouble *bytes)
{
  PetscFunctionBegin;
  *bytes = (PetscLogDouble)votes->bytes * (votes->ties != NULL ? 3 : 2);
  if (votes->sums != NULL) *bytes += 2.0 * votes->size * (PetscLogDouble)votes->bits;
  if (votes->counts[0] != NULL) *bytes += 2.0 * MuonKernelVotePlanes((size_t)votes->workers) * (PetscLogDouble)votes->bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bits of a message: as the papers count it, as it is, and in its entropy, each plane as bits that know
   nothing of each other
*/
static void MuonVotesCountMessage(Muon muon, size_t entries, unsigned planes, const unsigned char *from, double paper, double encoded, PetscLogDouble bits[3])
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
static unsigned MuonVotesWrite(MuonVotes votes, PetscInt i, unsigned planes, unsigned char *to, uint64_t *whole)
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
static const unsigned char *MuonVotesOpen(MuonVotes votes, PetscInt i, unsigned planes, size_t bytes, const unsigned char *message)
{
  MuonWireMessage header;

  if (MuonWireMessageValidate(message, bytes, (uint32_t)votes->hash[i], 1, (uint64_t)(votes->cut[i + 1] - votes->cut[i]), &header) != MUON_WIRE_OK) return NULL;
  return header.form == MUON_WIRE_VOTES && header.parameter == planes ? message + MuonWireMessageHeaderBytes(&header) : NULL;
}

PetscErrorCode MuonVotesFill_Private(Muon muon, MuonShard *shard, PetscInt number, const MuonArray *U, MuonStatus *status)
{
  MuonVotes             votes   = shard->group->votes;
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
  PetscUseTypeMethod(muon, direction, run->n, run->shard, run->T, run->U, run->status);
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
static PetscErrorCode MuonVotesFillAll_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  const PetscInt most = group->votes->first[group->nshards];
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

      if (shard->whole_vote == PETSC_FALSE) {
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
  MuonVotes       votes = group->votes;
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

/* Sums travel whole, whatever the status is: the agreement tells of it */
static PetscErrorCode MuonVotesUpSum_Private(Muon muon, MuonGroup group)
{
  MuonVotes          votes  = group->votes;
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
  *bytes = MuonVotesMessageBytes(((MuonVotesTree *)ctx)->group->votes, 0, MuonKernelVotePlanes((size_t)workers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesTreeMerge_Private(void *ctx, PetscMPIInt workers, size_t bytes, const unsigned char message[], MuonStatus *status)
{
  MuonVotes            votes  = ((MuonVotesTree *)ctx)->group->votes;
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
  MuonVotes      votes  = ((MuonVotesTree *)ctx)->group->votes;
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
  MuonVotes                    votes  = group->votes;
  MuonVotesTree                tree   = {muon, group};
  const MuonExchangeTreeClient client = {MuonVotesTreeMost_Private, MuonVotesTreeMerge_Private, MuonVotesTreeWrite_Private, &tree};

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(votes->counts[0], votes->own, votes->bytes));
  votes->counted = 1;
  PetscCall(MuonExchangeTree(group->exchange, &client, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesWorkers_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  PetscFunctionBegin;
  if (group->assembly != NULL && group->shard[0].whole_vote) PetscCall(MuonVoteAssembled_Private(muon, group, status));
  else PetscCall(MuonVotesFillAll_Private(muon, group, status));
  if (MuonVotesAlone(group)) PetscFunctionReturn(PETSC_SUCCESS);
  if (group->mode == MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonVotesUpGather_Private(muon, group, status));
  else if (group->mode == MUON_EXCHANGE_MODE_REDUCE) PetscCall(MuonVotesUpTree_Private(muon, group, status));
  else PetscCall(MuonVotesUpSum_Private(muon, group));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The majority on an item that is served here, and the sum of |votes| */
static PetscErrorCode MuonVotesCountItem_Private(Muon muon, MuonGroup group, PetscInt i, unsigned char *majority, unsigned char *ties, uint64_t *sum, MuonStatus *status)
{
  MuonVotes           votes   = group->votes;
  const size_t        entries = (size_t)(votes->cut[i + 1] - votes->cut[i]), workers = (size_t)votes->workers;
  const MuonKernelTie tie = muon->tieminus ? MUON_KERNEL_TIE_MINUS : MUON_KERNEL_TIE_PLUS;

  PetscFunctionBegin;
  if (MuonVotesAlone(group)) votes->plane[0] = votes->own;
  for (PetscMPIInt w = 0; w < votes->workers && group->mode == MUON_EXCHANGE_MODE_GATHER && MuonVotesAlone(group) == PETSC_FALSE; w++) {
    const unsigned char *message;
    size_t               bytes;
    MuonStatus           received;

    PetscCall(MuonExchangeUpGet(group->exchange, w, i, &bytes, &message, &received));
    if (received == MUON_STATUS_OK) {
      votes->plane[w] = MuonVotesOpen(votes, i, 1, bytes, message);
      if (votes->plane[w] == NULL) received = MUON_STATUS_CORRUPT;
    }
    MuonStatusMerge(received, status);
  }
  *sum = 0;
  if (*status != MUON_STATUS_OK || entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (group->mode == MUON_EXCHANGE_MODE_GATHER) MuonKernelVote(entries, workers, votes->plane, tie, majority, ties, sum);
  else if (group->mode == MUON_EXCHANGE_MODE_REDUCE) MuonKernelVoteCounted(entries, workers, votes->counts[0], tie, majority, ties, sum);
  else MuonKernelVoteSummed(entries, votes->size, votes->sums, tie, majority, ties, sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesServeItem_Private(Muon muon, MuonGroup group, PetscInt i, uint64_t *sum, MuonStatus *status)
{
  MuonVotes      votes   = group->votes;
  const unsigned planes  = MuonVotesPlanesDown(votes);
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
  MuonVotes            votes   = group->votes;
  const size_t         entries = (size_t)(votes->cut[i + 1] - votes->cut[i]), section = (entries + 7) / 8;
  const unsigned       planes = MuonVotesPlanesDown(votes);
  const unsigned char *message, *from;
  size_t               bytes;
  unsigned             alone = 0;
  MuonStatus           received;

  PetscFunctionBegin;
  PetscCall(MuonExchangeDownGet(group->exchange, i, &bytes, &message, &received));
  if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK) {
    from = MuonVotesOpen(votes, i, planes, bytes, message);
    for (size_t k = 0; from != NULL && planes > 1 && k < section; k++) alone |= (unsigned)(from[section + k] & ~from[k]);
    if (from == NULL || alone != 0) received = MUON_STATUS_CORRUPT;
    else {
      MuonVotesCountMessage(muon, entries, planes, from, (double)planes * (double)entries, 8.0 * (double)bytes, muon->traffic.down);
      MuonKernelCopyBits(entries, from, 0, votes->majority, (size_t)votes->cut[i]);
      if (planes > 1) MuonKernelCopyBits(entries, from + section, 0, votes->ties, (size_t)votes->cut[i]);
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
  *bits = row == NULL ? NULL : row + one->at / 8;
  if (row == NULL || one->at % 8 == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGet(muon->work, (one->entries + 7) / 8, &copy));
  MuonKernelCopyBits(one->entries, row, one->at, copy, 0);
  *bits = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = keep X + by S on a block */
static PetscErrorCode MuonVotesMove_Private(Muon muon, MuonVotes votes, const MuonVotesBlock *one, double keep, const MuonArray *X, double by, const MuonArray *Y)
{
  const unsigned char *bits, *ties;
  PetscLogDouble       flops;
  MuonMark             mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonLogDeviceBegin(Y->memory, &flops));
  PetscCall(MuonVotesGetBits_Private(muon, one, votes->majority, &bits));
  PetscCall(MuonVotesGetBits_Private(muon, one, votes->ties, &ties));
  MuonArrayKernels(Y)->SignsMove(Y->len, Y->count, bits, ties, keep, X->data, X->ld, by, Y->data, Y->ld);
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)one->entries));
  PetscCall(MuonLogDeviceEnd(Y->memory, flops));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesExpand_Private(Muon muon, MuonShard *shard, PetscInt number, MuonArray *S)
{
  const MuonVotesBlock *one = MuonVotesFind(shard, number);
  MuonArray             state, part; /* *S is scratch, of which the caller has the mark */
  MuonBlock             block;

  PetscFunctionBegin;
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  PetscCall(MuonLayerGetRowsBlock(shard->layer, number, &block));
  part = one != NULL ? MuonVotesPart(one, &state) : MuonArrayPart(&state, 0, (size_t)block.column, 0, (size_t)block.n);
  PetscCall(MuonWorkspaceGetArray(muon->work, &part, state.precision, S));
  PetscCall(MuonArrayZero(S));
  if (one != NULL) PetscCall(MuonVotesMove_Private(muon, shard->group->votes, one, 1, S, 1, S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesSetLength_Private(MuonShard *shard, PetscInt number, double length)
{
  MuonVotesBlock *one = MuonVotesFind(shard, number);

  PetscFunctionBegin;
  if (one != NULL) one->length = length;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step of the rule to S of the whole shard, which all workers compute */
static PetscErrorCode MuonVotesApply_Private(Muon muon, MuonShard *shard, MuonLayerStepInfo *info, const MuonArray *W, MuonStatus *status)
{
  MuonArray  state, S;
  MuonStatus stepped = MUON_STATUS_OK;
  MuonMark   mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  PetscCall(MuonWorkspaceGetArray(muon->work, &state, state.precision, &S));
  PetscCall(MuonArrayZero(&S));
  for (PetscInt b = 0; b < MuonVotesCount(shard); b++) {
    const MuonVotesBlock *one  = MuonVotesBlockOf(shard, b);
    const MuonArray       part = MuonVotesPart(one, &S);

    PetscCall(MuonVotesMove_Private(muon, shard->group->votes, one, 1, &part, 1, &part));
  }
  PetscCall(MuonLayerStep(shard->layer, info, &S, W, &shard->Xnew, &stepped));
  MuonStatusMerge(stepped, status);
  if (stepped == MUON_STATUS_OK) PetscCall(MuonServeWeights_Private(muon, shard, &shard->Xnew, W, status));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What S is multiplied with. No entry of it is beyond 1: whether the new weights are finite is known before
   they are there
*/
static PetscErrorCode MuonVotesScale_Private(Muon muon, MuonShard *shard, PetscInt b, const MuonLayerStepInfo *info, const MuonArray *W, MuonStatus *status)
{
  MuonVotesBlock *one       = MuonVotesBlockOf(shard, b);
  const MuonArray part      = MuonVotesPart(one, W);
  const PetscBool assembled = shard->group->assembly != NULL && shard->whole_majority ? PETSC_TRUE : PETSC_FALSE;
  PetscReal       factor;
  MuonBlock       block;
  MuonArray       S;
  MuonMatrix      matrix;
  MuonMark        mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonLayerGetBlock_Private(shard->layer, one->number, &block));
  PetscCall(MuonLayerGetBlockFactor_Private(shard->layer, &block, &factor));
  if (assembled == PETSC_FALSE) {
    one->length = 1;
    if (shard->whole_majority) {
      PetscCall(MuonVotesExpand_Private(muon, shard, one->number, &S));
      matrix = MuonMatrixOfArray(&S);
    }
    PetscTryTypeMethod(muon, length, shard, &block, shard->whole_majority ? &matrix : NULL, &one->length, status);
  }
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  one->by               = one->length > 0 ? -(info->rate * (double)factor) / one->length : 0;
  shard->group->replica = (unsigned int)MuonWireCRC32C((uint32_t)shard->group->replica, (const unsigned char *)&one->by, sizeof(one->by));
  if (!(fabs(1 - info->rate * info->decay) * MuonArrayKernels(&part)->MaxAbs(part.len, part.count, part.data, part.ld) + fabs(one->by) <= (part.precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX))) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesCheck_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard *shard = &muon->shard[p];

    PetscCheck(shard->group->votes == NULL || muon->weight_decay_style != MUON_WEIGHT_DECAY_CAUTIOUS || shard->Xnew.data != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
               "-%smuon_weight_decay_style cautious: layer \"%s\" is moved by the signs of a vote as they come, expected decoupled or coupled", MuonPrefix(muon), ((PetscObject)shard->layer)->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVotesPrepare_Private(Muon muon, MuonShard *shard, MuonStatus *status)
{
  MuonLayerStepInfo info;
  MuonArray         whole, W;

  PetscFunctionBegin;
  PetscCall(MuonGetStepInfo(muon, shard->layer, &info));
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  W = MuonShardPart(shard, &whole);
  if (shard->Xnew.data != NULL) PetscCall(MuonVotesApply_Private(muon, shard, &info, &W, status));
  else {
    for (PetscInt b = 0; b < MuonVotesCount(shard) && *status == MUON_STATUS_OK; b++) PetscCall(MuonVotesScale_Private(muon, shard, b, &info, &W, status));
  }
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesServers_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  MuonVotes       votes      = group->votes;
  const PetscBool everywhere = group->exchange->everywhere;
  const PetscInt *order;
  uint64_t        sum;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Aggregate, muon, 0, 0, 0));
  PetscCall(MuonExchangeGetOrder(group->exchange, &order));
  if (everywhere) {
    PetscCall(MuonVotesCountItem_Private(muon, group, 0, votes->majority, votes->ties, &sum, status));
    if (group->exchange->worker == 0) record->votes += (double)sum / ((double)votes->workers * votes->entries);
    group->replica = (unsigned int)MuonWireCRC32C((uint32_t)group->replica, votes->majority, votes->bytes);
    if (votes->ties != NULL) group->replica = (unsigned int)MuonWireCRC32C((uint32_t)group->replica, votes->ties, votes->bytes);
  } else {
    PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_DOWN, (PetscInt64)muon->step));
    for (PetscInt k = 0; k < votes->nitems && *status == MUON_STATUS_OK; k++) {
      PetscBool owns;

      PetscCall(MuonExchangeOwns(group->exchange, order[k], &owns));
      if (owns == PETSC_FALSE) continue;
      PetscCall(MuonVotesServeItem_Private(muon, group, order[k], &sum, status));
      record->votes += (double)sum / ((double)votes->workers * votes->entries);
    }
  }
  PetscCall(PetscLogEventEnd(MUON_Aggregate, muon, 0, 0, 0));
  MuonNextPhase(muon, *status);
  if (everywhere == PETSC_FALSE) {
    PetscCall(MuonExchangeDown(group->exchange, *status));
    for (PetscInt i = 0; i < votes->nitems; i++) PetscCall(MuonVotesReceive_Private(muon, group, i, status));
  }
  if (group->assembly != NULL && group->shard[0].whole_majority) PetscCall(MuonMajorityAssembled_Private(muon, group, status));
  for (PetscInt k = 0; k < group->nshards && *status == MUON_STATUS_OK; k++) {
    if (group->assembly == NULL || group->shard[k].Xnew.data == NULL) PetscCall(MuonVotesPrepare_Private(muon, &group->shard[k], status));
    MuonNoteStatus(muon, group->shard[k].layer, *status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVotesCommit_Private(Muon muon, MuonShard *shard)
{
  MuonLayerStepInfo info;
  MuonArray         whole, W;

  PetscFunctionBegin;
  PetscCall(MuonGetStepInfo(muon, shard->layer, &info));
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_TRUE, &whole));
  W = MuonShardPart(shard, &whole);
  if (shard->Xnew.data != NULL) MuonArrayAxpby(1, &shard->Xnew, 0, &W);
  else {
    for (PetscInt b = 0; b < MuonVotesCount(shard); b++) {
      const MuonVotesBlock *one  = MuonVotesBlockOf(shard, b);
      const MuonArray       part = MuonVotesPart(one, &W);

      PetscCall(MuonVotesMove_Private(muon, shard->group->votes, one, 1 - info.rate * info.decay, &part, one->by, &part));
    }
  }
  if (shard->cut) PetscCall(MuonShardGather_Private(muon, shard, &W, &whole));
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_TRUE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}
