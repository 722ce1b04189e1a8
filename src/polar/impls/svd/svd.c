#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include <petscblaslapack.h>

typedef struct {
  MuonSVD svd;
} MuonPolar_SVD;

static PetscErrorCode MuonPolarApplySequential_SVD(MuonPolar polar, Mat G, Mat Q)
{
  MuonPolar_SVD *data = (MuonPolar_SVD *)polar->data;
  PetscReal     *sigma;
  PetscScalar   *U, *V, *q, one = 1.0, zero = 0.0;
  PetscInt       m, n, s, ldq, rank;
  PetscBLASInt   bm, bn, bk, bld;

  PetscFunctionBegin;
  PetscCall(MatGetSize(G, &m, &n));
  s = PetscMin(m, n);
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_A, (size_t)s * sizeof(PetscReal), &sigma));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_B, (size_t)m * s * sizeof(PetscScalar), &U));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_C, (size_t)n * s * sizeof(PetscScalar), &V));
  PetscCall(MuonSVDSetWorkspace(data->svd, polar->work));
  PetscCall(MuonSVDCompute(data->svd, G, s, sigma, U, V, &rank, &polar->status));
  if (polar->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetLDA(Q, &ldq));
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(rank, &bk));
  PetscCall(PetscBLASIntCast(ldq, &bld));
  PetscCall(MatDenseGetArrayWrite(Q, &q));
  PetscCallBLAS("BLASgemm", BLASgemm_("N", "T", &bm, &bn, &bk, &one, U, &bm, V, &bn, &zero, q, &bld));
  PetscCall(MatDenseRestoreArrayWrite(Q, &q));
  PetscCall(PetscLogFlops(2.0 * m * n * rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the rank that has the whole matrix as X, which becomes the factor: the decomposition works on a copy of its own */
static PetscErrorCode MuonPolarApplyWhole_SVD(MuonPolar polar, PetscInt m, PetscInt n, PetscScalar *X)
{
  Mat whole, factor;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, X, &whole));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, X, &factor));
  PetscCall(MuonPolarApplySequential_SVD(polar, whole, factor));
  PetscCall(MatDestroy(&factor));
  PetscCall(MatDestroy(&whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarApply_SVD(MuonPolar polar, Mat G, Mat Q)
{
  const PetscScalar *g;
  PetscScalar       *q, *X = NULL;
  PetscInt           m, n, lda;
  PetscMPIInt        rank, answer[2];
  PetscErrorCode     ierr = PETSC_SUCCESS;
  PetscBool          parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)G, MATMPIDENSE, &parallel));
  if (parallel == PETSC_FALSE) {
    PetscCall(MuonPolarApplySequential_SVD(polar, G, Q));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)G), &rank));
  PetscCall(MatGetSize(G, &m, &n));
  if (rank == 0) PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_D, (size_t)m * n * sizeof(PetscScalar), &X));
  PetscCall(MatDenseGetLDA(G, &lda));
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MuonMatMoveRows_Private(G, n, (PetscScalar *)g, lda, X, PETSC_TRUE));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  if (rank == 0) ierr = MuonPolarApplyWhole_SVD(polar, m, n, X);
  answer[0] = (PetscMPIInt)ierr;
  answer[1] = (PetscMPIInt)polar->status;
  PetscCallMPI(MPI_Bcast(answer, 2, MPI_INT, 0, PetscObjectComm((PetscObject)G)));
  PetscCall(ierr);
  PetscCheck(answer[0] == 0, PETSC_COMM_SELF, (PetscErrorCode)answer[0], "The first rank could not decompose a %" PetscInt_FMT " x %" PetscInt_FMT " matrix, see its error", m, n);
  polar->status = (MuonStatus)answer[1];
  if (polar->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetLDA(Q, &lda));
  PetscCall(MatDenseGetArrayWrite(Q, &q));
  PetscCall(MuonMatMoveRows_Private(Q, n, q, lda, X, PETSC_FALSE));
  PetscCall(MatDenseRestoreArrayWrite(Q, &q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarGetFlops_SVD(MuonPolar polar, PetscInt m, PetscInt n, PetscLogDouble *flops)
{
  PetscFunctionBegin;
  PetscCall(MuonSVDGetFlops(m, n, PetscMin(m, n), flops));
  *flops += 2.0 * m * n * PetscMin(m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarSetFromOptions_SVD(MuonPolar polar, MuonOptionItems PetscOptionsObject)
{
  MuonPolar_SVD *data = (MuonPolar_SVD *)polar->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDSetOptionsPrefix(data->svd, (PetscObject)polar, "lmo_polar_"));
  PetscCall(MuonSVDSetFromOptions(data->svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarView_SVD(MuonPolar polar, PetscViewer viewer)
{
  MuonPolar_SVD *data = (MuonPolar_SVD *)polar->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDView(data->svd, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarReset_SVD(MuonPolar polar)
{
  MuonPolar_SVD *data = (MuonPolar_SVD *)polar->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDSetWorkspace(data->svd, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPolarDestroy_SVD(MuonPolar polar)
{
  MuonPolar_SVD *data = (MuonPolar_SVD *)polar->data;

  PetscFunctionBegin;
  PetscCall(MuonSVDDestroy(&data->svd));
  PetscCall(PetscFree(data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONPOLARSVD - "svd" - the exact polar factor, by SLEPc's singular value decomposition

  Options Database Key:
. -lmo_polar_svd_type type - the solver, `lapack` by default; SLEPc's other keys follow the same prefix, `-lmo_polar_svd_tol` for instance

  Level: intermediate

  Notes:
  The factor is $\sum u_i v_i^T$ over the singular values above $\max(m,n)\, \epsilon\, \sigma_1$: the canonical partial isometry where the rank is not full.

  With the solver `lapack`, which is the one to use for all singular triples, the matrix is first reduced to the triangle of its QR factorization. SLEPc's iterative solvers find small singular values less
  accurately; where one does not find all that are needed, LAPACK takes over, which `MuonPolarView()` and `-info` tell.

  A parallel matrix is gathered on the first rank of its communicator, which computes the factor and sends the rows back: that rank holds the whole matrix and its decomposition. The other methods
  need no such rank.

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MUONPOLARNEWTONSCHULZ`
M*/
PETSC_EXTERN PetscErrorCode MuonPolarCreate_SVD(MuonPolar polar)
{
  MuonPolar_SVD *data;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  PetscCall(MuonSVDStart());
  PetscCall(MuonSVDCreate(PetscObjectComm((PetscObject)polar), &data->svd));
  PetscCall(MuonSVDSetOptionsPrefix(data->svd, (PetscObject)polar, "lmo_polar_"));
  polar->data                = data;
  polar->ops->apply          = MuonPolarApply_SVD;
  polar->ops->getflops       = MuonPolarGetFlops_SVD;
  polar->ops->setfromoptions = MuonPolarSetFromOptions_SVD;
  polar->ops->view           = MuonPolarView_SVD;
  polar->ops->reset          = MuonPolarReset_SVD;
  polar->ops->destroy        = MuonPolarDestroy_SVD;
  PetscFunctionReturn(PETSC_SUCCESS);
}
