#include "muonstep.h" /*I "petscmuon.h" I*/

/*
   Rounds of one step that end in the next (depth 2): messages travel while the program computes another gradient.
*/

PetscErrorCode MuonLateCheck_Private(Muon muon)
{
  const MPI_Comm    comm   = PetscObjectComm((PetscObject)muon);
  const char *const prefix = MuonPrefix(muon);

  PetscFunctionBegin;
  PetscCheck(muon->delay > 0 || muon->delay_correction == PETSC_FALSE, comm, PETSC_ERR_ARG_INCOMP, "-%smuon_delay_correction: nothing is late with -%smuon_delay 0, expected 1", prefix, prefix);
  if (muon->delay == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(muon->nested == NULL, comm, PETSC_ERR_SUP, "-%smuon_delay 1: with -%smuon_type %s rounds are late, not steps; expected -%souter_muon_delay 1", prefix, prefix, ((PetscObject)muon)->type_name, prefix);
  PetscCheck(muon->clip == 0 || muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER, comm, PETSC_ERR_SUP,
             "-%smuon_delay 1: with -%smuon_clip %g the mean gradient of all layers is clipped, which come in different steps; expected 0, or -%smuon_momentum_at worker", prefix, prefix, (double)muon->clip, prefix);
  for (PetscInt p = 0; p < muon->nshards && muon->delay_correction; p++) {
    const MuonShard *shard = &muon->shard[p];

    PetscCheck(shard->group->depth == 1 || (MuonGroupHasOwners(shard->group) && shard->downlink == MUON_DOWNLINK_WEIGHTS), comm, PETSC_ERR_SUP,
               "-%smuon_delay_correction: layer \"%s\" is moved by %s, which no server can correct; expected false, or weights that come from a server", prefix, ((PetscObject)shard->layer)->name,
               MuonGroupHasOwners(shard->group) ? "-ef21_downlink step" : shard->group->ops->bits);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLateCorrect_Private(MuonShard *shard, const MuonArray *Xnew, const MuonArray *W, MuonStatus *status)
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

/*@
  MuonProgress - Progresses the messages of delayed steps while a gradient is computed

  Not Collective

  Input Parameter:
. muon - the optimizer

  Level: intermediate

  Notes:
  With `-muon_delay 1` the messages of a step are in flight when `MuonStep()` returns. Most MPI libraries progress them
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
  for (PetscInt g = 0; g < muon->ngroups && muon->underway; g++) {
    if (muon->group[g]->depth > 1) MuonExchangeProgress(muon->group[g]->exchange);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
