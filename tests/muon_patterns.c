static char help[] = "Types by the names of layers: the first pattern decides, a layer's own key goes before, layers that come later are matched too; -early and -late are what the program sets before and after the options.\n\n";

#include <petscmuon.h>

#define LAYERS 7

static const char *const Names[LAYERS] = {"wte.Embed", "h0.attn", "h0.norm1", "h0.bias", "h1.attn", "h1.norm1", "head"};

int main(int argc, char **argv)
{
  char         match[256];
  char         early[128], late[128];
  char         keys[256];
  Muon         muon;
  Mat          W[LAYERS];
  PetscOptions own = NULL;
  PetscBool    set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-own", keys, sizeof(keys), &set));
  if (set) {
    PetscCall(PetscOptionsCreate(&own));
    PetscCall(PetscOptionsInsertString(own, keys));
    PetscCall(PetscObjectSetOptions((PetscObject)muon, own));
  }
  PetscCall(PetscOptionsGetString(NULL, NULL, "-early", early, sizeof(early), &set));
  if (set) PetscCall(MuonSetLayerTypes(muon, early));
  for (PetscInt l = 0; l < LAYERS; l++) {
    MuonLayer layer;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2 + l, 3, NULL, &W[l]));
    if (l == LAYERS - 1) PetscCall(MuonSetFromOptions(muon));
    PetscCall(MuonAddLayer(muon, Names[l], W[l], &layer));
  }
  PetscCall(PetscOptionsGetString(NULL, NULL, "-late", late, sizeof(late), &set));
  if (set) {
    PetscCall(MuonSetLayerTypes(muon, late));
    /* What the getter gives may be set */
    PetscCall(MuonGetParameter(muon, "muon_layer_types", match, sizeof(match)));
    PetscCall(MuonSetLayerTypes(muon, match));
  }
  PetscCall(MuonSetUp(muon));
  for (PetscInt l = 0; l < LAYERS; l++) {
    MuonLayer     layer;
    MuonLayerType type;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetType(layer, &type));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s%s", l == 0 ? "with " : " ", type, l == LAYERS - 1 ? "\n" : ""));
  }
  PetscCall(MuonView(muon, NULL));
  PetscCall(MuonDestroy(&muon));
  PetscCall(PetscOptionsDestroy(&own));
  for (PetscInt l = 0; l < LAYERS; l++) PetscCall(MatDestroy(&W[l]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # Owners depend on the bytes of layers
  testset:
    requires: double
    nsize: 2
    filter: grep "^with\|warning\|type .*: layers\|preset\| by \|pattern " | sed "s/ x 3, / /; s/, [^ ]* -, rank.\+//; s/, spectral.\+//"
    table: suffix | args | unused | output_file
      match       | -muon_layer_types "*embed*:adamw,*norm?:nadamw,*.bias:sgd,head:frozen" -muon_adamw_learning_rate 3e-4 -muon_nadamw_learning_rate 1 -muon_layer_h1.norm1_learning_rate 2e-3 | -muon_nadamw_learning_rate |
      # A key of one layer goes before; of two patterns the first
      first       | -muon_layer_types "h0.*:sgd,*:adamw,h1*:frozen" -muon_layer_h0.attn_type lmo -muon_layer_head_type frozen -muon_sgd_learning_rate 0.5 -muon_clip 1 -muon_clip_layers {{others all}} |                            |
      # The type of all others; AdamW has a rate of its own
      all         | -muon_layer_type sgd -muon_layer_types "h0.*:lmo" -muon_layer_head_type adamw |                            |
      # What matches nothing is named, whole, once; ? is one letter
      warn        | -muon_layer_types "h0:sgd,*embe:adamw,h?.bias:frozen,h0.bias:sgd,nosuch*:adamw,**:lmo" |                            |
      setters     | -early "h*:sgd" -late "*attn:frozen"                         |                            |
      # The layer that is added after the options has what the preset says
      preset      | -muon_preset kj -muon_layer_types *norm*:adamw -muon_learning_rate 0.25 |                            |
      preset_last | -muon_preset kj -muon_layer_types "wte*:lmo,nosuch*:sgd" -muon_layer_head_type lmo |                            |
      preset_own  | -own " -muon_preset kj -muon_layer_types *norm*:adamw -muon_learning_rate 0.25" |                            | output/muon_patterns_preset.out

  testset:
    nsize: 2
    table: suffix | args | error
      notype         | -muon_layer_types "*bias*"            | expected pattern:type
      unknown        | -muon_layer_types "*bias*:adam"       | unknown type "adam" of pattern "*bias*", expected one of
      layer_unknown  | -muon_layer_type adam                | -muon_layer_type: unknown type "adam", expected one of
      preset_unknown | -muon_preset adamw                   | -muon_preset adamw: unknown preset, expected one of
      preset_type    | -muon_preset kj -muon_type ef21      | -muon_type ef21 contradicts -muon_preset kj, which is of type dense
      preset_keys    | -muon_preset ef21 -muon_nesterov ema | -muon_nesterov ema
      clip           | -muon_clip -1                        | -muon_clip -1. must be finite and at least 0

TEST*/
