/*
   Reading a file: nothing that it says is believed before it was compared with how long the file is
*/
#include "muonfilebits.h"

static MuonFileResult MuonFileReadAt(MuonFileReader *reader, uint64_t at, void *to, size_t bytes)
{
  const MuonFileSystem *system = reader->folder->system;
  unsigned char        *next   = (unsigned char *)to;

  while (bytes > 0) {
    const ptrdiff_t got = system->read(system->ctx, reader->handle, at, next, bytes);

    if (got < 0) return MuonFileFailSystem(reader->folder, (int)got, "read it", MuonFilePathOf(reader->folder, &reader->id, 0).path);
    if (got == 0) return MuonFileFail(reader->folder, MUON_FILE_CORRUPT, "%s: ends at byte %llu", MuonFilePathOf(reader->folder, &reader->id, 0).path, (unsigned long long)at);
    next += got;
    at += (uint64_t)got;
    bytes -= (size_t)got;
  }
  return MUON_FILE_OK;
}

static MuonFileResult MuonFileCorrupt(MuonFileReader *reader, const char what[])
{
  return MuonFileFail(reader->folder, MUON_FILE_CORRUPT, "%s: is damaged: %s", MuonFilePathOf(reader->folder, &reader->id, 0).path, what);
}

/* The first difference between what a file is and what it should be, by name */
static MuonFileResult MuonFileDiffers(MuonFileReader *reader, const char what[], uint64_t is, uint64_t expected)
{
  if (is == expected) return MUON_FILE_OK;
  return MuonFileFail(reader->folder, MUON_FILE_OTHER, "%s: %s is %llu, expected %llu", MuonFilePathOf(reader->folder, &reader->id, 0).path, what, (unsigned long long)is, (unsigned long long)expected);
}

/* A manifest tells run and ranks, which are known of any other file */
static MuonFileResult MuonFileHeaderRead(MuonFileReader *reader, unsigned char header[MUON_FILE_HEADER])
{
  MuonFileIdentity *id       = &reader->id;
  const int         manifest = id->rank == MUON_FILE_MANIFEST;
  unsigned char     same[MUON_FILE_HEADER];
  char              is[2 * MUON_FILE_RUN + 1], expected[2 * MUON_FILE_RUN + 1];
  MuonFileResult    result = MuonFileReadAt(reader, 0, header, MUON_FILE_HEADER);

  if (result != MUON_FILE_OK) return result;
  if (memcmp(header, MUON_FILE_MAGIC, 4) != 0) return MuonFileCorrupt(reader, "it does not begin as a checkpoint does");
  if (!MuonFileChecks(MuonWireCRC32C(0, header, 60), header + 60)) return MuonFileCorrupt(reader, "the checksum of the header");
  if (MuonWireLoad32(header + 4) > MUON_FILE_VERSION_NUMBER)
    return MuonFileFail(reader->folder, MUON_FILE_VERSION, "%s: is of version %u of the format, this library reads versions up to %d", MuonFilePathOf(reader->folder, id, 0).path, MuonWireLoad32(header + 4), MUON_FILE_VERSION_NUMBER);
  if (manifest) {
    memcpy(id->run, header + 8, MUON_FILE_RUN);
    id->ranks = MuonWireLoad32(header + 44);
  }
  for (int i = 0; i < MUON_FILE_RUN; i++) {
    (void)snprintf(is + 2 * i, 3, "%02x", header[8 + i]);
    (void)snprintf(expected + 2 * i, 3, "%02x", id->run[i]);
  }
  if (strcmp(is, expected) != 0) return MuonFileFail(reader->folder, MUON_FILE_OTHER, "%s: the run is %s, expected %s", MuonFilePathOf(reader->folder, id, 0).path, is, expected);
  result = MuonFileDiffers(reader, "the step", MuonWireLoad64(header + 24), id->generation.step);
  if (result == MUON_FILE_OK) result = MuonFileDiffers(reader, "the counter of the generation", MuonWireLoad64(header + 32), id->generation.counter);
  if (result == MUON_FILE_OK) result = MuonFileDiffers(reader, "the rank", MuonWireLoad32(header + 40), id->rank);
  if (result == MUON_FILE_OK) result = MuonFileDiffers(reader, "the number of ranks", MuonWireLoad32(header + 44), id->ranks);
  if (result != MUON_FILE_OK) return result;
  /* All else is as it must be */
  MuonFileHeaderWrite(id, same);
  return memcmp(header, same, 60) != 0 ? MuonFileCorrupt(reader, "the header") : MUON_FILE_OK;
}

