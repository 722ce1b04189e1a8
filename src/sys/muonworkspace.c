#include <petscmuon/private/petscmuonimpl.h>

struct _n_MuonWorkspace {
  PetscInt refct;
  size_t   bytes[MUON_WORK_MAX];
  void    *buffer[MUON_WORK_MAX];

  PetscObjectList kept;
};

PetscErrorCode MuonWorkspaceCreate(MuonWorkspace *work)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(work));
  (*work)->refct = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceReference(MuonWorkspace work)
{
  PetscFunctionBegin;
  if (work != NULL) work->refct++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The contents of a slot that has to grow are lost: a slot is scratch, not state. pointer is the address of a pointer to any type */
PetscErrorCode MuonWorkspaceGet(MuonWorkspace work, MuonWorkspaceSlot slot, size_t bytes, void *pointer)
{
  PetscFunctionBegin;
  if (work->bytes[slot] < bytes) {
    PetscCall(PetscFree(work->buffer[slot]));
    work->bytes[slot] = 0;
    PetscCall(PetscMalloc(bytes, &work->buffer[slot]));
    work->bytes[slot] = bytes;
  }
  *(void **)pointer = work->buffer[slot];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGetKept(MuonWorkspace work, PetscObjectList **kept)
{
  PetscFunctionBegin;
  *kept = &work->kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGetBytes(MuonWorkspace work, size_t *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
  for (int slot = 0; slot < MUON_WORK_MAX; slot++) *bytes += work->bytes[slot];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceDestroy(MuonWorkspace *work)
{
  PetscFunctionBegin;
  if (*work == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (--(*work)->refct > 0) {
    *work = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int slot = 0; slot < MUON_WORK_MAX; slot++) PetscCall(PetscFree((*work)->buffer[slot]));
  PetscCall(PetscObjectListDestroy(&(*work)->kept));
  PetscCall(PetscFree(*work));
  PetscFunctionReturn(PETSC_SUCCESS);
}
