#include "ef21.h" /*I "petscmuon.h" I*/

/*
   G is the mean of the workers' estimates G_j by what each side adds, up to rounding. Whether it is one still
   is seen by summing the estimates as they are.
*/

/*@
  MuonEF21SetDriftInterval - Sets after which steps, beside those with a checkpoint, EF21 measures how far a
  server's aggregate is from the mean of the workers' estimates

  Logically Collective

  Input Parameters:
+ muon     - an optimizer that has the type `MUONEF21` already, else the call is ignored
- interval - after every so many steps; 0, the default, for never

  Options Database Key:
. -ef21_drift_interval interval - after every so many steps

  Level: advanced

  Notes:
  What is measured is the Frobenius norm of G - mean of G_j over all layers, `MuonEF21GetDrift()`. It is what
  rounding leaves, of the order of the roundoff of the state times the number of steps, as long as nothing was
  lost.

  A checkpoint measures it, too. The estimates travel uncompressed then, which `MuonGetTraffic()` counts.
  Layers whose messages are the momentum itself have no estimates.

.seealso: `Muon`, `MUONEF21`, `MuonEF21GetDriftInterval()`, `MuonEF21GetDrift()`
@*/
PetscErrorCode MuonEF21SetDriftInterval(Muon muon, PetscInt interval)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  MuonIgnoreUnlessType(muon, MUONEF21);
  PetscCheck(interval >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%sef21_drift_interval %" PetscInt_FMT " must be at least 0", MuonPrefix(muon), interval);
  ((Muon_EF21 *)muon->data)->driftinterval = interval;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetDriftInterval - Gets in which steps EF21 measures how far a server's aggregate is from the mean
  of the workers' estimates

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. interval - after every so many steps, 0 for never

  Level: advanced

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetDriftInterval()`
@*/
PetscErrorCode MuonEF21GetDriftInterval(Muon muon, PetscInt *interval)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, interval, ((Muon_EF21 *)muon->data)->driftinterval);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonEF21GetDrift - Gets how far the servers' aggregates were from the means of the workers' estimates when
  it was measured last

  Not Collective

  Input Parameter:
. muon - an optimizer of type `MUONEF21`

  Output Parameter:
. drift - the Frobenius norm of G - mean of G_j over all layers, the same on every rank; -1 where it was not measured yet

  Level: advanced

.seealso: `Muon`, `MUONEF21`, `MuonEF21SetDriftInterval()`
@*/
PetscErrorCode MuonEF21GetDrift(Muon muon, PetscReal *drift)
{
  PetscFunctionBegin;
  MuonGetOfType(muon, MUON_CLASSID, MUONEF21, drift, ((Muon_EF21 *)muon->data)->drift);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode EF21MeasureDrift_Private(Muon muon)
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

    if (state->estimates == PETSC_FALSE) continue;
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
  ef21->drift = PetscSqrtReal((PetscReal)squares);
  PetscCall(PetscInfo(muon, "After step %" PetscInt_FMT ": ||G - mean of G_j|| is %g\n", muon->step, (double)ef21->drift));
  PetscFunctionReturn(PETSC_SUCCESS);
}
