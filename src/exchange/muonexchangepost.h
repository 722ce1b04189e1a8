/*
   The packets of an exchange on their way, for the types of exchanges.
*/
#pragma once

#include <petscmuon/private/muonexchangeimpl.h>
#include "../transport/muontransport.h"

typedef enum {
  MUON_EXCHANGE_BOX_EMPTY,
  MUON_EXCHANGE_BOX_OPEN, /* this rank's messages are being put in */
  MUON_EXCHANGE_BOX_SENT
} MuonExchangeBoxState;

/* One direction: the packets that this rank writes, and those that it got */
typedef struct {
  uint32_t             direction; /* as on the wire: 0 from a worker, 1 from a server */
  MuonExchangeBoxState state;
  PetscInt64           step;
  MuonStatus           status; /* of this rank when it sent */
  /* to be sent: the packet for rank r, or the one of this server, is out[outoffset[r]..outoffset[r] + outbytes[r]) */
  unsigned char *out;
  size_t         capacity, used, reserved;
  PetscInt       next, end; /* places in the order: of the item that is put in next, past the last one */
  uint64_t      *outoffset, *outbytes;
  size_t        *ownoffset, *ownbytes; /* of this rank's message on the item at a place */
  /* received: in points into the inbox, or to out where MPI left the packets of this very rank */
  MuonTransportInbox   inbox;
  const unsigned char *in;
  const uint64_t      *inoffset, *inbytes;
  MuonStatus          *senderstatus;
  /* messages inside the packets: up by sender and then by this rank's items, down by place; only where the sender's status is MUON_STATUS_OK */
  const unsigned char **message;
  size_t               *messagebytes;
} MuonExchangeBox;

struct _n_MuonExchangePost {
  MPI_Comm        comm; /* our own, so that no message of the user can be taken for one of ours */
  MuonTransport   transport;
  uint64_t        bytesbefore; /* the transport's count when the step began */
  PetscBool       boxes;       /* whether the boxes hold memory */
  MuonExchangeBox up, down;
};

PETSC_INTERN PetscErrorCode MuonExchangeTransportCheck_Private(int);
PETSC_INTERN PetscErrorCode MuonExchangePostCreate_Private(MPI_Comm, MuonExchangePost *);
PETSC_INTERN PetscErrorCode MuonExchangePostSetUp_Private(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangePostReset_Private(MuonExchangePost);
PETSC_INTERN PetscErrorCode MuonExchangePostDestroy_Private(MuonExchangePost *);
