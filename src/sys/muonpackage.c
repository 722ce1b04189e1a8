#include <petscmuon/private/petscmuonimpl.h>

static const char **MuonKeyFamilies    = NULL;
static PetscInt     MuonKeyFamilyCount = 0;

static PetscErrorCode MuonKeyFamiliesDestroy_Private(void)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < MuonKeyFamilyCount; i++) PetscCall(PetscFree(MuonKeyFamilies[i]));
  PetscCall(PetscFree(MuonKeyFamilies));
  MuonKeyFamilyCount = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRegisterKeyFamily(const char family[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < MuonKeyFamilyCount; i++) {
    PetscBool known;

    PetscCall(PetscStrcmp(MuonKeyFamilies[i], family, &known));
    if (known) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (MuonKeyFamilyCount == 0) PetscCall(PetscRegisterFinalize(MuonKeyFamiliesDestroy_Private));
  PetscCall(PetscRealloc(sizeof(*MuonKeyFamilies) * (MuonKeyFamilyCount + 1), &MuonKeyFamilies));
  PetscCall(PetscStrallocpy(family, (char **)&MuonKeyFamilies[MuonKeyFamilyCount]));
  MuonKeyFamilyCount++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetKeyFamilies_Private(PetscInt *n, const char *const **families)
{
  PetscFunctionBegin;
  *n        = MuonKeyFamilyCount;
  *families = MuonKeyFamilies;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPackageRegister_Private(const char package[], PetscClassId classid, PetscErrorCode (*finalize)(void))
{
  char      list[PETSC_MAX_PATH_LEN];
  PetscBool set, excluded = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscInfoProcessClass(package, 1, &classid));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-log_exclude", list, sizeof(list), &set));
  if (set) PetscCall(PetscStrInList(package, list, ',', &excluded));
  if (excluded) PetscCall(PetscLogEventExcludeClass(classid));
  PetscCall(PetscRegisterFinalize(finalize));
  PetscFunctionReturn(PETSC_SUCCESS);
}
