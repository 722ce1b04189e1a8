/*
   Messages of arrays: headers, blocks, entropy coding, and the check of received messages.
*/
#include <petscmuon/private/muoncompressorcodec.h>

PetscBool MuonCompressorTryCount_Private(MuonCompressorLayout *layout, uint64_t count)
{
  MuonWireMessage header = layout->header;
  MuonWireLayout  section;

  header.indices = (uint8_t)MuonWireKindIndices((MuonWireKind)header.kind, layout->rows, layout->columns, count);
  header.count   = count;
  if (MuonWireMessageLayout(&header, layout->rows, layout->columns, &section) != MUON_WIRE_OK || section.bytes > SIZE_MAX - 2 * MUON_WIRE_MESSAGE_HEADER_MOST) return PETSC_FALSE;
  header.bytes    = section.bytes;
  layout->header  = header;
  layout->section = section;
  return PETSC_TRUE;
}

PetscErrorCode MuonCompressorSetCount(MuonCompressor c, MuonCompressorLayout *layout, uint64_t count)
{
  PetscFunctionBegin;
  MuonCompressorCheck(c, MuonCompressorTryCount_Private(layout, count), PETSC_ERR_SUP, "", "no message can hold a layer of %zu vectors of %zu", (size_t)layout->rows, (size_t)layout->columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the cost of a message without blocks, or of a block, from its payload in uncompressed codecs. The headers of a group belong to no block */
static void AddCost(MuonCompressor c, const MuonCompressorLayout *max, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool entropy, MuonCompressorCost *cost)
{
  if (cost == NULL) return;
  /* The cost of a random choice is its expectation */
  cost->paper += layout->chance > 0.0 ? (PetscLogDouble)layout->chance * MuonCompressorPaperBits_Private(max, c->paperbits) : MuonCompressorPaperBits_Private(layout, c->paperbits);
  if (entropy) cost->entropy += MuonCompressorEntropy_Private(layout, payload);
}

PetscErrorCode MuonValidatedDestroy(MuonValidated *message)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(message->buffer));
  PetscCall(PetscMemzero(message, sizeof(*message)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A buffer of at least that many bytes. Its contents are lost when it grows */
static PetscErrorCode MuonValidatedReserve_Private(size_t bytes, MuonValidated *message)
{
  PetscFunctionBegin;
  if (message->capacity >= bytes) PetscFunctionReturn(PETSC_SUCCESS);
  if (message->work != NULL) PetscCall(MuonWorkspaceGet(message->work, bytes, &message->buffer));
  else {
    PetscCall(PetscFree(message->buffer));
    message->capacity = 0;
    PetscCall(PetscMalloc1(bytes, &message->buffer));
  }
  message->capacity = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorGetMaxBytesOf(MuonCompressor c, const MuonArray *shape, size_t *max)
{
  PetscInt count;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetParts_Private(c, shape, &count));
  *max = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  for (PetscInt b = 0; b < count; b++) {
    MuonCompressorCheck(c, c->part[b].bytes <= SIZE_MAX - *max, PETSC_ERR_SUP, "", "no message can hold a layer of %zu vectors of %zu", shape->count, shape->len);
    *max += (size_t)c->part[b].bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Writes block b of T - R at buf + *sent. With entropy coding it is first written into the rest of the buffer own. Adds to both
   lengths and to the cost
*/
static PetscErrorCode MuonCompressorEncodeBlock_Private(MuonCompressor c, PetscInt b, const MuonArray *T, const MuonArray *R, size_t capacity, unsigned char buf[], size_t *sent, MuonValidated *own, PetscBool entropy, MuonCompressorCost *cost)
{
  MuonCompressorLayout max, layout;
  const MuonBlock     *block = MuonCompressorBegin_Private(c, b, &max);
  const MuonArray      tb    = MuonCompressorBlock_Private(T, block);
  MuonArray            rb;
  unsigned             before, after;
  unsigned char       *to = buf + *sent;
  PetscBool            coded;
  PetscLogDouble       flops;
  MuonMark             mark;

  PetscFunctionBegin;
  if (R != NULL) rb = MuonCompressorBlock_Private(R, block);
  layout = max;
  /* Positions and natural codes are written uncompressed, and then entropy-coded if that is shorter */
  coded = MuonWireKindIsCoded((MuonWireKind)max.header.kind, (MuonWireValues)max.header.values) ? PETSC_TRUE : PETSC_FALSE;
  if (coded) {
    if (b == 0) PetscCall(MuonValidatedReserve_Private(capacity, own));
    to = own->buffer + own->bytes;
  }
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  before = MuonWireMessageHeaderBytes(&max.header);
  PetscCall(MuonLogDeviceBegin(T->memory, &flops));
  PetscUseTypeMethod(c, encode, &tb, R != NULL ? &rb : NULL, &layout, to + before);
  PetscCall(MuonLogDeviceEnd(T->memory, flops));
  if (c->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  /* Only now the length of the header is known: a message with a smaller count can have a shorter header */
  after = MuonWireMessageHeaderBytes(&layout.header);
  if (after < before) PetscCall(PetscArraymove(to + after, to + before, (size_t)layout.header.bytes));
  (void)MuonWireMessageWrite(to, &layout.header);
  AddCost(c, &max, &layout, to + after, entropy, cost);
  own->bytes += (size_t)MuonWireMessageBytes(&layout.header);
  own->data = coded ? own->buffer : NULL;
  *sent += (size_t)(coded ? MuonWireMessageCode(to, layout.rows, layout.columns, buf + *sent) : MuonWireMessageBytes(&layout.header));
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorEncodeArray(MuonCompressor c, const MuonArray *T, const MuonArray *R, size_t capacity, unsigned char buf[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost, MuonValidated *own)
{
  MuonValidated      scratch = {NULL, 0, NULL, 0, NULL}, *message = own != NULL ? own : &scratch;
  MuonCompressorCost sum = {0, 0, entropy ? 0 : -1};
  MuonMark           mark;
  PetscInt           count;
  size_t             sent;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetWorkspace(c, &scratch.work));
  PetscCall(MuonWorkspaceMark(c->work, &mark));
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  c->status = MUON_STATUS_OK;
  PetscCall(MuonCompressorGetParts_Private(c, T, &count));
  sent           = count > 1 ? MUON_WIRE_MESSAGE_HEADER_MOST : 0;
  message->bytes = 0;
  for (PetscInt b = 0; b < count && c->status == MUON_STATUS_OK; b++) PetscCall(MuonCompressorEncodeBlock_Private(c, b, T, R, capacity, buf, &sent, message, entropy, cost != NULL ? &sum : NULL));
  if (c->status != MUON_STATUS_OK) sent = message->bytes = 0;
  else if (count > 1) sent = (size_t)MuonWireGroupClose((uint32_t)c->layerhash, (uint64_t)count, sent - MUON_WIRE_MESSAGE_HEADER_MOST, buf);
  if (message->data == NULL) message->data = buf + sent - message->bytes;
  sum.encoded = 8.0 * (PetscLogDouble)sent;
  if (c->status == MUON_STATUS_OK && cost != NULL) *cost = sum;
  *bytes = sent;
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonWorkspaceRelease(c->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Appends the message of a block to the messages before it, message->bytes bytes in all. They stay in the received memory as long
   as all are uncompressed, otherwise they are in the buffer
*/
static PetscErrorCode MuonCompressorValidateBlock_Private(MuonCompressor c, PetscInt b, const MuonArray *shape, size_t bytes, const unsigned char from[], PetscBool entropy, MuonCompressorCost *cost, MuonValidated *message, PetscBool *valid)
{
  const unsigned char *plain;
  unsigned char       *to = NULL;
  MuonCompressorLayout max, layout;
  MuonWireMessage      came, header;
  size_t               need;

  PetscFunctionBegin;
  (void)MuonCompressorBegin_Private(c, b, &max);
  layout = max;
  *valid = PETSC_FALSE;
  if (MuonWireMessageRead(from, bytes, &came) != MUON_WIRE_OK || came.kind != max.header.kind || came.parameter != max.header.parameter) PetscFunctionReturn(PETSC_SUCCESS);
  if (came.count > max.header.count || (max.exact && came.count != max.header.count) || !MuonCompressorTryCount_Private(&layout, came.count)) PetscFunctionReturn(PETSC_SUCCESS);
  if (b == 0) message->data = from;
  if (message->data != message->buffer && !MuonWireMessageIsUncompressed(&came)) {
    need = (size_t)MuonWireMessageBytes(&layout.header);
    if (c->nparts > 1) PetscCall(MuonCompressorGetMaxBytesOf(c, shape, &need));
    PetscCall(MuonValidatedReserve_Private(need, message));
    PetscCall(PetscArraycpy(message->buffer, message->data, message->bytes));
    message->data = message->buffer;
  }
  if (message->data == message->buffer) to = message->buffer + message->bytes;
  if (MuonWireMessageExpand(from, bytes, layout.header.layer, layout.rows, layout.columns, to != NULL ? message->capacity - message->bytes : 0, to, &plain, &header) != MUON_WIRE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (header.values != layout.header.values || header.indices != layout.header.indices) PetscFunctionReturn(PETSC_SUCCESS);
  *valid = PETSC_TRUE;
  if (to != NULL && plain == from) PetscCall(PetscArraycpy(to, from, bytes));
  message->bytes += (size_t)MuonWireMessageBytes(&header);
  AddCost(c, &max, &layout, plain + MuonWireMessageHeaderBytes(&header), entropy, cost);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorValidateArray(MuonCompressor c, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, MuonValidated *message, PetscBool *valid)
{
  PetscInt           count;
  MuonWireGroup      group;
  MuonCompressorCost sum     = {0, 8.0 * (PetscLogDouble)bytes, entropy ? 0 : -1};
  MuonValidated      scratch = {NULL, 0, NULL, 0, NULL};
  MuonMark           mark;

  PetscFunctionBegin;
  if (message == NULL) {
    PetscCall(MuonCompressorGetWorkspace(c, &scratch.work));
    PetscCall(MuonWorkspaceMark(scratch.work, &mark));
    PetscCall(MuonCompressorValidateArray(c, shape, bytes, buf, entropy, cost, &scratch, valid));
    PetscCall(MuonWorkspaceRelease(scratch.work, &mark));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(MuonCompressorGetParts_Private(c, shape, &count));
  *valid         = count == 1 || MuonWireGroupOpen(buf, bytes, (uint32_t)c->layerhash, (uint64_t)count, &group) == MUON_WIRE_OK ? PETSC_TRUE : PETSC_FALSE;
  message->bytes = 0;
  for (PetscInt b = 0; b < count && *valid; b++) {
    const unsigned char *from = count > 1 ? MuonWireGroupNext(&group, &bytes) : buf;

    PetscCall(MuonCompressorValidateBlock_Private(c, b, shape, bytes, from, entropy, cost != NULL ? &sum : NULL, message, valid));
  }
  if (*valid && cost != NULL) *cost = sum;
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecodeValidated(MuonCompressor c, const MuonValidated *message, PetscBool add, double scale, const MuonArray *Y)
{
  const unsigned char *at = message->data;
  MuonWorkspace        work;
  PetscInt             count;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Compress, c, 0, 0, 0));
  PetscCall(PetscLogEventBegin(MUON_Decompress, c, 0, 0, 0));
  PetscCall(MuonCompressorGetWorkspace(c, &work));
  PetscCall(MuonCompressorGetParts_Private(c, Y, &count));
  for (PetscInt b = 0; b < count; b++) {
    MuonWireMessage      header;
    MuonCompressorLayout layout;
    const MuonArray      array = MuonCompressorBlock_Private(Y, MuonCompressorBegin_Private(c, b, &layout));
    PetscLogDouble       flops;
    MuonMark             mark;

    (void)MuonWireMessageRead(at, message->bytes - (size_t)(at - message->data), &header);
    PetscCall(MuonCompressorSetCount(c, &layout, header.count));
    PetscCall(MuonWorkspaceMark(work, &mark));
    PetscCall(MuonLogDeviceBegin(Y->memory, &flops));
    /* A message without entries is zero */
    if (header.count == 0 && !add) PetscCall(MuonArrayZero(&array));
    if (header.count > 0) PetscUseTypeMethod(c, decode, &layout, at + MuonWireMessageHeaderBytes(&header), add, scale, &array);
    PetscCall(MuonLogDeviceEnd(Y->memory, flops));
    PetscCall(MuonWorkspaceRelease(work, &mark));
    at += MuonWireMessageBytes(&header);
  }
  PetscCall(PetscLogEventEnd(MUON_Decompress, c, 0, 0, 0));
  PetscCall(PetscLogEventEnd(MUON_Compress, c, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorDecodeArray(MuonCompressor c, PetscBool add, double scale, size_t bytes, const unsigned char buf[], const MuonArray *Y, PetscBool *valid)
{
  MuonValidated scratch = {NULL, 0, NULL, 0, NULL};
  MuonMark      mark;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetWorkspace(c, &scratch.work));
  PetscCall(MuonWorkspaceMark(scratch.work, &mark));
  PetscCall(MuonCompressorValidateArray(c, Y, bytes, buf, PETSC_FALSE, NULL, &scratch, valid));
  if (*valid) PetscCall(MuonCompressorDecodeValidated(c, &scratch, add, scale, Y));
  PetscCall(MuonWorkspaceRelease(scratch.work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}
