#include "muoncheckpoint.h"

/*
   Checkpoints: the visited state and the weights as records of files. src/file writes and reads them; here the ranks agree.

   The owner writes a server's state. Replicated data, weights and the state of servers if every rank owns, are written once; the
   ranks share the rows. Each rank reads all files and takes its rows by their indices in the layer, from any rank's file. State
   that is not in rows of a layer belongs to a shard, and is read by ranks with this shard.
*/

PetscErrorCode MuonCheckpointAgree_Private(Muon muon, MuonFileResult *result, char text[MUON_FILE_TEXT])
{
  PetscMPIInt who    = *result != MUON_FILE_OK ? muon->rank : muon->size, first;
  int         answer = (int)*result;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&who, &first, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)muon)));
  if (first == muon->size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&answer, 1, MPI_INT, first, PetscObjectComm((PetscObject)muon)));
  PetscCallMPI(MPI_Bcast(text, MUON_FILE_TEXT, MPI_CHAR, first, PetscObjectComm((PetscObject)muon)));
  *result = (MuonFileResult)answer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights and similar replicated data, "weights.NAME": all rows on this rank, not those of a shard */
static PetscBool MuonCheckpointIsWhole_Private(const char name[], MuonStateHolder holder)
{
  return holder == MUON_STATE_EVERYONE && strncmp(name, MUON_CHECKPOINT_WEIGHTS, strlen(MUON_CHECKPOINT_WEIGHTS)) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/*
   These are replicated. State that every rank keeps as an owner is a server's: with other owners one rank may keep it
*/
MuonFileHolder MuonCheckpointHolder_Private(const char name[], MuonStateHolder holder)
{
  if (holder == MUON_STATE_WORKER) return MUON_FILE_WORKER;
  return MuonCheckpointIsWhole_Private(name, holder) ? MUON_FILE_EVERYONE : MUON_FILE_SERVER;
}

/*
   The layer or shard of a state by its name, or -1 for state of the optimizer; shard is NULL if the layer is frozen
*/
PetscErrorCode MuonCheckpointFindLayer_Private(Muon muon, const char name[], PetscInt *layer, const MuonShard **shard)
{
  char     of[MUON_STATE_NAME];
  PetscInt slot;

  PetscFunctionBegin;
  *layer = -1;
  *shard = NULL;
  if (muon->nlayers == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrncpy(of, name, PetscMin(sizeof(of), strcspn(name, "@") + 1))); /* what a shard is called begins with its layer */
  PetscCall(MuonFindName_Private(muon, 2 * muon->maxlayers, muon->names, NULL, of, &slot));
  if (muon->names[slot] == 0) PetscFunctionReturn(PETSC_SUCCESS);
  *shard = MuonShardOf(muon->layer[muon->names[slot] - 1]);
  if (strcmp(name, ((PetscObject)muon->layer[muon->names[slot] - 1])->name) == 0 || (*shard != NULL && strcmp(name, (*shard)->name) == 0)) *layer = muon->names[slot] - 1;
  else *shard = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A state as a record: rows of its layer, with the layer's name, or data of its shard, with rows of their own
*/
PetscErrorCode MuonCheckpointRecord_Private(Muon muon, const MuonState *state, MuonFileRecord *record, MuonCheckpointPlace *place)
{
  const PetscBool  weights = MuonCheckpointIsWhole_Private(state->name, state->holder); /* the caller's, not a server's */
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
    record->precision = MuonCheckpointPrecision_Private(state->array);
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
  grid                  = MuonGridOf(muon, place->layer);
  record->entrywise     = state->entrywise ? 1 : 0;
  record->whose         = state->holder == MUON_STATE_WORKER ? (uint32_t)grid->worker : 0;
  record->layer_rows    = (uint64_t)layer->m;
  record->layer_columns = (uint64_t)layer->n;
  if (state->entrywise) {
    record->layer = ((PetscObject)layer)->name;
    record->row   = (uint64_t)(weights || shard == NULL ? layer->first : shard->row);
    if (MuonLayerIsEntries(layer)) place->entries = layer;
  } else if (strcmp(state->layer, ((PetscObject)layer)->name) != 0) record->layer_rows = (uint64_t)shard->rows;
  else place->leads = MuonPortLeads(muon, place->layer);                                                                            /* several ranks may have no rows before the first of them */
  if (MuonPortShares(muon, place->layer) && (strcmp(state->name, MUON_CHECKPOINT_OWN) == 0 || strcmp(state->name, "start") == 0)) { /* of local steps */
    place->copies = grid->size;
    place->copy   = grid->position;
  } else if (state->holder != MUON_STATE_EVERYONE && (state->holder != MUON_STATE_SERVER || MuonLayerOwner(layer) >= 0)) {
    place->copies = 1;
    place->copy   = 0;
  } else if (weights == PETSC_FALSE || layer->ranks > 1) {
    place->copies = grid->nworkers;
    place->copy   = grid->worker;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Consecutive rows of a record as rectangles of the layer: one, or for entries the end of a line, whole lines and the beginning
   of another
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

/* The weights of all, or of each worker by itself beside those */
static PetscErrorCode MuonCheckpointWalkWeights_Private(Muon muon, MuonStateVisitor *visitor, PetscBool own, PetscBool write)
{
  MuonState state = {0};
  MuonArray W, host;

  PetscFunctionBegin;
  visitor->of = (PetscObject)muon;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    PetscCall(MuonLayerGetWeightsMemory(muon->layer[l], write, &W));
    PetscCall(MuonArrayOnHost(&W, PETSC_TRUE, &host));
    state.layer     = ((PetscObject)muon->layer[l])->name;
    state.name      = own ? MUON_CHECKPOINT_OWN : MUON_CHECKPOINT_WEIGHTS;
    state.holder    = own ? MUON_STATE_WORKER : MUON_STATE_EVERYONE;
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

PetscErrorCode MuonCheckpointWalk_Private(Muon muon, MuonStateVisitor *visitor, PetscBool all, PetscBool write)
{
  const PetscBool nested = all && muon->nested != NULL ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (all) PetscCall(MuonVisitState(muon, visitor));
  PetscCall(MuonCheckpointWalkWeights_Private(muon, visitor, nested, write));
  if (nested) PetscCall(MuonCheckpointWalkWeights_Private(muon->nested, visitor, PETSC_FALSE, write));
  PetscFunctionReturn(PETSC_SUCCESS);
}
