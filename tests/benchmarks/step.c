static char help[] = "Times the phases of a step beside what the machine can do: the rate of its matrix products and the bandwidth of its memory, measured in the same run.\n\n"
                     "  mpiexec -n 2 ./step -benchmark_model quickstart\n"
                     "  mpiexec -n 2 ./step -benchmark_model 124M -benchmark_steps 3\n\n"
                     "Options of the optimizer change what is timed: -ef21_compressor rankk, -muon_type dense, -muon_exchange_type star. All ranks measure at the same time.\n"
                     "A model that fits into the caches can be faster than the triad, which does not.\n\n";

#include "../parameters.h"
#include <petscmuon/private/muonimpl.h>
#include "../../tutorials/nanogpt/model.h"
#include "benchmark_common.h"
#include <math.h>

#define GEMM_SIZE   1024
#define REPETITIONS 5
#define LINE        64 /* bytes that move together */

typedef struct {
  const char *name;
  GPTShape    shape;
  PetscReal   learning_rate, momentum;
  PetscInt    steps;
} Model;

/* The second has the matrices of the paper's model. Its sequences are short: a step's own work does not depend on how many tokens a gradient is of */
static const Model models[] = {{"quickstart", {256, 128, 4, 2, 128, 8, GPT_MODERN, GPT_START_SCALED}, (PetscReal)5e-4, (PetscReal)0.8, 20}, {"124M", {50304, 768, 6, 12, 128, 1, GPT_MODERN, GPT_START_SCALED}, (PetscReal)3.6e-4, (PetscReal)0.9, 3}};

typedef enum {
  GRADIENT,
  MOMENTUM,
  COMPRESS,
  DECOMPRESS, /* its time is a part of that of COMPRESS, and taken out of it */
  EXCHANGE,
  AGGREGATE,
  LMO,
  STEP,
  PHASES
} Phase;
static const char *const Events[] = {"MuonGradient", "MuonMomentum", "MuonCompress", "MuonDecompress", "MuonExchange", "MuonAggregate", "MuonLMO", "MuonStep"};
static const char *const Names[]  = {"gradient", "momentum", "compress", "decompress", "exchange", "aggregate", "LMO", "step"};

typedef struct {
  GPT                gpt;
  GPTShape           shape;
  PetscInt           n;
  Mat               *W;
  MuonLayer         *layer;
  GPTReal          **w, **dw; /* what the model computes with */
  PetscInt          *tokens, *targets, *entries;
  unsigned long long random;
} Task;

/* What the machine does, and what a step needs of it, mean over the ranks */
typedef struct {
  PetscLogDouble gemm, small, polar, triad; /* products of scalars, and those in the precision of the polar factors */
  PetscLogDouble flops[PHASES];
  PetscLogDouble bytes[PHASES];
} Limits;

