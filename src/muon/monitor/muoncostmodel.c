#include "muoncost.h"
#include <math.h>
#include <stdlib.h>

const char *const MuonCostDistributionNames[MUON_COST_DISTRIBUTIONS] = {"vanilla", "kj", "kj-rs", "bucketed", "moonlight", "motif", "gather-free"};

double MuonCostLog2(double ranks)
{
  double levels = 0;

  for (double reached = 1; reached < ranks; reached *= 2) levels++;
  return levels;
}

double MuonCostSeconds(const MuonCostLink *link, const MuonCost *cost, PetscBool whole)
{
  return link->alpha * cost->rounds + link->beta * (whole ? cost->whole : cost->bytes) + link->gamma * cost->work;
}

void MuonCostAdd(MuonCost *to, MuonCost one)
{
  to->rounds += one.rounds;
  to->bytes += one.bytes;
  to->whole += one.whole;
  to->work += one.work;
  to->memory += one.memory;
}

/* Rounds and bytes that no tree moves */
static MuonCost Direct(double rounds, double bytes, double work, double memory)
{
  const MuonCost cost = {rounds, bytes, bytes, work, memory};

  return cost;
}

MuonCost MuonCostOfPattern(MuonCostPattern pattern, double ranks, double s)
{
  const double   others = ranks - 1, part = others / ranks * s, levels = MuonCostLog2(ranks), once = others > 0 ? s : 0;
  const MuonCost cost[] = {
    {others, others * s, others * s, 0, ranks * s},  /* gather */
    {levels, once, levels * s, 0, s},                /* broadcast */
    {levels, once, levels * s, once, s},             /* reduce */
    {2 * others, 2 * part, 2 * levels * s, part, s}, /* allreduce */
    {others, part, part, 0, s},                      /* all-to-all */
    {others, part, part, part, s},                   /* reduce-scatter */
    {levels, 0, 0, 0, 0}                             /* a record */
  };

  return cost[pattern];
}

MuonCost MuonCostOfVote(MuonCostVote vote, double ranks, double entries)
{
  const double bits = ceil(entries / 8);
  MuonCost     cost = {0, 0, 0, 0, 0};

  if (vote == MUON_COST_VOTE_SUMS) return MuonCostOfPattern(MUON_COST_ALLREDUCE, ranks, entries * (ranks > 127 ? 2 : 1));
  if (vote == MUON_COST_VOTE_TREE) {
    for (double level = 0; level < MuonCostLog2(ranks); level++) { /* a rank there has counted 2^level votes, which level + 1 bits hold */
      const double counters = ceil((level + 1) * entries / 8);

      MuonCostAdd(&cost, Direct(1, counters, counters, counters));
    }
  } else {
    MuonCostAdd(&cost, MuonCostOfPattern(vote == MUON_COST_VOTE_RANGE ? MUON_COST_ALLTOALL : MUON_COST_GATHER, ranks, bits));
    cost.work = vote == MUON_COST_VOTE_RANGE ? bits : ranks * bits;
  }
  if (vote == MUON_COST_VOTE_RANGE) MuonCostAdd(&cost, MuonCostOfPattern(MUON_COST_GATHER, ranks, bits / ranks));
  else if (vote != MUON_COST_VOTE_ALL) MuonCostAdd(&cost, MuonCostOfPattern(MUON_COST_BROADCAST, ranks, bits));
  return cost;
}

/* Largest over the ranks of what goes in and what goes out, where what rank r owns goes so many times; most is the largest share */
static double Busiest(const MuonCostExchange *x, int way, double times, double *most)
{
  double busiest = 0;

  *most = 0;
  for (int r = 0; r < (x->share != NULL ? x->ranks : 1); r++) {
    const double mine = x->star ? 1 : x->share != NULL ? x->share[2 * r + way] : 1.0 / x->ranks;

    *most   = PetscMax(*most, mine);
    busiest = PetscMax(busiest, PetscMax(times * mine, 1 - mine));
  }
  return busiest;
}

