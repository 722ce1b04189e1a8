#include "muoncostmodel.h"

#include <stdlib.h>

const char *const MuonCostVoteNames[MUON_COST_VOTES][2]              = {{"replicated", "allreduce"}, {"replicated", "gather"}, {"star", "gather"}, {"star", "reduce"}, {"range", "gather"}};
const char *const MuonCostDistributionNames[MUON_COST_DISTRIBUTIONS] = {"vanilla", "kj", "kj-rs", "bucketed", "moonlight", "motif", "gather-free"};

static double Larger(double a, double b)
{
  return a > b ? a : b;
}

double MuonCostLog2(double ranks)
{
  double levels = 0;

  for (double reached = 1; reached < ranks; reached *= 2) levels++;
  return levels;
}

double MuonCostSeconds(const MuonCostLink *link, const MuonCost *cost, int whole)
{
  return link->alpha * cost->rounds + link->beta * (whole ? cost->whole : cost->bytes) + link->gamma * cost->work;
}

void MuonCostAdd(MuonCost *to, const MuonCost *one)
{
  to->rounds += one->rounds;
  to->bytes += one->bytes;
  to->whole += one->whole;
  to->work += one->work;
  to->memory += one->memory;
}

/* Of rounds messages and bytes that no tree moves */
static MuonCost Plain(double rounds, double bytes, double work, double memory)
{
  const MuonCost cost = {rounds, bytes, bytes, work, memory};

  return cost;
}

MuonCost MuonCostOfPattern(MuonCostPattern pattern, double ranks, double s)
{
  const double others = ranks - 1, part = others / ranks, levels = MuonCostLog2(ranks);
  MuonCost     cost = {0, 0, 0, 0, 0};

  switch (pattern) {
  case MUON_COST_GATHER:
    cost = Plain(others, others * s, 0, ranks * s);
    break;
  case MUON_COST_BROADCAST:
  case MUON_COST_REDUCE:
    cost       = Plain(levels, others > 0 ? s : 0, pattern == MUON_COST_REDUCE && others > 0 ? s : 0, s);
    cost.whole = levels * s;
    break;
  case MUON_COST_ALLREDUCE_RING:
  case MUON_COST_ALLREDUCE_DOUBLING:
    cost       = Plain(pattern == MUON_COST_ALLREDUCE_RING ? 2 * others : 2 * levels, 2 * part * s, part * s, s);
    cost.whole = 2 * levels * s;
    break;
  case MUON_COST_ALLGATHER_RING:
  case MUON_COST_ALLGATHER_DOUBLING:
    cost = Plain(pattern == MUON_COST_ALLGATHER_RING ? others : levels, others * s, 0, ranks * s);
    break;
  case MUON_COST_ALLTOALL:
  case MUON_COST_REDUCE_SCATTER:
    cost = Plain(others, part * s, pattern == MUON_COST_REDUCE_SCATTER ? part * s : 0, s);
    break;
  case MUON_COST_SHARE_RECORD:
    cost = Plain(levels, 0, 0, 0);
    break;
  }
  return cost;
}

/* One after the other */
static void Then(MuonCost *cost, MuonCostPattern pattern, double ranks, double s)
{
  const MuonCost one = MuonCostOfPattern(pattern, ranks, s);

  MuonCostAdd(cost, &one);
}

static double PackedBytes(double bits)
{
  const double bytes = bits / 8, down = (double)(long long)bytes;

  return down < bytes ? down + 1 : down;
}

MuonCost MuonCostOfVote(MuonCostVote vote, double ranks, double entries)
{
  const double bits = PackedBytes(entries);
  MuonCost     cost = {0, 0, 0, 0, 0};

  switch (vote) {
  case MUON_COST_VOTE_SUMS:
    Then(&cost, MUON_COST_ALLREDUCE_RING, ranks, entries * (ranks > 127 ? 2 : 1));
    break;
  case MUON_COST_VOTE_ALL:
    Then(&cost, MUON_COST_ALLGATHER_RING, ranks, bits);
    cost.work = ranks * bits;
    break;
  case MUON_COST_VOTE_STAR:
    Then(&cost, MUON_COST_GATHER, ranks, bits);
    Then(&cost, MUON_COST_BROADCAST, ranks, bits);
    cost.work = ranks * bits;
    break;
  case MUON_COST_VOTE_TREE: /* a rank on level k has counted 2^k votes, which k + 1 bits hold */
    for (double level = 0; level < MuonCostLog2(ranks); level++) {
      const double   counters = PackedBytes((level + 1) * entries);
      const MuonCost one      = Plain(1, counters, counters, counters);

      MuonCostAdd(&cost, &one);
    }
    Then(&cost, MUON_COST_BROADCAST, ranks, bits);
    break;
  case MUON_COST_VOTE_RANGE:
    Then(&cost, MUON_COST_ALLTOALL, ranks, bits);
    Then(&cost, MUON_COST_ALLGATHER_RING, ranks, bits / ranks);
    cost.work = bits;
    break;
  case MUON_COST_VOTES:
    break;
  }
  return cost;
}

