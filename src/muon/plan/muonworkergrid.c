#include "muonplan.h"
#include <petscmuon/private/muonwire.h>

/*
   Workers: the ranks that hold the rows of a layer together. Layers with the same workers share a grid of the optimizer's ranks,
   and its communicators. Nothing is sent on a layer's own communicator before all ranks agree that its ranks are one worker: a
   rank with another communicator would wait forever.
*/

/*
   A rank's record of a layer: its name, the number of ranks of its worker, their hash, the first of them, and this rank's
   position
*/
enum {
  WORKER_NAME, /* and what holds the weights */
  WORKER_RANKS,
  WORKER_HASH,
  WORKER_FIRST,
  WORKER_POSITION,
  WORKER_COUNT
};

/*
   Without a layer: of all layers that are whole on every rank. Each rank is a worker, or several are one together, whose ranks are given
*/
static PetscErrorCode MuonDescribeWorker_Private(Muon muon, MuonLayer layer, PetscMPIInt together, const PetscMPIInt ranks_of[], PetscMPIInt record[])
{
  const PetscBool   spread = layer != NULL && layer->ranks > 1 ? PETSC_TRUE : PETSC_FALSE;
  const PetscMPIInt ranks = spread ? layer->ranks : together, size = PetscMin(ranks, muon->size);
  MPI_Group         all, own;
  PetscMPIInt      *number, *members;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(size, &number, size, &members));
  for (PetscMPIInt r = 0; r < size; r++) {
    number[r]  = r;
    members[r] = spread ? r : ranks_of[r]; /* a matrix that is all here, whatever its communicator is */
  }
  if (spread) {
    PetscCallMPI(MPI_Comm_group(PetscObjectComm((PetscObject)muon), &all));
    PetscCallMPI(MPI_Comm_group(layer->comm, &own));
    PetscCallMPI(MPI_Group_translate_ranks(own, size, number, all, members));
    PetscCallMPI(MPI_Group_free(&own));
    PetscCallMPI(MPI_Group_free(&all));
  }
  record[WORKER_NAME]     = layer != NULL ? (PetscMPIInt)(layer->hash >> 1) ^ (PetscMPIInt)layer->storage : 0; /* fits an int */
  record[WORKER_RANKS]    = ranks;
  record[WORKER_HASH]     = (PetscMPIInt)(MuonWireCRC32C(0, (const unsigned char *)members, (size_t)size * sizeof(*members)) >> 1);
  record[WORKER_FIRST]    = muon->size;
  record[WORKER_POSITION] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (members[r] == muon->rank) record[WORKER_POSITION] = r;
    if (members[r] != MPI_UNDEFINED && members[r] < record[WORKER_FIRST]) record[WORKER_FIRST] = members[r];
  }
  PetscCall(PetscFree2(number, members));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the ranks of this worker have the same record of a layer, and all workers have the same size. all: the record of rank
   r is at all + r of_rank
