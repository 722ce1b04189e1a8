static char help[] = "Nodes of ranks that are one worker: predicted costs are those of one worker a node; what is shown and refused. equivalence compares their steps.\n\n";

#include "ef21_common.h"
#include <muon/addons/cost/muoncost.h>

/* node: ranks of a node that are to be one worker, as an option has it, or NULL */
static PetscErrorCode Create(MPI_Comm comm, const char node[], TestProblem *p)
{
  PetscFunctionBegin;
  PetscCall(TestCreate(comm, MUONDENSE, TEST_LAYERS, TestShapes, -1, p));
  PetscCall(MuonSetFromOptions(p->muon));
  if (node != NULL) PetscCall(MuonSetParameter(p->muon, "muon_node_size", node));
  PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckCosts(TestProblem *p, TestProblem *q)
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
  char        node[32] = "2";
  PetscMPIInt rank;
  MPI_Comm    across;
  PetscBool   costs, differs;
  TestProblem p, q;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-node", node, sizeof(node), NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-costs", &costs));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-differs", &differs));
  PetscCall(Create(PETSC_COMM_WORLD, differs && rank == 0 ? "1" : node, &p));
  if (costs) {
    PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, strcmp(node, "2") == 0 ? rank % 2 : rank, rank, &across));
    PetscCall(Create(across, NULL, &q));
    PetscCall(CheckCosts(&p, &q));
    PetscCall(TestDestroy(&q));
    PetscCallMPI(MPI_Comm_free(&across));
  } else PetscCall(MuonView(p.muon, NULL));
  PetscCall(TestDestroy(&p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  testset:
    args: -costs
    table: suffix | nsize | args
      dense      | 4 | -muon_type dense -muon_layer_types gain:adamw
      allreduce  | 4 | -muon_type dense -muon_exchange_mode allreduce
      replicated | 4 | -muon_type dense -muon_exchange_type replicated -muon_layer_types gain:adamw,row:frozen
      ef21       | 4 | -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4
      star       | 4 | -muon_type ef21 -muon_exchange_type star -muon_exchange_mode gather -ef21_compressor randk -ef21_compressor_ratio 0.4
      step       | 4 | -muon_type ef21 -ef21_downlink step -lmo_type l21
      delay      | 4 | -muon_type ef21 -ef21_compressor topk -muon_delay 1 -muon_delay_correction -muon_layer_types gain:adamw
      ef14       | 4 | -muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.4 -muon_exchange_type replicated
      auto       | 3 | -node auto -muon_type ef21 -muon_layer_types gain:adamw -ef21_compressor topk -ef21_compressor_ratio 0.4
      auto_dense | 3 | -node auto -muon_type dense -muon_exchange_mode {{allreduce reduce}}

  testset:
    nsize: 4
    table: suffix | requires | args | filter | error
      view    | double | -muon_type ef21 -ef21_compressor topk -muon_layer_types gain:adamw | grep -E -e node -e "^    (h0|row|gain|embed)" |
      divisor |        | -node 3                                                      |                                               | -muon_node_size 3: a node has 4 of the optimizer's ranks, expected a divisor of them
      rows    |        | -muon_exchange_type rows                                     |                                               | -muon_node_size with -muon_exchange_type rows
      zero    |        | -node 0                                                      |                                               | -muon_node_size 0. must be
      differs |        | -differs                                                     |                                               | -muon_node_size 1 on rank 0 and 2 on rank 1

TEST*/
