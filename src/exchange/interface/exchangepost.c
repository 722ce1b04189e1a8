#include "../muonexchangepost.h"
#include "../../wire/muonwire.h"

/* The status on the wire is the number of a MuonStatus */
#define MUON_EXCHANGE_STATUS_LAST MUON_STATUS_LMO

/* Errors of the transport are those of MPI or of memory: like all of that kind they end the program */
PetscErrorCode MuonExchangeTransportCheck_Private(int code)
{
  PetscFunctionBegin;
  PetscCheck(code != MUON_TRANSPORT_MEMORY, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for the messages of an exchange");
  PetscCheck(code != MUON_TRANSPORT_TOOLARGE, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The messages of one rank in one exchange need more than the %g GiB that one call moves", 2. * MUON_TRANSPORT_UNIT);
  PetscCheck(code != MUON_TRANSPORT_ARGUMENT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A packet does not begin at a multiple of %d bytes", (int)MUON_TRANSPORT_UNIT);
  PetscCallMPI(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePostCreate_Private(MPI_Comm comm, MuonExchangePost *post)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(post));
  (*post)->down.direction = 1;
  PetscCallMPI(MPI_Comm_dup(comm, &(*post)->comm));
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportInit(&(*post)->transport, (*post)->comm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeBoxSetUp_Private(MuonExchange exchange, MuonExchangeBox *box, size_t nmessages)
{
  const MuonTransport *transport = &exchange->post->transport;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(transport->size, &box->outoffset, transport->size, &box->outbytes));
  PetscCall(PetscCalloc2(exchange->nitems, &box->ownoffset, exchange->nitems, &box->ownbytes));
  PetscCall(PetscCalloc3(transport->size, &box->senderstatus, nmessages, &box->message, nmessages, &box->messagebytes));
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportInboxInit(transport, &box->inbox)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeBoxReset_Private(MuonExchangeBox *box)
{
  const uint32_t direction = box->direction;

  PetscFunctionBegin;
  PetscCall(PetscFree(box->out));
  PetscCall(PetscFree2(box->outoffset, box->outbytes));
  PetscCall(PetscFree2(box->ownoffset, box->ownbytes));
  PetscCall(PetscFree3(box->senderstatus, box->message, box->messagebytes));
  MuonTransportInboxFree(&box->inbox);
  PetscCall(PetscMemzero(box, sizeof(*box)));
  box->direction = direction;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePostSetUp_Private(MuonExchange exchange)
{
  MuonExchangePost  post = exchange->post;
  const PetscMPIInt rank = post->transport.rank;

  PetscFunctionBegin;
  PetscCall(MuonExchangePostReset_Private(post));
  post->boxes = PETSC_TRUE;
  PetscCall(MuonExchangeBoxSetUp_Private(exchange, &post->up, (size_t)post->transport.size * (size_t)(exchange->first[rank + 1] - exchange->first[rank])));
  PetscCall(MuonExchangeBoxSetUp_Private(exchange, &post->down, (size_t)exchange->nitems));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePostReset_Private(MuonExchangePost post)
{
  PetscFunctionBegin;
  if (post->boxes == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeBoxReset_Private(&post->up));
  PetscCall(MuonExchangeBoxReset_Private(&post->down));
  post->boxes = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangePostDestroy_Private(MuonExchangePost *post)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangePostReset_Private(*post));
  MuonTransportFree(&(*post)->transport);
  PetscCallMPI(MPI_Comm_free(&(*post)->comm));
  PetscCall(PetscFree(*post));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for more bytes behind those in use, and for the padding that the transport writes */
static PetscErrorCode MuonExchangeBoxGrow_Private(MuonExchangeBox *box, size_t more)
{
  const size_t need = box->used + more + MUON_TRANSPORT_UNIT;

  PetscFunctionBegin;
  PetscCheck(need > more, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The messages of this rank in one exchange need more bytes than a size_t counts");
  if (need > box->capacity) {
    const size_t capacity = PetscMax(need, box->capacity + box->capacity / 2);

    PetscCall(PetscRealloc(capacity, &box->out));
    box->capacity = capacity;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeBoxBegin_Private(MuonExchange exchange, MuonExchangeBox *box, PetscInt64 step, PetscInt begin, PetscInt end)
{
  const size_t size = (size_t)exchange->post->transport.size;

  PetscFunctionBegin;
  box->state    = MUON_EXCHANGE_BOX_OPEN;
  box->step     = step;
  box->status   = MUON_STATUS_OK;
  box->used     = 0;
  box->reserved = 0;
  box->next     = begin;
  box->end      = end;
  PetscCall(PetscArrayzero(box->outoffset, size));
  PetscCall(PetscArrayzero(box->outbytes, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeBoxReserve_Private(MuonExchange exchange, MuonExchangeBox *box, PetscInt item, size_t most, unsigned char **to)
{
  const PetscMPIInt owner = exchange->owner[item];

  PetscFunctionBegin;
  PetscCheck(box->state == MUON_EXCHANGE_BOX_OPEN, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Messages are put in after Begin and before the packets leave");
  PetscCheck(box->next < box->end && exchange->order[box->next] == item, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Item %s is not the next one in the order of MuonExchangeGetOrder()", exchange->names[item]);
  if (box->outbytes[owner] == 0) {
    box->outoffset[owner] = MuonTransportPadded(box->used);
    box->outbytes[owner]  = MUON_WIRE_PACKET_HEADER;
    box->used             = (size_t)box->outoffset[owner] + MUON_WIRE_PACKET_HEADER;
  }
  PetscCall(MuonExchangeBoxGrow_Private(box, most));
  box->reserved = most;
  *to           = box->out + box->used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeBoxAdvance_Private(MuonExchange exchange, MuonExchangeBox *box, PetscInt item, size_t bytes)
{
  const PetscMPIInt owner = exchange->owner[item];

  PetscFunctionBegin;
  PetscCheck(box->state == MUON_EXCHANGE_BOX_OPEN && box->next < box->end && exchange->order[box->next] == item, PETSC_COMM_SELF, PETSC_ERR_ORDER, "No room was reserved for item %s", exchange->names[item]);
  PetscCheck(bytes <= box->reserved, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Message of item %s takes %zu bytes of the %zu that were reserved", exchange->names[item], bytes, box->reserved);
  box->ownoffset[box->next] = box->used;
  box->ownbytes[box->next]  = bytes;
  box->used += bytes;
  box->outbytes[owner] = box->used - box->outoffset[owner];
  box->reserved        = 0;
  box->next++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seals the packets to or from the owners that have items, or writes poison in their place */
static PetscErrorCode MuonExchangeBoxSeal_Private(MuonExchange exchange, MuonExchangeBox *box, MuonStatus status, PetscMPIInt begin, PetscMPIInt end)
{
  PetscFunctionBegin;
  PetscCheck(box->state == MUON_EXCHANGE_BOX_OPEN, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Begin must be called before the packets leave");
  PetscCheck(box->next == box->end || status != MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Item %" PetscInt_FMT " has no message, and there is no status that says why", exchange->order[box->next]);
  PetscCheck((int)status >= 0 && (int)status <= (int)MUON_EXCHANGE_STATUS_LAST, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Unknown status %d", (int)status);
  box->state  = MUON_EXCHANGE_BOX_SENT;
  box->status = status;
  if (status != MUON_STATUS_OK) box->used = 0;
  for (PetscMPIInt r = begin; r < end; r++) {
    const PetscInt n = exchange->first[r + 1] - exchange->first[r];
    MuonWirePacket header;

    if (n == 0) continue;
    if (status != MUON_STATUS_OK) {
      PetscCall(MuonExchangeBoxGrow_Private(box, MUON_TRANSPORT_UNIT));
      box->outoffset[r] = box->used;
      box->outbytes[r]  = MUON_WIRE_PACKET_HEADER;
      box->used += MUON_TRANSPORT_UNIT;
    }
    header.sender    = (uint32_t)exchange->post->transport.rank;
    header.direction = box->direction;
    header.status    = (uint32_t)status;
    header.messages  = status == MUON_STATUS_OK ? (uint32_t)n : 0;
    header.step      = (uint64_t)box->step;
    header.bytes     = box->outbytes[r] - MUON_WIRE_PACKET_HEADER;
    MuonWirePacketSeal(box->out + box->outoffset[r], &header);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The status of a packet of n messages, and where the messages lie */
static MuonStatus MuonExchangeOpen_Private(const MuonExchangeBox *box, PetscMPIInt sender, PetscInt n, const unsigned char *message[], size_t messagebytes[])
{
  const unsigned char *packet = box->in + box->inoffset[sender];
  const size_t         length = (size_t)box->inbytes[sender], padded = (size_t)MuonTransportPadded(length);
  size_t               at = MUON_WIRE_PACKET_HEADER;
  MuonWirePacket       expected, header;

  expected.sender    = (uint32_t)sender;
  expected.direction = box->direction;
  expected.step      = (uint64_t)box->step;
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

static PetscErrorCode MuonExchangeGetOwn_Private(const MuonExchangeBox *box, PetscInt place, size_t *bytes, const unsigned char **message)
{
  const PetscBool poison = box->state == MUON_EXCHANGE_BOX_SENT && box->status != MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(poison == PETSC_TRUE || (box->state != MUON_EXCHANGE_BOX_EMPTY && place < box->next), PETSC_COMM_SELF, PETSC_ERR_ORDER, "This rank has put no message of that item");
  *bytes   = poison == PETSC_TRUE ? 0 : box->ownbytes[place];
  *message = poison == PETSC_TRUE ? NULL : box->out + box->ownoffset[place];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonExchangeCheckItem_Private(MuonExchange exchange, PetscInt item, PetscBool served)
{
  const PetscMPIInt rank = exchange->post->transport.rank;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCheck(exchange->setupcalled == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "MuonExchangeSetUp() must be called first");
  PetscCheck(item >= 0 && item < exchange->nitems, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Item %" PetscInt_FMT " must be in [0,%" PetscInt_FMT ")", item, exchange->nitems);
  PetscCheck(served == PETSC_FALSE || exchange->owner[item] == rank, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Item %s is served by rank %d, not by rank %d", exchange->names[item], exchange->owner[item], rank);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUpBegin(MuonExchange exchange, PetscInt64 step)
{
  MuonExchangePost post = exchange->post;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  post->bytesbefore = post->transport.bytes;
  PetscCall(MuonExchangeBoxBegin_Private(exchange, &post->up, step, 0, exchange->nitems));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUpReserve(MuonExchange exchange, PetscInt item, size_t most, unsigned char **to)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_FALSE));
  PetscCall(MuonExchangeBoxReserve_Private(exchange, &exchange->post->up, item, most, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUpAdvance(MuonExchange exchange, PetscInt item, size_t bytes)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_FALSE));
  PetscCall(MuonExchangeBoxAdvance_Private(exchange, &exchange->post->up, item, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUp(MuonExchange exchange, MuonStatus status)
{
  MuonExchangeBox  *box  = &exchange->post->up;
  const PetscMPIInt rank = exchange->post->transport.rank, size = exchange->post->transport.size;
  PetscInt          served;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeBoxSeal_Private(exchange, box, status, 0, size));
  PetscUseTypeMethod(exchange, up);
  served = exchange->first[rank + 1] - exchange->first[rank];
  for (PetscMPIInt r = 0; r < size && served > 0; r++) box->senderstatus[r] = MuonExchangeOpen_Private(box, r, served, box->message + r * served, box->messagebytes + r * served);
  PetscCall(PetscLogEventEnd(MUON_Exchange, exchange, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUpGet(MuonExchange exchange, PetscMPIInt worker, PetscInt item, size_t *bytes, const unsigned char **message, MuonStatus *status)
{
  const MuonExchangeBox *box  = &exchange->post->up;
  const PetscMPIInt      rank = exchange->post->transport.rank;
  PetscInt               k;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_TRUE));
  PetscCheck(worker >= 0 && worker < exchange->post->transport.size, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Worker %d must be in [0,%d)", worker, exchange->post->transport.size);
  PetscCheck(box->state == MUON_EXCHANGE_BOX_SENT, PETSC_COMM_SELF, PETSC_ERR_ORDER, "MuonExchangeUp() must be called first");
  k        = worker * (exchange->first[rank + 1] - exchange->first[rank]) + exchange->place[item] - exchange->first[rank];
  *status  = box->senderstatus[worker];
  *bytes   = *status == MUON_STATUS_OK ? box->messagebytes[k] : 0;
  *message = *status == MUON_STATUS_OK ? box->message[k] : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeUpOwn(MuonExchange exchange, PetscInt item, size_t *bytes, const unsigned char **message)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_FALSE));
  PetscCall(MuonExchangeGetOwn_Private(&exchange->post->up, exchange->place[item], bytes, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeDownBegin(MuonExchange exchange, PetscInt64 step)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  rank = exchange->post->transport.rank;
  PetscCall(MuonExchangeBoxBegin_Private(exchange, &exchange->post->down, step, exchange->first[rank], exchange->first[rank + 1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeDownReserve(MuonExchange exchange, PetscInt item, size_t most, unsigned char **to)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_TRUE));
  PetscCall(MuonExchangeBoxReserve_Private(exchange, &exchange->post->down, item, most, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeDownAdvance(MuonExchange exchange, PetscInt item, size_t bytes)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_TRUE));
  PetscCall(MuonExchangeBoxAdvance_Private(exchange, &exchange->post->down, item, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeDown(MuonExchange exchange, MuonStatus status)
{
  MuonExchangeBox  *box  = &exchange->post->down;
  const PetscMPIInt rank = exchange->post->transport.rank, size = exchange->post->transport.size;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeBoxSeal_Private(exchange, box, status, rank, exchange->everywhere == PETSC_TRUE ? rank : rank + 1));
  if (exchange->everywhere == PETSC_FALSE) {
    PetscUseTypeMethod(exchange, down);
    for (PetscMPIInt r = 0; r < size; r++) {
      const PetscInt first = exchange->first[r], n = exchange->first[r + 1] - first;

      if (n > 0) box->senderstatus[r] = MuonExchangeOpen_Private(box, r, n, box->message + first, box->messagebytes + first);
    }
  }
  PetscCall(PetscLogEventEnd(MUON_Exchange, exchange, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeDownGet(MuonExchange exchange, PetscInt item, size_t *bytes, const unsigned char **message, MuonStatus *status)
{
  const MuonExchangeBox *box = &exchange->post->down;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_FALSE));
  PetscCheck(box->state == MUON_EXCHANGE_BOX_SENT, PETSC_COMM_SELF, PETSC_ERR_ORDER, "MuonExchangeDown() must be called first");
  if (exchange->everywhere == PETSC_TRUE) {
    *status = box->status;
    PetscCall(MuonExchangeGetOwn_Private(box, exchange->place[item], bytes, message));
  } else {
    *status  = box->senderstatus[exchange->owner[item]];
    *bytes   = *status == MUON_STATUS_OK ? box->messagebytes[exchange->place[item]] : 0;
    *message = *status == MUON_STATUS_OK ? box->message[exchange->place[item]] : NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReduce(MuonExchange exchange, const PetscInt length[], const PetscScalar *const in[], PetscScalar *const out[])
{
  MuonTransport *transport = &exchange->post->transport;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetUp(exchange));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  for (PetscInt i = 0; i < exchange->nitems; i++) {
    const PetscMPIInt root = exchange->everywhere == PETSC_TRUE ? MUON_TRANSPORT_EVERYWHERE : exchange->owner[i];

    PetscCall(MuonExchangeTransportCheck_Private(MuonTransportSumStart(transport, root, in[i], out[i], (uint64_t)length[i], MPIU_SCALAR)));
  }
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportSumWait(transport)));
  PetscCall(PetscLogEventEnd(MUON_Exchange, exchange, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeAgree(MuonExchange exchange, PetscInt count, const double record[], double all[])
{
  PetscMPIInt n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(PetscMPIIntCast(count, &n));
  PetscCall(PetscLogEventBegin(MUON_Exchange, exchange, 0, 0, 0));
  PetscCall(MuonExchangeTransportCheck_Private(MuonTransportShare(&exchange->post->transport, record, all, n, MPI_DOUBLE)));
  PetscCall(PetscLogEventEnd(MUON_Exchange, exchange, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetSentBytes(MuonExchange exchange, PetscLogDouble *bytes)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  *bytes = (PetscLogDouble)(exchange->post->transport.bytes - exchange->post->bytesbefore);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetMemory(MuonExchange exchange, PetscLogDouble *bytes)
{
  MuonExchangePost post = exchange->post;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  *bytes = (PetscLogDouble)post->up.capacity + (PetscLogDouble)post->up.inbox.capacity + (PetscLogDouble)post->down.capacity + (PetscLogDouble)post->down.inbox.capacity;
  PetscFunctionReturn(PETSC_SUCCESS);
}
