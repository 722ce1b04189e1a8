#include "muonplan.h"
#include <petscmuon/private/muonwire.h>

/*
   Groups: shards that share an exchange and operations. All ranks have the same groups in the same order.
*/

/*
   The optimizer's options for the ranks of a position; for means, the defaults if the options are for counted bits only. A
   single worker has no exchange: it owns all
*/
static PetscErrorCode MuonCreateExchange_Private(Muon muon, MuonWorkerGrid grid, const MuonGroupOps *ops, MuonExchange *exchange)
{
  const PetscBool counted = ops->bits != NULL ? PETSC_TRUE : PETSC_FALSE, alone = muon->nested != NULL || (grid->size > 1 && grid->nworkers == 1) ? PETSC_TRUE : PETSC_FALSE;
  MuonExchange    all = muon->exchange;

  PetscFunctionBegin;
  PetscCall(MuonExchangeCreate(muon->nested != NULL ? PETSC_COMM_SELF : grid->size > 1 ? grid->across : PetscObjectComm((PetscObject)muon), exchange));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*exchange, (PetscObject)muon, 1));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)*exchange, ((PetscObject)muon)->prefix));
  PetscCall(MuonExchangeSetCounted(*exchange, counted));
  if (alone) PetscCall(MuonExchangeSetType(*exchange, MUONEXCHANGEREPLICATED));
  else if (all->typeset && (counted || all->ownership != MUON_EXCHANGE_OWNERSHIP_RANGES)) PetscCall(MuonExchangeSetType(*exchange, ((PetscObject)all)->type_name));
  if (MuonParametersIsSet((PetscObject)all, "mode") && alone == PETSC_FALSE) PetscCall(MuonExchangeSetMode(*exchange, all->mode));
  PetscCall(MuonParametersAssign((PetscObject)*exchange, "assignment", (double)all->assignment));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers of a group have the same operations, workers, home, phase and depth; the depth is 1 for layers without LMOs */
typedef struct {
  PetscInt    grid, phase, depth;
  PetscMPIInt home;
} MuonGroupKey;

