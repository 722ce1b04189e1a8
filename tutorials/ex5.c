static char help[] = "All unknowns of a program in one vector: its matrices are layers, wherever their entries are.\n\n"
                     "A linear model y = W a + b is fitted to samples. W and b lie one behind the other in a vector x, as PETSc's solvers have unknowns; MuonAddVecLayers() says so.\n"
                     "With -whole each rank has all of x and samples of its own, and is a worker. Without it the ranks share out the entries of x, and are one worker together.\n"
                     "The result is the same up to rounding: a mean of gradients is formed either way, by the optimizer or by the program.\n\n";

#include <petscmuon.h>

#define M       6  /* outputs */
#define K       4  /* inputs */
#define SAMPLES 60 /* of all ranks */

typedef struct {
  Vec         x, g;
  VecScatter  gather; /* of x, to all of it on each rank */
  Vec         all;
  PetscMPIInt rank, size;
  PetscBool   whole;
  PetscReal   loss; /* mean over the samples, at the weights of the last step */
} Model;

/* Numbers in [-1, 1) that every rank knows */
static PetscReal Number(PetscInt a, PetscInt b)
{
  const PetscReal number = (PetscReal)1000 * PetscSinReal((PetscReal)(1 + 17 * a + 41 * b));

  return 2 * (number - PetscFloorReal(number)) - 1;
}

/* Output i of sample s: what the model has to find is W = Number(i, 1000 + j) and b = Number(i, 2000) */
static PetscReal Target(PetscInt s, PetscInt i)
{
  PetscReal y = Number(i, 2000);

  for (PetscInt j = 0; j < K; j++) y += Number(i, 1000 + j) * Number(s, 3000 + j);
  return y;
}

/*
   Loss and gradient of this rank's samples, each a part of the mean over all of them. Row i of W is w[i K]
   ... w[i K + K - 1], behind W is b
*/
static void Evaluate(const Model *model, const PetscScalar w[], PetscReal *loss, PetscScalar g[])
{
  const PetscScalar *b = w + M * K;

  *loss = 0;
  for (PetscInt e = 0; e < M * K + M; e++) g[e] = 0;
  for (PetscInt s = model->rank; s < SAMPLES; s += model->size) {
    for (PetscInt i = 0; i < M; i++) {
      PetscReal r = PetscRealPart(b[i]) - Target(s, i);

      for (PetscInt j = 0; j < K; j++) r += PetscRealPart(w[i * K + j]) * Number(s, 3000 + j);
      *loss += r * r / (2 * SAMPLES);
      g[M * K + i] += r / SAMPLES;
      for (PetscInt j = 0; j < K; j++) g[i * K + j] += r * Number(s, 3000 + j) / SAMPLES;
    }
  }
}

static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Model             *model = (Model *)ctx;
  PetscScalar        sum[M * K + M], *g;
  const PetscScalar *w;
  PetscInt           first, last;

  PetscFunctionBeginUser;
  PetscCall(VecScatterBegin(model->gather, model->x, model->all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(model->gather, model->x, model->all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetArrayRead(model->all, &w));
  Evaluate(model, w, loss, sum);
  PetscCall(VecRestoreArrayRead(model->all, &w));
  PetscCallMPI(MPI_Allreduce(loss, &model->loss, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  /*
     The gradient of a worker is a mean over its own samples. One worker sums over its ranks by itself; many
     leave that to the optimizer
  */
  if (model->whole) {
    for (PetscInt e = 0; e < M * K + M; e++) sum[e] *= model->size;
    *loss *= model->size;
  } else {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, M * K + M, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    *loss = model->loss;
  }
  PetscCall(VecGetOwnershipRange(model->g, &first, &last));
  PetscCall(VecGetArrayWrite(model->g, &g));
  for (PetscInt e = first; e < last; e++) g[e - first] = sum[e];
  PetscCall(VecRestoreArrayWrite(model->g, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const names[] = {"w", "b"};
  const PetscInt    rows[] = {M, M}, columns[] = {K, 1};
  const PetscBool   rowmajor[] = {PETSC_TRUE, PETSC_FALSE};
  Model             model;
  Muon              muon;
  PetscReal         first;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &model.rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &model.size));
  model.whole = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-whole", &model.whole, NULL));
  PetscCall(VecCreate(model.whole ? PETSC_COMM_SELF : PETSC_COMM_WORLD, &model.x));
  PetscCall(VecSetSizes(model.x, PETSC_DECIDE, M * K + M));
  PetscCall(VecSetType(model.x, VECSTANDARD));
  PetscCall(VecDuplicate(model.x, &model.g));
  PetscCall(VecScatterCreateToAll(model.x, &model.gather, &model.all));

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddVecLayers(muon, model.x, model.g, 2, names, rows, columns, rowmajor));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &model));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.1));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT)); /* steps of a norm ball do not shrink by themselves */
  PetscCall(MuonSetMaxSteps(muon, 100));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonStep(muon));
  first = model.loss;
  PetscCall(MuonSolve(muon));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "loss %.4f before the first step, below a thousandth of it before the last one: %s\n", (double)first, model.loss < first / 1000 ? "yes" : "no"));

  PetscCall(MuonDestroy(&muon));
  PetscCall(VecScatterDestroy(&model.gather));
  PetscCall(VecDestroy(&model.all));
  PetscCall(VecDestroy(&model.x));
  PetscCall(VecDestroy(&model.g));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: !complex
    output_file: output/ex5_check.out
    tolerance: 1e-3
    table: suffix | nsize | args
      check    | {{1 3}} |
      assembly | 3       | -muon_assembly {{allgather owner}}
      whole    | 3       | -whole
      sent     | 3       | -whole -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.5

TEST*/
