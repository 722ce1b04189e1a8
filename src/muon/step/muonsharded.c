#include "muonstep.h"

/*
   Workers of several ranks: whole gradients are summed over them, and whole weights gathered.
*/

/*
   Begins the sum of whole gradients over the ranks of a worker, each of which gets its rows. A rank that has
   none adds zeros. Sums are on the host
*/
static PetscErrorCode MuonShardSum_Private(MuonShard *shard, const MuonArray *packed)
{
  MuonArray whole;
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientMemory(shard->layer, &whole, &ours));
  if (whole.data == NULL) {
    PetscCall(MuonArrayZero(packed));
    whole = *packed;
  }
  PetscCall(MuonArrayOnHost(&whole, PETSC_TRUE, &shard->full.staged[0]));
  PetscCall(MuonArrayOnHost(&shard->full.mean, PETSC_FALSE, &shard->full.staged[1]));
  PetscCall(MuonRowsSumStart(shard->group->grid->inside, shard->ranges, shard->group->grid->share, &shard->full.staged[0], packed, &shard->full.staged[1], &shard->group->bytes, &shard->full.request));
  if (whole.memory == MUON_HOST) shard->full.staged[0].data = NULL;
  if (shard->full.mean.memory == MUON_HOST) shard->full.staged[1].data = NULL;
  if (whole.data != packed->data) PetscCall(MuonLayerRestoreGradientMemory(shard->layer, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonShardSumWait_Private(MuonShard *shard)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Wait(&shard->full.request, MPI_STATUS_IGNORE));
  if (shard->full.staged[1].data != NULL) PetscCall(MuonArrayOffHost(&shard->full.mean, PETSC_TRUE, &shard->full.staged[1]));
  PetscCall(MuonArrayDestroy(&shard->full.staged[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardDropSum_Private(MuonShard *shard)
{
  PetscFunctionBegin;
  if (shard->full.request != MPI_REQUEST_NULL) PetscCall(MuonShardSumWait_Private(shard));
  if (shard->begun) {
    PetscCall(MuonExchangeReduceEnd(shard->group->exchange));
    for (PetscInt k = 0; k < shard->group->nshards; k++) shard->group->shard[k].begun = PETSC_FALSE; /* the others begin again in the step */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardReady_Private(void *ctx)
{
  MuonShard *shard = (MuonShard *)ctx;
  MuonArray  whole;

  PetscFunctionBegin;
  PetscCall(MuonShardDropSum_Private(shard)); /* said again, of another gradient: its step never came */
  if (shard->full.mean.data == NULL) {
    PetscCall(MuonWorkerBeginSum_Private(shard->muon, shard));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (shard->full.packed.data == NULL) {
    PetscCall(MuonLayerGetWholeShape(shard->layer, &whole));
    whole.memory = MUON_HOST;
    PetscCall(MuonArrayCreate(&whole, whole.precision, &shard->full.packed));
  }
  PetscCall(MuonShardSum_Private(shard, &shard->full.packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardAverage_Private(Muon muon, MuonShard *shard)
{
  MuonArray shape, packed;

  PetscFunctionBegin;
  if (shard->full.mean.data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_Exchange, muon, 0, 0, 0));
  if (shard->full.request == MPI_REQUEST_NULL) {
    PetscCall(MuonLayerGetWholeShape(shard->layer, &shape));
    shape.memory = MUON_HOST;
    PetscCall(MuonWorkspaceGetArray(muon->work, MUON_WORK_STEP_A, &shape, shape.precision, &packed));
    PetscCall(MuonShardSum_Private(shard, &packed));
  }
  PetscCall(MuonShardSumWait_Private(shard));
  PetscCall(PetscLogEventEnd(MUON_Exchange, muon, 0, 0, 0));
  MuonArrayAxpby(1 / (double)shard->group->grid->size, &shard->full.mean, 0, &shard->full.mean);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonShardGather_Private(Muon muon, MuonShard *shard, const MuonArray *rows, const MuonArray *whole)
{
  MuonArray packed;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, muon, 0, 0, 0));
  PetscCall(MuonWorkspaceGetArray(muon->work, MUON_WORK_STEP_A, whole, whole->precision, &packed));
  PetscCall(MuonRowsGather(shard->group->grid->inside, shard->ranges, rows, whole, &packed, &shard->group->bytes));
  PetscCall(PetscLogEventEnd(MUON_Exchange, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
