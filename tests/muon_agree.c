static char help[] = "Every choice that steps depend on, made on one rank alone in the middle of a run, is an error on all ranks at the next step, which leaves all as it was; made on the others too, twice or in another order, it takes effect.\n\n";

#include "setters_common.h"

/* All state of the optimizer is seen by what the steps after it do */
static PetscErrorCode CheckSetter(const Setter *setter)
{
  Run            p, r;
  double         a[RUN_NUMBERS], c[RUN_NUMBERS], before[RUN_NUMBERS], after[RUN_NUMBERS];
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscBool      same, last;

  PetscFunctionBegin;
  PetscCall(RunCreate(setter, NULL, &p));
  PetscCall(RunCreate(setter, setter->set, &r));
  last = p.problem.rank == p.problem.size - 1 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(RunSteps(&p, 0, before));
  if (last == PETSC_TRUE) PetscCall(RunTry(&p, setter->set, &ierr));
  PetscCheck(ierr == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d", setter->name, (int)ierr);
  PetscCall(RunTry(&p, RunOneStep, &ierr));
  PetscCheck(ierr == PETSC_ERR_ARG_INCOMP, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on one rank: the step gives error %d", setter->name, (int)ierr);
  PetscCall(RunSteps(&p, 0, after));
  PetscCall(RunSame(before, after, &same));
  PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on one rank: the step that was refused left its traces", setter->name);
  /* The others follow; the last rank says it again, and rank 0 twice */
  for (PetscInt k = 0; k < (p.problem.rank == 0 ? 2 : 1); k++) {
    PetscCall(RunTry(&p, setter->set, &ierr));
    PetscCheck(ierr == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d", setter->name, (int)ierr);
  }
  PetscCall(RunSteps(&p, SETTERS_STEPS, a));
  PetscCall(RunSteps(&r, SETTERS_STEPS, c));
  /* Calls of monitors are those of the step that failed, too */
  PetscCall(RunSame(a, c, &same));
  for (PetscInt k = 0; k < RUN_NUMBERS && same == PETSC_FALSE; k++) {
    if (a[k] != c[k]) PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "%s: number %" PetscInt_FMT " is %.17g, expected %.17g\n", setter->name, k, a[k], c[k]));
  }
  PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the steps after agreement are not those of a run that had the value from the beginning", setter->name);
  PetscCall(RunDestroy(&p));
  PetscCall(RunDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three choices in the order that this rank has for them, on rank 0 by way of other values */
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
    PetscCall(MuonLayerSetScale(p.problem.layer[2], 5));
    PetscCall(MuonCompressorSetRatio(RunUp(&p), (PetscReal)0.75));
  }
  for (PetscInt k = 0; k < 3; k++) {
    switch ((k + p.problem.rank) % 3) {
    case 0:
      PetscCall(MuonSetLearningRate(p.problem.muon, (PetscReal)0.125));
      break;
    case 1:
      PetscCall(MuonLayerSetScale(p.problem.layer[2], (PetscReal)1.5));
      break;
    default:
      PetscCall(MuonCompressorSetRatio(RunUp(&p), (PetscReal)0.5));
    }
  }
  PetscCall(MuonSetLearningRate(q.problem.muon, (PetscReal)0.125));
  PetscCall(MuonLayerSetScale(q.problem.layer[2], (PetscReal)1.5));
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

/* A choice that is taken back is none */
static PetscErrorCode CheckBack(void)
{
  const Setter base = {"back", UP "topk", NULL, WITHOUT_EFFECT, 0, NULL, NULL};
  Run          p, q;
  double       a[RUN_NUMBERS], b[RUN_NUMBERS];
  PetscReal    rate;
  PetscBool    same;

  PetscFunctionBegin;
  PetscCall(RunCreate(&base, NULL, &p));
  PetscCall(RunCreate(&base, NULL, &q));
  PetscCall(MuonGetLearningRate(p.problem.muon, &rate));
  if (p.problem.rank == 0) PetscCall(MuonSetLearningRate(p.problem.muon, 3 * rate));
  if (p.problem.rank == 0) PetscCall(MuonSetLearningRate(p.problem.muon, rate));
  PetscCall(RunSteps(&p, SETTERS_STEPS, a));
  PetscCall(RunSteps(&q, SETTERS_STEPS, b));
  PetscCall(RunSame(a, b, &same));
  PetscCheck(p.error == PETSC_SUCCESS && same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A choice that was taken back is seen: error %d", (int)p.error);
  PetscCall(RunDestroy(&p));
  PetscCall(RunDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      only[64] = "";
  PetscInt  compared = 0;
  PetscBool match;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  for (PetscInt k = 0; k < NSETTERS; k++) {
    if (Setters[k].kind != TAKES_EFFECT || (Setters[k].flags & (OF_RANK | COLLECTIVE)) != 0 || (PetscDefined(USE_DEBUG) && (Setters[k].flags & LOGICAL) != 0)) continue;
    PetscCall(PetscStrcmp(Setters[k].name, only, &match));
    if (only[0] != '\0' && match == PETSC_FALSE) continue;
    PetscCall(CheckSetter(&Setters[k]));
    compared++;
  }
  PetscCheck(compared > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nothing was compared");
  PetscCall(CheckOrder());
  PetscCall(CheckBack());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 3

TEST*/
