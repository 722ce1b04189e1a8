/*
   Checkpoints as files: a folder of generations, one file a rank in each, and a manifest that makes a
   generation count. Whatever call a crash comes before, a folder has the generation that was there or the one
   that was being written.

   Pure C, without PETSc and without MPI. src/file/README.md is the format, exactly enough for a second
   implementation, and says what is asked of a file system. Bytes of files are not trusted: every length is
   compared with the size of the file before anything is allocated. A system is POSIX.

   A save, each line on the ranks it names, the next after all of them are done with the line before:
     rank 0    MuonFileBegin()                                             a generation of its own
     all       MuonFileWriterOpen(), MuonFileWriterAdd(), ..., MuonFileWriterClose()
     rank 0    MuonFileManifestOpen(), MuonFileWriterAdd(), ..., MuonFileWriterClose()      the commit
     rank 0    MuonFilePrune()
   Where one of them fails rank 0 calls MuonFileRemove() for the manifest, and then every rank for its own
   file. That the ranks agree is for the caller to see to.
*/
#pragma once

#include <petscmuon/private/muonexport.h>
#include <stddef.h>
#include <stdint.h>

MUON_C_BEGIN

enum {
  MUON_FILE_VERSION_NUMBER = 1,
  MUON_FILE_RUN            = 16,      /* bytes of a run's random id */
  MUON_FILE_CHUNK          = 1 << 20, /* bytes of a record that share a checksum */
  MUON_FILE_PATH           = 1024,
  MUON_FILE_TEXT           = 1536
};

/* In the place of a rank: the manifest */
#define MUON_FILE_MANIFEST UINT32_MAX

typedef enum {
  MUON_FILE_OK,
  MUON_FILE_SYSTEM,  /* a call of the system failed: no permission, no space */
  MUON_FILE_ABSENT,  /* no such file or folder */
  MUON_FILE_CORRUPT, /* bytes that no writer of this format wrote, or not all of them */
  MUON_FILE_VERSION, /* a later version of the format */
  MUON_FILE_OTHER,   /* in order, but of another run, generation or rank, or not the file that the manifest means */
  MUON_FILE_BUSY,    /* the folder is another job's */
  MUON_FILE_MEMORY,
  MUON_FILE_USAGE
} MuonFileResult;

/*
   A folder of generations. text says in words what was wrong, where a function returns other than
   MUON_FILE_OK
*/
typedef struct _MuonFileFolder {
  int                     locked; /* handle of the lock, -1 where this job has none */
  struct _MuonFileFolder *next;   /* that this process has locked */
  char                    path[MUON_FILE_PATH];
  char                    text[MUON_FILE_TEXT];
} MuonFileFolder;

/*
   counter is 1 more than the largest that was in the folder: the order in which generations were written,
   which is not that of steps where a run went back
*/
typedef struct {
  uint64_t step, counter;
} MuonFileGeneration;

typedef struct {
  unsigned char      run[MUON_FILE_RUN];
  MuonFileGeneration generation;
  uint32_t           rank, ranks;
} MuonFileIdentity;

/* How long a file is, and the checksum of all in it but its data, whose checksums are among that */
typedef struct {
  uint64_t bytes;
  uint32_t digest;
} MuonFileSeal;

typedef enum {
  MUON_FILE_WORKER,  /* different on each worker */
  MUON_FILE_SERVER,  /* at the owner of the layer */
  MUON_FILE_EVERYONE /* the same for all, and written once */
} MuonFileHolder;

typedef enum {
  MUON_FILE_BYTES,
  MUON_FILE_SINGLE,
  MUON_FILE_DOUBLE,
  MUON_FILE_COMPLEX_SINGLE, /* an entry is two numbers, real and imaginary part */
  MUON_FILE_COMPLEX_DOUBLE
} MuonFilePrecision;

/*
   A state of a layer, or a part of it: the rectangle of rows x columns entries from (row, column) on. An
   entrywise one has the shape of the layer, follows its entries when the layer is cut anew, and is read by
   the numbers of these; of any other row and column are 0, rows and columns its own shape. Entries lie by
   columns, or by rows
*/
typedef struct {
  const char       *layer, *state; /* printable ASCII, at most 255 characters; a layer may have none, "" */
  MuonFileHolder    holder;
  MuonFilePrecision precision;
  int               entrywise, rowmajor;
  uint32_t          whose; /* number of the worker, else 0 */
  uint64_t          layer_rows, layer_columns;
  uint64_t          row, column, rows, columns;
  /* set by the reader */
  uint32_t             file;      /* its rank, or MUON_FILE_MANIFEST */
  uint64_t             at, bytes; /* in the file */
  const unsigned char *checks;
} MuonFileRecord;

static inline size_t MuonFileEntryBytes(MuonFilePrecision precision)
{
  static const size_t bytes[] = {1, 4, 8, 8, 16};

  return bytes[precision];
}

