#include "muontransport.h"

#if defined(OPEN_MPI)
  #include <mpi-ext.h>
#endif
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
  transport->sizes  = (uint64_t *)malloc(2 * (size_t)transport->size * sizeof(uint64_t));
  return transport->counts == NULL || transport->sizes == NULL ? MUON_TRANSPORT_MEMORY : MPI_SUCCESS;
}

void MuonTransportFree(MuonTransport *transport)
{
  if (transport->unit != MPI_DATATYPE_NULL) MPI_Type_free(&transport->unit);
  free(transport->requests);
  free(transport->counts);
  free(transport->sizes);
  memset(transport, 0, sizeof(*transport));
  transport->unit = MPI_DATATYPE_NULL;
}

int MuonTransportBufferInit(const MuonTransport *transport, MuonTransportBuffer *buffer)
{
  const size_t size = (size_t)transport->size;

  memset(buffer, 0, sizeof(*buffer));
  buffer->offset = (uint64_t *)calloc(3 * size, sizeof(uint64_t));
  if (buffer->offset == NULL) return MUON_TRANSPORT_MEMORY;
  buffer->bytes = buffer->offset + size;
  buffer->max   = buffer->bytes + size;
  memset(buffer->max, 0xff, size * sizeof(uint64_t));
  return MPI_SUCCESS;
}

int MuonTransportBufferGrow(MuonTransportBuffer *buffer, uint64_t bytes)
{
  const uint64_t more     = buffer->capacity + buffer->capacity / 2;
  const uint64_t capacity = bytes > more ? bytes : more;
  unsigned char *data;

  if (bytes <= buffer->capacity) return MPI_SUCCESS;
  if (capacity > SIZE_MAX) return MUON_TRANSPORT_TOOLARGE;
  data = (unsigned char *)realloc(buffer->data, (size_t)capacity);
  if (data == NULL) return MUON_TRANSPORT_MEMORY;
  buffer->data     = data;
  buffer->capacity = capacity;
  return MPI_SUCCESS;
}

void MuonTransportBufferFree(MuonTransportBuffer *buffer)
{
  free(buffer->data);
  free(buffer->offset);
  memset(buffer, 0, sizeof(*buffer));
}

uint64_t MuonTransportPadded(uint64_t bytes)
{
  return (bytes + MUON_TRANSPORT_UNIT - 1) / MUON_TRANSPORT_UNIT * MUON_TRANSPORT_UNIT;
}

/* A message in whole units */
static int Units(uint64_t bytes, int *units)
{
  const uint64_t padded = MuonTransportPadded(bytes);

  if (padded < bytes || padded / MUON_TRANSPORT_UNIT > INT_MAX) return MUON_TRANSPORT_TOOLARGE;
  *units = (int)(padded / MUON_TRANSPORT_UNIT);
  return MPI_SUCCESS;
}

/* A message about to leave: zeroes its padding, gives its units */
static int Pad(unsigned char *message, uint64_t bytes, int *units)
{
  const uint64_t padded = MuonTransportPadded(bytes);

  Try(Units(bytes, units));
  if (padded > bytes) memset(message + bytes, 0, (size_t)(padded - bytes));
  return MPI_SUCCESS;
}

/* Units and beginnings of messages for, or of, each rank; the padding of those about to leave is zeroed */
static int Lay(int size, unsigned char *leaving, const uint64_t offset[], const uint64_t bytes[], int counts[], int starts[], uint64_t *units)
{
  *units = 0;
  for (int r = 0; r < size; r++) {
    if (offset[r] % MUON_TRANSPORT_UNIT != 0) return MUON_TRANSPORT_ARGUMENT;
    Try(Units(offset[r], &starts[r]));
    Try(leaving != NULL ? Pad(leaving + offset[r], bytes[r], &counts[r]) : Units(bytes[r], &counts[r]));
    *units += (uint64_t)counts[r];
  }
  return MPI_SUCCESS;
}

