#include <petscmuon/private/petscmuonimpl.h>
#include "../kernels/muonkernels.h"

const char *const MuonStatuses[] = {"OK", "NANORINF", "CORRUPT", "LMO", "MuonStatus", "MUON_STATUS_", NULL};

PetscErrorCode MuonMatIsFinite_Private(Mat A, PetscBool *finite)
{
  const PetscScalar *a;
  PetscInt           m, n, lda;
  PetscMPIInt        size;
  int                all;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatDenseGetLDA(A, &lda));
  PetscCall(MatDenseGetArrayRead(A, &a));
  all = MuonKernelIsFinite((size_t)m, (size_t)n, a, (size_t)lda) != 0 ? 1 : 0;
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  *finite = all != 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Datatypes find the strides, so that nothing is packed */
PetscErrorCode MuonMatMoveRows_Private(Mat A, PetscInt n, PetscScalar *a, PetscInt lda, PetscScalar *X, PetscBool gather)
{
  const MPI_Comm  comm = PetscObjectComm((PetscObject)A);
  const PetscInt *ranges;
  PetscInt        m;
  PetscMPIInt     size, rank, columns, rows, stride, tag, count = 0;
  MPI_Datatype    type;
  MPI_Request    *requests;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscCommGetNewTag(comm, &tag));
  PetscCall(MatGetSize(A, &m, NULL));
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  PetscCall(PetscMPIIntCast(n, &columns));
  PetscCall(PetscMalloc1(size + 1, &requests));
  if (ranges[rank + 1] > ranges[rank]) {
    PetscCall(PetscMPIIntCast(ranges[rank + 1] - ranges[rank], &rows));
    PetscCall(PetscMPIIntCast(lda, &stride));
    PetscCallMPI(MPI_Type_vector(columns, rows, stride, MPIU_SCALAR, &type));
    PetscCallMPI(MPI_Type_commit(&type));
    if (gather == PETSC_TRUE) PetscCallMPI(MPI_Isend(a, 1, type, 0, tag, comm, &requests[count++]));
    else PetscCallMPI(MPI_Irecv(a, 1, type, 0, tag, comm, &requests[count++]));
    PetscCallMPI(MPI_Type_free(&type));
  }
  for (PetscMPIInt r = 0; r < size && X != NULL; r++) {
    if (ranges[r + 1] == ranges[r]) continue;
    PetscCall(PetscMPIIntCast(ranges[r + 1] - ranges[r], &rows));
    PetscCall(PetscMPIIntCast(m, &stride));
    PetscCallMPI(MPI_Type_vector(columns, rows, stride, MPIU_SCALAR, &type));
    PetscCallMPI(MPI_Type_commit(&type));
    if (gather == PETSC_TRUE) PetscCallMPI(MPI_Irecv(X + ranges[r], 1, type, r, tag, comm, &requests[count++]));
    else PetscCallMPI(MPI_Isend(X + ranges[r], 1, type, r, tag, comm, &requests[count++]));
    PetscCallMPI(MPI_Type_free(&type));
  }
  PetscCallMPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree(requests));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHash_Private(size_t bytes, const void *data, unsigned int *hash)
{
  const unsigned char *byte = (const unsigned char *)data;

  PetscFunctionBegin;
  *hash = 2166136261u;
  for (size_t i = 0; i < bytes; i++) *hash = (*hash ^ byte[i]) * 16777619u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonNameHash_Private(const char name[], unsigned int *hash)
{
  size_t length;

  PetscFunctionBegin;
  PetscCall(PetscStrlen(name, &length));
  PetscCall(MuonHash_Private(length, name, hash));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExponentWrite_Private(PetscReal p, size_t length, char text[])
{
  PetscFunctionBegin;
  if (p >= PETSC_INFINITY) PetscCall(PetscStrncpy(text, "inf", length));
  else PetscCall(PetscSNPrintf(text, length, "%.12g", (double)p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscOptionsReal() of newer releases refuses inf before anybody sees it */
PetscErrorCode MuonExponentRead_Private(const char text[], PetscReal *p)
{
  const char *const names[] = {"inf", "+inf", "infinity", "PETSC_INFINITY"};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(names); i++) {
    PetscBool same;

    PetscCall(PetscStrcasecmp(text, names[i], &same));
    if (same == PETSC_FALSE) continue;
    *p = PETSC_INFINITY;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscOptionsStringToReal(text, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