static MuonCost Up(const MuonCostExchange *x)
{
  const double ranks = x->ranks;
  double       most, busiest = Busiest(x, 0, x->sums ? 1 : ranks - 1, &most);
  MuonCost     cost;

  if (x->sums == 2) cost = MuonCostOfPattern(MUON_COST_ALLREDUCE, ranks, x->up);
  else if (x->sums) {
    cost        = MuonCostOfPattern(MUON_COST_REDUCE, ranks, busiest * x->up);
    cost.memory = 0;                                             /* sums have a place already */
    if (!x->star) cost.whole = (ranks > 2 ? 2 : 1) * cost.bytes; /* a rank between others sends on what it has received */
  } else {
    if (x->everywhere || x->star) cost = MuonCostOfPattern(MUON_COST_GATHER, ranks, x->up);
    else cost = Direct(ranks - 1, busiest * x->up, 0, (1 + ranks * most) * x->up);
    cost.work = ranks * (x->everywhere ? 1 : most) * x->up;
    MuonCostAdd(&cost, MuonCostOfPattern(MUON_COST_SHARE_RECORD, ranks, 0));
    return cost;
  }
  cost.rounds *= x->calls;
  return cost;
}

MuonCost MuonCostOfExchange(const MuonCostExchange *x)
{
  const double ranks = x->ranks;
  MuonCost     cost  = {0, 0, 0, 0, 0};
  double       most, busiest;

  if (x->ranks > 1) {
    cost = Up(x);
    if (x->star) MuonCostAdd(&cost, MuonCostOfPattern(MUON_COST_BROADCAST, ranks, x->down));
    else if (!x->everywhere) {
      busiest = Busiest(x, 1, 0, &most);
      MuonCostAdd(&cost, Direct(ranks - 1, busiest * x->down, 0, (1 + most) * x->down));
    }
    if (!x->everywhere) MuonCostAdd(&cost, MuonCostOfPattern(MUON_COST_SHARE_RECORD, ranks, 0));
  }
  /* The status reduction: records of all to all, and a vote */
  for (int k = 0; k < 2; k++) MuonCostAdd(&cost, MuonCostOfPattern(MUON_COST_SHARE_RECORD, ranks, 0));
  return cost;
}

/* Falling */
static int CompareLayers(const void *a, const void *b)
{
  const MuonCostLayer *x = (const MuonCostLayer *)a, *y = (const MuonCostLayer *)b;
  const double         key[4][2] = {{x->load, y->load}, {x->rows * x->columns, y->rows * y->columns}, {x->rows, y->rows}, {x->columns, y->columns}};

  for (int k = 0; k < 4; k++) {
    if (key[k][0] != key[k][1]) return key[k][0] > key[k][1] ? -1 : 1;
  }
  return 0;
}

/*
   Of layers in blocks of as many as there are ranks, the first of each at the first rank: how many blocks
   there are, their entries, padded to whole blocks where a block is of one shape, and the work of the busiest
   rank
*/
static double Blocks(int ranks, PetscInt n, const MuonCostLayer layer[], PetscBool buckets, double *padded, double *busiest)
{
  double blocks = 0;

  *busiest = 0;
  for (int r = 0; r < ranks; r++) {
    double load  = 0;
    int    place = ranks;

    blocks = *padded = 0;
    for (PetscInt k = 0; k < n; k++) {
      const PetscBool next = place == ranks || (buckets && (layer[k].rows != layer[k - 1].rows || layer[k].columns != layer[k - 1].columns)) ? PETSC_TRUE : PETSC_FALSE;

      if (next) place = 0;
      if (next) blocks++;
      if (next || !buckets) *padded += (buckets ? ranks : 1) * layer[k].rows * layer[k].columns;
      if (place++ == r) load += layer[k].flops;
    }
    *busiest = PetscMax(*busiest, load);
  }
  return blocks;
}

