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

/*@C
  PetscMuonInitialize - Starts the library, and PETSc where it is not started

  Collective on `MPI_COMM_WORLD` or `PETSC_COMM_WORLD`

  Input Parameters:
+ argc - count of the program's arguments, may be `NULL`
. args - the arguments, may be `NULL`
. file - name of an options file, may be `NULL`
- help - what `-help` prints first, may be `NULL`

  Level: beginner

  Note:
  A program that calls `PetscInitialize()` itself may leave this out: every class starts itself when it is
  first used. SLEPc starts at the first singular value decomposition.

.seealso: `PetscMuonFinalize()`, `PetscMuonInitialized()`, `PetscInitialize()`, `Muon`
@*/
PetscErrorCode PetscMuonInitialize(int *argc, char ***args, const char file[], const char help[])
{
  PetscBool started;

  PetscFunctionBegin;
  PetscCall(PetscInitialized(&started));
  if (started == PETSC_FALSE) {
    PetscCall(PetscInitialize(argc, args, file, help));
    PetscMuonBeganPetsc = PETSC_TRUE;
  }
  PetscCall(PetscMuonRegisterAll_Private());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PetscMuonFinalize - Ends the library, and PETSc where `PetscMuonInitialize()` started it

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
  PetscMuonInitialized - Tells whether all classes of the library are registered

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

/* PETSc calls this when it loads the library by -dll_append; it registers everything */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscmuon(void);
PetscErrorCode              PetscDLLibraryRegister_petscmuon(void)
{
  PetscFunctionBegin;
  PetscCall(PetscMuonRegisterAll_Private());
  PetscFunctionReturn(PETSC_SUCCESS);
}
