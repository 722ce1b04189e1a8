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
const char *const        MuonStatePrecisions[]          = {"native", "single", "bf16", "int8", "MuonStatePrecision", "MUON_STATE_PRECISION_", NULL};

/*@
  MuonCreate - Creates an optimizer

  Collective

  Input Parameter:
. comm - the communicator; each rank is a worker with its own gradients, and may be a server of layers

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
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)muon), &muon->rank));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)muon), &muon->size));
  PetscCall(MuonWorkspaceCreate(&muon->work));
  muon->worker_weight = 1;

  PetscCall(PetscNew(&muon->rates));
  PetscCall(PetscNew(&muon->rounds));
  PetscCall(MuonParametersCreate((PetscObject)muon));
  PetscCall(MuonAddonsCreate_Private(muon));
  *newmuon = muon;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetType - Chooses the algorithm

  Collective

  Input Parameters:
+ muon - the optimizer
- type - `MUONEF21`, `MUONEF14`, `MUONSIGN`, `MUONDENSE` or `MUONLOCAL`

  Options Database Key:
. -muon_type type - the algorithm (ef21|ef14|sign|dense|local)

  Level: beginner

  Note:
  The default is `MUONEF21`. Its default compressor is identity, with which it takes the steps of Muon without Nesterov
  momentum.

.seealso: `Muon`, `MuonType`, `MuonGetType()`, `MuonRegister()`
@*/
PetscErrorCode MuonSetType(Muon muon, MuonType type)
{
  MuonParameterTypeFn *create;
  PetscBool            same;
  const char          *of;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(MuonParametersFindType((PetscObject)muon, type, &create));
  if (create == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (muon->rates->preset != NULL) {
    PetscCall(MuonPresetGetType_Private(muon, muon->rates->preset, &of));
    PetscCall(PetscStrcmp(of, type, &same));
    PetscCheck(same, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP, "-%smuon_type %s contradicts -%smuon_preset %s, which is of type %s", MuonPrefix(muon), type, MuonPrefix(muon), muon->rates->preset, of);
  }
  PetscCall(MuonResetShards_Private(muon));
  PetscTryTypeMethod(muon, destroy);
  muon->setupcalled      = PETSC_FALSE;
  muon->parameters.fixed = PETSC_FALSE;
  muon->nested           = NULL;
  PetscCall(MuonParametersChoose((PetscObject)muon, "momentum_at", PETSC_DETERMINE));
  for (PetscInt l = 0; l < muon->nlayers; l++) muon->layer[l]->parameters.fixed = PETSC_FALSE;
  PetscCall(MuonAddonsSetType_Private(muon, type));
  PetscCall(MuonParametersChangeType((PetscObject)muon, type, create));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetType - Gets the algorithm

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. type - name of the algorithm, `NULL` if it was not set yet

  Level: beginner

.seealso: `Muon`, `MuonSetType()`
@*/
PetscErrorCode MuonGetType(Muon muon, MuonType *type)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, type, ((PetscObject)muon)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers and the exchange read the optimizer's keys with the optimizer's prefix */
static PetscErrorCode MuonPropagatePrefix_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(PetscObjectSetOptionsPrefix((PetscObject)muon->layer[l], ((PetscObject)muon)->prefix));
  if (muon->exchange != NULL) PetscCall(PetscObjectSetOptionsPrefix((PetscObject)muon->exchange, ((PetscObject)muon)->prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetOptionsPrefix - Sets the prefix of all keys of an optimizer and its objects

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
. prefix - the prefix, borrowed, `NULL` if there is none

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
    PetscCall(PetscObjectSetOptionsPrefix((PetscObject)muon->exchange, ((PetscObject)muon)->prefix));
  }
  *exchange = muon->exchange;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonReadAllOptions_Private(PetscObject object)
{
  Muon         muon = (Muon)object;
  const char  *deftype;
  char         text[PETSC_MAX_PATH_LEN];
  MuonExchange exchange;
  PetscBool    flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(object->options, object->prefix, "-muon_preset", text, sizeof(text), &flg));
  if (flg) PetscCall(MuonSetPreset(muon, text));
  deftype = object->type_name != NULL ? object->type_name : MUONEF21;
  PetscObjectOptionsBegin((PetscObject)muon);
  PetscCall(PetscOptionsFList("-muon_type", "Algorithm", "MuonSetType", MuonList, deftype, text, sizeof(text), &flg));
  PetscCall(MuonSetType(muon, flg ? text : deftype));
  PetscCall(PetscOptionsString("-muon_preset", "A published optimizer by its name", "MuonSetPreset", muon->rates->preset, text, sizeof(text), NULL));
  PetscCall(MuonParametersSetFromOptions((PetscObject)muon, PetscOptionsObject));
  PetscCall(PetscOptionsName("-muon_view", "Print the optimizer at the end of MuonSolve()", "MuonView", &flg));
  PetscCall(PetscOptionsName("-muon_converged_reason", "Print why MuonSolve() stopped", "MuonConvergedReasonView", &flg));
  MuonTryAddons(muon, setfromoptions, muon, PetscOptionsObject);
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)muon, PetscOptionsObject));
  PetscOptionsEnd();
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(MuonExchangeSetFromOptions(exchange));
  PetscTryTypeMethod(muon, setfromoptions);
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonLayerSetFromOptions((PetscObject)muon->layer[l]));
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonHelpLayer_Private(muon, muon->layer[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has options of its own below the optimizer */
PetscErrorCode MuonChildren_Private(PetscObject object, MuonParameterObjectFn *call, void *ctx)
{
  Muon muon = (Muon)object;

  PetscFunctionBegin;
  if (muon->exchange != NULL) PetscCall((*call)((PetscObject)muon->exchange, ctx));
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall((*call)((PetscObject)muon->layer[l], ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetFromOptions - Sets an optimizer, its exchange, its layers and their LMOs from the options database

  Collective

  Input Parameter:
. muon - the optimizer

  Options Database Keys:
+ -muon_type type                  - the algorithm (ef21|ef14|sign|dense|local)
. -muon_preset name                - a published optimizer by its name, see `MuonSetPreset()`
. -muon_learning_rate rate         - learning rate
. -muon_schedule schedule          - how the learning rate changes (constant|trapezoid|linear|cosine)
. -muon_schedule_warmup steps      - steps in which the learning rate rises
. -muon_schedule_constant fraction - fraction of the steps for which the trapezoid is flat
. -muon_schedule_minimum fraction  - fraction of the learning rate at which schedules end
. -muon_momentum momentum          - weight of the old momentum
. -muon_momentum_warmup steps      - steps in which the momentum rises to its value
. -muon_momentum_warmup_start mu   - initial value of the momentum
. -muon_momentum_style style       - how a gradient enters the momentum (ema|sgd)
. -muon_momentum_at at             - where the momentum is kept (worker|server)
. -muon_dampening dampening        - 1 minus the weight of a new gradient in the style sgd
. -muon_nesterov nesterov          - Nesterov term in the LMO's input (none|ema|sgd|undamped)
. -muon_weight_decay decay         - weight decay
. -muon_weight_decay_style style   - how it enters a step (decoupled|coupled|cautious)
. -muon_lookahead beta             - gradients are taken ahead of the weights by beta x schedule mean steps
. -muon_lookahead_gamma gamma      - weight of the old mean in the mean step
. -muon_clip norm                  - the largest norm of a gradient
. -muon_clip_layers layers         - layers whose gradients are clipped (others|all)
. -muon_layer_types match          - types of layers by their names, see `MuonSetLayerTypes()`
. -muon_test_gradient              - compares gradients with differences of losses at the first step, see `MuonTestGradient()`
. -muon_layer_type type            - optimizer of the layers that no pattern matches
. -muon_adamw_learning_rate rate   - learning rate of layers with AdamW, NAdamW or SOAP
. -muon_adamw_weight_decay decay   - their weight decay
. -muon_adamw_beta1 beta1          - decay of their mean of gradients
. -muon_adamw_beta2 beta2          - decay of their mean of squares
. -muon_adamw_epsilon epsilon      - added to its root
. -muon_sgd_learning_rate rate     - learning rate of layers with gradient descent
. -muon_sgd_weight_decay decay     - their weight decay
. -muon_measure_update_rms         - measures the size of updates, see `MuonLayerGetUpdateRMS()`
. -muon_check_weights (true|false) - detects weights that the caller changed or that differ between ranks
. -muon_shape_factor factor        - factor of the radius by the shape of a layer (none|kj|moonlight|scion)
. -muon_step step                  - length of an LMO's step (lmo|sharp), see `MuonStepType`
. -muon_theory theorem             - step sizes by a theorem, see `MuonTheory` for the constants that it needs
. -muon_theory_estimate n          - estimates these constants every n steps, see `MuonTheory`
. -muon_assembly kind              - ranks that assemble a distributed matrix (allgather|owner|gram), see `MuonAssemblyKind`
. -muon_node_size (s|auto)         - ranks of a node that are one worker for layers on one rank; `auto` for all of each node
. -muon_max_steps steps            - steps of `MuonSolve()` and of the schedule
. -muon_seed seed                  - seed of the compressors' random numbers
. -muon_check_device flg           - compares the device's kernels with the host's before the first step
. -muon_device_mpi flg             - passes device memory to MPI
. -muon_device_batch_bytes bytes   - device memory for layers that are computed together
. -muon_state_precision precision  - precision of momentum, estimates and scratch (native|single), or of momentum and moments (bf16|int8)
. -muon_downlink_precision prec    - precision of weights that are sent uncompressed (native|single)
. -muon_count_entropy              - counts the entropy of messages, see `MuonGetTraffic()`
. -muon_nan policy                 - action on a NaN or Inf (stop|skip|zero)
. -muon_error_if_not_converged     - a diverged step is a PETSc error
. -muon_checkpoint folder          - folder for checkpoints
. -muon_checkpoint_interval n      - writes one every n steps, and after the last of `MuonSolve()`
. -muon_checkpoint_keep n          - number of checkpoints that remain
. -muon_checkpoint_seconds s       - writes one at the first step after s seconds, too
. -muon_restart folder             - folder of the checkpoint from which the run continues
. -muon_restart_if_present         - starts a new run if there is no checkpoint
. -muon_restart_state state        - part that is loaded (all|weights)
. -muon_restart_convert            - accepts another precision
. -muon_monitor [viewer]           - prints one line a step
. -muon_monitor_csv file           - writes one row a step to a file
. -muon_monitor_interval n         - calls monitors every n steps only
. -muon_validation_interval n      - calls the routine of `MuonSetValidation()` every n steps
. -muon_monitor_cancel             - removes the monitors that the program set
. -muon_view [viewer]              - prints the optimizer at the end of `MuonSolve()`
. -muon_view_cost [viewer]         - prints the cost of each exchange at set-up, see `MuonViewCost()`
- -muon_converged_reason [viewer]  - prints why `MuonSolve()` stopped

  Level: beginner

  Notes:
  Layers may be added before or after this call. A key of a layer's optimizer, LMO or compressor applies to all layers.
  With `muon_layer_NAME_` in front it applies to the layer NAME, as in `-muon_layer_embed_lmo_type max`.

  At the first step a warning names each key that begins like the keys of this library and was not read.

.seealso: `Muon`, `MuonSetOptionsPrefix()`, `MuonExchangeSetFromOptions()`, `MuonLMOSetFromOptions()`, `MuonCompressorSetFromOptions()`
@*/
PetscErrorCode MuonSetFromOptions(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonReadAllOptions_Private((PetscObject)muon));
  muon->setfromoptionscalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonReset - Removes the state of an optimizer: momentum, estimates, owners, step number; keeps layers, weights and
  options

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
  muon->traffic.dense    = dense;
  muon->nactive          = 0;
  muon->step             = 0;
  muon->nancount         = 0;
  muon->reason           = MUON_CONVERGED_ITERATING;
  muon->failed.rank      = -1;
  muon->setupcalled      = PETSC_FALSE;
  muon->parameters.fixed = PETSC_FALSE;
  muon->optionschecked   = PETSC_FALSE;
  muon->continues        = PETSC_FALSE;
  muon->leaveswarned     = PETSC_FALSE;
  MuonTryAddons(muon, reset, muon);

  muon->rates->scheduled.valid = PETSC_FALSE;
  PetscCall(MuonParametersChoose((PetscObject)muon, "momentum_at", PETSC_DETERMINE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonDestroy - Destroys an optimizer

  Collective

  Input Parameter:
. muon - the optimizer

  Level: beginner

  Note:
  The weights belong to the caller and are not destroyed.

.seealso: `Muon`, `MuonCreate()`, `MuonReset()`
@*/
PetscErrorCode MuonDestroy(Muon *muon)
{
  PetscFunctionBegin;
  MuonDestroyBegin(muon, MUON_CLASSID);
  PetscCall(MuonReset(*muon));
  PetscTryTypeMethod(*muon, destroy);
  MuonTryAddons(*muon, destroy, *muon);
  for (PetscInt l = 0; l < (*muon)->nlayers; l++) PetscCall(MuonLayerDestroy(&(*muon)->layer[l]));
  PetscCall(PetscFree((*muon)->layer));
  PetscCall(PetscFree((*muon)->names));
  PetscCall(MuonParametersDestroy((PetscObject)*muon));
  PetscCall(PetscFree((*muon)->rates->preset));
  PetscCall(PetscFree((*muon)->rates));
  PetscCall(PetscFree((*muon)->rounds));
  PetscCall(PetscFree((*muon)->addon));
  PetscCall(MuonExchangeDestroy(&(*muon)->exchange));
  PetscCall(MuonWorkspaceDestroy(&(*muon)->work));
  PetscCall(PetscHeaderDestroy(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
