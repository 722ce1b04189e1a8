#include "muonplan.h"

/*
   Shards: the rows of a layer that the ranks of one position in their workers have. They are encoded, moved and
   owned as one.
*/

PetscErrorCode MuonShardGetStateShape(Muon muon, const MuonShard *shard, MuonArray *shape)
{
  MuonArray whole;

  PetscFunctionBegin;
  whole  = shard->layer->shape;
  *shape = MuonShardPart(shard, &whole);
  *shape = MuonArrayLike(shape, muon->state_precision == MUON_STATE_PRECISION_SINGLE ? MUON_SINGLE : whole.precision, NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardFind(Muon muon, MuonLayer layer, MuonShard **shard)
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Call MuonSetUp() first");
  *shard = NULL;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    if (muon->shard[p].layer == layer) *shard = &muon->shard[p];
  }
  PetscCheck(*shard != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\" is frozen or of another optimizer", ((PetscObject)layer)->name);
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
  PetscCall(MuonCompressorSetWorkspace(*c, muon->work));
  PetscCall(MuonCompressorSetStream(*c, muon->seed, shard->name, sender, direction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a layer that this rank's position in a worker has */
PetscErrorCode MuonShardSetUp_Private(Muon muon, MuonShard *shard, MuonGroup group, PetscInt id, MuonLayer layer)
{
  const MuonWorkerGrid grid = group->grid;
  char                 name[192];

  PetscFunctionBegin;
  shard->muon         = muon;
  shard->layer        = layer;
  shard->group        = group;
  shard->id           = id;
  shard->rows         = layer->rows;
  shard->row          = layer->first;
  shard->full.request = MPI_REQUEST_NULL;
  PetscCall(PetscStrncpy(name, ((PetscObject)layer)->name, sizeof(name)));
  if (grid->size > 1) {
    PetscCall(PetscMalloc1(grid->size + 1, &shard->ranges));
    shard->sharded = layer->ranks == 1 ? PETSC_TRUE : PETSC_FALSE;
    if (shard->sharded) {
      for (PetscMPIInt r = 0; r <= grid->size; r++) shard->ranges[r] = r * (layer->m / grid->size) + PetscMin((PetscInt)r, layer->m % grid->size);
    } else PetscCall(PetscArraycpy(shard->ranges, layer->ranges, grid->size + 1));
    shard->row  = shard->ranges[grid->position];
    shard->rows = shard->ranges[grid->position + 1] - shard->row;
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s@%" PetscInt_FMT, ((PetscObject)layer)->name, shard->row));
    if (MuonBlocksCount_Private(&layer->blocks) > 1) shard->keep_sum = PETSC_TRUE;
  }
  PetscCall(PetscStrallocpy(name, &shard->name));
  PetscCall(MuonCreateIdentity_Private(muon, shard, grid->worker, 0, &shard->up));
  /* One stream a shard, whoever owns it: the weights do not depend on the owners */
  PetscCall(MuonCreateIdentity_Private(muon, shard, 0, 1, &shard->down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Messages know shards and blocks by the hashes of their names, which are sorted here: behind a hash stands
   its number in the order of the shards, each before its blocks, in as many bits as the largest needs
*/
PetscErrorCode MuonCheckHashes_Private(Muon muon)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)muon);
  PetscInt64 *hash;
  PetscInt    count = 0, all = 0, bits = 0;
  PetscMPIInt finder       = muon->size;
  char        same[2][512] = {"", ""};

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->shard[p].layer->blocks);

    all += 1 + (blocks > 1 ? blocks : 0);
  }
  while (all >> bits > 0) bits++;
  PetscCheck(bits <= 31, comm, PETSC_ERR_SUP, "%" PetscInt_FMT " layers and blocks, expected less than 2^31", all);
  PetscCall(PetscMalloc1(all, &hash));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const PetscInt blocks = MuonBlocksCount_Private(&muon->shard[p].layer->blocks);

    for (PetscInt b = -1; b < (blocks > 1 ? blocks : 0); b++) {
      char         name[512];
      unsigned int one;

      if (b < 0) PetscCall(PetscStrncpy(name, muon->shard[p].name, sizeof(name)));
      else PetscCall(MuonBlockName_Private(muon->shard[p].name, b, sizeof(name), name));
      PetscCall(MuonNameHash_Private(name, &one));
      hash[count] = (PetscInt64)one << bits | count;
      count++;
    }
  }
  PetscCall(PetscSortInt64(all, hash));
  for (PetscInt k = 1; k < all && finder == muon->size; k++) {
    PetscInt first = 0;

    if (hash[k - 1] >> bits != hash[k] >> bits) continue;
    finder = muon->rank;
    for (PetscInt p = 0; p < muon->nshards; p++) {
      const PetscInt blocks = MuonBlocksCount_Private(&muon->shard[p].layer->blocks), behind = first + 1 + (blocks > 1 ? blocks : 0);

      for (PetscInt j = 0; j < 2; j++) {
        const PetscInt number = (PetscInt)(hash[k - 1 + j] & (((PetscInt64)1 << bits) - 1));

        if (number == first) PetscCall(PetscStrncpy(same[j], muon->shard[p].name, sizeof(same[j])));
        else if (number > first && number < behind) PetscCall(MuonBlockName_Private(muon->shard[p].name, number - first - 1, sizeof(same[j]), same[j]));
      }
      first = behind;
    }
  }
  PetscCall(PetscFree(hash));
  /*
     Shards have other names at other positions in their workers: the first rank that found a pair tells all
  */
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &finder, 1, MPI_INT, MPI_MIN, comm));
  if (finder == muon->size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(same, (PetscMPIInt)sizeof(same), MPI_CHAR, finder, comm));
  SETERRQ(comm, PETSC_ERR_ARG_WRONG, "Layers or blocks of layers \"%s\" and \"%s\": their names have the same hash, by which messages know them; change the name of a layer", same[0], same[1]);
}

PetscErrorCode MuonShardDestroy_Private(MuonShard *shard)
{
  MuonArray *const arrays[] = {&shard->M, &shard->Mnew, &shard->Tnew, &shard->sum, &shard->X, &shard->Xnew, &shard->full.mean, &shard->full.packed, &shard->weighted};

  PetscFunctionBegin;
  shard->layer->server          = NULL;
  shard->layer->serverisweights = PETSC_FALSE;
  shard->layer->ready           = NULL;
  shard->layer->readyctx        = NULL;
  shard->layer->watched         = PETSC_FALSE;
  PetscCall(MuonCompressorDestroy(&shard->up));
  PetscCall(MuonCompressorDestroy(&shard->down));
  PetscCall(MuonValidatedDestroy(&shard->up_own));
  PetscCall(MuonValidatedDestroy(&shard->down_got));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(arrays); k++) PetscCall(MuonArrayDestroy(arrays[k]));
  PetscCall(PetscFree(shard->ranges));
  PetscCall(PetscFree(shard->name));
  PetscCall(PetscFree(shard->up_type));
  PetscCall(PetscFree(shard->down_type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
