static char help[] = "Workers of unequal weights: means are those of the weighted gradients, EF21 keeps its invariant, votes refuse, checkpoints go on with the same weights or with others.\n\n";

#include "muon_common.h"

/* Powers of two over a power of two would hide a sum that is not divided: 1, 2, 5, ... */
static PetscReal Weight(PetscMPIInt rank)
{
  return (PetscReal)(1 + rank * (rank + 3) / 2);
}

typedef struct {
  Problem   problem;
  PetscReal factor; /* of this rank's gradients, and of its loss */
} Scaled;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Scaled  *s = (Scaled *)ctx;
  Problem *p = &s->problem;

  PetscFunctionBegin;
  PetscCall(ProblemObjective(muon, loss, p));
  *loss *= s->factor;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar *g;

    if (strcmp(Shapes[l].rule, MUONLAYERFROZEN) == 0) continue;
    PetscCall(ProblemGetArray(p, l, PETSC_TRUE, &g));
    for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) g[e] *= s->factor;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(PetscBool weighted, PetscInt steps, Scaled *s)
{
  Problem  *p   = &s->problem;
  PetscReal sum = 0;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, p));
  PetscCall(MuonSetObjectiveAndGradient(p->muon, Objective, s));
  for (PetscMPIInt r = 0; r < p->size; r++) sum += Weight(r);
  s->factor = weighted ? 1 : Weight(p->rank) * (PetscReal)p->size / sum;
  if (weighted) PetscCall(MuonSetWorkerWeight(p->muon, Weight(p->rank)));
  PetscCall(MuonSetFromOptions(p->muon));
  for (PetscInt k = 0; k < steps; k++) PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What sums gradients or momenta sees the same, weighted by the library or by the program, up to the rounding
   of some steps
