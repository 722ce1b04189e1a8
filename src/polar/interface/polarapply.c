#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/dense/muonblas.h"
#include <limits.h>

PetscErrorCode MuonPolarNorm_Private(const MuonMatrix *G, double *norm, int *exponent)
{
  const MuonArray *g = &G->here;
  int              largest;
  double           square;

  PetscFunctionBegin;
  *norm = MuonArrayKernels(g)->Norm(g->len, g->count, g->data, g->ld, exponent);
  /* The kernel takes NaN alone for zeros */
  if (*norm == 0.0 && !MuonArrayIsFinite(g)) *norm = NAN;
  if (G->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (*norm == 0.0) *exponent = INT_MIN / 2;
  largest = *exponent;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT, MPI_MAX, G->comm));
  square = *norm == 0.0 ? 0.0 : ldexp(*norm, *exponent - largest);
  square *= square;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &square, 1, MPI_DOUBLE, MPI_SUM, G->comm));
  *norm     = sqrt(square);
  *exponent = largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarApply - Computes the orthogonal polar factor of a matrix

  Collective on G

  Input Parameters:
+ polar - the object
- G     - the matrix, `MATSEQDENSE` or `MATMPIDENSE`, of any shape and leading dimension, with any rows on any rank; it is not modified

  Output Parameters:
+ Q      - another matrix of the same type, shape and distribution
- status - `MUON_STATUS_OK`, `MUON_STATUS_NANORINF` or `MUON_STATUS_LMO`; may be `NULL`

  Level: intermediate

  Notes:
  With the singular value decomposition $G = U \Sigma V^T$ over the nonzero singular values, $Q = U V^T$. It is the
  orthogonal matrix nearest to `G`, or the canonical partial isometry if `G` does not have full rank. The type `svd`
  computes it to working accuracy. Iterative methods give $U f(\Sigma) V^T$ with values of $f$ near 1; their pages give
  bounds. The factor of a zero matrix is zero.

  The ranks of `G` call it together, for any communicator of `polar`. With a sequential matrix a rank calls it alone.

  An entry of `G` that is NaN or Inf gives the status `MUON_STATUS_NANORINF` and leaves `Q` unchanged. A failed decomposition
  gives `MUON_STATUS_LMO` and may change `Q`. The ranks of a parallel matrix get the same status.

.seealso: `MuonPolar`, `MuonPolarApplyMany()`, `MuonStatus`, `MuonPolarSetType()`, `MuonLMOApply()`
@*/
PetscErrorCode MuonPolarApply(MuonPolar polar, Mat G, Mat Q, MuonStatus *status)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarApplyMany(polar, 1, &G, &Q, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarApplyMany - Computes the orthogonal polar factors of several matrices

  Collective on each matrix

  Input Parameters:
+ polar - the object
. n     - number of matrices
- G     - the matrices, of any types, shapes and distributions that `MuonPolarApply()` takes; they are not modified

  Output Parameters:
+ Q      - n other matrices of the same types, shapes and distributions
- status - the status of each, see `MuonPolarApply()`; may be `NULL`

  Level: intermediate

  Notes:
  The results are those of `MuonPolarApply()`, to the last bit. The matrices share one event of `-log_view` and the
  scratch memory. Products are not batched, because an optimized BLAS multiplies 64 x 64 matrices at the rate of large
  ones. The type `zolotarev` computes up to 8 small complex matrices of one shape together, without the BLAS, see its page.

  On a device the types `newtonschulz` and `gram` multiply matrices with the same shorter side together, by
  batched products of the vendor's library, up to 64 and within 1 GiB of scratch; these may round differently. If the
  longer sides differ, and the largest of these matrices has at most $2^{22}$ entries, shorter ones are padded with
  zeros, which adds at most a quarter to the entries.

  Ranks with several parallel matrices in common must pass them in the same order. The failure of one matrix does not
  affect the others.

.seealso: `MuonPolar`, `MuonPolarApply()`, `MuonStatus`
@*/
PetscErrorCode MuonPolarApplyMany(MuonPolar polar, PetscInt n, const Mat G[], Mat Q[], MuonStatus status[])
{
  MuonStatus *ended;
  MuonMatrix *from, *to;
  MuonPolar  *same;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscCheck(n >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "MuonPolar with options prefix \"%s\": %" PetscInt_FMT " matrices", MuonPolarPrefix_Private(polar), n);
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  if (PetscDefined(USE_COMPLEX)) PetscCall(MuonParametersCheckType((PetscObject)polar, offsetof(struct _p_MuonPolar, onpairs), NULL, MUON_OF_REALS));
  for (PetscInt k = 0; k < n; k++) {
    PetscValidHeaderSpecific(G[k], MAT_CLASSID, 3);
    PetscValidHeaderSpecific(Q[k], MAT_CLASSID, 4);
    PetscCall(MuonCheckMats_Private((PetscObject)polar, G[k], Q[k]));
  }
  PetscCall(PetscMalloc4(n, &ended, n, &from, n, &to, n, &same));
  for (PetscInt k = 0; k < n; k++) {
    same[k] = polar;
    PetscCall(MuonMatGetMatrix(G[k], PETSC_FALSE, &from[k]));
    PetscCall(MuonMatGetMatrix(Q[k], PETSC_TRUE, &to[k]));
  }
  PetscCall(MuonPolarApplyMatrices(1.0, n, same, from, to, ended));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonMatRestoreMatrix(Q[k], PETSC_TRUE, &to[k]));
    PetscCall(MuonMatRestoreMatrix(G[k], PETSC_FALSE, &from[k]));
    if (status != NULL) status[k] = ended[k];
  }
  PetscCall(PetscFree4(ended, from, to, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonPolarGetFlops - Gets the floating point operations of one `MuonPolarApply()`

  Not Collective

  Input Parameters:
+ polar - the object
. m     - rows of the matrix
- n     - columns of the matrix

  Output Parameter:
. flops - the operations, as `-log_view` counts them

  Level: advanced

  Note:
  For the type `svd` it is the textbook count of a decomposition by LAPACK.

.seealso: `MuonPolar`, `MuonPolarApply()`, `MuonLMOGetFlops()`
@*/
PetscErrorCode MuonPolarGetFlops(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(polar, MUONPOLAR_CLASSID, 1);
  PetscAssertPointer(flops, 4);
  PetscCall(MuonPolarSetDefaultType_Private(polar));
  PetscUseTypeMethod(polar, getflops, m, n, flops);
  PetscFunctionReturn(PETSC_SUCCESS);
}
