/*
   The round of a group that votes. The signs of all its shards are one row of bits, a shard behind the other
   and a block behind the other in a shard; the exchange cuts it into items of its own. A worker fills the row, the owners of
   items count the votes, and then every worker has the row of the majority, from which it computes its new weights at the
   commit. If a worker has several ranks, the row is of the shards at one position, and work on whole blocks uses the group's
   assembly.
*/
#pragma once

#include "../../step/muonstep.h"
#include <petscmuon/private/muonvotes.h>
#include <petscmuon/private/muonwire.h>

/* A block of a layer, or the rows of it that are in a shard */
typedef struct {
  MuonBlock block; /* in the shard */
  PetscInt  number;
  size_t    at, entries;
  double    length, scale; /* divisor of the majority in this step, and its whole factor */
} MuonVotesBlock;

typedef struct _n_MuonVotes *MuonVotes;

struct _n_MuonVotes {
  MuonVotesRule         rule;
  PetscInt             *first; /* block of each shard, and the end */
  MuonVotesBlock       *block;
  PetscInt              nitems;
  PetscInt64           *start; /* bit of each shard, and the end */
  PetscInt64           *cut;   /* where each item begins, and the end */
  unsigned int         *hash;  /* by which messages know it */
  size_t                bits, bytes;
  PetscLogDouble        entries; /* of all layers that vote */
  PetscMPIInt           workers;
  unsigned              planes;            /* of a result: the majority, followed by the ties if ties are possible and there is no update */
  unsigned char        *own, *majority[2]; /* rows */
  unsigned char        *coin;              /* likewise, for ties: bit 0 repeats the first worker's vote, bit 1 adds its opposite. NULL if not used */
  size_t                room;              /* bytes of each of these: signs and their sums, or counts of a tree */
  unsigned char        *counts[2];
  unsigned              size; /* bytes of a sign or sum */
  const unsigned char **plane;
};

static inline MuonVotes MuonVotesOf(const MuonGroup group)
{
  return (MuonVotes)group->data;
}

static inline MuonVotesBlock *MuonVotesBlockOf(const MuonShard *shard, PetscInt b)
{
  const MuonVotes votes = MuonVotesOf(shard->group);

  return &votes->block[votes->first[shard - shard->group->shard] + b];
}

static inline MuonArray MuonVotesPart(const MuonVotesBlock *one, const MuonArray *whole)
{
  return MuonArrayPart(whole, (size_t)one->block.row, (size_t)one->block.column, (size_t)one->block.m, (size_t)one->block.n);
}

/* There is a single voter */
static inline PetscBool MuonVotesAlone(const MuonGroup group)
{
  return group->grid->size > 1 && group->grid->nworkers == 1 ? PETSC_TRUE : PETSC_FALSE;
}

/* The row, and its messages: a header, followed by the planes of an item; NULL if a message is not valid */
PETSC_INTERN PetscErrorCode       MuonVotesLayOut_Private(Muon, MuonGroup);
PETSC_INTERN void                 MuonVotesToss_Private(Muon, MuonGroup);
PETSC_INTERN MuonVotesBlock      *MuonVotesFind(const MuonShard *, PetscInt number);
PETSC_INTERN size_t               MuonVotesMessageBytes(MuonVotes, PetscInt item, unsigned planes);
PETSC_INTERN unsigned             MuonVotesWrite(MuonVotes, PetscInt item, unsigned planes, unsigned char *to, uint64_t *bytes);
PETSC_INTERN const unsigned char *MuonVotesOpen(MuonVotes, PetscInt item, unsigned planes, size_t bytes, const unsigned char *message);
PETSC_INTERN void                 MuonVotesCountMessage(Muon, MuonGroup, int down, PetscBool owns, size_t entries, unsigned planes, const unsigned char *from, double paper, double encoded);

/*
   The rows here of a block by its number in the layer, maybe none: U becomes votes; the majority in it, +1, -1 or 0, or with
   number -1 in the whole shard; its divisor
*/
PETSC_INTERN PetscErrorCode MuonVotesFill_Private(Muon, MuonShard *, PetscInt number, const MuonArray *U, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVotesFillAll_Private(Muon, MuonGroup, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVotesUp_Private(Muon, MuonGroup, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVotesDown_Private(Muon, MuonGroup, MuonRecord *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVotesExpand_Private(Muon, MuonShard *, PetscInt number, MuonArray *S);
PETSC_INTERN PetscErrorCode MuonVotesPrepare_Private(Muon, MuonShard *, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonVotesMove_Private(Muon, MuonVotes, const MuonVotesBlock *, double keep, const MuonArray *X, double scale, const MuonArray *Y);
PETSC_INTERN PetscErrorCode MuonVoteAssembled_Private(Muon, MuonGroup, MuonStatus *);
PETSC_INTERN PetscErrorCode MuonMajorityAssembled_Private(Muon, MuonGroup, MuonStatus *);
