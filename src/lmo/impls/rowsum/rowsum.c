#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonwire.h>

/*MC
  MUONLMOROWSUM - "rowsum" - the largest sum of absolute entries of a row, the operator norm from
  $\ell_\infty$ to $\ell_\infty$; its dual is the sum over rows of the largest absolute entry

  Level: intermediate

  Notes:
  Row $i$ of the minimizer has one entry, $-\mathrm{sign}(G_{ic})$ where $|G_{ic}|$ is largest in the row, in
  the lowest column of several. A row of zeros stays zero.

  The matrix is read once, column by column; one operation for each row is counted. Rows of a parallel matrix
  are whole on their ranks: only the dual norm is communicated.

  Its use for messages is from appendix D.1 of K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error
  Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643; what is described there under this name is
  `MUONLMOCOLSUM`

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOCOLSUM`, `MUONLMOROW`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_RowSum(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_TRUE, 1.0, HUGE_VAL));
  lmo->form = MUON_WIRE_PERROW;
  PetscFunctionReturn(PETSC_SUCCESS);
}
