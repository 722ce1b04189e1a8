#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

static inline MuonAssignmentItems MuonExchangeGetItems_Private(MuonExchange exchange)
{
  const MuonAssignmentItems items = {exchange->nitems, (const char *const *)exchange->names, exchange->cost, exchange->bytes, exchange->rows, exchange->columns};

  return items;
}

static PetscErrorCode MuonExchangeAssign_Layerwise(MuonExchange exchange)
{
  const MuonAssignmentItems items = MuonExchangeGetItems_Private(exchange);

  PetscFunctionBegin;
  PetscCall(MuonAssignOwners_Private(exchange->assignment, &items, exchange->nworkers, exchange->owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeView_Layerwise(MuonExchange exchange, PetscViewer viewer)
{
  const MuonAssignmentItems items = MuonExchangeGetItems_Private(exchange);

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "assignment: %s\n", MuonExchangeAssignments[exchange->assignment]));
  if (exchange->setupcalled == PETSC_TRUE) PetscCall(MuonAssignmentView_Private(exchange->assignment, &items, exchange->nworkers, exchange->owner, "worker", viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEXCHANGELAYERWISE - "layerwise" - Every layer has one owner

  Level: intermediate

  Notes:
  Up, every owner gets the packets about its layers (`MPI_Alltoall()` of the sizes, `MPI_Alltoallv()`), or the
  sums of their arrays (one `MPI_Ireduce()` a layer, or `MPI_Iallreduce()`). Down, all workers get the packets
  of all owners (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`).

  The owners are found as `MuonExchangeAssignment` says: layers in the order of falling cost (then size, then
  name) go to the least loaded worker, or to one worker after the other, over all layers or over those of each
  shape. A worker may own nothing.

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
