#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"
#include "../../../wire/muonwire.h"

static PetscErrorCode MuonLMOApply_L21(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsApply_Private(lmo, 2.0, 1.0, G, D, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_L21(MuonLMO lmo, Mat X, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsNorm_Private(lmo, 2.0, 1.0, X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_L21(MuonLMO lmo, Mat G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsDualNorm_Private(lmo, 2.0, 1.0, G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_L21(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsFlops_Private(2.0, 1.0, m, n, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOL21 - "l21" - the sum of the Euclidean norms of the columns; its dual is the largest of them

  Level: intermediate

  Notes:
  The minimizer has one column, $-G_{:c} / \|G_{:c}\|_2$ where the norm is largest, the first of several. It is zero for a zero matrix.

  Norms are accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 2 operations an entry for them, and as many again are counted for the column.

  The norm is $\ell_{2,1}$ of `MUONLMOMIXED`, known from the group lasso of M. Yuan and Y. Lin, Model selection and estimation in regression with grouped variables (2006)

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOCOLUMN`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_L21(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->form          = MUON_WIRE_COLUMNS;
  lmo->ops->apply    = MuonLMOApply_L21;
  lmo->ops->norm     = MuonLMONorm_L21;
  lmo->ops->dualnorm = MuonLMODualNorm_L21;
  lmo->ops->getflops = MuonLMOGetFlops_L21;
  PetscFunctionReturn(PETSC_SUCCESS);
}
