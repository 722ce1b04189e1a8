/*
   Data for -(a u')' = 1, u(0) = u(1) = 0: functions log a and solutions u on a grid, by finite volumes and
   KSP.
*/
#pragma once

#include <petscmuoncompat.h>
#include <petscksp.h>

#define CELLS  32 /* of the grid; log a is known at their midpoints */
#define POINTS (CELLS - 1)
#define MODES  6 /* of log a: cosines with normal coefficients of variance 1/k^2 */

typedef struct {
  PetscInt     n;     /* functions of this rank */
  PetscScalar *a, *u; /* log a and u: a column is a function */
} Data;

/*
   count functions are dealt out to the ranks in turn. Every rank draws the numbers of all, so that the data
   do not depend on the number of ranks, and solves for its own
*/
static inline PetscErrorCode CreateData(PetscInt count, PetscRandom random, Data *data)
{
  PetscMPIInt size, rank;
  Mat         A;
  Vec         b, u;
  KSP         ksp;
  PC          pc;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCheck(count % size == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " functions cannot be shared equally by %d ranks", count, size);
  data->n = 0;
  PetscCall(PetscMalloc2(CELLS * (count / size), &data->a, POINTS * (count / size), &data->u));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, POINTS, POINTS, 3, NULL, &A));
  PetscCall(MatCreateVecs(A, NULL, &b));
  PetscCall(VecSet(b, 1 / (PetscScalar)(CELLS * CELLS))); /* h^2 */
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCCHOLESKY));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt s = 0; s < count; s++) {
    PetscScalar *a = &data->a[CELLS * data->n];
    PetscReal    c[MODES];

    for (PetscInt k = 0; k < MODES; k++) {
      PetscReal v[2];

      for (PetscInt i = 0; i < 2; i++) PetscCall(PetscRandomGetValueReal(random, &v[i]));
      c[k] = PetscSqrtReal(-2 * PetscLogReal(1 - v[0])) * PetscCosReal(2 * PETSC_PI * v[1]) / (PetscReal)(k + 1); /* normal, by Box and Muller */
    }
    if (s % size != rank) continue;
    for (PetscInt i = 0; i < CELLS; i++) {
      a[i] = 0;
      for (PetscInt k = 0; k < MODES; k++) a[i] += c[k] * PetscCosReal((PetscReal)(k + 1) * PETSC_PI * ((PetscReal)i + (PetscReal)0.5) / CELLS);
    }
    for (PetscInt i = 0; i < POINTS; i++) {
      const PetscScalar left = PetscExpScalar(a[i]), right = PetscExpScalar(a[i + 1]);

      PetscCall(MatSetValue(A, i, i, left + right, INSERT_VALUES));
      if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -left, INSERT_VALUES));
      if (i < POINTS - 1) PetscCall(MatSetValue(A, i, i + 1, -right, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, POINTS, &data->u[POINTS * data->n], &u));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(VecDestroy(&u));
    data->n++;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
