static char help[] = "Recovers a matrix of low rank from fewer noisy measurements than it has entries, in a program that knows TAO and not this library.\n"
                     "The norm of the steps decides: steps of rank one (nuclear) lead to a matrix of low rank, steps that are optimal entry by entry do not.\n\n"
                     "  ./sensing -tao_type lmvm\n"
                     "  ./sensing -dll_append $PETSCMUON/lib/libpetscmuon.so -tao_type muon -lmo_type nuclear -muon_learning_rate 0.01 -muon_schedule linear -muon_momentum 0\n\n";

#include <petsctao.h>
#include "lowrank.h"

#define ROWS    40
#define COLUMNS 30
#define RANK    2
#define NOISE   0.05 /* standard deviation; that of a measurement is 1 */

typedef struct {
  Mat A;    /* a row is a measurement: <A_i, X> */
  Vec y, r; /* what was measured, and the residual */
} Sensing;

/* A matrix of rank RANK and Frobenius norm 1, in the order of the entries that a Vec of its columns has */
static PetscErrorCode CreateTruth(PetscRandom random, Vec *truth)
{
  PetscScalar *x;

  PetscFunctionBeginUser;
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, ROWS * COLUMNS, truth));
  PetscCall(VecGetArrayWrite(*truth, &x));
  PetscCall(FillLowRank(random, ROWS, COLUMNS, RANK, x));
  PetscCall(VecRestoreArrayWrite(*truth, &x));
  PetscCall(VecNormalize(*truth, NULL));
  PetscFunctionReturn(0);
}

/* Normally distributed measurements: y_i = <A_i, X> + noise */
static PetscErrorCode CreateSensing(PetscRandom random, Vec truth, PetscInt n, Sensing *s)
{
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, ROWS * COLUMNS, NULL, &s->A));
  PetscCall(MatDenseGetArrayWrite(s->A, &a));
  PetscCall(FillNormal(random, 1, n * ROWS * COLUMNS, a));
  PetscCall(MatDenseRestoreArrayWrite(s->A, &a));
  PetscCall(MatCreateVecs(s->A, NULL, &s->y));
  PetscCall(VecDuplicate(s->y, &s->r));
  PetscCall(VecGetArrayWrite(s->r, &a));
  PetscCall(FillNormal(random, NOISE, n, a));
  PetscCall(VecRestoreArrayWrite(s->r, &a));
  PetscCall(MatMultAdd(s->A, truth, s->r, s->y));
  PetscFunctionReturn(0);
}

/* f = |A x - y|^2 / (2 n), with gradient A^T (A x - y) / n */
static PetscErrorCode FormFunctionGradient(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Sensing  *s = (Sensing *)ctx;
  PetscInt  n;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(MatMult(s->A, x, s->r));
  PetscCall(VecAXPY(s->r, -1, s->y));
  PetscCall(VecNorm(s->r, NORM_2, &norm));
  PetscCall(VecGetSize(s->r, &n));
  *f = norm * norm / (2 * (PetscReal)n);
  PetscCall(MatMultTranspose(s->A, s->r, g));
  PetscCall(VecScale(g, 1 / (PetscReal)n));
  PetscFunctionReturn(0);
}

/* One instance, from zero; the error relative to the truth, whose norm is 1 */
static PetscErrorCode Recover(PetscInt instance, PetscInt n, PetscReal *error)
{
  Sensing     s;
  PetscRandom random;
  Vec         truth, x;
  Tao         tao;

  PetscFunctionBeginUser;
  PetscCall(CreateRandom((unsigned long)instance + 1, &random));
  PetscCall(CreateTruth(random, &truth));
  PetscCall(CreateSensing(random, truth, n, &s));
  PetscCall(VecDuplicate(truth, &x));
  PetscCall(VecSet(x, 0));
  PetscCall(SetLayers(x, 1, ROWS, COLUMNS));

  PetscCall(TaoCreate(PETSC_COMM_SELF, &tao));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, FormFunctionGradient, &s));
  PetscCall(TaoSetMaximumIterations(tao, 400));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoSolve(tao));
  PetscCall(VecAXPY(x, -1, truth));
  PetscCall(VecNorm(x, NORM_2, error));

  PetscCall(TaoDestroy(&tao));
  PetscCall(MatDestroy(&s.A));
  PetscCall(VecDestroy(&s.y));
  PetscCall(VecDestroy(&s.r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&truth));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  n[16] = {500}, many = 16, instances = 3;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-measurements", n, &many, &set));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-instances", &instances, NULL));
  PetscCheck(instances >= 1 && instances <= 100, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-instances: %" PetscInt_FMT ", expected 1 to 100", instances);
  for (PetscInt k = 0; k < (set ? many : 1); k++) {
    PetscReal error[100];

    PetscCheck(n[k] >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-measurements: %" PetscInt_FMT ", expected at least 1", n[k]);
    for (PetscInt i = 0; i < instances; i++) PetscCall(Recover(i, n[k], &error[i]));
    PetscCall(PetscSortReal(instances, error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%4" PetscInt_FMT " measurements of %d entries: relative error %.2f to %.2f, median %.2f\n", n[k], ROWS * COLUMNS, (double)error[0], (double)error[instances - 1], (double)error[instances / 2]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    output_file: README.md
    tolerance: 0.03
    test:
      suffix: lmvm
      args: -measurements 300,500,1500 -tao_type lmvm
    test:
      suffix: nuclear
      args: -measurements 300,500,1500 -dll_append ${BUILD}/lib/libpetscmuon.so -tao_type muon -lmo_type nuclear -muon_learning_rate 0.01 -muon_schedule linear -muon_momentum 0
  table: suffix | args | error
    instances    | -instances 0        | -instances
    measurements | -measurements 500,0 | -measurements

TEST*/
