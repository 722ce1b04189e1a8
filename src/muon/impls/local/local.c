#include "../../step/muonstep.h" /*I "petscmuon.h" I*/

/* A layer in the outer optimizer: the shared weights, and the server's control variate C as the weights of a second layer, NULL without one */
typedef struct {
  MuonLayer outer, control;
  MuonArray shared;  /* weights of the first */
  MuonArray start;   /* where it is late, this worker's own when the round began */
  MuonArray C, sent; /* weights and gradient of the second: C, and -C_j of the round that ends */
} MuonLocalLayer;

typedef struct {
  Muon            outer;
  PetscInt        steps;                             /* of a round */
  PetscBool       stagger, control, warned, changed; /* the last: MuonWeightsChanged() was called since the last step */
  PetscBool       moved;                             /* the outer optimizer took its step */
  PetscInt        phases;                            /* in which layers are exchanged */
  PetscInt        nlayers;                           /* that the outer optimizer has */
  MuonLocalLayer *layer;
} Muon_Local;

/* What a shard has of its layer's control variates: this worker's C_j */
typedef struct {
  const MuonLocalLayer *layer;
  MuonArray             own;
} MuonLocalShard;

static PetscBool  MuonCitationLocalSet = PETSC_FALSE;
static const char MuonCitationLocal[]  = "@misc{MuLoCo2025,\n"
                                         "  title  = {{MuLoCo}: {Muon} is a practical inner optimizer for {DiLoCo}},\n"
                                         "  author = {Benjamin Th{\\'e}rien and Xiaolong Huang and Irina Rish and Eugene Belilovsky},\n"
                                         "  note   = {arXiv:2505.23725},\n"
                                         "  year   = {2025}\n}\n";

