static char help[] = "The alpha-beta model: its patterns against simulated schedules, the example of the SignMuon paper, and what the optimizer makes of it.\n\n";

#include "ways.h"
#include <muon/addons/cost/muoncost.h>
#include "mpicount.h"
#include <math.h>

static PetscInt Wrong = 0;

static void Check(PetscBool right, const char what[], double found, double expected)
{
  if (right == PETSC_TRUE) return;
  Wrong++;
  fprintf(stderr, "%s: %.17g, expected %.17g\n", what, found, expected);
}

/* Sums of a few fractions of whole numbers: their rounding is below this */
static void CheckClose(const char what[], double found, double expected)
{
  Check(PetscAbsReal((PetscReal)(found - expected)) <= 64 * PETSC_MACHINE_EPSILON * PetscAbsReal((PetscReal)expected) ? PETSC_TRUE : PETSC_FALSE, what, found, expected);
}

#define MAXRANKS 64

/* Messages of one round at the same time; a link carries both directions at once */
typedef struct {
  int    ranks;
  double rounds, bytes, in[MAXRANKS], out[MAXRANKS];
} Network;

static void Send(Network *net, int from, int to, double bytes)
{
  net->out[from] += bytes;
  net->in[to] += bytes;
}

static void EndRound(Network *net)
{
  double busiest = 0;

  for (int r = 0; r < net->ranks; r++) {
    busiest    = PetscMax(busiest, PetscMax(net->in[r], net->out[r]));
    net->in[r] = net->out[r] = 0;
  }
  net->rounds++;
  net->bytes += busiest;
}

static void CheckPattern(const char name[], MuonCostPattern pattern, double s, const Network *net, PetscBool whole)
{
  const double           even     = 1.0 / net->ranks;
  const MuonCostMessages messages = {pattern, s, 1, even, even};
  const MuonCost         cost     = MuonCostOf(net->ranks, 1, &messages);
  char                   what[128];

  (void)snprintf(what, sizeof(what), "%s on %d ranks, rounds", name, net->ranks);
  Check(cost.rounds == net->rounds ? PETSC_TRUE : PETSC_FALSE, what, cost.rounds, net->rounds);
  (void)snprintf(what, sizeof(what), "%s on %d ranks, bytes", name, net->ranks);
  CheckClose(what, whole == PETSC_TRUE ? cost.whole : cost.bytes, net->bytes);
}

/* The schedules themselves */
static void CheckPatterns(int J)
{
  const double  s    = 960;
  Network       net  = {J, 0, 0, {0}, {0}};
  const Network none = net;

  for (int step = 0; step < 2 * (J - 1); step++) {
    for (int r = 0; r < J; r++) Send(&net, r, (r + 1) % J, s / J);
    EndRound(&net);
  }
  CheckPattern("ring all-reduce", MUON_COST_ALLREDUCE, s, &net, PETSC_FALSE);
  net = none;
  for (int step = 1; step < J; step++) {
    for (int r = 0; r < J; r++) Send(&net, r, (r + 1) % J, s);
    EndRound(&net);
  }
  CheckPattern("ring all-gather", MUON_COST_GATHER, s, &net, PETSC_FALSE);
  net = none;
  for (int step = 1; step < J; step++) {
    for (int r = 0; r < J; r++) Send(&net, r, (r + step) % J, s / J);
    EndRound(&net);
  }
  CheckPattern("all-to-all", MUON_COST_TO_OWNERS, s, &net, PETSC_FALSE);
  net = none;
  for (int r = 1; r < J; r++) {
    Send(&net, r, 0, s);
    EndRound(&net);
  }
  CheckPattern("gather", MUON_COST_GATHER, s, &net, PETSC_FALSE);
  net = none;
  for (int have = 1; have < J; have *= 2) {
    for (int r = 0; r < have && r + have < J; r++) Send(&net, r, r + have, s);
    EndRound(&net);
  }
  CheckPattern("broadcast, whole", MUON_COST_BROADCAST, s, &net, PETSC_TRUE);
}

