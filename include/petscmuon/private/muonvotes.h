/*
   Votes by signs, for any type of the optimizer: muon->ops->lmogroup is MuonGroupVotes, for the layers of LMOs, and
   its configure() calls MuonVotesSetRule() for their groups. Installed for types outside of the library; it
   may change.

   Layers vote by the signs of T, or of the U that direction() makes of it, of n blocks at once. Every worker
   applies the majority S: length() gives the number that S of a block is divided by before it is multiplied with
   the radius, 1 where it is NULL. It gets S where whole is set, else NULL. Where steps is set
   the step is that of the layer's optimizer to S in place of a gradient, which needs whole, too.
   Blocks are whole, in one memory or with their rows on the ranks of the worker.
*/
#pragma once

#include <petscmuon/private/muonimpl.h>

typedef struct {
  PetscErrorCode (*direction)(Muon, PetscInt n, MuonShard *const shard[], const MuonMatrix T[], const MuonMatrix U[], MuonStatus status[]);
  PetscErrorCode (*length)(Muon, MuonShard *, const MuonBlock *, const MuonMatrix *S, double *, MuonStatus *);
  PetscBool whole, steps;
  int       tie; /* a MuonSignTie */
} MuonVotesRule;

PETSC_EXTERN const MuonGroupOps MuonGroupVotes;
PETSC_EXTERN PetscErrorCode     MuonVotesSetRule(MuonGroup, const MuonVotesRule *);
/*
   Of a shard that votes: its blocks, or what it has of them; one of them, with the block of the layer that it
   is of
*/
PETSC_EXTERN PetscInt       MuonVotesCount(const MuonShard *);
PETSC_EXTERN PetscErrorCode MuonVotesGetBlock(const MuonShard *, PetscInt, const MuonArray *whole, MuonArray *part, MuonBlock *block);
