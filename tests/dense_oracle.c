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
    table: suffix | nsize | args
      kj       | {{1 2 3 4 7}} | -muon_nesterov ema -muon_momentum 0.95 -muon_shape_factor kj -muon_weight_decay 0.1
      exchange | 3             | -muon_nesterov ema -muon_exchange_type {{star layerwise}} -muon_exchange_mode {{reduce gather}} -muon_schedule cosine
    test:
      suffix: replicated
      nsize: 4
      args: -muon_exchange_type replicated -muon_exchange_mode {{allreduce gather}} -muon_schedule trapezoid -muon_schedule_constant 0.25 -muon_schedule_warmup 4
    test:
      suffix: moonlight
      nsize: 2
      args: -muon_momentum_style sgd -muon_nesterov sgd -muon_shape_factor moonlight -muon_weight_decay 0.1 -muon_momentum 0.9 -muon_schedule linear
    table: suffix | nsize | args
      undamped  | 2 | -muon_nesterov undamped -muon_shape_factor scion -muon_learning_rate 0.01
      worker    | 3 | -muon_momentum_at worker -muon_momentum_style {{ema sgd}} -muon_dampening 0.3 -muon_momentum 0.7
      dampening | 2 | -muon_momentum_style sgd -muon_dampening 0.5 -muon_nesterov {{none sgd}} -muon_momentum {{0 0.7}}
    test:
      suffix: sharp
      nsize: 4
      args: -muon_step sharp -muon_nesterov ema -muon_momentum 0.9 -muon_learning_rate 0.02 -muon_exchange_type replicated -muon_layer_h0.up_lmo_type row
    # Every worker gets the sums, one uses each
    test:
      suffix: owners
      nsize: {{1 3 4}}
      args: -muon_nesterov ema -muon_exchange_type layerwise -muon_exchange_mode allreduce -muon_exchange_assignment roundrobin
    test:
      suffix: decay
      nsize: 2
      args: -muon_nesterov ema -muon_weight_decay 0.7 -muon_weight_decay_style {{coupled cautious}} -muon_rule_match "gain:adamw,emb*:nadamw,row:sgd" -muon_sgd_weight_decay 0.2 -muon_momentum_at server
    test:
      suffix: decay_worker
      nsize: 3
      args: -muon_momentum_at worker -muon_weight_decay 0.7 -muon_weight_decay_style {{coupled cautious}} -muon_state_precision native -muon_layer_gain_rule sgd
    test:
      suffix: warmup
      nsize: 2
      args: -muon_nesterov {{none ema}} -muon_momentum 0.95 -muon_momentum_warmup {{1 12}} -muon_momentum_warmup_start 0.5 -muon_schedule {{linear cosine}} -muon_schedule_minimum 0.25 -muon_schedule_warmup 5
    test:
      suffix: warmup_sgd
      nsize: 2
      args: -muon_momentum_at worker -muon_momentum_style sgd -muon_momentum 0 -muon_momentum_warmup 9
    # The mean gradient of some layers or all, summed by MPI or from messages, on every rank or one
    test:
      suffix: clip
      nsize: {{1 4}}
      args: -muon_nesterov undamped -muon_clip 0.5 -muon_clip_layers {{others all}} -muon_exchange_mode {{reduce gather}} -muon_rule_match "gain:adamw,embed:sgd" -muon_weight_decay 0.1 -muon_weight_decay_style coupled
    # What goes down is rounded, at its owner too
    test:
      suffix: single
      nsize: {{1 3}}
      args: -muon_downlink_precision single -muon_exchange_type {{layerwise star}} -muon_nesterov ema -muon_layer_gain_rule adamw -muon_weight_decay 0.1
      oracle: dense.py single
    table: suffix | nsize | args
      clip_replicated | 3 | -muon_clip 0.5 -muon_clip_layers all -muon_exchange_type replicated -muon_layer_gain_rule sgd
      clip_worker     | 3 | -muon_momentum_at worker -muon_clip 0.5 -muon_clip_layers {{others all}} -muon_rule_match "gain:adamw,embed:sgd"
    # Rates that are no multiples of each other, for rules, layers and all others
    test:
      suffix: rates
      nsize: 2
      args: -muon_learning_rate 0.03 -muon_adamw_learning_rate 0.004 -muon_adamw_weight_decay 0.5 -muon_sgd_learning_rate 0.2 -muon_layer_h0.up_learning_rate 0.05 -muon_schedule linear -muon_weight_decay 0.1
      args: -muon_rule_match "gain:adamw,embed:nadamw,row:sgd" -muon_layer_embed_learning_rate 0.01 -muon_adamw_beta1 0.8 -muon_adamw_beta2 0.9 -muon_adamw_epsilon 1e-3 -muon_layer_embed_adamw_beta1 0.6
    test:
      suffix: rules
      nsize: {{1 3}}
      args: -muon_nesterov ema -muon_layer_h0.attn_rule frozen -muon_layer_row_rule sgd -muon_layer_row_scale 3 -muon_layer_row_weight_decay 0.3 -muon_layer_gain_rule adamw -muon_layer_gain_adamw_beta1 0.8
      args: -muon_layer_gain_adamw_epsilon 1e-3 -muon_layer_embed_rule nadamw -muon_layer_embed_weight_decay 0.05 -muon_layer_embed_adamw_beta2 0.9 -muon_layer_embed_scale 2 -muon_layer_h0.up_momentum 0.2 -muon_layer_h0.down_momentum 0
      args: -muon_schedule linear

  # Covariances of full rank, or a null space of one dimension: the eigenvectors are unique
  testset:
    requires: numpy
    oracle: dense.py
    args: -muon_weight_decay 0.1
    testset:
      args: -muon_rule_match "gain:adamw,row:sgd,embed:adamw" -muon_layer_before soap
      table: suffix | nsize | args
        soap        | {{1 3}} | -muon_nesterov ema -muon_layer_before_soap_interval {{1 3}} -muon_layer_before_soap_basis {{eigen qr}}
        soap_blocks | 2       | -muon_momentum_at worker -muon_layer_before_beta 0.8 -muon_layer_before_soap_interval 2 -muon_layer_h0.up_blocks_rows 2,4,3
        soap_rows   | 3       | -muon_layer_before_soap_interval 2 -muon_exchange_type rows -muon_assembly {{allgather owner}}
    test:
      suffix: before
      nsize: {{1 2}}
      args: -muon_rule_match "gain:adamw" -muon_layer_before_beta 0.9 -muon_layer_h0.up_before rows -muon_layer_h0.down_before columns -muon_layer_h0.attn_before entries -muon_exchange_type {{layerwise rows}}
    test:
      suffix: soap_rule
      nsize: {{1 2}}
      args: -muon_rule_match "gain:adamw,row:sgd,h0.*:soap" -muon_adamw_learning_rate 0.01 -muon_layer_h0.down_blocks_columns 4,5 -muon_layer_h0.up_blocks_rows 4,5
      args: -muon_layer_h0.up_soap_interval 3 -muon_layer_h0.attn_soap_interval 1 -muon_layer_h0.attn_soap_basis qr -muon_weight_decay_style {{decoupled cautious}}

  # By name. With gradients so large the tiny numbers that are added to norms are far below rounding
  testset:
    requires: numpy
    args: -lmo_polar_precision double -scale 1e9 -steps 150 -muon_rule_match "h0.*:lmo,*:adamw"
    table: suffix | nsize | args | oracle
      preset_kj    | {{1 3}} | -muon_preset kj    | published.py kj
      preset_torch | {{1 3}} | -muon_preset torch | published.py numpy
    test:
      suffix: preset_torch_itself
      requires: torch
      nsize: 2
      args: -muon_preset torch
      oracle: published.py torch

  # What presets distribute changes nothing, with exact polar factors and rows that nobody rounds
  testset:
    requires: numpy
    oracle: dense.py
    args: -lmo_polar_type svd -muon_learning_rate 0.05
    table: suffix | nsize | args | oracle
      preset_rows     | {{1 2 3}} | -muon_preset {{moonlight motif}} -muon_assembly_precision native |
      preset_bf16     | {{1 2 3}} | -muon_preset {{moonlight motif}}                                 | dense.py bf16
      preset_bucketed | {{1 2 3}} | -muon_preset algoperf-bucketed                                   |

TEST*/
