#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muonwire.h>

/*
   Which ranks are one worker: those that hold the rows of a layer together. Layers whose workers are the same
   ranks share a grid of the optimizer's ranks, and its communicators.

   Nothing is sent on a layer's own communicator before all ranks have found that its ranks are one worker: a
   rank that had another one would wait for ever.
*/

/*
   What every rank tells of a layer: its name, ranks of its worker, their hash, the first of them, and the
   position of this one among them
*/
enum {
  TOLD_NAME, /* and what holds the weights */
  TOLD_RANKS,
  TOLD_HASH,
  TOLD_FIRST,
  TOLD_POSITION,
  TOLD
};

static PetscErrorCode MuonTellWorker_Private(Muon muon, MuonLayer layer, PetscMPIInt told[], PetscMPIInt members[])
{
  MPI_Group         all, own;
  PetscMPIInt      *ranks;
  const PetscMPIInt size = PetscMin(layer->ranks, muon->size);

  PetscFunctionBegin;
  members[0] = muon->rank; /* a matrix that is all here, whatever its communicator is */
  if (layer->ranks > 1) {
    PetscCall(PetscMalloc1(size, &ranks));
    for (PetscMPIInt r = 0; r < size; r++) ranks[r] = r;
    PetscCallMPI(MPI_Comm_group(PetscObjectComm((PetscObject)muon), &all));
    PetscCallMPI(MPI_Comm_group(layer->comm, &own));
    PetscCallMPI(MPI_Group_translate_ranks(own, size, ranks, all, members));
    PetscCallMPI(MPI_Group_free(&own));
    PetscCallMPI(MPI_Group_free(&all));
    PetscCall(PetscFree(ranks));
  }
  told[TOLD_NAME]     = (PetscMPIInt)(layer->hash >> 1) ^ (PetscMPIInt)layer->storage; /* fits an int */
  told[TOLD_RANKS]    = layer->ranks;
  told[TOLD_HASH]     = (PetscMPIInt)(MuonWireCRC32C(0, (const unsigned char *)members, (size_t)size * sizeof(*members)) >> 1);
  told[TOLD_FIRST]    = muon->size;
  told[TOLD_POSITION] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (members[r] == muon->rank) told[TOLD_POSITION] = r;
    if (members[r] != MPI_UNDEFINED && members[r] < told[TOLD_FIRST]) told[TOLD_FIRST] = members[r];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether this rank and the others of its worker say the same of a layer, and all workers are of the same
   size
*/
static PetscBool MuonIsWorker_Private(Muon muon, PetscInt l, const PetscMPIInt all[], const PetscMPIInt members[])
{
  const size_t       of_rank = TOLD * (size_t)muon->nlayers;
  const PetscMPIInt *mine    = all + of_rank * (size_t)muon->rank + TOLD * l;

  if (mine[TOLD_RANKS] > muon->size) return PETSC_FALSE;
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    if (all[of_rank * (size_t)r + (size_t)(TOLD * l + TOLD_RANKS)] != mine[TOLD_RANKS]) return PETSC_FALSE;
  }
  for (PetscMPIInt r = 0; r < mine[TOLD_RANKS]; r++) {
    if (members[r] == MPI_UNDEFINED || all[of_rank * (size_t)members[r] + (size_t)(TOLD * l + TOLD_HASH)] != mine[TOLD_HASH]) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* all: what rank r told is at all + r of_rank */
static PetscErrorCode MuonWorkerGridCreate_Private(Muon muon, size_t of_rank, const PetscMPIInt all[], MuonWorkerGrid *grid)
{
  MPI_Comm       comm = PetscObjectComm((PetscObject)muon);
  MuonWorkerGrid p;
  PetscMPIInt   *number;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  PetscCall(PetscMalloc2(muon->size, &p->worker_of, muon->size, &p->position_of));
  PetscCall(PetscMalloc1(muon->size, &number));
  p->size  = all[TOLD_RANKS];
  p->share = 1;
  /* Workers are numbered by the first of their ranks */
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    if (all[of_rank * (size_t)r + TOLD_FIRST] == r) number[r] = p->nworkers++;
  }
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    const PetscMPIInt *told = all + of_rank * (size_t)r;

    p->worker_of[r]   = number[told[TOLD_FIRST]];
    p->position_of[r] = told[TOLD_POSITION];
  }
  PetscCall(PetscFree(number));
  p->worker   = p->worker_of[muon->rank];
  p->position = p->position_of[muon->rank];
  p->inside = p->across = MPI_COMM_NULL;
  if (p->size > 1) {
    PetscCallMPI(MPI_Comm_split(comm, p->worker, p->position, &p->inside));
    PetscCallMPI(MPI_Comm_split(comm, p->position, p->worker, &p->across));
  }
  *grid = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWorkerGridDestroy_Private(MuonWorkerGrid *grid)
{
  PetscFunctionBegin;
  if ((*grid)->inside != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&(*grid)->inside));
  if ((*grid)->across != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&(*grid)->across));
  PetscCall(PetscFree2((*grid)->worker_of, (*grid)->position_of));
  PetscCall(PetscFree((*grid)->weight));
  PetscCall(PetscFree(*grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonResetWorkerGrids_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->ngrids; p++) PetscCall(MuonWorkerGridDestroy_Private(&muon->grid[p]));
  PetscCall(PetscFree(muon->grid));
  PetscCall(PetscFree(muon->grid_of));
  PetscCall(PetscFree(muon->weights));
  muon->ngrids = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two layers have the same workers */
static PetscBool MuonSameWorkers_Private(Muon muon, PetscInt l, PetscInt k, const PetscMPIInt all[])
{
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    const PetscMPIInt *told = all + (size_t)TOLD * (size_t)muon->nlayers * (size_t)r;

    for (PetscInt i = TOLD_RANKS; i < TOLD; i++) {
      if (told[TOLD * l + i] != told[TOLD * k + i]) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

/* The ranges of rows on a worker's ranks follow each other */
static PetscErrorCode MuonCheckRows_Private(Muon muon)
{
  PetscInt bad = muon->nlayers, first;

  PetscFunctionBegin;
  for (PetscInt l = muon->nlayers - 1; l >= 0; l--) {
    MuonLayer         layer    = muon->layer[l];
    const PetscMPIInt position = muon->grid[muon->grid_of[l]]->position;

    if (layer->ranks == 1) continue;
    PetscCall(MuonLayerSetUpRows_Private(layer));
    if (layer->ranges[position] != layer->first || layer->ranges[layer->ranks] != layer->M) bad = l;
  }
  PetscCallMPI(MPI_Allreduce(&bad, &first, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  PetscCheck(first == muon->nlayers, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
             "Layer \"%s\": the ranks of a worker do not hold its %" PetscInt_FMT " rows one behind the other (here %" PetscInt_FMT " from number %" PetscInt_FMT " on)", ((PetscObject)muon->layer[first])->name, muon->layer[first]->M,
             muon->layer[first]->rows, muon->layer[first]->first);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of layers of which some are on many ranks. What every rank found is agreed on before anybody makes a
   communicator, or uses one of a layer
*/
static PetscErrorCode MuonFindWorkers_Private(Muon muon)
{
  MPI_Comm     comm = PetscObjectComm((PetscObject)muon);
  const size_t n    = TOLD * (size_t)muon->nlayers;
  PetscMPIInt *told, *all, *members, count;
  PetscInt     bad[2] = {muon->nlayers, muon->nlayers}, first[2]; /* a layer of another name, of ranks that are no worker */

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast((PetscInt)n, &count));
  PetscCall(PetscMalloc3(n, &told, n * (size_t)muon->size, &all, muon->size, &members));
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonTellWorker_Private(muon, muon->layer[l], told + TOLD * l, members));
  PetscCallMPI(MPI_Allgather(told, count, MPI_INT, all, count, MPI_INT, comm));
  for (PetscInt l = muon->nlayers - 1; l >= 0; l--) {
    PetscCall(MuonTellWorker_Private(muon, muon->layer[l], told + TOLD * l, members));
    if (told[TOLD * l + TOLD_NAME] != all[TOLD * l + TOLD_NAME]) bad[0] = l;
    if (MuonIsWorker_Private(muon, l, all, members) == PETSC_FALSE) bad[1] = l;
  }
  PetscCallMPI(MPI_Allreduce(bad, first, 2, MPIU_INT, MPI_MIN, comm));
  if (first[0] < muon->nlayers || first[1] < muon->nlayers) PetscCall(PetscFree3(told, all, members));
  PetscCheck(first[0] == muon->nlayers, comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": its name, or what holds its weights, differs between the ranks, expected the same on each", ((PetscObject)muon->layer[first[0]])->name);
  PetscCheck(first[1] == muon->nlayers, comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": the communicators of its matrices (here of %d ranks) do not cut the optimizer's %d ranks into workers of the same size that do not overlap",
             ((PetscObject)muon->layer[first[1]])->name, muon->layer[first[1]]->ranks, muon->size);
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscInt k = 0;

    while (k < l && MuonSameWorkers_Private(muon, l, k, all) == PETSC_FALSE) k++;
    muon->grid_of[l] = k < l ? muon->grid_of[k] : muon->ngrids;
    if (k == l) PetscCall(MuonWorkerGridCreate_Private(muon, n, all + TOLD * l, &muon->grid[muon->ngrids++]));
  }
  PetscCall(PetscFree3(told, all, members));
  PetscCall(MuonCheckRows_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of layers that are whole on every rank, which is a worker, or keeps rows of the state of the one worker
   that all ranks are: nothing has to be told
*/
static PetscErrorCode MuonMakeWorkerGrid_Private(Muon muon, PetscBool rows)
{
  PetscMPIInt *all;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(TOLD * (size_t)muon->size, &all));
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    all[TOLD * r + TOLD_RANKS]    = rows ? muon->size : 1;
    all[TOLD * r + TOLD_FIRST]    = rows ? 0 : r;
    all[TOLD * r + TOLD_POSITION] = rows ? r : 0;
  }
  PetscCall(MuonWorkerGridCreate_Private(muon, TOLD, all, &muon->grid[muon->ngrids++]));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFindWorkerGrids_Private(Muon muon, PetscBool rows)
{
  MPI_Comm comm    = PetscObjectComm((PetscObject)muon);
  PetscInt mine[5] = {0, muon->nlayers, -muon->nlayers, rows ? 1 : 0, rows ? -1 : 0}, most[5]; /* ranks of a worker; what must be the same everywhere, and its negative */

  PetscFunctionBegin;
  PetscCall(MuonResetWorkerGrids_Private(muon));
  for (PetscInt l = 0; l < muon->nlayers; l++) mine[0] = PetscMax(mine[0], muon->layer[l]->ranks);
  PetscCallMPI(MPI_Allreduce(mine, most, 5, MPIU_INT, MPI_MAX, comm));
  PetscCheck(most[1] == -most[2], comm, PETSC_ERR_ARG_INCOMP, "The ranks have between %" PetscInt_FMT " and %" PetscInt_FMT " layers, expected as many on each", -most[2], most[1]);
  PetscCheck(most[3] == -most[4], comm, PETSC_ERR_ARG_INCOMP, "The options of the optimizer differ between the ranks: -%smuon_exchange_type rows on some and another type on others", MuonPrefix(muon));
  PetscCheck(rows == PETSC_FALSE || most[0] == 1, comm, PETSC_ERR_SUP, "-%smuon_exchange_type rows cuts layers that are whole on every rank, and the rows of some are spread over %" PetscInt_FMT " ranks; expected star, replicated or layerwise",
             MuonPrefix(muon), most[0]);
  PetscCall(PetscCalloc1(muon->nlayers, &muon->grid_of));
  PetscCall(PetscMalloc1(PetscMax(muon->nlayers, 1), &muon->grid));
  if (most[0] > 1) PetscCall(MuonFindWorkers_Private(muon));
  else PetscCall(MuonMakeWorkerGrid_Private(muon, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Begins the sum of whole gradients over the ranks of a worker, each of which gets its rows. A rank that has
   none adds zeros. Sums are on the host
*/
static PetscErrorCode MuonShardSum_Private(MuonShard *shard, const MuonArray *packed)
{
  MuonArray whole;
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientMemory(shard->layer, &whole, &ours));
  if (whole.data == NULL) {
    PetscCall(MuonArrayZero(packed));
    whole = *packed;
  }
  PetscCall(MuonArrayOnHost(&whole, PETSC_TRUE, &shard->staged[0]));
  PetscCall(MuonArrayOnHost(&shard->mean, PETSC_FALSE, &shard->staged[1]));
  PetscCall(MuonRowsSumStart(shard->group->grid->inside, shard->ranges, shard->group->grid->share, &shard->staged[0], packed, &shard->staged[1], &shard->group->bytes, &shard->summing));
  if (whole.memory == MUON_HOST) shard->staged[0].data = NULL;
  if (shard->mean.memory == MUON_HOST) shard->staged[1].data = NULL;
  if (whole.data != packed->data) PetscCall(MuonLayerRestoreGradientMemory(shard->layer, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonShardSumWait_Private(MuonShard *shard)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Wait(&shard->summing, MPI_STATUS_IGNORE));
  if (shard->staged[1].data != NULL) PetscCall(MuonArrayOffHost(&shard->mean, PETSC_TRUE, &shard->staged[1]));
  PetscCall(MuonArrayDestroy(&shard->staged[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins the sum of a layer's gradient before its step, where that sum is not waited for at once */
static PetscErrorCode MuonShardBeginSum_Private(MuonShard *shard)
{
  MuonArray whole;

  PetscFunctionBegin;
  if (shard->mean.data == NULL) {
    PetscCall(MuonWorkerBeginSum_Private(shard->muon, shard));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (shard->packed.data == NULL) {
    PetscCall(MuonLayerGetWholeShape(shard->layer, &whole));
    whole.memory = MUON_HOST;
    PetscCall(MuonArrayCreate(&whole, whole.precision, &shard->packed));
  }
  PetscCall(MuonShardSum_Private(shard, &shard->packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shard of an active layer whose sum can begin before the step, or NULL */
static MuonShard *MuonGetSummed_Private(Muon muon, PetscInt l)
{
  return (MuonShard *)muon->active[l]->readyctx;
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
  if (muon->objective != NULL && muon->computing == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS); /* the routine is going to write another gradient */
  if (shard->ready) muon->readytwice = shard->layer; /* an error on all ranks, at the end of the step */
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
  if (shard->summing == MPI_REQUEST_NULL) {
    PetscCall(MuonLayerGetWholeShape(shard->layer, &shape));
    shape.memory = MUON_HOST;
    PetscCall(MuonWorkspaceGetArray(muon->work, &shape, shape.precision, &packed));
    PetscCall(MuonShardSum_Private(shard, &packed));
  }
  PetscCall(MuonShardSumWait_Private(shard));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Exchange, muon, 0, 0, 0));
  MuonArrayAxpby(1 / (double)shard->group->grid->size, &shard->mean, 0, &shard->mean);
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
    if (shard->mean.data != NULL) PetscCall(MuonShardAverage_Private(shard));
    else if (l < muon->nsums) PetscCall(MuonShardBeginSum_Private(shard));
  }
  MuonForgetReady_Private(muon);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDropSums_Private(Muon muon)
{
  PetscInt  mine = muon->nactive - muon->nsums, most;
  PetscBool some = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nactive && muon->nshards > 0; l++) some = MuonGetSummed_Private(muon, l) != NULL ? PETSC_TRUE : some;
  if (some == PETSC_FALSE || (muon->objective != NULL && muon->computing == PETSC_FALSE)) PetscFunctionReturn(PETSC_SUCCESS);
  /* What some ranks began all must end */
  PetscCallMPI(MPI_Allreduce(&mine, &most, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)muon)));
  for (; muon->nactive - muon->nsums < most; muon->nsums--) {
    MuonShard *next = MuonGetSummed_Private(muon, muon->nsums - 1);

    if (next != NULL) PetscCall(MuonShardBeginSum_Private(next));
  }
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];

    if (shard->summing != MPI_REQUEST_NULL) PetscCall(MuonShardSumWait_Private(shard));
    if (shard->begun) PetscCall(MuonExchangeReduceEnd(shard->group->exchange));
    for (PetscInt k = 0; k < shard->group->nshards && shard->begun; k++) shard->group->shard[k].begun = PETSC_FALSE;
  }
  MuonForgetReady_Private(muon);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardGather_Private(Muon muon, MuonShard *shard, const MuonArray *rows, const MuonArray *whole)
{
  MuonArray packed;
  MuonMark  mark;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, muon, 0, 0, 0));
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonWorkspaceGetArray(muon->work, whole, whole->precision, &packed));
  PetscCall(MuonRowsGather(shard->group->grid->inside, shard->ranges, rows, whole, &packed, &shard->group->bytes));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Exchange, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
