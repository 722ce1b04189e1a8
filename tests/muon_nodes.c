static char help[] = "Nodes of ranks that are one worker: the steps, messages and predicted costs are those of one worker a node that has the mean gradient.\n\n";

#include "ef21_common.h"
#include <muon/addons/cost/muoncost.h>

#define STEPS 4

typedef struct {
  TestProblem  problem;
  PetscMPIInt  first, ranks; /* whose gradients are averaged here */
  PetscBool    weighted, ready;
  PetscOptions database;
} Run;

static PetscReal Weight(const Run *run, PetscMPIInt rank)
{
  return run->weighted == PETSC_TRUE ? (PetscReal)(1 + rank) : 1;
}

/* The mean of the gradients of some ranks, which the ranks of a node have one by one */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  Run         *run = (Run *)ctx;
  TestProblem *p   = &run->problem;
  PetscReal    sum = 0;
  PetscInt     step;

  PetscFunctionBegin;
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscMPIInt r = run->first; r < run->first + run->ranks; r++) sum += Weight(run, r);
  for (PetscInt l = p->n - 1; l >= 0; l--) {
    const PetscInt d = TestEntries(&p->shape[l]);
    PetscReal     *rows, *g;

    PetscCall(PetscMalloc1(d, &rows));
    PetscCall(PetscCalloc1(d, &g));
    PetscCall(TestGetWeights(p, l, rows));
    for (PetscMPIInt w = run->first; w < run->first + run->ranks; w++) {
      for (PetscInt e = 0; e < d; e++) {
        const PetscReal H = (PetscReal)(1 + (e + w) % 3) / 2, r = rows[e] - 2 * TestNumber(l, e, w, 7);

        *loss += Weight(run, w) / sum * H * r * r / 2;
        g[e] += Weight(run, w) * (H * r + TestNumber(l, e, w, 100 + step) / 4);
      }
    }
    for (PetscInt e = 0; e < d; e++) g[e] /= sum;
    PetscCall(TestSetGradient(p, l, g));
    if (run->ready == PETSC_TRUE) PetscCall(MuonLayerGradientReady(p->layer[l]));
    PetscCall(PetscFree(rows));
    PetscCall(PetscFree(g));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* node: ranks of a node that are to be one worker, as an option has it, or NULL where a rank has the mean of so many */
static PetscErrorCode Create(MPI_Comm comm, const char options[], const char node[], PetscMPIInt ranks, Run *run)
{
  TestProblem *p = &run->problem;

  PetscFunctionBegin;
  PetscCall(TestCreate(comm, MUONDENSE, TEST_LAYERS, TestShapes, -1, p));
  run->ranks    = ranks;
  run->first    = p->rank * ranks;
  run->weighted = strstr(options, "-weighted") != NULL ? PETSC_TRUE : PETSC_FALSE;
  run->ready    = strstr(options, "-ready") != NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MuonSetObjectiveAndGradient(p->muon, Objective, run));
  for (PetscInt l = 0; l < p->n && strstr(options, "downlink step") != NULL; l++) {
    MuonLMO lmo;

    PetscCall(MuonLayerGetLMO(p->layer[l], &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOL21));
  }
  if (run->weighted == PETSC_TRUE) {
    PetscReal sum = 0;

    for (PetscMPIInt r = run->first; r < run->first + ranks; r++) sum += Weight(run, r);
    PetscCall(MuonSetWorkerWeight(p->muon, sum));
  }
  run->database = NULL;
  if (options[0] != '\0') {
    PetscCall(PetscOptionsCreate(&run->database));
    PetscCall(PetscOptionsInsertString(run->database, options));
    PetscCall(PetscObjectSetOptions((PetscObject)p->muon, run->database));
  }
  PetscCall(MuonSetFromOptions(p->muon));
  if (node != NULL) PetscCall(MuonSetParameter(p->muon, "muon_node_size", node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Run *run)
{
  PetscFunctionBegin;
  PetscCall(TestDestroy(&run->problem));
  PetscCall(PetscOptionsDestroy(&run->database));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bits up and down of all ranks */
static PetscErrorCode GetSent(TestProblem *p, PetscLogDouble sent[2])
{
  MuonTraffic    traffic;
  PetscLogDouble mine[2];

  PetscFunctionBegin;
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  mine[0] = traffic.total_up[1];
  mine[1] = traffic.total_down[1];
  PetscCallMPI(MPI_Allreduce(mine, sent, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)p->muon)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckCosts(TestProblem *p, TestProblem *q, const char options[])
{
  const MuonExchangeType types[] = {MUONEXCHANGESTAR, MUONEXCHANGELAYERWISE, MUONEXCHANGEREPLICATED};

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    MuonCost  one, other;
    PetscBool legal[2];

    PetscCall(MuonGetCost_Private(p->muon, types[t], MUON_EXCHANGE_MODE_GATHER, &one, &legal[0]));
    PetscCall(MuonGetCost_Private(q->muon, types[t], MUON_EXCHANGE_MODE_GATHER, &other, &legal[1]));
    /* Owners are balanced among the layers of one home, and homes send arrays, layer by layer, side by side */
    PetscCheck(legal[0] == legal[1] && (t == 1 || PetscAbsReal((PetscReal)(one.bytes - other.bytes)) <= 1e-6 * other.bytes) &&
                 (one.rounds == other.rounds || ((p->muon->group[0]->arrays[0] || p->muon->group[0]->arrays[1]) && one.rounds < other.rounds)),
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %g bytes in %g rounds are predicted, expected %g in %g", options, types[t], one.bytes, one.rounds, other.bytes, other.rounds);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOf(const char options[], const char node[], PetscMPIInt ranks, MPI_Comm across)
{
  static int     count = 0;
  char           folder[32];
  Run            a, b, c;
  PetscReal      difference, loss[2], all;
  PetscLogDouble sent[2][2];
  PetscBool      local = strstr(options, "local") != NULL ? PETSC_TRUE : PETSC_FALSE, votes = strstr(options, "sign") != NULL ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "nodes%d", count++));
  PetscCall(Create(PETSC_COMM_WORLD, options, node, 1, &a));
  PetscCall(Create(across, options, NULL, ranks, &b));
  PetscCall(Create(PETSC_COMM_WORLD, options, node, 1, &c));
  for (PetscInt s = 0; s < STEPS; s++) {
    PetscCall(MuonStep(a.problem.muon));
    PetscCall(MuonStep(b.problem.muon));
    PetscCall(MuonGetLoss(a.problem.muon, &loss[0]));
    PetscCall(MuonGetLoss(b.problem.muon, &loss[1]));
    PetscCheck(PetscAbsReal(loss[0] - loss[1]) <= 4096 * PETSC_MACHINE_EPSILON * loss[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: loss %g, expected %g", options, (double)loss[0], (double)loss[1]);
    PetscCall(TestCompareWeights(&a.problem, &b.problem, &difference));
    PetscCallMPI(MPI_Allreduce(&difference, &all, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
    PetscCheck(all <= 4096 * PETSC_MACHINE_EPSILON, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s in nodes of %s: weights differ by %g after step %" PetscInt_FMT " from those of one worker a node", options, node, (double)all, s);
    if (local == PETSC_FALSE) PetscCall(TestCheckReplicas(&a.problem, options, s));
    if (s == 1) PetscCall(MuonSaveCheckpoint(a.problem.muon, folder, 1));
  }
  /* What goes from node to node is what one worker a node sends; votes on the layers of each home have headers of their own */
  PetscCall(GetSent(&a.problem, sent[0]));
  PetscCall(GetSent(&b.problem, sent[1]));
  for (int d = 0; d < 2 && b.problem.size > 1; d++)
    PetscCheck(PetscAbsReal((PetscReal)(sent[0][d] - sent[1][d])) <= (votes ? 0.1 * sent[1][d] : 0), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %g bits %s, expected %g", options, sent[0][d], d ? "down" : "up", sent[1][d]);
  if (local == PETSC_FALSE && votes == PETSC_FALSE) PetscCall(CheckCosts(&a.problem, &b.problem, options));
  /* Goes on with a checkpoint, bit for bit */
  PetscCall(MuonLoadCheckpoint(c.problem.muon, folder));
  for (PetscInt s = 2; s < STEPS; s++) PetscCall(MuonStep(c.problem.muon));
  PetscCall(TestCompareWeights(&a.problem, &c.problem, &difference));
  PetscCheck(difference == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: weights differ by %g after a restart", options, (double)difference);
  /* On other workers each gets the mean of what these had */
  PetscCall(Destroy(&a));
  PetscCall(Create(PETSC_COMM_WORLD, options, "1", 1, &a));
  if (strstr(options, "aggregate_error") != NULL) {
    PetscCall(MuonLoadCheckpoint(a.problem.muon, folder));
    PetscCall(MuonStep(a.problem.muon));
    PetscCall(TestCheckReplicas(&a.problem, options, STEPS));
  }
  PetscCall(Destroy(&a));
  PetscCall(Destroy(&b));
  PetscCall(Destroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const ways[]   = {"-muon_type dense -muon_rule_match gain:adamw -ready",
                                "-muon_type dense -muon_exchange_mode allreduce -muon_momentum_style sgd -muon_nesterov sgd -muon_clip 1 -muon_clip_layers all -weighted",
                                "-muon_type dense -muon_exchange_type replicated -muon_rule_match gain:adamw,row:frozen",
                                "-muon_type ef21 -muon_rule_match gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_aggregate_error_interval 2",
                                "-muon_type ef21 -muon_exchange_type star -muon_exchange_mode gather -ef21_compressor randk -ef21_compressor_ratio 0.4 -ef21_init gradient -weighted",
                                "-muon_type ef21 -ef21_downlink step -muon_clip 1 -muon_clip_layers all",
                                "-muon_type ef21 -ef21_compressor topk -muon_delay 1 -muon_delay_correction -muon_rule_match gain:adamw",
                                "-muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.4 -muon_exchange_type replicated",
                                "-muon_type sign -sign_tie random -muon_rule_match gain:adamw,row:adamw,embed:sgd",
                                "-muon_type local -local_steps 3 -local_stagger -outer_muon_type ef21 -outer_ef21_compressor topk -muon_rule_match gain:adamw",
                                "-muon_type local -local_steps 1 -outer_muon_delay 1 -weighted"};
  char              node[32] = "2";
  PetscMPIInt       size, rank, ranks;
  MPI_Comm          across;
  PetscBool         once, differs;
  Run               run;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-node", node, sizeof(node), NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-once", &once));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-differs", &differs));
  ranks = strcmp(node, "auto") == 0 ? size : (PetscMPIInt)atoi(node);
  if (once) {
    PetscCall(Create(PETSC_COMM_WORLD, "", differs && rank == 0 ? "1" : node, 1, &run));
    PetscCall(MuonStep(run.problem.muon));
    PetscCall(MuonView(run.problem.muon, NULL));
    PetscCall(Destroy(&run));
  } else {
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % ranks, rank, &across));
    for (size_t k = 0; k < (ranks < size ? PETSC_STATIC_ARRAY_LENGTH(ways) : 4); k++) PetscCall(TestOf(ways[k], node, ranks, across));
    PetscCallMPI(MPI_Comm_free(&across));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: 4

  test:
    suffix: auto
    nsize: 3
    args: -node auto

  testset:
    nsize: 4
    test:
      suffix: view
      requires: double
      args: -once -muon_type ef21 -ef21_compressor topk -muon_rule_match gain:adamw
      filter: grep -E -e node -e "^    (h0|row|gain|embed)"
    table: suffix | args | error
      divisor | -once -node 3                       | -muon_node_size 3: a node has 4 of the optimizer's ranks, expected a divisor of them
      rows    | -once -muon_exchange_type rows      | -muon_node_size with -muon_exchange_type rows
      zero    | -once -node 0                       | -muon_node_size 0. must be
      differs | -once -differs                      | -muon_node_size 1 on rank 0 and 2 on rank 1

TEST*/
