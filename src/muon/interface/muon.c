#include "muoninterface.h" /*I "petscmuon.h" I*/

static const char *const MuonConvergedReasons_Shifted[] = {"DIVERGED_WEIGHTS", "DIVERGED_LMO", "DIVERGED_CORRUPT", "DIVERGED_NANORINF", "CONVERGED_ITERATING", "CONVERGED_MAX_STEPS", "MuonConvergedReason", "MUON_", NULL};
const char *const       *MuonConvergedReasons           = MuonConvergedReasons_Shifted + 4;
const char *const        MuonScheduleTypes[]            = {"constant", "trapezoid", "linear", "cosine", "MuonScheduleType", "MUON_SCHEDULE_", NULL};
const char *const        MuonMomentumStyles[]           = {"ema", "sgd", "MuonMomentumStyle", "MUON_MOMENTUM_", NULL};
const char *const        MuonNesterovTypes[]            = {"none", "ema", "sgd", "undamped", "MuonNesterovType", "MUON_NESTEROV_", NULL};
const char *const        MuonWeightDecayStyles[]        = {"decoupled", "coupled", "cautious", "MuonWeightDecayStyle", "MUON_WEIGHT_DECAY_", NULL};
const char *const        MuonClipLayersTypes[]          = {"others", "all", "MuonClipLayers", "MUON_CLIP_", NULL};
const char *const        MuonMomentumAts[]              = {"worker", "server", "MuonMomentumAt", "MUON_MOMENTUM_AT_", NULL};
const char *const        MuonRestartStates[]            = {"all", "weights", "MuonRestartState", "MUON_RESTART_", NULL};
const char *const        MuonNaNPolicies[]              = {"stop", "skip", "zero", "MuonNaNPolicy", "MUON_NAN_", NULL};
const char *const        MuonStatePrecisions[]          = {"native", "single", "MuonStatePrecision", "MUON_STATE_PRECISION_", NULL};
const char *const        MuonDownlinks[]                = {"weights", "step", "MuonDownlink", "MUON_DOWNLINK_", NULL};

const char *MuonPrefix(Muon muon)
{
  return ((PetscObject)muon)->prefix != NULL ? ((PetscObject)muon)->prefix : "";
}

/*@
  MuonCreate - Makes an optimizer

  Collective

  Input Parameter:
. comm - the communicator; each of its ranks is a worker with its own gradients, and may be a server of layers

  Output Parameter:
. newmuon - the optimizer

  Level: beginner

  Example Usage:
.vb
  MuonCreate(PETSC_COMM_WORLD, &muon);
  MuonAddLayer(muon, "attn.qkv", W, NULL);
  MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &ctx);
  MuonSetFromOptions(muon);
  MuonSolve(muon);
  MuonDestroy(&muon);
.ve

.seealso: `Muon`, `MuonAddLayer()`, `MuonSetObjectiveAndGradient()`, `MuonSetFromOptions()`, `MuonSolve()`, `MuonDestroy()`
@*/
PetscErrorCode MuonCreate(MPI_Comm comm, Muon *newmuon)
{
  Muon muon;

  PetscFunctionBegin;
  PetscAssertPointer(newmuon, 2);
  PetscCall(MuonInitializePackage());
  PetscCall(PetscHeaderCreate(muon, MUON_CLASSID, "Muon", "Muon-family optimizer", "Muon", comm, MuonDestroy, MuonView));
  PetscCall(MuonObjectBegins_Private((PetscObject)muon));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)muon), &muon->rank));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)muon), &muon->size));
  PetscCall(MuonWorkspaceCreate(&muon->work));
  muon->learning_rate     = (PetscReal)0.02;
  muon->momentum          = (PetscReal)0.9;
  muon->schedule_constant = (PetscReal)0.4;
  muon->max_steps         = 1000;
  muon->momentum_at       = PETSC_DETERMINE;
  muon->assembly_kind     = PETSC_DETERMINE;
  muon->monitorinterval   = 1;
  muon->check_weights     = PETSC_TRUE;
  muon->worker_weight     = 1;
  muon->device_batch      = (PetscReal)MUON_WORK_BATCH;
  muon->validated         = -1;

  muon->checkpoint_interval   = 100;
  muon->checkpoint_keep       = 2;
  muon->momentum_warmup_start = (PetscReal)0.85;
  muon->adamw_beta1           = (PetscReal)MUON_ADAMW_BETA1;
  muon->adamw_beta2           = (PetscReal)MUON_ADAMW_BETA2;
  muon->adamw_epsilon         = (PetscReal)MUON_ADAMW_EPSILON;
  muon->adamw_learning_rate   = 1e-3;
  muon->adamw_weight_decay = muon->sgd_learning_rate = muon->sgd_weight_decay = PETSC_DETERMINE;
  *newmuon                                                                    = muon;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetType - Chooses the algorithm

  Collective

  Input Parameters:
+ muon - the optimizer
- type - `MUONEF21` or `MUONDENSE`

  Options Database Key:
. -muon_type type - the algorithm (ef21|dense)

  Level: beginner

  Note:
  The default is `MUONEF21`; with its default compressors, which send everything, it takes the steps of Muon
  without Nesterov momentum.

.seealso: `Muon`, `MuonType`, `MuonGetType()`, `MuonRegister()`
@*/
PetscErrorCode MuonSetType(Muon muon, MuonType type)
{
  PetscBool same;
  char      names[512] = "";
  PetscErrorCode (*create)(Muon);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, type, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFunctionListFind(MuonList, type, &create));
  if (create == NULL) PetscCall(MuonListNames_Private(MuonList, sizeof(names), names));
  PetscCall(MuonPresetCheckType_Private(muon, type));
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_UNKNOWN_TYPE, "-%smuon_type %s: unknown type, expected one of %s", MuonPrefix(muon), type, names);
  PetscCall(MuonResetShards_Private(muon));
  PetscTryTypeMethod(muon, destroy);
  PetscCall(PetscMemzero(muon->ops, sizeof(struct _MuonOps)));
  muon->data             = NULL;
  muon->setupcalled      = PETSC_FALSE;
  muon->momentum_default = MUON_MOMENTUM_AT_WORKER;
  if (muon->momentum_atset == PETSC_FALSE) muon->momentum_at = PETSC_DETERMINE;
  for (PetscInt l = 0; l < muon->nlayers; l++) muon->layer[l]->fixed = PETSC_FALSE;
  PetscCall(PetscObjectChangeTypeName((PetscObject)muon, type));
  PetscCall((*create)(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetType - Gets the algorithm

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. type - name of the algorithm, `NULL` where none was chosen yet

  Level: beginner

.seealso: `Muon`, `MuonSetType()`
@*/
PetscErrorCode MuonGetType(Muon muon, MuonType *type)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, type, ((PetscObject)muon)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers and the exchange read the optimizer's keys behind the optimizer's prefix */
static PetscErrorCode MuonPropagatePrefix_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonLayerSetOptionsPrefix(muon->layer[l], ((PetscObject)muon)->prefix));
  if (muon->exchange != NULL) PetscCall(MuonExchangeSetOptionsPrefix(muon->exchange, ((PetscObject)muon)->prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetOptionsPrefix - Sets the prefix of all keys of an optimizer and of what belongs to it

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- prefix - the prefix, without a leading hyphen; `NULL` for none

  Level: intermediate

.seealso: `Muon`, `MuonAppendOptionsPrefix()`, `MuonGetOptionsPrefix()`, `MuonSetFromOptions()`
@*/
PetscErrorCode MuonSetOptionsPrefix(Muon muon, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)muon, prefix));
  PetscCall(MuonPropagatePrefix_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAppendOptionsPrefix - Appends to the prefix of all keys of an optimizer

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- prefix - what to append

  Level: advanced

.seealso: `Muon`, `MuonSetOptionsPrefix()`, `MuonGetOptionsPrefix()`
@*/
PetscErrorCode MuonAppendOptionsPrefix(Muon muon, const char prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscObjectAppendOptionsPrefix((PetscObject)muon, prefix));
  PetscCall(MuonPropagatePrefix_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetOptionsPrefix - Gets the prefix of all keys of an optimizer

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. prefix - the prefix, borrowed, `NULL` where there is none

  Level: intermediate

.seealso: `Muon`, `MuonSetOptionsPrefix()`
@*/
PetscErrorCode MuonGetOptionsPrefix(Muon muon, const char *prefix[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(prefix, 2);
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)muon, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetExchange - Gets the exchange of an optimizer

  Collective at the first call

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. exchange - the exchange, borrowed

  Level: intermediate

.seealso: `Muon`, `MuonExchange`, `MuonExchangeSetType()`, `MuonExchangeSetMode()`
@*/
PetscErrorCode MuonGetExchange(Muon muon, MuonExchange *exchange)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(exchange, 2);
  if (muon->exchange == NULL) {
    PetscCall(MuonExchangeCreate(PetscObjectComm((PetscObject)muon), &muon->exchange));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)muon->exchange, (PetscObject)muon, 1));
    PetscCall(PetscObjectSetOptions((PetscObject)muon->exchange, ((PetscObject)muon)->options));
    PetscCall(MuonExchangeSetOptionsPrefix(muon->exchange, ((PetscObject)muon)->prefix));
  }
  *exchange = muon->exchange;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonReadOptions_Private(Muon muon)
{
  const char          *deftype = ((PetscObject)muon)->type_name ? ((PetscObject)muon)->type_name : MUONEF21;
  char                 type[1024];
  PetscReal            real, beta1 = muon->adamw_beta1, beta2 = muon->adamw_beta2;
  PetscInt             count;
  MuonScheduleType     schedule  = muon->schedule;
  MuonMomentumStyle    style     = muon->momentum_style;
  MuonMomentumAt       at        = muon->momentum_at == PETSC_DETERMINE ? MUON_MOMENTUM_AT_WORKER : (MuonMomentumAt)muon->momentum_at;
  MuonNesterovType     nesterov  = muon->nesterov;
  MuonShapeFactor      factor    = muon->shape_factor;
  MuonNaNPolicy        nan       = muon->nan;
  MuonStatePrecision   precision = muon->state_precision;
  PetscBool            check     = PETSC_FALSE;
  MuonAssemblyKind     kind      = muon->assembly_kind == PETSC_DETERMINE ? MUON_ASSEMBLY_OWNER : (MuonAssemblyKind)muon->assembly_kind;
  MuonExchange         exchange;
  MuonAssembly         assembly;
  MuonWeightDecayStyle decay = muon->weight_decay_style;
  MuonClipLayers       clip  = muon->clip_layers;
  PetscBool            flg, set, set2;

  PetscFunctionBegin;
  PetscObjectOptionsBegin((PetscObject)muon);
  PetscCall(PetscOptionsFList("-muon_type", "Algorithm", "MuonSetType", MuonList, deftype, type, sizeof(type), &flg));
  PetscCall(MuonSetType(muon, flg ? type : deftype));
  PetscCall(PetscOptionsString("-muon_preset", "A published optimizer by its name", "MuonSetPreset", muon->preset, type, sizeof(type), NULL));
  PetscCall(PetscOptionsReal("-muon_learning_rate", "Learning rate", "MuonSetLearningRate", muon->learning_rate, &real, &flg));
  if (flg) PetscCall(MuonSetLearningRate(muon, real));
  PetscCall(PetscOptionsEnum("-muon_schedule", "How the learning rate changes", "MuonSetSchedule", MuonScheduleTypes, (PetscEnum)schedule, (PetscEnum *)&schedule, &flg));
  if (flg) PetscCall(MuonSetSchedule(muon, schedule));
  PetscCall(PetscOptionsInt("-muon_schedule_warmup", "Steps in which the learning rate rises", "MuonSetScheduleWarmup", muon->schedule_warmup, &count, &flg));
  if (flg) PetscCall(MuonSetScheduleWarmup(muon, count));
  PetscCall(PetscOptionsReal("-muon_schedule_constant", "Fraction of the steps for which the trapezoid is flat", "MuonSetScheduleConstant", muon->schedule_constant, &real, &flg));
  if (flg) PetscCall(MuonSetScheduleConstant(muon, real));
  PetscCall(PetscOptionsReal("-muon_schedule_minimum", "Part of the learning rate that schedules end at", "MuonSetScheduleMinimum", muon->schedule_minimum, &real, &flg));
  if (flg) PetscCall(MuonSetScheduleMinimum(muon, real));
  PetscCall(PetscOptionsReal("-muon_momentum", "Weight of the old momentum", "MuonSetMomentum", muon->momentum, &real, &flg));
  if (flg) PetscCall(MuonSetMomentum(muon, real));
  PetscCall(PetscOptionsInt("-muon_momentum_warmup", "Steps in which the momentum goes to its value", "MuonSetMomentumWarmup", muon->momentum_warmup, &count, &flg));
  if (flg) PetscCall(MuonSetMomentumWarmup(muon, count));
  PetscCall(PetscOptionsReal("-muon_momentum_warmup_start", "Momentum of the first step of its warm-up", "MuonSetMomentumWarmupStart", muon->momentum_warmup_start, &real, &flg));
  if (flg) PetscCall(MuonSetMomentumWarmupStart(muon, real));
  PetscCall(PetscOptionsEnum("-muon_momentum_style", "How a gradient enters the momentum", "MuonSetMomentumStyle", MuonMomentumStyles, (PetscEnum)style, (PetscEnum *)&style, &flg));
  if (flg) PetscCall(MuonSetMomentumStyle(muon, style));
  PetscCall(PetscOptionsEnum("-muon_momentum_at", "Where the momentum is kept", "MuonSetMomentumAt", MuonMomentumAts, (PetscEnum)at, (PetscEnum *)&at, &flg));
  if (flg) PetscCall(MuonSetMomentumAt(muon, at));
  PetscCall(PetscOptionsReal("-muon_dampening", "1 minus the weight of a new gradient in the style sgd", "MuonSetDampening", muon->dampening, &real, &flg));
  if (flg) PetscCall(MuonSetDampening(muon, real));
  PetscCall(PetscOptionsEnum("-muon_nesterov", "What the oracle sees", "MuonSetNesterov", MuonNesterovTypes, (PetscEnum)nesterov, (PetscEnum *)&nesterov, &flg));
  if (flg) PetscCall(MuonSetNesterov(muon, nesterov));
  PetscCall(PetscOptionsReal("-muon_weight_decay", "Weight decay", "MuonSetWeightDecay", muon->weight_decay, &real, &flg));
  if (flg) PetscCall(MuonSetWeightDecay(muon, real));
  PetscCall(PetscOptionsEnum("-muon_weight_decay_style", "How weight decay enters a step", "MuonSetWeightDecayStyle", MuonWeightDecayStyles, (PetscEnum)decay, (PetscEnum *)&decay, &flg));
  if (flg) PetscCall(MuonSetWeightDecayStyle(muon, decay));
  PetscCall(PetscOptionsReal("-muon_clip", "Largest norm of a gradient", "MuonSetClip", muon->clip, &real, &flg));
  if (flg) PetscCall(MuonSetClip(muon, real));
  PetscCall(PetscOptionsEnum("-muon_clip_layers", "Whose gradients are clipped", "MuonSetClipLayers", MuonClipLayersTypes, (PetscEnum)clip, (PetscEnum *)&clip, &flg));
  if (flg) PetscCall(MuonSetClipLayers(muon, clip));
  PetscCall(PetscOptionsString("-muon_rule_match", "Rules of layers by their names", "MuonSetRuleMatch", muon->rule_match, type, sizeof(type), &flg));
  if (flg) PetscCall(MuonSetRuleMatch(muon, type));
  PetscCall(PetscOptionsFList("-muon_layer_rule", "Rule of all layers", "MuonSetLayerRule", MuonLayerRuleList, muon->layer_rule, type, sizeof(type), &flg));
  if (flg) PetscCall(MuonSetLayerRule(muon, type));
  PetscCall(PetscOptionsReal("-muon_adamw_learning_rate", "Learning rate of AdamW and NAdamW", "MuonSetAdamWLearningRate", muon->adamw_learning_rate, &real, &flg));
  if (flg) PetscCall(MuonSetAdamWLearningRate(muon, real));
  PetscCall(PetscOptionsReal("-muon_adamw_weight_decay", "Weight decay of AdamW and NAdamW, -1: that of the optimizer", "MuonSetAdamWWeightDecay", muon->adamw_weight_decay, &real, &flg));
  if (flg) PetscCall(MuonSetAdamWWeightDecay(muon, real));
  PetscCall(PetscOptionsReal("-muon_adamw_beta1", "Decay of the mean of gradients", "MuonSetAdamWBetas", beta1, &beta1, &set));
  PetscCall(PetscOptionsReal("-muon_adamw_beta2", "Decay of the mean of squares", "MuonSetAdamWBetas", beta2, &beta2, &set2));
  if (set || set2) PetscCall(MuonSetAdamWBetas(muon, beta1, beta2));
  PetscCall(PetscOptionsReal("-muon_adamw_epsilon", "Added to the root of the mean of squares", "MuonSetAdamWEpsilon", muon->adamw_epsilon, &real, &flg));
  if (flg) PetscCall(MuonSetAdamWEpsilon(muon, real));
  PetscCall(PetscOptionsReal("-muon_sgd_learning_rate", "Learning rate of gradient descent, -1: that of the optimizer", "MuonSetSGDLearningRate", muon->sgd_learning_rate, &real, &flg));
  if (flg) PetscCall(MuonSetSGDLearningRate(muon, real));
  PetscCall(PetscOptionsReal("-muon_sgd_weight_decay", "Weight decay of gradient descent, -1: that of the optimizer", "MuonSetSGDWeightDecay", muon->sgd_weight_decay, &real, &flg));
  if (flg) PetscCall(MuonSetSGDWeightDecay(muon, real));
  PetscCall(PetscOptionsBool("-muon_measure_update_rms", "Measure the size of updates", "MuonSetMeasureUpdateRMS", muon->measure_update_rms, &set, &flg));
  if (flg) PetscCall(MuonSetMeasureUpdateRMS(muon, set));
  PetscCall(PetscOptionsBool("-muon_check_weights", "Look for weights that others changed or that differ between ranks", "MuonSetCheckWeights", muon->check_weights, &set, &flg));
  if (flg) PetscCall(MuonSetCheckWeights(muon, set));
  PetscCall(PetscOptionsEnum("-muon_shape_factor", "How the shape of a layer enters its radius", "MuonSetShapeFactor", MuonShapeFactors, (PetscEnum)factor, (PetscEnum *)&factor, &flg));
  if (flg) PetscCall(MuonSetShapeFactor(muon, factor));
  PetscCall(PetscOptionsEnum("-muon_assembly", "Who has the whole of a matrix that is spread over ranks", "MuonSetAssemblyKind", MuonAssemblyKinds, (PetscEnum)kind, (PetscEnum *)&kind, &flg));
  if (flg) PetscCall(MuonSetAssemblyKind(muon, (PetscInt)kind));
  PetscCall(PetscOptionsInt("-muon_max_steps", "Steps of MuonSolve() and of the schedule", "MuonSetMaxSteps", muon->max_steps, &count, &flg));
  if (flg) PetscCall(MuonSetMaxSteps(muon, count));
  PetscCall(PetscOptionsInt("-muon_seed", "Seed of the compressors' random numbers", "MuonSetSeed", (PetscInt)muon->seed, &count, &flg));
  if (flg) PetscCall(MuonSetSeed(muon, (PetscInt64)count));
  PetscCall(PetscOptionsBool("-muon_check_device", "Compare the kernels of a device with the host's", "MuonSetCheckDevice", muon->check_device, &check, &flg));
  if (flg) PetscCall(MuonSetCheckDevice(muon, check));
  PetscCall(PetscOptionsBool("-muon_device_mpi", "Give MPI the memory of a device", "MuonSetDeviceMPI", muon->device_mpi, &check, &flg));
  if (flg) PetscCall(MuonSetDeviceMPI(muon, check));
  PetscCall(PetscOptionsReal("-muon_device_batch_bytes", "Memory of a device for layers that are moved together", "MuonSetDeviceBatchBytes", muon->device_batch, &real, &flg));
  if (flg) PetscCall(MuonSetDeviceBatchBytes(muon, real));
  PetscCall(PetscOptionsEnum("-muon_state_precision", "Precision of momentum, estimates and scratch", "MuonSetStatePrecision", MuonStatePrecisions, (PetscEnum)precision, (PetscEnum *)&precision, &flg));
  if (flg) PetscCall(MuonSetStatePrecision(muon, precision));
  PetscCall(PetscOptionsBool("-muon_count_entropy", "Count the entropy of messages", "MuonSetCountEntropy", muon->count_entropy, &set, &flg));
  if (flg) PetscCall(MuonSetCountEntropy(muon, set));
  PetscCall(PetscOptionsEnum("-muon_nan", "What a NaN or Inf does", "MuonSetNaNPolicy", MuonNaNPolicies, (PetscEnum)nan, (PetscEnum *)&nan, &flg));
  if (flg) PetscCall(MuonSetNaNPolicy(muon, nan));
  PetscCall(PetscOptionsBool("-muon_error_if_not_converged", "A diverged step is a PETSc error", "MuonSetErrorIfNotConverged", muon->error_if_not_converged, &set, &flg));
  if (flg) PetscCall(MuonSetErrorIfNotConverged(muon, set));
  PetscCall(PetscOptionsBool("-muon_test_gradient", "Compare gradients with differences of losses at the first step", "MuonSetTestGradient", muon->test_gradient, &set, &flg));
  if (flg) PetscCall(MuonSetTestGradient(muon, set));
  PetscCall(PetscOptionsInt("-muon_monitor_interval", "Monitors speak of every n-th step", "MuonMonitorSetInterval", muon->monitorinterval, &count, &flg));
  if (flg) PetscCall(MuonMonitorSetInterval(muon, count));
  PetscCall(PetscOptionsString("-muon_monitor", "One line a step", "MuonMonitorSet", "stdout", type, sizeof(type), NULL));
  PetscCall(PetscOptionsString("-muon_monitor_csv", "One row a step in a file", "MuonMonitorSetCSV", muon->csv, type, sizeof(type), NULL));
  PetscCall(PetscOptionsName("-muon_monitor_cancel", "Remove the monitors that the program set", "MuonMonitorCancel", &flg));
  PetscCall(PetscOptionsName("-muon_view", "Print the optimizer at the end of MuonSolve()", "MuonView", &flg));
  PetscCall(PetscOptionsName("-muon_converged_reason", "Print why MuonSolve() stopped", "MuonConvergedReasonView", &flg));
  PetscCall(MuonRestartSetFromOptions_Private(muon, PetscOptionsObject));
  PetscCall(MuonCostSetFromOptions_Private(muon, PetscOptionsObject));
  PetscTryTypeMethod(muon, setfromoptions, PetscOptionsObject);
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)muon, PetscOptionsObject));
  PetscOptionsEnd();
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(MuonExchangeSetFromOptions(exchange));
  PetscCall(MuonGetAssembly(muon, &assembly));
  PetscCall(MuonAssemblySetOptionsPrefix(assembly, ((PetscObject)muon)->prefix));
  PetscCall(MuonAssemblySetFromOptions(assembly));
  PetscTryTypeMethod(muon, setobjectsfromoptions);
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonLayerSetFromOptions(muon->layer[l]));
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonHelpLayer_Private(muon, muon->layer[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetFromOptions - Sets an optimizer, its exchange, its layers and their oracles from the options database

  Collective

  Input Parameter:
. muon - the optimizer

  Options Database Keys:
+ -muon_type type                  - the algorithm (ef21|dense)
. -muon_preset name                - a published optimizer by its name, see `MuonSetPreset()`
. -muon_learning_rate rate         - learning rate
. -muon_schedule schedule          - how the learning rate changes (constant|trapezoid|linear|cosine)
. -muon_schedule_warmup steps      - steps in which the learning rate rises
. -muon_schedule_constant fraction - fraction of the steps for which the trapezoid is flat
. -muon_schedule_minimum fraction  - part of the learning rate that schedules end at
. -muon_momentum momentum          - weight of the old momentum
. -muon_momentum_warmup steps      - steps in which the momentum goes to its value
. -muon_momentum_warmup_start mu   - and from where
. -muon_momentum_style style       - how a gradient enters the momentum (ema|sgd)
. -muon_momentum_at at             - where the momentum is kept (worker|server)
. -muon_dampening dampening        - 1 minus the weight of a new gradient in the style sgd
. -muon_nesterov nesterov          - what the oracle sees (none|ema|sgd|undamped)
. -muon_weight_decay decay         - weight decay
. -muon_weight_decay_style style   - how it enters a step (decoupled|coupled|cautious)
. -muon_clip norm                  - the largest norm of a gradient
. -muon_clip_layers layers         - whose gradients are clipped (others|all)
. -muon_rule_match match           - rules of layers by their names, see `MuonSetRuleMatch()`
. -muon_test_gradient              - compares gradients with differences of losses at the first step, see `MuonTestGradient()`
. -muon_layer_rule rule            - rule of the layers that no pattern matches
. -muon_adamw_learning_rate rate   - learning rate of layers that AdamW or NAdamW moves
. -muon_adamw_weight_decay decay   - their weight decay
. -muon_adamw_beta1 beta1          - decay of their mean of gradients
. -muon_adamw_beta2 beta2          - decay of their mean of squares
. -muon_adamw_epsilon epsilon      - added to its root
. -muon_sgd_learning_rate rate     - learning rate of layers that gradient descent moves
. -muon_sgd_weight_decay decay     - their weight decay
. -muon_measure_update_rms         - measures the size of updates, see `MuonLayerGetUpdateRMS()`
. -muon_check_weights (true|false) - looks for weights that others changed or that differ between ranks
. -muon_shape_factor factor        - how the shape of a layer enters its radius (none|kj|moonlight|scion)
. -muon_assembly kind              - who has the whole of a matrix that is spread over ranks (allgather|owner|gram)
. -muon_max_steps steps            - steps of `MuonSolve()` and of the schedule
. -muon_seed seed                  - seed of the compressors' random numbers
. -muon_check_device flg           - compares the kernels of a device with the host's before the first step
. -muon_device_mpi flg             - MPI is given the memory of a device, see `MuonSetDeviceMPI()`
. -muon_device_batch_bytes bytes   - memory of a device for layers that are moved together, see `MuonSetDeviceBatchBytes()`
. -muon_state_precision precision  - precision of momentum, estimates and scratch (native|single)
. -muon_count_entropy              - counts the entropy of messages, see `MuonGetTraffic()`
. -muon_nan policy                 - what a NaN or Inf does (stop|skip|zero)
. -muon_error_if_not_converged     - a diverged step is a PETSc error
. -muon_checkpoint folder          - where steps write checkpoints to
. -muon_checkpoint_interval n      - every n-th step, and the last of `MuonSolve()`
. -muon_checkpoint_keep n          - how many remain
. -muon_checkpoint_seconds s       - and at the first step after so many seconds
. -muon_checkpoint_weights file    - file that gets the weights alone at these steps
. -muon_restart folder             - where the checkpoint is that a run begins with
. -muon_restart_if_present         - it begins anew where there is none
. -muon_restart_state state        - what is loaded (all|weights)
. -muon_restart_convert            - another precision is taken too
. -muon_monitor [viewer]           - one line a step
. -muon_monitor_csv file           - one row a step in a file
. -muon_monitor_interval n         - every n-th step only
. -muon_monitor_cancel             - removes the monitors that the program set
. -muon_view [viewer]              - prints the optimizer at the end of `MuonSolve()`
. -muon_view_cost [viewer]         - prints what each exchange would cost at the set-up, see `MuonViewCost()`
- -muon_converged_reason [viewer]  - prints why `MuonSolve()` stopped

  Level: beginner

  Notes:
  Layers may be added before or after. A key of a layer's rule, oracle or compressor holds for all layers;
  behind `muon_layer_NAME_` it holds for the layer called NAME, as in `-muon_layer_embed_lmo_type max`.

  At the first step a warning names each key that begins as the keys of this library do and that nothing
  reads.

.seealso: `Muon`, `MuonSetOptionsPrefix()`, `MuonLayerSetFromOptions()`, `MuonExchangeSetFromOptions()`, `MuonLMOSetFromOptions()`, `MuonCompressorSetFromOptions()`
@*/
PetscErrorCode MuonSetFromOptions(Muon muon)
{
  char      name[64];
  PetscBool flg;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscOptionsGetString(((PetscObject)muon)->options, ((PetscObject)muon)->prefix, "-muon_preset", name, sizeof(name), &flg));
  if (flg) PetscCall(MuonSetPreset(muon, name));
  PetscCall(MuonReadOptions_Private(muon));
  PetscCall(MuonMonitorSetFromOptions_Private(muon));
  muon->setfromoptionscalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonReset - Drops the state of an optimizer: momentum, estimates, owners, step number; keeps layers, weights
  and options

  Collective

  Input Parameter:
. muon - the optimizer

  Level: intermediate

.seealso: `Muon`, `MuonSetUp()`, `MuonDestroy()`
@*/
PetscErrorCode MuonReset(Muon muon)
{
  const PetscLogDouble dense = muon->traffic.dense;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonResetShards_Private(muon));
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonLayerReset(muon->layer[l]));
  if (muon->exchange != NULL) PetscCall(MuonExchangeReset(muon->exchange));
  PetscCall(PetscFree(muon->active));
  PetscCall(PetscMemzero(&muon->traffic, sizeof(muon->traffic)));
  muon->traffic.dense  = dense;
  muon->nactive        = 0;
  muon->step           = 0;
  muon->nancount       = 0;
  muon->reason         = MUON_CONVERGED_ITERATING;
  muon->mismatch       = NULL;
  muon->failed.rank    = -1;
  muon->setupcalled    = PETSC_FALSE;
  muon->optionschecked = PETSC_FALSE;
  muon->continues      = PETSC_FALSE;

  muon->scheduled.valid = PETSC_FALSE;
  if (muon->momentum_atset == PETSC_FALSE) muon->momentum_at = PETSC_DETERMINE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonDestroy - Frees an optimizer

  Collective

  Input Parameter:
. muon - the optimizer

  Level: beginner

  Note:
  The weights that were given to it stay with the caller.

.seealso: `Muon`, `MuonCreate()`, `MuonReset()`
@*/
PetscErrorCode MuonDestroy(Muon *muon)
{
  PetscFunctionBegin;
  if (*muon == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscValidHeaderSpecific(*muon, MUON_CLASSID, 1);
  if (--((PetscObject)*muon)->refct > 0) {
    *muon = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonReset(*muon));
  PetscTryTypeMethod(*muon, destroy);
  PetscCall(MuonMonitorCancel(*muon));
  PetscCall(MuonCheckpointsDestroy_Private(*muon));
  for (PetscInt l = 0; l < (*muon)->nlayers; l++) PetscCall(MuonLayerDestroy(&(*muon)->layer[l]));
  PetscCall(PetscFree((*muon)->layer));
  PetscCall(MuonRestartDestroy_Private(*muon));
  PetscCall(PetscFree((*muon)->rule_match));
  PetscCall(PetscFree((*muon)->layer_rule));
  PetscCall(PetscFree((*muon)->preset));
  PetscCall(MuonExchangeDestroy(&(*muon)->exchange));
  PetscCall(MuonAssemblyDestroy(&(*muon)->assembly));
  PetscCall(MuonWorkspaceDestroy(&(*muon)->work));
  PetscCall(MuonObjectEnds_Private((PetscObject)*muon));
  PetscCall(PetscHeaderDestroy(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
