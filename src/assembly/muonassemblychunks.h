/*
   How the items of an assembly are put into chunks, and the chunks in flight.
*/
#pragma once

#include <petscmuon/private/muonassemblyimpl.h>
#include <petscmuon/private/muonexchangeimpl.h>
#include "../transport/muontransport.h"

/* Packed rows to or from each rank, one item after the other: those of rank r begin at offset[r] */
typedef struct {
  unsigned char *data;
  uint64_t      *offset, *bytes;
  uint64_t      *at; /* of the next item that is put in or taken out */
} MuonAssemblyRows;

/*
   Rows to the owners; rows from all ranks at the owner, with this rank's own part, which is not sent; rows from all ranks at
   every rank. Rows of D take the opposite direction
*/
enum {
  OUT,
  IN,
  ALL
};

/* The rows of G of a chunk, or those of D, in flight */
typedef struct {
  MuonAssemblyRows  rows[3];
  PetscBool         owned, gathered; /* some have an owner; every rank gets some */
  MuonTransportMove move, moveall;
} MuonAssemblyFlight;

struct _n_MuonAssembly {
  PetscMPIInt         rank, size;
  MuonAssemblyOptions options;
  PetscInt            chunk;
  PetscInt            nitems;
  MuonAssemblyItem   *item;
  PetscInt           *ranges;
  PetscMPIInt        *owner;         /* of every item; -1 where it has none */
  PetscInt            chunks, depth; /* chunks in all; flights each way, one more than the warm-up where there are so many chunks */
  MuonAssemblyFlight *flight;        /* those of G, then those of D */
  PetscLogDouble      capacity;      /* of all of them, in bytes */
  MPI_Comm            inside, comm;  /* the worker's, borrowed; a duplicate, so that messages of others cannot match */
  MuonTransport       transport;
  uint64_t            bytesbefore, ownbefore; /* the transport's counts when the run began */
  int                 testcode;               /* of the transport, while an LMO ran */
  MuonWorkspace       work;
  PetscBool           ownwork;
};

PETSC_INTERN PetscErrorCode MuonAssemblyFlightsCreate_Private(MuonAssembly);
PETSC_INTERN PetscErrorCode MuonAssemblyFlightsDestroy_Private(MuonAssembly);