*/
static PetscBool MuonIsWorker_Private(Muon muon, size_t of_rank, const PetscMPIInt all[])
{
  const PetscMPIInt *mine  = all + of_rank * (size_t)muon->rank;
  PetscMPIInt        count = 0;

  for (PetscMPIInt r = 0; r < muon->size; r++) {
    const PetscMPIInt *one = all + of_rank * (size_t)r;

    if (one[WORKER_RANKS] != mine[WORKER_RANKS]) return PETSC_FALSE;
    if (one[WORKER_FIRST] != mine[WORKER_FIRST]) continue;
    if (one[WORKER_HASH] != mine[WORKER_HASH]) return PETSC_FALSE;
    count++;
  }
  return count == mine[WORKER_RANKS] ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MuonWorkerGridCreate_Private(Muon muon, size_t of_rank, const PetscMPIInt all[], MuonWorkerGrid *grid)
{
  MPI_Comm       comm = PetscObjectComm((PetscObject)muon);
  MuonWorkerGrid p;
  PetscMPIInt   *number;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  PetscCall(PetscMalloc2(muon->size, &p->worker_of, muon->size, &p->position_of));
  PetscCall(PetscMalloc1(muon->size, &number));
  p->size  = all[WORKER_RANKS];
  p->share = 1;
  /* Workers are numbered by the first of their ranks */
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    if (all[of_rank * (size_t)r + WORKER_FIRST] == r) number[r] = p->nworkers++;
  }
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    const PetscMPIInt *record = all + of_rank * (size_t)r;

    p->worker_of[r]   = number[record[WORKER_FIRST]];
    p->position_of[r] = record[WORKER_POSITION];
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
  PetscCall(PetscFree(muon->place));
  PetscCall(PetscFree(muon->weights));
  muon->ngrids = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two layers have the same workers */
static PetscBool MuonSameWorkers_Private(Muon muon, size_t of_rank, const PetscMPIInt one[], const PetscMPIInt other[])
{
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    for (size_t i = WORKER_RANKS; i < WORKER_COUNT; i++) {
      if (one[of_rank * (size_t)r + i] != other[of_rank * (size_t)r + i]) return PETSC_FALSE;
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
    const PetscMPIInt position = MuonGridOf(muon, l)->position;

    if (layer->ranks == 1) continue;
    PetscCall(MuonLayerSetUpRows_Private(layer));
    if (layer->ranges[position] != layer->first || layer->ranges[layer->ranks] != layer->M) bad = l;
  }
  PetscCallMPI(MPI_Allreduce(&bad, &first, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  PetscCheck(first == muon->nlayers, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
             "Layer \"%s\": the ranks of a worker do not hold its %" PetscInt_FMT " rows one behind the other (here %" PetscInt_FMT " from number %" PetscInt_FMT " on)", ((PetscObject)muon->layer[first])->name, muon->layer[first]->M,
             MuonLayerRows(muon->layer[first]), muon->layer[first]->first);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of n layers, some of which are on many ranks, or of all others with n = 1. Ranks agree on their results before one of them
   creates a communicator, or uses one of a layer
*/
static PetscErrorCode MuonFindWorkers_Private(Muon muon, PetscInt n, PetscBool spread, PetscMPIInt together, const PetscMPIInt ranks_of[])
{
  MPI_Comm     comm    = PetscObjectComm((PetscObject)muon);
  const size_t of_rank = WORKER_COUNT * (size_t)n;
  PetscMPIInt *record, *all, count;
  PetscInt     bad[2] = {n, n}, first[2]; /* a layer of another name, of ranks that are no worker */

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast((PetscInt)of_rank, &count));
  PetscCall(PetscMalloc2(of_rank, &record, of_rank * (size_t)muon->size, &all));
  for (PetscInt l = 0; l < n; l++) PetscCall(MuonDescribeWorker_Private(muon, spread ? muon->layer[l] : NULL, together, ranks_of, record + WORKER_COUNT * l));
  PetscCallMPI(MPI_Allgather(record, count, MPI_INT, all, count, MPI_INT, comm));
  for (PetscInt l = n - 1; l >= 0; l--) {
    if (record[WORKER_COUNT * l + WORKER_NAME] != all[WORKER_COUNT * l + WORKER_NAME]) bad[0] = l;
    if (MuonIsWorker_Private(muon, of_rank, all + WORKER_COUNT * l) == PETSC_FALSE) bad[1] = l;
  }
  PetscCallMPI(MPI_Allreduce(bad, first, 2, MPIU_INT, MPI_MIN, comm));
  if (first[0] < n || first[1] < n) PetscCall(PetscFree2(record, all));
  PetscCheck(first[0] == n, comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": its name, or what holds its weights, differs between the ranks, expected the same on each", ((PetscObject)muon->layer[first[0]])->name);
  PetscCheck(first[1] == n, comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": the communicators of its matrices (here of %d ranks) do not cut the optimizer's %d ranks into workers of the same size that do not overlap",
             ((PetscObject)muon->layer[first[1]])->name, muon->layer[first[1]]->ranks, muon->size);
  for (PetscInt l = 0; l < n; l++) {
    PetscInt k = 0;

    while (k < l && MuonSameWorkers_Private(muon, of_rank, all + WORKER_COUNT * l, all + WORKER_COUNT * k) == PETSC_FALSE) k++;
    if (spread) muon->place[l][MUON_PLACE_GRID] = k < l ? muon->place[k][MUON_PLACE_GRID] : muon->ngrids;
    if (k == l) PetscCall(MuonWorkerGridCreate_Private(muon, of_rank, all + WORKER_COUNT * l, &muon->grid[muon->ngrids++]));
  }
  PetscCall(PetscFree2(record, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Longest-job-first needs one number a layer: its flops plus its memory traffic times a number of flops a byte; an elementwise
   norm has the traffic only
*/
PetscErrorCode MuonDescribeJob_Private(MuonLayer layer, PetscLogDouble entrybytes, MuonExchangeItem *item)
{
  PetscFunctionBegin;
  item->name    = ((PetscObject)layer)->name;
  item->rows    = layer->m;
  item->columns = layer->n;
  item->bytes   = (PetscLogDouble)layer->m * (PetscLogDouble)layer->n * entrybytes;
  PetscCall(MuonLayerGetFlops(layer, &item->cost));
  item->cost += 4.0 * item->bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFindWorkerGrids_Private(Muon muon, PetscBool rows)
{
  MPI_Comm    comm     = PetscObjectComm((PetscObject)muon);
  PetscInt    mine     = 0, most; /* ranks of a worker */
  PetscMPIInt together = 1, *ranks_of;
  PetscBool   spread;

  PetscFunctionBegin;
  PetscCall(MuonResetWorkerGrids_Private(muon));
  for (PetscInt l = 0; l < muon->nlayers; l++) mine = PetscMax(mine, muon->layer[l]->ranks);
  PetscCallMPI(MPI_Allreduce(&mine, &most, 1, MPIU_INT, MPI_MAX, comm));
  PetscCheck(rows == PETSC_FALSE || most == 1, comm, PETSC_ERR_SUP, "-%smuon_exchange_type rows cuts layers that are whole on every rank, and the rows of some are spread over %" PetscInt_FMT " ranks; expected star, replicated or layerwise",
             MuonPrefix(muon), most);
  PetscCall(PetscCalloc1(muon->nlayers, &muon->place));
  PetscCall(PetscMalloc1(PetscMax(muon->nlayers, 1), &muon->grid));
  spread = most > 1 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MuonNodesFind_Private(muon, rows, &together, &ranks_of));
  PetscCall(MuonFindWorkers_Private(muon, spread ? muon->nlayers : 1, spread, together, ranks_of));
  PetscCall(PetscFree(ranks_of));
  PetscCall(MuonNodesPlace_Private(muon, rows ? 1 : together));
  if (spread) PetscCall(MuonCheckRows_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
