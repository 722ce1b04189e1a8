static char help[] = "A training step of one-bit votes: every rank sends the signs of its gradient, and all move by the sign that most have.\n\n";

#include "step.h"

enum {
  BYTES = (ENTRIES + 7) / 8
};

int main(int argc, char **argv)
{
  PetscScalar   w[ENTRIES]  = {0}, g[ENTRIES];
  unsigned char mine[BYTES] = {0}, *all;
  PetscMPIInt   size, rank;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRanks(&size, &rank));
  PetscCall(PetscMalloc1(BYTES * size, &all));

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "by hand\n"));
  CountBegin(MPI_COMM_NULL);
  for (PetscInt l = 0; l < LAYERS; l++) Gradient(rank, l, w + begin[l], g + begin[l]);
  for (int i = 0; i < ENTRIES; i++) mine[i / 8] |= (unsigned char)((PetscRealPart(g[i]) >= 0) << i % 8);
  PetscCallMPI(MPI_Allgather(mine, BYTES, MPI_BYTE, all, BYTES, MPI_BYTE, PETSC_COMM_WORLD));
  for (int i = 0; i < ENTRIES; i++) {
    int votes = 0;

    for (PetscMPIInt r = 0; r < size; r++) votes += all[r * BYTES + i / 8] >> i % 8 & 1;
    if (2 * votes != size) w[i] -= 2 * votes > size ? RATE : -RATE; /* a tie moves nothing */
  }
  CountEnd();

  PetscCall(CompareWithOurs("-muon_type sign -sign_direction gradient -muon_exchange_type replicated", PETSC_FALSE, w));
  PetscCall(PetscFree(all));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | requires | output_file
    # PETSc with debugging checks arguments by calls of its own
    text  | 3 | double !debug | README.md
    ranks | 4 |               |

TEST*/
