/*
   Distribution over ranks, fixed at MuonSetUp(): workers, shards, groups, owners, assemblies.
*/
#pragma once

#include <petscmuon/private/muonimpl.h>

/*
   Cuts the ranks into workers, for each layer. rows: layers are whole on every rank, and all ranks are one
   worker that keeps its state in rows. With nodes a layer has a home, the rank of each that does all but its gradient
*/
PETSC_INTERN PetscErrorCode MuonFindWorkerGrids_Private(Muon, PetscBool rows);
PETSC_INTERN PetscErrorCode MuonResetWorkerGrids_Private(Muon);
/* What owners and homes are chosen by */
PETSC_INTERN PetscErrorCode MuonDescribeJob_Private(MuonLayer, PetscLogDouble entrybytes, MuonExchangeItem *);
/* Gives grids the weights of workers */
PETSC_INTERN PetscErrorCode MuonSetUpWeights_Private(Muon);

/*
   A table of numbers from 1 on by the hashes of names, with 0 in the slots that are free: those of the layers, or of
   names where these are given. Up to case, slot is that of a name, or the free one where it belongs
*/
PETSC_INTERN PetscErrorCode MuonFindName_Private(Muon, PetscInt slots, const PetscInt table[], const char *const names[], const char name[], PetscInt *slot);

/* One shard of a layer; all of them; an error where two have the same name in messages */
PETSC_INTERN PetscErrorCode MuonShardSetUp_Private(Muon, MuonShard *, MuonGroup, MuonLayer);
PETSC_INTERN PetscErrorCode MuonShardDestroy_Private(MuonShard *);
/* Of messages up and down with the compressors as they are */
PETSC_INTERN PetscErrorCode MuonShardGetMaxBytes_Private(MuonShard *, size_t bytes[2]);
PETSC_INTERN PetscErrorCode MuonCheckHashes_Private(Muon);

/* Workers, shards and groups, these with the operations of the type or else of a mean */
PETSC_INTERN PetscErrorCode MuonCreateGroups_Private(Muon, const MuonGroupOps *mean);
PETSC_INTERN PetscErrorCode MuonDestroyGroups_Private(Muon);
/* Collective: waits for messages of rounds under way, which are sent again, or are no more where muon->pending is -1 */
PETSC_INTERN PetscErrorCode MuonDropRounds_Private(Muon);
/* Whether there are ranks with the same rows of a group's layers, which they compare */
static inline PetscBool MuonGroupHasReplicas(Muon muon, const MuonGroup group)
{
  return muon->size > 1 && muon->nested == NULL && group->nshards > 0 && (group->shard[0].port->whole || group->grid->nworkers > 1) ? PETSC_TRUE : PETSC_FALSE;
}

/* Owners, sizes of messages and the mode of a group whose shards are the items of its exchange */
PETSC_INTERN PetscErrorCode MuonGroupSetUpOwners_Private(Muon, MuonGroup);
/* The assembly of blocks inside the workers: of the shards in this order that this rank owns, or of all where it is NULL */
PETSC_INTERN PetscErrorCode MuonGroupSetUpAssembly_Private(Muon, MuonGroup, const PetscInt order[]);
PETSC_INTERN PetscErrorCode MuonShardGetAssembly_Private(Muon, MuonShard *, PetscInt block, MuonAssemblyKind *, PetscLogDouble *flops);

/*
   Collective: an error of a routine of the program's on one rank is an error on all of them. ierr is what the
   routine returned here
*/
PETSC_INTERN PetscErrorCode MuonErrorOfAll_Private(Muon, const char routine[], PetscErrorCode ierr);

/*
   Collective: the ranks are in the same call, have as many layers and are all set up, or it is an error on all of
   them. same: whether hash is that of every rank; most, which may be NULL, becomes the largest of all
*/
typedef enum {
  MUON_CALL_STEP,
  MUON_CALL_SETUP,
  MUON_CALL_SOLVED,
  MUON_CALL_CHANGED,
  MUON_CALL_RESET,
  MUON_CALL_CLIP
} MuonCall;
PETSC_INTERN PetscErrorCode MuonMeet_Private(Muon, MuonCall, unsigned int hash, PetscBool *same, PetscInt *most);
