#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muonwire.h>
#include "../../kernels/dense/muonpanels.h"
#include <float.h>
#include <math.h>

/*
   The round of a step. A loop over shards never ends early: a rank that failed goes on with poison in place
   of its messages, so that all ranks make the same calls. Nothing of the state changes before
   MuonReduceStatus_Private().
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
  if (G->data != NULL) *finite = (G->precision == Z->precision ? kernels->Momentum : kernels->MomentumOther)(Z->len, Z->count, previous, M->data, M->ld, fresh, G->data, G->ld, Z->data, Z->ld);
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
   Worker: shard->T is what the step sends. A new momentum takes the place of the gradient in the layer's own
   memory; where the gradient lies in somebody else's, or has another precision, it goes to Mnew. Without a
   momentum T is the gradient itself: whether it is finite is seen by who reads it next, the compressor or the
   server
*/
static PetscErrorCode MuonWorkerMomentum_Private(Muon muon, MuonShard *shard, MuonRecord *record, MuonStatus *status)
{
  const PetscBool at_worker = muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER ? PETSC_TRUE : PETSC_FALSE;
  MuonLayer       layer     = shard->layer;
  MuonArray       state, G, M, whole, W;
  PetscBool       ours, usable;
  double          previous, fresh, decay;
  int             finite;

  PetscFunctionBegin;
  shard->previous = layer->workermomentum ? (double)layer->momentum : 0;
  shard->fresh    = muon->momentum_style == MUON_MOMENTUM_EMA ? 1 - shard->previous : (layer->workermomentum ? 1 - (double)muon->dampening : 1);
  PetscTryTypeMethod(muon, momentum, shard);
  shard->sent = shard->up;
  if (shard->begun) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  if (shard->mean.data != NULL) {
    ours = PETSC_FALSE;
    G    = shard->mean;
  } else {
    PetscCall(MuonLayerGetGradientMemory(layer, &shard->gradient, &ours));
    G = MuonShardPart(shard, &shard->gradient);
  }
  M               = shard->M;
  previous        = at_worker ? shard->previous : 0;
  fresh           = at_worker ? shard->fresh * (MuonClipsLayer_Private(muon, layer) ? muon->clipfactor : 1) : 1;
  decay           = at_worker ? shard->fresh * MuonCoupledDecay_Private(muon, layer) : 0;
  usable          = G.data != NULL && G.precision == state.precision && (G.ld == G.len || shard->group->mode == MUON_EXCHANGE_MODE_GATHER) ? PETSC_TRUE : PETSC_FALSE;
  shard->in_place = usable && ours ? PETSC_TRUE : PETSC_FALSE;
  shard->T        = G;
  if (at_worker == PETSC_FALSE) M.data = NULL;
  if (usable && M.data == NULL && fresh == 1 && decay == 0 && (muon->nan != MUON_NAN_ZERO || MuonArrayIsFinite(&G))) PetscFunctionReturn(PETSC_SUCCESS);
  if (shard->in_place == PETSC_FALSE) {
    if (shard->Tnew.data == NULL) PetscCall(MuonArrayCreate(&state, state.precision, &shard->Tnew));
    shard->T = shard->Tnew;
  }
  PetscCall(MuonMixMomentum_Private(previous, &M, fresh, &G, &shard->T, &finite));
  if (finite == 0) {
    PetscCall(PetscInfo(muon, "Layer \"%s\": the gradient of rank %d has NaN or Inf in step %" PetscInt_FMT "\n", shard->name, muon->rank, muon->step));
    if (muon->nan == MUON_NAN_ZERO) record->nans += (double)MuonArrayKernels(&shard->T)->MomentumMend(shard->T.len, shard->T.count, M.data != NULL ? previous : 0, M.data, M.ld, shard->T.data, shard->T.ld);
    else MuonStatusMerge(MUON_STATUS_NANORINF, status);
  }
  if (decay == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &whole));
  W = MuonShardPart(shard, &whole);
  MuonArrayAxpby(decay, &W, 1, &shard->T);
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWorkerEncode_Private(Muon muon, MuonShard *shard, MuonStatus *status)
{
  MuonExchange       exchange = shard->group->exchange;
  MuonUpload         upload;
  MuonCompressorCost cost;
  MuonStatus         encoded;
  size_t             most, bytes;
  unsigned char     *to;

  PetscFunctionBegin;
  upload.compressor = shard->up;
  upload.T          = &shard->T;
  upload.R          = NULL;
  upload.status     = MUON_STATUS_OK;
  PetscTryTypeMethod(muon, worker, shard, &upload);
  MuonStatusMerge(upload.status, status);
  shard->sent = upload.compressor;
  if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorSetStep(shard->sent, muon->step));
  PetscCall(MuonCompressorGetMaxBytesOf(shard->sent, upload.T, &most));
  PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, shard->item, most, &to));
  PetscCall(MuonCompressorEncodeArray(shard->sent, upload.T, upload.R, most, to, &bytes, muon->count_entropy, &cost, upload.R != NULL ? &shard->up_own : NULL));
  PetscCall(MuonCompressorGetStatus(shard->sent, &encoded));
  MuonStatusMerge(encoded, status);
  if (encoded != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  MuonCountMessage_Private(muon, &cost, muon->traffic.up);
  PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, shard->item, bytes));
  if (upload.R != NULL) shard->own_at = shard->up_own.data >= to && shard->up_own.data < to + bytes ? (ptrdiff_t)(shard->up_own.data - to) : -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message that is plain is kept where it was written, and the exchange's memory may have moved since */
