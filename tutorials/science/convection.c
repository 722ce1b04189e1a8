static char help[] = "A physics-informed network for a wave that moves fast, by Muon, by TAO on the same weights, or by one after the other.\n\n"
                     "  ./convection -muon_max_steps 2000\n"
                     "  ./convection -muon_max_steps 1000 -tao_type lmvm -tao_max_funcs 1000\n\n"
                     "u_t + 40 u_x = 0, u periodic in x, u(x, 0) = sin(x): points, network, loss and error are those of a published program, arXiv:2402.01868.\n"
                     "studies/convection.py runs the study.\n\n";

#include <petscmuon.h>
#include <petsctao.h>
#include <time.h>
#include "convection.h"
#include "vecarray.h"

#define MARKS 20 /* errors in the history of a run */

typedef struct {
  Points     points;
  PetscReal  ranks;
  NetSingle *single; /* for Muon */
  NetDouble *dble;   /* for TAO, and for errors */
  float      w[ENTRIES], g[ENTRIES];
  double     wd[ENTRIES], gd[ENTRIES];
  PetscInt   passes, interval, marks; /* over the points; between marks of the history */
  double     history[MARKS][2];
} Problem;

/* Points, and Glorot's weights with biases of zero */
static PetscErrorCode CreateProblem(PetscInt seed, PetscReal speed, PetscInt interior, Problem *p)
{
  PetscRandom random;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  p->ranks = (PetscReal)size;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(CreatePoints(random, speed, interior, &p->points));
  for (PetscInt l = 0; l < LINEAR; l++) {
    for (PetscInt i = 0; i < Layers[l].rows * (Layers[l].columns - 1); i++) {
      double *w = &p->wd[Layers[l].first + i];

      PetscCall(Normal(random, w));
      *w *= sqrt(2 / (double)(Layers[l].rows + Layers[l].columns - 1));
    }
  }
  for (PetscInt i = 0; i < ENTRIES; i++) p->w[i] = (float)p->wd[i];
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscNew(&p->single));
  PetscCall(PetscNew(&p->dble));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The relative L2 error of the weights wd on the grid */
static PetscErrorCode ComputeError(Problem *p, double *error)
{
  double above = 0, below = 0, x[BLOCK], t[BLOCK];

  PetscFunctionBeginUser;
  for (PetscInt first = 0; first < GRID_X * GRID_T; first += BLOCK) {
    const PetscInt n = PetscMin(BLOCK, GRID_X * GRID_T - first);

    for (PetscInt i = 0; i < n; i++) Place((first + i) % GRID_X, (first + i) / GRID_X, &x[i], &t[i]);
    PetscCall(ForwardDouble(p->dble, p->wd, p->points.speed, n, x, t));
    for (PetscInt i = 0; i < n; i++) {
      const double u = Solution(p->points.speed, x[i], t[i]);

      above += PetscSqr(p->dble->H[LINEAR][i] - u);
      below += u * u;
    }
  }
  *error = sqrt(above / below);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts a pass over the points, and adds to the history the error of the weights at which it is, where that is due */
static PetscErrorCode Count(Problem *p, PetscBool single)
{
  PetscFunctionBeginUser;
  if (p->interval > 0 && p->marks < MARKS && p->passes >= p->interval * (p->marks + 1)) {
    for (PetscInt i = 0; i < ENTRIES && single; i++) p->wd[i] = (double)p->w[i];
    p->history[p->marks][0] = (double)p->passes;
    PetscCall(ComputeError(p, &p->history[p->marks++][1]));
  }
  p->passes++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Muon takes the mean over ranks; the loss is the sum of what is theirs */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p = (Problem *)ctx;
  double   part;

  PetscFunctionBeginUser;
  PetscCall(Count(p, PETSC_TRUE));
  PetscCall(PassSingle(p->single, &p->points, p->w, &part, p->g));
  for (PetscInt i = 0; i < ENTRIES; i++) p->g[i] *= (float)p->ranks;
  *loss = p->ranks * (PetscReal)part;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveMuon(Problem *p, PetscLogDouble *sent)
{
  Muon           muon;
  MuonTraffic    traffic;
  MuonLayerArray array;
  char           name[16];

  PetscFunctionBeginUser;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < 2 * LINEAR; l++) { /* each matrix, and its bias, which follows it */
    const PetscInt rows = Layers[l / 2].rows, inputs = Layers[l / 2].columns - 1, first = Layers[l / 2].first + (l % 2 ? rows * inputs : 0);

    PetscCall(PetscSNPrintf(name, sizeof(name), "u.%s%" PetscInt_FMT, l % 2 ? "b" : "W", l / 2));
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type = PETSC_FLOAT;
    array.M    = rows;
    array.N    = l % 2 ? 1 : inputs;
    array.w    = p->w + first;
    array.g    = p->g + first;
    PetscCall(MuonAddLayerArray(muon, name, &array, NULL));
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, p));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.b?:adamw,u.W0:adamw,u.W3:adamw")); /* the first matrix has two columns, the last one row */
  PetscCall(MuonSetMaxSteps(muon, 41000));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetTraffic(muon, &traffic));
  *sent = (traffic.total_up[MUON_TRAFFIC_ENCODED] + traffic.total_down[MUON_TRAFFIC_ENCODED]) / 8;
  PetscCall(MuonDestroy(&muon));
  for (PetscInt i = 0; i < ENTRIES; i++) p->wd[i] = (double)p->w[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loss and gradient of the weights wd, over the points of all ranks */
static PetscErrorCode ComputeLossAndGradient(Problem *p, double *loss)
{
  PetscFunctionBeginUser;
  PetscCall(PassDouble(p->dble, &p->points, p->wd, loss, p->gd));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, loss, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, p->gd, ENTRIES, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormFunctionGradient(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Problem *p = (Problem *)ctx;
  double   loss;

  PetscFunctionBeginUser;
  PetscCall(Copy(x, p->wd, PETSC_FALSE));
  PetscCall(Count(p, PETSC_FALSE));
  PetscCall(ComputeLossAndGradient(p, &loss));
  PetscCall(Copy(g, p->gd, PETSC_TRUE));
  *f = (PetscReal)loss;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each rank has all weights, and takes the same steps */
static PetscErrorCode SolveTao(Problem *p)
{
  Tao tao;
  Vec x;

  PetscFunctionBeginUser;
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, ENTRIES, &x));
  PetscCall(Copy(x, p->wd, PETSC_TRUE));
  PetscCall(TaoCreate(PETSC_COMM_SELF, &tao));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, FormFunctionGradient, p));
  PetscCall(TaoSetTolerances(tao, 0, 0, 0));
  PetscCall(TaoSetMaximumIterations(tao, 41000));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoSolve(tao));
  PetscCall(Copy(x, p->wd, PETSC_FALSE));
  PetscCall(TaoDestroy(&tao));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Error and loss, and with a history what they cost, and the errors on the way */
