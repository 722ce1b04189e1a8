static char help[] = "A training step with an owner for each layer, who gets the sum of its gradients, takes its step and sends its weights to all: the two halves of an all-reduce, with the work between them.\n\n";

#include "step.h"

int main(int argc, char **argv)
{
  PetscScalar w[ENTRIES] = {0}, g[ENTRIES], sum[ENTRIES];
  int         counts[MAXRANKS], starts[MAXRANKS];
  PetscMPIInt size, rank;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRanks(&size, &rank));
  Ranges(size, counts, starts);

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "by hand\n"));
  CountBegin(MPI_COMM_NULL);
  for (PetscInt l = 0; l < LAYERS; l++) Gradient(rank, l, w + begin[l], g + begin[l]);
  PetscCallMPI(MPI_Reduce_scatter(g, sum + starts[rank], counts, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  for (PetscInt l = 0; l < LAYERS; l++) {
    if (Owner(l, size) == rank) Move(l, sum + begin[l], w + begin[l]);
  }
  PetscCallMPI(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, w, counts, starts, MPIU_SCALAR, PETSC_COMM_WORLD));
  CountEnd();

  PetscCall(CompareWithOurs("-muon_type dense -lmo_type frobenius -muon_exchange_type layerwise -muon_exchange_mode reduce", PETSC_FALSE, w));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | requires | output_file
    # PETSc with debugging checks arguments by calls of its own
    text  | 3 | double !debug | README.md
    ranks | 4 |               |

TEST*/
