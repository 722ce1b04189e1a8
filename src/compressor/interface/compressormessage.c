#include "../muoncompressorcodec.h" /*I "petscmuoncompressor.h" I*/

static PetscErrorCode MuonCompressorCheckMat_Private(MuonCompressor c, Mat A, const char what[], PetscInt *m, PetscInt *n)
{
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQDENSE, &dense));
  MuonCompressorCheck(c, dense == PETSC_TRUE, PETSC_ERR_ARG_WRONG, "", "%s is a matrix of type %s, expected %s", what, ((PetscObject)A)->type_name, MATSEQDENSE);
  PetscCall(MatGetSize(A, m, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCheckSame_Private(MuonCompressor c, Mat A, const char what[], PetscInt m, PetscInt n)
{
  PetscInt rows, columns;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCheckMat_Private(c, A, what, &rows, &columns));
  MuonCompressorCheck(c, rows == m && columns == n, PETSC_ERR_ARG_SIZ, "", "%s is %" PetscInt_FMT " x %" PetscInt_FMT ", expected %" PetscInt_FMT " x %" PetscInt_FMT, what, rows, columns, m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorGetLayout_Private(MuonCompressor c, PetscInt m, PetscInt n, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(layout, sizeof(*layout)));
  PetscUseTypeMethod(c, layout, m, n, layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a matrix is sent whole or, where it is zero or dropped, not at all: no count between is one of a message */
static PetscBool MuonCompressorIsWhole_Private(const MuonCompressorLayout *layout)
{
  return layout->form == MUON_WIRE_DENSE || layout->form == MUON_WIRE_SIGNS || layout->form == MUON_WIRE_BLOCKS ? PETSC_TRUE : PETSC_FALSE;
}

/* The header of a message of count things, its length included */
static PetscErrorCode MuonCompressorHeader_Private(MuonCompressor c, PetscInt m, PetscInt n, const MuonCompressorLayout *layout, PetscInt64 count, MuonWireMessage *header)
{
  MuonWireResult result;

  PetscFunctionBegin;
  header->layer     = (uint32_t)c->parthash;
  header->form      = (uint8_t)layout->form;
  header->values    = (uint8_t)layout->values;
  header->indices   = (uint8_t)MuonWireFormIndices((MuonWireForm)layout->form, (uint64_t)m, (uint64_t)n, (uint64_t)count);
  header->parameter = (uint8_t)layout->parameter;
  header->count     = (uint64_t)count;
  result            = MuonWirePayloadBytes(header, (uint64_t)m, (uint64_t)n, &header->bytes);
  MuonCompressorCheck(c, result == MUON_WIRE_OK && header->bytes <= SIZE_MAX - 2 * MUON_WIRE_MESSAGE_HEADER_MOST, PETSC_ERR_SUP, "", "no message can hold a layer of %" PetscInt_FMT " x %" PetscInt_FMT, m, n);
  /* A block of four random numbers has 32 bits for its place; low-rank factors have up to twice as many entries as their product */
  MuonCompressorCheck(c, layout->values != MUON_WIRE_VALUES_NATURAL || (PetscInt64)m * n <= (PetscInt64)1 << 33, PETSC_ERR_SUP, "", "a layer of %" PetscInt_FMT " x %" PetscInt_FMT ", expected at most 2^33 entries with natural values", m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether bytes begin with a header that an object like this one writes for an m x n layer, of a message that ends where they end; plain is the header of that message in plain codecs */
static PetscErrorCode MuonCompressorOpen_Private(MuonCompressor c, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], MuonWireMessage *plain, PetscBool *fits)
{
  MuonCompressorLayout layout;
  MuonWireMessage      header, expected;

  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  PetscCall(MuonCompressorSetUp_Private(c));
  PetscCall(MuonCompressorGetLayout_Private(c, m, n, &layout));
  if (MuonWireMessageRead(buf, bytes, &header) != MUON_WIRE_OK || MuonWireMessageBytes(&header) != bytes) PetscFunctionReturn(PETSC_SUCCESS);
  if (header.count > (uint64_t)layout.count || (layout.exact == PETSC_TRUE && header.count != (uint64_t)layout.count)) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonWireMessagePlainHeader(&header, (uint64_t)m, (uint64_t)n, plain) != MUON_WIRE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* A count that is in order for another form may be none of this one */
  if (plain->form != (uint8_t)layout.form || plain->values != (uint8_t)layout.values || plain->parameter != (uint8_t)layout.parameter) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorHeader_Private(c, m, n, &layout, (PetscInt64)header.count, &expected));
  if (plain->layer != expected.layer || plain->indices != expected.indices) PetscFunctionReturn(PETSC_SUCCESS);
  *fits = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether bytes are a message that an object like this one could have written; if so, header and payload of it in plain codecs. These may be in scratch memory, until the next message */
static PetscErrorCode MuonCompressorExpand_Private(MuonCompressor c, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], MuonWireMessage *header, const unsigned char **payload, PetscBool *valid)
{
  const unsigned char *plain;
  unsigned char       *room = NULL;
  MuonWorkspace        work;
  MuonWireMessage      came;
  size_t               capacity = 0;
  MuonWireLayout       sections;

  PetscFunctionBegin;
  PetscCall(MuonCompressorOpen_Private(c, m, n, bytes, buf, header, valid));
  if (*valid == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  /* A message that is plain already needs no room */
  (void)MuonWireMessageRead(buf, bytes, &came);
  if (!MuonWireMessageIsPlain(&came)) {
    capacity = (size_t)MuonWireMessageBytes(header);
    PetscCall(MuonWorkspaceGet(work, MUON_WORK_COMPRESSOR_E, capacity, &room));
  }
  if (MuonWireMessageExpand(buf, bytes, header->layer, (uint64_t)m, (uint64_t)n, capacity, room, &plain, header) != MUON_WIRE_OK) {
    *valid = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *payload = plain + MuonWireMessageHeaderBytes(header);
  (void)MuonWireMessageLayout(header, (uint64_t)m, (uint64_t)n, &sections);
  PetscCall(MuonCompressorValuesFit_Private((MuonWireValues)header->values, (PetscInt64)sections.values, *payload + sections.valuesat, valid));
  if (*valid == PETSC_TRUE) PetscTryTypeMethod(c, validate, m, n, (PetscInt64)header->count, *payload, valid);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a message of so many bytes costs, from its header and payload in plain codecs */
static PetscErrorCode MuonCompressorCost_Private(MuonCompressor c, PetscInt m, PetscInt n, const MuonWireMessage *header, const unsigned char payload[], size_t bytes, MuonCompressorCost *cost)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorGetPaperBits(c, m, n, &cost->paper));
  cost->encoded = 8.0 * (PetscLogDouble)bytes;
  PetscCall(MuonCompressorEntropy_Private(header, m, n, payload, &cost->entropy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The most bytes of the message of a layer that is not cut, or of one block */
static PetscErrorCode MuonCompressorPartMaxBytes_Private(MuonCompressor c, PetscInt m, PetscInt n, size_t *bytes)
{
  MuonCompressorLayout layout;
  MuonWireMessage      header, fewer;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetLayout_Private(c, m, n, &layout));
  PetscCall(MuonCompressorHeader_Private(c, m, n, &layout, layout.count, &header));
  *bytes = (size_t)MuonWireMessageBytes(&header);
  /* A message that leaves out one line of all may be longer, by the positions of the others */
  if (layout.exact == PETSC_FALSE && layout.count > 0 && MuonCompressorIsWhole_Private(&layout) == PETSC_FALSE) {
    PetscCall(MuonCompressorHeader_Private(c, m, n, &layout, layout.count - 1, &fewer));
    *bytes = PetscMax(*bytes, (size_t)MuonWireMessageBytes(&fewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes such a message, unless the status says that it cannot */
static PetscErrorCode MuonCompressorPartEncode_Private(MuonCompressor c, PetscInt m, PetscInt n, const PetscScalar t[], PetscInt ldt, const PetscScalar r[], PetscInt ldr, unsigned char buf[], size_t *bytes, MuonCompressorCost *cost)
{
  MuonCompressorLayout layout;
  MuonWireMessage      header;
  PetscInt64           count = 0;
  size_t               most;
  unsigned             before, after;
  unsigned char       *plain = buf;
  PetscBool            compacts;

  PetscFunctionBegin;
  /* Positions and natural codes are written plain, then close to their entropy where that is shorter */
  PetscCall(MuonCompressorGetLayout_Private(c, m, n, &layout));
  compacts = MuonWireFormCompacts((MuonWireForm)layout.form, (MuonWireValues)layout.values) ? PETSC_TRUE : PETSC_FALSE;
  if (compacts == PETSC_TRUE) {
    PetscCall(MuonCompressorPartMaxBytes_Private(c, m, n, &most));
    PetscCall(MuonWorkspaceGet(c->work, MUON_WORK_COMPRESSOR_E, most + MUON_WIRE_MESSAGE_HEADER_MOST, &plain));
    before = MUON_WIRE_MESSAGE_HEADER_MOST;
  } else {
    PetscCall(MuonCompressorHeader_Private(c, m, n, &layout, layout.count, &header));
    before = MuonWireMessageHeaderBytes(&header);
  }
  PetscUseTypeMethod(c, encode, m, n, t, ldt, r, ldr, &count, plain + before);
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* How long the header is, is known now: it ends where the payload begins. In the caller's memory it begins at the start, and a message of less than all may have a shorter one */
  PetscCall(MuonCompressorHeader_Private(c, m, n, &layout, count, &header));
  after = MuonWireMessageHeaderBytes(&header);
  if (compacts == PETSC_TRUE) {
    plain += before - after;
    (void)MuonWireMessageWrite(plain, &header);
    *bytes = (size_t)MuonWireMessageCompact(plain, (uint64_t)m, (uint64_t)n, buf);
  } else {
    if (after < before) PetscCall(PetscArraymove(plain + after, plain + before, (size_t)header.bytes));
    (void)MuonWireMessageWrite(plain, &header);
    *bytes = (size_t)MuonWireMessageBytes(&header);
  }
  if (cost != NULL) PetscCall(MuonCompressorCost_Private(c, m, n, &header, plain + after, *bytes, cost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a block costs, added to what those before it do; the headers of a group are in no block */
static void MuonCompressorAddCost_Private(const MuonCompressorCost *part, MuonCompressorCost *cost)
{
  cost->paper += part->paper;
  cost->entropy += part->entropy;
}

/*
   What a receiver does with a message: its blocks one after the other, each checked, then counted where cost is not NULL, then added to or put into y where y is not NULL.
   y is as it was where valid is not true, but for the blocks before the one that is not
*/
static PetscErrorCode MuonCompressorReceive_Private(MuonCompressor c, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], PetscBool *valid, MuonCompressorCost *cost, PetscBool add, PetscReal scale, PetscScalar y[], PetscInt ldy)
{
  PetscInt           count;
  MuonWireGroup      group;
  MuonCompressorCost sum = {0, 0, 0};

  PetscFunctionBegin;
  PetscCall(MuonCompressorCountBlocks_Private(c, m, n, &count));
  *valid = count == 1 || MuonWireGroupOpen(buf, bytes, (uint32_t)c->layerhash, (uint64_t)count, &group) == MUON_WIRE_OK ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt b = 0; b < count && *valid == PETSC_TRUE; b++) {
    const unsigned char *part = buf, *payload = NULL;
    size_t               some = bytes;
    MuonBlock            block;
    MuonWireMessage      header;
    MuonCompressorCost   one;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, m, n, &block));
    if (count > 1) part = MuonWireGroupNext(&group, &some);
    PetscCall(MuonCompressorExpand_Private(c, block.m, block.n, some, part, &header, &payload, valid));
    if (*valid == PETSC_FALSE) break;
    if (cost != NULL) {
      PetscCall(MuonCompressorCost_Private(c, block.m, block.n, &header, payload, some, &one));
      MuonCompressorAddCost_Private(&one, &sum);
    }
    if (y != NULL) PetscUseTypeMethod(c, decode, block.m, block.n, (PetscInt64)header.count, payload, add, scale, y + block.row + (size_t)block.column * (size_t)ldy, ldy);
  }
  sum.encoded = 8.0 * (PetscLogDouble)bytes;
  if (*valid == PETSC_TRUE && cost != NULL) *cost = sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorIsAssignment - Tells whether a receiver gets the matrix itself, to be assigned, and not a difference to be added

   Not Collective

   Input Parameter:
.  c - the compressor

   Output Parameter:
.  assignment - `PETSC_TRUE` for `MUONCOMPRESSORIDENTITY`

   Level: advanced

.seealso: `MuonCompressor`, `MuonCompressorEncode()`, `MuonCompressorDecode()`, `MuonCompressorDecodeAdd()`
@*/
PetscErrorCode MuonCompressorIsAssignment(MuonCompressor c, PetscBool *assignment)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(assignment, 2);
  PetscCall(MuonCompressorSetUp_Private(c));
  *assignment = c->assignment;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorGetMaxBytes - Gets the most bytes that a message of a layer takes

   Not Collective; No Fortran Support

   Input Parameters:
+  c - the compressor
.  m - rows of the layer
-  n - its columns

   Output Parameter:
.  bytes - the most bytes, the header of the message included

   Level: advanced

.seealso: `MuonCompressor`, `MuonCompressorEncode()`
@*/
PetscErrorCode MuonCompressorGetMaxBytes(MuonCompressor c, PetscInt m, PetscInt n, size_t *bytes)
{
  PetscInt count;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(bytes, 4);
  PetscCall(MuonCompressorCountBlocks_Private(c, m, n, &count));
  *bytes = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonBlock block;
    size_t    part;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, m, n, &block));
    PetscCall(MuonCompressorPartMaxBytes_Private(c, block.m, block.n, &part));
    MuonCompressorCheck(c, part <= SIZE_MAX - *bytes, PETSC_ERR_SUP, "", "no message can hold a layer of %" PetscInt_FMT " x %" PetscInt_FMT, m, n);
    *bytes += part;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorEncode - Writes the message of a compressed matrix

   Not Collective; No Fortran Support

   Input Parameters:
+  c        - the compressor
.  T        - what the receiver should come to, a `MATSEQDENSE`
.  R        - what it has, of the same size, or `NULL` for zero
-  capacity - the bytes that `buf` has room for, at least what `MuonCompressorGetMaxBytes()` says

   Output Parameters:
+  buf   - the message
-  bytes - how many bytes it takes, 0 where it could not be written

   Level: advanced

   Notes:
   The message is C(T - R), but T itself where `MuonCompressorIsAssignment()`.

   It takes effect with the receiver's `MuonCompressorDecodeAdd()` (or `MuonCompressorDecode()` for an assignment), which the sender applies to its own copy too, and with
   `MuonCompressorCommit()`: encoding changes no state, the same call writes the same bytes again.

   Entries that are not finite are no error: look at `MuonCompressorGetStatus()`.

.seealso: `MuonCompressor`, `MuonCompressorGetMaxBytes()`, `MuonCompressorValidate()`, `MuonCompressorDecodeAdd()`, `MuonCompressorCommit()`, `MuonCompressorGetStatus()`
@*/
PetscErrorCode MuonCompressorEncode(MuonCompressor c, Mat T, Mat R, size_t capacity, unsigned char buf[], size_t *bytes)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorEncodeCost_Private(c, T, R, capacity, buf, bytes, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorEncodeCost_Private(MuonCompressor c, Mat T, Mat R, size_t capacity, unsigned char buf[], size_t *bytes, MuonCompressorCost *cost)
{
  const PetscScalar *t, *r = NULL;
  MuonCompressorCost sum = {0, 0, 0};
  MuonWorkspace      work;
  PetscInt           m, n, count, ldt, ldr = 0;
  size_t             most;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(T, MAT_CLASSID, 2);
  if (R != NULL) PetscValidHeaderSpecific(R, MAT_CLASSID, 3);
  PetscAssertPointer(buf, 5);
  PetscAssertPointer(bytes, 6);
  PetscCall(MuonCompressorCheckMat_Private(c, T, "T", &m, &n));
  if (R != NULL) PetscCall(MuonCompressorCheckSame_Private(c, R, "R", m, n));
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
  MuonCompressorCheck(c, capacity >= most, PETSC_ERR_ARG_SIZ, "", "room for %zu bytes, expected the %zu of MuonCompressorGetMaxBytes()", capacity, most);
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(PetscLogEventBegin(MUON_Compress, c, T, R, 0));
  c->status = MUON_STATUS_OK;
  PetscCall(MatDenseGetLDA(T, &ldt));
  PetscCall(MatDenseGetArrayRead(T, &t));
  if (R != NULL) {
    PetscCall(MatDenseGetLDA(R, &ldr));
    PetscCall(MatDenseGetArrayRead(R, &r));
  }
  PetscCall(MuonCompressorCountBlocks_Private(c, m, n, &count));
  *bytes = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count && c->status == MUON_STATUS_OK; b++) {
    const PetscScalar *tb, *rb = NULL;
    MuonBlock          block;
    MuonCompressorCost one;
    size_t             part = 0;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, m, n, &block));
    tb = t + block.row + (size_t)block.column * (size_t)ldt;
    if (r != NULL) rb = r + block.row + (size_t)block.column * (size_t)ldr;
    PetscCall(MuonCompressorPartEncode_Private(c, block.m, block.n, tb, ldt, rb, ldr, buf + *bytes, &part, cost != NULL ? &one : NULL));
    *bytes += part;
    if (cost != NULL && c->status == MUON_STATUS_OK) MuonCompressorAddCost_Private(&one, &sum);
  }
  if (R != NULL) PetscCall(MatDenseRestoreArrayRead(R, &r));
  PetscCall(MatDenseRestoreArrayRead(T, &t));
  if (c->status != MUON_STATUS_OK) *bytes = 0;
  else if (count > 1) *bytes = (size_t)MuonWireGroupClose((uint32_t)c->layerhash, (uint64_t)count, *bytes - MUON_WIRE_MESSAGE_HEADER_MOST, buf);
  sum.encoded = 8.0 * (PetscLogDouble)*bytes;
  if (c->status == MUON_STATUS_OK && cost != NULL) *cost = sum;
  PetscCall(PetscLogEventEnd(MUON_Compress, c, T, R, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorValidate - Tells whether bytes are a message that an object like this one could have written

   Not Collective; No Fortran Support

   Input Parameters:
+  c     - the compressor, of the type and with the choices of the sender's
.  m     - rows of the layer
.  n     - its columns
.  bytes - how many bytes came
-  buf   - the bytes

   Output Parameter:
.  valid - whether the layer, the codecs, all sizes, positions and values are in order

   Level: advanced

   Note:
   No byte is trusted, and no number among them is used before it has been checked. After a true answer the message can be decoded.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`, `MuonCompressorDecode()`, `MuonCompressorDecodeAdd()`
@*/
PetscErrorCode MuonCompressorValidate(MuonCompressor c, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], PetscBool *valid)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(valid, 6);
  PetscCall(MuonCompressorValidateCost_Private(c, m, n, bytes, buf, valid, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValidateCost_Private(MuonCompressor c, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], PetscBool *valid, MuonCompressorCost *cost)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonCompressorReceive_Private(c, m, n, bytes, buf, valid, cost, PETSC_FALSE, 1.0, NULL, 0));
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecodeValid_Private(MuonCompressor c, PetscBool add, PetscReal scale, size_t bytes, const unsigned char buf[], Mat Y, PetscBool *valid)
{
  PetscScalar *y;
  PetscInt     m, n, ldy;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCheckMat_Private(c, Y, "Y", &m, &n));
  PetscCall(PetscLogEventBegin(MUON_Compress, c, Y, 0, 0));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  if (add == PETSC_TRUE) PetscCall(MatDenseGetArray(Y, &y));
  else PetscCall(MatDenseGetArrayWrite(Y, &y));
  PetscCall(MuonCompressorReceive_Private(c, m, n, bytes, buf, valid, NULL, add, scale, y, ldy));
  if (add == PETSC_TRUE) PetscCall(MatDenseRestoreArray(Y, &y));
  else PetscCall(MatDenseRestoreArrayWrite(Y, &y));
  PetscCall(PetscLogEventEnd(MUON_Compress, c, Y, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecodeChecked_Private(MuonCompressor c, PetscBool add, PetscReal scale, size_t bytes, const unsigned char buf[], Mat Y)
{
  PetscInt  m, n;
  PetscBool valid;

  PetscFunctionBegin;
  PetscCall(MuonCompressorDecodeValid_Private(c, add, scale, bytes, buf, Y, &valid));
  PetscCall(MatGetSize(Y, &m, &n));
  MuonCompressorCheck(c, valid == PETSC_TRUE, PETSC_ERR_ARG_WRONG, "", "%zu bytes are no message for %" PetscInt_FMT " x %" PetscInt_FMT ", expected what MuonCompressorValidate() accepts", bytes, m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is half applied: of a message of blocks the last is looked at before the first is decoded */
static PetscErrorCode MuonCompressorDecode_Private(MuonCompressor c, PetscBool add, PetscReal scale, size_t bytes, const unsigned char buf[], Mat Y)
{
  PetscInt  m, n, count;
  PetscBool valid = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCheckMat_Private(c, Y, "Y", &m, &n));
  PetscCall(MuonCompressorCountBlocks_Private(c, m, n, &count));
  if (count > 1) PetscCall(MuonCompressorValidateCost_Private(c, m, n, bytes, buf, &valid, NULL));
  MuonCompressorCheck(c, valid == PETSC_TRUE, PETSC_ERR_ARG_WRONG, "", "%zu bytes are no message for %" PetscInt_FMT " x %" PetscInt_FMT ", expected what MuonCompressorValidate() accepts", bytes, m, n);
  PetscCall(MuonCompressorDecodeChecked_Private(c, add, scale, bytes, buf, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorDecode - Overwrites a matrix with what a message holds

   Not Collective; No Fortran Support

   Input Parameters:
+  c     - the compressor
.  bytes - how many bytes the message has
-  buf   - the message, which `MuonCompressorValidate()` accepts

   Output Parameter:
.  Y - the matrix, a `MATSEQDENSE` of the size of the layer

   Level: advanced

   Note:
   A message that `MuonCompressorValidate()` does not accept is an error and leaves the matrix as it was.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`, `MuonCompressorValidate()`, `MuonCompressorDecodeAdd()`
@*/
PetscErrorCode MuonCompressorDecode(MuonCompressor c, size_t bytes, const unsigned char buf[], Mat Y)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(Y, MAT_CLASSID, 4);
  PetscCall(MuonCompressorDecode_Private(c, PETSC_FALSE, 1.0, bytes, buf, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorDecodeAdd - Adds a multiple of what a message holds to a matrix

   Not Collective; No Fortran Support

   Input Parameters:
+  c     - the compressor
.  scale - the factor
.  bytes - how many bytes the message has
.  buf   - the message, which `MuonCompressorValidate()` accepts
-  Y     - the matrix, a `MATSEQDENSE` of the size of the layer

   Output Parameter:
.  Y - the matrix, plus scale times the message

   Level: advanced

   Notes:
   The entries that a sparse message leaves out are not touched, and a low-rank message is added by one product of its factors.

   A message that `MuonCompressorValidate()` does not accept is an error and leaves the matrix as it was.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`, `MuonCompressorValidate()`, `MuonCompressorDecode()`
@*/
PetscErrorCode MuonCompressorDecodeAdd(MuonCompressor c, PetscReal scale, size_t bytes, const unsigned char buf[], Mat Y)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(Y, MAT_CLASSID, 5);
  PetscCall(MuonCompressorDecode_Private(c, PETSC_TRUE, scale, bytes, buf, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorApply - Compresses a matrix: what a receiver of its message would hold

   Not Collective

   Input Parameters:
+  c - the compressor
-  X - the matrix, a `MATSEQDENSE`

   Output Parameter:
.  CX - the compressed matrix, of the same size; it may be `X`

   Level: intermediate

   Note:
   It is `MuonCompressorEncode()` followed by `MuonCompressorDecode()`, to the last bit. Where the status is not `MUON_STATUS_OK`, `CX` is left as it was.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`, `MuonCompressorDecode()`, `MuonCompressorGetAlpha()`, `MuonCompressorGetStatus()`
@*/
PetscErrorCode MuonCompressorApply(MuonCompressor c, Mat X, Mat CX)
{
  MuonWorkspace  work;
  unsigned char *buf;
  size_t         most, bytes;
  PetscInt       m, n;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(CX, MAT_CLASSID, 3);
  PetscCall(MuonCompressorCheckMat_Private(c, X, "X", &m, &n));
  PetscCall(MuonCompressorCheckSame_Private(c, CX, "CX", m, n));
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceGet(work, MUON_WORK_COMPRESSOR_D, most, &buf));
  PetscCall(MuonCompressorEncode(c, X, NULL, most, buf, &bytes));
  if (c->status == MUON_STATUS_OK) PetscCall(MuonCompressorDecode(c, bytes, buf, CX));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorGetCost - Gets what a message costs, in three currencies

   Not Collective; No Fortran Support

   Input Parameters:
+  c     - the compressor
.  m     - rows of the layer
.  n     - its columns
.  bytes - how many bytes the message has
-  buf   - the message

   Output Parameter:
.  cost - bits by the formula of the EF21-Muon paper, bits that are sent, and the entropy of the message

   Level: advanced

   Notes:
   The paper counts 32 bits a float, 16 bits a value in natural compression (or bf16), and for an index of Top-K or of a random entry what `MuonCompressorSetPaperIndexBits()` says; its formula depends on the sizes
   alone. Numbers of rows and columns, and the places and signs of `MUONCOMPRESSORSHARP`, count the bits that number them, and one.

   The entropy is the bound of codes that treat the values one by one and know how often each occurs: the logarithm of the number of possible positions, or the bits of a seed; the entropy of the exponents and one bit a
   sign for natural values of entries that are kept one by one, the entropy of sign and exponent for those of whole matrices, rows and columns and for each factor of a low-rank message; the entropy of quantized entries;
   and the full width of all other values, magnitudes in particular. A row or a column with one entry has as many possible places as it has entries, and two signs.

   With blocks (`MuonCompressorSetBlocks()`) all are sums over these, and what is sent has the header of the group besides.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`, `MuonCompressorSetPaperIndexBits()`, `MuonCompressorGetMaxBytes()`
@*/
PetscErrorCode MuonCompressorGetCost(MuonCompressor c, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], MuonCompressorCost *cost)
{
  PetscBool valid;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(cost, 6);
  PetscCall(MuonCompressorValidateCost_Private(c, m, n, bytes, buf, &valid, cost));
  MuonCompressorCheck(c, valid == PETSC_TRUE, PETSC_ERR_ARG_WRONG, "", "%zu bytes are no message for %" PetscInt_FMT " x %" PetscInt_FMT ", expected what MuonCompressorValidate() accepts", bytes, m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorCommit - Makes the last message part of the compressor's state

   Not Collective

   Input Parameter:
.  c - the compressor

   Level: advanced

   Note:
   A sender calls it once its message is certain to be used. `MUONCOMPRESSORPOWERSGD` has a state to change.

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
.  alpha - such that E ||C(X) - X||^2 <= (1 - alpha) ||X||^2 for every X in the Frobenius norm, or that of `MuonCompressorTopSVDSetSchatten()`, or -1 where none is known

   Level: advanced

   Note:
   It holds for entries, and for a magnitude that is sent for all, in the normal range of how values are written, and up to the rounding of `PetscScalar`. Of blocks (`MuonCompressorSetBlocks()`) it is the smallest, of a matrix
   without entries 1.

.seealso: `MuonCompressor`, `MuonCompressorApply()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonCompressorGetAlpha(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  PetscInt count;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(alpha, 4);
  PetscCall(MuonCompressorCountBlocks_Private(c, m, n, &count));
  *alpha = 1.0;
  for (PetscInt b = 0; b < count && m > 0 && n > 0; b++) {
    MuonBlock block;
    PetscReal one = -1.0;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, m, n, &block));
    PetscTryTypeMethod(c, alpha, block.m, block.n, &one);
    *alpha = b == 0 ? one : PetscMin(*alpha, one);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
