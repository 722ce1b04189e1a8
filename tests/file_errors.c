/*
   Calls that fail: every one of a save, with each error, alone or with all that need space after it. The save
   says so, naming the file, leaves nothing of its own, and what was there loads. Writes that take a few bytes
   only are no error. Then the lock: who is refused, and who is not; what was written otherwise or damaged.
*/
#include "file_model.h"

/* A folder with a generation of step 10 */
static void Before(Model *model)
{
  int committed;

  ModelInit(model);
  Check(RunSave("run", 10, 2, &committed) == MUON_FILE_OK && committed, "the save itself failed");
  model->calls = 0;
}

#define SECOND "step-000000000020"

/* How many files and folders have such a name */
static int Left(const Model *model, const char name[])
{
  int left = 0;

  for (int n = 1; n < model->nodes; n++) left += model->node[n].used && strstr(model->node[n].name, name) != NULL;
  return left;
}

static void Fail(long at, int error, int on, size_t most, long *calls)
{
  Model          model;
  MuonFileResult result, why;
  int            committed, skipped, step;

  Before(&model);
  model.fail_at    = at;
  model.fail_error = error;
  model.fail_on    = on;
  model.most       = most;
  result           = RunSave("run", 20, 1, &committed);
  *calls           = model.calls;
  model.fail_at    = 0;
  if (at > *calls) Check(result == MUON_FILE_OK && committed, "call %ld did not fail", at);
  else Check(committed || result == MUON_FILE_SYSTEM, "call %ld, error %d: %d", at, error, (int)result);
  step = RunLoad("run", &skipped, &why, NULL);
  Check(skipped == 0 && step == (committed ? 20 : 10), "call %ld, error %d: step %d", at, error, step);
  /* All was removed, where the call that failed was not itself one that removes */
  Check(committed || Left(&model, SECOND) == 0, "call %ld, error %d: %d left", at, error, Left(&model, SECOND));
  Check(ModelOpenHandles(&model) == 0, "call %ld, error %d: a file was left open", at, error);
  /* The run goes on */
  model.most = SIZE_MAX;
  result     = RunSave("run", 30, 1, &committed);
  Check(result == MUON_FILE_OK && committed && RunLoad("run", &skipped, &why, NULL) == 30, "call %ld, error %d: and then no save", at, error);
  Check(Left(&model, SECOND) == 0, "call %ld, error %d: and then %d left", at, error, Left(&model, SECOND));
  ModelFree(&model);
}

static MuonFileResult Lock(MuonFileFolder *folder)
{
  unsigned char run[MUON_FILE_RUN];

  Check(MuonFileFolderInit(folder, "run") == MUON_FILE_OK, "%s", folder->text);
  return MuonFileFolderLock(folder, run);
}

/* The process of a lock ends without letting go */
static int End(MuonFileFolder *folder)
{
  const int error = ModelClose(folder->locked);

  folder->locked   = -1;
  muon_file_locked = NULL;
  return error;
}

/* The lock says something that no process holds */
static void Leave(Model *model, const char text[])
{
  ModelBytes *lock = ModelFile(model, "run/lock");

  lock->length = 0;
  ModelBytesPut(lock, 0, (const unsigned char *)text, strlen(text));
}

static void Locks(void)
{
  Model             model;
  MuonFileFolder    a, b;
  const ModelBytes *lock;

  Before(&model);
  lock = ModelFile(&model, "run/lock");
  Check(lock->length == 0, "a lock that was let go of says something");
  Check(Lock(&a) == MUON_FILE_OK, "%s", a.text);
  /* Held: nobody takes it, not the same process either */
  Check(Lock(&b) == MUON_FILE_BUSY && strstr(b.text, "host node1, process 1, run 0") != NULL, "%s", b.text);
  /* Let go of */
  Check(Unlocks(&a) && lock->length == 0 && Lock(&b) == MUON_FILE_OK && Unlocks(&b), "%s", b.text);
  /* Its process ended without letting go: on the same host it is taken, whatever process has that number now */
  Check(Lock(&a) == MUON_FILE_OK && End(&a) == 0 && lock->length > 0, "%s", a.text);
  model.process = 2;
  Check(Lock(&b) == MUON_FILE_OK && End(&b) == 0, "%s", b.text);
  /* From another host nobody can tell */
  for (int k = 0; k < 2; k++) {
    model.host = k == 0 ? "node10" : "node";
    Check(Lock(&b) == MUON_FILE_BUSY && strstr(b.text, "host node1, process 2") != NULL, "%s", b.text);
  }
  /* Half a line is of a job that did not begin; other bytes are shown as text; three lines are of version 0.1 */
  Leave(&model, "host no");
  Check(Lock(&b) == MUON_FILE_OK && End(&b) == 0, "%s", b.text);
  Leave(&model, "host n\033de3\n");
  Check(Lock(&b) == MUON_FILE_BUSY && strstr(b.text, "host n?de3") != NULL, "%s", b.text);
  Leave(&model, "host node3\nprocess 1\nrun 2\n");
  Check(Lock(&b) == MUON_FILE_BUSY && strstr(b.text, "(host node3)") != NULL, "%s", b.text);
  model.host = "node3";
  Check(Lock(&b) == MUON_FILE_OK && Unlocks(&b), "%s", b.text);
  model.no_locks = 1;
  Check(Lock(&b) == MUON_FILE_SYSTEM && strstr(b.text, "cannot lock it") != NULL, "%s", b.text);
  Check(ModelOpenHandles(&model) == 0, "a file was left open");
  ModelFree(&model);
}

