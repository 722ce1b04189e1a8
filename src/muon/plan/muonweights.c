#include "muonplan.h" /*I "petscmuon.h" I*/

/*
   Workers that have unequal numbers of samples. Weights are kept with the mean 1, so that a sum of weighted
   terms over their number is the mean.
*/

PetscErrorCode MuonSetUpWeights_Private(Muon muon)
{
  const double mine = (double)muon->worker_weight;
  double       sum  = 0;
  PetscMPIInt  bad  = muon->size;
  PetscBool    same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscFree(muon->weights));
  PetscCall(PetscMalloc1(muon->size, &muon->weights));
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_DOUBLE, muon->weights, 1, MPI_DOUBLE, PetscObjectComm((PetscObject)muon)));
  for (PetscMPIInt r = muon->size - 1; r >= 0; r--) {
    if (!(muon->weights[r] >= 0 && muon->weights[r] < HUGE_VAL)) bad = r;
    if (muon->weights[r] != muon->weights[0]) same = PETSC_FALSE;
    sum += muon->weights[r];
  }
  PetscCheck(bad == muon->size, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "MuonSetWorkerWeight(): %g of rank %d must be finite and at least 0", muon->weights[bad % muon->size], bad);
  PetscCheck(sum > 0 && sum < HUGE_VAL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "MuonSetWorkerWeight(): the sum over the ranks is %g, expected a positive and finite one", sum);
  if (same) PetscCall(PetscFree(muon->weights));
  for (PetscMPIInt r = 0; r < muon->size && muon->weights != NULL; r++) muon->weights[r] *= (double)muon->size / sum;
  for (PetscInt p = 0; p < muon->ngrids && muon->weights != NULL; p++) {
    const MuonWorkerGrid grid = muon->grid[p];

    PetscCall(PetscCalloc1(grid->nworkers, &grid->weight));
    for (PetscMPIInt r = 0; r < muon->size; r++) grid->weight[grid->worker_of[r]] += muon->weights[r] / grid->size;
    if (grid->weight[grid->worker] > 0) grid->share = muon->weights[muon->rank] / grid->weight[grid->worker];
    if (muon->nested != NULL) PetscCall(PetscFree(grid->weight)); /* a worker alone forms no mean with others */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetWorkerWeight - Sets the weight of this rank's gradients and losses in means over the workers

  Not Collective

  Input Parameters:
+ muon   - the optimizer
- weight - the weight, finite and at least 0, such as the number of this rank's samples; the sum over the ranks must be positive

  Level: intermediate

  Notes:
  The default is 1. Means of gradients, momenta, messages of `MUONEF21` and losses become weighted means. If each rank
  gives the mean over its own samples and has their number as its weight, the step is that of the mean over all
  samples.

  A worker of several ranks, which share the rows of a matrix, has the sum of their weights.

  It is fixed at `MuonSetUp()`. `MUONSIGN` refuses unequal weights. State is saved with the weights of its
  workers. If a run continues with others, or with another number of workers, each worker gets the weighted mean of
  the workers' state.

.seealso: `Muon`, `MuonSetObjectiveAndGradient()`, `MuonGetLoss()`
@*/
PetscErrorCode MuonSetWorkerWeight(Muon muon, PetscReal weight)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(muon->setupcalled == PETSC_FALSE || weight == muon->worker_weight, PETSC_COMM_SELF, PETSC_ERR_ORDER, "MuonSetWorkerWeight() must be called before MuonSetUp(), or after MuonReset()");
  muon->worker_weight = weight;
  PetscFunctionReturn(PETSC_SUCCESS);
}
