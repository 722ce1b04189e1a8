static char help[] = "Every setter in the middle of a run: the next steps are those of a run that had the value from its beginning, or the call, or the step, is an error of order that leaves all as it was; illegal values are refused.\n\n";

#include "setters_common.h"

static PetscErrorCode Differ(const char name[], const double a[RUN_NUMBERS], const double b[RUN_NUMBERS])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < RUN_NUMBERS; k++) {
    if (a[k] != b[k]) PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "%s: number %" PetscInt_FMT " is %.17g, expected %.17g\n", name, k, a[k], b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSetter(const Setter *setter)
{
  Run            p, q, r; /* with a call in the middle, without any, with a call before the set-up */
  double         a[RUN_NUMBERS], b[RUN_NUMBERS], c[RUN_NUMBERS], before[RUN_NUMBERS], after[RUN_NUMBERS];
  PetscErrorCode ierr;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(RunCreate(setter, NULL, &p));
  PetscCall(RunCreate(setter, NULL, &q));
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
    if (setter->kind == TAKES_EFFECT) {
      PetscCheck(same == PETSC_FALSE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the call has no effect", setter->name);
      PetscCall(RunCreate(setter, setter->set, &r));
      PetscCall(RunSteps(&r, SETTERS_STEPS, c));
      PetscCall(RunSame(a, c, &same));
      if (same == PETSC_FALSE) PetscCall(Differ(setter->name, a, c));
      PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the steps are not those of a run that had the value from the beginning", setter->name);
      PetscCall(RunDestroy(&r));
    } else {
      if (same == PETSC_FALSE) PetscCall(Differ(setter->name, a, b));
      PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the call changes the steps", setter->name);
    }
  }
  PetscCall(RunDestroy(&p));
  PetscCall(RunDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that no setter takes, before and after the set-up */
typedef struct {
  const char *name, *options;
  PetscErrorCode (*set)(Run *);
} Illegal;

#define ILLEGAL(name, call) SETTER(Illegal_##name, call)
ILLEGAL(RateNaN, MuonSetLearningRate(RunMuon(run), SettersNaN()))
ILLEGAL(RateInf, MuonSetLearningRate(RunMuon(run), SettersInf()))
ILLEGAL(RateNegative, MuonSetLearningRate(RunMuon(run), -1))
ILLEGAL(Schedule, MuonSetSchedule(RunMuon(run), (MuonScheduleType)4))
ILLEGAL(ScheduleNegative, MuonSetSchedule(RunMuon(run), (MuonScheduleType)-1))
ILLEGAL(Warmup, MuonSetScheduleWarmup(RunMuon(run), -1))
ILLEGAL(ConstantNaN, MuonSetScheduleConstant(RunMuon(run), SettersNaN()))
ILLEGAL(Constant, MuonSetScheduleConstant(RunMuon(run), 1))
ILLEGAL(ConstantNegative, MuonSetScheduleConstant(RunMuon(run), -1))
ILLEGAL(Minimum, MuonSetScheduleMinimum(RunMuon(run), 2))
ILLEGAL(MinimumNaN, MuonSetScheduleMinimum(RunMuon(run), SettersNaN()))
ILLEGAL(MomentumWarmup, MuonSetMomentumWarmup(RunMuon(run), -1))
ILLEGAL(MomentumStart, MuonSetMomentumWarmupStart(RunMuon(run), 1))
ILLEGAL(DecayStyle, MuonSetWeightDecayStyle(RunMuon(run), (MuonWeightDecayStyle)3))
ILLEGAL(ClipNaN, MuonSetClip(RunMuon(run), SettersNaN()))
ILLEGAL(ClipNegative, MuonSetClip(RunMuon(run), -1))
ILLEGAL(ClipLayers, MuonSetClipLayers(RunMuon(run), (MuonClipLayers)2))
ILLEGAL(MatchNoRule, MuonSetRuleMatch(RunMuon(run), "a"))
ILLEGAL(MatchNoPattern, MuonSetRuleMatch(RunMuon(run), ":sgd"))
ILLEGAL(MatchRule, MuonSetRuleMatch(RunMuon(run), "z:sgd,y:nosuch"))
ILLEGAL(AdamWRate, MuonSetAdamWLearningRate(RunMuon(run), SettersInf()))
ILLEGAL(AdamWDecay, MuonSetAdamWWeightDecay(RunMuon(run), (PetscReal)-0.5))
ILLEGAL(AllBetas, MuonSetAdamWBetas(RunMuon(run), (PetscReal)0.5, 1))
ILLEGAL(AllEpsilon, MuonSetAdamWEpsilon(RunMuon(run), 0))
ILLEGAL(SGDRate, MuonSetSGDLearningRate(RunMuon(run), SettersNaN()))
ILLEGAL(SGDDecay, MuonSetSGDWeightDecay(RunMuon(run), SettersInf()))
ILLEGAL(Preset, MuonSetPreset(RunMuon(run), "nosuch"))
ILLEGAL(LayerRate, MuonLayerSetLearningRate(RunLayer(run, 0), SettersInf()))
ILLEGAL(TensorKind, MuonLayerSetTensor(RunLayer(run, 2), 3, SetterDims, (MuonTensorKind)2))
ILLEGAL(MomentumNaN, MuonSetMomentum(RunMuon(run), SettersNaN()))
ILLEGAL(Momentum, MuonSetMomentum(RunMuon(run), 1))
ILLEGAL(MomentumNegative, MuonSetMomentum(RunMuon(run), (PetscReal)-0.5))
ILLEGAL(Style, MuonSetMomentumStyle(RunMuon(run), (MuonMomentumStyle)2))
ILLEGAL(DampeningNaN, MuonSetDampening(RunMuon(run), SettersNaN()))
ILLEGAL(Dampening, MuonSetDampening(RunMuon(run), 1))
ILLEGAL(Nesterov, MuonSetNesterov(RunMuon(run), (MuonNesterovType)4))
ILLEGAL(NesterovNegative, MuonSetNesterov(RunMuon(run), (MuonNesterovType)-1))
ILLEGAL(MomentumAt, MuonSetMomentumAt(RunMuon(run), (MuonMomentumAt)2))
ILLEGAL(DecayNaN, MuonSetWeightDecay(RunMuon(run), SettersNaN()))
ILLEGAL(DecayInf, MuonSetWeightDecay(RunMuon(run), SettersInf()))
ILLEGAL(DecayNegative, MuonSetWeightDecay(RunMuon(run), -1))
ILLEGAL(Factor, MuonSetShapeFactor(RunMuon(run), (MuonShapeFactor)4))
ILLEGAL(MaxSteps, MuonSetMaxSteps(RunMuon(run), -1))
ILLEGAL(State, MuonSetStatePrecision(RunMuon(run), (MuonStatePrecision)2))
ILLEGAL(NaN, MuonSetNaNPolicy(RunMuon(run), (MuonNaNPolicy)3))
ILLEGAL(Interval, MuonMonitorSetInterval(RunMuon(run), 0))
ILLEGAL(Monitor, MuonMonitorSet(RunMuon(run), NULL, NULL, NULL))
ILLEGAL(Type, MuonSetType(RunMuon(run), "nosuch"))
ILLEGAL(Downlink, MuonEF21SetDownlink(RunMuon(run), (MuonDownlink)2))
ILLEGAL(LayerDownlink, MuonEF21SetLayerDownlink(RunMuon(run), RunLayer(run, 0), (MuonDownlink)2))
ILLEGAL(Init, MuonEF21SetInit(RunMuon(run), (MuonEF21Init)2))
ILLEGAL(Rule, MuonLayerSetRule(RunLayer(run, 0), "nosuch"))
ILLEGAL(ScaleNaN, MuonLayerSetScale(RunLayer(run, 0), SettersNaN()))
ILLEGAL(ScaleInf, MuonLayerSetScale(RunLayer(run, 0), SettersInf()))
ILLEGAL(ScaleNegative, MuonLayerSetScale(RunLayer(run, 0), -1))
ILLEGAL(LayerFactor, MuonLayerSetShapeFactor(RunLayer(run, 0), (MuonShapeFactor)4))
ILLEGAL(LayerMomentumNaN, MuonLayerSetMomentum(RunLayer(run, 0), SettersNaN()))
ILLEGAL(LayerMomentum, MuonLayerSetMomentum(RunLayer(run, 0), 1))
ILLEGAL(LayerDecayNaN, MuonLayerSetWeightDecay(RunLayer(run, 0), SettersNaN()))
ILLEGAL(LayerDecay, MuonLayerSetWeightDecay(RunLayer(run, 0), SettersInf()))
ILLEGAL(Blocks, MuonLayerSetBlocks(RunLayer(run, 0), 4, NULL, 1, NULL))
ILLEGAL(BetaNaN, MuonLayerAdamWSetBetas(RunLayer(run, 2), SettersNaN(), (PetscReal)0.9))
ILLEGAL(Beta1, MuonLayerAdamWSetBetas(RunLayer(run, 2), 1, (PetscReal)0.9))
ILLEGAL(Beta2, MuonLayerAdamWSetBetas(RunLayer(run, 2), (PetscReal)0.9, (PetscReal)-0.5))
ILLEGAL(EpsilonNaN, MuonLayerAdamWSetEpsilon(RunLayer(run, 2), SettersNaN()))
ILLEGAL(EpsilonInf, MuonLayerAdamWSetEpsilon(RunLayer(run, 2), SettersInf()))
ILLEGAL(Epsilon, MuonLayerAdamWSetEpsilon(RunLayer(run, 2), 0))
ILLEGAL(LMOType, MuonLMOSetType(RunLMO(run, 0), "nosuch"))
ILLEGAL(MixedNaN, MuonLMOMixedSetExponents(RunLMO(run, 0), SettersNaN(), 2))
ILLEGAL(Mixed, MuonLMOMixedSetExponents(RunLMO(run, 0), 2, (PetscReal)0.5))
ILLEGAL(SchattenNaN, MuonLMOSchattenSetExponent(RunLMO(run, 0), SettersNaN()))
ILLEGAL(Schatten, MuonLMOSchattenSetExponent(RunLMO(run, 0), (PetscReal)0.5))
ILLEGAL(PolarType, MuonPolarSetType(RunPolar(run), "nosuch"))
ILLEGAL(PolarSteps, MuonPolarSetSteps(RunPolar(run), 0))
ILLEGAL(Coefficients, MuonPolarSetCoefficients(RunPolar(run), "nosuch"))
static const PetscReal Zeros[6] = {0};
ILLEGAL(CoefficientValues, MuonPolarSetCoefficientValues(RunPolar(run), 2, Zeros))
ILLEGAL(PolarPrecision, MuonPolarSetPrecision(RunPolar(run), (MuonPolarPrecision)4))
ILLEGAL(ToleranceNaN, MuonPolarSetTolerance(RunPolar(run), SettersNaN()))
ILLEGAL(Tolerance, MuonPolarSetTolerance(RunPolar(run), 1))
ILLEGAL(Normalization, MuonPolarSetNormalization(RunPolar(run), (MuonPolarNormalization)2))
ILLEGAL(Power, MuonPolarSetPowerIterations(RunPolar(run), -7))
ILLEGAL(Poles, MuonPolarZolotarevSetPoles(RunPolar(run), 0))
ILLEGAL(PolesIntervalNaN, MuonPolarZolotarevSetInterval(RunPolar(run), SettersNaN()))
ILLEGAL(PolesInterval, MuonPolarZolotarevSetInterval(RunPolar(run), 2))
ILLEGAL(CompressorType, MuonCompressorSetType(RunUp(run), "nosuch"))
ILLEGAL(RatioNaN, MuonCompressorSetRatio(RunUp(run), SettersNaN()))
ILLEGAL(Ratio, MuonCompressorSetRatio(RunUp(run), 2))
ILLEGAL(RatioZero, MuonCompressorSetRatio(RunUp(run), 0))
ILLEGAL(Rank, MuonCompressorSetRank(RunUp(run), 0))
ILLEGAL(Bits, MuonCompressorSetBits(RunUp(run), 0))
ILLEGAL(Values, MuonCompressorSetValues(RunUp(run), (MuonCompressorValues)5))
ILLEGAL(LineNormNaN, MuonCompressorSetLineNorm(RunUp(run), SettersNaN()))
ILLEGAL(LineNorm, MuonCompressorSetLineNorm(RunUp(run), (PetscReal)0.5))
ILLEGAL(IndexBits, MuonCompressorSetPaperIndexBits(RunUp(run), -7))
ILLEGAL(TopSVDNaN, MuonCompressorTopSVDSetSchatten(RunUp(run), SettersNaN()))
ILLEGAL(TopSVD, MuonCompressorTopSVDSetSchatten(RunUp(run), (PetscReal)0.5))
ILLEGAL(Sweeps, MuonCompressorPowerSGDSetSweeps(RunUp(run), 0))
ILLEGAL(Oversampling, MuonCompressorPowerSGDSetOversampling(RunUp(run), -1))
ILLEGAL(BlockLength, MuonCompressorQSGDSetBlockLength(RunUp(run), 0))
ILLEGAL(BlockNorm, MuonCompressorQSGDSetBlockNorm(RunUp(run), (MuonCompressorBlockNorm)2))
ILLEGAL(ExchangeType, MuonExchangeSetType(RunExchange(run), "nosuch"))
ILLEGAL(ExchangeMode, MuonExchangeSetMode(RunExchange(run), (MuonExchangeMode)3))

#define REFUSED(options, name) \
  { \
    #name, options, Set_Illegal_##name \
  }
static const Illegal Illegals[] = {
  REFUSED(DENSE, RateNaN),
  REFUSED(DENSE, RateInf),
  REFUSED(DENSE, RateNegative),
  REFUSED(DENSE, Schedule),
  REFUSED(DENSE, ScheduleNegative),
  REFUSED(DENSE, Warmup),
  REFUSED(DENSE, ConstantNaN),
  REFUSED(DENSE, Constant),
  REFUSED(DENSE, ConstantNegative),
  REFUSED(DENSE, Minimum),
  REFUSED(DENSE, MinimumNaN),
  REFUSED(DENSE, MomentumWarmup),
  REFUSED(DENSE, MomentumStart),
  REFUSED(DENSE, DecayStyle),
  REFUSED(DENSE, ClipNaN),
  REFUSED(DENSE, ClipNegative),
  REFUSED(DENSE, ClipLayers),
  REFUSED(DENSE, MatchNoRule),
  REFUSED(DENSE, MatchNoPattern),
  REFUSED(DENSE, MatchRule),
  REFUSED(DENSE, AdamWRate),
  REFUSED(DENSE, AdamWDecay),
  REFUSED(DENSE, AllBetas),
  REFUSED(DENSE, AllEpsilon),
  REFUSED(DENSE, SGDRate),
  REFUSED(DENSE, SGDDecay),
  REFUSED(DENSE, Preset),
  REFUSED(DENSE, LayerRate),
  REFUSED(DENSE, TensorKind),
  REFUSED(DENSE, MomentumNaN),
  REFUSED(DENSE, Momentum),
  REFUSED(DENSE, MomentumNegative),
  REFUSED(DENSE, Style),
  REFUSED(DENSE, DampeningNaN),
  REFUSED(DENSE, Dampening),
  REFUSED(DENSE, Nesterov),
  REFUSED(DENSE, NesterovNegative),
  REFUSED(DENSE, MomentumAt),
  REFUSED(DENSE, DecayNaN),
  REFUSED(DENSE, DecayInf),
  REFUSED(DENSE, DecayNegative),
  REFUSED(DENSE, Factor),
  REFUSED(DENSE, MaxSteps),
  REFUSED(DENSE, State),
  REFUSED(DENSE, NaN),
  REFUSED(DENSE, Interval),
  REFUSED(DENSE, Monitor),
  REFUSED(DENSE, Type),
  REFUSED(EF21, Downlink),
  REFUSED(EF21, LayerDownlink),
  REFUSED(EF21, Init),
  REFUSED(DENSE, Rule),
  REFUSED(DENSE, ScaleNaN),
  REFUSED(DENSE, ScaleInf),
  REFUSED(DENSE, ScaleNegative),
  REFUSED(DENSE, LayerFactor),
  REFUSED(DENSE, LayerMomentumNaN),
  REFUSED(DENSE, LayerMomentum),
  REFUSED(DENSE, LayerDecayNaN),
  REFUSED(DENSE, LayerDecay),
  REFUSED(DENSE, Blocks),
  REFUSED(DENSE "-muon_layer_e_rule adamw", BetaNaN),
  REFUSED(DENSE "-muon_layer_e_rule adamw", Beta1),
  REFUSED(DENSE "-muon_layer_e_rule adamw", Beta2),
  REFUSED(DENSE "-muon_layer_e_rule adamw", EpsilonNaN),
  REFUSED(DENSE "-muon_layer_e_rule adamw", EpsilonInf),
  REFUSED(DENSE "-muon_layer_e_rule adamw", Epsilon),
  REFUSED(DENSE, LMOType),
  REFUSED(DENSE "-muon_layer_a_lmo_type mixed", MixedNaN),
  REFUSED(DENSE "-muon_layer_a_lmo_type mixed", Mixed),
  REFUSED(DENSE "-muon_layer_a_lmo_type schatten", SchattenNaN),
  REFUSED(DENSE "-muon_layer_a_lmo_type schatten", Schatten),
  REFUSED(DENSE, PolarType),
  REFUSED(SCHULZ, PolarSteps),
  REFUSED(SCHULZ, Coefficients),
  REFUSED(SCHULZ, CoefficientValues),
  REFUSED(SCHULZ, PolarPrecision),
  REFUSED(DENSE "-lmo_polar_type zolotarev", ToleranceNaN),
  REFUSED(DENSE "-lmo_polar_type zolotarev", Tolerance),
  REFUSED(SCHULZ, Normalization),
  REFUSED(SCHULZ, Power),
  REFUSED(DENSE "-lmo_polar_type zolotarev", Poles),
  REFUSED(DENSE "-lmo_polar_type zolotarev", PolesIntervalNaN),
  REFUSED(DENSE "-lmo_polar_type zolotarev", PolesInterval),
  REFUSED(UP "topk", CompressorType),
  REFUSED(UP "topk", RatioNaN),
  REFUSED(UP "topk", Ratio),
  REFUSED(UP "topk", RatioZero),
  REFUSED(UP "rankk", Rank),
  REFUSED(UP "qsgd", Bits),
  REFUSED(UP "topk", Values),
  REFUSED(UP "columntopk", LineNormNaN),
  REFUSED(UP "columntopk", LineNorm),
  REFUSED(UP "topk", IndexBits),
  REFUSED(UP "topsvd", TopSVDNaN),
  REFUSED(UP "topsvd", TopSVD),
  REFUSED(UP "powersgd", Sweeps),
  REFUSED(UP "powersgd", Oversampling),
  REFUSED(UP "qsgd", BlockLength),
  REFUSED(UP "qsgd", BlockNorm),
  REFUSED(DENSE, ExchangeType),
  REFUSED(DENSE, ExchangeMode),
};
#define NILLEGALS ((PetscInt)(sizeof(Illegals) / sizeof(Illegals[0])))

static const Illegal *illegal; /* whose turn it is */

/* Before the set-up: where it is taken the run stops here */
static PetscErrorCode TryIllegal(Run *run)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = (*illegal->set)(run);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is taken before the set-up", illegal->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckIllegal(void)
{
  const Setter   base = {illegal->name, illegal->options, NULL, WITHOUT_EFFECT, 0};
  Run            p, q;
  double         a[RUN_NUMBERS], b[RUN_NUMBERS];
  PetscErrorCode ierr;
  PetscBool      same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(RunCreate(&base, TryIllegal, &p));
  PetscCall(RunCreate(&base, NULL, &q));
  PetscCall(RunTry(&p, illegal->set, &ierr));
  PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is taken after the set-up", illegal->name);
  PetscCall(RunSteps(&p, SETTERS_STEPS, a));
  PetscCall(RunSteps(&q, SETTERS_STEPS, b));
  PetscCheck(q.error == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the run is no run", illegal->name);
  PetscCall(RunSame(a, b, &same));
  if (same == PETSC_FALSE) PetscCall(Differ(illegal->name, a, b));
  PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s was refused and changes the steps", illegal->name);
  PetscCall(RunDestroy(&p));
  PetscCall(RunDestroy(&q));
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
  for (PetscInt k = 0; k < NILLEGALS; k++) {
    illegal = &Illegals[k];
    PetscCall(PetscStrcmp(illegal->name, only, &match));
    if (only[0] == '\0' || match == PETSC_TRUE) PetscCall(CheckIllegal());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2}}

TEST*/
