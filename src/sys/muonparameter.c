#include <petscmuon/private/muonparameter.h>
#include <petscmuon/private/petscmuonimpl.h>
#include <math.h>
#include <string.h>

/*
   The registry: a class by its id with its rows, and the rows of its types. A program has a handful of classes
   and a few dozen types: lists that are walked will do.
*/
typedef struct {
  PetscClassId       classid;
  MuonParameterClass what;
} ClassEntry;

typedef struct {
  PetscClassId         classid;
  char                *type;
  const MuonParameter *rows;
} TypeEntry;

static struct {
  PetscInt   nclasses, ntypes, maxtypes;
  ClassEntry class_[16];
  TypeEntry *type;
} registry;

static PetscErrorCode MuonParametersFinalize_Private(void)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < registry.ntypes; t++) PetscCall(PetscFree(registry.type[t].type));
  PetscCall(PetscFree(registry.type));
  registry.nclasses = registry.ntypes = registry.maxtypes = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MuonParameterClass *MuonParameterClassFind_Private(PetscClassId classid)
{
  for (PetscInt c = 0; c < registry.nclasses; c++) {
    if (registry.class_[c].classid == classid) return &registry.class_[c].what;
  }
  return NULL;
}

const MuonParameterClass *MuonParametersClassOf_Private(PetscObject object)
{
  return MuonParameterClassFind_Private(object->classid);
}

const char *MuonParameterFamily_Private(PetscObject object, const MuonParameter *row)
{
  const char *const own = MuonParametersOf(object)->family;

  return row->flags & MUON_PARAMETER_BARE ? "" : own != NULL ? own : MuonParametersClassOf_Private(object)->family;
}

PetscErrorCode MuonParametersRegisterClass(PetscClassId classid, const MuonParameterClass *what)
{
  MuonParameterClass *known = MuonParameterClassFind_Private(classid);

  PetscFunctionBegin;
  if (known == NULL) {
    PetscCheck(registry.nclasses < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(registry.class_), PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d classes with parameters", (int)registry.nclasses);
    if (registry.nclasses == 0) PetscCall(PetscRegisterFinalize(MuonParametersFinalize_Private));
    registry.class_[registry.nclasses].classid = classid;
    known                                      = &registry.class_[registry.nclasses++].what;
  }
  *known = *what;
  PetscCall(MuonRegisterKeyFamily(what->family));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersRegisterType(PetscClassId classid, const char type[], const MuonParameter rows[])
{
  TypeEntry *entry = NULL;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < registry.ntypes; t++) {
    if (registry.type[t].classid == classid && strcmp(registry.type[t].type, type) == 0) entry = &registry.type[t];
  }
  if (entry == NULL) {
    if (registry.ntypes == registry.maxtypes) {
      registry.maxtypes = 2 * registry.maxtypes + 64;
      PetscCall(PetscRealloc(sizeof(*registry.type) * (size_t)registry.maxtypes, &registry.type));
    }
    entry          = &registry.type[registry.ntypes++];
    entry->classid = classid;
    PetscCall(PetscStrallocpy(type, &entry->type));
  }
  entry->rows = rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersForEach(MuonParameterKeyFn *call, void *ctx)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < registry.nclasses; c++) {
    const ClassEntry *entry = &registry.class_[c];

    for (const MuonParameter *row = entry->what.rows; row != NULL && row->key != NULL; row++) PetscCall((*call)(row->flags & MUON_PARAMETER_BARE ? "" : entry->what.family, "", row, ctx));
    for (PetscInt t = 0; t < registry.ntypes; t++) {
      if (registry.type[t].classid != entry->classid) continue;
      for (const MuonParameter *row = registry.type[t].rows; row != NULL && row->key != NULL; row++) PetscCall((*call)(row->flags & MUON_PARAMETER_BARE ? "" : entry->what.family, registry.type[t].type, row, ctx));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A key may stand behind the prefix of an object that works for another: "ef21_compressor_qsgd_bits" */
const char *MuonParametersTypeOfKey(const char key[])
{
  const size_t length = strlen(key);

  for (PetscInt t = 0; t < registry.ntypes; t++) {
    for (const MuonParameter *row = registry.type[t].rows; row != NULL && row->key != NULL; row++) {
      const char  *family = row->flags & MUON_PARAMETER_BARE ? "" : MuonParameterClassFind_Private(registry.type[t].classid)->family;
      const size_t before = strlen(family), behind = strlen(row->key);

      /* "muon_layer_NAME_" stands for any name */
      if (strstr(family, "NAME_") != NULL && length > behind && strcmp(key + length - behind, row->key) == 0 && strncmp(key, family, before - strlen("NAME_")) == 0) return registry.type[t].type;
      if (length >= before + behind && strcmp(key + length - behind, row->key) == 0 && strncmp(key + length - behind - before, family, before) == 0) return registry.type[t].type;
    }
  }
  return NULL;
}

MuonParameters *MuonParametersOf(PetscObject object)
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);

  return what == NULL ? NULL : (MuonParameters *)((char *)object + what->at);
}

static void *MuonParameterField_Private(PetscObject object, const MuonParameter *row)
{
  return (row->flags & MUON_PARAMETER_DATA ? *(char **)((char *)object + MuonParametersClassOf_Private(object)->data) : (char *)object) + row->at;
}

const MuonParameter *MuonParametersFind(PetscObject object, const char key[], void **field)
{
  const MuonParameters *parameters = MuonParametersOf(object);

  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = parameters->rows[k]; row != NULL && row->key != NULL; row++) {
      if (strcmp(row->key, key) != 0) continue;
      if (field != NULL) *field = MuonParameterField_Private(object, row);
      return row;
    }
  }
  return NULL;
}

