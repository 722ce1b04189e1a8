static char help[] = "A Fourier neural operator learns the solution of -div(a grad u) = 1 from a, by Muon with a complex polar factor for each mode.\n\n"
                     "  ./fno -fno_epochs 100\n"
                     "  mpiexec -n 2 ./fno -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd\n\n"
                     "studies/fno.py runs the study: network and data are those of a published program, arXiv:2010.08895, with its later gelu and padding.\n\n";

#include <time.h>
#include "fno.h"
#include "darcy.h"

#define BATCH 20 /* of all ranks */
#define MARKS 64

typedef struct {
  Fno         f;
  Darcy       d;
  PetscInt    steps, n;               /* of an epoch; functions of a batch on this rank */
  PetscInt    epoch, *order;          /* the order of functions in that epoch: for each place of a batch, one of each step */
  PetscInt    halve, interval, marks; /* epochs between two halvings of rates and between two errors; how many errors there are */
  PetscReal   history[MARKS][2];
  FnoReal    *a, *r; /* coefficients of a batch, normalized; what a prediction errs by */
  double      loss;  /* sum over the epoch */
  PetscRandom random;
  double      seconds[2][2]; /* of gradients and tests, by the processor and by the wall's clock */
} Problem;

/* The network's weights begin as torch's do, those of modes as in the published program */
static PetscErrorCode CreateLayers(Problem *p, PetscInt blocks, Muon muon)
{
  static const char *const kinds[] = {"modes", "W", "b"}, *const ends[] = {"lift.W", "lift.b", "project.W", "project.b", "last.W", "last.b"};

  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < LAYERS; l++) {
    const PetscInt  m = p->f.rows[l], n = p->f.columns[l], inner = l >= BLOCK && l < PROJECT;
    const PetscReal bound = 1 / PetscSqrtReal((PetscReal)(n > 1 ? n : p->f.columns[l - 1]));
    char            name[32];
    MuonLayerArray  array;
    MuonLayer       layer;

    for (PetscInt i = 0; i < p->f.parts[l] * m * n; i++) {
      PetscReal u = 0;

      PetscCall(PetscRandomGetValueReal(p->random, &u));
      p->f.w[l][i] = (FnoReal)(p->f.parts[l] == 2 ? u / (WIDTH * WIDTH) : bound * (2 * u - 1));
    }
    if (inner) PetscCall(PetscSNPrintf(name, sizeof(name), "block%d.%s", (int)(l - BLOCK) / 3, kinds[(l - BLOCK) % 3]));
    else PetscCall(PetscStrncpy(name, ends[l < BLOCK ? l : l - PROJECT + BLOCK], sizeof(name)));
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type     = sizeof(FnoReal) == sizeof(float) ? PETSC_FLOAT : PETSC_DOUBLE;
    array.field    = p->f.parts[l] == 2 ? MUON_FIELD_COMPLEX : MUON_FIELD_REAL;
    array.rowmajor = p->f.parts[l] == 2 || n == 1 ? PETSC_FALSE : PETSC_TRUE;
    array.M        = m;
    array.N        = n;
    array.w        = p->f.w[l];
    array.g        = p->f.g[l];
    PetscCall(MuonAddLayerArray(muon, name, &array, &layer));
    if (p->f.parts[l] == 2) PetscCall(MuonLayerSetBlocks(layer, 1, NULL, blocks, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Normalized coefficients of a function, to place s of a batch */
static void LoadFunction(Problem *p, PetscInt function, PetscInt s)
{
  const float *a = p->d.a + function * POINTS;

  for (PetscInt i = 0; i < POINTS; i++) p->a[s * POINTS + i] = (FnoReal)(a[i] - p->d.mean[0][i]) / ((FnoReal)p->d.deviation[0][i] + (FnoReal)1e-5);
}

/* p->r = prediction - solution of a function, with their norms; the prediction is that of place s, or the mean where s is negative */
static PetscErrorCode Residual(Problem *p, PetscInt function, PetscInt s, double norms[2])
{
  const float *u = p->d.u + function * POINTS;

  PetscFunctionBeginUser;
  norms[0] = norms[1] = 0;
  if (s >= 0) PetscCall(FnoProject(&p->f, s));
  for (PetscInt i = 0; i < POINTS; i++) {
    p->r[i] = (s >= 0 ? p->f.out[i] * ((FnoReal)p->d.deviation[1][i] + (FnoReal)1e-5) : 0) + (FnoReal)p->d.mean[1][i] - (FnoReal)u[i];
    norms[0] += (double)p->r[i] * (double)p->r[i];
    norms[1] += (double)u[i] * (double)u[i];
  }
  for (PetscInt k = 0; k < 2; k++) norms[k] = sqrt(norms[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean relative errors over the functions of the test, of the network and of the mean solution */
static PetscErrorCode Test(Problem *p, double errors[2])
{
  double sums[3] = {0, 0, (double)p->d.tests}, norms[2];

  PetscFunctionBeginUser;
  for (PetscInt first = 0; first < p->d.tests; first += p->n) {
    const PetscInt n = PetscMin(p->n, p->d.tests - first);

    for (PetscInt s = 0; s < n; s++) LoadFunction(p, first + s, s);
    PetscCall(FnoForward(&p->f, n, p->a));
    for (PetscInt s = 0; s < 2 * n; s++) {
      PetscCall(Residual(p, first + s % n, s < n ? s : -1, norms));
      sums[s / n] += norms[0] / norms[1];
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  for (PetscInt k = 0; k < 2; k++) errors[k] = sums[k] / sums[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the time since the last call, where to is not NULL */
static void Clock(double last[2], double to[2])
{
  const double now[2] = {(double)clock() / CLOCKS_PER_SEC, MPI_Wtime()}; /* PetscGetCPUTime() has other units in PETSc 3.18 */

  for (PetscInt k = 0; k < 2; k++) {
    if (to) to[k] += now[k] - last[k];
    last[k] = now[k];
  }
}

/* Function j of all is in place j % BATCH of its batch, in a step of the epoch that is drawn, so that batches do not depend on the ranks */
static PetscErrorCode DrawOrder(Problem *p)
{
  PetscFunctionBeginUser;
  for (PetscInt place = 0; place < BATCH; place++) {
    PetscInt *order = p->order + place * p->steps;

    for (PetscInt k = 0; k < p->steps; k++) {
      PetscReal u = 0;
      PetscInt  with;

      PetscCall(PetscRandomGetValueReal(p->random, &u));
      with        = PetscMin((PetscInt)(u * (PetscReal)(k + 1)), k);
      order[k]    = order[with];
      order[with] = k;
    }
  }
  p->loss = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean of relative errors over the functions of this rank in the batch of a step */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Problem    *p   = (Problem *)ctx;
  double      sum = 0, norms[2], last[2];
  PetscMPIInt rank;
  PetscInt    step, function[BATCH];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonGetStepNumber(muon, &step));
  Clock(last, NULL);
  while (p->epoch < step / p->steps) {
    PetscCall(DrawOrder(p));
    if (++p->epoch == 0 || p->interval == 0 || p->epoch % p->interval > 0 || p->marks == MARKS) continue;
    PetscCall(Test(p, norms));
    p->history[p->marks][0]   = (PetscReal)p->epoch;
    p->history[p->marks++][1] = (PetscReal)norms[0];
    Clock(last, p->seconds[1]);
  }
  for (PetscInt s = 0; s < p->n; s++) {
    const PetscInt place = rank + s * (BATCH / p->n);

    function[s] = p->d.tests + (place + BATCH * p->order[place * p->steps + step % p->steps]) / (BATCH / p->n);
    LoadFunction(p, function[s], s);
  }
  for (PetscInt l = 0; l < LAYERS; l++) {
    if (p->f.parts[l] == 1) PetscCall(PetscArrayzero(p->f.g[l], p->f.rows[l] * p->f.columns[l]));
  }
  PetscCall(FnoForward(&p->f, p->n, p->a));
  for (PetscInt s = 0; s < p->n; s++) {
    PetscCall(Residual(p, function[s], s, norms));
    sum += norms[0] / norms[1] / (double)p->n;
    for (PetscInt i = 0; i < POINTS; i++) p->r[i] *= ((FnoReal)p->d.deviation[1][i] + (FnoReal)1e-5) / (FnoReal)(norms[0] * norms[1] * (double)p->n);
    PetscCall(FnoProjectBackward(&p->f, s, p->r));
  }
  PetscCall(FnoBackward(&p->f, p->n, p->a));
  p->loss += sum;
  *loss = (PetscReal)sum;
  Clock(last, p->seconds[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The published schedule: rates are halved each so many epochs */
static PetscErrorCode Halve(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  *factor *= PetscPowReal((PetscReal)0.5, (PetscReal)(step / (p->steps * p->halve)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Problem *p, PetscInt blocks, PetscInt epochs, PetscBool costs)
{
  double      last[2], all[2] = {0, 0}, errors[2];
  PetscInt    steps;
  Muon        muon;
  MuonTraffic traffic;

  PetscFunctionBeginUser;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(CreateLayers(p, blocks, muon));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, p));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.b:adamw,lift.W:adamw,last.W:adamw"));
  PetscCall(MuonSetMaxSteps(muon, epochs * p->steps));
  if (p->halve > 0) PetscCall(MuonSetScheduleFunction(muon, Halve, p));
  else PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetFromOptions(muon));
  Clock(last, NULL);
  PetscCall(MuonSolve(muon));
  Clock(last, all);
  PetscCall(MuonGetStepNumber(muon, &steps));
  PetscCall(MuonGetTraffic(muon, &traffic));
  PetscCall(MuonDestroy(&muon));
  PetscCall(Test(p, errors));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "relative error %.3e after %" PetscInt_FMT " steps, that of the mean %.3e\n", errors[0], steps, errors[1]));
  if (!costs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &p->loss, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  p->loss *= (double)p->n / BATCH / (double)((steps - 1) % p->steps + 1);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "loss %.3e bytes %.4g seconds", p->loss, (double)(traffic.total_up[MUON_TRAFFIC_ENCODED] + traffic.total_down[MUON_TRAFFIC_ENCODED]) / 8));
  for (PetscInt k = 0; k < 2; k++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %.4g %.4g", p->seconds[0][k] / (double)steps, (all[k] - p->seconds[0][k] - p->seconds[1][k]) / (double)steps));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\nhistory"));
  for (PetscInt i = 0; i < p->marks; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %d:%.3e", (int)p->history[i][0], (double)p->history[i][1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    seed = 1, functions = 1000, tests = 100, epochs = 100, cells = 2 * (SIDE - 1), blocks = HARMONICS, check = 0;
  PetscBool   costs = PETSC_FALSE;
  PetscMPIInt size;
  Problem    *p;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(BATCH % size == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "A batch of %d functions on %d ranks: expected equal numbers", BATCH, size);
  PetscCall(PetscNew(&p));
  p->n     = BATCH / size;
  p->epoch = -1;
  PetscOptionsBegin(PETSC_COMM_WORLD, "fno_", "Fourier neural operator", NULL);
  PetscCall(PetscOptionsBoundedInt("-functions", "To train with, on all ranks", NULL, functions, &functions, NULL, BATCH));
  PetscCall(PetscOptionsBoundedInt("-tests", "Functions to test with", NULL, tests, &tests, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-seed", "Of data, weights and batches", NULL, seed, &seed, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-epochs", "Passes over the functions", NULL, epochs, &epochs, NULL, 0));
  PetscCall(PetscOptionsBoundedInt("-cells", "Of the data's solver, a side", NULL, cells, &cells, NULL, SIDE - 1));
  PetscCall(PetscOptionsBoundedInt("-blocks", "Polar factors of a layer of modes: one for each mode, or for as many side by side as there are", NULL, blocks, &blocks, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-halve", "Epochs between two halvings of the rates; 0 for -muon_schedule", NULL, p->halve, &p->halve, NULL, 0));
  PetscCall(PetscOptionsBoundedInt("-history", "Epochs between errors of the history", NULL, p->interval, &p->interval, NULL, 0));
  PetscCall(PetscOptionsBool("-costs", "Print loss, bytes, seconds and history", NULL, costs, &costs, NULL));
  PetscCall(PetscOptionsBoundedInt("-check", "Compare solutions with those on so many cells a side", NULL, check, &check, NULL, 0));
  PetscOptionsEnd();
  PetscCheck(functions % BATCH == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "-fno_functions %" PetscInt_FMT ": expected a multiple of %d", functions, BATCH);
  p->steps = functions / BATCH;
  PetscCall(DarcyCreate(cells, SIDE, &p->d));
  PetscCall(DarcyMake(&p->d, seed, functions, tests));
  if (check > 0) PetscCall(DarcyCheck(&p->d, seed, check, PetscMin(tests, 8)));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &p->random));
  PetscCall(PetscRandomSetType(p->random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(p->random, (unsigned long)seed + 1000000));
  PetscCall(PetscRandomSeed(p->random));
  PetscCall(FnoCreate(p->n, &p->f));
  PetscCall(PetscMalloc3(functions, &p->order, p->n * POINTS, &p->a, POINTS, &p->r));
  PetscCall(Solve(p, blocks, epochs, costs));
  PetscCall(PetscFree3(p->order, p->a, p->r));
  PetscCall(FnoDestroy(&p->f));
  PetscCall(DarcyDestroy(&p->d));
  PetscCall(PetscRandomDestroy(&p->random));
  PetscCall(PetscFree(p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    output_file: README.md
    args: -fno_functions 20 -fno_tests 5 -fno_epochs 4
    # roundings grow on the way
    tolerance: 0.01
    table: suffix | nsize | args
      muon  | {{1 2}} | -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1
      adamw | 1       | -muon_layer_types '*:adamw' -muon_adamw_learning_rate 0.003
      qsgd  | 2       | -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd
  # the published schedule, one polar factor for all modes of a sign, and costs, which differ in every run
  test:
    suffix: costs
    requires: double
    args: -fno_functions 20 -fno_tests 1 -fno_epochs 4 -fno_halve 2 -fno_blocks 2 -fno_history 2 -fno_costs -fno_check 252
    filter: awk '/^data/ {print $1, ($NF < 2e-3)} /^loss/ {print $1, ($2 > 0.1), NF} /^history/ {print $1, ($2 ~ /^2:/), NF}'
  testset:
    args: -fno_epochs 0 -fno_tests 1
    table: suffix | nsize | args | error
      functions | 1 | -fno_functions 30 | -fno_functions 30: expected a multiple of 20
      cells     | 1 | -fno_cells 100    | 100 cells a side: expected a multiple of 84
      ranks     | 3 |                   | A batch of 20 functions on 3 ranks

TEST*/
