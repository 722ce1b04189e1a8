#include "muoncost.h" /*I "petscmuon.h" I*/
#include <petsctime.h>
#include <math.h>
#include <string.h>

/*
   -muon_advise: what a step would take with other compressors, local steps, a delay and nodes. Phases are
   measured in the first steps of the run, compressors on its momentum and the link by messages of its ranks; the
   rest is the model of muoncost.h. Nothing of the run's state is written.
*/

/* So many entries of a matrix are compressed at most; how often that and messages are timed; rows that are printed beside those with a loss */
#define MUON_ADVISE_ENTRIES  ((size_t)1 << 22)
#define MUON_ADVISE_TIMES    3
#define MUON_ADVISE_MESSAGES 9
#define MUON_ADVISE_ROWS     20

/* Behind prefixes. The second is of layers that are not compressed beside others that are, the first where none is */
static const char *const Compressors[] = {"-compressor identity",
                                          "-compressor identity -compressor_values single",
                                          "-compressor bf16",
                                          "-compressor natural",
                                          "-compressor qsgd",
                                          "-compressor topk -compressor_values natural",
                                          "-compressor topk -compressor_ratio 0.02 -compressor_values natural"};
static const int         Up[] = {0, 2, 3, 4, 5, 5, 6}, Down[] = {0, 2, 3, 4, 4, 5, 4};
#define COMPRESSORS PETSC_STATIC_ARRAY_LENGTH(Compressors)
#define PAIRS       ((int)PETSC_STATIC_ARRAY_LENGTH(Up))

/* Seconds to encode and to decode a message, and its bytes */
typedef double MuonAdviseMessage[3];

/* Indices of Events, and of the clock behind them */
enum {
  STEP,
  GRADIENT,
  LMO,
  COMPRESS,
  EXCHANGE,
  WALL,
  PHASES
};
static const char *const Events[] = {"MuonStep", "MuonGradient", "MuonLMO", "MuonCompress", "MuonExchange"};

typedef struct {
  double   seconds, messages, bytes, nodes, loss;
  PetscInt steps;
  int      pair, late;
  char    *options;
} MuonAdviseRow;

