/*
   The transport: every message arrives as it was sent, sums are sums, and the counts agree with those of the
   profiling interface.
*/
#include "number_common.h"
#include "transport_common.h"
#include "mpicount.h"

/* Sizes about the unit, with empty messages among them */
static uint64_t Size(int round, int from, int to)
{
  const uint32_t h = TestHash((uint32_t)round, (uint32_t)from, (uint32_t)to, 0);

  return h % 4 == 0 ? 0 : h % 4 == 1 ? (uint64_t)MUON_TRANSPORT_UNIT * (h / 4 % 4) : h / 4 % (round < 20 ? 300 : 30000);
}

static unsigned char Byte(int round, int from, int to, uint64_t i)
{
  return (unsigned char)TestHash((uint32_t)(round * 64 + from), (uint32_t)to, (uint32_t)i, 0);
}

static uint64_t Units(uint64_t bytes)
{
  return 64 * ((bytes + 63) / 64);
}

static void CheckMessage(const MuonTransportBuffer *inbox, int round, int from, int to)
{
  const uint64_t bytes = Size(round, from, to);
  uint64_t       wrong = 0;

  Check(inbox->bytes[from] == bytes);
  for (uint64_t i = 0; i < bytes; i++) wrong += inbox->data[inbox->offset[from] + i] != Byte(round, from, to, i);
  for (uint64_t i = bytes; i < Units(bytes); i++) wrong += inbox->data[inbox->offset[from] + i] != 0;
  Check(wrong == 0);
}

