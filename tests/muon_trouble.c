static char help[] = "What the manual's page on numerical trouble promises and no other test holds: an LMO that fails ends the step on all ranks, and the monitor names the layer of the largest update.\n\n";

#include "problem.h"

#define BROKEN 3 /* the layer whose LMO fails, in the norm max: no other layer's LMO is computed with it */

static MuonLMO Broken;
static PetscErrorCode (*Apply)(MuonLMO, const MuonMatrix *, const MuonMatrix *, double *);

static PetscErrorCode MuonLMOApply_Fails(MuonLMO lmo, const MuonMatrix *G, const MuonMatrix *D, double *dual)
{
  PetscFunctionBegin;
  lmo->status = MUON_STATUS_LMO;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Break(const Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerGetLMO(p->layer[BROKEN].layer, &Broken));
  Apply              = Broken->ops->apply;
  Broken->ops->apply = MuonLMOApply_Fails;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Stop(void)
{
  Broken->ops->apply = Apply;
}

/* The second step fails on the rank that computes it, and is taken again when the LMO works */
static PetscErrorCode CheckLMO(const char type[])
{
  const PetscInt one = 1;
  PetscInt       all;
  Problem        p, q;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-muon_exchange_type", type));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(ProblemCreate(&q, 0, 0));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonStep(q.muon));
  PetscCall(Break(&p));
  PetscCall(ProblemDisturbed(&p, &q, &one, Stop, MUON_DIVERGED_LMO, type, "an LMO that failed", &all));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A late round whose LMO failed is dropped: the next step has none to end, though the LMO would fail still */
static PetscErrorCode CheckLate(void)
{
  Problem p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "-muon_delay 1"));
  for (int s = 0; s < 5; s++) {
    if (s == 2) PetscCall(Break(&p));
    if (s == 4) Stop();
    PetscCall(MuonStep(p.muon));
    PetscCall(ProblemCheckReason(&p, s == 2 ? MUON_DIVERGED_LMO : MUON_CONVERGED_ITERATING, "late steps", s == 3 ? "the call behind the failure" : "call"));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of which the outer optimizer makes none, or those that it has */
static PetscErrorCode Overflow(Muon outer, PetscBool overflows)
{
  PetscFunctionBegin;
  PetscCall(MuonSetParameter(outer, "muon_learning_rate", overflows == PETSC_FALSE ? "0.7" : sizeof(PetscReal) == 4 ? "1e30" : "1e160"));
  PetscCall(MuonSetParameter(outer, "muon_weight_decay", overflows == PETSC_FALSE ? "0" : sizeof(PetscReal) == 4 ? "1e30" : "1e200"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(const Problem *p, int steps)
{
  PetscFunctionBegin;
  for (int k = 0; k < steps; k++) PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the outer step is refused the worker's own is not taken; skipped, all workers go back to the beginning of the round; a round that would begin anew from weights that differ does not */
static PetscErrorCode CheckLocal(void)
{
  MuonConvergedReason reason;
  PetscInt64          skipped;
  ProblemImage        before;
  Muon                outer;
  Problem             p, q;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "-muon_type local -local_steps 2"));
  PetscCall(ProblemCreateWith(&q, "-muon_type local -local_steps 2"));
  PetscCall(MuonLocalGetOuter(p.muon, &outer));
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemTakeImage(&p, &before));
  PetscCall(Overflow(outer, PETSC_TRUE));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetConvergedReason(p.muon, &reason));
  PetscCheck(reason < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s where the outer step is refused", MuonConvergedReasons[reason]);
  PetscCall(ProblemCheckImage(&p, &before, "local", "an outer step that was refused"));
  PetscCall(Overflow(outer, PETSC_FALSE));
  PetscCall(MuonStep(p.muon));
  PetscCall(Steps(&q, 2));
  PetscCall(ProblemCheckSame(&p, &q, "local", "the outer step taken again"));

  /* The next round is skipped, with its two steps */
  PetscCall(MuonSetParameter(outer, "muon_nan", "skip"));
  PetscCall(Overflow(outer, PETSC_TRUE));
  PetscCall(Steps(&p, 2));
  for (PetscInt l = 0; l < p.n; l++) {
    double w[2][64];

    for (int k = 0; k < 2; k++) PetscCall(ProblemGetRows(k ? &q : &p, l, NULL, w[k], NULL));
    PetscCheck(memcmp(w[0], w[1], (size_t)(p.layer[l].shape->m * p.layer[l].shape->n) * sizeof(w[0][0])) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s is not where its round began", p.layer[l].shape->name);
  }
  PetscCall(MuonGetNaNCount(p.muon, &skipped));
  PetscCheck(skipped == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " steps were skipped, expected 1", skipped);
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));

  PetscCall(ProblemCreateWith(&p, "-muon_type local -local_steps 3"));
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemTakeImage(&p, &before));
  PetscCall(MuonSetStepNumber(p.muon, 0));
  if (p.size > 1) {
    Fails(MuonStep(p.muon), FAILS_ANY, "");
    PetscCall(ProblemCreateWith(&q, "-muon_type local -local_steps 3"));
    PetscCall(MuonSetStepNumber(p.muon, 1));
    PetscCall(ProblemCheckImage(&p, &before, "local", "a round that was refused"));
    PetscCall(Steps(&p, 2));
    PetscCall(Steps(&q, 3));
    PetscCall(ProblemCheckSame(&p, &q, "local", "a round goes on when another one was refused"));
    PetscCall(ProblemDestroy(&q));
  } else {
    PetscCall(MuonStep(p.muon));
    PetscCall(PetscFree(before.data));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool solve = PETSC_FALSE;
  Problem   p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  if (solve) {
    PetscCall(ProblemCreate(&p, 0, 0));
    PetscCall(MuonSolve(p.muon));
    PetscCall(ProblemDestroy(&p));
  } else {
    PetscCall(CheckLMO(MUONEXCHANGESTAR));
    PetscCall(CheckLMO(MUONEXCHANGELAYERWISE));
    PetscCall(CheckLMO(MUONEXCHANGEREPLICATED));
    PetscCall(CheckLate());
    PetscCall(CheckLocal());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  table: suffix | nsize | args | error
           | {{1 2 3}} | -muon_type {{dense ef21}} -muon_layer_types gain:adamw,wide:frozen |
    raised | 2         | -muon_type {{dense ef21}} -muon_error_if_not_converged           | of layer "row" on rank 0)

  test:
    suffix: largest
    nsize: 2
    args: -solve -muon_max_steps 3 -muon_monitor -muon_measure_update_rms -muon_layer_row_scale 50
    filter: grep -o "update rms .* of .*" | sed "s/rms .* of/rms of/"
    output_file: output/muon_trouble_largest.out

TEST*/
