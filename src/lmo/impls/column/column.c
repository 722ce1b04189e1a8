#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"

static PetscErrorCode MuonLMOApply_Column(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsApply_Private(lmo, 2.0, HUGE_VAL, G, D, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Column(MuonLMO lmo, Mat X, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsNorm_Private(lmo, 2.0, HUGE_VAL, X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_Column(MuonLMO lmo, Mat G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsDualNorm_Private(lmo, 2.0, HUGE_VAL, G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Column(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsFlops_Private(2.0, HUGE_VAL, m, n, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOCOLUMN - "column" - the largest Euclidean norm of a column, the operator norm from $\ell_1$ to $\ell_2$; its dual is the sum of the norms of the columns

  Level: intermediate

  Notes:
  Column $j$ of the minimizer is $-G_{:j} / \|G_{:j}\|_2$, zero where that of $G$ is.

  Norms are accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 4 operations an entry and reads the matrix twice.

  The norm is $\ell_{2,\infty}$ of `MUONLMOMIXED`, the column norm of T. Pethick, W. Xie, K. Antonakopoulos, Z. Zhu, A. Silveti-Falls, V. Cevher, Training Deep Learning Models with
  Norm-Constrained LMOs, https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOROW`, `MUONLMOL21`, `MUONLMOMIXED`, `MuonLayerSetShapeFactor()`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Column(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->ops->apply    = MuonLMOApply_Column;
  lmo->ops->norm     = MuonLMONorm_Column;
  lmo->ops->dualnorm = MuonLMODualNorm_Column;
  lmo->ops->getflops = MuonLMOGetFlops_Column;
  PetscFunctionReturn(PETSC_SUCCESS);
}
