#include "../../muonexchangepost.h" /*I "petscmuonexchange.h" I*/

static PetscErrorCode MuonExchangeUp_Replicated(MuonExchange exchange)
{
  MuonExchangeBox  *box  = &exchange->post->up;
  const PetscMPIInt rank = exchange->post->transport.rank;

  PetscFunctionBegin;
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportAllGather(&exchange->post->transport, box->out, box->outbytes[rank], &box->inbox)));
  box->in       = box->inbox.data;
  box->inoffset = box->inbox.offset;
  box->inbytes  = box->inbox.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEXCHANGEREPLICATED - "replicated" - Every rank serves every layer

  Level: intermediate

  Notes:
  Up, every rank gets the packets of all (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`), or the sums of their arrays (one `MPI_Iallreduce()` a layer).
  Down, nothing moves: every rank applies the message that it made itself, and all make the same.

  Every rank does all work of the servers. This is the way of most implementations of Muon, and right where that work is small.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MUONEXCHANGESTAR`, `MUONEXCHANGESHARDED`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Replicated(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->everywhere = PETSC_TRUE;
  exchange->ops->up    = MuonExchangeUp_Replicated;
  PetscFunctionReturn(PETSC_SUCCESS);
}
