#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/

/*MC
  MUONLMOFROBENIUS - "frobenius" - the Frobenius norm, which is its own dual

  Level: intermediate

  Notes:
  The minimizer is $-G / \|G\|_F$, zero for a zero matrix.

  The norm is accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 4
  operations an entry and 3 a column, and reads the matrix twice. Of a parallel matrix only the norms of the
  columns are communicated.

  The norm is also $\ell_{2,2}$ of `MUONLMOMIXED` and `MUONLMOSCHATTEN` with the exponent 2.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOMAX`, `MUONLMOMIXED`, `MUONLMOSCHATTEN`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Frobenius(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_FALSE, 2.0, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
