#include "muoninterface.h" /*I "petscmuon.h" I*/

/*
   Setters after MuonSetUp() take effect at the next step, or are errors that say so: what state was allocated
   for, and who has it, stays. CONTRIBUTING.md has the table.
*/
PetscErrorCode MuonCheckBeforeSetUp_Private(Muon muon, PetscBool same, const char key[])
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled == PETSC_FALSE || same, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%s%s must be set before MuonSetUp(), or after MuonReset()", MuonPrefix(muon), key);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckEnum_Private(Muon muon, const char key[], const char *const names[], int value)
{
  int count = 0;

  PetscFunctionBegin;
  while (names[count + 3] != NULL) count++; /* behind the names are that of the type, the prefix and NULL */
  PetscCheck(value >= 0 && value <= count, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%s%s %d is no %s", MuonPrefix(muon), key, value, names[count + 1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckMomentum_Private(Muon muon, PetscInt at, MuonMomentumStyle style, MuonNesterovType nesterov)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)muon);

  PetscFunctionBegin;
  PetscCheck(at == (PetscInt)MUON_MOMENTUM_AT_SERVER || nesterov == MUON_NESTEROV_NONE, comm, PETSC_ERR_SUP, "-%smuon_nesterov %s needs -%smuon_momentum_at server, got worker", MuonPrefix(muon), MuonNesterovTypes[nesterov], MuonPrefix(muon));
  PetscCheck(nesterov != MUON_NESTEROV_SGD || style == MUON_MOMENTUM_SGD, comm, PETSC_ERR_ARG_INCOMP, "-%smuon_nesterov sgd needs -%smuon_momentum_style sgd, got ema", MuonPrefix(muon), MuonPrefix(muon));
  PetscCheck((nesterov != MUON_NESTEROV_EMA && nesterov != MUON_NESTEROV_UNDAMPED) || style == MUON_MOMENTUM_EMA, comm, PETSC_ERR_ARG_INCOMP, "-%smuon_nesterov %s needs -%smuon_momentum_style ema, got sgd", MuonPrefix(muon),
             MuonNesterovTypes[nesterov], MuonPrefix(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetLearningRate - Sets the learning rate

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- rate - the rate, finite and at least 0

  Options Database Key:
. -muon_learning_rate rate - the learning rate

  Level: intermediate

  Note:
  The default is 0.02. The radius of a layer's step is learning rate x schedule x scale x shape factor.

.seealso: `Muon`, `MuonGetLearningRate()`, `MuonSetAdamWLearningRate()`, `MuonLayerSetLearningRate()`, `MuonSetSchedule()`, `MuonGetRate()`, `MuonLayerSetScale()`
@*/
PetscErrorCode MuonSetLearningRate(Muon muon, PetscReal rate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(rate >= 0 && !PetscIsInfOrNanReal(rate), PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-muon_learning_rate %g must be finite and at least 0", (double)rate);
  muon->learning_rate    = rate;
  muon->learning_rateset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLearningRate - Gets the learning rate

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. rate - the rate

  Level: intermediate

.seealso: `Muon`, `MuonSetLearningRate()`
@*/
PetscErrorCode MuonGetLearningRate(Muon muon, PetscReal *rate)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, rate, muon->learning_rate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetSchedule - Sets how the learning rate changes with the step

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
- schedule - `MUON_SCHEDULE_CONSTANT`, `MUON_SCHEDULE_TRAPEZOID`, `MUON_SCHEDULE_LINEAR` or `MUON_SCHEDULE_COSINE`

  Options Database Key:
. -muon_schedule schedule - how the learning rate changes with the step (constant|trapezoid|linear|cosine)

  Level: intermediate

  Note:
  The default is constant. The others end at the number of steps of `MuonSetMaxSteps()`, at a rate that is not
  0.

.seealso: `Muon`, `MuonGetSchedule()`, `MuonScheduleType`, `MuonSetScheduleWarmup()`, `MuonSetScheduleConstant()`, `MuonSetMaxSteps()`
@*/
PetscErrorCode MuonSetSchedule(Muon muon, MuonScheduleType schedule)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckEnum_Private(muon, "muon_schedule", MuonScheduleTypes, (int)schedule));
  muon->schedule = schedule;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetSchedule - Gets how the learning rate changes with the step

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. schedule - `MUON_SCHEDULE_CONSTANT`, `MUON_SCHEDULE_TRAPEZOID`, `MUON_SCHEDULE_LINEAR` or `MUON_SCHEDULE_COSINE`

  Level: intermediate

.seealso: `Muon`, `MuonSetSchedule()`
@*/
PetscErrorCode MuonGetSchedule(Muon muon, MuonScheduleType *schedule)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, schedule, muon->schedule);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetScheduleWarmup - Sets the number of steps in which the learning rate rises from almost 0

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- steps - number of steps, at least 0

  Options Database Key:
. -muon_schedule_warmup steps - the number of steps in which the learning rate rises from almost 0

  Level: intermediate

  Note:
  The default is 0.

.seealso: `Muon`, `MuonGetScheduleWarmup()`, `MuonSetSchedule()`
@*/
PetscErrorCode MuonSetScheduleWarmup(Muon muon, PetscInt steps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(steps >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-muon_schedule_warmup %" PetscInt_FMT " must be at least 0", steps);
  muon->schedule_warmup = steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetScheduleWarmup - Gets the number of steps in which the learning rate rises from almost 0

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. steps - number of steps

  Level: intermediate

.seealso: `Muon`, `MuonSetScheduleWarmup()`
@*/
PetscErrorCode MuonGetScheduleWarmup(Muon muon, PetscInt *steps)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, steps, muon->schedule_warmup);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetScheduleConstant - Sets the fraction of all steps for which the trapezoid stays at the full learning
  rate

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
- fraction - the fraction, in [0,1)

  Options Database Key:
. -muon_schedule_constant fraction - the fraction of all steps for which the trapezoid stays at the full learning rate

  Level: intermediate

  Note:
  The default is 0.4.

.seealso: `Muon`, `MuonGetScheduleConstant()`, `MuonSetSchedule()`
@*/
PetscErrorCode MuonSetScheduleConstant(Muon muon, PetscReal fraction)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(fraction >= 0 && fraction < 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-muon_schedule_constant %g must be in [0,1)", (double)fraction);
  muon->schedule_constant = fraction;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetScheduleConstant - Gets the fraction of all steps for which the trapezoid stays at the full learning
  rate

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. fraction - the fraction

  Level: intermediate

.seealso: `Muon`, `MuonSetScheduleConstant()`
@*/
PetscErrorCode MuonGetScheduleConstant(Muon muon, PetscReal *fraction)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, fraction, muon->schedule_constant);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetMomentum - Sets the momentum

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
- momentum - weight of the old momentum, in [0,1)

  Options Database Key:
. -muon_momentum momentum - the momentum

  Level: intermediate

  Note:
  The default is 0.9, which is beta = 0.1 in the EF21-Muon paper; 0 is the deterministic algorithm and needs
  no memory.

.seealso: `Muon`, `MuonGetMomentum()`, `MuonSetMomentumWarmup()`, `MuonSetScheduleFunction()`, `MuonSetMomentumStyle()`, `MuonSetNesterov()`, `MuonLayerSetMomentum()`
@*/
PetscErrorCode MuonSetMomentum(Muon muon, PetscReal momentum)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(momentum >= 0 && momentum < 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-muon_momentum %g must be in [0,1)", (double)momentum);
  PetscCall(MuonCheckMomentumKept_Private(muon, "muon_momentum", momentum));
  muon->momentum = momentum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetMomentum - Gets the momentum

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. momentum - weight of the old momentum

  Level: intermediate

.seealso: `Muon`, `MuonSetMomentum()`
@*/
PetscErrorCode MuonGetMomentum(Muon muon, PetscReal *momentum)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, momentum, muon->momentum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetMomentumStyle - Sets how a gradient enters the momentum

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- style - `MUON_MOMENTUM_EMA` or `MUON_MOMENTUM_SGD`

  Options Database Key:
. -muon_momentum_style style - how a gradient enters the momentum (ema|sgd)

  Level: intermediate

  Note:
  The default is ema. Without weight decay both give the same steps: oracles do not see the length of the
  momentum.

.seealso: `Muon`, `MuonGetMomentumStyle()`, `MuonMomentumStyle`, `MuonSetMomentum()`, `MuonSetDampening()`
@*/
PetscErrorCode MuonSetMomentumStyle(Muon muon, MuonMomentumStyle style)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckEnum_Private(muon, "muon_momentum_style", MuonMomentumStyles, (int)style));
  if (muon->setupcalled) PetscCall(MuonCheckMomentum_Private(muon, muon->momentum_at, style, muon->nesterov));
  muon->momentum_style = style;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetMomentumStyle - Gets how a gradient enters the momentum

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. style - `MUON_MOMENTUM_EMA` or `MUON_MOMENTUM_SGD`

  Level: intermediate

.seealso: `Muon`, `MuonSetMomentumStyle()`
@*/
PetscErrorCode MuonGetMomentumStyle(Muon muon, MuonMomentumStyle *style)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, style, muon->momentum_style);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetDampening - Sets by how much a new gradient is damped in the momentum style sgd

  Logically Collective

  Input Parameters:
+ muon      - the optimizer
- dampening - 1 minus the weight of the new gradient, in [0,1)

  Options Database Key:
. -muon_dampening dampening - by how much a new gradient is damped in the momentum style sgd

  Level: intermediate

  Note:
  The default is 0.

.seealso: `Muon`, `MuonGetDampening()`, `MuonSetMomentumStyle()`, `MuonSetMomentum()`
@*/
PetscErrorCode MuonSetDampening(Muon muon, PetscReal dampening)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(dampening >= 0 && dampening < 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-muon_dampening %g must be in [0,1)", (double)dampening);
  muon->dampening = dampening;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetDampening - Gets by how much a new gradient is damped in the momentum style sgd

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. dampening - 1 minus the weight of the new gradient

  Level: intermediate

.seealso: `Muon`, `MuonSetDampening()`
@*/
PetscErrorCode MuonGetDampening(Muon muon, PetscReal *dampening)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, dampening, muon->dampening);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetNesterov - Sets what the oracle sees of gradient and momentum

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
- nesterov - `MUON_NESTEROV_NONE`, `MUON_NESTEROV_EMA`, `MUON_NESTEROV_SGD` or `MUON_NESTEROV_UNDAMPED`

  Options Database Key:
. -muon_nesterov nesterov - what the oracle sees of gradient and momentum (none|ema|sgd|undamped)

  Level: intermediate

  Note:
  The default is none. `MUONEF21` has no Nesterov term and refuses the others.

.seealso: `Muon`, `MuonGetNesterov()`, `MuonNesterovType`, `MuonSetMomentum()`
@*/
PetscErrorCode MuonSetNesterov(Muon muon, MuonNesterovType nesterov)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckEnum_Private(muon, "muon_nesterov", MuonNesterovTypes, (int)nesterov));
  if (muon->setupcalled) PetscCall(MuonCheckMomentum_Private(muon, muon->momentum_at, muon->momentum_style, nesterov));
  muon->nesterov = nesterov;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetNesterov - Gets what the oracle sees of gradient and momentum

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. nesterov - `MUON_NESTEROV_NONE`, `MUON_NESTEROV_EMA`, `MUON_NESTEROV_SGD` or `MUON_NESTEROV_UNDAMPED`

  Level: intermediate

.seealso: `Muon`, `MuonSetNesterov()`
@*/
PetscErrorCode MuonGetNesterov(Muon muon, MuonNesterovType *nesterov)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, nesterov, muon->nesterov);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetWeightDecay - Sets the weight decay

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- decay - at least 0; by default X is multiplied by 1 - (learning rate x schedule) x decay before a step

  Options Database Key:
. -muon_weight_decay decay - the weight decay

  Level: intermediate

  Note:
  The default is 0. `MuonSetWeightDecayStyle()` says how it acts.

.seealso: `Muon`, `MuonGetWeightDecay()`, `MuonSetWeightDecayStyle()`, `MuonSetAdamWWeightDecay()`, `MuonLayerSetWeightDecay()`
@*/
PetscErrorCode MuonSetWeightDecay(Muon muon, PetscReal decay)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(decay >= 0 && !PetscIsInfOrNanReal(decay), PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-muon_weight_decay %g must be finite and at least 0", (double)decay);
  muon->weight_decay = decay;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetWeightDecay - Gets the weight decay

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. decay - the decay

  Level: intermediate

.seealso: `Muon`, `MuonSetWeightDecay()`
@*/
PetscErrorCode MuonGetWeightDecay(Muon muon, PetscReal *decay)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, decay, muon->weight_decay);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetWeightDecayStyle - Sets how weight decay enters a step

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- style - `MUON_WEIGHT_DECAY_DECOUPLED`, `MUON_WEIGHT_DECAY_COUPLED` or `MUON_WEIGHT_DECAY_CAUTIOUS`

  Options Database Key:
. -muon_weight_decay_style style - how weight decay enters a step (decoupled|coupled|cautious)

  Level: intermediate

  Note:
  The default is decoupled. The style holds for all layers, whatever moves them. Where decay is coupled it is
  added to the gradient where the momentum is kept, after clipping.

.seealso: `Muon`, `MuonWeightDecayStyle`, `MuonGetWeightDecayStyle()`, `MuonSetWeightDecay()`
@*/
PetscErrorCode MuonSetWeightDecayStyle(Muon muon, MuonWeightDecayStyle style)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckEnum_Private(muon, "muon_weight_decay_style", MuonWeightDecayStyles, (int)style));
  muon->weight_decay_style = style;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetWeightDecayStyle - Gets how weight decay enters a step

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. style - the style

  Level: intermediate

.seealso: `Muon`, `MuonSetWeightDecayStyle()`
@*/
PetscErrorCode MuonGetWeightDecayStyle(Muon muon, MuonWeightDecayStyle *style)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, style, muon->weight_decay_style);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetShapeFactor - Sets how the shape of a layer enters its radius

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- factor - `MUON_SHAPE_FACTOR_NONE`, `MUON_SHAPE_FACTOR_KJ`, `MUON_SHAPE_FACTOR_MOONLIGHT` or `MUON_SHAPE_FACTOR_SCION`

  Options Database Key:
. -muon_shape_factor factor - how the shape of a layer enters its radius (none|kj|moonlight|scion)

  Level: intermediate

  Note:
  The default is none.

.seealso: `Muon`, `MuonGetShapeFactor()`, `MuonShapeFactor`, `MuonLayerSetShapeFactor()`, `MuonLayerGetRadiusFactor()`
@*/
PetscErrorCode MuonSetShapeFactor(Muon muon, MuonShapeFactor factor)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckEnum_Private(muon, "muon_shape_factor", MuonShapeFactors, (int)factor));
  muon->shape_factor = factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetShapeFactor - Gets how the shape of a layer enters its radius

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. factor - `MUON_SHAPE_FACTOR_NONE`, `MUON_SHAPE_FACTOR_KJ`, `MUON_SHAPE_FACTOR_MOONLIGHT` or `MUON_SHAPE_FACTOR_SCION`

  Level: intermediate

.seealso: `Muon`, `MuonSetShapeFactor()`
@*/
PetscErrorCode MuonGetShapeFactor(Muon muon, MuonShapeFactor *factor)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, factor, muon->shape_factor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetMaxSteps - Sets the number of steps that `MuonSolve()` takes and that schedules count on

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- steps - number of steps, at least 0

  Options Database Key:
. -muon_max_steps steps - the number of steps that `MuonSolve()` takes and that schedules count on

  Level: intermediate

  Note:
  The default is 1000.

