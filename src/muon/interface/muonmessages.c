#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muoncompressorimpl.h>
#include "../../wire/muonwire.h"
#include "../../kernels/muonpolarkernels.h"

/*
   What the algorithms have in common around the exchange: messages of all active layers out of the gradients' buffers, their sum at a server, the check of what servers sent.
*/

static PetscErrorCode MuonSendUpMessages_Private(Muon muon, const MuonCompressor c[], const Mat reference[], MuonStatus *status)
{
  const PetscInt *order;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetOrder(muon->exchange, &order));
  for (PetscInt k = 0; k < muon->nactive && *status == MUON_STATUS_OK; k++) {
    const PetscInt     i     = order[k];
    MuonLayer          layer = muon->active[i];
    MuonCompressorCost cost;
    MuonStatus         encoded;
    size_t             most, bytes;
    unsigned char     *to;

    PetscCall(MuonCompressorSetStep(c[i], muon->step));
    PetscCall(MuonCompressorGetMaxBytes(c[i], layer->m, layer->n, &most));
    PetscCall(MuonExchangeUpReserve(muon->exchange, i, most, &to));
    PetscCall(MuonCompressorEncodeCost_Private(c[i], layer->gradient, reference != NULL ? reference[i] : NULL, most, to, &bytes, &cost));
    PetscCall(MuonCompressorGetStatus(c[i], &encoded));
    PetscCall(MuonWorse_Private(encoded, status));
    if (encoded != MUON_STATUS_OK) break;
    PetscCall(MuonCountMessage_Private(&cost, muon->traffic.up));
    PetscCall(MuonExchangeUpAdvance(muon->exchange, i, bytes));
  }
  PetscCall(MuonExchangeUp(muon->exchange, *status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSendUpSums_Private(Muon muon, const Mat sum[])
{
  const PetscScalar **in;
  PetscScalar       **out;
  PetscInt           *length;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(muon->nactive, &in, muon->nactive, &out, muon->nactive, &length));
  for (PetscInt i = 0; i < muon->nactive; i++) {
    length[i] = muon->active[i]->m * muon->active[i]->n;
    out[i]    = NULL;
    PetscCall(MatDenseGetArrayRead(muon->active[i]->gradient, &in[i]));
    if (sum[i] != NULL) PetscCall(MatDenseGetArrayWrite(sum[i], &out[i]));
    muon->traffic.up[0] += 32.0 * (PetscLogDouble)length[i];
    muon->traffic.up[1] += 8.0 * sizeof(PetscScalar) * (PetscLogDouble)length[i];
    muon->traffic.up[2] += 8.0 * sizeof(PetscScalar) * (PetscLogDouble)length[i];
  }
  PetscCall(MuonExchangeReduce(muon->exchange, length, in, out));
  for (PetscInt i = 0; i < muon->nactive; i++) {
    PetscCall(MatDenseRestoreArrayRead(muon->active[i]->gradient, &in[i]));
    if (sum[i] != NULL) PetscCall(MatDenseRestoreArrayWrite(sum[i], &out[i]));
  }
  PetscCall(PetscFree3(in, out, length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSendUp_Private(Muon muon, MuonExchangeMode mode, const MuonCompressor c[], const Mat reference[], const Mat sum[], MuonStatus *status)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeUpBegin(muon->exchange, (PetscInt64)muon->step));
  if (mode == MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonSendUpMessages_Private(muon, c, reference, status));
  else PetscCall(MuonSendUpSums_Private(muon, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSumMessages_Private(Muon muon, PetscInt i, MuonCompressor c, Mat sum, MuonStatus *status)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(sum));
  for (PetscMPIInt j = 0; j < muon->size && *status == MUON_STATUS_OK; j++) {
    const unsigned char *message;
    size_t               bytes;
    MuonStatus           received;
    PetscBool            valid;

    PetscCall(MuonExchangeUpGet(muon->exchange, j, i, &bytes, &message, &received));
    /* The sum is scratch: messages need not be checked before the first of them is added */
    if (received == MUON_STATUS_OK) {
      PetscCall(MuonCompressorDecodeValid_Private(c, PETSC_TRUE, 1, bytes, message, sum, &valid));
      if (valid == PETSC_FALSE) received = MUON_STATUS_CORRUPT;
    }
    PetscCall(MuonWorse_Private(received, status));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a server does with a message that is complete: it may go, and where every rank serves it must be the same on each */
static PetscErrorCode MuonDownWritten_Private(Muon muon, PetscInt i, size_t bytes, const unsigned char message[], MuonRecord *record)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeDownAdvance(muon->exchange, i, bytes));
  if (muon->active[i]->owner < 0) record->replica = (double)MuonWireCRC32C((uint32_t)record->replica, message, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSendStep_Private(Muon muon, PetscInt i, MuonCompressor c, Mat G, Mat W, MuonRecord *record, MuonStatus *status)
{
  MuonLayer          layer   = muon->active[i];
  MuonStatus         stepped = MUON_STATUS_OK;
  MuonLayerStepInfo  info;
  const PetscScalar *w;
  PetscInt           ldw;
  PetscReal          largest;
  size_t             most, bytes;
  unsigned char     *to;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetMaxBytes(c, layer->m, layer->n, &most));
  PetscCall(MuonExchangeDownReserve(muon->exchange, i, most, &to));
  PetscCall(MuonGetStepInfo_Private(muon, layer, &info));
  PetscCall(MuonLayerEncodeStep_Private(layer, &info, G, most, to, &bytes, &stepped));
  /* No entry of D is beyond 1: whether the new weights are finite is known before they are there */
  if (stepped == MUON_STATUS_OK) {
    PetscCall(MatDenseGetLDA(W, &ldw));
    PetscCall(MatDenseGetArrayRead(W, &w));
    largest = (PetscReal)MuonKernelMaxAbs((size_t)layer->m, (size_t)layer->n, w, (size_t)ldw);
    PetscCall(MatDenseRestoreArrayRead(W, &w));
    if (PetscIsInfOrNanReal(PetscAbsReal(1 - info.rate * layer->weight_decay) * largest + PetscAbsReal(info.radius))) stepped = MUON_STATUS_NANORINF;
  }
  PetscCall(MuonWorse_Private(stepped, status));
  if (stepped != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonDownWritten_Private(muon, i, bytes, to, record));
  if (layer->owner >= 0 || muon->rank == 0) record->dual += (double)info.dual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSendDown_Private(Muon muon, PetscInt i, MuonCompressor c, Mat Xnew, Mat reference, MuonRecord *record, MuonStatus *status)
{
  MuonLayer      layer = muon->active[i];
  MuonStatus     encoded;
  size_t         most, bytes;
  unsigned char *to;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetStep(c, muon->step));
  PetscCall(MuonCompressorGetMaxBytes(c, layer->m, layer->n, &most));
  PetscCall(MuonExchangeDownReserve(muon->exchange, i, most, &to));
  PetscCall(MuonCompressorEncode(c, Xnew, reference, most, to, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &encoded));
  PetscCall(MuonWorse_Private(encoded, status));
  if (encoded != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonDownWritten_Private(muon, i, bytes, to, record));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHashReplica_Private(Mat Xnew, MuonRecord *record)
{
  const PetscScalar *x;
  PetscInt           m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(Xnew, &m, &n));
  PetscCall(MatDenseGetArrayRead(Xnew, &x));
  record->replica = (double)MuonWireCRC32C((uint32_t)record->replica, (const unsigned char *)x, sizeof(PetscScalar) * (size_t)m * (size_t)n);
  PetscCall(MatDenseRestoreArrayRead(Xnew, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonReceiveDown_Private(Muon muon, const MuonCompressor c[], MuonStatus *status)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < muon->nactive && *status == MUON_STATUS_OK; i++) {
    MuonLayer            layer = muon->active[i];
    const unsigned char *message;
    size_t               bytes;
    MuonCompressorCost   cost;
    MuonStatus           received;
    PetscBool            valid;

    PetscCall(MuonExchangeDownGet(muon->exchange, i, &bytes, &message, &received));
    if (received == MUON_STATUS_OK) {
      PetscCall(MuonCompressorValidateCost_Private(c[i], layer->m, layer->n, bytes, message, &valid, &cost));
      if (valid == PETSC_FALSE) received = MUON_STATUS_CORRUPT;
    }
    PetscCall(MuonWorse_Private(received, status));
    if (received == MUON_STATUS_OK) PetscCall(MuonCountMessage_Private(&cost, muon->traffic.down));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServerStep_Private(Muon muon, PetscInt i, Mat G, Mat X, Mat Xnew, MuonRecord *record, MuonStatus *status)
{
  MuonLayer         layer   = muon->active[i];
  MuonStatus        stepped = MUON_STATUS_OK;
  MuonLayerStepInfo info;

  PetscFunctionBegin;
  PetscCall(MuonGetStepInfo_Private(muon, layer, &info));
  PetscCall(MuonLayerStep_Private(layer, &info, G, X, Xnew, &stepped));
  PetscCall(MuonWorse_Private(stepped, status));
  if (layer->owner >= 0 || muon->rank == 0) record->dual += (double)info.dual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDecodeDown_Private(Muon muon, PetscInt i, MuonCompressor c, PetscBool assigns, Mat W)
{
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           received;

  PetscFunctionBegin;
  PetscCall(MuonExchangeDownGet(muon->exchange, i, &bytes, &message, &received));
  PetscCall(MuonCompressorDecodeChecked_Private(c, assigns ? PETSC_FALSE : PETSC_TRUE, 1, bytes, message, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHashStep_Private(Muon muon, PetscInt i, MuonRecord *record)
{
  MuonLayer         layer = muon->active[i];
  MuonLayerStepInfo info;

  PetscFunctionBegin;
  PetscCall(MuonGetStepInfo_Private(muon, layer, &info));
  for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks); b++) {
    PetscReal factor[2];
    MuonBlock block;

    PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
    PetscCall(MuonLayerGetBlockFactor_Private(layer, &block, &factor[1]));
    factor[0] = info.rate * layer->weight_decay;
    factor[1] *= info.rate;
    record->replica = (double)MuonWireCRC32C((uint32_t)record->replica, (const unsigned char *)factor, sizeof(factor));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDecodeStep_Private(Muon muon, PetscInt i, Mat W)
{
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           received;
  MuonLayerStepInfo    info;

  PetscFunctionBegin;
  PetscCall(MuonExchangeDownGet(muon->exchange, i, &bytes, &message, &received));
  PetscCall(MuonGetStepInfo_Private(muon, muon->active[i], &info));
  PetscCall(MuonLayerDecodeStep_Private(muon->active[i], &info, bytes, message, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}
