#include "muontransport.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Returns from the function that tries */
#define Try(call) \
  do { \
    int err_ = (call); \
    if (err_ != MPI_SUCCESS) return err_; \
  } while (0)

int MuonTransportInit(MuonTransport *transport, MPI_Comm comm)
{
  memset(transport, 0, sizeof(*transport));
  transport->comm = comm;
  transport->unit = MPI_DATATYPE_NULL;
  Try(MPI_Comm_rank(comm, &transport->rank));
  Try(MPI_Comm_size(comm, &transport->size));
  Try(MPI_Type_contiguous(MUON_TRANSPORT_UNIT, MPI_BYTE, &transport->unit));
  Try(MPI_Type_commit(&transport->unit));
  transport->counts = (int *)malloc(4 * (size_t)transport->size * sizeof(int));
  return transport->counts == NULL ? MUON_TRANSPORT_MEMORY : MPI_SUCCESS;
}

void MuonTransportFree(MuonTransport *transport)
{
  if (transport->unit != MPI_DATATYPE_NULL) MPI_Type_free(&transport->unit);
  free(transport->requests);
  free(transport->counts);
  memset(transport, 0, sizeof(*transport));
  transport->unit = MPI_DATATYPE_NULL;
}

int MuonTransportInboxInit(const MuonTransport *transport, MuonTransportInbox *inbox)
{
  memset(inbox, 0, sizeof(*inbox));
  inbox->offset = (uint64_t *)calloc((size_t)transport->size, sizeof(uint64_t));
  inbox->bytes  = (uint64_t *)calloc((size_t)transport->size, sizeof(uint64_t));
  return inbox->offset == NULL || inbox->bytes == NULL ? MUON_TRANSPORT_MEMORY : MPI_SUCCESS;
}

void MuonTransportInboxFree(MuonTransportInbox *inbox)
{
  free(inbox->data);
  free(inbox->offset);
  free(inbox->bytes);
  memset(inbox, 0, sizeof(*inbox));
}

uint64_t MuonTransportPadded(uint64_t bytes)
{
  return (bytes + MUON_TRANSPORT_UNIT - 1) / MUON_TRANSPORT_UNIT * MUON_TRANSPORT_UNIT;
}

/* A message about to leave: zeroes its padding, gives its units */
static int Pack(unsigned char *message, uint64_t bytes, int *units)
{
  const uint64_t padded = MuonTransportPadded(bytes);

  if (padded < bytes || padded / MUON_TRANSPORT_UNIT > INT_MAX) return MUON_TRANSPORT_TOOLARGE;
  if (padded > bytes) memset(message + bytes, 0, (size_t)(padded - bytes));
  *units = (int)(padded / MUON_TRANSPORT_UNIT);
  return MPI_SUCCESS;
}

/* Lays out the messages of the sizes in inbox->bytes, one after the other in the order of ranks */
static int MakeRoom(const MuonTransport *transport, MuonTransportInbox *inbox, int counts[], int starts[])
{
  uint64_t units = 0, most;

  for (int r = 0; r < transport->size; r++) {
    const uint64_t more = inbox->bytes[r] / MUON_TRANSPORT_UNIT + (inbox->bytes[r] % MUON_TRANSPORT_UNIT != 0);

    if (more > INT_MAX || units + more > INT_MAX) return MUON_TRANSPORT_TOOLARGE;
    inbox->offset[r] = units * MUON_TRANSPORT_UNIT;
    counts[r]        = (int)more;
    starts[r]        = (int)units;
    units += more;
  }
  most = units * MUON_TRANSPORT_UNIT;
  if (most > SIZE_MAX) return MUON_TRANSPORT_TOOLARGE;
  if (most > inbox->capacity) {
    /* What the inbox holds is over, so that nothing need be copied */
    free(inbox->data);
    inbox->capacity = 0;
    inbox->data     = (unsigned char *)malloc((size_t)most);
    if (inbox->data == NULL) return MUON_TRANSPORT_MEMORY;
    inbox->capacity = most;
  }
  return MPI_SUCCESS;
}

static void Count(MuonTransport *transport, uint64_t bytes)
{
  transport->bytes += bytes;
  transport->calls++;
}

int MuonTransportGather(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportInbox *inbox)
{
  int *counts = transport->counts, *starts = counts + transport->size, units;

  Try(Pack(send, bytes, &units));
  Count(transport, sizeof(bytes));
  Try(MPI_Gather(&bytes, 1, MPI_UINT64_T, inbox->bytes, 1, MPI_UINT64_T, root, transport->comm));
  if (transport->rank == root) Try(MakeRoom(transport, inbox, counts, starts));
  Count(transport, (uint64_t)units * MUON_TRANSPORT_UNIT);
  return MPI_Gatherv(send, units, transport->unit, inbox->data, counts, starts, transport->unit, root, transport->comm);
}