double MuonParameterGet_Private(const MuonParameter *row, const void *field)
{
  switch (row->kind) {
  case MUON_PARAMETER_REAL:
    return (double)*(const PetscReal *)field;
  case MUON_PARAMETER_INT:
    return (double)*(const PetscInt *)field;
  case MUON_PARAMETER_INT64:
    return (double)*(const PetscInt64 *)field;
  case MUON_PARAMETER_BOOL:
    return *(const PetscBool *)field ? 1 : 0;
  case MUON_PARAMETER_ENUM:
    return (double)*(const int *)field;
  default:
    return 0;
  }
}

static void MuonParameterPut_Private(const MuonParameter *row, void *field, double value)
{
  if (row->kind == MUON_PARAMETER_REAL) *(PetscReal *)field = (PetscReal)value;
  else if (row->kind == MUON_PARAMETER_INT) *(PetscInt *)field = (PetscInt)value;
  else if (row->kind == MUON_PARAMETER_INT64) *(PetscInt64 *)field = (PetscInt64)value;
  else if (row->kind == MUON_PARAMETER_BOOL) *(PetscBool *)field = value != 0 ? PETSC_TRUE : PETSC_FALSE;
  else if (row->kind == MUON_PARAMETER_ENUM) *(int *)field = (int)value;
}

