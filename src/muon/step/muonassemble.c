#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/
#include <petscmuon/private/muonlmoimpl.h>

/*
   What a server that is several ranks does with the rows of a group's shards: an oracle sees whole blocks,
   which the group's assembly makes of rows, and gives back rows of steps.
*/

/* Of the server's work on a group in one step */
typedef struct {
  Muon        muon;
  MuonGroup   group;
  MuonRecord *record;
  MuonStatus *status;
  double     *length;  /* of majorities, by items */
  void       *Xnew[2]; /* by memory: scratch for new weights of the shard whose outputs come */
} MuonServing;

/* The rows here of the item's block, in an array of the rows of its shard */
static MuonArray MuonItemPart(const MuonItem *item, const MuonArray *rows)
{
  return MuonArrayPart(rows, (size_t)(item->first - item->shard->row), (size_t)item->block.column, (size_t)item->rows, (size_t)item->block.n);
}

/* What is assembled of a slice's entries is its matrix */
static MuonMatrix MuonItemMatrix(const MuonItem *item, const MuonMatrix *assembled)
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
  const MuonItem *item    = &serving->group->item[i];

  PetscFunctionBegin;
  if (item->begins) PetscCall(MuonServerSees_Private(serving->muon, item->shard, &item->shard->seen, serving->status));
  MuonNoteStatus(serving->muon, item->shard->layer, *serving->status);
  if (*serving->status != MUON_STATUS_OK) PetscCall(MuonArrayZero(&item->shard->seen));
  *G = MuonItemPart(item, &item->shard->seen);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonServeOracle_Private(void *ctx, PetscInt i, const MuonMatrix *G, const MuonMatrix *D)
{
  MuonServing     *serving = (MuonServing *)ctx;
  const MuonItem  *item    = &serving->group->item[i];
  const MuonMatrix from = MuonItemMatrix(item, G), to = MuonItemMatrix(item, D);
  MuonStatus       applied = MUON_STATUS_OK;
  double           dual    = 0;

  PetscFunctionBegin;
  PetscUseTypeMethod(item->shard->layer, oracle, &from, &to, &dual, &applied);
  MuonStatusMerge(applied, serving->status);
  MuonNoteStatus(serving->muon, item->shard->layer, *serving->status);
  if (applied != MUON_STATUS_OK) PetscCall(MuonArrayZero(&D->here));
  else if (MuonShardCounts_Private(item->shard) && (item->kind == MUON_ASSEMBLY_OWNER || serving->group->grid->position == 0)) serving->record->dual += dual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonServeOutput_Private(void *ctx, PetscInt i, const MuonArray *D)
{
  MuonServing      *serving = (MuonServing *)ctx;
  const MuonItem   *item    = &serving->group->item[i];
  MuonShard        *shard   = item->shard;
  MuonLayerStepInfo info;
  MuonLayerTask     task;
  MuonStatus        moved = MUON_STATUS_OK;
  MuonArray         whole, W, X, Xnew;

  PetscFunctionBegin;
  if (*serving->status != MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  W = MuonShardPart(shard, &whole);
  X = MuonShardServerWeights(shard, &W);
  Xnew = shard->Xnew.data ? shard->Xnew : MuonArrayLike(&W, W.precision, serving->Xnew[W.memory]);
  if (item->kind == MUON_ASSEMBLY_NONE) {
    task.G    = shard->seen;
    task.X    = X;
    task.Xnew = Xnew;
    PetscCall(MuonServerApply_Private(serving->muon, 1, &shard, &task, serving->record));
    moved = task.status;
  } else {
    const MuonArray x = MuonItemPart(item, &X), xnew = MuonItemPart(item, &Xnew);

    PetscCall(MuonGetStepInfo(serving->muon, shard->layer, &info));
    PetscUseTypeMethod(shard->layer, move, &info, item->number, &x, D, &xnew, &moved);
    shard->squares = info.squares + (item->begins ? 0 : shard->squares);
  }
  MuonStatusMerge(moved, serving->status);
  if (item->ends && *serving->status == MUON_STATUS_OK) PetscCall(MuonServeWeights_Private(serving->muon, shard, &Xnew, &W, serving->status));
  MuonNoteStatus(serving->muon, shard->layer, *serving->status);
  PetscCall(MuonLayerRestoreWeightsMemory(shard->layer, PETSC_FALSE, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonServeAssembled_Private(Muon muon, MuonGroup group, MuonRecord *record, MuonStatus *status)
{
  MuonServing              serving = {muon, group, record, status, NULL, {NULL, NULL}};
  const MuonAssemblyClient client  = {MuonServeInput_Private, MuonServeOracle_Private, MuonServeOutput_Private, &serving};
  size_t                   most[2] = {0, 0};
  MuonMark                 mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  for (PetscInt k = 0; k < group->nshards; k++) {
    const MuonShard *shard = &group->shard[k];
    MuonArray        shape, W;

    PetscCall(MuonLayerGetShape(shard->layer, &shape));
    W = MuonShardPart(shard, &shape);
    if (shard->owns && !shard->Xnew.data) most[W.memory] = PetscMax(most[W.memory], MuonArrayBytes(&W));
  }
  for (int memory = 0; memory < 2; memory++) {
    if (most[memory] > 0) PetscCall(MuonWorkspaceGetIn(muon->work, (MuonMemory)memory, most[memory], &serving.Xnew[memory]));
  }
  PetscCall(MuonAssemblyRun(group->assembly, &client));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Votes with what is made of whole blocks: rows of T go in, and rows of U become signs where they come out */
static PetscErrorCode MuonVoteInput_Private(void *ctx, PetscInt i, MuonArray *G)
{
  MuonServing    *serving = (MuonServing *)ctx;
  const MuonItem *item    = &serving->group->item[i];

  PetscFunctionBegin;
  *G = MuonItemPart(item, &item->shard->T);
  if (*serving->status == MUON_STATUS_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonWorkspaceGetArray(serving->muon->work, G, G->precision, G)); /* the momentum may be the caller's memory */
  PetscCall(MuonArrayZero(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVoteOracle_Private(void *ctx, PetscInt i, const MuonMatrix *G, const MuonMatrix *D)
{
  MuonServing     *serving = (MuonServing *)ctx;
  const MuonItem  *item    = &serving->group->item[i];
  const MuonMatrix from = MuonItemMatrix(item, G), to = MuonItemMatrix(item, D);
  Muon             muon    = serving->muon;
  MuonStatus       applied = MUON_STATUS_OK;

  PetscFunctionBegin;
  PetscUseTypeMethod(muon, direction, 1, &item->shard, &from, &to, &applied);
  MuonStatusMerge(applied, serving->status);
  MuonNoteStatus(serving->muon, item->shard->layer, *serving->status);
  if (applied != MUON_STATUS_OK) PetscCall(MuonArrayZero(&D->here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVoteOutput_Private(void *ctx, PetscInt i, const MuonArray *D)
{
  MuonServing    *serving = (MuonServing *)ctx;
  const MuonItem *item    = &serving->group->item[i];

  PetscFunctionBegin;
  if (*serving->status == MUON_STATUS_OK) PetscCall(MuonVotesFill_Private(serving->muon, item->shard, item->number, D, serving->status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVoteAssembled_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  MuonServing              serving = {muon, group, NULL, status, NULL, {NULL, NULL}};
  const MuonAssemblyClient client  = {MuonVoteInput_Private, MuonVoteOracle_Private, MuonVoteOutput_Private, &serving};
  PetscLogDouble           bytes, own;

  PetscFunctionBegin;
  PetscCall(MuonAssemblyRun(group->assembly, &client));
  if (group->shard[0].whole_majority == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonAssemblyGetSentBytes(group->assembly, &bytes, &own)); /* which knows the last run only */
  group->bytes += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step, or the length, of whole blocks of the majority */
static PetscErrorCode MuonMajorityInput_Private(void *ctx, PetscInt i, MuonArray *G)
{
  MuonServing    *serving = (MuonServing *)ctx;
  const MuonItem *item    = &serving->group->item[i];

  PetscFunctionBegin;
  PetscCall(MuonVotesExpand_Private(serving->muon, item->shard, item->number, G));
  if (*serving->status != MUON_STATUS_OK) PetscCall(MuonArrayZero(G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMajorityOracle_Private(void *ctx, PetscInt i, const MuonMatrix *G, const MuonMatrix *D)
{
  MuonServing     *serving = (MuonServing *)ctx;
  const MuonItem  *item    = &serving->group->item[i];
  const MuonMatrix from    = MuonItemMatrix(item, G);
  Muon             muon    = serving->muon;
  double           length  = 1;

  PetscFunctionBegin;
  PetscUseTypeMethod(muon, length, item->shard, &item->block, &from, &length, serving->status);
  if (item->kind == MUON_ASSEMBLY_OWNER || serving->group->grid->position == 0) serving->length[i] = length;
  PetscCall(MuonArrayZero(&D->here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMajorityOutput_Private(void *ctx, PetscInt i, const MuonArray *D)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonMajorityAssembled_Private(Muon muon, MuonGroup group, MuonStatus *status)
{
  const PetscBool          steps = group->shard[0].Xnew.data != NULL ? PETSC_TRUE : PETSC_FALSE;
  MuonRecord               unused;
  MuonServing              serving = {muon, group, &unused, status, NULL, {NULL, NULL}};
  const MuonAssemblyClient lengths = {MuonMajorityInput_Private, MuonMajorityOracle_Private, MuonMajorityOutput_Private, &serving};
  const MuonAssemblyClient moves   = {MuonMajorityInput_Private, MuonServeOracle_Private, MuonServeOutput_Private, &serving};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&unused, sizeof(unused)));
  PetscCall(PetscCalloc1(group->nitems, &serving.length));
  PetscCall(MuonAssemblyRun(group->assembly, steps ? &moves : &lengths));
  if (steps == PETSC_FALSE) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, serving.length, (PetscMPIInt)group->nitems, MPI_DOUBLE, MPI_SUM, group->grid->inside));
    group->bytes += (PetscLogDouble)group->nitems * sizeof(*serving.length);
    for (PetscInt i = 0; i < group->nitems; i++) PetscCall(MuonVotesSetLength_Private(group->item[i].shard, group->item[i].number, serving.length[i]));
  }
  PetscCall(PetscFree(serving.length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At these rates all ranks hand over and one works, or all work: what a network and a core do in a second */
static const PetscLogDouble MUON_FLOPS_PER_SENT_BYTE = 100.0;

/*
   Who does the oracle of a block of so many flops and entries: one owner, while the others do other blocks
   and rows go there and back, or everybody, when rows go one way to all
*/
static MuonAssemblyKind MuonCheapestAssembly_Private(PetscMPIInt size, PetscLogDouble flops, PetscLogDouble bytes)
{
  const PetscLogDouble s = (PetscLogDouble)size, owner = flops / s + 2 * bytes / s * MUON_FLOPS_PER_SENT_BYTE, all = flops + bytes * (s - 1) / s * MUON_FLOPS_PER_SENT_BYTE;

  return owner <= all ? MUON_ASSEMBLY_OWNER : MUON_ASSEMBLY_ALLGATHER;
}

static PetscErrorCode MuonChooseAssembly_Private(Muon muon, MuonShard *shard, PetscLogDouble flops, PetscLogDouble bytes, MuonAssemblyKind *kind)
{
  const MuonGroup group = shard->group;
  const char     *name  = ((PetscObject)shard->layer)->name;
  PetscInt        own;
  PetscBool       gathers;
  MuonLMO         lmo;

  PetscFunctionBegin;
  PetscCall(MuonGetLayerAssemblyKind(muon, shard->layer, &own));
  *kind = own == PETSC_DETERMINE ? MuonCheapestAssembly_Private(group->grid->size, flops, bytes) : (MuonAssemblyKind)own;
  if (*kind != MUON_ASSEMBLY_GRAM) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetLMO(shard->layer, &lmo));
  PetscCall(MuonLMOGathers(lmo, &gathers));
  PetscCheck(gathers == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_assembly gram of layer \"%s\": its oracle gathers the matrix on one rank; expected another oracle, allgather or owner", MuonPrefix(muon), name);
  PetscCheck(MuonBlocksCount_Private(&shard->layer->blocks) == 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_assembly gram of layer \"%s\": it is cut into blocks, expected allgather or owner", MuonPrefix(muon), name);
  PetscCheck(MuonLayerIsEntries(shard->layer) == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
             "-%smuon_assembly gram of layer \"%s\": it is a slice of a vector, whose ranks have entries of it and not rows; expected allgather or owner", MuonPrefix(muon), name);
  /* Each worker has a vote of its own, and all have the same majority */
  PetscCheck(group->grid->nworkers == 1 || (group->votes != NULL ? shard->whole_majority == PETSC_FALSE : shard->layer->owner >= 0), PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
             "-%smuon_assembly gram of layer \"%s\": with -%smuon_exchange_type replicated, and of votes whose majority is scaled, every worker computes the step, and sums on different ranks may differ in their last bits; expected allgather "
             "or owner",
             MuonPrefix(muon), name, MuonPrefix(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardGetAssembly_Private(Muon muon, MuonShard *shard, PetscInt b, MuonAssemblyKind *kind, PetscLogDouble *flops)
{
  MuonLMO   lmo;
  MuonBlock block;
  MuonArray state;

  PetscFunctionBegin;
  *kind  = MUON_ASSEMBLY_NONE;
  *flops = 0;
  if (shard->ranges == NULL || shard->layer->ops->oracle == NULL || muon->ops->apply != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (shard->group->votes != NULL && shard->whole_vote == PETSC_FALSE && shard->whole_majority == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  PetscCall(MuonLayerGetLMO(shard->layer, &lmo));
  PetscCall(MuonLayerGetBlock_Private(shard->layer, b, &block));
  PetscCall(MuonLMOGetFlops(lmo, block.m, block.n, flops));
  PetscCall(MuonChooseAssembly_Private(muon, shard, *flops, (PetscLogDouble)block.m * (PetscLogDouble)block.n * (PetscLogDouble)MuonArrayEntryBytes(&state), kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a block at each rank of the worker, in its own numbers */
static void MuonBlockRanges_Private(const MuonShard *shard, const MuonBlock *block, PetscInt ranges[])
{
  for (PetscMPIInt r = 0; r <= shard->group->grid->size; r++) ranges[r] = PetscMin(PetscMax(shard->ranges[r] - block->row, 0), block->m);
}

static PetscErrorCode MuonAddItems_Private(Muon muon, MuonShard *shard, MuonItem item[], MuonAssemblyItem assembled[], PetscInt ranges[], PetscInt *n)
{
  const PetscMPIInt size   = shard->group->grid->size;
  const PetscBool   whole  = shard->layer->ops->oracle != NULL && muon->ops->apply == NULL ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt    blocks = whole ? MuonBlocksCount_Private(&shard->layer->blocks) : 1;
  MuonArray         state;

  PetscFunctionBegin;
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  for (PetscInt b = 0; b < blocks; b++, ++*n) {
    MuonItem         *one  = &item[*n];
    MuonAssemblyItem *with = &assembled[*n];

    one->shard  = shard;
    one->number = b;
    one->begins = b == 0 ? PETSC_TRUE : PETSC_FALSE;
    one->ends   = b + 1 == blocks ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonShardGetAssembly_Private(muon, shard, b, &one->kind, &with->flops));
    if (whole) PetscCall(MuonLayerGetRowsBlock(shard->layer, b, &one->block));
    else {
      one->block.row = one->block.column = 0;
      one->block.m                       = shard->layer->M;
      one->block.n                       = shard->layer->N;
    }
    with->ranges = ranges + (size_t)*n * (size_t)(size + 1);
    MuonBlockRanges_Private(shard, &one->block, ranges + (size_t)*n * (size_t)(size + 1));
    one->first = PetscMax(shard->row, one->block.row);
    one->rows  = with->ranges[shard->group->grid->position + 1] - with->ranges[shard->group->grid->position];
    if (one->rows == 0) one->first = shard->row;
    with->name      = ((PetscObject)shard->layer)->name;
    with->rows      = one->block.m;
    with->columns   = one->block.n;
    with->precision = state.precision;
    with->memory    = state.memory;
    with->rowmajor  = state.rowmajor;
    with->kind      = one->kind;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonSetUpAssembly_Private(Muon muon, MuonGroup group)
{
  const PetscInt   *order = NULL; /* of votes, whose items are not layers, that of the shards */
  MuonAssemblyItem *assembled;
  MuonAssemblyKind  kind;
  PetscLogDouble    flops;
  PetscInt          most = 0, *ranges;

  PetscFunctionBegin;
  if (group->grid->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (group->votes != NULL && group->shard[0].whole_vote == PETSC_FALSE && group->shard[0].whole_majority == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < group->nshards; k++) {
    most += MuonBlocksCount_Private(&group->shard[k].layer->blocks);
    PetscCall(MuonShardGetAssembly_Private(muon, &group->shard[k], 0, &kind, &flops)); /* what is wrong with a layer is an error of all ranks, not only of those that serve it */
  }
  PetscCall(PetscMalloc1(most, &group->item));
  PetscCall(PetscMalloc2(most, &assembled, (size_t)most * (size_t)(group->grid->size + 1), &ranges));
  if (group->votes == NULL) PetscCall(MuonExchangeGetOrder(group->exchange, &order));
  group->nitems = 0;
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[order != NULL ? order[k] : k];

    if (shard->owns || group->votes != NULL) PetscCall(MuonAddItems_Private(muon, shard, group->item, assembled, ranges, &group->nitems));
  }
  muon->assembly.prefix = ((PetscObject)muon)->prefix;
  PetscCall(MuonAssemblyCreate(group->grid->inside, &muon->assembly, muon->work, group->nitems, assembled, &group->assembly));
  PetscCall(PetscFree2(assembled, ranges));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckAssemblyKind_Private(Muon muon, PetscInt kind)
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%smuon_assembly must be set before MuonSetUp(), or after MuonReset()", MuonPrefix(muon));
  PetscCheck(kind == PETSC_DETERMINE || (kind >= (PetscInt)MUON_ASSEMBLY_ALLGATHER && kind <= (PetscInt)MUON_ASSEMBLY_GRAM), PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE,
             "-%smuon_assembly %" PetscInt_FMT ", expected allgather, owner or gram, or PETSC_DETERMINE for the one that costs least", MuonPrefix(muon), kind);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetLayerAssemblyKind - Sets who has the whole of one layer's matrix for its oracle

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
. layer - one of its layers
- kind  - as for `MuonSetAssemblyKind()`

  Options Database Key:
. -muon_layer_NAME_assembly kind - who (allgather|owner|gram), the optimizer's by default

  Level: intermediate

.seealso: `Muon`, `MuonSetAssemblyKind()`, `MuonGetLayerAssemblyKind()`
@*/
PetscErrorCode MuonSetLayerAssemblyKind(Muon muon, MuonLayer layer, PetscInt kind)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscValidLogicalCollectiveInt(muon, kind, 3);
  PetscCall(MuonCheckAssemblyKind_Private(muon, kind));
  layer->assembly    = kind;
  layer->assemblyset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayerAssemblyKind - Gets who has the whole of one layer's matrix for its oracle

  Not Collective

  Input Parameters:
+ muon  - the optimizer
- layer - one of its layers

  Output Parameter:
. kind - that of the layer, or of the optimizer where it has none of its own

  Level: intermediate

.seealso: `Muon`, `MuonSetLayerAssemblyKind()`, `MuonSetAssemblyKind()`
@*/
PetscErrorCode MuonGetLayerAssemblyKind(Muon muon, MuonLayer layer, PetscInt *kind)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscAssertPointer(kind, 3);
  *kind = layer->assemblyset ? layer->assembly : muon->assembly_kind;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonReadLayerAssembly_Private(Muon muon, MuonLayer layer)
{
  char             prefix[PETSC_MAX_OPTION_NAME];
  MuonAssemblyKind kind;
  PetscBool        set;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetOwnPrefix_Private(layer, sizeof(prefix), prefix));
  PetscCall(PetscOptionsGetEnum(((PetscObject)muon)->options, prefix, "-assembly", MuonAssemblyKinds, (PetscEnum *)&kind, &set));
  if (set) PetscCall(MuonSetLayerAssemblyKind(muon, layer, (PetscInt)kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}
