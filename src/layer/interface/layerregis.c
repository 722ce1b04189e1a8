#include "../muonslot.h" /*I "petscmuonlayer.h" I*/

PetscClassId      MUONLAYER_CLASSID;
PetscFunctionList MuonLayerRuleList           = NULL;
static PetscBool  MuonLayerPackageInitialized = PETSC_FALSE;

/*@C
  MuonLayerRuleRegister - Adds an optimizer of layers

  Not Collective; No Fortran Support

  Input Parameters:
+ name     - name of the optimizer
. function - routine that sets the optimizer's operations of a layer
- rows     - the parameters of the optimizer, ended by a row without a key, or `NULL`; the array is not copied

  Level: advanced

  Notes:
  The name can then be chosen with `MuonLayerSetRule()` or `-muon_layer_NAME_rule`.

  Rows are described in `petscmuon/private/muonparameter.h`.

.seealso: `MuonLayer`, `MuonLayerSetRule()`
@*/
PetscErrorCode MuonLayerRuleRegister(const char name[], PetscErrorCode (*function)(MuonLayer), const struct _MuonParameter *rows)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonLayerRuleList, name, function));
  PetscCall(MuonParametersRegisterType(MUONLAYER_CLASSID, name, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerFinalizePackage_Private(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListDestroy(&MuonLayerRuleList));
  MuonLayerPackageInitialized = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLayerInitializePackage - Registers the class `MuonLayer` and the optimizers of layers; called when the first
  layer is created

  Not Collective

  Level: developer

.seealso: `PetscMuonInitialize()`
@*/
PetscErrorCode MuonLayerInitializePackage(void)
{
  MuonParameterClass what;

  PetscFunctionBegin;
  if (MuonLayerPackageInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  MuonLayerPackageInitialized = PETSC_TRUE;
  PetscCall(PetscClassIdRegister("Muon Layer", &MUONLAYER_CLASSID));
  PetscCall(PetscMemzero(&what, sizeof(what)));
  what.family         = "muon_layer_NAME_";
  what.type           = "rule";
  what.rows           = MuonLayerParameters_Private;
  what.at             = offsetof(struct _p_MuonLayer, parameters);
  what.data           = offsetof(struct _p_MuonLayer, data);
  what.setfromoptions = MuonLayerSetFromOptions;
  what.changing       = MuonLayerChanging_Private;
  what.children       = MuonLayerChildren_Private;
  PetscCall(MuonParametersRegisterClass(MUONLAYER_CLASSID, &what));
  PetscCall(MuonSlotsRegister());
  PetscCall(MuonLayerRuleRegister(MUONLAYERLMO, MuonLayerRuleCreate_LMO, NULL));
  PetscCall(MuonLayerRuleRegister(MUONLAYERADAMW, MuonLayerRuleCreate_AdamW, MuonLayerParameters_AdamW));
  PetscCall(MuonLayerRuleRegister(MUONLAYERNADAMW, MuonLayerRuleCreate_AdamW, MuonLayerParameters_AdamW));
  PetscCall(MuonLayerRuleRegister(MUONLAYERSOAP, MuonLayerRuleCreate_SOAP, MuonLayerParameters_SOAP));
  PetscCall(MuonLayerRuleRegister(MUONLAYERSGD, MuonLayerRuleCreate_SGD, NULL));
  PetscCall(MuonLayerRuleRegister(MUONLAYERFROZEN, MuonLayerRuleCreate_Frozen, NULL));
  PetscCall(MuonPackageRegister_Private("muonlayer", MUONLAYER_CLASSID, MuonLayerFinalizePackage_Private));
  PetscFunctionReturn(PETSC_SUCCESS);
}
