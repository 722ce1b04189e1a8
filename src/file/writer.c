/*
   Writing a file: the header, the data of the records in the order of the calls, the index, the trailer
*/
#include "muonfilebits.h"

void MuonFileHeaderWrite(const MuonFileIdentity *id, unsigned char header[MUON_FILE_HEADER])
{
  memset(header, 0, MUON_FILE_HEADER);
  memcpy(header, MUON_FILE_MAGIC, 4);
  MuonWireStore32(header + 4, MUON_FILE_VERSION_NUMBER);
  memcpy(header + 8, id->run, MUON_FILE_RUN);
  MuonWireStore64(header + 24, id->generation.step);
  MuonWireStore64(header + 32, id->generation.counter);
  MuonWireStore32(header + 40, id->rank);
  MuonWireStore32(header + 44, id->ranks);
  MuonWireStore32(header + 60, MuonWireCRC32C(0, header, 60));
}

static void MuonFileFlush(MuonFileWriter *writer)
{
  for (size_t at = 0; at < writer->staged && writer->result == MUON_FILE_OK;) {
    const ssize_t went = write(writer->handle, writer->stage + at, writer->staged - at);

    if (went > 0) at += (size_t)went;
    else if (went == 0) errno = ENOSPC; /* if nothing was written, there is no space */
    if (went <= 0 && errno != EINTR) writer->result = MuonFileFailSystem(writer->folder, "write to it", MuonFilePathOf(writer->folder, &writer->id, 1).path);
  }
  writer->staged = 0;
}

/* Appends entries to the file, or zeros if from is NULL. check is the CRC of everything since it was set to 0 */
static void MuonFileAppend(MuonFileWriter *writer, const unsigned char *from, uint64_t count, size_t bytes)
{
  while (count > 0 && writer->result == MUON_FILE_OK) {
    const uint64_t       left = (MUON_FILE_CHUNK - writer->staged) / bytes, part = count < left ? count : left;
    unsigned char *const to = writer->stage + writer->staged;

    if (from != NULL) MuonFileCopyEntries(to, bytes, from, bytes, part, bytes);
    else memset(to, 0, (size_t)(part * bytes));
    if (from != NULL) from += part * bytes;
    writer->check = MuonWireCRC32C(writer->check, to, (size_t)(part * bytes));
    writer->staged += (size_t)(part * bytes);
    writer->bytes += part * bytes;
    count -= part;
    if (writer->staged > MUON_FILE_CHUNK - 8) MuonFileFlush(writer);
  }
}

/* Makes room for bytes at the end of the index. Returns NULL if there is no memory */
static unsigned char *MuonFileIndexAppend(MuonFileWriter *writer, size_t bytes)
{
  const size_t   all = writer->indexed + bytes, capacity = all > writer->capacity ? 2 * all : writer->capacity;
  unsigned char *more = NULL;

  if (writer->result != MUON_FILE_OK) return NULL;
  if (all <= MUON_FILE_INDEX) more = (unsigned char *)realloc(writer->index, capacity);
  if (more == NULL) {
    writer->result = MuonFileFail(writer->folder, MUON_FILE_MEMORY, "%s: no memory for an index of %zu bytes, which has at most %d", MuonFilePathOf(writer->folder, &writer->id, 0).path, all, MUON_FILE_INDEX);
    return NULL;
  }
  writer->index    = more;
  writer->capacity = capacity;
  writer->indexed  = all;
  return more + all - bytes;
}

/* Ends a chunk: its checksum goes to the index */
static void MuonFileChunkEnd(MuonFileWriter *writer)
{
  unsigned char *to = MuonFileIndexAppend(writer, 4);

  if (to != NULL) MuonWireStore32(to, writer->check);
  writer->check   = 0;
  writer->chunked = 0;
}

