/*
   Items and messages for the tests of exchanges: everything follows from numbers, so that every rank knows
   what any other one sends.
*/
#pragma once

#include <petscmuon/private/muonexchangeimpl.h>
#include <petscmuon/private/muonwire.h>
#include "number_common.h"

#define MAXITEMS 12

/* Names in an order that is not that of the numbers */
static const char *const ItemNames[MAXITEMS] = {"q", "k", "v", "o", "up", "down", "embed", "norm", "w8", "w9", "a", "b"};

/* Costs with ties, bytes with ties among the ties, and items that cost nothing */
static inline void ItemCosts(PetscInt n, PetscLogDouble cost[], PetscLogDouble bytes[])
{
  for (PetscInt i = 0; i < n; i++) {
    cost[i]  = i % 5 == 4 ? 0. : (PetscLogDouble)(1 + TestHash((uint32_t)i, 3, 7, 0) % 4);
    bytes[i] = (PetscLogDouble)(TestHash((uint32_t)i, 5, 11, 0) % 2);
  }
}

/* A whole message of item i from sender (a worker, or the server where down) at a step; returns its length */
static inline size_t MessageMake(PetscInt step, int sender, PetscBool down, PetscInt item, unsigned char *to)
{
  const uint32_t  seed = TestHash((uint32_t)step, (uint32_t)(2 * sender + (down == PETSC_TRUE)), (uint32_t)item, 0);
  MuonWireMessage header;

  header.layer     = (uint32_t)item;
  header.form      = MUON_WIRE_DENSE;
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

/* Whose message on an item a rank gets down: its own where every rank serves */
static inline PetscErrorCode ServerOf(MuonExchange exchange, PetscInt item, PetscMPIInt *server)
{
  PetscFunctionBegin;
  PetscCall(MuonExchangeGetOwner(exchange, item, server));
  if (*server < 0) PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)exchange), server));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MessagesPutUp(MuonExchange exchange, PetscInt n, PetscInt step, int rank)
{
  const PetscInt *order;
  unsigned char  *to;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetOrder(exchange, &order));
  PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_UP, step));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_UP, order[k], 300, &to));
    PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_UP, order[k], MessageMake(step, rank, PETSC_FALSE, order[k], to)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MessagesPutDown(MuonExchange exchange, PetscInt n, PetscInt step)
{
  const PetscInt *order;
  unsigned char  *to;

  PetscFunctionBegin;
  PetscCall(MuonExchangeGetOrder(exchange, &order));
  PetscCall(MuonExchangeBegin(exchange, MUON_EXCHANGE_DOWN, step));
  for (PetscInt k = 0; k < n; k++) {
    PetscMPIInt owner;
    PetscBool   serves;

    PetscCall(MuonExchangeOwns(exchange, order[k], &serves));
    if (serves == PETSC_FALSE) continue;
    PetscCall(ServerOf(exchange, order[k], &owner));
    PetscCall(MuonExchangeReserve(exchange, MUON_EXCHANGE_DOWN, order[k], 300, &to));
    PetscCall(MuonExchangeAdvance(exchange, MUON_EXCHANGE_DOWN, order[k], MessageMake(step, owner, PETSC_TRUE, order[k], to)));
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
