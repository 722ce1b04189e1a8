/*
   What the tests of src/file share: a run of few ranks whose state is known, its save, and its restart.
*/
#pragma once

#include "check_common.h"
#include <errno.h>
#include <petscmuon/private/muonfile.h>

enum {
  RUN_RANKS   = 2,
  RUN_RECORDS = 3,
  RUN_NONE    = -1, /* no generation */
  RUN_BROKEN  = -2  /* there are generations, none is good */
};

typedef struct {
  MuonFileRecord record;
  size_t         ld; /* in memory */
} RunRecord;

/* Record k of a rank: rows of a matrix of singles, doubles by rows with gaps in memory, and bytes */
static inline RunRecord RunRecordOf(int rank, int k)
{
  RunRecord r;

  memset(&r, 0, sizeof(r));
  r.record.layer = k == 2 ? "" : "attn.qkv";
  r.record.state = k == 0 ? "momentum" : k == 1 ? "adamw.mean" : "options";
  if (k == 2) {
    r.record.holder  = MUON_FILE_EVERYONE;
    r.record.rows    = 5;
    r.record.columns = 1;
    r.ld             = 5;
    return r;
  }
  r.record.holder        = k == 0 ? MUON_FILE_WORKER : MUON_FILE_SERVER;
  r.record.precision     = k == 0 ? MUON_FILE_SINGLE : MUON_FILE_DOUBLE;
  r.record.entrywise     = 1;
  r.record.rowmajor      = k;
  r.record.whose         = k == 0 ? (uint32_t)rank : 0;
  r.record.layer_rows    = 5;
  r.record.layer_columns = 3;
  r.record.row           = rank == 0 ? 0 : 3;
  r.record.rows          = rank == 0 ? 3 : 2;
  r.record.columns       = 3;
  r.ld                   = k == 0 ? (size_t)r.record.rows : 4;
  return r;
}

/* Entry (i, j) of a state, at a step: of the layer, so that it does not depend on who has it but for a worker's */
static inline double RunValue(const MuonFileRecord *record, uint64_t step, uint64_t i, uint64_t j)
{
  return record->precision == MUON_FILE_BYTES ? (double)((step + 31 * i) % 256) : (double)step + 0.25 * (double)i - 0.125 * (double)j + 100 * record->whose + (record->state[0] == 'm' ? 0 : 0.0625);
}

static inline void RunPut(const MuonFileRecord *record, void *to, size_t at, double value)
{
  if (record->precision == MUON_FILE_BYTES) ((unsigned char *)to)[at] = (unsigned char)value;
  else if (record->precision == MUON_FILE_SINGLE) ((float *)to)[at] = (float)value;
  else ((double *)to)[at] = value;
}

static inline double RunGet(const MuonFileRecord *record, const void *from, size_t at)
{
  return record->precision == MUON_FILE_BYTES ? ((const unsigned char *)from)[at] : record->precision == MUON_FILE_SINGLE ? (double)((const float *)from)[at] : ((const double *)from)[at];
}

static inline int Unlocks(MuonFileFolder *folder)
{
  MuonFileFolderUnlock(folder);
  return 1;
}

static inline MuonFileResult RunWrite(MuonFileWriter *writer, int rank, uint64_t step)
{
  for (int k = 0; k < RUN_RECORDS; k++) {
    const RunRecord r = RunRecordOf(rank, k);
    double          data[32];
    MuonFileResult  result;

    memset(data, 0x55, sizeof(data));
    for (uint64_t i = 0; i < r.record.rows; i++) {
      for (uint64_t j = 0; j < r.record.columns; j++) RunPut(&r.record, data, (size_t)(r.record.rowmajor ? i * r.ld + j : j * r.ld + i), RunValue(&r.record, step, r.record.row + i, r.record.column + j));
    }
    result = MuonFileWriterAdd(writer, &r.record, data, r.ld);
    if (result != MUON_FILE_OK) return result;
  }
  return MUON_FILE_OK;
}

/* All of a save that the ranks do, one after the other, with their files open at the same time; *committed is set where the manifest is durable */
static inline MuonFileResult RunSaveLocked(MuonFileFolder *folder, const unsigned char run[MUON_FILE_RUN], uint64_t step, size_t keep, int *committed)
{
  MuonFileIdentity id;
  MuonFileWriter   writer[RUN_RANKS], manifest;
  MuonFileSeal     seal[RUN_RANKS];
  MuonFileResult   result, other;

  memset(&id, 0, sizeof(id));
  memset(seal, 0, sizeof(seal));
  memcpy(id.run, run, MUON_FILE_RUN);
  id.ranks   = RUN_RANKS;
  *committed = 0;
  result     = MuonFileBegin(folder, step, &id);
  if (result != MUON_FILE_OK) return result;
  for (int rank = 0; rank < RUN_RANKS; rank++) {
    id.rank = (uint32_t)rank;
    (void)MuonFileWriterOpen(folder, &id, &writer[rank]);
    (void)RunWrite(&writer[rank], rank, step);
  }
  for (int rank = 0; rank < RUN_RANKS; rank++) {
    other = MuonFileWriterClose(&writer[rank], &seal[rank]);
    if (result == MUON_FILE_OK) result = other;
  }
  if (result == MUON_FILE_OK) {
    (void)MuonFileManifestOpen(folder, &id, seal, &manifest);
    result     = MuonFileWriterClose(&manifest, NULL);
    *committed = result == MUON_FILE_OK;
  }
  if (result != MUON_FILE_OK) {
    id.rank = MUON_FILE_MANIFEST;
    (void)MuonFileRemove(folder, &id);
    for (id.rank = 0; id.rank < RUN_RANKS; id.rank++) (void)MuonFileRemove(folder, &id);
    return result;
  }
  return MuonFilePrune(folder, keep);
}

