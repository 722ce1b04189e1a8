static char help[] = "Types outside of the library: alone they do what they say, and together they train.\n";

#include "extend.h"

#define ROWS    4
#define COLUMNS 3
#define STEPS   60
#define RATE    ((PetscReal)0.0625)

/* Two layers that follow a target; everything is a multiple of 1/8 at first */
typedef struct {
  Mat       W[2];
  MuonLayer layer[2];
} Problem;

static PetscReal Target(PetscInt l, PetscInt i)
{
  return (PetscReal)((i * 7 + l) % 5 - 2) / 4 + (PetscReal)0.125;
}

static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  *loss = 0;
  for (PetscInt l = 0; l < 2; l++) {
    const PetscScalar *w;
    PetscScalar       *g;
    Mat                G;

    PetscCall(MuonLayerGetGradient(p->layer[l], &G));
    PetscCall(MatDenseGetArrayRead(p->W[l], &w));
    PetscCall(MatDenseGetArrayWrite(G, &g));
    for (PetscInt i = 0; i < ROWS * COLUMNS; i++) {
      g[i] = w[i] - Target(l, i);
      *loss += PetscRealPart(g[i] * g[i]) / 2;
    }
    PetscCall(MatDenseRestoreArrayWrite(G, &g));
    PetscCall(MatDenseRestoreArrayRead(p->W[l], &w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows (3 4 0), (0 0 1), zero, (-3 0 4): the largest norm is 5, first in the first row, and the sum 11; rows over all ranks */
static PetscErrorCode CheckNorm(void)
{
  const PetscScalar rows[ROWS][COLUMNS] = {{3, 4, 0}, {0, 0, 1}, {0, 0, 0}, {-3, 0, 4}};
  MuonLMO           lmo;
  Mat               G, D;
  PetscInt          first, last;
  PetscReal         norm, dual;

  PetscFunctionBeginUser;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLUMNS, NULL, &G));
  PetscCall(MatGetOwnershipRange(G, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < COLUMNS; j++) PetscCall(MatSetValue(G, i, j, rows[i][j], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(G, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(G, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(G, MAT_COPY_VALUES, &D));
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOSetType(lmo, "rowl21"));
  PetscCall(MuonLMOComputeNorm(lmo, G, &norm));
  PetscCall(MuonLMOComputeDualNorm(lmo, G, &dual));
  PetscCheck(norm == 11 && dual == 5, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "rowl21: norm %g, expected 11, dual norm %g, expected 5", (double)norm, (double)dual);
  PetscCall(MuonLMOApply(lmo, G, D, NULL, NULL));
  for (PetscInt i = first; i < last; i++) {
    for (PetscInt j = 0; j < COLUMNS; j++) {
      const PetscScalar expected = i == 0 ? -rows[0][j] / 5 : 0;
      PetscScalar       d;

      PetscCall(MatGetValue(D, i, j, &d));
      PetscCheck(PetscAbsScalar(d - expected) <= PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "rowl21: entry (%" PetscInt_FMT ",%" PetscInt_FMT ") of the step is %g", i, j, (double)PetscRealPart(d));
    }
  }
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A quarter of the matrix, as -compressor_halve_factor says */
static PetscErrorCode CheckCompressor(void)
{
  MuonCompressor c;
  Mat            X, C;
  PetscReal      alpha, norm;
  PetscScalar   *x;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, &X));
  PetscCall(MatDenseGetArrayWrite(X, &x));
  for (PetscInt i = 0; i < ROWS * COLUMNS; i++) x[i] = Target(0, i);
  PetscCall(MatDenseRestoreArrayWrite(X, &x));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetOptionsPrefix(c, "own_"));
  PetscCall(MuonCompressorSetFromOptions(c));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "native"));
  PetscCall(MuonCompressorGetAlpha(c, ROWS, COLUMNS, &alpha));
  PetscCheck(alpha == (PetscReal)0.4375, PETSC_COMM_SELF, PETSC_ERR_PLIB, "halve: alpha is %g, expected 7/16", (double)alpha);
  PetscCall(MuonCompressorApply(c, X, C, NULL));
  PetscCall(MatAXPY(C, (PetscScalar)-0.25, X, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
  PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "halve: C(X) is off X/4 by %g", (double)norm);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   From zero weights a step of descent is twice the rate times the target, up to one rounding; ranks have the
   same gradient, whose mean of three may be off by two more
*/
static PetscErrorCode CheckAlgorithm(void)
{
  Problem            p;
  Muon               muon;
  const PetscScalar *w;

  PetscFunctionBeginUser;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonSetType(muon, "descent"));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, &p.W[l]));
    PetscCall(MuonAddLayer(muon, l == 0 ? "a" : "b", p.W[l], &p.layer[l]));
    PetscCall(MuonLayerSetType(p.layer[l], MUONLAYERSGD));
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &p));
  PetscCall(MuonSetLearningRate(muon, RATE));
  PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonStep(muon));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MatDenseGetArrayRead(p.W[l], &w));
    for (PetscInt i = 0; i < ROWS * COLUMNS; i++) {
      const PetscReal expected = 2 * RATE * Target(l, i);

      PetscCheck(PetscAbsReal(PetscRealPart(w[i]) - expected) <= 2 * PETSC_MACHINE_EPSILON * PetscAbsReal(expected), PETSC_COMM_SELF, PETSC_ERR_PLIB, "descent: entry %" PetscInt_FMT " is %g after a step, expected %g", i, (double)PetscRealPart(w[i]),
                 (double)expected);
    }
    PetscCall(MatDenseRestoreArrayRead(p.W[l], &w));
  }
  PetscCall(MuonDestroy(&muon));
  for (PetscInt l = 0; l < 2; l++) PetscCall(MatDestroy(&p.W[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char        *names[] = {"norm", "own"};
  Problem            p;
  Muon               muon;
  PetscReal          before, after;
  const PetscScalar *w;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonLMORegister("rowl21", MuonLMOCreate_RowL21, NULL));
  PetscCall(MuonCompressorRegister_Halve());
  PetscCall(MuonLayerRegister("signsgd", MuonLayerCreate_SignSGD, NULL));
  PetscCall(CheckNorm());
  PetscCall(CheckCompressor());
  PetscCall(MuonRegister("descent", MuonCreate_Descent, NULL));
  PetscCall(CheckAlgorithm());

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, &p.W[l]));
    PetscCall(MuonAddLayer(muon, names[l], p.W[l], &p.layer[l]));
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &p));
  PetscCall(MuonSetLearningRate(muon, RATE));
  PetscCall(MuonSetMaxSteps(muon, STEPS));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonStep(muon));
  PetscCall(MuonGetLoss(muon, &before));
  /* The workers got a half of a step by the rate, whose signs they had sent a half of */
  PetscCall(MatDenseGetArrayRead(p.W[1], &w));
  for (PetscInt i = 0; i < ROWS * COLUMNS; i++) {
    const PetscReal expected = RATE / 2 * (Target(1, i) > 0 ? 1 : -1);

    PetscCheck(PetscRealPart(w[i]) == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "signsgd: entry %" PetscInt_FMT " is %g after a step, expected %g", i, (double)PetscRealPart(w[i]), (double)expected);
  }
  PetscCall(MatDenseRestoreArrayRead(p.W[1], &w));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetLoss(muon, &after));
  PetscCheck(after < before / 10, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The loss went from %g to %g only", (double)before, (double)after);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "norm, compressor, type and algorithm work\n"));
  PetscCall(MuonDestroy(&muon));
  for (PetscInt l = 0; l < 2; l++) PetscCall(MatDestroy(&p.W[l]));
  PetscCall(PetscFinalize());
  return 0;
}
