static char help[] = "Microseconds a matrix of a whole step with many small layers, as networks in scientific codes have them, beside the time that the counted products of the LMO take at the rate of products of that size in the same run.\n\n"
                     "  ./small\n"
                     "  mpiexec -n 2 ./small -benchmark_layers 9 -benchmark_widths 50 -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd\n\n"
                     "The gradient is not timed. The rate is that of products in the precision of the polar factors, of matrices that stay in the caches. Messages are those that a rank sends and receives in a step.\n\n";

#include "benchmark_common.h"

#define REPETITIONS 3

typedef struct {
  PetscReal      step, limit; /* microseconds a matrix */
  PetscLogDouble messages;    /* of the rank that has most */
} Cost;

/* Operations of a polar factor over the rate of products of this size, better of before and after the steps */
static PetscErrorCode MeasureLimit(Muon muon, PetscInt n, PetscReal *limit)
{
  MuonLayer      layer;
  MuonPolar      polar;
  PetscLogDouble flops, rate;
  size_t         bytes = 0;

  PetscFunctionBeginUser;
  PetscCall(MuonGetLayer(muon, 0, &layer));
  PetscCall(GetPolar(layer, &polar, &bytes));
  PetscCall(MuonPolarGetFlops(polar, n, n, &flops));
  PetscCall(MeasureProducts(Gemm, bytes, n, n, n, REPETITIONS, &rate));
  *limit = PetscMin(*limit, (PetscReal)(1e6 * flops / rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Measure(PetscInt n, PetscInt layers, PetscInt steps, Cost *cost)
{
  unsigned long long state = 1 + (unsigned long long)rank;
  PetscReal         *times;
  PetscLogDouble     start, median = 0;
  PetscEventPerfInfo before, after;
  Muon               muon;
  Mat               *W;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(steps, &times));
  PetscCall(MatsCreate(PETSC_COMM_SELF, layers, n, &W));
  PetscCall(MuonOfMats(PETSC_COMM_WORLD, layers, W, &muon));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSetUp(muon));
  cost->limit = PETSC_MAX_REAL;
  PetscCall(MeasureLimit(muon, n, &cost->limit));
  /* The first step allocates and is left out. Gradients are other ones in each layer and step */
  for (PetscInt s = -1; s < steps; s++) {
    PetscCall(FillGradients(muon, &state));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(ReadEvent("MuonStep", &before));
    PetscCall(Now(&start));
    PetscCall(StepOnce(muon));
    PetscCall(Elapsed(start, &times[PetscMax(s, 0)]));
    PetscCall(ReadEvent("MuonStep", &after));
  }
  PetscCall(MeasureLimit(muon, n, &cost->limit));
  PetscCall(Median(steps, times, &median));
  cost->step     = (PetscReal)(1e6 * median / (PetscLogDouble)layers);
  cost->messages = after.numMessages - before.numMessages;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &cost->messages, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatsDestroy(layers, &W));
  PetscCall(PetscFree(times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  widths[16] = {8, 16, 32, 64, 128}, nwidths = 16, layers = 500, steps = 10;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(BenchmarkInitialize(&argc, &argv, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of small matrices", NULL);
  PetscCall(PetscOptionsIntArray("-benchmark_widths", "Rows and columns", NULL, widths, &nwidths, &set));
  if (!set) nwidths = 5;
  OptionCount("-benchmark_layers", "Matrices of each", layers);
  OptionCount("-benchmark_steps", "Steps that are timed", steps);
  OptionClock("wall, or cpu where others use the machine and the BLAS has one thread");
  PetscOptionsEnd();
  PetscCall(ReportBlas());
  Print("%" PetscInt_FMT " matrices, %d ranks, median of %" PetscInt_FMT " steps, time of the %s\n", layers, size, steps, Clocks[ticks]);
  Print("%6s %14s %14s %6s %9s\n", "width", "us a matrix", "its products", "times", "messages");
  for (PetscInt k = 0; k < nwidths; k++) {
    Cost cost;

    CheckCount("-benchmark_widths", widths[k]);
    PetscCall(Measure(widths[k], layers, steps, &cost));
    Print("%6" PetscInt_FMT " %14.1f %14.1f %6.2f %9.0f\n", widths[k], (double)cost.step, (double)cost.limit, (double)(cost.step / cost.limit), cost.messages);
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
