#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/

PetscClassId      MUONLMO_CLASSID;
PetscFunctionList MuonLMOList              = NULL;
PetscBool         MuonLMORegisterAllCalled = PETSC_FALSE;
PetscLogEvent     MUON_LMO;

static PetscBool MuonLMOPackageInitialized = PETSC_FALSE;

/*@C
  MuonLMORegister - Adds a norm to the linear minimization oracles that `MuonLMOSetType()` knows

  Not Collective; No Fortran Support

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

  Not Collective

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
  MuonLMOInitializePackage - Registers the class of oracles, its types and its log events; called when the
  first oracle is made

  Logically Collective

  Level: developer

  Note:
  `MuonLMOCreate()` calls it.

.seealso: `MuonLMO`, `MuonLMOFinalizePackage()`
@*/
PetscErrorCode MuonLMOInitializePackage(void)
{
  PetscFunctionBegin;
  if (MuonLMOPackageInitialized == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLMOPackageInitialized = PETSC_TRUE;
  PetscCall(PetscClassIdRegister("MuonLMO", &MUONLMO_CLASSID));
  PetscCall(MuonRegisterKeyFamily("lmo_"));
  PetscCall(MuonLMORegisterAll());
  PetscCall(PetscLogEventRegister("MuonLMO", MUONLMO_CLASSID, &MUON_LMO));
  /* The ranks that own a layer compute, the others do not */
  PetscCall(PetscLogEventSetCollective(MUON_LMO, PETSC_FALSE));
  /* The compressor that is made of an oracle */
  PetscCall(MuonPackageRegister_Private("muonlmo", MUONLMO_CLASSID, MuonLMOFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOFinalizePackage - Forgets what `MuonLMOInitializePackage()` registered; called by `PetscFinalize()`

  Logically Collective

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
