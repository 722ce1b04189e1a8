#include "muoninterface.h"
#include <string.h>

PetscClassId      MUON_CLASSID;
PetscFunctionList MuonList = NULL;
PetscLogEvent     MUON_Step, MUON_Gradient, MUON_Momentum, MUON_Aggregate, MUON_Measure, MUON_SetUpEvent;

/* Not on the heap: nothing of it is freed */
static struct {
  PetscInt     count;
  const char  *name[16];
  MuonAddonOps ops[16];
} MuonAddons;

PETSC_INTERN PetscErrorCode MuonAddonRegister_Device(void);
PETSC_INTERN PetscErrorCode MuonAddonRegister_Theory(void);
PETSC_INTERN PetscErrorCode MuonAddonRegister_TestGradient(void);
PETSC_INTERN PetscErrorCode MuonAddonRegister_Cost(void);
PETSC_INTERN PetscErrorCode MuonAddonRegister_Watch(void);
PETSC_INTERN PetscErrorCode MuonAddonRegister_PostStep(void);
PETSC_INTERN PetscErrorCode MuonAddonRegister_Monitor(void);
PETSC_INTERN PetscErrorCode MuonAddonRegister_LookAhead(void);
PETSC_INTERN PetscErrorCode MuonAddonRegister_Checkpoint(void);
PETSC_INTERN PetscErrorCode MuonRegister_Feedback(void);
PETSC_INTERN PetscErrorCode MuonRegister_Local(void);
PETSC_INTERN PetscErrorCode MuonRegister_Dense(void);
PETSC_INTERN PetscErrorCode MuonRegister_Sign(void);

static PetscBool MuonRegisterAllCalled = PETSC_FALSE;

