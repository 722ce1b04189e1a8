static char help[] = "Damages what MPI delivers within whole steps: every rank sees it, nothing has changed, and the step can be taken again.\n\n";

#include "ways.h"
#include <petscmuon/private/muonwire.h>
#include "mpicount.h"

/*
   The damage: one bit of what comes from one sender in the next packet that goes in a direction, on one rank,
   in the receive buffer of MPI
*/
static struct {
  PetscBool armed, down;
  int       sender;
  size_t    byte;
  PetscInt  done;
  Muon      muon;
  int       blamed; /* by the reason of the step */
} damage;

static void Damage(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  /* Packets begin with a magic; what precedes them, and the status reduction, are no packets */
  if (damage.armed == PETSC_FALSE || sender != damage.sender || bytes < MUON_WIRE_PACKET_HEADER || memcmp(data, "PMW1", 4) != 0) return;
  if ((data[6] != 0) != (damage.down == PETSC_TRUE)) return;
  data[damage.byte % bytes] ^= (unsigned char)(1 << (damage.byte * 5 % 8));
  damage.done++;
}

static void Stop(void)
{
  damage.armed  = PETSC_FALSE;
  damage.blamed = damage.muon->failed.rank;
}

/*
   Whether a packet of sender comes to receiver by MPI: nothing goes down where every rank serves, and a rank does
   not read what MPI made of its own. Arrays as they are have no packets: what MPI delivers of them is not checked
*/
static PetscErrorCode Delivers(const Problem *p, const Way *way, PetscBool down, int sender, int receiver, PetscBool *delivers)
{
  const PetscBool packets = down ? (way->lossy[1] || way->steps ? PETSC_TRUE : PETSC_FALSE) : (way->mode == MUON_EXCHANGE_MODE_GATHER ? way->lossy[0] : PETSC_FALSE);

  PetscFunctionBegin;
  *delivers = PETSC_FALSE;
  if (sender == receiver || packets == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (way->replicated) *delivers = down ? PETSC_FALSE : PETSC_TRUE;
  else if (way->star && down) *delivers = sender == 0 ? PETSC_TRUE : PETSC_FALSE;
  else {
    for (PetscInt l = 0; l < p->n; l++) {
      PetscMPIInt owner;

      PetscCall(MuonLayerGetOwner(p->layer[l].layer, &owner));
      if (l != WAYS_FROZEN && owner == (down ? sender : receiver)) *delivers = PETSC_TRUE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  corrupt = 0, number = 0, done;
  PetscBool legal, last         = PETSC_FALSE, delivers;
  Problem   p, q; /* disturbed and not */
  Way       way;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  mpicount_received = Damage;
  for (number = 0; last == PETSC_FALSE; number++) {
    size_t byte = (size_t)number;

    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal == PETSC_FALSE) continue;
    PetscCall(ProblemCreateWith(&p, way.options));
    PetscCall(ProblemCreateWith(&q, way.options));
    /* Each sender and victim, up and down; the step that is lost is the first one, with a dense message under -ef21_init gradient, and later ones */
    for (PetscInt k = 0; k < PetscMax(4, 2 * p.size * p.size); k++) {
      const int sender = (int)(k / 2 % p.size), victim = (int)(k / 2 / p.size % p.size);
      char      what[32];

      damage.sender = sender;
      damage.down   = k % 2 == 1 ? PETSC_TRUE : PETSC_FALSE;
      damage.byte   = byte;
      damage.done   = 0;
      byte += 37; /* headers, messages and padding, in the course of the test */
      damage.armed = p.rank == victim && victim != sender ? PETSC_TRUE : PETSC_FALSE;
      damage.muon  = p.muon;
      PetscCall(Delivers(&p, &way, damage.down, sender, victim, &delivers));
      PetscCall(PetscSNPrintf(what, sizeof(what), "byte %d", (int)damage.byte));
      PetscCall(ProblemDisturbed(&p, &q, &damage.done, Stop, MUON_DIVERGED_CORRUPT, way.options, what, &done));
      PetscCheck(done == (delivers ? 1 : 0), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " packets from %d to %d were damaged", way.options, done, sender, victim);
      PetscCheck(done == 0 || damage.blamed == victim, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the message came to rank %d, and the reason names rank %d", way.options, what, victim, damage.blamed);
      corrupt += done;
    }
    PetscCall(ProblemDestroy(&p));
    PetscCall(ProblemDestroy(&q));
  }
  PetscCheck(corrupt > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Nothing was damaged");
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{2 3}}

TEST*/
