/*
   The packets of an exchange on their way: how they are filled, moved and read.
*/
#pragma once

#include <petscmuon/private/muonexchangeimpl.h>
#include "../transport/muontransport.h"

/* One direction: the packets that this worker or server sends, and those that it got */
struct _n_MuonExchangePackets {
  uint32_t   direction;     /* as on the wire: MUON_EXCHANGE_UP from a worker, MUON_EXCHANGE_DOWN from a server */
  PetscBool  filling, sent; /* messages are being put in; the packets have left */
  PetscInt64 step;
  MuonStatus status; /* of this rank when it sent */
  /* To be sent: a packet for each worker, or that of this server in its own place */
  MuonTransportBuffer out;
  size_t              used, reserved;
  PetscInt            next, end;            /* places in the order: of the item that is put in next, past the last one */
  size_t             *ownoffset, *ownbytes; /* of the own message on the item at a place */
  /* Received: from is in, or out where MPI left the packet of this very rank */
  MuonTransportBuffer        in;
  const MuonTransportBuffer *from;
  MuonStatus                *senderstatus;
  /*
     Messages inside the packets: up by sender and then by the items that are served here, down by place; only
     where the sender's status is MUON_STATUS_OK
  */
  const unsigned char **message;
  size_t               *messagebytes;
};

/* What an exchange has for itself */
struct _n_MuonExchangeLink {
  MPI_Comm                      comm; /* our own, so that no message of the user can be taken for one of ours */
  MuonTransport                 transport;
  uint64_t                      bytesbefore, ownbefore; /* the transport's counts when the step began */
  int                          *sumbegin, *sumend;      /* the transport's requests for the sum of an item, none where it is not under way */
  struct _n_MuonExchangePackets way[2];                 /* MUON_EXCHANGE_UP, MUON_EXCHANGE_DOWN */
};

PETSC_INTERN PetscErrorCode MuonExchangeSetDefaultType_Private(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeEventEnd_Private(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeCheckItem_Private(MuonExchange, PetscInt, PetscBool served);
PETSC_INTERN PetscErrorCode MuonExchangeFreeStaged_Private(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeLinkCreate_Private(MPI_Comm, MuonExchangeLink *);
PETSC_INTERN PetscErrorCode MuonExchangeLinkSetUp_Private(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeLinkReset_Private(MuonExchangeLink);
PETSC_INTERN PetscErrorCode MuonExchangeLinkDestroy_Private(MuonExchangeLink *);
