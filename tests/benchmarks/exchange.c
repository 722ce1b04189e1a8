static char help[] = "What each way to distribute Muon hands to MPI, by formula and as counted, what it keeps, how even its oracles' work is, and what a step takes.\n\n"
                     "  mpiexec -n 8 ./exchange -benchmark_width 16\n"
                     "  share/petscmuon/lab/run --rate 100mbit --hosts 4 -- ./exchange -muon_cost_beta 100e6\n\n"
                     "Options of the optimizer hold for all rows that do not set them.\n\n";

#include <petscmuon/private/muonimpl.h>
#include <muon/addons/cost/muoncost.h>
#include <assembly/muonassemblychunks.h>
#include "benchmark_common.h"
#include "../wire_header.h"
#include "../mpicount.h"

/* The hidden matrices of a GPT, that of the paper being of 12 blocks and width 768 */
#define BLOCK_LAYERS 6
static const struct {
  const char *name;
  PetscInt    m, n;
} Shapes[BLOCK_LAYERS] = {{"q", 1, 1}, {"k", 1, 1}, {"v", 1, 1}, {"o", 1, 1}, {"up", 4, 1}, {"down", 1, 4}};

typedef struct {
  Muon               muon;
  PetscOptions       options;
  MPI_Comm           worker; /* of the ranks that have the rows of a matrix together */
  PetscMPIInt        shard, position;
  PetscInt           n, width, first; /* layers of this optimizer, and the number of the first of them in the model */
  Mat               *W;
  MuonLayer         *layer;
  unsigned long long random;
} Task;

/*
   Bytes that this rank hands to MPI in a step, as the plan of the library has owners and order. Arrays travel as they are, without headers; the
   status reduction is nine doubles and two checksums. Messages of an assembly are whole units of 64 bytes
*/
typedef long long Formula(const Task *, MuonExchangeMode mode, long *calls);

static long long LayerBytes(const Task *task, PetscInt l)
{
  return (long long)sizeof(PetscScalar) * Shapes[(task->first + l) % BLOCK_LAYERS].m * Shapes[(task->first + l) % BLOCK_LAYERS].n * task->width * task->width;
}

static double Entries(const Task *task)
{
  double entries = 0;

  for (PetscInt l = 0; l < task->n; l++) entries += (double)LayerBytes(task, l) / sizeof(PetscScalar);
  return entries;
}

static long long AgreementBytes(long *calls)
{
  *calls += 1;
  return AGREEMENT_BYTES;
}

static PetscInt LayerRows(const Task *task, PetscInt l, PetscMPIInt position)
{
  const PetscInt m = Shapes[(task->first + l) % BLOCK_LAYERS].m * task->width;

  return m / task->shard + (position < m % task->shard ? 1 : 0);
}

static long long RowBytes(const Task *task, PetscInt l, PetscMPIInt position)
{
  return (long long)sizeof(PetscScalar) * LayerRows(task, l, position) * Shapes[(task->first + l) % BLOCK_LAYERS].n * task->width;
}

/* Of an array that goes down, or up, in the precision of the state: a layer, or the rows of one in each worker */
static long long ArrayBytes(const Task *task, PetscInt l, PetscBool up, PetscBool rows)
{
  const MuonArray state = MuonShardStateShape(&task->muon->group[0]->shard[0]);
  const long long bytes = rows ? RowBytes(task, l, task->position) : LayerBytes(task, l);

  return up ? bytes / (long long)sizeof(PetscScalar) * (long long)MuonArrayEntryBytes(&state) : bytes;
}

/*
   Messages of the arrays of an owner, or of all where it is -1: small ones travel together up to so many bytes. sums: the last ones first.
   *several: bytes of messages with more than one array
*/
static long Messages(const Task *task, PetscMPIInt owner, PetscBool up, PetscBool rows, PetscBool sums, long long most, long long *several)
{
  long      calls = 0;
  long long pack = 0, last = 0;

  *several = 0;
  for (PetscInt k = 0; k < task->n; k++) {
    const PetscInt  l     = sums ? task->n - 1 - k : k;
    const long long bytes = ArrayBytes(task, l, up, rows);
    PetscMPIInt     of;

    PetscCallAbort(PETSC_COMM_SELF, MuonLayerGetOwner(task->layer[l], &of));
    if (owner >= 0 && of != owner) continue;
    if (bytes > MUON_EXCHANGE_SMALL || pack == 0 || pack + bytes > most) calls++;
    if (bytes > MUON_EXCHANGE_SMALL) continue;
    if (pack + bytes > most) {
      *several += pack > last ? pack : 0;
      pack = 0;
    }
    last = bytes;
    pack += bytes;
  }
  *several += pack > last ? pack : 0;
  return calls;
}

