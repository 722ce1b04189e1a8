static char help[] = "Holds what an exchange hands to MPI to its formula, and what it delivers to what was sent.\n\n";

#include "exchange_common.h"
#include <exchange/muonexchangepackets.h>
#include "mpicount.h"

/*
   The formulas. A packet of messages of x bytes in all is 36 + x bytes, in whole units of 64; a rank that has
   no items sends none. Sizes are 8 bytes each.
*/
static long long Packet(long long messages)
{
  return (36 + messages + 63) / 64 * 64;
}

/* Longest first to the least loaded: by trying, not by sorting. Load is cost, then bytes, then items */
static void Owners(PetscInt n, int size, const MuonExchangeItem item[], int owner[])
{
  PetscLogDouble load[64][3] = {{0}};

  for (PetscInt i = 0; i < n; i++) owner[i] = -1;
  for (PetscInt k = 0; k < n; k++) {
    PetscInt next = -1;
    int      best = 0;

    for (PetscInt i = 0; i < n; i++) {
      if (owner[i] >= 0) continue;
      if (next < 0 || item[i].cost > item[next].cost || (item[i].cost == item[next].cost && (item[i].bytes > item[next].bytes || (item[i].bytes == item[next].bytes && strcmp(ItemNames[i], ItemNames[next]) < 0)))) next = i;
    }
    for (int r = 1; r < size; r++) {
      for (int c = 0; c < 3; c++) {
        if (load[r][c] < load[best][c]) best = r;
        else if (load[r][c] == load[best][c]) continue;
        break;
      }
    }
    owner[next] = best;
    load[best][0] += item[next].cost;
    load[best][1] += item[next].bytes;
    load[best][2]++;
  }
}

/* Entry k of an array without gaps */
static void ArraySet(const MuonArray *A, size_t k, double value)
{
  if (A->precision == MUON_SINGLE) ((float *)A->data)[k] = (float)value;
  else ((double *)A->data)[k] = value;
}

static double ArrayGet(const MuonArray *A, size_t k)
{
  return A->precision == MUON_SINGLE ? (double)((float *)A->data)[k] : ((double *)A->data)[k];
}

typedef struct {
  MPICount expected;
  PetscInt wrong;
  int      rank, size;
} Audit;

static void Differ(Audit *audit, const char what[], long long found, long long expected, PetscBool quiet)
{
  if (found == expected) return;
  audit->wrong++;
  if (quiet == PETSC_FALSE) fprintf(stderr, "[%d of %d] %s: %lld, and the formula gives %lld\n", audit->rank, audit->size, what, found, expected);
}

static void ExpectCall(Audit *audit, MPICountKind kind, long long sent, long long received)
{
  audit->expected.calls[kind]++;
  audit->expected.sent += sent;
  audit->expected.received += received;
}

