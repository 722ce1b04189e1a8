#include "muonstep.h"
#include "../../kernels/dense/muonpanels.h"

/* The way up of round[0] */
static PetscErrorCode MuonSend_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[k];

    if (group->depth > 1) shard->round->T = *MuonShardKept(shard);
    shard->round->info.step = (PetscInt)MuonGroupStep(muon, group);
    shard->round->sent      = shard->up;
  }
  PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_UP, MuonGroupStep(muon, group)));
  PetscCall((*group->up->send)(muon, group, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The round of this step's gradients becomes round[0]; with depth 1 it is that already */
static PetscErrorCode MuonBeginRound_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < group->nshards; k++) {
    group->shard[k].round->info      = MuonShardNext(&group->shard[k])->info;
    group->shard[k].round->figure[0] = 0;
  }
  if (MuonGroupSkips(group) == PETSC_FALSE) PetscCall(MuonSend_Private(muon, group, status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonBegin_Private(Muon muon)
{
  PetscFunctionBegin;
  muon->rounds->pending = muon->step;
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    if (muon->group[g]->depth > 1) PetscCall(MuonBeginRound_Private(muon, muon->group[g], &muon->rounds->sending));
  }
  muon->rounds->underway = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Momenta of a group's workers, and their messages: with depth 1 of this step's T, else of the round begun before a refused step or a restart */
static PetscErrorCode MuonWorkers_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  const PetscBool skips = MuonGroupSkips(group);
  PetscLogDouble  flops;

  PetscFunctionBegin;
  group->replica = 0;
  PetscCall(PetscLogEventBegin(MUON_Momentum, muon, 0, 0, 0));
  for (PetscInt k = 0; k < group->nshards && skips == PETSC_FALSE; k++) {
    MuonShard *shard = &group->shard[k];

    PetscCall(MuonLogDeviceBegin(shard->layer->shape.memory, &flops));
    PetscCall(MuonWorkerMomentum_Private(muon, shard, record, status));
    PetscCall(MuonLogDeviceEnd(shard->layer->shape.memory, flops));
    MuonNoteStatus(muon, shard->layer, *status);
  }
  PetscCall(PetscLogEventEnd(MUON_Momentum, muon, 0, 0, 0));
  if (group->depth == 1) PetscCall(MuonBeginRound_Private(muon, group, status));
  else if (skips == PETSC_FALSE && muon->rounds->pending >= 0 && muon->rounds->underway == PETSC_FALSE) PetscCall(MuonSend_Private(muon, group, &muon->rounds->sending));
  for (PetscInt k = 0; k < group->nshards && skips == PETSC_FALSE; k++) PetscCall(MuonLayerRestoreGradientMemory(group->shard[k].layer, &MuonShardNext(&group->shard[k])->gradient));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A step, as in the papers. Each line is a function; [] are operations of the type, {} of the group, and what a
   group of means does of the latter stands behind them:

     for all shards      MuonBeginSums        gradients of the ranks of a worker -> G
     for all groups      MuonWorkers
       for its shards      MuonWorkerMomentum   T = beta M + gradient_weight G
       {up}                MuonWorkerEncode     R = C(T - estimate), as [send] says -> MuonExchangeMove(); or sums of T begin
     for all groups      {servers}
       for owned shards    MuonServerAggregate  sum of R -> [serve] -> momentum -> input of the LMO
                           MuonLayerStepMany    Xnew: the layer's optimizer and LMO
         {down}            MuonServerEncode     S = C(Xnew - W) -> MuonExchangeMove()
     on all ranks        MuonReduceStatus     one record a rank: applied everywhere or nowhere
     for all shards      MuonCommit           [commit], M = T, {down}: W += S

   With depth 2 {up} follows the commit, MuonBegin(), and {servers} are those of the next step: T, which
   is known to be finite, rate, decay and seeds wait with the round. Where the next step is refused its gradients are left
   out, and the round is sent again.

   A loop over shards never ends early: a rank that failed goes on with error packets in place of its messages,
   so that all ranks make the same calls. Nothing of the state changes before MuonReduceStatus().
*/
PetscErrorCode MuonRound_Private(Muon muon, MuonRecord *record, PetscBool *ok, PetscBool *differs)
{
  const PetscBool failed = record->status < 0 ? PETSC_TRUE : PETSC_FALSE; /* the program's routine */
  MuonStatus      status = failed || PetscIsInfOrNanReal((PetscReal)record->loss) ? MUON_STATUS_NANORINF : MUON_STATUS_OK;
  PetscInt        first = muon->nactive, count = 0;
  PetscBool       given;
  MuonMark        none;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  /* An error of an earlier step may have left scratch in use */
  PetscCall(PetscMemzero(&none, sizeof(none)));
  PetscCall(MuonWorkspaceRelease(muon->work, &none));
  muon->failed.phase = 0;
  muon->failed.at = muon->failed.rank = -1;
  muon->failed.layer                  = NULL;
  /* The first layer without a gradient */
  for (PetscInt l = muon->nactive - 1; l >= 0; l--) {
    PetscCall(MuonLayerIsGradientProvided(muon->active[l], &given));
    if (given || MuonGroupRests(MuonShardOf(muon->active[l])->group)) continue;
    first = l;
    count++;
  }
  record->missing = count > 0 && count == muon->nactive ? -1 : (double)first;
  for (PetscInt l = 0; l < muon->nactive; l++) {
    if (MuonShardOf(muon->active[l])->port->ready > 1) record->missing = (double)(muon->nactive + 1 + l);
  }
  PetscCall(MuonBeginSums_Private(muon));
  MuonTryAddons(muon, begin, muon, record);
  PetscCall(MuonExchangeBegin(muon->exchange, MUON_EXCHANGE_UP, (PetscInt64)muon->step)); /* which carries the status, whether or not it carries shards */
  PetscCall(MuonClipWorker_Private(muon));
  for (PetscInt g = 0; g < muon->ngroups; g++) PetscCall(MuonWorkers_Private(muon, muon->group[g], record, &status));
  MuonStatusMerge(muon->rounds->sending, &status);
  muon->rounds->sending  = MUON_STATUS_OK;
  muon->rounds->underway = PETSC_FALSE; /* each group waits for its own */
  MuonNextPhase(muon, status);
  PetscCall(MuonClipServers_Private(muon, &status));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    const MuonGroup group = muon->group[g];

    MuonNextPhase(muon, status);
    if (MuonGroupSkips(group) || MuonGroupStep(muon, group) < 0) continue;
    PetscCall(MuonExchangeMoveEnd(group->exchange));
    if (group->up->arrays && group->server == NULL) MuonKernelSetProgress(MuonExchangeProgress, group->exchange);
    ierr = (*group->ops->servers)(muon, group, record, &status);
    MuonKernelSetProgress(NULL, NULL);
    PetscCall(ierr);
  }
  MuonNoteStatus(muon, NULL, status);
  if (failed == PETSC_FALSE) record->status = (double)status;
  record->up   = muon->counted[0][3];
  record->down = muon->counted[1][3];
  PetscCall(PetscArraycpy(muon->traffic.up, muon->counted[0], 3));
  PetscCall(PetscArraycpy(muon->traffic.down, muon->counted[1], 3));
  PetscCall(PetscMemzero(muon->counted, sizeof(muon->counted)));
  PetscCall(MuonReduceStatus_Private(muon, record, ok, differs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Root mean square of the update divided by the rate, over the whole layer */
static PetscErrorCode MuonMeasureUpdate_Private(Muon muon, MuonShard *shard)
{
  const double entries = (double)MuonLayerEntries(shard->layer);

  PetscFunctionBegin;
  shard->layer->driver->updaterms = -1;
  if (shard->round->info.measure == PETSC_FALSE || entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (shard->port->ranges != NULL) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &shard->round->info.squares, 1, MPI_DOUBLE, MPI_SUM, shard->group->grid->inside));
    muon->bytes[0] += sizeof(shard->round->info.squares);
  }
  shard->layer->driver->updaterms = PetscSqrtReal((PetscReal)(shard->round->info.squares / entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCommitShard_Private(Muon muon, MuonShard *shard)
{
  MuonArray whole;

  PetscFunctionBegin;
  if (MuonPortServes(shard->port) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscTryTypeMethod(muon, commit, shard);
  PetscCall(MuonCompressorCommit(shard->round->sent));
  if (shard->M.data != NULL && muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER) MuonArraySwap(&shard->M, &shard->Mnew);
  if (shard->group->down->arrays == PETSC_FALSE || MuonShardOwns(shard)) {
    PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_TRUE, &whole));
    PetscCall(MuonShardMove_Private(muon, shard, &shard->round->info, &whole));
    PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_TRUE, &whole));
  }
  if (MuonShardOwns(shard) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorCommit(shard->down));
  PetscTryTypeMethod(shard->layer, commit);
  PetscCall(MuonMeasureUpdate_Private(muon, shard));
  if (shard->X.data != NULL) MuonArraySwap(&shard->X, &shard->Xnew);
  if (shard->round->change.data != NULL) MuonArraySwap(&shard->round[0].change, &shard->round[1].change);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gradient of a layer was used; where the step is taken, T of it is kept */
static PetscErrorCode MuonEndGradient_Private(MuonShard *shard, PetscBool taken)
{
  MuonArray *kept  = MuonShardKept(shard);
  MuonRound *round = MuonShardNext(shard);

  PetscFunctionBegin;
  if (taken && kept != &shard->M && shard->muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER && shard->M.data != NULL) {
    MuonStateForm form = shard->layer->state;

    form.stream.step = (uint32_t)shard->muon->step;
    form.stream.sender |= (uint32_t)shard->group->grid->worker;
    (void)MuonPackedSet(&form, &round->T, 0, 0, &shard->M);
  }
  if (taken && kept != NULL) {
    if (round->T.data != round->Tnew.data) PetscCall(MuonLayerSwapGradientMemory(shard->layer, kept)); /* T is in the gradient's */
    else MuonArraySwap(kept, &round->Tnew);
  }
  PetscCall(MuonLayerInvalidateGradient(shard->layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCommit_Private(Muon muon, PetscBool *ok)
{
  PetscFunctionBegin;
  if (*ok) MuonTryAddons(muon, committing, muon, ok);
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonGroup       group = muon->group[g];
    const PetscBool taken = *ok && MuonGroupRests(group) == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE, moves = taken && MuonGroupStep(muon, group) >= 0 ? PETSC_TRUE : PETSC_FALSE;

    for (PetscInt k = 0; k < group->nshards && moves; k++) PetscCall(MuonCommitShard_Private(muon, &group->shard[k]));
    if (moves) PetscCall(MuonGroupSpread_Private(group));
    for (PetscInt k = 0; k < group->nshards; k++) PetscCall(MuonEndGradient_Private(&group->shard[k], taken));
  }
  MuonTryAddons(muon, end, muon, *ok);
  PetscFunctionReturn(PETSC_SUCCESS);
}
