#if !defined(_XOPEN_SOURCE)
  #define _XOPEN_SOURCE 700 /* newlocale() */
#endif
#include <petscmuon/private/muonparameter.h> /*I "petscmuonsys.h" I*/
#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonwire.h>
#include <locale.h>
#include <stdlib.h>

/*
   Parameters as text: for View, for comparisons by ranks and checkpoints, and by their keys; what follows from other functions.
*/

static locale_t MuonLocaleC = (locale_t)0;

static PetscErrorCode MuonLocaleFinalize_Private(void)
{
  PetscFunctionBegin;
  freelocale(MuonLocaleC);
  MuonLocaleC = (locale_t)0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLocaleBegin(MuonLocale *before)
{
  PetscFunctionBegin;
  if (MuonLocaleC == (locale_t)0) {
    MuonLocaleC = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    PetscCheck(MuonLocaleC != (locale_t)0, PETSC_COMM_SELF, PETSC_ERR_LIB, "newlocale() failed");
    PetscCall(PetscRegisterFinalize(MuonLocaleFinalize_Private));
  }
  *before = (MuonLocale)uselocale(MuonLocaleC);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonLocaleEnd(MuonLocale *before)
{
  PetscFunctionBegin;
  (void)uselocale((locale_t)*before);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonNumberWrite(double value, size_t length, char text[])
{
  MuonLocale locale;

  PetscFunctionBegin;
  PetscCall(MuonLocaleBegin(&locale));
  if (value >= (double)PETSC_INFINITY) PetscCall(PetscStrncpy(text, "inf", length));
  else
    for (int digits = value == (double)(PetscInt64)value ? 15 : 3; digits <= 17; digits++) {
      PetscCall(PetscSNPrintf(text, length, "%.*g", digits, value));
      /* In a PETSc of single precision the number is that of a float */
      if (sizeof(PetscReal) == sizeof(float) ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
  PetscCall(MuonLocaleEnd(&locale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonNumberRead(const char text[], double *value, PetscBool *ok)
{
  MuonLocale locale;
  char      *end;

  PetscFunctionBegin;
  PetscCall(MuonLocaleBegin(&locale));
  *value = strtod(text, &end);
  PetscCall(MuonLocaleEnd(&locale));
  *ok = end != text && *end == '\0' && *value == *value ? PETSC_TRUE : PETSC_FALSE;
  if (*ok && *value > (double)PETSC_INFINITY) *value = (double)PETSC_INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MuonParametersIsGiven(PetscObject object, const char key[])
{
  const PetscObject parent = MuonParametersOf(object)->parent;

  if (MuonParametersIsSet(object, key)) return PETSC_TRUE;
  return parent != NULL && parent->classid == object->classid ? MuonParametersIsGiven(parent, key) : PETSC_FALSE;
}

PetscErrorCode MuonParametersChoose(PetscObject object, const char key[], double value)
{
  PetscFunctionBegin;
  if (!MuonParametersIsSet(object, key)) PetscCall(MuonParametersPut(object, key, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersHelpOnce(PetscObject object)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(object), &size));
  if (size == 1 && PetscGlobalRank > 0) object->optionsprinted = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The value of a row as an option has it */
PetscErrorCode MuonParameterWrite_Private(PetscObject object, const MuonParameter *row, size_t length, char text[])
{
  void *const  field = MuonParameterField_Private(object, row);
  const double value = MuonParameterGet_Private(row, field);

  PetscFunctionBegin;
  if (row->kind == MUON_PARAMETER_TEXT) PetscCall(PetscStrncpy(text, *(char **)field != NULL ? *(char **)field : "", length));
  else if ((row->flags & MUON_PARAMETER_AUTO) && value == (double)PETSC_DETERMINE) PetscCall(PetscStrncpy(text, "auto", length));
  else if (row->kind == MUON_PARAMETER_BOOL) PetscCall(PetscStrncpy(text, value != 0 ? "true" : "false", length));
  else if (row->kind == MUON_PARAMETER_ENUM) PetscCall(PetscStrncpy(text, row->names[(int)value], length));
  else PetscCall(MuonNumberWrite(value, length, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersView(PetscObject object, PetscViewer viewer)
{
  const MuonParameters *parameters = MuonParametersOf(object);
  char                  text[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters); k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL; row++) {
      const double value = row->kind == MUON_PARAMETER_REAL ? (double)(PetscReal)row->value : row->value; /* as the field has it */

      if ((row->flags & MUON_PARAMETER_HIDDEN) || (!MuonParametersIsGiven(object, row->key) && (row->kind == MUON_PARAMETER_TEXT || MuonParameterGet_Private(row, MuonParameterField_Private(object, row)) == value))) continue;
      PetscCall(MuonParameterWrite_Private(object, row, sizeof(text), text));
      PetscCall(PetscViewerASCIIPrintf(viewer, "  %s: %s\n", row->key, text));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the keys of SLEPc behind the object's prefix, 0 where it has no singular value decomposition */
static PetscErrorCode MuonParametersHashSVD_Private(PetscObject object, unsigned int *hash)
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);
  const MuonSVD             svd  = what->svd > 0 ? *(MuonSVD *)((char *)object + what->svd) : NULL;

  PetscFunctionBegin;
  *hash = 0;
  if (svd != NULL) PetscCall(MuonSVDHash(svd, hash));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersHash_Visit(PetscObject object, void *ctx)
{
  const MuonParameters     *parameters = MuonParametersOf(object);
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);
  const char               *type       = object->type_name != NULL ? object->type_name : "";
  uint32_t                  hash       = *(uint32_t *)ctx;
  unsigned int              svd;

  PetscFunctionBegin;
  hash = MuonWireCRC32C(hash, (const unsigned char *)type, strlen(type) + 1);
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters); k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL; row++) {
      const void *const field = MuonParameterField_Private(object, row);
      const double      value = MuonParameterGet_Private(row, field);
      const char *const text  = row->kind == MUON_PARAMETER_TEXT ? *(char *const *)field : NULL;

      if (row->flags & MUON_PARAMETER_LOCAL) continue;
      if (text == NULL) hash = MuonWireCRC32C(hash, (const unsigned char *)&value, sizeof(value));
      else hash = MuonWireCRC32C(hash, (const unsigned char *)text, strlen(text) + 1);
    }
  }
  PetscCall(MuonParametersHashSVD_Private(object, &svd));
  *(uint32_t *)ctx = MuonWireCRC32C(hash, (const unsigned char *)&svd, sizeof(svd));
  if (what->children != NULL) PetscCall((*what->children)(object, MuonParametersHash_Visit, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersHash(PetscObject object, unsigned int *hash)
{
  MuonParameters *const parameters = MuonParametersOf(object);
  uint32_t              crc        = 0;
  PetscBool             same;

  PetscFunctionBegin;
  if (parameters->hashed != MuonParametersChanges_Private || PetscDefined(USE_DEBUG)) {
    PetscCall(MuonParametersHash_Visit(object, &crc));
    same = parameters->hashed != MuonParametersChanges_Private || parameters->hash == (unsigned int)crc ? PETSC_TRUE : PETSC_FALSE;
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A parameter of a %s was changed without MuonParametersPut()", object->class_name);
    parameters->hash   = (unsigned int)crc;
    parameters->hashed = MuonParametersChanges_Private;
  }
  *hash = (unsigned int)MuonWireCRC32C((uint32_t)*hash, (const unsigned char *)&parameters->hash, sizeof(parameters->hash));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  char       *text;
  size_t      length, capacity;
  const char *layer; /* that the object works for, or one above it; NULL for none */
} MuonText;

/* A line */
static PetscErrorCode MuonTextAdd_Private(MuonText *text, PetscObject object, const char family[], const char key[], const char value[])
{
  const char *const layer = text->layer, *const prefix = object->prefix != NULL ? object->prefix : "";
  const int    shard = layer != NULL ? (int)strcspn(layer, "@") : 0; /* of which a layer may have several */
  const size_t more  = (size_t)shard + strlen(prefix) + strlen(family) + strlen(key) + strlen(value) + 16;

  PetscFunctionBegin;
  if (text->length + more > text->capacity) {
    text->capacity = 2 * text->capacity + more + 1024;
    PetscCall(PetscRealloc(text->capacity, &text->text));
  }
  PetscCall(PetscSNPrintf(text->text + text->length, more, "%s%.*s%s-%s%s%s %s\n", layer != NULL ? "layer " : "", shard, layer != NULL ? layer : "", layer != NULL ? ": " : "", prefix, family, key, value));
  text->length += strlen(text->text + text->length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersWrite_Visit(PetscObject object, void *ctx)
{
  const MuonParameters     *parameters = MuonParametersOf(object);
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);
  MuonText                 *text       = (MuonText *)ctx;
  const char *const         above      = text->layer;
  char                      value[PETSC_MAX_PATH_LEN];
  unsigned int              svd;

  PetscFunctionBegin;
  if (parameters->layer != NULL) text->layer = parameters->layer;
  PetscCall(MuonTextAdd_Private(text, object, parameters->family != NULL ? parameters->family : "", what->type, object->type_name != NULL ? object->type_name : "(not set)"));
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters); k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL; row++) {
      if (row->flags & MUON_PARAMETER_LOCAL) continue;
      PetscCall(MuonParameterWrite_Private(object, row, sizeof(value), value));
      PetscCall(MuonTextAdd_Private(text, object, MuonParameterFamily_Private(object, row), row->key, value));
    }
  }
  PetscCall(MuonParametersHashSVD_Private(object, &svd));
  PetscCall(PetscSNPrintf(value, sizeof(value), "%x", svd));
  if (svd != 0) PetscCall(MuonTextAdd_Private(text, object, what->family, "svd_(hash)", value));
  if (what->children != NULL) PetscCall((*what->children)(object, MuonParametersWrite_Visit, ctx));
  text->layer = above;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersWrite(PetscObject object, char **text)
{
  MuonText lines = {*text, *text != NULL ? strlen(*text) : 0, 0, NULL};

  PetscFunctionBegin;
  lines.capacity = lines.length;
  PetscCall(MuonParametersWrite_Visit(object, &lines));
  *text = lines.text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersSetDatabase_Visit(PetscObject object, void *options)
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);

  PetscFunctionBegin;
  object->options = (PetscOptions)options;
  if (what->children != NULL) PetscCall((*what->children)(object, MuonParametersSetDatabase_Visit, options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Objects with an options database of their own, which those below share, read the default one meanwhile */
PetscErrorCode MuonParametersReadFrom(PetscObject object, PetscOptions options)
{
  const PetscOptions own = object->options;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  if (own != NULL) PetscCall(MuonParametersSetDatabase_Visit(object, NULL));
  PetscCall(PetscOptionsPush(options));
  ierr = (*MuonParametersClassOf_Private(object)->setfromoptions)(object);
  PetscCall(PetscOptionsPop());
  if (own != NULL) PetscCall(MuonParametersSetDatabase_Visit(object, own));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonObjectSetParameter - Sets a parameter of an object by its option key

  Logically Collective

  Input Parameters:
+ object - an optimizer, a layer, a norm, a polar factor, a compressor or an exchange, cast to `PetscObject`
. key    - the key without hyphen and prefix: "lmo_polar_steps"
- value  - the value as text; numbers have a decimal point in any locale

  Level: intermediate

  Notes:
  It acts like the option, immediately, with the same errors. A norm also accepts the keys of its polar factor, and so
  on. A later `SetFromOptions()` overrides it.

  A key of another type than the one that is set is an error, which names the type. A key that is set before the type
  applies when the type is set.

.seealso: `MuonObjectGetParameter()`, `MuonSetParameter()`
@*/
PetscErrorCode MuonObjectSetParameter(PetscObject object, const char key[], const char value[])
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);
  char                      name[PETSC_MAX_OPTION_NAME];
  const char               *type = MuonParametersTypeOfKey(key);
  PetscOptions              options;
  PetscErrorCode            ierr;
  PetscInt                  left = 0;

  PetscFunctionBegin;
  PetscCheck(what != NULL, PetscObjectComm(object), PETSC_ERR_SUP, "A %s has no parameters", object->class_name);
  if (object->type_name == NULL && type != NULL && strncmp(key, what->family, strlen(what->family)) == 0) {
    PetscCall(MuonParametersWait_Private(object, key, value));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s", object->prefix != NULL ? object->prefix : "", key));
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsSetValue(options, name, value));
  ierr = MuonParametersReadFrom(object, options);
  if (ierr == PETSC_SUCCESS) ierr = PetscOptionsAllUsed(options, &left);
  PetscCall(PetscOptionsDestroy(&options));
  PetscCall(ierr);
  PetscCheck(left == 0 || type == NULL, PetscObjectComm(object), PETSC_ERR_SUP, "%s takes effect with the type %s, and the %s has another", name, type, object->class_name);
  PetscCheck(left == 0, PetscObjectComm(object), PETSC_ERR_ARG_WRONG, "%s is no parameter of this %s", name, object->class_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *key;
  char       *value;
  size_t      length;
  PetscBool   found;
} MuonWanted;

static PetscErrorCode MuonParametersGet_Visit(PetscObject object, void *ctx)
{
  const MuonParameters     *parameters = MuonParametersOf(object);
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);
  MuonWanted               *wanted     = (MuonWanted *)ctx;
  const size_t              length = strlen(wanted->key), prefix = object->prefix != NULL ? strlen(object->prefix) : 0;
  size_t                    before;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters); k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL && !wanted->found; row++) {
      const char  *start  = MuonParameterFamily_Private(object, row), *key;
      const size_t behind = strlen(row->key), family = strlen(start);

      if (length < behind + family) continue;
      key = wanted->key + (length - behind - family);
      if (strncmp(key, start, family) != 0 || strcmp(key + family, row->key) != 0) continue;
      /* What is left of the key in front of the family is the end of the object's prefix: "ef21_" */
      before = (size_t)(key - wanted->key);
      if (prefix < before || (before > 0 && strncmp(wanted->key, object->prefix + prefix - before, before) != 0)) continue;
      wanted->found = PETSC_TRUE;
      PetscCall(MuonParameterWrite_Private(object, row, wanted->length, wanted->value));
    }
  }
  if (!wanted->found && what->children != NULL) PetscCall((*what->children)(object, MuonParametersGet_Visit, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonObjectGetParameter - Gets a parameter of an object by its option key

  Not Collective

  Input Parameters:
+ object - as for `MuonObjectSetParameter()`
. key    - the key without hyphen and prefix
- length - length of `value`

  Output Parameter:
. value - the value as text; if several of its objects have this key, the value of the first

  Level: intermediate

.seealso: `MuonObjectSetParameter()`, `MuonGetParameter()`
@*/
PetscErrorCode MuonObjectGetParameter(PetscObject object, const char key[], char value[], size_t length)
{
  MuonWanted wanted = {key, value, length, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCheck(MuonParametersClassOf_Private(object) != NULL, PetscObjectComm(object), PETSC_ERR_SUP, "A %s has no parameters", object->class_name);
  PetscCall(MuonParametersGet_Visit(object, &wanted));
  PetscCheck(wanted.found, PetscObjectComm(object), PETSC_ERR_ARG_WRONG, "-%s is no parameter of this %s", key, object->class_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}
