/*
   All setters of an optimizer and of what belongs to it, each with a problem in which its value matters, for
   the tests of what a call in the middle of a run does.
*/
#pragma once

#include "ef21_common.h"
#include "layer_parameter.h"
#include "parameter_common.h"

/* A matrix, a vector, a matrix of another type or norm where options say so */
#define SETTERS_LAYERS 3
static const TestShape SetterShapes[SETTERS_LAYERS] = {{"a", MUONLMOSPECTRAL, 18, 3, 0, PETSC_FALSE}, {"g", MUONLMOFROBENIUS, 7, 1, 0, PETSC_TRUE}, {"e", MUONLMOMAX, 4, 8, 1, PETSC_FALSE}};

#define SETTERS_STEPS 3

/*
   One run: its first steps do nothing, as all gradients are zero, and then the weights are those of the
   start. Momenta, estimates and moments are zero then, whatever was chosen
*/
typedef struct {
  const struct _Setter *setter;
  TestProblem           problem;
  PetscOptions          options;
  PetscBool             idle, late, nan; /* late: the optimizer is set up */
  PetscInt              calls;           /* of the monitor */
  PetscInt              polarcalls;
  PetscErrorCode        error; /* of the last step */
} Run;

typedef enum {
  TAKES_EFFECT,   /* at the next step, as if the value had been there from the beginning */
  WITHOUT_EFFECT, /* on what steps do */
  IS_REFUSED,     /* the call is an error of order */
  STOPS_STEP,     /* the next step is an error of order */
} SetterKind;

enum {
  OF_RANK    = 1, /* ranks may have different values */
  COLLECTIVE = 2, /* a call by one rank waits for the others */
  LOGICAL    = 4  /* it does in a debugging PETSc */
};

typedef struct _Setter {
  const char *name, *options;
  PetscErrorCode (*set)(Run *);
  SetterKind  kind;
  int         flags;
  const char *key, *value; /* of MuonSetParameter(), where set is Set_ByKey() */
} Setter;

static inline PetscReal SettersNaN(void)
{
  volatile PetscReal zero = 0;

  return zero / zero;
}

static inline PetscReal SettersInf(void)
{
  volatile PetscReal zero = 0;

  return 1 / zero;
}