.seealso: `Muon`, `MuonGetMaxSteps()`, `MuonSolve()`, `MuonSetSchedule()`
@*/
PetscErrorCode MuonSetMaxSteps(Muon muon, PetscInt steps)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(steps >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-muon_max_steps %" PetscInt_FMT " must be at least 0", steps);
  muon->max_steps = steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetMaxSteps - Gets the number of steps that `MuonSolve()` takes and that schedules count on

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. steps - number of steps

  Level: intermediate

.seealso: `Muon`, `MuonSetMaxSteps()`
@*/
PetscErrorCode MuonGetMaxSteps(Muon muon, PetscInt *steps)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, steps, muon->max_steps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetSeed - Sets the seed of the random numbers that compressors draw

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- seed - any number, the same on every rank

  Options Database Key:
. -muon_seed seed - the seed of the random numbers that compressors draw

  Level: intermediate

  Note:
  The default is 0. Numbers are functions of seed, layer, step, sender and entry, not of the number of ranks
  or of the owners.

.seealso: `Muon`, `MuonGetSeed()`, `MuonCompressorSetStream()`
@*/
PetscErrorCode MuonSetSeed(Muon muon, PetscInt64 seed)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckBeforeSetUp_Private(muon, muon->seed == seed ? PETSC_TRUE : PETSC_FALSE, "muon_seed"));
  muon->seed = seed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetSeed - Gets the seed of the random numbers that compressors draw

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. seed - any number

  Level: intermediate