/*
   Largest over the ranks of what goes in and what goes out where rank r owns the part share[2 r + way] of
   the bytes, and in or out of it goes so many times
*/
static double Busiest(const MuonCostExchangeShape *shape, int way, double times, double *most)
{
  double busiest = 0;

  *most = 0;
  for (int r = 0; r < shape->ranks; r++) {
    const double mine = shape->share != NULL ? shape->share[2 * r + way] : 1.0 / shape->ranks;

    *most   = Larger(*most, mine);
    busiest = Larger(busiest, Larger(times * mine, 1 - mine));
    if (shape->share == NULL) break;
  }
  return busiest;
}

MuonCost MuonCostOfExchange(const MuonCostExchangeShape *shape)
{
  const double ranks = shape->ranks, others = ranks - 1, calls = shape->calls;
  MuonCost     cost = {0, 0, 0, 0, 0}, one;
  double       most, busiest;

  if (shape->ranks > 1) {
    if (shape->sums == 2) {
      one = MuonCostOfPattern(MUON_COST_ALLREDUCE_RING, ranks, shape->up);
      one.rounds *= calls;
    } else if (shape->everywhere) {
      one      = MuonCostOfPattern(MUON_COST_ALLGATHER_RING, ranks, shape->up);
      one.work = ranks * shape->up;
    } else {
      busiest = shape->star ? 1 : Busiest(shape, 0, shape->sums ? 1 : others, &most);
      if (shape->star) most = 1;
      if (shape->sums) {
        one        = MuonCostOfPattern(MUON_COST_REDUCE, ranks, busiest * shape->up);
        one.memory = 0;                                                /* sums have a place already */
        if (!shape->star) one.whole = (ranks > 2 ? 2 : 1) * one.bytes; /* what a rank between others has received it sends on only then */
        one.rounds *= calls;
      } else if (shape->star) one = MuonCostOfPattern(MUON_COST_GATHER, ranks, shape->up);
      else one = Plain(others, busiest * shape->up, 0, (1 + ranks * most) * shape->up);
      if (!shape->sums) one.work = ranks * most * shape->up;
    }
    MuonCostAdd(&cost, &one);
    if (shape->sums == 0) Then(&cost, MUON_COST_SHARE_RECORD, ranks, 0);
    if (!shape->everywhere) {
      if (shape->star) one = MuonCostOfPattern(MUON_COST_BROADCAST, ranks, shape->down);
      else {
        busiest = Busiest(shape, 1, 0, &most);
        one     = Plain(others, busiest * shape->down, 0, (1 + most) * shape->down);
      }
      MuonCostAdd(&cost, &one);
      Then(&cost, MUON_COST_SHARE_RECORD, ranks, 0);
    }
  }
  /* The agreement: records of all to all, and a vote */
  Then(&cost, MUON_COST_SHARE_RECORD, ranks, 0);
  Then(&cost, MUON_COST_SHARE_RECORD, ranks, 0);
  return cost;
}

static int Falling(double a, double b)
{
  return a == b ? 0 : a > b ? -1 : 1;
}

static int CompareShapes(const MuonCostLayer *x, const MuonCostLayer *y)
{
  const int rows = Falling(x->rows, y->rows);

  return rows != 0 ? rows : Falling(x->columns, y->columns);
}

static int CompareEntries(const void *a, const void *b)
{
  const MuonCostLayer *x = (const MuonCostLayer *)a, *y = (const MuonCostLayer *)b;
  const int            entries = Falling(x->rows * x->columns, y->rows * y->columns);

  return entries != 0 ? entries : CompareShapes(x, y);
}

static int CompareFlops(const void *a, const void *b)
{
  const MuonCostLayer *x = (const MuonCostLayer *)a, *y = (const MuonCostLayer *)b;
  const int            flops = Falling(x->flops, y->flops);

  return flops != 0 ? flops : CompareEntries(a, b);
}

