#include "../muonexchangepackets.h"
#include <petscmuon/private/muonwire.h>

/* The status on the wire is the number of a MuonStatus */
#define MUON_EXCHANGE_STATUS_LAST MUON_STATUS_LMO

PetscErrorCode MuonExchangeCheckTransport_Private(int code)
{
  PetscFunctionBegin;
  PetscCheck(code != MUON_TRANSPORT_MEMORY, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for the messages of an exchange");
  PetscCheck(code != MUON_TRANSPORT_TOOLARGE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The messages of one rank in one exchange need more than the %g GiB that one call moves", 2. * MUON_TRANSPORT_UNIT);
  PetscCheck(code != MUON_TRANSPORT_ARGUMENT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A packet does not begin at a multiple of %d bytes", (int)MUON_TRANSPORT_UNIT);
  PetscCheck(code != MUON_TRANSPORT_CORRUPT, PETSC_COMM_SELF, PETSC_ERR_ARG_CORRUPT, "A packet is larger than MuonExchangeSetMaxBytes() of its receiver allows");
  PetscCallMPI(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeLogTransport_Private(MuonTransport *transport)
{
  uint64_t messages, bytes, collectives;

  PetscFunctionBegin;
  MuonTransportNews(transport, &messages, &bytes, &collectives);
  MuonLogTraffic((PetscLogDouble)messages, (PetscLogDouble)bytes, (PetscLogDouble)collectives);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeEventEnd_Private(MuonExchange exchange)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeLogTransport_Private(&exchange->link->transport));
  PetscCall(PetscLogEventEnd(MUON_Exchange, exchange, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeLinkCreate_Private(MPI_Comm comm, MuonExchangeLink *link)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(link));
  PetscCallMPI(MPI_Comm_dup(comm, &(*link)->comm));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportInit(&(*link)->transport, (*link)->comm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeLinkSetUp_Private(MuonExchange exchange)
{
  MuonExchangeLink link = exchange->link;

  PetscFunctionBegin;
  PetscCall(MuonExchangeLinkReset_Private(link));
  PetscCall(PetscCalloc2(exchange->nitems, &link->sumbegin, exchange->nitems, &link->sumend));
  for (int d = 0; d < 2; d++) {
    MuonExchangePackets packets = &link->way[d];
    const PetscInt      n       = d == MUON_EXCHANGE_DOWN ? exchange->nitems : exchange->nworkers * (exchange->first[exchange->worker + 1] - exchange->first[exchange->worker]);

    packets->direction = (uint32_t)d;
    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBufferInit(&link->transport, &packets->out)));
    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBufferInit(&link->transport, &packets->in)));
    PetscCall(PetscCalloc2(exchange->nitems, &packets->ownoffset, exchange->nitems, &packets->ownbytes));
    PetscCall(PetscCalloc3(exchange->nworkers, &packets->senderstatus, n, &packets->message, n, &packets->messagebytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeLinkReset_Private(MuonExchangeLink link)
{
  PetscFunctionBegin;
  for (int d = 0; d < 2; d++) {
    MuonExchangePackets packets = &link->way[d];

    MuonTransportBufferFree(&packets->out);
    MuonTransportBufferFree(&packets->in);
    PetscCall(PetscFree2(packets->ownoffset, packets->ownbytes));
    PetscCall(PetscFree3(packets->senderstatus, packets->message, packets->messagebytes));
  }
  PetscCall(PetscArrayzero(link->way, 2));
  PetscCall(PetscFree2(link->sumbegin, link->sumend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeLinkDestroy_Private(MuonExchangeLink *link)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeLinkReset_Private(*link));
  MuonTransportFree(&(*link)->transport);
  PetscCallMPI(MPI_Comm_free(&(*link)->comm));
  PetscCall(PetscFree(*link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest packet on the items at places first..end; none travels where there are none */
static uint64_t MuonExchangeMaxBytes_Private(MuonExchange exchange, const size_t max[], PetscInt first, PetscInt end)
{
  uint64_t bytes = first < end ? MUON_WIRE_PACKET_HEADER : 0;

  for (PetscInt k = first; k < end; k++) {
    const uint64_t one = max[exchange->order[k]];

    bytes = bytes + one < bytes ? UINT64_MAX : bytes + one;
  }
  return bytes;
}

PetscErrorCode MuonExchangeSetMaxBytes(MuonExchange exchange, const size_t up[], const size_t down[])
{
  const PetscMPIInt me = exchange->worker;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  for (PetscMPIInt w = 0; w < exchange->nworkers; w++) {
    const PetscInt     *first = exchange->first;
    MuonExchangePackets above = &exchange->link->way[MUON_EXCHANGE_UP], below = &exchange->link->way[MUON_EXCHANGE_DOWN];

    above->out.max[w] = MuonExchangeMaxBytes_Private(exchange, up, first[w], first[w + 1]);
    above->in.max[w]  = MuonExchangeMaxBytes_Private(exchange, up, first[me], first[me + 1]);
    below->out.max[w] = MuonExchangeMaxBytes_Private(exchange, down, first[me], first[me + 1]);
    below->in.max[w]  = MuonExchangeMaxBytes_Private(exchange, down, first[w], first[w + 1]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for more bytes behind those in use, and for the padding that the transport writes */
static PetscErrorCode MuonExchangeGrow_Private(MuonExchangePackets packets, size_t more)
{
  const size_t need = packets->used + more + MUON_TRANSPORT_UNIT;

  PetscFunctionBegin;
  PetscCheck(need > more, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The messages of this rank in one exchange need more bytes than a size_t counts");
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBufferGrow(&packets->out, need)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeBegin(MuonExchange exchange, MuonExchangeDirection way, PetscInt64 step)
{
  const PetscBool     up = way == MUON_EXCHANGE_UP ? PETSC_TRUE : PETSC_FALSE;
  MuonExchangePackets packets;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  packets = &exchange->link->way[way];
  if (up == PETSC_TRUE) {
    exchange->link->bytesbefore = exchange->link->transport.bytes;
    exchange->link->ownbefore   = exchange->link->transport.own;
  }
  packets->filling  = PETSC_TRUE;
  packets->sent     = PETSC_FALSE;
  packets->step     = step;
  packets->status   = MUON_STATUS_OK;
  packets->used     = 0;
  packets->reserved = 0;
  packets->next     = up == PETSC_TRUE ? 0 : exchange->first[exchange->worker];
  packets->end      = up == PETSC_TRUE ? exchange->nitems : exchange->first[exchange->worker + 1];
  PetscCall(PetscArrayzero(packets->out.offset, exchange->nworkers));
  PetscCall(PetscArrayzero(packets->out.bytes, exchange->nworkers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeCheckItem_Private(MuonExchange exchange, PetscInt item, PetscBool served)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCheck(exchange->setupcalled == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "MuonExchangeSetUp() must be called first");
  PetscCheck(item >= 0 && item < exchange->nitems, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Item %" PetscInt_FMT " must be in [0,%" PetscInt_FMT ")", item, exchange->nitems);
  PetscCheck(served == PETSC_FALSE || exchange->owner[item] == exchange->worker, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Item %s is served by worker %d, not by worker %d", exchange->names[item], exchange->owner[item], exchange->worker);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReserve(MuonExchange exchange, MuonExchangeDirection way, PetscInt item, size_t most, unsigned char **to)
{
  MuonExchangePackets packets;
  uint64_t           *offset, *bytes;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, way == MUON_EXCHANGE_DOWN ? PETSC_TRUE : PETSC_FALSE));
  packets = &exchange->link->way[way];
  PetscCheck(packets->filling == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Messages are put in after Begin and before the packets leave");
  PetscCheck(packets->next < packets->end && exchange->order[packets->next] == item, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Item %s is not the next one in the order of MuonExchangeGetOrder()", exchange->names[item]);
  offset = &packets->out.offset[exchange->owner[item]];
  bytes  = &packets->out.bytes[exchange->owner[item]];
  if (*bytes == 0) {
    *offset       = MuonTransportPadded(packets->used);
    *bytes        = MUON_WIRE_PACKET_HEADER;
    packets->used = (size_t)*offset + MUON_WIRE_PACKET_HEADER;
  }
  PetscCall(MuonExchangeGrow_Private(packets, most));
  packets->reserved = most;
  *to               = packets->out.data + packets->used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeAdvance(MuonExchange exchange, MuonExchangeDirection way, PetscInt item, size_t bytes)
{
  MuonExchangePackets packets;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, way == MUON_EXCHANGE_DOWN ? PETSC_TRUE : PETSC_FALSE));
  packets = &exchange->link->way[way];
  PetscCheck(packets->filling == PETSC_TRUE && packets->next < packets->end && exchange->order[packets->next] == item, PETSC_COMM_SELF, PETSC_ERR_ORDER, "No room was reserved for item %s", exchange->names[item]);
  PetscCheck(bytes <= packets->reserved, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Message of item %s takes %zu bytes of the %zu that were reserved", exchange->names[item], bytes, packets->reserved);
  packets->ownoffset[packets->next] = packets->used;
  packets->ownbytes[packets->next]  = bytes;
  packets->used += bytes;
  packets->out.bytes[exchange->owner[item]] += bytes;
  packets->reserved = 0;
  packets->next++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Finalizes the packets to or from the workers begin..end-1 that own items, or writes error packets in their
   place. A packet beyond the bound of set-up becomes one, so that all ranks refuse the step
*/
static PetscErrorCode MuonExchangeFinalize_Private(MuonExchange exchange, MuonExchangePackets packets, MuonStatus status, PetscMPIInt begin, PetscMPIInt end)
{
  PetscFunctionBegin;
  PetscCheck(packets->filling == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Begin must be called before the packets leave");
  PetscCheck(packets->next == packets->end || status != MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Item %" PetscInt_FMT " has no message, and there is no status that says why", exchange->order[packets->next]);
  PetscCheck((int)status >= 0 && (int)status <= (int)MUON_EXCHANGE_STATUS_LAST, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Unknown status %d", (int)status);
  for (PetscMPIInt w = begin; w < end && status == MUON_STATUS_OK; w++) {
    if (packets->out.bytes[w] > packets->out.max[w]) status = MUON_STATUS_CORRUPT;
  }
  packets->filling = PETSC_FALSE;
  packets->sent    = PETSC_TRUE;
  packets->status  = status;
  if (status != MUON_STATUS_OK) packets->used = 0;
  for (PetscMPIInt w = begin; w < end; w++) {
    const PetscInt n = exchange->first[w + 1] - exchange->first[w];
    MuonWirePacket header;

    if (n == 0) continue;
    if (status != MUON_STATUS_OK) {
      PetscCall(MuonExchangeGrow_Private(packets, MUON_TRANSPORT_UNIT));
      packets->out.offset[w] = packets->used;
      packets->out.bytes[w]  = MUON_WIRE_PACKET_HEADER;
      packets->used += MUON_TRANSPORT_UNIT;
    }
    header.sender    = (uint32_t)exchange->worker;
    header.direction = packets->direction;
    header.status    = (uint32_t)status;
    header.messages  = status == MUON_STATUS_OK ? (uint32_t)n : 0;
    header.step      = (uint64_t)packets->step;
    header.bytes     = packets->out.bytes[w] - MUON_WIRE_PACKET_HEADER;
    MuonWirePacketFinalize(packets->out.data + packets->out.offset[w], &header);
  }
  packets->from = &packets->in;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePacketsGather(MuonExchange exchange, MuonExchangePackets packets)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportGather(&exchange->link->transport, 0, packets->out.data, packets->out.bytes[0], &packets->in)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePacketsBroadcast(MuonExchange exchange, MuonExchangePackets packets)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBroadcast(&exchange->link->transport, 0, packets->out.data, packets->out.bytes[0], &packets->in)));
  /* The server reads its packet where MPI took it from: a broadcast gives its root no other copy */
  if (exchange->worker == 0) packets->from = &packets->out;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePacketsAllToAll(MuonExchange exchange, MuonExchangePackets packets)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportAllToAll(&exchange->link->transport, packets->out.data, packets->out.offset, packets->out.bytes, &packets->in)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePacketsAllGather(MuonExchange exchange, MuonExchangePackets packets)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportGather(&exchange->link->transport, MUON_TRANSPORT_EVERYWHERE, packets->out.data, packets->out.bytes[exchange->worker], &packets->in)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The status of a packet of n messages, and where the messages lie */
static MuonStatus MuonExchangeOpen_Private(MuonExchangePackets packets, PetscMPIInt sender, PetscInt n, const unsigned char *message[], size_t messagebytes[])
{
  const unsigned char *packet = packets->from->data + packets->from->offset[sender];
  const size_t         length = (size_t)packets->from->bytes[sender], padded = (size_t)MuonTransportPadded(length);
  size_t               at = MUON_WIRE_PACKET_HEADER;
  MuonWirePacket       expected, header;

  expected.sender    = (uint32_t)sender;
  expected.direction = packets->direction;
  expected.step      = (uint64_t)packets->step;
  if (MuonWirePacketOpen(packet, length, &expected, &header) != MUON_WIRE_OK) return MUON_STATUS_CORRUPT;
  for (size_t i = length; i < padded; i++) {
    if (packet[i] != 0) return MUON_STATUS_CORRUPT;
  }
  if (header.status != 0) return header.status <= MUON_EXCHANGE_STATUS_LAST && header.messages == 0 && header.bytes == 0 ? (MuonStatus)header.status : MUON_STATUS_CORRUPT;
  if (header.messages != (uint32_t)n) return MUON_STATUS_CORRUPT;
  for (PetscInt k = 0; k < n; k++) {
    MuonWireMessage inner;

    if (MuonWireMessageRead(packet + at, length - at, &inner) != MUON_WIRE_OK) return MUON_STATUS_CORRUPT;
    message[k]      = packet + at;
    messagebytes[k] = (size_t)MuonWireMessageBytes(&inner);
    at += messagebytes[k];
  }
  return MUON_STATUS_OK; /* MuonWirePacketOpen() has seen that as many messages as the header says end with the packet */
}

static PetscErrorCode MuonExchangeGetOwn_Private(MuonExchangePackets packets, PetscInt place, size_t *bytes, const unsigned char **message)
{
  const PetscBool failed = packets->sent == PETSC_TRUE && packets->status != MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(failed == PETSC_TRUE || (packets->filling != packets->sent && place < packets->next), PETSC_COMM_SELF, PETSC_ERR_ORDER, "This rank has put no message of that item");
  *bytes   = failed == PETSC_TRUE ? 0 : packets->ownbytes[place];
  *message = failed == PETSC_TRUE ? NULL : packets->out.data + packets->ownoffset[place];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeGetReceived_Private(MuonExchangePackets packets, PetscMPIInt sender, PetscInt k, size_t *bytes, const unsigned char **message, MuonStatus *status)
{
  PetscFunctionBegin;
  PetscCheck(packets->sent == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "%s() must be called first", packets->direction == MUON_EXCHANGE_DOWN ? "MuonExchangeDown" : "MuonExchangeUp");
  *status  = packets->senderstatus[sender];
  *bytes   = *status == MUON_STATUS_OK ? packets->messagebytes[k] : 0;
  *message = *status == MUON_STATUS_OK ? packets->message[k] : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUp(MuonExchange exchange, MuonStatus status)
{
  MuonExchangePackets up = &exchange->link->way[MUON_EXCHANGE_UP];
  PetscInt            served;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeFinalize_Private(exchange, up, status, 0, exchange->nworkers));
  PetscUseTypeMethod(exchange, up, up);
  served = exchange->first[exchange->worker + 1] - exchange->first[exchange->worker];
  for (PetscMPIInt w = 0; w < exchange->nworkers && served > 0; w++) up->senderstatus[w] = MuonExchangeOpen_Private(up, w, served, up->message + w * served, up->messagebytes + w * served);
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUpGet(MuonExchange exchange, PetscMPIInt worker, PetscInt item, size_t *bytes, const unsigned char **message, MuonStatus *status)
{
  PetscInt first, served;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_TRUE));
  PetscCheck(worker >= 0 && worker < exchange->nworkers, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Worker %d must be in [0,%d)", worker, exchange->nworkers);
  first  = exchange->first[exchange->worker];
  served = exchange->first[exchange->worker + 1] - first;
  PetscCall(MuonExchangeGetReceived_Private(&exchange->link->way[MUON_EXCHANGE_UP], worker, worker * served + exchange->place[item] - first, bytes, message, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUpOwn(MuonExchange exchange, PetscInt item, size_t *bytes, const unsigned char **message)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_FALSE));
  PetscCall(MuonExchangeGetOwn_Private(&exchange->link->way[MUON_EXCHANGE_UP], exchange->place[item], bytes, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Worker w is above those from w + 1 to w + 2^k - 1, 2^k being the lowest bit of w, and sends to w - 2^k */
PetscErrorCode MuonExchangeTree(MuonExchange exchange, const MuonExchangeTreeClient *client, MuonStatus *status)
{
  MuonExchangePackets up        = &exchange->link->way[MUON_EXCHANGE_UP];
  MuonTransport      *transport = &exchange->link->transport;
  const PetscMPIInt   me = exchange->worker, all = exchange->nworkers;
  PetscMPIInt         workers = 1;
  unsigned char      *to;
  size_t              most, bytes;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCheck(exchange->nitems == 1 && up->filling == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Counts of votes on one item go up a tree, after Begin");
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  up->from = &up->in;
  for (PetscMPIInt step = 1; step < all && (me & step) == 0; step *= 2) {
    const PetscMPIInt    child = me + step, theirs = PetscMin(step, all - child);
    const unsigned char *message;
    MuonStatus           received;

    if (child >= all) continue;
    PetscCall((*client->most)(client->ctx, theirs, &most));
    up->in.max[child] = MUON_WIRE_PACKET_HEADER + most;
    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportReceive(transport, child, &up->in)));
    received = MuonExchangeOpen_Private(up, child, 1, &message, &bytes);
    if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK) PetscCall((*client->merge)(client->ctx, theirs, bytes, message, &received));
    if (*status == MUON_STATUS_OK) *status = received;
    workers += theirs;
  }
  if (me > 0) {
    if (*status == MUON_STATUS_OK) {
      PetscCall((*client->most)(client->ctx, workers, &most));
      up->out.max[0] = MUON_WIRE_PACKET_HEADER + most;
      PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, 0, most, &to));
      PetscCall((*client->write)(client->ctx, workers, to, &bytes));
      PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, 0, bytes));
    }
    PetscCall(MuonExchangeFinalize_Private(exchange, up, *status, 0, 1));
    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSend(transport, me - (me & -me), up->out.data + up->out.offset[0], up->out.bytes[0])));
  }
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeDown(MuonExchange exchange, MuonStatus status)
{
  MuonExchangePackets down = &exchange->link->way[MUON_EXCHANGE_DOWN];
  const PetscMPIInt   me   = exchange->worker;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeFinalize_Private(exchange, down, status, me, exchange->everywhere == PETSC_TRUE ? me : me + 1));
  if (exchange->everywhere == PETSC_FALSE) {
    PetscUseTypeMethod(exchange, down, down);
    for (PetscMPIInt w = 0; w < exchange->nworkers; w++) {
      const PetscInt first = exchange->first[w], n = exchange->first[w + 1] - first;

      if (n > 0) down->senderstatus[w] = MuonExchangeOpen_Private(down, w, n, down->message + first, down->messagebytes + first);
    }
  }
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeDownGet(MuonExchange exchange, PetscInt item, size_t *bytes, const unsigned char **message, MuonStatus *status)
{
  MuonExchangePackets down = &exchange->link->way[MUON_EXCHANGE_DOWN];

  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_FALSE));
  PetscCall(MuonExchangeGetReceived_Private(down, exchange->owner[item], exchange->place[item], bytes, message, status));
  if (exchange->everywhere == PETSC_TRUE) { /* nothing came: it is what this very worker made */
    *status = down->status;
    PetscCall(MuonExchangeGetOwn_Private(down, exchange->place[item], bytes, message));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetSentBytes(MuonExchange exchange, PetscLogDouble *bytes, PetscLogDouble *own)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  *bytes = (PetscLogDouble)(exchange->link->transport.bytes - exchange->link->bytesbefore);
  *own   = (PetscLogDouble)(exchange->link->transport.own - exchange->link->ownbefore);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetMemory(MuonExchange exchange, PetscLogDouble *bytes)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  *bytes = 0;
  for (int d = 0; d < 2; d++) *bytes += (PetscLogDouble)exchange->link->way[d].out.capacity + (PetscLogDouble)exchange->link->way[d].in.capacity;
  for (PetscInt i = 0; i < exchange->nstaged; i++) *bytes += 2.0 * (PetscLogDouble)exchange->staged[i].bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}
