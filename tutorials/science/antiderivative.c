static char help[] = "A DeepONet learns the antiderivative of a Gaussian process, by Muon, by TAO on the same weights, or by both.\n\n"
                     "  ./antiderivative -muon_max_steps 2000\n"
                     "  ./antiderivative -muon_max_steps 1000 -tao_type lmvm -tao_max_funcs 1000\n"
                     "  mpiexec -n 2 ./antiderivative -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd\n\n"
                     "studies/antiderivative.py runs the study: functions, sensors, network and error are those of a published program, arXiv:2103.10974.\n\n";

#include <petscmuon.h>
#include <time.h>
#include "antiderivative.h"
#include "antiderivativetao.h"

#define LAYERS 8
static const struct {
  const char *name;
  PetscBool   matrix;
  PetscInt    first, columns;
} Layers[LAYERS] = {{"branch.W0", PETSC_TRUE, 0, SENSORS}, {"branch.b0", PETSC_FALSE, BRANCH1 - WIDTH, 1}, {"branch.W1", PETSC_TRUE, BRANCH1, WIDTH}, {"branch.b1", PETSC_FALSE, TRUNK0 - WIDTH, 1},
                    {"trunk.W0", PETSC_TRUE, TRUNK0, 1},   {"trunk.b0", PETSC_FALSE, TRUNK1 - WIDTH, 1},   {"trunk.W1", PETSC_TRUE, TRUNK1, WIDTH},   {"trunk.b1", PETSC_FALSE, ENTRIES - WIDTH, 1}};