/*
   What goes up of this worker, gathered or summed. An owner sends itself nothing of what it gathers, nor, of two workers, of sums that
   travel together, which it adds
*/
static long long UpFormula(const Task *task, PetscMPIInt worker, PetscMPIInt workers, PetscBool everywhere, PetscBool rows, MuonExchangeMode mode, long *calls)
{
  const PetscBool sums  = mode == MUON_EXCHANGE_MODE_GATHER ? PETSC_FALSE : PETSC_TRUE;
  const long long limit = sums && workers > 2 ? 2 * MUON_EXCHANGE_SMALL - 1 : MUON_EXCHANGE_TOGETHER;
  long long       bytes = 0, several;

  for (PetscMPIInt r = 0; r < (everywhere ? 1 : workers); r++) {
    *calls += Messages(task, everywhere ? -1 : r, PETSC_TRUE, rows, sums, limit, &several);
    if (r == worker && everywhere == PETSC_FALSE && workers == 2 && sums) bytes -= several;
  }
  for (PetscInt l = 0; l < task->n; l++) {
    PetscMPIInt owner;

    PetscCallAbort(PETSC_COMM_SELF, MuonLayerGetOwner(task->layer[l], &owner));
    if (sums || everywhere || owner != worker) bytes += ArrayBytes(task, l, PETSC_TRUE, rows);
  }
  return bytes;
}

/* New weights go down */
static long long DownFormula(const Task *task, PetscMPIInt worker, PetscMPIInt workers, PetscBool rows, long *calls)
{
  long long bytes = 0, several;

  for (PetscMPIInt r = 0; r < workers; r++) *calls += Messages(task, r, PETSC_FALSE, rows, PETSC_FALSE, MUON_EXCHANGE_TOGETHER, &several);
  for (PetscInt l = 0; l < task->n; l++) {
    PetscMPIInt owner;

    PetscCallAbort(PETSC_COMM_SELF, MuonLayerGetOwner(task->layer[l], &owner));
    if (owner == worker) bytes += ArrayBytes(task, l, PETSC_FALSE, rows);
  }
  return bytes;
}

static long long ReplicatedFormula(const Task *task, MuonExchangeMode mode, long *calls)
{
  return AgreementBytes(calls) + UpFormula(task, rank, size, PETSC_TRUE, PETSC_FALSE, mode, calls);
}

static long long OwnersFormula(const Task *task, MuonExchangeMode mode, long *calls)
{
  const PetscBool everywhere = mode == MUON_EXCHANGE_MODE_ALLREDUCE ? PETSC_TRUE : PETSC_FALSE;

  return AgreementBytes(calls) + UpFormula(task, rank, size, everywhere, PETSC_FALSE, mode, calls) + DownFormula(task, rank, size, PETSC_FALSE, calls);
}

static long long Padded(long long bytes)
{
  return (bytes + 63) / 64 * 64;
}

/* Rows of gradients to the owner of each layer and rows of its step back, or to all ranks of the worker, chunk by chunk */
static long long AssemblyBytes(const Task *task, long *calls)
{
  const PetscMPIInt s = task->shard, me = task->position;
  const MuonGroup   group = task->muon->group[0];
  long long         bytes = 0, *to, *from;
  const PetscInt    chunk = group->server->assembly->chunk;
  PetscBool         owners;

  PetscCallAbort(PETSC_COMM_SELF, PetscMalloc2(s, &to, s, &from));
  for (PetscInt k = 0; k < group->server->nitems; k += chunk) {
    long long all = 0;

    PetscCallAbort(PETSC_COMM_SELF, PetscArrayzero(to, s));
    PetscCallAbort(PETSC_COMM_SELF, PetscArrayzero(from, s));
    owners = group->server->item[k].kind == MUON_ASSEMBLY_OWNER ? PETSC_TRUE : PETSC_FALSE;
    for (PetscInt i = k; i < PetscMin(k + chunk, group->server->nitems); i++) {
      const PetscMPIInt owner = group->server->assembly->owner[i];
      PetscInt          l     = 0;

      while (task->layer[l] != group->server->item[i].shard->layer) l++;
      if (owners == PETSC_FALSE) all += RowBytes(task, l, me);
      else if (owner != me) to[owner] += RowBytes(task, l, me);
      for (PetscMPIInt r = 0; r < s && owners == PETSC_TRUE && owner == me; r++) from[r] += r == me ? 0 : RowBytes(task, l, r);
    }
    for (PetscMPIInt r = 0; r < s; r++) bytes += Padded(to[r]) + Padded(from[r]);
    bytes += Padded(all);
    *calls += owners ? 2 : 1;
  }
  PetscCallAbort(PETSC_COMM_SELF, PetscFree2(to, from));
  return bytes;
}

