#include "../../muonexchangepost.h" /*I "petscmuonexchange.h" I*/

static PetscErrorCode MuonExchangeAssign_Star(MuonExchange exchange)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(exchange->owner, exchange->nitems));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeUp_Star(MuonExchange exchange)
{
  MuonExchangeBox *box = &exchange->post->up;

  PetscFunctionBegin;
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportGather(&exchange->post->transport, 0, box->out, box->outbytes[0], &box->inbox)));
  box->in       = box->inbox.data;
  box->inoffset = box->inbox.offset;
  box->inbytes  = box->inbox.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeDown_Star(MuonExchange exchange)
{
  MuonExchangeBox *box = &exchange->post->down;

  PetscFunctionBegin;
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportBroadcast(&exchange->post->transport, 0, box->out, box->outbytes[0], &box->inbox)));
  if (exchange->post->transport.rank == 0) { /* the server reads its packet where MPI took it from: a broadcast gives its root no other copy */
    box->in       = box->out;
    box->inoffset = box->outoffset;
    box->inbytes  = box->outbytes;
  } else {
    box->in       = box->inbox.data;
    box->inoffset = box->inbox.offset;
    box->inbytes  = box->inbox.bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEXCHANGESTAR - "star" - Rank 0 serves every layer

  Level: intermediate

  Notes:
  Up, the workers' packets are gathered at rank 0 (`MPI_Gather()` of the sizes, `MPI_Gatherv()`), or their arrays are summed there (one `MPI_Ireduce()` a layer).
  Down, the packet of rank 0 is broadcast.

  This is the parameter server of the EF21-Muon paper. Rank 0 receives what all ranks send and does all work of the servers.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MUONEXCHANGESHARDED`, `MUONEXCHANGEREPLICATED`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Star(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->ops->assign = MuonExchangeAssign_Star;
  exchange->ops->up     = MuonExchangeUp_Star;
  exchange->ops->down   = MuonExchangeDown_Star;
  PetscFunctionReturn(PETSC_SUCCESS);
}
