#include <petscmuon/private/muonlayerimpl.h> /*I "petscmuonlayer.h" I*/
#include <petscmuon/private/muonlmoimpl.h>

const char *const MuonTensorKinds[] = {"flatten", "batch", "MuonTensorKind", "MUON_TENSOR_", NULL};

static PetscBool MuonLayerSameSide_Private(PetscInt count, const PetscInt sizes[], PetscInt whole, PetscInt oldcount, const PetscInt old[])
{
  PetscBool same = count == oldcount ? PETSC_TRUE : PETSC_FALSE;

  for (PetscInt i = 0; i < count && same; i++) same = (sizes != NULL ? sizes[i] : whole / count) == (old != NULL ? old[i] : whole / count) ? PETSC_TRUE : PETSC_FALSE;
  return same;
}

/*@
  MuonLayerSetBlocks - Cuts a layer into a grid of blocks, each with its own norm, scale, polar factor and compressor

  Logically Collective

  Input Parameters:
+ layer    - the layer
. nrows    - number of blocks of rows
. rows     - their sizes, with the number of rows of the layer as their sum; `NULL` for equal sizes
. ncolumns - number of blocks of columns
- columns  - their sizes, likewise

  Options Database Keys:
+ -muon_layer_NAME_blocks_rows m1,m2,...    - sizes of the blocks of rows of the layer called NAME, one block by default
- -muon_layer_NAME_blocks_columns n1,n2,... - sizes of its blocks of columns, one block by default

  Level: intermediate

  Notes:
  The grid has nrows x ncolumns blocks. Block (i,j) has the number i ncolumns + j. 1 and 1 mean no cut, as without this
  call. Blocks must be the same on all ranks of the optimizer, which `MuonSetUp()` checks. They are fixed from
  `MuonSetUp()` to `MuonReset()`.

  Blocks are for a matrix that consists of several matrices: queries, keys and values, or their heads; stacked experts;
  a tensor as the matrices of some of its dimensions. The steps are those of one layer for each block, and the messages
  are the same except for a header. The norm of the layer is the largest norm of its blocks, the dual norm the sum of
  their dual norms. The radius of a block has the factor of its own shape. Ratio or rank of a compressor apply to each
  block. `MUONCOMPRESSORIDENTITY` sends the layer whole.

  Optimizers other than `MUONLAYERLMO` have no norm. Blocks then matter to compressors only. A vector has one column.

.seealso: `MuonLayer`, `MuonLayerGetBlocks()`, `MuonLayerGetRadiusFactor()`, `MuonCompressorSetBlocks()`, `MuonAddLayer()`
@*/
PetscErrorCode MuonLayerSetBlocks(MuonLayer layer, PetscInt nrows, const PetscInt rows[], PetscInt ncolumns, const PetscInt columns[])
{
  const char *side;
  char        reason[512];
  PetscBool   samerows;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscCall(MuonBlocksCheck_Private(nrows, rows, layer->m, ncolumns, columns, layer->n, &side, sizeof(reason), reason));
  MuonLayerCheck(layer, reason[0] == '\0', PETSC_ERR_ARG_SIZ, "blocks_%s: %s", side, reason);
  samerows = MuonLayerSameSide_Private(nrows, rows, layer->m, layer->blocks.nrows, layer->blocks.rows);
  if (samerows && MuonLayerSameSide_Private(ncolumns, columns, layer->n, layer->blocks.ncolumns, layer->blocks.columns)) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLayerCheck(layer, MuonLayerIsEntries(layer) == PETSC_FALSE, PETSC_ERR_SUP, "blocks_%s: the layer is a range of a vector on %d ranks, which have entries of it and not rows; expected no blocks, or ranges that are a block each",
                 samerows ? "columns" : "rows", layer->ranks);
  MuonLayerCheck(layer, layer->parameters.fixed == PETSC_FALSE, PETSC_ERR_ORDER, "blocks_%s: blocks were changed after MuonSetUp(), expected a call before it or after MuonReset()", samerows ? "columns" : "rows");
  PetscCall(MuonBlocksSet_Private(&layer->blocks, nrows, rows, ncolumns, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLayerSetTensor - Declares a layer as a tensor of several dimensions, and sets the matrices that norm, polar
  factor and compressor use

  Logically Collective

  Input Parameters:
+ layer - the layer, with the number of entries of the tensor
. ndim  - number of dimensions, at least 2
. dims  - their sizes in the order of memory, the slowest first, as in C and numpy
- kind  - `MUON_TENSOR_FLATTEN` or `MUON_TENSOR_BATCH`

  Level: intermediate

  Notes:
  It calls `MuonLayerSetBlocks()` with the right sizes. It is an error if the matrices are not blocks of the layer's
  matrix, which does not change. The memory of the layer consists of lines of contiguous entries\: the rows if it is
  row-major, otherwise the columns.

  With flatten the layer must be that one matrix: its lines have the size of the last dimension, or their number is the
  first dimension. A kernel of torch's (out, in, height, width) is a row-major array of out rows.

  With batch the lines must have the size of the last dimension. The kernel above then consists of height x width
  matrices, in a row-major array of out x in x height rows. Experts in an array (experts, out, in) are one matrix each
  in a row-major array of experts x out rows.

  The radius of a matrix has the shape factor of its own rows and columns.

.seealso: `MuonLayer`, `MuonTensorKind`, `MuonLayerSetBlocks()`, `MuonLayerGetBlocks()`, `MuonAddLayerArray()`
@*/
PetscErrorCode MuonLayerSetTensor(MuonLayer layer, PetscInt ndim, const PetscInt dims[], MuonTensorKind kind)
{
  const PetscInt lines = layer->rowmajor ? layer->m : layer->n, length = layer->rowmajor ? layer->n : layer->m;
  const MPI_Comm comm = PetscObjectComm((PetscObject)layer);
  PetscInt64     left;
  PetscInt       parts;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  PetscCheck(kind == MUON_TENSOR_FLATTEN || kind == MUON_TENSOR_BATCH, comm, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": %d is no MuonTensorKind", ((PetscObject)layer)->name, (int)kind);
  PetscCheck(ndim >= 2, comm, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": a tensor of %" PetscInt_FMT " dimensions, expected at least 2", ((PetscObject)layer)->name, ndim);
  PetscAssertPointer(dims, 3);
  left = MuonLayerEntries(layer);
  for (PetscInt d = 0; d < ndim; d++) {
    PetscCheck(dims[d] > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "Layer \"%s\": dimension %" PetscInt_FMT " of its tensor is %" PetscInt_FMT ", expected a positive number", ((PetscObject)layer)->name, d, dims[d]);
    left = left % dims[d] == 0 ? left / dims[d] : 0;
  }
  PetscCheck(left == 1, comm, PETSC_ERR_ARG_SIZ, "Layer \"%s\": its tensor has another number of entries, expected %" PetscInt_FMT " x %" PetscInt_FMT, ((PetscObject)layer)->name, layer->m, layer->n);
  PetscCheck(length == dims[ndim - 1] || (kind == MUON_TENSOR_FLATTEN && lines == dims[0]), comm, PETSC_ERR_SUP,
             "Layer \"%s\": the matrices of a tensor, %s, are no blocks of its %" PetscInt_FMT " x %" PetscInt_FMT " matrix, whose %s have %" PetscInt_FMT " entries; expected %" PetscInt_FMT "%s", ((PetscObject)layer)->name, MuonTensorKinds[kind],
             layer->m, layer->n, layer->rowmajor ? "rows" : "columns", length, dims[ndim - 1], kind == MUON_TENSOR_FLATTEN ? ", or as many of them as the first dimension has places" : "");
  parts = kind == MUON_TENSOR_BATCH ? lines / dims[ndim - 2] : 1;
  PetscCall(MuonLayerSetBlocks(layer, layer->rowmajor ? parts : 1, NULL, layer->rowmajor ? 1 : parts, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLayerGetBlocks - Gets the grid of blocks that a layer is cut into

  Not Collective

  Input Parameter:
. layer - the layer

  Output Parameters:
+ nrows    - number of blocks of rows, 1 without a cut
. rows     - their sizes, borrowed, `NULL` if all are equal
. ncolumns - number of blocks of columns
- columns  - their sizes, likewise

  Level: intermediate

  Note:
  Any of the arguments may be `NULL`.

.seealso: `MuonLayer`, `MuonLayerSetBlocks()`
@*/
PetscErrorCode MuonLayerGetBlocks(MuonLayer layer, PetscInt *nrows, const PetscInt *rows[], PetscInt *ncolumns, const PetscInt *columns[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 1);
  if (nrows != NULL) *nrows = layer->blocks.nrows;
  if (rows != NULL) *rows = layer->blocks.rows;
  if (ncolumns != NULL) *ncolumns = layer->blocks.ncolumns;
  if (columns != NULL) *columns = layer->blocks.columns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetBlock_Private(MuonLayer layer, PetscInt b, MuonBlock *block)
{
  PetscFunctionBegin;
  PetscCall(MuonBlocksGet_Private(&layer->blocks, b, layer->m, layer->n, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetRowsBlock(MuonLayer layer, PetscInt b, MuonBlock *block)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlock_Private(layer, b, block));
  if (MuonLayerIsEntries(layer) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  block->m = layer->M; /* it is the only one */
  block->n = MuonLayerColumns(layer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerGetBlockArray(MuonLayer layer, PetscInt b, const MuonArray *A, MuonArray *part)
{
  MuonBlock block;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
  *part = MuonArrayPart(A, (size_t)block.row, (size_t)block.column, (size_t)block.m, (size_t)block.n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerSetBlocksFromOptions_Private(MuonLayer layer, const char own[])
{
  const PetscOptions options = ((PetscObject)layer)->options;
  PetscInt           nrows = layer->m + 1, ncolumns = layer->n + 1, *rows, *columns; /* sizes are positive: so many have too large a sum */
  PetscBool          setrows, setcolumns;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(nrows, &rows, ncolumns, &columns));
  PetscCall(PetscOptionsGetIntArray(options, own, "-blocks_rows", rows, &nrows, &setrows));
  PetscCall(PetscOptionsGetIntArray(options, own, "-blocks_columns", columns, &ncolumns, &setcolumns));
  PetscCall(MuonLayerSetBlocks(layer, setrows ? nrows : layer->blocks.nrows, setrows ? rows : layer->blocks.rows, setcolumns ? ncolumns : layer->blocks.ncolumns, setcolumns ? columns : layer->blocks.columns)); /* the same are no change */
  PetscCall(PetscFree2(rows, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLayerComputeNormArray(MuonLayer layer, const MuonArray *A, PetscBool dual, PetscReal *norm)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);
  MuonLMO        lmo;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  *norm = 0;
  for (PetscInt b = 0; b < count && !PetscIsInfOrNanReal(*norm); b++) {
    MuonMatrix matrix;
    MuonArray  part;
    PetscReal  one;

    PetscCall(MuonLayerGetBlockArray(layer, b, A, &part));
    matrix = MuonMatrixOfArray(&part);
    PetscCall(MuonLMOComputeNormMatrix(lmo, dual, &matrix, &one, NULL));
    if (dual) *norm += one;
    else if (one > *norm || PetscIsInfOrNanReal(one)) *norm = one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