static PetscErrorCode MuonGetGroupOps_Private(Muon muon, PetscInt l, const MuonGroupKey *key, const MuonGroupOps *mean, const MuonGroupOps **ops)
{
  const PetscInt depth = muon->layer[l]->workermomentum ? 1 + muon->delay : 1;

  PetscFunctionBegin;
  *ops = NULL;
  if (muon->grid_of[l] != key->grid || muon->home_of[l] != key->home || muon->layer[l]->phase != key->phase || depth != key->depth || muon->layer[l]->frozen) PetscFunctionReturn(PETSC_SUCCESS);
  /* What is no step in a norm ball needs a gradient, of which there is a mean */
  *ops = muon->layer[l]->ops->applylmo != NULL && muon->ops->lmogroup != NULL ? muon->ops->lmogroup : mean;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The layers of these workers and operations. If every rank is a worker, the optimizer's own exchange is that of the first group
   of depth 1. Messages are uncompressed until a type chooses other compressors
*/
static PetscErrorCode MuonCreateGroup_Private(Muon muon, const MuonGroupKey *key, const MuonGroupOps *ops, const MuonGroupOps *mean)
{
  MuonWorkerGrid grid = muon->grid[key->grid];
  MuonGroup      group;
  PetscBool      free = grid->size == 1 && muon->nested == NULL && key->depth == 1 ? PETSC_TRUE : PETSC_FALSE; /* no group has the optimizer's exchange */

  PetscFunctionBegin;
  PetscCall(PetscNew(&group));
  group->ops   = ops;
  group->grid  = grid;
  group->home  = key->home;
  group->depth = key->depth;
  group->shard = muon->shard + muon->nshards;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    const MuonGroupOps *own;

    PetscCall(MuonGetGroupOps_Private(muon, l, key, mean, &own));
    if (own != ops) continue;
    PetscCall(MuonShardSetUp_Private(muon, &group->shard[group->nshards], group, muon->layer[l]));
    group->nshards++;
    muon->nshards++;
  }
  for (PetscInt g = 0; g < muon->ngroups; g++) free = muon->group[g]->exchange == muon->exchange ? PETSC_FALSE : free;
  if (free) {
    PetscCall(MuonExchangeSetCounted(muon->exchange, ops->bits != NULL ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(PetscObjectReference((PetscObject)muon->exchange));
    group->exchange = muon->exchange;
  } else PetscCall(MuonCreateExchange_Private(muon, grid, ops, &group->exchange));
  if (ops->create != NULL) PetscCall((*ops->create)(muon, group));
  muon->group[muon->ngroups++] = group;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Groups with the type's operations come first, those of means last; each home has one, even if some rank's layers are frozen */
static PetscErrorCode MuonCreateGroupsOf_Private(Muon muon, const MuonGroupKey *key, const MuonGroupOps *mean)
{
  const PetscInt first = muon->ngroups;
  PetscBool      means = key->home >= 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    const MuonGroupOps *ops;
    PetscBool           is = PETSC_FALSE;

    PetscCall(MuonGetGroupOps_Private(muon, l, key, mean, &ops));
    if (ops == mean) means = PETSC_TRUE;
    for (PetscInt g = first; g < muon->ngroups; g++) is = muon->group[g]->ops == ops ? PETSC_TRUE : is;
    if (ops != NULL && ops != mean && is == PETSC_FALSE) PetscCall(MuonCreateGroup_Private(muon, key, ops, mean));
  }
  if (means) PetscCall(MuonCreateGroup_Private(muon, key, mean, mean));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There is one at least */
PetscErrorCode MuonCreateGroups_Private(Muon muon, const MuonGroupOps *mean)
{
  const MuonGroupKey none   = {0, 0, 1, -1};
  const PetscInt     phases = MuonPhases(muon), kinds = 1 + muon->delay;
  PetscBool          carries = PETSC_FALSE;
  PetscMPIInt        most    = 0;

  PetscFunctionBegin;
  PetscCall(MuonFindWorkerGrids_Private(muon, muon->exchange->rowwise));
  PetscCall(MuonSetUpWeights_Private(muon));
  PetscCall(PetscCalloc1(muon->nactive, &muon->shard));
  for (PetscInt p = 0; p < muon->ngrids; p++) most += (PetscMPIInt)(kinds * phases) * muon->grid[p]->size;
  PetscCall(PetscMalloc1(muon->nactive + most + 1, &muon->group));
  for (PetscInt k = 0; k < kinds * phases * muon->ngrids; k++) {
    MuonGroupKey key   = {k % muon->ngrids, k / muon->ngrids % phases, 1 + k / muon->ngrids / phases, -1};
    PetscBool    homes = PETSC_FALSE;

    for (PetscInt l = 0; l < muon->nlayers; l++) homes = muon->grid_of[l] == key.grid && muon->home_of[l] >= 0 ? PETSC_TRUE : homes;
    for (; key.home < (homes ? muon->grid[key.grid]->size : 0); key.home++) PetscCall(MuonCreateGroupsOf_Private(muon, &key, mean));
  }
  if (muon->ngroups == 0) PetscCall(MuonCreateGroup_Private(muon, &none, mean, mean));
  for (PetscInt g = 0; g < muon->ngroups; g++) carries = muon->group[g]->exchange == muon->exchange ? PETSC_TRUE : carries;
  if (carries == PETSC_FALSE) {
    PetscCall(MuonExchangeSetCounted(muon->exchange, PETSC_FALSE));
    PetscCall(MuonExchangeSetItems(muon->exchange, 0, NULL)); /* the status alone */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDropRounds_Private(Muon muon)
{
  PetscFunctionBegin;
  if (muon->nested != NULL) PetscCall(MuonDropRounds_Private(muon->nested));
  for (PetscInt g = 0; g < muon->ngroups && muon->underway; g++) {
    if (muon->group[g]->depth == 1) continue;
    PetscCall(MuonExchangeMoveEnd(muon->group[g]->exchange));
    PetscCall(MuonExchangeReduceEnd(muon->group[g]->exchange));
  }
  muon->underway = PETSC_FALSE;
  muon->sending  = MUON_STATUS_OK;
  PetscCall(PetscArrayzero(muon->counted[0], 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDestroyGroups_Private(Muon muon)
{
  PetscFunctionBegin;
  PetscCall(MuonDropRounds_Private(muon));
  muon->pending = -1;
  for (PetscInt p = 0; p < muon->nshards; p++) PetscCall(MuonShardDestroy_Private(&muon->shard[p]));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonGroup group = muon->group[g];

    if (group->ops->destroy != NULL) PetscCall((*group->ops->destroy)(group));
    PetscCall(MuonExchangeDestroy(&group->exchange));
    PetscCall(MuonAssemblyDestroy(&group->assembly));
    PetscCall(PetscFree(group->item));
    PetscCall(PetscFree(group));
  }
  PetscCall(PetscFree(muon->group));
  PetscCall(PetscFree(muon->shard));
  muon->ngroups = muon->nshards = 0;
  muon->bytes[0] = muon->bytes[1] = 0;
  PetscCall(MuonResetWorkerGrids_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonGroupSetUpOwners_Private(Muon muon, MuonGroup group)
{
  MuonExchangeItem *items;
  PetscBool         summable     = PETSC_TRUE;
  char              culprit[256] = "";
  MuonArray         shape;
  size_t           *up, *down, bytes[2];

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(group->nshards, &items, group->nshards, &up, group->nshards, &down));
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard        *shard = &group->shard[k];
    MuonExchangeItem *item  = &items[k];

    shape = MuonShardStateShape(shard);
    PetscCall(MuonDescribeJob_Private(shard->layer, (PetscLogDouble)MuonArrayEntryBytes(&shape), item)); /* of the layer, not of the shard: all positions of a worker find the same owners */
    if (shard->up->assignment == PETSC_FALSE && summable) PetscCall(PetscSNPrintf(culprit, sizeof(culprit), "compressor %s of layer \"%s\"", ((PetscObject)shard->up)->type_name, item->name));
    summable = summable && shard->up->assignment ? PETSC_TRUE : PETSC_FALSE;
    /* A receiver accepts no size above the maximum of a message; the first message may be uncompressed, by another compressor */
    PetscCall(MuonShardGetMaxBytes_Private(shard, bytes));
    up[k]   = PetscMax(bytes[0], sizeof(double) * MuonArrayEntries(&shape) + MUON_WIRE_MESSAGE_HEADER_MOST);
    down[k] = bytes[1];
  }
  PetscCall(MuonExchangeSetItems(group->exchange, group->nshards, items));
  PetscCall(MuonExchangeSetUp(group->exchange));
  PetscCall(MuonExchangeSetMaxBytes(group->exchange, up, down));
  PetscCall(MuonExchangeResolveMode(group->exchange, summable, culprit, &group->mode));
  if (summable == PETSC_FALSE && group->home <= 0 && group->grid->size > 1 && group->grid->nworkers == 1)
    PetscCall(MuonNotice(PetscObjectComm((PetscObject)muon), "PetscMuon warning: %s sends messages from the one worker that all ranks are to itself, which saves nothing\n", culprit));
  group->no_downlink = PETSC_TRUE;
  group->arrays[0] = group->arrays[1] = PETSC_TRUE;
  for (PetscInt k = 0; k < group->nshards; k++) {
    MuonShard      *shard = &group->shard[k];
    const MuonArray state = MuonShardStateShape(shard);
    const PetscBool fits  = state.memory == MUON_HOST && MuonArrayEntries(&state) <= INT_MAX ? PETSC_TRUE : PETSC_FALSE;
    PetscBool       asis;

    shard->replicated   = group->exchange->everywhere;
    shard->layer->alone = muon->nested != NULL ? PETSC_TRUE : PETSC_FALSE;
    shard->layer->owner = shard->replicated ? -1 : group->exchange->owner[k];
    /* One worker makes no message for itself of weights as they are */
    asis = shard->downlink == MUON_DOWNLINK_WEIGHTS && shard->down->assignment && MuonCompressorValuesOf(shard->down) == MUON_COMPRESSOR_VALUES_NATIVE ? PETSC_TRUE : PETSC_FALSE;
    if (shard->replicated == PETSC_FALSE && (group->exchange->nworkers > 1 || asis == PETSC_FALSE)) group->no_downlink = PETSC_FALSE;
    if (shard->downlink == MUON_DOWNLINK_WEIGHTS && shard->down->assignment == PETSC_FALSE) group->no_downlink = PETSC_FALSE;
    if (fits == PETSC_FALSE || MuonShardSendsAsIs(shard) == PETSC_FALSE) group->arrays[0] = PETSC_FALSE;
    if (fits == PETSC_FALSE || asis == PETSC_FALSE) group->arrays[1] = PETSC_FALSE;
  }
  if (MuonGroupSendsArrays(group, 1)) group->no_downlink = PETSC_TRUE;
  PetscCall(PetscFree3(items, up, down));
  PetscFunctionReturn(PETSC_SUCCESS);
}
