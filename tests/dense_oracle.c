static char help[] = "Writes the beginning and the end of a run of Muon, for tests/oracle/dense.py to do again.\n";

#include "ef21_dump.h"

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(DumpRun(MUONDENSE));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    requires: numpy
    oracle: dense.py
    # K. Jordan's Muon; with 7 ranks there are more of them than layers
    test:
      suffix: kj
      nsize: {{1 2 3 4 7}}
      args: -muon_nesterov ema -muon_momentum 0.95 -muon_shape_factor kj -muon_weight_decay 0.1
    test:
      suffix: exchange
      nsize: 3
      args: -muon_nesterov ema -muon_exchange_type {{star layerwise}} -muon_exchange_mode {{reduce gather}} -muon_schedule cosine
    test:
      suffix: replicated
      nsize: 4
      args: -muon_exchange_type replicated -muon_exchange_mode {{allreduce gather}} -muon_schedule trapezoid -muon_schedule_constant 0.25 -muon_schedule_warmup 4
    test:
      suffix: moonlight
      nsize: 2
      args: -muon_momentum_style sgd -muon_nesterov sgd -muon_shape_factor moonlight -muon_weight_decay 0.1 -muon_momentum 0.9 -muon_schedule linear
    test:
      suffix: undamped
      nsize: 2
      args: -muon_nesterov undamped -muon_shape_factor scion -muon_learning_rate 0.01
    test:
      suffix: worker
      nsize: 3
      args: -muon_momentum_at worker -muon_momentum_style {{ema sgd}} -muon_dampening 0.3 -muon_momentum 0.7
    test:
      suffix: dampening
      nsize: 2
      args: -muon_momentum_style sgd -muon_dampening 0.5 -muon_nesterov {{none sgd}} -muon_momentum {{0 0.7}}
    test:
      suffix: rules
      nsize: {{1 3}}
      args: -muon_nesterov ema -muon_layer_h0.attn_rule frozen -muon_layer_row_rule sgd -muon_layer_row_scale 3 -muon_layer_row_weight_decay 0.3 -muon_layer_gain_rule adamw -muon_layer_gain_adamw_beta1 0.8
      args: -muon_layer_gain_adamw_epsilon 1e-3 -muon_layer_embed_rule nadamw -muon_layer_embed_weight_decay 0.05 -muon_layer_embed_adamw_beta2 0.9 -muon_layer_embed_scale 2 -muon_layer_h0.up_momentum 0.2 -muon_layer_h0.down_momentum 0
      args: -muon_schedule linear

TEST*/
