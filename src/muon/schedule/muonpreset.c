#include "muonschedule.h" /*I "petscmuon.h" I*/
#include <strings.h>

/*
   Published optimizers by name: the keys that each sets. A preset is read like an options database, before the user's. Layers
   whose names match edges have the norm, or AdamW if they are vectors or there is no norm; the others have the type.
*/
typedef struct {
  const char        *name;
  MuonType           type;
  const char        *keys;
  const char *const *edges;
  const char        *norm;
  MuonLayerType      layers;
} MuonPreset;

/* Components of names: of first filters and heads of image networks, of other heads, of embeddings; ^ is for the first */
static const char *const MuonPresetEdges[] = {"^conv1", "^fc", "^head", "^classifier", "lm_head", "unembed", "^output", "embed", "embeds", "embedding", "embeddings", "wte", "wpe", NULL};
#define HIDDEN     MuonPresetEdges, NULL, MUONLAYERLMO
#define NORMS      MuonPresetEdges + 1, MUONLMOMAX, MUONLAYERLMO
#define LANGUAGE   MuonPresetEdges + 4, NULL, MUONLAYERLMO
#define EMBEDDINGS MuonPresetEdges + 7, NULL, MUONLAYERLMO
#define ALIKE      NULL, NULL, MUONLAYERLMO
#define TURNED     MuonPresetEdges + 4, NULL, MUONLAYERSOAP

#define POLAR_KJ       " -lmo_polar_type newtonschulz -lmo_polar_coefficients kj -lmo_polar_steps 5"
#define NESTEROV_EMA   " -muon_momentum_style ema -muon_nesterov ema"
#define EVERYWHERE     " -muon_exchange_type replicated -muon_exchange_mode allreduce"
#define OWNERS(mode)   " -muon_exchange_type layerwise -muon_exchange_assignment roundrobin -muon_exchange_mode " mode
#define DECAY(decay)   " -muon_weight_decay_style decoupled -muon_weight_decay " decay
#define ADAMW(b2, eps) " -muon_adamw_beta1 0.9 -muon_adamw_beta2 " b2 " -muon_adamw_epsilon " eps
#define ALGOPERF       "-muon_learning_rate 0.01 -muon_momentum 0.9 -muon_shape_factor kj -muon_adamw_learning_rate 0.01 -muon_adamw_weight_decay 0" NESTEROV_EMA POLAR_KJ DECAY("0") ADAMW("0.999", "1e-8")
#define MOONLIGHT \
  "-muon_learning_rate 1e-3 -muon_momentum 0.95 -muon_momentum_style sgd -muon_nesterov sgd -muon_shape_factor moonlight -muon_adamw_learning_rate 1e-3 -muon_adamw_weight_decay 0.1 -muon_exchange_type rows -muon_assembly_precision bf16" DECAY( \
    "0.1") ADAMW("0.95", "1e-8")
#define SIGNMUON "-sign_direction polar -lmo_type spectral -lmo_polar_type newtonschulz -lmo_polar_coefficients cubic -lmo_polar_steps "
#define SCION    "-muon_learning_rate 1e-3 -muon_momentum 0.9 -muon_momentum_style ema -muon_nesterov none -muon_shape_factor scion" POLAR_KJ EVERYWHERE

#define EF21(compressor) \
  "-muon_learning_rate 3.6e-4 -muon_schedule trapezoid -muon_schedule_constant 0.4 -muon_momentum 0.9 -muon_momentum_style ema -muon_nesterov none -ef21_compressor " compressor \
  " -ef21_compressor_ratio 0.15 -ef21_compressor_values natural -ef21_server_compressor identity -muon_exchange_type star" POLAR_KJ DECAY("0")

#define OUTER(steps, type, rate, momentum) "-local_steps " steps " -outer_muon_type " type " -outer_muon_learning_rate " rate " -outer_muon_momentum " momentum

