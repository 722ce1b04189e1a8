#include "muoncheckpoint.h" /*I "petscmuon.h" I*/
#include <inttypes.h>
#include <stdlib.h>

/*
   Writes checkpoints: a file of each rank, then the manifest, which is the commit.
*/

struct _n_MuonCheckpoints {
  MuonFileFolder   folder; /* locked, from the first save on */
  MuonFileIdentity id;
};

/* What a visitor writes to */
typedef struct {
  Muon            muon;
  MuonFileWriter *writer;
} MuonCheckpointSave;

static PetscErrorCode MuonCheckpointWrite_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  MuonCheckpointSave *save = (MuonCheckpointSave *)visitor->ctx;
  MuonFileRecord      record;
  MuonCheckpointPlace place;
  MuonCheckpointPart  part[3];

  PetscFunctionBegin;
  if (state->scratch) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCheckpointRecord_Private(save->muon, state, &record, &place));
  if (state->entrywise) {
    const uint64_t first = record.rows * (uint64_t)place.copy / (uint64_t)place.copies, last = record.rows * (uint64_t)(place.copy + 1) / (uint64_t)place.copies;
    const int      parts = MuonCheckpointCut_Private(&place, &record, state->array, first, last - first, part);

    for (int k = 0; k < parts; k++) (void)MuonFileWriterAdd(save->writer, &part[k].record, part[k].array.data, part[k].array.ld);
  } else if (place.copy == 0 && place.leads) (void)MuonFileWriterAdd(save->writer, &record, state->data, state->array != NULL ? state->array->ld : record.rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What a mean over the workers was formed with, where they are not equal. It is no state: those of the
   optimizer that loads stay as they are
*/
static PetscErrorCode MuonCheckpointWriteWeights_Private(Muon muon, MuonStateVisitor *visitor)
{
  MuonState state;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&state, sizeof(state)));
  state.name   = MUON_CHECKPOINT_WEIGHT;
  state.holder = MUON_STATE_WORKER;
  state.bytes  = sizeof(double);
  for (PetscInt p = 0; p < muon->nshards; p++) {
    const MuonWorkerGrid grid = muon->shard[p].group->grid;

    if (grid->weight == NULL) continue;
    state.layer = ((PetscObject)muon->shard[p].layer)->name;
    state.data  = &grid->weight[grid->worker];
    PetscCall(MuonCheckpointWrite_Private(visitor, &state));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointAsk_Private(Muon muon)
{
  MuonFileResult result               = MUON_FILE_OK;
  char           text[MUON_FILE_TEXT] = "", said[MUON_FILE_TEXT];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonPrograms(muon) && result == MUON_FILE_OK; k++) {
    MuonProgram *program = &muon->programs->program[k];

    program->bytes = 0;
    program->data  = NULL;
    /* What it returns is told to all ranks, so that none waits for it */
    if ((*program->save)(muon, &program->bytes, &program->data, program->ctx) != PETSC_SUCCESS || program->bytes < 0) {
      result = MUON_FILE_USAGE;
      PetscCall(PetscSNPrintf(text, sizeof(text), "the routine that gives the bytes of the program \"%s\" failed on rank %d", program->name, muon->rank));
    }
  }
  PetscCall(MuonCheckpointAgree_Private(muon, result, text, &result, said));
  PetscCheck(result == MUON_FILE_OK, PetscObjectComm((PetscObject)muon), PETSC_ERR_USER, "Checkpoint: %s", said);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MuonFileRecord MuonCheckpointOwnRecord_Private(const char name[], MuonFilePrecision precision, uint64_t rows)
{
  MuonFileRecord record = {"", name, MUON_FILE_EVERYONE, precision, 0, 0, 0, 0, 0, 0, 0, rows, 1, 0, 0, NULL};

  return record;
}

PetscErrorCode MuonCheckpointWriteRank_Private(Muon muon, MuonFileFolder *folder, const MuonFileIdentity *run, MuonFileSeal *seal, MuonFileResult *result)
{
  MuonFileRecord     record = MuonCheckpointOwnRecord_Private(MUON_CHECKPOINT_NUMBERS, MUON_FILE_DOUBLE, NUMBERS);
  MuonFileIdentity   id     = *run;
  MuonFileWriter     writer;
  MuonCheckpointSave save = {muon, &writer};
  MuonStateVisitor   visitor;
  double             numbers[NUMBERS];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit        = MuonCheckpointWrite_Private;
  visitor.ctx          = &save;
  visitor.onhost       = PETSC_TRUE;
  id.rank              = (uint32_t)muon->rank;
  record.holder        = MUON_FILE_WORKER;
  record.whose         = id.rank;
  numbers[NUMBER_STEP] = (double)muon->step;
  numbers[NUMBER_NANS] = (double)muon->nancount;
  numbers[NUMBER_LOSS] = (double)muon->loss;
  numbers[NUMBER_DUAL] = (double)muon->dual;
  for (PetscInt k = 0; k < 3; k++) {
    numbers[NUMBER_UP + k]   = (double)muon->traffic.total_up[k];
    numbers[NUMBER_DOWN + k] = (double)muon->traffic.total_down[k];
  }
  *result = MuonFileWriterOpen(folder, &id, &writer);
  if (*result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  (void)MuonFileWriterAdd(&writer, &record, numbers, NUMBERS);
  for (PetscInt k = 0; k < MuonPrograms(muon); k++) {
    const MuonProgram *program = &muon->programs->program[k];
    MuonProgramRecord  own;

    PetscCall(MuonProgramRecordName_Private(program, &own));
    record        = MuonCheckpointOwnRecord_Private(own.name, MUON_FILE_BYTES, (uint64_t)program->bytes);
    record.holder = MUON_FILE_WORKER;
    record.whose  = id.rank;
    (void)MuonFileWriterAdd(&writer, &record, program->data, record.rows);
  }
  PetscCall(MuonCheckpointWriteWeights_Private(muon, &visitor));
  PetscCall(MuonCheckpointWalk_Private(muon, &visitor, PETSC_TRUE, PETSC_FALSE));
  *result = MuonFileWriterClose(&writer, seal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointWriteText_Private(MuonFileWriter *writer, const char name[], const char text[])
{
  MuonFileRecord record;
  size_t         length;

  PetscFunctionBegin;
  PetscCall(PetscStrlen(text, &length));
  record = MuonCheckpointOwnRecord_Private(name, MUON_FILE_BYTES, length);
  (void)MuonFileWriterAdd(writer, &record, text, length);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The commit, of rank 0 */
PetscErrorCode MuonCheckpointCommit_Private(Muon muon, MuonFileFolder *folder, const MuonFileIdentity *id, const MuonFileSeal seals[], MuonFileSeal *seal, MuonFileResult *result)
{
  MuonFileWriter writer;
  char          *choices, *settings;

  PetscFunctionBegin;
  PetscCall(MuonCheckpointChoices_Private(muon, &choices));
  PetscCall(MuonSettingsGet_Private(muon, &settings));
  *result = MuonFileManifestOpen(folder, id, seals, &writer);
  if (*result == MUON_FILE_OK) {
    PetscCall(MuonCheckpointWriteText_Private(&writer, MUON_CHECKPOINT_CHOICES, choices));
    PetscCall(MuonCheckpointWriteText_Private(&writer, MUON_CHECKPOINT_SETTINGS, settings));
    *result = MuonFileWriterClose(&writer, seal);
  }
  PetscCall(PetscFree(choices));
  PetscCall(PetscFree(settings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The folder of this run's checkpoints: made and locked when it is first written to, until the optimizer is
   destroyed or writes to another
*/
PetscErrorCode MuonCheckpointStart_Private(Muon muon, const char folder[])
{
  struct _n_MuonCheckpoints *c;
  MuonFileResult             result;
  MuonFileGeneration        *all   = NULL;
  size_t                     count = 0;
  char                       said[MUON_FILE_TEXT];

  PetscFunctionBegin;
  if (muon->checkpoints != NULL) {
    MuonFileFolder named;
    PetscBool      same = PETSC_FALSE;

    if (MuonFileFolderInit(&named, NULL, folder) == MUON_FILE_OK) PetscCall(PetscStrcmp(named.path, muon->checkpoints->folder.path, &same));
    if (same) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MuonCheckpointsDestroy_Private(muon));
  }
  PetscCall(PetscNew(&c));
  result = MuonFileFolderInit(&c->folder, NULL, folder);
  if (result == MUON_FILE_OK && muon->rank == 0) {
    result = MuonFileFolderCreate(&c->folder);
    if (result == MUON_FILE_OK && muon->continues == PETSC_FALSE) result = MuonFileFolderList(&c->folder, &all, &count);
    if (result == MUON_FILE_OK) result = MuonFileRun(&c->folder, c->id.run);
    if (result == MUON_FILE_OK) result = MuonFileFolderLock(&c->folder, c->id.run, 0);
  }
  PetscCall(MuonCheckpointAgree_Private(muon, result, c->folder.text, &result, said));
  if (result != MUON_FILE_OK) {
    free(all);
    PetscCall(PetscFree(c));
  }
  PetscCheck(result == MUON_FILE_OK, PetscObjectComm((PetscObject)muon), PETSC_ERR_FILE_OPEN, "Checkpoint: %s", said);
  /* They go as those of this run come */
  if (count > 0) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "PetscMuon warning: %s has checkpoints of another run, the last of step %" PRIu64 ", which are removed when this run has written its own; -%smuon_restart %s goes on with them\n", folder, all[0].step,
                          MuonPrefix(muon), folder));
  }
  free(all);
  c->id.ranks       = (uint32_t)muon->size;
  muon->checkpoints = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointsDestroy_Private(Muon muon)
{
  PetscFunctionBegin;
  if (muon->checkpoints != NULL) (void)MuonFileFolderUnlock(&muon->checkpoints->folder);
  PetscCall(PetscFree(muon->checkpoints));
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

  `MUONEF21` measures before it whether servers and workers still agree, `MuonEF21GetDrift()`, which sends the
  workers' estimates uncompressed once.

.seealso: `Muon`, `MuonLoadCheckpoint()`, `MuonCheckpointRegister()`, `MuonSetCheckpoint()`, `MuonStep()`, `MuonEF21GetDrift()`
@*/
PetscErrorCode MuonSaveCheckpoint(Muon muon, const char folder[], PetscInt keep)
{
  MPI_Comm                   comm = PetscObjectComm((PetscObject)muon);
  struct _n_MuonCheckpoints *c;
  MuonFileResult             result = MUON_FILE_OK;
  MuonFileSeal               seal, *seals;
  char                       said[MUON_FILE_TEXT], pruned[MUON_FILE_TEXT];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscAssertPointer(folder, 2);
  PetscValidLogicalCollectiveInt(muon, keep, 3);
  PetscCheck(keep >= 1, comm, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " checkpoints to keep, expected at least 1", keep);
  PetscCall(MuonSetUp(muon));
  PetscTryTypeMethod(muon, saving);
  PetscCall(MuonCheckpointAsk_Private(muon));
  PetscCall(MuonCheckpointStart_Private(muon, folder));
  c = muon->checkpoints;
  if (muon->rank == 0) result = MuonFileBegin(&c->folder, (uint64_t)muon->step, &c->id);
  PetscCall(MuonCheckpointAgree_Private(muon, result, c->folder.text, &result, said));
  PetscCheck(result == MUON_FILE_OK, comm, PETSC_ERR_FILE_WRITE, "Checkpoint: %s", said);
  PetscCallMPI(MPI_Bcast(&c->id, (PetscMPIInt)sizeof(c->id), MPI_BYTE, 0, comm));
  PetscCall(PetscMemzero(&seal, sizeof(seal)));
  PetscCall(MuonCheckpointWriteRank_Private(muon, &c->folder, &c->id, &seal, &result));
  PetscCall(MuonCheckpointAgree_Private(muon, result, c->folder.text, &result, said));
  PetscCall(PetscMalloc1(muon->size, &seals));
  PetscCallMPI(MPI_Gather(&seal, (PetscMPIInt)sizeof(seal), MPI_BYTE, seals, (PetscMPIInt)sizeof(seal), MPI_BYTE, 0, comm));
  if (result == MUON_FILE_OK) {
    if (muon->rank == 0) PetscCall(MuonCheckpointCommit_Private(muon, &c->folder, &c->id, seals, NULL, &result));
    PetscCall(MuonCheckpointAgree_Private(muon, result, c->folder.text, &result, said));
  }
  PetscCall(PetscFree(seals));
  if (result != MUON_FILE_OK) {
    MuonFileIdentity id = c->id;

    /* Ranks remove their files when there is no manifest any more that names them */
    id.rank = MUON_FILE_MANIFEST;
    if (muon->rank == 0) (void)MuonFileRemove(&c->folder, &id);
    PetscCallMPI(MPI_Barrier(comm));
    id.rank = (uint32_t)muon->rank;
    (void)MuonFileRemove(&c->folder, &id);
    SETERRQ(comm, PETSC_ERR_FILE_WRITE, "Checkpoint: %s", said);
  }
  if (muon->rank == 0) result = MuonFilePrune(&c->folder, &c->id, (size_t)keep);
  PetscCall(MuonCheckpointAgree_Private(muon, result, c->folder.text, &result, pruned));
  PetscCheck(result == MUON_FILE_OK, comm, PETSC_ERR_FILE_WRITE, "The checkpoint of step %" PetscInt_FMT " was written, but an older one could not be removed: %s", muon->step, pruned);
  PetscFunctionReturn(PETSC_SUCCESS);
}