/*
   Lays out the messages of the sizes that came from ranks first..last one after the other in the order of
   ranks; nothing comes from the others
*/
static int MakeRoom(const MuonTransport *transport, int first, int last, MuonTransportBuffer *in, int counts[], int starts[])
{
  const uint64_t *sizes = transport->sizes + transport->size;
  uint64_t        units = 0;

  for (int r = 0; r < transport->size; r++) {
    in->bytes[r] = first <= r && r <= last ? sizes[r] : 0;
    if (in->bytes[r] > in->max[r]) return MUON_TRANSPORT_CORRUPT;
    Try(Units(in->bytes[r], &counts[r]));
    if (units + (uint64_t)counts[r] > INT_MAX) return MUON_TRANSPORT_TOOLARGE;
    in->offset[r] = units * MUON_TRANSPORT_UNIT;
    starts[r]     = (int)units;
    units += (uint64_t)counts[r];
  }
  return MuonTransportBufferGrow(in, units * MUON_TRANSPORT_UNIT);
}

/* own: of these bytes, what this rank sends to itself alone */
static void Count(MuonTransport *transport, uint64_t bytes, uint64_t own)
{
  transport->bytes += bytes;
  transport->own += transport->size > 1 ? own : bytes;
  transport->calls++;
  if (bytes > 0) transport->messages++;
}

static void CountSizes(MuonTransport *transport, int sizes, int own)
{
  Count(transport, (uint64_t)sizes * sizeof(uint64_t), (uint64_t)own * sizeof(uint64_t));
}

void MuonTransportNews(MuonTransport *transport, uint64_t *messages, uint64_t *bytes, uint64_t *collectives)
{
  const uint64_t now[3] = {transport->messages, transport->bytes, transport->calls - transport->pairs}, some = transport->size > 1;

  *messages    = some * (now[0] - transport->told[0]);
  *bytes       = some * (now[1] - transport->told[1]);
  *collectives = some * (now[2] - transport->told[2]);
  memcpy(transport->told, now, sizeof(now));
}

/* In the place of a root: each rank has a message for each */
#define TO_EACH (-2)

/* Sends the sizes of messages laid out in counts to their receivers */
static int SendSizes(MuonTransport *transport, int root, const uint64_t bytes[], MPI_Request *request)
{
  const int      size = root == TO_EACH ? transport->size : 1;
  const MPI_Comm comm = transport->comm;
  uint64_t      *mine = transport->sizes, *theirs = mine + transport->size;

  memcpy(mine, bytes, (size_t)size * sizeof(*mine));
  CountSizes(transport, size, root == TO_EACH || transport->rank == root);
  if (root == TO_EACH) return request ? MPI_Ialltoall(mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, comm, request) : MPI_Alltoall(mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, comm);
  if (root == MUON_TRANSPORT_EVERYWHERE) return request ? MPI_Iallgather(mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, comm, request) : MPI_Allgather(mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, comm);
  return request ? MPI_Igather(mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, root, comm, request) : MPI_Gather(mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, root, comm);
}

/* Then the messages themselves */
static int SendMessages(MuonTransport *transport, int root, unsigned char *send, MuonTransportBuffer *in, MPI_Request *request)
{
  const int          size = transport->size, rank = transport->rank;
  const MPI_Comm     comm = transport->comm;
  const MPI_Datatype unit = transport->unit;
  int *const sendcounts = transport->counts, *const sendstarts = sendcounts + size, *const counts = sendstarts + size, *const starts = counts + size;
  uint64_t units = 0, own = root == TO_EACH ? (uint64_t)sendcounts[rank] : 0;

  if (root < 0 || root == rank) Try(MakeRoom(transport, 0, size - 1, in, counts, starts));
  for (int r = 0; r < (root == TO_EACH ? size : 1); r++) units += (uint64_t)sendcounts[r];
  if (root == rank) own = units;
  Count(transport, units * MUON_TRANSPORT_UNIT, own * MUON_TRANSPORT_UNIT);
  if (root == TO_EACH) {
    if (request) return MPI_Ialltoallv(send, sendcounts, sendstarts, unit, in->data, counts, starts, unit, comm, request);
    return MPI_Alltoallv(send, sendcounts, sendstarts, unit, in->data, counts, starts, unit, comm);
  }
  if (root == MUON_TRANSPORT_EVERYWHERE) return request ? MPI_Iallgatherv(send, *sendcounts, unit, in->data, counts, starts, unit, comm, request) : MPI_Allgatherv(send, *sendcounts, unit, in->data, counts, starts, unit, comm);
  return request ? MPI_Igatherv(send, *sendcounts, unit, in->data, counts, starts, unit, root, comm, request) : MPI_Gatherv(send, *sendcounts, unit, in->data, counts, starts, unit, root, comm);
}

