#include "muoncost.h" /*I "petscmuon.h" I*/
#include <string.h>

/* Break-evens are looked for up to so many workers */
#define MUON_COST_WORKERS 4096

typedef struct {
  const char *name;
  double      factor;
} MuonUnit;
static const MuonUnit MuonTimes[]  = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
static const MuonUnit MuonSpeeds[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12}, {"B/s", 8}, {"kB/s", 8e3}, {"MB/s", 8e6}, {"GB/s", 8e9}, {"TB/s", 8e12}, {NULL, 0}};

/* A number above zero with one of the units, which must be there */
static PetscErrorCode MuonCostParse_Private(Muon muon, const char key[], const char text[], const MuonUnit unit[], double *value)
{
  char   names[128] = "", *end;
  double factor     = 0;

  PetscFunctionBegin;
  *value = strtod(text, &end);
  if (end != text) end += strspn(end, " ");
  for (PetscInt i = 0; unit[i].name != NULL; i++) {
    if (strcmp(end, unit[i].name) == 0) factor = unit[i].factor;
    PetscCall(PetscStrlcat(names, i > 0 ? " " : "", sizeof(names)));
    PetscCall(PetscStrlcat(names, unit[i].name, sizeof(names)));
  }
  *value *= factor;
  PetscCheck(*value > 0 && !PetscIsInfReal((PetscReal)*value), PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%s%s %s: expected a number above 0 with a unit behind it, one of %s", MuonPrefix(muon), key, text, names);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetCostLink_Private(Muon muon, MuonCostLink *link)
{
  double beta, gamma;

  PetscFunctionBegin;
  PetscCall(MuonCostParse_Private(muon, "muon_cost_alpha", muon->cost_alpha != NULL ? muon->cost_alpha : "25us", MuonTimes, &link->alpha));
  PetscCall(MuonCostParse_Private(muon, "muon_cost_beta", muon->cost_beta != NULL ? muon->cost_beta : "10Gbit/s", MuonSpeeds, &beta));
  PetscCall(MuonCostParse_Private(muon, "muon_cost_gamma", muon->cost_gamma != NULL ? muon->cost_gamma : "4GB/s", MuonSpeeds, &gamma));
  link->beta  = 8 / beta;
  link->gamma = 8 / gamma;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of the layers that move, and what -muon_cost_entries makes of each */
static double MuonCostEntries_Private(Muon muon, double *scale)
{
  double entries = 0;

  for (PetscInt l = 0; l < muon->nactive; l++) entries += (double)muon->active[l]->m * (double)muon->active[l]->n;
  *scale = muon->cost_entries > 0 && entries > 0 ? (double)muon->cost_entries / entries : 1;
  return entries * *scale;
}

/* A matrix of so many times the entries of this one has the same shape */
static MuonCostLayer MuonCostLayerOf(double rows, double columns, double flops, double scale)
{
  const double        side  = PetscSqrtReal((PetscReal)scale);
  const MuonCostLayer layer = {rows * side, columns * side, flops * scale * side, 0};

  return layer;
}

/* Most bytes of a shard's messages, up and down; sums move the entries alone */
static PetscErrorCode MuonCostOfShard_Private(Muon muon, MuonShard *shard, PetscBool sums, double bytes[2], PetscBool *summable)
{
  MuonArray state, whole, weights;
  size_t    up, down;

  PetscFunctionBegin;
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  whole   = shard->layer->shape;
  weights = MuonShardPart(shard, &whole);
  PetscCall(MuonCompressorIsAssignment(shard->up, summable));
  PetscCall(MuonCompressorGetMaxBytesOf(shard->up, &state, &up));
  if (shard->downlink == MUON_DOWNLINK_STEP) PetscCall(MuonLayerGetMaxStepBytes(shard->layer, &down));
  else PetscCall(MuonCompressorGetMaxBytesOf(shard->down, &weights, &down));
  bytes[0] = (double)(sums ? MuonArrayBytes(&state) : up);
  bytes[1] = (double)down;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of all messages up and down at most, and what the messages of the last step were of it, 1 where there was none */
static PetscErrorCode MuonCostOfMessages_Private(Muon muon, double bytes[2], double part[2])
{
  const PetscLogDouble encoded[2] = {muon->traffic.up[1] / 8, muon->traffic.down[1] / 8};

  PetscFunctionBegin;
  bytes[0] = bytes[1] = 0;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    double    one[2];
    PetscBool summable;

    PetscCall(MuonCostOfShard_Private(muon, &muon->shard[p], PETSC_FALSE, one, &summable));
    for (int way = 0; way < 2; way++) bytes[way] += one[way];
  }
  for (int way = 0; way < 2; way++) part[way] = encoded[way] > 0 && bytes[way] > 0 ? (double)encoded[way] / bytes[way] : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With an exchange of that type over the same shards, whose owners are its own */
static PetscErrorCode MuonCostOfGroup_Private(Muon muon, MuonGroup group, MuonExchangeType type, MuonExchangeMode mode, MuonCostExchange *x, double **share, PetscBool *legal)
{
  const PetscBool sums = mode == MUON_EXCHANGE_MODE_GATHER ? PETSC_FALSE : PETSC_TRUE;
  MuonExchange    mine = group->exchange, other;
  PetscBool       allowed;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(x, sizeof(*x)));
  PetscCall(PetscStrcmp(type, MUONEXCHANGESTAR, &x->star));
  PetscCall(MuonExchangeCreate(PetscObjectComm((PetscObject)mine), &other));
  PetscCall(MuonExchangeSetType(other, type));
  PetscCall(MuonParametersAssign((PetscObject)other, "assignment", (double)mine->assignment));
  PetscCall(MuonExchangeSetItems(other, mine->nitems, (const char *const *)mine->names, mine->cost, mine->bytes));
  PetscCall(MuonExchangeSetUp(other));
  PetscCall(MuonExchangeIsLegal(other, mode, &allowed));
  if (allowed == PETSC_FALSE) *legal = PETSC_FALSE;
  PetscCall(PetscCalloc1(2 * mine->nworkers, share));
  for (PetscInt k = 0; k < group->nshards; k++) {
    double    bytes[2];
    PetscBool summable;

    PetscCall(MuonCostOfShard_Private(muon, &group->shard[k], sums, bytes, &summable));
    if (sums && summable == PETSC_FALSE) *legal = PETSC_FALSE;
    for (int way = 0; way < 2; way++) (*share)[2 * other->owner[group->shard[k].id] + way] += bytes[way];
    x->up += bytes[0];
    x->down += bytes[1];
  }
  for (PetscMPIInt r = 0; r < mine->nworkers; r++) {
    if (x->up > 0) (*share)[2 * r] /= x->up;
    if (x->down > 0) (*share)[2 * r + 1] /= x->down;
  }
  x->ranks      = mine->nworkers;
  x->everywhere = other->everywhere ? PETSC_TRUE : PETSC_FALSE;
  x->sums       = mode == MUON_EXCHANGE_MODE_ALLREDUCE ? 2 : sums ? 1 : 0;
  x->calls      = sums ? (double)group->nshards : 1;
  x->share      = *share;
  PetscCall(MuonExchangeDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all groups, one after the other */
PetscErrorCode MuonGetCost_Private(Muon muon, MuonExchangeType type, MuonExchangeMode mode, MuonCost *cost, MuonCostExchange *even, PetscBool *legal)
{
  MuonCostExchange all;
  double           bytes[2], part[2], scale;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(cost, sizeof(*cost)));
  PetscCall(PetscMemzero(&all, sizeof(all)));
  PetscCall(MuonCostOfMessages_Private(muon, bytes, part));
  (void)MuonCostEntries_Private(muon, &scale);
  *legal = PETSC_TRUE;
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonCostExchange x;
    double          *share;

    PetscCall(MuonCostOfGroup_Private(muon, muon->group[g], type, mode, &x, &share, legal));
    x.up *= scale * (x.sums == 0 ? part[0] : 1);
    x.down *= scale * part[1];
    MuonCostAdd(cost, MuonCostOfExchange(&x));
    PetscCall(PetscFree(share));
    x.up += all.up;
    x.down += all.down;
    x.calls += x.sums ? all.calls : 0;
    x.share = NULL;
    all     = x;
  }
  if (even != NULL) *even = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line of a table: an exchange, or where vote is not negative a vote */
typedef struct {
  const char      *name, *mode;
  int              vote;
  PetscBool        chosen;
  MuonCost         cost;
  MuonCostExchange even;
} MuonCostRow;

static MuonCost MuonCostOfRow(const MuonCostRow *row, int workers, double entries)
{
  MuonCostExchange x = row->even;

  x.ranks = workers;
  return row->vote >= 0 ? MuonCostOfVote((MuonCostVote)row->vote, workers, entries) : MuonCostOfExchange(&x);
}

static PetscErrorCode MuonCostViewTable_Private(PetscViewer viewer, const char title[], const MuonCostLink *link, int n, const MuonCostRow row[])
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", title));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %-12s %-9s %8s %14s %14s %12s %12s\n", "exchange", "mode", "rounds", "bytes on link", "bytes of room", "seconds", "whole trees"));
  for (int k = 0; k < n; k++) {
    const MuonCost *cost = &row[k].cost;

    PetscCall(PetscViewerASCIIPrintf(viewer, "%1s %-12s %-9s %8.0f %14.6g %14.6g %12.6g %12.6g\n", row[k].chosen ? "*" : "", row[k].name, row[k].mode, cost->rounds, cost->bytes, cost->memory, MuonCostSeconds(link, cost, PETSC_FALSE),
                                     MuonCostSeconds(link, cost, PETSC_TRUE)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For which numbers of workers which row is cheapest */
static PetscErrorCode MuonCostViewBreakEvens_Private(PetscViewer viewer, const MuonCostLink *link, int n, const MuonCostRow row[], double entries)
{
  int best = -1;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "cheapest by the number of workers, with even shares:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (int workers = 2; workers <= MUON_COST_WORKERS; workers++) {
    double least    = PETSC_MAX_REAL;
    int    cheapest = best;

    for (int k = 0; k < n; k++) {
      const MuonCost cost    = MuonCostOfRow(&row[k], workers, entries);
      const double   seconds = MuonCostSeconds(link, &cost, PETSC_FALSE);

      if (seconds >= least) continue;
      least    = seconds;
      cheapest = k;
    }
    if (cheapest != best) PetscCall(PetscViewerASCIIPrintf(viewer, "%s %s %s from %d", best >= 0 ? "," : "", row[cheapest].name, row[cheapest].mode, workers));
    best = cheapest;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostViewExchanges_Private(Muon muon, PetscViewer viewer, const MuonCostLink *link, int workers, double entries)
{
  static const struct {
    MuonExchangeType type;
    MuonExchangeMode mode;
  } ways[] = {{MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE},      {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_GATHER},         {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_ALLREDUCE}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER},
              {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_REDUCE}, {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_ALLREDUCE}, {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER}};
  MuonCostRow      row[PETSC_STATIC_ARRAY_LENGTH(ways)];
  MuonExchangeType type;
  double           bytes[2], part[2], scale, least = PETSC_MAX_REAL, own = 0;
  int              n = 0, cheapest = 0;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetType(muon->group[0]->exchange, &type));
  PetscCall(MuonCostOfMessages_Private(muon, bytes, part));
  (void)MuonCostEntries_Private(muon, &scale);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ways); k++) {
    MuonCostRow *const at = &row[n];
    PetscBool          legal;
    double             seconds;

    PetscCall(MuonGetCost_Private(muon, ways[k].type, ways[k].mode, &at->cost, &at->even, &legal));
    if (legal == PETSC_FALSE) continue;
    at->name = ways[k].type;
    at->mode = MuonExchangeModes[ways[k].mode];
    at->vote = -1;
    PetscCall(PetscStrcmp(type, ways[k].type, &at->chosen));
    if (muon->group[0]->mode != ways[k].mode) at->chosen = PETSC_FALSE;
    if (muon->cost_workers > 0) at->cost = MuonCostOfRow(at, workers, entries);
    seconds = MuonCostSeconds(link, &at->cost, PETSC_FALSE);
    if (at->chosen) own = seconds;
    if (seconds < least) cheapest = n;
    least = PetscMin(least, seconds);
    n++;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "messages of the optimizer: %s %.0f bytes up, %.0f down\n", part[0] != 1 || part[1] != 1 ? "as in the last step" : "at most", bytes[0] * part[0] * scale, bytes[1] * part[1] * scale));
  PetscCall(MuonCostViewTable_Private(viewer, "its exchanges, * the one chosen", link, n, row));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "cheapest here: -muon_exchange_type %s -muon_exchange_mode %s, %g s", row[cheapest].name, row[cheapest].mode, least));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (own > least) PetscCall(PetscViewerASCIIPrintf(viewer, ", %g times as fast as what is chosen", own / least));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscCall(MuonCostViewBreakEvens_Private(viewer, link, n, row, entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostViewVotes_Private(PetscViewer viewer, const MuonCostLink *link, int workers, double entries)
{
  static const char *const names[MUON_COST_VOTES][2] = {{"replicated", "allreduce"}, {"replicated", "gather"}, {"star", "gather"}, {"star", "reduce"}, {"range", "gather"}};
  MuonCostRow              row[MUON_COST_VOTES];

  PetscFunctionBegin;
  for (int k = 0; k < MUON_COST_VOTES; k++) {
    row[k].name   = names[k][0];
    row[k].mode   = names[k][1];
    row[k].vote   = k;
    row[k].chosen = PETSC_FALSE;
    row[k].cost   = MuonCostOfRow(&row[k], workers, entries);
  }
  PetscCall(MuonCostViewTable_Private(viewer, "votes on the signs of all entries, the work of the vote in the seconds", link, MUON_COST_VOTES, row));
  PetscCall(MuonCostViewBreakEvens_Private(viewer, link, MUON_COST_VOTES, row, entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Inside workers of several ranks: rows of the matrices on their way to LMOs, beside whole gradients that are
   summed and whole weights that are gathered. Kinds that a layer cannot have cost what they would
*/
static PetscErrorCode MuonCostViewAssembly_Private(Muon muon, MuonGroup group, MuonAssemblyPrecision precision, PetscViewer viewer, const MuonCostLink *link)
{
  static const MuonAssemblyKind kinds[MUON_COST_ASSEMBLIES] = {MUON_ASSEMBLY_ALLGATHER, MUON_ASSEMBLY_OWNER, MUON_ASSEMBLY_GRAM};
  const int                     size                        = group->grid->size;
  double                        entry = 0, gathered, sums = 0, weights = 0, scale;
  char                          title[96];
  PetscInt                      n = 0, counts[MUON_COST_ASSEMBLIES] = {0, 0, 0};
  MuonCostLayer                *layer;
  MuonCostRow                   row[MUON_COST_ASSEMBLIES];

  PetscFunctionBegin;
  (void)MuonCostEntries_Private(muon, &scale);
  PetscCall(PetscMalloc1(group->nshards, &layer));
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard       *shard = &group->shard[k];
    const double     rows = (double)shard->layer->m, columns = (double)shard->layer->n;
    MuonArray        state, shape;
    MuonAssemblyKind kind;
    PetscLogDouble   flops;

    PetscCall(MuonShardGetStateShape(muon, shard, &state));
    shape = shard->layer->shape;
    if (shard->full.mean.data != NULL) sums += scale * rows * columns * (double)MuonArrayEntryBytes(&shape);
    if (shard->sharded) weights += scale * rows * columns * (double)MuonArrayEntryBytes(&shape);
    PetscCall(MuonShardGetAssembly_Private(muon, shard, 0, &kind, &flops));
    if (kind == MUON_ASSEMBLY_NONE) continue;
    for (int a = 0; a < MUON_COST_ASSEMBLIES; a++) counts[a] += kind == kinds[a] ? 1 : 0;
    layer[n++] = MuonCostLayerOf(rows, columns, (double)flops, scale);
    entry      = PetscMax(entry, (double)MuonArrayEntryBytes(&state));
  }
  gathered = precision == MUON_ASSEMBLY_PRECISION_BF16 ? 2 : precision == MUON_ASSEMBLY_PRECISION_SINGLE ? PetscMin(entry, 4.0) : entry;
  for (int a = 0; a < MUON_COST_ASSEMBLIES; a++) {
    row[a].name   = group->shard[0].sharded ? MUONEXCHANGEROWS : "assembly";
    row[a].mode   = MuonAssemblyKinds[kinds[a]];
    row[a].chosen = n > 0 && counts[a] == n ? PETSC_TRUE : PETSC_FALSE;
    row[a].cost   = MuonCostOfAssembly((MuonCostAssembly)a, size, n, layer, entry, gathered);
    if (sums > 0) MuonCostAdd(&row[a].cost, MuonCostOfPattern(MUON_COST_REDUCE_SCATTER, size, sums));
    if (weights > 0) MuonCostAdd(&row[a].cost, MuonCostOfPattern(MUON_COST_GATHER, size, weights / size));
  }
  PetscCall(PetscFree(layer));
  PetscCall(PetscSNPrintf(title, sizeof(title), "inside workers of %d ranks, * the assembly of all matrices", size));
  PetscCall(MuonCostViewTable_Private(viewer, title, link, MUON_COST_ASSEMBLIES, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostViewDistributions_Private(Muon muon, PetscViewer viewer, const MuonCostLink *link, int workers)
{
  MuonCostLayer *layer;
  double         bytes = 0, entries, scale;

  PetscFunctionBegin;
  entries = MuonCostEntries_Private(muon, &scale);
  PetscCall(PetscMalloc1(muon->nactive, &layer));
  for (PetscInt l = 0; l < muon->nactive; l++) {
    MuonArray      shape;
    PetscLogDouble flops;

    shape = muon->active[l]->shape;
    PetscCall(MuonLayerGetFlops(muon->active[l], &flops));
    layer[l] = MuonCostLayerOf((double)muon->active[l]->m, (double)muon->active[l]->n, (double)flops, scale);
    bytes += layer[l].rows * layer[l].columns * (double)MuonArrayEntryBytes(&shape);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "published distributions of uncompressed Muon, the LMOs' input in bf16 where they gather it\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %-12s %8s %14s %14s %14s %12s\n", "name", "rounds", "bytes on link", "LMOs' work", "momentum kept", "seconds"));
  for (int k = 0; k < MUON_COST_DISTRIBUTIONS; k++) {
    const MuonCostOfDistribution one = MuonCostOfDistributions((MuonCostDistribution)k, workers, muon->nactive, layer, bytes / PetscMax(entries, 1), 2);

    PetscCall(PetscViewerASCIIPrintf(viewer, "  %-12s %8.0f %14.6g %14.4g %14.4g %12.6g\n", MuonCostDistributionNames[k], one.cost.rounds, one.cost.bytes, one.oracle, one.state, MuonCostSeconds(link, &one.cost, PETSC_FALSE)));
  }
  PetscCall(PetscFree(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonViewCost_Private(Muon muon, PetscViewer viewer)
{
  MuonCostLink link;
  PetscBool    ascii;
  double       entries, scale;
  int          workers;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetCostLink_Private(muon, &link));
  workers = muon->cost_workers > 0 ? (int)muon->cost_workers : muon->size;
  entries = MuonCostEntries_Private(muon, &scale);
  PetscCall(PetscViewerASCIIPrintf(viewer, "Cost of a step's messages: %d workers, %" PetscInt_FMT " layers that move, %.0f entries\n", workers, muon->nactive, entries));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "link: %.4g us a message (%s), %.4g Gbit/s each way (%s); %.4g GB/s of messages are summed or voted on (%s)\n", 1e6 * link.alpha, muon->cost_alpha != NULL ? "given" : "assumed", 8e-9 / link.beta,
                                   muon->cost_beta != NULL ? "given" : "assumed", 1e-9 / link.gamma, muon->cost_gamma != NULL ? "given" : "assumed"));
  if (muon->nshards > 0) {
    PetscCall(MuonCostViewExchanges_Private(muon, viewer, &link, workers, entries));
    for (PetscInt g = 0; g < muon->ngroups; g++) {
      if (muon->group[g]->grid->size > 1 && muon->group[g]->nshards > 0) PetscCall(MuonCostViewAssembly_Private(muon, muon->group[g], muon->assembly.precision, viewer, &link));
    }
    PetscCall(MuonCostViewVotes_Private(viewer, &link, workers, entries));
    PetscCall(MuonCostViewDistributions_Private(muon, viewer, &link, workers));
  }
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonViewCostFromOptions_Private(Muon muon)
{
  PetscViewer       viewer;
  PetscViewerFormat format;
  PetscBool         flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreateViewer(PetscObjectComm((PetscObject)muon), ((PetscObject)muon)->options, ((PetscObject)muon)->prefix, "-muon_view_cost", &viewer, &format, &flg));
  if (flg == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerPushFormat(viewer, format));
  PetscCall(MuonViewCost_Private(muon, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
