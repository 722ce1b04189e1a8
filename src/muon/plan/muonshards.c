#include "muonplan.h"

/*
   Shards: the rows of a layer that the ranks of one position in their workers have. They are encoded, moved and
   owned as one.
*/

PetscErrorCode MuonShardGetMaxBytes_Private(MuonShard *shard, size_t bytes[2])
{
  const MuonArray state = MuonShardStateShape(shard), weights = MuonShardWeightsShape(shard);

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetMaxBytesOf(shard->up, &state, &bytes[0]));
  if (shard->downlink == MUON_DOWNLINK_STEP) PetscCall(MuonLayerGetMaxStepBytes(shard->layer, &bytes[1]));
  else PetscCall(MuonCompressorGetMaxBytesOf(shard->down, &weights, &bytes[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardFind(Muon muon, MuonLayer layer, MuonShard **shard)
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Call MuonSetUp() first");
  *shard = MuonShardOf(layer);
  PetscCheck(*shard != NULL && (*shard)->muon == muon, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\" is frozen or of another optimizer", ((PetscObject)layer)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardGetBlocks(const MuonShard *shard, PetscInt *nrows, PetscInt **cut, PetscInt *ncolumns, const PetscInt *columns[])
{
  MuonLayer       layer = shard->layer;
  const PetscInt *sizes;
  MuonBlock       block;
  PetscInt        count;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetBlocks(layer, &count, &sizes, ncolumns, columns));
  PetscCall(PetscMalloc1(count, cut));
  *nrows = 0;
  for (PetscInt i = 0; i < count; i++) {
    PetscInt rows;

    PetscCall(MuonLayerGetBlock_Private(layer, i * *ncolumns, &block));
    rows = PetscMin(block.row + block.m, shard->row + shard->rows) - PetscMax(block.row, shard->row);
    if (rows > 0) (*cut)[(*nrows)++] = rows;
  }
  if (*nrows <= 1) {
    PetscCall(PetscFree(*cut)); /* nothing is cut here */
    *nrows = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCreateIdentity_Private(Muon muon, MuonShard *shard, PetscInt sender, PetscInt direction, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, MUONCOMPRESSORIDENTITY));
  PetscCall(MuonWorkspaceShare(muon->work, &(*c)->work));
  PetscCall(MuonCompressorSetStream(*c, muon->seed, shard->name, sender, direction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFindName_Private(Muon muon, PetscInt slots, const PetscInt table[], const char *const names[], const char name[], PetscInt *slot)
{
  unsigned int hash = 2166136261u;
  PetscBool    same = PETSC_FALSE;

  PetscFunctionBegin;
  for (const char *c = name; *c != '\0'; c++) hash = (hash ^ (unsigned int)(*c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c)) * 16777619u;
  for (*slot = (PetscInt)(hash % (unsigned int)slots); table[*slot] > 0; *slot = (*slot + 1) % slots) {
    PetscCall(PetscStrcasecmp(names != NULL ? names[table[*slot] - 1] : ((PetscObject)muon->layer[table[*slot] - 1])->name, name, &same));
    if (same) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a layer that this rank's position in a worker has */
PetscErrorCode MuonShardSetUp_Private(Muon muon, MuonShard *shard, MuonGroup group, MuonLayer layer, const MuonPlace place)
{
  const MuonWorkerGrid grid = group->grid;
  char                 name[192];

  PetscFunctionBegin;
  PetscCall(MuonPortCreate_Private(layer, grid, place, &shard->port));
  PetscCall(PetscCalloc1(group->depth, &shard->round));
  PetscCall(PetscNew(&layer->driver));
  shard->muon                  = muon;
  shard->layer                 = layer;
  shard->group                 = group;
  shard->port->shard           = shard;
  shard->rows                  = MuonLayerRows(layer);
  shard->row                   = layer->first;
  layer->driver->shard         = shard;
  layer->driver->owner         = -1;
  layer->driver->keepsmomentum = PETSC_TRUE;
  layer->driver->updaterms     = -1;
  PetscCall(PetscStrncpy(name, ((PetscObject)layer)->name, sizeof(name)));
  if (shard->port->ranges != NULL) {
    shard->row  = shard->port->ranges[grid->position];
    shard->rows = shard->port->ranges[grid->position + 1] - shard->row;
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s@%" PetscInt_FMT, ((PetscObject)layer)->name, shard->row));
  }
  PetscCall(PetscStrallocpy(name, &shard->name));
  PetscCall(MuonCreateIdentity_Private(muon, shard, grid->worker, 0, &shard->up));
  /* One stream a shard, for any owner: the weights do not depend on the owners */
  PetscCall(MuonCreateIdentity_Private(muon, shard, 0, 1, &shard->down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of shards and of the blocks of one, -1 for the shard: messages know these by the hash of their names */
PetscErrorCode MuonCheckHashes_Private(Muon muon)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)muon);
  PetscInt   *hash, *order, n = 0, count = 0;
  char      **name;
  PetscMPIInt finder       = muon->size;
  char        same[2][512] = {"", ""};

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) n += 1 + MuonBlocksCount_Private(&muon->shard[p].layer->blocks);
  PetscCall(PetscMalloc3(n, &hash, n, &order, n, &name));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->shard[p].layer->blocks);

    for (PetscInt b = -1; b < (blocks > 1 ? blocks : 0); b++, count++) {
      unsigned int own;

      if (b < 0) PetscCall(PetscStrncpy(same[0], muon->shard[p].name, sizeof(same[0])));
      else PetscCall(MuonBlockName_Private(muon->shard[p].name, b, sizeof(same[0]), same[0]));
      PetscCall(PetscStrallocpy(same[0], &name[count]));
      PetscCall(MuonNameHash_Private(same[0], &own));
      hash[count]  = (PetscInt)(int)(own ^ 0x80000000u); /* in the order of the hashes */
      order[count] = count;
    }
  }
  PetscCall(PetscSortIntWithArray(count, hash, order));
  for (PetscInt k = 1; k < count && finder == muon->size; k++) {
    if (hash[k - 1] != hash[k]) continue;
    finder = muon->rank;
    PetscCall(PetscStrncpy(same[0], name[PetscMin(order[k - 1], order[k])], sizeof(same[0])));
    PetscCall(PetscStrncpy(same[1], name[PetscMax(order[k - 1], order[k])], sizeof(same[1])));
  }
  for (PetscInt k = 0; k < count; k++) PetscCall(PetscFree(name[k]));
  PetscCall(PetscFree3(hash, order, name));
  /* Shards have other names at other positions in their workers: the first rank that found a pair sends it to all */
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &finder, 1, MPI_INT, MPI_MIN, comm));
  if (finder == muon->size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(same, (PetscMPIInt)sizeof(same), MPI_CHAR, finder, comm));
  SETERRQ(comm, PETSC_ERR_ARG_WRONG, "Layers or blocks of layers \"%s\" and \"%s\": their names have the same hash, by which messages know them; change the name of a layer", same[0], same[1]);
}

PetscErrorCode MuonShardDestroy_Private(MuonShard *shard)
{
  MuonArray *const arrays[] = {&shard->M, &shard->Mnew, &shard->sum, &shard->X, &shard->Xnew, &shard->weighted};

  PetscFunctionBegin;
  PetscCall(PetscFree(shard->layer->driver));
  PetscCall(PetscFree(shard->layer->note));
  PetscCall(MuonCompressorDestroy(&shard->up));
  PetscCall(MuonCompressorDestroy(&shard->down));
  PetscCall(MuonValidatedDestroy(&shard->round->up_own));
  PetscCall(MuonValidatedDestroy(&shard->round->down_got));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(arrays); k++) PetscCall(MuonArrayDestroy(arrays[k]));
  for (PetscInt k = 0; k < shard->group->depth; k++) {
    PetscCall(MuonArrayDestroy(&shard->round[k].Tnew));
    PetscCall(MuonArrayDestroy(&shard->round[k].change));
  }
  PetscCall(PetscFree(shard->round));
  PetscCall(MuonPortDestroy_Private(&shard->port));
  PetscCall(PetscFree(shard->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}
