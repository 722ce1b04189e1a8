/*
   Calls that fail: every one of a save, with each error, alone or with all that need space after it. The save
   says so, naming the file, leaves nothing of its own, and what was there loads. Writes that take a few bytes
   only are no error. Then the lock: who is refused, and who is not.
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

/* What is in the folder beside the generation of step 10, and the lock */
static int Left(const Model *model)
{
  int left = 0;

  for (int n = 1; n < model->nodes; n++) left += model->node[n].used && strstr(model->node[n].name, "step-000000000020") != NULL;
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
  Check(committed || Left(&model) == 0, "call %ld, error %d: %d left", at, error, Left(&model));
  Check(ModelOpenHandles(&model) == 0, "call %ld, error %d: a file was left open", at, error);
  /* The run goes on */
  model.most = SIZE_MAX;
  result     = RunSave("run", 30, 1, &committed);
  Check(result == MUON_FILE_OK && committed && RunLoad("run", &skipped, &why, NULL) == 30, "call %ld, error %d: and then no save", at, error);
  Check(Left(&model) == 0, "call %ld, error %d: and then %d left", at, error, Left(&model));
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

static int Unlocks(MuonFileFolder *folder)
{
  MuonFileFolderUnlock(folder);
  return 1;
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
    if (wrong < 2) Check(MuonFileWriterAdd(&writer, &record, data, 3) == MUON_FILE_USAGE && MuonFileWriterClose(&writer, &seal) == MUON_FILE_USAGE && MuonFileRemove(&folder, &id) == MUON_FILE_OK, "%s", folder.text);
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
  printf("ok\n");
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    output_file: output/wire_ok.out

TEST*/
