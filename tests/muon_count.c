static char help[] = "Holds what whole steps hand to MPI to a formula for each exchange, and what MuonTraffic says to what was counted.\n\n";

#include "muon_common.h"
#include "wire_header.h"
#include <petscmuon/private/muonimpl.h>
#include <exchange/muonexchangepackets.h>
#include "mpicount.h"

static const PetscInt Frozen = 2; /* number of the layer that takes no part */

/*
   The formulas. A message is its header and its payload, a packet 36 bytes and its messages in whole units of
   64; a rank that serves nothing gets and sends none, and nobody sends one to himself alone. Sizes travel ahead as three copies of 8 bytes each; the
   agreement at the end is eleven doubles and a checksum of each rank, and a vote of 8 bytes. Servers that
   clip have one more, of one double.
*/
static long long Packet(long long messages)
{
  return (36 + messages + 63) / 64 * 64;
}

static long long ValuesBytes(MuonCompressorValues values, long long count)
{
  switch (values) {
  case MUON_COMPRESSOR_VALUES_NATIVE:
    return (long long)sizeof(PetscScalar) * count;
  case MUON_COMPRESSOR_VALUES_DOUBLE:
    return 8 * count;
  case MUON_COMPRESSOR_VALUES_SINGLE:
    return 4 * count;
  case MUON_COMPRESSOR_VALUES_BF16:
    return 2 * count;
  case MUON_COMPRESSOR_VALUES_NATURAL:
    break;
  }
  return (9 * count + 7) / 8;
}

/* Length of a message with its header, and the paper's price of it in bits */
static long long Message(const char *type, MuonCompressorValues values, PetscInt l, double *paper)
{
  const long long m = Shapes[l].m, n = Shapes[l].n, d = m * n, small = m < n ? m : n;
  const double    value = values == MUON_COMPRESSOR_VALUES_BF16 || values == MUON_COMPRESSOR_VALUES_NATURAL ? 16 : 32;
  long long       kept;

  if (strcmp(type, MUONCOMPRESSORIDENTITY) == 0) {
    *paper = 32. * (double)d;
    return (long long)TestMessageBytes((unsigned long long)d, sizeof(PetscScalar) * (unsigned long long)d);
  }
  if (strcmp(type, MUONCOMPRESSORNATURAL) == 0) {
    *paper = 16. * (double)d;
    return (long long)TestMessageBytes((unsigned long long)d, (unsigned long long)(9 * d + 7) / 8);
  }
  if (strcmp(type, MUONCOMPRESSORTOPK) == 0) {
    kept   = d / 4 > 1 ? d / 4 : 1;
    *paper = (double)kept * (value + 6); /* the largest layer, 12 x 5, has 60 < 2^6 entries */
    return (long long)TestMessageBytes((unsigned long long)kept, (unsigned long long)((kept < (d + 7) / 8 ? kept : (d + 7) / 8) + ValuesBytes(values, kept)));
  }
  kept   = small / 4 > 1 ? small / 4 : 1;
  *paper = (double)kept * (double)(m + n) * value;
  return (long long)TestMessageBytes((unsigned long long)kept, (unsigned long long)(ValuesBytes(values, kept * m) + ValuesBytes(values, kept * n)));
}

static long long UpMessage(const Way *way, PetscBool first, PetscInt l, double *paper)
{
  if (way->compression == NULL) return Message(MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE, l, paper);
  if (first == PETSC_TRUE && way->compression->init == MUON_EF21_INIT_GRADIENT && strcmp(way->compression->up, MUONCOMPRESSORIDENTITY) != 0) {
    *paper = 32. * (double)(Shapes[l].m * Shapes[l].n);
    return (long long)TestMessageBytes((unsigned long long)(Shapes[l].m * Shapes[l].n), (unsigned long long)ValuesBytes(MUON_COMPRESSOR_VALUES_SINGLE, Shapes[l].m * Shapes[l].n));
  }
  return Message(way->compression->up, way->compression->upvalues, l, paper);
}

static int Bits(PetscInt things)
{
  int bits = 0;

  while ((PetscInt)1 << bits < things) bits++;
  return bits;
}

