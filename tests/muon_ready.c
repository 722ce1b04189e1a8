static char help[] = "MuonLayerGradientReady() in whatever order, and not at all on some ranks: the steps are those without it.\n\n";

#include <petscmuon.h>

#define LAYERS 4

typedef enum {
  NOBODY,   /* the reference */
  BACKWARD, /* all ranks, the last layer first */
  REVERSED, /* the last rank in the other order */
  MISSING,  /* the last rank leaves out a layer */
  TWICE     /* the last rank calls it twice for a layer: an error on all */
} Pattern;

static const char *const Patterns[] = {"nobody", "backward", "reversed", "missing", "twice"};

/* Two layers of one shape, whose sums could be taken for each other's */
static const PetscInt Rows[LAYERS] = {6, 6, 9, 4}, Columns[LAYERS] = {4, 4, 3, 7};

typedef struct {
  Muon        muon;
  MuonLayer   layer[LAYERS];
  Pattern     pattern;
  PetscMPIInt rank, size;
} Run;

static PetscErrorCode Gradients(Run *run, PetscInt step)
{
  const PetscBool other = run->rank == run->size - 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < LAYERS; k++) {
    const PetscInt l = run->pattern == REVERSED && other ? k : LAYERS - 1 - k;
    Mat            G;
    PetscScalar   *g;
    PetscInt       rows, columns;

    PetscCall(MuonLayerGetGradient(run->layer[l], &G));
    PetscCall(MatGetLocalSize(G, &rows, NULL));
    PetscCall(MatGetSize(G, NULL, &columns));
    PetscCall(MatDenseGetArray(G, &g));
    for (PetscInt e = 0; e < rows * columns; e++) g[e] = PetscSinReal((PetscReal)(1 + e * (l + 2) + 3 * step + 7 * run->rank));
    PetscCall(MatDenseRestoreArray(G, &g));
    if (run->pattern == NOBODY || (run->pattern == MISSING && other && l == 2)) continue;
    PetscCall(MuonLayerGradientReady(run->layer[l]));
    if (run->pattern == TWICE && other && l == 1) PetscCall(MuonLayerGradientReady(run->layer[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  PetscInt step;

  PetscFunctionBegin;
  *loss = 0;
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCall(Gradients((Run *)ctx, step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCreate(Pattern pattern, PetscBool routine, PetscBool whole, Run *run)
{
  PetscFunctionBegin;
  run->pattern = pattern;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &run->rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &run->size));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    Mat  W;
    char name[] = {(char)('a' + l), '\0'};

    PetscCall(MatCreateDense(whole ? PETSC_COMM_WORLD : PETSC_COMM_SELF, PETSC_DECIDE, PETSC_DECIDE, Rows[l], Columns[l], NULL, &W));
    PetscCall(MuonAddLayer(run->muon, name, W, &run->layer[l]));
    if (whole) PetscCall(MuonLayerSetWholeGradient(run->layer[l], PETSC_TRUE));
    PetscCall(MatDestroy(&W));
  }
  if (routine) PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscCall(MuonSetUp(run->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(const char what[], Run *a, Run *b)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < LAYERS; l++) {
    Mat       x, y;
    PetscBool same;

    PetscCall(MuonLayerGetWeights(a->layer[l], &x));
    PetscCall(MuonLayerGetWeights(b->layer[l], &y));
    PetscCall(MatEqual(x, y, &same));
    PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: layer %" PetscInt_FMT " has other weights than without MuonLayerGradientReady()", what, l);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error on all ranks, after which the optimizer goes on as if there had been no such step */
static PetscErrorCode CheckTwice(Run *run)
{
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  code = MuonStep(run->muon);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(code == PETSC_ERR_ORDER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d where a gradient was ready twice on one rank, expected PETSC_ERR_ORDER on all", (int)code);
  run->pattern = BACKWARD;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool whole = PETSC_FALSE, twice = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-whole", &whole, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-twice", &twice, NULL)); /* sums begin before the step */
  for (int routine = 0; routine < 2; routine++) {
    for (int pattern = BACKWARD; pattern < (twice ? TWICE + 1 : TWICE); pattern++) {
      Run run, reference;

      PetscCall(RunCreate((Pattern)pattern, routine ? PETSC_TRUE : PETSC_FALSE, whole, &run));
      PetscCall(RunCreate(NOBODY, routine ? PETSC_TRUE : PETSC_FALSE, whole, &reference));
      for (PetscInt step = 0; step < 3; step++) {
        if (routine == 0) PetscCall(Gradients(&run, step));
        if (pattern == TWICE && step == 0) {
          PetscCall(CheckTwice(&run));
          if (routine == 0) PetscCall(Gradients(&run, step));
        }
        PetscCall(MuonStep(run.muon));
        if (routine == 0) PetscCall(Gradients(&reference, step));
        PetscCall(MuonStep(reference.muon));
      }
      PetscCall(CheckSame(Patterns[pattern], &run, &reference));
      if (routine == 0 && pattern != TWICE) PetscCall(Gradients(&run, 3)); /* sums under way when the optimizer goes */
      PetscCall(MuonDestroy(&run.muon));
      PetscCall(MuonDestroy(&reference.muon));
    }
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: 3
    args: -twice
    table: suffix | args
      dense | -muon_type dense -muon_momentum_at server -muon_exchange_mode {{allreduce reduce}} -muon_exchange_type layerwise
      clip | -muon_type dense -muon_momentum_at server -muon_clip 1 -muon_clip_layers all -muon_exchange_type layerwise -muon_exchange_mode reduce
      replicated | -muon_type dense -muon_momentum_at server -muon_exchange_mode allreduce -muon_exchange_type replicated -muon_nan {{stop zero}}
      rows | -muon_type dense -muon_exchange_type rows
      whole | -whole -muon_type {{dense ef21 sign}}

  testset:
    nsize: 3
    table: suffix | args
      star | -muon_type {{dense ef21}} -muon_exchange_type star
      sign | -muon_type sign

TEST*/
