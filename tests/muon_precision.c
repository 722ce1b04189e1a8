static char help[] = "Layers of arrays in single and in double precision in one optimizer, whatever PetscScalar is, with state of their own precision or in single: whole runs, which tests/oracle/precision.py does again.\n\n";

#include <petscmuon.h>
#include <stdio.h>
#include <string.h>
#include "number_common.h"
#include "parameters.h"

#define LAYERS 6
#define MOST   64

static const struct {
  const char   *name, *norm;
  PetscInt      m, n, gap;
  PetscDataType type;
  PetscBool     rowmajor, own; /* own: the gradient is the caller's memory */
} Shapes[LAYERS] = {
  {"f.max", MUONLMOMAX, 6, 5, 2, PETSC_FLOAT, PETSC_TRUE, PETSC_FALSE},   {"f.frobenius", MUONLMOFROBENIUS, 4, 7, 0, PETSC_FLOAT, PETSC_FALSE, PETSC_TRUE}, {"f.spectral", MUONLMOSPECTRAL, 6, 4, 1, PETSC_FLOAT, PETSC_TRUE, PETSC_TRUE},
  {"d.max", MUONLMOMAX, 5, 6, 0, PETSC_DOUBLE, PETSC_FALSE, PETSC_FALSE}, {"d.frobenius", MUONLMOFROBENIUS, 7, 3, 1, PETSC_DOUBLE, PETSC_TRUE, PETSC_TRUE}, {"d.spectral", MUONLMOSPECTRAL, 4, 6, 2, PETSC_DOUBLE, PETSC_FALSE, PETSC_FALSE}};

typedef struct {
  MuonLayer   layer[LAYERS];
  char       *w[LAYERS], *g[LAYERS];
  const char *dir;
  PetscMPIInt rank;
} Run;

/* A multiple of 2^-10 in [-1, 1) that depends on its arguments alone */
static double Number(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  return (double)(TestHash(a, b, c, d) % 2048) / 1024 - 1;
}

static size_t At(PetscInt l, PetscInt ld, PetscInt i, PetscInt j)
{
  return Shapes[l].rowmajor == PETSC_TRUE ? (size_t)i * (size_t)ld + (size_t)j : (size_t)i + (size_t)j * (size_t)ld;
}

static PetscInt LD(PetscInt l)
{
  return (Shapes[l].rowmajor == PETSC_TRUE ? Shapes[l].n : Shapes[l].m) + Shapes[l].gap;
}

static double Get(PetscInt l, const void *a, size_t at)
{
  return Shapes[l].type == PETSC_FLOAT ? (double)((const float *)a)[at] : ((const double *)a)[at];
}

static void Put(PetscInt l, void *a, size_t at, double x)
{
  if (Shapes[l].type == PETSC_FLOAT) ((float *)a)[at] = (float)x;
  else ((double *)a)[at] = x;
}

