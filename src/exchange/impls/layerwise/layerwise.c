#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

/* Larger cost first, then more bytes, then the name: an order that does not depend on the order in which the items were given */
static int MuonExchangeCompareItems_Private(const void *a, const void *b, void *ctx)
{
  const MuonExchange exchange = (MuonExchange)ctx;
  const PetscInt     i = *(const PetscInt *)a, j = *(const PetscInt *)b;

  if (exchange->cost[i] != exchange->cost[j]) return exchange->cost[i] > exchange->cost[j] ? -1 : 1;
  if (exchange->bytes[i] != exchange->bytes[j]) return exchange->bytes[i] > exchange->bytes[j] ? -1 : 1;
  return strcmp(exchange->names[i], exchange->names[j]);
}

static PetscErrorCode MuonExchangeAssign_Layerwise(MuonExchange exchange)
{
  const PetscInt    n        = exchange->nitems;
  const PetscMPIInt nworkers = exchange->nworkers;
  PetscLogDouble   *cost, *bytes;
  PetscInt         *sorted, *items;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &sorted));
  PetscCall(PetscCalloc3(nworkers, &cost, nworkers, &bytes, nworkers, &items));
  for (PetscInt i = 0; i < n; i++) sorted[i] = i;
  if (n > 1) PetscCall(PetscTimSort(n, sorted, sizeof(*sorted), MuonExchangeCompareItems_Private, exchange));
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt i    = sorted[k];
    PetscMPIInt    best = 0;

    if (exchange->assignment == MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN) best = (PetscMPIInt)(k % nworkers);
    else {
      for (PetscMPIInt r = 1; r < nworkers; r++) {
        /* Bytes and items spread what costs nothing */
        if (cost[r] < cost[best] || (cost[r] == cost[best] && (bytes[r] < bytes[best] || (bytes[r] == bytes[best] && items[r] < items[best])))) best = r;
      }
    }
    exchange->owner[i] = best;
    cost[best] += exchange->cost[i];
    bytes[best] += exchange->bytes[i];
    items[best]++;
  }
  PetscCall(PetscFree3(cost, bytes, items));
  PetscCall(PetscFree(sorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeView_Layerwise(MuonExchange exchange, PetscViewer viewer)
{
  const PetscMPIInt nworkers = exchange->nworkers;
  PetscLogDouble    total = 0, most = 0;
  PetscMPIInt       idle = 0;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "assignment: %s\n", MuonExchangeAssignments[exchange->assignment]));
  if (exchange->setupcalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscMPIInt r = 0; r < nworkers; r++) {
    PetscLogDouble cost = 0;

    for (PetscInt k = exchange->first[r]; k < exchange->first[r + 1]; k++) cost += exchange->cost[exchange->order[k]];
    total += cost;
    most = PetscMax(most, cost);
    if (exchange->first[r] == exchange->first[r + 1]) idle++;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "load: the busiest worker has %.3f times the mean cost, %d of %d workers serve nothing\n", total > 0 ? (double)(most * nworkers / total) : 1., idle, nworkers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEXCHANGELAYERWISE - "layerwise" - Every layer has one owner

  Level: intermediate

  Notes:
  Up, every owner gets the packets about its layers (`MPI_Alltoall()` of the sizes, `MPI_Alltoallv()`), or the sums of their arrays (one `MPI_Ireduce()` a layer, or `MPI_Iallreduce()`).
  Down, all workers get the packets of all owners (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`).

  The owners are found by `MuonExchangeSetAssignment()`: layers in the order of falling cost (then size, then name) go to the least loaded worker, or to one worker after the other.
  A worker may own nothing.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MuonExchangeSetAssignment()`, `MUONEXCHANGESTAR`, `MUONEXCHANGEREPLICATED`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Layerwise(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->owners      = PETSC_TRUE;
  exchange->ops->assign = MuonExchangeAssign_Layerwise;
  exchange->ops->up     = MuonExchangePacketsAllToAll;
  exchange->ops->down   = MuonExchangePacketsAllGather;
  exchange->ops->view   = MuonExchangeView_Layerwise;
  PetscFunctionReturn(PETSC_SUCCESS);
}
