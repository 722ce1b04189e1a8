#include "muoncheckpoint.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  PetscCall(MuonCheckpointRecord_Private((Muon)visitor->of, state, &record, &place));
  if (state->entrywise) {
    const uint64_t first = record.rows * (uint64_t)place.copy / (uint64_t)place.copies, last = record.rows * (uint64_t)(place.copy + 1) / (uint64_t)place.copies;
    const int      parts = MuonCheckpointCut_Private(&place, &record, state->array, first, last - first, part);

    for (int k = 0; k < parts; k++) (void)MuonFileWriterAdd(save->writer, &part[k].record, part[k].array.data, part[k].array.ld >> part[k].array.pairs);
  } else if (place.copy == 0 && place.leads) (void)MuonFileWriterAdd(save->writer, &record, state->data, state->array != NULL ? state->array->ld >> state->array->pairs : record.rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The weights of means over the workers, if they are not equal. They are not state: the optimizer that loads keeps its own
*/
static PetscErrorCode MuonCheckpointWriteWeights_Private(Muon muon, MuonStateVisitor *visitor)
{
  MuonState state = {0};

  PetscFunctionBegin;
  visitor->of  = (PetscObject)muon;
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

/* If a routine of the program failed on some rank, it is an error on every rank */
PetscErrorCode MuonCheckpointPrograms_Private(Muon muon, PetscInt failed, const char does[])
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  PetscCheck(failed >= MuonSavingOf(muon)->nprograms, PetscObjectComm((PetscObject)muon), PETSC_ERR_USER, "Checkpoint: the routine that %s the bytes of the program \"%s\" failed", does, MuonSavingOf(muon)->program[failed].name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bytes of the program, from its routines */
static PetscErrorCode MuonCheckpointAskPrograms_Private(Muon muon)
{
  PetscInt failed = PETSC_MAX_INT;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonSavingOf(muon)->nprograms && failed > k; k++) {
    MuonProgram *program = &MuonSavingOf(muon)->program[k];

    program->bytes = 0;
    program->data  = NULL;
    /* What it returns is sent to all ranks, so that none waits for it */
    if ((*program->save)(muon, &program->bytes, &program->data, program->ctx) != PETSC_SUCCESS || program->bytes < 0) failed = k;
  }
  PetscCall(MuonCheckpointPrograms_Private(muon, failed, "gives"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MuonFileRecord MuonCheckpointOwnRecord_Private(const char name[], MuonFilePrecision precision, uint64_t rows)
{
  MuonFileRecord record = {"", name, MUON_FILE_EVERYONE, precision, 0, 0, 0, 0, 0, 0, 0, rows, 1, 0, 0, 0, NULL};

  return record;
}

/* The file of this rank */
static PetscErrorCode MuonCheckpointWriteRank_Private(Muon muon, MuonFileFolder *folder, const MuonFileIdentity *run, MuonFileSeal *seal, MuonFileResult *result)
{
  MuonFileRecord     record = MuonCheckpointOwnRecord_Private(MUON_CHECKPOINT_NUMBERS, MUON_FILE_DOUBLE, NUMBERS);
  MuonFileIdentity   id     = *run;
  MuonFileWriter     writer;
  MuonCheckpointSave save    = {muon, &writer};
  MuonStateVisitor   visitor = {0};
  double             numbers[NUMBERS];

  PetscFunctionBegin;
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
  (void)MuonFileWriterOpen(folder, &id, &writer);
  (void)MuonFileWriterAdd(&writer, &record, numbers, NUMBERS);
  for (PetscInt k = 0; k < MuonSavingOf(muon)->nprograms; k++) {
    const MuonProgram *program = &MuonSavingOf(muon)->program[k];
    char               name[MUON_PROGRAM_NAME + sizeof(MUON_CHECKPOINT_PROGRAM)];

    PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", MUON_CHECKPOINT_PROGRAM, program->name));
    record.state     = name;
    record.precision = MUON_FILE_BYTES;
    record.rows      = (uint64_t)program->bytes;
    (void)MuonFileWriterAdd(&writer, &record, program->data, record.rows);
  }
  PetscCall(MuonCheckpointWriteWeights_Private(muon, &visitor));
  PetscCall(MuonCheckpointWalk_Private(muon, &visitor, PETSC_TRUE, PETSC_FALSE));
  *result = MuonFileWriterClose(&writer, seal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The commit, of rank 0 */
static PetscErrorCode MuonCheckpointCommit_Private(Muon muon, MuonFileFolder *folder, const MuonFileIdentity *id, const MuonFileSeal seals[], MuonFileResult *result)
{
  MuonFileWriter writer;
  MuonFileRecord record;
  char          *options = NULL;

  PetscFunctionBegin;
  PetscCall(MuonParametersWrite((PetscObject)muon, &options));
  record = MuonCheckpointOwnRecord_Private(MUON_CHECKPOINT_OPTIONS, MUON_FILE_BYTES, strlen(options));
  (void)MuonFileManifestOpen(folder, id, seals, &writer);
  (void)MuonFileWriterAdd(&writer, &record, options, record.rows);
  *result = MuonFileWriterClose(&writer, NULL);
  PetscCall(PetscFree(options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The folder of this run's checkpoints: created and locked at the first save, until the optimizer is destroyed or writes to
   another
*/
PetscErrorCode MuonCheckpointStart_Private(Muon muon, const char folder[])
{
  struct _n_MuonCheckpoints *c;
  MuonFileResult             result;
  MuonFileGeneration        *all   = NULL;
  size_t                     count = 0;

  PetscFunctionBegin;
  if (MuonSavingOf(muon)->kept != NULL) {
    MuonFileFolder named;
    PetscBool      same = PETSC_FALSE;

    if (MuonFileFolderInit(&named, folder) == MUON_FILE_OK) PetscCall(PetscStrcmp(named.path, MuonSavingOf(muon)->kept->folder.path, &same));
    if (same) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MuonCheckpointsDestroy_Private(muon));
  }
  PetscCall(PetscNew(&c));
  result = MuonFileFolderInit(&c->folder, folder);
  if (result == MUON_FILE_OK && muon->rank == 0) {
    result = MuonFileFolderLock(&c->folder, c->id.run);
    if (result == MUON_FILE_OK && !muon->continues) result = MuonFileFolderList(&c->folder, &all, &count);
  }
  PetscCall(MuonCheckpointAgree_Private(muon, &result, c->folder.text));
  if (result != MUON_FILE_OK) {
    char text[MUON_FILE_TEXT];

    PetscCall(PetscStrncpy(text, c->folder.text, sizeof(text)));
    MuonFileFolderUnlock(&c->folder);
    PetscCall(PetscFree(c));
    SETERRQ(PetscObjectComm((PetscObject)muon), PETSC_ERR_FILE_OPEN, "Checkpoint: %s", text);
  }
  /* They go as those of this run come */
  if (count > 0) {
    PetscCall(MuonNotice(PETSC_COMM_SELF, "PetscMuon warning: %s has checkpoints of another run, the last of step %" PRIu64 ", which are removed when this run has written its own; -%smuon_restart %s goes on with them\n", folder, all[0].step,
                         MuonPrefix(muon), folder));
  }
  free(all);
  c->id.ranks              = (uint32_t)muon->size;
  MuonSavingOf(muon)->kept = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointsDestroy_Private(Muon muon)
{
  PetscFunctionBegin;
  if (MuonSavingOf(muon)->kept != NULL) MuonFileFolderUnlock(&MuonSavingOf(muon)->kept->folder);
  PetscCall(PetscFree(MuonSavingOf(muon)->kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointSave_Private(Muon muon, const char folder[], PetscInt keep)
{
  MPI_Comm                   comm = PetscObjectComm((PetscObject)muon);
  struct _n_MuonCheckpoints *c;
  MuonFileResult             result = MUON_FILE_OK;
  MuonFileSeal               seal, *seals;

  PetscFunctionBegin;
  MuonTryAddons(muon, saving, muon);
  PetscCall(MuonCheckpointAskPrograms_Private(muon));
  PetscCall(MuonCheckpointStart_Private(muon, folder));
  c = MuonSavingOf(muon)->kept;
  if (muon->rank == 0) result = MuonFileBegin(&c->folder, (uint64_t)muon->step, &c->id);
  PetscCall(MuonCheckpointAgree_Private(muon, &result, c->folder.text));
  PetscCheck(result == MUON_FILE_OK, comm, PETSC_ERR_FILE_WRITE, "Checkpoint: %s", c->folder.text);
  PetscCallMPI(MPI_Bcast(&c->id, (PetscMPIInt)sizeof(c->id), MPI_BYTE, 0, comm));
  PetscCall(PetscMemzero(&seal, sizeof(seal)));
  PetscCall(MuonCheckpointWriteRank_Private(muon, &c->folder, &c->id, &seal, &result));
  PetscCall(MuonCheckpointAgree_Private(muon, &result, c->folder.text));
  PetscCall(PetscMalloc1(muon->size, &seals));
  PetscCallMPI(MPI_Gather(&seal, (PetscMPIInt)sizeof(seal), MPI_BYTE, seals, (PetscMPIInt)sizeof(seal), MPI_BYTE, 0, comm));
  if (result == MUON_FILE_OK) {
    if (muon->rank == 0) PetscCall(MuonCheckpointCommit_Private(muon, &c->folder, &c->id, seals, &result));
    PetscCall(MuonCheckpointAgree_Private(muon, &result, c->folder.text));
  }
  PetscCall(PetscFree(seals));
  if (result != MUON_FILE_OK) {
    MuonFileIdentity id = c->id;
    char             text[MUON_FILE_TEXT];

    PetscCall(PetscStrncpy(text, c->folder.text, sizeof(text)));
    /* Ranks remove their files when no manifest names them any more */
    id.rank = MUON_FILE_MANIFEST;
    if (muon->rank == 0) (void)MuonFileRemove(&c->folder, &id);
    PetscCallMPI(MPI_Barrier(comm));
    id.rank = (uint32_t)muon->rank;
    (void)MuonFileRemove(&c->folder, &id);
    SETERRQ(comm, PETSC_ERR_FILE_WRITE, "Checkpoint: %s", text);
  }
  if (muon->rank == 0) result = MuonFilePrune(&c->folder, (size_t)keep);
  PetscCall(MuonCheckpointAgree_Private(muon, &result, c->folder.text));
  PetscCheck(result == MUON_FILE_OK, comm, PETSC_ERR_FILE_WRITE, "The checkpoint of step %" PetscInt_FMT " was written, but an older one could not be removed: %s", muon->step, c->folder.text);
  PetscFunctionReturn(PETSC_SUCCESS);
}