PetscBool MuonParametersIsSet(PetscObject object, const char key[])
{
  const MuonParameters *parameters = MuonParametersOf(object);

  for (PetscInt k = 0; k < parameters->nset; k++) {
    if (strcmp(parameters->set[k], key) == 0) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static PetscErrorCode MuonParametersNote_Private(PetscObject object, const char key[])
{
  MuonParameters *parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  if (MuonParametersIsSet(object, key)) PetscFunctionReturn(PETSC_SUCCESS);
  if (parameters->nset == parameters->maxset) {
    parameters->maxset = 2 * parameters->maxset + 4;
    PetscCall(PetscRealloc(sizeof(*parameters->set) * (size_t)parameters->maxset, &parameters->set));
  }
  parameters->set[parameters->nset++] = key;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersUnset(PetscObject object, const char key[])
{
  MuonParameters *parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  for (PetscInt k = 0; k < parameters->nset; k++) {
    if (strcmp(parameters->set[k], key) != 0) continue;
    parameters->set[k] = parameters->set[--parameters->nset];
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What errors begin with: the layer where there is one, and the key as the user writes it */
static PetscErrorCode MuonParameterName_Private(PetscObject object, const MuonParameter *row, size_t length, char text[])
{
  const char *const layer  = MuonParametersOf(object)->layer;
  const char *const prefix = object->prefix != NULL ? object->prefix : "", *const family = MuonParameterFamily_Private(object, row);

  PetscFunctionBegin;
  if (layer != NULL) PetscCall(PetscSNPrintf(text, length, "Layer \"%.*s\": -%s%s%s", (int)strcspn(layer, "@"), layer, prefix, family, row->key));
  else PetscCall(PetscSNPrintf(text, length, "-%s%s%s", prefix, family, row->key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int MuonParameterNames_Private(const MuonParameter *row)
{
  int count = 0;

  while (row->names[count + 3] != NULL) count++; /* the type, the prefix and NULL stand behind the names */
  return count + 1;
}

/* What a value must be, in words */
static PetscErrorCode MuonParameterRange_Private(const MuonParameter *row, size_t length, char text[])
{
  const char  opens = row->flags & MUON_PARAMETER_ABOVE ? '(' : '[', closes = row->flags & MUON_PARAMETER_BELOW ? ')' : ']';
  const char *kind = row->kind == MUON_PARAMETER_REAL && !(row->flags & MUON_PARAMETER_INF) ? "finite and " : "";

  PetscFunctionBegin;
  if (row->least <= -MUON_UNBOUNDED && row->most >= MUON_UNBOUNDED) PetscCall(PetscStrncpy(text, "finite", length));
  else if (row->most >= MUON_UNBOUNDED) PetscCall(PetscSNPrintf(text, length, "%s%s %g", kind, opens == '(' ? "above" : "at least", row->least));
  else PetscCall(PetscSNPrintf(text, length, "in %c%g,%g%c", opens, row->least, row->most, closes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParameterCheckRange_Private(PetscObject object, const MuonParameter *row, double value)
{
  PetscBool legal = PETSC_TRUE;
  char      name[512], range[128];

  PetscFunctionBegin;
  if ((row->flags & MUON_PARAMETER_AUTO) && value == (double)PETSC_DETERMINE) PetscFunctionReturn(PETSC_SUCCESS);
  if (row->kind == MUON_PARAMETER_BOOL) PetscFunctionReturn(PETSC_SUCCESS);
  if (row->kind == MUON_PARAMETER_ENUM) {
    const int count = MuonParameterNames_Private(row);

    if (value >= row->least && value >= 0 && value < count) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MuonParameterName_Private(object, row, sizeof(name), name));
    SETERRQ(PetscObjectComm(object), PETSC_ERR_ARG_OUTOFRANGE, "%s %d is no %s", name, (int)value, row->names[count]);
  }
  if (!(value >= row->least) || !(value <= row->most)) legal = PETSC_FALSE;
  if ((row->flags & MUON_PARAMETER_ABOVE) && value == row->least) legal = PETSC_FALSE;
  if ((row->flags & MUON_PARAMETER_BELOW) && value == row->most) legal = PETSC_FALSE;
  if (!(row->flags & MUON_PARAMETER_INF) && row->kind == MUON_PARAMETER_REAL && fabs(value) >= (double)PETSC_INFINITY) legal = PETSC_FALSE; /* which is finite */
  if (row->flags & MUON_PARAMETER_INF && value >= (double)PETSC_INFINITY) legal = PETSC_TRUE;
  if (legal) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonParameterName_Private(object, row, sizeof(name), name));
  PetscCall(MuonParameterRange_Private(row, sizeof(range), range));
  SETERRQ(PetscObjectComm(object), PETSC_ERR_ARG_OUTOFRANGE, "%s %g must be %s", name, value, range);
}

/* An error where a value would change that SetUp() has used */
static PetscErrorCode MuonParameterCheckFixed_Private(PetscObject object, const MuonParameter *row, PetscBool same)
{
  char name[512];

  PetscFunctionBegin;
  if (same || !(row->flags & MUON_PARAMETER_FIXED) || !MuonParametersOf(object)->fixed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonParameterName_Private(object, row, sizeof(name), name));
  SETERRQ(PetscObjectComm(object), PETSC_ERR_ORDER, "%s must be set before MuonSetUp(), or after MuonReset()", name);
}

static PetscErrorCode MuonParameterSet_Private(PetscObject object, const MuonParameter *row, double value)
{
  void *const               field = MuonParameterField_Private(object, row);
  const MuonParameterClass *what  = MuonParametersClassOf_Private(object);

  PetscFunctionBegin;
  PetscCall(MuonParameterCheckRange_Private(object, row, value));
  PetscCall(MuonParameterCheckFixed_Private(object, row, MuonParameterGet_Private(row, field) == value ? PETSC_TRUE : PETSC_FALSE));
  if (what->changing != NULL) PetscCall((*what->changing)(object, row, value));
  MuonParameterPut_Private(row, field, value);
  PetscCall(MuonParametersNote_Private(object, row->key));
  PetscCall(PetscObjectStateIncrease(object));
  if (what->changed != NULL) PetscCall((*what->changed)(object, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParameterSetText_Private(PetscObject object, const MuonParameter *row, const char value[])
{
  char **const              field = (char **)MuonParameterField_Private(object, row);
  const MuonParameterClass *what  = MuonParametersClassOf_Private(object);
  PetscBool                 same;
  char                     *copy;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(*field, value, &same));
  PetscCall(MuonParameterCheckFixed_Private(object, row, same));
  if (what->changing != NULL) PetscCall((*what->changing)(object, row, 0));
  if (what->changingtext != NULL) PetscCall((*what->changingtext)(object, row, value));
  PetscCall(PetscStrallocpy(value[0] != '\0' ? value : NULL, &copy)); /* it may be the old value */
  PetscCall(PetscFree(*field));
  *field = copy;
  PetscCall(MuonParametersNote_Private(object, row->key));
  PetscCall(PetscObjectStateIncrease(object));
  if (what->changed != NULL) PetscCall((*what->changed)(object, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersAssign(PetscObject object, const char key[], double value)
{
  const MuonParameter *row = MuonParametersFind(object, key, NULL);

  PetscFunctionBegin;
  PetscCheck(row != NULL && row->kind != MUON_PARAMETER_TEXT, PetscObjectComm(object), PETSC_ERR_SUP, "A %s of type %s has no parameter %s", object->class_name, object->type_name != NULL ? object->type_name : "(not set)", key);
  if (value != (double)PETSC_CURRENT) PetscCall(MuonParameterSet_Private(object, row, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersAssignText(PetscObject object, const char key[], const char value[])
{
  const MuonParameter *row = MuonParametersFind(object, key, NULL);

  PetscFunctionBegin;
  PetscCheck(row != NULL && row->kind == MUON_PARAMETER_TEXT, PetscObjectComm(object), PETSC_ERR_SUP, "A %s of type %s has no parameter %s", object->class_name, object->type_name != NULL ? object->type_name : "(not set)", key);
  if (value != NULL) PetscCall(MuonParameterSetText_Private(object, row, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersDefault_Private(PetscObject object, const MuonParameter *rows)
{
  PetscFunctionBegin;
  for (const MuonParameter *row = rows; row != NULL && row->key != NULL; row++) {
    if (!(row->flags & MUON_PARAMETER_DATA) && MuonParametersIsSet(object, row->key)) continue; /* by somebody, under another type */
    if (row->kind != MUON_PARAMETER_TEXT) MuonParameterPut_Private(row, MuonParameterField_Private(object, row), row->value);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersCreate(PetscObject object)
{
  MuonParameters *const parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  parameters->rows[0] = MuonParametersClassOf_Private(object)->rows;
  PetscCall(MuonParametersDefault_Private(object, parameters->rows[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersSetType(PetscObject object)
{
  MuonParameters *const parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  parameters->rows[1] = NULL;
  for (PetscInt t = 0; t < registry.ntypes; t++) {
    if (registry.type[t].classid == object->classid && strcmp(registry.type[t].type, object->type_name) == 0) parameters->rows[1] = registry.type[t].rows;
  }
  PetscCall(MuonParametersDefault_Private(object, parameters->rows[1]));
  for (PetscInt w = 0; w < parameters->nwaiting; w++) { /* those of other types wait on */
    char *const key = parameters->waiting[2 * w], *const value = parameters->waiting[2 * w + 1];

    if (MuonParametersFind(object, key, NULL) == NULL) continue;
    PetscCall(MuonParametersSetText_Private(object, key, value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersFreeTexts_Private(PetscObject object, const MuonParameter *rows)
{
  PetscFunctionBegin;
  for (const MuonParameter *row = rows; row != NULL && row->key != NULL; row++) {
    if (row->kind == MUON_PARAMETER_TEXT) PetscCall(PetscFree(*(char **)MuonParameterField_Private(object, row)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersDestroyType(PetscObject object)
{
  MuonParameters *const parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  for (const MuonParameter *row = parameters->rows[1]; row != NULL && row->key != NULL; row++) {
    if (row->flags & MUON_PARAMETER_DATA) PetscCall(MuonParametersUnset(object, row->key));
  }
  PetscCall(MuonParametersFreeTexts_Private(object, parameters->rows[1]));
  parameters->rows[1] = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersDestroy(PetscObject object)
{
  MuonParameters *const parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  PetscCall(MuonParametersFreeTexts_Private(object, parameters->rows[0]));
  for (PetscInt w = 0; w < 2 * parameters->nwaiting; w++) PetscCall(PetscFree(parameters->waiting[w]));
  PetscCall(PetscFree(parameters->waiting));
  PetscCall(PetscFree(parameters->set));
  parameters->nset = parameters->maxset = parameters->nwaiting = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersWait_Private(PetscObject object, const char key[], const char value[])
{
  MuonParameters *const parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  PetscCall(PetscRealloc(sizeof(char *) * 2 * (size_t)(parameters->nwaiting + 1), &parameters->waiting));
  PetscCall(PetscStrallocpy(key, &parameters->waiting[2 * parameters->nwaiting]));
  PetscCall(PetscStrallocpy(value, &parameters->waiting[2 * parameters->nwaiting + 1]));
  parameters->nwaiting++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One option: the value that is shown by -help is that of now */
static PetscErrorCode MuonParameterRead_Private(PetscObject object, const MuonParameter *row, MuonOptionItems PetscOptionsObject)
{
  const void *const field = MuonParameterField_Private(object, row);
  char              key[PETSC_MAX_OPTION_NAME], text[PETSC_MAX_PATH_LEN];
  PetscReal         real  = 0;
  PetscInt          count = 0;
  PetscBool         flg = PETSC_FALSE, is = PETSC_FALSE;
  double            value = MuonParameterGet_Private(row, field);

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(key, sizeof(key), "-%s%s", MuonParameterFamily_Private(object, row), row->key));
  switch (row->kind) {
  case MUON_PARAMETER_REAL:
    if (row->flags & MUON_PARAMETER_INF) {
      PetscCall(MuonExponentWrite_Private((PetscReal)value, sizeof(text), text));
      PetscCall(PetscOptionsString(key, row->help, "MuonSetParameter", text, text, sizeof(text), &flg));
      if (flg) PetscCall(MuonExponentRead_Private(text, &real));
    } else PetscCall(PetscOptionsReal(key, row->help, "MuonSetParameter", (PetscReal)value, &real, &flg));
    value = (double)real;
    break;
  case MUON_PARAMETER_INT64: /* which PetscOptionsInt() may not read */
    PetscCall(MuonNumberWrite(value, sizeof(text), text));
    PetscCall(PetscOptionsString(key, row->help, "MuonSetParameter", text, text, sizeof(text), &flg));
    if (flg) PetscCall(MuonParametersSetText_Private(object, row->key, text));
    PetscFunctionReturn(PETSC_SUCCESS);
  case MUON_PARAMETER_INT:
    PetscCall(PetscOptionsInt(key, row->help, "MuonSetParameter", (PetscInt)value, &count, &flg));
    value = (double)count;
    break;
  case MUON_PARAMETER_BOOL:
    PetscCall(PetscOptionsBool(key, row->help, "MuonSetParameter", value != 0 ? PETSC_TRUE : PETSC_FALSE, &is, &flg));
    value = is ? 1 : 0;
    break;
  case MUON_PARAMETER_ENUM: {
    PetscEnum which = (PetscEnum)(value < 0 ? 0 : (int)value);

    PetscCall(PetscOptionsEnum(key, row->help, "MuonSetParameter", row->names, which, &which, &flg));
    value = (double)(int)which;
    break;
  }
  case MUON_PARAMETER_TEXT:
    PetscCall(PetscOptionsString(key, row->help, "MuonSetParameter", *(char *const *)field, text, sizeof(text), &flg));
    if (flg) PetscCall(MuonParameterSetText_Private(object, row, text));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (flg) PetscCall(MuonParameterSet_Private(object, row, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersSetFromOptions(PetscObject object, MuonOptionItems PetscOptionsObject)
{
  const MuonParameters *parameters = MuonParametersOf(object);
  MuonLocale            locale;

  PetscFunctionBegin;
  PetscCall(MuonLocaleBegin(&locale));
  for (int k = 0; k < 2; k++) {
    for (const MuonParameter *row = parameters->rows[k]; row != NULL && row->key != NULL; row++) PetscCall(MuonParameterRead_Private(object, row, PetscOptionsObject));
  }
  PetscCall(MuonLocaleEnd(&locale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A value as text, as an option has it */
PetscErrorCode MuonParametersSetText_Private(PetscObject object, const char key[], const char value[])
{
  const MuonParameter *row = MuonParametersFind(object, key, NULL);
  char                 name[512];
  const double         most   = row != NULL && row->kind == MUON_PARAMETER_INT ? (double)PETSC_MAX_INT : 9007199254740992.0; /* of a double */
  double               number = 0;
  PetscBool            ok     = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MuonParameterName_Private(object, row, sizeof(name), name));
  if (row->kind == MUON_PARAMETER_TEXT) {
    PetscCall(MuonParameterSetText_Private(object, row, value));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (row->kind == MUON_PARAMETER_BOOL) {
    PetscBool is;

    PetscCall(PetscOptionsStringToBool(value, &is));
    number = is ? 1 : 0;
  } else if (row->kind == MUON_PARAMETER_ENUM) {
    const int count = MuonParameterNames_Private(row);
    PetscBool same  = PETSC_FALSE;
    int       which = 0;

    for (; which < count && !same; which++) PetscCall(PetscStrcasecmp(row->names[which], value, &same));
    PetscCheck(same, PetscObjectComm(object), PETSC_ERR_ARG_OUTOFRANGE, "%s %s is no %s", name, value, row->names[count]);
    number = which - 1;
  } else PetscCall(MuonNumberRead(value, &number, &ok));
  if (row->kind != MUON_PARAMETER_REAL && !(number >= -most && number <= most && number == (double)(PetscInt64)number)) ok = PETSC_FALSE;
  PetscCheck(ok, PetscObjectComm(object), PETSC_ERR_ARG_WRONG, "%s %s is no number of its kind", name, value);
  PetscCall(MuonParameterSet_Private(object, row, number));
  PetscFunctionReturn(PETSC_SUCCESS);
}
