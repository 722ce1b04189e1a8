/*
   Folders of generations: names, the lock, what is there and what may go
*/
#include "muonfilebits.h"

#include <inttypes.h>
#include <stdarg.h>

#define MUON_FILE_LOCK_NAME  "lock"
#define MUON_FILE_GENERATION "step-%012" PRIu64 "-%06" PRIu64
#define MUON_FILE_COUNTER    UINT64_C(999999999999999999) /* at most */

MuonFileResult MuonFileFail(MuonFileFolder *folder, MuonFileResult result, const char format[], ...)
{
  va_list arguments;

  va_start(arguments, format);
  (void)vsnprintf(folder->text, sizeof(folder->text), format, arguments);
  va_end(arguments);
  return result;
}

MuonFileResult MuonFileFailSystem(MuonFileFolder *folder, int error, const char what[], const char path[])
{
  return MuonFileFail(folder, error == -ENOENT ? MUON_FILE_ABSENT : MUON_FILE_SYSTEM, "%s: cannot %s: %s", path, what, strerror(-error));
}

void MuonFileGenerationName(const MuonFileGeneration *generation, char name[MUON_FILE_NAME])
{
  (void)snprintf(name, MUON_FILE_NAME, MUON_FILE_GENERATION, generation->step, generation->counter);
}

/* No name is longer than MUON_FILE_NAME and no folder than MUON_FILE_PATH, so that all fits */
MuonFilePathname MuonFilePathOfGeneration(const MuonFileFolder *folder, const MuonFileGeneration *generation)
{
  MuonFilePathname to;
  char             name[MUON_FILE_NAME];

  MuonFileGenerationName(generation, name);
  (void)snprintf(to.path, sizeof(to.path), "%s/%s", folder->path, name);
  return to;
}

MuonFilePathname MuonFilePathOf(const MuonFileFolder *folder, const MuonFileIdentity *id, int part)
{
  MuonFilePathname to     = MuonFilePathOfGeneration(folder, &id->generation);
  const size_t     length = strlen(to.path), capacity = sizeof(to.path) - length;

  if (id->rank == MUON_FILE_MANIFEST) (void)snprintf(to.path + length, capacity, "/manifest%s", part ? ".part" : "");
  else (void)snprintf(to.path + length, capacity, "/rank-%06" PRIu32 "%s", id->rank, part ? ".part" : "");
  return to;
}

/* A number of the digits at *name, which end where they end */
static int MuonFileDigits(const char **name, uint64_t *number)
{
  const char *const from = *name;

  for (*number = 0; **name >= '0' && **name <= '9'; (*name)++) {
    if (*name - from == 18) return 0;
    *number = 10 * *number + (uint64_t)(**name - '0');
  }
  return *name > from;
}

/* Only a name that MuonFileGenerationName() gives is one */
static int MuonFileGenerationParse(const char name[], MuonFileGeneration *generation)
{
  const char *at = name;
  char        again[MUON_FILE_NAME];

  if (strncmp(at, "step-", 5) != 0) return 0;
  at += 5;
  if (!MuonFileDigits(&at, &generation->step) || *at++ != '-' || !MuonFileDigits(&at, &generation->counter)) return 0;
  MuonFileGenerationName(generation, again);
  return strcmp(name, again) == 0;
}

MuonFileResult MuonFileFolderInit(MuonFileFolder *folder, const MuonFileSystem *system, const char path[])
{
  size_t length = strlen(path);

  memset(folder, 0, sizeof(*folder));
  folder->system = system != NULL ? system : MuonFileSystemGet();
  folder->locked = -1;
  while (length > 1 && path[length - 1] == '/') length--;
  if (length == 0 || length >= MUON_FILE_PATH) return MuonFileFail(folder, MUON_FILE_USAGE, "a folder for checkpoints has a name of 1 to %d characters, not %zu", MUON_FILE_PATH - 1, length);
  memcpy(folder->path, path, length);
  return MUON_FILE_OK;
}

MuonFileResult MuonFileSyncFolder(MuonFileFolder *folder, const char path[])
{
  const MuonFileSystem *system = folder->system;
  const int             handle = system->open(system->ctx, path, MUON_FILE_FOLDER);
  int                   error;

  if (handle < 0) return MuonFileFailSystem(folder, handle, "open the folder", path);
  error = system->sync(system->ctx, handle);
  (void)system->close(system->ctx, handle);
  if (error < 0) return MuonFileFailSystem(folder, error, "make the names in it durable", path);
  return MUON_FILE_OK;
}

