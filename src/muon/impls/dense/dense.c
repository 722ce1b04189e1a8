#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/
#include <petscmuon/private/muoncompressorimpl.h>

/* State of one layer; a matrix that the configuration does not need is NULL */
typedef struct {
  MuonCompressor up, down; /* identity: messages are the matrices */
  Mat            M, Mnew;  /* momentum, of this worker or of the layer's server, and what it becomes at the commit */
  Mat            sum;      /* server: sum of the workers' arrays, where no messages are summed */
  Mat            Xnew;     /* server: new weights, where they are applied without a message */
  PetscBool      serves;
} DenseLayer;

typedef struct {
  PetscInt         n;
  DenseLayer      *layer; /* as muon->active */
  MuonExchangeMode mode;
  PetscBool        atworker;
  PetscBool        direct; /* every rank computes the new weights of every layer: no message down */
} Muon_Dense;

static PetscErrorCode MuonReset_Dense(Muon muon)
{
  Muon_Dense *dense = (Muon_Dense *)muon->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < dense->n; i++) {
    DenseLayer *s = &dense->layer[i];

    PetscCall(MuonCompressorDestroy(&s->up));
    PetscCall(MuonCompressorDestroy(&s->down));
    PetscCall(MatDestroy(&s->M));
    PetscCall(MatDestroy(&s->Mnew));
    PetscCall(MatDestroy(&s->sum));
    PetscCall(MatDestroy(&s->Xnew));
  }
  PetscCall(PetscFree(dense->layer));
  dense->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseCreateIdentity_Private(Muon muon, MuonLayer layer, PetscInt sender, PetscInt direction, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, MUONCOMPRESSORIDENTITY));
  PetscCall(MuonCompressorSetWorkspace(*c, muon->work));
  PetscCall(MuonCompressorSetStream(*c, muon->seed, ((PetscObject)layer)->name, sender, direction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonConfigure_Dense(Muon muon)
{
  Muon_Dense *dense = (Muon_Dense *)muon->data;
  MPI_Comm    comm  = PetscObjectComm((PetscObject)muon);

  PetscFunctionBegin;
  if (muon->momentum_at == PETSC_DETERMINE) muon->momentum_at = (PetscInt)MUON_MOMENTUM_AT_SERVER;
  dense->atworker = muon->momentum_at == (PetscInt)MUON_MOMENTUM_AT_WORKER ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(dense->atworker == PETSC_FALSE || muon->nesterov == MUON_NESTEROV_NONE, comm, PETSC_ERR_SUP, "-muon_nesterov %s needs -muon_momentum_at server, got worker", MuonNesterovTypes[muon->nesterov]);
  PetscCheck(muon->nesterov != MUON_NESTEROV_SGD || muon->momentum_style == MUON_MOMENTUM_SGD, comm, PETSC_ERR_ARG_INCOMP, "-muon_nesterov sgd needs -muon_momentum_style sgd, got ema");
  PetscCheck((muon->nesterov != MUON_NESTEROV_EMA && muon->nesterov != MUON_NESTEROV_UNDAMPED) || muon->momentum_style == MUON_MOMENTUM_EMA, comm, PETSC_ERR_ARG_INCOMP, "-muon_nesterov %s needs -muon_momentum_style ema, got sgd",
             MuonNesterovTypes[muon->nesterov]);
  PetscCall(MuonReset_Dense(muon));
  dense->n = muon->nactive;
  PetscCall(PetscCalloc1(dense->n, &dense->layer));
  for (PetscInt i = 0; i < dense->n; i++) {
    PetscCall(DenseCreateIdentity_Private(muon, muon->active[i], muon->rank, 0, &dense->layer[i].up));
    PetscCall(DenseCreateIdentity_Private(muon, muon->active[i], 0, 1, &dense->layer[i].down));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetUp_Dense(Muon muon)
{
  Muon_Dense *dense = (Muon_Dense *)muon->data;

  PetscFunctionBegin;
  dense->direct = PETSC_TRUE;
  for (PetscInt i = 0; i < dense->n; i++) {
    if (muon->active[i]->owner >= 0) dense->direct = PETSC_FALSE;
  }
  PetscCall(MuonExchangeResolveMode(muon->exchange, PETSC_TRUE, "-muon_type dense", &dense->mode));
  for (PetscInt i = 0; i < dense->n; i++) {
    DenseLayer *s     = &dense->layer[i];
    MuonLayer   layer = muon->active[i];
    PetscReal   previous, fresh;

    PetscCall(MuonExchangeServes(muon->exchange, i, &s->serves));
    PetscCall(MuonGetMomentumWeights_Private(muon, layer, &previous, &fresh));
    if (previous != 0 && (dense->atworker || s->serves)) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_TRUE, &s->M));
    if (s->serves == PETSC_FALSE) continue;
    if (s->M != NULL && dense->atworker == PETSC_FALSE) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_FALSE, &s->Mnew));
    if (dense->mode != MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_FALSE, &s->sum));
    if (dense->direct) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_FALSE, &s->Xnew));
    layer->X = layer->W;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Server: what the oracle sees of the mean gradient G, in G; the new momentum goes to Mnew */
