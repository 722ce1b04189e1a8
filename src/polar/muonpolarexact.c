#include <petscmuon/private/muonpolarimpl.h>
#include <petscblaslapack.h>

/* The factor of the transpose is the transpose of the factor: lines are taken for columns. Q may be G, of which the decomposition makes a copy */
static PetscErrorCode MuonPolarExactSequential_Private(MuonPolar polar, const MuonArray *G, const MuonArray *Q)
{
  MuonArray    lines = *G, product = *Q;
  MuonMatrix   matrix;
  PetscReal   *sigma;
  PetscScalar *U, *V, one = 1.0, zero = 0.0;
  PetscInt     m = (PetscInt)G->m, n = (PetscInt)G->n, s = PetscMin(m, n), rank;
  PetscBLASInt bm, bn, bk, bld;

  PetscFunctionBegin;
  lines.rowmajor = 0;
  matrix         = MuonMatrixOfArray(&lines);
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_A, (size_t)s * sizeof(PetscReal), &sigma));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_B, (size_t)m * s * sizeof(PetscScalar), &U));
  PetscCall(MuonWorkspaceGet(polar->work, MUON_WORK_POLAR_C, (size_t)n * s * sizeof(PetscScalar), &V));
  PetscCall(MuonSVDSetWorkspace(polar->svd, polar->work));
  PetscCall(MuonSVDCompute(polar->svd, &matrix, s, sigma, U, V, &rank, &polar->status));
  if (polar->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (Q->precision != MUON_PETSCSCALAR) PetscCall(MuonWorkspaceGetArray(polar->work, MUON_WORK_POLAR_E, Q, MUON_PETSCSCALAR, &product));
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(rank, &bk));
  PetscCall(PetscBLASIntCast((PetscInt)PetscMax(product.ld, product.m), &bld));
  PetscCallBLAS("BLASgemm", BLASgemm_("N", "T", &bm, &bn, &bk, &one, U, &bm, V, &bn, &zero, (PetscScalar *)product.data, &bld));
  if (Q->precision != MUON_PETSCSCALAR) MuonArrayAxpby(1.0, &product, 0.0, Q);
  PetscCall(PetscLogFlops(2.0 * m * n * rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarExact_Private(MuonPolar polar, const MuonMatrix *G, const MuonMatrix *Q)
{
  MuonArray      whole = G->here;
  PetscMPIInt    answer[2];
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (polar->svd == NULL) PetscCall(MuonSVDCreate(PETSC_COMM_SELF, &polar->svd));
  if (G->size == 1) {
    PetscCall(MuonPolarExactSequential_Private(polar, &G->here, &Q->here));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  whole.m  = (size_t)(whole.rowmajor ? G->columns : G->rows);
  whole.n  = (size_t)(whole.rowmajor ? G->rows : G->columns);
  whole.ld = whole.m;
  if (G->rank == 0) PetscCall(MuonWorkspaceGetArray(polar->work, MUON_WORK_POLAR_D, &whole, whole.precision, &whole));
  PetscCall(MuonMatrixMoveRows(G, &G->here, &whole, PETSC_TRUE));
  if (G->rank == 0) ierr = MuonPolarExactSequential_Private(polar, &whole, &whole);
  answer[0] = (PetscMPIInt)ierr;
  answer[1] = (PetscMPIInt)polar->status;
  PetscCallMPI(MPI_Bcast(answer, 2, MPI_INT, 0, G->comm));
  PetscCall(ierr);
  PetscCheck(answer[0] == 0, PETSC_COMM_SELF, (PetscErrorCode)answer[0], "The first rank could not decompose a %" PetscInt_FMT " x %" PetscInt_FMT " matrix, see its error", G->rows, G->columns);
  polar->status = (MuonStatus)answer[1];
  if (polar->status == MUON_STATUS_OK) PetscCall(MuonMatrixMoveRows(G, &Q->here, &whole, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
