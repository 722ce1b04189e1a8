static char help[] = "NaN and Inf in a gradient or in the loss of one rank, under each policy: all ranks learn of it, and nothing is changed that should not be.\n\n";

#include "parameters.h"
#include "muon_common.h"
#include "layer_parameter.h"

/* PETSC_INFINITY is a large number */
static PetscReal Inf(void)
{
  volatile PetscReal zero = 0;

  return 1 / zero;
}

typedef enum {
  TROUBLE_GRADIENT,
  TROUBLE_LOSS
} Trouble;

/* One step with trouble in the second step, on the last rank, against the same run without it */
static PetscErrorCode Check(const Way *way, MuonNaNPolicy policy, Trouble trouble, PetscScalar bad, PetscInt layer)
{
  const PetscBool     mended = policy == MUON_NAN_ZERO && trouble == TROUBLE_GRADIENT ? PETSC_TRUE : PETSC_FALSE;
  MuonConvergedReason reason, wanted = policy == MUON_NAN_SKIP || mended == PETSC_TRUE ? MUON_CONVERGED_ITERATING : MUON_DIVERGED_NANORINF;
  PetscInt            step;
  PetscInt64          count;
  Problem             p, q;
  State               before, after, expected;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &q));
  PetscCall(MuonSetParameter(p.muon, "muon_nan", MuonNaNPolicies[policy]));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(q.muon));
  if (p.rank == p.size - 1) {
    p.badstep  = 1;
    p.badlayer = trouble == TROUBLE_GRADIENT ? layer : -1;
    p.badentry = Shapes[layer].m * Shapes[layer].n - 1;
    p.badloss  = trouble == TROUBLE_LOSS ? PETSC_TRUE : PETSC_FALSE;
    p.bad      = bad;
    /* The same with a zero in its place */
    q.badstep  = 1;
    q.badlayer = mended == PETSC_TRUE ? layer : -1;
    q.badentry = p.badentry;
  }
  PetscCall(StateTake(&p, &before));
  PetscCall(MuonStep(p.muon));
  PetscCall(StateTake(&p, &after));
  PetscCall(MuonGetConvergedReason(p.muon, &reason));
  PetscCheck(reason == wanted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: -muon_nan %s gives %s", way->name, MuonNaNPolicies[policy], MuonConvergedReasons[reason]);
  PetscCall(MuonGetNaNCount(p.muon, &count));
  PetscCheck(count == (policy == MUON_NAN_SKIP || mended == PETSC_TRUE ? 1 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: -muon_nan %s counts %" PetscInt64_FMT, way->name, MuonNaNPolicies[policy], count);
  if (mended == PETSC_TRUE) {
    PetscCall(MuonStep(q.muon));
    PetscCall(StateTake(&q, &expected));
    PetscCheck(StateIsSame(&after, &expected) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: -muon_nan zero is not a zero in the gradient", way->name);
    PetscCall(StateFree(&expected));
  } else {
    /* A step that is left out has a number, one that stops does not */
    PetscCheck(after.step == (policy == MUON_NAN_SKIP ? 2 : 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: -muon_nan %s leaves step number %" PetscInt_FMT, way->name, MuonNaNPolicies[policy], after.step);
    after.step = before.step;
    PetscCheck(StateIsSame(&before, &after) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: -muon_nan %s left its traces", way->name, MuonNaNPolicies[policy]);
    /* What cannot be seen, as the momentum of dense and the moments of AdamW, shows in the step after */
    p.badstep = -1;
    if (policy != MUON_NAN_SKIP) {
      PetscCall(MuonStep(p.muon));
      PetscCall(MuonStep(q.muon));
      PetscCall(MuonGetConvergedReason(p.muon, &reason));
      PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step after: %s", way->name, MuonConvergedReasons[reason]);
      PetscCall(StateFree(&after));
      PetscCall(StateTake(&p, &after));
      PetscCall(StateTake(&q, &expected));
      PetscCheck(StateIsSame(&after, &expected) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step after one that failed under -muon_nan %s differs", way->name, MuonNaNPolicies[policy]);
      PetscCall(StateFree(&expected));
    }
  }
  PetscCall(MuonGetStepNumber(p.muon, &step));
  PetscCheck(step == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: step number %" PetscInt_FMT, way->name, step);
  PetscCall(StateFree(&before));
  PetscCall(StateFree(&after));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Finite gradients, and choices that are finite: what becomes of them is not, in all layers or in one, which
   is one server's or everybody's. Number 0 is a decay, number 1 the scale of a norm ball or the decay of a layer
*/
static PetscErrorCode CheckOverflow(const Way *way, int which, PetscInt layer)
{
  const PetscReal     large = PETSC_MAX_REAL / 16; /* 1e307 */
  const PetscReal     rate  = (PetscReal)0.02;
  PetscReal           adamw;
  MuonConvergedReason reason;
  Problem             p, q;
  State               before, after;
  PetscBool           ball;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &q));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(q.muon));
  PetscCall(StateTake(&p, &before));
  PetscCall(GetReal((PetscObject)p.muon, "muon_adamw_learning_rate", &adamw));
  PetscCall(MuonSetLearningRate(p.muon, large));
  PetscCall(MuonSetAdamW(p.muon, large, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(PetscStrcmp(Shapes[layer].type, MUONLAYERLMO, &ball));
  if (which == 0) PetscCall(MuonSetWeightDecay(p.muon, large, MUON_WEIGHT_DECAY_CURRENT));
  else if (ball) PetscCall(MuonLayerSetScale(p.layer[layer], large));
  else PetscCall(LayerSet(p.layer[layer], "weight_decay", large));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetConvergedReason(p.muon, &reason));
  PetscCheck(reason == MUON_DIVERGED_NANORINF, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a rate and a %s of %g give %s", way->name, which == 0 ? "decay" : "scale", (double)large, MuonConvergedReasons[reason]);
  PetscCall(StateTake(&p, &after));
  PetscCheck(StateIsSame(&before, &after) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: weights that are not finite left their traces", way->name);
  PetscCall(StateFree(&before));
  PetscCall(StateFree(&after));
  PetscCall(MuonSetLearningRate(p.muon, rate));
  PetscCall(MuonSetAdamW(p.muon, adamw, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  if (which == 0) PetscCall(MuonSetWeightDecay(p.muon, 0, MUON_WEIGHT_DECAY_CURRENT));
  else if (ball) PetscCall(MuonLayerSetScale(p.layer[layer], 1));
  else PetscCall(LayerSet(p.layer[layer], "weight_decay", 0));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(q.muon));
  PetscCall(MuonGetConvergedReason(p.muon, &reason));
  PetscCall(StateTake(&p, &after));
  PetscCall(StateTake(&q, &before));
  PetscCheck(reason == MUON_CONVERGED_ITERATING && StateIsSame(&before, &after) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step after weights that are not finite differs, %s", way->name, MuonConvergedReasons[reason]);
  PetscCall(StateFree(&before));
  PetscCall(StateFree(&after));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver stops at the step that fails, and goes on where such a step is left out */
static PetscErrorCode CheckSolve(const Way *way)
{
  PetscFunctionBegin;
  for (PetscInt policy = MUON_NAN_STOP; policy <= MUON_NAN_SKIP; policy++) {
    MuonConvergedReason reason;
    PetscInt            step;
    Problem             p;

    PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
    PetscCall(MuonSetParameter(p.muon, "muon_nan", MuonNaNPolicies[policy]));
    PetscCall(MuonSetMaxSteps(p.muon, 4));
    p.badstep  = p.rank == 0 ? 2 : -1;
    p.badlayer = 0;
    p.bad      = (PetscScalar)Inf();
    PetscCall(MuonSolve(p.muon));
    PetscCall(MuonGetConvergedReason(p.muon, &reason));
    PetscCall(MuonGetStepNumber(p.muon, &step));
    PetscCheck(reason == (policy == MUON_NAN_SKIP ? MUON_CONVERGED_MAX_STEPS : MUON_DIVERGED_NANORINF) && step == (policy == MUON_NAN_SKIP ? 4 : 2), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: MuonSolve() ends with %s at step %" PetscInt_FMT, way->name,
               MuonConvergedReasons[reason], step);
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal inf = Inf(), bads[] = {inf - inf, inf, -inf};
  PetscInt        wanted = -1, layer = -1;
  PetscBool       legal, last        = PETSC_FALSE, raise;
  Problem         p;
  Way             way;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-raise", &wanted, &raise));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-raise_layer", &layer, NULL));
  for (PetscInt number = 0; last == PETSC_FALSE; number++) {
    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal == PETSC_FALSE) continue;
    if (raise == PETSC_TRUE) {
      if (number != wanted) continue;
      PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &p));
      PetscCall(MuonSetFromOptions(p.muon));
      p.badstep  = p.rank == (layer < 0 ? 0 : p.size - 1) ? 0 : -1;
      p.badlayer = layer;
      p.badloss  = PetscNot(layer >= 0);
      p.bad      = (PetscScalar)inf;
      PetscCall(MuonStep(p.muon));
      PetscCall(ProblemDestroy(&p));
      continue;
    }
    for (PetscInt policy = MUON_NAN_STOP; policy <= MUON_NAN_ZERO; policy++) {
      /*
         In the course of the ways each number under each policy, exchange and mode, and a layer under each type
         and norm, the first and the last one among them
      */
      const PetscInt b = (number + number / 6 + policy) % 3;

      PetscCall(Check(&way, (MuonNaNPolicy)policy, TROUBLE_LOSS, (PetscScalar)bads[b], 0));
      PetscCall(Check(&way, (MuonNaNPolicy)policy, TROUBLE_GRADIENT, (PetscScalar)bads[b], b == 0 ? 0 : b == 1 ? NLAYERS - 1 : (number % 2 == 0 ? 1 : 4)));
    }
    PetscCall(CheckOverflow(&way, 0, 0));
    PetscCall(CheckOverflow(&way, 1, number % NLAYERS == 2 ? 0 : number % NLAYERS)); /* not the layer that is frozen */
    PetscCall(CheckSolve(&way));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 3}}
    test:

  # ef21 and dense, star, layerwise and replicated, messages and sums
  testset:
    nsize: 3
    args: -muon_error_if_not_converged
    table: suffix | args | error
      raise       | -raise {{0 1 2 3 5 36 42 46 47 48}} | DIVERGED_NANORINF (the loss on rank 0)
      raise_layer | -raise_layer 3 -raise {{1 36 47}}   | DIVERGED_NANORINF (the gradient of layer "h0.out" on rank 2)

TEST*/
