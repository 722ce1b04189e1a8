#include "../muonexchangepackets.h"

/*
   Who owns what: items are shards of layers, or ranges of votes, and every worker finds their owners by
   itself, without a message.
*/

/* Ranges are cut at whole words, so that no more is padded than where one worker has all */
PetscErrorCode MuonExchangeCutVotes(MuonExchange exchange, PetscInt n, const PetscInt64 start[], PetscInt *items, PetscInt64 *cut[])
{
  const PetscInt64 entries = start[n], words = (entries + 63) / 64;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  *items = n;
  if (exchange->everywhere == PETSC_TRUE || exchange->ownership == MUON_EXCHANGE_OWNERSHIP_ONE) *items = 1;
  else if (exchange->ownership == MUON_EXCHANGE_OWNERSHIP_RANGES) *items = exchange->nworkers;
  PetscCall(PetscMalloc1(*items + 1, cut));
  for (PetscInt i = 0; i <= *items; i++) {
    if (exchange->everywhere == PETSC_FALSE && exchange->ownership == MUON_EXCHANGE_OWNERSHIP_LAYERS) (*cut)[i] = start[i];
    else (*cut)[i] = PetscMin(64 * (words / *items * i + words % *items * i / *items), entries);
  }
  (*cut)[*items] = entries;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetWorkers(MuonExchange exchange, PetscMPIInt *nworkers, PetscMPIInt *worker)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  *nworkers = exchange->nworkers;
  *worker   = exchange->worker;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSetItems(MuonExchange exchange, PetscInt n, const char *const names[], const PetscLogDouble cost[], const PetscLogDouble bytes[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscValidLogicalCollectiveInt(exchange, n, 2);
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_OUTOFRANGE, "Number of items %" PetscInt_FMT " of MuonExchange must not be negative", n);
  for (PetscInt i = 0; i < n; i++) {
    PetscCheck(cost[i] >= 0 && cost[i] <= PETSC_MAX_REAL, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_OUTOFRANGE, "Cost %g of item %s of MuonExchange must be finite and not negative", (double)cost[i], names[i]);
    PetscCheck(bytes[i] >= 0 && bytes[i] <= PETSC_MAX_REAL, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ARG_OUTOFRANGE, "Size %g of item %s of MuonExchange must be finite and not negative", (double)bytes[i], names[i]);
  }
  PetscCall(MuonExchangeReset(exchange));
  PetscCall(PetscStrNArrayallocpy(n, names, &exchange->names));
  PetscCall(PetscMalloc2(n, &exchange->cost, n, &exchange->bytes));
  PetscCall(PetscArraycpy(exchange->cost, cost, n));
  PetscCall(PetscArraycpy(exchange->bytes, bytes, n));
  exchange->nitems   = n;
  exchange->itemsset = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSetItemShapes(MuonExchange exchange, const PetscInt rows[], const PetscInt columns[])
{
  const PetscInt n = exchange->nitems;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCheck(exchange->itemsset == PETSC_TRUE, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ORDER, "MuonExchangeSetItems() must be called before MuonExchangeSetItemShapes()");
  PetscCall(PetscFree2(exchange->rows, exchange->columns));
  PetscCall(PetscMalloc2(n, &exchange->rows, n, &exchange->columns));
  PetscCall(PetscArraycpy(exchange->rows, rows, n));
  PetscCall(PetscArraycpy(exchange->columns, columns, n));
  exchange->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeSetUp(MuonExchange exchange)
{
  const PetscMPIInt nworkers = exchange->nworkers;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  if (exchange->setupcalled == PETSC_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(exchange->itemsset == PETSC_TRUE, PetscObjectComm((PetscObject)exchange), PETSC_ERR_ORDER, "MuonExchangeSetItems() must be called before MuonExchangeSetUp()");
  PetscCall(MuonExchangeSetDefaultType_Private(exchange));
  PetscCall(MuonExchangeFreeStaged_Private(exchange));
  PetscCall(PetscFree4(exchange->owner, exchange->order, exchange->place, exchange->first));
  PetscCall(PetscMalloc4(exchange->nitems, &exchange->owner, exchange->nitems, &exchange->order, exchange->nitems, &exchange->place, nworkers + 1, &exchange->first));
  for (PetscInt i = 0; i < exchange->nitems; i++) exchange->owner[i] = exchange->worker;
  if (exchange->everywhere == PETSC_FALSE) PetscUseTypeMethod(exchange, assign);
  /* Counting sort by owner, which keeps the items of an owner in the order of their numbers */
  PetscCall(PetscArrayzero(exchange->first, nworkers + 1));
  for (PetscInt i = 0; i < exchange->nitems; i++) {
    PetscCheck(exchange->owner[i] >= 0 && exchange->owner[i] < nworkers, PetscObjectComm((PetscObject)exchange), PETSC_ERR_PLIB, "Type %s gives item %s to worker %d of %d", ((PetscObject)exchange)->type_name, exchange->names[i], exchange->owner[i],
               nworkers);
    exchange->first[exchange->owner[i] + 1]++;
  }
  for (PetscMPIInt w = 0; w < nworkers; w++) exchange->first[w + 1] += exchange->first[w];
  for (PetscInt i = 0; i < exchange->nitems; i++) {
    exchange->place[i]                  = exchange->first[exchange->owner[i]]++;
    exchange->order[exchange->place[i]] = i;
  }
  for (PetscMPIInt w = nworkers; w > 0; w--) exchange->first[w] = exchange->first[w - 1];
  exchange->first[0] = 0;
  PetscCall(MuonExchangeLinkSetUp_Private(exchange));
  exchange->setupcalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeGetOwner(MuonExchange exchange, PetscInt item, PetscMPIInt *owner)
{
  PetscFunctionBegin;
  PetscAssertPointer(owner, 3);
  PetscCall(MuonExchangeCheckItem_Private(exchange, item, PETSC_FALSE));
  *owner = exchange->everywhere == PETSC_TRUE ? -1 : exchange->owner[item];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeOwns(MuonExchange exchange, PetscInt item, PetscBool *owns)
{
  PetscMPIInt owner = -1;

  PetscFunctionBegin;
  PetscAssertPointer(owns, 3);
  PetscCall(MuonExchangeGetOwner(exchange, item, &owner));
  *owns = owner < 0 || owner == exchange->worker ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The items in the order in which a worker puts them, and a server those that it owns */
PetscErrorCode MuonExchangeGetOrder(MuonExchange exchange, const PetscInt *order[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCheck(exchange->setupcalled == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_ORDER, "MuonExchangeSetUp() must be called first");
  *order = exchange->order;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MuonExchangeReset(MuonExchange exchange)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(exchange, MUONEXCHANGE_CLASSID, 1);
  PetscCall(MuonExchangeLinkReset_Private(exchange->link));
  PetscCall(MuonExchangeFreeStaged_Private(exchange));
  PetscCall(PetscFree4(exchange->owner, exchange->order, exchange->place, exchange->first));
  PetscCall(PetscFree2(exchange->cost, exchange->bytes));
  PetscCall(PetscFree2(exchange->rows, exchange->columns));
  PetscCall(PetscStrNArrayDestroy(exchange->nitems, &exchange->names));
  exchange->nitems      = 0;
  exchange->itemsset    = PETSC_FALSE;
  exchange->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