static inline PetscErrorCode RunObjective(Muon muon, PetscReal *loss, void *ctx)
{
  Run            *run      = (Run *)ctx;
  TestProblem    *p        = &run->problem;
  const PetscReal zero[64] = {0};
  PetscReal       bad[64];
  PetscInt        step;

  PetscFunctionBegin;
  *loss = 0;
  if (run->idle == PETSC_FALSE) PetscCall(TestObjective(muon, loss, p));
  else {
    for (PetscInt l = 0; l < p->n; l++) PetscCall(TestSetGradient(p, l, zero));
  }
  PetscCall(MuonGetStepNumber(muon, &step));
  if (run->nan == PETSC_FALSE || step != 3 || p->rank != p->size - 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt e = 0; e < 64; e++) bad[e] = e == 3 ? SettersNaN() : 1;
  PetscCall(TestSetGradient(p, 0, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another one, that knows no NaN */
static inline PetscErrorCode RunSoundObjective(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  ((Run *)ctx)->nan = PETSC_FALSE;
  PetscCall(RunObjective(muon, loss, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode RunMonitor(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  ((Run *)ctx)->calls++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Objects of a run; what is not there yet is made by the call */
static inline Muon RunMuon(Run *run)
{
  return run->problem.muon;
}

static inline MuonLayer RunLayer(Run *run, PetscInt l)
{
  return run->problem.layer[l];
}

static inline MuonLMO RunLMO(Run *run, PetscInt l)
{
  MuonLMO lmo = NULL;

  PetscCallAbort(PETSC_COMM_SELF, MuonLayerGetLMO(RunLayer(run, l), &lmo));
  return lmo;
}

static inline MuonPolar RunPolar(Run *run)
{
  MuonPolar polar = NULL;

  PetscCallAbort(PETSC_COMM_SELF, MuonLMOGetPolar(RunLMO(run, 0), &polar));
  return polar;
}

static inline MuonExchange RunExchange(Run *run)
{
  MuonExchange exchange = NULL;

  PetscCallAbort(PETSC_COMM_SELF, MuonGetExchange(RunMuon(run), &exchange));
  return exchange;
}

/*
   The compressor for all layers before the set-up, that of the first layer's worker after it: only the first
   layer has one that is not identity
*/
static inline MuonCompressor RunUp(Run *run)
{
  MuonCompressor c = NULL;

  if (run->late == PETSC_TRUE) PetscCallAbort(PETSC_COMM_SELF, MuonEF21GetLayerCompressors(RunMuon(run), RunLayer(run, 0), &c, NULL));
  else PetscCallAbort(PETSC_COMM_SELF, MuonEF21GetCompressor(RunMuon(run), &c));
  return c;
}

static inline MuonCompressor RunAll(Run *run, PetscBool server)
{
  MuonCompressor c = NULL;

  if (server == PETSC_TRUE) PetscCallAbort(PETSC_COMM_SELF, MuonEF21GetServerCompressor(RunMuon(run), &c));
  else PetscCallAbort(PETSC_COMM_SELF, MuonEF21GetCompressor(RunMuon(run), &c));
  return c;
}

static inline PetscErrorCode RunSchedule(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx)
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
SETTER(LayerRate, MuonLayerSetLearningRate(RunLayer(run, 1), (PetscReal)0.25))
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
SETTER(Layer, MuonAddLayer(RunMuon(run), "more", run->problem.W[0], NULL))
SETTER(Downlink, TestSetOfMuonType(RunMuon(run), MUONEF21, "ef21_downlink", "step"))
SETTER(LayerDownlink, MuonParametersAssign((PetscObject)RunLayer(run, 0), "ef21_downlink", (double)MUON_DOWNLINK_STEP))
SETTER(Init, TestSetOfMuonType(RunMuon(run), MUONEF21, "ef21_init", "gradient"))
SETTER(AggregateErrorInterval, TestSetOfMuonType(RunMuon(run), MUONEF21, "ef21_aggregate_error_interval", "1"))
SETTER(Measure, MuonEF21SetMonitorCompression(RunMuon(run), PETSC_TRUE))
SETTER(SignDirection, TestSetOfMuonType(RunMuon(run), MUONSIGN, "sign_direction", "gradient"))
SETTER(SignUpdate, TestSetOfMuonType(RunMuon(run), MUONSIGN, "sign_update", "frobenius"))
SETTER(SignTie, TestSetOfMuonType(RunMuon(run), MUONSIGN, "sign_tie", "minus"))
SETTER(SignMeasure, TestSetOfMuonType(RunMuon(run), MUONSIGN, "sign_measure", "true"))
/* Layers */
SETTER(LayerType, MuonLayerSetType(RunLayer(run, 0), MUONLAYERFROZEN))
SETTER(TypeOfFrozen, MuonLayerSetType(RunLayer(run, 0), MUONLAYERLMO))
SETTER(Scale, MuonLayerSetScale(RunLayer(run, 1), (PetscReal)2.5))
SETTER(LayerFactor, LayerSetText(RunLayer(run, 0), "shape_factor", MuonShapeFactors[MUON_SHAPE_FACTOR_MOONLIGHT]))
SETTER(LayerMomentum, LayerSet(RunLayer(run, 0), "momentum", (PetscReal)0.5))
SETTER(LayerDecay, LayerSet(RunLayer(run, 1), "weight_decay", (PetscReal)0.5))
SETTER(Blocks, MuonLayerSetBlocks(RunLayer(run, 0), 2, NULL, 1, NULL))
SETTER(Betas, LayerSet(RunLayer(run, 2), "adamw_beta1", (PetscReal)0.5))
SETTER(Epsilon, LayerSet(RunLayer(run, 2), "adamw_epsilon", (PetscReal)0.5))
/* Norms */
SETTER(LMOType, MuonLMOSetType(RunLMO(run, 0), MUONLMOMAX))
SETTER(LMOPrefix, MuonLMOSetOptionsPrefix(RunLMO(run, 0), "some_"))
SETTER(Mixed, MuonObjectSetParameter((PetscObject)RunLMO(run, 0), "lmo_mixed_exponent_p", "3"))
SETTER(Schatten, MuonObjectSetParameter((PetscObject)RunLMO(run, 0), "lmo_schatten_exponent", "3"))
/* Polar factors */
static const PetscReal SetterCoefficients[3] = {(PetscReal)1.5, (PetscReal)-0.5, 0};
SETTER(PolarType, MuonPolarSetType(RunPolar(run), MUONPOLARNEWTONSCHULZ))
SETTER(PolarPrefix, MuonPolarSetOptionsPrefix(RunPolar(run), "some_"))
SETTER(PolarSteps, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_steps", "3"))
SETTER(Coefficients, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_coefficients", "kj"))
SETTER(CoefficientValues, MuonPolarSetCoefficientValues(RunPolar(run), 3, SetterCoefficients))
SETTER(PolarPrecision, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_precision", "single"))
SETTER(Tolerance, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_tolerance", "0.25"))
SETTER(Normalization, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_normalization", "spectral"))
SETTER(Power, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_power_iterations", "1"))
SETTER(Restart, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_gram_restart", "1"))
SETTER(Poles, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_zolotarev_poles", "2"))
SETTER(PolesInterval, MuonObjectSetParameter((PetscObject)RunPolar(run), "lmo_polar_zolotarev_interval", "0.25"))
/* Compressors of a layer */
SETTER(CompressorType, MuonCompressorSetType(RunUp(run), MUONCOMPRESSORNATURAL))
SETTER(CompressorPrefix, MuonCompressorSetOptionsPrefix(RunUp(run), "some_"))
SETTER(Ratio, MuonCompressorSetRatio(RunUp(run), (PetscReal)0.5))
SETTER(Rank, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_rank", "2"))
SETTER(Bits, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_bits", "6"))
SETTER(Values, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_values", "bf16"))
SETTER(LineNorm, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_line_norm", "1"))
SETTER(IndexBits, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_paper_index_bits", "26"))
SETTER(TopSVD, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_topsvd_schatten", "1"))
SETTER(Sweeps, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_powersgd_sweeps", "3"))
SETTER(RankKMethod, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_rankk_method", "range"))
SETTER(Oversampling, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_powersgd_oversampling", "2"))
SETTER(BlockLength, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_qsgd_block_length", "16"))
SETTER(BlockNorm, MuonObjectSetParameter((PetscObject)(RunUp(run)), "compressor_qsgd_block_norm", "l2"))
/* Those that layers start from */
SETTER(AllType, MuonCompressorSetType(RunAll(run, PETSC_FALSE), MUONCOMPRESSORNATURAL))
SETTER(AllRatio, MuonCompressorSetRatio(RunAll(run, PETSC_FALSE), (PetscReal)0.5))
SETTER(AllValues, MuonObjectSetParameter((PetscObject)(RunAll(run, PETSC_FALSE)), "compressor_values", "single"))
SETTER(AllServer, MuonCompressorSetType(RunAll(run, PETSC_TRUE), MUONCOMPRESSORNATURAL))
/* The exchange */
SETTER(ExchangeType, MuonExchangeSetType(RunExchange(run), MUONEXCHANGESTAR))
SETTER(ExchangeMode, MuonExchangeSetMode(RunExchange(run), MUON_EXCHANGE_MODE_GATHER))
SETTER(Assignment, MuonObjectSetParameter((PetscObject)RunExchange(run), "muon_exchange_assignment", "roundrobin"))

static PetscErrorCode Set_ByKey(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonSetParameter(RunMuon(run), run->setter->key, run->setter->value));
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
  {"MuonSetLearningRate", DENSE, Set_Rate, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetLearningRate, ef21", UP "topk", Set_Rate, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetSchedule", DENSE "-muon_max_steps 16", Set_Schedule, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetScheduleWarmup", DENSE, Set_Warmup, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetScheduleConstant", DENSE "-muon_max_steps 16 -muon_schedule trapezoid -muon_schedule_constant 0.9", Set_Constant, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetScheduleMinimum", DENSE "-muon_schedule linear -muon_max_steps 16", Set_Minimum, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetMomentumWarmup", DENSE, Set_ByKey, TAKES_EFFECT, 0, "muon_momentum_warmup", "16"},
  {"MuonSetMomentumWarmup from 0", DENSE "-muon_momentum 0", Set_ByKey, IS_REFUSED, 0, "muon_momentum_warmup", "16"},
  {"MuonSetMomentumWarmupStart", UP "topk -muon_momentum_warmup 16", Set_ByKey, TAKES_EFFECT, 0, "muon_momentum_warmup_start", "0.25"},
  {"MuonSetWeightDecayStyle", DENSE "-muon_weight_decay 0.5 -muon_momentum 0", Set_DecayStyle, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetWeightDecayStyle, cautious", DENSE "-muon_weight_decay 0.5 -muon_layer_e_type adamw", Set_Cautious, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetClip", DENSE "-muon_layer_e_type sgd -muon_clip 0.5", Set_ByKey, TAKES_EFFECT, 0, "muon_clip", "0.0625"},
  {"MuonSetClip, worker", UP "topk -muon_layer_e_type sgd -muon_clip 0.5", Set_ByKey, TAKES_EFFECT, 0, "muon_clip", "0.0625"},
  {"MuonSetClip from 0", DENSE "-muon_layer_e_type sgd", Set_ByKey, IS_REFUSED, 0, "muon_clip", "0.0625"},
  {"MuonSetClip to 0", DENSE "-muon_layer_e_type sgd -muon_clip 0.5", Set_ByKey, IS_REFUSED, 0, "muon_clip", "0"},
  {"MuonSetClipLayers", DENSE "-muon_layer_e_type sgd -muon_clip 0.5", Set_ByKey, TAKES_EFFECT, 0, "muon_clip_layers", "all"},
  {"MuonSetLayerTypes", DENSE, Set_Match, IS_REFUSED, 0, NULL, NULL},
  {"MuonSetAdamWLearningRate", DENSE "-muon_layer_e_type adamw", Set_AdamWRate, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetAdamWWeightDecay", DENSE "-muon_layer_e_type nadamw", Set_AdamWDecay, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetAdamWBetas", DENSE "-muon_layer_e_type adamw", Set_AllBetas, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetAdamWEpsilon", DENSE "-muon_layer_e_type nadamw", Set_AllEpsilon, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetSGDLearningRate", DENSE "-muon_layer_e_type sgd", Set_ByKey, TAKES_EFFECT, 0, "muon_sgd_learning_rate", "0.25"},
  {"MuonSetSGDWeightDecay", DENSE "-muon_layer_e_type sgd", Set_ByKey, TAKES_EFFECT, 0, "muon_sgd_weight_decay", "0.5"},
  {"MuonSetMeasureUpdateRMS", DENSE "-muon_layer_e_type adamw", Set_ByKey, WITHOUT_EFFECT, 0, "muon_measure_update_rms", "true"},
  {"MuonSetCheckWeights", UP "topk", Set_ByKey, WITHOUT_EFFECT, 0, "muon_check_weights", "false"},
  {"MuonSetScheduleFunction", UP "topk", Set_Function, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetPreset", DENSE, Set_Preset, IS_REFUSED, 0, NULL, NULL},
  {"MuonLayerSetLearningRate", DENSE, Set_LayerRate, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLayerSetTensor", DENSE, Set_Tensor, IS_REFUSED, 0, NULL, NULL},
  {"MuonSetMomentum", DENSE, Set_Momentum, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetMomentum, worker", DENSE "-muon_momentum_at worker", Set_Momentum, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetMomentum, ef21", UP "topk", Set_Momentum, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetMomentum from 0", UP "topk -muon_momentum 0", Set_Momentum, IS_REFUSED, 0, NULL, NULL},
  {"MuonSetMomentum from 0, dense", DENSE "-muon_momentum 0", Set_Momentum, IS_REFUSED, 0, NULL, NULL},
  {"MuonSetMomentumStyle", DENSE, Set_Style, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetDampening", UP "natural -muon_momentum_style sgd", Set_ByKey, TAKES_EFFECT, 0, "muon_dampening", "0.75"},
  {"MuonSetNesterov", DENSE, Set_Nesterov, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetMomentumAt", DENSE, Set_ByKey, IS_REFUSED, 0, "muon_momentum_at", "worker"},
  {"MuonSetWeightDecay", DENSE, Set_Decay, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonSetShapeFactor", DENSE, Set_ByKey, TAKES_EFFECT, 0, "muon_shape_factor", "moonlight"},
  {"MuonSetMaxSteps", DENSE "-muon_schedule linear -muon_max_steps 32", Set_MaxSteps, TAKES_EFFECT, 0, NULL, NULL},
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
  {"MuonSetDeviceMPI", DENSE, Set_ByKey, IS_REFUSED, LOGICAL, "muon_device_mpi", "true"},
  {"MuonSetDeviceStream", DENSE, Set_DeviceStream, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonMonitorSet", DENSE, Set_Monitor, TAKES_EFFECT, OF_RANK, NULL, NULL},
  {"MuonMonitorCancel", DENSE "-monitor", Set_Cancel, TAKES_EFFECT, OF_RANK, NULL, NULL},
  {"MuonMonitorSetCSV", DENSE, Set_CSV, WITHOUT_EFFECT, COLLECTIVE, NULL, NULL},
  {"MuonMonitorSetInterval", UP "topk -measure", Set_ByKey, TAKES_EFFECT, LOGICAL, "muon_monitor_interval", "4"},
  {"MuonSetObjectiveAndGradient", DENSE "-bad_gradient", Set_Objective, TAKES_EFFECT, OF_RANK, NULL, NULL},
  {"MuonAddLayer", DENSE, Set_Layer, IS_REFUSED, 0, NULL, NULL},
  {"ef21_downlink", UP "topk -lmo_type rowsum", Set_Downlink, IS_REFUSED, LOGICAL, NULL, NULL},
  {"MuonEF21SetLayerDownlink", UP "topk -lmo_type rowsum", Set_LayerDownlink, IS_REFUSED, LOGICAL, NULL, NULL},
  {"ef21_init", UP "topk", Set_Init, IS_REFUSED, 0, NULL, NULL},
  {"ef21_aggregate_error_interval", UP "topk", Set_AggregateErrorInterval, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonEF21SetMonitorCompression", UP "topk", Set_Measure, TAKES_EFFECT, LOGICAL, NULL, NULL},
  {"sign_direction", SIGN, Set_SignDirection, IS_REFUSED, LOGICAL, NULL, NULL},
  {"sign_update", SIGN, Set_SignUpdate, IS_REFUSED, LOGICAL, NULL, NULL},
  {"sign_tie", SIGN, Set_SignTie, IS_REFUSED, LOGICAL, NULL, NULL},
  {"sign_measure", SIGN, Set_SignMeasure, TAKES_EFFECT, LOGICAL, NULL, NULL},
  {"MuonLayerSetType", DENSE, Set_LayerType, IS_REFUSED, 0, NULL, NULL},
  {"MuonLayerSetType, frozen before", DENSE "-muon_layer_a_type frozen", Set_TypeOfFrozen, IS_REFUSED, 0, NULL, NULL},
  {"MuonLayerSetScale", DENSE, Set_Scale, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLayerSetShapeFactor", DENSE, Set_LayerFactor, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLayerSetMomentum", DENSE, Set_LayerMomentum, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLayerSetMomentum, ef21", UP "topk", Set_LayerMomentum, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLayerSetMomentum from 0", UP "topk -muon_layer_a_momentum 0", Set_LayerMomentum, IS_REFUSED, 0, NULL, NULL},
  {"MuonLayerSetMomentum from 0, dense", DENSE "-muon_layer_a_momentum 0", Set_LayerMomentum, IS_REFUSED, 0, NULL, NULL},
  {"MuonLayerSetWeightDecay", DENSE, Set_LayerDecay, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLayerSetBlocks", DENSE, Set_Blocks, IS_REFUSED, 0, NULL, NULL},
  {"MuonLayerAdamWSetBetas", DENSE "-muon_layer_e_type adamw", Set_Betas, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLayerAdamWSetEpsilon", DENSE "-muon_layer_e_type nadamw", Set_Epsilon, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLMOSetType", DENSE, Set_LMOType, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLMOSetOptionsPrefix", DENSE, Set_LMOPrefix, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonLMOMixedSetExponents", DENSE "-muon_layer_a_lmo_type mixed", Set_Mixed, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonLMOSchattenSetExponent", DENSE "-muon_layer_a_lmo_type schatten", Set_Schatten, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarSetType", DENSE, Set_PolarType, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarSetOptionsPrefix", DENSE, Set_PolarPrefix, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonPolarSetSteps", SCHULZ, Set_PolarSteps, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarSetCoefficients", SCHULZ "-lmo_polar_coefficients quintic", Set_Coefficients, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarSetCoefficientValues", SCHULZ, Set_CoefficientValues, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarSetPrecision", SCHULZ "-lmo_polar_precision double", Set_PolarPrecision, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarSetTolerance", DENSE "-lmo_polar_type zolotarev -lmo_polar_tolerance 1e-3", Set_Tolerance, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarSetNormalization", SCHULZ, Set_Normalization, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarSetPowerIterations", SCHULZ "-lmo_polar_normalization spectral -lmo_polar_power_iterations 12", Set_Power, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarGramSetRestart", DENSE "-lmo_polar_type gram", Set_Restart, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarZolotarevSetPoles", DENSE "-lmo_polar_type zolotarev", Set_Poles, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonPolarZolotarevSetInterval", DENSE "-lmo_polar_type zolotarev", Set_PolesInterval, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorSetType", UP "topk", Set_CompressorType, IS_REFUSED, 0, NULL, NULL},
  {"MuonCompressorSetOptionsPrefix", UP "topk", Set_CompressorPrefix, WITHOUT_EFFECT, OF_RANK, NULL, NULL},
  {"MuonCompressorSetRatio", UP "topk", Set_Ratio, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorSetRatio, random", UP "randk", Set_Ratio, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorSetRank", UP "rankk -ef21_compressor_rank 1", Set_Rank, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorSetBits", UP "qsgd", Set_Bits, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorSetValues", UP "topk -ef21_compressor_values native", Set_Values, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorSetLineNorm", UP "rowtopk -ef21_compressor_ratio 0.4", Set_LineNorm, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorSetPaperIndexBits", UP "topk", Set_IndexBits, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorTopSVDSetSchatten", UP "topsvd -measure", Set_TopSVD, TAKES_EFFECT, 0, NULL, NULL},
  {"compressor_rankk_method", UP "rankk -ef21_compressor_rank 1", Set_RankKMethod, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorPowerSGDSetSweeps", UP "powersgd -ef21_compressor_rank 1", Set_Sweeps, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorPowerSGDSetOversampling", UP "powersgd -ef21_compressor_rank 1", Set_Oversampling, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorQSGDSetBlockLength", UP "qsgd", Set_BlockLength, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonCompressorQSGDSetBlockNorm", UP "qsgd", Set_BlockNorm, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonEF21GetCompressor, type", UP "topk", Set_AllType, IS_REFUSED, 0, NULL, NULL},
  {"MuonEF21GetCompressor, ratio", UP "topk", Set_AllRatio, TAKES_EFFECT, 0, NULL, NULL},
  {"MuonEF21GetCompressor, values", EF21, Set_AllValues, IS_REFUSED, 0, NULL, NULL},
  {"MuonEF21GetCompressor, values of others", UP "topk", Set_AllValues, IS_REFUSED, 0, NULL, NULL},
  {"MuonEF21GetServerCompressor", UP "topk", Set_AllServer, IS_REFUSED, 0, NULL, NULL},
  {"MuonExchangeSetType", DENSE, Set_ExchangeType, STOPS_STEP, 0, NULL, NULL},
  {"MuonExchangeSetMode", DENSE "-muon_exchange_mode reduce", Set_ExchangeMode, STOPS_STEP, 0, NULL, NULL},
  {"muon_exchange_assignment", DENSE, Set_Assignment, STOPS_STEP, 0, NULL, NULL},
};
#define NSETTERS ((PetscInt)(sizeof(Setters) / sizeof(Setters[0])))

/*
   Before the set-up, after the options, where a call makes the value that of the whole run; set is NULL where
   there is none
*/
static inline PetscErrorCode RunCreate(const Setter *setter, PetscErrorCode (*set)(Run *), Run *run)
{
  PetscBool has;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->setter = setter;
  PetscCall(TestCreate(PETSC_COMM_WORLD, MUONEF21, SETTERS_LAYERS, SetterShapes, -1, &run->problem));
  run->problem.noise = 2;
  PetscCall(MuonSetObjectiveAndGradient(run->problem.muon, RunObjective, run));
  PetscCall(PetscOptionsCreate(&run->options));
  PetscCall(PetscOptionsPush(run->options));
  PetscCall(PetscOptionsInsertString(NULL, setter->options));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-bad_gradient", &run->nan));
  PetscCall(MuonSetFromOptions(run->problem.muon));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-monitor", &has));
  if (has == PETSC_TRUE) PetscCall(MuonMonitorSet(run->problem.muon, RunMonitor, run, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-measure", &has));
  if (has == PETSC_TRUE) PetscCall(MuonEF21SetMonitorCompression(run->problem.muon, PETSC_TRUE));
  if (set != NULL) PetscCall((*set)(run));
  PetscCall(MuonSetUp(run->problem.muon));
  run->idle = run->late = PETSC_TRUE;
  for (PetscInt s = 0; s < 2; s++) PetscCall(MuonStep(run->problem.muon));
  run->idle  = PETSC_FALSE;
  run->calls = run->polarcalls = 0;
  PetscCall(TestStart(&run->problem));
  PetscCall(MuonWeightsChanged(run->problem.muon));
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode RunDestroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(TestDestroy(&run->problem));
  PetscCall(PetscOptionsDestroy(&run->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A call that may be an error, which is printed by nobody */
static inline PetscErrorCode RunTry(Run *run, PetscErrorCode (*call)(Run *), PetscErrorCode *ierr)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsPush(run->options));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = (*call)(run);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode RunOneStep(Run *run)
{
  return MuonStep(run->problem.muon);
}

/* All that can be seen of some steps */
#define RUN_NUMBERS (SETTERS_STEPS * 16 + 96)
static inline PetscErrorCode RunSteps(Run *run, PetscInt steps, double seen[RUN_NUMBERS])
{
  TestProblem *p = &run->problem;
  PetscInt     k = 0;
  PetscReal    rows[96];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(seen, RUN_NUMBERS));
  for (PetscInt s = 0; s < steps; s++) {
    MuonTraffic         traffic;
    MuonConvergedReason reason;
    PetscInt64          count;
    PetscReal           loss, dual;
    PetscInt            step;
    MuonType            type;
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
    seen[k++] = (double)run->polarcalls;
    PetscCall(MuonGetType(p->muon, &type));
    PetscCall(PetscStrcmp(type, MUONEF21, &ef21));
    if (ef21 == PETSC_TRUE) {
      MuonEF21Compression c;

      PetscCall(MuonEF21GetLayerCompression(p->muon, p->layer[0], &c));
      seen[k++] = (double)c.bound[0];
    } else k++;
  }
  PetscCheck(TestTotal(p) <= 96 && k + TestTotal(p) <= RUN_NUMBERS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too much to see");
  PetscCall(TestGetAllWeights(p, rows));
  for (PetscInt e = 0; e < TestTotal(p); e++) seen[k++] = (double)rows[e];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On any rank */
static inline PetscErrorCode RunSame(const double a[RUN_NUMBERS], const double b[RUN_NUMBERS], PetscBool *same)
{
  int mine = memcmp(a, b, RUN_NUMBERS * sizeof(*a)) == 0, all;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  *same = all != 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
