#pragma once

#include <petscmuon/private/petscmuonimpl.h>
#include <petscmuon/private/muonparameter.h>
#include <petscmuonexchange.h>

PETSC_INTERN PetscLogEvent MUON_Exchange;

/*
   The packets that go one way in a step, and what an exchange has for itself:
   src/exchange/muonexchangepackets.h
*/
typedef struct _n_MuonExchangePackets *MuonExchangePackets;
typedef struct _n_MuonExchangeLink    *MuonExchangeLink;

/* Collective over the ranks of all workers at one position, the servers among them. Messages travel on a duplicate of the communicator */
PETSC_EXTERN PetscErrorCode MuonExchangeCreate(MPI_Comm, MuonExchange *);
PETSC_EXTERN PetscErrorCode MuonExchangeDestroy(MuonExchange *);

/*
   A type chooses the owners and sends packets. Each of the routines MuonExchangePackets...() below can be up or down.
*/
struct _MuonExchangeOps {
  PetscErrorCode (*assign)(MuonExchange);                    /* fills owner[], the same at all workers; without it worker 0 owns all, where not every worker does */
  PetscErrorCode (*up)(MuonExchange, MuonExchangePackets);   /* sends the packets of the workers */
  PetscErrorCode (*down)(MuonExchange, MuonExchangePackets); /* sends the packets of the servers; not called where every worker owns */
  PetscErrorCode (*view)(MuonExchange, PetscViewer);
  PetscErrorCode (*destroy)(MuonExchange);
};

/*
   Of every packet: to worker 0; from worker 0, which owns all; from each worker to each server; from each
   worker, or server, to all
*/
PETSC_EXTERN PetscErrorCode MuonExchangePacketsGather(MuonExchange, MuonExchangePackets);
PETSC_EXTERN PetscErrorCode MuonExchangePacketsBroadcast(MuonExchange, MuonExchangePackets);
PETSC_EXTERN PetscErrorCode MuonExchangePacketsAllToAll(MuonExchange, MuonExchangePackets);
PETSC_EXTERN PetscErrorCode MuonExchangePacketsAllGather(MuonExchange, MuonExchangePackets);

/*
   What one worker owns, where not every one owns all: layers, all of them, or a range of the entries of
   all layers together
*/
typedef enum {
  MUON_EXCHANGE_OWNERSHIP_LAYERS,
  MUON_EXCHANGE_OWNERSHIP_ONE,
  MUON_EXCHANGE_OWNERSHIP_RANGES
} MuonExchangeOwnership;

/*
   What one worker owns: a shard of a layer, or a range of entries. cost is the work of an owner in any unit, by which owners are
   chosen; bytes and then names settle ties. Shapes are for MUON_EXCHANGE_ASSIGNMENT_BUCKETED
*/
typedef struct {
  const char    *name;
  PetscLogDouble cost, bytes;
  PetscInt       rows, columns;
} MuonExchangeItem;

struct _p_MuonExchange {
  PETSCHEADER(struct _MuonExchangeOps);
  MuonParameters         parameters;
  PetscMPIInt            nworkers, worker; /* how many workers there are, and which one this rank belongs to */
  PetscBool              typeset;          /* else the type is the default */
  PetscBool              counted;          /* what goes up: a bit of each entry, of which an owner counts those that are set; else arrays and other messages */
  PetscBool              summable;         /* or arrays that can be summed, when the mode was last resolved */
  MuonExchangeMode       mode;             /* where it is not set the default that was last resolved */
  MuonExchangeAssignment assignment;
  PetscInt               nitems;
  MuonExchangeItem      *item;
  PetscBool              itemsset;
  /* the plan; the first three are traits of the type */
  PetscBool             everywhere; /* every worker owns every item */
  PetscBool             rowwise;    /* whole layers are one worker's, whose ranks keep rows of their state */
  MuonExchangeOwnership ownership;  /* where not everywhere */
  PetscMPIInt          *owner;      /* of every item; this worker where every one owns */
  PetscInt             *order;      /* the items by owner, then by number */
  PetscInt             *place;      /* of every item in order[] */
  PetscInt             *first;      /* worker w owns order[first[w]..first[w+1]) */
  PetscBool             setupcalled;
  unsigned int          planned; /* hash of the parameters that the plan was made with */
  MuonExchangeLink      link;
  PetscBool             device; /* MPI sums arrays in the memory of a device where they are */
  void                 *data;
};

