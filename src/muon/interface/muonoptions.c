#include "muoninterface.h"
#include <ctype.h>
#include <string.h>

/* Length of a candidate key: families' prefixes and a layer's name in front of a key */
#define MUON_KEY_LENGTH (2 * PETSC_MAX_OPTION_NAME)

/* Length of the word that ends before letter i, with the underscore before it; 0 if none ends there */
static size_t MuonKeyWord_Private(const char key[], size_t i)
{
  size_t length = 0;

  if (key[i] != '\0' && key[i] != '_') return 0;
  while (length < i && key[i - ++length] != '_') {}
  return length;
}

/*
   Levenshtein distance, case insensitive, in which a word too many or too few counts as two letters, and another first word, the
   family of a key, as three
*/
static PetscErrorCode MuonKeyDistance_Private(const char a[], const char b[], PetscInt *distance)
{
  size_t    na, nb, word;
  PetscInt *table;

  PetscFunctionBegin;
  PetscCall(PetscStrlen(a, &na));
  PetscCall(PetscStrlen(b, &nb));
  PetscCall(PetscMalloc1((na + 1) * (nb + 1), &table));
  for (size_t i = 0; i <= na; i++) {
    for (size_t j = 0; j <= nb; j++) {
      PetscInt *const at = table + i * (nb + 1) + j;

      *at = i + j == 0 ? 0 : PETSC_MAX_INT;
      if (i > 0) *at = PetscMin(*at, *(at - nb - 1) + 1);
      if (j > 0) *at = PetscMin(*at, *(at - 1) + 1);
      if (i > 0 && j > 0) *at = PetscMin(*at, *(at - nb - 2) + (tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]) ? 0 : 1));
      word = MuonKeyWord_Private(a, i);
      if (word > 0) *at = PetscMin(*at, *(at - word * (nb + 1)) + 2);
      if (word == i && word > 0 && MuonKeyWord_Private(b, j) == j) *at = PetscMin(*at, 3);
      word = MuonKeyWord_Private(b, j);
      if (word > 0) *at = PetscMin(*at, *(at - word) + 2);
    }
  }
  *distance = table[(na + 1) * (nb + 1) - 1];
  PetscCall(PetscFree(table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Muon        muon;
  const char *key; /* as the user wrote it */
  PetscBool   layer;
  PetscBool   number; /* the value is one, which no enumeration takes */
  PetscInt    best, more;
  char       *nearest;
} MuonKeySearch;

static PetscErrorCode MuonKeyTry_Private(MuonKeySearch *search, const char before[], const char between[], const char key[])
{
  char     whole[MUON_KEY_LENGTH];
  PetscInt distance = 0;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(whole, sizeof(whole), "%s%s%s", before, between, key));
  PetscCall(MuonKeyDistance_Private(search->key, whole, &distance));
  if (distance > 0) distance += search->more;
  if (distance < search->best) PetscCall(PetscStrncpy(search->nearest, whole, MUON_KEY_LENGTH));
  search->best = PetscMin(search->best, distance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A key itself, unless it is for single layers only, and with the name of each layer */
static PetscErrorCode MuonKeyTryLayers_Private(MuonKeySearch *search, const char before[], const char key[], PetscBool own)
{
  char layer[MUON_KEY_LENGTH];

  PetscFunctionBegin;
  if (own == PETSC_FALSE) PetscCall(MuonKeyTry_Private(search, "", before, key));
  for (PetscInt l = 0; l < search->muon->nlayers && search->layer && strncmp(key, "muon_", 5) != 0; l++) {
    PetscCall(PetscSNPrintf(layer, sizeof(layer), "muon_layer_%s_", ((PetscObject)search->muon->layer[l])->name));
    PetscCall(MuonKeyTry_Private(search, layer, before, key));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys of compressors are behind the prefixes that types have registered */
static PetscErrorCode MuonKeyTryRow_Private(const char family[], const char type[], const MuonParameter *row, void *ctx)
{
  MuonKeySearch *const search = (MuonKeySearch *)ctx;
  const PetscBool      own    = strcmp(family, "muon_layer_NAME_") == 0 ? PETSC_TRUE : PETSC_FALSE;
  char                 key[MUON_KEY_LENGTH];

  PetscFunctionBegin;
  search->more = search->number && row->kind == MUON_PARAMETER_ENUM ? 2 : 0;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s%s", own ? "" : family, row->key));
  if (strncmp(key, "compressor", 10) != 0) {
    PetscCall(MuonKeyTryLayers_Private(search, "", key, own));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt a = 0; a < search->muon->naddons; a++) {
    for (const char *const *prefix = search->muon->addon[a].ops->keys; prefix != NULL && *prefix != NULL; prefix++) {
      if ((*prefix)[strlen(*prefix) - 1] == '_') PetscCall(MuonKeyTryLayers_Private(search, *prefix, key, own));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The keys that are no parameters and select no type, behind their families */
static const char *const MuonOtherKeys[][2] = {{"muon_", "preset"}, {"muon_", "view"}, {"muon_", "converged_reason"}, {"muon_layer_NAME_", "blocks_rows"}, {"muon_layer_NAME_", "blocks_columns"}, {"lmo_polar_", "monitor"}};

PetscErrorCode MuonGetNearestOption_Private(Muon muon, const char key[], const char value[], size_t length, char text[])
{
  char          whole[MUON_KEY_LENGTH], nearest[MUON_KEY_LENGTH] = "";
  MuonKeySearch search = {muon, whole, PETSC_FALSE, value != NULL && isdigit((unsigned char)value[0]) ? PETSC_TRUE : PETSC_FALSE, PETSC_MAX_INT, 0, nearest};
  MuonParameter row    = {0};
  PetscBool     is;

  PetscFunctionBegin;
  PetscCall(PetscStrendswith(key, "_lr", &is)); /* which people bring along */
  PetscCall(PetscSNPrintf(whole, sizeof(whole), "%.*s%s", (int)(strlen(key) - (is ? 2 : 0)), key, is ? "learning_rate" : ""));
  PetscCall(PetscStrbeginswith(key, "muon_layer_", &search.layer));
  PetscCall(MuonParametersForEach(MuonKeyTryRow_Private, &search));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(MuonOtherKeys); k++) {
    row.key = MuonOtherKeys[k][1];
    PetscCall(MuonKeyTryRow_Private(MuonOtherKeys[k][0], "", &row, &search));
  }
  for (PetscInt a = 0; a < muon->naddons; a++) {
    for (const char *const *more = muon->addon[a].ops->keys; more != NULL && *more != NULL; more++) {
      if ((*more)[strlen(*more) - 1] != '_') PetscCall(MuonKeyTryLayers_Private(&search, "", *more, PETSC_FALSE));
    }
  }
  PetscCall(PetscStrncpy(text, nearest, length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHelpLayer_Private(Muon muon, MuonLayer layer)
{
  MuonLayerType type;
  PetscBool     help, same, has = PETSC_FALSE; /* keys of the optimizer's type */

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasHelp(((PetscObject)muon)->options, &help));
  if (help == PETSC_FALSE || ((PetscObject)layer)->optionsprinted) PetscFunctionReturn(PETSC_SUCCESS);
  ((PetscObject)layer)->optionsprinted = PETSC_TRUE;
  PetscCall(MuonLayerGetType(layer, &type));
  for (PetscInt k = 0; k < muon->naddons; k++) {
    PetscCall(PetscObjectTypeCompare((PetscObject)muon, muon->addon[k].name, &same));
    if (same && muon->addon[k].ops->layerrows != NULL) has = PETSC_TRUE;
  }
  PetscCall((*PetscHelpPrintf)(PetscObjectComm((PetscObject)muon),
                               "  -%smuon_layer_%s_(type|learning_rate|scale|momentum|weight_decay|shape_factor|step|blocks_rows|blocks_columns|assembly|lmo_...%s%s%s): layer %s, %" PetscInt_FMT " x %" PetscInt_FMT ", type %s\n", MuonPrefix(muon),
                               ((PetscObject)layer)->name, has ? "|" : "", has ? ((PetscObject)muon)->type_name : "", has ? "_..." : "", ((PetscObject)layer)->name, layer->m, layer->n, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Removed keys of 0.1 and their successors; the table goes when 0.2 is out */
static const char *const MuonRenamed[][2] = {{"muon_cost_measure", "give -muon_cost_alpha, -muon_cost_beta and -muon_cost_gamma"}};

static PetscErrorCode MuonWarnUnread_Private(Muon muon, const char key[], const char value[])
{
  const char *const type   = MuonParametersTypeOfKey(key);
  const char       *prefix = MuonPrefix(muon);
  const MPI_Comm    comm   = PetscObjectComm((PetscObject)muon);
  char              nearest[MUON_KEY_LENGTH];
  PetscBool         same;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(MuonRenamed); k++) {
    PetscCall(PetscStrcmp(key, MuonRenamed[k][0], &same));
    if (!same) continue;
    PetscCall(MuonNotice(comm, "PetscMuon warning: option -%s%s is no longer there: %s\n", prefix, key, MuonRenamed[k][1]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonGetNearestOption_Private(muon, key, value, sizeof(nearest), nearest));
  PetscCall(PetscStrcasecmp(key, nearest, &same));
  if (!same) PetscCall(MuonNotice(comm, "PetscMuon warning: option -%s%s is unknown; the nearest that exists is -%s%s\n", prefix, key, prefix, nearest));
  else if (type != NULL) PetscCall(MuonNotice(comm, "PetscMuon warning: option -%s%s takes effect with the type %s, which nothing has here\n", prefix, key, type));
  else PetscCall(MuonNotice(comm, "PetscMuon warning: option -%s%s takes no effect with the types that were set\n", prefix, key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonKnowsFamily_Private(const char key[], PetscBool *knows)
{
  char word[64];
  PetscErrorCode (*create)(Muon);

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(word, sizeof(word), "%.*s", (int)strcspn(key, "_"), key));
  PetscCall(PetscStrInList(word, "muon lmo compressor", ' ', knows));
  PetscCall(PetscFunctionListFind(MuonList, word, &create));
  if (create != NULL) *knows = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   PETSc names unread keys when the program ends, after the run that they should have changed. This warns once, before the first
   step, of keys of this library's families with this optimizer's prefix.
*/
PetscErrorCode MuonCheckOptions_Private(Muon muon)
{
  char      **names = NULL, **values = NULL, *svd;
  const char *prefix = MuonPrefix(muon);
  PetscInt    n;

  PetscFunctionBegin;
  if (muon->optionschecked) PetscFunctionReturn(PETSC_SUCCESS);
  muon->optionschecked = PETSC_TRUE;
  if (!muon->setfromoptionscalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsLeftGet(((PetscObject)muon)->options, &n, &names, &values));
  for (PetscInt i = 0; i < n; i++) {
    const char *const key = names[i] + strlen(prefix);
    PetscBool         ours;

    /* SLEPc's own keys are read at the first decomposition, and only by the ranks that compute one */
    PetscCall(PetscStrstr(names[i], "_svd_", &svd));
    if (svd != NULL || strncmp(names[i], prefix, strlen(prefix)) != 0) continue;
    PetscCall(MuonKnowsFamily_Private(key, &ours));
    if (ours) PetscCall(MuonWarnUnread_Private(muon, key, values[i]));
  }
  PetscCall(PetscOptionsLeftRestore(((PetscObject)muon)->options, &n, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetPreset - Sets the parameters of a published optimizer by its name

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- name - the name of a published optimizer

  Options Database Key:
. -muon_preset name - the name

  Level: beginner

  Notes:
  A preset sets a type and some keys. Setters that are called later, and the options database, can change single keys\:
  `-muon_preset kj -muon_momentum 0.9` is K. Jordan's Muon with another momentum. Another type than the preset's is an
  error. Set a preset before `MuonSetUp()`. It also applies to layers that are added later.

.vb
  name                 type   momentum, Nesterov   factor     polar factor        decay       exchange                          rate; AdamW: rate, betas, epsilon, decay
  kj                   dense  0.95 ema, ema        kj         kj 5                0           layerwise allreduce roundrobin    0.02; 3e-4, 0.9 0.95, 1e-10, 0
  torch                dense  0.95 ema, ema        kj         kj 5                0.1         replicated allreduce              1e-3; 1e-3, 0.9 0.999, 1e-8, 0.01
  algoperf             dense  0.9 ema, ema         kj         kj 5                0           replicated allreduce              0.01; 0.01, 0.9 0.999, 1e-8, 0
  algoperf-kj          the same                                                               layerwise allreduce roundrobin
  algoperf-kj-rs       the same                                                               layerwise reduce roundrobin
  algoperf-bucketed    the same                                                               layerwise allreduce bucketed
  moonlight            dense  0.95 sgd, sgd        moonlight  kj 5                0.1         rows, allgather in bf16           1e-3; 1e-3, 0.9 0.95, 1e-8, 0.1
  motif                the same                               you                             rows, owner roundrobin in bf16,
                                                                                              5 chunks of
                                                                                              warm-up
  modded-nanogpt       dense  0.85 to 0.95 in      kj         modded              cautious    layerwise reduce roundrobin
                              300 steps, ema, ema
  dmuon                dense  0.95 sgd, sgd        moonlight  gram pe105 5,       decoupled   layerwise reduce lpt
                                                              restart after 2
  muoneq               dense                       moonlight                      decoupled                                     rows before the LMO
  normuon              dense  0.95 sgd, none       moonlight                      decoupled                                     normuon_row 0.95 after it
  nanochat             dense  0.95 ema, ema        kj         polarexpress 5      cautious                                      rows; frobenius, normuon_long 0.9
  soap                 dense  SOAP                                                0.01                                          3e-3; AdamW: 3e-3, 0.95 0.95, 1e-8
  soap-muon            dense  0.95 ema, ema        kj                             cautious                                      SOAP of one side 0.9 before the LMO
  scion                dense  0.9 ema, none        scion      kj 5                1           replicated allreduce              1e-3
  scion-unconstrained  the same                                                   0
  ef21                 ef21   0.9 ema, none        none       kj 5                0           star; up topk 0.15 natural,       3.6e-4, trapezoid 0.4
                                                                                              down identity
  signmuon             sign                                   cubic 7, frobenius
  signmuon-1step       sign                                   cubic 1, spectral                                                 1e-3
                                                              by 2 iterations
  signadam             sign   0.9
  signsgd              sign   0
  muloco               local  0.9 ema, none        scion      kj 5                            30 steps, then 0.7 and            AdamW: 0.9 0.99, 1e-8
                                                                                              Nesterov 0.6
  diloco               local  AdamW everywhere                                                500 steps, then 0.7 and           AdamW: 4e-4, 0.1
                                                                                              Nesterov 0.9
  sparseloco           local  AdamW everywhere                                                30 steps, then 1 and 0 by ef14
                                                                                              with feedback 0.95, topk 64 of
                                                                                              4096, 2 bits
.ve

  kj is `MuonWithAuxAdam` of K. Jordan's repository, torch is `torch.optim.Muon` with `torch.optim.AdamW`, both with
  their defaults. algoperf is the entry of the Muon team to AlgoPerf with its numbers for PyTorch; its variants were
  tried with it. ef21 is the paper's run of EF21-Muon with Top-15% and natural values up. signmuon and signmuon-1step
  have the direction polar of `MUONSIGN`. signmuon-1step clips the gradients of all layers at the norm 1 (Table 1 of its paper).
  signadam and signsgd have its directions adam and gradient. The update is that of `-sign_update`.
  The learning rates of modded-nanogpt and dmuon, and the scales of the layers for scion and ef21, depend on the model
  and are left to the user. Blank fields are the library's defaults.

  muloco has the rounds and the outer optimizer of its paper, and the inner Muon of its program. sparseloco sends the largest 64 of each
  4096 entries with values of 2 bits, as in its paper; the choice of the two magnitudes of a block is ours. Its paper has rounds of 15 to
  250 steps; the preset has 30.

  Layers get their optimizers as in these programs\: AdamW updates vectors, embeddings and heads, by their names. With
  ef21 and scion embeddings and heads have the norm `MUONLMOMAX`. `MuonLayerSetType()` overrides the preset for a
  layer, and `MuonSetLayerTypes()` overrides both. The manual's page on presets lists the names. `MuonView()` prints the
  source of each layer's optimizer.

  muoneq, normuon and nanochat use `MUONLAYERBEFORE` and `MUONLAYERAFTER`. nanochat's decay uses the plain rate here, and its rates depend on its
  model. soap has the numbers of its authors' program, which also rotates embeddings and heads, on one side. soap-muon has one side, as record 46 of
  modded-nanogpt's third track, with an exact polar factor.

  Two differences remain\: those programs compute polar factors in bfloat16 (here `-lmo_polar_precision bf16`), and add
  a tiny number to the Frobenius norm before they divide by it.

  References:
+ * - K. Jordan et al., Muon\: An optimizer for hidden layers in neural networks, 2024
. * - T. Pethick et al., Training deep learning models with norm-constrained LMOs, 2025
. * - K. Gruntkowska et al., Error feedback for Muon and friends, 2025
. * - B. Therien et al., MuLoCo\: Muon is a practical inner optimizer for DiLoCo, arXiv:2505.23725
. * - A. Douillard et al., DiLoCo\: Distributed low-communication training of language models, arXiv:2311.08105
. * - A. Sarfi et al., Communication efficient LLM pre-training with SparseLoCo, arXiv:2508.15706
. * - MuonEq, arXiv:2603.28254, and NorMuon, arXiv:2510.05491
. * - N. Vyas et al., SOAP\: Improving and stabilizing Shampoo using Adam, arXiv:2409.11321
- * - SignMuon\: Communication-Efficient Distributed Muon Optimization, arXiv:2605.16311

.seealso: `Muon`, `MuonSetFromOptions()`, `MuonSetType()`, `MuonSetLayerTypes()`
@*/
PetscErrorCode MuonSetPreset(Muon muon, const char name[])
{
  const char *type;
  char       *copy;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(name, 2);
  PetscCall(MuonPresetGetType_Private(muon, name, &type));
  PetscCheck(muon->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%smuon_preset must be set before MuonSetUp(), or after MuonReset()", MuonPrefix(muon));
  PetscCall(PetscStrallocpy(name, &copy)); /* which may be what is freed */
  PetscCall(PetscFree(muon->rates->preset));
  PetscCall(MuonSetType(muon, type));
  muon->rates->preset = copy;
  PetscCall(MuonPresetRead_Private(muon, (PetscObject)muon));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscCall(MuonMatchLayerType_Private(muon, muon->layer[l]));
    PetscCall(MuonPresetRead_Private(muon, (PetscObject)muon->layer[l]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
