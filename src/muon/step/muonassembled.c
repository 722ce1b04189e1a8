#include "muonstep.h"

/*
   A server of several ranks: the group's assembly gives whole blocks to the LMO, and returns rows of steps.
*/

/* The rows here of the item's block, in an array of the rows of its shard */
MuonArray MuonItemPart(const MuonItem *item, const MuonArray *rows)
{
  return MuonArrayPart(rows, (size_t)(item->first - item->shard->row), (size_t)item->block.column, (size_t)item->rows, (size_t)item->block.n);
}

/* The rows here of the item's block, and the ranks with the others; without an assembly all rows are here */
static MuonMatrix MuonItemRows_Private(const MuonItem *item, const MuonArray *here)
{
  const MuonWorkerGrid grid   = item->shard->group->grid;
  MuonMatrix           matrix = MuonMatrixOfArray(here);

  if (item->kind == MUON_ASSEMBLY_NONE) return matrix;
  matrix.comm    = grid->inside;
  matrix.rank    = grid->position;
  matrix.size    = grid->size;
  matrix.rows    = item->block.m;
  matrix.columns = item->block.n;
  matrix.first   = item->first - item->block.row;
  return matrix;
}

/* What is assembled of a range's entries is its matrix */
MuonMatrix MuonItemMatrix(const MuonItem *item, const MuonMatrix *assembled)
{
  MuonMatrix matrix = *assembled;

  matrix.here = MuonLayerMatrixOf(item->shard->layer, &assembled->here);
  if (MuonLayerIsEntries(item->shard->layer)) matrix = MuonMatrixOfArray(&matrix.here);
  return matrix;
}

