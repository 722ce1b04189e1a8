#include <petscmuon/private/muonimpl.h> /*I "petscmuon.h" I*/

/*
   When checkpoints are written, and which one a run begins with: choices of the optimizer, the same on every rank, beside muoncheckpoint.c, which writes and reads them.
*/

/* Another name, NULL for none */
static PetscErrorCode MuonSetFolder_Private(const char folder[], char **to)
{
  char *copy = NULL;

  PetscFunctionBegin;
  if (folder != NULL && folder[0] != '\0') PetscCall(PetscStrallocpy(folder, &copy)); /* which may be what is freed */
  PetscCall(PetscFree(*to));
  *to = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCheckpoint - Sets the folder that steps write checkpoints to

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- folder - where to, on a file system that all ranks share; `NULL` or an empty name for nowhere, which is the default

  Options Database Key:
. -muon_checkpoint folder - the folder

  Level: intermediate

  Note:
  `MuonStep()` writes one after every step whose number, counted from 1, is a multiple of that of `MuonSetCheckpointInterval()`, when the step is applied and counted, before monitors speak; `MuonSolve()` writes the end of its last step
  too. A step that diverged writes none. A save that fails is an error on every rank, and the step was taken.

.seealso: `Muon`, `MuonGetCheckpoint()`, `MuonSaveCheckpoint()`, `MuonSetCheckpointInterval()`, `MuonSetCheckpointKeep()`, `MuonCheckpointRequest()`, `MuonSetRestart()`
@*/
PetscErrorCode MuonSetCheckpoint(Muon muon, const char folder[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonSetFolder_Private(folder, &muon->checkpoint));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCheckpoint - Gets the folder that steps write checkpoints to

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. folder - the folder, borrowed; `NULL` where there is none

  Level: intermediate

.seealso: `Muon`, `MuonSetCheckpoint()`
@*/
PetscErrorCode MuonGetCheckpoint(Muon muon, const char *folder[])
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, folder, muon->checkpoint);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCheckpointInterval - Sets of how many steps one writes a checkpoint

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
- interval - at least 1; the default is 100

  Options Database Key:
. -muon_checkpoint_interval interval - every so many steps, and at the end of `MuonSolve()`, 100 by default

  Level: intermediate

.seealso: `Muon`, `MuonGetCheckpointInterval()`, `MuonSetCheckpoint()`
@*/
PetscErrorCode MuonSetCheckpointInterval(Muon muon, PetscInt interval)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(interval >= 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%smuon_checkpoint_interval %" PetscInt_FMT " must be at least 1", MuonPrefix(muon), interval);
  muon->checkpoint_interval = interval;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCheckpointInterval - Gets of how many steps one writes a checkpoint

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. interval - the number of steps

  Level: intermediate

.seealso: `Muon`, `MuonSetCheckpointInterval()`
@*/
PetscErrorCode MuonGetCheckpointInterval(Muon muon, PetscInt *interval)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, interval, muon->checkpoint_interval);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCheckpointKeep - Sets how many checkpoints remain in the folder that steps write to

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- keep - at least 1; the default is 2, so that there is one before a damaged one

  Options Database Key:
. -muon_checkpoint_keep keep - the number, 2 by default

  Level: intermediate

.seealso: `Muon`, `MuonGetCheckpointKeep()`, `MuonSetCheckpoint()`, `MuonSaveCheckpoint()`
@*/
PetscErrorCode MuonSetCheckpointKeep(Muon muon, PetscInt keep)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(keep >= 1, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%smuon_checkpoint_keep %" PetscInt_FMT " must be at least 1", MuonPrefix(muon), keep);
  muon->checkpoint_keep = keep;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCheckpointKeep - Gets how many checkpoints remain in the folder that steps write to

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. keep - the number

  Level: intermediate

.seealso: `Muon`, `MuonSetCheckpointKeep()`
@*/
PetscErrorCode MuonGetCheckpointKeep(Muon muon, PetscInt *keep)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, keep, muon->checkpoint_keep);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetRestart - Sets the folder of the checkpoint that a run begins with

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- folder - of `MuonSetCheckpoint()` or `MuonSaveCheckpoint()`; `NULL` or an empty name for none, which is the default

  Options Database Key:
. -muon_restart folder - the folder, which may be that of `-muon_checkpoint`

  Level: intermediate

  Note:
  `MuonSetUp()` loads its latest checkpoint as `MuonLoadCheckpoint()` does, once\: after `MuonReset()` a run begins anew. Another folder that is set later is loaded by the next step.

.seealso: `Muon`, `MuonGetRestart()`, `MuonSetRestartIfPresent()`, `MuonLoadCheckpoint()`, `MuonSetCheckpoint()`
@*/
PetscErrorCode MuonSetRestart(Muon muon, const char folder[])
{
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (folder != NULL && muon->restart != NULL) PetscCall(PetscStrcmp(folder, muon->restart, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonSetFolder_Private(folder, &muon->restart));
  muon->restarted = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetRestart - Gets the folder of the checkpoint that a run begins with

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. folder - the folder, borrowed; `NULL` where there is none

  Level: intermediate

.seealso: `Muon`, `MuonSetRestart()`
@*/
PetscErrorCode MuonGetRestart(Muon muon, const char *folder[])
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, folder, muon->restart);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetRestartIfPresent - Sets whether a run begins anew where the folder of `MuonSetRestart()` has no checkpoint

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- flg  - whether it does; else, which is the default, that is an error

  Options Database Key:
. -muon_restart_if_present flg - whether it does; a job that is started again and again has the same command line each time

  Level: intermediate

  Note:
  Where there are checkpoints and all that may be taken are damaged it is an error still.

.seealso: `Muon`, `MuonGetRestartIfPresent()`, `MuonSetRestart()`
@*/
PetscErrorCode MuonSetRestartIfPresent(Muon muon, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  muon->restart_if_present = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetRestartIfPresent - Gets whether a run begins anew where there is no checkpoint

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. flg - whether it does

  Level: intermediate

.seealso: `Muon`, `MuonSetRestartIfPresent()`
@*/
PetscErrorCode MuonGetRestartIfPresent(Muon muon, PetscBool *flg)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, flg, muon->restart_if_present);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonCheckpointRequest - Asks for a checkpoint at the end of a step, from a handler of signals

  Not Collective

  Input Parameter:
. muon - the optimizer

  Level: advanced

  Notes:
  It may be called at any time on any rank, in a handler of signals too. The ranks agree at the end of the coming step, or of the one that is being taken, and write one checkpoint, whoever asked, to the folder of
  `MuonSetCheckpoint()`. Where there is none nothing happens.

  The library installs no handler.

.seealso: `Muon`, `MuonSetCheckpoint()`, `MuonSaveCheckpoint()`
@*/
void MuonCheckpointRequest(Muon muon)
{
  muon->requested = 1; /* and nothing else, not even what PETSc notes of each function */
}

PetscErrorCode MuonRestartSetFromOptions_Private(Muon muon, MuonOptionItems PetscOptionsObject)
{
  char      folder[PETSC_MAX_PATH_LEN];
  PetscInt  count;
  PetscBool set, flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-muon_checkpoint", "Folder that steps write checkpoints to", "MuonSetCheckpoint", muon->checkpoint, folder, sizeof(folder), &flg));
  if (flg) PetscCall(MuonSetCheckpoint(muon, folder));
  PetscCall(PetscOptionsInt("-muon_checkpoint_interval", "Of how many steps one writes a checkpoint", "MuonSetCheckpointInterval", muon->checkpoint_interval, &count, &flg));
  if (flg) PetscCall(MuonSetCheckpointInterval(muon, count));
  PetscCall(PetscOptionsInt("-muon_checkpoint_keep", "How many checkpoints remain", "MuonSetCheckpointKeep", muon->checkpoint_keep, &count, &flg));
  if (flg) PetscCall(MuonSetCheckpointKeep(muon, count));
  PetscCall(PetscOptionsString("-muon_restart", "Folder of the checkpoint that a run begins with", "MuonSetRestart", muon->restart, folder, sizeof(folder), &flg));
  if (flg) PetscCall(MuonSetRestart(muon, folder));
  PetscCall(PetscOptionsBool("-muon_restart_if_present", "Begin anew where there is no checkpoint", "MuonSetRestartIfPresent", muon->restart_if_present, &set, &flg));
  if (flg) PetscCall(MuonSetRestartIfPresent(muon, set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointNow_Private(Muon muon)
{
  PetscFunctionBegin;
  muon->requested = 0; /* one that comes while this is written means what is written */
  PetscCall(MuonSaveCheckpoint(muon, muon->checkpoint, muon->checkpoint_keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointAfterStep_Private(Muon muon)
{
  PetscFunctionBegin;
  if (muon->checkpoint == NULL || muon->reason < 0 || (muon->step % muon->checkpoint_interval != 0 && muon->save == PETSC_FALSE)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCheckpointNow_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRestart_Private(Muon muon)
{
  PetscBool absent = PETSC_FALSE;

  PetscFunctionBegin;
  if (muon->restart == NULL || muon->restarted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLoad_Private(muon, muon->restart, muon->restart_if_present ? &absent : NULL));
  muon->restarted = PETSC_TRUE;
  PetscCall(PetscInfo(muon, "%s: %s, step %" PetscInt_FMT "\n", muon->restart, absent ? "no checkpoint is there" : "restarted", muon->step));
  PetscFunctionReturn(PETSC_SUCCESS);
}
