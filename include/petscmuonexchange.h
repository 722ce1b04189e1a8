/*
   Exchanges: which rank owns which layer, and how the messages of a step travel.
*/
#pragma once

#include <petscmuonsys.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonExchange */

/*S
   MuonExchange - Moves the messages of a step between workers, and the servers among them

   Level: intermediate

.seealso: `MuonGetExchange()`, `MuonExchangeSetType()`, `MuonExchangeType`, `MuonExchangeMode`, `MuonExchangeAssignment`
S*/
typedef struct _p_MuonExchange *MuonExchange;

/*J
   MuonExchangeType - String with the name of an ownership of the layers

   Values:
+  `MUONEXCHANGESTAR`       - worker 0 owns every layer
.  `MUONEXCHANGELAYERWISE`  - every layer has one owner
.  `MUONEXCHANGEREPLICATED` - every worker owns every layer
.  `MUONEXCHANGEROWS`       - every rank keeps rows of the state of layers that are whole on all ranks
-  `MUONEXCHANGERANGE`      - every worker owns a range of the entries of all layers together, for votes

   Level: intermediate

.seealso: `MuonExchangeSetType()`, `MuonExchange`, `MuonExchangeRegister()`
J*/
typedef const char *MuonExchangeType;
#define MUONEXCHANGESTAR       "star"
#define MUONEXCHANGELAYERWISE  "layerwise"
#define MUONEXCHANGEREPLICATED "replicated"
#define MUONEXCHANGEROWS       "rows"
#define MUONEXCHANGERANGE      "range"

/*E
   MuonExchangeMode - How the workers' contributions reach the servers

   Values:
+  `MUON_EXCHANGE_MODE_REDUCE`    - sums of arrays at the server, or counts of votes along a binomial tree
.  `MUON_EXCHANGE_MODE_ALLREDUCE` - sums of arrays everywhere, of votes in integers of 8 bits, or 16 with more than 127 workers
-  `MUON_EXCHANGE_MODE_GATHER`    - messages, one from every worker, summed by the server in the order of workers

   Level: intermediate

.seealso: `MuonExchangeSetMode()`, `MuonExchange`
E*/
typedef enum {
  MUON_EXCHANGE_MODE_REDUCE,
  MUON_EXCHANGE_MODE_ALLREDUCE,
  MUON_EXCHANGE_MODE_GATHER
} MuonExchangeMode;
PETSC_EXTERN const char *const MuonExchangeModes[];

/*E
   MuonExchangeAssignment - How the owners of the layers are chosen

   Values:
+  `MUON_EXCHANGE_ASSIGNMENT_LPT`        - longest job first, each to the least loaded worker
.  `MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN` - longest job first, one worker after the other
-  `MUON_EXCHANGE_ASSIGNMENT_BUCKETED`   - the same among the matrices of each shape, of which the first goes to the first worker

   Options Database Key:
. -muon_exchange_assignment (lpt|roundrobin|bucketed) - sets it, lpt by default

  Level: intermediate

  Notes:
  It matters to `MUONEXCHANGELAYERWISE` only. With lpt the most loaded of J workers has at most 4/3 - 1/(3J)
  times the load that it has in the best of all assignments.

  Bucketed is what collectives of one size need, as in the AlgoPerf submission of that name: the matrices of each
  shape are dealt to the workers one after the other, beginning at worker 0, and a bucket whose number of matrices
  is no multiple of the number of workers is padded to one. Nothing is sent for a pad here.

.seealso: `MuonExchange`, `MUONEXCHANGELAYERWISE`
E*/
typedef enum {
  MUON_EXCHANGE_ASSIGNMENT_LPT,
  MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN,
  MUON_EXCHANGE_ASSIGNMENT_BUCKETED
} MuonExchangeAssignment;
PETSC_EXTERN const char *const MuonExchangeAssignments[];

/*E
   MuonAssemblyKind - Who has the whole of a matrix, whose rows are spread over the ranks of a worker, for its LMO

   Values:
+  `MUON_ASSEMBLY_NONE`      - no rank: there is no LMO
.  `MUON_ASSEMBLY_ALLGATHER` - every rank gets the matrix and does the same work, as in Moonlight's Distributed Muon
.  `MUON_ASSEMBLY_OWNER`     - one rank gets the matrix, does the work, and sends the rows of the step back, as in Motif's Parallel Muon
-  `MUON_ASSEMBLY_GRAM`      - no rank: the LMO works on the matrix as it is spread, for LMOs that need sums of small matrices only

   Options Database Keys:
+  -muon_assembly kind                                 - who (allgather|owner|gram), chosen by a model of its cost by default
.  -muon_assembly_assignment (lpt|roundrobin|bucketed) - how owners are chosen, lpt by default; the cost of a matrix is that of its LMO
.  -muon_assembly_chunk n                              - how many matrices travel together, as many as the worker has ranks by default
-  -muon_assembly_warmup chunks                        - how many chunks are in flight at once, 5 by default as in Motif's Parallel Muon

   Level: intermediate

   Notes:
   The rows of all matrices of a chunk for one rank are one message. So many chunks as the warm-up says are
   gathered before the LMOs of the first one begin, and after that while those of each one run. The rows of
   steps have as many chunks of time to come back before they are waited for. Results depend on neither number;
   the memory for messages grows with both. With a warm-up of 1 and one chunk for all matrices nothing overlaps.

.seealso: `MuonExchangeAssignment`, `MuonAssemblyPrecision`
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

   Options Database Key:
.  -muon_assembly_precision (native|single|bf16) - sets the precision, native by default

   Level: intermediate

   Notes:
   It is the precision of the rows that are sent to assemble the matrix, and of the rows that this rank
   assembles itself: the step does not depend on who has which rows. The LMO works on entries of the precision of
   the rows in memory, and the rows of the step come back in that. `MUON_ASSEMBLY_GRAM` gathers nothing.

   Moonlight and Motif gather bf16. What is too large for the precision makes the LMO see a matrix that is not
   finite.

.seealso: `MuonAssemblyKind`
E*/
typedef enum {
  MUON_ASSEMBLY_PRECISION_NATIVE,
  MUON_ASSEMBLY_PRECISION_SINGLE,
  MUON_ASSEMBLY_PRECISION_BF16
} MuonAssemblyPrecision;
PETSC_EXTERN const char *const MuonAssemblyPrecisions[];

struct _MuonParameter;
PETSC_EXTERN PetscClassId      MUONEXCHANGE_CLASSID;
PETSC_EXTERN PetscFunctionList MuonExchangeList;

PETSC_EXTERN PetscErrorCode MuonExchangeInitializePackage(void);
PETSC_EXTERN PetscErrorCode MuonExchangeRegister(const char[], PetscErrorCode (*)(MuonExchange), const struct _MuonParameter *);

PETSC_EXTERN PetscErrorCode MuonExchangeSetType(MuonExchange, MuonExchangeType);
PETSC_EXTERN PetscErrorCode MuonExchangeGetType(MuonExchange, MuonExchangeType *);
PETSC_EXTERN PetscErrorCode MuonExchangeSetFromOptions(MuonExchange);
PETSC_EXTERN PetscErrorCode MuonExchangeSetMode(MuonExchange, MuonExchangeMode);
PETSC_EXTERN PetscErrorCode MuonExchangeGetMode(MuonExchange, MuonExchangeMode *);
PETSC_EXTERN PetscErrorCode MuonExchangeView(MuonExchange, PetscViewer);
