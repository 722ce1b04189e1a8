#include <petscmuon/private/petscmuonimpl.h>

/*
   Which objects of the library live, by their addresses. An optimized PETSc does not look at handles, and one
   cannot be looked at in memory that is no longer its own. A program has few of them: a list that is walked
   will do
*/
static struct {
  PetscInt     count, room;
  const void **address;
} live;

static PetscInt MuonObjectFind_Private(const void *address)
{
  PetscInt k = live.count - 1;

  while (k >= 0 && live.address[k] != address) k--;
  return k;
}

PetscErrorCode MuonObjectBegins_Private(PetscObject object)
{
  PetscFunctionBegin;
  if (live.count == live.room) {
    const PetscInt room = 2 * live.room + 64;
    const void   **more;

    PetscCall(PetscMalloc1(room, &more));
    PetscCall(PetscArraycpy(more, live.address, live.count));
    PetscCall(PetscFree(live.address));
    live.address = more;
    live.room    = room;
  }
  live.address[live.count++] = object;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonObjectEnds_Private(PetscObject object)
{
  const PetscInt k = MuonObjectFind_Private(object);

  PetscFunctionBegin;
  if (k < 0) PetscFunctionReturn(PETSC_SUCCESS);
  live.address[k] = live.address[--live.count];
  if (live.count > 0) PetscFunctionReturn(PETSC_SUCCESS);
  live.room = 0;
  PetscCall(PetscFree(live.address));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonObjectLives_Private(const void *address, PetscBool *lives)
{
  PetscFunctionBegin;
  *lives = MuonObjectFind_Private(address) >= 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
