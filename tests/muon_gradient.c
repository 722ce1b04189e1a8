static char help[] = "The contract of gradients, the same for all types: a step reads what the caller gave where it lies and changes nothing of it; the layer's own buffer is undefined after a step.\n\n";

#include "muon_common.h"
#include <petscmuon/private/petscmuonimpl.h>

static PetscReal NaN(void)
{
  volatile PetscReal zero = 0;

  return zero / zero;
}

/* A callback that fills the first half of each gradient alone, from a step on */
typedef struct {
  Problem *p;
  PetscInt from;
} Half;

static PetscErrorCode HalfObjective(Muon muon, PetscReal *loss, void *ctx)
{
  Half        *half = (Half *)ctx;
  PetscScalar *kept[NLAYERS], *g;
  PetscInt     step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    const PetscInt d = Shapes[l].m * Shapes[l].n;

    PetscCall(PetscMalloc1(d, &kept[l]));
    if (strcmp(Shapes[l].type, MUONLAYERFROZEN) == 0) continue;
    PetscCall(ProblemGetArray(half->p, l, PETSC_TRUE, &g));
    PetscCall(PetscArraycpy(kept[l], g, d));
  }
  PetscCall(ProblemObjective(muon, loss, half->p));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    const PetscInt d = Shapes[l].m * Shapes[l].n;

    if (strcmp(Shapes[l].type, MUONLAYERFROZEN) != 0 && step >= half->from) {
      PetscCall(ProblemGetArray(half->p, l, PETSC_TRUE, &g));
      PetscCall(PetscArraycpy(g + d / 2, kept[l] + d / 2, d - d / 2));
    }
    PetscCall(PetscFree(kept[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In debug builds what a callback leaves out is NaN, and the step ends with that on every rank and changes
   nothing; the next one, of a callback that fills all, is as if nothing had been
*/
static PetscErrorCode CheckHalf(const Way *way)
{
  Problem             p, q;
  Half                half;
  State               before, after;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &q));
  half.p    = &p;
  half.from = 2;
  PetscCall(MuonSetObjectiveAndGradient(p.muon, HalfObjective, &half));
  for (PetscInt s = 0; s < 2; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    for (PetscInt l = 0; l < NLAYERS && PetscDefined(USE_DEBUG); l++) {
      PetscScalar *g;

      if (strcmp(Shapes[l].type, MUONLAYERFROZEN) == 0) continue;
      PetscCall(ProblemGetArray(&p, l, PETSC_TRUE, &g));
      for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) PetscCheck(PetscIsNanScalar(g[e]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: after a step the gradient of %s has the entry %g", way->name, Shapes[l].name, (double)PetscRealPart(g[e]));
    }
  }
  PetscCall(StateTake(&p, &before));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetConvergedReason(p.muon, &reason));
  if (PetscDefined(USE_DEBUG)) {
    PetscCheck(reason == MUON_DIVERGED_NANORINF, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: half of a gradient gives %s", way->name, MuonConvergedReasons[reason]);
    PetscCall(StateTake(&p, &after));
    PetscCheck(StateIsSame(&before, &after) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: half of a gradient left its traces", way->name);
    PetscCall(StateFree(&after));
    half.from = 3;
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    PetscCall(StateFree(&before));
    PetscCall(StateTake(&p, &before));
    PetscCall(StateTake(&q, &after));
    PetscCheck(StateIsSame(&before, &after) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the step after half of a gradient differs", way->name);
    PetscCall(StateFree(&after));
  }
  PetscCall(StateFree(&before));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The caller's own gradients, with gaps: no bit of them is changed, nor their states, even where a policy
   puts zeros in the place of NaN
*/
static PetscErrorCode CheckOwn(const Way *way)
{
  Problem          p, q;
  PetscScalar     *kept[NLAYERS];
  PetscObjectState states[NLAYERS], state;
  Vec              own;
  State            a, b;

  PetscFunctionBegin;
  ProblemGap = 3;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &p));
  ProblemGap = 0;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, way, &q));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, Shapes[4].m, &own));
  PetscCall(MuonLayerSetGradientVec(p.layer[4], own));
  PetscCall(MuonSetParameter(p.muon, "muon_nan", "zero"));
  PetscCall(MuonSetParameter(q.muon, "muon_nan", "zero"));
  for (PetscInt s = 0; s < 3; s++) {
    PetscReal    loss;
    PetscScalar *g;

    PetscCall(MuonSetObjectiveAndGradient(p.muon, NULL, NULL));
    p.badstep = q.badstep = 1;
    p.badlayer = q.badlayer = p.rank == p.size - 1 ? 1 : -1;
    p.badentry              = 0;
    q.badentry              = 0;
    p.bad = q.bad = (PetscScalar)NaN();
    PetscCall(ProblemObjective(p.muon, &loss, &p));
    for (PetscInt l = 0; l < 5; l++) {
      const PetscInt d = ProblemGetLDA(&p, l) * Shapes[l].n;

      if (l == 2) continue;
      PetscCall(ProblemGetArray(&p, l, PETSC_TRUE, &g));
      PetscCall(PetscMalloc1(d, &kept[l]));
      PetscCall(PetscArraycpy(kept[l], g, d));
      PetscCall(PetscObjectStateGet(l == 4 ? (PetscObject)own : (PetscObject)p.G[l], &states[l]));
    }
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonStep(q.muon));
    for (PetscInt l = 0; l < 5; l++) {
      const PetscInt d = ProblemGetLDA(&p, l) * Shapes[l].n;

      if (l == 2) continue;
      PetscCall(PetscObjectStateGet(l == 4 ? (PetscObject)own : (PetscObject)p.G[l], &state));
      PetscCheck(state == states[l], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a step changed the state of the caller's gradient of %s", way->name, Shapes[l].name);
      PetscCall(ProblemGetArray(&p, l, PETSC_TRUE, &g));
      PetscCheck(memcmp(g, kept[l], (size_t)d * sizeof(*g)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a step changed the caller's gradient of %s", way->name, Shapes[l].name);
      PetscCall(PetscFree(kept[l]));
    }
    PetscCall(StateTake(&p, &a));
    PetscCall(StateTake(&q, &b));
    PetscCheck(StateIsSame(&a, &b) == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: step %" PetscInt_FMT " of the caller's own gradients differs", way->name, s);
    PetscCall(StateFree(&a));
    PetscCall(StateFree(&b));
  }
  PetscCall(VecDestroy(&own));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool legal, last = PETSC_FALSE;
  Way       way;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (PetscInt number = 0; last == PETSC_FALSE; number++) {
    PetscCall(WayGet(number, &way, &legal, &last));
    if (legal == PETSC_FALSE) continue;
    PetscCall(CheckHalf(&way));
    PetscCall(CheckOwn(&way));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}

TEST*/