MuonFileResult MuonFileFolderCreate(MuonFileFolder *folder)
{
  const int error = folder->system->makefolder(folder->system->ctx, folder->path);
  char      parent[MUON_FILE_PATH];
  char     *slash;

  if (error == -EEXIST) return MUON_FILE_OK;
  if (error < 0) return MuonFileFailSystem(folder, error, "make the folder", folder->path);
  memcpy(parent, folder->path, sizeof(parent));
  slash = strrchr(parent, '/');
  if (slash == NULL) memcpy(parent, ".", 2);
  else slash[slash == parent] = 0;
  return MuonFileSyncFolder(folder, parent);
}

MuonFileResult MuonFileRun(MuonFileFolder *folder, unsigned char run[MUON_FILE_RUN])
{
  const int error = folder->system->random(folder->system->ctx, run, MUON_FILE_RUN);

  if (error < 0) return MuonFileFail(folder, MUON_FILE_SYSTEM, "no random numbers: %s", strerror(-error));
  return MUON_FILE_OK;
}

/*
   What a lock says, its first line. Anything that is not printable becomes a question mark, for it is shown.
   Nothing where a crash left a part of it: whoever wrote that did not get to use the folder
*/
static void MuonFileLockRead(MuonFileFolder *folder, int handle, char text[MUON_FILE_TEXT / 4])
{
  const ptrdiff_t got = folder->system->read(folder->system->ctx, handle, 0, text, MUON_FILE_TEXT / 4);
  ptrdiff_t       i   = 0;

  for (; i < got && text[i] != '\n'; i++) {
    if (text[i] < ' ' || text[i] > '~') text[i] = '?';
  }
  text[i < got ? i : 0] = 0;
}

static MuonFileResult MuonFileLockTry(MuonFileFolder *folder, int handle, const char path[], const unsigned char run[MUON_FILE_RUN])
{
  const MuonFileSystem *system = folder->system;
  int                   error  = system->lock(system->ctx, handle), length, other;
  char                  found[MUON_FILE_TEXT / 4], text[MUON_FILE_TEXT / 4], host[256];
  long                  number = 0;

  MuonFileLockRead(folder, handle, found);
  if (error == -EWOULDBLOCK || error == -EAGAIN) return MuonFileFail(folder, MUON_FILE_BUSY, "%s: the folder is in use by another job (%s)", path, found);
  if (error < 0) return MuonFileFail(folder, MUON_FILE_SYSTEM, "%s: cannot lock it: %s", path, strerror(-error));
  error = system->process(system->ctx, host, sizeof(host), &number);
  if (error < 0) return MuonFileFailSystem(folder, error, "find out the name of this host for it", path);
  length = snprintf(text, sizeof(text), "host %s", host);
  /* Version 0.1 had a line for each of the three */
  other = found[0] != 0 && (strncmp(found, text, (size_t)length) != 0 || (found[length] != ',' && found[length] != 0));
  if (other) return MuonFileFail(folder, MUON_FILE_BUSY, "%s: the folder is in use by a job on another host, or was when that ended (%s)", path, found);
  length += snprintf(text + length, sizeof(text) - (size_t)length, ", process %ld, run ", number);
  for (int i = 0; i < MUON_FILE_RUN; i++) length += snprintf(text + length, sizeof(text) - (size_t)length, "%02x", run[i]);
  text[length++] = '\n';
  error          = system->empty(system->ctx, handle);
  for (int at = 0; at < length && error >= 0;) {
    const ptrdiff_t went = system->write(system->ctx, handle, text + at, (size_t)(length - at));

    if (went <= 0) error = went < 0 ? (int)went : -ENOSPC;
    else at += (int)went;
  }
  if (error >= 0) error = system->sync(system->ctx, handle);
  if (error < 0) return MuonFileFailSystem(folder, error, "write it", path);
  return MUON_FILE_OK;
}

