#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonwire.h>

/*MC
  MUONLMOCOLSUM - "colsum" - the largest sum of absolute entries of a column, the operator norm from $\ell_1$
  to $\ell_1$; its dual is the sum over columns of the largest absolute entry

  Level: intermediate

  Notes:
  Column $j$ of the minimizer has one entry, $-\mathrm{sign}(G_{rj})$ where $|G_{rj}|$ is largest in the
  column, in the lowest row of several, also where they are on different ranks. A column of zeros stays zero.

  The matrix is read once; one operation for each column is counted.

  The norm is $\ell_{1,\infty}$ of `MUONLMOMIXED`. Its use for messages is from appendix D.1 of K.
  Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
  https://arxiv.org/abs/2510.00643, which describes this oracle and calls the norm the row sum

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOROWSUM`, `MUONLMOCOLUMN`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_ColSum(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_FALSE, 1.0, HUGE_VAL));
  lmo->form = MUON_WIRE_PERCOLUMN;
  PetscFunctionReturn(PETSC_SUCCESS);
}
