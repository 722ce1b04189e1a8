#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../../kernels/muonpolarkernels.h"

static PetscErrorCode MuonLMODualNorm_Max(MuonLMO lmo, Mat G, PetscReal *dual)
{
  const PetscScalar *g;
  PetscInt           m, n, ldg;

  PetscFunctionBegin;
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetArrayRead(G, &g));
  *dual = (PetscReal)MuonKernelSumAbs((size_t)m, (size_t)n, g, (size_t)ldg);
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  PetscCall(PetscLogFlops(1.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOApply_Max(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  const PetscScalar *g;
  PetscScalar       *d;
  PetscInt           m, n, ldg, ldd;

  PetscFunctionBegin;
  PetscCall(MuonLMODualNorm_Max(lmo, G, dual));
  PetscCall(MatGetSize(G, &m, &n));
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MatDenseGetArrayWrite(D, &d));
  MuonKernelSign((size_t)m, (size_t)n, -1, g, (size_t)ldg, d, (size_t)ldd);
  PetscCall(MatDenseRestoreArrayWrite(D, &d));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Max(MuonLMO lmo, Mat X, PetscReal *norm)
{
  const PetscScalar *x;
  PetscInt           m, n, ldx;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetArrayRead(X, &x));
  *norm = (PetscReal)MuonKernelMaxAbs((size_t)m, (size_t)n, x, (size_t)ldx);
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Max(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 1.0 * m * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOMAX - "max" - the largest absolute entry; its dual is the sum of absolute entries

  Level: intermediate

  Note:
  The minimizer is $-\mathrm{sign}(G)$ entry by entry, with $\mathrm{sign}(0) = 0$.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MUONLMOFROBENIUS`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Max(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->ops->apply    = MuonLMOApply_Max;
  lmo->ops->norm     = MuonLMONorm_Max;
  lmo->ops->dualnorm = MuonLMODualNorm_Max;
  lmo->ops->getflops = MuonLMOGetFlops_Max;
  PetscFunctionReturn(PETSC_SUCCESS);
}