/* One step of the exchange; returns in *wrong how many numbers are not as they should be on this rank */
static PetscErrorCode Step(MuonExchange exchange, MuonExchangeType type, MuonExchangeMode mode, PetscInt n, PetscInt step, int failing, PetscBool quiet, PetscInt *wrong)
{
  const PetscBool  star = strcmp(type, MUONEXCHANGESTAR) == 0 ? PETSC_TRUE : PETSC_FALSE, replicated = strcmp(type, MUONEXCHANGEREPLICATED) == 0 ? PETSC_TRUE : PETSC_FALSE;
  MuonExchangeItem item[MAXITEMS];
  PetscLogDouble   sent, own;
  MuonArray        in[MAXITEMS], out[MAXITEMS];
  int              owner[MAXITEMS];
  double           record[2], *all;
  long long        total;
  Audit            audit;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&audit, sizeof(audit)));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &audit.rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &audit.size));
  PetscCall(PetscMalloc1(2 * audit.size, &all));
  ItemsMake(n, item);
  Owners(n, audit.size, item, owner);
  for (PetscInt i = 0; i < n; i++) {
    if (star == PETSC_TRUE) owner[i] = 0;
    if (replicated == PETSC_TRUE) owner[i] = audit.rank;
    /* Of both precisions; where the sum is not wanted there is no room for it */
    PetscCall(PetscMemzero(&in[i], sizeof(in[i])));
    in[i].len       = TestHash((uint32_t)i, 1, 2, 0) % 10;
    in[i].ld        = in[i].len;
    in[i].count     = 1 + (size_t)i % 5;
    in[i].precision = i % 2 == 0 ? MUON_DOUBLE : MUON_SINGLE;
    out[i]          = in[i];
    PetscCall(PetscMalloc1(MuonArrayBytes(&in[i]), (char **)&in[i].data));
    if (owner[i] == audit.rank) PetscCall(PetscMalloc1(MuonArrayBytes(&out[i]), (char **)&out[i].data));
    for (size_t k = 0; k < MuonArrayEntries(&in[i]); k++) ArraySet(&in[i], k, audit.rank * ((double)k + 1) + (double)i);
  }

  /* The step itself, with nothing else between the counters */
  mpicount_reset();
  if (mode == MUON_EXCHANGE_MODE_GATHER) {
    PetscCall(MessagesPut(exchange, MUON_EXCHANGE_UP, step));
    PetscCall(MuonExchangeMove(exchange, MUON_EXCHANGE_UP, audit.rank == failing ? MUON_STATUS_LMO : MUON_STATUS_OK));
  } else {
    PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_UP, step));
    for (PetscInt i = 0; i < n; i++) PetscCall(MuonExchangeReduceBegin(exchange, i, &in[i], &out[i]));
    PetscCall(MuonExchangeReduceEnd(exchange));
  }
  PetscCall(MessagesPut(exchange, MUON_EXCHANGE_DOWN, step));
  PetscCall(MuonExchangeMove(exchange, MUON_EXCHANGE_DOWN, MUON_STATUS_OK));
  record[0] = audit.rank;
  record[1] = 0.5 + audit.rank;
  PetscCall(MuonExchangeGatherRecords(exchange, 2, record, all));
  PetscCall(MuonExchangeGetSentBytes(exchange, &sent, &own));

  /* Up */
  if (mode == MUON_EXCHANGE_MODE_GATHER) {
    long long up[64] = {0}, down[64] = {0}, sends = 0, gets = 0; /* packets from this rank to each, to this rank from each */

    for (int r = 0; r < audit.size; r++) {
      PetscInt yours = 0, mine = 0;

      for (PetscInt i = 0; i < n; i++) {
        const int server = replicated == PETSC_TRUE ? r : owner[i];

        if (server == r) {
          yours++;
          up[r] += (long long)MessageMake(step, audit.rank, PETSC_FALSE, i, NULL);
        }
        if (owner[i] == audit.rank) {
          mine++;
          down[r] += (long long)MessageMake(step, r, PETSC_FALSE, i, NULL);
        }
      }
      up[r]   = yours == 0 ? 0 : Packet(audit.rank == failing ? 0 : up[r]);
      down[r] = mine == 0 ? 0 : Packet(r == failing ? 0 : down[r]);
      gets += down[r];
      sends += up[r];
    }
    if (star == PETSC_TRUE) {
      ExpectCall(&audit, MPICOUNT_GATHER, 8, audit.rank == 0 ? 8 * audit.size : 0);
      ExpectCall(&audit, MPICOUNT_GATHERV, up[0], audit.rank == 0 ? gets : 0);
    } else if (replicated == PETSC_TRUE) {
      ExpectCall(&audit, MPICOUNT_ALLGATHER, 8, 8 * audit.size);
      ExpectCall(&audit, MPICOUNT_ALLGATHERV, up[0], gets);
    } else {
      ExpectCall(&audit, MPICOUNT_ALLTOALL, 8 * audit.size, 8 * audit.size);
      ExpectCall(&audit, MPICOUNT_ALLTOALLV, sends, gets);
    }
  } else {
    for (PetscInt i = 0; i < n; i++) {
      const long long sum = (i % 2 == 0 ? 8 : 4) * (long long)MuonArrayEntries(&in[i]);

      if (sum == 0) continue;
      if (replicated == PETSC_TRUE) ExpectCall(&audit, MPICOUNT_IALLREDUCE, sum, sum);
      else ExpectCall(&audit, MPICOUNT_IREDUCE, sum, owner[i] == audit.rank ? sum : 0);
    }
  }
  /* Down */
  if (replicated == PETSC_FALSE) {
    long long packets = 0, own = 0;

    for (int r = 0; r < audit.size; r++) {
      long long messages = 0;
      PetscInt  served   = 0;

      for (PetscInt i = 0; i < n; i++) {
        if (owner[i] != r) continue;
        served++;
        messages += (long long)MessageMake(step, r, PETSC_TRUE, i, NULL);
      }
      packets += served == 0 ? 0 : Packet(messages);
      if (r == audit.rank) own = served == 0 ? 0 : Packet(messages);
    }
    if (star == PETSC_TRUE) {
      ExpectCall(&audit, MPICOUNT_BCAST, audit.rank == 0 ? 8 : 0, audit.rank == 0 ? 0 : 8);
      ExpectCall(&audit, MPICOUNT_BCAST, audit.rank == 0 ? packets : 0, audit.rank == 0 ? 0 : packets);
    } else {
      ExpectCall(&audit, MPICOUNT_ALLGATHER, 8, 8 * audit.size);
      ExpectCall(&audit, MPICOUNT_ALLGATHERV, own, packets);
    }
  }
  /* The agreement: two numbers and a checksum, and the vote */
  ExpectCall(&audit, MPICOUNT_ALLGATHER, 16, 16 * audit.size);

  for (int k = 0; k < MPICOUNT_KINDS; k++) Differ(&audit, mpicount_names[k], mpicount.calls[k], audit.expected.calls[k], quiet);
  Differ(&audit, "bytes sent", mpicount.sent, audit.expected.sent, quiet);
  Differ(&audit, "bytes received", mpicount.received, audit.expected.received, quiet);
  Differ(&audit, "bytes that the exchange says it sent", (long long)sent, audit.expected.sent, quiet);

  /* What was delivered */
  total = 0;
  for (PetscInt i = 0; i < n; i++) {
    const unsigned char *message;
    size_t               size;
    MuonStatus           status;
    const PetscBool      serves = owner[i] == audit.rank ? PETSC_TRUE : PETSC_FALSE;

    total += exchange->owner[i] != owner[i];
    if (mode == MUON_EXCHANGE_MODE_GATHER) {
      PetscCall(MuonExchangeGetOwn(exchange, MUON_EXCHANGE_UP, i, &size, &message));
      total += audit.rank == failing ? message != NULL || size != 0 : MessageIs(step, audit.rank, PETSC_FALSE, i, size, message) == PETSC_FALSE;
    }
    for (int r = 0; r < audit.size && serves == PETSC_TRUE && mode == MUON_EXCHANGE_MODE_GATHER; r++) {
      PetscCall(MuonExchangeGet(exchange, MUON_EXCHANGE_UP, r, i, &size, &message, &status));
      if (r == failing) total += status != MUON_STATUS_LMO || size != 0 || message != NULL;
      else total += status != MUON_STATUS_OK || MessageIs(step, r, PETSC_FALSE, i, size, message) == PETSC_FALSE;
    }
    for (size_t k = 0; k < MuonArrayEntries(&in[i]); k++) {
      total += ArrayGet(&in[i], k) != audit.rank * ((double)k + 1) + (double)i;
      if (serves == PETSC_TRUE && mode != MUON_EXCHANGE_MODE_GATHER) total += ArrayGet(&out[i], k) != audit.size * (audit.size - 1) / 2 * ((double)k + 1) + audit.size * (double)i;
    }
    PetscCall(MuonExchangeGet(exchange, MUON_EXCHANGE_DOWN, 0, i, &size, &message, &status));
    total += status != MUON_STATUS_OK || MessageIs(step, owner[i], PETSC_TRUE, i, size, message) == PETSC_FALSE;
    PetscCall(PetscFree(in[i].data));
    PetscCall(PetscFree(out[i].data));
  }
  Differ(&audit, "deliveries that are wrong", total, 0, quiet);
  total = 0;
  for (int r = 0; r < audit.size; r++) total += all[2 * r] != r || all[2 * r + 1] != 0.5 + r;
  Differ(&audit, "records that are wrong", total, 0, quiet);
  PetscCall(PetscFree(all));
  *wrong = audit.wrong;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layerwise as its name says, but every rank sees all packets on the way: what the audit must find */