static MuonCost Exchange(int J, MuonCostPattern up, double calls, const double most[2], const double least[2], MuonCostPattern down, double records)
{
  const MuonCostMessages messages[3] = {{up, 3000, calls, most[0], least[0]}, {down, 700, 1, most[1], least[1]}, {MUON_COST_RECORD, 0, records, 0, 0}};

  return MuonCostOf(J, 3, messages);
}

/* An exchange with uneven owners: everything that goes into and out of each rank */
static void CheckExchange(int J)
{
  const double part[2] = {2.0 * J / (J * (J + 1)), 2.0 * J / (J * (J + 1))}, least[2] = {2.0 / (J * (J + 1)), 2.0 / (J * (J + 1))}, all[2] = {1, 1}, none[2] = {0, 0}, levels = ceil(log2(J));
  double       most[2] = {0, 0}, sums = 0;
  MuonCost     cost;

  for (int r = 0; r < J; r++) {
    const double up = 3000 * 2.0 * (r + 1) / (J * (J + 1)), down = 700 * 2.0 * (J - r) / (J * (J + 1));

    most[0] = PetscMax(most[0], PetscMax((J - 1) * up, 3000 - up));
    sums    = PetscMax(sums, PetscMax(up, 3000 - up));
    most[1] = PetscMax(most[1], 700 - down);
  }
  CheckClose("layerwise gather", Exchange(J, MUON_COST_TO_OWNERS, 1, part, least, MUON_COST_FROM_OWNERS, 4).bytes, most[0] + most[1]);
  cost = Exchange(J, MUON_COST_REDUCE, 5, part, least, MUON_COST_FROM_OWNERS, 3);
  CheckClose("layerwise reduce", cost.bytes, sums + most[1]);
  /* On a tree of three ranks and more some send on what they have received, on one of two nobody does */
  CheckClose("layerwise reduce, whole trees", cost.whole, (J > 2 ? 2 : 1) * sums + most[1]);
  /* Five sums, an all-gather with its sizes, and the agreement */
  CheckClose("layerwise reduce, rounds", cost.rounds, 5 * levels + J - 1 + 3 * levels);
  cost = Exchange(J, MUON_COST_GATHER, 1, all, none, MUON_COST_BROADCAST, 4);
  CheckClose("star gather", cost.bytes, (J - 1) * 3000.0 + 700);
  CheckClose("star gather, whole trees", cost.whole, (J - 1) * 3000.0 + 700 * levels);
  CheckClose("star gather, work", cost.work, J * 3000.0);
  CheckClose("star reduce, whole trees", Exchange(J, MUON_COST_REDUCE, 5, all, none, MUON_COST_BROADCAST, 3).whole, 3700 * levels);
  cost = Exchange(J, MUON_COST_ALLREDUCE, 5, part, least, MUON_COST_NOTHING, 2);
  CheckClose("replicated allreduce", cost.bytes, 2 * 3000.0 * (J - 1) / J);
  CheckClose("replicated allreduce, rounds", cost.rounds, 5 * 2 * (J - 1) + 2 * levels);
}

/* ResNet-50, and the ratios of section 4.6; votes in the order of the table */
enum {
  SUMS,
  ALL,
  STAR,
  TREE,
  RANGE
};