/* A name of the index, with a zero behind it; NULL where there is none */
static const char *MuonFileIndexName(const unsigned char *at, size_t length)
{
  for (size_t i = 0; i < length; i++) {
    if (at[i] < ' ' || at[i] > '~') return NULL;
  }
  return at[length] == 0 ? (const char *)at : NULL;
}

/* Whether [first, first + count) lies in [0, all) */
static int MuonFileWithin(uint64_t first, uint64_t count, uint64_t all)
{
  return first <= all && count <= all - first;
}

/*
   Reads one record from an index of which so many bytes are left; data_end is where data end. Returns how
   long it is, 0 where there is none
*/
static uint64_t MuonFileRecordRead(const unsigned char *from, uint64_t left, uint64_t at, uint64_t data_end, MuonFileRecord *record)
{
  uint64_t bytes, max, names;

  if (left < MUON_FILE_ENTRY || from[0] > MUON_FILE_EVERYONE || from[1] > MUON_FILE_DOUBLE || from[2] > 1 || from[3] > 1 || MuonWireLoad16(from + 6) != 0 || MuonWireLoad32(from + 12) != 0) return 0;
  names = (uint64_t)from[4] + from[5] + 2;
  left -= MUON_FILE_ENTRY;
  if (names > left) return 0;
  record->holder        = (MuonFileHolder)from[0];
  record->precision     = (MuonFilePrecision)from[1];
  record->entrywise     = from[2];
  record->rowmajor      = from[3];
  record->layer         = MuonFileIndexName(from + MUON_FILE_ENTRY, from[4]);
  record->state         = MuonFileIndexName(from + MUON_FILE_ENTRY + from[4] + 1, from[5]);
  record->whose         = MuonWireLoad32(from + 8);
  record->layer_rows    = MuonWireLoad64(from + 16);
  record->layer_columns = MuonWireLoad64(from + 24);
  record->row           = MuonWireLoad64(from + 32);
  record->column        = MuonWireLoad64(from + 40);
  record->rows          = MuonWireLoad64(from + 48);
  record->columns       = MuonWireLoad64(from + 56);
  record->at            = at;
  record->checks        = from + MUON_FILE_ENTRY + names;
  if (record->layer == NULL || record->state == NULL) return 0;
  if (record->entrywise && (!MuonFileWithin(record->row, record->rows, record->layer_rows) || !MuonFileWithin(record->column, record->columns, record->layer_columns))) return 0;
  if (!record->entrywise && (record->row != 0 || record->column != 0)) return 0;
  bytes = MuonFileEntryBytes(record->precision);
  max   = (data_end - at) / bytes;
  if (record->columns != 0 && record->rows > max / record->columns) return 0;
  record->bytes = record->rows * record->columns * bytes;
  if (MuonFileAligned(record->bytes) > data_end - at || 4 * MuonFileChunks(record->bytes) > left - names) return 0;
  return MUON_FILE_ENTRY + names + 4 * MuonFileChunks(record->bytes);
}

