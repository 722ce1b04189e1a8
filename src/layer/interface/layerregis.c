#include <petscmuon/private/muonlayerimpl.h>

PetscClassId      MUONLAYER_CLASSID;
PetscFunctionList MuonLayerRuleList           = NULL;
static PetscBool  MuonLayerRegisterAllCalled  = PETSC_FALSE;
static PetscBool  MuonLayerPackageInitialized = PETSC_FALSE;

/*@C
  MuonLayerRuleRegister - Adds a rule that moves layers

  Not Collective; No Fortran Support

  Input Parameters:
+ sname    - name of the rule
- function - routine that gives a layer the rule's operations

  Level: advanced

  Note:
  The name can then be chosen with `MuonLayerSetRule()` or `-muon_layer_NAME_rule`.

.seealso: `MuonLayer`, `MuonLayerSetRule()`, `MuonLayerRegisterAll()`
@*/
PetscErrorCode MuonLayerRuleRegister(const char sname[], PetscErrorCode (*function)(MuonLayer))
{
  PetscFunctionBegin;
  PetscCall(MuonLayerInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonLayerRuleList, sname, function));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLayerRegisterAll - Registers the rules of this library

  Not Collective

  Level: advanced

.seealso: `MuonLayer`, `MuonLayerRuleRegister()`
@*/
PetscErrorCode MuonLayerRegisterAll(void)
{
  PetscFunctionBegin;
  if (MuonLayerRegisterAllCalled) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLayerRegisterAllCalled = PETSC_TRUE;
  PetscCall(MuonLayerRuleRegister(MUONLAYERLMO, MuonLayerRuleCreate_LMO));
  PetscCall(MuonLayerRuleRegister(MUONLAYERADAMW, MuonLayerRuleCreate_AdamW));
  PetscCall(MuonLayerRuleRegister(MUONLAYERNADAMW, MuonLayerRuleCreate_NAdamW));
  PetscCall(MuonLayerRuleRegister(MUONLAYERSGD, MuonLayerRuleCreate_SGD));
  PetscCall(MuonLayerRuleRegister(MUONLAYERFROZEN, MuonLayerRuleCreate_Frozen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLayerFinalizePackage - Frees what the package of layers holds; called from `PetscFinalize()`

  Not Collective

  Level: developer

.seealso: `MuonLayerInitializePackage()`, `PetscFinalize()`
@*/
PetscErrorCode MuonLayerFinalizePackage(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListDestroy(&MuonLayerRuleList));
  MuonLayerRegisterAllCalled  = PETSC_FALSE;
  MuonLayerPackageInitialized = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLayerInitializePackage - Registers the class of layers and its rules; called when the first layer is
  made

  Not Collective

  Level: developer

.seealso: `MuonLayerFinalizePackage()`, `PetscMuonInitialize()`
@*/
PetscErrorCode MuonLayerInitializePackage(void)
{
  PetscFunctionBegin;
  if (MuonLayerPackageInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLayerPackageInitialized = PETSC_TRUE;
  PetscCall(PetscClassIdRegister("Muon Layer", &MUONLAYER_CLASSID));
  PetscCall(MuonLayerRegisterAll());
  PetscCall(MuonPackageRegister_Private("muonlayer", MUONLAYER_CLASSID, MuonLayerFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}
