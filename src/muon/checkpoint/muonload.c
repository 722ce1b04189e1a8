#include "muoncheckpoint.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
   Reads checkpoints: everything is verified, and has its place, before anything of the optimizer is touched.
*/

#define MUON_OPTIONS_SHOWN 16 /* that are others than they were, at most */

/*
   A load goes over all files four times: to count workers, to make the state that a first step would make, to
   look whether all is there and nothing else, and to take it
*/
typedef enum {
  LOAD_COUNT,
  LOAD_MAKE,
  LOAD_LOOK,
  LOAD_TAKE
} MuonCheckpointPhase;

/* An array that is made at a first step: whether this load made it */
typedef struct {
  MuonArray *array;
  PetscBool  fresh;
} MuonCheckpointMade;

/* The walk over all state, to read it */
typedef struct {
  Muon                muon;
  MuonFileFolder     *folder;
  MuonFileReader     *reader; /* of the file at hand */
  MuonCheckpointPhase phase;
  PetscBool           first;         /* of the files */
  uint32_t           *workers;       /* of each layer, as the files have them; 0 where workers kept nothing of its entries */
  double            **weights;       /* of these workers, NULL where the files tell of none: all are equal */
  PetscInt            count, states; /* states so far in this walk, and capacity for them */
  PetscInt64         *covered;       /* entries of each that were found */
  PetscInt            nmade, makeable;
  MuonCheckpointMade *made;
  const char         *unmade; /* layer of the array that was visited last, where that is one of these and in no file */
  int                *taken;  /* of each record of the file at hand: some rank has a place for it */
  double              numbers[NUMBERS];
  PetscInt64         *bytes; /* of the program: of each name what each rank of the files had; NULL data where it is not for this rank */
  void              **data;
  MuonFileResult      result; /* what is wrong is in folder->text */
} MuonCheckpointWalk;

/*
   What a worker of the files weighs among those of a layer, whose mean is sum of weight times term over the
   sum of weights
*/
static double MuonCheckpointWeight_Private(const MuonCheckpointWalk *walk, PetscInt layer, uint32_t worker)
{
  return walk->weights[layer] != NULL && worker < walk->workers[layer] ? walk->weights[layer][worker] : 1;
}

static double MuonCheckpointShare_Private(const MuonCheckpointWalk *walk, PetscInt layer, uint32_t worker)
{
  double sum = 0;

  for (uint32_t w = 0; w < walk->workers[layer]; w++) sum += MuonCheckpointWeight_Private(walk, layer, w);
  return sum > 0 ? MuonCheckpointWeight_Private(walk, layer, worker) / sum : 0;
}

