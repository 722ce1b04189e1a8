/* Items and messages for the tests of exchanges: everything follows from numbers, so that every rank knows what any other one sends. */
#pragma once

#include <petscmuon/private/muonexchangeimpl.h>
#include <petscmuon/private/muonwire.h>
#include "number_common.h"

#define MAXITEMS 12

/* Names in an order that is not that of the numbers */
static const char *const ItemNames[MAXITEMS] = {"q", "k", "v", "o", "up", "down", "embed", "norm", "w8", "w9", "a", "b"};

/* Costs with ties, bytes with ties among the ties, and items that cost nothing */
static inline void ItemsMake(PetscInt n, MuonExchangeItem item[])
{
  for (PetscInt i = 0; i < n; i++) {
    item[i].name  = ItemNames[i];
    item[i].cost  = i % 5 == 4 ? 0. : (PetscLogDouble)(1 + TestHash((uint32_t)i, 3, 7, 0) % 4);
    item[i].bytes = (PetscLogDouble)(TestHash((uint32_t)i, 5, 11, 0) % 2);
    item[i].rows = item[i].columns = 1;
  }
}

/* An exchange of a type on n such items */
static inline PetscErrorCode ExchangeMake(MPI_Comm comm, MuonExchangeType type, PetscInt n, MuonExchange *exchange)
{
  MuonExchangeItem item[MAXITEMS];

  PetscFunctionBegin;
  ItemsMake(n, item);
  PetscCall(MuonExchangeCreate(comm, exchange));
  PetscCall(MuonExchangeSetType(*exchange, type));
  PetscCall(MuonExchangeSetItems(*exchange, n, item));
  PetscCall(MuonExchangeSetUp(*exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A whole message of item i from sender (a worker, or the server where down) at a step; returns its length */
static inline size_t MessageMake(PetscInt step, int sender, PetscBool down, PetscInt item, unsigned char *to)
{
  const uint32_t  seed = TestHash((uint32_t)step, (uint32_t)(2 * sender + (down == PETSC_TRUE)), (uint32_t)item, 0);
  MuonWireMessage header;

  header.layer     = (uint32_t)item;
  header.kind      = MUON_WIRE_DENSE;
  header.indices   = MUON_WIRE_INDICES_NONE;
  header.values    = MUON_WIRE_VALUES_SINGLE;
  header.parameter = 0;
  header.bytes     = seed % 7 == 0 ? 0 : seed % 200;
  header.count     = header.bytes;
  if (to != NULL) {
    to += MuonWireMessageWrite(to, &header);
    for (uint64_t b = 0; b < header.bytes; b++) to[b] = (unsigned char)TestHash(seed, (uint32_t)b, 1, 0);
  }
  return (size_t)MuonWireMessageBytes(&header);
}

/* Puts the messages of this rank one way */
static inline PetscErrorCode MessagesPut(MuonExchange exchange, MuonExchangeDirection way, PetscInt step)
{
  unsigned char *to;

  PetscFunctionBegin;
  PetscCall(MuonExchangeBegin(exchange, way, step));
  for (PetscInt k = 0; k < exchange->nitems; k++) {
    const PetscInt i = exchange->order[k];

    if (way == MUON_EXCHANGE_DOWN && exchange->owner[i] != exchange->worker) continue;
    PetscCall(MuonExchangeReserve(exchange, way, i, 300, &to));
    PetscCall(MuonExchangeAdvance(exchange, way, i, MessageMake(step, exchange->worker, way == MUON_EXCHANGE_DOWN ? PETSC_TRUE : PETSC_FALSE, i, to)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether this is the message that MessageMake() gives */
static inline PetscBool MessageIs(PetscInt step, int sender, PetscBool down, PetscInt item, size_t bytes, const unsigned char *message)
{
  unsigned char expected[300];

  if (message == NULL || MessageMake(step, sender, down, item, expected) != bytes) return PETSC_FALSE;
  return memcmp(message, expected, bytes) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* How many of the messages that came here one way are not what they should be */
static inline PetscErrorCode MessagesCheck(MuonExchange exchange, MuonExchangeDirection way, PetscInt step, PetscInt *wrong)
{
  const unsigned char *message;
  size_t               bytes;
  MuonStatus           status;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < exchange->nitems; i++) {
    const PetscBool down = way == MUON_EXCHANGE_DOWN ? PETSC_TRUE : PETSC_FALSE;

    for (PetscMPIInt w = down ? exchange->owner[i] : 0; w <= (down ? exchange->owner[i] : exchange->nworkers - 1); w++) {
      if (down == PETSC_FALSE && exchange->owner[i] != exchange->worker) continue;
      PetscCall(MuonExchangeGet(exchange, way, w, i, &bytes, &message, &status));
      *wrong += status != MUON_STATUS_OK || MessageIs(step, w, down, i, bytes, message) == PETSC_FALSE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that goes one way in a step, of ranks with such a status; how many messages are not what they should be */
static inline PetscErrorCode MessagesMove(MuonExchange exchange, MuonExchangeDirection way, PetscInt step, MuonStatus status, PetscInt *wrong)
{
  PetscFunctionBegin;
  PetscCall(MessagesPut(exchange, way, step));
  PetscCall(MuonExchangeMove(exchange, way, status));
  if (wrong != NULL) PetscCall(MessagesCheck(exchange, way, step, wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}
