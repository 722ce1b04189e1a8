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

/* The largest packet with the items of an owner; without items there is no packet */
static uint64_t MuonExchangeMaxBytes_Private(MuonExchange exchange, const size_t max[], PetscMPIInt owner)
{
  uint64_t bytes = exchange->first[owner] < exchange->first[owner + 1] ? MUON_WIRE_PACKET_HEADER : 0;

  for (PetscInt k = exchange->first[owner]; k < exchange->first[owner + 1]; k++) {
    const uint64_t one = max[exchange->order[k]];

    bytes = bytes + one < bytes ? UINT64_MAX : bytes + one;
  }
  return bytes;
}

PetscErrorCode MuonExchangeSetMaxBytes(MuonExchange exchange, const size_t up[], const size_t down[])
{
  MuonExchangePackets way = exchange->link->way;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  for (PetscMPIInt w = 0; w < exchange->nworkers; w++) {
    way[MUON_EXCHANGE_UP].out.max[w]   = MuonExchangeMaxBytes_Private(exchange, up, w);
    way[MUON_EXCHANGE_UP].in.max[w]    = MuonExchangeMaxBytes_Private(exchange, up, exchange->worker);
    way[MUON_EXCHANGE_DOWN].out.max[w] = MuonExchangeMaxBytes_Private(exchange, down, exchange->worker);
    way[MUON_EXCHANGE_DOWN].in.max[w]  = MuonExchangeMaxBytes_Private(exchange, down, w);
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
  MuonExchangeLink    link    = exchange->link;
  MuonExchangePackets packets = &link->way[way];

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  if (way == MUON_EXCHANGE_UP) {
    /* Sums that began before the step belong to it */
    link->bytesbefore = link->transport.bytes - link->sent[0];
    link->ownbefore   = link->transport.own - link->sent[1];
  }
  packets->step   = step;
  packets->status = MUON_STATUS_OK;
  packets->used   = 0;
  PetscCall(PetscArrayzero(packets->out.offset, exchange->nworkers));
  PetscCall(PetscArrayzero(packets->out.bytes, exchange->nworkers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReserve(MuonExchange exchange, MuonExchangeDirection way, PetscInt item, size_t most, unsigned char **to)
{
  MuonExchangePackets packets = &exchange->link->way[way];
  uint64_t *const offset = &packets->out.offset[exchange->owner[item]], *const bytes = &packets->out.bytes[exchange->owner[item]];

  PetscFunctionBegin;
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
  MuonExchangePackets packets = &exchange->link->way[way];
  const PetscInt      place   = exchange->place[item];

  PetscFunctionBegin;
  PetscCheck(bytes <= packets->reserved, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Message of item %s takes %zu bytes of the %zu that were reserved", exchange->item[item].name, bytes, packets->reserved);
  packets->ownoffset[place] = packets->used;
  packets->ownbytes[place]  = bytes;
  packets->used += bytes;
  packets->out.bytes[exchange->owner[item]] += bytes;
  packets->reserved = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Finalizes the packets to or from the workers begin..end-1 that own items, or writes error packets in their
   place. A packet above the bound of set-up becomes an error packet, so that all ranks refuse the step. Messages of this worker
   to itself are not in a packet: they are read in place
*/
static PetscErrorCode MuonExchangeFinalize_Private(MuonExchange exchange, MuonExchangeDirection way, MuonStatus status, PetscMPIInt begin, PetscMPIInt end)
{
  MuonExchangePackets packets = &exchange->link->way[way];

  PetscFunctionBegin;
  for (PetscMPIInt w = begin; w < end && status == MUON_STATUS_OK; w++) {
    if (packets->out.bytes[w] > packets->out.max[w]) status = MUON_STATUS_CORRUPT;
  }
  packets->status = status;
  if (status != MUON_STATUS_OK) packets->used = 0;
  for (PetscMPIInt w = begin; w < end; w++) {
    const PetscBool own = exchange->nworkers == 1 || (way == MUON_EXCHANGE_UP && w == exchange->worker && exchange->everywhere == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt  n   = exchange->first[w + 1] - exchange->first[w];
    MuonWirePacket  header;

    if (own) packets->out.bytes[w] = 0;
    if (n == 0 || own) continue;
    if (status != MUON_STATUS_OK) {
      PetscCall(MuonExchangeGrow_Private(packets, MUON_TRANSPORT_UNIT));
      packets->out.offset[w] = packets->used;
      packets->out.bytes[w]  = MUON_WIRE_PACKET_HEADER;
      packets->used += MUON_TRANSPORT_UNIT;
    }
    header.sender    = (uint32_t)exchange->worker;
    header.direction = (uint32_t)way;
    header.status    = (uint32_t)status;
    header.messages  = status == MUON_STATUS_OK ? (uint32_t)n : 0;
    header.step      = (uint64_t)packets->step;
    header.bytes     = packets->out.bytes[w] - MUON_WIRE_PACKET_HEADER;
    MuonWirePacketFinalize(packets->out.data + packets->out.offset[w], &header);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePacketsGather(MuonExchange exchange, MuonExchangePackets packets)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private((packets->begins ? MuonTransportGatherBegin : MuonTransportGather)(&exchange->link->transport, 0, packets->out.data, packets->out.bytes[0], &packets->in)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePacketsBroadcast(MuonExchange exchange, MuonExchangePackets packets)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBroadcast(&exchange->link->transport, 0, packets->out.data, packets->out.bytes[0], &packets->in)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePacketsAllToAll(MuonExchange exchange, MuonExchangePackets packets)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private((packets->begins ? MuonTransportAllToAllBegin : MuonTransportAllToAll)(&exchange->link->transport, packets->out.data, packets->out.offset, packets->out.bytes, &packets->in)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePacketsAllGather(MuonExchange exchange, MuonExchangePackets packets)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private((packets->begins ? MuonTransportGatherBegin : MuonTransportGather)(&exchange->link->transport, MUON_TRANSPORT_EVERYWHERE, packets->out.data, packets->out.bytes[exchange->worker], &packets->in)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The status of a packet of n messages, and where the messages lie */
static MuonStatus MuonExchangeValidate_Private(MuonExchange exchange, MuonExchangeDirection way, PetscMPIInt sender, PetscInt n, const unsigned char *message[], size_t messagebytes[])
{
  MuonExchangePackets  packets = &exchange->link->way[way];
  const unsigned char *packet  = packets->in.data + packets->in.offset[sender];
  const size_t         length = (size_t)packets->in.bytes[sender], padded = (size_t)MuonTransportPadded(length);
  size_t               at = MUON_WIRE_PACKET_HEADER;
  MuonWirePacket       expected, header;

  expected.sender    = (uint32_t)sender;
  expected.direction = (uint32_t)way;
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

/* Items are sent up to this worker, if it owns them, and down from their owner: the place of a sender's items, and their number */
static PetscInt MuonExchangeReceives_Private(MuonExchange exchange, MuonExchangeDirection way, PetscMPIInt sender, PetscInt *n)
{
  const PetscMPIInt owner = way == MUON_EXCHANGE_UP ? exchange->worker : sender;

  *n = exchange->first[owner + 1] - exchange->first[owner];
  return way == MUON_EXCHANGE_UP ? sender * *n : exchange->first[owner];
}

static PetscBool MuonExchangeMoves_Private(MuonExchange exchange, MuonExchangeDirection way)
{
  return exchange->nworkers > 1 && (way == MUON_EXCHANGE_UP || exchange->everywhere == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MuonExchangeSend_Private(MuonExchange exchange, MuonExchangeDirection way, PetscBool begins, MuonStatus status)
{
  const PetscBool   up    = way == MUON_EXCHANGE_UP ? PETSC_TRUE : PETSC_FALSE;
  const PetscMPIInt begin = up ? 0 : exchange->worker, end = up ? exchange->nworkers : begin + (exchange->everywhere ? 0 : 1);

  PetscFunctionBegin;
  exchange->link->way[way].begins = begins;
  PetscCall(MuonExchangeFinalize_Private(exchange, way, status, begin, end));
  if (MuonExchangeMoves_Private(exchange, way)) PetscCall((*(up ? exchange->ops->up : exchange->ops->down))(exchange, &exchange->link->way[way]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonExchangeOpen_Private(MuonExchange exchange, MuonExchangeDirection way)
{
  MuonExchangePackets packets = &exchange->link->way[way];

  for (PetscMPIInt w = 0; w < exchange->nworkers && MuonExchangeMoves_Private(exchange, way); w++) {
    PetscInt       n;
    const PetscInt at = MuonExchangeReceives_Private(exchange, way, w, &n);

    if (n > 0 && w != exchange->worker) packets->senderstatus[w] = MuonExchangeValidate_Private(exchange, way, w, n, packets->message + at, packets->messagebytes + at);
  }
}

PetscErrorCode MuonExchangeMove(MuonExchange exchange, MuonExchangeDirection way, MuonStatus status)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeSend_Private(exchange, way, PETSC_FALSE, status));
  MuonExchangeOpen_Private(exchange, way);
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeMoveBegin(MuonExchange exchange, MuonStatus status)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeSend_Private(exchange, MUON_EXCHANGE_UP, PETSC_TRUE, status));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeMoveEnd(MuonExchange exchange)
{
  const MuonExchangePackets packets = &exchange->link->way[MUON_EXCHANGE_UP];
  int                       done;

  PetscFunctionBegin;
  if (packets->begins == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  packets->begins = PETSC_FALSE;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportArrive(&exchange->link->transport, 1, &done)));
  MuonExchangeOpen_Private(exchange, MUON_EXCHANGE_UP);
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetOwn(MuonExchange exchange, MuonExchangeDirection way, PetscInt item, size_t *bytes, const unsigned char **message)
{
  const MuonExchangePackets packets = &exchange->link->way[way];
  const PetscBool           failed  = packets->status != MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  *bytes   = failed ? 0 : packets->ownbytes[exchange->place[item]];
  *message = failed ? NULL : packets->out.data + packets->ownoffset[exchange->place[item]];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGet(MuonExchange exchange, MuonExchangeDirection way, PetscMPIInt worker, PetscInt item, size_t *bytes, const unsigned char **message, MuonStatus *status)
{
  const MuonExchangePackets packets = &exchange->link->way[way];
  const PetscMPIInt         owner = exchange->owner[item], sender = way == MUON_EXCHANGE_UP ? worker : owner;
  PetscInt                  n, at;

  PetscFunctionBegin;
  if (sender == exchange->worker) {
    *status = packets->status;
    PetscCall(MuonExchangeGetOwn(exchange, way, item, bytes, message));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  at       = MuonExchangeReceives_Private(exchange, way, sender, &n) + exchange->place[item] - exchange->first[owner];
  *status  = packets->senderstatus[sender];
  *bytes   = *status == MUON_STATUS_OK ? packets->messagebytes[at] : 0;
  *message = *status == MUON_STATUS_OK ? packets->message[at] : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeTreeReceive(MuonExchange exchange, PetscMPIInt from, size_t max, size_t *bytes, const unsigned char **message, MuonStatus *status)
{
  MuonExchangePackets up = &exchange->link->way[MUON_EXCHANGE_UP];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  up->in.max[from] = MUON_WIRE_PACKET_HEADER + max;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportReceive(&exchange->link->transport, from, &up->in)));
  *status = MuonExchangeValidate_Private(exchange, MUON_EXCHANGE_UP, from, 1, message, bytes);
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeTreeSend(MuonExchange exchange, PetscMPIInt to, size_t max, MuonStatus status)
{
  MuonExchangePackets up = &exchange->link->way[MUON_EXCHANGE_UP];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  up->out.max[0] = MUON_WIRE_PACKET_HEADER + max;
  PetscCall(MuonExchangeFinalize_Private(exchange, MUON_EXCHANGE_UP, status, 0, 1));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportSend(&exchange->link->transport, to, up->out.data + up->out.offset[0], up->out.bytes[0])));
  PetscCall(MuonExchangeEventEnd_Private(exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetSentBytes(MuonExchange exchange, PetscLogDouble *bytes, PetscLogDouble *own)
{
  PetscFunctionBegin;
  *bytes = (PetscLogDouble)(exchange->link->transport.bytes - exchange->link->bytesbefore);
  *own   = (PetscLogDouble)(exchange->link->transport.own - exchange->link->ownbefore);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetMemory(MuonExchange exchange, PetscLogDouble *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
  for (int d = 0; d < 2; d++) *bytes += (PetscLogDouble)exchange->link->way[d].out.capacity + (PetscLogDouble)exchange->link->way[d].in.capacity;
  for (PetscInt k = 0; k < exchange->nitems && exchange->link->pack != NULL; k++) *bytes += (PetscLogDouble)exchange->link->pack[k].capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}
