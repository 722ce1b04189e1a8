#include <petscmuon/private/petscmuonimpl.h>
#include <petsc/private/hashset.h>

/*
   Which objects of the library live, by their addresses. An optimized PETSc does not look at handles, and one cannot be looked at in memory that is no longer its own.
*/
PETSC_HASH_SET(HSetLive, PETSC_UINTPTR_T, PetscHash_UInt64, PetscHashEqual)

static PetscHSetLive live;

PetscErrorCode MuonObjectBegins_Private(PetscObject object)
{
  PetscFunctionBegin;
  if (live == NULL) PetscCall(PetscHSetLiveCreate(&live));
  PetscCall(PetscHSetLiveAdd(live, (PETSC_UINTPTR_T)object));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonObjectEnds_Private(PetscObject object)
{
  PetscInt left;

  PetscFunctionBegin;
  PetscCall(PetscHSetLiveDel(live, (PETSC_UINTPTR_T)object));
  PetscCall(PetscHSetLiveGetSize(live, &left));
  if (left == 0) PetscCall(PetscHSetLiveDestroy(&live));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonObjectLives_Private(const void *address, PetscBool *lives)
{
  PetscFunctionBegin;
  *lives = PETSC_FALSE;
  if (live != NULL) PetscCall(PetscHSetLiveHas(live, (PETSC_UINTPTR_T)address, lives));
  PetscFunctionReturn(PETSC_SUCCESS);
}
