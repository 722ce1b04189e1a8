#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/
#include <petscmuon/private/muoncompressorimpl.h>
#include "../../kernels/muonkernels.h"
#include "../../wire/muonwire.h"

static const char *const MuonConvergedReasons_Shifted[] = {"DIVERGED_LMO", "DIVERGED_CORRUPT", "DIVERGED_NANORINF", "CONVERGED_ITERATING", "CONVERGED_MAX_STEPS", "MuonConvergedReason", "MUON_", NULL};
const char *const       *MuonConvergedReasons           = MuonConvergedReasons_Shifted + 3;
const char *const        MuonScheduleTypes[]            = {"constant", "trapezoid", "linear", "cosine", "MuonScheduleType", "MUON_SCHEDULE_", NULL};
const char *const        MuonMomentumStyles[]           = {"ema", "sgd", "MuonMomentumStyle", "MUON_MOMENTUM_", NULL};
const char *const        MuonNesterovTypes[]            = {"none", "ema", "sgd", "undamped", "MuonNesterovType", "MUON_NESTEROV_", NULL};
const char *const        MuonMomentumAts[]              = {"worker", "server", "MuonMomentumAt", "MUON_MOMENTUM_AT_", NULL};
const char *const        MuonNaNPolicies[]              = {"stop", "skip", "zero", "MuonNaNPolicy", "MUON_NAN_", NULL};

/* Longest-job-first needs one number a layer: its flops and, at so many flops a byte, its memory traffic, which is all that an elementwise norm costs */
static const PetscLogDouble MUON_FLOPS_PER_BYTE = 4.0;