MuonFileResult MuonFileFolderLock(MuonFileFolder *folder, const unsigned char run[MUON_FILE_RUN])
{
  const MuonFileSystem *system = folder->system;
  MuonFilePathname      to;
  MuonFileResult        result;
  int                   handle;

  (void)snprintf(to.path, sizeof(to.path), "%s/" MUON_FILE_LOCK_NAME, folder->path);
  handle = system->open(system->ctx, to.path, MUON_FILE_LOCK);
  if (handle < 0) return MuonFileFailSystem(folder, handle, "open it", to.path);
  result = MuonFileLockTry(folder, handle, to.path, run);
  if (result == MUON_FILE_OK) folder->locked = handle;
  else (void)system->close(system->ctx, handle);
  return result;
}

/*
   The file stays, empty: were it removed, who opened it before and locked it after would hold a lock that
   nobody else sees
*/
MuonFileResult MuonFileFolderUnlock(MuonFileFolder *folder)
{
  int error = 0;

  if (folder->locked >= 0) {
    error = folder->system->empty(folder->system->ctx, folder->locked);
    (void)folder->system->close(folder->system->ctx, folder->locked);
    folder->locked = -1;
  }
  if (error < 0) return MuonFileFailSystem(folder, error, "empty the lock in it", folder->path);
  return MUON_FILE_OK;
}

/* What of the names in a folder could be read as numbers */
typedef struct {
  int (*parse)(const char name[], MuonFileGeneration *number);
  MuonFileGeneration *number;
  size_t              count, capacity;
} MuonFileNames;

static int MuonFileGather(void *to, const char name[])
{
  MuonFileNames     *names = (MuonFileNames *)to;
  MuonFileGeneration number;

  if (!names->parse(name, &number)) return 0;
  if (names->count == names->capacity) {
    const size_t        capacity = 2 * names->capacity + 16;
    MuonFileGeneration *more     = (MuonFileGeneration *)realloc(names->number, capacity * sizeof(*more));

    if (more == NULL) return -ENOMEM;
    names->number   = more;
    names->capacity = capacity;
  }
  names->number[names->count++] = number;
  return 0;
}

static MuonFileResult MuonFileNamesIn(MuonFileFolder *folder, const char path[], MuonFileNames *names)
{
  const int error = folder->system->list(folder->system->ctx, path, MuonFileGather, names);

  return error < 0 ? MuonFileFailSystem(folder, error, "list the folder", path) : MUON_FILE_OK;
}

static int MuonFileLater(const void *a, const void *b)
{
  const MuonFileGeneration *x = (const MuonFileGeneration *)a, *y = (const MuonFileGeneration *)b;

  if (x->counter != y->counter) return x->counter > y->counter ? -1 : 1;
  return x->step > y->step ? -1 : x->step < y->step;
}

MuonFileResult MuonFileFolderList(MuonFileFolder *folder, MuonFileGeneration **generations, size_t *count)
{
  MuonFileNames        names  = {MuonFileGenerationParse, NULL, 0, 0};
  const MuonFileResult result = MuonFileNamesIn(folder, folder->path, &names);

  if (result != MUON_FILE_OK) names.count = 0;
  if (names.count > 0) qsort(names.number, names.count, sizeof(*names.number), MuonFileLater);
  *generations = names.number;
  *count       = names.count;
  return result;
}

/* What the manifest of a generation is: ABSENT for none */
static MuonFileResult MuonFileManifestTry(MuonFileFolder *folder, const MuonFileGeneration *generation)
{
  MuonFileReader       reader;
  MuonFileSeal        *seals;
  const MuonFileResult result = MuonFileManifestRead(folder, generation, &reader, &seals);

  MuonFileReaderClose(&reader);
  free(seals);
  return result;
}

