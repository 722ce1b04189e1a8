static char help[] = "A training step that sums the gradients of some layers while it computes those of others, by nonblocking calls.\n\n"
                     "  mpiexec -n 3 ./overlap -overlap_work 2500 -overlap_time     how long a step takes with and without overlap and progress\n\n";

#define TALLER 8 /* what is small travels together, and waits for the last of them */
#include "step.h"
#include <petsctime.h>

typedef enum {
  BLOCKING,
  NONBLOCKING,
  PROGRESS
} Way;

/*
   The gradient of a layer, work times over, as one that takes time. MPI may move messages only inside its own
   calls: in the way PROGRESS there are some
*/
static PetscErrorCode WorkOn(PetscMPIInt rank, PetscInt l, PetscInt work, Way way, int n, MPI_Request requests[], const PetscScalar w[], PetscScalar g[])
{
  int done;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < work; i++) {
    Gradient(rank, l, w + begin[l], g + begin[l]);
    if (way == PROGRESS && i % 16 == 0) PetscCallMPI(MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step; begun are the sums that had begun when the last gradient was computed */
static PetscErrorCode Step(PetscMPIInt rank, PetscInt work, Way way, PetscScalar w[], int *begun)
{
  PetscScalar g[ENTRIES], sum[ENTRIES];
  MPI_Request requests[LAYERS];
  int         n = 0;

  PetscFunctionBeginUser;
  for (PetscInt l = LAYERS - 1; l >= 0; l--) {
    *begun = CountCalls("MPI_Iallreduce");
    PetscCall(WorkOn(rank, l, work, way, n, requests, w, g));
    PetscCallMPI(MPI_Iallreduce(g + begin[l], sum + begin[l], begin[l + 1] - begin[l], MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD, &requests[n++]));
    if (way == BLOCKING) PetscCallMPI(MPI_Wait(&requests[n - 1], MPI_STATUS_IGNORE));
  }
  PetscCallMPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
  for (PetscInt l = 0; l < LAYERS; l++) Move(l, sum + begin[l], w + begin[l]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const names[]    = {"blocking", "nonblocking", "nonblocking with progress"};
  PetscScalar       w[ENTRIES] = {0};
  PetscInt          work       = 1;
  PetscBool         times      = PETSC_FALSE;
  PetscMPIInt       size, rank;
  int               begun;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(GetRanks(&size, &rank));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-overlap_work", &work, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-overlap_time", &times, NULL));
  for (int way = 0; way < 3 && times; way++) {
    PetscScalar    v[ENTRIES] = {0};
    PetscLogDouble start, end;

    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&start));
    PetscCall(Step(rank, work, (Way)way, v, &begun));
    PetscCall(PetscTime(&end));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-26s %8.4f s\n", names[way], end - start));
  }

  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "by hand\n"));
  CountBegin(MPI_COMM_NULL);
  PetscCall(Step(rank, work, PROGRESS, w, &begun));
  CountEnd();
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  sums begun before the last gradient: %d\n", begun));

  PetscCall(CompareWithOurs("-muon_type dense -lmo_type frobenius -muon_exchange_type replicated -muon_exchange_mode allreduce", PETSC_TRUE, w));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | requires | output_file
    # PETSc with debugging checks arguments by calls of its own
    text  | 3 | double !debug | README.md
    ranks | 4 |               |

TEST*/
