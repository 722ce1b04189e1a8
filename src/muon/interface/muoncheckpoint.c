#include "muoninterface.h" /*I "petscmuon.h" I*/

/*
   Checkpoints and restarts as the program sees them.
*/

/*@
  MuonSetCheckpoint - Sets the folder that steps write checkpoints to, and how often

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
. folder   - where to, on a file system that all ranks share; an empty name for nowhere, which is the default; `NULL` leaves it
- interval - of how many steps one writes a checkpoint, at least 1, the default is 100; `PETSC_CURRENT` leaves it

  Options Database Keys:
+ -muon_checkpoint folder            - the folder
. -muon_checkpoint_interval interval - every so many steps, and at the end of `MuonSolve()`
. -muon_checkpoint_keep keep         - how many checkpoints remain in the folder, at least 1; by default 2, so that there is one before a damaged one
- -muon_checkpoint_seconds seconds   - at the end of the first step behind which so much time has gone, too; 0, the default, is never

  Level: intermediate

  Notes:
  `MuonStep()` writes a checkpoint after every step whose number, counted from 1, is a multiple of the
  interval, when the step is applied and counted and monitors have spoken of it; `MuonSolve()` writes the end
  of its last step too. A step that diverged writes none. A save that fails is an error on every rank, and the
  step was taken.

  Clocks of ranks differ\: they agree at the end of a step, and write where the time is up on any of them.

.seealso: `Muon`, `MuonSaveCheckpoint()`, `MuonCheckpointRequest()`, `MuonSetRestart()`, `MuonViewWeights()`
@*/
PetscErrorCode MuonSetCheckpoint(Muon muon, const char folder[], PetscInt interval)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonParametersAssign((PetscObject)muon, "checkpoint_interval", (double)interval));
  PetscCall(MuonParametersAssignText((PetscObject)muon, "checkpoint", folder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetRestart - Sets the folder of the checkpoint that a run begins with

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- folder - of `MuonSetCheckpoint()` or `MuonSaveCheckpoint()`; an empty name for none, which is the default

  Options Database Keys:
+ -muon_restart folder               - the folder, which may be that of `-muon_checkpoint`
. -muon_restart_if_present flg       - whether a run begins anew where the folder has no checkpoint, which else is an error; a job that is started again and again has the same command line each time
. -muon_restart_state (all|weights)  - `all`, the default, goes on with the run; `weights` begins another one with its weights
- -muon_restart_convert (true|false) - whether weights and state of another precision are taken, which else is an error

  Level: intermediate

  Notes:
  `MuonSetUp()` loads its latest checkpoint as `MuonLoadCheckpoint()` does, once\: after `MuonReset()` a run
  begins anew. Another folder that is set later is loaded by the next step. Where there are checkpoints and all
  that may be taken are damaged it is an error, whatever `-muon_restart_if_present` says.

  With the weights alone an optimizer begins at step 0, without momentum and estimates, whatever algorithm,
  rules and compressors the checkpoint is of. Names and shapes of all layers must be the same. What the
  program gave to the checkpoint, `MuonCheckpointRegister()`, is not looked at.

  Entries of another precision are rounded once to the precision that they have here\: `-muon_state_precision`
  may be another than it was, and so may be the scalars of PETSc. The run is then not the same to the bit.

  What bf16 and int8 round is in the files in single precision, from which it is packed to the same bits. Single precision takes
  it as it is, and they take what is in single precision, rounded to nearest.

.seealso: `Muon`, `MuonRestartState`, `MuonLoadCheckpoint()`, `MuonSetCheckpoint()`
@*/
PetscErrorCode MuonSetRestart(Muon muon, const char folder[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonParametersAssignText((PetscObject)muon, "restart", folder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSaveCheckpoint - Writes all that a run needs to go on: weights, state of workers and servers, the number
  of the step

  Collective

  Input Parameters:
+ muon   - an optimizer between two steps
. folder - where to, on a file system that all ranks share; it is made where it is not there, in a folder that is
- keep   - how many checkpoints remain in the folder, at least 1

  Level: intermediate

  Notes:
  A crash at any moment, of ranks, nodes or the file system, leaves the checkpoint before or the new one; when
  the routine returns it is the new one. Older ones are removed only then. A save that fails removes its own
  files and is an error on every rank, and nothing of the optimizer has changed.

  A folder is written to by one job at a time. It is this optimizer's until it is destroyed or writes to
  another; a folder that is another's is an error. A lock that was left by a job on another host is refused
  too, and the message names the file to remove once that job is over.

  Bytes of the program's own are written with it, `MuonCheckpointRegister()`. Python reads the files with
  `share/petscmuon/checkpoint.py`; `src/file/README.md` is their format.

  `MUONEF21` measures before it whether servers and workers still agree, `MuonEF21GetAggregateError()`, which sends the
  workers' estimates uncompressed once.

.seealso: `Muon`, `MuonLoadCheckpoint()`, `MuonCheckpointRegister()`, `MuonSetCheckpoint()`, `MuonStep()`, `MuonEF21GetAggregateError()`
@*/
PetscErrorCode MuonSaveCheckpoint(Muon muon, const char folder[], PetscInt keep)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(folder, 2);
  PetscValidLogicalCollectiveInt(muon, keep, 3);
  PetscCheck(keep >= 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " checkpoints to keep, expected at least 1", keep);
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonCheckpointSave_Private(muon, folder, keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the weights alone a run begins, where something was done before */
static PetscErrorCode MuonLoaded_Private(Muon muon)
{
  PetscFunctionBegin;
  if (muon->saving->restart_state == MUON_RESTART_WEIGHTS) {
    PetscCall(MuonReset(muon));
    PetscCall(MuonSetUp(muon));
  } else PetscCall(MuonGetRate(muon, &muon->rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLoadCheckpoint - Brings an optimizer and its weights to where a checkpoint was written

  Collective

  Input Parameters:
+ muon   - an optimizer with the layers that it had then
- folder - of `MuonSaveCheckpoint()`

  Level: intermediate

  Notes:
  All of the latest checkpoint is verified before anything is touched. Where it is damaged the one before it
  is taken and a line says so; a checkpoint of a later version of the format is an error.

  What the optimizer keeps must be what is in the files, in the same precision\: layers of the same names and
  shapes, the same algorithm, momentum at the same place. The first difference is an error that names it, and
  nothing has changed. Options, such as the learning rate and the schedule, are what they are now.

  On the same ranks every array of weights and state is bit for bit what it was, whoever owns which layer.
  Rows are taken by their numbers in the layer\: layers may be spread over other ranks, or be on one. With as
  many workers as then each has its own state; with another number, or others of `MuonSetWorkerWeight()`,
  weights and state of servers are the same, and each worker has the mean of what the workers had, which
  leaves the mean over the workers as it was up to rounding, but not the votes of `MUONSIGN`. A basis of
  `MUONCOMPRESSORPOWERSGD` starts anew where rows are cut in another way, and on other workers. The totals of
  `MuonGetTraffic()`, summed over the ranks, go on.

  Options that were others then are listed, and hold as they are now. `-muon_restart_state weights` takes
  the weights alone, and a run begins with them at step 0; `-muon_restart_convert` takes state of another
  precision, `MuonSetRestart()`.

  State that is made at a first step, the moments of `MUONLAYERADAMW` among it, begins anew where the
  checkpoint is of before that step.

.seealso: `Muon`, `MuonSaveCheckpoint()`, `MuonSetRestart()`, `MuonCheckpointRegister()`, `MuonGetStepNumber()`
@*/
PetscErrorCode MuonLoadCheckpoint(Muon muon, const char folder[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(folder, 2);
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonRestartLoad_Private(muon, folder, NULL));
  PetscCall(MuonLoaded_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonViewWeights - Writes the weights of all layers to a binary file, as matrices

  Collective

  Input Parameters:
+ muon   - the optimizer
- viewer - of type `PETSCVIEWERBINARY`, on the ranks of the optimizer, opened to write, without MPI-IO

  Level: intermediate

  Note:
  They are dense matrices of `PetscScalar` one behind the other, in the order in which the layers were added,
  also of layers that are vectors or arrays, and that are frozen. `MatLoad()` reads each of them, on any
  number of ranks, and so does the PetscBinaryIO of PETSc in Python. They are the weights at the workers,
  those that gradients are taken at.

.seealso: `Muon`, `MuonSetCheckpoint()`, `MuonView()`, `MuonLayerGetWeights()`
@*/
PetscErrorCode MuonViewWeights(Muon muon, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(muon, 1, viewer, 2);
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonViewWeights_Private(muon, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRestart_Private(Muon muon, PetscBool fresh)
{
  PetscBool absent = PETSC_FALSE, loaded;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(muon->saving->restart, muon->saving->restarted, &loaded));
  if (muon->saving->restart == NULL || loaded) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonRestartLoad_Private(muon, muon->saving->restart, muon->saving->restart_if_present ? &absent : NULL));
  PetscCall(MuonCopyName_Private(muon->saving->restart, &muon->saving->restarted));
  if (absent) {
    PetscCall(PetscInfo(muon, "%s: no checkpoint is there\n", muon->saving->restart));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (fresh && muon->saving->restart_state == MUON_RESTART_WEIGHTS) PetscCall(MuonWeightsChanged(muon)); /* there is no state yet but the servers' weights */
  else PetscCall(MuonLoaded_Private(muon));
  PetscCall(MuonNotice(PetscObjectComm((PetscObject)muon), "restarted at step %" PetscInt_FMT " from %s%s\n", muon->step, muon->saving->restart, muon->saving->restart_state == MUON_RESTART_ALL ? "" : " (weights alone)"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
