/*
   Sizes that travel ahead of messages: whatever one bit of them becomes, and whatever two of their copies
   become, the messages arrive; what cannot be read is an error before any message moves.
*/
#include "transport_common.h"
#include "mpicount.h"

enum {
  SIZE = 8 * MUON_TRANSPORT_COPIES /* bytes of a size on its way */
};

/* The damage to the sizes that come from one sender */
static struct {
  enum {
    DAMAGE_NONE,
    DAMAGE_FLIP,   /* one bit */
    DAMAGE_COPIES, /* so many copies become something else */
    DAMAGE_ALL
  } kind;
  int      sender, which;
  unsigned seed;
  long     done;
} damage;

static void Damage(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  /* All messages here are of other lengths */
  if (damage.kind == DAMAGE_NONE || sender != damage.sender || bytes != SIZE) return;
  if (damage.kind == DAMAGE_FLIP) data[damage.which / 8] ^= (unsigned char)(1 << damage.which % 8);
  else {
    for (int k = 0; k < SIZE; k++) {
      damage.seed = damage.seed * 1103515245u + 12345u;
      if (damage.kind == DAMAGE_ALL || k / 8 != damage.which) data[k] = damage.seed % 5 == 0 ? 0 : damage.seed % 5 == 1 ? 0xff : (unsigned char)(damage.seed >> 16);
    }
  }
  damage.done++;
}

static MuonTransport t;
static int           rank, size;

static uint64_t Bytes(int way, int from, int to)
{
  return (uint64_t)((way * 7 + from * 31 + (way == 2 ? to : 0) * 17) % 5) * 41;
}

/*
   One way of moving messages; returns what the transport does, and checks what arrived where it says that all
   is well
*/
static int Move(int way, unsigned char *send, const uint64_t offset[], MuonTransportBuffer *in)
{
  const int root = size - 1;
  uint64_t  bytes[64];
  int       err;

  for (int r = 0; r < size; r++) {
    bytes[r] = Bytes(way, rank, r);
    memset(send + offset[r], 16 * rank + (way == 2 ? r : 0) + 1, (size_t)bytes[r]);
  }
  err = way == 0 ? MuonTransportGather(&t, root, send, bytes[0], in)
      : way == 1 ? MuonTransportBroadcast(&t, root, send, bytes[0], in)
      : way == 2 ? MuonTransportAllToAll(&t, send, offset, bytes, in)
                 : MuonTransportGather(&t, MUON_TRANSPORT_EVERYWHERE, send, bytes[0], in);
  for (int r = 0; r < size && err == MPI_SUCCESS; r++) {
    if ((way == 0 && rank != root) || (way == 1 && (rank == root || r != root))) continue;
    Check(in->bytes[r] == Bytes(way, r, rank));
    for (uint64_t i = 0; i < in->bytes[r]; i++) Check(in->data[in->offset[r] + i] == 16 * r + (way == 2 ? rank : 0) + 1);
  }
  return err;
}

int main(int argc, char **argv)
{
  MuonTransportBuffer in;
  unsigned char      *send;
  uint64_t            offset[64];

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Check(MuonTransportInit(&t, MPI_COMM_WORLD) == MPI_SUCCESS);
  Check(MuonTransportBufferInit(&t, &in) == MPI_SUCCESS);
  send = (unsigned char *)malloc((size_t)size * 256);
  for (int r = 0; r < size; r++) offset[r] = 256 * (uint64_t)r;
  mpicount_received = Damage;
  for (int way = 0; way < 4; way++) {
    const int receives = way == 0 ? rank == size - 1 : way == 1 ? rank != size - 1 : 1;

    for (damage.sender = 0; damage.sender < size; damage.sender++) {
      const int comes = receives && (way != 1 || damage.sender == size - 1);

      /* On one rank alone: the others do not see it, and need not */
      for (int victim = 0; victim < size; victim++) {
        damage.done = 0;
        damage.kind = rank == victim ? DAMAGE_FLIP : DAMAGE_NONE;
        for (damage.which = 0; damage.which < 8 * SIZE; damage.which++) Check(Move(way, send, offset, &in) == MPI_SUCCESS);
        damage.kind = rank == victim ? DAMAGE_COPIES : DAMAGE_NONE;
        for (int trial = 0; trial < 60; trial++) {
          damage.which = trial % MUON_TRANSPORT_COPIES;
          Check(Move(way, send, offset, &in) == MPI_SUCCESS);
        }
        Check(damage.done == (rank == victim && comes ? 8 * SIZE + 60 : 0));
      }
    }
    damage.kind = DAMAGE_NONE;
  }

  /*
     Nothing is left of the sizes from one rank, at all ranks alike; then they are right and more than is
     allowed, by the sum of nothing else than one byte
  */
  for (int way = 2; way < 4; way++) {
    for (damage.sender = 0; damage.sender < size; damage.sender++) {
      damage.kind = DAMAGE_ALL;
      mpicount_reset();
      for (int trial = 0; trial < 60; trial++) Check(Move(way, send, offset, &in) == MUON_TRANSPORT_CORRUPT);
      Check(mpicount.calls[MPICOUNT_ALLTOALLV] == 0 && mpicount.calls[MPICOUNT_ALLGATHERV] == 0);
      damage.kind = DAMAGE_NONE;
    }
  }
  for (int r = 0; r < size; r++) in.most[r] = Bytes(3, r, 0);
  Check(Move(3, send, offset, &in) == MPI_SUCCESS);
  for (int r = 0; r < size; r++) {
    if (in.most[r] == 0) continue;
    in.most[r]--;
    Check(Move(3, send, offset, &in) == MUON_TRANSPORT_CORRUPT);
    in.most[r]++;
  }

  MuonTransportBufferFree(&in);
  MuonTransportFree(&t);
  free(send);
  return TestEnd();
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4}}
    output_file: output/transport_ok.out

TEST*/
