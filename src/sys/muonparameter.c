#include <petscmuon/private/muonparameter.h>
#include <petscmuon/private/petscmuonimpl.h>
#include <math.h>
#include <string.h>

PetscInt64 MuonParametersChanges_Private = 1;

MuonParameters *MuonParametersOf(PetscObject object)
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);

  return what == NULL ? NULL : (MuonParameters *)((char *)object + what->at);
}

void *MuonParameterField_Private(PetscObject object, const MuonParameter *row)
{
  const MuonParameters *parameters = MuonParametersOf(object);

  if (row->flags & MUON_PARAMETER_BEHIND) return *(char **)((char *)object + (row->at >> 16)) + (row->at & 0xffff);
  if (!(row->flags & MUON_PARAMETER_DATA)) return (char *)object + row->at;
  for (PetscInt k = 0; k < parameters->nparts; k++) {
    const MuonParameterPart *part = &parameters->part[k];

    if (row >= part->rows && row < part->rows + part->count) return (char *)part->data + row->at;
  }
  return *(char **)((char *)object + MuonParametersClassOf_Private(object)->data) + row->at;
}

const MuonParameter *MuonParametersFind(PetscObject object, const char key[], void **field)
{
  const MuonParameters *parameters = MuonParametersOf(object);

  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters); k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL; row++) {
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

/* The parent's row that a value is taken from, with its field; NULL for none */
static const MuonParameter *MuonParameterAbove_Private(PetscObject object, const MuonParameter *row, void **field)
{
  const MuonParameters *parameters = MuonParametersOf(object);
  const PetscObject     parent     = parameters->parent;
  const size_t          length     = parameters->variant != NULL ? strlen(parameters->variant) : 0;
  const MuonParameter  *above      = NULL;

  if (parent == NULL || row->kind == MUON_PARAMETER_TEXT || MuonParametersIsSet(object, row->key)) return NULL;
  if (!(row->flags & MUON_PARAMETER_PARENT) && parent->classid != object->classid) return NULL;
  for (PetscInt k = 0; k < MuonParametersCount_Private(MuonParametersOf(parent)); k++) {
    for (const MuonParameter *other = MuonParametersRows_Private(MuonParametersOf(parent), k); other != NULL && other->key != NULL; other++) {
      const PetscBool before = length > 0 && strncmp(other->key, parameters->variant, length) == 0 ? PETSC_TRUE : PETSC_FALSE;
      const PetscBool own    = before && strcmp(other->key + length, row->key) == 0 ? PETSC_TRUE : PETSC_FALSE;

      if (!own && strcmp(other->key, row->key) != 0) continue;
      if (own && MuonParameterGet_Private(other, MuonParameterField_Private(parent, other)) == (double)PETSC_DETERMINE) continue;
      if (own || above == NULL) *field = MuonParameterField_Private(parent, other);
      if (own) return other;
      above = other;
    }
  }
  return above;
}

PetscBool MuonParametersIsInherited(PetscObject object, const char key[])
{
  const MuonParameter *row = MuonParametersFind(object, key, NULL), *above;
  void                *field;

  above = row != NULL ? MuonParameterAbove_Private(object, row, &field) : NULL;
  return above != NULL && strcmp(above->key, key) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MuonParameterStore_Private(PetscObject, const MuonParameter *, double);

/* What was not set is as above: the rows that the parent's row is for, behind a variant's name or not, NULL for all */
static PetscErrorCode MuonParametersFollow_Private(PetscObject object, const MuonParameter *from)
{
  const MuonParameters     *parameters = MuonParametersOf(object);
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters) && parameters->parent != NULL; k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL; row++) {
      const size_t         length = from != NULL ? strlen(from->key) : 0, own = strlen(row->key);
      const MuonParameter *above;
      void                *field;
      double               value;

      if (from != NULL && (own > length || strcmp(from->key + length - own, row->key) != 0)) continue;
      above = MuonParameterAbove_Private(object, row, &field);
      value = above != NULL ? MuonParameterGet_Private(above, field) : 0;
      if (above == NULL || value == MuonParameterGet_Private(row, MuonParameterField_Private(object, row))) continue;
      if (what->changing != NULL) PetscCall((*what->changing)(object, row, value));
      PetscCall(MuonParameterStore_Private(object, row, value));
      if (what->changed != NULL) PetscCall((*what->changed)(object, row));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParameterStore_Private(PetscObject object, const MuonParameter *row, double value)
{
  PetscFunctionBegin;
  MuonParameterPut_Private(row, MuonParameterField_Private(object, row), value);
  PetscCall(PetscObjectStateIncrease(object));
  MuonParametersChanges_Private++;
  for (PetscObject child = MuonParametersOf(object)->child; child != NULL; child = MuonParametersOf(child)->next) {
    PetscCall(MuonParametersFollow_Private(child, row));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersPut(PetscObject object, const char key[], double value)
{
  void                *field;
  const MuonParameter *row = MuonParametersFind(object, key, &field);

  PetscFunctionBegin;
  PetscCheck(row != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No parameter %s", key);
  if (MuonParameterGet_Private(row, field) != value) PetscCall(MuonParameterStore_Private(object, row, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersSetParent(PetscObject object, PetscObject parent)
{
  MuonParameters *const parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  if (parameters->before != NULL) MuonParametersOf(parameters->before)->next = parameters->next;
  else if (parameters->parent != NULL) MuonParametersOf(parameters->parent)->child = parameters->next;
  if (parameters->next != NULL) MuonParametersOf(parameters->next)->before = parameters->before;
  parameters->parent = parent;
  parameters->before = NULL;
  parameters->next   = parent != NULL ? MuonParametersOf(parent)->child : NULL;
  if (parameters->next != NULL) MuonParametersOf(parameters->next)->before = object;
  if (parent != NULL) MuonParametersOf(parent)->child = object;
  PetscCall(MuonParametersFollow_Private(object, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The beginning of errors: the layer, if there is one, and the key as the user writes it */
static PetscErrorCode MuonParameterName_Private(PetscObject object, const MuonParameter *row, size_t length, char text[])
{
  const char *const layer  = MuonParametersOf(object)->layer;
  const char *const prefix = object->prefix != NULL ? object->prefix : "", *const family = MuonParameterFamily_Private(object, row);

  PetscFunctionBegin;
  if (layer != NULL) PetscCall(PetscSNPrintf(text, length, "Layer \"%.*s\": -%s%s%s", (int)strcspn(layer, "@"), layer, prefix, family, row->key));
  else PetscCall(PetscSNPrintf(text, length, "-%s%s%s", prefix, family, row->key));
  PetscFunctionReturn(PETSC_SUCCESS);
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
    int count = 1;

    while (row->names[count + 2] != NULL) count++; /* the type, the prefix and NULL stand behind the names */
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

/* The value, or the text of a row of texts */
static PetscErrorCode MuonParameterSet_Private(PetscObject object, const MuonParameter *row, double value, const char text[])
{
  void *const               field = MuonParameterField_Private(object, row);
  const MuonParameterClass *what  = MuonParametersClassOf_Private(object);
  PetscBool                 same  = MuonParameterGet_Private(row, field) == value ? PETSC_TRUE : PETSC_FALSE;
  char                      name[512], *copy;

  PetscFunctionBegin;
  if (text != NULL) PetscCall(PetscStrcmp(*(char **)field, text, &same));
  else PetscCall(MuonParameterCheckRange_Private(object, row, value));
  if (!same && (row->flags & MUON_PARAMETER_FIXED) && MuonParametersOf(object)->fixed) {
    PetscCall(MuonParameterName_Private(object, row, sizeof(name), name));
    SETERRQ(PetscObjectComm(object), PETSC_ERR_ORDER, "%s must be set before MuonSetUp(), or after MuonReset()", name);
  }
  if (what->changing != NULL) PetscCall((*what->changing)(object, row, value));
  if (text != NULL) {
    if (what->changingtext != NULL) PetscCall((*what->changingtext)(object, row, text));
    PetscCall(PetscStrallocpy(text[0] != '\0' ? text : NULL, &copy)); /* it may be the old text */
    PetscCall(PetscFree(*(char **)field));
    *(char **)field = copy;
    PetscCall(PetscObjectStateIncrease(object));
    MuonParametersChanges_Private++;
  } else if (!same) PetscCall(MuonParameterStore_Private(object, row, value));
  if (!MuonParametersIsSet(object, row->key)) {
    MuonParameters *parameters = MuonParametersOf(object);

    PetscCall(PetscRealloc(sizeof(*parameters->set) * (size_t)(parameters->nset + 1), &parameters->set));
    parameters->set[parameters->nset++] = row->key;
  }
  if (what->changed != NULL) PetscCall((*what->changed)(object, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParameterFind_Private(PetscObject object, const char key[], PetscBool text, const MuonParameter **row)
{
  PetscFunctionBegin;
  *row = MuonParametersFind(object, key, NULL);
  PetscCheck(*row != NULL && ((*row)->kind == MUON_PARAMETER_TEXT) == (text == PETSC_TRUE), PetscObjectComm(object), PETSC_ERR_SUP, "A %s of type %s has no parameter %s", object->class_name,
             object->type_name != NULL ? object->type_name : "(not set)", key);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersAssign(PetscObject object, const char key[], double value)
{
  const MuonParameter *row;

  PetscFunctionBegin;
  PetscCall(MuonParameterFind_Private(object, key, PETSC_FALSE, &row));
  if (value != (double)PETSC_CURRENT) PetscCall(MuonParameterSet_Private(object, row, value, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersAssignText(PetscObject object, const char key[], const char value[])
{
  const MuonParameter *row;

  PetscFunctionBegin;
  PetscCall(MuonParameterFind_Private(object, key, PETSC_TRUE, &row));
  if (value != NULL) PetscCall(MuonParameterSet_Private(object, row, 0, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersDefault_Private(PetscObject object, const MuonParameter *rows)
{
  PetscFunctionBegin;
  for (const MuonParameter *row = rows; row != NULL && row->key != NULL; row++) {
    if (!(row->flags & MUON_PARAMETER_DATA) && MuonParametersIsSet(object, row->key)) continue; /* under another type */
    if (row->kind != MUON_PARAMETER_TEXT) PetscCall(MuonParameterStore_Private(object, row, row->value));
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

PetscErrorCode MuonParametersAddPart(PetscObject object, const MuonParameter rows[], size_t size, void **data)
{
  MuonParameters *const parameters = MuonParametersOf(object);
  MuonParameterPart    *part;

  PetscFunctionBegin;
  PetscCall(PetscRealloc(sizeof(*parameters->part) * (size_t)(parameters->nparts + 1), &parameters->part));
  part = &parameters->part[parameters->nparts++];
  PetscCall(PetscMemzero(part, sizeof(*part)));
  PetscCall(PetscCalloc1(size, (char **)&part->data));
  part->rows = rows;
  while (rows != NULL && rows[part->count].key != NULL) part->count++;
  PetscCall(MuonParametersDefault_Private(object, rows));
  PetscCall(MuonParametersFollow_Private(object, NULL));
  if (data != NULL) *data = part->data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void *MuonParametersPartData(PetscObject object, const MuonParameter rows[])
{
  const MuonParameters *parameters = MuonParametersOf(object);

  for (PetscInt k = 0; k < parameters->nparts; k++) {
    if (parameters->part[k].rows == rows) return parameters->part[k].data;
  }
  return NULL;
}

static PetscErrorCode MuonParameterTypeName_Private(PetscObject object, size_t length, char text[])
{
  const MuonParameter select = {MuonParametersClassOf_Private(object)->type, MUON_PARAMETER_TEXT, 0, 0, 0, 0, NULL, MuonParametersOf(object)->family != NULL ? 0 : MUON_PARAMETER_BARE, NULL};

  PetscFunctionBegin;
  PetscCall(MuonParameterName_Private(object, &select, length, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersCheckType(PetscObject object, size_t at, const char layer[], const char what[])
{
  char name[512], names[512];

  PetscFunctionBegin;
  if (*(const int *)((const char *)object + at) != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonParameterTypeName_Private(object, sizeof(name), name));
  PetscCall(MuonParametersListTypes(object->classid, at, sizeof(names), names));
  SETERRQ(PetscObjectComm(object), PETSC_ERR_SUP, "%s%s%s%s %s %s, expected %s", layer != NULL ? "Layer \"" : "", layer != NULL ? layer : "", layer != NULL ? "\": " : "", name, object->type_name, what, names);
}

PetscErrorCode MuonParametersFindType(PetscObject object, const char type[], MuonParameterTypeFn **create)
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);
  char                      name[512], names[512];
  PetscBool                 same;

  PetscFunctionBegin;
  *create = NULL;
  PetscCall(PetscObjectTypeCompare(object, type, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFunctionListFind(*what->list, type, create));
  if (*create != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonParameterTypeName_Private(object, sizeof(name), name));
  PetscCall(MuonListNames_Private(*what->list, sizeof(names), names));
  SETERRQ(PetscObjectComm(object), PETSC_ERR_ARG_UNKNOWN_TYPE, "%s: unknown type %s, expected one of: %s", name, type, names);
}

static PetscErrorCode MuonParametersFreeTexts_Private(PetscObject object, const MuonParameter *rows)
{
  PetscFunctionBegin;
  for (const MuonParameter *row = rows; row != NULL && row->key != NULL; row++) {
    if (row->kind == MUON_PARAMETER_TEXT) PetscCall(PetscFree(*(char **)MuonParameterField_Private(object, row)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonParametersDestroyType_Private(PetscObject object)
{
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);
  MuonParameters *const     parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  for (const MuonParameter *row = parameters->rows[1]; row != NULL && row->key != NULL; row++) {
    for (PetscInt k = 0; k < parameters->nset && row->flags & MUON_PARAMETER_DATA; k++) {
      if (strcmp(parameters->set[k], row->key) == 0) parameters->set[k--] = parameters->set[--parameters->nset];
    }
  }
  PetscCall(MuonParametersFreeTexts_Private(object, parameters->rows[1]));
  if (what->data > 0) PetscCall(PetscFree(*(void **)((char *)object + what->data)));
  if (what->svd > 0) PetscCall(MuonSVDDestroy((MuonSVD *)((char *)object + what->svd)));
  parameters->rows[1] = NULL;
  MuonParametersChanges_Private++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersChangeType(PetscObject object, const char type[], MuonParameterTypeFn *create)
{
  const MuonParameterClass *what       = MuonParametersClassOf_Private(object);
  MuonParameters *const     parameters = MuonParametersOf(object);
  const size_t              ops        = sizeof(struct _p_PetscObject);

  PetscFunctionBegin;
  if (create == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonParametersDestroyType_Private(object));
  PetscCall(PetscMemzero((char *)object + ops, what->at - ops));
  PetscCall(PetscMemzero((char *)object + what->traits, what->behind - what->traits));
  parameters->variant = NULL;
  PetscCall(PetscObjectChangeTypeName(object, type)); /* a family of types has one create function, which reads the name */
  PetscCall((*create)(object));
  parameters->rows[1] = MuonParametersRowsOfType_Private(object);
  PetscCall(MuonParametersDefault_Private(object, parameters->rows[1]));
  PetscCall(MuonParametersFollow_Private(object, NULL));
  if (parameters->waiting != NULL) PetscCall(MuonParametersReadFrom(object, parameters->waiting)); /* those of other types wait on */
  PetscCall(PetscObjectStateIncrease(object));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersDestroy(PetscObject object)
{
  MuonParameters *const parameters = MuonParametersOf(object);

  PetscFunctionBegin;
  PetscCall(MuonParametersDestroyType_Private(object));
  PetscCall(MuonParametersSetParent(object, NULL));
  while (parameters->child != NULL) PetscCall(MuonParametersSetParent(parameters->child, NULL));
  MuonParametersChanges_Private++;
  PetscCall(MuonParametersFreeTexts_Private(object, parameters->rows[0]));
  for (PetscInt k = 0; k < parameters->nparts; k++) {
    PetscCall(MuonParametersFreeTexts_Private(object, parameters->part[k].rows));
    PetscCall(PetscFree(parameters->part[k].data));
  }
  PetscCall(PetscFree(parameters->part));
  PetscCall(PetscOptionsDestroy(&parameters->waiting));
  PetscCall(PetscFree(parameters->set));
  parameters->nset = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersWait_Private(PetscObject object, const char key[], const char value[])
{
  MuonParameters *const parameters = MuonParametersOf(object);
  char                  name[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  if (parameters->waiting == NULL) PetscCall(PetscOptionsCreate(&parameters->waiting));
  PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s", object->prefix != NULL ? object->prefix : "", key));
  PetscCall(PetscOptionsSetValue(parameters->waiting, name, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A value as text, as an option has it */
static PetscErrorCode MuonParameterSetText_Private(PetscObject object, const MuonParameter *row, const char value[])
{
  const double most   = row->kind == MUON_PARAMETER_INT ? (double)PETSC_MAX_INT : 9007199254740992.0; /* of a double */
  double       number = 0;
  PetscBool    ok     = PETSC_TRUE;
  char         name[512];

  PetscFunctionBegin;
  if (row->kind == MUON_PARAMETER_TEXT) {
    PetscCall(MuonParameterSet_Private(object, row, 0, value));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if ((row->flags & MUON_PARAMETER_AUTO) && strcmp(value, "auto") == 0) number = PETSC_DETERMINE;
  else PetscCall(MuonNumberRead(value, &number, &ok));
  if (row->kind != MUON_PARAMETER_REAL && !(number >= -most && number <= most && number == (double)(PetscInt64)number)) ok = PETSC_FALSE;
  if (!ok) PetscCall(MuonParameterName_Private(object, row, sizeof(name), name));
  PetscCheck(ok, PetscObjectComm(object), PETSC_ERR_ARG_WRONG, "%s %s is no number of its kind", name, value);
  PetscCall(MuonParameterSet_Private(object, row, number, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One option: the value that is shown by -help is that of now */
static PetscErrorCode MuonParameterRead_Private(PetscObject object, const MuonParameter *row, MuonOptionItems PetscOptionsObject)
{
  const double value = MuonParameterGet_Private(row, MuonParameterField_Private(object, row));
  char         key[PETSC_MAX_OPTION_NAME], text[PETSC_MAX_PATH_LEN];
  PetscReal    real  = (PetscReal)value;
  PetscInt     count = (PetscInt)value;
  PetscBool    is    = value != 0 ? PETSC_TRUE : PETSC_FALSE, flg;
  PetscEnum    which = (PetscEnum)(value < 0 ? 0 : (int)value);

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(key, sizeof(key), "-%s%s", MuonParameterFamily_Private(object, row), row->key));
  if (row->kind == MUON_PARAMETER_REAL && !(row->flags & MUON_PARAMETER_INF)) {
    PetscCall(PetscOptionsReal(key, row->help, "MuonSetParameter", real, &real, &flg));
    if (flg) PetscCall(MuonParameterSet_Private(object, row, (double)real, NULL));
  } else if (row->kind == MUON_PARAMETER_INT && !(row->flags & MUON_PARAMETER_AUTO)) {
    PetscCall(PetscOptionsInt(key, row->help, "MuonSetParameter", count, &count, &flg));
    if (flg) PetscCall(MuonParameterSet_Private(object, row, (double)count, NULL));
  } else if (row->kind == MUON_PARAMETER_BOOL) {
    PetscCall(PetscOptionsBool(key, row->help, "MuonSetParameter", is, &is, &flg));
    if (flg) PetscCall(MuonParameterSet_Private(object, row, is ? 1 : 0, NULL));
  } else if (row->kind == MUON_PARAMETER_ENUM) {
    PetscCall(PetscOptionsEnum(key, row->help, "MuonSetParameter", row->names, which, &which, &flg));
    if (flg) PetscCall(MuonParameterSet_Private(object, row, (double)(int)which, NULL));
  } else { /* PETSc's own numbers may have too few digits, no infinity and no "auto" */
    PetscCall(MuonParameterWrite_Private(object, row, sizeof(text), text));
    PetscCall(PetscOptionsString(key, row->help, "MuonSetParameter", text[0] != '\0' ? text : NULL, text, sizeof(text), &flg));
    if (flg) PetscCall(MuonParameterSetText_Private(object, row, text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersSetShared(PetscObject object, const char family[])
{
  MuonParameters *const parameters = MuonParametersOf(object);
  const char *const     own        = parameters->family;
  PetscBool             any        = PETSC_FALSE;
  MuonLocale            locale;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters) && !any; k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL && !any; row++) {
      char key[PETSC_MAX_OPTION_NAME];

      PetscCall(PetscSNPrintf(key, sizeof(key), "-%s%s", family, row->key));
      if (row->flags & MUON_PARAMETER_SHARED) PetscCall(PetscOptionsHasName(object->options, object->prefix, key, &any));
    }
  }
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  parameters->family = family;
  PetscCall(MuonLocaleBegin(&locale));
  PetscObjectOptionsBegin(object);
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters); k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL; row++) {
      if (row->flags & MUON_PARAMETER_SHARED) PetscCall(MuonParameterRead_Private(object, row, PetscOptionsObject));
    }
  }
  PetscOptionsEnd();
  PetscCall(MuonLocaleEnd(&locale));
  parameters->family = own;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersSetFromOptions(PetscObject object, MuonOptionItems PetscOptionsObject)
{
  const MuonParameters *parameters = MuonParametersOf(object);
  const MuonParameterClass *class  = MuonParametersClassOf_Private(object);
  MuonLocale locale;
  char       title[64];

  PetscFunctionBegin;
  PetscCall(MuonLocaleBegin(&locale));
  for (PetscInt k = 0; k < MuonParametersCount_Private(parameters); k++) {
    for (const MuonParameter *row = MuonParametersRows_Private(parameters, k); row != NULL && row->key != NULL; row++) {
      const char *const heading = class->heading != NULL ? class->heading(object, row) : NULL;

      if (heading != NULL) {
        PetscCall(PetscSNPrintf(title, sizeof(title), "%s:", heading));
        PetscOptionsHeadBegin(PetscOptionsObject, title);
      }
      if (parameters->known && parameters->parent != NULL && MuonParametersFind(parameters->parent, row->key, NULL) != NULL) continue;
      PetscCall(MuonParameterRead_Private(object, row, PetscOptionsObject));
    }
  }
  PetscCall(MuonLocaleEnd(&locale));
  PetscFunctionReturn(PETSC_SUCCESS);
}
