static char help[] = "How cost grows: seconds of set-up and of a step, bytes, messages and memory of the rank that has most, against workers, ranks of a worker, layers and width, with fitted exponents.\n\n"
                     "  mpiexec -n 16 ./scale -benchmark_layers 10,100,1000,10000,100000 -benchmark_widths 256,512,1024,2048,4096,8192\n\n"
                     "Seconds are of a rank's processor time, so that ranks may be more than cores. Options of the optimizer change what is timed: -muon_type ef21 -ef21_compressor topk.\n\n";

#include <petscmuon.h>
#include "benchmark_common.h"
#include <math.h>

typedef enum {
  SETUP,
  STEP,
  BYTES,
  MESSAGES,
  MEMORY,
  COSTS
} Cost;
static const char *const Costs[] = {"set-up s", "step s", "bytes", "messages", "memory"};

/* What grows, and what all else is then */
typedef enum {
  WORKERS,
  RANKS,
  LAYERS,
  WIDTH,
  AXES
} Axis;
static const char *const Axes[]             = {"workers", "ranks of a worker", "layers", "width"};
static const PetscInt    Others[AXES][AXES] = {{0, 1, 12, 128}, {1, 0, 12, 256}, {1, 1, 0, 8}, {1, 1, 1, 0}};

/* The same numbers in the gradients of all runs, other ones in each layer */
static PetscErrorCode FillMatrix(Mat A, PetscInt layer)
{
  PetscScalar       *a;
  PetscInt           m, n, lda;
  unsigned long long state = (unsigned long long)layer + 1;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArrayWrite(A, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) {
      state          = state * 6364136223846793005ULL + 1442695040888963407ULL;
      a[i + j * lda] = (PetscScalar)(state >> 40) / 16777216 - (PetscScalar)0.5;
    }
  }
  PetscCall(MatDenseRestoreArrayWrite(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(Muon muon, PetscInt layers, PetscInt steps, PetscLogDouble cost[COSTS])
{
  MuonTraffic         traffic;
  MuonConvergedReason reason;
  PetscLogEvent       event;
  PetscEventPerfInfo  before, after;
  PetscLogDouble      memory[3], start, now;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId("MuonStep", &event));
  cost[STEP] = 0;
  /* The first step allocates and is left out */
  for (PetscInt s = 0; s <= steps; s++) {
    for (PetscInt l = 0; l < layers; l++) {
      MuonLayer layer;
      Mat       G;

      PetscCall(MuonGetLayer(muon, l, &layer));
      PetscCall(MuonLayerGetGradient(layer, &G));
      PetscCall(FillMatrix(G, l));
    }
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &before));
    PetscCall(Now(&start));
    PetscCall(MuonStep(muon));
    PetscCall(Now(&now));
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &after));
    PetscCall(MuonGetConvergedReason(muon, &reason));
    PetscCheck(reason >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_NOT_CONVERGED, "Step %" PetscInt_FMT ": %s", s, MuonConvergedReasons[reason]);
    if (s > 0) cost[STEP] += (now - start) / (PetscLogDouble)steps;
  }
  PetscCall(MuonGetTraffic(muon, &traffic));
  PetscCall(MuonGetMemory(muon, &memory[0], &memory[1], &memory[2]));
  cost[BYTES]    = traffic.mpi - traffic.own;
  cost[MESSAGES] = after.numMessages - before.numMessages;
  cost[MEMORY]   = memory[0] + memory[1] + memory[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the first ranks, of so many workers; the others wait */
static PetscErrorCode Measure(const PetscInt size[AXES], PetscInt steps, PetscLogDouble cost[COSTS])
{
  const PetscInt ranks = size[WORKERS] * size[RANKS];
  MPI_Comm       comm, worker;
  PetscMPIInt    rank;
  Muon           muon;
  Mat           *W;
  PetscLogDouble start;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < ranks ? 0 : 1, rank, &comm));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < ranks ? rank / (PetscMPIInt)size[RANKS] : MPI_UNDEFINED, rank, &worker));
  PetscCall(PetscArrayzero(cost, COSTS));
  if (rank < ranks) {
    PetscCall(PetscMalloc1(size[LAYERS], &W));
    for (PetscInt l = 0; l < size[LAYERS]; l++) {
      PetscCall(MatCreateDense(worker, PETSC_DECIDE, PETSC_DECIDE, size[WIDTH], size[WIDTH], NULL, &W[l]));
      PetscCall(MatSetOptionsPrefix(W[l], "weights_"));
    }
    PetscCallMPI(MPI_Barrier(comm));
    PetscCall(Now(&start));
    PetscCall(MuonCreate(comm, &muon));
    PetscCall(MuonSetLearningRate(muon, (PetscReal)1e-3));
    for (PetscInt l = 0; l < size[LAYERS]; l++) {
      char name[32];

      PetscCall(PetscSNPrintf(name, sizeof(name), "l%" PetscInt_FMT, l));
      PetscCall(MuonAddLayer(muon, name, W[l], NULL));
    }
    PetscCall(MuonSetFromOptions(muon));
    PetscCall(MuonSetUp(muon));
    PetscCall(Now(&cost[SETUP]));
    cost[SETUP] -= start;
    PetscCall(Steps(muon, size[LAYERS], steps, cost));
    PetscCall(MuonDestroy(&muon));
    for (PetscInt l = 0; l < size[LAYERS]; l++) PetscCall(MatDestroy(&W[l]));
    PetscCall(PetscFree(W));
  }
  PetscCallMPI(MPI_Comm_free(&comm));
  if (worker != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&worker));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, cost, COSTS, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The exponent of y = c x^exponent by least squares of logarithms, of the upper half of the points, where constants weigh less; NaN where nothing grows */