static int Send(MuonTransport *transport, int begins, int root, unsigned char *send, const uint64_t bytes[], MuonTransportBuffer *in)
{
  Try(SendSizes(transport, root, bytes, begins ? &transport->coming.request : NULL));
  if (!begins) return SendMessages(transport, root, send, in, NULL);
  transport->coming.stage = 1;
  transport->coming.root  = root;
  transport->coming.send  = send;
  transport->coming.in    = in;
  return MPI_SUCCESS;
}

int MuonTransportGather(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportBuffer *in)
{
  Try(Pad(send, bytes, transport->counts));
  return Send(transport, 0, root, send, &bytes, in);
}

int MuonTransportGatherBegin(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportBuffer *in)
{
  Try(Pad(send, bytes, transport->counts));
  return Send(transport, 1, root, send, &bytes, in);
}

int MuonTransportAllToAll(MuonTransport *transport, unsigned char *send, const uint64_t offset[], const uint64_t bytes[], MuonTransportBuffer *in)
{
  uint64_t units;

  Try(Lay(transport->size, send, offset, bytes, transport->counts, transport->counts + transport->size, &units));
  return Send(transport, 0, TO_EACH, send, bytes, in);
}

int MuonTransportAllToAllBegin(MuonTransport *transport, unsigned char *send, const uint64_t offset[], const uint64_t bytes[], MuonTransportBuffer *in)
{
  uint64_t units;

  Try(Lay(transport->size, send, offset, bytes, transport->counts, transport->counts + transport->size, &units));
  return Send(transport, 1, TO_EACH, send, bytes, in);
}

int MuonTransportArrive(MuonTransport *transport, int waits, int *done)
{
  *done = 1;
  for (; transport->coming.stage > 0; transport->coming.stage = (transport->coming.stage + 1) % 3) {
    Try(waits ? MPI_Wait(&transport->coming.request, MPI_STATUS_IGNORE) : MPI_Test(&transport->coming.request, done, MPI_STATUS_IGNORE));
    if (!*done) return MPI_SUCCESS;
    if (transport->coming.stage == 1) Try(SendMessages(transport, transport->coming.root, transport->coming.send, transport->coming.in, &transport->coming.request));
  }
  return MPI_SUCCESS;
}

int MuonTransportBroadcast(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportBuffer *in)
{
  const int isroot = transport->rank == root;
  int      *counts = transport->counts, units;
  uint64_t *size   = transport->sizes + transport->size + root;

  if (isroot) Try(Pad(send, bytes, &units));
  *size = bytes;
  CountSizes(transport, isroot, 0);
  Try(MPI_Bcast(size, 1, MPI_UINT64_T, root, transport->comm));
  if (!isroot) {
    Try(MakeRoom(transport, root, root, in, counts, counts + transport->size));
    units = counts[root];
  }
  Count(transport, isroot ? (uint64_t)units * MUON_TRANSPORT_UNIT : 0, 0);
  return MPI_Bcast(isroot ? send : in->data, units, transport->unit, root, transport->comm);
}

int MuonTransportMoveInit(const MuonTransport *transport, MuonTransportMove *move)
{
  move->request = MPI_REQUEST_NULL;
  move->counts  = (int *)malloc(4 * (size_t)transport->size * sizeof(int));
  return move->counts == NULL ? MUON_TRANSPORT_MEMORY : MPI_SUCCESS;
}

