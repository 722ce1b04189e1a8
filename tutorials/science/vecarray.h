/* Between vectors of PETSc's scalars and arrays of doubles; knows nothing of this library */
#pragma once

#include <petscvec.h>

static inline PetscErrorCode Copy(Vec x, double w[], PetscBool to_vector)
{
  PetscScalar *xs;
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArray(x, &xs));
  for (PetscInt i = 0; i < n; i++) {
    if (to_vector) xs[i] = (PetscScalar)w[i];
    else w[i] = (double)PetscRealPart(xs[i]);
  }
  PetscCall(VecRestoreArray(x, &xs));
  PetscFunctionReturn(0);
}