static void CheckPaper(Muon muon)
{
  const double d = 23.5e6;

  for (int J = 2; J <= 64; J++) {
    const MuonCost sums = MuonCostOfVote(SUMS, J, d, PETSC_FALSE), all = MuonCostOfVote(ALL, J, d, PETSC_FALSE), range = MuonCostOfVote(RANGE, J, d, PETSC_FALSE);

    CheckClose("bits to all over sums of int8", all.bytes / sums.bytes, J / 16.);
    CheckClose("bits to ranges over sums of int8", range.bytes / sums.bytes, 1 / 8.);
    Check(all.rounds == J - 1 && sums.rounds == 2 * (J - 1) ? PETSC_TRUE : PETSC_FALSE, "rounds of a ring", all.rounds, J - 1);
    CheckClose("work on all bits", all.work, J * 2937500.0);
  }
  /* 2.94 MB of bits are 8 times less than 23.5 MB of int8: what one of two ranks sends to the other */
  CheckClose("bits of ResNet-50", MuonCostOfVote(ALL, 2, d, PETSC_FALSE).bytes, 2937500);
  CheckClose("int8 of ResNet-50", MuonCostOfVote(SUMS, 2, d, PETSC_FALSE).bytes, 23.5e6);
  CheckClose("int16 above 127 workers", MuonCostOfVote(SUMS, 128, d, PETSC_FALSE).bytes, 4 * d * 127 / 128);
  /* Counters of 1, 2 and 3 bits up the tree of 8 ranks, then the result */
  CheckClose("tree of 8", MuonCostOfVote(TREE, 8, 80, PETSC_FALSE).bytes, 10 + 20 + 30 + 10);
  /* What the majority leaves undecided is a second bit, where there may be ties */
  CheckClose("ties of 8", MuonCostOfVote(TREE, 8, 80, PETSC_TRUE).bytes, 10 + 20 + 30 + 20);
  CheckClose("no ties of 7", MuonCostOfVote(STAR, 7, 80, PETSC_TRUE).bytes, 6 * 10 + 10);
  CheckClose("padding", MuonCostOfVote(ALL, 2, 81, PETSC_FALSE).bytes, 11);
  {
    const MuonCost star = MuonCostOfVote(STAR, 4, 8000, PETSC_FALSE);

    MuonCostLinkOf(muon)->alpha = (PetscReal)1e-3;
    MuonCostLinkOf(muon)->beta  = 8e6;
    MuonCostLinkOf(muon)->gamma = 1e9;
    CheckClose("seconds", MuonCostSeconds(muon, &star, PETSC_FALSE), 1e-3 * (3 + 2) + 1e-6 * (3000 + 1000) + 1e-9 * 4000);
    CheckClose("seconds, whole trees", MuonCostSeconds(muon, &star, PETSC_TRUE), 1e-3 * (3 + 2) + 1e-6 * (3000 + 2000) + 1e-9 * 4000);
  }
}

