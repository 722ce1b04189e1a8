static char help[] = "Layers that are slices of one vector take the steps of matrices, vectors and arrays, bit for bit, whichever ranks have which entries; object states and norms follow; errors name layer, value and what was expected.\n";

#include <petscmuon/private/muonimpl.h>
#include <math.h>
#include <string.h>
#include "number_common.h"

enum {
  NLAYERS = 6,
  ENTRIES = 5 * 3 + 4 * 6 + 7 + 2 * 2 + 9 * 4 + 1,
  STEPS   = 4
};

static const char *const Names[NLAYERS]    = {"tall", "wide", "bias", "square", "moments", "gain"};
static const PetscInt    Rows[NLAYERS]     = {5, 4, 7, 2, 9, 1};
static const PetscInt    Columns[NLAYERS]  = {3, 6, 1, 2, 4, 1};
static const PetscBool   RowMajor[NLAYERS] = {PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, PETSC_TRUE};

typedef struct {
  const char *name, *options;
  PetscBool   alone; /* pieces are compressed: only layers that are all on one rank send the same */
} Case;

/* Sums over workers run in the order of these, in the mode gather and in that of votes */
static const Case Cases[] = {{"dense", "-muon_type dense -muon_exchange_mode gather -muon_assembly allgather -muon_nesterov ema", PETSC_FALSE},
                             {"decay", "-muon_type dense -muon_exchange_mode gather -muon_exchange_type replicated -muon_weight_decay 0.1", PETSC_FALSE},
                             {"ef21", "-muon_type ef21 -muon_assembly owner -muon_layer_wide_lmo_type nuclear", PETSC_FALSE},
                             {"topk", "-muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5", PETSC_TRUE},
                             {"direction", "-muon_type sign -sign_direction polar -muon_assembly owner", PETSC_FALSE},
                             {"update", "-muon_type sign -sign_update spectral -muon_assembly allgather -lmo_polar_type svd", PETSC_FALSE},
                             {"majority", "-muon_type sign -sign_update polar -muon_assembly owner -sign_direction momentum", PETSC_FALSE}};
#define NCASES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(Cases))

typedef struct {
  Muon             muon;
  PetscInt         worker;
  Vec              x, g;                /* slices, */
  PetscObjectState filled;              /* of g */
  PetscScalar     *weights, *gradients; /* or layers of all kinds, whose entries are here in the same order */
} Run;

