#include "muoncheckpoint.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*
   Reads checkpoints: everything is verified, and has its place, before the optimizer changes.
*/

#define MUON_OPTIONS_SHOWN 16 /* that are others than they were, at most */

/* The walks over all state */
typedef enum {
  LOAD_MAKE,  /* what a first step would make, where there is something of it */
  LOAD_LOOK,  /* whether all is there */
  LOAD_CLEAR, /* what there is nothing of, and what a sum begins with */
  LOAD_READ   /* from one file after the other */
} MuonCheckpointPhase;

typedef struct {
  Muon                   muon;
  MuonFileReader        *reader;
  MuonCheckpointPhase    phase;
  uint32_t               file;    /* that is read */
  const MuonFileRecord **sorted;  /* the records, so that those of a state are found */
  uint32_t              *workers; /* of each layer in the files; 0 if workers kept nothing of its entries */
  PetscBool             *mean;    /* of each layer, whether the number and the weights of workers are those of the files; otherwise all get means */
  double                *weights; /* of each layer and worker of the files, in a mean */
  int                   *taken;   /* of each record: some rank has a place for it */
  PetscInt               nmade;
  MuonArray            **made; /* by this load */
  double                 numbers[NUMBERS];
  PetscInt64            *bytes; /* of the program: of each name what each rank of the files had; NULL data where it is not for this rank */
  void                 **data;
  MuonFileResult         result; /* what is wrong is in reader->folder->text */
} MuonCheckpointLoad;

/* By what they are of: layer, state and holder */
static int MuonCheckpointCompare(const MuonFileRecord *a, const MuonFileRecord *b)
{
  const int layer = strcmp(a->layer, b->layer), state = layer == 0 ? strcmp(a->state, b->state) : layer;

  return state == 0 ? (int)a->holder - (int)b->holder : state;
}

/* And by their files */
static int MuonCheckpointOrder(const void *a, const void *b)
{
  const MuonFileRecord *x = *(const MuonFileRecord *const *)a, *y = *(const MuonFileRecord *const *)b;
  const int             order = MuonCheckpointCompare(x, y);

  return order != 0 ? order : (x->file > y->file) - (x->file < y->file);
}

/* The place of the first record of a state that no file before this one has */
static size_t MuonCheckpointFind(const MuonCheckpointLoad *load, const MuonFileRecord *want, uint32_t file)
{
  MuonFileRecord        first = *want;
  const MuonFileRecord *at    = &first;
  size_t                low = 0, high = load->reader->records;

  first.file = file;
  while (low < high) {
    if (MuonCheckpointOrder(&load->sorted[(low + high) / 2], &at) < 0) low = (low + high) / 2 + 1;
    else high = (low + high) / 2;
  }
  return low;
}

