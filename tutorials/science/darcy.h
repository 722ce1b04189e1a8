/*
   Data for -div(a grad u) = 1 on the unit square, u = 0 on its boundary: a is 12 where a Gaussian field is positive, and 3 elsewhere.
   The field is N(0, (-Laplace + 9)^-2) with Neumann's conditions, a series of TERMS x TERMS cosines; knows nothing of this library
*/
#pragma once

#include <petscmuoncompat.h>
#include <petscksp.h>
#include <petscdmda.h>
#include "gemm.h"
#include "normal.h"

#define TERMS 128

typedef struct {
  PetscInt     cells, side, points;    /* of the solver's grid, of the grid that data are on: points a side, and all */
  PetscInt     n, tests;               /* functions of this rank, to train and to test with */
  float       *a, *u;                  /* of all these functions, one behind the other */
  float       *mean[2], *deviation[2]; /* of a and u over the training functions of all ranks, at each point */
  DM           da;                     /* unknowns: the inner points */
  Mat          A;
  Vec          b, x;
  KSP          ksp;
  PetscScalar *c, *cosines, *field, *sines, *eigen, *work;
} Darcy;

/* z = (6 Laplacian)^-1 r in its eigenvectors: the condition number of what is left is 4, that of a */
static inline PetscErrorCode DarcyPrecondition(PC pc, Vec r, Vec z)
{
  Darcy             *d;
  PetscInt           n;
  const PetscScalar *in;
  PetscScalar       *out, *t;

  PetscFunctionBeginUser;
  PetscCall(PCShellGetContext(pc, (void **)&d));
  n = d->cells - 1;
  t = d->work;
  PetscCall(VecGetArrayRead(r, &in));
  PetscCall(VecGetArrayWrite(z, &out));
  PetscCall(Gemm("N", "N", n, n, n, 1, d->sines, in, 0, t));
  PetscCall(Gemm("N", "N", n, n, n, 1, t, d->sines, 0, out));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) out[i + j * n] /= 6 * (d->eigen[i] + d->eigen[j]);
  }
  PetscCall(Gemm("N", "N", n, n, n, 1, d->sines, out, 0, t));
  PetscCall(Gemm("N", "N", n, n, n, 1, t, d->sines, 0, out));
  PetscCall(VecRestoreArrayRead(r, &in));
  PetscCall(VecRestoreArrayWrite(z, &out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver on cells x cells squares, a multiple of those between the side x side points of the data */
static inline PetscErrorCode DarcyCreate(PetscInt cells, PetscInt side, Darcy *d)
{
  const PetscInt n = cells - 1, lattice = 2 * cells + 1;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCheck(cells % (side - 1) == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " cells a side: expected a multiple of %" PetscInt_FMT, cells, side - 1);
  PetscCall(PetscMemzero(d, sizeof(*d)));
  d->cells  = cells;
  d->side   = side;
  d->points = side * side;
  PetscCall(PetscMalloc6(TERMS * TERMS, &d->c, lattice * TERMS, &d->cosines, lattice * lattice, &d->field, n * n, &d->sines, n, &d->eigen, PetscMax(n * n, lattice * TERMS), &d->work));
  for (PetscInt k = 0; k < TERMS; k++) {
    for (PetscInt i = 0; i < lattice; i++) d->cosines[i + k * lattice] = PetscSqrtReal(k ? 2 : 1) * PetscCosReal(PETSC_PI * (PetscReal)(k * i) / (PetscReal)(2 * cells));
  }
  for (PetscInt j = 0; j < n; j++) {
    d->eigen[j] = 2 - 2 * PetscCosReal(PETSC_PI * (PetscReal)(j + 1) / (PetscReal)cells);
    for (PetscInt i = 0; i < n; i++) d->sines[i + j * n] = PetscSqrtReal(2 / (PetscReal)cells) * PetscSinReal(PETSC_PI * (PetscReal)((i + 1) * (j + 1) % (2 * cells)) / (PetscReal)cells);
  }
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &d->da));
  PetscCall(DMSetUp(d->da));
  PetscCall(DMCreateMatrix(d->da, &d->A));
  PetscCall(DMCreateGlobalVector(d->da, &d->x));
  PetscCall(VecDuplicate(d->x, &d->b));
  PetscCall(VecSet(d->b, 1 / (PetscScalar)(cells * cells)));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &d->ksp));
  PetscCall(KSPSetOptionsPrefix(d->ksp, "darcy_"));
  PetscCall(KSPSetType(d->ksp, KSPCG));
  PetscCall(KSPSetTolerances(d->ksp, (PetscReal)1e-6, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetErrorIfNotConverged(d->ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(d->ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetContext(pc, d));
  PetscCall(PCShellSetApply(pc, DarcyPrecondition));
  PetscCall(KSPSetFromOptions(d->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode DarcyDestroy(Darcy *d)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&d->ksp));
  PetscCall(MatDestroy(&d->A));
  PetscCall(VecDestroy(&d->b));
  PetscCall(VecDestroy(&d->x));
  PetscCall(DMDestroy(&d->da));
  PetscCall(PetscFree6(d->c, d->cosines, d->field, d->sines, d->eigen, d->work));
  PetscCall(PetscFree6(d->a, d->u, d->mean[0], d->mean[1], d->deviation[0], d->deviation[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscScalar DarcyCoefficient(PetscScalar field)
{
  return PetscRealPart(field) >= 0 ? 12 : 3;
}

/*
   What flows between two points of the grid for a difference of one: the field is known between them, too, at one point in the middle
   and on both sides. Means along the flow are harmonic, those across are arithmetic, both by the trapezoidal rule. at is the middle
*/
static inline PetscScalar DarcyFlow(const PetscScalar *at, PetscInt along, PetscInt across)
{
  PetscScalar resistance = 0;

  for (PetscInt i = -1; i <= 1; i++) {
    const PetscScalar *p = at + i * along;

    resistance += (i ? 1 : 2) / (DarcyCoefficient(p[-across]) + 2 * DarcyCoefficient(p[0]) + DarcyCoefficient(p[across]));
  }
  return 1 / resistance;
}

/* a and u at the points of the data, for the field with the coefficients d->c of cosines whose mean square is one */
static inline PetscErrorCode DarcySolve(Darcy *d, float a[], float u[])
{
  const PetscInt     n = d->cells - 1, lattice = 2 * d->cells + 1, step = d->cells / (d->side - 1);
  const PetscScalar *x;

  PetscFunctionBeginUser;
  PetscCall(Gemm("N", "N", lattice, TERMS, TERMS, 1, d->cosines, d->c, 0, d->work));
  PetscCall(Gemm("N", "T", lattice, lattice, TERMS, 1, d->work, d->cosines, 0, d->field));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) {
      const PetscScalar *at   = d->field + 2 * (i + 1) + 2 * (j + 1) * lattice;
      const PetscInt     to[] = {j > 0 ? i + (j - 1) * n : -1, i > 0 ? i - 1 + j * n : -1, i + j * n, i < n - 1 ? i + 1 + j * n : -1, j < n - 1 ? i + (j + 1) * n : -1}; /* -1 are left out */
      PetscScalar        v[]  = {-DarcyFlow(at - lattice, lattice, 1), -DarcyFlow(at - 1, 1, lattice), 0, -DarcyFlow(at + 1, 1, lattice), -DarcyFlow(at + lattice, lattice, 1)};

      v[2] = -(v[0] + v[1] + v[3] + v[4]);
      PetscCall(MatSetValues(d->A, 1, to + 2, 5, to, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(d->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(d->A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPSetOperators(d->ksp, d->A, d->A));
  PetscCall(KSPSolve(d->ksp, d->b, d->x));
  PetscCall(VecGetArrayRead(d->x, &x));
  for (PetscInt j = 0; j < d->side; j++) {
    for (PetscInt i = 0; i < d->side; i++) {
      const PetscBool inner = i > 0 && j > 0 && i < d->side - 1 && j < d->side - 1 ? PETSC_TRUE : PETSC_FALSE;

      a[i + j * d->side] = (float)PetscRealPart(DarcyCoefficient(d->field[2 * step * (i + j * lattice)]));
      u[i + j * d->side] = inner ? (float)PetscRealPart(x[step * i - 1 + (step * j - 1) * n]) : 0;
    }
  }
  PetscCall(VecRestoreArrayRead(d->x, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean and deviation of v over the training functions of all ranks, at each point */
static inline PetscErrorCode DarcyMoments(const Darcy *d, const float v[], float mean[], float deviation[])
{
  double *sums, count = (double)d->n;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(2 * d->points, &sums));
  for (PetscInt i = 0; i < d->n * d->points; i++) {
    sums[i % d->points] += (double)v[i];
    sums[d->points + i % d->points] += (double)v[i] * (double)v[i];
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, (PetscMPIInt)(2 * d->points), MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < d->points; i++) {
    const double m = sums[i] / PetscMax(count, 1);

    mean[i]      = (float)m;
    deviation[i] = (float)PetscSqrtReal(PetscMax(0, sums[d->points + i] / PetscMax(count, 1) - m * m));
  }
  PetscCall(PetscFree(sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions to test with are drawn first. Numbers do not depend on the ranks: each rank draws all and solves for every size-th function */
static inline PetscErrorCode DarcyMake(Darcy *d, PetscInt seed, PetscInt functions, PetscInt tests)
{
  PetscMPIInt rank, size;
  PetscRandom random;
  PetscInt    to = 0, all;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  d->n     = functions / size + (rank < functions % size ? 1 : 0);
  d->tests = tests / size + (rank < tests % size ? 1 : 0);
  all      = d->n + d->tests;
  PetscCall(PetscMalloc6(all * d->points, &d->a, all * d->points, &d->u, d->points, &d->mean[0], d->points, &d->mean[1], d->points, &d->deviation[0], d->points, &d->deviation[1]));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)seed));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt j = 0; j < tests + functions; j++) {
    for (PetscInt k = 0; k < TERMS * TERMS; k++) {
      double z = 0;

      PetscCall(Normal(random, &z));
      d->c[k] = (PetscScalar)z / (PETSC_PI * PETSC_PI * (PetscReal)((k % TERMS) * (k % TERMS) + (k / TERMS) * (k / TERMS)) + 9);
    }
    if ((j < tests ? j : j - tests) % size != rank) continue;
    d->c[0] = 0; /* as the published program has it: the field has the mean zero */
    PetscCall(DarcySolve(d, d->a + to * d->points, d->u + to * d->points));
    to++;
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(DarcyMoments(d, d->a + d->tests * d->points, d->mean[0], d->deviation[0]));
  PetscCall(DarcyMoments(d, d->u + d->tests * d->points, d->mean[1], d->deviation[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints by how much solutions of the test differ from those on a finer grid */
static inline PetscErrorCode DarcyCheck(const Darcy *d, PetscInt seed, PetscInt cells, PetscInt tests)
{
  double sums[2] = {0, 0};
  Darcy  fine;

  PetscFunctionBeginUser;
  PetscCall(DarcyCreate(cells, d->side, &fine));
  PetscCall(DarcyMake(&fine, seed, 0, tests));
  for (PetscInt j = 0; j < fine.tests; j++) {
    double above = 0, below = 0;

    for (PetscInt i = j * d->points; i < (j + 1) * d->points; i++) {
      above += PetscSqr((double)fine.u[i] - (double)d->u[i]);
      below += PetscSqr((double)fine.u[i]);
    }
    sums[0] += sqrt(above / below);
    sums[1] += 1;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "data: %" PetscInt_FMT " cells a side differ from %" PetscInt_FMT " by %.1e\n", d->cells, cells, sums[0] / sums[1]));
  PetscCall(DarcyDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}
