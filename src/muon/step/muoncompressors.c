#include "muonstep.h" /*I "petscmuon.h" I*/
#include <string.h>

/*
   Compressors of both directions for types that have one of each for all layers: from them each shard gets its
   own. Keys stand behind the name of the type: "ef21_compressor", "ef21_server_compressor".
*/

const char *const MuonCompressorRulesTypes[] = {"lmo", "all", "MuonCompressorRules", "MUON_COMPRESSOR_RULES_", NULL};

static PetscErrorCode MuonCompressorsFamily_Private(const MuonCompressors *all, int down, size_t length, char family[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(family, length, "%s_%s", all->type, down ? "server_" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prefix and database may have changed since a compressor was made */
static PetscErrorCode MuonCompressorsPlace_Private(Muon muon, const MuonCompressors *all, int down, MuonCompressor c)
{
  char family[64], prefix[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(MuonCompressorsFamily_Private(all, down, sizeof(family), family));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s%s", MuonPrefix(muon), family));
  PetscCall(MuonCompressorSetOptionsPrefix(c, prefix));
  PetscCall(PetscObjectSetOptions((PetscObject)c, ((PetscObject)muon)->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorsMake_Private(Muon muon, const MuonCompressors *all, int down, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*c, (PetscObject)muon, 1));
  PetscCall(MuonCompressorsPlace_Private(muon, all, down, *c));
  PetscCall(MuonCompressorSetWorkspace(*c, muon->work));
  PetscCall(MuonCompressorSetType(*c, MUONCOMPRESSORIDENTITY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

MuonAddonOps MuonCompressorsAddon(const MuonParameter layerrows[], const char *const keys[])
{
  MuonAddonOps ops;

  memset(&ops, 0, sizeof(ops));
  ops.layerrows = layerrows;
  ops.layersize = sizeof(MuonDownlink);
  ops.keys      = keys;
  return ops;
}

PetscErrorCode MuonCompressorsCreate_Private(Muon muon, const char type[], MuonCompressors *all)
{
  PetscFunctionBegin;
  all->type = type;
  for (int down = 0; down < 2; down++) PetscCall(MuonCompressorsMake_Private(muon, all, down, &all->c[down]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorsDestroy_Private(MuonCompressors *all)
{
  PetscFunctionBegin;
  for (int down = 0; down < 2; down++) PetscCall(MuonCompressorDestroy(&all->c[down]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorsSetFromOptions_Private(Muon muon, MuonCompressors *all)
{
  PetscFunctionBegin;
  for (int down = 0; down < 2; down++) {
    PetscCall(MuonCompressorsPlace_Private(muon, all, down, all->c[down]));
    PetscCall(MuonCompressorSetFromOptions(all->c[down]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The keys behind a layer's own name: its downlink, and all of its compressors */
static PetscErrorCode MuonCompressorsReadKeys_Private(PetscObject object, const char prefix[], PetscBool type)
{
  MuonCompressor c = (MuonCompressor)object;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetOptionsPrefix(c, prefix));
  if (type) PetscCall(MuonCompressorReadOptions_Private(c, PETSC_FALSE));
  else PetscCall(MuonCompressorSetFromOptions(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The compressors for all layers are not for this one, and none of the layer's own keys says otherwise */
static PetscErrorCode MuonCompressorsSpare_Private(Muon muon, const MuonCompressors *all, MuonLayer layer, const char own[], PetscBool *spares)
{
  char      key[PETSC_MAX_OPTION_NAME];
  PetscBool lmo = PETSC_TRUE, told = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)(layer->inner != NULL ? layer->inner : layer), MUONLAYERLMO, &lmo));
  *spares = (lmo == PETSC_FALSE && all->rules == MUON_COMPRESSOR_RULES_LMO) || MuonLayerEntries(layer) < (PetscInt64)all->min_entries ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%scompressor", own));
  if (muon->setfromoptionscalled) PetscCall(MuonHasOptions((PetscObject)muon, key, &told));
  if (told) *spares = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A shard's compressor begins as the one for all layers, which has read the keys for all whatever its type
   was then, and reads the layer's own. Those of a solver of singular values, which is not copied, are read
   here; what was set after MuonSetFromOptions() stays
*/
static PetscErrorCode MuonCompressorsConfigureOne_Private(Muon muon, const MuonCompressors *all, MuonShard *shard, int down, PetscInt indexbits)
{
  const MuonCompressor from = all->c[down], c = down ? shard->down : shard->up;
  const PetscInt      *columns;
  PetscInt             nrows, ncolumns, *rows;
  char                 family[64], shared[PETSC_MAX_OPTION_NAME], layer[PETSC_MAX_OPTION_NAME], own[PETSC_MAX_OPTION_NAME];
  PetscBool            spares = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MuonCompressorsFamily_Private(all, down, sizeof(family), family));
  PetscCall(PetscSNPrintf(shared, sizeof(shared), "%s%s", MuonPrefix(muon), family));
  PetscCall(MuonLayerGetOwnPrefix_Private(shard->layer, sizeof(layer), layer));
  PetscCall(PetscSNPrintf(own, sizeof(own), "%s%s", layer, family));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)c, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)c, ((PetscObject)muon)->options));
  PetscCall(MuonCompressorCopyOptions_Private(from, c));
  PetscCall(MuonCompressorSetOptionsPrefix(c, shared));
  PetscCall(MuonCompressorsSpare_Private(muon, all, shard->layer, own, &spares));
  if (spares) {
    PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORIDENTITY));
    /* Beside messages that leave something out, digits beyond single are bytes for nothing */
    if (from->assignment == PETSC_FALSE && (int)c->values == PETSC_DETERMINE) PetscCall(MuonParametersAssign((PetscObject)c, "values", MUON_COMPRESSOR_VALUES_SINGLE));
  } else if (muon->setfromoptionscalled) {
    PetscCall(MuonCompressorReadOptions_Private(c, PETSC_FALSE));
    PetscCall(MuonCompressorCopyOptions_Private(from, c));
    PetscCall(MuonSetFromLayeredOptions((PetscObject)c, shared, PETSC_TRUE, own, MuonCompressorsReadKeys_Private));
  }
  PetscCall(MuonShardGetBlocks(shard, &nrows, &rows, &ncolumns, &columns));
  PetscCall(MuonCompressorSetBlocks(c, nrows, rows, ncolumns, columns));
  PetscCall(PetscFree(rows));
  if (c->paperbits == PETSC_DETERMINE) PetscCall(MuonParametersAssign((PetscObject)c, "paper_index_bits", (double)indexbits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The compressors for all layers are copied at set-up: what is changed in them afterwards would be silently
   without effect
*/
static PetscErrorCode MuonCompressorsHash_Private(MuonCompressors *all, unsigned int *hash)
{
  PetscFunctionBegin;
  *hash      = 0;
  all->state = 0;
  for (int down = 0; down < 2; down++) {
    unsigned int one;

    PetscCall(MuonCompressorSetDefaultType_Private(all->c[down]));
    PetscCall(MuonParametersHash((PetscObject)all->c[down], &one));
    *hash = 31 * *hash + one;
    all->state += ((PetscObject)all->c[down])->state;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorsConfigure_Private(Muon muon, MuonCompressors *all)
{
  PetscInt       indexbits = 0;
  PetscLogDouble entries   = 1;
  char           key[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_downlink", all->type));
  /* The paper charges every index what the largest matrix needs; blocks are matrices of their own */
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonLayer layer = muon->shard[p].layer;
    MuonBlock       block;

    for (PetscInt b = 0; b < MuonBlocksCount_Private(&layer->blocks); b++) {
      PetscCall(MuonLayerGetBlock_Private(layer, b, &block));
      entries = PetscMax(entries, (PetscLogDouble)block.m * (PetscLogDouble)block.n);
    }
  }
  for (; entries > 1; entries /= 2) indexbits++;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];
    void      *own;

    for (int down = 0; down < 2; down++) PetscCall(MuonCompressorsConfigureOne_Private(muon, all, shard, down, indexbits));
    (void)MuonParametersFind((PetscObject)shard->layer, key, &own);
    shard->downlink = MuonLayerIsSet(shard->layer, key) ? (MuonDownlink) * (int *)own : all->downlink;
  }
  PetscCall(MuonCompressorsHash_Private(all, &all->chosen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorsVisit_Private(const MuonCompressors *all, MuonParameterObjectFn *call, void *ctx)
{
  PetscFunctionBegin;
  for (int down = 0; down < 2; down++) {
    PetscCall(MuonCompressorSetDefaultType_Private(all->c[down]));
    PetscCall((*call)((PetscObject)all->c[down], ctx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorsCheck_Private(Muon muon, MuonCompressors *all)
{
  unsigned int now;

  PetscFunctionBegin;
  if (all->state == ((PetscObject)all->c[0])->state + ((PetscObject)all->c[1])->state) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCompressorsHash_Private(all, &now));
  PetscCheck(now == all->chosen, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%s%s_compressor or -%s%s_server_compressor was changed after MuonSetUp(), where each layer got its own; change those of the layers, or call MuonReset() before",
             MuonPrefix(muon), all->type, MuonPrefix(muon), all->type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCompressorsView_Private(Muon muon, const MuonCompressors *all, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "compressors are for layers of %s of at least %" PetscInt_FMT " entries\n", all->rules == MUON_COMPRESSOR_RULES_ALL ? "all rules" : "the rule lmo", all->min_entries));
  if (muon->setupcalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (int down = 0; down < 2; down++) {
    PetscInt   layers[2]  = {0, 0}; /* that are compressed, and that are not */
    PetscInt64 entries[2] = {0, 0};

    for (PetscInt p = 0; p < muon->nshards; p++) {
      const MuonShard *shard = &muon->shard[p];
      PetscBool        assigns;

      PetscCall(MuonCompressorIsAssignment(down ? shard->down : shard->up, &assigns));
      if (down && shard->downlink == MUON_DOWNLINK_STEP) assigns = PETSC_FALSE;
      layers[assigns]++;
      entries[assigns] += (PetscInt64)shard->layer->m * shard->layer->n;
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s: compressed layers %" PetscInt_FMT ", parameters %" PetscInt64_FMT "; as they are %" PetscInt_FMT ", %" PetscInt64_FMT "\n", down ? "down" : "up", layers[0], entries[0], layers[1], entries[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
