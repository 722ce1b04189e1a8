/*
   Checkpoints: an addon that writes the state of a run to files and begins a run with it. This is between its files.
*/
#pragma once

#include "../../round/muonround.h"
#include <petscmuon/private/muonfile.h>
#include <signal.h>

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

/* The addon's data: parameters and state of checkpoints and restarts */
typedef struct {
  struct _n_MuonCheckpoints *kept; /* the folder and its run, NULL until one is saved */
  PetscInt                   nprograms;
  MuonProgram               *program;              /* what the program gives to checkpoints */
  char                      *checkpoint, *restart; /* folders */
  char                      *restarted;            /* the folder that was loaded */
  PetscInt                   checkpoint_interval, checkpoint_keep;
  PetscReal                  checkpoint_seconds; /* 0 for never */
  PetscLogDouble             written;            /* when the last one was, or the run began */
  MuonRestartState           restart_state;
  PetscBool                  restart_if_present, restart_convert;
  PetscBool                  stepped;   /* since MuonSolve() ended, or the run began */
  volatile sig_atomic_t      requested; /* this rank was asked */
} MuonSaving;

static inline MuonSaving *MuonSavingOf(Muon muon)
{
  return (MuonSaving *)MuonAddonData(muon, "checkpoint");
}

/* All ranks get the result of the first that failed, and what it says */
PETSC_INTERN PetscErrorCode MuonCheckpointAgree_Private(Muon, MuonFileResult *, char text[MUON_FILE_TEXT]);
/* Loads a verified generation, or raises on every rank the reason why it does not fit; closes it */
PETSC_INTERN PetscErrorCode MuonCheckpointLoad_Private(Muon, MuonFileReader *);
/*
   Loads the latest valid generation, the last or the one before it, or is an error on every rank; with absent, reports that
   there is none instead
*/
PETSC_INTERN PetscErrorCode MuonRestartLoad_Private(Muon, const char folder[], PetscBool *absent);
PETSC_INTERN PetscErrorCode MuonCheckpointSave_Private(Muon, const char folder[], PetscInt keep);

#define MUON_CHECKPOINT_WEIGHTS "weights"
#define MUON_CHECKPOINT_OWN     "weights.own" /* of a worker, where those of all are others */
#define MUON_CHECKPOINT_WEIGHT  "worker.weight"
#define MUON_CHECKPOINT_NUMBERS "numbers"
#define MUON_CHECKPOINT_OPTIONS "settings"
#define MUON_CHECKPOINT_PROGRAM "program." /* and the name that the program gave */

/* Of the optimizer itself. Those behind the fourth are this rank's own */
enum {
  NUMBER_STEP,
  NUMBER_NANS,
  NUMBER_LOSS,
  NUMBER_DUAL,
  NUMBER_UP,
  NUMBER_DOWN = NUMBER_UP + 3,
  NUMBERS     = NUMBER_DOWN + 3
};

/* How many ranks have the same of a state, this one among them */
typedef struct {
  PetscInt    layer;
  MuonLayer   entries; /* the layer, where the rows of the record are entries of it */
  PetscMPIInt copies, copy;
  PetscBool   leads; /* what has no rows, of a layer whose rows are spread, is written by the first rank of a worker */
} MuonCheckpointPlace;

/* A rectangle of a layer, and where it is in memory */
typedef struct {
  MuonFileRecord record;
  MuonArray      array;
} MuonCheckpointPart;

/* How the entries of an array are written, and their precision and field */
static inline MuonFilePrecision MuonCheckpointPrecision_Private(const MuonArray *A)
{
  return (MuonFilePrecision)(MUON_FILE_SINGLE + (A->precision == MUON_DOUBLE ? 1 : 0) + 2 * A->pairs); /* packed arrays are visited in single */
}
static inline MuonPrecision MuonCheckpointKind_Private(MuonFilePrecision precision)
{
  return precision == MUON_FILE_SINGLE || precision == MUON_FILE_COMPLEX_SINGLE ? MUON_SINGLE : MUON_DOUBLE;
}
static inline int MuonCheckpointIsComplex_Private(MuonFilePrecision precision)
{
  return precision >= MUON_FILE_COMPLEX_SINGLE;
}

PETSC_INTERN MuonFileHolder MuonCheckpointHolder_Private(const char name[], MuonStateHolder);
PETSC_INTERN PetscErrorCode MuonCheckpointFindLayer_Private(Muon, const char name[], PetscInt *layer, const MuonShard **);
PETSC_INTERN PetscErrorCode MuonCheckpointRecord_Private(Muon, const MuonState *, MuonFileRecord *, MuonCheckpointPlace *);
PETSC_INTERN int            MuonCheckpointCut_Private(const MuonCheckpointPlace *, const MuonFileRecord *, const MuonArray *, uint64_t first, uint64_t rows, MuonCheckpointPart part[3]);
/*
   All state, or none, then the weights of all layers, which are replicated; write: the visitor may change them
*/
PETSC_INTERN PetscErrorCode MuonCheckpointWalk_Private(Muon, MuonStateVisitor *, PetscBool all, PetscBool write);

/* Makes and locks the folder */
PETSC_INTERN PetscErrorCode MuonCheckpointStart_Private(Muon, const char folder[]);
PETSC_INTERN PetscErrorCode MuonCheckpointPrograms_Private(Muon, PetscInt failed, const char does[]);
/* Lets go of the folder of checkpoints */
PETSC_INTERN PetscErrorCode MuonCheckpointsDestroy_Private(Muon);