MuonFileResult MuonFileBegin(MuonFileFolder *folder, uint64_t step, MuonFileIdentity *id)
{
  MuonFileGeneration *found;
  size_t              count, last = 0;
  int                 error;
  MuonFileResult      result = MuonFileFolderList(folder, &found, &count);

  id->generation.step    = step;
  id->generation.counter = 0;
  /* A folder without a manifest is nothing that another must be later than; a damaged one is */
  while (last < count && result == MUON_FILE_OK) {
    const MuonFileResult manifest = MuonFileManifestTry(folder, &found[last]);

    if (manifest == MUON_FILE_MEMORY) result = manifest;
    if (manifest != MUON_FILE_ABSENT) break;
    last++;
  }
  if (last < count) id->generation.counter = found[last].counter;
  free(found);
  if (result != MUON_FILE_OK) return result;
  do {
    if (step > MUON_FILE_COUNTER || id->generation.counter >= MUON_FILE_COUNTER) return MuonFileFail(folder, MUON_FILE_USAGE, "%s: no number is left for another generation", folder->path);
    id->generation.counter++;
    error = folder->system->makefolder(folder->system->ctx, MuonFilePathOfGeneration(folder, &id->generation).path);
  } while (error == -EEXIST);
  if (error < 0) return MuonFileFailSystem(folder, error, "make the folder", MuonFilePathOfGeneration(folder, &id->generation).path);
  result = MuonFileSyncFolder(folder, folder->path);
  if (result != MUON_FILE_OK) (void)folder->system->removefolder(folder->system->ctx, MuonFilePathOfGeneration(folder, &id->generation).path);
  return result;
}

MuonFileResult MuonFileRemove(MuonFileFolder *folder, const MuonFileIdentity *id)
{
  const MuonFileSystem *system = folder->system;

  for (int part = 0; part < 2; part++) {
    const MuonFilePathname to    = MuonFilePathOf(folder, id, part);
    const int              error = system->unlink(system->ctx, to.path);

    if (error < 0 && error != -ENOENT) return MuonFileFailSystem(folder, error, "remove it", to.path);
  }
  /* Not empty, as long as others have files here */
  (void)system->removefolder(system->ctx, MuonFilePathOfGeneration(folder, &id->generation).path);
  return MUON_FILE_OK;
}

/* The name of a rank's file, whole or not */
static int MuonFileRankParse(const char name[], MuonFileGeneration *number)
{
  const char *at = name + 5;

  return strncmp(name, "rank-", 5) == 0 && MuonFileDigits(&at, &number->step) && number->step < MUON_FILE_MANIFEST && (*at == 0 || strcmp(at, ".part") == 0);
}

/*
   The manifest goes first: what is left of a generation without one is no checkpoint. Names are gathered
   before any is removed, for a list of a folder that changes meanwhile may leave some out
*/
static MuonFileResult MuonFileRemoveGeneration(MuonFileFolder *folder, const MuonFileGeneration *generation)
{
  MuonFileNames    names = {MuonFileRankParse, NULL, 0, 0};
  MuonFileIdentity id;
  MuonFileResult   result;

  memset(&id, 0, sizeof(id));
  id.generation = *generation;
  id.rank       = MUON_FILE_MANIFEST;
  result        = MuonFileRemove(folder, &id);
  if (result == MUON_FILE_OK) {
    result = MuonFileNamesIn(folder, MuonFilePathOfGeneration(folder, generation).path, &names);
    if (result == MUON_FILE_ABSENT) result = MUON_FILE_OK;
  }
  for (size_t i = 0; i < names.count && result == MUON_FILE_OK; i++) {
    id.rank = (uint32_t)names.number[i].step;
    result  = MuonFileRemove(folder, &id);
  }
  free(names.number);
  return result;
}

MuonFileResult MuonFilePrune(MuonFileFolder *folder, const MuonFileIdentity *id, size_t keep)
{
  MuonFileGeneration *found;
  size_t              count, kept = 1;
  MuonFileResult      result = MuonFileFolderList(folder, &found, &count);
  int                 gone   = 0;

  for (size_t i = 0; i < count && result == MUON_FILE_OK; i++) {
    const int      earlier = found[i].counter < id->generation.counter;
    MuonFileResult manifest;

    if (found[i].counter == id->generation.counter && found[i].step == id->generation.step) continue;
    manifest = earlier && kept >= keep ? MUON_FILE_ABSENT : MuonFileManifestTry(folder, &found[i]);
    if (manifest == MUON_FILE_OK && earlier) kept++;
    else if (manifest == MUON_FILE_ABSENT) {
      result = MuonFileRemoveGeneration(folder, &found[i]);
      gone   = 1;
    }
  }
  free(found);
  if (gone && result == MUON_FILE_OK) result = MuonFileSyncFolder(folder, folder->path);
  return result;
}
