/*
   The transport beyond 2 GiB: counts and displacements, without moving the bytes.

   The calls of MPI are intercepted and check what they are given. The buffers are large but hardly touched,
   so that they take address space and no memory.
*/
#include <limits.h>
#include "transport_common.h"

static uint64_t sent, received; /* by the intercepted calls */
static int      moved;          /* how many there were */
static uint64_t claimed;        /* what the other ranks announce, see below */

static uint64_t Bytes(int count, MPI_Datatype type)
{
  int bytes;

  MPI_Type_size(type, &bytes);
  Check(count >= 0);
  return (uint64_t)count * (uint64_t)bytes;
}

int MPI_Gatherv(const void *send, int count, MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
  (void)send, (void)recv, (void)root, (void)comm;
  Check(starts[0] == 0);
  sent     = Bytes(count, type);
  received = Bytes(counts[0], recvtype);
  moved++;
  return MPI_SUCCESS;
}

int MPI_Allgatherv(const void *send, int count, MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, MPI_Comm comm)
{
  return MPI_Gatherv(send, count, type, recv, counts, starts, recvtype, 0, comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  if (type == MPI_UINT64_T) return PMPI_Bcast(buffer, count, type, root, comm);
  sent = received = Bytes(count, type);
  moved++;
  return MPI_SUCCESS;
}

int MPI_Alltoallv(const void *send, const int sendcounts[], const int sendstarts[], MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, MPI_Comm comm)
{
  (void)send, (void)recv, (void)comm;
  Check(starts[0] == 0);
  Check(Bytes(sendstarts[0], type) == 3 * (uint64_t)INT_MAX / 64 * 64);
  sent     = Bytes(sendcounts[0], type);
  received = Bytes(counts[0], recvtype);
  moved++;
  return MPI_SUCCESS;
}

int MPI_Ialltoallv(const void *send, const int sendcounts[], const int sendstarts[], MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
  *request = MPI_REQUEST_NULL;
  return MPI_Alltoallv(send, sendcounts, sendstarts, type, recv, counts, starts, recvtype, comm);
}

int MPI_Iallgatherv(const void *send, int count, MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
  Check(send == MPI_IN_PLACE && count == 0 && type == MPI_DATATYPE_NULL);
  *request = MPI_REQUEST_NULL;
  return MPI_Gatherv(recv, counts[0], recvtype, recv, counts, starts, recvtype, 0, comm);
}

/* The size that arrives is another one than was sent where the test says so */
int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *recv, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
  const int err = PMPI_Allgather(send, count, type, recv, recvcount, recvtype, comm);

  if (claimed != 0) *(uint64_t *)recv = claimed;
  return err;
}

/* A sum of many entries: the pieces follow one another */
static uint64_t summed;
static char    *base;

int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
  (void)op, (void)comm;
  Check((const char *)send == base + summed);
  Check((char *)recv == base + 1 + summed);
  summed += Bytes(count, type);
  moved++;
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
  const uint64_t      large = 3 * (uint64_t)INT_MAX, start = large / 64 * 64; /* 6 GiB, and its last whole unit */
  MuonTransport       t;
  MuonTransportBuffer inbox;
  unsigned char      *send;

  MPI_Init(&argc, &argv);
  Check(MuonTransportInit(&t, MPI_COMM_SELF) == MPI_SUCCESS);
  Check(MuonTransportBufferInit(&t, &inbox) == MPI_SUCCESS);
  send = (unsigned char *)malloc((size_t)(start + large + 64));
  if (send == NULL) {
    fprintf(stderr, "12 GiB of address space are needed, and none of it is used\n");
    return 1;
  }

  Check(MuonTransportGather(&t, 0, send, large, &inbox) == MPI_SUCCESS);
  Check(sent == MuonTransportPadded(large) && received == sent && inbox.bytes[0] == large && inbox.capacity == sent);
  Check(MuonTransportGather(&t, MUON_TRANSPORT_EVERYWHERE, send, large, &inbox) == MPI_SUCCESS);
  Check(sent == MuonTransportPadded(large) && received == sent);
  Check(MuonTransportBroadcast(&t, 0, send, large, &inbox) == MPI_SUCCESS);
  Check(sent == MuonTransportPadded(large));
  Check(MuonTransportAllToAll(&t, send, &start, &large, &inbox) == MPI_SUCCESS);
  Check(sent == MuonTransportPadded(large) && received == sent);
  Check(moved == 4);
  Check(t.bytes == 4 * (8 + MuonTransportPadded(large)));

  /*
     2^31 units are one more than an int counts: an error before the call, from the size that is sent and from
     those that arrive
  */
  Check(MuonTransportGather(&t, MUON_TRANSPORT_EVERYWHERE, NULL, (uint64_t)INT_MAX * 64 + 1, &inbox) == MUON_TRANSPORT_TOOLARGE);
  Check(MuonTransportGather(&t, MUON_TRANSPORT_EVERYWHERE, NULL, UINT64_MAX, &inbox) == MUON_TRANSPORT_TOOLARGE);
  claimed = (uint64_t)INT_MAX * 64 + 1;
  Check(MuonTransportGather(&t, MUON_TRANSPORT_EVERYWHERE, NULL, 0, &inbox) == MUON_TRANSPORT_TOOLARGE);
  claimed = UINT64_MAX;
  Check(MuonTransportGather(&t, MUON_TRANSPORT_EVERYWHERE, NULL, 0, &inbox) == MUON_TRANSPORT_TOOLARGE);
  inbox.max[0] = 99;
  claimed      = 100;
  Check(MuonTransportGather(&t, MUON_TRANSPORT_EVERYWHERE, NULL, 0, &inbox) == MUON_TRANSPORT_CORRUPT);
  Check(moved == 4);

  {
    const uint64_t    zero = 0, more = (uint64_t)INT_MAX * 64 + 1;
    MuonTransportMove move;

    t.bytes = 0;
    Check(MuonTransportMoveInit(&t, &move) == MPI_SUCCESS);
    Check(MuonTransportAllToAllStart(&t, &move, send, &start, &large, send, &zero, &large) == MPI_SUCCESS);
    Check(sent == MuonTransportPadded(large) && received == sent);
    Check(MuonTransportAllGatherStart(&t, &move, send, &zero, &large) == MPI_SUCCESS);
    Check(sent == MuonTransportPadded(large) && moved == 6 && t.bytes == 2 * sent);
    Check(MuonTransportMoveWait(&move) == MPI_SUCCESS);
    Check(MuonTransportAllToAllStart(&t, &move, send, &zero, &more, send, &zero, &zero) == MUON_TRANSPORT_TOOLARGE);
    Check(MuonTransportAllToAllStart(&t, &move, send, &zero, &zero, send, &zero, &more) == MUON_TRANSPORT_TOOLARGE);
    Check(MuonTransportAllGatherStart(&t, &move, send, &zero, &more) == MUON_TRANSPORT_TOOLARGE);
    Check(moved == 6);
    MuonTransportMoveFree(&move);
  }

  moved   = 0;
  base    = (char *)send;
  t.bytes = 0;
  Check(MuonTransportSum(&t, 0, MUON_TRANSPORT_EVERYWHERE, base, base + 1, large + 5, MPI_SIGNED_CHAR) == MPI_SUCCESS);
  Check(MuonTransportSumWait(&t) == MPI_SUCCESS);
  Check(moved == 4 && summed == large + 5 && t.bytes == large + 5);

  free(send);
  MuonTransportBufferFree(&inbox);
  MuonTransportFree(&t);
  return TestEnd();
}

/*TEST

  link: internal

  test:

TEST*/
