#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muoncompressorimpl.h>
#include <petscmuon/private/muonwire.h>

/*@C
  MuonLMOSetLayerName - Sets the name of the layer whose messages an LMO writes and reads

  Logically Collective

  Input Parameters:
+ lmo  - the object
- name - the name; the empty one without this call

  Level: advanced

  Note:
  The name is part of every message, as a hash: a message of another layer is refused. The LMOs of a `Muon`
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
  MuonLMOCanEncode - Tells whether the steps of an LMO have a natural format, much smaller than a matrix

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
  PetscCall(MuonLMOStart_Private(lmo));
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

/* The compressor of the steps, for whose messages alone it is here */
static PetscErrorCode MuonLMOGetMessage_Private(MuonLMO lmo, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOCheckForm_Private(lmo));
  if (lmo->message != NULL && ((MuonCompressorStep *)lmo->message->data)->kind != lmo->form) PetscCall(MuonCompressorDestroy(&lmo->message));
  if (lmo->message == NULL) PetscCall(MuonCompressorCreateStep_Private(PETSC_COMM_SELF, lmo->form, &lmo->message));
  if (lmo->message->work != lmo->work) PetscCall(MuonCompressorSetWorkspace(lmo->message, lmo->work));
  lmo->message->layerhash = lmo->layer;
  *c                      = lmo->message;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOGetMaxBytesOf(MuonLMO lmo, const MuonArray *shape, size_t *bytes)
{
  MuonCompressor c;

  PetscFunctionBegin;
  PetscCall(MuonLMOGetMessage_Private(lmo, &c));
  PetscCall(MuonCompressorGetMaxBytesOf(c, shape, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   D as MuonLMOApplyMatrix() would give it, on the host, so that what is sent is that D to the last bit; or its
   factors. Sets the status
*/
static PetscErrorCode MuonLMOGetStep_Private(MuonLMO lmo, const MuonArray *G, MuonCompressorStep *step, MuonArray *D)
{
  const MuonMatrix matrix = MuonMatrixOfArray(G);
  const size_t     m      = MuonArrayRows(G);
  MuonMatrix       point;
  MuonArray        d;
  double          *u;

  PetscFunctionBegin;
  *D        = MuonArrayLike(G, G->precision, NULL);
  D->memory = MUON_HOST;
  PetscCall(MuonLMOStart_Private(lmo));
  if (step->kind == MUON_WIRE_TRIPLES) {
    PetscCall(MuonWorkspaceGet(lmo->work, (m + MuonArrayColumns(G)) * sizeof(double), &u));
    step->u = u;
    step->v = u + m;
    PetscUseTypeMethod(lmo, factors, &matrix, u, u + m, &step->magnitude, &step->found);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonWorkspaceGetArray(lmo->work, G, G->precision, &d));
  point = MuonMatrixOfArray(&d);
  PetscUseTypeMethod(lmo, apply, &matrix, &point, &step->magnitude);
  if (step->magnitude != step->magnitude) lmo->status = MUON_STATUS_NANORINF;
  if (lmo->status == MUON_STATUS_OK) PetscCall(MuonArrayGetPinned(lmo->work, &d, PETSC_TRUE, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOEncodeArray(MuonLMO lmo, const MuonArray *G, size_t capacity, unsigned char buf[], size_t *bytes, PetscBool entropy, MuonCompressorCost *cost)
{
  MuonCompressor      c;
  MuonCompressorStep *step;
  MuonArray           D;
  MuonMark            mark;

  PetscFunctionBegin;
  *bytes = 0;
  PetscCall(MuonLMOGetMessage_Private(lmo, &c));
  step = (MuonCompressorStep *)c->data;
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  PetscCall(PetscLogEventBegin(MUON_LMO, lmo, 0, 0, 0));
  PetscCall(MuonLMOGetStep_Private(lmo, G, step, &D));
  PetscCall(PetscLogEventEnd(MUON_LMO, lmo, 0, 0, 0));
  if (lmo->status == MUON_STATUS_OK) {
    PetscCall(MuonCompressorEncodeArray(c, &D, NULL, capacity, buf, bytes, entropy, cost, NULL));
    /* The dual norm may be too large for a number where none of its terms is */
    lmo->status = c->status;
    if (lmo->status == MUON_STATUS_OK) lmo->dual = step->magnitude;
  }
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMOValidateArray(MuonLMO lmo, const MuonArray *shape, size_t bytes, const unsigned char buf[], PetscBool entropy, MuonCompressorCost *cost, PetscBool *valid)
{
  MuonCompressor c;

  PetscFunctionBegin;
  PetscCall(MuonLMOGetMessage_Private(lmo, &c));
  PetscCall(MuonCompressorValidateArray(c, shape, bytes, buf, entropy, cost, NULL, valid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLMODecodeAxpbyArray(MuonLMO lmo, double a, double b, size_t bytes, const unsigned char buf[], const MuonArray *Y)
{
  MuonPrecision   precision = Y->precision;
  PetscLogDouble  flops;
  MuonCompressor  c;
  MuonWireMessage header;
  MuonArray       d, pinned, sent;
  PetscBool       valid;
  MuonMark        mark;

  PetscFunctionBegin;
  PetscCall(MuonLMOGetMessage_Private(lmo, &c));
  PetscCall(MuonWorkspaceMark(lmo->work, &mark));
  PetscCall(MuonWorkspaceGetArray(lmo->work, Y, Y->precision, &d));
  PetscCall(MuonArrayGetPinned(lmo->work, &d, PETSC_FALSE, &pinned));
  sent = pinned;
  /* A step of a state in another precision than the weights is rounded as the D of its sender */
  if (MuonWireMessageRead(buf, bytes, &header) == MUON_WIRE_OK) precision = header.values == MUON_WIRE_VALUES_SINGLE ? MUON_SINGLE : MUON_DOUBLE;
  if (precision != Y->precision) PetscCall(MuonWorkspaceGetArray(lmo->work, &pinned, precision, &sent));
  PetscCall(MuonCompressorDecodeArray(c, PETSC_FALSE, 1, bytes, buf, &sent, &valid));
  PetscCheck(valid, PetscObjectComm((PetscObject)lmo), PETSC_ERR_ARG_WRONG, "%zu bytes are no message for %zu x %zu, expected what MuonLMOValidate() accepts", bytes, MuonArrayRows(Y), MuonArrayColumns(Y));
  if (precision != Y->precision) MuonArrayAxpby(1.0, &sent, 0.0, &pinned);
  PetscCall(MuonLogDeviceBegin(Y->memory, &flops));
  PetscCall(MuonArrayPutPinned(&d, &pinned));
  MuonArrayAxpby(a, Y, b, &d);
  MuonArrayAxpby(1.0, &d, 0.0, Y);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(Y)));
  PetscCall(MuonLogDeviceEnd(Y->memory, flops));
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
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
  MuonLMOGetMaxBytes - Gets the largest number of bytes that a message of a step takes

  Not Collective

  Input Parameters:
+ lmo - the object, whose steps have a natural format
. m   - rows of the layer
- n   - its columns

  Output Parameter:
. bytes - the number, the header of the message included

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
- capacity - the size of `message`, at least what `MuonLMOGetMaxBytes()` says

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

  The message is empty where `MuonLMOApply()` would have another status than `MUON_STATUS_OK`, or the dual norm is
  too large for a number.

  This is lossless compression by the choice of a norm, appendix D.1 of K. Gruntkowska, A. Gaponov, Z.
  Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, https://arxiv.org/abs/2510.00643

.seealso: `MuonLMO`, `MuonLMOApply()`, `MuonLMOCanEncode()`, `MuonLMOGetMaxBytes()`, `MuonLMOValidate()`, `MuonLMODecodeAdd()`, `MuonLMOSetLayerName()`
@*/
PetscErrorCode MuonLMOEncode(MuonLMO lmo, Mat G, size_t capacity, unsigned char message[], size_t *bytes)
{
  MuonMatrix g;
  size_t     max;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscValidHeaderSpecific(G, MAT_CLASSID, 2);
  PetscAssertPointer(message, 4);
  PetscAssertPointer(bytes, 5);
  PetscCall(MuonLMOCheckLayer_Private(lmo, G));
  PetscCall(MuonMatGetMatrix(G, PETSC_FALSE, &g));
  PetscCall(MuonLMOGetMaxBytesOf(lmo, &g.here, &max));
  PetscCheck(capacity >= max, PetscObjectComm((PetscObject)lmo), PETSC_ERR_ARG_SIZ, "A buffer of %zu bytes, expected the %zu of MuonLMOGetMaxBytes()", capacity, max);
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
