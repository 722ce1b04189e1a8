static char help[] = "Layers of complex arrays: a real problem in complex numbers, turned by a phase, takes the same steps; checkpoints; the gradient test; what is refused.\n";

#include <petscmuon.h>
#include "fails.h"
#include "number_common.h"
#include <math.h>

#define LAYERS                4
#define Check(condition, ...) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)

static const struct {
  const char   *name;
  PetscInt      m, n, gap;
  PetscDataType type;
  PetscBool     rowmajor;
} Shapes[LAYERS] = {{"wide", 4, 6, 2, PETSC_DOUBLE, PETSC_TRUE}, {"tall", 23, 3, 0, PETSC_DOUBLE, PETSC_FALSE}, {"square", 5, 5, 1, PETSC_DOUBLE, PETSC_FALSE}, {"single", 6, 4, 0, PETSC_FLOAT, PETSC_TRUE}};

/* An optimizer of layers of one field, numbers being multiplied by a phase, and its objective 1/2 sum |H (W - T)|^2 */
typedef struct {
  MuonField   field;
  double      phase[2];
  void       *w[LAYERS];
  MuonLayer   layer[LAYERS];
  PetscMPIInt rank;
  PetscBool   conjugates, nan; /* the gradient is the conjugate, as JAX gives it; or has a NaN in one part */
} Run;

static size_t At(PetscInt l, PetscInt ld, PetscInt i, PetscInt j)
{
  return (size_t)(Shapes[l].rowmajor ? i * ld + j : i + j * ld);
}

static PetscInt LD(PetscInt l)
{
  return (Shapes[l].rowmajor ? Shapes[l].n : Shapes[l].m) + Shapes[l].gap;
}

static void Put(PetscInt l, void *a, size_t at, double x)
{
  if (Shapes[l].type == PETSC_FLOAT) ((float *)a)[at] = (float)x;
  else ((double *)a)[at] = x;
}

static double Get(PetscInt l, const void *a, size_t at)
{
  return Shapes[l].type == PETSC_FLOAT ? (double)((const float *)a)[at] : ((const double *)a)[at];
}