/*@C
  MuonRegister - Adds an algorithm to the `Muon` package

  Not Collective; No Fortran Support

  Input Parameters:
+ sname      - name of the algorithm
. function   - routine that sets the algorithm's operations of an optimizer
- parameters - table of its parameters, ended by a row without a key; `NULL` for none

  Level: advanced

  Note:
  The name can then be chosen with `MuonSetType()` or `-muon_type`.

.seealso: `Muon`, `MuonSetType()`, `MuonRegisterAll()`
@*/
PetscErrorCode MuonRegister(const char sname[], PetscErrorCode (*function)(Muon), const struct _MuonParameter *parameters)
{
  PetscFunctionBegin;
  PetscCall(MuonInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonList, sname, function));
  PetscCall(MuonParametersRegisterType(MUON_CLASSID, sname, parameters));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAddonRegister(const char name[], const MuonAddonOps *ops)
{
  PetscInt k = 0;

  PetscFunctionBegin;
  PetscCall(MuonInitializePackage());
  while (k < MuonAddons.count && strcmp(MuonAddons.name[k], name) != 0) k++;
  PetscCheck(k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(MuonAddons.ops), PETSC_COMM_SELF, PETSC_ERR_SUP, "Addon %s: there are %d already, as many as there may be", name, (int)k);
  MuonAddons.name[k] = name;
  MuonAddons.ops[k]  = *ops;
  MuonAddons.count   = PetscMax(MuonAddons.count, k + 1);
  PetscCall(MuonParametersRegisterType(MUON_CLASSID, "", ops->rows));
  PetscCall(MuonParametersRegisterType(MUONLAYER_CLASSID, "", ops->layerrows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAddonsCreate_Private(Muon muon)
{
  PetscFunctionBegin;
  muon->naddons = MuonAddons.count;
  PetscCall(PetscMalloc1(muon->naddons, &muon->addon));
  for (PetscInt k = 0; k < muon->naddons; k++) {
    muon->addon[k].name = MuonAddons.name[k];
    muon->addon[k].ops  = &MuonAddons.ops[k];
    PetscCall(MuonParametersAddPart((PetscObject)muon, MuonAddons.ops[k].rows, MuonAddons.ops[k].size, &muon->addon[k].data));
  }
  PetscCall(MuonAddonsSetType_Private(muon, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonAddonsSetType_Private(Muon muon, MuonType type)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < muon->naddons; k++) {
    PetscErrorCode (*create)(Muon);
    PetscBool same;

    PetscCall(PetscFunctionListFind(MuonList, muon->addon[k].name, &create));
    PetscCall(PetscStrcmp(muon->addon[k].name, type, &same));
    muon->addon[k].idle = create != NULL && same == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void *MuonAddonData(Muon muon, const char name[])
{
  for (PetscInt k = 0; k < muon->naddons; k++) {
    if (strcmp(muon->addon[k].name, name) == 0) return muon->addon[k].data;
  }
  return NULL;
}

/*@C
  MuonRegisterAll - Registers all algorithms and addons of this library

  Not Collective

  Level: advanced

.seealso: `Muon`, `MuonRegister()`
@*/
PetscErrorCode MuonRegisterAll(void)
{
  PetscFunctionBegin;
  if (MuonRegisterAllCalled) PetscFunctionReturn(PETSC_SUCCESS);
  MuonRegisterAllCalled = PETSC_TRUE;
  PetscCall(MuonRegister_Feedback());
  PetscCall(MuonRegister_Local());
  PetscCall(MuonRegister_Dense());
  PetscCall(MuonRegister_Sign());
  /* In the order in which they are called */
  PetscCall(MuonAddonRegister_Device());
  PetscCall(MuonAddonRegister_Theory());
  PetscCall(MuonAddonRegister_TestGradient());
  PetscCall(MuonAddonRegister_Cost());
  PetscCall(MuonAddonRegister_Watch());
  PetscCall(MuonAddonRegister_PostStep());
  PetscCall(MuonAddonRegister_Monitor());
  PetscCall(MuonAddonRegister_LookAhead());
  PetscCall(MuonAddonRegister_Checkpoint());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonFinalize_Private(void)
{
  MuonAddons.count      = 0;
  MuonRegisterAllCalled = PETSC_FALSE;
}

/*@C
  MuonInitializePackage - Registers the class `Muon`, its types, its log events and the classes that it uses; called
  when the first optimizer is created

  Not Collective

  Level: developer

.seealso: `MuonLMOInitializePackage()`, `PetscMuonInitialize()`
@*/
PetscErrorCode MuonInitializePackage(void)
{
  MuonParameterClass what = {0};

  PetscFunctionBegin;
  if (MUON_CLASSID != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorInitializePackage()); /* whose misspelled keys are reported, whether or not there is a compressor */
  PetscCall(MuonLMOInitializePackage());        /* keys of compressors are read before there is one */
  what.family         = "muon_";
  what.type           = "muon_type";
  what.rows           = MuonParameters_Private;
  what.at             = offsetof(struct _p_Muon, parameters);
  what.data           = offsetof(struct _p_Muon, data);
  what.setfromoptions = MuonReadAllOptions_Private;
  what.changing       = MuonChanging_Private;
  what.children       = MuonChildren_Private;
  what.changingtext   = MuonChangingText_Private;
  what.changed        = MuonChanged_Private;
  what.heading        = MuonHeading_Private;
  what.list           = &MuonList;
  what.finalize       = MuonFinalize_Private;
  PetscCall(MuonParametersRegisterClass("Muon", &MUON_CLASSID, &what));
  PetscCall(MuonRegisterAll());
  PetscCall(PetscLogEventRegister("MuonSetUp", MUON_CLASSID, &MUON_SetUpEvent));
  PetscCall(PetscLogEventRegister("MuonStep", MUON_CLASSID, &MUON_Step));
  PetscCall(PetscLogEventRegister("MuonGradient", MUON_CLASSID, &MUON_Gradient));
  PetscCall(PetscLogEventRegister("MuonMomentum", MUON_CLASSID, &MUON_Momentum));
  PetscCall(PetscLogEventRegister("MuonAggregate", MUON_CLASSID, &MUON_Aggregate));
  PetscCall(PetscLogEventSetCollective(MUON_Aggregate, PETSC_FALSE)); /* as often as a rank owns layers */
  PetscCall(PetscLogEventRegister("MuonMeasure", MUON_CLASSID, &MUON_Measure));
  PetscCall(PetscLogEventSetCollective(MUON_Measure, PETSC_FALSE)); /* servers measure more */
  PetscCall(PetscLogEventRegister("MuonAssembly", MUON_CLASSID, &MUON_Assembly));
  PetscCall(PetscLogEventSetCollective(MUON_Assembly, PETSC_FALSE)); /* as often as a rank owns items */
  PetscCall(PetscLogEventRegister("MuonAssemblyWait", MUON_CLASSID, &MUON_AssemblyWait));
  PetscCall(MuonPackageRegister_Private("muon", MUON_CLASSID));
  PetscFunctionReturn(PETSC_SUCCESS);
}