static const MuonPreset MuonPresets[] = {
  {"kj", MUONDENSE, "-muon_learning_rate 0.02 -muon_momentum 0.95 -muon_shape_factor kj -muon_adamw_learning_rate 3e-4 -muon_adamw_weight_decay 0" NESTEROV_EMA POLAR_KJ DECAY("0") OWNERS("allreduce") ADAMW("0.95", "1e-10"), HIDDEN},
  {"torch", MUONDENSE, "-muon_learning_rate 1e-3 -muon_momentum 0.95 -muon_shape_factor kj -muon_adamw_learning_rate 1e-3 -muon_adamw_weight_decay 0.01" NESTEROV_EMA POLAR_KJ DECAY("0.1") EVERYWHERE ADAMW("0.999", "1e-8"), HIDDEN},
  {"algoperf", MUONDENSE, ALGOPERF EVERYWHERE, EMBEDDINGS},
  {"algoperf-kj", MUONDENSE, ALGOPERF OWNERS("allreduce"), EMBEDDINGS},
  {"algoperf-kj-rs", MUONDENSE, ALGOPERF OWNERS("reduce"), EMBEDDINGS},
  {"algoperf-bucketed", MUONDENSE, ALGOPERF " -muon_exchange_type layerwise -muon_exchange_assignment bucketed -muon_exchange_mode allreduce", EMBEDDINGS},
  {"moonlight", MUONDENSE, MOONLIGHT POLAR_KJ " -muon_assembly allgather", LANGUAGE},
  {"motif", MUONDENSE, MOONLIGHT " -lmo_polar_type newtonschulz -lmo_polar_coefficients you -muon_assembly owner -muon_assembly_assignment roundrobin -muon_assembly_warmup 5", LANGUAGE},
  {"signmuon", MUONSIGN, SIGNMUON "7 -lmo_polar_normalization frobenius", ALIKE},
  {"signmuon-1step", MUONSIGN, SIGNMUON "1 -lmo_polar_normalization spectral -lmo_polar_power_iterations 2 -muon_clip 1.0 -muon_clip_layers all -muon_learning_rate 1e-3", ALIKE},
  {"signadam", MUONSIGN, "-lmo_type spectral -sign_direction adam -muon_momentum 0.9", ALIKE},
  {"signsgd", MUONSIGN, "-lmo_type spectral -sign_direction gradient -muon_momentum 0", ALIKE},
  {"modded-nanogpt", MUONDENSE,
   "-muon_momentum 0.95 -muon_momentum_warmup 300 -muon_momentum_warmup_start 0.85 -muon_weight_decay_style cautious -muon_shape_factor kj -lmo_polar_type newtonschulz -lmo_polar_coefficients modded" NESTEROV_EMA OWNERS("reduce"), LANGUAGE},
  {"dmuon", MUONDENSE,
   "-muon_momentum 0.95 -muon_momentum_style sgd -muon_dampening 0 -muon_nesterov sgd -muon_shape_factor moonlight -muon_weight_decay_style decoupled -lmo_polar_type gram -lmo_polar_coefficients pe105 -lmo_polar_steps 5 -lmo_polar_gram_restart 2 "
   "-muon_exchange_type layerwise -muon_exchange_assignment lpt -muon_exchange_mode reduce",
   HIDDEN},
  {"muoneq", MUONDENSE, "-muon_layer_before rows -muon_shape_factor moonlight -muon_weight_decay_style decoupled", HIDDEN},
  {"normuon", MUONDENSE, "-muon_layer_after normuon_row -muon_layer_after_beta 0.95 -muon_momentum 0.95 -muon_momentum_style sgd -muon_shape_factor moonlight -muon_weight_decay_style decoupled", HIDDEN},
  {"nanochat", MUONDENSE,
   "-muon_layer_before rows -muon_layer_after frobenius,normuon_long -muon_layer_after_beta 0.9 -muon_momentum 0.95 -muon_weight_decay_style cautious -muon_shape_factor kj -lmo_polar_type newtonschulz -lmo_polar_coefficients polarexpress "
   "-lmo_polar_steps 5" NESTEROV_EMA,
   LANGUAGE},
  {"soap", MUONDENSE, "-muon_layer_soap_basis qr -muon_adamw_learning_rate 3e-3 -muon_adamw_weight_decay 0.01 -muon_adamw_beta1 0.95 -muon_adamw_beta2 0.95 -muon_adamw_epsilon 1e-8 -muon_weight_decay_style decoupled", TURNED},
  {"soap-muon", MUONDENSE,
   "-muon_layer_before soap -muon_layer_before_beta 0.9 -muon_layer_before_soap_basis qr -muon_layer_before_soap_interval 1 -muon_momentum 0.95 -muon_momentum_at server -muon_weight_decay_style cautious -muon_shape_factor kj" NESTEROV_EMA, LANGUAGE},
  {"scion", MUONDENSE, SCION DECAY("1"), NORMS},
  {"scion-unconstrained", MUONDENSE, SCION DECAY("0"), NORMS},
  {"ef21", MUONEF21, EF21("topk"), NORMS},
  {"ef21-rank15", MUONEF21, EF21("rankk"), NORMS},
  {"muloco", MUONLOCAL, OUTER("30", "dense", "0.7", "0.6") " -muon_momentum 0.9 -muon_momentum_style ema -muon_nesterov none -muon_shape_factor scion" POLAR_KJ ADAMW("0.99", "1e-8"), HIDDEN},
  {"diloco", MUONLOCAL, OUTER("500", "dense", "0.7", "0.9") " -muon_layer_type adamw -muon_adamw_learning_rate 4e-4 -muon_adamw_weight_decay 0.1", ALIKE},
  {"sparseloco", MUONLOCAL,
   OUTER("30", "ef14", "1",
         "0") " -muon_layer_type adamw -outer_ef14_feedback 0.95 -outer_ef14_compressor_layers all -outer_ef14_compressor topk -outer_ef14_compressor_ratio 0.015625 -outer_ef14_compressor_block_entries 4096 -outer_ef14_compressor_values 2bit",
   ALIKE},
};

