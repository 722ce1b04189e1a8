#include <petscmuon/private/muoncompressorimpl.h> /*I "petscmuoncompressor.h" I*/

/*@
   MuonCompressorSetBlocks - Cuts the matrices of a compressor into a grid of blocks that are compressed separately

   Logically Collective

   Input Parameters:
+  c        - the compressor
.  nrows    - number of blocks of rows
.  rows     - their sizes, with the number of rows of the layer as their sum; `NULL` for equal sizes
.  ncolumns - number of blocks of columns
-  columns  - their sizes, likewise

   Level: advanced

   Notes:
   The grid has nrows x ncolumns blocks. Block (i,j) has the number k = i ncolumns + j. 1 and 1 mean no blocks, as
   without this call.

   Ratio and rank apply to each block, and each has its own state. The message is a group of the blocks' messages
   (`src/wire/README.md`). A block has the messages and the random numbers of a layer whose name is that of
   `MuonCompressorSetStream()` followed by [k], as in qkv[2].

   The sizes are checked against the first matrix. Existing state is dropped.

   A compressor of type `MUONCOMPRESSORIDENTITY` sends its matrix in full, with blocks or without.

   `MuonLayerSetBlocks()` sets the blocks of a layer; a `Muon` passes them to the layer's compressors.

.seealso: `MuonCompressor`, `MuonLayerSetBlocks()`, `MuonCompressorSetStream()`
@*/
PetscErrorCode MuonCompressorSetBlocks(MuonCompressor c, PetscInt nrows, const PetscInt rows[], PetscInt ncolumns, const PetscInt columns[])
{
  const char *side;
  char        reason[512];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscCall(MuonBlocksCheck_Private(nrows, rows, -1, ncolumns, columns, -1, &side, sizeof(reason), reason));
  MuonCompressorCheck(c, reason[0] == '\0', PETSC_ERR_ARG_OUTOFRANGE, "", "%s", reason);
  PetscTryTypeMethod(c, reset);
  PetscCall(PetscFree(c->blockhashes));
  PetscCall(MuonBlocksSet_Private(&c->blocks, nrows, rows, ncolumns, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorCountBlocks_Private(MuonCompressor c, const MuonArray *shape, PetscInt *count)
{
  const char *side;
  char        reason[512];

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  *count = 1;
  if (c->assignment || MuonBlocksCount_Private(&c->blocks) == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonBlocksCheck_Private(c->blocks.nrows, c->blocks.rows, (PetscInt)MuonArrayRows(shape), c->blocks.ncolumns, c->blocks.columns, (PetscInt)MuonArrayColumns(shape), &side, sizeof(reason), reason));
  MuonCompressorCheck(c, reason[0] == '\0', PETSC_ERR_ARG_SIZ, "", "%s", reason);
  *count = MuonBlocksCount_Private(&c->blocks);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Once for all blocks: names and grid are set before the first message */
static PetscErrorCode MuonCompressorHashBlocks_Private(MuonCompressor c, PetscInt count)
{
  const char *const layer = c->layer != NULL ? c->layer : "";
  char             *name;
  size_t            length;

  PetscFunctionBegin;
  PetscCall(PetscStrlen(layer, &length));
  PetscCall(PetscMalloc1(length + 32, &name));
  PetscCall(PetscMalloc1(count, &c->blockhashes));
  for (PetscInt b = 0; b < count; b++) {
    PetscCall(MuonBlockName_Private(layer, b, length + 32, name));
    PetscCall(MuonNameHash_Private(name, &c->blockhashes[b]));
  }
  PetscCall(PetscFree(name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorBeginBlock_Private(MuonCompressor c, PetscInt count, PetscInt b, const MuonArray *shape, MuonBlock *block)
{
  const PetscInt m = (PetscInt)MuonArrayRows(shape), n = (PetscInt)MuonArrayColumns(shape);

  PetscFunctionBegin;
  block->row    = 0;
  block->column = 0;
  block->m      = m;
  block->n      = n;
  c->blockhash  = c->layerhash;
  c->block      = 0;
  if (count == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonBlocksGet_Private(&c->blocks, b, m, n, block));
  if (c->blockhashes == NULL) PetscCall(MuonCompressorHashBlocks_Private(c, count));
  c->blockhash = c->blockhashes[b];
  c->block     = b;
  PetscFunctionReturn(PETSC_SUCCESS);
}
