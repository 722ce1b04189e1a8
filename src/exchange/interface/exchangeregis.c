#include <petscmuon/private/muonexchangeimpl.h> /*I "petscmuonexchange.h" I*/

PetscClassId      MUONEXCHANGE_CLASSID;
PetscLogEvent     MUON_Exchange;
PetscFunctionList MuonExchangeList = NULL;

const char *const MuonAssemblyKinds[]       = {"none", "allgather", "owner", "gram", "MuonAssemblyKind", "MUON_ASSEMBLY_", NULL};
const char *const MuonExchangeModes[]       = {"reduce", "allreduce", "gather", "MuonExchangeMode", "MUON_EXCHANGE_MODE_", NULL};
const char *const MuonExchangeAssignments[] = {"lpt", "roundrobin", "bucketed", "MuonExchangeAssignment", "MUON_EXCHANGE_ASSIGNMENT_", NULL};

static const MuonParameter MuonExchangeParameters[] = {
  {"mode", MUON_PARAMETER_ENUM, offsetof(struct _p_MuonExchange, mode), MUON_EXCHANGE_MODE_REDUCE, 0, 0, MuonExchangeModes, MUON_PARAMETER_HIDDEN, "How the contributions go up, chosen by the messages by default"},
  {"assignment", MUON_PARAMETER_ENUM, offsetof(struct _p_MuonExchange, assignment), MUON_EXCHANGE_ASSIGNMENT_LPT, 0, 0, MuonExchangeAssignments, MUON_PARAMETER_HIDDEN, "How owners are chosen"},
  {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Star(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Replicated(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Layerwise(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Rows(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeCreate_Range(MuonExchange);

/* Another value has the owners found again */
static PetscErrorCode MuonExchangeChanging_Private(PetscObject object, const MuonParameter *row, double value)
{
  MuonExchange exchange = (MuonExchange)object;

  PetscFunctionBegin;
  if (value != *(const int *)((const char *)object + row->at) || MuonParametersIsSet(object, row->key) == PETSC_FALSE) exchange->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonExchangeRegister - Adds a type to the `MuonExchange` package

  Not Collective; No Fortran Support

  Input Parameters:
+ name     - name of the new type
. function - routine that sets the type's operations of an object
- rows     - the parameters of the type, ended by a row without a key, or `NULL`; the array is not copied

  Level: advanced

.seealso: `MuonExchange`, `MuonExchangeSetType()`
@*/
PetscErrorCode MuonExchangeRegister(const char name[], PetscErrorCode (*function)(MuonExchange), const MuonParameter rows[])
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonExchangeList, name, function));
  PetscCall(MuonParametersRegisterType(MUONEXCHANGE_CLASSID, name, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonExchangeInitializePackage - Registers the class `MuonExchange`, its types and its log event

  Not Collective

  Level: developer

.seealso: `MuonExchange`, `MuonGetExchange()`
@*/
PetscErrorCode MuonExchangeInitializePackage(void)
{
  MuonParameterClass parameters = {0};

  PetscFunctionBegin;
  if (MUONEXCHANGE_CLASSID != 0) PetscFunctionReturn(PETSC_SUCCESS);
  parameters.family         = "muon_exchange_";
  parameters.type           = "muon_exchange_type";
  parameters.rows           = MuonExchangeParameters;
  parameters.at             = offsetof(struct _p_MuonExchange, parameters);
  parameters.data           = offsetof(struct _p_MuonExchange, data);
  parameters.setfromoptions = (PetscErrorCode(*)(PetscObject))MuonExchangeSetFromOptions;
  parameters.changing       = MuonExchangeChanging_Private;
  parameters.list           = &MuonExchangeList;
  parameters.traits         = offsetof(struct _p_MuonExchange, everywhere);
  parameters.behind         = offsetof(struct _p_MuonExchange, owner);
  PetscCall(MuonParametersRegisterClass("MuonExchange", &MUONEXCHANGE_CLASSID, &parameters));
  PetscCall(MuonExchangeRegister(MUONEXCHANGESTAR, MuonExchangeCreate_Star, NULL));
  PetscCall(MuonExchangeRegister(MUONEXCHANGEREPLICATED, MuonExchangeCreate_Replicated, NULL));
  PetscCall(MuonExchangeRegister(MUONEXCHANGELAYERWISE, MuonExchangeCreate_Layerwise, NULL));
  PetscCall(MuonExchangeRegister(MUONEXCHANGEROWS, MuonExchangeCreate_Rows, NULL));
  PetscCall(MuonExchangeRegister(MUONEXCHANGERANGE, MuonExchangeCreate_Range, NULL));
  PetscCall(PetscLogEventRegister("MuonExchange", MUONEXCHANGE_CLASSID, &MUON_Exchange));
  PetscCall(PetscLogEventSetCollective(MUON_Exchange, PETSC_FALSE)); /* servers wait for the sums of what they own */
  PetscCall(MuonPackageRegister_Private("muonexchange", MUONEXCHANGE_CLASSID));
  PetscFunctionReturn(PETSC_SUCCESS);
}
