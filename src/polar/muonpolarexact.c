#include "muonpolarpanel.h"
#include "../kernels/dense/muonpolarkernels.h"
#include <petscblaslapack.h>

/*
   The factor of the transpose is the transpose of the factor: lines are taken for columns. Q may be G, of
   which the decomposition makes a copy
*/
static PetscErrorCode MuonPolarExactSequential_Private(MuonPolar polar, const MuonArray *G, const MuonArray *Q, MuonStatus *status)
{
  MuonArray    lines = *G, product = *Q;
  MuonMatrix   matrix;
  PetscReal   *sigma;
  PetscScalar *U, *V, one = 1.0, zero = 0.0;
  PetscInt     m = (PetscInt)G->len, n = (PetscInt)G->count, s = PetscMin(m, n), rank;
  PetscBLASInt bm, bn, bk, bld;

  PetscFunctionBegin;
  lines.rowmajor = 0;
  matrix         = MuonMatrixOfArray(&lines);
  PetscCall(MuonWorkspaceGet(polar->work, (size_t)s * sizeof(PetscReal), &sigma));
  PetscCall(MuonWorkspaceGet(polar->work, (size_t)m * s * sizeof(PetscScalar), &U));
  PetscCall(MuonWorkspaceGet(polar->work, (size_t)n * s * sizeof(PetscScalar), &V));
  PetscCall(MuonSVDSetWorkspace(polar->svd, polar->work));
  PetscCall(MuonSVDCompute(polar->svd, &matrix, s, sigma, U, V, &rank, status));
  if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (Q->precision != MUON_PETSCSCALAR) PetscCall(MuonWorkspaceGetArray(polar->work, Q, MUON_PETSCSCALAR, &product));
  PetscCall(PetscBLASIntCast(m, &bm));
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscBLASIntCast(rank, &bk));
  PetscCall(PetscBLASIntCast((PetscInt)PetscMax(product.ld, product.len), &bld));
  PetscCallBLAS("BLASgemm", BLASgemm_("N", "T", &bm, &bn, &bk, &one, U, &bm, V, &bn, &zero, (PetscScalar *)product.data, &bld));
  if (Q->precision != MUON_PETSCSCALAR) MuonArrayAxpby(1.0, &product, 0.0, Q);
  PetscCall(PetscLogFlops(2.0 * m * n * rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same in the memory of a device, whose library decomposes tall matrices: a wide one is transposed by a
   product with the identity, which changes no bit. Division by the Frobenius norm keeps squares in range.
   Only singular values come to the host
*/
static PetscErrorCode MuonPolarExactDevice_Private(MuonPolar polar, MuonPolarTask *task)
{
  const MuonKernelReal *real    = MuonKernelRealOfDevice(MUON_PETSCSCALAR == MUON_SINGLE ? "single" : "double");
  const MuonKernels    *kernels = real->arrays;
  const double          eps     = 2.0 * PetscMax(real->unit, MuonArrayKernels(&task->G.here)->unit);
  MuonPolarPanel        p;
  PetscReal            *sigma;
  void                 *X, *S, *U, *V;
  size_t                s, l, rank = 0;

  PetscFunctionBegin;
  PetscCall(MuonPolarPanelLoad(polar, real, task, &p));
  s = p.s;
  l = p.l;
  PetscCall(MuonWorkspaceGet(polar->work, s * sizeof(PetscReal), &sigma));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, s * s * real->size, &V));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, s * real->size, &S));
  PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, l * s * real->size, &U));
  X = p.Y;
  if (p.left) {
    PetscCall(MuonWorkspaceGetIn(polar->work, MUON_DEVICE, l * s * real->size, &X));
    real->identity(s, 1.0, V);
    kernels->Multiply(1, 0, l, s, s, 1.0, p.Y, s, V, s, 0.0, X, l);
  }
  if (real->decompose(l, s, X, S, U, V) != 0) {
    task->status = MUON_STATUS_LMO;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  MuonDeviceGet()->copy(s * real->size, S, sigma);
  while (rank < s && sigma[rank] > l * eps * sigma[0]) rank++;
  if (p.left) kernels->Multiply(0, 1, s, l, rank, 1.0, V, s, U, l, 0.0, p.Y, s);
  else kernels->Multiply(0, 1, l, s, rank, 1.0, U, l, V, s, 0.0, p.Y, l);
  PetscCall(MuonPolarPanelStore(&p, 1.0, &task->Q));
  PetscCall(PetscLogFlops(22.0 * s * s * s + 2.0 * l * s * rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in the memory of the devices of many ranks go to the first rank's host, where the decomposition is */
static PetscErrorCode MuonPolarExactRows_Private(MuonPolar polar, MuonPolarTask *task)
{
  MuonPolarTask host = *task;

  PetscFunctionBegin;
  PetscCall(MuonArrayOnHost(&task->G.here, PETSC_TRUE, &host.G.here));
  PetscCall(MuonArrayOnHost(&task->Q.here, PETSC_FALSE, &host.Q.here));
  PetscCall(MuonPolarExact_Private(polar, &host));
  task->status = host.status;
  PetscCall(MuonArrayOffHost(&task->Q.here, task->status == MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE, &host.Q.here));
  PetscCall(MuonArrayOffHost(&task->G.here, PETSC_FALSE, &host.G.here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPolarExact_Private(MuonPolar polar, MuonPolarTask *task)
{
  const MuonMatrix *G = &task->G, *Q = &task->Q;
  MuonArray         full = G->here;
  PetscMPIInt       answer[2];
  PetscErrorCode    ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (G->here.memory == MUON_DEVICE) {
    PetscCall((G->size > 1 ? MuonPolarExactRows_Private : MuonPolarExactDevice_Private)(polar, task));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (polar->svd == NULL) PetscCall(MuonSVDCreate(PETSC_COMM_SELF, &polar->svd));
  if (G->size == 1) {
    PetscCall(MuonPolarExactSequential_Private(polar, &G->here, &Q->here, &task->status));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  full.len   = (size_t)(full.rowmajor ? G->columns : G->rows);
  full.count = (size_t)(full.rowmajor ? G->rows : G->columns);
  full.ld    = full.len;
  if (G->rank == 0) PetscCall(MuonWorkspaceGetArray(polar->work, &full, full.precision, &full));
  PetscCall(MuonMatrixMoveRows(G, &G->here, &full, PETSC_TRUE));
  if (G->rank == 0) ierr = MuonPolarExactSequential_Private(polar, &full, &full, &task->status);
  answer[0] = (PetscMPIInt)ierr;
  answer[1] = (PetscMPIInt)task->status;
  PetscCallMPI(MPI_Bcast(answer, 2, MPI_INT, 0, G->comm));
  PetscCall(ierr);
  PetscCheck(answer[0] == 0, PETSC_COMM_SELF, (PetscErrorCode)answer[0], "The first rank could not decompose a %" PetscInt_FMT " x %" PetscInt_FMT " matrix, see its error", G->rows, G->columns);
  task->status = (MuonStatus)answer[1];
  if (task->status == MUON_STATUS_OK) PetscCall(MuonMatrixMoveRows(G, &Q->here, &full, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
