#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muonwire.h>
#include "../../kernels/muonpanels.h"
#include <float.h>
#include <math.h>

/*
   The round of a step. A loop over pieces never ends early: a rank that failed goes on with poison in place
   of its messages, so that all ranks make the same calls. Nothing of the state changes before
   MuonAgree_Private().
*/

PetscErrorCode MuonGetStepInfo(Muon muon, MuonLayer layer, MuonLayerStepInfo *info)
{
  PetscReal rate, decay, schedule, factor;

  PetscFunctionBegin;
  PetscCall(MuonGetScheduleFactor_Private(muon, &schedule));
  PetscCall(MuonGetLayerRates_Private(muon, layer, &rate, &decay));
  PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
  info->step     = muon->step;
  info->rate     = (double)(rate * schedule);
  info->decay    = muon->weight_decay_style == MUON_WEIGHT_DECAY_COUPLED ? 0 : (double)layer->weight_decay;
  info->radius   = info->rate * (double)factor;
  info->cautious = muon->weight_decay_style == MUON_WEIGHT_DECAY_CAUTIOUS ? PETSC_TRUE : PETSC_FALSE;
  info->measure  = muon->measure_update_rms;
  info->dual = info->squares = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonCountMessage_Private(Muon muon, const MuonCompressorCost *cost, PetscLogDouble bits[3])
{
  bits[0] += cost->paper;
  bits[1] += cost->encoded;
  if (muon->count_entropy) bits[2] += cost->entropy;
}

/* Z = previous M + fresh G, whatever the precision of G is; without data M and G are zero */
static PetscErrorCode MuonMixMomentum_Private(double previous, const MuonArray *M, double fresh, const MuonArray *G, const MuonArray *Z, int *finite)
{
  const MuonKernels *kernels = MuonArrayKernels(Z);

  PetscFunctionBegin;
  *finite = 1;
  if (M->data == NULL) previous = 0;
  if (G->data != NULL) *finite = (G->precision == Z->precision ? kernels->Momentum : kernels->MomentumOther)(Z->m, Z->n, previous, M->data, M->ld, fresh, G->data, G->ld, Z->data, Z->ld);
  else if (previous == 0) PetscCall(MuonArrayZero(Z));
  else MuonArrayAxpby(previous, M, 0, Z);
  PetscCall(PetscLogFlops((previous != 0 ? 3.0 : 1.0) * (PetscLogDouble)MuonArrayEntries(Z)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What decay adds to the gradient of a layer, 0 where it acts on the weights */
static double MuonCoupledDecay_Private(Muon muon, MuonLayer layer)
{
  return muon->weight_decay_style == MUON_WEIGHT_DECAY_COUPLED ? (double)layer->weight_decay : 0;
}

/*
   Worker: piece->T is what the step sends. A new momentum takes the place of the gradient in the layer's own
   memory; where the gradient lies in somebody else's, or has another precision, it goes to Mnew. Without a
   momentum T is the gradient itself: whether it is finite is seen by who reads it next, the compressor or the
   server
*/
static PetscErrorCode MuonWorkerMomentum_Private(Muon muon, MuonPiece *piece, MuonRecord *record, MuonStatus *status)
{
  const PetscBool at_worker = muon->momentum_at == (PetscInt)MUON_MOMENTUM_AT_WORKER ? PETSC_TRUE : PETSC_FALSE;
  MuonLayer       layer     = piece->layer;
  MuonArray       state, G, M, whole, W;
  PetscBool       ours, usable;
  double          previous, fresh, decay;
  int             finite;

  PetscFunctionBegin;
  piece->previous = layer->workermomentum ? (double)layer->momentum : 0;
  piece->fresh    = muon->momentum_style == MUON_MOMENTUM_EMA ? 1 - piece->previous : (layer->workermomentum ? 1 - (double)muon->dampening : 1);
  PetscTryTypeMethod(muon, momentum, piece);
  piece->sent = piece->up;
  if (piece->begun) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonPieceGetStateShape(muon, piece, &state));
  if (piece->mean.data != NULL) {
    ours = PETSC_FALSE;
    G    = piece->mean;
  } else {
    PetscCall(MuonLayerGetGradientMemory(layer, &piece->gradient, &ours));
    G = MuonPiecePart(piece, &piece->gradient);
  }
  M               = piece->M;
  previous        = at_worker ? piece->previous : 0;
  fresh           = at_worker ? piece->fresh * (MuonClipsLayer_Private(muon, layer) ? muon->clipfactor : 1) : 1;
  decay           = at_worker ? piece->fresh * MuonCoupledDecay_Private(muon, layer) : 0;
  usable          = G.data != NULL && G.precision == state.precision && (G.ld == G.m || piece->group->mode == MUON_EXCHANGE_MODE_GATHER) ? PETSC_TRUE : PETSC_FALSE;
  piece->in_place = usable && ours ? PETSC_TRUE : PETSC_FALSE;
  piece->T        = G;
  if (at_worker == PETSC_FALSE) M.data = NULL;
  if (usable && M.data == NULL && fresh == 1 && decay == 0 && (muon->nan != MUON_NAN_ZERO || MuonArrayIsFinite(&G))) PetscFunctionReturn(PETSC_SUCCESS);
  if (piece->in_place == PETSC_FALSE) {
    if (piece->Tnew.data == NULL) PetscCall(MuonArrayCreate(&state, state.precision, &piece->Tnew));
    piece->T = piece->Tnew;
  }
  PetscCall(MuonMixMomentum_Private(previous, &M, fresh, &G, &piece->T, &finite));
  if (finite == 0) {
    PetscCall(PetscInfo(muon, "Layer \"%s\": the gradient of rank %d has NaN or Inf in step %" PetscInt_FMT "\n", piece->name, muon->rank, muon->step));
    if (muon->nan == MUON_NAN_ZERO) record->nans += (double)MuonArrayKernels(&piece->T)->MomentumMend(piece->T.m, piece->T.n, M.data != NULL ? previous : 0, M.data, M.ld, piece->T.data, piece->T.ld);
    else MuonStatusMerge(MUON_STATUS_NANORINF, status);
  }
  if (decay == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &whole));
  W = MuonPiecePart(piece, &whole);
  MuonArrayAxpby(decay, &W, 1, &piece->T);
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWorkerEncode_Private(Muon muon, MuonPiece *piece, MuonStatus *status)
{
  MuonExchange       exchange = piece->group->exchange;
  MuonUpload         upload;
  MuonCompressorCost cost;
  MuonStatus         encoded;
  size_t             most, bytes;
  unsigned char     *to;

  PetscFunctionBegin;
  upload.compressor = piece->up;
  upload.T          = &piece->T;
  upload.R          = NULL;
  upload.status     = MUON_STATUS_OK;
  PetscTryTypeMethod(muon, worker, piece, &upload);
  MuonStatusMerge(upload.status, status);
  piece->sent = upload.compressor;
  if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorSetStep(piece->sent, muon->step));
  PetscCall(MuonCompressorGetMaxBytesOf(piece->sent, upload.T, &most));
  PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, piece->item, most, &to));
  PetscCall(MuonCompressorEncodeArray(piece->sent, upload.T, upload.R, most, to, &bytes, muon->count_entropy, &cost, upload.R != NULL ? &piece->up_own : NULL));
  PetscCall(MuonCompressorGetStatus(piece->sent, &encoded));
  MuonStatusMerge(encoded, status);
  if (encoded != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  MuonCountMessage_Private(muon, &cost, muon->traffic.up);
  PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, piece->item, bytes));
  if (upload.R != NULL) piece->own_at = piece->up_own.data >= to && piece->up_own.data < to + bytes ? (ptrdiff_t)(piece->up_own.data - to) : -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message that is plain is kept where it was written, and the exchange's memory may have moved since */
