static char help[] = "Writes what a theorem makes of constants and compressors, for tests/oracle/theory.py to derive again from the formulas.\n";

#include "problem.h"

static PetscErrorCode Write(FILE *file, Muon muon, const char key[])
{
  char value[64];

  PetscFunctionBegin;
  PetscCall(MuonGetParameter(muon, key, value, sizeof(value)));
  if (file != NULL) fprintf(file, "%s %s\n", key, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteLayer(FILE *file, Muon muon, MuonLayer layer, const char name[])
{
  static const char *const keys[] = {"theory_l", "theory_lt", "theory_l0", "theory_l1", "theory_l0b", "theory_l1max", "theory_sigma", "theory_alpha", "theory_alpha_server", "theory_eta", "scale", "learning_rate", "step"};
  char                     key[128];
  MuonCompressor           c[2];
  MuonCompressorType       type;
  MuonLMO                  lmo;
  MuonLMOType              norm;
  PetscReal                factor;
  PetscBool                ef21;

  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "muon_layer_%s_%s", name, keys[k]));
    PetscCall(Write(file, muon, key));
  }
  PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOGetType(lmo, &norm));
  if (file != NULL) fprintf(file, "%s_factor %.17g\n%s_norm %s\n", name, (double)factor, name, norm);
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONEF21, &ef21));
  if (!ef21) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetLayerCompressors(muon, layer, &c[0], &c[1]));
  for (int down = 0; down < 2; down++) {
    char ratio[64];

    PetscCall(MuonCompressorGetType(c[down], &type));
    PetscCall(MuonObjectGetParameter((PetscObject)c[down], "compressor_ratio", ratio, sizeof(ratio)));
    if (file != NULL) fprintf(file, "%s_%s %s %s\n", name, down ? "down" : "up", type, ratio);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const keys[]                  = {"muon_theory",   "muon_theory_l",   "muon_theory_lt",  "muon_theory_l0",   "muon_theory_l1",    "muon_theory_l0b",          "muon_theory_l1max", "muon_theory_sigma",
                                                      "muon_theory_h", "muon_theory_gap", "muon_theory_eta", "muon_theory_beta", "muon_theory_alpha", "muon_theory_alpha_server", "muon_max_steps",    "muon_momentum"};
  char                     dir[PETSC_MAX_PATH_LEN] = ".", path[PETSC_MAX_PATH_LEN];
  FILE                    *file                    = NULL;
  PetscInt                 layers                  = 2;
  PetscReal                bound;
  PetscBool                votes;
  Problem                  p;
  Muon                     muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-layers", &layers, NULL));
  PetscCall(PetscOptionsInsertString(NULL, layers == 1 ? "-problem_layers a:6x5" : "-problem_layers a:6x5,b:4x9"));
  PetscCall(ProblemCreate(&p, 0, 0));
  muon = p.muon;
  PetscCall(MuonGetTheoryBound(muon, &bound));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/rates", dir));
  if (p.rank == 0) file = fopen(path, "w");
  PetscCheck(p.rank > 0 || file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  if (file != NULL) fprintf(file, "workers %d\nlayers %d\nbound %.17g\n", p.size, (int)layers, (double)bound);
  for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) PetscCall(Write(file, muon, keys[k]));
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONSIGN, &votes));
  if (votes) PetscCall(Write(file, muon, "sign_update")); /* no other type has it */
  for (PetscInt l = 0; l < p.n; l++) {
    const ProblemShape *shape = p.layer[l].shape;

    if (file != NULL) fprintf(file, "%s_size %d %d\n", shape->name, (int)shape->m, (int)shape->n);
    PetscCall(WriteLayer(file, muon, p.layer[l].layer, shape->name));
  }
  if (file != NULL) fclose(file);
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    requires: numpy
    oracle: theory.py
    nsize: 2
    filter: grep -v "^ *theory:\|^  layer\|^  beta"
    args: -muon_max_steps 700
    # Gamma and its bound; Top-K in the norm of entries that is dual to the largest, singular values in the nuclear norm
    test:
      suffix: smooth
      args: -ef21_init gradient -muon_theory smooth -muon_theory_l 2 -muon_theory_lt 3.5 -muon_theory_gap 4 -layers 1 -lmo_type max -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values double
      args: -ef21_server_compressor damping -ef21_server_compressor_ratio 0.6 -ef21_server_compressor_values double -muon_layer_a_theory_lt 5
    test:
      suffix: smooth_spectral
      args: -ef21_init gradient -muon_theory smooth -muon_theory_l 2 -muon_theory_lt 3.5 -muon_theory_gap 4 -ef21_compressor topsvd -ef21_compressor_ratio 0.5 -ef21_compressor_values double -lmo_polar_type svd
      args: -ef21_server_compressor dropout -ef21_server_compressor_ratio 0.25 -ef21_server_compressor_values double -muon_layer_b_scale 0.5 -muon_layer_b_lmo_type column -muon_layer_b_ef21_compressor columntopk
      args: -muon_layer_b_ef21_server_compressor identity
    # Beta by the bound, or given
    test:
      suffix: smooth_stochastic
      unused: -muon_layer_b_theory_sigma
      args: -ef21_init gradient -muon_theory smooth_stochastic -muon_theory_l 2 -muon_theory_lt 3.5 -muon_theory_sigma 0.7 -muon_theory_gap 4 -layers {{1 2}} -lmo_polar_type svd -muon_shape_factor scion
      args: -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values double -ef21_server_compressor dropout -ef21_server_compressor_ratio 0.5 -ef21_server_compressor_values double -muon_layer_b_theory_sigma 0.1
    test:
      suffix: smooth_beta
      args: -ef21_init gradient -muon_theory smooth_stochastic -muon_theory_l 2 -muon_theory_lt 3.5 -muon_theory_sigma 0.7 -muon_theory_gap 4 -layers 1 -lmo_type frobenius -muon_theory_beta 0.125 -ef21_compressor randk -ef21_compressor_ratio 0.5
      args: -ef21_compressor_values double
    # L1max is not L1, and h is not 0
    test:
      suffix: l0l1
      args: -ef21_init gradient -muon_theory l0l1 -muon_theory_l0 1.5 -muon_theory_l1 0.3 -muon_theory_l0b 2.5 -muon_theory_l1max 0.8 -muon_theory_h 0.7 -muon_theory_gap 4 -layers 2 -lmo_type max -muon_layer_a_theory_l1max 0.9
      args: -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values double
    test:
      suffix: l0l1_eta
      args: -ef21_init gradient -muon_theory l0l1 -muon_theory_l0 1.5 -muon_theory_l1 0.3 -muon_theory_l0b 2.5 -muon_theory_l1max 0.8 -muon_theory_h 0.7 -muon_theory_gap 4 -muon_theory_eta 0.05 -lmo_type row -ef21_compressor natural
    # Layers with an eta, constants and norms of their own, whose dual norms are added times these eta
    test:
      suffix: l0l1_layers
      args: -ef21_init gradient -muon_theory {{l0l1 l0l1_stochastic}} -muon_theory_l0 0.001 -muon_theory_l1 0.3 -muon_theory_l0b 2.5 -muon_theory_l1max 0.8 -muon_theory_h 0.7 -muon_theory_gap 4 -lmo_polar_type svd
      args: -muon_layer_a_theory_eta {{3 0.25}} -muon_layer_b_lmo_type max -muon_layer_b_scale 0.2 -muon_layer_b_theory_l1 0.1 -muon_layer_b_theory_l0 0.02 -ef21_compressor natural -muon_layer_a_ef21_compressor dropout
      args: -muon_layer_a_ef21_compressor_ratio 0.25 -muon_theory_sigma 0.7 -muon_layer_a_theory_sigma 0.1
    # What was measured takes the place of what compressors know, and of what they do not
    test:
      suffix: measured
      args: -ef21_init gradient -muon_theory {{smooth smooth_stochastic}} -muon_theory_l 2 -muon_theory_lt 3.5 -muon_theory_gap 4 -muon_theory_sigma 0.7 -lmo_polar_type svd -ef21_compressor topk -ef21_server_compressor topk
      args: -muon_theory_alpha 0.3 -muon_theory_alpha_server 0.6 -muon_layer_b_theory_alpha 0.125 -muon_layer_b_theory_alpha_server 1
    # Majorities of signs, with noise that more voters make smaller
    test:
      suffix: votes
      nsize: {{1 3}}
      args: -muon_type sign -sign_direction gradient -sign_update {{none frobenius}} -muon_theory {{smooth smooth_stochastic}} -muon_theory_l 2 -muon_layer_b_theory_l 0.5 -muon_theory_sigma 0.7 -muon_theory_gap 4 -muon_layer_b_theory_eta 3 -muon_shape_factor scion
    test:
      suffix: l0l1_stochastic
      unused: -muon_layer_b_lmo_type -muon_layer_b_scale
      args: -ef21_init gradient -muon_theory l0l1_stochastic -muon_theory_l0 0.001 -muon_theory_l1 0.3 -muon_theory_l0b 2.5 -muon_theory_l1max 0.8 -muon_theory_h 0.7 -muon_theory_gap 4 -muon_theory_sigma 0.7 -layers {{1 2}}
      args: -ef21_compressor topk -ef21_compressor_ratio 0.3 -ef21_compressor_values double -lmo_polar_type svd -muon_layer_b_lmo_type max -muon_layer_b_scale 0.2
    # One worker without compression needs less
    test:
      suffix: alone
      nsize: 1
      args: -muon_theory {{smooth l0l1}} -muon_type dense -muon_theory_l 2 -muon_theory_l0 1.5 -muon_theory_l1 0.3 -muon_theory_gap 4 -lmo_type l21

  # What is said of measured contractions, and of layers with an eta of their own
  testset:
    nsize: 2
    args: -muon_max_steps 64 -muon_theory_l 2 -muon_theory_gap 4
    filter: grep -o -e "alpha.*down" -e "rate.*" -e "with f.*"
    table: suffix | args
      view_measured | -muon_theory smooth -ef21_init gradient -muon_theory_lt 4 -ef21_compressor topk -muon_theory_alpha 0.25
      view_signs    | -muon_type sign -sign_direction gradient -sign_update frobenius -muon_theory smooth -muon_layer_b_theory_eta 3

  # Once for two layers, whose polar factors are those of Newton and Schulz
  test:
    suffix: leaves
    args: -muon_step sharp -lmo_polar_type {{newtonschulz mud}separate output}

  # What the theorems do not speak of
  testset:
    args: -muon_theory_l 2 -muon_theory_lt 3 -muon_theory_l0 1 -muon_theory_l1 1 -muon_theory_gap 1
    table: suffix | args | error
      steps              | -muon_theory smooth                                          | -muon_theory smooth: the theorem is of a number of steps, expected -muon_max_steps
      sigma              | -muon_theory {{smooth_stochastic l0l1_stochastic}} -muon_max_steps 9 -ef21_init gradient | layer "a": the theorem needs -muon_theory_sigma, or -muon_layer_a_theory_sigma
      init               | -muon_theory smooth -muon_max_steps 9                        | the theorem begins with the first gradients, expected -ef21_init gradient
      assumes            | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -muon_{{learning_rate momentum weight_decay clip}} 0.5 | was set, and the theorem assumes
      packed             | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -muon_state_precision {{bf16 int8}} | -muon_state_precision was set, and the theorem assumes native or single
      given              | -muon_theory l0l1 -muon_max_steps 9 -ef21_init gradient -muon_{{theory_beta layer_b_momentum layer_a_learning_rate}} 0.5 | was set, and the theorem assumes
      step               | -muon_theory {{l0l1 l0l1_stochastic}} -muon_max_steps 9 -ef21_init gradient -muon_layer_b_step sharp | layer "b" has -muon_step sharp, and the theorem is of lmo
      layertype          | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -muon_layer_b_type adamw | layer "b" has the type adamw, and the theorem is of norm balls, expected lmo or frozen
      blocks             | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -muon_layer_b_blocks_rows 1,3 | layer "b" is cut into blocks
      type               | -muon_theory smooth -muon_max_steps 9 -muon_type sign -lmo_type spectral | layer "a": its steps may ascend for every rate, expected -sign_direction gradient
      length             | -muon_theory smooth -muon_max_steps 9 -muon_type sign -sign_direction gradient -sign_update {{spectral polar}} | layer "a": its steps may ascend for every rate, expected -sign_update none or frobenius
      votes_l0l1         | -muon_theory {{l0l1 auto}} -muon_max_steps 9 -muon_type sign -sign_direction gradient -muon_theory_auto_steps 3 | -muon_type sign: its theorem is of smooth functions, expected smooth or smooth_stochastic
      other              | -muon_theory smooth -muon_max_steps 9 -muon_type ef14        | -muon_type ef14: the theorems are of ef21, of dense where nothing is compressed, and of majorities of signs
      gamma              | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -muon_layer_b_theory_eta 2 | -muon_layer_b_theory_eta was set, and the theorem assumes none: its step is gamma
      alpha              | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -muon_theory_alpha 1.5 | -muon_theory_alpha 1.5 must be in (0.,1.]
      begin              | -muon_theory smooth_stochastic -muon_max_steps 9 -muon_type dense | its momentum begins with the first gradients, expected -muon_type ef21 -ef21_init gradient
      contraction        | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -ef21_compressor {{topk sign powersgd}} | the messages of workers, by {}, have no constant of contraction in the norm dual to that of its LMO, expected one of: identity, damping, dropout in every norm
      contraction_server | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -ef21_server_compressor topsvd | the messages of its server, by topsvd, have no constant of contraction in the norm of its LMO
      server             | -muon_theory l0l1 -muon_max_steps 9 -ef21_init gradient -ef21_server_compressor damping | its server compresses, by damping, and the theorem assumes that it does not, expected -ef21_server_compressor identity
      lt                 | -muon_theory smooth -muon_max_steps 9 -ef21_init gradient -muon_layer_b_theory_lt 1 | Lt 1. is below L 2., which no functions have
      eta                | -muon_theory l0l1_stochastic -muon_max_steps 9 -ef21_init gradient -muon_theory_sigma 1 -muon_theory_eta 5 | the theorem needs a smaller -muon_theory_eta

TEST*/