static PetscErrorCode Write(const Run *run, PetscInt l, const char name[], const double rows[])
{
  const size_t d = (size_t)(Shapes[l].m * Shapes[l].n);
  char         path[PETSC_MAX_PATH_LEN];
  FILE        *file;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%d.%" PetscInt_FMT ".%s", run->dir, run->rank, l, name));
  file = fopen(path, "wb");
  PetscCheck(file != NULL && fwrite(rows, sizeof(*rows), d, file) == d && fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void GetWeights(const Run *run, PetscInt l, double rows[])
{
  for (PetscInt i = 0; i < Shapes[l].m; i++) {
    for (PetscInt j = 0; j < Shapes[l].n; j++) rows[i * Shapes[l].n + j] = Get(l, run->w[l], At(l, LD(l), i, j));
  }
}

/* One rounding to the array's precision, of what is exact but for roundings of doubles */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run     *run = (Run *)ctx;
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt l = 0; l < LAYERS; l++) {
    void    *g  = run->g[l];
    PetscInt ld = LD(l);

    if (g == NULL) {
      MuonLayerArray array;

      PetscCall(MuonLayerGetGradientArray(run->layer[l], &array));
      PetscCheck(array.type == Shapes[l].type && array.rowmajor == Shapes[l].rowmajor && array.M == Shapes[l].m && array.N == Shapes[l].n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient of %s is laid out otherwise", Shapes[l].name);
      g  = array.w;
      ld = array.ld;
    }
    for (PetscInt i = 0; i < Shapes[l].m; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) {
        const PetscInt e = i * Shapes[l].n + j;
        const double   x = (double)(1 + (e + run->rank) % 3) / 2 * (Get(l, run->w[l], At(l, LD(l), i, j)) - Number(l, e, run->rank, 7) * 1.6875) + Number(l, e, run->rank, 100 + step) / 2;

        Put(l, g, At(l, ld, i, j), x);
        *loss += (PetscReal)(x * x);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   State in single precision and packed momenta are that and no more, and weights and momenta in double precision are more.
   Accessors of a single PETSc cannot show that
*/
static PetscErrorCode CheckPrecision(PetscInt l, MuonStatePrecision state, const char name[], const double rows[])
{
  const PetscBool weights  = strcmp(name, "W") == 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool packed   = state > MUON_STATE_PRECISION_SINGLE && strcmp(name, "momentum") == 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool stated   = state == MUON_STATE_PRECISION_SINGLE && weights == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool expected = Shapes[l].type == PETSC_FLOAT || packed || stated ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       single   = PETSC_TRUE;

  PetscFunctionBegin;
  if (PetscDefined(USE_REAL_SINGLE) && weights == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  /* Estimates are sums of what was sent, which may be powers of two */
  if (expected == PETSC_FALSE && weights == PETSC_FALSE && strcmp(name, "momentum") != 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt e = 0; e < Shapes[l].m * Shapes[l].n; e++) {
    if ((double)(float)rows[e] != rows[e]) single = PETSC_FALSE;
  }
  PetscCheck(single == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of layer %s with state %s: entries are %snumbers of single precision", name, Shapes[l].name, MuonStatePrecisions[state], single == PETSC_TRUE ? "" : "no ");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteState(Run *run, Muon muon, MuonStatePrecision state)
{
  const char *const names[] = {"momentum", "estimate", "aggregate", "weights"};

  PetscFunctionBegin;
  for (PetscInt l = 0; l < LAYERS; l++) {
    double    rows[MOST];
    Mat       A;
    PetscBool kept;

    GetWeights(run, l, rows);
    PetscCall(CheckPrecision(l, state, "W", rows));
    PetscCall(Write(run, l, "W", rows));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, Shapes[l].m, Shapes[l].n, NULL, &A));
    for (int k = 0; k < 4; k++) {
      const PetscScalar *a;

      PetscCall(MuonGetLayerState(muon, run->layer[l], names[k], A, &kept));
      if (kept == PETSC_FALSE) continue;
      PetscCall(MatDenseGetArrayRead(A, &a));
      for (PetscInt i = 0; i < Shapes[l].m; i++) {
        for (PetscInt j = 0; j < Shapes[l].n; j++) rows[i * Shapes[l].n + j] = (double)PetscRealPart(a[i + j * Shapes[l].m]);
      }
      PetscCall(MatDenseRestoreArrayRead(A, &a));
      if (k < 3) PetscCall(CheckPrecision(l, state, names[k], rows));
      PetscCall(Write(run, l, names[k], rows));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char               dir[PETSC_MAX_PATH_LEN] = ".", path[PETSC_MAX_PATH_LEN];
  PetscInt           steps                   = 8;
  Muon               muon;
  Run                run;
  MuonType           type;
  MuonStatePrecision state = MUON_STATE_PRECISION_NATIVE;
  PetscReal          rate, momentum = 0, decay = 0;
  PetscMPIInt        size;
  PetscBool          ef21;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &run.rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  run.dir = dir;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    const size_t   entries = (size_t)LD(l) * (size_t)PetscMax(Shapes[l].m, Shapes[l].n), bytes = entries * (Shapes[l].type == PETSC_FLOAT ? sizeof(float) : sizeof(double));
    MuonLayerArray array;
    MuonLMO        lmo;

    PetscCall(PetscCalloc1(bytes, &run.w[l]));
    run.g[l] = NULL;
    if (Shapes[l].own == PETSC_TRUE) PetscCall(PetscCalloc1(bytes, &run.g[l]));
    for (PetscInt i = 0; i < Shapes[l].m; i++) {
      for (PetscInt j = 0; j < Shapes[l].n; j++) Put(l, run.w[l], At(l, LD(l), i, j), Number(l, i * Shapes[l].n + j, 0, 1));
    }
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type     = Shapes[l].type;
    array.rowmajor = Shapes[l].rowmajor;
    array.M        = Shapes[l].m;
    array.N        = Shapes[l].n;
    array.ld       = LD(l);
    array.w        = run.w[l];
    array.g        = run.g[l];
    PetscCall(MuonAddLayerArray(muon, Shapes[l].name, &array, &run.layer[l]));
    PetscCall(MuonLayerGetLMO(run.layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, Shapes[l].norm));
    if (strcmp(Shapes[l].norm, MUONLMOSPECTRAL) == 0) {
      MuonPolar polar;

      PetscCall(MuonLMOGetPolar(lmo, &polar));
      PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
    }
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &run));
  PetscCall(MuonSetMaxSteps(muon, steps));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_CONSTANT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetType(muon, &type));
  PetscCall(PetscStrcmp(type, MUONEF21, &ef21));
  PetscCall(GetEnum((PetscObject)muon, "muon_state_precision", MuonStatePrecisions, (int *)&state));
  PetscCall(WriteState(&run, muon, state));
  if (run.rank == 0) {
    FILE *file;

    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/settings", dir));
    file = fopen(path, "w");
    PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
    PetscCall(MuonGetLearningRate(muon, &rate));
    PetscCall(GetReal((PetscObject)muon, "muon_momentum", &momentum));
    PetscCall(GetReal((PetscObject)muon, "muon_weight_decay", &decay));
    fprintf(file, "type=%s workers=%d steps=%d rate=%.17g momentum=%.17g decay=%.17g state=%s epsilon=%.17g\n", type, size, (int)steps, (double)rate, (double)momentum, (double)decay, MuonStatePrecisions[state], (double)PETSC_MACHINE_EPSILON);
    for (PetscInt l = 0; l < LAYERS; l++) {
      MuonLMO     lmo;
      MuonLMOType norm;

      PetscCall(MuonLayerGetLMO(run.layer[l], &lmo));
      PetscCall(MuonLMOGetType(lmo, &norm));
      fprintf(file, "name=%s m=%d n=%d norm=%s precision=%s rowmajor=%d", Shapes[l].name, (int)Shapes[l].m, (int)Shapes[l].n, norm, Shapes[l].type == PETSC_FLOAT ? "single" : "double", (int)Shapes[l].rowmajor);
      for (int down = 0; down < 2 && ef21 == PETSC_TRUE; down++) {
        MuonCompressor     c[2];
        MuonCompressorType compressor;
        int                values = PETSC_DETERMINE;
        PetscReal          ratio  = 1;

        PetscCall(MuonGetLayerCompressors(muon, run.layer[l], &c[0], &c[1]));
        PetscCall(MuonCompressorGetType(c[down], &compressor));
        PetscCall(GetEnum((PetscObject)c[down], "compressor_values", MuonCompressorValuesTypes, &values));
        if (values == PETSC_DETERMINE) values = strcmp(compressor, MUONCOMPRESSORIDENTITY) == 0 ? MUON_COMPRESSOR_VALUES_NATIVE : MUON_COMPRESSOR_VALUES_SINGLE;
        PetscCall(GetReal((PetscObject)c[down], "compressor_ratio", &ratio));
        fprintf(file, " %s=%s %s_values=%s %s_ratio=%.17g", down ? "down" : "up", compressor, down ? "down" : "up", MuonCompressorValuesTypes[values], down ? "down" : "up", (double)ratio);
      }
      fprintf(file, "\n");
    }
    PetscCheck(fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  }
  PetscCall(MuonDestroy(&muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    PetscCall(PetscFree(run.w[l]));
    PetscCall(PetscFree(run.g[l]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: numpy
    nsize: {{1 3}}
    oracle: precision.py
    args: -muon_learning_rate 0.05 -muon_weight_decay 0.1 -muon_state_precision {{native single bf16 int8}}
    table: suffix | args
      identity | -muon_type ef21
      # Powers of two cancel, and the sign of what is left is that of a rounding
      topk     | -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -muon_layer_f.max_lmo_type frobenius -muon_layer_d.max_lmo_type frobenius
      native   | -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values native -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values native
      dense    | -muon_type dense -muon_exchange_mode {{gather reduce}}

TEST*/