*/
static PetscErrorCode CheckMeans(void)
{
  const char *const ways[] = {"-muon_type dense -muon_exchange_type layerwise",
                              "-muon_type dense -muon_exchange_type replicated",
                              "-muon_type dense -muon_exchange_mode gather",
                              "-muon_type dense -muon_exchange_type rows -muon_exchange_mode reduce",
                              "-muon_type ef21 -muon_exchange_type star -muon_exchange_mode gather",
                              "-muon_type ef21 -muon_exchange_mode reduce",
                              "-muon_type ef21 -muon_exchange_mode allreduce"};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ways); k++) {
    Scaled    a, b;
    PetscReal loss[2];

    PetscCall(PetscOptionsClearValue(NULL, "-muon_exchange_mode"));
    PetscCall(PetscOptionsClearValue(NULL, "-muon_exchange_type"));
    PetscCall(PetscOptionsInsertString(NULL, ways[k]));
    PetscCall(Run(PETSC_TRUE, 4, &a));
    PetscCall(Run(PETSC_FALSE, 4, &b));
    PetscCall(MuonGetLoss(a.problem.muon, &loss[0]));
    PetscCall(MuonGetLoss(b.problem.muon, &loss[1]));
    PetscCheck(PetscAbsReal(loss[0] - loss[1]) <= 1000 * PETSC_MACHINE_EPSILON * loss[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: loss %g, expected %g", ways[k], (double)loss[0], (double)loss[1]);
    for (PetscInt l = 0; l < NLAYERS; l++) {
      PetscScalar *x, *y;

      PetscCall(ProblemGetArray(&a.problem, l, PETSC_FALSE, &x));
      PetscCall(ProblemGetArray(&b.problem, l, PETSC_FALSE, &y));
      /*
         Steps are of size 0.02 and of norm balls: what rounding changes in a gradient, a polar factor in
         single amplifies
      */
      for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++)
        PetscCheck(PetscAbsScalar(x[e] - y[e]) <= (PetscReal)2e-5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, layer %s: entry %" PetscInt_FMT " is %g, expected %g", ways[k], Shapes[l].name, e, (double)PetscRealPart(x[e]), (double)PetscRealPart(y[e]));
    }
    PetscCall(ProblemDestroy(&a.problem));
    PetscCall(ProblemDestroy(&b.problem));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G = sum of w_j G_j / sum of w_j, after steps with lossy messages */
static PetscErrorCode CheckInvariant(Scaled *s, PetscBool weighted)
{
  Problem *p = &s->problem;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < 2; l++) {
    PetscReal    sum = 0;
    PetscScalar *estimate, *mean;
    PetscInt     d = Shapes[l].m * Shapes[l].n;
    Mat          Gj, G;

    PetscCall(TestGetState(p->muon, p->layer[l], "estimate", &Gj));
    PetscCall(TestGetState(p->muon, p->layer[l], "aggregate", &G));
    for (PetscMPIInt r = 0; r < p->size; r++) sum += weighted ? Weight(r) : 1;
    PetscCall(PetscMalloc1(d, &mean));
    PetscCall(MatDenseGetArray(Gj, &estimate));
    for (PetscInt e = 0; e < d; e++) mean[e] = estimate[e] * (weighted ? Weight(p->rank) : 1) / sum;
    PetscCall(MatDenseRestoreArray(Gj, &estimate));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, mean, (PetscMPIInt)d, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    if (G != NULL) {
      PetscCall(MatDenseGetArray(G, &estimate));
      for (PetscInt e = 0; e < d; e++)
        PetscCheck(PetscAbsScalar(estimate[e] - mean[e]) <= 200 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: G is %g, the mean %g", Shapes[l].name, (double)PetscRealPart(estimate[e]), (double)PetscRealPart(mean[e]));
      PetscCall(MatDenseRestoreArray(G, &estimate));
    }
    PetscCall(PetscFree(mean));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckEF21(void)
{
  Scaled    a, b;
  State     one, other;
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(PetscOptionsClearValue(NULL, "-muon_exchange_mode"));
  PetscCall(PetscOptionsInsertString(NULL, "-muon_type ef21 -muon_exchange_type layerwise -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor natural"));
  PetscCall(Run(PETSC_TRUE, 3, &a));
  PetscCall(CheckInvariant(&a, PETSC_TRUE));
  PetscCall(MuonEF21GetAggregateError(a.problem.muon, &error));
  PetscCheck(error == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g, which was not measured", (double)error);
  PetscCall(MuonSaveCheckpoint(a.problem.muon, "weights.ckpt", 1));
  PetscCall(MuonEF21GetAggregateError(a.problem.muon, &error));
  PetscCheck(error >= 0 && error <= 1000 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A checkpoint finds an aggregate error of %g", (double)error);
  for (int k = 0; k < 2; k++) PetscCall(MuonStep(a.problem.muon));
  PetscCall(StateTake(&a.problem, &one));
  PetscCall(Run(PETSC_TRUE, 0, &b));
  PetscCall(MuonLoadCheckpoint(b.problem.muon, "weights.ckpt"));
  for (int k = 0; k < 2; k++) PetscCall(MuonStep(b.problem.muon));
  PetscCall(CheckInvariant(&b, PETSC_TRUE));
  PetscCall(StateTake(&b.problem, &other));
  PetscCheck(StateIsSame(&one, &other), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The run that goes on is another one");
  PetscCall(StateFree(&one));
  PetscCall(StateFree(&other));
  PetscCall(ProblemDestroy(&a.problem));
  PetscCall(ProblemDestroy(&b.problem));
  /* Workers that are equal take the weighted mean: the mean stays the same */
  PetscCall(Run(PETSC_FALSE, 0, &b));
  PetscCall(MuonLoadCheckpoint(b.problem.muon, "weights.ckpt"));
  PetscCall(CheckInvariant(&b, PETSC_FALSE));
  PetscCall(MuonStep(b.problem.muon));
  PetscCall(CheckInvariant(&b, PETSC_FALSE));
  PetscCall(ProblemDestroy(&b.problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char   what[16] = "means";
  Scaled s;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-what", what, sizeof(what), NULL));
  if (strcmp(what, "means") == 0) {
    PetscCall(CheckMeans());
    PetscCall(CheckEF21());
  } else {
    PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, &s.problem));
    PetscCall(MuonSetFromOptions(s.problem.muon));
    if (strcmp(what, "late") == 0) PetscCall(MuonSetUp(s.problem.muon));
    PetscCall(MuonSetWorkerWeight(s.problem.muon, strcmp(what, "zero") == 0 ? 0 : s.problem.rank == 1 ? (PetscReal)(strcmp(what, "negative") == 0 ? -2 : 2) : 1));
    PetscCall(MuonSetUp(s.problem.muon));
  }
  if (strcmp(what, "means") != 0) PetscCall(ProblemDestroy(&s.problem));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 3

  testset:
    nsize: 2
    table: suffix | args | error
      sign     | -what sign -muon_type sign | the workers of -muon_type sign have one vote each, expected equal weights
      negative | -what negative             | of rank 1 must be finite and at least 0
      zero     | -what zero                 | the sum over the ranks is 0., expected a positive and finite one

TEST*/