static PetscErrorCode (*HonestUp)(MuonExchange, MuonExchangePackets);

static PetscErrorCode Up_Leaky(MuonExchange exchange, MuonExchangePackets up)
{
  MuonTransport      *transport = &exchange->link->transport;
  const uint64_t      before    = transport->bytes;
  MuonTransportBuffer buffer;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBufferInit(transport, &buffer)));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportGather(transport, MUON_TRANSPORT_EVERYWHERE, up->out.data, up->used, &buffer)));
  MuonTransportBufferFree(&buffer);
  transport->bytes = before;
  PetscCall((*HonestUp)(exchange, up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by single messages */
static PetscErrorCode Up_Whispering(MuonExchange exchange, MuonExchangePackets up)
{
  const int   rank = exchange->worker, size = exchange->nworkers;
  MPI_Request request;
  char        byte = 1, got;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Irecv(&got, 1, MPI_CHAR, (rank + size - 1) % size, 0, exchange->link->comm, &request));
  PetscCallMPI(MPI_Send(&byte, 1, MPI_CHAR, (rank + 1) % size, 0, exchange->link->comm));
  PetscCallMPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  PetscCall((*HonestUp)(exchange, up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonExchangeType types[]  = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  const PetscInt         counts[] = {0, 1, 3, MAXITEMS};
  PetscInt               wrong, all     = 0;
  PetscLogDouble         memory, before = 0;
  PetscMPIInt            size;
  MuonExchange           exchange;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int t = 0; t < 3; t++) {
    for (int c = 0; c < 4; c++) {
      PetscCall(ExchangeMake(PETSC_COMM_WORLD, types[t], counts[c], &exchange));
      for (PetscInt step = 0; step < 8; step++) {
        PetscCall(Step(exchange, types[t], MUON_EXCHANGE_MODE_GATHER, counts[c], step, -1, PETSC_FALSE, &wrong));
        all += wrong;
        PetscCall(Step(exchange, types[t], strcmp(types[t], MUONEXCHANGEREPLICATED) == 0 ? MUON_EXCHANGE_MODE_ALLREDUCE : MUON_EXCHANGE_MODE_REDUCE, counts[c], step, -1, PETSC_FALSE, &wrong));
        all += wrong;
      }
      /* Buffers are kept: the same steps again take no more memory, with a rank that fails among them */
      PetscCall(MuonExchangeGetMemory(exchange, &before));
      for (PetscInt step = 0; step < 8; step++) {
        PetscCall(Step(exchange, types[t], MUON_EXCHANGE_MODE_GATHER, counts[c], step, step % 3 == 1 ? (int)step % size : -1, PETSC_FALSE, &wrong));
        all += wrong;
      }
      PetscCall(MuonExchangeGetMemory(exchange, &memory));
      if (memory != before || (memory == 0) != (counts[c] == 0)) {
        fprintf(stderr, "buffers of %s for %d items: %g bytes, then %g\n", types[t], (int)counts[c], memory, before);
        all++;
      }
      PetscCall(MuonExchangeDestroy(&exchange));
    }
  }

  /* The audit finds a type that sends more than it should */
  for (int leak = 0; leak < 2; leak++) {
    PetscCall(ExchangeMake(PETSC_COMM_WORLD, MUONEXCHANGELAYERWISE, MAXITEMS, &exchange));
    HonestUp          = exchange->ops->up;
    exchange->ops->up = leak == 0 ? Up_Leaky : Up_Whispering;
    PetscCall(Step(exchange, MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER, MAXITEMS, 1, -1, PETSC_TRUE, &wrong));
    if (wrong == 0) {
      fprintf(stderr, "leak %d was not seen\n", leak);
      all++;
    }
    exchange->ops->up = HonestUp;
    PetscCall(MuonExchangeDestroy(&exchange));
  }
  PetscCall(PetscFinalize());
  if (all != 0) return 1;
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4}}

TEST*/