/*@
  MuonCreate - Makes an optimizer

  Collective; No Fortran Support

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
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)muon), &muon->rank));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)muon), &muon->size));
  PetscCall(MuonWorkspaceCreate(&muon->work));
  muon->learning_rate     = (PetscReal)0.02;
  muon->momentum          = (PetscReal)0.9;
  muon->schedule_constant = (PetscReal)0.4;
  muon->max_steps         = 1000;
  muon->momentum_at       = PETSC_DETERMINE;
  muon->monitorinterval   = 1;
  *newmuon                = muon;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetType - Chooses the algorithm

  Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
- type - `MUONEF21` or `MUONDENSE`

  Options Database Key:
. -muon_type type - the algorithm (ef21|dense)

  Level: beginner

  Note:
  The default is `MUONEF21`; with its default compressors, which send everything, it takes the steps of Muon without Nesterov momentum.

.seealso: `Muon`, `MuonType`, `MuonGetType()`, `MuonRegister()`
@*/
PetscErrorCode MuonSetType(Muon muon, MuonType type)
{
  PetscBool same;
  PetscErrorCode (*create)(Muon);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, type, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFunctionListFind(MuonList, type, &create));
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_UNKNOWN_TYPE, "Unknown -%smuon_type %s; expected ef21, dense or a registered type", ((PetscObject)muon)->prefix ? ((PetscObject)muon)->prefix : "", type);
  PetscTryTypeMethod(muon, reset);
  PetscTryTypeMethod(muon, destroy);
  PetscCall(PetscMemzero(muon->ops, sizeof(struct _MuonOps)));
  muon->data        = NULL;
  muon->setupcalled = PETSC_FALSE;
  if (muon->momentum_atset == PETSC_FALSE) muon->momentum_at = PETSC_DETERMINE;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    muon->layer[l]->X           = NULL; /* was the old type's */
    muon->layer[l]->blocksfixed = PETSC_FALSE;
  }
  PetscCall(PetscObjectChangeTypeName((PetscObject)muon, type));
  PetscCall((*create)(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetType - Gets the algorithm

  Not Collective; No Fortran Support

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
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(type, 2);
  *type = ((PetscObject)muon)->type_name;
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

  Logically Collective; No Fortran Support

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

  Logically Collective; No Fortran Support

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

  Not Collective; No Fortran Support

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

  Collective at the first call; No Fortran Support

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

/*@
  MuonSetFromOptions - Sets an optimizer, its exchange, its layers and their oracles from the options database

  Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Options Database Keys:
+ -muon_type type                  - the algorithm (ef21|dense)
. -muon_learning_rate rate         - learning rate
. -muon_schedule schedule          - how the learning rate changes (constant|trapezoid|linear|cosine)
. -muon_schedule_warmup steps      - steps in which the learning rate rises
. -muon_schedule_constant fraction - fraction of the steps for which the trapezoid is flat
. -muon_momentum momentum          - weight of the old momentum
. -muon_momentum_style style       - how a gradient enters the momentum (ema|sgd)
. -muon_momentum_at at             - where the momentum is kept (worker|server)
. -muon_dampening dampening        - 1 minus the weight of a new gradient in the style sgd
. -muon_nesterov nesterov          - what the oracle sees (none|ema|sgd|undamped)
. -muon_weight_decay decay         - decoupled weight decay
. -muon_shape_factor factor        - how the shape of a layer enters its radius (none|kj|moonlight|scion)
. -muon_max_steps steps            - steps of `MuonSolve()` and of the schedule
. -muon_seed seed                  - seed of the compressors' random numbers
. -muon_nan policy                 - what a NaN or Inf does (stop|skip|zero)
. -muon_error_if_not_converged     - a diverged step is a PETSc error
. -muon_monitor [viewer]           - one line a step
. -muon_monitor_csv file           - one row a step in a file
. -muon_monitor_interval n         - every n-th step only
. -muon_monitor_cancel             - removes the monitors that the program set
. -muon_view [viewer]              - prints the optimizer at the end of `MuonSolve()`
- -muon_converged_reason [viewer]  - prints why `MuonSolve()` stopped

  Level: beginner

  Notes:
  Layers may be added before or after. A key of a layer's rule, oracle or compressor holds for all layers; behind `muon_layer_NAME_` it holds for the layer called NAME, as in
  `-muon_layer_embed_lmo_type max`.

  At the first step a warning names each key that begins as the keys of this library do and that nothing reads.

.seealso: `Muon`, `MuonSetOptionsPrefix()`, `MuonLayerSetFromOptions()`, `MuonExchangeSetFromOptions()`, `MuonLMOSetFromOptions()`, `MuonCompressorSetFromOptions()`
@*/
PetscErrorCode MuonSetFromOptions(Muon muon)
{
  const char       *deftype = ((PetscObject)muon)->type_name ? ((PetscObject)muon)->type_name : MUONEF21;
  char              type[256];
  PetscReal         real;
  PetscInt          count;
  MuonScheduleType  schedule = muon->schedule;
  MuonMomentumStyle style    = muon->momentum_style;
  MuonMomentumAt    at       = muon->momentum_at == PETSC_DETERMINE ? MUON_MOMENTUM_AT_WORKER : (MuonMomentumAt)muon->momentum_at;
  MuonNesterovType  nesterov = muon->nesterov;
  MuonShapeFactor   factor   = muon->shape_factor;
  MuonNaNPolicy     nan      = muon->nan;
  MuonExchange      exchange;
  PetscBool         flg, set;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscObjectOptionsBegin((PetscObject)muon);
  PetscCall(PetscOptionsFList("-muon_type", "Algorithm", "MuonSetType", MuonList, deftype, type, sizeof(type), &flg));
  PetscCall(MuonSetType(muon, flg ? type : deftype));
  PetscCall(PetscOptionsReal("-muon_learning_rate", "Learning rate", "MuonSetLearningRate", muon->learning_rate, &real, &flg));
  if (flg) PetscCall(MuonSetLearningRate(muon, real));
  PetscCall(PetscOptionsEnum("-muon_schedule", "How the learning rate changes", "MuonSetSchedule", MuonScheduleTypes, (PetscEnum)schedule, (PetscEnum *)&schedule, &flg));
  if (flg) PetscCall(MuonSetSchedule(muon, schedule));
  PetscCall(PetscOptionsInt("-muon_schedule_warmup", "Steps in which the learning rate rises", "MuonSetScheduleWarmup", muon->schedule_warmup, &count, &flg));
  if (flg) PetscCall(MuonSetScheduleWarmup(muon, count));
  PetscCall(PetscOptionsReal("-muon_schedule_constant", "Fraction of the steps for which the trapezoid is flat", "MuonSetScheduleConstant", muon->schedule_constant, &real, &flg));
  if (flg) PetscCall(MuonSetScheduleConstant(muon, real));
  PetscCall(PetscOptionsReal("-muon_momentum", "Weight of the old momentum", "MuonSetMomentum", muon->momentum, &real, &flg));
  if (flg) PetscCall(MuonSetMomentum(muon, real));
  PetscCall(PetscOptionsEnum("-muon_momentum_style", "How a gradient enters the momentum", "MuonSetMomentumStyle", MuonMomentumStyles, (PetscEnum)style, (PetscEnum *)&style, &flg));
  if (flg) PetscCall(MuonSetMomentumStyle(muon, style));
  PetscCall(PetscOptionsEnum("-muon_momentum_at", "Where the momentum is kept", "MuonSetMomentumAt", MuonMomentumAts, (PetscEnum)at, (PetscEnum *)&at, &flg));
  if (flg) PetscCall(MuonSetMomentumAt(muon, at));
  PetscCall(PetscOptionsReal("-muon_dampening", "1 minus the weight of a new gradient in the style sgd", "MuonSetDampening", muon->dampening, &real, &flg));
  if (flg) PetscCall(MuonSetDampening(muon, real));
  PetscCall(PetscOptionsEnum("-muon_nesterov", "What the oracle sees", "MuonSetNesterov", MuonNesterovTypes, (PetscEnum)nesterov, (PetscEnum *)&nesterov, &flg));
  if (flg) PetscCall(MuonSetNesterov(muon, nesterov));
  PetscCall(PetscOptionsReal("-muon_weight_decay", "Decoupled weight decay", "MuonSetWeightDecay", muon->weight_decay, &real, &flg));
  if (flg) PetscCall(MuonSetWeightDecay(muon, real));
  PetscCall(PetscOptionsEnum("-muon_shape_factor", "How the shape of a layer enters its radius", "MuonSetShapeFactor", MuonShapeFactors, (PetscEnum)factor, (PetscEnum *)&factor, &flg));
  if (flg) PetscCall(MuonSetShapeFactor(muon, factor));
  PetscCall(PetscOptionsInt("-muon_max_steps", "Steps of MuonSolve() and of the schedule", "MuonSetMaxSteps", muon->max_steps, &count, &flg));
  if (flg) PetscCall(MuonSetMaxSteps(muon, count));
  PetscCall(PetscOptionsInt("-muon_seed", "Seed of the compressors' random numbers", "MuonSetSeed", (PetscInt)muon->seed, &count, &flg));
  if (flg) PetscCall(MuonSetSeed(muon, (PetscInt64)count));
  PetscCall(PetscOptionsEnum("-muon_nan", "What a NaN or Inf does", "MuonSetNaNPolicy", MuonNaNPolicies, (PetscEnum)nan, (PetscEnum *)&nan, &flg));
  if (flg) PetscCall(MuonSetNaNPolicy(muon, nan));
  PetscCall(PetscOptionsBool("-muon_error_if_not_converged", "A diverged step is a PETSc error", "MuonSetErrorIfNotConverged", muon->error_if_not_converged, &set, &flg));
  if (flg) PetscCall(MuonSetErrorIfNotConverged(muon, set));
  PetscCall(PetscOptionsInt("-muon_monitor_interval", "Monitors speak of every n-th step", "MuonMonitorSetInterval", muon->monitorinterval, &count, &flg));
  if (flg) PetscCall(MuonMonitorSetInterval(muon, count));
  PetscCall(PetscOptionsString("-muon_monitor", "One line a step", "MuonMonitorSet", "stdout", type, sizeof(type), NULL));
  PetscCall(PetscOptionsString("-muon_monitor_csv", "One row a step in a file", "MuonMonitorSetCSV", muon->csv, type, sizeof(type), NULL));
  PetscCall(PetscOptionsName("-muon_monitor_cancel", "Remove the monitors that the program set", "MuonMonitorCancel", &flg));
  PetscCall(PetscOptionsName("-muon_view", "Print the optimizer at the end of MuonSolve()", "MuonView", &flg));
  PetscCall(PetscOptionsName("-muon_converged_reason", "Print why MuonSolve() stopped", "MuonConvergedReasonView", &flg));
  PetscTryTypeMethod(muon, setfromoptions, PetscOptionsObject);
  PetscCall(PetscObjectProcessOptionsHandlers((PetscObject)muon, PetscOptionsObject));
  PetscOptionsEnd();
  PetscCall(MuonMonitorSetFromOptions_Private(muon));
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(MuonExchangeSetFromOptions(exchange));
  PetscTryTypeMethod(muon, setobjectsfromoptions);
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonLayerSetFromOptions(muon->layer[l]));
  muon->setfromoptionscalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckCanAdd_Private(Muon muon, const char name[])
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCheck(muon->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Layer \"%s\": layers are added before MuonSetUp() and the first MuonStep()", name);
  PetscCheck(name != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "A layer needs a name");
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscCall(PetscStrcasecmp(((PetscObject)muon->layer[l])->name, name, &same));
    PetscCheck(same == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\": there is a layer \"%s\" already; names must differ by more than case, as option keys do", name, ((PetscObject)muon->layer[l])->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAdd_Private(Muon muon, MuonLayer layer)
{
  PetscFunctionBegin;
  if (muon->nlayers == muon->maxlayers) {
    const PetscInt most = PetscMax(16, 2 * muon->maxlayers);
    MuonLayer     *more;

    PetscCall(PetscMalloc1(most, &more));
    PetscCall(PetscArraycpy(more, muon->layer, muon->nlayers));
    PetscCall(PetscFree(muon->layer));
    muon->layer     = more;
    muon->maxlayers = most;
  }
  muon->layer[muon->nlayers++] = layer;
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)layer, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)layer, ((PetscObject)muon)->options));
  PetscCall(MuonLayerSetOptionsPrefix(layer, ((PetscObject)muon)->prefix));
  PetscCall(MuonLayerSetWorkspace_Private(layer, muon->work));
  if (muon->setfromoptionscalled) PetscCall(MuonLayerSetFromOptions(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAddLayer - Adds a matrix of weights to an optimizer

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
. name - name of the layer: a letter, then letters, digits, points and underscores; the same on every rank, different from other names by more than case
- W    - the weights, a `MATSEQDENSE` on every rank, the same on all; rows are outputs, columns inputs; the optimizer keeps a reference and moves them

  Output Parameter:
. newlayer - the layer, borrowed; may be `NULL`

  Level: beginner

.seealso: `Muon`, `MuonLayer`, `MuonAddVecLayer()`, `MuonGetLayer()`, `MuonGetLayerByName()`, `MuonLayerGetGradient()`, `MuonLayerSetBlocks()`
@*/
PetscErrorCode MuonAddLayer(Muon muon, const char name[], Mat W, MuonLayer *newlayer)
{
  MuonLayer layer;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(W, MAT_CLASSID, 3);
  PetscCall(MuonCheckCanAdd_Private(muon, name));
  PetscCall(MuonLayerCreate(name, W, &layer));
  PetscCall(MuonAdd_Private(muon, layer));
  if (newlayer != NULL) *newlayer = layer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonAddVecLayer - Adds a vector of weights to an optimizer, which treats it as a matrix of one column

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
. name - name of the layer, as in `MuonAddLayer()`
- w    - the weights, a sequential vector on every rank, the same on all; the optimizer keeps a reference and moves them

  Output Parameter:
. newlayer - the layer, borrowed; may be `NULL`

  Level: beginner

.seealso: `Muon`, `MuonLayer`, `MuonAddLayer()`, `MuonLayerGetGradientVec()`
@*/
PetscErrorCode MuonAddVecLayer(Muon muon, const char name[], Vec w, MuonLayer *newlayer)
{
  MuonLayer layer;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(w, VEC_CLASSID, 3);
  PetscCall(MuonCheckCanAdd_Private(muon, name));
  PetscCall(MuonLayerCreateFromVec(name, w, &layer));
  PetscCall(MuonAdd_Private(muon, layer));
  if (newlayer != NULL) *newlayer = layer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetNumLayers - Gets the number of layers of an optimizer

  Not Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. n - the number

  Level: beginner

.seealso: `Muon`, `MuonAddLayer()`, `MuonGetLayer()`
@*/
PetscErrorCode MuonGetNumLayers(Muon muon, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(n, 2);
  *n = muon->nlayers;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayer - Gets a layer by its number

  Not Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
- i    - the number, from 0 in the order of `MuonAddLayer()`

  Output Parameter:
. layer - the layer, borrowed

  Level: beginner

.seealso: `Muon`, `MuonGetNumLayers()`, `MuonGetLayerByName()`
@*/
PetscErrorCode MuonGetLayer(Muon muon, PetscInt i, MuonLayer *layer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(layer, 3);
  PetscCheck(i >= 0 && i < muon->nlayers, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "Layer number %" PetscInt_FMT " must be in [0,%" PetscInt_FMT ")", i, muon->nlayers);
  *layer = muon->layer[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayerByName - Gets a layer by its name

  Not Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
- name - the name, up to case

  Output Parameter:
. layer - the layer, borrowed; `NULL` where there is none of that name

  Level: beginner

.seealso: `Muon`, `MuonGetLayer()`, `MuonAddLayer()`
@*/
PetscErrorCode MuonGetLayerByName(Muon muon, const char name[], MuonLayer *layer)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(name, 2);
  PetscAssertPointer(layer, 3);
  *layer = NULL;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscCall(PetscStrcasecmp(((PetscObject)muon->layer[l])->name, name, &same));
    if (same) *layer = muon->layer[l];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonSetObjectiveAndGradient - Sets the routine that computes a worker's loss and its gradients

  Logically Collective; No Fortran Support

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
  The routine reads the weights of each layer (`MuonLayerGetWeights()`) and fills its gradient (`MuonLayerGetGradient()`) with the worker's own mean gradient; it must not communicate the gradient, that is what the
  optimizer does. Without a routine `MuonStep()` takes the gradients that it finds.

.seealso: `Muon`, `MuonGetObjectiveAndGradient()`, `MuonLayerGetGradient()`, `MuonStep()`
@*/
PetscErrorCode MuonSetObjectiveAndGradient(Muon muon, MuonObjectiveAndGradientFn *objective, void *ctx)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  muon->objective    = objective;
  muon->objectivectx = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonGetObjectiveAndGradient - Gets the routine that computes a worker's loss and its gradients

  Not Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Output Parameters:
+ objective - the routine, may be `NULL`
- ctx       - its context, may be `NULL`

  Level: intermediate

.seealso: `Muon`, `MuonSetObjectiveAndGradient()`
@*/
PetscErrorCode MuonGetObjectiveAndGradient(Muon muon, MuonObjectiveAndGradientFn **objective, void **ctx)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (objective != NULL) *objective = muon->objective;
  if (ctx != NULL) *ctx = muon->objectivectx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checksum of a layer's weights, column by column: gaps of the leading dimension do not count */
static PetscErrorCode MuonLayerHashWeights_Private(MuonLayer layer, unsigned int *hash)
{
  const PetscScalar *w;
  PetscInt           lda;
  Mat                W;

  PetscFunctionBegin;
  *hash = 0;
  PetscCall(MuonLayerWeightsBegin_Private(layer, &W));
  PetscCall(MatDenseGetLDA(W, &lda));
  PetscCall(MatDenseGetArrayRead(W, &w));
  for (PetscInt j = 0; j < layer->n; j++) *hash = MuonWireCRC32C(*hash, (const unsigned char *)(w + (size_t)j * (size_t)lda), (size_t)layer->m * sizeof(PetscScalar));
  PetscCall(MatDenseRestoreArrayRead(W, &w));
  PetscCall(MuonLayerWeightsEnd_Private(layer, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerHashBlocks_Private(MuonLayer layer, unsigned int *hash)
{
  const PetscInt count = MuonBlocksCount_Private(&layer->blocks);
  MuonBlock     *blocks;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(count, &blocks));
  for (PetscInt b = 0; b < count; b++) PetscCall(MuonLayerGetBlock_Private(layer, b, &blocks[b]));
  PetscCall(MuonHash_Private((size_t)count * sizeof(*blocks), blocks, hash));
  PetscCall(PetscFree(blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Ranks that disagree on the layers would wait for each other or, worse, train different models: all ranks raise the same error that names the layer.
   Each layer has five numbers (name, shape, blocks, options, weights), the optimizer's own options are one more; rank 0's are compared with.
*/
static PetscErrorCode MuonCheckRanksAgree_Private(Muon muon)
{
  const char *const what[] = {"name", "shape", "cut into blocks", "options", "weights"};
  char              here[128];
  const char       *name;
  char              text[2048], choices[1024];
  size_t            length;
  unsigned int     *mine, *first;
  MuonExchange      exchange;
  PetscInt          counts[2] = {muon->nlayers, -muon->nlayers}, most[2], n = 5 * muon->nlayers + 1, differs, least;
  MPI_Comm          comm = PetscObjectComm((PetscObject)muon);

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(counts, most, 2, MPIU_INT, MPI_MAX, comm));
  PetscCheck(most[0] == -most[1], comm, PETSC_ERR_ARG_INCOMP, "The ranks have between %" PetscInt_FMT " and %" PetscInt_FMT " layers, expected as many on each", -most[1], most[0]);
  PetscCall(PetscMalloc2(n, &mine, n, &first));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer     layer = muon->layer[l];
    MuonLayerRule rule;
    MuonLMO       lmo;
    PetscViewer   viewer;
    PetscReal     factor;
    char          norm[256];

    PetscCall(MuonLayerGetRule(layer, &rule));
    PetscCall(MuonLayerGetLMO(layer, &lmo));
    PetscCall(PetscViewerStringOpen(PetscObjectComm((PetscObject)lmo), norm, sizeof(norm), &viewer));
    PetscCall(MuonLMOView(lmo, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
    choices[0] = '\0';
    PetscTryTypeMethod(muon, layerchoices, layer, sizeof(choices), choices);
    PetscCall(PetscSNPrintf(text, sizeof(text), "%s %s %.17g %.17g %.17g %s", rule, norm, (double)factor, (double)layer->momentum, (double)layer->weight_decay, choices));
    mine[5 * l]     = layer->hash;
    mine[5 * l + 1] = (unsigned int)layer->m * 2654435761u + (unsigned int)layer->n;
    PetscCall(MuonLayerHashBlocks_Private(layer, &mine[5 * l + 2]));
    PetscCall(MuonNameHash_Private(text, &mine[5 * l + 3]));
    PetscCall(MuonLayerHashWeights_Private(layer, &mine[5 * l + 4]));
  }
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s %.17g %d %.17g %" PetscInt_FMT " %" PetscInt_FMT " %d %.17g %d %" PetscInt64_FMT " %d %" PetscInt_FMT, ((PetscObject)muon)->type_name, (double)muon->learning_rate, (int)muon->schedule,
                          (double)muon->schedule_constant, muon->schedule_warmup, muon->max_steps, (int)muon->momentum_style, (double)muon->dampening, (int)muon->nesterov, muon->seed, (int)muon->nan, muon->momentum_at));
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(PetscStrlen(text, &length));
  PetscCall(PetscSNPrintf(text + length, sizeof(text) - length, " %d %s %d %d", (int)muon->error_if_not_converged, ((PetscObject)exchange)->type_name ? ((PetscObject)exchange)->type_name : "", exchange->modeset ? (int)exchange->mode : -1,
                          (int)exchange->assignment));
  PetscCall(MuonNameHash_Private(text, &mine[n - 1]));
  PetscCall(PetscArraycpy(first, mine, n));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_UNSIGNED, 0, comm));
  for (differs = 0; differs < n && mine[differs] == first[differs]; differs++) {}
  PetscCallMPI(MPI_Allreduce(&differs, &least, 1, MPIU_INT, MPI_MIN, comm));
  PetscCall(PetscFree2(mine, first));
  PetscCheck(least != n - 1, comm, PETSC_ERR_ARG_INCOMP, "The options of the optimizer differ between the ranks");
  if (least < n) {
    MuonLayer layer = muon->layer[least / 5];

    PetscCall(PetscObjectGetName((PetscObject)layer, &name));
    PetscCall(PetscSNPrintf(here, sizeof(here), "%" PetscInt_FMT " x %" PetscInt_FMT, layer->m, layer->n));
    if (least % 5 == 2) PetscCall(PetscSNPrintf(here, sizeof(here), "%" PetscInt_FMT " x %" PetscInt_FMT " blocks", layer->blocks.nrows, layer->blocks.ncolumns));
    SETERRQ(comm, PETSC_ERR_ARG_INCOMP, "Layer \"%s\": its %s differs between the ranks (here %s), expected the same on each", name, what[least % 5], here);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages know layers and blocks by the hashes of their names, which are sorted here: behind a hash stands its number in the order of the layers, each before its blocks, in as many bits as the largest needs */
static PetscErrorCode MuonCheckHashes_Private(Muon muon)
{
  PetscInt64 *hash;
  PetscInt    count = 0, all = 0, bits = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < muon->nactive; i++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->active[i]->blocks);

    all += 1 + (blocks > 1 ? blocks : 0);
  }
  while (all >> bits > 0) bits++;
  PetscCheck(bits <= 31, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "%" PetscInt_FMT " layers and blocks, expected less than 2^31", all);
  PetscCall(PetscMalloc1(all, &hash));
  for (PetscInt i = 0; i < muon->nactive; i++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->active[i]->blocks);

    hash[count] = (PetscInt64)muon->active[i]->hash << bits | count;
    count++;
    for (PetscInt b = 0; b < blocks && blocks > 1; b++) {
      char         name[512];
      unsigned int one;

      PetscCall(MuonBlockName_Private(((PetscObject)muon->active[i])->name, b, sizeof(name), name));
      PetscCall(MuonNameHash_Private(name, &one));
      hash[count] = (PetscInt64)one << bits | count;
      count++;
    }
  }
  PetscCall(PetscSortInt64(all, hash));
  for (PetscInt k = 1; k < all; k++) {
    char     name[2][512];
    PetscInt first = 0;

    if (hash[k - 1] >> bits != hash[k] >> bits) continue;
    for (PetscInt i = 0; i < muon->nactive; i++) {
      const PetscInt blocks = MuonBlocksCount_Private(&muon->active[i]->blocks), behind = first + 1 + (blocks > 1 ? blocks : 0);

      for (PetscInt j = 0; j < 2; j++) {
        const PetscInt number = (PetscInt)(hash[k - 1 + j] & (((PetscInt64)1 << bits) - 1));

        if (number == first) PetscCall(PetscStrncpy(name[j], ((PetscObject)muon->active[i])->name, sizeof(name[j])));
        else if (number > first && number < behind) PetscCall(MuonBlockName_Private(((PetscObject)muon->active[i])->name, number - first - 1, sizeof(name[j]), name[j]));
      }
      first = behind;
    }
    PetscCall(PetscFree(hash));
    SETERRQ(PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layers or blocks of layers \"%s\" and \"%s\": their names have the same hash, by which messages know them; change the name of a layer", name[0], name[1]);
  }
  PetscCall(PetscFree(hash));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetUpExchange_Private(Muon muon)
{
  const char    **names;
  PetscLogDouble *cost, *bytes;
  MuonExchange    exchange;

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(muon, &exchange));
  PetscCall(PetscMalloc3(muon->nactive, &names, muon->nactive, &cost, muon->nactive, &bytes));
  for (PetscInt i = 0; i < muon->nactive; i++) {
    MuonLayer layer = muon->active[i];

    names[i] = ((PetscObject)layer)->name;
    bytes[i] = (PetscLogDouble)sizeof(PetscScalar) * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n;
    PetscCall(MuonLayerGetFlops_Private(layer, &cost[i]));
    cost[i] += MUON_FLOPS_PER_BYTE * bytes[i];
  }
  PetscCall(MuonCheckHashes_Private(muon));
  PetscCall(MuonExchangeSetItems(exchange, muon->nactive, names, cost, bytes));
  PetscCall(MuonExchangeSetUp(exchange));
  for (PetscInt i = 0; i < muon->nactive; i++) {
    if (exchange->everywhere) muon->active[i]->owner = -1;
    else PetscCall(MuonExchangeGetOwner(exchange, i, &muon->active[i]->owner));
  }
  PetscCall(PetscFree3(names, cost, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetUp - Makes an optimizer ready for its first step: layers are fixed, owners are assigned, state is allocated

  Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Level: intermediate

  Note:
  Names, shapes, blocks, options and weights are compared between the ranks; a difference is an error on all of them. `MuonStep()` calls this routine.

.seealso: `Muon`, `MuonStep()`, `MuonSolve()`, `MuonReset()`
@*/
PetscErrorCode MuonSetUp(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (muon->setupcalled) {
    PetscCheck(muon->exchange->setupcalled, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "The exchange was changed after MuonSetUp(), where state has its owners already; call MuonReset() before");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(MUON_SetUpEvent, muon, 0, 0, 0));
  if (((PetscObject)muon)->type_name == NULL) PetscCall(MuonSetType(muon, MUONEF21));
  PetscCall(PetscFree(muon->active));
  PetscCall(PetscMalloc1(muon->nlayers, &muon->active));
  muon->nactive       = 0;
  muon->traffic.dense = 0;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer   layer = muon->layer[l];
    MuonLMO     lmo;
    MuonLMOType norm;

    PetscCall(MuonLayerGetLMO(layer, &lmo));
    PetscCall(MuonLMOGetType(lmo, &norm));
    if (norm == NULL) PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
    PetscCall(MuonLayerSetWorkspace_Private(layer, muon->work)); /* a reset drops it */
    if (layer->momentumset == PETSC_FALSE) layer->momentum = muon->momentum;
    if (layer->weight_decayset == PETSC_FALSE) layer->weight_decay = muon->weight_decay;
    if (layer->shapefactorset == PETSC_FALSE) layer->shapefactor = muon->shape_factor;
    if (layer->frozen == PETSC_FALSE) {
      muon->active[muon->nactive++] = layer;
      muon->traffic.dense += 32.0 * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n;
    }
  }
  PetscTryTypeMethod(muon, configure);
  PetscCall(MuonCheckRanksAgree_Private(muon));
  PetscCall(MuonSetUpExchange_Private(muon));
  PetscUseTypeMethod(muon, setup);
  for (PetscInt l = 0; l < muon->nlayers; l++) muon->layer[l]->blocksfixed = PETSC_TRUE;
  muon->setupcalled = PETSC_TRUE;
  PetscCall(PetscLogEventEnd(MUON_SetUpEvent, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorse_Private(MuonStatus status, MuonStatus *worst)
{
  PetscFunctionBegin;
  if (*worst == MUON_STATUS_OK) *worst = status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetStepInfo_Private(Muon muon, MuonLayer layer, MuonLayerStepInfo *info)
{
  PetscReal factor;

  PetscFunctionBegin;
  info->step = muon->step;
  PetscCall(MuonGetRate(muon, &info->rate));
  PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
  info->radius = info->rate * factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetMomentumWeights_Private(Muon muon, MuonLayer layer, PetscReal *previous, PetscReal *fresh)
{
  PetscFunctionBegin;
  *previous = layer->workermomentum ? layer->momentum : 0;
  *fresh    = muon->momentum_style == MUON_MOMENTUM_EMA ? 1 - *previous : (layer->workermomentum ? 1 - muon->dampening : 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckGradient_Private(Muon muon, MuonLayer layer, Mat G, MuonRecord *record, MuonStatus *status)
{
  PetscScalar *g;
  PetscBool    finite;

  PetscFunctionBegin;
  PetscCall(MuonMatIsFinite_Private(G, &finite));
  if (finite) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(muon, "Layer \"%s\": the gradient of rank %d has NaN or Inf in step %" PetscInt_FMT "\n", ((PetscObject)layer)->name, muon->rank, muon->step));
  if (muon->nan != MUON_NAN_ZERO) {
    PetscCall(MuonWorse_Private(MUON_STATUS_NANORINF, status));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetArray(G, &g));
  for (size_t e = 0; e < (size_t)layer->m * (size_t)layer->n; e++) {
    if (PetscIsInfOrNanScalar(g[e])) {
      g[e] = 0;
      record->nans += 1;
    }
  }
  PetscCall(MatDenseRestoreArray(G, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonMatAxpby_Private(PetscReal a, Mat X, PetscReal b, Mat Y)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           m, n, ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatGetSize(Y, &m, &n));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArray(Y, &y));
  MuonKernelAxpby((size_t)m, (size_t)n, a, x, (size_t)ldx, b, y, (size_t)ldy);
  PetscCall(MatDenseRestoreArray(Y, &y));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(PetscLogFlops((b == 0 ? 1.0 : 3.0) * (PetscLogDouble)m * (PetscLogDouble)n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDenseMatCreate_Private(MuonLayer layer, PetscBool zero, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, layer->m, layer->n, NULL, A));
  if (zero) PetscCall(MatZeroEntries(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonScratchMatCreate_Private(Muon muon, MuonWorkspaceSlot slot, MuonLayer layer, Mat *A)
{
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet(muon->work, slot, sizeof(PetscScalar) * (size_t)layer->m * (size_t)layer->n, &array));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, layer->m, layer->n, array, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkerMomentum_Private(Muon muon, const Mat M[], PetscBool first, MuonRecord *record, MuonStatus *status)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Momentum, muon, 0, 0, 0));
  for (PetscInt i = 0; i < muon->nactive; i++) {
    MuonLayer          layer = muon->active[i];
    const PetscScalar *old   = NULL;
    PetscScalar       *g;
    PetscReal          previous, fresh;
    Mat                G;

    PetscCall(MuonLayerGradientBegin_Private(layer, &G));
    PetscCall(MuonCheckGradient_Private(muon, layer, G, record, status));
    if (first) continue;
    PetscCall(MuonGetMomentumWeights_Private(muon, layer, &previous, &fresh));
    if (M[i] == NULL && fresh == 1) continue;
    if (M[i] != NULL) PetscCall(MatDenseGetArrayRead(M[i], &old));
    PetscCall(MatDenseGetArray(G, &g));
    MuonKernelMomentum((size_t)layer->m, (size_t)layer->n, M[i] != NULL ? previous : 0, old, (size_t)layer->m, fresh, g, (size_t)layer->m);
    PetscCall(MatDenseRestoreArray(G, &g));
    if (M[i] != NULL) PetscCall(MatDenseRestoreArrayRead(M[i], &old));
    PetscCall(PetscLogFlops((M[i] != NULL ? 3.0 : 1.0) * (PetscLogDouble)layer->m * (PetscLogDouble)layer->n));
  }
  PetscCall(PetscLogEventEnd(MUON_Momentum, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCountMessage_Private(const MuonCompressorCost *cost, PetscLogDouble bits[3])
{
  PetscFunctionBegin;
  bits[0] += cost->paper;
  bits[1] += cost->encoded;
  bits[2] += cost->entropy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The one call in which a step succeeds or fails everywhere. Sums run in the order of ranks, so that every rank has the same bits. Where each rank serves, the checksums of
   what they are about to apply are compared: ranks whose arithmetic differs would drift apart unseen.
*/
PetscErrorCode MuonAgree_Private(Muon muon, MuonRecord *record, PetscBool *ok)
{
  MuonRecord *all;
  MuonStatus  worst = MUON_STATUS_OK;
  PetscReal   loss = 0, dual = 0;
  double      nans = 0;
  PetscBool   same = PETSC_TRUE, together = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(muon->size, &all));
  PetscCall(MuonExchangeAgree(muon->exchange, MUON_RECORD_COUNT, (const double *)record, (double *)all));
  muon->meanup = muon->meandown = 0;
  for (PetscMPIInt r = 0; r < muon->size; r++) {
    const MuonStatus status = (MuonStatus)(int)all[r].status;

    /* A corrupt message at one rank explains what failed at others, so it comes first; NaN before a failed factorization for the same reason */
    if (status != MUON_STATUS_OK && (worst == MUON_STATUS_OK || status == MUON_STATUS_CORRUPT || (status == MUON_STATUS_NANORINF && worst == MUON_STATUS_LMO))) worst = status;
    loss += (PetscReal)all[r].loss;
    dual += (PetscReal)all[r].dual;
    nans += all[r].nans;
    muon->meanup += all[r].up / muon->size;
    muon->meandown += all[r].down / muon->size;
    if (all[r].replica != all[0].replica) same = PETSC_FALSE;
    if (all[r].measure != all[0].measure) together = PETSC_FALSE;
  }
  PetscCall(PetscFree(all));
  muon->loss = loss / (PetscReal)muon->size;
  muon->dual = dual;
  if (worst == MUON_STATUS_OK && PetscIsInfOrNanReal(muon->loss)) worst = MUON_STATUS_NANORINF;
  PetscCheck(together, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP,
             "Step %" PetscInt_FMT ": some ranks measure what it does to the layers and others do not; what is measured, -muon_monitor_interval and -muon_max_steps must be the same on each", muon->step);
  PetscCheck(worst != MUON_STATUS_OK || same, PetscObjectComm((PetscObject)muon), PETSC_ERR_PLIB,
             "Step %" PetscInt_FMT ": ranks that are to compute the same weights computed different ones; where processors or libraries differ use -muon_exchange_type star or sharded, and no -ef21_server_compressor sharp", muon->step);
  *ok = worst == MUON_STATUS_OK ? PETSC_TRUE : PETSC_FALSE;
  switch (worst) {
  case MUON_STATUS_NANORINF:
    muon->reason = MUON_DIVERGED_NANORINF;
    break;
  case MUON_STATUS_CORRUPT:
    muon->reason = MUON_DIVERGED_CORRUPT;
    break;
  case MUON_STATUS_LMO:
    muon->reason = MUON_DIVERGED_LMO;
    break;
  case MUON_STATUS_OK:
    muon->nancount += (PetscInt64)nans;
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonStep - Takes one step: gradients at the weights, exchange, oracle, new weights

  Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Level: beginner

  Notes:
  Step s = 0, 1, ... takes the gradients at the weights W^s, through the routine of `MuonSetObjectiveAndGradient()` where one is set, else as the caller left them. The loss that `MuonGetLoss()` gives afterwards
  is that of W^s.

  Numerical trouble on any rank is not a PETSc error: the step ends with a `MuonConvergedReason` below zero on every rank, with weights and state as they were before it.

.seealso: `Muon`, `MuonSolve()`, `MuonSetObjectiveAndGradient()`, `MuonGetLoss()`, `MuonGetConvergedReason()`, `MuonGetTraffic()`, `MuonWeightsChanged()`
@*/
PetscErrorCode MuonStep(Muon muon)
{
  MuonRecord record;
  PetscReal  loss = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(muon->nlayers > 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Call MuonAddLayer() first");
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonCheckOptions_Private(muon));
  PetscCall(PetscLogEventBegin(MUON_Step, muon, 0, 0, 0));
  muon->reason = MUON_CONVERGED_ITERATING;
  PetscCall(PetscMemzero(&record, sizeof(record)));
  if (muon->objective != NULL) {
    PetscCall(PetscLogEventBegin(MUON_Gradient, muon, 0, 0, 0));
    PetscCall((*muon->objective)(muon, &loss, muon->objectivectx));
    PetscCall(PetscLogEventEnd(MUON_Gradient, muon, 0, 0, 0));
  }
  record.loss = (double)loss;
  for (PetscInt k = 0; k < 3; k++) muon->traffic.up[k] = muon->traffic.down[k] = 0;
  PetscUseTypeMethod(muon, step, &record);
  PetscCall(MuonExchangeGetSentBytes(muon->exchange, &muon->traffic.mpi));
  for (PetscInt k = 0; k < 3; k++) {
    muon->traffic.total_up[k] += muon->traffic.up[k];
    muon->traffic.total_down[k] += muon->traffic.down[k];
  }
  if (muon->reason == MUON_DIVERGED_NANORINF && muon->nan == MUON_NAN_SKIP) {
    muon->nancount++;
    muon->reason = MUON_CONVERGED_ITERATING;
    PetscCall(PetscInfo(muon, "Step %" PetscInt_FMT " left out because of NaN or Inf\n", muon->step));
  }
  PetscCall(PetscLogEventEnd(MUON_Step, muon, 0, 0, 0));
  PetscCall(MuonMonitor(muon, muon->step, muon->loss));
  PetscCheck(muon->reason >= 0 || muon->error_if_not_converged == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_NOT_CONVERGED, "Step %" PetscInt_FMT " of the optimizer: %s", muon->step, MuonConvergedReasons[muon->reason]);
  if (muon->reason >= 0) muon->step++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSolve - Takes steps until all are taken or one diverges

  Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Options Database Keys:
+ -muon_max_steps steps  - number of steps
. -muon_view             - prints the optimizer at the end
- -muon_converged_reason - prints why it stopped

  Level: beginner

  Note:
  The number of steps counts those taken before by `MuonStep()` or `MuonSolve()`.

.seealso: `Muon`, `MuonStep()`, `MuonSetMaxSteps()`, `MuonGetConvergedReason()`
@*/
PetscErrorCode MuonSolve(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonSetUp(muon));
  muon->reason = MUON_CONVERGED_ITERATING;
  while (muon->step < muon->max_steps && muon->reason == MUON_CONVERGED_ITERATING) PetscCall(MuonStep(muon));
  if (muon->reason == MUON_CONVERGED_ITERATING) muon->reason = MUON_CONVERGED_MAX_STEPS;
  PetscCall(MuonConvergedReasonViewFromOptions(muon));
  PetscCall(MuonViewFromOptions(muon, NULL, "-muon_view"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonWeightsChanged - Tells an optimizer that the caller changed weights of layers since the last step

  Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Level: intermediate

  Note:
  Servers that keep weights of their own take over the new ones, which must be the same on every rank; momentum and estimates stay.

.seealso: `Muon`, `MuonStep()`, `MuonLayerGetWeights()`, `MuonLayerGetServerWeights()`
@*/
PetscErrorCode MuonWeightsChanged(Muon muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (muon->setupcalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCheckRanksAgree_Private(muon));
  PetscTryTypeMethod(muon, weightschanged);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetStepNumber - Gets the number of steps taken

  Not Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. step - the number, which is also that of the coming step

  Level: beginner

.seealso: `Muon`, `MuonStep()`, `MuonSetMaxSteps()`
@*/
PetscErrorCode MuonGetStepNumber(Muon muon, PetscInt *step)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(step, 2);
  *step = muon->step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLoss - Gets the loss of the last step

  Not Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. loss - mean over the workers of the loss at the weights before that step

  Level: beginner

.seealso: `Muon`, `MuonStep()`, `MuonSetObjectiveAndGradient()`
@*/
PetscErrorCode MuonGetLoss(Muon muon, PetscReal *loss)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(loss, 2);
  *loss = muon->loss;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetGradientDualNorm - Gets the dual norm of what the oracles saw in the last step

  Not Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. norm - sum over the layers of <G,-D>, with D the oracle's answer to G

  Level: intermediate

  Note:
  With exact oracles this is the dual norm in the product of the layers' unit balls; iterative polar factors make it an estimate.

.seealso: `Muon`, `MuonStep()`, `MuonLMOComputeDualNorm()`
@*/
PetscErrorCode MuonGetGradientDualNorm(Muon muon, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(norm, 2);
  *norm = muon->dual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetConvergedReason - Gets why an optimizer stopped

  Not Collective; No Fortran Support

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
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(reason, 2);
  *reason = muon->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetNaNCount - Gets how often the policy on NaN and Inf went on

  Not Collective; No Fortran Support

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. count - steps left out under `MUON_NAN_SKIP`, entries of all workers set to zero under `MUON_NAN_ZERO`

  Level: intermediate

.seealso: `Muon`, `MuonSetNaNPolicy()`
@*/
PetscErrorCode MuonGetNaNCount(Muon muon, PetscInt64 *count)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(count, 2);
  *count = muon->nancount;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetTraffic - Gets what this rank sent and received

  Not Collective; No Fortran Support

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
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(traffic, 2);
  *traffic = muon->traffic;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonReset - Drops the state of an optimizer: momentum, estimates, owners, step number; keeps layers, weights and options

  Collective; No Fortran Support

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
  PetscTryTypeMethod(muon, reset);
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(MuonLayerReset(muon->layer[l]));
  if (muon->exchange != NULL) PetscCall(MuonExchangeReset(muon->exchange));
  PetscCall(PetscFree(muon->active));
  PetscCall(PetscMemzero(&muon->traffic, sizeof(muon->traffic)));
  muon->traffic.dense  = dense;
  muon->nactive        = 0;
  muon->step           = 0;
  muon->nancount       = 0;
  muon->reason         = MUON_CONVERGED_ITERATING;
  muon->setupcalled    = PETSC_FALSE;
  muon->optionschecked = PETSC_FALSE;
  if (muon->momentum_atset == PETSC_FALSE) muon->momentum_at = PETSC_DETERMINE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonDestroy - Frees an optimizer

  Collective; No Fortran Support

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
  for (PetscInt l = 0; l < (*muon)->nlayers; l++) PetscCall(MuonLayerDestroy(&(*muon)->layer[l]));
  PetscCall(PetscFree((*muon)->layer));
  PetscCall(MuonExchangeDestroy(&(*muon)->exchange));
  PetscCall(MuonWorkspaceDestroy(&(*muon)->work));
  PetscCall(PetscHeaderDestroy(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
