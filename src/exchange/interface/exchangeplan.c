#include "../muonexchangepackets.h"

/*
   Owners of items: shards of layers, or ranges of entries. Every worker computes their owners itself, without a message.
*/

/* Ranges are cut at whole words, so that no more is padded than where one worker has all */
PetscErrorCode MuonExchangeCutEntries(MuonExchange exchange, PetscInt n, const PetscInt64 start[], PetscInt *items, PetscInt64 *cut[])
{
  const PetscInt64 entries = start[n], words = (entries + 63) / 64;

  PetscFunctionBegin;
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  *items = n;
  if (exchange->everywhere || exchange->ownership == MUON_EXCHANGE_OWNERSHIP_ONE) *items = 1;
  else if (exchange->ownership == MUON_EXCHANGE_OWNERSHIP_RANGES) *items = exchange->nworkers;
  PetscCall(PetscMalloc1(*items + 1, cut));
  for (PetscInt i = 0; i <= *items; i++) {
    if (exchange->everywhere == PETSC_FALSE && exchange->ownership == MUON_EXCHANGE_OWNERSHIP_LAYERS) (*cut)[i] = start[i];
    else (*cut)[i] = PetscMin(64 * (words / *items * i + words % *items * i / *items), entries);
  }
  (*cut)[*items] = entries;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Errors of the plan leave nothing to free: this removes all that a set-up created */
static PetscErrorCode MuonExchangeResetPlan_Private(MuonExchange exchange)
{
  MuonExchangeLink link = exchange->link;

  PetscFunctionBegin;
  for (int d = 0; d < 2; d++) {
    MuonExchangePackets packets = &link->way[d];

    MuonTransportBufferFree(&packets->out);
    MuonTransportBufferFree(&packets->in);
    PetscCall(PetscFree5(packets->ownoffset, packets->ownbytes, packets->senderstatus, packets->message, packets->messagebytes));
  }
  PetscCall(PetscArrayzero(link->way, 2));
  PetscCall(MuonExchangeFreePacks_Private(exchange));
  PetscCall(PetscFree4(exchange->owner, exchange->order, exchange->place, exchange->first));
  exchange->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReset(MuonExchange exchange)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeResetPlan_Private(exchange));
  for (PetscInt i = 0; i < exchange->nitems; i++) PetscCall(PetscFree(exchange->item[i].name));
  PetscCall(PetscFree(exchange->item));
  exchange->nitems   = 0;
  exchange->itemsset = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSetItems(MuonExchange exchange, PetscInt n, const MuonExchangeItem item[])
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(PetscMalloc1(n, &exchange->item));
  for (PetscInt i = 0; i < n; i++) {
    exchange->item[i] = item[i];
    PetscCall(PetscStrallocpy(item[i].name, (char **)&exchange->item[i].name));
  }
  exchange->nitems   = n;
  exchange->itemsset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSetUp(MuonExchange exchange)
{
  const PetscMPIInt nworkers = exchange->nworkers;
  const PetscInt    n        = exchange->nitems;
  PetscInt         *first;

  PetscFunctionBegin;
  if (exchange->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(exchange->itemsset, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ORDER, "MuonExchangeSetItems() must be called before MuonExchangeSetUp()");
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  PetscCall(MuonExchangeResetPlan_Private(exchange));
  PetscCall(PetscCalloc4(n, &exchange->owner, n, &exchange->order, n, &exchange->place, nworkers + 1, &exchange->first));
  first = exchange->first;
  for (PetscInt i = 0; i < n; i++) exchange->owner[i] = exchange->everywhere ? exchange->worker : 0;
  PetscTryTypeMethod(exchange, assign);
  for (PetscInt w = 0, place = 0; w < nworkers; w++) {
    for (PetscInt i = 0; i < n; i++) {
      if (exchange->owner[i] != w) continue;
      exchange->place[i]       = place;
      exchange->order[place++] = i;
    }
    first[w + 1] = place;
  }
  PetscCheck(first[nworkers] == n, PetscObjectComm((PetscObject)exchange), PETSC_ERR_PLIB, "Type %s gives items to workers outside of [0,%d)", ((PetscObject)exchange)->type_name, nworkers);
  PetscCall(PetscCalloc3(n, &exchange->link->sum, n, &exchange->link->pack, 4 * nworkers, &exchange->link->open));
  for (int d = 0; d < 2; d++) {
    MuonExchangePackets packets = &exchange->link->way[d];
    const PetscInt      got     = d == MUON_EXCHANGE_DOWN ? n : nworkers * (first[exchange->worker + 1] - first[exchange->worker]);

    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBufferInit(&exchange->link->transport, &packets->out)));
    PetscCall(MuonExchangeCheckTransport_Private(MuonTransportBufferInit(&exchange->link->transport, &packets->in)));
    PetscCall(PetscCalloc5(n, &packets->ownoffset, n, &packets->ownbytes, nworkers, &packets->senderstatus, got, &packets->message, got, &packets->messagebytes));
  }
  exchange->setupcalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes that were undone since the last call fit the existing plan */
PetscErrorCode MuonExchangeIsSetUp(MuonExchange exchange, PetscBool *is)
{
  unsigned int now = 0;

  PetscFunctionBegin;
  PetscCall(MuonParametersHash((PetscObject)exchange, &now));
  if (exchange->setupcalled) exchange->planned = now;
  else exchange->setupcalled = exchange->first != NULL && now == exchange->planned ? PETSC_TRUE : PETSC_FALSE;
  *is = exchange->setupcalled;
  PetscFunctionReturn(PETSC_SUCCESS);
}
