#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonwire.h>

/*MC
  MUONLMOL21 - "l21" - the sum of the Euclidean norms of the columns; its dual is the largest of them

  Level: intermediate

  Notes:
  The minimizer has one column, $-G_{:c} / \|G_{:c}\|_2$ where the norm is largest, the first of several. It
  is zero for a zero matrix.

  Norms are accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 2
  operations an entry for them, and as many again are counted for the column.

  The norm is $\ell_{2,1}$ of `MUONLMOMIXED`, known from the group lasso of M. Yuan and Y. Lin, Model
  selection and estimation in regression with grouped variables (2006)

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOCOLUMN`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_L21(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_FALSE, 2.0, 1.0));
  lmo->form = MUON_WIRE_COLUMNS;
  PetscFunctionReturn(PETSC_SUCCESS);
}
