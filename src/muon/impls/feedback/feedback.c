#include "feedback.h" /*I "petscmuon.h" I*/

const char *const MuonCompressorLayersTypes[] = {"lmo", "all", "MuonCompressorLayers", "MUON_COMPRESSOR_LAYERS_", NULL};

static PetscErrorCode MuonFeedbackFamily_Private(Muon muon, int down, const char before[], size_t length, char family[])
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(family, length, "%s%s_%s", before, ((PetscObject)muon)->type_name, down ? "server_" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prefix and database may have changed since a compressor was made */
static PetscErrorCode MuonFeedbackPlace_Private(Muon muon, int down, MuonCompressor c)
{
  char prefix[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(MuonFeedbackFamily_Private(muon, down, MuonPrefix(muon), sizeof(prefix), prefix));
  PetscCall(MuonCompressorSetOptionsPrefix(c, prefix));
  PetscCall(PetscObjectSetOptions((PetscObject)c, ((PetscObject)muon)->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFeedbackMake_Private(Muon muon, int down, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*c, (PetscObject)muon, 1));
  PetscCall(MuonFeedbackPlace_Private(muon, down, *c));
  PetscCall(MuonWorkspaceShare(muon->work, &(*c)->work));
  PetscCall(MuonCompressorSetType(*c, MUONCOMPRESSORIDENTITY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetFromOptions_Feedback(Muon muon)
{
  PetscFunctionBegin;
  for (int down = 0; down < 2; down++) {
    PetscCall(MuonFeedbackPlace_Private(muon, down, muon->compressor[down]));
    PetscCall(MuonCompressorSetFromOptions(muon->compressor[down]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The compressors for all layers do not apply to this one, and it has no key of its own */
static PetscErrorCode MuonFeedbackSpares_Private(Muon muon, const MuonFeedback *all, MuonLayer layer, const char own[], PetscBool *spares)
{
  const PetscBool lmo = (layer->inner != NULL ? layer->inner : layer)->ops->applylmo != NULL ? PETSC_TRUE : PETSC_FALSE;
  char            key[PETSC_MAX_OPTION_NAME];
  PetscBool       told = PETSC_FALSE;

  PetscFunctionBegin;
  *spares = (lmo == PETSC_FALSE && all->types == MUON_COMPRESSOR_LAYERS_LMO) || MuonLayerEntries(layer) < (PetscInt64)all->min_entries ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%scompressor", own));
  if (muon->setfromoptionscalled) PetscCall(MuonHasOptions((PetscObject)muon, key, &told));
  if (told) *spares = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The parent of a shard's compressor is the one for all layers. Its keys are read for what the parent has not, a solver
   of singular values and parameters of another type, and then the layer's own
*/
static PetscErrorCode MuonFeedbackConfigureOne_Private(Muon muon, MuonShard *shard, int down, PetscInt indexbits)
{
  const MuonCompressor from = muon->compressor[down], c = down ? shard->down : shard->up;
  const PetscInt      *columns;
  PetscInt             nrows, ncolumns, *rows;
  char                 shared[PETSC_MAX_OPTION_NAME], layer[PETSC_MAX_OPTION_NAME], own[PETSC_MAX_OPTION_NAME];
  PetscBool            spares = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MuonFeedbackFamily_Private(muon, down, MuonPrefix(muon), sizeof(shared), shared));
  PetscCall(MuonLayerGetOwnPrefix_Private(shard->layer, sizeof(layer), layer));
  PetscCall(MuonFeedbackFamily_Private(muon, down, layer, sizeof(own), own));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)c, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)c, ((PetscObject)muon)->options));
  PetscCall(MuonCompressorSetOptionsPrefix(c, shared));
  PetscCall(MuonFeedbackSpares_Private(muon, (const MuonFeedback *)muon->data, shard->layer, own, &spares));
  PetscCall(MuonCompressorSetType(c, spares ? MUONCOMPRESSORIDENTITY : ((PetscObject)from)->type_name));
  PetscCall(MuonParametersSetParent((PetscObject)c, (PetscObject)from));
  if (spares) {
    /* With lossy messages, digits beyond single precision waste bytes */
    if (from->assignment == PETSC_FALSE && (int)c->values == PETSC_DETERMINE) PetscCall(MuonParametersAssign((PetscObject)c, "values", MUON_COMPRESSOR_VALUES_SINGLE));
  } else if (muon->setfromoptionscalled) PetscCall(MuonSetFromLayeredOptions((PetscObject)c, shared, own));
  PetscCall(MuonShardGetBlocks(shard, &nrows, &rows, &ncolumns, &columns));
  PetscCall(MuonCompressorSetBlocks(c, nrows, rows, ncolumns, columns));
  PetscCall(PetscFree(rows));
  if (c->paperbits == PETSC_DETERMINE) PetscCall(MuonParametersAssign((PetscObject)c, "paper_index_bits", (double)indexbits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonConfigure_Feedback(Muon muon)
{
  PetscInt       indexbits = 0;
  PetscLogDouble entries   = 1;
  char           key[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_downlink", ((PetscObject)muon)->type_name));
  /* The paper counts every index with the bits of the largest matrix; blocks are separate matrices */
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

    for (int down = 0; down < 2; down++) PetscCall(MuonFeedbackConfigureOne_Private(muon, shard, down, indexbits));
    (void)MuonParametersFind((PetscObject)shard->layer, key, &own);
    shard->downlink = *(MuonDownlink *)own;
    PetscCall(PetscCalloc1(((MuonFeedback *)muon->data)->bytes, (char **)&shard->data));
    ((FeedbackShard *)shard->data)->keeps = shard->up->assignment ? PETSC_FALSE : PETSC_TRUE;
  }
  for (int down = 0; down < 2; down++) muon->compressor[down]->parameters.fixed = PETSC_TRUE; /* another type would be silently without effect */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonView_Feedback(Muon muon, PetscViewer viewer)
{
  const MuonFeedback *all = (const MuonFeedback *)muon->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "compressors are for layers of %s of at least %" PetscInt_FMT " entries\n", all->types == MUON_COMPRESSOR_LAYERS_ALL ? "all types" : "the type lmo", all->min_entries));
  if (muon->setupcalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (int down = 0; down < 2; down++) {
    PetscInt   layers[2]  = {0, 0}; /* that are compressed, and that are not */
    PetscInt64 entries[2] = {0, 0};

    for (PetscInt p = 0; p < muon->nshards; p++) {
      const MuonShard *shard   = &muon->shard[p];
      const PetscBool  assigns = down && shard->downlink == MUON_DOWNLINK_STEP ? PETSC_FALSE : (down ? shard->down : shard->up)->assignment;

      layers[assigns]++;
      entries[assigns] += (PetscInt64)shard->layer->m * shard->layer->n;
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s: compressed layers %" PetscInt_FMT ", parameters %" PetscInt64_FMT "; as they are %" PetscInt_FMT ", %" PetscInt64_FMT "\n", down ? "down" : "up", layers[0], entries[0], layers[1], entries[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonReset_Feedback(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    if (muon->shard[p].data != NULL) PetscCall(MuonArrayDestroy(&((FeedbackShard *)muon->shard[p].data)->relative));
    PetscCall(PetscFree(muon->shard[p].data));
  }
  for (int down = 0; down < 2; down++) muon->compressor[down]->parameters.fixed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDestroy_Feedback(Muon muon)
{
  PetscFunctionBegin;
  for (int down = 0; down < 2; down++) PetscCall(MuonCompressorDestroy(&muon->compressor[down]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayerCompressors - Gets the compressors of both directions of one layer, or those whose parameters all layers inherit

  Not Collective

  Input Parameters:
+ muon  - an optimizer of type `MUONEF21` or `MUONEF14`; set up, if a layer is given
- layer - one of its layers that is not frozen, or `NULL` for the compressors for all layers

  Output Parameters:
+ up   - the compressor from workers to servers, of a layer that of this rank as a worker, borrowed; may be `NULL`
- down - the compressor from servers to workers, borrowed; may be `NULL`

  Options Database Keys:
+ -ef21_compressor type                     - one of the values of `MuonCompressorType`
. -ef21_compressor_ratio ratio              - fraction of the entries, rows or columns that is sent, see `MuonCompressorSetRatio()`
. -ef21_compressor_rank rank                - the rank
. -ef21_compressor_bits bits                - bits of a quantized entry
. -ef21_compressor_qsgd_block_length n      - entries of a block that share a scale
. -ef21_compressor_qsgd_block_norm (max|l2) - the norm that is this scale
. -ef21_compressor_line_norm p              - exponent of the norm by which rows or columns are chosen
. -ef21_compressor_values values            - how values are written (native|double|single|bf16|natural|2bit)
- -ef21_server_compressor type              - the compressor down, followed by the same keys; for `MUONEF14` they begin with ef14

  Level: intermediate

  Notes:
  Parameters of the compressors for all layers that are set before `MuonSetUp()` apply to all layers of the optimizer lmo
  (`-ef21_compressor_layers`) that are not too small (`-ef21_compressor_min_entries`). `-muon_layer_NAME_ef21_compressor topk` and the
  keys below it apply to one layer, of any optimizer and size. After `MuonSetUp()` the type is fixed, and so is the format of the values of
  uncompressed layers; other parameters act at the next step, for layers without a value of their own.

  With `-ef21_downlink step` a layer's server sends the step itself and uses no compressor.

.seealso: `Muon`, `MUONEF21`, `MUONEF14`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`, `MuonGetLayerState()`
@*/
PetscErrorCode MuonGetLayerCompressors(Muon muon, MuonLayer layer, MuonCompressor *up, MuonCompressor *down)
{
  MuonShard *shard = NULL;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(muon->compressor[0] != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "A Muon of type %s has no compressors, expected type ef21 or ef14", ((PetscObject)muon)->type_name != NULL ? ((PetscObject)muon)->type_name : "(not set)");
  if (layer != NULL) PetscCall(MuonShardFind(muon, layer, &shard));
  if (up != NULL) *up = shard != NULL ? shard->up : muon->compressor[0];
  if (down != NULL) *down = shard != NULL ? shard->down : muon->compressor[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCreate_Feedback(Muon muon, void *data, size_t bytes)
{
  PetscFunctionBegin;
  muon->data                    = data;
  ((MuonFeedback *)data)->bytes = bytes;
  muon->ops->configure          = MuonConfigure_Feedback;
  muon->ops->setfromoptions     = MuonSetFromOptions_Feedback;
  muon->ops->view               = MuonView_Feedback;
  muon->ops->reset              = MuonReset_Feedback;
  muon->ops->destroy            = MuonDestroy_Feedback;
  for (int down = 0; down < 2; down++) PetscCall(MuonFeedbackMake_Private(muon, down, &muon->compressor[down]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFeedbackRegister_Private(const char type[], MuonAddonOps *ops, const MuonParameter layerrows[], const char *const keys[])
{
  PetscFunctionBegin;
  ops->layerrows = layerrows;
  ops->layersize = sizeof(MuonDownlink);
  ops->keys      = keys;
  PetscCall(MuonAddonRegister(type, ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode MuonRegister_Feedback(void)
{
  PetscFunctionBegin;
  PetscCall(MuonRegister_EF21());
  PetscCall(MuonRegister_EF14());
  PetscFunctionReturn(PETSC_SUCCESS);
}
