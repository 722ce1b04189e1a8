static char help[] = "A schedule of the user's: what it is told and what becomes of it; illegal numbers, or other ones on some ranks, are an error on all that leaves everything as it was. The size of updates.\n\n";

#include "problem.h"
#include "parameters.h"
#include <petscmuon/private/muonparameter.h>

#define STEPS 6

typedef struct {
  Problem     problem;
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
  PetscFunctionBegin;
  PetscCall(PetscMemzero(user, sizeof(*user)));
  user->badstep = -1;
  PetscCall(ProblemCreateWith(&user->problem,
                              "-problem_setup 0 -muon_type %s -muon_layer_types gain:adamw -muon_adamw_learning_rate 0.25 -muon_adamw_weight_decay 0.375 -muon_layer_tall_momentum 0.25 -muon_layer_tall_weight_decay 0.75 "
                              "-muon_momentum 0.5 -muon_weight_decay 0.125 -muon_learning_rate 0.5 -muon_schedule_warmup 8",
                              type));
  if (function) PetscCall(MuonSetScheduleFunction(user->problem.muon, Schedule, user));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Powers of two make both ways to the numbers of a step exact */
static PetscErrorCode CheckSteps(MuonType type)
{
  User      user, hand;
  PetscReal rate;
  double    momentum, decay;

  PetscFunctionBegin;
  PetscCall(Create(type, PETSC_TRUE, &user));
  PetscCall(Create(type, PETSC_FALSE, &hand));
  PetscCall(MuonSetSchedule(hand.problem.muon, MUON_SCHEDULE_CURRENT, 0, PETSC_CURRENT, PETSC_CURRENT));
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscCall(MuonStep(user.problem.muon));
    PetscCheck(user.calls == s + 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " calls in step %" PetscInt_FMT, user.calls, s);
    PetscCall(MuonGetRate(user.problem.muon, &rate));
    PetscCheck(rate == (PetscReal)0.5 * (1 / (PetscReal)(s + 1)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "rate %g in step %" PetscInt_FMT, (double)rate, s);
    PetscCall(GetNumber((PetscObject)user.problem.muon, "muon_layer_square_momentum", NULL, &momentum));
    PetscCall(GetNumber((PetscObject)user.problem.muon, "muon_layer_square_weight_decay", NULL, &decay));
    PetscCheck(momentum == (s < 3 ? (double)s / 4 : 0.75) && decay == (double)s / 16, PETSC_COMM_SELF, PETSC_ERR_PLIB, "momentum %g and decay %g in step %" PetscInt_FMT, momentum, decay, s);
    PetscCall(MuonSetLearningRate(hand.problem.muon, (PetscReal)0.5 * (1 / (PetscReal)(s + 1))));
    PetscCall(MuonSetAdamW(hand.problem.muon, (PetscReal)0.25 * (1 / (PetscReal)(s + 1)), PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(MuonSetMomentum(hand.problem.muon, (PetscReal)momentum, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
    PetscCall(MuonSetWeightDecay(hand.problem.muon, (PetscReal)decay, MUON_WEIGHT_DECAY_CURRENT));
    if (s > 0) PetscCall(MuonStep(hand.problem.muon));
    else {
      /* No momentum in the first step, which is kept all the same */
      PetscCall(MuonSetMomentum(hand.problem.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
      PetscCall(MuonSetUp(hand.problem.muon));
      PetscCall(MuonSetMomentum(hand.problem.muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
      PetscCall(MuonStep(hand.problem.muon));
    }
    PetscCall(ProblemCheckSame(&user.problem, &hand.problem, type, "a schedule and the same numbers by hand"));
  }
  PetscCall(ProblemDestroy(&user.problem));
  PetscCall(ProblemDestroy(&hand.problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In the middle of a run, on all ranks or on the last; then the same step without it goes on as if nothing
   had been
*/
static PetscErrorCode CheckIllegal(MuonType type, PetscReal factor, PetscReal momentum, PetscReal decay, PetscBool all)
{
  User           user, sound;
  PetscErrorCode expected;

  PetscFunctionBegin;
  PetscCall(Create(type, PETSC_TRUE, &user));
  PetscCall(Create(type, PETSC_TRUE, &sound));
  user.badstep  = 2;
  user.badrank  = all ? -1 : user.problem.size - 1;
  user.factor   = factor;
  user.momentum = momentum;
  user.decay    = decay;
  for (PetscInt s = 0; s < 2; s++) PetscCall(MuonStep(user.problem.muon));
  expected = all || user.problem.size == 1 ? PETSC_ERR_ARG_OUTOFRANGE : PETSC_ERR_ARG_INCOMP;
  Fails(MuonStep(user.problem.muon), expected, "");
  user.badstep = -1;
  for (PetscInt s = 2; s < STEPS; s++) PetscCall(MuonStep(user.problem.muon));
  for (PetscInt s = 0; s < STEPS; s++) PetscCall(MuonStep(sound.problem.muon));
  PetscCall(ProblemCheckSame(&user.problem, &sound.problem, type, "a step that was refused"));
  PetscCall(ProblemDestroy(&user.problem));
  PetscCall(ProblemDestroy(&sound.problem));
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
  User user;

  PetscFunctionBegin;
  PetscCall(Create(MUONDENSE, PETSC_FALSE, &user));
  PetscCall(MuonSetMomentum(user.problem.muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetUp(user.problem.muon));
  PetscCall(MuonSetScheduleFunction(user.problem.muon, Half, NULL));
  PetscCall(MuonStep(user.problem.muon));
  Fails(MuonSetMomentum(user.problem.muon, (PetscReal)0.5, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT), PETSC_ERR_ORDER, "");
  Fails(MuonStep(user.problem.muon), PETSC_ERR_ORDER, "");
  PetscCall(ProblemDestroy(&user.problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Exact polar factors with Moonlight's factor have updates of 0.2; those of AdamW are what the weights moved
   by, over the rate
*/
static PetscErrorCode CheckUpdates(PetscBool step)
{
  const double tolerance = 64 * (double)PETSC_MACHINE_EPSILON; /* the weights are of size 1 and rounded twice */
  double       before[6][36], after[36];
  PetscReal    rms;
  Problem      p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(
    &p, step ? "-muon_type ef21 -muon_layer_types gain:adamw -muon_adamw_learning_rate 0.25 -muon_learning_rate 0.5 -muon_shape_factor moonlight -muon_layer_embed_scale 3 -muon_layer_embed_lmo_type rowsum -muon_layer_embed_ef21_downlink step"
             : "-muon_type dense -muon_layer_types gain:adamw -muon_adamw_learning_rate 0.25 -muon_learning_rate 0.5 -muon_shape_factor moonlight"));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonLayerGetUpdateRMS(p.layer[0].layer, &rms));
  PetscCheck(rms == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g where nothing was measured", (double)rms);
  PetscCall(MuonSetParameter(p.muon, "muon_measure_update_rms", "true"));
  for (PetscInt l = 0; l < p.n; l++) PetscCall(ProblemGetRows(&p, l, NULL, before[l], NULL));
  PetscCall(MuonStep(p.muon));
  for (PetscInt l = 0; l < p.n; l++) {
    const PetscInt d   = p.layer[l].shape->m * p.layer[l].shape->n;
    double         sum = 0, expected;
    PetscMPIInt    owner;

    PetscCall(ProblemGetRows(&p, l, NULL, after, NULL));
    for (PetscInt e = 0; e < d; e++) sum += (after[e] - before[l][e]) * (after[e] - before[l][e]);
    expected = sqrt(sum / (double)d) / (l == 4 ? 0.25 : 0.5);
    PetscCall(MuonLayerGetOwner(p.layer[l].layer, &owner));
    PetscCall(MuonLayerGetUpdateRMS(p.layer[l].layer, &rms));
    if (owner >= 0 && owner != p.rank) expected = -1;
    /* Exact polar factors, and one entry of each row */
    PetscCheck(fabs((double)rms - expected) <= tolerance && (expected < 0 || l >= 3 || fabs((double)rms - 0.2) <= tolerance) && (expected < 0 || l != 5 || !step || fabs((double)rms - 3 / sqrt(3)) <= tolerance), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Layer %s: root mean square %g, expected %g", p.layer[l].shape->name, (double)rms, expected);
  }
  PetscCall(ProblemDestroy(&p));
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
    PetscReal rate, most;
    Problem   p;

    PetscCall(ProblemCreateWith(&p, "-problem_layers x:3x1 -problem_setup 0 %s", rows[k].options));
    if (rows[k].steps > 0) PetscCall(MuonSetMaxSteps(p.muon, rows[k].steps));
    if (rows[k].function) PetscCall(MuonSetScheduleFunction(p.muon, Same, NULL));
    if (rows[k].solve) PetscCall(MuonSolve(p.muon));
    for (PetscInt s = 0; s < (rows[k].solve ? 0 : 4); s++) PetscCall(MuonStep(p.muon));
    PetscCall(MuonGetLearningRate(p.muon, &most));
    PetscCall(MuonGetRate(p.muon, &rate));
    PetscCheck(PetscAbsReal(rate - most / (rows[k].linear ? 4 : 1)) <= 2 * PETSC_MACHINE_EPSILON * most, PETSC_COMM_SELF, PETSC_ERR_PLIB, "\"%s\", %" PetscInt_FMT " steps: rate %g of %g", rows[k].options, rows[k].steps, (double)rate, (double)most);
    PetscCall(ProblemDestroy(&p));
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
