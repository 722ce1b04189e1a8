#include <petscmuon/private/muoncompressorcodec.h> /*I "petscmuoncompressor.h" I*/

/* What is not looked at but for its sizes */
static MuonArray MuonCompressorShape_Private(PetscInt m, PetscInt n)
{
  return MuonArrayOfScalars(m, n, NULL, m);
}

static PetscErrorCode MuonCompressorGetArray_Private(MuonCompressor c, Mat A, const char what[], PetscBool write, const MuonArray *same, MuonMatrix *matrix)
{
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQDENSE, &dense));
  MuonCompressorCheck(c, dense == PETSC_TRUE, PETSC_ERR_ARG_WRONG, "", "%s is a matrix of type %s, expected %s", what, ((PetscObject)A)->type_name, MATSEQDENSE);
  PetscCall(MuonMatGetMatrix(A, write, matrix));
  MuonCompressorCheck(c, same == NULL || (matrix->here.len == same->len && matrix->here.count == same->count), PETSC_ERR_ARG_SIZ, "", "%s is %zu x %zu, expected %zu x %zu", what, matrix->here.len, matrix->here.count, same->len, same->count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorGetLayout_Private(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(layout, sizeof(*layout)));
  layout->rows    = (PetscInt64)shape->count;
  layout->columns = (PetscInt64)shape->len;
  PetscUseTypeMethod(c, layout, shape, layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MuonArray MuonCompressorBlock_Private(const MuonArray *A, const MuonBlock *block)
{
  return MuonArrayPart(A, (size_t)block->row, (size_t)block->column, (size_t)block->m, (size_t)block->n);
}

/*
   Whether a matrix is sent whole or, where it is zero or dropped, not at all: no count between is one of a
   message
*/
static PetscBool MuonCompressorIsWhole_Private(const MuonCompressorLayout *layout)
{
  return layout->form == MUON_WIRE_DENSE || layout->form == MUON_WIRE_SIGNS || layout->form == MUON_WIRE_BLOCKS ? PETSC_TRUE : PETSC_FALSE;
}

/* The header of a message of count things, its length included */
static PetscErrorCode MuonCompressorHeader_Private(MuonCompressor c, const MuonCompressorLayout *layout, PetscInt64 count, MuonWireMessage *header)
{
  const uint64_t rows = (uint64_t)layout->rows, columns = (uint64_t)layout->columns;
  MuonWireResult result;

  PetscFunctionBegin;
  header->layer     = (uint32_t)c->blockhash;
  header->form      = (uint8_t)layout->form;
  header->values    = (uint8_t)layout->values;
  header->indices   = (uint8_t)MuonWireFormIndices((MuonWireForm)layout->form, rows, columns, (uint64_t)count);
  header->parameter = (uint8_t)layout->parameter;
  header->count     = (uint64_t)count;
  result            = MuonWirePayloadBytes(header, rows, columns, &header->bytes);
  MuonCompressorCheck(c, result == MUON_WIRE_OK && header->bytes <= SIZE_MAX - 2 * MUON_WIRE_MESSAGE_HEADER_MOST, PETSC_ERR_SUP, "", "no message can hold a layer of %" PetscInt64_FMT " lines of %" PetscInt64_FMT, layout->rows, layout->columns);
  /*
     A block of four random numbers has 32 bits for its place; low-rank factors have up to twice as many
     entries as their product
  */
  MuonCompressorCheck(c, layout->values != MUON_WIRE_VALUES_NATURAL || rows * columns <= (uint64_t)1 << 33, PETSC_ERR_SUP, "", "a layer of %" PetscInt64_FMT " lines of %" PetscInt64_FMT ", expected at most 2^33 entries with natural values",
                      layout->rows, layout->columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether bytes begin with a header that an object like this one writes, of a message that ends where they
   end; plain is the header of that message in plain codecs
*/
static PetscErrorCode MuonCompressorFits_Private(MuonCompressor c, const MuonCompressorLayout *layout, size_t bytes, const unsigned char buf[], MuonWireMessage *came, MuonWireMessage *plain, PetscBool *fits)
{
  MuonWireMessage expected;

  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  if (MuonWireMessageRead(buf, bytes, came) != MUON_WIRE_OK || MuonWireMessageBytes(came) != bytes) PetscFunctionReturn(PETSC_SUCCESS);
  if (came->count > (uint64_t)layout->count || (layout->exact == PETSC_TRUE && came->count != (uint64_t)layout->count)) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonWireMessagePlainHeader(came, (uint64_t)layout->rows, (uint64_t)layout->columns, plain) != MUON_WIRE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* A count that is in order for another form may be none of this one */
  if (plain->form != (uint8_t)layout->form || plain->values != (uint8_t)layout->values || plain->parameter != (uint8_t)layout->parameter) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorHeader_Private(c, layout, (PetscInt64)came->count, &expected));
  if (plain->layer != expected.layer || plain->indices != expected.indices) PetscFunctionReturn(PETSC_SUCCESS);
  *fits = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Adds what a message of a layer that is not cut, or of a block, costs, from its header and payload in plain
   codecs; the headers of a group are in no block
*/
static PetscErrorCode MuonCompressorAddCost_Private(MuonCompressor c, const MuonCompressorLayout *layout, const MuonWireMessage *header, const unsigned char payload[], PetscBool entropy, MuonCompressorCost *cost)
{
  MuonWireMessage counted = *header;
  PetscLogDouble  bits;

  PetscFunctionBegin;
  /* What falls by chance costs its expectation */
  if (layout->chance > 0.0) counted.count = (uint64_t)layout->count;
  cost->paper += (layout->chance > 0.0 ? (PetscLogDouble)layout->chance : 1.0) * MuonCompressorPaperBits_Private(&counted, layout->rows, layout->columns, c->paperbits);
  if (entropy == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorEntropy_Private(header, layout->rows, layout->columns, payload, &bits));
  cost->entropy += bits;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonCompressorBeginCost_Private(size_t bytes, PetscBool entropy, MuonCompressorCost *cost)
{
  cost->paper   = 0;
  cost->encoded = 8.0 * (PetscLogDouble)bytes;
  cost->entropy = entropy == PETSC_TRUE ? 0 : -1;
}

/* Room for that many bytes, of which nothing is kept where it grows */
static PetscErrorCode MuonOpenedGrow_Private(MuonOpened *opened, size_t bytes)
{
  PetscFunctionBegin;
  if (opened->capacity < bytes) {
    PetscCall(PetscFree(opened->room));
    opened->capacity = 0;
    PetscCall(PetscMalloc1(bytes, &opened->room));
    opened->capacity = bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonOpenedDestroy(MuonOpened *opened)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(opened->room));
  PetscCall(PetscMemzero(opened, sizeof(*opened)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message in scratch memory, of which the caller has the mark */
static PetscErrorCode MuonCompressorGetScratch_Private(MuonCompressor c, size_t most, MuonOpened *scratch)
{
  MuonWorkspace work;

  PetscFunctionBegin;
  scratch->capacity = most + MUON_WIRE_MESSAGE_HEADER_MOST;
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceGet(work, scratch->capacity, &scratch->room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorGetMaxBytesOf(MuonCompressor c, const MuonArray *shape, size_t *most)
{
  PetscInt count;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCountBlocks_Private(c, shape, &count));
  *most = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonBlock            block;
    MuonArray            array;
    MuonCompressorLayout layout;
    MuonWireMessage      header;
    size_t               bytes;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, shape, &block));
    array = MuonCompressorBlock_Private(shape, &block);
    PetscCall(MuonCompressorGetLayout_Private(c, &array, &layout));
    PetscCall(MuonCompressorHeader_Private(c, &layout, layout.count, &header));
    bytes = (size_t)MuonWireMessageBytes(&header);
    /* A message that leaves out one line of all may be longer, by the positions of the others */
    if (layout.exact == PETSC_FALSE && layout.count > 0 && MuonCompressorIsWhole_Private(&layout) == PETSC_FALSE) {
      PetscCall(MuonCompressorHeader_Private(c, &layout, layout.count - 1, &header));
      bytes = PetscMax(bytes, (size_t)MuonWireMessageBytes(&header));
    }
    MuonCompressorCheck(c, bytes <= SIZE_MAX - *most, PETSC_ERR_SUP, "", "no message can hold a layer of %zu lines of %zu", shape->count, shape->len);
    *most += bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorEncodeArray(MuonCompressor c, const MuonArray *T, const MuonArray *R, size_t capacity, unsigned char buf[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost, MuonOpened *own)
{
  MuonOpened         scratch = {NULL, 0, NULL, 0}, *opened = own != NULL ? own : &scratch;
  MuonCompressorCost sum;
  MuonWorkspace      work;
  PetscInt           count;
  size_t             most, sent, plainbytes = 0;
  PetscBool          compacts = PETSC_FALSE;
  MuonMark           mark;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetMaxBytesOf(c, T, &most));
  MuonCompressorCheck(c, capacity >= most, PETSC_ERR_ARG_SIZ, "", "room for %zu bytes, expected the %zu of MuonCompressorGetMaxBytes()", capacity, most);
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonWorkspaceMark(work, &mark));
  c->status = MUON_STATUS_OK;
  MuonCompressorBeginCost_Private(0, entropy, &sum);
  PetscCall(MuonCompressorCountBlocks_Private(c, T, &count));
  sent = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonArray            tb, rb;
    MuonBlock            block;
    MuonCompressorLayout layout;
    MuonWireMessage      header;
    PetscInt64           things = 0;
    unsigned             before, after;
    unsigned char       *plain;
    PetscLogDouble       flops;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, T, &block));
    tb = MuonCompressorBlock_Private(T, &block);
    if (R != NULL) rb = MuonCompressorBlock_Private(R, &block);
    PetscCall(MuonCompressorGetLayout_Private(c, &tb, &layout));
    PetscCall(MuonCompressorHeader_Private(c, &layout, layout.count, &header));
    /* Positions and natural codes are written plain, then close to their entropy where that is shorter */
    compacts = MuonWireFormCompacts((MuonWireForm)layout.form, (MuonWireValues)layout.values) ? PETSC_TRUE : PETSC_FALSE;
    if (compacts == PETSC_FALSE) plain = buf + sent;
    else {
      if (own == NULL) PetscCall(MuonCompressorGetScratch_Private(c, most, &scratch));
      else if (b == 0) PetscCall(MuonOpenedGrow_Private(own, most + MUON_WIRE_MESSAGE_HEADER_MOST));
      plain = opened->room + (own != NULL ? plainbytes : 0);
    }
    before = MuonWireMessageHeaderBytes(&header);
    PetscCall(MuonLogDeviceBegin(T->memory, &flops));
    PetscUseTypeMethod(c, encode, &tb, R != NULL ? &rb : NULL, &things, plain + before);
    PetscCall(MuonLogDeviceEnd(T->memory, flops));
    if (c->status != MUON_STATUS_OK) break;
    /* How long the header is, is known now: a message of less than all may have a shorter one */
    PetscCall(MuonCompressorHeader_Private(c, &layout, things, &header));
    after = MuonWireMessageHeaderBytes(&header);
    if (after < before) PetscCall(PetscArraymove(plain + after, plain + before, (size_t)header.bytes));
    (void)MuonWireMessageWrite(plain, &header);
    plainbytes += (size_t)MuonWireMessageBytes(&header);
    sent += (size_t)(compacts == PETSC_TRUE ? MuonWireMessageCompact(plain, (uint64_t)layout.rows, (uint64_t)layout.columns, buf + sent) : MuonWireMessageBytes(&header));
    if (cost != NULL) PetscCall(MuonCompressorAddCost_Private(c, &layout, &header, plain + after, entropy, &sum));
    PetscCall(MuonWorkspaceRelease(work, &mark));
  }
  PetscCall(MuonWorkspaceRelease(work, &mark));
  if (c->status != MUON_STATUS_OK) sent = plainbytes = 0;
  else if (count > 1) sent = (size_t)MuonWireGroupClose((uint32_t)c->layerhash, (uint64_t)count, sent - MUON_WIRE_MESSAGE_HEADER_MOST, buf);
  opened->data  = compacts == PETSC_TRUE ? opened->room : buf + sent - plainbytes;
  opened->bytes = plainbytes;
  sum.encoded   = 8.0 * (PetscLogDouble)sent;
  if (c->status == MUON_STATUS_OK && cost != NULL) *cost = sum;
  *bytes = sent;
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* opened is in scratch memory where scratch is true: then the caller has the mark */
static PetscErrorCode MuonCompressorOpen_Private(MuonCompressor c, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, PetscBool scratch, MuonOpened *opened, PetscBool *valid)
{
  PetscInt           count;
  MuonWireGroup      group;
  MuonCompressorCost sum;
  MuonWorkspace      work;
  size_t             most, some = bytes;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  MuonCompressorBeginCost_Private(bytes, entropy, &sum);
  PetscCall(MuonCompressorCountBlocks_Private(c, shape, &count));
  *valid        = count == 1 || MuonWireGroupOpen(buf, bytes, (uint32_t)c->layerhash, (uint64_t)count, &group) == MUON_WIRE_OK ? PETSC_TRUE : PETSC_FALSE;
  opened->bytes = 0;
  for (PetscInt b = 0; b < count && *valid == PETSC_TRUE; b++) {
    const unsigned char *from = count > 1 ? MuonWireGroupNext(&group, &some) : buf, *plain;
    MuonArray            array;
    MuonBlock            block;
    MuonCompressorLayout layout;
    MuonWireMessage      came, header;
    MuonWireLayout       sections;
    MuonMark             mark;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, shape, &block));
    array = MuonCompressorBlock_Private(shape, &block);
    PetscCall(MuonCompressorGetLayout_Private(c, &array, &layout));
    PetscCall(MuonCompressorFits_Private(c, &layout, some, from, &came, &header, valid));
    if (*valid == PETSC_FALSE) break;
    /* As long as messages are plain they are used where they are, end to end */
    if (b == 0) opened->data = from;
    if (opened->data != opened->room && !MuonWireMessageIsPlain(&came)) {
      const unsigned char *first = opened->data;

      PetscCall(MuonCompressorGetMaxBytesOf(c, shape, &most));
      if (scratch == PETSC_TRUE) PetscCall(MuonCompressorGetScratch_Private(c, most, opened));
      else PetscCall(MuonOpenedGrow_Private(opened, most));
      PetscCall(PetscArraycpy(opened->room, first, opened->bytes));
      opened->data = opened->room;
      PetscCall(MuonCompressorBeginBlock_Private(c, count, b, shape, &block));
    }
    if (MuonWireMessageExpand(from, some, header.layer, (uint64_t)layout.rows, (uint64_t)layout.columns, opened->data == opened->room ? opened->capacity - opened->bytes : 0, opened->data == opened->room ? opened->room + opened->bytes : NULL, &plain,
                              &header) != MUON_WIRE_OK)
      *valid = PETSC_FALSE;
    if (*valid == PETSC_FALSE) break;
    if (opened->data == opened->room && plain == from) PetscCall(PetscArraycpy(opened->room + opened->bytes, from, some));
    opened->bytes += (size_t)MuonWireMessageBytes(&header);
    plain += MuonWireMessageHeaderBytes(&header);
    (void)MuonWireMessageLayout(&header, (uint64_t)layout.rows, (uint64_t)layout.columns, &sections);
    PetscCall(MuonCompressorValuesFit_Private((MuonWireValues)header.values, shape->precision, (PetscInt64)sections.values, plain + sections.valuesat, valid));
    PetscCall(MuonWorkspaceMark(work, &mark));
    if (*valid == PETSC_TRUE) PetscTryTypeMethod(c, validate, &array, (PetscInt64)header.count, plain, valid);
    PetscCall(MuonWorkspaceRelease(work, &mark));
    if (*valid == PETSC_TRUE && cost != NULL) PetscCall(MuonCompressorAddCost_Private(c, &layout, &header, plain, entropy, &sum));
  }
  if (*valid == PETSC_TRUE && cost != NULL) *cost = sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorOpen(MuonCompressor c, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, MuonOpened *opened, PetscBool *valid)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonCompressorOpen_Private(c, shape, bytes, buf, entropy, cost, PETSC_FALSE, opened, valid));
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecodeOpened(MuonCompressor c, const MuonOpened *opened, PetscBool add, double scale, const MuonArray *Y)
{
  const unsigned char *at = opened->data;
  MuonWorkspace        work;
  PetscInt             count;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonCompressorCountBlocks_Private(c, Y, &count));
  for (PetscInt b = 0; b < count; b++) {
    MuonArray       array;
    MuonBlock       block;
    MuonWireMessage header;
    PetscLogDouble  flops;
    MuonMark        mark;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, Y, &block));
    array = MuonCompressorBlock_Private(Y, &block);
    (void)MuonWireMessageRead(at, opened->bytes - (size_t)(at - opened->data), &header);
    PetscCall(MuonLogDeviceBegin(Y->memory, &flops));
    PetscCall(MuonWorkspaceMark(work, &mark));
    PetscUseTypeMethod(c, decode, (PetscInt64)header.count, at + MuonWireMessageHeaderBytes(&header), add, scale, &array);
    PetscCall(MuonWorkspaceRelease(work, &mark));
    PetscCall(MuonLogDeviceEnd(Y->memory, flops));
    at += MuonWireMessageBytes(&header);
  }
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecodeArray(MuonCompressor c, PetscBool add, double scale, size_t bytes, const unsigned char buf[], const MuonArray *Y, PetscBool *valid)
{
  MuonOpened    opened = {NULL, 0, NULL, 0};
  MuonWorkspace work;
  MuonMark      mark;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceMark(work, &mark));
  PetscCall(MuonCompressorOpen_Private(c, Y, bytes, buf, PETSC_FALSE, NULL, PETSC_TRUE, &opened, valid));
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  if (*valid == PETSC_TRUE) PetscCall(MuonCompressorDecodeOpened(c, &opened, add, scale, Y));
  PetscCall(MuonWorkspaceRelease(work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   MuonCompressorIsAssignment - Tells whether a receiver gets the matrix itself, to be assigned, and not a
   difference to be added

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
  PetscCall(MuonCompressorSetDefaultType_Private(c));
  *assignment = c->assignment;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorGetMaxBytes - Gets the most bytes that a message of a layer takes

   Not Collective

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
  const MuonArray shape = MuonCompressorShape_Private(m, n);

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
.  T        - what the receiver should come to, a `MATSEQDENSE`
.  R        - what it has, of the same size, or `NULL` for zero
-  capacity - the bytes that `buf` has room for, at least what `MuonCompressorGetMaxBytes()` says

   Output Parameters:
+  buf   - the message
-  bytes - how many bytes it takes, 0 where it could not be written

   Level: advanced

   Notes:
   The message is C(T - R), but T itself where `MuonCompressorIsAssignment()`.

   It takes effect with the receiver's `MuonCompressorDecodeAdd()` (or `MuonCompressorDecode()` for an
   assignment), which the sender applies to its own copy too, and with `MuonCompressorCommit()`: encoding
   changes no state, the same call writes the same bytes again.

   Entries that are not finite are no error: look at `MuonCompressorGetStatus()`.

.seealso: `MuonCompressor`, `MuonCompressorGetMaxBytes()`, `MuonCompressorValidate()`, `MuonCompressorDecodeAdd()`, `MuonCompressorCommit()`, `MuonCompressorGetStatus()`
@*/
PetscErrorCode MuonCompressorEncode(MuonCompressor c, Mat T, Mat R, size_t capacity, unsigned char buf[], size_t *bytes)
{
  MuonMatrix t, r;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(T, MAT_CLASSID, 2);
  if (R != NULL) PetscValidHeaderSpecific(R, MAT_CLASSID, 3);
  PetscAssertPointer(buf, 5);
  PetscAssertPointer(bytes, 6);
  PetscCall(MuonCompressorGetArray_Private(c, T, "T", PETSC_FALSE, NULL, &t));
  if (R != NULL) PetscCall(MuonCompressorGetArray_Private(c, R, "R", PETSC_FALSE, &t.here, &r));
  PetscCall(MuonCompressorEncodeArray(c, &t.here, R != NULL ? &r.here : NULL, capacity, buf, bytes, PETSC_FALSE, NULL, NULL));
  if (R != NULL) PetscCall(MuonMatRestoreMatrix(R, PETSC_FALSE, &r));
  PetscCall(MuonMatRestoreMatrix(T, PETSC_FALSE, &t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorValidateCost_Private(MuonCompressor c, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[], PetscBool *valid, MuonCompressorCost *cost)
{
  const MuonArray shape  = MuonCompressorShape_Private(m, n);
  MuonOpened      opened = {NULL, 0, NULL, 0};
  MuonWorkspace   work;
  MuonMark        mark;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceMark(work, &mark));
  PetscCall(MuonCompressorOpen_Private(c, &shape, bytes, buf, PETSC_TRUE, cost, PETSC_TRUE, &opened, valid));
  PetscCall(MuonWorkspaceRelease(work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorValidate - Tells whether bytes are a message that an object like this one could have written

   Not Collective

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
   No byte is trusted, and no number among them is used before it has been checked. After a true answer the
   message can be decoded.

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

static PetscErrorCode MuonCompressorDecode_Private(MuonCompressor c, PetscBool add, PetscReal scale, size_t bytes, const unsigned char buf[], Mat Y)
{
  MuonMatrix y;
  PetscBool  valid;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetArray_Private(c, Y, "Y", PETSC_TRUE, NULL, &y));
  PetscCall(MuonCompressorDecodeArray(c, add, (double)scale, bytes, buf, &y.here, &valid));
  PetscCall(MuonMatRestoreMatrix(Y, PETSC_TRUE, &y));
  MuonCompressorCheck(c, valid == PETSC_TRUE, PETSC_ERR_ARG_WRONG, "", "%zu bytes are no message for %" PetscInt_FMT " x %" PetscInt_FMT ", expected what MuonCompressorValidate() accepts", bytes, y.rows, y.columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorDecode - Overwrites a matrix with what a message holds

   Not Collective

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

   Not Collective

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
   The entries that a sparse message leaves out are not touched, and a low-rank message is added by one
   product of its factors.

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
   It is `MuonCompressorEncode()` followed by `MuonCompressorDecode()`, to the last bit. Where the status is
   not `MUON_STATUS_OK`, `CX` is left as it was.

.seealso: `MuonCompressor`, `MuonCompressorEncode()`, `MuonCompressorDecode()`, `MuonCompressorGetAlpha()`, `MuonCompressorGetStatus()`
@*/
PetscErrorCode MuonCompressorApply(MuonCompressor c, Mat X, Mat CX)
{
  MuonWorkspace  work;
  MuonMatrix     x, cx;
  MuonOpened     own;
  unsigned char *buf;
  size_t         most, bytes;
  MuonMark       mark;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(CX, MAT_CLASSID, 3);
  PetscCall(MuonCompressorGetArray_Private(c, X, "X", PETSC_FALSE, NULL, &x));
  PetscCall(MuonCompressorGetArray_Private(c, CX, "CX", PETSC_TRUE, &x.here, &cx));
  PetscCall(MuonCompressorGetMaxBytesOf(c, &x.here, &most));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceMark(work, &mark));
  PetscCall(MuonWorkspaceGet(work, most, &buf));
  PetscCall(PetscMemzero(&own, sizeof(own)));
  PetscCall(MuonCompressorEncodeArray(c, &x.here, NULL, most, buf, &bytes, PETSC_FALSE, NULL, &own));
  if (c->status == MUON_STATUS_OK) PetscCall(MuonCompressorDecodeOpened(c, &own, PETSC_FALSE, 1.0, &cx.here));
  PetscCall(MuonOpenedDestroy(&own));
  PetscCall(MuonWorkspaceRelease(work, &mark));
  PetscCall(MuonMatRestoreMatrix(CX, PETSC_TRUE, &cx));
  PetscCall(MuonMatRestoreMatrix(X, PETSC_FALSE, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MuonCompressorGetCost - Gets what a message costs, in three currencies

   Not Collective

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
   The paper counts 32 bits a float, 16 bits a value in natural compression (or bf16), and for an index of
   Top-K or of a random entry what `MuonCompressorSetPaperIndexBits()` says; of a message with fewer things
   than the most only those that are there count. Numbers of rows and columns, and the places and signs of
   steps (`MuonLMOEncode()`), count the bits that number them, and one.

   The entropy is the bound of codes that treat the values one by one and know how often each occurs: the
   logarithm of the number of possible positions, or the bits of a seed; the entropy of the exponents and one
   bit a sign for natural values of entries that are kept one by one, the entropy of sign and exponent for
   those of whole matrices, rows and columns and for each factor of a low-rank message; the entropy of
   quantized entries; and the full width of all other values, magnitudes in particular. A row or a column with
   one entry has as many possible places as it has entries, and two signs.

   With blocks (`MuonCompressorSetBlocks()`) all are sums over these, and what is sent has the header of the
   group besides.

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
   It holds for entries, and for a magnitude that is sent for all, in the normal range of how values are
   written, and up to the rounding of `PetscScalar`. Of blocks (`MuonCompressorSetBlocks()`) it is the
   smallest, of a matrix without entries 1.

.seealso: `MuonCompressor`, `MuonCompressorApply()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonCompressorGetAlpha(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *alpha)
{
  const MuonArray shape = MuonCompressorShape_Private(m, n);
  PetscInt        count;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(c, MUONCOMPRESSOR_CLASSID, 1);
  PetscAssertPointer(alpha, 4);
  PetscCall(MuonCompressorCountBlocks_Private(c, &shape, &count));
  *alpha = 1.0;
  for (PetscInt b = 0; b < count && m > 0 && n > 0; b++) {
    MuonBlock block;
    MuonArray array;
    PetscReal one = -1.0;

    PetscCall(MuonCompressorBeginBlock_Private(c, count, b, &shape, &block));
    array = MuonCompressorBlock_Private(&shape, &block);
    PetscTryTypeMethod(c, alpha, &array, &one);
    *alpha = b == 0 ? one : PetscMin(*alpha, one);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