/*
   A step in its natural format, where no row and no column is missing: at most 256 places take one byte where
   they stand alone
*/
static long long StepMessage(PetscInt l, double *paper)
{
  const PetscInt  m = Shapes[l].m, n = Shapes[l].n;
  const long long s = (long long)sizeof(PetscScalar);

  if (strcmp(StepNorms[l], MUONLMONUCLEAR) == 0) {
    *paper = 32. * (double)(1 + m + n);
    return (long long)TestMessageBytes(1, (unsigned long long)(s * (1 + m + n)));
  }
  if (strcmp(StepNorms[l], MUONLMOL1) == 0) {
    *paper = Bits(m * n) + 32.;
    return (long long)TestMessageBytes(1, (unsigned long long)(1 + s));
  }
  if (strcmp(StepNorms[l], MUONLMOL21) == 0) {
    *paper = Bits(n) + 32. * (double)(1 + m);
    return (long long)TestMessageBytes(1, (unsigned long long)(1 + s * (1 + m)));
  }
  if (strcmp(StepNorms[l], MUONLMOROWSUM) == 0) {
    *paper = (double)(m * (1 + Bits(n))) + 32.;
    return (long long)TestMessageBytes((unsigned long long)m, (unsigned long long)((m * (1 + Bits(n)) + 7) / 8 + s));
  }
  *paper = (double)(n * (1 + Bits(m))) + 32.;
  return (long long)TestMessageBytes((unsigned long long)n, (unsigned long long)((n * (1 + Bits(m)) + 7) / 8 + s));
}

static long long DownMessage(const Way *way, PetscInt l, double *paper)
{
  if (way->compression == NULL) return Message(MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE, l, paper);
  if (TestIsStep(way->compression->down) == PETSC_TRUE) return StepMessage(l, paper);
  return Message(way->compression->down, way->compression->downvalues, l, paper);
}

typedef struct {
  MPICount    expected;
  PetscInt    wrong;
  PetscBool   quiet;
  PetscMPIInt rank, size;
  const char *name;
} Audit;

static void Differ(Audit *audit, const char what[], double found, double expected)
{
  if (found == expected) return;
  audit->wrong++;
  if (audit->quiet == PETSC_FALSE) fprintf(stderr, "[%d of %d] %s, %s: %.17g, and the formula gives %.17g\n", audit->rank, audit->size, audit->name, what, found, expected);
}

/*
   Natural values are sent in fewer bytes than nine bits each where that is possible, and positions in fewer
   than a bitmap or numbers have, which no formula of the sizes tells: then it is a bound
*/
static PetscBool IsExact(const char *type, MuonCompressorValues values)
{
  return strcmp(type, MUONCOMPRESSORNATURAL) != 0 && strcmp(type, MUONCOMPRESSORTOPK) != 0 && values != MUON_COMPRESSOR_VALUES_NATURAL ? PETSC_TRUE : PETSC_FALSE;
}

static void DifferOrMore(Audit *audit, PetscBool exact, const char what[], double found, double expected)
{
  if (exact == PETSC_TRUE || found > expected || found <= 0) Differ(audit, what, found, expected);
}

static void ExpectCall(Audit *audit, MPICountKind kind, long long sent, long long received)
{
  audit->expected.calls[kind]++;
  audit->expected.sent += sent;
  audit->expected.received += received;
}