static double Exponent(PetscInt n, const PetscInt x[], const PetscLogDouble cost[][COSTS], Cost k)
{
  double sx = 0, sy = 0, sxx = 0, sxy = 0, points = 0;

  for (PetscInt i = n / 2 > 0 && n > 3 ? n / 2 - 1 : 0; i < n; i++) {
    const double lx = log((double)x[i]), ly = log(PetscMax(cost[i][k], 1e-9));

    if (cost[i][k] <= 0) continue;
    points++;
    sx += lx;
    sy += ly;
    sxx += lx * lx;
    sxy += lx * ly;
  }
  return points < 2 ? NAN : (points * sxy - sx * sy) / (points * sxx - sx * sx);
}

static PetscErrorCode Grow(Axis axis, PetscInt n, const PetscInt x[], PetscInt steps)
{
  PetscLogDouble cost[16][COSTS];

  PetscFunctionBeginUser;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s", Axes[axis]));
  for (int k = 0; k < COSTS; k++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %11s", Costs[k]));
  for (PetscInt a = 0; a < AXES; a++) {
    if (a != (PetscInt)axis) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s %" PetscInt_FMT, Axes[a], Others[axis][a]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  for (PetscInt i = 0; i < n; i++) {
    PetscInt size[AXES];

    PetscCall(PetscArraycpy(size, Others[axis], AXES));
    size[axis] = x[i];
    PetscCall(Measure(size, steps, cost[i]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18" PetscInt_FMT " %11.4g %11.4g %11.4g %11.4g %11.4g\n", x[i], cost[i][SETUP], cost[i][STEP], cost[i][BYTES], cost[i][MESSAGES], cost[i][MEMORY]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-18s", "exponent"));
  for (int k = 0; k < COSTS; k++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %11.2f", Exponent(n, x, (const PetscLogDouble(*)[COSTS])cost, (Cost)k)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    layers[16] = {10, 100, 1000}, widths[16] = {64, 128, 256, 512}, ranks[16], nlayers = 16, nwidths = 16, nranks = 0, steps = 2;
  PetscMPIInt size;
  PetscBool   set;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  ticks = CLOCK_OF_CPU;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of how cost grows", NULL);
  PetscCall(PetscOptionsIntArray("-benchmark_layers", "Numbers of layers, increasing", NULL, layers, &nlayers, &set));
  if (!set) nlayers = 3;
  PetscCall(PetscOptionsIntArray("-benchmark_widths", "Widths, increasing", NULL, widths, &nwidths, &set));
  if (!set) nwidths = 4;
  PetscCall(PetscOptionsInt("-benchmark_steps", "Steps that are timed", NULL, steps, &steps, NULL));
  PetscOptionsEnd();
  PetscCheck(steps >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_steps %" PetscInt_FMT ": expected at least 1", steps);
  for (PetscInt r = 1; r <= size && nranks < 16; r *= 2) ranks[nranks++] = r;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "of the rank that has most; seconds of processor time, bytes of a step's messages and of state and scratch; exponents of the larger half\n"));
  PetscCall(Grow(WORKERS, size > 1 ? nranks : 0, ranks, steps));
  PetscCall(Grow(RANKS, size > 1 ? nranks : 0, ranks, steps));
  PetscCall(Grow(LAYERS, nlayers, layers, steps));
  PetscCall(Grow(WIDTH, nwidths, widths, steps));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # Times and memory are the build's; bytes and messages are not
  test:
    nsize: {{1 4}separate output}
    requires: double
    args: -benchmark_layers 2,20 -benchmark_widths 8,16 -benchmark_steps 1
    filter: grep -v "^of the rank" | cut -c 1-18,43-66

  test:
    suffix: none
    args: -benchmark_steps 0
    error: -benchmark_steps 0: expected at least 1

TEST*/
