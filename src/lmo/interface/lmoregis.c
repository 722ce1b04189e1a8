#include <petscmuon/private/muonlmoimpl.h> /*I "petscmuonlmo.h" I*/
#include <petscmuon/private/muonpolarimpl.h>

PetscClassId      MUONLMO_CLASSID;
PetscFunctionList MuonLMOList = NULL;
PetscLogEvent     MUON_LMO;

/* The polar factor, where the norm uses one */
static PetscErrorCode MuonLMOChildren_Private(PetscObject object, MuonParameterObjectFn *call, void *ctx)
{
  const MuonLMO lmo = (MuonLMO)object;

  PetscFunctionBegin;
  if (lmo->polar != NULL) PetscCall((*call)((PetscObject)lmo->polar, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMORegister - Adds a norm to the `MuonLMO` package

  Not Collective; No Fortran Support

  Input Parameters:
+ name     - name of the new type
. function - routine that sets the type's operations of an object
- rows     - the parameters of the type, ended by a row without a key, or `NULL`; the array is not copied

  Level: advanced

.seealso: `MuonLMO`, `MuonLMOSetType()`
@*/
PetscErrorCode MuonLMORegister(const char name[], PetscErrorCode (*function)(MuonLMO), const MuonParameter *rows)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonLMOList, name, function));
  PetscCall(MuonParametersRegisterType(MUONLMO_CLASSID, name, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonLMOInitializePackage - Registers the class `MuonLMO`, its types and its log event

  Logically Collective

  Level: developer

  Note:
  `MuonLMOCreate()` calls it.

.seealso: `MuonLMO`, `MuonLMOCreate()`
@*/
PetscErrorCode MuonLMOInitializePackage(void)
{
  MuonParameterClass parameters = {0};

  PetscFunctionBegin;
  if (MUONLMO_CLASSID != 0) PetscFunctionReturn(PETSC_SUCCESS);
  parameters.family         = "lmo_";
  parameters.type           = "lmo_type";
  parameters.svd            = offsetof(struct _p_MuonLMO, svd);
  parameters.at             = offsetof(struct _p_MuonLMO, parameters);
  parameters.data           = offsetof(struct _p_MuonLMO, data);
  parameters.setfromoptions = (PetscErrorCode(*)(PetscObject))MuonLMOSetFromOptions;
  parameters.children       = MuonLMOChildren_Private;
  parameters.create         = (PetscErrorCode(*)(MPI_Comm, PetscObject *))MuonLMOCreate;
  parameters.list           = &MuonLMOList;
  parameters.traits         = offsetof(struct _p_MuonLMO, kind);
  parameters.behind         = offsetof(struct _p_MuonLMO, memory);
  PetscCall(MuonParametersRegisterClass("MuonLMO", &MUONLMO_CLASSID, &parameters));
  PetscCall(MuonLMORegister(MUONLMOSPECTRAL, MuonLMOCreate_Spectral, NULL));
  PetscCall(MuonLMORegister(MUONLMONUCLEAR, MuonLMOCreate_Nuclear, NULL));
  PetscCall(MuonLMORegister(MUONLMOSCHATTEN, MuonLMOCreate_Schatten, MuonLMOParameters_Schatten));
  PetscCall(MuonLMORegisterVectors_Private());
  PetscCall(PetscLogEventRegister("MuonLMO", MUONLMO_CLASSID, &MUON_LMO));
  /* The ranks that own a layer compute, the others do not */
  PetscCall(PetscLogEventSetCollective(MUON_LMO, PETSC_FALSE));
  PetscCall(MuonPackageRegister_Private("muonlmo", MUONLMO_CLASSID));
  PetscFunctionReturn(PETSC_SUCCESS);
}
