static char help[] = "How much of the way up is hidden behind a gradient that takes as long, where steps are one late.\n\n"
                     "  share/petscmuon/lab/run --rate 100mbit --hosts 2 -- ./delay -benchmark_width 1024\n\n"
                     "All workers own the layer, so that nothing goes down. Options of the optimizer hold for all rows.\n\n";

#include "benchmark_common.h"

typedef struct {
  MuonLayer layer;
  PetscReal gradient, interval; /* seconds that a gradient takes, and between two calls of MuonProgress(), 0 for none */
} Task;

/* The same numbers each time, and then the processor is busy with something else */
static PetscErrorCode Gradient(Muon muon, PetscReal *loss, void *ctx)
{
  const Task        *task  = (const Task *)ctx;
  unsigned long long state = 1;
  PetscLogDouble     begin, now, last;

  PetscFunctionBeginUser;
  PetscCall(PetscTime(&begin));
  PetscCall(FillGradients(muon, &state));
  *loss = 0;
  for (last = now = begin; now - begin < (PetscLogDouble)task->gradient;) {
    PetscCall(PetscTime(&now));
    if (task->interval == 0 || now - last < (PetscLogDouble)task->interval) continue;
    PetscCall(MuonProgress(muon));
    last = now;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of a step on the slowest rank, the median of some */
static PetscErrorCode Measure(MPI_Comm comm, PetscInt width, PetscInt steps, const char delay[], PetscReal gradient, PetscReal interval, PetscLogDouble *seconds)
{
  Task           task = {NULL, gradient, interval};
  PetscReal     *each;
  PetscLogDouble begin;
  Muon           muon;
  MuonExchange   exchange;
  MuonLMO        lmo;
  Mat            W;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(steps, &each));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, width, width, NULL, &W));
  PetscCall(MuonCreate(comm, &muon));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonAddLayer(muon, "w", W, &task.layer));
  PetscCall(MuonLayerGetLMO(task.layer, &lmo));
  PetscCall(MuonLMOSetType(lmo, MUONLMOMAX));
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, MUONEXCHANGEREPLICATED));
  PetscCall(MuonSetParameter(muon, "muon_delay", delay));
  PetscCall(MuonSetObjectiveAndGradient(muon, Gradient, &task));
  PetscCall(MuonSetFromOptions(muon));
  for (PetscInt s = -2; s < steps; s++) { /* the first has nothing to wait for */
    PetscCallMPI(MPI_Barrier(comm));
    PetscCall(PetscTime(&begin));
    PetscCall(StepOnce(muon));
    PetscCall(Elapsed(begin, &each[PetscMax(s, 0)]));
  }
  PetscCall(Median(steps, each, seconds));
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscCall(PetscFree(each));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal intervals[] = {(PetscReal)0.005, 0};
  PetscInt        width = 512, steps = 5;
  PetscLogDouble  alone, gradient, now, late;

  PetscFunctionBeginUser;
  PetscCall(BenchmarkInitialize(&argc, &argv, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-benchmark_width", &width, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-benchmark_steps", &steps, NULL));
  PetscCall(Measure(PETSC_COMM_SELF, width, steps, "0", 0, 0, &alone));
  PetscCall(Measure(PETSC_COMM_WORLD, width, steps, "0", 0, 0, &gradient));
  gradient -= alone;
  PetscCall(Measure(PETSC_COMM_WORLD, width, steps, "0", (PetscReal)gradient, 0, &now));
  Print("a gradient takes %.4f s, as long as the way up without one; beside it a step of one worker takes %.4f s\n", gradient, alone);
  Print("-muon_delay 0: %.4f s a step, the way up %.4f s\n", now, now - gradient - alone);
  for (int k = 0; k < 2; k++) {
    PetscCall(Measure(PETSC_COMM_WORLD, width, steps, "1", (PetscReal)gradient, intervals[k], &late));
    Print("-muon_delay 1, MuonProgress() %s: %.4f s a step, %.0f%% of the way up hidden\n", intervals[k] > 0 ? "every 5 ms" : "never", late, 100 * (now - late) / (now - gradient - alone));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 2
    args: -benchmark_width 16 -benchmark_steps 2
    filter: sed -E "s/[-0-9.]+ s/N s/g; s/-?[0-9]+%/N%/"

TEST*/
