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

PetscErrorCode MuonSetFromLayeredOptions(PetscObject object, const char shared[], const char own[], PetscErrorCode (*read)(PetscObject, const char prefix[], PetscBool type))
{
  PetscBool has, same;
  char     *type;

  PetscFunctionBegin;
  PetscCall((*read)(object, shared, PETSC_FALSE));
  PetscCall(MuonHasOptions(object, own, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrallocpy(object->type_name, &type));
  PetscCall((*read)(object, own, PETSC_FALSE));
  PetscCall(PetscObjectTypeCompare(object, type, &same));
  PetscCall(PetscFree(type));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*read)(object, shared, PETSC_TRUE));
  PetscCall((*read)(object, own, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