/* What was not ours stays, and what a later library wrote */
static void Prune(void)
{
  Model          model;
  MuonFileFolder folder;
  MuonFileResult why;
  int            committed, skipped, handle;
  char           text[MUON_FILE_TEXT];

  ModelInit(&model);
  for (int step = 10; step <= 40; step += 10) Check(RunSave("run", (uint64_t)step, 9, &committed) == MUON_FILE_OK && committed, "not saved");
  handle = ModelOpen("run/step-000000000010-000001/notes", O_CREAT | O_EXCL);
  Check(ModelClose(handle) == 0 && ModelMakeFolder("run/step-1-1", 0777) == 0 && ModelMakeFolder("run/step-000000000005-000000x", 0777) == 0, "no such folder");
  Check(ModelMakeFolder("run/step-000000000007-000003", 0777) == 0, "no such folder");
  /* Keep 2: what the manifests say does not matter, for a run that cannot read them loads nothing anyway */
  ModelFile(&model, "run/step-000000000040-000004/manifest")->bytes[5]++;
  Check(RunSave("run", 15, 2, &committed) == MUON_FILE_OK && committed, "not saved");
  Check(RunLoad("run", &skipped, &why, text) == 15 && skipped == 0, "%s", text);
  Check(ModelFile(&model, "run/step-000000000040-000004/manifest")->length > 0 && ModelChild(&model, 1, "step-000000000030-000003") < 0 && ModelChild(&model, 1, "step-000000000007-000003") < 0, "too few were removed");
  Check(ModelFile(&model, "run/step-000000000010-000001/notes")->length == 0 && ModelChild(&model, 1, "step-1-1") > 0 && ModelChild(&model, 1, "step-000000000005-000000x") > 0, "a folder that is not ours was removed");
  /* Behind the last number there is none */
  Check(ModelMakeFolder("run/step-000000000007-999999999999999999", 0777) == 0 && RunSave("run", 30, 2, &committed) == MUON_FILE_USAGE, "saved behind the last number");
  ModelForget(&model, "run/step-000000000007-999999999999999999");
  /* What a rank wrote where rank 0 does not see it */
  Check(MuonFileFolderInit(&folder, "run") == MUON_FILE_OK, "%s", folder.text);
  {
    MuonFileIdentity id;
    MuonFileWriter   writer;
    MuonFileSeal     seal[2];

    memset(&id, 0, sizeof(id));
    memset(seal, 0, sizeof(seal));
    id.ranks = 2;
    Check(MuonFileBegin(&folder, 17, &id) == MUON_FILE_OK && MuonFileWriterOpen(&folder, &id, &writer) == MUON_FILE_OK && MuonFileWriterClose(&writer, &seal[0]) == MUON_FILE_OK, "%s", folder.text);
    Check(MuonFileManifestOpen(&folder, &id, seal, &writer) == MUON_FILE_OTHER && strstr(folder.text, "all nodes share") != NULL && strstr(folder.text, "rank-000001") != NULL, "%s", folder.text);
    id.ranks = 1;
    seal[0].bytes++;
    Check(MuonFileWriterClose(&writer, NULL) == MUON_FILE_OTHER && MuonFileManifestOpen(&folder, &id, seal, &writer) == MUON_FILE_OTHER && MuonFileWriterClose(&writer, NULL) == MUON_FILE_OTHER && strstr(folder.text, "rank 0 does not see") != NULL,
          "%s", folder.text);
  }
  ModelFree(&model);
}

