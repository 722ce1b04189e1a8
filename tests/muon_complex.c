static char help[] = "Layers of complex arrays beside the runs of equivalence: checkpoints of the other field, the gradient test, NaN in one part, what is refused, and torch.\n";

#include "problem.h"

#define LAYERS                "-problem_storage both -problem_layers wide:4x6d,tall:23x3d,square:5x5d,single:6x4f "
#define Check(condition, ...) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)

/* Real, or turned by a phase; with the options of the command line */
static PetscErrorCode Create(MuonField field, Problem *p)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, field == MUON_FIELD_COMPLEX ? LAYERS "-problem_complex 0.7" : LAYERS "-problem_complex -1"));
  PetscCall(ProblemCreate(p, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neither field reads the other's files */
static PetscErrorCode CheckCheckpoint(void)
{
  const char *const words[] = {"of layer \"|\" has complex numbers, expected real ones", "of layer \"|\" has real numbers, expected complex ones"};
  Problem           p[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k == 0 ? MUON_FIELD_COMPLEX : MUON_FIELD_REAL, &p[k]));
    PetscCall(MuonStep(p[k].muon));
    PetscCall(MuonSaveCheckpoint(p[k].muon, k == 0 ? "complex" : "real", 2));
  }
  for (int k = 0; k < 2; k++) Fails(MuonLoadCheckpoint(p[1 - k].muon, k == 0 ? "complex" : "real"), FAILS_ANY, words[k]);
  for (int k = 0; k < 2; k++) PetscCall(ProblemDestroy(&p[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Conjugates; /* the gradient is the conjugate, as JAX gives it */

/* 1/2 sum H |W - T|^2 */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Problem *p   = (Problem *)ctx;
  double   sum = 0;

  PetscFunctionBegin;
  PetscCall(ProblemSetGradients(p, 0));
  for (PetscInt l = 0; l < p->n; l++) {
    const PetscInt n = p->layer[l].shape->n;
    ProblemArray   g;
    void          *far;

    PetscCall(ProblemGetGradient(p, &p->layer[l], &g, &far));
    for (PetscInt e = 0; e < g.count * n; e++) {
      const double   h = (double)(1 + (e + p->rank) % 3) / 2;
      double         across;
      const double   x  = ProblemGetBoth(&p->layer[l].weights, e / n, e % n, &across) - 2 * ProblemNumber(l, e, p->rank, 7);
      const PetscInt at = 2 * ProblemAt(&g, e / n, e % n);

      sum += h * (x * x + across * across) / 2;
      for (int k = 0; k < 2; k++) {
        const double y = h * (k == 0 ? x * p->phase[0] - across * p->phase[1] : x * p->phase[1] + across * p->phase[0]) * (Conjugates && k == 1 ? -1 : 1);

        if (g.type == PETSC_FLOAT) ((float *)g.data)[at + k] = (float)y;
        else ((double *)g.data)[at + k] = y;
      }
    }
  }
  *loss = (PetscReal)sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The gradient test knows a gradient from its conjugate; NaN in one part of a number ends the step, and weights stay */
static PetscErrorCode CheckTrouble(void)
{
  ProblemImage before;
  Problem      p;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-problem_bad 0 -problem_bad_layer 1"));
  PetscCall(Create(MUON_FIELD_COMPLEX, &p));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, Objective, &p));
  PetscCall(MuonTestGradient(p.muon, NULL));
  Conjugates = PETSC_TRUE;
  Fails(MuonTestGradient(p.muon, NULL), PETSC_ERR_USER, "-muon_test_gradient: the gradients are wrong in 4 of 4 layers");
  PetscCall(MuonSetObjectiveAndGradient(p.muon, ProblemObjective, &p));
  PetscCall(ProblemTakeImage(&p, &before));
  p.bad = 0;
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemCheckReason(&p, MUON_DIVERGED_NANORINF, "complex", "NaN"));
  PetscCall(ProblemCheckImage(&p, &before, "complex", "NaN"));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckUsage(void)
{
  MuonLayerArray array, got;
  MuonLayer      layer;
  PetscInt       m, n, nrows;
  const PetscInt rows[] = {1, 3}, *sizes;
  PetscBool      owns;
  double         w[64] = {0};
  Muon           muon;
  Problem        p;
  Mat            A;

  /* The field that no matrix of this PETSc can hold */
  const MuonField field = PetscDefined(USE_COMPLEX) ? MUON_FIELD_REAL : MUON_FIELD_COMPLEX;
  const char     *words = PetscDefined(USE_COMPLEX) ? "Layer \"wide\" is real, and a matrix of this PETSc is complex" : "Layer \"wide\" is complex, and a matrix of this PETSc is real";

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-problem_setup 0"));
  PetscCall(Create(field, &p));
  layer = p.layer[0].layer;
  PetscCall(MuonLayerGetSize(layer, &m, &n));
  PetscCall(MuonLayerGetWeightsArray(layer, &got));
  Check(m == 4 && n == 6 && got.field == field && got.ld == 8 && got.w == p.layer[0].weights.data, "The layer is another");
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 6, NULL, &A));
  PetscCall(MatZeroEntries(A));
  Fails(MuonLayerSetGradient(layer, A), PETSC_ERR_ARG_WRONGSTATE, "Layer \"wide\" is an array that is not PETSc's: use MuonLayerSetGradientArray()");
  Fails(MuonLayerGetFullWeights(layer, A), PETSC_ERR_SUP, words);
  PetscCall(MuonLayerSetBlocks(layer, 2, rows, 3, NULL));
  PetscCall(MuonLayerGetBlocks(layer, &nrows, &sizes, NULL, NULL));
  Check(nrows == 2 && sizes[1] == 3, "The blocks are others");
  PetscCall(MuonStep(p.muon));
  Fails(MuonGetLayerState(p.muon, layer, "momentum", A, &owns), PETSC_ERR_SUP, words);
  PetscCall(MatDestroy(&A));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonLayerArrayInitialize(&array));
  Check(array.field == MUON_FIELD_REAL, "What an array begins as");
  array.M = array.N = 4;
  array.w           = w;
  array.field       = (MuonField)7;
  Fails(MuonAddLayerArray(muon, "a", &array, &layer), PETSC_ERR_ARG_OUTOFRANGE, "Layer \"a\"|MuonField 7, expected MUON_FIELD_REAL or MUON_FIELD_COMPLEX");
  array.type = PETSC_COMPLEX;
  Fails(MuonAddLayerArray(muon, "a", &array, &layer), PETSC_ERR_SUP, "Layer \"a\"|expected PETSC_FLOAT or PETSC_DOUBLE, with the field MUON_FIELD_COMPLEX");
  array.type  = PETSC_REAL;
  array.field = MUON_FIELD_COMPLEX;
  array.comm  = PETSC_COMM_WORLD;
  if (p.size > 1) Fails(MuonAddLayerArray(muon, "a", &array, &layer), PETSC_ERR_SUP, "Layer \"a\"|complex array whose rows are spread|expected MPI_COMM_SELF");
  PetscCall(MuonDestroy(&muon));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the first layer the roots of H, the target, and the weights before the first step and after each */
