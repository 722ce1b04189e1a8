#include "muoninterface.h"
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuonkeys.h>
#include <ctype.h>
#include <string.h>

/* Length of a candidate key: families' prefixes and a layer's name in front of a key */
#define MUON_KEY_LENGTH (2 * PETSC_MAX_OPTION_NAME)

/* How long the word is that ends before letter i, with the underscore before it; 0 where none ends there */
static size_t MuonKeyWord_Private(const char key[], size_t i)
{
  size_t length = 0;

  if (key[i] != '\0' && key[i] != '_') return 0;
  while (length < i && key[i - ++length] != '_') {}
  return length;
}

/*
   Levenshtein distance, up to case, in which a word too much or too little weighs as two letters do, and
   another first word, the family of a key, as three
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

/* The type of optimizer whose name a key begins with, where that is not this one's; "" else */
static PetscErrorCode MuonKeyOtherType_Private(Muon muon, const char key[], char type[64])
{
  PetscErrorCode (*create)(Muon) = NULL;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(type, 64, "%.*s", (int)strcspn(key, "_"), key));
  PetscCall(PetscFunctionListFind(MuonList, type, &create));
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, type, &same));
  if (create == NULL || same) type[0] = '\0';
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a key, as the sources have it, is read behind a layer's name, or else by the type of optimizer that
   the key asked for begins with, or by this one
