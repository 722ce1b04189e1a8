#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonpolarimpl.h>

const char *const MuonShapeFactors[] = {"none", "kj", "moonlight", "scion", "MuonShapeFactor", "MUON_SHAPE_FACTOR_", NULL};

/*@
  MuonLMOCreate - Creates a linear minimization oracle over the unit ball of a matrix norm

  Collective

  Input Parameter:
. comm - communicator of the object

  Output Parameter:
. lmo - the new object

  Level: intermediate

  Note:
  `MuonLMOApply()` and the routines for norms are collective on their matrix, not on `comm`. With a sequential matrix
  they do not communicate, and any rank of `comm` may call them alone.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOSetFromOptions()`, `MuonLMOApply()`, `MuonLMODestroy()`
@*/
PetscErrorCode MuonLMOCreate(MPI_Comm comm, MuonLMO *lmo)
{
  MuonLMO l;

  PetscFunctionBegin;
  PetscAssertPointer(lmo, 2);
  *lmo = NULL;
  PetscCall(MuonLMOInitializePackage());
  PetscCall(PetscHeaderCreate(l, MUONLMO_CLASSID, "MuonLMO", "Linear minimization over a norm ball", "MuonLMO", comm, MuonLMODestroy, MuonLMOView));
  PetscCall(MuonParametersCreate((PetscObject)l));
  PetscCall(MuonNameHash_Private("", &l->layer));
  *lmo = l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOSetType - Sets the norm of an LMO

  Logically Collective

  Input Parameters:
+ lmo  - the object
- type - a known norm, see `MuonLMOType`

  Options Database Key:
. -lmo_type type - the norm, `spectral` by default

  Level: intermediate

  Note:
  In programs of TAO the key is `-lmo_type`, too, with the prefix of the `Tao`, and not -tao_lmo_type, see `TAOMUON`.

.seealso: `MuonLMO`, `MuonLMOType`, `MuonLMOGetType()`, `MuonLMORegister()`, `TAOMUON`
@*/
PetscErrorCode MuonLMOSetType(MuonLMO lmo, MuonLMOType type)
{
  MuonParameterTypeFn *create;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(MuonParametersFindType((PetscObject)lmo, type, &create));
  PetscCall(MuonParametersChangeType((PetscObject)lmo, type, create));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOGetType - Gets the norm of an LMO

  Not Collective

  Input Parameter:
. lmo - the object

  Output Parameter:
. type - name of the norm, `NULL` if none was set

  Level: intermediate

.seealso: `MuonLMO`, `MuonLMOType`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLMOGetType(MuonLMO lmo, MuonLMOType *type)
{
  PetscFunctionBegin;
  MuonGet(lmo, MUONLMO_CLASSID, type, ((PetscObject)lmo)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOSetOptionsPrefix - Sets the prefix of the keys `-lmo_...` of an LMO and of its `MuonPolar`

  Logically Collective

  Input Parameters:
+ lmo    - the object
- prefix - the prefix, without a leading hyphen

  Level: advanced

.seealso: `MuonLMO`, `MuonLMOSetFromOptions()`
@*/
PetscErrorCode MuonLMOSetOptionsPrefix(MuonLMO lmo, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)lmo, prefix));
  if (lmo->polar != NULL) PetscCall(MuonPolarSetOptionsPrefix(lmo->polar, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOSetFromOptions - Sets the norm and its parameters from the options database

  Collective

  Input Parameter:
. lmo - the object

  Options Database Keys:
+ -lmo_type type       - the norm, see `MuonLMOType`
. -lmo_svd_type type   - SLEPc's solver for the norms of singular values, with SLEPc's other keys of that prefix, see `MUONLMONUCLEAR`
- -lmo_polar_type type - method of the polar factor, for the norms that need one, see `MuonPolarSetFromOptions()`

  Level: intermediate

  Notes:
  The keys of a norm are on its page. `MuonObjectSetParameter()` takes the same keys.

  It may be called again with another prefix. Parameters without a key there do not change.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOSetOptionsPrefix()`
@*/
PetscErrorCode MuonLMOSetFromOptions(MuonLMO lmo)
{
  const char *old = ((PetscObject)lmo)->type_name;
  char        type[256];
  PetscBool   set = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscCall(MuonParametersHelpOnce((PetscObject)lmo));
  PetscObjectOptionsBegin((PetscObject)lmo);
  if (!lmo->parameters.known) PetscCall(PetscOptionsFList("-lmo_type", "Norm of the ball", "MuonLMOSetType", MuonLMOList, old != NULL ? old : MUONLMOSPECTRAL, type, sizeof(type), &set));
  if (set) PetscCall(MuonLMOSetType(lmo, type));
  PetscCall(MuonLMOStart_Private(lmo));
  PetscCall(MuonParametersSetFromOptions((PetscObject)lmo, PetscOptionsObject));
  PetscTryTypeMethod(lmo, setfromoptions);
  if (lmo->svd != NULL) PetscCall(MuonSVDSetFromOptions(lmo->svd, (PetscObject)lmo, "lmo_"));
  if (!lmo->parameters.known) PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)lmo, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOSetUp - Checks the norm and its parameters

  Collective

  Input Parameter:
. lmo - the object

  Level: advanced

  Notes:
  Errors arise on every rank of the object, not only on those with a matrix. Examples are a solver unknown to SLEPc and
  a precision that the method for the polar factor does not support.

  `MuonSetUp()` calls it for every layer. Later changes of parameters take effect at the next step.

.seealso: `MuonLMO`, `MuonLMOSetFromOptions()`, `MuonLMOApply()`, `MuonPolarSetUp()`
@*/
PetscErrorCode MuonLMOSetUp(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscCall(MuonLMOStart_Private(lmo));
  PetscTryTypeMethod(lmo, setup);
  if (lmo->svd != NULL) PetscCall(MuonSVDSetUp(lmo->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOGetPolar - Gets the object that computes polar factors for the norms that need one

  Not Collective

  Input Parameter:
. lmo - the object

  Output Parameter:
. polar - the object, borrowed, created at the first call

  Level: intermediate

  Note:
  Norms other than `MUONLMOSPECTRAL` do not use it.

.seealso: `MuonLMO`, `MuonPolar`, `MUONLMOSPECTRAL`
@*/
PetscErrorCode MuonLMOGetPolar(MuonLMO lmo, MuonPolar *polar)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(polar, 2);
  if (lmo->polar == NULL) {
    PetscCall(MuonPolarCreate(PetscObjectComm((PetscObject)lmo), &lmo->polar));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)lmo->polar, (PetscObject)lmo, 1));
    PetscCall(PetscObjectSetOptions((PetscObject)lmo->polar, ((PetscObject)lmo)->options));
    PetscCall(MuonPolarSetOptionsPrefix(lmo->polar, ((PetscObject)lmo)->prefix));
    PetscCall(MuonWorkspaceShare(lmo->work, &lmo->polar->work));
  }
  *polar = lmo->polar;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOStart_Private(MuonLMO lmo)
{
  MuonWorkspace work;

  PetscFunctionBegin;
  if (((PetscObject)lmo)->type_name == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  if (lmo->work == NULL) {
    PetscCall(MuonWorkspaceCreate(&work));
    PetscCall(MuonLMOSetWorkspace(lmo, work));
    PetscCall(MuonWorkspaceDestroy(&work));
  }
  lmo->status = MUON_STATUS_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOCheckField_Private(MuonLMO lmo, const MuonMatrix *G)
{
  PetscFunctionBegin;
  lmo->pairs = G->here.pairs;
  if (lmo->pairs) PetscCall(MuonParametersCheckType((PetscObject)lmo, offsetof(struct _p_MuonLMO, onpairs), NULL, MUON_OF_REALS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Alone, or those one behind the other of a type that takes several in one call of it */
PetscErrorCode MuonLMOApplyMatrices(PetscInt n, const MuonLMO lmo[], const MuonMatrix G[], const MuonMatrix D[], double value[], MuonStatus status[])
{
  MuonMark mark;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_LMO, lmo[0], 0, 0, 0));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonLMOStart_Private(lmo[k]));
    PetscCall(MuonLMOCheckField_Private(lmo[k], &G[k]));
    value[k] = 0.0;
  }
  for (PetscInt k = 0, end; k < n; k = end) {
    for (end = k + 1; lmo[k]->ops->applymany != NULL && end < n && lmo[end]->ops->applymany == lmo[k]->ops->applymany;) end++;
    PetscCall(MuonWorkspaceMark(lmo[k]->work, &mark));
    if (lmo[k]->ops->applymany != NULL) PetscCall((*lmo[k]->ops->applymany)(end - k, lmo + k, G + k, D + k, value + k, status + k));
    else {
      PetscUseTypeMethod(lmo[k], apply, &G[k], &D[k], &value[k]);
      status[k] = lmo[k]->status;
    }
    PetscCall(MuonWorkspaceRelease(lmo[k]->work, &mark));
  }
  for (PetscInt k = 0; k < n; k++) {
    /* Inf may be a sum of finite entries */
    if (status[k] == MUON_STATUS_OK && value[k] != value[k]) status[k] = MUON_STATUS_NANORINF;
    lmo[k]->status = status[k];
  }
  PetscCall(PetscLogEventEnd(MUON_LMO, lmo[0], 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOApplyMatrix(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D, double *value, MuonStatus *status)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOApplyMatrices(1, &lmo, G, D, value, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOComputeNormMatrix(MuonLMO lmo, PetscBool dual, const MuonMatrix *X, PetscReal *norm, MuonStatus *status)
{
  double   value = 0.0;
  MuonMark mark;

  PetscFunctionBegin;
  PetscCall(MuonLMOStart_Private(lmo));
  PetscCall(MuonLMOCheckField_Private(lmo, X));
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  PetscUseTypeMethod(lmo, norm, dual, X, &value);
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  *norm = (PetscReal)value;
  if (lmo->status == MUON_STATUS_OK && PetscIsInfOrNanReal(*norm)) lmo->status = MUON_STATUS_NANORINF;
  if (lmo->status != MUON_STATUS_OK) *norm = (PetscReal)NAN;
  if (status != NULL) *status = lmo->status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOApply - Minimizes the inner product with a matrix over the unit ball of the norm

  Collective on G

  Input Parameters:
+ lmo - the object
- G   - the matrix, `MATSEQDENSE` or `MATMPIDENSE`, of any shape and leading dimension, with any rows on any rank; it is not modified

  Output Parameters:
+ D      - another matrix of the same type, shape and distribution: a minimizer of $\langle G, D \rangle$ over $\|D\| \le 1$
. value  - $-\langle G, D \rangle$; may be `NULL`
- status - `MUON_STATUS_OK`, `MUON_STATUS_NANORINF` or `MUON_STATUS_LMO`; may be `NULL`

  Level: intermediate

  Notes:
  If the LMO is exact, `value` is the dual norm $\|G\|_*$, so that $X + t D$ is the steepest step of length
  $t$, and $-\|G\|_* D$ is the sharp operator $G^\sharp$. The result for a zero matrix is zero. An approximate
  `MuonPolar` makes the LMO of the spectral norm approximate.

  If several entries, columns or rows are largest, the LMO takes the first of them in memory order, on any number of
  ranks. For a `Mat` this order is by columns. Rows and columns of zeros stay zero in norms of rows and columns. The
  result for a parallel matrix is the same as on one rank, up to the rounding of sums over ranks.

  The status is the same on all ranks of `G`. An entry of `G` that is NaN or Inf gives `MUON_STATUS_NANORINF`, a failed
  decomposition `MUON_STATUS_LMO`. Both leave `D` unchanged.

.seealso: `MuonLMO`, `MuonStatus`, `MuonLMOComputeDualNorm()`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLMOApply(MuonLMO lmo, Mat G, Mat D, PetscReal *value, MuonStatus *status)
{
  MuonMatrix g, d;
  MuonStatus ended;
  double     dual;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(D, MAT_CLASSID, 3);
  PetscCall(MuonCheckMats_Private((PetscObject)lmo, G, D));
  PetscCall(MuonMatGetMatrix(G, PETSC_FALSE, &g));
  PetscCall(MuonMatGetMatrix(D, PETSC_TRUE, &d));
  PetscCall(MuonLMOApplyMatrix(lmo, &g, &d, &dual, &ended));
  PetscCall(MuonMatRestoreMatrix(D, PETSC_TRUE, &d));
  PetscCall(MuonMatRestoreMatrix(G, PETSC_FALSE, &g));
  if (value != NULL) *value = (PetscReal)dual;
  if (status != NULL) *status = ended;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Private(MuonLMO lmo, PetscBool dual, Mat X, PetscReal *norm)
{
  MuonMatrix x;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscAssertPointer(norm, 3);
  PetscCall(MuonCheckMat_Private((PetscObject)lmo, X));
  PetscCall(MuonMatGetMatrix(X, PETSC_FALSE, &x));
  PetscCall(MuonLMOComputeNormMatrix(lmo, dual, &x, norm, NULL));
  PetscCall(MuonMatRestoreMatrix(X, PETSC_FALSE, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOComputeNorm - Computes the norm of a matrix

  Collective on X

  Input Parameters:
+ lmo - the object
- X   - the matrix, `MATSEQDENSE` or `MATMPIDENSE`

  Output Parameter:
. norm - the norm, NaN if an entry is NaN or Inf, a decomposition failed or the norm overflows

  Level: intermediate

.seealso: `MuonLMO`, `MuonLMOComputeDualNorm()`
@*/
PetscErrorCode MuonLMOComputeNorm(MuonLMO lmo, Mat X, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMONorm_Private(lmo, PETSC_FALSE, X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOComputeDualNorm - Computes the dual norm of a matrix

  Collective on G

  Input Parameters:
+ lmo - the object
- G   - the matrix, `MATSEQDENSE` or `MATMPIDENSE`

  Output Parameter:
. dual - the largest $\langle G, Z \rangle$ over $\|Z\| \le 1$, NaN as for `MuonLMOComputeNorm()`

  Level: intermediate

  Note:
  For the spectral norm this is the nuclear norm by a singular value decomposition, which costs far more than a step of
  an optimizer.

.seealso: `MuonLMO`, `MuonLMOComputeNorm()`
@*/
PetscErrorCode MuonLMOComputeDualNorm(MuonLMO lmo, Mat G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMONorm_Private(lmo, PETSC_TRUE, G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOGetFlops - Gets the floating point operations of one `MuonLMOApply()`

  Not Collective

  Input Parameters:
+ lmo - the object
. m   - rows of the matrix
- n   - columns of the matrix

  Output Parameter:
. flops - the operations, as `-log_view` counts them

  Level: advanced

.seealso: `MuonLMO`, `MuonLMOApply()`, `MuonPolarGetFlops()`
@*/
PetscErrorCode MuonLMOGetFlops(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(flops, 4);
  PetscCall(MuonLMOStart_Private(lmo));
  PetscUseTypeMethod(lmo, getflops, m, n, flops);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOGetShapeFactor(MuonLMO lmo, MuonShapeFactor factor, PetscInt m, PetscInt n, PetscReal *value)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOStart_Private(lmo));
  *value = 1.0;
  if (m > 0 && n > 0) PetscTryTypeMethod(lmo, shapefactor, factor, (PetscReal)m, (PetscReal)n, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOGetNorm(MuonLMO lmo, MuonNorm *norm, PetscBool *known)
{
  const MuonLMOVectors *vectors;

  PetscFunctionBegin;
  PetscCall(MuonLMOStart_Private(lmo));
  vectors = (const MuonLMOVectors *)lmo->data;
  *known  = lmo->svd != NULL || lmo->ops->norm == MuonLMONorm_Vectors ? PETSC_TRUE : PETSC_FALSE;
  if (*known == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  norm->singular = lmo->svd != NULL ? PETSC_TRUE : PETSC_FALSE;
  norm->rows     = vectors->rows;
  norm->p        = MuonLMOExponent(vectors->p);
  norm->q        = MuonLMOExponent(vectors->q);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MuonLMOGathers(MuonLMO lmo)
{
  return lmo->gathers || (lmo->polar != NULL && lmo->polar->gathers) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MuonLMOSetWorkspace(MuonLMO lmo, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceShare(work, &lmo->work));
  if (lmo->polar != NULL) PetscCall(MuonWorkspaceShare(work, &lmo->polar->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOView - Prints the norm, its method and its scratch memory

  Collective

  Input Parameters:
+ lmo    - the object
- viewer - the viewer, `NULL` for standard output

  Level: intermediate

.seealso: `MuonLMO`, `MuonLMOSetFromOptions()`
@*/
PetscErrorCode MuonLMOView(MuonLMO lmo, PetscViewer viewer)
{
  PetscBool ascii, string;
  size_t    bytes = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscCall(MuonViewBegin((PetscObject)lmo, &viewer, &ascii, &string));
  PetscCheckSameComm(lmo, 1, viewer, 2);
  if (ascii) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)lmo, viewer));
    PetscCall(MuonParametersView((PetscObject)lmo, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscTryTypeMethod(lmo, view, viewer);
    /* The scratch memory is one with that of a polar factor, which shows it */
    if (lmo->polar == NULL) {
      if (lmo->work != NULL) PetscCall(MuonWorkspaceGetBytes(lmo->work, &bytes));
      PetscCall(PetscViewerASCIIPrintf(viewer, "scratch: %zu bytes\n", bytes));
    }
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (string) {
    PetscCall(PetscViewerStringSPrintf(viewer, " %s", ((PetscObject)lmo)->type_name != NULL ? ((PetscObject)lmo)->type_name : "no type"));
    for (const MuonParameter *row = lmo->parameters.rows[1]; row != NULL && row->key != NULL; row++) {
      char text[64];

      PetscCall(MuonParameterWrite_Private((PetscObject)lmo, row, sizeof(text), text));
      PetscCall(PetscViewerStringSPrintf(viewer, " %s %s", row->key, text));
    }
    PetscTryTypeMethod(lmo, view, viewer);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOReset - Frees the scratch memory of the object and keeps its options

  Collective

  Input Parameter:
. lmo - the object

  Level: advanced

.seealso: `MuonLMO`, `MuonLMODestroy()`
@*/
PetscErrorCode MuonLMOReset(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  if (lmo->svd != NULL) PetscCall(MuonSVDSetWorkspace(lmo->svd, NULL));
  if (lmo->polar != NULL) PetscCall(MuonPolarReset(lmo->polar));
  PetscCall(MuonWorkspaceDestroy(&lmo->work));
  lmo->status = MUON_STATUS_OK;
  lmo->dual   = 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMODestroy - Destroys the object

  Collective

  Input Parameter:
. lmo - the object

  Level: intermediate

.seealso: `MuonLMO`, `MuonLMOCreate()`
@*/
PetscErrorCode MuonLMODestroy(MuonLMO *lmo)
{
  PetscFunctionBegin;
  MuonDestroyBegin(lmo, MUONLMO_CLASSID);
  PetscCall(MuonLMOReset(*lmo));
  PetscCall(MuonParametersDestroy((PetscObject)*lmo));
  PetscCall(MuonPolarDestroy(&(*lmo)->polar));
  PetscCall(MuonCompressorDestroy(&(*lmo)->message));
  PetscCall(PetscHeaderDestroy(lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}
