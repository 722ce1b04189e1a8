static char help[] = "The alpha-beta model: its patterns against simulated schedules, the example of the SignMuon paper, volumes of published distributions, and what the optimizer makes of it.\n\n";

#include "muon_common.h"
#include <muon/monitor/muoncost.h>
#include "mpicount.h"

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
  const MuonCost cost = MuonCostOfPattern(pattern, net->ranks, s);
  char           what[128];

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
    if (step == J - 2) CheckPattern("reduce-scatter", MUON_COST_REDUCE_SCATTER, s, &net, PETSC_FALSE);
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
  CheckPattern("all-to-all", MUON_COST_ALLTOALL, s, &net, PETSC_FALSE);
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
  CheckPattern("sum, whole", MUON_COST_REDUCE, s, &net, PETSC_TRUE);
}

/* An exchange with uneven owners: everything that goes into and out of each rank */
static void CheckExchange(int J)
{
  double           share[2 * MAXRANKS], most[2] = {0, 0}, sums = 0;
  MuonCostExchange shape = {J, PETSC_FALSE, PETSC_FALSE, 0, 1, 3000, 700, share};
  MuonCost         cost;

  for (int r = 0; r < J; r++) {
    share[2 * r]     = 2.0 * (r + 1) / (J * (J + 1));
    share[2 * r + 1] = 2.0 * (J - r) / (J * (J + 1));
  }
  for (int r = 0; r < J; r++) {
    const double up = 3000 * share[2 * r], down = 700 * share[2 * r + 1];

    most[0] = PetscMax(most[0], PetscMax((J - 1) * up, 3000 - up));
    sums    = PetscMax(sums, PetscMax(up, 3000 - up));
    most[1] = PetscMax(most[1], 700 - down);
  }
  cost = MuonCostOfExchange(&shape);
  CheckClose("layerwise gather", cost.bytes, most[0] + most[1]);
  shape.sums  = 1;
  shape.calls = 5;
  cost        = MuonCostOfExchange(&shape);
  CheckClose("layerwise reduce", cost.bytes, sums + most[1]);
  /* On a tree of three ranks and more some send on what they have received, on one of two nobody does */
  CheckClose("layerwise reduce, whole trees", cost.whole, (J > 2 ? 2 : 1) * sums + most[1]);
  /* Five sums, an all-gather with its sizes, and the agreement */
  CheckClose("layerwise reduce, rounds", cost.rounds, 5 * MuonCostLog2(J) + J - 1 + 3 * MuonCostLog2(J));
  shape.star = PETSC_TRUE;
  shape.sums = 0;
  cost       = MuonCostOfExchange(&shape);
  CheckClose("star gather", cost.bytes, (J - 1) * 3000.0 + 700);
  CheckClose("star gather, whole trees", cost.whole, (J - 1) * 3000.0 + 700 * MuonCostLog2(J));
  CheckClose("star gather, memory", cost.memory, J * 3000.0 + 700);
  shape.star       = PETSC_FALSE;
  shape.everywhere = PETSC_TRUE;
  cost             = MuonCostOfExchange(&shape);
  CheckClose("replicated gather", cost.bytes, (J - 1) * 3000.0);
  shape.sums = 2;
  cost       = MuonCostOfExchange(&shape);
  CheckClose("replicated allreduce", cost.bytes, 2 * 3000.0 * (J - 1) / J);
  CheckClose("replicated allreduce, rounds", cost.rounds, 5 * 2 * (J - 1) + 2 * MuonCostLog2(J));
}

