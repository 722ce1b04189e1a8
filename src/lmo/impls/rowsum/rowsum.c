#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"
#include "../../../kernels/muonlmokernels.h"
#include "../../../wire/muonwire.h"

/* Writes the minimizer where there is a D to write to */
static PetscErrorCode MuonLMOLargest_RowSum(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  const PetscScalar *g;
  PetscScalar       *d, *most;
  PetscInt           m, n, ldg, ldd;
  int64_t           *column;
  double             r;
  int                exponent;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(G, &m, NULL));
  PetscCall(MatGetSize(G, NULL, &n));
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MuonWorkspaceGet(lmo->work, MUON_WORK_LMO_A, (size_t)m * (sizeof(int64_t) + sizeof(PetscScalar)), &column));
  most = (PetscScalar *)(column + m);
  PetscCall(MatDenseGetArrayRead(G, &g));
  MuonKernelRowArgMax((size_t)m, (size_t)n, g, (size_t)ldg, most, column);
  if (D != NULL) {
    PetscCall(MatDenseGetLDA(D, &ldd));
    PetscCall(MatDenseGetArrayWrite(D, &d));
    MuonKernelRowsPick((size_t)m, (size_t)n, g, (size_t)ldg, column, -1.0, d, (size_t)ldd);
    PetscCall(MatDenseRestoreArrayWrite(D, &d));
  }
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  r = MuonKernelScaledSum((size_t)m, most, &exponent);
  PetscCall(MuonLMOCombine_Private(lmo, G, 1.0, &r, &exponent));
  *dual = (PetscReal)ldexp(r, exponent);
  PetscCall(PetscLogFlops(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOApply_RowSum(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOLargest_RowSum(lmo, G, D, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_RowSum(MuonLMO lmo, Mat X, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MuonLMORowsNorm_Private(lmo, 1, HUGE_VAL, X, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMODualNorm_RowSum(MuonLMO lmo, Mat G, PetscReal *dual)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOLargest_RowSum(lmo, G, NULL, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_RowSum(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOROWSUM - "rowsum" - the largest sum of absolute entries of a row, the operator norm from $\ell_\infty$ to $\ell_\infty$; its dual is the sum over rows of the largest absolute entry

  Level: intermediate

  Notes:
  Row $i$ of the minimizer has one entry, $-\mathrm{sign}(G_{ic})$ where $|G_{ic}|$ is largest in the row, in the lowest column of several. A row of zeros stays zero.

  The matrix is read once, column by column; one operation for each row is counted. Rows of a parallel matrix are whole on their ranks: only the dual norm is communicated.

  Its use for messages is from appendix D.1 of K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643; what is described there
  under this name is `MUONLMOCOLSUM`

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MuonLMOEncode()`, `MUONLMOCOLSUM`, `MUONLMOROW`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_RowSum(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->form          = MUON_WIRE_PERROW;
  lmo->ops->apply    = MuonLMOApply_RowSum;
  lmo->ops->norm     = MuonLMONorm_RowSum;
  lmo->ops->dualnorm = MuonLMODualNorm_RowSum;
  lmo->ops->getflops = MuonLMOGetFlops_RowSum;
  PetscFunctionReturn(PETSC_SUCCESS);
}
