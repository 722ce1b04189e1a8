#include <petscmuon/private/muonparameter.h>
#include <petscmuon/private/petscmuonimpl.h>

PetscErrorCode MuonHasOptions(PetscObject object, const char prefix[], PetscBool *has)
{
  char  key[PETSC_MAX_OPTION_NAME + 1];
  char *all, *found;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(key, sizeof(key), "-%s", prefix));
  PetscCall(PetscStrtolower(key));
  PetscCall(PetscOptionsGetAll(object->options, &all));
  PetscCall(PetscStrtolower(all));
  PetscCall(PetscStrstr(all, key, &found));
  *has = found != NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetPrefix_Visit(PetscObject object, void *prefix)
{
  const MuonParameterClass *what = MuonParametersClassOf_Private(object);

  PetscFunctionBegin;
  PetscCall(PetscObjectSetOptionsPrefix(object, (const char *)prefix));
  if (what->children != NULL) PetscCall((*what->children)(object, MuonSetPrefix_Visit, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonReadBehind_Private(PetscObject object, const char prefix[], PetscBool known)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MuonSetPrefix_Visit(object, (void *)prefix));
  MuonParametersOf(object)->known = known;
  ierr                            = (*MuonParametersClassOf_Private(object)->setfromoptions)(object);
  MuonParametersOf(object)->known = PETSC_FALSE;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetFromLayeredOptions(PetscObject object, const char shared[], const char own[])
{
  PetscBool has, same;
  char     *type;

  PetscFunctionBegin;
  PetscCall(MuonReadBehind_Private(object, shared, MuonParametersOf(object)->parent != NULL ? PETSC_TRUE : PETSC_FALSE));
  PetscCall(MuonHasOptions(object, own, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrallocpy(object->type_name, &type));
  PetscCall(MuonReadBehind_Private(object, own, PETSC_FALSE));
  PetscCall(PetscObjectTypeCompare(object, type, &same));
  PetscCall(PetscFree(type));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonReadBehind_Private(object, shared, PETSC_TRUE));
  PetscCall(MuonReadBehind_Private(object, own, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
