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
  `MuonLMOApply()` and its kin are collective on the matrix that they get, not on `comm`: with a sequential
  matrix they communicate nothing, and any rank of `comm` may call them alone.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOSetFromOptions()`, `MuonLMOApply()`, `MuonLMODestroy()`
@*/
PetscErrorCode MuonLMOCreate(MPI_Comm comm, MuonLMO *lmo)
{
  MuonLMO l;

  PetscFunctionBegin;
  PetscAssertPointer(lmo, 2);
  *lmo = NULL;
  PetscCall(MuonLMOInitializePackage());
  PetscCall(PetscHeaderCreate(l, MUONLMO_CLASSID, "MuonLMO", "Linear minimization oracle", "MuonLMO", comm, MuonLMODestroy, MuonLMOView));
  PetscCall(MuonObjectRegister_Private((PetscObject)l));
  PetscCall(MuonNameHash_Private("", &l->layer));
  l->form = MUON_LMO_NO_FORM;
  *lmo    = l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOSetType - Sets the norm whose unit ball the oracle minimizes over

  Logically Collective

  Input Parameters:
+ lmo  - the object
- type - a known norm, see `MuonLMOType`

  Options Database Key:
. -lmo_type type - the norm, `spectral` by default

  Level: intermediate

.seealso: `MuonLMO`, `MuonLMOType`, `MuonLMOGetType()`, `MuonLMORegister()`
@*/
PetscErrorCode MuonLMOSetType(MuonLMO lmo, MuonLMOType type)
{
  PetscErrorCode (*create)(MuonLMO);
  PetscBool same;
  char      names[256];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, type, &same));
  if (same == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFunctionListFind(MuonLMOList, type, &create));
  PetscCall(MuonListNames_Private(MuonLMOList, sizeof(names), names));
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)lmo), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown type %s of option -%slmo_type, expected one of: %s", type, ((PetscObject)lmo)->prefix != NULL ? ((PetscObject)lmo)->prefix : "", names);
  PetscTryTypeMethod(lmo, destroy);
  PetscCall(MuonSVDDestroy(&lmo->svd));
  PetscCall(PetscMemzero(lmo->ops, sizeof(struct _MuonLMOOps)));
  lmo->data     = NULL;
  lmo->form     = MUON_LMO_NO_FORM;
  lmo->gathers  = PETSC_FALSE;
  lmo->ondevice = PETSC_FALSE;
  PetscCall((*create)(lmo));
  PetscCall(PetscObjectChangeTypeName((PetscObject)lmo, type));
  PetscCall(PetscObjectStateIncrease((PetscObject)lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMODestroyData(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(lmo->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOGetType - Gets the norm whose unit ball the oracle minimizes over

  Not Collective

  Input Parameter:
. lmo - the object

  Output Parameter:
. type - name of the norm, `NULL` as long as none is set

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
  MuonLMOSetOptionsPrefix - Sets what goes before the keys `-lmo_...` of this object and of its `MuonPolar`

  Logically Collective

  Input Parameters:
+ lmo    - the object
- prefix - the prefix, without a leading hyphen

  Level: advanced

.seealso: `MuonLMO`, `MuonLMOGetOptionsPrefix()`, `MuonLMOSetFromOptions()`
@*/
PetscErrorCode MuonLMOSetOptionsPrefix(MuonLMO lmo, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)lmo, prefix));
  if (lmo->polar != NULL) PetscCall(MuonPolarSetOptionsPrefix(lmo->polar, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOGetOptionsPrefix - Gets what goes before the keys `-lmo_...` of this object

  Not Collective

  Input Parameter:
. lmo - the object

  Output Parameter:
. prefix - the prefix

  Level: advanced

.seealso: `MuonLMO`, `MuonLMOSetOptionsPrefix()`
@*/
PetscErrorCode MuonLMOGetOptionsPrefix(MuonLMO lmo, const char *prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)lmo, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOReadType_Private(MuonLMO lmo, MuonOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(lmo, setfromoptions, PetscOptionsObject);
  if (lmo->svd != NULL) {
    PetscCall(MuonSVDSetOptionsPrefix(lmo->svd, (PetscObject)lmo, "lmo_"));
    PetscCall(MuonSVDSetFromOptions(lmo->svd));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOSetFromOptions - Sets the norm and its parameters from the options database

  Collective

  Input Parameter:
. lmo - the object

  Options Database Keys:
+ -lmo_type type           - the norm, see `MuonLMOType`
. -lmo_mixed_exponent_p p  - exponent in the norm of a column, see `MuonLMOMixedSetExponents()`
. -lmo_mixed_exponent_q q  - exponent in the norm of these norms
. -lmo_schatten_exponent p - exponent in the norm of the singular values, see `MuonLMOSchattenSetExponent()`
. -lmo_svd_type type       - SLEPc's solver for the norms of singular values, with SLEPc's other keys of that prefix, see `MUONLMONUCLEAR`
- -lmo_polar_type type     - method of the polar factor, for the norms that need one, see `MuonPolarSetFromOptions()`

  Level: intermediate

  Note:
  It may be called again behind another prefix: keys that are not given there leave what was set before.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOSetOptionsPrefix()`
