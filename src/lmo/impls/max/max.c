#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"
#include "../../../kernels/muonpolarkernels.h"

static PetscErrorCode MuonLMODualNorm_Max(MuonLMO lmo, Mat G, PetscReal *dual)
{
  const PetscScalar *g;
  PetscInt           m, n, ldg;
  double             r;
  int                exponent;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(G, &m, NULL));
  PetscCall(MatGetSize(G, NULL, &n));
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetArrayRead(G, &g));
  r = frexp(MuonKernelSumAbs((size_t)m, (size_t)n, g, (size_t)ldg), &exponent);
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  PetscCall(MuonLMOCombine_Private(lmo, G, 1.0, &r, &exponent));
  *dual = (PetscReal)ldexp(r, exponent);
  PetscCall(PetscLogFlops(1.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOApply_Max(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  const PetscScalar *g;
  PetscScalar       *d;
  PetscInt           m, n, ldg, ldd;

  PetscFunctionBegin;
  PetscCall(MuonLMODualNorm_Max(lmo, G, dual));
  PetscCall(MatGetLocalSize(G, &m, NULL));
  PetscCall(MatGetSize(G, NULL, &n));
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MatDenseGetArrayWrite(D, &d));
  MuonKernelSign((size_t)m, (size_t)n, -1, g, (size_t)ldg, d, (size_t)ldd);
  PetscCall(MatDenseRestoreArrayWrite(D, &d));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMONorm_Max(MuonLMO lmo, Mat X, PetscReal *norm)
{
  const PetscScalar *x;
  PetscInt           m, n, ldx;
  double             r;
  int                exponent;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(X, &m, NULL));
  PetscCall(MatGetSize(X, NULL, &n));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetArrayRead(X, &x));
  r = frexp(MuonKernelMaxAbs((size_t)m, (size_t)n, x, (size_t)ldx), &exponent);
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(MuonLMOCombine_Private(lmo, X, HUGE_VAL, &r, &exponent));
  *norm = (PetscReal)ldexp(r, exponent);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Max(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 1.0 * m * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOMAX - "max" - the largest absolute entry, the operator norm from $\ell_1$ to $\ell_\infty$; its dual is the sum of absolute entries

  Level: intermediate

  Notes:
  The minimizer is $-\mathrm{sign}(G)$ entry by entry, with $\mathrm{sign}(0) = 0$.

  `MuonLMOApply()` takes one operation an entry, for the dual norm. Of a parallel matrix only the norms are communicated.

  The norm is $\ell_{\infty,\infty}$ of `MUONLMOMIXED`. It is the sign norm of T. Pethick, W. Xie, K. Antonakopoulos, Z. Zhu, A. Silveti-Falls, V. Cevher, Training Deep Learning Models with Norm-Constrained LMOs,
  https://arxiv.org/abs/2502.07529

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOL1`, `MUONLMOFROBENIUS`, `MUONLMOMIXED`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Max(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->ops->apply    = MuonLMOApply_Max;
  lmo->ops->norm     = MuonLMONorm_Max;
  lmo->ops->dualnorm = MuonLMODualNorm_Max;
  lmo->ops->getflops = MuonLMOGetFlops_Max;
  PetscFunctionReturn(PETSC_SUCCESS);
}
