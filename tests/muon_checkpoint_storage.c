static char help[] = "Checkpoints of weights, or state, that are spread over the ranks of workers: exact on the same ranks; on others, or whole, every entry is where it was, and workers have means.\n";

#include <petscmuon/private/muonimpl.h>
#include <math.h>
#include "fails.h"

enum {
  NLAYERS = 4,
  NSTATES = 6,
  ENTRIES = 36, /* of the largest layer */
  WORKERS = 4,
  STEPS   = 3
};

/* More ranks than rows, blocks that straddle ranks, a type with moments of its own */
static const PetscInt    Shapes[NLAYERS][2] = {{7, 5}, {2, 3}, {9, 4}, {8, 1}};
static const PetscInt    Blocks[]           = {2, 4, 3};
static const char *const Names[NLAYERS]     = {"long", "short", "blocks", "bias"};
static const char *const States[NSTATES]    = {"weights", "momentum", "estimate", "aggregate", "adamw.mean", "adamw.square"};

typedef struct {
  MuonType         type;
  MuonExchangeType exchange;
  const char      *up, *down;
} Case;

static const Case Cases[] = {{MUONDENSE, MUONEXCHANGELAYERWISE, NULL, NULL},
                             {MUONEF21, MUONEXCHANGELAYERWISE, MUONCOMPRESSORTOPK, MUONCOMPRESSORRANDK},
                             {MUONEF21, MUONEXCHANGESTAR, MUONCOMPRESSORPOWERSGD, MUONCOMPRESSORPOWERSGD},
                             {MUONEF21, MUONEXCHANGEREPLICATED, MUONCOMPRESSORTOPK, MUONCOMPRESSORIDENTITY},
                             {MUONSIGN, MUONEXCHANGESTAR, NULL, NULL}};
#define NCASES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(Cases))

/* ranks of a worker; 0 where layers are whole, and state is in rows */
typedef struct {
  Muon        muon;
  MuonLayer   layer[NLAYERS];
  MPI_Comm    comm;
  PetscMPIInt ranks, nworkers, worker;
} Run;

static double Number(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  return sin(1.0 + 3.1 * (double)a + 1.7 * (double)b + 2.3 * (double)c + 5.3 * (double)d);
}

