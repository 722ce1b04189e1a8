#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonwire.h>

/*MC
  MUONLMOL1 - "l1" - the sum of absolute entries; its dual is the largest absolute entry

  Level: intermediate

  Notes:
  The minimizer has one entry, $-\mathrm{sign}(G_{rc})$ where $|G_{rc}|$ is largest; of several that is the
  first in the order of the memory, which for a `Mat` is by columns, also where they are on different ranks.
  It is zero for a zero matrix.

  The matrix is read once; no operation is counted, since comparisons are none.

  The norm is $\ell_{1,1}$ of `MUONLMOMIXED`. Its use for messages is from appendix D.1 of K. Gruntkowska, A.
  Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOMAX`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_L1(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSlices(lmo, PETSC_FALSE, 1.0, 1.0));
  lmo->form = MUON_WIRE_SPARSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
