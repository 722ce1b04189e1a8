#include "ef21compression.h" /*I "petscmuon.h" I*/

const char *const MuonEF21Inits[]                = {"zero", "gradient", "MuonEF21Init", "MUON_EF21_INIT_", NULL};
const char *const MuonEF21CompressorRulesTypes[] = {"lmo", "all", "MuonEF21CompressorRules", "MUON_EF21_COMPRESSOR_RULES_", NULL};

static PetscErrorCode MuonEF21CreateCompressor_Private(Muon muon, const char family[], MuonCompressor *c)
{
  char prefix[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*c, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)*c, ((PetscObject)muon)->options));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s%s", MuonPrefix(muon), family));
  PetscCall(MuonCompressorSetOptionsPrefix(*c, prefix));
  PetscCall(MuonCompressorSetWorkspace(*c, muon->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The keys behind a layer's own name: its downlink, and all of its compressors */
static PetscErrorCode MuonEF21ReadOwnDownlink_Private(Muon muon, MuonLayer layer)
{
  char         prefix[PETSC_MAX_OPTION_NAME];
  MuonDownlink downlink;
  PetscBool    set;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetOwnPrefix_Private(layer, sizeof(prefix), prefix));
  PetscCall(PetscOptionsGetEnum(((PetscObject)muon)->options, prefix, "-ef21_downlink", MuonDownlinks, (PetscEnum *)&downlink, &set));
  if (set) PetscCall(MuonEF21SetLayerDownlink(muon, layer, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21ReadKeys_Private(PetscObject object, const char prefix[], PetscBool type)
{
  MuonCompressor c = (MuonCompressor)object;

  PetscFunctionBegin;
  PetscCall(MuonCompressorSetOptionsPrefix(c, prefix));
  if (type) PetscCall(MuonCompressorTypeSetFromOptions_Private(c));
  else PetscCall(MuonCompressorSetFromOptions(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The compressors for all layers are not for this one, and none of the layer's own keys says otherwise */
static PetscErrorCode MuonEF21Spares_Private(Muon muon, MuonLayer layer, const char own[], PetscBool *spares)
{
  const Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;
  char             key[PETSC_MAX_OPTION_NAME];
  PetscBool        lmo = PETSC_TRUE, told = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)layer, MUONLAYERLMO, &lmo));
  *spares = (lmo == PETSC_FALSE && ef21->rules == MUON_EF21_COMPRESSOR_RULES_LMO) || MuonLayerEntries(layer) < (PetscInt64)ef21->min_entries ? PETSC_TRUE : PETSC_FALSE;
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
static PetscErrorCode MuonEF21ConfigureCompressor_Private(Muon muon, MuonShard *shard, MuonCompressor all, const char family[], PetscInt indexbits, MuonCompressor c)
{
  const PetscInt *columns;
  PetscInt        nrows, ncolumns, *rows;
  char            shared[PETSC_MAX_OPTION_NAME], layer[PETSC_MAX_OPTION_NAME], own[PETSC_MAX_OPTION_NAME];
  PetscBool       spares = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(shared, sizeof(shared), "%s%s", MuonPrefix(muon), family));
  PetscCall(MuonLayerGetOwnPrefix_Private(shard->layer, sizeof(layer), layer));
  PetscCall(PetscSNPrintf(own, sizeof(own), "%s%s", layer, family));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)c, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)c, ((PetscObject)muon)->options));
  PetscCall(MuonCompressorCopyOptions_Private(all, c));
  PetscCall(MuonCompressorSetOptionsPrefix(c, shared));
  PetscCall(MuonEF21Spares_Private(muon, shard->layer, own, &spares));
  if (spares) {
    PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORIDENTITY));
    /* Beside messages that leave something out, digits beyond single are bytes for nothing */
    if (all->assignment == PETSC_FALSE && (int)c->values == PETSC_DETERMINE) PetscCall(MuonParametersAssign((PetscObject)c, "values", MUON_COMPRESSOR_VALUES_SINGLE));
  } else if (muon->setfromoptionscalled) {
    PetscCall(MuonCompressorTypeSetFromOptions_Private(c));
    PetscCall(MuonCompressorCopyOptions_Private(all, c));
    PetscCall(MuonSetFromLayeredOptions((PetscObject)c, shared, PETSC_TRUE, own, MuonEF21ReadKeys_Private));
  }
  PetscCall(MuonShardGetBlocks(shard, &nrows, &rows, &ncolumns, &columns));
  PetscCall(MuonCompressorSetBlocks(c, nrows, rows, ncolumns, columns));
  PetscCall(PetscFree(rows));
  if (c->paperbits == PETSC_DETERMINE) PetscCall(MuonParametersAssign((PetscObject)c, "paper_index_bits", (double)indexbits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonReset_EF21(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    EF21Shard *state = (EF21Shard *)muon->shard[p].data;

    if (state == NULL) continue;
    PetscCall(MuonCompressorDestroy(&state->first));
    PetscCall(MuonArrayDestroy(&state->Gj));
    PetscCall(MuonArrayDestroy(&state->G));
    PetscCall(PetscFree(muon->shard[p].data));
  }
  PetscCall(EF21MeterDestroy_Private(&ef21->meter));
  ef21->started = 0;
  ef21->drift   = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The paper charges every index what the largest matrix needs; blocks are matrices of their own */
static PetscErrorCode MuonEF21GetPaperIndexBits_Private(Muon muon, PetscInt *bits)
{
  PetscLogDouble entries = 1;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard *shard = &muon->shard[p];

    for (PetscInt b = 0; b < MuonBlocksCount_Private(&shard->layer->blocks); b++) {
      MuonBlock block;

      PetscCall(MuonLayerGetBlock_Private(shard->layer, b, &block));
      entries = PetscMax(entries, (PetscLogDouble)block.m * (PetscLogDouble)block.n);
    }
  }
  for (*bits = 0; entries > 1; entries /= 2) ++*bits;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The compressors for all layers are copied at set-up: what is changed in them afterwards would be silently
   without effect
*/
static PetscErrorCode EF21HashTemplates_Private(Muon_EF21 *ef21, unsigned int hash[2])
{
  char text[1024];

  PetscFunctionBegin;
  PetscCall(MuonCompressorChoices_Private(ef21->up, sizeof(text), text));
  PetscCall(MuonNameHash_Private(text, &hash[0]));
  PetscCall(MuonCompressorChoices_Private(ef21->down, sizeof(text), text));
  PetscCall(MuonNameHash_Private(text, &hash[1]));
  ef21->state = ((PetscObject)ef21->up)->state + ((PetscObject)ef21->down)->state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonConfigure_EF21(Muon muon)
{
  Muon_EF21 *ef21      = (Muon_EF21 *)muon->data;
  PetscInt   indexbits = 0;

  PetscFunctionBegin;
  PetscCheck(muon->nesterov == MUON_NESTEROV_NONE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_nesterov %s: -muon_type ef21 has no Nesterov term, expected none", MuonPrefix(muon), MuonNesterovTypes[muon->nesterov]);
  PetscCheck(muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_momentum_at server: -muon_type ef21 keeps one momentum a worker, expected worker", MuonPrefix(muon));
  PetscCall(EF21MeterCreate_Private(&ef21->meter, muon->nshards));
  PetscCall(MuonEF21GetPaperIndexBits_Private(muon, &indexbits));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];
    EF21Shard *state;
    PetscBool  assigns;

    PetscCall(PetscNew(&state));
    shard->data = state;
    PetscCall(MuonEF21ConfigureCompressor_Private(muon, shard, ef21->up, "ef21_", indexbits, shard->up));
    PetscCall(MuonEF21ConfigureCompressor_Private(muon, shard, ef21->down, "ef21_server_", indexbits, shard->down));
    if (muon->setfromoptionscalled) PetscCall(MuonEF21ReadOwnDownlink_Private(muon, shard->layer));
    PetscCall(MuonEF21GetLayerDownlink(muon, shard->layer, &shard->downlink));
    PetscCall(MuonCompressorIsAssignment(shard->up, &assigns));
    state->estimates = assigns ? PETSC_FALSE : PETSC_TRUE;
    if (assigns == PETSC_FALSE) shard->keep_sum = PETSC_TRUE;
  }
  PetscCall(EF21HashTemplates_Private(ef21, ef21->chosen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetUp_EF21(Muon muon, MuonShard *shard)
{
  Muon_EF21           *ef21  = (Muon_EF21 *)muon->data;
  EF21Shard           *state = (EF21Shard *)shard->data;
  MuonCompressorValues values;
  MuonArray            shape;
  int                  init[2] = {(int)ef21->init, -(int)ef21->init}, most[2];

  PetscFunctionBegin;
  if (shard == muon->shard) {
    PetscCallMPI(MPI_Allreduce(init, most, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)muon)));
    PetscCheck(most[0] == -most[1], PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP, "-%sef21_init is %s on some ranks and %s on others, expected the same on each", MuonPrefix(muon), MuonEF21Inits[-most[1]], MuonEF21Inits[most[0]]);
  }
  if (state->estimates == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonShardGetStateShape(muon, shard, &shape));
  PetscCall(MuonArrayCreate(&shape, shape.precision, &state->Gj));
  if (shard->owns) PetscCall(MuonArrayCreate(&shape, shape.precision, &state->G));
  if (ef21->init == MUON_EF21_INIT_ZERO) PetscFunctionReturn(PETSC_SUCCESS);
  /* The first gradient goes whole */
  values = MuonCompressorValuesOf(shard->up);
  PetscCall(MuonEF21CreateCompressor_Private(muon, "ef21_", &state->first));
  PetscCall(MuonCompressorSetType(state->first, MUONCOMPRESSORIDENTITY));
  if (values != MUON_COMPRESSOR_VALUES_DOUBLE && values != MUON_COMPRESSOR_VALUES_NATIVE) PetscCall(MuonParametersAssign((PetscObject)state->first, "values", MUON_COMPRESSOR_VALUES_SINGLE));
  PetscCall(MuonCompressorSetStream(state->first, muon->seed, shard->name, shard->group->grid->worker, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonBegin_EF21(Muon muon, MuonRecord *record)
{
  Muon_EF21   *ef21 = (Muon_EF21 *)muon->data;
  unsigned int now[2];

  PetscFunctionBegin;
  if (ef21->state != ((PetscObject)ef21->up)->state + ((PetscObject)ef21->down)->state) {
    PetscCall(EF21HashTemplates_Private(ef21, now));
    for (int down = 0; down < 2; down++) {
      PetscCheck(now[down] == ef21->chosen[down], PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER,
                 "-%sef21_%scompressor was changed after MuonSetUp(), where each layer got its own; change those of MuonEF21GetLayerCompressors(), or call MuonReset() before", MuonPrefix(muon), down ? "server_" : "");
    }
  }
  PetscCall(EF21MeterBegin_Private(muon, &ef21->meter, record));
  ef21->driftdue = ef21->driftinterval > 0 && (muon->step + 1) % ef21->driftinterval == 0 ? PETSC_TRUE : PETSC_FALSE; /* the step is not counted yet */
  if (ef21->driftdue) record->measure += 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether this step sends the first gradient whole, which momentum and estimates become */
static PetscBool EF21IsFirst(Muon muon)
{
  const Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  return ef21->init == MUON_EF21_INIT_GRADIENT && ef21->started == 0 ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode MuonMomentum_EF21(Muon muon, MuonShard *shard)
{
  PetscFunctionBegin;
  if (EF21IsFirst(muon)) {
    shard->beta = 0;
    shard->gradient_weight    = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R_j = C_j(M_j - G_j) */
static PetscErrorCode MuonWorker_EF21(Muon muon, MuonShard *shard, MuonUpload *upload)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  if (state->estimates == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  upload->R = &state->Gj;
  if (EF21IsFirst(muon)) upload->compressor = state->first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G + mean of R_j */
static PetscErrorCode MuonAggregate_EF21(Muon muon, MuonShard *shard, const MuonArray *sum, PetscInt count)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  if (state->estimates) MuonArrayAxpby(1, &state->G, 1 / (double)count, sum);
  else if (count > 1) MuonArrayAxpby(1 / (double)count, sum, 0, sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G_j + R_j, and the server's new aggregate in place of the old one */
static PetscErrorCode MuonCommit_EF21(Muon muon, MuonShard *shard)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  if (state->estimates == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(EF21MeterUp_Private(muon, shard, PETSC_FALSE, &shard->T, &state->Gj));
  PetscCall(MuonCompressorDecodeValidated(shard->sent, &shard->up_own, PETSC_TRUE, 1, &state->Gj));
  PetscCall(EF21MeterUp_Private(muon, shard, PETSC_TRUE, &shard->T, &state->Gj));
  if (shard->owns) MuonArraySwap(&state->G, &shard->sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEnd_EF21(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(EF21MeterEnd_Private(muon, &ef21->meter));
  if (ef21->driftdue) PetscCall(EF21MeasureDrift_Private(muon));
  ef21->started = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVisitState_EF21(Muon muon, MuonShard *shard, MuonStateVisitor *visitor)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  /* Of the optimizer, and named with the first of all shards */
  visitor->holder = MUON_STATE_EVERYONE;
  visitor->layer  = "";
  if (shard == muon->shard) PetscCall(MuonStateVisitBytes(visitor, "started", sizeof(((Muon_EF21 *)muon->data)->started), &((Muon_EF21 *)muon->data)->started));
  visitor->layer  = shard->name;
  visitor->holder = MUON_STATE_WORKER;
  PetscCall(MuonStateVisitArray(visitor, "estimate", PETSC_TRUE, PETSC_FALSE, &state->Gj));
  visitor->holder = MUON_STATE_SERVER;
  PetscCall(MuonStateVisitArray(visitor, "aggregate", PETSC_TRUE, PETSC_FALSE, &state->G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetCompressor - Gets the compressor from workers to servers that all layers start from

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. compressor - the compressor, borrowed

  Options Database Keys:
+ -ef21_compressor type                     - one of the values of `MuonCompressorType`
. -ef21_compressor_ratio ratio              - fraction that is kept, see `MuonCompressorSetRatio()`
. -ef21_compressor_rank rank                - the rank
. -ef21_compressor_bits bits                - bits of a quantized entry
. -ef21_compressor_qsgd_block_length n      - entries of a block that share a scale
. -ef21_compressor_qsgd_block_norm (max|l2) - the norm that is this scale
. -ef21_compressor_line_norm p              - exponent of the norm that rows or columns are chosen by
- -ef21_compressor_values values            - how values are written (native|double|single|bf16|natural)

  Level: intermediate

  Note:
  What is set here before `MuonSetUp()` holds for all layers of the rule lmo (`MuonEF21SetCompressorRules()`)
  that are not too small (`MuonEF21SetCompressorMinEntries()`); `-muon_layer_NAME_ef21_compressor topk` and
  its sub-keys speak to one layer, of any rule and size.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetServerCompressor()`, `MuonEF21GetLayerCompressors()`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonEF21GetCompressor(Muon muon, MuonCompressor *compressor)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, compressor, ((Muon_EF21 *)muon->data)->up);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetServerCompressor - Gets the compressor from servers to workers that all layers start from

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. compressor - the compressor, borrowed

  Options Database Keys:
+ -ef21_server_compressor type                     - one of the values of `MuonCompressorType`
. -ef21_server_compressor_ratio ratio              - fraction that is kept, see `MuonCompressorSetRatio()`
. -ef21_server_compressor_rank rank                - the rank
. -ef21_server_compressor_bits bits                - bits of a quantized entry
. -ef21_server_compressor_qsgd_block_length n      - entries of a block that share a scale
. -ef21_server_compressor_qsgd_block_norm (max|l2) - the norm that is this scale
. -ef21_server_compressor_line_norm p              - exponent of the norm that rows or columns are chosen by
- -ef21_server_compressor_values values            - how values are written (native|double|single|bf16|natural)

  Level: intermediate

  Note:
  With `-ef21_downlink step` (`MuonEF21SetDownlink()`) a layer's server sends the step itself and uses no
  compressor.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetCompressor()`, `MuonEF21GetLayerCompressors()`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonEF21GetServerCompressor(Muon muon, MuonCompressor *compressor)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, compressor, ((Muon_EF21 *)muon->data)->down);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetLayerCompressors - Gets the two compressors of one layer

  Not Collective

  Input Parameters:
+ muon  - an optimizer of type `MUONEF21`, set up
- layer - one of its layers that is not frozen

  Output Parameters:
+ up   - from this rank as a worker to the layer's server, borrowed; may be `NULL`
- down - from the layer's server to the workers, borrowed; may be `NULL`

  Level: advanced

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetCompressor()`, `MuonEF21GetServerCompressor()`, `MuonGetLayerState()`
@*/
PetscErrorCode MuonEF21GetLayerCompressors(Muon muon, MuonLayer layer, MuonCompressor *up, MuonCompressor *down)
{
  MuonShard *shard;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  MuonCheckType(muon, MUONEF21);
  PetscCall(MuonShardFind(muon, layer, &shard));
  if (up != NULL) *up = shard->up;
  if (down != NULL) *down = shard->down;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21CheckBeforeSetUp_Private(Muon muon, const char key[])
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%s%s must be set before MuonSetUp(), or after MuonReset()", MuonPrefix(muon), key);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetInit - Sets what EF21 starts from

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- init - `MUON_EF21_INIT_ZERO` or `MUON_EF21_INIT_GRADIENT`

  Options Database Key:
. -ef21_init init - what EF21 starts from (zero|gradient)

  Level: intermediate

  Notes:
  The default is zero: momentum and estimates are 0 before the first step, the first momentum is (1-momentum)
  g, and all messages are compressed. With gradient, as in the paper, momentum and estimates are the first
  gradient, which is sent whole: in single precision, unless the compressor's values are double, or native;
  the estimates are what was sent.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetInit()`, `MuonEF21Init`
@*/
PetscErrorCode MuonEF21SetInit(Muon muon, MuonEF21Init init)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCheck(init == MUON_EF21_INIT_ZERO || init == MUON_EF21_INIT_GRADIENT, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_init %d is no MuonEF21Init", MuonPrefix(muon), (int)init);
  if (init != ((Muon_EF21 *)muon->data)->init) PetscCall(MuonEF21CheckBeforeSetUp_Private(muon, "ef21_init"));
  ((Muon_EF21 *)muon->data)->init = init;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetInit - Gets what EF21 starts from

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. init - `MUON_EF21_INIT_ZERO` or `MUON_EF21_INIT_GRADIENT`

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetInit()`
@*/
PetscErrorCode MuonEF21GetInit(Muon muon, MuonEF21Init *init)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, init, ((Muon_EF21 *)muon->data)->init);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetCompressorRules - Sets which layers the compressors for all layers are for

  Logically Collective

  Input Parameters:
+ muon  - an optimizer that has the type `MUONEF21` already, else the call is ignored
- rules - `MUON_EF21_COMPRESSOR_RULES_LMO` or `MUON_EF21_COMPRESSOR_RULES_ALL`

  Options Database Key:
. -ef21_compressor_rules rules - which (lmo|all)

  Level: intermediate

  Notes:
  The default is lmo, in both directions\: layers of another rule send their gradients and get their weights
  as they are. AdamW and its like divide each entry by its own size and answer to entries that a message
  leaves out with steps of full length when they come; what they move is most often small.

  A key that begins with `-muon_layer_NAME_ef21_compressor`, or with
  `-muon_layer_NAME_ef21_server_compressor`, tells otherwise for one layer and this direction. `MuonView()`
  prints the split.

.seealso: `Muon`, `MUONEF21`, `MuonEF21CompressorRules`, `MuonEF21GetCompressorRules()`, `MuonEF21SetCompressorMinEntries()`, `MuonEF21GetCompressor()`, `MuonLayerSetRule()`
@*/
PetscErrorCode MuonEF21SetCompressorRules(Muon muon, MuonEF21CompressorRules rules)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(muon, rules, 2);
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCheck(rules == MUON_EF21_COMPRESSOR_RULES_LMO || rules == MUON_EF21_COMPRESSOR_RULES_ALL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_compressor_rules %d is no MuonEF21CompressorRules", MuonPrefix(muon), (int)rules);
  if (rules != ((Muon_EF21 *)muon->data)->rules) PetscCall(MuonEF21CheckBeforeSetUp_Private(muon, "ef21_compressor_rules"));
  ((Muon_EF21 *)muon->data)->rules = rules;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetCompressorRules - Gets which layers the compressors for all layers are for

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. rules - which

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetCompressorRules()`
@*/
PetscErrorCode MuonEF21GetCompressorRules(Muon muon, MuonEF21CompressorRules *rules)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, rules, ((Muon_EF21 *)muon->data)->rules);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetCompressorMinEntries - Sets how many entries a layer has at least that the compressors for all
  layers are for

  Logically Collective

  Input Parameters:
+ muon    - an optimizer that has the type `MUONEF21` already, else the call is ignored
- entries - rows times columns, at least 0

  Options Database Key:
. -ef21_compressor_min_entries entries - how many

  Level: intermediate

  Notes:
  The default is 0. Layers that are smaller send what they have as it is, in both directions\: biases and
  gains are a small fraction of what is sent, and headers weigh most there. The whole layer counts, where
  ranks have rows of it or where it is cut into blocks too.

  Keys of a layer's own tell otherwise, as for `MuonEF21SetCompressorRules()`.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetCompressorMinEntries()`, `MuonEF21SetCompressorRules()`, `MuonEF21GetCompressor()`
@*/
PetscErrorCode MuonEF21SetCompressorMinEntries(Muon muon, PetscInt entries)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveInt(muon, entries, 2);
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCheck(entries >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_compressor_min_entries %" PetscInt_FMT " must be at least 0", MuonPrefix(muon), entries);
  if (entries != ((Muon_EF21 *)muon->data)->min_entries) PetscCall(MuonEF21CheckBeforeSetUp_Private(muon, "ef21_compressor_min_entries"));
  ((Muon_EF21 *)muon->data)->min_entries = entries;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetCompressorMinEntries - Gets how many entries a layer has at least that the compressors for all
  layers are for

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. entries - how many

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetCompressorMinEntries()`
@*/
PetscErrorCode MuonEF21GetCompressorMinEntries(Muon muon, PetscInt *entries)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, entries, ((Muon_EF21 *)muon->data)->min_entries);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21SetDownlink_Private(Muon muon, MuonLayer layer, MuonDownlink downlink)
{
  PetscFunctionBegin;
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCall(MuonEF21CheckBeforeSetUp_Private(muon, "ef21_downlink"));
  PetscCheck(downlink == MUON_DOWNLINK_WEIGHTS || downlink == MUON_DOWNLINK_STEP, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_downlink %d is no MuonDownlink", MuonPrefix(muon), (int)downlink);
  if (layer == NULL) ((Muon_EF21 *)muon->data)->downlink = downlink;
  else {
    layer->downlink    = (PetscInt)downlink;
    layer->downlinkset = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetDownlink_Private(Muon muon, MuonLayer layer, MuonDownlink *downlink)
{
  PetscFunctionBegin;
  MuonCheckType(muon, MUONEF21);
  *downlink = layer != NULL && layer->downlinkset ? (MuonDownlink)layer->downlink : ((Muon_EF21 *)muon->data)->downlink;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetDownlink - Sets how servers tell the workers of new weights

  Logically Collective

  Input Parameters:
+ muon     - an optimizer that has the type `MUONEF21` already, else the call is ignored
- downlink - `MUON_DOWNLINK_WEIGHTS`, by the compressor of `MuonEF21GetServerCompressor()`, or `MUON_DOWNLINK_STEP`

  Options Database Key:
. -ef21_downlink downlink - how (weights|step), weights by default

  Level: intermediate

  Note:
  `MuonEF21SetLayerDownlink()`, and `-muon_layer_NAME_ef21_downlink`, speak of one layer.

.seealso: `Muon`, `MUONEF21`, `MuonDownlink`, `MuonEF21GetDownlink()`, `MuonEF21SetLayerDownlink()`
@*/
PetscErrorCode MuonEF21SetDownlink(Muon muon, MuonDownlink downlink)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(muon, downlink, 2);
  PetscCall(MuonEF21SetDownlink_Private(muon, NULL, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetDownlink - Gets how servers tell the workers of new weights

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. downlink - how, for layers that have no choice of their own

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetDownlink()`
@*/
PetscErrorCode MuonEF21GetDownlink(Muon muon, MuonDownlink *downlink)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(downlink, 2);
  PetscCall(MuonEF21GetDownlink_Private(muon, NULL, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetLayerDownlink - Sets how the server of one layer tells the workers of new weights

  Logically Collective

  Input Parameters:
+ muon     - an optimizer that has the type `MUONEF21` already, else the call is ignored
. layer    - one of its layers
- downlink - `MUON_DOWNLINK_WEIGHTS` or `MUON_DOWNLINK_STEP`

  Options Database Key:
. -muon_layer_NAME_ef21_downlink downlink - how (weights|step), the optimizer's by default

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonDownlink`, `MuonEF21SetDownlink()`, `MuonEF21GetLayerDownlink()`
@*/
PetscErrorCode MuonEF21SetLayerDownlink(Muon muon, MuonLayer layer, MuonDownlink downlink)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscValidLogicalCollectiveEnum(muon, downlink, 3);
  PetscCall(MuonEF21SetDownlink_Private(muon, layer, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetLayerDownlink - Gets how the server of one layer tells the workers of new weights

  Not Collective

  Input Parameters:
+ muon  - an optimizer of type `MUONEF21`
- layer - one of its layers

  Output Parameter:
. downlink - how

  Level: intermediate

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetLayerDownlink()`
@*/
PetscErrorCode MuonEF21GetLayerDownlink(Muon muon, MuonLayer layer, MuonDownlink *downlink)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscAssertPointer(downlink, 3);
  PetscCall(MuonEF21GetDownlink_Private(muon, layer, downlink));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetFromOptions_EF21(Muon muon, MuonOptionItems PetscOptionsObject)
{
  Muon_EF21   *ef21     = (Muon_EF21 *)muon->data;
  MuonEF21Init init     = ef21->init;
  MuonDownlink downlink = ef21->downlink;
  PetscInt     entries  = ef21->min_entries, interval;

  MuonEF21CompressorRules rules = ef21->rules;
  char                    viewer[PETSC_MAX_PATH_LEN];
  PetscBool               flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "EF21-Muon options");
  PetscCall(PetscOptionsEnum("-ef21_init", "What EF21 starts from", "MuonEF21SetInit", MuonEF21Inits, (PetscEnum)init, (PetscEnum *)&init, &flg));
  if (flg) PetscCall(MuonEF21SetInit(muon, init));
  PetscCall(PetscOptionsEnum("-ef21_downlink", "How servers tell of new weights", "MuonEF21SetDownlink", MuonDownlinks, (PetscEnum)downlink, (PetscEnum *)&downlink, &flg));
  if (flg) PetscCall(MuonEF21SetDownlink(muon, downlink));
  PetscCall(PetscOptionsInt("-ef21_drift_interval", "Of how many steps one measures the drift of the aggregate", "MuonEF21SetDriftInterval", ef21->driftinterval, &interval, &flg));
  if (flg) PetscCall(MuonEF21SetDriftInterval(muon, interval));
  PetscCall(PetscOptionsEnum("-ef21_compressor_rules", "Layers that the compressors are for", "MuonEF21SetCompressorRules", MuonEF21CompressorRulesTypes, (PetscEnum)rules, (PetscEnum *)&rules, &flg));
  if (flg) PetscCall(MuonEF21SetCompressorRules(muon, rules));
  PetscCall(PetscOptionsInt("-ef21_compressor_min_entries", "Entries of the smallest layer that they are for", "MuonEF21SetCompressorMinEntries", entries, &entries, &flg));
  if (flg) PetscCall(MuonEF21SetCompressorMinEntries(muon, entries));
  PetscCall(PetscOptionsString("-ef21_monitor_compression", "Two lines a layer: contraction, lag and gap", "MuonEF21SetMonitorCompression", "stdout", viewer, sizeof(viewer), NULL));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The prefix may have changed since the compressors were made */
static PetscErrorCode MuonSetObjectsFromOptions_EF21(Muon muon)
{
  Muon_EF21  *ef21   = (Muon_EF21 *)muon->data;
  const char *before = ((PetscObject)muon)->prefix ? ((PetscObject)muon)->prefix : "";
  char        prefix[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%sef21_", before));
  PetscCall(MuonCompressorSetOptionsPrefix(ef21->up, prefix));
  PetscCall(MuonCompressorSetFromOptions(ef21->up));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%sef21_server_", before));
  PetscCall(MuonCompressorSetOptionsPrefix(ef21->down, prefix));
  PetscCall(MuonCompressorSetFromOptions(ef21->down));
  PetscCall(EF21MeterSetFromOptions_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many layers, and entries of them, are compressed in a direction */
static PetscErrorCode MuonEF21ViewSplit_Private(Muon muon, PetscViewer viewer, PetscBool down)
{
  PetscInt   layers[2]  = {0, 0};
  PetscInt64 entries[2] = {0, 0};
  PetscBool  assigns;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonShard *shard = &muon->shard[p];

    PetscCall(MuonCompressorIsAssignment(down ? shard->down : shard->up, &assigns));
    if (down && shard->downlink == MUON_DOWNLINK_STEP) assigns = PETSC_FALSE;
    layers[assigns]++;
    entries[assigns] += (PetscInt64)shard->layer->m * shard->layer->n;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s: compressed layers %" PetscInt_FMT ", parameters %" PetscInt64_FMT "; as they are %" PetscInt_FMT ", %" PetscInt64_FMT "\n", down ? "down" : "up", layers[0], entries[0], layers[1], entries[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonView_EF21(Muon muon, PetscViewer viewer)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "EF21 starts from %s\n", MuonEF21Inits[ef21->init]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "compressors are for layers of %s of at least %" PetscInt_FMT " entries\n", ef21->rules == MUON_EF21_COMPRESSOR_RULES_ALL ? "all rules" : "the rule lmo", ef21->min_entries));
  if (ef21->drift >= 0) PetscCall(PetscViewerASCIIPrintf(viewer, "||G - mean of G_j|| was %g\n", (double)ef21->drift));
  if (muon->setupcalled == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonEF21ViewSplit_Private(muon, viewer, PETSC_FALSE));
  PetscCall(MuonEF21ViewSplit_Private(muon, viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_EF21(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(MuonCompressorDestroy(&ef21->up));
  PetscCall(MuonCompressorDestroy(&ef21->down));
  PetscCall(PetscFree(muon->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEF21 - EF21-Muon: steps inside norm balls with error feedback and compressed messages in both directions

  Options Database Keys:
+ -ef21_compressor type          - compressor from workers to servers, with the keys of `MuonCompressor` behind it
. -ef21_server_compressor type   - compressor from servers to workers, likewise
. -ef21_compressor_rules rules   - layers that the two are for (lmo|all), see `MuonEF21SetCompressorRules()`
. -ef21_compressor_min_entries n - entries of the smallest layer that they are for, see `MuonEF21SetCompressorMinEntries()`
. -ef21_downlink downlink        - how servers tell of new weights (weights|step), see `MuonEF21SetDownlink()`
. -ef21_init init                - what EF21 starts from (zero|gradient)
. -ef21_drift_interval n         - measures every n-th step how far the aggregate is from the mean of the estimates, see `MuonEF21SetDriftInterval()`
- -ef21_monitor_compression      - measures contraction, lag and gap of each layer and prints them, see `MuonEF21MonitorCompression()`

  Level: beginner

  Notes:
  In step s worker j, at the weights W, with momentum mu\:
.vb
  M_j becomes mu M_j + (1-mu) g_j
  R_j      =  C_j(M_j - G_j)          sent to the layer's server
  G_j becomes G_j + R_j
.ve
  the server of a layer, with t^s = learning rate x schedule x scale x shape factor\:
.vb
  G becomes G + mean of R_j
  X becomes X + t^s D                 D the point of the unit ball where <G,D> is least
  S      =  C(X - W)                  sent to every worker
.ve
  and every worker\: W becomes W + S. What each side adds to its own copies is the decoded message, so that
  the copies never part.

  With the compressor identity messages are the matrices themselves, and what would be equal to another matrix
  is not stored.

  With `-ef21_downlink step` S is D itself in its natural format, `MuonLMOEncode()`, and every worker computes
  W = (1 - rate decay) W + t^s D\: the weights are those of identity to the last bit (as long as the dual
  norm, which is sent too, is finite), X is W and is not stored, and a message down has a few numbers, or a
  few bits for each row or column. It is for layers of the rule lmo whose norm is nuclear, l1, rowsum, colsum
  or l21; for any other layer it is an error of `MuonSetUp()`, which names the key that gives the layer
  another downlink. Where every rank owns (`MUONEXCHANGEREPLICATED`) and no layer has another lossy
  compressor nothing goes down, as with identity.

  The step is Algorithm 3 of the paper with worker and server halves in the order of one gradient; momentum 0
  and exact gradients give Algorithm 2.

  References:
. * - K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, arXiv:2510.00643

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONDENSE`, `MuonEF21GetCompressor()`, `MuonEF21GetServerCompressor()`, `MuonEF21SetInit()`, `MuonCompressor`, `MuonExchange`
M*/
PETSC_EXTERN PetscErrorCode MuonCreate_EF21(Muon muon)
{
  Muon_EF21 *ef21;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ef21));
  ef21->drift                      = -1;
  muon->data                       = ef21;
  muon->ops->configure             = MuonConfigure_EF21;
  muon->ops->setup                 = MuonSetUp_EF21;
  muon->ops->begin                 = MuonBegin_EF21;
  muon->ops->momentum              = MuonMomentum_EF21;
  muon->ops->worker                = MuonWorker_EF21;
  muon->ops->aggregate             = MuonAggregate_EF21;
  muon->ops->commit                = MuonCommit_EF21;
  muon->ops->look                  = EF21MeterDown_Private;
  muon->ops->end                   = MuonEnd_EF21;
  muon->ops->saving                = EF21MeasureDrift_Private;
  muon->ops->visitstate            = MuonVisitState_EF21;
  muon->ops->setfromoptions        = MuonSetFromOptions_EF21;
  muon->ops->setobjectsfromoptions = MuonSetObjectsFromOptions_EF21;
  muon->ops->view                  = MuonView_EF21;
  muon->ops->reset                 = MuonReset_EF21;
  muon->ops->destroy               = MuonDestroy_EF21;
  PetscCall(MuonEF21CreateCompressor_Private(muon, "ef21_", &ef21->up));
  PetscCall(MuonEF21CreateCompressor_Private(muon, "ef21_server_", &ef21->down));
  PetscCall(MuonCompressorSetType(ef21->up, MUONCOMPRESSORIDENTITY));
  PetscCall(MuonCompressorSetType(ef21->down, MUONCOMPRESSORIDENTITY));
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscFunctionReturn(PETSC_SUCCESS);
}
