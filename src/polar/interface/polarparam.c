#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/dense/muonpolarkernels.h"

const char *const MuonPolarPrecisions[]     = {"single", "double", "bf16", "tf32", "MuonPolarPrecision", "MUON_POLAR_PRECISION_", NULL};
const char *const MuonPolarNormalizations[] = {"frobenius", "spectral", "MuonPolarNormalization", "MUON_POLAR_NORMALIZATION_", NULL};

/*@
  MuonPolarSetSteps - Sets how many steps an iterative method makes

  Logically Collective

  Input Parameters:
+ polar - the object
- steps - number of steps, or `PETSC_DETERMINE` for what the coefficients were made for

  Options Database Key:
. -lmo_polar_steps n - number of steps, that of the coefficients by default

  Level: intermediate

  Note:
  The number stays with the object when its type changes. A method that does not iterate ignores it.

.seealso: `MuonPolar`, `MuonPolarGetSteps()`, `MuonPolarSetCoefficients()`, `MUONPOLARNEWTONSCHULZ`
@*/
PetscErrorCode MuonPolarSetSteps(MuonPolar polar, PetscInt steps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(polar, steps, 2);
  PetscCheck(steps == PETSC_DETERMINE || steps >= 1, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_steps is %" PetscInt_FMT ", expected at least 1", MuonPolarPrefix_Private(polar), steps);
  polar->steps = steps;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetSteps - Gets how many steps the method makes

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. steps - number of steps, 0 for a method that does not iterate

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarSetSteps()`
@*/
PetscErrorCode MuonPolarGetSteps(MuonPolar polar, PetscInt *steps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(steps, 2);
  *steps = 0;
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  PetscTryTypeMethod(polar, getsteps, steps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarSetCoefficients - Chooses the polynomials of an iterative method by name

  Logically Collective

  Input Parameters:
+ polar - the object
- name  - a known set, see `MuonPolarCoefficients`

  Options Database Key:
. -lmo_polar_coefficients name - the set, kj or in `gram` pe105 by default

  Level: intermediate

  Notes:
  It replaces the values of `MuonPolarSetCoefficientValues()`.

  The choice stays with the object when its type changes. A method without polynomials ignores it.

.seealso: `MuonPolar`, `MuonPolarCoefficients`, `MuonPolarGetCoefficients()`, `MuonPolarSetCoefficientValues()`, `MuonPolarSetSteps()`, `MUONPOLARNEWTONSCHULZ`
@*/
PetscErrorCode MuonPolarSetCoefficients(MuonPolar polar, MuonPolarCoefficients name)
{
  const MuonKernelPolynomial *p;
  char                        names[512] = "";
  char                       *copy;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(name, 2);
  for (int i = 0; (p = MuonKernelPolynomialGet(i)) != NULL; i++) {
    PetscCall(PetscStrlcat(names, " ", sizeof(names)));
    PetscCall(PetscStrlcat(names, p->name, sizeof(names)));
  }
  PetscCheck(MuonKernelPolynomialFind(name) != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown set %s of option -%slmo_polar_coefficients, expected one of:%s", name, MuonPolarPrefix_Private(polar), names);
  PetscCall(PetscStrallocpy(name, &copy));
  PetscCall(PetscFree(polar->coefficients));
  PetscCall(PetscFree(polar->values));
  polar->coefficients  = copy;
  polar->ncoefficients = 0;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarGetCoefficients - Gets the name of the polynomials of an iterative method

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. name - name of the set, that of the method where none was chosen, `user` for `MuonPolarSetCoefficientValues()`, `NULL` for a method without polynomials

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarCoefficients`, `MuonPolarSetCoefficients()`, `MuonPolarGetCoefficientValues()`
@*/
PetscErrorCode MuonPolarGetCoefficients(MuonPolar polar, MuonPolarCoefficients *name)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(name, 2);
  *name = NULL;
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  if (polar->owncoefficients == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (polar->ncoefficients > 0) *name = "user";
  else *name = polar->coefficients != NULL ? polar->coefficients : polar->owncoefficients;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetCoefficientValues - Gives an iterative method polynomials of your own

  Logically Collective

  Input Parameters:
+ polar - the object
. count - number of values, three for each step, at most 96
- c     - the coefficients of $x$, $x^3$ and $x^5$ of the first step, of the second, ...; steps past the last repeat it

  Options Database Key:
. -lmo_polar_coefficient_values c1,c2,c3,... - the coefficients

  Level: advanced

  Notes:
  The method makes as many steps as there are polynomials unless `MuonPolarSetSteps()` says otherwise. The
  first one gets singular values in $(0, 1]$.

  It replaces the choice of `MuonPolarSetCoefficients()`, and stays with the object when its type changes.

.seealso: `MuonPolar`, `MuonPolarGetCoefficientValues()`, `MuonPolarSetCoefficients()`, `MuonPolarSetSteps()`
@*/
PetscErrorCode MuonPolarSetCoefficientValues(MuonPolar polar, PetscInt count, const PetscReal c[])
{
  double *values;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(polar, count, 2);
  PetscAssertPointer(c, 3);
  PetscCheck(count >= 3 && count % 3 == 0 && count <= 3 * MAXMUONPOLARROWS, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
             "Option -%slmo_polar_coefficient_values has %" PetscInt_FMT " values, expected three for each step and at most %d", MuonPolarPrefix_Private(polar), count, 3 * MAXMUONPOLARROWS);
  for (PetscInt i = 0; i < count; i++)
    PetscCheck(!PetscIsInfOrNanReal(c[i]), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Value %" PetscInt_FMT " of option -%slmo_polar_coefficient_values is %g, expected a number", i, MuonPolarPrefix_Private(polar), (double)c[i]);
  PetscCall(PetscMalloc1(count, &values));
  for (PetscInt i = 0; i < count; i++) values[i] = (double)c[i];
  PetscCall(PetscFree(polar->values));
  PetscCall(PetscFree(polar->coefficients));
  polar->values        = values;
  polar->ncoefficients = count / 3;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetCoefficientValues - Gets the polynomials of `MuonPolarSetCoefficientValues()`

  Not Collective

  Input Parameters:
+ polar - the object
- count - length of the array

  Output Parameters:
+ count - number of values, three for each step; 0 where the polynomials are chosen by name
- c     - the values, as many as there is room for; may be `NULL`

  Level: advanced

.seealso: `MuonPolar`, `MuonPolarSetCoefficientValues()`, `MuonPolarGetCoefficients()`
@*/
PetscErrorCode MuonPolarGetCoefficientValues(MuonPolar polar, PetscInt *count, PetscReal c[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(count, 2);
  if (c != NULL) {
    for (PetscInt i = 0; i < PetscMin(*count, 3 * polar->ncoefficients); i++) c[i] = (PetscReal)polar->values[i];
  }
  *count = 3 * polar->ncoefficients;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetPrecision - Sets the precision in which a method computes, whatever `PetscScalar` is

  Logically Collective

  Input Parameters:
+ polar     - the object
- precision - `MUON_POLAR_PRECISION_SINGLE`, `MUON_POLAR_PRECISION_DOUBLE`, `MUON_POLAR_PRECISION_BF16`, `MUON_POLAR_PRECISION_TF32`, or `MUON_POLAR_PRECISION_DETERMINE` (`PETSC_DETERMINE`) for what the method takes

  Options Database Key:
. -lmo_polar_precision single|double|bf16|tf32 - the precision, that of the method by default

  Level: intermediate

  Notes:
  The matrix is divided by its norm before it is rounded, so that nothing overflows or underflows on the way
  down. The result is rounded to the precision of the matrix.

  With bf16 the arrays are binary32 and the operands of each product are rounded to bfloat16 (8 bits of
  significand), by oneDNN and the matrix registers of processors that have them; sums are accumulated in
  binary32. The rounded copies and oneDNN's code for each shape are kept, shared by all objects of the process
  and freed by `PetscFinalize()`. oneDNN runs as many threads as `OMP_NUM_THREADS` says, whatever the BLAS
  does: set it to one where each core has a rank.

  The type `svd` computes in `PetscScalar`; `MuonPolarSetUp()` refuses another precision. The choice stays
  with the object when its type changes.

.seealso: `MuonPolar`, `MuonPolarPrecision`, `MuonPolarGetPrecision()`
@*/
PetscErrorCode MuonPolarSetPrecision(MuonPolar polar, MuonPolarPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(polar, precision, 2);
  PetscCheck((int)precision >= (int)MUON_POLAR_PRECISION_DETERMINE && (int)precision <= (int)MUON_POLAR_PRECISION_TF32, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
             "Option -%slmo_polar_precision is number %d, expected one of MuonPolarPrecision", MuonPolarPrefix_Private(polar), (int)precision);
  polar->precision = (PetscInt)precision;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetPrecision - Gets the precision in which the method computes

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. precision - the precision that was set, or else what the method takes

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarPrecision`, `MuonPolarSetPrecision()`
@*/
PetscErrorCode MuonPolarGetPrecision(MuonPolar polar, MuonPolarPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(precision, 2);
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  *precision = polar->ownprecision == PETSC_DETERMINE ? MUON_POLAR_PRECISION_PETSCSCALAR : (MuonPolarPrecision)polar->ownprecision;
  if (polar->precision != PETSC_DETERMINE) *precision = (MuonPolarPrecision)polar->precision;
  else PetscTryTypeMethod(polar, getprecision, precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetTolerance - Sets how far the singular values of the result may be from one

  Logically Collective

  Input Parameters:
+ polar     - the object
- tolerance - between 0 and 1, or `PETSC_DETERMINE` for what the method takes

  Options Database Key:
. -lmo_polar_tolerance tol - the tolerance, that of the method by default

  Level: intermediate

  Note:
  What a method does with it, and for which singular values it is kept, is said on its page. A method without
  a tolerance ignores it. The choice stays with the object when its type changes.

.seealso: `MuonPolar`, `MuonPolarGetTolerance()`
@*/
PetscErrorCode MuonPolarSetTolerance(MuonPolar polar, PetscReal tolerance)
{
  const char *prefix = MuonPolarPrefix_Private(polar);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveReal(polar, tolerance, 2);
  PetscCheck(tolerance == (PetscReal)PETSC_DETERMINE || (tolerance > 0.0 && tolerance < 1.0), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_tolerance is %g, expected a number between 0 and 1", prefix,
             (double)tolerance);
  polar->tolerance = tolerance;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetTolerance - Gets how far the singular values of the result may be from one

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. tolerance - the tolerance that was set, or else what the method takes; 0 for a method without one

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarSetTolerance()`
@*/
PetscErrorCode MuonPolarGetTolerance(MuonPolar polar, PetscReal *tolerance)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(tolerance, 2);
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  *tolerance = polar->owntolerance > 0.0 && polar->tolerance != (PetscReal)PETSC_DETERMINE ? polar->tolerance : polar->owntolerance;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetNormalization - Sets what an iterative method divides the matrix by before its first step

  Logically Collective

  Input Parameters:
+ polar         - the object
- normalization - `MUON_POLAR_NORMALIZATION_FROBENIUS` or `MUON_POLAR_NORMALIZATION_SPECTRAL`

  Options Database Key:
. -lmo_polar_normalization frobenius|spectral - the norm, frobenius by default

  Level: intermediate

  Note:
  Both are those of SignMuon's PolarNS. The Frobenius norm is a safe bound, up to $\sqrt{\min(m,n)}$ times too
  large. A few power iterations give an estimate $s$ of the largest singular value that is too small (0.74 of
  it was seen after two on Gaussian matrices), and some polynomials diverge above it: the matrix is divided by
  $\min(\|G\|_F, 1.2 s)$. The iterations run on the Gram matrix, where they are cheap, so that eight more
  follow and stand in for $1.2 s$ where their estimate is above it.

  The choice stays with the object when its type changes. A method without polynomials ignores it: its bound
  of the largest singular value is its own.

.seealso: `MuonPolar`, `MuonPolarNormalization`, `MuonPolarGetNormalization()`, `MuonPolarSetPowerIterations()`
@*/
PetscErrorCode MuonPolarSetNormalization(MuonPolar polar, MuonPolarNormalization normalization)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(polar, normalization, 2);
  PetscCheck(normalization == MUON_POLAR_NORMALIZATION_FROBENIUS || normalization == MUON_POLAR_NORMALIZATION_SPECTRAL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
             "Option -%slmo_polar_normalization is number %d, expected one of MuonPolarNormalization", MuonPolarPrefix_Private(polar), (int)normalization);
  polar->normalization = normalization;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetNormalization - Gets what an iterative method divides the matrix by before its first step

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. normalization - the norm

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarNormalization`, `MuonPolarSetNormalization()`
@*/
PetscErrorCode MuonPolarGetNormalization(MuonPolar polar, MuonPolarNormalization *normalization)
{
  PetscFunctionBegin;
  MuonGet(polar, MUONPOLAR_CLASSID, normalization, polar->normalization);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetPowerIterations - Sets how many power iterations estimate the largest singular value

  Logically Collective

  Input Parameters:
+ polar - the object
- n     - number of iterations, at least 1

  Options Database Key:
. -lmo_polar_power_iterations n - number of iterations, 2 by default

  Level: intermediate

  Note:
  For `MUON_POLAR_NORMALIZATION_SPECTRAL`.

.seealso: `MuonPolar`, `MuonPolarGetPowerIterations()`, `MuonPolarSetNormalization()`
@*/
PetscErrorCode MuonPolarSetPowerIterations(MuonPolar polar, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveInt(polar, n, 2);
  PetscCheck(n >= 1, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_power_iterations is %" PetscInt_FMT ", expected at least 1", MuonPolarPrefix_Private(polar), n);
  polar->poweriterations = n;
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetPowerIterations - Gets how many power iterations estimate the largest singular value

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. n - number of iterations

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarSetPowerIterations()`
@*/
PetscErrorCode MuonPolarGetPowerIterations(MuonPolar polar, PetscInt *n)
{
  PetscFunctionBegin;
  MuonGet(polar, MUONPOLAR_CLASSID, n, polar->poweriterations);
  PetscFunctionReturn(PETSC_SUCCESS);
}
