#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

static PetscErrorCode MuonExchangeAssign_Layerwise(MuonExchange exchange)
{
  PetscFunctionBegin;
  PetscCall(MuonAssignOwners_Private(exchange->assignment, exchange->nitems, exchange->item, exchange->nworkers, exchange->owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeView_Layerwise(MuonExchange exchange, PetscViewer viewer)
{
  PetscLogDouble total = 0, most = 0, cost;
  PetscMPIInt    idle = 0;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "assignment: %s\n", MuonExchangeAssignments[exchange->assignment]));
  if (exchange->setupcalled == PETSC_FALSE || exchange->nitems == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscMPIInt w = 0; w < exchange->nworkers; w++) {
    cost = 0;
    for (PetscInt k = exchange->first[w]; k < exchange->first[w + 1]; k++) cost += exchange->item[exchange->order[k]].cost;
    if (exchange->first[w] == exchange->first[w + 1]) idle++;
    most = PetscMax(most, cost);
    total += cost;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "load: the busiest worker has %.3f times the mean cost, %d of %d workers own nothing\n", total > 0 ? (double)(most * exchange->nworkers / total) : 1., idle, exchange->nworkers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEXCHANGELAYERWISE - "layerwise" - Every layer has one owner

  Level: intermediate

  Notes:
  Up, every owner gets the packets about its layers (`MPI_Alltoall()` of the sizes, `MPI_Alltoallv()`), or the
  sums of their arrays (one `MPI_Ireduce()` a layer, or `MPI_Iallreduce()`). Down, all workers get the packets of all
  owners (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`). Uncompressed arrays are sent without packets, by one
  `MPI_Igather()` a layer up and one `MPI_Ibcast()` down. Sums and arrays of small layers with the same owner share a call.

  `MuonExchangeAssignment` chooses the owners. Layers in the order of decreasing cost (then size, then name) go to the
  least loaded worker, or to the workers in turn, for all layers or for the layers of each shape. A worker may own
  nothing.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MuonExchangeAssignment`, `MUONEXCHANGESTAR`, `MUONEXCHANGEREPLICATED`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Layerwise(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->ops->assign = MuonExchangeAssign_Layerwise;
  exchange->ops->up     = MuonExchangePacketsAllToAll;
  exchange->ops->down   = MuonExchangePacketsAllGather;
  exchange->ops->view   = MuonExchangeView_Layerwise;
  PetscFunctionReturn(PETSC_SUCCESS);
}
