#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

/*MC
  MUONEXCHANGEROWS - "rows" - Every rank owns some rows of each layer, and every rank has all weights

  Level: intermediate

  Notes:
  This is ZeRO-1, as in the Muons of Moonlight and Motif. All ranks together are one worker. Each rank gets its rows of
  the mean gradient (`MPI_Ireduce_scatter()`), and keeps its rows of momentum, aggregate, moments and server's weights.
  The worker assembles matrices for their LMOs, see `MuonAssemblyKind`. New rows are gathered to whole weights
  (`MPI_Allgatherv()`).

  With one worker there are no messages between workers, and a lossy compressor saves nothing.

  Layers whose weights are distributed have their state in rows with any type of exchange. They are an error here.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MuonAssemblyKind`, `MUONEXCHANGEREPLICATED`, `MUONEXCHANGELAYERWISE`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Rows(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->everywhere = PETSC_TRUE;
  exchange->rowwise    = PETSC_TRUE;
  exchange->ops->up    = MuonExchangePacketsAllGather;
  PetscFunctionReturn(PETSC_SUCCESS);
}
