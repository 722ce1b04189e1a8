/*
   What the messages of a step cost by the alpha-beta model: a message of s bytes takes alpha + beta s seconds
   on a link that carries as much in each direction at once.

   A cost counts the messages that wait for one another, and the bytes on the busiest direction of a link of
   the rank that has most. Sums and broadcasts come in two ways: cut into parts that follow one another
   through the ranks, or as whole messages along a binomial tree, each of whose ceil(log2 J) levels waits for
   the one before. MPI chooses; both are given.
*/
#pragma once

#include "../../round/muonround.h"

/* The options: seconds a message, bits a second, bytes a second; workers and entries of another problem, 0 for this one */
typedef struct {
  PetscReal alpha, beta, gamma, entries;
  PetscInt  workers;
} MuonCostLink;

static inline MuonCostLink *MuonCostLinkOf(Muon muon)
{
  return (MuonCostLink *)MuonAddonData(muon, "cost");
}

typedef struct {
  double rounds; /* messages one after the other */
  double bytes;  /* on the busiest direction of a link, with pipelined trees */
  double whole;  /* the same where trees carry whole messages */
  double work;   /* bytes that the busiest rank sums or votes on */
} MuonCost;

/* How bytes move between J ranks. They count what each rank sends, or what it receives from one rank or from the owners */
typedef enum {
  MUON_COST_NOTHING,
  MUON_COST_RECORD,      /* a few bytes of each to all */
  MUON_COST_GATHER,      /* one message of each to one rank, or along a ring to all; the receivers sum or count votes */
  MUON_COST_TO_OWNERS,   /* a part to each owner, which sums or counts votes */
  MUON_COST_REDUCE,      /* sums of MPI at the owners */
  MUON_COST_TREE,        /* counters of votes of as many bits as they need, up a tree of whole messages */
  MUON_COST_ALLREDUCE,   /* sums everywhere, along a ring */
  MUON_COST_BROADCAST,   /* from one rank along a tree */
  MUON_COST_FROM_OWNERS, /* a part from each owner to all */
  MUON_COST_SPREAD       /* the same, layer by layer along trees */
} MuonCostPattern;

/* Messages of one direction: calls of MPI, and the largest and the smallest part of the bytes that one rank owns */
typedef struct {
  MuonCostPattern pattern;
  double          bytes, calls, most, least;
} MuonCostMessages;

/* n such directions one after the other, without MPI */
PETSC_INTERN MuonCost MuonCostOf(double ranks, int n, const MuonCostMessages messages[]);
/* A vote on d entries, by the row of the table; ties: a majority has a second bit for them */
PETSC_INTERN MuonCost MuonCostOfVote(int vote, double ranks, double entries, PetscBool ties);
/* On the link of the optimizer's options */
PETSC_INTERN double MuonCostSeconds(Muon, const MuonCost *, PetscBool whole);
/* A step's messages between workers for an exchange of that type and mode. Collective, after MuonSetUp() */
PETSC_INTERN PetscErrorCode MuonGetCost_Private(Muon, MuonExchangeType, MuonExchangeMode, MuonCost *, PetscBool *legal);
