/*
   Distribution over ranks, fixed at MuonSetUp(): workers, shards, groups, owners, assemblies.
*/
#pragma once

#include <petscmuon/private/muonimpl.h>

/*
   Cuts the ranks into workers, for each layer. rows: layers are whole on every rank, and all ranks are one worker with its state
   in rows
*/
PETSC_INTERN PetscErrorCode MuonFindWorkerGrids_Private(Muon, PetscBool rows);
PETSC_INTERN PetscErrorCode MuonResetWorkerGrids_Private(Muon);
/* What owners of layers are chosen by */
PETSC_INTERN PetscErrorCode MuonDescribeJob_Private(MuonLayer, PetscLogDouble entrybytes, MuonExchangeItem *);
/*
   Ports, in muonnodes.c: the ranks that are one worker with this one for layers that are whole, and which of so many has the state of each such layer; the port
   of a layer
*/
PETSC_INTERN PetscErrorCode MuonNodesFind_Private(Muon, PetscBool rows, PetscMPIInt *size, PetscMPIInt *ranks[]);
PETSC_INTERN PetscErrorCode MuonNodesPlace_Private(Muon, PetscMPIInt size);
PETSC_INTERN PetscErrorCode MuonPortCreate_Private(MuonLayer, MuonWorkerGrid, const MuonPlace, MuonPort **);
PETSC_INTERN PetscErrorCode MuonPortDestroy_Private(MuonPort **);
/* Gives grids the weights of workers */
PETSC_INTERN PetscErrorCode MuonSetUpWeights_Private(Muon);

/*
   A hash table of names with numbers from 1 on, and 0 in free slots: of the layers, or of given names. slot is that of a name,
   case insensitive, or the free one for it
*/
PETSC_INTERN PetscErrorCode MuonFindName_Private(Muon, PetscInt slots, const PetscInt table[], const char *const names[], const char name[], PetscInt *slot);

/* One shard of a layer; all of them; an error where two have the same name in messages */
PETSC_INTERN PetscErrorCode MuonShardSetUp_Private(Muon, MuonShard *, MuonGroup, MuonLayer, const MuonPlace);
PETSC_INTERN PetscErrorCode MuonShardDestroy_Private(MuonShard *);
/* Of messages up and down with the compressors as they are */
PETSC_INTERN PetscErrorCode MuonShardGetMaxBytes_Private(MuonShard *, size_t bytes[2]);
PETSC_INTERN PetscErrorCode MuonCheckHashes_Private(Muon);

/* Workers, shards and groups, with the operations of the type or of a mean */
PETSC_INTERN PetscErrorCode MuonCreateGroups_Private(Muon, const MuonGroupOps *mean);
PETSC_INTERN PetscErrorCode MuonDestroyGroups_Private(Muon);
/* Whether several ranks have the same rows of a group's layers, which they compare */
static inline PetscBool MuonGroupHasReplicas(Muon muon, const MuonGroup group)
{
  return muon->size > 1 && muon->nested == NULL && group->nshards > 0 && (group->shard[0].port->whole || group->grid->nworkers > 1) ? PETSC_TRUE : PETSC_FALSE;
}

/* Owners and sizes of messages of a group whose shards are the items of its exchange */
PETSC_INTERN PetscErrorCode MuonGroupSetUpOwners_Private(Muon, MuonGroup);
/* Whether all of a group could be sent as arrays as they are */
PETSC_INTERN PetscBool MuonGroupFitsArrays(const MuonGroup, int down);
/* The assembly of blocks inside the workers: of this rank's shards in this order, or of all shards if it is NULL. replicated: every worker computes the same from them */
PETSC_INTERN PetscErrorCode MuonGroupSetUpAssembly_Private(Muon, MuonGroup, const PetscInt order[], PetscBool replicated);
PETSC_INTERN PetscErrorCode MuonShardGetAssembly_Private(Muon, MuonShard *, PetscInt block, MuonAssemblyKind *, PetscLogDouble *flops);

/*
   Collective: an error of a routine of the program's on one rank is an error on all of them. ierr is what the
   routine returned here
*/
PETSC_INTERN PetscErrorCode MuonErrorOfAll_Private(Muon, const char routine[], PetscErrorCode ierr);

/*
   Collective: an error on all ranks unless they are in the same call, with the same number of layers and all set up. same:
   whether hash is equal on all ranks; most, which may be NULL, becomes the maximum over the ranks
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