static PetscErrorCode Fill(Mat A, PetscInt layer, PetscInt step, PetscInt worker)
{
  PetscInt     first, last, ld;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(MatDenseGetArray(A, &a));
  for (PetscInt j = 0; j < Shapes[layer][1]; j++) {
    for (PetscInt i = first; i < last; i++) a[j * ld + i - first] = (PetscScalar)Number(layer, i * Shapes[layer][1] + j, step, worker);
  }
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run     *run = (Run *)ctx;
  PetscInt step;
  Mat      G;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscCall(MuonLayerGetGradient(run->layer[l], &G));
    PetscCall(Fill(G, l, step, run->worker));
  }
  *loss = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCreate(MPI_Comm comm, const Case *c, PetscMPIInt ranks, PetscInt start, Run *run)
{
  MPI_Comm       inside = PETSC_COMM_SELF;
  MuonExchange   exchange;
  MuonCompressor compressor;
  PetscMPIInt    rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  run->comm     = comm;
  run->ranks    = ranks;
  run->nworkers = ranks > 0 ? size / ranks : 1;
  run->worker   = ranks > 0 ? rank / ranks : 0;
  if (ranks > 1) PetscCallMPI(MPI_Comm_split(comm, run->worker, rank, &inside));
  PetscCall(MuonCreate(comm, &run->muon));
  PetscCall(MuonSetType(run->muon, c->type));
  PetscCall(MuonSetObjectiveAndGradient(run->muon, Objective, run));
  PetscCall(MuonSetLearningRate(run->muon, (PetscReal)0.125));
  PetscCall(MuonSetMomentum(run->muon, (PetscReal)0.75, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonGetExchange(run->muon, &exchange));
  PetscCall(MuonExchangeSetType(exchange, ranks > 0 ? c->exchange : MUONEXCHANGEROWS));
  if (c->up != NULL) {
    PetscCall(MuonEF21GetCompressor(run->muon, &compressor));
    PetscCall(MuonCompressorSetType(compressor, c->up));
    PetscCall(MuonCompressorSetRatio(compressor, (PetscReal)0.4));
    PetscCall(MuonEF21GetServerCompressor(run->muon, &compressor));
    PetscCall(MuonCompressorSetType(compressor, c->down));
    PetscCall(MuonCompressorSetRatio(compressor, (PetscReal)0.4));
  }
  for (PetscInt l = 0; l < NLAYERS; l++) {
    Mat W;

    PetscCall(MatCreateDense(inside, PETSC_DECIDE, PETSC_DECIDE, Shapes[l][0], Shapes[l][1], NULL, &W));
    PetscCall(Fill(W, l, start, 17));
    PetscCall(MuonAddLayer(run->muon, Names[l], W, &run->layer[l]));
    PetscCall(MatDestroy(&W));
  }
  PetscCall(MuonLayerSetBlocks(run->layer[2], 3, Blocks, 1, NULL));
  PetscCall(MuonLayerSetType(run->layer[3], MUONLAYERADAMW));
  if (ranks > 1) PetscCallMPI(MPI_Comm_free(&inside));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Steps(Run *run, PetscInt steps)
{
  MuonConvergedReason reason;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(MuonStep(run->muon));
    PetscCall(MuonGetConvergedReason(run->muon, &reason));
    PetscCheck(reason == MUON_CONVERGED_ITERATING, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", MuonConvergedReasons[reason]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Every entry by its number in the layer: of the caller's weights, and of each state, those of workers by
   worker. -Inf where nobody has it. hash is of all state of this rank, what is no entry of a layer with it
*/
typedef struct {
  Run         *run;
  double       weights[NLAYERS][ENTRIES], state[NLAYERS][NSTATES][WORKERS][ENTRIES];
  unsigned int hash;
  size_t       bytes;
  PetscInt     bases; /* that compressors keep of the first layer */
} Table;

static PetscErrorCode TableAdd(double to[ENTRIES], const MuonArray *from, PetscInt row)
{
  const size_t n = MuonArrayColumns(from);

  PetscFunctionBegin;
  for (size_t i = 0; i < MuonArrayRows(from); i++) {
    for (size_t j = 0; j < n; j++) {
      const MuonArray entry = MuonArrayPart(from, i, j, 1, 1);

      to[((size_t)row + i) * n + j] = entry.precision == MUON_SINGLE ? (double)*(const float *)entry.data : *(const double *)entry.data;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TableVisit(MuonStateVisitor *visitor, const MuonState *state)
{
  Table *table = (Table *)visitor->ctx;

  PetscFunctionBegin;
  if (state->scratch) PetscFunctionReturn(PETSC_SUCCESS);
  table->bytes += state->bytes;
  for (size_t b = 0; b < state->bytes; b++) table->hash = 16777619U * (table->hash ^ ((const unsigned char *)state->data)[b]);
  if (state->entrywise == PETSC_FALSE && state->array != NULL && strncmp(state->layer, Names[0], strlen(Names[0])) == 0) table->bases++;
  if (state->entrywise == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt p = 0; p < table->run->muon->nshards; p++) {
    const MuonShard *shard = &table->run->muon->shard[p];
    PetscInt         l = 0, k = 0;

    if (strcmp(shard->name, state->layer) != 0 && strcmp(((PetscObject)shard->layer)->name, state->layer) != 0) continue;
    while (table->run->layer[l] != shard->layer) l++;
    while (k < NSTATES && strcmp(States[k], state->name) != 0) k++;
    PetscCheck(k < NSTATES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "State %s is not known to the test", state->name);
    PetscCall(TableAdd(table->state[l][k][state->holder == MUON_STATE_WORKER ? table->run->worker : 0], state->array, shard->row));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TableGet(Run *run, Table *table)
{
  MuonStateVisitor visitor;
  double          *entry = &table->weights[0][0];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  table->run   = run;
  table->hash  = 2166136261U;
  table->bytes = 0;
  table->bases = 0;
  for (size_t e = 0; e < sizeof(table->weights) / sizeof(double); e++) entry[e] = -HUGE_VAL;
  entry = &table->state[0][0][0][0];
  for (size_t e = 0; e < sizeof(table->state) / sizeof(double); e++) entry[e] = -HUGE_VAL;
  visitor.visit = TableVisit;
  visitor.ctx   = table;
  PetscCall(MuonSetUp(run->muon));
  PetscCall(MuonVisitState(run->muon, &visitor));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    MuonArray W;

    PetscCall(MuonLayerGetWeightsMemory(run->layer[l], PETSC_FALSE, &W));
    PetscCall(TableAdd(table->weights[l], &W, run->layer[l]->first));
    PetscCall(MuonLayerRestoreWeightsMemory(run->layer[l], PETSC_FALSE, &W));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, table->weights, (PetscMPIInt)(sizeof(table->weights) / sizeof(double)), MPI_DOUBLE, MPI_MAX, run->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, table->state, (PetscMPIInt)(sizeof(table->state) / sizeof(double)), MPI_DOUBLE, MPI_MAX, run->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(const Table *a, const Table *b, const char what[])
{
  PetscFunctionBegin;
  PetscCheck(memcmp(a->weights, b->weights, sizeof(a->weights)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: other weights", what);
  PetscCheck(memcmp(a->state, b->state, sizeof(a->state)) == 0 && a->hash == b->hash && a->bytes == b->bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: other state (%d and %d bytes here)", what, (int)a->bytes, (int)b->bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights in rows or whole, as matrices in one file: MatLoad() reads what the layers have */
static PetscErrorCode CheckWeights(Run *run, const Table *table)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(run->comm, "weights.bin", FILE_MODE_WRITE, &viewer));
  PetscCall(MuonViewWeights(run->muon, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Barrier(run->comm));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, "weights.bin", FILE_MODE_READ, &viewer));
  for (PetscInt l = 0; l < NLAYERS; l++) {
    const PetscScalar *w;
    Mat                W;

    PetscCall(MatCreate(PETSC_COMM_SELF, &W));
    PetscCall(MatSetType(W, MATSEQDENSE));
    PetscCall(MatLoad(W, viewer));
    PetscCall(MatDenseGetArrayRead(W, &w));
    for (PetscInt e = 0; e < Shapes[l][0] * Shapes[l][1]; e++) {
      const PetscInt i = e / Shapes[l][1], j = e % Shapes[l][1];

      PetscCheck((double)w[j * Shapes[l][0] + i] == table->weights[l][e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " of layer %s in the file is %g, expected %g", e, Names[l], (double)w[j * Shapes[l][0] + i], table->weights[l][e]);
    }
    PetscCall(MatDenseRestoreArrayRead(W, &w));
    PetscCall(MatDestroy(&W));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loaded where no step was taken, and in the middle of other steps */
static PetscErrorCode CheckExact(const Case *c, PetscMPIInt ranks, const char folder[])
{
  Run          p, q;
  static Table a, b;

  PetscFunctionBegin;
  PetscCall(RunCreate(PETSC_COMM_WORLD, c, ranks, 0, &p));
  PetscCall(Steps(&p, STEPS));
  PetscCall(MuonSaveCheckpoint(p.muon, folder, 1));
  for (PetscInt before = 0; before <= STEPS + 1; before += STEPS + 1) {
    PetscCall(RunCreate(PETSC_COMM_WORLD, c, ranks, 1, &q));
    PetscCall(Steps(&q, before));
    PetscCall(MuonLoadCheckpoint(p.muon, folder));
    PetscCall(MuonLoadCheckpoint(q.muon, folder));
    for (PetscInt s = 0; s < STEPS; s++) {
      PetscCall(TableGet(&p, &a));
      PetscCall(TableGet(&q, &b));
      PetscCall(CheckSame(&a, &b, folder));
      PetscCall(Steps(&p, 1));
      PetscCall(Steps(&q, 1));
    }
    PetscCall(MuonDestroy(&q.muon));
  }
  PetscCall(MuonDestroy(&p.muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The mean over the workers of a before is what each of b has; a worker of as many keeps its own. A sum of J
   numbers of size x has at most J roundings of J x eps, and so has the mean of what was rounded once more
   each time
*/
static PetscErrorCode CheckMoved(const Table *a, PetscMPIInt from, const Table *b, PetscMPIInt to, const char what[])
{
  const double eps = sizeof(PetscReal) == 4 ? 1.2e-7 : 2.3e-16;

  PetscFunctionBegin;
  PetscCheck(memcmp(a->weights, b->weights, sizeof(a->weights)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: other weights", what);
  for (PetscInt l = 0; l < NLAYERS; l++) {
    for (PetscInt k = 0; k < NSTATES; k++) {
      const PetscBool worker = (from > 1 ? a->state[l][k][from - 1][0] : b->state[l][k][to - 1][0]) > -HUGE_VAL ? PETSC_TRUE : PETSC_FALSE; /* servers have one */

      for (PetscInt e = 0; e < Shapes[l][0] * Shapes[l][1]; e++) {
        double mean = 0, size = 0;

        if (from == to || worker == PETSC_FALSE || a->state[l][k][0][e] == -HUGE_VAL) {
          for (PetscMPIInt w = 0; w < (from == to ? from : 1); w++)
            PetscCheck(a->state[l][k][w][e] == b->state[l][k][w][e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of %s of layer %s is %g, expected %g", what, e, States[k], Names[l], b->state[l][k][w][e], a->state[l][k][w][e]);
          continue;
        }
        for (PetscMPIInt w = 0; w < from; w++) {
          mean += a->state[l][k][w][e] / from;
          size += fabs(a->state[l][k][w][e]);
        }
        for (PetscMPIInt w = 0; w < to; w++)
          PetscCheck(fabs(b->state[l][k][w][e] - mean) <= 2 * from * eps * size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of %s of layer %s at worker %d is %g, expected the mean %g", what, e, States[k], Names[l], w,
                     b->state[l][k][w][e], mean);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From workers of some ranks to workers of others, on all ranks or the first half of them */
static PetscErrorCode CheckElastic(const Case *c, PetscMPIInt ranks, const char folder[])
{
  Run          p, q;
  static Table a, b;
  PetscMPIInt  rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(RunCreate(PETSC_COMM_WORLD, c, ranks, 0, &p));
  PetscCall(Steps(&p, STEPS));
  PetscCall(MuonSaveCheckpoint(p.muon, folder, 1));
  PetscCall(TableGet(&p, &a));
  PetscCall(CheckWeights(&p, &a));
  for (PetscMPIInt to = size; to >= size / 2 && to > 0; to -= size / 2) {
    MPI_Comm comm;

    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < to ? 0 : MPI_UNDEFINED, rank, &comm));
    for (PetscMPIInt s = 0; s <= to && rank < to; s++) {
      char what[128];

      if ((s > 0 && to % s != 0) || (s != 1 && c->type[0] == 's')) continue;
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s to workers of %d of %d ranks", folder, s, to));
      PetscCall(RunCreate(comm, c, s, 1, &q));
      PetscCall(Steps(&q, s == 1 ? 1 : 0));
      PetscCall(MuonLoadCheckpoint(q.muon, folder));
      PetscCall(TableGet(&q, &b));
      PetscCall(CheckMoved(&a, p.nworkers, &b, q.nworkers, what));
      /* They are of rows that are cut as these were, or of nothing */
      PetscCheck((s > 0 ? s : to) == (ranks > 0 ? ranks : size) || b.bases == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " bases of other rows", what, b.bases);
      PetscCall(Steps(&q, 2));
      PetscCall(MuonDestroy(&q.muon));
    }
    if (rank < to) PetscCallMPI(MPI_Comm_free(&comm));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  }
  PetscCall(MuonDestroy(&p.muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another optimizer on the same cut: refused on every rank, by name, and nothing changed */
static PetscErrorCode CheckRefused(PetscMPIInt ranks, const char folder[])
{
  const Case   other = {MUONEF21, MUONEXCHANGELAYERWISE, MUONCOMPRESSORTOPK, MUONCOMPRESSORIDENTITY};
  static Table a, b;
  Run          p;

  PetscFunctionBegin;
  PetscCall(RunCreate(PETSC_COMM_WORLD, &other, ranks, 0, &p));
  PetscCall(Steps(&p, 1));
  PetscCall(TableGet(&p, &a));
  Fails(MuonLoadCheckpoint(p.muon, folder), FAILS_ANY, "it has weights of layer \"long\", which the optimizer does not keep");
  PetscCall(TableGet(&p, &b));
  PetscCall(CheckSame(&a, &b, folder));
  PetscCall(MuonDestroy(&p.muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  char        folder[64];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < NCASES; k++) {
    for (PetscMPIInt s = 0; s <= size; s++) {
      if ((s > 0 && size % s != 0) || (s != 1 && Cases[k].type[0] == 's')) continue;
      PetscCall(PetscSNPrintf(folder, sizeof(folder), "exact%" PetscInt_FMT "_%d", k, s));
      PetscCall(CheckExact(&Cases[k], s, folder));
      if (k == 1 && s == 2) PetscCall(CheckRefused(s, folder));
      PetscCall(PetscSNPrintf(folder, sizeof(folder), "elastic%" PetscInt_FMT "_%d", k, s));
      PetscCall(CheckElastic(&Cases[k], s, folder));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 4

TEST*/
