/*
   Between the files of this folder that write and read checkpoints.
*/
#pragma once

#include <petscmuon/private/muonimpl.h>
#include <petscmuon/private/muonfile.h>

#define MUON_PROGRAM_NAME 101 /* bytes of a name, the zero at its end among them */

/* Bytes of the program's own, which travel with the state */
typedef struct {
  char                 *name;
  MuonCheckpointSaveFn *save;
  MuonCheckpointLoadFn *load;
  void                 *ctx;
  /* borrowed while a checkpoint is written */
  PetscInt64  bytes;
  const void *data;
} MuonProgram;

struct _n_MuonPrograms {
  PetscInt     count;
  MuonProgram *program;
};

static inline PetscInt MuonPrograms(Muon muon)
{
  return muon->programs != NULL ? muon->programs->count : 0;
}

/* Files that are in the file of a viewer, which rank 0 alone can read: the others ask it. NULL where files are in a folder */
typedef struct _n_MuonFiles *MuonFiles;
/* Around all that a rank reads by itself: between the two no rank waits for another but for rank 0, which goes on when all others are done */
PETSC_INTERN PetscErrorCode MuonFilesBegin_Private(MuonFiles);
PETSC_INTERN PetscErrorCode MuonFilesEnd_Private(MuonFiles);

/* All ranks learn what the first that failed says. ok where none did */
PETSC_INTERN PetscErrorCode MuonCheckpointAgree_Private(Muon, MuonFileResult mine, const char text[], MuonFileResult *, char said[MUON_FILE_TEXT]);
/* The bytes of the program, from its routines; an error on every rank where one of them failed on some */
PETSC_INTERN PetscErrorCode MuonCheckpointAsk_Private(Muon);
/* The file of this rank; what the manifest has, on rank 0 */
PETSC_INTERN PetscErrorCode MuonCheckpointWriteRank_Private(Muon, MuonFileFolder *, const MuonFileIdentity *, MuonFileSeal *, MuonFileResult *);
PETSC_INTERN PetscErrorCode MuonCheckpointCommit_Private(Muon, MuonFileFolder *, const MuonFileIdentity *, const MuonFileSeal seals[], MuonFileSeal *, MuonFileResult *);
/* Every byte of the files of a generation; rank first, and those that are stride further each */
PETSC_INTERN MuonFileResult MuonCheckpointVerify_Private(MuonFileFolder *, const MuonFileIdentity *run, const MuonFileSeal seals[], PetscMPIInt first, PetscMPIInt stride);
/* Loads a generation whose every byte was verified, or says on every rank why it does not fit; closes the manifest and frees the seals */
PETSC_INTERN PetscErrorCode MuonCheckpointLoad_Private(Muon, MuonFileFolder *, MuonFileReader *manifest, MuonFileSeal seals[], MuonFiles, MuonFileResult *, char said[MUON_FILE_TEXT]);

/* The weights to a file that takes the place of the one before */
PETSC_INTERN PetscErrorCode MuonSaveWeights_Private(Muon, const char file[]);

/* What may be set at any time, a line each, "KEY VALUE"; the caller frees it. Says which lines of there are others */
PETSC_INTERN PetscErrorCode MuonSettingsGet_Private(Muon, char **);
PETSC_INTERN PetscErrorCode MuonSettingsCompare_Private(Muon, const char there[]);
