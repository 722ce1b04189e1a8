#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonpolarimpl.h>

static PetscErrorCode MuonLMOApplyMany_Spectral(PetscInt n, const MuonLMO lmo[], const MuonMatrix G[], const MuonMatrix D[], double dual[], MuonStatus status[])
{
  MuonPolar *polar;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &polar));
  for (PetscInt k = 0; k < n; k++) polar[k] = lmo[k]->polar;
  PetscCall(MuonPolarApplyMatrices(-1.0, n, polar, G, D, status));
  for (PetscInt k = 0; k < n; k++) {
    const MuonArray *g = &G[k].here, *d = &D[k].here;
    PetscLogDouble   flops;

    if (status[k] != MUON_STATUS_OK) continue;
    PetscCall(MuonLogDeviceBegin(g->memory, &flops));
    dual[k] = -MuonArrayKernels(g)->Dot(g->len, g->count, g->data, g->ld, d->data, d->ld);
    PetscCall(MuonLMOSum(lmo[k], &G[k], 1, &dual[k]));
    PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)MuonArrayEntries(g)));
    PetscCall(MuonLogDeviceEnd(g->memory, flops));
  }
  PetscCall(PetscFree(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Spectral(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarGetFlops(lmo->polar, m, n, flops));
  *flops += 2.0 * m * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOShapeFactor_Spectral(MuonLMO lmo, MuonShapeFactor factor, PetscReal m, PetscReal n, PetscReal *value)
{
  PetscFunctionBegin;
  if (factor == MUON_SHAPE_FACTOR_KJ) *value = PetscSqrtReal(PetscMax((PetscReal)1.0, m / n));
  else if (factor == MUON_SHAPE_FACTOR_MOONLIGHT) *value = (PetscReal)0.2 * PetscSqrtReal(PetscMax(m, n));
  else if (factor == MUON_SHAPE_FACTOR_SCION) *value = PetscSqrtReal(m / n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOSetFromOptions_Spectral(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarSetFromOptions(lmo->polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOSetUp_Spectral(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->polar->memory = lmo->memory;
  lmo->polar->pairs  = lmo->pairs;
  PetscCall(MuonPolarSetUp(lmo->polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOView_Spectral(MuonLMO lmo, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarView(lmo->polar, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOSPECTRAL - "spectral" - the largest singular value; its dual is the nuclear norm

  Options Database Keys:
+ -lmo_polar_type type - method of the polar factor, see `MuonPolarSetFromOptions()` for its other keys
- -lmo_svd_type type   - SLEPc's solver for `MuonLMOComputeNorm()` and `MuonLMOComputeDualNorm()`, with SLEPc's other keys of that prefix

  Level: intermediate

  Notes:
  The minimizer is $-U V^T$, minus the polar factor of the matrix, computed by the object of `MuonLMOGetPolar()`. It is
  exact with `MUONPOLARSVD`, approximate and inside the ball with `MUONPOLARZOLOTAREV`, approximate with the others.

  `MuonLMOComputeDualNorm()` needs all singular values and costs many times as much as `MuonLMOApply()`. It and
  `MuonLMOComputeNorm()` gather a parallel matrix on the first rank of its communicator. For `MuonLMOApply()` see the
  types of `MuonPolar`.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOGetPolar()`, `MuonPolar`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Spectral(MuonLMO lmo)
{
  MuonPolar polar;

  PetscFunctionBegin;
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonLMOSetSingular(lmo, HUGE_VAL)); /* for the norms; the minimizer comes from its MuonPolar */
  lmo->gathers             = PETSC_FALSE;
  lmo->ondevice            = PETSC_TRUE;
  lmo->ops->applymany      = MuonLMOApplyMany_Spectral;
  lmo->ops->getflops       = MuonLMOGetFlops_Spectral;
  lmo->ops->shapefactor    = MuonLMOShapeFactor_Spectral;
  lmo->ops->setup          = MuonLMOSetUp_Spectral;
  lmo->ops->setfromoptions = MuonLMOSetFromOptions_Spectral;
  lmo->ops->view           = MuonLMOView_Spectral;
  PetscFunctionReturn(PETSC_SUCCESS);
}
