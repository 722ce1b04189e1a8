/*
   Reading a file. Every length in it is compared with the length of the file before it is used
*/
#include "muonfilebits.h"

/* The error for damage in the current file */
static MuonFileResult MuonFileCorrupt(MuonFileReader *reader, const char what[])
{
  return MuonFileFail(reader->folder, MUON_FILE_CORRUPT, "%s: is damaged: %s", MuonFilePathOf(reader->folder, &reader->id, 0).path, what);
}

/* Opens the file of a rank, if it is not the current file. Links and pipes are errors */
static MuonFileResult MuonFileSelect(MuonFileReader *reader, uint32_t rank)
{
  MuonFilePathname to;
  struct stat      info;

  if (reader->handle >= 0 && reader->id.rank == rank) return MUON_FILE_OK;
  if (reader->handle >= 0) (void)close(reader->handle);
  reader->id.rank   = rank;
  reader->staged_at = 0;
  to                = MuonFilePathOf(reader->folder, &reader->id, 0);
  reader->handle    = open(to.path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (reader->handle < 0 || fstat(reader->handle, &info) < 0) return MuonFileFailSystem(reader->folder, "open it", to.path);
  reader->bytes = (uint64_t)info.st_size;
  return S_ISREG(info.st_mode) ? MUON_FILE_OK : MuonFileFail(reader->folder, MUON_FILE_SYSTEM, "%s: cannot open it: it is no file", to.path);
}

static MuonFileResult MuonFileReadAt(MuonFileReader *reader, uint64_t at, void *to, size_t bytes)
{
  unsigned char *next = (unsigned char *)to;

  while (bytes > 0) {
    const ssize_t got = pread(reader->handle, next, bytes, (off_t)at);

    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return MuonFileFailSystem(reader->folder, "read it", MuonFilePathOf(reader->folder, &reader->id, 0).path);
    if (got == 0) return MuonFileCorrupt(reader, "it is too short");
    next += got;
    at += (uint64_t)got;
    bytes -= (size_t)got;
  }
  return MUON_FILE_OK;
}

/* Run and ranks come from the header of the manifest. The headers of all other files must agree with it */
static MuonFileResult MuonFileHeaderRead(MuonFileReader *reader, unsigned char header[MUON_FILE_HEADER])
{
  MuonFileIdentity      *id = &reader->id;
  unsigned char          expected[MUON_FILE_HEADER];
  const MuonFilePathname path   = MuonFilePathOf(reader->folder, id, 0);
  MuonFileResult         result = MuonFileReadAt(reader, 0, header, MUON_FILE_HEADER);

  if (result != MUON_FILE_OK) return result;
  if (memcmp(header, MUON_FILE_MAGIC, 4) != 0) return MuonFileCorrupt(reader, "it does not begin as a checkpoint does");
  if (!MuonFileChecks(MuonWireCRC32C(0, header, 60), header + 60)) return MuonFileCorrupt(reader, "the checksum of the header");
  if (MuonWireLoad32(header + 4) > MUON_FILE_VERSION_NUMBER)
    return MuonFileFail(reader->folder, MUON_FILE_VERSION, "%s: is of version %u of the format, this library reads versions up to %d", path.path, MuonWireLoad32(header + 4), MUON_FILE_VERSION_NUMBER);
  if (id->rank == MUON_FILE_MANIFEST) {
    memcpy(id->run, header + 8, MUON_FILE_RUN);
    id->ranks = MuonWireLoad32(header + 44);
  }
  MuonFileHeaderWrite(id, expected);
  if (memcmp(header, expected, 60) == 0) return MUON_FILE_OK;
  if (memcmp(header + 8, expected + 8, MUON_FILE_RUN) != 0) return MuonFileFail(reader->folder, MUON_FILE_OTHER, "%s: is a file of another run", path.path);
  return MuonFileFail(reader->folder, MUON_FILE_OTHER, "%s: is the file of step %llu, generation %llu, rank %u of %u", path.path, (unsigned long long)MuonWireLoad64(header + 24), (unsigned long long)MuonWireLoad64(header + 32),
                      MuonWireLoad32(header + 40), MuonWireLoad32(header + 44));
}

/* A name in the index, which must end with a zero; NULL if it is not valid */
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
   Reads one record from the remaining left bytes of an index; data_end is the end of the data. Returns the length of the
   record, 0 if it is not valid
*/
static uint64_t MuonFileRecordRead(const unsigned char *from, uint64_t left, uint64_t at, uint64_t data_end, MuonFileRecord *record)
{
  uint64_t bytes, max, names;

  if (left < MUON_FILE_ENTRY || from[0] > MUON_FILE_EVERYONE || from[1] > MUON_FILE_COMPLEX_DOUBLE || from[2] > 1 || from[3] > 1 || MuonWireLoad16(from + 6) != 0 || MuonWireLoad32(from + 12) != 0) return 0;
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

/* Appends the records of a file to those of the reader */
static MuonFileResult MuonFileIndexRead(MuonFileReader *reader, const unsigned char *index, uint64_t bytes, uint64_t records)
{
  const uint64_t  data_end = reader->bytes - MUON_FILE_TRAILER - bytes;
  MuonFileRecord *more     = (MuonFileRecord *)realloc(reader->record, (reader->records + (size_t)records + 1) * sizeof(*more));
  uint64_t        at = MUON_FILE_HEADER, used = 0;

  if (more == NULL) return MuonFileFail(reader->folder, MUON_FILE_MEMORY, "no memory for %llu records", (unsigned long long)records);
  reader->record = more;
  for (uint64_t k = 0; k < records; k++) {
    MuonFileRecord *record = &reader->record[reader->records++];
    const uint64_t  length = MuonFileRecordRead(index + used, bytes - used, at, data_end, record);

    if (length == 0) return MuonFileCorrupt(reader, "its index");
    record->file = reader->id.rank;
    used += length;
    at += MuonFileAligned(record->bytes);
  }
  return used != bytes || at != data_end ? MuonFileCorrupt(reader, "its index") : MUON_FILE_OK;
}

/* Reads and checks a file without its data */
static MuonFileResult MuonFileFileRead(MuonFileReader *reader, uint32_t rank, const MuonFileSeal *seal)
{
  unsigned char  header[MUON_FILE_HEADER], trailer[MUON_FILE_TRAILER], *index;
  uint64_t       bytes, records;
  uint32_t       digest;
  MuonFileResult result = MuonFileSelect(reader, rank);

  if (result == MUON_FILE_OK && reader->bytes < MUON_FILE_HEADER + MUON_FILE_TRAILER) return MuonFileCorrupt(reader, "it is too short");
  if (result == MUON_FILE_OK) result = MuonFileHeaderRead(reader, header);
  if (result == MUON_FILE_OK) result = MuonFileReadAt(reader, reader->bytes - MUON_FILE_TRAILER, trailer, MUON_FILE_TRAILER);
  if (result != MUON_FILE_OK) return result;
  bytes   = MuonWireLoad64(trailer);
  records = MuonWireLoad64(trailer + 8);
  if (bytes > MUON_FILE_INDEX || bytes > reader->bytes - MUON_FILE_HEADER - MUON_FILE_TRAILER || records > bytes / MUON_FILE_ENTRY) return MuonFileCorrupt(reader, "the length of its index");
  index = reader->index[reader->files++] = (unsigned char *)malloc((size_t)bytes + 1);
  if (index == NULL) return MuonFileFail(reader->folder, MUON_FILE_MEMORY, "no memory for an index of %llu bytes", (unsigned long long)bytes);
  result = MuonFileReadAt(reader, reader->bytes - MUON_FILE_TRAILER - bytes, index, (size_t)bytes);
  if (result != MUON_FILE_OK) return result;
  digest = MuonWireCRC32C(MuonWireCRC32C(MuonWireCRC32C(0, header, sizeof(header)), index, (size_t)bytes), trailer, 16);
  if (!MuonFileChecks(digest, trailer + 16)) return MuonFileCorrupt(reader, "the checksum of its index");
  if (seal != NULL && (seal->bytes != reader->bytes || seal->digest != digest)) return MuonFileFail(reader->folder, MUON_FILE_OTHER, "%s: is not the file that the manifest means", MuonFilePathOf(reader->folder, &reader->id, 0).path);
  return MuonFileIndexRead(reader, index, bytes, records);
}

/* Reads all files that the first record of the manifest lists */
static MuonFileResult MuonFileFilesRead(MuonFileReader *reader)
{
  const MuonFileRecord *first = reader->record;
  const uint32_t        ranks = reader->id.ranks;
  unsigned char       **index, *seals;
  MuonFileResult        result;

  if (reader->records == 0 || strcmp(first->state, MUON_FILE_SEALS) != 0 || first->layer[0] != 0 || first->entrywise || first->precision != MUON_FILE_BYTES || ranks == 0 || first->columns != 1 || first->rows != (uint64_t)MUON_FILE_SEAL * ranks)
    return MuonFileCorrupt(reader, "it does not name the files");
  index = (unsigned char **)realloc(reader->index, (ranks + (size_t)1) * sizeof(*index));
  if (index != NULL) reader->index = index;
  seals = (unsigned char *)malloc((size_t)first->bytes);
  if (seals == NULL || index == NULL) result = MuonFileFail(reader->folder, MUON_FILE_MEMORY, "no memory for a manifest of %u files", ranks);
  else result = MuonFileReaderRead(reader, first, 0, 0, first->rows, 1, seals, 1, 1);
  for (uint32_t rank = 0; rank < ranks && result == MUON_FILE_OK; rank++) {
    const unsigned char *from = seals + (size_t)MUON_FILE_SEAL * rank;
    const MuonFileSeal   seal = {MuonWireLoad64(from), MuonWireLoad32(from + 8)};

    result = MuonFileFileRead(reader, rank, &seal);
    if (result == MUON_FILE_ABSENT) result = MUON_FILE_CORRUPT;
  }
  free(seals);
  return result;
}

MuonFileResult MuonFileReaderOpen(MuonFileFolder *folder, const MuonFileGeneration *generation, MuonFileReader *reader)
{
  MuonFileResult result;

  memset(reader, 0, sizeof(*reader));
  reader->folder        = folder;
  reader->id.generation = *generation;
  reader->handle        = -1;
  reader->index         = (unsigned char **)malloc(sizeof(*reader->index));
  reader->stage         = (unsigned char *)malloc(MUON_FILE_CHUNK);
  if (reader->index == NULL || reader->stage == NULL) return MuonFileFail(folder, MUON_FILE_MEMORY, "no memory to read %s", folder->path);
  result = MuonFileFileRead(reader, MUON_FILE_MANIFEST, NULL);
  return result == MUON_FILE_OK ? MuonFileFilesRead(reader) : result;
}

void MuonFileReaderClose(MuonFileReader *reader)
{
  if (reader->handle >= 0) (void)close(reader->handle);
  for (size_t k = 0; k < reader->files; k++) free(reader->index[k]);
  free(reader->index);
  free(reader->stage);
  free(reader->record);
}

/* Reads a chunk of a record, with the padding behind it, and checks it */
static MuonFileResult MuonFileChunkStage(MuonFileReader *reader, const MuonFileRecord *record, uint64_t chunk)
{
  const uint64_t at = record->at + chunk * MUON_FILE_CHUNK, left = MuonFileAligned(record->bytes) - chunk * MUON_FILE_CHUNK;
  const size_t   bytes  = left < MUON_FILE_CHUNK ? (size_t)left : (size_t)MUON_FILE_CHUNK;
  MuonFileResult result = MuonFileSelect(reader, record->file);

  if (result != MUON_FILE_OK || reader->staged_at == at) return result;
  reader->staged_at = 0;
  result            = MuonFileReadAt(reader, at, reader->stage, bytes);
  if (result != MUON_FILE_OK) return result;
  reader->staged_at = at;
  if (MuonFileChecks(MuonWireCRC32C(0, reader->stage, bytes), record->checks + 4 * chunk)) return MUON_FILE_OK;
  reader->staged_at = 0;
  return MuonFileFail(reader->folder, MUON_FILE_CORRUPT, "%s: is damaged: the checksum of %s of layer \"%s\", at byte %llu", MuonFilePathOf(reader->folder, &reader->id, 0).path, record->state, record->layer, (unsigned long long)at);
}

MuonFileResult MuonFileReaderVerify(MuonFileReader *reader, uint32_t first, uint32_t stride)
{
  MuonFileResult result = MUON_FILE_OK;

  for (size_t k = 0; k < reader->records; k++) {
    const MuonFileRecord *record = &reader->record[k];

    if (record->file != MUON_FILE_MANIFEST && record->file % stride != first) continue;
    for (uint64_t chunk = 0; chunk < MuonFileChunks(record->bytes) && result == MUON_FILE_OK; chunk++) result = MuonFileChunkStage(reader, record, chunk);
  }
  return result;
}

MuonFileResult MuonFileReaderRead(MuonFileReader *reader, const MuonFileRecord *record, uint64_t row, uint64_t column, uint64_t rows, uint64_t columns, void *to, uint64_t rowstride, uint64_t columnstride)
{
  const size_t   bytes = MuonFileEntryBytes(record->precision);
  const uint64_t m     = record->rowmajor ? record->columns : record->rows; /* entries of a line in the file */
  const uint64_t line0 = record->rowmajor ? row - record->row : column - record->column, entry0 = record->rowmajor ? column - record->column : row - record->row;
  const uint64_t next_line = (record->rowmajor ? rowstride : columnstride) * bytes, next = (record->rowmajor ? columnstride : rowstride) * bytes;
  uint64_t       lines = record->rowmajor ? rows : columns, entries = record->rowmajor ? columns : rows;
  MuonFileResult result = MUON_FILE_OK;

  if (row < record->row || column < record->column || !MuonFileWithin(row - record->row, rows, record->rows) || !MuonFileWithin(column - record->column, columns, record->columns))
    return MuonFileFail(reader->folder, MUON_FILE_USAGE, "%s of layer \"%s\" has no %llu x %llu entries at (%llu, %llu)", record->state, record->layer, (unsigned long long)rows, (unsigned long long)columns, (unsigned long long)row,
                        (unsigned long long)column);
  if (entries == m && next_line == m * next) { /* adjacent whole lines are read as one line */
    entries *= lines;
    lines = lines > 0;
  }
  for (uint64_t line = 0; line < lines; line++) {
    unsigned char *into = (unsigned char *)to + line * next_line;
    uint64_t       at   = ((line0 + line) * m + entry0) * bytes, part;

    for (const uint64_t end = at + entries * bytes; at < end && result == MUON_FILE_OK; at += part, into += part / bytes * next) {
      part   = end - at < MUON_FILE_CHUNK - at % MUON_FILE_CHUNK ? end - at : MUON_FILE_CHUNK - at % MUON_FILE_CHUNK;
      result = MuonFileChunkStage(reader, record, at / MUON_FILE_CHUNK);
      if (result == MUON_FILE_OK) MuonFileCopyEntries(into, next, reader->stage + at % MUON_FILE_CHUNK, bytes, part / bytes, bytes);
    }
  }
  return result;
}