static void SumLayers(PetscInt n, const MuonCostLayer layer[], double *entries, double *squares, double *flops)
{
  *entries = *squares = *flops = 0;
  for (PetscInt i = 0; i < n; i++) {
    const double side = PetscMin(layer[i].rows, layer[i].columns);

    *entries += layer[i].rows * layer[i].columns;
    *squares += side * side;
    *flops += layer[i].flops;
  }
}

MuonCostOfDistribution MuonCostOfDistributions(MuonCostDistribution which, int ranks, PetscInt n, MuonCostLayer layer[], double entry, double gathered)
{
  const PetscBool        rows    = which >= MUON_COST_MOONLIGHT ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool        owners  = which == MUON_COST_KJ || which == MUON_COST_KJ_RS || which == MUON_COST_BUCKETED || which == MUON_COST_MOTIF ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool        scatter = rows || which == MUON_COST_KJ_RS ? PETSC_TRUE : PETSC_FALSE;
  const double           J = ranks, part = (J - 1) / J;
  MuonCostOfDistribution result = {{0, 0, 0, 0, 0}, 1, which == MUON_COST_VANILLA ? 1 : 1 / J};
  MuonCost              *cost   = &result.cost;
  double                 entries, squares, flops, padded = 0, busiest = 0, blocks = 0;

  SumLayers(n, layer, &entries, &squares, &flops);
  for (PetscInt l = 0; l < n; l++) layer[l].load = which == MUON_COST_MOTIF ? layer[l].flops : 0;
  qsort(layer, (size_t)n, sizeof(*layer), CompareLayers);
  if (owners) blocks = Blocks(ranks, n, layer, which == MUON_COST_BUCKETED ? PETSC_TRUE : PETSC_FALSE, &padded, &busiest);
  if (owners || which == MUON_COST_GRAM) result.oracle = owners && flops > 0 ? busiest / flops : 1 / J;
  *cost = MuonCostOfPattern(scatter ? MUON_COST_REDUCE_SCATTER : MUON_COST_ALLREDUCE, J, entries * entry);
  if (rows) MuonCostAdd(cost, MuonCostOfPattern(MUON_COST_GATHER, J, entries * entry / J));
  else if (owners) MuonCostAdd(cost, Direct(blocks * (J - 1), part * padded * entry, 0, padded * entry));
  if (which == MUON_COST_MOONLIGHT) MuonCostAdd(cost, MuonCostOfPattern(MUON_COST_GATHER, J, entries * gathered / J));
  /* Rows of all layers to their owners, and what the LMOs made of them back: each a J-th part of what an all-gather moves */
  for (int way = 0; way < 2 && which == MUON_COST_MOTIF; way++) MuonCostAdd(cost, Direct(blocks * (J - 1), part * entries * gathered / J, 0, entries * gathered / J));
  if (which == MUON_COST_GRAM) MuonCostAdd(cost, MuonCostOfPattern(MUON_COST_ALLREDUCE, J, squares * entry));
  return result;
}

MuonCost MuonCostOfAssembly(MuonCostAssembly assembly, int ranks, PetscInt n, const MuonCostLayer layer[], double entry, double gathered)
{
  double   entries, squares, flops;
  MuonCost cost;

  SumLayers(n, layer, &entries, &squares, &flops);
  if (assembly == MUON_COST_ROWS_STAY) return MuonCostOfPattern(MUON_COST_ALLREDUCE, ranks, squares * entry);
  if (assembly == MUON_COST_ROWS_TO_ALL) return MuonCostOfPattern(MUON_COST_GATHER, ranks, entries * gathered / ranks);
  cost = MuonCostOfPattern(MUON_COST_ALLTOALL, ranks, entries * gathered / ranks);
  MuonCostAdd(&cost, MuonCostOfPattern(MUON_COST_ALLTOALL, ranks, entries * entry / ranks));
  return cost;
}