/* Appends entries of a record. Each chunk of a record has a checksum in the index */
static void MuonFileAppendData(MuonFileWriter *writer, const unsigned char *from, uint64_t count, size_t bytes)
{
  while (count > 0 && writer->result == MUON_FILE_OK) {
    const uint64_t left = (MUON_FILE_CHUNK - writer->chunked) / bytes, part = count < left ? count : left;

    MuonFileAppend(writer, from, part, bytes);
    if (from != NULL) from += part * bytes;
    count -= part;
    writer->chunked += part * bytes;
    if (writer->chunked == MUON_FILE_CHUNK) MuonFileChunkEnd(writer);
  }
}

MuonFileResult MuonFileWriterOpen(MuonFileFolder *folder, const MuonFileIdentity *id, MuonFileWriter *writer)
{
  const MuonFilePathname to = MuonFilePathOf(folder, id, 1);
  unsigned char          header[MUON_FILE_HEADER];

  memset(writer, 0, sizeof(*writer));
  writer->folder = folder;
  writer->id     = *id;
  writer->handle = -1;
  writer->stage  = (unsigned char *)malloc(MUON_FILE_CHUNK);
  if (writer->stage == NULL) writer->result = MuonFileFail(folder, MUON_FILE_MEMORY, "no memory to write %s", to.path);
  else {
    writer->handle = open(to.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->handle < 0) writer->result = MuonFileFailSystem(folder, "make it", to.path);
  }
  MuonFileHeaderWrite(id, header);
  MuonFileAppend(writer, header, sizeof(header), 1);
  return writer->result;
}

/* The length of a name, 256 if it is too long or not printable: names are printed and compared */
static size_t MuonFileNameLength(const char name[])
{
  size_t length = 0;

  while (length < 256 && name[length] >= ' ' && name[length] <= '~') length++;
  return name[length < 256 ? length : 0] == 0 ? length : 256;
}

MuonFileResult MuonFileWriterAdd(MuonFileWriter *writer, const MuonFileRecord *record, const void *data, uint64_t ld)
{
  const size_t         layer = MuonFileNameLength(record->layer), state = MuonFileNameLength(record->state), bytes = MuonFileEntryBytes(record->precision);
  const uint64_t       lines = record->rowmajor ? record->rows : record->columns, entries = record->rowmajor ? record->columns : record->rows;
  const uint64_t       numbers[] = {record->layer_rows, record->layer_columns, record->row, record->column, record->rows, record->columns};
  const unsigned char *from      = (const unsigned char *)data;
  unsigned char       *to;

  if (writer->result == MUON_FILE_OK && (layer > 255 || state > 255)) writer->result = MuonFileFail(writer->folder, MUON_FILE_USAGE, "a record has names of at most 255 printable characters");
  to = MuonFileIndexAppend(writer, MUON_FILE_ENTRY + layer + state + 2);
  if (to == NULL) return writer->result;
  memset(to, 0, MUON_FILE_ENTRY);
  to[0] = (unsigned char)record->holder;
  to[1] = (unsigned char)record->precision;
  to[2] = (unsigned char)(record->entrywise != 0);
  to[3] = (unsigned char)(record->rowmajor != 0);
  to[4] = (unsigned char)layer;
  to[5] = (unsigned char)state;
  MuonWireStore32(to + 8, record->whose);
  for (int k = 0; k < 6; k++) MuonWireStore64(to + 16 + 8 * k, numbers[k]);
  memcpy(to + MUON_FILE_ENTRY, record->layer, layer + 1);
  memcpy(to + MUON_FILE_ENTRY + layer + 1, record->state, state + 1);

  writer->check = 0;
  for (uint64_t line = 0; line < lines; line++) MuonFileAppendData(writer, from + line * ld * bytes, entries, bytes);
  MuonFileAppendData(writer, NULL, MuonFileAligned(writer->bytes) - writer->bytes, 1);
  if (writer->chunked > 0) MuonFileChunkEnd(writer);
  writer->records++;
  return writer->result;
}