/* Whole gradients are summed inside of a worker. Across workers the rows of a position are layers of their own */
static long long ShardedFormula(const Task *task, MuonExchangeMode mode, long *calls)
{
  const PetscMPIInt worker = rank / task->shard, workers = size / task->shard;
  long long         bytes = AgreementBytes(calls) + AssemblyBytes(task, calls);

  *calls += (long)task->n;
  for (PetscInt l = 0; l < task->n; l++) bytes += LayerBytes(task, l);
  if (workers == 1) return bytes;
  bytes += UpFormula(task, worker, workers, PETSC_FALSE, PETSC_TRUE, mode, calls) + DownFormula(task, worker, workers, PETSC_TRUE, calls);
  return bytes;
}

/* And the rows of new weights are gathered */
static long long RowsFormula(const Task *task, MuonExchangeMode mode, long *calls)
{
  long long bytes = ShardedFormula(task, mode, calls);

  *calls += (long)task->n;
  for (PetscInt l = 0; l < task->n; l++) bytes += RowBytes(task, l, task->position);
  return bytes;
}

/*
   The runs. A row is options; the formula may be missing. whole: MPI is expected to move whole messages along its trees, as Open MPI 4.1 does in
   broadcasts and nonblocking sums at one rank from 4 ranks on, and in nonblocking sums everywhere below 4 ranks
*/
typedef struct {
  const char *name, *published, *options;
  Formula    *formula;
  int         whole; /* 1: from 4 ranks on, -1: below 4 ranks */
  PetscMPIInt shard; /* ranks of a worker that has rows of matrices, or keeps rows of state; ALL of them; 0 where each has all */
  int         vote;  /* 1 and its number among the votes of the cost model; 0 is none */
} Run;
#define ALL -1
static const Run Runs[] = {{"replicated allreduce", "vanilla", "-muon_type dense -muon_exchange_type replicated -muon_exchange_mode allreduce", ReplicatedFormula, -1, 0, 0},
                           {"replicated gather", "", "-muon_type dense -muon_exchange_type replicated -muon_exchange_mode gather", ReplicatedFormula, 0, 0, 0},
                           {"star reduce", "", "-muon_type dense -muon_exchange_type star -muon_exchange_mode reduce", OwnersFormula, 1, 0, 0},
                           {"star gather", "", "-muon_type dense -muon_exchange_type star -muon_exchange_mode gather", OwnersFormula, 1, 0, 0},
                           {"layerwise allreduce", "kj", "-muon_type dense -muon_exchange_type layerwise -muon_exchange_mode allreduce -muon_exchange_assignment roundrobin", OwnersFormula, -1, 0, 0},
                           {"layerwise reduce", "kj-rs", "-muon_type dense -muon_exchange_type layerwise -muon_exchange_mode reduce", OwnersFormula, 1, 0, 0},
                           {"layerwise bucketed", "bucketed", "-muon_type dense -muon_exchange_type layerwise -muon_exchange_mode reduce -muon_exchange_assignment bucketed", OwnersFormula, 1, 0, 0},
                           {"layerwise gather", "", "-muon_type dense -muon_exchange_type layerwise -muon_exchange_mode gather", OwnersFormula, 0, 0, 0},
                           {"ef21 star", "ef21", "-muon_type ef21 -muon_exchange_type star -ef21_compressor topk -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_values natural", NULL, 1, 0, 0},
                           {"ef21 layerwise", "", "-muon_type ef21 -muon_exchange_type layerwise -ef21_compressor topk -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_values natural", NULL, 0, 0, 0},
                           {"rows allgather", "moonlight", "-muon_type dense -muon_exchange_type rows -muon_assembly allgather", RowsFormula, 0, ALL, 0},
                           {"rows owner", "motif", "-muon_type dense -muon_exchange_type rows -muon_assembly owner", RowsFormula, 0, ALL, 0},
                           {"sharded allgather", "", "-muon_type dense -muon_assembly allgather", ShardedFormula, 0, ALL, 0},
                           {"sharded owner", "", "-muon_type dense -muon_assembly owner", ShardedFormula, 0, ALL, 0},
                           {"hybrid 2 owner", "", "-muon_type dense -muon_exchange_type layerwise -muon_exchange_mode reduce -muon_assembly owner", ShardedFormula, 0, 2, 0},
                           {"sign allgather", "SignMuon", "-muon_type sign -muon_exchange_type replicated -muon_exchange_mode gather", NULL, 0, 0, 2},
                           {"sign allreduce", "SignMuon", "-muon_type sign -muon_exchange_type replicated -muon_exchange_mode allreduce", NULL, -1, 0, 1},
                           {"sign range", "", "-muon_type sign -muon_exchange_type range", NULL, 0, 0, 5},
                           {"sign star", "SignMuon", "-muon_type sign -muon_exchange_type star -muon_exchange_mode gather", NULL, 1, 0, 3},
                           {"sign tree", "SignMuon", "-muon_type sign -muon_exchange_type star -muon_exchange_mode reduce", NULL, 1, 0, 4}};

