#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuonexchange.h>

/*
   What is packed, started and unpacked, and the time in which a rank waits for others and has nothing to do.
   LMOs are in neither
*/
PETSC_INTERN PetscLogEvent MUON_Assembly, MUON_AssemblyWait;

/* A matrix whose rows the ranks of the worker have: all of a layer, or a block of one */
typedef struct {
  const char      *name;          /* settles ties between owners, and is in errors; borrowed */
  PetscInt         rows, columns; /* of the whole matrix */
  const PetscInt  *ranges;        /* size + 1 of them: rank r has rows ranges[r]..ranges[r+1], which may be none */
  MuonPrecision    precision;     /* of the rows in memory, */
  MuonMemory       memory;        /* which memory that is, */
  int              rowmajor;      /* and whether they are its contiguous vectors */
  MuonAssemblyKind kind;
  PetscLogDouble   flops; /* of the LMO on the whole */
} MuonAssemblyItem;

/*
   What is done at an item; each routine is called once an item and run, on every rank of the worker but for
   the LMO of a kind that one rank does. Ranks that failed hand in zeros: what is called and sent does not
   depend on it.

   input() gives the rows of G here, with any leading dimension; they must stay until the next routine of the
   client is called. lmo() writes D from G: both whole, on one rank, where they were assembled, and with
   their rows on the ranks for MUON_ASSEMBLY_GRAM. It keeps statuses in its context, and where there is
   trouble it writes zeros. output() gets the rows of D here, without data for MUON_ASSEMBLY_NONE; they stay
   until it returns.

   Items that are assembled have their inputs in order of their numbers; all items have their outputs in that
   order, on every rank. For the kinds none and gram input, lmo and output follow each other at the turn of
   the output.
*/
typedef struct {
  PetscErrorCode (*input)(void *ctx, PetscInt item, MuonArray *G);
  PetscErrorCode (*lmo)(void *ctx, PetscInt item, const MuonMatrix *G, const MuonMatrix *D);
  PetscErrorCode (*output)(void *ctx, PetscInt item, const MuonArray *D);
  void *ctx;
} MuonAssemblyClient;

/* What the user sets, -muon_assembly_...; a chunk of PETSC_DETERMINE has as many items as there are ranks */
typedef struct {
  int                    kind; /* which layers inherit: a MuonAssemblyKind, or PETSC_DETERMINE */
  MuonAssemblyPrecision  precision;
  MuonExchangeAssignment assignment;
  PetscInt               chunk, warmup;
  const char            *prefix; /* of the options, borrowed, for errors */
} MuonAssemblyOptions;

/*
   Turns rows of matrices that are spread over the ranks of a worker into the rows of their steps.

   Create says what there is, alike on all ranks; the ranges of the items are copied. The whole
   matrices are in scratch memory that others may use when this object does not run, its own where work is
   NULL.

   Run is collective and does all items. Bytes are those handed to MPI in the last run, and of these what a
   rank sent to itself. Memory is that of the messages in flight, and of the whole matrices where there is no
   workspace of others.
*/
typedef struct _n_MuonAssembly *MuonAssembly;

PETSC_INTERN PetscErrorCode MuonAssemblyCreate(MPI_Comm, const MuonAssemblyOptions *, MuonWorkspace work, PetscInt n, const MuonAssemblyItem[], MuonAssembly *);
PETSC_INTERN PetscErrorCode MuonAssemblyDestroy(MuonAssembly *);
PETSC_INTERN PetscErrorCode MuonAssemblyRun(MuonAssembly, const MuonAssemblyClient *);
PETSC_INTERN PetscErrorCode MuonAssemblyGetSentBytes(MuonAssembly, PetscLogDouble *bytes, PetscLogDouble *own);
PETSC_INTERN PetscErrorCode MuonAssemblyGetMemory(MuonAssembly, PetscLogDouble *);
