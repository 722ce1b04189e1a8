#include "muonstep.h" /*I "petscmuon.h" I*/

/*
   Rounds of one step that end in the next: messages travel while the program computes another gradient.

   A step s makes T of its gradients, and knows that these are finite before it is taken. Then T waits, its messages
   are sent, and MuonStep() returns. Step s + 1 makes the T after it, waits for the messages of step s, and takes
   the round to its end with the rate, the decay and the seeds of step s. Where step s + 1 is refused its gradients are
   left out: T waits on, and is sent again.
*/

enum {
  LATE_RATE,
  LATE_DECAY,
  LATE_RADIUS,
  LATE_BETA,
  LATE_WEIGHT
};

PetscErrorCode MuonLateCheck_Private(Muon muon)
{
  const MPI_Comm    comm   = PetscObjectComm((PetscObject)muon);
  const char *const prefix = MuonPrefix(muon);

  PetscFunctionBegin;
  PetscCheck(muon->delay > 0 || muon->delay_correction == PETSC_FALSE, comm, PETSC_ERR_ARG_INCOMP, "-%smuon_delay_correction: nothing is late with -%smuon_delay 0, expected 1", prefix, prefix);
  if (muon->delay == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(muon->isolated == PETSC_FALSE, comm, PETSC_ERR_SUP, "-%smuon_delay 1: with -%smuon_type %s rounds are late, not steps; expected -%souter_muon_delay 1", prefix, prefix, ((PetscObject)muon)->type_name, prefix);
  PetscCheck(muon->clip == 0 || muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER, comm, PETSC_ERR_SUP,
             "-%smuon_delay 1: with -%smuon_clip %g the mean gradient of all layers is clipped, which come in different steps; expected 0, or -%smuon_momentum_at worker", prefix, prefix, (double)muon->clip, prefix);
  for (PetscInt p = 0; p < muon->nshards && muon->delay_correction; p++) {
    const MuonShard *shard = &muon->shard[p];

    PetscCheck(shard->group->late == PETSC_FALSE || (shard->group->ops->votes == PETSC_FALSE && shard->downlink == MUON_DOWNLINK_WEIGHTS), comm, PETSC_ERR_SUP,
               "-%smuon_delay_correction: layer \"%s\" is moved by %s, which no server can correct; expected false, or weights that come from a server", prefix, ((PetscObject)shard->layer)->name,
               shard->group->ops->votes ? "votes" : "-ef21_downlink step");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The way up of the round whose T waits */
static PetscErrorCode MuonLateSend_Private(Muon muon)
{
  PetscFunctionBegin;
  muon->late.status = MUON_STATUS_OK;
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonGroup group = muon->group[g];

    if (group->late == PETSC_FALSE || MuonGroupIsAway(group)) continue;
    group->round = muon->late.step;
    for (PetscInt k = 0; k < group->nshards; k++) {
      group->shard[k].round->T    = *MuonShardWaiting(&group->shard[k]);
      group->shard[k].round->sent = group->shard[k].up;
    }
    PetscCall(MuonExchangeBegin(group->exchange, MUON_EXCHANGE_UP, group->round));
    PetscCall((*group->ops->workers)(muon, group, &muon->late.status));
  }
  muon->late.flying = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLateBegin_Private(Muon muon)
{
  PetscLogDouble *const bits = muon->late.bits, up[4] = {muon->traffic.up[0], muon->traffic.up[1], muon->traffic.up[2], muon->sent[0]};

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];

    if (shard->group->late == PETSC_FALSE) continue;
    MuonArraySwap(&shard->Tnew, MuonShardWaiting(shard));
    PetscCall(PetscArraycpy(shard->late[0], shard->late[1], 5));
  }
  muon->late.step = muon->step;
  PetscCall(MuonLateSend_Private(muon));
  for (int k = 0; k < 3; k++) {
    bits[k]             = muon->traffic.up[k] - up[k];
    muon->traffic.up[k] = up[k];
  }
  bits[3]       = muon->sent[0] - up[3];
  muon->sent[0] = up[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLateArrive_Private(Muon muon, MuonStatus *status)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard         *shard  = &muon->shard[p];
    MuonLayerStepInfo *info   = &shard->round->info;
    const double       next[] = {info->rate, info->decay, info->radius, shard->round->beta, shard->round->gradient_weight};

    if (shard->group->late == PETSC_FALSE) continue;
    PetscCall(PetscArraycpy(shard->late[1], next, 5));
    info->step                    = (PetscInt)muon->late.step;
    info->rate                    = shard->late[0][LATE_RATE];
    info->decay                   = shard->late[0][LATE_DECAY];
    info->radius                  = shard->late[0][LATE_RADIUS];
    shard->round->beta            = shard->late[0][LATE_BETA];
    shard->round->gradient_weight = shard->late[0][LATE_WEIGHT];
    shard->round->T               = *MuonShardWaiting(shard);
  }
  if (muon->late.step < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (muon->late.flying == PETSC_FALSE) PetscCall(MuonLateSend_Private(muon)); /* after a restart, or a step that was refused */
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    if (muon->group[g]->late && MuonGroupIsAway(muon->group[g]) == PETSC_FALSE) PetscCall((*muon->group[g]->ops->arrive)(muon, muon->group[g]));
  }
  muon->late.flying = PETSC_FALSE;
  MuonStatusMerge(muon->late.status, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLateCorrect_Private(MuonShard *shard, const MuonArray *Xnew, const MuonArray *W, MuonStatus *status)
{
  const MuonArray X = MuonShardServerWeights(shard, W);

  PetscFunctionBegin;
  MuonArrayAxpby(1, Xnew, 0, &shard->changenew);
  MuonArrayAxpby(-1, &X, 1, &shard->changenew);
  MuonArrayAxpby(1, &shard->changenew, 1, Xnew);
  MuonArrayAxpby(-1, &shard->change, 1, Xnew);
  if (MuonArrayIsFinite(Xnew) == 0) MuonStatusMerge(MUON_STATUS_NANORINF, status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonProgress - Lets messages of late steps move while a gradient is computed

  Not Collective

  Input Parameter:
. muon - the optimizer

  Level: intermediate

  Notes:
  With `-muon_delay 1` the messages of a step are under way when `MuonStep()` returns. Most MPI libraries move them
  only inside of calls of MPI. A program whose gradient takes long calls this routine now and then, say after each
  layer or every 5 ms: it asks MPI once, without waiting, and costs about a microsecond. `MuonLayerGradientReady()` does
  the same.

  Nothing happens where nothing is under way. No result depends on when, how often or on which ranks it is called. It is
  called by the thread that calls `MuonStep()`.

.seealso: `Muon`, `MuonStep()`, `MuonLayerGradientReady()`, `MUONLOCAL`
@*/
PetscErrorCode MuonProgress(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (muon->nested != NULL) PetscCall(MuonProgress(muon->nested));
  for (PetscInt g = 0; g < muon->ngroups && muon->late.flying; g++) {
    if (muon->group[g]->late) MuonExchangeProgress(muon->group[g]->exchange);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