static PetscErrorCode MuonFollowOwn_Private(MuonPiece *piece)
{
  const unsigned char *message;
  size_t               bytes;

  PetscFunctionBegin;
  if (piece->up_own.bytes == 0 || piece->own_at < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeUpOwn(piece->group->exchange, piece->item, &bytes, &message));
  if (message != NULL) piece->up_own.data = message + piece->own_at;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Arrays that are summed by MPI travel whole, whatever their status is: a NaN is seen in the sum. A server
   waits for one sum at a time, while the others flow
*/
static PetscErrorCode MuonWorkersSum_Private(Muon muon, MuonGroup group)
{
  const PetscBool alone = group->partition->size > 1 && group->partition->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->npieces; k++) {
    MuonPiece               *piece = &group->piece[k];
    const PetscLogDouble     n = (PetscLogDouble)MuonArrayEntries(&piece->T), bits = 8.0 * (PetscLogDouble)MuonArrayBytes(&piece->T);
    const MuonCompressorCost cost = {32.0 * n, bits, bits};

    if (alone) MuonArrayAxpby(1, &piece->T, 0, &piece->sum); /* that of one is there */
    else if (piece->begun == PETSC_FALSE) PetscCall(MuonPieceReduceBegin_Private(piece, &piece->T, &piece->sum));
    piece->begun = PETSC_FALSE;
    MuonCountMessage_Private(muon, &cost, muon->traffic.up);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkerBeginSum_Private(Muon muon, MuonPiece *piece)
{
  MuonArray state, G, M;
  PetscBool ours;
  int       finite; /* who sums looks at the sum */

  PetscFunctionBegin;
  if (muon->nan == MUON_NAN_ZERO) PetscFunctionReturn(PETSC_SUCCESS); /* a gradient is mended before it is sent */
  PetscCall(MuonPieceGetStateShape(muon, piece, &state));
  PetscCall(MuonLayerGetGradientMemory(piece->layer, &G, &ours));
  M        = MuonArrayLike(&state, state.precision, NULL);
  piece->T = G;
  if (G.data == NULL || G.precision != state.precision || G.ld != G.m) {
    if (piece->Tnew.data == NULL) PetscCall(MuonArrayCreate(&state, state.precision, &piece->Tnew));
    piece->T = piece->Tnew;
    PetscCall(MuonMixMomentum_Private(0, &M, 1, &G, &piece->T, &finite));
  }
  PetscCall(MuonLayerRestoreGradientMemory(piece->layer, &G));
  PetscCall(MuonPieceReduceBegin_Private(piece, &piece->T, &piece->sum));
  piece->group->bytes += (PetscLogDouble)MuonArrayBytes(&piece->T);
  piece->begun = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWorkers_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  const PetscInt *order;
  PetscLogDouble  flops;

  PetscFunctionBegin;
  group->replica = 0;
  PetscCall(PetscLogEventBegin(MUON_Momentum, muon, 0, 0, 0));
  for (PetscInt k = 0; k < group->npieces; k++) {
    PetscCall(MuonLogDeviceBegin(group->piece[k].layer->shape.memory, &flops));
    PetscCall(MuonWorkerMomentum_Private(muon, &group->piece[k], record, status));
    PetscCall(MuonLogDeviceEnd(group->piece[k].layer->shape.memory, flops));
    MuonNoteStatus(muon, group->piece[k].layer, *status);
  }
  PetscCall(PetscLogEventEnd(MUON_Momentum, muon, 0, 0, 0));
  PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_UP, (PetscInt64)muon->step));
  if (group->votes != NULL) PetscCall(MuonVotesWorkers_Private(muon, group, status));
  else if (group->mode == MUON_EXCHANGE_MODE_GATHER) {
    PetscCall(MuonExchangeGetOrder(group->exchange, &order));
    for (PetscInt k = 0; k < group->npieces; k++) {
      PetscCall(MuonWorkerEncode_Private(muon, &group->piece[order[k]], status));
      MuonNoteStatus(muon, group->piece[order[k]].layer, *status);
    }
    PetscCall(MuonExchangeUp(group->exchange, *status));
    for (PetscInt k = 0; k < group->npieces; k++) PetscCall(MuonFollowOwn_Private(&group->piece[k]));
  } else PetscCall(MuonWorkersSum_Private(muon, group));
  for (PetscInt k = 0; k < group->npieces; k++) PetscCall(MuonLayerRestoreGradientMemory(group->piece[k].layer, &group->piece[k].gradient));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The messages of all workers times their weights, added in the order of workers. The sum is scratch: a
   message need not be checked before its first entry is added
*/
PetscErrorCode MuonSumMessages_Private(MuonPiece *piece, PetscInt nworkers, const MuonArray *sum, MuonStatus *status)
{
  const double *const weight = piece->group->partition->weight;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < nworkers; j++) {
    const unsigned char *message;
    size_t               bytes;
    MuonStatus           received;
    PetscBool            valid;

    PetscCall(MuonExchangeUpGet(piece->group->exchange, (PetscMPIInt)j, piece->item, &bytes, &message, &received));
    if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK) {
      PetscCall(MuonCompressorDecodeArray(piece->sent, j > 0 ? PETSC_TRUE : PETSC_FALSE, weight != NULL ? weight[j] : 1, bytes, message, sum, &valid));
      if (valid && j == 0 && weight != NULL) MuonArrayAxpby(weight[0], sum, 0, sum); /* what is not added takes no factor */
      if (valid == PETSC_FALSE) received = MUON_STATUS_CORRUPT;
    }
    MuonStatusMerge(received, status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Server: what the oracle sees of the sum: aggregate, then decay of the weights W and momentum where the
   server keeps one
*/
static PetscErrorCode MuonAggregate_Private(Muon muon, MuonPiece *piece, PetscInt nworkers, const MuonArray *sum, const MuonArray *W, MuonArray *seen, MuonStatus *status)
{
  const PetscBool at_server = muon->momentum_at == (PetscInt)MUON_MOMENTUM_AT_SERVER ? PETSC_TRUE : PETSC_FALSE;
  int             finite    = 1;
  PetscLogDouble  flops;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Aggregate, muon, 0, 0, 0));
  PetscCall(MuonLogDeviceBegin(sum->memory, &flops));
  if (muon->ops->aggregate != NULL) PetscUseTypeMethod(muon, aggregate, piece, sum, nworkers);
  else if (nworkers > 1) MuonArrayAxpby(1 / (double)nworkers, sum, 0, sum);
  if (at_server && MuonClipsLayer_Private(muon, piece->layer) && muon->clipfactor != 1) MuonArrayAxpby(muon->clipfactor, sum, 0, sum);
  if (at_server && MuonCoupledDecay_Private(muon, piece->layer) != 0) MuonArrayAxpby(MuonCoupledDecay_Private(muon, piece->layer), W, 1, sum);
  *seen = *sum;
  if (at_server && piece->M.data != NULL) {
    PetscCall(MuonMixMomentum_Private(piece->previous, &piece->M, piece->fresh, sum, &piece->Mnew, &finite));
    if (muon->nesterov == MUON_NESTEROV_NONE) *seen = piece->Mnew;
    else MuonArrayAxpby(piece->previous, &piece->Mnew, muon->nesterov == MUON_NESTEROV_EMA ? 1 - piece->previous : 1, sum);
  } else if (at_server && muon->nesterov == MUON_NESTEROV_NONE && piece->fresh != 1) MuonArrayAxpby(piece->fresh, sum, 0, sum); /* a Nesterov term is the gradient itself and no momentum */
  if (finite == 0) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(sum)));
  PetscCall(MuonLogDeviceEnd(sum->memory, flops));
  PetscCall(PetscLogEventEnd(MUON_Aggregate, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a server is about to send or to apply; where every rank computes it, it must be the same on each */
static void MuonHashReplica_Private(const MuonPiece *piece, size_t bytes, const void *data)
{
  if (piece->layer->owner < 0) piece->group->replica = (unsigned int)MuonWireCRC32C((uint32_t)piece->group->replica, (const unsigned char *)data, bytes);
}

/*
   The step as a message. No entry of D is beyond 1: whether the new weights are finite is known before they
   are there
*/
static PetscErrorCode MuonServeStep_Private(Muon muon, MuonPiece *piece, MuonLayerStepInfo *info, const MuonArray *seen, const MuonArray *W, MuonStatus *status)
{
  MuonStatus     stepped = MUON_STATUS_OK;
  size_t         most, bytes;
  unsigned char *to;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetMaxStepBytes(piece->layer, &most));
  PetscCall(MuonExchangeReserve(piece->group->exchange, MUON_EXCHANGE_DOWN, piece->item, most, &to));
  PetscCall(MuonLayerEncodeStep(piece->layer, info, seen, most, to, &bytes, PETSC_FALSE, NULL, &stepped));
  if (stepped == MUON_STATUS_OK && !(fmax(info->cautious ? 1 : 0, fabs(1 - info->rate * info->decay)) * MuonArrayKernels(W)->MaxAbs(W->m, W->n, W->data, W->ld) + info->radius <= (W->precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX)))
    stepped = MUON_STATUS_NANORINF;
  MuonStatusMerge(stepped, status);
  if (stepped != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeAdvance(piece->group->exchange, MUON_EXCHANGE_DOWN, piece->item, bytes));
  MuonHashReplica_Private(piece, bytes, to);
  if (info->measure) {
    const MuonLayerStepInfo unit = {info->step, 1, 0, 0, 0, PETSC_FALSE, PETSC_FALSE, 0};
    MuonArray               update;

    /* The step of rate 1 from zero */
    PetscCall(MuonWorkspaceGetArray(muon->work, MUON_WORK_STEP_B, W, W->precision, &update));
    PetscCall(MuonArrayZero(&update));
    PetscCall(MuonLayerDecodeStep(piece->layer, &unit, bytes, to, &update));
    info->squares = MuonLayerSumSquares(&update);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The new weights as a message, or all that there is to say of them where nothing goes down */
PetscErrorCode MuonServeWeights_Private(Muon muon, MuonPiece *piece, const MuonArray *Xnew, const MuonArray *W, MuonStatus *status)
{
  MuonExchange   exchange = piece->group->exchange;
  MuonStatus     encoded;
  size_t         most, bytes;
  unsigned char *to;
  MuonArray      host;

  PetscFunctionBegin;
  if (piece->group->direct || piece->group->votes != NULL) {
    if (piece->layer->owner >= 0) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MuonArrayOnHost(Xnew, PETSC_TRUE, &host));
    MuonHashReplica_Private(piece, MuonArrayBytes(&host), host.data);
    PetscCall(MuonArrayOffHost(Xnew, PETSC_FALSE, &host));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonCompressorSetStep(piece->down, muon->step));
  PetscCall(MuonCompressorGetMaxBytesOf(piece->down, Xnew, &most));
  PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_DOWN, piece->item, most, &to));
  PetscCall(MuonCompressorEncodeArray(piece->down, Xnew, piece->down_assigns ? NULL : W, most, to, &bytes, PETSC_FALSE, NULL, NULL));
  PetscCall(MuonCompressorGetStatus(piece->down, &encoded));
  MuonStatusMerge(encoded, status);
  if (encoded != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_DOWN, piece->item, bytes));
  MuonHashReplica_Private(piece, bytes, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An array in scratch memory, so many bytes from the beginning of the slot */
static PetscErrorCode MuonGetRoom_Private(Muon muon, MuonWorkspaceSlot slot, size_t at, const MuonArray *like, MuonPrecision precision, MuonArray *array)
{
  char *slots;

  PetscFunctionBegin;
  *array = MuonArrayLike(like, precision, NULL);
  PetscCall(MuonWorkspaceGetIn(muon->work, like->memory, slot, at + MuonArrayBytes(array), &slots));
  array->data = slots + at;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServerSees_Private(Muon muon, MuonPiece *piece, size_t at, MuonArray *seen, MuonStatus *status)
{
  const PetscInt nworkers = piece->group->exchange->nworkers;
  MuonArray      sum      = piece->sum, state, whole, W;

  PetscFunctionBegin;
  PetscCall(MuonPieceGetStateShape(muon, piece, &state));
  if (sum.data == NULL) PetscCall(MuonGetRoom_Private(muon, MUON_WORK_STEP_A, at, &state, state.precision, &sum));
  *seen = sum;
  if (piece->group->mode != MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonExchangeReduceWait(piece->group->exchange, piece->item));
  else if (piece->summed == PETSC_FALSE) PetscCall(MuonSumMessages_Private(piece, nworkers, &sum, status));
  if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetWeightsMemory(piece->layer, PETSC_FALSE, &whole));
  W = MuonPiecePart(piece, &whole);
  PetscCall(MuonAggregate_Private(muon, piece, nworkers, &sum, &W, seen, status));
  PetscCall(MuonLayerRestoreWeightsMemory(piece->layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What several ranks compute alike counts once */
PetscBool MuonPieceCounts_Private(const MuonPiece *piece)
{
  return piece->layer->owner >= 0 || piece->group->exchange->worker == 0 ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MuonServerGetXnew_Private(Muon muon, MuonPiece *piece, size_t at, const MuonArray *W, MuonArray *Xnew)
{
  PetscFunctionBegin;
  *Xnew = piece->Xnew;
  if (Xnew->data == NULL) PetscCall(MuonGetRoom_Private(muon, MUON_WORK_STEP_B, at, W, W->precision, Xnew));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServerApply_Private(Muon muon, PetscInt n, MuonPiece *const piece[], MuonLayerTask task[], MuonRecord *record)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    task[k].layer  = piece[k]->layer;
    task[k].status = MUON_STATUS_OK;
    PetscCall(MuonGetStepInfo(muon, task[k].layer, &task[k].info));
    if (muon->ops->apply != NULL) PetscUseTypeMethod(muon, apply, piece[k], &task[k].info, &task[k].G, &task[k].X, &task[k].Xnew, &task[k].status);
  }
  if (muon->ops->apply == NULL) PetscCall(MuonLayerStepMany(n, task));
  for (PetscInt k = 0; k < n; k++) {
    if (task[k].status == MUON_STATUS_OK && MuonPieceCounts_Private(piece[k])) record->dual += task[k].info.dual;
    piece[k]->squares = task[k].info.squares;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a server does with one piece or with several: its place in scratch memory, and its weights */
typedef struct {
  size_t    sum, Xnew;
  MuonArray whole, W;
} MuonServed;

/* Sums and new weights that have no memory of their own lie behind one another */
static PetscErrorCode MuonServedPlace_Private(Muon muon, PetscInt n, MuonPiece *const piece[], MuonServed served[])
{
  size_t sums = 0, weights = 0;
  void  *slot;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    MuonArray state, shape, W;

    PetscCall(MuonPieceGetStateShape(muon, piece[k], &state));
    PetscCall(MuonLayerGetShape(piece[k]->layer, &shape));
    W              = MuonPiecePart(piece[k], &shape);
    served[k].sum  = sums;
    served[k].Xnew = weights;
    if (piece[k]->sum.data == NULL) sums += MuonScratchBytes(&state);
    if (piece[k]->Xnew.data == NULL) weights += MuonScratchBytes(&W);
  }
  /* At once: what is in a slot that grows is lost */
  PetscCall(MuonWorkspaceGetIn(muon->work, MUON_DEVICE, MUON_WORK_STEP_A, sums, &slot));
  PetscCall(MuonWorkspaceGetIn(muon->work, MUON_DEVICE, MUON_WORK_STEP_B, weights, &slot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Server: aggregates, steps of the rules, messages of what became of them, each for all pieces in their order
*/
static PetscErrorCode MuonServe_Private(Muon muon, PetscInt n, MuonPiece *const piece[], MuonRecord *record, MuonStatus *status)
{
  MuonLayerTask *task;
  MuonServed    *served;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(n, &task, n, &served));
  if (n > 1) PetscCall(MuonServedPlace_Private(muon, n, piece, served));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonServerSees_Private(muon, piece[k], served[k].sum, &task[k].G, status));
    MuonNoteStatus(muon, piece[k]->layer, *status);
  }
  if (*status == MUON_STATUS_OK) {
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(MuonLayerGetWeightsMemory(piece[k]->layer, PETSC_FALSE, &served[k].whole));
      served[k].W = MuonPiecePart(piece[k], &served[k].whole);
      task[k].X   = MuonPieceServerWeights(piece[k], &served[k].W);
    }
    if (piece[0]->downlink == MUON_DOWNLINK_STEP && piece[0]->group->direct == PETSC_FALSE) { /* see MuonPieceIsServedAlone_Private() */
      PetscCall(MuonGetStepInfo(muon, piece[0]->layer, &task[0].info));
      PetscCall(MuonServeStep_Private(muon, piece[0], &task[0].info, &task[0].G, &served[0].W, status));
      MuonNoteStatus(muon, piece[0]->layer, *status);
      if (*status == MUON_STATUS_OK && MuonPieceCounts_Private(piece[0])) record->dual += task[0].info.dual;
      piece[0]->squares = task[0].info.squares;
    } else {
      for (PetscInt k = 0; k < n; k++) PetscCall(MuonServerGetXnew_Private(muon, piece[k], served[k].Xnew, &served[k].W, &task[k].Xnew));
      PetscCall(MuonServerApply_Private(muon, n, piece, task, record));
      for (PetscInt k = 0; k < n; k++) {
        MuonStatusMerge(task[k].status, status);
        if (*status == MUON_STATUS_OK) PetscCall(MuonServeWeights_Private(muon, piece[k], &task[k].Xnew, &served[k].W, status));
        MuonNoteStatus(muon, piece[k]->layer, *status);
      }
    }
    for (PetscInt k = 0; k < n; k++) PetscCall(MuonLayerRestoreWeightsMemory(piece[k]->layer, PETSC_FALSE, &served[k].whole));
  }
  PetscCall(PetscFree2(task, served));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Worker: each message of a server is checked once; what the checking made of it is kept for the commit */
static PetscErrorCode MuonReceive_Private(Muon muon, MuonPiece *piece, MuonRecord *record, MuonStatus *status)
{
  const unsigned char *message;
  size_t               bytes;
  MuonCompressorCost   cost;
  MuonStatus           received;
  PetscBool            valid;
  MuonArray            shape, W;

  PetscFunctionBegin;
  PetscCall(MuonExchangeDownGet(piece->group->exchange, piece->item, &bytes, &message, &received));
  if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK) {
    PetscCall(MuonLayerGetShape(piece->layer, &shape));
    W = MuonPiecePart(piece, &shape);
    if (piece->downlink == MUON_DOWNLINK_STEP) PetscCall(MuonLayerValidateStep(piece->layer, bytes, message, muon->count_entropy, &cost, &valid));
    else PetscCall(MuonCompressorOpen(piece->down, &W, bytes, message, muon->count_entropy, &cost, &piece->down_got, &valid));
    if (valid) MuonCountMessage_Private(muon, &cost, muon->traffic.down);
    else received = MUON_STATUS_CORRUPT;
  }
  MuonStatusMerge(received, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host nothing is gained by several, and a step as a message is made of one */
static PetscBool MuonPieceIsServedAlone_Private(const MuonPiece *piece)
{
  return piece->layer->shape.memory == MUON_HOST || (piece->downlink == MUON_DOWNLINK_STEP && piece->group->direct == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Pieces in the memory of a device, where small products of several layers are made at once, are served in
   runs, whose sums and new weights stay within the bytes of a batch. Those count whether or not they are
   scratch: the sums of a run are waited for before any of its steps is taken
*/
static PetscErrorCode MuonServePieces_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  const PetscInt *order;
  MuonPiece     **run;
  PetscInt        n     = 0;
  size_t          bytes = 0;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetOrder(group->exchange, &order));
  PetscCall(PetscMalloc1(group->npieces, &run));
  for (PetscInt k = 0; k < group->npieces; k++) {
    MuonPiece *piece = &group->piece[order[k]];
    MuonArray  state, shape, W;
    size_t     more;

    if (piece->serves == PETSC_FALSE) continue;
    PetscCall(MuonPieceGetStateShape(muon, piece, &state));
    PetscCall(MuonLayerGetShape(piece->layer, &shape));
    W    = MuonPiecePart(piece, &shape);
    more = MuonArrayBytes(&state) + MuonArrayBytes(&W);
    if (n > 0 && (MuonPieceIsServedAlone_Private(piece) || MuonPieceIsServedAlone_Private(run[0]) || (PetscReal)(bytes + more) > muon->device_batch)) {
      PetscCall(MuonServe_Private(muon, n, run, record, status));
      n     = 0;
      bytes = 0;
    }
    run[n++] = piece;
    bytes += more;
  }
  if (n > 0) PetscCall(MuonServe_Private(muon, n, run, record, status));
  PetscCall(PetscFree(run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonServers_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  const PetscBool sums = group->mode == MUON_EXCHANGE_MODE_GATHER ? PETSC_FALSE : PETSC_TRUE;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (group->votes != NULL) {
    PetscCall(MuonVotesServers_Private(muon, group, record, status));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (group->direct == PETSC_FALSE) PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_DOWN, (PetscInt64)muon->step));
  if (group->assembly != NULL) PetscCall(MuonServeAssembled_Private(muon, group, record, status));
  else {
    if (sums) MuonKernelSetProgress(MuonExchangeReduceProgress, group->exchange);
    ierr = MuonServePieces_Private(muon, group, record, status);
    MuonKernelSetProgress(NULL, NULL);
    PetscCall(ierr);
  }
  if (sums) PetscCall(MuonExchangeReduceEnd(group->exchange));
  if (group->direct) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeDown(group->exchange, *status));
  MuonNextPhase(muon, *status);
  for (PetscInt k = 0; k < group->npieces; k++) {
    PetscCall(MuonReceive_Private(muon, &group->piece[k], record, status));
    MuonNoteStatus(muon, group->piece[k].layer, *status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New weights at a worker, from what was received or, where every rank serves, from what this one computed */
static PetscErrorCode MuonCommitWeights_Private(Muon muon, MuonPiece *piece)
{
  const PetscBool      looks = piece->X.data != NULL && MuonPieceCounts_Private(piece) ? PETSC_TRUE : PETSC_FALSE; /* what goes down may leave something out, and one server looks at it */
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           received;
  MuonLayerStepInfo    info;
  MuonArray            whole, W;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeightsMemory(piece->layer, PETSC_TRUE, &whole));
  W = MuonPiecePart(piece, &whole);
  if (looks) PetscTryTypeMethod(muon, look, piece, PETSC_FALSE, &piece->Xnew, &W);
  if (piece->group->direct) MuonArrayAxpby(1, &piece->Xnew, 0, &W);
  else if (piece->downlink == MUON_DOWNLINK_STEP) {
    PetscCall(MuonExchangeDownGet(piece->group->exchange, piece->item, &bytes, &message, &received));
    PetscCall(MuonGetStepInfo(muon, piece->layer, &info));
    PetscCall(MuonLayerDecodeStep(piece->layer, &info, bytes, message, &W));
  } else PetscCall(MuonCompressorDecodeOpened(piece->down, &piece->down_got, piece->down_assigns ? PETSC_FALSE : PETSC_TRUE, 1, &W));
  if (looks) PetscTryTypeMethod(muon, look, piece, PETSC_TRUE, &piece->Xnew, &W);
  if (piece->cut) PetscCall(MuonPieceGather_Private(muon, piece, &W, &whole));
  PetscCall(MuonLayerRestoreWeightsMemory(piece->layer, PETSC_TRUE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Root mean square of what the rate was multiplied with, over the whole layer */
static PetscErrorCode MuonMeasureUpdate_Private(Muon muon, MuonPiece *piece)
{
  const double entries = (double)piece->layer->m * (double)piece->layer->n;

  PetscFunctionBegin;
  piece->layer->updaterms = -1;
  if (muon->measure_update_rms == PETSC_FALSE || entries == 0 || piece->group->votes != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (piece->ranges != NULL) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &piece->squares, 1, MPI_DOUBLE, MPI_SUM, piece->group->partition->inside));
    piece->group->bytes += sizeof(piece->squares);
  }
  piece->layer->updaterms = PetscSqrtReal((PetscReal)(piece->squares / entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCommit_Private(Muon muon, MuonPiece *piece)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(muon, commit, piece);
  PetscCall(MuonCompressorCommit(piece->sent));
  if (piece->M.data != NULL && muon->momentum_at == (PetscInt)MUON_MOMENTUM_AT_SERVER) MuonArraySwap(&piece->M, &piece->Mnew);
  else if (piece->M.data != NULL && piece->in_place) PetscCall(MuonLayerSwapGradientMemory(piece->layer, &piece->M));
  else if (piece->M.data != NULL) MuonArraySwap(&piece->M, &piece->Tnew);
  if (piece->group->votes != NULL) PetscCall(MuonVotesCommit_Private(muon, piece));
  else PetscCall(MuonCommitWeights_Private(muon, piece));
  if (piece->serves) {
    PetscCall(MuonCompressorCommit(piece->down));
    PetscCall(MuonLayerCommit(piece->layer));
    PetscCall(MuonMeasureUpdate_Private(muon, piece));
    if (piece->X.data != NULL) MuonArraySwap(&piece->X, &piece->Xnew);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRound_Private(Muon muon, PetscReal loss)
{
  MuonRecord   record;
  MuonStatus   status = PetscIsInfOrNanReal(loss) ? MUON_STATUS_NANORINF : MUON_STATUS_OK;
  unsigned int choices;
  PetscInt     first = muon->nactive, naked = 0;
  PetscBool    ok, asked;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&record, sizeof(record)));
  muon->failed.phase = 0;
  muon->failed.at = muon->failed.rank = -1;
  muon->failed.layer                  = NULL;
  PetscCall(MuonDeviceBegin_Private(muon));
  for (PetscInt l = muon->nactive - 1; l >= 0; l--) {
    PetscCall(MuonLayerWasGradientAsked(muon->active[l], &asked));
    if (asked) continue;
    first = l;
    naked++;
  }
  record.asked = naked > 0 && naked == muon->nactive ? -1 : (double)first;
  record.loss  = (double)loss;
  PetscTryTypeMethod(muon, begin, &record);
  PetscCall(MuonWatchWeights_Private(muon));
  PetscCall(MuonExchangeBegin(muon->exchange, MUON_EXCHANGE_UP, (PetscInt64)muon->step)); /* which carries the agreement, whether or not it carries pieces */
  for (PetscInt p = 0; p < muon->npieces; p++) PetscCall(MuonPieceAverage_Private(muon, &muon->piece[p]));
  PetscCall(MuonClipWorker_Private(muon));
  for (PetscInt g = 0; g < muon->ngroups; g++) PetscCall(MuonWorkers_Private(muon, muon->group[g], &record, &status));
  MuonNextPhase(muon, status);
  PetscCall(MuonClipServers_Private(muon, &status));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonNextPhase(muon, status);
    PetscCall(MuonServers_Private(muon, muon->group[g], &record, &status));
  }
  MuonNoteStatus(muon, NULL, status);
  PetscCall(MuonHashChoices_Private(muon, &choices));
  record.status  = (double)status;
  record.up      = muon->traffic.up[1];
  record.down    = muon->traffic.down[1];
  record.choices = (double)choices;
  PetscCall(MuonAgree_Private(muon, &record, &ok));
  for (PetscInt p = 0; p < muon->npieces; p++) {
    if (ok) PetscCall(MuonCommit_Private(muon, &muon->piece[p]));
    PetscCall(MuonLayerSpoilGradient(muon->piece[p].layer));
  }
  PetscCall(MuonDeviceEnd_Private(muon));
  if (ok == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscTryTypeMethod(muon, end);
  PetscFunctionReturn(PETSC_SUCCESS);
}
