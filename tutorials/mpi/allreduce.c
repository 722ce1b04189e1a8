static char help[] = "A training step without a server: every rank gets the sum of the gradients and takes the whole step by itself.\n\n";

#include "step.h"

int main(int argc, char **argv)
{
  PetscScalar w[ENTRIES] = {0}, g[ENTRIES], sum[ENTRIES];
  PetscMPIInt size, rank;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRanks(&size, &rank));

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "by hand\n"));
  CountBegin(MPI_COMM_NULL);
  for (PetscInt l = 0; l < LAYERS; l++) {
    Gradient(rank, l, w + begin[l], g + begin[l]);
    PetscCallMPI(MPI_Allreduce(g + begin[l], sum + begin[l], begin[l + 1] - begin[l], MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    Move(l, sum + begin[l], w + begin[l]);
  }
  CountEnd();

  PetscCall(CompareWithOurs("-muon_type dense -lmo_type frobenius -muon_exchange_type replicated -muon_exchange_mode allreduce", PETSC_FALSE, w));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | requires | output_file
    # PETSc with debugging checks arguments by calls of its own
    text  | 3 | double !debug | README.md
    ranks | 4 |               |

TEST*/
