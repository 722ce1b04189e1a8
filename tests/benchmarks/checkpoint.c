static char help[] = "Times saving and loading a checkpoint beside dd with fsync of as many bytes, in the same run.\n\n"
                     "  ./checkpoint -benchmark_divide 1 -benchmark_folder /scratch\n\n";

#include <petscmuon.h>
#include <petsctime.h>
#include "benchmark_common.h"
#include <stdio.h>
#include <stdlib.h>

/* The matrices of the 124M model */
enum {
  VOCABULARY = 50304,
  WIDTH      = 768,
  BLOCKS     = 12,
  MOST       = 21
};

static PetscErrorCode AddLayer(Muon muon, const char name[], PetscInt rows, PetscInt columns)
{
  PetscScalar *w;
  Mat          W;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows, columns, NULL, &W));
  PetscCall(MatDenseGetArrayWrite(W, &w));
  for (PetscInt e = 0; e < rows * columns; e++) w[e] = (PetscScalar)((e * 2654435761u) % 1000003) / 1000003; /* a disk that leaves out zeros has nothing to leave out */
  PetscCall(MatDenseRestoreArrayWrite(W, &w));
  PetscCall(MuonAddLayer(muon, name, W, NULL));
  PetscCall(MatDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateRun(PetscInt divide, Muon *muon)
{
  const PetscInt C = WIDTH / divide;

  PetscFunctionBeginUser;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, muon));
  PetscCall(AddLayer(*muon, "embed", VOCABULARY / divide, C));
  for (PetscInt b = 0; b < BLOCKS; b++) {
    const char *const names[] = {"q", "k", "v", "o", "up", "down"};

    for (PetscInt k = 0; k < 6; k++) {
      char name[32];

      PetscCall(PetscSNPrintf(name, sizeof(name), "h%" PetscInt_FMT ".%s", b, names[k]));
      PetscCall(AddLayer(*muon, name, k == 4 ? 4 * C : C, k == 5 ? 4 * C : C));
    }
  }
  PetscCall(MuonSetFromOptions(*muon));
  PetscCall(MuonSetUp(*muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of the files of the one generation in a folder */
static PetscErrorCode CountBytes(const char folder[], PetscMPIInt ranks, double *bytes)
{
  PetscFunctionBeginUser;
  *bytes = 0;
  for (PetscMPIInt r = 0; r < ranks; r++) {
    char  command[PETSC_MAX_PATH_LEN];
    FILE *pipe;
    long  size = 0;

    PetscCall(PetscSNPrintf(command, sizeof(command), "wc -c %s/step-*/rank-%06d", folder, r));
    pipe = popen(command, "r");
    PetscCheck(pipe != NULL && fscanf(pipe, "%ld", &size) == 1, PETSC_COMM_SELF, PETSC_ERR_SYS, "%s", command);
    (void)pclose(pipe);
    *bytes += (double)size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many MiB of numbers that do not compress, to a file, and one fsync at the end */
static PetscErrorCode CopyWithDD(const char folder[], double bytes, PetscReal *seconds)
{
  PetscMPIInt    rank;
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&start));
  if (rank == 0) {
    char command[3 * PETSC_MAX_PATH_LEN];

    PetscCall(PetscSNPrintf(command, sizeof(command), "dd if=/dev/zero of=%s/dd.bin bs=1048576 count=%ld conv=fsync 2> %s/dd.log", folder, (long)(bytes / 1048576) + 1, folder));
    PetscCheck(system(command) == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "%s", command);
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&end));
  *seconds = (PetscReal)(end - start);
  if (rank == 0) {
    char path[PETSC_MAX_PATH_LEN];

    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/dd.bin", folder));
    (void)remove(path);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char           folder[PETSC_MAX_PATH_LEN] = ".", to[PETSC_MAX_PATH_LEN];
  PetscReal      seconds[3][MOST]; /* of dd, saving, loading */
  PetscLogDouble median[3];
  PetscInt       divide = 1, repetitions = 3;
  PetscMPIInt    size;
  double         bytes = 0;
  Muon           muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of checkpoints", NULL);
  PetscCall(PetscOptionsInt("-benchmark_divide", "What the sides of the layers are divided by", NULL, divide, &divide, NULL));
  PetscCall(PetscOptionsInt("-benchmark_repetitions", "Runs of which the median is taken", NULL, repetitions, &repetitions, NULL));
  PetscCall(PetscOptionsString("-benchmark_folder", "Where the files are written", NULL, folder, folder, sizeof(folder), NULL));
  PetscOptionsEnd();
  PetscCheck(divide >= 1 && WIDTH % divide == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_divide %" PetscInt_FMT ": expected a divisor of %d", divide, (int)WIDTH);
  PetscCheck(repetitions >= 1 && repetitions <= MOST, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_repetitions %" PetscInt_FMT ": expected 1 to %d", repetitions, (int)MOST);
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateRun(divide, &muon));
  PetscCall(PetscSNPrintf(to, sizeof(to), "%s/checkpoints", folder));
  /* One after the other, so that what else the machine does meets all alike */
  for (PetscInt r = 0; r < repetitions; r++) {
    PetscLogDouble start, end;

    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&start));
    PetscCall(MuonSaveCheckpoint(muon, to, 1));
    PetscCall(PetscTime(&end));
    seconds[1][r] = (PetscReal)(end - start);
    PetscCall(CountBytes(to, size, &bytes));
    PetscCall(PetscTime(&start));
    PetscCall(MuonLoadCheckpoint(muon, to));
    PetscCall(PetscTime(&end));
    seconds[2][r] = (PetscReal)(end - start);
    PetscCall(CopyWithDD(folder, bytes, &seconds[0][r]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "what    seconds      MB/s  over dd\n"));
  for (int k = 0; k < 3; k++) {
    const char *const what[] = {"dd", "save", "load"};

    PetscCall(Median(repetitions, seconds[k], &median[k]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-6s %8.3f  %8.1f %8.2f\n", what[k], median[k], bytes / 1e6 / median[k], median[k] / median[0]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f MB of state and weights, %d ranks, medians of %" PetscInt_FMT "; the aim is that saving takes at most 2 times what dd takes\n", bytes / 1e6, size, repetitions));
  PetscCall(MuonDestroy(&muon));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 2
    args: -benchmark_divide 64 -benchmark_repetitions 1
    # the rows that there are; what they say is the machine's
    filter: sed -n "/^what/,/^load/p" | cut -d " " -f 1

TEST*/
