#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/dense/muonpolarbf16.h"
#include <string.h>

/*@
  MuonPolarCreate - Creates an object that computes orthogonal polar factors

  Collective

  Input Parameter:
. comm - communicator of the object

  Output Parameter:
. polar - the new object

  Level: intermediate

  Note:
  `MuonPolarApply()` is collective on the matrix that it gets, not on `comm`: with a sequential matrix it
  communicates nothing, and any rank of `comm` may call it alone.

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
  PetscCall(MuonObjectRegister_Private((PetscObject)p));
  p->steps           = PETSC_DETERMINE;
  p->precision       = PETSC_DETERMINE;
  p->tolerance       = (PetscReal)PETSC_DETERMINE;
  p->normalization   = MUON_POLAR_NORMALIZATION_FROBENIUS;
  p->poweriterations = 2;
  *polar             = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarSetType - Sets the method that computes the polar factor

  Logically Collective

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
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown type %s of option -%slmo_polar_type, expected one of: %s", type, MuonPolarPrefix_Private(polar), names);
  PetscTryTypeMethod(polar, destroy);
  PetscCall(MuonSVDDestroy(&polar->svd));
  PetscCall(PetscMemzero(polar->ops, sizeof(struct _MuonPolarOps)));
  polar->data            = NULL;
  polar->ownprecision    = PETSC_DETERMINE;
  polar->products        = PETSC_FALSE;
  polar->owntolerance    = 0.0;
  polar->gathers         = PETSC_FALSE;
  polar->ondevice        = PETSC_FALSE;
  polar->owncoefficients = NULL;
  PetscCall((*create)(polar));
  PetscCall(PetscObjectChangeTypeName((PetscObject)polar, type));
  PetscCall(PetscObjectStateIncrease((PetscObject)polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarSetDefaultType_Private(MuonPolar polar)
{
  PetscFunctionBegin;
  if (((PetscObject)polar)->type_name == NULL) PetscCall(MuonPolarSetType(polar, MUONPOLARZOLOTAREV));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarDestroyData(MuonPolar polar)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(polar->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarGetType - Gets the method that computes the polar factor

  Not Collective

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
  MuonGet(polar, MUONPOLAR_CLASSID, type, ((PetscObject)polar)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarSetOptionsPrefix - Sets what goes before the keys `-lmo_polar_...` of this object

  Logically Collective

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

  Not Collective

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

  Collective

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
  if (polar->owntolerance > 0.0) {
    PetscCall(MuonPolarGetTolerance(polar, &tolerance));
    PetscCall(PetscOptionsReal("-lmo_polar_tolerance", "How far singular values may end from one", "MuonPolarSetTolerance", tolerance, &tolerance, &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetTolerance(polar, tolerance));
  }
  if (polar->owncoefficients != NULL) {
    normalization = polar->normalization;
    count         = polar->poweriterations;
    PetscCall(PetscOptionsEnum("-lmo_polar_normalization", "What the matrix is divided by first", "MuonPolarSetNormalization", MuonPolarNormalizations, (PetscEnum)normalization, (PetscEnum *)&normalization, &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetNormalization(polar, normalization));
    PetscCall(PetscOptionsInt("-lmo_polar_power_iterations", "Iterations of the spectral normalization", "MuonPolarSetPowerIterations", count, &count, &set));
    if (set == PETSC_TRUE) PetscCall(MuonPolarSetPowerIterations(polar, count));
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

/*
   An error where the precision is below single and the type does not only multiply, which names the types
   that do
*/
static PetscErrorCode MuonPolarCheckProducts_Private(MuonPolar polar)
{
  const char **type;
  char         names[256] = "";
  int          count;

  PetscFunctionBegin;
  if (polar->products || (polar->precision != (PetscInt)MUON_POLAR_PRECISION_BF16 && polar->precision != (PetscInt)MUON_POLAR_PRECISION_TF32)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFunctionListGet(MuonPolarList, &type, &count));
  for (int i = 0; i < count && type[i] != NULL; i++) {
    MuonPolar other;

    PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &other));
    PetscCall(MuonPolarSetType(other, type[i]));
    if (other->products) PetscCall(PetscSNPrintf(names + strlen(names), sizeof(names) - strlen(names), " %s", type[i]));
    PetscCall(MuonPolarDestroy(&other));
  }
  PetscCall(PetscFree(type));
  SETERRQ(PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP, "Option -%slmo_polar_precision is %s, expected %s for the type %s; types that take %s:%s", MuonPolarPrefix_Private(polar), MuonPolarPrecisions[polar->precision],
          polar->ownprecision == PETSC_DETERMINE ? MuonPolarPrecisions[MUON_POLAR_PRECISION_PETSCSCALAR] : "single or double", ((PetscObject)polar)->type_name, MuonPolarPrecisions[polar->precision], names);
}

