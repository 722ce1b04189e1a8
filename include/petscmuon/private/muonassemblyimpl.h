#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuonassembly.h>

/*
   What is packed, started and unpacked, and the time in which a rank waits for others and has nothing to do.
   The oracles are in neither
*/
PETSC_INTERN PetscLogEvent MUON_Assembly, MUON_AssemblyWait;

/* A matrix whose rows the ranks of the worker have: all of a layer, or a block of one */
typedef struct {
  const char      *name;          /* settles ties between owners, and is in errors */
  PetscInt         rows, columns; /* of the whole matrix */
  const PetscInt  *ranges;        /* size + 1 of them: rank r has rows ranges[r]..ranges[r+1], which may be none */
  MuonPrecision    precision;     /* of the rows in memory, */
  MuonMemory       memory;        /* which memory that is, */
  int              rowmajor;      /* and whether they are its lines */
  MuonAssemblyKind kind;
  PetscLogDouble   flops; /* of the oracle on the whole */
} MuonAssemblyItem;

/*
   What is done at an item; each routine is called once an item and run, on every rank of the worker but for
   the oracle of a kind that one rank does. Ranks that failed hand in zeros: what is called and sent does not
   depend on it.

   input() gives the rows of G here, with any leading dimension; they must stay until the next routine of the
   client is called. oracle() writes D from G: both whole, on one rank, where they were assembled, and with
   their rows on the ranks for MUON_ASSEMBLY_GRAM. It keeps statuses in its context, and where there is
   trouble it writes zeros. output() gets the rows of D here, without data for MUON_ASSEMBLY_NONE; they stay
   until it returns.

   Items that are assembled have their inputs in order of their numbers; all items have their outputs in that
   order, on every rank. For the kinds none and gram input, oracle and output follow each other at the turn of
   the output.
*/
typedef struct {
  PetscErrorCode (*input)(void *ctx, PetscInt item, MuonArray *G);
  PetscErrorCode (*oracle)(void *ctx, PetscInt item, const MuonMatrix *G, const MuonMatrix *D);
  PetscErrorCode (*output)(void *ctx, PetscInt item, const MuonArray *D);
  void *ctx;
} MuonAssemblyClient;

/*
   CopyChoices takes over what was chosen, and Choices says it in text: a chunk that nobody set has as many
   items as there are ranks.

   SetItems says what there is, alike on all ranks; the names and ranges are copied. SetWorkspace has the
   whole matrices in scratch memory that others use as well, when this object does not run.

   Run is collective and does all items. Bytes are those handed to MPI in the last run. Memory is that of the
   messages in flight, and of the whole matrices where there is no workspace of others.
*/
PETSC_EXTERN PetscErrorCode MuonAssemblyCopyChoices_Private(MuonAssembly from, MuonAssembly to);
/* One that others copied: whether nothing was set since they did */
PETSC_EXTERN PetscErrorCode MuonAssemblyFix_Private(MuonAssembly);
PETSC_EXTERN PetscErrorCode MuonAssemblyIsFixed_Private(MuonAssembly, PetscBool *);
PETSC_EXTERN PetscErrorCode MuonAssemblyChoices_Private(MuonAssembly, size_t, char[]);
PETSC_EXTERN PetscErrorCode MuonAssemblySetWorkspace(MuonAssembly, MuonWorkspace);
PETSC_EXTERN PetscErrorCode MuonAssemblySetItems(MuonAssembly, PetscInt n, const MuonAssemblyItem[]);
PETSC_EXTERN PetscErrorCode MuonAssemblyRun(MuonAssembly, const MuonAssemblyClient *);
PETSC_EXTERN PetscErrorCode MuonAssemblyGetSentBytes(MuonAssembly, PetscLogDouble *);
PETSC_EXTERN PetscErrorCode MuonAssemblyGetMemory(MuonAssembly, PetscLogDouble *);
