#include "../../interface/muoninterface.h" /*I "petscmuon.h" I*/

/*
   Weights that the caller changed between two steps, and replicated weights that differ between ranks. A server with its own
   weights X steps from X. If the program changed the workers' weights W since the last step, it steps from W instead, and the
   step gives a new X; nothing changes before the commit. Servers without their own weights always step from W. Before a step
   each rank computes a checksum of a sample of its weights, another sample in each step, which the status reduction compares.
*/

typedef struct {
  PetscBool check;
} MuonWatch;

static inline PetscBool MuonWatches(Muon muon)
{
  return ((const MuonWatch *)MuonAddonData(muon, "watch"))->check;
}

/*@
  MuonGetMismatchedLayer - Gets the layer whose replicated weights differ between ranks

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. layer - the first such layer, borrowed, after a step that ended with `MUON_DIVERGED_WEIGHTS`; else `NULL`. The same on every rank

  Options Database Key:
. -muon_check_weights (true|false) - whether an optimizer detects weights that the caller changed, and weights that differ between ranks, true by default

  Level: intermediate

  Notes:
  In every step the ranks that hold the same rows compare a checksum of a 64th of the weights of each layer, another
  one each time. If it differs, the step ends with `MUON_DIVERGED_WEIGHTS` on every rank and nothing is applied. After
  64 steps all entries were compared. A layer whose rows are distributed over all ranks has no second copy to compare
  with; `MuonView()` says so. Frozen layers are not compared.

  If the caller changes weights between two steps, or in the routine of `MuonSetObjectiveAndGradient()`, the servers
  take over the new weights, with any compressor. Servers with their own copy of the weights, as those of `MUONEF21`
  with a lossy server compressor, detect the change by the state of the matrix or vector and a checksum of all of it.
  They then drop what was not sent yet, as `MuonWeightsChanged()` does.

  Changes that PETSc does not see, as in memory of `MuonAddLayerArray()` or of a matrix made around an array, are
  detected only if they are in the 64th of this step. Call `MuonWeightsChanged()` after such changes.

.seealso: `Muon`, `MuonWeightsChanged()`, `MuonGetConvergedReason()`
@*/
PetscErrorCode MuonGetMismatchedLayer(Muon muon, MuonLayer *layer)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, layer, muon->reason == MUON_DIVERGED_WEIGHTS ? muon->failed.layer : NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Servers with their own weights check those of the workers, first by the object state noted when the library last wrote them
*/
static PetscErrorCode MuonWatchShard_Private(Muon muon, MuonShard *shard)
{
  MuonLayerNote *note = shard->layer->note;

  PetscFunctionBegin;
  if (shard->X.data == NULL || MuonWatches(muon) == PETSC_FALSE) PetscCall(PetscFree(shard->layer->note));
  else if (note != NULL) PetscCall(MuonLayerWereWeightsEdited(shard->layer, &note->edited));
  else {
    PetscCall(PetscNew(&shard->layer->note));
    PetscCall(MuonLayerNoteWeights(shard->layer));
  }
  if (shard->layer->note != NULL && shard->layer->note->edited) PetscCall(PetscInfo(muon, "Layer \"%s\": its weights were changed before step %" PetscInt_FMT ", and its server takes them over\n", shard->name, muon->step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is written from now on is noted */
static PetscErrorCode MuonWatchSetUp_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) PetscCall(MuonWatchShard_Private(muon, &muon->shard[p]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonWatchBegin_Private(Muon muon, MuonRecord *record)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Measure, muon, 0, 0, 0));
  for (PetscInt p = 0; p < muon->nshards; p++) PetscCall(MuonWatchShard_Private(muon, &muon->shard[p]));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonGroup group = muon->group[g];

    group->alike = 0;
    if (MuonWatches(muon) == PETSC_FALSE || MuonGroupHasReplicas(muon, group) == PETSC_FALSE) continue;
    for (PetscInt k = 0; k < group->nshards; k++) PetscCall(MuonLayerHashWeights(group->shard[k].layer, muon->step % MUON_LAYER_SAMPLES, &group->alike));
  }
  PetscCall(PetscLogEventEnd(MUON_Measure, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first layer of which the sample of this step differs */
static PetscErrorCode MuonWatchDiffer_Private(Muon muon)
{
  MPI_Comm      comm = PetscObjectComm((PetscObject)muon);
  unsigned int *mine, *first;
  PetscInt      differs = 0, least;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(muon->nlayers, &mine, muon->nlayers, &first));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    if (muon->layer[l]->frozen == PETSC_FALSE) PetscCall(MuonLayerHashWeights(muon->layer[l], muon->step % MUON_LAYER_SAMPLES, &mine[l]));
  }
  PetscCall(PetscArraycpy(first, mine, muon->nlayers));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)muon->nlayers, MPI_UNSIGNED, 0, comm));
  PetscCall(MuonCompareRows_Private(muon, 1, 0, mine, first));
  while (differs < muon->nlayers && mine[differs] == first[differs]) differs++;
  PetscCallMPI(MPI_Allreduce(&differs, &least, 1, MPIU_INT, MPI_MIN, comm));
  PetscCall(PetscFree2(mine, first));
  muon->bytes[0] += (PetscLogDouble)(sizeof(differs) + (muon->rank == 0 ? (size_t)muon->nlayers * sizeof(*mine) : 0));
  for (PetscInt p = 0; p < muon->ngrids; p++) muon->bytes[0] += (PetscLogDouble)(muon->grid[p]->size > 1 && muon->grid[p]->worker == 0 ? (size_t)muon->nlayers * sizeof(*mine) : 0);
  muon->reason       = MUON_DIVERGED_WEIGHTS;
  muon->failed.layer = least < muon->nlayers ? muon->layer[least] : NULL;
  muon->failed.what  = "other weights on some ranks";
  PetscCall(PetscInfo(muon, "Layer \"%s\": its weights differ between the ranks before step %" PetscInt_FMT "\n", least < muon->nlayers ? ((PetscObject)muon->layer[least])->name : "", muon->step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const MuonParameter MuonWatchParameters[] = {{"check_weights", MUON_PARAMETER_BOOL, offsetof(MuonWatch, check), 1, 0, 1, NULL, MUON_PARAMETER_DATA, "Look for weights that others changed or that differ between ranks"},
                                                    {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

PETSC_INTERN PetscErrorCode MuonAddonRegister_Watch(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.rows   = MuonWatchParameters;
  ops.size   = sizeof(MuonWatch);
  ops.setup  = MuonWatchSetUp_Private;
  ops.begin  = MuonWatchBegin_Private;
  ops.differ = MuonWatchDiffer_Private;
  PetscCall(MuonAddonRegister("watch", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
