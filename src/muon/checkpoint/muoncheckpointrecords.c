#include "muoncheckpoint.h"
#include <string.h>

/*
   Checkpoints: what a visitor of the state sees, and the weights, as records of files. src/file writes and
   reads them; here the ranks agree.

   What a server has is written by who owns, and what several ranks have once, its rows cut over these:
   weights, and the state of servers where every rank owns. Whoever reads goes over all files and takes the
   rows that it has, by their numbers in the layer, whatever ranks had them. What is no rows of a layer is of
   a shard, and has a place where there is such a shard.
*/

PetscErrorCode MuonCheckpointAgree_Private(Muon muon, MuonFileResult mine, const char text[], MuonFileResult *result, char said[MUON_FILE_TEXT])
{
  PetscMPIInt who    = mine != MUON_FILE_OK ? muon->rank : muon->size, first;
  int         answer = (int)mine;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&who, &first, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  *result = MUON_FILE_OK;
  said[0] = '\0';
  if (first == muon->size) PetscFunctionReturn(PETSC_SUCCESS);
  if (first == muon->rank) PetscCall(PetscStrncpy(said, text, MUON_FILE_TEXT));
  PetscCallMPI(MPI_Bcast(&answer, 1, MPI_INT, first, PetscObjectComm((PetscObject)muon)));
  PetscCallMPI(MPI_Bcast(said, MUON_FILE_TEXT, MPI_CHAR, first, PetscObjectComm((PetscObject)muon)));
  *result = (MuonFileResult)answer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The weights are everyone's. What every rank keeps for it owns is a server's: with other owners one rank
   may keep it
*/
MuonFileHolder MuonCheckpointHolder_Private(const char name[], MuonStateHolder holder)
{
  if (holder == MUON_STATE_WORKER) return MUON_FILE_WORKER;
  return holder == MUON_STATE_EVERYONE && strcmp(name, MUON_CHECKPOINT_WEIGHTS) == 0 ? MUON_FILE_EVERYONE : MUON_FILE_SERVER;
}

/*
   What a state belongs to, by its name: a layer or a shard of it, or -1 for what the optimizer has beside
   layers; shard is NULL where the layer is frozen
*/
PetscErrorCode MuonCheckpointFindLayer_Private(Muon muon, const char name[], PetscInt *layer, const MuonShard **shard)
{
  PetscFunctionBegin;
  *layer = -1;
  *shard = NULL;
  for (PetscInt l = 0; l < muon->nlayers && *layer < 0; l++) {
    if (strcmp(((PetscObject)muon->layer[l])->name, name) == 0) *layer = l;
  }
  for (PetscInt p = 0; p < muon->nshards && *shard == NULL; p++) {
    if (*layer >= 0 ? muon->shard[p].layer == muon->layer[*layer] : strcmp(muon->shard[p].name, name) == 0) *shard = &muon->shard[p];
  }
  for (PetscInt l = 0; l < muon->nlayers && *layer < 0 && *shard != NULL; l++) {
    if (muon->layer[l] == (*shard)->layer) *layer = l;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What a state is as a record: rows of its layer, by the layer's name, or something of its shard alone, whose
   rows are then those of a layer of its own
*/
PetscErrorCode MuonCheckpointRecord_Private(Muon muon, const MuonState *state, MuonFileRecord *record, MuonCheckpointPlace *place)
{
  const PetscBool  weights = state->holder == MUON_STATE_EVERYONE && strcmp(state->name, MUON_CHECKPOINT_WEIGHTS) == 0 ? PETSC_TRUE : PETSC_FALSE; /* the caller's, not a server's */
  const MuonShard *shard;
  MuonWorkerGrid   grid;
  MuonLayer        layer;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(record, sizeof(*record)));
  record->layer   = state->layer;
  record->state   = state->name;
  record->holder  = MuonCheckpointHolder_Private(state->name, state->holder);
  record->rows    = state->bytes;
  record->columns = 1;
  if (state->array != NULL) {
    record->precision = state->array->precision == MUON_SINGLE ? MUON_FILE_SINGLE : MUON_FILE_DOUBLE;
    record->rowmajor  = state->array->rowmajor;
    record->rows      = MuonArrayRows(state->array);
    record->columns   = MuonArrayColumns(state->array);
  }
  place->copies  = muon->size;
  place->copy    = muon->rank;
  place->leads   = PETSC_TRUE;
  place->entries = NULL;
  PetscCall(MuonCheckpointFindLayer_Private(muon, state->layer, &place->layer, &shard));
  PetscCheck(place->layer >= 0 || state->layer[0] == '\0', PETSC_COMM_SELF, PETSC_ERR_PLIB, "State %s of \"%s\", which is no layer", state->name, state->layer);
  if (place->layer < 0) PetscFunctionReturn(PETSC_SUCCESS);
  layer                 = muon->layer[place->layer];
  grid                  = muon->grid[muon->grid_of[place->layer]];
  record->entrywise     = state->entrywise ? 1 : 0;
  record->whose         = state->holder == MUON_STATE_WORKER ? (uint32_t)grid->worker : 0;
  record->layer_rows    = (uint64_t)layer->m;
  record->layer_columns = (uint64_t)layer->n;
  if (state->entrywise) {
    record->layer = ((PetscObject)layer)->name;
    record->row   = (uint64_t)(weights ? layer->first : shard->row);
    if (MuonLayerIsEntries(layer)) place->entries = layer;
  } else if (strcmp(state->layer, ((PetscObject)layer)->name) != 0) record->layer_rows = (uint64_t)shard->rows;
  else place->leads = grid->position == 0 ? PETSC_TRUE : PETSC_FALSE; /* several ranks may have no rows before the first of them */
  if (state->holder != MUON_STATE_EVERYONE && (state->holder != MUON_STATE_SERVER || layer->owner >= 0)) {
    place->copies = 1;
    place->copy   = 0;
  } else if (weights == PETSC_FALSE || layer->ranks > 1) {
    place->copies = grid->nworkers;
    place->copy   = grid->worker;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Some rows of a record, which follow the first of them, as rectangles of the layer: one, or of entries the
   end of a line, whole lines and the beginning of another
*/
int MuonCheckpointCut_Private(const MuonCheckpointPlace *place, const MuonFileRecord *record, const MuonArray *array, uint64_t first, uint64_t rows, MuonCheckpointPart part[3])
{
  const MuonLayer layer = place->entries;
  uint64_t        line, at, end;
  int             n = 0;

  part[0].record = *record;
  part[0].array  = MuonArrayPart(array, (size_t)first, 0, (size_t)rows, (size_t)record->columns);
  part[0].record.row += first;
  part[0].record.rows = rows;
  if (layer == NULL) return 1;
  line = (uint64_t)(layer->rowmajor ? layer->n : layer->m);
  at   = part[0].record.row;
  end  = at + rows;
  for (; at < end; n++) {
    const uint64_t offset = at % line, lines = offset == 0 && end - at >= line ? (end - at) / line : 1, length = lines > 1 ? line : PetscMin(line - offset, end - at);

    part[n].record          = *record;
    part[n].record.rowmajor = layer->rowmajor;
    part[n].record.row      = layer->rowmajor ? at / line : offset;
    part[n].record.column   = layer->rowmajor ? offset : at / line;
    part[n].record.rows     = layer->rowmajor ? lines : length;
    part[n].record.columns  = layer->rowmajor ? length : lines;
    part[n].array           = MuonArrayPart(array, (size_t)(at - record->row), 0, 0, 0);
    part[n].array.rowmajor  = layer->rowmajor;
    part[n].array.len = part[n].array.ld = (size_t)length;
    part[n].array.count                  = (size_t)lines;
    at += lines * length;
  }
  return n;
}

PetscErrorCode MuonCheckpointWalk_Private(Muon muon, MuonStateVisitor *visitor, PetscBool all, PetscBool write)
{
  MuonState state;
  MuonArray W, host;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&state, sizeof(state)));
  if (all) PetscCall(MuonVisitState(muon, visitor));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscCall(MuonLayerGetWeightsMemory(muon->layer[l], write, &W));
    PetscCall(MuonArrayOnHost(&W, PETSC_TRUE, &host));
    state.layer     = ((PetscObject)muon->layer[l])->name;
    state.name      = MUON_CHECKPOINT_WEIGHTS;
    state.holder    = MUON_STATE_EVERYONE;
    state.entrywise = PETSC_TRUE;
    state.array     = &host;
    state.bytes     = MuonArrayBytes(&host);
    state.data      = host.data;
    PetscCall((*visitor->visit)(visitor, &state));
    PetscCall(MuonArrayOffHost(&W, write, &host));
    PetscCall(MuonLayerRestoreWeightsMemory(muon->layer[l], write, &W));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What decides which state there is, a line each: a checkpoint fits where these are the same */
PetscErrorCode MuonCheckpointChoices_Private(Muon muon, char **choices)
{
  const size_t most = 512 * ((size_t)muon->nlayers + 1) + 2 * MUON_PROGRAM_NAME * (size_t)MuonPrograms(muon);
  size_t       length;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(most, choices));
  PetscCall(PetscSNPrintf(*choices, most, "type %s, momentum at the %s\n", ((PetscObject)muon)->type_name, MuonMomentumAts[muon->momentum_at]));
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer     layer = muon->layer[l];
    MuonShard    *shard = NULL;
    MuonLayerRule rule;

    for (PetscInt p = 0; p < muon->nshards && shard == NULL; p++) shard = muon->shard[p].layer == layer ? &muon->shard[p] : NULL;
    PetscCall(MuonLayerGetRule(layer, &rule));
    PetscCall(PetscStrlen(*choices, &length));
    PetscCall(PetscSNPrintf(*choices + length, most - length, "layer \"%s\" of %" PetscInt_FMT " x %" PetscInt_FMT ", rule %s%s", ((PetscObject)layer)->name, layer->m, layer->n, rule, shard == NULL || layer->keepsmomentum ? "" : ", no momentum"));
    PetscCall(PetscStrlen(*choices, &length));
    if (shard != NULL) PetscCall(PetscSNPrintf(*choices + length, most - length, ", up %s, down %s", shard->up_type, shard->downlink == MUON_DOWNLINK_STEP ? MuonDownlinks[MUON_DOWNLINK_STEP] : shard->down_type));
    PetscCall(PetscStrlcat(*choices, "\n", most));
  }
  for (PetscInt k = 0; k < MuonPrograms(muon); k++) {
    PetscCall(PetscStrlen(*choices, &length));
    PetscCall(PetscSNPrintf(*choices + length, most - length, "bytes of the program \"%s\"\n", muon->programs->program[k].name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonProgramRecordName_Private(const MuonProgram *program, MuonProgramRecord *record)
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(record->name, sizeof(record->name), "%s%s", MUON_CHECKPOINT_PROGRAM, program->name));
  PetscFunctionReturn(PETSC_SUCCESS);
}
