/*
   How the items of an assembly are put into chunks, and the chunks on their way.
*/
#pragma once

#include <petscmuon/private/muonassemblyimpl.h>
#include <petscmuon/private/muonexchangeimpl.h>
#include "../transport/muontransport.h"

/* Packed rows to or from each rank, one item after the other: those of rank r begin at offset[r] */
typedef struct {
  unsigned char *data;
  size_t         capacity;
  uint64_t      *offset, *bytes;
  uint64_t      *at; /* of the next item that is put in or taken out */
} MuonAssemblyRows;

/* The rows of G of a chunk, or those of D, on their way */
typedef struct {
  MuonAssemblyRows  out, in; /* to the owners, from all to the owner; of D the other way round. What this rank has for itself lies in in, and never leaves it */
  MuonAssemblyRows  all;     /* from all ranks, to every one */
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
  PetscInt            chunks, depth; /* chunks in all; flights of each kind, one more than the warm-up where there are so many chunks */
  MuonAssemblyFlight *gather, *scatter;
  MPI_Comm            inside, comm; /* the worker's, borrowed; our own, so that no message of others can be taken for one of ours */
  MuonTransport       transport;
  uint64_t            bytesbefore, ownbefore; /* the transport's counts when the run began */
  int                 testcode;               /* of the transport, while an oracle ran */
  MuonWorkspace       work;
  PetscBool           ownwork;
};

PETSC_INTERN PetscErrorCode MuonAssemblyFlightsCreate_Private(MuonAssembly);
PETSC_INTERN PetscErrorCode MuonAssemblyFlightsDestroy_Private(MuonAssembly);
