#include "muonstep.h" /*I "petscmuon.h" I*/

/*
   Weights that were edited by the caller between two steps, and replicated weights that differ between ranks.

   A server that keeps weights X of its own steps from X. Where the program changed the workers' weights W
   since the last step it steps from W instead, and the step makes a new X; nothing is touched before the commit.
   Servers that keep none step from W anyway.

   Before a step each rank has a checksum of a sample of its weights, another one in each step, which the
   status reduction compares.
*/

/*@
  MuonGetMismatchedLayer - Gets the layer whose weights differ between ranks that should hold the same

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. layer - the first such layer, borrowed, after a step that ended with `MUON_DIVERGED_WEIGHTS`; else `NULL`. The same on every rank

  Options Database Key:
. -muon_check_weights (true|false) - whether an optimizer looks for weights that were changed without its knowledge, and for weights that differ between ranks, which it does by default

  Level: intermediate

  Notes:
  In every step a checksum of a 64th of the weights of each layer, another one each time, is compared between
  the ranks that hold the same rows. Where it differs the step ends with `MUON_DIVERGED_WEIGHTS` on every
  rank and nothing is applied. After 64 steps all entries were looked at. A layer whose rows are spread over all
  ranks has no other copy to compare with; `MuonView()` says so. Frozen layers are not looked at.

  Weights that the caller changed between two steps, or in the routine of `MuonSetObjectiveAndGradient()`, are
  taken over by the servers of all compressors alike. Where servers keep weights of their own, as those of
  `MUONEF21` do behind a server compressor that leaves something out, they notice it by the state of the
  matrix or vector and a checksum of all of it\: what they had still to send is dropped then, as by
  `MuonWeightsChanged()`.

  What is not noticed\: a change behind the back of PETSc, as in memory of `MuonAddLayerArray()` or of a
  matrix made around an array, where only a 64th of the entries is looked at, another one each time. Who
  changes a few entries there calls `MuonWeightsChanged()`.

.seealso: `Muon`, `MuonWeightsChanged()`, `MuonGetConvergedReason()`
@*/
PetscErrorCode MuonGetMismatchedLayer(Muon muon, MuonLayer *layer)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, layer, muon->mismatch);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there are ranks with the same rows of a group's layers, which they compare */
PetscBool MuonGroupHasReplicas_Private(Muon muon, const MuonGroup group)
{
  return muon->size > 1 && muon->isolated == PETSC_FALSE && group->nshards > 0 && (group->shard[0].sharded || group->grid->nworkers > 1) ? PETSC_TRUE : PETSC_FALSE;
}

/*
   Servers with weights of their own look at those of the workers, first at what was noted when the library
   wrote them last
*/
static PetscErrorCode MuonWatchShard_Private(Muon muon, MuonShard *shard)
{
  const PetscBool watched = muon->check_weights && shard->X.data != NULL ? PETSC_TRUE : PETSC_FALSE, noted = shard->layer->watched;

  PetscFunctionBegin;
  shard->round->edited  = PETSC_FALSE;
  shard->layer->watched = watched;
  if (watched == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (noted) PetscCall(MuonLayerWereWeightsEdited(shard->layer, &shard->round->edited));
  else PetscCall(MuonLayerNoteWeights(shard->layer));
  if (shard->round->edited) PetscCall(PetscInfo(muon, "Layer \"%s\": its weights were changed before step %" PetscInt_FMT ", and its server takes them over\n", shard->name, muon->step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonWatchWeights_Private(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Measure, muon, 0, 0, 0));
  for (PetscInt p = 0; p < muon->nshards; p++) PetscCall(MuonWatchShard_Private(muon, &muon->shard[p]));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonGroup group = muon->group[g];

    group->weights = 0;
    if (muon->check_weights == PETSC_FALSE || MuonGroupHasReplicas_Private(muon, group) == PETSC_FALSE) continue;
    for (PetscInt k = 0; k < group->nshards; k++) PetscCall(MuonLayerHashWeights(group->shard[k].layer, muon->step % MUON_LAYER_SAMPLES, &group->weights));
  }
  PetscCall(PetscLogEventEnd(MUON_Measure, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The weights of layers whose rows are spread over ranks are those of the first rank of the same position in
   its worker
*/
PetscErrorCode MuonCompareRows_Private(Muon muon, PetscInt stride, PetscInt weights, const unsigned int mine[], unsigned int first[])
{
  unsigned int *rows;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(muon->nlayers, &rows));
  for (PetscInt p = 0; p < muon->ngrids; p++) {
    if (muon->grid[p]->size == 1) continue;
    for (PetscInt l = 0; l < muon->nlayers; l++) rows[l] = mine[stride * l + weights];
    PetscCallMPI(MPI_Bcast(rows, (PetscMPIInt)muon->nlayers, MPI_UNSIGNED, 0, muon->grid[p]->across));
    for (PetscInt l = 0; l < muon->nlayers; l++) {
      if (muon->grid_of[l] == p && muon->layer[l]->ranks > 1) first[stride * l + weights] = rows[l];
    }
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFindMismatch_Private(Muon muon, PetscInt slice, MuonLayer *layer)
{
  MPI_Comm      comm = PetscObjectComm((PetscObject)muon);
  unsigned int *mine, *first;
  PetscInt      differs = 0, least;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(muon->nlayers, &mine, muon->nlayers, &first));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    if (muon->layer[l]->frozen == PETSC_FALSE) PetscCall(MuonLayerHashWeights(muon->layer[l], slice, &mine[l]));
  }
  PetscCall(PetscArraycpy(first, mine, muon->nlayers));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)muon->nlayers, MPI_UNSIGNED, 0, comm));
  PetscCall(MuonCompareRows_Private(muon, 1, 0, mine, first));
  while (differs < muon->nlayers && mine[differs] == first[differs]) differs++;
  PetscCallMPI(MPI_Allreduce(&differs, &least, 1, MPIU_INT, MPI_MIN, comm));
  PetscCall(PetscFree2(mine, first));
  muon->group[0]->bytes += (PetscLogDouble)(sizeof(differs) + (muon->rank == 0 ? (size_t)muon->nlayers * sizeof(*mine) : 0));
  for (PetscInt p = 0; p < muon->ngrids; p++) muon->group[0]->bytes += (PetscLogDouble)(muon->grid[p]->size > 1 && muon->grid[p]->worker == 0 ? (size_t)muon->nlayers * sizeof(*mine) : 0);
  *layer = least < muon->nlayers ? muon->layer[least] : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