.seealso: `Muon`, `MuonSetSeed()`
@*/
PetscErrorCode MuonGetSeed(Muon muon, PetscInt64 *seed)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, seed, muon->seed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetStatePrecision - Sets the precision of what an optimizer keeps beside the weights

  Logically Collective

  Input Parameters:
+ muon      - the optimizer
- precision - `MUON_STATE_PRECISION_NATIVE` or `MUON_STATE_PRECISION_SINGLE`

  Options Database Key:
. -muon_state_precision precision - the precision (native|single), native by default

  Level: intermediate

  Note:
  Single precision halves the memory of momentum and estimates of layers in double precision, and the time of
  the passes over them. Oracles work on what they are given in that precision; weights stay as they are.

.seealso: `Muon`, `MuonStatePrecision`, `MuonGetStatePrecision()`, `MuonGetMemory()`
@*/
PetscErrorCode MuonSetStatePrecision(Muon muon, MuonStatePrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(muon, precision, 2);
  PetscCall(MuonCheckEnum_Private(muon, "muon_state_precision", MuonStatePrecisions, (int)precision));
  PetscCall(MuonCheckBeforeSetUp_Private(muon, muon->state_precision == precision ? PETSC_TRUE : PETSC_FALSE, "muon_state_precision"));
  muon->state_precision = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetStatePrecision - Gets the precision of what an optimizer keeps beside the weights

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. precision - the precision

  Level: intermediate

.seealso: `Muon`, `MuonSetStatePrecision()`
@*/
PetscErrorCode MuonGetStatePrecision(Muon muon, MuonStatePrecision *precision)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, precision, muon->state_precision);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCountEntropy - Sets whether an optimizer computes the entropy of its messages

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- flg  - whether it does

  Options Database Key:
