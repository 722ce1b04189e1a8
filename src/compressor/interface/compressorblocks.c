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
  c->nparts = 0;
  PetscCall(MuonBlocksSet_Private(&c->blocks, nrows, rows, ncolumns, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorGetGrid_Private(MuonCompressor c, const MuonArray *shape, const MuonBlocks **grid)
{
  static const MuonBlocks whole = {1, 1, NULL, NULL};
  const char             *side;
  char                    reason[512];

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  *grid = c->assignment ? &whole : &c->blocks;
  PetscCall(MuonBlocksCheck_Private((*grid)->nrows, (*grid)->rows, (PetscInt)MuonArrayRows(shape), (*grid)->ncolumns, (*grid)->columns, (PetscInt)MuonArrayColumns(shape), &side, sizeof(reason), reason));
  MuonCompressorCheck(c, reason[0] == '\0', PETSC_ERR_ARG_SIZ, "", "%s", reason);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The layout of the largest message of a block, and how long a message may be */
static PetscErrorCode MuonCompressorLayOut_Private(MuonCompressor c, const MuonArray *shape, MuonCompressorPart *part)
{
  const MuonArray       array  = MuonCompressorBlock_Private(shape, &part->block);
  MuonCompressorLayout *layout = &part->layout, fewer;

  PetscFunctionBegin;
  layout->rows    = (uint64_t)array.count;
  layout->columns = (uint64_t)array.len;
  PetscUseTypeMethod(c, layout, &array, layout);
  MuonCompressorCheck(c, layout->header.values != MUON_WIRE_VALUES_TWOBIT || layout->header.kind == MUON_WIRE_SPARSE, PETSC_ERR_SUP, "_values", "2bit, expected the type %s for it, not %s", MUONCOMPRESSORTOPK, ((PetscObject)c)->type_name);
  PetscCall(MuonCompressorSetCount(c, layout, layout->header.count));
  /*
     A block of four random numbers has 32 bits for its place; low-rank factors have up to twice as many
     entries as their product
  */
  MuonCompressorCheck(c, layout->header.values != MUON_WIRE_VALUES_NATURAL || layout->rows * layout->columns <= (uint64_t)1 << 33, PETSC_ERR_SUP, "", "a layer of %zu vectors of %zu, expected at most 2^33 entries with natural values",
                      (size_t)layout->rows, (size_t)layout->columns);
  part->bytes = MuonWireMessageBytes(&layout->header);
  /* A message that leaves out one row or column may be longer, by the positions of the others */
  fewer = *layout;
  if (!layout->exact && layout->header.count > 0 && MuonCompressorTryCount_Private(&fewer, layout->header.count - 1)) part->bytes = PetscMax(part->bytes, MuonWireMessageBytes(&fewer.header));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorGetParts_Private(MuonCompressor c, const MuonArray *shape, PetscInt *count)
{
  const MuonArray *const of    = &c->partsof;
  const char *const      layer = c->layer != NULL ? c->layer : "";
  const MuonBlocks      *grid;
  PetscObjectState       state;
  char                  *name;
  size_t                 length;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  PetscCall(PetscObjectStateGet((PetscObject)c, &state));
  *count = c->nparts;
  if (c->nparts > 0 && c->partsstate == state && of->len == shape->len && of->count == shape->count && of->precision == shape->precision && of->rowmajor == shape->rowmajor && of->pairs == shape->pairs) PetscFunctionReturn(PETSC_SUCCESS);
  c->nparts = 0;
  PetscCall(MuonCompressorGetGrid_Private(c, shape, &grid));
  *count = MuonBlocksCount_Private(grid);
  PetscCall(PetscFree(c->part));
  PetscCall(PetscCalloc1(*count, &c->part));
  PetscCall(PetscStrlen(layer, &length));
  PetscCall(PetscMalloc1(length + 32, &name));
  for (PetscInt b = 0; b < *count; b++) {
    PetscCall(MuonBlocksGet_Private(grid, b, (PetscInt)MuonArrayRows(shape), (PetscInt)MuonArrayColumns(shape), &c->part[b].block));
    PetscCall(MuonBlockName_Private(layer, b, length + 32, name));
    PetscCall(MuonNameHash_Private(name, &c->part[b].hash));
  }
  PetscCall(PetscFree(name));
  for (PetscInt b = 0; b < *count; b++) PetscCall(MuonCompressorLayOut_Private(c, shape, &c->part[b]));
  c->partsof    = *shape;
  c->partsstate = state;
  c->nparts     = *count;
  PetscFunctionReturn(PETSC_SUCCESS);
}
