/*
   Messages of arrays: headers, blocks, entropy coding and the check of what came.
*/
#include <petscmuon/private/muoncompressorcodec.h>

static PetscErrorCode MuonCompressorGetLayout_Private(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(layout, sizeof(*layout)));
  layout->rows    = (PetscInt64)shape->count;
  layout->columns = (PetscInt64)shape->len;
  PetscUseTypeMethod(c, layout, shape, layout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a matrix is sent in full or, where it is zero or dropped, not at all: no count between is one of a
   message
*/
static PetscBool MuonCompressorIsFull_Private(const MuonCompressorLayout *layout)
{
  return layout->kind == MUON_WIRE_DENSE || layout->kind == MUON_WIRE_SIGNS || layout->kind == MUON_WIRE_BLOCKS ? PETSC_TRUE : PETSC_FALSE;
}

/* The header of a message of count things, its length included */
static PetscErrorCode MuonCompressorHeader_Private(MuonCompressor c, const MuonCompressorLayout *layout, PetscInt64 count, MuonWireMessage *header)
{
  const uint64_t rows = (uint64_t)layout->rows, columns = (uint64_t)layout->columns;
  MuonWireResult result;

  PetscFunctionBegin;
  header->layer     = (uint32_t)c->blockhash;
  header->form      = (uint8_t)layout->kind;
  header->values    = (uint8_t)layout->values;
  header->indices   = (uint8_t)MuonWireFormIndices((MuonWireForm)layout->kind, rows, columns, (uint64_t)count);
  header->parameter = (uint8_t)layout->parameter;
  header->count     = (uint64_t)count;
  result            = MuonWirePayloadBytes(header, rows, columns, &header->bytes);
  MuonCompressorCheck(c, result == MUON_WIRE_OK && header->bytes <= SIZE_MAX - 2 * MUON_WIRE_MESSAGE_HEADER_MOST, PETSC_ERR_SUP, "", "no message can hold a layer of %" PetscInt64_FMT " vectors of %" PetscInt64_FMT, layout->rows, layout->columns);
  /*
     A block of four random numbers has 32 bits for its place; low-rank factors have up to twice as many
     entries as their product
  */
  MuonCompressorCheck(c, layout->values != MUON_WIRE_VALUES_NATURAL || rows * columns <= (uint64_t)1 << 33, PETSC_ERR_SUP, "", "a layer of %" PetscInt64_FMT " vectors of %" PetscInt64_FMT ", expected at most 2^33 entries with natural values",
                      layout->rows, layout->columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorSections_Private(MuonCompressor c, const MuonArray *shape, PetscInt64 count, MuonWireIndices *indices, MuonWireLayout *sections)
{
  MuonCompressorLayout layout;
  MuonWireMessage      header;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetLayout_Private(c, shape, &layout));
  PetscCall(MuonCompressorHeader_Private(c, &layout, count, &header));
  (void)MuonWireMessageLayout(&header, (uint64_t)layout.rows, (uint64_t)layout.columns, sections);
  if (indices != NULL) *indices = (MuonWireIndices)header.indices;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether bytes begin with a header that an object like this one writes, of a message that ends where they
   end; plain is the header of that message in uncompressed codecs
*/
static PetscErrorCode MuonCompressorFits_Private(MuonCompressor c, const MuonCompressorLayout *layout, size_t bytes, const unsigned char buf[], MuonWireMessage *came, MuonWireMessage *plain, PetscBool *fits)
{
  MuonWireMessage expected;

  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  if (MuonWireMessageRead(buf, bytes, came) != MUON_WIRE_OK || MuonWireMessageBytes(came) != bytes) PetscFunctionReturn(PETSC_SUCCESS);
  if (came->count > (uint64_t)layout->count || (layout->exact && came->count != (uint64_t)layout->count)) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonWireMessagePlainHeader(came, (uint64_t)layout->rows, (uint64_t)layout->columns, plain) != MUON_WIRE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* A count that is in order for another kind may be none of this one */
  if (plain->form != (uint8_t)layout->kind || plain->values != (uint8_t)layout->values || plain->parameter != (uint8_t)layout->parameter) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorHeader_Private(c, layout, (PetscInt64)came->count, &expected));
  if (plain->layer != expected.layer || plain->indices != expected.indices) PetscFunctionReturn(PETSC_SUCCESS);
  *fits = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Adds the cost of a message of a layer without blocks, or of a block, from its header and payload in
   uncompressed codecs; the headers of a group are in no block
*/
static PetscErrorCode MuonCompressorAddCost_Private(MuonCompressor c, const MuonCompressorLayout *layout, const MuonWireMessage *header, const unsigned char payload[], PetscBool entropy, MuonCompressorCost *cost)
{
  MuonWireMessage counted = *header;
  PetscLogDouble  bits;

  PetscFunctionBegin;
  /* What falls by chance costs its expectation */
  if (layout->chance > 0.0) counted.count = (uint64_t)layout->count;
  cost->paper += (layout->chance > 0.0 ? (PetscLogDouble)layout->chance : 1.0) * MuonCompressorPaperBits_Private(&counted, layout->rows, layout->columns, c->paperbits);
  if (!entropy) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorEntropy_Private(header, layout->rows, layout->columns, payload, &bits));
  cost->entropy += bits;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonCompressorBeginCost_Private(size_t bytes, PetscBool entropy, MuonCompressorCost *cost)
{
  cost->paper   = 0;
  cost->encoded = 8.0 * (PetscLogDouble)bytes;
  cost->entropy = entropy ? 0 : -1;
}

PetscErrorCode MuonValidatedDestroy(MuonValidated *message)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(message->buffer));
  PetscCall(PetscMemzero(message, sizeof(*message)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A buffer of so many bytes, of which nothing is kept where it grows; or scratch memory, of which the caller has the mark */
static PetscErrorCode MuonValidatedReserve_Private(MuonCompressor c, PetscBool scratch, size_t bytes, MuonValidated *message)
{
  PetscFunctionBegin;
  if (scratch) PetscCall(MuonWorkspaceGet(c->work, bytes, &message->buffer));
  else if (message->capacity < bytes) {
    PetscCall(PetscFree(message->buffer));
    message->capacity = 0;
    PetscCall(PetscMalloc1(bytes, &message->buffer));
  }
  message->capacity = PetscMax(message->capacity, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorGetMaxBytesOf(MuonCompressor c, const MuonArray *shape, size_t *max)
{
  PetscInt count;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCountBlocks_Private(c, shape, &count));
  *max = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
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
    /* A message that leaves out one row or column may be longer, by the positions of the others */
    if (!layout.exact && layout.count > 0 && !MuonCompressorIsFull_Private(&layout)) {
      PetscCall(MuonCompressorHeader_Private(c, &layout, layout.count - 1, &header));
      bytes = PetscMax(bytes, (size_t)MuonWireMessageBytes(&header));
    }
    MuonCompressorCheck(c, bytes <= SIZE_MAX - *max, PETSC_ERR_SUP, "", "no message can hold a layer of %zu vectors of %zu", shape->count, shape->len);
    *max += bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Block b of T - R at to, in what is left of own or in scratch memory first where it is entropy-coded. Both
   lengths and the cost are added to
*/
static PetscErrorCode MuonCompressorEncodeBlock_Private(MuonCompressor c, PetscInt count, PetscInt b, const MuonArray *T, const MuonArray *R, size_t capacity, unsigned char buf[], size_t *sent, PetscBool scratch, MuonValidated *own,
                                                        PetscBool entropy, MuonCompressorCost *cost)
{
  MuonArray            tb, rb;
  MuonBlock            block;
  MuonCompressorLayout layout;
  MuonWireMessage      header;
  PetscInt64           things = 0;
  unsigned             before, after;
  unsigned char       *to = buf + *sent;
  PetscBool            coded;
  PetscLogDouble       flops;
  MuonMark             mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  PetscCall(MuonCompressorBeginBlock_Private(c, count, b, T, &block));
  tb = MuonCompressorBlock_Private(T, &block);
  if (R != NULL) rb = MuonCompressorBlock_Private(R, &block);
  PetscCall(MuonCompressorGetLayout_Private(c, &tb, &layout));
  PetscCall(MuonCompressorHeader_Private(c, &layout, layout.count, &header));
  /* Positions and natural codes are written uncompressed, then close to their entropy where that is shorter */
  coded = MuonWireFormCompacts((MuonWireForm)layout.kind, (MuonWireValues)layout.values) ? PETSC_TRUE : PETSC_FALSE;
  if (coded) {
    if (b == 0 || scratch) PetscCall(MuonValidatedReserve_Private(c, scratch, capacity + MUON_WIRE_MESSAGE_HEADER_MOST, own));
    to = own->buffer + (scratch ? 0 : own->bytes);
  }
  before = MuonWireMessageHeaderBytes(&header);
  PetscCall(MuonLogDeviceBegin(T->memory, &flops));
  PetscUseTypeMethod(c, encode, &tb, R != NULL ? &rb : NULL, &things, to + before);
  PetscCall(MuonLogDeviceEnd(T->memory, flops));
  if (c->status != MUON_STATUS_OK) {
    PetscCall(MuonWorkspaceRelease(c->work, &mark));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* How long the header is, is known now: a message of fewer things may have a shorter one */
  PetscCall(MuonCompressorHeader_Private(c, &layout, things, &header));
  after = MuonWireMessageHeaderBytes(&header);
  if (after < before) PetscCall(PetscArraymove(to + after, to + before, (size_t)header.bytes));
  (void)MuonWireMessageWrite(to, &header);
  if (cost != NULL) PetscCall(MuonCompressorAddCost_Private(c, &layout, &header, to + after, entropy, cost));
  own->bytes += (size_t)MuonWireMessageBytes(&header);
  own->data = coded ? own->buffer : NULL;
  *sent += (size_t)(coded ? MuonWireMessageCompact(to, (uint64_t)layout.rows, (uint64_t)layout.columns, buf + *sent) : MuonWireMessageBytes(&header));
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorEncodeArray(MuonCompressor c, const MuonArray *T, const MuonArray *R, size_t capacity, unsigned char buf[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost, MuonValidated *own)
{
  MuonValidated      scratch = {NULL, 0, NULL, 0}, *message = own != NULL ? own : &scratch;
  MuonCompressorCost sum;
  MuonWorkspace      work;
  PetscInt           count;
  size_t             sent;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  c->status = MUON_STATUS_OK;
  MuonCompressorBeginCost_Private(0, entropy, &sum);
  PetscCall(MuonCompressorCountBlocks_Private(c, T, &count));
  sent           = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  message->bytes = 0;
  for (PetscInt b = 0; b < count && c->status == MUON_STATUS_OK; b++) PetscCall(MuonCompressorEncodeBlock_Private(c, count, b, T, R, capacity, buf, &sent, own == NULL ? PETSC_TRUE : PETSC_FALSE, message, entropy, cost != NULL ? &sum : NULL));
  if (c->status != MUON_STATUS_OK) sent = message->bytes = 0;
  else if (count > 1) sent = (size_t)MuonWireGroupClose((uint32_t)c->layerhash, (uint64_t)count, sent - MUON_WIRE_MESSAGE_HEADER_MOST, buf);
  if (message->data == NULL) message->data = buf + sent - message->bytes;
  sum.encoded = 8.0 * (PetscLogDouble)sent;
  if (c->status == MUON_STATUS_OK && cost != NULL) *cost = sum;
  *bytes = sent;
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The message of a block behind those before it, message->bytes long together: where they came as long as all
   are uncompressed, else in the buffer
*/
static PetscErrorCode MuonCompressorValidateBlock_Private(MuonCompressor c, PetscInt count, PetscInt b, const MuonArray *shape, size_t bytes, const unsigned char from[], PetscBool entropy, MuonCompressorCost *cost, PetscBool scratch,
                                                          MuonValidated *message, PetscBool *valid)
{
  const unsigned char *plain;
  unsigned char       *to = NULL;
  MuonArray            array;
  MuonBlock            block;
  MuonCompressorLayout layout;
  MuonWireMessage      came, header;
  size_t               max;

  PetscFunctionBegin;
  PetscCall(MuonCompressorBeginBlock_Private(c, count, b, shape, &block));
  array = MuonCompressorBlock_Private(shape, &block);
  PetscCall(MuonCompressorGetLayout_Private(c, &array, &layout));
  PetscCall(MuonCompressorFits_Private(c, &layout, bytes, from, &came, &header, valid));
  if (!*valid) PetscFunctionReturn(PETSC_SUCCESS);
  if (b == 0) message->data = from;
  if (message->data != message->buffer && !MuonWireMessageIsPlain(&came)) {
    max = (size_t)MuonWireMessageBytes(&header);
    if (count > 1) PetscCall(MuonCompressorGetMaxBytesOf(c, shape, &max));
    PetscCall(MuonValidatedReserve_Private(c, scratch, max, message));
    PetscCall(PetscArraycpy(message->buffer, message->data, message->bytes));
    message->data = message->buffer;
  }
  if (message->data == message->buffer) to = message->buffer + message->bytes;
  *valid = MuonWireMessageExpand(from, bytes, header.layer, (uint64_t)layout.rows, (uint64_t)layout.columns, to != NULL ? message->capacity - message->bytes : 0, to, &plain, &header) == MUON_WIRE_OK ? PETSC_TRUE : PETSC_FALSE;
  if (!*valid) PetscFunctionReturn(PETSC_SUCCESS);
  if (to != NULL && plain == from) PetscCall(PetscArraycpy(to, from, bytes));
  message->bytes += (size_t)MuonWireMessageBytes(&header);
  if (cost != NULL) PetscCall(MuonCompressorAddCost_Private(c, &layout, &header, plain + MuonWireMessageHeaderBytes(&header), entropy, cost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The message is in scratch memory where scratch is true: then the caller has the mark */
static PetscErrorCode MuonCompressorValidate_Private(MuonCompressor c, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, PetscBool scratch, MuonValidated *message, PetscBool *valid)
{
  PetscInt           count;
  MuonWireGroup      group;
  MuonCompressorCost sum;
  MuonWorkspace      work;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  MuonCompressorBeginCost_Private(bytes, entropy, &sum);
  PetscCall(MuonCompressorCountBlocks_Private(c, shape, &count));
  *valid         = count == 1 || MuonWireGroupOpen(buf, bytes, (uint32_t)c->layerhash, (uint64_t)count, &group) == MUON_WIRE_OK ? PETSC_TRUE : PETSC_FALSE;
  message->bytes = 0;
  for (PetscInt b = 0; b < count && *valid; b++) {
    const unsigned char *from = count > 1 ? MuonWireGroupNext(&group, &bytes) : buf;

    PetscCall(MuonCompressorValidateBlock_Private(c, count, b, shape, bytes, from, entropy, cost != NULL ? &sum : NULL, scratch, message, valid));
  }
  if (*valid && cost != NULL) *cost = sum;
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValidateArray(MuonCompressor c, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, MuonValidated *message, PetscBool *valid)
{
  MuonValidated scratch = {NULL, 0, NULL, 0};
  MuonWorkspace work;
  MuonMark      mark;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceMark(work, &mark));
  PetscCall(MuonCompressorValidate_Private(c, shape, bytes, buf, entropy, cost, message == NULL ? PETSC_TRUE : PETSC_FALSE, message == NULL ? &scratch : message, valid));
  PetscCall(MuonWorkspaceRelease(work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecodeValidated(MuonCompressor c, const MuonValidated *message, PetscBool add, double scale, const MuonArray *Y)
{
  const unsigned char *at = message->data;
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
    (void)MuonWireMessageRead(at, message->bytes - (size_t)(at - message->data), &header);
    PetscCall(MuonWorkspaceMark(work, &mark));
    PetscCall(MuonLogDeviceBegin(Y->memory, &flops));
    /* A message of nothing is zero */
    if (header.count == 0 && !add) PetscCall(MuonArrayZero(&array));
    if (header.count > 0) PetscUseTypeMethod(c, decode, (PetscInt64)header.count, at + MuonWireMessageHeaderBytes(&header), add, scale, &array);
    PetscCall(MuonLogDeviceEnd(Y->memory, flops));
    PetscCall(MuonWorkspaceRelease(work, &mark));
    at += MuonWireMessageBytes(&header);
  }
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecodeArray(MuonCompressor c, PetscBool add, double scale, size_t bytes, const unsigned char buf[], const MuonArray *Y, PetscBool *valid)
{
  MuonValidated scratch = {NULL, 0, NULL, 0};
  MuonWorkspace work;
  MuonMark      mark;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonWorkspaceMark(work, &mark));
  PetscCall(MuonCompressorValidate_Private(c, Y, bytes, buf, PETSC_FALSE, NULL, PETSC_TRUE, &scratch, valid));
  if (*valid) PetscCall(MuonCompressorDecodeValidated(c, &scratch, add, scale, Y));
  PetscCall(MuonWorkspaceRelease(work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}
