#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonpolarimpl.h>
#include "../../muonlmoslices.h"
#include "../../../kernels/muonpolarkernels.h"

typedef struct {
  MuonSVD svd; /* for the norms; the oracle itself has its MuonPolar */
} MuonLMO_Spectral;

static PetscErrorCode MuonLMOApply_Spectral(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  const PetscScalar *g;
  PetscScalar       *d;
  PetscInt           m, n, ldg, ldd;
  MuonPolar          polar;
  double             value;

  PetscFunctionBegin;
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarApply(polar, G, D));
  PetscCall(MuonPolarGetStatus(polar, &lmo->status));
  if (lmo->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(G, &m, NULL));
  PetscCall(MatGetSize(G, NULL, &n));
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MatDenseGetArray(D, &d));
  value = MuonKernelDot((size_t)m, (size_t)n, g, (size_t)ldg, d, (size_t)ldd);
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) d[i + (size_t)j * ldd] = -d[i + (size_t)j * ldd];
  }
  PetscCall(MatDenseRestoreArray(D, &d));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  PetscCall(MuonLMOSum_Private(lmo, G, 1, &value));
  *dual = (PetscReal)value;
  PetscCall(PetscLogFlops(2.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Spectral(MuonLMO lmo, Mat X, PetscReal *norm)
{
  MuonLMO_Spectral *data = (MuonLMO_Spectral *)lmo->data;
  PetscInt          m, n, count;

  PetscFunctionBegin;
  *norm = 0.0;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(MuonSVDSetWorkspace(data->svd, lmo->work));
  PetscCall(MuonSVDCompute(data->svd, X, PetscMin(1, PetscMin(m, n)), norm, NULL, NULL, &count, &lmo->status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_Spectral(MuonLMO lmo, Mat G, PetscReal *dual)
{
  MuonLMO_Spectral *data = (MuonLMO_Spectral *)lmo->data;
  PetscReal        *sigma;
  PetscInt          m, n, count;
  double            sum = 0.0;

  PetscFunctionBegin;
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(MuonSVDSetWorkspace(data->svd, lmo->work));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, (size_t)PetscMin(m, n) * sizeof(PetscReal), &sigma));
  PetscCall(MuonSVDCompute(data->svd, G, PetscMin(m, n), sigma, NULL, NULL, &count, &lmo->status));
  for (PetscInt i = 0; i < count; i++) sum += (double)sigma[i];
  *dual = (PetscReal)sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Spectral(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  MuonPolar polar;

  PetscFunctionBegin;
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarGetFlops(polar, m, n, flops));
  *flops += 2.0 * m * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOSetFromOptions_Spectral(MuonLMO lmo, MuonOptionItems PetscOptionsObject)
{
  MuonLMO_Spectral *data = (MuonLMO_Spectral *)lmo->data;
  MuonPolar         polar;

  PetscFunctionBegin;
  PetscCall(MuonSVDSetOptionsPrefix(data->svd, (PetscObject)lmo, "lmo_"));
  PetscCall(MuonSVDSetFromOptions(data->svd));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOView_Spectral(MuonLMO lmo, PetscViewer viewer)
{
  MuonPolar polar;

  PetscFunctionBegin;
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarView(polar, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOReset_Spectral(MuonLMO lmo)
{
  MuonLMO_Spectral *data = (MuonLMO_Spectral *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDSetWorkspace(data->svd, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODestroy_Spectral(MuonLMO lmo)
{
  MuonLMO_Spectral *data = (MuonLMO_Spectral *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDDestroy(&data->svd));
  PetscCall(PetscFree(data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOSPECTRAL - "spectral" - the largest singular value; its dual is the nuclear norm

  Options Database Keys:
+ -lmo_polar_type type - method of the polar factor, see `MuonPolarSetFromOptions()` for its other keys
- -lmo_svd_type type   - SLEPc's solver for `MuonLMOComputeNorm()` and `MuonLMOComputeDualNorm()`, with SLEPc's other keys of that prefix

  Level: intermediate

  Notes:
  The minimizer is $-U V^T$, the polar factor of the matrix with the other sign, as the object of `MuonLMOGetPolar()` computes it: exact with `MUONPOLARSVD`, near and inside the ball with `MUONPOLARZOLOTAREV`, near with the others.

  `MuonLMOComputeDualNorm()` needs all singular values and costs many times what `MuonLMOApply()` does. For it and for `MuonLMOComputeNorm()` a parallel matrix is gathered on the first rank of its
  communicator; what `MuonLMOApply()` does with one is on the pages of the types of `MuonPolar`.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOGetPolar()`, `MuonPolar`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Spectral(MuonLMO lmo)
{
  MuonLMO_Spectral *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)lmo), &data->svd));
  PetscCall(MuonSVDSetOptionsPrefix(data->svd, (PetscObject)lmo, "lmo_"));
  lmo->data                = data;
  lmo->ops->apply          = MuonLMOApply_Spectral;
  lmo->ops->norm           = MuonLMONorm_Spectral;
  lmo->ops->dualnorm       = MuonLMODualNorm_Spectral;
  lmo->ops->getflops       = MuonLMOGetFlops_Spectral;
  lmo->ops->setfromoptions = MuonLMOSetFromOptions_Spectral;
  lmo->ops->view           = MuonLMOView_Spectral;
  lmo->ops->reset          = MuonLMOReset_Spectral;
  lmo->ops->destroy        = MuonLMODestroy_Spectral;
  PetscFunctionReturn(PETSC_SUCCESS);
}
