/*
   Declarations for the files of this component. Integers are little-endian, as in messages.
*/
#pragma once

#if !defined(_DEFAULT_SOURCE)
  #define _DEFAULT_SOURCE /* flock(), getentropy() */
#endif
#if !defined(_FILE_OFFSET_BITS)
  #define _FILE_OFFSET_BITS 64
#endif
#include <petscmuon/private/muonfile.h>
#include "../wire/muonwirebits.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  MUON_FILE_HEADER  = 64,
  MUON_FILE_TRAILER = 20,
  MUON_FILE_ENTRY   = 64, /* bytes of a record in the index, without its names and checksums */
  MUON_FILE_ALIGN   = 64, /* records begin at multiples of this */
  MUON_FILE_SEAL    = 12, /* bytes of a seal in the manifest */
  MUON_FILE_NAME    = 64,
  MUON_FILE_INDEX   = 1 << 26 /* the largest index, in bytes */
};

#define MUON_FILE_MAGIC "PMCP"
#define MUON_FILE_SEALS "seals" /* name of the record in the manifest */

/* Stores the text of an error and returns result */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
MuonFileResult
MuonFileFail(MuonFileFolder *folder, MuonFileResult result, const char format[], ...);
/* The same for a system call that set errno */
MuonFileResult MuonFileFailSystem(MuonFileFolder *folder, const char what[], const char path[]);

/*
   A path: the folder, the generation, and rank-000001 or manifest. An unfinished file has the ending .part
*/
typedef struct {
  char path[MUON_FILE_PATH + 3 * MUON_FILE_NAME];
} MuonFilePathname;
MuonFilePathname MuonFilePathIn(const MuonFileFolder *folder, const char name[]);
MuonFilePathname MuonFilePathOfGeneration(const MuonFileFolder *folder, const MuonFileGeneration *generation);
MuonFilePathname MuonFilePathOf(const MuonFileFolder *folder, const MuonFileIdentity *id, int part);

/* Makes the names in a folder durable */
MuonFileResult MuonFileSyncFolder(MuonFileFolder *folder, const char path[]);
/* Writes the header of a file */
void MuonFileHeaderWrite(const MuonFileIdentity *id, unsigned char header[MUON_FILE_HEADER]);

/* Under the fuzzer all checksums are right */
static inline int MuonFileChecks(uint32_t check, const unsigned char stored[4])
{
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  return 1;
#else
  return check == MuonWireLoad32(stored);
#endif
}

static inline uint64_t MuonFileAligned(uint64_t bytes)
{
  return (bytes + MUON_FILE_ALIGN - 1) / MUON_FILE_ALIGN * MUON_FILE_ALIGN;
}

static inline uint64_t MuonFileChunks(uint64_t bytes)
{
  return bytes / MUON_FILE_CHUNK + (bytes % MUON_FILE_CHUNK != 0);
}

/*
   Copies count entries of the given bytes between memory and a file. Their bytes have the same order if the machine is
   little-endian. Distances are in bytes
*/
static inline void MuonFileCopyEntries(unsigned char *to, uint64_t to_next, const unsigned char *from, uint64_t from_next, uint64_t count, size_t bytes)
{
  if (to_next == bytes && from_next == bytes && (bytes == 1 || MuonWireIsLittleEndian())) {
    if (count > 0) memcpy(to, from, (size_t)(count * bytes));
    return;
  }
  for (uint64_t i = 0; i < count; i++, to += to_next, from += from_next) {
    if (MuonWireIsLittleEndian()) memcpy(to, from, bytes);
    else {
      for (size_t b = 0; b < bytes; b++) to[b] = from[bytes - 1 - b];
    }
  }
}
