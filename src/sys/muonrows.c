#include <petscmuon/private/petscmuonimpl.h>

/*
   Matrices whose rows are spread over the ranks of a communicator, in ranges that all ranks know: sums of
   whole matrices of which every rank gets its own rows, and the whole matrix of all rows at every rank. With a root
   of 0 or more one rank has all rows: ranges are of one part, and what is no row of the root's is not looked at.
*/

/*
   Packs and unpacks the rows of each rank, one rank after the other, without gaps. A row-major array without gaps is packed
   already, and so is any array of one part
*/
static PetscBool MuonRowsArePacked(PetscMPIInt root, const MuonArray *whole)
{
  return (whole->rowmajor || root >= 0) && (whole->ld == whole->len || whole->count < 2) ? PETSC_TRUE : PETSC_FALSE;
}

/* The reals of a row */
static size_t MuonRowEntries(const MuonArray *whole)
{
  return MuonArrayColumns(whole) << whole->pairs;
}

/* Those of rank inplace lie in the array already; -1 for none */
static void MuonRowsPack(PetscMPIInt size, const PetscInt ranges[], double scale, const MuonArray *whole, PetscMPIInt inplace, void *packed, PetscBool pack)
{
  const size_t columns = MuonArrayColumns(whole);

  for (PetscMPIInt r = 0; r < size; r++) {
    const MuonArray part = MuonArrayPart(whole, (size_t)ranges[r], 0, (size_t)(ranges[r + 1] - ranges[r]), columns);
    const MuonArray row  = MuonArrayLike(&part, part.precision, (char *)packed + (size_t)ranges[r] * MuonRowEntries(whole) * MuonArrayEntryBytes(whole));

    if (pack) MuonArrayAxpby(scale, &part, 0, &row);
    else if (r != inplace) MuonArrayAxpby(1, &row, 0, &part);
  }
}

PetscErrorCode MuonRowsSumStart(MPI_Comm comm, PetscMPIInt root, const PetscInt ranges[], double scale, const MuonArray *whole, const MuonArray *packed, const MuonArray *rows, PetscMPIInt counts[], PetscLogDouble *bytes, MPI_Request *request)
{
  const MPI_Datatype type = whole->precision == MUON_SINGLE ? MPI_FLOAT : MPI_DOUBLE;
  const void        *send = whole->data;
  PetscMPIInt        size = 1;

  PetscFunctionBegin;
  if (root < 0) PetscCallMPI(MPI_Comm_size(comm, &size));
  for (PetscMPIInt r = 0; r < size; r++) {
    const PetscInt64 count = (PetscInt64)(ranges[r + 1] - ranges[r]) * (PetscInt64)MuonRowEntries(whole);

    PetscCheck(count <= PETSC_MPI_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscInt64_FMT " entries in the rows of rank %d are more than MPI sums in one call, expected at most %d", count, r, PETSC_MPI_INT_MAX);
    counts[r] = (PetscMPIInt)count;
  }
  if (!MuonRowsArePacked(root, whole) || scale != 1) {
    MuonRowsPack(size, ranges, scale, whole, -1, packed->data, PETSC_TRUE);
    send = packed->data;
  }
  *bytes += (PetscLogDouble)MuonArrayBytes(whole);
  MuonLogTraffic(1, (PetscLogDouble)MuonArrayBytes(whole), 1);
  if (root >= 0) PetscCallMPI(MPI_Ireduce(send, rows->data, counts[0], type, MPI_SUM, root, comm, request));
  else PetscCallMPI(MPI_Ireduce_scatter(send, rows->data, counts, type, MPI_SUM, comm, request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonRowsGatherHost_Private(MPI_Comm comm, PetscMPIInt root, const PetscInt ranges[], const MuonArray *rows, const MuonArray *whole, const MuonArray *packed, PetscLogDouble *bytes)
{
  const PetscBool inplace = MuonRowsArePacked(root, whole);
  void *const     data    = inplace ? whole->data : packed->data;
  MuonArray       own     = MuonArrayLike(rows, rows->precision, NULL), part;
  PetscMPIInt     size    = 1, rank, *counts;
  PetscBool       sends;
  MPI_Datatype    row;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  sends = root < 0 || rank == root ? PETSC_TRUE : PETSC_FALSE;
  if (root < 0) PetscCallMPI(MPI_Comm_size(comm, &size));
  else rank = 0;
  PetscCall(PetscMalloc1(2 * (size_t)size, &counts));
  for (PetscMPIInt r = 0; r < size; r++) {
    PetscCall(PetscMPIIntCast(ranges[r + 1] - ranges[r], &counts[r]));
    PetscCall(PetscMPIIntCast(ranges[r], &counts[size + r]));
  }
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)(MuonRowEntries(whole) * MuonArrayEntryBytes(whole)), MPI_BYTE, &row));
  PetscCallMPI(MPI_Type_commit(&row));
  own.data = (char *)data + (size_t)ranges[rank] * MuonRowEntries(whole) * MuonArrayEntryBytes(whole);
  if (own.data != rows->data) MuonArrayAxpby(1, rows, 0, &own);
  if (sends) *bytes += (PetscLogDouble)MuonArrayBytes(&own);
  MuonLogTraffic(sends ? 1 : 0, sends ? (PetscLogDouble)MuonArrayBytes(&own) : 0, 1);
  if (root >= 0) PetscCallMPI(MPI_Bcast(data, counts[0], row, root, comm));
  else PetscCallMPI(MPI_Allgatherv(MPI_IN_PLACE, counts[rank], row, data, counts, counts + size, row, comm));
  PetscCallMPI(MPI_Type_free(&row));
  PetscCall(PetscFree(counts));
  part = MuonArrayPart(whole, (size_t)ranges[rank], 0, (size_t)(ranges[rank + 1] - ranges[rank]), MuonArrayColumns(whole));
  if (!inplace) MuonRowsPack(size, ranges, 1, whole, sends && rows->data == part.data ? rank : -1, data, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRowsGather(MPI_Comm comm, PetscMPIInt root, const PetscInt ranges[], const MuonArray *rows, const MuonArray *whole, const MuonArray *packed, PetscLogDouble *bytes)
{
  MuonArray r, w, p;

  PetscFunctionBegin;
  PetscCall(MuonArrayOnHost(rows, PETSC_TRUE, &r));
  PetscCall(MuonArrayOnHost(whole, PETSC_FALSE, &w));
  PetscCall(MuonArrayOnHost(packed, PETSC_FALSE, &p));
  PetscCall(MuonRowsGatherHost_Private(comm, root, ranges, &r, &w, &p, bytes));
  PetscCall(MuonArrayOffHost(packed, PETSC_FALSE, &p));
  PetscCall(MuonArrayOffHost(whole, PETSC_TRUE, &w));
  PetscCall(MuonArrayOffHost(rows, PETSC_FALSE, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
