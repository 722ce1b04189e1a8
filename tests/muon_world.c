static char help[] = "A matrix and a vector on PETSC_COMM_WORLD mean the same on any number of ranks: one worker that has all rows.\n\n";

#include <petscmuon.h>
#include "number_common.h"

#define ROWS    12
#define COLUMNS 5

typedef struct {
  MuonLayer layer[2];
  Mat       A;
  Vec       b;
} World;

/*
   f = |W - A|^2 / 2 + |w - b|^2 / 2, by the collective operations of PETSc on the objects that the optimizer
   gives
*/
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  World    *world = (World *)ctx;
  Mat       W, G;
  Vec       w, g;
  PetscReal norm[2];
  int       same;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeights(world->layer[0], &W));
  PetscCall(MuonLayerGetGradient(world->layer[0], &G));
  PetscCallMPI(MPI_Comm_compare(PetscObjectComm((PetscObject)W), PetscObjectComm((PetscObject)G), &same));
  PetscCheck(same == MPI_IDENT || same == MPI_CONGRUENT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient is on other ranks than the weights");
  PetscCall(MatCopy(W, G, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(G, -1, world->A, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(G, NORM_FROBENIUS, &norm[0]));
  PetscCall(MuonLayerGetWeightsVec(world->layer[1], &w));
  PetscCall(MuonLayerGetGradientVec(world->layer[1], &g));
  PetscCall(VecWAXPY(g, -1, world->b, w));
  PetscCall(VecNorm(g, NORM_2, &norm[1]));
  *loss = (norm[0] * norm[0] + norm[1] * norm[1]) / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fill(Mat A, Vec b, PetscInt which)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < COLUMNS; j++) PetscCall(MatSetValue(A, i, j, (PetscReal)(TestHash(i, j, which, 0) % 1024) / 512 - 1, INSERT_VALUES));
    PetscCall(VecSetValue(b, i, (PetscReal)(TestHash(i, 0, which, 1) % 1024) / 512 - 1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const types[] = {MATDENSE, MATMPIDENSE};
  Muon              muon;
  Mat               W;
  Vec               w;
  World             world;
  PetscReal         norm[2], loss, error;
  PetscBool         mpi = PETSC_FALSE, own = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mpi", &mpi, NULL)); /* the parallel types, which PETSc has on one rank too */
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-own", &own, NULL)); /* gradients of the caller's */
  PetscCall(MatCreate(PETSC_COMM_WORLD, &W));
  PetscCall(MatSetSizes(W, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLUMNS));
  PetscCall(MatSetType(W, types[mpi]));
  PetscCall(MatSetUp(W));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &w));
  PetscCall(VecSetSizes(w, PETSC_DECIDE, ROWS));
  PetscCall(VecSetType(w, mpi ? VECMPI : VECSTANDARD));
  PetscCall(Fill(W, w, 0));
  PetscCall(MatDuplicate(W, MAT_COPY_VALUES, &world.A));
  PetscCall(VecDuplicate(w, &world.b));
  PetscCall(Fill(world.A, world.b, 1));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "matrix", W, &world.layer[0]));
  PetscCall(MuonAddVecLayer(muon, "vector", w, &world.layer[1]));
  PetscCall(MuonLayerSetType(world.layer[1], MUONLAYERADAMW));
  if (own) {
    Mat G;
    Vec g;

    PetscCall(MatDuplicate(W, MAT_DO_NOT_COPY_VALUES, &G));
    PetscCall(VecDuplicate(w, &g));
    PetscCall(MuonLayerSetGradient(world.layer[0], G));
    PetscCall(MuonLayerSetGradientVec(world.layer[1], g));
    PetscCall(MatDestroy(&G));
    PetscCall(VecDestroy(&g));
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &world));
  PetscCall(MuonSetMaxSteps(muon, 20));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_CONSTANT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonTestGradient(muon, &error));
  /*
     Central differences of squares have no error but rounding: of losses below 100 that are sums of 72 terms,
     over 2 h, h being the third root of the roundoff; slopes are not below 0.1
  */
  PetscCheck(error <= 72 * 100 * PETSC_MACHINE_EPSILON / (PetscReal)0.1 / PetscPowReal(PETSC_MACHINE_EPSILON, (PetscReal)1 / 3), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A right gradient is wrong by %g", (double)error);
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetLoss(muon, &loss));
  PetscCall(MatNorm(W, NORM_FROBENIUS, &norm[0]));
  PetscCall(VecNorm(w, NORM_2, &norm[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "loss %.6f matrix %.6f vector %.6f\n", (double)loss, (double)norm[0], (double)norm[1]));
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&world.A));
  PetscCall(VecDestroy(&world.b));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/muon_world.out
    tolerance: 1e-4
    nsize: {{1 2}}
    filter: grep -v "^gradient of layer"
    table: suffix | args
          | -mpi {{0 1}}
      own | -own -mpi {{0 1}}

TEST*/
