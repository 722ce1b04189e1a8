#include "feedback.h" /*I "petscmuon.h" I*/

const char *const MuonEF21Inits[] = {"zero", "gradient", "MuonEF21Init", "MUON_EF21_INIT_", NULL};

#define ROW(key, kind, field, names, flags, help) \
  { \
    "ef21_" key, MUON_PARAMETER_##kind, offsetof(Muon_EF21, field), 0, 0, MUON_UNBOUNDED, names, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA | (flags), help \
  }

static const MuonParameter MuonEF21Parameters[] = {ROW("init", ENUM, init, MuonEF21Inits, MUON_PARAMETER_FIXED, "What EF21 starts from"),
                                                   MUON_FEEDBACK_ROWS("ef21_"),
                                                   ROW("aggregate_error_interval", INT, errorinterval, NULL, 0, "Of how many steps one measures how far the aggregate is from the mean of the estimates, 0: none"),
                                                   {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static const MuonParameter MuonEF21LayerParameters[] = MUON_FEEDBACK_LAYER_ROWS("ef21_");

/* Estimates are of gradients, and the momentum is made of the aggregate */
static PetscBool EF21AtServer(Muon muon)
{
  return muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Algorithm 3, step s. The driver computes the momentum M_j, calls the compressors and takes the step of the LMO. It calls the
   functions below in their order. In the driver T is M_j; X and W are the weights of server and workers.
*/

/* Of all shards: in the first step M_j = g_j, which is sent uncompressed; otherwise M_j = mu M_j + (1-mu) g_j */
static PetscErrorCode MuonBegin_EF21(Muon muon, MuonRecord *record)
{
  PetscFunctionBegin;
  PetscCall(EF21MeterBegin_Private(muon, record));
  for (PetscInt p = 0; p < muon->nshards && EF21IsFirst(muon, 0); p++) {
    MuonLayerStepInfo *info = &MuonShardNext(&muon->shard[p])->info;

    info->beta            = 0;
    info->gradient_weight = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R_j = C_j(M_j - G_j), to the server */
static PetscErrorCode MuonSend_EF21(Muon muon, MuonShard *shard, MuonUpload *upload)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  if (state->feedback.keeps == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  upload->R = &state->feedback.relative;
  if (EF21IsFirst(muon, shard->group->depth - 1)) upload->compressor = state->first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The input of the LMO is G + mean of R_j, or the driver's momentum of it if the server keeps one: D = argmin <., D>, X += t D, S = C(X - W) */
static PetscErrorCode MuonServe_EF21(Muon muon, MuonShard *shard, const MuonArray *sum, PetscInt count)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  MuonArrayAxpby(1, &state->G, 1 / (double)count, sum);
  if (state->Gnew.data != NULL) MuonArrayAxpby(1, sum, 0, &state->Gnew);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G_j += R_j at the worker, G += mean of R_j at the server; the driver: M_j, X, W += S */
static PetscErrorCode MuonCommit_EF21(Muon muon, MuonShard *shard)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  if (state->feedback.keeps == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(EF21Measure_Private(muon, shard, 0, PETSC_FALSE, &shard->round->T, &state->feedback.relative));
  PetscCall(MuonCompressorDecodeValidated(shard->round->sent, &shard->round->up_own, PETSC_TRUE, 1, &state->feedback.relative));
  PetscCall(EF21Measure_Private(muon, shard, 0, PETSC_TRUE, &shard->round->T, &state->feedback.relative));
  if (MuonShardOwns(shard)) MuonArraySwap(&state->G, state->Gnew.data != NULL ? &state->Gnew : &shard->sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is kept: G_j of each worker, G of the server */
static PetscErrorCode MuonVisitState_EF21(Muon muon, MuonShard *shard, MuonStateVisitor *visitor)
{
  EF21Shard *state = (EF21Shard *)shard->data;

  PetscFunctionBegin;
  /* Of the optimizer, and named with the first of all shards */
  visitor->holder = MUON_STATE_EVERYONE;
  visitor->layer  = "";
  if (shard == muon->shard) PetscCall(MuonStateVisitBytes(visitor, "started", sizeof(((Muon_EF21 *)muon->data)->started), &((Muon_EF21 *)muon->data)->started));
  if (state->feedback.keeps == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  visitor->layer  = shard->name;
  visitor->holder = MUON_STATE_WORKER;
  PetscCall(MuonShardVisitArray(shard, visitor, "estimate", PETSC_FALSE, &state->feedback.relative));
  visitor->holder = MUON_STATE_SERVER;
  PetscCall(MuonShardVisitArray(shard, visitor, "aggregate", PETSC_FALSE, &state->G));
  if (EF21AtServer(muon)) PetscCall(MuonShardVisitArray(shard, visitor, "aggregate.new", PETSC_TRUE, &state->Gnew));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEnd_EF21(Muon muon, PetscBool ok)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  if (ok == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(EF21MeterEnd_Private(muon));
  ef21->started = PetscMin(ef21->started + 1, 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What theorems about differences to estimates ask for */
static PetscErrorCode MuonStartsFromGradients_EF21(Muon muon, PetscBool *gradients)
{
  PetscFunctionBegin;
  *gradients = ((Muon_EF21 *)muon->data)->init == MUON_EF21_INIT_GRADIENT ? PETSC_TRUE : PETSC_FALSE;
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
  PetscCall(EF21MeterSetUp_Private(muon));
  PetscCall(MuonConfigure_Feedback(muon));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard           *shard  = &muon->shard[p];
    EF21Shard           *state  = (EF21Shard *)shard->data;
    MuonCompressorValues values = MuonCompressorValuesOf(shard->up);

    if (state->feedback.keeps == PETSC_FALSE) continue;
    if (ef21->init == MUON_EF21_INIT_ZERO) continue;
    /* The first gradient goes whole */
    PetscCall(MuonFeedbackMake_Private(muon, 0, &state->first));
    if (values != MUON_COMPRESSOR_VALUES_DOUBLE && values != MUON_COMPRESSOR_VALUES_NATIVE) PetscCall(MuonParametersAssign((PetscObject)state->first, "values", MUON_COMPRESSOR_VALUES_SINGLE));
    PetscCall(MuonCompressorSetStream(state->first, muon->seed, shard->name, shard->group->grid->worker, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonView_EF21(Muon muon, PetscViewer viewer)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "EF21 starts from %s\n", MuonEF21Inits[ef21->init]));
  if (ef21->error >= 0) PetscCall(PetscViewerASCIIPrintf(viewer, "||G - mean of G_j|| was %g\n", (double)ef21->error));
  PetscCall(MuonView_Feedback(muon, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonReset_EF21(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    EF21Shard *state = (EF21Shard *)muon->shard[p].data;

    if (state == NULL) continue;
    PetscCall(MuonCompressorDestroy(&state->first));
    PetscCall(MuonArrayDestroy(&state->G));
    PetscCall(MuonArrayDestroy(&state->Gnew));
  }
  ((Muon_EF21 *)muon->data)->started = 0;
  PetscCall(EF21MeterReset_Private(muon));
  PetscCall(MuonReset_Feedback(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_EF21(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy_Feedback(muon));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonStartsFromGradients_C", NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEF21 - EF21-Muon: steps inside norm balls with error feedback and compressed messages in both directions

  Options Database Keys:
+ -ef21_compressor type            - compressor from workers to servers, followed by the keys of `MuonCompressor`
. -ef21_server_compressor type     - compressor from servers to workers, likewise
. -ef21_compressor_layers types    - layers that the two apply to (lmo|all); others are sent uncompressed, unless a layer has its own key
. -ef21_compressor_min_entries n   - smaller layers are sent uncompressed, unless a layer has its own key
. -ef21_downlink downlink          - how servers send new weights (weights|step), `step` sends the point of the norm ball in its natural format
. -ef21_init init                  - initial momentum and estimates (zero|gradient)
. -ef21_aggregate_error_interval n - measures the error of the aggregates every n steps, see `MuonEF21GetAggregateError()`
- -ef21_monitor_compression        - measures contraction and lag of each layer and prints them, see `MuonEF21SetMonitorCompression()`

  Level: beginner

  Notes:
  In step s worker j has the weights W and the momentum mu\:
.vb
  M_j becomes mu M_j + (1-mu) g_j
  R_j      =  C_j(M_j - G_j)          sent to the layer's server
  G_j becomes G_j + R_j
.ve
  The server of a layer computes, with t^s = learning rate x schedule x scale x shape factor\:
.vb
  G becomes G + mean of R_j
  X becomes X + t^s D                 D the point of the unit ball where <G,D> is least
  S      =  C(X - W)                  sent to every worker
.ve
  Every worker replaces W by W + S. Sender and receiver add the same decoded message to their copies, so that the
  copies stay equal.

  With the compressor identity the messages are the matrices themselves. A copy that equals another matrix is not
  stored.

  With `-ef21_downlink step` S is D itself in its natural format, and every worker computes W = (1 - rate decay) W +
  t^s D. A message down has a few numbers, or a few bits for each row or column. The weights are those of identity to
  the last bit (as long as the dual norm, which is sent too, is finite); X equals W and is not stored. The downlink is
  for layers of the optimizer lmo with the norms nuclear, l1, rowsum, colsum or l21. Any other layer is an error of
  `MuonSetUp()`, which names the key that gives the layer another downlink. If every rank owns all layers
  (`MUONEXCHANGEREPLICATED`) and no layer has another lossy compressor, nothing is sent down, as with identity.

  The step is Algorithm 3 of the paper, ordered so that a step begins with the gradient. Momentum 0 and exact gradients
  give Algorithm 2.

  References:
. * - K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, arXiv:2510.00643

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONDENSE`, `MuonGetLayerCompressors()`, `MuonCompressor`, `MuonExchange`
M*/
static PetscErrorCode MuonCreate_EF21(Muon muon)
{
  Muon_EF21 *ef21;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ef21));
  PetscCall(MuonCreate_Feedback(muon, ef21, sizeof(EF21Shard)));
  muon->ops->asis       = PETSC_TRUE;
  muon->ops->configure  = MuonConfigure_EF21;
  muon->ops->send       = MuonSend_EF21;
  muon->ops->serve      = MuonServe_EF21;
  muon->ops->commit     = MuonCommit_EF21;
  muon->ops->visitstate = MuonVisitState_EF21;
  muon->ops->view       = MuonView_EF21;
  muon->ops->reset      = MuonReset_EF21;
  muon->ops->destroy    = MuonDestroy_EF21;
  PetscCall(EF21MeterCreate_Private(muon));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonStartsFromGradients_C", MuonStartsFromGradients_EF21));
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode MuonRegister_EF21(void)
{
  static const char *const keys[] = {MUON_FEEDBACK_KEYS("ef21_"), "ef21_monitor_compression", NULL};
  MuonAddonOps             ops    = {0};

  PetscFunctionBegin;
  ops.setfromoptions = EF21MeterSetFromOptions_Private;
  ops.begin          = MuonBegin_EF21;
  ops.look           = EF21MeterLook_Private;
  ops.saving         = EF21MeterSaving_Private;
  ops.end            = MuonEnd_EF21;
  PetscCall(MuonRegister(MUONEF21, MuonCreate_EF21, MuonEF21Parameters));
  PetscCall(MuonFeedbackRegister_Private(MUONEF21, &ops, MuonEF21LayerParameters, keys));
  PetscFunctionReturn(PETSC_SUCCESS);
}
