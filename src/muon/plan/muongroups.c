#include "muonplan.h"
#include <petscmuon/private/muonwire.h>
#include <string.h>

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

/* What layers are sorted by: those of a group differ in the last number alone, and means come behind the type's operations */
enum {
  MEAN = MUON_PLACES, /* behind the place */
  LAYER,
  KEYS
};
typedef struct {
  PetscInt at[KEYS];
} MuonGroupKey;

static int MuonCompareKeys_Private(const void *a, const void *b, void *ctx)
{
  const PetscInt *one = ((const MuonGroupKey *)a)->at, *other = ((const MuonGroupKey *)b)->at;
  int             k = 0;

  while (k < LAYER && one[k] == other[k]) k++;
  return one[k] < other[k] ? -1 : 1;
}

static PetscErrorCode MuonGetGroupKeys_Private(Muon muon, MuonGroupKey key[])
{
  PetscInt n = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < muon->nlayers; l++) {
    if (muon->layer[l]->frozen) continue;
    PetscCall(PetscArraycpy(key[n].at, muon->place[l], MUON_PLACES));
    key[n].at[MEAN]    = muon->layer[l]->ops->applylmo != NULL && muon->ops->lmogroup != NULL ? 0 : 1; /* what is no step in a norm ball needs a gradient, of which there is a mean */
    key[n++].at[LAYER] = l;
  }
  if (n > 1) PetscCall(PetscTimSort(n, key, sizeof(*key), MuonCompareKeys_Private, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   n layers. If every rank is a worker, the optimizer's own exchange is that of the first group of depth 1. Messages are
   uncompressed until a type chooses other compressors
*/
static PetscErrorCode MuonCreateGroup_Private(Muon muon, PetscInt n, const MuonGroupKey key[], const MuonGroupOps *mean)
{
  MuonWorkerGrid grid = muon->grid[key->at[MUON_PLACE_GRID]];
  MuonGroup      group;
  PetscBool      free = grid->size == 1 && muon->nested == NULL && key->at[MUON_PLACE_DEPTH] == 1 ? PETSC_TRUE : PETSC_FALSE; /* no group has the optimizer's exchange */

  PetscFunctionBegin;
  PetscCall(PetscNew(&group));
  group->ops     = key->at[MEAN] ? mean : muon->ops->lmogroup;
  group->grid    = grid;
  group->depth   = key->at[MUON_PLACE_DEPTH];
  group->nshards = n;
  group->shard   = muon->shard + muon->nshards;
  muon->nshards += n;
  for (PetscInt k = 0; k < n; k++) PetscCall(MuonShardSetUp_Private(muon, &group->shard[k], group, muon->layer[key[k].at[LAYER]], key[k].at));
  for (PetscInt g = 0; g < muon->ngroups; g++) free = muon->group[g]->exchange == muon->exchange ? PETSC_FALSE : free;
  if (free) {
    PetscCall(MuonExchangeSetCounted(muon->exchange, group->ops->bits != NULL ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(PetscObjectReference((PetscObject)muon->exchange));
    group->exchange = muon->exchange;
  } else PetscCall(MuonCreateExchange_Private(muon, grid, group->ops, &group->exchange));
  if (group->ops->create != NULL) PetscCall((*group->ops->create)(muon, group));
  muon->group[muon->ngroups++] = group;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There is one at least */
PetscErrorCode MuonCreateGroups_Private(Muon muon, const MuonGroupOps *mean)
{
  const MuonGroupKey none    = {{1, 0, 0, -1, 1, 0}};
  PetscBool          carries = PETSC_FALSE;
  MuonGroupKey      *key;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(muon->nactive, &muon->shard));
  PetscCall(PetscMalloc1(muon->nactive + 1, &muon->group));
  PetscCall(PetscMalloc1(muon->nactive, &key));
  PetscCall(MuonGetGroupKeys_Private(muon, key));
  for (PetscInt first = 0, end; first < muon->nactive; first = end) {
    for (end = first + 1; end < muon->nactive && memcmp(key[end].at, key[first].at, LAYER * sizeof(PetscInt)) == 0;) end++;
    PetscCall(MuonCreateGroup_Private(muon, end - first, key + first, mean));
  }
  PetscCall(PetscFree(key));
  if (muon->ngroups == 0) PetscCall(MuonCreateGroup_Private(muon, 0, &none, mean));
  for (PetscInt g = 0; g < muon->ngroups; g++) carries = muon->group[g]->exchange == muon->exchange ? PETSC_TRUE : carries;
  if (carries == PETSC_FALSE) {
    PetscCall(MuonExchangeSetCounted(muon->exchange, PETSC_FALSE));
    PetscCall(MuonExchangeSetItems(muon->exchange, 0, NULL)); /* the status alone */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonDestroyGroups_Private(Muon muon)
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < muon->nshards; p++) PetscCall(MuonShardDestroy_Private(&muon->shard[p]));
  for (PetscInt g = 0; g < muon->ngroups; g++) {
    MuonGroup group = muon->group[g];

    if (group->ops->destroy != NULL) PetscCall((*group->ops->destroy)(group));
    PetscCall(MuonExchangeDestroy(&group->exchange));
    if (group->server != NULL) PetscCall(MuonAssemblyDestroy(&group->server->assembly));
    if (group->server != NULL) PetscCall(PetscFree(group->server->item));
    PetscCall(PetscFree(group->server));
    PetscCall(PetscFree(group));
  }
  PetscCall(PetscFree(muon->group));
  PetscCall(PetscFree(muon->shard));
  muon->ngroups = muon->nshards = 0;
  muon->bytes[0] = muon->bytes[1] = 0;
  PetscCall(MuonResetWorkerGrids_Private(muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MuonGroupFitsArrays(const MuonGroup group, int down)
{
  if (MuonGroupHasOwners(group) == PETSC_FALSE) return PETSC_FALSE;
  for (PetscInt k = 0; k < group->nshards; k++) {
    const MuonArray state = MuonShardStateShape(&group->shard[k]);

    if (state.memory != MUON_HOST || MuonArrayEntries(&state) > INT_MAX || (down ? MuonShardComesAsIs(&group->shard[k]) : MuonShardSendsAsIs(&group->shard[k])) == PETSC_FALSE) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscErrorCode MuonGroupSetUpOwners_Private(Muon muon, MuonGroup group)
{
  MuonExchangeItem *items;
  PetscBool         summable     = PETSC_TRUE;
  char              culprit[256] = "";
  MuonArray         shape;
  size_t           *up, *down, bytes[2];
  MuonExchangeMode  mode;
  PetscInt          lossy = 0;

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
  PetscCall(MuonExchangeResolveMode(group->exchange, summable, culprit, &mode));
  while (lossy < muon->nshards && muon->shard[lossy].up->assignment) lossy++; /* of the optimizer, which is said once */
  if (summable == PETSC_FALSE && muon->shard[lossy].group == group && group->grid->size > 1 && group->grid->nworkers == 1)
    PetscCall(MuonNotice(PetscObjectComm((PetscObject)muon), "PetscMuon warning: %s sends messages from the one worker that all ranks are to itself, which saves nothing\n", culprit));
  for (PetscInt k = 0; k < group->nshards; k++) group->shard[k].layer->driver->owner = group->exchange->everywhere ? -1 : group->exchange->owner[k];
  PetscCall(PetscFree3(items, up, down));
  PetscFunctionReturn(PETSC_SUCCESS);
}