/*@
  MuonPolarSetUp - Looks at the type and the options, and raises what `MuonPolarApply()` would refuse

  Collective

  Input Parameter:
. polar - the object

  Level: intermediate

  Note:
  `MuonPolarApply()` calls it. Where ranks apply the object at different times it is called on all of them
  first, so that a wrong option is an error on each.

.seealso: `MuonPolar`, `MuonPolarSetFromOptions()`, `MuonPolarApply()`
@*/
PetscErrorCode MuonPolarSetUp(MuonPolar polar)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  if (polar->work == NULL) PetscCall(MuonWorkspaceCreate(&polar->work));
  PetscCall(MuonPolarCheckProducts_Private(polar));
  PetscCheck(polar->ownprecision != PETSC_DETERMINE || polar->precision == PETSC_DETERMINE || polar->precision == (PetscInt)MUON_POLAR_PRECISION_PETSCSCALAR, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP,
             "Option -%slmo_polar_precision is %s, expected %s, that of PetscScalar, for the type %s", MuonPolarPrefix_Private(polar), MuonPolarPrecisions[polar->precision], MuonPolarPrecisions[MUON_POLAR_PRECISION_PETSCSCALAR],
             ((PetscObject)polar)->type_name);
  PetscTryTypeMethod(polar, setup);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarChoices(MuonPolar polar, size_t length, char text[])
{
  MuonPolarPrecision    precision;
  MuonPolarCoefficients name;
  PetscReal             tolerance;
  PetscInt              steps;
  unsigned int          hash;
  size_t                used;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  PetscCall(MuonPolarGetTolerance(polar, &tolerance));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(MuonHash_Private(3 * (size_t)polar->ncoefficients * sizeof(*polar->values), polar->values, &hash));
  PetscCall(PetscSNPrintf(text, length, "%s %s tolerance %.17g steps %" PetscInt_FMT " coefficients %s %x normalization %s %" PetscInt_FMT, ((PetscObject)polar)->type_name, MuonPolarPrecisions[precision], (double)tolerance, steps,
                          name != NULL ? name : "none", hash, MuonPolarNormalizations[polar->normalization], polar->poweriterations));
  PetscCall(PetscStrlen(text, &used));
  PetscTryTypeMethod(polar, choices, length - used, text + used);
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

  Collective

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

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  if (viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)polar), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(polar, 1, viewer, 2);
  PetscCall(MuonViewerCheck((PetscObject)polar, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &string));
  if (ascii == PETSC_TRUE) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)polar, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscTryTypeMethod(polar, view, viewer);
    if (polar->ownprecision != PETSC_DETERMINE) {
      PetscCall(MuonPolarGetPrecision(polar, &precision));
      PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s", MuonPolarPrecisions[precision]));
      PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
      if (polar->owncoefficients != NULL) PetscCall(PetscViewerASCIIPrintf(viewer, ", normalization: %s", MuonPolarNormalizations[polar->normalization]));
      if (polar->owncoefficients != NULL && polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL) PetscCall(PetscViewerASCIIPrintf(viewer, ", power iterations: %" PetscInt_FMT, polar->poweriterations));
      PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
      PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
    }
    if (polar->owntolerance > 0.0) {
      PetscCall(MuonPolarGetTolerance(polar, &tolerance));
      PetscCall(PetscViewerASCIIPrintf(viewer, "tolerance: %g\n", (double)tolerance));
    }
    PetscCall(MuonPolarGetMemory(polar, &bytes));
    PetscCall(PetscViewerASCIIPrintf(viewer, "scratch: %.0f bytes\n", (double)bytes));
    if (polar->precision == MUON_POLAR_PRECISION_BF16) PetscCall(PetscViewerASCIIPrintf(viewer, "rounded operands, of all objects: %.0f bytes\n", (double)MuonKernelBF16Bytes()));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (string == PETSC_TRUE) {
    PetscCall(PetscViewerStringSPrintf(viewer, " %s", ((PetscObject)polar)->type_name != NULL ? ((PetscObject)polar)->type_name : "no type"));
    if (polar->ownprecision != PETSC_DETERMINE) {
      PetscCall(MuonPolarGetPrecision(polar, &precision));
      PetscCall(PetscViewerStringSPrintf(viewer, " %s", MuonPolarPrecisions[precision]));
    }
    if (polar->owncoefficients != NULL && polar->normalization == MUON_POLAR_NORMALIZATION_SPECTRAL) PetscCall(PetscViewerStringSPrintf(viewer, " %s %" PetscInt_FMT, MuonPolarNormalizations[polar->normalization], polar->poweriterations));
    PetscTryTypeMethod(polar, view, viewer);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarReset - Frees the scratch memory of the object and keeps its options

  Collective

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
  if (polar->svd != NULL) PetscCall(MuonSVDSetWorkspace(polar->svd, NULL));
  PetscCall(MuonWorkspaceDestroy(&polar->work));
  polar->status = MUON_STATUS_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarDestroy - Destroys the object

  Collective

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
  PetscCall(MuonSVDDestroy(&(*polar)->svd));
  PetscCall(PetscFree((*polar)->coefficients));
  PetscCall(PetscFree((*polar)->values));
  PetscCall(PetscFree((*polar)->choices));
  PetscCall(MuonObjectUnregister_Private((PetscObject)*polar));
  PetscCall(PetscHeaderDestroy(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}