/* What the caller did wrong */
static void Usage(void)
{
  Model            model;
  MuonFileFolder   folder;
  MuonFileIdentity id;
  MuonFileWriter   writer;
  MuonFileReader   reader;
  MuonFileRecord   record = RunRecordOf(0, 0).record;
  MuonFileSeal     seal;
  float            data[9] = {0};
  char             name[300];

  ModelInit(&model);
  memset(name, 'a', 299);
  name[299] = 0;
  memset(&id, 0, sizeof(id));
  id.ranks = 1;
  Check(MuonFileFolderInit(&folder, "") == MUON_FILE_USAGE, "%s", folder.text);
  Check(MuonFileFolderInit(&folder, "run//") == MUON_FILE_OK && strcmp(folder.path, "run") == 0, "%s", folder.path);
  Check(MuonFileFolderLock(&folder, id.run) == MUON_FILE_OK && MuonFileBegin(&folder, UINT64_MAX, &id) == MUON_FILE_USAGE, "%s", folder.text);
  MuonFileFolderUnlock(&folder);
  for (int wrong = 0; wrong < 3; wrong++) {
    id.rank = 0;
    Check(MuonFileBegin(&folder, 1, &id) == MUON_FILE_OK && MuonFileWriterOpen(&folder, &id, &writer) == MUON_FILE_OK, "%s", folder.text);
    record.layer = wrong == 0 ? name : wrong == 1 ? "a\nb" : "a";
    Check(MuonFileWriterAdd(&writer, &record, data, 3) == (wrong < 2 ? MUON_FILE_USAGE : MUON_FILE_OK), "%s", folder.text);
    /* What was wrong stays wrong: nothing of it becomes a file */
    if (wrong == 2) continue;
    Check(MuonFileWriterAdd(&writer, &record, data, 3) == MUON_FILE_USAGE && MuonFileWriterClose(&writer, &seal) == MUON_FILE_USAGE, "%s", folder.text);
    Check(Left(&model, "rank-") == 0 && MuonFileRemove(&folder, &id) == MUON_FILE_OK, "%s", folder.text);
  }
  Check(MuonFileWriterClose(&writer, &seal) == MUON_FILE_OK && MuonFileManifestOpen(&folder, &id, &seal, &writer) == MUON_FILE_OK && MuonFileWriterClose(&writer, NULL) == MUON_FILE_OK, "%s", folder.text);
  Check(MuonFileReaderOpen(&folder, &id.generation, &reader) == MUON_FILE_OK && reader.records == 2, "%s", folder.text);
  Check(MuonFileReaderRead(&reader, reader.record + 1, 0, 0, 3, 3, data, 1, 3) == MUON_FILE_OK, "%s", folder.text);
  Check(MuonFileReaderRead(&reader, reader.record + 1, 1, 0, 3, 3, data, 1, 3) == MUON_FILE_USAGE && strstr(folder.text, "no 3 x 3 entries at (1, 0)") != NULL, "%s", folder.text);
  Check(MuonFileReaderRead(&reader, reader.record + 1, 1, UINT64_MAX, 1, 2, data, 1, 3) == MUON_FILE_USAGE, "%s", folder.text);
  MuonFileReaderClose(&reader);
  Check(ModelOpenHandles(&model) == 0, "a file was left open");
  ModelFree(&model);
}

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

/* The checksums of header, data and index of a file, and of its manifest if it is not that, agree again. records is how many it has */
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

/*
   Each bit flipped, every length cut, lengths that lie behind checksums
   that agree, files of two runs, files that are gone, later versions: each loads as the generation before or
   not at all, and the reason names what is wrong
*/
static void Corrupt(void)
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
}

int main(void)
{
  static const int error[] = {ENOSPC, EIO, EACCES, EDQUOT};
  long             calls   = 0;

  for (size_t e = 0; e < sizeof(error) / sizeof(error[0]); e++) {
    for (int on = 0; on < 2; on++) {
      for (long at = 1; at <= calls + 1 || at == 1; at++) Fail(at, error[e], on, SIZE_MAX, &calls);
      Check(calls > 25, "%ld calls", calls);
    }
  }
  /* Few bytes at a time */
  for (size_t most = 20; most < 300; most += 17) Fail(INT32_MAX, EIO, 0, most, &calls);
  Locks();
  Prune();
  Usage();
  Corrupt();
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal

TEST*/
