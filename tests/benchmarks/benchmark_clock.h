/*
   For benchmarks of one process: a clock, of the wall or of the processor, and the bandwidth of the memory by
   it.
*/
#pragma once

#include "benchmark_common.h"
#include <petsctime.h>
#include <time.h>

/* Three arrays of the triad exceed the caches of today's processors */
#define TRIAD_ENTRIES 16777216

typedef enum {
  CLOCK_OF_WALL,
  CLOCK_OF_CPU
} Clock;
static const char *const Clocks[] = {"wall", "cpu", "Clock", "CLOCK_OF_", NULL};
static Clock             ticks    = CLOCK_OF_WALL;

static PetscErrorCode Now(PetscLogDouble *now)
{
  PetscFunctionBeginUser;
  if (ticks == CLOCK_OF_CPU) *now = (PetscLogDouble)clock() / CLOCKS_PER_SEC;
  else PetscCall(PetscTime(now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A clock of processor time may not have moved */
static PetscErrorCode Elapsed(PetscLogDouble start, PetscReal *seconds)
{
  PetscLogDouble now;

  PetscFunctionBeginUser;
  PetscCall(Now(&now));
  *seconds = (PetscReal)PetscMax(now - start, 1e-7);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes a second of a = b + s c; three arrays are counted, though a write may first read */
static PetscErrorCode MeasureTriad(PetscInt repetitions, PetscReal times[], PetscLogDouble *rate)
{
  PetscScalar   *a, *b, *c;
  PetscLogDouble start, median;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(TRIAD_ENTRIES, &a, TRIAD_ENTRIES, &b, TRIAD_ENTRIES, &c));
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, a);
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, b);
  FillArray(sizeof(PetscScalar), TRIAD_ENTRIES, c);
  for (PetscInt r = 0; r < repetitions; r++) {
    const PetscScalar s = (PetscScalar)r;

    PetscCall(Now(&start));
    for (PetscInt i = 0; i < TRIAD_ENTRIES; i++) a[i] = b[i] + s * c[i];
    PetscCall(Elapsed(start, &times[r]));
    PetscCheck(a[17] == b[17] + s * c[17], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Triad computed something else");
  }
  PetscCall(PetscFree3(a, b, c));
  PetscCall(Median(repetitions, times, &median));
  *rate = 3.0 * sizeof(PetscScalar) * TRIAD_ENTRIES / median;
  PetscFunctionReturn(PETSC_SUCCESS);
}
