#include "../../plan/muonplan.h" /*I "petscmuon.h" I*/

typedef struct {
  PetscBool wanted, done;
} MuonTest;

/* What losses and gradients of a layer are rounded to */
static double MuonTestEpsilon_Private(const MuonArray *W)
{
  return W->precision == MUON_SINGLE ? (double)FLT_EPSILON : PetscMax((double)PETSC_MACHINE_EPSILON, DBL_EPSILON);
}

/*
   Entries of a layer, numbered by rows, along which a derivative is taken, with random signs that do not depend on the
   distribution; a single entry has the sign plus. The result, on every rank: the derivative of the mean loss by the gradients,
   by differences, and the tolerance for their difference
*/
typedef struct {
  PetscInt64 begin, end;
  PetscBool  alone;
  double     slope, difference, limit;
} MuonTestEntries;

static PetscErrorCode MuonTestDirection_Private(Muon muon, MuonLayer layer, PetscInt first, const MuonTestEntries *entries, const MuonArray *D)
{
  const MuonKernelStream stream  = {(uint64_t)muon->seed, layer->hash, 0, 0, 0};
  const size_t           columns = MuonArrayColumns(D);
  uint32_t              *words;
  MuonArray              host;

  PetscFunctionBegin;
  PetscCall(MuonArrayOnHost(D, PETSC_FALSE, &host));
  PetscCall(PetscMalloc1(columns, &words));
  for (size_t i = 0; i < MuonArrayRows(D); i++) {
    MuonKernelStreamWords(&stream, ((uint64_t)first + i) * columns, columns, words);
    for (size_t j = 0; j < columns; j++) {
      const PetscInt64 entry = (PetscInt64)(((size_t)first + i) * columns + j);

      /* Of a complex number two, so that a gradient that is the conjugate of it is seen */
      for (int k = 0; k <= host.pairs; k++) {
        const double sign = entry < entries->begin || entry >= entries->end ? 0 : words[j] >> (31 - k) & 1 && entries->alone == PETSC_FALSE ? -1 : 1;

        if (host.precision == MUON_SINGLE) ((float *)MuonArrayAt(&host, i, j))[k] = (float)sign;
        else ((double *)MuonArrayAt(&host, i, j))[k] = sign;
      }
    }
  }
  PetscCall(PetscFree(words));
  PetscCall(MuonArrayOffHost(D, PETSC_TRUE, &host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* <G,D> of the mean gradient over the workers as far as this rank adds to it, times the number of ranks */
static PetscErrorCode MuonTestSlope_Private(Muon muon, PetscInt l, const MuonTestEntries *entries, double *slope)
{
  const MuonWorkerGrid grid  = MuonGridOf(muon, l);
  const MuonLayer      layer = muon->layer[l];
  MuonArray            G, D;
  PetscBool            ours;

  PetscFunctionBegin;
  *slope = 0;
  PetscCall(MuonLayerGetGradientMemory(layer, &G, &ours));
  if (G.data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonArrayCreate(&G, G.precision, &D));
  PetscCall(MuonTestDirection_Private(muon, layer, layer->wholegradient ? 0 : layer->first, entries, &D));
  *slope = MuonArrayKernels(&G)->Dot(G.len, G.count, G.data, G.ld, D.data, D.ld);
  if (layer->ranks > 1 && layer->wholegradient == PETSC_FALSE) *slope *= layer->ranks * (grid->weight != NULL ? grid->weight[grid->worker] : 1);
  else if (muon->weights != NULL) *slope *= muon->weights[muon->rank];
  PetscCall(MuonArrayDestroy(&D));
  PetscCall(MuonLayerRestoreGradientMemory(layer, &G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   (f(W + k h D) - f(W - k h D)) / 2 k h of this rank's loss for k = 1 and 2, and the error of the first by rounding and noise of
   the losses; here is the loss at W. The weights are restored bit for bit
*/
static PetscErrorCode MuonTestDifference_Private(Muon muon, MuonLayer layer, const MuonTestEntries *entries, PetscReal here, double difference[2], double *rounding)
{
  const double weight = muon->weights != NULL ? muon->weights[muon->rank] : 1;
  MuonArray    W, D, before;
  PetscReal    loss[5];
  double       most, h, epsilon;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCall(MuonArrayCreate(&W, W.precision, &D));
  PetscCall(MuonArrayCreate(&W, W.precision, &before));
  MuonArrayAxpby(1, &W, 0, &before);
  most = W.data != NULL ? MuonArrayKernels(&W)->MaxAbs(W.len, W.count, W.data, W.ld) : 0;
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCall(MuonTestDirection_Private(muon, layer, layer->first, entries, &D));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)muon)));
  epsilon = MuonTestEpsilon_Private(&W);
  h       = cbrt(epsilon) * PetscMax(most, 1e-3);
  for (int k = 0; k < 5; k++) {
    PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_TRUE, &W));
    MuonArrayAxpby(1, &before, 0, &W);
    if (k < 4) MuonArrayAxpby((k % 2 == 0 ? h : -h) * (1 + k / 2), &D, 1, &W);
    PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_TRUE, &W));
    loss[k] = 0;
    PetscCall(MuonErrorOfAll_Private(muon, "MuonSetObjectiveAndGradient()", (*muon->objective)(muon, &loss[k], muon->objectivectx))); /* sums begin in a step alone */
  }
  for (int k = 0; k < 2; k++) difference[k] = weight * ((double)loss[2 * k] - (double)loss[2 * k + 1]) / (2 * h * (1 + k));
  *rounding = weight * 10 * PetscMax(epsilon * PetscMax(fabs((double)loss[0]), fabs((double)loss[1])), fabs((double)loss[4] - (double)here)) / h;
  PetscCall(MuonArrayDestroy(&before));
  PetscCall(MuonArrayDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The differences with h and 2 h are apart by three times the error of the first, where losses are smooth
*/
static PetscErrorCode MuonTestEntries_Private(Muon muon, PetscInt l, MuonTestEntries *entries)
{
  PetscReal loss = 0;
  MuonArray shape;
  double    d[4];

  PetscFunctionBegin;
  PetscCall(MuonErrorOfAll_Private(muon, "MuonSetObjectiveAndGradient()", (*muon->objective)(muon, &loss, muon->objectivectx)));
  PetscCall(MuonTestSlope_Private(muon, l, entries, &d[0]));
  PetscCall(MuonTestDifference_Private(muon, muon->layer[l], entries, loss, &d[1], &d[3]));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, d, 4, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)muon)));
  shape               = muon->layer[l]->shape;
  entries->slope      = d[0] / muon->size;
  entries->difference = d[1] / muon->size;
  entries->limit      = (4 * fabs(d[1] - d[2]) + d[3]) / muon->size + sqrt(MuonTestEpsilon_Private(&shape)) * PetscMax(fabs(entries->slope), fabs(entries->difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bisects the entries of a layer with a wrong gradient, into the half with the larger error; if the entry found is right, the losses have a kink */
static PetscErrorCode MuonTestFindEntry_Private(Muon muon, PetscInt l, MuonTestEntries entries, PetscBool *wrong)
{
  const MuonLayer layer = muon->layer[l];
  PetscInt64      i, j;

  PetscFunctionBegin;
  for (double off = entries.slope - entries.difference; entries.end - entries.begin > 1;) {
    MuonTestEntries half = {entries.begin, (entries.begin + entries.end) / 2, PETSC_FALSE, 0, 0, 0};
    double          part;

    PetscCall(MuonTestEntries_Private(muon, l, &half));
    part = half.slope - half.difference;
    if (fabs(part) >= fabs(off - part)) entries.end = half.end;
    else {
      entries.begin = half.end;
      part          = off - part;
    }
    off = part;
  }
  entries.alone = PETSC_TRUE;
  PetscCall(MuonTestEntries_Private(muon, l, &entries));
  *wrong = fabs(entries.slope - entries.difference) <= entries.limit ? PETSC_FALSE : PETSC_TRUE;
  if (*wrong == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  i = entries.begin / layer->n;
  j = entries.begin % layer->n;
  if (MuonLayerColumns(layer) != layer->n && layer->rowmajor == PETSC_FALSE) { /* those of a range of a parallel vector are numbered as they lie in memory */
    i = entries.begin % layer->m;
    j = entries.begin / layer->m;
  }
  PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "  which is wrong: its entry (%" PetscInt64_FMT ",%" PetscInt64_FMT ") is %.9g, by differences %.9g\n", i, j, entries.slope, entries.difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTestGradient_Private(Muon muon, PetscReal *error)
{
  MPI_Comm  comm  = PetscObjectComm((PetscObject)muon);
  PetscReal worst = 0;
  PetscInt  wrong = 0, rough = 0;

  PetscFunctionBegin;
  ((MuonTest *)MuonAddonData(muon, "testgradient"))->done = PETSC_TRUE;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer       layer = muon->layer[l];
    MuonTestEntries all   = {0, (PetscInt64)layer->m * layer->n, PETSC_FALSE, 0, 0, 0};
    PetscBool       isoff = PETSC_FALSE;
    double          size, off;

    if (layer->frozen) continue;
    PetscCall(MuonTestEntries_Private(muon, l, &all));
    size = PetscMax(fabs(all.slope), fabs(all.difference));
    off  = all.slope == all.difference ? 0 : fabs(all.slope - all.difference) / size;
    if (!(off <= (double)worst)) worst = (PetscReal)off;
    PetscCall(PetscPrintf(comm, "gradient of layer %s: %.9g along a random direction, by differences %.9g, relative error %.3g\n", ((PetscObject)layer)->name, all.slope, all.difference, off));
    if (!(fabs(all.slope - all.difference) <= all.limit)) PetscCall(MuonTestFindEntry_Private(muon, l, all, &isoff));
    if (isoff) wrong++;
    else if (all.limit > size / 10) {
      rough++;
      PetscCall(PetscPrintf(comm, "  of which nothing can be told: the differences may be off by %.3g; does each call use the same samples?\n", all.limit));
    }
  }
  PetscCheck(wrong == 0 || error != NULL, comm, PETSC_ERR_USER, "-%smuon_test_gradient: the gradients are wrong in %" PetscInt_FMT " of %" PetscInt_FMT " layers", MuonPrefix(muon), wrong, muon->nactive);
  if (wrong > 0) PetscCall(PetscPrintf(comm, "-%smuon_test_gradient: the gradients are wrong in %" PetscInt_FMT " of %" PetscInt_FMT " layers\n", MuonPrefix(muon), wrong, muon->nactive));
  else PetscCall(PetscPrintf(comm, "-%smuon_test_gradient: the gradients are probably right%s\n", MuonPrefix(muon), rough > 0 ? " where that can be told" : ""));
  if (error != NULL) *error = worst;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonTestGradient - Compares the gradients of the user's routine with finite differences of its losses

  Collective

  Input Parameter:
. muon - the optimizer, with a routine of `MuonSetObjectiveAndGradient()`

  Output Parameter:
. error - the largest relative error over the layers; with `NULL` a wrong gradient is an error on all ranks

  Options Database Key:
. -muon_test_gradient - tests the gradients at the first step, which ends with an error if one is wrong

  Level: intermediate

  Notes:
  One line for each layer shows the derivative of the mean loss along a random direction with entries 1 and -1, by the
  gradients and by central differences, and their relative difference. All entries of the layer contribute, so that an
  error in some of them shows.

  The tolerance follows from the differences themselves. Differences with twice the step estimate their error. The size
  of the losses, and two losses at the same weights, estimate rounding and noise. A gradient outside the tolerance is
  wrong, and a wrong entry is found by bisection. If the differences have a relative error above a tenth, the line says
  that they decide nothing. The last line says whether the gradients are probably right.

  The routine is called six times for each layer in the same step, and more often for a bisection. It must use the same
  samples each time, chosen by `MuonGetStepNumber()` for example. The weights do not change.

.seealso: `Muon`, `MuonSetObjectiveAndGradient()`, `MuonStep()`
@*/
PetscErrorCode MuonTestGradient(Muon muon, PetscReal *error)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(muon->objective != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%smuon_test_gradient: there is nothing to call, expected a routine of MuonSetObjectiveAndGradient()", MuonPrefix(muon));
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonTestGradient_Private(muon, error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonTestStart_Private(Muon muon)
{
  const MuonTest *test = (const MuonTest *)MuonAddonData(muon, "testgradient");

  PetscFunctionBegin;
  if (test->wanted && test->done == PETSC_FALSE) PetscCall(MuonTestGradient(muon, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MuonParameter MuonTestParameters[] = {{"test_gradient", MUON_PARAMETER_BOOL, offsetof(MuonTest, wanted), 0, 0, 1, NULL, MUON_PARAMETER_DATA | MUON_PARAMETER_FIXED, "Compare gradients with differences of losses at the first step"},
                                                   {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

PETSC_INTERN PetscErrorCode MuonAddonRegister_TestGradient(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.rows  = MuonTestParameters;
  ops.size  = sizeof(MuonTest);
  ops.start = MuonTestStart_Private;
  PetscCall(MuonAddonRegister("testgradient", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