static MuonFileResult MuonFileIndexRead(MuonFileReader *reader, uint64_t bytes, uint64_t records)
{
  const uint64_t data_end = reader->seal.bytes - MUON_FILE_TRAILER - bytes;
  uint64_t       at = MUON_FILE_HEADER, used = 0;

  reader->record = (MuonFileRecord *)calloc((size_t)records + 1, sizeof(*reader->record));
  if (reader->record == NULL) return MuonFileFail(reader->folder, MUON_FILE_MEMORY, "no memory for %llu records", (unsigned long long)records);
  for (uint64_t k = 0; k < records; k++) {
    const uint64_t length = MuonFileRecordRead(reader->index + used, bytes - used, at, data_end, &reader->record[k]);

    if (length == 0) return MuonFileCorrupt(reader, "its index");
    used += length;
    at += MuonFileAligned(reader->record[k].bytes);
  }
  if (used != bytes || at != data_end) return MuonFileCorrupt(reader, "its index");
  reader->records = (size_t)records;
  return MUON_FILE_OK;
}

static MuonFileResult MuonFileReaderStart(MuonFileReader *reader, const MuonFileSeal *seal)
{
  const MuonFileSystem *system = reader->folder->system;
  unsigned char         header[MUON_FILE_HEADER], trailer[MUON_FILE_TRAILER];
  uint64_t              bytes, records;
  MuonFileResult        result;
  int                   error;

  reader->handle = system->open(system->ctx, MuonFilePathOf(reader->folder, &reader->id, 0).path, MUON_FILE_READ);
  error          = reader->handle < 0 ? reader->handle : system->size(system->ctx, reader->handle, &reader->seal.bytes);
  if (error < 0) return MuonFileFailSystem(reader->folder, error, "open it", MuonFilePathOf(reader->folder, &reader->id, 0).path);
  if (reader->seal.bytes < MUON_FILE_HEADER + MUON_FILE_TRAILER) return MuonFileCorrupt(reader, "it is too short");
  result = MuonFileHeaderRead(reader, header);
  if (result == MUON_FILE_OK && seal != NULL) result = MuonFileDiffers(reader, "the length in bytes", reader->seal.bytes, seal->bytes);
  if (result == MUON_FILE_OK) result = MuonFileReadAt(reader, reader->seal.bytes - MUON_FILE_TRAILER, trailer, MUON_FILE_TRAILER);
  if (result != MUON_FILE_OK) return result;
  bytes   = MuonWireLoad64(trailer);
  records = MuonWireLoad64(trailer + 8);
  if (bytes > MUON_FILE_INDEX || bytes > reader->seal.bytes - MUON_FILE_HEADER - MUON_FILE_TRAILER || records > bytes / MUON_FILE_ENTRY) return MuonFileCorrupt(reader, "the length of its index");
  reader->index = (unsigned char *)malloc((size_t)bytes + 1);
  if (reader->index == NULL) return MuonFileFail(reader->folder, MUON_FILE_MEMORY, "no memory for an index of %llu bytes", (unsigned long long)bytes);
  result = MuonFileReadAt(reader, reader->seal.bytes - MUON_FILE_TRAILER - bytes, reader->index, (size_t)bytes);
  if (result != MUON_FILE_OK) return result;
  reader->seal.digest = MuonWireCRC32C(MuonWireCRC32C(MuonWireCRC32C(0, header, sizeof(header)), reader->index, (size_t)bytes), trailer, 16);
  if (!MuonFileChecks(reader->seal.digest, trailer + 16)) return MuonFileCorrupt(reader, "the checksum of its index");
  if (seal != NULL && seal->digest != reader->seal.digest) return MuonFileFail(reader->folder, MUON_FILE_OTHER, "%s: is in order, but not the file that the manifest means", MuonFilePathOf(reader->folder, &reader->id, 0).path);
  return MuonFileIndexRead(reader, bytes, records);
}

MuonFileResult MuonFileReaderOpen(MuonFileFolder *folder, const MuonFileIdentity *id, const MuonFileSeal *seal, MuonFileReader *reader)
{
  memset(reader, 0, sizeof(*reader));
  reader->folder = folder;
  reader->id     = *id;
  reader->handle = -1;
  return MuonFileReaderStart(reader, seal);
}

