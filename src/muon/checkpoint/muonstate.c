#include "muoncheckpoint.h" /*I "petscmuon.h" I*/
#include <string.h>

static PetscErrorCode MuonVisitShard_Private(Muon muon, MuonShard *shard, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  visitor->layer  = shard->name;
  visitor->holder = MUON_STATE_WORKER;
  if (muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER) PetscCall(MuonStateVisitArray(visitor, "momentum", PETSC_TRUE, PETSC_FALSE, &shard->M));
  PetscCall(MuonStateVisitArray(visitor, "momentum.new", PETSC_TRUE, PETSC_TRUE, &shard->Tnew));
  PetscCall(MuonStateVisitArray(visitor, "gradient.mean", PETSC_TRUE, PETSC_TRUE, &shard->port->mean));
  PetscCall(MuonStateVisitArray(visitor, "gradient.packed", PETSC_FALSE, PETSC_TRUE, &shard->port->packed));
  PetscCall(MuonStateVisitArray(visitor, "momentum.weighted", PETSC_TRUE, PETSC_TRUE, &shard->weighted));
  if (MuonGroupIsAway(shard->group) == PETSC_FALSE) PetscCall(MuonCompressorVisitState(shard->up, visitor));
  visitor->holder = muon->nested != NULL ? MUON_STATE_WORKER : MUON_STATE_SERVER;
  if (muon->momentum_at == (int)MUON_MOMENTUM_AT_SERVER) PetscCall(MuonStateVisitArray(visitor, "momentum", PETSC_TRUE, PETSC_FALSE, &shard->M));
  PetscCall(MuonStateVisitArray(visitor, "momentum.new", PETSC_TRUE, PETSC_TRUE, &shard->Mnew));
  PetscCall(MuonStateVisitArray(visitor, "sum", PETSC_TRUE, PETSC_TRUE, &shard->sum));
  PetscCall(MuonStateVisitArray(visitor, "weights", PETSC_TRUE, PETSC_FALSE, &shard->X));
  PetscCall(MuonStateVisitArray(visitor, "weights.new", PETSC_TRUE, PETSC_TRUE, &shard->Xnew));
  PetscCall(MuonStateVisitArray(visitor, "step", PETSC_TRUE, PETSC_TRUE, &shard->D));
  if (MuonShardOwns(shard)) PetscCall(MuonCompressorVisitState(shard->down, visitor));
  PetscTryTypeMethod(muon, visitstate, shard, visitor);
  PetscCall(MuonRoundsVisitState_Private(shard, visitor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonVisitState(Muon muon, MuonStateVisitor *visitor)
{
  PetscFunctionBegin;
  if (muon->nested != NULL) {
    visitor->prefix = MUON_STATE_NESTED;
    PetscCall(MuonVisitState(muon->nested, visitor));
    visitor->prefix = NULL;
  }
  visitor->of = (PetscObject)muon;
  for (PetscInt p = 0; p < muon->nshards; p++) PetscCall(MuonVisitShard_Private(muon, &muon->shard[p], visitor));
  /* State of layers: gradients of workers, and moments of their optimizers, at the servers */
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    visitor->layer = ((PetscObject)muon->layer[l])->name;
    visitor->shard = muon->layer[l]->shard != NULL ? ((const MuonShard *)muon->layer[l]->shard)->name : NULL;
    PetscCall(MuonLayerVisitState(muon->layer[l], visitor));
  }
  MuonTryAddons(muon, visitstate, muon, visitor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonAddMemory_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  PetscLogDouble *bytes = (PetscLogDouble *)visitor->ctx;

  PetscFunctionBegin;
  /* A few numbers within an object are not counted */
  if (state->array != NULL) bytes[state->holder == MUON_STATE_WORKER ? 0 : 1] += (PetscLogDouble)state->bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetMemory - Gets the memory that an optimizer holds on this rank

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameters:
+ worker  - bytes of state as a worker: momentum, estimates, state of its compressors, gradient buffers; not the caller's weights
. server  - bytes of state as a server of layers, with the state of its compressors and what a step keeps until it is committed
- scratch - bytes of shared scratch and of messages

  Level: intermediate

.seealso: `Muon`, `MuonView()`, `MuonGetTraffic()`
@*/
PetscErrorCode MuonGetMemory(Muon muon, PetscLogDouble *worker, PetscLogDouble *server, PetscLogDouble *scratch)
{
  PetscLogDouble   bytes[2] = {0, 0}, packets = 0;
  size_t           shared = 0;
  MuonStateVisitor visitor;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit = MuonAddMemory_Private;
  visitor.ctx   = bytes;
  PetscCall(MuonVisitState(muon, &visitor));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    PetscLogDouble some = 0;

    PetscCall(MuonExchangeGetMemory(muon->group[g]->exchange, &some));
    packets += some;
    if (muon->group[g]->assembly != NULL) PetscCall(MuonAssemblyGetMemory(muon->group[g]->assembly, &some));
    if (muon->group[g]->assembly != NULL) packets += some;
    if (muon->group[g]->ops->getmemory == NULL) continue;
    PetscCall((*muon->group[g]->ops->getmemory)(muon->group[g], &some));
    packets += some;
  }
  if (muon->work != NULL) PetscCall(MuonWorkspaceGetBytes(muon->work, &shared));
  for (PetscInt p = 0; p < muon->nshards; p++) packets += (PetscLogDouble)(muon->shard[p].round->up_own.capacity + muon->shard[p].round->down_got.capacity);
  if (worker != NULL) *worker = bytes[0];
  if (server != NULL) *server = bytes[1];
  if (scratch != NULL) *scratch = (PetscLogDouble)shared + packets;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The search for one state of a layer by its name */
typedef struct {
  const char *layer, *shard, *name;
  PetscBool   server, kept, fits; /* a server's state is requested; it is there; it has the shape of the matrix */
  size_t      rows, columns;
  MuonArray   matrix;
} MuonStateSearch;

/* What a compressor keeps has one name at a worker and at a server */
#define MUON_STATE_OF_SERVER "server."

static PetscErrorCode MuonCopyState_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  MuonStateSearch *search = (MuonStateSearch *)visitor->ctx;
  /* What the optimizer has beside layers counts with each of them */
  const int of = state->layer[0] == '\0' || strcmp(state->layer, search->layer) == 0 || strcmp(state->layer, search->shard) == 0;

  PetscFunctionBegin;
  if (search->kept || state->scratch || !of || strcmp(state->name, search->name) != 0 || (search->server && visitor->holder != MUON_STATE_SERVER)) PetscFunctionReturn(PETSC_SUCCESS);
  search->kept    = PETSC_TRUE;
  search->rows    = state->array != NULL ? MuonArrayRows(state->array) : 1;
  search->columns = state->array != NULL ? MuonArrayColumns(state->array) : 1;
  search->fits    = search->rows == MuonArrayRows(&search->matrix) && search->columns == MuonArrayColumns(&search->matrix) ? PETSC_TRUE : PETSC_FALSE;
  if (search->matrix.data == NULL || search->fits == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (state->array != NULL) MuonArrayCopyMatrix(state->array, &search->matrix);
  else {
    PetscCheck(state->bytes == sizeof(int) || state->bytes == sizeof(PetscInt64), PETSC_COMM_SELF, PETSC_ERR_PLIB, "State %s has %zu bytes, expected an integer", state->name, state->bytes);
    *(PetscScalar *)search->matrix.data = (PetscScalar)(state->bytes == sizeof(int) ? *(int *)state->data : *(PetscInt64 *)state->data);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetLayerState - Copies one state matrix of a layer on this rank

  Not Collective

  Input Parameters:
+ muon  - an optimizer that is set up
. layer - one of its layers
- name  - `momentum`, of this rank as a worker or as the layer's server; `weights`, the server's own copy if it differs from the workers'; `estimate`, the estimate G_j of this rank's momentum in `MUONEF21`;
          `aggregate`, the mean of the estimates at the server; `excess`, minus the error e_j of `MUONEF14`; `control`, the control variate C_j of `MUONLOCAL`; and the state of a layer's optimizer or a compressor, as
          `adamw.mean`, `adamw.square` and `compressor.basis[0]`, at a server `server.compressor.basis[0]`

  Output Parameters:
+ A    - a `MATSEQDENSE` or `MATMPIDENSE` for the state, or `NULL`. It has the columns of the layer and, on this rank, the rows whose state this rank keeps, which are all rows if the matrix is on one rank. For a range of a parallel
         vector it has the entries as one column. State that is not in rows of the layer has its own shape, 1 x 1 for a number
- kept - whether this rank keeps such a state; otherwise `A` does not change

  Level: advanced

  Note:
  A state that equals another matrix, or that each step computes anew, is not kept. With the compressor identity, for
  example, the estimate is the momentum.

.seealso: `Muon`, `MUONEF21`, `MuonLayerGetServerWeights()`, `MuonGetMemory()`
@*/
PetscErrorCode MuonGetLayerState(Muon muon, MuonLayer layer, const char name[], Mat A, PetscBool *kept)
{
  MuonStateVisitor visitor;
  MuonStateSearch  search;
  MuonMatrix       matrix;
  MuonShard       *shard;
  PetscBool        dense;
  const size_t     length = strlen(MUON_STATE_OF_SERVER);

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(layer, MUONLAYER_CLASSID, 2);
  PetscAssertPointer(name, 3);
  if (A != NULL) PetscValidHeaderSpecific(A, MAT_CLASSID, 4);
  PetscAssertPointer(kept, 5);
  PetscCall(MuonShardFind(muon, layer, &shard));
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  PetscCall(PetscMemzero(&search, sizeof(search)));
  search.server  = strncmp(name, MUON_STATE_OF_SERVER, length) == 0 ? PETSC_TRUE : PETSC_FALSE;
  search.layer   = ((PetscObject)layer)->name;
  search.shard   = shard->name;
  search.name    = name + (search.server ? length : 0);
  search.fits    = PETSC_TRUE;
  visitor.visit  = MuonCopyState_Private;
  visitor.ctx    = &search;
  visitor.onhost = PETSC_TRUE;
  if (A != NULL) {
    PetscCall(MuonLayerCheckReal_Private(layer));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &dense, MATSEQDENSE, MATMPIDENSE, ""));
    PetscCheck(dense, PETSC_COMM_SELF, PETSC_ERR_SUP, "Layer \"%s\": a matrix of type %s for its state %s, expected %s or %s", search.layer, ((PetscObject)A)->type_name, name, MATSEQDENSE, MATMPIDENSE);
    PetscCall(MuonMatGetMatrix(A, PETSC_TRUE, &matrix));
    search.matrix = matrix.here;
  }
  PetscCall(MuonVisitState(muon, &visitor));
  if (A != NULL) PetscCall(MuonMatRestoreMatrix(A, PETSC_TRUE, &matrix));
  PetscCheck(A == NULL || search.fits, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Layer \"%s\": a matrix of type %s and %zu x %zu entries here for its state %s, expected %s or %s of %zu x %zu", search.layer, ((PetscObject)A)->type_name,
             MuonArrayRows(&search.matrix), MuonArrayColumns(&search.matrix), name, MATSEQDENSE, MATMPIDENSE, search.rows, search.columns);
  *kept = search.kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  *shard = (const MuonShard *)muon->layer[muon->names[slot] - 1]->shard;
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
  grid                  = muon->grid[muon->place[place->layer].grid];
  record->entrywise     = state->entrywise ? 1 : 0;
  record->whose         = state->holder == MUON_STATE_WORKER ? (uint32_t)grid->worker : 0;
  record->layer_rows    = (uint64_t)layer->m;
  record->layer_columns = (uint64_t)layer->n;
  if (state->entrywise) {
    record->layer = ((PetscObject)layer)->name;
    record->row   = (uint64_t)(weights || shard == NULL ? layer->first : shard->row);
    if (MuonLayerIsEntries(layer)) place->entries = layer;
  } else if (strcmp(state->layer, ((PetscObject)layer)->name) != 0) record->layer_rows = (uint64_t)shard->rows;
  else place->leads = grid->position == PetscMax(muon->place[place->layer].home, 0) ? PETSC_TRUE : PETSC_FALSE;                      /* several ranks may have no rows before the first of them */
  if (muon->place[place->layer].home >= 0 && (strcmp(state->name, MUON_CHECKPOINT_OWN) == 0 || strcmp(state->name, "start") == 0)) { /* of local steps, which all ranks of a node have */
    place->copies = grid->size;
    place->copy   = grid->position;
  } else if (state->holder != MUON_STATE_EVERYONE && (state->holder != MUON_STATE_SERVER || layer->owner >= 0)) {
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
  MuonState state;
  MuonArray W, host;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&state, sizeof(state)));
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
