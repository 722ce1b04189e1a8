/* The problem of reaction.c: u_t = 0.01 u_xx + 0.01 u^2 + f(x), zero at first and at both ends. Sizes are those of a published program, arXiv:2103.10974 */
#pragma once

#include <petscmuon.h>
#include <petscts.h>
#include <petscdmda.h>

#define PROBLEM   "reaction"
#define FORMULA   "without diffusion and reaction"
#define FUNCTIONS 5000 /* to train with */
#define TESTS     100
#define BATCH     100 /* functions of a gradient, with all of their points */
#define STEPS     120000
#define DECAY     2000 /* steps for a factor of the published schedule */
#define SENSORS   100  /* from 0 to 1 */
#define INPUTS    2    /* of the trunk: x and t */
#define WIDTH     50   /* of all layers of both networks */
#define HIDDEN    4    /* layers of each */
#define TANH
#define POINTS 100 /* of a training function with an image, which are some of so many places */
#define SIDE   100 /* points from 0 to 1 in x, and in t */
#define PLACES (SIDE * SIDE)
#define GRID   PLACES /* points of the test */

static inline void GridPoint(int i, double x[INPUTS])
{
  x[0] = (double)(i % SIDE) / (SIDE - 1);
  x[1] = (double)(i / SIDE) / (SIDE - 1);
}

static inline void Place(int i, double x[INPUTS])
{
  GridPoint(i, x);
}

#include "operator.h"

#define TOGETHER  25 /* functions that one TS integrates: degrees of freedom at a point of the DMDA */
#define FINER     2  /* points of the DMDA for one of the grid */
#define DIFFUSION 0.01
#define REACTION  0.01

typedef struct {
  TS       ts;
  DM       da;
  Vec      u;
  PetscInt finer_x, finer_t, n; /* steps of the solver for one of the grid; points of the DMDA */
  double  *basis, *f, *image;   /* terms and functions at the points of the DMDA, solutions on the grid */
} Solver;

