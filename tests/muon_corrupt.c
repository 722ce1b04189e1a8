static char help[] = "Damages what MPI delivers within whole steps: every rank sees it, nothing has changed, and the step can be taken again.\n\n";

#include "ways.h"
#include <petscmuon/private/muonwire.h>
#include "mpicount.h"

/* The damage: one bit of a packet that this rank gets in the next step, in the receive buffer of MPI */
static struct {
  PetscBool armed;
  PetscInt  skip, done; /* skip: packets that come before it */
  size_t    bit;
  Muon      muon;
  int       blamed; /* by the reason of the step */
} damage;

static void Damage(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  int rank;

  (void)PMPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  /* Packets begin with a magic; what precedes them, and the status reduction, are no packets. A rank does not read what MPI made of its own */
  if (damage.armed == PETSC_FALSE || sender == rank || bytes < MUON_WIRE_PACKET_HEADER || memcmp(data, "PMW1", 4) != 0 || damage.skip-- > 0) return;
  data[damage.bit / 8 % bytes] ^= (unsigned char)(1 << damage.bit % 8);
  damage.armed = PETSC_FALSE;
  damage.done++;
}

static void Stop(void)
{
  damage.armed  = PETSC_FALSE;
  damage.blamed = damage.muon->failed.rank;
}

/*
   Packets that come to all ranks by MPI in a step: nothing goes down where every rank serves. Arrays as they are have no packets: what MPI
   delivers of them is not checked
*/
static PetscErrorCode Packets(const Problem *p, const Way *way, PetscInt *count)
{
  const PetscInt others    = p->size - 1;
  PetscInt       servers   = 0;
  PetscBool      serves[8] = {PETSC_FALSE};

  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n; l++) {
    PetscMPIInt owner;

    PetscCall(MuonLayerGetOwner(p->layer[l].layer, &owner));
    if (l == WAYS_FROZEN || owner < 0 || serves[owner]) continue;
    serves[owner] = PETSC_TRUE;
    servers++;
  }
  *count = 0;
  if (way->mode == MUON_EXCHANGE_MODE_GATHER && way->lossy[0]) *count += others * (way->replicated ? p->size : servers);
  if ((way->lossy[1] || way->steps) && way->replicated == PETSC_FALSE) *count += others * servers;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Each packet that a rank gets in a step is damaged in its turn, in headers, messages and padding. way is NULL for votes, of which there
   are some. The first step is lost, too, with a dense message under -ef21_init gradient
*/
static PetscErrorCode CheckDamage(const char options[], const Way *way, PetscInt *total)
{
  static size_t bit     = 17;
  PetscInt      packets = 0, expected = 1;
  Problem       p, q; /* disturbed and not */

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "%s", options));
  PetscCall(ProblemCreateWith(&q, "%s", options));
  damage.muon = p.muon;
  for (PetscInt skip = 0, hits = 1; hits > 0; skip++) {
    hits = 0;
    for (PetscMPIInt victim = 0; victim < p.size; victim++, bit += 8 * 37 + 5) {
      PetscInt hit;
      char     what[48];

      damage.armed = p.rank == victim ? PETSC_TRUE : PETSC_FALSE;
      damage.skip  = skip;
      damage.bit   = bit;
      damage.done  = 0;
      PetscCall(PetscSNPrintf(what, sizeof(what), "packet %d of rank %d", (int)skip, victim));
      PetscCall(ProblemDisturbed(&p, &q, &damage.done, Stop, MUON_DIVERGED_CORRUPT, options, what, &hit));
      /* In a tree of sums the one above fails, too, and has a lower number */
      PetscCheck(hit == 0 || damage.blamed == victim || (way == NULL && damage.blamed < victim), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the reason names rank %d", options, what, damage.blamed);
      hits += hit;
    }
    packets += hits;
  }
  if (way != NULL) PetscCall(Packets(&p, way, &expected));
  PetscCheck(way != NULL ? packets == expected : packets > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " packets were damaged, expected %" PetscInt_FMT, options, packets, expected);
  *total += packets;
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* The first is what a user gets with more than two workers; sums have no packets */
  static const char *const votes[] = {"range -muon_exchange_mode gather", "replicated -muon_exchange_mode gather", "star -muon_exchange_mode gather", "star -muon_exchange_mode reduce", "layerwise -muon_exchange_mode gather"};
  PetscInt                 total   = 0;
  PetscBool                legal, last = PETSC_FALSE, sign;
  Way                      way;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-votes", &sign));
  mpicount_received = Damage;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(votes) && sign; k++) {
    char options[256];

    PetscCall(PetscSNPrintf(options, sizeof(options),
                            "-muon_type sign -lmo_type spectral -sign_direction momentum -sign_tie zero -sign_update frobenius -muon_layer_square_blocks_rows 3,3 -muon_layer_types wide:frozen,gain:adamw -muon_exchange_type %s", votes[k]));
    PetscCall(CheckDamage(options, NULL, &total));
  }
  for (PetscInt number = 0; last == PETSC_FALSE && !sign; number++) {
    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal) PetscCall(CheckDamage(way.options, &way, &total));
  }
  PetscCheck(total >= 10, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Only %" PetscInt_FMT " packets were damaged", total);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | args
    ways  | {{2 3}}   |
    votes | {{2 3 5}} | -votes

TEST*/
