static char help[] = "A training step with a parameter server: every rank sends its gradients to rank 0, which takes the step and sends the weights to all.\n\n";

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
    const int n = begin[l + 1] - begin[l];

    Gradient(rank, l, w + begin[l], g + begin[l]);
    PetscCallMPI(MPI_Reduce(g + begin[l], sum + begin[l], n, MPIU_SCALAR, MPIU_SUM, 0, PETSC_COMM_WORLD));
    if (rank == 0) Move(l, sum + begin[l], w + begin[l]);
    PetscCallMPI(MPI_Bcast(w + begin[l], n, MPIU_SCALAR, 0, PETSC_COMM_WORLD));
  }
  CountEnd();

  PetscCall(CompareWithOurs("-muon_type dense -lmo_type frobenius -muon_exchange_type star -muon_exchange_mode reduce", PETSC_FALSE, w));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | requires | output_file
    # PETSc with debugging checks arguments by calls of its own
    text  | 3 | double !debug | README.md
    ranks | 4 |               |

TEST*/
