/*
   The table of calls for POSIX
*/
#if !defined(_DEFAULT_SOURCE)
  #define _DEFAULT_SOURCE /* flock() */
#endif
#if !defined(_FILE_OFFSET_BITS)
  #define _FILE_OFFSET_BITS 64
#endif
#include "muonfilebits.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a call gave, or its error; it is called again where a signal came */
#define MUON_FILE_TRY(type, call) \
  do { \
    type got_; \
\
    do { \
      got_ = (call); \
    } while (got_ < 0 && errno == EINTR); \
    return got_ < 0 ? -errno : got_; \
  } while (0)

/* Handles that hold a lock */
static struct {
  int   *handle;
  size_t count;
  int    watched;
} muon_file_locks;

/*
   A lock belongs to the open file, which a forked child has too: what it keeps would be locked after the run
   is over. The child has nothing in their place, as what it inherited may use the handle
*/
static void MuonFileForked_Posix(void)
{
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

  for (size_t k = 0; k < muon_file_locks.count; k++) {
    if (nothing < 0 || dup2(nothing, muon_file_locks.handle[k]) < 0) (void)close(muon_file_locks.handle[k]);
  }
  if (nothing >= 0) (void)close(nothing);
  muon_file_locks.count = 0;
}

static int MuonFileOpen_Posix(void *ctx, const char path[], MuonFileAccess access)
{
  /* Not to wait for whoever writes to a pipe of that name: size() refuses it. No file is a link to another */
  const int flags = access == MUON_FILE_READ ? O_RDONLY | O_NONBLOCK | O_NOFOLLOW : access == MUON_FILE_CREATE ? O_WRONLY | O_CREAT | O_EXCL : access == MUON_FILE_FOLDER ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW;

  (void)ctx;
  MUON_FILE_TRY(int, open(path, flags | O_CLOEXEC, 0666));
}

static ptrdiff_t MuonFileRead_Posix(void *ctx, int handle, uint64_t at, void *to, size_t bytes)
{
  (void)ctx;
  MUON_FILE_TRY(ptrdiff_t, pread(handle, to, bytes, (off_t)at));
}

static ptrdiff_t MuonFileWrite_Posix(void *ctx, int handle, const void *from, size_t bytes)
{
  (void)ctx;
  MUON_FILE_TRY(ptrdiff_t, write(handle, from, bytes));
}

static int MuonFileSize_Posix(void *ctx, int handle, uint64_t *bytes)
{
  struct stat info;

  (void)ctx;
  if (fstat(handle, &info) < 0) return -errno;
  if (!S_ISREG(info.st_mode)) return -EINVAL;
  *bytes = (uint64_t)info.st_size;
  return 0;
}

static int MuonFileEmpty_Posix(void *ctx, int handle)
{
  (void)ctx;
  if (lseek(handle, 0, SEEK_SET) < 0) return -errno;
  MUON_FILE_TRY(int, ftruncate(handle, 0));
}

static int MuonFileSync_Posix(void *ctx, int handle)
{
  (void)ctx;
  MUON_FILE_TRY(int, fsync(handle));
}

/* A lock of the open file, not of the process: two optimizers of one program cannot have the same */
static int MuonFileLock_Posix(void *ctx, int handle)
{
  int *more;

  (void)ctx;
  if (!muon_file_locks.watched && pthread_atfork(NULL, NULL, MuonFileForked_Posix) != 0) return -ENOMEM;
  muon_file_locks.watched = 1;
  more                    = (int *)realloc(muon_file_locks.handle, (muon_file_locks.count + 1) * sizeof(*more));
  if (more == NULL) return -ENOMEM;
  muon_file_locks.handle = more;
  if (flock(handle, LOCK_EX | LOCK_NB) < 0) return -errno;
  muon_file_locks.handle[muon_file_locks.count++] = handle;
  return 0;
}

/* The handle is gone whatever close() says; that a signal came is no error of the file */
static int MuonFileClose_Posix(void *ctx, int handle)
{
  size_t k = 0;

  (void)ctx;
  while (k < muon_file_locks.count && muon_file_locks.handle[k] != handle) k++;
  if (k < muon_file_locks.count) {
    (void)flock(handle, LOCK_UN); /* a child that was just forked may not have let go of it yet */
    muon_file_locks.handle[k] = muon_file_locks.handle[--muon_file_locks.count];
  }
  if (muon_file_locks.count == 0) {
    free(muon_file_locks.handle);
    muon_file_locks.handle = NULL;
  }
  return close(handle) < 0 && errno != EINTR ? -errno : 0;
}

static int MuonFileRename_Posix(void *ctx, const char from[], const char to[])
{
  (void)ctx;
  return rename(from, to) < 0 ? -errno : 0;
}

static int MuonFileUnlink_Posix(void *ctx, const char path[])
{
  (void)ctx;
  return unlink(path) < 0 ? -errno : 0;
}

static int MuonFileMakeFolder_Posix(void *ctx, const char path[])
{
  (void)ctx;
  return mkdir(path, 0777) < 0 ? -errno : 0;
}

static int MuonFileRemoveFolder_Posix(void *ctx, const char path[])
{
  (void)ctx;
  return rmdir(path) < 0 ? -errno : 0;
}

static int MuonFileList_Posix(void *ctx, const char path[], int (*each)(void *to, const char name[]), void *to)
{
  DIR *const folder = opendir(path);
  int        error  = 0;

  (void)ctx;
  if (folder == NULL) return -errno;
  while (error == 0) {
    const struct dirent *entry;
    struct stat          info;

    errno = 0;
    entry = readdir(folder);
    if (entry == NULL) {
      error = -errno;
      break;
    }
    if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) error = errno == ENOENT ? 0 : -errno;
    else if (!S_ISLNK(info.st_mode) && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) error = each(to, entry->d_name);
  }
  (void)closedir(folder);
  return error;
}

static int MuonFileRandom_Posix(void *ctx, void *to, size_t bytes)
{
  const int handle = MuonFileOpen_Posix(ctx, "/dev/urandom", MUON_FILE_READ);
  ptrdiff_t got;

  if (handle < 0) return handle;
  do {
    got = read(handle, to, bytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) got = -errno;
  (void)MuonFileClose_Posix(ctx, handle);
  return got < 0 ? (int)got : (size_t)got < bytes ? -EIO : 0;
}

static int MuonFileProcess_Posix(void *ctx, char host[], size_t bytes, long *number)
{
  (void)ctx;
  if (gethostname(host, bytes) < 0) return -errno;
  host[bytes - 1] = 0;
  *number         = (long)getpid();
  return 0;
}

const MuonFileSystem *MuonFileSystemGet(void)
{
  static const MuonFileSystem posix = {NULL,
                                       MuonFileOpen_Posix,
                                       MuonFileRead_Posix,
                                       MuonFileWrite_Posix,
                                       MuonFileSize_Posix,
                                       MuonFileEmpty_Posix,
                                       MuonFileSync_Posix,
                                       MuonFileLock_Posix,
                                       MuonFileClose_Posix,
                                       MuonFileRename_Posix,
                                       MuonFileUnlink_Posix,
                                       MuonFileMakeFolder_Posix,
                                       MuonFileRemoveFolder_Posix,
                                       MuonFileList_Posix,
                                       MuonFileRandom_Posix,
                                       MuonFileProcess_Posix};

  return &posix;
}
