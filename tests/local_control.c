static char help[] = "Control variates of local steps: two workers whose steps cancel for ever without them, a generic pair, and identities.\n";

#include <petscmuon.h>

#define MANY 1600 /* steps of the generic pair, of 4 to a round */

/* f_j(X) = (h_j/2) |X - A_j|^2, entries by rows */
typedef struct {
  PetscReal h[2], A[2][6];
} Pair;

/* A_1 = 4P and A_2 = -4P: at X = xP the gradients are 3(x - 4)P and (x + 4)P, their mean 2(x - 2)P; all is exact in binary */
static const Pair Opposite = {{3, 1}, {{4, 0, 0, 0, 4, 0}, {-4, 0, 0, 0, -4, 0}}}, Generic = {{3, 1}, {{4, 0, 1, 0, 2, 0}, {-2, 1, 0, 3, -1, 1}}};
static const Pair Equal = {{2, 2}, {{4, 0, 1, 0, 2, 0}, {4, 0, 1, 0, 2, 0}}};

typedef struct {
  const Pair *pair;
  PetscMPIInt rank, size;
  PetscBool   falls; /* the radius, from round to round */
  Mat         W;
  MuonLayer   layer;
  Muon        muon, outer;
} Run;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  const Run         *run = (const Run *)ctx;
  const PetscReal    h = run->pair->h[run->rank], *A = run->pair->A[run->rank];
  const PetscScalar *w;
  PetscScalar       *g;
  Mat                G;

  PetscFunctionBegin;
  *loss = 0;
  PetscCall(MuonLayerGetGradient(run->layer, &G));
  PetscCall(MatDenseGetArrayRead(run->W, &w));
  PetscCall(MatDenseGetArray(G, &g));
  for (PetscInt k = 0; k < 6; k++) g[k] = h * (w[k] - A[3 * (k % 2) + k / 2]);
  PetscCall(MatDenseRestoreArray(G, &g));
  PetscCall(MatDenseRestoreArrayRead(run->W, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* keys: pairs of a parameter and its value, outer ones behind a +, up to a NULL */
static PetscErrorCode Create(const Pair *pair, PetscBool control, const char *const keys[], Run *run)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->pair = pair;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &run->rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &run->size));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 3, NULL, &run->W));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  PetscCall(MuonSetType(run->muon, MUONLOCAL));
  PetscCall(MuonAddLayer(run->muon, "w", run->W, &run->layer));
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonLocalGetOuter(run->muon, &run->outer));
  PetscCall(MuonSetParameter(run->muon, "local_steps", "4"));
  PetscCall(MuonSetParameter(run->muon, "local_control", control ? "true" : "false"));
  PetscCall(MuonSetParameter(run->muon, "muon_learning_rate", "0.125"));
  PetscCall(MuonSetMomentum(run->muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetParameter(run->outer, "muon_learning_rate", "1"));
  PetscCall(MuonSetParameter(run->outer, "muon_momentum", "0"));
  for (int k = 0; keys != NULL && keys[k] != NULL; k += 2) PetscCall(MuonSetParameter(keys[k][0] == '+' ? run->outer : run->muon, keys[k] + (keys[k][0] == '+' ? 1 : 0), keys[k + 1]));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  PetscCall(MatDestroy(&run->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(Run *run, PetscInt steps)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < steps; s++) {
    if (run->falls) PetscCall(MuonSetLearningRate(run->muon, (PetscReal)(0.1 * (1 - (double)(s / 4) / (MANY / 4)))));
    PetscCall(MuonStep(run->muon));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* W by rows */
static PetscErrorCode Entries(const Run *run, PetscReal w[6])
{
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayRead(run->W, &a));
  for (PetscInt k = 0; k < 6; k++) w[3 * (k % 2) + k / 2] = PetscRealPart(a[k]);
  PetscCall(MatDenseRestoreArrayRead(run->W, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = value P */
static PetscErrorCode CheckMultiple(const Run *run, Mat A, const char what[], PetscInt round, PetscReal value)
{
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayRead(A, &a));
  for (PetscInt k = 0; k < 6; k++)
    PetscCheck(PetscRealPart(a[k]) == (k == 0 || k == 3 ? value : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Round %" PetscInt_FMT ", rank %d: entry %" PetscInt_FMT " of %s is %.17g, expected %g P", round, run->rank, k, what, (double)PetscRealPart(a[k]),
               (double)value);
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local steps stay at 0 with any momentum and outer optimizer; with control variates they are at the minimum 2P in 6 rounds */
static PetscErrorCode TestOpposite(void)
{
  static const char *const Keys[][9]   = {{NULL}, {"muon_momentum", "0.9", NULL}, {"+muon_learning_rate", "0.7", "+muon_momentum", "0.6", "+muon_type", MUONEF21, "+ef21_compressor", MUONCOMPRESSORTOPK, NULL}};
  static const PetscReal   Rounds[][4] = {{0, -10.875, 3.625, -3.625}, {0.5, -10.875, 4.375, -3.25}, {1, -9.375, 4.875, -2.25}, {1.5, -7.875, 5.375, -1.25}, {1.875, -6.375, 5.875, -0.25}, {2, -6, 6.125, 0.0625}};
  MuonLayer                control;
  PetscBool                kept;
  Mat                      A;
  Run                      run;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Keys); k++) {
    PetscCall(Create(&Opposite, PETSC_FALSE, Keys[k], &run));
    for (PetscInt r = 0; r < 6; r++) {
      PetscCall(Steps(&run, 4));
      PetscCall(CheckMultiple(&run, run.W, "weights", r, 0));
    }
    PetscCall(Destroy(&run));
  }
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 3, NULL, &A));
  PetscCall(Create(&Opposite, PETSC_TRUE, NULL, &run));
  for (PetscInt r = 0; r < 6; r++) {
    PetscCall(Steps(&run, 4));
    PetscCall(CheckMultiple(&run, run.W, "weights", r, Rounds[r][0]));
    PetscCall(MuonGetLayerState(run.muon, run.layer, "control", A, &kept));
    PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No state control");
    PetscCall(CheckMultiple(&run, A, "C_j", r, Rounds[r][1 + run.rank]));
    PetscCall(MuonGetLayer(run.outer, 1, &control));
    PetscCall(MuonLayerGetFullWeights(control, A));
    PetscCall(CheckMultiple(&run, A, "C", r, Rounds[r][3]));
  }
  PetscCall(Destroy(&run));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the radius goes to 0, local steps end away from the minimum (3 A_1 + A_2)/4 and those with control variates beside it: |X - X*| and |grad f| computed with numpy */
static PetscErrorCode TestGeneric(void)
{
  static const PetscReal Far[2] = {2.313, 0.00125};

  PetscFunctionBegin;
  for (int control = 0; control < 2; control++) {
    PetscReal far = 0, w[6];
    Run       run;

    PetscCall(Create(&Generic, (PetscBool)control, NULL, &run));
    run.falls = PETSC_TRUE;
    PetscCall(Steps(&run, MANY));
    PetscCall(Entries(&run, w));
    for (int k = 0; k < 6; k++) far += PetscSqr(w[k] - (3 * Generic.A[0][k] + Generic.A[1][k]) / 4);
    far = PetscSqrtReal(far);
    PetscCheck(PetscAbsReal(far / Far[control] - 1) < 0.005, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s control variates it ends %g from the minimum, expected %g", control ? "With" : "Without", (double)far, (double)Far[control]);
    PetscCall(Destroy(&run));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights, C_j and C of this rank */
static PetscErrorCode All(const Run *run, PetscReal all[18])
{
  MuonLayer control;
  PetscBool kept;
  Run       one = *run;

  PetscFunctionBegin;
  PetscCall(Entries(run, all));
  PetscCall(MuonGetLayer(run->outer, 1, &control));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 3, NULL, &one.W));
  PetscCall(MuonGetLayerState(run->muon, run->layer, "control", one.W, &kept));
  PetscCall(Entries(&one, all + 6));
  PetscCall(MuonLayerGetFullWeights(control, one.W));
  PetscCall(Entries(&one, all + 12));
  PetscCall(MatDestroy(&one.W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the outer optimizer leaves its step out weights and control variates stay, and so they do in the middle of a round; a reset begins anew */
static PetscErrorCode TestSkipped(void)
{
  PetscReal before[18], after[18];
  PetscInt  same = 0;
  Run       run;

  PetscFunctionBegin;
  PetscCall(Create(&Generic, PETSC_TRUE, NULL, &run));
  PetscCall(MuonSetParameter(run.outer, "muon_nan", "skip"));
  PetscCall(Steps(&run, 4));
  PetscCall(All(&run, before));
  PetscCheck(before[6] != 0 && before[12] != 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A control variate is %g, and C is %g after a round", (double)before[6], (double)before[12]);
  PetscCall(Steps(&run, 3));
  PetscCall(All(&run, after));
  for (PetscInt k = 6; k < 18; k++) same += before[k] == after[k] ? 1 : 0;
  PetscCheck(same == 12, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Control variates changed in the middle of a round");
  PetscCall(MuonSetParameter(run.muon, "muon_learning_rate", "64"));
  PetscCall(MuonSetLearningRate(run.outer, PETSC_MAX_REAL / 8)); /* times some tens it is beyond that */
  PetscCall(Steps(&run, 1));
  PetscCall(All(&run, after));
  for (PetscInt k = 0; k < 18; k++) PetscCheck(before[k] == after[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Number %" PetscInt_FMT " was %g and is %g after a step that was left out", k, (double)before[k], (double)after[k]);
  PetscCall(MuonReset(run.muon));
  PetscCall(MuonSetUp(run.muon));
  PetscCall(All(&run, after));
  for (PetscInt k = 6; k < 18; k++) PetscCheck(after[k] == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Number %" PetscInt_FMT " is %g after a reset", k, (double)after[k]);
  PetscCall(Destroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Workers of equal data, one worker among them, take the steps that they take without */
static PetscErrorCode TestEqual(void)
{
  static const char *const Keys[] = {"muon_momentum", "0.75", "muon_momentum_style", "sgd", "muon_nesterov", "sgd", "+muon_momentum", "0.6", NULL};
  PetscReal                w[2][6];

  PetscFunctionBegin;
  for (int control = 0; control < 2; control++) {
    Run run;

    PetscCall(Create(&Equal, (PetscBool)control, Keys, &run));
    PetscCall(Steps(&run, 13));
    PetscCall(Entries(&run, w[control]));
    PetscCall(Destroy(&run));
  }
  for (int k = 0; k < 6; k++) PetscCheck(w[0][k] == w[1][k] && w[0][0] != 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Equal data: entry %d is %.17g with control variates and %.17g without", k, (double)w[1][k], (double)w[0][k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Steps along the gradient itself are those of SCAFFOLD: y_j -= a (g_j - c_j + c), then c_j = g_j and c the mean; a rate of 1/8 and data in eighths leave nothing to round in some rounds */
static PetscErrorCode TestScaffold(void)
{
  static const char *const Keys[] = {"muon_layer_type", "sgd", NULL};
  PetscReal                x[6] = {0}, y[2][6], c[2][6], mean[6] = {0}, g = 0, w[6], most = 0;
  Run                      run;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(c)));
  PetscCall(Create(&Generic, PETSC_TRUE, Keys, &run));
  for (int r = 0; r < 5; r++) {
    for (int j = 0; j < 2; j++) {
      for (int k = 0; k < 6; k++) {
        const PetscReal shift = mean[k] - c[j][k];

        y[j][k] = x[k];
        for (int s = 0; s < 4; s++) {
          g = Generic.h[j] * (y[j][k] - Generic.A[j][k]);
          y[j][k] -= (g + shift) / 8;
        }
        c[j][k] = g;
      }
    }
    for (int k = 0; k < 6; k++) {
      x[k]    = (y[0][k] + y[1][k]) / 2;
      mean[k] = (c[0][k] + c[1][k]) / 2;
    }
    PetscCall(Steps(&run, 4));
    PetscCall(Entries(&run, w));
    for (int k = 0; k < 6; k++) most = PetscMax(most, PetscAbsReal(w[k] - x[k]));
  }
  /* Each of 20 steps contracts an error by 5/8 or 7/8, and adds some roundings of numbers up to 16 */
  PetscCheck(most <= 16 * 64 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "It is off SCAFFOLD by %g", (double)most);
  PetscCall(Destroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestEqual());
  if (size == 2) {
    PetscCall(TestOpposite());
    PetscCall(TestGeneric());
    PetscCall(TestScaffold());
    PetscCall(TestSkipped());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -lmo_polar_type svd
    test:
      nsize: {{1 2}}

TEST*/