. -muon_count_entropy - counts it

  Level: intermediate

  Note:
  It is index 2 of `MuonTraffic`, -1 where it is not counted, as by default: it costs a look at every value
  that is sent.

.seealso: `Muon`, `MuonGetCountEntropy()`, `MuonGetTraffic()`
@*/
PetscErrorCode MuonSetCountEntropy(Muon muon, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveBool(muon, flg, 2);
  if (flg && muon->count_entropy == PETSC_FALSE) muon->traffic.total_up[2] = muon->traffic.total_down[2] = 0;
  muon->count_entropy = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCountEntropy - Gets whether an optimizer computes the entropy of its messages

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. flg - whether it does

  Level: intermediate

.seealso: `Muon`, `MuonSetCountEntropy()`
@*/
PetscErrorCode MuonGetCountEntropy(Muon muon, PetscBool *flg)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, flg, muon->count_entropy);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetNaNPolicy - Sets what a NaN or Inf does

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- policy - `MUON_NAN_STOP`, `MUON_NAN_SKIP` or `MUON_NAN_ZERO`

  Options Database Key:
. -muon_nan policy - what a NaN or Inf does (stop|skip|zero)

  Level: intermediate

  Note:
  The default is stop.

.seealso: `Muon`, `MuonGetNaNPolicy()`, `MuonNaNPolicy`, `MuonGetNaNCount()`, `MuonGetConvergedReason()`
@*/
PetscErrorCode MuonSetNaNPolicy(Muon muon, MuonNaNPolicy policy)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckEnum_Private(muon, "muon_nan", MuonNaNPolicies, (int)policy));
  muon->nan = policy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetNaNPolicy - Gets what a NaN or Inf does

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. policy - `MUON_NAN_STOP`, `MUON_NAN_SKIP` or `MUON_NAN_ZERO`

  Level: intermediate

