/*
   Writing a file: header, the data of records as they come, the index, the trailer
*/
#include "muonfilebits.h"

static const unsigned char muon_file_zeros[MUON_FILE_ALIGN] = {0};

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

static void MuonFileFailWriter(MuonFileWriter *writer, MuonFileResult result)
{
  if (writer->result == MUON_FILE_OK) writer->result = result;
}

static void MuonFileWriteAll(MuonFileWriter *writer, const unsigned char *from, size_t bytes)
{
  const MuonFileSystem *system = writer->folder->system;

  while (bytes > 0 && writer->result == MUON_FILE_OK) {
    const ptrdiff_t went = system->write(system->ctx, writer->handle, from, bytes);

    /* A system that takes nothing has no space */
    if (went <= 0) MuonFileFailWriter(writer, MuonFileFailSystem(writer->folder, went < 0 ? (int)went : -ENOSPC, "write to it", MuonFilePathOf(writer->folder, &writer->id, 1).path));
    else {
      from += went;
      bytes -= (size_t)went;
    }
  }
}

static void MuonFileFlush(MuonFileWriter *writer)
{
  MuonFileWriteAll(writer, writer->stage, writer->staged);
  writer->staged = 0;
}

/* Appends to the file: what is small through the stage, what is large as it lies */
static void MuonFileAppend(MuonFileWriter *writer, const unsigned char *from, size_t bytes)
{
  writer->bytes += bytes;
  if (writer->staged + bytes > MUON_FILE_CHUNK || bytes >= MUON_FILE_DIRECT) MuonFileFlush(writer);
  if (bytes >= MUON_FILE_DIRECT) MuonFileWriteAll(writer, from, bytes);
  else if (bytes > 0) {
    memcpy(writer->stage + writer->staged, from, bytes);
    writer->staged += bytes;
  }
}

/* Room for so many bytes at the end of the index; NULL where there is none */
static unsigned char *MuonFileIndexAppend(MuonFileWriter *writer, size_t bytes)
{
  if (writer->result != MUON_FILE_OK) return NULL;
  if (writer->indexed + bytes > MUON_FILE_INDEX) {
    MuonFileFailWriter(writer, MuonFileFail(writer->folder, MUON_FILE_USAGE, "%s: an index of more than %d bytes", MuonFilePathOf(writer->folder, &writer->id, 0).path, MUON_FILE_INDEX));
    return NULL;
  }
  if (writer->indexed + bytes > writer->capacity) {
    const size_t   capacity = 2 * (writer->indexed + bytes);
    unsigned char *more     = (unsigned char *)realloc(writer->index, capacity);

    if (more == NULL) {
      MuonFileFailWriter(writer, MuonFileFail(writer->folder, MUON_FILE_MEMORY, "no memory for an index of %zu bytes", capacity));
      return NULL;
    }
    writer->index    = more;
    writer->capacity = capacity;
  }
  writer->indexed += bytes;
  return writer->index + writer->indexed - bytes;
}

/* The chunk has ended */
static void MuonFileChunkEnd(MuonFileWriter *writer)
{
  unsigned char *to = MuonFileIndexAppend(writer, 4);

  if (to != NULL) MuonWireStore32(to, writer->check);
  writer->check   = 0;
  writer->chunked = 0;
}

/* Bytes of a record as they are in the file */
static void MuonFileAppendData(MuonFileWriter *writer, const unsigned char *from, uint64_t bytes)
{
  while (bytes > 0 && writer->result == MUON_FILE_OK) {
    const uint64_t left = MUON_FILE_CHUNK - writer->chunked;
    const size_t   part = (size_t)(bytes < left ? bytes : left);

    writer->check = MuonWireCRC32C(writer->check, from, part);
    MuonFileAppend(writer, from, part);
    writer->chunked += part;
    from += part;
    bytes -= part;
    if (writer->chunked == MUON_FILE_CHUNK) MuonFileChunkEnd(writer);
  }
}