int main(int argc, char **argv)
{
  enum {
    LENGTH = 1000
  };
  MuonTransport       t;
  MuonTransportBuffer inbox;
  unsigned char      *send;
  uint64_t           *offset, *bytes;
  double              in[2][LENGTH], out[2][LENGTH], record[3], *records;
  int                 rank, size;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  send    = (unsigned char *)malloc((size_t)size * 40000);
  offset  = (uint64_t *)malloc((size_t)size * sizeof(uint64_t));
  bytes   = (uint64_t *)malloc((size_t)size * sizeof(uint64_t));
  records = (double *)malloc((size_t)size * sizeof(record));
  Check(MuonTransportInit(&t, MPI_COMM_WORLD) == MPI_SUCCESS);
  Check(MuonTransportBufferInit(&t, &inbox) == MPI_SUCCESS);
  mpicount_reset();

  for (int round = 0; round < 40; round++) {
    const int root = round % size;
    int       done;
    uint64_t  at = 0, expected = 0, own = 0; /* of what this rank sends, what it sends to itself alone */
    long      calls = 0;

    /* All to all, the packets with and without gaps between them */
    for (int r = 0; r < size; r++) {
      offset[r] = at;
      bytes[r]  = Size(round, rank, r);
      for (uint64_t i = 0; i < bytes[r]; i++) send[at + i] = Byte(round, rank, r, i);
      memset(send + at + bytes[r], 0xAA, (size_t)(Units(bytes[r]) - bytes[r]));
      at += Units(bytes[r]) + (round % 3 == 0 ? 64 : 0);
      expected += 8 + Units(bytes[r]);
    }
    t.bytes = t.own = t.calls = 0;
    mpicount_reset();
    /* Every other time without waiting, and nobody knows in which call it is there */
    if (round % 2) Check(MuonTransportAllToAllBegin(&t, send, offset, bytes, &inbox) == MPI_SUCCESS);
    else Check(MuonTransportAllToAll(&t, send, offset, bytes, &inbox) == MPI_SUCCESS);
    for (done = 0; !done;) Check(MuonTransportArrive(&t, round % 4 == 1, &done) == MPI_SUCCESS);
    calls += 2;
    for (int r = 0; r < size; r++) CheckMessage(&inbox, round, r, rank);
    Check(t.bytes == expected);
    own += 8 + Units(bytes[rank]);

    /* One to many, many to one, all to all the same */
    bytes[0] = Size(round, rank, 0);
    for (uint64_t i = 0; i < bytes[0]; i++) send[i] = Byte(round, rank, 0, i);
    if (round % 2) Check(MuonTransportGatherBegin(&t, root, send, bytes[0], &inbox) == MPI_SUCCESS);
    else Check(MuonTransportGather(&t, root, send, bytes[0], &inbox) == MPI_SUCCESS);
    for (done = 0; !done;) Check(MuonTransportArrive(&t, round % 4 == 1, &done) == MPI_SUCCESS);
    expected += 8 + Units(bytes[0]);
    if (rank == root) own += 8 + Units(bytes[0]) + 8 * LENGTH; /* and its part of the sum below */
    for (int r = 0; r < size && rank == root; r++) CheckMessage(&inbox, round, r, 0);
    memset(send + bytes[0], 0xAA, 64);
    if (round % 2) Check(MuonTransportGatherBegin(&t, MUON_TRANSPORT_EVERYWHERE, send, bytes[0], &inbox) == MPI_SUCCESS);
    else Check(MuonTransportGather(&t, MUON_TRANSPORT_EVERYWHERE, send, bytes[0], &inbox) == MPI_SUCCESS);
    for (done = 0; !done;) Check(MuonTransportArrive(&t, 0, &done) == MPI_SUCCESS);
    expected += 8 + Units(bytes[0]);
    for (int r = 0; r < size; r++) CheckMessage(&inbox, round, r, 0);
    memset(send + bytes[0], 0xAA, 64);
    Check(MuonTransportBroadcast(&t, root, send, bytes[0], &inbox) == MPI_SUCCESS);
    if (rank == root) expected += 8 + Units(bytes[0]);
    else CheckMessage(&inbox, round, root, 0);
    for (int r = 0; r < size && rank != root; r++) Check(r == root || inbox.bytes[r] == 0);
    calls += 6;

    /* Two sums under way at once; integers, so that they are exact */
    for (int i = 0; i < LENGTH; i++) {
      in[0][i]  = rank * 1000 + i;
      in[1][i]  = (rank + 1) * (double)(i - 500);
      out[0][i] = out[1][i] = -1;
    }
    Check(MuonTransportSum(&t, 0, root, in[0], rank == root ? out[0] : NULL, LENGTH, MPI_DOUBLE) == MPI_SUCCESS);
    Check(MuonTransportSum(&t, 0, MUON_TRANSPORT_EVERYWHERE, in[1], out[1], LENGTH / 2, MPI_DOUBLE) == MPI_SUCCESS);
    Check(MuonTransportSum(&t, 0, MUON_TRANSPORT_EVERYWHERE, in[1], out[1], 0, MPI_DOUBLE) == MPI_SUCCESS);
    Check(MuonTransportSumWait(&t) == MPI_SUCCESS);
    for (int i = 0; i < LENGTH; i++) {
      Check(out[0][i] == (rank == root ? 1000. * size * (size - 1) / 2 + (double)size * i : -1));
      Check(out[1][i] == (i < LENGTH / 2 ? size * (size + 1) / 2. * (i - 500) : -1));
    }
    expected += 8 * (LENGTH + LENGTH / 2);
    calls += 2;

    for (int i = 0; i < 3; i++) record[i] = 10 * rank + i + 0.5;
    Check(MuonTransportShare(&t, record, records, 3, MPI_DOUBLE) == MPI_SUCCESS);
    for (int r = 0; r < size; r++) {
      for (int i = 0; i < 3; i++) Check(records[3 * r + i] == 10 * r + i + 0.5);
    }
    expected += 24;
    calls++;

    /*
       Two moves under way at once, of sizes that are known, with sums between them; what a rank keeps for
       itself does not travel, and lies between what does
    */
    {
      MuonTransportMove move[2];
      uint64_t          to = 0, from = 0, place = 0, sendoffset[64], sendbytes[64], recvoffset[64], recvbytes[64], alloffset[64], allbytes[64];
      unsigned char    *recv = (unsigned char *)malloc((size_t)size * 40000), *every = (unsigned char *)malloc((size_t)size * 40000);
      int               done = 0;

      for (int r = 0; r < size; r++) {
        sendoffset[r] = to;
        recvoffset[r] = from;
        alloffset[r]  = place;
        sendbytes[r]  = r == rank ? 0 : Size(round, rank, r);
        recvbytes[r]  = r == rank ? 0 : Size(round, r, rank);
        allbytes[r]   = Size(round + 1, r, 0);
        for (uint64_t i = 0; i < sendbytes[r]; i++) send[to + i] = Byte(round, rank, r, i);
        memset(send + to + sendbytes[r], 0xAA, (size_t)(Units(sendbytes[r]) - sendbytes[r]));
        to += Units(sendbytes[r]);
        from += Units(r == rank ? 100 : recvbytes[r]);
        place += Units(allbytes[r]);
        expected += Units(sendbytes[r]);
      }
      memset(recv, 0xBB, (size_t)size * 40000);
      for (uint64_t i = 0; i < allbytes[rank]; i++) every[alloffset[rank] + i] = Byte(round + 1, rank, 0, i);
      expected += Units(allbytes[rank]) + 8;
      for (int k = 0; k < 2; k++) Check(MuonTransportMoveInit(&t, &move[k]) == MPI_SUCCESS);
      Check(MuonTransportMoveTest(&move[0], &done) == MPI_SUCCESS && done == 1);
      Check(MuonTransportMoveWait(&move[0]) == MPI_SUCCESS);
      Check(MuonTransportAllToAllStart(&t, &move[0], send, sendoffset, sendbytes, recv, recvoffset, recvbytes) == MPI_SUCCESS);
      Check(MuonTransportAllGatherStart(&t, &move[1], every, alloffset, allbytes) == MPI_SUCCESS);
      Check(MuonTransportSum(&t, 0, MUON_TRANSPORT_EVERYWHERE, in[1], out[1], 1, MPI_DOUBLE) == MPI_SUCCESS);
      do Check(MuonTransportMoveTest(&move[round % 2], &done) == MPI_SUCCESS);
      while (!done);
      for (int k = 0; k < 2; k++) Check(MuonTransportMoveWait(&move[k]) == MPI_SUCCESS);
      Check(MuonTransportSumWait(&t) == MPI_SUCCESS && out[1][0] == size * (size + 1) / 2. * -500);
      for (int r = 0; r < size; r++) {
        uint64_t wrong = 0;

        for (uint64_t i = 0; i < Units(recvbytes[r]); i++) wrong += recv[recvoffset[r] + i] != (i < recvbytes[r] ? Byte(round, r, rank, i) : 0);
        for (uint64_t i = 0; i < (r == rank ? 128 : 0); i++) wrong += recv[recvoffset[r] + i] != 0xBB;
        for (uint64_t i = 0; i < Units(allbytes[r]); i++) wrong += every[alloffset[r] + i] != (i < allbytes[r] ? Byte(round + 1, r, 0, i) : 0);
        Check(wrong == 0);
      }
      calls += 3;
      sendoffset[0] = 8;
      Check(MuonTransportAllToAllStart(&t, &move[0], send, sendoffset, sendbytes, recv, recvoffset, recvbytes) == MUON_TRANSPORT_ARGUMENT);
      for (int k = 0; k < 2; k++) MuonTransportMoveFree(&move[k]);
      free(recv);
      free(every);
    }

    Check(t.bytes == expected && t.own == (size > 1 ? own : expected));
    Check((long)t.calls == calls);
    Check(mpicount.sent == (long long)expected);
    for (int k = 0; k < MPICOUNT_KINDS; k++) calls -= mpicount.calls[k];
    Check(calls == 0);
    Check(mpicount.calls[MPICOUNT_OTHER] == 0);
  }

  /* Many sums at once make the requests grow */
  for (int i = 0; i < LENGTH; i++) in[0][i] = i - 1., out[0][i] = 0;
  for (int i = 0; i < LENGTH; i++) Check(MuonTransportSum(&t, 0, i % size, &in[0][i], &out[0][i], 1, MPI_DOUBLE) == MPI_SUCCESS);
  Check(MuonTransportSumWait(&t) == MPI_SUCCESS);
  for (int i = 0; i < LENGTH; i++) Check(i % size != rank || out[0][i] == size * (i - 1.));

  /* A packet that begins within a unit is refused before anything is sent */
  for (int r = 0; r < size; r++) offset[r] = bytes[r] = 8;
  Check(MuonTransportAllToAll(&t, send, offset, bytes, &inbox) == MUON_TRANSPORT_ARGUMENT);

  MuonTransportBufferFree(&inbox);
  MuonTransportFree(&t);
  free(records);
  free(bytes);
  free(offset);
  free(send);
  return TestEnd();
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4 5}}

TEST*/
