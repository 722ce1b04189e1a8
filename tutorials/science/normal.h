/* Normal random numbers for programs here; knows nothing of this library */
#pragma once

#include <petscsys.h>
#include <math.h>

/* A number that is normally distributed, by the method of Box and Muller */
static inline PetscErrorCode Normal(PetscRandom random, double *z)
{
  PetscReal u = 0, v = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomGetValueReal(random, &u));
  PetscCall(PetscRandomGetValueReal(random, &v));
  *z = sqrt(-2 * log(1 - (double)u)) * cos(2 * PETSC_PI * (double)v);
  PetscFunctionReturn(0);
}
