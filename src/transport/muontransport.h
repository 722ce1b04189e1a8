/*
   Moves byte messages between ranks and sums arrays, and counts what it hands to MPI.

   Pure C and MPI, without PETSc and without mutable globals, so that it runs under a simulator and can be
   measured alone. Messages of any size travel: the sizes go ahead, and the bytes in units that keep the
   counts and displacements of MPI within an int. A message is padded with zeros to whole units.

   MPI is trusted with the sizes. A size beyond what the receiver allows is an error before the bytes move.
*/
#pragma once

#include <mpi.h>
#include <petscmuon/private/muonexport.h>
#include <stddef.h>
#include <stdint.h>

MUON_C_BEGIN

#define MUON_TRANSPORT_UNIT 64 /* bytes: one call moves up to 128 GiB a rank */

/*
   Every function returns MPI_SUCCESS, an error code of MPI (positive) or one of these; after an error the
   ranks no longer agree on what comes next
*/
enum {
  MUON_TRANSPORT_MEMORY   = -1, /* an allocation failed */
  MUON_TRANSPORT_TOOLARGE = -2, /* more units in one call than an int counts */
  MUON_TRANSPORT_ARGUMENT = -3, /* a message that does not begin at a whole unit */
  MUON_TRANSPORT_CORRUPT  = -4  /* a size beyond what the receiver allows */
};

/* In the place of a root: the result is wanted by every rank */
#define MUON_TRANSPORT_EVERYWHERE (-1)

typedef struct _n_MuonTransport {
  MPI_Comm     comm; /* borrowed: must outlive the transport; and is used by the transport alone meanwhile */
  MPI_Datatype unit;
  MPI_Request *requests; /* of the sums under way */
  int         *counts;   /* four arrays, one entry a rank */
  uint64_t    *sizes;    /* two arrays, one entry a rank: those that leave, those that came */
  int          rank, size;
  int          started, capacity; /* requests in use and allocated */
  int          tested;            /* the first error of SumTest, which Wait returns */
  uint64_t     bytes;             /* in the send buffers of the communication calls, each buffer once */
  uint64_t     own;               /* of these, what this rank sends to itself alone and no network sees */
  uint64_t     calls;             /* communication calls; waiting is none */
  uint64_t     messages;          /* of these, those with something in their send buffer */
  uint64_t     pairs;             /* of these, those that send to one rank alone */
  uint64_t     told[3];           /* what MuonTransportNews() has told of */
  struct {
    int                            stage; /* 0 where nothing is under way, 1 the sizes, 2 the messages */
    int                            root;
    unsigned char                 *send;
    struct _n_MuonTransportBuffer *in;
    MPI_Request                    request;
  } coming; /* of GatherBegin or AllToAllBegin */
} MuonTransport;

/* Messages in flight that no call waits for yet */
typedef struct {
  MPI_Request request; /* MPI_REQUEST_NULL where nothing is under way */
  int        *counts;  /* four arrays, one entry a rank, which MPI may read until all has arrived */
} MuonTransportMove;

/*
   Messages of or for all ranks in one memory: that of rank r is data[offset[r]..offset[r] + bytes[r]), then
   zeros to the next unit. Kept and reused, only growing
*/
typedef struct _n_MuonTransportBuffer {
  unsigned char *data;
  uint64_t      *offset, *bytes;
  uint64_t      *max; /* that may come from each rank; at first there is no bound */
  uint64_t       capacity;
} MuonTransportBuffer;

int  MuonTransportInit(MuonTransport *transport, MPI_Comm comm);
void MuonTransportFree(MuonTransport *transport);
int  MuonTransportBufferInit(const MuonTransport *transport, MuonTransportBuffer *buffer);
int  MuonTransportBufferGrow(MuonTransportBuffer *buffer, uint64_t bytes); /* to hold at least so many, with what it holds */
void MuonTransportBufferFree(MuonTransportBuffer *buffer);

/*
   What was counted since this function was called last: buffers that were handed to MPI, their bytes, and
   calls in which all ranks take part. 0 where there is one rank
*/
void MuonTransportNews(MuonTransport *transport, uint64_t *messages, uint64_t *bytes, uint64_t *collectives);

