/* What the programs of operator.h share: Muon in single precision, TAO in double, and the report. A problem's header comes first */
#pragma once

#include <petscmuon.h>
#include <petsctao.h>
#include <time.h>
#include "vecarray.h"

#define LAYERS (4 * (HIDDEN + 1))
#define MARKS  20 /* errors in the history of a run */

typedef struct {
  Data        data;
  NetSingle  *single; /* for Muon */
  NetDouble  *dble;   /* for TAO */
  float       w[ENTRIES], g[ENTRIES], *r;
  double      wd[ENTRIES], gd[ENTRIES], td[ENTRIES], *rd;
  PetscInt    batch, subset, last;            /* functions of a gradient of Muon's, 0 for all; functions that TAO sees; steps of LSQR */
  PetscInt    passes, interval, marks, first; /* over the functions of a batch or subset; between marks of the history; weight of a Jacobian's first column */
  PetscReal   decay, *errors, history[MARKS][2];
  PetscRandom random;
} Problem;

/* Where the l-th matrix or bias is, its name, and columns of a matrix; 0 for a bias */
static inline PetscInt Layer(PetscInt l, char name[16], PetscInt *columns)
{
  const PetscInt trunk = l / (2 * (HIDDEN + 1)), depth = l / 2 % (HIDDEN + 1), inputs = depth > 0 ? WIDTH : trunk ? INPUTS : SENSORS;

  PetscCallAbort(PETSC_COMM_SELF, PetscSNPrintf(name, 16, "%s.%c%d", trunk ? "trunk" : "branch", l % 2 ? 'b' : 'W', (int)depth));
  *columns = l % 2 ? 0 : inputs;
  return (trunk ? TRUNK0 : 0) + (depth > 0 ? WIDTH * ((trunk ? INPUTS : SENSORS) + 1) + (depth - 1) * LAYER : 0) + (l % 2 ? WIDTH * inputs : 0);
}

static inline PetscReal Mean(PetscInt n, const PetscReal x[])
{
  PetscReal sum = 0;

  for (PetscInt j = 0; j < n; j++) sum += x[j];
  return sum / (PetscReal)n;
}