/* Mean gradients are clipped where the momentum is at the server */
static PetscBool Clips(const Way *way)
{
  return way->compression == NULL && way->atworker == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode AuditStep(Problem *p, const Way *way, PetscBool first, PetscBool quiet, PetscInt *wrong)
{
  const PetscBool star = strcmp(way->exchange, MUONEXCHANGESTAR) == 0 ? PETSC_TRUE : PETSC_FALSE, replicated = strcmp(way->exchange, MUONEXCHANGEREPLICATED) == 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool plain     = way->compression == NULL || strcmp(way->compression->down, MUONCOMPRESSORIDENTITY) == 0 || TestIsStep(way->compression->down) == PETSC_TRUE ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool upexact   = way->compression == NULL ? PETSC_TRUE : IsExact(way->compression->up, way->compression->upvalues);
  const PetscBool downexact = way->compression == NULL ? PETSC_TRUE : IsExact(way->compression->down, way->compression->downvalues);
  const PetscBool direct    = replicated == PETSC_TRUE && plain == PETSC_TRUE ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool arrays[2] = {way->mode == MUON_EXCHANGE_MODE_GATHER ? CompressionIsNone(way->compression, 0) : PETSC_FALSE, replicated ? PETSC_FALSE : CompressionIsNone(way->compression, 1)};
  double          up[2] = {0, 0}, down[2] = {0, 0}, dense = 0, before[2][2], paper;
  MuonTraffic     traffic;
  Audit           audit;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&audit, sizeof(audit)));
  audit.rank  = p->rank;
  audit.size  = p->size;
  audit.name  = way->name;
  audit.quiet = quiet;
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  for (int k = 0; k < 2; k++) {
    before[0][k] = traffic.total_up[k];
    before[1][k] = traffic.total_down[k];
  }
  mpicount_reset();
  PetscCall(MuonStep(p->muon));

  for (PetscInt l = 0; l < NLAYERS; l++) {
    if (l == Frozen) continue;
    dense += 32. * (double)(Shapes[l].m * Shapes[l].n);
    if (way->mode == MUON_EXCHANGE_MODE_GATHER && (arrays[0] == PETSC_FALSE || p->size == 1)) {
      up[1] += 8. * (double)UpMessage(way, first, l, &paper);
      up[0] += paper;
    } else {
      up[0] += 32. * (double)(Shapes[l].m * Shapes[l].n);
      up[1] += 8. * (double)sizeof(PetscScalar) * (double)(Shapes[l].m * Shapes[l].n);
    }
    if (direct == PETSC_FALSE) {
      down[1] += 8. * (double)DownMessage(way, l, &paper);
      if (arrays[1] && p->size > 1) down[1] += 8. * ((double)sizeof(PetscScalar) * (double)(Shapes[l].m * Shapes[l].n) - (double)DownMessage(way, l, &paper));
      down[0] += paper;
    }
  }
  /* Up */
  for (PetscInt l = 0; l < NLAYERS && p->size > 1; l++) {
    const long long array = (long long)sizeof(PetscScalar) * Shapes[l].m * Shapes[l].n;
    PetscMPIInt     owner;

    if (l == Frozen) continue;
    PetscCall(MuonLayerGetOwner(p->layer[l], &owner));
    if (arrays[0] && replicated == PETSC_TRUE) ExpectCall(&audit, MPICOUNT_ALLGATHER, array, p->size * array);
    else if (arrays[0]) ExpectCall(&audit, MPICOUNT_GATHER, owner == p->rank ? 0 : array, owner == p->rank ? (p->size - 1) * array : 0);
    if (arrays[1]) ExpectCall(&audit, MPICOUNT_BCAST, owner == p->rank ? array : 0, owner == p->rank ? 0 : array);
  }
  if (p->size > 1 && way->mode == MUON_EXCHANGE_MODE_GATHER && arrays[0] == PETSC_FALSE) {
    long long sends = 0, gets = 0, one = 0;

    for (PetscMPIInt r = 0; r < p->size; r++) {
      long long to = 0;

      /* What a worker says to rank r: the same length from every worker */
      for (PetscInt l = 0; l < NLAYERS; l++) {
        PetscMPIInt owner;

        if (l == Frozen) continue;
        PetscCall(MuonLayerGetOwner(p->layer[l], &owner));
        if (owner == r || owner < 0) to += UpMessage(way, first, l, &paper);
      }
      to = to == 0 ? 0 : Packet(to);
      sends += r == p->rank ? 0 : to;
      if (r == 0) one = replicated == PETSC_FALSE && p->rank == 0 ? 0 : to;
      if (r == p->rank) gets = (p->size - (replicated == PETSC_TRUE ? 0 : 1)) * to;
    }
    if (star == PETSC_TRUE) {
      ExpectCall(&audit, MPICOUNT_GATHER, 8, p->rank == 0 ? 8 * p->size : 0);
      ExpectCall(&audit, MPICOUNT_GATHERV, one, p->rank == 0 ? gets : 0);
    } else if (replicated == PETSC_TRUE) {
      ExpectCall(&audit, MPICOUNT_ALLGATHER, 8, 8 * p->size);
      ExpectCall(&audit, MPICOUNT_ALLGATHERV, one, gets);
    } else {
      ExpectCall(&audit, MPICOUNT_ALLTOALL, 8 * p->size, 8 * p->size);
      ExpectCall(&audit, MPICOUNT_ALLTOALLV, sends, gets);
    }
  } else if (p->size > 1 && arrays[0] == PETSC_FALSE) {
    for (PetscInt l = 0; l < NLAYERS; l++) {
      const long long sum = (long long)sizeof(PetscScalar) * Shapes[l].m * Shapes[l].n;
      PetscMPIInt     owner;

      if (l == Frozen) continue;
      PetscCall(MuonLayerGetOwner(p->layer[l], &owner));
      if (way->mode == MUON_EXCHANGE_MODE_ALLREDUCE) ExpectCall(&audit, MPICOUNT_IALLREDUCE, sum, sum);
      else ExpectCall(&audit, MPICOUNT_IREDUCE, sum, owner < 0 || owner == p->rank ? sum : 0);
    }
  }
  if (Clips(way)) ExpectCall(&audit, MPICOUNT_ALLGATHER, 8, 8 * p->size);
  /* Down */
  if (p->size > 1 && replicated == PETSC_FALSE && arrays[1] == PETSC_FALSE) {
    long long packets = 0, own = 0;

    for (PetscMPIInt r = 0; r < p->size; r++) {
      long long from = 0;

      for (PetscInt l = 0; l < NLAYERS; l++) {
        PetscMPIInt owner;

        if (l == Frozen) continue;
        PetscCall(MuonLayerGetOwner(p->layer[l], &owner));
        if (owner == r) from += DownMessage(way, l, &paper);
      }
      from = from == 0 ? 0 : Packet(from);
      packets += from;
      if (r == p->rank) own = from;
    }
    if (star == PETSC_TRUE) {
      ExpectCall(&audit, MPICOUNT_BCAST, p->rank == 0 ? 8 : 0, p->rank == 0 ? 0 : 8);
      ExpectCall(&audit, MPICOUNT_BCAST, own, p->rank == 0 ? 0 : packets);
    } else {
      ExpectCall(&audit, MPICOUNT_ALLGATHER, 8, 8 * p->size);
      ExpectCall(&audit, MPICOUNT_ALLGATHERV, own, packets);
    }
  }
  ExpectCall(&audit, MPICOUNT_ALLGATHER, AGREEMENT_BYTES, AGREEMENT_BYTES * p->size);

  for (int k = 0; k < MPICOUNT_KINDS; k++) {
    /* A debugging PETSc compares the arguments of logically collective calls by reductions of its own */
    if (PetscDefined(USE_DEBUG) && k == MPICOUNT_OTHER) continue;
    Differ(&audit, mpicount_names[k], (double)mpicount.calls[k], (double)audit.expected.calls[k]);
  }
  DifferOrMore(&audit, upexact && downexact ? PETSC_TRUE : PETSC_FALSE, "bytes sent", (double)mpicount.sent, (double)audit.expected.sent);
  DifferOrMore(&audit, upexact && downexact ? PETSC_TRUE : PETSC_FALSE, "bytes received", (double)mpicount.received, (double)audit.expected.received);
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  Differ(&audit, "MuonTraffic.mpi", traffic.mpi, (double)mpicount.sent);
  Differ(&audit, "MuonTraffic.dense", traffic.dense, dense);
  /* Nobody asked for the entropy */
  Differ(&audit, "MuonTraffic.up[2]", traffic.up[2], -1);
  Differ(&audit, "MuonTraffic.down[2]", traffic.down[2], -1);
  Differ(&audit, "MuonTraffic.total_up[2]", traffic.total_up[2], -1);
  Differ(&audit, "MuonTraffic.total_down[2]", traffic.total_down[2], -1);
  for (int k = 0; k < 2; k++) {
    DifferOrMore(&audit, k == 0 ? PETSC_TRUE : upexact, k == 0 ? "MuonTraffic.up[0]" : "MuonTraffic.up[1]", traffic.up[k], up[k]);
    DifferOrMore(&audit, k == 0 || direct == PETSC_TRUE ? PETSC_TRUE : downexact, k == 0 ? "MuonTraffic.down[0]" : "MuonTraffic.down[1]", traffic.down[k], down[k]);
    Differ(&audit, k == 0 ? "MuonTraffic.total_up[0]" : "MuonTraffic.total_up[1]", traffic.total_up[k], before[0][k] + traffic.up[k]);
    Differ(&audit, k == 0 ? "MuonTraffic.total_down[0]" : "MuonTraffic.total_down[1]", traffic.total_down[k], before[1][k] + traffic.down[k]);
  }
  *wrong = audit.wrong;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Layerwise as its name says, but every rank sees all packets on the way, and the exchange keeps silent about
   it: what the audit must find
