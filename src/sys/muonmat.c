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
  const char *prefix = object->prefix != NULL ? object->prefix : "", *wrong = NULL;
  PetscInt    m, n, p, q;
  PetscMPIInt same;
  PetscLayout a[2], b[2];
  PetscBool   type, rows, columns;
  char        shapes[128];

  PetscFunctionBegin;
  PetscCall(MuonCheckMat_Private(object, A));
  PetscCall(MuonCheckMat_Private(object, B));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetSize(B, &p, &q));
  PetscCall(PetscSNPrintf(shapes, sizeof(shapes), "%" PetscInt_FMT " x %" PetscInt_FMT " and %" PetscInt_FMT " x %" PetscInt_FMT, m, n, p, q));
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, ((PetscObject)B)->type_name, &type));
  PetscCallMPI(MPI_Comm_compare(PetscObjectComm((PetscObject)A), PetscObjectComm((PetscObject)B), &same));
  PetscCall(MatGetLayouts(A, &a[0], &a[1]));
  PetscCall(MatGetLayouts(B, &b[0], &b[1]));
  if (A == B) wrong = "same matrix";
  else if (!type) wrong = "types differ";
  else if (same != MPI_IDENT && same != MPI_CONGRUENT) wrong = "communicators differ";
  else if (m != p || n != q) wrong = "shapes differ";
  else {
    /* Every rank knows all ranges, so that all raise this together */
    PetscCall(PetscLayoutCompare(a[0], b[0], &rows));
    PetscCall(PetscLayoutCompare(a[1], b[1], &columns));
    if (!rows || !columns) wrong = rows ? "columns are spread differently over the ranks" : "rows are spread differently over the ranks";
  }
  PetscCheck(wrong == NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_INCOMP, "%s with options prefix \"%s\": input and output (%s): %s, expected two matrices of one type, shape and distribution", object->class_name, prefix, shapes, wrong);
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
