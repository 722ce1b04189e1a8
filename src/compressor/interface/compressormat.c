#include <petscmuon/private/muoncompressorimpl.h> /*I "petscmuoncompressor.h" I*/

static PetscErrorCode MuonCompressorGetArray_Private(MuonCompressor c, Mat A, const char what[], PetscBool write, const MuonArray *same, MuonMatrix *matrix)
{
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQDENSE, &dense));
  MuonCompressorCheck(c, dense, PETSC_ERR_ARG_WRONG, "", "%s is a matrix of type %s, expected %s", what, ((PetscObject)A)->type_name, MATSEQDENSE);
  PetscCall(MuonMatGetMatrix(A, write, matrix));
  if (matrix->here.pairs) PetscCall(MuonParametersCheckType((PetscObject)c, offsetof(struct _p_MuonCompressor, onpairs), NULL, MUON_OF_REALS));
  MuonCompressorCheck(c, same == NULL || (matrix->here.len == same->len && matrix->here.count == same->count), PETSC_ERR_ARG_SIZ, "", "%s is %zu x %zu, expected %zu x %zu", what, matrix->here.len, matrix->here.count, same->len, same->count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorGetMaxBytes - Gets the largest size of a message of a layer

   Not Collective

   Input Parameters:
+  c - the compressor
.  m - rows of the layer
-  n - its columns

   Output Parameter:
.  bytes - the size, with the header of the message

   Level: advanced

.seealso: `MuonCompressor`, `MuonCompressorEncode()`
@*/
PetscErrorCode MuonCompressorGetMaxBytes(MuonCompressor c, PetscInt m, PetscInt n, size_t *bytes)
{
  const MuonArray shape = MuonArrayOfScalars(m, n, NULL, m);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(bytes, 4);
  PetscCall(MuonCompressorGetMaxBytesOf(c, &shape, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorEncode - Writes the message of a compressed matrix

   Not Collective

   Input Parameters:
+  c        - the compressor
.  T        - the matrix that the receiver should approach, a `MATSEQDENSE`
.  R        - the receiver's matrix, of the same size, or `NULL` for zero
-  capacity - the size of `buf`, at least that of `MuonCompressorGetMaxBytes()`

   Output Parameters:
+  buf   - the message
-  bytes - its size, 0 if it could not be written

   Level: advanced

   Notes:
   The message is C(T - R). With `MUONCOMPRESSORIDENTITY` it is T itself.

   It takes effect with `MuonCompressorDecode()`, which receiver and sender both apply to their copies, and with `MuonCompressorCommit()`. Encoding
   changes no state. A second call writes the same bytes.

   Entries that are not finite, or too large for the format of the values or for the product of two factors, are not an error. A
   decomposition that fails is not an error, either. The message is then not written.

.seealso: `MuonCompressor`, `MuonCompressorGetMaxBytes()`, `MuonCompressorDecode()`, `MuonCompressorCommit()`
@*/
PetscErrorCode MuonCompressorEncode(MuonCompressor c, Mat T, Mat R, size_t capacity, unsigned char buf[], size_t *bytes)
{
  MuonMatrix t, r;
  size_t     max;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(T, MAT_CLASSID, 2);
  if (R != NULL) PetscValidHeaderSpecific(R, MAT_CLASSID, 3);
  PetscAssertPointer(buf, 5);
  PetscAssertPointer(bytes, 6);
  PetscCall(MuonCompressorGetArray_Private(c, T, "T", PETSC_FALSE, NULL, &t));
  if (R != NULL) PetscCall(MuonCompressorGetArray_Private(c, R, "R", PETSC_FALSE, &t.here, &r));
  PetscCall(MuonCompressorGetMaxBytesOf(c, &t.here, &max));
  MuonCompressorCheck(c, capacity >= max, PETSC_ERR_ARG_SIZ, "", "a buffer of %zu bytes, expected the %zu of MuonCompressorGetMaxBytes()", capacity, max);
  PetscCall(MuonCompressorEncodeArray(c, &t.here, R != NULL ? &r.here : NULL, capacity, buf, bytes, PETSC_FALSE, NULL, NULL));
  if (R != NULL) PetscCall(MuonMatRestoreMatrix(R, PETSC_FALSE, &r));
  PetscCall(MuonMatRestoreMatrix(T, PETSC_FALSE, &t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorDecode - Overwrites a matrix with the decoded message, or adds a multiple of it

   Not Collective

   Input Parameters:
+  c     - the compressor
.  add   - whether the message is added
.  scale - the factor, if it is added
.  bytes - size of the message
-  buf   - the message, of such a compressor for this layer

   Output Parameter:
.  Y - the matrix, a `MATSEQDENSE` of the size of the layer

   Level: advanced

   Notes:
   Adding a sparse message changes only its entries. A low-rank message is added by one product of its factors.

   No number of the message is used before it is checked. An invalid message is an error and leaves the matrix unchanged.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`
@*/
PetscErrorCode MuonCompressorDecode(MuonCompressor c, PetscBool add, PetscReal scale, size_t bytes, const unsigned char buf[], Mat Y)
{
  MuonMatrix y;
  PetscBool  valid;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(Y, MAT_CLASSID, 6);
  PetscCall(MuonCompressorGetArray_Private(c, Y, "Y", PETSC_TRUE, NULL, &y));
  PetscCall(MuonCompressorDecodeArray(c, add, (double)scale, bytes, buf, &y.here, &valid));
  PetscCall(MuonMatRestoreMatrix(Y, PETSC_TRUE, &y));
  MuonCompressorCheck(c, valid, PETSC_ERR_ARG_WRONG, "", "%zu bytes are no message for %" PetscInt_FMT " x %" PetscInt_FMT ", expected what such a compressor has written", bytes, y.rows, y.columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorApply - Computes the compressed matrix, as a receiver of its message would have it

   Not Collective

   Input Parameters:
+  c - the compressor
-  X - the matrix, a `MATSEQDENSE`

   Output Parameters:
+  CX     - the compressed matrix, of the same size; it may be `X`
-  status - `MUON_STATUS_NANORINF` if an entry was not finite, or too large for the format of the values or for the product of two factors; `MUON_STATUS_LMO` if a decomposition failed; otherwise `MUON_STATUS_OK`; may be `NULL`

   Level: intermediate

   Note:
   It equals `MuonCompressorEncode()` followed by `MuonCompressorDecode()`, to the last bit. If the status is not
   `MUON_STATUS_OK`, `CX` does not change.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`, `MuonCompressorDecode()`, `MuonCompressorGetAlpha()`, `MuonStatus`
@*/
PetscErrorCode MuonCompressorApply(MuonCompressor c, Mat X, Mat CX, MuonStatus *status)
{
  MuonWorkspace  work;
  MuonMatrix     x, cx;
  MuonValidated  own = {0};
  MuonMark       mark;
  unsigned char *buf;
  size_t         max, bytes;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(CX, MAT_CLASSID, 3);
  PetscCall(MuonCompressorGetArray_Private(c, X, "X", PETSC_FALSE, NULL, &x));
  PetscCall(MuonCompressorGetArray_Private(c, CX, "CX", PETSC_TRUE, &x.here, &cx));
  PetscCall(MuonCompressorGetMaxBytesOf(c, &x.here, &max));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceMark(work, &mark));
  PetscCall(MuonWorkspaceGet(work, max, &buf));
  PetscCall(MuonCompressorEncodeArray(c, &x.here, NULL, max, buf, &bytes, PETSC_FALSE, NULL, &own));
  if (c->status == MUON_STATUS_OK) PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_FALSE, 1.0, &cx.here));
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(MuonWorkspaceRelease(work, &mark));
  PetscCall(MuonMatRestoreMatrix(CX, PETSC_TRUE, &cx));
  PetscCall(MuonMatRestoreMatrix(X, PETSC_FALSE, &x));
  if (status != NULL) *status = c->status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorCommit - Makes the last message part of the compressor's state

   Not Collective

   Input Parameter:
.  c - the compressor

   Level: advanced

   Note:
   A sender calls it when it is certain that its message will be used. Only `MUONCOMPRESSORPOWERSGD` has state.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`
@*/
PetscErrorCode MuonCompressorCommit(MuonCompressor c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  for (c->block = 0; c->block < MuonBlocksCount_Private(&c->blocks); c->block++) PetscTryTypeMethod(c, commit);
  c->block = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorGetAlpha - Gets the constant of contraction of a compressor

   Not Collective

   Input Parameters:
+  c - the compressor
.  m - rows of the layer
-  n - its columns

   Output Parameter:
.  alpha - such that E ||C(X) - X||^2 <= (1 - alpha) ||X||^2 for every X in the Frobenius norm, or that of `-compressor_topsvd_schatten`; -1 if none is known

   Level: advanced

   Note:
   It holds for entries, or a common magnitude, in the normal range of the format of the values, and up to the rounding
   of `PetscScalar`. With blocks (`MuonCompressorSetBlocks()`) it is the smallest constant of a block. For a matrix
   without entries it is 1.

.seealso: `MuonCompressor`, `MuonCompressorApply()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonCompressorGetAlpha(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  const MuonArray   shape = MuonArrayOfScalars(m, n, NULL, m);
  const MuonBlocks *grid;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(alpha, 4);
  PetscCall(MuonCompressorGetGrid_Private(c, &shape, &grid));
  *alpha = 1.0;
  for (PetscInt b = 0; b < MuonBlocksCount_Private(grid) && m > 0 && n > 0; b++) {
    MuonBlock block;
    MuonArray array;
    PetscReal one = -1.0;

    PetscCall(MuonBlocksGet_Private(grid, b, m, n, &block));
    array = MuonCompressorBlock_Private(&shape, &block);
    PetscTryTypeMethod(c, alpha, &array, &one);
    *alpha = b == 0 ? one : PetscMin(*alpha, one);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   From the Frobenius norm: ||E||^2 <= ||E||_F^2 / least^2 <= (1 - alpha) ||X||_F^2 / least^2 <= (most / least)^2 (1
   - alpha) ||X||^2
*/
PetscErrorCode MuonCompressorGetAlphaOf(MuonCompressor c, const MuonArray *shape, const MuonNorm *norm, PetscReal *alpha)
{
  const MuonNorm    frobenius = {PETSC_TRUE, PETSC_FALSE, 2, 2};
  const MuonBlocks *grid;
  double            least, most;
  PetscReal         one = -1.0;

  PetscFunctionBegin;
  *alpha = MuonArrayEntries(shape) == 0 ? 1 : -1;
  PetscCall(MuonCompressorGetGrid_Private(c, shape, &grid));
  if (MuonBlocksCount_Private(grid) > 1 || MuonArrayEntries(shape) == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscTryTypeMethod(c, alphaof, shape, norm, alpha);
  if (*alpha > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscTryTypeMethod(c, alphaof, shape, &frobenius, &one);
  if (one < 0 && c->othernorm == PETSC_FALSE) PetscTryTypeMethod(c, alpha, shape, &one);
  MuonNormGetBounds(norm, (double)MuonArrayRows(shape), (double)MuonArrayColumns(shape), &least, &most);
  if (one >= 0) *alpha = (PetscReal)(1 - PetscSqr(most / least) * (1 - (double)one));
  if (*alpha <= 0) *alpha = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