int MuonTransportBroadcast(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportInbox *inbox)
{
  int *counts = transport->counts, *starts = counts + transport->size, units;

  if (transport->rank == root) {
    Try(Pack(send, bytes, &units));
    Count(transport, sizeof(bytes));
    Try(MPI_Bcast(&bytes, 1, MPI_UINT64_T, root, transport->comm));
    Count(transport, (uint64_t)units * MUON_TRANSPORT_UNIT);
    return MPI_Bcast(send, units, transport->unit, root, transport->comm);
  }
  memset(inbox->bytes, 0, (size_t)transport->size * sizeof(uint64_t));
  Count(transport, 0);
  Try(MPI_Bcast(&inbox->bytes[root], 1, MPI_UINT64_T, root, transport->comm));
  Try(MakeRoom(transport, inbox, counts, starts));
  Count(transport, 0);
  return MPI_Bcast(inbox->data, counts[root], transport->unit, root, transport->comm);
}

int MuonTransportAllToAll(MuonTransport *transport, unsigned char *send, const uint64_t offset[], const uint64_t bytes[], MuonTransportInbox *inbox)
{
  const int size       = transport->size;
  int      *sendcounts = transport->counts, *sendstarts = sendcounts + size, *recvcounts = sendstarts + size, *recvstarts = recvcounts + size;
  uint64_t  units = 0;

  for (int r = 0; r < size; r++) {
    if (offset[r] % MUON_TRANSPORT_UNIT != 0) return MUON_TRANSPORT_ARGUMENT;
    if (offset[r] / MUON_TRANSPORT_UNIT > INT_MAX) return MUON_TRANSPORT_TOOLARGE;
    Try(Pack(send + offset[r], bytes[r], &sendcounts[r]));
    sendstarts[r] = (int)(offset[r] / MUON_TRANSPORT_UNIT);
    units += (uint64_t)sendcounts[r];
  }
  Count(transport, (uint64_t)size * sizeof(*bytes));
  Try(MPI_Alltoall(bytes, 1, MPI_UINT64_T, inbox->bytes, 1, MPI_UINT64_T, transport->comm));
  Try(MakeRoom(transport, inbox, recvcounts, recvstarts));
  Count(transport, units * MUON_TRANSPORT_UNIT);
  return MPI_Alltoallv(send, sendcounts, sendstarts, transport->unit, inbox->data, recvcounts, recvstarts, transport->unit, transport->comm);
}

int MuonTransportAllGather(MuonTransport *transport, unsigned char *send, uint64_t bytes, MuonTransportInbox *inbox)
{
  int *counts = transport->counts, *starts = counts + transport->size, units;

  Try(Pack(send, bytes, &units));
  Count(transport, sizeof(bytes));
  Try(MPI_Allgather(&bytes, 1, MPI_UINT64_T, inbox->bytes, 1, MPI_UINT64_T, transport->comm));
  Try(MakeRoom(transport, inbox, counts, starts));
  Count(transport, (uint64_t)units * MUON_TRANSPORT_UNIT);
  return MPI_Allgatherv(send, units, transport->unit, inbox->data, counts, starts, transport->unit, transport->comm);
}

int MuonTransportShare(MuonTransport *transport, const void *send, void *recv, int count, MPI_Datatype type)
{
  int bytes;

  Try(MPI_Type_size(type, &bytes));
  Count(transport, (uint64_t)count * (uint64_t)bytes);
  return MPI_Allgather(send, count, type, recv, count, type, transport->comm);
}

/* One more request, in an array that grows */
static int NextRequest(MuonTransport *transport, MPI_Request **request)
{
  if (transport->started == transport->room) {
    const int    room     = 2 * transport->room + 16;
    MPI_Request *requests = (MPI_Request *)realloc(transport->requests, (size_t)room * sizeof(MPI_Request));

    if (requests == NULL) return MUON_TRANSPORT_MEMORY;
    transport->requests = requests;
    transport->room     = room;
  }
  *request = &transport->requests[transport->started++];
  return MPI_SUCCESS;
}

int MuonTransportSumStart(MuonTransport *transport, int root, const void *in, void *out, uint64_t count, MPI_Datatype type)
{
  const unsigned char *from = (const unsigned char *)in;
  unsigned char       *to   = (unsigned char *)out;
  int                  bytes;

  Try(MPI_Type_size(type, &bytes));
  while (count > 0) {
    const int    some = count > INT_MAX ? INT_MAX : (int)count;
    MPI_Request *request;

    Try(NextRequest(transport, &request));
    Count(transport, (uint64_t)some * (uint64_t)bytes);
    if (root == MUON_TRANSPORT_EVERYWHERE) Try(MPI_Iallreduce(from, to, some, type, MPI_SUM, transport->comm, request));
    else Try(MPI_Ireduce(from, to, some, type, MPI_SUM, root, transport->comm, request));
    from += (size_t)some * (size_t)bytes;
    if (to != NULL) to += (size_t)some * (size_t)bytes;
    count -= (uint64_t)some;
  }
  return MPI_SUCCESS;
}

int MuonTransportSumWait(MuonTransport *transport)
{
  const int started = transport->started;

  transport->started = 0;
  return MPI_Waitall(started, transport->requests, MPI_STATUSES_IGNORE);
}
