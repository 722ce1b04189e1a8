#if !defined(_FILE_OFFSET_BITS)
  #define _FILE_OFFSET_BITS 64
#endif
#include "muoncheckpoint.h" /*I "petscmuon.h" I*/
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
   A checkpoint in the file of a binary viewer: class id, length, and then as bytes the files that it would
   have in a folder, those of the ranks one behind the other, and the manifest; the last 8 bytes of the length
   are that of the manifest, again as PETSc writes integers.

   The file is rank 0's alone. So it is a file system of its own to src/file: other ranks send rank 0 what
   they write, and ask it for what they read, 1 MiB at a time. Nothing is in memory as a whole.
*/

#define MUON_FILES_PIECE    ((size_t)1 << 20)
#define MUON_FILES_MANIFEST INT_MAX /* a handle; of any other file it is the number of its rank */

struct _n_MuonFiles {
  MPI_Comm            comm;
  PetscMPIInt         rank, size, tag;
  MuonFileSystem      system;
  MuonFileFolder      folder;
  int                 descriptor; /* of the file, at rank 0 */
  PetscBool           counts;     /* what is written is counted and goes nowhere */
  uint32_t            ranks;
  const MuonFileSeal *seals;
  uint64_t            start, manifest_at, manifest_bytes; /* where the first file is, and the manifest from there on */
};

/* The number of the file that a path ends in */
static int MuonFilesOpen_Private(void *ctx, const char path[], MuonFileAccess access)
{
  MuonFiles   files = (MuonFiles)ctx;
  const char *name  = strrchr(path, '/') + 1;
  uint32_t    rank;

  if (access != MUON_FILE_READ) return 0;
  if (strcmp(name, "manifest") == 0) return MUON_FILES_MANIFEST;
  rank = (uint32_t)strtoul(name + strlen("rank-"), NULL, 10);
  return rank < files->ranks && rank < (uint32_t)INT_MAX ? (int)rank : -ENOENT;
}

/* Where a file is, and its length */
static uint64_t MuonFilesFind_Private(MuonFiles files, int handle, uint64_t *bytes)
{
  uint64_t at = 0;

  *bytes = handle == MUON_FILES_MANIFEST ? files->manifest_bytes : files->seals[handle].bytes;
  if (handle == MUON_FILES_MANIFEST) return files->manifest_at;
  for (int r = 0; r < handle; r++) at += files->seals[r].bytes;
  return at;
}

static int MuonFilesSize_Private(void *ctx, int handle, uint64_t *bytes)
{
  (void)MuonFilesFind_Private((MuonFiles)ctx, handle, bytes);
  return 0;
}

