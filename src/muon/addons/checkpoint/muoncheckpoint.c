#include "muoncheckpoint.h" /*I "petscmuon.h" I*/
#include <petsctime.h>

/*
   Checkpoints and restarts as the program sees them, and when they are written and loaded.
*/

/*@
  MuonSetCheckpoint - Sets the folder for checkpoints and the interval between them

  Logically Collective

  Input Parameters:
+ muon     - the optimizer
. folder   - the folder, on a file system that all ranks share; an empty name, the default, for no checkpoints; `NULL` keeps the current value
- interval - number of steps between two checkpoints, at least 1, the default is 100; `PETSC_CURRENT` keeps the current value

  Options Database Keys:
+ -muon_checkpoint folder            - the folder
. -muon_checkpoint_interval interval - the interval; `MuonSolve()` writes a checkpoint at its end, too
. -muon_checkpoint_keep keep         - number of checkpoints that remain in the folder, at least 1; 2 by default, in case the last one is damaged
- -muon_checkpoint_seconds seconds   - writes a checkpoint at the end of the first step after this time, too; 0, the default, for never

  Level: intermediate

  Notes:
  `MuonStep()` writes a checkpoint after every step whose number, counted from 1, is a multiple of the interval, after
  the step was applied and counted and the monitors were called. `MuonSolve()` writes one after its last step, too. A
  step that diverged writes none. A failed save is an error on every rank; the step was taken.

  Clocks of ranks differ. At the end of a step the ranks write a checkpoint if the time is up on any of them.

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
  MuonSetRestart - Sets the folder of the checkpoint from which a run continues

  Logically Collective

  Input Parameters:
+ muon   - the optimizer
- folder - a folder of `MuonSetCheckpoint()` or `MuonSaveCheckpoint()`; an empty name, the default, for none

  Options Database Keys:
+ -muon_restart folder               - the folder, which may be that of `-muon_checkpoint`
. -muon_restart_if_present flg       - whether a new run starts if the folder has no checkpoint, instead of an error; a job that is restarted can use the same command line each time
. -muon_restart_state (all|weights)  - `all`, the default, continues the run; `weights` starts a new run from its weights
- -muon_restart_convert (true|false) - whether weights and state of another precision are accepted, instead of an error

  Level: intermediate

  Notes:
  `MuonSetUp()` loads the latest checkpoint as `MuonLoadCheckpoint()` does, once. After `MuonReset()` a new run starts.
  If another folder is set later, the next step loads it. If all usable checkpoints are damaged, it is an error, for
  any `-muon_restart_if_present`.

  With the weights alone an optimizer starts at step 0, without momentum and estimates. The algorithm, the optimizers
  of layers and the compressors of the checkpoint do not matter. Names and shapes of all layers must be the same. Data
  of `MuonCheckpointRegister()` are ignored.

  Entries of another precision are rounded once to the current precision. `-muon_state_precision` and the precision of
  PETSc may differ from those of the checkpoint. The run is then not the same to the bit.

  The files have the arrays of bf16 and int8 in single precision. Packing these numbers again gives the same bits. A run in
  single precision uses them unchanged. A run with bf16 or int8 rounds the numbers of a checkpoint of single precision to
  nearest.

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
  MuonSaveCheckpoint - Writes a checkpoint, with all that a run needs to continue: weights, state of workers and
  servers, the step number

  Collective

  Input Parameters:
+ muon   - an optimizer between two steps
. folder - the folder, on a file system that all ranks share; it is created if necessary, its parent must exist
- keep   - number of checkpoints that remain in the folder, at least 1

  Level: intermediate

  Notes:
  A crash of ranks, hosts or the file system at any moment leaves the previous checkpoint or the new one. When the
  routine returns, the new one is complete. Older ones are removed only then. A failed save removes its own files, is
  an error on every rank, and does not change the optimizer.

  Only one optimizer writes to a folder. It holds a lock until it is destroyed or writes to another folder; a folder
  that is locked is an error. A lock left by a job on another host is an error, too. The message names the file to
  remove when that job has ended.

  Data of `MuonCheckpointRegister()` are written, too. `share/petscmuon/checkpoint.py` reads the files in Python;
  `src/file/README.md` describes their format.

  `MUONEF21` first measures whether servers and workers still agree (`MuonEF21GetAggregateError()`). This sends the
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
  if (MuonSavingOf(muon)->restart_state == MUON_RESTART_WEIGHTS) {
    PetscCall(MuonReset(muon));
    PetscCall(MuonSetUp(muon));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonLoadCheckpoint - Loads a checkpoint: weights, state and step number

  Collective

  Input Parameters:
+ muon   - an optimizer with the layers of the checkpoint
- folder - the folder of `MuonSaveCheckpoint()`

  Level: intermediate

  Notes:
  The latest checkpoint is verified completely before anything changes. If it is damaged, the previous one is loaded
  and a line says so. A checkpoint of a later version of the format is an error.

  The files must have the state that the optimizer keeps, in the same precision\: layers of the same names and shapes,
  the same algorithm, momentum at the same place. An error names the first difference, and nothing changes. Options,
  such as the learning rate and the schedule, keep their current values.

  On the same ranks every array of weights and state is restored bit for bit, for any owners of layers. Layers may be
  distributed in another way, because rows are found by their indices in the layer. With the same number of workers
  each gets its own state. With another number, or other weights of `MuonSetWorkerWeight()`, the weights and the
  servers' state are the same, and each worker gets the mean of the workers' state. This keeps the mean over the
  workers up to rounding, but not the steps of `MUONSIGN`. A basis of `MUONCOMPRESSORPOWERSGD` starts anew on other
  workers or with another distribution of rows. The totals of `MuonGetTraffic()`, summed over the ranks, continue.

  Options that differ from those of the checkpoint are listed; the current values apply. See `MuonSetRestart()` for
  `-muon_restart_state weights`, which starts a new run from the weights, and `-muon_restart_convert`, which accepts
  another precision.

  State that a first step creates, such as the moments of `MUONLAYERADAMW`, starts anew if the checkpoint was written
  before that step.

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

/* Loads the checkpoint that the run begins with, once */
static PetscErrorCode MuonCheckpointResume_Private(Muon muon, PetscBool fresh)
{
  MuonSaving *saving = MuonSavingOf(muon);
  PetscBool   absent = PETSC_FALSE, loaded;

  PetscFunctionBegin;
  if (fresh) PetscCall(PetscTime(&saving->written));
  PetscCall(PetscStrcmp(saving->restart, saving->restarted, &loaded));
  if (saving->restart == NULL || loaded) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonRestartLoad_Private(muon, saving->restart, saving->restart_if_present ? &absent : NULL));
  PetscCall(PetscFree(saving->restarted));
  PetscCall(PetscStrallocpy(saving->restart, &saving->restarted));
  if (absent) {
    PetscCall(PetscInfo(muon, "%s: no checkpoint is there\n", saving->restart));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (fresh && saving->restart_state == MUON_RESTART_WEIGHTS) PetscCall(MuonWeightsChanged(muon)); /* there is no state yet but the servers' weights */
  else PetscCall(MuonLoaded_Private(muon));
  PetscCall(MuonNotice(PetscObjectComm((PetscObject)muon), "restarted at step %" PetscInt_FMT " from %s%s\n", muon->step, saving->restart, saving->restart_state == MUON_RESTART_ALL ? "" : " (weights alone)"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointBegin_Private(Muon muon, MuonRecord *record)
{
  const MuonSaving *saving = MuonSavingOf(muon);
  PetscLogDouble    now;

  PetscFunctionBegin;
  PetscCall(PetscTime(&now));
  record->save = saving->requested || (saving->checkpoint_seconds > 0 && now - saving->written >= (PetscLogDouble)saving->checkpoint_seconds) ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   After a step, which writes a checkpoint if it is due or was requested, and after the last step. A folder that cannot be
   written to is an error after the first step
*/
static PetscErrorCode MuonCheckpointWriteDue_Private(Muon muon, PetscBool last)
{
  MuonSaving     *saving = MuonSavingOf(muon);
  const PetscBool due    = muon->save || muon->step % saving->checkpoint_interval == 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (saving->checkpoint == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCheckpointStart_Private(muon, saving->checkpoint));
  if (muon->reason < 0 || due == last) PetscFunctionReturn(PETSC_SUCCESS);
  saving->requested = 0; /* one that comes while this is written means what is written */
  PetscCall(MuonCheckpointSave_Private(muon, saving->checkpoint, saving->checkpoint_keep));
  PetscCall(PetscTime(&saving->written));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Behind the monitors, whose files have a step before a checkpoint records it */
static PetscErrorCode MuonCheckpointShow_Private(Muon muon, PetscInt step, PetscReal loss)
{
  PetscFunctionBegin;
  MuonSavingOf(muon)->stepped = PETSC_TRUE;
  PetscCall(MuonCheckpointWriteDue_Private(muon, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointSolved_Private(Muon muon)
{
  PetscFunctionBegin;
  if (MuonSavingOf(muon)->stepped) PetscCall(MuonCheckpointWriteDue_Private(muon, PETSC_TRUE));
  MuonSavingOf(muon)->stepped = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointDestroy_Private(Muon muon)
{
  MuonSaving *saving = MuonSavingOf(muon);

  PetscFunctionBegin;
  PetscCall(MuonCheckpointsDestroy_Private(muon));
  for (PetscInt k = 0; k < saving->nprograms; k++) PetscCall(PetscFree(saving->program[k].name));
  PetscCall(PetscFree(saving->program));
  PetscCall(PetscFree(saving->restarted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define ROW(kind, field, value, least, most, names, help) MUON_ROW(#field, kind, MuonSaving, field, value, least, most, names, 0, help)

static const MuonParameter MuonCheckpointParameters[] = {ROW(TEXT, checkpoint, 0, 0, 0, NULL, "Folder that steps write checkpoints to"),
                                                         ROW(INT, checkpoint_interval, 100, 1, MUON_UNBOUNDED, NULL, "Of how many steps one writes a checkpoint"),
                                                         ROW(INT, checkpoint_keep, 2, 1, MUON_UNBOUNDED, NULL, "How many checkpoints remain"),
                                                         ROW(REAL, checkpoint_seconds, 0, 0, MUON_UNBOUNDED, NULL, "After how many seconds steps write a checkpoint, 0: never"),
                                                         ROW(TEXT, restart, 0, 0, 0, NULL, "Folder of the checkpoint that a run begins with"),
                                                         ROW(BOOL, restart_if_present, 0, 0, 1, NULL, "Begin anew where there is no checkpoint"),
                                                         ROW(ENUM, restart_state, 0, 0, 0, MuonRestartStates, "What a checkpoint is loaded for"),
                                                         ROW(BOOL, restart_convert, 0, 0, 1, NULL, "Take another precision from a checkpoint"),
                                                         {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

PETSC_INTERN PetscErrorCode MuonAddonRegister_Checkpoint(void)
{
  MuonAddonOps ops = {0};

  PetscFunctionBegin;
  ops.rows    = MuonCheckpointParameters;
  ops.size    = sizeof(MuonSaving);
  ops.resume  = MuonCheckpointResume_Private;
  ops.begin   = MuonCheckpointBegin_Private;
  ops.show    = MuonCheckpointShow_Private;
  ops.solved  = MuonCheckpointSolved_Private;
  ops.destroy = MuonCheckpointDestroy_Private;
  PetscCall(MuonAddonRegister("checkpoint", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