static PetscErrorCode MuonFollowOwn_Private(MuonShard *shard)
{
  const unsigned char *message;
  size_t               bytes;

  PetscFunctionBegin;
  if (shard->up_own.bytes == 0 || shard->own_at < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeUpOwn(shard->group->exchange, shard->item, &bytes, &message));
  if (message != NULL) shard->up_own.data = message + shard->own_at;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Arrays that are summed by MPI travel whole, whatever their status is: a NaN is seen in the sum. A server
   waits for one sum at a time, while the others flow
*/
static PetscErrorCode MuonWorkersSum_Private(Muon muon, MuonGroup group)
{
  const PetscBool alone = group->grid->size > 1 && group->grid->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard               *shard = &group->shard[k];
    const PetscLogDouble     n = (PetscLogDouble)MuonArrayEntries(&shard->T), bits = 8.0 * (PetscLogDouble)MuonArrayBytes(&shard->T);
    const MuonCompressorCost cost = {32.0 * n, bits, bits};

    if (alone) MuonArrayAxpby(1, &shard->T, 0, &shard->sum); /* that of one is there */
    else if (shard->begun == PETSC_FALSE) PetscCall(MuonShardReduceBegin_Private(shard, &shard->T, &shard->sum));
    shard->begun = PETSC_FALSE;
    MuonCountMessage_Private(muon, &cost, muon->traffic.up);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkerBeginSum_Private(Muon muon, MuonShard *shard)
{
  MuonArray state, G, M;
  PetscBool ours;
  int       finite; /* who sums looks at the sum */

  PetscFunctionBegin;
  if (muon->nan == MUON_NAN_ZERO) PetscFunctionReturn(PETSC_SUCCESS); /* a gradient is mended before it is sent */
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  PetscCall(MuonLayerGetGradientMemory(shard->layer, &G, &ours));
  M        = MuonArrayLike(&state, state.precision, NULL);
  shard->T = G;
  if (G.data == NULL || G.precision != state.precision || G.ld != G.len) {
    if (shard->Tnew.data == NULL) PetscCall(MuonArrayCreate(&state, state.precision, &shard->Tnew));
    shard->T = shard->Tnew;
    PetscCall(MuonMixMomentum_Private(0, &M, 1, &G, &shard->T, &finite));
  }
  PetscCall(MuonLayerRestoreGradientMemory(shard->layer, &G));
  PetscCall(MuonShardReduceBegin_Private(shard, &shard->T, &shard->sum));
  shard->group->bytes += (PetscLogDouble)MuonArrayBytes(&shard->T);
  shard->begun = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWorkers_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  const PetscInt *order;
  PetscLogDouble  flops;

  PetscFunctionBegin;
  group->replica = 0;
  PetscCall(PetscLogEventBegin(MUON_Momentum, muon, 0, 0, 0));
  for (PetscInt k = 0; k < group->nshards; k++) {
    PetscCall(MuonLogDeviceBegin(group->shard[k].layer->shape.memory, &flops));
    PetscCall(MuonWorkerMomentum_Private(muon, &group->shard[k], record, status));
    PetscCall(MuonLogDeviceEnd(group->shard[k].layer->shape.memory, flops));
    MuonNoteStatus(muon, group->shard[k].layer, *status);
  }
  PetscCall(PetscLogEventEnd(MUON_Momentum, muon, 0, 0, 0));
  PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_UP, (PetscInt64)muon->step));
  if (group->votes != NULL) PetscCall(MuonVotesWorkers_Private(muon, group, status));
  else if (group->mode == MUON_EXCHANGE_MODE_GATHER) {
    PetscCall(MuonExchangeGetOrder(group->exchange, &order));
    for (PetscInt k = 0; k < group->nshards; k++) {
      PetscCall(MuonWorkerEncode_Private(muon, &group->shard[order[k]], status));
      MuonNoteStatus(muon, group->shard[order[k]].layer, *status);
    }
    PetscCall(MuonExchangeUp(group->exchange, *status));
    for (PetscInt k = 0; k < group->nshards; k++) PetscCall(MuonFollowOwn_Private(&group->shard[k]));
  } else PetscCall(MuonWorkersSum_Private(muon, group));
  for (PetscInt k = 0; k < group->nshards; k++) PetscCall(MuonLayerRestoreGradientMemory(group->shard[k].layer, &group->shard[k].gradient));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The messages of all workers times their weights, added in the order of workers. The sum is scratch: a
   message need not be checked before its first entry is added
*/
PetscErrorCode MuonSumMessages_Private(MuonShard *shard, PetscInt nworkers, const MuonArray *sum, MuonStatus *status)
{
  const double *const weight = shard->group->grid->weight;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < nworkers; j++) {
    const unsigned char *message;
    size_t               bytes;
    MuonStatus           received;
    PetscBool            valid;

    PetscCall(MuonExchangeUpGet(shard->group->exchange, (PetscMPIInt)j, shard->item, &bytes, &message, &received));
    if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK) {
      PetscCall(MuonCompressorDecodeArray(shard->sent, j > 0 ? PETSC_TRUE : PETSC_FALSE, weight != NULL ? weight[j] : 1, bytes, message, sum, &valid));
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
static PetscErrorCode MuonAggregate_Private(Muon muon, MuonShard *shard, PetscInt nworkers, const MuonArray *sum, const MuonArray *W, MuonArray *seen, MuonStatus *status)
{
  const PetscBool at_server = muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER ? PETSC_TRUE : PETSC_FALSE;
  int             finite    = 1;
  PetscLogDouble  flops;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Aggregate, muon, 0, 0, 0));
  PetscCall(MuonLogDeviceBegin(sum->memory, &flops));
  if (muon->ops->aggregate != NULL) PetscUseTypeMethod(muon, aggregate, shard, sum, nworkers);
  else if (nworkers > 1) MuonArrayAxpby(1 / (double)nworkers, sum, 0, sum);
  if (at_server && MuonClipsLayer_Private(muon, shard->layer) && muon->clipfactor != 1) MuonArrayAxpby(muon->clipfactor, sum, 0, sum);
  if (at_server && MuonCoupledDecay_Private(muon, shard->layer) != 0) MuonArrayAxpby(MuonCoupledDecay_Private(muon, shard->layer), W, 1, sum);
  *seen = *sum;
  if (at_server && shard->M.data != NULL) {
    PetscCall(MuonMixMomentum_Private(shard->previous, &shard->M, shard->fresh, sum, &shard->Mnew, &finite));
    if (muon->nesterov == MUON_NESTEROV_NONE) *seen = shard->Mnew;
    else MuonArrayAxpby(shard->previous, &shard->Mnew, muon->nesterov == MUON_NESTEROV_EMA ? 1 - shard->previous : 1, sum);
  } else if (at_server && muon->nesterov == MUON_NESTEROV_NONE && shard->fresh != 1) MuonArrayAxpby(shard->fresh, sum, 0, sum); /* a Nesterov term is the gradient itself and no momentum */
  if (finite == 0) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(sum)));
  PetscCall(MuonLogDeviceEnd(sum->memory, flops));
  PetscCall(PetscLogEventEnd(MUON_Aggregate, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a server is about to send or to apply; where every rank computes it, it must be the same on each */
static void MuonHashReplica_Private(const MuonShard *shard, size_t bytes, const void *data)
{
  if (shard->layer->owner < 0) shard->group->replica = (unsigned int)MuonWireCRC32C((uint32_t)shard->group->replica, (const unsigned char *)data, bytes);
}

/*
   The step as a message. No entry of D is beyond 1: whether the new weights are finite is known before they
   are there
*/
static PetscErrorCode MuonServeStep_Private(Muon muon, MuonShard *shard, MuonLayerStepInfo *info, const MuonArray *seen, const MuonArray *W, MuonStatus *status)
{
  MuonStatus     stepped = MUON_STATUS_OK;
  size_t         most, bytes;
  unsigned char *to;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetMaxStepBytes(shard->layer, &most));
  PetscCall(MuonExchangeReserve(shard->group->exchange, MUON_EXCHANGE_DOWN, shard->item, most, &to));
  PetscCall(MuonLayerEncodeStep(shard->layer, info, seen, most, to, &bytes, PETSC_FALSE, NULL, &stepped));
  if (stepped == MUON_STATUS_OK && !(fmax(info->cautious ? 1 : 0, fabs(1 - info->rate * info->decay)) * MuonArrayKernels(W)->MaxAbs(W->len, W->count, W->data, W->ld) + info->radius <= (W->precision == MUON_SINGLE ? (double)FLT_MAX : DBL_MAX)))
    stepped = MUON_STATUS_NANORINF;
  MuonStatusMerge(stepped, status);
  if (stepped != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeAdvance(shard->group->exchange, MUON_EXCHANGE_DOWN, shard->item, bytes));
  MuonHashReplica_Private(shard, bytes, to);
  if (info->measure) {
    const MuonLayerStepInfo unit = {info->step, 1, 0, 0, 0, PETSC_FALSE, PETSC_FALSE, 0};
    MuonArray               update;
    MuonMark                mark;

    /* The step of rate 1 from zero */
    PetscCall(MuonWorkspaceMark(muon->work, &mark));
    PetscCall(MuonWorkspaceGetArray(muon->work, W, W->precision, &update));
    PetscCall(MuonArrayZero(&update));
    PetscCall(MuonLayerDecodeStep(shard->layer, &unit, bytes, to, &update));
    info->squares = MuonLayerSumSquares(&update);
    PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The new weights as a message, or all that there is to say of them where nothing goes down */
PetscErrorCode MuonServeWeights_Private(Muon muon, MuonShard *shard, const MuonArray *Xnew, const MuonArray *W, MuonStatus *status)
{
  MuonExchange   exchange = shard->group->exchange;
  MuonStatus     encoded;
  size_t         most, bytes;
  unsigned char *to;
  MuonArray      host;

  PetscFunctionBegin;
  if (shard->group->direct || shard->group->votes != NULL) {
    if (shard->layer->owner >= 0) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MuonArrayOnHost(Xnew, PETSC_TRUE, &host));
    MuonHashReplica_Private(shard, MuonArrayBytes(&host), host.data);
    PetscCall(MuonArrayOffHost(Xnew, PETSC_FALSE, &host));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonCompressorSetStep(shard->down, muon->step));
  PetscCall(MuonCompressorGetMaxBytesOf(shard->down, Xnew, &most));
  PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_DOWN, shard->item, most, &to));
  PetscCall(MuonCompressorEncodeArray(shard->down, Xnew, shard->down_assigns ? NULL : W, most, to, &bytes, PETSC_FALSE, NULL, NULL));
  PetscCall(MuonCompressorGetStatus(shard->down, &encoded));
  MuonStatusMerge(encoded, status);
  if (encoded != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_DOWN, shard->item, bytes));
  MuonHashReplica_Private(shard, bytes, to);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *seen may be scratch, of which the caller has the mark */