static ptrdiff_t MuonFilesRead_Private(void *ctx, int handle, uint64_t at, void *to, size_t bytes)
{
  MuonFiles files = (MuonFiles)ctx;
  uint64_t  all, request[2];
  int64_t   got;

  request[0] = files->start + MuonFilesFind_Private(files, handle, &all) + at;
  if (at >= all) return 0;
  request[1] = PetscMin(PetscMin((uint64_t)bytes, all - at), (uint64_t)MUON_FILES_PIECE);
  if (files->rank == 0) return MuonFileSystemGet()->read(NULL, files->descriptor, request[0], to, (size_t)request[1]);
  if (MPI_Send(request, 2, MPI_UINT64_T, 0, files->tag, files->comm) != MPI_SUCCESS || MPI_Recv(&got, 1, MPI_INT64_T, 0, files->tag, files->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) return -EIO;
  if (got > 0 && MPI_Recv(to, (int)got, MPI_BYTE, 0, files->tag, files->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) return -EIO;
  return (ptrdiff_t)got;
}

static ptrdiff_t MuonFilesWrite_Private(void *ctx, int handle, const void *from, size_t bytes)
{
  MuonFiles files = (MuonFiles)ctx;
  int       part  = (int)PetscMin(bytes, MUON_FILES_PIECE);

  (void)handle;
  if (files->counts) return (ptrdiff_t)bytes;
  if (files->rank == 0) return MuonFileSystemGet()->write(NULL, files->descriptor, from, bytes);
  if (MPI_Send(&part, 1, MPI_INT, 0, files->tag, files->comm) != MPI_SUCCESS || MPI_Send(from, part, MPI_BYTE, 0, files->tag, files->comm) != MPI_SUCCESS) return -EIO;
  return (ptrdiff_t)part;
}

/* A viewer makes nothing durable, and files in it have no names */
static int MuonFilesHandle_Private(void *ctx, int handle)
{
  (void)ctx;
  (void)handle;
  return 0;
}

static int MuonFilesRename_Private(void *ctx, const char from[], const char to[])
{
  (void)ctx;
  (void)from;
  (void)to;
  return 0;
}

static int MuonFilesUnlink_Private(void *ctx, const char path[])
{
  (void)ctx;
  (void)path;
  return 0;
}

/* Rank 0 alone: bytes as they lie, for as long as nothing has failed */
static void MuonFilesPut_Private(MuonFiles files, const void *from, size_t bytes, MuonFileResult *result)
{
  const char *next = (const char *)from;

  while (bytes > 0 && *result == MUON_FILE_OK) {
    const ptrdiff_t went = MuonFileSystemGet()->write(NULL, files->descriptor, next, bytes);

    if (went <= 0) {
      *result = MUON_FILE_SYSTEM;
      (void)snprintf(files->folder.text, sizeof(files->folder.text), "%s: cannot write to it: %s", files->folder.path, strerror(went < 0 ? (int)-went : ENOSPC));
      break;
    }
    next += went;
    bytes -= (size_t)went;
  }
}

/* The same in the order of bytes that PETSc's files have */
static PetscErrorCode MuonFilesPutSwapped_Private(MuonFiles files, void *from, PetscInt count, PetscDataType type, MuonFileResult *result)
{
  size_t bytes;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeGetSize(type, &bytes));
  if (!PetscDefined(WORDS_BIGENDIAN)) PetscCall(PetscByteSwap(from, type, count));
  MuonFilesPut_Private(files, from, (size_t)count * bytes, result);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What a rank writes, up to its end, behind what is there; all of it is taken, also where it cannot be
   written any more
*/
static PetscErrorCode MuonFilesCollect_Private(MuonFiles files, PetscMPIInt rank, MuonFileResult *result)
{
  unsigned char *shard;
  int            bytes;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(MUON_FILES_PIECE, &shard));
  do {
    PetscCallMPI(MPI_Recv(&bytes, 1, MPI_INT, rank, files->tag, files->comm, MPI_STATUS_IGNORE));
    if (bytes > 0) {
      PetscCallMPI(MPI_Recv(shard, bytes, MPI_BYTE, rank, files->tag, files->comm, MPI_STATUS_IGNORE));
      MuonFilesPut_Private(files, shard, (size_t)bytes, result);
    }
  } while (bytes > 0);
  PetscCall(PetscFree(shard));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonFilesEndStream_Private(MuonFiles files)
{
  const int end = 0;

  PetscFunctionBegin;
  if (files->rank > 0) PetscCallMPI(MPI_Send((void *)&end, 1, MPI_INT, 0, files->tag, files->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFilesBegin_Private(MuonFiles files)
{
  unsigned char *shard;

  PetscFunctionBegin;
  if (files == NULL || files->rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(MUON_FILES_PIECE, &shard));
  for (PetscMPIInt left = files->size - 1; left > 0;) {
    uint64_t   request[2];
    int64_t    got;
    MPI_Status status;

    PetscCallMPI(MPI_Recv(request, 2, MPI_UINT64_T, MPI_ANY_SOURCE, files->tag, files->comm, &status));
    if (request[1] == 0) {
      left--;
      continue;
    }
    got = (int64_t)MuonFileSystemGet()->read(NULL, files->descriptor, request[0], shard, (size_t)request[1]);
    PetscCallMPI(MPI_Send(&got, 1, MPI_INT64_T, status.MPI_SOURCE, files->tag, files->comm));
    if (got > 0) PetscCallMPI(MPI_Send(shard, (PetscMPIInt)got, MPI_BYTE, status.MPI_SOURCE, files->tag, files->comm));
  }
  PetscCall(PetscFree(shard));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonFilesEnd_Private(MuonFiles files)
{
  const uint64_t request[2] = {0, 0};

  PetscFunctionBegin;
  if (files != NULL && files->rank > 0) PetscCallMPI(MPI_Send((void *)request, 2, MPI_UINT64_T, 0, files->tag, files->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The name is for messages */
static PetscErrorCode MuonFilesCreate_Private(Muon muon, const char name[], MuonFiles *newfiles)
{
  MuonFiles files;

  PetscFunctionBegin;
  PetscCall(PetscNew(&files));
  files->comm         = PetscObjectComm((PetscObject)muon);
  files->rank         = muon->rank;
  files->size         = muon->size;
  files->system       = *MuonFileSystemGet();
  files->system.ctx   = files;
  files->system.open  = MuonFilesOpen_Private;
  files->system.read  = MuonFilesRead_Private;
  files->system.write = MuonFilesWrite_Private;
  files->system.size  = MuonFilesSize_Private;
  files->system.sync = files->system.close = MuonFilesHandle_Private;
  files->system.rename                     = MuonFilesRename_Private;
  files->system.unlink                     = MuonFilesUnlink_Private;
  PetscCall(PetscObjectGetNewTag((PetscObject)muon, &files->tag));
  if (MuonFileFolderInit(&files->folder, &files->system, name != NULL && name[0] != '\0' ? name : "viewer") != MUON_FILE_OK) PetscCall(PetscStrncpy(files->folder.path, "viewer", sizeof(files->folder.path)));
  *newfiles = files;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The file of a viewer that rank 0 can write to, or read at any place */
static PetscErrorCode MuonFilesCreateViewer_Private(Muon muon, PetscViewer viewer, PetscBool write, MuonFiles *files)
{
  MPI_Comm        comm = PetscObjectComm((PetscObject)muon);
  PetscFileMode   mode;
  PetscViewerType type;
  const char     *name;
  PetscBool       binary, flg;
  long long       at = 0;

  PetscFunctionBegin;
  PetscCall(PetscViewerGetType(viewer, &type));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERBINARY, &binary));
  PetscCheck(binary, comm, PETSC_ERR_SUP, "A viewer of type %s, expected one of type %s", type != NULL ? type : "that is not set", PETSCVIEWERBINARY);
  PetscCall(PetscViewerBinaryGetUseMPIIO(viewer, &flg));
  PetscCheck(flg == PETSC_FALSE, comm, PETSC_ERR_SUP, "A binary viewer with MPI-IO, expected one without: leave out -viewer_binary_mpiio");
  PetscCall(PetscViewerBinaryGetSkipHeader(viewer, &flg));
  PetscCheck(flg == PETSC_FALSE, comm, PETSC_ERR_SUP, "A binary viewer without headers, expected one with: leave out -viewer_binary_skip_header");
  PetscCall(PetscViewerFileGetMode(viewer, &mode));
  PetscCheck((mode == FILE_MODE_READ) == (write == PETSC_FALSE), comm, PETSC_ERR_FILE_UNEXPECTED, "A viewer that was opened to %s, expected one that was opened to %s", write ? "read" : "write", write ? "write" : "read");
  PetscCall(PetscViewerFileGetName(viewer, &name));
  PetscCall(MuonFilesCreate_Private(muon, name, files));
  PetscCall(PetscViewerBinaryGetDescriptor(viewer, &(*files)->descriptor));
  if (muon->rank == 0 && write == PETSC_FALSE) at = (long long)lseek((*files)->descriptor, 0, SEEK_CUR);
  PetscCallMPI(MPI_Bcast(&at, 1, MPI_LONG_LONG, 0, comm));
  if (at < 0) PetscCall(PetscFree(*files));
  PetscCheck(at >= 0, comm, PETSC_ERR_FILE_READ, "A viewer that cannot be read at any place, such as a pipe; expected a file");
  (*files)->start = (uint64_t)at;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All files, one behind the other */
static PetscErrorCode MuonFilesWriteAll_Private(Muon muon, MuonFiles files, const MuonFileIdentity *id, MuonFileSeal seals[], MuonFileSeal *manifest, MuonFileResult *result)
{
  MuonFileSeal seal = {0, 0};
  char         said[MUON_FILE_TEXT];

  PetscFunctionBegin;
  if (*result == MUON_FILE_OK) PetscCall(MuonCheckpointWriteRank_Private(muon, &files->folder, id, &seal, result));
  if (files->counts == PETSC_FALSE) PetscCall(MuonFilesEndStream_Private(files));
  for (PetscMPIInt r = 1; r < files->size && files->rank == 0 && files->counts == PETSC_FALSE; r++) PetscCall(MuonFilesCollect_Private(files, r, result));
  PetscCall(MuonCheckpointAgree_Private(muon, *result, files->folder.text, result, said));
  PetscCallMPI(MPI_Gather(&seal, (PetscMPIInt)sizeof(seal), MPI_BYTE, seals, (PetscMPIInt)sizeof(seal), MPI_BYTE, 0, files->comm));
  if (*result == MUON_FILE_OK && files->rank == 0) PetscCall(MuonCheckpointCommit_Private(muon, &files->folder, id, seals, manifest, result));
  if (*result != MUON_FILE_OK && said[0] != '\0') PetscCall(PetscStrncpy(files->folder.text, said, sizeof(files->folder.text)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonViewBinary_Private(Muon muon, PetscViewer viewer)
{
  MPI_Comm         comm   = PetscObjectComm((PetscObject)muon);
  MuonFileResult   result = MUON_FILE_OK;
  MuonFileSeal    *seals, manifest = {0, 0};
  MuonFileIdentity id;
  MuonFiles        files;
  PetscInt         classid = MUON_FILE_CLASSID;
  PetscInt64       length  = 0;
  char             said[MUON_FILE_TEXT];

  PetscFunctionBegin;
  PetscCall(MuonFilesCreateViewer_Private(muon, viewer, PETSC_TRUE, &files));
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonCheckpointAsk_Private(muon));
  PetscCall(PetscMemzero(&id, sizeof(id)));
  PetscCall(PetscCalloc1(muon->size, &seals));
  if (muon->rank == 0) result = MuonFileRun(&files->folder, id.run);
  id.generation.step    = (uint64_t)muon->step;
  id.generation.counter = 1;
  id.ranks              = (uint32_t)muon->size;
  PetscCallMPI(MPI_Bcast(id.run, MUON_FILE_RUN, MPI_BYTE, 0, comm));
  /* How long they are says what is in front of them */
  files->ranks  = id.ranks;
  files->seals  = seals;
  files->counts = PETSC_TRUE;
  PetscCall(MuonFilesWriteAll_Private(muon, files, &id, seals, &manifest, &result));
  files->counts = PETSC_FALSE;
  if (muon->rank == 0) {
    for (PetscMPIInt r = 0; r < muon->size; r++) length += (PetscInt64)seals[r].bytes;
    length += (PetscInt64)manifest.bytes + (PetscInt64)sizeof(length);
    PetscCall(MuonFilesPutSwapped_Private(files, &classid, 1, PETSC_INT, &result));
    PetscCall(MuonFilesPutSwapped_Private(files, &length, 1, PETSC_INT64, &result));
  }
  PetscCall(MuonFilesWriteAll_Private(muon, files, &id, seals, &manifest, &result));
  if (muon->rank == 0) {
    length = (PetscInt64)manifest.bytes;
    PetscCall(MuonFilesPutSwapped_Private(files, &length, 1, PETSC_INT64, &result));
  }
  PetscCall(MuonCheckpointAgree_Private(muon, result, files->folder.text, &result, said));
  PetscCall(PetscFree(seals));
  PetscCall(PetscFree(files));
  PetscCheck(result == MUON_FILE_OK, comm, PETSC_ERR_FILE_WRITE, "%s", said);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0: an integer as PETSc's files have it, from some place on */
static PetscErrorCode MuonFilesGetSwapped_Private(MuonFiles files, uint64_t at, void *to, PetscDataType type, PetscBool *there)
{
  size_t bytes;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeGetSize(type, &bytes));
  *there = MuonFileSystemGet()->read(NULL, files->descriptor, at, to, bytes) == (ptrdiff_t)bytes ? PETSC_TRUE : PETSC_FALSE;
  if (*there && !PetscDefined(WORDS_BIGENDIAN)) PetscCall(PetscByteSwap(to, type, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rank 0: what is in front of the files, compared with the length of the file that they are in; where the
   manifest is, and of which generation it is
*/
static PetscErrorCode MuonFilesReadFront_Private(MuonFiles files, uint64_t *end, MuonFileGeneration *generation, MuonFileResult *result)
{
  const MuonFileSystem *posix = MuonFileSystemGet();
  unsigned char         bytes[16];
  PetscInt              classid = 0;
  PetscInt64            length = 0, manifest = 0;
  uint64_t              all;
  PetscBool             there;

  PetscFunctionBegin;
  *result = MUON_FILE_CORRUPT;
  PetscCall(MuonFilesGetSwapped_Private(files, files->start, &classid, PETSC_INT, &there));
  if (there == PETSC_FALSE || classid != MUON_FILE_CLASSID) {
    if (there) (void)snprintf(files->folder.text, sizeof(files->folder.text), "%s: no optimizer is there: its class id is %lld, expected %d", files->folder.path, (long long)classid, MUON_FILE_CLASSID);
    else (void)snprintf(files->folder.text, sizeof(files->folder.text), "%s: no optimizer is there: it ends", files->folder.path);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  (void)snprintf(files->folder.text, sizeof(files->folder.text), "%s: is damaged: its length", files->folder.path);
  PetscCall(MuonFilesGetSwapped_Private(files, files->start + sizeof(classid), &length, PETSC_INT64, &there));
  files->start += sizeof(classid) + sizeof(length);
  if (there == PETSC_FALSE || posix->size(NULL, files->descriptor, &all) < 0 || length < (PetscInt64)sizeof(manifest) || all < files->start || (uint64_t)length > all - files->start) PetscFunctionReturn(PETSC_SUCCESS);
  *end   = files->start + (uint64_t)length;
  length = length - (PetscInt64)sizeof(manifest);
  PetscCall(MuonFilesGetSwapped_Private(files, files->start + (uint64_t)length, &manifest, PETSC_INT64, &there));
  if (there == PETSC_FALSE || manifest < 64 || manifest > length) PetscFunctionReturn(PETSC_SUCCESS);
  files->manifest_at    = (uint64_t)(length - manifest);
  files->manifest_bytes = (uint64_t)manifest;
  /* Step and counter, which the name of a folder would tell, out of the header */
  if (posix->read(NULL, files->descriptor, files->start + files->manifest_at + 24, bytes, sizeof(bytes)) != (ptrdiff_t)sizeof(bytes)) PetscFunctionReturn(PETSC_SUCCESS);
  generation->step = generation->counter = 0;
  for (int b = 7; b >= 0; b--) {
    generation->step    = 256 * generation->step + bytes[b];
    generation->counter = 256 * generation->counter + bytes[8 + b];
  }
  *result = MUON_FILE_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The files fill all that is in front of the manifest */
static MuonFileResult MuonFilesCheckSeals_Private(MuonFiles files, const MuonFileSeal seals[], uint32_t ranks)
{
  uint64_t left = files->manifest_at;

  for (uint32_t r = 0; r < ranks; r++) {
    if (seals[r].bytes > left) left = UINT64_MAX;
    else left -= seals[r].bytes;
  }
  if (left == 0) return MUON_FILE_OK;
  (void)snprintf(files->folder.text, sizeof(files->folder.text), "%s: is damaged: the lengths of its parts", files->folder.path);
  return MUON_FILE_CORRUPT;
}

/*@
  MuonLoad - Brings an optimizer and its weights to where `MuonView()` wrote them to a binary file

  Collective

  Input Parameters:
+ muon   - an optimizer with the layers that it had then
- viewer - of type `PETSCVIEWERBINARY`, on the ranks of the optimizer, opened to read; a file, which is read at any place

  Level: intermediate

  Notes:
  It is `MuonLoadCheckpoint()` for one file in place of a folder\: all of it is verified before anything is
  touched, what does not fit is an error that names the first difference, and other numbers of ranks are
  taken. There is no earlier one to fall back to. Rank 0 reads for all ranks, a shard at a time. Behind it the
  viewer is at what follows in the file; where it failed it is where it was.

  Viewers with MPI-IO, without headers or of another type are an error.

.seealso: `Muon`, `MuonView()`, `MuonLoadCheckpoint()`, `MuonSetRestartState()`
@*/
PetscErrorCode MuonLoad(Muon muon, PetscViewer viewer)
{
  MPI_Comm           comm;
  MuonFileResult     result     = MUON_FILE_OK;
  MuonFileGeneration generation = {0, 0};
  MuonFileReader     manifest;
  MuonFileSeal      *seals;
  MuonFiles          files;
  uint64_t           end = 0, front[5];
  char               said[MUON_FILE_TEXT], path[MUON_FILE_PATH];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(muon, 1, viewer, 2);
  comm = PetscObjectComm((PetscObject)muon);
  PetscCall(MuonFilesCreateViewer_Private(muon, viewer, PETSC_FALSE, &files));
  PetscCall(MuonSetUp(muon));
  if (muon->rank == 0) PetscCall(MuonFilesReadFront_Private(files, &end, &generation, &result));
  PetscCall(MuonCheckpointAgree_Private(muon, result, files->folder.text, &result, said));
  if (result != MUON_FILE_OK) PetscCall(PetscFree(files));
  PetscCheck(result == MUON_FILE_OK, comm, PETSC_ERR_FILE_UNEXPECTED, "%s", said);
  front[0] = files->start;
  front[1] = files->manifest_at;
  front[2] = files->manifest_bytes;
  front[3] = generation.step;
  front[4] = generation.counter;
  PetscCallMPI(MPI_Bcast(front, 5, MPI_UINT64_T, 0, comm));
  files->start          = front[0];
  files->manifest_at    = front[1];
  files->manifest_bytes = front[2];
  generation.step       = front[3];
  generation.counter    = front[4];
  PetscCall(MuonFilesBegin_Private(files));
  result = MuonFileManifestRead(&files->folder, &generation, &manifest, &seals);
  if (result == MUON_FILE_OK) result = MuonFilesCheckSeals_Private(files, seals, manifest.id.ranks);
  files->ranks = result == MUON_FILE_OK ? manifest.id.ranks : 0;
  files->seals = seals;
  if (result == MUON_FILE_OK && muon->rank == 0) result = MuonCheckpointVerify_Private(&files->folder, &manifest.id, seals, 0, 1);
  PetscCall(MuonFilesEnd_Private(files));
  PetscCall(MuonCheckpointAgree_Private(muon, result, files->folder.text, &result, said));
  if (result != MUON_FILE_OK) {
    MuonFileReaderClose(&manifest);
    free(seals);
    PetscCall(PetscFree(files));
    SETERRQ(comm, PETSC_ERR_FILE_UNEXPECTED, "%s", said);
  }
  PetscCall(MuonCheckpointLoad_Private(muon, &files->folder, &manifest, seals, files, &result, said));
  if (muon->rank == 0 && result == MUON_FILE_OK) (void)lseek(files->descriptor, (off_t)end, SEEK_SET);
  PetscCall(PetscStrncpy(path, files->folder.path, sizeof(path)));
  PetscCall(PetscFree(files));
  PetscCheck(result == MUON_FILE_OK, comm, PETSC_ERR_FILE_UNEXPECTED, "Checkpoint in %s: %s", path, said);
  PetscCall(MuonRestartWeights_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rank 0: a matrix by rows, as PETSc's scalars in the order of bytes that its files have, behind the header
   of a dense one
*/
static PetscErrorCode MuonFilesPutMatrix_Private(MuonFiles files, const MuonArray *W, MuonFileResult *result)
{
  const size_t m = MuonArrayRows(W), n = MuonArrayColumns(W), most = MUON_FILES_PIECE / sizeof(PetscScalar);
  PetscInt     header[4] = {MAT_FILE_CLASSID, (PetscInt)m, (PetscInt)n, -1};
  PetscScalar *shard;
  size_t       count = 0;

  PetscFunctionBegin;
  PetscCall(MuonFilesPutSwapped_Private(files, header, 4, PETSC_INT, result));
  PetscCall(PetscMalloc1(most, &shard));
  for (size_t e = 0; e < m * n; e++) {
    const void *entry = MuonArrayAt(W, e / n, e % n);

    shard[count++] = W->precision == MUON_SINGLE ? (PetscScalar) * (const float *)entry : (PetscScalar) * (const double *)entry;
    if (count < most && e + 1 < m * n) continue;
    PetscCall(MuonFilesPutSwapped_Private(files, shard, (PetscInt)count, PETSC_SCALAR, result));
    count = 0;
  }
  PetscCall(PetscFree(shard));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The weights of all layers as dense matrices, one behind the other; of a layer in rows those of rank 0's
   worker, whose ranks are all that take part
*/
static PetscErrorCode MuonFilesWriteWeights_Private(Muon muon, MuonFiles files, MuonFileResult *result)
{
  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    MuonLayer            layer = muon->layer[l];
    const MuonWorkerGrid grid  = muon->grid[muon->grid_of[l]];
    MuonArray            W, host;
    MuonMatrix           matrix;
    Mat                  full;

    if (layer->ranks > 1 && grid->worker == grid->worker_of[0]) {
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, layer->m, layer->n, NULL, &full));
      PetscCall(MuonLayerGetFullWeights(layer, full));
      PetscCall(MuonMatGetMatrix(full, PETSC_FALSE, &matrix));
      if (files->rank == 0) PetscCall(MuonFilesPutMatrix_Private(files, &matrix.here, result));
      PetscCall(MuonMatRestoreMatrix(full, PETSC_FALSE, &matrix));
      PetscCall(MatDestroy(&full));
    } else if (layer->ranks == 1 && files->rank == 0) {
      PetscCall(MuonLayerGetWeightsMemory(layer, PETSC_FALSE, &W));
      PetscCall(MuonArrayOnHost(&W, PETSC_TRUE, &host));
      PetscCall(MuonFilesPutMatrix_Private(files, &host, result));
      PetscCall(MuonArrayOffHost(&W, PETSC_FALSE, &host));
      PetscCall(MuonLayerRestoreWeightsMemory(layer, PETSC_FALSE, &W));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonViewWeights - Writes the weights of all layers to a binary file, as matrices

  Collective

  Input Parameters:
+ muon   - the optimizer
- viewer - of type `PETSCVIEWERBINARY`, on the ranks of the optimizer, opened to write

  Level: intermediate

  Note:
  They are dense matrices of `PetscScalar` one behind the other, in the order in which the layers were added,
  also of layers that are vectors or arrays, and that are frozen. `MatLoad()` reads each of them, on any
  number of ranks, and so does the PetscBinaryIO of PETSc in Python. They are the weights at the workers,
  those that gradients are taken at.

.seealso: `Muon`, `MuonSetCheckpointWeights()`, `MuonView()`, `MuonLayerGetWeights()`
@*/
PetscErrorCode MuonViewWeights(Muon muon, PetscViewer viewer)
{
  MuonFileResult result = MUON_FILE_OK;
  MuonFiles      files;
  char           said[MUON_FILE_TEXT];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(muon, 1, viewer, 2);
  PetscCall(MuonFilesCreateViewer_Private(muon, viewer, PETSC_TRUE, &files));
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonFilesWriteWeights_Private(muon, files, &result));
  PetscCall(MuonCheckpointAgree_Private(muon, result, files->folder.text, &result, said));
  PetscCall(PetscFree(files));
  PetscCheck(result == MUON_FILE_OK, PetscObjectComm((PetscObject)muon), PETSC_ERR_FILE_WRITE, "%s", said);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0: a call of the system for a file, which said no where error < 0 */
static MuonFileResult MuonFilesSystem_Private(MuonFiles files, int error, const char what[])
{
  if (error >= 0) return MUON_FILE_OK;
  (void)snprintf(files->folder.text, sizeof(files->folder.text), "%s: cannot %s: %s", files->folder.path, what, strerror(-error));
  return MUON_FILE_SYSTEM;
}

PetscErrorCode MuonSaveWeights_Private(Muon muon, const char file[], PetscBool trial)
{
  const MuonFileSystem *posix  = MuonFileSystemGet();
  MuonFileResult        result = MUON_FILE_OK;
  MuonFiles             files;
  char                  part[PETSC_MAX_PATH_LEN], said[MUON_FILE_TEXT];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(part, sizeof(part), "%s.part", file));
  PetscCall(MuonFilesCreate_Private(muon, file, &files));
  files->descriptor = -1;
  if (muon->rank == 0) {
    (void)posix->unlink(NULL, part); /* what a crash left */
    files->descriptor = posix->open(NULL, part, MUON_FILE_CREATE);
    result            = MuonFilesSystem_Private(files, files->descriptor, "write to it");
  }
  if (trial == PETSC_FALSE) PetscCall(MuonFilesWriteWeights_Private(muon, files, &result));
  if (files->descriptor >= 0) {
    int error;

    if (result == MUON_FILE_OK && trial == PETSC_FALSE) result = MuonFilesSystem_Private(files, posix->sync(NULL, files->descriptor), "make it durable");
    error = posix->close(NULL, files->descriptor);
    if (result == MUON_FILE_OK) result = MuonFilesSystem_Private(files, error, "close it");
    if (result == MUON_FILE_OK && trial == PETSC_FALSE) result = MuonFilesSystem_Private(files, posix->rename(NULL, part, file), "rename it");
    if (result != MUON_FILE_OK || trial) (void)posix->unlink(NULL, part);
  }
  PetscCall(MuonCheckpointAgree_Private(muon, result, files->folder.text, &result, said));
  PetscCall(PetscFree(files));
  PetscCheck(result == MUON_FILE_OK, PetscObjectComm((PetscObject)muon), PETSC_ERR_FILE_WRITE, "-%smuon_checkpoint_weights: %s", MuonPrefix(muon), said);
  PetscFunctionReturn(PETSC_SUCCESS);
}
