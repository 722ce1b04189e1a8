#include "../muonslot.h" /*I "petscmuonlayer.h" I*/

PetscClassId      MUONLAYER_CLASSID;
PetscFunctionList MuonLayerList = NULL;

/*@C
  MuonLayerRegister - Adds a type of layers

  Not Collective; No Fortran Support

  Input Parameters:
+ name     - name of the optimizer
. function - routine that sets the optimizer's operations of a layer
- rows     - the parameters of the optimizer, ended by a row without a key, or `NULL`; the array is not copied

  Level: advanced

  Notes:
  The name can then be chosen with `MuonLayerSetType()` or `-muon_layer_NAME_type`.

  Rows are described in `petscmuon/private/muonparameter.h`.

.seealso: `MuonLayer`, `MuonLayerSetType()`
@*/
PetscErrorCode MuonLayerRegister(const char name[], PetscErrorCode (*function)(MuonLayer), const struct _MuonParameter *rows)
{
  PetscFunctionBegin;
  PetscCall(MuonLayerInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonLayerList, name, function));
  PetscCall(MuonParametersRegisterType(MUONLAYER_CLASSID, name, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layer without entries */
static PetscErrorCode MuonLayerCreateEmpty_Private(MPI_Comm comm, PetscObject *layer)
{
  MuonLayerArray array = {0};

  PetscFunctionBegin;
  array.comm = comm;
  array.type = PETSC_DOUBLE;
  PetscCall(MuonLayerCreateFromArray("empty", &array, (MuonLayer *)layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLayerInitializePackage - Registers the class `MuonLayer` and the types of layers; called when the first
  layer is created

  Not Collective

  Level: developer

.seealso: `PetscMuonInitialize()`
@*/
PetscErrorCode MuonLayerInitializePackage(void)
{
  MuonParameterClass what = {0};

  PetscFunctionBegin;
  if (MUONLAYER_CLASSID != 0) PetscFunctionReturn(PETSC_SUCCESS);
  what.family         = "muon_layer_NAME_";
  what.type           = "type";
  what.rows           = MuonLayerParameters_Private;
  what.at             = offsetof(struct _p_MuonLayer, parameters);
  what.data           = offsetof(struct _p_MuonLayer, data);
  what.setfromoptions = MuonLayerSetFromOptions;
  what.changing       = MuonLayerChanging_Private;
  what.children       = MuonLayerChildren_Private;
  what.create         = MuonLayerCreateEmpty_Private;
  what.list           = &MuonLayerList;
  what.traits         = offsetof(struct _p_MuonLayer, flops);
  what.behind         = offsetof(struct _p_MuonLayer, onpairs);
  PetscCall(MuonParametersRegisterClass("Muon Layer", &MUONLAYER_CLASSID, &what));
  PetscCall(MuonSlotsRegister());
  PetscCall(MuonLayerRegister(MUONLAYERLMO, MuonLayerCreate_LMO, NULL));
  PetscCall(MuonLayerRegister(MUONLAYERADAMW, MuonLayerCreate_AdamW, MuonLayerParameters_AdamW));
  PetscCall(MuonLayerRegister(MUONLAYERNADAMW, MuonLayerCreate_AdamW, MuonLayerParameters_AdamW));
  PetscCall(MuonLayerRegister(MUONLAYERSOAP, MuonLayerCreate_SOAP, MuonLayerParameters_SOAP));
  PetscCall(MuonLayerRegister(MUONLAYERSGD, MuonLayerCreate_SGD, NULL));
  PetscCall(MuonLayerRegister(MUONLAYERFROZEN, MuonLayerCreate_Frozen, NULL));
  PetscCall(MuonPackageRegister_Private("muonlayer", MUONLAYER_CLASSID));
  PetscFunctionReturn(PETSC_SUCCESS);
}
