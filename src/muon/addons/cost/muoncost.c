#include "muoncost.h" /*I "petscmuon.h" I*/

/* Break-evens are looked for up to so many workers */
#define MUON_COST_WORKERS 4096

/* The exchanges and modes of the tables: messages of the optimizer, then votes on signs */
static const struct {
  MuonExchangeType type;
  MuonExchangeMode mode;
  MuonCostPattern  up, down;
} Ways[] = {{MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE, MUON_COST_REDUCE, MUON_COST_BROADCAST},           {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_GATHER, MUON_COST_GATHER, MUON_COST_BROADCAST},
            {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_ALLREDUCE, MUON_COST_ALLREDUCE, MUON_COST_NOTHING}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER, MUON_COST_GATHER, MUON_COST_NOTHING},
            {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_REDUCE, MUON_COST_REDUCE, MUON_COST_FROM_OWNERS},    {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_ALLREDUCE, MUON_COST_ALLREDUCE, MUON_COST_FROM_OWNERS},
            {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER, MUON_COST_TO_OWNERS, MUON_COST_FROM_OWNERS},
#define MUON_COST_VOTES 7
            {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_ALLREDUCE, MUON_COST_ALLREDUCE, MUON_COST_NOTHING}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER, MUON_COST_GATHER, MUON_COST_NOTHING},
            {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_GATHER, MUON_COST_GATHER, MUON_COST_BROADCAST},           {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE, MUON_COST_TREE, MUON_COST_BROADCAST},
            {MUONEXCHANGERANGE, MUON_EXCHANGE_MODE_GATHER, MUON_COST_TO_OWNERS, MUON_COST_FROM_OWNERS}};
#define MUON_COST_WAYS ((int)PETSC_STATIC_ARRAY_LENGTH(Ways))

double MuonCostSeconds(Muon muon, const MuonCost *cost, PetscBool whole)
{
  const MuonCostLink *link = MuonCostLinkOf(muon);

  return (double)link->alpha * cost->rounds + 8 / (double)link->beta * (whole ? cost->whole : cost->bytes) + cost->work / (double)link->gamma;
}

/* Whose messages are sent: with local steps those of the other optimizer */
static Muon MuonCostSender(Muon muon)
{
  return muon->nested != NULL ? muon->nested : muon;
}

MuonCost MuonCostOf(double J, int n, const MuonCostMessages messages[])
{
  const double levels = ceil(log2(J)), others = J - 1;
  MuonCost     all = {0, 0, 0, 0};

  for (int k = 0; k < n && J > 1; k++) {
    const double    s = messages[k].bytes, most = messages[k].most, least = messages[k].least, busiest = PetscMax(most, 1 - least) * s;
    const MuonCost  cost[] = {{0, 0, 0, 0},
                              {levels, 0, 0, 0},
                              {others, others * s, others * s, J * s},
                              {others, PetscMax(others * most, 1 - least) * s, PetscMax(others * most, 1 - least) * s, J * most * s},
                              /* A rank between others sends on what it has received */
                              {levels, busiest, (most == 1 ? levels : PetscMin(levels, 2)) * busiest, busiest},
                              /* A rank on a level has counted 2^level votes, which level + 1 bits hold */
                              {levels, levels * (levels + 1) / 2 * s, levels * (levels + 1) / 2 * s, levels * (levels + 1) / 2 * s},
                              {2 * others, 2 * others / J * s, 2 * levels * s, others / J * s},
                              {levels, s, levels * s, 0},
                              {others, (1 - least) * s, (1 - least) * s, 0},
                              {levels, busiest, (most == 1 ? levels : PetscMin(levels, 2)) * busiest, 0}};
    const MuonCost *one    = &cost[messages[k].pattern];

    all.rounds += messages[k].calls * one->rounds;
    all.bytes += one->bytes;
    all.whole += one->whole;
    all.work += one->work;
  }
  return all;
}

