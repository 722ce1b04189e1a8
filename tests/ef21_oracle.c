static char help[] = "Writes the beginning and the end of a run of EF21-Muon or classic error feedback, for tests/oracle/ef21.py to do again.\n";

#include "ef21_dump.h"

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(DumpRun(MUONEF21));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    requires: numpy
    oracle: ef21.py
    # Natural values are powers of two, whose ties a second computation cannot break alike once a norm divided by their sum: they come on top of a whole first gradient, or without a selection
    test:
      suffix: topk
      nsize: {{1 2 3 4}}
      args: -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values natural -muon_schedule linear -muon_seed 11
    test:
      suffix: gradient
      nsize: {{1 2 3 4}}
      args: -ef21_init gradient -ef21_compressor topk -ef21_compressor_ratio 0.2 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values natural
      args: -muon_momentum 0.5 -muon_schedule trapezoid -muon_schedule_constant 0.4 -muon_shape_factor scion
    # Decay in the gradients of workers, or where steps do not lead away from zero, as weights and as steps; gradients of workers clipped
    test:
      suffix: decay
      nsize: 2
      args: -ef21_compressor_rules all -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.6 -muon_weight_decay 0.7 -muon_weight_decay_style {{coupled cautious}}
      args: -muon_rule_match "gain:adamw,embed:sgd" -muon_clip 0.5 -muon_clip_layers {{others all}} -muon_adamw_learning_rate 0.004 -muon_momentum_warmup 7
    test:
      suffix: cautious_step
      nsize: {{1 3}}
      args: -ef21_downlink step -lmo_type l1 -muon_learning_rate 0.05 -muon_weight_decay 0.7 -muon_weight_decay_style cautious
    test:
      suffix: natural
      nsize: {{2 3}}
      args: -ef21_init {{zero gradient}} -ef21_compressor natural -ef21_server_compressor natural -muon_momentum 0.5 -muon_schedule cosine -muon_schedule_warmup 5 -muon_shape_factor moonlight -muon_seed -3
      args: -muon_layer_row_lmo_type frobenius -muon_layer_embed_lmo_type frobenius
    # Rank-K on the way down only where singular values differ: the first shift of a spectral layer is a multiple of a polar factor
    test:
      suffix: rankk
      nsize: {{1 3}}
      args: -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native -ef21_compressor_svd_type lapack -muon_momentum 0 -muon_weight_decay 0.1 -muon_shape_factor kj -muon_schedule linear
      args: -ef21_server_compressor topk -ef21_server_compressor_values double -ef21_server_compressor_ratio 0.4 -muon_layer_embed_lmo_type frobenius -muon_layer_embed_ef21_server_compressor rankk
      args: -muon_layer_embed_ef21_server_compressor_rank 2
    # Nothing is compressed in one direction
    test:
      suffix: up
      nsize: 2
      args: -ef21_init {{zero gradient}} -ef21_compressor topk -ef21_compressor_ratio 0.1 -ef21_compressor_values double -ef21_server_compressor identity -muon_exchange_type {{star layerwise replicated}}
    test:
      suffix: down
      nsize: 2
      args: -ef21_compressor identity -ef21_server_compressor topk -ef21_server_compressor_ratio 0.1 -muon_exchange_mode {{reduce gather}} -muon_exchange_type star
    # The servers send the steps themselves; a matrix whose rows and columns have no gradient at all is in tests/ef21_downlink.c
    test:
      suffix: downlink
      nsize: {{1 3}}
      args: -ef21_downlink step -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -muon_weight_decay 0.1 -muon_schedule linear -muon_exchange_type {{star layerwise replicated}}
      args: -muon_layer_h0.attn_lmo_type nuclear -muon_layer_h0.up_lmo_type rowsum -muon_layer_h0.down_lmo_type colsum -muon_layer_row_lmo_type l1 -muon_layer_gain_lmo_type l21 -muon_layer_embed_lmo_type l21 -steps 12
    # bfloat16
    test:
      suffix: bf16
      nsize: 4
      args: -ef21_init gradient -ef21_compressor topk -ef21_compressor_ratio 0.2 -ef21_compressor_values bf16 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values bf16
    # Nodes of ranks, each of which is one worker with their mean gradient
    test:
      suffix: nodes
      nsize: 4
      args: -muon_node_size 2 -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values double
      args: -muon_rule_match "gain:adamw" -muon_adamw_learning_rate 0.004 -muon_schedule linear
    # Each layer its own settings and rules
    test:
      suffix: mixed
      nsize: {{1 2 3 4}}
      args: -muon_schedule constant -ef21_compressor_rules all -ef21_compressor topk -ef21_compressor_ratio 0.25 -ef21_compressor_values native -ef21_server_compressor natural -muon_momentum 0.8 -muon_shape_factor scion -muon_learning_rate 0.03
      args: -muon_layer_h0.attn_momentum 0.3 -muon_layer_h0.up_scale 2.5 -muon_layer_h0.up_ef21_compressor_ratio 0.5 -muon_layer_h0.down_shape_factor none -muon_layer_h0.down_weight_decay 0.2
      args: -muon_layer_row_rule sgd -muon_layer_row_scale 3 -muon_adamw_learning_rate 0.03 -muon_layer_gain_rule adamw -muon_layer_gain_adamw_beta1 0.8 -muon_layer_embed_rule nadamw -muon_layer_embed_weight_decay 0.05
    # Layers that are cut into blocks: rows, columns, both, a vector, and a rule that has no norm
    test:
      suffix: blocks
      nsize: {{1 3}}
      args: -ef21_compressor_rules all -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values native -ef21_server_compressor natural -muon_shape_factor scion -muon_weight_decay 0.05 -muon_seed 4 -muon_layer_row_rule sgd
      args: -muon_layer_h0.attn_blocks_columns 2,1,3 -muon_layer_h0.up_blocks_rows 2,4,3 -muon_layer_h0.down_blocks_rows 1,3 -muon_layer_h0.down_blocks_columns 4,5 -muon_layer_row_blocks_columns 3,4
      args: -muon_layer_gain_blocks_rows 5,6 -muon_layer_embed_blocks_rows 7,3
    # Random entries, rows and columns, by norms of one layer or of all
    test:
      suffix: lines
      nsize: {{1 3}}
      args: -ef21_init gradient -ef21_compressor columntopk -ef21_compressor_ratio 0.5 -ef21_compressor_values double -ef21_compressor_line_norm 1 -ef21_server_compressor randk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values native
      args: -muon_layer_h0.up_ef21_compressor rowtopk -muon_layer_h0.up_ef21_compressor_line_norm inf -muon_layer_h0.down_ef21_compressor_line_norm 3 -muon_layer_h0.down_ef21_compressor_ratio 0.2
      args: -muon_layer_embed_ef21_compressor randk -muon_layer_embed_ef21_compressor_values natural -muon_layer_row_ef21_compressor randk -muon_seed 7 -muon_layer_h0.attn_blocks_columns 2,1,3 -muon_layer_embed_blocks_rows 7,3
    # A multiple, all or nothing, and every entry in fewer bits
    test:
      suffix: dense
      nsize: {{1 3}}
      args: -ef21_compressor damping -ef21_compressor_ratio 0.7 -ef21_compressor_values native -ef21_server_compressor dropout -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values double -muon_momentum 0.5 -muon_seed 3
      args: -muon_layer_h0.up_ef21_compressor bf16 -muon_layer_h0.down_ef21_compressor dropout -muon_layer_embed_ef21_server_compressor damping -muon_layer_embed_ef21_server_compressor_values bf16
      args: -muon_layer_row_ef21_compressor nearest -muon_layer_gain_ef21_compressor truncated -muon_layer_row_ef21_server_compressor_ratio 0.9 -muon_layer_row_lmo_type frobenius -muon_layer_embed_lmo_type frobenius
    # The rows of all layers on the ranks of workers, two or all of them: each rank's rows are compressed as a matrix of their own, norms and radii are of the whole layer
    test:
      suffix: shards
      nsize: 4
      args: -ef21_compressor_rules all -shards {{2 4}} -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values natural
      args: -muon_shape_factor scion -muon_weight_decay 0.05 -muon_seed 4 -steps 12
      args: -muon_assembly {{allgather owner}} -muon_layer_h0.up_blocks_rows 2,4,3 -muon_layer_h0.down_blocks_rows 1,3 -muon_layer_h0.down_blocks_columns 4,5 -muon_layer_row_rule sgd -muon_layer_embed_rule adamw
    test:
      suffix: shards_gradient
      nsize: 4
      args: -shards {{2 4}} -ef21_init gradient -ef21_compressor topk -ef21_compressor_ratio 0.2 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values natural
      args: -muon_momentum 0.5 -muon_schedule trapezoid -muon_schedule_constant 0.4 -muon_exchange_type replicated -muon_seed 11
    test:
      suffix: shards_clip
      nsize: 4
      args: -shards 2 -ef21_compressor natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_server_compressor_values double -muon_clip 0.5 -muon_clip_layers {{others all}} -muon_rule_match "gain:adamw,embed:sgd"
      args: -muon_layer_row_lmo_type frobenius -muon_exchange_type {{star replicated}} -muon_momentum 0.5
    test:
      suffix: shards_rankk
      nsize: 4
      args: -shards {{2 4}} -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native -ef21_compressor_svd_type lapack -muon_momentum 0 -muon_weight_decay 0.1 -muon_shape_factor kj -muon_schedule linear
      args: -ef21_server_compressor topk -ef21_server_compressor_values double -ef21_server_compressor_ratio 0.4 -muon_layer_embed_lmo_type frobenius -steps 12
    # SOAP has the covariance of what the server has: estimates, or with its momentum the gradient that these are of
    test:
      suffix: soap
      nsize: {{1 3}}
      args: -muon_rule_match "gain:adamw,row:sgd,embed:adamw" -ef21_compressor natural -ef21_server_compressor topk -ef21_server_compressor_values double -muon_momentum_at {{worker server}} -muon_layer_before soap -muon_layer_before_soap_interval 2
    test:
      suffix: soap_shards
      nsize: 4
      args: -shards 2 -muon_rule_match "gain:adamw,row:sgd,embed:adamw" -ef21_compressor natural -ef21_server_compressor topk -muon_layer_before soap -muon_layer_before_soap_interval 2
    # By the sharp operator, in all norms, on ranks that have rows of them, with blocks, as messages; a layer of its own mind
    test:
      suffix: sharp
      nsize: 3
      args: -muon_step sharp -muon_learning_rate 0.02 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values double -ef21_server_compressor damping -ef21_server_compressor_ratio 0.8 -ef21_server_compressor_values double
      args: -muon_shape_factor scion -muon_weight_decay 0.1 -muon_layer_h0.up_lmo_type column -muon_layer_h0.down_lmo_type row -muon_layer_embed_lmo_type l1 -muon_layer_h0.attn_scale 0.7 -muon_layer_gain_blocks_rows 5,6
      args: -lmo_polar_type svd -muon_layer_row_step lmo
    test:
      suffix: sharp_norms
      nsize: 4
      args: -shards 2 -muon_step sharp -muon_learning_rate 0.02 -ef21_init gradient -ef21_compressor randk -ef21_compressor_ratio 0.5 -ef21_compressor_values double -muon_seed 5 -steps 12 -muon_assembly {{allgather owner}}
      args: -muon_layer_h0.attn_lmo_type schatten -lmo_schatten_exponent 3 -muon_layer_h0.up_lmo_type nuclear -muon_layer_h0.down_lmo_type mixed -lmo_mixed_exponent_p 3 -lmo_mixed_exponent_q 1.5 -muon_layer_h0.up_scale 1.5
      args: -muon_layer_row_lmo_type rowsum -muon_layer_gain_lmo_type l21 -muon_layer_embed_lmo_type colsum
    test:
      suffix: sharp_downlink
      nsize: 3
      args: -muon_step sharp -ef21_downlink step -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -muon_schedule linear -muon_exchange_type star -muon_weight_decay 0.1
      args: -muon_layer_h0.attn_lmo_type nuclear -muon_layer_h0.up_lmo_type rowsum -muon_layer_h0.down_lmo_type colsum -muon_layer_row_lmo_type l1 -muon_layer_gain_lmo_type l21 -muon_layer_embed_lmo_type l21 -steps 12
    # The style sgd, a layer that is frozen, a step that is never taken
    test:
      suffix: sgd
      nsize: 3
      args: -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values bf16 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -muon_momentum_style sgd -muon_dampening 0.25 -muon_momentum 0.6
      args: -muon_layer_h0.down_rule frozen -muon_learning_rate 0.05
    # Estimates of gradients, of which the server makes a momentum
    test:
      suffix: server
      nsize: 3
      args: -muon_momentum_at server -ef21_init {{zero gradient}} -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5
      args: -muon_weight_decay 0.3 -muon_weight_decay_style coupled -muon_momentum 0.7 -steps 12

  # What a message leaves out is added to the next gradient
  testset:
    requires: numpy
    oracle: ef21.py
    args: -muon_type ef14 -steps 12
    test:
      suffix: ef14
      nsize: {{1 2 3 4}}
      args: -ef14_compressor topk -ef14_compressor_ratio 0.6 -ef14_server_compressor topk -ef14_server_compressor_ratio 0.3 -ef14_server_compressor_values double -muon_schedule linear -ef14_feedback 0.5 -ef14_compressor_values double
    test:
      suffix: ef14_feedback
      nsize: 3
      args: -ef14_compressor topk -ef14_compressor_ratio 0.4 -ef14_feedback {{1 0}} -ef14_compressor_values bf16 -muon_exchange_type star
    test:
      suffix: ef14_worker
      nsize: 3
      args: -muon_schedule constant -muon_momentum_at worker -muon_momentum 0.5 -ef14_compressor natural -ef14_server_compressor natural -muon_seed -3 -muon_weight_decay 0.3 -muon_weight_decay_style coupled -muon_clip 0.5 -muon_clip_layers all
      args: -muon_layer_row_lmo_type frobenius -muon_layer_embed_lmo_type frobenius -muon_exchange_type star
    # Each layer its own settings and optimizer; what is not compressed sends single beside the others
    test:
      suffix: ef14_mixed
      nsize: 2
      args: -ef14_compressor topk -ef14_compressor_ratio 0.25 -ef14_compressor_values double -ef14_server_compressor natural -ef14_compressor_min_entries 8 -muon_nesterov ema -muon_layer_h0.up_ef14_compressor_ratio 0.5 -muon_learning_rate 0.03
      args: -muon_layer_h0.attn_ef14_compressor rankk -muon_layer_h0.attn_ef14_compressor_rank 2 -muon_layer_h0.attn_ef14_compressor_values native -muon_layer_h0.attn_ef14_compressor_svd_type lapack
      args: -muon_layer_h0.down_rule frozen -muon_layer_gain_rule adamw -muon_layer_embed_rule sgd -muon_layer_embed_ef14_compressor randk -muon_layer_embed_ef14_compressor_ratio 0.5 -muon_layer_embed_ef14_compressor_values double
    test:
      suffix: ef14_clip
      nsize: 3
      args: -ef14_compressor_rules all -ef14_compressor topk -ef14_compressor_ratio 0.6 -ef14_compressor_values double -muon_clip 0.5 -muon_clip_layers all -muon_exchange_type replicated -muon_rule_match "gain:adamw,embed:sgd"
    test:
      suffix: ef14_step
      nsize: 3
      args: -ef14_downlink step -lmo_type l1 -muon_learning_rate 0.05 -ef14_compressor topk -ef14_compressor_ratio 0.4 -ef14_compressor_values double
    test:
      suffix: ef14_shards
      nsize: 4
      args: -ef14_compressor_rules all -shards 2 -ef14_compressor topk -ef14_compressor_ratio 0.4 -ef14_compressor_values double -ef14_server_compressor topk -ef14_server_compressor_ratio 0.3 -ef14_server_compressor_values double
      args: -muon_shape_factor scion -muon_seed 4 -muon_layer_h0.up_blocks_rows 2,4,3 -muon_layer_row_rule sgd -muon_layer_embed_rule adamw
    # A step late, beside layers that are not
    test:
      suffix: late
      nsize: {{1 2}}
      args: -muon_type ef21 -muon_delay 1 -muon_schedule linear -muon_momentum_warmup 7 -muon_weight_decay 0.3 -muon_rule_match "gain:adamw,embed:sgd" -muon_adamw_learning_rate 0.004
    test:
      suffix: late_topk
      nsize: 3
      args: -muon_type ef21 -muon_delay 1 -ef21_init {{zero gradient}} -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3
      args: -ef21_server_compressor_values double -muon_schedule linear -muon_rule_match "gain:adamw" -muon_adamw_learning_rate 0.004
    test:
      suffix: late_ef14
      nsize: 3
      args: -muon_delay 1 -muon_delay_correction {{false true}} -muon_nesterov ema -muon_learning_rate 0.1 -ef14_compressor topk -ef14_compressor_ratio 0.6 -ef14_compressor_values double -ef14_server_compressor topk
      args: -ef14_server_compressor_ratio 0.6 -ef14_server_compressor_values double -lmo_type frobenius -muon_schedule linear
    test:
      suffix: late_spread
      nsize: 4
      args: -muon_type ef21 -muon_delay 1 -muon_delay_correction -shards 2 -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -muon_schedule linear

  test:
    suffix: ef14_range
    args: -muon_type ef14 -ef14_feedback 1.5
    error: -ef14_feedback 1.5

TEST*/
