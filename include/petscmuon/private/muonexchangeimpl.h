#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuonexchange.h>

PETSC_INTERN PetscLogEvent MUON_Exchange;
PETSC_INTERN PetscBool     MuonExchangeRegisterAllCalled;

/* The packets on their way; src/exchange/muonexchangepost.h shows it to the types */
typedef struct _n_MuonExchangePost *MuonExchangePost;

struct _MuonExchangeOps {
  PetscErrorCode (*setfromoptions)(MuonExchange, MuonOptionItems);
  PetscErrorCode (*assign)(MuonExchange); /* fills owner[], the same on all ranks; not called where every rank serves */
  PetscErrorCode (*up)(MuonExchange);     /* moves the packets of the workers */
  PetscErrorCode (*down)(MuonExchange);   /* moves the packets of the servers; not called where every rank serves */
  PetscErrorCode (*view)(MuonExchange, PetscViewer);
  PetscErrorCode (*destroy)(MuonExchange);
};

struct _p_MuonExchange {
  PETSCHEADER(struct _MuonExchangeOps);
  /* what the user chose */
  MuonExchangeMode       mode;
  PetscBool              modeset; /* else mode is the default that was last resolved, where moderesolved */
  PetscBool              moderesolved;
  MuonExchangeAssignment assignment;
  /* the items */
  PetscInt        nitems;
  char          **names;
  PetscLogDouble *cost, *bytes;
  PetscBool       itemsset;
  /* the plan */
  PetscBool        everywhere; /* every rank serves every item; set by the type */
  PetscMPIInt     *owner;      /* of every item; this rank where every rank serves */
  PetscInt        *order;      /* the items by owner, then by number */
  PetscInt        *place;      /* of every item in order[] */
  PetscInt        *first;      /* rank r owns order[first[r]..first[r+1]) */
  PetscBool        setupcalled;
  MuonExchangePost post;
  void            *data;
};

/*
   One step of an exchange, called by the types of the optimizer. An item is a layer's number.

   UpBegin opens every step, in every mode, and starts the count of bytes anew.

   Up: Begin empties the packets; items are put in the order that MuonExchangeGetOrder() gives (by owner, so that the packets lie ready in one buffer): Reserve gives
   room for at most so many bytes, Advance says how many of them a message took. MuonExchangeUp() seals and moves the packets, or poison where status is not
   MUON_STATUS_OK: a failed sender still joins every call. Get returns the message of a worker on an item that this rank serves, out of the bytes that were received,
   valid until the next Begin; status tells a poisoned or corrupt packet (all its items have that status, and no message). Own returns what this rank itself encoded, nothing where it sent poison.

   Down: the same, a server puts the items that it serves (again in the order given), a worker gets every item. Where every rank serves, Down moves nothing and Get returns the
   rank's own bytes.

   MuonExchangeReduce() is the way up in the modes reduce and allreduce: in[i] is this rank's contribution of length[i] contiguous scalars, out[i] the sum over the ranks where
   this rank serves item i (else ignored). in[] is not modified.

   MuonExchangeAgree() gives every rank the records of all ranks: count doubles each, all[rank * count ...].
*/
PETSC_INTERN PetscErrorCode MuonExchangeGetOrder(MuonExchange, const PetscInt *[]);
PETSC_INTERN PetscErrorCode MuonExchangeResolveMode(MuonExchange, PetscBool summable, const char culprit[], MuonExchangeMode *);
PETSC_INTERN PetscErrorCode MuonExchangeUpBegin(MuonExchange, PetscInt64 step);
PETSC_INTERN PetscErrorCode MuonExchangeUpReserve(MuonExchange, PetscInt item, size_t most, unsigned char **to);
PETSC_INTERN PetscErrorCode MuonExchangeUpAdvance(MuonExchange, PetscInt item, size_t bytes);
PETSC_INTERN PetscErrorCode MuonExchangeUp(MuonExchange, MuonStatus status);
PETSC_INTERN PetscErrorCode MuonExchangeUpGet(MuonExchange, PetscMPIInt worker, PetscInt item, size_t *bytes, const unsigned char **message, MuonStatus *status);
PETSC_INTERN PetscErrorCode MuonExchangeUpOwn(MuonExchange, PetscInt item, size_t *bytes, const unsigned char **message);
PETSC_INTERN PetscErrorCode MuonExchangeDownBegin(MuonExchange, PetscInt64 step);
PETSC_INTERN PetscErrorCode MuonExchangeDownReserve(MuonExchange, PetscInt item, size_t most, unsigned char **to);
PETSC_INTERN PetscErrorCode MuonExchangeDownAdvance(MuonExchange, PetscInt item, size_t bytes);
PETSC_INTERN PetscErrorCode MuonExchangeDown(MuonExchange, MuonStatus status);
PETSC_INTERN PetscErrorCode MuonExchangeDownGet(MuonExchange, PetscInt item, size_t *bytes, const unsigned char **message, MuonStatus *status);
PETSC_INTERN PetscErrorCode MuonExchangeReduce(MuonExchange, const PetscInt length[], const PetscScalar *const in[], PetscScalar *const out[]);
PETSC_INTERN PetscErrorCode MuonExchangeAgree(MuonExchange, PetscInt count, const double record[], double all[]);
/* Bytes handed to MPI since the last UpBegin, packets' headers included; memory of the packets' buffers in bytes */
PETSC_INTERN PetscErrorCode MuonExchangeGetSentBytes(MuonExchange, PetscLogDouble *);
PETSC_INTERN PetscErrorCode MuonExchangeGetMemory(MuonExchange, PetscLogDouble *);
