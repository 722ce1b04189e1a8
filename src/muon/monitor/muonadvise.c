#include "muonmonitor.h" /*I "petscmuon.h" I*/
#include "../addons/cost/muoncost.h"
#include <petscmuon/private/muonlmoimpl.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

/*
   -muon_advise: what a step would take with other compressors, local steps, a delay and nodes. Phases are
   measured in the first steps of the run, compressors on its momentum and the link by messages of its ranks; the
   rest is the model of muoncost.h. Nothing of the run's state is written.
*/

/* So many entries of a matrix are compressed at most; how often messages are timed; rows that are printed beside those with a loss */
#define MUON_ADVISE_ENTRIES  ((size_t)1 << 22)
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

/* Seconds to encode and to decode a message, its bytes, and how many ranks measured it */
typedef double MuonAdviseMessage[4];

/* What is measured: events, and the clock behind them */
enum {
  STEP,
  GRADIENT,
  LMO,
  COMPRESS,
  EXCHANGE,
  WALL,
  PHASES
};

/* Seconds of a step, of its messages, of those up in one exchange that may be late, and of compressors; link: ranks on a node's link beside one another where they are no worker */
typedef struct {
  double   seconds, messages, up, work, bytes, nodes, link, loss;
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

/* Whether there is nothing but what a study writes, keys of algorithms with a value at most: others PETSc may take for its own, as -options_file */
static PetscBool MuonAdviseIsAlgorithm(const char text[])
{
  static const char *const keys[] = {"muon_type", "muon_delay", "muon_delay_correction", "muon_node_size", "muon_momentum_at", "muon_layer_rule", "outer_", "local_", "ef21_", "ef14_", "sign_"}, spaces[] = " \t\r\n\v\f";
  PetscBool                value = PETSC_FALSE;

  for (const char *word = text; *word != '\0'; word += strcspn(word, spaces), word += strspn(word, spaces)) {
    const size_t length = strcspn(word, spaces) - 1;
    size_t       k      = 0;

    if (word[0] == '-' && isalpha((unsigned char)word[1])) {
      while (k < PETSC_STATIC_ARRAY_LENGTH(keys) && (strncmp(word + 1, keys[k], strlen(keys[k])) != 0 || (length != strlen(keys[k]) && keys[k][strlen(keys[k]) - 1] != '_'))) k++;
      value = PETSC_TRUE;
    } else if (value) value = PETSC_FALSE;
    else return PETSC_FALSE;
    if (k == PETSC_STATIC_ARRAY_LENGTH(keys)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
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
    PetscBool   is   = PETSC_FALSE;
    double      loss = 0;
    const char *second;
    char       *text;

    PetscCall(PetscSynchronizedFGets(comm, file, sizeof(line), line));
    if (line[0] == '\0' && number > 1) break;
    if (number == 1) PetscCall(PetscStrbeginswith(line, "options,loss", &is));
    else if (line[0] == '-' && strtok(line, ",") != NULL && (second = strtok(NULL, ",\r\n")) != NULL && MuonAdviseIsAlgorithm(line)) PetscCall(MuonNumberRead(second, &loss, &is));
    PetscCheck(is, comm, PETSC_ERR_FILE_UNEXPECTED, "-%smuon_advise_study: %s:%d: expected %s", MuonPrefix(muon), muon->advise_study, number, number == 1 ? "options,loss" : "options and a loss, as a study writes them");
    if (number == 1) continue;
    PetscCall(MuonAdviseSort_Private(line, &text));
    for (PetscInt k = 0; k < n; k++) {
      if (strcmp(text, row[k].options) == 0) row[k].loss = loss;
    }
    PetscCall(PetscFree(text));
  }
  if (file != NULL) (void)fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks send to the next node at the same time, the slowest counts, and of several times the fastest: other programs make messages longer. Its ranks share a node's link */
static PetscErrorCode MuonAdviseMeasureLink_Private(Muon muon, PetscMPIInt node)
{
  const MPI_Comm comm     = PetscObjectComm((PetscObject)muon);
  const int      bytes[2] = {8, 1 << 20}, to = (muon->rank + node) % muon->size, from = (muon->rank + muon->size - node) % muon->size;
  double         seconds[2] = {PETSC_MAX_REAL, PETSC_MAX_REAL}, begin;
  PetscMPIInt    tag;
  char          *buffer;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetNewTag((PetscObject)muon, &tag));
  PetscCall(PetscCalloc1(2 * bytes[1], &buffer));
  for (int k = 0; k < 2 * MUON_ADVISE_MESSAGES; k++) {
    PetscCallMPI(MPI_Barrier(comm));
    begin = MPI_Wtime();
    PetscCallMPI(MPI_Sendrecv(buffer, bytes[k % 2], MPI_CHAR, to, tag, buffer + bytes[1], bytes[k % 2], MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE));
    seconds[k % 2] = PetscMin(seconds[k % 2], MPI_Wtime() - begin);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, comm));
  MuonCostLinkOf(muon)->alpha = (PetscReal)seconds[0];
  MuonCostLinkOf(muon)->beta  = (PetscReal)(8. * bytes[1] * node / PetscMax(seconds[1] - seconds[0], 1e-9));
  PetscCall(PetscFree(buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message of the first rows of an array, and from it that of all of them */
static PetscErrorCode MuonAdviseEncode_Private(const MuonArray *A, size_t which, MuonAdviseMessage found)
{
  const size_t       columns = MuonArrayColumns(A), rows = PetscMax(1, PetscMin(MuonArrayRows(A), MUON_ADVISE_ENTRIES / PetscMax(columns, 1)));
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
  for (int k = 0; k < 2; k++) { /* the second time all memory is there */
    const double begin = MPI_Wtime();

    PetscCall(MuonCompressorEncodeArray(c, &part, NULL, most, message, &bytes, PETSC_FALSE, &cost, NULL));
    found[0] = MPI_Wtime() - begin;
    PetscCall(MuonCompressorDecodeArray(c, PETSC_TRUE, 1, bytes, message, &Y, &valid));
    found[1] = MPI_Wtime() - begin - found[0];
  }
  found[2] = cost.encoded / 8;
  for (int k = 0; k < 3; k++) found[k] *= (double)MuonArrayRows(A) / (double)rows;
  found[3] = 1;
  PetscCall(PetscFree(message));
  PetscCall(MuonArrayDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(PetscOptionsDestroy(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages of all shards by all compressors: of momentum, the mean of the ranks that keep it, or of weights where nobody does */
static PetscErrorCode MuonAdviseMeasure_Private(Muon muon, MuonAdviseMessage message[])
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];
    MuonArray  W, A;

    if (shard->rows == 0 || (shard->layer->keepsmomentum && shard->M.data == NULL)) continue;
    PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &W));
    A = shard->M.data != NULL ? shard->M : MuonShardPart(shard, &W);
    for (size_t c = 0; c < COMPRESSORS; c++) PetscCall(MuonAdviseEncode_Private(&A, c, message[(size_t)p * COMPRESSORS + c]));
    PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &W));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, message, (PetscMPIInt)(muon->nshards * 4 * (PetscInt)COMPRESSORS), MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)muon)));
  for (size_t p = 0; p < (size_t)muon->nshards * COMPRESSORS; p++) {
    for (int k = 0; k < 3; k++) message[p][k] /= PetscMax(message[p][3], 1);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks of a worker over which layers are spread, and workers of one rank, or of so many */
static double MuonAdviseSpread(const MuonGroup group)
{
  return group->nshards > 0 && group->shard[0].layer->ranks > 1 ? (double)group->grid->size : 1;
}

static double MuonAdviseWorkers(Muon muon, const MuonGroup group)
{
  return MuonCostLinkOf(muon)->workers > 0 ? (double)MuonCostLinkOf(muon)->workers : (double)group->exchange->nworkers * group->grid->size / MuonAdviseSpread(group);
}

/*
   An exchange with a pair of compressors, between nodes of so many ranks that share the work and a link and sum the
   gradients in their memory: seconds, and bytes that leave a rank or come to it
*/
static PetscErrorCode MuonAdvisePair_Private(Muon muon, const MuonAdviseMessage message[], MuonAdviseRow *row)
{
  const Muon      from   = MuonCostSender(muon);
  const PetscBool sums   = row->pair == 0 ? PETSC_TRUE : PETSC_FALSE;
  MuonCost        all[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};                   /* up, and the others */
  double         *bytes, rounds[2] = {0, 0}, inside = 0, part[2] = {0, 0}; /* the second may be late: layers with LMOs, or all of a round */

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * from->nshards, &bytes));
  for (PetscInt g = 0; g < from->ngroups; g++) {
    const MuonGroup  group  = from->group[g];
    const PetscBool  spread = MuonAdviseSpread(group) > 1 ? PETSC_TRUE : PETSC_FALSE;
    const double     nodes = spread ? 1 : row->nodes, workers = MuonAdviseWorkers(muon, group) / nodes;
    double           work[2][2] = {{0, 0}, {0, 0}};
    MuonCostMessages m[3];
    MuonCost         cost;
    PetscBool        legal, everywhere;

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
    everywhere = m[1].pattern == MUON_COST_NOTHING ? PETSC_TRUE : PETSC_FALSE;
    if (workers != group->exchange->nworkers) MuonCostOfNodes(workers, nodes, m);
    row->bytes += (m[0].bytes * (everywhere || m[0].pattern == MUON_COST_ALLREDUCE ? workers : workers - 1) + m[1].bytes * !everywhere * (workers - 1)) / (workers * nodes) * (workers > 1) / (double)row->steps;
    for (int d = 0; d < 2; d++) {
      cost = MuonCostOf(workers, 1 + d, m + d);
      if (spread == PETSC_FALSE) cost.bytes *= row->link * PetscMax(workers - row->link, 0) / PetscMax(workers - 1, 1); /* what leaves the node */
      if (d == 0 && !sums) cost.work = 0;                                                                               /* it was measured */
      MuonCostAdd(group, &cost, &all[d], &rounds[d]);
    }
    row->work += (work[0][0] + workers * (everywhere ? 1 : m[0].most) * work[0][1]) / nodes;
    if (!everywhere) row->work += m[1].most * work[1][0] / nodes + work[1][1];
  }
  row->up       = MuonCostSeconds(muon, &all[0], PETSC_FALSE);
  row->messages = row->up + MuonCostSeconds(muon, &all[1], PETSC_FALSE) + inside / (double)MuonCostLinkOf(muon)->gamma;
  row->up *= part[1] / PetscMax(part[0] + part[1], 1);
  PetscCall(PetscFree(bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options that make an optimizer what a row says */
static PetscErrorCode MuonAdviseOptions_Private(MuonAdviseRow *row)
{
  char text[1024], node[64] = "", steps[64] = "", pair[512] = "";

  PetscFunctionBegin;
  if (row->nodes > 1) PetscCall(PetscSNPrintf(node, sizeof(node), "-muon_node_size %d", (int)row->nodes));
  if (row->steps > 1) PetscCall(PetscSNPrintf(steps, sizeof(steps), "-muon_type %s -local_steps %" PetscInt_FMT " -prefix_push outer_", MUONLOCAL, row->steps));
  else if (row->pair == 0) PetscCall(PetscSNPrintf(pair, sizeof(pair), "-muon_type %s", MUONDENSE));
  if (row->pair > 0) PetscCall(PetscSNPrintf(pair, sizeof(pair), "-muon_type %s -prefix_push ef21_ %s -prefix_pop -prefix_push ef21_server_ %s -prefix_pop", MUONEF21, Compressors[Up[row->pair]], Compressors[Down[row->pair]]));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s %s %s %s", node, steps, pair, row->late ? "-muon_delay 1" : ""));
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
  const PetscReal    given[]  = {MuonCostLinkOf(muon)->alpha, MuonCostLinkOf(muon)->beta};
  const PetscBool    measures = muon->size > 1 && !MuonParametersIsSet((PetscObject)muon, "cost_alpha") && !MuonParametersIsSet((PetscObject)muon, "cost_beta") ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt     steps[]  = {1, 5, 30};
  double             nodes = MuonCostSwitch(muon, "node_size"), link = 1;
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
  if (nodes < muon->size) link = nodes;
  lmo[1] = muon->isolated || exchange->everywhere ? phase[LMO] * (group->home >= 0 ? group->grid->size : 1) : lmo[1] / MuonAdviseSpread(group);
  lmo[0] = lmo[1];
  if (exchange->everywhere == PETSC_FALSE && exchange->ownership != MUON_EXCHANGE_OWNERSHIP_ONE) lmo[0] = muon->isolated || MuonCostLinkOf(muon)->workers > 0 ? lmo[1] / workers : phase[LMO];
  PetscCall(PetscCalloc1((size_t)muon->nshards * COMPRESSORS, &message));
  PetscCall(MuonAdviseMeasure_Private(muon, message));
  if (measures) PetscCall(MuonAdviseMeasureLink_Private(muon, (PetscMPIInt)link));
  for (int k = 0; k < PAIRS * 12; k++) {
    const PetscBool within = k / 2 % 2 ? PETSC_TRUE : PETSC_FALSE;
    MuonAdviseRow   one    = {0, 0, 0, 0, 0, within ? nodes : 1, within ? 1 : link, PETSC_INFINITY, steps[k / 4 % 3], k / 12, k % 2, NULL};
    const double    H      = (double)one.steps;
    PetscInt        at     = n;

    if (within && (nodes == 1 || nodes >= workers || fmod(workers, nodes) != 0)) continue;
    PetscCall(MuonAdvisePair_Private(muon, message, &one));
    one.messages /= H;
    one.seconds = phase[GRADIENT] + phase[STEP] + (H > 1 ? lmo[1] / one.nodes : lmo[0]) + one.work / H + one.messages - one.late * PetscMin(one.up / H, phase[GRADIENT]);
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
  PetscCall(PetscViewerASCIIPrintf(viewer, "  link: %.4g us a message, %.4g Gbit/s each way, %s%s\n", 1e6 * (double)MuonCostLinkOf(muon)->alpha, 1e-9 * (double)MuonCostLinkOf(muon)->beta, measures ? "measured" : "as given",
                                   measures && node == muon->size ? " in the memory of one machine; -muon_cost_alpha and -muon_cost_beta give a network's" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %12s %12s %14s %12s  options%s%s\n", "seconds", "messages", "bytes", "loss", MuonPrefix(muon)[0] != '\0' ? " behind the prefix -" : "", MuonPrefix(muon)));
  for (PetscInt k = 0; k < n; k++) {
    char loss[32] = "not measured";

    if (row[k].loss < (double)PETSC_INFINITY) PetscCall(PetscSNPrintf(loss, sizeof(loss), "%.6g", row[k].loss));
    if (k < MUON_ADVISE_ROWS || row[k].loss < (double)PETSC_INFINITY) PetscCall(PetscViewerASCIIPrintf(viewer, "  %12.6g %12.6g %14.0f %12s  %s\n", row[k].seconds, row[k].messages, row[k].bytes, loss, row[k].options));
    PetscCall(PetscFree(row[k].options));
  }
  MuonCostLinkOf(muon)->alpha = given[0];
  MuonCostLinkOf(muon)->beta  = given[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the first step, in which others make what they need, to the last that is measured or taken. What a program does between steps counts as the gradient */
PetscErrorCode MuonMonitorAdvise_Private(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  const PetscLogEvent event[] = {MUON_Step, MUON_Gradient, MUON_LMO, MUON_Compress, MUON_Exchange};
  double              phase[PHASES];

  PetscFunctionBegin;
  if (muon->advised > muon->advise_steps || (muon->advised++ > 0 && muon->advised <= muon->advise_steps && muon->step < muon->max_steps)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < muon->nactive; l++) {
    PetscCheck(muon->active[l]->shape.memory == MUON_HOST, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "Layer \"%s\": -%smuon_advise takes layers in the memory of the host, not of a device", ((PetscObject)muon->active[l])->name,
               MuonPrefix(muon));
  }
  for (int k = 0; k < PHASES; k++) {
    PetscEventPerfInfo info;

    info.time = MPI_Wtime();
    if (k < WALL) PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event[k], &info));
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