/* Counts a pass over the data, and adds to the history the error of the weights at which it is, where that is due */
static inline PetscErrorCode Count(Problem *p, PetscBool single)
{
  PetscFunctionBeginUser;
  if (p->interval > 0 && p->marks < MARKS && p->passes >= p->interval * (p->marks + 1)) {
    if (single) PetscCall(TestSingle(p->single, p->w, p->errors));
    else PetscCall(TestDouble(p->dble, p->wd, p->errors));
    p->history[p->marks][0]   = (PetscReal)p->passes;
    p->history[p->marks++][1] = Mean(p->data.tests, p->errors);
  }
  p->passes++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same loss over the functions of all ranks that TAO sees; each rank has all weights */
static inline PetscErrorCode FormFunctionGradient(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Problem *p   = (Problem *)ctx;
  double   sum = 0;

  PetscFunctionBeginUser;
  PetscCall(Copy(x, p->wd, PETSC_FALSE));
  PetscCall(Count(p, PETSC_FALSE));
  PetscCall(PassDouble(p->dble, p->wd, NULL, PETSC_TRUE, p->rd, p->gd));
  for (PetscInt j = 0; j < p->data.chosen * POINTS; j++) sum += p->rd[j] * p->rd[j];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, p->gd, ENTRIES, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < ENTRIES; i++) p->gd[i] *= 2 / (double)(p->subset * POINTS);
  PetscCall(Copy(g, p->gd, PETSC_TRUE));
  *f = (PetscReal)(sum / (double)(p->subset * POINTS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FormResidual(Tao tao, Vec x, Vec r, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  PetscCall(Copy(x, p->wd, PETSC_FALSE));
  PetscCall(Count(p, PETSC_FALSE));
  PetscCall(PassDouble(p->dble, p->wd, NULL, PETSC_TRUE, p->rd, p->gd));
  PetscCall(Copy(r, p->rd, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix without entries: its products are at the weights x */
static inline PetscErrorCode FormJacobian(Tao tao, Vec x, Mat J, Mat Jpre, void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(Copy(x, ((Problem *)ctx)->wd, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MultJacobian(Mat J, Vec t, Vec r)
{
  Problem *p;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(J, &p));
  PetscCall(PetscArrayzero(p->td, ENTRIES));
  PetscCall(Copy(t, p->td + p->first, PETSC_FALSE));
  PetscCall(Count(p, PETSC_FALSE));
  PetscCall(PassDouble(p->dble, p->wd, p->td, PETSC_FALSE, p->rd, NULL));
  PetscCall(Copy(r, p->rd, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MultTransposeJacobian(Mat J, Vec r, Vec g)
{
  Problem *p;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(J, &p));
  PetscCall(Copy(r, p->rd, PETSC_FALSE));
  PetscCall(Count(p, PETSC_FALSE));
  PetscCall(PassDouble(p->dble, p->wd, NULL, PETSC_FALSE, p->rd, p->gd));
  PetscCall(Copy(g, p->gd + p->first, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The derivative of the predictions by so many weights from the first one on */
static inline PetscErrorCode CreateJacobian(Problem *p, PetscInt first, PetscInt columns, Mat *J)
{
  const PetscInt rows = p->data.chosen * POINTS;

  PetscFunctionBeginUser;
  p->first = first;
  PetscCheck(p->data.n == p->data.all, PETSC_COMM_WORLD, PETSC_ERR_SUP, "-" PROBLEM "_last and -tao_type brgn: expected one rank, which has all functions");
  PetscCall(MatCreateShell(PETSC_COMM_SELF, rows, columns, rows, columns, p, J));
  PetscCall(MatShellSetOperation(*J, MATOP_MULT, (void (*)(void))MultJacobian));
  PetscCall(MatShellSetOperation(*J, MATOP_MULT_TRANSPOSE, (void (*)(void))MultTransposeJacobian));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SolveTao(Problem *p)
{
  Tao       tao;
  Vec       x, r;
  Mat       J;
  PetscBool squares;

  PetscFunctionBeginUser;
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, ENTRIES, &x));
  PetscCall(Copy(x, p->wd, PETSC_TRUE));
  PetscCall(TaoCreate(PETSC_COMM_SELF, &tao));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, FormFunctionGradient, p));
  PetscCall(TaoSetTolerances(tao, 0, 0, 0));
  PetscCall(TaoSetMaximumIterations(tao, 40000));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(PetscObjectTypeCompare((PetscObject)tao, TAOBRGN, &squares));
  if (squares) {
    PetscCall(CreateJacobian(p, 0, ENTRIES, &J));
    PetscCall(MatCreateVecs(J, NULL, &r));
    PetscCall(TaoSetResidualRoutine(tao, r, FormResidual, p));
    PetscCall(TaoSetJacobianResidualRoutine(tao, J, J, FormJacobian, p));
    PetscCall(VecDestroy(&r));
    PetscCall(MatDestroy(&J));
  }
  PetscCall(TaoSolve(tao));
  PetscCall(Copy(x, p->wd, PETSC_FALSE));
  PetscCall(TaoDestroy(&tao));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The branch's last matrix and bias, in which predictions are linear, by least squares: LSQR from where they are */
static inline PetscErrorCode SolveLast(Problem *p)
{
  const PetscInt where = TRUNK0 - LAYER;
  Mat            J;
  Vec            r, d;
  KSP            ksp;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(CreateJacobian(p, where, LAYER, &J));
  PetscCall(MatCreateVecs(J, &d, &r));
  PetscCall(Count(p, PETSC_FALSE));
  PetscCall(PassDouble(p->dble, p->wd, NULL, PETSC_TRUE, p->rd, p->gd));
  PetscCall(Copy(r, p->rd, PETSC_TRUE));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPLSQR));
  PetscCall(KSPSetOperators(ksp, J, J));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, p->last));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, r, d));
  PetscCall(Copy(d, p->td, PETSC_FALSE));
  for (PetscInt i = 0; i < LAYER; i++) p->wd[where + i] -= p->td[i];
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&J));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CreateProblem(PetscInt seed, PetscInt functions, PetscInt tests, Problem *p)
{
  char     name[16];
  PetscInt columns;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &p->random));
  PetscCall(PetscRandomSetType(p->random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(p->random, (unsigned long)seed));
  PetscCall(PetscRandomSeed(p->random));
  PetscCall(CreateData(p->random, functions, tests, &p->data));
  PetscCall(CreateImages(&p->data));
  for (PetscInt l = 0; l < LAYERS; l++) { /* Glorot's weights, biases of zero */
    double *w = p->wd + Layer(l, name, &columns);

    for (PetscInt i = 0; i < WIDTH * columns; i++) {
      PetscCall(Normal(p->random, &w[i]));
      w[i] *= sqrt(2 / (double)(WIDTH + columns));
    }
  }
  for (PetscInt i = 0; i < ENTRIES; i++) p->w[i] = (float)p->wd[i];
  PetscCall(CreateSingle(&p->data, &p->single));
  PetscCall(CreateDouble(&p->data, &p->dble));
  PetscCall(PetscMalloc3(p->data.n * POINTS, &p->r, p->data.n * POINTS, &p->rd, tests, &p->errors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode DestroyProblem(Problem **p)
{
  PetscFunctionBeginUser;
  PetscCall(DestroySingle(&(*p)->single));
  PetscCall(DestroyDouble(&(*p)->dble));
  PetscCall(PetscFree3((*p)->r, (*p)->rd, (*p)->errors));
  PetscCall(DestroyData(&(*p)->data));
  PetscCall(PetscRandomDestroy(&(*p)->random));
  PetscCall(PetscFree(*p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mean square over the functions of this rank, or over a batch of them */
static inline PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p   = (Problem *)ctx;
  double   sum = 0;
  PetscInt rows;

  PetscFunctionBeginUser;
  if (p->batch > 0) PetscCall(Choose(&p->data, p->data.chosen, p->random));
  rows = p->data.chosen * POINTS;
  PetscCall(Count(p, PETSC_TRUE));
  PetscCall(PassSingle(p->single, p->w, NULL, PETSC_TRUE, p->r, p->g));
  for (PetscInt j = 0; j < rows; j++) sum += (double)p->r[j] * (double)p->r[j];
  for (PetscInt i = 0; i < ENTRIES; i++) p->g[i] *= 2 / (float)rows;
  *loss = (PetscReal)sum / (PetscReal)rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The published schedule */
static inline PetscErrorCode Decay(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx)
{
  PetscFunctionBeginUser;
  *factor *= PetscPowReal(((Problem *)ctx)->decay, (PetscReal)step / DECAY);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SolveMuon(Problem *p, PetscLogDouble *sent)
{
  Muon           muon;
  MuonTraffic    traffic;
  MuonLayerArray array;
  PetscMPIInt    size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (p->batch > 0) PetscCall(Choose(&p->data, p->batch / size, NULL));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    char     name[16];
    PetscInt columns, first = Layer(l, name, &columns);

    PetscCall(MuonLayerArrayInitialize(&array));
    array.type = PETSC_FLOAT;
    array.M    = WIDTH;
    array.N    = PetscMax(columns, 1);
    array.w    = p->w + first;
    array.g    = p->g + first;
    PetscCall(MuonAddLayerArray(muon, name, &array, NULL));
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, p));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.b?:adamw,trunk.W0:adamw"));
  PetscCall(MuonSetMaxSteps(muon, STEPS));
  if (p->decay < 1) PetscCall(MuonSetScheduleFunction(muon, Decay, p));
  else PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetWorkerWeight(muon, (PetscReal)p->data.chosen));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetTraffic(muon, &traffic));
  *sent = (traffic.total_up[MUON_TRAFFIC_ENCODED] + traffic.total_down[MUON_TRAFFIC_ENCODED]) / 8;
  PetscCall(MuonDestroy(&muon));
  for (PetscInt i = 0; i < ENTRIES; i++) p->wd[i] = (double)p->w[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors, and what they cost; with a history also the errors on the way */
static inline PetscErrorCode Report(Problem *p, double seconds, PetscLogDouble sent)
{
  PetscReal mean, deviation = 0;
  double    loss = 0;

  PetscFunctionBeginUser;
  PetscCall(TestDouble(p->dble, p->wd, p->errors));
  mean = Mean(p->data.tests, p->errors);
  for (PetscInt j = 0; j < p->data.tests; j++) deviation += PetscSqr(p->errors[j] - mean) / (PetscReal)p->data.tests;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "relative error %.3e, deviation %.3e; %.1e " FORMULA "\n", (double)mean, (double)PetscSqrtReal(deviation), p->data.simple));
  if (p->interval == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Choose(&p->data, p->data.n, NULL));
  PetscCall(PassDouble(p->dble, p->wd, NULL, PETSC_TRUE, p->rd, p->gd));
  for (PetscInt j = 0; j < p->data.n * POINTS; j++) loss += p->rd[j] * p->rd[j] / (double)(p->data.all * POINTS);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "passes %" PetscInt_FMT " seconds %.4g bytes %.4g loss %.3e\nhistory", p->passes, seconds, (double)sent, loss));
  for (PetscInt i = 0; i < p->marks; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %d:%.3e", (int)p->history[i][0], (double)p->history[i][1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The program; check() prints what errors the data have */
static inline PetscErrorCode Run(PetscErrorCode (*check)(const Data *))
{
  PetscInt       seed = 1, functions = FUNCTIONS, tests = TESTS;
  PetscBool      checked = PETSC_FALSE, tao;
  PetscMPIInt    size, rank;
  PetscLogDouble sent = 0;
  Problem       *p;
  clock_t        start;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&p));
  p->decay = 1;
  p->batch = BATCH;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscOptionsBegin(PETSC_COMM_WORLD, PROBLEM "_", "DeepONet", NULL);
  PetscCall(PetscOptionsBoundedInt("-functions", "To train with, on all ranks", NULL, functions, &functions, NULL, size));
  p->subset = functions;
  PetscCall(PetscOptionsBoundedInt("-batch", "Functions of one of Muon's gradients, on all ranks; 0 for all functions", NULL, p->batch, &p->batch, NULL, 0));
  PetscCall(PetscOptionsRangeInt("-subset", "The first functions, which TAO sees", NULL, p->subset, &p->subset, NULL, size, functions));
  PetscCall(PetscOptionsBoundedInt("-tests", "Functions to test with", NULL, tests, &tests, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-seed", "Of data, weights and batches", NULL, seed, &seed, NULL, 1));
  PetscCall(PetscOptionsReal("-decay", "Factor of Muon's rates, as often as in the published schedule", NULL, p->decay, &p->decay, NULL));
  PetscCall(PetscOptionsBoundedInt("-last", "Steps of LSQR for the branch's last layer, at the end", NULL, p->last, &p->last, NULL, 0));
  PetscCall(PetscOptionsBoundedInt("-history", "Passes over the data between errors of the history, which goes with costs", NULL, p->interval, &p->interval, NULL, 0));
  PetscCall(PetscOptionsBool("-check", "Errors of the data", NULL, checked, &checked, NULL));
  PetscOptionsEnd();
  PetscCheck(p->decay > 0 && p->decay <= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-" PROBLEM "_decay %g: expected a factor in (0,1]", (double)p->decay);
  PetscCheck(p->batch % size == 0 && p->batch / size <= functions / size, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-" PROBLEM "_batch %" PetscInt_FMT ": expected at most the %" PetscInt_FMT " functions, and as many on each of the %d ranks",
             p->batch, functions, size);
  PetscCall(PetscOptionsHasName(NULL, NULL, "-tao_type", &tao));
  PetscCall(CreateProblem(seed, functions, tests, p));
  if (checked) PetscCall(check(&p->data));
  start = clock(); /* PetscGetCPUTime() has other units in PETSc 3.18 */
  PetscCall(SolveMuon(p, &sent));
  PetscCall(Choose(&p->data, p->subset / size + (rank < p->subset % size ? 1 : 0), NULL));
  if (tao) PetscCall(SolveTao(p));
  if (p->last > 0) PetscCall(SolveLast(p));
  PetscCall(Report(p, (double)(clock() - start) / CLOCKS_PER_SEC, sent));
  PetscCall(DestroyProblem(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