static PetscErrorCode CreateProblem(PetscInt seed, PetscInt functions, PetscInt tests, Problem *p)
{
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(CreateData(random, functions, tests, &p->data));
  for (PetscInt l = 0; l < LAYERS; l++) { /* Glorot's weights, biases of zero */
    for (PetscInt i = 0; i < WIDTH * Layers[l].columns && Layers[l].matrix; i++) {
      PetscCall(Normal(random, &p->wd[Layers[l].first + i]));
      p->wd[Layers[l].first + i] *= sqrt(2 / (double)(WIDTH + Layers[l].columns));
    }
  }
  for (PetscInt i = 0; i < ENTRIES; i++) p->w[i] = (float)p->wd[i];
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(CreateSingle(&p->data, &p->single));
  PetscCall(CreateDouble(&p->data, &p->dble));
  PetscCall(PetscMalloc3(p->data.n, &p->r, p->data.n, &p->rd, tests, &p->errors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean square over the functions of this rank */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p   = (Problem *)ctx;
  double   sum = 0;

  PetscFunctionBeginUser;
  PetscCall(Count(p, PETSC_TRUE));
  PetscCall(PassSingle(p->single, p->w, NULL, PETSC_TRUE, p->r, p->g));
  for (PetscInt j = 0; j < p->data.n; j++) sum += (double)p->r[j] * (double)p->r[j];
  for (PetscInt i = 0; i < ENTRIES; i++) p->g[i] *= 2 / (float)p->data.n;
  *loss = (PetscReal)sum / (PetscReal)p->data.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The published schedule: a factor for each 1000 steps */
static PetscErrorCode Decay(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx)
{
  PetscFunctionBeginUser;
  *factor *= PetscPowReal(((Problem *)ctx)->decay, (PetscReal)step / 1000);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveMuon(Problem *p, PetscLogDouble *sent)
{
  Muon           muon;
  MuonTraffic    traffic;
  MuonLayerArray array;

  PetscFunctionBeginUser;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type = PETSC_FLOAT;
    array.M    = WIDTH;
    array.N    = Layers[l].columns;
    array.w    = p->w + Layers[l].first;
    array.g    = p->g + Layers[l].first;
    PetscCall(MuonAddLayerArray(muon, Layers[l].name, &array, NULL));
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, p));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.b?:adamw,trunk.W0:adamw"));
  PetscCall(MuonSetMaxSteps(muon, 40000));
  if (p->decay < 1) PetscCall(MuonSetScheduleFunction(muon, Decay, p));
  else PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetWorkerWeight(muon, (PetscReal)p->data.n));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetTraffic(muon, &traffic));
  *sent = (traffic.total_up[MUON_TRAFFIC_ENCODED] + traffic.total_down[MUON_TRAFFIC_ENCODED]) / 8;
  PetscCall(MuonDestroy(&muon));
  for (PetscInt i = 0; i < ENTRIES; i++) p->wd[i] = (double)p->w[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors, and what they cost; with a history also the errors on the way */
static PetscErrorCode Report(Problem *p, double seconds, PetscLogDouble sent)
{
  PetscReal mean, deviation = 0;
  double    loss = 0;

  PetscFunctionBeginUser;
  PetscCall(TestDouble(p->dble, p->wd, p->errors));
  mean = Mean(p->data.tests, p->errors);
  for (PetscInt j = 0; j < p->data.tests; j++) deviation += PetscSqr(p->errors[j] - mean) / (PetscReal)p->data.tests;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "relative error %.3e, deviation %.3e; %.1e by the trapezoidal rule\n", (double)mean, (double)PetscSqrtReal(deviation), p->data.trapezoid));
  if (p->interval == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PassDouble(p->dble, p->wd, NULL, PETSC_TRUE, p->rd, p->gd));
  for (PetscInt j = 0; j < p->data.n; j++) loss += p->rd[j] * p->rd[j] / (double)p->data.all;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "passes %" PetscInt_FMT " seconds %.4g bytes %.4g loss %.3e\nhistory", p->passes, seconds, (double)sent, loss));
  for (PetscInt i = 0; i < p->marks; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %d:%.3e", (int)p->history[i][0], (double)p->history[i][1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data: integrals from 0 to 1 against Simpson's rule of two steps, and the covariance against that of the process */
static PetscErrorCode CheckData(const Data *data)
{
  double worst[3] = {0, 0, 0}, unused;

  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < data->tests; j++) {
    const double *c = data->test_c + j * (TERMS + 1);

    for (PetscInt half = 0; half < 2; half++) {
      const PetscInt n   = half ? 64 : 32;
      double         sum = 0;

      for (PetscInt i = 0; i <= n; i++) sum += Sum(c, (double)i / (double)n, &unused) * (i == 0 || i == n ? 1 : 2 + 2 * (i % 2)) / (3 * (double)n);
      worst[half] = PetscMax(worst[half], fabs(sum - data->test_s[j * GRID + GRID - 1]));
    }
  }
  for (PetscInt i = 0; i <= 64; i++) {
    const double x   = (double)i / 64;
    double       sum = 0;

    for (PetscInt k = 0; k < TERMS; k++) sum += Term(k, 0.5, NULL) * Term(k, x, NULL);
    worst[2] = PetscMax(worst[2], fabs(sum - exp(-(x - 0.5) * (x - 0.5) / (2 * SCALE * SCALE))));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "integrals differ from Simpson's rule by %.1e, with half of the step by %.1e; covariances are %s\n", worst[0], worst[1], worst[2] < 1e-11 ? "those of the process" : "others"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt       seed = 1, functions = 10000, tests = 1000, last = 0;
  PetscBool      check = PETSC_FALSE, tao;
  PetscMPIInt    size;
  PetscLogDouble sent = 0;
  Problem       *p;
  clock_t        start;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscNew(&p));
  p->decay = 1;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscOptionsBegin(PETSC_COMM_WORLD, "antiderivative_", "DeepONet for an antiderivative", NULL);
  PetscCall(PetscOptionsBoundedInt("-functions", "To train with, on all ranks", NULL, functions, &functions, NULL, size));
  PetscCall(PetscOptionsBoundedInt("-tests", "Functions to test with", NULL, tests, &tests, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-seed", "Of data and weights", NULL, seed, &seed, NULL, 1));
  PetscCall(PetscOptionsReal("-decay", "Factor of Muon's rates for each 1000 steps", NULL, p->decay, &p->decay, NULL));
  PetscCall(PetscOptionsBoundedInt("-last", "Steps of LSQR for the branch's last layer, at the end", NULL, last, &last, NULL, 0));
  PetscCall(PetscOptionsBoundedInt("-history", "Passes over the data between errors of the history, which goes with costs", NULL, p->interval, &p->interval, NULL, 0));
  PetscCall(PetscOptionsBool("-check", "Compare the data with a quadrature", NULL, check, &check, NULL));
  PetscOptionsEnd();
  PetscCheck(p->decay > 0 && p->decay <= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-antiderivative_decay %g: expected a factor in (0,1]", (double)p->decay);
  PetscCall(PetscOptionsHasName(NULL, NULL, "-tao_type", &tao));
  PetscCall(CreateProblem(seed, functions, tests, p));
  if (check) PetscCall(CheckData(&p->data));
  start = clock(); /* PetscGetCPUTime() has other units in PETSc 3.18 */
  PetscCall(SolveMuon(p, &sent));
  if (tao) PetscCall(SolveTao(p));
  if (last > 0) PetscCall(SolveLast(p, last));
  PetscCall(Report(p, (double)(clock() - start) / CLOCKS_PER_SEC, sent));
  PetscCall(DestroySingle(&p->single));
  PetscCall(DestroyDouble(&p->dble));
  PetscCall(PetscFree3(p->r, p->rd, p->errors));
  PetscCall(DestroyData(&p->data));
  PetscCall(PetscFree(p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    output_file: README.md
    args: -antiderivative_functions 500 -antiderivative_tests 50
    # roundings grow on the way
    tolerance: 0.1
    table: suffix | nsize | args
      muon  | 1 | -muon_max_steps 200 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -antiderivative_check
      adamw | 1 | -muon_max_steps 200 -muon_layer_types '*:adamw' -muon_adamw_learning_rate 0.003
      qsgd  | 2 | -muon_max_steps 200 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd
      lmvm  | 1 | -muon_max_steps 0 -tao_type lmvm -tao_max_funcs 200
      then  | 1 | -muon_max_steps 100 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -tao_type lmvm -tao_max_funcs 100
      brgn  | 1 | -muon_max_steps 0 -tao_type brgn -tao_max_it 4 -tao_brgn_subsolver_tao_bnk_ksp_max_it 20
      last  | 1 | -muon_max_steps 200 -muon_layer_types '*:adamw' -muon_adamw_learning_rate 0.003 -antiderivative_last 50
  # the data, the published schedule, and costs, which differ in every run but for the passes
  test:
    suffix: history
    requires: double
    args: -antiderivative_functions 20 -antiderivative_tests 5 -muon_max_steps 5 -tao_type lmvm -tao_max_it 2 -antiderivative_decay 0.9 -antiderivative_history 2
    filter: awk '/^passes/ {print $1, ($2 >= 8), NF} /^history/ {print $1, ($2 ~ /^2:/), ($3 ~ /^4:/), (NF > 3)}'
  testset:
    args: -antiderivative_functions 20 -antiderivative_tests 5 -muon_max_steps 1
    table: suffix | nsize | args | error
      decay | 1 | -antiderivative_decay 0     | -antiderivative_decay
      ranks | 2 | -antiderivative_last 1      | one rank
      few   | 2 | -antiderivative_functions 1 | less than allowed bound 2

TEST*/
