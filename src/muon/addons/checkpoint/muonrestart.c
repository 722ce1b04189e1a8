#include "muoncheckpoint.h" /*I "petscmuon.h" I*/
#include <petscmuon/private/muonwire.h>
#include <stdlib.h>
#include <string.h>

/*
   Which checkpoint a run begins with, and what the program adds to them.
*/

/*@C
  MuonCheckpointRegister - Adds the program's own data to checkpoints, such as its position in its training data

  Logically Collective; No Fortran Support

  Input Parameters:
+ muon - the optimizer
. name - letters, digits, points and underscores, at most 100; the same on every rank
. save - returns the bytes of this rank
. load - receives them
- ctx  - context of both routines, or `NULL`

  Calling sequence of `save`:
+ muon  - the optimizer, between two steps
. bytes - number of bytes, set by the routine
. data  - the bytes, set by the routine; they must stay until the checkpoint is written
- ctx   - the context

  Calling sequence of `load`:
+ muon  - the optimizer, with the weights, state and step of the checkpoint
. ranks - number of ranks of the run that wrote it
. bytes - number of bytes of each of these ranks
. data  - the bytes, until the routine returns. With the same number of ranks only this rank's own, `NULL` for the others; with another number those of all ranks
- ctx   - the context

  Level: intermediate

  Notes:
  Call this before `MuonSetUp()`, which may load a checkpoint. A second call with the same name replaces the routines.
  A checkpoint must have the same names, except with `MUON_RESTART_WEIGHTS`.

  If a routine fails on some rank, it is an error on all of them. A failed save writes nothing. After a failed load the
  optimizer has the state of the checkpoint.

.seealso: `Muon`, `MuonSaveCheckpoint()`, `MuonLoadCheckpoint()`, `MuonSetCheckpoint()`, `MuonSetRestart()`
@*/
PetscErrorCode MuonCheckpointRegister(Muon muon, const char name[], MuonCheckpointSaveFn *save, MuonCheckpointLoadFn *load, void *ctx)
{
  MuonSaving *saving;
  size_t      length;
  PetscInt    k = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(name, 2);
  PetscCheck(save != NULL && load != NULL, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_NULL, "MuonCheckpointRegister(): both routines must be there");
  length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._");
  PetscCheck(length > 0 && length < MUON_PROGRAM_NAME && name[length] == '\0', PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_WRONG, "MuonCheckpointRegister(): the name \"%s\", expected at most %d letters, digits, points and underscores", name,
             MUON_PROGRAM_NAME - 1);
  saving = MuonSavingOf(muon);
  while (k < saving->nprograms && strcmp(saving->program[k].name, name) != 0) k++;
  if (k == saving->nprograms) {
    PetscCall(PetscRealloc((size_t)(k + 1) * sizeof(*saving->program), &saving->program));
    PetscCall(PetscMemzero(&saving->program[k], sizeof(*saving->program)));
    PetscCall(PetscStrallocpy(name, &saving->program[k].name));
    saving->nprograms++;
    muon->registered = (unsigned int)MuonWireCRC32C((uint32_t)muon->registered, (const unsigned char *)name, length + 1);
  }
  saving->program[k].save = save;
  saving->program[k].load = load;
  saving->program[k].ctx  = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonCheckpointRequest - Requests a checkpoint at the end of a step, for example from a signal handler

  Not Collective

  Input Parameter:
. muon - the optimizer

  Level: advanced

  Notes:
  It may be called at any time on any rank, also in a signal handler. The ranks agree at the end of the current or the
  coming step and write one checkpoint to the folder of `MuonSetCheckpoint()`. Without a folder nothing happens.

  The library installs no signal handler.

.seealso: `Muon`, `MuonSetCheckpoint()`, `MuonSaveCheckpoint()`
@*/
void MuonCheckpointRequest(Muon muon)
{
  MuonSavingOf(muon)->requested = 1; /* and nothing else, not even what PETSc notes of each function */
}

/*
   Verifies every byte of a generation; the ranks share its files. run is the same for all. The caller closes the reader of a
   valid one. ABSENT is a folder without a manifest
*/
static PetscErrorCode MuonCheckpointVerify_Private(Muon muon, MuonFileFolder *folder, const MuonFileGeneration *generation, MuonFileReader *reader, MuonFileResult *result)
{
  unsigned char run[MUON_FILE_RUN];

  PetscFunctionBegin;
  *result = MuonFileReaderOpen(folder, generation, reader);
  if (*result == MUON_FILE_ABSENT && muon->rank > 0) *result = MUON_FILE_CORRUPT;
  PetscCall(PetscArraycpy(run, reader->id.run, MUON_FILE_RUN));
  PetscCallMPI(MPI_Bcast(run, MUON_FILE_RUN, MPI_BYTE, 0, PetscObjectComm((PetscObject)muon)));
  if (*result == MUON_FILE_OK && memcmp(run, reader->id.run, MUON_FILE_RUN) != 0) {
    *result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(folder->text, sizeof(folder->text), "%s: rank 0 sees another run than rank %d there: the folder must be one that all ranks share", folder->path, muon->rank));
  }
  if (*result == MUON_FILE_OK) *result = MuonFileReaderVerify(reader, (uint32_t)muon->rank, (uint32_t)muon->size);
  PetscCall(MuonCheckpointAgree_Private(muon, result, folder->text));
  if (*result != MUON_FILE_OK) MuonFileReaderClose(reader);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonRestartLoad_Private(Muon muon, const char path[], PetscBool *absent)
{
  MPI_Comm            comm = PetscObjectComm((PetscObject)muon);
  MuonFileFolder      folder;
  MuonFileReader      reader;
  MuonFileGeneration *all   = NULL, found;
  size_t              count = 0;
  PetscInt            left;
  MuonFileResult      result;
  char                text[MUON_FILE_TEXT];

  PetscFunctionBegin;
  result = MuonFileFolderInit(&folder, path);
  if (result == MUON_FILE_OK && muon->rank == 0) result = MuonFileFolderList(&folder, &all, &count);
  PetscCall(MuonCheckpointAgree_Private(muon, &result, folder.text));
  if (result == MUON_FILE_OK) {
    result = MUON_FILE_ABSENT;
    PetscCall(PetscSNPrintf(folder.text, sizeof(folder.text), "%s: no checkpoint is there", folder.path));
  }
  PetscCall(PetscStrncpy(text, folder.text, sizeof(text)));
  left = (PetscInt)count;
  PetscCallMPI(MPI_Bcast(&left, 1, MPIU_INT, 0, comm));
  for (PetscInt k = 0; k < left; k++) {
    const PetscBool second = result != MUON_FILE_ABSENT ? PETSC_TRUE : PETSC_FALSE;
    MuonFileResult  one;

    if (muon->rank == 0) found = all[k];
    PetscCallMPI(MPI_Bcast(&found, (PetscMPIInt)sizeof(found), MPI_BYTE, 0, comm));
    PetscCall(MuonCheckpointVerify_Private(muon, &folder, &found, &reader, &one));
    if (one == MUON_FILE_ABSENT) continue;
    if (second) PetscCall(MuonNotice(comm, "Checkpoint: %s; the one before it is taken\n", text));
    PetscCall(PetscStrncpy(text, folder.text, sizeof(text)));
    result = one;
    if (second || result == MUON_FILE_OK || result == MUON_FILE_VERSION) break;
  }
  free(all);
  if (absent != NULL) *absent = result == MUON_FILE_ABSENT ? PETSC_TRUE : PETSC_FALSE;
  if (absent != NULL && *absent) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(result == MUON_FILE_OK, comm, left == 0 || result == MUON_FILE_ABSENT ? PETSC_ERR_FILE_OPEN : PETSC_ERR_FILE_UNEXPECTED, "Checkpoint: %s", text);
  PetscCall(MuonCheckpointLoad_Private(muon, &reader));
  PetscFunctionReturn(PETSC_SUCCESS);
}
