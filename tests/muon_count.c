static char help[] = "Holds what whole steps hand to MPI to a formula for each exchange, and what MuonTraffic says to what was counted. Steps as messages are in equivalence.\n\n";

#include "ways.h"
#include "wire_header.h"
#include <exchange/muonexchangepackets.h>
#include "mpicount.h"

/*
   The formulas. A message is its header and its payload, a packet 36 bytes and its messages in whole units of 64; a rank that serves nothing
   gets and sends none, and no rank sends one to itself. Sizes travel ahead as three copies of 8 bytes each; the agreement at the end is eleven
   doubles and a checksum of each rank, and a vote of 8 bytes. Servers that clip have one more, of one double. Sums, and arrays as they are, are
   one call for each owner, up and down: a message each way for a pair of ranks.
*/
static long long Packet(long long messages)
{
  return messages == 0 ? 0 : (36 + messages + 63) / 64 * 64;
}

static long long ValuesBytes(const char values[], long long count)
{
  static const struct {
    const char *values;
    long long   bits;
  } rows[] = {{"native", 8 * sizeof(PetscScalar)}, {"double", 64}, {"single", 32}, {"bf16", 16}, {"natural", 9}};
  size_t k = 0;

  while (strcmp(rows[k].values, values) != 0) k++;
  return (rows[k].bits * count + 7) / 8;
}

/* Length of a message with its header; adds the paper's price of it in bits */
static long long Message(const char type[], const char values[], const ProblemShape *s, double *paper)
{
  const long long m = s->m, n = s->n, d = m * n, bits = (d + 7) / 8;
  const PetscBool topk = strcmp(type, MUONCOMPRESSORTOPK) == 0 ? PETSC_TRUE : PETSC_FALSE, natural = strcmp(type, MUONCOMPRESSORNATURAL) == 0 ? PETSC_TRUE : PETSC_FALSE;
  const double    value = strcmp(values, "bf16") == 0 || strcmp(values, "natural") == 0 ? 16 : 32;
  const long long kept  = PetscMax(1, (topk ? d : PetscMin(m, n)) / 4); /* by the ratio 1/4 */

  if (strcmp(type, MUONCOMPRESSORIDENTITY) == 0 || natural) {
    *paper += (natural ? 16. : 32.) * (double)d;
    return (long long)TestMessageBytes((unsigned long long)d, (unsigned long long)ValuesBytes(natural ? "natural" : values, d));
  }
  *paper += topk ? (double)kept * (value + 6) : (double)kept * (double)(m + n) * value; /* the largest layer has 36 < 2^6 entries */
  return (long long)TestMessageBytes((unsigned long long)kept, (unsigned long long)(topk ? PetscMin(kept, bits) + ValuesBytes(values, kept) : ValuesBytes(values, kept * m) + ValuesBytes(values, kept * n)));
}

static long long UpMessage(const Way *way, PetscBool first, const ProblemShape *s, double *paper)
{
  if (way->lossy[0] == PETSC_FALSE) return Message(MUONCOMPRESSORIDENTITY, "native", s, paper);
  if (first && strcmp(way->compression->init, "gradient") == 0) return Message(MUONCOMPRESSORIDENTITY, "single", s, paper);
  return Message(way->compression->up, way->compression->upvalues, s, paper);
}

static long long DownMessage(const Way *way, const ProblemShape *s, double *paper)
{
  return way->lossy[1] ? Message(way->compression->down, way->compression->downvalues, s, paper) : Message(MUONCOMPRESSORIDENTITY, "native", s, paper);
}

/*
   Natural values are sent in fewer bytes than nine bits each where that is possible, and positions in fewer than a bitmap or numbers have, which
   no formula of the sizes tells: then it is a bound
*/
static PetscBool IsExact(const Way *way, int down)
{
  const char *type = way->lossy[down] ? (down ? way->compression->down : way->compression->up) : "", *values = way->lossy[down] ? (down ? way->compression->downvalues : way->compression->upvalues) : "";

  return strcmp(type, MUONCOMPRESSORNATURAL) != 0 && strcmp(type, MUONCOMPRESSORTOPK) != 0 && strcmp(values, "natural") != 0 ? PETSC_TRUE : PETSC_FALSE;
}

typedef struct {
  MPICount    expected;
  PetscInt    wrong;
  PetscBool   quiet;
  const char *name;
} Audit;