/* F = u_t - 0.01 u_xx - 0.01 u^2 - f inside, and u at both ends */
static inline PetscErrorCode FormEquation(TS ts, PetscReal t, Vec U, Vec U_t, Vec F, void *ctx)
{
  const Solver       *s = (const Solver *)ctx;
  const PetscReal     d = (PetscReal)(DIFFUSION * (double)((s->n - 1) * (s->n - 1)));
  const PetscScalar **u, **u_t;
  PetscScalar       **f;

  PetscFunctionBeginUser;
  PetscCall(DMDAVecGetArrayDOFRead(s->da, U, &u));
  PetscCall(DMDAVecGetArrayDOFRead(s->da, U_t, &u_t));
  PetscCall(DMDAVecGetArrayDOFWrite(s->da, F, &f));
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt k = 0; k < TOGETHER; k++) {
      if (i == 0 || i == s->n - 1) f[i][k] = u[i][k];
      else f[i][k] = u_t[i][k] - d * (u[i - 1][k] - 2 * u[i][k] + u[i + 1][k]) - (PetscReal)REACTION * u[i][k] * u[i][k] - (PetscReal)s->f[i * TOGETHER + k];
    }
  }
  PetscCall(DMDAVecRestoreArrayDOFRead(s->da, U, &u));
  PetscCall(DMDAVecRestoreArrayDOFRead(s->da, U_t, &u_t));
  PetscCall(DMDAVecRestoreArrayDOFWrite(s->da, F, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tridiagonal matrix for each function */
static inline PetscErrorCode FormEquationJacobian(TS ts, PetscReal t, Vec U, Vec U_t, PetscReal shift, Mat J, Mat P, void *ctx)
{
  const Solver       *s = (const Solver *)ctx;
  const PetscReal     d = (PetscReal)(DIFFUSION * (double)((s->n - 1) * (s->n - 1)));
  const PetscScalar **u;

  PetscFunctionBeginUser;
  PetscCall(DMDAVecGetArrayDOFRead(s->da, U, &u));
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt k = 0; k < TOGETHER; k++) {
      const PetscScalar inside = shift + 2 * d - 2 * (PetscReal)REACTION * u[i][k], v[3] = {-d, inside, -d}, one = 1;
      MatStencil        at[3];

      PetscCall(PetscMemzero(at, sizeof(at)));
      for (PetscInt l = 0; l < 3; l++) {
        at[l].i = i + l - 1;
        at[l].c = k;
      }
      if (i == 0 || i == s->n - 1) PetscCall(MatSetValuesStencil(P, 1, &at[1], 1, &at[1], &one, INSERT_VALUES));
      else PetscCall(MatSetValuesStencil(P, 1, &at[1], 3, at, v, INSERT_VALUES));
    }
  }
  PetscCall(DMDAVecRestoreArrayDOFRead(s->da, U, &u));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps what belongs to the grid */
static inline PetscErrorCode KeepImage(TS ts, PetscInt step, PetscReal t, Vec U, void *ctx)
{
  const Solver       *s   = (const Solver *)ctx;
  const PetscInt      row = step / s->finer_t * SIDE;
  const PetscScalar **u;

  PetscFunctionBeginUser;
  if (step % s->finer_t > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDAVecGetArrayDOFRead(s->da, U, &u));
  for (PetscInt i = 0; i < SIDE; i++) {
    for (PetscInt k = 0; k < TOGETHER; k++) s->image[k * GRID + row + i] = (double)PetscRealPart(u[i * s->finer_x][k]);
  }
  PetscCall(DMDAVecRestoreArrayDOFRead(s->da, U, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Many functions are one system, so that the costs of a step of TS are those of all of them, and its matrix is factored once: it depends
   on u by 0.02 u dt, and without that Newton's method gains four digits an iteration
*/
static inline PetscErrorCode CreateSolver(PetscInt finer_x, PetscInt finer_t, Solver *s)
{
  PetscInt fill[TOGETHER * TOGETHER];
  SNES     snes;
  KSP      ksp;
  PC       pc;

  PetscFunctionBeginUser;
  s->finer_x = finer_x;
  s->finer_t = finer_t;
  s->n       = (SIDE - 1) * finer_x + 1;
  for (PetscInt k = 0; k < TOGETHER * TOGETHER; k++) fill[k] = k % (TOGETHER + 1) == 0;
  PetscCall(DMDACreate1d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, s->n, TOGETHER, 1, NULL, &s->da));
  PetscCall(DMDASetBlockFills(s->da, fill, fill));
  PetscCall(DMSetUp(s->da));
  PetscCall(DMCreateGlobalVector(s->da, &s->u));
  PetscCall(PetscMalloc3(s->n * TERMS, &s->basis, s->n * TOGETHER, &s->f, GRID * TOGETHER, &s->image));
  for (PetscInt k = 0; k < s->n * TERMS; k++) s->basis[k] = Term(k % TERMS, (double)(k / TERMS) / (double)(s->n - 1), NULL);
  PetscCall(TSCreate(PETSC_COMM_SELF, &s->ts));
  PetscCall(TSSetDM(s->ts, s->da));
  PetscCall(TSSetType(s->ts, TSTHETA));
  PetscCall(TSThetaSetTheta(s->ts, (PetscReal)0.5));
  PetscCall(TSSetIFunction(s->ts, NULL, FormEquation, s));
  PetscCall(TSSetIJacobian(s->ts, NULL, NULL, FormEquationJacobian, s));
  PetscCall(TSMonitorSet(s->ts, KeepImage, s, NULL));
  PetscCall(TSSetTimeStep(s->ts, 1 / (PetscReal)((SIDE - 1) * finer_t)));
  PetscCall(TSSetMaxSteps(s->ts, (SIDE - 1) * finer_t));
  PetscCall(TSSetExactFinalTime(s->ts, TS_EXACTFINALTIME_STEPOVER));
  PetscCall(TSGetSNES(s->ts, &snes));
  PetscCall(SNESSetLagJacobian(snes, -2));
  PetscCall(SNESSetLagPreconditioner(snes, -2));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(TSSetOptionsPrefix(s->ts, PROBLEM "_"));
  PetscCall(TSSetFromOptions(s->ts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode DestroySolver(Solver *s)
{
  PetscFunctionBeginUser;
  PetscCall(TSDestroy(&s->ts));
  PetscCall(VecDestroy(&s->u));
  PetscCall(DMDestroy(&s->da));
  PetscCall(PetscFree3(s->basis, s->f, s->image));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The images of at most TOGETHER functions with the coefficients c */
static inline PetscErrorCode Solve(Solver *s, PetscInt functions, const double c[])
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt k = 0; k < TOGETHER; k++) {
      double *f = &s->f[i * TOGETHER + k];

      *f = 0;
      for (PetscInt l = 0; l < TERMS && k < functions; l++) *f += c[k * (TERMS + 1) + l] * s->basis[i * TERMS + l];
    }
  }
  PetscCall(VecSet(s->u, 0));
  PetscCall(TSSetTime(s->ts, 0));
  PetscCall(TSSetStepNumber(s->ts, 0));
  PetscCall(TSSolve(s->ts, s->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solutions, and the error of t f(x) in their place */
static inline PetscErrorCode CreateImages(Data *data)
{
  Solver s;

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(FINER, 1, &s));
  for (PetscInt j = 0; j < data->n; j += TOGETHER) {
    const PetscInt n = PetscMin(TOGETHER, data->n - j);

    PetscCall(Solve(&s, n, data->c + j * (TERMS + 1)));
    for (PetscInt i = 0; i < n * POINTS; i++) data->s[j * POINTS + i] = s.image[i / POINTS * GRID + data->place[j * POINTS + i]];
  }
  data->simple = 0;
  for (PetscInt j = 0; j < data->tests; j += TOGETHER) {
    const PetscInt n = PetscMin(TOGETHER, data->tests - j);

    PetscCall(Solve(&s, n, data->test_c + j * (TERMS + 1)));
    PetscCall(PetscArraycpy(data->test_s + j * GRID, s.image, n * GRID));
    for (PetscInt k = 0; k < n; k++) {
      double above = 0, below = 0;

      for (PetscInt i = 0; i < GRID; i++) {
        const double u = s.image[k * GRID + i], simple = s.f[i % SIDE * FINER * TOGETHER + k] * (double)(i / SIDE) / (SIDE - 1);

        above += (simple - u) * (simple - u);
        below += u * u;
      }
      data->simple += sqrt(above / below) / (double)data->tests;
    }
  }
  PetscCall(DestroySolver(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