@*/
PetscErrorCode MuonLMOSetFromOptions(MuonLMO lmo)
{
  const char *old = ((PetscObject)lmo)->type_name;
  char        type[256];
  PetscBool   set;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscObjectOptionsBegin((PetscObject)lmo);
  PetscCall(PetscOptionsFList("-lmo_type", "Norm of the ball", "MuonLMOSetType", MuonLMOList, old != NULL ? old : MUONLMOSPECTRAL, type, sizeof(type), &set));
  if (set == PETSC_TRUE) PetscCall(MuonLMOSetType(lmo, type));
  else if (old == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscCall(MuonLMOReadType_Private(lmo, PetscOptionsObject));
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)lmo, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOTypeSetFromOptions_Private(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscObjectOptionsBegin((PetscObject)lmo);
  PetscCall(MuonLMOReadType_Private(lmo, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOSetUp - Sees that the oracle can do what was chosen for it

  Collective

  Input Parameter:
. lmo - the object

  Level: advanced

  Notes:
  It raises the errors of wrong usage that a step would raise, on every rank of the object and not only where
  a matrix is: a solver that SLEPc does not know, a precision that the method of the polar factor does not
  have.

  `MuonSetUp()` calls it for every layer. Setters may be called afterwards; what they set holds from the next
  step on.

.seealso: `MuonLMO`, `MuonLMOSetFromOptions()`, `MuonLMOApply()`, `MuonPolarSetUp()`
@*/
PetscErrorCode MuonLMOSetUp(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  if (((PetscObject)lmo)->type_name == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscTryTypeMethod(lmo, setup);
  if (lmo->svd != NULL) PetscCall(MuonSVDSetUp(lmo->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOChoices(MuonLMO lmo, size_t length, char text[])
{
  PetscViewer viewer;
  size_t      used;

  PetscFunctionBegin;
  text[0] = '\0';
  PetscCall(PetscViewerStringOpen(PETSC_COMM_SELF, text, length, &viewer));
  PetscCall(PetscViewerStringSPrintf(viewer, "%s", ((PetscObject)lmo)->type_name != NULL ? ((PetscObject)lmo)->type_name : MUONLMOSPECTRAL));
  PetscTryTypeMethod(lmo, view, viewer);
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscStrlcat(text, " ", length));
  PetscCall(PetscStrlen(text, &used));
  PetscTryTypeMethod(lmo, choices, length - used, text + used);
  PetscCall(PetscStrlen(text, &used));
  if (lmo->svd != NULL) PetscCall(MuonSVDChoices(lmo->svd, length - used, text + used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOGetPolar - Gets the object that computes polar factors for the norms that need one

  Not Collective

  Input Parameter:
. lmo - the object

  Output Parameter:
. polar - borrowed from `lmo`, made at the first call

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
    PetscCall(MuonPolarSetWorkspace(lmo->polar, lmo->work));
  }
  *polar = lmo->polar;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOWorkspace_Private(MuonLMO lmo)
{
  MuonWorkspace work;

  PetscFunctionBegin;
  if (lmo->work != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceCreate(&work));
  PetscCall(MuonLMOSetWorkspace(lmo, work));
  PetscCall(MuonWorkspaceDestroy(&work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOBegin_Private(MuonLMO lmo, const MuonMatrix *G, PetscBool *finite)
{
  PetscFunctionBegin;
  if (((PetscObject)lmo)->type_name == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscCall(MuonLMOWorkspace_Private(lmo));
  PetscCall(MuonMatrixIsFinite(G, finite));
  lmo->status = *finite == PETSC_TRUE ? MUON_STATUS_OK : MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOApplyMatrix(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D)
{
  double    dual = 0.0;
  PetscBool finite;
  MuonMark  mark;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_LMO, lmo, 0, 0, 0));
  PetscCall(MuonLMOBegin_Private(lmo, G, &finite));
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  if (finite == PETSC_TRUE) PetscUseTypeMethod(lmo, apply, G, D, &dual);
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  if (lmo->status == MUON_STATUS_OK) lmo->dual = dual;
  PetscCall(PetscLogEventEnd(MUON_LMO, lmo, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOApplyMatrices(PetscInt n, const MuonLMO lmo[], const MuonMatrix G[], const MuonMatrix D[], double dual[], MuonStatus status[])
{
  MuonLMO    *with;
  MuonMatrix *from, *to;
  double     *duals;
  MuonStatus *ended;
  PetscInt   *many;
  PetscBool  *done;

  PetscFunctionBegin;
  PetscCall(PetscMalloc7(n, &with, n, &from, n, &to, n, &duals, n, &ended, n, &many, n, &done));
  for (PetscInt k = 0; k < n; k++) done[k] = PETSC_FALSE;
  for (PetscInt k = 0; k < n; k++) {
    PetscInt count = 0;

    if (done[k] == PETSC_TRUE) continue;
    if (lmo[k]->ops->applymany == NULL) {
      PetscCall(MuonLMOApplyMatrix(lmo[k], &G[k], &D[k]));
      dual[k]   = lmo[k]->dual;
      status[k] = lmo[k]->status;
      continue;
    }
    for (PetscInt i = k; i < n; i++) {
      if (lmo[i]->ops->applymany != lmo[k]->ops->applymany) continue;
      PetscCall(MuonLMOWorkspace_Private(lmo[i]));
      with[count]   = lmo[i];
      from[count]   = G[i];
      to[count]     = D[i];
      many[count++] = i;
      done[i]       = PETSC_TRUE;
    }
    PetscCall(PetscLogEventBegin(MUON_LMO, lmo[k], 0, 0, 0));
    PetscCall((*lmo[k]->ops->applymany)(count, with, from, to, duals, ended));
    PetscCall(PetscLogEventEnd(MUON_LMO, lmo[k], 0, 0, 0));
    for (PetscInt i = 0; i < count; i++) {
      dual[many[i]]   = duals[i];
      status[many[i]] = ended[i];
    }
  }
  /* Of an object with several matrices the first that failed */
  for (PetscInt k = 0; k < n; k++) lmo[k]->status = MUON_STATUS_OK;
  for (PetscInt k = 0; k < n; k++) {
    if (status[k] == MUON_STATUS_OK) lmo[k]->dual = dual[k];
    if (lmo[k]->status == MUON_STATUS_OK) lmo[k]->status = status[k];
  }
  PetscCall(PetscFree7(with, from, to, duals, ended, many, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOCompute_Private(MuonLMO lmo, PetscBool dual, const MuonMatrix *X, PetscReal *norm)
{
  double    value = 0.0;
  PetscBool finite;
  MuonMark  mark;

  PetscFunctionBegin;
  PetscCall(MuonLMOBegin_Private(lmo, X, &finite));
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  if (finite == PETSC_TRUE && dual == PETSC_TRUE) PetscUseTypeMethod(lmo, dualnorm, X, &value);
  if (finite == PETSC_TRUE && dual == PETSC_FALSE) PetscUseTypeMethod(lmo, norm, X, &value);
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  *norm = (PetscReal)value;
  if (lmo->status == MUON_STATUS_OK && PetscIsInfOrNanReal(*norm)) lmo->status = MUON_STATUS_NANORINF;
  if (lmo->status != MUON_STATUS_OK) *norm = (PetscReal)NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOComputeNormMatrix(MuonLMO lmo, const MuonMatrix *X, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOCompute_Private(lmo, PETSC_FALSE, X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOComputeDualNormMatrix(MuonLMO lmo, const MuonMatrix *G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOCompute_Private(lmo, PETSC_TRUE, G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOApply - Minimizes the inner product with a matrix over the unit ball of the norm

  Collective on G

  Input Parameters:
+ lmo - the object
- G   - the matrix, `MATSEQDENSE` or `MATMPIDENSE`, of any shape and leading dimension, with any rows on any rank; it is not modified

  Output Parameter:
. D - another matrix of the same type, shape and distribution: a minimizer of $\langle G, D \rangle$ over $\|D\| \le 1$

  Level: intermediate

  Notes:
  For an exact oracle $\langle G, D \rangle = -\|G\|_*$ with the dual norm, so that $X + t D$ is the steepest
  step of length $t$. The result for a zero matrix is zero. An approximate `MuonPolar` makes the oracle of the
  spectral norm approximate.

  Of several largest entries, columns or rows the first in the order of the memory is taken, which for a `Mat`
  is by columns, whatever rank has it; rows and columns of zeros stay zero in the norms that are made of them.
  The result for a parallel matrix is that for the same matrix on one rank, up to the rounding of sums over
  ranks.

  `MuonLMOGetStatus()` tells whether it worked, on all ranks of `G` alike. An entry of `G` that is NaN or Inf
  gives `MUON_STATUS_NANORINF`, a decomposition that failed `MUON_STATUS_LMO`; both leave `D` as it was.

.seealso: `MuonLMO`, `MuonLMOSharp()`, `MuonLMOGetStatus()`, `MuonLMOComputeDualNorm()`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLMOApply(MuonLMO lmo, Mat G, Mat D)
{
  MuonMatrix g, d;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(D, MAT_CLASSID, 3);
  PetscCall(MuonCheckMats_Private((PetscObject)lmo, G, D));
  PetscCall(MuonMatGetMatrix(G, PETSC_FALSE, &g));
  PetscCall(MuonMatGetMatrix(D, PETSC_TRUE, &d));
  PetscCall(MuonLMOApplyMatrix(lmo, &g, &d));
  PetscCall(MuonMatRestoreMatrix(D, PETSC_TRUE, &d));
  PetscCall(MuonMatRestoreMatrix(G, PETSC_FALSE, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOSharp - Applies the sharp operator of the norm

  Collective on G

  Input Parameters:
+ lmo - the object
- G   - the matrix, `MATSEQDENSE` or `MATMPIDENSE`, of any shape and leading dimension, with any rows on any rank; it is not modified

  Output Parameter:
. S - another matrix of the same type, shape and distribution, $G^\sharp = \mathrm{argmax}_Z\, \langle G, Z \rangle - \|Z\|^2 / 2$

  Level: advanced

  Notes:
  $G^\sharp = -\|G\|_* D$ with the matrix $D$ of `MuonLMOApply()`: it points along `G`, the other way than $D$, and $\langle G, G^\sharp \rangle = \|G\|_*^2 = \|G^\sharp\|^2$.

  The factor is $-\langle G, D \rangle$, which is the dual norm where the oracle is exact and its own value
  for it elsewhere; there is no second decomposition. Where it is beyond the largest number the status is
  `MUON_STATUS_NANORINF`, and `S` holds $D$.

.seealso: `MuonLMO`, `MuonLMOApply()`, `MuonLMOGetStatus()`
@*/
PetscErrorCode MuonLMOSharp(MuonLMO lmo, Mat G, Mat S)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOApply(lmo, G, S));
  if (lmo->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscIsInfOrNanReal((PetscReal)lmo->dual)) lmo->status = MUON_STATUS_NANORINF;
  else PetscCall(MatScale(S, (PetscScalar)-lmo->dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOComputeNorm - Computes the norm of a matrix

  Collective on X

  Input Parameters:
+ lmo - the object
- X   - the matrix, `MATSEQDENSE` or `MATMPIDENSE`

  Output Parameter:
. norm - the norm, NaN where `MuonLMOGetStatus()` is not `MUON_STATUS_OK`, which a norm beyond the largest number is not either

  Level: intermediate

.seealso: `MuonLMO`, `MuonLMOComputeDualNorm()`, `MuonLMOGetStatus()`
@*/
PetscErrorCode MuonLMOComputeNorm(MuonLMO lmo, Mat X, PetscReal *norm)
{
  MuonMatrix x;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscAssertPointer(norm, 3);
  PetscCall(MuonCheckMat_Private((PetscObject)lmo, X));
  PetscCall(MuonMatGetMatrix(X, PETSC_FALSE, &x));
  PetscCall(MuonLMOComputeNormMatrix(lmo, &x, norm));
  PetscCall(MuonMatRestoreMatrix(X, PETSC_FALSE, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOComputeDualNorm - Computes the dual norm of a matrix

  Collective on G

  Input Parameters:
+ lmo - the object
- G   - the matrix, `MATSEQDENSE` or `MATMPIDENSE`

  Output Parameter:
. dual - the largest $\langle G, Z \rangle$ over $\|Z\| \le 1$, NaN where `MuonLMOGetStatus()` is not `MUON_STATUS_OK`, which a norm beyond the largest number is not either

  Level: intermediate

  Note:
  For the spectral norm this is the nuclear norm by a singular value decomposition, far more expensive than a
  step of an optimizer.

.seealso: `MuonLMO`, `MuonLMOComputeNorm()`, `MuonLMOGetStatus()`
@*/
PetscErrorCode MuonLMOComputeDualNorm(MuonLMO lmo, Mat G, PetscReal *dual)
{
  MuonMatrix x;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscAssertPointer(dual, 3);
  PetscCall(MuonCheckMat_Private((PetscObject)lmo, G));
  PetscCall(MuonMatGetMatrix(G, PETSC_FALSE, &x));
  PetscCall(MuonLMOComputeDualNormMatrix(lmo, &x, dual));
  PetscCall(MuonMatRestoreMatrix(G, PETSC_FALSE, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOGetStatus - Tells how the last operation of this rank on a matrix ended

  Not Collective

  Input Parameter:
. lmo - the object

  Output Parameter:
. status - `MUON_STATUS_OK`, `MUON_STATUS_NANORINF` or `MUON_STATUS_LMO`

  Level: intermediate

.seealso: `MuonLMO`, `MuonLMOApply()`, `MuonLMOSharp()`, `MuonLMOComputeNorm()`, `MuonLMOComputeDualNorm()`, `MuonStatus`
@*/
PetscErrorCode MuonLMOGetStatus(MuonLMO lmo, MuonStatus *status)
{
  PetscFunctionBegin;
  MuonGet(lmo, MUONLMO_CLASSID, status, lmo->status);
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
  if (((PetscObject)lmo)->type_name == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscUseTypeMethod(lmo, getflops, m, n, flops);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOGetShapeFactor - Gets what the radius of a step is multiplied with for the shape of a layer

  Not Collective

  Input Parameters:
+ lmo    - the object
. factor - how the shape enters
. m      - rows of the layer, or of a block of it
- n      - its columns

  Output Parameter:
. value - the factor, 1 where the norm has none of that kind or there is no entry

  Level: advanced

.seealso: `MuonLMO`, `MuonShapeFactor`, `MuonLayerGetRadiusFactor()`
@*/
PetscErrorCode MuonLMOGetShapeFactor(MuonLMO lmo, MuonShapeFactor factor, PetscInt m, PetscInt n, PetscReal *value)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(value, 5);
  if (((PetscObject)lmo)->type_name == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  *value = 1.0;
  if (m > 0 && n > 0) PetscTryTypeMethod(lmo, shapefactor, factor, (PetscReal)m, (PetscReal)n, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOGetLastDual(MuonLMO lmo, PetscReal *dual)
{
  PetscFunctionBegin;
  *dual = (PetscReal)lmo->dual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOGathers(MuonLMO lmo, PetscBool *gathers)
{
  PetscFunctionBegin;
  *gathers = lmo->gathers || (lmo->polar != NULL && lmo->polar->gathers) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOSetWorkspace(MuonLMO lmo, MuonWorkspace work)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceReference(work));
  PetscCall(MuonWorkspaceDestroy(&lmo->work));
  lmo->work = work;
  if (lmo->polar != NULL) PetscCall(MuonPolarSetWorkspace(lmo->polar, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOView - Prints the norm, what computes it and its scratch memory

  Collective

  Input Parameters:
+ lmo    - the object
- viewer - where to print, `NULL` for standard output

  Level: intermediate

.seealso: `MuonLMO`, `MuonLMOSetFromOptions()`
@*/
PetscErrorCode MuonLMOView(MuonLMO lmo, PetscViewer viewer)
{
  PetscBool ascii, string, polar;
  size_t    bytes = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  if (viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)lmo), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(lmo, 1, viewer, 2);
  PetscCall(MuonViewerCheck((PetscObject)lmo, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERSTRING, &string));
  if (ascii == PETSC_TRUE) {
    PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)lmo, viewer));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscTryTypeMethod(lmo, view, viewer);
    /*
       The scratch memory is one with that of the polar factor, which shows it where the type shows the factor
    */
    PetscCall(PetscObjectTypeCompare((PetscObject)lmo, MUONLMOSPECTRAL, &polar));
    if (polar == PETSC_FALSE) {
      if (lmo->work != NULL) PetscCall(MuonWorkspaceGetBytes(lmo->work, &bytes));
      PetscCall(PetscViewerASCIIPrintf(viewer, "scratch: %zu bytes\n", bytes));
    }
    PetscCall(PetscViewerASCIIPopTab(viewer));
  } else if (string == PETSC_TRUE) {
    PetscCall(PetscViewerStringSPrintf(viewer, " %s", ((PetscObject)lmo)->type_name != NULL ? ((PetscObject)lmo)->type_name : "no type"));
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
  PetscTryTypeMethod(lmo, reset);
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
  if (*lmo == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(*lmo, MUONLMO_CLASSID, 1);
  if (--((PetscObject)*lmo)->refct > 0) {
    *lmo = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLMOReset(*lmo));
  PetscTryTypeMethod(*lmo, destroy);
  PetscCall(MuonSVDDestroy(&(*lmo)->svd));
  PetscCall(MuonPolarDestroy(&(*lmo)->polar));
  PetscCall(MuonCompressorDestroy(&(*lmo)->message));
  PetscCall(MuonObjectUnregister_Private((PetscObject)*lmo));
  PetscCall(PetscHeaderDestroy(lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}
