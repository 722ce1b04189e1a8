#include <petscmuon/private/petscmuonimpl.h>

PetscErrorCode MuonPackageRegister_Private(const char package[], PetscClassId classid)
{
  char      list[PETSC_MAX_PATH_LEN];
  PetscBool set, excluded = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscInfoProcessClass(package, 1, &classid));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-log_exclude", list, sizeof(list), &set));
  if (set) PetscCall(PetscStrInList(package, list, ',', &excluded));
  if (excluded) PetscCall(PetscLogEventExcludeClass(classid));
  PetscFunctionReturn(PETSC_SUCCESS);
}