static PetscErrorCode MeanOverRanks(PetscInt n, PetscLogDouble values[])
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, values, (PetscMPIInt)n, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < n; i++) values[i] /= size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of a matrix from those of the model, or to them */
static PetscErrorCode CopyMatrix(PetscBool from, Mat A, GPTReal x[])
{
  PetscInt     m, n;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetArray(A, &a));
  if (from) {
    for (PetscInt k = 0; k < m * n; k++) a[k] = (PetscScalar)x[k];
  } else {
    for (PetscInt k = 0; k < m * n; k++) x[k] = (GPTReal)PetscRealPart(a[k]);
  }
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Task          *task = (Task *)ctx;
  const PetscInt N    = task->shape.batch * task->shape.sequence;
  double         mean;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i <= N; i++) {
    task->random = task->random * 6364136223846793005ULL + 1442695040888963407ULL;
    if (i < N) task->tokens[i] = (PetscInt)((task->random >> 33) % (unsigned long long)task->shape.vocabulary);
    if (i > 0) task->targets[i - 1] = i < N ? task->tokens[i] : 0;
  }
  for (PetscInt i = 0; i < task->n; i++) PetscCall(CopyMatrix(PETSC_FALSE, task->W[i], task->w[i]));
  for (PetscInt i = 0; i < task->n; i++) PetscCall(PetscMemzero(task->dw[i], (size_t)task->entries[i] * sizeof(GPTReal)));
  PetscCall(GPTLossAndGradient(task->gpt, (const GPTReal *const *)task->w, task->shape.batch, task->shape.sequence, task->tokens, task->targets, 1.0, &mean, task->dw));
  *loss = (PetscReal)mean;
  for (PetscInt i = 0; i < task->n; i++) {
    Mat G;

    PetscCall(MuonLayerGetGradient(task->layer[i], &G));
    PetscCall(CopyMatrix(PETSC_TRUE, G, task->dw[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaskCreate(const Model *model, Task *task)
{
  PetscFunctionBeginUser;
  task->shape  = model->shape;
  task->random = (unsigned long long)rank + 1;
  PetscCall(GPTCreate(&task->shape, &task->gpt));
  PetscCall(GPTGetNumMatrices(task->gpt, &task->n));
  PetscCall(PetscMalloc5(task->n, &task->W, task->n, &task->layer, task->n, &task->w, task->n, &task->dw, task->n, &task->entries));
  PetscCall(PetscMalloc2(task->shape.batch * task->shape.sequence, &task->tokens, task->shape.batch * task->shape.sequence, &task->targets));
  for (PetscInt i = 0; i < task->n; i++) {
    const char *name;
    PetscInt    m, n;

    PetscCall(GPTGetMatrix(task->gpt, i, &name, &m, &n));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &task->W[i]));
    task->entries[i] = m * n;
    PetscCall(PetscMalloc2(m * n, &task->w[i], m * n, &task->dw[i]));
    PetscCall(GPTInitializeMatrix(task->gpt, i, 1, task->w[i]));
    PetscCall(CopyMatrix(PETSC_TRUE, task->W[i], task->w[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaskDestroy(Task *task)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < task->n; i++) {
    PetscCall(MatDestroy(&task->W[i]));
    PetscCall(PetscFree2(task->w[i], task->dw[i]));
  }
  PetscCall(PetscFree5(task->W, task->layer, task->w, task->dw, task->entries));
  PetscCall(PetscFree2(task->tokens, task->targets));
  PetscCall(GPTDestroy(&task->gpt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The optimizer of the quickstart: a tenth of the entries with nine bits each in both directions */
static PetscErrorCode CreateMuon(const Model *model, Task *task, Muon *muon)
{
  PetscFunctionBeginUser;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, muon));
  PetscCall(MuonSetType(*muon, MUONEF21));
  PetscCall(MuonSetLearningRate(*muon, model->learning_rate));
  PetscCall(MuonSetMomentum(*muon, model->momentum, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetParameter(*muon, "muon_shape_factor", "scion"));
  for (PetscInt d = 0; d < 2; d++) {
    MuonCompressor c;

    if (d == 0) PetscCall(MuonGetLayerCompressors(*muon, NULL, &c, NULL));
    else PetscCall(MuonGetLayerCompressors(*muon, NULL, NULL, &c));
    PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
    PetscCall(MuonCompressorSetRatio(c, (PetscReal)0.1));
    PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "natural"));
  }
  for (PetscInt i = 0; i < task->n; i++) {
    const char *name;
    PetscInt    m, n;
    MuonLMO     lmo;

    PetscCall(GPTGetMatrix(task->gpt, i, &name, &m, &n));
    PetscCall(MuonAddLayer(*muon, name, task->W[i], &task->layer[i]));
    PetscCall(MuonLayerSetScale(task->layer[i], i == 0 ? 3000.0 : 50.0));
    PetscCall(MuonLayerGetLMO(task->layer[i], &lmo));
    PetscCall(MuonLMOSetType(lmo, i == 0 ? MUONLMOMAX : MUONLMOSPECTRAL));
  }
  PetscCall(MuonSetObjectiveAndGradient(*muon, FormLossAndGradient, task));
  PetscCall(MuonSetFromOptions(*muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of the lines of a matrix's memory with an entry that is kept, where these are anywhere */
static PetscErrorCode TouchedLines(MuonCompressor c, PetscLogDouble size, PetscLogDouble *part)
{
  double    ratio = 0;
  PetscBool sparse;

  PetscFunctionBeginUser;
  *part = 1;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)c, &sparse, MUONCOMPRESSORTOPK, MUONCOMPRESSORRANDK, ""));
  if (sparse == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetNumber((PetscObject)c, "compressor_ratio", NULL, &ratio));
  *part = 1 - pow(1 - ratio, LINE / size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bytes that a phase moves at least, of matrices that are read or written once. The momentum at the worker reads gradient and momentum and writes
   one; where it is the server's, nothing is done before the message. A compressed matrix and what it is relative to are read, its message is written
   and read. What messages hold is added to the estimates, the sum at the server and the weights: of these the lines of the cache that it touches are
   read and written. A message between ranks is read and written. The aggregate reads the mean and the old and writes the new.
*/
static PetscErrorCode CountBytes(Muon muon, Task *task, Limits *limits, PetscLogDouble *entries)
{
  PetscLogDouble served = 0, up = 0, down = 0, added = 0, state = sizeof(PetscScalar), touched[2];
  MuonTraffic    traffic;
  double         at, precision;
  PetscBool      ef21;

  PetscFunctionBeginUser;
  PetscCall(GetNumber((PetscObject)muon, "muon_state_precision", MuonStatePrecisions, &precision));
  if (precision == (double)MUON_STATE_PRECISION_SINGLE) state = sizeof(float);
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONEF21, &ef21));
  *entries = 0;
  for (PetscInt i = 0; i < task->n; i++) {
    PetscInt       m, n;
    PetscMPIInt    owner;
    PetscLogDouble mn;
    PetscBool      assigns[2] = {PETSC_TRUE, PETSC_TRUE};

    PetscCall(MuonLayerGetSize(task->layer[i], &m, &n));
    PetscCall(MuonLayerGetOwner(task->layer[i], &owner));
    mn = (PetscLogDouble)m * (PetscLogDouble)n;
    *entries += mn;
    if (ef21 == PETSC_TRUE) {
      MuonCompressor c[2];

      PetscCall(MuonGetLayerCompressors(muon, task->layer[i], &c[0], &c[1]));
      for (int d = 0; d < 2; d++) assigns[d] = c[d]->assignment;
      PetscCall(TouchedLines(c[0], state, &touched[0]));
      PetscCall(TouchedLines(c[1], sizeof(PetscScalar), &touched[1]));
      added += 2 * mn * (touched[0] * state + touched[1] * sizeof(PetscScalar));
      if (owner < 0 || owner == rank) added += mn * state;
    }
    up += mn * (assigns[0] == PETSC_TRUE ? 1 : 2);
    if (owner < 0 || owner == rank) {
      served += mn;
      down += mn * (assigns[1] == PETSC_TRUE ? 1 : 2);
    }
  }
  PetscCall(MuonGetTraffic(muon, &traffic));
  PetscCall(GetNumber((PetscObject)muon, "muon_momentum_at", MuonMomentumAts, &at));
  PetscCall(PetscArrayzero(limits->bytes, PHASES));
  limits->bytes[MOMENTUM]   = (at == (double)MUON_MOMENTUM_AT_WORKER ? sizeof(PetscScalar) + 2 * state : 0) * *entries;
  limits->bytes[COMPRESS]   = state * up + sizeof(PetscScalar) * down + 2 * (traffic.up[1] + traffic.down[1]) / 8;
  limits->bytes[DECOMPRESS] = added;
  limits->bytes[EXCHANGE]   = 2 * traffic.mpi;
  limits->bytes[AGGREGATE]  = 3 * state * served;
  PetscCall(MeanOverRanks(PHASES, limits->bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median over the steps of the mean over the ranks; the first step also allocates and is left out */
static PetscErrorCode TimeSteps(Muon muon, PetscInt steps, PetscLogDouble seconds[], Limits *limits)
{
  PetscEventPerfInfo before[PHASES], after[PHASES];
  PetscLogDouble     spent[PHASES];
  PetscReal         *times;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(PHASES * steps, &times));
  PetscCall(MuonStep(muon));
  for (PetscInt s = 0; s < steps; s++) {
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    for (int p = 0; p < PHASES; p++) PetscCall(ReadEvent(Events[p], &before[p]));
    PetscCall(StepOnce(muon));
    for (int p = 0; p < PHASES; p++) {
      PetscCall(ReadEvent(Events[p], &after[p]));
      spent[p]         = after[p].time - before[p].time;
      limits->flops[p] = after[p].flops - before[p].flops;
    }
    spent[COMPRESS] -= spent[DECOMPRESS];
    PetscCall(MeanOverRanks(PHASES, spent));
    for (PetscInt p = 0; p < PHASES; p++) times[p * steps + s] = (PetscReal)spent[p];
  }
  PetscCall(MeanOverRanks(PHASES, limits->flops));
  for (PetscInt p = 0; p < PHASES; p++) PetscCall(Median(steps, times + p * steps, &seconds[p]));
  PetscCall(PetscFree(times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the phases leave of a step: new weights from oracles, the bookkeeping of messages, copies at the commit, the agreement of the ranks */
static PetscErrorCode PrintTable(const PetscLogDouble seconds[], const Limits *limits)
{
  PetscLogDouble rest = seconds[STEP];

  PetscFunctionBeginUser;
  Print("%-10s %10s %7s %10s %8s  %s\n", "phase", "seconds", "of step", "limit", "of limit", "measured against");
  for (PetscInt p = 0; p < STEP; p++) {
    const PetscBool      products = p == GRADIENT || p == LMO ? PETSC_TRUE : PETSC_FALSE;
    const PetscLogDouble limit    = products == PETSC_TRUE ? limits->flops[p] / (p == LMO ? limits->polar : limits->gemm) : limits->bytes[p] / limits->triad;

    rest -= seconds[p];
    Print("%-10s %10.6f %6.1f%% %10.6f", Names[p], seconds[p], 100 * seconds[p] / seconds[STEP], limit);
    if (limit > 0) Print(" %7.1fx", seconds[p] / limit);
    else Print(" %8s", "-");
    if (products == PETSC_TRUE) Print("  %.4g GFLOP by products\n", limits->flops[p] / 1e9);
    else Print("  %.4g MB by the triad\n", limits->bytes[p] / 1e6);
  }
  Print("%-10s %10.6f %6.1f%%\n", "rest", rest, 100 * rest / seconds[STEP]);
  Print("%-10s %10.6f %6.1f%%\n", Names[STEP], seconds[STEP], 100.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The better of what is known and what is measured now: called before and after the steps, so that other work on the machine slows no limit for long
*/
static PetscErrorCode MeasureMachine(PetscInt width, size_t bytes, Limits *limits)
{
  const struct {
    size_t          bytes;
    PetscInt        n;
    PetscLogDouble *best;
  } products[]        = {{sizeof(PetscScalar), GEMM_SIZE, &limits->gemm}, {sizeof(PetscScalar), width, &limits->small}, {bytes, GEMM_SIZE, &limits->polar}};
  PetscLogDouble rate = 0;
  PetscReal      times[REPETITIONS];

  PetscFunctionBeginUser;
  for (int k = 0; k < 3; k++) {
    PetscCall(MeasureProducts(Gemm, products[k].bytes, products[k].n, products[k].n, products[k].n, REPETITIONS, &rate));
    *products[k].best = PetscMax(*products[k].best, rate);
  }
  PetscCall(MeasureTriad(REPETITIONS, times, &rate));
  limits->triad = PetscMax(limits->triad, rate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Model *model, PetscInt steps)
{
  Task           task;
  Muon           muon;
  MuonType       type;
  MuonPolar      polar;
  Limits         limits;
  PetscLogDouble entries = 0, seconds[PHASES], memory[3], sent[3];
  MuonTraffic    traffic;
  size_t         bytes = sizeof(float);

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&limits, sizeof(limits)));
  PetscCall(TaskCreate(model, &task));
  PetscCall(CreateMuon(model, &task, &muon));
  PetscCall(GetPolar(task.layer[task.n - 1], &polar, &bytes));
  PetscCall(MeasureMachine(model->shape.width, bytes, &limits));
  PetscCall(TimeSteps(muon, steps, seconds, &limits));
  PetscCall(MeasureMachine(model->shape.width, bytes, &limits));
  PetscCall(CountBytes(muon, &task, &limits, &entries));
  PetscCall(MuonGetType(muon, &type));
  PetscCall(MuonGetTraffic(muon, &traffic));
  PetscCall(MuonGetMemory(muon, &memory[0], &memory[1], &memory[2]));
  sent[0] = traffic.up[1] / traffic.dense;
  sent[1] = traffic.down[1] / traffic.dense;
  sent[2] = traffic.mpi / 1e6;
  PetscCall(MeanOverRanks(3, sent));
  PetscCall(MeanOverRanks(3, memory));
  Print("model %s: %.0f parameters in %" PetscInt_FMT " layers, %s, %d ranks, scalars of %d bytes; a gradient is of %" PetscInt_FMT " x %" PetscInt_FMT " random tokens a rank\n", model->name, entries, task.n, type, size, (int)sizeof(PetscScalar),
        model->shape.batch, model->shape.sequence);
  PetscCall(ReportBlas());
  Print("products: %.1f GFLOP/s a rank at %d, %.1f at %" PetscInt_FMT ", %.1f in the precision of the polar factors, %d bytes; triad: %.2f GB/s a rank\n", limits.gemm / 1e9, GEMM_SIZE, limits.small / 1e9, model->shape.width, limits.polar / 1e9,
        (int)bytes, limits.triad / 1e9);
  Print("median of %" PetscInt_FMT " steps, mean of the ranks:\n", steps);
  PetscCall(PrintTable(seconds, &limits));
  Print("state: %.2f bytes a parameter at a worker, %.2f at the servers together, %.2f of scratch and messages on a rank\n", memory[0] / entries, memory[1] * size / entries, memory[2] / entries);
  Print("sent: %.4f of fp32 up, %.4f down; %.3f MB a step through MPI on a rank\n", sent[0], sent[1], sent[2]);
  PetscCall(MuonDestroy(&muon));
  PetscCall(TaskDestroy(&task));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      name[32] = "quickstart";
  PetscInt  chosen   = 0, steps;
  PetscBool is       = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(BenchmarkInitialize(&argc, &argv, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of a step", NULL);
  OptionString("-benchmark_model", "quickstart or 124M", name);
  for (; chosen < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(models); chosen++) {
    PetscCall(PetscStrcmp(name, models[chosen].name, &is));
    if (is == PETSC_TRUE) break;
  }
  PetscCheck(is == PETSC_TRUE, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_model %s: expected quickstart or 124M", name);
  steps = models[chosen].steps;
  OptionCount("-benchmark_steps", "Steps that are timed", steps);
  PetscOptionsEnd();
  PetscCall(Run(&models[chosen], steps));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  sources: tutorials/nanogpt/model.c

  test:
    nsize: 2
    timeoutfactor: 3
    args: -benchmark_steps 1
    # the rows that there are; what they say is the machine's
    filter: sed -n '/^phase/,$p' | cut -d ' ' -f 1

  test:
    suffix: model
    args: -benchmark_model 125M
    error: -benchmark_model 125M: expected quickstart or 124M

TEST*/
