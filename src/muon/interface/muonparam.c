#include "muoninterface.h" /*I "petscmuon.h" I*/

/*
   The parameters of an optimizer. Those that are fixed at MuonSetUp() determine the allocated state and its ranks; the others
   act at the next step.
*/
#define ROW(kind, field, value, least, most, names, flags, help) ROW_OF(#field, kind, field, value, least, most, names, flags, help)
#define ROW_OF(key, kind, field, value, least, most, names, flags, help) \
  { \
    key, MUON_PARAMETER_##kind, offsetof(struct _p_Muon, field), value, least, most, names, flags, help \
  }
#define BEHIND(part, type, kind, field, value, least, most, names, flags, help) \
  { \
    #field, MUON_PARAMETER_##kind, MUON_PARAMETER_AT(struct _p_Muon, part, struct type, field), value, least, most, names, MUON_PARAMETER_BEHIND | (flags), help \
  }
#define RATE(...)                             BEHIND(rates, _n_MuonRates, __VA_ARGS__)
#define LATE(...)                             BEHIND(rounds, _n_MuonRounds, __VA_ARGS__)
#define INT(field, value, least, flags, help) ROW(INT, field, value, least, MUON_UNBOUNDED, NULL, flags, help)
#define BOOL(field, value, flags, help)       ROW(BOOL, field, value, 0, 1, NULL, flags, help)
#define ENUM(field, names, flags, help)       ROW(ENUM, field, 0, 0, 0, names, flags, help)

static const char *const DownlinkPrecisions[] = {"native", "single", "MuonStatePrecision", "MUON_STATE_PRECISION_", NULL};

