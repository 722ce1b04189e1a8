/*
   Rounds of a group that end in a later step than they begin in: what is in flight, and what is kept for it.
*/
#pragma once

#include "../plan/muonplan.h"

/* Parameters, and the round in flight of all groups of depth 2 */
struct _n_MuonRounds {
  PetscInt   delay;
  PetscBool  delay_correction;
  PetscInt   phase;    /* of this step: groups of layers of others rest */
  PetscInt64 pending;  /* the step whose round has begun and not ended, -1 for none */
  MuonStatus sending;  /* what became of this rank when it began that round */
  PetscBool  underway; /* its messages are, which were not waited for yet */
};

/* The largest depth of a group */
static inline PetscInt MuonRoundsDepth(Muon muon)
{
  return 1 + muon->rounds->delay;
}

/* The array that T of a successful step becomes: the momentum, if that is not packed, or, with depth 2, that of the round which sends it; NULL for none */
static inline MuonArray *MuonShardKept(MuonShard *shard)
{
  if (shard->muon->momentum_at == (int)MUON_MOMENTUM_AT_WORKER && shard->M.data && MuonArrayIsPacked(&shard->M) == 0) return &shard->M;
  return shard->group->depth > 1 && shard->round->Tnew.data ? &shard->round->Tnew : NULL;
}

/* Depths of the layers' groups, before these are made; checks for options that exclude them, afterwards */
PETSC_INTERN PetscErrorCode MuonRoundsPlace_Private(Muon);
PETSC_INTERN PetscErrorCode MuonRoundsCheck_Private(Muon);
/* Of a shard: arrays that stay from one step to the next, and all state of its round */
PETSC_INTERN PetscErrorCode MuonRoundsSetUpState_Private(MuonShard *);
PETSC_INTERN PetscErrorCode MuonRoundsVisitState_Private(MuonShard *, MuonStateVisitor *);
/* Where a round has an array for it: adds to new weights the difference of their change to that of the previous round */
PETSC_INTERN PetscErrorCode MuonRoundsCorrect_Private(MuonShard *, const MuonArray *Xnew, const MuonArray *W, MuonStatus *);
/* Collective: waits for messages of rounds in flight, which are sent again, or dropped if there is none pending */
PETSC_INTERN PetscErrorCode MuonRoundsDrop_Private(Muon);
