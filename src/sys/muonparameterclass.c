#include <petscmuon/private/muonparameter.h>
#include <petscmuon/private/petscmuonimpl.h>

/*
   The registry: a class by its id with its rows, and the rows of its types. With a handful of classes and a few dozen types
   linear search is enough.
*/
typedef struct {
  PetscClassId      *classid;
  MuonParameterClass what;
} ClassEntry;

typedef struct {
  PetscClassId         classid;
  char                *type;
  const MuonParameter *rows;
} TypeEntry;

static struct {
  PetscInt   nclasses, ntypes;
  ClassEntry class_[16];
  TypeEntry *type; /* those with an empty name are of parts */
} registry;

static PetscErrorCode MuonParametersFinalize_Private(void)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < registry.nclasses; c++) {
    const MuonParameterClass *what = &registry.class_[c].what;

    if (what->list != NULL) PetscCall(PetscFunctionListDestroy(what->list));
    if (what->finalize != NULL) (*what->finalize)();
    *registry.class_[c].classid = 0;
  }
  for (PetscInt t = 0; t < registry.ntypes; t++) PetscCall(PetscFree(registry.type[t].type));
  PetscCall(PetscFree(registry.type));
  registry.nclasses = registry.ntypes = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MuonParameterClass *MuonParameterClassFind_Private(PetscClassId classid)
{
  for (PetscInt c = 0; c < registry.nclasses; c++) {
    if (*registry.class_[c].classid == classid) return &registry.class_[c].what;
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

PetscErrorCode MuonParametersRegisterClass(const char name[], PetscClassId *classid, const MuonParameterClass *what)
{
  PetscFunctionBegin;
  PetscCheck(registry.nclasses < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(registry.class_), PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d classes with parameters", (int)registry.nclasses);
  if (registry.nclasses == 0) PetscCall(PetscRegisterFinalize(MuonParametersFinalize_Private));
  PetscCall(PetscClassIdRegister(name, classid));
  registry.class_[registry.nclasses].classid = classid;
  registry.class_[registry.nclasses++].what  = *what;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonParametersRegisterType(PetscClassId classid, const char type[], const MuonParameter rows[])
{
  TypeEntry *entry = NULL;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < registry.ntypes; t++) {
    if (registry.type[t].classid == classid && strcmp(registry.type[t].type, type) == 0 && (type[0] != '\0' || registry.type[t].rows == rows)) entry = &registry.type[t];
  }
  if (entry == NULL) {
    PetscCall(PetscRealloc(sizeof(*registry.type) * (size_t)(registry.ntypes + 1), &registry.type));
    entry          = &registry.type[registry.ntypes++];
    entry->classid = classid;
    PetscCall(PetscStrallocpy(type, &entry->type));
  }
  entry->rows = rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MuonParameter *MuonParametersRowsOfType_Private(PetscObject object)
{
  for (PetscInt t = 0; t < registry.ntypes; t++) {
    if (registry.type[t].classid == object->classid && strcmp(registry.type[t].type, object->type_name) == 0) return registry.type[t].rows;
  }
  return NULL;
}

PetscErrorCode MuonParametersForEach(MuonParameterKeyFn *call, void *ctx)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < registry.nclasses; c++) {
    const ClassEntry   *entry  = &registry.class_[c];
    const MuonParameter select = {entry->what.type, MUON_PARAMETER_TEXT, 0, 0, 0, 0, NULL, 0, "The type"};

    PetscCall((*call)(strstr(entry->what.family, "NAME_") != NULL ? entry->what.family : "", "", &select, ctx));
    for (const MuonParameter *row = entry->what.rows; row != NULL && row->key != NULL; row++) PetscCall((*call)(row->flags & MUON_PARAMETER_BARE ? "" : entry->what.family, "", row, ctx));
    for (PetscInt t = 0; t < registry.ntypes; t++) {
      if (registry.type[t].classid != *entry->classid) continue;
      for (const MuonParameter *row = registry.type[t].rows; row != NULL && row->key != NULL; row++) {
        char shared[64];

        PetscCall((*call)(row->flags & MUON_PARAMETER_BARE ? "" : entry->what.family, registry.type[t].type, row, ctx));
        if (!(row->flags & MUON_PARAMETER_SHARED)) continue;
        PetscCall(PetscSNPrintf(shared, sizeof(shared), "%.*s", (int)(strlen(entry->what.family) - strlen("NAME_")), entry->what.family));
        PetscCall((*call)(shared, registry.type[t].type, row, ctx));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A key may have the prefix of an object that belongs to another: "ef21_compressor_qsgd_bits" */
const char *MuonParametersTypeOfKey(const char key[])
{
  const size_t length = strlen(key);

  for (PetscInt t = 0; t < registry.ntypes; t++) {
    for (const MuonParameter *row = registry.type[t].rows; row != NULL && row->key != NULL && registry.type[t].type[0] != '\0'; row++) {
      const char  *family = row->flags & MUON_PARAMETER_BARE ? "" : MuonParameterClassFind_Private(registry.type[t].classid)->family;
      const size_t before = strlen(family), behind = strlen(row->key);

      /* "muon_layer_NAME_" stands for any name */
      if (strstr(family, "NAME_") != NULL && length > behind && strcmp(key + length - behind, row->key) == 0 && strncmp(key, family, before - strlen("NAME_")) == 0) return registry.type[t].type;
      if (length >= before + behind && strcmp(key + length - behind, row->key) == 0 && strncmp(key + length - behind - before, family, before) == 0) return registry.type[t].type;
    }
  }
  return NULL;
}

PetscErrorCode MuonParametersListTypes(PetscClassId classid, size_t at, size_t length, char names[])
{
  const MuonParameterClass *what = MuonParameterClassFind_Private(classid);
  const char               *last = NULL;

  PetscFunctionBegin;
  names[0] = '\0';
  for (PetscInt t = 0; t < registry.ntypes; t++) {
    MuonParameterTypeFn *create;
    PetscObject          object;
    int                  can;

    if (registry.type[t].classid != classid || registry.type[t].type[0] == '\0') continue;
    PetscCall((*what->create)(PETSC_COMM_SELF, &object));
    PetscCall(MuonParametersFindType(object, registry.type[t].type, &create));
    PetscCall(MuonParametersChangeType(object, registry.type[t].type, create));
    can = *(const int *)((const char *)object + at);
    PetscCall(PetscObjectDestroy(&object));
    if (can == 0) continue;
    if (last != NULL && names[0] != '\0') PetscCall(PetscStrlcat(names, ", ", length));
    if (last != NULL) PetscCall(PetscStrlcat(names, last, length));
    last = registry.type[t].type;
  }
  if (names[0] != '\0') PetscCall(PetscStrlcat(names, " or ", length));
  if (last != NULL) PetscCall(PetscStrlcat(names, last, length));
  PetscFunctionReturn(PETSC_SUCCESS);
}
