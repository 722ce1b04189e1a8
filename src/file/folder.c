/*
   A folder of generations: its lock, the list of generations, and their removal
*/
#include "muonfilebits.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/file.h>
#if defined(__APPLE__)
  #include <sys/random.h> /* getentropy() */
#endif

#define MUON_FILE_GENERATION "step-%012" PRIu64 "-%06" PRIu64
#define MUON_FILE_COUNTER    UINT64_C(999999999999999999) /* the largest number */

MuonFileResult MuonFileFail(MuonFileFolder *folder, MuonFileResult result, const char format[], ...)
{
  va_list arguments;

  va_start(arguments, format);
  (void)vsnprintf(folder->text, sizeof(folder->text), format, arguments);
  va_end(arguments);
  return result;
}

MuonFileResult MuonFileFailSystem(MuonFileFolder *folder, const char what[], const char path[])
{
  return MuonFileFail(folder, errno == ENOENT ? MUON_FILE_ABSENT : MUON_FILE_SYSTEM, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* The path fits: names have at most MUON_FILE_NAME characters, folders at most MUON_FILE_PATH */
MuonFilePathname MuonFilePathIn(const MuonFileFolder *folder, const char name[])
{
  MuonFilePathname to;

  (void)snprintf(to.path, sizeof(to.path), "%s/%.*s", folder->path, 3 * MUON_FILE_NAME - 2, name);
  return to;
}

MuonFilePathname MuonFilePathOfGeneration(const MuonFileFolder *folder, const MuonFileGeneration *generation)
{
  char name[MUON_FILE_NAME];

  (void)snprintf(name, sizeof(name), MUON_FILE_GENERATION, generation->step, generation->counter);
  return MuonFilePathIn(folder, name);
}

MuonFilePathname MuonFilePathOf(const MuonFileFolder *folder, const MuonFileIdentity *id, int part)
{
  MuonFilePathname to     = MuonFilePathOfGeneration(folder, &id->generation);
  const size_t     length = strlen(to.path), capacity = sizeof(to.path) - length;

  if (id->rank == MUON_FILE_MANIFEST) (void)snprintf(to.path + length, capacity, "/manifest%s", part ? ".part" : "");
  else (void)snprintf(to.path + length, capacity, "/rank-%06" PRIu32 "%s", id->rank, part ? ".part" : "");
  return to;
}

MuonFileResult MuonFileFolderInit(MuonFileFolder *folder, const char path[])
{
  size_t length = strlen(path);

  memset(folder, 0, sizeof(*folder));
  folder->locked = -1;
  while (length > 1 && path[length - 1] == '/') length--;
  if (length == 0 || length >= MUON_FILE_PATH) return MuonFileFail(folder, MUON_FILE_USAGE, "a folder for checkpoints has a name of 1 to %d characters, not %zu", MUON_FILE_PATH - 1, length);
  memcpy(folder->path, path, length);
  return MUON_FILE_OK;
}

MuonFileResult MuonFileSyncFolder(MuonFileFolder *folder, const char path[])
{
  const int      handle = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  MuonFileResult result = MUON_FILE_OK;

  if (handle < 0 || fsync(handle) < 0) result = MuonFileFailSystem(folder, "make the names in it durable", path);
  if (handle >= 0) (void)close(handle);
  return result;
}

static MuonFileResult MuonFileFolderCreate(MuonFileFolder *folder)
{
  char  parent[MUON_FILE_PATH];
  char *slash;

  if (mkdir(folder->path, 0777) < 0) return errno == EEXIST ? MUON_FILE_OK : MuonFileFailSystem(folder, "make the folder", folder->path);
  memcpy(parent, folder->path, sizeof(parent));
  slash = strrchr(parent, '/');
  if (slash == NULL) memcpy(parent, ".", 2);
  else slash[slash == parent] = 0;
  return MuonFileSyncFolder(folder, parent);
}

/* Folders that this process has locked */
static MuonFileFolder *muon_file_locked;

/*
   A lock belongs to the open file, and a forked child inherits it. Without this function a folder could stay locked after
   the end of the run
*/
static void MuonFileForked(void)
{
  for (; muon_file_locked != NULL; muon_file_locked = muon_file_locked->next) {
    (void)close(muon_file_locked->locked);
    muon_file_locked->locked = -1;
  }
}

/*
   Takes the lock, and writes its holder to the file. The file already has text if the lock is held, or if its holder ended without
   removing the text. Errors show the first line. An incomplete line is from a job that did not use the folder
*/
static MuonFileResult MuonFileLockTry(MuonFileFolder *folder, int handle, const char path[], const unsigned char run[MUON_FILE_RUN])
{
  const int     busy                      = flock(handle, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
  char          found[MUON_FILE_TEXT / 4] = "", host[256] = "", text[MUON_FILE_TEXT / 4];
  const ssize_t got  = pread(handle, found, sizeof(found) - 1, 0);
  size_t        line = got > 0 ? strcspn(found, "\n") : 0;
  int           length;

  found[found[line] == '\n' ? line : 0] = 0;
  for (char *c = found; *c != 0; c++) *c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
  if (busy == EWOULDBLOCK) return MuonFileFail(folder, MUON_FILE_BUSY, "%s: the folder is in use by another job (%s)", path, found);
  if (busy != 0) return MuonFileFail(folder, MUON_FILE_SYSTEM, "%s: cannot lock it: %s", path, strerror(busy));
  (void)gethostname(host, sizeof(host) - 1);
  length = snprintf(text, sizeof(text), "host %s", host);
  /* Version 0.1 had separate lines for host, process and run */
  if (found[0] != 0 && (strncmp(found, text, (size_t)length) != 0 || (found[length] != ',' && found[length] != 0)))
    return MuonFileFail(folder, MUON_FILE_BUSY, "%s: the folder is in use by a job on another host, or was when that ended (%s)", path, found);
  length += snprintf(text + length, sizeof(text) - (size_t)length, ", process %ld, run ", (long)getpid());
  for (int i = 0; i < MUON_FILE_RUN; i++) length += snprintf(text + length, sizeof(text) - (size_t)length, "%02x", run[i]);
  text[length++] = '\n';
  errno          = ENOSPC; /* for a system that writes only a part */
  if (ftruncate(handle, 0) < 0 || write(handle, text, (size_t)length) != length || fsync(handle) < 0) return MuonFileFailSystem(folder, "write it", path);
  return MUON_FILE_OK;
}

MuonFileResult MuonFileFolderLock(MuonFileFolder *folder, unsigned char run[MUON_FILE_RUN])
{
  static int             watched;
  const MuonFilePathname to     = MuonFilePathIn(folder, "lock");
  MuonFileResult         result = MuonFileFolderCreate(folder);
  int                    handle;

  if (result != MUON_FILE_OK) return result;
  if (getentropy(run, MUON_FILE_RUN) < 0) return MuonFileFailSystem(folder, "draw a name for the run", folder->path);
  if (!watched && pthread_atfork(NULL, NULL, MuonFileForked) != 0) return MuonFileFail(folder, MUON_FILE_MEMORY, "no memory to lock %s", folder->path);
  watched = 1;
  /* Does not block if the name is that of a pipe */
  handle = open(to.path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (handle < 0) return MuonFileFailSystem(folder, "open it", to.path);
  result = MuonFileLockTry(folder, handle, to.path, run);
  if (result != MUON_FILE_OK) (void)close(handle);
  else {
    folder->locked   = handle;
    folder->next     = muon_file_locked;
    muon_file_locked = folder;
  }
  return result;
}

/*
   The file is emptied and not removed. After a removal, a process that had opened the file earlier could lock it, and no other
   process would see this lock
*/
void MuonFileFolderUnlock(MuonFileFolder *folder)
{
  MuonFileFolder **at = &muon_file_locked;

  if (folder->locked < 0) return;
  while (*at != folder) at = &(*at)->next;
  *at = folder->next;
  if (ftruncate(folder->locked, 0) < 0) errno = 0; /* a later job on this host takes the lock with any text */
  (void)flock(folder->locked, LOCK_UN);            /* a child that was just forked may still hold it */
  (void)close(folder->locked);
  folder->locked = -1;
}

/* A generation is a folder, not a link, with exactly the name of a generation */
static int MuonFileGenerationParse(const MuonFileFolder *folder, const char name[], MuonFileGeneration *generation)
{
  char       *end = NULL;
  struct stat info;

  if (strncmp(name, "step-", 5) != 0) return 0;
  generation->step    = strtoull(name + 5, &end, 10);
  generation->counter = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
  if (generation->step > MUON_FILE_COUNTER || generation->counter > MUON_FILE_COUNTER) return 0;
  if (strcmp(MuonFilePathIn(folder, name).path, MuonFilePathOfGeneration(folder, generation).path) != 0) return 0;
  return lstat(MuonFilePathIn(folder, name).path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int MuonFileLater(const void *a, const void *b)
{
  const MuonFileGeneration *x = (const MuonFileGeneration *)a, *y = (const MuonFileGeneration *)b;

  if (x->counter != y->counter) return x->counter > y->counter ? -1 : 1;
  return x->step > y->step ? -1 : x->step < y->step;
}

MuonFileResult MuonFileFolderList(MuonFileFolder *folder, MuonFileGeneration **generations, size_t *count)
{
  struct dirent **name;
  const int       names = scandir(folder->path, &name, NULL, NULL);

  *count       = 0;
  *generations = NULL;
  if (names < 0) return MuonFileFailSystem(folder, "list the folder", folder->path);
  *generations = (MuonFileGeneration *)malloc(((size_t)names + 1) * sizeof(**generations));
  for (int k = 0; k < names; k++) {
    if (*generations != NULL && MuonFileGenerationParse(folder, name[k]->d_name, *generations + *count)) ++*count;
    free(name[k]);
  }
  free(name);
  if (*generations == NULL) return MuonFileFail(folder, MUON_FILE_MEMORY, "no memory to list %s", folder->path);
  qsort(*generations, *count, sizeof(**generations), MuonFileLater);
  return MUON_FILE_OK;
}

MuonFileResult MuonFileBegin(MuonFileFolder *folder, uint64_t step, MuonFileIdentity *id)
{
  MuonFileGeneration *found;
  MuonFilePathname    to;
  size_t              count;
  int                 error;
  MuonFileResult      result = MuonFileFolderList(folder, &found, &count);

  id->generation.step    = step;
  id->generation.counter = count > 0 ? found[0].counter : 0;
  free(found);
  if (result != MUON_FILE_OK) return result;
  do { /* a link can have the name */
    if (step > MUON_FILE_COUNTER || id->generation.counter >= MUON_FILE_COUNTER) return MuonFileFail(folder, MUON_FILE_USAGE, "%s: no number is left for another generation", folder->path);
    id->generation.counter++;
    to    = MuonFilePathOfGeneration(folder, &id->generation);
    error = mkdir(to.path, 0777);
  } while (error < 0 && errno == EEXIST);
  if (error < 0) return MuonFileFailSystem(folder, "make the folder", to.path);
  result = MuonFileSyncFolder(folder, folder->path);
  if (result != MUON_FILE_OK) (void)remove(to.path);
  return result;
}

MuonFileResult MuonFileRemove(MuonFileFolder *folder, const MuonFileIdentity *id)
{
  for (int part = 0; part < 2; part++) {
    const MuonFilePathname to = MuonFilePathOf(folder, id, part);

    if (remove(to.path) < 0 && errno != ENOENT) return MuonFileFailSystem(folder, "remove it", to.path);
  }
  /* This fails as long as other ranks have files in the folder */
  (void)remove(MuonFilePathOfGeneration(folder, &id->generation).path);
  return MUON_FILE_OK;
}

/* The manifest is removed first: without it a generation is not a checkpoint */
static MuonFileResult MuonFileRemoveGeneration(MuonFileFolder *folder, const MuonFileGeneration *generation)
{
  MuonFileIdentity id;
  struct dirent  **name;
  MuonFileResult   result;
  int              names;

  memset(&id, 0, sizeof(id));
  id.generation = *generation;
  id.rank       = MUON_FILE_MANIFEST;
  result        = MuonFileRemove(folder, &id);
  if (result != MUON_FILE_OK) return result;
  names = scandir(MuonFilePathOfGeneration(folder, generation).path, &name, NULL, NULL);
  if (names < 0) return errno == ENOENT ? MUON_FILE_OK : MuonFileFailSystem(folder, "list the folder", MuonFilePathOfGeneration(folder, generation).path);
  for (int k = 0; k < names; k++) {
    /* Removes the two names that the files of a rank can have. Files with other names stay */
    id.rank = strncmp(name[k]->d_name, "rank-", 5) == 0 ? (uint32_t)strtoul(name[k]->d_name + 5, NULL, 10) : MUON_FILE_MANIFEST;
    if (result == MUON_FILE_OK && id.rank != MUON_FILE_MANIFEST) result = MuonFileRemove(folder, &id);
    free(name[k]);
  }
  free(name);
  return result;
}

MuonFileResult MuonFilePrune(MuonFileFolder *folder, size_t keep)
{
  MuonFileIdentity    id;
  MuonFileGeneration *found;
  struct stat         info;
  size_t              count, kept = 0, gone = 0;
  MuonFileResult      result = MuonFileFolderList(folder, &found, &count);

  id.rank = MUON_FILE_MANIFEST;
  for (size_t i = 0; i < count && result == MUON_FILE_OK; i++) {
    id.generation = found[i];
    if (kept < keep && (lstat(MuonFilePathOf(folder, &id, 0).path, &info) == 0 || errno != ENOENT)) kept++;
    else {
      result = MuonFileRemoveGeneration(folder, &found[i]);
      gone++;
    }
  }
  free(found);
  if (gone > 0 && result == MUON_FILE_OK) result = MuonFileSyncFolder(folder, folder->path);
  return result;
}
