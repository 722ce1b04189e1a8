#include <petscmuon/private/petscmuonimpl.h>
#include <petsc/private/hashset.h>

/*
   Which objects of the library live, by their addresses. An optimized PETSc does not look at handles, and one cannot be looked at in memory that is no longer its own.
*/
PETSC_HASH_SET(HSetLive, PETSC_UINTPTR_T, PetscHash_UInt64, PetscHashEqual)

static PetscHSetLive live;

/* An optimized PETSc does not see that its set has no memory: what was added is looked for */
PetscErrorCode MuonObjectBegins_Private(PetscObject object)
{
  PetscBool there;

  PetscFunctionBegin;
  if (live == NULL) PetscCall(PetscHSetLiveCreate(&live));
  PetscCheck(live != NULL, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for the set of the objects that live");
  PetscCall(PetscHSetLiveAdd(live, (PETSC_UINTPTR_T)object));
  PetscCall(PetscHSetLiveHas(live, (PETSC_UINTPTR_T)object, &there));
  PetscCheck(there == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory in the set of the objects that live for one more");
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