/* Bytes of arrays that travel together: most of each, where two copies take less time than a message, and most of all that go in one message */
enum {
  MUON_EXCHANGE_SMALL    = 32768,
  MUON_EXCHANGE_TOGETHER = 1 << 20
};

/* Of packets, as on the wire: from a worker, from a server */
typedef enum {
  MUON_EXCHANGE_UP,
  MUON_EXCHANGE_DOWN
} MuonExchangeDirection;

/*
   One step of an exchange, called by the optimizer. Items are known by their numbers in MuonExchangeSetItems().

   Begin of the way up opens every step, in every mode, and starts the count of bytes anew.

   Begin empties the packets. Messages are put in the order of order[] (by owner, so that the packets lie ready
   in one buffer), up on all items, down on those that this worker owns: Reserve gives capacity for at most so
   many bytes, Advance says how many of them a message took. Move finalizes and moves the packets, or error
   packets where status is not MUON_STATUS_OK: a failed sender still joins every call. Get returns a message
   out of the bytes that were received, valid until the next Begin: up that of a worker on an item that is owned
   here, down that of the owner, or, where every worker owns and nothing is sent, the worker's own. status names
   an error packet or a corrupt one (all its items have that status, and no message). GetOwn returns what this
   rank itself encoded, nothing where it sent an error packet. MoveBegin and MoveEnd are the two halves of the
   way up: what was put is on its way between them, and must not be touched. MoveEnd does nothing where nothing was begun.

   MuonExchangeSetMaxBytes(), after SetItems, says how many bytes a message on each item takes at most, up and
   down, the same at all workers: in place of a larger packet its sender sends MUON_STATUS_CORRUPT.

   MuonExchangeReduceBegin() is the way up in the modes reduce and allreduce: in is this worker's
   contribution, an array without gaps, out the sum over the workers where this one owns the item (else its
   data may be NULL). It is there after ReduceWait, and for all items that were begun after ReduceEnd; all
   workers begin them in one order, before or after Begin, and all before the first ReduceWait. Progress lets MPI move
   them, and packets, meanwhile.
   ReduceTyped begins that of the only item, of length entries of a type that MPI sums. in is not modified, here or
   by the caller until the sum is there.

   Arrays that travel as they are, on the host, each of no more entries than an int counts: GatherBegin takes this
   worker's to the owner, where GatherGet has that of each worker after ReduceWait and before ReduceEnd; SpreadBegin down,
   after the status is known, the owner's into those of all others, which are there after ReduceEnd. Orders and Progress
   are those of sums.

   Sums and arrays of at most MUON_EXCHANGE_SMALL bytes with the same owner are copied into one message.

   Bits that are counted: MuonExchangeSetCounted() says that they are what goes up, which decides what type and mode are legal
   and the default. MuonExchangeCutEntries() cuts the entries of n layers, layer k being start[k]..start[k+1],
   into as many items as the type owns one by one, item i being (*cut)[i]..(*cut)[i+1], which the caller
   frees and gives to SetItems. In the mode reduce counts go up a tree whose
   ranks receive, and put and send, one message of at most max bytes, on the only item.

   MuonExchangeGatherRecords() gives every worker the records of all: count doubles each, all[worker * count ...].
*/
PETSC_INTERN PetscErrorCode MuonExchangeReset(MuonExchange);
/* All workers pass the same items. SetUp finds the owners */
PETSC_INTERN PetscErrorCode MuonExchangeSetItems(MuonExchange, PetscInt n, const MuonExchangeItem[]);
PETSC_INTERN PetscErrorCode MuonExchangeSetUp(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeIsSetUp(MuonExchange, PetscBool *);
/* Whether a mode goes with the type, for messages that can be summed */
PETSC_INTERN PetscBool      MuonExchangeIsLegal(MuonExchange, MuonExchangeMode);
PETSC_INTERN PetscErrorCode MuonExchangeResolveMode(MuonExchange, PetscBool summable, const char culprit[], MuonExchangeMode *);
PETSC_INTERN PetscErrorCode MuonExchangeSetMaxBytes(MuonExchange, const size_t up[], const size_t down[]);
PETSC_INTERN PetscErrorCode MuonExchangeBegin(MuonExchange, MuonExchangeDirection, PetscInt64 step);
PETSC_INTERN PetscErrorCode MuonExchangeReserve(MuonExchange, MuonExchangeDirection, PetscInt item, size_t most, unsigned char **to);
PETSC_INTERN PetscErrorCode MuonExchangeAdvance(MuonExchange, MuonExchangeDirection, PetscInt item, size_t bytes);
PETSC_INTERN PetscErrorCode MuonExchangeMove(MuonExchange, MuonExchangeDirection, MuonStatus status);
PETSC_INTERN PetscErrorCode MuonExchangeMoveBegin(MuonExchange, MuonStatus status);
PETSC_INTERN PetscErrorCode MuonExchangeMoveEnd(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeGet(MuonExchange, MuonExchangeDirection, PetscMPIInt worker, PetscInt item, size_t *bytes, const unsigned char **message, MuonStatus *status);
PETSC_INTERN PetscErrorCode MuonExchangeGetOwn(MuonExchange, MuonExchangeDirection, PetscInt item, size_t *bytes, const unsigned char **message);
PETSC_INTERN PetscErrorCode MuonExchangeReduceBegin(MuonExchange, PetscInt item, const MuonArray *in, const MuonArray *out);
PETSC_INTERN PetscErrorCode MuonExchangeReduceWait(MuonExchange, PetscInt item);
PETSC_INTERN void           MuonExchangeProgress(void *exchange); /* as MuonKernelSetProgress() calls it */
PETSC_INTERN PetscErrorCode MuonExchangeReduceEnd(MuonExchange);
PETSC_INTERN PetscErrorCode MuonExchangeGatherBegin(MuonExchange, PetscInt item, const MuonArray *in);
PETSC_INTERN MuonArray      MuonExchangeGatherGet(MuonExchange, PetscInt item, PetscMPIInt worker);
PETSC_INTERN PetscErrorCode MuonExchangeSpreadBegin(MuonExchange, PetscInt item, const MuonArray *);
PETSC_INTERN PetscErrorCode MuonExchangeReduceTyped(MuonExchange, PetscInt64 length, MPI_Datatype type, const void *in, void *out);
PETSC_INTERN PetscErrorCode MuonExchangeSetCounted(MuonExchange, PetscBool);
PETSC_INTERN PetscErrorCode MuonExchangeCutEntries(MuonExchange, PetscInt n, const PetscInt64 start[], PetscInt *items, PetscInt64 *cut[]);
PETSC_INTERN PetscErrorCode MuonExchangeTreeReceive(MuonExchange, PetscMPIInt from, size_t max, size_t *bytes, const unsigned char **message, MuonStatus *status);
PETSC_INTERN PetscErrorCode MuonExchangeTreeSend(MuonExchange, PetscMPIInt to, size_t max, MuonStatus status);
PETSC_INTERN PetscErrorCode MuonExchangeGatherRecords(MuonExchange, PetscInt count, const double record[], double all[]);
/*
   Bytes handed to MPI since the last Begin of the way up, packets' headers included, and of these what this
   rank sent to itself; memory of the packets' buffers in bytes
*/
PETSC_INTERN PetscErrorCode MuonExchangeGetSentBytes(MuonExchange, PetscLogDouble *bytes, PetscLogDouble *own);
PETSC_INTERN PetscErrorCode MuonExchangeGetMemory(MuonExchange, PetscLogDouble *);

/* The owners of items among size ranks, found by every rank alike without a message. The order of the items does not matter */
PETSC_INTERN PetscErrorCode MuonAssignOwners_Private(MuonExchangeAssignment, PetscInt n, const MuonExchangeItem[], PetscMPIInt size, PetscMPIInt owner[]);

/* Errors of the transport are those of MPI or of memory: like all of that kind they end the program */
PETSC_INTERN PetscErrorCode MuonExchangeCheckTransport_Private(int);
struct _n_MuonTransport;
/* Tells -log_view, inside an event, what moved since the last call */
PETSC_INTERN PetscErrorCode MuonExchangeLogTransport_Private(struct _n_MuonTransport *);