/*
   Of layers in blocks of as many as there are ranks, the first of each at the first rank: how many blocks
   there are, their entries, padded to whole blocks where a block is of one shape, and the work of the busiest
   rank
*/
static double Blocks(int ranks, size_t n, const MuonCostLayer layer[], int buckets, double *padded, double *busiest)
{
  double blocks = 0;

  *busiest = 0;
  for (int r = 0; r < ranks; r++) {
    double load  = 0;
    int    place = ranks;

    blocks = *padded = 0;
    for (size_t k = 0; k < n; k++) {
      if (place == ranks || (buckets && CompareShapes(&layer[k], &layer[k - 1]) != 0)) {
        place = 0;
        blocks++;
        if (buckets) *padded += ranks * layer[k].rows * layer[k].columns;
      }
      if (!buckets) *padded += layer[k].rows * layer[k].columns;
      if (place == r) load += layer[k].flops;
      place++;
    }
    *busiest = Larger(*busiest, load);
  }
  return blocks;
}

MuonCostOfDistribution MuonCostOfDistributions(MuonCostDistribution distribution, int ranks, size_t n, MuonCostLayer layer[], double entry, double gathered)
{
  const int              owners = distribution == MUON_COST_KJ || distribution == MUON_COST_KJ_RS || distribution == MUON_COST_BUCKETED || distribution == MUON_COST_MOTIF;
  const int              rows   = distribution == MUON_COST_MOONLIGHT || distribution == MUON_COST_MOTIF || distribution == MUON_COST_GRAM;
  const double           J = ranks, part = (J - 1) / J;
  MuonCostOfDistribution result  = {{0, 0, 0, 0, 0}, 1, 1};
  double                 entries = 0, flops = 0, squares = 0, padded = 0, busiest = 0, blocks = 0;

  for (size_t i = 0; i < n; i++) {
    const double a = layer[i].rows < layer[i].columns ? layer[i].rows : layer[i].columns;

    entries += layer[i].rows * layer[i].columns;
    flops += layer[i].flops;
    squares += a * a;
  }
  qsort(layer, n, sizeof(*layer), distribution == MUON_COST_MOTIF ? CompareFlops : CompareEntries);
  if (owners) blocks = Blocks(ranks, n, layer, distribution == MUON_COST_BUCKETED, &padded, &busiest);
  if (distribution == MUON_COST_VANILLA || distribution == MUON_COST_KJ || distribution == MUON_COST_BUCKETED) {
    Then(&result.cost, MUON_COST_ALLREDUCE_RING, J, entries * entry);
  } else Then(&result.cost, MUON_COST_REDUCE_SCATTER, J, entries * entry);
  if (owners && !rows) {
    const MuonCost back = Plain(blocks * (J - 1), part * padded * entry, 0, padded * entry);

    MuonCostAdd(&result.cost, &back);
  } else if (rows) Then(&result.cost, MUON_COST_ALLGATHER_RING, J, entries * entry / J);
  if (distribution == MUON_COST_MOONLIGHT) Then(&result.cost, MUON_COST_ALLGATHER_RING, J, entries * gathered / J);
  if (distribution == MUON_COST_MOTIF) {
    /*
       Rows of all layers to their owners, and what the oracles made of them back: each a J-th part of what an
       all-gather moves
    */
    const MuonCost way = Plain(blocks * (J - 1), part * entries * gathered / J, 0, entries * gathered / J);

    MuonCostAdd(&result.cost, &way);
    MuonCostAdd(&result.cost, &way);
  }
  if (distribution == MUON_COST_GRAM) Then(&result.cost, MUON_COST_ALLREDUCE_RING, J, squares * entry);
  if (owners) result.oracle = flops > 0 ? busiest / flops : 1 / J;
  if (distribution == MUON_COST_GRAM) result.oracle = 1 / J;
  if (distribution != MUON_COST_VANILLA) result.state = 1 / J;
  return result;
}

MuonCost MuonCostOfAssembly(MuonCostAssembly assembly, int ranks, size_t n, const MuonCostLayer layer[], double entry, double gathered)
{
  const double J       = ranks;
  double       entries = 0, squares = 0;
  MuonCost     cost, back;

  for (size_t i = 0; i < n; i++) {
    const double side = layer[i].rows < layer[i].columns ? layer[i].rows : layer[i].columns;

    entries += layer[i].rows * layer[i].columns;
    squares += side * side;
  }
  if (assembly == MUON_COST_ROWS_STAY) return MuonCostOfPattern(MUON_COST_ALLREDUCE_RING, J, squares * entry);
  if (assembly == MUON_COST_ROWS_TO_ALL) return MuonCostOfPattern(MUON_COST_ALLGATHER_RING, J, entries * gathered / J);
  cost = MuonCostOfPattern(MUON_COST_ALLTOALL, J, entries * gathered / J);
  back = MuonCostOfPattern(MUON_COST_ALLTOALL, J, entries * entry / J);
  MuonCostAdd(&cost, &back);
  return cost;
}
