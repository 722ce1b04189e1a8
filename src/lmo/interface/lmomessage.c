#include "../muonlmopoint.h" /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muoncompressorcodec.h>

/*@C
  MuonLMOSetLayerName - Sets the name of the layer whose messages an oracle writes and reads

  Logically Collective

  Input Parameters:
+ lmo  - the object
- name - the name; the empty one without this call

  Level: advanced

  Note:
  The name is part of every message, as a hash: a message of another layer is refused. The oracles of a `Muon`
  have the names of their layers.

.seealso: `MuonLMO`, `MuonLMOEncode()`, `MuonLMOValidate()`
@*/
PetscErrorCode MuonLMOSetLayerName(MuonLMO lmo, const char name[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(name, 2);
  PetscCall(MuonNameHash_Private(name, &lmo->layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLMOCanEncode - Tells whether the steps of an oracle have a natural format, much smaller than a matrix

  Not Collective

  Input Parameter:
. lmo - the object

  Output Parameter:
. can - `PETSC_TRUE` for `MUONLMONUCLEAR`, `MUONLMOL1`, `MUONLMOROWSUM`, `MUONLMOCOLSUM` and `MUONLMOL21`

  Level: advanced

.seealso: `MuonLMO`, `MuonLMOEncode()`
@*/
PetscErrorCode MuonLMOCanEncode(MuonLMO lmo, PetscBool *can)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(can, 2);
  if (((PetscObject)lmo)->type_name == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  *can = lmo->form != MUON_LMO_NO_FORM ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOEncodableNames_Private(size_t length, char names[])
{
  const char **known;
  PetscInt    *order;
  int          count;

  PetscFunctionBegin;
  names[0] = '\0';
  PetscCall(PetscFunctionListGet(MuonLMOList, &known, &count));
  /* Some releases count an empty name at the end, some have the names in any order */
  while (count > 0 && known[count - 1] == NULL) count--;
  PetscCall(PetscMalloc1(count, &order));
  for (int i = 0; i < count; i++) order[i] = i;
  PetscCall(PetscSortStrWithPermutation(count, known, order));
  for (int i = 0; i < count; i++) {
    MuonLMO   one;
    PetscBool can;

    PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &one));
    PetscCall(MuonLMOSetType(one, known[order[i]]));
    PetscCall(MuonLMOCanEncode(one, &can));
    PetscCall(MuonLMODestroy(&one));
    if (can == PETSC_FALSE) continue;
    if (names[0] != '\0') PetscCall(PetscStrlcat(names, ", ", length));
    PetscCall(PetscStrlcat(names, known[order[i]], length));
  }
  PetscCall(PetscFree(order));
  PetscCall(PetscFree(known));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOCheckForm_Private(MuonLMO lmo)
{
  PetscBool can;
  char      names[256];

  PetscFunctionBegin;
  PetscCall(MuonLMOCanEncode(lmo, &can));
  if (can == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOEncodableNames_Private(sizeof(names), names));
  SETERRQ(PetscObjectComm((PetscObject)lmo), PETSC_ERR_SUP, "-%slmo_type %s: its steps have no natural format, expected one of: %s", ((PetscObject)lmo)->prefix != NULL ? ((PetscObject)lmo)->prefix : "", ((PetscObject)lmo)->type_name, names);
}

PetscErrorCode MuonLMOGetMaxBytesOf(MuonLMO lmo, const MuonArray *shape, size_t *bytes)
{
  MuonLMOFormat   format;
  MuonWireMessage whole, part;

  PetscFunctionBegin;
  PetscCall(MuonLMOCheckForm_Private(lmo));
  PetscCall(MuonLMOGetFormat_Private(lmo, shape, &format));
  PetscCall(MuonLMOHeader_Private(lmo, &format, format.most, &whole));
  /* Without one line of all the others need their positions */
  PetscCall(MuonLMOHeader_Private(lmo, &format, PetscMax(format.most - 1, 0), &part));
  *bytes = (size_t)PetscMax(MuonWireMessageBytes(&whole), MuonWireMessageBytes(&part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a message of so many bytes, whose plain payload is here */
static PetscErrorCode MuonLMOGetCost_Private(const MuonLMOFormat *format, size_t bytes, const MuonWireMessage *plain, const unsigned char payload[], PetscBool entropy, MuonCompressorCost *cost)
{
  PetscFunctionBegin;
  if (cost == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  cost->paper   = plain->count > 0 ? MuonCompressorPaperBits_Private(plain, format->rows, format->columns, PETSC_DETERMINE) : 0.0;
  cost->encoded = 8.0 * (PetscLogDouble)bytes;
  cost->entropy = -1.0;
  if (entropy == PETSC_TRUE) PetscCall(MuonCompressorEntropy_Private(plain, format->rows, format->columns, payload, &cost->entropy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOEncodeArray(MuonLMO lmo, const MuonArray *G, size_t capacity, unsigned char buf[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost)
{
  MuonLMOFormat   format;
  MuonWireMessage header;
  size_t          most;
  PetscInt64      count;
  unsigned char  *plain;
  MuonMark        mark;

  PetscFunctionBegin;
  PetscCall(MuonLMOGetMaxBytesOf(lmo, G, &most));
  PetscCheck(capacity >= most, PetscObjectComm((PetscObject)lmo), PETSC_ERR_ARG_SIZ, "Room for %zu bytes, expected the %zu of MuonLMOGetMaxBytes()", capacity, most);
  PetscCall(PetscLogEventBegin(MUON_LMO, lmo, 0, 0, 0));
  *bytes = 0;
  PetscCall(MuonLMOGetFormat_Private(lmo, G, &format));
  PetscCall(MuonLMOWorkspace_Private(lmo));
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  PetscCall(MuonWorkspaceGet(lmo->work, most + MUON_WIRE_MESSAGE_HEADER_MOST, &plain));
  plain += MUON_WIRE_MESSAGE_HEADER_MOST;
  PetscCall(MuonLMOPayload_Private(lmo, G, &count, plain));
  if (lmo->status == MUON_STATUS_OK) {
    PetscCall(MuonLMOHeader_Private(lmo, &format, count, &header));
    /* The header ends where the payload begins */
    (void)MuonWireMessageWrite(plain - MuonWireMessageHeaderBytes(&header), &header);
    *bytes = (size_t)MuonWireMessageCompact(plain - MuonWireMessageHeaderBytes(&header), (uint64_t)format.rows, (uint64_t)format.columns, buf);
    PetscCall(MuonLMOGetCost_Private(&format, *bytes, &header, plain, entropy, cost));
  }
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_LMO, lmo, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether bytes are a message that an object like this one could have written; if so, its payload in plain
   codecs, which may be in scratch memory: the caller has the mark
*/
static PetscErrorCode MuonLMOExpand_Private(MuonLMO lmo, const MuonLMOFormat *format, size_t bytes, const unsigned char message[], MuonWireMessage *plain, const unsigned char **payload, PetscBool *valid)
{
  const uint64_t       m = (uint64_t)format->rows, n = (uint64_t)format->columns;
  MuonWireMessage      header, expected;
  const unsigned char *whole;
  unsigned char       *room     = NULL;
  size_t               capacity = 0;

  PetscFunctionBegin;
  *valid = PETSC_FALSE;
  if (MuonWireMessageRead(message, bytes, &header) != MUON_WIRE_OK || header.count > (uint64_t)format->most) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonWireMessagePlainHeader(&header, m, n, plain) != MUON_WIRE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOHeader_Private(lmo, format, (PetscInt64)header.count, &expected));
  if (plain->form != expected.form || plain->indices != expected.indices || plain->values != expected.values) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLMOWorkspace_Private(lmo));
  if (!MuonWireMessageIsPlain(&header)) {
    capacity = (size_t)MuonWireMessageBytes(&expected);
    PetscCall(MuonWorkspaceGet(lmo->work, capacity, &room));
  }
  if (MuonWireMessageExpand(message, bytes, expected.layer, m, n, capacity, room, &whole, plain) != MUON_WIRE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  *payload = whole + MuonWireMessageHeaderBytes(plain);
  PetscCall(MuonLMOPayloadCheck_Private(lmo, format, (PetscInt64)plain->count, *payload, valid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOValidateArray(MuonLMO lmo, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, PetscBool *valid)
{
  const unsigned char *payload;
  MuonLMOFormat        format;
  MuonWireMessage      plain;
  MuonMark             mark;

  PetscFunctionBegin;
  PetscCall(MuonLMOCheckForm_Private(lmo));
  PetscCall(MuonLMOGetFormat_Private(lmo, shape, &format));
  PetscCall(MuonLMOWorkspace_Private(lmo));
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  PetscCall(MuonLMOExpand_Private(lmo, &format, bytes, buf, &plain, &payload, valid));
  if (*valid == PETSC_TRUE) PetscCall(MuonLMOGetCost_Private(&format, bytes, &plain, payload, entropy, cost));
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of D that are written on the host before they go to a device */
enum {
  FAR_ENTRIES = 1 << 20
};

PetscErrorCode MuonLMODecodeAxpbyArray(MuonLMO lmo, double a, double b, size_t bytes, const unsigned char buf[], const MuonArray *Y)
{
  const MuonKernels   *kernels = MuonArrayKernels(Y);
  const size_t         lines   = Y->memory == MUON_HOST ? 1 : PetscMax(FAR_ENTRIES / PetscMax(Y->len, 1), 1);
  PetscLogDouble       flops;
  const unsigned char *payload;
  MuonLMOFormat        format;
  MuonLMOPoint         point;
  MuonWireMessage      plain;
  MuonArray            part = *Y, line, near, d;
  PetscBool            valid;
  MuonMark             mark, here;

  PetscFunctionBegin;
  PetscCall(MuonLMOCheckForm_Private(lmo));
  PetscCall(MuonLMOGetFormat_Private(lmo, Y, &format));
  /* Steps of a state in another precision than the weights */
  if (MuonWireMessageRead(buf, bytes, &plain) == MUON_WIRE_OK && (plain.values == MUON_WIRE_VALUES_SINGLE || plain.values == MUON_WIRE_VALUES_DOUBLE)) format.values = (MuonWireValues)plain.values;
  PetscCall(MuonLMOWorkspace_Private(lmo));
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  PetscCall(MuonLMOExpand_Private(lmo, &format, bytes, buf, &plain, &payload, &valid));
  PetscCheck(valid == PETSC_TRUE, PetscObjectComm((PetscObject)lmo), PETSC_ERR_ARG_WRONG, "%zu bytes are no message for %" PetscInt64_FMT " x %" PetscInt64_FMT ", expected what MuonLMOValidate() accepts", bytes, format.rows, format.columns);
  PetscCall(PetscLogEventBegin(MUON_LMO, lmo, 0, 0, 0));
  PetscCall(MuonLMOPointOpen_Private(lmo, &format, (PetscInt64)plain.count, payload, &point));
  PetscCall(MuonLogDeviceBegin(Y->memory, &flops));
  for (size_t j = 0; j < Y->count; j += lines) {
    part.data  = (char *)Y->data + j * Y->ld * kernels->size;
    part.count = PetscMin(lines, Y->count - j);
    PetscCall(MuonWorkspaceMark(lmo->work, &here));
    PetscCall(MuonWorkspaceGetArray(lmo->work, &part, Y->precision, &d));
    PetscCall(MuonArrayGetPinned(lmo->work, &d, PETSC_FALSE, &near));
    line       = near;
    line.count = 1;
    for (size_t k = 0; k < part.count; k++) {
      line.data = (char *)near.data + k * near.len * kernels->size;
      PetscCall(MuonLMOPointLine_Private(lmo, &point, (PetscInt64)(j + k), &line));
    }
    PetscCall(MuonArrayPutPinned(&d, &near));
    /*
       As it is done to a whole D: also what is added where D is zero is the same, down to the sign of a zero
    */
    MuonArrayAxpby(a, &part, b, &d);
    MuonArrayAxpby(1.0, &d, 0.0, &part);
    PetscCall(MuonWorkspaceRelease(lmo->work, &here));
  }
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(Y)));
  PetscCall(MuonLogDeviceEnd(Y->memory, flops));
  PetscCall(PetscLogEventEnd(MUON_LMO, lmo, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLMOCheckLayer_Private(MuonLMO lmo, Mat A)
{
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(MuonLMOCheckForm_Private(lmo));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQDENSE, &dense));
  PetscCheck(dense == PETSC_TRUE, PetscObjectComm((PetscObject)lmo), PETSC_ERR_SUP, "Matrix of type %s, expected %s for messages of -%slmo_type %s", ((PetscObject)A)->type_name, MATSEQDENSE,
             ((PetscObject)lmo)->prefix != NULL ? ((PetscObject)lmo)->prefix : "", ((PetscObject)lmo)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOGetMaxBytes - Gets the most bytes that a message of a step takes

  Not Collective

  Input Parameters:
+ lmo - the object, whose steps have a natural format
. m   - rows of the layer
- n   - its columns

  Output Parameter:
. bytes - the most bytes, the header of the message included

  Level: advanced

.seealso: `MuonLMO`, `MuonLMOEncode()`, `MuonLMOCanEncode()`
@*/
PetscErrorCode MuonLMOGetMaxBytes(MuonLMO lmo, PetscInt m, PetscInt n, size_t *bytes)
{
  const MuonArray shape = MuonArrayOfScalars(m, n, NULL, m);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(bytes, 4);
  PetscCall(MuonLMOGetMaxBytesOf(lmo, &shape, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOEncode - Minimizes the inner product with a matrix over the unit ball of the norm, and writes the
  minimizer in its natural format

  Not Collective

  Input Parameters:
+ lmo      - the object, whose steps have a natural format: `MUONLMONUCLEAR`, `MUONLMOL1`, `MUONLMOROWSUM`, `MUONLMOCOLSUM` or `MUONLMOL21`
. G        - the matrix, `MATSEQDENSE`; it is not modified
- capacity - the bytes that `message` has room for, at least what `MuonLMOGetMaxBytes()` says

  Output Parameters:
+ message - the message
- bytes   - how many bytes it takes, 0 where there is none

  Level: advanced

  Notes:
  The message holds $D$ of `MuonLMOApply()` to the last bit, in a form of `src/wire/README.md`, and the dual
  norm $\|G\|_*$, so that a receiver has the sharp operator $G^\sharp = -\|G\|_* D$ too\:
.vb
  nuclear   sigma_1, u, v                                     1 + m + n numbers
  l1        the place and the value of one entry
  rowsum    the place and the sign of one entry a row, which rows have one if not all, the dual norm
  colsum    the place and the sign of one entry a column, which columns have one if not all, the dual norm
  l21       the place of a column, the dual norm, m numbers
.ve
  Numbers are in the precision of the matrix; a place takes as many bits, or bytes where it stands alone, as
  it needs.

  `MuonLMOGetStatus()` tells whether it worked, as for `MuonLMOApply()`; a dual norm that is too large for a
  number is `MUON_STATUS_NANORINF` here.

  This is lossless compression by the choice of a norm, appendix D.1 of K. Gruntkowska, A. Gaponov, Z.
  Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonLMO`, `MuonLMOApply()`, `MuonLMOCanEncode()`, `MuonLMOGetMaxBytes()`, `MuonLMOValidate()`, `MuonLMODecodeAdd()`, `MuonLMOSetLayerName()`
@*/
PetscErrorCode MuonLMOEncode(MuonLMO lmo, Mat G, size_t capacity, unsigned char message[], size_t *bytes)
{
  MuonMatrix g;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscAssertPointer(message, 4);
  PetscAssertPointer(bytes, 5);
  PetscCall(MuonLMOCheckLayer_Private(lmo, G));
  PetscCall(MuonMatGetMatrix(G, PETSC_FALSE, &g));
  PetscCall(MuonLMOEncodeArray(lmo, &g.here, capacity, message, bytes, PETSC_FALSE, NULL));
  PetscCall(MuonMatRestoreMatrix(G, PETSC_FALSE, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOValidate - Tells whether bytes are a message of a step that an object like this one could have
  written

  Not Collective

  Input Parameters:
+ lmo     - the object, of the sender's type
. m       - rows of the layer
. n       - its columns
. bytes   - how many bytes came
- message - the bytes

  Output Parameter:
. valid - whether the layer, the codecs, all sizes, places and numbers are in order

  Level: advanced

  Note:
  No byte is trusted, and no number among them is used before it has been checked. After a true answer the
  message can be decoded.

.seealso: `MuonLMO`, `MuonLMOEncode()`, `MuonLMODecodeAdd()`
@*/
PetscErrorCode MuonLMOValidate(MuonLMO lmo, PetscInt m, PetscInt n, size_t bytes, const unsigned char message[], PetscBool *valid)
{
  const MuonArray shape = MuonArrayOfScalars(m, n, NULL, m);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(valid, 6);
  PetscCall(MuonLMOValidateArray(lmo, &shape, bytes, message, PETSC_FALSE, NULL, valid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMODecodeAdd - Adds a multiple of the step that a message holds to a matrix

  Not Collective

  Input Parameters:
+ lmo     - the object, of the sender's type
. scale   - the factor
. bytes   - how many bytes the message has
. message - the message, which `MuonLMOValidate()` accepts
- Y       - the matrix, `MATSEQDENSE`, of the size of the layer

  Output Parameter:
. Y - the matrix, plus scale times the minimizer $D$ of `MuonLMOApply()`

  Level: advanced

  Note:
  The bits are those of `MuonLMOApply()` at the sender, and the sum is the same for every receiver.

.seealso: `MuonLMO`, `MuonLMOEncode()`, `MuonLMOValidate()`, `MuonLMOApply()`
@*/
PetscErrorCode MuonLMODecodeAdd(MuonLMO lmo, PetscReal scale, size_t bytes, const unsigned char message[], Mat Y)
{
  MuonMatrix y;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(message, 4);
  PetscValidHeaderSpecific(Y, MAT_CLASSID, 5);
  PetscCall(MuonLMOCheckLayer_Private(lmo, Y));
  PetscCall(MuonMatGetMatrix(Y, PETSC_TRUE, &y));
  PetscCall(MuonLMODecodeAxpbyArray(lmo, 1, scale, bytes, message, &y.here));
  PetscCall(MuonMatRestoreMatrix(Y, PETSC_TRUE, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
