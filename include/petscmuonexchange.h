/*
   Exchanges: which rank owns which layer, and how the messages of a step travel.
*/
#pragma once

#include <petscmuonsys.h>

/* MANSEC = ML */
/* SUBMANSEC = MuonExchange */

/*S
   MuonExchange - Moves the messages of a step between workers and servers

   Level: intermediate

.seealso: `MuonGetExchange()`, `MuonExchangeSetType()`, `MuonExchangeType`, `MuonExchangeMode`, `MuonExchangeAssignment`
S*/
typedef struct _p_MuonExchange *MuonExchange;

/*J
   MuonExchangeType - String with the name of an exchange, which says which workers own which layers

   Values:
+  `MUONEXCHANGESTAR`       - worker 0 owns every layer
.  `MUONEXCHANGELAYERWISE`  - every layer has one owner
.  `MUONEXCHANGEREPLICATED` - every worker owns every layer
.  `MUONEXCHANGEROWS`       - every rank owns some rows of each layer, and every rank has all weights
-  `MUONEXCHANGERANGE`      - every worker owns a range of the entries of all layers together; for votes only

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
.  `MUON_EXCHANGE_MODE_ALLREDUCE` - sums of arrays everywhere; votes are summed in integers of 8 bits, or 16 with more than 127 workers
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
   MuonExchangeAssignment - Method that chooses the owners of the layers

   Values:
+  `MUON_EXCHANGE_ASSIGNMENT_LPT`        - longest job first, each to the least loaded worker
.  `MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN` - longest job first, one worker after the other
-  `MUON_EXCHANGE_ASSIGNMENT_BUCKETED`   - roundrobin among the matrices of each shape, from the first worker on

   Options Database Key:
. -muon_exchange_assignment (lpt|roundrobin|bucketed) - sets the method, lpt by default

  Level: intermediate

  Notes:
  It applies to `MUONEXCHANGELAYERWISE` only. With lpt the largest load of J workers is at most 4/3 - 1/(3J) times the
  optimum.

  Bucketed serves collectives of one size, as in the AlgoPerf submission of that name. Worker 0, 1, ... get the
  matrices of one shape in turn. That submission pads a bucket to a multiple of the number of workers. Here no pad is
  sent.

.seealso: `MuonExchange`, `MUONEXCHANGELAYERWISE`
E*/
typedef enum {
  MUON_EXCHANGE_ASSIGNMENT_LPT,
  MUON_EXCHANGE_ASSIGNMENT_ROUNDROBIN,
  MUON_EXCHANGE_ASSIGNMENT_BUCKETED
} MuonExchangeAssignment;
PETSC_EXTERN const char *const MuonExchangeAssignments[];

/*E
   MuonAssemblyKind - Ranks that assemble a matrix for its LMO, if its rows are distributed over the ranks of a worker

   Values:
+  `MUON_ASSEMBLY_NONE`      - no rank: there is no LMO
.  `MUON_ASSEMBLY_ALLGATHER` - every rank gathers the matrix and computes the same step, as in Moonlight's Distributed Muon
.  `MUON_ASSEMBLY_OWNER`     - one rank gathers the matrix, computes the step and sends its rows back, as in Motif's Parallel Muon
-  `MUON_ASSEMBLY_GRAM`      - no rank: the LMO works on the distributed matrix; for LMOs that need sums of small matrices only

   Options Database Keys:
+  -muon_assembly kind                                 - the kind (allgather|owner|gram), chosen by a cost model by default
.  -muon_assembly_assignment (lpt|roundrobin|bucketed) - how owners are chosen, lpt by default; the cost of a matrix is that of its LMO
.  -muon_assembly_chunk n                              - number of matrices sent together, by default the number of ranks of the worker
-  -muon_assembly_warmup chunks                        - number of chunks in flight, 5 by default as in Motif's Parallel Muon

   Level: intermediate

   Notes:
   A rank gets one message with the rows of all matrices of a chunk. The LMOs of the first chunk begin when the gathers
   of the first `warmup` chunks were started; each later gather overlaps with the LMOs of one chunk. Rows of steps come
   back in the background for as many chunks. Results do not depend on the two numbers; the memory for messages grows
   with both. With a warm-up of 1 and one chunk for all matrices nothing overlaps.

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
   All rows of the matrix are rounded to this precision, including those of the rank that assembles it, so that the
   step does not depend on the distribution. The LMO computes in the precision of the rows in memory, and the rows of
   the step are sent in that. `MUON_ASSEMBLY_GRAM` gathers nothing.

   Moonlight and Motif gather bf16. An entry that overflows gives the LMO a matrix that is not finite.

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