void MuonFileReaderClose(MuonFileReader *reader)
{
  if (reader->handle >= 0) (void)reader->folder->system->close(reader->folder->system->ctx, reader->handle);
  free(reader->index);
  free(reader->stage);
  free(reader->record);
  reader->handle  = -1;
  reader->index   = NULL;
  reader->stage   = NULL;
  reader->record  = NULL;
  reader->records = 0;
}

/* Checks a chunk of a record, with the padding behind it */
static MuonFileResult MuonFileChunkCheck(MuonFileReader *reader, const MuonFileRecord *record, uint64_t chunk, const unsigned char *data, size_t bytes)
{
  if (MuonFileChecks(MuonWireCRC32C(0, data, bytes), record->checks + 4 * chunk)) return MUON_FILE_OK;
  return MuonFileFail(reader->folder, MUON_FILE_CORRUPT, "%s: is damaged: the checksum of %s of layer \"%s\", at byte %llu", MuonFilePathOf(reader->folder, &reader->id, 0).path, record->state, record->layer,
                      (unsigned long long)(record->at + chunk * MUON_FILE_CHUNK));
}

/* Brings a chunk with the padding behind it to the stage, and checks it */
static MuonFileResult MuonFileChunkStage(MuonFileReader *reader, const MuonFileRecord *record, uint64_t chunk)
{
  const uint64_t at    = record->at + chunk * MUON_FILE_CHUNK;
  const size_t   bytes = MuonFileAtMostChunk(MuonFileAligned(record->bytes) - chunk * MUON_FILE_CHUNK);
  MuonFileResult result;

  if (reader->staged_at == at) return MUON_FILE_OK;
  if (reader->stage == NULL) {
    reader->stage = (unsigned char *)malloc(MuonFileAtMostChunk(reader->seal.bytes));
    if (reader->stage == NULL) return MuonFileFail(reader->folder, MUON_FILE_MEMORY, "no memory to read a chunk");
  }
  reader->staged_at = 0;
  result            = MuonFileReadAt(reader, at, reader->stage, bytes);
  if (result == MUON_FILE_OK) result = MuonFileChunkCheck(reader, record, chunk, reader->stage, bytes);
  if (result == MUON_FILE_OK) reader->staged_at = at;
  return result;
}

MuonFileResult MuonFileReaderVerify(MuonFileReader *reader)
{
  MuonFileResult result = MUON_FILE_OK;

  for (size_t k = 0; k < reader->records; k++) {
    for (uint64_t chunk = 0; chunk < MuonFileChunks(reader->record[k].bytes) && result == MUON_FILE_OK; chunk++) result = MuonFileChunkStage(reader, &reader->record[k], chunk);
  }
  return result;
}

/* count entries of a record from its entry number first on; next is their distance in memory, in bytes */
static MuonFileResult MuonFileReadSpan(MuonFileReader *reader, const MuonFileRecord *record, uint64_t first, uint64_t count, unsigned char *to, uint64_t next)
{
  const size_t   bytes  = MuonFileEntryBytes(record->precision);
  const int      asis   = next == bytes && (bytes == 1 || MuonWireIsLittleEndian());
  uint64_t       at     = first * bytes;
  const uint64_t end    = at + count * bytes;
  MuonFileResult result = MUON_FILE_OK;

  while (at < end && result == MUON_FILE_OK) {
    const uint64_t chunk = at / MUON_FILE_CHUNK, start = at % MUON_FILE_CHUNK;
    const uint64_t part = end - at < MUON_FILE_CHUNK - start ? end - at : MUON_FILE_CHUNK - start;

    /* A whole chunk goes where it belongs */
    if (asis && part == MUON_FILE_CHUNK) {
      result = MuonFileReadAt(reader, record->at + at, to, (size_t)part);
      if (result == MUON_FILE_OK) result = MuonFileChunkCheck(reader, record, chunk, to, (size_t)part);
    } else {
      result = MuonFileChunkStage(reader, record, chunk);
      if (result == MUON_FILE_OK) MuonFileCopyEntries(to, next, reader->stage + start, bytes, part / bytes, bytes);
    }
    to += part / bytes * next;
    at += part;
  }
  return result;
}

