/* Convection u_t + speed u_x = 0, u periodic in x, u(x, 0) = sin(x): points, and the network of convection.inc in single and double precision */
#pragma once

#include <petscblaslapack.h>
#include <stdint.h>
#include <string.h>
#include "normal.h"

#define GRID_X  257 /* of x from 0 to 2 pi */
#define GRID_T  101 /* of t from 0 to 1 */
#define INSIDE  ((GRID_X - 2) * (GRID_T - 1))
#define WIDTH   50
#define LINEAR  4
#define ENTRIES (WIDTH * (3 + 2 * (WIDTH + 1)) + WIDTH + 1)
#define BLOCK   128 /* points; even */

/* [W b]; the array of all weights has them one after the other */
static const struct {
  PetscInt first, rows, columns;
} Layers[LINEAR] = {{0, WIDTH, 3}, {3 * WIDTH, WIDTH, WIDTH + 1}, {WIDTH * (WIDTH + 4), WIDTH, WIDTH + 1}, {WIDTH * (2 * WIDTH + 5), 1, WIDTH + 1}};

typedef enum {
  BOUNDARY, /* pairs x = 0, x = 2 pi */
  INITIAL,
  INTERIOR
} Kind;

typedef struct {
  PetscInt all[3], end[3]; /* residuals of all ranks; this rank's points, one kind after the other, end here */
  double   speed, *x, *t;
} Points;

static inline double Solution(double speed, double x, double t)
{
  return sin(x - speed * t);
}

/* A point of the grid */
static inline void Place(PetscInt i, PetscInt j, double *x, double *t)
{
  *x = 2 * PETSC_PI * (double)i / (GRID_X - 1);
  *t = (double)j / (GRID_T - 1);
}

/* All points of the boundaries, and so many of the interior, none twice. The ranks get residuals in turn */
static inline PetscErrorCode CreatePoints(PetscRandom random, PetscReal speed, PetscInt interior, Points *points)
{
  const PetscInt all[3] = {GRID_T, GRID_X, interior};
  PetscMPIInt    size, rank;
  PetscInt      *list, n = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  points->speed = (double)speed;
  PetscCall(PetscMalloc1(INSIDE, &list));
  PetscCall(PetscMalloc2(2 * GRID_T + GRID_X + interior, &points->x, 2 * GRID_T + GRID_X + interior, &points->t));
  for (PetscInt i = 0; i < INSIDE; i++) list[i] = i;
  for (PetscInt i = 0; i < interior; i++) {
    PetscReal u = 0;
    PetscInt  other, entry;

    PetscCall(PetscRandomGetValueReal(random, &u));
    other       = PetscMin(INSIDE - 1, i + (PetscInt)(u * (PetscReal)(INSIDE - i)));
    entry       = list[i];
    list[i]     = list[other];
    list[other] = entry;
  }
  for (PetscInt kind = 0; kind < 3; kind++) {
    for (PetscInt i = rank; i < all[kind]; i += size) {
      if (kind == BOUNDARY) Place(0, i, points->x + n, points->t + n);
      if (kind == BOUNDARY) n++;
      if (kind == BOUNDARY) Place(GRID_X - 1, i, points->x + n, points->t + n);
      else if (kind == INITIAL) Place(i, 0, points->x + n, points->t + n);
      else Place(1 + list[i] % (GRID_X - 2), 1 + list[i] / (GRID_X - 2), points->x + n, points->t + n);
      n++;
    }
    points->all[kind] = all[kind];
    points->end[kind] = n;
  }
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode DestroyPoints(Points *points)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree2(points->x, points->t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loops of elementary operations for the vectors of the processor on which the program runs */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__INTEL_COMPILER) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  #if __GNUC__ >= 12
    #define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
  #endif
#endif
#if !defined(CLONES)
  #define CLONES
#endif
#if defined(__GNUC__)
  #define INLINE static inline __attribute__((always_inline))
#else
  #define INLINE static inline
#endif

#define REAL        float
#define KEY         uint32_t
#define DIGITS      24
#define TAYLOR      7
#define NAME(f)     f##Single
#define LETTER      s
#define LETTER_CAPS S
#include "convection.inc"
#undef REAL
#undef KEY
#undef DIGITS
#undef TAYLOR
#undef NAME
#undef LETTER
#undef LETTER_CAPS

#define REAL        double
#define KEY         uint64_t
#define DIGITS      53
#define TAYLOR      13
#define NAME(f)     f##Double
#define LETTER      d
#define LETTER_CAPS D
#include "convection.inc"
#undef REAL
#undef KEY
#undef DIGITS
#undef TAYLOR
#undef NAME
#undef LETTER
#undef LETTER_CAPS
