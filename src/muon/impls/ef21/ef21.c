#include "ef21.h" /*I "petscmuon.h" I*/
#include <string.h>

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
    PetscCall(MuonArrayDestroy(&state->Gnew));
    PetscCall(PetscFree(muon->shard[p].data));
  }
  PetscCall(PetscFree2(ef21->meter.mine, ef21->meter.result));
  ef21->meter.active = PETSC_FALSE;
  ef21->started      = 0;
  ef21->error        = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonConfigure_EF21(Muon muon)
{
  Muon_EF21     *ef21 = (Muon_EF21 *)muon->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)muon);

  PetscFunctionBegin;
  PetscCheck(muon->clip == 0 || EF21AtServer(muon) == PETSC_FALSE, comm, PETSC_ERR_SUP, "-%smuon_clip %g: with -%smuon_momentum_at server, -muon_type ef21 sends no gradients that could be clipped, expected 0", MuonPrefix(muon), (double)muon->clip,
             MuonPrefix(muon));
  PetscCheck(MuonPhases(muon) == 1 || ef21->init == MUON_EF21_INIT_ZERO, comm, PETSC_ERR_SUP, "-%sef21_init gradient with -local_stagger: layers have first steps of their own, expected zero", MuonPrefix(muon));
  PetscCall(PetscCalloc2(muon->nshards, &ef21->meter.mine, muon->nshards, &ef21->meter.result));
  PetscCall(MuonCompressorsConfigure_Private(muon, &ef21->all));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard           *shard = &muon->shard[p];
    EF21Shard           *state;
    PetscBool            assigns;
    MuonCompressorValues values;

    ef21->meter.result[p].step = -1;
    PetscCall(PetscNew(&state));
    shard->data = state;
    PetscCall(MuonCompressorIsAssignment(shard->up, &assigns));
    state->estimates = assigns ? PETSC_FALSE : PETSC_TRUE;
    shard->asis      = assigns;
    if (assigns == PETSC_FALSE && EF21AtServer(muon) == PETSC_FALSE) shard->keep_sum = PETSC_TRUE;
    if (assigns || ef21->init == MUON_EF21_INIT_ZERO) continue;
    /* The first gradient goes whole */
    values = MuonCompressorValuesOf(shard->up);
    PetscCall(MuonCompressorsMake_Private(muon, &ef21->all, 0, &state->first));
    if (values != MUON_COMPRESSOR_VALUES_DOUBLE && values != MUON_COMPRESSOR_VALUES_NATIVE) PetscCall(MuonParametersAssign((PetscObject)state->first, "values", MUON_COMPRESSOR_VALUES_SINGLE));
    PetscCall(MuonCompressorSetStream(state->first, muon->seed, shard->name, shard->group->grid->worker, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetUp_EF21(Muon muon, MuonShard *shard)
{
  EF21Shard *state = (EF21Shard *)shard->data;
  MuonArray  shape;

  PetscFunctionBegin;
  if (state->estimates == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  shape = MuonShardStateShape(shard);
  PetscCall(MuonArrayCreate(&shape, shape.precision, &state->Gj));
  if (shard->owns) PetscCall(MuonArrayCreate(&shape, shape.precision, &state->G));
  if (shard->owns && EF21AtServer(muon)) PetscCall(MuonArrayCreate(&shape, shape.precision, &state->Gnew));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonObjects_EF21(Muon muon, MuonParameterObjectFn *call, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorsVisit_Private(&((Muon_EF21 *)muon->data)->all, call, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonBegin_EF21(Muon muon, MuonRecord *record)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(MuonCompressorsCheck_Private(muon, &ef21->all));
  PetscCall(EF21MeterBegin_Private(muon, &ef21->meter, record));
  ef21->errordue = ef21->errorinterval > 0 && (muon->step + 1) % ef21->errorinterval == 0 ? PETSC_TRUE : PETSC_FALSE; /* the step is not counted yet */
  if (ef21->errordue) record->measure += 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What theorems about differences to estimates ask for */
static PetscErrorCode MuonStartsFromGradients_EF21(Muon muon, PetscBool *gradients)
{
  PetscFunctionBegin;
  *gradients = ((Muon_EF21 *)muon->data)->init == MUON_EF21_INIT_GRADIENT ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonMomentum_EF21(Muon muon, MuonShard *shard, MuonLayerStepInfo *info)
{
  PetscFunctionBegin;
  if (EF21IsFirst(muon, 0)) {
    info->beta            = 0;
    info->gradient_weight = 1;
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
  if (EF21IsFirst(muon, shard->group->depth - 1)) upload->compressor = state->first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G + mean of R_j, of which the driver makes a momentum where that is the server's */
static PetscErrorCode MuonAggregate_EF21(Muon muon, MuonShard *shard, const MuonArray *sum, PetscInt count)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  MuonArrayAxpby(1, &state->G, 1 / (double)count, sum);
  if (state->Gnew.data != NULL) MuonArrayAxpby(1, sum, 0, &state->Gnew);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G_j + R_j, and the server's new aggregate in place of the old one */
static PetscErrorCode MuonCommit_EF21(Muon muon, MuonShard *shard)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  if (state->estimates == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(EF21Measure_Private(muon, shard, 0, PETSC_FALSE, &shard->round->T, &state->Gj));
  PetscCall(MuonCompressorDecodeValidated(shard->round->sent, &shard->round->up_own, PETSC_TRUE, 1, &state->Gj));
  PetscCall(EF21Measure_Private(muon, shard, 0, PETSC_TRUE, &shard->round->T, &state->Gj));
  if (shard->owns) MuonArraySwap(&state->G, state->Gnew.data != NULL ? &state->Gnew : &shard->sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLook_EF21(Muon muon, MuonShard *shard, PetscBool after, const MuonArray *Xnew, const MuonArray *W)
{
  PetscFunctionBegin;
  PetscCall(EF21Measure_Private(muon, shard, 1, after, Xnew, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEnd_EF21(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(EF21MeterEnd_Private(muon, &ef21->meter));
  if (ef21->errordue) PetscCall(EF21MeasureAggregateError_Private(muon));
  ef21->started = PetscMin(ef21->started + 1, 2);
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
  PetscCall(MuonStateVisitArray(visitor, "aggregate.new", PETSC_TRUE, PETSC_TRUE, &state->Gnew));
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
- -ef21_compressor_values values            - how values are written (native|double|single|bf16|natural|2bit)

  Level: intermediate

  Note:
  What is set here before `MuonSetUp()` holds for all layers of the optimizer lmo (`-ef21_compressor_rules`)
  that are not too small (`-ef21_compressor_min_entries`); `-muon_layer_NAME_ef21_compressor topk` and
  its sub-keys speak to one layer, of any optimizer and size.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetServerCompressor()`, `MuonEF21GetLayerCompressors()`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonEF21GetCompressor(Muon muon, MuonCompressor *compressor)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, compressor, ((Muon_EF21 *)muon->data)->all.c[0]);
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
- -ef21_server_compressor_values values            - how values are written (native|double|single|bf16|natural|2bit)

  Level: intermediate

  Note:
  With `-ef21_downlink step` a layer's server sends the step itself and uses no
  compressor.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetCompressor()`, `MuonEF21GetLayerCompressors()`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonEF21GetServerCompressor(Muon muon, MuonCompressor *compressor)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, compressor, ((Muon_EF21 *)muon->data)->all.c[1]);
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

static PetscErrorCode MuonView_EF21(Muon muon, PetscViewer viewer)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "EF21 starts from %s\n", MuonEF21Inits[ef21->init]));
  if (ef21->error >= 0) PetscCall(PetscViewerASCIIPrintf(viewer, "||G - mean of G_j|| was %g\n", (double)ef21->error));
  PetscCall(MuonCompressorsView_Private(muon, &ef21->all, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_EF21(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(MuonCompressorsDestroy_Private(&ef21->all));
  PetscCall(PetscFree(muon->data));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonStartsFromGradients_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonSaving_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEF21 - EF21-Muon: steps inside norm balls with error feedback and compressed messages in both directions

  Options Database Keys:
+ -ef21_compressor type            - compressor from workers to servers, with the keys of `MuonCompressor` behind it
. -ef21_server_compressor type     - compressor from servers to workers, likewise
. -ef21_compressor_rules rules     - layers that the two are for (lmo|all), others are sent uncompressed, unless a layer's own key says otherwise
. -ef21_compressor_min_entries n   - entries of the smallest layer that they are for, smaller layers are sent uncompressed
. -ef21_downlink downlink          - how servers send new weights (weights|step), `step` sends the point of the norm ball in its natural format
. -ef21_init init                  - what EF21 starts from (zero|gradient)
. -ef21_aggregate_error_interval n - measures every n-th step how far the aggregate is from the mean of the estimates, see `MuonEF21GetAggregateError()`
- -ef21_monitor_compression        - measures contraction and lag of each layer and prints them, see `MuonEF21SetMonitorCompression()`

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

  With `-ef21_downlink step` S is D itself in its natural format, and every worker computes
  W = (1 - rate decay) W + t^s D\: the weights are those of identity to the last bit (as long as the dual
  norm, which is sent too, is finite), X is W and is not stored, and a message down has a few numbers, or a
  few bits for each row or column. It is for layers of the optimizer lmo whose norm is nuclear, l1, rowsum, colsum
  or l21; for any other layer it is an error of `MuonSetUp()`, which names the key that gives the layer
  another downlink. Where every rank owns (`MUONEXCHANGEREPLICATED`) and no layer has another lossy
  compressor nothing goes down, as with identity.

  The step is Algorithm 3 of the paper with worker and server halves in the order of one gradient; momentum 0
  and exact gradients give Algorithm 2.

  References:
. * - K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, arXiv:2510.00643

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONDENSE`, `MuonEF21GetCompressor()`, `MuonEF21GetServerCompressor()`, `MuonCompressor`, `MuonExchange`
M*/
static PetscErrorCode MuonCreate_EF21(Muon muon)
{
  Muon_EF21 *ef21;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ef21));
  ef21->error                      = -1;
  muon->data                       = ef21;
  muon->ops->configure             = MuonConfigure_EF21;
  muon->ops->setup                 = MuonSetUp_EF21;
  muon->ops->begin                 = MuonBegin_EF21;
  muon->ops->objects               = MuonObjects_EF21;
  muon->ops->momentum              = MuonMomentum_EF21;
  muon->ops->worker                = MuonWorker_EF21;
  muon->ops->aggregate             = MuonAggregate_EF21;
  muon->ops->commit                = MuonCommit_EF21;
  muon->ops->look                  = MuonLook_EF21;
  muon->ops->end                   = MuonEnd_EF21;
  muon->ops->visitstate            = MuonVisitState_EF21;
  muon->ops->setfromoptions        = MuonSetFromOptions_EF21;
  muon->ops->setobjectsfromoptions = MuonSetObjectsFromOptions_EF21;
  muon->ops->view                  = MuonView_EF21;
  muon->ops->reset                 = MuonReset_EF21;
  muon->ops->destroy               = MuonDestroy_EF21;
  PetscCall(EF21MeterSetMonitor_Private(muon));
  PetscCall(MuonCompressorsCreate_Private(muon, MUONEF21, &ef21->all));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonStartsFromGradients_C", MuonStartsFromGradients_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonSaving_C", EF21MeasureAggregateError_Private));
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MuonParameter MuonEF21LayerParameters[] = MUON_COMPRESSORS_LAYER_ROWS("ef21_");

PetscErrorCode MuonRegister_EF21(void)
{
  static const char *const keys[] = {MUON_COMPRESSORS_KEYS("ef21_"), "ef21_monitor_compression", NULL};
  MuonAddonOps             ops    = MuonCompressorsAddon(MuonEF21LayerParameters, keys);

  PetscFunctionBegin;
  PetscCall(MuonRegister(MUONEF21, MuonCreate_EF21, MuonEF21Parameters_Private));
  PetscCall(MuonAddonRegister(MUONEF21, &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
