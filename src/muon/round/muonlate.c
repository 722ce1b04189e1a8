#include "muonround.h" /*I "petscmuon.h" I*/

/*
   Rounds of one step that end in the next (depth 2): messages travel while the program computes another gradient.
*/

PetscInt64 MuonGroupStep(Muon muon, const MuonGroup group)
{
  return group->depth > 1 ? muon->rounds->pending : (PetscInt64)muon->step;
}

PetscBool MuonGroupRests(const MuonGroup group)
{
  return group->nshards > 0 && group->shard->layer->phase != group->shard->muon->rounds->phase ? PETSC_TRUE : PETSC_FALSE;
}

/* Layers without LMOs have rounds that end in their step */
PetscErrorCode MuonRoundsPlace_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    muon->place[l][MUON_PLACE_DEPTH] = muon->layer[l]->workermomentum ? MuonRoundsDepth(muon) : 1;
    muon->place[l][MUON_PLACE_PHASE] = muon->layer[l]->phase;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRoundsCheck_Private(Muon muon)
{
  const MPI_Comm    comm   = PetscObjectComm((PetscObject)muon);
  const char *const prefix = MuonPrefix(muon);
  PetscBool         free   = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCheck(muon->rounds->delay > 0 || muon->rounds->delay_correction == PETSC_FALSE, comm, PETSC_ERR_ARG_INCOMP, "-%smuon_delay_correction: nothing is late with -%smuon_delay 0, expected 1", prefix, prefix);
  if (muon->rounds->delay == 0) PetscFunctionReturn(PETSC_SUCCESS);
  MuonTryAddons(muon, schedule, muon, &free);
  PetscCheck(free, comm, PETSC_ERR_SUP, "-%smuon_delay 1: step sizes follow from a theorem, which is one of steps that are not late, expected 0", prefix);
  PetscCheck(muon->nested == NULL, comm, PETSC_ERR_SUP, "-%smuon_delay 1: with -%smuon_type %s rounds are late, not steps; expected -%souter_muon_delay 1", prefix, prefix, ((PetscObject)muon)->type_name, prefix);
  PetscCheck(muon->clip == 0 || muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER, comm, PETSC_ERR_SUP,
             "-%smuon_delay 1: with -%smuon_clip %g the mean gradient of all layers is clipped, which come in different steps; expected 0, or -%smuon_momentum_at worker", prefix, prefix, (double)muon->clip, prefix);
  for (PetscInt p = 0; p < muon->nshards && muon->rounds->delay_correction; p++) {
    const MuonShard *shard = &muon->shard[p];

    PetscCheck(shard->group->depth == 1 || (MuonGroupHasOwners(shard->group) && shard->downlink == MUON_DOWNLINK_WEIGHTS), comm, PETSC_ERR_SUP,
               "-%smuon_delay_correction: layer \"%s\" is moved by %s, which no server can correct; expected false, or weights that come from a server", prefix, ((PetscObject)shard->layer)->name,
               MuonGroupHasOwners(shard->group) ? "-ef21_downlink step" : shard->group->ops->bits);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRoundsSetUpState_Private(MuonShard *shard)
{
  const MuonArray state = MuonShardStateShape(shard), W = MuonShardWeightsShape(shard);

  PetscFunctionBegin;
  if (shard->group->depth == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonShardKept(shard) == NULL) PetscCall(MuonArrayCreate(&state, state.precision, &shard->round->Tnew));
  for (PetscInt k = 0; k < shard->group->depth && shard->muon->rounds->delay_correction && MuonShardOwns(shard); k++) PetscCall(MuonArrayCreate(&W, W.precision, &shard->round[k].change));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The optimizer's own is named with the first of all shards */
PetscErrorCode MuonRoundsVisitState_Private(MuonShard *shard, MuonStateVisitor *visitor)
{
  MuonRounds rounds = shard->muon->rounds;

  PetscFunctionBegin;
  if (shard->group->depth > 1) {
    visitor->layer  = shard->name;
    visitor->holder = MUON_STATE_WORKER;
    PetscCall(MuonStateVisitArray(visitor, "momentum.sent", PETSC_TRUE, PETSC_FALSE, &shard->round->Tnew));
    visitor->holder = MUON_STATE_SERVER;
    PetscCall(MuonStateVisitArray(visitor, "change", PETSC_TRUE, PETSC_FALSE, &shard->round[1].change));
    PetscCall(MuonStateVisitArray(visitor, "change.new", PETSC_TRUE, PETSC_TRUE, &shard->round[0].change));
    visitor->layer  = ((PetscObject)shard->layer)->name;
    visitor->holder = MUON_STATE_EVERYONE;
    PetscCall(MuonStateVisitBytes(visitor, "late", 5 * sizeof(double), &shard->round->info.rate));
  }
  visitor->layer  = "";
  visitor->holder = MUON_STATE_EVERYONE;
  if (shard == shard->muon->shard && rounds->delay > 0) PetscCall(MuonStateVisitBytes(visitor, "late.step", sizeof(rounds->pending), &rounds->pending));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRoundsCorrect_Private(MuonShard *shard, const MuonArray *Xnew, const MuonArray *W, MuonStatus *status)
{
  const MuonArray X = MuonShardServerWeights(shard, W);

  PetscFunctionBegin;
  MuonArrayAxpby(1, Xnew, 0, &shard->round[0].change);
  MuonArrayAxpby(-1, &X, 1, &shard->round[0].change);
  MuonArrayAxpby(1, &shard->round[0].change, 1, Xnew);
  MuonArrayAxpby(-1, &shard->round[1].change, 1, Xnew);
  if (MuonArrayIsFinite(Xnew) == 0) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRoundsDrop_Private(Muon muon)
{
  PetscFunctionBegin;
  if (muon->nested != NULL) PetscCall(MuonRoundsDrop_Private(muon->nested));
  for (PetscInt g = 0; g < muon->ngroups && muon->rounds->underway; g++) {
    if (muon->group[g]->depth == 1) continue;
    PetscCall(MuonExchangeMoveEnd(muon->group[g]->exchange));
    PetscCall(MuonExchangeReduceEnd(muon->group[g]->exchange));
  }
  muon->rounds->underway = PETSC_FALSE;
  muon->rounds->sending  = MUON_STATUS_OK;
  PetscCall(PetscArrayzero(muon->counted[0], 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonProgress - Progresses the messages of delayed steps while a gradient is computed

  Not Collective

  Input Parameter:
. muon - the optimizer

  Options Database Keys:
+ -muon_delay (0|1)      - layers with LMOs use the gradients of a step in this step (0) or in the next step (1)
- -muon_delay_correction - adds to each delayed change of the weights its difference to the previous change

  Level: intermediate

  Notes:
  With `-muon_delay 1` messages of LMO layers are in flight when `MuonStep()` returns. Step s updates those layers with
  the gradients and the rate of step s - 1. Most MPI libraries progress them
  only inside MPI calls. A program with long gradients should call this routine now and then, for example after each
  layer or every 5 ms. It tests the requests once, without waiting, which costs about a microsecond.
  `MuonLayerGradientReady()` does the same.

  Without messages in flight it does nothing. No result depends on when, how often or on which ranks it is called. Call
  it from the thread that calls `MuonStep()`.

.seealso: `Muon`, `MuonStep()`, `MuonLayerGradientReady()`, `MUONLOCAL`
@*/
PetscErrorCode MuonProgress(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (muon->nested != NULL) PetscCall(MuonProgress(muon->nested));
  for (PetscInt g = 0; g < muon->ngroups && muon->rounds->underway; g++) {
    if (muon->group[g]->depth > 1) MuonExchangeProgress(muon->group[g]->exchange);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
