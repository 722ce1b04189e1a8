#include "muoncheckpoint.h" /*I "petscmuon.h" I*/
#include <petsctime.h>
#include <stdlib.h>
#include <string.h>

/*
   When checkpoints are written, and which one a run begins with.
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
. -muon_checkpoint_seconds seconds   - at the end of the first step behind which so much time has gone, too; 0, the default, is never
- -muon_checkpoint_weights file      - file that gets the weights alone at these steps, with a folder or without, as `MuonViewWeights()` writes them

  Level: intermediate

  Notes:
  `MuonStep()` writes a checkpoint after every step whose number, counted from 1, is a multiple of the
  interval, when the step is applied and counted and monitors have spoken of it; `MuonSolve()` writes the end
  of its last step too. A step that diverged writes none. A save that fails is an error on every rank, and the
  step was taken.

  Clocks of ranks differ\: they agree at the end of a step, and write where the time is up on any of them.

  The file of weights takes the place of the one before when it is complete and durable, so that whoever reads
  it has one or the other. Rank 0 writes it. One that cannot be made is an error of `MuonSetUp()`.

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

.seealso: `Muon`, `MuonRestartState`, `MuonLoadCheckpoint()`, `MuonSetCheckpoint()`
@*/
PetscErrorCode MuonSetRestart(Muon muon, const char folder[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonParametersAssignText((PetscObject)muon, "restart", folder));
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
  PetscCall(PetscFree(muon->checkpoint_agreed));
  PetscCall(PetscFree(muon->restarted));
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

/* A copy of a name, NULL for none */
static PetscErrorCode MuonCopyName_Private(const char name[], char **to)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*to));
  PetscCall(PetscStrallocpy(name, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointSetUp_Private(Muon muon)
{
  char      viewer[16] = "";
  PetscBool flg, binary;

  PetscFunctionBegin;
  PetscCall(MuonCopyName_Private(muon->checkpoint, &muon->checkpoint_agreed));
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
  PetscBool agreed;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(muon->checkpoint, muon->checkpoint_agreed, &agreed));
  if (muon->checkpoint != NULL && agreed) PetscCall(MuonCheckpointStart_Private(muon, muon->checkpoint));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointAfterStep_Private(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonCopyName_Private(muon->checkpoint, &muon->checkpoint_agreed));
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

/*
   Every byte of a generation, whose files are shared out among the ranks; the same run for all. The caller
   closes the manifest and frees the seals of one that is in order. ABSENT is a folder without a manifest
*/
static PetscErrorCode MuonCheckpointVerify_Private(Muon muon, MuonFileFolder *folder, const MuonFileGeneration *generation, MuonFileReader *manifest, MuonFileSeal **seals, MuonFileResult *result)
{
  unsigned char    run[MUON_FILE_RUN];
  MuonFileIdentity id;

  PetscFunctionBegin;
  *result = MuonFileManifestRead(folder, generation, manifest, seals);
  if (*result == MUON_FILE_ABSENT && muon->rank > 0) *result = MUON_FILE_CORRUPT;
  id = manifest->id;
  PetscCall(PetscArraycpy(run, id.run, MUON_FILE_RUN));
  PetscCallMPI(MPI_Bcast(run, MUON_FILE_RUN, MPI_BYTE, 0, PetscObjectComm((PetscObject)muon)));
  if (*result == MUON_FILE_OK && memcmp(run, id.run, MUON_FILE_RUN) != 0) {
    *result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(folder->text, sizeof(folder->text), "%s: rank 0 sees another run than rank %d there: the folder must be one that all nodes share", folder->path, muon->rank));
  }
  for (id.rank = (uint32_t)muon->rank; id.rank < id.ranks && *result == MUON_FILE_OK; id.rank += (uint32_t)muon->size) {
    MuonFileReader reader;

    *result = MuonFileReaderOpen(folder, &id, &(*seals)[id.rank], &reader);
    if (*result == MUON_FILE_OK) *result = MuonFileReaderVerify(&reader);
    if (*result == MUON_FILE_ABSENT) *result = MUON_FILE_CORRUPT;
    MuonFileReaderClose(&reader);
  }
  PetscCall(MuonCheckpointAgree_Private(muon, result, folder->text));
  if (*result == MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  MuonFileReaderClose(manifest);
  free(*seals);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Loads the latest generation that is in order, or the one before it, or is an error on every rank; where the
   caller asks for it, absent says that there is none
*/
static PetscErrorCode MuonRestartLoad_Private(Muon muon, const char path[], PetscBool *absent)
{
  MPI_Comm            comm = PetscObjectComm((PetscObject)muon);
  MuonFileFolder      folder;
  MuonFileReader      manifest;
  MuonFileSeal       *seals;
  MuonFileGeneration *all   = NULL, found;
  size_t              count = 0;
  PetscInt            left;
  MuonFileResult      result;
  char                text[MUON_FILE_TEXT];

  PetscFunctionBegin;
  result = MuonFileFolderInit(&folder, NULL, path);
  if (result == MUON_FILE_OK && muon->rank == 0) result = MuonFileFolderList(&folder, &all, &count);
  PetscCall(MuonCheckpointAgree_Private(muon, &result, folder.text));
  if (result == MUON_FILE_OK) PetscCall(PetscSNPrintf(text, sizeof(text), "%s: no checkpoint is there", folder.path));
  else PetscCall(PetscStrncpy(text, folder.text, sizeof(text)));
  if (result == MUON_FILE_OK) result = MUON_FILE_ABSENT;
  left = (PetscInt)count;
  PetscCallMPI(MPI_Bcast(&left, 1, MPIU_INT, 0, comm));
  for (PetscInt k = 0; k < left; k++) {
    const PetscBool second = result != MUON_FILE_ABSENT ? PETSC_TRUE : PETSC_FALSE;
    MuonFileResult  one;

    if (muon->rank == 0) found = all[k];
    PetscCallMPI(MPI_Bcast(&found, (PetscMPIInt)sizeof(found), MPI_BYTE, 0, comm));
    PetscCall(MuonCheckpointVerify_Private(muon, &folder, &found, &manifest, &seals, &one));
    if (one == MUON_FILE_ABSENT) continue;
    if (second) PetscCall(PetscPrintf(comm, "Checkpoint: %s; the one before it is taken\n", text));
    PetscCall(PetscStrncpy(text, folder.text, sizeof(text)));
    result = one;
    if (second || result == MUON_FILE_OK || result == MUON_FILE_VERSION) break;
  }
  free(all);
  if (absent != NULL) *absent = result == MUON_FILE_ABSENT ? PETSC_TRUE : PETSC_FALSE;
  if (absent != NULL && *absent) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(result == MUON_FILE_OK, comm, left == 0 || result == MUON_FILE_ABSENT ? PETSC_ERR_FILE_OPEN : PETSC_ERR_FILE_UNEXPECTED, "Checkpoint: %s", text);
  PetscCall(MuonCheckpointLoad_Private(muon, &folder, &manifest, seals));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the weights alone a run begins, where something was done before */
static PetscErrorCode MuonRestartAnew_Private(Muon muon)
{
  PetscFunctionBegin;
  if (muon->restart_state == MUON_RESTART_ALL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonReset(muon));
  PetscCall(MuonSetUp(muon));
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

  Names and shapes of the layers, the algorithm, rules, compressors and the precision of the state must be
  those of the checkpoint; the first difference is an error that names it, and nothing has changed. What may
  be set at any time, such as the learning rate and the schedule, is what it is now.

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
  PetscCall(MuonRestartAnew_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRestart_Private(Muon muon, PetscBool fresh)
{
  PetscBool absent = PETSC_FALSE, loaded;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(muon->restart, muon->restarted, &loaded));
  if (muon->restart == NULL || loaded) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonRestartLoad_Private(muon, muon->restart, muon->restart_if_present ? &absent : NULL));
  PetscCall(MuonCopyName_Private(muon->restart, &muon->restarted));
  if (absent) {
    PetscCall(PetscInfo(muon, "%s: no checkpoint is there\n", muon->restart));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (fresh && muon->restart_state == MUON_RESTART_WEIGHTS) PetscCall(MuonWeightsChanged(muon)); /* there is no state yet but the servers' weights */
  else PetscCall(MuonRestartAnew_Private(muon));
  PetscCall(PetscPrintf(PetscObjectComm((PetscObject)muon), "restarted at step %" PetscInt_FMT " from %s%s\n", muon->step, muon->restart, muon->restart_state == MUON_RESTART_ALL ? "" : " (weights alone)"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
