#include "muonplan.h" /*I "petscmuon.h" I*/
#include <petscmuon/private/muonlmoimpl.h>

/*
   For a server of several ranks: the ranks that get whole blocks for the LMO, and the assembly of blocks from the rows of a
   group's shards.
*/

/* Rates of a network and a core, by which the kind of assembly is chosen */
static const PetscLogDouble MUON_FLOPS_PER_SENT_BYTE = 100.0;

/*
   The ranks that compute the LMO of a block: one owner, so that rows are sent there and back while the others compute other
   blocks; or all ranks, so that rows are sent once, to all
*/
static MuonAssemblyKind MuonCheapestAssembly_Private(PetscMPIInt size, PetscLogDouble flops, PetscLogDouble bytes)
{
  const PetscLogDouble s = (PetscLogDouble)size, owner = flops / s + 2 * bytes / s * MUON_FLOPS_PER_SENT_BYTE, all = flops + bytes * (s - 1) / s * MUON_FLOPS_PER_SENT_BYTE;

  return owner <= all ? MUON_ASSEMBLY_OWNER : MUON_ASSEMBLY_ALLGATHER;
}

PetscErrorCode MuonShardGetAssembly_Private(Muon muon, MuonShard *shard, PetscInt b, MuonAssemblyKind *kind, PetscLogDouble *flops)
{
  const MuonArray state = MuonShardStateShape(shard);
  const MuonGroup group = shard->group;
  const char     *name  = ((PetscObject)shard->layer)->name;
  PetscLogDouble  bytes;
  MuonLMO         lmo;
  MuonBlock       block;

  PetscFunctionBegin;
  *kind  = MUON_ASSEMBLY_NONE;
  *flops = 0;
  if (shard->port->ranges == NULL || shard->layer->ops->applylmo == NULL || MuonGroupIsRowwise(group)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLayerGetLMO(shard->layer, &lmo));
  PetscCall(MuonLayerGetBlock_Private(shard->layer, b, &block));
  PetscCall(MuonLMOGetFlops(lmo, block.m, block.n, flops));
  bytes = (PetscLogDouble)block.m * (PetscLogDouble)block.n * (PetscLogDouble)MuonArrayEntryBytes(&state);
  if (shard->layer->assembly != PETSC_DETERMINE) *kind = (MuonAssemblyKind)shard->layer->assembly;
  else *kind = MuonCheapestAssembly_Private(group->grid->size, *flops, bytes);
  if (*kind != MUON_ASSEMBLY_GRAM) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(MuonLMOGathers(lmo) == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_assembly gram of layer \"%s\": its LMO gathers the matrix on one rank; expected another LMO, allgather or owner", MuonPrefix(muon), name);
  PetscCheck(MuonBlocksCount_Private(&shard->layer->blocks) == 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_assembly gram of layer \"%s\": it is cut into blocks, expected allgather or owner", MuonPrefix(muon), name);
  PetscCheck(MuonLayerIsEntries(shard->layer) == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
             "-%smuon_assembly gram of layer \"%s\": it is a slice of a vector, whose ranks have entries of it and not rows; expected allgather or owner", MuonPrefix(muon), name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAddItems_Private(Muon muon, MuonShard *shard, MuonItem item[], MuonAssemblyItem assembled[], PetscInt ranges[], PetscInt *n)
{
  const PetscMPIInt size   = shard->group->grid->size;
  const PetscBool   whole  = shard->layer->ops->applylmo != NULL ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt    blocks = whole ? MuonBlocksCount_Private(&shard->layer->blocks) : 1;
  const MuonArray   state  = MuonShardStateShape(shard);

  PetscFunctionBegin;
  for (PetscInt b = 0; b < blocks; b++, ++*n) {
    MuonItem         *one  = &item[*n];
    MuonAssemblyItem *with = &assembled[*n];
    PetscInt         *cut;

    one->shard  = shard;
    one->number = b;
    one->begins = b == 0 ? PETSC_TRUE : PETSC_FALSE;
    one->ends   = b + 1 == blocks ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MuonShardGetAssembly_Private(muon, shard, b, &one->kind, &with->flops));
    if (whole) PetscCall(MuonLayerGetRowsBlock(shard->layer, b, &one->block));
    else {
      one->block.row = one->block.column = 0;
      one->block.m                       = shard->layer->M;
      one->block.n                       = MuonLayerColumns(shard->layer);
    }
    /* The rows of the block at each rank of the worker, in its own numbers */
    cut          = ranges + (size_t)*n * (size_t)(size + 1);
    with->ranges = cut;
    for (PetscMPIInt r = 0; r <= size; r++) cut[r] = PetscMin(PetscMax(shard->port->ranges[r] - one->block.row, 0), one->block.m);
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

PetscErrorCode MuonGroupSetUpAssembly_Private(Muon muon, MuonGroup group, const PetscInt order[], PetscBool replicated)
{
  MuonAssemblyItem *assembled;
  MuonAssemblyKind  kind;
  MuonServer       *server;
  PetscLogDouble    flops;
  PetscInt          most = 0, *ranges;

  PetscFunctionBegin;
  if (group->nshards == 0 || group->shard->port->ranges == NULL || MuonGroupIsRowwise(group)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < group->nshards; k++) {
    most += MuonBlocksCount_Private(&group->shard[k].layer->blocks);
    PetscCall(MuonShardGetAssembly_Private(muon, &group->shard[k], 0, &kind, &flops)); /* errors arise on all ranks, not only on owners */
    PetscCheck(group->grid->nworkers == 1 || replicated == PETSC_FALSE || kind != MUON_ASSEMBLY_GRAM, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
               "-%smuon_assembly gram of layer \"%s\": with -%smuon_exchange_type replicated, and wherever every worker computes the step, sums on different ranks may differ in their last bits; expected allgather "
               "or owner",
               MuonPrefix(muon), ((PetscObject)group->shard[k].layer)->name, MuonPrefix(muon));
  }
  PetscCall(PetscNew(&server));
  PetscCall(PetscMalloc1(most, &server->item));
  PetscCall(PetscMalloc2(most, &assembled, (size_t)most * (size_t)(group->grid->size + 1), &ranges));
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard *shard = &group->shard[order != NULL ? order[k] : k];

    if (MuonShardOwns(shard) || order == NULL) PetscCall(MuonAddItems_Private(muon, shard, server->item, assembled, ranges, &server->nitems));
  }
  muon->assembly.prefix = ((PetscObject)muon)->prefix;
  PetscCall(MuonAssemblyCreate(group->grid->inside, &muon->assembly, muon->work, server->nitems, assembled, &server->assembly));
  group->server = server;
  PetscCall(PetscFree2(assembled, ranges));
  PetscFunctionReturn(PETSC_SUCCESS);
}