.seealso: `Muon`, `MuonSetNaNPolicy()`
@*/
PetscErrorCode MuonGetNaNPolicy(Muon muon, MuonNaNPolicy *policy)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, policy, muon->nan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetErrorIfNotConverged - Sets whether a diverged step is a PETSc error

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- flg  - `PETSC_TRUE` to raise an error

  Options Database Key:
. -muon_error_if_not_converged flg - whether a diverged step is a PETSc error

  Level: intermediate

  Note:
  By default a diverged step is a reason that `MuonGetConvergedReason()` tells.

.seealso: `Muon`, `MuonGetErrorIfNotConverged()`, `MuonConvergedReason`, `MuonGetConvergedReason()`
@*/
PetscErrorCode MuonSetErrorIfNotConverged(Muon muon, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  muon->error_if_not_converged = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetErrorIfNotConverged - Gets whether a diverged step is a PETSc error

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. flg - `PETSC_TRUE` to raise an error

  Level: intermediate

.seealso: `Muon`, `MuonSetErrorIfNotConverged()`
@*/
PetscErrorCode MuonGetErrorIfNotConverged(Muon muon, PetscBool *flg)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, flg, muon->error_if_not_converged);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetMomentumAt - Sets where the momentum is kept

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- at   - `MUON_MOMENTUM_AT_WORKER` or `MUON_MOMENTUM_AT_SERVER`

  Options Database Key:
. -muon_momentum_at at - where the momentum is kept (worker|server), worker for ef21 and server for dense by default

  Level: intermediate

  Note:
  `MUONEF21` keeps one momentum a worker, which is part of the algorithm. `MUONDENSE` keeps one where a layer
  is served by default; at the workers it needs one a worker and no Nesterov term.

.seealso: `Muon`, `MuonGetMomentumAt()`, `MuonMomentumAt`, `MuonSetMomentum()`
@*/
PetscErrorCode MuonSetMomentumAt(Muon muon, MuonMomentumAt at)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckEnum_Private(muon, "muon_momentum_at", MuonMomentumAts, (int)at));
  PetscCall(MuonCheckBeforeSetUp_Private(muon, muon->momentum_at == (PetscInt)at ? PETSC_TRUE : PETSC_FALSE, "muon_momentum_at"));
  muon->momentum_at    = (PetscInt)at;
  muon->momentum_atset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetMomentumAt - Gets where the momentum is kept

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. at - `MUON_MOMENTUM_AT_WORKER` or `MUON_MOMENTUM_AT_SERVER`; the type's own choice is known after `MuonSetUp()`

  Level: intermediate

.seealso: `Muon`, `MuonSetMomentumAt()`, `MuonMomentumAt`
@*/
PetscErrorCode MuonGetMomentumAt(Muon muon, MuonMomentumAt *at)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(at, 2);
  PetscCheck(muon->momentum_at != PETSC_DETERMINE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Where the momentum is kept is known after MuonSetUp()");
  *at = (MuonMomentumAt)muon->momentum_at;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetMeasureUpdateRMS - Sets whether an optimizer measures the size of its updates

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- flg  - whether it does

  Options Database Key:
. -muon_measure_update_rms - measures it

  Level: intermediate

  Note:
  `MuonLayerGetUpdateRMS()` and `MuonLayerView()` tell it. It costs a pass over each layer where it is served,
  a second run of the rule for `MUONLAYERADAMW` and its kin.

.seealso: `Muon`, `MuonGetMeasureUpdateRMS()`, `MuonLayerGetUpdateRMS()`, `MuonLayerView()`
@*/
PetscErrorCode MuonSetMeasureUpdateRMS(Muon muon, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  muon->measure_update_rms = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetMeasureUpdateRMS - Gets whether an optimizer measures the size of its updates

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. flg - whether it does

  Level: intermediate

.seealso: `Muon`, `MuonSetMeasureUpdateRMS()`
@*/
PetscErrorCode MuonGetMeasureUpdateRMS(Muon muon, PetscBool *flg)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, flg, muon->measure_update_rms);
  PetscFunctionReturn(PETSC_SUCCESS);
}
