#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

/* MuonExchangeCutVotes() makes an item for each worker */
static PetscErrorCode MuonExchangeAssign_Range(MuonExchange exchange)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < exchange->nitems; i++) exchange->owner[i] = (PetscMPIInt)(i % exchange->nworkers);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEXCHANGERANGE - "range" - Every worker owns a range of the entries of all layers together

  Level: intermediate

  Notes:
  For votes, whose entries have nothing to do with each other: `MUONSIGN`. Up, every worker sends each of the
  others the bits of its range (`MPI_Alltoall()` of the sizes, `MPI_Alltoallv()`), and counts the votes on its
  own; down, all workers get the bits of all ranges (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`).

  With J workers and d entries, one bit each both ways, a worker sends (1 + 1/J) d/8 bytes, what it keeps for
  itself counted as MPI gets it, and some hundred bytes for each worker: nothing grows with the workers, and all
  work is shared. Ties that move nothing take another d/(8 J).

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MUONEXCHANGELAYERWISE`, `MUONEXCHANGEREPLICATED`, `MUONSIGN`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Range(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->ownership   = MUON_EXCHANGE_OWNERSHIP_RANGES;
  exchange->ops->assign = MuonExchangeAssign_Range;
  exchange->ops->up     = MuonExchangePacketsAllToAll;
  exchange->ops->down   = MuonExchangePacketsAllGather;
  PetscFunctionReturn(PETSC_SUCCESS);
}
