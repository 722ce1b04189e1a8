#include <petscmuon/private/petscmuonimpl.h>

/* By memory: a slot has a buffer in each that was asked for */
struct _n_MuonWorkspace {
  PetscInt refct;
  size_t   bytes[2][MUON_WORK_MAX];
  void    *buffer[2][MUON_WORK_MAX];
  size_t   batch;

  PetscObjectList kept;
};

PetscErrorCode MuonWorkspaceCreate(MuonWorkspace *work)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(work));
  (*work)->refct = 1;
  (*work)->batch = MUON_WORK_BATCH;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceReference(MuonWorkspace work)
{
  PetscFunctionBegin;
  if (work != NULL) work->refct++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The contents of a slot that has to grow are lost: a slot is scratch, not state. pointer is the address of a pointer to any type */
PetscErrorCode MuonWorkspaceGetIn(MuonWorkspace work, MuonMemory memory, MuonWorkspaceSlot slot, size_t bytes, void *pointer)
{
  size_t *has    = &work->bytes[memory][slot];
  void  **buffer = &work->buffer[memory][slot];

  PetscFunctionBegin;
  if (*has < bytes) {
    PetscCall(MuonMemoryFree(memory, *buffer));
    *buffer = NULL;
    *has    = 0;
    PetscCall(MuonMemoryAllocate(memory, bytes, buffer));
    *has = bytes;
  }
  *(void **)pointer = *buffer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGet(MuonWorkspace work, MuonWorkspaceSlot slot, size_t bytes, void *pointer)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGetIn(work, MUON_HOST, slot, bytes, pointer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGetKept(MuonWorkspace work, PetscObjectList **kept)
{
  PetscFunctionBegin;
  *kept = &work->kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceSetBatch(MuonWorkspace work, size_t bytes)
{
  PetscFunctionBegin;
  work->batch = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGetBatch(MuonWorkspace work, size_t *bytes)
{
  PetscFunctionBegin;
  *bytes = work->batch;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGetBytes(MuonWorkspace work, size_t *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
  for (int slot = 0; slot < MUON_WORK_MAX; slot++) *bytes += work->bytes[MUON_HOST][slot] + work->bytes[MUON_DEVICE][slot];
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
  for (int slot = 0; slot < MUON_WORK_MAX; slot++) {
    PetscCall(MuonMemoryFree(MUON_HOST, (*work)->buffer[MUON_HOST][slot]));
    PetscCall(MuonMemoryFree(MUON_DEVICE, (*work)->buffer[MUON_DEVICE][slot]));
  }
  PetscCall(PetscObjectListDestroy(&(*work)->kept));
  PetscCall(PetscFree(*work));
  PetscFunctionReturn(PETSC_SUCCESS);
}