void MuonTransportMoveFree(MuonTransportMove *move)
{
  free(move->counts);
  move->counts  = NULL;
  move->request = MPI_REQUEST_NULL;
}

int MuonTransportAllToAllStart(MuonTransport *transport, MuonTransportMove *move, unsigned char *send, const uint64_t sendoffset[], const uint64_t sendbytes[], unsigned char *recv, const uint64_t recvoffset[], const uint64_t recvbytes[])
{
  const int size       = transport->size;
  int      *sendcounts = move->counts, *sendstarts = sendcounts + size, *recvcounts = sendstarts + size, *recvstarts = recvcounts + size;
  uint64_t  units;

  Try(Lay(size, NULL, recvoffset, recvbytes, recvcounts, recvstarts, &units));
  Try(Lay(size, send, sendoffset, sendbytes, sendcounts, sendstarts, &units));
  Count(transport, units * MUON_TRANSPORT_UNIT, (uint64_t)sendcounts[transport->rank] * MUON_TRANSPORT_UNIT);
  return MPI_Ialltoallv(send, sendcounts, sendstarts, transport->unit, recv, recvcounts, recvstarts, transport->unit, transport->comm, &move->request);
}

int MuonTransportAllGatherStart(MuonTransport *transport, MuonTransportMove *move, unsigned char *recv, const uint64_t offset[], const uint64_t bytes[])
{
  const int me     = transport->rank;
  int      *counts = move->counts, *starts = counts + transport->size;
  uint64_t  units;

  Try(Lay(transport->size, NULL, offset, bytes, counts, starts, &units));
  Try(Pad(recv + offset[me], bytes[me], &counts[me]));
  Count(transport, (uint64_t)counts[me] * MUON_TRANSPORT_UNIT, 0);
  return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, counts, starts, transport->unit, transport->comm, &move->request);
}

int MuonTransportMoveTest(MuonTransportMove *move, int *done)
{
  *done = 1;
  return move->request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Test(&move->request, done, MPI_STATUS_IGNORE);
}

int MuonTransportMoveWait(MuonTransportMove *move)
{
  return MPI_Wait(&move->request, MPI_STATUS_IGNORE);
}

int MuonTransportSend(MuonTransport *transport, int to, unsigned char *send, uint64_t bytes)
{
  int units;

  Try(Pad(send, bytes, &units));
  transport->pairs += 2;
  CountSizes(transport, 1, 0);
  Try(MPI_Send(&bytes, 1, MPI_UINT64_T, to, 0, transport->comm));
  Count(transport, (uint64_t)units * MUON_TRANSPORT_UNIT, 0);
  return MPI_Send(send, units, transport->unit, to, 0, transport->comm);
}

int MuonTransportReceive(MuonTransport *transport, int from, MuonTransportBuffer *in)
{
  int *counts = transport->counts;

  Try(MPI_Recv(transport->sizes + transport->size + from, 1, MPI_UINT64_T, from, 0, transport->comm, MPI_STATUS_IGNORE));
  Try(MakeRoom(transport, from, from, in, counts, counts + transport->size));
  return MPI_Recv(in->data, counts[from], transport->unit, from, 0, transport->comm, MPI_STATUS_IGNORE);
}

int MuonTransportShare(MuonTransport *transport, const void *send, void *recv, int count, MPI_Datatype type)
{
  int bytes;

  Try(MPI_Type_size(type, &bytes));
  Count(transport, (uint64_t)count * (uint64_t)bytes, 0);
  return MPI_Allgather(send, count, type, recv, count, type, transport->comm);
}

/* One more request, in an array that grows */
static int NextRequest(MuonTransport *transport, MPI_Request **request)
{
  if (transport->started == transport->capacity) {
    const int    capacity = 2 * transport->capacity + 16;
    MPI_Request *requests = (MPI_Request *)realloc(transport->requests, (size_t)capacity * sizeof(MPI_Request));

    if (requests == NULL) return MUON_TRANSPORT_MEMORY;
    transport->requests = requests;
    transport->capacity = capacity;
  }
  *request = &transport->requests[transport->started++];
  return MPI_SUCCESS;
}