typedef enum {
  STEP,
  LMO,
  EXCHANGE,
  UPDATE, /* momentum, aggregate and compression, of which only own time counts */
  PHASES
} Phase;
static const char *const Events[]      = {"MuonStep", "MuonLMO", "MuonExchange", "MuonMomentum", "MuonAggregate", "MuonCompress"};
static const Phase       EventsPhase[] = {STEP, LMO, EXCHANGE, UPDATE, UPDATE, UPDATE};

/* What a run showed; of all ranks */
typedef struct {
  long           calls;
  long long      bytes, formula;                                 /* of the rank that hands most to MPI */
  PetscLogDouble state, balance, seconds[PHASES], oracle, flops; /* the last of all oracles, each counted once */
  PetscLogDouble bare;                                           /* seconds of MPI's own calls, of as many bytes; 0 where they are not measured */
  PetscLogDouble rounds, link, predicted[2];                     /* of the cost model; the last two are seconds, the second with whole trees */
} Result;

static PetscErrorCode Gradient(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBeginUser;
  *loss = 0;
  PetscCall(FillGradients(muon, &((Task *)ctx)->random)); /* whole, also of sharded weights */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of the row go before those of the command line. All layers of the model, or one of them */
static PetscErrorCode TaskCreate(const char options[], PetscMPIInt shard, PetscInt blocks, PetscInt width, PetscInt one, Task *task)
{
  PetscBool rows;
  char     *all;

  PetscFunctionBeginUser;
  task->shard    = shard == ALL ? size : PetscMax(shard, 1);
  task->position = rank % task->shard;
  task->n        = one >= 0 ? 1 : BLOCK_LAYERS * blocks;
  task->first    = PetscMax(one, 0);
  task->width    = width;
  task->random   = (unsigned long long)rank + 1;
  PetscCall(PetscMalloc2(task->n, &task->W, task->n, &task->layer));
  PetscCall(PetscOptionsGetAll(NULL, &all));
  PetscCall(PetscOptionsCreate(&task->options));
  PetscCall(PetscOptionsInsertString(task->options, all));
  PetscCall(PetscOptionsInsertString(task->options, options));
  PetscCall(PetscFree(all));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &task->muon));
  PetscCall(PetscObjectSetOptions((PetscObject)task->muon, task->options));
  /* Of layers in rows the state alone is cut: each rank has the whole matrix */
  PetscCall(PetscStrrstr(options, "_type rows", &all));
  rows = all != NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rows ? rank : rank / task->shard, rank, &task->worker));
  for (PetscInt l = 0; l < task->n; l++) {
    char         name[32];
    PetscScalar *w;
    PetscInt     m = width * Shapes[(task->first + l) % BLOCK_LAYERS].m, n = width * Shapes[(task->first + l) % BLOCK_LAYERS].n;

    PetscCall(PetscSNPrintf(name, sizeof(name), "h%" PetscInt_FMT ".%s", (task->first + l) / BLOCK_LAYERS, Shapes[(task->first + l) % BLOCK_LAYERS].name));
    PetscCall(MatCreateDense(task->worker, PETSC_DECIDE, PETSC_DECIDE, m, n, NULL, &task->W[l]));
    PetscCall(MatGetLocalSize(task->W[l], &m, NULL));
    PetscCall(MatDenseGetArrayWrite(task->W[l], &w));
    for (PetscInt e = 0; e < m * n; e++) w[e] = (PetscReal)(e % 17) / 17;
    PetscCall(MatDenseRestoreArrayWrite(task->W[l], &w));
    PetscCall(MuonAddLayer(task->muon, name, task->W[l], &task->layer[l]));
    PetscCall(MuonLayerSetWholeGradient(task->layer[l], PETSC_TRUE));
  }
  PetscCall(MuonSetObjectiveAndGradient(task->muon, Gradient, task));
  PetscCall(MuonSetFromOptions(task->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaskDestroy(Task *task)
{
  PetscFunctionBeginUser;
  PetscCall(MuonDestroy(&task->muon));
  for (PetscInt l = 0; l < task->n; l++) PetscCall(MatDestroy(&task->W[l]));
  PetscCall(PetscFree2(task->W, task->layer));
  PetscCall(PetscOptionsDestroy(&task->options));
  PetscCallMPI(MPI_Comm_free(&task->worker));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The calls that move the arrays of dense layers, and nothing else: up, then new weights. Memory is made in the first round */
static PetscErrorCode BareRound(const Task *task, PetscBool rows, MuonExchangeMode mode, void *in[], void *out[], MPI_Request request[], PetscReal *seconds)
{
  const MuonArray state = MuonShardStateShape(&task->muon->group[0]->shard[0]);
  MPI_Datatype    type  = rows ? MPIU_SCALAR : state.precision == MUON_SINGLE ? MPI_FLOAT : MPI_DOUBLE;
  PetscMPIInt    *counts, owner;
  PetscScalar    *w;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(2 * size, &counts));
  for (PetscInt l = 0; l < task->n && in[l] == NULL; l++) {
    PetscCall(PetscCalloc1(LayerBytes(task, l), (char **)&in[l]));
    PetscCall(PetscCalloc1((mode == MUON_EXCHANGE_MODE_GATHER ? size : 1) * LayerBytes(task, l), (char **)&out[l]));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  *seconds = (PetscReal)MPI_Wtime();
  for (int down = 0; down < 2; down++) {
    for (PetscInt l = 0; l < task->n; l++) {
      const PetscInt    columns = Shapes[(task->first + l) % BLOCK_LAYERS].n * task->width;
      const PetscMPIInt n       = (PetscMPIInt)(LayerBytes(task, l) / (long long)sizeof(PetscScalar));

      request[l] = MPI_REQUEST_NULL;
      PetscCall(MuonLayerGetOwner(task->layer[l], &owner));
      PetscCall(MatDenseGetArray(task->W[l], &w));
      for (PetscMPIInt r = 0; r < size && rows; r++) {
        counts[r]        = (PetscMPIInt)(LayerRows(task, l, r) * columns);
        counts[size + r] = r > 0 ? counts[size + r - 1] + counts[r - 1] : 0;
      }
      if (rows && down == 0) PetscCallMPI(PMPI_Ireduce_scatter(in[l], out[l], counts, type, MPI_SUM, PETSC_COMM_WORLD, &request[l]));
      else if (rows) PetscCallMPI(PMPI_Iallgatherv(MPI_IN_PLACE, 0, type, w, counts, counts + size, type, PETSC_COMM_WORLD, &request[l]));
      else if (down) {
        if (owner >= 0) PetscCallMPI(PMPI_Ibcast(w, n, MPIU_SCALAR, owner, PETSC_COMM_WORLD, &request[l]));
      } else if (mode == MUON_EXCHANGE_MODE_ALLREDUCE) PetscCallMPI(PMPI_Iallreduce(in[l], out[l], n, type, MPI_SUM, PETSC_COMM_WORLD, &request[l]));
      else if (mode == MUON_EXCHANGE_MODE_REDUCE) PetscCallMPI(PMPI_Ireduce(in[l], out[l], n, type, MPI_SUM, owner, PETSC_COMM_WORLD, &request[l]));
      else if (owner < 0) PetscCallMPI(PMPI_Iallgather(in[l], n, type, out[l], n, type, PETSC_COMM_WORLD, &request[l]));
      else PetscCallMPI(PMPI_Igather(rank == owner ? MPI_IN_PLACE : in[l], n, type, out[l], n, type, owner, PETSC_COMM_WORLD, &request[l]));
      PetscCall(MatDenseRestoreArray(task->W[l], &w));
      if (rows) PetscCallMPI(MPI_Wait(&request[l], MPI_STATUS_IGNORE)); /* which reads the counts */
    }
    PetscCallMPI(MPI_Waitall((PetscMPIInt)task->n, request, MPI_STATUSES_IGNORE));
  }
  *seconds = (PetscReal)MPI_Wtime() - *seconds;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPIU_REAL, MPIU_MIN, PETSC_COMM_WORLD));
  PetscCall(PetscFree(counts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadEvents(PetscLogDouble seconds[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(seconds, PHASES));
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(Events); e++) {
    PetscEventPerfInfo info;

    PetscCall(ReadEvent(Events[e], &info));
    seconds[EventsPhase[e]] += info.time;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest over mean of the oracles' work on the ranks */
static PetscErrorCode GetBalance(const Task *task, PetscLogDouble *balance)
{
  PetscLogDouble work = 0, most, all;
  PetscMPIInt    owner;

  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < task->n && task->shard == 1; l++) {
    PetscLogDouble flops;

    PetscCall(MuonLayerGetOwner(task->layer[l], &owner));
    PetscCall(MuonLayerGetFlops(task->layer[l], &flops));
    if (owner == rank || owner < 0) work += flops;
  }
  for (PetscInt i = 0; task->shard > 1 && i < task->muon->group[0]->server->nitems; i++) {
    const MuonItem *item = &task->muon->group[0]->server->item[i];
    PetscLogDouble  flops;

    owner = task->muon->group[0]->server->assembly->owner[i];
    PetscCall(MuonLayerGetFlops(item->shard->layer, &flops));
    if (item->kind == MUON_ASSEMBLY_ALLGATHER || owner == task->position) work += flops;
  }
  PetscCallMPI(MPI_Allreduce(&work, &most, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&work, &all, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  *balance = all > 0 ? most * size / all : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of state of all ranks together on a parameter */
static PetscErrorCode GetState(const Task *task, PetscLogDouble *state)
{
  PetscLogDouble memory[3];

  PetscFunctionBeginUser;
  PetscCall(MuonGetMemory(task->muon, &memory[0], &memory[1], &memory[2]));
  *state = (memory[0] + memory[1]) / Entries(task);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, state, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Apart: an optimizer for each layer, so that messages go layer by layer */
static PetscErrorCode Measure(const Run *run, PetscInt blocks, PetscInt width, PetscInt steps, PetscBool apart, Result *result)
{
  const PetscInt   parts = apart ? BLOCK_LAYERS * blocks : 1;
  const PetscBool  rows = run->formula == RowsFormula ? PETSC_TRUE : PETSC_FALSE, bare = apart == PETSC_FALSE && run->formula != NULL && run->formula != ShardedFormula ? PETSC_TRUE : PETSC_FALSE;
  void           **memory;
  MPI_Request     *request;
  Task            *task;
  MuonExchange     exchange;
  MuonExchangeType type;
  MuonExchangeMode mode;
  PetscReal       *times;
  PetscBool        priced;
  PetscLogDouble   before[PHASES], after[PHASES];
  long             calls = 0;
  long long        bytes[2];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(result, sizeof(*result)));
  PetscCall(PetscCalloc1(parts, &task));
  for (PetscInt p = 0; p < parts; p++) {
    PetscCall(TaskCreate(run->options, run->shard, blocks, width, apart ? p : -1, &task[p]));
    PetscCall(MuonStep(task[p].muon));
  }
  PetscCall(MuonGetExchange(task[0].muon, &exchange));
  PetscCall(MuonExchangeGetType(exchange, &type));
  PetscCall(MuonExchangeGetMode(exchange, &mode));
  mpicount_reset();
  for (PetscInt p = 0; p < parts; p++) PetscCall(MuonStep(task[p].muon));
  bytes[0] = mpicount.sent;
  bytes[1] = 0;
  for (PetscInt p = 0; p < parts && run->formula != NULL; p++) bytes[1] += (*run->formula)(&task[p], mode, &calls);
  /* Checks of a debugging PETSc are among the others, whose bytes do not count */
  for (int k = 0; k < MPICOUNT_OTHER; k++) result->calls += mpicount.calls[k];
  PetscCheck(run->formula == NULL || (bytes[0] == bytes[1] && result->calls == calls), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %ld calls with %lld bytes, and the formula gives %ld with %lld", run->name, result->calls, bytes[0], calls, bytes[1]);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, bytes, 2, MPI_LONG_LONG, MPI_MAX, PETSC_COMM_WORLD));
  result->bytes   = bytes[0];
  result->formula = bytes[1];
  for (PetscInt p = 0; p < parts; p++) {
    MuonCost cost;

    if (run->vote > 0) cost = MuonCostOfVote(run->vote - 1, size, Entries(&task[p]), PETSC_TRUE);
    else PetscCall(MuonGetCost_Private(task[p].muon, type, mode, &cost, &priced));
    for (int k = 0; k < 2; k++) result->predicted[k] += MuonCostSeconds(task[p].muon, &cost, k > 0 ? PETSC_TRUE : PETSC_FALSE);
    result->rounds += cost.rounds;
    result->link += cost.bytes;
    for (PetscInt l = 0; l < task[p].n; l++) {
      PetscLogDouble flops;

      PetscCall(MuonLayerGetFlops(task[p].layer[l], &flops));
      result->flops += flops;
    }
  }
  if (apart == PETSC_FALSE) {
    PetscCall(GetBalance(&task[0], &result->balance));
    PetscCall(GetState(&task[0], &result->state));
  }
  PetscCall(PetscMalloc1((PHASES + 2) * steps, &times));
  PetscCall(PetscCalloc2(2 * task[0].n, &memory, task[0].n, &request));
  if (bare) PetscCall(BareRound(&task[0], rows, mode, memory, memory + task[0].n, request, times));
  for (PetscInt s = 0; s < steps; s++) {
    PetscLogDouble least, most;

    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(ReadEvents(before));
    for (PetscInt p = 0; p < parts; p++) PetscCall(StepOnce(task[p].muon));
    PetscCall(ReadEvents(after));
    for (PetscInt p = 0; p < PHASES; p++) after[p] -= before[p];
    /* Who waits for others does it in the exchange: the rank that is there last waits least */
    PetscCallMPI(MPI_Allreduce(&after[EXCHANGE], &least, 1, MPI_DOUBLE, MPI_MIN, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Allreduce(&after[LMO], &most, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, after, PHASES, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
    for (PetscInt p = 0; p < PHASES; p++) times[p * steps + s] = (PetscReal)(after[p] / size);
    times[EXCHANGE * steps + s] = (PetscReal)least;
    times[PHASES * steps + s]   = (PetscReal)most;
    if (bare) PetscCall(BareRound(&task[0], rows, mode, memory, memory + task[0].n, request, &times[(PHASES + 1) * steps + s]));
  }
  for (PetscInt p = 0; p < PHASES; p++) PetscCall(Median(steps, times + p * steps, &result->seconds[p]));
  PetscCall(Median(steps, times + PHASES * steps, &result->oracle));
  if (bare) PetscCall(Median(steps, times + (PHASES + 1) * steps, &result->bare));
  for (PetscInt k = 0; k < 2 * task[0].n; k++) PetscCall(PetscFree(memory[k]));
  PetscCall(PetscFree2(memory, request));
  PetscCall(PetscFree(times));
  for (PetscInt p = 0; p < parts; p++) PetscCall(TaskDestroy(&task[p]));
  PetscCall(PetscFree(task));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int BySeconds(const void *a, const void *b)
{
  const PetscLogDouble x = ((const Result *)a)->seconds[STEP], y = ((const Result *)b)->seconds[STEP];

  return x < y ? -1 : x > y;
}

/* Of the repetitions of a run, which are sorted, the median, and the seconds of a step of the fastest and the slowest */
static PetscErrorCode PrintResults(PetscInt n, PetscInt repetitions, const Run *const run[], const Result all[])
{
  PetscLogDouble replicated = 0;
  Result        *result;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &result));
  for (PetscInt r = 0; r < n; r++) result[r] = all[r * repetitions + repetitions / 2];
  Print("rows, sharded, hybrid: rounds, bytes on a link and predictions are of the exchange across workers alone\n");
  Print("%-20s %-8s %6s %12s %12s %7s %12s %9s %8s\n", "bytes", "is", "calls", "by formula", "counted", "rounds", "on a link", "state", "balance");
  for (PetscInt r = 0; r < n; r++) {
    char formula[32] = "-";

    if (run[r]->formula != NULL) PetscCall(PetscSNPrintf(formula, sizeof(formula), "%lld", result[r].formula));
    Print("%-20s %-8s %6ld %12s %12lld %7.0f %12.0f %9.2f %8.3f\n", run[r]->name, run[r]->published, result[r].calls, formula, result[r].bytes, result[r].rounds, result[r].link, result[r].state, result[r].balance);
  }
  Print("%-20s %10s %10s %10s %7s %11s %10s %7s %7s %8s | %10s %10s %10s %7s\n", "seconds", "step", "fastest", "slowest", "saved", "Gflops/rank", "oracle", "oracle", "update", "exchange", "exchange", "predicted", "by trees", "off");
  for (PetscInt r = 0; r < n; r++) {
    const PetscLogDouble *seconds = result[r].seconds, step = seconds[STEP], *predicted = result[r].predicted;
    const int             whole = run[r]->whole > 0 ? size >= 4 : run[r]->whole < 0 ? size < 4 : 0;

    Print("%-20s %10.6f %10.6f %10.6f %6.1f%% %11.2f %10.6f %6.1f%% %6.1f%% %7.1f%% |", run[r]->name, step, all[r * repetitions].seconds[STEP], all[(r + 1) * repetitions - 1].seconds[STEP], 100 * (1 - step / result[0].seconds[STEP]),
          result[r].flops / step / size / 1e9, result[r].oracle, 100 * result[r].oracle / step, 100 * seconds[UPDATE] / step, 100 * seconds[EXCHANGE] / step);
    Print(" %10.6f %10.6f %10.6f %6.1f%%\n", seconds[EXCHANGE], predicted[0], predicted[1], 100 * (predicted[whole] / seconds[EXCHANGE] - 1));
  }
  Print("%-20s %10s %10s %7s  aim: at most 1.3\n", "beside MPI", "exchange", "bare calls", "ratio");
  for (PetscInt r = 0; r < n; r++) {
    if (result[r].bare > 0) Print("%-20s %10.6f %10.6f %7.2f\n", run[r]->name, result[r].seconds[EXCHANGE], result[r].bare, result[r].seconds[EXCHANGE] / result[r].bare);
  }
  for (PetscInt r = 0; r < n; r++) {
    if (strncmp(run[r]->name, "replicated allreduce", 20) == 0) replicated = result[r].oracle;
    if (strcmp(run[r]->name, "layerwise reduce") == 0 && replicated > 0)
      Print("oracles of layerwise take %.3f of the time of those of replicated; aim on 2 ranks: at most 0.55%s\n", result[r].oracle / replicated, size == 2 && result[r].oracle > 0.55 * replicated ? ", MISSED" : "");
  }
  PetscCall(PetscFree(result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row for each run behind what the file has, for figures over several numbers of ranks */
static PetscErrorCode WriteResults(const char path[], PetscBool apart, PetscInt n, PetscInt repetitions, const Run *const run[], const Result all[])
{
  int failed = 0;

  PetscFunctionBeginUser;
  if (rank == 0) {
    FILE *file = fopen(path, "a");

    if (file == NULL || (ftell(file) == 0 && fputs("ranks,run,messages,step,fastest,slowest,exchange,predicted,bytes\n", file) < 0)) failed = 1;
    for (PetscInt r = 0; r < n && failed == 0; r++) {
      const Result *result = &all[r * repetitions + repetitions / 2];

      if (fprintf(file, "%d,%s,%s,%g,%g,%g,%g,%g,%lld\n", size, run[r]->name, apart ? "layer by layer" : "packed", result->seconds[STEP], all[r * repetitions].seconds[STEP], all[(r + 1) * repetitions - 1].seconds[STEP], result->seconds[EXCHANGE],
                  result->predicted[0], result->bytes) < 0)
        failed = 1;
    }
    if (file != NULL && fclose(file) != 0) failed = 1;
  }
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCheck(failed == 0, PETSC_COMM_WORLD, PETSC_ERR_FILE_WRITE, "-benchmark_csv %s: cannot be written", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt   blocks = 2, width = 128, steps = 5, repetitions = 1, n = 0;
  char       chosen[256] = "", csv[PETSC_MAX_PATH_LEN] = "";
  PetscBool  apart = PETSC_FALSE;
  const Run *run[PETSC_STATIC_ARRAY_LENGTH(Runs)];
  Result    *result;

  PetscFunctionBeginUser;
  PetscCall(BenchmarkInitialize(&argc, &argv, help));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Benchmark of exchanges", NULL);
  OptionCount("-benchmark_blocks", "Blocks of the model, six matrices each", blocks);
  OptionCount("-benchmark_width", "Its width", width);
  OptionCount("-benchmark_steps", "Steps that are timed", steps);
  OptionCount("-benchmark_repetitions", "Times that all runs are made, one after another", repetitions);
  OptionString("-benchmark_runs", "Runs whose names begin so, or so; those of votes where they are named", chosen);
  PetscCall(PetscOptionsBool("-benchmark_apart", "Messages go layer by layer: an optimizer for each", NULL, apart, &apart, NULL));
  OptionString("-benchmark_csv", "File that gets a row for each run behind what it has", csv);
  PetscOptionsEnd();
  PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &mpicount_ignored, NULL));
  PetscCall(ReportBlas());
  Print("%d ranks, %" PetscInt_FMT " blocks of width %" PetscInt_FMT ", scalars of %d bytes; median of %" PetscInt_FMT " repetitions, each the median of %" PetscInt_FMT " steps\n", size, blocks, width, (int)sizeof(PetscScalar), repetitions, steps);
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(Runs); r++) {
    int wanted = 0;

    if (strncmp(Runs[r].name, "sign", 4) == 0 && chosen[0] == '\0') continue;
    for (const char *name = chosen; name != NULL && !wanted; name = strchr(name, ',')) {
      name += name[0] == ',' ? 1 : 0;
      wanted = strncmp(Runs[r].name, name, strcspn(name, ",")) == 0;
    }
    if (wanted && (Runs[r].shard <= 0 || size % Runs[r].shard == 0)) run[n++] = &Runs[r];
  }
  PetscCheck(n > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_runs %s: no run's name begins so", chosen);
  PetscCall(PetscMalloc1(n * repetitions, &result));
  for (PetscInt k = 0; k < repetitions; k++) {
    for (PetscInt r = 0; r < n; r++) PetscCall(Measure(run[r], blocks, width, steps, apart, &result[r * repetitions + k]));
  }
  for (PetscInt r = 0; r < n; r++) qsort(&result[r * repetitions], (size_t)repetitions, sizeof(Result), BySeconds);
  PetscCall(PrintResults(n, repetitions, run, result));
  if (csv[0] != '\0') PetscCall(WriteResults(csv, apart, n, repetitions, run, result));
  PetscCall(PetscFree(result));
  PetscCall(PetscCommDestroy(&mpicount_ignored));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  # Every rank holds what it hands to MPI to the formula; times are the machine's
  test:
    nsize: {{2 4 8}}
    timeoutfactor: 3
    args: -benchmark_width 8 -benchmark_steps 1
    filter: sed -n '/^bytes /,$p' | sed '/^oracles/d' | cut -c 1-20 | LC_ALL=C sort | uniq -c | sed 's/ *$//'

  # Votes, and messages layer by layer, which obey the formulas too
  test:
    suffix: apart
    nsize: 2
    args: -benchmark_width 8 -benchmark_blocks 1 -benchmark_steps 1 -benchmark_repetitions 2 -benchmark_runs sign,star,layerwise -benchmark_apart -benchmark_csv exchange.csv
    filter: cut -d, -f1-3 exchange.csv

  test:
    suffix: bad_csv
    args: -benchmark_width 8 -benchmark_runs sign -benchmark_csv /nonexistent/exchange.csv
    error: -benchmark_csv /nonexistent/exchange.csv: cannot be written

  test:
    suffix: none
    args: -benchmark_runs nothing
    error: -benchmark_runs nothing: no run's name begins so

TEST*/