static inline MuonFileResult RunSave(const char path[], uint64_t step, size_t keep, int *committed)
{
  unsigned char  run[MUON_FILE_RUN];
  MuonFileFolder folder;
  MuonFileResult result;

  *committed = 0;
  result     = MuonFileFolderInit(&folder, path);
  if (result == MUON_FILE_OK) result = MuonFileFolderLock(&folder, run);
  if (result == MUON_FILE_OK) result = RunSaveLocked(&folder, run, step, keep, committed);
  MuonFileFolderUnlock(&folder);
  return result;
}

/* Reads a record as it was written, and in another order, and compares every entry */
static inline int RunRecordIs(MuonFileReader *reader, const MuonFileRecord *record, uint64_t step)
{
  double data[32];

  for (int order = 0; order < 2; order++) {
    const uint64_t rs = order == 0 ? 1 : record->columns, cs = order == 0 ? record->rows : 1;

    memset(data, 0x55, sizeof(data));
    if (MuonFileReaderRead(reader, record, record->row, record->column, record->rows, record->columns, data, rs, cs) != MUON_FILE_OK) return 0;
    for (uint64_t i = 0; i < record->rows; i++) {
      for (uint64_t j = 0; j < record->columns; j++) {
        if (RunGet(record, data, (size_t)(i * rs + j * cs)) != RunValue(record, step, record->row + i, record->column + j)) return 0;
      }
    }
  }
  return 1;
}

/* Whether a generation is in order and holds the state of all ranks at its step */
static inline MuonFileResult RunGenerationIs(MuonFileFolder *folder, const MuonFileGeneration *generation)
{
  MuonFileReader reader;
  MuonFileResult result = MuonFileReaderOpen(folder, generation, &reader);
  int            good;

  if (result == MUON_FILE_OK) result = MuonFileReaderVerify(&reader, 0, 1);
  good = result == MUON_FILE_OK && reader.records == 1 + RUN_RANKS * RUN_RECORDS;
  for (int k = 0; k < RUN_RANKS * RUN_RECORDS && good; k++) {
    const RunRecord       r = RunRecordOf(k / RUN_RECORDS, k % RUN_RECORDS);
    const MuonFileRecord *a = &r.record, *b = &reader.record[k + 1];

    good = strcmp(a->layer, b->layer) == 0 && strcmp(a->state, b->state) == 0 && a->holder == b->holder && a->precision == b->precision && a->entrywise == b->entrywise && a->rowmajor == b->rowmajor && a->whose == b->whose &&
           a->layer_rows == b->layer_rows && a->layer_columns == b->layer_columns && a->row == b->row && a->column == b->column && a->rows == b->rows && a->columns == b->columns && b->file == (uint32_t)(k / RUN_RECORDS) &&
           RunRecordIs(&reader, b, generation->step);
  }
  MuonFileReaderClose(&reader);
  return good || result != MUON_FILE_OK ? result : MUON_FILE_USAGE; /* in order, and another state */
}

/* The step of the latest good generation; how many later ones have a manifest and are not good, and what was wrong with the first of them */
static inline int RunLoad(const char path[], int *skipped, MuonFileResult *why, char text[MUON_FILE_TEXT])
{
  MuonFileFolder      folder;
  MuonFileGeneration *generation;
  size_t              count;
  int                 step = RUN_NONE;

  *skipped = 0;
  *why     = MuonFileFolderInit(&folder, path);
  Check(*why == MUON_FILE_OK, "%s", folder.text);
  *why = MuonFileFolderList(&folder, &generation, &count);
  if (*why != MUON_FILE_OK) {
    if (text != NULL) memcpy(text, folder.text, MUON_FILE_TEXT);
    return *why == MUON_FILE_ABSENT ? RUN_NONE : RUN_BROKEN;
  }
  for (size_t g = 0; g < count && step < 0; g++) {
    const MuonFileResult result = RunGenerationIs(&folder, &generation[g]);

    if (result == MUON_FILE_OK) step = (int)generation[g].step;
    else if (result != MUON_FILE_ABSENT && (*skipped)++ == 0) {
      *why = result;
      if (text != NULL) memcpy(text, folder.text, MUON_FILE_TEXT);
    }
  }
  free(generation);
  return step == RUN_NONE && *skipped > 0 ? RUN_BROKEN : step;
}
