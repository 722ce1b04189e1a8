/*
   Oscillators u' = v, v' = -u + N(u, v) with TS, and what TSAdjoint needs of a right-hand side: its Jacobians
   by the state and by the parameters of N.
*/
#pragma once

#include <petscmuoncompat.h>
#include <petscts.h>

#define WIDTH      16
#define PARAMETERS (4 * WIDTH) /* N = c^T tanh(A [u; v] + b): A by columns, then b, then c */
#define STEPS      10
#define END_TIME   ((PetscReal)1)

typedef struct {
  PetscInt    n;                            /* oscillators of this rank; u are the first n entries of the state, v the last */
  PetscBool   truth;                        /* instead of the network */
  PetscScalar p[PARAMETERS], g[PARAMETERS]; /* and derivatives of the loss by them */
  TS          ts;
  Vec         x, start, seen; /* state, and its values at the beginning and as seen at the end */
  Vec         lambda, mu;     /* derivatives of the loss by the state and by the parameters */
} Closure;

/* N and its derivatives by u, v and the parameters, where they are wanted */
static inline PetscScalar Network(const PetscScalar p[], PetscScalar u, PetscScalar v, PetscScalar dx[2], PetscScalar dp[])
{
  PetscScalar value = 0;

  if (dx != NULL) dx[0] = dx[1] = 0;
  for (PetscInt k = 0; k < WIDTH; k++) {
    const PetscScalar t = PetscTanhScalar(p[k] * u + p[k + WIDTH] * v + p[k + 2 * WIDTH]), c = p[k + 3 * WIDTH], s = c * (1 - t * t);

    value += c * t;
    if (dx != NULL) {
      dx[0] += s * p[k];
      dx[1] += s * p[k + WIDTH];
    }
    if (dp != NULL) {
      dp[k]             = s * u;
      dp[k + WIDTH]     = s * v;
      dp[k + 2 * WIDTH] = s;
      dp[k + 3 * WIDTH] = t;
    }
  }
  return value;
}

static inline PetscErrorCode RHSFunction(TS ts, PetscReal t, Vec X, Vec F, void *ctx)
{
  Closure           *closure = (Closure *)ctx;
  const PetscInt     n       = closure->n;
  const PetscScalar *x;
  PetscScalar       *f;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(X, &x));
  PetscCall(VecGetArrayWrite(F, &f));
  for (PetscInt i = 0; i < n; i++) {
    f[i]     = x[i + n];
    f[i + n] = -x[i] + (closure->truth ? (1 - x[i] * x[i]) * x[i + n] : Network(closure->p, x[i], x[i + n], NULL, NULL));
  }
  PetscCall(VecRestoreArrayWrite(F, &f));
  PetscCall(VecRestoreArrayRead(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the state and by the parameters; TSAdjoint multiplies with the transposes */
static inline PetscErrorCode RHSJacobian(TS ts, PetscReal t, Vec X, Mat J, Mat P, void *ctx)
{
  Closure           *closure = (Closure *)ctx;
  const PetscInt     n       = closure->n;
  const PetscScalar *x;
  PetscScalar        dx[2];

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(X, &x));
  for (PetscInt i = 0; i < n; i++) {
    (void)Network(closure->p, x[i], x[i + n], dx, NULL);
    PetscCall(MatSetValue(P, i, i + n, 1, INSERT_VALUES));
    PetscCall(MatSetValue(P, i + n, i, dx[0] - 1, INSERT_VALUES));
    PetscCall(MatSetValue(P, i + n, i + n, dx[1], INSERT_VALUES));
  }
  PetscCall(VecRestoreArrayRead(X, &x));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode RHSJacobianP(TS ts, PetscReal t, Vec X, Mat P, void *ctx)
{
  Closure           *closure = (Closure *)ctx;
  const PetscInt     n       = closure->n;
  const PetscScalar *x;
  PetscScalar       *a, dp[PARAMETERS];

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(X, &x));
  PetscCall(MatDenseGetArray(P, &a)); /* rows of zeros for u */
  for (PetscInt i = 0; i < n; i++) {
    (void)Network(closure->p, x[i], x[i + n], NULL, dp);
    for (PetscInt k = 0; k < PARAMETERS; k++) a[i + n + 2 * n * k] = dp[k];
  }
  PetscCall(MatDenseRestoreArray(P, &a));
  PetscCall(VecRestoreArrayRead(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SolveForward(Closure *closure)
{
  PetscFunctionBeginUser;
  PetscCall(VecCopy(closure->start, closure->x));
  PetscCall(TSSetTime(closure->ts, 0));
  PetscCall(TSSetStepNumber(closure->ts, 0));
  PetscCall(TSSetTimeStep(closure->ts, END_TIME / STEPS));
  PetscCall(TSSolve(closure->ts, closure->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CreateTS(Closure *closure)
{
  const PetscInt n = 2 * closure->n;
  TSTrajectory   trajectory;
  TSAdapt        adapt;
  Mat            J, P;

  PetscFunctionBeginUser;
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &closure->x));
  PetscCall(VecDuplicate(closure->x, &closure->start));
  PetscCall(VecDuplicate(closure->x, &closure->seen));
  PetscCall(VecDuplicate(closure->x, &closure->lambda));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, PARAMETERS, closure->g, &closure->mu));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 2, NULL, &J));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, PARAMETERS, NULL, &P));
  PetscCall(MatZeroEntries(P));
  PetscCall(TSCreate(PETSC_COMM_SELF, &closure->ts));
  PetscCall(TSSetType(closure->ts, TSRK));
  PetscCall(TSRKSetType(closure->ts, TSRK4));
  PetscCall(TSGetAdapt(closure->ts, &adapt));
  PetscCall(TSAdaptSetType(adapt, TSADAPTNONE));
  PetscCall(TSSetRHSFunction(closure->ts, NULL, RHSFunction, closure));
  PetscCall(TSSetRHSJacobian(closure->ts, J, J, RHSJacobian, closure));
  PetscCall(TSSetRHSJacobianP(closure->ts, P, RHSJacobianP, closure));
  PetscCall(TSSetMaxTime(closure->ts, END_TIME));
  PetscCall(TSSetExactFinalTime(closure->ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSSetSaveTrajectory(closure->ts));
  PetscCall(TSGetTrajectory(closure->ts, &trajectory));
  PetscCall(TSTrajectorySetType(trajectory, closure->ts, TSTRAJECTORYMEMORY));
  PetscCall(TSSetCostGradients(closure->ts, 1, &closure->lambda, &closure->mu));
  PetscCall(TSSetFromOptions(closure->ts));
  PetscCall(MatDestroy(&J));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}