/* Reads a rectangle of a record, times a weight, in this precision or another; adds it to a mean */
static PetscErrorCode MuonCheckpointRead_Private(MuonCheckpointLoad *load, const MuonFileRecord *from, uint64_t row, uint64_t column, const double *weight, const MuonArray *to)
{
  const MuonPrecision precision = MuonCheckpointKind_Private(from->precision);
  const PetscBool     direct    = weight == NULL && precision == to->precision ? PETSC_TRUE : PETSC_FALSE;
  MuonArray           part      = *to;

  PetscFunctionBegin;
  if (!direct) PetscCall(MuonArrayCreate(to, precision, &part));
  load->result = MuonFileReaderRead(load->reader, from, row, column, MuonArrayRows(to), MuonArrayColumns(to), part.data, part.rowmajor ? part.ld >> part.pairs : 1, part.rowmajor ? 1 : part.ld >> part.pairs);
  if (direct) PetscFunctionReturn(PETSC_SUCCESS);
  if (load->result == MUON_FILE_OK) MuonArrayAxpby(weight != NULL ? *weight : 1, &part, weight != NULL ? 1 : 0, to);
  PetscCall(MuonArrayDestroy(&part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of a state, or of a rectangle of it in memory, that a record has */
static PetscErrorCode MuonCheckpointTake_Private(MuonCheckpointLoad *load, const MuonState *state, const MuonArray *array, const MuonFileRecord *want, const MuonFileRecord *from, const double *weight, PetscInt64 *covered)
{
  const uint64_t  first = PetscMax(want->row, from->row), last = PetscMin(want->row + want->rows, from->row + from->rows);
  const uint64_t  left = PetscMax(want->column, from->column), right = PetscMin(want->column + want->columns, from->column + from->columns);
  const PetscBool converts = state->array != NULL && from->precision != MUON_FILE_BYTES ? PETSC_TRUE : PETSC_FALSE;
  PetscBool       fits     = from->entrywise == want->entrywise ? PETSC_TRUE : PETSC_FALSE;
  MuonArray       to;

  PetscFunctionBegin;
  if (want->entrywise ? from->layer_rows != want->layer_rows || from->layer_columns != want->layer_columns : from->rows != want->rows || from->columns != want->columns) fits = PETSC_FALSE;
  if (MuonCheckpointIsComplex_Private(from->precision) != MuonCheckpointIsComplex_Private(want->precision)) {
    load->result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(load->reader->folder->text, MUON_FILE_TEXT, "%s of layer \"%s\" has %s numbers, expected %s ones, as the layer has", from->state, from->layer, MuonFields[MuonCheckpointIsComplex_Private(from->precision)],
                            MuonFields[MuonCheckpointIsComplex_Private(want->precision)]));
  } else if (!fits || (from->precision != want->precision && !(converts && MuonSavingOf(load->muon)->restart_convert))) {
    load->result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(load->reader->folder->text, MUON_FILE_TEXT,
                            "%s of layer \"%s\" has %d bytes an entry and %" PRIu64 " x %" PRIu64 " of %" PRIu64 " x %" PRIu64 " entries, expected %d and %" PRIu64 " x %" PRIu64 " of %" PRIu64 " x %" PRIu64 "%s", from->state, from->layer,
                            (int)MuonFileEntryBytes(from->precision), from->rows, from->columns, from->layer_rows, from->layer_columns, (int)MuonFileEntryBytes(want->precision), want->rows, want->columns, want->layer_rows, want->layer_columns,
                            fits && converts ? "; -muon_restart_convert takes another precision" : ""));
  }
  if (load->result != MUON_FILE_OK || first >= last || left >= right) PetscFunctionReturn(PETSC_SUCCESS);
  *covered += (PetscInt64)((last - first) * (right - left));
  if (load->phase != LOAD_READ) PetscFunctionReturn(PETSC_SUCCESS);
  if (array != NULL) {
    to = MuonArrayPart(array, (size_t)(first - want->row), (size_t)(left - want->column), (size_t)(last - first), (size_t)(right - left));
    PetscCall(MuonCheckpointRead_Private(load, from, first, left, weight, &to));
  } else load->result = MuonFileReaderRead(load->reader, from, 0, 0, from->rows, 1, state->data, 1, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The index of the outer optimizer's layer among the layers of the optimizer that loads: that of the layer with its local steps */
static PetscErrorCode MuonCheckpointNumber_Private(const MuonCheckpointLoad *load, Muon of, PetscInt *layer)
{
  const MuonLayer  inner = *layer >= 0 && of != load->muon ? of->layer[*layer]->inner : NULL;
  const MuonShard *shard;

  PetscFunctionBegin;
  if (inner != NULL) PetscCall(MuonCheckpointFindLayer_Private(load->muon, ((PetscObject)inner)->name, layer, &shard));
  else if (of != load->muon) *layer = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One state, in each phase. State of compressors that is not in rows of a layer may be of other shards, and starts anew. So does
   state of a first step if the checkpoint was written before
*/
static PetscErrorCode MuonCheckpointVisit_Private(MuonStateVisitor *visitor, const MuonState *state)
{
  MuonCheckpointLoad *load = (MuonCheckpointLoad *)visitor->ctx;
  const PetscBool     read = load->phase == LOAD_READ ? PETSC_TRUE : PETSC_FALSE;
  MuonFileRecord      want;
  MuonCheckpointPlace place;
  MuonCheckpointPart  part[3];
  PetscBool           mean, lacks;
  PetscInt64          covered = 0;
  int                 parts   = 0;

  PetscFunctionBegin;
  if (state->scratch || load->phase == LOAD_MAKE || load->result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCheckpointRecord_Private((Muon)visitor->of, state, &want, &place));
  PetscCall(MuonCheckpointNumber_Private(load, (Muon)visitor->of, &place.layer));
  mean = want.holder == MUON_FILE_WORKER && place.layer >= 0 && load->mean[place.layer] ? PETSC_TRUE : PETSC_FALSE;
  if (state->entrywise) parts = MuonCheckpointCut_Private(&place, &want, state->array, 0, want.rows, part);
  for (size_t k = MuonCheckpointFind(load, &want, read ? load->file : 0); k < load->reader->records && load->result == MUON_FILE_OK; k++) {
    const MuonFileRecord *from   = load->sorted[k];
    const double         *weight = mean && from->whose < load->reader->id.ranks ? &load->weights[(size_t)place.layer * load->reader->id.ranks + from->whose] : NULL;

    if (MuonCheckpointCompare(from, &want) != 0 || (read && from->file != load->file)) break;
    if (!mean && from->whose != want.whose) continue;
    /* Of a shard that is cut in another way, or of another worker */
    if (!want.entrywise && !from->entrywise && (mean || from->layer_rows != want.layer_rows)) continue;
    load->taken[from - load->reader->record] = 1;
    if (parts == 0) PetscCall(MuonCheckpointTake_Private(load, state, state->array, &want, from, weight, &covered));
    for (int p = 0; p < parts && load->result == MUON_FILE_OK; p++) PetscCall(MuonCheckpointTake_Private(load, state, &part[p].array, &part[p].record, from, weight, &covered));
  }
  lacks = covered == 0 && (visitor->late || (state->array != NULL && !want.entrywise)) ? PETSC_TRUE : PETSC_FALSE;
  if (load->phase == LOAD_CLEAR && lacks && !want.entrywise && state->array != NULL) PetscCall(MuonArrayDestroy(state->array));
  else if (load->phase == LOAD_CLEAR && (lacks || (mean && want.entrywise))) {
    if (state->array != NULL) PetscCall(MuonArrayZero(state->array));
    else PetscCall(PetscMemzero(state->data, state->bytes));
  }
  if (load->phase == LOAD_LOOK && load->result == MUON_FILE_OK && !lacks) {
    const PetscInt64 entries = (PetscInt64)(want.rows * want.columns) * (mean && want.entrywise ? (PetscInt64)load->workers[place.layer] : 1);

    if (covered == entries) PetscFunctionReturn(PETSC_SUCCESS);
    load->result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(load->reader->folder->text, MUON_FILE_TEXT, "it has %" PetscInt64_FMT " of %" PetscInt64_FMT " entries of %s of layer \"%s\"", covered, entries, state->name, state->layer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Before reading: creates the state that a first step would create, if the files have it. It is removed again if the checkpoint
   is refused
*/
static PetscErrorCode MuonCheckpointMake_Private(MuonStateVisitor *visitor, const char name[], PetscBool entrywise, MuonArray *array)
{
  MuonCheckpointLoad *load = (MuonCheckpointLoad *)visitor->ctx;
  char                full[MUON_STATE_NAME];
  MuonFileRecord      want = {0};
  const MuonShard    *shard;
  PetscBool           mean;
  PetscInt            layer;

  PetscFunctionBegin;
  PetscCall(MuonStateName(visitor, name, full));
  PetscCall(MuonCheckpointFindLayer_Private((Muon)visitor->of, visitor->layer, &layer, &shard));
  PetscCall(MuonCheckpointNumber_Private(load, (Muon)visitor->of, &layer));
  want.layer  = visitor->layer;
  want.state  = full;
  want.holder = MuonCheckpointHolder_Private(name, visitor->holder);
  want.whose  = want.holder == MUON_FILE_WORKER ? (uint32_t)shard->group->grid->worker : 0;
  mean        = want.holder == MUON_FILE_WORKER && layer >= 0 ? load->mean[layer] : PETSC_FALSE;
  if (mean && !entrywise) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = MuonCheckpointFind(load, &want, 0); k < load->reader->records && array->data == NULL && shard->rows > 0; k++) {
    const MuonFileRecord *record = load->sorted[k];
    MuonArray             shape;

    if (MuonCheckpointCompare(record, &want) != 0) break;
    if (record->precision == MUON_FILE_BYTES || (!mean && record->whose != want.whose)) continue;
    if (!entrywise && record->layer_rows != (uint64_t)(strcmp(visitor->layer, shard->name) == 0 ? shard->rows : shard->layer->m)) continue;
    shape = MuonShardStateShape(shard);
    if (!entrywise) {
      shape.rowmajor = record->rowmajor;
      shape.len      = (size_t)(record->rowmajor ? record->columns : record->rows);
      shape.count    = (size_t)(record->rowmajor ? record->rows : record->columns);
      shape.pairs    = 0; /* no state of a complex layer but that of its entries is complex */
      if (!MuonSavingOf(load->muon)->restart_convert) shape.precision = record->precision == MUON_FILE_SINGLE ? MUON_SINGLE : MUON_DOUBLE;
    }
    PetscCall(MuonArrayCreate(&shape, shape.precision, array));
    PetscCall(PetscRealloc((size_t)(load->nmade + 1) * sizeof(*load->made), &load->made));
    load->made[load->nmade++] = array;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Visits the state that is loaded once. Reading uses copies on the host */
static PetscErrorCode MuonCheckpointGo_Private(MuonCheckpointLoad *load, MuonCheckpointPhase phase)
{
  MuonStateVisitor visitor = {0};

  PetscFunctionBegin;
  load->phase    = phase;
  visitor.visit  = MuonCheckpointVisit_Private;
  visitor.make   = phase == LOAD_MAKE ? MuonCheckpointMake_Private : NULL;
  visitor.ctx    = load;
  visitor.onhost = phase == LOAD_READ ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MuonCheckpointWalk_Private(load->muon, &visitor, MuonSavingOf(load->muon)->restart_state == MUON_RESTART_ALL ? PETSC_TRUE : PETSC_FALSE, phase >= LOAD_CLEAR ? PETSC_TRUE : PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The number of workers of each layer in the files, and their weights in a mean, which is the sum of weight times term over the
   sum of weights. There are at most as many as files; a file that claims more is refused because data is missing
*/
static PetscErrorCode MuonCheckpointWorkers_Private(MuonCheckpointLoad *load)
{
  const uint32_t   ranks = load->reader->id.ranks;
  const MuonShard *shard;
  PetscInt         layer;

  PetscFunctionBegin;
  for (size_t k = 0; k < (size_t)load->muon->nlayers * ranks; k++) load->weights[k] = 1;
  for (size_t k = 0; k < load->reader->records && load->result == MUON_FILE_OK; k++) {
    const MuonFileRecord *record = &load->reader->record[k];
    double               *weight;

    if (record->holder != MUON_FILE_WORKER || (!record->entrywise && strcmp(record->state, MUON_CHECKPOINT_WEIGHT) != 0)) continue;
    PetscCall(MuonCheckpointFindLayer_Private(load->muon, record->layer, &layer, &shard));
    if (layer < 0 || record->whose >= ranks) continue;
    weight = &load->weights[(size_t)layer * ranks + record->whose];
    if (record->entrywise) load->workers[layer] = PetscMax(load->workers[layer], record->whose + 1);
    else if (record->rows == sizeof(*weight) && record->columns == 1 && record->precision == MUON_FILE_BYTES) load->result = MuonFileReaderRead(load->reader, record, 0, 0, sizeof(*weight), 1, weight, 1, 1);
    if (*weight >= 0 && *weight <= ranks) continue;
    load->result = MUON_FILE_CORRUPT;
    PetscCall(PetscSNPrintf(load->reader->folder->text, MUON_FILE_TEXT, "worker %d of layer \"%s\" weighs %g, expected at least 0 and at most the number of workers", (int)record->whose, record->layer, *weight));
  }
  for (PetscInt l = 0; l < load->muon->nlayers; l++) {
    const MuonWorkerGrid grid    = MuonGridOf(load->muon, l);
    double              *weights = load->weights + (size_t)l * ranks, sum = 0;

    load->mean[l] = load->workers[l] != (uint32_t)grid->nworkers ? PETSC_TRUE : PETSC_FALSE;
    for (uint32_t w = 0; w < load->workers[l]; w++) {
      if (!load->mean[l] && weights[w] != (grid->weight != NULL ? grid->weight[w] : 1)) load->mean[l] = PETSC_TRUE;
      sum += weights[w];
    }
    for (uint32_t w = 0; w < ranks; w++) weights[w] = sum > 0 ? weights[w] / sum : 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The optimizer's own numbers in a rank's file. Steps and counts must be whole numbers; a file may have any. On another number
   of ranks the bits sent by each rank are summed, so that the sum over the ranks does not change
*/
static PetscErrorCode MuonCheckpointReadNumbers_Private(MuonCheckpointLoad *load, const MuonFileRecord *record)
{
  const MuonFileIdentity *id   = &load->reader->id;
  const uint32_t          size = (uint32_t)load->muon->size, rank = (uint32_t)load->muon->rank;
  double                  numbers[NUMBERS];

  PetscFunctionBegin;
  load->result = MuonFileReaderRead(load->reader, record, 0, 0, NUMBERS, 1, numbers, 1, 1);
  if (load->result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  if (numbers[NUMBER_STEP] != (double)id->generation.step || id->generation.step > (uint64_t)PETSC_MAX_INT || !(numbers[NUMBER_NANS] >= 0 && numbers[NUMBER_NANS] <= 9007199254740992.0)) {
    load->result = MUON_FILE_OTHER;
    PetscCall(PetscSNPrintf(load->reader->folder->text, MUON_FILE_TEXT, "it is of step %" PRIu64 ", expected at most %" PetscInt_FMT ", which is the largest integer of this PETSc", id->generation.step, PETSC_MAX_INT));
  }
  if (record->file == (id->ranks == size ? rank : 0)) PetscCall(PetscArraycpy(load->numbers, numbers, NUMBER_UP));
  for (PetscInt k = NUMBER_UP; k < NUMBERS && record->file % size == rank; k++) load->numbers[k] += numbers[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is not state: the numbers of each rank, and the bytes of the program, for their rank, or on another number of ranks for
   all. They are not longer than the file
*/
static PetscErrorCode MuonCheckpointReadOwn_Private(MuonCheckpointLoad *load)
{
  const uint32_t ranks = load->reader->id.ranks;
  uint32_t       found = 0;

  PetscFunctionBegin;
  for (size_t k = 0; k < load->reader->records && load->result == MUON_FILE_OK; k++) {
    const MuonFileRecord *record = &load->reader->record[k];
    PetscInt              p      = 0;
    size_t                at;

    if (record->file == MUON_FILE_MANIFEST || record->layer[0] != '\0' || record->entrywise || record->columns != 1) continue;
    if (strcmp(record->state, MUON_CHECKPOINT_NUMBERS) == 0 && record->precision == MUON_FILE_DOUBLE && record->rows == NUMBERS) {
      PetscCall(MuonCheckpointReadNumbers_Private(load, record));
      load->taken[k] = 1;
      found++;
    }
    if (record->precision != MUON_FILE_BYTES || strncmp(record->state, MUON_CHECKPOINT_PROGRAM, strlen(MUON_CHECKPOINT_PROGRAM)) != 0) continue;
    while (p < MuonSavingOf(load->muon)->nprograms && strcmp(record->state + strlen(MUON_CHECKPOINT_PROGRAM), MuonSavingOf(load->muon)->program[p].name) != 0) p++;
    at = (size_t)p * ranks + record->file;
    if (p == MuonSavingOf(load->muon)->nprograms || load->data[at] != NULL) continue;
    load->taken[k]  = 1;
    load->bytes[at] = (PetscInt64)record->rows;
    if (ranks == (uint32_t)load->muon->size && record->file != (uint32_t)load->muon->rank) continue;
    PetscCall(PetscMalloc((size_t)record->rows + 1, &load->data[at]));
    load->result = MuonFileReaderRead(load->reader, record, 0, 0, record->rows, 1, load->data[at], 1, 1);
  }
  for (size_t at = 0; at < (size_t)MuonSavingOf(load->muon)->nprograms * ranks && found == ranks; at++) found = load->bytes[at] >= 0 ? ranks : 0;
  if (load->result != MUON_FILE_OK || found == ranks) PetscFunctionReturn(PETSC_SUCCESS);
  load->result = MUON_FILE_OTHER;
  PetscCall(PetscStrncpy(load->reader->folder->text, "it does not have the step, or the bytes of the program, of each rank", MUON_FILE_TEXT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Checks that everything is there, and nothing else: names the first record without a place on any rank */
static PetscErrorCode MuonCheckpointLook_Private(MuonCheckpointLoad *load)
{
  const PetscBool all = MuonSavingOf(load->muon)->restart_state == MUON_RESTART_ALL ? PETSC_TRUE : PETSC_FALSE;
  PetscMPIInt     count;
  size_t          k;

  PetscFunctionBegin;
  /* State of compressors that is not entrywise has no place with other shards */
  for (k = 0; k < load->reader->records; k++) {
    const MuonFileRecord *record  = &load->reader->record[k];
    const int             weights = record->holder == MUON_FILE_EVERYONE && strcmp(record->state, MUON_CHECKPOINT_WEIGHTS) == 0;

    load->taken[k] = record->file == MUON_FILE_MANIFEST || (record->precision != MUON_FILE_BYTES && !record->entrywise) || strcmp(record->state, MUON_CHECKPOINT_WEIGHT) == 0 || (!all && !weights);
  }
  if (all) PetscCall(MuonCheckpointReadOwn_Private(load));
  PetscCall(MuonCheckpointGo_Private(load, LOAD_LOOK));
  PetscCall(MuonCheckpointAgree_Private(load->muon, &load->result, load->reader->folder->text));
  if (load->result != MUON_FILE_OK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast((PetscInt)load->reader->records, &count));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, load->taken, count, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)load->muon)));
  for (k = 0; k < load->reader->records && load->taken[k];) k++;
  if (k == load->reader->records) PetscFunctionReturn(PETSC_SUCCESS);
  load->result = MUON_FILE_OTHER;
  PetscCall(PetscSNPrintf(load->reader->folder->text, MUON_FILE_TEXT, "it has %s of layer \"%s\", which the optimizer does not keep", load->reader->record[k].state, load->reader->record[k].layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int MuonCheckpointCompareLines(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
   Prints on rank 0 the options that differ from those of the saved run, except those of checkpoints. Options that a layer
   inherits are printed once. The bytes of a file may not be text
*/
static PetscErrorCode MuonCheckpointCompareOptions_Private(MuonCheckpointLoad *load)
{
  const MuonFileRecord *record = load->reader->record;
  const size_t          prefix = strlen(MuonPrefix(load->muon)) + 1;
  char                 *here   = NULL, *there, **now, **was, said[MUON_OPTIONS_SHOWN][MUON_FILE_TEXT];
  int                   nnow, nwas, others = 0;
  void                 *schedule;

  PetscFunctionBegin;
  (void)MuonParametersFind((PetscObject)load->muon, "schedule", &schedule);
  while (record < load->reader->record + load->reader->records && (record->file != MUON_FILE_MANIFEST || strcmp(record->state, MUON_CHECKPOINT_OPTIONS) != 0)) record++;
  if (load->muon->rank > 0 || record == load->reader->record + load->reader->records) PetscFunctionReturn(PETSC_SUCCESS);
  if (load->reader->id.ranks != (uint32_t)load->muon->size) PetscCall(MuonNotice(PETSC_COMM_SELF, "Checkpoint: ranks was %d, now %d\n", (int)load->reader->id.ranks, load->muon->size));
  PetscCall(PetscCalloc1((size_t)record->bytes + 1, &there));
  (void)MuonFileReaderRead(load->reader, record, record->row, record->column, record->rows, record->columns, there, 1, record->rows);
  for (char *c = there; *c != '\0'; c++) *c = (char)(*c == '\n' || (*c >= ' ' && *c <= '~') ? *c : '?');
  PetscCall(MuonParametersWrite((PetscObject)load->muon, &here));
  if (strcmp(here, there) == 0) here[0] = there[0] = '\0'; /* no option is another, as in most restarts */
  PetscCall(PetscStrToArray(here, '\n', &nnow, &now));
  PetscCall(PetscStrToArray(there, '\n', &nwas, &was));
  if (nwas > 0) qsort(was, (size_t)nwas, sizeof(*was), MuonCheckpointCompareLines);
  for (int k = 0; k < nnow; k++) {
    const char  *layer = strncmp(now[k], "layer ", 6) == 0 ? strstr(now[k], ": -") + 2 : now[k], *family = layer + prefix;
    const size_t length = (size_t)(layer - now[k]) + strcspn(layer, " ") + 1;
    int          j = 0, same = 0, after = nwas;
    char         inherited[MUON_FILE_TEXT];

    while (j < after) {
      if (strncmp(was[(j + after) / 2], now[k], length) < 0) j = (j + after) / 2 + 1;
      else after = (j + after) / 2;
    }
    if (j == nwas || strncmp(was[j], now[k], length) != 0 || strcmp(was[j], now[k]) == 0 || strncmp(family, "muon_checkpoint", 15) == 0 || strncmp(family, "muon_restart", 12) == 0) continue;
    if (strncmp(family, "muon_schedule ", 14) == 0 && MuonParametersIsSet((PetscObject)load->muon, "schedule") == PETSC_FALSE) continue; /* MuonSolve() chooses it */
    if (++others > MUON_OPTIONS_SHOWN) continue;
    PetscCall(PetscSNPrintf(said[others - 1], MUON_FILE_TEXT, "%.*s was %s, now %s%s", (int)length - 1, now[k], was[j][length] != '\0' ? was[j] + length : "(none)", now[k][length] != '\0' ? now[k] + length : "(none)",
                            *(MuonScheduleType *)schedule != MUON_SCHEDULE_CONSTANT && strncmp(family, "muon_max_steps", 14) == 0 ? ", where the schedule ends" : ""));
    if (strncmp(family, "muon_layer_", 11) == 0) {
      PetscCall(PetscSNPrintf(inherited, sizeof(inherited), "-%smuon_%s", MuonPrefix(load->muon), said[others - 1] + (family - now[k]) + 11 + (layer - now[k] - 8) + 1));
      while (same < others - 1 && strcmp(said[same], inherited) != 0) same++;
      if (same < --others) continue;
      others++;
    }
    PetscCall(MuonNotice(PETSC_COMM_SELF, "Checkpoint: %s\n", said[others - 1]));
  }
  if (others > MUON_OPTIONS_SHOWN) PetscCall(MuonNotice(PETSC_COMM_SELF, "Checkpoint: %d more options are others now\n", others - MUON_OPTIONS_SHOWN));
  PetscCall(PetscStrToArrayDestroy(nnow, now));
  PetscCall(PetscStrToArrayDestroy(nwas, was));
  PetscCall(PetscFree(here));
  PetscCall(PetscFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hands the program's bytes to its routines, and frees them */
static PetscErrorCode MuonCheckpointGivePrograms_Private(MuonCheckpointLoad *load, uint32_t ranks, PetscBool give)
{
  PetscInt failed = PETSC_MAX_INT;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < MuonSavingOf(load->muon)->nprograms; k++) {
    const MuonProgram *program = &MuonSavingOf(load->muon)->program[k];
    const size_t       at      = (size_t)k * ranks;

    if (give && failed > k && (*program->load)(load->muon, (PetscMPIInt)ranks, load->bytes + at, (const void *const *)load->data + at, program->ctx) != PETSC_SUCCESS) failed = k;
    for (uint32_t r = 0; r < ranks; r++) PetscCall(PetscFree(load->data[at + r]));
  }
  PetscCall(PetscFree2(load->bytes, load->data));
  if (give) PetscCall(MuonCheckpointPrograms_Private(load->muon, failed, "takes"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCheckpointLoad_Private(Muon muon, MuonFileReader *reader)
{
  const PetscBool    all    = MuonSavingOf(muon)->restart_state == MUON_RESTART_ALL ? PETSC_TRUE : PETSC_FALSE;
  const size_t       layers = (size_t)muon->nlayers, bytes = (size_t)MuonSavingOf(muon)->nprograms * reader->id.ranks;
  const uint32_t     ranks = reader->id.ranks;
  MuonCheckpointLoad load  = {0};

  PetscFunctionBegin;
  load.muon   = muon;
  load.reader = reader;
  PetscCall(MuonRoundsDrop_Private(muon));
  PetscCall(PetscCalloc5(layers, &load.workers, layers, &load.mean, layers * ranks, &load.weights, reader->records, &load.taken, reader->records, &load.sorted));
  for (size_t k = 0; k < reader->records; k++) load.sorted[k] = &reader->record[k];
  if (reader->records > 0) qsort(load.sorted, reader->records, sizeof(*load.sorted), MuonCheckpointOrder);
  PetscCall(PetscCalloc2(bytes, &load.bytes, bytes, &load.data));
  for (size_t k = 0; k < bytes; k++) load.bytes[k] = -1;
  PetscCall(MuonCheckpointWorkers_Private(&load));
  PetscCall(MuonCheckpointAgree_Private(muon, &load.result, reader->folder->text));
  if (load.result == MUON_FILE_OK) {
    PetscCall(MuonCheckpointGo_Private(&load, LOAD_MAKE));
    PetscCall(MuonCheckpointLook_Private(&load));
    for (PetscInt k = 0; k < load.nmade && load.result != MUON_FILE_OK; k++) PetscCall(MuonArrayDestroy(load.made[k]));
  }
  if (load.result == MUON_FILE_OK) {
    PetscCall(MuonCheckpointGo_Private(&load, LOAD_CLEAR));
    /* One file after the other, of any rank */
    for (load.file = 0; load.file < ranks; load.file++) PetscCall(MuonCheckpointGo_Private(&load, LOAD_READ));
    PetscCall(MuonCheckpointAgree_Private(muon, &load.result, reader->folder->text));
  }
  PetscCall(PetscFree5(load.workers, load.mean, load.weights, load.taken, load.sorted));
  PetscCall(PetscFree(load.made));
  if (load.result == MUON_FILE_OK && all) {
    /* The optimizer's own numbers are those of the files */
    muon->step     = (PetscInt)load.numbers[NUMBER_STEP];
    muon->nancount = (PetscInt64)load.numbers[NUMBER_NANS];
    muon->loss     = (PetscReal)load.numbers[NUMBER_LOSS];
    muon->dual     = (PetscReal)load.numbers[NUMBER_DUAL];
    muon->reason   = MUON_CONVERGED_ITERATING;
    for (PetscInt k = 0; k < 3; k++) {
      /* -1 where nothing was counted */
      muon->traffic.total_up[k]   = (PetscLogDouble)PetscMax(load.numbers[NUMBER_UP + k], -1);
      muon->traffic.total_down[k] = (PetscLogDouble)PetscMax(load.numbers[NUMBER_DOWN + k], -1);
    }
    muon->continues = PETSC_TRUE;
    PetscCall(MuonCheckpointCompareOptions_Private(&load));
  }
  MuonFileReaderClose(reader);
  PetscCall(MuonCheckpointGivePrograms_Private(&load, ranks, load.result == MUON_FILE_OK && all ? PETSC_TRUE : PETSC_FALSE));
  PetscCheck(load.result == MUON_FILE_OK, PetscObjectComm((PetscObject)muon), PETSC_ERR_FILE_UNEXPECTED, "Checkpoint in %s: %s", reader->folder->path, reader->folder->text);
  PetscFunctionReturn(PETSC_SUCCESS);
}
