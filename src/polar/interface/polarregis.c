#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/dense/muonpolarbf16.h"

PetscClassId      MUONPOLAR_CLASSID;
PetscFunctionList MuonPolarList              = NULL;
PetscBool         MuonPolarRegisterAllCalled = PETSC_FALSE;
PetscLogEvent     MUON_Polar;

static PetscBool MuonPolarPackageInitialized = PETSC_FALSE;

/*@C
  MuonPolarRegister - Adds a method to the polar factors that `MuonPolarSetType()` knows

  Not Collective; No Fortran Support

  Input Parameters:
+ name     - name of the new type
- function - routine that fills an object with the type's operations

  Level: advanced

.seealso: `MuonPolar`, `MuonPolarSetType()`, `MuonPolarRegisterAll()`
@*/
PetscErrorCode MuonPolarRegister(const char name[], PetscErrorCode (*function)(MuonPolar))
{
  PetscFunctionBegin;
  PetscCall(MuonPolarInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonPolarList, name, function));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarRegisterAll - Registers the polar factors of the library

  Not Collective

  Level: developer

.seealso: `MuonPolar`, `MuonPolarRegister()`
@*/
PetscErrorCode MuonPolarRegisterAll(void)
{
  PetscFunctionBegin;
  if (MuonPolarRegisterAllCalled == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonPolarRegisterAllCalled = PETSC_TRUE;
  PetscCall(MuonPolarRegister(MUONPOLARSVD, MuonPolarCreate_SVD));
  PetscCall(MuonPolarRegister(MUONPOLARNEWTONSCHULZ, MuonPolarCreate_NewtonSchulz));
  PetscCall(MuonPolarRegister(MUONPOLARGRAM, MuonPolarCreate_Gram));
  PetscCall(MuonPolarRegister(MUONPOLARQDWH, MuonPolarCreate_QDWH));
  PetscCall(MuonPolarRegister(MUONPOLARZOLOTAREV, MuonPolarCreate_Zolotarev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarInitializePackage - Registers the class `MuonPolar`, its types and its log event

  Logically Collective

  Level: developer

  Note:
  `MuonPolarCreate()` calls it.

.seealso: `MuonPolar`, `MuonPolarFinalizePackage()`
@*/
PetscErrorCode MuonPolarInitializePackage(void)
{
  PetscFunctionBegin;
  if (MuonPolarPackageInitialized == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  MuonPolarPackageInitialized = PETSC_TRUE;
  PetscCall(PetscClassIdRegister("MuonPolar", &MUONPOLAR_CLASSID));
  PetscCall(MuonPolarRegisterAll());
  PetscCall(PetscLogEventRegister("MuonPolar", MUONPOLAR_CLASSID, &MUON_Polar));
  /* The ranks that own a layer compute, the others do not */
  PetscCall(PetscLogEventSetCollective(MUON_Polar, PETSC_FALSE));
  PetscCall(MuonPackageRegister_Private("muonpolar", MUONPOLAR_CLASSID, MuonPolarFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarFinalizePackage - Forgets what `MuonPolarInitializePackage()` registered; called by
  `PetscFinalize()`

  Logically Collective

  Level: developer

.seealso: `MuonPolar`, `MuonPolarInitializePackage()`
@*/
PetscErrorCode MuonPolarFinalizePackage(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFunctionListDestroy(&MuonPolarList));
  MuonKernelBF16Free();
  MuonPolarPackageInitialized = PETSC_FALSE;
  MuonPolarRegisterAllCalled  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