/*
   bytes rounded up to whole units: send buffers need that much room, and the padding in them is zeroed before
   they are sent
*/
uint64_t MuonTransportPadded(uint64_t bytes);

/*
   Collective over the communicator. Every rank's message goes to the root, or to all ranks; the root's message goes to all ranks
   (the root itself keeps send, its buffer does not change); rank r gets the message
   at send + offset[r], where offset[r] is a whole number of units.
*/
int MuonTransportGather(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportBuffer *in);
int MuonTransportBroadcast(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportBuffer *in);
int MuonTransportAllToAll(MuonTransport *transport, unsigned char *send, const uint64_t offset[], const uint64_t bytes[], MuonTransportBuffer *in);
/*
   The same without waiting: sizes go ahead, and the messages begin in a call of Arrive that finds them there.
   Callers do not touch send and in until done, which is at once where waits is true. One may be under way, beside
   sums and records
*/
int MuonTransportGatherBegin(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportBuffer *in);
int MuonTransportAllToAllBegin(MuonTransport *transport, unsigned char *send, const uint64_t offset[], const uint64_t bytes[], MuonTransportBuffer *in);
int MuonTransportArrive(MuonTransport *transport, int waits, int *done);

/*
   The same without waiting, of messages whose sizes both ends know: no sizes go ahead. Those to and from rank
   r lie at send + sendoffset[r] and recv + recvoffset[r], where offsets are whole numbers of units and there
   is room for the padding. AllGather sends every rank the message that lies in its own place in recv. Callers
   do not touch the messages until Test says done, or Wait returns. All ranks start moves in the same order;
   several may be under way
*/
int  MuonTransportMoveInit(const MuonTransport *transport, MuonTransportMove *move);
void MuonTransportMoveFree(MuonTransportMove *move);
int  MuonTransportAllToAllStart(MuonTransport *transport, MuonTransportMove *move, unsigned char *send, const uint64_t sendoffset[], const uint64_t sendbytes[], unsigned char *recv, const uint64_t recvoffset[], const uint64_t recvbytes[]);
int  MuonTransportAllGatherStart(MuonTransport *transport, MuonTransportMove *move, unsigned char *recv, const uint64_t offset[], const uint64_t bytes[]);
int  MuonTransportMoveTest(MuonTransportMove *move, int *done);
int  MuonTransportMoveWait(MuonTransportMove *move);
/*
   From one rank to another, which calls Receive at the same time; in has room for messages of all ranks, of
   which this is one
*/
int MuonTransportSend(MuonTransport *transport, int to, unsigned char *send, uint64_t bytes);
int MuonTransportReceive(MuonTransport *transport, int from, MuonTransportBuffer *in);

/* Records of the same size on all ranks: recv holds count entries of every rank */
int MuonTransportShare(MuonTransport *transport, const void *send, void *recv, int count, MPI_Datatype type);
/*
   Sums: one of count entries of a predefined type, at the root or everywhere; in and out may be used again after
   Wait, which ends all that were started. A sum may take several requests: those that it adds to
   transport->started, which WaitSome ends alone. Test lets MPI move what is under way, of sums and of messages

   Where waits is true it is there at the end, as Open MPI takes memory of a device only in calls that wait. TakesDevice is 1 where MPI says that
   it takes pointers to memory of CUDA, 0 where it says that it does not, and -1 where it has no word for it
*/
int  MuonTransportSumWait(MuonTransport *transport);
int  MuonTransportSumWaitSome(MuonTransport *transport, int begin, int end);
void MuonTransportSumTest(MuonTransport *transport);
int  MuonTransportSum(MuonTransport *transport, int waits, int root, const void *in, void *out, uint64_t count, MPI_Datatype type);
int  MuonTransportTakesDevice(void);
/*
   Arrays as they lie, of count vectors of len entries each, ld from one to the next; they are there after Wait, as sums are. Down, the root's goes to those of all
   others; up, those of all ranks to the root, or everywhere, one behind the other in all, where the root has no copy of its own
*/
int MuonTransportArrays(MuonTransport *transport, int down, int root, void *array, int len, int count, int ld, void *all, MPI_Datatype type);

MUON_C_END
