static char help[] = "Writes the settings and the end of a run of any type, for tests/oracle to do it again.\n";

#include "problem.h"
#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muonparameter.h>
#include <stdio.h>

/* The parameters of an object as one word each */
static PetscErrorCode DumpObject(FILE *file, const char before[], PetscObject object)
{
  const MuonParameters     *parameters = MuonParametersOf(object);
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);
  const char               *family     = parameters->family != NULL ? parameters->family : what->family;
  char                      key[128], value[128];

  PetscFunctionBegin;
  if (object->type_name != NULL) fprintf(file, " %stype=%s", before, object->type_name);
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters); k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL; row++) {
      PetscCall(PetscSNPrintf(key, sizeof(key), "%s%s", row->flags & MUON_PARAMETER_BARE ? "" : family, row->key));
      PetscCall(MuonObjectGetParameter(object, key, value, sizeof(value)));
      if (value[0] != '\0' && strpbrk(value, " =") == NULL) fprintf(file, " %s%s=%s", before, row->key, value);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sizes of the blocks of one side */
static void DumpBlocks(FILE *file, const char side[], PetscInt n, const PetscInt sizes[])
{
  for (PetscInt k = 0; k < n && n > 1; k++) fprintf(file, "%s%s%d", k == 0 ? side : "", k == 0 ? "=" : ",", (int)sizes[k]);
}

static PetscErrorCode DumpLayer(FILE *file, Muon sends, const ProblemLayer *l, PetscInt number)
{
  PetscInt        nrows, ncolumns;
  const PetscInt *rows, *columns;
  MuonShard      *shard;
  PetscBool       messages, frozen;
  MuonLMO         lmo;

  PetscFunctionBegin;
  fprintf(file, "name=%s m=%d n=%d rowmajor=%d single=%d", l->shape->name, (int)l->shape->m, (int)l->shape->n, l->weights.rows == PETSC_TRUE, l->weights.type == PETSC_FLOAT);
  PetscCall(DumpObject(file, "", (PetscObject)l->layer));
  PetscCall(MuonLayerGetLMO(l->layer, &lmo));
  PetscCall(DumpObject(file, "lmo_", (PetscObject)lmo));
  PetscCall(MuonLayerGetBlocks(l->layer, &nrows, &rows, &ncolumns, &columns));
  DumpBlocks(file, " rows", nrows, rows);
  DumpBlocks(file, " columns", ncolumns, columns);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)sends, &messages, MUONEF21, MUONEF14, ""));
  PetscCall(PetscObjectTypeCompare((PetscObject)l->layer, MUONLAYERFROZEN, &frozen));
  if (messages && frozen == PETSC_FALSE) {
    PetscCall(MuonShardFind(sends, sends->layer[number], &shard));
    PetscCall(DumpObject(file, "up_", (PetscObject)shard->up));
    PetscCall(DumpObject(file, "down_", (PetscObject)shard->down));
    fprintf(file, " steps=%d", shard->downlink == MUON_DOWNLINK_STEP);
  }
  fprintf(file, "\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DumpSettings(FILE *file, const Problem *p, PetscInt steps)
{
  Muon             sends = p->muon; /* the optimizer whose messages there are */
  PetscBool        local, sign;
  PetscReal        loss, dual, agreement = 0;
  MuonTraffic      traffic;
  MuonExchange     exchange;
  MuonExchangeType where;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)p->muon, MUONLOCAL, &local));
  PetscCall(PetscObjectTypeCompare((PetscObject)p->muon, MUONSIGN, &sign));
  if (local) PetscCall(MuonLocalGetOuter(p->muon, &sends));
  if (sign) PetscCall(MuonSignGetAgreement(p->muon, &agreement));
  PetscCall(MuonGetLoss(p->muon, &loss));
  PetscCall(MuonGetGradientDualNorm(p->muon, &dual));
  PetscCall(MuonGetTraffic(p->muon, &traffic));
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(MuonExchangeGetType(exchange, &where));
  fprintf(file, "ranks=%d shards=%d steps=%d noise=%d scale=%.17g optimum=%.17g machine=%.17g unseen=%d exchange=%s loss=%.17g dual=%.17g agreement=%.17g paper=%.17g encoded=%.17g entropy=%.17g", p->size, p->layer[0].ranks, (int)steps, (int)p->noise,
          (double)p->scale, (double)p->optimum, (double)PETSC_MACHINE_EPSILON, p->unseen == PETSC_TRUE, where, (double)loss, (double)dual, (double)agreement, traffic.total_down[0], traffic.total_down[1], traffic.total_down[2]);
  PetscCall(DumpObject(file, "", (PetscObject)p->muon));
  if (local) PetscCall(DumpObject(file, "outer_", (PetscObject)sends));
  fprintf(file, "\n");
  for (PetscInt l = 0; l < p->n; l++) PetscCall(DumpLayer(file, sends, &p->layer[l], l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file for each rank, layer and name, of the rows that are here; state of layers that are whole has none where it is kept in rows */
static PetscErrorCode DumpState(const char dir[], const Problem *p)
{
  static const char *const names[] = {"W", "X", "M", "Gj", "G", "E"}, *const states[] = {NULL, "served", "momentum", "estimate", "aggregate", "excess"};
  MuonExchange exchange;
  PetscBool    rows;

  PetscFunctionBegin;
  PetscCall(MuonGetExchange(p->muon, &exchange));
  PetscCall(PetscObjectTypeCompare((PetscObject)exchange, MUONEXCHANGEROWS, &rows));
  for (PetscInt l = 0; l < p->n; l++) {
    for (int k = 0; k < (rows ? 2 : 6); k++) {
      char      path[PETSC_MAX_PATH_LEN];
      double    entries[64];
      size_t    d    = (size_t)(p->layer[l].weights.count * p->layer[l].shape->n);
      PetscBool kept = PETSC_FALSE;
      FILE     *file;

      PetscCheck(d <= 64, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s is too large", p->layer[l].shape->name);
      PetscCall(ProblemGetRows(p, l, states[k], entries, &kept));
      if (kept == PETSC_FALSE) continue;
      PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%d.%" PetscInt_FMT ".%s", dir, p->rank, l, names[k]));
      file = fopen(path, "wb");
      PetscCheck(file != NULL && fwrite(entries, sizeof(*entries), d, file) == d && fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     dir[PETSC_MAX_PATH_LEN] = ".", path[PETSC_MAX_PATH_LEN], options[128];
  PetscInt steps                   = 30;
  Problem  p;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  /* Optima off the grid of the weights, on which the first gradients would have entries of equal size */
  PetscCall(PetscSNPrintf(options, sizeof(options), "-muon_count_entropy -problem_optimum 0.8366600265340756 -muon_max_steps %d", (int)steps));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonSolve(p.muon));
  PetscCall(DumpState(dir, &p));
  if (p.rank == 0) {
    FILE *file;

    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/settings", dir));
    file = fopen(path, "w");
    PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
    PetscCall(DumpSettings(file, &p, steps));
    PetscCheck(fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  testset:
    requires: numpy double
    args: -muon_type dense
    oracle: ef21.py
    table: suffix | nsize | args
      # K. Jordan's Muon; with 7 ranks there are more of them than layers
      dense_kj           | {{1 2 3 4 7}} | -muon_nesterov ema -muon_momentum 0.95 -muon_shape_factor kj -muon_weight_decay 0.1
      dense_exchange     | 3             | -muon_nesterov ema -muon_exchange_type {{star layerwise}} -muon_exchange_mode {{reduce gather}} -muon_schedule cosine
      dense_replicated   | 4             | -muon_exchange_type replicated -muon_exchange_mode {{allreduce gather}} -muon_schedule trapezoid -muon_schedule_constant 0.25 -muon_schedule_warmup 4
      dense_moonlight    | 2             | -muon_momentum_style sgd -muon_nesterov sgd -muon_shape_factor moonlight -muon_weight_decay 0.1 -muon_momentum 0.9 -muon_schedule linear
      dense_undamped     | 2             | -muon_nesterov undamped -muon_shape_factor scion -muon_learning_rate 0.01
      dense_worker       | 3             | -muon_momentum_at worker -muon_momentum_style {{ema sgd}} -muon_dampening 0.3 -muon_momentum 0.7
      dense_dampening    | 2             | -muon_momentum_style sgd -muon_dampening 0.5 -muon_nesterov {{none sgd}} -muon_momentum {{0 0.7}}
      dense_sharp        | 4             | -muon_step sharp -muon_nesterov ema -muon_momentum 0.9 -muon_learning_rate 0.02 -muon_exchange_type replicated -muon_layer_tall_lmo_type row
      # Every worker gets the sums, one uses each
      dense_owners       | {{1 3 4}}     | -muon_nesterov ema -muon_exchange_type layerwise -muon_exchange_mode allreduce -muon_exchange_assignment roundrobin
      dense_decay        | 2             | -muon_nesterov ema -muon_weight_decay 0.7 -muon_weight_decay_style {{coupled cautious}} -muon_layer_types "gain:adamw,emb*:nadamw,row:sgd" -muon_sgd_weight_decay 0.2 -muon_momentum_at server
      dense_decay_worker | 3             | -muon_momentum_at worker -muon_weight_decay 0.7 -muon_weight_decay_style {{coupled cautious}} -muon_state_precision native -muon_layer_gain_type sgd
      dense_warmup       | 2             | -muon_nesterov {{none ema}} -muon_momentum 0.95 -muon_momentum_warmup {{1 12}} -muon_momentum_warmup_start 0.5 -muon_schedule {{linear cosine}} -muon_schedule_minimum 0.25 -muon_schedule_warmup 5
      dense_warmup_sgd   | 2             | -muon_momentum_at worker -muon_momentum_style sgd -muon_momentum 0 -muon_momentum_warmup 9
      # The mean gradient of some layers or all, summed by MPI or from messages, on every rank or one
      dense_clip         | {{1 4}}       | -muon_nesterov undamped -muon_clip 0.5 -muon_clip_layers {{others all}} -muon_exchange_mode {{reduce gather}} -muon_layer_types "gain:adamw,embed:sgd" -muon_weight_decay 0.1 -muon_weight_decay_style coupled
    # What goes down is rounded, at its owner too
    test:
      suffix: dense_single
      nsize: {{1 3}}
      args: -muon_downlink_precision single -muon_exchange_type {{layerwise star}} -muon_nesterov ema -muon_layer_gain_type adamw -muon_weight_decay 0.1
      oracle: ef21.py single
    table: suffix | nsize | args
      dense_clip_replicated | 3 | -muon_clip 0.5 -muon_clip_layers all -muon_exchange_type replicated -muon_layer_gain_type sgd
      dense_clip_worker     | 3 | -muon_momentum_at worker -muon_clip 0.5 -muon_clip_layers {{others all}} -muon_layer_types "gain:adamw,embed:sgd"
    # Rates that are no multiples of each other, for types, layers and all others
    test:
      suffix: dense_rates
      nsize: 2
      args: -muon_learning_rate 0.03 -muon_adamw_learning_rate 0.004 -muon_adamw_weight_decay 0.5 -muon_sgd_learning_rate 0.2 -muon_layer_tall_learning_rate 0.05 -muon_schedule linear -muon_weight_decay 0.1
      args: -muon_layer_types "gain:adamw,embed:nadamw,row:sgd" -muon_layer_embed_learning_rate 0.01 -muon_adamw_beta1 0.8 -muon_adamw_beta2 0.9 -muon_adamw_epsilon 1e-3 -muon_layer_embed_adamw_beta1 0.6
    test:
      suffix: dense_rules
      nsize: {{1 3}}
      args: -muon_nesterov ema -muon_layer_square_type frozen -muon_layer_row_type sgd -muon_layer_row_scale 3 -muon_layer_row_weight_decay 0.3 -muon_layer_gain_type adamw -muon_layer_gain_adamw_beta1 0.8
      args: -muon_layer_gain_adamw_epsilon 1e-3 -muon_layer_embed_type nadamw -muon_layer_embed_weight_decay 0.05 -muon_layer_embed_adamw_beta2 0.9 -muon_layer_embed_scale 2 -muon_layer_tall_momentum 0.2 -muon_layer_wide_momentum 0
      args: -muon_schedule linear

  # Covariances of full rank, or a null space of one dimension: the eigenvectors are unique
  testset:
    requires: numpy double
    oracle: ef21.py
    args: -muon_type dense -muon_weight_decay 0.1
    testset:
      args: -muon_layer_types "gain:adamw,row:sgd,embed:adamw" -muon_layer_before soap
      table: suffix | nsize | args
        dense_soap        | {{1 3}} | -muon_nesterov ema -muon_layer_before_soap_interval {{1 3}} -muon_layer_before_soap_basis {{eigen qr}}
        dense_soap_blocks | 2       | -muon_momentum_at worker -muon_layer_before_beta 0.8 -muon_layer_before_soap_interval 2 -muon_layer_tall_blocks_rows 2,4,3
        dense_soap_rows   | 3       | -muon_layer_before_soap_interval 2 -muon_exchange_type rows -muon_assembly {{allgather owner}}
    test:
      suffix: dense_before
      nsize: {{1 2}}
      args: -muon_layer_types "gain:adamw" -muon_layer_before_beta 0.9 -muon_layer_tall_before rows -muon_layer_wide_before columns -muon_layer_square_before entries -muon_exchange_type {{layerwise rows}}
    test:
      suffix: dense_soap_type
      nsize: {{1 2}}
      args: -muon_layer_types "gain:adamw,row:sgd,square:soap,tall:soap,wide:soap" -muon_adamw_learning_rate 0.01 -muon_layer_wide_blocks_columns 4,5 -muon_layer_tall_blocks_rows 4,5
      args: -muon_layer_tall_soap_interval 3 -muon_layer_square_soap_interval 1 -muon_layer_square_soap_basis qr -muon_weight_decay_style {{decoupled cautious}}

  # By name. With gradients so large the tiny numbers that are added to norms are far below rounding
  testset:
    requires: numpy double
    args: -muon_type dense
    args: -lmo_polar_precision double -problem_scale 1e9 -steps 150 -muon_layer_types "square:lmo,tall:lmo,wide:lmo,*:adamw"
    table: suffix | nsize | requires | args | oracle
      dense_preset_kj           | {{1 3}} |              | -muon_preset kj    | published.py kj
      dense_preset_torch        | {{1 3}} |              | -muon_preset torch | published.py numpy
      dense_preset_torch_itself | 2       | torch double | -muon_preset torch | published.py torch

  # What presets distribute changes nothing, with exact polar factors and rows that nobody rounds
  testset:
    requires: numpy double
    args: -muon_type dense
    oracle: ef21.py
    args: -lmo_polar_type svd -muon_learning_rate 0.05
    table: suffix | nsize | args | oracle
      dense_preset_rows     | {{1 2 3}} | -muon_preset {{moonlight motif}} -muon_assembly_precision native |
      dense_preset_bf16     | {{1 2 3}} | -muon_preset {{moonlight motif}}                                 | ef21.py bf16
      dense_preset_bucketed | {{1 2 3}} | -muon_preset algoperf-bucketed                                   |

  testset:
    requires: numpy double
    oracle: ef21.py
    # Natural values are powers of two, whose ties a second computation cannot break alike once a norm divided by their sum: they come on top of a whole first gradient, or without a selection
    test:
      suffix: ef21_topk
      nsize: {{1 2 3 4}}
      args: -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values natural -muon_schedule linear -muon_seed 11
    test:
      suffix: ef21_gradient
      nsize: {{1 2 3 4}}
      args: -ef21_init gradient -ef21_compressor topk -ef21_compressor_ratio 0.2 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values natural
      args: -muon_momentum 0.5 -muon_schedule trapezoid -muon_schedule_constant 0.4 -muon_shape_factor scion
    # Decay in the gradients of workers, or where steps do not lead away from zero, as weights and as steps; gradients of workers clipped
    test:
      suffix: ef21_decay
      nsize: 2
      args: -ef21_compressor_layers all -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.6 -muon_weight_decay 0.7 -muon_weight_decay_style {{coupled cautious}}
      args: -muon_layer_types "gain:adamw,embed:sgd" -muon_clip 0.5 -muon_clip_layers {{others all}} -muon_adamw_learning_rate 0.004 -muon_momentum_warmup 7
    test:
      suffix: ef21_cautious_step
      nsize: {{1 3}}
      args: -ef21_downlink step -lmo_type l1 -muon_learning_rate 0.05 -muon_weight_decay 0.7 -muon_weight_decay_style cautious
    test:
      suffix: ef21_natural
      nsize: {{2 3}}
      args: -ef21_init {{zero gradient}} -ef21_compressor natural -ef21_server_compressor natural -muon_momentum 0.5 -muon_schedule cosine -muon_schedule_warmup 5 -muon_shape_factor moonlight -muon_seed -3
      args: -muon_layer_row_lmo_type frobenius -muon_layer_embed_lmo_type frobenius
    # Rank-K on the way down only where singular values differ: the first shift of a spectral layer is a multiple of a polar factor
    test:
      suffix: ef21_rankk
      nsize: {{1 3}}
      args: -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native -ef21_compressor_svd_type lapack -muon_momentum 0 -muon_weight_decay 0.1 -muon_shape_factor kj -muon_schedule linear
      args: -ef21_server_compressor topk -ef21_server_compressor_values double -ef21_server_compressor_ratio 0.4 -muon_layer_embed_lmo_type frobenius -muon_layer_embed_ef21_server_compressor rankk
      args: -muon_layer_embed_ef21_server_compressor_rank 2
    table: suffix | nsize | args
      # Nothing is compressed in one direction
      ef21_up   | 2 | -ef21_init {{zero gradient}} -ef21_compressor topk -ef21_compressor_ratio 0.1 -ef21_compressor_values double -ef21_server_compressor identity -muon_exchange_type {{star layerwise replicated}}
      ef21_down | 2 | -ef21_compressor identity -ef21_server_compressor topk -ef21_server_compressor_ratio 0.1 -muon_exchange_mode {{reduce gather}} -muon_exchange_type star
    # The servers send the steps themselves; a matrix whose rows and columns have no gradient at all is in downlink_zeros of equivalence
    test:
      suffix: ef21_downlink
      nsize: {{1 3}}
      args: -ef21_downlink step -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -muon_weight_decay 0.1 -muon_schedule linear -muon_exchange_type {{star layerwise replicated}}
      args: -muon_layer_square_lmo_type nuclear -muon_layer_tall_lmo_type rowsum -muon_layer_wide_lmo_type colsum -muon_layer_row_lmo_type l1 -muon_layer_gain_lmo_type l21 -muon_layer_embed_lmo_type l21 -steps 12
    # bfloat16
    test:
      suffix: ef21_bf16
      nsize: 4
      args: -ef21_init gradient -ef21_compressor topk -ef21_compressor_ratio 0.2 -ef21_compressor_values bf16 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values bf16
    # Nodes of ranks, each of which is one worker with their mean gradient
    test:
      suffix: ef21_nodes
      nsize: 4
      args: -muon_node_size 2 -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values double
      args: -muon_layer_types "gain:adamw" -muon_adamw_learning_rate 0.004 -muon_schedule linear
    # Each layer its own settings and types
    test:
      suffix: ef21_mixed
      nsize: {{1 2 3 4}}
      args: -muon_schedule constant -ef21_compressor_layers all -ef21_compressor topk -ef21_compressor_ratio 0.25 -ef21_compressor_values native -ef21_server_compressor natural -muon_momentum 0.8 -muon_shape_factor scion -muon_learning_rate 0.03
      args: -muon_layer_square_momentum 0.3 -muon_layer_tall_scale 2.5 -muon_layer_tall_ef21_compressor_ratio 0.5 -muon_layer_wide_shape_factor none -muon_layer_wide_weight_decay 0.2
      args: -muon_layer_row_type sgd -muon_layer_row_scale 3 -muon_adamw_learning_rate 0.03 -muon_layer_gain_type adamw -muon_layer_gain_adamw_beta1 0.8 -muon_layer_embed_type nadamw -muon_layer_embed_weight_decay 0.05
    # Layers that are cut into blocks: rows, columns, both, a vector, and a type that has no norm
    test:
      suffix: ef21_blocks
      nsize: {{1 3}}
      args: -ef21_compressor_layers all -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values native -ef21_server_compressor natural -muon_shape_factor scion -muon_weight_decay 0.05 -muon_seed 4 -muon_layer_row_type sgd
      args: -muon_layer_square_blocks_columns 2,1,3 -muon_layer_tall_blocks_rows 2,4,3 -muon_layer_wide_blocks_rows 1,3 -muon_layer_wide_blocks_columns 4,5 -muon_layer_row_blocks_columns 3,4
      args: -muon_layer_gain_blocks_rows 5,6 -muon_layer_embed_blocks_rows 7,3
    # Random entries, rows and columns, by norms of one layer or of all
    test:
      suffix: ef21_lines
      nsize: {{1 3}}
      args: -ef21_init gradient -ef21_compressor columntopk -ef21_compressor_ratio 0.5 -ef21_compressor_values double -ef21_compressor_line_norm 1 -ef21_server_compressor randk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values native
      args: -muon_layer_tall_ef21_compressor rowtopk -muon_layer_tall_ef21_compressor_line_norm inf -muon_layer_wide_ef21_compressor_line_norm 3 -muon_layer_wide_ef21_compressor_ratio 0.2
      args: -muon_layer_embed_ef21_compressor randk -muon_layer_embed_ef21_compressor_values natural -muon_layer_row_ef21_compressor randk -muon_seed 7 -muon_layer_square_blocks_columns 2,1,3 -muon_layer_embed_blocks_rows 7,3
    # A multiple, all or nothing, and every entry in fewer bits
    test:
      suffix: ef21_dense
      nsize: {{1 3}}
      args: -ef21_compressor damping -ef21_compressor_ratio 0.7 -ef21_compressor_values native -ef21_server_compressor dropout -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values double -muon_momentum 0.5 -muon_seed 3
      args: -muon_layer_tall_ef21_compressor bf16 -muon_layer_wide_ef21_compressor dropout -muon_layer_embed_ef21_server_compressor damping -muon_layer_embed_ef21_server_compressor_values bf16
      args: -muon_layer_row_ef21_compressor nearest -muon_layer_gain_ef21_compressor truncated -muon_layer_row_ef21_server_compressor_ratio 0.9 -muon_layer_row_lmo_type frobenius -muon_layer_embed_lmo_type frobenius
    # The rows of all layers on the ranks of workers, two or all of them: each rank's rows are compressed as a matrix of their own, norms and radii are of the whole layer
    test:
      suffix: ef21_shards
      nsize: 4
      args: -ef21_compressor_layers all -problem_ranks {{2 4}} -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values natural
      args: -muon_shape_factor scion -muon_weight_decay 0.05 -muon_seed 4 -steps 12
      args: -muon_assembly {{allgather owner}} -muon_layer_tall_blocks_rows 2,4,3 -muon_layer_wide_blocks_rows 1,3 -muon_layer_wide_blocks_columns 4,5 -muon_layer_row_type sgd -muon_layer_embed_type adamw
    test:
      suffix: ef21_shards_gradient
      nsize: 4
      args: -problem_ranks {{2 4}} -ef21_init gradient -ef21_compressor topk -ef21_compressor_ratio 0.2 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 -ef21_server_compressor_values natural
      args: -muon_momentum 0.5 -muon_schedule trapezoid -muon_schedule_constant 0.4 -muon_exchange_type replicated -muon_seed 11
    test:
      suffix: ef21_shards_clip
      nsize: 4
      args: -problem_ranks 2 -ef21_compressor natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_server_compressor_values double -muon_clip 0.5 -muon_clip_layers {{others all}} -muon_layer_types "gain:adamw,embed:sgd"
      args: -muon_layer_row_lmo_type frobenius -muon_exchange_type {{star replicated}} -muon_momentum 0.5
    test:
      suffix: ef21_shards_rankk
      nsize: 4
      args: -problem_ranks {{2 4}} -ef21_compressor rankk -ef21_compressor_rank 2 -ef21_compressor_values native -ef21_compressor_svd_type lapack -muon_momentum 0 -muon_weight_decay 0.1 -muon_shape_factor kj -muon_schedule linear
      args: -ef21_server_compressor topk -ef21_server_compressor_values double -ef21_server_compressor_ratio 0.4 -muon_layer_embed_lmo_type frobenius -steps 12
    table: suffix | nsize | args
      # SOAP has the covariance of what the server has: estimates, or with its momentum the gradient that these are of
      soap        | {{1 3}} | -muon_layer_types "gain:adamw,row:sgd,embed:adamw" -ef21_compressor natural -ef21_server_compressor topk -ef21_server_compressor_values double -muon_momentum_at {{worker server}} -muon_layer_before soap -muon_layer_before_soap_interval 2
      soap_shards | 4       | -problem_ranks 2 -muon_layer_types "gain:adamw,row:sgd,embed:adamw" -ef21_compressor natural -ef21_server_compressor topk -ef21_server_compressor_values double -muon_layer_before soap -muon_layer_before_soap_interval 2
    # By the sharp operator, in all norms, on ranks that have rows of them, with blocks, as messages; a layer of its own mind
    test:
      suffix: ef21_sharp
      nsize: 3
      args: -muon_step sharp -muon_learning_rate 0.02 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values double -ef21_server_compressor damping -ef21_server_compressor_ratio 0.8 -ef21_server_compressor_values double
      args: -muon_shape_factor scion -muon_weight_decay 0.1 -muon_layer_tall_lmo_type column -muon_layer_wide_lmo_type row -muon_layer_embed_lmo_type l1 -muon_layer_square_scale 0.7 -muon_layer_gain_blocks_rows 5,6
      args: -lmo_polar_type svd -muon_layer_row_step lmo
    test:
      suffix: ef21_sharp_norms
      nsize: 4
      args: -problem_ranks 2 -muon_step sharp -muon_learning_rate 0.02 -ef21_init gradient -ef21_compressor randk -ef21_compressor_ratio 0.5 -ef21_compressor_values double -muon_seed 5 -steps 12 -muon_assembly {{allgather owner}}
      args: -muon_layer_square_lmo_type schatten -lmo_schatten_exponent 3 -muon_layer_tall_lmo_type nuclear -muon_layer_wide_lmo_type mixed -lmo_mixed_exponent_p 3 -lmo_mixed_exponent_q 1.5 -muon_layer_tall_scale 1.5
      args: -muon_layer_row_lmo_type rowsum -muon_layer_gain_lmo_type l21 -muon_layer_embed_lmo_type colsum
    test:
      suffix: ef21_sharp_downlink
      nsize: 3
      args: -muon_step sharp -ef21_downlink step -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -muon_schedule linear -muon_exchange_type star -muon_weight_decay 0.1
      args: -muon_layer_square_lmo_type nuclear -muon_layer_tall_lmo_type rowsum -muon_layer_wide_lmo_type colsum -muon_layer_row_lmo_type l1 -muon_layer_gain_lmo_type l21 -muon_layer_embed_lmo_type l21 -steps 12
    # The style sgd, a layer that is frozen, a step that is never taken
    test:
      suffix: ef21_sgd
      nsize: 3
      args: -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values bf16 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -muon_momentum_style sgd -muon_dampening 0.25 -muon_momentum 0.6
      args: -muon_layer_wide_type frozen -muon_learning_rate 0.05
    # Estimates of gradients, of which the server makes a momentum
    test:
      suffix: ef21_server
      nsize: 3
      args: -muon_momentum_at server -ef21_init {{zero gradient}} -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5
      args: -muon_weight_decay 0.3 -muon_weight_decay_style coupled -muon_momentum 0.7 -steps 12

  # What a message leaves out is added to the next gradient
  testset:
    requires: numpy double
    oracle: ef21.py
    args: -muon_type ef14 -steps 12
    table: suffix | nsize | args
      ef21_ef14          | {{1 2 3 4}} | -ef14_compressor topk -ef14_compressor_ratio 0.6 -ef14_server_compressor topk -ef14_server_compressor_ratio 0.3 -ef14_server_compressor_values double -muon_schedule linear -ef14_feedback 0.5 -ef14_compressor_values double
      ef21_ef14_feedback | 3           | -ef14_compressor topk -ef14_compressor_ratio 0.4 -ef14_feedback {{1 0}} -ef14_compressor_values bf16 -muon_exchange_type star
    test:
      suffix: ef21_ef14_worker
      nsize: 3
      args: -muon_schedule constant -muon_momentum_at worker -muon_momentum 0.5 -ef14_compressor natural -ef14_server_compressor natural -muon_seed -3 -muon_weight_decay 0.3 -muon_weight_decay_style coupled -muon_clip 0.5 -muon_clip_layers all
      args: -muon_layer_row_lmo_type frobenius -muon_layer_embed_lmo_type frobenius -muon_exchange_type star
    # Each layer its own settings and optimizer; what is not compressed sends single beside the others
    test:
      suffix: ef21_ef14_mixed
      nsize: 2
      args: -ef14_compressor topk -ef14_compressor_ratio 0.25 -ef14_compressor_values double -ef14_server_compressor natural -ef14_compressor_min_entries 8 -muon_nesterov ema -muon_layer_tall_ef14_compressor_ratio 0.5 -muon_learning_rate 0.03
      args: -muon_layer_square_ef14_compressor rankk -muon_layer_square_ef14_compressor_rank 2 -muon_layer_square_ef14_compressor_values native -muon_layer_square_ef14_compressor_svd_type lapack
      args: -muon_layer_wide_type frozen -muon_layer_gain_type adamw -muon_layer_embed_type sgd -muon_layer_embed_ef14_compressor randk -muon_layer_embed_ef14_compressor_ratio 0.5 -muon_layer_embed_ef14_compressor_values double
    table: suffix | nsize | args
      ef21_ef14_clip | 3 | -ef14_compressor_layers all -ef14_compressor topk -ef14_compressor_ratio 0.6 -ef14_compressor_values double -muon_clip 0.5 -muon_clip_layers all -muon_exchange_type replicated -muon_layer_types "gain:adamw,embed:sgd"
      ef21_ef14_step | 3 | -ef14_downlink step -lmo_type l1 -muon_learning_rate 0.05 -ef14_compressor topk -ef14_compressor_ratio 0.4 -ef14_compressor_values double
    test:
      suffix: ef21_ef14_shards
      nsize: 4
      args: -ef14_compressor_layers all -problem_ranks 2 -ef14_compressor topk -ef14_compressor_ratio 0.4 -ef14_compressor_values double -ef14_server_compressor topk -ef14_server_compressor_ratio 0.3 -ef14_server_compressor_values double
      args: -muon_shape_factor scion -muon_seed 4 -muon_layer_tall_blocks_rows 2,4,3 -muon_layer_row_type sgd -muon_layer_embed_type adamw
    # A step late, beside layers that are not
    test:
      suffix: ef21_late
      nsize: {{1 2}}
      args: -muon_type ef21 -muon_delay 1 -muon_schedule linear -muon_momentum_warmup 7 -muon_weight_decay 0.3 -muon_layer_types "gain:adamw,embed:sgd" -muon_adamw_learning_rate 0.004
    test:
      suffix: ef21_late_topk
      nsize: 3
      args: -muon_type ef21 -muon_delay 1 -ef21_init {{zero gradient}} -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3
      args: -ef21_server_compressor_values double -muon_schedule linear -muon_layer_types "gain:adamw" -muon_adamw_learning_rate 0.004
    test:
      suffix: ef21_late_ef14
      nsize: 3
      args: -muon_delay 1 -muon_delay_correction {{false true}} -muon_nesterov ema -muon_learning_rate 0.1 -ef14_compressor topk -ef14_compressor_ratio 0.6 -ef14_compressor_values double -ef14_server_compressor topk
      args: -ef14_server_compressor_ratio 0.6 -ef14_server_compressor_values double -lmo_type frobenius -muon_schedule linear
    test:
      suffix: ef21_late_spread
      nsize: 4
      args: -muon_type ef21 -muon_delay 1 -muon_delay_correction -problem_ranks 2 -ef21_compressor topk -ef21_compressor_ratio 0.6 -ef21_compressor_values double -muon_schedule linear

  test:
    suffix: ef21_ef14_range
    args: -muon_type ef14 -ef14_feedback 1.5
    error: -ef14_feedback 1.5

  testset:
    requires: numpy double
    args: -muon_type local
    oracle: ef21.py
    # Rounds of one and more steps, the last one whole or not, with the outer momentum of MuLoCo and without
    test:
      suffix: local_dense
      nsize: {{1 2 3}}
      args: -local_steps {{1 3 5}} -muon_schedule linear -steps 20 -local_control {{false true}}
    test:
      suffix: local_plain
      nsize: 2
      args: -local_control {{false true}} -local_steps 4 -outer_muon_learning_rate 1 -outer_muon_momentum 0 -muon_layer_types "gain:adamw,embed:sgd" -muon_adamw_learning_rate 0.004 -steps 22
      args: -muon_nesterov ema -muon_weight_decay 0.7
    # EF21 of the ways both ways, error feedback that decays
    test:
      suffix: local_ef21
      nsize: {{1 3}}
      args: -local_control {{false true}} -lmo_type frobenius -local_steps 3 -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_compressor_ratio 0.6 -outer_ef21_compressor_values double
      args: -outer_ef21_server_compressor topk -outer_ef21_server_compressor_ratio 0.6 -outer_ef21_server_compressor_values double -steps 21
    test:
      suffix: local_ef14
      nsize: {{1 3}}
      args: -local_control {{false true}} -muon_schedule constant -lmo_type frobenius -local_steps 3 -outer_muon_type ef14 -outer_ef14_compressor topk -outer_ef14_compressor_ratio 0.4 -outer_ef14_compressor_values double -outer_ef14_feedback 0.95
      args: -outer_muon_momentum 0 -outer_muon_learning_rate 1 -steps 20
    table: suffix | nsize | args
      # Layers after steps of their own, more of them than steps and fewer
      local_stagger | 2 | -local_control {{false true}} -local_stagger -local_steps {{3 8}} -muon_layer_types "gain:adamw,row:frozen" -muon_adamw_learning_rate 0.004 -steps 21
      # Nodes of ranks take their inner steps together
      local_nodes   | 4 | -local_control -muon_node_size 2 -local_steps 3 -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_compressor_ratio 0.6 -outer_ef21_compressor_values double -lmo_type frobenius -steps 20
      # Rounds that come a round later
      local_delay   | 2 | -local_steps {{1 4}} -outer_muon_delay 1 -outer_muon_delay_correction -muon_schedule linear -steps 22
    test:
      suffix: local_delay_ef21
      nsize: 3
      args: -lmo_type frobenius -local_steps 3 -outer_muon_delay 1 -outer_muon_type ef21 -outer_ef21_compressor topk -outer_ef21_compressor_ratio 0.6 -outer_ef21_compressor_values double
      args: -outer_ef21_server_compressor topk -outer_ef21_server_compressor_ratio 0.6 -outer_ef21_server_compressor_values double -steps 21
    # Workers of two ranks
    test:
      suffix: local_spread
      nsize: 4
      args: -local_steps 3 -problem_ranks 2 -steps 20 -local_control {{false true}}

  testset:
    requires: numpy double
    args: -muon_type sign
    oracle: sign.py
    args: -lmo_type spectral -lmo_polar_type svd -muon_learning_rate 0.01
    table: suffix | nsize | args
      sign_ways   | 3       | -sign_direction {{polar momentum gradient adam}} -sign_update {{none frobenius spectral polar}} -muon_shape_factor kj -muon_weight_decay 0.1 -sign_measure
      sign_ties   | 4       | -sign_direction momentum -sign_tie {{plus minus zero random}} -sign_update {{none polar}} -muon_schedule cosine -muon_learning_rate 0.05 -muon_exchange_type star
      sign_unseen | {{1 4}} | -problem_unseen -problem_noise 0 -sign_direction {{momentum gradient}} -sign_tie {{zero random}} -muon_seed 77 -muon_layer_tall_blocks_rows 3,4,2 -muon_exchange_type replicated -muon_exchange_mode {{gather allreduce}}
      sign_rules  | {{1 2}} | -muon_layer_square_type frozen -muon_layer_row_type sgd -muon_layer_embed_type nadamw -muon_layer_gain_type adamw -muon_layer_tall_scale 3 -muon_momentum_style sgd -muon_dampening 0.3
      sign_blocks | 3       | -muon_layer_tall_blocks_rows 3,4,2 -muon_layer_wide_blocks_columns 2,7 -sign_update {{none frobenius spectral polar}} -sign_direction {{polar momentum}} -muon_shape_factor scion
      sign_cubic  | 2       | -lmo_polar_type newtonschulz -lmo_polar_coefficients cubic -lmo_polar_steps 40 -lmo_polar_precision double -lmo_polar_normalization {{frobenius spectral}}

  # Layers of arrays in single and in double precision, whatever PetscScalar is, with state of their own precision, in single, or packed
  testset:
    requires: numpy
    nsize: {{1 3}}
    oracle: precision.py
    args: -steps 8 -problem_layers f.max:6x5f,f.frobenius:4x7f,f.spectral:6x4f,d.max:5x6d,d.frobenius:7x3d,d.spectral:4x6d -problem_storage both -muon_schedule constant
    args: -muon_learning_rate 0.05 -muon_weight_decay 0.1 -muon_state_precision {{native single bf16 int8}} -muon_layer_f.frobenius_lmo_type frobenius -muon_layer_d.frobenius_lmo_type frobenius
    table: suffix | args
      precision_identity | -muon_type ef21 -muon_layer_f.max_lmo_type max -muon_layer_d.max_lmo_type max
      # Powers of two cancel, and the sign of what is left is that of a rounding
      precision_topk     | -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values natural -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -muon_layer_f.max_lmo_type frobenius -muon_layer_d.max_lmo_type frobenius
      precision_native   | -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.4 -ef21_compressor_values native -ef21_server_compressor topk -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values native -muon_layer_f.max_lmo_type max -muon_layer_d.max_lmo_type max
      precision_dense    | -muon_type dense -muon_exchange_mode {{gather reduce}} -muon_layer_f.max_lmo_type max -muon_layer_d.max_lmo_type max

TEST*/
