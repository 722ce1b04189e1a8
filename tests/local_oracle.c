static char help[] = "Writes the beginning and the end of a run of local steps, for tests/oracle/ef21.py to do again.\n";

#include "ef21_dump.h"

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(DumpRun(MUONLOCAL));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    requires: numpy
    oracle: ef21.py
    # Rounds of one and more steps, the last one whole or not, with the outer momentum of MuLoCo and without
    test:
      suffix: dense
      nsize: {{1 2 3}}
      args: -local_steps {{1 3 5}} -muon_schedule linear -steps 20 -local_control {{false true}}
    test:
      suffix: plain
      nsize: 2
      args: -local_control {{false true}} -local_steps 4 -outer_muon_learning_rate 1 -outer_muon_momentum 0 -muon_rule_match "gain:adamw,embed:sgd" -muon_adamw_learning_rate 0.004 -steps 22
      args: -muon_nesterov ema -muon_weight_decay 0.7
    # EF21 of the ways both ways, error feedback that decays
    test:
      suffix: ef21
      nsize: {{1 3}}
      args: -local_control {{false true}} -lmo_type frobenius -local_steps 3 -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_compressor_ratio 0.6 -outer_ef21_compressor_values double
      args: -outer_ef21_server_compressor topk -outer_ef21_server_compressor_ratio 0.6 -outer_ef21_server_compressor_values double -steps 21
    test:
      suffix: ef14
      nsize: {{1 3}}
      args: -local_control {{false true}} -muon_schedule constant -lmo_type frobenius -local_steps 3 -outer_muon_type ef14 -outer_ef14_compressor topk -outer_ef14_compressor_ratio 0.4 -outer_ef14_compressor_values double -outer_ef14_feedback 0.95
      args: -outer_muon_momentum 0 -outer_muon_learning_rate 1 -steps 20
    # Layers after steps of their own, more of them than steps and fewer
    test:
      suffix: stagger
      nsize: 2
      args: -local_control {{false true}} -local_stagger -local_steps {{3 8}} -muon_rule_match "gain:adamw,row:frozen" -muon_adamw_learning_rate 0.004 -steps 21
    # Nodes of ranks take their inner steps together
    test:
      suffix: nodes
      nsize: 4
      args: -local_control -muon_node_size 2 -local_steps 3 -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_compressor_ratio 0.6 -outer_ef21_compressor_values double -lmo_type frobenius -steps 20
    # Rounds that come a round later
    test:
      suffix: delay
      nsize: 2
      args: -local_steps {{1 4}} -outer_muon_delay 1 -outer_muon_delay_correction -muon_schedule linear -steps 22
    test:
      suffix: delay_ef21
      nsize: 3
      args: -lmo_type frobenius -local_steps 3 -outer_muon_delay 1 -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_compressor_ratio 0.6 -outer_ef21_compressor_values double
      args: -outer_ef21_server_compressor topk -outer_ef21_server_compressor_ratio 0.6 -outer_ef21_server_compressor_values double -steps 21
    # Workers of two ranks
    test:
      suffix: spread
      nsize: 4
      args: -local_steps 3 -shards 2 -steps 20 -local_control {{false true}}

TEST*/
