#include "muoninterface.h" /*I "petscmuon.h" I*/
#include <petscmuon/private/muonpolarimpl.h>

/*@C
  MuonSetObjectiveAndGradient - Sets the routine that computes a worker's loss and its gradients

  Logically Collective

  Input Parameters:
+ muon      - the optimizer
. objective - the routine
- ctx       - its context, or `NULL`

  Calling sequence of `objective`:
+ muon - the optimizer
. loss - output, this worker's mean loss at the weights of the layers
- ctx  - the context

  Level: beginner

  Note:
  The routine reads the weights of each layer (`MuonLayerGetWeights()`) and fills its gradient
  (`MuonLayerGetGradient()`) with the worker's own mean gradient; it must not communicate the gradient, that
  is what the optimizer does. Without a routine `MuonStep()` takes the gradients that it finds.

.seealso: `Muon`, `MuonLayerGetGradient()`, `MuonStep()`
@*/
PetscErrorCode MuonSetObjectiveAndGradient(Muon muon, MuonObjectiveAndGradientFn *objective, void *ctx)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonDropSums_Private(muon)); /* of the gradients that there were */
  muon->objective    = objective;
  muon->objectivectx = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of all that was sent since the last step ended: between workers, inside them, the status, and what the
   caller gathered of weights
*/
static PetscErrorCode MuonCountSentBytes_Private(Muon muon)
{
  PetscLogDouble bytes, own;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetSentBytes(muon->exchange, &muon->traffic.mpi, &muon->traffic.own));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    const MuonGroup group = muon->group[g];

    muon->traffic.mpi += group->bytes;
    muon->traffic.own += group->inside;
    group->bytes = group->inside = 0;
    if (group->exchange != muon->exchange && group->rests == PETSC_FALSE) {
      PetscCall(MuonExchangeGetSentBytes(group->exchange, &bytes, &own));
      muon->traffic.mpi += bytes;
      muon->traffic.own += own;
    }
    if (group->assembly == NULL) continue;
    PetscCall(MuonAssemblyGetSentBytes(group->assembly, &bytes, &own));
    muon->traffic.mpi += bytes;
    muon->traffic.own += own;
  }
  if (muon->synchronized) {
    muon->traffic.mpi += muon->nested->traffic.mpi;
    muon->traffic.own += muon->nested->traffic.own;
  }
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    muon->traffic.mpi += muon->layer[l]->gathered;
    muon->layer[l]->gathered = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The loss and gradients of this worker. A rank whose routine fails has no gradients, and goes on: the others
   learn of it with the status of the step
