#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

/*MC
  MUONEXCHANGESTAR - "star" - Worker 0 owns every layer

  Level: intermediate

  Notes:
  Up, the workers' packets are gathered at worker 0 (`MPI_Gather()` of the sizes, `MPI_Gatherv()`), or their
  arrays are summed there (one `MPI_Ireduce()` a layer). Down, the packet of worker 0 is broadcast.
  Uncompressed arrays are sent without packets, by one `MPI_Igather()` a layer up and one `MPI_Ibcast()` down.
  Sums and arrays of small layers share a call.

  Bits that are counted (`MUONSIGN`) are sent up by gather, or by reduce along a binomial tree. These are the parameter
  server and the tree of the SignMuon paper. A message in the tree has counts of as few bits as the number of workers
  below it needs.

  This is the parameter server of the EF21-Muon paper. Worker 0 receives what all workers send and does all
  work of the servers.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MUONEXCHANGELAYERWISE`, `MUONEXCHANGEREPLICATED`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Star(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->ownership = MUON_EXCHANGE_OWNERSHIP_ONE;
  exchange->ops->up   = MuonExchangePacketsGather;
  exchange->ops->down = MuonExchangePacketsBroadcast;
  PetscFunctionReturn(PETSC_SUCCESS);
}
