#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"
#include "../../../wire/muonwire.h"

static PetscErrorCode MuonLMOApply_L1(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsApply_Private(lmo, 1.0, 1.0, G, D, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_L1(MuonLMO lmo, Mat X, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsNorm_Private(lmo, 1.0, 1.0, X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_L1(MuonLMO lmo, Mat G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsDualNorm_Private(lmo, 1.0, 1.0, G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_L1(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsFlops_Private(1.0, 1.0, m, n, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOL1 - "l1" - the sum of absolute entries; its dual is the largest absolute entry

  Level: intermediate

  Notes:
  The minimizer has one entry, $-\mathrm{sign}(G_{rc})$ where $|G_{rc}|$ is largest; of several that is the first in row-major order, also where they are on different ranks.
  It is zero for a zero matrix.

  The matrix is read once; no operation is counted, since comparisons are none.

  The norm is $\ell_{1,1}$ of `MUONLMOMIXED`. Its use for messages is from appendix D.1 of K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
  https://arxiv.org/abs/2510.00643

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOMAX`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_L1(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->form          = MUON_WIRE_SPARSE;
  lmo->ops->apply    = MuonLMOApply_L1;
  lmo->ops->norm     = MuonLMONorm_L1;
  lmo->ops->dualnorm = MuonLMODualNorm_L1;
  lmo->ops->getflops = MuonLMOGetFlops_L1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