/* Looks at nothing */
MUON_EXPORT MuonFileResult MuonFileFolderInit(MuonFileFolder *folder, const char path[]);
/*
   One job writes to a folder at a time. Makes the folder where it is not there, in one that is, locks it and
   draws a name for the run. The lock is the system's, which lets go of it when the process ends. A lock that
   a process of another host left behind is refused too, as locks of some file systems hold on one host alone,
   and so is a file system without locks. The folder stays where it is in memory until it is unlocked
*/
MUON_EXPORT MuonFileResult MuonFileFolderLock(MuonFileFolder *folder, unsigned char run[MUON_FILE_RUN]);
MUON_EXPORT void           MuonFileFolderUnlock(MuonFileFolder *folder);
/*
   The generations in a folder, the latest first, whether or not they have a manifest; the caller frees
   *generations
*/
MUON_EXPORT MuonFileResult MuonFileFolderList(MuonFileFolder *folder, MuonFileGeneration **generations, size_t *count);

/* Makes a generation and sets its counter in the identity */
MUON_EXPORT MuonFileResult MuonFileBegin(MuonFileFolder *folder, uint64_t step, MuonFileIdentity *id);
/* Removes a rank's file, or the manifest, and the generation if nothing else is in it */
MUON_EXPORT MuonFileResult MuonFileRemove(MuonFileFolder *folder, const MuonFileIdentity *id);
/* Removes all but the last keep generations of those with a manifest, and what has no manifest */
MUON_EXPORT MuonFileResult MuonFilePrune(MuonFileFolder *folder, size_t keep);

typedef struct {
  MuonFileFolder  *folder;
  MuonFileIdentity id;
  int              handle; /* -1: nothing was opened, or it was closed */
  MuonFileResult   result; /* where it is not OK nothing is written any more */
  unsigned char   *stage, *index;
  size_t           staged, indexed, capacity;
  uint64_t         bytes, records;
  uint64_t         chunked; /* bytes in the chunk that is being written */
  uint32_t         check;   /* of them */
} MuonFileWriter;

/*
   Close writes what is staged, and returns when the file and its name are durable; where it does not return
   OK there is no file. It frees the memory of a writer, and is called where Open or Add failed, too
*/
MUON_EXPORT MuonFileResult MuonFileWriterOpen(MuonFileFolder *folder, const MuonFileIdentity *id, MuonFileWriter *writer);
/*
   data are lines of entries, ld entries from one to the next; the columns, or where rowmajor the rows
*/
MUON_EXPORT MuonFileResult MuonFileWriterAdd(MuonFileWriter *writer, const MuonFileRecord *record, const void *data, uint64_t ld);
MUON_EXPORT MuonFileResult MuonFileWriterClose(MuonFileWriter *writer, MuonFileSeal *seal);
/*
   Looks at every rank's file, which a disk of one node does not show to rank 0, and opens the manifest; what
   is added to it is for the whole run. The generation counts when Close has returned OK
*/
MUON_EXPORT MuonFileResult MuonFileManifestOpen(MuonFileFolder *folder, const MuonFileIdentity *id, const MuonFileSeal seals[], MuonFileWriter *writer);

/* All records of a generation: those of the manifest, then those of each rank's file */
typedef struct {
  MuonFileFolder  *folder;
  MuonFileIdentity id;     /* of the run; rank is that of the file at hand */
  int              handle; /* of it, or -1 */
  uint64_t         bytes;  /* in it */
  size_t           records, files;
  MuonFileRecord  *record;
  unsigned char  **index, *stage;
  uint64_t         staged_at; /* where what is staged is in the file, 0 for nothing */
} MuonFileReader;

/*
   Opens a generation and checks all of its files but their data: ABSENT is one without a manifest. Memory of
   a reader is freed by Close, also where Open failed
*/
MUON_EXPORT MuonFileResult MuonFileReaderOpen(MuonFileFolder *folder, const MuonFileGeneration *generation, MuonFileReader *reader);
/* Compares the checksums of all data of the manifest and of files number first, first + stride ... */
MUON_EXPORT MuonFileResult MuonFileReaderVerify(MuonFileReader *reader, uint32_t first, uint32_t stride);
/*
   Reads a rectangle of a record, by the numbers that the record has, to memory with entry (i, j) of the
   rectangle at i rowstride + j columnstride entries of the record's precision. What is read is checked; where
   the result is not OK part of it may be there
*/
MUON_EXPORT MuonFileResult MuonFileReaderRead(MuonFileReader *reader, const MuonFileRecord *record, uint64_t row, uint64_t column, uint64_t rows, uint64_t columns, void *to, uint64_t rowstride, uint64_t columnstride);
MUON_EXPORT void           MuonFileReaderClose(MuonFileReader *reader);

MUON_C_END
