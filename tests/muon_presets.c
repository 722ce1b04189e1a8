static char help[] =
  "Presets set what their sources do, and the steps of sign go by one rate. They split the parameters of GPT-2 and ResNet-18 as their sources do, whether layers come before the preset or after it; only whole components of names count.\n\n";

#include "problem.h"

/*
   What a parameter is in its network: a hidden matrix, a vector, an embedding, a head of a language model or of an image
   network, the first filters
*/
typedef enum {
  MATRIX,
  VECTOR,
  EMBEDDING,
  HEAD,
  CLASSIFIER,
  FILTERS,
  ROLES
} Role;

typedef struct {
  char name[64];
  Role role;
} Parameter;

/*
   What the sources leave to AdamW, or give the norm max. kj: "embeddings, classifier heads, and hidden gains/biases", "for
   a ConvNet ... all the convolutional filters except the first one" are Muon's; torch: Muon is "for 2D parameters of
   neural network hidden layers"; dmuon marks projections inside of blocks. moonlight, motif and modded-nanogpt are of
   language models and take all of two dimensions and more but embeddings and lm_head; algoperf all but embeddings, as its
   lists of the parameters of ResNet-50 and a language model show. EF21-Muon and Scion have their norm for embeddings and
   heads, and one for all filters
*/
typedef struct {
  const char *preset;
  PetscBool   norm;
  PetscBool   edge[ROLES];
} Source;

#define YES PETSC_TRUE
#define NO  PETSC_FALSE
static const Source Sources[] = {{"kj", NO, {NO, YES, YES, YES, YES, YES}},           {"torch", NO, {NO, YES, YES, YES, YES, YES}},          {"dmuon", NO, {NO, YES, YES, YES, YES, YES}},
                                 {"muloco", NO, {NO, YES, YES, YES, YES, YES}},       {"moonlight", NO, {NO, YES, YES, YES, NO, NO}},        {"motif", NO, {NO, YES, YES, YES, NO, NO}},
                                 {"modded-nanogpt", NO, {NO, YES, YES, YES, NO, NO}}, {"algoperf", NO, {NO, YES, YES, NO, NO, NO}},          {"algoperf-kj", NO, {NO, YES, YES, NO, NO, NO}},
                                 {"algoperf-kj-rs", NO, {NO, YES, YES, NO, NO, NO}},  {"algoperf-bucketed", NO, {NO, YES, YES, NO, NO, NO}}, {"ef21", YES, {NO, NO, YES, YES, YES, NO}},
                                 {"ef21-rank15", YES, {NO, NO, YES, YES, YES, NO}},   {"scion", YES, {NO, NO, YES, YES, YES, NO}},           {"scion-unconstrained", YES, {NO, NO, YES, YES, YES, NO}},
                                 {"soap", NO, {NO, YES, YES, YES, NO, NO}},           {"soap-muon", NO, {NO, YES, YES, YES, NO, NO}},        {"signmuon", NO, {NO, NO, NO, NO, NO, NO}}};

