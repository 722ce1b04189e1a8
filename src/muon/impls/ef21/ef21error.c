#include "ef21.h" /*I "petscmuon.h" I*/

/*
   G is the mean of the workers' estimates G_j by what each side adds, up to rounding. Whether it is one still
   is found by summing the estimates as they are.
*/

/*@
  MuonEF21GetAggregateError - Gets how far the servers' aggregates were from the means of the workers' estimates when
  it was measured last

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. error - the Frobenius norm of G - mean of G_j over all layers, the same on every rank; -1 where it was not measured yet

  Options Database Key:
. -ef21_aggregate_error_interval interval - measures it after every so many steps, 0 for never

  Level: advanced

  Notes:
  It is what rounding leaves, of the order of the roundoff of the state times the number of steps, as long as
  nothing was lost. A checkpoint measures it, too. The estimates travel uncompressed then, which
  `MuonGetTraffic()` counts. Layers whose messages are the momentum itself have no estimates.

.seealso: `Muon`, `MUONEF21`
@*/
PetscErrorCode MuonEF21GetAggregateError(Muon muon, PetscReal *error)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, error, ((Muon_EF21 *)muon->data)->error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeasureAggregateError_Private(Muon muon)
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

    if (state->estimates == PETSC_FALSE || MuonGroupIsAway(shard->group)) continue;
    PetscCall(MuonWorkspaceMark(muon->work, &mark));
    PetscCall(MuonWorkspaceGetArray(muon->work, &state->Gj, state->Gj.precision, &mean));
    PetscCall(MuonShardReduceBegin_Private(shard, &state->Gj, &mean));
    PetscCall(MuonExchangeReduceEnd(shard->group->exchange));
    if (shard->owns && MuonShardCounts(shard)) {
      MuonArrayAxpby(1, &state->G, -1 / (double)shard->group->exchange->nworkers, &mean);
      squares += MuonLayerSumSquares(&mean);
    }
    PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)muon)));
  muon->group[0]->bytes += sizeof(squares);
  PetscCall(PetscLogEventEnd(MUON_Measure, muon, 0, 0, 0));
  ef21->error = PetscSqrtReal((PetscReal)squares);
  PetscCall(PetscInfo(muon, "After step %" PetscInt_FMT ": ||G - mean of G_j|| is %g\n", muon->step, (double)ef21->error));
  PetscFunctionReturn(PETSC_SUCCESS);
}