static void MuonFileAppendEntries(MuonFileWriter *writer, const unsigned char *from, uint64_t count, size_t bytes)
{
  if (bytes == 1 || MuonWireIsLittleEndian()) {
    MuonFileAppendData(writer, from, count * bytes);
    return;
  }
  while (count > 0 && writer->result == MUON_FILE_OK) {
    unsigned char  part[4096];
    const uint64_t entries = count < sizeof(part) / bytes ? count : sizeof(part) / bytes;

    MuonFileCopyEntries(part, bytes, from, bytes, entries, bytes);
    MuonFileAppendData(writer, part, entries * bytes);
    from += entries * bytes;
    count -= entries;
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
  if (writer->stage == NULL) MuonFileFailWriter(writer, MuonFileFail(folder, MUON_FILE_MEMORY, "no memory to write %s", to.path));
  else {
    writer->handle = folder->system->open(folder->system->ctx, to.path, MUON_FILE_CREATE);
    if (writer->handle < 0) MuonFileFailWriter(writer, MuonFileFailSystem(folder, writer->handle, "make it", to.path));
    else {
      MuonFileHeaderWrite(id, header);
      MuonFileAppend(writer, header, sizeof(header));
    }
  }
  if (writer->result != MUON_FILE_OK) MuonFileWriterAbort(writer);
  return writer->result;
}

/* A name is shown and compared, so it is text */
static size_t MuonFileNameLength(const char name[])
{
  size_t length = 0;

  for (; name[length] != 0 && length < 256; length++) {
    if (name[length] < ' ' || name[length] > '~') return 256;
  }
  return length;
}

MuonFileResult MuonFileWriterAdd(MuonFileWriter *writer, const MuonFileRecord *record, const void *data, uint64_t ld)
{
  const size_t         layer = MuonFileNameLength(record->layer), state = MuonFileNameLength(record->state), bytes = MuonFileEntryBytes(record->precision);
  const uint64_t       lines = record->rowmajor ? record->rows : record->columns, entries = record->rowmajor ? record->columns : record->rows;
  const unsigned char *from = (const unsigned char *)data;
  unsigned char       *to;

  if (writer->result != MUON_FILE_OK) return writer->result;
  if (layer > 255 || state > 255) {
    MuonFileFailWriter(writer, MuonFileFail(writer->folder, MUON_FILE_USAGE, "a record has names of at most 255 printable characters"));
    return writer->result;
  }
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
  MuonWireStore64(to + 16, record->layer_rows);
  MuonWireStore64(to + 24, record->layer_columns);
  MuonWireStore64(to + 32, record->row);
  MuonWireStore64(to + 40, record->column);
  MuonWireStore64(to + 48, record->rows);
  MuonWireStore64(to + 56, record->columns);
  memcpy(to + MUON_FILE_ENTRY, record->layer, layer + 1);
  memcpy(to + MUON_FILE_ENTRY + layer + 1, record->state, state + 1);

  if (entries == ld || entries == 0 || lines < 2) MuonFileAppendEntries(writer, from, lines * entries, bytes);
  else {
    for (uint64_t line = 0; line < lines; line++) MuonFileAppendEntries(writer, from + line * ld * bytes, entries, bytes);
  }
  MuonFileAppendData(writer, muon_file_zeros, MuonFileAligned(writer->bytes) - writer->bytes);
  if (writer->chunked > 0) MuonFileChunkEnd(writer);
  writer->records++;
  return writer->result;
}

MuonFileResult MuonFileWriterClose(MuonFileWriter *writer, MuonFileSeal *seal)
{
  MuonFileFolder *const  folder = writer->folder;
  const MuonFileSystem  *system = folder->system;
  const MuonFilePathname part = MuonFilePathOf(folder, &writer->id, 1), whole = MuonFilePathOf(folder, &writer->id, 0);
  unsigned char          header[MUON_FILE_HEADER], trailer[MUON_FILE_TRAILER];
  uint32_t               digest;
  int                    error = 0;

  if (writer->handle < 0) return writer->result;
  MuonFileHeaderWrite(&writer->id, header);
  MuonWireStore64(trailer, writer->indexed);
  MuonWireStore64(trailer + 8, writer->records);
  digest = MuonWireCRC32C(MuonWireCRC32C(MuonWireCRC32C(0, header, sizeof(header)), writer->index, writer->indexed), trailer, 16);
  MuonWireStore32(trailer + 16, digest);
  MuonFileAppend(writer, writer->index, writer->indexed);
  MuonFileAppend(writer, trailer, sizeof(trailer));
  MuonFileFlush(writer);
  if (writer->result == MUON_FILE_OK) {
    error = system->sync(system->ctx, writer->handle);
    if (error < 0) MuonFileFailWriter(writer, MuonFileFailSystem(folder, error, "make it durable", part.path));
  }
  error          = system->close(system->ctx, writer->handle);
  writer->handle = -1;
  if (error < 0 && writer->result == MUON_FILE_OK) MuonFileFailWriter(writer, MuonFileFailSystem(folder, error, "close it", part.path));
  if (writer->result == MUON_FILE_OK) {
    error = system->rename(system->ctx, part.path, whole.path);
    if (error < 0) MuonFileFailWriter(writer, MuonFileFailSystem(folder, error, "rename it", part.path));
  }
  if (writer->result == MUON_FILE_OK) MuonFileFailWriter(writer, MuonFileSyncFolder(folder, MuonFilePathOfGeneration(folder, &writer->id.generation).path));
  if (writer->result == MUON_FILE_OK) MuonFileFailWriter(writer, MuonFileSyncFolder(folder, folder->path));
  if (seal != NULL) {
    seal->bytes  = writer->bytes;
    seal->digest = digest;
  }
  if (writer->result != MUON_FILE_OK) {
    (void)system->unlink(system->ctx, whole.path);
    (void)system->unlink(system->ctx, part.path);
  }
  MuonFileWriterAbort(writer);
  return writer->result;
}

void MuonFileWriterAbort(MuonFileWriter *writer)
{
  if (writer->handle >= 0) {
    (void)writer->folder->system->close(writer->folder->system->ctx, writer->handle);
    (void)writer->folder->system->unlink(writer->folder->system->ctx, MuonFilePathOf(writer->folder, &writer->id, 1).path);
  }
  writer->handle = -1;
  free(writer->stage);
  free(writer->index);
  writer->stage = NULL;
  writer->index = NULL;
}

MuonFileResult MuonFileManifestOpen(MuonFileFolder *folder, const MuonFileIdentity *id, const MuonFileSeal seals[], MuonFileWriter *writer)
{
  const MuonFileSystem *system = folder->system;
  MuonFileIdentity      one    = *id;
  MuonFileRecord        record;
  MuonFileResult        result = MUON_FILE_OK;
  unsigned char        *bytes  = (unsigned char *)malloc((size_t)MUON_FILE_SEAL * id->ranks + 1);

  memset(writer, 0, sizeof(*writer));
  writer->folder = folder;
  writer->handle = -1;
  if (bytes == NULL) result = MuonFileFail(folder, MUON_FILE_MEMORY, "no memory for a manifest of %u files", id->ranks);
  for (one.rank = 0; one.rank < id->ranks && result == MUON_FILE_OK; one.rank++) {
    const MuonFilePathname to   = MuonFilePathOf(folder, &one, 0);
    uint64_t               size = 0;
    int                    handle, error;

    handle = system->open(system->ctx, to.path, MUON_FILE_READ);
    error  = handle < 0 ? handle : system->size(system->ctx, handle, &size);
    if (handle >= 0) (void)system->close(system->ctx, handle);
    if (error == -ENOENT) result = MuonFileFail(folder, MUON_FILE_ABSENT, "%s: rank %u wrote it, but rank 0 does not see it: the folder must be one that all nodes share", to.path, one.rank);
    else if (error < 0) result = MuonFileFailSystem(folder, error, "look at it", to.path);
    else if (size != seals[one.rank].bytes) result = MuonFileFail(folder, MUON_FILE_OTHER, "%s: rank %u wrote %llu bytes, but rank 0 sees %llu", to.path, one.rank, (unsigned long long)seals[one.rank].bytes, (unsigned long long)size);
    MuonWireStore64(bytes + (size_t)MUON_FILE_SEAL * one.rank, seals[one.rank].bytes);
    MuonWireStore32(bytes + (size_t)MUON_FILE_SEAL * one.rank + 8, seals[one.rank].digest);
  }
  if (result == MUON_FILE_OK) {
    one.rank = MUON_FILE_MANIFEST;
    result   = MuonFileWriterOpen(folder, &one, writer);
  }
  if (result == MUON_FILE_OK) {
    memset(&record, 0, sizeof(record));
    record.layer   = "";
    record.state   = MUON_FILE_SEALS;
    record.holder  = MUON_FILE_EVERYONE;
    record.rows    = (uint64_t)MUON_FILE_SEAL * id->ranks;
    record.columns = 1;
    result         = MuonFileWriterAdd(writer, &record, bytes, record.rows);
    if (result != MUON_FILE_OK) MuonFileWriterAbort(writer);
  }
  writer->result = result;
  free(bytes);
  return result;
}
