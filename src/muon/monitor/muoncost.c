#include "muoncost.h" /*I "petscmuon.h" I*/
#include <petsctime.h>
#include <string.h>

/* A link of a cluster of some years ago, where nobody says or measures better */
static const PetscReal MUON_COST_ALPHA = (PetscReal)25e-6, MUON_COST_BETA = (PetscReal)1e10, MUON_COST_GAMMA = (PetscReal)4e9;
/* Break-evens are looked for up to so many workers */
#define MUON_COST_WORKERS 4096

typedef struct {
  const char *name;
  double      factor;
} MuonUnit;
static const MuonUnit MuonTimes[]  = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
static const MuonUnit MuonSpeeds[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12}, {"B/s", 8}, {"kB/s", 8e3}, {"MB/s", 8e6}, {"GB/s", 8e9}, {"TB/s", 8e12}};

/* A number above zero with one of the units, which must be there */
static PetscErrorCode MuonCostParse_Private(Muon muon, const char key[], const char text[], size_t n, const MuonUnit unit[], PetscReal *value)
{
  char   names[128] = "", *end;
  double number, factor = 0;

  PetscFunctionBegin;
  number = strtod(text, &end);
  if (end != text) {
    while (*end == ' ') end++;
    for (size_t i = 0; i < n; i++) {
      if (strcmp(end, unit[i].name) == 0) factor = unit[i].factor;
    }
  }
  for (size_t i = 0; i < n; i++) {
    PetscCall(PetscStrlcat(names, i > 0 ? " " : "", sizeof(names)));
    PetscCall(PetscStrlcat(names, unit[i].name, sizeof(names)));
  }
  PetscCheck(factor > 0 && number > 0 && !PetscIsInfReal((PetscReal)(number * factor)) && (PetscReal)(number * factor) > 0, PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE,
             "-%s%s %s: expected a number above 0 with a unit behind it, one of %s", MuonPrefix(muon), key, text, names);
  *value = (PetscReal)(number * factor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostCheck_Private(Muon muon, const char key[], const char unit[], PetscReal value)
{
  PetscFunctionBegin;
  PetscValidLogicalCollectiveReal(muon, value, 2);
  PetscCheck(value > 0 && !PetscIsInfOrNanReal(value), PetscObjectComm((PetscObject)muon), PETSC_ERR_ARG_OUTOFRANGE, "-%s%s %g %s: expected a number above 0", MuonPrefix(muon), key, (double)value, unit);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonCostSetFromOptions_Private(Muon muon, MuonOptionItems PetscOptionsObject)
{
  char      text[64];
  PetscReal value;
  PetscBool flg, set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-muon_cost_alpha", "Seconds that a message takes before its first byte, 25us", "MuonSetCostAlpha", "25us", text, sizeof(text), &flg));
  if (flg) {
    PetscCall(MuonCostParse_Private(muon, "muon_cost_alpha", text, PETSC_STATIC_ARRAY_LENGTH(MuonTimes), MuonTimes, &value));
    PetscCall(MuonSetCostAlpha(muon, value));
  }
  PetscCall(PetscOptionsString("-muon_cost_beta", "Speed of a link in each direction, 10Gbit/s", "MuonSetCostBeta", "10Gbit/s", text, sizeof(text), &flg));
  if (flg) {
    PetscCall(MuonCostParse_Private(muon, "muon_cost_beta", text, PETSC_STATIC_ARRAY_LENGTH(MuonSpeeds), MuonSpeeds, &value));
    PetscCall(MuonSetCostBeta(muon, value));
  }
  PetscCall(PetscOptionsString("-muon_cost_gamma", "Speed at which a rank sums messages or votes on them, 4GB/s", "MuonSetCostGamma", "4GB/s", text, sizeof(text), &flg));
  if (flg) {
    PetscCall(MuonCostParse_Private(muon, "muon_cost_gamma", text, PETSC_STATIC_ARRAY_LENGTH(MuonSpeeds), MuonSpeeds, &value));
    PetscCall(MuonSetCostGamma(muon, value / 8));
  }
  PetscCall(PetscOptionsBool("-muon_cost_measure", "Measure what is not given of the link", "MuonSetCostMeasure", muon->cost_measure, &set, &flg));
  if (flg) PetscCall(MuonSetCostMeasure(muon, set));
  PetscCall(PetscOptionsName("-muon_view_cost", "Print what each exchange would cost, at the set-up", "MuonViewCost", &flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCostAlpha - Sets the latency of the link that `MuonViewCost()` speaks of

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- alpha - seconds that a message takes whatever its size is, above 0

  Options Database Key:
. -muon_cost_alpha time - the latency, with a unit (ns|us|ms|s), as in 25us, 25us by default

  Level: intermediate

.seealso: `Muon`, `MuonGetCostAlpha()`, `MuonSetCostBeta()`, `MuonSetCostMeasure()`, `MuonViewCost()`
@*/
PetscErrorCode MuonSetCostAlpha(Muon muon, PetscReal alpha)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCostCheck_Private(muon, "muon_cost_alpha", "s", alpha));
  muon->cost_alpha = alpha;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCostAlpha - Gets the latency of the link that `MuonViewCost()` speaks of

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. alpha - seconds that a message takes whatever its size is, 0 where it was not set

  Level: intermediate

.seealso: `Muon`, `MuonSetCostAlpha()`
@*/
PetscErrorCode MuonGetCostAlpha(Muon muon, PetscReal *alpha)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, alpha, muon->cost_alpha);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCostBeta - Sets the speed of the link that `MuonViewCost()` speaks of

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- beta - bits a second that a rank's link carries in each direction, above 0

  Options Database Key:
. -muon_cost_beta speed - the speed, with a unit (bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s|B/s|kB/s|MB/s|GB/s|TB/s), as in 10Gbit/s, 10Gbit/s by default

  Level: intermediate

.seealso: `Muon`, `MuonGetCostBeta()`, `MuonSetCostAlpha()`, `MuonSetCostMeasure()`, `MuonViewCost()`
@*/
PetscErrorCode MuonSetCostBeta(Muon muon, PetscReal beta)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCostCheck_Private(muon, "muon_cost_beta", "bit/s", beta));
  muon->cost_beta = beta;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCostBeta - Gets the speed of the link that `MuonViewCost()` speaks of

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. beta - bits a second, 0 where it was not set

  Level: intermediate

.seealso: `Muon`, `MuonSetCostBeta()`
@*/
PetscErrorCode MuonGetCostBeta(Muon muon, PetscReal *beta)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, beta, muon->cost_beta);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCostGamma - Sets how fast a rank sums messages or votes on them, for `MuonViewCost()`

  Logically Collective

  Input Parameters:
+ muon  - the optimizer
- gamma - bytes of messages a second, above 0

  Options Database Key:
. -muon_cost_gamma speed - the speed, with a unit as in `MuonSetCostBeta()`, 4GB/s by default

  Level: intermediate

.seealso: `Muon`, `MuonGetCostGamma()`, `MuonSetCostBeta()`, `MuonSetCostMeasure()`, `MuonViewCost()`
@*/
PetscErrorCode MuonSetCostGamma(Muon muon, PetscReal gamma)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscCall(MuonCostCheck_Private(muon, "muon_cost_gamma", "B/s", gamma));
  muon->cost_gamma = gamma;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCostGamma - Gets how fast a rank sums messages or votes on them, for `MuonViewCost()`

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. gamma - bytes of messages a second, 0 where it was not set

  Level: intermediate

.seealso: `Muon`, `MuonSetCostGamma()`
@*/
PetscErrorCode MuonGetCostGamma(Muon muon, PetscReal *gamma)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, gamma, muon->cost_gamma);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonSetCostMeasure - Sets whether `MuonViewCost()` measures what is not given of the link

  Logically Collective

  Input Parameters:
+ muon - the optimizer
- flg  - `PETSC_TRUE` to measure

  Options Database Key:
. -muon_cost_measure flg - whether to measure

  Level: intermediate

  Note:
  Rank 0 sends messages to ranks 1, 2, 4, ... and to the last one, each of which sends them back; the slowest
  counts. It takes some tenths of a second, or as long as the link needs for a few times 256 kB.

.seealso: `Muon`, `MuonGetCostMeasure()`, `MuonSetCostAlpha()`, `MuonSetCostBeta()`, `MuonViewCost()`
@*/
PetscErrorCode MuonSetCostMeasure(Muon muon, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  PetscValidLogicalCollectiveBool(muon, flg, 2);
  muon->cost_measure = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonGetCostMeasure - Gets whether `MuonViewCost()` measures what is not given of the link

  Not Collective

  Input Parameter:
. muon - the optimizer

  Output Parameter:
. flg - `PETSC_TRUE` to measure

  Level: intermediate

.seealso: `Muon`, `MuonSetCostMeasure()`
@*/
PetscErrorCode MuonGetCostMeasure(Muon muon, PetscBool *flg)
{
  PetscFunctionBegin;
  MuonGet(muon, MUON_CLASSID, flg, muon->cost_measure);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shortest time of a message to the other rank, half of the way there and back; the other one gets it too */
static PetscErrorCode MuonCostPing_Private(MPI_Comm comm, PetscMPIInt rank, PetscMPIInt other, PetscInt times, PetscMPIInt bytes, void *buffer, double *seconds)
{
  PetscFunctionBegin;
  *seconds = PETSC_MAX_REAL;
  for (PetscInt i = 0; i <= times; i++) {
    PetscLogDouble start, end;

    PetscCall(PetscTime(&start));
    if (rank == 0) PetscCallMPI(MPI_Send(buffer, bytes, MPI_BYTE, other, 0, comm));
    PetscCallMPI(MPI_Recv(buffer, bytes, MPI_BYTE, rank == 0 ? other : 0, 0, comm, MPI_STATUS_IGNORE));
    if (rank != 0) PetscCallMPI(MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, comm));
    PetscCall(PetscTime(&end));
    if (i > 0) *seconds = PetscMin(*seconds, (double)(end - start) / 2); /* the first one opens the connection */
  }
  if (rank == 0) PetscCallMPI(MPI_Send(seconds, 1, MPI_DOUBLE, other, 0, comm));
  else PetscCallMPI(MPI_Recv(seconds, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostMeasure_Private(Muon muon, MuonCostLink *link)
{
  const size_t   most       = 16777216;
  const PetscInt n          = (PetscInt)(most / 2 / sizeof(PetscScalar));
  double         figures[3] = {0, 0, 0}, seconds;
  PetscScalar   *buffer;
  MPI_Comm       comm;
  MuonArray      half, sum;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_dup(PetscObjectComm((PetscObject)muon), &comm));
  PetscCall(PetscCalloc1(2 * n, &buffer));
  for (PetscMPIInt other = 1; other < muon->size; other = other < muon->size - 1 ? PetscMin(2 * other, muon->size - 1) : muon->size) {
    if (muon->rank != 0 && muon->rank != other) continue;
    PetscCall(MuonCostPing_Private(comm, muon->rank, other, 100, 8, buffer, &seconds));
    figures[0] = PetscMax(figures[0], seconds);
    for (size_t bytes = 262144; bytes <= most; bytes *= 4) {
      const double latency = seconds;
      double       all;

      PetscCall(MuonCostPing_Private(comm, muon->rank, other, 4, (PetscMPIInt)bytes, buffer, &all));
      if (all < 0.05 && 4 * bytes <= most) continue;
      figures[1] = PetscMax(figures[1], PetscMax(all - latency, all / 2) / (double)bytes);
      break;
    }
  }
  half = MuonArrayOfScalars(n, 1, buffer, n);
  sum  = MuonArrayOfScalars(n, 1, buffer + n, n);
  PetscCall(PetscTime(&start));
  MuonArrayAxpby(1, &half, 1, &sum);
  PetscCall(PetscTime(&end));
  figures[2] = (double)(end - start) / (double)MuonArrayBytes(&half);
  PetscCall(PetscFree(buffer));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, figures, 3, MPI_DOUBLE, MPI_MAX, comm));
  PetscCallMPI(MPI_Comm_free(&comm));
  if (muon->cost_alpha == 0 && figures[0] > 0) link->alpha = figures[0];
  if (muon->cost_beta == 0 && figures[1] > 0) link->beta = figures[1];
  if (muon->cost_gamma == 0 && figures[2] > 0) link->gamma = figures[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetCostLink_Private(Muon muon, MuonCostLink *link)
{
  PetscFunctionBegin;
  link->alpha = (double)(muon->cost_alpha > 0 ? muon->cost_alpha : MUON_COST_ALPHA);
  link->beta  = 8 / (double)(muon->cost_beta > 0 ? muon->cost_beta : MUON_COST_BETA);
  link->gamma = 1 / (double)(muon->cost_gamma > 0 ? muon->cost_gamma : MUON_COST_GAMMA);
  if (muon->cost_measure) PetscCall(MuonCostMeasure_Private(muon, link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Most bytes of a shard's messages, up and down; sums move the entries alone */
static PetscErrorCode MuonCostOfShard_Private(Muon muon, MuonShard *shard, PetscBool sums, double *up, double *down, PetscBool *summable)
{
  MuonArray state, whole, weights;
  size_t    bytes;

  PetscFunctionBegin;
  PetscCall(MuonShardGetStateShape(muon, shard, &state));
  PetscCall(MuonLayerGetShape(shard->layer, &whole));
  weights = MuonShardPart(shard, &whole);
  PetscCall(MuonCompressorIsAssignment(shard->up, summable));
  PetscCall(MuonCompressorGetMaxBytesOf(shard->up, &state, &bytes));
  *up = (double)(sums ? MuonArrayBytes(&state) : bytes);
  if (shard->downlink == MUON_DOWNLINK_STEP) PetscCall(MuonLayerGetMaxStepBytes(shard->layer, &bytes));
  else PetscCall(MuonCompressorGetMaxBytesOf(shard->down, &weights, &bytes));
  *down = (double)bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bytes of all messages that this rank sends as a worker, and of those of all servers: the most they can
   have, or what they had in the last step. part is what they are of the most
*/
static PetscErrorCode MuonCostOfMessages_Private(Muon muon, double bytes[2], double part[2], PetscBool *known)
{
  const PetscLogDouble encoded[2] = {muon->traffic.up[1] / 8, muon->traffic.down[1] / 8};

  PetscFunctionBegin;
  bytes[0] = bytes[1] = 0;
  *known              = PETSC_FALSE;
  for (PetscInt p = 0; p < muon->nshards; p++) {
    double    one[2];
    PetscBool summable;

    PetscCall(MuonCostOfShard_Private(muon, &muon->shard[p], PETSC_FALSE, &one[0], &one[1], &summable));
    for (int way = 0; way < 2; way++) bytes[way] += one[way];
  }
  for (int way = 0; way < 2; way++) {
    part[way] = encoded[way] > 0 && bytes[way] > 0 ? (double)encoded[way] / bytes[way] : 1;
    bytes[way] *= part[way];
    if (encoded[way] > 0) *known = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With an exchange of that type over the same items, whose owners are its own */
static PetscErrorCode MuonCostOfGroup_Private(Muon muon, MuonGroup group, MuonExchangeType type, MuonExchangeMode mode, MuonCostExchangeShape *shape, double **share, PetscBool *legal)
{
  const PetscBool sums = mode == MUON_EXCHANGE_MODE_GATHER ? PETSC_FALSE : PETSC_TRUE;
  MuonExchange    mine = group->exchange, other;
  PetscBool       star, allowed;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, MUONEXCHANGESTAR, &star));
  PetscCall(MuonExchangeCreate(PetscObjectComm((PetscObject)mine), &other));
  PetscCall(MuonExchangeSetType(other, type));
  PetscCall(MuonParametersAssign((PetscObject)other, "assignment", (double)mine->assignment));
  PetscCall(MuonExchangeSetItems(other, mine->nitems, (const char *const *)mine->names, mine->cost, mine->bytes));
  PetscCall(MuonExchangeSetUp(other));
  PetscCall(MuonExchangeIsLegal(other, mode, &allowed));
  if (allowed == PETSC_FALSE) *legal = PETSC_FALSE;
  PetscCall(PetscMemzero(shape, sizeof(*shape)));
  PetscCall(PetscCalloc1(2 * mine->nworkers, share));
  for (PetscInt k = 0; k < group->nshards; k++) {
    double    bytes[2];
    PetscBool summable;

    PetscCall(MuonCostOfShard_Private(muon, &group->shard[k], sums, &bytes[0], &bytes[1], &summable));
    if (sums && summable == PETSC_FALSE) *legal = PETSC_FALSE;
    for (int way = 0; way < 2; way++) (*share)[2 * other->owner[group->shard[k].item] + way] += bytes[way];
    shape->up += bytes[0];
    shape->down += bytes[1];
  }
  for (PetscMPIInt r = 0; r < mine->nworkers; r++) {
    if (shape->up > 0) (*share)[2 * r] /= shape->up;
    if (shape->down > 0) (*share)[2 * r + 1] /= shape->down;
  }
  shape->ranks      = mine->nworkers;
  shape->star       = star ? 1 : 0;
  shape->everywhere = other->everywhere ? 1 : 0;
  shape->sums       = mode == MUON_EXCHANGE_MODE_ALLREDUCE ? 2 : sums ? 1 : 0;
  shape->calls      = sums ? (double)group->nshards : 1;
  shape->share      = *share;
  PetscCall(MuonExchangeDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of all groups, one after the other; even is the same shape for any number of workers that share the bytes
   evenly
*/
static PetscErrorCode MuonCostOfWay_Private(Muon muon, MuonExchangeType type, MuonExchangeMode mode, MuonCost *cost, MuonCostExchangeShape *even, PetscBool *legal)
{
  double    bytes[2], part[2];
  PetscBool known;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(cost, sizeof(*cost)));
  PetscCall(PetscMemzero(even, sizeof(*even)));
  PetscCall(MuonCostOfMessages_Private(muon, bytes, part, &known));
  *legal = PETSC_TRUE;
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonCostExchangeShape shape;
    MuonCost              one;
    double               *share;

    PetscCall(MuonCostOfGroup_Private(muon, muon->group[g], type, mode, &shape, &share, legal));
    if (shape.sums == 0) shape.up *= part[0];
    shape.down *= part[1];
    one = MuonCostOfExchange(&shape);
    MuonCostAdd(cost, &one);
    PetscCall(PetscFree(share));
    shape.up += even->up;
    shape.down += even->down;
    shape.calls += shape.sums ? even->calls : 0;
    shape.share = NULL;
    *even       = shape;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGetCost_Private(Muon muon, MuonExchangeType type, MuonExchangeMode mode, MuonCost *cost, PetscBool *legal)
{
  MuonCostExchangeShape even;

  PetscFunctionBegin;
  PetscCall(MuonCostOfWay_Private(muon, type, mode, cost, &even, legal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  MuonExchangeType type;
  MuonExchangeMode mode;
} MuonCostWays[] = {{MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_REDUCE},      {MUONEXCHANGESTAR, MUON_EXCHANGE_MODE_GATHER},         {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_ALLREDUCE}, {MUONEXCHANGEREPLICATED, MUON_EXCHANGE_MODE_GATHER},
                    {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_REDUCE}, {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_ALLREDUCE}, {MUONEXCHANGELAYERWISE, MUON_EXCHANGE_MODE_GATHER}};
#define MUON_COST_WAYS ((int)PETSC_STATIC_ARRAY_LENGTH(MuonCostWays))

/* One line of a table; mark is * for what the optimizer does */
static PetscErrorCode MuonCostViewRow_Private(PetscViewer viewer, const char mark[], const char name[], const char mode[], const MuonCostLink *link, const MuonCost *cost)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%1s %-12s %-9s %8.0f %14.6g %14.6g %12.6g %12.6g\n", mark, name, mode, cost->rounds, cost->bytes, cost->memory, MuonCostSeconds(link, cost, 0), MuonCostSeconds(link, cost, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostViewHead_Private(PetscViewer viewer, const char title[])
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", title));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %-12s %-9s %8s %14s %14s %12s %12s\n", "exchange", "mode", "rounds", "bytes on link", "bytes of room", "seconds", "whole trees"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   For which numbers of workers which of n ways is cheapest: seconds[] has MUON_COST_WORKERS - 1 rows from 2
   workers on; a way that is not legal has no seconds below infinity
*/
static PetscErrorCode MuonCostViewBreakEvens_Private(PetscViewer viewer, int n, const char *const names[][2], const double seconds[])
{
  int best = -1, since = 2;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "cheapest by the number of workers, with even shares:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (int workers = 2; workers <= MUON_COST_WORKERS + 1; workers++) {
    int cheapest = -1;

    for (int k = 0; k < n && workers <= MUON_COST_WORKERS; k++) {
      const double *row = seconds + (size_t)(workers - 2) * (size_t)n;

      if (cheapest < 0 || row[k] < row[cheapest]) cheapest = k;
    }
    if (cheapest == best) continue;
    if (best >= 0) PetscCall(PetscViewerASCIIPrintf(viewer, "%s %s %s from %d", since > 2 ? "," : "", names[best][0], names[best][1], since));
    best  = cheapest;
    since = workers;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostViewExchanges_Private(Muon muon, PetscViewer viewer, const MuonCostLink *link)
{
  const char      *names[MUON_COST_WAYS][2];
  double          *seconds, bytes[2], part[2], best = PETSC_MAX_REAL, own = 0;
  PetscBool        known;
  int              cheapest = -1;
  MuonExchangeType type;
  MuonExchangeMode mode = muon->group[0]->mode;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetType(muon->group[0]->exchange, &type));
  PetscCall(MuonCostOfMessages_Private(muon, bytes, part, &known));
  PetscCall(PetscMalloc1(MUON_COST_WAYS * (MUON_COST_WORKERS - 1), &seconds));
  PetscCall(PetscViewerASCIIPrintf(viewer, "messages of the optimizer as it is: %s %.0f bytes up, %.0f down\n", known ? "in the last step" : "at most", bytes[0], bytes[1]));
  PetscCall(MuonCostViewHead_Private(viewer, "its exchanges, * the one chosen"));
  for (int k = 0; k < MUON_COST_WAYS; k++) {
    MuonCostExchangeShape even;
    MuonCost              cost;
    PetscBool             legal, same;
    double                here;

    names[k][0] = MuonCostWays[k].type;
    names[k][1] = MuonExchangeModes[MuonCostWays[k].mode];
    PetscCall(MuonCostOfWay_Private(muon, MuonCostWays[k].type, MuonCostWays[k].mode, &cost, &even, &legal));
    for (int workers = 2; workers <= MUON_COST_WORKERS; workers++) {
      MuonCost one;

      even.ranks                                                  = workers;
      one                                                         = MuonCostOfExchange(&even);
      seconds[(size_t)(workers - 2) * MUON_COST_WAYS + (size_t)k] = legal ? MuonCostSeconds(link, &one, 0) : PETSC_MAX_REAL;
    }
    if (legal == PETSC_FALSE) continue;
    PetscCall(PetscStrcmp(type, MuonCostWays[k].type, &same));
    if (mode != MuonCostWays[k].mode) same = PETSC_FALSE;
    PetscCall(MuonCostViewRow_Private(viewer, same ? "*" : "", names[k][0], names[k][1], link, &cost));
    here = MuonCostSeconds(link, &cost, 0);
    if (same) own = here;
    if (here < best) {
      best     = here;
      cheapest = k;
    }
  }
  if (cheapest >= 0) PetscCall(PetscViewerASCIIPrintf(viewer, "cheapest here: -muon_exchange_type %s -muon_exchange_mode %s, %g s", names[cheapest][0], names[cheapest][1], best));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (cheapest >= 0 && own > best) PetscCall(PetscViewerASCIIPrintf(viewer, ", %g times as fast as what is chosen", own / best));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscCall(MuonCostViewBreakEvens_Private(viewer, MUON_COST_WAYS, (const char *const(*)[2])names, seconds));
  PetscCall(PetscFree(seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostViewVotes_Private(Muon muon, PetscViewer viewer, const MuonCostLink *link, double entries)
{
  double *seconds;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(MUON_COST_VOTES * (MUON_COST_WORKERS - 1), &seconds));
  PetscCall(MuonCostViewHead_Private(viewer, "votes on the signs of all entries, the work of the vote in the seconds"));
  for (int k = 0; k < MUON_COST_VOTES; k++) {
    const MuonCost here = MuonCostOfVote((MuonCostVote)k, muon->size, entries);

    PetscCall(MuonCostViewRow_Private(viewer, "", MuonCostVoteNames[k][0], MuonCostVoteNames[k][1], link, &here));
    for (int workers = 2; workers <= MUON_COST_WORKERS; workers++) {
      const MuonCost one = MuonCostOfVote((MuonCostVote)k, workers, entries);

      seconds[(size_t)(workers - 2) * MUON_COST_VOTES + (size_t)k] = MuonCostSeconds(link, &one, 0);
    }
  }
  PetscCall(MuonCostViewBreakEvens_Private(viewer, MUON_COST_VOTES, MuonCostVoteNames, seconds));
  PetscCall(PetscFree(seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Inside workers of several ranks, group by group: rows of the matrices on their way to oracles, beside whole
   gradients that are summed and whole weights that are gathered. Whether a kind is possible is not asked:
   those that a layer cannot have cost what they would
*/
static PetscErrorCode MuonCostViewAssemblies_Private(Muon muon, PetscViewer viewer, const MuonCostLink *link)
{
  static const MuonAssemblyKind kinds[MUON_COST_ASSEMBLIES] = {MUON_ASSEMBLY_ALLGATHER, MUON_ASSEMBLY_OWNER, MUON_ASSEMBLY_GRAM};
  MuonAssembly                  assembly;
  MuonAssemblyPrecision         precision;

  PetscFunctionBegin;
  PetscCall(MuonGetAssembly(muon, &assembly));
  PetscCall(MuonAssemblyGetPrecision(assembly, &precision));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    const MuonGroup  group = muon->group[g];
    const int        size  = group->grid->size;
    const PetscBool  rows  = group->nshards > 0 && group->shard[0].cut ? PETSC_TRUE : PETSC_FALSE;
    double           entry = 0, gathered, sums = 0, weights = 0;
    size_t           n         = 0;
    PetscBool        all[3]    = {PETSC_TRUE, PETSC_TRUE, PETSC_TRUE};
    char             title[96] = "";
    MuonCostLayer   *layer;
    MuonCost         before, behind;
    MuonAssemblyKind kind;

    if (size == 1 || group->nshards == 0) continue;
    PetscCall(PetscMalloc1(group->nshards, &layer));
    for (PetscInt k = 0; k < group->nshards; k++) {
      MuonShard     *shard = &group->shard[k];
      MuonArray      state, shape;
      PetscLogDouble flops;

      PetscCall(MuonShardGetStateShape(muon, shard, &state));
      PetscCall(MuonLayerGetShape(shard->layer, &shape));
      if (shard->mean.data != NULL) sums += (double)shard->layer->m * (double)shard->layer->n * (double)MuonArrayEntryBytes(&shape);
      if (shard->cut) weights += (double)shard->layer->m * (double)shard->layer->n * (double)MuonArrayEntryBytes(&shape);
      PetscCall(MuonShardGetAssembly_Private(muon, shard, 0, &kind, &flops));
      if (kind == MUON_ASSEMBLY_NONE) continue;
      for (int a = 0; a < MUON_COST_ASSEMBLIES; a++) all[a] = kind == kinds[a] ? all[a] : PETSC_FALSE;
      layer[n].rows    = (double)shard->layer->m;
      layer[n].columns = (double)shard->layer->n;
      layer[n].flops   = (double)flops;
      entry            = PetscMax(entry, (double)MuonArrayEntryBytes(&state));
      n++;
    }
    gathered = precision == MUON_ASSEMBLY_PRECISION_BF16 ? 2 : precision == MUON_ASSEMBLY_PRECISION_SINGLE ? PetscMin(entry, 4.0) : entry;
    before   = MuonCostOfPattern(MUON_COST_REDUCE_SCATTER, size, sums);
    behind   = MuonCostOfPattern(MUON_COST_ALLGATHER_RING, size, weights / size);
    PetscCall(PetscSNPrintf(title, sizeof(title), "inside workers of %d ranks, * the assembly of all matrices", size));
    PetscCall(MuonCostViewHead_Private(viewer, title));
    for (int a = 0; a < MUON_COST_ASSEMBLIES; a++) {
      MuonCost cost = MuonCostOfAssembly((MuonCostAssembly)a, size, n, layer, entry, gathered);

      if (sums > 0) MuonCostAdd(&cost, &before);
      if (weights > 0) MuonCostAdd(&cost, &behind);
      PetscCall(MuonCostViewRow_Private(viewer, n > 0 && all[a] ? "*" : "", rows ? MUONEXCHANGEROWS : "assembly", MuonAssemblyKinds[kinds[a]], link, &cost));
    }
    PetscCall(PetscFree(layer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCostViewDistributions_Private(Muon muon, PetscViewer viewer, const MuonCostLink *link, double entries)
{
  MuonCostLayer *layer;
  double         bytes = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(muon->nactive, &layer));
  for (PetscInt l = 0; l < muon->nactive; l++) {
    MuonArray      shape;
    PetscLogDouble flops;

    PetscCall(MuonLayerGetShape(muon->active[l], &shape));
    PetscCall(MuonLayerGetFlops(muon->active[l], &flops));
    layer[l].rows    = (double)muon->active[l]->m;
    layer[l].columns = (double)muon->active[l]->n;
    layer[l].flops   = (double)flops;
    bytes += layer[l].rows * layer[l].columns * (shape.precision == MUON_SINGLE ? sizeof(float) : sizeof(double));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "published distributions of uncompressed Muon, the oracles' input in bf16 where they gather it\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %-12s %8s %14s %14s %14s %12s\n", "name", "rounds", "bytes on link", "oracles' work", "momentum kept", "seconds"));
  for (int k = 0; k < MUON_COST_DISTRIBUTIONS; k++) {
    const MuonCostOfDistribution one = MuonCostOfDistributions((MuonCostDistribution)k, muon->size, (size_t)muon->nactive, layer, bytes / PetscMax(entries, 1), 2);

    PetscCall(PetscViewerASCIIPrintf(viewer, "  %-12s %8.0f %14.6g %14.4g %14.4g %12.6g\n", MuonCostDistributionNames[k], one.cost.rounds, one.cost.bytes, one.oracle, one.state, MuonCostSeconds(link, &one.cost, 0)));
  }
  PetscCall(PetscFree(layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MuonViewCost - Prints what the messages of a step cost by the alpha-beta model, for each exchange

  Collective

  Input Parameters:
+ muon   - the optimizer; it is set up where it was not
- viewer - where to, an ASCII viewer, `NULL` for standard output

  Options Database Keys:
+ -muon_view_cost [viewer] - prints it at the end of `MuonSetUp()`
. -muon_cost_alpha time    - latency of the link, 25us where nothing else is said
. -muon_cost_beta speed    - speed of the link in each direction, 10Gbit/s
. -muon_cost_gamma speed   - how fast a rank sums messages or votes on them, 4GB/s
- -muon_cost_measure       - measures what of these is not given

  Level: intermediate

  Notes:
  A message of s bytes takes alpha + beta s seconds, and each byte that is summed or voted on gamma\: the
  seconds are alpha times the rounds, plus beta times the bytes on the busiest direction of the busiest rank's
  link, plus gamma times the bytes that it sums. A link carries as much in each direction at once.

  Sums and broadcasts go along trees. The seconds take them as cut into shards that follow one another, or for
  sums everywhere as a ring; the last column has whole messages along binomial trees, where what a rank sends
  on waits for what it receives. Which of them MPI does depends on MPI, sizes and ranks. Sums are one call a
  layer, each of which pays the latency; messages are one packet for all layers.

  The first table is of the optimizer's own messages, whatever its type is, with the owners that each exchange
  would choose; sizes are the most that a message may have, which messages that are packed by entropy stay
  below, and after a step those of this step. Where layers are spread over the ranks of a worker, or
  `MUONEXCHANGEROWS` keeps their state in rows, another table is of what moves inside a worker, with each
  `MuonAssemblyKind` for all matrices that need one\: whole gradients that are summed, rows to oracles and
  back, and whole weights. The next is of votes on signs, one bit an entry up, and the last of the published
  ways to distribute Muon without compression. The oracles' work is that of the busiest rank, as a part of
  all; it is not in the seconds.

  No step is taken.

  References:
. * - SignMuon\: Communication-Efficient Distributed Muon Optimization, 2026, arXiv 2605.16311; the model, and the votes except range

.seealso: `Muon`, `MuonView()`, `MuonSetCostAlpha()`, `MuonSetCostBeta()`, `MuonSetCostGamma()`, `MuonSetCostMeasure()`, `MuonExchangeSetType()`, `MuonExchangeSetMode()`
@*/
PetscErrorCode MuonViewCost(Muon muon, PetscViewer viewer)
{
  const char  *how[3];
  MuonCostLink link;
  PetscBool    ascii;
  double       entries = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(muon, MUON_CLASSID, 1);
  if (viewer == NULL) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)muon), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(muon, 1, viewer, 2);
  PetscCall(MuonViewerCheck((PetscObject)muon, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonSetUp(muon));
  PetscCall(MuonGetCostLink_Private(muon, &link));
  for (PetscInt l = 0; l < muon->nactive; l++) entries += (double)muon->active[l]->m * (double)muon->active[l]->n;
  how[0] = muon->cost_alpha > 0 ? "given" : muon->cost_measure && muon->size > 1 ? "measured" : "assumed";
  how[1] = muon->cost_beta > 0 ? "given" : muon->cost_measure && muon->size > 1 ? "measured" : "assumed";
  how[2] = muon->cost_gamma > 0 ? "given" : muon->cost_measure ? "measured" : "assumed";
  PetscCall(PetscViewerASCIIPrintf(viewer, "Cost of a step's messages: %d workers, %" PetscInt_FMT " layers that move, %.0f entries\n", muon->size, muon->nactive, entries));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "link: %.4g us a message (%s), %.4g Gbit/s each way (%s); %.4g GB/s of messages are summed or voted on (%s)\n", 1e6 * link.alpha, how[0], 8e-9 / link.beta, how[1], 1e-9 / link.gamma, how[2]));
  if (muon->nshards > 0) {
    PetscCall(MuonCostViewExchanges_Private(muon, viewer, &link));
    PetscCall(MuonCostViewAssemblies_Private(muon, viewer, &link));
    PetscCall(MuonCostViewVotes_Private(muon, viewer, &link, entries));
    PetscCall(MuonCostViewDistributions_Private(muon, viewer, &link, entries));
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
  PetscCall(MuonViewCost(muon, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
