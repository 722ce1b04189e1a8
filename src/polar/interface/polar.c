#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/muonpolarkernels.h"
#include "../../kernels/muonpolarbf16.h"

const char *const MuonPolarPrecisions[]     = {"single", "double", "bf16", "MuonPolarPrecision", "MUON_POLAR_PRECISION_", NULL};
const char *const MuonPolarNormalizations[] = {"frobenius", "spectral", "MuonPolarNormalization", "MUON_POLAR_NORMALIZATION_", NULL};

static const char *PolarPrefix(MuonPolar polar)
{
  return ((PetscObject)polar)->prefix != NULL ? ((PetscObject)polar)->prefix : "";
}

PetscErrorCode MuonListNames_Private(PetscFunctionList list, size_t length, char names[])
{
  const char **array;
  int          count;

  PetscFunctionBegin;
  names[0] = '\0';
  PetscCall(PetscFunctionListGet(list, &array, &count));
  /* Some releases count an empty name at the end */
  for (int i = 0; i < count && array[i] != NULL; i++) {
    if (i > 0) PetscCall(PetscStrlcat(names, " ", length));
    PetscCall(PetscStrlcat(names, array[i], length));
  }
  PetscCall(PetscFree(array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckMat_Private(PetscObject object, Mat A)
{
  const char *prefix = object->prefix != NULL ? object->prefix : "";
  PetscBool   dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCheck(dense == PETSC_TRUE, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "%s with options prefix \"%s\": matrix of type %s, expected %s or %s", object->class_name, prefix, ((PetscObject)A)->type_name, MATSEQDENSE, MATMPIDENSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckMats_Private(PetscObject object, Mat A, Mat B)
{
  const char     *prefix = object->prefix != NULL ? object->prefix : "";
  const PetscInt *a, *b, *c, *d;
  PetscInt        m, n, p, q;
  MPI_Comm        comm;
  PetscMPIInt     same, size;
  PetscBool       kind;

  PetscFunctionBegin;
  PetscCall(MuonCheckMat_Private(object, A));
  PetscCall(MuonCheckMat_Private(object, B));
  comm = PetscObjectComm((PetscObject)A);
  PetscCheck(A != B, comm, PETSC_ERR_ARG_IDN, "%s with options prefix \"%s\": input and output are the same matrix, expected two", object->class_name, prefix);
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, ((PetscObject)B)->type_name, &kind));
  PetscCheck(kind == PETSC_TRUE, comm, PETSC_ERR_ARG_NOTSAMETYPE, "%s with options prefix \"%s\": the output is a matrix of type %s, expected the input's %s", object->class_name, prefix, ((PetscObject)B)->type_name, ((PetscObject)A)->type_name);
  PetscCallMPI(MPI_Comm_compare(comm, PetscObjectComm((PetscObject)B), &same));
  PetscCheck(same == MPI_IDENT || same == MPI_CONGRUENT, comm, PETSC_ERR_ARG_NOTSAMECOMM, "%s with options prefix \"%s\": the output is on another communicator, expected the input's", object->class_name, prefix);
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetSize(B, &p, &q));
  PetscCheck(m == p && n == q, comm, PETSC_ERR_ARG_SIZ, "%s with options prefix \"%s\": the output is %" PetscInt_FMT " x %" PetscInt_FMT ", expected the input's %" PetscInt_FMT " x %" PetscInt_FMT, object->class_name, prefix, p, q, m, n);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetOwnershipRanges(A, &a));
  PetscCall(MatGetOwnershipRanges(B, &b));
  PetscCall(MatGetOwnershipRangesColumn(A, &c));
  PetscCall(MatGetOwnershipRangesColumn(B, &d));
  /* Every rank knows all ranges, so that all raise this together */
  for (PetscMPIInt r = 0; r < size; r++) {
    PetscCheck(a[r] == b[r] && a[r + 1] == b[r + 1], comm, PETSC_ERR_ARG_INCOMP,
               "%s with options prefix \"%s\": rank %d has rows %" PetscInt_FMT " to %" PetscInt_FMT " of the output (%" PetscInt_FMT " x %" PetscInt_FMT "), expected the input's %" PetscInt_FMT " to %" PetscInt_FMT, object->class_name, prefix, r,
               b[r], b[r + 1], m, n, a[r], a[r + 1]);
    PetscCheck(c[r + 1] == d[r + 1], comm, PETSC_ERR_ARG_INCOMP, "%s with options prefix \"%s\": the vectors that the output multiplies have %" PetscInt_FMT " entries on rank %d, expected the input's %" PetscInt_FMT, object->class_name, prefix,
               d[r + 1] - d[r], r, c[r + 1] - c[r]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarCreate - Creates an object that computes orthogonal polar factors

  Collective; No Fortran support

  Input Parameter:
. comm - communicator of the object

  Output Parameter:
. polar - the new object

  Level: intermediate

  Note:
  `MuonPolarApply()` is collective on the matrix that it gets, not on `comm`: with a sequential matrix it communicates nothing, and any rank of `comm` may call it alone.

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarSetFromOptions()`, `MuonPolarApply()`, `MuonPolarDestroy()`
@*/
PetscErrorCode MuonPolarCreate(MPI_Comm comm, MuonPolar *polar)
{
  MuonPolar p;

  PetscFunctionBegin;
  PetscAssertPointer(polar, 2);
  *polar = NULL;
  PetscCall(MuonPolarInitializePackage());
  PetscCall(PetscHeaderCreate(p, MUONPOLAR_CLASSID, "MuonPolar", "Orthogonal polar factor", "MuonPolar", comm, MuonPolarDestroy, MuonPolarView));
  p->steps           = PETSC_DETERMINE;
  p->coefficients    = NULL;
  p->ncoefficients   = 0;
  p->values          = NULL;
  p->precision       = PETSC_DETERMINE;
  p->tolerance       = (PetscReal)PETSC_DETERMINE;
  p->normalization   = MUON_POLAR_NORMALIZATION_FROBENIUS;
  p->poweriterations = 2;
  p->status          = MUON_STATUS_OK;
  p->work            = NULL;
  p->data            = NULL;
  *polar             = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarSetType - Sets the method that computes the polar factor

  Logically Collective; No Fortran support

  Input Parameters:
+ polar - the object
- type  - a known method, see `MuonPolarType`

  Options Database Key:
. -lmo_polar_type type - the method, `zolotarev` by default

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarType`, `MuonPolarGetType()`, `MuonPolarRegister()`
@*/
PetscErrorCode MuonPolarSetType(MuonPolar polar, MuonPolarType type)
{
  PetscErrorCode (*create)(MuonPolar);
  PetscBool same;
  char      names[256];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)polar, type, &same));
  if (same == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFunctionListFind(MuonPolarList, type, &create));
  PetscCall(MuonListNames_Private(MuonPolarList, sizeof(names), names));
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown type %s of option -%slmo_polar_type, expected one of: %s", type, PolarPrefix(polar), names);
  PetscTryTypeMethod(polar, destroy);
  PetscCall(PetscMemzero(polar->ops, sizeof(struct _MuonPolarOps)));
  polar->data       = NULL;
  polar->normalizes = PETSC_FALSE;
  PetscCall((*create)(polar));
  PetscCall(PetscObjectChangeTypeName((PetscObject)polar, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarSetDefaultType_Private(MuonPolar polar)
{
  PetscFunctionBegin;
  if (((PetscObject)polar)->type_name == NULL) PetscCall(MuonPolarSetType(polar, MUONPOLARZOLOTAREV));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarGetType - Gets the method that computes the polar factor

  Not Collective; No Fortran support

  Input Parameter:
. polar - the object

  Output Parameter:
. type - name of the method, `NULL` as long as none is set

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarType`, `MuonPolarSetType()`
@*/
PetscErrorCode MuonPolarGetType(MuonPolar polar, MuonPolarType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(type, 2);
  *type = ((PetscObject)polar)->type_name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarSetOptionsPrefix - Sets what goes before the keys `-lmo_polar_...` of this object

  Logically Collective; No Fortran support

  Input Parameters:
+ polar  - the object
- prefix - the prefix, without a leading hyphen

  Level: advanced

.seealso: `MuonPolar`, `MuonPolarGetOptionsPrefix()`, `MuonPolarSetFromOptions()`
@*/
PetscErrorCode MuonPolarSetOptionsPrefix(MuonPolar polar, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)polar, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarGetOptionsPrefix - Gets what goes before the keys `-lmo_polar_...` of this object

  Not Collective; No Fortran support

  Input Parameter:
. polar - the object

  Output Parameter:
. prefix - the prefix

  Level: advanced

.seealso: `MuonPolar`, `MuonPolarSetOptionsPrefix()`
@*/
PetscErrorCode MuonPolarGetOptionsPrefix(MuonPolar polar, const char *prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)polar, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetFromOptions - Sets the method and its parameters from the options database

  Collective; No Fortran support

  Input Parameter:
. polar - the object

  Options Database Keys:
+ -lmo_polar_type type                        - the method, see `MuonPolarType`
. -lmo_polar_precision single|double|bf16     - precision of the arithmetic, see `MuonPolarSetPrecision()`
. -lmo_polar_tolerance tol                    - how far singular values may end from one, see `MuonPolarSetTolerance()`
. -lmo_polar_normalization frobenius|spectral - what the matrix is divided by first, see `MuonPolarSetNormalization()`
. -lmo_polar_power_iterations n               - iterations of the spectral normalization, see `MuonPolarSetPowerIterations()`
. -lmo_polar_steps n                          - steps of an iterative method, see `MuonPolarSetSteps()`
. -lmo_polar_coefficients name                - polynomials of an iterative method, see `MuonPolarSetCoefficients()`
. -lmo_polar_coefficient_values c1,c2,c3,...  - polynomials of your own, see `MuonPolarSetCoefficientValues()`
. -lmo_polar_svd_type type                    - solver of the type `svd`, with SLEPc's other keys of that prefix, see `MUONPOLARSVD`
- -lmo_polar_monitor [viewer]                 - prints how good each factor is, see `MuonPolarMonitorSet()`

  Level: intermediate

  Note:
  A key that the method has no use for is not read, so that `-options_left` names it.

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarSetOptionsPrefix()`
@*/
PetscErrorCode MuonPolarSetFromOptions(MuonPolar polar)
{
  const char            *old = ((PetscObject)polar)->type_name;
  MuonPolarCoefficients  name;
  MuonPolarPrecision     precision;
  MuonPolarNormalization normalization;
  PetscReal              tolerance, values[3 * MAXMUONPOLARROWS + 1];
  PetscInt               count, steps;
  char                   type[256];
  PetscBool              set;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscObjectOptionsBegin((PetscObject)polar);
  PetscCall(PetscOptionsFList("-lmo_polar_type", "Method for the polar factor", "MuonPolarSetType", MuonPolarList, old != NULL ? old : MUONPOLARZOLOTAREV, type, sizeof(type), &set));
  if (set == PETSC_TRUE) PetscCall(MuonPolarSetType(polar, type));
  else PetscCall(MuonPolarSetDefaultType_Private(polar));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCall(PetscOptionsEnum("-lmo_polar_precision", "Precision of the arithmetic", "MuonPolarSetPrecision", MuonPolarPrecisions, (PetscEnum)precision, (PetscEnum *)&precision, &set));
  if (set == PETSC_TRUE) PetscCall(MuonPolarSetPrecision(polar, precision));
  if (polar->ops->gettolerance != NULL) {
    PetscCall(MuonPolarGetTolerance(polar, &tolerance));
    PetscCall(PetscOptionsReal("-lmo_polar_tolerance", "How far singular values may end from one", "MuonPolarSetTolerance", tolerance, &tolerance, &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetTolerance(polar, tolerance));
  }
  if (polar->normalizes == PETSC_TRUE) {
    normalization = polar->normalization;
    count         = polar->poweriterations;
    PetscCall(PetscOptionsEnum("-lmo_polar_normalization", "What the matrix is divided by first", "MuonPolarSetNormalization", MuonPolarNormalizations, (PetscEnum)normalization, (PetscEnum *)&normalization, &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetNormalization(polar, normalization));
    PetscCall(PetscOptionsInt("-lmo_polar_power_iterations", "Iterations of the spectral normalization", "MuonPolarSetPowerIterations", count, &count, &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetPowerIterations(polar, count));
  }
  if (polar->ops->getcoefficients != NULL) {
    PetscCall(MuonPolarGetCoefficients(polar, &name));
    PetscCall(PetscOptionsString("-lmo_polar_coefficients", "Name of the polynomials", "MuonPolarSetCoefficients", name, type, sizeof(type), &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetCoefficients(polar, type));
    /* What -help prints as the value now */
    PetscCall(PetscArrayzero(values, PETSC_STATIC_ARRAY_LENGTH(values)));
    count = 3 * MAXMUONPOLARROWS + 1;
    PetscCall(MuonPolarGetCoefficientValues(polar, &count, values));
    count = 3 * MAXMUONPOLARROWS + 1;
    PetscCall(PetscOptionsRealArray("-lmo_polar_coefficient_values", "Three coefficients for each step", "MuonPolarSetCoefficientValues", values, &count, &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetCoefficientValues(polar, count, values));
  }
  if (polar->ops->getsteps != NULL) {
    PetscCall(MuonPolarGetSteps(polar, &steps));
    PetscCall(PetscOptionsInt("-lmo_polar_steps", "Number of steps", "MuonPolarSetSteps", steps, &steps, &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetSteps(polar, steps));
  }
  PetscCall(PetscOptionsString("-lmo_polar_monitor", "One line for each factor", "MuonPolarMonitorSet", "stdout", type, sizeof(type), NULL));
  PetscTryTypeMethod(polar, setfromoptions, PetscOptionsObject);
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)polar, PetscOptionsObject));
  PetscOptionsEnd();
  PetscCall(MuonPolarMonitorSetFromOptions_Private(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetSteps - Sets how many steps an iterative method makes

  Logically Collective; No Fortran support

  Input Parameters:
+ polar - the object
- steps - number of steps, or `PETSC_DETERMINE` for what the coefficients were made for

  Options Database Key:
. -lmo_polar_steps n - number of steps

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
  PetscCheck(steps == PETSC_DETERMINE || steps >= 1, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_steps is %" PetscInt_FMT ", expected at least 1", PolarPrefix(polar), steps);
  polar->steps = steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetSteps - Gets how many steps the method makes

  Not Collective; No Fortran support

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

  Logically Collective; No Fortran support

  Input Parameters:
+ polar - the object
- name  - a known set, see `MuonPolarCoefficients`

  Options Database Key:
. -lmo_polar_coefficients name - the set

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
  PetscCheck(MuonKernelPolynomialFind(name) != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown set %s of option -%slmo_polar_coefficients, expected one of:%s", name, PolarPrefix(polar), names);
  PetscCall(PetscStrallocpy(name, &copy));
  PetscCall(PetscFree(polar->coefficients));
  PetscCall(PetscFree(polar->values));
  polar->coefficients  = copy;
  polar->ncoefficients = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarGetCoefficients - Gets the name of the polynomials of an iterative method

  Not Collective; No Fortran support

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
  if (polar->ops->getcoefficients == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (polar->ncoefficients > 0) *name = "user";
  else if (polar->coefficients != NULL) *name = polar->coefficients;
  else PetscUseTypeMethod(polar, getcoefficients, name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetCoefficientValues - Gives an iterative method polynomials of your own

  Logically Collective; No Fortran support

  Input Parameters:
+ polar - the object
. count - number of values, three for each step, at most 96
- c     - the coefficients of $x$, $x^3$ and $x^5$ of the first step, of the second, ...; steps past the last repeat it

  Options Database Key:
. -lmo_polar_coefficient_values c1,c2,c3,... - the coefficients

  Level: advanced

  Notes:
  The method makes as many steps as there are polynomials unless `MuonPolarSetSteps()` says otherwise. The first one gets singular values in $(0, 1]$.

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
             "Option -%slmo_polar_coefficient_values has %" PetscInt_FMT " values, expected three for each step and at most %d", PolarPrefix(polar), count, 3 * MAXMUONPOLARROWS);
  for (PetscInt i = 0; i < count; i++)
    PetscCheck(!PetscIsInfOrNanReal(c[i]), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Value %" PetscInt_FMT " of option -%slmo_polar_coefficient_values is %g, expected a number", i, PolarPrefix(polar), (double)c[i]);
  PetscCall(PetscMalloc1(count, &values));
  for (PetscInt i = 0; i < count; i++) values[i] = (double)c[i];
  PetscCall(PetscFree(polar->values));
  PetscCall(PetscFree(polar->coefficients));
  polar->values        = values;
  polar->ncoefficients = count / 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetCoefficientValues - Gets the polynomials of `MuonPolarSetCoefficientValues()`

  Not Collective; No Fortran support

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

  Logically Collective; No Fortran support

  Input Parameters:
+ polar     - the object
- precision - `MUON_POLAR_PRECISION_SINGLE`, `MUON_POLAR_PRECISION_DOUBLE`, `MUON_POLAR_PRECISION_BF16`, or `MUON_POLAR_PRECISION_DETERMINE` (`PETSC_DETERMINE`) for what the method takes

  Options Database Key:
. -lmo_polar_precision single|double|bf16 - the precision

  Level: intermediate

  Notes:
  The matrix is divided by its norm before it is rounded, so that nothing overflows or underflows on the way down. The result is rounded to `PetscScalar`.

  With bf16 the arrays are binary32 and the operands of each product are rounded to bfloat16 (8 bits of significand), by oneDNN and the matrix registers of processors that have them; sums are
  accumulated in binary32. The rounded copies and oneDNN's code for each shape are kept, shared by all objects of the process and freed by `PetscFinalize()`. oneDNN
  runs as many threads as `OMP_NUM_THREADS` says, whatever the BLAS does: set it to one where each core has a rank.

  The type `svd` computes in `PetscScalar`; `MuonPolarApply()` refuses another precision. The choice stays with the object when its type changes.

.seealso: `MuonPolar`, `MuonPolarPrecision`, `MuonPolarGetPrecision()`
@*/
PetscErrorCode MuonPolarSetPrecision(MuonPolar polar, MuonPolarPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(polar, precision, 2);
  PetscCheck((int)precision >= (int)MUON_POLAR_PRECISION_DETERMINE && (int)precision <= (int)MUON_POLAR_PRECISION_BF16, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
             "Option -%slmo_polar_precision is number %d, expected one of MuonPolarPrecision", PolarPrefix(polar), (int)precision);
  polar->precision = (PetscInt)precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetPrecision - Gets the precision in which the method computes

  Not Collective; No Fortran support

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
  *precision = MUON_POLAR_PRECISION_PETSCSCALAR;
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  if (polar->precision != PETSC_DETERMINE) *precision = (MuonPolarPrecision)polar->precision;
  else PetscTryTypeMethod(polar, getprecision, precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetTolerance - Sets how far the singular values of the result may be from one

  Logically Collective; No Fortran support

  Input Parameters:
+ polar     - the object
- tolerance - between 0 and 1, or `PETSC_DETERMINE` for what the method takes

  Options Database Key:
. -lmo_polar_tolerance tol - the tolerance

  Level: intermediate

  Note:
  What a method does with it, and for which singular values it is kept, is said on its page. A method without a tolerance ignores it. The choice stays with the object when its type changes.

.seealso: `MuonPolar`, `MuonPolarGetTolerance()`
@*/
PetscErrorCode MuonPolarSetTolerance(MuonPolar polar, PetscReal tolerance)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveReal(polar, tolerance, 2);
  PetscCheck(tolerance == (PetscReal)PETSC_DETERMINE || (tolerance > 0.0 && tolerance < 1.0), PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_tolerance is %g, expected a number between 0 and 1", PolarPrefix(polar),
             (double)tolerance);
  polar->tolerance = tolerance;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetTolerance - Gets how far the singular values of the result may be from one

  Not Collective; No Fortran support

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
  *tolerance = 0.0;
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  if (polar->ops->gettolerance != NULL && polar->tolerance != (PetscReal)PETSC_DETERMINE) *tolerance = polar->tolerance;
  else PetscTryTypeMethod(polar, gettolerance, tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetNormalization - Sets what an iterative method divides the matrix by before its first step

  Logically Collective; No Fortran support

  Input Parameters:
+ polar         - the object
- normalization - `MUON_POLAR_NORMALIZATION_FROBENIUS` or `MUON_POLAR_NORMALIZATION_SPECTRAL`

  Options Database Key:
. -lmo_polar_normalization frobenius|spectral - the norm

  Level: intermediate

  Note:
  Both are those of SignMuon's PolarNS. The Frobenius norm is a safe bound, up to $\sqrt{\min(m,n)}$ times too large. A few power iterations give an estimate $s$ of the largest singular value
  that is too small (0.74 of it was seen after two on Gaussian matrices), and some polynomials diverge above it: the matrix is divided by $\min(\|G\|_F, 1.2 s)$. The iterations run
  on the Gram matrix, where they are cheap, so that eight more follow and stand in for $1.2 s$ where their estimate is above it.

  The choice stays with the object when its type changes. A method without polynomials ignores it: its bound of the largest singular value is its own.

.seealso: `MuonPolar`, `MuonPolarNormalization`, `MuonPolarGetNormalization()`, `MuonPolarSetPowerIterations()`
@*/
PetscErrorCode MuonPolarSetNormalization(MuonPolar polar, MuonPolarNormalization normalization)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(polar, normalization, 2);
  PetscCheck(normalization == MUON_POLAR_NORMALIZATION_FROBENIUS || normalization == MUON_POLAR_NORMALIZATION_SPECTRAL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE,
             "Option -%slmo_polar_normalization is number %d, expected one of MuonPolarNormalization", PolarPrefix(polar), (int)normalization);
  polar->normalization = normalization;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetNormalization - Gets what an iterative method divides the matrix by before its first step

  Not Collective; No Fortran support

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
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(normalization, 2);
  *normalization = polar->normalization;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetPowerIterations - Sets how many power iterations estimate the largest singular value

  Logically Collective; No Fortran support

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
  PetscCheck(n >= 1, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_power_iterations is %" PetscInt_FMT ", expected at least 1", PolarPrefix(polar), n);
  polar->poweriterations = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetPowerIterations - Gets how many power iterations estimate the largest singular value

  Not Collective; No Fortran support

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
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(n, 2);
  *n = polar->poweriterations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What every apply needs: a type, scratch memory, and a precision that the type has */
static PetscErrorCode MuonPolarSetUp_Private(MuonPolar polar)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  if (polar->work == NULL) PetscCall(MuonWorkspaceCreate(&polar->work));
  PetscCheck(polar->ops->getprecision != NULL || polar->precision == PETSC_DETERMINE || polar->precision == (PetscInt)MUON_POLAR_PRECISION_PETSCSCALAR, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP,
             "Option -%slmo_polar_precision is %s, expected %s, that of PetscScalar, for the type %s", PolarPrefix(polar), MuonPolarPrecisions[polar->precision], MuonPolarPrecisions[MUON_POLAR_PRECISION_PETSCSCALAR], ((PetscObject)polar)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Increasing sizes; equal ones stay in the order of the caller, in which all ranks give them. Few, so that the simplest way does */
static PetscErrorCode MuonPolarSort_Private(PetscInt n, PetscReal size[], PetscInt order[])
{
  PetscFunctionBegin;
  for (PetscInt i = 1; i < n; i++) {
    const PetscReal s = size[i];
    const PetscInt  o = order[i];
    PetscInt        k;

    for (k = i; k > 0 && size[k - 1] > s; k--) {
      size[k]  = size[k - 1];
      order[k] = order[k - 1];
    }
    size[k]  = s;
    order[k] = o;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a matrix needs before the type sees it. In this order: the worst of the ranks decides */
enum {
  INPUT_ZERO,
  INPUT_FINITE,
  INPUT_NANORINF
};

/* Of each matrix, with one message for all on the same communicator, whatever lies between them on this rank */
static PetscErrorCode MuonPolarInspect_Private(PetscInt n, const Mat G[], int input[])
{
  int       *worst;
  PetscBool *told;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar *g;
    PetscInt           rows, columns, lda;

    PetscCall(MatGetLocalSize(G[i], &rows, NULL));
    PetscCall(MatGetSize(G[i], NULL, &columns));
    PetscCall(MatDenseGetLDA(G[i], &lda));
    PetscCall(MatDenseGetArrayRead(G[i], &g));
    if (MuonKernelIsOrdinary((size_t)rows, (size_t)columns, g, (size_t)lda) != 0) input[i] = INPUT_FINITE;
    else if (MuonKernelIsFinite((size_t)rows, (size_t)columns, g, (size_t)lda) == 0) input[i] = INPUT_NANORINF;
    else input[i] = MuonKernelMaxAbs((size_t)rows, (size_t)columns, g, (size_t)lda) > 0.0 ? INPUT_FINITE : INPUT_ZERO;
    PetscCall(MatDenseRestoreArrayRead(G[i], &g));
  }
  PetscCall(PetscMalloc2(n, &worst, n, &told));
  for (PetscInt i = 0; i < n; i++) told[i] = PETSC_FALSE;
  for (PetscInt i = 0; i < n; i++) {
    const MPI_Comm comm  = PetscObjectComm((PetscObject)G[i]);
    PetscInt       count = 0;
    PetscMPIInt    size, entries;

    PetscCallMPI(MPI_Comm_size(comm, &size));
    if (told[i] == PETSC_TRUE || size == 1) continue;
    for (PetscInt k = i; k < n; k++) {
      if (PetscObjectComm((PetscObject)G[k]) == comm) worst[count++] = input[k];
    }
    PetscCall(PetscMPIIntCast(count, &entries));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, worst, entries, MPI_INT, MPI_MAX, comm));
    count = 0;
    for (PetscInt k = i; k < n; k++) {
      if (PetscObjectComm((PetscObject)G[k]) != comm) continue;
      input[k] = worst[count++];
      told[k]  = PETSC_TRUE;
    }
  }
  PetscCall(PetscFree2(worst, told));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The status of the input, and the factor of zero; go tells whether there is something left to compute */
static PetscErrorCode MuonPolarBegin_Private(MuonPolar polar, int input, Mat Q, PetscBool *go)
{
  PetscFunctionBegin;
  polar->status = input == INPUT_NANORINF ? MUON_STATUS_NANORINF : MUON_STATUS_OK;
  *go           = input == INPUT_FINITE ? PETSC_TRUE : PETSC_FALSE;
  if (input == INPUT_ZERO) PetscCall(MatZeroEntries(Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarApply - Computes the orthogonal polar factor of a matrix

  Collective on G; No Fortran support

  Input Parameters:
+ polar - the object
- G     - the matrix, `MATSEQDENSE` or `MATMPIDENSE`, of any shape and leading dimension, with any rows on any rank; it is not modified

  Output Parameter:
. Q - another matrix of the same type, shape and distribution

  Level: intermediate

  Notes:
  With the singular value decomposition $G = U \Sigma V^T$ over the singular values that are not zero, $Q = U V^T$: the orthogonal matrix nearest to `G`, or the canonical
  partial isometry where the rank of `G` is not full. The method of type `svd` gives that to working accuracy; iterative methods give $U f(\Sigma) V^T$ with values of $f$ near 1,
  and the page of each says how near. The factor of a zero matrix is zero.

  The ranks of `G` call it together, whatever the communicator of `polar` is; with a sequential matrix any rank calls it alone.

  `MuonPolarGetStatus()` tells whether it worked. An entry of `G` that is NaN or Inf gives `MUON_STATUS_NANORINF`, a decomposition that failed `MUON_STATUS_LMO`; both leave `Q` as it was.
  The ranks of a parallel matrix have the same status.

.seealso: `MuonPolar`, `MuonPolarApplyMany()`, `MuonPolarGetStatus()`, `MuonPolarSetType()`, `MuonLMOApply()`
@*/
PetscErrorCode MuonPolarApply(MuonPolar polar, Mat G, Mat Q)
{
  PetscBool go;
  int       input;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(Q, MAT_CLASSID, 3);
  PetscCall(MuonCheckMats_Private((PetscObject)polar, G, Q));
  PetscCall(MuonPolarSetUp_Private(polar));
  PetscCall(PetscLogEventBegin(MUON_Polar, polar, G, Q, 0));
  PetscCall(MuonPolarInspect_Private(1, &G, &input));
  PetscCall(MuonPolarBegin_Private(polar, input, Q, &go));
  if (go == PETSC_TRUE) PetscUseTypeMethod(polar, apply, G, Q);
  PetscCall(PetscLogEventEnd(MUON_Polar, polar, G, Q, 0));
  PetscCall(MuonPolarMonitor(polar, G, Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarApplyMany - Computes the orthogonal polar factors of several matrices

  Collective on each matrix; No Fortran support

  Input Parameters:
+ polar - the object
. n     - number of matrices
- G     - the matrices, of any types, shapes and distributions that `MuonPolarApply()` takes; they are not modified

  Output Parameters:
+ Q      - as many other matrices of the same types, shapes and distributions
- status - how each ended, see `MuonPolarGetStatus()`; may be `NULL`

  Level: intermediate

  Notes:
  Each is what `MuonPolarApply()` gives, to the last bit. The matrices share one event of `-log_view` and the scratch memory, which grows once because the largest is first.
  Parallel matrices on the same communicator share the message that looks for NaN, Inf and zero. Products are not batched: an optimized BLAS multiplies 64 x 64 matrices
  at the rate of large ones.

  Ranks that have several parallel matrices in common give them in the same order, and matrices of one size on communicators that overlap in an order that is the same everywhere.

  `MuonPolarGetStatus()` gives the first status that is not `MUON_STATUS_OK`, in the order of the arrays. A matrix that failed does not keep the others from being computed.

.seealso: `MuonPolar`, `MuonPolarApply()`, `MuonPolarGetStatus()`
@*/
PetscErrorCode MuonPolarApplyMany(MuonPolar polar, PetscInt n, const Mat G[], Mat Q[], MuonStatus status[])
{
  MuonStatus first = MUON_STATUS_OK, *ended;
  PetscReal *size;
  PetscInt  *order, rows, columns;
  Mat       *A;
  PetscBool  go;
  int       *input;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCheck(n >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "MuonPolar with options prefix \"%s\": %" PetscInt_FMT " matrices", PolarPrefix(polar), n);
  for (PetscInt i = 0; i < n; i++) {
    PetscValidHeaderSpecific(G[i], MAT_CLASSID, 3);
    PetscValidHeaderSpecific(Q[i], MAT_CLASSID, 4);
    PetscCall(MuonCheckMats_Private((PetscObject)polar, G[i], Q[i]));
  }
  PetscCall(MuonPolarSetUp_Private(polar));
  PetscCall(PetscMalloc5(n, &ended, n, &size, n, &order, n, &A, n, &input));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(MatGetSize(G[i], &rows, &columns));
    size[i]  = -(PetscReal)rows * (PetscReal)columns;
    order[i] = i;
  }
  PetscCall(PetscLogEventBegin(MUON_Polar, polar, 0, 0, 0));
  PetscCall(MuonPolarSort_Private(n, size, order));
  for (PetscInt k = 0; k < n; k++) A[k] = G[order[k]];
  PetscCall(MuonPolarInspect_Private(n, A, input));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonPolarBegin_Private(polar, input[k], Q[order[k]], &go));
    if (go == PETSC_TRUE) PetscUseTypeMethod(polar, apply, A[k], Q[order[k]]);
    ended[order[k]] = polar->status;
  }
  PetscCall(PetscLogEventEnd(MUON_Polar, polar, 0, 0, 0));
  for (PetscInt k = 0; k < n && polar->nmonitors > 0; k++) {
    polar->status = ended[order[k]];
    PetscCall(MuonPolarMonitor(polar, A[k], Q[order[k]]));
  }
  for (PetscInt i = n - 1; i >= 0; i--) {
    if (ended[i] != MUON_STATUS_OK) first = ended[i];
    if (status != NULL) status[i] = ended[i];
  }
  polar->status = first;
  PetscCall(PetscFree5(ended, size, order, A, input));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetStatus - Tells how the last `MuonPolarApply()` or `MuonPolarApplyMany()` of this rank ended

  Not Collective; No Fortran support

  Input Parameter:
. polar - the object

  Output Parameter:
. status - `MUON_STATUS_OK`, `MUON_STATUS_NANORINF` or `MUON_STATUS_LMO`

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarApply()`, `MuonStatus`
@*/
PetscErrorCode MuonPolarGetStatus(MuonPolar polar, MuonStatus *status)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(status, 2);
  *status = polar->status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetFlops - Gets the floating point operations of one `MuonPolarApply()`

  Not Collective; No Fortran support

  Input Parameters:
+ polar - the object
. m     - rows of the matrix
- n     - columns of the matrix

  Output Parameter:
. flops - the operations, as `-log_view` counts them

  Level: advanced

  Note:
  For the type `svd` it is the textbook count of a decomposition by LAPACK.

.seealso: `MuonPolar`, `MuonPolarApply()`, `MuonLMOGetFlops()`
@*/
PetscErrorCode MuonPolarGetFlops(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(flops, 4);
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  PetscUseTypeMethod(polar, getflops, m, n, flops);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarSetWorkspace(MuonPolar polar, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceReference(work));
  PetscCall(MuonWorkspaceDestroy(&polar->work));
  polar->work = work;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarGetMemory(MuonPolar polar, PetscLogDouble *bytes)
{
  size_t size = 0;

  PetscFunctionBegin;
  if (polar->work != NULL) PetscCall(MuonWorkspaceGetBytes(polar->work, &size));
  *bytes = (PetscLogDouble)size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarView - Prints the method, its parameters and its scratch memory

  Collective; No Fortran support

  Input Parameters:
+ polar  - the object
- viewer - where to print, `NULL` for standard output

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarSetFromOptions()`
@*/
PetscErrorCode MuonPolarView(MuonPolar polar, PetscViewer viewer)
{
  MuonPolarPrecision precision;
  PetscReal          tolerance;
  PetscLogDouble     bytes;
  PetscBool          ascii, string;
  unsigned int       hash;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  if (viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)polar), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(polar, 1, viewer, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &string));
  if (ascii == PETSC_TRUE) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)polar, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscTryTypeMethod(polar, view, viewer);
    if (polar->ops->getprecision != NULL) {
      PetscCall(MuonPolarGetPrecision(polar, &precision));
      PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s", MuonPolarPrecisions[precision]));
      PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
      if (polar->normalizes == PETSC_TRUE) PetscCall(PetscViewerASCIIPrintf(viewer, ", normalization: %s", MuonPolarNormalizations[polar->normalization]));
      if (polar->normalizes == PETSC_TRUE && polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL) PetscCall(PetscViewerASCIIPrintf(viewer, ", power iterations: %" PetscInt_FMT, polar->poweriterations));
      PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
      PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
    }
    if (polar->ops->gettolerance != NULL) {
      PetscCall(MuonPolarGetTolerance(polar, &tolerance));
      PetscCall(PetscViewerASCIIPrintf(viewer, "tolerance: %g\n", (double)tolerance));
    }
    PetscCall(MuonPolarGetMemory(polar, &bytes));
    PetscCall(PetscViewerASCIIPrintf(viewer, "scratch: %.0f bytes\n", (double)bytes));
    if (polar->precision == MUON_POLAR_PRECISION_BF16) PetscCall(PetscViewerASCIIPrintf(viewer, "rounded operands, of all objects: %.0f bytes\n", (double)MuonKernelBF16Bytes()));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (string == PETSC_TRUE) {
    PetscCall(PetscViewerStringSPrintf(viewer, " %s", ((PetscObject)polar)->type_name != NULL ? ((PetscObject)polar)->type_name : "no type"));
    if (polar->ops->getprecision != NULL) {
      PetscCall(MuonPolarGetPrecision(polar, &precision));
      PetscCall(PetscViewerStringSPrintf(viewer, " %s", MuonPolarPrecisions[precision]));
    }
    if (polar->normalizes == PETSC_TRUE && polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL) PetscCall(PetscViewerStringSPrintf(viewer, " %s %" PetscInt_FMT, MuonPolarNormalizations[polar->normalization], polar->poweriterations));
    /* A view in a string must stay short: numbers that are many become one */
    if (polar->ncoefficients > 0) {
      PetscCall(MuonHash_Private(3 * (size_t)polar->ncoefficients * sizeof(*polar->values), polar->values, &hash));
      PetscCall(PetscViewerStringSPrintf(viewer, " %x", hash));
    }
    PetscTryTypeMethod(polar, view, viewer);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarReset - Frees the scratch memory of the object and keeps its options

  Collective; No Fortran support

  Input Parameter:
. polar - the object

  Level: advanced

.seealso: `MuonPolar`, `MuonPolarDestroy()`
@*/
PetscErrorCode MuonPolarReset(MuonPolar polar)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscTryTypeMethod(polar, reset);
  PetscCall(MuonWorkspaceDestroy(&polar->work));
  polar->status = MUON_STATUS_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarDestroy - Destroys the object

  Collective; No Fortran support

  Input Parameter:
. polar - the object

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarCreate()`
@*/
PetscErrorCode MuonPolarDestroy(MuonPolar *polar)
{
  PetscFunctionBegin;
  if (*polar == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(*polar, MUONPOLAR_CLASSID, 1);
  if (--((PetscObject)*polar)->refct > 0) {
    *polar = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonPolarReset(*polar));
  PetscCall(MuonPolarMonitorCancel(*polar));
  PetscTryTypeMethod(*polar, destroy);
  PetscCall(PetscFree((*polar)->coefficients));
  PetscCall(PetscFree((*polar)->values));
  PetscCall(PetscHeaderDestroy(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}
