/*
   What the messages of a step cost by the alpha-beta model: a message of s bytes takes alpha + beta s seconds
   on a link that carries as much in each direction at once.

   A cost counts the messages that wait for one another, and the bytes on the busiest direction of a link of
   the rank that has most. Sums and broadcasts come in two ways: cut into pieces that follow one another
   through the ranks, or as whole messages along a binomial tree, each of whose ceil(log2 J) levels waits for
   the one before. MPI chooses; both are given.
*/
#pragma once

#include "muonmonitor.h"

/* Seconds a message, seconds a byte on the link, seconds a byte of messages that are summed or voted on */
typedef struct {
  double alpha, beta, gamma;
} MuonCostLink;

typedef struct {
  double rounds; /* messages one after the other, the small ones that carry sizes among them */
  double bytes;  /* on the busiest direction of a link, where what goes along a tree is cut into pieces */
  double whole;  /* the same where trees carry whole messages */
  double work;   /* bytes that the busiest rank sums or votes on */
  double memory; /* bytes of messages on the rank that has most */
} MuonCost;

/* How bytes move between J ranks. s is what a rank gives, or in a broadcast what it gets */
typedef enum {
  MUON_COST_GATHER,         /* that of each to one rank, or along a ring to all */
  MUON_COST_BROADCAST,      /* from one rank along a tree */
  MUON_COST_REDUCE,         /* a sum at one rank along a tree */
  MUON_COST_ALLREDUCE,      /* a sum everywhere, along a ring */
  MUON_COST_ALLTOALL,       /* a J-th to each rank */
  MUON_COST_REDUCE_SCATTER, /* a J-th of the sum at each rank */
  MUON_COST_SHARE_RECORD    /* a few bytes of each to all */
} MuonCostPattern;

/* Who decides a vote of signs, and how the signs get there: -muon_exchange_type and -muon_exchange_mode */
typedef enum {
  MUON_COST_VOTE_SUMS,  /* replicated allreduce: sums of int8, of int16 above 127 workers */
  MUON_COST_VOTE_ALL,   /* replicated gather: one bit an entry from each to all */
  MUON_COST_VOTE_STAR,  /* star gather: to one server, which sends the result */
  MUON_COST_VOTE_TREE,  /* star reduce: counters of as many bits as they need up a tree of whole messages */
  MUON_COST_VOTE_RANGE, /* range gather: each worker decides its range of the entries */
  MUON_COST_VOTES
} MuonCostVote;

/* The published ways to distribute Muon, each matrix being replicated or its rows spread evenly */
typedef enum {
  MUON_COST_VANILLA,
  MUON_COST_KJ,
  MUON_COST_KJ_RS,
  MUON_COST_BUCKETED,
  MUON_COST_MOONLIGHT,
  MUON_COST_MOTIF,
  MUON_COST_GRAM,
  MUON_COST_DISTRIBUTIONS
} MuonCostDistribution;
PETSC_EXTERN const char *const MuonCostDistributionNames[MUON_COST_DISTRIBUTIONS];

typedef struct {
  double rows, columns, flops; /* of its LMO */
  double load;                 /* by which layers are sorted first */
} MuonCostLayer;

/* Part of the LMOs' work that the busiest rank does, and entries of state on a rank as a part of all */
typedef struct {
  MuonCost cost;
  double   oracle, state;
} MuonCostOfDistribution;

/*
   How a worker of so many ranks, each with its part of the rows, brings the matrices of its layers to their
   LMOs: to each rank; to one rank and the steps back; their Gram matrices alone
*/
typedef enum {
  MUON_COST_ROWS_TO_ALL,
  MUON_COST_ROWS_TO_OWNERS,
  MUON_COST_ROWS_STAY,
  MUON_COST_ASSEMBLIES
} MuonCostAssembly;

/*
   A step of an exchange. share[2 r + way] is the part of the bytes up and down that rank r owns; where it is
   NULL each owns as much. The status reduction at the end of a step is among the rounds
*/
typedef struct {
  int           ranks;
  PetscBool     star, everywhere; /* one rank owns all; each owns all */
  int           sums;             /* 0: messages, 1: sums at the owners, 2: sums everywhere */
  double        calls;            /* sums of MPI */
  double        up, down;         /* bytes of all messages of a worker, and of those of the owners */
  const double *share;
} MuonCostExchange;

/* Formulas, without MPI */
PETSC_INTERN double   MuonCostLog2(double ranks); /* rounded up */
PETSC_INTERN double   MuonCostSeconds(const MuonCostLink *, const MuonCost *, PetscBool whole);
PETSC_INTERN void     MuonCostAdd(MuonCost *to, MuonCost one);
PETSC_INTERN MuonCost MuonCostOfPattern(MuonCostPattern, double ranks, double s);
PETSC_INTERN MuonCost MuonCostOfVote(MuonCostVote, double ranks, double entries);
PETSC_INTERN MuonCost MuonCostOfExchange(const MuonCostExchange *);
/* entry: bytes of an entry; gathered: of one on its way to an LMO. A distribution sorts the layers */
PETSC_INTERN MuonCost               MuonCostOfAssembly(MuonCostAssembly, int ranks, PetscInt n, const MuonCostLayer layer[], double entry, double gathered);
PETSC_INTERN MuonCostOfDistribution MuonCostOfDistributions(MuonCostDistribution, int ranks, PetscInt n, MuonCostLayer layer[], double entry, double gathered);

/* The link as it was given or is assumed; an error where a number or its unit is wrong */
PETSC_INTERN PetscErrorCode MuonGetCostLink_Private(Muon, MuonCostLink *);
/*
   A step's messages between workers if the exchange were of that type and mode, and the same with even shares
   (may be NULL); legal: whether the optimizer's messages can go that way. Collective, after MuonSetUp()
*/
PETSC_INTERN PetscErrorCode MuonGetCost_Private(Muon, MuonExchangeType, MuonExchangeMode, MuonCost *, MuonCostExchange *even, PetscBool *legal);
