#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/dense/muonblas.h"

const char *const MuonPolarPrecisions[]     = {"single", "double", "bf16", "tf32", "MuonPolarPrecision", "MUON_POLAR_PRECISION_", NULL};
const char *const MuonPolarNormalizations[] = {"frobenius", "spectral", "MuonPolarNormalization", "MUON_POLAR_NORMALIZATION_", NULL};

/*@
  MuonPolarCreate - Creates an object for orthogonal polar factors

  Collective

  Input Parameter:
. comm - communicator of the object

  Output Parameter:
. polar - the new object

  Level: intermediate

  Note:
  `MuonPolarApply()` is collective on its matrix, not on `comm`. With a sequential matrix it does not communicate, and
  any rank of `comm` may call it alone.

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
  PetscCall(MuonParametersCreate((PetscObject)p));
  *polar = p;
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
  MuonParameterTypeFn *create;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(MuonParametersFindType((PetscObject)polar, type, &create));
  if (create != NULL) polar->ownprecision = PETSC_DETERMINE;
  PetscCall(MuonParametersChangeType((PetscObject)polar, type, create));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarSetDefaultType_Private(MuonPolar polar)
{
  PetscFunctionBegin;
  if (((PetscObject)polar)->type_name == NULL) PetscCall(MuonPolarSetType(polar, MUONPOLARZOLOTAREV));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarGetType - Gets the method that computes the polar factor

  Not Collective

  Input Parameter:
. polar - the object

  Output Parameter:
. type - name of the method, `NULL` if none was set

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
  MuonPolarSetOptionsPrefix - Sets the prefix of the keys `-lmo_polar_...`

  Logically Collective

  Input Parameters:
+ polar  - the object
- prefix - the prefix, without a leading hyphen

  Level: advanced

.seealso: `MuonPolar`, `MuonPolarSetFromOptions()`
@*/
PetscErrorCode MuonPolarSetOptionsPrefix(MuonPolar polar, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)polar, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetFromOptions - Sets the method and its parameters from the options database

  Collective

  Input Parameter:
. polar - the object

  Options Database Keys:
+ -lmo_polar_type type                         - the method, see `MuonPolarType`
. -lmo_polar_precision single|double|bf16|tf32 - precision of the arithmetic, see the notes
. -lmo_polar_products blas|onednn              - library of the products in single precision, see the notes
- -lmo_polar_monitor [viewer]                  - prints the accuracy of each factor, see the notes

  Level: intermediate

  Notes:
  The keys of a method are on its page. A key that the method does not use is not read, so that `-options_left` names
  it. `MuonObjectSetParameter()` takes the same keys.

  The precision does not depend on `PetscScalar`. The matrix is divided by its norm before it is rounded, so that
  nothing overflows or underflows, and the result is rounded to the precision of the matrix. The type `svd` computes in
  `PetscScalar`; another precision is an error.

  With `bf16` the arrays are binary32 and the operands of each product are rounded to bfloat16 (8 bits of
  significand), by oneDNN and the matrix registers of processors that have them; sums are accumulated in
  binary32. The rounded copies are kept, shared by all objects of the process and freed by `PetscFinalize()`.
  oneDNN caches its code for each shape (`ONEDNN_PRIMITIVE_CACHE_CAPACITY`) and uses `OMP_NUM_THREADS` threads, independent of the BLAS. Set
  `OMP_NUM_THREADS` to one if each core has a rank.

  An OpenBLAS that is older than the processor may use kernels for narrower vectors, which are several times slower.
  Products in single precision on the host then use oneDNN, if the library was built with it, and `MuonStep()` warns
  once. Set `OPENBLAS_CORETYPE` in the environment to make the BLAS itself faster, also for double precision and for
  the program's own products. This also switches the check off. `-lmo_polar_products` selects the library; results
  differ by rounding.

  The monitor prints the numbers of `MuonPolarComputeQuality()`, which cost more than the factor, or the status if
  there is no factor. Different ranks compute the layers of an optimizer at different times. Every rank therefore has
  its own viewer, and the first rank of a matrix prints. With `ascii:FILE::append` several objects and ranks can write
  to one file.

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarSetOptionsPrefix()`, `MuonPolarPrecision`, `MuonObjectSetParameter()`
@*/
PetscErrorCode MuonPolarSetFromOptions(MuonPolar polar)
{
  const char *old = ((PetscObject)polar)->type_name;
  char        type[256];
  PetscBool   set;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCall(MuonParametersHelpOnce((PetscObject)polar));
  PetscObjectOptionsBegin((PetscObject)polar);
  PetscCall(PetscOptionsFList("-lmo_polar_type", "Method for the polar factor", "MuonPolarSetType", MuonPolarList, old != NULL ? old : MUONPOLARZOLOTAREV, type, sizeof(type), &set));
  if (set) PetscCall(MuonPolarSetType(polar, type));
  else PetscCall(MuonPolarSetDefaultType_Private(polar));
  PetscCall(MuonParametersSetFromOptions((PetscObject)polar, PetscOptionsObject));
  PetscTryTypeMethod(polar, setfromoptions);
  if (polar->svd != NULL) PetscCall(MuonSVDSetFromOptions(polar->svd, (PetscObject)polar, "lmo_polar_"));
  PetscCall(PetscOptionsString("-lmo_polar_monitor", "One line for each factor", "MuonPolarSetFromOptions", "stdout", type, sizeof(type), NULL));
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)polar, PetscOptionsObject));
  PetscOptionsEnd();
  PetscCall(MuonPolarMonitorSetFromOptions_Private(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarGetPrecision(MuonPolar polar, MuonPolarPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  *precision = polar->ownprecision == PETSC_DETERMINE ? MUON_POLAR_PRECISION_PETSCSCALAR : (MuonPolarPrecision)polar->ownprecision;
  if (polar->precision != PETSC_DETERMINE) *precision = (MuonPolarPrecision)polar->precision;
  else PetscTryTypeMethod(polar, getprecision, precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarSetUp - Checks the type and its parameters

  Collective

  Input Parameter:
. polar - the object

  Level: intermediate

  Note:
  `MuonPolarApply()` calls it. If ranks apply the object at different times, call it on all of them first, so that a
  wrong option is an error on each.

.seealso: `MuonPolar`, `MuonPolarSetFromOptions()`, `MuonPolarApply()`
@*/
PetscErrorCode MuonPolarSetUp(MuonPolar polar)
{
  PetscBool legal;
  char      names[256] = "";

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  if (polar->work == NULL) PetscCall(MuonWorkspaceCreate(&polar->work));
  legal = polar->precision == PETSC_DETERMINE || polar->products ? PETSC_TRUE : PETSC_FALSE;
  if (polar->ownprecision == PETSC_DETERMINE && polar->precision == (int)MUON_POLAR_PRECISION_PETSCSCALAR) legal = PETSC_TRUE;
  if (polar->ownprecision != PETSC_DETERMINE && polar->precision <= (int)MUON_POLAR_PRECISION_DOUBLE) legal = PETSC_TRUE;
  if (!legal) PetscCall(MuonParametersListTypes(MUONPOLAR_CLASSID, offsetof(struct _p_MuonPolar, products), sizeof(names), names));
  PetscCheck(legal, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP, "Option -%slmo_polar_precision is %s, expected %s for the type %s; any is taken by %s", MuonPolarPrefix_Private(polar), MuonPolarPrecisions[polar->precision],
             polar->ownprecision == PETSC_DETERMINE ? MuonPolarPrecisions[MUON_POLAR_PRECISION_PETSCSCALAR] : "single or double", ((PetscObject)polar)->type_name, names);
  PetscCheck(MuonKernelProductsSet((MuonKernelProducts)(polar->library + 1)) == 0, PetscObjectComm((PetscObject)polar), PETSC_ERR_SUP_SYS, "Option -%slmo_polar_products is onednn, and the library was built without oneDNN, expected blas",
             MuonPolarPrefix_Private(polar));
  (void)MuonKernelProductsSet(MUON_PRODUCTS_AUTO);
  if (polar->svd != NULL) PetscCall(MuonSVDSetUp(polar->svd));
  PetscTryTypeMethod(polar, setup);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarDescribeBLAS(size_t length, char text[], PetscBool *slow)
{
  MuonKernelBLAS blas;

  PetscFunctionBegin;
  MuonKernelBLASGet(&blas);
  *slow   = blas.remedy != NULL ? PETSC_TRUE : PETSC_FALSE;
  text[0] = '\0';
  if (*slow)
    PetscCall(PetscSNPrintf(text, length, "OpenBLAS runs its kernels for %s, with vectors of %d bits where the processor has %d: set OPENBLAS_CORETYPE=%s in the environment%s", blas.core, blas.bits, blas.processor, blas.remedy,
                            blas.onednn ? "; products in single precision go through oneDNN" : ""));
  else if (blas.tiles) PetscCall(PetscStrncpy(text, "the processor has registers for tiles of matrices, which -lmo_polar_precision bf16 uses in a library with oneDNN", length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarWarnBLAS(MPI_Comm comm)
{
  static PetscBool warned = PETSC_FALSE;
  char             text[256];
  PetscBool        slow;

  PetscFunctionBegin;
  if (warned) PetscFunctionReturn(PETSC_SUCCESS);
  warned = PETSC_TRUE;
  PetscCall(MuonPolarDescribeBLAS(sizeof(text), text, &slow));
  if (slow && !PetscMuonIsQuiet) PetscCall(PetscFPrintf(comm, PETSC_STDERR, "Warning: %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarView - Prints the method, its parameters and its scratch memory

  Collective

  Input Parameters:
+ polar  - the object
- viewer - the viewer, `NULL` for standard output

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarSetFromOptions()`
@*/
PetscErrorCode MuonPolarView(MuonPolar polar, PetscViewer viewer)
{
  MuonPolarPrecision precision;
  size_t             bytes = 0;
  PetscBool          ascii, string;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCall(MuonViewBegin((PetscObject)polar, &viewer, &ascii, &string));
  PetscCheckSameComm(polar, 1, viewer, 2);
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  if (ascii) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)polar, viewer));
    PetscCall(MuonParametersView((PetscObject)polar, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscTryTypeMethod(polar, view, viewer);
    if (polar->gathers) PetscCall(MuonSVDView(polar->svd, viewer));
    PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", MuonPolarPrecisions[precision]));
    if (polar->work != NULL) PetscCall(MuonWorkspaceGetBytes(polar->work, &bytes));
    PetscCall(PetscViewerASCIIPrintf(viewer, "scratch: %zu bytes\n", bytes));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (string) {
    PetscCall(PetscViewerStringSPrintf(viewer, " %s %s", ((PetscObject)polar)->type_name, MuonPolarPrecisions[precision]));
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
  if (polar->svd != NULL) PetscCall(MuonSVDSetWorkspace(polar->svd, NULL));
  PetscCall(MuonWorkspaceDestroy(&polar->work));
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
  MuonDestroyBegin(polar, MUONPOLAR_CLASSID);
  PetscCall(MuonPolarReset(*polar));
  PetscCall(MuonViewerAndFormatDestroy((void **)&(*polar)->monitor));
  PetscCall(MuonParametersDestroy((PetscObject)*polar));
  PetscCall(PetscHeaderDestroy(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}
