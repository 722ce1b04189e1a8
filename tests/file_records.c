/*
   Files of a real file system: matrices of several chunks, cut by rows over 3 ranks, in both orders and
   precisions, with gaps in memory and with pieces that are empty, read again as 1, 2, 4 and 5 ranks would cut
   them, in either order; every entry is compared. Then what only a real system has: the lock of a process
   that was killed, a pipe in the place of a file, a folder that is no folder. Its argument is the folder of a checkpoint of an earlier version.
*/
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "file_common.h"

enum {
  ROWS    = 611,
  COLUMNS = 499,
  RANKS   = 3,
  STATES  = 4
};

static double Entry(int state, uint64_t i, uint64_t j)
{
  return (double)state + 1024 * (double)i + (double)j;
}

static uint64_t CutAt(int rank, int ranks)
{
  /* Of 5 ranks the second has nothing */
  return ranks == 5 && rank == 1 ? 0 : ROWS * (uint64_t)rank / (uint64_t)ranks;
}

static MuonFileRecord RecordOf(int rank, int state)
{
  MuonFileRecord record;

  memset(&record, 0, sizeof(record));
  record.layer         = "w";
  record.state         = state == 0 ? "a" : state == 1 ? "b" : state == 2 ? "c" : "d";
  record.holder        = MUON_FILE_SERVER;
  record.precision     = state % 2 ? MUON_FILE_DOUBLE : MUON_FILE_SINGLE;
  record.rowmajor      = state / 2;
  record.entrywise     = 1;
  record.layer_rows    = ROWS;
  record.layer_columns = COLUMNS;
  record.row           = CutAt(rank, RANKS);
  record.rows          = CutAt(rank + 1, RANKS) - record.row;
  record.columns       = COLUMNS;
  return record;
}

static void Write(MuonFileFolder *folder, MuonFileIdentity *id, MuonFileSeal seal[RANKS])
{
  double *data = (double *)malloc(sizeof(double) * (ROWS + 3) * (COLUMNS + 3));

  Check(data != NULL, "no memory");
  for (id->rank = 0; id->rank < RANKS; id->rank++) {
    MuonFileWriter writer;

    Check(MuonFileWriterOpen(folder, id, &writer) == MUON_FILE_OK, "%s", folder->text);
    for (int state = 0; state < STATES; state++) {
      MuonFileRecord record = RecordOf((int)id->rank, state);
      const uint64_t gap = id->rank == 1 ? 0 : 3, ld = (record.rowmajor ? record.columns : record.rows) + gap;

      for (uint64_t i = 0; i < record.rows; i++) {
        for (uint64_t j = 0; j < COLUMNS; j++) RunPut(&record, data, (size_t)(record.rowmajor ? i * ld + j : j * ld + i), Entry(state, record.row + i, j));
      }
      Check(MuonFileWriterAdd(&writer, &record, data, ld) == MUON_FILE_OK, "%s", folder->text);
      record.rows = 0;
      Check(MuonFileWriterAdd(&writer, &record, NULL, 0) == MUON_FILE_OK, "%s", folder->text);
    }
    Check(MuonFileWriterClose(&writer, &seal[id->rank]) == MUON_FILE_OK, "%s", folder->text);
    Check(seal[id->rank].bytes > 6 * ((uint64_t)1 << 18), "no file of several chunks");
  }
  free(data);
}

