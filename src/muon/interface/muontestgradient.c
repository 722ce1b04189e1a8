#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/
#include <float.h>
#include <math.h>

/* The routine of the user's at the weights as they are, of which this rank's loss is wanted; sums that it began are of no use */
static PetscErrorCode MuonTestLoss_Private(Muon muon, PetscReal *loss)
{
  PetscFunctionBegin;
  *loss = 0;
  for (PetscInt p = 0; p < muon->npieces; p++) PetscCall(MuonPieceDropSum_Private(&muon->piece[p]));
  PetscCall((*muon->objective)(muon, loss, muon->objectivectx));
  for (PetscInt p = 0; p < muon->npieces; p++) PetscCall(MuonPieceDropSum_Private(&muon->piece[p]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries 1 and -1 at random in the rows from first on of a matrix, the same whatever rows a rank has */
static PetscErrorCode MuonTestDirection_Private(Muon muon, MuonLayer layer, PetscInt first, const MuonArray *D)
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
      const double sign = words[j] >> 31 ? -1 : 1;

      if (host.precision == MUON_SINGLE) *(float *)MuonArrayAt(&host, i, j) = (float)sign;
      else *(double *)MuonArrayAt(&host, i, j) = sign;
    }
  }
  PetscCall(PetscFree(words));
  PetscCall(MuonArrayOffHost(D, PETSC_TRUE, &host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* <G,D> of the mean gradient over the workers as far as this rank adds to it, times the number of ranks */
static PetscErrorCode MuonTestSlope_Private(Muon muon, MuonPartition partition, MuonLayer layer, double *slope)
{
  MuonArray G, D;
  PetscBool ours;

  PetscFunctionBegin;
  *slope = 0;
  PetscCall(MuonLayerGetGradientMemory(layer, &G, &ours));
  if (G.data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonArrayCreate(&G, G.precision, &D));
  PetscCall(MuonTestDirection_Private(muon, layer, layer->wholegradient ? 0 : layer->first, &D));
  *slope = MuonArrayKernels(&G)->Dot(G.m, G.n, G.data, G.ld, D.data, D.ld);
  if (layer->ranks > 1 && layer->wholegradient == PETSC_FALSE) *slope *= layer->ranks * (partition->weight != NULL ? partition->weight[partition->worker] : 1);
  else if (muon->weights != NULL) *slope *= muon->weights[muon->rank];
  PetscCall(MuonArrayDestroy(&D));
  PetscCall(MuonLayerRestoreGradientMemory(layer, &G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (f(W + h D) - f(W - h D)) / 2 h of this rank's loss; the weights become what they were, bit for bit */
static PetscErrorCode MuonTestDifference_Private(Muon muon, MuonLayer layer, double *difference)
{
  MuonArray W, D, before;
  PetscReal loss[2];
  double    most, h;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCall(MuonArrayCreate(&W, W.precision, &D));
  PetscCall(MuonArrayCreate(&W, W.precision, &before));
  MuonArrayAxpby(1, &W, 0, &before);
  most = W.data != NULL ? MuonArrayKernels(&W)->MaxAbs(W.m, W.n, W.data, W.ld) : 0;
  PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
  PetscCall(MuonTestDirection_Private(muon, layer, layer->first, &D));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)muon)));
  h = cbrt(W.precision == MUON_SINGLE ? (double)FLT_EPSILON : PetscMax((double)PETSC_MACHINE_EPSILON, DBL_EPSILON)) * PetscMax(most, 1e-3);
  for (int k = 0; k < 3; k++) {
    PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_TRUE, &W));
    MuonArrayAxpby(1, &before, 0, &W);
    if (k < 2) MuonArrayAxpby(k == 0 ? h : -h, &D, 1, &W);
    PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_TRUE, &W));
    if (k < 2) PetscCall(MuonTestLoss_Private(muon, &loss[k]));
  }
  *difference = ((double)loss[0] - (double)loss[1]) / (2 * h) * (muon->weights != NULL ? muon->weights[muon->rank] : 1);
  PetscCall(MuonArrayDestroy(&before));
  PetscCall(MuonArrayDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonTestGradient - Compares the gradients that the user's routine gives with differences of its losses

  Collective

  Input Parameter:
. muon - the optimizer, with a routine of `MuonSetObjectiveAndGradient()`

  Output Parameter:
. error - the largest relative error over the layers; may be `NULL`

  Options Database Key:
. -muon_test_gradient - does it at the first step

  Level: intermediate

  Notes:
  One line a layer tells the derivative of the mean loss along one random direction, whose entries are 1 and -1, as the gradients have it and as central differences have it, and how far they differ over the larger of the two. All entries
  of the layer are in it\: a gradient that is wrong in some of them shows. With double precision a right gradient differs by 1e-6 or less, with single by 1e-2.

  The routine is called once, and twice more for each layer, in the same step\: a program that draws its samples anew in each call, and not by `MuonGetStepNumber()`, is compared with noise. The weights are what they were afterwards.

.seealso: `Muon`, `MuonSetTestGradient()`, `MuonSetObjectiveAndGradient()`, `MuonStep()`
@*/
PetscErrorCode MuonTestGradient(Muon muon, PetscReal *error)
{
  MPI_Comm  comm = PetscObjectComm((PetscObject)muon);
  PetscReal loss, worst = 0;
  double    d[2];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(muon->objective != NULL, comm, PETSC_ERR_ORDER, "-%smuon_test_gradient: there is nothing to call, expected a routine of MuonSetObjectiveAndGradient()", MuonPrefix(muon));
  PetscCall(MuonSetUp(muon));
  muon->gradienttested = PETSC_TRUE;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer layer = muon->layer[l];
    double    off;

    if (layer->frozen) continue;
    PetscCall(MuonTestLoss_Private(muon, &loss));
    PetscCall(MuonTestSlope_Private(muon, muon->partition[muon->partition_of[l]], layer, &d[0]));
    PetscCall(MuonTestDifference_Private(muon, layer, &d[1]));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, d, 2, MPI_DOUBLE, MPI_SUM, comm));
    off = d[0] == d[1] ? 0 : fabs(d[0] - d[1]) / PetscMax(fabs(d[0]), fabs(d[1]));
    if (!(off <= (double)worst)) worst = (PetscReal)off;
    PetscCall(PetscPrintf(comm, "gradient of layer %s: %.9g along a random direction, by differences %.9g, relative error %.3g\n", ((PetscObject)layer)->name, d[0] / muon->size, d[1] / muon->size, off));
  }
  if (error != NULL) *error = worst;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetTestGradient - Sets whether the first step calls `MuonTestGradient()`

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- test - whether it does

  Options Database Key:
. -muon_test_gradient test - whether it does

  Level: intermediate

.seealso: `Muon`, `MuonTestGradient()`, `MuonGetTestGradient()`
@*/
PetscErrorCode MuonSetTestGradient(Muon muon, PetscBool test)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveBool(muon, test, 2);
  /* The set-up compares what the ranks chose, before any of them waits for the others */
  PetscCheck(muon->setupcalled == PETSC_FALSE || test == muon->test_gradient, PetscObjectComm((PetscObject)muon), PETSC_ERR_ORDER, "-%smuon_test_gradient must be set before MuonSetUp(); call MuonTestGradient() after it", MuonPrefix(muon));
  muon->test_gradient = test;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetTestGradient - Gets whether the first step calls `MuonTestGradient()`

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. test - whether it does

  Level: intermediate

.seealso: `Muon`, `MuonSetTestGradient()`
@*/
PetscErrorCode MuonGetTestGradient(Muon muon, PetscBool *test)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, test, muon->test_gradient);
  PetscFunctionReturn(PETSC_SUCCESS);
}
