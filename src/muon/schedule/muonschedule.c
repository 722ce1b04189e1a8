#include "muonschedule.h" /*I "petscmuon.h" I*/

/*
   The learning rate, the momentum and the decay as functions of the step. A function of the user may change them; its results
   are checked, and ranks compare them with all other options.
*/

/* The momentum of the current or next step */
static PetscReal MuonGetMomentumNow_Private(Muon muon)
{
  if (muon->rates->fn != NULL && muon->rates->scheduled.valid) return muon->rates->scheduled.momentum;
  if (muon->step >= muon->rates->momentum_warmup) return muon->rates->momentum;
  return muon->rates->momentum_warmup_start + (PetscReal)muon->step / (PetscReal)muon->rates->momentum_warmup * (muon->rates->momentum - muon->rates->momentum_warmup_start);
}

PetscErrorCode MuonFollowSchedule_Private(Muon muon)
{
  const PetscReal momentum = MuonGetMomentumNow_Private(muon);
  PetscReal       decay    = muon->rates->weight_decay;

  PetscFunctionBegin;
  if (muon->rates->fn != NULL && muon->rates->scheduled.valid) decay = muon->rates->scheduled.decay;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    const MuonLayer   layer  = muon->layer[l];
    const PetscObject object = (PetscObject)layer;

    if (layer->given_rate > 0) PetscCall(MuonParametersChoose(object, "learning_rate", (double)layer->given_rate));
    if (layer->momentum != momentum) PetscCall(MuonParametersChoose(object, "momentum", (double)momentum));
    if (layer->weight_decay == decay || MuonParametersIsInherited(object, "weight_decay") == PETSC_FALSE) continue;
    PetscCall(MuonParametersPut(object, "weight_decay", (double)decay));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MuonNeedsMomentum_Private(Muon muon, MuonLayer layer)
{
  if (layer->workermomentum == PETSC_FALSE) return PETSC_FALSE;
  if (MuonLayerIsSet(layer, "momentum")) return layer->momentum > 0 ? PETSC_TRUE : PETSC_FALSE;
  return muon->rates->momentum > 0 || (muon->rates->momentum_warmup > 0 && muon->rates->momentum_warmup_start > 0) || muon->rates->fn != NULL ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MuonCheckMomentum_Private(Muon muon, int at, MuonMomentumStyle style, MuonNesterovType nesterov)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)muon);

  PetscFunctionBegin;
  PetscCheck(at == (int)MUON_MOMENTUM_AT_SERVER || nesterov == MUON_NESTEROV_NONE, comm, PETSC_ERR_SUP, "-%smuon_nesterov %s needs -%smuon_momentum_at server, got worker", MuonPrefix(muon), MuonNesterovTypes[nesterov], MuonPrefix(muon));
  PetscCheck(nesterov != MUON_NESTEROV_SGD || style == MUON_MOMENTUM_SGD, comm, PETSC_ERR_ARG_INCOMP, "-%smuon_nesterov sgd needs -%smuon_momentum_style sgd, got ema", MuonPrefix(muon), MuonPrefix(muon));
  PetscCheck((nesterov != MUON_NESTEROV_EMA && nesterov != MUON_NESTEROV_UNDAMPED) || style == MUON_MOMENTUM_EMA, comm, PETSC_ERR_ARG_INCOMP, "-%smuon_nesterov %s needs -%smuon_momentum_style ema, got sgd", MuonPrefix(muon),
             MuonNesterovTypes[nesterov], MuonPrefix(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layer that uses the optimizer's momentum but has no memory for it, NULL if there is none */
static MuonLayer MuonFindUnkept_Private(Muon muon)
{
  for (PetscInt l = 0; l < muon->nlayers && muon->setupcalled; l++) {
    const MuonLayer layer = muon->layer[l];

    if (MuonLayerIsSet(layer, "momentum") == PETSC_FALSE && layer->frozen == PETSC_FALSE && layer->workermomentum && layer->driver->keepsmomentum == PETSC_FALSE) return layer;
  }
  return NULL;
}

PetscErrorCode MuonCheckMomentumKept_Private(Muon muon, const char key[], PetscReal momentum)
{
  const MuonLayer layer = momentum > 0 ? MuonFindUnkept_Private(muon) : NULL;

  PetscFunctionBegin;
  PetscCheck(layer == NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%s%s %g: the momentum was 0 at MuonSetUp(), where none of layer \"%s\" was kept; set one above 0 before, or after MuonReset()", MuonPrefix(muon), key,
             (double)momentum, ((PetscObject)layer)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonScheduleDefault_Private(Muon muon)
{
  MuonScheduleType schedule;
  PetscBool        free = muon->rates->preset == NULL && muon->rates->fn == NULL ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  MuonTryAddons(muon, schedule, muon, &free);
  schedule = free && MuonParametersIsSet((PetscObject)muon, "max_steps") ? MUON_SCHEDULE_LINEAR : MUON_SCHEDULE_CONSTANT;
  PetscCall(MuonParametersChoose((PetscObject)muon, "schedule", (double)(int)schedule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetScheduleFactor_Private(Muon muon, PetscReal *factor)
{
  const PetscReal K = (PetscReal)PetscMax(muon->max_steps, 1), s = PetscMin((PetscReal)muon->step, K - 1), left = K - s;

  PetscFunctionBegin;
  if (muon->rates->fn != NULL && muon->rates->scheduled.valid) {
    *factor = muon->rates->scheduled.factor;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *factor = 1;
  switch (muon->rates->schedule) {
  case MUON_SCHEDULE_TRAPEZOID:
    *factor = PetscMin((PetscReal)1, left / ((1 - muon->rates->schedule_constant) * K));
    break;
  case MUON_SCHEDULE_LINEAR:
    *factor = left / K;
    break;
  case MUON_SCHEDULE_COSINE:
    *factor = (1 + PetscCosReal(PETSC_PI * s / K)) / 2;
    break;
  default:
    break;
  }
  if (muon->rates->schedule_minimum > 0) *factor = muon->rates->schedule_minimum + (1 - muon->rates->schedule_minimum) * *factor;
  if (muon->step < muon->rates->schedule_warmup) *factor *= ((PetscReal)muon->step + 1) / (PetscReal)muon->rates->schedule_warmup;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   If a rank stopped here because of its function's result, the others would wait. All ranks learn of it together, at the end of
   the step
*/
PetscErrorCode MuonSchedule_Private(Muon muon)
{
  PetscReal      factor, momentum, decay = muon->rates->weight_decay;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MuonCheckMomentum_Private(muon, muon->momentum_at, muon->rates->momentum_style, muon->nesterov));
  muon->rates->scheduled.valid = PETSC_FALSE;
  if (muon->rates->fn == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetScheduleFactor_Private(muon, &factor));
  momentum = MuonGetMomentumNow_Private(muon);
  ierr     = (*muon->rates->fn)(muon, muon->step, &factor, &momentum, &decay, muon->rates->ctx);
  PetscCall(MuonErrorOfAll_Private(muon, "MuonSetScheduleFunction()", ierr));
  muon->rates->scheduled.valid    = PETSC_TRUE;
  muon->rates->scheduled.factor   = factor;
  muon->rates->scheduled.momentum = momentum;
  muon->rates->scheduled.decay    = decay;
  muon->rates->scheduled.legal    = factor >= 0 && factor < PETSC_INFINITY && momentum >= 0 && momentum < 1 && decay >= 0 && decay < PETSC_INFINITY && (momentum == 0 || MuonFindUnkept_Private(muon) == NULL) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckSchedule_Private(Muon muon)
{
  const MPI_Comm  comm     = PetscObjectComm((PetscObject)muon);
  const PetscReal momentum = muon->rates->scheduled.momentum;
  const MuonLayer layer    = MuonFindUnkept_Private(muon);

  PetscFunctionBegin;
  if (muon->rates->fn == NULL || muon->rates->scheduled.legal) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(momentum == 0 || !(momentum > 0 && momentum < 1) || layer == NULL, comm, PETSC_ERR_ORDER,
             "Step %" PetscInt_FMT ": the function of MuonSetScheduleFunction() gives the momentum %g, and none of layer \"%s\" was kept at MuonSetUp(); set the function before, or after MuonReset()", muon->step, (double)momentum,
             ((PetscObject)layer)->name);
  SETERRQ(comm, PETSC_ERR_ARG_OUTOFRANGE, "Step %" PetscInt_FMT ": the function of MuonSetScheduleFunction() gives the factor %g, the momentum %g and the decay %g, expected finite numbers of at least 0 and a momentum in [0,1)", muon->step,
          (double)muon->rates->scheduled.factor, (double)momentum, (double)muon->rates->scheduled.decay);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonSetScheduleFunction - Sets a routine that changes the learning rate, the momentum and the weight decay of each
  step

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
. schedule - the routine, `NULL` for none
- ctx      - its context, or `NULL`

  Calling sequence of `schedule`:
+ muon     - the optimizer
. step     - index of the step, from 0
. factor   - factor of the learning rates: on input schedule x warm-up, on output a number of at least 0
. momentum - on input the momentum with its warm-up, on output a momentum in [0,1)
. decay    - on input the weight decay, on output a number of at least 0
- ctx      - the context

  Level: intermediate

  Notes:
  Every rank calls the routine at the beginning of each `MuonStep()`, before the routine of
  `MuonSetObjectiveAndGradient()`. It must return the same numbers on every rank. A difference, or an illegal number,
  is an error on all ranks and changes nothing. The routine may communicate, and may get the loss of the previous step.

  The factor multiplies all learning rates, also those of single layers. Momentum and decay apply to layers without values
  of their own. To return absolute rates, set the learning rate to 1.

  With such a routine `MuonGetRate()` gives the rate of the current or the last step.

.seealso: `Muon`, `MuonSetSchedule()`, `MuonSetLearningRate()`, `MuonSetMomentum()`, `MuonSetWeightDecay()`
@*/
PetscErrorCode MuonSetScheduleFunction(Muon muon, MuonScheduleFn *schedule, void *ctx)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  muon->rates->fn              = schedule;
  muon->rates->ctx             = ctx;
  muon->rates->scheduled.valid = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetRate - Gets the learning rate of the next step, with schedule and warm-up

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. rate - learning rate x schedule x warm-up; with a routine of `MuonSetScheduleFunction()` that of the current or the last step

  Level: intermediate

.seealso: `Muon`, `MuonSetLearningRate()`, `MuonSetSchedule()`, `MuonSetScheduleFunction()`, `MuonLayerGetRadiusFactor()`
@*/
PetscErrorCode MuonGetRate(Muon muon, PetscReal *rate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(rate, 2);
  PetscCall(MuonGetScheduleFactor_Private(muon, rate));
  *rate *= muon->rates->learning_rate;
  PetscFunctionReturn(PETSC_SUCCESS);
}
