/*
   Any bytes as a file of a checkpoint, or as its manifest, of whatever run and generation they say: what
   opens is verified, and every record is read, whole and in part.

   The rooms are compiled with FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, which passes all checksums.
*/
#include "../file_common.h"
#include "file/muonfilebits.h"

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

static void Walk(MuonFileReader *reader)
{
  uint64_t total = 0;

  Check(MuonFileReaderVerify(reader) == MUON_FILE_OK, "%s", reader->folder->text);
  for (size_t k = 0; k < reader->records; k++) {
    const MuonFileRecord *r = &reader->record[k];

    total += r->bytes;
    Check(strlen(r->layer) < 256 && strlen(r->state) < 256, "a name");
    Read(reader, r, r->row, r->column, r->rows, r->columns);
    if (r->bytes > 0) Read(reader, r, r->row + r->rows / 2, r->column + r->columns / 3, r->rows - r->rows / 2, r->columns - r->columns / 3);
  }
  Check(total <= reader->seal.bytes, "more data than bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static Model     model;
  MuonFileFolder   folder;
  MuonFileIdentity id;
  MuonFileReader   reader;
  MuonFileSeal    *seals = NULL;

  if (size < MUON_FILE_HEADER || size > (1 << 16)) return 0;
  ModelInit(&model);
  Check(MuonFileFolderInit(&folder, &model.system, "run") == MUON_FILE_OK && MuonFileFolderCreate(&folder) == MUON_FILE_OK, "%s", folder.text);
  memset(&id, 0, sizeof(id));
  memcpy(id.run, data + 8, MUON_FILE_RUN);
  id.generation.step    = MuonWireLoad64(data + 24) % 1000;
  id.generation.counter = MuonWireLoad64(data + 32) % 1000;
  id.rank               = MuonWireLoad32(data + 40);
  id.ranks              = MuonWireLoad32(data + 44);
  /* A name in the model is short */
  if (id.rank != MUON_FILE_MANIFEST) id.rank %= 1000000;
  Check(ModelMakeFolder(&model, MuonFilePathOfGeneration(&folder, &id.generation).path) == 0, "no folder");
  (void)ModelClose(&model, ModelOpen(&model, MuonFilePathOf(&folder, &id, 0).path, MUON_FILE_CREATE));
  ModelBytesPut(ModelFile(&model, MuonFilePathOf(&folder, &id, 0).path), 0, data, size);
  if (id.rank == MUON_FILE_MANIFEST) {
    if (MuonFileManifestRead(&folder, &id.generation, &reader, &seals) == MUON_FILE_OK) {
      Check((uint64_t)MUON_FILE_SEAL * reader.id.ranks <= size, "%u ranks", reader.id.ranks);
      Walk(&reader);
    }
    free(seals);
  } else if (MuonFileReaderOpen(&folder, &id, NULL, &reader) == MUON_FILE_OK) Walk(&reader);
  MuonFileReaderClose(&reader);
  Check(ModelOpenHandles(&model) == 0, "a file was left open");
  ModelFree(&model);
  return 0;
}