/* ResNet-50, and the ratios of section 4.6 */
static void CheckPaper(void)
{
  const double       d    = 23.5e6;
  const MuonCostLink free = {0, 1, 0};

  for (int J = 2; J <= 64; J++) {
    const MuonCost sums = MuonCostOfVote(MUON_COST_VOTE_SUMS, J, d), all = MuonCostOfVote(MUON_COST_VOTE_ALL, J, d), range = MuonCostOfVote(MUON_COST_VOTE_RANGE, J, d), dense = MuonCostOfPattern(MUON_COST_ALLREDUCE, J, 4 * d);

    CheckClose("bits to all over sums of int8", all.bytes / sums.bytes, J / 16.);
    CheckClose("bits to all over floats", all.bytes / dense.bytes, J / 64.);
    CheckClose("bits to ranges over sums of int8", range.bytes / sums.bytes, 1 / 8.);
    Check(all.rounds == J - 1 && sums.rounds == 2 * (J - 1) ? PETSC_TRUE : PETSC_FALSE, "rounds of a ring", all.rounds, J - 1);
    Check((MuonCostSeconds(&free, &all, PETSC_FALSE) < MuonCostSeconds(&free, &sums, PETSC_FALSE)) == (J < 16) ? PETSC_TRUE : PETSC_FALSE, "who wins without latency", J, 16);
    CheckClose("room for all bits", all.memory, J * 2937500.0);
  }
  CheckClose("a tie at 16 workers", MuonCostOfVote(MUON_COST_VOTE_ALL, 16, d).bytes, MuonCostOfVote(MUON_COST_VOTE_SUMS, 16, d).bytes);
  /*
     2.94 MB of bits, 32 times less than 94 MB of floats and 8 times less than 23.5 MB of int8: what one of
     two ranks sends to the other
  */
  CheckClose("bits of ResNet-50", MuonCostOfVote(MUON_COST_VOTE_ALL, 2, d).bytes, 2937500);
  CheckClose("int8 of ResNet-50", MuonCostOfPattern(MUON_COST_BROADCAST, 2, d).bytes, 23.5e6);
  CheckClose("int16 above 127 workers", MuonCostOfVote(MUON_COST_VOTE_SUMS, 128, d).bytes, 4 * d * 127 / 128);
  /* Counters of 1, 2 and 3 bits up the tree of 8 ranks, then the result */
  CheckClose("tree of 8", MuonCostOfVote(MUON_COST_VOTE_TREE, 8, 80).bytes, 10 + 20 + 30 + 10);
  CheckClose("padding", MuonCostOfVote(MUON_COST_VOTE_ALL, 2, 81).bytes, 11);
  {
    const MuonCostLink link = {1e-3, 1e-6, 1e-9};
    const MuonCost     star = MuonCostOfVote(MUON_COST_VOTE_STAR, 4, 8000);

    CheckClose("seconds", MuonCostSeconds(&link, &star, PETSC_FALSE), 1e-3 * (3 + 2) + 1e-6 * (3000 + 1000) + 1e-9 * 4000);
    CheckClose("seconds, whole trees", MuonCostSeconds(&link, &star, PETSC_TRUE), 1e-3 * (3 + 2) + 1e-6 * (3000 + 2000) + 1e-9 * 4000);
  }
}

/*
   Section 5.4, with floats on J ranks: 8, 12, 8, 12 and 10 d (J-1)/J bytes, and 2 (2 d/J) (J-1)/J beside 8 d
   (J-1)/J of the sharded gradients and weights
*/
static void CheckDistributions(int J)
{
  MuonCostLayer layer[24];
  double        d = 0, part = (J - 1) / (double)J, expected[MUON_COST_DISTRIBUTIONS], squares = 0;

  for (int l = 0; l < 24; l++) {
    layer[l].rows    = l % 3 == 0 ? 64 : 16;
    layer[l].columns = l % 3 == 1 ? 64 : 16;
    layer[l].flops   = 1;
    d += layer[l].rows * layer[l].columns;
    squares += 256;
  }
  expected[MUON_COST_VANILLA]   = 8 * d * part;
  expected[MUON_COST_KJ]        = 12 * d * part;
  expected[MUON_COST_KJ_RS]     = 8 * d * part;
  expected[MUON_COST_BUCKETED]  = (8 * d + 4 * d * ((8 + J - 1) / J) * J / 8.) * part; /* three shapes of eight matrices each, padded to whole blocks of J */
  expected[MUON_COST_MOONLIGHT] = 10 * d * part;
  expected[MUON_COST_MOTIF]     = 8 * d * part + 2 * 2 * d / J * part;
  expected[MUON_COST_GRAM]      = 8 * d * part + 8 * squares * part;
  for (int k = 0; k < MUON_COST_DISTRIBUTIONS; k++) {
    const MuonCostOfDistribution one = MuonCostOfDistributions((MuonCostDistribution)k, J, 24, layer, 4, 2);

    CheckClose(MuonCostDistributionNames[k], one.cost.bytes, expected[k]);
    /* 24 equal oracles, in blocks of J; those of a bucket of 8 begin at the first rank each */
    if (k == MUON_COST_KJ || k == MUON_COST_KJ_RS || k == MUON_COST_MOTIF) CheckClose("work of the busiest rank", one.oracle, ((24 + J - 1) / J) / 24.);
    if (k == MUON_COST_BUCKETED) CheckClose("work of the busiest rank, bucketed", one.oracle, 3 * ((8 + J - 1) / J) / 24.);
    if (k == MUON_COST_VANILLA || k == MUON_COST_MOONLIGHT) CheckClose("work of every rank", one.oracle, 1);
  }
}

