/*
   Moves byte messages between ranks and sums arrays, and counts what it hands to MPI.

   Pure C and MPI, without PETSc and without mutable globals, so that it runs under a simulator and can be measured alone. Messages of any size travel: the sizes go
   ahead as 64-bit integers, and the bytes in units that keep the counts and displacements of MPI within an int. A message is padded with zeros to whole units.
*/
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

enum {
  MUON_TRANSPORT_UNIT = 64 /* bytes: one call moves up to 128 GiB a rank */
};

/* Every function returns MPI_SUCCESS, an error code of MPI (positive) or one of these; after an error the ranks no longer agree on what comes next */
enum {
  MUON_TRANSPORT_MEMORY   = -1, /* an allocation failed */
  MUON_TRANSPORT_TOOLARGE = -2, /* more units in one call than an int counts */
  MUON_TRANSPORT_ARGUMENT = -3  /* a message that does not begin at a whole unit */
};

/* In the place of a root: the result is wanted by every rank */
enum {
  MUON_TRANSPORT_EVERYWHERE = -1
};

typedef struct {
  MPI_Comm     comm; /* borrowed: must outlive the transport; nobody else may use it meanwhile */
  MPI_Datatype unit;
  MPI_Request *requests; /* of the sums under way */
  int         *counts;   /* four arrays, one entry a rank */
  int          rank, size;
  int          started, room; /* requests in use and allocated */
  uint64_t     bytes;         /* in the send buffers of the communication calls, each buffer once */
  uint64_t     calls;         /* communication calls; waiting is none */
} MuonTransport;

/* What a rank got: the message of rank r is data[offset[r]..offset[r] + bytes[r]), then zeros to the next unit. Kept and reused, only growing */
typedef struct {
  unsigned char *data;
  uint64_t      *offset, *bytes;
  uint64_t       capacity;
} MuonTransportInbox;

int  MuonTransportInit(MuonTransport *transport, MPI_Comm comm);
void MuonTransportFree(MuonTransport *transport);
int  MuonTransportInboxInit(const MuonTransport *transport, MuonTransportInbox *inbox);
void MuonTransportInboxFree(MuonTransportInbox *inbox);

/* bytes rounded up to whole units: send buffers need that much room, and the padding in them is zeroed before they are sent */
uint64_t MuonTransportPadded(uint64_t bytes);

/*
   Collective over the communicator. Every rank's message goes to the root; the root's message goes to everybody (the root itself keeps send, its inbox is not touched);
   rank r gets the message at send + offset[r], where offset[r] is a whole number of units; every rank's message goes to everybody.
*/
int MuonTransportGather(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportInbox *inbox);
int MuonTransportBroadcast(MuonTransport *transport, int root, unsigned char *send, uint64_t bytes, MuonTransportInbox *inbox);
int MuonTransportAllToAll(MuonTransport *transport, unsigned char *send, const uint64_t offset[], const uint64_t bytes[], MuonTransportInbox *inbox);
int MuonTransportAllGather(MuonTransport *transport, unsigned char *send, uint64_t bytes, MuonTransportInbox *inbox);

/* Records of the same size on all ranks: recv holds count entries of every rank */
int MuonTransportShare(MuonTransport *transport, const void *send, void *recv, int count, MPI_Datatype type);

/* Sums: starts one of count entries of a predefined type, at the root or everywhere; in and out may be used again after Wait, which ends all that were started */
int MuonTransportSumStart(MuonTransport *transport, int root, const void *in, void *out, uint64_t count, MPI_Datatype type);
int MuonTransportSumWait(MuonTransport *transport);

#if defined(__cplusplus)
}
#endif
