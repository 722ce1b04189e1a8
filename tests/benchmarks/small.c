static char help[] = "Microseconds a matrix of a whole step with many small layers, as networks in scientific codes have them, beside the time that the counted products of the LMO take at the rate of products of that size in the same run.\n\n"
                     "  ./small\n"
                     "  mpiexec -n 2 ./small -benchmark_layers 9 -benchmark_widths 50 -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd\n\n"
                     "The gradient is not timed. The rate is that of products in the precision of the polar factors, of matrices that stay in the caches. Messages are those that a rank sends and receives in a step.\n\n";

#include <petscmuon/private/muonpolarimpl.h>
#include <petscmuon.h>
#include "benchmark_common.h"

#define REPETITIONS 3

typedef struct {
  PetscReal      step, limit; /* microseconds a matrix */
  PetscLogDouble messages;    /* of the rank that has most */
} Cost;

/* Numbers of about one, others in each layer and step */
static PetscErrorCode FillGradients(Muon muon, PetscInt layers, PetscInt n, unsigned long long *state)
{
  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < layers; l++) {
    MuonLayer    layer;
    Mat          G;
    PetscScalar *g;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetGradient(layer, &G));
    PetscCall(MatDenseGetArrayWrite(G, &g));
    for (PetscInt e = 0; e < n * n; e++) {
      *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
      g[e]   = (PetscScalar)(*state >> 40) / 8388608 - 1;
    }
    PetscCall(MatDenseRestoreArrayWrite(G, &g));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations of a polar factor over the rate of products of this size, better of before and after the steps */
static PetscErrorCode MeasureLimit(Muon muon, PetscInt n, PetscReal *limit)
{
  MuonLayer          layer;
  MuonLMO            lmo;
  MuonPolar          polar;
  MuonPolarPrecision precision;
  PetscLogDouble     flops, rate;

  PetscFunctionBeginUser;
  PetscCall(MuonGetLayer(muon, 0, &layer));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCall(MuonPolarGetFlops(polar, n, n, &flops));
  PetscCall(MeasureProducts(Gemm, precision == MUON_POLAR_PRECISION_DOUBLE ? sizeof(double) : sizeof(float), n, n, n, REPETITIONS, &rate));
  *limit = PetscMin(*limit, (PetscReal)(1e6 * flops / rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Measure(PetscInt n, PetscInt layers, PetscInt steps, Cost *cost)
{
  unsigned long long  state = 1;
  PetscMPIInt         rank;
  PetscReal          *times;
  PetscLogDouble      start, median = 0;
  PetscLogEvent       event;
  PetscEventPerfInfo  before, after;
  MuonConvergedReason reason;
  Muon                muon;
  Mat                *W;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  state += (unsigned long long)rank;
  PetscCall(PetscMalloc2(layers, &W, steps, &times));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)1e-3));
  for (PetscInt l = 0; l < layers; l++) {
    char name[32];

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, n, NULL, &W[l]));
    PetscCall(PetscSNPrintf(name, sizeof(name), "l%" PetscInt_FMT, l));
    PetscCall(MuonAddLayer(muon, name, W[l], NULL));
  }
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSetUp(muon));
  cost->limit = PETSC_MAX_REAL;
  PetscCall(MeasureLimit(muon, n, &cost->limit));
  PetscCall(PetscLogEventGetId("MuonStep", &event));
  /* The first step allocates and is left out */
  for (PetscInt s = -1; s < steps; s++) {
    PetscReal seconds;

    PetscCall(FillGradients(muon, layers, n, &state));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &before));
    PetscCall(Now(&start));
    PetscCall(MuonStep(muon));
    PetscCall(Elapsed(start, &seconds));
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &after));
    if (s >= 0) times[s] = seconds;
    PetscCall(MuonGetConvergedReason(muon, &reason));
    PetscCheck(reason >= 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Step %" PetscInt_FMT " with matrices of %" PetscInt_FMT ": %s", s, n, MuonConvergedReasons[reason]);
  }
  PetscCall(MeasureLimit(muon, n, &cost->limit));
  PetscCall(Median(steps, times, &median));
  cost->step     = (PetscReal)(1e6 * median / (PetscLogDouble)layers);
  cost->messages = after.numMessages - before.numMessages;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &cost->messages, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(MuonDestroy(&muon));
  for (PetscInt l = 0; l < layers; l++) PetscCall(MatDestroy(&W[l]));
  PetscCall(PetscFree2(W, times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    widths[16] = {8, 16, 32, 64, 128}, nwidths = 16, layers = 500, steps = 10;
  PetscMPIInt size;
  PetscBool   set;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of small matrices", NULL);
  PetscCall(PetscOptionsIntArray("-benchmark_widths", "Rows and columns", NULL, widths, &nwidths, &set));
  if (!set) nwidths = 5;
  PetscCall(PetscOptionsInt("-benchmark_layers", "Matrices of each", NULL, layers, &layers, NULL));
  PetscCall(PetscOptionsInt("-benchmark_steps", "Steps that are timed", NULL, steps, &steps, NULL));
  PetscCall(PetscOptionsEnum("-benchmark_clock", "wall, or cpu where others use the machine and the BLAS has one thread", NULL, Clocks, (PetscEnum)ticks, (PetscEnum *)&ticks, NULL));
  PetscOptionsEnd();
  PetscCheck(layers >= 1 && steps >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_layers %" PetscInt_FMT ", -benchmark_steps %" PetscInt_FMT ": expected at least 1", layers, steps);
  PetscCall(ReportBlas());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " matrices, %d ranks, median of %" PetscInt_FMT " steps, time of the %s\n", layers, size, steps, Clocks[ticks]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%6s %14s %14s %6s %9s\n", "width", "us a matrix", "its products", "times", "messages"));
  for (PetscInt k = 0; k < nwidths; k++) {
    Cost cost;

    PetscCheck(widths[k] >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_widths %" PetscInt_FMT ": expected at least 1", widths[k]);
    PetscCall(Measure(widths[k], layers, steps, &cost));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%6" PetscInt_FMT " %14.1f %14.1f %6.2f %9.0f\n", widths[k], (double)cost.step, (double)cost.limit, (double)(cost.step / cost.limit), cost.messages));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # Times are the machine's; widths and messages are not
  test:
    nsize: 2
    args: -benchmark_layers 3 -benchmark_widths 4,6 -benchmark_steps 1
    filter: sed -n '/^ *width/,$p' | awk '{print $1, $NF}'
  table: suffix | args | error
    layers | -benchmark_layers 0 | -benchmark_layers 0
    widths | -benchmark_widths 0 | -benchmark_widths 0

TEST*/
