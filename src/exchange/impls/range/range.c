#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

/* MuonExchangeCutEntries() makes an item for each worker */
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
  It is for bits that are counted (`MUONSIGN`), because entries are independent of each other. Up, every worker sends
  each other worker the bits of that worker's range (`MPI_Alltoall()` of the sizes, `MPI_Alltoallv()`), and counts those
  of its own range. Down, all workers get the bits of all ranges (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`).

  With J workers and d entries, one bit each in both directions, a worker passes (1 + 1/J) d/8 bytes to MPI, with its
  own part, and about a hundred bytes for each worker. The bits do not grow with the number of workers, and all workers
  share the work. Ties of value zero take another d/(8 J).

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
