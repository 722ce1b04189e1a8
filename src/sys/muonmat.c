#include <petscmuon/private/petscmuonimpl.h>

PetscErrorCode MuonCheckMat_Private(PetscObject object, Mat A)
{
  const char *prefix = object->prefix != NULL ? object->prefix : "";
  PetscBool   dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCheck(dense, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "%s with options prefix \"%s\": matrix of type %s, expected %s or %s", object->class_name, prefix, ((PetscObject)A)->type_name, MATSEQDENSE, MATMPIDENSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckMats_Private(PetscObject object, Mat A, Mat B)
{
  const char     *prefix = object->prefix != NULL ? object->prefix : "";
  const PetscInt *a, *b, *c, *d;
  PetscInt        m, n, p, q;
  MPI_Comm        comm;
  PetscMPIInt     same, size;
  PetscBool       kind;

  PetscFunctionBegin;
  PetscCall(MuonCheckMat_Private(object, A));
  PetscCall(MuonCheckMat_Private(object, B));
  comm = PetscObjectComm((PetscObject)A);
  PetscCheck(A != B, comm, PETSC_ERR_ARG_IDN, "%s with options prefix \"%s\": input and output are the same matrix, expected two", object->class_name, prefix);
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, ((PetscObject)B)->type_name, &kind));
  PetscCheck(kind, comm, PETSC_ERR_ARG_NOTSAMETYPE, "%s with options prefix \"%s\": the output is a matrix of type %s, expected the input's %s", object->class_name, prefix, ((PetscObject)B)->type_name, ((PetscObject)A)->type_name);
  PetscCallMPI(MPI_Comm_compare(comm, PetscObjectComm((PetscObject)B), &same));
  PetscCheck(same == MPI_IDENT || same == MPI_CONGRUENT, comm, PETSC_ERR_ARG_NOTSAMECOMM, "%s with options prefix \"%s\": the output is on another communicator, expected the input's", object->class_name, prefix);
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetSize(B, &p, &q));
  PetscCheck(m == p && n == q, comm, PETSC_ERR_ARG_SIZ, "%s with options prefix \"%s\": the output is %" PetscInt_FMT " x %" PetscInt_FMT ", expected the input's %" PetscInt_FMT " x %" PetscInt_FMT, object->class_name, prefix, p, q, m, n);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetOwnershipRanges(A, &a));
  PetscCall(MatGetOwnershipRanges(B, &b));
  PetscCall(MatGetOwnershipRangesColumn(A, &c));
  PetscCall(MatGetOwnershipRangesColumn(B, &d));
  /* Every rank knows all ranges, so that all raise this together */
  for (PetscMPIInt r = 0; r < size; r++) {
    PetscCheck(a[r] == b[r] && a[r + 1] == b[r + 1], comm, PETSC_ERR_ARG_INCOMP,
               "%s with options prefix \"%s\": rank %d has rows %" PetscInt_FMT " to %" PetscInt_FMT " of the output (%" PetscInt_FMT " x %" PetscInt_FMT "), expected the input's %" PetscInt_FMT " to %" PetscInt_FMT, object->class_name, prefix, r,
               b[r], b[r + 1], m, n, a[r], a[r + 1]);
    PetscCheck(c[r + 1] == d[r + 1], comm, PETSC_ERR_ARG_INCOMP, "%s with options prefix \"%s\": the vectors that the output multiplies have %" PetscInt_FMT " entries on rank %d, expected the input's %" PetscInt_FMT, object->class_name, prefix,
               d[r + 1] - d[r], r, c[r + 1] - c[r]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Datatypes find the strides, so that nothing is packed */
static PetscErrorCode MuonArrayType_Private(const MuonArray *array, MPI_Datatype *type)
{
  PetscMPIInt lines, entries, stride;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast((PetscInt)array->count, &lines));
  PetscCall(PetscMPIIntCast((PetscInt)array->len, &entries));
  PetscCall(PetscMPIIntCast((PetscInt)array->ld, &stride));
  PetscCallMPI(MPI_Type_vector(lines, entries, stride, array->precision == MUON_SINGLE ? MPI_FLOAT : MPI_DOUBLE, type));
  PetscCallMPI(MPI_Type_commit(type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonMatrixMoveRows(const MuonMatrix *A, const MuonArray *part, const MuonArray *whole, PetscBool gather)
{
  MPI_Comm     comm;
  PetscMPIInt  tag, count = 0;
  MPI_Datatype type;
  MPI_Request *requests;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(A->comm, &comm, &tag));
  PetscCall(PetscMalloc1(A->size + 1, &requests));
  if (A->ranges[A->rank + 1] > A->ranges[A->rank]) {
    PetscCall(MuonArrayType_Private(part, &type));
    if (gather) PetscCallMPI(MPI_Isend(part->data, 1, type, 0, tag, comm, &requests[count++]));
    else PetscCallMPI(MPI_Irecv(part->data, 1, type, 0, tag, comm, &requests[count++]));
    PetscCallMPI(MPI_Type_free(&type));
  }
  for (PetscMPIInt r = 0; r < A->size && A->rank == 0; r++) {
    const size_t    first = (size_t)A->ranges[r], rows = (size_t)A->ranges[r + 1] - first;
    const MuonArray block = MuonArrayPart(whole, first, 0, rows, MuonArrayColumns(whole));

    if (rows == 0) continue;
    PetscCall(MuonArrayType_Private(&block, &type));
    if (gather) PetscCallMPI(MPI_Irecv(block.data, 1, type, r, tag, comm, &requests[count++]));
    else PetscCallMPI(MPI_Isend(block.data, 1, type, r, tag, comm, &requests[count++]));
    PetscCallMPI(MPI_Type_free(&type));
  }
  PetscCallMPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree(requests));
  PetscCall(PetscCommDestroy(&comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