*/
static PetscErrorCode MuonKeyIsRead_Private(Muon muon, const char key[], const char asked[], PetscBool layer, PetscBool *read)
{
  char type[64], other[64];
  PetscErrorCode (*create)(Muon) = NULL;
  PetscBool own, same;

  PetscFunctionBegin;
  *read = PETSC_TRUE;
  PetscCall(PetscSNPrintf(type, sizeof(type), "%.*s", (int)strcspn(key, "_"), key));
  PetscCall(PetscFunctionListFind(MuonList, type, &create));
  PetscCall(PetscStrcmp(type, "svd", &same)); /* SLEPc's, behind the prefix of another class */
  if (same) *read = PETSC_FALSE;
  PetscCall(PetscStrcmp(type, "muon", &own));
  PetscCall(PetscStrcmp(key, "ef21_downlink", &same));
  if (layer && (own || create != NULL) && same == PETSC_FALSE) *read = PETSC_FALSE;
  PetscCall(MuonKeyOtherType_Private(muon, key, other));
  PetscCall(PetscStrncmp(asked, other, strlen(other), &same));
  if (same == PETSC_FALSE) *read = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonKeyTry_Private(const char key[], const char before[], const char candidate[], PetscInt *best, char nearest[])
{
  char      whole[MUON_KEY_LENGTH];
  PetscInt  distance = 0;
  PetscBool type;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(whole, sizeof(whole), "%s%s", before, candidate));
  PetscCall(MuonKeyDistance_Private(key, whole, &distance));
  PetscCall(PetscStrendswith(whole, "_type", &type)); /* of several that are as near, what chooses a type */
  if (distance < *best || (type && distance == *best)) {
    *best = distance;
    PetscCall(PetscStrncpy(nearest, whole, MUON_KEY_LENGTH));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Muon               muon;
  const char        *key, *layer; /* as the user wrote it; what stands before a layer's own keys, or "" */
  PetscInt           nfamilies;
  const char *const *families;
  PetscInt           best;
  char              *nearest;
} MuonKeySearch;

/*
   A key as the user writes it: behind each prefix that others have for its class, and behind a layer's name
   where it is one of a layer
*/
static PetscErrorCode MuonKeyCompare_Private(const char key[], MuonKeySearch *search)
{
  const PetscBool layer  = search->layer[0] != '\0' ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       behind = PETSC_FALSE, known = layer, read, is;

  PetscFunctionBegin;
  PetscCall(MuonKeyIsRead_Private(search->muon, key, search->key, layer, &read));
  if (read == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt f = 0; f < search->nfamilies; f++) {
    const size_t length = strlen(search->families[f]);

    PetscCall(PetscStrncmp(key, search->families[f], length, &is));
    if (is == PETSC_FALSE) continue;
    known = PETSC_TRUE;
    for (PetscInt o = 0; o < search->nfamilies; o++) {
      char before[MUON_KEY_LENGTH];

      PetscCall(PetscStrendswith(search->families[o], search->families[f], &is));
      if (o == f || is == PETSC_FALSE) continue;
      behind = PETSC_TRUE;
      PetscCall(PetscSNPrintf(before, sizeof(before), "%s%.*s", search->layer, (int)(strlen(search->families[o]) - length), search->families[o]));
      PetscCall(MuonKeyTry_Private(search->key, before, key, &search->best, search->nearest));
    }
  }
  if (known && behind == PETSC_FALSE) PetscCall(MuonKeyTry_Private(search->key, search->layer, key, &search->best, search->nearest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonKeyOfRow_Private(const char family[], const char type[], const MuonParameter *row, void *ctx)
{
  MuonKeySearch *const search = (MuonKeySearch *)ctx;
  const PetscBool      layer  = strcmp(family, "muon_layer_NAME_") == 0 ? PETSC_TRUE : PETSC_FALSE;
  char                 key[MUON_KEY_LENGTH];

  PetscFunctionBegin;
  (void)type;
  if (layer && search->layer[0] == '\0') PetscFunctionReturn(PETSC_SUCCESS);
  if (layer) family = ""; /* the search puts the name of a layer before it */
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s%s", family, row->key));
  PetscCall(MuonKeyCompare_Private(key, search));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Among the keys of the rows, and those that the sources read one by one */
static PetscErrorCode MuonKeyNearest_Private(Muon muon, const char key[], PetscInt *best, char nearest[])
{
  char          layer[MUON_KEY_LENGTH] = "";
  MuonKeySearch search                 = {muon, key, layer, 0, NULL, PETSC_MAX_INT, nearest};
  PetscBool     own;

  PetscFunctionBegin;
  PetscCall(MuonGetKeyFamilies_Private(&search.nfamilies, &search.families));
  PetscCall(PetscStrncmp(key, "muon_layer_", 11, &own));
  for (PetscInt l = -1; l < (own ? muon->nlayers : 0); l++) {
    if (l >= 0) PetscCall(PetscSNPrintf(layer, sizeof(layer), "muon_layer_%s_", ((PetscObject)muon->layer[l])->name));
    PetscCall(MuonParametersForEach(MuonKeyOfRow_Private, &search));
    for (PetscInt k = 0; MuonOptionKeys[k] != NULL; k++) PetscCall(MuonKeyCompare_Private(MuonOptionKeys[k], &search));
  }
  *best = search.best;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Abbreviations that people bring along */
static PetscErrorCode MuonKeyLengthen_Private(const char key[], char whole[MUON_KEY_LENGTH])
{
  const char *const ends[][2] = {{"_lr", "_learning_rate"}, {"_wd", "_weight_decay"}};
  PetscBool         is;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(whole, key, MUON_KEY_LENGTH));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ends); k++) {
    PetscCall(PetscStrendswith(key, ends[k][0], &is));
    if (is) PetscCall(PetscSNPrintf(whole, MUON_KEY_LENGTH, "%.*s%s", (int)(strlen(key) - strlen(ends[k][0])), key, ends[k][1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetNearestOption_Private(Muon muon, const char key[], size_t length, char text[])
{
  char     whole[MUON_KEY_LENGTH], nearest[MUON_KEY_LENGTH] = "";
  PetscInt best;

  PetscFunctionBegin;
  PetscCall(MuonKeyLengthen_Private(key, whole));
  PetscCall(MuonKeyNearest_Private(muon, whole, &best, nearest));
  PetscCall(PetscStrncpy(text, nearest, length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonHelpLayer_Private(Muon muon, MuonLayer layer)
{
  MuonLayerRule rule;
  PetscBool     help, compresses;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasHelp(((PetscObject)muon)->options, &help));
  if (help == PETSC_FALSE || ((PetscObject)layer)->optionsprinted) PetscFunctionReturn(PETSC_SUCCESS);
  ((PetscObject)layer)->optionsprinted = PETSC_TRUE;
  PetscCall(MuonLayerGetRule(layer, &rule));
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONEF21, &compresses));
  PetscCall((*PetscHelpPrintf)(PetscObjectComm((PetscObject)muon),
                               "  -%smuon_layer_%s_(rule|learning_rate|scale|momentum|weight_decay|shape_factor|blocks_rows|blocks_columns|assembly|lmo_...%s): layer %s, %" PetscInt_FMT " x %" PetscInt_FMT ", rule %s\n", MuonPrefix(muon),
                               ((PetscObject)layer)->name, compresses ? "|ef21_..." : "", ((PetscObject)layer)->name, layer->m, layer->n, rule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What shards have of the class that a key speaks to, as keys and types; of one layer where the key is behind
   its name
*/
static PetscErrorCode MuonKeyChosen_Private(Muon muon, const char key[], size_t length, char chosen[])
{
  PetscFunctionBegin;
  chosen[0] = '\0';
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard *shard  = &muon->shard[p];
    const MuonLayer  layer  = shard->layer;
    PetscObject      object = (PetscObject)layer;
    const char      *choice = "muon_layer_rule", *rest = key;
    char             text[MUON_KEY_LENGTH];
    PetscBool        is, lmo;
    char            *found;

    PetscCall(PetscStrncmp(key, "muon_layer_", 11, &is));
    if (is) {
      PetscCall(PetscSNPrintf(text, sizeof(text), "muon_layer_%s_", ((PetscObject)layer)->name));
      PetscCall(PetscStrncmp(key, text, strlen(text), &is));
      if (is == PETSC_FALSE) continue;
      rest = key + strlen(text);
    }
    PetscCall(PetscObjectTypeCompare((PetscObject)layer, MUONLAYERLMO, &lmo));
    PetscCall(PetscStrncmp(rest, "lmo_", 4, &is));
    if (is && lmo && layer->lmo != NULL) {
      object = (PetscObject)layer->lmo;
      choice = "lmo_type";
      PetscCall(PetscStrncmp(rest, "lmo_polar_", 10, &is));
      PetscCall(PetscObjectTypeCompare(object, MUONLMOSPECTRAL, &lmo));
      if (is && lmo && layer->lmo->polar != NULL) {
        object = (PetscObject)layer->lmo->polar;
        choice = "lmo_polar_type";
      }
    }
    for (int down = 0; down < 2; down++) {
      const char *const family = down ? "ef21_server_compressor" : "ef21_compressor";

      PetscCall(PetscStrncmp(rest, family, strlen(family), &is));
      if (is == PETSC_FALSE) continue;
      object = (PetscObject)(down ? shard->down : shard->up);
      choice = family;
    }
    PetscCall(PetscSNPrintf(text, sizeof(text), "-%s%s %s, ", MuonPrefix(muon), choice, object->type_name));
    PetscCall(PetscStrstr(chosen, text, &found));
    if (found == NULL) PetscCall(PetscStrlcat(chosen, text, length));
  }
  if (chosen[0] != '\0') chosen[strlen(chosen) - 2] = '\0';
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A key that is known and changes nothing, where it is given: which choice it goes with, or which one it does
   not go with
*/
static PetscErrorCode MuonWarnIdle_Private(Muon muon, const char key[], const char with[])
{
  char      type[64], chosen[MUON_KEY_LENGTH];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(chosen, sizeof(chosen), "-%s", key));
  PetscCall(PetscOptionsHasName(((PetscObject)muon)->options, ((PetscObject)muon)->prefix, chosen, &given));
  if (given == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonKeyOtherType_Private(muon, key, type));
  PetscCall(MuonKeyChosen_Private(muon, key, sizeof(chosen), chosen));
  if (with != NULL) PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s%s takes effect with -%s%s\n", MuonPrefix(muon), key, MuonPrefix(muon), with));
  else if (type[0] != '\0')
    PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s%s takes effect with -%smuon_type %s, and the type is %s\n", MuonPrefix(muon), key, MuonPrefix(muon), type, ((PetscObject)muon)->type_name));
  else if (chosen[0] != '\0') PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s%s takes no effect with %s\n", MuonPrefix(muon), key, chosen));
  else PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s%s is read by no object of this optimizer\n", MuonPrefix(muon), key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys that are read whatever was chosen, and change nothing without another choice */
static PetscErrorCode MuonCheckIdle_Private(Muon muon)
{
  const char *const rules[][2] = {{"adamw_learning_rate", MUONLAYERADAMW}, {"adamw_weight_decay", MUONLAYERADAMW}, {"adamw_beta1", MUONLAYERADAMW},   {"adamw_beta2", MUONLAYERADAMW},
                                  {"adamw_epsilon", MUONLAYERADAMW},       {"sgd_learning_rate", MUONLAYERSGD},    {"sgd_weight_decay", MUONLAYERSGD}};
  const struct {
    const char *key, *with;
    PetscBool   acts;
  } needs[]                   = {{"muon_dampening", "muon_momentum_style sgd", muon->momentum_style == MUON_MOMENTUM_SGD ? PETSC_TRUE : PETSC_FALSE},
                                 {"muon_schedule_constant", "muon_schedule trapezoid", muon->schedule == MUON_SCHEDULE_TRAPEZOID ? PETSC_TRUE : PETSC_FALSE},
                                 {"muon_clip_layers", "muon_clip", muon->clip > 0 ? PETSC_TRUE : PETSC_FALSE},
                                 {"muon_momentum_warmup_start", "muon_momentum_warmup", muon->momentum_warmup > 0 ? PETSC_TRUE : PETSC_FALSE}};
  const char *const numbers[] = {"ratio", "rank", "bits"};
  char              key[PETSC_MAX_OPTION_NAME], with[64];
  PetscBool         acts, is;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(needs); k++) {
    if (needs[k].acts == PETSC_FALSE) PetscCall(MuonWarnIdle_Private(muon, needs[k].key, needs[k].with));
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rules); k++) {
    acts = PETSC_FALSE;
    for (PetscInt l = 0; l < muon->nactive; l++) {
      PetscCall(PetscObjectTypeCompareAny((PetscObject)muon->active[l], &is, rules[k][1], k < 5 ? MUONLAYERNADAMW : "", ""));
      if (is) acts = PETSC_TRUE;
    }
    PetscCall(PetscSNPrintf(key, sizeof(key), "muon_%s", rules[k][0]));
    PetscCall(PetscSNPrintf(with, sizeof(with), "muon_layer_rule %s", rules[k][1]));
    if (acts == PETSC_FALSE) PetscCall(MuonWarnIdle_Private(muon, key, with));
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONEF21, &is));
  for (size_t k = 0; k < 2 * PETSC_STATIC_ARRAY_LENGTH(numbers) && is; k++) {
    const char *const number = numbers[k / 2];

    acts = PETSC_FALSE;
    for (PetscInt p = 0; p < muon->nshards && acts == PETSC_FALSE; p++) PetscCall(MuonCompressorGoesBy_Private(k % 2 ? muon->shard[p].down : muon->shard[p].up, number, &acts));
    PetscCall(PetscSNPrintf(key, sizeof(key), "ef21_%scompressor_%s", k % 2 ? "server_" : "", number));
    if (acts == PETSC_FALSE) PetscCall(MuonWarnIdle_Private(muon, key, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys of 0.1 that went, with what takes their place; the table goes when 0.2 is out */
static PetscErrorCode MuonKeyRenamed_Private(const char key[], const char **what)
{
  static const char *const renamed[][2] = {{"muon_cost_measure", "give -muon_cost_alpha, -muon_cost_beta and -muon_cost_gamma"}};
  PetscBool                same;

  PetscFunctionBegin;
  *what = NULL;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(renamed) && *what == NULL; k++) {
    PetscCall(PetscStrcmp(key, renamed[k][0], &same));
    if (same) *what = renamed[k][1];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   PETSc tells of keys that nobody reads when the program ends, after the run that they should have changed.
   This tells before the first step, once, and only of keys that begin as ours do behind this optimizer's
   prefix.
*/
PetscErrorCode MuonCheckOptions_Private(Muon muon)
{
  char             **names = NULL, **values = NULL, nearest[MUON_KEY_LENGTH];
  const char        *prefix = ((PetscObject)muon)->prefix;
  const char *const *families, *renamed;
  size_t             skip = 0;
  PetscInt           n, nfamilies;

  PetscFunctionBegin;
  if (muon->optionschecked) PetscFunctionReturn(PETSC_SUCCESS);
  muon->optionschecked = PETSC_TRUE;
  if (muon->setfromoptionscalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (prefix != NULL) PetscCall(PetscStrlen(prefix, &skip));
  PetscCall(MuonGetKeyFamilies_Private(&nfamilies, &families));
  PetscCall(PetscOptionsLeftGet(((PetscObject)muon)->options, &n, &names, &values));
  for (PetscInt i = 0; i < n; i++) {
    PetscBool ours = PETSC_TRUE, family = PETSC_FALSE, same;
    char     *svd;

    if (prefix != NULL) PetscCall(PetscStrncmp(names[i], prefix, skip, &ours));
    if (ours == PETSC_FALSE) continue;
    /* SLEPc's own keys are read at the first decomposition, and only by the ranks that make one */
    PetscCall(PetscStrstr(names[i], "_svd_", &svd));
    if (svd != NULL) continue;
    for (PetscInt f = 0; f < nfamilies && family == PETSC_FALSE; f++) PetscCall(PetscStrncmp(names[i] + skip, families[f], strlen(families[f]), &family));
    if (family == PETSC_FALSE) continue;
    PetscCall(MuonKeyRenamed_Private(names[i] + skip, &renamed));
    if (renamed != NULL) {
      PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s is no longer there: %s\n", names[i], renamed));
      continue;
    }
    PetscCall(MuonGetNearestOption_Private(muon, names[i] + skip, sizeof(nearest), nearest));
    PetscCall(PetscStrcasecmp(names[i] + skip, nearest, &same));
    if (same) PetscCall(MuonWarnIdle_Private(muon, names[i] + skip, NULL));
    else PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s is unknown; the nearest that exists is -%s%s\n", names[i], prefix ? prefix : "", nearest));
  }
  PetscCall(PetscOptionsLeftRestore(((PetscObject)muon)->options, &n, &names, &values));
  PetscCall(MuonCheckIdle_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetPreset - Sets what a published optimizer fixes, by its name

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- name - the name of a published optimizer

  Options Database Key:
. -muon_preset name - the name

  Level: beginner

  Notes:
  A preset is of a type and sets keys, which the setters called after it and the options database change one
  by one\: `-muon_preset kj -muon_momentum 0.9` is K. Jordan's Muon with another momentum. A type that is not
  the preset's is an error. It is set before `MuonSetUp()`, and holds for layers that are added later too.
  Where the optimizer has an options database of its own, `PetscObjectSetOptions()`, what that says is read
  with it.

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
  scion                dense  0.9 ema, none        scion      kj 5                1           replicated allreduce              1e-3
  scion-unconstrained  the same                                                   0
  ef21                 ef21   0.9 ema, none        none       kj 5                0           star; up topk 0.15 natural,       3.6e-4, trapezoid 0.4
                                                                                              down identity
  signmuon             sign                                   cubic 7, frobenius
  signmuon-1step       sign                                   cubic 1, spectral                                                 1e-3
                                                              by 2 iterations
  signadam             sign   0.9
  signsgd              sign   0
.ve

  kj is `MuonWithAuxAdam` of K. Jordan's repository and torch is `torch.optim.Muon` with `torch.optim.AdamW`
  beside it, with their defaults; algoperf is the entry of the Muon team to AlgoPerf with its numbers for
  PyTorch, its variants those that were tried beside it; ef21 is the paper's run of EF21-Muon with Top-15% and
  natural values up. signmuon and signmuon-1step vote with polar factors, the latter of gradients of all
  layers that are clipped at the norm 1 (Table 1 of its paper), signadam and signsgd with the directions adam
  and gradient of `MUONSIGN`; the update is that of `-sign_update`. The learning rate of modded-nanogpt
  and dmuon, and the scales of the layers for scion and ef21, belong to a model and are left to the user; what
  is blank is the library's own.

  What is not taken over\: those programs compute polar factors in bfloat16, for which there is
  `-lmo_polar_precision bf16`, and divide by the Frobenius norm and a tiny number more. Which layers take
  AdamW is said by `MuonSetRuleMatch()`.

  References:
+ * - K. Jordan et al., Muon\: An optimizer for hidden layers in neural networks, 2024
. * - T. Pethick et al., Training deep learning models with norm-constrained LMOs, 2025
. * - K. Gruntkowska et al., Error feedback for Muon and friends, 2025
- * - SignMuon\: Communication-Efficient Distributed Muon Optimization, arXiv:2605.16311

.seealso: `Muon`, `MuonGetPreset()`, `MuonSetFromOptions()`, `MuonSetType()`, `MuonSetRuleMatch()`
@*/
PetscErrorCode MuonSetPreset(Muon muon, const char name[])
{
  PetscOptions options;
  const char  *type;
  char        *copy;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(name, 2);
  PetscCall(MuonPresetGetType_Private(muon, name, &type));
  PetscCheck(muon->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%smuon_preset must be set before MuonSetUp(), or after MuonReset()", MuonPrefix(muon));
  PetscCall(PetscStrallocpy(name, &copy)); /* which may be what is freed */
  PetscCall(PetscFree(muon->preset));
  PetscCall(MuonSetType(muon, type));
  muon->preset = copy;
  PetscCall(MuonPresetBegin_Private(muon, &options));
  PetscCall(MuonReadOptions_Private(muon));
  PetscCall(MuonPresetEnd_Private(muon, &options));
  PetscFunctionReturn(PETSC_SUCCESS);
}
