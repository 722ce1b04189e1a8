#include "../muonexchangepackets.h"

/*
   Contributions that MPI adds, and the records that end a step.
*/

/* Where arrays or their sum are wanted */
static int MuonExchangeRoot_Private(MuonExchange exchange, PetscBool adds, PetscInt item)
{
  return exchange->everywhere || (adds && exchange->mode == MUON_EXCHANGE_MODE_ALLREDUCE) ? MUON_TRANSPORT_EVERYWHERE : exchange->owner[item];
}

/* Where what came of a pack begins */
static unsigned char *MuonExchangeCame_Private(const MuonExchangePack *pack)
{
  return pack->data + (pack->copied && pack->way == MUON_EXCHANGE_UP ? pack->bytes : 0);
}

static PetscErrorCode MuonExchangeFreePack_Private(MuonExchangePack *pack)
{
  PetscFunctionBegin;
  if (pack->memory == MUON_HOST) PetscCall(PetscFree(pack->data));
  else if (pack->data != NULL) MuonDeviceGet()->unpin(pack->data);
  pack->data     = NULL;
  pack->capacity = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeFreePacks_Private(MuonExchange exchange)
{
  MuonExchangeLink link = exchange->link;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < exchange->nitems && link->pack != NULL; k++) PetscCall(MuonExchangeFreePack_Private(&link->pack[k]));
  PetscCall(PetscFree3(link->sum, link->pack, link->open));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of this worker's arrays, where they are sent, and room for what comes */
static PetscErrorCode MuonExchangeFill_Private(MuonExchange exchange, MuonExchangePack *pack, MuonMemory memory)
{
  const PetscBool up    = pack->way == MUON_EXCHANGE_UP ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool sends = pack->receives == PETSC_FALSE || (up && (pack->root < 0 || pack->gathers == PETSC_FALSE)) ? PETSC_TRUE : PETSC_FALSE;
  size_t          need  = pack->copied ? pack->bytes : 0;

  PetscFunctionBegin;
  if (pack->receives && pack->gathers) need += (size_t)exchange->nworkers * pack->bytes;
  else if (pack->receives && up && pack->copied) need += pack->bytes;
  if (need > 0 && (need > pack->capacity || memory != pack->memory)) {
    PetscCall(MuonExchangeFreePack_Private(pack));
    pack->memory = memory;
    if (memory == MUON_HOST) PetscCall(PetscMalloc(need, &pack->data));
    else pack->data = (unsigned char *)MuonDeviceGet()->pin(need);
    PetscCheck(pack->data != NULL, PETSC_COMM_SELF, PETSC_ERR_MEM, "Item %s: no memory of %zu bytes for sums of arrays of a device", exchange->item[pack->first].name, need);
    pack->capacity = need;
  }
  for (PetscInt i = pack->first; i >= 0 && pack->copied && sends; i = exchange->link->sum[i].next) {
    const MuonArray *in   = &exchange->link->sum[i].in;
    MuonArray        copy = MuonArrayLike(in, in->precision, pack->data + exchange->link->sum[i].at);

    if (memory == MUON_HOST) MuonArrayAxpby(1, in, 0, &copy);
    else MuonDeviceGet()->copy(MuonArrayBytes(in), in->data, copy.data);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MPI counts in ints what is not added: a group's set-up has looked, and small arrays are few */
static int MuonExchangeMoveArrays_Private(MuonTransport *transport, const MuonExchangePack *pack, const MuonArray *a, void *all, MPI_Datatype type)
{
  return MuonTransportArrays(transport, pack->way == MUON_EXCHANGE_DOWN, pack->root, a->data, (int)a->len, (int)a->count, (int)a->ld, all, type);
}

/*
   Begins a pack. If MPI does not accept device memory, copies on the host are summed. Small arrays of two workers are added by their owner,
   which gives the same sums: MPI may add a large message in parts that wait for each other
*/
static PetscErrorCode MuonExchangeStart_Private(MuonExchange exchange, MuonExchangePack *pack)
{
  MuonTransport     *transport = &exchange->link->transport;
  MuonExchangeSum   *one       = &exchange->link->sum[pack->first];
  const MPI_Datatype type      = one->in.precision == MUON_SINGLE ? MPI_FLOAT : MPI_DOUBLE;
  const uint64_t     entries = pack->bytes / MuonArrayEntryBytes(&one->in), bytes = transport->bytes, own = transport->own;
  const PetscBool    several = pack->first != pack->last ? PETSC_TRUE : PETSC_FALSE, up = pack->way == MUON_EXCHANGE_UP ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool    there = one->in.memory == MUON_DEVICE ? PETSC_TRUE : PETSC_FALSE, direct = there && exchange->device ? PETSC_TRUE : PETSC_FALSE;
  MuonArray          array = one->in;
  void              *to    = one->to.data;
  int                code;

  PetscFunctionBegin;
  pack->begun    = PETSC_TRUE;
  pack->copied   = several || (there && direct == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
  pack->receives = (pack->root < 0 || pack->root == exchange->worker) == up ? PETSC_TRUE : PETSC_FALSE;
  pack->gathers  = up && (pack->adds == PETSC_FALSE || (several && exchange->nworkers == 2 && there == PETSC_FALSE)) ? PETSC_TRUE : PETSC_FALSE;
  pack->begin    = transport->started;
  PetscCall(MuonExchangeFill_Private(exchange, pack, there && direct == PETSC_FALSE ? MUON_DEVICE : MUON_HOST));
  if (pack->copied) {
    array.data = pack->data;
    array.len = array.ld = (size_t)entries;
    array.count          = 1;
  }
  if (pack->copied || pack->gathers) to = pack->receives ? MuonExchangeCame_Private(pack) : NULL;
  if (direct) {
    MuonDeviceGet()->fence();
    array.data = MuonDeviceGet()->bare(array.data);
    if (to != NULL) to = MuonDeviceGet()->bare(to);
  }
  if (pack->gathers || up == PETSC_FALSE) code = MuonExchangeMoveArrays_Private(transport, pack, &array, to, type);
  else code = MuonTransportSum(transport, direct ? 1 : 0, pack->root, array.data, to, entries, type);
  PetscCall(MuonExchangeCheckTransport_Private(code));
  pack->end = transport->started;
  exchange->link->sent[0] += transport->bytes - bytes;
  exchange->link->sent[1] += transport->own - own;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins all that waits, in one order on all ranks */
static PetscErrorCode MuonExchangeFlush_Private(MuonExchange exchange)
{
  MuonExchangeLink link = exchange->link;

  PetscFunctionBegin;
  for (PetscMPIInt k = 0; k < 4 * exchange->nworkers && link->open != NULL; k++) {
    if (link->open[k] != NULL) PetscCall(MuonExchangeStart_Private(exchange, link->open[k]));
    link->open[k] = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An array joins the pack of its kind. All workers begin arrays of the same sizes in one order, so that their packs are the same: each is
   sent before it would become too large, or when the last item of the exchange has begun. Open MPI adds 65536 bytes, and more, in another
   order than less
*/
static PetscErrorCode MuonExchangeJoin_Private(MuonExchange exchange, MuonExchangeDirection way, PetscBool adds, PetscInt item, const MuonArray *in, const MuonArray *to)
{
  const PetscBool    host = in->memory == MUON_HOST ? PETSC_TRUE : PETSC_FALSE, sums = adds && exchange->nworkers > 2 ? PETSC_TRUE : PETSC_FALSE;
  const size_t       bytes = MuonArrayBytes(in), limit = sums ? 2 * MUON_EXCHANGE_SMALL - 1 : MUON_EXCHANGE_TOGETHER;
  const PetscBool    small = bytes > 0 && bytes <= MUON_EXCHANGE_SMALL && (host || exchange->device == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
  const int          root  = MuonExchangeRoot_Private(exchange, adds, item);
  MuonExchangeLink   link  = exchange->link;
  MuonExchangePack **open  = &link->open[4 * PetscMax(root, 0) + (host ? 0 : 2) + (in->precision == MUON_SINGLE ? 0 : 1)], *pack;
  MuonExchangeSum   *sum   = &link->sum[item];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  if (small && *open != NULL && (*open)->bytes + bytes > limit) {
    PetscCall(MuonExchangeStart_Private(exchange, *open));
    *open = NULL;
  }
  if (small && *open != NULL) {
    pack                       = *open;
    link->sum[pack->last].next = item;
  } else {
    pack        = &link->pack[link->npacks++];
    pack->way   = way;
    pack->adds  = adds;
    pack->root  = root;
    pack->first = item;
    pack->bytes = 0;
    pack->begun = PETSC_FALSE;
  }
  pack->last = item;
  sum->in    = *in;
  sum->to    = *to;
  sum->pack  = pack;
  sum->next  = -1;
  sum->at    = pack->bytes;
  pack->bytes += bytes;
  if (small) *open = pack;
  else PetscCall(MuonExchangeStart_Private(exchange, pack));
  if (++link->begun == exchange->nitems) PetscCall(MuonExchangeFlush_Private(exchange));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReduceTyped(MuonExchange exchange, PetscInt64 length, MPI_Datatype type, const void *in, void *out)
{
  const int root = MuonExchangeRoot_Private(exchange, PETSC_TRUE, 0);

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSum(&exchange->link->transport, 0, root, in, out, (uint64_t)length, type)));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReduceBegin(MuonExchange exchange, PetscInt item, const MuonArray *in, const MuonArray *out)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeJoin_Private(exchange, MUON_EXCHANGE_UP, PETSC_TRUE, item, in, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGatherBegin(MuonExchange exchange, PetscInt item, const MuonArray *in)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeJoin_Private(exchange, MUON_EXCHANGE_UP, PETSC_FALSE, item, in, in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSpreadBegin(MuonExchange exchange, PetscInt item, const MuonArray *array)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeJoin_Private(exchange, MUON_EXCHANGE_DOWN, PETSC_FALSE, item, array, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MuonArray MuonExchangeGatherGet(MuonExchange exchange, PetscInt item, PetscMPIInt worker)
{
  const MuonExchangeSum *sum = &exchange->link->sum[item];

  if (worker == exchange->worker && exchange->everywhere == PETSC_FALSE) return sum->in;
  return MuonArrayLike(&sum->in, sum->in.precision, MuonExchangeCame_Private(sum->pack) + (size_t)worker * sum->pack->bytes + sum->at);
}

/* What has come for an item goes to where it belongs */
static void MuonExchangeUnpack_Private(MuonExchange exchange, PetscInt item)
{
  MuonExchangeSum        *sum  = &exchange->link->sum[item];
  const MuonExchangePack *pack = sum->pack;
  size_t                  at   = sum->at;
  MuonArray               came;

  if (pack == NULL || sum->to.data == NULL || pack->copied == PETSC_FALSE || pack->receives == PETSC_FALSE) return;
  if (pack->gathers && pack->adds == PETSC_FALSE) return;
  if (pack->gathers) at += (size_t)(1 - exchange->worker) * pack->bytes; /* the other one of two workers */
  came = MuonArrayLike(&sum->in, sum->in.precision, MuonExchangeCame_Private(pack) + at);
  if (sum->to.memory == MUON_DEVICE) MuonDeviceGet()->copy(MuonArrayBytes(&came), came.data, sum->to.data);
  else {
    MuonArrayAxpby(1, &came, 0, &sum->to);
    if (pack->gathers) MuonArrayAxpby(1, &sum->in, 1, &sum->to);
  }
  sum->to.data = NULL;
}

PetscErrorCode MuonExchangeReduceWait(MuonExchange exchange, PetscInt item)
{
  MuonExchangeLink  link = exchange->link;
  MuonExchangePack *pack = link->sum[item].pack;

  PetscFunctionBegin;
  if (pack == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  if (pack->begun == PETSC_FALSE) PetscCall(MuonExchangeFlush_Private(exchange));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSumWaitSome(&link->transport, pack->begin, pack->end)));
  MuonExchangeUnpack_Private(exchange, item);
  PetscCall(MuonExchangeEventEnd_Private(exchange));
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
  PetscCall(MuonExchangeFlush_Private(exchange));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSumWait(&exchange->link->transport)));
  for (PetscInt i = 0; i < exchange->nitems && exchange->link->sum != NULL; i++) {
    MuonExchangeUnpack_Private(exchange, i);
    exchange->link->sum[i].pack = NULL;
  }
  exchange->link->npacks = exchange->link->begun = 0;
  PetscCall(PetscArrayzero(exchange->link->sent, 2));
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
