static char help[] =
  "Every setter in the middle of a run: the next steps are those of a run that had the value from its beginning, by a call or an option, or the call, or the step, is an error of order that leaves all as it was; illegal values are refused.\n"
  "Made on one rank alone, a choice that steps depend on is an error on all ranks at the next step, which leaves all as it was; made on the others too, twice or in another order, it takes effect.\n\n";

#include "problem.h"
#include "parameters.h"
#include <petscmuon/private/muonparameter.h>

/* Of three layers the first is larger than the others; the norms are those of a vector and of an embedding where options do not say others */
#define LAYERS "-problem_layers a:18x3,g:7x1,e:4x8 -problem_setup 0 "
#define NORMS  "-muon_layer_g_lmo_type frobenius -muon_layer_e_lmo_type max"

#define SETTERS_STEPS 3

/*
   One run: its first steps do nothing, as all gradients are zero, and then the weights are those of the
   start. Momenta, estimates and moments are zero then, whatever was chosen
*/
typedef struct {
  const struct _Setter *setter;
  Problem               problem;
  PetscOptions          options;
  PetscBool             idle, late, nan; /* late: the optimizer is set up */
  PetscInt              calls;           /* of the monitor */
  PetscErrorCode        error;           /* of the last step */
} Run;

typedef enum {
  TAKES_EFFECT,   /* at the next step, as if the value had been there from the beginning */
  WITHOUT_EFFECT, /* on what steps do */
  IS_REFUSED,     /* the call is an error of order */
  STOPS_STEP,     /* the next step is an error of order */
  IS_ILLEGAL      /* calls that are taken neither before the set-up nor after it */
} SetterKind;

enum {
  OF_RANK    = 1, /* ranks may have different values */
  COLLECTIVE = 2, /* a call by one rank waits for the others */
  LOGICAL    = 4, /* it does in a debugging PETSc */
  SAME       = 8, /* made before the set-up it may have no effect here */
  LATE       = 16 /* not made before the set-up */
};

typedef struct _Setter {
  const char *name, *options;
  PetscErrorCode (*set)(Run *);
  SetterKind  kind;
  int         flags;
  const char *key, *value; /* of MuonSetParameter(), where set is Set_ByKey(); of others value is the option that says the same, or NULL */
} Setter;

static double RunGradient(const Problem *p, PetscInt layer, PetscInt i, PetscInt j, PetscInt step, double w)
{
  const Run *run = (const Run *)p->data;

  if (run->nan && step == 3 && p->rank == p->size - 1 && layer == 0 && i == 1 && j == 0) return (double)NAN;
  return run->idle ? 0 : ProblemFormula(p, layer, i, j, step, w);
}

