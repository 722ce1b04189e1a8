#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../../kernels/muonlmokernels.h"
#include "../../../wire/muonwire.h"

typedef struct {
  MuonSVD svd;
} MuonLMO_Nuclear;

static PetscErrorCode MuonLMOFactors_Nuclear(MuonLMO lmo, Mat G, PetscScalar u[], PetscScalar v[], PetscReal *dual, PetscInt *count)
{
  MuonLMO_Nuclear *data  = (MuonLMO_Nuclear *)lmo->data;
  PetscReal        sigma = 0.0;
  PetscInt         m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(MuonSVDSetWorkspace(data->svd, lmo->work));
  PetscCall(MuonSVDCompute(data->svd, G, PetscMin(1, PetscMin(m, n)), &sigma, u, v, count, &lmo->status));
  if (lmo->status == MUON_STATUS_OK) *dual = sigma;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOApply_Nuclear(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  PetscScalar *d, *u, *v;
  PetscInt     m, n, ldd, count;

  PetscFunctionBegin;
  PetscCall(MatGetSize(G, NULL, &n));
  PetscCall(MatGetLocalSize(G, &m, NULL));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, ((size_t)m + (size_t)n) * sizeof(PetscScalar), &u));
  v = u + m;
  PetscCall(MuonLMOFactors_Nuclear(lmo, G, u, v, dual, &count));
  if (lmo->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (count == 0) {
    PetscCall(MatZeroEntries(D));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayWrite(D, &d));
  MuonKernelRankOne((size_t)m, (size_t)n, -1.0, u, v, d, (size_t)ldd);
  PetscCall(MatDenseRestoreArrayWrite(D, &d));
  PetscCall(PetscLogFlops(1.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Nuclear(MuonLMO lmo, Mat X, PetscReal *norm)
{
  MuonLMO_Nuclear *data = (MuonLMO_Nuclear *)lmo->data;
  PetscReal       *sigma;
  PetscInt         m, n, count;
  double           sum = 0.0;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(MuonSVDSetWorkspace(data->svd, lmo->work));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, (size_t)PetscMin(m, n) * sizeof(PetscReal), &sigma));
  PetscCall(MuonSVDCompute(data->svd, X, PetscMin(m, n), sigma, NULL, NULL, &count, &lmo->status));
  for (PetscInt i = 0; i < count; i++) sum += (double)sigma[i];
  *norm = (PetscReal)sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_Nuclear(MuonLMO lmo, Mat G, PetscReal *dual)
{
  MuonLMO_Nuclear *data = (MuonLMO_Nuclear *)lmo->data;
  PetscInt         m, n, count;

  PetscFunctionBegin;
  *dual = 0.0;
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(MuonSVDSetWorkspace(data->svd, lmo->work));
  PetscCall(MuonSVDCompute(data->svd, G, PetscMin(1, PetscMin(m, n)), dual, NULL, NULL, &count, &lmo->status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Nuclear(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonSVDGetFlops(m, n, PetscMin(1, PetscMin(m, n)), flops));
  *flops += 1.0 * m * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOSetFromOptions_Nuclear(MuonLMO lmo, MuonOptionItems PetscOptionsObject)
{
  MuonLMO_Nuclear *data = (MuonLMO_Nuclear *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDSetOptionsPrefix(data->svd, (PetscObject)lmo, "lmo_"));
  PetscCall(MuonSVDSetFromOptions(data->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOView_Nuclear(MuonLMO lmo, PetscViewer viewer)
{
  MuonLMO_Nuclear *data = (MuonLMO_Nuclear *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDView(data->svd, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOReset_Nuclear(MuonLMO lmo)
{
  MuonLMO_Nuclear *data = (MuonLMO_Nuclear *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDSetWorkspace(data->svd, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODestroy_Nuclear(MuonLMO lmo)
{
  MuonLMO_Nuclear *data = (MuonLMO_Nuclear *)lmo->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDDestroy(&data->svd));
  PetscCall(PetscFree(data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMONUCLEAR - "nuclear" - the sum of singular values; its dual is the largest singular value

  Options Database Key:
. -lmo_svd_type type - SLEPc's solver, `trlanczos` for matrices of more than 32 rows and columns and `lapack` below by default; with SLEPc's other keys of that prefix

  Level: intermediate

  Notes:
  The minimizer is $-u_1 v_1^T$ with the leading singular vectors, of rank 1. Where $\sigma_1 = \sigma_2$ they are not unique: the minimizer is then one of several, of the same value. It is zero for a zero matrix.

  The solver finds one singular triple of the triangle of the matrix's QR factorization; where it does not converge, LAPACK takes over. `MuonLMOGetFlops()` counts for LAPACK.
  `MuonLMOComputeNorm()` needs all singular values and costs many times what `MuonLMOApply()` does.

  A parallel matrix is gathered on the first rank of its communicator, which computes the triple and sends each rank its part.

  Its use for messages is from appendix D.1 of K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOSPECTRAL`, `MUONLMOSCHATTEN`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Nuclear(MuonLMO lmo)
{
  MuonLMO_Nuclear *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)lmo), &data->svd));
  PetscCall(MuonSVDSetOptionsPrefix(data->svd, (PetscObject)lmo, "lmo_"));
  lmo->data                = data;
  lmo->form                = MUON_WIRE_TRIPLES;
  lmo->ops->apply          = MuonLMOApply_Nuclear;
  lmo->ops->factors        = MuonLMOFactors_Nuclear;
  lmo->ops->norm           = MuonLMONorm_Nuclear;
  lmo->ops->dualnorm       = MuonLMODualNorm_Nuclear;
  lmo->ops->getflops       = MuonLMOGetFlops_Nuclear;
  lmo->ops->setfromoptions = MuonLMOSetFromOptions_Nuclear;
  lmo->ops->view           = MuonLMOView_Nuclear;
  lmo->ops->reset          = MuonLMOReset_Nuclear;
  lmo->ops->destroy        = MuonLMODestroy_Nuclear;
  PetscFunctionReturn(PETSC_SUCCESS);
}
