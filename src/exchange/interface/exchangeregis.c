#include <petscmuon/private/muonexchangeimpl.h>

PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Star(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Replicated(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Layerwise(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Rows(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Range(MuonExchange);

static PetscBool MuonExchangePackageInitialized = PETSC_FALSE;

/*@C
  MuonExchangeRegisterAll - Registers all types of `MuonExchange` in the library

  Not Collective

  Level: advanced

.seealso: `MuonExchange`, `MuonExchangeRegister()`, `MuonExchangeInitializePackage()`
@*/
PetscErrorCode MuonExchangeRegisterAll(void)
{
  PetscFunctionBegin;
  if (MuonExchangeRegisterAllCalled == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonExchangeRegisterAllCalled = PETSC_TRUE;
  PetscCall(MuonExchangeRegister(MUONEXCHANGESTAR, MuonExchangeCreate_Star));
  PetscCall(MuonExchangeRegister(MUONEXCHANGEREPLICATED, MuonExchangeCreate_Replicated));
  PetscCall(MuonExchangeRegister(MUONEXCHANGELAYERWISE, MuonExchangeCreate_Layerwise));
  PetscCall(MuonExchangeRegister(MUONEXCHANGEROWS, MuonExchangeCreate_Rows));
  PetscCall(MuonExchangeRegister(MUONEXCHANGERANGE, MuonExchangeCreate_Range));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonExchangeInitializePackage - Initializes the `MuonExchange` package; called by `MuonExchangeCreate()` and
  `PetscMuonInitialize()`

  Not Collective

  Level: developer

.seealso: `MuonExchange`, `MuonExchangeFinalizePackage()`
@*/
PetscErrorCode MuonExchangeInitializePackage(void)
{
  PetscFunctionBegin;
  if (MuonExchangePackageInitialized == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonExchangePackageInitialized = PETSC_TRUE;
  PetscCall(PetscClassIdRegister("MuonExchange", &MUONEXCHANGE_CLASSID));
  PetscCall(MuonExchangeRegisterAll());
  PetscCall(PetscLogEventRegister("MuonExchange", MUONEXCHANGE_CLASSID, &MUON_Exchange));
  PetscCall(PetscLogEventSetCollective(MUON_Exchange, PETSC_FALSE)); /* servers wait for the sums of what they serve */
  PetscCall(MuonPackageRegister_Private("muonexchange", MUONEXCHANGE_CLASSID, MuonExchangeFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonExchangeFinalizePackage - Finalizes the `MuonExchange` package; called from `PetscFinalize()`

  Not Collective

  Level: developer

.seealso: `MuonExchange`, `MuonExchangeInitializePackage()`
@*/
PetscErrorCode MuonExchangeFinalizePackage(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListDestroy(&MuonExchangeList));
  MuonExchangePackageInitialized = PETSC_FALSE;
  MuonExchangeRegisterAllCalled  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
