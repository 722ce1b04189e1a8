#include "muontheory.h" /*I "petscmuon.h" I*/
#include <stdio.h>
#include <stdlib.h>

/*
   Smoothness from gradients at two points of the path with the same samples, noise from two batches at one point. Norms are the
   layer's divided by scale x shape factor, as in the theorems.
*/

enum {
  SAMPLES = 256 /* which a line is fitted to; then the oldest go */
};

/* Of one layer */
typedef struct {
  MuonArray          W, g;    /* before the step */
  PetscReal          dual;    /* of the mean gradient there */
  PetscReal          own;     /* largest L of this worker's function */
  PetscReal          squares; /* of what two batches differ by, added over the estimates */
  PetscReal         *at, *ratio;
  MuonTheoryEstimate result;
} MuonTheorySamples;

struct _n_MuonTheoryEstimates {
  PetscInt           layers, count; /* of estimates that were made */
  PetscBool          due, asked;
  MuonTheorySamples *layer; /* of all shards */
  double            *sum;   /* of the largest layer's entries */
};

PetscErrorCode MuonTheoryReset_Private(Muon muon)
{
  MuonTheoryEstimates e = MuonTheoryOf(muon)->estimates;

  PetscFunctionBegin;
  PetscCall(PetscFree(MuonTheoryOf(muon)->text));
  if (e == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt p = 0; p < e->layers; p++) {
    PetscCall(MuonArrayDestroy(&e->layer[p].W));
    PetscCall(MuonArrayDestroy(&e->layer[p].g));
    PetscCall(PetscFree2(e->layer[p].at, e->layer[p].ratio));
  }
  PetscCall(PetscFree2(e->layer, e->sum));
  PetscCall(PetscFree(e));
  MuonTheoryOf(muon)->estimates = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonTheoryEstimateSetUp_Private(Muon muon)
{
  MuonTheoryEstimates e;
  size_t              most = 1;

  PetscFunctionBegin;
  if (MuonTheoryOf(muon)->estimate == 0 && MuonTheoryOf(muon)->type != MUON_THEORY_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(muon->objective != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%smuon_theory_estimate needs gradients at other weights, expected MuonSetObjectiveAndGradient()", MuonPrefix(muon));
  PetscCall(PetscNew(&e));
  MuonTheoryOf(muon)->estimates = e;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonLayer layer = muon->shard[p].layer;

    PetscCheck(layer->ops->applylmo != NULL && layer->ranks == 1 && muon->shard[p].port->whole == PETSC_FALSE && layer->shape.memory == MUON_HOST, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP,
               "-%smuon_theory_estimate: layer \"%s\" is spread over ranks, in the memory of a device, or has no norm, expected the type " MUONLAYERLMO " and a matrix on each rank", MuonPrefix(muon), ((PetscObject)layer)->name);
    most = PetscMax(most, MuonArrayEntries(&layer->shape));
  }
  e->layers = muon->nshards;
  PetscCall(PetscCalloc2(e->layers, &e->layer, most, &e->sum));
  for (PetscInt p = 0; p < e->layers; p++) {
    const MuonArray shape = muon->shard[p].layer->shape;

    PetscCall(MuonArrayCreate(&shape, shape.precision, &e->layer[p].W));
    PetscCall(MuonArrayCreate(&shape, shape.precision, &e->layer[p].g));
    PetscCall(PetscMalloc2(SAMPLES, &e->layer[p].at, SAMPLES, &e->layer[p].ratio));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of the gradient that is there */
static PetscErrorCode MuonTheoryCopyGradient_Private(MuonLayer layer, const MuonArray *to)
{
  MuonArray g;
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientMemory(layer, &g, &ours));
  if (g.data == NULL) PetscCall(MuonArrayZero(to));
  else MuonArrayAxpby(1, &g, 0, to);
  PetscCall(MuonLayerRestoreGradientMemory(layer, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The dual norm of the mean over the workers of a matrix, which becomes it */
static PetscErrorCode MuonTheoryMean_Private(Muon muon, MuonLayer layer, const MuonArray *A, PetscReal *dual)
{
  const PetscMPIInt entries = (PetscMPIInt)MuonArrayEntries(A);
  MuonArray         sum     = MuonArrayLike(A, MUON_DOUBLE, MuonTheoryOf(muon)->estimates->sum);

  PetscFunctionBegin;
  MuonArrayAxpby((muon->weights != NULL ? muon->weights[muon->rank] : 1) / muon->size, A, 0, &sum);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum.data, entries, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)muon)));
  MuonArrayAxpby(1, &sum, 0, A);
  PetscCall(MuonLayerComputeNormArray(layer, A, PETSC_TRUE, dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonTheoryEstimateBegin_Private(Muon muon, MuonRecord *record)
{
  MuonTheoryEstimates e        = MuonTheoryOf(muon)->estimates;
  PetscInt            interval = MuonTheoryOf(muon)->estimate;

  PetscFunctionBegin;
  if (e == NULL || record->status < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (MuonTheoryOf(muon)->type == MUON_THEORY_AUTO && e->count < MuonTheoryOf(muon)->auto_steps) interval = 1;
  e->due = interval > 0 && muon->step % interval == 0 ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt p = 0; p < e->layers && e->due; p++) {
    const MuonLayer layer = muon->shard[p].layer;
    MuonArray       W;

    PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
    MuonArrayAxpby(1, &W, 0, &e->layer[p].W);
    PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
    PetscCall(MuonTheoryCopyGradient_Private(layer, &e->layer[p].g));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int MuonTheoryCompare_Private(const void *a, const void *b)
{
  const PetscReal x = *(const PetscReal *)a, y = *(const PetscReal *)b;

  return (x > y) - (x < y);
}

static PetscReal MuonTheoryMedian_Private(PetscInt n, PetscReal x[])
{
  qsort(x, (size_t)n, sizeof(*x), MuonTheoryCompare_Private);
  return n == 0 ? 0 : (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* The Theil-Sen line, by the median of the slopes of all pairs; negative numbers become 0. fit is 1 if exact, 0 if no better than the median */
static PetscErrorCode MuonTheoryFit_Private(PetscInt n, const PetscReal x[], const PetscReal y[], MuonTheoryEstimate *result)
{
  PetscReal *slope, off = 0, all = 0, middle;
  PetscInt   count = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(PetscMax(n, n * (n - 1) / 2), &slope));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < i; j++) {
      if (x[i] != x[j]) slope[count++] = (y[i] - y[j]) / (x[i] - x[j]);
    }
  }
  result->l1 = MuonTheoryMedian_Private(count, slope);
  if (!(result->l1 > 0)) result->l1 = 0;
  for (PetscInt i = 0; i < n; i++) slope[i] = y[i] - result->l1 * x[i];
  result->l0 = MuonTheoryMedian_Private(n, slope);
  if (!(result->l0 > 0)) result->l0 = 0;
  for (PetscInt i = 0; i < n; i++) slope[i] = y[i];
  middle = MuonTheoryMedian_Private(n, slope);
  for (PetscInt i = 0; i < n; i++) {
    off += PetscAbsReal(y[i] - result->l0 - result->l1 * x[i]);
    all += PetscAbsReal(y[i] - middle);
  }
  result->fit = all > (PetscReal)n * PETSC_SQRT_MACHINE_EPSILON * middle ? 1 - off / all : 1; /* of ratios that rounding alone makes differ */
  PetscCall(PetscFree(slope));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the moved weights, with the gradient of the same samples there */
static PetscErrorCode MuonTheorySample_Private(Muon muon, PetscInt p)
{
  MuonTheorySamples *s     = &MuonTheoryOf(muon)->estimates->layer[p];
  const MuonLayer    layer = muon->shard[p].layer;
  MuonArray          W, g;
  PetscReal          moved, changed, own, factor, known[2];
  PetscBool          ours;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetRadiusFactor(layer, &factor));
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
  MuonArrayAxpby(1, &W, -1, &s->W);
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCall(MuonLayerComputeNormArray(layer, &s->W, PETSC_FALSE, &moved));
  /* W is scratch now: the change of the gradient, this worker's and the mean */
  PetscCall(MuonLayerGetGradientMemory(layer, &g, &ours));
  if (g.data == NULL) PetscCall(MuonArrayZero(&s->W));
  else MuonArrayAxpby(1, &g, 0, &s->W);
  PetscCall(MuonLayerRestoreGradientMemory(layer, &g));
  MuonArrayAxpby(-1, &s->g, 1, &s->W);
  PetscCall(MuonLayerComputeNormArray(layer, &s->W, PETSC_TRUE, &own));
  PetscCall(MuonTheoryMean_Private(muon, layer, &s->W, &changed));
  PetscCall(MuonTheoryMean_Private(muon, layer, &s->g, &s->dual));
  if (moved == 0 || factor == 0) PetscFunctionReturn(PETSC_SUCCESS);
  s->own = PetscMax(s->own, factor * factor * own / moved);
  /* Sums of MPI may differ in a last place between the ranks */
  known[0] = factor * s->dual;
  known[1] = factor * factor * changed / moved;
  PetscCallMPI(MPI_Bcast(known, 2, MPIU_REAL, 0, PetscObjectComm((PetscObject)muon)));
  s->at[s->result.samples % SAMPLES]    = known[0];
  s->ratio[s->result.samples % SAMPLES] = known[1];
  s->result.samples++;
  s->result.l = PetscMax(s->result.l, known[1]);
  PetscCall(MuonTheoryFit_Private(PetscMin(s->result.samples, SAMPLES), s->at, s->ratio, &s->result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the gradient of another batch at the moved weights, after that of the step's batch */
static PetscErrorCode MuonTheoryNoise_Private(Muon muon, PetscInt p)
{
  MuonTheoryEstimates e     = MuonTheoryOf(muon)->estimates;
  MuonTheorySamples  *s     = &e->layer[p];
  const MuonLayer     layer = muon->shard[p].layer;
  MuonArray           g;
  PetscBool           ours;
  double              sums[2]; /* of L_j^2 over the workers; their largest sigma^2 */

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientMemory(layer, &g, &ours));
  if (g.data != NULL) MuonArrayAxpby(-1, &g, 1, &s->g);
  PetscCall(MuonLayerRestoreGradientMemory(layer, &g));
  s->squares += (PetscReal)MuonLayerSumSquares(&s->g) / 2;
  sums[0] = (double)(s->own * s->own);
  sums[1] = (double)s->squares / (double)(e->count + 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sums[0], 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)muon)));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sums[1], 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)muon)));
  PetscCallMPI(MPI_Bcast(sums, 2, MPI_DOUBLE, 0, PetscObjectComm((PetscObject)muon)));
  s->result.lt      = PetscMax((PetscReal)sqrt(sums[0] / muon->size), s->result.l);
  s->result.sigma   = (PetscReal)sqrt(sums[1]);
  s->result.batches = e->asked ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheoryCSV_Private(Muon muon)
{
  const MuonTheoryEstimates e      = MuonTheoryOf(muon)->estimates;
  FILE                     *file   = NULL;
  PetscMPIInt               failed = 0;

  PetscFunctionBegin;
  if (MuonTheoryOf(muon)->csv == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (muon->rank == 0) {
    file   = fopen(MuonTheoryOf(muon)->csv, e->count == 0 && muon->continues == PETSC_FALSE ? "w" : "a");
    failed = file == NULL;
    if (!failed && e->count == 0 && muon->continues == PETSC_FALSE) failed = fputs("step,layer,dual_norm,ratio,l,lt,l0,l1,fit,sigma,batches\n", file) < 0;
    for (PetscInt p = 0; p < e->layers && !failed; p++) {
      const MuonTheorySamples  *s = &e->layer[p];
      const MuonTheoryEstimate *r = &s->result;
      const PetscInt            k = (r->samples + SAMPLES - 1) % SAMPLES;

      if (r->samples > 0)
        failed = fprintf(file, "%" PetscInt_FMT ",%s,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%s\n", muon->step, ((PetscObject)muon->shard[p].layer)->name, (double)s->at[k], (double)s->ratio[k], (double)r->l, (double)r->lt, (double)r->l0,
                         (double)r->l1, (double)r->fit, (double)r->sigma, r->batches ? "same" : "fresh") < 0;
    }
    if (file != NULL) failed = fclose(file) != 0 || failed;
  }
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, PetscObjectComm((PetscObject)muon)));
  PetscCheck(!failed, PetscObjectComm((PetscObject)muon), PETSC_ERR_FILE_WRITE, "-%smuon_theory_csv %s: the file cannot be written", MuonPrefix(muon), MuonTheoryOf(muon)->csv);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constants times the safety, for the theorem of auto */
static PetscErrorCode MuonTheoryAuto_Private(Muon muon)
{
  const MuonTheoryEstimates e      = MuonTheoryOf(muon)->estimates;
  const PetscReal           safety = MuonTheoryOf(muon)->safety;
  MuonTheoryConstants      *given;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(e->layers, &given));
  for (PetscInt p = 0; p < e->layers; p++) {
    const MuonTheoryEstimate *r   = &e->layer[p].result;
    const MuonTheoryConstants own = {safety * r->l, safety * r->lt, safety * r->l0, safety * r->l1, -1, -1, safety * r->sigma, -1, -1, -1};

    given[p] = own;
  }
  PetscCall(MuonTheoryApply_Private(muon, given));
  PetscCall(PetscFree(given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTheoryEvaluate_Private(Muon muon, MuonEvaluation evaluation)
{
  PetscReal loss = 0;

  PetscFunctionBegin;
  MuonTheoryOf(muon)->evaluation = evaluation;
  PetscCall(MuonErrorOfAll_Private(muon, "MuonSetObjectiveAndGradient()", (*muon->objective)(muon, &loss, muon->objectivectx)));
  MuonTheoryOf(muon)->evaluation = MUON_EVALUATION_STEP;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonTheoryEstimateEnd_Private(Muon muon, PetscBool ok)
{
  MuonTheoryEstimates e = MuonTheoryOf(muon)->estimates;

  PetscFunctionBegin;
  if (e == NULL || e->due == PETSC_FALSE || ok == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonTheoryEvaluate_Private(muon, MUON_EVALUATION_AGAIN));
  for (PetscInt p = 0; p < e->layers; p++) {
    PetscCall(MuonTheorySample_Private(muon, p));
    PetscCall(MuonTheoryCopyGradient_Private(muon->shard[p].layer, &e->layer[p].g));
  }
  e->asked = MuonTheoryOf(muon)->asked;
  PetscCall(MuonTheoryEvaluate_Private(muon, MUON_EVALUATION_OTHER));
  for (PetscInt p = 0; p < e->layers; p++) {
    PetscCall(MuonTheoryNoise_Private(muon, p));
    PetscCall(MuonLayerInvalidateGradient(muon->shard[p].layer));
  }
  PetscCall(MuonTheoryCSV_Private(muon));
  e->count++;
  if (MuonTheoryOf(muon)->monitor) PetscCall(MuonTheoryEstimateView_Private(muon));
  if (MuonTheoryOf(muon)->type == MUON_THEORY_AUTO && e->count == MuonTheoryOf(muon)->auto_steps) PetscCall(MuonTheoryAuto_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonTheoryEstimateView_Private(Muon muon)
{
  const MPI_Comm            comm = PetscObjectComm((PetscObject)muon);
  const MuonTheoryEstimates e    = MuonTheoryOf(muon)->estimates;

  PetscFunctionBegin;
  if (e == NULL || e->count == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(comm, "theory: estimates along the path until step %" PetscInt_FMT "%s\n", muon->step, e->asked ? "" : ", of fresh batches: the routine did not ask MuonGetEvaluation()"));
  PetscCall(PetscPrintf(comm, "  layer: samples, L, Lt, L0 + L1 ||grad f||_*, fit, sigma\n"));
  for (PetscInt p = 0; p < e->layers; p++) {
    const MuonTheoryEstimate *r = &e->layer[p].result;

    PetscCall(PetscPrintf(comm, "  %s: %" PetscInt_FMT ", %g, %g, %g + %g ||grad f||_*, %.3f, %g\n", ((PetscObject)muon->shard[p].layer)->name, r->samples, (double)r->l, (double)r->lt, (double)r->l0, (double)r->l1, (double)r->fit, (double)r->sigma));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetEvaluation - Tells the routine for gradients which samples it should use

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. evaluation - the kind of evaluation in this step

  Level: advanced

  Note:
  A routine of `MuonSetObjectiveAndGradient()` that draws samples calls this with `-muon_theory_estimate`. Otherwise the
  smoothness is estimated from different batches, which adds their noise, and tables say so.

.seealso: `Muon`, `MuonEvaluation`, `MuonSetObjectiveAndGradient()`, `MuonGetTheoryEstimate()`
@*/
PetscErrorCode MuonGetEvaluation(Muon muon, MuonEvaluation *evaluation)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, evaluation, MuonTheoryOf(muon)->evaluation);
  MuonTheoryOf(muon)->asked = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetTheoryEstimate - Gets the smoothness and the noise of a layer, estimated along a run

  Not Collective

  Input Parameters:
+ muon  - the optimizer
- layer - one of its layers

  Output Parameter:
. estimate - the constants, with 0 samples if there are none

  Options Database Keys:
+ -muon_theory_estimate n - estimates every n steps
. -muon_theory_csv file   - writes each estimate to a file, a row a layer
- -muon_theory_monitor    - prints each estimate

  Level: advanced

  Notes:
  After such a step the routine of `MuonSetObjectiveAndGradient()` is called at the new weights W+ with the same samples, and
  once more with others, see `MuonEvaluation`. A sample is ||g(W+) - g(W)||_* / ||W+ - W|| in the norm of the layer divided by
  scale x shape factor. Here g is the mean gradient over the workers, summed without compression. The largest sample is a
  lower bound of the true constant if the gradient of a layer depends on that layer alone.

  Neither weights nor state change. `MuonSolve()` prints a table at its end. `-ef21_monitor_compression` measures the
  contraction of messages.

.seealso: `Muon`, `MuonTheoryEstimate`, `MuonGetEvaluation()`, `MuonTheory`, `MuonEF21GetLayerCompression()`
@*/
PetscErrorCode MuonGetTheoryEstimate(Muon muon, MuonLayer layer, MuonTheoryEstimate *estimate)
{
  MuonShard *shard;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(estimate, 3);
  PetscCall(PetscMemzero(estimate, sizeof(*estimate)));
  if (MuonTheoryOf(muon)->estimates == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonShardFind(muon, layer, &shard));
  if (shard != NULL) *estimate = MuonTheoryOf(muon)->estimates->layer[shard - muon->shard].result;
  PetscFunctionReturn(PETSC_SUCCESS);
}
