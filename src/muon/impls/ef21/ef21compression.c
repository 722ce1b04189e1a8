#include "ef21.h" /*I "petscmuon.h" I*/
#include <math.h>

PetscErrorCode EF21MeterCreate_Private(EF21Meter *meter, PetscInt n)
{
  PetscFunctionBegin;
  meter->n = n;
  PetscCall(PetscCalloc2(n, &meter->mine, n, &meter->result));
  for (PetscInt i = 0; i < n; i++) meter->result[i].step = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterDestroy_Private(EF21Meter *meter)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(meter->mine, meter->result));
  meter->n      = 0;
  meter->active = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterBegin_Private(Muon muon, EF21Meter *meter, MuonRecord *record)
{
  PetscFunctionBegin;
  meter->active = meter->wanted == PETSC_TRUE && MuonMonitorSpeaks(muon, muon->step) == PETSC_TRUE ? PETSC_TRUE : PETSC_FALSE;
  if (meter->active == PETSC_TRUE) PetscCall(PetscArrayzero(meter->mine, meter->n));
  record->measure = meter->active == PETSC_TRUE ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   ||A - B|| in the Frobenius norm, and in the norm of the layer or its dual. Rows of a layer, and a layer
   whose rule knows no norm, have the Frobenius norm only
*/
static PetscErrorCode EF21Distance_Private(Muon muon, const MuonShard *shard, PetscBool dual, const MuonArray *A, const MuonArray *B, double distance[2])
{
  PetscBool     lmo;
  MuonLayerRule rule;
  PetscReal     norm;
  MuonArray     D;
  int           exponent;
  MuonMark      mark;

  PetscFunctionBegin;
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonWorkspaceGetArray(muon->work, A, A->precision, &D));
  MuonArrayAxpby(1, A, 0, &D);
  MuonArrayAxpby(-1, B, 1, &D);
  distance[0] = MuonArrayKernels(&D)->Norm(D.len, D.count, D.data, D.ld, &exponent);
  distance[0] = distance[1] = ldexp(distance[0], exponent);
  PetscCall(MuonLayerGetRule(shard->layer, &rule));
  PetscCall(PetscStrcmp(rule, MUONLAYERLMO, &lmo));
  if (lmo && !shard->ranges) {
    PetscCall(MuonLayerComputeNormArray(shard->layer, &D, dual, &norm));
    distance[1] = (double)norm;
  }
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rest holds what was missing before the message, and then what still is; nothing of nothing is nothing */
static PetscErrorCode EF21Measure_Private(Muon muon, MuonShard *shard, PetscBool dual, PetscBool after, const MuonArray *A, const MuonArray *B, double contraction[2], double rest[2])
{
  double before[2];

  PetscFunctionBegin;
  if (((Muon_EF21 *)muon->data)->meter.active == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_Measure, muon, 0, 0, 0));
  before[0] = rest[0];
  before[1] = rest[1];
  PetscCall(EF21Distance_Private(muon, shard, dual, A, B, rest));
  for (int k = 0; k < 2 && after == PETSC_TRUE; k++) {
    const double ratio = rest[k] / before[k];

    contraction[k] = before[k] == 0 ? 0 : ratio * ratio;
  }
  PetscCall(PetscLogEventEnd(MUON_Measure, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterUp_Private(Muon muon, MuonShard *shard, PetscBool after, const MuonArray *A, const MuonArray *B)
{
  EF21Figures *mine = &((Muon_EF21 *)muon->data)->meter.mine[shard - muon->shard];

  PetscFunctionBegin;
  PetscCall(EF21Measure_Private(muon, shard, PETSC_TRUE, after, A, B, mine->up, mine->lag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterDown_Private(Muon muon, MuonShard *shard, PetscBool after, const MuonArray *A, const MuonArray *B)
{
  EF21Figures *mine = &((Muon_EF21 *)muon->data)->meter.mine[shard - muon->shard];

  PetscFunctionBegin;
  PetscCall(EF21Measure_Private(muon, shard, PETSC_FALSE, after, A, B, mine->down, mine->gap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN is the worst of all */
static double EF21Worse_Private(double a, double b)
{
  return b > a || b != b ? b : a;
}

/* It stands beside the contraction in the Frobenius norm */
static PetscErrorCode EF21Bound_Private(MuonCompressor c, PetscInt m, PetscInt n, PetscReal *bound)
{
  PetscReal alpha;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  *bound = alpha < 0 || c->othernorm == PETSC_TRUE ? -1 : 1 - alpha;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterEnd_Private(Muon muon, EF21Meter *meter)
{
  EF21Figures *all;

  PetscFunctionBegin;
  if (meter->active == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1((size_t)muon->size * (size_t)meter->n, &all));
  PetscCall(MuonExchangeGatherRecords(muon->exchange, EF21_FIGURES * meter->n, (const double *)meter->mine, (double *)all));
  for (PetscInt i = 0; i < meter->n; i++) {
    const MuonShard     *shard  = &muon->shard[i];
    MuonLayer            layer  = shard->layer;
    MuonEF21Compression *result = &meter->result[i];
    EF21Figures          server;

    PetscCall(PetscMemzero(result, sizeof(*result)));
    PetscCall(PetscMemzero(&server, sizeof(server)));
    for (PetscMPIInt j = 0; j < muon->size; j++) {
      const EF21Figures *one = &all[(size_t)j * (size_t)meter->n + (size_t)i];

      for (int k = 0; k < 2 && shard->group->grid->worker_of[j] == PetscMax(layer->owner, 0); k++) {
        server.down[k] = EF21Worse_Private(server.down[k], one->down[k]);
        server.gap[k]  = EF21Worse_Private(server.gap[k], one->gap[k]);
      }
    }
    result->step = muon->step;
    for (int k = 0; k < 2; k++) {
      double up_mean = 0, up_worst = 0, lag_mean = 0, lag_worst = 0;

      for (PetscMPIInt j = 0; j < muon->size; j++) {
        const EF21Figures *worker = &all[(size_t)j * (size_t)meter->n + (size_t)i];

        up_mean += worker->up[k] / muon->size;
        lag_mean += worker->lag[k] / muon->size;
        up_worst  = EF21Worse_Private(up_worst, worker->up[k]);
        lag_worst = EF21Worse_Private(lag_worst, worker->lag[k]);
      }
      result->up_mean[k]   = (PetscReal)up_mean;
      result->up_worst[k]  = (PetscReal)up_worst;
      result->lag_mean[k]  = (PetscReal)lag_mean;
      result->lag_worst[k] = (PetscReal)lag_worst;
      result->down[k]      = (PetscReal)server.down[k];
      result->gap[k]       = (PetscReal)server.gap[k];
    }
    PetscCall(EF21Bound_Private(shard->sent, shard->rows, layer->N, &result->up_bound));
    PetscCall(EF21Bound_Private(shard->down, shard->rows, layer->N, &result->down_bound));
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21SetMonitorCompression - Sets whether an optimizer measures what compression does to its layers

  Logically Collective

  Input Parameters:
+ muon    - an optimizer that has the type `MUONEF21` already, else the call is ignored
- measure - whether it does, in the steps of `-muon_monitor_interval`; the same on every rank

  Options Database Key:
. -ef21_monitor_compression [viewer] - measures and prints, see `MuonEF21MonitorCompression()`

  Level: intermediate

  Notes:
  `MuonEF21GetLayerCompression()` has the figures. They cost four norms of each layer in the layer's own norm
  or its dual, singular value decompositions for the norms of singular values, which take longer than the step
  itself; a gather to every rank of eight numbers a layer from each; memory for these, and for a matrix of the
  size of the largest layer and what its oracle needs to compute a norm, which ranks that serve layers have
  for their steps anyway. In `-log_view` the norms are `MuonMeasure`. Where this is off nothing is computed.

  It is off by default, and again after `MuonSetType()`\: call it after that. The option adds the monitor that
  prints the figures too; `MuonMonitorCancel()` removes the monitor and leaves measuring on, for
  `MuonEF21GetLayerCompression()`.

  A step in which some ranks would measure and others not, since this or the interval differs between them, is
  an error on all of them, which is raised before the step changes anything.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetLayerCompression()`, `MuonEF21MonitorCompression()`
@*/
PetscErrorCode MuonEF21SetMonitorCompression(Muon muon, PetscBool measure)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveBool(muon, measure, 2);
  MuonIgnoreUnlessType(muon, MUONEF21);
  ((Muon_EF21 *)muon->data)->meter.wanted = measure;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonEF21GetLayerCompression - Gets what compression did to a layer in the last step that was measured

  Not Collective

  Input Parameters:
+ muon  - an optimizer of type `MUONEF21`, set up
- layer - one of its layers that is not frozen

  Output Parameter:
. compression - the figures, the same on every rank; their step is -1 where none was measured

  Level: intermediate

  Note:
  A step is measured after `MuonEF21SetMonitorCompression()`, if `-muon_monitor_interval` has it and if it
  did not diverge.

.seealso: `Muon`, `MUONEF21`, `MuonEF21Compression`, `MuonEF21SetMonitorCompression()`, `MuonEF21MonitorCompression()`
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

/*@C
  MuonEF21MonitorCompression - Prints what compression did to each layer: two lines, one for each direction

  Collective; No Fortran Support

  Input Parameters:
+ muon - an optimizer of type `MUONEF21`
. step - the step
. loss - the loss
- vf   - viewer and format

  Options Database Key:
. -ef21_monitor_compression [viewer] - measures and prints, in the steps of `-muon_monitor_interval`

  Level: intermediate

  Notes:
  The line of the way up has 1 - alpha, the constant of `MuonCompressorGetAlpha()` where it is known; then for
  the Frobenius norm and for the dual norm of the layer the measured contraction
  $\|C(x) - x\|^2 / \|x\|^2$ of $x = M_j - G_j$ and the lag $\|M_j - G_j\|$ that is left, each as mean and as worst of the workers. The line of the way down has the same of $x = X - W$ in the Frobenius norm and in the norm
  of the layer, with the gap $\|X - W\|$ that is left.

  The theory of EF21-Muon asks for contraction in the dual norm from the workers' compressors and in the norm
  itself from the servers'\: alpha holds in the Frobenius norm, and a contraction of 1 or more in the layer's
  norm, which Top-K can have in the spectral norm, is what no step size makes up for by itself. The norms are
  those of `MuonLayerComputeDualNorm()` and `MuonLayerComputeNorm()`, without the layer's scale and shape
  factor; where the rule of a layer is not `MUONLAYERLMO` it is the Frobenius norm.

  What the compressor identity and the downlink step send is exact\: there is no line of it. With
  `-ef21_init gradient` messages up of the first step are the gradients in single precision, and so is what is
  left of them, unless values are double. A single step of a random compressor may be above 1 - alpha, which
  bounds the expectation. 1 - alpha is that of the Frobenius norm\: where `-compressor_topsvd_schatten`
  chose another it is unknown.

  Norms of singular values cost decompositions, see `MuonEF21SetMonitorCompression()`.

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetMonitorCompression()`, `MuonEF21GetLayerCompression()`, `MuonMonitorSet()`
@*/
PetscErrorCode MuonEF21MonitorCompression(Muon muon, PetscInt step, PetscReal loss, PetscViewerAndFormat *vf)
{
  PetscViewer viewer = vf->viewer;
  PetscInt    tablevel;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscObjectGetTabLevel((PetscObject)muon, &tablevel));
  PetscCall(PetscViewerPushFormat(viewer, vf->format));
  PetscCall(PetscViewerASCIIAddTab(viewer, tablevel));
  for (PetscInt i = 0; i < muon->nactive; i++) {
    const char         *name = ((PetscObject)muon->active[i])->name;
    MuonEF21Compression c;
    MuonShard          *shard;
    PetscBool           exact[2]; /* nothing is left out: there is nothing to say */
    char                bound[2][32];

    PetscCall(MuonEF21GetLayerCompression(muon, muon->active[i], &c));
    if (c.step != step) continue;
    PetscCall(MuonShardFind(muon, muon->active[i], &shard));
    exact[0] = shard->sent->assignment;
    exact[1] = shard->down_assigns || shard->downlink == MUON_DOWNLINK_STEP ? PETSC_TRUE : PETSC_FALSE;
    for (int k = 0; k < 2; k++) {
      const PetscReal known = k == 0 ? c.up_bound : c.down_bound;

      if (known < 0) PetscCall(PetscStrncpy(bound[k], "unknown", sizeof(bound[k])));
      else PetscCall(PetscSNPrintf(bound[k], sizeof(bound[k]), "%.6f", (double)known));
    }
    if (exact[0] == PETSC_FALSE)
      PetscCall(PetscViewerASCIIPrintf(viewer, "%3" PetscInt_FMT " Muon layer %s up   1-alpha %s Frobenius %.4e worst %.4e lag %.4e worst %.4e dual norm %.4e worst %.4e lag %.4e worst %.4e\n", step, name, bound[0], (double)c.up_mean[0],
                                       (double)c.up_worst[0], (double)c.lag_mean[0], (double)c.lag_worst[0], (double)c.up_mean[1], (double)c.up_worst[1], (double)c.lag_mean[1], (double)c.lag_worst[1]));
    if (exact[1] == PETSC_FALSE)
      PetscCall(PetscViewerASCIIPrintf(viewer, "%3" PetscInt_FMT " Muon layer %s down 1-alpha %s Frobenius %.4e gap %.4e norm %.4e gap %.4e\n", step, name, bound[1], (double)c.down[0], (double)c.gap[0], (double)c.down[1], (double)c.gap[1]));
  }
  PetscCall(PetscViewerASCIISubtractTab(viewer, tablevel));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EF21MonitorCompression_Private(Muon muon, PetscInt step, PetscReal loss, void *ctx)
{
  PetscFunctionBegin;
  /* An optimizer that has got another type since has nothing to tell */
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCall(MuonEF21MonitorCompression(muon, step, loss, (PetscViewerAndFormat *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeterSetMonitor_Private(Muon muon)
{
  PetscFunctionBegin;
  muon->monitor_key      = "-ef21_monitor_compression";
  muon->monitor_fn       = EF21MonitorCompression_Private;
  muon->monitor_measures = &((Muon_EF21 *)muon->data)->meter.wanted;
  PetscFunctionReturn(PETSC_SUCCESS);
}
