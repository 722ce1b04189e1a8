static char help[] = "Nodes of ranks that are one worker: predicted costs are those of one worker a node; what is shown and refused. equivalence compares their steps.\n\n";

#include "problem.h"
#include <muon/addons/cost/muoncost.h>

static PetscErrorCode CheckCosts(Problem *p, Problem *q)
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
                 (one.rounds == other.rounds || ((MuonShardSendsAsIs(p->muon->group[0]->shard) || MuonShardComesAsIs(p->muon->group[0]->shard)) && one.rounds < other.rounds)),
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes in %g rounds are predicted, expected %g in %g", types[t], one.bytes, one.rounds, other.bytes, other.rounds);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank;
  PetscBool   costs, differs;
  Problem     p, q;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-costs", &costs));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-differs", &differs));
  if (differs && rank == 0) PetscCall(PetscOptionsSetValue(NULL, "-muon_node_size", "1"));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonStep(p.muon));
  if (costs) {
    char node[8];

    /* One worker a node: a rank of each */
    PetscCall(MuonGetParameter(p.muon, "muon_node_size", node, sizeof(node)));
    PetscCall(PetscOptionsSetValue(NULL, "-problem_mean", strcmp(node, "auto") == 0 ? "0" : node));
    PetscCall(PetscOptionsSetValue(NULL, "-muon_node_size", "1"));
    PetscCall(ProblemCreate(&q, 0, 0));
    PetscCall(MuonStep(q.muon));
    PetscCall(CheckCosts(&p, &q));
    PetscCall(ProblemDestroy(&q));
  } else PetscCall(MuonView(p.muon, NULL));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  testset:
    args: -costs
    table: suffix | nsize | args
      dense      | 4 | -muon_node_size 2 -muon_type dense -muon_layer_types gain:adamw
      allreduce  | 4 | -muon_node_size 2 -muon_type dense -muon_exchange_mode allreduce
      replicated | 4 | -muon_node_size 2 -muon_type dense -muon_exchange_type replicated -muon_layer_types gain:adamw,row:frozen
      ef21       | 4 | -muon_node_size 2 -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4
      star       | 4 | -muon_node_size 2 -muon_type ef21 -muon_exchange_type star -muon_exchange_mode gather -ef21_compressor randk -ef21_compressor_ratio 0.4
      step       | 4 | -muon_node_size 2 -muon_type ef21 -ef21_downlink step -lmo_type l21
      delay      | 4 | -muon_node_size 2 -muon_type ef21 -ef21_compressor topk -muon_delay 1 -muon_delay_correction -muon_layer_types gain:adamw
      ef14       | 4 | -muon_node_size 2 -muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.4 -muon_exchange_type replicated
      auto       | 3 | -muon_node_size auto -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4
      auto_dense | 3 | -muon_node_size auto -muon_type dense -muon_exchange_mode {{allreduce reduce}}

  testset:
    nsize: 4
    table: suffix | requires | args | filter | error
      view    | double | -muon_node_size 2 -muon_type ef21 -ef21_compressor topk -muon_layer_types gain:adamw | grep -E -e node -e "^    (square|tall|wide|row|gain|embed)" |
      divisor |        | -muon_node_size 3                                                      |                                               | -muon_node_size 3: a node has 4 of the optimizer's ranks, expected a divisor of them
      rows    |        | -muon_node_size 2 -muon_exchange_type rows                                     |                                               | -muon_node_size with -muon_exchange_type rows
      zero    |        | -muon_node_size 0                                                      |                                               | -muon_node_size 0. must be
      differs |        | -muon_node_size 2 -differs                                                     |                                               | -muon_node_size 1 on rank 0 and 2 on rank 1

TEST*/