MuonFileResult MuonFileWriterClose(MuonFileWriter *writer, MuonFileSeal *seal)
{
  MuonFileFolder *const  folder = writer->folder;
  const MuonFilePathname part = MuonFilePathOf(folder, &writer->id, 1), whole = MuonFilePathOf(folder, &writer->id, 0);
  unsigned char          header[MUON_FILE_HEADER], trailer[MUON_FILE_TRAILER];

  if (writer->result == MUON_FILE_OK) {
    MuonFileHeaderWrite(&writer->id, header);
    MuonWireStore64(trailer, writer->indexed);
    MuonWireStore64(trailer + 8, writer->records);
    MuonWireStore32(trailer + 16, MuonWireCRC32C(MuonWireCRC32C(MuonWireCRC32C(0, header, sizeof(header)), writer->index, writer->indexed), trailer, 16));
    MuonFileAppend(writer, writer->index, writer->indexed, 1);
    MuonFileAppend(writer, trailer, sizeof(trailer), 1);
    MuonFileFlush(writer);
    if (seal != NULL) {
      seal->bytes  = writer->bytes;
      seal->digest = MuonWireLoad32(trailer + 16);
    }
  }
  if (writer->result == MUON_FILE_OK && fsync(writer->handle) < 0) writer->result = MuonFileFailSystem(folder, "make it durable", part.path);
  if (writer->result == MUON_FILE_OK && rename(part.path, whole.path) < 0) writer->result = MuonFileFailSystem(folder, "rename it", part.path);
  if (writer->result == MUON_FILE_OK) {
    writer->result = MuonFileSyncFolder(folder, MuonFilePathOfGeneration(folder, &writer->id.generation).path);
    if (writer->result == MUON_FILE_OK) writer->result = MuonFileSyncFolder(folder, folder->path);
    if (writer->result != MUON_FILE_OK) (void)remove(whole.path);
  }
  if (writer->handle >= 0) (void)close(writer->handle); /* the file is durable, or is removed */
  if (writer->handle >= 0 && writer->result != MUON_FILE_OK) (void)remove(part.path);
  free(writer->stage);
  free(writer->index);
  writer->handle = -1;
  writer->stage = writer->index = NULL;
  return writer->result;
}

MuonFileResult MuonFileManifestOpen(MuonFileFolder *folder, const MuonFileIdentity *id, const MuonFileSeal seals[], MuonFileWriter *writer)
{
  const MuonFileRecord record = {"", MUON_FILE_SEALS, MUON_FILE_EVERYONE, MUON_FILE_BYTES, 0, 0, 0, 0, 0, 0, 0, (uint64_t)MUON_FILE_SEAL * id->ranks, 1, 0, 0, 0, NULL};
  unsigned char       *bytes  = (unsigned char *)malloc((size_t)record.rows + 1);
  MuonFileIdentity     one    = *id;
  MuonFileResult       result = bytes == NULL ? MuonFileFail(folder, MUON_FILE_MEMORY, "no memory for a manifest of %u files", id->ranks) : MUON_FILE_OK;

  for (one.rank = 0; one.rank < id->ranks && result == MUON_FILE_OK; one.rank++) {
    const MuonFilePathname to = MuonFilePathOf(folder, &one, 0);
    struct stat            info;

    if (lstat(to.path, &info) < 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size != seals[one.rank].bytes)
      result = MuonFileFail(folder, MUON_FILE_OTHER, "%s: rank %u wrote %llu bytes, which rank 0 does not see: the folder must be one that all nodes share", to.path, one.rank, (unsigned long long)seals[one.rank].bytes);
    MuonWireStore64(bytes + (size_t)MUON_FILE_SEAL * one.rank, seals[one.rank].bytes);
    MuonWireStore32(bytes + (size_t)MUON_FILE_SEAL * one.rank + 8, seals[one.rank].digest);
  }
  one.rank = MUON_FILE_MANIFEST;
  memset(writer, 0, sizeof(*writer));
  writer->folder = folder;
  writer->id     = one;
  writer->handle = -1;
  writer->result = result;
  if (result == MUON_FILE_OK) (void)MuonFileWriterOpen(folder, &one, writer);
  if (writer->result == MUON_FILE_OK) (void)MuonFileWriterAdd(writer, &record, bytes, record.rows);
  free(bytes);
  return writer->result;
}