/* Rank rank of so many takes its rows out of all files */
static void Recut(MuonFileReader *reader, int rank, int ranks)
{
  const uint64_t first = CutAt(rank, ranks), rows = CutAt(rank + 1, ranks) - first;
  double        *data = (double *)malloc(sizeof(double) * ROWS * COLUMNS);

  Check(data != NULL, "no memory");
  for (int state = 0; state < STATES; state++) {
    for (int order = 0; order < 2; order++) {
      const uint64_t rowstride = order ? COLUMNS : 1, columnstride = order ? 1 : rows;
      MuonFileRecord record  = RecordOf(0, state);
      uint64_t       entries = 0;

      memset(data, 0, sizeof(double) * ROWS * COLUMNS);
      for (size_t k = 0; k < reader->records; k++) {
        const MuonFileRecord *r    = &reader->record[k];
        const uint64_t        from = first > r->row ? first : r->row, to = first + rows < r->row + r->rows ? first + rows : r->row + r->rows;

        if (strcmp(r->state, record.state) != 0 || from >= to) continue;
        entries += (to - from) * r->columns;
        Check(MuonFileReaderRead(reader, r, from, 0, to - from, r->columns, (unsigned char *)data + (from - first) * rowstride * MuonFileEntryBytes(r->precision), rowstride, columnstride) == MUON_FILE_OK, "%s", reader->folder->text);
      }
      Check(entries == rows * COLUMNS, "%d entries", (int)entries);
      for (uint64_t i = 0; i < rows; i++) {
        for (uint64_t j = 0; j < COLUMNS; j++) Check(RunGet(&record, data, (size_t)(i * rowstride + j * columnstride)) == Entry(state, first + i, j), "state %d, entry (%d, %d) of rank %d of %d", state, (int)i, (int)j, rank, ranks);
      }
    }
  }
  free(data);
}

/* A process holds the lock and is killed, while a child that it forked lives on */
static void Killed(MuonFileFolder *folder, unsigned char run[MUON_FILE_RUN])
{
  int   ready[2];
  pid_t child, own = 0;

  Check(pipe(ready) == 0, "no pipe");
  child = fork();
  Check(child >= 0, "no process");
  if (child == 0) {
    if (MuonFileFolderLock(folder, run) != MUON_FILE_OK) _exit(1);
    if (fork() == 0) { /* it says so when it has let go of the lock */
      own = getpid();
      if (write(ready[1], &own, sizeof(own)) != (ssize_t)sizeof(own)) _exit(1);
    }
    for (;;) (void)pause();
  }
  Check(read(ready[0], &own, sizeof(own)) == (ssize_t)sizeof(own) && own > 0, "the child has no lock");
  Check(MuonFileFolderLock(folder, run) == MUON_FILE_BUSY && strstr(folder->text, "in use by another job") != NULL, "%s", folder->text);
  Check(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child, "the child lives");
  Check(MuonFileFolderLock(folder, run) == MUON_FILE_OK, "%s", folder->text);
  Check(Unlocks(folder), "%s", folder->text);
  Check(kill(own, SIGKILL) == 0, "the child of the child is gone");
  (void)close(ready[0]);
  (void)close(ready[1]);
}

