#include <petscmuon/private/muonassemblyimpl.h>

PetscClassId     MUONASSEMBLY_CLASSID;
PetscLogEvent    MUON_Assembly, MUON_AssemblyWait;
static PetscBool MuonAssemblyPackageInitialized = PETSC_FALSE;

const char *const MuonAssemblyKinds[]      = {"none", "allgather", "owner", "gram", "MuonAssemblyKind", "MUON_ASSEMBLY_", NULL};
const char *const MuonAssemblyPrecisions[] = {"native", "single", "bf16", "MuonAssemblyPrecision", "MUON_ASSEMBLY_PRECISION_", NULL};

/*@C
  MuonAssemblyInitializePackage - Initializes the `MuonAssembly` package; called by `MuonAssemblyCreate()` and
  `PetscMuonInitialize()`

  Not Collective

  Level: developer

.seealso: `MuonAssembly`, `MuonAssemblyFinalizePackage()`
@*/
PetscErrorCode MuonAssemblyInitializePackage(void)
{
  PetscFunctionBegin;
  if (MuonAssemblyPackageInitialized == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonAssemblyPackageInitialized = PETSC_TRUE;
  PetscCall(PetscClassIdRegister("MuonAssembly", &MUONASSEMBLY_CLASSID));
  PetscCall(PetscLogEventRegister("MuonAssembly", MUONASSEMBLY_CLASSID, &MUON_Assembly));
  PetscCall(PetscLogEventSetCollective(MUON_Assembly, PETSC_FALSE)); /* as often as a rank owns items */
  PetscCall(PetscLogEventRegister("MuonAssemblyWait", MUONASSEMBLY_CLASSID, &MUON_AssemblyWait));
  PetscCall(MuonPackageRegister_Private("muonassembly", MUONASSEMBLY_CLASSID, MuonAssemblyFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonAssemblyFinalizePackage - Finalizes the `MuonAssembly` package; called from `PetscFinalize()`

  Not Collective

  Level: developer

.seealso: `MuonAssembly`, `MuonAssemblyInitializePackage()`
@*/
PetscErrorCode MuonAssemblyFinalizePackage(void)
{
  PetscFunctionBegin;
  MuonAssemblyPackageInitialized = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