static PetscErrorCode Report(Problem *p, double seconds, PetscLogDouble sent)
{
  double error, loss;

  PetscFunctionBeginUser;
  PetscCall(ComputeError(p, &error));
  PetscCall(ComputeLossAndGradient(p, &loss));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "relative error %.3e, loss %.3e\n", error, loss));
  if (p->interval == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "passes %" PetscInt_FMT " seconds %.4g bytes %.4g\nhistory", p->passes, seconds, (double)sent));
  for (PetscInt i = 0; i < p->marks; i++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %d:%.3e", (int)p->history[i][0], p->history[i][1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt       seed = 1, interior = 10000;
  PetscReal      speed = 40;
  PetscBool      tao;
  PetscLogDouble sent = 0;
  Problem       *p;
  clock_t        start;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscNew(&p));
  PetscOptionsBegin(PETSC_COMM_WORLD, "convection_", "Physics-informed network for convection", NULL);
  PetscCall(PetscOptionsReal("-speed", "Of the wave", NULL, speed, &speed, NULL));
  PetscCall(PetscOptionsRangeInt("-points", "Of the grid's interior, drawn once, on all ranks", NULL, interior, &interior, NULL, 1, INSIDE));
  PetscCall(PetscOptionsBoundedInt("-seed", "Of points and weights", NULL, seed, &seed, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-history", "Passes over the points between errors of the history, which goes with costs", NULL, p->interval, &p->interval, NULL, 0));
  PetscOptionsEnd();
  PetscCall(PetscOptionsHasName(NULL, NULL, "-tao_type", &tao));
  PetscCall(CreateProblem(seed, speed, interior, p));
  start = clock(); /* PetscGetCPUTime() has other units in PETSc 3.18 */
  PetscCall(SolveMuon(p, &sent));
  if (tao) PetscCall(SolveTao(p));
  PetscCall(Report(p, (double)(clock() - start) / CLOCKS_PER_SEC, sent));
  PetscCall(DestroyPoints(&p->points));
  PetscCall(PetscFree(p->single));
  PetscCall(PetscFree(p->dble));
  PetscCall(PetscFree(p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    output_file: README.md
    args: -convection_speed 1 -convection_points 1000
    # roundings grow on the way
    tolerance: 0.1
    table: suffix | nsize | args
      muon  | 1 | -muon_max_steps 300 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1
      ranks | 2 | -muon_max_steps 300 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1
      adamw | 1 | -muon_max_steps 300 -muon_layer_types '*:adamw' -muon_adamw_learning_rate 0.01
  # and more where there is a basis or a line search
  testset:
    requires: double
    output_file: README.md
    args: -convection_speed 1 -convection_points 1000
    filter: awk '{print $1, $2, $3 + 0 < 2e-2 ? "is small" : $3}'
    filter_output: awk '{print $1, $2, $3 + 0 < 2e-2 ? "is small" : $3}'
    table: suffix | nsize | args
      soap  | 1 | -muon_max_steps 300 -muon_layer_types '*.b?:adamw,u.W3:adamw,*:soap' -muon_adamw_learning_rate 0.01
      lmvm  | 1 | -muon_max_steps 0 -tao_type lmvm -tao_max_funcs 300
      then  | 2 | -muon_max_steps 150 -muon_learning_rate 0.01 -muon_shape_factor moonlight -muon_adamw_learning_rate -1 -tao_type lmvm -tao_max_funcs 150
  # costs differ in every run but for the passes
  test:
    suffix: history
    requires: double
    args: -convection_points 20 -muon_max_steps 5 -tao_type lmvm -tao_max_it 2 -convection_history 2
    filter: awk '/^passes/ {print $1, ($2 >= 8), NF} /^history/ {print $1, ($2 ~ /^2:/), ($3 ~ /^4:/), (NF > 3)}'
  testset:
    args: -muon_max_steps 1
    table: suffix | nsize | args | error
      points | 1 | -convection_points 25501 | bound 25500

TEST*/
