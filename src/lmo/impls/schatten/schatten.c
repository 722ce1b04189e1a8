#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscblaslapack.h>
#include "../../muonlmoslices.h"
#include "../../../kernels/muonlmokernels.h"

typedef struct {
  MuonSVD   svd;
  PetscReal p;
} MuonLMO_Schatten;

static PetscErrorCode MuonLMOSigma_Schatten(PetscInt count, const PetscReal sigma[], double *size, int *exponent)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < count; i++) size[i] = frexp((double)sigma[i], &exponent[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOApply_Schatten(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;
  const double      p    = MuonLMOExponent_Private(data->p);
  const PetscScalar zero = 0.0, minus = -1.0;
  PetscScalar      *d, *U, *V;
  PetscReal        *sigma;
  PetscInt          m, n, s, nsv, rows, ldd, count;
  PetscBLASInt      bm, bn, bk, bldd, bldu;
  double           *size, *weight, r;
  int              *exponents, exponent;

  PetscFunctionBegin;
  /* Their own norm needs no singular values */
  if (p == 2.0) {
    PetscCall(MuonLMOColumnsApply_Private(lmo, 2.0, 2.0, G, D, dual));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetSize(G, &rows, &n));
  PetscCall(MatGetLocalSize(G, &m, NULL));
  s   = PetscMin(rows, n);
  nsv = p == 1.0 ? PetscMin(1, s) : s;
  PetscCall(MuonSVDSetWorkspace(data->svd, lmo->work));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, (size_t)nsv * (2 * sizeof(double) + sizeof(PetscReal) + sizeof(int)), &size));
  weight    = size + nsv;
  sigma     = (PetscReal *)(weight + nsv);
  exponents = (int *)(sigma + nsv);
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_B, (size_t)(m + n) * (size_t)nsv * sizeof(PetscScalar), &U));
  V = U + (size_t)m * (size_t)nsv;
  PetscCall(MuonSVDCompute(data->svd, G, nsv, sigma, U, V, &count, &lmo->status));
  if (lmo->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (count == 0) {
    *dual = 0.0;
    PetscCall(MatZeroEntries(D));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLMOSigma_Schatten(count, sigma, size, exponents));
  r     = MuonKernelVectorNorm((size_t)count, MuonLMOConjugate_Private(p), size, exponents, &exponent);
  *dual = (PetscReal)ldexp(r, exponent);
  MuonKernelVectorDual((size_t)count, p, size, exponents, weight);
  for (PetscInt k = 0; k < count; k++) {
    for (PetscInt j = 0; j < n; j++) V[j + (size_t)k * n] *= (PetscScalar)weight[k];
  }
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(count, &bk));
  PetscCall(PetscBLASIntCast(PetscMax(1, ldd), &bldd));
  bldu = PetscMax(1, bm);
  PetscCall(MatDenseGetArrayWrite(D, &d));
  PetscCallBLAS("BLASgemm", BLASgemm_("N", "T", &bm, &bn, &bk, &minus, U, &bldu, V, &bn, &zero, d, &bldd));
  PetscCall(MatDenseRestoreArrayWrite(D, &d));
  PetscCall(PetscLogFlops(2.0 * m * n * count + 1.0 * n * count + 8.0 * count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOValue_Schatten(MuonLMO lmo, double p, Mat X, PetscReal *norm)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;
  PetscReal        *sigma;
  PetscInt          m, n, nsv, count;
  double           *size, r;
  int              *exponents, exponent;

  PetscFunctionBegin;
  if (p == 2.0) {
    PetscCall(MuonLMOColumnsNorm_Private(lmo, 2.0, 2.0, X, norm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetSize(X, &m, &n));
  nsv = p == HUGE_VAL ? PetscMin(1, PetscMin(m, n)) : PetscMin(m, n);
  PetscCall(MuonSVDSetWorkspace(data->svd, lmo->work));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, (size_t)nsv * (sizeof(double) + sizeof(PetscReal) + sizeof(int)), &size));
  sigma     = (PetscReal *)(size + nsv);
  exponents = (int *)(sigma + nsv);
  PetscCall(MuonSVDCompute(data->svd, X, nsv, sigma, NULL, NULL, &count, &lmo->status));
  PetscCall(MuonLMOSigma_Schatten(count, sigma, size, exponents));
  r     = MuonKernelVectorNorm((size_t)count, p, size, exponents, &exponent);
  *norm = (PetscReal)ldexp(r, exponent);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Schatten(MuonLMO lmo, Mat X, PetscReal *norm)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOValue_Schatten(lmo, MuonLMOExponent_Private(data->p), X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_Schatten(MuonLMO lmo, Mat G, PetscReal *dual)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOValue_Schatten(lmo, MuonLMOConjugate_Private(MuonLMOExponent_Private(data->p)), G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Schatten(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;
  const double      p    = MuonLMOExponent_Private(data->p);
  const PetscInt    nsv  = p == 1.0 ? PetscMin(1, PetscMin(m, n)) : PetscMin(m, n);

  PetscFunctionBegin;
  if (p == 2.0) PetscCall(MuonLMOColumnsFlops_Private(2.0, 2.0, m, n, flops));
  else {
    PetscCall(MuonSVDGetFlops(m, n, nsv, flops));
    *flops += 2.0 * m * n * nsv + 1.0 * n * nsv + 8.0 * nsv;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOSchattenSetExponent_Schatten(MuonLMO lmo, PetscReal p)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOCheckExponent_Private(lmo, "p", p));
  data->p = PetscMin(p, PETSC_INFINITY);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOSchattenGetExponent_Schatten(MuonLMO lmo, PetscReal *p)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;

  PetscFunctionBegin;
  *p = data->p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOSetFromOptions_Schatten(MuonLMO lmo, MuonOptionItems PetscOptionsObject)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;
  PetscReal         p    = data->p;
  PetscBool         set;
  char              now[64], text[64];

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Schatten norm options");
  PetscCall(MuonExponentWrite_Private(p, sizeof(now), now));
  PetscCall(PetscOptionsString("-lmo_p", "Exponent in the norm of the singular values", "MuonLMOSchattenSetExponent", now, text, sizeof(text), &set));
  if (set == PETSC_TRUE) {
    PetscCall(MuonExponentRead_Private(text, &p));
    PetscCall(MuonLMOSchattenSetExponent(lmo, p));
  }
  PetscOptionsHeadEnd();
  PetscCall(MuonSVDSetOptionsPrefix(data->svd, (PetscObject)lmo, "lmo_"));
  PetscCall(MuonSVDSetFromOptions(data->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOView_Schatten(MuonLMO lmo, PetscViewer viewer)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonLMOViewExponent_Private(viewer, "p", data->p));
  PetscCall(MuonSVDView(data->svd, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOReset_Schatten(MuonLMO lmo)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDSetWorkspace(data->svd, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODestroy_Schatten(MuonLMO lmo)
{
  MuonLMO_Schatten *data = (MuonLMO_Schatten *)lmo->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)lmo, "MuonLMOSchattenSetExponent_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)lmo, "MuonLMOSchattenGetExponent_C", NULL));
  PetscCall(MuonSVDDestroy(&data->svd));
  PetscCall(PetscFree(data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOSCHATTEN - "schatten" - the $p$-norm of the singular values; its dual is their $p^*$-norm with $1/p + 1/p^* = 1$

  Options Database Keys:
+ -lmo_p p           - the exponent, 1 to inf, 2 by default
- -lmo_svd_type type - SLEPc's solver, with SLEPc's other keys of that prefix, see `MUONLMONUCLEAR`

  Level: intermediate

  Notes:
  With the singular value decomposition $G = U \Sigma V^T$ the minimizer is $-U \mathrm{diag}(w) V^T$, $w_i = (\sigma_i / \|\sigma\|_{p^*})^{p^*-1}$, over the singular values above $\max(m,n) \epsilon \sigma_1$. It is zero for a zero matrix.

  The exponents 1, 2 and inf are the norms `MUONLMONUCLEAR`, `MUONLMOFROBENIUS` and `MUONLMOSPECTRAL`, the last with an exact polar factor. For 2 nothing is decomposed; 1 takes one singular triple, any other
  exponent all of them, and the operations that `MuonLMOGetFlops()` counts are those of LAPACK.

  A parallel matrix is gathered on the first rank of its communicator, which computes the decomposition and sends each rank its rows of $U$, and $V$ whole. For 2 nothing is gathered.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOSchattenSetExponent()`, `MUONLMOMIXED`, `MUONLMOSPECTRAL`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Schatten(MuonLMO lmo)
{
  MuonLMO_Schatten *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)lmo), &data->svd));
  PetscCall(MuonSVDSetOptionsPrefix(data->svd, (PetscObject)lmo, "lmo_"));
  data->p                  = 2.0;
  lmo->data                = data;
  lmo->ops->apply          = MuonLMOApply_Schatten;
  lmo->ops->norm           = MuonLMONorm_Schatten;
  lmo->ops->dualnorm       = MuonLMODualNorm_Schatten;
  lmo->ops->getflops       = MuonLMOGetFlops_Schatten;
  lmo->ops->setfromoptions = MuonLMOSetFromOptions_Schatten;
  lmo->ops->view           = MuonLMOView_Schatten;
  lmo->ops->reset          = MuonLMOReset_Schatten;
  lmo->ops->destroy        = MuonLMODestroy_Schatten;
  PetscCall(PetscObjectComposeFunction((PetscObject)lmo, "MuonLMOSchattenSetExponent_C", MuonLMOSchattenSetExponent_Schatten));
  PetscCall(PetscObjectComposeFunction((PetscObject)lmo, "MuonLMOSchattenGetExponent_C", MuonLMOSchattenGetExponent_Schatten));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOSchattenSetExponent - Sets the exponent of the norm of `MUONLMOSCHATTEN`

  Logically Collective; No Fortran support

  Input Parameters:
+ lmo - the object
- p   - exponent in the norm of the singular values, in [1, `PETSC_INFINITY`]

  Options Database Key:
. -lmo_p p - the exponent, a number or `inf`

  Level: intermediate

  Note:
  An object of another type ignores it.

.seealso: `MuonLMO`, `MUONLMOSCHATTEN`, `MuonLMOSchattenGetExponent()`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLMOSchattenSetExponent(MuonLMO lmo, PetscReal p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidLogicalCollectiveReal(lmo, p, 2);
  PetscTryMethod(lmo, "MuonLMOSchattenSetExponent_C", (MuonLMO, PetscReal), (lmo, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOSchattenGetExponent - Gets the exponent of the norm of `MUONLMOSCHATTEN`

  Not Collective; No Fortran support

  Input Parameter:
. lmo - the object, of that type

  Output Parameter:
. p - exponent in the norm of the singular values, `PETSC_INFINITY` for the largest

  Level: intermediate

.seealso: `MuonLMO`, `MUONLMOSCHATTEN`, `MuonLMOSchattenSetExponent()`
@*/
PetscErrorCode MuonLMOSchattenGetExponent(MuonLMO lmo, PetscReal *p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(p, 2);
  PetscUseMethod(lmo, "MuonLMOSchattenGetExponent_C", (MuonLMO, PetscReal *), (lmo, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