*/
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

int main(int argc, char **argv)
{
  PetscInt    wrong, all = 0, steps = 0;
  PetscBool   legal, last = PETSC_FALSE;
  PetscMPIInt owners;
  Problem     p;
  Way         way;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (PetscInt number = 0; last == PETSC_FALSE; number++) {
    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal == PETSC_FALSE) continue;
    PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &p));
    if (Clips(&way)) PetscCall(MuonSetParameter(p.muon, "muon_clip", "1"));
    PetscCall(MuonSetUp(p.muon));
    mpicount_ignored = PetscObjectComm((PetscObject)p.W[0]); /* one rank's */
    /*
       Five layers that take part give each of up to four ranks one to serve, so that layerwise is not a star
    */
    owners = 0;
    for (PetscMPIInt r = 0; r < p.size; r++) {
      PetscBool serves = PETSC_FALSE;

      for (PetscInt l = 0; l < NLAYERS; l++) {
        PetscMPIInt owner;

        PetscCall(MuonLayerGetOwner(p.layer[l], &owner));
        if (l != Frozen && owner == r) serves = PETSC_TRUE;
      }
      if (serves == PETSC_TRUE) owners++;
    }
    PetscCheck(owners == (strcmp(way.exchange, MUONEXCHANGESTAR) == 0 ? 1 : strcmp(way.exchange, MUONEXCHANGELAYERWISE) == 0 ? p.size : 0), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %d ranks serve", way.name, owners);
    for (PetscInt s = 0; s < 3; s++) {
      PetscCall(AuditStep(&p, &way, s == 0 ? PETSC_TRUE : PETSC_FALSE, PETSC_FALSE, &wrong));
      all += wrong;
      steps++;
    }
    /* The audit finds a layerwise step that gathers everything */
    if (p.size > 1 && strcmp(way.exchange, MUONEXCHANGELAYERWISE) == 0 && way.mode == MUON_EXCHANGE_MODE_GATHER && CompressionIsNone(way.compression, 0) == PETSC_FALSE) {
      HonestUp                  = p.muon->exchange->ops->up;
      p.muon->exchange->ops->up = Up_Leaky;
      PetscCall(AuditStep(&p, &way, PETSC_FALSE, PETSC_TRUE, &wrong));
      PetscCheck(wrong >= 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a step that gathers everything was not seen", way.name);
      p.muon->exchange->ops->up = Up_Whispering;
      PetscCall(AuditStep(&p, &way, PETSC_FALSE, PETSC_TRUE, &wrong));
      PetscCheck(wrong > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a single message was not seen", way.name);
    }
    PetscCall(ProblemDestroy(&p));
  }
  PetscCheck(steps == 3 * (6 * 4 + 4 * 3 + 2 * 3 + 3), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps were looked at", steps);
  PetscCall(PetscFinalize());
  if (all != 0) return 1;
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4}}

TEST*/
