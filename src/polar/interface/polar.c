#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/muonpolarkernels.h"

const char *const MuonPolarPrecisions[]     = {"single", "double", "bf16", "MuonPolarPrecision", "MUON_POLAR_PRECISION_", NULL};
const char *const MuonPolarNormalizations[] = {"frobenius", "spectral", "MuonPolarNormalization", "MUON_POLAR_NORMALIZATION_", NULL};

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
  PetscBool   dense, parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQDENSE, &dense));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIDENSE, &parallel));
  PetscCheck(parallel == PETSC_FALSE, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "%s with options prefix \"%s\": a parallel matrix (type %s) is not supported, expected %s", object->class_name, prefix, MATMPIDENSE, MATSEQDENSE);
  PetscCheck(dense == PETSC_TRUE, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "%s with options prefix \"%s\": matrix of type %s, expected %s", object->class_name, prefix, ((PetscObject)A)->type_name, MATSEQDENSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckMats_Private(PetscObject object, Mat A, Mat B)
{
  const char *prefix = object->prefix != NULL ? object->prefix : "";
  PetscInt    m, n, p, q;

  PetscFunctionBegin;
  PetscCall(MuonCheckMat_Private(object, A));
  PetscCall(MuonCheckMat_Private(object, B));
  PetscCheck(A != B, PETSC_COMM_SELF, PETSC_ERR_ARG_IDN, "%s with options prefix \"%s\": input and output are the same matrix, expected two", object->class_name, prefix);
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetSize(B, &p, &q));
  PetscCheck(m == p && n == q, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "%s with options prefix \"%s\": the output is %" PetscInt_FMT " x %" PetscInt_FMT ", expected the input's %" PetscInt_FMT " x %" PetscInt_FMT, object->class_name, prefix, p, q, m, n);
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
  `MuonPolarApply()` works on sequential matrices and communicates nothing, so that any rank of `comm` may call it alone.

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
. -lmo_polar_type type - the method, `newtonschulz` by default

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
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown type %s of option -%slmo_polar_type, expected one of: %s", type, ((PetscObject)polar)->prefix != NULL ? ((PetscObject)polar)->prefix : "", names);
  PetscTryTypeMethod(polar, destroy);
  PetscCall(PetscMemzero(polar->ops, sizeof(struct _MuonPolarOps)));
  polar->data = NULL;
  PetscCall((*create)(polar));
  PetscCall(PetscObjectChangeTypeName((PetscObject)polar, type));
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
+ -lmo_polar_type type         - the method, see `MuonPolarType`
. -lmo_polar_steps n           - steps of an iterative method, see `MuonPolarSetSteps()`
. -lmo_polar_coefficients name - polynomials of an iterative method, see `MuonPolarSetCoefficients()`
- -lmo_polar_svd_type type     - solver of the type `svd`, with SLEPc's other keys of that prefix, see `MUONPOLARSVD`

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarSetOptionsPrefix()`
@*/
PetscErrorCode MuonPolarSetFromOptions(MuonPolar polar)
{
  const char *old = ((PetscObject)polar)->type_name;
  char        type[256];
  PetscBool   set;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscObjectOptionsBegin((PetscObject)polar);
  PetscCall(PetscOptionsFList("-lmo_polar_type", "Method for the polar factor", "MuonPolarSetType", MuonPolarList, old != NULL ? old : MUONPOLARNEWTONSCHULZ, type, sizeof(type), &set));
  if (set == PETSC_TRUE) PetscCall(MuonPolarSetType(polar, type));
  else if (old == NULL) PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscTryTypeMethod(polar, setfromoptions, PetscOptionsObject);
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)polar, PetscOptionsObject));
  PetscOptionsEnd();
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
  const char *prefix;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  prefix = ((PetscObject)polar)->prefix != NULL ? ((PetscObject)polar)->prefix : "";
  PetscValidLogicalCollectiveInt(polar, steps, 2);
  PetscCheck(steps == PETSC_DETERMINE || steps >= 1, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_OUTOFRANGE, "Option -%slmo_polar_steps is %" PetscInt_FMT ", expected at least 1", prefix, steps);
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
  if (((PetscObject)polar)->type_name == NULL) PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
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
. -lmo_polar_coefficients name - the set, `kj` by default

  Level: intermediate

  Note:
  The choice stays with the object when its type changes. A method without polynomials ignores it.

.seealso: `MuonPolar`, `MuonPolarCoefficients`, `MuonPolarGetCoefficients()`, `MuonPolarSetSteps()`, `MUONPOLARNEWTONSCHULZ`
@*/
PetscErrorCode MuonPolarSetCoefficients(MuonPolar polar, MuonPolarCoefficients name)
{
  const MuonKernelPolynomial *p;
  const char                 *prefix;
  char                        names[256] = "";
  char                       *copy;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  prefix = ((PetscObject)polar)->prefix != NULL ? ((PetscObject)polar)->prefix : "";
  PetscAssertPointer(name, 2);
  for (int i = 0; (p = MuonKernelPolynomialGet(i)) != NULL; i++) {
    PetscCall(PetscStrlcat(names, " ", sizeof(names)));
    PetscCall(PetscStrlcat(names, p->name, sizeof(names)));
  }
  PetscCheck(MuonKernelPolynomialFind(name) != NULL, PetscObjectComm((PetscObject)polar), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown set %s of option -%slmo_polar_coefficients, expected one of:%s", name, prefix, names);
  PetscCall(PetscStrallocpy(name, &copy));
  PetscCall(PetscFree(polar->coefficients));
  polar->coefficients = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarGetCoefficients - Gets the name of the polynomials of an iterative method

  Not Collective; No Fortran support

  Input Parameter:
. polar - the object

  Output Parameter:
. name - name of the set

  Level: intermediate

.seealso: `MuonPolar`, `MuonPolarCoefficients`, `MuonPolarSetCoefficients()`
@*/
PetscErrorCode MuonPolarGetCoefficients(MuonPolar polar, MuonPolarCoefficients *name)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(name, 2);
  *name = polar->coefficients != NULL ? polar->coefficients : MUONPOLARCOEFFICIENTSKJ;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarApply - Computes the orthogonal polar factor of a matrix

  Not Collective; No Fortran support

  Input Parameters:
+ polar - the object
- G     - the matrix, `MATSEQDENSE`, of any shape and leading dimension; it is not modified

  Output Parameter:
. Q - another matrix of the same shape

  Level: intermediate

  Notes:
  With the singular value decomposition $G = U \Sigma V^T$ over the singular values that are not zero, $Q = U V^T$: the orthogonal matrix nearest to `G`, or the canonical
  partial isometry where the rank of `G` is not full. The method of type `svd` gives that to working accuracy; iterative methods give $U f(\Sigma) V^T$ with values of $f$ near 1,
  and the page of each says how near. The factor of a zero matrix is zero.

  `MuonPolarGetStatus()` tells whether it worked. An entry of `G` that is NaN or Inf gives `MUON_STATUS_NANORINF`, a decomposition that failed `MUON_STATUS_LMO`; both leave `Q` as it was.

.seealso: `MuonPolar`, `MuonPolarGetStatus()`, `MuonPolarSetType()`, `MuonLMOApply()`
@*/
PetscErrorCode MuonPolarApply(MuonPolar polar, Mat G, Mat Q)
{
  const PetscScalar *g;
  PetscInt           m, n, lda;
  PetscBool          finite;
  double             most;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(Q, MAT_CLASSID, 3);
  PetscCall(MuonCheckMats_Private((PetscObject)polar, G, Q));
  if (((PetscObject)polar)->type_name == NULL) PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  if (polar->work == NULL) PetscCall(MuonWorkspaceCreate(&polar->work));
  PetscCall(PetscLogEventBegin(MUON_Polar, polar, G, Q, 0));
  PetscCall(MuonMatIsFinite_Private(G, &finite));
  polar->status = finite == PETSC_TRUE ? MUON_STATUS_OK : MUON_STATUS_NANORINF;
  if (finite == PETSC_TRUE) {
    PetscCall(MatGetSize(G, &m, &n));
    PetscCall(MatDenseGetLDA(G, &lda));
    PetscCall(MatDenseGetArrayRead(G, &g));
    most = MuonKernelMaxAbs((size_t)m, (size_t)n, g, (size_t)lda);
    PetscCall(MatDenseRestoreArrayRead(G, &g));
    if (most > 0.0) PetscUseTypeMethod(polar, apply, G, Q);
    else PetscCall(MatZeroEntries(Q));
  }
  PetscCall(PetscLogEventEnd(MUON_Polar, polar, G, Q, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetStatus - Tells how the last `MuonPolarApply()` of this rank ended

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
  if (((PetscObject)polar)->type_name == NULL) PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
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
  PetscLogDouble bytes;
  PetscBool      ascii, string;

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
    PetscCall(MuonPolarGetMemory(polar, &bytes));
    PetscCall(PetscViewerASCIIPrintf(viewer, "scratch: %.0f bytes\n", (double)bytes));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (string == PETSC_TRUE) {
    PetscCall(PetscViewerStringSPrintf(viewer, " %s", ((PetscObject)polar)->type_name != NULL ? ((PetscObject)polar)->type_name : "no type"));
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
  PetscTryTypeMethod(*polar, destroy);
  PetscCall(PetscFree((*polar)->coefficients));
  PetscCall(PetscHeaderDestroy(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}
