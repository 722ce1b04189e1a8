#include <petscmuon/private/muonpolarimpl.h>
#include <petscblaslapack.h>

static PetscErrorCode MuonPolarExactSequential_Private(MuonPolar polar, MuonSVD svd, Mat G, Mat Q)
{
  PetscReal   *sigma;
  PetscScalar *U, *V, *q, one = 1.0, zero = 0.0;
  PetscInt     m, n, s, ldq, rank;
  PetscBLASInt bm, bn, bk, bld;

  PetscFunctionBegin;
  PetscCall(MatGetSize(G, &m, &n));
  s = PetscMin(m, n);
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_A, (size_t)s * sizeof(PetscReal), &sigma));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_B, (size_t)m * s * sizeof(PetscScalar), &U));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_C, (size_t)n * s * sizeof(PetscScalar), &V));
  PetscCall(MuonSVDSetWorkspace(svd, polar->work));
  PetscCall(MuonSVDCompute(svd, G, s, sigma, U, V, &rank, &polar->status));
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
static PetscErrorCode MuonPolarExactWhole_Private(MuonPolar polar, MuonSVD svd, PetscInt m, PetscInt n, PetscScalar *X)
{
  Mat whole, factor;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, X, &whole));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, X, &factor));
  PetscCall(MuonPolarExactSequential_Private(polar, svd, whole, factor));
  PetscCall(MatDestroy(&factor));
  PetscCall(MatDestroy(&whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarExact_Private(MuonPolar polar, MuonSVD svd, Mat G, Mat Q)
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
    PetscCall(MuonPolarExactSequential_Private(polar, svd, G, Q));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)G), &rank));
  PetscCall(MatGetSize(G, &m, &n));
  if (rank == 0) PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_D, (size_t)m * n * sizeof(PetscScalar), &X));
  PetscCall(MatDenseGetLDA(G, &lda));
  PetscCall(MatDenseGetArrayRead(G, &g));
  PetscCall(MuonMatMoveRows_Private(G, n, (PetscScalar *)g, lda, X, PETSC_TRUE));
  PetscCall(MatDenseRestoreArrayRead(G, &g));
  if (rank == 0) ierr = MuonPolarExactWhole_Private(polar, svd, m, n, X);
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
