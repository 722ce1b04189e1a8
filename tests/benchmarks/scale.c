static char help[] = "How cost grows: seconds of set-up and of a step, bytes, messages and memory of the rank that has most, against workers, ranks of a worker, layers and width, with fitted exponents.\n\n"
                     "  mpiexec -n 16 ./scale -benchmark_layers 10,100,1000,10000,100000 -benchmark_widths 256,512,1024,2048,4096,8192\n\n"
                     "Seconds are of a rank's processor time, so that ranks may be more than cores. Options of the optimizer change what is timed: -muon_type ef21 -ef21_compressor topk.\n\n";

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
static PetscErrorCode Steps(Muon muon, PetscInt steps, PetscLogDouble cost[COSTS])
{
  MuonTraffic        traffic;
  PetscEventPerfInfo before, after;
  PetscLogDouble     memory[3], start, now;

  PetscFunctionBeginUser;
  /* The first step allocates and is left out */
  for (PetscInt s = 0; s <= steps; s++) {
    unsigned long long state = 1;

    PetscCall(FillGradients(muon, &state));
    PetscCall(ReadEvent("MuonStep", &before));
    PetscCall(Now(&start));
    PetscCall(StepOnce(muon));
    PetscCall(Now(&now));
    PetscCall(ReadEvent("MuonStep", &after));
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
static PetscErrorCode Measure(const PetscInt extent[AXES], PetscInt steps, PetscLogDouble cost[COSTS])
{
  const PetscInt ranks = extent[WORKERS] * extent[RANKS];
  MPI_Comm       comm, worker;
  Muon           muon;
  Mat           *W;
  PetscLogDouble start;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < ranks ? 0 : 1, rank, &comm));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < ranks ? rank / (PetscMPIInt)extent[RANKS] : MPI_UNDEFINED, rank, &worker));
  PetscCall(PetscArrayzero(cost, COSTS));
  if (rank < ranks) {
    PetscCall(MatsCreate(worker, extent[LAYERS], extent[WIDTH], &W));
    PetscCallMPI(MPI_Barrier(comm));
    PetscCall(Now(&start));
    PetscCall(MuonOfMats(comm, extent[LAYERS], W, &muon));
    PetscCall(MuonSetFromOptions(muon));
    PetscCall(MuonSetUp(muon));
    PetscCall(Now(&cost[SETUP]));
    cost[SETUP] -= start;
    PetscCall(Steps(muon, steps, cost));
    PetscCall(MuonDestroy(&muon));
    PetscCall(MatsDestroy(extent[LAYERS], &W));
    PetscCallMPI(MPI_Comm_free(&worker));
  }
  PetscCallMPI(MPI_Comm_free(&comm));
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
  Print("%-18s", Axes[axis]);
  for (int k = 0; k < COSTS; k++) Print(" %11s", Costs[k]);
  for (PetscInt a = 0; a < AXES; a++) {
    if (a != (PetscInt)axis) Print("  %s %" PetscInt_FMT, Axes[a], Others[axis][a]);
  }
  Print("\n");
  for (PetscInt i = 0; i < n; i++) {
    PetscInt extent[AXES];

    PetscCall(PetscArraycpy(extent, Others[axis], AXES));
    extent[axis] = x[i];
    PetscCall(Measure(extent, steps, cost[i]));
    Print("%-18" PetscInt_FMT " %11.4g %11.4g %11.4g %11.4g %11.4g\n", x[i], cost[i][SETUP], cost[i][STEP], cost[i][BYTES], cost[i][MESSAGES], cost[i][MEMORY]);
  }
  Print("%-18s", "exponent");
  for (int k = 0; k < COSTS; k++) Print(" %11.2f", Exponent(n, x, (const PetscLogDouble(*)[COSTS])cost, (Cost)k));
  Print("\n\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  layers[16] = {10, 100, 1000}, widths[16] = {64, 128, 256, 512}, ranks[16], nlayers = 16, nwidths = 16, nranks = 0, steps = 2;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(BenchmarkInitialize(&argc, &argv, help));
  ticks = CLOCK_OF_CPU;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of how cost grows", NULL);
  PetscCall(PetscOptionsIntArray("-benchmark_layers", "Numbers of layers, increasing", NULL, layers, &nlayers, &set));
  if (!set) nlayers = 3;
  PetscCall(PetscOptionsIntArray("-benchmark_widths", "Widths, increasing", NULL, widths, &nwidths, &set));
  if (!set) nwidths = 4;
  OptionCount("-benchmark_steps", "Steps that are timed", steps);
  PetscOptionsEnd();
  for (PetscInt r = 1; r <= size && nranks < 16; r *= 2) ranks[nranks++] = r;
  Print("of the rank that has most; seconds of processor time, bytes of a step's messages and of state and scratch; exponents of the larger half\n");
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