/* Gradients of every entry by itself, so that nobody needs to know where the others are */
static PetscScalar Gradient(PetscInt worker, PetscInt step, PetscInt e, PetscScalar w)
{
  return (PetscScalar)(sin(1.3 * (double)e + 0.7 * (double)worker + 2.1 * (double)step) + 0.25 * (double)PetscRealPart(w));
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run               *run   = (Run *)ctx;
  PetscInt           first = 0, last = ENTRIES, step;
  const PetscScalar *x = run->weights;
  PetscScalar       *g = run->gradients;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  if (run->x != NULL) {
    PetscCall(VecGetOwnershipRange(run->x, &first, &last));
    PetscCall(VecGetArrayRead(run->x, &x));
    PetscCall(VecGetArray(run->g, &g));
  }
  for (PetscInt e = first; e < last; e++) g[e - first] = Gradient(run->worker, step, e, x[e - first]);
  if (run->x != NULL) {
    PetscCall(VecRestoreArrayRead(run->x, &x));
    PetscCall(VecRestoreArray(run->g, &g));
    PetscCall(PetscObjectStateGet((PetscObject)run->g, &run->filled));
  }
  *loss = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Configure(MPI_Comm comm, const Case *c, Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonCreate(comm, &run->muon));
  PetscCall(PetscOptionsInsertString(NULL, c->options));
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetLearningRate(run->muon, (PetscReal)0.125));
  PetscCall(MuonSetFromOptions(run->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Rule(Run *run)
{
  MuonLayer layer;

  PetscFunctionBegin;
  PetscCall(MuonGetLayerByName(run->muon, "moments", &layer));
  PetscCall(MuonLayerSetRule(layer, MUONLAYERADAMW));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices, arrays of rows and vectors over the same entries, each of which a worker has to itself */
static PetscErrorCode CreateSeparate(MPI_Comm comm, const Case *c, PetscInt worker, Run *run)
{
  PetscInt at = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->worker = worker;
  PetscCall(PetscMalloc2(ENTRIES, &run->weights, ENTRIES, &run->gradients));
  for (PetscInt e = 0; e < ENTRIES; e++) run->weights[e] = Gradient(17, 0, e, 0);
  PetscCall(Configure(comm, c, run));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    MuonLayer layer;

    if (Columns[l] == 1) {
      Vec w, g;

      PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, Rows[l], run->weights + at, &w));
      PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, Rows[l], run->gradients + at, &g));
      PetscCall(MuonAddVecLayer(run->muon, Names[l], w, &layer));
      PetscCall(MuonLayerSetGradientVec(layer, g));
      PetscCall(VecDestroy(&w));
      PetscCall(VecDestroy(&g));
    } else if (RowMajor[l]) {
      MuonLayerArray array;

      PetscCall(MuonLayerArrayInitialize(&array));
      array.M        = Rows[l];
      array.N        = Columns[l];
      array.rowmajor = PETSC_TRUE;
      array.w        = run->weights + at;
      array.g        = run->gradients + at;
      PetscCall(MuonAddLayerArray(run->muon, Names[l], &array, &layer));
    } else {
      Mat W, G;

      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, Rows[l], Columns[l], run->weights + at, &W));
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, Rows[l], Columns[l], run->gradients + at, &G));
      PetscCall(MuonAddLayer(run->muon, Names[l], W, &layer));
      PetscCall(MuonLayerSetGradient(layer, G));
      PetscCall(MatDestroy(&W));
      PetscCall(MatDestroy(&G));
    }
    at += Rows[l] * Columns[l];
  }
  PetscCall(Rule(run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One vector on the ranks of inside, in ranges that cut rows and columns; the second rank has nothing */
static PetscErrorCode CreateVec(MPI_Comm inside, Vec *x)
{
  PetscMPIInt rank, size;
  PetscInt    n = ENTRIES, first, last;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(inside, &rank));
  PetscCallMPI(MPI_Comm_size(inside, &size));
  if (size > 1) n = rank == 1 ? 0 : (rank == 0 ? ENTRIES - (size - 2) * 23 : 23);
  PetscCall(VecCreate(inside, x));
  PetscCall(VecSetSizes(*x, n, ENTRIES));
  PetscCall(VecSetType(*x, VECSTANDARD));
  PetscCall(VecGetOwnershipRange(*x, &first, &last));
  for (PetscInt e = first; e < last; e++) PetscCall(VecSetValue(*x, e, Gradient(17, 0, e, 0), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(*x));
  PetscCall(VecAssemblyEnd(*x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSlices(MPI_Comm comm, MPI_Comm inside, const Case *c, PetscInt worker, Run *run)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  run->worker = worker;
  PetscCall(CreateVec(inside, &run->x));
  PetscCall(VecDuplicate(run->x, &run->g));
  PetscCall(Configure(comm, c, run));
  PetscCall(MuonAddVecLayers(run->muon, run->x, run->g, NLAYERS, Names, Rows, Columns, RowMajor));
  PetscCall(Rule(run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  PetscCall(VecDestroy(&run->x));
  PetscCall(VecDestroy(&run->g));
  PetscCall(PetscFree2(run->weights, run->gradients));
  PetscCall(PetscOptionsClear(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step changes x, its state and what PETSc knows of its norm, and leaves g as it is */
static PetscErrorCode StepSlices(Run *run)
{
  PetscReal           norm, sum = 0;
  PetscObjectState    before, after;
  PetscInt            first, last, step;
  const PetscScalar  *x;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(run->muon, &step));
  PetscCall(VecNorm(run->x, NORM_2, &norm));
  PetscCall(PetscObjectStateGet((PetscObject)run->x, &before));
  PetscCall(MuonStep(run->muon));
  PetscCall(MuonGetConvergedReason(run->muon, &reason));
  PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", MuonConvergedReasons[reason]);
  PetscCall(PetscObjectStateGet((PetscObject)run->x, &after));
  PetscCheck(after > before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The state of x is the same after a step");
  PetscCall(VecGetOwnershipRange(run->x, &first, &last));
  PetscCall(VecGetArrayRead(run->x, &x));
  for (PetscInt e = first; e < last; e++) sum += PetscRealPart(x[e - first] * x[e - first]);
  PetscCall(VecRestoreArrayRead(run->x, &x));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)run->x)));
  PetscCall(VecNorm(run->x, NORM_2, &norm));
  PetscCheck(PetscAbsReal(norm * norm - sum) <= ENTRIES * PETSC_MACHINE_EPSILON * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The norm of x is %g, expected %g", (double)norm, (double)PetscSqrtReal(sum));
  PetscCall(PetscObjectStateGet((PetscObject)run->g, &after));
  PetscCheck(after == run->filled, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient was written to after the callback");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const char *what, const Run *slices, const Run *separate)
{
  PetscInt           first, last, at = 0, moved = 0;
  const PetscScalar *x, *a;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < ENTRIES; e++) moved += separate->weights[e] != Gradient(17, 0, e, 0);
  PetscCheck(moved > ENTRIES / 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: only %" PetscInt_FMT " entries moved", what, moved);
  PetscCall(VecGetOwnershipRange(slices->x, &first, &last));
  PetscCall(VecGetArrayRead(slices->x, &x));
  for (PetscInt e = first; e < last; e++)
    PetscCheck(x[e - first] == separate->weights[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " is %.17g, expected %.17g", what, e, (double)PetscRealPart(x[e - first]), (double)PetscRealPart(separate->weights[e]));
  PetscCall(VecRestoreArrayRead(slices->x, &x));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    MuonLayer        layer;
    MuonLayerStorage storage;
    Mat              W;
    Vec              v;
    PetscInt         m, n, start;
    PetscBool        rowmajor;

    PetscCall(MuonGetLayerByName(slices->muon, Names[l], &layer));
    PetscCall(MuonLayerGetSize(layer, &m, &n));
    PetscCall(MuonLayerGetVecRange(layer, &start, &rowmajor));
    PetscCall(MuonLayerGetStorage(layer, &storage));
    PetscCheck(m == Rows[l] && n == Columns[l] && start == at && (rowmajor == RowMajor[l] || n == 1) && storage == MUON_LAYER_VEC, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: layer %s is %" PetscInt_FMT " x %" PetscInt_FMT " from %" PetscInt_FMT " on, stored as %s", what, Names[l], m, n, start, MuonLayerStorages[storage]);
    PetscCall(MuonLayerGetWeightsVec(layer, &v));
    PetscCheck(v == slices->x, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the vector of layer %s is another", what, Names[l]);
    PetscCall(MuonLayerGetGradientVec(layer, &v));
    PetscCheck(v == slices->g, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the gradient of layer %s is another", what, Names[l]);
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &W));
    PetscCall(MuonLayerGetFullWeights(layer, W));
    PetscCall(MatDenseGetArrayRead(W, &a));
    for (PetscInt i = 0; i < m; i++) {
      for (PetscInt j = 0; j < n; j++) {
        const PetscScalar expected = separate->weights[at + (RowMajor[l] ? i * n + j : j * m + i)];

        PetscCheck(a[j * m + i] == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry (%" PetscInt_FMT ",%" PetscInt_FMT ") of layer %s is %g, expected %g", what, i, j, Names[l], (double)PetscRealPart(a[j * m + i]),
                   (double)PetscRealPart(expected));
      }
    }
    PetscCall(MatDenseRestoreArrayRead(W, &a));
    PetscCall(MatDestroy(&W));
    at += m * n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Workers of s ranks with one vector each, beside as many workers of one rank with layers of their own */
static PetscErrorCode Check(const Case *c, PetscMPIInt s)
{
  PetscMPIInt rank;
  MPI_Comm    inside, across;
  Run         slices, separate;
  char        what[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / s, rank, &inside));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % s, rank, &across));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, workers of %d ranks", c->name, s));
  PetscCall(CreateSlices(PETSC_COMM_WORLD, inside, c, rank / s, &slices));
  PetscCall(CreateSeparate(across, c, rank / s, &separate));
  for (PetscInt k = 0; k < STEPS; k++) {
    PetscCall(StepSlices(&slices));
    PetscCall(MuonStep(separate.muon));
  }
  PetscCall(Compare(what, &slices, &separate));
  PetscCall(Destroy(&slices));
  PetscCall(Destroy(&separate));
  PetscCallMPI(MPI_Comm_free(&inside));
  PetscCallMPI(MPI_Comm_free(&across));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A checkpoint of either is one of the other, and of slices on other ranks: a range of entries is rectangles
   of its matrix
*/
static PetscErrorCode CheckCheckpoint(const Case *c, PetscMPIInt s)
{
  PetscMPIInt rank;
  MPI_Comm    inside, across;
  Run         slices, separate, again;
  char        what[64], folder[64], other[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / s, rank, &inside));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % s, rank, &across));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, after a restart on workers of %d ranks", c->name, s));
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "slices_%s_%d", c->name, s));
  PetscCall(PetscSNPrintf(other, sizeof(other), "separate_%s_%d_%d", c->name, s, rank % s));
  PetscCall(CreateSlices(PETSC_COMM_WORLD, inside, c, rank / s, &slices));
  for (PetscInt k = 0; k < 2; k++) PetscCall(StepSlices(&slices));
  PetscCall(MuonSaveCheckpoint(slices.muon, folder, 1));
  for (PetscInt k = 0; k < 2; k++) PetscCall(StepSlices(&slices));
  PetscCall(CreateSeparate(across, c, rank / s, &separate));
  PetscCall(MuonLoadCheckpoint(separate.muon, folder));
  PetscCall(MuonSaveCheckpoint(separate.muon, other, 1));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscSNPrintf(other, sizeof(other), "separate_%s_%d_0", c->name, s));
  PetscCall(CreateSlices(PETSC_COMM_WORLD, inside, c, rank / s, &again));
  PetscCall(VecScale(again.x, 7)); /* nothing of it stays */
  PetscCall(MuonLoadCheckpoint(again.muon, other));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MuonStep(separate.muon));
    PetscCall(StepSlices(&again));
  }
  PetscCall(Compare(what, &slices, &separate));
  PetscCall(Compare(what, &again, &separate));
  PetscCall(Destroy(&slices));
  PetscCall(Destroy(&again));
  PetscCall(Destroy(&separate));
  PetscCallMPI(MPI_Comm_free(&inside));
  PetscCallMPI(MPI_Comm_free(&across));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static char message[2048];

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  PetscFunctionBeginUser;
  if (p == PETSC_ERROR_INITIAL) PetscCall(PetscStrncpy(message, text, sizeof(message)));
  PetscFunctionReturn(n);
}

/* call must end in an error of this code, whose text holds what */
#define Refused(call, expected, what) \
  do { \
    PetscErrorCode code_; \
    char          *found_; \
\
    message[0] = '\0'; \
    PetscCall(PetscPushErrorHandler(Catch, NULL)); \
    code_ = call; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCall(PetscStrstr(message, what, &found_)); \
    PetscCheck(code_ == (expected) && found_ != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d, \"%s\", expected %d and: %s", #call, (int)code_, message, (int)(expected), what); \
  } while (0)

static PetscErrorCode CheckRefused(void)
{
  const PetscInt    less[NLAYERS] = {5, 4, 6, 2, 9, 1}, more[NLAYERS] = {5, 4, 8, 2, 9, 1}, cut[2] = {3, 2}, none[NLAYERS] = {5, -4, 7, 2, 9, 1};
  const char *const same[NLAYERS] = {"tall", "wide", "bias", "square", "BIAS", "gain"};
  const Case        plain         = {"plain", "", PETSC_FALSE};
  PetscMPIInt       size;
  PetscInt          count;
  MuonLayer         layer;
  Run               run;
  Vec               y;
  Mat               W;
  PetscBool         rowmajor;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMemzero(&run, sizeof(run)));
  PetscCall(Configure(PETSC_COMM_WORLD, &plain, &run));
  PetscCall(CreateVec(PETSC_COMM_WORLD, &run.x));
  PetscCall(VecDuplicate(run.x, &run.g));
  Refused(MuonAddVecLayers(run.muon, run.x, run.g, NLAYERS, Names, less, Columns, NULL), PETSC_ERR_ARG_SIZ, "6 layers that end with \"gain\" have 86 of the 87 entries of the vector, expected all of them");
  Refused(MuonAddVecLayers(run.muon, run.x, run.g, NLAYERS, Names, more, Columns, NULL), PETSC_ERR_ARG_SIZ, "Layer \"gain\" of 1 x 1 entries, of which the 87 of the vector have 0 left");
  Refused(MuonAddVecLayers(run.muon, run.x, run.g, NLAYERS, Names, none, Columns, NULL), PETSC_ERR_ARG_SIZ, "Layer \"wide\" of -4 x 6 entries");
  Refused(MuonAddVecLayers(run.muon, run.x, run.g, NLAYERS, same, Rows, Columns, NULL), PETSC_ERR_ARG_WRONG, "Layer \"BIAS\": there is a layer \"bias\" already");
  Refused(MuonAddVecLayers(run.muon, run.x, NULL, NLAYERS, Names, Rows, Columns, NULL), PETSC_ERR_ARG_NULL, "no vector of gradients");
  PetscCall(VecCreate(PETSC_COMM_WORLD, &y));
  PetscCall(VecSetSizes(y, PETSC_DECIDE, ENTRIES + 1));
  PetscCall(VecSetType(y, VECSTANDARD));
  Refused(MuonAddVecLayers(run.muon, run.x, y, NLAYERS, Names, Rows, Columns, NULL), PETSC_ERR_ARG_SIZ, "Layer \"tall\": gradient of shape 88 x 1, expected 87 x 1");
  PetscCall(VecDestroy(&y));
  PetscCall(MuonGetNumLayers(run.muon, &count));
  PetscCheck(count == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " layers after errors", count);
  PetscCall(MuonAddVecLayers(run.muon, run.x, run.g, NLAYERS, Names, Rows, Columns, NULL));
  Refused(MuonAddVecLayers(run.muon, run.x, run.g, NLAYERS, Names, Rows, Columns, NULL), PETSC_ERR_ARG_WRONG, "Layer \"tall\": there is a layer \"tall\" already");
  PetscCall(MuonGetLayerByName(run.muon, "tall", &layer));
  Refused(MuonLayerGetWeights(layer, &W), PETSC_ERR_ARG_WRONGSTATE, "Layer \"tall\" is a vector: use MuonLayerGetWeightsVec()");
  PetscCall(MuonLayerGetVecRange(layer, NULL, &rowmajor));
  PetscCheck(rowmajor == PETSC_FALSE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Without a word a slice lies by rows");
  if (size > 1) {
    PetscCall(VecCreate(PETSC_COMM_WORLD, &y));
    PetscCall(VecSetSizes(y, PETSC_DECIDE, ENTRIES));
    PetscCall(VecSetType(y, VECSTANDARD));
    Refused(MuonLayerSetGradientVec(layer, y), PETSC_ERR_ARG_SIZ, "Layer \"tall\": gradient with ");
    PetscCall(VecDestroy(&y));
    Refused(MuonLayerSetWholeGradient(layer, PETSC_TRUE), PETSC_ERR_SUP, "Layer \"tall\" is a range of a vector on");
    Refused(MuonLayerSetBlocks(layer, 2, cut, 1, NULL), PETSC_ERR_SUP, "Layer \"tall\": -muon_layer_tall_blocks_rows: the layer is a range of a vector on");
    PetscCall(MuonSetParameter(run.muon, "muon_assembly", "gram"));
    Refused(MuonStep(run.muon), PETSC_ERR_SUP, "-muon_assembly gram of layer \"tall\": it is a slice of a vector, whose ranks have entries of it and not rows; expected allgather or owner");
  } else {
    PetscCall(MuonLayerSetBlocks(layer, 2, cut, 1, NULL));
    /* A step without a gradient of one layer, and one with it again */
    PetscCall(MuonLayerSetGradient(layer, NULL));
    PetscCall(MuonStep(run.muon));
    PetscCall(MuonLayerGetGradientVec(layer, &y));
    PetscCheck(y == run.g, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient that is asked for again is another");
    PetscCall(MuonStep(run.muon));
  }
  PetscCall(Destroy(&run));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscMPIInt s = 1; s <= size; s++) {
    for (PetscInt k = 0; k < NCASES && size % s == 0; k++) {
      if (s == 1 || Cases[k].alone == PETSC_FALSE) PetscCall(Check(&Cases[k], s));
      if (k == 0 || k == 2) PetscCall(CheckCheckpoint(&Cases[k], s));
    }
  }
  PetscCall(CheckRefused());
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3 4}}

TEST*/
