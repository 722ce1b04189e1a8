static char help[] = "Damages what MPI delivers within whole steps: every rank sees it, nothing has changed, and the step can be taken again.\n\n";

#include "muon_common.h"
#include <petscmuon/private/muonimpl.h>
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
} damage;

static void Damage(MPICountKind kind, int sender, unsigned char *data, size_t bytes)
{
  /* Packets begin with a magic; what precedes them, and the status reduction, are no packets */
  if (damage.armed == PETSC_FALSE || sender != damage.sender || bytes < MUON_WIRE_PACKET_HEADER || memcmp(data, "PMW1", 4) != 0) return;
  if ((data[6] != 0) != (damage.down == PETSC_TRUE)) return;
  data[damage.byte % bytes] ^= (unsigned char)(1 << (damage.byte * 5 % 8));
  damage.done++;
}

static PetscErrorCode SumDone(PetscInt *done)
{
  PetscFunctionBegin;
  PetscCallMPI(PMPI_Allreduce(&damage.done, done, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a packet of sender comes to receiver by MPI: nothing goes down where every rank serves, and nobody
   reads what MPI made of his own. Arrays as they are have no packets: what MPI delivers of them is not checked
*/
static PetscErrorCode Delivers(Problem *p, const Way *way, PetscBool down, int sender, int receiver, PetscBool *delivers)
{
  const PetscBool star = strcmp(way->exchange, MUONEXCHANGESTAR) == 0 ? PETSC_TRUE : PETSC_FALSE, replicated = strcmp(way->exchange, MUONEXCHANGEREPLICATED) == 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  *delivers = PETSC_FALSE;
  if (sender == receiver || (down == PETSC_FALSE && way->mode != MUON_EXCHANGE_MODE_GATHER) || CompressionIsNone(way->compression, down ? 1 : 0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (replicated == PETSC_TRUE) *delivers = down == PETSC_TRUE ? PETSC_FALSE : PETSC_TRUE;
  else if (star == PETSC_TRUE && down == PETSC_TRUE) *delivers = sender == 0 ? PETSC_TRUE : PETSC_FALSE;
  else {
    for (PetscInt l = 0; l < NLAYERS; l++) {
      PetscMPIInt owner;

      PetscCall(MuonLayerGetOwner(p->layer[l], &owner));
      if (strcmp(Shapes[l].type, MUONLAYERFROZEN) != 0 && owner == (down == PETSC_TRUE ? sender : receiver)) *delivers = PETSC_TRUE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  corrupt = 0, number = 0, done, steps;
  PetscBool legal, last         = PETSC_FALSE, delivers;
  Problem   p, q; /* disturbed and not */
  State     before, after, expected;
  Way       way;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  mpicount_received = Damage;
  for (number = 0; last == PETSC_FALSE; number++) {
    size_t byte = (size_t)number;

    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal == PETSC_FALSE) continue;
    PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &p));
    PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &q));
    PetscCall(MuonSetUp(p.muon));
    PetscCall(MuonSetUp(q.muon));
    steps = 0;
    /*
       Each sender and victim, up and down; the step that is lost is the first one, with a dense message under
       -ef21_init gradient, and later ones
    */
    for (PetscInt k = 0; k < PetscMax(4, 2 * p.size * p.size); k++) {
      const int           sender = (int)(k / 2 % p.size), victim = (int)(k / 2 / p.size % p.size);
      MuonConvergedReason reason;

      damage.sender = sender;
      damage.down   = k % 2 == 1 ? PETSC_TRUE : PETSC_FALSE;
      damage.byte   = byte;
      damage.done   = 0;
      byte += 37; /* headers, messages and padding, in the course of the test */
      PetscCall(StateTake(&p, &before));
      damage.armed = p.rank == victim && victim != sender ? PETSC_TRUE : PETSC_FALSE;
      PetscCall(MuonStep(p.muon));
      damage.armed = PETSC_FALSE;
      PetscCall(SumDone(&done));
      PetscCall(Delivers(&p, &way, damage.down, sender, victim, &delivers));
      PetscCheck(done == (delivers == PETSC_TRUE ? 1 : 0), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " packets from %d to %d were damaged", way.name, done, sender, victim);
      PetscCall(MuonGetConvergedReason(p.muon, &reason));
      PetscCheck(reason == (done > 0 ? MUON_DIVERGED_CORRUPT : MUON_CONVERGED_ITERATING), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, byte %d: %s", way.name, (int)damage.byte, MuonConvergedReasons[reason]);
      if (done > 0) {
        corrupt++;
        PetscCheck(p.muon->failed.rank == victim, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, byte %d: the message came to rank %d, and the reason names rank %d", way.name, (int)damage.byte, victim, p.muon->failed.rank);
        PetscCall(StateTake(&p, &after));
        PetscCheck(StateIsSame(&before, &after) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, byte %d: a step that failed left its traces", way.name, (int)damage.byte);
        PetscCall(StateFree(&after));
        PetscCall(MuonStep(p.muon));
        PetscCall(MuonGetConvergedReason(p.muon, &reason));
        PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step after: %s", way.name, MuonConvergedReasons[reason]);
      }
      PetscCall(StateFree(&before));
      PetscCall(MuonStep(q.muon));
      steps++;
      PetscCall(StateTake(&p, &after));
      PetscCall(StateTake(&q, &expected));
      PetscCheck(StateIsSame(&after, &expected) == PETSC_TRUE && expected.step == steps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, byte %d: the next step differs from that of a run without damage", way.name, (int)damage.byte);
      PetscCall(StateFree(&after));
      PetscCall(StateFree(&expected));
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