/* In parts that an int counts */
int MuonTransportSum(MuonTransport *transport, int waits, int root, const void *in, void *out, uint64_t count, MPI_Datatype type)
{
  const unsigned char *from = (const unsigned char *)in;
  unsigned char       *to   = (unsigned char *)out;
  int                  bytes;

  Try(MPI_Type_size(type, &bytes));
  while (count > 0) {
    const int    some    = count > INT_MAX ? INT_MAX : (int)count;
    MPI_Request *request = NULL;

    if (!waits) Try(NextRequest(transport, &request));
    Count(transport, (uint64_t)some * (uint64_t)bytes, transport->rank == root ? (uint64_t)some * (uint64_t)bytes : 0);
    if (root == MUON_TRANSPORT_EVERYWHERE) Try(waits ? MPI_Allreduce(from, to, some, type, MPI_SUM, transport->comm) : MPI_Iallreduce(from, to, some, type, MPI_SUM, transport->comm, request));
    else Try(waits ? MPI_Reduce(from, to, some, type, MPI_SUM, root, transport->comm) : MPI_Ireduce(from, to, some, type, MPI_SUM, root, transport->comm, request));
    from += (size_t)some * (size_t)bytes;
    if (to != NULL) to += (size_t)some * (size_t)bytes;
    count -= (uint64_t)some;
  }
  return MPI_SUCCESS;
}

/* An array as MPI takes it: entries, or, where there are gaps, one of a type that the caller frees */
static int Describe(int len, int count, int ld, MPI_Datatype *type, int *number)
{
  const MPI_Datatype entry = *type;

  *number = len * count;
  if (count < 2 || ld == len) return MPI_SUCCESS;
  *number = 1;
  Try(MPI_Type_vector(count, len, ld, entry, type));
  return MPI_Type_commit(type);
}

int MuonTransportArrays(MuonTransport *transport, int down, int root, void *array, int len, int count, int ld, void *all, MPI_Datatype type)
{
  MPI_Datatype laid = type;
  const int    own = transport->rank == root, entries = len * count;
  MPI_Request *request;
  int          bytes, number;

  Try(MPI_Type_size(type, &bytes));
  Try(NextRequest(transport, &request));
  Try(Describe(len, count, ld, &laid, &number));
  Count(transport, own == (down != 0) ? (uint64_t)entries * (uint64_t)bytes : 0, 0);
  if (down) Try(MPI_Ibcast(array, number, laid, root, transport->comm, request));
  else if (root == MUON_TRANSPORT_EVERYWHERE) Try(MPI_Iallgather(array, number, laid, all, entries, type, transport->comm, request));
  else Try(MPI_Igather(own ? MPI_IN_PLACE : array, number, laid, all, entries, type, root, transport->comm, request));
  return laid == type ? MPI_SUCCESS : MPI_Type_free(&laid);
}

int MuonTransportTakesDevice(void)
{
#if (defined(OPEN_MPI) && defined(MPIX_CUDA_AWARE_SUPPORT)) || defined(MPIX_GPU_SUPPORT_CUDA)
  return MPIX_Query_cuda_support() ? 1 : 0;
#else
  return -1;
#endif
}

int MuonTransportSumWait(MuonTransport *transport)
{
  const int started = transport->started;

  transport->started = 0;
  return MuonTransportSumWaitSome(transport, 0, started);
}

int MuonTransportSumWaitSome(MuonTransport *transport, int begin, int end)
{
  const int tested = transport->tested;

  transport->tested = MPI_SUCCESS;
  Try(tested);
  return MPI_Waitall(end - begin, transport->requests + begin, MPI_STATUSES_IGNORE);
}

void MuonTransportSumTest(MuonTransport *transport)
{
  int       all;
  const int sums = MPI_Testall(transport->started, transport->requests, &all, MPI_STATUSES_IGNORE), code = sums != MPI_SUCCESS ? sums : MuonTransportArrive(transport, 0, &all);

  if (code != MPI_SUCCESS && transport->tested == MPI_SUCCESS) transport->tested = code;
}
