#include <petscmuon/private/muonimpl.h>
#include <petscmuonkeys.h>
#include <ctype.h>
#include <string.h>

/* Length of a candidate key: families' prefixes and a layer's name in front of a key */
#define MUON_KEY_LENGTH (2 * PETSC_MAX_OPTION_NAME)

/* Levenshtein distance, up to case */
static PetscErrorCode MuonKeyDistance_Private(const char a[], const char b[], PetscInt *distance)
{
  size_t    na, nb;
  PetscInt *row;

  PetscFunctionBegin;
  PetscCall(PetscStrlen(a, &na));
  PetscCall(PetscStrlen(b, &nb));
  PetscCall(PetscMalloc1(nb + 1, &row));
  for (size_t j = 0; j <= nb; j++) row[j] = (PetscInt)j;
  for (size_t i = 1; i <= na; i++) {
    PetscInt diagonal = row[0];

    row[0] = (PetscInt)i;
    for (size_t j = 1; j <= nb; j++) {
      const PetscInt above = row[j];
      const PetscInt swap  = diagonal + (tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]) ? 0 : 1);

      row[j]   = PetscMin(swap, 1 + PetscMin(above, row[j - 1]));
      diagonal = above;
    }
  }
  *distance = row[nb];
  PetscCall(PetscFree(row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonKeyTry_Private(const char key[], const char before[], const char candidate[], PetscInt *best, char nearest[])
{
  char     whole[MUON_KEY_LENGTH];
  PetscInt distance = 0;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(whole, sizeof(whole), "%s%s", before, candidate));
  PetscCall(MuonKeyDistance_Private(key, whole, &distance));
  if (distance < *best) {
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
      PetscBool whole = l >= 0 ? PETSC_TRUE : PETSC_FALSE, behind = PETSC_FALSE;

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

/*
   PETSc tells of keys that nobody reads when the program ends, after the run that they should have changed. This tells before the first step, once, and only of keys that
   begin as ours do behind this optimizer's prefix.
*/
PetscErrorCode MuonCheckOptions_Private(Muon muon)
{
  char             **names = NULL, **values = NULL, nearest[MUON_KEY_LENGTH] = "";
  const char        *prefix = ((PetscObject)muon)->prefix;
  const char *const *families;
  size_t             skip = 0;
  PetscInt           n, nfamilies, best;

  PetscFunctionBegin;
  if (muon->optionschecked) PetscFunctionReturn(PETSC_SUCCESS);
  muon->optionschecked = PETSC_TRUE;
  if (muon->setfromoptionscalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (prefix != NULL) PetscCall(PetscStrlen(prefix, &skip));
  PetscCall(MuonGetKeyFamilies_Private(&nfamilies, &families));
  PetscCall(PetscOptionsLeftGet(((PetscObject)muon)->options, &n, &names, &values));
  for (PetscInt i = 0; i < n; i++) {
    PetscBool ours = PETSC_TRUE, family = PETSC_FALSE;
    char     *svd;

    if (prefix != NULL) PetscCall(PetscStrncmp(names[i], prefix, skip, &ours));
    if (ours == PETSC_FALSE) continue;
    /* SLEPc's own keys are read at the first decomposition, and only by the ranks that make one */
    PetscCall(PetscStrstr(names[i], "_svd_", &svd));
    if (svd != NULL) continue;
    for (PetscInt f = 0; f < nfamilies && family == PETSC_FALSE; f++) PetscCall(PetscStrncmp(names[i] + skip, families[f], strlen(families[f]), &family));
    if (family == PETSC_FALSE) continue;
    PetscCall(MuonKeyNearest_Private(muon, names[i] + skip, &best, nearest));
    if (best == 0) PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s is read by no object of this optimizer\n", names[i]));
    else PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "PetscMuon warning: option -%s is unknown; the nearest that exists is -%s%s\n", names[i], prefix ? prefix : "", nearest));
  }
  PetscCall(PetscOptionsLeftRestore(((PetscObject)muon)->options, &n, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