/*
   Whether there were as many workers as there are, and they weighed the same: then each has its own, else all
   have means
*/
static PetscBool MuonCheckpointSameWorkers_Private(const MuonCheckpointWalk *walk, PetscInt layer)
{
  MuonWorkerGrid grid;

  if (layer < 0) return PETSC_TRUE;
  grid = walk->muon->grid[walk->muon->grid_of[layer]];
  if (walk->workers[layer] != (uint32_t)grid->nworkers) return PETSC_FALSE;
  for (PetscMPIInt w = 0; w < grid->nworkers; w++) {
    if (MuonCheckpointWeight_Private(walk, layer, (uint32_t)w) != (grid->weight != NULL ? grid->weight[w] : 1)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/*
   Adds a part of what a worker of another number of workers had, or takes it as it is; in this precision or
   another
*/
static PetscErrorCode MuonCheckpointRead_Private(MuonCheckpointWalk *walk, const MuonFileRecord *from, uint64_t row, uint64_t column, double weight, const MuonArray *to)
{
  const uint64_t      rows = (uint64_t)MuonArrayRows(to), columns = (uint64_t)MuonArrayColumns(to);
  const size_t        rowstride = to->rowmajor ? to->ld : 1, columnstride = to->rowmajor ? 1 : to->ld;
  const MuonPrecision precision = from->precision == MUON_FILE_SINGLE ? MUON_SINGLE : MUON_DOUBLE;
  MuonArray           part;

  PetscFunctionBegin;
  if (weight == 1 && precision == to->precision) walk->result = MuonFileReaderRead(walk->reader, from, row, column, rows, columns, to->data, rowstride, columnstride);
  else {
    PetscCall(MuonArrayCreate(to, precision, &part));
    walk->result = MuonFileReaderRead(walk->reader, from, row, column, rows, columns, part.data, part.rowmajor ? part.ld : 1, part.rowmajor ? 1 : part.ld);
    if (walk->result == MUON_FILE_OK) MuonArrayAxpby(weight, &part, weight == 1 ? 0 : 1, to);
    PetscCall(MuonArrayDestroy(&part));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One record for a state, or a rectangle of it in memory: what they have in common, or all of it */
static PetscErrorCode MuonCheckpointTake_Private(MuonCheckpointWalk *walk, const MuonState *state, const MuonArray *array, const MuonFileRecord *want, const MuonFileRecord *from, double weight, PetscInt64 *covered)
{
  const uint64_t  first = PetscMax(want->row, from->row), last = PetscMin(want->row + want->rows, from->row + from->rows);
  const uint64_t  left = PetscMax(want->column, from->column), right = PetscMin(want->column + want->columns, from->column + from->columns);
  const PetscBool other = from->precision != want->precision ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       fits  = from->entrywise == want->entrywise ? PETSC_TRUE : PETSC_FALSE;
  MuonArray       to;

  PetscFunctionBegin;
  if (want->entrywise ? from->layer_rows != want->layer_rows || from->layer_columns != want->layer_columns : from->rows != want->rows || from->columns != want->columns) fits = PETSC_FALSE;
  if (fits == PETSC_FALSE || (other && (walk->muon->restart_convert == PETSC_FALSE || state->array == NULL || from->precision == MUON_FILE_BYTES))) {
    walk->result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(walk->folder->text, MUON_FILE_TEXT, "%s of layer \"%s\" has %d bytes an entry and %" PRIu64 " x %" PRIu64 " of %" PRIu64 " x %" PRIu64 " entries, expected %d and %" PRIu64 " x %" PRIu64 " of %" PRIu64 " x %" PRIu64 "%s",
                            from->state, from->layer, (int)MuonFileEntryBytes(from->precision), from->rows, from->columns, from->layer_rows, from->layer_columns, (int)MuonFileEntryBytes(want->precision), want->rows, want->columns, want->layer_rows,
                            want->layer_columns, fits && other && state->array != NULL && from->precision != MUON_FILE_BYTES ? "; -muon_restart_convert takes another precision" : ""));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (first >= last || left >= right) PetscFunctionReturn(PETSC_SUCCESS);
  *covered += (PetscInt64)((last - first) * (right - left));
  if (walk->phase == LOAD_LOOK) PetscFunctionReturn(PETSC_SUCCESS);
  if (array != NULL) {
    to = MuonArrayPart(array, (size_t)(first - want->row), (size_t)(left - want->column), (size_t)(last - first), (size_t)(right - left));
    PetscCall(MuonCheckpointRead_Private(walk, from, first, left, weight, &to));
  } else walk->result = MuonFileReaderRead(walk->reader, from, 0, 0, from->rows, 1, state->data, 1, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointVisitRead_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  MuonCheckpointWalk *walk = (MuonCheckpointWalk *)visitor->ctx;
  MuonFileRecord      want;
  MuonCheckpointPlace place;
  MuonCheckpointPart  part[3];
  PetscBool           mean; /* of the workers that there were */
  PetscInt64         *covered;
  int                 parts = 0;

  PetscFunctionBegin;
  if (state->scratch || walk->result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCheckpointRecord_Private(walk->muon, state, &want, &place));
  if (walk->count == walk->states) {
    walk->states = 2 * walk->states + 16;
    PetscCall(PetscRealloc((size_t)walk->states * sizeof(*walk->covered), &walk->covered));
  }
  covered = &walk->covered[walk->count++];
  mean    = want.holder == MUON_FILE_WORKER && MuonCheckpointSameWorkers_Private(walk, place.layer) == PETSC_FALSE ? PETSC_TRUE : PETSC_FALSE;
  if (state->entrywise) parts = MuonCheckpointCut_Private(&place, &want, state->array, 0, want.rows, part);
  if (walk->first) *covered = 0;
  if (mean && want.entrywise && walk->first && walk->phase == LOAD_TAKE) PetscCall(PetscMemzero(state->data, state->bytes));
  for (size_t k = 0; k < walk->reader->records && walk->result == MUON_FILE_OK; k++) {
    const MuonFileRecord *from = &walk->reader->record[k];

    if (strcmp(from->layer, want.layer) != 0 || strcmp(from->state, want.state) != 0 || from->holder != want.holder || (mean == PETSC_FALSE && from->whose != want.whose)) continue;
    /* Of a shard that is cut in another way, or of another worker */
    if (want.entrywise == 0 && from->entrywise == 0 && (mean || from->layer_rows != want.layer_rows)) continue;
    if (walk->phase == LOAD_LOOK) walk->taken[k] = 1;
    if (parts == 0) PetscCall(MuonCheckpointTake_Private(walk, state, state->array, &want, from, mean ? MuonCheckpointShare_Private(walk, place.layer, from->whose) : 1, covered));
    for (int p = 0; p < parts && walk->result == MUON_FILE_OK; p++) PetscCall(MuonCheckpointTake_Private(walk, state, &part[p].array, &part[p].record, from, mean ? MuonCheckpointShare_Private(walk, place.layer, from->whose) : 1, covered));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether who has this array makes it at its first step */
static PetscBool MuonCheckpointIsMade_Private(const MuonCheckpointWalk *walk, const MuonArray *array)
{
  for (PetscInt k = 0; k < walk->nmade; k++) {
    if (walk->made[k].array == array) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/*
   After all files were looked at: everything is there. What compressors keep that has no place in a layer may
   be of other shards, and begins anew. So does what is made at a first step, with the numbers behind it,
   where the checkpoint is of before that step
*/
static PetscErrorCode MuonCheckpointVisitCovered_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  MuonCheckpointWalk *walk = (MuonCheckpointWalk *)visitor->ctx;
  MuonFileRecord      want;
  MuonCheckpointPlace place;
  PetscInt64          entries, covered;

  PetscFunctionBegin;
  if (state->scratch || walk->result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCheckpointRecord_Private(walk->muon, state, &want, &place));
  entries = (PetscInt64)(want.rows * want.columns);
  if (want.holder == MUON_FILE_WORKER && want.entrywise && MuonCheckpointSameWorkers_Private(walk, place.layer) == PETSC_FALSE) entries *= (PetscInt64)walk->workers[place.layer];
  covered = walk->covered[walk->count++];
  if (state->array != NULL) walk->unmade = covered == 0 && MuonCheckpointIsMade_Private(walk, state->array) ? state->layer : NULL;
  if (covered == 0 && state->array != NULL && want.entrywise == 0) {
    if (walk->phase == LOAD_TAKE) PetscCall(MuonArrayDestroy(state->array));
  } else if (covered == 0 && walk->unmade != NULL && strcmp(walk->unmade, state->layer) == 0) {
    if (walk->phase == LOAD_TAKE && state->array != NULL) PetscCall(MuonArrayZero(state->array));
    else if (walk->phase == LOAD_TAKE) PetscCall(PetscMemzero(state->data, state->bytes));
  } else if (covered != entries) {
    walk->result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(walk->folder->text, MUON_FILE_TEXT, "it has %" PetscInt64_FMT " of %" PetscInt64_FMT " entries of %s of layer \"%s\"", covered, entries, state->name, state->layer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointAddMade_Private(MuonCheckpointWalk *walk, MuonArray *array, PetscBool fresh)
{
  PetscFunctionBegin;
  if (MuonCheckpointIsMade_Private(walk, array)) PetscFunctionReturn(PETSC_SUCCESS);
  if (walk->nmade == walk->makeable) {
    walk->makeable = 2 * walk->makeable + 16;
    PetscCall(PetscRealloc((size_t)walk->makeable * sizeof(*walk->made), &walk->made));
  }
  walk->made[walk->nmade].array   = array;
  walk->made[walk->nmade++].fresh = fresh;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Before anything is read: who makes state at a first step only has what this file has of it made. It is
   taken back where the checkpoint is refused
*/
static PetscErrorCode MuonCheckpointMake_Private(MuonStateVisitor *visitor, const char name[], PetscBool entrywise, MuonArray *array)
{
  MuonCheckpointWalk  *walk   = (MuonCheckpointWalk *)visitor->ctx;
  const MuonFileHolder holder = MuonCheckpointHolder_Private(name, visitor->holder);
  const MuonShard     *shard;
  PetscMPIInt          worker;
  PetscInt             layer;

  PetscFunctionBegin;
  PetscCall(MuonCheckpointFindLayer_Private(walk->muon, visitor->layer, &layer, &shard));
  if (holder == MUON_FILE_WORKER && MuonCheckpointSameWorkers_Private(walk, layer) == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  if (array->data != NULL) PetscCall(MuonCheckpointAddMade_Private(walk, array, PETSC_FALSE));
  worker = holder == MUON_FILE_WORKER ? shard->group->grid->worker : 0;
  for (size_t k = 0; k < walk->reader->records && array->data == NULL && shard->rows > 0; k++) {
    const MuonFileRecord *record = &walk->reader->record[k];
    MuonArray             shape, own;

    if (strcmp(record->layer, visitor->layer) != 0 || strcmp(record->state, name) != 0 || record->holder != holder || record->precision == MUON_FILE_BYTES || record->whose != (uint32_t)worker) continue;
    if (entrywise == PETSC_FALSE && record->layer_rows != (uint64_t)shard->rows) continue;
    PetscCall(PetscMemzero(&shape, sizeof(shape)));
    shape.rowmajor  = record->rowmajor;
    shape.len       = (size_t)(record->rowmajor ? record->columns : record->rows);
    shape.count     = (size_t)(record->rowmajor ? record->rows : record->columns);
    shape.precision = record->precision == MUON_FILE_SINGLE ? MUON_SINGLE : MUON_DOUBLE;
    PetscCall(MuonShardGetStateShape(walk->muon, shard, &own));
    if (walk->muon->restart_convert) shape.precision = own.precision;
    shape.memory = own.memory;
    if (entrywise) shape = own;
    PetscCall(MuonArrayCreate(&shape, shape.precision, array));
    PetscCall(MuonCheckpointAddMade_Private(walk, array, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointIgnore_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Goes over the state that is loaded. Who reads takes copies on the host; the others look at no entries, and
   want the arrays themselves
*/
static PetscErrorCode MuonCheckpointVisit_Private(MuonCheckpointWalk *walk, PetscErrorCode (*visit)(MuonStateVisitor *, const MuonState *), PetscBool write)
{
  MuonStateVisitor visitor;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&visitor, sizeof(visitor)));
  visitor.visit  = visit;
  visitor.make   = walk->phase == LOAD_MAKE ? MuonCheckpointMake_Private : NULL;
  visitor.ctx    = walk;
  visitor.onhost = visit == MuonCheckpointVisitRead_Private ? PETSC_TRUE : PETSC_FALSE;
  walk->count    = 0;
  PetscCall(MuonCheckpointWalk_Private(walk->muon, &visitor, walk->muon->restart_state == MUON_RESTART_ALL ? PETSC_TRUE : PETSC_FALSE, write));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The record of the optimizer itself that has this name; NULL where it is not what it should be */
static const MuonFileRecord *MuonCheckpointFindOwn_Private(const MuonFileReader *reader, const char name[], MuonFilePrecision precision)
{
  for (size_t k = 0; k < reader->records; k++) {
    const MuonFileRecord *record = &reader->record[k];

    if (strcmp(record->state, name) == 0 && record->layer[0] == '\0' && record->entrywise == 0 && record->precision == precision && record->columns == 1) return record;
  }
  return NULL;
}

/* The first line of a text, to be shown: what is in a file may be no text */
static const char *MuonCheckpointLine_Private(char text[])
{
  for (char *c = text; *c != '\0'; c++) {
    if (*c == '\n') *c = '\0';
    else if (*c < ' ' || *c > '~') *c = '?';
    if (*c == '\0') break;
  }
  return text[0] != '\0' ? text : "no more layers";
}

/*
   A text of the manifest; NULL where it has none of this name, or where it cannot be read, which is in
   result. The caller frees it
*/
static PetscErrorCode MuonCheckpointReadText_Private(MuonFileReader *manifest, const char name[], char **text, MuonFileResult *result)
{
  const MuonFileRecord *record = MuonCheckpointFindOwn_Private(manifest, name, MUON_FILE_BYTES);

  PetscFunctionBegin;
  *text   = NULL;
  *result = MUON_FILE_OK;
  if (record == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1((size_t)record->rows + 1, text));
  *result = MuonFileReaderRead(manifest, record, 0, 0, record->rows, 1, *text, 1, 1);
  if (*result != MUON_FILE_OK) PetscCall(PetscFree(*text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the checkpoint is of such an optimizer; if not the first difference is named */
static PetscErrorCode MuonCheckpointFits_Private(MuonCheckpointWalk *walk, MuonFileReader *manifest)
{
  char  *here, *there;
  size_t at = 0, line = 0;

  PetscFunctionBegin;
  PetscCall(MuonCheckpointDescribe_Private(walk->muon, &here));
  PetscCall(MuonCheckpointReadText_Private(manifest, MUON_CHECKPOINT_DESCRIPTION, &there, &walk->result));
  if (walk->result == MUON_FILE_OK && there == NULL) {
    walk->result = MUON_FILE_OTHER;
    PetscCall(PetscStrncpy(walk->folder->text, "it does not say of what it is", MUON_FILE_TEXT));
  }
  for (; there != NULL && here[at] == there[at] && here[at] != '\0'; at++) {
    if (here[at] == '\n') line = at + 1;
  }
  if (there != NULL && here[at] != there[at]) {
    walk->result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(walk->folder->text, MUON_FILE_TEXT, "it is of another optimizer, with %s, expected %s", MuonCheckpointLine_Private(there + line), MuonCheckpointLine_Private(here + line)));
  }
  PetscCall(PetscFree(here));
  PetscCall(PetscFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What a file says of the optimizer itself. A step is a whole number, and so is a count; a file may say
   anything. On another number of ranks, what each rank had sent is added up, so that the sum over the ranks
   stays
*/
static PetscErrorCode MuonCheckpointReadNumbers_Private(MuonCheckpointWalk *walk)
{
  const MuonFileIdentity *id     = &walk->reader->id;
  const MuonFileRecord   *record = MuonCheckpointFindOwn_Private(walk->reader, MUON_CHECKPOINT_NUMBERS, MUON_FILE_DOUBLE);
  double                  numbers[NUMBERS];

  PetscFunctionBegin;
  if (record != NULL && record->rows == NUMBERS) {
    walk->taken[record - walk->reader->record] = 1;
    walk->result                               = MuonFileReaderRead(walk->reader, record, 0, 0, NUMBERS, 1, numbers, 1, 1);
    if (walk->result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (record == NULL || record->rows != NUMBERS || numbers[NUMBER_STEP] != (double)id->generation.step || !(numbers[NUMBER_NANS] >= 0 && numbers[NUMBER_NANS] <= 9007199254740992.0)) {
    walk->result = MUON_FILE_OTHER;
    PetscCall(PetscStrncpy(walk->folder->text, "it does not say its step", MUON_FILE_TEXT));
  } else if (id->generation.step > (uint64_t)PETSC_MAX_INT) {
    walk->result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(walk->folder->text, MUON_FILE_TEXT, "it is of step %" PRIu64 ", expected at most %" PetscInt_FMT ", which is the largest integer of this PETSc", id->generation.step, PETSC_MAX_INT));
  }
  if (walk->result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (id->rank == (id->ranks == (uint32_t)walk->muon->size ? (uint32_t)walk->muon->rank : 0)) PetscCall(PetscArraycpy(walk->numbers, numbers, NUMBER_UP));
  for (PetscInt k = NUMBER_UP; k < NUMBERS && id->rank % (uint32_t)walk->muon->size == (uint32_t)walk->muon->rank; k++) walk->numbers[k] += numbers[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The bytes of the program in the file at hand, for the rank that had them, or on another number of ranks for
   all. They are no longer than the file
*/
static PetscErrorCode MuonCheckpointReadPrograms_Private(MuonCheckpointWalk *walk)
{
  Muon                    muon = walk->muon;
  const MuonFileIdentity *id   = &walk->reader->id;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonPrograms(muon) && walk->result == MUON_FILE_OK; k++) {
    const size_t          at = (size_t)k * id->ranks + id->rank;
    const MuonFileRecord *record;
    MuonProgramRecord     own;

    PetscCall(MuonProgramRecordName_Private(&muon->programs->program[k], &own));
    record = MuonCheckpointFindOwn_Private(walk->reader, own.name, MUON_FILE_BYTES);
    if (record == NULL) {
      walk->result = MUON_FILE_OTHER;
      PetscCall(PetscSNPrintf(walk->folder->text, MUON_FILE_TEXT, "rank %u has no bytes of the program \"%s\"", id->rank, muon->programs->program[k].name));
      break;
    }
    walk->taken[record - walk->reader->record] = 1;
    if (id->ranks == (uint32_t)muon->size && id->rank != (uint32_t)muon->rank) continue;
    PetscCall(PetscMalloc((size_t)record->rows + 1, &walk->data[at]));
    walk->bytes[at] = (PetscInt64)record->rows;
    walk->result    = MuonFileReaderRead(walk->reader, record, 0, 0, record->rows, 1, walk->data[at], 1, 1);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCheckpointReadWeight_Private(MuonCheckpointWalk *walk, const MuonFileRecord *record, PetscInt layer)
{
  double weight = -1;

  PetscFunctionBegin;
  if (walk->weights[layer] == NULL) {
    PetscCall(PetscMalloc1(walk->reader->id.ranks, &walk->weights[layer]));
    for (uint32_t w = 0; w < walk->reader->id.ranks; w++) walk->weights[layer][w] = 1;
  }
  if (record->rows == sizeof(weight) && record->columns == 1 && record->precision == MUON_FILE_BYTES) walk->result = MuonFileReaderRead(walk->reader, record, 0, 0, sizeof(weight), 1, &weight, 1, 1);
  walk->weights[layer][record->whose] = weight;
  if (walk->result != MUON_FILE_OK || (weight >= 0 && weight <= walk->reader->id.ranks)) PetscFunctionReturn(PETSC_SUCCESS);
  walk->result = MUON_FILE_CORRUPT;
  PetscCall(PetscSNPrintf(walk->folder->text, MUON_FILE_TEXT, "worker %d of layer \"%s\" weighs %g, expected at least 0 and at most the number of workers", (int)record->whose, record->layer, weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   How many workers the file at hand knows of each layer, and what they weigh. There are no more of them than
   files: whatever else one says is refused for what is not there
*/
static PetscErrorCode MuonCheckpointCount_Private(MuonCheckpointWalk *walk)
{
  const MuonShard *shard;
  PetscInt         layer;

  PetscFunctionBegin;
  for (size_t k = 0; k < walk->reader->records; k++) {
    const MuonFileRecord *record = &walk->reader->record[k];

    if (record->holder != MUON_FILE_WORKER || (record->entrywise == 0 && strcmp(record->state, MUON_CHECKPOINT_WEIGHT) != 0)) continue;
    PetscCall(MuonCheckpointFindLayer_Private(walk->muon, record->layer, &layer, &shard));
    if (layer < 0 || record->whose >= walk->reader->id.ranks) continue;
    if (record->entrywise) walk->workers[layer] = PetscMax(walk->workers[layer], record->whose + 1);
    else PetscCall(MuonCheckpointReadWeight_Private(walk, record, layer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks learn what the first that failed says */
static PetscErrorCode MuonCheckpointAgreeWalk_Private(MuonCheckpointWalk *walk)
{
  PetscFunctionBegin;
  PetscCall(MuonCheckpointAgree_Private(walk->muon, &walk->result, walk->folder->text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names the first record of the file at hand that no rank has a place for */
static PetscErrorCode MuonCheckpointLeftOver_Private(MuonCheckpointWalk *walk)
{
  PetscMPIInt count;
  size_t      k = 0;

  PetscFunctionBegin;
  PetscCall(MuonCheckpointAgreeWalk_Private(walk));
  if (walk->result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast((PetscInt)walk->reader->records, &count));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, walk->taken, count, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)walk->muon)));
  while (k < walk->reader->records && walk->taken[k]) k++;
  if (k == walk->reader->records) PetscFunctionReturn(PETSC_SUCCESS);
  walk->result = MUON_FILE_OTHER;
  PetscCall(PetscSNPrintf(walk->folder->text, MUON_FILE_TEXT, "it has %s of layer \"%s\", which the optimizer does not keep", walk->reader->record[k].state, walk->reader->record[k].layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The file at hand, in the phase that looks whether all is there and nothing else */
static PetscErrorCode MuonCheckpointLook_Private(MuonCheckpointWalk *walk)
{
  const PetscBool all = walk->muon->restart_state == MUON_RESTART_ALL ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  /* What compressors keep beside entries of the layer has no place with other shards */
  for (size_t k = 0; k < walk->reader->records; k++) {
    const MuonFileRecord *record  = &walk->reader->record[k];
    const int             weights = record->holder == MUON_FILE_EVERYONE && strcmp(record->state, MUON_CHECKPOINT_WEIGHTS) == 0;

    walk->taken[k] = (record->precision != MUON_FILE_BYTES && record->entrywise == 0) || strcmp(record->state, MUON_CHECKPOINT_WEIGHT) == 0 || (all == PETSC_FALSE && !weights);
  }
  if (all) PetscCall(MuonCheckpointReadPrograms_Private(walk));
  if (walk->result == MUON_FILE_OK) PetscCall(MuonCheckpointReadNumbers_Private(walk));
  if (walk->result == MUON_FILE_OK) PetscCall(MuonCheckpointVisit_Private(walk, MuonCheckpointVisitRead_Private, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One phase of a load, over all files; all ranks know its end */
static PetscErrorCode MuonCheckpointPhase_Private(MuonCheckpointWalk *walk, MuonCheckpointPhase phase, const MuonFileIdentity *run, const MuonFileSeal seals[])
{
  MuonFileIdentity id = *run;
  MuonFileReader   reader;

  PetscFunctionBegin;
  walk->phase  = phase;
  walk->reader = &reader;
  for (id.rank = 0; id.rank < id.ranks && walk->result == MUON_FILE_OK; id.rank++) {
    walk->first  = id.rank == 0 ? PETSC_TRUE : PETSC_FALSE;
    walk->result = MuonFileReaderOpen(walk->folder, &id, &seals[id.rank], &reader);
    if (phase == LOAD_LOOK) {
      PetscCall(PetscMalloc1(reader.records, &walk->taken));
      if (walk->result == MUON_FILE_OK) PetscCall(MuonCheckpointLook_Private(walk));
      PetscCall(MuonCheckpointLeftOver_Private(walk));
      PetscCall(PetscFree(walk->taken));
    } else if (walk->result == MUON_FILE_OK) {
      if (phase == LOAD_COUNT) PetscCall(MuonCheckpointCount_Private(walk));
      if (phase == LOAD_MAKE) PetscCall(MuonCheckpointVisit_Private(walk, MuonCheckpointIgnore_Private, PETSC_FALSE));
      if (phase == LOAD_TAKE) PetscCall(MuonCheckpointVisit_Private(walk, MuonCheckpointVisitRead_Private, PETSC_TRUE));
    }
    MuonFileReaderClose(&reader);
  }
  if (walk->result == MUON_FILE_OK && phase >= LOAD_LOOK) PetscCall(MuonCheckpointVisit_Private(walk, MuonCheckpointVisitCovered_Private, PETSC_FALSE));
  PetscCall(MuonCheckpointAgreeWalk_Private(walk));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The optimizer's own numbers are those of the files */
static PetscErrorCode MuonCheckpointTakeNumbers_Private(Muon muon, const double numbers[])
{
  PetscFunctionBegin;
  muon->step     = (PetscInt)numbers[NUMBER_STEP];
  muon->nancount = (PetscInt64)numbers[NUMBER_NANS];
  muon->loss     = (PetscReal)numbers[NUMBER_LOSS];
  muon->dual     = (PetscReal)numbers[NUMBER_DUAL];
  muon->reason   = MUON_CONVERGED_ITERATING;
  for (PetscInt k = 0; k < 3; k++) {
    /* -1 where nothing was counted */
    muon->traffic.total_up[k]   = (PetscLogDouble)PetscMax(numbers[NUMBER_UP + k], -1);
    muon->traffic.total_down[k] = (PetscLogDouble)PetscMax(numbers[NUMBER_DOWN + k], -1);
  }
  muon->continues = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The value behind a key of some length in a text of lines; NULL where there is none */
static const char *MuonCheckpointFindOption_Private(const char text[], const char key[], size_t length)
{
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, key, length) == 0) return line + length;
  }
  return NULL;
}

/*
   Rank 0 has the options that the run was saved with, and says which are others now but for those of
   checkpoints themselves. What a file has may be no text
*/
static PetscErrorCode MuonCheckpointCompareOptions_Private(Muon muon, uint32_t ranks, char there[])
{
  char    *here   = NULL;
  PetscInt others = 0;

  PetscFunctionBegin;
  if (muon->rank > 0 || there == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (ranks != (uint32_t)muon->size) PetscCall(PetscPrintf(PETSC_COMM_SELF, "Checkpoint: ranks was %d, now %d\n", (int)ranks, muon->size));
  for (char *c = there; *c != '\0'; c++) *c = (char)(*c == '\n' || (*c >= ' ' && *c <= '~') ? *c : '?');
  PetscCall(MuonParametersWrite((PetscObject)muon, &here));
  for (const char *line = here; *line != '\0'; line = strchr(line, '\n') + 1) {
    const char  *layer = strncmp(line, "layer ", 6) == 0 ? strstr(line, ": -") + 2 : line, *family = layer + 1 + strlen(MuonPrefix(muon));
    const size_t key = (size_t)(layer - line) + strcspn(layer, " ") + 1, length = strcspn(line + key, "\n");
    const char  *was = MuonCheckpointFindOption_Private(there, line, key);

    if (was == NULL || (strcspn(was, "\n") == length && strncmp(was, line + key, length) == 0)) continue;
    if (strncmp(family, "muon_checkpoint", 15) == 0 || strncmp(family, "muon_restart", 12) == 0) continue;
    if (strncmp(family, "muon_layer_", 11) == 0) {
      /* What a layer takes over from the optimizer is said once */
      const char *own = family + 11 + (layer - line - 8) + 1, *now, *then;
      size_t      size;
      char        inherited[PETSC_MAX_OPTION_NAME];

      PetscCall(PetscSNPrintf(inherited, sizeof(inherited), "-%smuon_%.*s ", MuonPrefix(muon), (int)strcspn(own, " \n"), own));
      PetscCall(PetscStrlen(inherited, &size));
      now  = MuonCheckpointFindOption_Private(here, inherited, size);
      then = MuonCheckpointFindOption_Private(there, inherited, size);
      if (now != NULL && then != NULL && strncmp(now, line + key, length + 1) == 0 && strncmp(then, was, strcspn(was, "\n") + 1) == 0) continue;
    }
    if (++others > MUON_OPTIONS_SHOWN) continue;
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Checkpoint: %.*s was %.*s, ", (int)key - 1, line, *was == '\n' ? 6 : (int)strcspn(was, "\n"), *was == '\n' ? "(none)" : was));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "now %.*s\n", length == 0 ? 6 : (int)length, length == 0 ? "(none)" : line + key));
  }
  if (others > MUON_OPTIONS_SHOWN) PetscCall(PetscPrintf(PETSC_COMM_SELF, "Checkpoint: %" PetscInt_FMT " more options are others now\n", others - MUON_OPTIONS_SHOWN));
  PetscCall(PetscFree(here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hands the program's bytes to its routines, and frees them */
static PetscErrorCode MuonCheckpointGivePrograms_Private(MuonCheckpointWalk *walk, uint32_t ranks, PetscBool give)
{
  Muon           muon   = walk->muon;
  MuonFileResult result = MUON_FILE_OK;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonPrograms(muon); k++) {
    const MuonProgram *program = &muon->programs->program[k];

    if (give && result == MUON_FILE_OK && (*program->load)(muon, (PetscMPIInt)ranks, walk->bytes + (size_t)k * ranks, (const void *const *)walk->data + (size_t)k * ranks, program->ctx) != PETSC_SUCCESS) {
      result = MUON_FILE_USAGE;
      PetscCall(PetscSNPrintf(walk->folder->text, MUON_FILE_TEXT, "the routine that takes the bytes of the program \"%s\" failed on rank %d", program->name, muon->rank));
    }
    for (uint32_t r = 0; r < ranks; r++) PetscCall(PetscFree(walk->data[(size_t)k * ranks + r]));
  }
  PetscCall(PetscFree2(walk->bytes, walk->data));
  if (give == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCheckpointAgree_Private(muon, &result, walk->folder->text));
  PetscCheck(result == MUON_FILE_OK, PetscObjectComm((PetscObject)muon), PETSC_ERR_USER, "Checkpoint: %s", walk->folder->text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointLoad_Private(Muon muon, MuonFileFolder *from, MuonFileReader *manifest, MuonFileSeal seals[])
{
  const MuonFileIdentity run = manifest->id;
  const PetscBool        all = muon->restart_state == MUON_RESTART_ALL ? PETSC_TRUE : PETSC_FALSE;
  MuonCheckpointWalk     walk;
  char                  *options = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&walk, sizeof(walk)));
  walk.muon   = muon;
  walk.folder = from;
  PetscCall(PetscCalloc2(muon->nlayers, &walk.workers, muon->nlayers, &walk.weights));
  PetscCall(PetscCalloc2((size_t)MuonPrograms(muon) * run.ranks, &walk.bytes, (size_t)MuonPrograms(muon) * run.ranks, &walk.data));
  if (all) PetscCall(MuonCheckpointFits_Private(&walk, manifest));
  if (walk.result == MUON_FILE_OK && all && muon->rank == 0) PetscCall(MuonCheckpointReadText_Private(manifest, MUON_CHECKPOINT_OPTIONS, &options, &walk.result));
  PetscCall(MuonCheckpointAgreeWalk_Private(&walk));
  for (MuonCheckpointPhase phase = LOAD_COUNT; phase <= LOAD_TAKE && walk.result == MUON_FILE_OK; phase = (MuonCheckpointPhase)(phase + 1)) PetscCall(MuonCheckpointPhase_Private(&walk, phase, &run, seals));
  for (PetscInt k = 0; k < walk.nmade && walk.result != MUON_FILE_OK && walk.phase < LOAD_TAKE; k++) {
    if (walk.made[k].fresh) PetscCall(MuonArrayDestroy(walk.made[k].array));
  }
  MuonFileReaderClose(manifest);
  free(seals);
  for (PetscInt l = 0; l < muon->nlayers; l++) PetscCall(PetscFree(walk.weights[l]));
  PetscCall(PetscFree2(walk.workers, walk.weights));
  PetscCall(PetscFree(walk.covered));
  PetscCall(PetscFree(walk.made));
  if (walk.result == MUON_FILE_OK && all) {
    PetscCall(MuonCheckpointTakeNumbers_Private(muon, walk.numbers));
    PetscCall(MuonCheckpointCompareOptions_Private(muon, run.ranks, options));
  }
  PetscCall(PetscFree(options));
  PetscCall(MuonCheckpointGivePrograms_Private(&walk, run.ranks, walk.result == MUON_FILE_OK && all ? PETSC_TRUE : PETSC_FALSE));
  PetscCheck(walk.result == MUON_FILE_OK, PetscObjectComm((PetscObject)muon), PETSC_ERR_FILE_UNEXPECTED, "Checkpoint in %s: %s", from->path, from->text);
  PetscFunctionReturn(PETSC_SUCCESS);
}
