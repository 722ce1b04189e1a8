#include <petscmuon/private/petscmuonimpl.h>

/* The sizes of the parts of one side, then where they begin; NULL where all are equal */
static PetscErrorCode MuonBlocksCopySide_Private(PetscInt count, const PetscInt sizes[], PetscInt **side)
{
  PetscFunctionBegin;
  *side = NULL;
  if (sizes == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(2 * count + 1, side));
  PetscCall(PetscArraycpy(*side, sizes, count));
  (*side)[count] = 0;
  for (PetscInt i = 0; i < count; i++) (*side)[count + 1 + i] = (*side)[count + i] + sizes[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonBlocksSet_Private(MuonBlocks *blocks, PetscInt nrows, const PetscInt rows[], PetscInt ncolumns, const PetscInt columns[])
{
  PetscInt *newrows, *newcolumns;

  PetscFunctionBegin;
  PetscCall(MuonBlocksCopySide_Private(nrows, rows, &newrows));
  PetscCall(MuonBlocksCopySide_Private(ncolumns, columns, &newcolumns));
  PetscCall(MuonBlocksDestroy_Private(blocks));
  blocks->nrows    = nrows;
  blocks->ncolumns = ncolumns;
  blocks->rows     = newrows;
  blocks->columns  = newcolumns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonBlocksDestroy_Private(MuonBlocks *blocks)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(blocks->rows));
  PetscCall(PetscFree(blocks->columns));
  blocks->nrows    = 1;
  blocks->ncolumns = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonBlocksPrintSide_Private(PetscInt count, const PetscInt sizes[], PetscInt whole, size_t length, char text[])
{
  size_t used = 0;

  PetscFunctionBegin;
  text[0] = '\0';
  for (PetscInt i = 0; i < count && used + 40 < length; i++) {
    PetscCall(PetscSNPrintf(text + used, length - used, "%s%" PetscInt_FMT, i > 0 ? "," : "", sizes != NULL ? sizes[i] : whole / count));
    PetscCall(PetscStrlen(text, &used));
    if (i + 1 < count && used + 40 >= length) PetscCall(PetscStrlcat(text, ",...", length));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonBlocksCheckSide_Private(PetscInt count, const PetscInt sizes[], PetscInt whole, const char lines[], size_t length, char reason[])
{
  char       text[256];
  PetscInt64 sum = 0;

  PetscFunctionBegin;
  reason[0] = '\0';
  if (count < 1) PetscCall(PetscSNPrintf(reason, length, "%" PetscInt_FMT " blocks of %s, expected at least 1", count, lines));
  else if (sizes == NULL) {
    if (whole >= 0 && whole % count != 0) PetscCall(PetscSNPrintf(reason, length, "%" PetscInt_FMT " equal blocks of the %" PetscInt_FMT " %s, expected a divisor of that number", count, whole, lines));
  } else {
    PetscCall(MuonBlocksPrintSide_Private(count, sizes, whole, sizeof(text), text));
    for (PetscInt i = 0; i < count && reason[0] == '\0'; i++) {
      /* Where a block begins is a PetscInt */
      if (sizes[i] < 1) PetscCall(PetscSNPrintf(reason, length, "%s has a block of %" PetscInt_FMT " %s, expected at least 1", text, sizes[i], lines));
      else if (sizes[i] > PETSC_MAX_INT - sum) PetscCall(PetscSNPrintf(reason, length, "%s has a sum above %" PetscInt_FMT ", expected a number of %s", text, PETSC_MAX_INT, lines));
      sum += sizes[i];
    }
    if (whole >= 0 && sum != (PetscInt64)whole && reason[0] == '\0') PetscCall(PetscSNPrintf(reason, length, "%s has the sum %" PetscInt64_FMT ", expected the number of %s, %" PetscInt_FMT, text, sum, lines, whole));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonBlocksCheck_Private(PetscInt nrows, const PetscInt rows[], PetscInt m, PetscInt ncolumns, const PetscInt columns[], PetscInt n, const char **side, size_t length, char reason[])
{
  PetscFunctionBegin;
  *side = "rows";
  PetscCall(MuonBlocksCheckSide_Private(nrows, rows, m, *side, length, reason));
  if (reason[0] != '\0') PetscFunctionReturn(PETSC_SUCCESS);
  *side = "columns";
  PetscCall(MuonBlocksCheckSide_Private(ncolumns, columns, n, *side, length, reason));
  if (reason[0] != '\0' || (PetscInt64)nrows * ncolumns <= PETSC_MPI_INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  if (nrows > ncolumns) *side = "rows";
  PetscCall(PetscSNPrintf(reason, length, "%" PetscInt_FMT " x %" PetscInt_FMT " blocks, expected at most %d", nrows, ncolumns, PETSC_MPI_INT_MAX));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonBlocksGet_Private(const MuonBlocks *blocks, PetscInt b, PetscInt m, PetscInt n, MuonBlock *block)
{
  const PetscInt i = b / blocks->ncolumns, j = b % blocks->ncolumns;

  PetscFunctionBegin;
  block->m      = blocks->rows != NULL ? blocks->rows[i] : m / blocks->nrows;
  block->n      = blocks->columns != NULL ? blocks->columns[j] : n / blocks->ncolumns;
  block->row    = blocks->rows != NULL ? blocks->rows[blocks->nrows + i] : i * block->m;
  block->column = blocks->columns != NULL ? blocks->columns[blocks->ncolumns + j] : j * block->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonBlockName_Private(const char layer[], PetscInt b, size_t length, char name[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, length, "%s[%" PetscInt_FMT "]", layer, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