MuonCost MuonCostOfVote(int vote, double ranks, double entries, PetscBool ties)
{
  const int              way  = MUON_COST_VOTES + vote;
  const double           bits = ceil(entries / 8), sums = entries * (ranks > 127 ? 2 : 1); /* of int8, or int16 */
  const double           planes      = ties && fmod(ranks, 2) == 0 ? 2 : 1;                /* the majority, and which entries it leaves */
  const MuonCostMessages messages[2] = {{Ways[way].up, Ways[way].mode == MUON_EXCHANGE_MODE_ALLREDUCE ? sums : bits, 1, 1 / ranks, 1 / ranks}, {Ways[way].down, planes * bits, 1, 1 / ranks, 1 / ranks}};

  return MuonCostOf(ranks, 2, messages);
}

/* A line of the table: a way, its messages, and its cost with the owners as they are */
typedef struct {
  int              way;
  PetscBool        ties;        /* of votes */
  MuonCostMessages messages[3]; /* up, down, and records that carry sizes or the status of all ranks */
  MuonCost         cost;
} MuonCostRow;

/* Groups follow one another, except that those of ranks that share a link overlap on it. rounds: of these ranks so far */
static void MuonCostAdd(Muon from, const MuonGroup group, const MuonCost *one, MuonCost *all, double *rounds)
{
  const double before = MuonGroupFollows(from, group) ? *rounds : 0;

  *rounds = PetscMax(one->rounds, before);
  all->rounds += *rounds - before;
  all->bytes += one->bytes;
  all->whole += one->whole;
  all->work += one->work;
}

/* Between so many workers: if not one rank owns all, shares are even */
static MuonCost MuonCostOfRow(const MuonCostRow *row, double workers, double entries)
{
  MuonCostMessages messages[3] = {row->messages[0], row->messages[1], row->messages[2]};
  const PetscBool  star        = messages[1].pattern == MUON_COST_BROADCAST ? PETSC_TRUE : PETSC_FALSE;

  if (row->way >= MUON_COST_VOTES) return MuonCostOfVote(row->way - MUON_COST_VOTES, workers, entries, row->ties);
  for (int k = 0; k < 3; k++) {
    messages[k].most  = star ? 1 : 1 / workers;
    messages[k].least = star ? 0 : 1 / workers;
  }
  return MuonCostOf(workers, 3, messages);
}