/* Options in the order of the database, whatever that in the text is */
static PetscErrorCode MuonAdviseSort_Private(const char text[], char **sorted)
{
  PetscOptions options;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, text));
  PetscCall(PetscOptionsGetAll(options, sorted));
  PetscCall(PetscOptionsDestroy(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The losses of rows; all ranks have a line at a time, so that what is wrong with it is an error on all of them */
static PetscErrorCode MuonAdviseReadStudy_Private(Muon muon, PetscInt n, MuonAdviseRow row[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)muon);
  FILE          *file = muon->rank == 0 ? fopen(muon->advise_study, "r") : NULL;
  PetscMPIInt    ok   = file != NULL;
  char           line[4096];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(&ok, 1, MPI_INT, 0, comm));
  PetscCheck(ok, comm, PETSC_ERR_FILE_OPEN, "-%smuon_advise_study %s: the file cannot be read", MuonPrefix(muon), muon->advise_study);
  for (int number = 1; ok; number++) {
    PetscBool is   = PETSC_FALSE;
    double    loss = 0;
    char     *field[2], *text;

    PetscCall(PetscSynchronizedFGets(comm, file, sizeof(line), line));
    if (line[0] == '\0' && number > 1) break;
    field[0] = strtok(line, ",\r\n");
    field[1] = strtok(NULL, ",\r\n");
    if (field[1] != NULL && number == 1) is = strcmp(field[0], "options") == 0 && strcmp(field[1], "loss") == 0 ? PETSC_TRUE : PETSC_FALSE;
    if (field[1] != NULL && number > 1 && field[0][0] == '-') PetscCall(MuonNumberRead(field[1], &loss, &is));
    PetscCheck(is, comm, PETSC_ERR_FILE_UNEXPECTED, "-%smuon_advise_study: %s:%d: expected %s", MuonPrefix(muon), muon->advise_study, number, number == 1 ? "options,loss" : "options and a loss");
    if (number == 1) continue;
    PetscCall(MuonAdviseSort_Private(field[0], &text));
    for (PetscInt k = 0; k < n; k++) {
      if (strcmp(text, row[k].options) == 0) row[k].loss = loss;
    }
    PetscCall(PetscFree(text));
  }
  if (file != NULL) (void)fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks of a node send to the next one at the same time, the slowest counts: the least of small messages is the latency, other programs make it longer; large ones have a median */
static PetscErrorCode MuonAdviseMeasureLink_Private(Muon muon, PetscMPIInt node)
{
  const MPI_Comm comm     = PetscObjectComm((PetscObject)muon);
  const int      bytes[2] = {8, 1 << 20}, middle = MUON_ADVISE_MESSAGES / 2, by = node < muon->size ? node : 1, to = (muon->rank + by) % muon->size, from = (muon->rank + muon->size - by) % muon->size;
  PetscReal      seconds[2][MUON_ADVISE_MESSAGES];
  PetscMPIInt    tag;
  double         begin;
  char          *buffer;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetNewTag((PetscObject)muon, &tag));
  PetscCall(PetscCalloc1(2 * bytes[1], &buffer));
  for (int k = 0; k < 2; k++) {
    for (int i = -1; i < MUON_ADVISE_MESSAGES; i++) { /* the first opens connections */
      PetscCallMPI(MPI_Barrier(comm));
      begin = MPI_Wtime();
      PetscCallMPI(MPI_Sendrecv(buffer, bytes[k], MPI_CHAR, to, tag, buffer + bytes[1], bytes[k], MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE));
      seconds[k][PetscMax(i, 0)] = (PetscReal)(MPI_Wtime() - begin);
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 2 * MUON_ADVISE_MESSAGES, MPIU_REAL, MPIU_MAX, comm));
  for (int k = 0; k < 2; k++) PetscCall(PetscSortReal(MUON_ADVISE_MESSAGES, seconds[k]));
  muon->cost_alpha = seconds[0][0];
  muon->cost_beta  = 8 * (PetscReal)bytes[1] / PetscMax(seconds[1][middle] - seconds[0][0], (PetscReal)1e-9);
  PetscCall(PetscFree(buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message of the first rows of an array, and from it that of all of them */
static PetscErrorCode MuonAdviseEncode_Private(const MuonArray *A, size_t which, MuonAdviseMessage found)
{
  const size_t       columns = MuonArrayColumns(A), rows = PetscMax(1, PetscMin(MuonArrayRows(A), MUON_ADVISE_ENTRIES / columns));
  const MuonArray    part = MuonArrayPart(A, 0, 0, rows, columns);
  PetscOptions       options;
  MuonCompressor     c;
  MuonCompressorCost cost;
  MuonArray          Y;
  size_t             most, bytes;
  unsigned char     *message;
  PetscBool          valid;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, Compressors[which]));
  PetscCall(PetscObjectSetOptions((PetscObject)c, options));
  PetscCall(MuonCompressorSetFromOptions(c));
  PetscCall(MuonCompressorSetUp(c));
  PetscCall(MuonArrayCreate(&part, part.precision, &Y));
  PetscCall(MuonCompressorGetMaxBytesOf(c, &part, &most));
  PetscCall(PetscMalloc1(most, &message));
  for (int k = 0; k < MUON_ADVISE_TIMES; k++) {
    PetscLogDouble at[3];

    PetscCall(PetscTime(&at[0]));
    PetscCall(MuonCompressorEncodeArray(c, &part, NULL, most, message, &bytes, PETSC_FALSE, &cost, NULL));
    PetscCall(PetscTime(&at[1]));
    PetscCall(MuonCompressorDecodeArray(c, PETSC_TRUE, 1, bytes, message, &Y, &valid));
    PetscCall(PetscTime(&at[2]));
    for (int d = 0; d < 2; d++) found[d] = k == 0 ? at[d + 1] - at[d] : PetscMin(found[d], at[d + 1] - at[d]);
  }
  found[2] = cost.encoded / 8;
  for (int k = 0; k < 3; k++) found[k] *= (double)MuonArrayRows(A) / (double)rows;
  PetscCall(PetscFree(message));
  PetscCall(MuonArrayDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(PetscOptionsDestroy(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages of all shards by all compressors, measured once for each shape: of momentum, the mean of the ranks that keep it, or of weights where nobody does */
static PetscErrorCode MuonAdviseMeasure_Private(Muon muon, MuonAdviseMessage message[])
{
  const PetscMPIInt n    = (PetscMPIInt)muon->nshards;
  const MPI_Comm    comm = PetscObjectComm((PetscObject)muon);
  PetscMPIInt      *like, *ranks;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(n, &like, n, &ranks));
  for (PetscMPIInt p = 0, q; p < n; p++) {
    MuonShard *shard = &muon->shard[p];
    MuonArray  W, A;

    for (q = 0; muon->shard[q].group != shard->group || muon->shard[q].layer->m != shard->layer->m || muon->shard[q].layer->n != shard->layer->n; q++) {}
    like[p] = q;
    if (ranks[q] > 0 || shard->rows == 0 || (shard->layer->keepsmomentum && shard->M.data == NULL)) continue;
    ranks[q] = 1;
    PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &W));
    A = shard->M.data != NULL ? shard->M : MuonShardPart(shard, &W);
    for (size_t c = 0; c < COMPRESSORS; c++) PetscCall(MuonAdviseEncode_Private(&A, c, message[(size_t)q * COMPRESSORS + c]));
    PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &W));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, ranks, n, MPI_INT, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, message, n * 3 * (PetscMPIInt)COMPRESSORS, MPI_DOUBLE, MPI_SUM, comm));
  for (size_t p = 0; p < (size_t)n * COMPRESSORS; p++) {
    const size_t q = (size_t)like[p / COMPRESSORS] * COMPRESSORS + p % COMPRESSORS;

    for (int k = 0; k < 3; k++) message[p][k] = q == p ? message[p][k] / PetscMax(ranks[p / COMPRESSORS], 1) : message[q][k];
  }
  PetscCall(PetscFree2(like, ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks of a worker over which layers are spread, and workers of one rank, or of so many */
static double MuonAdviseSpread(const MuonGroup group)
{
  return group->nshards > 0 && group->shard[0].layer->ranks > 1 ? (double)group->grid->size : 1;
}

static double MuonAdviseWorkers(Muon muon, const MuonGroup group)
{
  return muon->cost_workers > 0 ? (double)muon->cost_workers : (double)group->exchange->nworkers * group->grid->size / MuonAdviseSpread(group);
}

/*
   An exchange with a pair of compressors, between nodes of so many ranks that share the work and sum the gradients in
   their memory: seconds, and bytes that leave a rank or come to it
*/
static PetscErrorCode MuonAdvisePair_Private(Muon muon, const MuonAdviseMessage message[], MuonAdviseRow *row, MuonCostTimes *times)
{
  const Muon from = MuonCostSender(muon);
  double    *bytes;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * from->nshards, &bytes));
  row->bytes = 0;
  for (PetscInt g = 0; g < from->ngroups; g++) {
    const MuonGroup  group = from->group[g];
    const PetscBool  sums  = row->pair == 0 ? PETSC_TRUE : PETSC_FALSE;
    const double     homes = group->home >= 0 ? (double)group->grid->size : 1; /* groups of a node's layers, each of which another rank works for at the same time */
    const double     nodes = MuonAdviseSpread(group) > 1 ? 1 : row->nodes, workers = MuonAdviseWorkers(muon, group) / nodes;
    double           work[2][2] = {{0, 0}, {0, 0}}, inside = 0, part[2] = {0, 0}; /* the second may be late: layers with LMOs, or all of a round */
    MuonCostMessages m[3];
    MuonCost         cost;
    PetscBool        legal, nothing;

    for (PetscInt k = 0; k < group->nshards; k++) {
      const MuonShard *shard = &group->shard[k];
      const MuonArray  state = MuonShardStateShape(shard), weights = MuonShardWeightsShape(shard);
      PetscBool        lmo;

      PetscCall(PetscObjectTypeCompare((PetscObject)(shard->layer->inner != NULL ? shard->layer->inner : shard->layer), MUONLAYERLMO, &lmo));
      for (int d = 0; d < 2; d++) {
        const int     which = sums ? d && from->downlink_precision == MUON_STATE_PRECISION_SINGLE : (lmo == PETSC_FALSE ? 1 : (d ? Down : Up)[row->pair]);
        const double *one   = message[(size_t)(shard - from->shard) * COMPRESSORS + (size_t)which];

        part[lmo || row->steps > 1] += d ? 0 : one[2];
        bytes[2 * k + d] = sums && d == 0 ? (double)MuonArrayBytes(&state) : one[2];
        if (d && which == 0) bytes[2 * k + d] += (double)MuonArrayBytes(&weights) - (double)MuonArrayBytes(&state);
        for (int e = 0; e < 2 && (d || !sums); e++) work[d][e] += one[e];
      }
      if (nodes > 1) inside += (double)MuonArrayBytes(&state);
    }
    PetscCall(MuonCostOfGroup_Private(group, MuonCostFindWay(group, sums), bytes, m, &legal));
    if (nodes > 1 || workers != group->exchange->nworkers) MuonCostOfNodes(workers, nodes, m);
    nothing = m[1].pattern == MUON_COST_NOTHING ? PETSC_TRUE : PETSC_FALSE;
    if (nothing) m[1].bytes = 0;
    row->bytes += (m[0].bytes * (nothing || m[0].pattern == MUON_COST_ALLREDUCE ? workers : workers - 1) + m[1].bytes * (workers - 1)) / workers * (workers > 1) / (double)row->steps;
    cost = MuonCostOf(workers, 1, m);
    if (!sums) cost.work = 0; /* it was measured */
    if (!sums) cost.rounds /= homes;
    part[1] *= MuonCostSeconds(muon, &cost, PETSC_FALSE) / PetscMax(part[0] + part[1], 1);
    times->up += part[1];
    times->down += MuonCostSeconds(muon, &cost, PETSC_FALSE) - part[1];
    cost = MuonCostOf(workers, 2, m + 1);
    cost.rounds /= homes;
    times->down += MuonCostSeconds(muon, &cost, PETSC_FALSE) + inside / (double)muon->cost_gamma;
    times->work += (work[0][0] + workers * (nothing ? 1 : m[0].most) * work[0][1]) / nodes;
    if (!nothing) times->work += m[1].most * work[1][0] / nodes + work[1][1];
  }
  PetscCall(PetscFree(bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options that make an optimizer what a row says */
static PetscErrorCode MuonAdviseOptions_Private(MuonAdviseRow *row)
{
  const char *const outer      = row->steps > 1 ? "outer_" : "";
  char              text[1024] = "", steps[64] = "", node[64] = "", late[64] = "";

  PetscFunctionBegin;
  if (row->steps > 1) PetscCall(PetscSNPrintf(steps, sizeof(steps), "-muon_type %s -local_steps %" PetscInt_FMT, MUONLOCAL, row->steps));
  else if (row->pair == 0) PetscCall(PetscSNPrintf(steps, sizeof(steps), "-muon_type %s", MUONDENSE));
  if (row->late) PetscCall(PetscSNPrintf(late, sizeof(late), "-%smuon_delay 1", outer));
  if (row->nodes > 1) PetscCall(PetscSNPrintf(node, sizeof(node), "-muon_node_size %d", (int)row->nodes));
  if (row->pair > 0) PetscCall(PetscSNPrintf(text, sizeof(text), "-%smuon_type ef21 -prefix_push %sef21_ %s -prefix_pop -prefix_push %sef21_server_ %s -prefix_pop", outer, outer, Compressors[Up[row->pair]], outer, Compressors[Down[row->pair]]));
  PetscCall(PetscSNPrintf(text + strlen(text), sizeof(text) - strlen(text), " %s %s %s", steps, node, late));
  PetscCall(MuonAdviseSort_Private(text, &row->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All combinations of what there is, beside the seconds of a step's phases here */
static PetscErrorCode MuonAdvise_Private(Muon muon, PetscViewer viewer, double phase[])
{
  const MPI_Comm     comm     = PetscObjectComm((PetscObject)muon);
  const MuonGroup    group    = MuonCostSender(muon)->group[0];
  const MuonExchange exchange = group->exchange;
  const double       workers  = MuonAdviseWorkers(muon, group);
  const PetscReal    given[]  = {muon->cost_alpha, muon->cost_beta};
  const PetscBool    measures = muon->size > 1 && !MuonParametersIsSet((PetscObject)muon, "cost_alpha") && !MuonParametersIsSet((PetscObject)muon, "cost_beta") ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt     steps[]  = {1, 5, 30};
  double             nodes    = MuonCostSwitch(muon, "node_size");
  MuonAdviseRow      row[12 * PAIRS];
  MuonAdviseMessage *message;
  MPI_Comm           inside;
  PetscMPIInt        node;
  PetscInt           n = 0;
  double             lmo[2]; /* of the owner that has most, and of all layers */

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &inside));
  PetscCallMPI(MPI_Comm_size(inside, &node));
  PetscCallMPI(MPI_Comm_free(&inside));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &node, 1, MPI_INT, MPI_MIN, comm));
  PetscCallMPI(MPI_Allreduce(&phase[LMO], &lmo[1], 1, MPI_DOUBLE, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, phase, PHASES, MPI_DOUBLE, MPI_MAX, comm));
  if (nodes <= 1) nodes = (double)node;
  lmo[1] = muon->isolated || exchange->everywhere ? phase[LMO] * (group->home >= 0 ? group->grid->size : 1) : lmo[1] / MuonAdviseSpread(group);
  lmo[0] = lmo[1];
  if (exchange->everywhere == PETSC_FALSE && exchange->ownership != MUON_EXCHANGE_OWNERSHIP_ONE) lmo[0] = muon->isolated || muon->cost_workers > 0 ? lmo[1] / workers : phase[LMO];
  PetscCall(PetscCalloc1((size_t)muon->nshards * COMPRESSORS, &message));
  PetscCall(MuonAdviseMeasure_Private(muon, message));
  if (measures) PetscCall(MuonAdviseMeasureLink_Private(muon, node));
  for (int k = 0; k < PAIRS * 12; k++) {
    MuonCostTimes times = {phase[GRADIENT], phase[STEP] + (k / 4 % 3 > 0 ? lmo[1] / (k / 2 % 2 ? nodes : 1) : lmo[0]), 0, 0, 0};
    MuonAdviseRow one   = {0, 0, 0, k / 2 % 2 ? nodes : 1, PETSC_INFINITY, steps[k / 4 % 3], k / 12, k % 2, NULL};
    PetscInt      at    = n;

    if (k / 2 % 2 && (nodes == 1 || nodes >= workers || fmod(workers, nodes) != 0)) continue;
    PetscCall(MuonAdvisePair_Private(muon, message, &one, &times));
    one.messages = (times.up + times.down) / (double)one.steps;
    one.seconds  = MuonCostOfStep(&times, (double)one.steps, one.late ? PETSC_TRUE : PETSC_FALSE);
    PetscCall(MuonAdviseOptions_Private(&one));
    for (; at > 0 && row[at - 1].seconds > one.seconds; at--) row[at] = row[at - 1];
    row[at] = one;
    n++;
  }
  PetscCall(PetscFree(message));
  if (muon->advise_study != NULL) PetscCall(MuonAdviseReadStudy_Private(muon, n, row));
  PetscCall(PetscViewerASCIIPrintf(viewer, "Advice: seconds of a step as predicted, of them those of messages, and its bytes\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  this run: %.4g s a step in %" PetscInt_FMT " steps; gradient and program %.4g, LMO %.4g, compressors %.4g, messages and waiting %.4g, else %.4g; %.0f bytes in the last\n", phase[WALL], muon->advised - 1,
                                   phase[GRADIENT], phase[LMO], phase[COMPRESS], phase[EXCHANGE], phase[STEP], (muon->meanup + muon->meandown) / 8));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  link: %.4g us a message, %.4g Gbit/s each way, %s%s\n", 1e6 * (double)muon->cost_alpha, 1e-9 * (double)muon->cost_beta, measures ? "measured" : "as given",
                                   measures && node == muon->size ? " in the memory of one machine; -muon_cost_alpha and -muon_cost_beta give a network's" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %12s %12s %14s %12s  options%s%s\n", "seconds", "messages", "bytes", "loss", MuonPrefix(muon)[0] != '\0' ? " behind the prefix -" : "", MuonPrefix(muon)));
  for (PetscInt k = 0; k < n; k++) {
    char loss[32] = "not measured";

    if (row[k].loss < (double)PETSC_INFINITY) PetscCall(PetscSNPrintf(loss, sizeof(loss), "%.6g", row[k].loss));
    if (k < MUON_ADVISE_ROWS || row[k].loss < (double)PETSC_INFINITY) PetscCall(PetscViewerASCIIPrintf(viewer, "  %12.6g %12.6g %14.0f %12s  %s\n", row[k].seconds, row[k].messages, row[k].bytes, loss, row[k].options));
    PetscCall(PetscFree(row[k].options));
  }
  muon->cost_alpha = given[0];
  muon->cost_beta  = given[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the first step, in which others make what they need, to the last that is measured or taken. What a program does between steps counts as the gradient */
PetscErrorCode MuonMonitorAdvise_Private(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  double phase[PHASES];

  PetscFunctionBegin;
  if (muon->advised > muon->advise_steps || (muon->advised++ > 0 && muon->advised <= muon->advise_steps && muon->step < muon->max_steps)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < PHASES; k++) {
    PetscEventPerfInfo info;
    PetscLogEvent      event;

    PetscCall(PetscTime(&info.time));
    if (k < WALL) PetscCall(PetscLogEventGetId(Events[k], &event));
    if (k < WALL) PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
    phase[k]              = (info.time - muon->advise_begin[k]) / (double)PetscMax(muon->advised - 1, 1);
    muon->advise_begin[k] = info.time;
  }
  if (muon->advised == 1) PetscFunctionReturn(PETSC_SUCCESS);
  phase[GRADIENT] += phase[WALL] - phase[STEP];
  phase[STEP] = PetscMax(phase[WALL] - phase[GRADIENT] - phase[LMO] - phase[COMPRESS] - phase[EXCHANGE], 0);
  PetscCall(MuonAdvise_Private(muon, ((PetscViewerAndFormat *)ctx)->viewer, phase));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is wrong is said before a step */
PetscErrorCode MuonAdviseBegin_Private(Muon muon)
{
  PetscBool active;

  PetscFunctionBegin;
  PetscCheck(PetscDefined(USE_LOG), PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_advise needs a PETSc that was configured with logging, whose events it reads", MuonPrefix(muon));
  if (muon->advise_study != NULL) PetscCall(MuonAdviseReadStudy_Private(muon, 0, NULL));
  PetscCall(PetscLogIsActive(&active));
  if (active == PETSC_FALSE) PetscCall(PetscLogDefaultBegin());
  PetscFunctionReturn(PETSC_SUCCESS);
}