/* A child that the holder of a lock forked does not keep it, nor does it touch the lock of its parent */
static void Forked(MuonFileFolder *folder, unsigned char run[MUON_FILE_RUN])
{
  MuonFileFolder other;
  pid_t          child[2];

  Check(MuonFileFolderInit(&other, folder->path) == MUON_FILE_OK && MuonFileFolderLock(folder, run) == MUON_FILE_OK, "%s", folder->text);
  for (int k = 0; k < 2; k++) {
    child[k] = fork();
    Check(child[k] >= 0, "no process");
    if (child[k] == 0 && k == 0) {
      (void)MuonFileFolderUnlock(folder);
      _exit(MuonFileFolderLock(&other, run) == MUON_FILE_BUSY && strstr(other.text, "in use by another job (host ") != NULL ? 0 : 1);
    }
    while (child[k] == 0) (void)pause();
    if (k == 0) {
      int status;

      Check(waitpid(child[0], &status, 0) == child[0] && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child of a job that has the lock took it, or made it empty");
    }
  }
  Check(Unlocks(folder) && MuonFileFolderLock(&other, run) == MUON_FILE_OK && Unlocks(&other), "%s", other.text);
  Check(kill(child[1], SIGKILL) == 0 && waitpid(child[1], NULL, 0) == child[1], "the child lives");
}

/* Symbolic links in the folder are not followed: neither the lock, nor a generation, nor a file of one */
static void Links(void)
{
  MuonFileFolder      folder;
  MuonFileIdentity    id;
  MuonFileReader      reader;
  MuonFileGeneration *generation;
  size_t              count;
  int                 committed;
  FILE               *file = fopen("precious", "w");

  memset(&id, 0, sizeof(id));
  Check(file != NULL && fputs("precious", file) >= 0 && fclose(file) == 0 && mkdir("links", 0777) == 0 && mkdir("elsewhere", 0777) == 0 && symlink("../precious", "links/lock") == 0, "no files");
  Check(MuonFileFolderInit(&folder, "links") == MUON_FILE_OK, "%s", folder.text);
  Check(MuonFileFolderLock(&folder, id.run) == MUON_FILE_SYSTEM && strstr(folder.text, "links/lock") != NULL, "%s", folder.text);
  Check(unlink("links/lock") == 0 && symlink("../elsewhere", "links/step-000000000001-000001") == 0 && symlink("../checkpoints", "links/step-000000000002-000005") == 0, "no links");
  Check(MuonFileFolderList(&folder, &generation, &count) == MUON_FILE_OK && count == 0, "a link is a generation");
  free(generation);
  Check(RunSave("links", 1, 1, &committed) == MUON_FILE_OK && committed, "not saved");
  Check(access("elsewhere/manifest", F_OK) != 0 && access("links/step-000000000001-000002/manifest", F_OK) == 0 && access("links/step-000000000001-000001", F_OK) == 0, "a link was followed, or removed");
  Check(rename("links/step-000000000001-000002/rank-000000", "elsewhere/rank-000000") == 0 && symlink("../../elsewhere/rank-000000", "links/step-000000000001-000002/rank-000000") == 0, "no link");
  id.generation.step    = 1;
  id.generation.counter = 2;
  Check(MuonFileReaderOpen(&folder, &id.generation, &reader) == MUON_FILE_SYSTEM && strstr(folder.text, "rank-000000: cannot open it") != NULL, "%s", folder.text);
  MuonFileReaderClose(&reader);
}

static size_t BytesOf(const char folder[], const char name[], unsigned char bytes[1 << 16])
{
  char   path[2048];
  FILE  *file;
  size_t length;

  (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
  file = fopen(path, "rb");
  Check(file != NULL, "%s", path);
  length = fread(bytes, 1, 1 << 16, file);
  (void)fclose(file);
  return length;
}

/*
   A checkpoint of each version of the format is kept under tests/checkpoints and loads for ever. The files
   that this library writes for the same run are those of its own version, byte by byte
*/
static void Version(const char kept_in[])
{
  static const char *const name[] = {"step-000000000120-000001/rank-000000", "step-000000000120-000001/rank-000001", "step-000000000120-000001/manifest"};
  unsigned char            run[MUON_FILE_RUN], own[MUON_FILE_RUN];
  MuonFileFolder           folder;
  MuonFileResult           why;
  int                      committed, skipped;
  char                     text[MUON_FILE_TEXT] = "";

  for (int i = 0; i < MUON_FILE_RUN; i++) run[i] = (unsigned char)(17 * i);
  Check(MuonFileFolderInit(&folder, "version") == MUON_FILE_OK && MuonFileFolderLock(&folder, own) == MUON_FILE_OK && RunSaveLocked(&folder, run, 120, 1, &committed) == MUON_FILE_OK, "%s", folder.text);
  for (int f = 0; f < 3; f++) {
    static unsigned char kept[1 << 16], now[1 << 16];
    const size_t         length = BytesOf(kept_in, name[f], kept);

    Check(BytesOf("version", name[f], now) == length && memcmp(kept, now, length) == 0, "%s: the writer of version %d writes something else", name[f], MUON_FILE_VERSION_NUMBER);
  }
  Check(RunLoad(kept_in, &skipped, &why, text) == 120 && skipped == 0, "%s", text);
  MuonFileFolderUnlock(&folder);
}

int main(int argc, char **argv)
{
  MuonFileFolder      folder, other;
  MuonFileIdentity    id;
  MuonFileSeal        seal[RANKS];
  MuonFileWriter      manifest;
  MuonFileReader      reader;
  MuonFileGeneration *generation;
  size_t              count;
  unsigned char       again[MUON_FILE_RUN];

  memset(&id, 0, sizeof(id));
  id.ranks = RANKS;
  Check(MuonFileFolderInit(&folder, "checkpoints/") == MUON_FILE_OK && MuonFileFolderList(&folder, &generation, &count) == MUON_FILE_ABSENT, "%s", folder.text);
  Check(mkdir("checkpoints", 0777) == 0, "no folder");
  Killed(&folder, again);
  Forked(&folder, again);
  Check(MuonFileFolderLock(&folder, id.run) == MUON_FILE_OK && memcmp(id.run, again, MUON_FILE_RUN) != 0, "two runs have one name: %s", folder.text);
  Check(MuonFileFolderInit(&other, "./checkpoints") == MUON_FILE_OK && MuonFileFolderLock(&other, again) == MUON_FILE_BUSY, "%s", other.text);
  Check(MuonFileBegin(&folder, 7, &id) == MUON_FILE_OK, "%s", folder.text);
  Write(&folder, &id, seal);
  Check(MuonFileManifestOpen(&folder, &id, seal, &manifest) == MUON_FILE_OK && MuonFileWriterClose(&manifest, NULL) == MUON_FILE_OK, "%s", folder.text);
  Check(MuonFileFolderList(&folder, &generation, &count) == MUON_FILE_OK && count == 1 && generation[0].step == 7 && generation[0].counter == 1, "%s", folder.text);
  Check(MuonFileReaderOpen(&folder, generation, &reader) == MUON_FILE_OK && reader.id.ranks == RANKS && memcmp(reader.id.run, id.run, MUON_FILE_RUN) == 0, "%s", folder.text);
  free(generation);
  for (int rank = 0; rank < RANKS; rank++) Check(MuonFileReaderVerify(&reader, (uint32_t)rank, RANKS) == MUON_FILE_OK, "%s", folder.text);
  for (int ranks = 1; ranks <= 5; ranks++) {
    for (int rank = 0; rank < ranks; rank++) Recut(&reader, rank, ranks);
  }
  MuonFileReaderClose(&reader);

  /* A pipe would wait for who writes to it */
  Check(unlink("checkpoints/step-000000000007-000001/rank-000001") == 0 && mkfifo("checkpoints/step-000000000007-000001/rank-000001", 0600) == 0, "no pipe");
  Check(MuonFileReaderOpen(&folder, &id.generation, &reader) == MUON_FILE_SYSTEM, "%s", folder.text);
  MuonFileReaderClose(&reader);
  Check(MuonFileManifestOpen(&folder, &id, seal, &manifest) == MUON_FILE_OTHER && MuonFileWriterClose(&manifest, NULL) == MUON_FILE_OTHER, "%s", folder.text);
  /* A save that did not end goes, an empty one with its first file */
  Check(MuonFileBegin(&folder, 8, &id) == MUON_FILE_OK && MuonFilePrune(&folder, 1) == MUON_FILE_OK && access("checkpoints/step-000000000007-000001", F_OK) == 0 && access("checkpoints/step-000000000008-000002", F_OK) != 0, "%s", folder.text);
  id.rank = 1;
  Check(MuonFileBegin(&folder, 8, &id) == MUON_FILE_OK && MuonFileRemove(&folder, &id) == MUON_FILE_OK && access("checkpoints/step-000000000008-000002", F_OK) != 0, "an empty generation was not removed");
  Check(Unlocks(&folder) && MuonFileFolderInit(&folder, "checkpoints/lock") == MUON_FILE_OK && MuonFileFolderLock(&folder, id.run) == MUON_FILE_SYSTEM, "%s", folder.text);
  Check(MuonFileFolderInit(&folder, "a/b/c") == MUON_FILE_OK && MuonFileFolderLock(&folder, id.run) == MUON_FILE_ABSENT && strstr(folder.text, "a/b/c") != NULL, "%s", folder.text);
  Links();
  Check(argc == 2, "one argument is expected, a folder");
  Version(argv[1]);
  return 0;
}

/*TEST

  test:
    nsize: 0
    link: internal
    args: ${PETSCMUON_DIR}/tests/checkpoints/version1

TEST*/
