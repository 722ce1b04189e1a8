/*
   What the messages of a step cost by the alpha-beta model: a message of s bytes takes alpha + beta s seconds
   on a link that carries as much in each direction at once. Pure formulas without PETSc and MPI.

   A cost counts the messages that wait for one another, and the bytes on the busiest direction of a link of
   the rank that has most. Sums and broadcasts come in two ways: cut into shards that follow one another
   through the ranks, or as whole messages along a binomial tree, each of whose ceil(log2 J) levels waits for
   the one before. Sums to many servers at once use many trees, and what a rank sends on waits for what it
   receives. MPI chooses; both are given.
*/
#pragma once

#include <stddef.h>

/* Seconds a message, seconds a byte on the link, seconds a byte of messages that are summed or voted on */
typedef struct {
  double alpha, beta, gamma;
} MuonCostLink;

typedef struct {
  double rounds; /* messages one after the other, the small ones that carry sizes among them */
  double bytes;  /* on the busiest direction of a link, where what goes along a tree is cut into shards */
  double whole;  /* the same where trees carry whole messages */
  double work;   /* bytes that the busiest rank sums or votes on */
  double memory; /* bytes of messages on the rank that has most */
} MuonCost;

/* How bytes move between J ranks. s is what a rank gives, or in a broadcast what it gets */
typedef enum {
  MUON_COST_GATHER,             /* to one rank, that of each by itself */
  MUON_COST_BROADCAST,          /* from one rank along a tree */
  MUON_COST_REDUCE,             /* a sum at one rank along a tree */
  MUON_COST_ALLREDUCE_RING,     /* a sum everywhere */
  MUON_COST_ALLREDUCE_DOUBLING, /* the same by halving and doubling */
  MUON_COST_ALLGATHER_RING,     /* that of each to all */
  MUON_COST_ALLGATHER_DOUBLING, /* the same in messages that double */
  MUON_COST_ALLTOALL,           /* a J-th to each rank */
  MUON_COST_REDUCE_SCATTER,     /* a J-th of the sum at each rank */
  MUON_COST_SHARE_RECORD        /* a few bytes of each to all */
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
extern const char *const MuonCostVoteNames[MUON_COST_VOTES][2];

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
extern const char *const MuonCostDistributionNames[MUON_COST_DISTRIBUTIONS];

typedef struct {
  double rows, columns, flops; /* of its oracle */
} MuonCostLayer;

/*
   What a way to distribute needs beside its messages: part of the oracles' work that the busiest rank does,
   and entries of state on a rank as a part of all entries
*/
typedef struct {
  MuonCost cost;
  double   oracle, state;
} MuonCostOfDistribution;

double MuonCostLog2(double ranks); /* rounded up */
double MuonCostSeconds(const MuonCostLink *link, const MuonCost *cost, int whole);
void   MuonCostAdd(MuonCost *to, const MuonCost *one);

MuonCost MuonCostOfPattern(MuonCostPattern pattern, double ranks, double s);
MuonCost MuonCostOfVote(MuonCostVote vote, double ranks, double entries);

/*
   A step of an exchange of n items with messages of up[i] and down[i] bytes. share[] gives each rank's part
   of the bytes served, in up and down, 2 * ranks numbers, or is NULL where every rank serves an n-th of the
   bytes; star: one rank serves all; everywhere: each serves all. sums 0: messages, 1: sums at the servers, 2:
   sums everywhere. The agreement of the ranks at the end of a step is among the rounds.
*/
typedef struct {
  int           ranks, star, everywhere, sums;
  double        calls;    /* sums of MPI */
  double        up, down; /* bytes of all messages of a worker, and of those of the servers */
  const double *share;
} MuonCostExchangeShape;
MuonCost MuonCostOfExchange(const MuonCostExchangeShape *shape);

/*
   entry: bytes of an entry of gradients and weights; gathered: of what an oracle is given, 2 where the
   published code gathers in bf16. The layers are sorted as the published code does it
*/
MuonCostOfDistribution MuonCostOfDistributions(MuonCostDistribution distribution, int ranks, size_t n, MuonCostLayer layer[], double entry, double gathered);

/*
   How a worker of so many ranks, each with its part of the rows, brings the matrices of its layers to their
   oracles: to each rank; to one rank and the steps back; their Gram matrices alone
*/
typedef enum {
  MUON_COST_ROWS_TO_ALL,
  MUON_COST_ROWS_TO_OWNERS,
  MUON_COST_ROWS_STAY,
  MUON_COST_ASSEMBLIES
} MuonCostAssembly;
/* gathered: bytes of an entry on its way to an oracle; entry: on its way back, and of a Gram matrix */
MuonCost MuonCostOfAssembly(MuonCostAssembly assembly, int ranks, size_t n, const MuonCostLayer layer[], double entry, double gathered);
