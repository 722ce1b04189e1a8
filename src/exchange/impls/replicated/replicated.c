#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

/*MC
  MUONEXCHANGEREPLICATED - "replicated" - Every worker owns every layer

  Level: intermediate

  Notes:
  Up, every worker gets the packets of all (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`), or the sums
  of their arrays (one `MPI_Iallreduce()` a layer), or, uncompressed, their arrays (one `MPI_Iallgather()` a layer). Small layers share a call. Down, nothing is sent. All
  workers compute the same message, and each applies its own.

  Bits that are counted (`MUONSIGN`) are sent to all workers, or summed as integers in one `MPI_Iallreduce()`.

  Every worker does all work of the servers. Most implementations of Muon do this. It is right if that work is small.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MUONEXCHANGESTAR`, `MUONEXCHANGELAYERWISE`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Replicated(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->everywhere = PETSC_TRUE;
  exchange->ops->up    = MuonExchangePacketsAllGather;
  PetscFunctionReturn(PETSC_SUCCESS);
}
