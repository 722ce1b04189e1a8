#include "../muonexchangepackets.h"

/*
   Contributions that MPI adds, and the records that end a step.
*/

static PetscErrorCode MuonExchangeSumStart_Private(MuonExchange exchange, PetscInt i, PetscBool wait, uint64_t length, MPI_Datatype type, const void *in, void *out)
{
  MuonTransport *transport = &exchange->link->transport;
  const int      root      = exchange->everywhere || exchange->mode == MUON_EXCHANGE_MODE_ALLREDUCE ? MUON_TRANSPORT_EVERYWHERE : exchange->owner[i];

  PetscFunctionBegin;
  exchange->link->sum[i].begin = transport->started;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSum(transport, wait ? 1 : 0, root, in, out, length, type)));
  exchange->link->sum[i].end = transport->started;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReduceTyped(MuonExchange exchange, PetscInt64 length, MPI_Datatype type, const void *in, void *out)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeSumStart_Private(exchange, 0, PETSC_FALSE, (uint64_t)length, type, in, out));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Their requests are behind those under way. What MPI counts is in ints: a group's set-up has looked */
PetscErrorCode MuonExchangeArraysBegin(MuonExchange exchange, MuonExchangeDirection way, PetscInt item, const MuonArray *array, void *all)
{
  MuonTransport *transport = &exchange->link->transport;
  const int      root      = exchange->everywhere ? MUON_TRANSPORT_EVERYWHERE : exchange->owner[item];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  exchange->link->sum[item].begin = transport->started;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportArrays(transport, way == MUON_EXCHANGE_DOWN, root, array->data, (int)array->len, (int)array->count, (int)array->ld, all, array->precision == MUON_SINGLE ? MPI_FLOAT : MPI_DOUBLE)));
  exchange->link->sum[item].end = transport->started;
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGatherBegin(MuonExchange exchange, PetscInt item, const MuonArray *in)
{
  MuonExchangeSum *sum = &exchange->link->sum[item];
  MuonArray        all = MuonArrayLike(in, in->precision, NULL);

  PetscFunctionBegin;
  all.count *= (size_t)exchange->nworkers;
  if (exchange->owner[item] == exchange->worker && sum->gathered.data == NULL) PetscCall(MuonArrayCreate(&all, all.precision, &sum->gathered));
  sum->own = *in;
  PetscCall(MuonExchangeArraysBegin(exchange, MUON_EXCHANGE_UP, item, in, sum->gathered.data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MuonArray MuonExchangeGatherGet(MuonExchange exchange, PetscInt item, PetscMPIInt worker)
{
  const MuonExchangeSum *sum = &exchange->link->sum[item];

  if (worker == exchange->worker && exchange->everywhere == PETSC_FALSE) return sum->own;
  return MuonArrayLike(&sum->own, sum->own.precision, (char *)sum->gathered.data + (size_t)worker * MuonArrayBytes(&sum->own));
}

/* A sum that MPI has finished goes to where it belongs */
static void MuonExchangeUnstage_Private(MuonExchangeSum *sum)
{
  if (sum->to.data != NULL) MuonDeviceGet()->copy(MuonArrayBytes(&sum->to), sum->out, sum->to.data);
  sum->to.data = NULL;
}

/* If MPI does not accept device memory, copies on the host are summed, whose memory is kept */
PetscErrorCode MuonExchangeReduceBegin(MuonExchange exchange, PetscInt item, const MuonArray *in, const MuonArray *out)
{
  const MuonDevice *device = MuonDeviceGet();
  const PetscBool   there  = in->memory == MUON_DEVICE ? PETSC_TRUE : PETSC_FALSE;
  const size_t      bytes  = MuonArrayBytes(in);
  MuonExchangeSum  *sum    = &exchange->link->sum[item];
  const void       *from   = in->data;
  void             *to     = out->data;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  if (there && exchange->device) {
    device->fence();
    from = device->bare(in->data);
    if (to != NULL) to = device->bare(to);
  } else if (there) {
    if (bytes > sum->bytes) {
      if (sum->in != NULL) device->unpin(sum->in);
      sum->in = device->pin(2 * bytes);
      PetscCheck(sum->in != NULL, PETSC_COMM_SELF, PETSC_ERR_MEM, "Item %s: no memory of %zu bytes for a sum of arrays that are in the memory of a device", exchange->item[item].name, 2 * bytes);
      sum->out   = (char *)sum->in + bytes;
      sum->bytes = bytes;
    }
    sum->to = *out;
    device->copy(bytes, in->data, sum->in);
    from = sum->in;
    if (to != NULL) to = sum->out;
  }
  PetscCall(MuonExchangeSumStart_Private(exchange, item, there && exchange->device ? PETSC_TRUE : PETSC_FALSE, (uint64_t)MuonArrayEntries(in), in->precision == MUON_SINGLE ? MPI_FLOAT : MPI_DOUBLE, from, to));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReduceWait(MuonExchange exchange, PetscInt item)
{
  MuonExchangeSum *sum = &exchange->link->sum[item];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSumWaitSome(&exchange->link->transport, sum->begin, sum->end)));
  MuonExchangeUnstage_Private(sum);
  PetscCall(PetscLogEventEnd(MUON_Exchange, exchange, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void MuonExchangeProgress(void *exchange)
{
  MuonTransportSumTest(&((MuonExchange)exchange)->link->transport);
}

PetscErrorCode MuonExchangeReduceEnd(MuonExchange exchange)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSumWait(&exchange->link->transport)));
  for (PetscInt i = 0; i < exchange->nitems; i++) {
    exchange->link->sum[i].begin = exchange->link->sum[i].end = 0;
    MuonExchangeUnstage_Private(&exchange->link->sum[i]);
  }
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGatherRecords(MuonExchange exchange, PetscInt count, const double record[], double all[])
{
  PetscMPIInt n;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(count, &n));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportShare(&exchange->link->transport, record, all, n, MPI_DOUBLE)));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}
