static char help[] = "A schedule of the user's: what it is told and what becomes of it; illegal numbers, or other ones on some ranks, are an error on all that leaves everything as it was. The size of updates.\n\n";

#include "ef21_common.h"
#include "layer_parameter.h"

#define STEPS 6

typedef struct {
  TestProblem problem;
  PetscInt    calls, badstep;
  PetscMPIInt badrank; /* -1: all */
  PetscReal   factor, momentum, decay;
} User;

/* Its own formulas, not those of the library */
static PetscErrorCode Schedule(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx)
{
  User     *user = (User *)ctx;
  PetscInt  now;
  PetscReal rate;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &now));
  PetscCheck(now == step, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Called for step %" PetscInt_FMT " in step %" PetscInt_FMT, step, now);
  PetscCheck(PetscAbsReal(*factor - (PetscReal)(step + 1) / 8) <= PETSC_MACHINE_EPSILON && *momentum == (PetscReal)0.5 && *decay == (PetscReal)0.125, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Told %g, %g and %g", (double)*factor, (double)*momentum,
             (double)*decay);
  user->calls++;
  *factor   = 1 / (PetscReal)(step + 1);
  *momentum = step < 3 ? (PetscReal)step / 4 : (PetscReal)0.75;
  *decay    = (PetscReal)step / 16;
  if (step == user->badstep && (user->badrank < 0 || user->badrank == user->problem.rank)) {
    *factor += user->factor;
    *momentum += user->momentum;
    *decay += user->decay;
  }
  PetscCall(MuonGetRate(muon, &rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A problem with the schedule, or whose numbers are set by hand before each step */
static PetscErrorCode Create(MuonType type, PetscBool function, User *user)
{
  TestProblem *p = &user->problem;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(user, sizeof(*user)));
  user->badstep = -1;
  PetscCall(TestCreate(PETSC_COMM_WORLD, type, TEST_LAYERS, TestShapes, -1, p));
  p->noise = 2;
  PetscCall(MuonLayerSetType(p->layer[4], MUONLAYERADAMW));
  PetscCall(MuonSetAdamW(p->muon, (PetscReal)0.25, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetAdamW(p->muon, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, (PetscReal)0.375));
  PetscCall(LayerSet(p->layer[1], "momentum", (PetscReal)0.25));
  PetscCall(LayerSet(p->layer[1], "weight_decay", (PetscReal)0.75));
  PetscCall(MuonSetMomentum(p->muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetWeightDecay(p->muon, (PetscReal)0.125, MUON_WEIGHT_DECAY_CURRENT));
  PetscCall(MuonSetLearningRate(p->muon, (PetscReal)0.5));
  PetscCall(MuonSetSchedule(p->muon, MUON_SCHEDULE_CURRENT, 8, PETSC_CURRENT, PETSC_CURRENT));
  if (function) PetscCall(MuonSetScheduleFunction(p->muon, Schedule, user));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(User *a, User *b, const char what[])
{
  PetscReal x[200], y[200];

  PetscFunctionBegin;
  PetscCheck(TestTotal(&a->problem) <= 200, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many entries");
  PetscCall(TestGetAllWeights(&a->problem, x));
  PetscCall(TestGetAllWeights(&b->problem, y));
  PetscCheck(memcmp(x, y, (size_t)TestTotal(&a->problem) * sizeof(*x)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Powers of two make both ways to the numbers of a step exact */
static PetscErrorCode CheckSteps(MuonType type)
{
  User      user, hand;
  PetscReal rate, momentum, decay;

  PetscFunctionBegin;
  PetscCall(Create(type, PETSC_TRUE, &user));
  PetscCall(Create(type, PETSC_FALSE, &hand));
  PetscCall(MuonSetSchedule(hand.problem.muon, MUON_SCHEDULE_CURRENT, 0, PETSC_CURRENT, PETSC_CURRENT));
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscCall(MuonStep(user.problem.muon));
    PetscCheck(user.calls == s + 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " calls in step %" PetscInt_FMT, user.calls, s);
    PetscCall(MuonGetRate(user.problem.muon, &rate));
    PetscCheck(rate == (PetscReal)0.5 * (1 / (PetscReal)(s + 1)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "rate %g in step %" PetscInt_FMT, (double)rate, s);
    PetscCall(LayerGet(user.problem.layer[0], "momentum", &momentum));
    PetscCall(LayerGet(user.problem.layer[0], "weight_decay", &decay));
    PetscCheck(momentum == (s < 3 ? (PetscReal)s / 4 : (PetscReal)0.75) && decay == (PetscReal)s / 16, PETSC_COMM_SELF, PETSC_ERR_PLIB, "momentum %g and decay %g in step %" PetscInt_FMT, (double)momentum, (double)decay, s);
    PetscCall(MuonSetLearningRate(hand.problem.muon, (PetscReal)0.5 * (1 / (PetscReal)(s + 1))));
    PetscCall(MuonSetAdamW(hand.problem.muon, (PetscReal)0.25 * (1 / (PetscReal)(s + 1)), PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(MuonSetMomentum(hand.problem.muon, momentum, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
    PetscCall(MuonSetWeightDecay(hand.problem.muon, decay, MUON_WEIGHT_DECAY_CURRENT));
    if (s > 0) PetscCall(MuonStep(hand.problem.muon));
    else {
      /* No momentum in the first step, which is kept all the same */
      PetscCall(MuonSetMomentum(hand.problem.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
      PetscCall(MuonSetUp(hand.problem.muon));
      PetscCall(MuonSetMomentum(hand.problem.muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
      PetscCall(MuonStep(hand.problem.muon));
    }
    PetscCall(Compare(&user, &hand, "The steps of a schedule are others than those of the same numbers"));
  }
  PetscCall(TestDestroy(&user.problem));
  PetscCall(TestDestroy(&hand.problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In the middle of a run, on all ranks or on the last; then the same step without it goes on as if nothing
   had been
*/
static PetscErrorCode CheckIllegal(MuonType type, PetscReal factor, PetscReal momentum, PetscReal decay, PetscBool all)
{
  User           user, sound;
  PetscErrorCode ierr, expected;

  PetscFunctionBegin;
  PetscCall(Create(type, PETSC_TRUE, &user));
  PetscCall(Create(type, PETSC_TRUE, &sound));
  user.badstep  = 2;
  user.badrank  = all ? -1 : user.problem.size - 1;
  user.factor   = factor;
  user.momentum = momentum;
  user.decay    = decay;
  for (PetscInt s = 0; s < 2; s++) PetscCall(MuonStep(user.problem.muon));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MuonStep(user.problem.muon);
  PetscCall(PetscPopErrorHandler());
  expected = all || user.problem.size == 1 ? PETSC_ERR_ARG_OUTOFRANGE : PETSC_ERR_ARG_INCOMP;
  PetscCheck(ierr == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %g %g %g: error %d, expected %d", type, (double)factor, (double)momentum, (double)decay, (int)ierr, (int)expected);
  user.badstep = -1;
  for (PetscInt s = 2; s < STEPS; s++) PetscCall(MuonStep(user.problem.muon));
  for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(sound.problem.muon));
  PetscCall(Compare(&user, &sound, "A step that was refused left its traces"));
  PetscCall(TestDestroy(&user.problem));
  PetscCall(TestDestroy(&sound.problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Half(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx)
{
  PetscFunctionBegin;
  *momentum = step == 1 ? (PetscReal)0.5 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where nothing was kept of the momentum of a layer a function that is set later may not ask for one */
static PetscErrorCode CheckUnkept(void)
{
  User           user;
  PetscErrorCode set, step;

  PetscFunctionBegin;
  PetscCall(Create(MUONDENSE, PETSC_FALSE, &user));
  PetscCall(MuonSetMomentum(user.problem.muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetUp(user.problem.muon));
  PetscCall(MuonSetScheduleFunction(user.problem.muon, Half, NULL));
  PetscCall(MuonStep(user.problem.muon));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  set  = MuonSetMomentum(user.problem.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT);
  step = MuonStep(user.problem.muon);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(set == PETSC_ERR_ORDER && step == PETSC_ERR_ORDER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "errors %d and %d", (int)set, (int)step);
  PetscCall(TestDestroy(&user.problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Exact polar factors with Moonlight's factor have updates of 0.2; those of AdamW are what the weights moved
   by, over the rate
*/
static PetscErrorCode CheckUpdates(PetscBool step)
{
  User      user;
  PetscReal before[200], after[200], rms;

  PetscFunctionBegin;
  PetscCall(Create(step ? MUONEF21 : MUONDENSE, PETSC_FALSE, &user));
  PetscCall(MuonSetParameter(user.problem.muon, "muon_shape_factor", "moonlight"));
  PetscCall(MuonSetSchedule(user.problem.muon, MUON_SCHEDULE_CURRENT, 0, PETSC_CURRENT, PETSC_CURRENT));
  for (PetscInt l = 0; l < TEST_LAYERS; l++) PetscCall(LayerSet(user.problem.layer[l], "weight_decay", 0));
  if (step) {
    MuonLMO lmo;

    PetscCall(MuonLayerSetScale(user.problem.layer[5], 3));
    PetscCall(MuonLayerGetLMO(user.problem.layer[5], &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOROWSUM));
    PetscCall(MuonParametersAssign((PetscObject)user.problem.layer[5], "ef21_downlink", (double)MUON_DOWNLINK_STEP));
  }
  PetscCall(MuonStep(user.problem.muon));
  PetscCall(MuonLayerGetUpdateRMS(user.problem.layer[0], &rms));
  PetscCheck(rms == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g where nothing was measured", (double)rms);
  PetscCall(MuonSetParameter(user.problem.muon, "muon_measure_update_rms", "true"));
  PetscCall(TestGetAllWeights(&user.problem, before));
  PetscCall(MuonStep(user.problem.muon));
  PetscCall(TestGetAllWeights(&user.problem, after));
  for (PetscInt l = 0, at = 0; l < TEST_LAYERS; at += TestEntries(&TestShapes[l]), l++) {
    const PetscInt d   = TestEntries(&TestShapes[l]);
    PetscReal      sum = 0, expected;
    PetscMPIInt    owner;

    for (PetscInt e = 0; e < d; e++) sum += (after[at + e] - before[at + e]) * (after[at + e] - before[at + e]);
    expected = PetscSqrtReal(sum / (PetscReal)d) / (PetscReal)(l == 4 ? 0.25 : 0.5);
    PetscCall(MuonLayerGetOwner(user.problem.layer[l], &owner));
    PetscCall(MuonLayerGetUpdateRMS(user.problem.layer[l], &rms));
    if (owner >= 0 && owner != user.problem.rank) expected = -1;
    /* The weights are of size 1 and rounded twice */
    PetscCheck(PetscAbsReal(rms - expected) <= 64 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: root mean square %g, expected %g", TestShapes[l].name, (double)rms, (double)expected);
    if (expected >= 0 && l < 3) PetscCheck(PetscAbsReal(rms - (PetscReal)0.2) <= 64 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: root mean square %g, expected 0.2", TestShapes[l].name, (double)rms);
    /* One entry of each row */
    if (expected >= 0 && l == 5 && step) PetscCheck(PetscAbsReal(rms - 3 / PetscSqrtReal(3)) <= 64 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step as a message: root mean square %g", (double)rms);
  }
  PetscCall(TestDestroy(&user.problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Ones(Muon muon, PetscReal *loss, void *ctx)
{
  MuonLayer layer;
  Vec       g;

  PetscFunctionBegin;
  *loss = 1;
  PetscCall(MuonGetLayer(muon, 0, &layer));
  PetscCall(MuonLayerGetGradientVec(layer, &g));
  PetscCall(VecSet(g, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Same(Muon muon, PetscInt step, PetscReal *factor, PetscReal *momentum, PetscReal *decay, void *ctx)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MuonSolve() ends at the last of K steps of a linear schedule, at 1/K of the rate, where K was chosen and nothing else;
   the program that takes the steps itself chose that
*/
static PetscErrorCode CheckDefault(void)
{
  static const struct {
    const char *options;
    PetscInt    steps; /* by the program, 0 for none */
    PetscBool   function, solve, linear;
  } rows[] = {
    {"", 4, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE},
    {"-muon_max_steps 4", 0, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE},
    {"-muon_max_steps 4 -muon_schedule constant", 0, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
    {"-muon_preset kj", 4, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
    {"-muon_type dense -muon_theory smooth -muon_theory_l 1 -muon_theory_lt 1 -muon_theory_gap 1", 4, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
    {"", 4, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},
    {"", 4, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    PetscOptions options;
    PetscReal    rate, most;
    Muon         muon;
    Vec          w;

    PetscCall(PetscOptionsCreate(&options));
    PetscCall(PetscOptionsInsertString(options, rows[k].options));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, 3, &w));
    PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
    PetscCall(PetscObjectSetOptions((PetscObject)muon, options));
    PetscCall(MuonAddVecLayer(muon, "w", w, NULL));
    PetscCall(MuonSetObjectiveAndGradient(muon, Ones, NULL));
    if (rows[k].steps > 0) PetscCall(MuonSetMaxSteps(muon, rows[k].steps));
    PetscCall(MuonSetFromOptions(muon));
    if (rows[k].function) PetscCall(MuonSetScheduleFunction(muon, Same, NULL));
    if (rows[k].solve) PetscCall(MuonSolve(muon));
    for (PetscInt s = 0; s < (rows[k].solve ? 0 : 4); s++) PetscCall(MuonStep(muon));
    PetscCall(MuonGetLearningRate(muon, &most));
    PetscCall(MuonGetRate(muon, &rate));
    PetscCheck(PetscAbsReal(rate - most / (rows[k].linear ? 4 : 1)) <= 2 * PETSC_MACHINE_EPSILON * most, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\", %" PetscInt_FMT " steps: rate %g of %g", rows[k].options, rows[k].steps, (double)rate, (double)most);
    PetscCall(MuonDestroy(&muon));
    PetscCall(VecDestroy(&w));
    PetscCall(PetscOptionsDestroy(&options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonType types[2] = {MUONDENSE, MUONEF21};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int t = 0; t < 2; t++) {
    PetscCall(CheckSteps(types[t]));
    for (int all = 0; all < 2; all++) {
      const PetscBool everywhere = all ? PETSC_TRUE : PETSC_FALSE;

      PetscCall(CheckIllegal(types[t], -1, 0, 0, everywhere));
      PetscCall(CheckIllegal(types[t], PETSC_INFINITY, 0, 0, everywhere));
      PetscCall(CheckIllegal(types[t], 0, (PetscReal)0.5, 0, everywhere));
      PetscCall(CheckIllegal(types[t], 0, -1, 0, everywhere));
      PetscCall(CheckIllegal(types[t], 0, 0, -1, everywhere));
    }
    PetscCall(CheckUpdates(t == 1 ? PETSC_TRUE : PETSC_FALSE));
  }
  PetscCall(CheckUnkept());
  PetscCall(CheckDefault());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}

TEST*/
