#include "ef21compression.h" /*I "petscmuon.h" I*/

const char *const MuonEF21Inits[] = {"zero", "gradient", "MuonEF21Init", "MUON_EF21_INIT_", NULL};

/* State of one layer; a matrix that the configuration does not need is NULL */
typedef struct {
  MuonCompressor up, down;                        /* C_j of this rank as a worker, C of the layer's server */
  MuonCompressor first;                           /* sends the first gradient whole */
  PetscBool      up_assigns, down_assigns, sharp; /* sharp: the server sends the step itself */
  Mat            M;                               /* worker: momentum; NULL where its weight is 0 */
  Mat            Gj;                              /* worker: estimate of its momentum; NULL where messages are the momentum itself */
  Mat            X, Xnew;                         /* server: weights and what they become at the commit; X is NULL where the workers' W are the same */
  Mat            G, Gnew;                         /* server: aggregate and what it becomes; G is NULL where each step sums it afresh */
  PetscBool      serves;
} EF21Layer;

typedef struct {
  MuonCompressor   up, down; /* what the options say of all layers */
  MuonEF21Init     init;
  PetscInt         n;
  EF21Layer       *layer; /* as muon->active */
  MuonExchangeMode mode;
  PetscBool        started; /* a step was committed */
  PetscBool        direct;  /* every rank computes the new weights of every layer: no message down */
  EF21Meter        meter;
} Muon_EF21;

