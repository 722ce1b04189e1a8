#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muoncompressorimpl.h>

/* Whether the steps have a natural format, much smaller than a matrix: those of nuclear, l1, rowsum, colsum and l21 */
PetscErrorCode MuonLMOCanEncode(MuonLMO lmo, PetscBool *can)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(lmo, MUONLMO_CLASSID, 1);
  PetscAssertPointer(can, 2);
  PetscCall(MuonLMOStart_Private(lmo));
  *can = lmo->kind != MUON_LMO_NO_KIND ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The compressor of the steps, for whose messages alone it is here */
static PetscErrorCode MuonLMOGetMessage_Private(MuonLMO lmo, MuonCompressor *c)
{
  PetscBool can;
  char      names[256] = "";

  PetscFunctionBegin;
  PetscCall(MuonLMOCanEncode(lmo, &can));
  if (!can) PetscCall(MuonParametersListTypes(MUONLMO_CLASSID, offsetof(struct _p_MuonLMO, kind), sizeof(names), names));
  PetscCheck(can, PetscObjectComm((PetscObject)lmo), PETSC_ERR_SUP, "-%slmo_type %s: its steps have no natural format, expected %s", ((PetscObject)lmo)->prefix != NULL ? ((PetscObject)lmo)->prefix : "", ((PetscObject)lmo)->type_name, names);
  if (lmo->message != NULL && ((MuonCompressorStep *)lmo->message->data)->kind != lmo->kind) PetscCall(MuonCompressorDestroy(&lmo->message));
  if (lmo->message == NULL) PetscCall(MuonCompressorCreateStep_Private(PETSC_COMM_SELF, lmo->kind, &lmo->message));
  if (lmo->message->work != lmo->work) PetscCall(MuonWorkspaceShare(lmo->work, &lmo->message->work));
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
   D as computed by MuonLMOApplyMatrix(), on the host, so that the message has that D to the last bit; or its factors. Sets the
   status
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

PetscErrorCode MuonLMOEncodeArray(MuonLMO lmo, const MuonArray *G, size_t capacity, unsigned char buf[], size_t *bytes)
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
    PetscCall(MuonCompressorEncodeArray(c, &D, NULL, capacity, buf, bytes, PETSC_FALSE, NULL, NULL));
    /* The dual norm may overflow although none of its terms does */
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

PetscErrorCode MuonLMODecodeAxpbyArray(MuonLMO lmo, double a, double b, PetscBool sharp, size_t bytes, const unsigned char buf[], const MuonArray *Y)
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
  PetscCheck(valid, PetscObjectComm((PetscObject)lmo), PETSC_ERR_ARG_WRONG, "%zu bytes are no message for %zu x %zu, expected what is validated", bytes, MuonArrayRows(Y), MuonArrayColumns(Y));
  if (precision != Y->precision) MuonArrayAxpby(1.0, &sent, 0.0, &pinned);
  if (sharp) b *= ((MuonCompressorStep *)c->data)->magnitude;
  PetscCall(MuonLogDeviceBegin(Y->memory, &flops));
  PetscCall(MuonArrayPutPinned(&d, &pinned));
  MuonArrayAxpby(a, Y, b, &d);
  MuonArrayAxpby(1.0, &d, 0.0, Y);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(Y)));
  PetscCall(MuonLogDeviceEnd(Y->memory, flops));
  PetscCall(MuonWorkspaceRelease(lmo->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}