static PetscErrorCode DenseServerMomentum_Private(Muon muon, PetscInt i, Mat G)
{
  Muon_Dense *dense = (Muon_Dense *)muon->data;
  DenseLayer *s     = &dense->layer[i];
  PetscReal   previous, fresh;

  PetscFunctionBegin;
  if (dense->atworker) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetMomentumWeights_Private(muon, muon->active[i], &previous, &fresh));
  if (s->M == NULL) {
    /* With a Nesterov term the oracle sees the gradient itself and mu = 0 times the momentum */
    if (fresh != 1 && muon->nesterov == MUON_NESTEROV_NONE) PetscCall(MatScale(G, fresh));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MuonMatAxpby_Private(fresh, G, 0, s->Mnew));
  PetscCall(MuonMatAxpby_Private(previous, s->M, 1, s->Mnew));
  if (muon->nesterov == MUON_NESTEROV_NONE) PetscCall(MuonMatAxpby_Private(1, s->Mnew, 0, G));
  else PetscCall(MuonMatAxpby_Private(previous, s->Mnew, muon->nesterov == MUON_NESTEROV_EMA ? 1 - previous : 1, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Server: mean, momentum, step inside the norm ball, new weights of each layer that this rank serves */
static PetscErrorCode DenseServe_Private(Muon muon, MuonRecord *record, MuonStatus *status)
{
  Muon_Dense     *dense = (Muon_Dense *)muon->data;
  const PetscInt *order;

  PetscFunctionBegin;
  if (dense->direct == PETSC_FALSE) PetscCall(MuonExchangeDownBegin(muon->exchange, (PetscInt64)muon->step));
  PetscCall(MuonExchangeGetOrder(muon->exchange, &order));
  for (PetscInt k = 0; k < dense->n && *status == MUON_STATUS_OK; k++) {
    const PetscInt i     = order[k];
    DenseLayer    *s     = &dense->layer[i];
    MuonLayer      layer = muon->active[i];
    Mat            W, G = s->sum, Xnew = s->Xnew;

    if (s->serves == PETSC_FALSE) continue;
    if (G == NULL) PetscCall(MuonScratchMatCreate_Private(muon, MUON_WORK_STEP_A, layer, &G));
    if (Xnew == NULL) PetscCall(MuonScratchMatCreate_Private(muon, MUON_WORK_STEP_B, layer, &Xnew));
    if (dense->mode == MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonSumMessages_Private(muon, i, s->up, G, status));
    PetscCall(PetscLogEventBegin(MUON_Aggregate, muon, 0, 0, 0));
    if (muon->size > 1) PetscCall(MatScale(G, 1 / (PetscReal)muon->size));
    PetscCall(DenseServerMomentum_Private(muon, i, G));
    PetscCall(PetscLogEventEnd(MUON_Aggregate, muon, 0, 0, 0));
    PetscCall(MuonLayerWeightsBegin_Private(layer, &W));
    if (*status == MUON_STATUS_OK) PetscCall(MuonServerStep_Private(muon, i, G, W, Xnew, record, status));
    if (*status == MUON_STATUS_OK && dense->direct) PetscCall(MuonHashReplica_Private(Xnew, record));
    else if (*status == MUON_STATUS_OK) PetscCall(MuonSendDown_Private(muon, i, s->down, Xnew, NULL, record, status));
    PetscCall(MuonLayerWeightsEnd_Private(layer, PETSC_FALSE));
    if (s->sum == NULL) PetscCall(MatDestroy(&G));
    if (s->Xnew == NULL) PetscCall(MatDestroy(&Xnew));
  }
  if (dense->direct == PETSC_FALSE) PetscCall(MuonExchangeDown(muon->exchange, *status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DenseCommit_Private(Muon muon)
{
  Muon_Dense *dense = (Muon_Dense *)muon->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < dense->n; i++) {
    DenseLayer *s     = &dense->layer[i];
    MuonLayer   layer = muon->active[i];
    Mat         W;

    if (s->M != NULL && dense->atworker) PetscCall(MuonMatAxpby_Private(1, layer->gradient, 0, s->M));
    else if (s->M != NULL) {
      Mat swap = s->M;

      s->M    = s->Mnew;
      s->Mnew = swap;
    }
    PetscCall(MuonLayerWeightsBegin_Private(layer, &W));
    if (dense->direct) PetscCall(MuonMatAxpby_Private(1, s->Xnew, 0, W));
    else PetscCall(MuonDecodeDown_Private(muon, i, s->down, PETSC_TRUE, W));
    PetscCall(MuonLayerWeightsEnd_Private(layer, PETSC_TRUE));
    if (s->serves) PetscCall(MuonLayerCommit_Private(layer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonStep_Dense(Muon muon, MuonRecord *record)
{
  Muon_Dense     *dense  = (Muon_Dense *)muon->data;
  MuonStatus      status = PetscIsInfOrNanReal((PetscReal)record->loss) ? MUON_STATUS_NANORINF : MUON_STATUS_OK;
  PetscBool       ok;
  Mat            *M, *sum;
  MuonCompressor *up, *down;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(dense->n, &M, dense->n, &sum, dense->n, &up, dense->n, &down));
  for (PetscInt i = 0; i < dense->n; i++) {
    M[i]    = dense->layer[i].M;
    sum[i]  = dense->layer[i].sum;
    up[i]   = dense->layer[i].up;
    down[i] = dense->layer[i].down;
  }
  PetscCall(MuonWorkerMomentum_Private(muon, M, dense->atworker ? PETSC_FALSE : PETSC_TRUE, record, &status));
  PetscCall(MuonSendUp_Private(muon, dense->mode, up, NULL, sum, &status));
  PetscCall(DenseServe_Private(muon, record, &status));
  if (dense->direct == PETSC_FALSE) PetscCall(MuonReceiveDown_Private(muon, down, &status));
  PetscCall(PetscFree4(M, sum, up, down));
  record->status = (double)status;
  record->up     = muon->traffic.up[1];
  record->down   = muon->traffic.down[1];
  PetscCall(MuonAgree_Private(muon, record, &ok));
  if (ok) PetscCall(DenseCommit_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonGetMemory_Dense(Muon muon, PetscLogDouble *worker, PetscLogDouble *server)
{
  Muon_Dense *dense = (Muon_Dense *)muon->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < dense->n; i++) {
    const DenseLayer    *s     = &dense->layer[i];
    const PetscLogDouble bytes = (PetscLogDouble)sizeof(PetscScalar) * (PetscLogDouble)muon->active[i]->m * (PetscLogDouble)muon->active[i]->n;

    if (s->M != NULL && dense->atworker) *worker += bytes;
    if (s->M != NULL && dense->atworker == PETSC_FALSE) *server += bytes;
    *server += bytes * ((s->Mnew != NULL) + (s->sum != NULL) + (s->Xnew != NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_Dense(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonReset_Dense(muon));
  PetscCall(PetscFree(muon->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONDENSE - Muon without compression: mean gradient, momentum, a step inside a norm ball

  Level: beginner

  Notes:
  In step s, with g the mean of the workers' gradients at W, mu the weight of the old momentum and t^s = learning rate x schedule x scale x shape factor\:
.vb
  M becomes mu M + (1-mu) g           or in the style sgd, mu M + (1-dampening) g
  U      =  M                         or with a Nesterov term of g
  W becomes (1 - rate decay) W + t^s D,   D the point of the unit ball where <U,D> is least
.ve
  The momentum lives where the layer is served. How gradients come together and weights go out is the choice of the `MuonExchange`\: `MUONEXCHANGEREPLICATED` with sums is the plain data-parallel Muon,
  `MUONEXCHANGESHARDED` the one with an owner for each layer.

  Keller Jordan's Muon is `-muon_momentum 0.95 -muon_nesterov ema -muon_shape_factor kj`.

  References:
. * - K. Jordan, Y. Jin, V. Boza, J. You, F. Cesista, L. Newhouse, J. Bernstein, Muon\: An optimizer for hidden layers in neural networks, 2024

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONEF21`, `MuonSetMomentum()`, `MuonSetNesterov()`, `MuonSetShapeFactor()`, `MuonExchange`
M*/
PETSC_EXTERN PetscErrorCode MuonCreate_Dense(Muon muon)
{
  Muon_Dense *dense;

  PetscFunctionBegin;
  PetscCall(PetscNew(&dense));
  muon->data           = dense;
  muon->ops->configure = MuonConfigure_Dense;
  muon->ops->setup     = MuonSetUp_Dense;
  muon->ops->step      = MuonStep_Dense;
  muon->ops->getmemory = MuonGetMemory_Dense;
  muon->ops->reset     = MuonReset_Dense;
  muon->ops->destroy   = MuonDestroy_Dense;
  PetscFunctionReturn(PETSC_SUCCESS);
}