static void Differ(Audit *audit, PetscBool exact, const char what[], double found, double expected)
{
  if (found == expected || (exact == PETSC_FALSE && found > 0 && found < expected)) return;
  audit->wrong++;
  if (audit->quiet == PETSC_FALSE) fprintf(stderr, "%s, %s: %.17g, and the formula gives %.17g\n", audit->name, what, found, expected);
}

static void Expect(Audit *audit, MPICountKind kind, long long sent, long long received)
{
  audit->expected.calls[kind]++;
  audit->expected.sent += sent;
  audit->expected.received += received;
}

/* All arrays of a rank's layers travel together, up and down; the owner adds those of two workers. With allreduce all sums are wanted everywhere */
static void ExpectArrays(Audit *audit, const Problem *p, const Way *way, int r, PetscInt layers, long long up, long long down)
{
  const PetscBool everywhere = way->mode == MUON_EXCHANGE_MODE_ALLREDUCE || way->replicated ? PETSC_TRUE : PETSC_FALSE, mine = r == p->rank ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool gathers = way->mode == MUON_EXCHANGE_MODE_GATHER || (p->size == 2 && layers > 1) ? PETSC_TRUE : PETSC_FALSE;

  if (up > 0 && everywhere) Expect(audit, gathers ? MPICOUNT_ALLGATHER : MPICOUNT_IALLREDUCE, up, gathers ? p->size * up : up);
  else if (up > 0 && gathers) Expect(audit, MPICOUNT_GATHER, mine ? 0 : up, mine ? (p->size - 1) * up : 0);
  else if (up > 0) Expect(audit, MPICOUNT_IREDUCE, up, mine ? up : 0);
  if (down > 0) Expect(audit, MPICOUNT_BCAST, mine ? down : 0, mine ? 0 : down);
}

