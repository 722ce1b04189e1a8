#include "feedback.h" /*I "petscmuon.h" I*/

PetscErrorCode EF21MeterBegin_Private(Muon muon, MuonRecord *record)
{
  Muon_EF21 *ef21  = (Muon_EF21 *)muon->data;
  EF21Meter *meter = &ef21->meter;

  PetscFunctionBegin;
  meter->active   = meter->wanted && MuonMonitorSpeaks(muon, muon->step) ? PETSC_TRUE : PETSC_FALSE;
  ef21->errordue  = ef21->errorinterval > 0 && (muon->step + 1) % ef21->errorinterval == 0 ? PETSC_TRUE : PETSC_FALSE; /* the step is not counted yet */
  record->measure = (meter->active ? 1 : 0) + (ef21->errordue ? 2 : 0);
  if (meter->active) PetscCall(PetscArrayzero(meter->mine, muon->nshards));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   ||A - B|| in the Frobenius norm, and in the norm of the layer or its dual. Rows of a layer, and a layer whose optimizer has no
   norm, have the Frobenius norm only
*/
static PetscErrorCode EF21Distance_Private(Muon muon, const MuonShard *shard, PetscBool dual, const MuonArray *A, const MuonArray *B, double distance[2])
{
  PetscReal norm;
  MuonArray D;
  int       exponent;
  MuonMark  mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonWorkspaceGetArray(muon->work, A, A->precision, &D));
  MuonArrayAxpby(1, A, 0, &D);
  MuonArrayAxpby(-1, B, 1, &D);
  distance[0] = MuonArrayKernels(&D)->Norm(D.len, D.count, D.data, D.ld, &exponent);
  distance[0] = distance[1] = ldexp(distance[0], exponent);
  if (shard->layer->ops->applylmo != NULL && !shard->port->ranges) {
    PetscCall(MuonLayerComputeNormArray(shard->layer, &D, dual, &norm));
    distance[1] = (double)norm;
  }
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The receiver's error of A while it has B. The lag is the error before the message, and then the one after it; 0/0 is 0. Up it
   uses the dual norm
*/
PetscErrorCode EF21Measure_Private(Muon muon, MuonShard *shard, int down, PetscBool after, const MuonArray *A, const MuonArray *B)
{
  EF21Figures *mine    = &((Muon_EF21 *)muon->data)->meter.mine[shard - muon->shard];
  double       rest[2] = {0, 0};

  PetscFunctionBegin;
  if (((Muon_EF21 *)muon->data)->meter.active == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_Measure, muon, 0, 0, 0));
  PetscCall(EF21Distance_Private(muon, shard, down ? PETSC_FALSE : PETSC_TRUE, A, B, rest));
  for (int k = 0; k < 2; k++) {
    const double ratio = after && mine->lag[down][k] != 0 ? rest[k] / mine->lag[down][k] : 0;

    mine->contraction[down][k] = ratio * ratio;
    mine->lag[down][k]         = rest[k];
  }
  PetscCall(PetscLogEventEnd(MUON_Measure, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Mean and worst of the figures [down][k] over the ranks that serve a shard; NaN is the worst. A server's
   figures are the worst of its ranks
*/
static void EF21Collect(Muon muon, PetscInt stride, const double figure[], const MuonPort *port, PetscMPIInt server, PetscReal *mean, PetscReal *worst)
{
  const MuonWorkerGrid grid = port->shard->group->grid;

  double sum = 0, most = 0;

  for (PetscMPIInt j = 0; j < muon->size; j++) {
    const double one = figure[(size_t)j * (size_t)stride];

    if ((server >= 0 && grid->worker_of[j] != server) || MuonPortServesAt(port, grid->position_of[j]) == PETSC_FALSE) continue;
    sum += one / MuonPortCountRanks(port);
    most = one > most || one != one ? one : most;
  }
  *mean  = (PetscReal)(server >= 0 ? most : sum);
  *worst = (PetscReal)most;
}

static PetscErrorCode EF21MeterCollect_Private(Muon muon, EF21Meter *meter)
{
  EF21Figures *all;

  PetscFunctionBegin;
  if (meter->active == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < muon->nshards; i++) PetscCall(PetscArraycpy(meter->mine[i].bytes, muon->shard[i].round->figure, 2));
  PetscCall(PetscMalloc1((size_t)muon->size * (size_t)muon->nshards, &all));
  PetscCall(MuonExchangeGatherRecords(muon->exchange, EF21_FIGURES * muon->nshards, (const double *)meter->mine, (double *)all));
  for (PetscInt i = 0; i < muon->nshards; i++) {
    MuonShard           *shard  = &muon->shard[i];
    MuonEF21Compression *result = &meter->result[i];
    MuonCompressor       first  = ((EF21Shard *)shard->data)->first;

    if (MuonGroupRests(shard->group)) continue;
    /* A rank that does not serve the shard has sent nothing: the compressor of that which does */
    if (MuonPortServes(shard->port) == PETSC_FALSE || shard->round->sent == NULL) shard->round->sent = first != NULL && EF21IsFirst(muon, shard->group->depth - 1) ? first : shard->up;
    result->step = muon->step;
    for (int down = 0; down < 2; down++) {
      const PetscMPIInt server = down ? PetscMax(MuonLayerOwner(shard->layer), 0) : -1;
      MuonCompressor    c      = down ? shard->down : shard->round->sent;
      PetscReal         alpha, most;

      for (int k = 0; k < 2; k++) {
        EF21Collect(muon, EF21_FIGURES * muon->nshards, &all[i].contraction[down][k], shard->port, server, &result->mean[down][k], &result->worst[down][k]);
        EF21Collect(muon, EF21_FIGURES * muon->nshards, &all[i].lag[down][k], shard->port, server, &result->lag_mean[down][k], &result->lag_worst[down][k]);
      }
      EF21Collect(muon, EF21_FIGURES * muon->nshards, &all[i].bytes[down], shard->port, -1, &result->bytes[down], &most);
      shard->round->figure[2 + down] = (double)result->lag_mean[down][0];
      /* It stands beside the contraction in the Frobenius norm */
      PetscCall(MuonCompressorGetAlpha(c, shard->rows, MuonLayerColumns(shard->layer), &alpha));
      result->bound[down] = alpha < 0 || c->othernorm ? -1 : 1 - alpha;
    }
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetMonitorCompression - Sets whether an optimizer measures the compression error of its layers

  Logically Collective

  Input Parameters:
+ muon    - an optimizer of type `MUONEF21`; the call is ignored for other types
- measure - whether to measure, in the steps of `-muon_monitor_interval`; the same on every rank

  Options Database Key:
. -ef21_monitor_compression [viewer] - measures and prints a line for each layer and direction that is compressed

  Level: intermediate

  Notes:
  `MuonEF21GetLayerCompression()` returns the figures. They cost four norms of each layer, in the layer's own norm or
  its dual. Norms of singular values need singular value decompositions, which take longer than the step itself. Every
  rank gathers ten numbers a layer from each rank. The norms need scratch memory of the size of the largest layer and
  its LMO, which owners of layers have anyway. The event in `-log_view` is `MuonMeasure`. If the setting is off,
  nothing is computed.

  The line for messages up has 1 - alpha of `MuonCompressorGetAlpha()` if it is known. It also has the measured contraction $\|C(x) - x\|^2 / \|x\|^2$
  of $x = M_j - G_j$ and the remaining lag $\|M_j - G_j\|$, for the Frobenius norm and for the dual norm of the layer. Each is given as mean and worst
  over the workers. The line for messages down has the same for $x = X - W$ in the Frobenius norm and in the norm of the layer, and the lag
  $\|X - W\|$.

  The theorems of EF21-Muon require contraction in the dual norm from the workers' compressors and in the norm itself
  from the servers' compressors. But alpha holds in the Frobenius norm. Top-K can have a contraction of 1 or more in
  the spectral norm, and no step size compensates for this. The norm is that of the layer's `MuonLMO`, without the layer's
  scale and shape factor; with blocks it is the largest of their norms, and the dual norm the sum of their dual norms. If
  the optimizer of a layer is not `MUONLAYERLMO`, it is the Frobenius norm.

  The compressor identity and the downlink step are exact and have no line. With `-ef21_init gradient` the messages up
  of the first step are the gradients in single precision, with an error of that precision, unless values are double. A
  single step of a random compressor may exceed 1 - alpha, which bounds the expectation. 1 - alpha refers to the
  Frobenius norm. With another norm, by `-compressor_topsvd_schatten`, it is unknown.

  It is off by default and after `MuonSetType()`. The option also adds the monitor that prints the figures.
  `MuonMonitorCancel()` removes the monitor but does not stop the measuring, for `MuonEF21GetLayerCompression()`.

  If this setting or the interval differs between ranks, the step is an error on all of them and changes nothing.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetLayerCompression()`
@*/
PetscErrorCode MuonEF21SetMonitorCompression(Muon muon, PetscBool measure)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  MuonIgnoreUnlessType(muon, MUONEF21);
  ((Muon_EF21 *)muon->data)->meter.wanted = measure;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonEF21GetLayerCompression - Gets the compression error of a layer in the last measured step

  Not Collective

  Input Parameters:
+ muon  - an optimizer of type `MUONEF21`, set up
- layer - one of its layers that is not frozen

  Output Parameter:
. compression - the figures, the same on every rank; their step is -1 if none was measured

  Level: intermediate

  Note:
  After `MuonEF21SetMonitorCompression()` the steps of `-muon_monitor_interval` that do not diverge are measured.

.seealso: `Muon`, `MUONEF21`, `MuonEF21Compression`, `MuonEF21SetMonitorCompression()`
@*/
PetscErrorCode MuonEF21GetLayerCompression(Muon muon, MuonLayer layer, MuonEF21Compression *compression)
{
  MuonShard *shard;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscAssertPointer(compression, 3);
  MuonCheckType(muon, MUONEF21);
  PetscCall(MuonShardFind(muon, layer, &shard));
  *compression = ((Muon_EF21 *)muon->data)->meter.result[shard - muon->shard];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   G equals the mean of the workers' estimates G_j up to rounding, because both sides add the same messages. A sum of the
   estimates checks it.
*/

/*@
  MuonEF21GetAggregateError - Gets the last measured difference between the servers' aggregates and the means of the
  workers' estimates

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. error - the Frobenius norm of G - mean of G_j over all layers, the same on every rank; -1 if it was not measured yet

  Options Database Key:
. -ef21_aggregate_error_interval interval - number of steps between two measurements, 0 for none

  Level: advanced

  Notes:
  The error comes from rounding. Its order is the roundoff of the state times the number of steps; a larger one means
  that messages were lost. The error is measured before state is saved, too. For a measurement the workers send their estimates
  uncompressed. `MuonGetTraffic()` counts them. Layers whose messages are the momentum itself have no estimates.

.seealso: `Muon`, `MUONEF21`
@*/
PetscErrorCode MuonEF21GetAggregateError(Muon muon, PetscReal *error)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, error, ((Muon_EF21 *)muon->data)->error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterSaving_Private(Muon muon)
{
  Muon_EF21 *ef21    = (Muon_EF21 *)muon->data;
  double     squares = 0;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Measure, muon, 0, 0, 0));
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];
    EF21Shard *state = (EF21Shard *)shard->data;
    MuonArray  mean;
    MuonMark   mark;

    if (state->feedback.keeps == PETSC_FALSE || MuonPortServes(shard->port) == PETSC_FALSE) continue;
    PetscCall(MuonWorkspaceMark(muon->work, &mark));
    PetscCall(MuonWorkspaceGetArray(muon->work, &state->feedback.relative, state->feedback.relative.precision, &mean));
    PetscCall(MuonShardReduceBegin_Private(shard, &state->feedback.relative, &mean));
    PetscCall(MuonExchangeReduceEnd(shard->group->exchange));
    if (MuonShardOwns(shard) && MuonShardCounts(shard)) {
      MuonArrayAxpby(1, &state->G, -1 / (double)shard->group->exchange->nworkers, &mean);
      squares += MuonLayerSumSquares(&mean);
    }
    PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)muon)));
  muon->bytes[0] += sizeof(squares);
  PetscCall(PetscLogEventEnd(MUON_Measure, muon, 0, 0, 0));
  ef21->error = PetscSqrtReal((PetscReal)squares);
  PetscCall(PetscInfo(muon, "After step %" PetscInt_FMT ": ||G - mean of G_j|| is %g\n", muon->step, (double)ef21->error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterLook_Private(Muon muon, MuonShard *shard, PetscBool after, const MuonArray *Xnew, const MuonArray *W)
{
  PetscFunctionBegin;
  PetscCall(EF21Measure_Private(muon, shard, 1, after, Xnew, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EF21MonitorCompression_Private(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscViewerAndFormat *vf     = (PetscViewerAndFormat *)ctx;
  PetscViewer           viewer = vf->viewer;
  PetscInt              tablevel;

  PetscFunctionBegin;
  /* An optimizer that has got another type since has nothing to report */
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCall(PetscObjectGetTabLevel((PetscObject)muon, &tablevel));
  PetscCall(PetscViewerPushFormat(viewer, vf->format));
  PetscCall(PetscViewerASCIIAddTab(viewer, tablevel));
  for (PetscInt i = 0; i < muon->nactive; i++) {
    const char         *name = ((PetscObject)muon->active[i])->name;
    MuonEF21Compression c;
    MuonShard          *shard;

    PetscCall(MuonEF21GetLayerCompression(muon, muon->active[i], &c));
    PetscCall(MuonShardFind(muon, muon->active[i], &shard));
    if (c.step != step || MuonGroupRests(shard->group)) continue; /* several phases have one number */
    for (int down = 0; down < 2; down++) {
      if (down ? shard->down->assignment || shard->downlink == MUON_DOWNLINK_STEP : shard->round->sent->assignment) continue; /* nothing is left out: there is nothing to say */
      PetscCall(PetscViewerASCIIPrintf(viewer, "%3" PetscInt_FMT " Muon layer %s %-4s 1-alpha ", step, name, down ? "down" : "up"));
      if (c.bound[down] < 0) PetscCall(PetscViewerASCIIPrintf(viewer, "unknown"));
      else PetscCall(PetscViewerASCIIPrintf(viewer, "%.6f", (double)c.bound[down]));
      for (int k = 0; k < 2; k++) {
        PetscCall(PetscViewerASCIIPrintf(viewer, " %s %.4e", k == 0 ? "Frobenius" : (down ? "norm" : "dual norm"), (double)c.mean[down][k]));
        if (down == 0) PetscCall(PetscViewerASCIIPrintf(viewer, " worst %.4e", (double)c.worst[down][k]));
        PetscCall(PetscViewerASCIIPrintf(viewer, " lag %.4e", (double)c.lag_mean[down][k]));
        if (down == 0) PetscCall(PetscViewerASCIIPrintf(viewer, " worst %.4e", (double)c.lag_worst[down][k]));
      }
      PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    }
  }
  PetscCall(PetscViewerASCIISubtractTab(viewer, tablevel));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterEnd_Private(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(EF21MeterCollect_Private(muon, &ef21->meter));
  if (ef21->errordue) PetscCall(EF21MeterSaving_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterSetFromOptions_Private(Muon muon, MuonOptionItems PetscOptionsObject)
{
  char viewer[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-ef21_monitor_compression", "Two lines a layer: contraction and lag", "MuonEF21SetMonitorCompression", "stdout", viewer, sizeof(viewer), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterCreate_Private(Muon muon)
{
  static const MuonTypeMonitor monitor = {"-ef21_monitor_compression", EF21MonitorCompression_Private, MuonEF21SetMonitorCompression};

  PetscFunctionBegin;
  muon->ops->monitor               = &monitor;
  ((Muon_EF21 *)muon->data)->error = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterSetUp_Private(Muon muon)
{
  EF21Meter *meter = &((Muon_EF21 *)muon->data)->meter;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(muon->nshards, &meter->mine, muon->nshards, &meter->result));
  for (PetscInt p = 0; p < muon->nshards; p++) meter->result[p].step = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterReset_Private(Muon muon)
{
  Muon_EF21 *ef21 = (Muon_EF21 *)muon->data;

  PetscFunctionBegin;
  PetscCall(PetscFree2(ef21->meter.mine, ef21->meter.result));
  ef21->meter.active = PETSC_FALSE;
  ef21->error        = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
