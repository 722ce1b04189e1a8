static char help[] = "What the manual's page on numerical trouble promises and no other test holds: an LMO that fails ends the step on all ranks, and the monitor names the layer of the largest update.\n\n";

#include "muon_common.h"
#include <petscmuon/private/muonlmoimpl.h>

#define BROKEN 3 /* the layer whose LMO fails */

static PetscErrorCode MuonLMOApply_Fails(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D, double *dual)
{
  PetscFunctionBegin;
  lmo->status = MUON_STATUS_LMO;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MuonExchangeType type, Problem *p)
{
  MuonExchange exchange;
  MuonLMO      lmo;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, p));
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, type));
  PetscCall(MuonLayerGetLMO(p->layer[BROKEN], &lmo));
  PetscCall(MuonLMOSetType(lmo, MUONLMOMAX)); /* no other layer's LMO is computed with this one's */
  PetscCall(MuonSetFromOptions(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MuonLMO Broken;
static PetscErrorCode (*Apply)(MuonLMO, const MuonMatrix *, const MuonMatrix *, double *);

static void Stop(void)
{
  Broken->ops->apply = Apply;
}

/* The second step fails on the rank that computes it, and is taken again when the LMO works */
static PetscErrorCode CheckLMO(MuonExchangeType type)
{
  const PetscInt one = 1;
  PetscInt       all;
  Problem        p, q;

  PetscFunctionBegin;
  PetscCall(Create(type, &p));
  PetscCall(Create(type, &q));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(q.muon));
  PetscCall(MuonLayerGetLMO(p.layer[BROKEN], &Broken));
  Apply              = Broken->ops->apply;
  Broken->ops->apply = MuonLMOApply_Fails;
  PetscCall(ProblemDisturbed(&p, &q, &one, Stop, MUON_DIVERGED_LMO, type, "an LMO that failed", &all));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A late round whose LMO failed is dropped: the next step has none to end, though the LMO would fail still */
static PetscErrorCode CheckLate(void)
{
  const MuonConvergedReason expected[] = {MUON_CONVERGED_ITERATING, MUON_CONVERGED_ITERATING, MUON_DIVERGED_LMO, MUON_CONVERGED_ITERATING, MUON_CONVERGED_ITERATING};
  Problem                   p;

  PetscFunctionBegin;
  PetscCall(Create(MUONEXCHANGELAYERWISE, &p));
  PetscCall(MuonSetParameter(p.muon, "muon_delay", "1"));
  PetscCall(MuonLayerGetLMO(p.layer[BROKEN], &Broken));
  for (int s = 0; s < 5; s++) {
    char what[32];

    if (s == 2) {
      Apply              = Broken->ops->apply;
      Broken->ops->apply = MuonLMOApply_Fails;
    }
    if (s == 4) Stop();
    PetscCall(MuonStep(p.muon));
    PetscCall(PetscSNPrintf(what, sizeof(what), "call %d", s));
    PetscCall(ProblemReason(&p, expected[s], "late steps", what));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateLocal(const char steps[], Problem *p, Muon *outer)
{
  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, MUONLOCAL, p));
  PetscCall(MuonSetParameter(p->muon, "local_steps", steps));
  PetscCall(MuonLocalGetOuter(p->muon, outer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the outer step is refused the worker's own is not taken; skipped, all workers go back to the beginning of the round; a round that would begin anew from weights that differ does not */
static PetscErrorCode CheckLocal(void)
{
  MuonConvergedReason reason;
  PetscErrorCode      ierr;
  PetscInt64          skipped;
  Muon                outer, same;
  Problem             p, q;
  State               start, before;

  PetscFunctionBegin;
  PetscCall(CreateLocal("2", &p, &outer));
  PetscCall(CreateLocal("2", &q, &same));
  PetscCall(MuonStep(p.muon));
  PetscCall(StateTake(&p, &before));
  PetscCall(MuonSetParameter(outer, "muon_learning_rate", sizeof(PetscReal) == 4 ? "1e30" : "1e160"));
  PetscCall(MuonSetParameter(outer, "muon_weight_decay", sizeof(PetscReal) == 4 ? "1e30" : "1e200"));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetConvergedReason(p.muon, &reason));
  PetscCheck(reason < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s where the outer step is refused", MuonConvergedReasons[reason]);
  PetscCall(StateStays(&p, &before, "local", "an outer step that was refused"));
  PetscCall(MuonSetParameter(outer, "muon_learning_rate", "0.7"));
  PetscCall(MuonSetParameter(outer, "muon_weight_decay", "0"));
  PetscCall(MuonStep(p.muon));
  for (int k = 0; k < 2; k++) PetscCall(MuonStep(q.muon));
  PetscCall(ProblemsSame(&p, &q, "local", "the outer step taken again"));

  /* The next round is skipped, with its two steps */
  PetscCall(MuonSetParameter(outer, "muon_nan", "skip"));
  PetscCall(MuonSetParameter(outer, "muon_learning_rate", sizeof(PetscReal) == 4 ? "1e30" : "1e160"));
  PetscCall(MuonSetParameter(outer, "muon_weight_decay", sizeof(PetscReal) == 4 ? "1e30" : "1e200"));
  for (int l = 0; l < NLAYERS; l++) {
    PetscScalar *w, *v;

    for (int k = 0; l == 0 && k < 2; k++) PetscCall(MuonStep(p.muon));
    PetscCall(ProblemGetArray(&p, l, PETSC_FALSE, &w));
    PetscCall(ProblemGetArray(&q, l, PETSC_FALSE, &v));
    PetscCheck(memcmp(w, v, (size_t)(Shapes[l].m * Shapes[l].n) * sizeof(*w)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s is not where its round began", Shapes[l].name);
  }
  PetscCall(MuonGetNaNCount(p.muon, &skipped));
  PetscCheck(skipped == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " steps were skipped, expected 1", skipped);
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));

  PetscCall(CreateLocal("3", &p, &outer));
  PetscCall(MuonStep(p.muon));
  PetscCall(StateTake(&p, &start));
  PetscCall(MuonSetStepNumber(p.muon, 0));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MuonStep(p.muon);
  PetscCall(PetscPopErrorHandler());
  PetscCheck((ierr != PETSC_SUCCESS) == (p.size > 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d where a round begins anew from weights of %d workers", (int)ierr, p.size);
  if (p.size > 1) {
    PetscCall(CreateLocal("3", &q, &same));
    PetscCall(MuonSetStepNumber(p.muon, 1));
    PetscCall(StateStays(&p, &start, "local", "a round that was refused"));
    for (int k = 0; k < 5; k++) PetscCall(MuonStep(k < 2 ? p.muon : q.muon));
    PetscCall(ProblemsSame(&p, &q, "local", "a round goes on when another one was refused"));
    PetscCall(ProblemDestroy(&q));
  } else PetscCall(StateFree(&start));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonExchangeType types[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  PetscBool              solve   = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  if (solve == PETSC_TRUE) {
    Problem p;

    PetscCall(Create(MUONEXCHANGELAYERWISE, &p));
    PetscCall(MuonSolve(p.muon));
    PetscCall(ProblemDestroy(&p));
  } else {
    for (int k = 0; k < 3; k++) PetscCall(CheckLMO(types[k]));
    PetscCall(CheckLate());
    PetscCall(CheckLocal());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | args | error
           | {{1 2 3}} | -muon_type {{dense ef21}}    |
    raised | 2         | -muon_error_if_not_converged | of layer "h0.out" on rank 0)

  test:
    suffix: largest
    nsize: 2
    args: -solve -muon_max_steps 3 -muon_monitor -muon_measure_update_rms -muon_layer_h0.out_scale 50
    filter: grep -o "update rms .* of .*" | sed "s/rms .* of/rms of/"
    output_file: output/muon_trouble_largest.out

TEST*/
