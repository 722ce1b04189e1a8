#include "muonstep.h"

/*
   Sums of gradients that can begin before the step. Workers of several ranks: whole gradients are summed over
   them, and whole weights gathered.
*/

/* Where one rank of a node has all of the state there is one range of rows */
static const PetscInt *MuonShardRanges_Private(const MuonShard *shard, PetscInt all[2])
{
  all[0] = 0;
  all[1] = shard->layer->m;
  return shard->group->home >= 0 ? all : shard->ranges;
}

/*
   Begins the sum of whole gradients over the ranks of a worker, each of which gets its rows. A rank that has
   none adds zeros. Sums are on the host
*/
static PetscErrorCode MuonShardSum_Private(MuonShard *shard, const MuonArray *packed)
{
  const MuonGroup group  = shard->group;
  PetscLogDouble  before = group->bytes;
  PetscInt        all[2];
  MuonArray       whole;
  PetscBool       ours;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientMemory(shard->layer, &whole, &ours));
  if (whole.data == NULL) {
    PetscCall(MuonArrayZero(packed));
    whole = *packed;
  }
  PetscCall(MuonArrayOnHost(&whole, PETSC_TRUE, &shard->full.staged[0]));
  PetscCall(MuonArrayOnHost(&shard->full.mean, PETSC_FALSE, &shard->full.staged[1]));
  PetscCall(MuonRowsSumStart(group->grid->inside, group->home, MuonShardRanges_Private(shard, all), group->grid->share, &shard->full.staged[0], packed, &shard->full.staged[1], &group->bytes, &shard->full.request));
  if (group->home >= 0) group->inside += group->bytes - before;
  if (whole.memory == MUON_HOST) shard->full.staged[0].data = NULL;
  if (shard->full.mean.memory == MUON_HOST) shard->full.staged[1].data = NULL;
  if (whole.data != packed->data) PetscCall(MuonLayerRestoreGradientMemory(shard->layer, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonShardSumWait_Private(MuonShard *shard)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Wait(&shard->full.request, MPI_STATUS_IGNORE));
  if (shard->full.staged[1].data != NULL) PetscCall(MuonArrayOffHost(&shard->full.mean, PETSC_TRUE, &shard->full.staged[1]));
  PetscCall(MuonArrayDestroy(&shard->full.staged[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins the sum of a layer's gradient before its step, where that sum is not waited for at once */
static PetscErrorCode MuonShardBeginSum_Private(MuonShard *shard)
{
  MuonArray whole;

  PetscFunctionBegin;
  if (shard->full.mean.data == NULL) {
    PetscCall(MuonWorkerBeginSum_Private(shard->muon, shard));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (shard->full.packed.data == NULL) {
    whole        = MuonLayerGetWholeShape(shard->layer);
    whole.memory = MUON_HOST;
    PetscCall(MuonArrayCreate(&whole, whole.precision, &shard->full.packed));
  }
  PetscCall(MuonShardSum_Private(shard, &shard->full.packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shard of an active layer whose sum can begin before the step, or NULL */
static MuonShard *MuonGetSummed_Private(Muon muon, PetscInt l)
{
  MuonShard *shard = (MuonShard *)muon->active[l]->readyctx;

  return shard != NULL && (shard->group->rests || (shard->group->depth > 1 && shard->full.mean.data == NULL)) ? NULL : shard;
}

/*
   Ranks may call MuonLayerGradientReady() in different orders, and some not for all layers. MPI matches sums
   by the order in which they begin, so they begin in one order on all ranks, that of a backward pass: the sum
   of a layer waits until those of all layers behind it have begun
*/
PetscErrorCode MuonShardReady_Private(void *ctx)
{
  MuonShard *shard = (MuonShard *)ctx;
  Muon       muon  = shard->muon;

  PetscFunctionBegin;
  PetscCall(MuonProgress(muon));
  if (muon->objective != NULL && muon->computing == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS); /* the routine is going to write another gradient */
  if (shard->ready) muon->readytwice = shard->layer;                                                 /* an error on all ranks, at the end of the step */
  shard->ready = PETSC_TRUE;
  for (; muon->nsums > 0; muon->nsums--) {
    MuonShard *next = MuonGetSummed_Private(muon, muon->nsums - 1);

    if (next != NULL && next->ready == PETSC_FALSE) break;
    if (next != NULL) PetscCall(MuonShardBeginSum_Private(next));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for the mean of whole gradients; a sum that did not begin before needs no memory of its own */
static PetscErrorCode MuonShardAverage_Private(MuonShard *shard)
{
  Muon      muon = shard->muon;
  MuonArray shape, packed;
  MuonMark  mark;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, muon, 0, 0, 0));
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  if (shard->full.request == MPI_REQUEST_NULL) {
    shape        = MuonLayerGetWholeShape(shard->layer);
    shape.memory = MUON_HOST;
    PetscCall(MuonWorkspaceGetArray(muon->work, &shape, shape.precision, &packed));
    PetscCall(MuonShardSum_Private(shard, &packed));
  }
  PetscCall(MuonShardSumWait_Private(shard));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Exchange, muon, 0, 0, 0));
  MuonArrayAxpby(1 / (double)shard->group->grid->size, &shard->full.mean, 0, &shard->full.mean);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonForgetReady_Private(Muon muon)
{
  for (PetscInt p = 0; p < muon->nshards; p++) muon->shard[p].ready = PETSC_FALSE;
  muon->nsums      = muon->nactive;
  muon->computing  = PETSC_FALSE;
  muon->readytwice = NULL;
}

PetscErrorCode MuonBeginSums_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt l = muon->nactive - 1; l >= 0; l--) {
    MuonShard *shard = MuonGetSummed_Private(muon, l);

    if (shard == NULL) continue;
    if (shard->full.mean.data != NULL) PetscCall(MuonShardAverage_Private(shard));
    else if (l < muon->nsums) PetscCall(MuonShardBeginSum_Private(shard));
  }
  MuonForgetReady_Private(muon);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDropSums_Private(Muon muon)
{
  PetscInt  most = muon->nactive - muon->nsums;
  PetscBool some = PETSC_FALSE, same;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nactive && muon->nshards > 0; l++) some = MuonGetSummed_Private(muon, l) != NULL ? PETSC_TRUE : some;
  if (some == PETSC_FALSE || (muon->objective != NULL && muon->computing == PETSC_FALSE)) PetscFunctionReturn(PETSC_SUCCESS);
  /* What some ranks began all must end */
  PetscCall(MuonMeet_Private(muon, MUON_CALL_RESET, 0, &same, &most));
  for (; muon->nactive - muon->nsums < most; muon->nsums--) {
    MuonShard *next = MuonGetSummed_Private(muon, muon->nsums - 1);

    if (next != NULL) PetscCall(MuonShardBeginSum_Private(next));
  }
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];

    if (shard->full.request != MPI_REQUEST_NULL) PetscCall(MuonShardSumWait_Private(shard));
    if (shard->round->begun) PetscCall(MuonExchangeReduceEnd(shard->group->exchange));
    for (PetscInt k = 0; k < shard->group->nshards && shard->round->begun; k++) shard->group->shard[k].round->begun = PETSC_FALSE;
  }
  MuonForgetReady_Private(muon);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardGather_Private(Muon muon, MuonShard *shard, const MuonArray *rows, const MuonArray *whole)
{
  const MuonGroup group  = shard->group;
  PetscLogDouble  before = group->bytes;
  PetscInt        all[2];
  MuonArray       packed;
  MuonMark        mark;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, muon, 0, 0, 0));
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonWorkspaceGetArray(muon->work, whole, whole->precision, &packed));
  PetscCall(MuonRowsGather(group->grid->inside, group->home, MuonShardRanges_Private(shard, all), rows, whole, &packed, &group->bytes));
  if (group->home >= 0) group->inside += group->bytes - before;
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Exchange, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
