static char help[] = "Workers of unequal weights: EF21 keeps its invariant, votes refuse, checkpoints go on with the same weights or with others.\n\n";

#include "muon_common.h"

/* Powers of two over a power of two would hide a sum that is not divided: 1, 2, 5, ... */
static PetscReal Weight(PetscMPIInt rank)
{
  return (PetscReal)(1 + rank * (rank + 3) / 2);
}

static PetscErrorCode Run(PetscBool weighted, PetscInt steps, Problem *p)
{
  PetscFunctionBegin;
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, p));
  if (weighted) PetscCall(MuonSetWorkerWeight(p->muon, Weight(p->rank)));
  PetscCall(MuonSetFromOptions(p->muon));
  for (PetscInt k = 0; k < steps; k++) PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G = sum of w_j G_j / sum of w_j, after steps with lossy messages */
static PetscErrorCode CheckInvariant(Problem *p, PetscBool weighted)
{
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
  Problem   a, b;
  State     one, other;
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-muon_type ef21 -muon_exchange_type layerwise -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor natural"));
  PetscCall(Run(PETSC_TRUE, 3, &a));
  PetscCall(CheckInvariant(&a, PETSC_TRUE));
  PetscCall(MuonEF21GetAggregateError(a.muon, &error));
  PetscCheck(error == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g, which was not measured", (double)error);
  PetscCall(MuonSaveCheckpoint(a.muon, "weights.ckpt", 1));
  PetscCall(MuonEF21GetAggregateError(a.muon, &error));
  PetscCheck(error >= 0 && error <= 1000 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A checkpoint finds an aggregate error of %g", (double)error);
  for (int k = 0; k < 2; k++) PetscCall(MuonStep(a.muon));
  PetscCall(StateTake(&a, &one));
  PetscCall(Run(PETSC_TRUE, 0, &b));
  PetscCall(MuonLoadCheckpoint(b.muon, "weights.ckpt"));
  for (int k = 0; k < 2; k++) PetscCall(MuonStep(b.muon));
  PetscCall(CheckInvariant(&b, PETSC_TRUE));
  PetscCall(StateTake(&b, &other));
  PetscCheck(StateIsSame(&one, &other), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The run that goes on is another one");
  PetscCall(StateFree(&one));
  PetscCall(StateFree(&other));
  PetscCall(ProblemDestroy(&a));
  PetscCall(ProblemDestroy(&b));
  /* Workers that are equal take the weighted mean: the mean stays the same */
  PetscCall(Run(PETSC_FALSE, 0, &b));
  PetscCall(MuonLoadCheckpoint(b.muon, "weights.ckpt"));
  PetscCall(CheckInvariant(&b, PETSC_FALSE));
  PetscCall(MuonStep(b.muon));
  PetscCall(CheckInvariant(&b, PETSC_FALSE));
  PetscCall(ProblemDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char    what[16] = "ef21";
  Problem p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-what", what, sizeof(what), NULL));
  if (strcmp(what, "ef21") == 0) PetscCall(CheckEF21());
  else {
    PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, &p));
    PetscCall(MuonSetFromOptions(p.muon));
    if (strcmp(what, "late") == 0) PetscCall(MuonSetUp(p.muon));
    PetscCall(MuonSetWorkerWeight(p.muon, strcmp(what, "zero") == 0 ? 0 : p.rank == 1 ? (PetscReal)(strcmp(what, "negative") == 0 ? -2 : 2) : 1));
    PetscCall(MuonSetUp(p.muon));
  }
  if (strcmp(what, "ef21") != 0) PetscCall(ProblemDestroy(&p));
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
