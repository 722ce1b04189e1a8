static char help[] = "A program that knows TAO and not this library trains a network with -tao_type muon.\n\n"
                     "The type comes with -dll_append and the path of libpetscmuon.so. Objective and gradient are those that any other type gets: compare with -tao_type lmvm.\n"
                     "The weights are matrices in one vector. -tao_muon_layers names them, or the program does, by a text that it composes with the vector (-compose).\n"
                     "-then lmvm goes on with another type from where the first one ended.\n\n";

#include <petsctao.h>

#define D       5  /* inputs */
#define H       12 /* hidden */
#define SAMPLES 48
#define ENTRIES (H * D + H + H)

/* As a program would compose it: rows x columns in the order of the entries, H x D by rows, then vectors */
static char layers[] = "hidden:12x5:row,bias:12,out:12";

typedef struct {
  VecScatter gather;
  Vec        all; /* the whole solution on each rank */
} Model;

static PetscReal Number(PetscInt a, PetscInt b)
{
  const PetscReal number = (PetscReal)1000 * PetscSinReal((PetscReal)(1 + 17 * a + 41 * b));

  return 2 * (number - PetscFloorReal(number)) - 1;
}

/*
   sum_i out_i tanh((W a)_i + bias_i), and where there is a g what its derivatives are multiplied with is
   added to that
*/
static PetscReal Network(const PetscScalar w[], const PetscReal a[D], PetscReal by, PetscScalar g[])
{
  PetscReal y = 0;

  for (PetscInt i = 0; i < H; i++) {
    PetscReal z = PetscRealPart(w[H * D + i]), t;

    for (PetscInt j = 0; j < D; j++) z += PetscRealPart(w[i * D + j]) * a[j];
    t = PetscTanhReal(z);
    y += PetscRealPart(w[H * D + H + i]) * t;
    if (g == NULL) continue;
    g[H * D + H + i] += by * t;
    g[H * D + i] += by * PetscRealPart(w[H * D + H + i]) * (1 - t * t);
    for (PetscInt j = 0; j < D; j++) g[i * D + j] += by * PetscRealPart(w[H * D + H + i]) * (1 - t * t) * a[j];
  }
  return y;
}

/* Mean of squares over the samples, which the ranks share out */
static PetscErrorCode FormFunctionGradient(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Model             *model = (Model *)ctx;
  const PetscScalar *w;
  PetscScalar        sum[ENTRIES], *to;
  PetscInt           first, last;
  PetscMPIInt        rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(VecScatterBegin(model->gather, x, model->all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(model->gather, x, model->all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetArrayRead(model->all, &w));
  *f = 0;
  for (PetscInt e = 0; e < ENTRIES; e++) sum[e] = 0;
  for (PetscInt s = rank; s < SAMPLES; s += size) {
    PetscReal a[D], r;

    for (PetscInt j = 0; j < D; j++) a[j] = Number(s, j);
    r = Network(w, a, 0, NULL) - PetscSinReal(3 * a[0]) * a[1] - a[2] / 2;
    *f += r * r / SAMPLES;
    (void)Network(w, a, 2 * r / SAMPLES, sum);
  }
  PetscCall(VecRestoreArrayRead(model->all, &w));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, f, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, ENTRIES, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(VecGetOwnershipRange(g, &first, &last));
  PetscCall(VecGetArrayWrite(g, &to));
  for (PetscInt e = first; e < last; e++) to[e - first] = sum[e];
  PetscCall(VecRestoreArrayWrite(g, &to));
  PetscFunctionReturn(0);
}

/* With the type that the Tao has, from where the solution is */
static PetscErrorCode Solve(Tao tao, PetscReal before)
{
  TaoType            type;
  PetscInt           its;
  PetscReal          after;
  TaoConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(TaoSolve(tao));
  PetscCall(TaoGetType(tao, &type));
  PetscCall(TaoGetSolutionStatus(tao, &its, &after, NULL, NULL, NULL, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s after %" PetscInt_FMT " iterations, loss below a tenth of what it was: %s\n", type, TaoConvergedReasons[reason], its, after < before / 10 ? "yes" : "no"));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Model     model;
  Vec       x, g;
  Tao       tao;
  char      then[32];
  PetscInt  first, last;
  PetscReal before;
  PetscBool compose = PETSC_FALSE, second;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, ENTRIES, &x));
  PetscCall(VecDuplicate(x, &g));
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  for (PetscInt e = first; e < last; e++) PetscCall(VecSetValue(x, e, Number(e, 100) / 2, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscCall(VecScatterCreateToAll(x, &model.gather, &model.all));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-compose", &compose, NULL));
  if (compose) {
    PetscContainer text;

    PetscCall(PetscContainerCreate(PETSC_COMM_WORLD, &text));
    PetscCall(PetscContainerSetPointer(text, layers));
    PetscCall(PetscObjectCompose((PetscObject)x, "MuonLayers", (PetscObject)text));
    PetscCall(PetscContainerDestroy(&text));
  }

  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, FormFunctionGradient, &model));
  PetscCall(TaoSetMaximumIterations(tao, 300));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoComputeObjectiveAndGradient(tao, x, &before, g));
  PetscCall(Solve(tao, before));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-then", then, sizeof(then), &second));
  if (second) {
    PetscCall(TaoSetType(tao, then));
    PetscCall(Solve(tao, before));
  }

  PetscCall(TaoDestroy(&tao));
  PetscCall(VecScatterDestroy(&model.gather));
  PetscCall(VecDestroy(&model.all));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&g));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: !complex

  testset:
    args: -dll_append ${BUILD}/lib/libpetscmuon.so -tao_type muon
    output_file: output/ex6_check.out
    table: suffix | nsize | args
      check   | {{1 3}} | -tao_muon_layers hidden:12x5:row,bias:12,out:12
      compose | 3       | -compose -muon_assembly {{allgather owner}}
  test:
    suffix: monitor
    nsize: 2
    requires: double
    args: -dll_append ${BUILD}/lib/libpetscmuon.so -tao_type muon -compose -tao_max_it 3 -tao_monitor
    tolerance: 1e-3
    filter: sed 's/ *$//'
  # Far from a minimum by Muon, near it by L-BFGS, on the same vector
  test:
    suffix: then
    nsize: {{1 2}}
    args: -dll_append ${BUILD}/lib/libpetscmuon.so -tao_type muon -compose -tao_max_it 100 -then lmvm
  # The solution as one vector
  test:
    suffix: vector
    nsize: 3
    args: -dll_append ${BUILD}/lib/libpetscmuon.so -tao_type muon -muon_adamw_learning_rate 0.05

TEST*/