/* A rank that failed hands in zeros and goes on */
static PetscErrorCode MuonServeInput_Private(void *ctx, PetscInt i, MuonArray *G)
{
  MuonServing    *serving = (MuonServing *)ctx;
  const MuonItem *item    = &serving->group->server->item[i];

  PetscFunctionBegin;
  if (item->begins) PetscCall(MuonServerAggregate_Private(serving->muon, item->shard, &item->shard->round->input, serving->status));
  MuonNoteStatus(serving->muon, item->shard->layer, *serving->status);
  if (*serving->status != MUON_STATUS_OK) PetscCall(MuonArrayZero(&item->shard->round->input));
  *G = MuonItemPart(item, &item->shard->round->input);
  if (MuonLayerHasSlot(item->shard->layer, MUON_SLOT_BEFORE)) {
    const MuonMatrix from = MuonItemRows_Private(item, G);
    const MuonArray  M = MuonItemPart(item, &item->shard->M), Mnew = MuonItemPart(item, &item->shard->Mnew);

    PetscCall(MuonWorkspaceGetArray(serving->muon->work, &from.here, from.here.precision, G));
    if (MuonLayerReadsGradient(item->shard->layer)) MuonServerGetGradient_Private(&item->shard->round->info, &M, &Mnew, &from.here, G);
    PetscUseTypeMethod(item->shard->layer, slots, MUON_SLOT_BEFORE, item->number, &item->shard->round->info, &from, G, serving->status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServeLMO_Private(void *ctx, PetscInt i, const MuonMatrix *G, const MuonMatrix *D)
{
  MuonServing     *serving = (MuonServing *)ctx;
  const MuonItem  *item    = &serving->group->server->item[i];
  const MuonMatrix from = MuonItemMatrix(item, G), to = MuonItemMatrix(item, D);
  MuonStatus       applied = MUON_STATUS_OK;
  double           dual    = 0;

  PetscFunctionBegin;
  PetscUseTypeMethod(item->shard->layer, applylmo, &from, &to, &dual, &applied);
  MuonStatusMerge(applied, serving->status);
  MuonNoteStatus(serving->muon, item->shard->layer, *serving->status);
  if (applied != MUON_STATUS_OK) PetscCall(MuonArrayZero(&D->here));
  else if (MuonShardCounts(item->shard) && (item->kind == MUON_ASSEMBLY_OWNER || serving->group->grid->position == 0)) serving->record->dual += dual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServeOutput_Private(void *ctx, PetscInt i, const MuonArray *D)
{
  MuonServing      *serving = (MuonServing *)ctx;
  const MuonItem   *item    = &serving->group->server->item[i];
  MuonShard        *shard   = item->shard;
  MuonLayerStepInfo info;
  MuonLayerTask     task;
  MuonStatus        moved = MUON_STATUS_OK;
  MuonArray         whole, W, X, Xnew, x, xnew;

  PetscFunctionBegin;
  if (item->kind != MUON_ASSEMBLY_NONE && MuonLayerHasSlot(shard->layer, MUON_SLOT_AFTER)) { /* ranks that failed take part */
    const MuonMatrix rows = MuonItemRows_Private(item, D);

    PetscUseTypeMethod(shard->layer, slots, MUON_SLOT_AFTER, item->number, &shard->round->info, &rows, D, serving->status);
  }
  if (*serving->status != MUON_STATUS_OK && (item->kind == MUON_ASSEMBLY_NONE || MuonLayerHasSlot(shard->layer, MUON_SLOT_MOVE) == NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  if (item->kind == MUON_ASSEMBLY_NONE) {
    task.G = shard->round->input;
    PetscCall(MuonServerPrepare_Private(serving->muon, 1, &shard, &task, &whole));
    if (MuonShardSendsStep(shard) == PETSC_FALSE) PetscCall(MuonLayerStepMany(1, &task));
    PetscCall(MuonServerFinish_Private(serving->muon, 1, &shard, &task, &whole, serving->record, serving->status));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  W    = MuonShardPart(shard, &whole);
  X    = MuonShardServerWeights(shard, &W);
  Xnew = shard->Xnew.data ? shard->Xnew : MuonArrayLike(&W, W.precision, serving->Xnew[W.memory]);
  x    = MuonItemPart(item, &X);
  xnew = MuonItemPart(item, &Xnew);
  info = shard->round->info;
  if (MuonLayerHasSlot(shard->layer, MUON_SLOT_MOVE)) {
    const MuonMatrix rows = MuonItemRows_Private(item, D);

    PetscUseTypeMethod(shard->layer, slots, MUON_SLOT_MOVE, item->number, &info, &rows, &x, serving->status);
  }
  PetscUseTypeMethod(shard->layer, update, &info, item->number, &x, D, &xnew, &moved);
  shard->round->info.squares = info.squares + (item->begins ? 0 : shard->round->info.squares);
  MuonStatusMerge(moved, serving->status);
  if (item->ends && *serving->status == MUON_STATUS_OK) PetscCall(MuonServerEncode_Private(serving->muon, shard, &Xnew, &W, serving->status));
  MuonNoteStatus(serving->muon, shard->layer, *serving->status);
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServeAssembled_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  MuonServing              serving = {muon, group, record, status, NULL, {NULL, NULL}};
  const MuonAssemblyClient client  = {MuonServeInput_Private, MuonServeLMO_Private, MuonServeOutput_Private, &serving};
  size_t                   most[2] = {0, 0};
  MuonMark                 mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  for (PetscInt k = 0; k < group->nshards; k++) {
    const MuonShard *shard = &group->shard[k];
    const MuonArray  W     = MuonShardWeightsShape(shard);

    if (MuonShardOwns(shard) && !shard->Xnew.data) most[W.memory] = PetscMax(most[W.memory], MuonArrayBytes(&W));
  }
  for (int memory = 0; memory < 2; memory++) {
    if (most[memory] > 0) PetscCall(MuonWorkspaceGetIn(muon->work, (MuonMemory)memory, most[memory], &serving.Xnew[memory]));
  }
  PetscCall(MuonAssemblyRun(group->server->assembly, &client));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}
