static char help[] = "A routine of the program's that fails on one rank is an error on all of them, which leaves state as it was.\n\n";

#include <petscmuon.h>

#define LAYERS 3

typedef enum {
  OBJECTIVE,
  MONITOR,
  VALIDATION,
  POSTSTEP,
  ROUTINES
} Routine;

typedef struct {
  PetscMPIInt rank, fails; /* the rank that fails, -1 for none */
  Routine     routine;
  Mat         W[LAYERS];
  Muon        muon;
} Run;

static PetscErrorCode Fail(const Run *run, Routine routine)
{
  PetscFunctionBegin;
  PetscCheck(run->routine != routine || run->rank != run->fails, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "as it is asked to");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fails in the middle of its layers, when it has said of one that its gradient is ready */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run *run = (Run *)ctx;

  PetscFunctionBegin;
  *loss = 0;
  for (PetscInt l = LAYERS - 1; l >= 0; l--) {
    MuonLayer          layer;
    Mat                G;
    const PetscScalar *w;
    PetscScalar       *g;
    PetscInt           m, n;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetGradient(layer, &G));
    PetscCall(MatGetSize(G, &m, &n));
    PetscCall(MatDenseGetArrayRead(run->W[l], &w));
    PetscCall(MatDenseGetArray(G, &g));
    for (PetscInt k = 0; k < m * n; k++) {
      g[k] = w[k] - (PetscScalar)((k * 5 + run->rank) % 7) / 7;
      *loss += PetscRealPart(g[k] * g[k]) / 2;
    }
    if (l == 1) PetscCall(Fail(run, OBJECTIVE));
    PetscCall(MatDenseRestoreArray(G, &g));
    PetscCall(MatDenseRestoreArrayRead(run->W[l], &w));
    PetscCall(MuonLayerGradientReady(layer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Monitor(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(Fail((Run *)ctx, MONITOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Post(Muon muon, PetscInt step, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(Fail((Run *)ctx, POSTSTEP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Validate(Muon muon, PetscReal *value, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(Fail((Run *)ctx, VALIDATION));
  *value = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCreate(Routine routine, Run *run)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &run->rank));
  run->routine = routine;
  run->fails   = -1;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    const char *const names[LAYERS] = {"one", "two", "three"};
    PetscScalar      *w;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 6, 4 + l, NULL, &run->W[l]));
    PetscCall(MatDenseGetArray(run->W[l], &w));
    for (PetscInt k = 0; k < 6 * (4 + l); k++) w[k] = (PetscScalar)((k * 3 + l) % 11) / 11;
    PetscCall(MatDenseRestoreArray(run->W[l], &w));
    PetscCall(MuonAddLayer(run->muon, names[l], run->W[l], NULL));
  }
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonMonitorSet(run->muon, Monitor, run, NULL));
  PetscCall(MuonSetValidation(run->muon, Validate, 1, run));
  PetscCall(MuonSetPostStep(run->muon, Post, run));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  for (PetscInt l = 0; l < LAYERS; l++) PetscCall(MatDestroy(&run->W[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int routine = 0; routine < ROUTINES; routine++) {
    Run run, good;

    PetscCall(RunCreate((Routine)routine, &run));
    PetscCall(RunCreate((Routine)routine, &good));
    for (PetscInt k = 0; k < 4; k++) {
      PetscErrorCode ierr;
      PetscInt       step;

      /* One rank, another one, and then none */
      run.fails = k < 2 ? (PetscMPIInt)(k % size) : -1;
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = MuonStep(run.muon);
      PetscCall(PetscPopErrorHandler());
      PetscCheck(ierr == (run.fails >= 0 ? PETSC_ERR_USER_INPUT : PETSC_SUCCESS), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Routine %d, step %d: error %d on rank %d", routine, (int)k, (int)ierr, run.rank);
      /* A step is taken before monitors and validation speak of it */
      if (routine != OBJECTIVE || run.fails < 0) PetscCall(MuonStep(good.muon));
      PetscCall(MuonGetStepNumber(run.muon, &step));
      PetscCheck(step == (routine == OBJECTIVE ? PetscMax(k - 1, 0) : k + 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Routine %d: %d steps after %d calls", routine, (int)step, (int)k + 1);
      for (PetscInt l = 0; l < LAYERS; l++) {
        PetscBool same;

        PetscCall(MatEqual(run.W[l], good.W[l], &same));
        PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Routine %d, call %d: layer %d is not that of a run without errors", routine, (int)k, (int)l);
      }
    }
    PetscCall(RunDestroy(&run));
    PetscCall(RunDestroy(&good));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 3}}
    table: suffix | nsize | args
      1    |   | -muon_type {{dense ef21 sign}}
      sums | 3 | -muon_type dense -muon_exchange_type {{star replicated layerwise rows}}

TEST*/
