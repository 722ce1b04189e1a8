/* The problem of antiderivative.c as TAO sees it: loss and gradient, residual and Jacobian, in double precision */
#pragma once

#include <petsctao.h>
#include "antiderivative.h"
#include "vecarray.h"

#define MARKS 20 /* errors in the history of a run */

typedef struct {
  Data       data;
  NetSingle *single; /* for Muon */
  NetDouble *dble;   /* for TAO */
  float      w[ENTRIES], g[ENTRIES], *r;
  double     wd[ENTRIES], gd[ENTRIES], td[ENTRIES], *rd;
  PetscInt   passes, interval, marks, first; /* over the data; between marks of the history; weight of a Jacobian's first column */
  PetscReal  decay, *errors, history[MARKS][2];
} Problem;

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

/* The same loss over the functions of all ranks; each rank has all weights */
static inline PetscErrorCode FormFunctionGradient(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Problem *p   = (Problem *)ctx;
  double   sum = 0;

  PetscFunctionBeginUser;
  PetscCall(Copy(x, p->wd, PETSC_FALSE));
  PetscCall(Count(p, PETSC_FALSE));
  PetscCall(PassDouble(p->dble, p->wd, NULL, PETSC_TRUE, p->rd, p->gd));
  for (PetscInt j = 0; j < p->data.n; j++) sum += p->rd[j] * p->rd[j];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, p->gd, ENTRIES, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < ENTRIES; i++) p->gd[i] *= 2 / (double)p->data.all;
  PetscCall(Copy(g, p->gd, PETSC_TRUE));
  *f = (PetscReal)(sum / (double)p->data.all);
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
  PetscFunctionBeginUser;
  p->first = first;
  PetscCheck(p->data.n == p->data.all, PETSC_COMM_WORLD, PETSC_ERR_SUP, "-antiderivative_last and -tao_type brgn: expected one rank, which has all functions");
  PetscCall(MatCreateShell(PETSC_COMM_SELF, p->data.n, columns, p->data.n, columns, p, J));
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
static inline PetscErrorCode SolveLast(Problem *p, PetscInt iterations)
{
  Mat J;
  Vec r, d;
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(CreateJacobian(p, BRANCH1, TRUNK0 - BRANCH1, &J));
  PetscCall(MatCreateVecs(J, &d, &r));
  PetscCall(Count(p, PETSC_FALSE));
  PetscCall(PassDouble(p->dble, p->wd, NULL, PETSC_TRUE, p->rd, p->gd));
  PetscCall(Copy(r, p->rd, PETSC_TRUE));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPLSQR));
  PetscCall(KSPSetOperators(ksp, J, J));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, iterations));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, r, d));
  PetscCall(Copy(d, p->td, PETSC_FALSE));
  for (PetscInt i = BRANCH1; i < TRUNK0; i++) p->wd[i] -= p->td[i - BRANCH1];
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&J));
  PetscFunctionReturn(PETSC_SUCCESS);
}
