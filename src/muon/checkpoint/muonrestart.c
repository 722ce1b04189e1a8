#include "muoncheckpoint.h" /*I "petscmuon.h" I*/
#include <petsctime.h>
#include <string.h>

/*
   When checkpoints are written, and which one a run begins with: choices of the optimizer, the same on every
   rank, beside muoncheckpoint.c, which writes and reads them.
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
  `MuonStep()` writes one after every step whose number, counted from 1, is a multiple of that of
  `MuonSetCheckpointInterval()`, when the step is applied and counted and monitors have spoken of it;
  `MuonSolve()` writes the end of its last step too. A step that diverged writes none. A save that fails is an
  error on every rank, and the step was taken.

.seealso: `Muon`, `MuonGetCheckpoint()`, `MuonSaveCheckpoint()`, `MuonSetCheckpointInterval()`, `MuonSetCheckpointKeep()`, `MuonCheckpointRequest()`, `MuonSetRestart()`
@*/
PetscErrorCode MuonSetCheckpoint(Muon muon, const char folder[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonSetFolder_Private(folder, &muon->checkpoint));
  muon->checkpoint_agreed = PETSC_FALSE;
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
  MuonSetCheckpointSeconds - Sets after how many seconds steps write a checkpoint, however many steps these
  were

  Logically Collective

  Input Parameters:
+ muon    - the optimizer
- seconds - the time since the last one, or since `MuonSetUp()`; 0 for no such time, which is the default

  Options Database Key:
. -muon_checkpoint_seconds seconds - at the end of the first step behind which so much time has gone, beside those of `-muon_checkpoint_interval`; 0 by default, for never

  Level: intermediate

  Note:
  Clocks of ranks differ\: the ranks agree at the end of a step, and write where it is time on any of them.

.seealso: `Muon`, `MuonGetCheckpointSeconds()`, `MuonSetCheckpoint()`, `MuonSetCheckpointInterval()`
@*/
PetscErrorCode MuonSetCheckpointSeconds(Muon muon, PetscReal seconds)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCheck(seconds >= 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%smuon_checkpoint_seconds %g must not be negative", MuonPrefix(muon), (double)seconds);
  muon->checkpoint_seconds = seconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCheckpointSeconds - Gets after how many seconds steps write a checkpoint

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. seconds - the time, 0 for none

  Level: intermediate

.seealso: `Muon`, `MuonSetCheckpointSeconds()`
@*/
PetscErrorCode MuonGetCheckpointSeconds(Muon muon, PetscReal *seconds)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, seconds, muon->checkpoint_seconds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCheckpointWeights - Sets a file that gets the weights alone, for inference, whenever a checkpoint is
  due

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- file - its name, where rank 0 can write; `NULL` or an empty name for none, which is the default

  Options Database Key:
. -muon_checkpoint_weights file - its name, none by default

  Level: intermediate

  Notes:
  A file that cannot be made is an error of `MuonSetUp()`.

  It is written at the steps at which `MuonSetCheckpoint()` writes, with a folder for checkpoints or without,
  as `MuonViewWeights()` does it\: dense matrices of PETSc's binary format, in the order of the layers. The
  new file takes the place of the old one when it is whole and durable, so that whoever reads it has one or
  the other.

.seealso: `Muon`, `MuonGetCheckpointWeights()`, `MuonViewWeights()`, `MuonSetCheckpoint()`, `MuonSetCheckpointInterval()`
@*/
PetscErrorCode MuonSetCheckpointWeights(Muon muon, const char file[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonSetFolder_Private(file, &muon->checkpoint_weights));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCheckpointWeights - Gets the file that gets the weights alone

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. file - its name, borrowed; `NULL` where there is none

  Level: intermediate

.seealso: `Muon`, `MuonSetCheckpointWeights()`
@*/
PetscErrorCode MuonGetCheckpointWeights(Muon muon, const char *file[])
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, file, muon->checkpoint_weights);
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
  `MuonSetUp()` loads its latest checkpoint as `MuonLoadCheckpoint()` does, once\: after `MuonReset()` a run
  begins anew. Another folder that is set later is loaded by the next step.

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
  MuonSetRestartIfPresent - Sets whether a run begins anew where the folder of `MuonSetRestart()` has no
  checkpoint

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
  MuonSetRestartState - Sets what a checkpoint is loaded for

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- state - `MUON_RESTART_ALL`, the default, to go on with the run; `MUON_RESTART_WEIGHTS` to begin another with its weights

  Options Database Key:
. -muon_restart_state (all|weights) - what is loaded, `all` by default

  Level: intermediate

  Note:
  With the weights alone an optimizer begins at step 0, without momentum and estimates, whatever algorithm,
  rules and compressors the checkpoint is of. Names and shapes of all layers must be the same. What the
  program gave to the checkpoint, `MuonCheckpointRegister()`, is not looked at.

.seealso: `Muon`, `MuonRestartState`, `MuonGetRestartState()`, `MuonSetRestart()`, `MuonLoadCheckpoint()`
@*/
PetscErrorCode MuonSetRestartState(Muon muon, MuonRestartState state)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCheckEnum_Private(muon, "muon_restart_state", MuonRestartStates, (int)state));
  muon->restart_state = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetRestartState - Gets what a checkpoint is loaded for

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. state - what is loaded

  Level: intermediate

.seealso: `Muon`, `MuonRestartState`, `MuonSetRestartState()`
@*/
PetscErrorCode MuonGetRestartState(Muon muon, MuonRestartState *state)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, state, muon->restart_state);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetRestartConvert - Sets whether weights and state of another precision are taken from a checkpoint

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- flg  - whether they are; else, which is the default, that is an error

  Options Database Key:
. -muon_restart_convert (true|false) - whether they are, false by default

  Level: intermediate

  Note:
  Entries are rounded to the precision that they have here, once\: `MuonSetStatePrecision()` may be another
  than it was, and PETSc built with another precision of its scalars. The run is then not the same to the bit.

.seealso: `Muon`, `MuonGetRestartConvert()`, `MuonSetRestart()`, `MuonLoadCheckpoint()`, `MuonSetStatePrecision()`
@*/
PetscErrorCode MuonSetRestartConvert(Muon muon, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  muon->restart_convert = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetRestartConvert - Gets whether weights and state of another precision are taken from a checkpoint

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. flg - whether they are

  Level: intermediate

.seealso: `Muon`, `MuonSetRestartConvert()`
@*/
PetscErrorCode MuonGetRestartConvert(Muon muon, PetscBool *flg)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, flg, muon->restart_convert);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MuonCheckpointRegister - Gives a checkpoint bytes of the program's own, such as where it is in its data

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
. name - letters, digits, points and underscores, at most 100; the same on every rank
. save - gives the bytes of this rank
. load - gets them back
- ctx  - for both, or `NULL`

  Calling sequence of `save`:
+ muon  - the optimizer, between two steps
. bytes - how many there are, set by the routine
. data  - where they are, set by the routine; they stay there until the checkpoint is written
- ctx   - the context

  Calling sequence of `load`:
+ muon  - the optimizer, whose weights, state and step are those of the checkpoint
. ranks - of the run that wrote it
. bytes - of each of these ranks, how many bytes there are
. data  - and where they are, until the routine returns. On as many ranks as then there are those of this rank alone, `NULL` for any other; else on each rank those of all
- ctx   - the context

  Level: intermediate

  Notes:
  Call it before `MuonSetUp()`, which may load a checkpoint. A name that is given again takes the new
  routines. A checkpoint fits where it has the same names, but for `MUON_RESTART_WEIGHTS`.

  A routine that returns an error on some rank is an error on all of them. Of a save nothing was written then;
  of a load the optimizer is what the checkpoint says.