/* A number in [-1, 1) that depends on its arguments alone */
static double Number(PetscInt a, PetscInt b, PetscInt c)
{
  return (double)(TestHash(a, b, c, 3) % 4096) / 2048 - 1;
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run      *run   = (Run *)ctx;
  const int parts = run->field == MUON_FIELD_COMPLEX ? 2 : 1;
  double    sum   = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < LAYERS; l++) {
    MuonLayerArray array;

    PetscCall(MuonLayerGetGradientArray(run->layer[l], &array));
    Check(array.field == run->field && array.M == Shapes[l].m && array.N == Shapes[l].n && array.ld == LD(l) - Shapes[l].gap, "The gradient of %s is laid out otherwise", Shapes[l].name);
    for (PetscInt i = 0; i < Shapes[l].m; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) {
        const PetscInt e = i * Shapes[l].n + j;
        const double   h = 1 + (double)((e + run->rank) % 3) / 2, t = Number(l, e, run->rank);

        for (int k = 0; k < parts; k++) {
          const double x = h * (Get(l, run->w[l], (size_t)parts * At(l, LD(l), i, j) + (size_t)k) - t * run->phase[k]);

          sum += x * x / 2;
          Put(l, array.w, (size_t)parts * At(l, array.ld, i, j) + (size_t)k, run->nan && l == 1 && e == 5 && k == parts - 1 ? (double)NAN : run->conjugates && k == 1 ? -h * x : h * x);
        }
      }
    }
  }
  *loss = (PetscReal)sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MuonField field, double angle, Run *run, Muon *muon)
{
  MuonLayerArray array;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &run->rank));
  run->field    = field;
  run->phase[0] = field == MUON_FIELD_REAL ? 1 : cos(angle);
  run->phase[1] = sin(angle);
  PetscCall(MuonCreate(PETSC_COMM_WORLD, muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    const PetscInt ld = LD(l), parts = field == MUON_FIELD_COMPLEX ? 2 : 1;

    PetscCall(PetscCalloc1((size_t)(parts * ld * (Shapes[l].rowmajor ? Shapes[l].m : Shapes[l].n)) * sizeof(double), (char **)&run->w[l]));
    for (PetscInt i = 0; i < Shapes[l].m; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) {
        for (PetscInt k = 0; k < parts; k++) Put(l, run->w[l], (size_t)parts * At(l, ld, i, j) + (size_t)k, Number(l, i * Shapes[l].n + j, 77) * run->phase[k] / 2);
      }
    }
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type     = Shapes[l].type;
    array.rowmajor = Shapes[l].rowmajor;
    array.M        = Shapes[l].m;
    array.N        = Shapes[l].n;
    array.ld       = ld;
    array.w        = run->w[l];
    array.field    = field;
    PetscCall(MuonAddLayerArray(*muon, Shapes[l].name, &array, &run->layer[l]));
  }
  PetscCall(MuonSetObjectiveAndGradient(*muon, Objective, run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Run *run, Muon *muon)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(muon));
  for (PetscInt l = 0; l < LAYERS; l++) PetscCall(PetscFree(run->w[l]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference between complex weights and others, real ones times the phase; moved: how far they came */
static double Difference(const Run *a, const Run *b, PetscInt l, double *moved)
{
  const size_t q    = b->field == MUON_FIELD_COMPLEX ? 2 : 1;
  double       most = 0;

  *moved = 0;
  for (PetscInt i = 0; i < Shapes[l].m; i++) {
    for (PetscInt j = 0; j < Shapes[l].n; j++) {
      for (size_t k = 0; k < 2; k++) {
        const size_t at = At(l, LD(l), i, j);
        const double x = Get(l, a->w[l], 2 * at + k), y = q == 2 ? Get(l, b->w[l], 2 * at + k) : Get(l, b->w[l], at) * a->phase[k];

        most   = PetscMax(most, fabs(x - y));
        *moved = PetscMax(*moved, fabs(x - Number(l, i * Shapes[l].n + j, 77) * a->phase[k] / 2));
      }
    }
  }
  return most;
}

/* Roundings of a few steps, each a few times what one polar factor has, single in part */
static PetscErrorCode CheckSame(double angle, PetscInt steps, double tolerance)
{
  Run    run[2];
  Muon   muon[2];
  double moved;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? MUON_FIELD_COMPLEX : MUON_FIELD_REAL, angle, &run[k], &muon[k]));
    PetscCall(MuonSetFromOptions(muon[k]));
    for (PetscInt s = 0; s < steps; s++) PetscCall(MuonStep(muon[k]));
  }
  for (PetscInt l = 0; l < LAYERS; l++) {
    const double difference = Difference(&run[1], &run[0], l, &moved);

    Check(difference <= (Shapes[l].type == PETSC_FLOAT ? PetscMax(tolerance, 4e-6) : tolerance) && moved > 0.01, "%s: complex and real weights differ by %g, expected at most %g; moved by %g", Shapes[l].name, difference, tolerance, moved);
  }
  for (int k = 0; k < 2; k++) PetscCall(Destroy(&run[k], &muon[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A run that ends and goes on is the same, bit for bit, and neither field reads the other's files */
static PetscErrorCode CheckCheckpoint(void)
{
  Run    run[3];
  Muon   muon[3];
  double moved;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(Create(k < 2 ? MUON_FIELD_COMPLEX : MUON_FIELD_REAL, 0.7, &run[k], &muon[k]));
    PetscCall(MuonSetFromOptions(muon[k]));
  }
  for (int s = 0; s < 3; s++) PetscCall(MuonStep(muon[0]));
  PetscCall(MuonSaveCheckpoint(muon[0], "checkpoints", 2));
  PetscCall(MuonSetUp(muon[1]));
  PetscCall(MuonLoadCheckpoint(muon[1], "checkpoints"));
  for (int s = 0; s < 3; s++) {
    PetscCall(MuonStep(muon[0]));
    PetscCall(MuonStep(muon[1]));
  }
  for (PetscInt l = 0; l < LAYERS; l++) Check(Difference(&run[0], &run[1], l, &moved) == 0, "%s: another run", Shapes[l].name);
  PetscCall(MuonSetUp(muon[2]));
  Fails(MuonLoadCheckpoint(muon[2], "checkpoints"), FAILS_ANY, "of layer \"|\" has complex numbers, expected real ones");
  PetscCall(MuonStep(muon[2]));
  PetscCall(MuonSaveCheckpoint(muon[2], "others", 2));
  Fails(MuonLoadCheckpoint(muon[1], "others"), FAILS_ANY, "of layer \"|\" has real numbers, expected complex ones");
  for (int k = 0; k < 3; k++) PetscCall(Destroy(&run[k], &muon[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN in one part of a number ends the step, and weights stay; the gradient test knows a gradient from its conjugate */
static PetscErrorCode CheckTrouble(void)
{
  Run                 run, before;
  Muon                muon;
  MuonConvergedReason reason;
  double              moved;

  PetscFunctionBegin;
  PetscCall(Create(MUON_FIELD_COMPLEX, 0.7, &run, &muon));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonTestGradient(muon, NULL));
  run.conjugates = PETSC_TRUE;
  Fails(MuonTestGradient(muon, NULL), PETSC_ERR_USER, "-muon_test_gradient: the gradients are wrong in 4 of 4 layers");
  run.conjugates = PETSC_FALSE;
  run.nan        = PETSC_TRUE;
  PetscCall(MuonSetParameter(muon, "muon_error_if_not_converged", "false"));
  PetscCall(MuonStep(muon));
  PetscCall(MuonGetConvergedReason(muon, &reason));
  Check(reason == MUON_DIVERGED_NANORINF, "Reason %d", (int)reason);
  before = run;
  for (PetscInt l = 0; l < LAYERS; l++) {
    (void)Difference(&run, &before, l, &moved);
    Check(moved <= (Shapes[l].type == PETSC_FLOAT ? 1e-7 : 0), "%s: moved by %g in a step that failed", Shapes[l].name, moved);
  }
  PetscCall(Destroy(&run, &muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckUsage(void)
{
  MuonLayerArray array, got;
  MuonLayer      layer;
  PetscInt       m, n, nrows;
  const PetscInt rows[] = {1, 3}, *sizes;
  PetscReal      norm;
  PetscBool      owns;
  double         w[64] = {0};
  PetscMPIInt    size;
  Muon           muon;
  Run            run;
  Mat            A;

  /* The field that no matrix of this PETSc can hold */
  const MuonField field = PetscDefined(USE_COMPLEX) ? MUON_FIELD_REAL : MUON_FIELD_COMPLEX;
  const char     *words = PetscDefined(USE_COMPLEX) ? "Layer \"wide\" is real, and a matrix of this PETSc is complex" : "Layer \"wide\" is complex, and a matrix of this PETSc is real";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(field, 0.7, &run, &muon));
  PetscCall(MuonLayerGetSize(run.layer[0], &m, &n));
  PetscCall(MuonLayerGetWeightsArray(run.layer[0], &got));
  Check(m == 4 && n == 6 && got.field == field && got.ld == 8 && got.w == run.w[0], "The layer is another");
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 6, NULL, &A));
  PetscCall(MatZeroEntries(A));
  Fails(MuonLayerSetGradient(run.layer[0], A), PETSC_ERR_ARG_WRONGSTATE, "Layer \"wide\" is an array that is not PETSc's: use MuonLayerSetGradientArray()");
  Fails(MuonLayerGetFullWeights(run.layer[0], A), PETSC_ERR_SUP, words);
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonLayerSetBlocks(run.layer[0], 2, rows, 3, NULL));
  PetscCall(MuonLayerGetBlocks(run.layer[0], &nrows, &sizes, NULL, NULL));
  Check(nrows == 2 && sizes[1] == 3, "The blocks are others");
  PetscCall(MuonStep(muon));
  Fails(MuonGetLayerState(muon, run.layer[0], "momentum", A, &owns), PETSC_ERR_SUP, words);
  PetscCall(MatDestroy(&A));
  PetscCall(Destroy(&run, &muon));
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
  if (size > 1) Fails(MuonAddLayerArray(muon, "a", &array, &layer), PETSC_ERR_SUP, "Layer \"a\"|complex array whose rows are spread|expected MPI_COMM_SELF");
  PetscCall(MuonDestroy(&muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers of the first layer: h, the target, and the weights before the first step and after each */
static PetscErrorCode WriteRun(void)
{
  char   path[PETSC_MAX_PATH_LEN] = ".";
  double both[2];
  Run    run;
  Muon   muon;
  FILE  *file;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", path, sizeof(path), NULL));
  PetscCall(PetscStrlcat(path, "/torch", sizeof(path)));
  file = fopen(path, "wb");
  Check(file != NULL, "Cannot open %s", path);
  PetscCall(Create(MUON_FIELD_COMPLEX, 0.7, &run, &muon));
  PetscCall(MuonSetFromOptions(muon));
  for (PetscInt line = 0; line < 9; line++) {
    if (line > 2) PetscCall(MuonStep(muon));
    for (PetscInt e = 0; e < Shapes[0].m * Shapes[0].n; e++) {
      for (size_t k = 0; k < 2; k++) {
        both[k] = line == 0 ? (double)(k == 0 ? 1 + (double)(e % 3) / 2 : 0) : line == 1 ? Number(0, e, 0) * run.phase[k] : Get(0, run.w[0], 2 * At(0, LD(0), e / Shapes[0].n, e % Shapes[0].n) + k);
      }
      Check(fwrite(both, sizeof(both), 1, file) == 1, "Cannot write %s", path);
    }
  }
  Check(fclose(file) == 0, "Cannot write %s", path);
  PetscCall(Destroy(&run, &muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The program of an option that is to be an error, or of ranks that have layers of different fields */
static PetscErrorCode RunOnce(void)
{
  Run         run;
  Muon        muon;
  PetscMPIInt rank;
  PetscBool   differ = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-differ", &differ, NULL));
  PetscCall(Create(differ && rank == 1 ? MUON_FIELD_REAL : MUON_FIELD_COMPLEX, 0.7, &run, &muon));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonStep(muon));
  PetscCall(Destroy(&run, &muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      check[32] = "same";
  PetscReal angle = 0.7, tolerance = 1e-12;
  PetscInt  steps = 6;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-check", check, sizeof(check), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-angle", &angle, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  if (strcmp(check, "same") == 0) PetscCall(CheckSame((double)angle, steps, (double)tolerance));
  else if (strcmp(check, "checkpoint") == 0) PetscCall(CheckCheckpoint());
  else if (strcmp(check, "trouble") == 0) PetscCall(CheckTrouble());
  else if (strcmp(check, "usage") == 0) PetscCall(CheckUsage());
  else if (strcmp(check, "torch") == 0) PetscCall(WriteRun());
  else PetscCall(RunOnce());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    args: -muon_momentum 0.8 -muon_weight_decay 0.1 -muon_learning_rate 0.05 -lmo_polar_type svd
    table: suffix | nsize | args
      dense     | {{1 3}} | -muon_type dense -angle {{0 0.7}}
      polar     | 1       | -muon_type dense -lmo_polar_type {{newtonschulz gram qdwh zolotarev}} -tolerance 2e-6
      sharp     | 2       | -muon_type dense -muon_step sharp -muon_shape_factor scion -muon_learning_rate 0.01
      ef21      | 3       | -muon_type ef21 -ef21_compressor {{identity topk damping rankk topsvd}} -ef21_compressor_ratio 0.4 -ef21_compressor_values double
      downlink  | 2       | -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values double
      ef14      | 3       | -muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.4 -ef14_compressor_values double
      local     | 2       | -muon_type local -local_steps 2
      nodes     | 2       | -muon_type dense -muon_node_size 2
      replicate | 2       | -muon_type dense -muon_exchange_type replicated
      adamw     | 2       | -muon_type dense -muon_layer_types "*:adamw" -muon_adamw_learning_rate 0.02 -angle {{0 0.7}}
      split     | 1       | -muon_type dense -muon_layer_types "*:{{adamw nadamw}}" -muon_adamw_learning_rate 0.02 -angle 0 -muon_layer_adamw_complex split
      sgd       | 2       | -muon_type dense -muon_layer_types "*:sgd"
      cut       | 2       | -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.5 -ef21_compressor_values double -muon_layer_wide_blocks_rows 1,3 -muon_layer_wide_blocks_columns 2,4 -muon_layer_square_blocks_rows 2,3

  test:
    suffix: norms
    nsize: 2
    args: -muon_type dense -muon_momentum 0.8 -muon_learning_rate 0.05 -lmo_type {{frobenius max column row l1 l21 colsum rowsum nuclear schatten mixed}}

  testset:
    args: -lmo_polar_type svd
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
    args: -check once
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
