#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/

static PetscErrorCode MuonLMOShapeFactor_Column(MuonLMO lmo, MuonShapeFactor factor, PetscReal m, PetscReal n, PetscReal *value)
{
  PetscFunctionBegin;
  if (factor == MUON_SHAPE_FACTOR_SCION) *value = PetscSqrtReal(m) / n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOCOLUMN - "column" - the largest Euclidean norm of a column, the operator norm from $\ell_1$ to
  $\ell_2$; its dual is the sum of the norms of the columns

  Level: intermediate

  Notes:
  Column $j$ of the minimizer is $-G_{:j} / \|G_{:j}\|_2$, zero where that of $G$ is.

  Norms are accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 4
  operations an entry and reads the matrix twice.

  The norm is $\ell_{2,\infty}$ of `MUONLMOMIXED`, the column norm of T. Pethick, W. Xie, K. Antonakopoulos,
  Z. Zhu, A. Silveti-Falls, V. Cevher, Training Deep Learning Models with Norm-Constrained LMOs,
  https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOROW`, `MUONLMOL21`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Column(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_FALSE, 2.0, HUGE_VAL));
  lmo->ops->shapefactor = MuonLMOShapeFactor_Column;
  PetscFunctionReturn(PETSC_SUCCESS);
}