/* Most bytes of a shard's messages, up and down; sums move the entries alone */
static PetscErrorCode MuonCostOfShard_Private(MuonShard *shard, PetscBool sums, double bytes[2], PetscBool *legal)
{
  const MuonArray state = MuonShardStateShape(shard), weights = MuonShardWeightsShape(shard);
  size_t          most[2];

  PetscFunctionBegin;
  PetscCall(MuonShardGetMaxBytes_Private(shard, most));
  bytes[0] = (double)(sums || MuonGroupFitsArrays(shard->group, 0) ? MuonArrayBytes(&state) : most[0]);
  bytes[1] = (double)(MuonGroupFitsArrays(shard->group, 1) ? MuonArrayBytes(&weights) : most[1]);
  if (sums && shard->up->assignment == PETSC_FALSE) *legal = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the active layers: entries, and bytes of all messages up and down, by -muon_cost_entries and by the messages of the last step */
typedef struct {
  double entries, bytes[2], scale, part[2];
} MuonCostSizes;

static PetscErrorCode MuonCostGetSizes_Private(Muon muon, MuonCostSizes *sizes)
{
  const MuonCostLink *link       = MuonCostLinkOf(muon);
  const Muon          from       = MuonCostSender(muon);
  const MuonShard    *last       = from->nshards > 0 ? &from->shard[from->nshards - 1] : NULL;
  double              counted[4] = {(double)muon->traffic.up[1] / 8, (double)muon->traffic.down[1] / 8, 0, 0}, entries = 0; /* in the last step, and at most of the same shards */

  PetscFunctionBegin;
  PetscCall(PetscMemzero(sizes, sizeof(*sizes)));
  for (PetscInt l = 0; l < muon->nactive; l++) entries += (double)muon->active[l]->m * (double)muon->active[l]->n;
  sizes->scale   = link->entries > 0 && entries > 0 ? (double)link->entries / entries : 1;
  sizes->entries = entries * sizes->scale;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    double    one[2];
    PetscBool unused;

    PetscCall(MuonCostOfShard_Private(&from->shard[p], PETSC_FALSE, one, &unused));
    for (int d = 0; d < 2; d++) {
      sizes->bytes[d] += one[d];
      if (MuonPortServes(from->shard[p].port)) counted[2 + d] += one[d];
    }
  }
  if (last != NULL && MuonPortCountRanks(last->port) < from->size) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counted, 4, MPI_DOUBLE, MPI_SUM, last->group->grid->inside));
  for (int d = 0; d < 2; d++) {
    sizes->part[d] = counted[d] > 0 && counted[2 + d] > 0 ? counted[d] / counted[2 + d] : 1;
    sizes->bytes[d] *= sizes->part[d] * sizes->scale;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages of arrays up, or down: small ones with the same owner travel together */
static double MuonCostArrays_Private(const MuonExchange exchange, MuonExchangeMode mode, PetscInt n, const double bytes[], int down)
{
  const double    most  = mode != MUON_EXCHANGE_MODE_GATHER && !down && exchange->nworkers > 2 ? 2 * MUON_EXCHANGE_SMALL : MUON_EXCHANGE_TOGETHER;
  const PetscBool one   = mode == MUON_EXCHANGE_MODE_ALLREDUCE && !down ? PETSC_TRUE : PETSC_FALSE; /* what all ranks get has one owner */
  double          calls = 0;

  for (PetscMPIInt r = 0; r < (one ? 1 : exchange->nworkers); r++) {
    double small = 0;

    for (PetscInt k = 0; k < n; k++) {
      if (one == PETSC_FALSE && exchange->owner[k] != r) continue;
      if (bytes[2 * k + down] > MUON_EXCHANGE_SMALL) calls++;
      else small += bytes[2 * k + down];
    }
    calls += ceil(small / most);
  }
  return calls;
}

/* The owners are those of an exchange of this type over the same shards */
static PetscErrorCode MuonCostOfGroup_Private(const MuonGroup group, int way, const double bytes[], MuonCostMessages m[3], PetscBool *legal)
{
  const PetscBool sums = Ways[way].mode == MUON_EXCHANGE_MODE_GATHER ? PETSC_FALSE : PETSC_TRUE, arrays[2] = {MuonGroupFitsArrays(group, 0), MuonGroupFitsArrays(group, 1)};
  MuonExchange    mine = group->exchange, other;
  double         *share;
  PetscBool       allowed;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCreate(PetscObjectComm((PetscObject)mine), &other));
  PetscCall(MuonExchangeSetType(other, Ways[way].type));
  PetscCall(MuonParametersAssign((PetscObject)other, "assignment", (double)mine->assignment));
  PetscCall(MuonExchangeSetItems(other, mine->nitems, mine->item));
  PetscCall(MuonExchangeSetUp(other));
  allowed = MuonExchangeIsLegal(other, Ways[way].mode);
  if (allowed == PETSC_FALSE) *legal = PETSC_FALSE;
  PetscCall(PetscCalloc1(2 * mine->nworkers, &share));
  PetscCall(PetscMemzero(m, 3 * sizeof(*m)));
  for (PetscInt k = 0; k < group->nshards; k++) {
    for (int d = 0; d < 2; d++) {
      share[2 * other->owner[k] + d] += bytes[2 * k + d];
      m[d].bytes += bytes[2 * k + d];
    }
  }
  for (int d = 0; d < 2; d++) {
    m[d].pattern = d == 0 ? Ways[way].up : Ways[way].down;
    m[d].calls   = arrays[d] || (d == 0 && sums) ? MuonCostArrays_Private(other, Ways[way].mode, group->nshards, bytes, d) : 1;
    m[d].least   = 1;
    for (PetscMPIInt r = 0; r < mine->nworkers && m[d].bytes > 0; r++) {
      m[d].most  = PetscMax(m[d].most, share[2 * r + d] / m[d].bytes);
      m[d].least = PetscMin(m[d].least, share[2 * r + d] / m[d].bytes);
    }
  }
  if (arrays[1] && m[1].pattern == MUON_COST_FROM_OWNERS) m[1].pattern = MUON_COST_SPREAD;
  /* Messages are preceded by their sizes; the status reduction has records of all ranks to all, and a vote */
  m[2].pattern = MUON_COST_RECORD;
  m[2].calls   = (sums || arrays[0] ? 0 : 1) + (Ways[way].down != MUON_COST_NOTHING && arrays[1] == PETSC_FALSE ? 1 : 0) + 2;
  PetscCall(PetscFree(share));
  PetscCall(MuonExchangeDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all groups; the messages of the row are those of all groups together */
static PetscErrorCode MuonCostOfWay_Private(Muon muon, int way, const MuonCostSizes *sizes, MuonCostRow *row, PetscBool *legal)
{
  const PetscBool sums = Ways[way].mode == MUON_EXCHANGE_MODE_GATHER ? PETSC_FALSE : PETSC_TRUE;
  const Muon      from = MuonCostSender(muon);
  double         *bytes, rounds = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(row, sizeof(*row)));
  PetscCall(PetscMalloc1(2 * from->nshards, &bytes));
  row->way = way;
  *legal   = PETSC_TRUE;
  for (PetscInt g = 0; g < from->ngroups; g++) {
    const MuonGroup  group = from->group[g];
    MuonCostMessages m[3];
    MuonCost         one;

    for (PetscInt k = 0; k < group->nshards; k++) {
      PetscCall(MuonCostOfShard_Private(&group->shard[k], sums, &bytes[2 * k], legal));
      for (int d = 0; d < 2; d++) bytes[2 * k + d] *= sizes->scale * (d == 0 && sums ? 1 : sizes->part[d]);
    }
    PetscCall(MuonCostOfGroup_Private(group, way, bytes, m, legal));
    one = MuonCostOf(group->exchange->nworkers, 3, m);
    MuonCostAdd(from, group, &one, &row->cost, &rounds);
    if (m[0].calls > 1) m[0].calls += row->messages[0].calls;
    for (int k = 0; k < 3; k++) {
      m[k].bytes += row->messages[k].bytes;
      row->messages[k] = m[k];
    }
  }
  PetscCall(PetscFree(bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetCost_Private(Muon muon, MuonExchangeType type, MuonExchangeMode mode, MuonCost *cost, PetscBool *legal)
{
  MuonCostSizes sizes;
  MuonCostRow   row;

  PetscFunctionBegin;
  *legal = PETSC_FALSE;
  PetscCall(PetscMemzero(cost, sizeof(*cost)));
  PetscCall(MuonCostGetSizes_Private(muon, &sizes));
  for (int way = 0; way < MUON_COST_VOTES; way++) {
    if (Ways[way].mode != mode || strcmp(Ways[way].type, type) != 0) continue;
    PetscCall(MuonCostOfWay_Private(muon, way, &sizes, &row, legal));
    *cost = row.cost;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows, the cheapest of them, and for which numbers of workers which row is cheapest */
static PetscErrorCode MuonCostViewRows_Private(Muon muon, PetscViewer viewer, const char title[], double entries, int n, const MuonCostRow row[])
{
  const MuonCostLink *link  = MuonCostLinkOf(muon);
  const MuonGroup     group = MuonCostSender(muon)->group[0];
  PetscInt            steps = 0;
  int                 best  = -1;
  const char         *type  = ((PetscObject)group->exchange)->type_name;
  const PetscBool     hides = MuonRoundsDepth(MuonCostSender(muon)) > 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscTryMethod(muon, "MuonGetRoundSteps_C", (Muon, PetscInt *), (muon, &steps));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", title));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %-12s %-9s %8s %14s %12s %12s\n", "exchange", "mode", "rounds", "bytes on link", "seconds", "whole trees"));
  for (int k = 0; k < n; k++) {
    const int       way  = row[k].way;
    const MuonCost *cost = &row[k].cost;
    MuonCost        up;
    const PetscBool chosen = way < MUON_COST_VOTES && group->exchange->mode == Ways[way].mode && strcmp(type, Ways[way].type) == 0 ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(PetscViewerASCIIPrintf(viewer, "%1s %-12s %-9s %8.0f %14.6g %12.6g %12.6g\n", chosen ? "*" : "", Ways[way].type, MuonExchangeModes[Ways[way].mode], cost->rounds, cost->bytes, MuonCostSeconds(muon, cost, PETSC_FALSE),
                                     MuonCostSeconds(muon, cost, PETSC_TRUE)));
    up = MuonCostOf(link->workers > 0 ? (double)link->workers : group->exchange->nworkers, 1, row[k].messages);
    if (chosen && hides) PetscCall(PetscViewerASCIIPrintf(viewer, "  up %.6g seconds, which layers with LMOs may hide behind the next gradient\n", MuonCostSeconds(muon, &up, PETSC_FALSE)));
    if (chosen && steps > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "  once in %" PetscInt_FMT " steps: %.6g seconds a step\n", steps, MuonCostSeconds(muon, cost, PETSC_FALSE) / (double)steps));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "cheapest by the number of workers, with even shares:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (int workers = 2; workers <= MUON_COST_WORKERS; workers++) {
    double least    = PETSC_MAX_REAL;
    int    cheapest = best;

    for (int k = 0; k < n; k++) {
      const MuonCost cost    = MuonCostOfRow(&row[k], workers, entries);
      const double   seconds = MuonCostSeconds(muon, &cost, PETSC_FALSE);

      if (seconds < least) cheapest = k;
      least = PetscMin(least, seconds);
    }
    if (cheapest != best) PetscCall(PetscViewerASCIIPrintf(viewer, "%s %s %s from %d", best >= 0 ? "," : "", Ways[row[cheapest].way].type, MuonExchangeModes[Ways[row[cheapest].way].mode], workers));
    best = cheapest;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostView_Private(Muon muon, PetscViewer viewer)
{
  const MuonCostLink *link    = MuonCostLinkOf(muon);
  const int           workers = link->workers > 0 ? (int)link->workers : muon->nshards > 0 ? MuonPortCountRanks(muon->shard->port) : muon->size;
  MuonCostSizes       sizes;
  MuonCostRow         row[MUON_COST_WAYS];
  PetscBool           ascii, ties = PETSC_TRUE;
  int                 n = 0;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonCostGetSizes_Private(muon, &sizes));
  PetscCall(PetscViewerASCIIPrintf(viewer, "Cost of a step's messages: %d workers, %" PetscInt_FMT " layers that move, %.0f entries\n", workers, muon->nactive, sizes.entries));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "link: %.4g us a message, %.4g Gbit/s each way; %.4g GB/s of messages are summed or voted on\n", 1e6 * (double)link->alpha, 1e-9 * (double)link->beta, 1e-9 * (double)link->gamma));
  if (muon->nshards > 0) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "messages of the optimizer: %s %.0f bytes up, %.0f down\n", sizes.part[0] != 1 || sizes.part[1] != 1 ? "as in the last step" : "at most", sizes.bytes[0], sizes.bytes[1]));
    for (int way = 0; way < MUON_COST_VOTES; way++) {
      PetscBool legal;

      PetscCall(MuonCostOfWay_Private(muon, way, &sizes, &row[n], &legal));
      if (link->workers > 0) row[n].cost = MuonCostOfRow(&row[n], workers, sizes.entries);
      if (legal) n++;
    }
    if (n > 0) PetscCall(MuonCostViewRows_Private(muon, viewer, "its exchanges, * the one chosen", sizes.entries, n, row));
    PetscTryMethod(MuonCostSender(muon), "MuonVotesHaveTies_C", (Muon, PetscBool *), (MuonCostSender(muon), &ties));
    PetscCall(PetscMemzero(row, sizeof(row))); /* votes have no messages of their own */
    for (n = 0; MUON_COST_VOTES + n < MUON_COST_WAYS; n++) {
      row[n].way  = MUON_COST_VOTES + n;
      row[n].ties = ties;
      row[n].cost = MuonCostOfVote(n, workers, sizes.entries, row[n].ties);
    }
    PetscCall(MuonCostViewRows_Private(muon, viewer, "votes on the signs of all entries, the work of the vote in the seconds", sizes.entries, n, row));
  }
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonViewCost - Prints the cost of a step's messages in the alpha-beta model, for each exchange

  Collective

  Input Parameters:
+ muon   - the optimizer; this routine calls `MuonSetUp()` if necessary
- viewer - an ASCII viewer, `NULL` for standard output

  Options Database Keys:
+ -muon_view_cost [viewer] - prints the cost at the end of `MuonSetUp()`
. -muon_cost_alpha time    - latency of the link in seconds, 25e-6 by default
. -muon_cost_beta speed    - speed of the link in each direction in bits a second, 10e9 by default
. -muon_cost_gamma speed   - speed at which a rank sums messages or counts votes, in bytes a second, 4e9 by default
. -muon_cost_workers J     - predicts for J workers with equal shares, 0 for the workers of this run
- -muon_cost_entries d     - predicts for d entries in matrices of the layers' shapes, 0 for the layers of this run

  Level: intermediate

  Notes:
  A message of s bytes takes alpha + beta s seconds, and each byte that is summed takes gamma. The seconds are alpha
  times the rounds, plus beta times the bytes on the busiest direction of the busiest rank's link, plus gamma times the
  bytes that this rank sums. A link has this speed in both directions at once.

  Reductions and broadcasts use trees. The column of seconds assumes pipelined trees, and a ring for allreduce. The
  last column assumes binomial trees of whole messages, where a rank sends on only what it has received completely. MPI
  chooses between them by sizes and ranks. Sums are one call for each layer, which pays its own latency. Messages are
  one packet for all layers.

  The first table is for the messages of the optimizer's type, with the owners that each exchange would choose. Sizes
  are upper bounds of the messages, and after a step those of this step. The second table is for votes on signs, one
  bit an entry up. Down it is two bits with `-sign_tie zero` and an even number of workers. Neither table has messages
  inside a worker of several ranks.

  With `-muon_node_size` the ranks of a node share one link. Otherwise each rank has its own. With `MUONLOCAL` the
  tables are for the messages of the outer optimizer, once a round. Nothing is measured; `share/petscmuon/advise`
  compares the model with the times of `-log_view`.

  References:
. * - SignMuon\: Communication-Efficient Distributed Muon Optimization, 2026, arXiv 2605.16311; the model, and the votes except range

.seealso: `Muon`, `MuonView()`, `MuonSetParameter()`, `MuonExchangeSetType()`
@*/
PetscErrorCode MuonViewCost(Muon muon, PetscViewer viewer)
{
  PetscBool ascii, string;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonViewBegin((PetscObject)muon, &viewer, &ascii, &string));
  PetscCheckSameComm(muon, 1, viewer, 2);
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonCostView_Private(muon, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the end of the set-up, where the option asks for it */
static PetscErrorCode MuonCostSetUp_Private(Muon muon)
{
  PetscViewer       viewer;
  PetscViewerFormat format;
  PetscBool         flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreateViewer(PetscObjectComm((PetscObject)muon), ((PetscObject)muon)->options, ((PetscObject)muon)->prefix, "-muon_view_cost", &viewer, &format, &flg));
  if (flg == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerPushFormat(viewer, format));
  PetscCall(MuonCostView_Private(muon, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostSetFromOptions_Private(Muon muon, MuonOptionItems PetscOptionsObject)
{
  PetscBool flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsName("-muon_view_cost", "Print what each exchange would cost, at the set-up", "MuonViewCost", &flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define ROW(key, kind, field, value, low, help) MUON_ROW(key, kind, MuonCostLink, field, value, low, MUON_UNBOUNDED, NULL, MUON_PARAMETER_LOCAL, help)

static const MuonParameter MuonCostParameters[] = {ROW("cost_alpha", REAL, alpha, 25e-6, 0, "Latency of the link in predicted costs, in seconds"),
                                                   ROW("cost_beta", REAL, beta, 10e9, 1, "Speed of the link in each direction, in bits a second"),
                                                   ROW("cost_gamma", REAL, gamma, 4e9, 1, "Speed at which a rank sums messages or votes on them, in bytes a second"),
                                                   ROW("cost_workers", INT, workers, 0, 0, "Workers of predicted costs, 0 for those that there are"),
                                                   ROW("cost_entries", REAL, entries, 0, 0, "Entries of predicted costs, 0 for those of the layers"),
                                                   {NULL, MUON_PARAMETER_REAL, 0, 0, 0, 0, NULL, 0, NULL}};

static const char *const MuonCostKeys[] = {"muon_view_cost", NULL};

PETSC_INTERN PetscErrorCode MuonAddonRegister_Cost(void)
{
  static MuonAddonOps ops;

  PetscFunctionBegin;
  ops.rows           = MuonCostParameters;
  ops.size           = sizeof(MuonCostLink);
  ops.keys           = MuonCostKeys;
  ops.setfromoptions = MuonCostSetFromOptions_Private;
  ops.setup          = MuonCostSetUp_Private;
  PetscCall(MuonAddonRegister("cost", &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
