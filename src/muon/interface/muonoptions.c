#include <petscmuon/private/muonimpl.h>
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

/* Levenshtein distance, up to case, in which a word too much or too little weighs as two letters do */
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
      word = MuonKeyWord_Private(b, j);
      if (word > 0) *at = PetscMin(*at, *(at - word) + 2);
    }
  }
  *distance = table[(na + 1) * (nb + 1) - 1];
  PetscCall(PetscFree(table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a key, as the sources have it, is read behind a layer's name, or else by this type of optimizer */
static PetscErrorCode MuonKeyIsRead_Private(Muon muon, const char key[], PetscBool layer, PetscBool *read)
{
  char type[64];
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
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, type, &same));
  if (create != NULL && same == PETSC_FALSE) *read = PETSC_FALSE;
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

/* The keys of the sources as a user writes them: those of a class that others have a prefix for behind each such prefix, a layer's own keys behind its name */
static PetscErrorCode MuonKeyNearest_Private(Muon muon, const char key[], PetscInt *best, char nearest[])
{
  const char *const *families;
  PetscInt           n;
  PetscBool          own, is;

  PetscFunctionBegin;
  *best = PETSC_MAX_INT;
  PetscCall(MuonGetKeyFamilies_Private(&n, &families));
  PetscCall(PetscStrncmp(key, "muon_layer_", 11, &own));
  for (PetscInt l = -1; l < (own ? muon->nlayers : 0); l++) {
    char layer[MUON_KEY_LENGTH] = "", before[MUON_KEY_LENGTH];

    if (l >= 0) PetscCall(PetscSNPrintf(layer, sizeof(layer), "muon_layer_%s_", ((PetscObject)muon->layer[l])->name));
    for (PetscInt k = 0; MuonOptionKeys[k] != NULL; k++) {
      PetscBool whole = l >= 0 ? PETSC_TRUE : PETSC_FALSE, behind = PETSC_FALSE, read;

      PetscCall(MuonKeyIsRead_Private(muon, MuonOptionKeys[k], whole, &read));
      if (read == PETSC_FALSE) continue;
      for (PetscInt f = 0; f < n; f++) {
        const size_t length = strlen(families[f]);

        PetscCall(PetscStrncmp(MuonOptionKeys[k], families[f], length, &is));
        if (is == PETSC_FALSE) continue;
        whole = PETSC_TRUE;
        for (PetscInt o = 0; o < n; o++) {
          if (o == f) continue;
          PetscCall(PetscStrendswith(families[o], families[f], &is));
          if (is == PETSC_FALSE) continue;
          behind = PETSC_TRUE;
          PetscCall(PetscSNPrintf(before, sizeof(before), "%s%.*s", layer, (int)(strlen(families[o]) - length), families[o]));
          PetscCall(MuonKeyTry_Private(key, before, MuonOptionKeys[k], best, nearest));
        }
      }
      if (whole == PETSC_TRUE && behind == PETSC_FALSE) PetscCall(MuonKeyTry_Private(key, layer, MuonOptionKeys[k], best, nearest));
    }
  }
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
   PETSc tells of keys that nobody reads when the program ends, after the run that they should have changed. This tells before the first step, once, and only of keys that
   begin as ours do behind this optimizer's prefix.
*/
PetscErrorCode MuonCheckOptions_Private(Muon muon)
{
  char             **names = NULL, **values = NULL, nearest[MUON_KEY_LENGTH];
  const char        *prefix = ((PetscObject)muon)->prefix;
  const char *const *families;
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
    PetscCall(MuonGetNearestOption_Private(muon, names[i] + skip, sizeof(nearest), nearest));
    PetscCall(PetscStrcasecmp(names[i] + skip, nearest, &same));
    if (same) PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s is read by no object of this optimizer\n", names[i]));
    else PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s is unknown; the nearest that exists is -%s%s\n", names[i], prefix ? prefix : "", nearest));
  }
  PetscCall(PetscOptionsLeftRestore(((PetscObject)muon)->options, &n, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