PetscErrorCode MuonServerSees_Private(Muon muon, MuonShard *shard, MuonArray *seen, MuonStatus *status)
{
  const PetscInt nworkers = shard->group->exchange->nworkers;
  MuonArray      sum      = shard->sum, state, whole, W;

  PetscFunctionBegin;
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  if (sum.data == NULL) PetscCall(MuonWorkspaceGetArray(muon->work, &state, state.precision, &sum));
  *seen = sum;
  if (shard->group->mode != MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonExchangeReduceWait(shard->group->exchange, shard->item));
  else if (shard->summed == PETSC_FALSE) PetscCall(MuonSumMessages_Private(shard, nworkers, &sum, status));
  if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  W = MuonShardPart(shard, &whole);
  PetscCall(MuonAggregate_Private(muon, shard, nworkers, &sum, &W, seen, status));
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What several ranks compute alike counts once */
PetscBool MuonShardCounts_Private(const MuonShard *shard)
{
  return shard->layer->owner >= 0 || shard->group->exchange->worker == 0 ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MuonServerApply_Private(Muon muon, PetscInt n, MuonShard *const shard[], MuonLayerTask task[], MuonRecord *record)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    task[k].layer  = shard[k]->layer;
    task[k].status = MUON_STATUS_OK;
    PetscCall(MuonGetStepInfo(muon, task[k].layer, &task[k].info));
    if (muon->ops->apply != NULL) PetscUseTypeMethod(muon, apply, shard[k], &task[k].info, &task[k].G, &task[k].X, &task[k].Xnew, &task[k].status);
  }
  if (muon->ops->apply == NULL) PetscCall(MuonLayerStepMany(n, task));
  for (PetscInt k = 0; k < n; k++) {
    if (task[k].status == MUON_STATUS_OK && MuonShardCounts_Private(shard[k])) record->dual += task[k].info.dual;
    shard[k]->squares = task[k].info.squares;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights of a shard that a server does something with */
typedef struct {
  MuonArray whole, W;
} MuonServed;

/*
   Server: aggregates, steps of the rules, messages of what became of them, each for all shards in their order
*/
static PetscErrorCode MuonServe_Private(Muon muon, PetscInt n, MuonShard *const shard[], MuonRecord *record, MuonStatus *status)
{
  MuonLayerTask *task;
  MuonServed    *served;
  MuonMark       mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(PetscCalloc2(n, &task, n, &served));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonServerSees_Private(muon, shard[k], &task[k].G, status));
    MuonNoteStatus(muon, shard[k]->layer, *status);
  }
  if (*status == MUON_STATUS_OK) {
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(MuonLayerGetWeightsMemory(shard[k]->layer, PETSC_FALSE, &served[k].whole));
      served[k].W = MuonShardPart(shard[k], &served[k].whole);
      task[k].X   = MuonShardServerWeights(shard[k], &served[k].W);
    }
    if (shard[0]->downlink == MUON_DOWNLINK_STEP && shard[0]->group->direct == PETSC_FALSE) { /* see MuonShardIsServedAlone_Private() */
      PetscCall(MuonGetStepInfo(muon, shard[0]->layer, &task[0].info));
      PetscCall(MuonServeStep_Private(muon, shard[0], &task[0].info, &task[0].G, &served[0].W, status));
      MuonNoteStatus(muon, shard[0]->layer, *status);
      if (*status == MUON_STATUS_OK && MuonShardCounts_Private(shard[0])) record->dual += task[0].info.dual;
      shard[0]->squares = task[0].info.squares;
    } else {
      for (PetscInt k = 0; k < n; k++) {
        task[k].Xnew = shard[k]->Xnew;
        if (!task[k].Xnew.data) PetscCall(MuonWorkspaceGetArray(muon->work, &served[k].W, served[k].W.precision, &task[k].Xnew));
      }
      PetscCall(MuonServerApply_Private(muon, n, shard, task, record));
      for (PetscInt k = 0; k < n; k++) {
        MuonStatusMerge(task[k].status, status);
        if (*status == MUON_STATUS_OK) PetscCall(MuonServeWeights_Private(muon, shard[k], &task[k].Xnew, &served[k].W, status));
        MuonNoteStatus(muon, shard[k]->layer, *status);
      }
    }
    for (PetscInt k = 0; k < n; k++) PetscCall(MuonLayerRestoreWeightsMemory(shard[k]->layer, PETSC_FALSE, &served[k].whole));
  }
  PetscCall(PetscFree2(task, served));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Worker: each message of a server is checked once; what the checking made of it is kept for the commit */
