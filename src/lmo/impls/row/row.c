#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/

static PetscErrorCode MuonLMOShapeFactor_Row(MuonLMO lmo, MuonShapeFactor factor, PetscReal m, PetscReal n, PetscReal *value)
{
  PetscFunctionBegin;
  if (factor == MUON_SHAPE_FACTOR_SCION) *value = 1 / PetscSqrtReal(n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOROW - "row" - the largest Euclidean norm of a row, the operator norm from $\ell_2$ to $\ell_\infty$;
  its dual is the sum of the norms of the rows

  Level: intermediate

  Notes:
  Row $i$ of the minimizer is $-G_{i:} / \|G_{i:}\|_2$, zero where that of $G$ is.

  Norms are accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 4
  operations an entry and reads the matrix twice, column by column. Rows of a parallel matrix are whole on
  their ranks: only the dual norm is communicated.

  It is the row norm of T. Pethick, W. Xie, K. Antonakopoulos, Z. Zhu, A. Silveti-Falls, V. Cevher, Training
  Deep Learning Models with Norm-Constrained LMOs, https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOCOLUMN`, `MUONLMOROWSUM`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Row(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_TRUE, 2.0, HUGE_VAL));
  lmo->ops->shapefactor = MuonLMOShapeFactor_Row;
  PetscFunctionReturn(PETSC_SUCCESS);
}