/* Two layers in single precision whose rows J ranks have, gathered in bf16 */
static void CheckAssemblies(int J)
{
  const MuonCostLayer layer[2] = {{64, 16, 1, 0}, {8, 24, 1, 0}};
  const double        d = 64 * 16 + 8 * 24, part = (J - 1) / (double)J;

  CheckClose("rows to all", MuonCostOfAssembly(MUON_COST_ROWS_TO_ALL, J, 2, layer, 4, 2).bytes, 2 * d * part);
  CheckClose("rows to owners and back", MuonCostOfAssembly(MUON_COST_ROWS_TO_OWNERS, J, 2, layer, 4, 2).bytes, (2 + 4) * d / J * part);
  CheckClose("Gram matrices", MuonCostOfAssembly(MUON_COST_ROWS_STAY, J, 2, layer, 4, 2).bytes, 2 * 4 * (16 * 16 + 8 * 8) * part);
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
  for (PetscInt l = 0; l < NLAYERS; l++) sum += strcmp(Shapes[l].rule, MUONLAYERFROZEN) != 0 ? (double)sizeof(PetscScalar) * (double)(Shapes[l].m * Shapes[l].n) : 0;
  PetscCall(ProblemCreateWay(PETSC_COMM_WORLD, &way, &p));
  PetscCall(MuonSetUp(p.muon));
  mpicount_reset();
  PetscCall(MuonStep(p.muon));
  PetscCall(MuonGetCost_Private(p.muon, way.exchange, way.mode, &cost, NULL, &possible));
  Check(possible, "a way that steps can go", 0, 1);
  if (strcmp(way.exchange, MUONEXCHANGEREPLICATED) == 0 && way.mode == MUON_EXCHANGE_MODE_ALLREDUCE) CheckClose("a sum everywhere", cost.bytes, 2.0 * (size - 1) / size * sum);
  if (strcmp(way.exchange, MUONEXCHANGEREPLICATED) == 0 && way.mode == MUON_EXCHANGE_MODE_GATHER && size > 1) {
    /*
       A rank receives its own packet, too; what is not in the model are packets' headers and padding, sizes
       of 8 bytes, and the status reduction
    */
    headers = (double)size * (64 + 36 + 8 + AGREEMENT_BYTES);
    Check(PetscAbsReal((PetscReal)((double)mpicount.received - cost.memory)) <= headers ? PETSC_TRUE : PETSC_FALSE, "messages received", (double)mpicount.received, cost.memory);
    CheckClose("messages on the link", cost.bytes, cost.memory * (size - 1) / size);
  }
  if (strcmp(way.exchange, MUONEXCHANGESTAR) == 0 && way.mode == MUON_EXCHANGE_MODE_REDUCE && size > 1) {
    const double down = cost.bytes - sum;

    Check(down >= sum && down <= sum + 16.0 * NLAYERS ? PETSC_TRUE : PETSC_FALSE, "weights down", down, sum);
    CheckClose("calls of a sum", cost.rounds, MuonCostLog2(size) * (NLAYERS - 1) + 4 * MuonCostLog2(size));
  }
  PetscCall(ProblemDestroy(&p));
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
    for (int J = 2; J <= 16; J++) CheckDistributions(J);
    for (int J = 1; J <= 16; J++) CheckAssemblies(J);
    CheckPaper();
  }
  if (strcmp(what, "steps") == 0) {
    PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &mpicount_ignored, NULL));
    for (PetscInt number = 0; last == PETSC_FALSE; number++) PetscCall(CheckSteps(number, &last));
    PetscCall(PetscCommDestroy(&mpicount_ignored));
  }
  if (strcmp(what, "view") == 0) {
    PetscInt step;

    PetscCall(ProblemCreate(PETSC_COMM_WORLD, NULL, &p));
    PetscCall(MuonSetFromOptions(p.muon));
    PetscCall(MuonSetUp(p.muon));
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
    args: -what steps

  # Before any step; what is given in other units is the same link
  testset:
    nsize: 4
    args: -what view -muon_view_cost -muon_cost_alpha 20us -muon_cost_gamma 2GB/s
    tolerance: 1e-5
    requires: double
    test:
      suffix: view_dense
      args: -muon_type dense -muon_cost_beta {{1Gbit/s 0.125GB/s 1000Mbit/s}shared output}
    test:
      suffix: view_ef21
      args: -ef21_compressor_rules all -muon_exchange_type star -ef21_compressor topk -ef21_server_compressor natural -muon_cost_beta 1Gbit/s
    test:
      suffix: view_rows
      args: -muon_type dense -muon_exchange_type rows -muon_assembly owner -muon_assembly_precision bf16 -muon_cost_beta 1Gbit/s
      filter: sed -n "/inside workers/,/rows *gram/p"

  # Eight workers that one does not have cost what eight with even shares do, and a thousand times the entries a thousand times the bytes
  test:
    suffix: predict
    nsize: 2
    args: -what view -muon_view_cost -muon_cost_workers 8 -muon_cost_entries 122000
    tolerance: 1e-5
    requires: double

  testset:
    nsize: 2
    args: -what view -muon_view_cost
    test:
      suffix: unit
      args: -muon_cost_beta 10
      error: -muon_cost_beta 10: expected a number above 0 with a unit behind it, one of bit/s kbit/s
    test:
      suffix: zero
      args: -muon_cost_beta 0Gbit/s
      error: -muon_cost_beta 0Gbit/s: expected a number above 0
    test:
      suffix: time
      args: -muon_cost_alpha 25
      error: -muon_cost_alpha 25: expected a number above 0 with a unit behind it, one of ns us ms s
    test:
      suffix: nan
      args: -muon_cost_gamma nanGB/s
      error: -muon_cost_gamma nanGB/s: expected a number above 0
    test:
      suffix: negative
      args: -muon_cost_alpha -1us
      error: -muon_cost_alpha -1us: expected a number above 0

TEST*/
