static char help[] = "SignMuon over every exchange: the bytes that a formula gives. equivalence compares the weights, muon_corrupt damages votes.\n\n";

#include "problem.h"
#include <petscmuon/private/muonexchangeimpl.h>
#include "wire_header.h"
#include "mpicount.h"

typedef struct {
  MuonExchangeType type;
  MuonExchangeMode mode;
} Kind;

/* The first is what a user gets with more than two workers */
static const Kind Kinds[] = {{MUONEXCHANGERANGE, MUON_EXCHANGE_MODE_GATHER}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_ALLREDUCE},
                             {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_GATHER},  {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE},       {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER}};
#define NKINDS ((PetscInt)(sizeof(Kinds) / sizeof(Kinds[0])))

/* Of the problem's layers one is frozen, and one has a rule that needs a gradient, or is frozen so that nothing is summed that rounding could part */
enum {
  FROZEN  = 2,
  GAIN    = 4,
  ENTRIES = 6 * 6 + 9 * 4 + 7 + 10 * 3 /* of the others, which vote */
};

static PetscErrorCode Create(const Kind *kind, const char tie[], PetscBool averaged, Problem *p)
{
  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(p, "-muon_type sign -lmo_type spectral -sign_direction momentum -sign_tie %s -sign_update none -muon_exchange_type %s -muon_exchange_mode %s -muon_layer_square_blocks_rows 3,3 -muon_layer_types wide:frozen,gain:%s", tie,
                              kind->type, MuonExchangeModes[kind->mode], averaged ? "adamw" : "frozen"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The formulas. A message has a header and planes of bits, in its header a byte for how many; a packet is 36
   bytes and its messages in whole units of 64; sizes travel ahead in 8 bytes each.
*/
static long long Message(long long entries, long long planes)
{
  const long long payload = planes * ((entries + 7) / 8);

  return (long long)TestMessageBytes((unsigned long long)entries, (unsigned long long)payload) + 1;
}

static long long Packet(long long messages)
{
  return messages == 0 ? 0 : (36 + messages + 63) / 64 * 64;
}

static long long Range(long long entries, long long size, long long r)
{
  const long long words = (entries + 63) / 64, end = 64 * (words * r / size);

  return end < entries ? end : entries;
}

/*
   What a rank hands to MPI in a step of votes alone, the agreement apart; served: entries of the layers that
   it serves, and in how many messages
*/
static long long Bytes(const Kind *kind, long long entries, long long planes, long long size, long long rank, const long long *served, long long *up, long long *down)
{
  long long all = 0, own = 0;

  *up = *down = 0;
  if (strcmp(kind->type, MUONEXCHANGERANGE) == 0) {
    for (long long r = 0; r < size; r++) {
      const long long some = Range(entries, size, r + 1) - Range(entries, size, r);

      all += r == rank ? 0 : Packet(Message(some, 1));
      *up += Message(some, 1);
      *down += Message(some, planes);
      if (r == rank) own = Packet(Message(some, planes));
    }
    return 8 * size + all + 8 + own;
  }
  if (strcmp(kind->type, MUONEXCHANGELAYERWISE) == 0) {
    for (long long r = 0; r < size; r++) {
      long long to = 0, from = 0;

      for (PetscInt l = 0; l < 6; l++) {
        if (served[l] != r) continue;
        to += Message(ProblemShapes[l].m * ProblemShapes[l].n, 1);
        from += Message(ProblemShapes[l].m * ProblemShapes[l].n, planes);
      }
      all += r == rank ? 0 : Packet(to);
      *up += to;
      *down += from;
      if (r == rank) own = Packet(from);
    }
    return 8 * size + all + 8 + own;
  }
  if (kind->mode == MUON_EXCHANGE_MODE_ALLREDUCE) {
    *up = entries;
    return entries;
  }
  if (strcmp(kind->type, MUONEXCHANGEREPLICATED) == 0) {
    *up = Message(entries, 1);
    return 8 + Packet(*up);
  }
  *down = Message(entries, planes);
  own   = rank == 0 ? 8 + Packet(*down) : 0;
  if (kind->mode == MUON_EXCHANGE_MODE_GATHER) *up = Message(entries, 1);
  else if (rank > 0) {
    long long below = rank & -rank, digits = 0; /* workers from this one on that speak through it */

    if (rank + below > size) below = size - rank;
    while (below >> digits > 0) digits++;
    *up = Message(entries, digits);
  }
  return own + (*up > 0 ? 8 + (kind->mode == MUON_EXCHANGE_MODE_GATHER && rank == 0 ? 0 : Packet(*up)) : 0);
}

/*
   The layers' owners are those of a partition by size: what the exchange found, which tests/exchange_usage.c
   checks
*/
static PetscErrorCode GetServed(Problem *p, long long served[])
{
  MuonExchange exchange;
  PetscInt     item = 0;

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(p->muon, &exchange));
  for (PetscInt l = 0; l < p->n; l++) {
    served[l] = -1;
    if (l == FROZEN || l == GAIN) continue;
    served[l] = exchange->everywhere ? -1 : exchange->owner[item];
    item++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckBytes(const char tie[])
{
  const long long entries = ENTRIES;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < NKINDS; k++) {
    const PetscBool direct = strcmp(Kinds[k].type, MUONEXCHANGEREPLICATED) == 0 ? PETSC_TRUE : PETSC_FALSE;
    long long       expected, up, down, planes, served[6];
    MuonTraffic     traffic;
    PetscReal       agreement;
    Problem         p;

    PetscCall(Create(&Kinds[k], tie, PETSC_FALSE, &p));
    mpicount_ignored = PetscObjectComm((PetscObject)p.layer[0].W); /* one rank's */
    planes           = strcmp(tie, "zero") == 0 && p.size % 2 == 0 ? 2 : 1;
    if (strcmp(Kinds[k].type, MUONEXCHANGELAYERWISE) == 0) PetscCall(GetServed(&p, served));
    expected = Bytes(&Kinds[k], entries, planes, p.size, p.rank, served, &up, &down);
    expected = (p.size > 1 || Kinds[k].mode == MUON_EXCHANGE_MODE_ALLREDUCE ? expected : 0) + AGREEMENT_BYTES; /* no rank sends a packet to itself */
    for (PetscInt s = 0; s < 2; s++) {
      mpicount_reset();
      PetscCall(MuonStep(p.muon));
      PetscCall(MuonGetTraffic(p.muon, &traffic));
      PetscCall(MuonSignGetAgreement(p.muon, &agreement));
      PetscCheck(agreement >= 0 && (p.size > 1 ? agreement <= 1 + 100 * PETSC_MACHINE_EPSILON : PetscAbsReal(agreement - 1) <= 4 * PETSC_MACHINE_EPSILON), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Agreement %g of %d workers", (double)agreement, p.size);
      PetscCheck(mpicount.sent == expected && traffic.mpi == (double)mpicount.sent, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %s, rank %d of %d: %lld bytes were sent, %g are said to be, and the formula gives %lld", Kinds[k].type,
                 MuonExchangeModes[Kinds[k].mode], p.rank, p.size, mpicount.sent, traffic.mpi, expected);
      PetscCheck(traffic.up[1] == 8. * (double)up && traffic.down[1] == (direct == PETSC_TRUE ? 0 : 8. * (double)down), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %s: %g bits up and %g down, and the formulas give %g and %g", Kinds[k].type,
                 MuonExchangeModes[Kinds[k].mode], traffic.up[1], traffic.down[1], 8. * (double)up, 8. * (double)down);
      /* The paper's figures: 1 or 8 bits an entry; the root of a tree sends nothing */
      PetscCheck(traffic.up[0] == (double)((up == 0                                         ? 0
                                            : Kinds[k].mode == MUON_EXCHANGE_MODE_ALLREDUCE ? 8
                                                                                            : 1) *
                                           entries) &&
                   traffic.down[0] == (direct == PETSC_TRUE ? 0 : (double)(planes * entries)),
                 PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %s: %g and %g bits by the paper", Kinds[k].type, MuonExchangeModes[Kinds[k].mode], traffic.up[0], traffic.down[0]);
    }
    PetscCall(ProblemDestroy(&p));
    /* With a layer that is averaged beside those that vote all is counted, too */
    PetscCall(Create(&Kinds[k], tie, PETSC_TRUE, &p));
    mpicount_ignored = PetscObjectComm((PetscObject)p.layer[0].W); /* that of before may be a communicator of ours now */
    mpicount_reset();
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonGetTraffic(p.muon, &traffic));
    PetscCheck(traffic.mpi == (double)mpicount.sent && mpicount.sent > expected && traffic.up[0] >= 3 * 32, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s with a mean: %g bytes are said to be sent, %lld were", Kinds[k].type, traffic.mpi, mpicount.sent);
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is promised of ranges, for as many workers as no test has, from layers of a few entries to those of
   large models
*/
static PetscErrorCode CheckBound(void)
{
  static const long long sizes[] = {1, 63, 64, 65, 4097, 1000003, 124000001, 8000000000};

  PetscFunctionBegin;
  for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
    for (long long size = 2; size <= 64; size++) {
      for (long long rank = 0; rank < size; rank++) {
        long long       up, down;
        const long long bytes = Bytes(&Kinds[0], sizes[s], 1, size, rank, NULL, &up, &down);

        PetscCheck((double)bytes <= (1 + 1. / (double)size) * (double)sizes[s] / 8 + 160. * (double)size + 512, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%lld entries, %lld workers: %lld bytes", sizes[s], size, bytes);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckBytes("random"));
  PetscCall(CheckBytes("zero"));
  PetscCall(CheckBound());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the exchanges agree\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 5 8}}
    filter: grep -v "moves each entry on which"
    output_file: output/sign_exchange_1.out

TEST*/
