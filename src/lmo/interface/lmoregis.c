#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/

PetscClassId      MUONLMO_CLASSID;
PetscFunctionList MuonLMOList              = NULL;
PetscBool         MuonLMORegisterAllCalled = PETSC_FALSE;
PetscLogEvent     MUON_LMO;

static PetscBool MuonLMOPackageInitialized = PETSC_FALSE;

PETSC_INTERN PetscErrorCode MuonCompressorCreate_Sharp(MuonCompressor);

/*@C
  MuonLMORegister - Adds a norm to the linear minimization oracles that `MuonLMOSetType()` knows

  Not Collective; No Fortran support

  Input Parameters:
+ name     - name of the new type
- function - routine that fills an object with the type's operations

  Level: advanced

.seealso: `MuonLMO`, `MuonLMOSetType()`, `MuonLMORegisterAll()`
@*/
PetscErrorCode MuonLMORegister(const char name[], PetscErrorCode (*function)(MuonLMO))
{
  PetscFunctionBegin;
  PetscCall(MuonLMOInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonLMOList, name, function));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMORegisterAll - Registers the linear minimization oracles of the library

  Not Collective; No Fortran support

  Level: developer

.seealso: `MuonLMO`, `MuonLMORegister()`
@*/
PetscErrorCode MuonLMORegisterAll(void)
{
  PetscFunctionBegin;
  if (MuonLMORegisterAllCalled == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLMORegisterAllCalled = PETSC_TRUE;
  PetscCall(MuonLMORegister(MUONLMOSPECTRAL, MuonLMOCreate_Spectral));
  PetscCall(MuonLMORegister(MUONLMONUCLEAR, MuonLMOCreate_Nuclear));
  PetscCall(MuonLMORegister(MUONLMOSCHATTEN, MuonLMOCreate_Schatten));
  PetscCall(MuonLMORegister(MUONLMOFROBENIUS, MuonLMOCreate_Frobenius));
  PetscCall(MuonLMORegister(MUONLMOMAX, MuonLMOCreate_Max));
  PetscCall(MuonLMORegister(MUONLMOL1, MuonLMOCreate_L1));
  PetscCall(MuonLMORegister(MUONLMOCOLUMN, MuonLMOCreate_Column));
  PetscCall(MuonLMORegister(MUONLMOROW, MuonLMOCreate_Row));
  PetscCall(MuonLMORegister(MUONLMOCOLSUM, MuonLMOCreate_ColSum));
  PetscCall(MuonLMORegister(MUONLMOROWSUM, MuonLMOCreate_RowSum));
  PetscCall(MuonLMORegister(MUONLMOL21, MuonLMOCreate_L21));
  PetscCall(MuonLMORegister(MUONLMOMIXED, MuonLMOCreate_Mixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOInitializePackage - Registers the class `MuonLMO`, its types, its log event and the compressor `MUONCOMPRESSORSHARP`

  Logically Collective; No Fortran support

  Level: developer

  Note:
  `MuonLMOCreate()` calls it.

.seealso: `MuonLMO`, `MuonLMOFinalizePackage()`
@*/
PetscErrorCode MuonLMOInitializePackage(void)
{
  PetscBool excluded, known;
  char      list[256];

  PetscFunctionBegin;
  if (MuonLMOPackageInitialized == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLMOPackageInitialized = PETSC_TRUE;
  PetscCall(PetscClassIdRegister("MuonLMO", &MUONLMO_CLASSID));
  PetscCall(MuonLMORegisterAll());
  PetscCall(PetscLogEventRegister("MuonLMO", MUONLMO_CLASSID, &MUON_LMO));
  /* The ranks that own a layer compute, the others do not */
  PetscCall(PetscLogEventSetCollective(MUON_LMO, PETSC_FALSE));
  PetscCall(PetscInfoProcessClass("muonlmo", 1, &MUONLMO_CLASSID));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-log_exclude", list, sizeof(list), &known));
  if (known == PETSC_TRUE) {
    PetscCall(PetscStrInList("muonlmo", list, ',', &excluded));
    if (excluded == PETSC_TRUE) PetscCall(PetscLogEventExcludeClass(MUONLMO_CLASSID));
  }
  /* The compressor that is made of an oracle */
  PetscCall(MuonCompressorRegister(MUONCOMPRESSORSHARP, MuonCompressorCreate_Sharp));
  PetscCall(PetscRegisterFinalize(MuonLMOFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOFinalizePackage - Forgets what `MuonLMOInitializePackage()` registered; called by `PetscFinalize()`

  Logically Collective; No Fortran support

  Level: developer

.seealso: `MuonLMO`, `MuonLMOInitializePackage()`
@*/
PetscErrorCode MuonLMOFinalizePackage(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListDestroy(&MuonLMOList));
  MuonLMOPackageInitialized = PETSC_FALSE;
  MuonLMORegisterAllCalled  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
