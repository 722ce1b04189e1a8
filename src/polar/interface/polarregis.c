#include <petscmuon/private/muonpolarimpl.h> /*I "petscmuonpolar.h" I*/
#include "../../kernels/dense/muonpolarreal.h"

PetscClassId      MUONPOLAR_CLASSID;
PetscFunctionList MuonPolarList = NULL;
PetscLogEvent     MUON_Polar;

static const char *const MuonPolarLibraries[] = {"blas", "onednn", "MuonKernelProducts", "MUON_PRODUCTS_", NULL};

static const MuonParameter MuonPolarParameters[] = {
  {"products", MUON_PARAMETER_ENUM, offsetof(struct _p_MuonPolar, library), PETSC_DETERMINE, 0, 0, MuonPolarLibraries, MUON_PARAMETER_AUTO | MUON_PARAMETER_HIDDEN, "Library of the products in single precision, by default the BLAS unless it is slow"},
  {"precision", MUON_PARAMETER_ENUM, offsetof(struct _p_MuonPolar, precision), PETSC_DETERMINE, 0, 0, MuonPolarPrecisions, MUON_PARAMETER_AUTO | MUON_PARAMETER_HIDDEN, "Precision of the arithmetic, that of the method by default"},
  {NULL, MUON_PARAMETER_INT, 0, 0, 0, 0, NULL, 0, NULL}};

static PetscErrorCode MuonPolarChangingText_Private(PetscObject object, const MuonParameter *row, const char value[])
{
  MuonPolar polar = (MuonPolar)object;

  PetscFunctionBegin;
  if (value[0] != '\0') PetscTryTypeMethod(polar, checktext, row->key, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients that are given by name take the place of values */
static PetscErrorCode MuonPolarChanged_Private(PetscObject polar, const MuonParameter *row)
{
  void     *values = NULL;
  PetscBool name;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(row->key, "coefficients", &name));
  if (name && MuonParametersFind(polar, "coefficient_values", &values) != NULL) PetscCall(PetscFree(*(char **)values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarRegister - Adds a method to the `MuonPolar` package

  Not Collective; No Fortran Support

  Input Parameters:
+ name     - name of the new type
. function - routine that sets the type's operations of an object
- rows     - the parameters of the type, ended by a row without a key, or `NULL`; the array is not copied

  Level: advanced

.seealso: `MuonPolar`, `MuonPolarSetType()`
@*/
PetscErrorCode MuonPolarRegister(const char name[], PetscErrorCode (*function)(MuonPolar), const MuonParameter rows[])
{
  PetscFunctionBegin;
  PetscCall(MuonPolarInitializePackage());
  PetscCall(PetscFunctionListAdd(&MuonPolarList, name, function));
  PetscCall(MuonParametersRegisterType(MUONPOLAR_CLASSID, name, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonPolarInitializePackage - Registers the class `MuonPolar`, its types and its log event

  Logically Collective

  Level: developer

  Note:
  `MuonPolarCreate()` calls it.

.seealso: `MuonPolar`, `MuonPolarCreate()`
@*/
PetscErrorCode MuonPolarInitializePackage(void)
{
  MuonParameterClass parameters = {0};

  PetscFunctionBegin;
  if (MUONPOLAR_CLASSID != 0) PetscFunctionReturn(PETSC_SUCCESS);
  parameters.family         = "lmo_polar_";
  parameters.type           = "lmo_polar_type";
  parameters.svd            = offsetof(struct _p_MuonPolar, svd);
  parameters.rows           = MuonPolarParameters;
  parameters.at             = offsetof(struct _p_MuonPolar, parameters);
  parameters.data           = offsetof(struct _p_MuonPolar, data);
  parameters.setfromoptions = (PetscErrorCode(*)(PetscObject))MuonPolarSetFromOptions;
  parameters.create         = (PetscErrorCode(*)(MPI_Comm, PetscObject *))MuonPolarCreate;
  parameters.list           = &MuonPolarList;
  parameters.traits         = offsetof(struct _p_MuonPolar, products);
  parameters.behind         = offsetof(struct _p_MuonPolar, memory);
  parameters.finalize       = MuonKernelBF16Free;
  parameters.changed        = MuonPolarChanged_Private;
  parameters.changingtext   = MuonPolarChangingText_Private;
  PetscCall(MuonParametersRegisterClass("MuonPolar", &MUONPOLAR_CLASSID, &parameters));
  PetscCall(MuonPolarRegister(MUONPOLARNEWTONSCHULZ, MuonPolarCreate_NewtonSchulz, MuonPolarParameters_NewtonSchulz));
  PetscCall(MuonPolarRegister(MUONPOLARGRAM, MuonPolarCreate_Gram, MuonPolarParameters_Gram));
  PetscCall(MuonPolarRegister(MUONPOLARSVD, MuonPolarCreate_SVD, NULL));
  PetscCall(MuonPolarRegister(MUONPOLARQDWH, MuonPolarCreate_QDWH, NULL));
  PetscCall(MuonPolarRegister(MUONPOLARZOLOTAREV, MuonPolarCreate_Zolotarev, MuonPolarParameters_Zolotarev));
  PetscCall(MuonPolarRegister(MUONPOLARMUD, MuonPolarCreate_MUD, MuonPolarParameters_MUD));
  PetscCall(PetscLogEventRegister("MuonPolar", MUONPOLAR_CLASSID, &MUON_Polar));
  /* The ranks that own a layer compute, the others do not */
  PetscCall(PetscLogEventSetCollective(MUON_Polar, PETSC_FALSE));
  PetscCall(MuonPackageRegister_Private("muonpolar", MUONPOLAR_CLASSID));
  PetscFunctionReturn(PETSC_SUCCESS);
}
