#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/

static PetscErrorCode MuonLMOShapeFactor_Max(MuonLMO lmo, MuonShapeFactor factor, PetscReal m, PetscReal n, PetscReal *value)
{
  PetscFunctionBegin;
  if (factor == MUON_SHAPE_FACTOR_SCION) *value = 1 / n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOMAX - "max" - the largest absolute entry, the operator norm from $\ell_1$ to $\ell_\infty$; its dual
  is the sum of absolute entries

  Level: intermediate

  Notes:
  The minimizer is $-\mathrm{sign}(G)$ entry by entry, with $\mathrm{sign}(0) = 0$.

  `MuonLMOApply()` takes one operation an entry and one a column, for the dual norm, and reads the matrix
  twice. Of a parallel matrix only the sums of the columns are communicated.

  The norm is $\ell_{\infty,\infty}$ of `MUONLMOMIXED`. It is the sign norm of T. Pethick, W. Xie, K.
  Antonakopoulos, Z. Zhu, A. Silveti-Falls, V. Cevher, Training Deep Learning Models with Norm-Constrained
  LMOs, https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOL1`, `MUONLMOFROBENIUS`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Max(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_FALSE, HUGE_VAL, HUGE_VAL));
  lmo->ops->shapefactor = MuonLMOShapeFactor_Max;
  PetscFunctionReturn(PETSC_SUCCESS);
}