static PetscErrorCode WriteRun(void)
{
  char    path[PETSC_MAX_PATH_LEN] = ".";
  double  both[2];
  Problem p;
  FILE   *file;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", path, sizeof(path), NULL));
  PetscCall(PetscStrlcat(path, "/torch", sizeof(path)));
  file = fopen(path, "wb");
  Check(file != NULL, "Cannot open %s", path);
  PetscCall(Create(MUON_FIELD_COMPLEX, &p));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, Objective, &p));
  for (PetscInt line = 0; line < 9; line++) {
    if (line > 2) PetscCall(MuonStep(p.muon));
    for (PetscInt e = 0; e < 24; e++) {
      const double *w = (const double *)p.layer[0].weights.data + 2 * ProblemAt(&p.layer[0].weights, e / 6, e % 6);

      for (int k = 0; k < 2; k++) both[k] = line == 0 ? (k == 0 ? sqrt((double)(1 + e % 3) / 2) : 0) : line == 1 ? 2 * ProblemNumber(0, e, 0, 7) * p.phase[k] : w[k];
      Check(fwrite(both, sizeof(both), 1, file) == 1, "Cannot write %s", path);
    }
  }
  Check(fclose(file) == 0, "Cannot write %s", path);
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The program of an option that is to be an error, or of ranks that have layers of different fields */
static PetscErrorCode RunOnce(void)
{
  Problem     p;
  PetscMPIInt rank;
  PetscBool   differ = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-differ", &differ, NULL));
  PetscCall(Create(differ && rank == 1 ? MUON_FIELD_REAL : MUON_FIELD_COMPLEX, &p));
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name;
    PetscErrorCode (*check)(void);
  } checks[]     = {{"checkpoint", CheckCheckpoint}, {"trouble", CheckTrouble}, {"usage", CheckUsage}, {"torch", WriteRun}, {"once", RunOnce}};
  char check[16] = "once";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-check", check, sizeof(check), NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(checks); k++) {
    if (strcmp(check, checks[k].name) == 0) PetscCall((*checks[k].check)());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    table: suffix | nsize | args
      checkpoint | {{1 2}} | -check checkpoint -muon_type {{dense ef21 local}} -muon_layer_types "square:adamw"
      trouble    | 2       | -check trouble
      usage      | {{1 2}} | -check usage

  test:
    suffix: torch
    requires: torch
    args: -check torch -muon_type dense -muon_layer_types "*:adamw" -muon_layer_adamw_complex split -muon_adamw_learning_rate 0.02 -muon_adamw_weight_decay 0.1 -muon_adamw_beta1 0.9 -muon_adamw_beta2 0.95 -muon_adamw_epsilon 1e-8
    oracle: complex_torch.py

  testset:
    nsize: 2
    table: suffix | args | error
      sign       | -muon_type sign                                                    | Layer "wide" is complex: -muon_type sign makes steps of its own, of signs; expected another
      compressor | -ef21_compressor {{sign columntopk rowtopk powersgd}}               | Layer "wide": -ef21_compressor {} is of real matrices, and this one is complex, expected identity
      range      | -ef21_compressor rankk -ef21_compressor_rankk_method range              | Layer "wide": -ef21_compressor rankk is of real matrices
      blocks     | -ef21_compressor topk -ef21_compressor_block_entries 64             | _block_entries
      rows       | -muon_type dense -muon_exchange_type rows                           | Layer "wide" is complex: its rows are spread over 2 ranks, expected another -muon_exchange_type
      type       | -muon_layer_types "wide:soap"                                        | Layer "wide": -muon_layer_wide_type soap is of real matrices, and this one is complex, expected lmo
      mud        | -lmo_polar_type mud                                                | Layer "wide": -lmo_polar_type mud is of real matrices, and this one is complex, expected newtonschulz
      bf16       | -lmo_polar_type newtonschulz -lmo_polar_precision bf16 | -lmo_polar_precision is bf16 for a complex matrix, expected single or double
      slot       | -muon_layer_before rows                                            | Layer "wide" is complex: -muon_layer_wide_before is of real matrices, expected none
      cautious   | -muon_weight_decay 0.1 -muon_weight_decay_style cautious           | Layer "wide" is complex: -muon_weight_decay_style cautious compares signs, expected decoupled or coupled
      steps      | -lmo_type l1 -ef21_downlink step                                   | it is complex, and steps of complex layers have no natural format
      differ     | -differ                                                            | Layer "wide": its field, precision, memory or order in it differs between the ranks

TEST*/
