#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include "../../muonlmoslices.h"
#include "../../../kernels/muonlmokernels.h"
#include "../../../kernels/muonpolarkernels.h"

/* Sums of squares are out of range for entries that hardly ever come: those are scaled */
static double MuonLMOSize_Frobenius(PetscInt m, PetscInt n, const PetscScalar *x, PetscInt ldx, int *exponent)
{
  const double sum = MuonKernelSumSquares((size_t)m, (size_t)n, x, (size_t)ldx);

  return MuonKernelSumInRange(2, sum) ? frexp(sqrt(sum), exponent) : MuonKernelNorm((size_t)m, (size_t)n, x, (size_t)ldx, exponent);
}

static PetscErrorCode MuonLMONorm_Frobenius(MuonLMO lmo, Mat X, PetscReal *norm)
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
  r = MuonLMOSize_Frobenius(m, n, x, ldx, &exponent);
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(MuonLMOCombine_Private(lmo, X, 2.0, &r, &exponent));
  *norm = (PetscReal)ldexp(r, exponent);
  PetscCall(PetscLogFlops(2.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOApply_Frobenius(MuonLMO lmo, Mat G, Mat D, PetscReal *dual)
{
  const PetscScalar *g;
  PetscScalar       *d;
  PetscInt           m, n, ldg, ldd;
  double             r;
  int                exponent;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(G, &m, NULL));
  PetscCall(MatGetSize(G, NULL, &n));
  PetscCall(MatDenseGetLDA(G, &ldg));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MatDenseGetArrayWrite(D, &d));
  r = MuonLMOSize_Frobenius(m, n, g, ldg, &exponent);
  PetscCall(MuonLMOCombine_Private(lmo, G, 2.0, &r, &exponent));
  *dual = (PetscReal)ldexp(r, exponent);
  /* A factor is faster than a division, where the scalar has one; a zero matrix over 1 is zero */
  if (r > 0.0 && PetscAbsInt(exponent) < 100) MuonKernelAxpby((size_t)m, (size_t)n, (PetscScalar)-ldexp(1.0 / r, -exponent), g, (size_t)ldg, 0.0, d, (size_t)ldd);
  else MuonKernelDivide((size_t)m, (size_t)n, g, (size_t)ldg, r > 0.0 ? -r : 1.0, exponent, d, (size_t)ldd);
  PetscCall(MatDenseRestoreArrayWrite(D, &d));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  PetscCall(PetscLogFlops(3.0 * m * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Frobenius(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  *flops = 3.0 * m * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMOFROBENIUS - "frobenius" - the Frobenius norm, which is its own dual

  Level: intermediate

  Notes:
  The minimizer is $-G / \|G\|_F$, zero for a zero matrix.

  The norm is accumulated in double, without overflow or underflow on the way; `MuonLMOApply()` takes 3 operations an entry. Of a parallel matrix only the norm is communicated.

  The norm is also $\ell_{2,2}$ of `MUONLMOMIXED` and `MUONLMOSCHATTEN` with the exponent 2.

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOMAX`, `MUONLMOMIXED`, `MUONLMOSCHATTEN`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Frobenius(MuonLMO lmo)
{
  PetscFunctionBegin;
  lmo->ops->apply    = MuonLMOApply_Frobenius;
  lmo->ops->norm     = MuonLMONorm_Frobenius;
  lmo->ops->dualnorm = MuonLMONorm_Frobenius;
  lmo->ops->getflops = MuonLMOGetFlops_Frobenius;
  PetscFunctionReturn(PETSC_SUCCESS);
}