static PetscErrorCode MuonPresetFind_Private(Muon muon, const char name[], const MuonPreset **preset)
{
  char names[512] = "";

  PetscFunctionBegin;
  *preset = NULL;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(MuonPresets); k++) {
    PetscBool same;

    PetscCall(PetscStrcmp(MuonPresets[k].name, name, &same));
    if (same) *preset = &MuonPresets[k];
    if (k > 0) PetscCall(PetscStrlcat(names, ", ", sizeof(names)));
    PetscCall(PetscStrlcat(names, MuonPresets[k].name, sizeof(names)));
  }
  PetscCheck(*preset != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_UNKNOWN_TYPE, "-%smuon_preset %s: unknown preset, expected one of: %s", MuonPrefix(muon), name, names);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPresetGetType_Private(Muon muon, const char name[], const char *type[])
{
  const MuonPreset *preset;

  PetscFunctionBegin;
  PetscCall(MuonPresetFind_Private(muon, name, &preset));
  *type = preset->type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool MuonPresetNames_Private(const char word[], MuonLayer layer)
{
  const char *const name = ((PetscObject)layer)->name, *const from = word + strspn(word, "^"), *const ends = from == word ? "._/" : "./";
  const size_t length = strlen(from);

  for (const char *at = name; *at != '\0' && (at == name || from == word); at++) {
    if ((at == name || strchr(ends, at[-1]) != NULL) && strncasecmp(at, from, length) == 0 && strchr(ends, at[length]) != NULL) return PETSC_TRUE; /* the end of the name is one, too */
  }
  return PETSC_FALSE;
}

PetscErrorCode MuonPresetFindEdge_Private(Muon muon, MuonLayer layer, const char **edge, const char **norm, MuonLayerType *type)
{
  const MuonPreset *preset;

  PetscFunctionBegin;
  *edge = *norm = NULL;
  *type         = MUONLAYERLMO;
  if (muon->rates->preset == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonPresetFind_Private(muon, muon->rates->preset, &preset));
  *norm = preset->norm;
  if (layer->array.kind == MUON_LAYER_KIND_AUTO && (layer->m == 1 || layer->n == 1)) *edge = preset->edges != NULL && preset->norm == NULL ? "vector" : NULL;
  else if (layer->array.kind == MUON_LAYER_KIND_EMBEDDING && preset->edges != NULL) *edge = "embedding";
  else {
    for (const char *const *word = preset->edges; word != NULL && *word != NULL && *edge == NULL; word++) *edge = MuonPresetNames_Private(*word, layer) ? *word + strspn(*word, "^") : NULL;
  }
  *type = *edge != NULL && preset->norm == NULL ? MUONLAYERADAMW : preset->layers;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPresetView_Private(Muon muon, PetscViewer viewer)
{
  const MuonPreset *preset;
  char              none[256] = "";

  PetscFunctionBegin;
  PetscCall(MuonPresetFind_Private(muon, muon->rates->preset, &preset));
  for (const char *const *word = preset->edges; word != NULL && *word != NULL; word++) {
    PetscInt l = 0;

    while (l < muon->nlayers && MuonPresetNames_Private(*word, muon->layer[l]) == PETSC_FALSE) l++;
    if (l == muon->nlayers) PetscCall(PetscSNPrintf(none + strlen(none), sizeof(none) - strlen(none), "%s%s", none[0] != '\0' ? " " : ", no layer is named: ", *word + strspn(*word, "^")));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "preset %s%s\n", muon->rates->preset, none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPresetRead_Private(Muon muon, PetscObject object)
{
  const char *const prefix = ((PetscObject)muon)->prefix;
  const char       *edge = NULL, *norm = NULL;
  MuonLayerType     type;
  const MuonPreset *preset;
  PetscOptions      options;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(MuonPresetFind_Private(muon, muon->rates->preset, &preset));
  PetscCall(PetscOptionsCreate(&options));
  if (prefix != NULL) PetscCall(PetscOptionsPrefixPush(options, prefix));
  PetscCall(PetscOptionsInsertString(options, preset->keys));
  if (object->classid == MUONLAYER_CLASSID) PetscCall(MuonPresetFindEdge_Private(muon, (MuonLayer)object, &edge, &norm, &type));
  if (edge != NULL && norm != NULL) PetscCall(PetscOptionsSetValue(options, "-lmo_type", norm));
  if (prefix != NULL) PetscCall(PetscOptionsPrefixPop(options));
  ierr = MuonParametersReadFrom(object, options);
  PetscCall(PetscOptionsDestroy(&options));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
