/*
   Files that are not what was written: each bit flipped, every length cut, lengths that lie behind checksums
   that agree, files of two runs, files that are gone, later versions. Each loads as the generation before or
   not at all, and the reason names what is wrong.
*/
#include "file_model.h"

#define NEWEST "run/step-000000000020-000002"

static int Load(Model *model, MuonFileResult *why, char text[MUON_FILE_TEXT])
{
  int skipped, step;

  Disk = model;
  step = RunLoad("run", &skipped, why, text);
  if (step == 20) *why = MUON_FILE_OK;
  Check(ModelOpenHandles(model) == 0, "a file was left open");
  return step;
}

/* The generation before is taken, for such a reason, which the message names */
static void Refused(Model *model, MuonFileResult expected, const char words[], const char what[])
{
  char           text[MUON_FILE_TEXT];
  MuonFileResult why;
  const int      step = Load(model, &why, text);

  Check(step == 10 && why == expected, "%s: step %d, result %d: %s", what, step, (int)why, text);
  Check(strstr(text, words) != NULL, "%s: \"%s\" does not say \"%s\"", what, text, words);
}

static void Damage(Model *model, const char path[])
{
  ModelBytes    *file   = ModelFile(model, path);
  const size_t   length = file->length;
  char           text[MUON_FILE_TEXT];
  MuonFileResult why;

  for (size_t bit = 0; bit < 8 * length; bit++) {
    file->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    Check(Load(model, &why, text) == 10 && why == MUON_FILE_CORRUPT, "%s, bit %zu: %d, %s", path, bit, (int)why, text);
    Check(strncmp(text, path, strlen(path)) == 0, "%s, bit %zu: %s", path, bit, text);
    file->bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  for (file->length = 0; file->length < length; file->length++) Check(Load(model, &why, text) == 10 && (why == MUON_FILE_CORRUPT || why == MUON_FILE_OTHER), "%s, %zu bytes: %d, %s", path, file->length, (int)why, text);
  file->length = length;
  ModelBytesPut(file, length, (const unsigned char *)"", 1);
  Check(Load(model, &why, text) == 10, "%s, a byte more: %s", path, text);
  file->length = length;
  Check(Load(model, &why, text) == 20, "%s, as it was: %s", path, text);
}

/*
   The checksums of header, data and index of a file, and of its manifest if it is not that, agree again.
   records is how many it has
*/
static void Rectify(Model *model, const char path[])
{
  ModelBytes    *file    = ModelFile(model, path);
  unsigned char *trailer = file->bytes + file->length - MUON_FILE_TRAILER;
  const uint64_t bytes   = MuonWireLoad64(trailer);

  MuonWireStore32(file->bytes + 60, MuonWireCRC32C(0, file->bytes, 60));
  if (bytes <= file->length - MUON_FILE_HEADER - MUON_FILE_TRAILER) MuonWireStore32(trailer + 16, MuonWireCRC32C(MuonWireCRC32C(MuonWireCRC32C(0, file->bytes, MUON_FILE_HEADER), trailer - bytes, (size_t)bytes), trailer, 16));
}

/* The manifest says what the files are now, with checksums that agree */
static void RectifyManifest(Model *model, uint32_t ranks)
{
  ModelBytes    *file  = ModelFile(model, NEWEST "/manifest");
  unsigned char *index = file->bytes + MUON_FILE_HEADER + MUON_FILE_ALIGN * ((MUON_FILE_SEAL * ranks + MUON_FILE_ALIGN - 1) / MUON_FILE_ALIGN), *seal = file->bytes + MUON_FILE_HEADER;

  for (uint32_t rank = 0; rank < ranks; rank++) {
    char              path[64];
    const ModelBytes *one;

    (void)snprintf(path, sizeof(path), NEWEST "/rank-%06u", rank);
    one = ModelFile(model, path);
    MuonWireStore64(seal + MUON_FILE_SEAL * rank, one->length);
    MuonWireStore32(seal + MUON_FILE_SEAL * rank + 8, MuonWireLoad32(one->bytes + one->length - 4));
  }
  MuonWireStore32(index + MUON_FILE_ENTRY + 2 + strlen(MUON_FILE_SEALS), MuonWireCRC32C(0, seal, (size_t)(index - seal)));
  Rectify(model, NEWEST "/manifest");
}

/* A field of a rank's file lies, and every checksum agrees with it */
static void Lie(Model *model, size_t at, unsigned bytes, uint64_t value, MuonFileResult expected, const char words[], const char what[])
{
  ModelBytes   *file = ModelFile(model, NEWEST "/rank-000000");
  unsigned char before[8];

  memcpy(before, file->bytes + at, bytes);
  MuonWireStorePart(file->bytes + at, bytes, value);
  if (memcmp(before, file->bytes + at, bytes) != 0) {
    Rectify(model, NEWEST "/rank-000000");
    RectifyManifest(model, RUN_RANKS);
    Refused(model, expected, words, what);
  }
  memcpy(file->bytes + at, before, bytes);
  Rectify(model, NEWEST "/rank-000000");
  RectifyManifest(model, RUN_RANKS);
}

static void Lies(Model *model)
{
  const ModelBytes *file  = ModelFile(model, NEWEST "/rank-000000");
  const size_t      end   = file->length - MUON_FILE_TRAILER;
  const size_t      index = end - (size_t)MuonWireLoad64(file->bytes + end);
  size_t            entry = index;

  for (int shift = 0; shift < 64; shift++) {
    for (int around = -1; around <= 1; around++) {
      const uint64_t big = ((uint64_t)1 << shift) + (uint64_t)around, old[2] = {MuonWireLoad64(file->bytes + end), MuonWireLoad64(file->bytes + end + 8)};

      if (big != old[0]) Lie(model, end, 8, big, MUON_FILE_CORRUPT, "index", "length of the index");
      if (big != old[1]) Lie(model, end + 8, 8, big, MUON_FILE_CORRUPT, "index", "number of records");
      entry = index;
      for (int k = 0; k < RUN_RECORDS; k++) {
        const MuonFileRecord record = RunRecordOf(0, k).record;
        /* Of row, column, rows and columns; one that is smaller may fit, and is another record then */
        for (size_t field = 2; field < 6; field++) {
          if (big > 64) Lie(model, entry + 16 + 8 * field, 8, big, MUON_FILE_CORRUPT, "index", "a record's rectangle");
        }
        entry += MUON_FILE_ENTRY + strlen(record.layer) + strlen(record.state) + 2 + 4;
      }
      Check(entry == end, "the index ends at %zu, not %zu", entry, end);
    }
  }
  for (unsigned value = 0; value < 256; value++) {
    if (value > MUON_FILE_EVERYONE) Lie(model, index, 1, value, MUON_FILE_CORRUPT, "index", "holder");
    if (value > MUON_FILE_COMPLEX_DOUBLE) Lie(model, index + 1, 1, value, MUON_FILE_CORRUPT, "index", "precision");
    if (value > 1) Lie(model, index + 2, 1, value, MUON_FILE_CORRUPT, "index", "entrywise");
    if (value > 1) Lie(model, index + 3, 1, value, MUON_FILE_CORRUPT, "index", "order");
    if (value != 8) Lie(model, index + 4, 1, value, MUON_FILE_CORRUPT, "index", "length of a name");
    if (value != 8) Lie(model, index + 5, 1, value, MUON_FILE_CORRUPT, "index", "length of a name");
    if (value != 0) Lie(model, index + 6 + value % 2, 1, value, MUON_FILE_CORRUPT, "index", "reserved");
    if (value != 0) Lie(model, index + 12 + value % 4, 1, value, MUON_FILE_CORRUPT, "index", "reserved");
    if (value < ' ' || value > '~') Lie(model, index + MUON_FILE_ENTRY + value % 8, 1, value, MUON_FILE_CORRUPT, "index", "a name");
    if (value != 0) Lie(model, 48 + value % 12, 1, value, MUON_FILE_OTHER, "the file of step 20", "reserved");
  }
  /* What differs is told by name */
  Lie(model, 8, 1, 0xAB, MUON_FILE_OTHER, "another run", "run");
  Lie(model, 24, 8, 21, MUON_FILE_OTHER, "the file of step 21, generation 2, rank 0 of 2", "step");
  Lie(model, 32, 8, 3, MUON_FILE_OTHER, "step 20, generation 3, rank 0 of 2", "counter");
  Lie(model, 40, 4, 1, MUON_FILE_OTHER, "step 20, generation 2, rank 1 of 2", "rank");
  Lie(model, 44, 4, 3, MUON_FILE_OTHER, "step 20, generation 2, rank 0 of 3", "ranks");
  Lie(model, 4, 4, 2, MUON_FILE_VERSION, "version 2 of the format, this library reads versions up to 1", "version");
  Lie(model, 4, 4, 0, MUON_FILE_OTHER, "the file of step 20", "version");
}

/* What a manifest may lie about */
static void ManifestLies(Model *model)
{
  ModelBytes      *file = ModelFile(model, NEWEST "/manifest");
  const ModelBytes old  = ModelBytesOf(file->bytes, file->length);

  for (int shift = 0; shift < 32; shift++) {
    if (shift == 1) continue;
    MuonWireStore32(file->bytes + 44, (uint32_t)1 << shift);
    Rectify(model, NEWEST "/manifest");
    Refused(model, MUON_FILE_CORRUPT, "it does not name the files", "ranks of the manifest");
  }
  memcpy(file->bytes, old.bytes, old.length);
  MuonWireStore32(file->bytes + 4, 7);
  Rectify(model, NEWEST "/manifest");
  Refused(model, MUON_FILE_VERSION, "version 7 of the format", "version of the manifest");
  memcpy(file->bytes, old.bytes, old.length);
  /* The seal of another file */
  MuonWireStore32(file->bytes + MUON_FILE_HEADER + 8, 5);
  MuonWireStore32(file->bytes + MUON_FILE_HEADER + MUON_FILE_ALIGN + MUON_FILE_ENTRY + 7, MuonWireCRC32C(0, file->bytes + MUON_FILE_HEADER, MUON_FILE_ALIGN));
  Rectify(model, NEWEST "/manifest");
  Refused(model, MUON_FILE_OTHER, "not the file that the manifest means", "seal");
  memcpy(file->bytes, old.bytes, old.length);
  free(old.bytes);
}

int main(void)
{
  Model                    model, other;
  char                     text[MUON_FILE_TEXT];
  MuonFileResult           why;
  int                      committed;
  static const char *const file[] = {NEWEST "/rank-000000", NEWEST "/rank-000001", NEWEST "/manifest"};

  ModelInit(&model);
  ModelInit(&other);
  other.process = 77;
  for (int step = 10; step <= 20; step += 10) {
    Disk = &model;
    Check(RunSave("run", (uint64_t)step, 2, &committed) == MUON_FILE_OK && committed, "not saved");
    Disk = &other;
    Check(RunSave("run", (uint64_t)step, 2, &committed) == MUON_FILE_OK && committed, "not saved");
  }
  Check(Load(&model, &why, text) == 20, "%s", text);
  for (int f = 0; f < 3; f++) Damage(&model, file[f]);
  Lies(&model);
  Check(Load(&model, &why, text) == 20, "%s", text);
  ManifestLies(&model);
  Check(Load(&model, &why, text) == 20, "%s", text);

  /* Of two runs: each file is in order */
  for (int f = 0; f < 3; f++) {
    ModelBytes      *mine = ModelFile(&model, file[f]), *its = ModelFile(&other, file[f]);
    const ModelBytes swap = *mine;

    *mine = *its;
    Refused(&model, MUON_FILE_OTHER, "another run", file[f]);
    *mine = swap;
  }
  /* Of two ranks, of two generations */
  {
    ModelBytes      *a = ModelFile(&model, file[0]), *b = ModelFile(&model, file[1]), *c = ModelFile(&model, "run/step-000000000010-000001/rank-000000");
    const ModelBytes old = *a;

    *a = *b;
    Refused(&model, MUON_FILE_OTHER, "rank 1 of 2", "files of two ranks");
    *a = *c;
    Refused(&model, MUON_FILE_OTHER, "the file of step 10", "files of two generations");
    *a = old;
  }
  Check(Load(&model, &why, text) == 20, "%s", text);
  /* A rank's file is gone; then the manifest, without which there is no generation */
  ModelForget(&model, file[1]);
  Refused(&model, MUON_FILE_CORRUPT, "rank-000001", "a rank's file is gone");
  ModelForget(&model, file[2]);
  Check(RunLoad("run", &committed, &why, text) == 10 && committed == 0, "%s", text);
  ModelForget(&model, "run/step-000000000010-000001/rank-000000");
  Check(RunLoad("run", &committed, &why, text) == RUN_BROKEN && committed == 1, "%s", text);
  Check(RunLoad("elsewhere", &committed, &why, text) == RUN_NONE && why == MUON_FILE_ABSENT && strstr(text, "elsewhere") != NULL, "%s", text);
  ModelFree(&model);
  ModelFree(&other);
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

TEST*/
