#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"
#include "../../../wire/muonwire.h"

static PetscErrorCode MuonLMOApply_ColSum(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsApply_Private(lmo, 1.0, HUGE_VAL, G, D, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_ColSum(MuonLMO lmo, Mat X, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsNorm_Private(lmo, 1.0, HUGE_VAL, X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_ColSum(MuonLMO lmo, Mat G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsDualNorm_Private(lmo, 1.0, HUGE_VAL, G, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_ColSum(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOColumnsFlops_Private(1.0, HUGE_VAL, m, n, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOCOLSUM - "colsum" - the largest sum of absolute entries of a column, the operator norm from $\ell_1$ to $\ell_1$; its dual is the sum over columns of the largest absolute entry

  Level: intermediate

  Notes:
  Column $j$ of the minimizer has one entry, $-\mathrm{sign}(G_{rj})$ where $|G_{rj}|$ is largest in the column, in the lowest row of several, also where they are on different ranks. A column of zeros stays zero.

  The matrix is read once; one operation for each column is counted.

  The norm is $\ell_{1,\infty}$ of `MUONLMOMIXED`. Its use for messages is from appendix D.1 of K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends,
  https://arxiv.org/abs/2510.00643, which describes this oracle and calls the norm the row sum

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOROWSUM`, `MUONLMOCOLUMN`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_ColSum(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->form          = MUON_WIRE_PERCOLUMN;
  lmo->ops->apply    = MuonLMOApply_ColSum;
  lmo->ops->norm     = MuonLMONorm_ColSum;
  lmo->ops->dualnorm = MuonLMODualNorm_ColSum;
  lmo->ops->getflops = MuonLMOGetFlops_ColSum;
  PetscFunctionReturn(PETSC_SUCCESS);
}
