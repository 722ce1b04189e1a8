#include "muonstep.h"
#include <petscmuon/private/muonwire.h>
#include <float.h>
#include <math.h>

/*
   The server's half of a step on one shard: sum -> aggregate -> momentum -> LMO -> message.
*/

/* Whether other work than the momentum, between the sum and the LMO, overwrites the sum */
static PetscBool MuonServerChangesSum_Private(Muon muon, const MuonShard *shard)
{
  if (muon->ops->serve != NULL && MuonShardIsAsIs(shard) == PETSC_FALSE) return PETSC_TRUE;
  if (muon->momentum_at != (int)MUON_MOMENTUM_AT_SERVER) return PETSC_FALSE;
  if (shard->M.data != NULL && MuonArrayIsPacked(&shard->M)) return PETSC_TRUE;
  if (MuonClipsLayer_Private(muon, shard->layer) || MuonCoupledDecay_Private(muon, shard->layer) != 0 || muon->nesterov != MUON_NESTEROV_NONE) return PETSC_TRUE;
  return shard->M.data == NULL && shard->round->info.gradient_weight != 1 ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Z = beta M + weight G in one pass over the three, with G first rounded to the precision of Z; strip by strip, on the host
*/
static PetscErrorCode MuonMomentumOfRounded_Private(double beta, const MuonArray *M, double weight, const MuonArray *G, const MuonArray *Z, int *finite)
{
  enum {
    STRIP = 1024
  };
  const MuonKernels *kernels = MuonArrayKernels(Z), *other = MuonArrayKernels(G);
  const size_t       entries = MuonArrayEntries(Z);
  double             wide[STRIP], rounded[STRIP];

  PetscFunctionBegin;
  *finite = 1;
  for (size_t first = 0; first < entries; first += STRIP) {
    const size_t some = PetscMin(entries - first, (size_t)STRIP);
    const void  *g    = (const char *)G->data + first * other->size;

    if (G->ld != G->len && G->count > 1) {
      other->Residual(G->len, G->count, G->data, G->ld, NULL, 0, first, some, wide);
      g = wide;
    }
    kernels->AxpbyOther(some, 1, 1, g, some, 0, rounded, some);
    *finite &= kernels->Momentum(some, 1, beta, (const char *)M->data + first * kernels->size, some, weight, rounded, some, (char *)Z->data + first * kernels->size, some);
  }
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Nesterov form of the new momentum M, in the memory of the sum */
static void MuonAddNesterov_Private(Muon muon, double beta, const MuonArray *M, const MuonArray *sum)
{
  MuonArrayAxpby(beta, M, muon->nesterov == MUON_NESTEROV_EMA ? 1 - beta : 1, sum);
}

/* The sum becomes the input of the LMO: the new momentum before it is rounded, or its Nesterov form */
static PetscErrorCode MuonMomentumOfPacked_Private(Muon muon, MuonShard *shard, const MuonArray *sum, int *finite)
{
  const double  beta = shard->round->info.beta;
  MuonStateForm form = shard->layer->state;
  MuonArray     M;
  MuonMark      mark;

  PetscFunctionBegin;
  form.stream.step = (uint32_t)shard->round->info.step;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonWorkspaceGetArray(muon->work, sum, sum->precision, &M));
  MuonPackedGet(&shard->M, 0, 0, &M);
  PetscCall(MuonMixMomentum_Private(beta, &M, shard->round->info.gradient_weight, sum, &M, finite));
  if (MuonPackedSet(&form, &M, 0, 0, &shard->Mnew) == 0) *finite = 0;
  if (muon->nesterov == MUON_NESTEROV_NONE) MuonArrayAxpby(1, &M, 0, sum);
  else MuonAddNesterov_Private(muon, beta, &M, sum);
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The input of the LMO from the sum: aggregate, then decay of the weights and momentum where the server keeps one */
static PetscErrorCode MuonAggregate_Private(Muon muon, MuonShard *shard, const MuonArray *sum, MuonArray *input, MuonStatus *status)
{
  const PetscInt  nworkers  = shard->group->exchange->nworkers;
  const PetscBool at_server = muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER ? PETSC_TRUE : PETSC_FALSE;
  int             finite    = 1;
  PetscLogDouble  flops;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Aggregate, muon, 0, 0, 0));
  PetscCall(MuonLogDeviceBegin(sum->memory, &flops));
  if (muon->ops->serve != NULL && MuonShardIsAsIs(shard) == PETSC_FALSE) PetscUseTypeMethod(muon, serve, shard, sum, nworkers);
  else if (nworkers > 1) MuonArrayAxpby(1 / (double)nworkers, sum, 0, sum);
  if (MuonClipsSum_Private(muon, shard->layer) && muon->clipfactor != 1) MuonArrayAxpby(muon->clipfactor, sum, 0, sum);
  if (at_server) PetscCall(MuonAddWeights_Private(shard, MuonCoupledDecay_Private(muon, shard->layer), sum));
  *input = *sum;
  if (at_server && shard->M.data != NULL && MuonArrayIsPacked(&shard->M)) PetscCall(MuonMomentumOfPacked_Private(muon, shard, sum, &finite));
  else if (at_server && shard->M.data != NULL) {
    if (sum->precision == shard->M.precision) PetscCall(MuonMixMomentum_Private(shard->round->info.beta, &shard->M, shard->round->info.gradient_weight, sum, &shard->Mnew, &finite));
    else PetscCall(MuonMomentumOfRounded_Private(shard->round->info.beta, &shard->M, shard->round->info.gradient_weight, sum, &shard->Mnew, &finite));
    if (muon->nesterov == MUON_NESTEROV_NONE) *input = shard->Mnew;
    else MuonAddNesterov_Private(muon, shard->round->info.beta, &shard->Mnew, sum);
  } else if (at_server && muon->nesterov == MUON_NESTEROV_NONE && shard->round->info.gradient_weight != 1) MuonArrayAxpby(shard->round->info.gradient_weight, sum, 0, sum); /* a Nesterov term is the gradient itself and no momentum */
  if (finite == 0) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  PetscCall(PetscLogFlops(3.0 * (PetscLogDouble)MuonArrayEntries(sum)));
  PetscCall(MuonLogDeviceEnd(sum->memory, flops));
  PetscCall(PetscLogEventEnd(MUON_Aggregate, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gradient that entered Mnew, or the input of the LMO if the server has no momentum */
void MuonServerGetGradient_Private(const MuonLayerStepInfo *info, const MuonArray *M, const MuonArray *Mnew, const MuonArray *input, const MuonArray *gradient)
{
  if (Mnew->data == NULL) MuonArrayAxpby(1, input, 0, gradient);
  else (void)MuonArrayKernels(M)->Momentum(M->len, M->count, -info->beta / info->gradient_weight, M->data, M->ld, 1 / info->gradient_weight, Mnew->data, Mnew->ld, gradient->data, gradient->ld);
}

/* *input may be scratch, of which the caller has the mark */
PetscErrorCode MuonServerAggregate_Private(Muon muon, MuonShard *shard, MuonArray *input, MuonStatus *status)
{
  const MuonArray state = MuonShardStateShape(shard);
  const PetscBool same  = shard->round->T.precision == state.precision || (shard->M.data != NULL && state.memory == MUON_HOST) ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool asis  = MuonShardIsDirect(shard) && same && MuonServerChangesSum_Private(muon, shard) == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  MuonArray       sum   = asis ? shard->round->T : shard->sum;

  PetscFunctionBegin;
  if (sum.data == NULL) PetscCall(MuonWorkspaceGetArray(muon->work, &state, state.precision, &sum));
  *input = sum;
  if (asis == PETSC_FALSE && MuonClipsSum_Private(muon, shard->layer) == PETSC_FALSE) PetscCall(MuonServerSum_Private(shard, &sum, status));
  if (*status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonAggregate_Private(muon, shard, &sum, input, status));
  MuonTryAddons(muon, input, muon, shard, input);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServerEncode_Private(Muon muon, MuonShard *shard, const MuonArray *Xnew, const MuonArray *W, MuonStatus *status)
{
  PetscFunctionBegin;
  if (shard->round->change.data != NULL) PetscCall(MuonRoundsCorrect_Private(shard, Xnew, W, status));
  if (*status == MUON_STATUS_OK) PetscCall((*shard->group->down->tell)(muon, shard, Xnew, W, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for new weights, or for a step; which it is may have changed since the last one */
static PetscErrorCode MuonGetNew_Private(MuonShard *shard, const MuonArray *like)
{
  PetscFunctionBegin;
  if (shard->Xnew.precision != like->precision) PetscCall(MuonArrayDestroy(&shard->Xnew));
  if (shard->Xnew.data == NULL) PetscCall(MuonArrayCreate(like, like->precision, &shard->Xnew));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step overwrites the gradient, if that is not needed any more and is in the layer's own memory */
static PetscErrorCode MuonPlaceStep_Private(MuonShard *shard, const MuonArray *input)
{
  const MuonArray state = MuonShardStateShape(shard);
  const PetscBool used  = shard->muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER && MuonShardIsDirect(shard) && (shard->muon->ops->commit == NULL || MuonShardIsAsIs(shard)) ? PETSC_TRUE : PETSC_FALSE;
  MuonArray       G;
  PetscBool       ours;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientMemory(shard->layer, &G, &ours));
  shard->round->step = MuonArrayLike(&state, state.precision, G.data);
  PetscCall(MuonLayerRestoreGradientMemory(shard->layer, &G));
  if (ours && shard->round->step.data != input->data && (used || shard->round->step.data != shard->round->T.data)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetNew_Private(shard, &state));
  shard->round->step = shard->Xnew;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServerPrepare_Private(Muon muon, PetscInt n, MuonShard *const shard[], MuonLayerTask task[], MuonArray weights[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    MuonRound *round = shard[k]->round;
    MuonArray  W;

    PetscCall(MuonLayerGetWeightsMemory(shard[k]->layer, PETSC_FALSE, &weights[k]));
    W                = MuonShardPart(shard[k], &weights[k]);
    round->step.data = NULL;
    if (MuonShardTakes(shard[k])) PetscCall(MuonPlaceStep_Private(shard[k], &task[k].G));
    else if (shard[k]->group->down->messages == PETSC_FALSE) PetscCall(MuonGetNew_Private(shard[k], &W));
    task[k].layer  = shard[k]->layer;
    task[k].status = MUON_STATUS_OK;
    task[k].info   = round->info;
    task[k].X      = MuonShardServerWeights(shard[k], &W);
    task[k].D      = round->step;
    task[k].Xnew   = shard[k]->Xnew;
    if (!task[k].Xnew.data && !task[k].D.data && MuonShardSendsStep(shard[k]) == PETSC_FALSE) PetscCall(MuonWorkspaceGetArray(muon->work, &W, W.precision, &task[k].Xnew));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServerFinish_Private(Muon muon, PetscInt n, MuonShard *const shard[], MuonLayerTask task[], MuonArray weights[], MuonRecord *record, MuonStatus *status)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const MuonArray W = MuonShardPart(shard[k], &weights[k]);

    if (MuonShardSendsStep(shard[k])) PetscCall(MuonServerEncodeStep_Private(muon, shard[k], &task[k].G, &W, record, status));
    else {
      if (task[k].status == MUON_STATUS_OK && MuonShardCounts(shard[k])) record->dual += task[k].info.dual;
      shard[k]->round->info = task[k].info;
      MuonStatusMerge(task[k].status, status);
      if (*status == MUON_STATUS_OK) PetscCall(MuonServerEncode_Private(muon, shard[k], task[k].D.data ? &task[k].D : &task[k].Xnew, &W, status));
    }
    MuonNoteStatus(muon, shard[k]->layer, *status);
    PetscCall(MuonLayerRestoreWeightsMemory(shard[k]->layer, PETSC_FALSE, &weights[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
