#include "../muonexchangepackets.h"

/*
   Contributions that MPI adds, and the records that end a step.
*/

static PetscErrorCode MuonExchangeSumStart_Private(MuonExchange exchange, PetscInt i, PetscBool wait, uint64_t length, MPI_Datatype type, const void *in, void *out)
{
  MuonTransport *transport = &exchange->link->transport;
  const int      root      = exchange->everywhere == PETSC_TRUE || exchange->mode == MUON_EXCHANGE_MODE_ALLREDUCE ? MUON_TRANSPORT_EVERYWHERE : exchange->owner[i];

  PetscFunctionBegin;
  PetscCheck(length == 0 || out != NULL || (root >= 0 && root != exchange->worker), PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "The sum of item %s is to come here, and there is no room for it", exchange->names[i]);
  exchange->link->sumbegin[i] = transport->started;
  PetscCall(MuonExchangeCheckTransport_Private(wait ? MuonTransportSum(transport, root, in, out, length, type) : MuonTransportSumStart(transport, root, in, out, length, type)));
  exchange->link->sumend[i] = transport->started;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReduceTyped(MuonExchange exchange, const PetscInt64 length[], const MPI_Datatype type[], const void *const in[], void *const out[])
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  for (PetscInt i = 0; i < exchange->nitems; i++) PetscCall(MuonExchangeSumStart_Private(exchange, i, PETSC_FALSE, (uint64_t)length[i], type[i], in[i], out[i]));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSumWait(&exchange->link->transport)));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of the host for the sum of an item, which gets what is summed */
static PetscErrorCode MuonExchangeStage_Private(MuonExchange exchange, PetscInt item, const MuonArray *in, const MuonArray *out, MuonExchangeStage **stage)
{
  const MuonDevice *device = MuonDeviceGet();
  const size_t      bytes  = MuonArrayBytes(in);

  PetscFunctionBegin;
  if (exchange->staged == NULL) PetscCall(PetscCalloc1(exchange->nitems, &exchange->staged));
  exchange->nstaged = exchange->nitems;
  *stage            = &exchange->staged[item];
  if (bytes > (*stage)->bytes) {
    if ((*stage)->in != NULL) device->unpin((*stage)->in);
    (*stage)->bytes = 0;
    (*stage)->in    = device->pin(2 * bytes);
    PetscCheck((*stage)->in != NULL, PETSC_COMM_SELF, PETSC_ERR_MEM, "Item %s: no memory of %zu bytes for a sum of arrays that are in the memory of a device", exchange->names[item], 2 * bytes);
    (*stage)->out   = (char *)(*stage)->in + bytes;
    (*stage)->bytes = bytes;
  }
  (*stage)->to = *out;
  device->copy(bytes, in->data, (*stage)->in);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sum that MPI has finished goes to where it belongs */
static PetscErrorCode MuonExchangeUnstage_Private(MuonExchange exchange, PetscInt item)
{
  MuonExchangeStage *stage = exchange->staged == NULL ? NULL : &exchange->staged[item];

  PetscFunctionBegin;
  if (stage == NULL || stage->to.data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  MuonDeviceGet()->copy(MuonArrayBytes(&stage->to), stage->out, stage->to.data);
  stage->to.data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeFreeStaged_Private(MuonExchange exchange)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < exchange->nstaged; i++) {
    if (exchange->staged[i].in != NULL) MuonDeviceGet()->unpin(exchange->staged[i].in);
  }
  exchange->nstaged = 0;
  PetscCall(PetscFree(exchange->staged));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReduceBegin(MuonExchange exchange, PetscInt item, const MuonArray *in, const MuonArray *out)
{
  const PetscBool    there = in->memory == MUON_DEVICE ? PETSC_TRUE : PETSC_FALSE;
  const void        *from  = in->data;
  void              *to    = out->data;
  MuonExchangeStage *stage = NULL;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCheck((in->count < 2 || in->ld == in->len) && (out->data == NULL || out->count < 2 || out->ld == out->len), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Item %s: arrays that are summed have no gaps between their lines", exchange->names[item]);
  PetscCheck(out->data == NULL || (out->precision == in->precision && out->len == in->len && out->count == in->count), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Item %s: the sum has another shape or precision than what is summed", exchange->names[item]);
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  if (there && exchange->direct) {
    MuonDeviceGet()->fence();
    from = MuonDeviceGet()->bare(in->data);
    if (to != NULL) to = MuonDeviceGet()->bare(to);
  } else if (there) {
    PetscCall(MuonExchangeStage_Private(exchange, item, in, out, &stage));
    from = stage->in;
    if (to != NULL) to = stage->out;
  }
  PetscCall(MuonExchangeSumStart_Private(exchange, item, there && exchange->direct ? PETSC_TRUE : PETSC_FALSE, (uint64_t)MuonArrayEntries(in), in->precision == MUON_SINGLE ? MPI_FLOAT : MPI_DOUBLE, from, to));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReduceWait(MuonExchange exchange, PetscInt item)
{
  MuonExchangeLink link = exchange->link;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSumWaitSome(&link->transport, link->sumbegin[item], link->sumend[item])));
  PetscCall(MuonExchangeUnstage_Private(exchange, item));
  PetscCall(PetscLogEventEnd(MUON_Exchange, exchange, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MuonExchangeReduceProgress(void *exchange)
{
  MuonTransportSumTest(&((MuonExchange)exchange)->link->transport);
}

PetscErrorCode MuonExchangeReduceEnd(MuonExchange exchange)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(exchange->link->sumbegin, exchange->nitems));
  PetscCall(PetscArrayzero(exchange->link->sumend, exchange->nitems));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSumWait(&exchange->link->transport)));
  for (PetscInt i = 0; i < exchange->nitems; i++) PetscCall(MuonExchangeUnstage_Private(exchange, i));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGatherRecords(MuonExchange exchange, PetscInt count, const double record[], double all[])
{
  PetscMPIInt n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(PetscMPIIntCast(count, &n));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportShare(&exchange->link->transport, record, all, n, MPI_DOUBLE)));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}