static PetscErrorCode Add(Parameter list[], PetscInt *n, Role role, const char format[], PetscInt a, PetscInt b)
{
  PetscFunctionBegin;
  PetscCheck(*n < 256, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many parameters");
  PetscCall(PetscSNPrintf(list[*n].name, sizeof(list[*n].name), format, a, b));
  list[(*n)++].role = role;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of GPT-2 by Hugging Face's names, of ResNet-18 by torchvision's, and names that are nearly others */
static PetscErrorCode MakeList(Parameter list[], PetscInt *n)
{
  static const char *const vectors[] = {"h%" PetscInt_FMT ".ln_1.weight", "h%" PetscInt_FMT ".ln_1.bias", "h%" PetscInt_FMT ".attn.c_attn.bias", "h%" PetscInt_FMT ".attn.c_proj.bias",
                                        "h%" PetscInt_FMT ".ln_2.weight", "h%" PetscInt_FMT ".ln_2.bias", "h%" PetscInt_FMT ".mlp.c_fc.bias",    "h%" PetscInt_FMT ".mlp.c_proj.bias"};
  static const char *const hidden[]  = {"h%" PetscInt_FMT ".attn.c_attn.weight", "h%" PetscInt_FMT ".attn.c_proj.weight", "h%" PetscInt_FMT ".mlp.c_fc.weight", "h%" PetscInt_FMT ".mlp.c_proj.weight"};
  static const char *const block[]   = {"layer%" PetscInt_FMT ".%" PetscInt_FMT ".conv1.weight", "layer%" PetscInt_FMT ".%" PetscInt_FMT ".conv2.weight"};
  static const char *const norms[]   = {"layer%" PetscInt_FMT ".%" PetscInt_FMT ".bn1.weight", "layer%" PetscInt_FMT ".%" PetscInt_FMT ".bn1.bias", "layer%" PetscInt_FMT ".%" PetscInt_FMT ".bn2.weight",
                                        "layer%" PetscInt_FMT ".%" PetscInt_FMT ".bn2.bias"};
  static const char *const nearly[]  = {"attn.heads.qkv", "tok_mlp", "embedder.w", "unembedded", "lm_header", "h0.head.q", "h0.fc", "my.conv1", "wteq", "output_proj.wp", "fc1", "h0.output"};
  static const char *const tables[]  = {"tok_embeddings.weight", "model.embed_tokens.weight", "token_Embedding", "embedding_chunk.a", "value_embeds.w"};

  PetscFunctionBegin;
  *n = 0;
  PetscCall(Add(list, n, MATRIX, "first", 0, 0));
  PetscCall(Add(list, n, EMBEDDING, "wte.weight", 0, 0));
  PetscCall(Add(list, n, EMBEDDING, "wpe.weight", 0, 0));
  for (PetscInt l = 0; l < 12; l++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(vectors); k++) PetscCall(Add(list, n, VECTOR, vectors[k], l, 0));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(hidden); k++) PetscCall(Add(list, n, MATRIX, hidden[k], l, 0));
  }
  PetscCall(Add(list, n, VECTOR, "ln_f.weight", 0, 0));
  PetscCall(Add(list, n, VECTOR, "ln_f.bias", 0, 0));
  PetscCall(Add(list, n, HEAD, "lm_head.weight", 0, 0));
  PetscCall(Add(list, n, FILTERS, "conv1.weight", 0, 0));
  PetscCall(Add(list, n, VECTOR, "bn1.weight", 0, 0));
  PetscCall(Add(list, n, VECTOR, "bn1.bias", 0, 0));
  for (PetscInt l = 1; l <= 4; l++) {
    for (PetscInt b = 0; b < 2; b++) {
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(block); k++) PetscCall(Add(list, n, MATRIX, block[k], l, b));
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(norms); k++) PetscCall(Add(list, n, VECTOR, norms[k], l, b));
    }
    if (l == 1) continue;
    PetscCall(Add(list, n, MATRIX, "layer%" PetscInt_FMT ".0.downsample.0.weight", l, 0));
    PetscCall(Add(list, n, VECTOR, "layer%" PetscInt_FMT ".0.downsample.1.weight", l, 0));
    PetscCall(Add(list, n, VECTOR, "layer%" PetscInt_FMT ".0.downsample.1.bias", l, 0));
  }
  PetscCall(Add(list, n, CLASSIFIER, "fc.weight", 0, 0));
  PetscCall(Add(list, n, VECTOR, "fc.bias", 0, 0));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(nearly); k++) PetscCall(Add(list, n, MATRIX, nearly[k], 0, 0));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(tables); k++) PetscCall(Add(list, n, EMBEDDING, tables[k], 0, 0));
  PetscCall(Add(list, n, MATRIX, "row.matrix", 0, 0)); /* by kind */
  PetscCall(Add(list, n, EMBEDDING, "t", 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(Muon muon, const Source *source, PetscInt n, const Parameter list[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const PetscBool edge = source->edge[list[i].role];
    MuonLayer       layer;
    MuonLayerType   type;
    MuonLMO         lmo;
    MuonLMOType     norm;
    PetscBool       adamw, max;

    PetscCall(MuonGetLayer(muon, i, &layer));
    PetscCall(MuonLayerGetType(layer, &type));
    PetscCall(MuonLayerGetLMO(layer, &lmo));
    PetscCall(MuonLMOGetType(lmo, &norm));
    PetscCall(PetscStrcmp(type, MUONLAYERADAMW, &adamw));
    PetscCall(PetscStrcmp(norm, MUONLMOMAX, &max));
    PetscCheck(adamw == (edge && source->norm == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE) && max == (edge && source->norm ? PETSC_TRUE : PETSC_FALSE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: \"%s\" is updated by %s, norm %s", source->preset,
               list[i].name, type, norm);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys and values; in place of a value an optimizer that has no preset says it: - */
static const struct {
  const char *preset, *keys;
  PetscBool   votes;
} Keys[] = {
#define SIGN(direction, clip, momentum, rate) "sign_direction " direction " muon_clip " clip " muon_momentum " momentum " muon_learning_rate " rate
#define POLAR(steps, normalization)           " lmo_polar_coefficients cubic lmo_polar_steps " steps " lmo_polar_normalization " normalization
  {"signmuon", SIGN("polar", "0", "-", "-") POLAR("7", "frobenius"), YES},
  {"signmuon-1step", SIGN("polar", "1", "-", "0.001") " muon_clip_layers all lmo_polar_power_iterations 2" POLAR("1", "spectral"), YES},
  {"signadam", SIGN("adam", "0", "0.9", "-"), YES},
  {"signsgd", SIGN("gradient", "0", "0", "-"), YES},
  /* A key of the user's has the last word */
  {"muoneq", "muon_layer_tall_before rows muon_layer_tall_after none muon_layer_wide_before columns", NO},
  {"normuon", "muon_layer_tall_before none muon_layer_tall_after normuon_row muon_layer_wide_before columns", NO},
  {"nanochat", "muon_layer_tall_before rows muon_layer_tall_after frobenius,normuon_long muon_layer_wide_before columns", NO},
  {"soap-muon", "muon_layer_tall_before soap muon_layer_tall_after none muon_layer_wide_before columns", NO},
  {"soap", "muon_layer_tall_before none muon_layer_tall_after none muon_layer_wide_before columns muon_layer_tall_soap_basis qr", NO},
};

static PetscErrorCode CheckKeys(void)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Keys); k++) {
    char          keys[512], value[64], own[64];
    MuonLMO       lmo;
    MuonPolar     polar;
    MuonLMOType   norm;
    MuonPolarType method;
    PetscBool     polars;
    Muon          untouched;
    Problem       p;

    PetscCall(ProblemCreateWith(&p, "-problem_layers square,tall,wide -muon_preset %s%s", Keys[k].preset, Keys[k].votes ? "" : " -muon_layer_wide_before columns"));
    PetscCall(MuonLayerGetLMO(p.layer[1].layer, &lmo));
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonLMOGetType(lmo, &norm));
    PetscCall(MuonPolarGetType(polar, &method));
    polars = strstr(Keys[k].keys, "polar_steps") != NULL ? PETSC_TRUE : PETSC_FALSE;
    PetscCheck(strcmp(norm, MUONLMOSPECTRAL) == 0 && (polars == PETSC_FALSE || strcmp(method, MUONPOLARNEWTONSCHULZ) == 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Preset %s: norm %s, polar factors by %s", Keys[k].preset, norm, method);
    PetscCall(MuonCreate(PETSC_COMM_SELF, &untouched));
    PetscCall(PetscStrncpy(keys, Keys[k].keys, sizeof(keys)));
    for (char *key = strtok(keys, " "); key != NULL; key = strtok(NULL, " ")) {
      const char *expected = strtok(NULL, " ");

      if (strncmp(key, "lmo_polar_", 10) == 0) PetscCall(MuonObjectGetParameter((PetscObject)polar, key, value, sizeof(value)));
      else PetscCall(MuonGetParameter(p.muon, key, value, sizeof(value)));
      if (expected[0] == '-') PetscCall(MuonGetParameter(untouched, key, own, sizeof(own)));
      if (expected[0] == '-') expected = own;
      PetscCheck(strcmp(value, strcmp(expected, "none") == 0 && strstr(key, "_after") != NULL ? "" : expected) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Preset %s: %s is \"%s\", expected \"%s\"", Keys[k].preset, key, value, expected);
    }
    PetscCall(MuonDestroy(&untouched));
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every entry that votes moves in every step by the rate, up or down, without decay: after three of them by an odd number of rates */
static PetscErrorCode CheckVotes(const char preset[])
{
  double    before[3][36], after[36];
  PetscReal rate;
  Problem   p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, "-problem_layers square,tall,wide -muon_preset %s", preset));
  PetscCall(MuonGetLearningRate(p.muon, &rate));
  for (PetscInt l = 0; l < p.n; l++) PetscCall(ProblemGetRows(&p, l, NULL, before[l], NULL));
  for (PetscInt s = 0; s < 3; s++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(ProblemCheckReason(&p, MUON_CONVERGED_ITERATING, preset, "a step"));
  }
  for (PetscInt l = 0; l < p.n; l++) {
    PetscCall(ProblemGetRows(&p, l, NULL, after, NULL));
    for (PetscInt e = 0; e < 36; e++) {
      const double moved = fabs(after[e] - before[l][e]) / (double)rate;

      /* Weights of at most one, rounded in each step */
      PetscCheck(PetscMin(fabs(moved - 1), fabs(moved - 3)) <= 6 * (double)(PETSC_MACHINE_EPSILON / rate), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of layer %" PetscInt_FMT " moved by %g rates", preset, e, l, moved);
    }
  }
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Parameter list[256];
  PetscInt  n;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckKeys());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Keys); k++) {
    if (Keys[k].votes) PetscCall(CheckVotes(Keys[k].preset));
  }
  PetscCall(MakeList(list, &n));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Sources); k++) {
    for (PetscInt when = 0; when < 3; when++) { /* the preset: before the layers, after them, after those of another one */
      PetscScalar   *w;
      MuonLayerArray array;
      Muon           muon;
      MuonLayer      layer;
      PetscBool      same;

      PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
      if (when == 0) PetscCall(MuonSetPreset(muon, Sources[k].preset));
      if (when == 2) PetscCall(MuonSetPreset(muon, "kj"));
      PetscCall(PetscCalloc1(12, &w));
      for (PetscInt i = 0; i < n; i++) {
        PetscCall(MuonLayerArrayInitialize(&array));
        array.M = list[i].role == VECTOR && i % 2 == 0 ? 1 : 4;
        array.N = list[i].role == VECTOR && i % 2 == 1 ? 1 : 3;
        array.w = w;
        if (i == n - 1) array.kind = 2;
        if (i == n - 2) array.kind = 1;
        if (i == n - 2) array.M = 1;
        PetscCall(MuonAddLayerArray(muon, list[i].name, &array, NULL));
      }
      PetscCall(MuonGetLayer(muon, 0, &layer));
      if (when > 0) PetscCall(MuonLayerSetType(layer, MUONLAYERSGD)); /* which stays */
      if (when > 0) PetscCall(MuonSetPreset(muon, Sources[k].preset));
      PetscCall(PetscObjectTypeCompare((PetscObject)layer, MUONLAYERSGD, &same));
      PetscCheck(same == (when > 0 ? PETSC_TRUE : PETSC_FALSE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: what the program said of a layer does not stay", Sources[k].preset);
      PetscCall(MuonLayerSetType(layer, MUONLAYERLMO));
      PetscCall(Check(muon, &Sources[k], n, list));
      PetscCall(MuonDestroy(&muon));
      PetscCall(PetscFree(w));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    output_file: output/kernels_ok.out

TEST*/
