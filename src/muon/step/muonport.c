#include "muonstep.h"

/*
   Ports: sums of gradients that can begin before the step. Workers of several ranks: whole gradients are summed over
   them, and whole weights gathered.
*/

/* Where one rank of a node has all of the state there is one range of rows */
static const PetscInt *MuonPortRanges_Private(const MuonPort *port, PetscInt all[2])
{
  all[0] = 0;
  all[1] = port->shard->layer->m;
  return port->home >= 0 ? all : port->ranges;
}

/*
   Begins the sum of whole gradients over the ranks of a worker; each rank gets its rows. A rank without a gradient adds zeros.
   Sums are on the host
*/
static PetscErrorCode MuonPortSum_Private(MuonPort *port, const MuonArray *packed)
{
  const Muon           muon   = port->shard->muon;
  const MuonWorkerGrid grid   = port->shard->group->grid;
  MuonPortSum *const   sum    = port->sum;
  PetscLogDouble       before = muon->bytes[0];
  PetscInt             all[2];
  MuonArray            whole;
  PetscBool            ours;

  PetscFunctionBegin;
  PetscCall(MuonLayerGetGradientMemory(port->shard->layer, &whole, &ours));
  if (whole.data == NULL) {
    PetscCall(MuonArrayZero(packed));
    whole = *packed;
  }
  PetscCall(MuonArrayOnHost(&whole, PETSC_TRUE, &port->sum->staged[0]));
  PetscCall(MuonArrayOnHost(&port->mean, PETSC_FALSE, &port->sum->staged[1]));
  PetscCall(MuonRowsSumStart(grid->inside, port->home, MuonPortRanges_Private(port, all), grid->share, &sum->staged[0], packed, &sum->staged[1], sum->counts, &muon->bytes[0], &sum->request));
  if (port->home >= 0) muon->bytes[1] += muon->bytes[0] - before;
  if (whole.memory == MUON_HOST) port->sum->staged[0].data = NULL;
  if (port->mean.memory == MUON_HOST) port->sum->staged[1].data = NULL;
  if (whole.data != packed->data) PetscCall(MuonLayerRestoreGradientMemory(port->shard->layer, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonPortSumWait_Private(MuonPort *port)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Wait(&port->sum->request, MPI_STATUS_IGNORE));
  if (port->sum->staged[1].data != NULL) PetscCall(MuonArrayOffHost(&port->mean, PETSC_TRUE, &port->sum->staged[1]));
  PetscCall(MuonArrayDestroy(&port->sum->staged[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins the sum of a layer's gradient before its step, if that sum is nonblocking */
static PetscErrorCode MuonPortBeginSum_Private(MuonPort *port)
{
  MuonArray whole;

  PetscFunctionBegin;
  if (port->mean.data == NULL) {
    PetscCall(MuonWorkerBeginSum_Private(port->shard->muon, port->shard));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (port->sum->packed.data == NULL) {
    whole        = MuonLayerGetWholeShape(port->shard->layer);
    whole.memory = MUON_HOST;
    PetscCall(MuonArrayCreate(&whole, whole.precision, &port->sum->packed));
  }
  PetscCall(MuonPortSum_Private(port, &port->sum->packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The port of an active layer whose sum can begin before the step, or NULL */
static MuonPort *MuonGetSummed_Private(Muon muon, PetscInt l)
{
  const MuonLayer layer = muon->active[l];
  MuonPort       *port  = layer->driver->ready != NULL ? MuonShardOf(layer)->port : NULL;

  return port != NULL && (MuonGroupRests(port->shard->group) || (port->shard->group->depth > 1 && port->mean.data == NULL)) ? NULL : port;
}

/*
   Ranks may call MuonLayerGradientReady() in different orders, and not for all layers. MPI matches sums by the order in which
   they begin. They therefore begin in the order of a backward pass on all ranks: the sum of a layer begins after those of all
   later layers
*/
PetscErrorCode MuonPortReady_Private(MuonLayer layer)
{
  const MuonShard *shard = MuonShardOf(layer);
  MuonPort        *port  = shard->port;
  Muon             muon  = shard->muon;

  PetscFunctionBegin;
  PetscCall(MuonProgress(muon));
  if (muon->objective != NULL && muon->computing == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS); /* the routine is going to write another gradient */
  port->ready++;                                                                                     /* twice is an error on all ranks, at the end of the step */
  for (; muon->nsums > 0; muon->nsums--) {
    MuonPort *next = MuonGetSummed_Private(muon, muon->nsums - 1);

    if (next != NULL && next->ready == 0) break;
    if (next != NULL) PetscCall(MuonPortBeginSum_Private(next));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for the mean of whole gradients; a sum that begins only now needs no memory of its own */
static PetscErrorCode MuonPortAverage_Private(MuonPort *port)
{
  Muon      muon = port->shard->muon;
  MuonArray shape, packed;
  MuonMark  mark;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MUON_Exchange, muon, 0, 0, 0));
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  if (port->sum->request == MPI_REQUEST_NULL) {
    shape        = MuonLayerGetWholeShape(port->shard->layer);
    shape.memory = MUON_HOST;
    PetscCall(MuonWorkspaceGetArray(muon->work, &shape, shape.precision, &packed));
    PetscCall(MuonPortSum_Private(port, &packed));
  }
  PetscCall(MuonPortSumWait_Private(port));
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Exchange, muon, 0, 0, 0));
  MuonArrayAxpby(1 / (double)port->shard->group->grid->size, &port->mean, 0, &port->mean);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void MuonForgetReady_Private(Muon muon)
{
  for (PetscInt p = 0; p < muon->nshards; p++) muon->shard[p].port->ready = 0;
  muon->nsums     = muon->nactive;
  muon->computing = PETSC_FALSE;
}

PetscErrorCode MuonBeginSums_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt l = muon->nactive - 1; l >= 0; l--) {
    MuonPort *port = MuonGetSummed_Private(muon, l);

    if (port == NULL) continue;
    if (port->mean.data != NULL) PetscCall(MuonPortAverage_Private(port));
    else if (l < muon->nsums) PetscCall(MuonPortBeginSum_Private(port));
  }
  MuonForgetReady_Private(muon);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDropSums_Private(Muon muon)
{
  PetscInt  most = muon->nactive - muon->nsums;
  PetscBool some = PETSC_FALSE, same;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nactive && muon->nshards > 0; l++) some = muon->active[l]->driver->ready != NULL ? PETSC_TRUE : some; /* of a group that rests, too: a reset of one rank is an error */
  if (some == PETSC_FALSE || (muon->objective != NULL && muon->computing == PETSC_FALSE)) PetscFunctionReturn(PETSC_SUCCESS);
  /* What some ranks began all must end */
  PetscCall(MuonMeet_Private(muon, MUON_CALL_RESET, 0, &same, &most));
  for (; muon->nactive - muon->nsums < most; muon->nsums--) {
    MuonPort *next = MuonGetSummed_Private(muon, muon->nsums - 1);

    if (next != NULL) PetscCall(MuonPortBeginSum_Private(next));
  }
  for (PetscInt p = 0; p < muon->nshards; p++) {
    MuonShard *shard = &muon->shard[p];

    if (shard->port->sum != NULL && shard->port->sum->request != MPI_REQUEST_NULL) PetscCall(MuonPortSumWait_Private(shard->port));
    if (shard->port->begun) PetscCall(MuonExchangeReduceEnd(shard->group->exchange));
    for (PetscInt k = 0; k < shard->group->nshards && shard->port->begun; k++) shard->group->shard[k].port->begun = PETSC_FALSE;
  }
  MuonForgetReady_Private(muon);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPortGather_Private(const MuonPort *port, const MuonArray *whole)
{
  const Muon      muon   = port->shard->muon;
  const MuonGroup group  = port->shard->group;
  const MuonArray rows   = MuonPortServes(port) ? MuonShardPart(port->shard, whole) : *whole;
  PetscLogDouble  before = muon->bytes[0];
  PetscInt        all[2];
  MuonArray       packed;
  MuonMark        mark;

  PetscFunctionBegin;
  if (port->whole == PETSC_FALSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MUON_Exchange, muon, 0, 0, 0));
  PetscCall(MuonWorkspaceMark(muon->work, &mark));
  PetscCall(MuonWorkspaceGetArray(muon->work, whole, whole->precision, &packed));
  PetscCall(MuonRowsGather(group->grid->inside, port->home, MuonPortRanges_Private(port, all), &rows, whole, &packed, &muon->bytes[0]));
  if (port->home >= 0) muon->bytes[1] += muon->bytes[0] - before;
  PetscCall(MuonWorkspaceRelease(muon->work, &mark));
  PetscCall(PetscLogEventEnd(MUON_Exchange, muon, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
