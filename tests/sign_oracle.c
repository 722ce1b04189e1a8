static char help[] = "Writes the beginning and the end of a run of SignMuon, for tests/oracle/sign.py to do again.\n";

#include "ef21_dump.h"

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(DumpRun(MUONSIGN));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    requires: numpy
    oracle: sign.py
    args: -lmo_type spectral -lmo_polar_type svd -muon_learning_rate 0.01
    test:
      suffix: ways
      nsize: 3
      args: -sign_direction {{polar momentum gradient adam}} -sign_update {{none frobenius spectral polar}} -muon_shape_factor kj -muon_weight_decay 0.1 -sign_measure
    test:
      suffix: ties
      nsize: 4
      args: -sign_direction momentum -sign_tie {{plus minus zero random}} -sign_update {{none polar}} -muon_schedule cosine -muon_learning_rate 0.05 -muon_exchange_type star
    test:
      suffix: unseen
      nsize: {{1 4}}
      args: -unseen -noise 0 -sign_direction {{momentum gradient}} -sign_tie {{zero random}} -muon_seed 77 -muon_layer_h0.up_blocks_rows 3,4,2 -muon_exchange_type replicated -muon_exchange_mode {{gather allreduce}}
    test:
      suffix: rules
      nsize: {{1 2}}
      args: -muon_layer_h0.attn_rule frozen -muon_layer_row_rule sgd -muon_layer_embed_rule nadamw -muon_layer_gain_rule adamw -muon_layer_h0.up_scale 3 -muon_momentum_style sgd -muon_dampening 0.3
    test:
      suffix: blocks
      nsize: 3
      args: -muon_layer_h0.up_blocks_rows 3,4,2 -muon_layer_h0.down_blocks_columns 2,7 -sign_update {{none frobenius spectral polar}} -sign_direction {{polar momentum}} -muon_shape_factor scion
    test:
      suffix: cubic
      nsize: 2
      args: -lmo_polar_type newtonschulz -lmo_polar_coefficients cubic -lmo_polar_steps 40 -lmo_polar_precision double -lmo_polar_normalization {{frobenius spectral}}

TEST*/
