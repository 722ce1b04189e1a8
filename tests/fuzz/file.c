/*
   Any bytes as a file of a checkpoint, or as its manifest, of whatever run and generation they say: what
   opens is verified, and every record is read, whole and in part.

   The rooms are compiled with FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, which passes all checksums.
*/
#include "../file_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copies of a rectangle in both orders are the same */
static void Read(MuonFileReader *reader, const MuonFileRecord *r, uint64_t row, uint64_t column, uint64_t rows, uint64_t columns)
{
  const size_t   bytes = MuonFileEntryBytes(r->precision), all = (size_t)(rows * columns) * bytes;
  unsigned char *a = (unsigned char *)malloc(all + 1), *b = (unsigned char *)malloc(all + 1);

  Check(a != NULL && b != NULL, "no memory");
  Check(MuonFileReaderRead(reader, r, row, column, rows, columns, a, 1, rows) == MUON_FILE_OK && MuonFileReaderRead(reader, r, row, column, rows, columns, b, columns, 1) == MUON_FILE_OK, "%s", reader->folder->text);
  if (all > 0) {
    for (uint64_t i = 0; i < rows; i++) {
      for (uint64_t j = 0; j < columns; j++) Check(memcmp(a + (j * rows + i) * bytes, b + (i * columns + j) * bytes, bytes) == 0, "entry (%d, %d)", (int)i, (int)j);
    }
  }
  free(a);
  free(b);
}

static void Walk(MuonFileReader *reader, uint64_t bytes)
{
  uint64_t total = 0;

  Check(MuonFileReaderVerify(reader, 0, 1) == MUON_FILE_OK, "%s", reader->folder->text);
  for (size_t k = 0; k < reader->records; k++) {
    const MuonFileRecord *r = &reader->record[k];

    total += r->bytes;
    Check(strlen(r->layer) < 256 && strlen(r->state) < 256, "a name");
    Read(reader, r, r->row, r->column, r->rows, r->columns);
    if (r->bytes > 0) Read(reader, r, r->row + r->rows / 2, r->column + r->columns / 3, r->rows - r->rows / 2, r->columns - r->columns / 3);
  }
  Check(total <= bytes, "more data than bytes");
}

/* A manifest that names the one file of a rank */
static void Name(MuonFileFolder *folder, const MuonFileIdentity *id, const uint8_t *data, size_t size)
{
  const MuonFileSeal seal = {size, MuonWireLoad32(data + size - 4)};
  MuonFileIdentity   one  = *id;
  MuonFileWriter     writer;

  one.ranks = 1;
  (void)MuonFileManifestOpen(folder, &one, &seal, &writer);
  Check(MuonFileWriterClose(&writer, NULL) == MUON_FILE_OK, "%s", folder->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static Model     model;
  MuonFileFolder   folder;
  MuonFileIdentity id;
  MuonFileReader   reader;
  unsigned char    run[MUON_FILE_RUN];

  if (size < MUON_FILE_HEADER || size > (1 << 16)) return 0;
  ModelInit(&model);
  Check(MuonFileFolderInit(&folder, "run") == MUON_FILE_OK && MuonFileFolderLock(&folder, run) == MUON_FILE_OK, "%s", folder.text);
  memset(&id, 0, sizeof(id));
  memcpy(id.run, data + 8, MUON_FILE_RUN);
  id.generation.step    = MuonWireLoad64(data + 24) % 1000;
  id.generation.counter = MuonWireLoad64(data + 32) % 1000;
  id.rank               = MuonWireLoad32(data + 40) == MUON_FILE_MANIFEST ? MUON_FILE_MANIFEST : 0;
  Check(ModelMakeFolder(MuonFilePathOfGeneration(&folder, &id.generation).path, 0777) == 0, "no folder");
  (void)ModelClose(ModelOpen(MuonFilePathOf(&folder, &id, 0).path, O_CREAT));
  ModelBytesPut(ModelFile(&model, MuonFilePathOf(&folder, &id, 0).path), 0, data, size);
  if (id.rank != MUON_FILE_MANIFEST) Name(&folder, &id, data, size);
  if (MuonFileReaderOpen(&folder, &id.generation, &reader) == MUON_FILE_OK) Walk(&reader, size + (1 << 10));
  else if (id.rank == MUON_FILE_MANIFEST && reader.files == 1 && reader.id.ranks > 0 && strstr(folder.text, "rank-") != NULL) Check((uint64_t)MUON_FILE_SEAL * reader.id.ranks <= size, "%u ranks", reader.id.ranks);
  MuonFileReaderClose(&reader);
  MuonFileFolderUnlock(&folder);
  Check(ModelOpenHandles(&model) == 0, "a file was left open");
  ModelFree(&model);
  return 0;
}
