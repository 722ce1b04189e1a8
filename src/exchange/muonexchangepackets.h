/*
   The packets of an exchange in flight: how they are filled, moved and read.
*/
#pragma once

#include <petscmuon/private/muonexchangeimpl.h>
#include "../transport/muontransport.h"

/* One direction: the packets that this worker or server sends, and those that it received */
struct _n_MuonExchangePackets {
  PetscInt64 step;
  MuonStatus status; /* of this rank when it sent */
  /* To be sent: a packet for each worker, or that of this server in its own place */
  MuonTransportBuffer out;
  size_t              used, reserved;
  size_t             *ownoffset, *ownbytes; /* of the own message on the item at a place */
  /* Received from others; messages of this worker to itself are read in place */
  MuonTransportBuffer in;
  MuonStatus         *senderstatus;
  /*
     Messages inside the packets: up by sender and then by the items that are owned here, down by place; only
     where the sender's status is MUON_STATUS_OK
  */
  const unsigned char **message;
  size_t               *messagebytes;
  PetscBool             begins; /* what the type calls only begins to move them; until MuonExchangeMoveEnd() */
};

/*
   Arrays that travel in one message, of one precision, in one memory, to or from one owner: a large one as it lies, or small ones that
   are copied into memory, which is kept: those of this worker, then what came
*/
typedef struct {
  MuonExchangeDirection way;
  PetscBool             adds;        /* the sum is wanted, and not the arrays of all workers */
  int                   root;        /* as the transport takes it */
  PetscInt              first, last; /* items */
  size_t                bytes;
  /* What follows is set when it begins */
  PetscBool      begun, copied, receives;
  PetscBool      gathers;    /* the arrays of all workers come */
  int            begin, end; /* requests of the transport */
  MuonMemory     memory;     /* of a device: pinned memory of the host */
  size_t         capacity;
  unsigned char *data;
} MuonExchangePack;

/*
   An array in flight: this worker's, and where the sum or the owner's array goes; its pack, NULL if it is not in flight, at which byte of
   that, and the next one there
*/
typedef struct {
  MuonArray         in, to;
  MuonExchangePack *pack;
  PetscInt          next;
  size_t            at;
} MuonExchangeSum;

/* What an exchange has for itself */
struct _n_MuonExchangeLink {
  MPI_Comm                      comm; /* our own, so that no message of the user can be taken for one of ours */
  MuonTransport                 transport;
  uint64_t                      bytesbefore, ownbefore; /* the transport's counts when the step began */
  MuonExchangeSum              *sum;                    /* of every item */
  MuonExchangePack             *pack, **open;           /* as many as items; by owner, memory and precision, that which takes more, or NULL */
  PetscInt                      npacks, begun;          /* packs in use, items that have begun: until MuonExchangeReduceEnd() */
  uint64_t                      sent[2];                /* bytes of these packs, and what this rank sent to itself */
  struct _n_MuonExchangePackets way[2];                 /* MUON_EXCHANGE_UP, MUON_EXCHANGE_DOWN */
};

PETSC_INTERN PetscErrorCode MuonExchangeSetDefaultType_Private(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeEventEnd_Private(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeFreePacks_Private(MuonExchange);