/* Another routine, that knows no NaN */
static PetscErrorCode RunSoundObjective(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  ((Run *)ctx)->nan = PETSC_FALSE;
  PetscCall(ProblemObjective(muon, loss, &((Run *)ctx)->problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMonitor(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  ((Run *)ctx)->calls++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Objects of a run; what is not there yet is made by the call */
static Muon RunMuon(Run *run)
{
  return run->problem.muon;
}

static MuonLayer RunLayer(Run *run, PetscInt l)
{
  return run->problem.layer[l].layer;
}

static MuonLMO RunLMO(Run *run, PetscInt l)
{
  MuonLMO lmo = NULL;

  PetscCallAbort(PETSC_COMM_SELF, MuonLayerGetLMO(RunLayer(run, l), &lmo));
  return lmo;
}

static MuonPolar RunPolar(Run *run)
{
  MuonPolar polar = NULL;

  PetscCallAbort(PETSC_COMM_SELF, MuonLMOGetPolar(RunLMO(run, 0), &polar));
  return polar;
}

static MuonExchange RunExchange(Run *run)
{
  MuonExchange exchange = NULL;

  PetscCallAbort(PETSC_COMM_SELF, MuonGetExchange(RunMuon(run), &exchange));
  return exchange;
}

/* Of a layer, or for all where it is NULL */
static MuonCompressor RunCompressor(Run *run, MuonLayer layer, PetscBool server)
{
  MuonCompressor c[2] = {NULL, NULL};

  PetscCallAbort(PETSC_COMM_SELF, MuonGetLayerCompressors(RunMuon(run), layer, &c[0], &c[1]));
  return c[server];
}

/* The compressor for all layers before the set-up, that of the first layer's worker after it: only the first layer has one that is not identity */
static MuonCompressor RunUp(Run *run)
{
  return RunCompressor(run, run->late ? RunLayer(run, 0) : NULL, PETSC_FALSE);
}

static PetscErrorCode RunSchedule(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx)
{
  PetscFunctionBegin;
  *factor /= 2;
  *momentum = (PetscReal)(step % 4) / 8;
  *decay    = (PetscReal)0.5;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const PetscInt SetterDims[3] = {2, 4, 4};

#define SETTER(name, call) \
  static PetscErrorCode Set_##name(Run *run) \
  { \
    return call; \
  }

/* Muon */
SETTER(Type, MuonSetType(RunMuon(run), MUONDENSE))
SETTER(Prefix, MuonSetOptionsPrefix(RunMuon(run), "some_"))
SETTER(AppendPrefix, MuonAppendOptionsPrefix(RunMuon(run), "more_"))
SETTER(Rate, MuonSetLearningRate(RunMuon(run), (PetscReal)0.25))
SETTER(Schedule, MuonSetSchedule(RunMuon(run), MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT))
SETTER(Warmup, MuonSetSchedule(RunMuon(run), MUON_SCHEDULE_CURRENT, 16, PETSC_CURRENT, PETSC_CURRENT))
SETTER(Minimum, MuonSetSchedule(RunMuon(run), MUON_SCHEDULE_CURRENT, PETSC_CURRENT, PETSC_CURRENT, (PetscReal)0.5))
SETTER(DecayStyle, MuonSetWeightDecay(RunMuon(run), PETSC_CURRENT, MUON_WEIGHT_DECAY_COUPLED))
SETTER(Cautious, MuonSetWeightDecay(RunMuon(run), PETSC_CURRENT, MUON_WEIGHT_DECAY_CAUTIOUS))
SETTER(Match, MuonSetLayerTypes(RunMuon(run), "a:sgd"))
SETTER(AdamWRate, MuonSetAdamW(RunMuon(run), (PetscReal)0.25, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT))
SETTER(AdamWDecay, MuonSetAdamW(RunMuon(run), PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, (PetscReal)0.5))
SETTER(AllBetas, MuonSetAdamW(RunMuon(run), PETSC_CURRENT, (PetscReal)0.5, (PetscReal)0.75, PETSC_CURRENT, PETSC_CURRENT))
SETTER(AllEpsilon, MuonSetAdamW(RunMuon(run), PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, (PetscReal)0.5, PETSC_CURRENT))
SETTER(Function, MuonSetScheduleFunction(RunMuon(run), RunSchedule, NULL))
SETTER(Preset, MuonSetPreset(RunMuon(run), "torch"))
SETTER(Tensor, MuonLayerSetTensor(RunLayer(run, 2), 3, SetterDims, MUON_TENSOR_BATCH))
SETTER(Constant, MuonSetSchedule(RunMuon(run), MUON_SCHEDULE_CURRENT, PETSC_CURRENT, (PetscReal)0.0625, PETSC_CURRENT))
SETTER(Momentum, MuonSetMomentum(RunMuon(run), (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT))
SETTER(Style, MuonSetMomentum(RunMuon(run), PETSC_CURRENT, MUON_MOMENTUM_SGD, MUON_NESTEROV_CURRENT))
SETTER(Nesterov, MuonSetMomentum(RunMuon(run), PETSC_CURRENT, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_EMA))
SETTER(Decay, MuonSetWeightDecay(RunMuon(run), (PetscReal)0.5, MUON_WEIGHT_DECAY_CURRENT))
SETTER(MaxSteps, MuonSetMaxSteps(RunMuon(run), 11))
SETTER(DeviceStream, MuonSetDeviceStream(RunMuon(run), NULL))
SETTER(Monitor, MuonMonitorSet(RunMuon(run), RunMonitor, run, NULL))
SETTER(Cancel, MuonMonitorCancel(RunMuon(run)))
SETTER(CSV, MuonMonitorSetCSV(RunMuon(run), run->late == PETSC_TRUE ? "late.csv" : "early.csv"))
SETTER(Objective, MuonSetObjectiveAndGradient(RunMuon(run), RunSoundObjective, run))
SETTER(Layer, MuonAddLayer(RunMuon(run), "more", run->problem.layer[0].W, NULL))
SETTER(Measure, MuonEF21SetMonitorCompression(RunMuon(run), PETSC_TRUE))
/* Layers */
SETTER(LayerType, MuonLayerSetType(RunLayer(run, 0), MUONLAYERFROZEN))
SETTER(TypeOfFrozen, MuonLayerSetType(RunLayer(run, 0), MUONLAYERLMO))
SETTER(Scale, MuonLayerSetScale(RunLayer(run, 1), (PetscReal)2.5))
SETTER(Blocks, MuonLayerSetBlocks(RunLayer(run, 0), 2, NULL, 1, NULL))
/* Norms */
SETTER(LMOType, MuonLMOSetType(RunLMO(run, 0), MUONLMOMAX))
SETTER(LMOPrefix, MuonLMOSetOptionsPrefix(RunLMO(run, 0), "some_"))
/* Polar factors */
static const PetscReal SetterCoefficients[3] = {(PetscReal)1.5, (PetscReal)-0.5, 0};
SETTER(PolarType, MuonPolarSetType(RunPolar(run), MUONPOLARNEWTONSCHULZ))
SETTER(PolarPrefix, MuonPolarSetOptionsPrefix(RunPolar(run), "some_"))
SETTER(CoefficientValues, MuonPolarSetCoefficientValues(RunPolar(run), 3, SetterCoefficients))
/* Compressors of a layer */
SETTER(CompressorType, MuonCompressorSetType(RunUp(run), MUONCOMPRESSORNATURAL))
SETTER(CompressorPrefix, MuonCompressorSetOptionsPrefix(RunUp(run), "some_"))
SETTER(Ratio, MuonCompressorSetRatio(RunUp(run), (PetscReal)0.5))
/* Those that layers start from */
SETTER(AllType, MuonCompressorSetType(RunCompressor(run, NULL, PETSC_FALSE), MUONCOMPRESSORNATURAL))
SETTER(AllRatio, MuonCompressorSetRatio(RunCompressor(run, NULL, PETSC_FALSE), (PetscReal)0.5))
SETTER(AllValues, MuonObjectSetParameter((PetscObject)RunCompressor(run, NULL, PETSC_FALSE), "compressor_values", "single"))
SETTER(AllServer, MuonCompressorSetType(RunCompressor(run, NULL, PETSC_TRUE), MUONCOMPRESSORNATURAL))
/* The exchange */
SETTER(ExchangeType, MuonExchangeSetType(RunExchange(run), MUONEXCHANGESTAR))
SETTER(ExchangeMode, MuonExchangeSetMode(RunExchange(run), MUON_EXCHANGE_MODE_GATHER))
/* What is taken nowhere */
static PetscErrorCode Set_Illegal(Run *run)
{
  static const PetscReal zeros[6] = {0};

  PetscFunctionBegin;
  Fails(MuonSetLayerTypes(RunMuon(run), "a"), FAILS_ANY, "");
  Fails(MuonSetLayerTypes(RunMuon(run), ":sgd"), FAILS_ANY, "");
  Fails(MuonSetLayerTypes(RunMuon(run), "z:sgd,y:nosuch"), FAILS_ANY, "");
  Fails(MuonSetPreset(RunMuon(run), "nosuch"), FAILS_ANY, "");
  Fails(MuonLayerSetTensor(RunLayer(run, 2), 3, SetterDims, (MuonTensorKind)2), FAILS_ANY, "");
  Fails(MuonMonitorSet(RunMuon(run), NULL, NULL, NULL), FAILS_ANY, "");
  Fails(MuonSetType(RunMuon(run), "nosuch"), FAILS_ANY, "");
  Fails(MuonLayerSetType(RunLayer(run, 0), "nosuch"), FAILS_ANY, "");
  Fails(MuonLayerSetBlocks(RunLayer(run, 0), 4, NULL, 1, NULL), FAILS_ANY, "");
  Fails(MuonLMOSetType(RunLMO(run, 0), "nosuch"), FAILS_ANY, "");
  Fails(MuonPolarSetType(RunPolar(run), "nosuch"), FAILS_ANY, "");
  Fails(MuonPolarSetCoefficientValues(RunPolar(run), 2, zeros), FAILS_ANY, "");
  Fails(MuonCompressorSetType(RunUp(run), "nosuch"), FAILS_ANY, "");
  Fails(MuonExchangeSetType(RunExchange(run), "nosuch"), FAILS_ANY, "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Set_ByKey(Run *run)
{
  PetscFunctionBegin;
  if (strncmp(run->setter->key, "compressor_", 11) == 0) PetscCall(MuonObjectSetParameter((PetscObject)RunUp(run), run->setter->key, run->setter->value));
  else PetscCall(MuonSetParameter(RunMuon(run), run->setter->key, run->setter->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys that are there at the second call alone */
static PetscErrorCode Set_FromOptions(Run *run)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-muon_learning_rate", "0.25"));
  PetscCall(PetscOptionsSetValue(NULL, "-muon_layer_g_scale", "3"));
  PetscCall(MuonSetFromOptions(RunMuon(run)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DENSE  "-muon_type dense "
#define SIGN   "-muon_type sign -lmo_type spectral "
#define EF21   "-muon_type ef21 "
#define UP     EF21 "-muon_layer_g_ef21_compressor identity -muon_layer_e_ef21_compressor identity -ef21_compressor "
#define SCHULZ DENSE "-lmo_polar_type newtonschulz "

/*
   The streams, steps, blocks and items of compressors and exchanges, and the names of oracles, are set by the
   optimizer at its set-up and in its steps, and are no choices of a user
*/
static const Setter Setters[] = {
  {"MuonSetType", UP "topk", Set_Type, TAKES_EFFECT, COLLECTIVE, NULL, NULL},
  {"MuonSetOptionsPrefix", DENSE, Set_Prefix, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonAppendOptionsPrefix", DENSE, Set_AppendPrefix, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonSetFromOptions", DENSE, Set_FromOptions, TAKES_EFFECT, COLLECTIVE, NULL, NULL},
  {"MuonSetLearningRate", DENSE, Set_Rate, TAKES_EFFECT, 0, NULL, "-muon_learning_rate 0.25"},
  {"MuonSetLearningRate, ef21", UP "topk", Set_Rate, TAKES_EFFECT, 0, NULL, "-muon_learning_rate 0.25"},
  {"MuonSetSchedule", DENSE "-muon_max_steps 16", Set_Schedule, TAKES_EFFECT, 0, NULL, "-muon_schedule linear"},
  {"MuonSetScheduleWarmup", DENSE, Set_Warmup, TAKES_EFFECT, 0, NULL, "-muon_schedule_warmup 16"},
  {"MuonSetScheduleConstant", DENSE "-muon_max_steps 16 -muon_schedule trapezoid -muon_schedule_constant 0.9", Set_Constant, TAKES_EFFECT, 0, NULL, "-muon_schedule_constant 0.0625"},
  {"MuonSetScheduleMinimum", DENSE "-muon_schedule linear -muon_max_steps 16", Set_Minimum, TAKES_EFFECT, 0, NULL, "-muon_schedule_minimum 0.5"},
  {"MuonSetMomentumWarmup", DENSE, Set_ByKey, TAKES_EFFECT, 0, "muon_momentum_warmup", "16"},
  {"MuonSetMomentumWarmup from 0", DENSE "-muon_momentum 0", Set_ByKey, IS_REFUSED, 0, "muon_momentum_warmup", "16"},
  {"MuonSetMomentumWarmupStart", UP "topk -muon_momentum_warmup 16", Set_ByKey, TAKES_EFFECT, 0, "muon_momentum_warmup_start", "0.25"},
  {"MuonSetWeightDecayStyle", DENSE "-muon_weight_decay 0.5 -muon_momentum 0", Set_DecayStyle, TAKES_EFFECT, 0, NULL, "-muon_weight_decay_style coupled"},
  {"MuonSetWeightDecayStyle, cautious", DENSE "-muon_weight_decay 0.5 -muon_layer_e_type adamw", Set_Cautious, TAKES_EFFECT, 0, NULL, "-muon_weight_decay_style cautious"},
  {"MuonSetClip", DENSE "-muon_layer_e_type sgd -muon_clip 0.5", Set_ByKey, TAKES_EFFECT, 0, "muon_clip", "0.0625"},
  {"MuonSetClip, worker", UP "topk -muon_layer_e_type sgd -muon_clip 0.5", Set_ByKey, TAKES_EFFECT, 0, "muon_clip", "0.0625"},
  {"MuonSetClip from 0", DENSE "-muon_layer_e_type sgd", Set_ByKey, IS_REFUSED, 0, "muon_clip", "0.0625"},
  {"MuonSetClip to 0", DENSE "-muon_layer_e_type sgd -muon_clip 0.5", Set_ByKey, IS_REFUSED, 0, "muon_clip", "0"},
  {"MuonSetClipLayers", DENSE "-muon_layer_e_type sgd -muon_clip 0.5", Set_ByKey, TAKES_EFFECT, 0, "muon_clip_layers", "all"},
  {"MuonSetLayerTypes", DENSE, Set_Match, IS_REFUSED, 0, NULL, "-muon_layer_types a:sgd"},
  {"MuonSetAdamWLearningRate", DENSE "-muon_layer_e_type adamw", Set_AdamWRate, TAKES_EFFECT, 0, NULL, "-muon_adamw_learning_rate 0.25"},
  {"MuonSetAdamWWeightDecay", DENSE "-muon_layer_e_type nadamw", Set_AdamWDecay, TAKES_EFFECT, 0, NULL, "-muon_adamw_weight_decay 0.5"},
  {"MuonSetAdamWBetas", DENSE "-muon_layer_e_type adamw", Set_AllBetas, TAKES_EFFECT, 0, NULL, "-muon_adamw_beta1 0.5 -muon_adamw_beta2 0.75"},
  {"MuonSetAdamWEpsilon", DENSE "-muon_layer_e_type nadamw", Set_AllEpsilon, TAKES_EFFECT, 0, NULL, "-muon_adamw_epsilon 0.5"},
  {"MuonSetSGDLearningRate", DENSE "-muon_layer_e_type sgd", Set_ByKey, TAKES_EFFECT, 0, "muon_sgd_learning_rate", "0.25"},
  {"MuonSetSGDWeightDecay", DENSE "-muon_layer_e_type sgd", Set_ByKey, TAKES_EFFECT, 0, "muon_sgd_weight_decay", "0.5"},
  {"MuonSetMeasureUpdateRMS", DENSE "-muon_layer_e_type adamw", Set_ByKey, WITHOUT_EFFECT, 0, "muon_measure_update_rms", "true"},
  {"MuonSetCheckWeights", UP "topk", Set_ByKey, WITHOUT_EFFECT, 0, "muon_check_weights", "false"},
  {"MuonSetScheduleFunction", UP "topk", Set_Function, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetPreset", DENSE, Set_Preset, IS_REFUSED, 0, NULL, "-muon_preset torch"},
  {"MuonLayerSetTensor", DENSE, Set_Tensor, IS_REFUSED, SAME, NULL, NULL},
  {"MuonSetMomentum", DENSE, Set_Momentum, TAKES_EFFECT, 0, NULL, "-muon_momentum 0.5"},
  {"MuonSetMomentum, worker", DENSE "-muon_momentum_at worker", Set_Momentum, TAKES_EFFECT, 0, NULL, "-muon_momentum 0.5"},
  {"MuonSetMomentum, ef21", UP "topk", Set_Momentum, TAKES_EFFECT, 0, NULL, "-muon_momentum 0.5"},
  {"MuonSetMomentum from 0", UP "topk -muon_momentum 0", Set_Momentum, IS_REFUSED, 0, NULL, "-muon_momentum 0.5"},
  {"MuonSetMomentum from 0, dense", DENSE "-muon_momentum 0", Set_Momentum, IS_REFUSED, 0, NULL, "-muon_momentum 0.5"},
  {"MuonSetMomentumStyle", DENSE, Set_Style, TAKES_EFFECT, 0, NULL, "-muon_momentum_style sgd"},
  {"MuonSetDampening", UP "natural -muon_momentum_style sgd", Set_ByKey, TAKES_EFFECT, 0, "muon_dampening", "0.75"},
  {"MuonSetNesterov", DENSE, Set_Nesterov, TAKES_EFFECT, 0, NULL, "-muon_nesterov ema"},
  {"MuonSetMomentumAt", DENSE, Set_ByKey, IS_REFUSED, SAME, "muon_momentum_at", "worker"},
  {"MuonSetWeightDecay", DENSE, Set_Decay, TAKES_EFFECT, 0, NULL, "-muon_weight_decay 0.5"},
  {"MuonSetShapeFactor", DENSE, Set_ByKey, TAKES_EFFECT, 0, "muon_shape_factor", "moonlight"},
  {"muon_step", DENSE "-lmo_polar_type svd", Set_ByKey, TAKES_EFFECT, 0, "muon_step", "sharp"},
  {"muon_step of a layer", DENSE "-lmo_polar_type svd", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_step", "sharp"},
  {"muon_delay", UP "topk", Set_ByKey, IS_REFUSED, 0, "muon_delay", "1"},
  {"muon_delay_correction", DENSE "-muon_delay 1", Set_ByKey, IS_REFUSED, 0, "muon_delay_correction", "true"},
  {"muon_layer_type", DENSE, Set_ByKey, IS_REFUSED, 0, "muon_layer_type", "sgd"},
  {"ef21_compressor_layers", EF21 "-ef21_compressor topk -muon_layer_g_type sgd", Set_ByKey, IS_REFUSED, 0, "ef21_compressor_layers", "all"},
  {"ef21_compressor_min_entries", EF21 "-ef21_compressor topk", Set_ByKey, IS_REFUSED, 0, "ef21_compressor_min_entries", "30"},
  {"MuonSetMaxSteps", DENSE "-muon_schedule linear -muon_max_steps 32", Set_MaxSteps, TAKES_EFFECT, 0, NULL, "-muon_max_steps 11"},
  {"MuonSetSeed", UP "natural", Set_ByKey, IS_REFUSED, 0, "muon_seed", "17"},
  {"MuonSetStatePrecision", DENSE, Set_ByKey, IS_REFUSED, LOGICAL, "muon_state_precision", "single"},
  {"MuonSetCountEntropy", UP "topk", Set_ByKey, TAKES_EFFECT, LOGICAL, "muon_count_entropy", "true"},
  {"MuonSetNaNPolicy", DENSE "-bad_gradient", Set_ByKey, TAKES_EFFECT, 0, "muon_nan", "zero"},
  {"MuonSetErrorIfNotConverged", DENSE "-bad_gradient", Set_ByKey, TAKES_EFFECT, 0, "muon_error_if_not_converged", "true"},
  {"MuonSetCostAlpha", DENSE, Set_ByKey, WITHOUT_EFFECT, OF_RANK | LOGICAL, "muon_cost_alpha", "1e-3"},
  {"MuonSetCostBeta", DENSE, Set_ByKey, WITHOUT_EFFECT, OF_RANK | LOGICAL, "muon_cost_beta", "1e6"},
  {"MuonSetCostGamma", DENSE, Set_ByKey, WITHOUT_EFFECT, OF_RANK | LOGICAL, "muon_cost_gamma", "1e6"},
  {"MuonSetCheckDevice", DENSE, Set_ByKey, WITHOUT_EFFECT, OF_RANK | LOGICAL, "muon_check_device", "true"},
  {"MuonSetDeviceBatchBytes", DENSE, Set_ByKey, WITHOUT_EFFECT, LOGICAL, "muon_device_batch_bytes", "1e6"},
  {"MuonSetDeviceMPI", DENSE, Set_ByKey, IS_REFUSED, LOGICAL | SAME, "muon_device_mpi", "true"},
  {"MuonSetDeviceStream", DENSE, Set_DeviceStream, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonMonitorSet", DENSE, Set_Monitor, TAKES_EFFECT, OF_RANK, NULL, NULL},
  {"MuonMonitorCancel", DENSE "-monitor", Set_Cancel, TAKES_EFFECT, OF_RANK, NULL, NULL},
  {"MuonMonitorSetCSV", DENSE, Set_CSV, WITHOUT_EFFECT, COLLECTIVE, NULL, NULL},
  {"MuonMonitorSetInterval", UP "topk -measure", Set_ByKey, TAKES_EFFECT, LOGICAL, "muon_monitor_interval", "4"},
  {"MuonSetObjectiveAndGradient", DENSE "-bad_gradient", Set_Objective, TAKES_EFFECT, OF_RANK, NULL, NULL},
  {"MuonAddLayer", DENSE, Set_Layer, IS_REFUSED, LATE, NULL, NULL},
  {"ef21_downlink", UP "topk -lmo_type rowsum", Set_ByKey, IS_REFUSED, LOGICAL, "ef21_downlink", "step"},
  {"MuonEF21SetLayerDownlink", UP "topk -lmo_type rowsum", Set_ByKey, IS_REFUSED, LOGICAL, "muon_layer_a_ef21_downlink", "step"},
  {"ef21_init", UP "topk", Set_ByKey, IS_REFUSED, SAME, "ef21_init", "gradient"},
  {"ef21_aggregate_error_interval", UP "topk", Set_ByKey, TAKES_EFFECT, 0, "ef21_aggregate_error_interval", "1"},
  {"MuonEF21SetMonitorCompression", UP "topk", Set_Measure, TAKES_EFFECT, LOGICAL, NULL, NULL},
  {"sign_direction", SIGN, Set_ByKey, IS_REFUSED, LOGICAL, "sign_direction", "gradient"},
  {"sign_update", SIGN, Set_ByKey, IS_REFUSED, LOGICAL, "sign_update", "frobenius"},
  {"sign_tie", SIGN, Set_ByKey, IS_REFUSED, LOGICAL | SAME, "sign_tie", "minus"},
  {"sign_measure", SIGN, Set_ByKey, TAKES_EFFECT, LOGICAL, "sign_measure", "true"},
  {"MuonLayerSetType", DENSE, Set_LayerType, IS_REFUSED, 0, NULL, "-muon_layer_a_type frozen"},
  {"MuonLayerSetType, frozen before", DENSE "-muon_layer_a_type frozen", Set_TypeOfFrozen, IS_REFUSED, 0, NULL, NULL},
  {"MuonLayerSetScale", DENSE, Set_Scale, TAKES_EFFECT, 0, NULL, "-muon_layer_g_scale 2.5"},
  {"MuonLayerSetShapeFactor", DENSE, Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_shape_factor", "moonlight"},
  {"MuonLayerSetMomentum", DENSE, Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_momentum", "0.5"},
  {"MuonLayerSetMomentum, ef21", UP "topk", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_momentum", "0.5"},
  {"MuonLayerSetMomentum from 0", UP "topk -muon_layer_a_momentum 0", Set_ByKey, IS_REFUSED, 0, "muon_layer_a_momentum", "0.5"},
  {"MuonLayerSetMomentum from 0, dense", DENSE "-muon_layer_a_momentum 0", Set_ByKey, IS_REFUSED, 0, "muon_layer_a_momentum", "0.5"},
  {"MuonLayerSetWeightDecay", DENSE, Set_ByKey, TAKES_EFFECT, 0, "muon_layer_g_weight_decay", "0.5"},
  {"MuonLayerSetBlocks", DENSE, Set_Blocks, IS_REFUSED, 0, NULL, "-muon_layer_a_blocks_rows 9,9"},
  {"MuonLayerAdamWSetBetas", DENSE "-muon_layer_e_type adamw", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_e_adamw_beta1", "0.5"},
  {"MuonLayerAdamWSetEpsilon", DENSE "-muon_layer_e_type nadamw", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_e_adamw_epsilon", "0.5"},
  {"MuonLMOSetType", DENSE, Set_LMOType, TAKES_EFFECT, 0, NULL, "-muon_layer_a_lmo_type max"},
  {"MuonLMOSetOptionsPrefix", DENSE, Set_LMOPrefix, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonLMOMixedSetExponents", DENSE "-muon_layer_a_lmo_type mixed", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_mixed_exponent_p", "3"},
  {"MuonLMOSchattenSetExponent", DENSE "-muon_layer_a_lmo_type schatten", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_schatten_exponent", "3"},
  {"MuonPolarSetType", DENSE, Set_PolarType, TAKES_EFFECT, 0, NULL, "-muon_layer_a_lmo_polar_type newtonschulz"},
  {"MuonPolarSetOptionsPrefix", DENSE, Set_PolarPrefix, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonPolarSetSteps", SCHULZ, Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_steps", "3"},
  {"MuonPolarSetCoefficients", SCHULZ "-lmo_polar_coefficients quintic", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_coefficients", "kj"},
  {"MuonPolarSetCoefficientValues", SCHULZ, Set_CoefficientValues, TAKES_EFFECT, 0, NULL, "-muon_layer_a_lmo_polar_coefficient_values 1.5,-0.5,0"},
  {"MuonPolarSetPrecision", SCHULZ "-lmo_polar_precision double", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_precision", "single"},
  {"MuonPolarSetTolerance", DENSE "-lmo_polar_type zolotarev -lmo_polar_tolerance 1e-3", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_tolerance", "0.25"},
  {"MuonPolarSetNormalization", SCHULZ, Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_normalization", "spectral"},
  {"MuonPolarSetPowerIterations", SCHULZ "-lmo_polar_normalization spectral -lmo_polar_power_iterations 12", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_power_iterations", "1"},
  {"MuonPolarGramSetRestart", DENSE "-lmo_polar_type gram", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_gram_restart", "1"},
  {"MuonPolarZolotarevSetPoles", DENSE "-lmo_polar_type zolotarev", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_zolotarev_poles", "2"},
  {"MuonPolarZolotarevSetInterval", DENSE "-lmo_polar_type zolotarev", Set_ByKey, TAKES_EFFECT, 0, "muon_layer_a_lmo_polar_zolotarev_interval", "0.25"},
  {"MuonCompressorSetType", UP "topk", Set_CompressorType, IS_REFUSED, 0, NULL, NULL},
  {"MuonCompressorSetOptionsPrefix", UP "topk", Set_CompressorPrefix, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonCompressorSetRatio", UP "topk", Set_Ratio, TAKES_EFFECT, 0, NULL, "-ef21_compressor_ratio 0.5"},
  {"MuonCompressorSetRatio, random", UP "randk", Set_Ratio, TAKES_EFFECT, 0, NULL, "-ef21_compressor_ratio 0.5"},
  {"MuonCompressorSetRank", UP "rankk -ef21_compressor_rank 1", Set_ByKey, TAKES_EFFECT, 0, "compressor_rank", "2"},
  {"MuonCompressorSetBits", UP "qsgd", Set_ByKey, TAKES_EFFECT, 0, "compressor_bits", "6"},
  {"MuonCompressorSetValues", UP "topk -ef21_compressor_values native", Set_ByKey, TAKES_EFFECT, 0, "compressor_values", "bf16"},
  {"MuonCompressorSetLineNorm", UP "rowtopk -ef21_compressor_ratio 0.4", Set_ByKey, TAKES_EFFECT, 0, "compressor_line_norm", "1"},
  {"MuonCompressorSetPaperIndexBits", UP "topk", Set_ByKey, TAKES_EFFECT, 0, "compressor_paper_index_bits", "26"},
  {"MuonCompressorTopSVDSetSchatten", UP "topsvd -measure", Set_ByKey, TAKES_EFFECT, 0, "compressor_topsvd_schatten", "1"},
  {"compressor_rankk_method", UP "rankk -ef21_compressor_rank 1", Set_ByKey, TAKES_EFFECT, 0, "compressor_rankk_method", "range"},
  {"MuonCompressorPowerSGDSetSweeps", UP "powersgd -ef21_compressor_rank 1", Set_ByKey, TAKES_EFFECT, 0, "compressor_powersgd_sweeps", "3"},
  {"MuonCompressorPowerSGDSetOversampling", UP "powersgd -ef21_compressor_rank 1", Set_ByKey, TAKES_EFFECT, 0, "compressor_powersgd_oversampling", "2"},
  {"MuonCompressorQSGDSetBlockLength", UP "qsgd", Set_ByKey, TAKES_EFFECT, 0, "compressor_qsgd_block_length", "16"},
  {"MuonCompressorQSGDSetBlockNorm", UP "qsgd", Set_ByKey, TAKES_EFFECT, 0, "compressor_qsgd_block_norm", "l2"},
  {"MuonGetLayerCompressors, type", UP "topk", Set_AllType, IS_REFUSED, 0, NULL, "-ef21_compressor natural"},
  {"MuonGetLayerCompressors, ratio", UP "topk", Set_AllRatio, TAKES_EFFECT, 0, NULL, "-ef21_compressor_ratio 0.5"},
  {"MuonGetLayerCompressors, values", EF21, Set_AllValues, IS_REFUSED, SAME, NULL, NULL},
  {"MuonGetLayerCompressors, values of others", UP "topk", Set_AllValues, IS_REFUSED, 0, NULL, NULL},
  {"MuonGetLayerCompressors, server", UP "topk", Set_AllServer, IS_REFUSED, 0, NULL, "-ef21_server_compressor natural"},
  {"MuonExchangeSetType", DENSE, Set_ExchangeType, STOPS_STEP, 0, NULL, "-muon_exchange_type star"},
  {"MuonExchangeSetMode", DENSE "-muon_exchange_mode reduce", Set_ExchangeMode, STOPS_STEP, 0, NULL, "-muon_exchange_mode gather"},
  {"muon_exchange_assignment", DENSE, Set_ByKey, STOPS_STEP, 0, "muon_exchange_assignment", "roundrobin"},
  {"illegal", UP "topk -lmo_polar_type newtonschulz", Set_Illegal, IS_ILLEGAL, 0, NULL, NULL},
};
#define NSETTERS ((PetscInt)(sizeof(Setters) / sizeof(Setters[0])))

/*
   Before the set-up, after the options, where a call makes the value that of the whole run; set is NULL where
   there is none
*/
static PetscErrorCode RunCreate(const Setter *setter, PetscErrorCode (*set)(Run *), Run *run)
{
  PetscBool has;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->setter = setter;
  PetscCall(PetscOptionsCreate(&run->options));
  PetscCall(PetscOptionsPush(run->options));
  PetscCall(PetscOptionsInsertString(NULL, setter->options));
  PetscCall(PetscOptionsInsertString(NULL, strstr(setter->options, "-lmo_type") != NULL ? LAYERS : LAYERS NORMS));
  PetscCall(ProblemCreate(&run->problem, 0, 0));
  run->problem.form = RunGradient;
  run->problem.data = run;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-bad_gradient", &run->nan));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-monitor", &has));
  if (has == PETSC_TRUE) PetscCall(MuonMonitorSet(run->problem.muon, RunMonitor, run, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-measure", &has));
  if (has == PETSC_TRUE) PetscCall(MuonEF21SetMonitorCompression(run->problem.muon, PETSC_TRUE));
  if (set != NULL) PetscCall((*set)(run));
  PetscCall(MuonSetUp(run->problem.muon));
  run->idle = run->late = PETSC_TRUE;
  for (PetscInt s = 0; s < 2; s++) PetscCall(MuonStep(run->problem.muon));
  run->idle  = PETSC_FALSE;
  run->calls = 0;
  for (PetscInt l = 0; l < run->problem.n; l++) PetscCall(ProblemStart(&run->problem, l));
  PetscCall(MuonWeightsChanged(run->problem.muon));
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(ProblemDestroy(&run->problem));
  PetscCall(PetscOptionsDestroy(&run->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A call that may be an error, which is printed by nobody */
static PetscErrorCode RunTry(Run *run, PetscErrorCode (*call)(Run *), PetscErrorCode *ierr)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsPush(run->options));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = (*call)(run);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunOneStep(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonStep(run->problem.muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that can be seen of some steps */
#define RUN_NUMBERS (SETTERS_STEPS * 16 + 96)
static PetscErrorCode RunSteps(Run *run, PetscInt steps, double seen[RUN_NUMBERS])
{
  Problem *p = &run->problem;
  PetscInt k = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(seen, RUN_NUMBERS));
  for (PetscInt s = 0; s < steps; s++) {
    MuonTraffic         traffic;
    MuonConvergedReason reason;
    PetscInt64          count;
    PetscReal           loss, dual;
    PetscInt            step;
    PetscBool           ef21;

    PetscCall(RunTry(run, RunOneStep, &run->error));
    PetscCall(MuonGetTraffic(p->muon, &traffic));
    PetscCall(MuonGetConvergedReason(p->muon, &reason));
    PetscCall(MuonGetNaNCount(p->muon, &count));
    PetscCall(MuonGetLoss(p->muon, &loss));
    PetscCall(MuonGetGradientDualNorm(p->muon, &dual));
    PetscCall(MuonGetStepNumber(p->muon, &step));
    for (PetscInt i = 0; i < 3; i++) {
      seen[k++] = traffic.up[i];
      seen[k++] = traffic.down[i];
    }
    seen[k++] = traffic.mpi;
    seen[k++] = (double)reason;
    seen[k++] = (double)count;
    seen[k++] = PetscIsNanReal(loss) ? -1 : (double)loss;
    seen[k++] = PetscIsNanReal(dual) ? -1 : (double)dual;
    seen[k++] = (double)step;
    seen[k++] = (double)run->error;
    seen[k++] = (double)run->calls;
    PetscCall(PetscObjectTypeCompare((PetscObject)p->muon, MUONEF21, &ef21));
    if (ef21 == PETSC_TRUE) {
      MuonEF21Compression c;

      PetscCall(MuonEF21GetLayerCompression(p->muon, p->layer[0].layer, &c));
      seen[k++] = (double)c.bound[0];
    } else k++;
  }
  for (PetscInt l = 0; l < p->n; k += p->layer[l].shape->m * p->layer[l].shape->n, l++) PetscCall(ProblemGetRows(p, l, NULL, seen + k, NULL));
  PetscCheck(k <= RUN_NUMBERS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too much to see");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On any rank */
static PetscErrorCode RunSame(const double a[RUN_NUMBERS], const double b[RUN_NUMBERS], PetscBool *same)
{
  int mine = memcmp(a, b, RUN_NUMBERS * sizeof(*a)) == 0, all;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  *same = all != 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Differ(const char name[], const double a[RUN_NUMBERS], const double b[RUN_NUMBERS])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < RUN_NUMBERS; k++) {
    if (a[k] != b[k]) PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "%s: number %" PetscInt_FMT " is %.17g, expected %.17g\n", name, k, a[k], b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the last rank alone; then the others follow, the last says it again, and rank 0 twice */
static PetscErrorCode Disagree(const Setter *setter, Run *p)
{
  double         before[RUN_NUMBERS], after[RUN_NUMBERS];
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(RunSteps(p, 0, before));
  if (p->problem.rank == p->problem.size - 1) PetscCall(RunTry(p, setter->set, &ierr));
  PetscCheck(ierr == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d", setter->name, (int)ierr);
  PetscCall(RunTry(p, RunOneStep, &ierr));
  PetscCheck(ierr == PETSC_ERR_ARG_INCOMP, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on one rank: the step gives error %d", setter->name, (int)ierr);
  PetscCall(RunSteps(p, 0, after));
  PetscCall(RunSame(before, after, &same));
  PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on one rank: the step that was refused left its traces", setter->name);
  if (p->problem.rank == 0) PetscCall(RunTry(p, setter->set, &ierr));
  PetscCheck(ierr == (p->problem.rank == 0 ? PETSC_SUCCESS : PETSC_ERR_ARG_INCOMP), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d", setter->name, (int)ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before the set-up: the steps are those of a call in the middle that takes effect, and of the option, whose value is told; middle and without: such steps */
static PetscErrorCode CheckBefore(const Setter *setter, const double middle[RUN_NUMBERS], const double without[RUN_NUMBERS])
{
  const PetscBool bykey = setter->key != NULL ? PETSC_TRUE : PETSC_FALSE, compressor = bykey && strncmp(setter->key, "compressor_", 11) == 0 ? PETSC_TRUE : PETSC_FALSE;
  Setter          option = *setter;
  Run             run[2];
  double          seen[2][RUN_NUMBERS];
  char            text[512], told[2][64];
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s %s%s%s %s", setter->options, bykey ? "-" : "", compressor ? "ef21_" : "", bykey ? setter->key : "", setter->value != NULL ? setter->value : ""));
  option.options = text;
  for (int k = 0; k < (setter->value != NULL ? 2 : 1); k++) {
    PetscCall(RunCreate(k ? &option : setter, k ? NULL : setter->set, &run[k]));
    if (bykey && compressor == PETSC_FALSE) PetscCall(MuonGetParameter(RunMuon(&run[k]), setter->key, told[k], sizeof(told[k])));
    PetscCall(RunSteps(&run[k], SETTERS_STEPS, seen[k]));
    PetscCall(RunDestroy(&run[k]));
    if (k == 0 && setter->kind != TAKES_EFFECT) {
      PetscCall(RunSame(seen[0], without, &same));
      PetscCheck(setter->kind != IS_ILLEGAL || same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was refused before the set-up and changes the steps", setter->name);
      PetscCheck(setter->kind != IS_REFUSED || same == PETSC_FALSE || (setter->flags & SAME), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s before the set-up does not change the steps", setter->name);
    } else {
      const double *expected = k ? seen[0] : middle;

      PetscCall(RunSame(seen[k], expected, &same));
      if (same == PETSC_FALSE) PetscCall(Differ(setter->name, seen[k], expected));
      PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the steps are not those of the %s", setter->name, k ? "option" : "call before the set-up");
    }
  }
  PetscCheck(bykey == PETSC_FALSE || compressor || strcmp(told[0], told[1]) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %s is told as %s of the option and as %s of the call", setter->key, setter->value, told[1], told[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSetter(const Setter *setter)
{
  Run            p, q; /* with a call in the middle, without any */
  double         a[RUN_NUMBERS], b[RUN_NUMBERS], before[RUN_NUMBERS], after[RUN_NUMBERS];
  PetscErrorCode ierr;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(RunCreate(setter, NULL, &p));
  PetscCall(RunCreate(setter, NULL, &q));
  if (p.problem.size > 1 && setter->kind == TAKES_EFFECT && (setter->flags & (OF_RANK | COLLECTIVE)) == 0 && (!PetscDefined(USE_DEBUG) || (setter->flags & LOGICAL) == 0)) PetscCall(Disagree(setter, &p));
  PetscCall(RunTry(&p, setter->set, &ierr));
  PetscCheck(ierr == (setter->kind == IS_REFUSED ? PETSC_ERR_ORDER : PETSC_SUCCESS), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d", setter->name, (int)ierr);
  PetscCall(RunSteps(&q, SETTERS_STEPS, b));
  if (setter->kind == STOPS_STEP) {
    PetscCall(RunSteps(&p, 0, before));
    PetscCall(RunTry(&p, RunOneStep, &ierr));
    PetscCheck(ierr == PETSC_ERR_ORDER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step gives error %d", setter->name, (int)ierr);
    PetscCall(RunSteps(&p, 0, after));
    PetscCall(RunSame(before, after, &same));
    PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step that was refused left its traces", setter->name);
    /* With a reset it is legal */
    PetscCall(MuonReset(p.problem.muon));
    PetscCall(MuonStep(p.problem.muon));
  } else {
    PetscCall(RunSteps(&p, SETTERS_STEPS, a));
    PetscCall(RunSame(a, b, &same));
    if (same == PETSC_FALSE && setter->kind != TAKES_EFFECT) PetscCall(Differ(setter->name, a, b));
    PetscCheck(same == (setter->kind == TAKES_EFFECT ? PETSC_FALSE : PETSC_TRUE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the call %s the steps", setter->name, same ? "does not change" : "changes");
  }
  if ((setter->flags & LATE) == 0) PetscCall(CheckBefore(setter, a, b));
  PetscCall(RunDestroy(&p));
  PetscCall(RunDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three choices in the order that this rank has for them, on rank 0 by way of other values, and with one that is taken back, which is none */
static PetscErrorCode CheckOrder(void)
{
  const Setter base = {"order", UP "topk", NULL, WITHOUT_EFFECT, 0, NULL, NULL};
  Run          p, q;
  double       a[RUN_NUMBERS], b[RUN_NUMBERS];
  PetscBool    same;

  PetscFunctionBegin;
  PetscCall(RunCreate(&base, NULL, &p));
  PetscCall(RunCreate(&base, NULL, &q));
  if (p.problem.rank == 0) {
    PetscCall(MuonSetLearningRate(p.problem.muon, 3));
    PetscCall(MuonLayerSetScale(p.problem.layer[2].layer, 5));
    PetscCall(MuonCompressorSetRatio(RunUp(&p), (PetscReal)0.75));
    PetscCall(MuonLayerSetScale(p.problem.layer[1].layer, 7));
    PetscCall(MuonLayerSetScale(p.problem.layer[1].layer, 1));
  }
  for (PetscInt k = 0; k < 3; k++) {
    switch ((k + p.problem.rank) % 3) {
    case 0:
      PetscCall(MuonSetLearningRate(p.problem.muon, (PetscReal)0.125));
      break;
    case 1:
      PetscCall(MuonLayerSetScale(p.problem.layer[2].layer, (PetscReal)1.5));
      break;
    default:
      PetscCall(MuonCompressorSetRatio(RunUp(&p), (PetscReal)0.5));
    }
  }
  PetscCall(MuonSetLearningRate(q.problem.muon, (PetscReal)0.125));
  PetscCall(MuonLayerSetScale(q.problem.layer[2].layer, (PetscReal)1.5));
  PetscCall(MuonCompressorSetRatio(RunUp(&q), (PetscReal)0.5));
  PetscCall(RunSteps(&p, SETTERS_STEPS, a));
  PetscCall(RunSteps(&q, SETTERS_STEPS, b));
  PetscCheck(p.error == PETSC_SUCCESS && q.error == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Errors %d and %d after the same choices in another order", (int)p.error, (int)q.error);
  PetscCall(RunSame(a, b, &same));
  PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The same choices in another order give other steps");
  PetscCall(RunDestroy(&p));
  PetscCall(RunDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The rows of all objects below an optimizer: what a parameter is by default, what it is when it was set, and
   what it cannot be
*/
typedef struct {
  PetscBool late; /* after the set-up */
  PetscInt  count;
} RowsTest;

static PetscErrorCode TrySet(PetscObject object, const char key[], const char value[], PetscErrorCode *ierr)
{
  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = MuonObjectSetParameter(object, key, value);
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A value other than this one that the row takes */
static PetscErrorCode OtherValue(const MuonParameter *row, double now, size_t length, char text[])
{
  double other = row->kind == MUON_PARAMETER_BOOL ? (now != 0 ? 0 : 1) : row->most < MUON_UNBOUNDED ? (row->least + row->most) / 2 : row->least > -MUON_UNBOUNDED ? row->least + 1 : 1;

  PetscFunctionBegin;
  if (row->kind == MUON_PARAMETER_INT || row->kind == MUON_PARAMETER_INT64) other = floor(other);
  if (other == now) other = row->most < MUON_UNBOUNDED ? (other + row->most) / 2 : other + 1;
  if (row->kind == MUON_PARAMETER_INT) other = ceil(other);
  if (row->kind == MUON_PARAMETER_ENUM) PetscCall(PetscStrncpy(text, row->names[(int)now == (int)row->least ? (int)row->least + 1 : (int)row->least], length));
  else if (row->kind == MUON_PARAMETER_BOOL) PetscCall(PetscStrncpy(text, other != 0 ? "true" : "false", length));
  else PetscCall(MuonNumberWrite(row->kind == MUON_PARAMETER_REAL ? (double)(PetscReal)other : other, length, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double RowValue(const MuonParameter *row, const void *field)
{
  if (row->kind == MUON_PARAMETER_BOOL) return *(const PetscBool *)field ? 1 : 0;
  return row->kind == MUON_PARAMETER_REAL ? (double)*(const PetscReal *)field : row->kind == MUON_PARAMETER_INT ? (double)*(const PetscInt *)field : row->kind == MUON_PARAMETER_INT64 ? (double)*(const PetscInt64 *)field : (double)*(const int *)field;
}

static PetscErrorCode CheckRow(PetscObject object, const char family[], const MuonParameter *row, RowsTest *test)
{
  const char *const bad[] = {"nan", "nosuch", "inf", "-inf"};
  char              key[128], before[64], after[64], other[64], outside[64];
  PetscErrorCode    ierr;
  void             *field = NULL;
  double            now, usual;
  PetscBool         free; /* another value is right, too */

  PetscFunctionBegin;
  test->count++;
  PetscCheck(MuonParametersFind(object, row->key, &field) == row, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is not found", row->key);
  if (row->kind == MUON_PARAMETER_TEXT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s%s", row->flags & MUON_PARAMETER_BARE ? "" : family, row->key));
  PetscCall(MuonObjectGetParameter(object, key, before, sizeof(before)));
  now   = RowValue(row, field);
  usual = row->kind == MUON_PARAMETER_REAL ? (double)(PetscReal)row->value : row->value;
  free  = test->late || MuonParametersIsSet(object, row->key) || (row->flags & MUON_PARAMETER_PARENT) ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(free || now == usual, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is %s by default, expected %g", key, before, row->value);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); k++) {
    if (k >= 2 && (row->flags & MUON_PARAMETER_INF)) continue;
    PetscCall(TrySet(object, key, bad[k], &ierr));
    PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s takes %s", key, bad[k]);
  }
  for (int end = 0; end < 2 && row->kind != MUON_PARAMETER_BOOL && row->kind != MUON_PARAMETER_ENUM; end++) {
    const double edge = end == 0 ? row->least : row->most, sign = end == 0 ? -1 : 1;

    if (edge <= -MUON_UNBOUNDED || edge >= MUON_UNBOUNDED) continue;
    PetscCall(MuonNumberWrite(row->flags & (end == 0 ? MUON_PARAMETER_ABOVE : MUON_PARAMETER_BELOW) ? edge : edge + (3 + floor(fabs(edge) / 1024)) * sign, sizeof(outside), outside));
    PetscCall(TrySet(object, key, outside, &ierr));
    PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s takes %s", key, outside);
  }
  PetscCall(MuonObjectGetParameter(object, key, after, sizeof(after)));
  PetscCheck(strcmp(before, after) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was %s and is %s after calls that were refused", key, before, after);
  PetscCall(OtherValue(row, now, sizeof(other), other));
  PetscCall(TrySet(object, key, other, &ierr));
  if (test->late && (row->flags & MUON_PARAMETER_FIXED)) {
    PetscCheck(ierr == PETSC_ERR_ORDER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s takes %s after the set-up, error %d", key, other, (int)ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(ierr == PETSC_SUCCESS || test->late, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s does not take %s, error %d", key, other, (int)ierr);
  if (ierr != PETSC_SUCCESS) PetscFunctionReturn(PETSC_SUCCESS); /* two values that depend on each other */
  PetscCall(MuonObjectGetParameter(object, key, after, sizeof(after)));
  PetscCheck(strcmp(other, after) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was set to %s and is %s", key, other, after);
  if (strcmp(before, "auto") != 0) PetscCall(TrySet(object, key, before, &ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckObject(PetscObject object, void *ctx)
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);
  const char               *family;

  PetscFunctionBegin;
  if (what == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  family = MuonParametersOf(object)->family != NULL ? MuonParametersOf(object)->family : what->family;
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = MuonParametersOf(object)->rows[k]; row != NULL && row->key != NULL; row++) PetscCall(CheckRow(object, family, row, (RowsTest *)ctx));
  }
  if (what->children != NULL) PetscCall((*what->children)(object, CheckObject, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a layer or a shard's compressor was not given is that of the optimizer, whenever this changes */
static PetscErrorCode CheckInherits(void)
{
  const char     options[] = EF21 "-ef21_compressor topk -ef21_compressor_layers all -muon_layer_g_ef21_compressor_values bf16 "
                                  "-muon_layer_e_type adamw";
  const Setter   base      = {"inherits", options, NULL, WITHOUT_EFFECT, 0, NULL, NULL};
  const char     name[]    = "age";
  Run            run;
  MuonCompressor all, up[2];
  Muon           muon;
  char           key[64];

  PetscFunctionBegin;
  PetscCall(RunCreate(&base, NULL, &run));
  muon = run.problem.muon;
  PetscCall(MuonSetParameter(muon, "muon_layer_g_momentum", "0.25"));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.75));
  PetscCall(MuonSetMomentum(muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetParameter(muon, "muon_shape_factor", "kj"));
  PetscCall(MuonSetParameter(muon, "muon_adamw_beta1", "0.125"));
  PetscCall(CheckParameter((PetscObject)muon, "muon_layer_e_adamw_beta1", "0.125"));
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "muon_layer_%c_momentum", name[k]));
    PetscCall(CheckParameter((PetscObject)muon, key, k == 1 ? "0.25" : "0.5"));
    PetscCall(PetscSNPrintf(key, sizeof(key), "muon_layer_%c_shape_factor", name[k]));
    PetscCall(CheckParameter((PetscObject)muon, key, "kj"));
    PetscCall(PetscSNPrintf(key, sizeof(key), "muon_layer_%c_learning_rate", name[k]));
    PetscCall(CheckParameter((PetscObject)muon, key, k == 2 ? "0.001" : "0.75")); /* that of AdamW */
  }
  PetscCall(MuonSetParameter(muon, "muon_adamw_learning_rate", "-1"));
  PetscCall(CheckParameter((PetscObject)muon, "muon_layer_e_learning_rate", "0.75"));
  PetscCall(MuonGetLayerCompressors(muon, NULL, &all, NULL));
  for (int k = 0; k < 2; k++) PetscCall(MuonGetLayerCompressors(muon, run.problem.layer[k].layer, &up[k], NULL));
  PetscCall(MuonCompressorSetRatio(all, (PetscReal)0.5));
  PetscCall(MuonObjectSetParameter((PetscObject)all, "compressor_values", "natural"));
  PetscCall(MuonObjectSetParameter((PetscObject)all, "compressor_block_entries", "128"));
  for (int k = 0; k < 2; k++) {
    PetscCall(CheckParameter((PetscObject)up[k], "compressor_ratio", "0.5"));
    PetscCall(CheckParameter((PetscObject)up[k], "compressor_values", k == 0 ? "natural" : "bf16"));
    PetscCall(CheckParameter((PetscObject)up[k], "compressor_block_entries", "128"));
  }
  PetscCall(MuonReset(muon)); /* the compressors of the shards go, and their parent stays */
  PetscCall(MuonCompressorSetRatio(all, (PetscReal)0.25));
  PetscCall(RunDestroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRows(const char options[])
{
  const Setter base = {"rows", options, NULL, WITHOUT_EFFECT, 0, NULL, NULL};
  RowsTest     test = {PETSC_FALSE, 0};
  Problem      fresh;
  Run          run;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&fresh, LAYERS "%s", options));
  PetscCall(CheckObject((PetscObject)fresh.muon, &test));
  PetscCheck(test.count >= 40, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: only %" PetscInt_FMT " parameters", options, test.count);
  PetscCall(ProblemDestroy(&fresh));
  PetscCall(RunCreate(&base, NULL, &run));
  test.late = PETSC_TRUE;
  PetscCall(CheckObject((PetscObject)run.problem.muon, &test));
  PetscCall(RunDestroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      only[64] = "";
  PetscBool match;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  for (PetscInt k = 0; k < NSETTERS; k++) {
    PetscCall(PetscStrcmp(Setters[k].name, only, &match));
    if (only[0] == '\0' || match == PETSC_TRUE) PetscCall(CheckSetter(&Setters[k]));
  }
  if (only[0] == '\0') {
    PetscCall(CheckOrder());
    PetscCall(CheckInherits());
    PetscCall(CheckRows(DENSE "-lmo_polar_type newtonschulz"));
    PetscCall(CheckRows(UP "qsgd -ef21_server_compressor topk -lmo_polar_type zolotarev"));
    PetscCall(CheckRows(SIGN "-lmo_polar_type gram"));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 3}}
    timeoutfactor: 2
    # PETSc keeps what it had allocated where an error was raised
    args: -malloc_dump 0

TEST*/
