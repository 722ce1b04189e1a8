#include <petscmuon/private/petscmuonimpl.h>

/*
   Beside the memories MUON_HOST and MUON_DEVICE: what a device copies is in pages of the host that stay where
   they are
*/
enum {
  PINNED   = MUON_DEVICE + 1,
  MEMORIES = PINNED + 1
};

/* By memory: a slot has a buffer in each that was asked for */
struct _n_MuonWorkspace {
  PetscInt refct;
  size_t   bytes[MEMORIES][MUON_WORK_MAX];
  void    *buffer[MEMORIES][MUON_WORK_MAX];
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

static PetscErrorCode MuonWorkspaceFree_Private(int memory, void **buffer)
{
  PetscFunctionBegin;
  if (memory != PINNED) PetscCall(MuonMemoryFree((MuonMemory)memory, *buffer));
  else if (*buffer != NULL) MuonDeviceGet()->unpin(*buffer);
  *buffer = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The contents of a slot that has to grow are lost: a slot is scratch, not state. pointer is the address of a
   pointer to any type
*/
static PetscErrorCode MuonWorkspaceGet_Private(MuonWorkspace work, int memory, MuonWorkspaceSlot slot, size_t bytes, void *pointer)
{
  size_t *has    = &work->bytes[memory][slot];
  void  **buffer = &work->buffer[memory][slot];

  PetscFunctionBegin;
  if (*has < bytes) {
    PetscCall(MuonWorkspaceFree_Private(memory, buffer));
    *has = 0;
    if (memory != PINNED) PetscCall(MuonMemoryAllocate((MuonMemory)memory, bytes, buffer));
    else {
      *buffer = MuonDeviceGet()->pin(bytes);
      PetscCheck(*buffer != NULL, PETSC_COMM_SELF, PETSC_ERR_MEM, "The host has no room for %zu bytes more that a device copies", bytes);
    }
    *has = bytes;
  }
  *(void **)pointer = *buffer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGetIn(MuonWorkspace work, MuonMemory memory, MuonWorkspaceSlot slot, size_t bytes, void *pointer)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet_Private(work, (int)memory, slot, bytes, pointer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceGetNear(MuonWorkspace work, MuonMemory memory, MuonWorkspaceSlot slot, size_t bytes, void *pointer)
{
  PetscFunctionBegin;
  PetscCall(MuonWorkspaceGet_Private(work, memory == MUON_HOST ? (int)MUON_HOST : PINNED, slot, bytes, pointer));
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
  for (int memory = 0; memory < MEMORIES; memory++) {
    for (int slot = 0; slot < MUON_WORK_MAX; slot++) *bytes += work->bytes[memory][slot];
  }
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
  for (int memory = 0; memory < MEMORIES; memory++) {
    for (int slot = 0; slot < MUON_WORK_MAX; slot++) PetscCall(MuonWorkspaceFree_Private(memory, &(*work)->buffer[memory][slot]));
  }
  PetscCall(PetscObjectListDestroy(&(*work)->kept));
  PetscCall(PetscFree(*work));
  PetscFunctionReturn(PETSC_SUCCESS);
}
