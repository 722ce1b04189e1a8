/*
   A DeepONet for an operator on the functions of gaussian.h, its data, and its passes in single and double precision, see operator.inc.
   Include it in the header of a problem, after the sizes of the problem and its Place() and GridPoint().
*/
#pragma once

#include <petscblaslapack.h>
#include "gaussian.h"

#define BLOCK   500                   /* functions whose activations stay in the cache */
#define PANEL   1000                  /* places, the same; at least BLOCK */
#define LANES   16                    /* numbers whose tanh is computed together */
#define LAYER   (WIDTH * (WIDTH + 1)) /* numbers of a matrix and a bias after the first */
#define BRANCH1 (WIDTH * (SENSORS + 1))
#define TRUNK0  (BRANCH1 + HIDDEN * LAYER)
#define TRUNK1  (TRUNK0 + WIDTH * (INPUTS + 1))
#define ENTRIES (TRUNK1 + HIDDEN * LAYER)

typedef struct {
  PetscInt n, all, tests, *place;              /* training functions of this rank and of all, test functions, which each rank has; where s is, POINTS of a function */
  double  *c, *s;                              /* coefficients and a last 1 of each function, and its images */
  double  *test_c, *test_s;                    /* the same, on the grid */
  double   simple;                             /* mean relative error of a formula for the test functions */
  PetscInt chosen, *order;                     /* a pass is over the first so many functions of this order */
  PetscInt places, list[PLACES], slot[PLACES]; /* of these functions, and where a place is in the list */
} Data;

/* Passes are over the first so many functions from now on, or over as many that are drawn */
static inline PetscErrorCode Choose(Data *data, PetscInt functions, PetscRandom random)
{
  const PetscBool all = functions == data->n ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBeginUser;
  data->chosen = functions;
  data->places = 0;
  for (PetscInt j = 0; random && j < functions; j++) {
    const PetscInt first = data->order[j];
    PetscReal      u     = 0;
    PetscInt       other;

    PetscCall(PetscRandomGetValueReal(random, &u));
    other              = PetscMin(j + (PetscInt)(u * (PetscReal)(data->n - j)), data->n - 1);
    data->order[j]     = data->order[other];
    data->order[other] = first;
  }
  for (PetscInt i = 0; i < PLACES; i++) data->slot[i] = -1;
  for (PetscInt i = 0; i < (all ? PLACES : functions * POINTS); i++) {
    const PetscInt place = all ? i : data->place[data->order[i / POINTS] * POINTS + i % POINTS];

    if (data->slot[place] >= 0) continue;
    data->slot[place]          = data->places;
    data->list[data->places++] = place;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Draws functions and places; images come later. Numbers do not depend on the ranks: each rank draws all and keeps every size-th function */
static inline PetscErrorCode CreateData(PetscRandom random, PetscInt all, PetscInt tests, Data *data)
{
  PetscMPIInt rank, size;
  double      c[TERMS + 1];
  PetscInt    place[POINTS];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  data->all   = all;
  data->n     = all / size + (rank < all % size ? 1 : 0);
  data->tests = tests;
  PetscCall(PetscMalloc6((TERMS + 1) * data->n, &data->c, POINTS * data->n, &data->s, POINTS * data->n, &data->place, data->n, &data->order, (TERMS + 1) * tests, &data->test_c, GRID * tests, &data->test_s));
  c[TERMS] = 1;
  for (PetscInt j = 0; j < all; j++) {
    for (PetscInt k = 0; k < TERMS; k++) PetscCall(Normal(random, &c[k]));
    for (PetscInt i = 0; i < POINTS; i++) {
      PetscReal u = 0;

      PetscCall(PetscRandomGetValueReal(random, &u));
      place[i] = PetscMin((PetscInt)(u * PLACES), PLACES - 1);
    }
    if (j % size != rank) continue;
    data->order[j / size] = j / size;
    PetscCall(PetscArraycpy(data->place + j / size * POINTS, place, POINTS));
    PetscCall(PetscArraycpy(data->c + j / size * (TERMS + 1), c, TERMS + 1));
  }
  for (PetscInt j = 0; j < tests; j++) {
    for (PetscInt k = 0; k < TERMS; k++) PetscCall(Normal(random, &c[k]));
    PetscCall(PetscArraycpy(data->test_c + j * (TERMS + 1), c, TERMS + 1));
  }
  PetscCall(Choose(data, data->n, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode DestroyData(Data *data)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree6(data->c, data->s, data->place, data->order, data->test_c, data->test_s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define REAL        float
#define NAME(f)     f##Single
#define LETTER      s
#define LETTER_CAPS S
#include "operator.inc"
#undef REAL
#undef NAME
#undef LETTER
#undef LETTER_CAPS

#define REAL        double
#define NAME(f)     f##Double
#define LETTER      d
#define LETTER_CAPS D
#include "operator.inc"
#undef REAL
#undef NAME
#undef LETTER
#undef LETTER_CAPS