static PetscErrorCode AuditStep(Problem *p, const Way *way, PetscBool first, PetscBool quiet, PetscInt *wrong)
{
  const PetscBool gathers = way->mode == MUON_EXCHANGE_MODE_GATHER ? PETSC_TRUE : PETSC_FALSE, direct = way->replicated && way->lossy[1] == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool arrays[2] = {gathers && way->lossy[0] == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE, way->replicated == PETSC_FALSE && way->lossy[1] == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE};
  const PetscBool exact[2]  = {IsExact(way, 0), IsExact(way, 1)};
  const int       size      = p->size;
  long long       to[8] = {0}, from[8] = {0}, all[2] = {0, 0}; /* messages to each rank, which are the same of all workers, and from it */
  long long       sums[8] = {0}, spreads[8] = {0};             /* arrays up to it, and down from it */
  PetscInt        layers[8] = {0};                             /* of which the former are */
  double          up[2] = {0, 0}, down[2] = {0, 0}, dense = 0, before[2][2];
  MuonTraffic     traffic;
  Audit           audit;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&audit, sizeof(audit)));
  audit.name  = way->options;
  audit.quiet = quiet;
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  for (int k = 0; k < 2; k++) {
    before[0][k] = traffic.total_up[k];
    before[1][k] = traffic.total_down[k];
  }
  mpicount_reset();
  PetscCall(MuonStep(p->muon));

  for (PetscInt l = 0; l < p->n; l++) {
    const ProblemShape *s     = p->layer[l].shape;
    const long long     array = (long long)sizeof(PetscScalar) * s->m * s->n;
    double              paper = 0;
    PetscMPIInt         owner;

    if (l == WAYS_FROZEN) continue;
    PetscCall(MuonLayerGetOwner(p->layer[l].layer, &owner));
    for (int r = 0; r < size; r++) {
      if (owner == r || owner < 0) to[r] += UpMessage(way, first, s, &paper);
      if (owner == r) from[r] += DownMessage(way, s, &paper);
    }
    dense += 32. * (double)(s->m * s->n);
    paper = 0;
    up[1] += 8. * (double)(gathers && (arrays[0] == PETSC_FALSE || size == 1) ? UpMessage(way, first, s, &paper) : array);
    up[0] += paper > 0 ? paper : 32. * (double)(s->m * s->n);
    if (direct == PETSC_FALSE) {
      const long long message = DownMessage(way, s, &down[0]);

      down[1] += 8. * (double)(arrays[1] && size > 1 ? array : message);
    }
    if (size == 1) continue;
    if (arrays[0] || gathers == PETSC_FALSE) {
      const PetscMPIInt at = way->mode == MUON_EXCHANGE_MODE_ALLREDUCE || owner < 0 ? 0 : owner;

      sums[at] += array;
      layers[at]++;
    }
    if (arrays[1]) spreads[owner] += array;
  }
  for (int r = 0; r < size; r++) ExpectArrays(&audit, p, way, r, layers[r], sums[r], spreads[r]);
  for (int r = 0; r < size; r++) {
    all[0] += r == p->rank ? 0 : Packet(to[r]);
    all[1] += Packet(from[r]);
  }
  if (size > 1 && gathers && arrays[0] == PETSC_FALSE) {
    const long long own = Packet(to[p->rank]);

    if (way->star) {
      Expect(&audit, MPICOUNT_GATHER, 8, p->rank == 0 ? 8 * size : 0);
      Expect(&audit, MPICOUNT_GATHERV, p->rank == 0 ? 0 : Packet(to[0]), p->rank == 0 ? (size - 1) * own : 0);
    } else if (way->replicated) {
      Expect(&audit, MPICOUNT_ALLGATHER, 8, 8 * size);
      Expect(&audit, MPICOUNT_ALLGATHERV, own, size * own);
    } else {
      Expect(&audit, MPICOUNT_ALLTOALL, 8 * size, 8 * size);
      Expect(&audit, MPICOUNT_ALLTOALLV, all[0], (size - 1) * own);
    }
  }
  /* Mean gradients are clipped where the momentum is at the server */
  if (way->compression == NULL && way->atworker == PETSC_FALSE) Expect(&audit, MPICOUNT_ALLGATHER, 8, 8 * size);
  if (size > 1 && way->replicated == PETSC_FALSE && arrays[1] == PETSC_FALSE) {
    if (way->star) {
      Expect(&audit, MPICOUNT_BCAST, p->rank == 0 ? 8 : 0, p->rank == 0 ? 0 : 8);
      Expect(&audit, MPICOUNT_BCAST, Packet(from[p->rank]), p->rank == 0 ? 0 : all[1]);
    } else {
      Expect(&audit, MPICOUNT_ALLGATHER, 8, 8 * size);
      Expect(&audit, MPICOUNT_ALLGATHERV, Packet(from[p->rank]), all[1]);
    }
  }
  Expect(&audit, MPICOUNT_ALLGATHER, AGREEMENT_BYTES, AGREEMENT_BYTES * size);

  for (int k = 0; k < MPICOUNT_KINDS; k++) {
    /* A debugging PETSc compares the arguments of logically collective calls by reductions of its own */
    if (PetscDefined(USE_DEBUG) && k == MPICOUNT_OTHER) continue;
    Differ(&audit, PETSC_TRUE, mpicount_names[k], (double)mpicount.calls[k], (double)audit.expected.calls[k]);
  }
  Differ(&audit, exact[0] && exact[1] ? PETSC_TRUE : PETSC_FALSE, "bytes sent", (double)mpicount.sent, (double)audit.expected.sent);
  Differ(&audit, exact[0] && exact[1] ? PETSC_TRUE : PETSC_FALSE, "bytes received", (double)mpicount.received, (double)audit.expected.received);
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  Differ(&audit, PETSC_TRUE, "MuonTraffic.mpi", traffic.mpi, (double)mpicount.sent);
  Differ(&audit, PETSC_TRUE, "MuonTraffic.dense", traffic.dense, dense);
  /* The entropy is counted where that is asked for */
  Differ(&audit, PETSC_TRUE, "entropies", traffic.up[2] == -1 && traffic.down[2] == -1 && traffic.total_up[2] == -1 && traffic.total_down[2] == -1, 1);
  for (int k = 0; k < 2; k++) {
    Differ(&audit, k == 0 ? PETSC_TRUE : exact[0], k == 0 ? "MuonTraffic.up[0]" : "MuonTraffic.up[1]", traffic.up[k], up[k]);
    Differ(&audit, k == 0 || direct ? PETSC_TRUE : exact[1], k == 0 ? "MuonTraffic.down[0]" : "MuonTraffic.down[1]", traffic.down[k], down[k]);
    Differ(&audit, PETSC_TRUE, k == 0 ? "MuonTraffic.total_up[0]" : "MuonTraffic.total_up[1]", traffic.total_up[k], before[0][k] + traffic.up[k]);
    Differ(&audit, PETSC_TRUE, k == 0 ? "MuonTraffic.total_down[0]" : "MuonTraffic.total_down[1]", traffic.total_down[k], before[1][k] + traffic.down[k]);
  }
  *wrong = audit.wrong;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layerwise as its name says, but every rank sees all packets on the way, and the exchange keeps silent about it: what the audit must find */
