#include <petscmuon/private/petscmuonimpl.h>

/*
   The objects of the library that exist, by their addresses. An optimized PETSc does not check handles, and
   memory that was freed cannot be read to check one. There are few of them: a list that is searched will do
*/
static struct {
  PetscInt     count, capacity;
  const void **address;
} registered;

static PetscInt MuonObjectFind_Private(const void *address)
{
  PetscInt k = registered.count - 1;

  while (k >= 0 && registered.address[k] != address) k--;
  return k;
}

PetscErrorCode MuonObjectRegister_Private(PetscObject object)
{
  PetscFunctionBegin;
  if (registered.count == registered.capacity) {
    const PetscInt capacity = 2 * registered.capacity + 64;
    const void   **more;

    PetscCall(PetscMalloc1(capacity, &more));
    PetscCall(PetscArraycpy(more, registered.address, registered.count));
    PetscCall(PetscFree(registered.address));
    registered.address  = more;
    registered.capacity = capacity;
  }
  registered.address[registered.count++] = object;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonObjectUnregister_Private(PetscObject object)
{
  const PetscInt k = MuonObjectFind_Private(object);

  PetscFunctionBegin;
  if (k < 0) PetscFunctionReturn(PETSC_SUCCESS);
  registered.address[k] = registered.address[--registered.count];
  if (registered.count > 0) PetscFunctionReturn(PETSC_SUCCESS);
  registered.capacity = 0;
  PetscCall(PetscFree(registered.address));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonObjectIsRegistered_Private(const void *address, PetscBool *is)
{
  PetscFunctionBegin;
  *is = MuonObjectFind_Private(address) >= 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
