#include "muonplan.h"

/*
   Ports, and what they know of nodes: whose ranks are one worker for layers that are whole on each of them, which of these ranks a layer is at.
*/

PetscErrorCode MuonNodesFind_Private(Muon muon, PetscBool rows, PetscMPIInt *size, PetscMPIInt *members[])
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)muon), node = comm;
  PetscMPIInt ranks, rank;
  PetscInt    mine[3], most[3]; /* ranks of a node, those that are cut unevenly */

  PetscFunctionBegin;
  PetscCheck(rows == PETSC_FALSE || muon->ports.node_size == 1, comm, PETSC_ERR_SUP, "-%smuon_node_size with -%smuon_exchange_type rows, which cuts layers over all ranks; expected star, replicated or layerwise", MuonPrefix(muon), MuonPrefix(muon));
  if (rows == PETSC_FALSE && muon->ports.node_size == 1) node = PETSC_COMM_SELF;
  else if (rows == PETSC_FALSE) PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_size(node, &ranks));
  PetscCallMPI(MPI_Comm_rank(node, &rank));
  PetscCall(PetscMalloc1(ranks, members));
  PetscCallMPI(MPI_Allgather(&muon->rank, 1, MPI_INT, *members, 1, MPI_INT, node));
  *size = ranks;
  if (rows || muon->ports.node_size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_free(&node));
  if (muon->ports.node_size != PETSC_DETERMINE) *size = (PetscMPIInt)PetscMin(muon->ports.node_size, muon->size + 1);
  mine[0] = ranks;
  mine[1] = -ranks;
  mine[2] = ranks % *size != 0 ? ranks : 0;
  PetscCallMPI(MPI_Allreduce(mine, most, 3, MPIU_INT, MPI_MAX, comm));
  if (most[2] > 0 || (muon->ports.node_size == PETSC_DETERMINE && most[0] != -most[1])) PetscCall(PetscFree(*members));
  PetscCheck(most[2] == 0, comm, PETSC_ERR_ARG_INCOMP, "-%smuon_node_size %" PetscInt_FMT ": a node has %" PetscInt_FMT " of the optimizer's ranks, expected a divisor of them on every node", MuonPrefix(muon), muon->ports.node_size, most[2]);
  PetscCheck(muon->ports.node_size != PETSC_DETERMINE || most[0] == -most[1], comm, PETSC_ERR_ARG_INCOMP,
             "-%smuon_node_size auto: nodes have between %" PetscInt_FMT " and %" PetscInt_FMT " of the optimizer's ranks, expected as many on each, or a number that divides them all", MuonPrefix(muon), -most[1], most[0]);
  PetscCall(PetscArraymove(*members, *members + rank / *size * *size, *size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computed on rank 0 and broadcast, since ranks compare options later */
PetscErrorCode MuonNodesPlace_Private(Muon muon, PetscMPIInt size)
{
  MuonExchangeItem *items;
  PetscMPIInt      *home, n;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(muon->nlayers, &n));
  for (PetscMPIInt l = 0; l < n; l++) muon->place[l][MUON_PLACE_HOME] = -1;
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(n, &items, n, &home));
  for (PetscMPIInt l = 0; l < n; l++) PetscCall(MuonDescribeJob_Private(muon->layer[l], (PetscLogDouble)MuonArrayEntryBytes(&muon->layer[l]->shape), &items[l]));
  PetscCall(MuonAssignOwners_Private(MUON_EXCHANGE_ASSIGNMENT_LPT, n, items, size, home));
  PetscCallMPI(MPI_Bcast(home, n, MPI_INT, 0, PetscObjectComm((PetscObject)muon)));
  for (PetscMPIInt l = 0; l < n; l++) {
    if (muon->layer[l]->ranks == 1) muon->place[l][MUON_PLACE_HOME] = home[l];
  }
  PetscCall(PetscFree2(items, home));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPortCreate_Private(MuonLayer layer, MuonWorkerGrid grid, const MuonPlace place, MuonPort **newport)
{
  MuonPort *port;

  PetscFunctionBegin;
  PetscCall(PetscNew(&port));
  *newport    = port;
  port->home  = (PetscMPIInt)place[MUON_PLACE_HOME];
  port->whole = grid->size > 1 && layer->ranks == 1 ? PETSC_TRUE : PETSC_FALSE;
  if (grid->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&port->sum));
  PetscCall(PetscMalloc1(grid->size, &port->sum->counts));
  port->sum->request = MPI_REQUEST_NULL;
  if (port->home >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(grid->size + 1, &port->ranges));
  if (port->whole) {
    for (PetscMPIInt r = 0; r <= grid->size; r++) port->ranges[r] = r * (layer->m / grid->size) + PetscMin((PetscInt)r, layer->m % grid->size);
  } else PetscCall(PetscArraycpy(port->ranges, layer->ranges, grid->size + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonPortDestroy_Private(MuonPort **port)
{
  MuonPortSum *sum = (*port)->sum;

  PetscFunctionBegin;
  if (sum != NULL) {
    PetscCall(MuonArrayDestroy(&sum->packed));
    PetscCall(PetscFree(sum->counts));
  }
  PetscCall(PetscFree((*port)->sum));
  PetscCall(MuonArrayDestroy(&(*port)->mean));
  PetscCall(PetscFree((*port)->ranges));
  PetscCall(PetscFree(*port));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MuonPortServesAt(const MuonPort *port, PetscMPIInt position)
{
  return port->home < 0 || port->home == position ? PETSC_TRUE : PETSC_FALSE;
}

PetscBool MuonPortServes(const MuonPort *port)
{
  return MuonPortServesAt(port, port->shard->group->grid->position);
}

PetscMPIInt MuonPortCountRanks(const MuonPort *port)
{
  return port->home >= 0 ? port->shard->group->grid->nworkers : port->shard->muon->size;
}

PetscBool MuonGroupFollows(Muon muon, const struct _n_MuonGroup *group)
{
  for (PetscInt g = 0; muon->group[g] != group && group->nshards > 0; g++) {
    const MuonShard *one = muon->group[g]->shard, *shard = group->shard;

    if (muon->group[g]->grid == group->grid && muon->group[g]->depth == group->depth && one->layer->phase == shard->layer->phase && one->port->home < shard->port->home) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

PetscBool MuonPortLeads(Muon muon, PetscInt l)
{
  return MuonGridOf(muon, l)->position == PetscMax(muon->place[l][MUON_PLACE_HOME], 0) ? PETSC_TRUE : PETSC_FALSE;
}

PetscBool MuonPortShares(Muon muon, PetscInt l)
{
  return muon->place[l][MUON_PLACE_HOME] >= 0 ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MuonPortDescribe(const MuonPort *port, const char **owner, size_t length, char text[])
{
  PetscFunctionBegin;
  *owner = port->shard->layer->ranks > 1 ? "worker" : port->home >= 0 ? "node" : "rank";
  if (port->home >= 0) PetscCall(PetscSNPrintf(text, length, ", at rank %d of each node of %d", port->home, port->shard->group->grid->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}