static PetscErrorCode (*HonestUp)(MuonExchange, MuonExchangePackets);

static PetscErrorCode Up_Leaky(MuonExchange exchange, MuonExchangePackets up)
{
  MuonTransport      *transport = &exchange->link->transport;
  const uint64_t      before    = transport->bytes;
  MuonTransportBuffer all; /* without the bounds of what this rank may get */

  PetscFunctionBegin;
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBufferInit(transport, &all)));
  PetscCall(MuonExchangeCheckTransport_Private(MuonTransportGather(transport, MUON_TRANSPORT_EVERYWHERE, up->out.data, up->used, &all)));
  MuonTransportBufferFree(&all);
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

/* Nine layers of 50 x 50 that take part are one message each way of two ranks, too, and more than Open MPI adds in one order */
static PetscErrorCode CheckLarge(Way *way, PetscInt *wrong)
{
  PetscMPIInt size;
  Problem     p;

  PetscFunctionBegin;
  *wrong = 0;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size != 2 || strstr(way->options, MUONCOMPRESSORTOPK) != NULL) PetscFunctionReturn(PETSC_SUCCESS); /* whose price on paper has the number of entries in it */
  PetscCall(PetscStrlcat(way->options, " -problem_layers a:50x50,b:50x50,wide:50x50,c:50x50,gain:50x50,d:50x50,e:50x50,f:50x50,g:50x50,h:50x50", sizeof(way->options)));
  PetscCall(ProblemCreateWith(&p, way->options));
  mpicount_ignored = PetscObjectComm((PetscObject)p.layer[0].W);
  PetscCall(AuditStep(&p, way, PETSC_TRUE, PETSC_FALSE, wrong));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  wrong, servers, all = 0, steps = 0;
  PetscBool legal, last = PETSC_FALSE;
  Problem   p;
  Way       way;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (PetscInt number = 0; last == PETSC_FALSE; number++) {
    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal == PETSC_FALSE || way.steps) continue;
    if (way.compression == NULL && way.atworker == PETSC_FALSE) PetscCall(PetscStrlcat(way.options, " -muon_clip 1", sizeof(way.options)));
    PetscCall(ProblemCreateWith(&p, way.options));
    mpicount_ignored = PetscObjectComm((PetscObject)p.layer[0].W); /* one rank's */
    /* Five layers that take part give each of up to four ranks one to serve, so that layerwise is not a star */
    PetscCall(WayCountServers(&p, &servers));
    PetscCheck(servers == (way.star ? 1 : way.replicated ? 0 : p.size), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " ranks serve", way.options, servers);
    for (PetscInt s = 0; s < 3; s++, steps++) {
      PetscCall(AuditStep(&p, &way, s == 0 ? PETSC_TRUE : PETSC_FALSE, PETSC_FALSE, &wrong));
      all += wrong;
    }
    /* The audit finds a layerwise step that gathers everything */
    if (p.size > 1 && strcmp(way.exchange, MUONEXCHANGELAYERWISE) == 0 && way.mode == MUON_EXCHANGE_MODE_GATHER && way.lossy[0]) {
      HonestUp                  = p.muon->exchange->ops->up;
      p.muon->exchange->ops->up = Up_Leaky;
      PetscCall(AuditStep(&p, &way, PETSC_FALSE, PETSC_TRUE, &wrong));
      PetscCheck(wrong >= 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a step that gathers everything was not seen", way.options);
      p.muon->exchange->ops->up = Up_Whispering;
      PetscCall(AuditStep(&p, &way, PETSC_FALSE, PETSC_TRUE, &wrong));
      PetscCheck(wrong > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a single message was not seen", way.options);
    }
    PetscCall(ProblemDestroy(&p));
    PetscCall(CheckLarge(&way, &wrong));
    all += wrong;
  }
  PetscCheck(steps == 3 * (6 * 3 + 4 * 3 + 2 * 3 + 3), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps were looked at", steps);
  PetscCall(PetscFinalize());
  return all == 0 ? 0 : 1;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4}}

TEST*/
