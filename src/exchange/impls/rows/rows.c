#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

/*MC
  MUONEXCHANGEROWS - "rows" - Every rank keeps rows of the state of every layer, whose weights are whole on
  all ranks

  Level: intermediate

  Notes:
  This is ZeRO-1, as Moonlight and Motif publish their Muons. All ranks together are one worker: its gradients
  are summed so that each rank gets its rows of the mean (`MPI_Ireduce_scatter()`), and momentum, aggregate,
  moments and server's weights are kept in rows. What an LMO needs of a matrix is assembled inside the
  worker, see `MuonAssemblyKind`; new rows are gathered to whole weights (`MPI_Allgatherv()`).

  As there is one worker, nothing is exchanged between workers: a lossy compressor saves nothing here.

  Layers whose weights are spread over ranks have their state in rows by themselves, with any type of
  exchange, and are refused.

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
