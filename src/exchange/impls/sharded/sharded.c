#include "../../muonexchangepost.h" /*I "petscmuonexchange.h" I*/

/* Larger cost first, then more bytes, then the name: an order that does not depend on the order in which the items were given */
static int MuonExchangeCompareItems_Private(const void *a, const void *b, void *ctx)
{
  const MuonExchange exchange = (MuonExchange)ctx;
  const PetscInt     i = *(const PetscInt *)a, j = *(const PetscInt *)b;

  if (exchange->cost[i] != exchange->cost[j]) return exchange->cost[i] > exchange->cost[j] ? -1 : 1;
  if (exchange->bytes[i] != exchange->bytes[j]) return exchange->bytes[i] > exchange->bytes[j] ? -1 : 1;
  return strcmp(exchange->names[i], exchange->names[j]);
}

static PetscErrorCode MuonExchangeAssign_Sharded(MuonExchange exchange)
{
  const PetscInt    n    = exchange->nitems;
  const PetscMPIInt size = exchange->post->transport.size;
  PetscLogDouble   *cost, *bytes;
  PetscInt         *sorted, *items;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &sorted));
  PetscCall(PetscCalloc3(size, &cost, size, &bytes, size, &items));
  for (PetscInt i = 0; i < n; i++) sorted[i] = i;
  if (n > 1) PetscCall(PetscTimSort(n, sorted, sizeof(*sorted), MuonExchangeCompareItems_Private, exchange));
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt i    = sorted[k];
    PetscMPIInt    best = 0;

    if (exchange->assignment == MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN) best = (PetscMPIInt)(k % size);
    else {
      for (PetscMPIInt r = 1; r < size; r++) {
        /* Bytes and items spread what costs nothing */
        if (cost[r] < cost[best] || (cost[r] == cost[best] && (bytes[r] < bytes[best] || (bytes[r] == bytes[best] && items[r] < items[best])))) best = r;
      }
    }
    exchange->owner[i] = best;
    cost[best] += exchange->cost[i];
    bytes[best] += exchange->bytes[i];
    items[best]++;
  }
  PetscCall(PetscFree3(cost, bytes, items));
  PetscCall(PetscFree(sorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeUp_Sharded(MuonExchange exchange)
{
  MuonExchangeBox *box = &exchange->post->up;

  PetscFunctionBegin;
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportAllToAll(&exchange->post->transport, box->out, box->outoffset, box->outbytes, &box->inbox)));
  box->in       = box->inbox.data;
  box->inoffset = box->inbox.offset;
  box->inbytes  = box->inbox.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeDown_Sharded(MuonExchange exchange)
{
  MuonExchangeBox  *box  = &exchange->post->down;
  const PetscMPIInt rank = exchange->post->transport.rank;

  PetscFunctionBegin;
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportAllGather(&exchange->post->transport, box->out, box->outbytes[rank], &box->inbox)));
  box->in       = box->inbox.data;
  box->inoffset = box->inbox.offset;
  box->inbytes  = box->inbox.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeView_Sharded(MuonExchange exchange, PetscViewer viewer)
{
  const PetscMPIInt size  = exchange->post->transport.size;
  PetscLogDouble    total = 0, most = 0;
  PetscMPIInt       idle = 0;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "assignment: %s\n", MuonExchangeAssignments[exchange->assignment]));
  if (exchange->setupcalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscMPIInt r = 0; r < size; r++) {
    PetscLogDouble cost = 0;

    for (PetscInt k = exchange->first[r]; k < exchange->first[r + 1]; k++) cost += exchange->cost[exchange->order[k]];
    total += cost;
    most = PetscMax(most, cost);
    if (exchange->first[r] == exchange->first[r + 1]) idle++;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "load: the busiest rank has %.3f times the mean cost, %d of %d ranks serve nothing\n", total > 0 ? (double)(most * size / total) : 1., idle, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEXCHANGESHARDED - "sharded" - Every layer has one owner

  Level: intermediate

  Notes:
  Up, every owner gets the packets about its layers (`MPI_Alltoall()` of the sizes, `MPI_Alltoallv()`), or the sums of their arrays (one `MPI_Ireduce()` a layer).
  Down, all ranks get the packets of all owners (`MPI_Allgather()` of the sizes, `MPI_Allgatherv()`).

  The owners are found by `MuonExchangeSetAssignment()`: layers in the order of falling cost (then size, then name) go to the least loaded rank, or to one rank after the other.
  A rank may own nothing.

.seealso: `MuonExchange`, `MuonExchangeType`, `MuonExchangeSetType()`, `MuonExchangeSetAssignment()`, `MUONEXCHANGESTAR`, `MUONEXCHANGEREPLICATED`
M*/
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Sharded(MuonExchange exchange)
{
  PetscFunctionBegin;
  exchange->ops->assign = MuonExchangeAssign_Sharded;
  exchange->ops->up     = MuonExchangeUp_Sharded;
  exchange->ops->down   = MuonExchangeDown_Sharded;
  exchange->ops->view   = MuonExchangeView_Sharded;
  PetscFunctionReturn(PETSC_SUCCESS);
}