static PetscErrorCode MuonEF21CreateCompressor_Private(Muon muon, const char family[], MuonCompressor *c)
{
  char prefix[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*c, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)*c, ((PetscObject)muon)->options));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s%s", ((PetscObject)muon)->prefix ? ((PetscObject)muon)->prefix : "", family));
  PetscCall(MuonCompressorSetOptionsPrefix(*c, prefix));
  PetscCall(MuonCompressorSetWorkspace(*c, muon->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layer's compressor begins as the one for all layers and then reads the layer's own keys */
static PetscErrorCode MuonEF21CreateLayerCompressor_Private(Muon muon, MuonLayer layer, MuonCompressor all, const char family[], PetscInt sender, PetscInt direction, MuonCompressor *c)
{
  const PetscInt *rows, *columns;
  PetscInt        nrows, ncolumns;
  PetscBool       own, same;
  MuonLMO         lmo;
  char            before[PETSC_MAX_OPTION_NAME], prefix[PETSC_MAX_OPTION_NAME], shared[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(MuonEF21CreateCompressor_Private(muon, family, c));
  PetscCall(MuonCompressorCopyOptions_Private(all, *c));
  if (muon->setfromoptionscalled) {
    /* The keys for all layers were read by the one for all, whatever its type was then. Those of a solver of singular values, which is not copied, are read here; what was set after MuonSetFromOptions() stays */
    PetscCall(MuonCompressorTypeSetFromOptions_Private(*c));
    PetscCall(MuonCompressorCopyOptions_Private(all, *c));
    PetscCall(MuonLayerHasOwnOptions_Private(layer, &own));
    if (own) {
      PetscCall(MuonLayerGetOwnPrefix_Private(layer, sizeof(before), before));
      PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s%s", before, family));
      PetscCall(MuonCompressorSetOptionsPrefix(*c, prefix));
      PetscCall(MuonCompressorSetFromOptions(*c));
      PetscCall(PetscObjectTypeCompare((PetscObject)*c, ((PetscObject)all)->type_name, &same));
      if (same == PETSC_FALSE) {
        /* Of a type that is the layer's alone nobody has read the keys for all layers */
        PetscCall(PetscSNPrintf(shared, sizeof(shared), "%s%s", ((PetscObject)muon)->prefix ? ((PetscObject)muon)->prefix : "", family));
        PetscCall(MuonCompressorSetOptionsPrefix(*c, shared));
        PetscCall(MuonCompressorTypeSetFromOptions_Private(*c));
        PetscCall(MuonCompressorSetOptionsPrefix(*c, prefix));
        PetscCall(MuonCompressorSetFromOptions(*c));
      }
    }
  }
  PetscCall(MuonCompressorSetStream(*c, muon->seed, ((PetscObject)layer)->name, sender, direction));
  PetscCall(MuonLayerGetBlocks(layer, &nrows, &rows, &ncolumns, &columns));
  PetscCall(MuonCompressorSetBlocks(*c, nrows, rows, ncolumns, columns));
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonCompressorSharpSetLMO(*c, lmo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonReset_EF21(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < ef21->n; i++) {
    EF21Layer *s = &ef21->layer[i];

    PetscCall(MuonCompressorDestroy(&s->up));
    PetscCall(MuonCompressorDestroy(&s->down));
    PetscCall(MuonCompressorDestroy(&s->first));
    PetscCall(MatDestroy(&s->M));
    PetscCall(MatDestroy(&s->Gj));
    PetscCall(MatDestroy(&s->X));
    PetscCall(MatDestroy(&s->Xnew));
    PetscCall(MatDestroy(&s->G));
    PetscCall(MatDestroy(&s->Gnew));
  }
  PetscCall(PetscFree(ef21->layer));
  PetscCall(EF21MeterDestroy_Private(&ef21->meter));
  ef21->n       = 0;
  ef21->started = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonConfigure_EF21(Muon muon)
{
  Muon_EF21     *ef21      = (Muon_EF21 *)muon->data;
  PetscLogDouble entries   = 1;
  PetscInt       indexbits = 0, bits;

  PetscFunctionBegin;
  PetscCheck(muon->nesterov == MUON_NESTEROV_NONE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-muon_nesterov %s: -muon_type ef21 has no Nesterov term, expected none", MuonNesterovTypes[muon->nesterov]);
  PetscCheck(muon->momentum_at != (PetscInt)MUON_MOMENTUM_AT_SERVER, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-muon_momentum_at server: -muon_type ef21 keeps one momentum a worker, expected worker");
  muon->momentum_at = (PetscInt)MUON_MOMENTUM_AT_WORKER;
  PetscCall(MuonReset_EF21(muon));
  ef21->n = muon->nactive;
  PetscCall(PetscCalloc1(ef21->n, &ef21->layer));
  PetscCall(EF21MeterCreate_Private(&ef21->meter, ef21->n));
  /* The paper charges every index what the largest matrix needs; blocks are matrices of their own */
  for (PetscInt i = 0; i < ef21->n; i++) {
    for (PetscInt b = 0; b < MuonBlocksCount_Private(&muon->active[i]->blocks); b++) {
      MuonBlock block;

      PetscCall(MuonLayerGetBlock_Private(muon->active[i], b, &block));
      entries = PetscMax(entries, (PetscLogDouble)block.m * (PetscLogDouble)block.n);
    }
  }
  while (entries > 1) {
    entries /= 2;
    indexbits++;
  }
  for (PetscInt i = 0; i < ef21->n; i++) {
    EF21Layer *s     = &ef21->layer[i];
    MuonLayer  layer = muon->active[i];

    PetscCall(MuonEF21CreateLayerCompressor_Private(muon, layer, ef21->up, "ef21_", muon->rank, 0, &s->up));
    /* One stream a layer, whoever serves it: the weights do not depend on the owners */
    PetscCall(MuonEF21CreateLayerCompressor_Private(muon, layer, ef21->down, "ef21_server_", 0, 1, &s->down));
    PetscCall(MuonCompressorGetPaperIndexBits(s->up, &bits));
    if (bits == PETSC_DETERMINE) PetscCall(MuonCompressorSetPaperIndexBits(s->up, indexbits));
    PetscCall(MuonCompressorGetPaperIndexBits(s->down, &bits));
    PetscCall(PetscObjectTypeCompare((PetscObject)s->down, MUONCOMPRESSORSHARP, &s->sharp));
    if (bits == PETSC_DETERMINE) PetscCall(MuonCompressorSetPaperIndexBits(s->down, indexbits));
    PetscCall(MuonCompressorIsAssignment(s->up, &s->up_assigns));
    PetscCall(MuonCompressorIsAssignment(s->down, &s->down_assigns));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the servers can send the steps that are asked for: the same answer on all ranks, whose layers are the same */
static PetscErrorCode EF21CheckSharp_Private(Muon muon)
{
  Muon_EF21  *ef21   = (Muon_EF21 *)muon->data;
  const char *before = ((PetscObject)muon)->prefix ? ((PetscObject)muon)->prefix : "";
  char        reason[512];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < ef21->n; i++) {
    const char *name = ((PetscObject)muon->active[i])->name;

    if (ef21->layer[i].sharp == PETSC_FALSE) continue;
    PetscCall(MuonLayerCanEncode_Private(muon->active[i], sizeof(reason), reason));
    PetscCheck(reason[0] == '\0', PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%sef21_server_compressor sharp of layer \"%s\": %s; -%smuon_layer_%s_ef21_server_compressor identity sends its weights instead", before, name, reason, before,
               name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetUp_EF21(Muon muon)
{
  Muon_EF21 *ef21     = (Muon_EF21 *)muon->data;
  PetscBool  summable = PETSC_TRUE, assigns = PETSC_TRUE, everywhere = PETSC_TRUE;
  int        init[2], most[2];
  Mat        W;

  PetscFunctionBegin;
  init[0] = (int)ef21->init;
  init[1] = -(int)ef21->init;
  PetscCallMPI(MPI_Allreduce(init, most, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)muon)));
  PetscCheck(most[0] == -most[1], PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_INCOMP, "-ef21_init is %s on some ranks and %s on others, expected the same on each", MuonEF21Inits[-most[1]], MuonEF21Inits[most[0]]);
  PetscCall(EF21CheckSharp_Private(muon));
  for (PetscInt i = 0; i < ef21->n; i++) {
    PetscBool sharp;

    PetscCall(PetscObjectTypeCompare((PetscObject)ef21->layer[i].up, MUONCOMPRESSORSHARP, &sharp));
    PetscCheck(sharp == PETSC_FALSE, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%sef21_compressor sharp of layer \"%s\": workers send no steps, expected another type; -ef21_server_compressor may be sharp",
               ((PetscObject)muon)->prefix ? ((PetscObject)muon)->prefix : "", ((PetscObject)muon->active[i])->name);
    if (ef21->layer[i].up_assigns == PETSC_FALSE) summable = PETSC_FALSE;
    if (ef21->layer[i].down_assigns == PETSC_FALSE && ef21->layer[i].sharp == PETSC_FALSE) assigns = PETSC_FALSE;
    if (muon->active[i]->owner >= 0) everywhere = PETSC_FALSE;
  }
  ef21->direct = (assigns && everywhere) ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MuonExchangeResolveMode(muon->exchange, summable, "an -ef21_compressor other than identity", &ef21->mode));
  for (PetscInt i = 0; i < ef21->n; i++) {
    EF21Layer *s     = &ef21->layer[i];
    MuonLayer  layer = muon->active[i];
    PetscReal  previous, fresh;

    PetscCall(MuonExchangeServes(muon->exchange, i, &s->serves));
    PetscCall(MuonGetMomentumWeights_Private(muon, layer, &previous, &fresh));
    if (previous != 0) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_TRUE, &s->M));
    if (s->up_assigns == PETSC_FALSE) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_TRUE, &s->Gj));
    if (ef21->init == MUON_EF21_INIT_GRADIENT && s->up_assigns == PETSC_FALSE) {
      MuonCompressorValues values;

      PetscCall(MuonCompressorGetValues(s->up, &values));
      PetscCall(MuonEF21CreateCompressor_Private(muon, "ef21_", &s->first));
      PetscCall(MuonCompressorSetType(s->first, MUONCOMPRESSORIDENTITY));
      PetscCall(MuonCompressorIdentitySetValues_Private(s->first, values == MUON_COMPRESSOR_VALUES_DOUBLE || values == MUON_COMPRESSOR_VALUES_NATIVE ? values : MUON_COMPRESSOR_VALUES_SINGLE));
      PetscCall(MuonCompressorSetStream(s->first, muon->seed, ((PetscObject)layer)->name, muon->rank, 0));
    }
    if (s->serves == PETSC_FALSE) continue;
    /* What the next step replaces is kept until then; what it only passes on lives in shared scratch */
    if (s->up_assigns == PETSC_FALSE) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_TRUE, &s->G));
    if (s->up_assigns == PETSC_FALSE || ef21->mode != MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_FALSE, &s->Gnew));
    if (s->down_assigns == PETSC_FALSE && s->sharp == PETSC_FALSE) {
      PetscCall(MuonDenseMatCreate_Private(layer, PETSC_FALSE, &s->X));
      PetscCall(MuonLayerWeightsBegin_Private(layer, &W));
      PetscCall(MuonMatAxpby_Private(1, W, 0, s->X));
      PetscCall(MuonLayerWeightsEnd_Private(layer, PETSC_FALSE));
    }
    if (s->X != NULL || ef21->direct) PetscCall(MuonDenseMatCreate_Private(layer, PETSC_FALSE, &s->Xnew));
    layer->X = s->X != NULL ? s->X : layer->W;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWeightsChanged_EF21(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;
  Mat        W;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < ef21->n; i++) {
    if (ef21->layer[i].X == NULL) continue;
    PetscCall(MuonLayerWeightsBegin_Private(muon->active[i], &W));
    PetscCall(MuonMatAxpby_Private(1, W, 0, ef21->layer[i].X));
    PetscCall(MuonLayerWeightsEnd_Private(muon->active[i], PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which compressor the workers of a layer use in this step: the first gradient may go whole */
static MuonCompressor EF21Up(const Muon_EF21 *ef21, const EF21Layer *s)
{
  return s->first != NULL && ef21->started == PETSC_FALSE ? s->first : s->up;
}

/* Server: G + mean of the decoded messages into Gnew, where a sum of arrays already is if there are no messages */
static PetscErrorCode EF21Aggregate_Private(Muon muon, PetscInt i, Mat Gnew, MuonStatus *status)
{
  Muon_EF21      *ef21 = (Muon_EF21 *)muon->data;
  EF21Layer      *s    = &ef21->layer[i];
  const PetscReal mean = 1 / (PetscReal)muon->size;

  PetscFunctionBegin;
  /* Decoding is the compressors' phase, so that no second is counted in two */
  if (ef21->mode == MUON_EXCHANGE_MODE_GATHER) PetscCall(MuonSumMessages_Private(muon, i, EF21Up(ef21, s), Gnew, status));
  PetscCall(PetscLogEventBegin(MUON_Aggregate, muon, 0, 0, 0));
  if (s->G != NULL) PetscCall(MuonMatAxpby_Private(1, s->G, mean, Gnew));
  else if (muon->size > 1) PetscCall(MatScale(Gnew, mean));
  PetscCall(PetscLogEventEnd(MUON_Aggregate, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Server: aggregate, step inside the norm ball, C(X - W) or the step itself of each layer that this rank serves */
static PetscErrorCode EF21Serve_Private(Muon muon, MuonRecord *record, MuonStatus *status)
{
  Muon_EF21      *ef21 = (Muon_EF21 *)muon->data;
  const PetscInt *order;
  PetscBool       finite;

  PetscFunctionBegin;
  if (ef21->direct == PETSC_FALSE) PetscCall(MuonExchangeDownBegin(muon->exchange, (PetscInt64)muon->step));
  PetscCall(MuonExchangeGetOrder(muon->exchange, &order));
  for (PetscInt k = 0; k < ef21->n && *status == MUON_STATUS_OK; k++) {
    const PetscInt  i     = order[k];
    EF21Layer      *s     = &ef21->layer[i];
    MuonLayer       layer = muon->active[i];
    const PetscBool step  = s->sharp && ef21->direct == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
    Mat             W, Xnew = s->Xnew, Gnew = s->Gnew;

    if (s->serves == PETSC_FALSE) continue;
    if (Gnew == NULL) PetscCall(MuonScratchMatCreate_Private(muon, MUON_WORK_STEP_A, layer, &Gnew));
    if (Xnew == NULL && step == PETSC_FALSE) PetscCall(MuonScratchMatCreate_Private(muon, MUON_WORK_STEP_B, layer, &Xnew));
    PetscCall(MuonLayerWeightsBegin_Private(layer, &W));
    PetscCall(EF21Aggregate_Private(muon, i, Gnew, status));
    if (*status == MUON_STATUS_OK && step) PetscCall(MuonSendStep_Private(muon, i, s->down, Gnew, W, record, status));
    else if (*status == MUON_STATUS_OK) PetscCall(MuonServerStep_Private(muon, i, Gnew, s->X != NULL ? s->X : W, Xnew, record, status));
    if (*status == MUON_STATUS_OK && ef21->direct) {
      /* What goes down is checked as it is encoded; here nothing goes down */
      PetscCall(MuonMatIsFinite_Private(Xnew, &finite));
      if (finite == PETSC_FALSE) PetscCall(MuonWorse_Private(MUON_STATUS_NANORINF, status));
      PetscCall(MuonHashReplica_Private(Xnew, record));
    } else if (*status == MUON_STATUS_OK && step == PETSC_FALSE) PetscCall(MuonSendDown_Private(muon, i, s->down, Xnew, W, record, status));
    PetscCall(MuonLayerWeightsEnd_Private(layer, PETSC_FALSE));
    if (s->Gnew == NULL) PetscCall(MatDestroy(&Gnew));
    if (s->Xnew == NULL) PetscCall(MatDestroy(&Xnew));
  }
  if (ef21->direct == PETSC_FALSE) PetscCall(MuonExchangeDown(muon->exchange, *status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EF21Commit_Private(Muon muon, const MuonCompressor up[], const MuonCompressor down[])
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < ef21->n; i++) {
    EF21Layer           *s     = &ef21->layer[i];
    MuonLayer            layer = muon->active[i];
    const unsigned char *message;
    size_t               bytes;
    const PetscBool      gap = s->X != NULL && (layer->owner >= 0 || muon->rank == 0) ? PETSC_TRUE : PETSC_FALSE; /* what goes down may leave something out, and one server measures it */
    Mat                  W, swap;

    if (s->M != NULL) PetscCall(MuonMatAxpby_Private(1, layer->gradient, 0, s->M));
    if (s->Gj != NULL) {
      PetscCall(MuonExchangeUpOwn(muon->exchange, i, &bytes, &message));
      PetscCall(EF21MeterUp_Private(muon, &ef21->meter, i, PETSC_FALSE, layer->gradient, s->Gj));
      PetscCall(MuonCompressorDecodeChecked_Private(up[i], PETSC_TRUE, 1, bytes, message, s->Gj));
      PetscCall(EF21MeterUp_Private(muon, &ef21->meter, i, PETSC_TRUE, layer->gradient, s->Gj));
    }
    PetscCall(MuonCompressorCommit(up[i]));
    PetscCall(MuonLayerWeightsBegin_Private(layer, &W));
    if (gap == PETSC_TRUE) PetscCall(EF21MeterDown_Private(muon, &ef21->meter, i, PETSC_FALSE, s->Xnew, W));
    if (ef21->direct) PetscCall(MuonMatAxpby_Private(1, s->Xnew, 0, W));
    else if (s->sharp) PetscCall(MuonDecodeStep_Private(muon, i, W));
    else PetscCall(MuonDecodeDown_Private(muon, i, s->down, s->down_assigns, W));
    if (gap == PETSC_TRUE) PetscCall(EF21MeterDown_Private(muon, &ef21->meter, i, PETSC_TRUE, s->Xnew, W));
    PetscCall(MuonLayerWeightsEnd_Private(layer, PETSC_TRUE));
    if (s->serves == PETSC_FALSE) continue;
    PetscCall(MuonCompressorCommit(s->down));
    PetscCall(MuonLayerCommit_Private(layer));
    if (s->X != NULL) {
      swap    = s->X;
      s->X    = s->Xnew;
      s->Xnew = swap;
    }
    if (s->G != NULL) {
      swap    = s->G;
      s->G    = s->Gnew;
      s->Gnew = swap;
    }
    layer->X = s->X != NULL ? s->X : layer->W;
  }
  PetscCall(EF21MeterEnd_Private(muon, &ef21->meter, up, down));
  ef21->started = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonStep_EF21(Muon muon, MuonRecord *record)
{
  Muon_EF21      *ef21   = (Muon_EF21 *)muon->data;
  MuonStatus      status = PetscIsInfOrNanReal((PetscReal)record->loss) ? MUON_STATUS_NANORINF : MUON_STATUS_OK;
  const PetscBool first  = ef21->init == MUON_EF21_INIT_GRADIENT && ef21->started == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       ok;
  Mat            *M, *Gj, *sum;
  MuonCompressor *up, *down;

  PetscFunctionBegin;
  PetscCall(EF21CheckSharp_Private(muon)); /* an oracle may have been given another norm */
  PetscCall(PetscMalloc5(ef21->n, &M, ef21->n, &Gj, ef21->n, &sum, ef21->n, &up, ef21->n, &down));
  for (PetscInt i = 0; i < ef21->n; i++) {
    M[i]    = ef21->layer[i].M;
    Gj[i]   = ef21->layer[i].Gj;
    sum[i]  = ef21->layer[i].Gnew;
    up[i]   = EF21Up(ef21, &ef21->layer[i]);
    down[i] = ef21->layer[i].down;
  }
  PetscCall(MuonWorkerMomentum_Private(muon, M, first, record, &status));
  PetscCall(MuonSendUp_Private(muon, ef21->mode, up, Gj, sum, &status));
  PetscCall(EF21Serve_Private(muon, record, &status));
  if (ef21->direct == PETSC_FALSE) PetscCall(MuonReceiveDown_Private(muon, down, &status));
  /* Each worker multiplies a step that it got by what it makes of rate, schedule and decay */
  for (PetscInt i = 0; i < ef21->n && ef21->direct == PETSC_FALSE; i++) {
    if (ef21->layer[i].sharp) PetscCall(MuonHashStep_Private(muon, i, record));
  }
  PetscCall(EF21MeterBegin_Private(muon, &ef21->meter, record));
  record->status = (double)status;
  record->up     = muon->traffic.up[1];
  record->down   = muon->traffic.down[1];
  PetscCall(MuonAgree_Private(muon, record, &ok));
  if (ok) PetscCall(EF21Commit_Private(muon, up, down));
  PetscCall(PetscFree5(M, Gj, sum, up, down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetCompressor - Gets the compressor from workers to servers that all layers start from

  Not Collective; No Fortran Support

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. compressor - the compressor, borrowed

  Options Database Keys:
+ -ef21_compressor type                - one of the values of `MuonCompressorType`, not sharp
. -ef21_compressor_ratio ratio         - part that is kept, see `MuonCompressorSetRatio()`
. -ef21_compressor_rank rank           - the rank
. -ef21_compressor_bits bits           - bits of a quantized entry
. -ef21_compressor_block_length n      - entries of a block that share a scale
. -ef21_compressor_block_norm (max|l2) - the norm that is this scale
. -ef21_compressor_line_norm p         - exponent of the norm that rows or columns are chosen by
- -ef21_compressor_values values       - how values are written (native|double|single|bf16|natural)

  Level: intermediate

  Note:
  What is set here before `MuonSetUp()` holds for all layers; `-muon_layer_NAME_ef21_compressor topk` and its sub-keys speak to one.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetServerCompressor()`, `MuonEF21GetLayerCompressors()`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonEF21GetCompressor(Muon muon, MuonCompressor *compressor)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(compressor, 2);
  PetscUseMethod(muon, "MuonEF21GetCompressor_C", (Muon, MuonCompressor *), (muon, compressor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetCompressor_EF21(Muon muon, MuonCompressor *compressor)
{
  PetscFunctionBegin;
  *compressor = ((Muon_EF21 *)muon->data)->up;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetServerCompressor - Gets the compressor from servers to workers that all layers start from

  Not Collective; No Fortran Support

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. compressor - the compressor, borrowed

  Options Database Keys:
+ -ef21_server_compressor type                - one of the values of `MuonCompressorType`
. -ef21_server_compressor_ratio ratio         - part that is kept, see `MuonCompressorSetRatio()`
. -ef21_server_compressor_rank rank           - the rank
. -ef21_server_compressor_bits bits           - bits of a quantized entry
. -ef21_server_compressor_block_length n      - entries of a block that share a scale
. -ef21_server_compressor_block_norm (max|l2) - the norm that is this scale
. -ef21_server_compressor_line_norm p         - exponent of the norm that rows or columns are chosen by
- -ef21_server_compressor_values values       - how values are written (native|double|single|bf16|natural)

  Level: intermediate

  Note:
  `MUONCOMPRESSORSHARP` sends the steps themselves, see `MUONEF21`; layers without such steps need `-muon_layer_NAME_ef21_server_compressor identity`.

.seealso: `Muon`, `MUONEF21`, `MUONCOMPRESSORSHARP`, `MuonEF21GetCompressor()`, `MuonEF21GetLayerCompressors()`, `MuonCompressorSetType()`, `MuonCompressorSetRatio()`
@*/
PetscErrorCode MuonEF21GetServerCompressor(Muon muon, MuonCompressor *compressor)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(compressor, 2);
  PetscUseMethod(muon, "MuonEF21GetServerCompressor_C", (Muon, MuonCompressor *), (muon, compressor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetServerCompressor_EF21(Muon muon, MuonCompressor *compressor)
{
  PetscFunctionBegin;
  *compressor = ((Muon_EF21 *)muon->data)->down;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EF21FindLayer_Private(Muon muon, MuonLayer layer, EF21Layer **s)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCheck(muon->setupcalled, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "Call MuonSetUp() first");
  *s = NULL;
  for (PetscInt i = 0; i < ef21->n; i++) {
    if (muon->active[i] == layer) *s = &ef21->layer[i];
  }
  PetscCheck(*s != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "Layer \"%s\" is frozen or of another optimizer", ((PetscObject)layer)->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetLayerCompressors - Gets the two compressors of one layer

  Not Collective; No Fortran Support

  Input Parameters:
+ muon  - an optimizer of type `MUONEF21`, set up
- layer - one of its layers that is not frozen

  Output Parameters:
+ up   - from this rank as a worker to the layer's server, borrowed; may be `NULL`
- down - from the layer's server to the workers, borrowed; may be `NULL`

  Level: advanced

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetCompressor()`, `MuonEF21GetServerCompressor()`, `MuonEF21GetLayerState()`
@*/
PetscErrorCode MuonEF21GetLayerCompressors(Muon muon, MuonLayer layer, MuonCompressor *up, MuonCompressor *down)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscUseMethod(muon, "MuonEF21GetLayerCompressors_C", (Muon, MuonLayer, MuonCompressor *, MuonCompressor *), (muon, layer, up, down));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetLayerCompressors_EF21(Muon muon, MuonLayer layer, MuonCompressor *up, MuonCompressor *down)
{
  EF21Layer *s;

  PetscFunctionBegin;
  PetscCall(EF21FindLayer_Private(muon, layer, &s));
  if (up != NULL) *up = s->up;
  if (down != NULL) *down = s->down;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetLayerState - Gets the state of one layer that this rank holds

  Not Collective; No Fortran Support

  Input Parameters:
+ muon  - an optimizer of type `MUONEF21`, set up
- layer - one of its layers that is not frozen

  Output Parameters:
+ M  - momentum of this rank as a worker, borrowed; `NULL` where momentum has no weight
. Gj - what the server believes the momentum of this rank to be, borrowed; `NULL` with the compressor identity, where it is the momentum
- G  - aggregate of the server, borrowed; `NULL` on ranks that do not serve the layer and with the compressor identity, where each step sums it afresh

  Level: advanced

  Note:
  Each argument may be `NULL`. G is the mean of the workers' Gj up to rounding, in each step.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetLayerCompressors()`, `MuonLayerGetServerWeights()`
@*/
PetscErrorCode MuonEF21GetLayerState(Muon muon, MuonLayer layer, Mat *M, Mat *Gj, Mat *G)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscUseMethod(muon, "MuonEF21GetLayerState_C", (Muon, MuonLayer, Mat *, Mat *, Mat *), (muon, layer, M, Gj, G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetLayerState_EF21(Muon muon, MuonLayer layer, Mat *M, Mat *Gj, Mat *G)
{
  EF21Layer *s;

  PetscFunctionBegin;
  PetscCall(EF21FindLayer_Private(muon, layer, &s));
  if (M != NULL) *M = s->M;
  if (Gj != NULL) *Gj = s->Gj;
  if (G != NULL) *G = s->G;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetInit - Sets what EF21 starts from

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
- init - `MUON_EF21_INIT_ZERO` or `MUON_EF21_INIT_GRADIENT`

  Options Database Key:
. -ef21_init init - what EF21 starts from (zero|gradient)

  Level: intermediate

  Notes:
  The default is zero: momentum and estimates are 0 before the first step, the first momentum is (1-momentum) g, and all messages are compressed. With gradient, as in the paper, momentum and estimates are the first
  gradient, which is sent whole: in single precision, unless the compressor's values are double, or native; the estimates are what was sent.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetInit()`, `MuonEF21Init`
@*/
PetscErrorCode MuonEF21SetInit(Muon muon, MuonEF21Init init)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscTryMethod(muon, "MuonEF21SetInit_C", (Muon, MuonEF21Init), (muon, init));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21SetInit_EF21(Muon muon, MuonEF21Init init)
{
  PetscFunctionBegin;
  PetscCheck(muon->setupcalled == PETSC_FALSE || ((Muon_EF21 *)muon->data)->init == init, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-ef21_init must be set before MuonSetUp()");
  ((Muon_EF21 *)muon->data)->init = init;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetInit - Gets what EF21 starts from

  Not Collective; No Fortran Support

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
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(init, 2);
  PetscUseMethod(muon, "MuonEF21GetInit_C", (Muon, MuonEF21Init *), (muon, init));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetInit_EF21(Muon muon, MuonEF21Init *init)
{
  PetscFunctionBegin;
  *init = ((Muon_EF21 *)muon->data)->init;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21SetMonitorCompression_EF21(Muon muon, PetscBool measure)
{
  PetscFunctionBegin;
  ((Muon_EF21 *)muon->data)->meter.wanted = measure;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetMonitorCompression_EF21(Muon muon, PetscBool *measure)
{
  PetscFunctionBegin;
  *measure = ((Muon_EF21 *)muon->data)->meter.wanted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonEF21GetLayerCompression_EF21(Muon muon, MuonLayer layer, MuonEF21Compression *compression)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;
  EF21Layer *s;

  PetscFunctionBegin;
  PetscCall(EF21FindLayer_Private(muon, layer, &s));
  *compression = ef21->meter.result[s - ef21->layer];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonSetFromOptions_EF21(Muon muon, MuonOptionItems PetscOptionsObject)
{
  Muon_EF21   *ef21 = (Muon_EF21 *)muon->data;
  MuonEF21Init init = ef21->init;
  char         viewer[PETSC_MAX_PATH_LEN];
  PetscBool    flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "EF21-Muon options");
  PetscCall(PetscOptionsEnum("-ef21_init", "What EF21 starts from", "MuonEF21SetInit", MuonEF21Inits, (PetscEnum)init, (PetscEnum *)&init, &flg));
  if (flg) PetscCall(MuonEF21SetInit(muon, init));
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

static PetscErrorCode EF21GetCompressors_Private(Muon muon, MuonLayer layer, MuonCompressor *up, MuonCompressor *down)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  *up   = ef21->up;
  *down = ef21->down;
  for (PetscInt i = 0; i < ef21->n; i++) {
    if (muon->active[i] != layer) continue;
    *up   = ef21->layer[i].up;
    *down = ef21->layer[i].down;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonLayerChoices_EF21(Muon muon, MuonLayer layer, size_t length, char text[])
{
  MuonCompressor up, down;
  char           uptext[400], downtext[400];

  PetscFunctionBegin;
  PetscCall(EF21GetCompressors_Private(muon, layer, &up, &down));
  PetscCall(MuonCompressorChoices_Private(up, sizeof(uptext), uptext));
  PetscCall(MuonCompressorChoices_Private(down, sizeof(downtext), downtext));
  PetscCall(PetscSNPrintf(text, length, "up %s, down %s", uptext, downtext));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonViewLayer_EF21(Muon muon, MuonLayer layer, size_t length, char text[])
{
  MuonCompressor up, down;
  char           uptext[100], downtext[100];

  PetscFunctionBegin;
  PetscCall(EF21GetCompressors_Private(muon, layer, &up, &down));
  PetscCall(MuonCompressorDescribe_Private(up, sizeof(uptext), uptext));
  PetscCall(MuonCompressorDescribe_Private(down, sizeof(downtext), downtext));
  PetscCall(PetscSNPrintf(text, length, "up %s, down %s", uptext, downtext));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonView_EF21(Muon muon, PetscViewer viewer)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "EF21 starts from %s\n", MuonEF21Inits[ef21->init]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonGetMemory_EF21(Muon muon, PetscLogDouble *worker, PetscLogDouble *server)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < ef21->n; i++) {
    const EF21Layer     *s     = &ef21->layer[i];
    const PetscLogDouble bytes = (PetscLogDouble)sizeof(PetscScalar) * (PetscLogDouble)muon->active[i]->m * (PetscLogDouble)muon->active[i]->n;
    PetscLogDouble       up, down;

    PetscCall(MuonCompressorGetMemory_Private(s->up, &up));
    PetscCall(MuonCompressorGetMemory_Private(s->down, &down));
    *worker += bytes * ((s->M != NULL) + (s->Gj != NULL)) + up;
    *server += bytes * ((s->X != NULL) + (s->Xnew != NULL) + (s->G != NULL) + (s->Gnew != NULL)) + down;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonDestroy_EF21(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(MuonReset_EF21(muon));
  PetscCall(MuonCompressorDestroy(&ef21->up));
  PetscCall(MuonCompressorDestroy(&ef21->down));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetCompressor_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetServerCompressor_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetLayerCompressors_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetLayerState_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21SetMonitorCompression_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetMonitorCompression_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetLayerCompression_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21SetInit_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetInit_C", NULL));
  PetscCall(PetscFree(muon->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MUONEF21 - EF21-Muon: steps inside norm balls with error feedback and compressed messages in both directions

  Options Database Keys:
+ -ef21_compressor type        - compressor from workers to servers, with the keys of `MuonCompressor` behind it
. -ef21_server_compressor type - compressor from servers to workers, likewise
. -ef21_init init              - what EF21 starts from (zero|gradient)
- -ef21_monitor_compression    - measures contraction, lag and gap of each layer and prints them, see `MuonEF21MonitorCompression()`

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
  and every worker\: W becomes W + S. What each side adds to its own copies is the decoded message, so that the copies never part.

  With the compressor identity messages are the matrices themselves, and what would be equal to another matrix is not stored.

  With `-ef21_server_compressor sharp` S is D itself in its natural format, `MuonLMOEncode()`, and every worker computes W = (1 - rate decay) W + t^s D\: the weights are those of identity to the last bit (as long
  as the dual norm, which is sent too, is finite), X is W and is not stored, and a message down has a few numbers, or a few bits for each row or column. It is for layers of the rule lmo whose norm is nuclear, l1,
  rowsum, colsum or l21; for any other layer it is an error of `MuonSetUp()`, which names the key that gives the layer another compressor. Where every rank serves (`MUONEXCHANGEREPLICATED`) and no layer has another
  lossy compressor nothing goes down, as with identity.

  The step is Algorithm 3 of the paper with worker and server halves in the order of one gradient; momentum 0 and exact gradients give Algorithm 2.

  References:
. * - K. Gruntkowska, A. Gaponov, Z. Tovmasyan, P. Richtarik, Error Feedback for Muon and Friends, arXiv:2510.00643

.seealso: `Muon`, `MuonType`, `MuonSetType()`, `MUONDENSE`, `MuonEF21GetCompressor()`, `MuonEF21GetServerCompressor()`, `MuonEF21SetInit()`, `MuonCompressor`, `MUONCOMPRESSORSHARP`, `MuonExchange`
M*/
PETSC_EXTERN PetscErrorCode MuonCreate_EF21(Muon muon)
{
  Muon_EF21 *ef21;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ef21));
  muon->data                       = ef21;
  muon->ops->configure             = MuonConfigure_EF21;
  muon->ops->setup                 = MuonSetUp_EF21;
  muon->ops->step                  = MuonStep_EF21;
  muon->ops->weightschanged        = MuonWeightsChanged_EF21;
  muon->ops->setfromoptions        = MuonSetFromOptions_EF21;
  muon->ops->setobjectsfromoptions = MuonSetObjectsFromOptions_EF21;
  muon->ops->getmemory             = MuonGetMemory_EF21;
  muon->ops->viewlayer             = MuonViewLayer_EF21;
  muon->ops->layerchoices          = MuonLayerChoices_EF21;
  muon->ops->view                  = MuonView_EF21;
  muon->ops->reset                 = MuonReset_EF21;
  muon->ops->destroy               = MuonDestroy_EF21;
  PetscCall(MuonEF21CreateCompressor_Private(muon, "ef21_", &ef21->up));
  PetscCall(MuonEF21CreateCompressor_Private(muon, "ef21_server_", &ef21->down));
  PetscCall(MuonCompressorSetType(ef21->up, MUONCOMPRESSORIDENTITY));
  PetscCall(MuonCompressorSetType(ef21->down, MUONCOMPRESSORIDENTITY));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetCompressor_C", MuonEF21GetCompressor_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetServerCompressor_C", MuonEF21GetServerCompressor_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetLayerCompressors_C", MuonEF21GetLayerCompressors_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetLayerState_C", MuonEF21GetLayerState_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21SetMonitorCompression_C", MuonEF21SetMonitorCompression_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetMonitorCompression_C", MuonEF21GetMonitorCompression_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetLayerCompression_C", MuonEF21GetLayerCompression_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21SetInit_C", MuonEF21SetInit_EF21));
  PetscCall(PetscObjectComposeFunction((PetscObject)muon, "MuonEF21GetInit_C", MuonEF21GetInit_EF21));
  PetscCall(PetscCitationsRegister(MuonCitationEF21, &MuonCitationEF21Set));
  PetscFunctionReturn(PETSC_SUCCESS);
}
