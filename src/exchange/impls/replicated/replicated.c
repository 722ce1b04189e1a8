#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

/*MC
  MUONEXCHANGEREPLICATED - "replicated" - Every worker owns every layer

  Level: intermediate

  Notes:
  Up, every worker gets the packets of all (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`), or the sums
  of their arrays (one `MPI_Iallreduce()` a layer), or, uncompressed, their arrays (one `MPI_Iallgather()` a layer). Down, nothing is sent: every worker applies the message that
  it made itself, and all make the same.

  Votes go to all as bits, or as sums of integers in one `MPI_Iallreduce()`.

  Every worker does all work of the servers. This is the way of most implementations of Muon, and right where
  that work is small.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MUONEXCHANGESTAR`, `MUONEXCHANGELAYERWISE`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Replicated(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->everywhere = PETSC_TRUE;
  exchange->ops->up    = MuonExchangePacketsAllGather;
  PetscFunctionReturn(PETSC_SUCCESS);
}
