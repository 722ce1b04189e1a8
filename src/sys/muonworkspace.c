#include <petscmuon/private/petscmuonimpl.h>

#define MEMORIES (MUON_PINNED + 1)

/* What starts a line of every cache is fit for any type */
#define ALIGNMENT 64

/* The address sanitizer sees what is written past the end of a block: then everything is a block */
#if defined(__SANITIZE_ADDRESS__)
  #define MUON_WORK_SEPARATE PETSC_TRUE
#else
  #define MUON_WORK_SEPARATE PETSC_FALSE
#endif

/* Positions begin ... begin + bytes - 1 of a stack */
typedef struct _n_MuonWorkspaceBlock {
  struct _n_MuonWorkspaceBlock *below;
  size_t                        begin, bytes;
  char                         *data;
} MuonWorkspaceBlock;

/* most is the highest position that was ever in use */
typedef struct {
  MuonWorkspaceBlock *top;
  size_t              used, most;
} MuonWorkspaceStack;

struct _n_MuonWorkspace {
  PetscInt           refct;
  MuonWorkspaceStack stack[MEMORIES];
  size_t             batch;
  PetscObjectList    kept;
};

PetscErrorCode MuonWorkspaceCreate(MuonWorkspace *work)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(work));
  (*work)->refct = 1;
  (*work)->batch = MUON_WORK_BATCH;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceShare(MuonWorkspace work, MuonWorkspace *to)
{
  PetscFunctionBegin;
  if (work != NULL) work->refct++;
  PetscCall(MuonWorkspaceDestroy(to));
  *to = work;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWorkspacePush_Private(MuonWorkspaceStack *stack, int memory, size_t bytes)
{
  MuonWorkspaceBlock *block;
  void               *data;

  PetscFunctionBegin;
  if (memory != MUON_PINNED) PetscCall(MuonMemoryAllocate((MuonMemory)memory, bytes, &data));
  else {
    data = MuonDeviceGet()->pin(bytes);
    PetscCheck(data, PETSC_COMM_SELF, PETSC_ERR_MEM, "The host has no room for %zu bytes more that a device copies", bytes);
  }
  PetscCall(PetscNew(&block));
  block->below = stack->top;
  block->begin = stack->used;
  block->bytes = bytes;
  block->data  = (char *)data;
  stack->top   = block;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWorkspacePop_Private(MuonWorkspaceStack *stack, int memory)
{
  MuonWorkspaceBlock *block = stack->top;

  PetscFunctionBegin;
  stack->top = block->below;
  if (memory != MUON_PINNED) PetscCall(MuonMemoryFree((MuonMemory)memory, block->data));
  else MuonDeviceGet()->unpin(block->data);
  PetscCall(PetscFree(block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Memory in use never moves: a request that does not fit gets its own block. When nothing is in use, one block of their total
   size replaces all
*/
PetscErrorCode MuonWorkspaceGetIn(MuonWorkspace work, int memory, size_t bytes, void *pointer)
{
  MuonWorkspaceStack *stack   = &work->stack[memory];
  const size_t        aligned = (PetscMax(bytes, 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

  PetscFunctionBegin;
  if (stack->used == 0 && stack->top && (MUON_WORK_SEPARATE || stack->top->bytes < PetscMax(aligned, stack->most))) PetscCall(MuonWorkspacePop_Private(stack, memory));
  /* No bytes are no NULL either, which would say that nothing is wanted */
  if (MUON_WORK_SEPARATE) PetscCall(MuonWorkspacePush_Private(stack, memory, PetscMax(bytes, 1)));
  else if (!stack->top || stack->top->begin + stack->top->bytes < stack->used + aligned) PetscCall(MuonWorkspacePush_Private(stack, memory, stack->used == 0 ? PetscMax(aligned, stack->most) : aligned));
  *(void **)pointer = stack->top->data + (stack->used - stack->top->begin);
  stack->used += aligned;
  stack->most = PetscMax(stack->most, stack->used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceMark(MuonWorkspace work, MuonMark *mark)
{
  PetscFunctionBegin;
  for (int memory = 0; memory < MEMORIES; memory++) mark->used[memory] = work->stack[memory].used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceRelease(MuonWorkspace work, const MuonMark *mark)
{
  PetscFunctionBegin;
  for (int memory = 0; memory < MEMORIES; memory++) {
    MuonWorkspaceStack *stack = &work->stack[memory];

    while (stack->top && stack->top->below && stack->top->begin >= mark->used[memory]) PetscCall(MuonWorkspacePop_Private(stack, memory));
    stack->used = PetscMin(stack->used, mark->used[memory]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscObjectList *MuonWorkspaceKept(MuonWorkspace work)
{
  return &work->kept;
}

size_t *MuonWorkspaceBatch(MuonWorkspace work)
{
  return &work->batch;
}

/* The largest simultaneous use: the next step has one block of this size, if this one had several */
PetscErrorCode MuonWorkspaceGetBytes(MuonWorkspace work, size_t *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
  for (int memory = 0; memory < MEMORIES; memory++) *bytes += work->stack[memory].most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWorkspaceDestroy(MuonWorkspace *work)
{
  PetscFunctionBegin;
  if (!*work) PetscFunctionReturn(PETSC_SUCCESS);
  if (--(*work)->refct > 0) {
    *work = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int memory = 0; memory < MEMORIES; memory++) {
    while ((*work)->stack[memory].top) PetscCall(MuonWorkspacePop_Private(&(*work)->stack[memory], memory));
  }
  PetscCall(PetscObjectListDestroy(&(*work)->kept));
  PetscCall(PetscFree(*work));
  PetscFunctionReturn(PETSC_SUCCESS);
}