static const MuonParameter MuonLocalParameters[] = {
  {"local_steps", MUON_PARAMETER_INT, offsetof(Muon_Local, steps), 30, 1, PETSC_MAX_INT, NULL, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA, "Steps that each worker takes alone before weights are exchanged"},
  {"local_control", MUON_PARAMETER_BOOL, offsetof(Muon_Local, control), 0, 0, 1, NULL, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA | MUON_PARAMETER_FIXED, "Control variates, with which workers of unequal data take steps along the mean momentum"},
  {"local_stagger", MUON_PARAMETER_BOOL, offsetof(Muon_Local, stagger), 0, 0, 1, NULL, MUON_PARAMETER_BARE | MUON_PARAMETER_DATA | MUON_PARAMETER_FIXED, "Exchange the weights of each layer after a step of its own"},
  {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

/* Whether a layer has control variates */
static PetscBool MuonLocalControls_Private(const Muon_Local *local, PetscInt l)
{
  return local->layer[l].control != NULL && local->layer[l].control->frozen == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
}

/* The step of a round after which the layers of a phase are exchanged: phases are spread over the round, the last one at its end */
static PetscInt MuonLocalStepOf_Private(const Muon_Local *local, PetscInt phase)
{
  return (PetscInt)((PetscInt64)(phase + 1) * local->steps / PetscMax(local->phases, 1)) - 1;
}

/* Balances bytes over phases, largest layers first into the smallest phase; computed on rank 0 and broadcast, since ranks compare layers later */
static PetscErrorCode MuonLocalSetPhases_Private(Muon muon)
{
  Muon_Local       *local = (Muon_Local *)muon->data;
  Muon              outer = local->outer;
  MuonExchangeItem *items;
  PetscMPIInt      *phase, n;

  PetscFunctionBegin;
  PetscCheck(local->stagger == PETSC_FALSE || MuonRoundsDepth(outer) == 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%slocal_stagger with -%smuon_delay 1: a layer would come while others are sent, expected one of both", MuonPrefix(muon),
             MuonPrefix(outer));
  PetscCall(PetscMPIIntCast(muon->nlayers, &n));
  PetscCall(PetscMalloc2(n, &items, n + 1, &phase));
  for (PetscMPIInt l = 0; l < n; l++) {
    items[l].name = ((PetscObject)muon->layer[l])->name;
    items[l].cost = items[l].bytes = muon->layer[l]->frozen ? 0 : (MuonLocalControls_Private(local, l) ? 2 : 1) * (PetscLogDouble)MuonLayerEntries(muon->layer[l]) * (PetscLogDouble)MuonArrayEntryBytes(&muon->layer[l]->shape);
  }
  phase[n] = (PetscMPIInt)(local->stagger ? PetscMax(PetscMin(local->steps, muon->nactive), 1) : 1);
  PetscCall(MuonAssignOwners_Private(MUON_EXCHANGE_ASSIGNMENT_LPT, n, items, phase[n], phase));
  PetscCallMPI(MPI_Bcast(phase, n + 1, MPI_INT, 0, PetscObjectComm((PetscObject)muon)));
  for (PetscMPIInt l = 0; l < n; l++) {
    local->layer[l].outer->phase = phase[l];
    if (local->layer[l].control != NULL) local->layer[l].control->phase = phase[l];
  }
  local->phases = phase[n];
  PetscCall(PetscFree2(items, phase));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layer of the outer optimizer, with this one's name and a suffix; g is NULL if it has its own gradient buffer */
static PetscErrorCode MuonLocalMakeLayer_Private(Muon muon, MuonLayer layer, const char follows[], const MuonArray *w, const MuonArray *g, MuonLayer *outer)
{
  MuonLayerArray array;
  char           name[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(MuonLayerArrayInitialize(&array));
  array.comm     = layer->ranks > 1 ? layer->comm : PETSC_COMM_SELF;
  array.type     = w->precision == MUON_SINGLE ? PETSC_FLOAT : PETSC_DOUBLE;
  array.rowmajor = layer->rowmajor ? PETSC_TRUE : PETSC_FALSE;
  array.M        = layer->M;
  array.N        = MuonLayerColumns(layer);
  array.first    = layer->first;
  array.rows     = MuonLayerRows(layer);
  array.ld       = (PetscInt)(w->ld >> w->pairs);
  array.field    = w->pairs ? MUON_FIELD_COMPLEX : MUON_FIELD_REAL;
  array.w        = w->data;
  array.g        = g != NULL ? g->data : NULL;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", ((PetscObject)layer)->name, follows));
  PetscCall(MuonAddLayerArray(((Muon_Local *)muon->data)->outer, name, &array, outer));
  (*outer)->inner = layer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shared weights begin as the worker's own */
static PetscErrorCode MuonLocalAddLayer_Private(Muon muon, PetscInt l)
{
  MuonLocalLayer *to    = &((Muon_Local *)muon->data)->layer[l];
  MuonLayer       layer = muon->layer[l];
  MuonArray       W;

  PetscFunctionBegin;
  PetscCheck(MuonLayerIsEntries(layer) == 0 && layer->shape.memory == MUON_HOST, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
             "Layer \"%s\": -%smuon_type %s takes layers in the memory of the host that are matrices, vectors on one rank or arrays, not %s", ((PetscObject)layer)->name, MuonPrefix(muon), MUONLOCAL,
             MuonLayerIsEntries(layer) ? "ranges of a parallel vector" : "memory of a device");
  PetscCall(PetscMemzero(to, sizeof(*to)));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCall(MuonArrayCreate(&W, W.precision, &to->shared));
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCall(MuonLocalMakeLayer_Private(muon, layer, "", &to->shared, NULL, &to->outer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C becomes the mean of the C_j at the outer optimizer's servers, whose layer gets -C_j as its gradient: without rate, decay and momentum */
static PetscErrorCode MuonLocalStep_Control(MuonLayer layer, MuonLayerStepInfo *info, const MuonArray *G, const MuonArray *X, const MuonArray *Xnew, MuonStatus *status)
{
  PetscFunctionBegin;
  if (info->measure) info->squares = MuonLayerSumSquares(G);
  MuonArrayAxpby(-1, G, 0, Xnew);
  if (!MuonArrayIsFinite(Xnew)) *status = MUON_STATUS_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers whose optimizer uses the momentum, or has no state, have control variates, which begin as zeros */
static PetscErrorCode MuonLocalSetControl_Private(Muon muon, PetscInt l)
{
  const Muon_Local *local    = (const Muon_Local *)muon->data;
  MuonLocalLayer   *to       = &local->layer[l];
  const MuonLayer   layer    = muon->layer[l];
  const PetscBool   controls = local->control && layer->frozen == PETSC_FALSE && (layer->workermomentum || layer->ops->commit == NULL) ? PETSC_TRUE : PETSC_FALSE;
  PetscErrorCode (*starts)(Muon, PetscBool *);

  PetscFunctionBegin;
  if (controls && to->control == NULL) {
    PetscCall(MuonArrayCreate(&to->shared, to->shared.precision, &to->C));
    PetscCall(MuonArrayCreate(&to->shared, to->shared.precision, &to->sent));
    PetscCall(MuonLocalMakeLayer_Private(muon, layer, ".control", &to->C, &to->sent, &to->control));
    PetscCall(MuonParametersAssign((PetscObject)to->control, "weight_decay", 0));
  }
  if (to->control == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonArrayZero(&to->C));
  PetscCall(MuonLayerSetType(to->control, controls ? MUONLAYERSGD : MUONLAYERFROZEN));
  to->control->ops->step      = MuonLocalStep_Control;
  to->control->workermomentum = PETSC_FALSE;
  to->control->why[0]         = '\0';
  /*
     A type that may start from gradients keeps estimates of the C_j, whose mean is C; the layer's optimizer decides whether they are
     compressed. Other types would compress the C_j without feedback, and send them uncompressed
  */
  PetscCall(PetscObjectQueryFunction((PetscObject)local->outer, "MuonStartsFromGradients_C", &starts));
  to->control->inner = starts != NULL ? layer : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A round begins: the weights that the program has are those of all */
static PetscErrorCode MuonLocalShare_Private(Muon muon)
{
  const Muon_Local *local = (const Muon_Local *)muon->data;
  MuonArray         own;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscCall(MuonLayerGetWeightsMemory(muon->layer[l], PETSC_FALSE, &own));
    MuonArrayAxpby(1, &own, 0, &local->layer[l].shared);
    if (local->layer[l].start.data != NULL) MuonArrayAxpby(1, &own, 0, &local->layer[l].start);
    PetscCall(MuonLayerRestoreWeightsMemory(muon->layer[l], PETSC_FALSE, &own));
  }
  PetscCall(MuonWeightsChanged(local->outer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonConfigure_Local(Muon muon)
{
  Muon_Local *local = (Muon_Local *)muon->data;
  Muon        outer = local->outer;

  PetscFunctionBegin;
  PetscCheck(muon->clip == 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_clip %g: with -%smuon_type %s no rank has the mean gradient that would be clipped, expected 0", MuonPrefix(muon), (double)muon->clip, MuonPrefix(muon),
             MUONLOCAL);
  PetscCheck(!local->control || MuonRoundsDepth(outer) == 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%slocal_control with -%smuon_delay 1: C would be of a round before that of the C_j, expected one of both", MuonPrefix(muon),
             MuonPrefix(outer));
  PetscCheck(!local->control || outer->clip == 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%slocal_control with -%smuon_clip %g: control variates are no gradients that could be clipped, expected 0", MuonPrefix(muon), MuonPrefix(outer),
             (double)outer->clip);
  PetscCall(PetscRealloc((size_t)muon->nlayers * sizeof(*local->layer), &local->layer));
  for (; local->nlayers < muon->nlayers; local->nlayers++) PetscCall(MuonLocalAddLayer_Private(muon, local->nlayers));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLocalLayer *to = &local->layer[l];

    PetscCall(MuonLayerSetType(to->outer, muon->layer[l]->frozen ? MUONLAYERFROZEN : MUONLAYERSGD));
    to->outer->why[0]         = '\0';
    to->outer->workermomentum = PETSC_TRUE; /* that of the outer optimizer */
    PetscCall(MuonArrayDestroy(&to->start));
    if (MuonRoundsDepth(outer) > 1) PetscCall(MuonArrayCreate(&to->shared, to->shared.precision, &to->start));
    PetscCall(MuonLocalSetControl_Private(muon, l));
  }
  PetscCall(MuonSetWorkerWeight(outer, muon->worker_weight));
  PetscCall(MuonParametersChoose((PetscObject)outer, "node_size", (double)muon->ports.node_size));
  PetscCall(MuonLocalSetPhases_Private(muon));
  PetscCall(MuonLocalShare_Private(muon));
  PetscCall(MuonSetUp(outer));
  for (PetscInt p = 0; p < outer->nshards; p++) {
    const MuonShard *shard = &outer->shard[p];

    PetscCheck(shard->layer->inner != NULL || shard->up->assignment, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
               "Layer \"%s\": -%slocal_control: what -%smuon_type %s compresses is no estimate of a control variate, expected -%s%s_compressor_layers lmo", shard->name, MuonPrefix(muon), MuonPrefix(outer), ((PetscObject)outer)->type_name,
               MuonPrefix(outer), ((PetscObject)outer)->type_name);
  }
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonShard      *shard = MuonShardOf(muon->layer[l]);
    MuonLocalShard *mine;

    if (MuonLocalControls_Private(local, l) == PETSC_FALSE) continue;
    PetscCall(PetscNew(&mine));
    shard->data = mine;
    mine->layer = &local->layer[l];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWeightsChanged_Local(Muon muon)
{
  PetscFunctionBegin;
  ((Muon_Local *)muon->data)->changed = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonGetRoundSteps_Local(Muon muon, PetscInt *steps)
{
  PetscFunctionBegin;
  *steps = ((Muon_Local *)muon->data)->steps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonBegin_Local(Muon muon, MuonRecord *record)
{
  Muon_Local *local = (Muon_Local *)muon->data;

  PetscFunctionBegin;
  PetscCheck(local->steps >= local->phases, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%slocal_steps %" PetscInt_FMT ": -%slocal_stagger has spread layers over %" PetscInt_FMT " steps at MuonSetUp(), expected at least as many",
             MuonPrefix(muon), local->steps, MuonPrefix(muon), local->phases);
  if (muon->step == 0 && local->changed == PETSC_FALSE) PetscCall(MuonWeightsChanged(muon)); /* compares them while they are those of the program */
  if (local->changed) PetscCall(MuonLocalShare_Private(muon));
  local->changed              = PETSC_FALSE;
  local->outer->rounds->phase = PETSC_DETERMINE; /* all rest until a phase ends its round */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the round of a layer ends with this step */
static PetscBool MuonLocalEnds_Private(Muon muon, const MuonLocalLayer *layer)
{
  const Muon_Local *local = (const Muon_Local *)muon->data;

  return layer->outer->frozen == PETSC_FALSE && MuonLocalStepOf_Private(local, layer->outer->phase) == muon->step % local->steps ? PETSC_TRUE : PETSC_FALSE;
}

/* The input of the LMO is M_j - C_j + C. Its input without control variates becomes C_j at the end of a round */
static PetscErrorCode MuonInput_Local(Muon muon, MuonShard *shard, MuonArray *input)
{
  const MuonLocalShard *mine = (const MuonLocalShard *)shard->data;
  MuonArray             seen, C, sent;

  PetscFunctionBegin;
  if (mine == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  C    = MuonShardPart(shard, &mine->layer->C);
  sent = MuonShardPart(shard, &mine->layer->sent);
  if (MuonLocalEnds_Private(muon, mine->layer)) MuonArrayAxpby(-1, input, 0, &sent);
  PetscCall(MuonWorkspaceGetArray(muon->work, input, input->precision, &seen));
  MuonArrayAxpby(1, &C, 0, &seen);
  MuonArrayAxpby(-1, &mine->own, 1, &seen);
  MuonArrayAxpby(1, input, 1, &seen);
  *input = seen;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The displacement W - W_j (the pseudo-gradient) is the outer optimizer's gradient; it includes the last step of the round, which is computed here before it is committed */
static PetscErrorCode MuonLocalSetGradient_Private(Muon muon, PetscInt l)
{
  const MuonLocalLayer *layer = &((const Muon_Local *)muon->data)->layer[l];
  MuonShard            *shard = MuonShardOf(muon->layer[l]);
  MuonLayerStepInfo     info  = shard->round->info;
  MuonArray             own, G = layer->shared;
  MuonLayerArray        gradient;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientArray(layer->outer, &gradient));
  G.data = gradient.w;
  G.ld   = (size_t)gradient.ld << G.pairs;
  PetscCall(MuonLayerGetWeightsMemory(muon->layer[l], PETSC_FALSE, &own));
  MuonArrayAxpby(1, &own, 0, &G);
  PetscCall(MuonLayerRestoreWeightsMemory(muon->layer[l], PETSC_FALSE, &own));
  if (MuonPortServes(shard->port)) PetscCall(MuonShardMove_Private(muon, shard, &info, &G));
  PetscCall(MuonPortGather_Private(shard->port, &G));
  MuonArrayAxpby(1, layer->start.data != NULL ? &layer->start : &layer->shared, -1, &G);
  if (MuonLocalControls_Private((const Muon_Local *)muon->data, l)) PetscCall(MuonPortGather_Private(shard->port, &layer->sent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What can fail comes before this worker's own step is taken */
static PetscErrorCode MuonCommitting_Local(Muon muon, PetscBool *ok)
{
  Muon_Local *local = (Muon_Local *)muon->data;
  Muon        outer = local->outer;
  PetscInt64  skipped;
  PetscInt    ends = 0; /* the phase whose round this step ends */

  PetscFunctionBegin;
  while (ends < local->phases && MuonLocalStepOf_Private(local, ends) != muon->step % local->steps) ends++;
  if (ends == local->phases) PetscFunctionReturn(PETSC_SUCCESS);
  outer->rounds->phase = ends;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    if (MuonLocalEnds_Private(muon, &local->layer[l])) PetscCall(MuonLocalSetGradient_Private(muon, l));
  }
  PetscCall(MuonSetStepNumber(outer, muon->step / local->steps)); /* after a restart, too */
  skipped = outer->nancount;
  PetscCall(MuonStep(outer));
  muon->bytes[0] += outer->traffic.mpi;
  muon->bytes[1] += outer->traffic.own;
  PetscCall(PetscArraycpy(muon->mean, outer->mean, 2));
  for (PetscInt k = 0; k < 3; k++) {
    muon->traffic.up[k]   = outer->traffic.up[k];
    muon->traffic.down[k] = outer->traffic.down[k];
  }
  if (outer->reason < 0) {
    *ok          = PETSC_FALSE;
    muon->reason = outer->reason;
    muon->failed = outer->failed;
  }
  local->moved = outer->nan != MUON_NAN_SKIP || outer->nancount == skipped ? PETSC_TRUE : PETSC_FALSE;
  if (local->moved) PetscFunctionReturn(PETSC_SUCCESS);
  muon->nancount++;
  if (local->warned == PETSC_FALSE)
    PetscCall(MuonNotice(PetscObjectComm((PetscObject)muon),
                         "PetscMuon warning: step %" PetscInt_FMT ": the outer optimizer left its step out because of NaN or Inf, and all workers go back to where their round began (-%smuon_nan skip); MuonGetNaNCount() counts it\n", muon->step,
                         MuonPrefix(outer)));
  local->warned = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEnd_Local(Muon muon, PetscBool ok)
{
  const Muon_Local *local = (const Muon_Local *)muon->data;
  MuonArray         own;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers && ok; l++) {
    MuonShard      *shard = MuonShardOf(muon->layer[l]);
    MuonLocalLayer *layer = &local->layer[l];
    MuonArray      *start = &layer->start;

    if (MuonLocalEnds_Private(muon, layer) == PETSC_FALSE) continue;
    PetscCall(MuonLayerGetWeightsMemory(muon->layer[l], PETSC_TRUE, &own));
    if (start->data != NULL) MuonArrayAxpby(-1, &own, 1, start); /* the displacement */
    MuonArrayAxpby(1, &layer->shared, 0, &own);
    if (start->data != NULL) {
      MuonArrayAxpby(-1, start, 1, &own);
      MuonArrayAxpby(1, &own, 0, start);
    }
    PetscCall(MuonLayerRestoreWeightsMemory(muon->layer[l], PETSC_TRUE, &own));
    if (shard->data == NULL || local->moved == PETSC_FALSE) continue;
    own = MuonShardPart(shard, &layer->sent);
    MuonArrayAxpby(-1, &own, 0, &((MuonLocalShard *)shard->data)->own);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonVisitState_Local(Muon muon, MuonShard *shard, MuonStateVisitor *visitor)
{
  MuonLocalLayer *layer;
  PetscInt        slot;

  PetscFunctionBegin;
  visitor->layer  = shard->name;
  visitor->holder = MUON_STATE_WORKER;
  PetscCall(MuonFindName_Private(muon, 2 * muon->maxlayers, muon->names, NULL, ((PetscObject)shard->layer)->name, &slot));
  layer = &((const Muon_Local *)muon->data)->layer[muon->names[slot] - 1];
  PetscCall(MuonStateVisitArray(visitor, "start", PETSC_TRUE, PETSC_FALSE, &layer->start));
  /* The outer optimizer's weights: counted here, and kept as these */
  PetscCall(MuonStateVisitArray(visitor, "shared", PETSC_TRUE, PETSC_TRUE, &layer->shared));
  PetscCall(MuonStateVisitArray(visitor, "control.shared", PETSC_TRUE, PETSC_TRUE, &layer->C));
  PetscCall(MuonStateVisitArray(visitor, "control.new", PETSC_TRUE, PETSC_TRUE, &layer->sent));
  if (shard->data != NULL) PetscCall(MuonShardVisitArray(shard, visitor, "control", PETSC_FALSE, &((MuonLocalShard *)shard->data)->own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetFromOptions_Local(Muon muon)
{
  Muon outer = ((Muon_Local *)muon->data)->outer;
  char prefix[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%souter_", ((PetscObject)muon)->prefix != NULL ? ((PetscObject)muon)->prefix : ""));
  PetscCall(PetscObjectSetOptions((PetscObject)outer, ((PetscObject)muon)->options));
  PetscCall(MuonSetOptionsPrefix(outer, prefix));
  PetscCall(MuonSetFromOptions(outer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonView_Local(Muon muon, PetscViewer viewer)
{
  const Muon_Local *local = (const Muon_Local *)muon->data;
  PetscBool         ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt phase = 0; phase < local->phases && local->phases > 1; phase++) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  after step %" PetscInt_FMT " of a round:", MuonLocalStepOf_Private(local, phase)));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (PetscInt l = 0; l < muon->nlayers; l++) {
      if (local->layer[l].outer->phase == phase && muon->layer[l]->frozen == PETSC_FALSE) PetscCall(PetscViewerASCIIPrintf(viewer, " %s", ((PetscObject)muon->layer[l])->name));
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "  outer optimizer, after every %" PetscInt_FMT " steps:\n", local->steps));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(MuonView(((Muon_Local *)muon->data)->outer, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonReset_Local(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    if (muon->shard[p].data != NULL) PetscCall(MuonArrayDestroy(&((MuonLocalShard *)muon->shard[p].data)->own));
    PetscCall(PetscFree(muon->shard[p].data));
  }
  PetscCall(MuonReset(((Muon_Local *)muon->data)->outer));
  ((Muon_Local *)muon->data)->warned = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_Local(Muon muon)
{
  Muon_Local *local = (Muon_Local *)muon->data;

  PetscFunctionBegin;
  PetscCall(MuonDestroy(&local->outer));
  for (PetscInt l = 0; l < local->nlayers; l++) {
    PetscCall(MuonArrayDestroy(&local->layer[l].shared));
    PetscCall(MuonArrayDestroy(&local->layer[l].start));
    PetscCall(MuonArrayDestroy(&local->layer[l].C));
    PetscCall(MuonArrayDestroy(&local->layer[l].sent));
  }
  PetscCall(PetscFree(local->layer));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonWeightsChanged_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonGetRoundSteps_C", NULL));
  muon->nested = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLocalGetOuter - Gets the outer optimizer, which updates the shared weights

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONLOCAL`

  Output Parameter:
. outer - the outer optimizer, borrowed; it takes any options, and `MuonSetUp()` creates its layers

  Level: intermediate

.seealso: `Muon`, `MUONLOCAL`
@*/
PetscErrorCode MuonLocalGetOuter(Muon muon, Muon *outer)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(outer, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)muon, MUONLOCAL, &is));
  PetscCheck(is, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "The optimizer is of type %s, expected %s", ((PetscObject)muon)->type_name != NULL ? ((PetscObject)muon)->type_name : "not set", MUONLOCAL);
  *outer = ((Muon_Local *)muon->data)->outer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONLOCAL - Local steps of each worker; an outer optimizer updates the shared weights after every few of them

  Options Database Keys:
+ -local_steps H              - steps of a round, which send nothing but their status (30)
. -local_control              - control variates, needed if the workers' data are unequal
. -local_stagger              - exchanges layers in different steps, which balances bytes
. -outer_muon_type type       - algorithm of the outer optimizer (dense|ef21|ef14|sign)
. -outer_muon_learning_rate a - its rate (0.7)
- -outer_muon_momentum mu     - its momentum, in Nesterov's form (0.6)

  Level: intermediate

  Notes:
  Each worker j begins a round at the shared weights W_j = W and takes H steps of this optimizer, with its layers'
  optimizers, its schedule and its own momentum, without communication. The displacement W - W_j (the pseudo-gradient)
  is the outer optimizer's gradient. The outer optimizer's layers have the optimizer `MUONLAYERSGD`\:
.vb
  Delta_j = W - W_j
  Delta   = mean of the Delta_j, as the messages of the outer optimizer bring it
  u becomes mu u + Delta
  W becomes W - a (mu u + Delta),   and every W_j becomes W
.ve
  The outer optimizer is a `Muon` with its own options, with the prefix outer_\: compressors
  (`-outer_ef21_compressor`), exchanges, `-outer_muon_view`, monitors.

  With H = 1, a = 1 and mu = 0 a single worker takes the steps of `MUONDENSE`. MuLoCo uses H = 30, a = 0.7, mu = 0.6.
  SparseLoCo is `-outer_muon_type ef14 -outer_ef14_feedback 0.95 -outer_muon_momentum 0
  -outer_muon_learning_rate 1`.

  The mean of the workers' steps is not a step along the mean of their momenta. If their data are unequal, it may be 0
  while the mean gradient is large. Local steps then stop making progress, for every H, momentum, outer optimizer and
  compressor. With `-local_control` (FedMuon) all workers take their steps approximately along the mean momentum\:
.vb
  each step\:    the layer's optimizer gets M_j - C_j + C in place of M_j (or of its input with a Nesterov term)
  last step\:    C_j becomes M_j
  then\:         C becomes the mean of the C_j
.ve
  C_j belongs to the worker, C is shared. Both begin at 0, so that the first round does not use them. C is stored as the weights
  of a second layer of the outer optimizer, called NAME.control, with that optimizer's exchange, downlink and compressors. With
  `MUONEF21` the difference between C_j and the server's estimate of it is compressed, and C is the mean of the estimates.
  `MUONEF14` has no estimates and sends the C_j uncompressed. Layers whose optimizer has its own moments, as AdamW, do not use
  control variates. A round sends twice as much of a layer. A layer takes three more matrices, and the outer optimizer's state for
  one more. `-outer_muon_delay 1` and `-outer_muon_clip` are errors.

  Between the exchanges each worker has its own weights, and `MuonGetLoss()` gives the mean of the workers' losses at
  these. The exchange belongs to the last step of a round. If it diverges, the shared weights do not change. A worker
  may be several ranks\: layers of parallel matrices take their steps with the whole gradient of the worker. The outer
  optimizer needs one more copy of the weights and one more gradient.

  With `-local_stagger` the layers form min(H, number of layers) parts with about the same number of bytes, largest layers first. The exchanges of
  the parts are spread evenly over the H steps of a round; the last part follows the last step. Each layer is exchanged once in H steps, and its
  round lasts from exchange to exchange. `MuonView()` prints the step of each layer's exchange, and the monitor prints the number of exchanged
  layers. At the end of a run only the last part has shared weights; the layers of `MuonLocalGetOuter()` have all of them. `-outer_muon_delay 1`
  and `-outer_ef21_init gradient` are errors.

  With `-outer_muon_delay 1` the messages of a round travel during the next one (`MuonProgress()`). Worker j began the
  round at S_j. The gradient of round r is d_j = S_j - W_j. The worker continues at W_j = W - d_j, the next S_j, where
  W are the shared weights after round r - 1.

  With `-muon_node_size` the ranks of a node take their steps together. The outer optimizer has the same nodes unless
  its own option says otherwise.

  A run may be saved and continued in the middle of a round. On another number of workers each worker gets the
  mean of the workers' weights.

  If the program changes weights between two steps, the change becomes part of the displacement. `MuonWeightsChanged()`
  makes weights that are equal on all workers the shared ones. In the middle of a round it is an error if they differ.

  Every worker keeps its own momentum, for any `-muon_momentum_at`, and may use a Nesterov term, because it is its own
  server. `-muon_clip` is an error, because it needs the mean gradient.

  References:
+ * - B. Therien, X. Huang, I. Rish, E. Belilovsky, MuLoCo\: Muon is a practical inner optimizer for DiLoCo, arXiv\:2505.23725, 2025
. * - FedMuon, local steps on unequal data with control variates, arXiv\:2509.26337, 2025
- * - A. Sarfi, B. Therien, J. Lidin, E. Belilovsky, Communication efficient LLM pre-training with SparseLoCo, arXiv\:2508.15706, 2025

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MuonLocalGetOuter()`, `MuonProgress()`, `MUONDENSE`, `MUONEF21`, `MUONEF14`
M*/
static PetscErrorCode MuonCreate_Local(Muon muon)
{
  Muon_Local *local;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(MuonMeet_Private(muon, MUON_CALL_RESET, 0, &same, NULL)); /* the outer optimizer duplicates the communicator */
  PetscCall(PetscNew(&local));
  muon->data             = local;
  muon->ops->momentum_at = MUON_MOMENTUM_AT_SERVER;
  PetscCall(MuonCreate(PetscObjectComm((PetscObject)muon), &local->outer));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)local->outer, (PetscObject)muon, 1));
  PetscCall(MuonSetType(local->outer, MUONDENSE));
  PetscCall(MuonSetLearningRate(local->outer, (PetscReal)0.7));
  PetscCall(MuonSetMomentum(local->outer, (PetscReal)0.6, MUON_MOMENTUM_SGD, MUON_NESTEROV_SGD));
  PetscCall(MuonSetParameter(local->outer, "muon_momentum_at", "server"));
  muon->nested              = local->outer;
  muon->ops->configure      = MuonConfigure_Local;
  muon->ops->visitstate     = MuonVisitState_Local;
  muon->ops->setfromoptions = MuonSetFromOptions_Local;
  muon->ops->view           = MuonView_Local;
  muon->ops->reset          = MuonReset_Local;
  muon->ops->destroy        = MuonDestroy_Local;
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonWeightsChanged_C", MuonWeightsChanged_Local));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonGetRoundSteps_C", MuonGetRoundSteps_Local));
  PetscCall(PetscCitationsRegister(MuonCitationLocal, &MuonCitationLocalSet));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode MuonRegister_Local(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.begin      = MuonBegin_Local;
  ops.input      = MuonInput_Local;
  ops.committing = MuonCommitting_Local;
  ops.end        = MuonEnd_Local;
  PetscCall(MuonRegister(MUONLOCAL, MuonCreate_Local, MuonLocalParameters));
  PetscCall(MuonAddonRegister(MUONLOCAL, &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