*/
static PetscErrorCode MuonComputeGradient_Private(Muon muon, MuonRecord *record, PetscErrorCode *ierr)
{
  PetscReal loss = 0;

  PetscFunctionBegin;
  *ierr = PETSC_SUCCESS;
  if (muon->objective == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonDropSums_Private(muon)); /* of a routine that failed */
  muon->computing = PETSC_TRUE;
  PetscCall(PetscLogEventBegin(MUON_Gradient, muon, 0, 0, 0));
  *ierr = (*muon->objective)(muon, &loss, muon->objectivectx);
  if (*ierr != PETSC_SUCCESS && muon->size == 1) PetscCall(*ierr);
  PetscCall(PetscLogEventEnd(MUON_Gradient, muon, 0, 0, 0));
  record->loss   = *ierr == PETSC_SUCCESS ? (double)loss : 0;
  record->status = *ierr == PETSC_SUCCESS ? (double)MUON_STATUS_OK : -(double)*ierr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The round of a rank whose routine failed, which looks at no gradient */
static PetscErrorCode MuonJoinRound_Private(Muon muon, MuonRecord *record)
{
  PetscBool *none, ok, differs;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(muon->nactive, &none));
  for (PetscInt l = 0; l < muon->nactive; l++) {
    none[l]                     = muon->active[l]->nogradient;
    muon->active[l]->nogradient = PETSC_TRUE;
  }
  PetscCall(MuonRound_Private(muon, record, &ok, &differs));
  for (PetscInt l = 0; l < muon->nactive; l++) muon->active[l]->nogradient = none[l];
  PetscCall(PetscFree(none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A round, and what the ranks then find of each other's options */
static PetscErrorCode MuonTakeStep_Private(Muon muon)
{
  MuonRecord     record;
  PetscErrorCode ierr;
  unsigned int   options;
  PetscBool      ok, differs;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&record, sizeof(record)));
  PetscCall(MuonComputeGradient_Private(muon, &record, &ierr));
  PetscCall(MuonSetStepInfo_Private(muon));
  PetscCall(MuonHashOptions_Private(muon, &options));
  record.options = (double)options;
  PetscCall(MuonCheckpointAsked_Private(muon, &record.save));
  if (ierr != PETSC_SUCCESS) {
    PetscCall(MuonJoinRound_Private(muon, &record));
    PetscCall(ierr);
  }
  PetscCall(MuonRound_Private(muon, &record, &ok, &differs));
  if (differs) PetscCall(MuonRaiseDifference_Private(muon));
  PetscCall(MuonCheckSchedule_Private(muon));
  PetscCall(MuonCommit_Private(muon, &ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonStep - Takes one step: gradients at the weights, exchange, LMO, new weights

  Collective

  Input Parameter:
. muon - the optimizer

  Options Database Keys:
+ -muon_delay (0|1)      - whether the layers of LMOs move along the gradients of this step, or of the one before
- -muon_delay_correction - adds to each late change of the weights by how much it differs from the one before

  Level: beginner

  Notes:
  Step s = 0, 1, ... takes the gradients at the weights W^s, through the routine of
  `MuonSetObjectiveAndGradient()` where one is set, else as the caller left them. The loss that
  `MuonGetLoss()` gives afterwards is that of W^s.

  With `-muon_delay 1` messages of LMO layers are in flight when this routine returns\: step s changes
  those layers along the gradients of step s - 1, with the rate of that step. `MuonProgress()` helps messages on.

  What a layer's gradient holds after a step is undefined, for every algorithm\: the next routine fills all of
  its entries. Its memory may be another after each step, `MuonLayerGetGradient()` gives it.

  The step is counted, and the rate of `MuonGetRate()` is that of the next one, before monitors speak\: a
  monitor that fails does not undo it.

  Ranks compare their options, layers and state of set-up before they send anything, in one reduction of 24 bytes\: a setter
  that was called on some ranks only, or with other values, is an error on all of them, and nothing was applied.
  What the program's routine changes during the step is compared with the status at the step's end, with the same outcome.

  Numerical trouble on any rank is not a PETSc error: the step ends with a `MuonConvergedReason` below zero on
  every rank, with weights and state as they were before it.

.seealso: `Muon`, `MuonSolve()`, `MuonProgress()`, `MuonSetObjectiveAndGradient()`, `MuonGetLoss()`, `MuonGetConvergedReason()`, `MuonGetTraffic()`, `MuonWeightsChanged()`
@*/
PetscErrorCode MuonStep(Muon muon)
{
  PetscErrorCode ierr;
  PetscInt       step;
  char           where[256];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonAgree_Private(muon, MUON_CALL_STEP));
  PetscCheck(muon->nlayers > 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Call MuonAddLayer() first");
  PetscCall(MuonSetUpAgreed_Private(muon));
  PetscCall(MuonPolarWarnBLAS(PetscObjectComm((PetscObject)muon)));
  step = muon->step; /* which may be that of a checkpoint now */
  PetscCheck(step < PETSC_MAX_INT, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "Step %" PetscInt_FMT " is the last that this PETSc's integers can count", step);
  PetscCall(MuonCheckOptions_Private(muon));
  PetscCall(MuonCheckShards_Private(muon));
  PetscCall(MuonSchedule_Private(muon));
  PetscCall(MuonFollowSchedule_Private(muon));
  MuonTryAddons(muon, start, muon);
  PetscCall(PetscLogEventBegin(MUON_Step, muon, 0, 0, 0));
  muon->reason       = MUON_CONVERGED_ITERATING;
  muon->synchronized = PETSC_FALSE;
  muon->failed.rank  = -1;
  muon->failed.what  = NULL;
  ierr               = MuonTakeStep_Private(muon);
  PetscCall(MuonCountSentBytes_Private(muon)); /* of a step that failed, too */
  PetscCall(ierr);
  if (muon->reason >= 0) PetscCall(MuonBegin_Private(muon));
  for (PetscInt k = 0; k < 3; k++) {
    muon->traffic.total_up[k] += muon->traffic.up[k];
    muon->traffic.total_down[k] += muon->traffic.down[k];
  }
  if (muon->count_entropy == PETSC_FALSE) muon->traffic.up[2] = muon->traffic.down[2] = muon->traffic.total_up[2] = muon->traffic.total_down[2] = -1;
  if (muon->reason == MUON_DIVERGED_NANORINF && muon->nan == MUON_NAN_SKIP) {
    muon->nancount++;
    muon->reason = MUON_CONVERGED_ITERATING;
    PetscCall(MuonDescribeReason_Private(muon, sizeof(where), where));
    PetscCall(PetscInfo(muon, "Step %" PetscInt_FMT " left out because of NaN or Inf%s\n", muon->step, where));
  }
  /* A monitor that fails must not leave a step that was taken uncounted */
  PetscCall(MuonGetShownRate_Private(muon, &muon->rate));
  if (muon->reason >= 0) muon->step++;
  PetscCall(PetscLogEventEnd(MUON_Step, muon, 0, 0, 0));
  MuonTryAddons(muon, counted, muon, step);
  /* What monitors wrote of a step is there before a checkpoint says that it was taken */
  PetscCall(MuonMonitor(muon, step, muon->loss));
  PetscCall(MuonCheckpointStep_Private(muon, PETSC_FALSE));
  if (muon->reason < 0 && muon->error_if_not_converged) {
    PetscCall(MuonDescribeReason_Private(muon, sizeof(where), where));
    SETERRQ(PetscObjectComm((PetscObject)muon), PETSC_ERR_NOT_CONVERGED, "Step %" PetscInt_FMT " of the optimizer: %s%s", step, MuonConvergedReasons[muon->reason], where);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSolve - Takes steps until all are taken or one diverges

  Collective

  Input Parameter:
. muon - the optimizer

  Options Database Keys:
+ -muon_max_steps steps   - number of steps
. -muon_checkpoint folder - writes checkpoints, one of the last step among them
. -muon_view              - prints the optimizer at the end
- -muon_converged_reason  - prints why it stopped

  Level: beginner

  Note:
  The number of steps counts those taken before by `MuonStep()` or `MuonSolve()`, and before a checkpoint that
  was loaded. Where it was chosen, and no schedule, preset or theory was, the schedule is `MUON_SCHEDULE_LINEAR`\: steps in
  a norm ball have the length of their radius, and end in a walk about a minimum where it is constant. A run that diverges prints one line on rank 0 that says why, unless `-muon_converged_reason` does.

.seealso: `Muon`, `MuonStep()`, `MuonSetMaxSteps()`, `MuonGetConvergedReason()`
@*/
PetscErrorCode MuonSolve(Muon muon)
{
  PetscInt  first;
  PetscBool said;
  char      where[256];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonScheduleDefault_Private(muon));
  PetscCall(MuonSetUp(muon));
  muon->reason = MUON_CONVERGED_ITERATING;
  first        = muon->step;
  while (muon->step < muon->max_steps && muon->reason == MUON_CONVERGED_ITERATING) PetscCall(MuonStep(muon));
  PetscCall(MuonAgree_Private(muon, MUON_CALL_SOLVED)); /* on the number of steps, too */
  if (muon->reason == MUON_CONVERGED_ITERATING) muon->reason = MUON_CONVERGED_MAX_STEPS;
  if (muon->step > first) PetscCall(MuonCheckpointStep_Private(muon, PETSC_TRUE));
  PetscCall(PetscOptionsHasName(((PetscObject)muon)->options, ((PetscObject)muon)->prefix, "-muon_converged_reason", &said));
  if (muon->reason < 0 && said == PETSC_FALSE) {
    PetscCall(MuonDescribeReason_Private(muon, sizeof(where), where));
    PetscCall(MuonNotice(PetscObjectComm((PetscObject)muon), "MuonSolve() diverged in step %" PetscInt_FMT ": %s%s\n", muon->step, MuonConvergedReasons[muon->reason], where));
  }
  PetscCall(MuonConvergedReasonViewFromOptions(muon));
  MuonTryAddons(muon, solved, muon);
  PetscCall(MuonViewFromOptions(muon, NULL, "-muon_view"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetStepNumber - Sets the number of steps taken

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- step - the number, which is also that of the coming step, at least 0; the same on every rank

  Level: advanced

  Notes:
  It is for programs that keep weights themselves\: schedules, random numbers and intervals go by this number.
  Nothing else changes; `MuonReset()` makes it 0. `MuonLoadCheckpoint()` sets it with the state.

  The samples of weights that are compared between ranks go by this number too.

.seealso: `Muon`, `MuonGetStepNumber()`, `MuonLoadCheckpoint()`, `MuonSetMaxSteps()`
@*/
PetscErrorCode MuonSetStepNumber(Muon muon, PetscInt step)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(step >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "Step number %" PetscInt_FMT ", expected at least 0", step);
  muon->step                   = step;
  muon->rates->scheduled.valid = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetStepNumber - Gets the number of steps taken

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. step - the number, which is also that of the coming step

  Level: beginner

.seealso: `Muon`, `MuonSetStepNumber()`, `MuonStep()`, `MuonSetMaxSteps()`
@*/
PetscErrorCode MuonGetStepNumber(Muon muon, PetscInt *step)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, step, muon->step);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLoss - Gets the loss of the last step

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. loss - mean over the ranks of the loss at the weights before that step, with the weights of `MuonSetWorkerWeight()`

  Level: beginner

.seealso: `Muon`, `MuonStep()`, `MuonSetObjectiveAndGradient()`
@*/
PetscErrorCode MuonGetLoss(Muon muon, PetscReal *loss)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, loss, muon->loss);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetGradientDualNorm - Gets the dual norm of the LMOs' inputs in the last step

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. norm - sum over the layers of <G,-D>, with D the LMO's point for G

  Level: intermediate

  Note:
  With exact LMOs this is the dual norm in the product of the layers' unit balls; iterative polar factors
  make it an estimate. It is 0 after a step that was refused.

.seealso: `Muon`, `MuonStep()`, `MuonLMOComputeDualNorm()`
@*/
PetscErrorCode MuonGetGradientDualNorm(Muon muon, PetscReal *norm)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, norm, muon->dual);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetConvergedReason - Gets why an optimizer stopped

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. reason - above zero converged, below zero diverged, zero otherwise; the same on every rank

  Level: beginner

.seealso: `Muon`, `MuonConvergedReason`, `MuonStep()`, `MuonSolve()`
@*/
PetscErrorCode MuonGetConvergedReason(Muon muon, MuonConvergedReason *reason)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, reason, muon->reason);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetNaNCount - Gets how often the policy on NaN and Inf went on

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. count - steps left out under `MUON_NAN_SKIP`, entries of all workers set to zero under `MUON_NAN_ZERO`

  Level: intermediate

.seealso: `Muon`, `MuonSetParameter()`
@*/
PetscErrorCode MuonGetNaNCount(Muon muon, PetscInt64 *count)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, count, muon->nancount);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetTraffic - Gets what this rank sent and received

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. traffic - bits of the last step and of all steps

  Level: intermediate

.seealso: `Muon`, `MuonTraffic`, `MuonMonitorDefault()`
@*/
PetscErrorCode MuonGetTraffic(Muon muon, MuonTraffic *traffic)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, traffic, muon->traffic);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetAllWeights_Private(MuonLayer layer, MuonArray *W, MuonArray *X)
{
  const MuonShard *shard  = (const MuonShard *)layer->shard;
  PetscBool        edited = PETSC_FALSE;

  PetscFunctionBegin;
  *X = shard->X;
  if (X->data != NULL && layer->watched) PetscCall(MuonLayerWereWeightsEdited(layer, &edited));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_TRUE, W));
  if (edited) {
    const MuonArray rows = MuonShardPart(shard, W);

    MuonArrayAxpby(1, &rows, 0, X);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonWeightsChanged - Tells an optimizer that the caller changed weights of layers since the last step

  Collective

  Input Parameter:
. muon - the optimizer

  Level: intermediate

  Notes:
  Servers that keep weights of their own take over the new ones, which must be the same on every rank;
  momentum and estimates stay.

  Most changes are noticed without it, see `MuonGetMismatchedLayer()`. This routine compares all weights between
  the ranks, and it holds for what is not noticed too.

.seealso: `Muon`, `MuonStep()`, `MuonGetMismatchedLayer()`, `MuonLayerGetWeights()`, `MuonLayerGetServerWeights()`
@*/
PetscErrorCode MuonWeightsChanged(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (muon->setupcalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonAgree_Private(muon, MUON_CALL_CHANGED));
  PetscCall(MuonCheckRanksAgree_Private(muon, PETSC_TRUE));
  PetscTryMethod(muon, "MuonWeightsChanged_C", (Muon), (muon));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];
    MuonArray  whole, W;

    if (shard->X.data == NULL) continue;
    PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &whole));
    W = MuonShardPart(shard, &whole);
    MuonArrayAxpby(1, &W, 0, &shard->X);
    PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
