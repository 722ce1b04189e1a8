#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/

static PetscErrorCode MuonPolarGetFlops_SVD(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonSVDGetFlops(m, n, PetscMin(m, n), flops));
  *flops += 2.0 * m * n * PetscMin(m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONPOLARSVD - "svd" - the exact polar factor, by SLEPc's singular value decomposition

  Options Database Key:
. -lmo_polar_svd_type type - the solver, `lapack` by default; SLEPc's other keys follow the same prefix, `-lmo_polar_svd_tol` for instance

  Level: intermediate

  Notes:
  The factor is $\sum u_i v_i^T$ over the singular values above $\max(m,n)\, \epsilon\, \sigma_1$. Without full rank it
  is the canonical partial isometry.

  The solver `lapack` is the best one for all singular triples. It first reduces the matrix to the triangular factor
  of its QR factorization. SLEPc's iterative solvers compute small singular values less accurately. If a solver does
  not find all triples, LAPACK is used, as `MuonPolarView()` and `-info` show. The default tolerance is the roundoff
  of $\sigma_1$, see `-lmo_polar_svd_tol`. `-lmo_polar_svd_nsv` is an error.

  A parallel matrix is gathered on the first rank of its communicator, which computes the factor and sends the rows
  back. This rank needs memory for the whole matrix and its decomposition. The other methods need no such rank.

  A matrix in device memory is decomposed there, by one-sided Jacobi rotations of cuSOLVER, or by LAPACK if the device
  is the host. SLEPc's keys then have no effect.

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MUONPOLARNEWTONSCHULZ`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_SVD(MuonPolar polar)
{
  PetscFunctionBegin;
  PetscCall(MuonSVDStart());
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)polar), &polar->svd));
  polar->gathers       = PETSC_TRUE;
  polar->ondevice      = PETSC_TRUE;
  polar->onpairs       = PETSC_TRUE;
  polar->ops->apply    = MuonPolarExact_Private;
  polar->ops->getflops = MuonPolarGetFlops_SVD;
  PetscFunctionReturn(PETSC_SUCCESS);
}