const MuonParameter MuonParameters_Private[] = {
  RATE(REAL, learning_rate, 0.02, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_HIDDEN, "Learning rate"),
  RATE(ENUM, schedule, 0, 0, 0, MuonScheduleTypes, 0, "How the learning rate changes"),
  RATE(INT, schedule_warmup, 0, 0, MUON_UNBOUNDED, NULL, 0, "Steps in which the learning rate rises"),
  RATE(REAL, schedule_constant, 0.4, 0, 1, NULL, MUON_PARAMETER_BELOW, "Fraction of the steps for which the trapezoid is flat"),
  RATE(REAL, schedule_minimum, 0, 0, 1, NULL, 0, "Part of the learning rate that schedules end at"),
  RATE(REAL, momentum, 0.9, 0, 1, NULL, MUON_PARAMETER_BELOW | MUON_PARAMETER_HIDDEN, "Weight of the old momentum"),
  RATE(INT, momentum_warmup, 0, 0, MUON_UNBOUNDED, NULL, 0, "Steps in which the momentum goes to its value"),
  RATE(REAL, momentum_warmup_start, 0.85, 0, 1, NULL, MUON_PARAMETER_BELOW, "Momentum of the first step of its warm-up"),
  RATE(ENUM, momentum_style, 0, 0, 0, MuonMomentumStyles, 0, "How a gradient enters the momentum"),
  ROW(ENUM, momentum_at, PETSC_DETERMINE, 0, 0, MuonMomentumAts, MUON_PARAMETER_FIXED | MUON_PARAMETER_AUTO | MUON_PARAMETER_HIDDEN, "Where the momentum is kept, by the type where not set"),
  RATE(REAL, dampening, 0, 0, 1, NULL, MUON_PARAMETER_BELOW, "1 minus the weight of a new gradient in the style sgd"),
  ENUM(nesterov, MuonNesterovTypes, 0, "What the LMO sees"),
  RATE(REAL, weight_decay, 0, 0, MUON_UNBOUNDED, NULL, 0, "Weight decay"),
  ENUM(weight_decay_style, MuonWeightDecayStyles, 0, "How weight decay enters a step"),
  ROW(REAL, clip, 0, 0, MUON_UNBOUNDED, NULL, 0, "Largest norm of a gradient, 0 for any; beyond it the gradient is shortened"),
  ENUM(clip_layers, MuonClipLayersTypes, 0, "Whose gradients are clipped"),
  RATE(TEXT, layer_type, 0, 0, 0, NULL, MUON_PARAMETER_FIXED, "Type of the layers that no pattern matches (lmo|adamw|nadamw|soap|sgd|frozen)"),
  RATE(TEXT, layer_types, 0, 0, 0, NULL, MUON_PARAMETER_FIXED, "Types of layers by their names, pattern:type with commas between them"),
  RATE(REAL, adamw_learning_rate, 1e-3, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_AUTO, "Learning rate of AdamW, NAdamW and SOAP, -1: that of the optimizer"),
  RATE(REAL, adamw_weight_decay, PETSC_DETERMINE, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_AUTO, "Weight decay of AdamW, NAdamW and SOAP, -1: that of the optimizer"),
  RATE(REAL, adamw_beta1, MUON_ADAMW_BETA1, 0, 1, NULL, MUON_PARAMETER_BELOW, "Decay of the mean of gradients"),
  RATE(REAL, adamw_beta2, MUON_ADAMW_BETA2, 0, 1, NULL, MUON_PARAMETER_BELOW, "Decay of the mean of squares"),
  RATE(REAL, adamw_epsilon, MUON_ADAMW_EPSILON, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_ABOVE, "Added to the root of the mean of squares"),
  RATE(REAL, sgd_learning_rate, PETSC_DETERMINE, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_AUTO, "Learning rate of gradient descent, -1: that of the optimizer"),
  RATE(REAL, sgd_weight_decay, PETSC_DETERMINE, 0, MUON_UNBOUNDED, NULL, MUON_PARAMETER_AUTO, "Weight decay of gradient descent, -1: that of the optimizer"),
  RATE(ENUM, shape_factor, 0, 0, 0, MuonShapeFactors, 0, "How the shape of a layer enters its radius"),
  RATE(ENUM, step, 0, 0, 0, MuonStepTypes, 0, "How far a norm ball moves a layer"),
  ROW_OF("assembly", ENUM, assembly.kind, PETSC_DETERMINE, MUON_ASSEMBLY_ALLGATHER, 0, MuonAssemblyKinds, MUON_PARAMETER_FIXED | MUON_PARAMETER_AUTO, "Ranks that assemble a distributed matrix, the cheapest where not set"),
  ROW_OF("assembly_precision", ENUM, assembly.precision, 0, 0, 0, MuonAssemblyPrecisions, MUON_PARAMETER_FIXED, "Precision in which rows are gathered"),
  ROW_OF("assembly_assignment", ENUM, assembly.assignment, 0, 0, 0, MuonExchangeAssignments, MUON_PARAMETER_FIXED, "How the owners of matrices are chosen"),
  ROW_OF("assembly_chunk", INT, assembly.chunk, PETSC_DETERMINE, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_FIXED | MUON_PARAMETER_AUTO, "Matrices that travel together, by default as many as a worker has ranks"),
  ROW_OF("assembly_warmup", INT, assembly.warmup, 5, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_FIXED, "Chunks of matrices that are in flight at once"),
  ROW_OF("node_size", INT, ports.node_size, 1, 1, MUON_UNBOUNDED, NULL, MUON_PARAMETER_FIXED | MUON_PARAMETER_AUTO, "Ranks of a node that are one worker for layers on one rank, auto: all of each node"),
  LATE(INT, delay, 0, 0, 1, NULL, MUON_PARAMETER_FIXED, "Steps between the gradients of LMO layers and the step along them"),
  LATE(BOOL, delay_correction, 0, 0, 1, NULL, MUON_PARAMETER_FIXED, "Add to a late step by how much it differs from the one before"),
  INT(max_steps, 1000, 0, 0, "Steps of MuonSolve() and of the schedule"),
  ROW(INT64, seed, 0, -MUON_UNBOUNDED, MUON_UNBOUNDED, NULL, MUON_PARAMETER_FIXED, "Seed of random numbers"),
  ENUM(state_precision, MuonStatePrecisions, MUON_PARAMETER_FIXED, "Precision of momentum, estimates and scratch, or of momentum and moments alone"),
  ENUM(downlink_precision, DownlinkPrecisions, MUON_PARAMETER_FIXED, "Precision in which weights that are not compressed come from their owners"),
  ENUM(nan, MuonNaNPolicies, 0, "What a NaN or Inf does"),
  BOOL(error_if_not_converged, 0, 0, "A diverged step is a PETSc error"),
  BOOL(count_entropy, 0, 0, "Count the entropy of messages"),
  INT(monitor_interval, 1, 1, 0, "Monitors speak of every n-th step"),
  {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/* Groups of -help and the first row of each; an addon or a type is a group by its name */
static const char *const MuonHeadings[][2] = {{"learning_rate", "basics"}, {"schedule", "schedule"}, {"momentum", "momentum, weight decay, clipping"}, {"layer_type", "layers"}, {"assembly", "communication"}, {"max_steps", "run, precision"}};

const char *MuonHeading_Private(PetscObject object, const MuonParameter *row)
{
  const Muon muon = (Muon)object;

  for (PetscInt k = 0; k < muon->naddons; k++) {
    if (row == muon->addon[k].ops->rows) return muon->addon[k].name;
  }
  if (row == muon->parameters.rows[1]) return object->type_name;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(MuonHeadings) && !(row->flags & MUON_PARAMETER_DATA); k++) {
    if (strcmp(row->key, MuonHeadings[k][0]) == 0) return MuonHeadings[k][1];
  }
  return NULL;
}

#define IS(row, field)      ((row)->at == offsetof(struct _p_Muon, field))
#define IS_RATE(row, field) ((row)->at == MUON_PARAMETER_AT(struct _p_Muon, rates, struct _n_MuonRates, field))

/* What a row cannot say */
PetscErrorCode MuonChanging_Private(PetscObject object, const MuonParameter *row, double value)
{
  Muon muon = (Muon)object;

  PetscFunctionBegin;
  if (row->flags & MUON_PARAMETER_DATA) PetscFunctionReturn(PETSC_SUCCESS);
  if (IS_RATE(row, momentum)) PetscCall(MuonCheckMomentumKept_Private(muon, row->key, (PetscReal)value));
  if (IS_RATE(row, momentum_warmup) && value > (double)muon->step) PetscCall(MuonCheckMomentumKept_Private(muon, "momentum_warmup_start", muon->rates->momentum_warmup_start));
  if (IS_RATE(row, momentum_warmup_start) && muon->step < muon->rates->momentum_warmup) PetscCall(MuonCheckMomentumKept_Private(muon, row->key, (PetscReal)value));
  PetscCheck(!IS(row, clip) || muon->setupcalled == PETSC_FALSE || (value > 0) == (muon->clip > 0), PetscObjectComm(object), PETSC_ERR_ORDER, "-%smuon_clip %g: whether gradients are clipped must be set before MuonSetUp(), or after MuonReset()",
             MuonPrefix(muon), value);
  if (IS(row, count_entropy) && value != 0 && muon->count_entropy == PETSC_FALSE) muon->traffic.total_up[2] = muon->traffic.total_down[2] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonChangingText_Private(PetscObject object, const MuonParameter *row, const char value[])
{
  PetscFunctionBegin;
  if (row->flags & MUON_PARAMETER_DATA) PetscFunctionReturn(PETSC_SUCCESS);
  if (IS_RATE(row, layer_types)) PetscCall(MuonCheckLayerTypesText_Private((Muon)object, value));
  if (IS_RATE(row, layer_type)) PetscCall(MuonCheckLayerTypeText_Private((Muon)object, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonChanged_Private(PetscObject object, const MuonParameter *row)
{
  Muon muon = (Muon)object;

  PetscFunctionBegin;
  if (row->flags & MUON_PARAMETER_DATA) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < muon->nlayers && (IS_RATE(row, layer_types) || IS_RATE(row, layer_type)); l++) PetscCall(MuonMatchLayerType_Private(muon, muon->layer[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonSetParameter - Sets a parameter of an optimizer, or of one of its objects, by its option key

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
. key   - the key without hyphen and prefix: "muon_nan", "lmo_polar_steps", "muon_layer_head_scale", "ef21_compressor_ratio"
- value - the value as text; numbers have a decimal point in any locale

  Level: beginner

  Notes:
  It acts like the option, immediately, with the same errors. A later `MuonSetFromOptions()` overrides it. A key for
  all layers applies to the layers that were added already.

  A key of a type that is not set is an error, which names the type. Keys of an optimizer's type may be set before the
  type; they apply when it is set.

.seealso: `Muon`, `MuonGetParameter()`, `MuonSetFromOptions()`, `MuonObjectSetParameter()`
@*/
PetscErrorCode MuonSetParameter(Muon muon, const char key[], const char value[])
{
  const size_t word = strcspn(key, "_");
  char         type[64];
  PetscErrorCode (*create)(Muon) = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(key, 2);
  PetscAssertPointer(value, 3);
  PetscCall(PetscSNPrintf(type, sizeof(type), "%.*s", (int)word, key));
  if (((PetscObject)muon)->type_name == NULL) PetscCall(PetscFunctionListFind(MuonList, type, &create));
  if (create != NULL) PetscCall(MuonParametersWait_Private((PetscObject)muon, key, value));
  else PetscCall(MuonObjectSetParameter((PetscObject)muon, key, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonGetParameter - Gets a parameter of an optimizer, or of one of its objects, by its option key

  Not Collective

  Input Parameters:
+ muon   - the optimizer
. key    - the key, as for `MuonSetParameter()`
- length - length of `value`

  Output Parameter:
. value - the value as text, "auto" if a type or another object decides

  Level: beginner

.seealso: `Muon`, `MuonSetParameter()`, `MuonObjectGetParameter()`
@*/
PetscErrorCode MuonGetParameter(Muon muon, const char key[], char value[], size_t length)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(key, 2);
  PetscAssertPointer(value, 3);
  PetscCall(MuonObjectGetParameter((PetscObject)muon, key, value, length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAssign_Private(Muon muon, const char key[], double value)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonParametersAssign((PetscObject)muon, key, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetLearningRate - Sets the learning rate

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- rate - the rate, finite and at least 0

  Options Database Key:
. -muon_learning_rate rate - the learning rate, 0.02 by default

  Level: beginner

  Note:
  The radius of a layer's step is learning rate x schedule x scale x shape factor.

.seealso: `Muon`, `MuonGetLearningRate()`, `MuonSetAdamW()`, `MuonSetSchedule()`, `MuonGetRate()`, `MuonSetParameter()`
@*/
PetscErrorCode MuonSetLearningRate(Muon muon, PetscReal rate)
{
  PetscFunctionBegin;
  PetscCall(MuonAssign_Private(muon, "learning_rate", (double)rate));
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
  MuonGet(muon, MUON_CLASSID, rate, muon->rates->learning_rate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetSchedule - Sets how the learning rate changes with the step

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
. schedule - its type, or `MUON_SCHEDULE_CURRENT`
. warmup   - steps in which the rate rises, or `PETSC_CURRENT`
. constant - fraction of the steps for which the trapezoid is flat, in [0,1), or `PETSC_CURRENT`
- minimum  - fraction of the rate at which schedules end, in [0,1], or `PETSC_CURRENT`

  Options Database Keys:
+ -muon_schedule schedule          - how the rate changes (constant|trapezoid|linear|cosine), by default constant, and linear in `MuonSolve()` with a chosen number of steps
. -muon_schedule_warmup steps      - steps in which the rate rises, 0 by default
. -muon_schedule_constant fraction - fraction of the steps for which the trapezoid is flat, 0.4 by default
- -muon_schedule_minimum fraction  - fraction of the rate at which schedules end, 0 by default

  Level: intermediate

  Notes:
  Schedules end at the number of steps of `MuonSetMaxSteps()`, with a positive rate in the last step. With w steps of
  warm-up the rate of step s = 0, 1, ... is multiplied by min(1, (s+1)/w). A schedule f becomes minimum +
  (1 - minimum) f before the warm-up.

.seealso: `Muon`, `MuonScheduleType`, `MuonSetScheduleFunction()`, `MuonSetMaxSteps()`, `MuonGetRate()`
@*/
PetscErrorCode MuonSetSchedule(Muon muon, MuonScheduleType schedule, PetscInt warmup, PetscReal constant, PetscReal minimum)
{
  PetscFunctionBegin;
  PetscCall(MuonAssign_Private(muon, "schedule", (double)(int)schedule));
  PetscCall(MuonAssign_Private(muon, "schedule_warmup", (double)warmup));
  PetscCall(MuonAssign_Private(muon, "schedule_constant", (double)constant));
  PetscCall(MuonAssign_Private(muon, "schedule_minimum", (double)minimum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetMomentum - Sets the momentum and its Nesterov term

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
. momentum - weight of the old momentum, in [0,1), or `PETSC_CURRENT`
. style    - how a gradient enters it, or `MUON_MOMENTUM_CURRENT`
- nesterov - the Nesterov term in the LMO's input, or `MUON_NESTEROV_CURRENT`

  Options Database Keys:
+ -muon_momentum momentum              - weight of the old momentum, 0.9 by default
. -muon_momentum_style style           - how a gradient enters it (ema|sgd), ema by default
. -muon_nesterov nesterov              - the Nesterov term (none|ema|sgd|undamped), none by default
. -muon_dampening dampening            - 1 minus the weight of a new gradient in the style sgd, 0 by default
. -muon_momentum_at at                 - where it is kept (worker|server), by default at the workers for ef21 and sign and at the server for dense and ef14
. -muon_momentum_warmup steps          - steps in which the momentum rises to its value, 0 by default
- -muon_momentum_warmup_start momentum - initial value of the momentum, 0.85 by default

  Level: intermediate

  Notes:
  A momentum of 0.9 is beta = 0.1 in the EF21-Muon paper. 0 is the deterministic algorithm and needs no memory for a
  momentum. A momentum of 0 cannot become positive after `MuonSetUp()`.

  The Nesterov terms ema and undamped need the style ema, the term sgd the style sgd. All need the momentum at the
  server. Other combinations are errors of `MuonSetUp()` or of the next `MuonStep()`.

  In step s = 0, 1, ... of a warm-up the momentum is start + min(1, s/steps) (momentum - start). The warm-up does not
  change the momentum of a layer with its own value.

.seealso: `Muon`, `MuonMomentumStyle`, `MuonNesterovType`, `MuonMomentumAt`, `MuonSetScheduleFunction()`, `MuonSetParameter()`
@*/
PetscErrorCode MuonSetMomentum(Muon muon, PetscReal momentum, MuonMomentumStyle style, MuonNesterovType nesterov)
{
  PetscFunctionBegin;
  PetscCall(MuonAssign_Private(muon, "momentum", (double)momentum));
  PetscCall(MuonAssign_Private(muon, "momentum_style", (double)(int)style));
  PetscCall(MuonAssign_Private(muon, "nesterov", (double)(int)nesterov));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetWeightDecay - Sets the weight decay

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
. decay - the decay, finite and at least 0, or `PETSC_CURRENT`
- style - how it enters a step, or `MUON_WEIGHT_DECAY_CURRENT`

  Options Database Keys:
+ -muon_weight_decay decay       - the weight decay, 0 by default
- -muon_weight_decay_style style - how it enters a step (decoupled|coupled|cautious), decoupled by default

  Level: intermediate

  Note:
  The style applies to all layers, for any optimizer of the layer. Coupled decay is added to the gradient where the
  momentum is kept, after clipping.

.seealso: `Muon`, `MuonWeightDecayStyle`, `MuonSetAdamW()`
@*/
PetscErrorCode MuonSetWeightDecay(Muon muon, PetscReal decay, MuonWeightDecayStyle style)
{
  PetscFunctionBegin;
  PetscCall(MuonAssign_Private(muon, "weight_decay", (double)decay));
  PetscCall(MuonAssign_Private(muon, "weight_decay_style", (double)(int)style));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetAdamW - Sets the parameters of layers with AdamW or NAdamW

  Logically Collective

  Input Parameters:
+ muon    - the optimizer
. rate    - the learning rate, finite and at least 0; `PETSC_DETERMINE` for that of the optimizer, or `PETSC_CURRENT`
. beta1   - decay of the mean of gradients, in [0,1), or `PETSC_CURRENT`
. beta2   - decay of the mean of squares, in [0,1), or `PETSC_CURRENT`
. epsilon - added to the root of the mean of squares, above 0, or `PETSC_CURRENT`
- decay   - the weight decay, finite and at least 0; `PETSC_DETERMINE` for that of the optimizer, or `PETSC_CURRENT`

  Options Database Keys:
+ -muon_adamw_learning_rate rate - the learning rate, 1e-3 by default
. -muon_adamw_beta1 beta1        - decay of the mean of gradients, 0.9 by default
. -muon_adamw_beta2 beta2        - decay of the mean of squares, 0.95 by default
. -muon_adamw_epsilon epsilon    - added to the root of the mean of squares, 1e-10 by default
- -muon_adamw_weight_decay decay - the weight decay, by default that of the optimizer

  Level: intermediate

  Note:
  The default rate of 1e-3 does not depend on `MuonSetLearningRate()`, because the two have different meanings. A step
  of AdamW changes every entry by about the rate. A step of Muon has singular values equal to the rate. The schedule
  multiplies both. `-muon_layer_NAME_learning_rate` overrides the rate for a layer, and is multiplied by the schedule, too.

.seealso: `Muon`, `MuonSetLearningRate()`, `MuonSetLayerTypes()`, `MUONLAYERADAMW`, `MUONLAYERNADAMW`
@*/
PetscErrorCode MuonSetAdamW(Muon muon, PetscReal rate, PetscReal beta1, PetscReal beta2, PetscReal epsilon, PetscReal decay)
{
  PetscFunctionBegin;
  PetscCall(MuonAssign_Private(muon, "adamw_learning_rate", (double)rate));
  PetscCall(MuonAssign_Private(muon, "adamw_beta1", (double)beta1));
  PetscCall(MuonAssign_Private(muon, "adamw_beta2", (double)beta2));
  PetscCall(MuonAssign_Private(muon, "adamw_epsilon", (double)epsilon));
  PetscCall(MuonAssign_Private(muon, "adamw_weight_decay", (double)decay));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetMaxSteps - Sets the number of steps of `MuonSolve()` and of the schedule

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- steps - number of steps, at least 0

  Options Database Key:
. -muon_max_steps steps - the number of steps, 1000 by default

  Level: beginner

.seealso: `Muon`, `MuonGetMaxSteps()`, `MuonSolve()`, `MuonSetSchedule()`
@*/
PetscErrorCode MuonSetMaxSteps(Muon muon, PetscInt steps)
{
  PetscFunctionBegin;
  PetscCall(MuonAssign_Private(muon, "max_steps", (double)steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetMaxSteps - Gets the number of steps of `MuonSolve()` and of the schedule

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