MuonFileResult MuonFileReaderRead(MuonFileReader *reader, const MuonFileRecord *record, uint64_t row, uint64_t column, uint64_t rows, uint64_t columns, void *to, uint64_t rowstride, uint64_t columnstride)
{
  const size_t   bytes = MuonFileEntryBytes(record->precision);
  const int      whole = record->rowmajor ? columns == record->columns && columnstride == 1 && rowstride == columns : rows == record->rows && rowstride == 1 && columnstride == rows;
  const uint64_t m     = record->rowmajor ? record->columns : record->rows; /* entries of a line in the file */
  const uint64_t line0 = record->rowmajor ? row - record->row : column - record->column, lines = record->rowmajor ? rows : columns;
  const uint64_t entry0 = record->rowmajor ? column - record->column : row - record->row, entries = record->rowmajor ? columns : rows;
  const uint64_t next_line = (record->rowmajor ? rowstride : columnstride) * bytes, next = (record->rowmajor ? columnstride : rowstride) * bytes;
  MuonFileResult result = MUON_FILE_OK;

  if (row < record->row || column < record->column || !MuonFileWithin(row - record->row, rows, record->rows) || !MuonFileWithin(column - record->column, columns, record->columns))
    return MuonFileFail(reader->folder, MUON_FILE_USAGE, "%s of layer \"%s\" has no %llu x %llu entries at (%llu, %llu)", record->state, record->layer, (unsigned long long)rows, (unsigned long long)columns, (unsigned long long)row,
                        (unsigned long long)column);
  if (rows == 0 || columns == 0) return MUON_FILE_OK;
  if (whole) return MuonFileReadSpan(reader, record, line0 * m, lines * entries, (unsigned char *)to, bytes);
  for (uint64_t line = 0; line < lines && result == MUON_FILE_OK; line++) result = MuonFileReadSpan(reader, record, (line0 + line) * m + entry0, entries, (unsigned char *)to + line * next_line, next);
  return result;
}

MuonFileResult MuonFileManifestRead(MuonFileFolder *folder, const MuonFileGeneration *generation, MuonFileReader *reader, MuonFileSeal **seals)
{
  MuonFileIdentity      id;
  MuonFileResult        result;
  const MuonFileRecord *record;

  *seals = NULL;
  memset(&id, 0, sizeof(id));
  id.generation = *generation;
  id.rank       = MUON_FILE_MANIFEST;
  result        = MuonFileReaderOpen(folder, &id, NULL, reader);
  if (result == MUON_FILE_OK) result = MuonFileReaderVerify(reader);
  if (result != MUON_FILE_OK) return result;
  record = reader->record;
  if (reader->records == 0 || strcmp(record->state, MUON_FILE_SEALS) != 0 || record->layer[0] != 0 || record->entrywise || record->precision != MUON_FILE_BYTES || reader->id.ranks == 0 || record->bytes != (uint64_t)MUON_FILE_SEAL * reader->id.ranks)
    return MuonFileCorrupt(reader, "it does not name the files");
  *seals = (MuonFileSeal *)malloc(reader->id.ranks * sizeof(**seals));
  if (*seals == NULL) return MuonFileFail(folder, MUON_FILE_MEMORY, "no memory for a manifest of %u files", reader->id.ranks);
  for (uint32_t rank = 0; rank < reader->id.ranks && result == MUON_FILE_OK; rank++) {
    unsigned char bytes[MUON_FILE_SEAL];

    result                = MuonFileReaderRead(reader, record, (uint64_t)MUON_FILE_SEAL * rank, 0, MUON_FILE_SEAL, 1, bytes, 1, 1);
    (*seals)[rank].bytes  = MuonWireLoad64(bytes);
    (*seals)[rank].digest = MuonWireLoad32(bytes + 8);
  }
  return result;
}