static PetscErrorCode MuonReceive_Private(Muon muon, MuonShard *shard, MuonRecord *record, MuonStatus *status)
{
  const unsigned char *message;
  size_t               bytes;
  MuonCompressorCost   cost;
  MuonStatus           received;
  PetscBool            valid;
  MuonArray            shape, W;

  PetscFunctionBegin;
  PetscCall(MuonExchangeDownGet(shard->group->exchange, shard->item, &bytes, &message, &received));
  if (received == MUON_STATUS_OK && *status == MUON_STATUS_OK) {
    PetscCall(MuonLayerGetShape(shard->layer, &shape));
    W = MuonShardPart(shard, &shape);
    if (shard->downlink == MUON_DOWNLINK_STEP) PetscCall(MuonLayerValidateStep(shard->layer, bytes, message, muon->count_entropy, &cost, &valid));
    else PetscCall(MuonCompressorValidateArray(shard->down, &W, bytes, message, muon->count_entropy, &cost, &shard->down_got, &valid));
    if (valid) MuonCountMessage_Private(muon, &cost, muon->traffic.down);
    else received = MUON_STATUS_CORRUPT;
  }
  MuonStatusMerge(received, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host nothing is gained by several, and a step as a message is made of one */
static PetscBool MuonShardIsServedAlone_Private(const MuonShard *shard)
{
  return shard->layer->shape.memory == MUON_HOST || (shard->downlink == MUON_DOWNLINK_STEP && shard->group->direct == PETSC_FALSE) ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Shards in the memory of a device, where small products of several layers are made at once, are served in
   runs, whose sums and new weights stay within the bytes of a batch. Those count whether or not they are
   scratch: the sums of a run are waited for before any of its steps is taken
*/
static PetscErrorCode MuonServeShards_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  const PetscInt *order;
  MuonShard     **run;
  PetscInt        n     = 0;
  size_t          bytes = 0;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetOrder(group->exchange, &order));
  PetscCall(PetscMalloc1(group->nshards, &run));
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[order[k]];
    MuonArray  state, shape, W;
    size_t     more;

    if (shard->owns == PETSC_FALSE) continue;
    PetscCall(MuonShardGetStateShape(muon, shard, &state));
    PetscCall(MuonLayerGetShape(shard->layer, &shape));
    W    = MuonShardPart(shard, &shape);
    more = MuonArrayBytes(&state) + MuonArrayBytes(&W);
    if (n > 0 && (MuonShardIsServedAlone_Private(shard) || MuonShardIsServedAlone_Private(run[0]) || (PetscReal)(bytes + more) > muon->device_batch_bytes)) {
      PetscCall(MuonServe_Private(muon, n, run, record, status));
      n     = 0;
      bytes = 0;
    }
    run[n++] = shard;
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
    ierr = MuonServeShards_Private(muon, group, record, status);
    MuonKernelSetProgress(NULL, NULL);
    PetscCall(ierr);
  }
  if (sums) PetscCall(MuonExchangeReduceEnd(group->exchange));
  if (group->direct) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonExchangeDown(group->exchange, *status));
  MuonNextPhase(muon, *status);
  for (PetscInt k = 0; k < group->nshards; k++) {
    PetscCall(MuonReceive_Private(muon, &group->shard[k], record, status));
    MuonNoteStatus(muon, group->shard[k].layer, *status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New weights at a worker, from what was received or, where every rank owns, from what this one computed */
static PetscErrorCode MuonCommitWeights_Private(Muon muon, MuonShard *shard)
{
  const PetscBool      looks = shard->X.data != NULL && MuonShardCounts_Private(shard) ? PETSC_TRUE : PETSC_FALSE; /* what goes down may leave something out, and one server looks at it */
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           received;
  MuonLayerStepInfo    info;
  MuonArray            whole, W;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_TRUE, &whole));
  W = MuonShardPart(shard, &whole);
  if (looks) PetscTryTypeMethod(muon, look, shard, PETSC_FALSE, &shard->Xnew, &W);
  if (shard->group->direct) MuonArrayAxpby(1, &shard->Xnew, 0, &W);
  else if (shard->downlink == MUON_DOWNLINK_STEP) {
    PetscCall(MuonExchangeDownGet(shard->group->exchange, shard->item, &bytes, &message, &received));
    PetscCall(MuonGetStepInfo(muon, shard->layer, &info));
    PetscCall(MuonLayerDecodeStep(shard->layer, &info, bytes, message, &W));
  } else PetscCall(MuonCompressorDecodeValidated(shard->down, &shard->down_got, shard->down_assigns ? PETSC_FALSE : PETSC_TRUE, 1, &W));
  if (looks) PetscTryTypeMethod(muon, look, shard, PETSC_TRUE, &shard->Xnew, &W);
  if (shard->cut) PetscCall(MuonShardGather_Private(muon, shard, &W, &whole));
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_TRUE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Root mean square of what the rate was multiplied with, over the whole layer */
static PetscErrorCode MuonMeasureUpdate_Private(Muon muon, MuonShard *shard)
{
  const double entries = (double)MuonLayerEntries(shard->layer);

  PetscFunctionBegin;
  shard->layer->updaterms = -1;
  if (muon->measure_update_rms == PETSC_FALSE || entries == 0 || shard->group->votes != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (shard->ranges != NULL) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &shard->squares, 1, MPI_DOUBLE, MPI_SUM, shard->group->grid->inside));
    shard->group->bytes += sizeof(shard->squares);
  }
  shard->layer->updaterms = PetscSqrtReal((PetscReal)(shard->squares / entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCommit_Private(Muon muon, MuonShard *shard)
{
  PetscFunctionBegin;
  PetscTryTypeMethod(muon, commit, shard);
  PetscCall(MuonCompressorCommit(shard->sent));
  if (shard->M.data != NULL && muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER) MuonArraySwap(&shard->M, &shard->Mnew);
  else if (shard->M.data != NULL && shard->in_place) PetscCall(MuonLayerSwapGradientMemory(shard->layer, &shard->M));
  else if (shard->M.data != NULL) MuonArraySwap(&shard->M, &shard->Tnew);
  if (shard->group->votes != NULL) PetscCall(MuonVotesCommit_Private(muon, shard));
  else PetscCall(MuonCommitWeights_Private(muon, shard));
  if (shard->owns) {
    PetscCall(MuonCompressorCommit(shard->down));
    PetscCall(MuonLayerCommit(shard->layer));
    PetscCall(MuonMeasureUpdate_Private(muon, shard));
    if (shard->X.data != NULL) MuonArraySwap(&shard->X, &shard->Xnew);
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
  MuonMark     none;

  PetscFunctionBegin;
  /* An error of an earlier step may have left scratch in use */
  PetscCall(PetscMemzero(&none, sizeof(none)));
  PetscCall(MuonWorkspaceRelease(muon->work, &none));
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
  for (PetscInt l = 0; l < muon->nactive; l++) {
    if (muon->active[l] == muon->readytwice) record.asked = (double)(muon->nactive + 1 + l);
  }
  PetscCall(MuonBeginSums_Private(muon));
  record.loss  = (double)loss;
  PetscTryTypeMethod(muon, begin, &record);
  PetscCall(MuonWatchWeights_Private(muon));
  PetscCall(MuonExchangeBegin(muon->exchange, MUON_EXCHANGE_UP, (PetscInt64)muon->step)); /* which carries the agreement, whether or not it carries shards */
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
  PetscCall(MuonReduceStatus_Private(muon, &record, &ok));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    if (ok) PetscCall(MuonCommit_Private(muon, &muon->shard[p]));
    PetscCall(MuonLayerSpoilGradient(muon->shard[p].layer));
  }
  PetscCall(MuonDeviceEnd_Private(muon));
  if (ok == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscTryTypeMethod(muon, end);
  PetscFunctionReturn(PETSC_SUCCESS);
}
