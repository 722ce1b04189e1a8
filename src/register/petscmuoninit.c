#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon.h> /*I "petscmuon.h" I*/
#include <petscmuonregressor.h>
#include <petscmuontao.h>

/* Whether PetscMuonInitialize() started PETSc, so that PetscMuonFinalize() ends it */
static PetscBool PetscMuonBeganPetsc    = PETSC_FALSE;
static PetscBool PetscMuonIsInitialized = PETSC_FALSE;

static PetscErrorCode PetscMuonRegisterEnd_Private(void)
{
  PetscFunctionBegin;
  PetscMuonIsInitialized = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscMuonRegisterAll_Private(void)
{
  PetscFunctionBegin;
  if (PetscMuonIsInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  PetscMuonIsInitialized = PETSC_TRUE;
  PetscCall(PetscRegisterFinalize(PetscMuonRegisterEnd_Private));
  PetscCall(MuonPolarInitializePackage());
  PetscCall(MuonLMOInitializePackage());
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(MuonExchangeInitializePackage());
  PetscCall(MuonLayerInitializePackage());
  PetscCall(MuonInitializePackage());
  PetscCall(TaoMuonRegister());
  PetscCall(PetscRegressorMLPRegister());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The function is defined here, not the macro, which calls the next one */
#undef PetscMuonInitialize

/*@C
  PetscMuonInitialize - Initializes the library, and PETSc if necessary

  Collective on `MPI_COMM_WORLD` or `PETSC_COMM_WORLD`

  Input Parameters:
+ argc - count of the program's arguments, may be `NULL`
. args - the arguments, may be `NULL`
. file - name of an options file, may be `NULL`
- help - what `-help` prints first, may be `NULL`

  Level: beginner

  Note:
  A program that calls `PetscInitialize()` may omit this call, because every class is initialized at its first use.
  SLEPc is initialized at the first singular value decomposition.

  In C this is a macro, which calls `PetscMuonInitializeVersion()`. A library of another version than that of the
  headers is an error that names both.

.seealso: `PetscMuonFinalize()`, `PetscMuonInitialized()`, `PetscInitialize()`, `Muon`
@*/
PetscErrorCode PetscMuonInitialize(int *argc, char ***args, const char file[], const char help[])
{
  PetscFunctionBegin;
  PetscCall(PetscMuonInitializeVersion(argc, args, file, help, PETSCMUON_VERSION_MAJOR, PETSCMUON_VERSION_MINOR, PETSCMUON_VERSION_SUBMINOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscMuonInitializeVersion - Initializes the library as `PetscMuonInitialize()`, and compares its version with that of the
  headers

  Collective on `MPI_COMM_WORLD` or `PETSC_COMM_WORLD`

  Input Parameters:
+ argc     - count of the program's arguments, may be `NULL`
. args     - the arguments, may be `NULL`
. file     - name of an options file, may be `NULL`
. help     - what `-help` prints first, may be `NULL`
. major    - the first number of the headers' version
. minor    - the second number
- subminor - the third number

  Level: developer

  Note:
  Major and minor must be those of the library, as in its soname. Programs need not be compiled again for another third
  number.

.seealso: `PetscMuonInitialize()`, `PetscMuonGetVersionNumber()`
@*/
PetscErrorCode PetscMuonInitializeVersion(int *argc, char ***args, const char file[], const char help[], int major, int minor, int subminor)
{
  PetscBool started;

  PetscFunctionBegin;
  PetscCall(PetscInitialized(&started));
  if (started == PETSC_FALSE) {
    PetscCall(PetscInitialize(argc, args, file, help));
    PetscMuonBeganPetsc = PETSC_TRUE;
  }
  PetscCheck(major == PETSCMUON_VERSION_MAJOR && minor == PETSCMUON_VERSION_MINOR, PETSC_COMM_WORLD, PETSC_ERR_LIB,
             "The program was compiled with headers of PetscMuon %d.%d.%d, and the library that it runs with is %d.%d.%d: compile it again, or let the loader find the library of its headers", major, minor, subminor, PETSCMUON_VERSION_MAJOR,
             PETSCMUON_VERSION_MINOR, PETSCMUON_VERSION_SUBMINOR);
  PetscCall(PetscMuonRegisterAll_Private());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PetscMuonFinalize - Finalizes the library, and PETSc if `PetscMuonInitialize()` initialized it

  Collective on `PETSC_COMM_WORLD`

  Level: beginner

.seealso: `PetscMuonInitialize()`, `PetscFinalize()`
@*/
PetscErrorCode PetscMuonFinalize(void)
{
  PetscFunctionBegin;
  if (PetscMuonBeganPetsc == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscMuonBeganPetsc = PETSC_FALSE;
  /* This leaves the stack of functions, which PetscFinalize() empties, before the call */
  PetscFunctionReturn(PetscFinalize());
}

/*@
  PetscMuonInitialized - Checks whether all classes of the library are registered

  Not Collective

  Output Parameter:
. initialized - `PETSC_TRUE` between `PetscMuonInitialize()` and `PetscFinalize()`

  Level: beginner

.seealso: `PetscMuonInitialize()`, `PetscMuonFinalize()`
@*/
PetscErrorCode PetscMuonInitialized(PetscBool *initialized)
{
  PetscFunctionBegin;
  *initialized = PetscMuonIsInitialized;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_USE_COMPLEX)
  #define PetscDLLibraryRegister_petscmuon PetscDLLibraryRegister_petscmuon_complex
#endif
/* PETSc calls this, by the name of the library, when it loads the library by -dll_append; it registers everything */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscmuon(void);
PetscErrorCode              PetscDLLibraryRegister_petscmuon(void)
{
  PetscFunctionBegin;
  PetscCall(PetscMuonRegisterAll_Private());
  PetscFunctionReturn(PETSC_SUCCESS);
}
