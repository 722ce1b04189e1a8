/*
   Assemblies: how the ranks of a worker, who have the rows of a matrix, get the rows of its step.
*/
#pragma once

#include <petscmuonexchange.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonAssembly */

/*S
   MuonAssembly - Turns the rows of matrices that are spread over the ranks of a worker into the rows of their
   steps

   Level: intermediate

.seealso: `MuonAssemblyCreate()`, `MuonAssemblyKind`, `MuonAssemblyPrecision`, `MuonExchange`
S*/
typedef struct _p_MuonAssembly *MuonAssembly;

/*E
   MuonAssemblyKind - Who has the whole of a matrix for its oracle

   Values:
+  `MUON_ASSEMBLY_NONE`      - nobody: there is no oracle
.  `MUON_ASSEMBLY_ALLGATHER` - every rank gets the matrix and does the same work, as in Moonlight's Distributed Muon
.  `MUON_ASSEMBLY_OWNER`     - one rank gets the matrix, does the work, and sends the rows of the step back, as in Motif's Parallel Muon
-  `MUON_ASSEMBLY_GRAM`      - nobody: the oracle works on the matrix as it is spread, for oracles that need sums of small matrices only

   Level: intermediate

.seealso: `MuonAssembly`, `MuonExchangeAssignment`
E*/
typedef enum {
  MUON_ASSEMBLY_NONE,
  MUON_ASSEMBLY_ALLGATHER,
  MUON_ASSEMBLY_OWNER,
  MUON_ASSEMBLY_GRAM
} MuonAssemblyKind;
PETSC_EXTERN const char *const MuonAssemblyKinds[];

/*E
   MuonAssemblyPrecision - Precision in which the rows of a matrix are gathered

   Values:
+  `MUON_ASSEMBLY_PRECISION_NATIVE` - that of the rows
.  `MUON_ASSEMBLY_PRECISION_SINGLE` - rounded to binary32
-  `MUON_ASSEMBLY_PRECISION_BF16`   - rounded to binary32, then to bfloat16, to nearest even

   Level: intermediate

.seealso: `MuonAssembly`, `MuonAssemblySetPrecision()`
E*/
typedef enum {
  MUON_ASSEMBLY_PRECISION_NATIVE,
  MUON_ASSEMBLY_PRECISION_SINGLE,
  MUON_ASSEMBLY_PRECISION_BF16
} MuonAssemblyPrecision;
PETSC_EXTERN const char *const MuonAssemblyPrecisions[];

PETSC_EXTERN PetscClassId MUONASSEMBLY_CLASSID;

PETSC_EXTERN PetscErrorCode MuonAssemblyInitializePackage(void);
PETSC_EXTERN PetscErrorCode MuonAssemblyFinalizePackage(void);

PETSC_EXTERN PetscErrorCode MuonAssemblyCreate(MPI_Comm, MuonAssembly *);
PETSC_EXTERN PetscErrorCode MuonAssemblySetOptionsPrefix(MuonAssembly, const char[]);
PETSC_EXTERN PetscErrorCode MuonAssemblyGetOptionsPrefix(MuonAssembly, const char *[]);
PETSC_EXTERN PetscErrorCode MuonAssemblySetFromOptions(MuonAssembly);
PETSC_EXTERN PetscErrorCode MuonAssemblySetPrecision(MuonAssembly, MuonAssemblyPrecision);
PETSC_EXTERN PetscErrorCode MuonAssemblyGetPrecision(MuonAssembly, MuonAssemblyPrecision *);
PETSC_EXTERN PetscErrorCode MuonAssemblySetAssignment(MuonAssembly, MuonExchangeAssignment);
PETSC_EXTERN PetscErrorCode MuonAssemblyGetAssignment(MuonAssembly, MuonExchangeAssignment *);
PETSC_EXTERN PetscErrorCode MuonAssemblySetChunk(MuonAssembly, PetscInt);
PETSC_EXTERN PetscErrorCode MuonAssemblyGetChunk(MuonAssembly, PetscInt *);
PETSC_EXTERN PetscErrorCode MuonAssemblySetWarmup(MuonAssembly, PetscInt);
PETSC_EXTERN PetscErrorCode MuonAssemblyGetWarmup(MuonAssembly, PetscInt *);
PETSC_EXTERN PetscErrorCode MuonAssemblySetUp(MuonAssembly);
PETSC_EXTERN PetscErrorCode MuonAssemblyGetOwner(MuonAssembly, PetscInt, PetscMPIInt *);
PETSC_EXTERN PetscErrorCode MuonAssemblyView(MuonAssembly, PetscViewer);
PETSC_EXTERN PetscErrorCode MuonAssemblyReset(MuonAssembly);
PETSC_EXTERN PetscErrorCode MuonAssemblyDestroy(MuonAssembly *);