.seealso: `Muon`, `MuonSaveCheckpoint()`, `MuonLoadCheckpoint()`, `MuonSetCheckpoint()`, `MuonSetRestart()`
@*/
PetscErrorCode MuonCheckpointRegister(Muon muon, const char name[], MuonCheckpointSaveFn *save, MuonCheckpointLoadFn *load, void *ctx)
{
  struct _n_MuonPrograms *programs;
  size_t                  length;
  PetscInt                k = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(name, 2);
  PetscCheck(save != NULL && load != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "MuonCheckpointRegister(): both routines must be there");
  length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._");
  PetscCheck(length > 0 && length < MUON_PROGRAM_NAME && name[length] == '\0', PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "MuonCheckpointRegister(): the name \"%s\", expected at most %d letters, digits, points and underscores", name,
             MUON_PROGRAM_NAME - 1);
  if (muon->programs == NULL) PetscCall(PetscNew(&muon->programs));
  programs = muon->programs;
  while (k < programs->count && strcmp(programs->program[k].name, name) != 0) k++;
  if (k == programs->count) {
    PetscCall(PetscRealloc((size_t)(k + 1) * sizeof(*programs->program), &programs->program));
    PetscCall(PetscMemzero(&programs->program[k], sizeof(*programs->program)));
    PetscCall(PetscStrallocpy(name, &programs->program[k].name));
    programs->count++;
  }
  programs->program[k].save = save;
  programs->program[k].load = load;
  programs->program[k].ctx  = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRestartDestroy_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonPrograms(muon); k++) PetscCall(PetscFree(muon->programs->program[k].name));
  if (muon->programs != NULL) PetscCall(PetscFree(muon->programs->program));
  PetscCall(PetscFree(muon->programs));
  PetscCall(PetscFree(muon->checkpoint));
  PetscCall(PetscFree(muon->checkpoint_weights));
  PetscCall(PetscFree(muon->restart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonCheckpointRequest - Asks for a checkpoint at the end of a step, from a handler of signals

  Not Collective

  Input Parameter:
. muon - the optimizer

  Level: advanced

  Notes:
  It may be called at any time on any rank, in a handler of signals too. The ranks agree at the end of the
  coming step, or of the one that is being taken, and write one checkpoint, whoever asked, to the folder of
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
  char             folder[PETSC_MAX_PATH_LEN];
  PetscInt         count;
  PetscReal        seconds;
  MuonRestartState state = muon->restart_state;
  PetscBool        set, flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-muon_checkpoint", "Folder that steps write checkpoints to", "MuonSetCheckpoint", muon->checkpoint, folder, sizeof(folder), &flg));
  if (flg) PetscCall(MuonSetCheckpoint(muon, folder));
  PetscCall(PetscOptionsInt("-muon_checkpoint_interval", "Of how many steps one writes a checkpoint", "MuonSetCheckpointInterval", muon->checkpoint_interval, &count, &flg));
  if (flg) PetscCall(MuonSetCheckpointInterval(muon, count));
  PetscCall(PetscOptionsInt("-muon_checkpoint_keep", "How many checkpoints remain", "MuonSetCheckpointKeep", muon->checkpoint_keep, &count, &flg));
  if (flg) PetscCall(MuonSetCheckpointKeep(muon, count));
  PetscCall(PetscOptionsReal("-muon_checkpoint_seconds", "After how many seconds steps write a checkpoint", "MuonSetCheckpointSeconds", muon->checkpoint_seconds, &seconds, &flg));
  if (flg) PetscCall(MuonSetCheckpointSeconds(muon, seconds));
  PetscCall(PetscOptionsString("-muon_checkpoint_weights", "File that gets the weights whenever a checkpoint is due", "MuonSetCheckpointWeights", muon->checkpoint_weights, folder, sizeof(folder), &flg));
  if (flg) PetscCall(MuonSetCheckpointWeights(muon, folder));
  PetscCall(PetscOptionsString("-muon_restart", "Folder of the checkpoint that a run begins with", "MuonSetRestart", muon->restart, folder, sizeof(folder), &flg));
  if (flg) PetscCall(MuonSetRestart(muon, folder));
  PetscCall(PetscOptionsBool("-muon_restart_if_present", "Begin anew where there is no checkpoint", "MuonSetRestartIfPresent", muon->restart_if_present, &set, &flg));
  if (flg) PetscCall(MuonSetRestartIfPresent(muon, set));
  PetscCall(PetscOptionsEnum("-muon_restart_state", "What a checkpoint is loaded for", "MuonSetRestartState", MuonRestartStates, (PetscEnum)state, (PetscEnum *)&state, &flg));
  if (flg) PetscCall(MuonSetRestartState(muon, state));
  PetscCall(PetscOptionsBool("-muon_restart_convert", "Take another precision from a checkpoint", "MuonSetRestartConvert", muon->restart_convert, &set, &flg));
  if (flg) PetscCall(MuonSetRestartConvert(muon, set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointSetUp_Private(Muon muon)
{
  char      viewer[16] = "";
  PetscBool flg, binary;

  PetscFunctionBegin;
  muon->checkpoint_agreed = PETSC_TRUE;
  /* What cannot be written is an error before the run, not behind it */
  PetscCall(PetscOptionsGetString(((PetscObject)muon)->options, ((PetscObject)muon)->prefix, "-muon_view", viewer, sizeof(viewer), &flg));
  PetscCall(PetscStrncmp(viewer, PETSCVIEWERBINARY, sizeof(PETSCVIEWERBINARY) - 1, &binary));
  PetscCheck(!binary, PetscObjectComm((PetscObject)muon), PETSC_ERR_SUP, "-%smuon_view %s: state goes to a folder, by -%smuon_checkpoint FOLDER", MuonPrefix(muon), PETSCVIEWERBINARY, MuonPrefix(muon));
  if (muon->checkpoint_weights != NULL) PetscCall(MuonSaveWeights_Private(muon, muon->checkpoint_weights, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether steps write anything */
static PetscBool MuonCheckpointWrites_Private(Muon muon)
{
  return muon->checkpoint != NULL || muon->checkpoint_weights != NULL ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MuonCheckpointAsked_Private(Muon muon, double *asked)
{
  PetscLogDouble now;

  PetscFunctionBegin;
  *asked = (double)muon->requested;
  if (muon->checkpoint_seconds == 0 || MuonCheckpointWrites_Private(muon) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscTime(&now));
  if (now - muon->checkpointed >= (PetscLogDouble)muon->checkpoint_seconds) *asked = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointNow_Private(Muon muon)
{
  PetscFunctionBegin;
  muon->requested = 0; /* one that comes while this is written means what is written */
  if (muon->checkpoint != NULL) PetscCall(MuonSaveCheckpoint(muon, muon->checkpoint, muon->checkpoint_keep));
  if (muon->checkpoint_weights != NULL) PetscCall(MuonSaveWeights_Private(muon, muon->checkpoint_weights, PETSC_FALSE));
  PetscCall(PetscTime(&muon->checkpointed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the step that was taken writes one by itself */
static PetscBool MuonCheckpointDue_Private(Muon muon)
{
  return muon->save || muon->step % muon->checkpoint_interval == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/*
   A folder that cannot be written to is an error before the run, not behind it; one that was set since the
   ranks compared their choices has to wait until they have done so again
*/
PetscErrorCode MuonCheckpointBeforeStep_Private(Muon muon)
{
  PetscFunctionBegin;
  if (muon->checkpoint != NULL && muon->checkpoint_agreed) PetscCall(MuonCheckpointStart_Private(muon, muon->checkpoint));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointAfterStep_Private(Muon muon)
{
  PetscFunctionBegin;
  muon->checkpoint_agreed = PETSC_TRUE;
  PetscCall(MuonCheckpointBeforeStep_Private(muon));
  if (MuonCheckpointWrites_Private(muon) && muon->reason >= 0 && MuonCheckpointDue_Private(muon)) PetscCall(MuonCheckpointNow_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointAtEnd_Private(Muon muon)
{
  PetscFunctionBegin;
  if (MuonCheckpointWrites_Private(muon) && muon->reason >= 0 && MuonCheckpointDue_Private(muon) == PETSC_FALSE) PetscCall(MuonCheckpointNow_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRestart_Private(Muon muon, PetscBool fresh)
{
  PetscBool absent = PETSC_FALSE;

  PetscFunctionBegin;
  if (muon->restart == NULL || muon->restarted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonLoad_Private(muon, muon->restart, muon->restart_if_present ? &absent : NULL));
  muon->restarted = PETSC_TRUE;
  if (absent == PETSC_FALSE && fresh && muon->restart_state == MUON_RESTART_WEIGHTS) PetscCall(MuonWeightsChanged(muon)); /* there is no state yet but the servers' weights */
  else if (absent == PETSC_FALSE) PetscCall(MuonRestartWeights_Private(muon));
  if (absent) PetscCall(PetscInfo(muon, "%s: no checkpoint is there\n", muon->restart));
  else PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "restarted at step %" PetscInt_FMT " from %s%s\n", muon->step, muon->restart, muon->restart_state == MUON_RESTART_ALL ? "" : " (weights alone)"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
