#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonwire.h>

static PetscErrorCode MuonLMOApply_Nuclear(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D, double *dual)
{
  const MuonArray   *d       = &D->here;
  const MuonKernels *kernels = MuonArrayKernels(d);
  const size_t       m = MuonArrayRows(d), n = MuonArrayColumns(d);
  double            *u;
  PetscInt           count;

  PetscFunctionBegin;
  if (d->pairs) {
    PetscCall(MuonLMOApply_Singular(lmo, G, D, dual));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonWorkspaceGet(lmo->work, (m + n) * sizeof(double), &u));
  PetscCall(MuonLMOSingularTriple(lmo, G, u, u + m, dual, &count));
  if (lmo->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (count == 0) PetscCall(PetscArrayzero(u, m + n));
  kernels->RankOne(d->len, d->count, count > 0 ? -1.0 : 0.0, d->rowmajor ? u + m : u, d->rowmajor ? u : u + m, d->data, d->ld);
  if (count > 0) PetscCall(PetscLogFlops((PetscLogDouble)MuonArrayEntries(d)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOGetFlops_Nuclear(MuonLMO lmo, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonSVDGetFlops(m, n, PetscMin(1, PetscMin(m, n)), flops));
  *flops += 1.0 * m * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLMONUCLEAR - "nuclear" - the sum of singular values; its dual is the largest singular value

  Options Database Key:
. -lmo_svd_type type - SLEPc's solver, `trlanczos` for matrices of more than 32 rows and columns and `lapack` below by default; with SLEPc's other keys of that prefix

  Level: intermediate

  Notes:
  The minimizer is $-u_1 v_1^T$ with the leading singular vectors. If $\sigma_1 = \sigma_2$, it is one of several
  minimizers with the same value. It is zero for a zero matrix.

  The solver computes one singular triple of the triangular factor of the matrix. If it does not converge, LAPACK is
  used. `MuonLMOGetFlops()` counts for LAPACK. `MuonLMOComputeNorm()` needs all singular values and costs many times as
  much as `MuonLMOApply()`.

  A parallel matrix is gathered on the first rank of its communicator, which computes the triple and sends
  each rank its part.

  Its use for messages is from appendix D.1 of K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error
  Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMOType`, `MUONLMOSPECTRAL`, `MUONLMOSCHATTEN`
M*/
PETSC_EXTERN PetscErrorCode MuonLMOCreate_Nuclear(MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetSingular(lmo, 1.0));
  lmo->kind          = MUON_WIRE_TRIPLES;
  lmo->ops->apply    = MuonLMOApply_Nuclear;
  lmo->ops->factors  = MuonLMOSingularTriple;
  lmo->ops->getflops = MuonLMOGetFlops_Nuclear;
  PetscFunctionReturn(PETSC_SUCCESS);
}
