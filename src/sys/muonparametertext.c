#if !defined(_XOPEN_SOURCE)
  #define _XOPEN_SOURCE 700 /* newlocale() */
#endif
#include <petscmuon/private/muonparameter.h> /*I "petscmuonsys.h" I*/
#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonwire.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/*
   Parameters as text: what View prints, what ranks and checkpoints compare, and values by their keys.
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

/* The value of a row as an option has it */
PetscErrorCode MuonParameterWrite_Private(PetscObject object, const MuonParameter *row, size_t length, char text[])
{
  void  *field = NULL;
  double value;

  PetscFunctionBegin;
  (void)MuonParametersFind(object, row->key, &field);
  value = MuonParameterGet_Private(row, field);
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
  void                 *field = NULL;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = parameters->rows[k]; row != NULL && row->key != NULL; row++) {
      (void)MuonParametersFind(object, row->key, &field);
      if ((row->flags & MUON_PARAMETER_HIDDEN) || (!MuonParametersIsSet(object, row->key) && (row->kind == MUON_PARAMETER_TEXT || MuonParameterGet_Private(row, field) == row->value))) continue;
      PetscCall(MuonParameterWrite_Private(object, row, sizeof(text), text));
      PetscCall(PetscViewerASCIIPrintf(viewer, "  %s: %s\n", row->key, text));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersHash_Visit(PetscObject object, void *ctx)
{
  const MuonParameters     *parameters = MuonParametersOf(object);
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);
  const char               *type       = object->type_name != NULL ? object->type_name : "";
  uint32_t                  hash       = *(uint32_t *)ctx;
  void                     *field      = NULL;

  PetscFunctionBegin;
  if (what == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  hash = MuonWireCRC32C(hash, (const unsigned char *)type, strlen(type) + 1);
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = parameters->rows[k]; row != NULL && row->key != NULL; row++) {
      double value;

      if (row->flags & MUON_PARAMETER_LOCAL) continue;
      (void)MuonParametersFind(object, row->key, &field);
      value = MuonParameterGet_Private(row, field);
      if (row->kind != MUON_PARAMETER_TEXT) hash = MuonWireCRC32C(hash, (const unsigned char *)&value, sizeof(value));
      else if (*(char **)field != NULL) hash = MuonWireCRC32C(hash, *(unsigned char **)field, strlen(*(char **)field) + 1);
    }
  }
  *(uint32_t *)ctx = hash;
  if (what->children != NULL) PetscCall((*what->children)(object, MuonParametersHash_Visit, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersHash(PetscObject object, unsigned int *hash)
{
  uint32_t crc = (uint32_t)*hash;

  PetscFunctionBegin;
  PetscCall(MuonParametersHash_Visit(object, &crc));
  *hash = (unsigned int)crc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  char       *text;
  size_t      length, capacity;
  const char *layer; /* of an object above */
} MuonText;

static PetscErrorCode MuonTextAdd_Private(MuonText *text, const char layer[], const char prefix[], const char family[], const char key[], const char value[])
{
  const size_t more = (layer != NULL ? strlen(layer) : 0) + strlen(family) + strlen(key) + strlen(value) + (prefix != NULL ? strlen(prefix) : 0) + 16;
  size_t       used;

  PetscFunctionBegin;
  if (text->length + more > text->capacity) {
    text->capacity = 2 * text->capacity + more + 1024;
    PetscCall(PetscRealloc(text->capacity, &text->text));
  }
  text->text[text->length] = '\0';
  if (layer != NULL) PetscCall(PetscSNPrintf(text->text + text->length, text->capacity - text->length, "layer %.*s: ", (int)strcspn(layer, "@"), layer)); /* all shards of it */
  PetscCall(PetscStrlen(text->text + text->length, &used));
  text->length += used;
  PetscCall(PetscSNPrintf(text->text + text->length, text->capacity - text->length, "-%s%s%s %s\n", prefix != NULL ? prefix : "", family, key, value));
  PetscCall(PetscStrlen(text->text + text->length, &used));
  text->length += used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersWrite_Visit(PetscObject object, void *ctx)
{
  const MuonParameters     *parameters = MuonParametersOf(object);
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);
  MuonText                 *text       = (MuonText *)ctx;
  const char *const         above      = text->layer;
  char                      value[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  if (what == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (parameters->layer != NULL) text->layer = parameters->layer;
  PetscCall(MuonTextAdd_Private(text, text->layer, object->prefix, what->family, "type", object->type_name != NULL ? object->type_name : "(not set)"));
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = parameters->rows[k]; row != NULL && row->key != NULL; row++) {
      if (row->flags & MUON_PARAMETER_LOCAL) continue;
      PetscCall(MuonParameterWrite_Private(object, row, sizeof(value), value));
      PetscCall(MuonTextAdd_Private(text, text->layer, object->prefix, MuonParameterFamily_Private(object, row), row->key, value));
    }
  }
  if (what->children != NULL) PetscCall((*what->children)(object, MuonParametersWrite_Visit, ctx));
  text->layer = above;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersWrite(PetscObject object, char **text)
{
  MuonText lines = {NULL, 0, 0, NULL};

  PetscFunctionBegin;
  PetscCall(MuonParametersWrite_Visit(object, &lines));
  *text = lines.text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Objects with an options database of their own read the default one for as long as another is lent to all of a
   tree, and objects that are made meanwhile get the database of the object on top
*/
typedef struct {
  PetscOptions  top;
  PetscInt      count, max;
  PetscObject  *object;
  PetscOptions *own;
  PetscBool     back;
} MuonLending;

static PetscErrorCode MuonLend_Visit(PetscObject object, void *ctx)
{
  MuonLending              *lending = (MuonLending *)ctx;
  const MuonParameterClass *what    = MuonParametersClassOf_Private(object);

  PetscFunctionBegin;
  if (!lending->back && object->options != NULL) {
    if (lending->count == lending->max) {
      lending->max = 2 * lending->max + 8;
      PetscCall(PetscRealloc(sizeof(*lending->object) * (size_t)lending->max, &lending->object));
      PetscCall(PetscRealloc(sizeof(*lending->own) * (size_t)lending->max, &lending->own));
    }
    lending->object[lending->count] = object;
    lending->own[lending->count++]  = object->options;
    object->options                 = NULL;
  } else if (lending->back) {
    object->options = lending->top;
    for (PetscInt k = 0; k < lending->count; k++) {
      if (lending->object[k] == object) object->options = lending->own[k];
    }
  }
  if (what != NULL && what->children != NULL) PetscCall((*what->children)(object, MuonLend_Visit, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersReadFrom(PetscObject object, PetscOptions options)
{
  const MuonParameterClass *what    = MuonParametersClassOf_Private(object);
  MuonLending               lending = {object->options, 0, 0, NULL, NULL, PETSC_FALSE};
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  PetscCall(MuonLend_Visit(object, &lending));
  PetscCall(PetscOptionsPush(options));
  ierr = (*what->setfromoptions)(object);
  PetscCall(PetscOptionsPop());
  lending.back = PETSC_TRUE;
  if (lending.top != NULL) PetscCall(MuonLend_Visit(object, &lending));
  PetscCall(PetscFree(lending.object));
  PetscCall(PetscFree(lending.own));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonObjectSetParameter - Sets a parameter of an object by the key of its option

  Logically Collective

  Input Parameters:
+ object - an optimizer, a layer, a norm, a polar factor, a compressor or an exchange, cast to `PetscObject`
. key    - the key of the option without the object's prefix and without the dash: "lmo_polar_steps"
- value  - the value as text, numbers with a decimal point whatever the locale

  Level: intermediate

  Notes:
  It acts at once as the option would, with the same errors, on the objects below too\: a norm takes the keys
  of its polar factor. A later `SetFromOptions()` has the last word.

  A key of a type that is not chosen is an error that names the type. Before the type is set, the key waits for
  it.

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
  size_t                    family;

  PetscFunctionBegin;
  PetscCheck(what != NULL, PetscObjectComm(object), PETSC_ERR_SUP, "A %s has no parameters", object->class_name);
  if (what->setparameter != NULL) {
    PetscCall((*what->setparameter)(object, key, value));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  family = strlen(what->family);
  if (object->type_name == NULL && type != NULL && strncmp(key, what->family, family) == 0) {
    PetscCall(MuonParametersWait_Private(object, key + family, value));
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
  if (what == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = parameters->rows[k]; row != NULL && row->key != NULL && !wanted->found; row++) {
      const char  *start  = MuonParameterFamily_Private(object, row), *key;
      const size_t behind = strlen(row->key), family = strlen(start);

      if (length < behind + family) continue;
      key = wanted->key + (length - behind - family);
      if (strncmp(key, start, family) != 0 || strcmp(key + family, row->key) != 0) continue;
      /* What is left of the key in front of the family is the end of the object's prefix: "ef21_" */
      before = (size_t)(key - wanted->key);
      if (prefix < before || strncmp(wanted->key, object->prefix + prefix - before, before) != 0) continue;
      wanted->found = PETSC_TRUE;
      PetscCall(MuonParameterWrite_Private(object, row, wanted->length, wanted->value));
    }
  }
  if (!wanted->found && what->children != NULL) PetscCall((*what->children)(object, MuonParametersGet_Visit, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonObjectGetParameter - Gets a parameter of an object by the key of its option

  Not Collective

  Input Parameters:
+ object - as for `MuonObjectSetParameter()`
. key    - the key of the option without the object's prefix and without the dash
- length - length of `value`

  Output Parameter:
. value - the value as text; of several objects below with this key that of the first

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