/*
   The model of the optimizer's own messages beside whole steps: entries that are summed are exact, messages
   are longer than them by headers
*/
static PetscErrorCode CheckSteps(PetscInt number, PetscBool *last)
{
  Problem     p;
  Way         way;
  MuonCost    cost;
  PetscBool   legal, possible;
  double      sum = 0, headers;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(WayGet(number, &way, &legal, last));
  if (legal == PETSC_FALSE || way.compression != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemCreateWith(&p, way.options));
  for (PetscInt l = 0; l < p.n; l++) sum += l != WAYS_FROZEN ? (double)sizeof(PetscScalar) * (double)(p.layer[l].shape->m * p.layer[l].shape->n) : 0;
  mpicount_reset();
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetCost_Private(p.muon, way.exchange, way.mode, &cost, &possible));
  Check(possible, "a way that steps can go", 0, 1);
  if (way.replicated && way.mode == MUON_EXCHANGE_MODE_ALLREDUCE) CheckClose("a sum everywhere", cost.bytes, 2.0 * (size - 1) / size * sum);
  if (way.replicated && way.mode == MUON_EXCHANGE_MODE_GATHER && size > 1) {
    /*
       A rank receives its own packet, too; what is not in the model are packets' headers and padding, sizes
       of 8 bytes, and the status reduction
    */
    headers = (double)size * (64 + 36 + 8 + AGREEMENT_BYTES);
    Check(PetscAbsReal((PetscReal)((double)mpicount.received - cost.work)) <= headers ? PETSC_TRUE : PETSC_FALSE, "messages received", (double)mpicount.received, cost.work);
    CheckClose("messages on the link", cost.bytes, cost.work * (size - 1) / size);
  }
  if (way.star && way.mode == MUON_EXCHANGE_MODE_REDUCE && size > 1) {
    const double down = cost.bytes - sum;

    Check(down >= sum && down <= sum + 16.0 * (double)p.n ? PETSC_TRUE : PETSC_FALSE, "weights down", down, sum);
    CheckClose("a sum and a broadcast of all small layers, and a record with its vote", cost.rounds, ceil(log2(size)) * (2 + 2));
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The star's rank 0 sends the majority, each plane of it 16 times what its packet, sizes and the agreement may take */
static PetscErrorCode CheckVote(MuonSignTie tie)
{
  const PetscInt m = 256, n = 16 * AGREEMENT_BYTES / 8;
  const double   d = (double)(m * n), headers = 36 + 64 + 3 * 8 + 32 + AGREEMENT_BYTES;
  Muon           muon;
  MuonLayer      layer;
  char           keys[128];
  Mat            W, G;
  PetscMPIInt    rank, size;
  double         down;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &W));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "w", W, &layer));
  PetscCall(PetscSNPrintf(keys, sizeof(keys), "-sign_tie %s", MuonSignTies[tie]));
  PetscCall(PetscOptionsInsertString(NULL, keys));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonLayerGetGradient(layer, &G));
  PetscCall(MatZeroEntries(G));
  mpicount_reset();
  PetscCall(MuonStep(muon));
  down = MuonCostOfVote(STAR, size, d, tie == MUON_SIGN_TIE_ZERO ? PETSC_TRUE : PETSC_FALSE).bytes - (size - 1) * d / 8;
  Check(rank > 0 || ((double)mpicount.sent >= down && (double)mpicount.sent <= down + headers) ? PETSC_TRUE : PETSC_FALSE, "bytes of a majority", (double)mpicount.sent, down);
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of ranks that are one worker have the costs of one worker a node, a rank of each */
static PetscErrorCode CheckNodes(void)
{
  const MuonExchangeType types[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};
  char                   node[8];
  Problem                p, q;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetParameter(p.muon, "muon_node_size", node, sizeof(node)));
  PetscCall(PetscOptionsSetValue(NULL, "-problem_mean", strcmp(node, "auto") == 0 ? "0" : node));
  PetscCall(PetscOptionsSetValue(NULL, "-muon_node_size", "1"));
  PetscCall(ProblemCreate(&q, 0, 0));
  PetscCall(MuonStep(q.muon));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    MuonCost  one, other;
    PetscBool legal[2];

    PetscCall(MuonGetCost_Private(p.muon, types[t], MUON_EXCHANGE_MODE_GATHER, &one, &legal[0]));
    PetscCall(MuonGetCost_Private(q.muon, types[t], MUON_EXCHANGE_MODE_GATHER, &other, &legal[1]));
    /* Owners are balanced among the layers of one home, and homes send arrays, layer by layer, side by side */
    Check(legal[0] == legal[1] && (t == 1 || PetscAbsReal((PetscReal)(one.bytes - other.bytes)) <= 1e-6 * other.bytes) ? PETSC_TRUE : PETSC_FALSE, types[t], one.bytes, other.bytes);
    Check(one.rounds == other.rounds || ((MuonShardSendsAsIs(p.muon->group[0]->shard) || MuonShardComesAsIs(p.muon->group[0]->shard)) && one.rounds < other.rounds) ? PETSC_TRUE : PETSC_FALSE, "rounds of nodes", one.rounds, other.rounds);
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      what[32] = "model";
  PetscBool last     = PETSC_FALSE;
  Problem   p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  Wrong = 0;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-what", what, sizeof(what), NULL));
  if (strcmp(what, "model") == 0) {
    for (int J = 1; J <= MAXRANKS; J++) CheckPatterns(J);
    for (int J = 2; J <= MAXRANKS; J++) CheckExchange(J);
    PetscCall(ProblemCreateWith(&p, ""));
    CheckPaper(p.muon);
    PetscCall(ProblemDestroy(&p));
  }
  if (strcmp(what, "nodes") == 0) PetscCall(CheckNodes());
  if (strcmp(what, "steps") == 0) {
    PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &mpicount_ignored, NULL));
    for (PetscInt number = 0; last == PETSC_FALSE; number++) PetscCall(CheckSteps(number, &last));
    for (int tie = 0; MuonSignTies[tie + 3] != NULL; tie++) PetscCall(CheckVote((MuonSignTie)tie));
    PetscCall(PetscCommDestroy(&mpicount_ignored));
  }
  if (strcmp(what, "view") == 0) {
    PetscInt step;

    PetscCall(ProblemCreate(&p, 0, 0));
    PetscCall(MuonGetStepNumber(p.muon, &step));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "after %" PetscInt_FMT " steps\n", step));
    PetscCall(ProblemDestroy(&p));
  }
  PetscCheck(Wrong == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " numbers are wrong", Wrong);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    suffix: model

  test:
    suffix: steps
    nsize: {{1 2 3 5}}
    args: -what steps -muon_type sign -sign_direction momentum -sign_update none -muon_exchange_type star -muon_exchange_mode gather

  testset:
    args: -what nodes
    table: suffix | nsize | args
      nodes_dense      | 4 | -muon_node_size 2 -muon_type dense -muon_layer_types gain:adamw
      nodes_allreduce  | 4 | -muon_node_size 2 -muon_type dense -muon_exchange_mode allreduce
      nodes_replicated | 4 | -muon_node_size 2 -muon_type dense -muon_exchange_type replicated -muon_layer_types gain:adamw,row:frozen
      nodes_ef21       | 4 | -muon_node_size 2 -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4
      nodes_star       | 4 | -muon_node_size 2 -muon_type ef21 -muon_exchange_type star -muon_exchange_mode gather -ef21_compressor randk -ef21_compressor_ratio 0.4
      nodes_step       | 4 | -muon_node_size 2 -muon_type ef21 -ef21_downlink step -lmo_type l21
      nodes_delay      | 4 | -muon_node_size 2 -muon_type ef21 -ef21_compressor topk -muon_delay 1 -muon_delay_correction -muon_layer_types gain:adamw
      nodes_ef14       | 4 | -muon_node_size 2 -muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.4 -muon_exchange_type replicated
      nodes_auto       | 3 | -muon_node_size auto -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4
      nodes_auto_dense | 3 | -muon_node_size auto -muon_type dense -muon_exchange_mode {{allreduce reduce}}

  # Before any step
  testset:
    nsize: 4
    args: -what view -muon_view_cost -muon_layer_types wide:frozen,gain:adamw -muon_cost_alpha 20e-6 -muon_cost_gamma 2e9 -muon_cost_beta 1e9
    tolerance: 1e-5
    requires: double
    table: suffix | args
      view_dense | -muon_type dense
      view_ef21  | -ef21_compressor_layers all -muon_exchange_type star -ef21_compressor topk -ef21_server_compressor natural

  # The stack of a monitored run is not the clean one of a run without
  test:
    suffix: view_monitor
    nsize: 2
    args: -what view -muon_view_cost -muon_monitor -muon_type ef21 -ef21_compressor topk
    filter: grep votes

  # Eight workers that one does not have cost what eight with even shares do, and a thousand times the entries a thousand times the bytes
  test:
    suffix: predict
    nsize: 2
    args: -what view -muon_view_cost -muon_layer_types wide:frozen -muon_cost_workers 8 -muon_cost_entries 122000
    tolerance: 1e-5
    requires: double

  # The paper's break-even, by options: the votes on the 23.5 million entries of ResNet-50 cost 15 x 2.9375 MB of bits on 16 workers, and 2 x 15/16 x 23.5 MB of int8
  test:
    suffix: breakeven
    args: -what view -muon_view_cost -muon_cost_workers 16 -muon_cost_entries 23.5e6
    filter: awk '/votes/ {votes = 1} votes && $1 == "replicated" {print $1, $2, $4}'

  # A unit, as it was once given, is an error and no other speed
  testset:
    nsize: 2
    args: -what view -muon_view_cost
    table: suffix | args | error
      unit | -muon_cost_beta 1Gbit/s | 1Gbit/s
      zero | -muon_cost_beta 0       | -muon_cost_beta 0

TEST*/
