#include <petscmuon/private/petscmuonimpl.h>

PetscErrorCode MuonMemoryAllocate(MuonMemory memory, size_t bytes, void **data)
{
  PetscFunctionBegin;
  if (memory == MUON_HOST) PetscCall(PetscMalloc(bytes, data));
  else {
    *data = MuonDeviceGet()->allocate(bytes);
    PetscCheck(*data != NULL || bytes == 0, PETSC_COMM_SELF, PETSC_ERR_MEM, "The device has no room for %zu bytes more", bytes);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonMemoryFree(MuonMemory memory, void *data)
{
  PetscFunctionBegin;
  if (memory == MUON_HOST) PetscCall(PetscFree(data));
  else if (data != NULL) MuonDeviceGet()->release(data);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGetArray(MuonWorkspace work, const MuonArray *like, MuonPrecision precision, MuonArray *array)
{
  PetscFunctionBegin;
  *array = MuonArrayLike(like, precision, NULL);
  PetscCall(MuonWorkspaceGetIn(work, like->memory, MuonArrayBytes(array), &array->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonArrayCreate(const MuonArray *like, MuonPrecision precision, MuonArray *array)
{
  PetscFunctionBegin;
  *array = MuonArrayLike(like, precision, NULL);
  PetscCall(MuonMemoryAllocate(like->memory, PetscMax(MuonArrayBytes(array), 1), &array->data));
  PetscCall(MuonArrayZero(array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonArrayDestroy(MuonArray *array)
{
  PetscFunctionBegin;
  PetscCall(MuonMemoryFree(array->memory, array->data));
  array->data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonArrayZero(const MuonArray *array)
{
  const PetscBool flat = array->ld == array->len || array->count < 2 ? PETSC_TRUE : PETSC_FALSE;
  const size_t    size = MuonArrayEntryBytes(array), bytes = flat ? MuonArrayBytes(array) : array->len * size;

  PetscFunctionBegin;
  for (size_t j = 0; j < (flat ? 1 : array->count) && bytes > 0; j++) {
    char *line = (char *)array->data + j * array->ld * size;

    if (array->memory == MUON_HOST) PetscCall(PetscMemzero(line, bytes));
    else MuonDeviceGet()->zero(bytes, line);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In scratch memory where there is a workspace */
static PetscErrorCode MuonArrayToHost_Private(MuonWorkspace work, const MuonArray *array, PetscBool read, MuonArray *host)
{
  PetscFunctionBegin;
  *host        = *array;
  host->memory = MUON_HOST;
  if (array->memory == MUON_HOST || array->data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  host->ld = array->len;
  if (work != NULL) PetscCall(MuonWorkspaceGetPinned(work, array->memory, PetscMax(MuonArrayBytes(host), 1), &host->data));
  else PetscCall(MuonMemoryAllocate(MUON_HOST, PetscMax(MuonArrayBytes(host), 1), &host->data));
  if (read) MuonArrayKernels(array)->Residual(array->len, array->count, array->data, array->ld, NULL, 0, 0, MuonArrayEntries(array), host->data);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonArrayOnHost(const MuonArray *array, PetscBool read, MuonArray *host)
{
  PetscFunctionBegin;
  if (MuonArrayIsPacked(array) && array->data != NULL) {
    PetscCall(MuonArrayCreate(array, MUON_SINGLE, host));
    if (read) MuonPackedGet(array, 0, 0, host);
  } else PetscCall(MuonArrayToHost_Private(NULL, array, read, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonArrayOffHost(const MuonArray *array, PetscBool write, MuonArray *host)
{
  PetscFunctionBegin;
  if ((array->memory == MUON_HOST && MuonArrayIsPacked(array) == 0) || array->data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (write && MuonArrayIsPacked(array)) (void)MuonPackedSet(NULL, host, 0, 0, array);
  else if (write) PetscCall(MuonArrayPutPinned(array, host));
  PetscCall(MuonArrayDestroy(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonArrayGetPinned(MuonWorkspace work, const MuonArray *array, PetscBool read, MuonArray *host)
{
  PetscFunctionBegin;
  PetscCall(MuonArrayToHost_Private(work, array, read, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonArrayPutPinned(const MuonArray *array, const MuonArray *host)
{
  PetscFunctionBegin;
  if (array->memory != MUON_HOST && array->data != NULL) MuonArrayKernels(array)->Spread(array->len, array->count, 0, MuonArrayEntries(array), host->data, 0, 1, array->data, array->ld);
  PetscFunctionReturn(PETSC_SUCCESS);
}

MuonArray MuonArrayOfReals(PetscInt m, PetscInt n, const PetscReal *data, PetscInt ld)
{
  MuonArray array;

  array.data      = (void *)data;
  array.len       = (size_t)m;
  array.count     = (size_t)n;
  array.ld        = (size_t)PetscMax(ld, m);
  array.precision = MUON_PETSCSCALAR;
  array.memory    = MUON_HOST;
  array.rowmajor  = 0;
  array.pairs     = 0;
  return array;
}

MuonArray MuonArrayOfScalars(PetscInt m, PetscInt n, const PetscScalar *data, PetscInt ld)
{
  const int pairs = PetscDefined(USE_COMPLEX) ? 1 : 0;
  MuonArray array = MuonArrayOfReals(m << pairs, n, (const PetscReal *)data, ld << pairs);

  array.pairs = pairs;
  return array;
}

MuonMatrix MuonMatrixOfArray(const MuonArray *array)
{
  MuonMatrix matrix;

  matrix.here    = *array;
  matrix.comm    = MPI_COMM_SELF;
  matrix.rank    = 0;
  matrix.size    = 1;
  matrix.rows    = (PetscInt)MuonArrayRows(array);
  matrix.columns = (PetscInt)MuonArrayColumns(array);
  matrix.first   = 0;
  matrix.ranges  = NULL;
  return matrix;
}

PetscErrorCode MuonMatGetMatrix(Mat A, PetscBool write, MuonMatrix *matrix)
{
  PetscInt           rows, columns, ld;
  const PetscScalar *read;
  PetscScalar       *data;
  MuonArray          here;
  PetscMemType       memtype;
  PetscMPIInt        size;
  Mat                local = A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  PetscCall(MatGetSize(A, NULL, &columns));
  PetscCall(MatDenseGetLDA(A, &ld));
  /* A debugging PETSc reads a parallel matrix collectively, hence the local one */
  if (write) PetscCall(MatDenseGetArrayAndMemType(A, &data, &memtype));
  else {
    if (size > 1) PetscCall(MatDenseGetLocalMatrix(A, &local));
    PetscCall(MatDenseGetArrayReadAndMemType(local, &read, &memtype));
    data = (PetscScalar *)read;
  }
  here        = MuonArrayOfScalars(rows, columns, data, ld);
  here.memory = PetscMemTypeDevice(memtype) ? MUON_DEVICE : MUON_HOST;
  *matrix     = MuonMatrixOfArray(&here);
  if (size > 1) {
    matrix->comm = PetscObjectComm((PetscObject)A);
    matrix->size = size;
    PetscCallMPI(MPI_Comm_rank(matrix->comm, &matrix->rank));
    PetscCall(MatGetSize(A, &matrix->rows, NULL));
    PetscCall(MatGetOwnershipRanges(A, &matrix->ranges));
    matrix->first = matrix->ranges[matrix->rank];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonMatRestoreMatrix(Mat A, PetscBool write, MuonMatrix *matrix)
{
  PetscScalar       *data  = (PetscScalar *)matrix->here.data;
  const PetscScalar *read  = data;
  Mat                local = A;
  PetscMPIInt        size;

  PetscFunctionBegin;
  if (write && matrix->here.memory == MUON_DEVICE) PetscCall(PetscObjectStateIncrease((PetscObject)A)); /* not every release does */
  if (write) PetscCall(MatDenseRestoreArrayAndMemType(A, &data));
  else {
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
    if (size > 1) PetscCall(MatDenseGetLocalMatrix(A, &local));
    PetscCall(MatDenseRestoreArrayReadAndMemType(local, &read));
  }
  matrix->here.data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of a row, each a line of its own, whichever way they lie */
static MuonArray MuonArrayRow(const MuonArray *A, size_t i)
{
  MuonArray row = MuonArrayPart(A, i, 0, 1, MuonArrayColumns(A));

  if (row.rowmajor) {
    row.count = row.len;
    row.len   = 1;
    row.ld    = 1;
  }
  return row;
}

void MuonArrayCopyMatrix(const MuonArray *from, const MuonArray *to)
{
  if (!from->rowmajor == !to->rowmajor) MuonArrayAxpby(1, from, 0, to);
  else {
    for (size_t i = 0; i < MuonArrayRows(from); i++) {
      const MuonArray one = MuonArrayRow(from, i), other = MuonArrayRow(to, i);

      MuonArrayAxpby(1, &one, 0, &other);
    }
  }
}

PetscErrorCode MuonMatCopyArray(const MuonArray *array, Mat A)
{
  const PetscInt m = (PetscInt)MuonArrayRows(array), n = (PetscInt)MuonArrayColumns(array);
  PetscInt       rows, columns;
  PetscBool      seqdense;
  MuonMatrix     matrix;
  MuonArray      host;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQDENSE, &seqdense));
  PetscCheck(seqdense, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Matrix of type %s for a copy, expected %s", ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "not set", MATSEQDENSE);
  PetscCall(MatGetSize(A, &rows, &columns));
  PetscCheck(rows == m && columns == n, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_SIZ, "Matrix of %" PetscInt_FMT " x %" PetscInt_FMT " entries for a copy, expected %" PetscInt_FMT " x %" PetscInt_FMT, rows, columns, m, n);
  PetscCall(MuonMatGetMatrix(A, PETSC_TRUE, &matrix));
  PetscCall(MuonArrayOnHost(array, PETSC_TRUE, &host));
  MuonArrayCopyMatrix(&host, &matrix.here);
  PetscCall(MuonArrayOffHost(array, PETSC_FALSE, &host));
  PetscCall(MuonMatRestoreMatrix(A, PETSC_TRUE, &matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonStateName(const MuonStateVisitor *visitor, const char name[], char full[MUON_STATE_NAME])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(full, MUON_STATE_NAME, "%s%s", visitor->prefix != NULL ? visitor->prefix : "", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonStateVisitArray(MuonStateVisitor *visitor, const char name[], PetscBool entrywise, PetscBool scratch, MuonArray *array)
{
  MuonArray there = *array;
  char      full[MUON_STATE_NAME];
  MuonState state = {visitor->layer, full, visitor->holder, entrywise, scratch, array, MuonArrayBytes(array), array->data};

  PetscFunctionBegin;
  if (!array->data) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonStateName(visitor, name, full));
  /* The array itself becomes the copy for a while: a visitor may know it by its address */
  if (visitor->onhost) PetscCall(MuonArrayOnHost(&there, PETSC_TRUE, array));
  state.data  = array->data;
  state.bytes = MuonArrayBytes(array);
  PetscCall((*visitor->visit)(visitor, &state));
  if (visitor->onhost && (there.memory != MUON_HOST || MuonArrayIsPacked(&there))) {
    if (array->data) PetscCall(MuonArrayOffHost(&there, PETSC_TRUE, array));
    else PetscCall(MuonArrayDestroy(&there));
    *array = there;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonStateVisitBytes(MuonStateVisitor *visitor, const char name[], size_t bytes, void *data)
{
  char            full[MUON_STATE_NAME];
  const MuonState state = {visitor->layer, full, visitor->holder, PETSC_FALSE, PETSC_FALSE, NULL, bytes, data};

  PetscFunctionBegin;
  PetscCall(MuonStateName(visitor, name, full));
  PetscCall((*visitor->visit)(visitor, &state));
  PetscFunctionReturn(PETSC_SUCCESS);
}
