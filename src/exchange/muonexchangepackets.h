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
   The sum of an item, or its arrays: requests of the transport, none if it is not in flight; copies on the host of arrays in device memory; the
   arrays of all workers, and this worker's own if it is not among them
*/
typedef struct {
  int       begin, end;
  void     *in, *out;
  size_t    bytes;
  MuonArray to, gathered, own;
} MuonExchangeSum;

/* What an exchange has for itself */
struct _n_MuonExchangeLink {
  MPI_Comm                      comm; /* our own, so that no message of the user can be taken for one of ours */
  MuonTransport                 transport;
  uint64_t                      bytesbefore, ownbefore; /* the transport's counts when the step began */
  MuonExchangeSum              *sum;                    /* of every item */
  struct _n_MuonExchangePackets way[2];                 /* MUON_EXCHANGE_UP, MUON_EXCHANGE_DOWN */
};

PETSC_INTERN PetscErrorCode MuonExchangeSetDefaultType_Private(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeEventEnd_Private(MuonExchange);
