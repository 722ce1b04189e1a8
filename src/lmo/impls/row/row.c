#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"
#include "../../../kernels/muonlmokernels.h"

static PetscErrorCode MuonLMOApply_Row(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  const PetscScalar *g;
  PetscScalar       *d;
  PetscInt           m, n, ldg, ldd;
  double            *size, *f0, *f1, r;
  int               *exponents, exponent;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(G, &m, NULL));
  PetscCall(MatGetSize(G, NULL, &n));
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, (size_t)m * (3 * sizeof(double) + sizeof(int)), &size));
  f0        = size + m;
  f1        = f0 + m;
  exponents = (int *)(f1 + m);
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MatDenseGetArrayWrite(D, &d));
  MuonKernelRowNorms((size_t)m, (size_t)n, g, (size_t)ldg, 2, size, exponents);
  MuonKernelSliceFactors((size_t)m, size, exponents, NULL, f0, f1);
  MuonKernelRowsScale((size_t)m, (size_t)n, g, (size_t)ldg, f0, f1, d, (size_t)ldd);
  PetscCall(MatDenseRestoreArrayWrite(D, &d));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  r = MuonKernelVectorNorm((size_t)m, 1.0, size, exponents, &exponent);
  PetscCall(MuonLMOCombine_Private(lmo, G, 1.0, &r, &exponent));
  *dual = (PetscReal)ldexp(r, exponent);
  PetscCall(PetscLogFlops(4.0 * m * n + m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Row(MuonLMO lmo, Mat X, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMORowsNorm_Private(lmo, 2, HUGE_VAL, X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_Row(MuonLMO lmo, Mat G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMORowsNorm_Private(lmo, 2, 1.0, G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Row(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 4.0 * m * n + m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOROW - "row" - the largest Euclidean norm of a row, the operator norm from $\ell_2$ to $\ell_\infty$; its dual is the sum of the norms of the rows

  Level: intermediate

  Notes:
  Row $i$ of the minimizer is $-G_{i:} / \|G_{i:}\|_2$, zero where that of $G$ is.

  Norms are accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 4 operations an entry and reads the matrix twice, column by column. Rows of a parallel
  matrix are whole on their ranks: only the dual norm is communicated.

  It is the row norm of T. Pethick, W. Xie, K. Antonakopoulos, Z. Zhu, A. Silveti-Falls, V. Cevher, Training Deep Learning Models with Norm-Constrained LMOs, https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOCOLUMN`, `MUONLMOROWSUM`, `MuonLayerSetShapeFactor()`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Row(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->ops->apply    = MuonLMOApply_Row;
  lmo->ops->norm     = MuonLMONorm_Row;
  lmo->ops->dualnorm = MuonLMODualNorm_Row;
  lmo->ops->getflops = MuonLMOGetFlops_Row;
  PetscFunctionReturn(PETSC_SUCCESS);
}
