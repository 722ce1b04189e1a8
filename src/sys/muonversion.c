#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuonsys.h> /*I "petscmuonsys.h" I*/
#include <petscmuonbuild.h>

/*@C
  PetscMuonGetVersion - Gets the version of the library as text

  Not Collective

  Input Parameter:
. length - length of `version`, 256 is enough

  Output Parameter:
. version - the version, the commit of the sources and its date, and the configuration of the library

  Level: beginner

  Note:
  `-muon_view` prints the same. Please include it in reports of errors.

.seealso: `PetscMuonGetVersionNumber()`, `PetscMuonInitialize()`, `PetscGetVersion()`
@*/
PetscErrorCode PetscMuonGetVersion(char version[], size_t length)
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(version, length, "PetscMuon %s %d.%d.%d, commit %s of %s, built with %s", PETSCMUON_VERSION_RELEASE ? "Release Version" : "Development Version", PETSCMUON_VERSION_MAJOR, PETSCMUON_VERSION_MINOR, PETSCMUON_VERSION_SUBMINOR,
                          PETSCMUON_COMMIT, PETSCMUON_COMMIT_DATE, PETSCMUON_BUILT_WITH));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PetscMuonGetVersionNumber - Gets the version of the library as numbers

  Not Collective

  Output Parameters:
+ major    - the first number, may be `NULL`
. minor    - the second number, may be `NULL`
. subminor - the third number, may be `NULL`
- release  - 1 for a release and 0 for a version under development, may be `NULL`

  Level: developer

  Note:
  Macros such as `PETSCMUON_VERSION_MAJOR` and `PETSCMUON_VERSION_GE` give the version of the headers.

.seealso: `PetscMuonGetVersion()`, `PetscGetVersionNumber()`
@*/
PetscErrorCode PetscMuonGetVersionNumber(PetscInt *major, PetscInt *minor, PetscInt *subminor, PetscInt *release)
{
  PetscFunctionBegin;
  if (major) *major = PETSCMUON_VERSION_MAJOR;
  if (minor) *minor = PETSCMUON_VERSION_MINOR;
  if (subminor) *subminor = PETSCMUON_VERSION_SUBMINOR;
  if (release) *release = PETSCMUON_VERSION_RELEASE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
