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
  (`MuonLayerGetGradient()`) with the worker's own mean gradient. It must not average gradients over workers; the
  optimizer does so. Without a routine `MuonStep()` uses the gradients as the caller left them.

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
   Of all messages since the last step ended: between workers, inside them, the status, and weights that the caller gathered
*/
static PetscErrorCode MuonCountSentBytes_Private(Muon muon)
{
  PetscLogDouble bytes, own;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetSentBytes(muon->exchange, &muon->traffic.mpi, &muon->traffic.own));
  muon->traffic.mpi += muon->bytes[0];
  muon->traffic.own += muon->bytes[1];
  muon->bytes[0] = muon->bytes[1] = 0;
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    const MuonGroup group = muon->group[g];

    if (group->exchange != muon->exchange && MuonGroupRests(group) == PETSC_FALSE) {
      PetscCall(MuonExchangeGetSentBytes(group->exchange, &bytes, &own));
      muon->traffic.mpi += bytes;
      muon->traffic.own += own;
    }
    if (group->server == NULL) continue;
    PetscCall(MuonAssemblyGetSentBytes(group->server->assembly, &bytes, &own));
    muon->traffic.mpi += bytes;
    muon->traffic.own += own;
  }
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    muon->traffic.mpi += muon->layer[l]->gathered;
    muon->layer[l]->gathered = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The loss and gradients of this worker. A rank whose routine fails has no gradients and continues: the others learn of it by
   the step's status
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
  /* A rank whose routine failed takes part without gradients */
  for (PetscInt l = 0; l < muon->nactive && ierr != PETSC_SUCCESS; l++) MuonLayerHideGradient_Private(muon->active[l], PETSC_TRUE);
  PetscCall(MuonRound_Private(muon, &record, &ok, &differs));
  for (PetscInt l = 0; l < muon->nactive && ierr != PETSC_SUCCESS; l++) MuonLayerHideGradient_Private(muon->active[l], PETSC_FALSE);
  PetscCall(ierr);
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

  Level: beginner

  Notes:
  Step s = 0, 1, ... uses the gradients at the weights W^s. The routine of `MuonSetObjectiveAndGradient()` computes
  them, or the caller does before the step. Afterwards `MuonGetLoss()` gives the loss at W^s.

  Messages may be in flight when this routine returns, see `MuonProgress()`.

  The contents of a layer's gradient after a step are undefined, for every algorithm. The next gradient must set all of
  its entries. Its memory may change in a step. Call `MuonLayerGetGradient()` again.

  The step is counted, and `MuonGetRate()` gives the next rate, before monitors are called. A monitor that fails does
  not undo the step.

  Before they send anything, ranks compare their options, layers and set-up in one reduction of 24 bytes. If a setter was
  called on some ranks only, or with different values, it is an error on all of them, and nothing was applied. Changes by
  the program's routine during the step are compared at the step's end, with the same result.

  Numerical trouble on any rank is not a PETSc error. The step ends with a negative `MuonConvergedReason` on every rank
  and leaves weights and state unchanged.

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
  step = muon->step; /* which may be that of an earlier run now */
  PetscCheck(step < PETSC_MAX_INT, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "Step %" PetscInt_FMT " is the last that this PETSc's integers can count", step);
  PetscCall(MuonCheckOptions_Private(muon));
  PetscCall(MuonCheckShards_Private(muon));
  PetscCall(MuonSchedule_Private(muon));
  PetscCall(MuonFollowSchedule_Private(muon));
  MuonTryAddons(muon, start, muon);
  PetscCall(PetscLogEventBegin(MUON_Step, muon, 0, 0, 0));
  muon->reason      = MUON_CONVERGED_ITERATING;
  muon->failed.rank = -1;
  muon->failed.what = NULL;
  ierr              = MuonTakeStep_Private(muon);
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
  if (muon->reason >= 0) muon->step++;
  PetscCall(PetscLogEventEnd(MUON_Step, muon, 0, 0, 0));
  MuonTryAddons(muon, counted, muon, step);
  MuonTryAddons(muon, show, muon, step, muon->loss);
  if (muon->reason < 0 && muon->error_if_not_converged) {
    PetscCall(MuonDescribeReason_Private(muon, sizeof(where), where));
    SETERRQ(PetscObjectComm((PetscObject)muon), PETSC_ERR_NOT_CONVERGED, "Step %" PetscInt_FMT " of the optimizer: %s%s", step, MuonConvergedReasons[muon->reason], where);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSolve - Takes all steps, or stops at a step that diverges

  Collective

  Input Parameter:
. muon - the optimizer

  Options Database Keys:
+ -muon_max_steps steps   - number of steps
. -muon_checkpoint folder - writes checkpoints, also after the last step
. -muon_view              - prints the optimizer at the end
- -muon_converged_reason  - prints the reason of the stop

  Level: beginner

  Note:
  The number of steps includes earlier steps by `MuonStep()` or `MuonSolve()`, and those before a checkpoint that was loaded. If this number was
  set, but no schedule, preset or theorem, the schedule is `MUON_SCHEDULE_LINEAR`\: steps in a norm ball have the length of the radius, and with a
  constant radius they oscillate around a minimum. If a run diverges, rank 0 prints one line with the reason, unless `-muon_converged_reason` does.

.seealso: `Muon`, `MuonStep()`, `MuonSetMaxSteps()`, `MuonGetConvergedReason()`
@*/
PetscErrorCode MuonSolve(Muon muon)
{
  PetscBool said;
  char      where[256];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonScheduleDefault_Private(muon));
  PetscCall(MuonSetUp(muon));
  muon->reason = MUON_CONVERGED_ITERATING;
  while (muon->step < muon->max_steps && muon->reason == MUON_CONVERGED_ITERATING) PetscCall(MuonStep(muon));
  PetscCall(MuonAgree_Private(muon, MUON_CALL_SOLVED)); /* on the number of steps, too */
  if (muon->reason == MUON_CONVERGED_ITERATING) muon->reason = MUON_CONVERGED_MAX_STEPS;
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
- step - the number of steps taken, which is the index of the next step, at least 0; the same on every rank

  Level: advanced

  Notes:
  It is for programs that save weights themselves. Schedules, random numbers and intervals depend on this number.
  Nothing else changes. `MuonReset()` sets it to 0, `MuonLoadCheckpoint()` restores it.

  The choice of weights that are compared between ranks depends on it, too.

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
. step - the number of steps taken, which is the index of the next step

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
. loss - mean over the ranks of the loss at the weights before that step, weighted by `MuonSetWorkerWeight()`

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
  With exact LMOs this is the dual norm in the product of the layers' unit balls. With iterative polar factors it is an
  estimate. It is 0 after a step that was refused.

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
  MuonGetNaNCount - Gets the number of steps left out, or of entries set to zero, because of NaN or Inf

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
  MuonGetTraffic - Gets the bits that this rank sent and received

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
  const MuonShard *shard  = MuonShardOf(layer);
  PetscBool        edited = PETSC_FALSE;

  PetscFunctionBegin;
  *X = shard->X;
  if (X->data != NULL && layer->note != NULL) PetscCall(MuonLayerWereWeightsEdited(layer, &edited));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_TRUE, W));
  if (edited) {
    const MuonArray rows = MuonShardPart(shard, W);

    MuonArrayAxpby(1, &rows, 0, X);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonWeightsChanged - Informs an optimizer that the caller changed weights since the last step

  Collective

  Input Parameter:
. muon - the optimizer

  Level: intermediate

  Notes:
  Servers with their own copy of the weights take over the new ones, which must be the same on every rank. Momentum and
  estimates do not change.

  Most changes are detected without this call, see `MuonGetMismatchedLayer()`. This routine compares all weights
  between the ranks, and also works for changes that are not detected.

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
