/*
   Counts every call of MPI that moves data, and its bytes, through the profiling interface: for programs that
   include it once, after all other headers.

   Bytes count as sent where they lie in a send buffer, each buffer once, and as received where they lie in a
   receive buffer. mpicount_received is called with what came from each sender, and may change it. Calls that
   the library has no business to make are counted as others. Calls on MPI_COMM_SELF and on mpicount_ignored,
   PETSc's own duplicate of it, do not count: there PETSc and SLEPc work on the objects of one rank.
*/
#pragma once

#include <mpi.h>
#include <string.h>

/* PETSc counts some of these calls by macros of the same names */
#undef MPI_Gather
#undef MPI_Gatherv
#undef MPI_Bcast
#undef MPI_Alltoall
#undef MPI_Alltoallv
#undef MPI_Alltoallw
#undef MPI_Allgather
#undef MPI_Allgatherv
#undef MPI_Allreduce
#undef MPI_Reduce
#undef MPI_Reduce_scatter
#undef MPI_Ireduce_scatter
#undef MPI_Reduce_scatter_block
#undef MPI_Scatter
#undef MPI_Scatterv
#undef MPI_Send
#undef MPI_Recv
#undef MPI_Ssend
#undef MPI_Isend
#undef MPI_Issend
#undef MPI_Start
#undef MPI_Startall
#undef MPI_Ialltoall
#undef MPI_Ialltoallv
#undef MPI_Iallgather
#undef MPI_Iallgatherv
#undef MPI_Iallreduce
#undef MPI_Ireduce
#undef MPI_Ibcast
#undef MPI_Igather
#undef MPI_Igatherv

/*
   What ends a step, in bytes that a rank sends: the numbers of the status reduction, and two more for the only
   group of layers
*/
enum {
  AGREEMENT_BYTES = 8 * (11 + 2)
};

typedef enum {
  MPICOUNT_GATHER,
  MPICOUNT_GATHERV,
  MPICOUNT_BCAST,
  MPICOUNT_ALLTOALL,
  MPICOUNT_ALLTOALLV,
  MPICOUNT_ALLGATHER,
  MPICOUNT_ALLGATHERV,
  MPICOUNT_IREDUCE,
  MPICOUNT_IALLREDUCE,
  MPICOUNT_IALLTOALLV, /* what these two give is not there yet: nobody is called with it */
  MPICOUNT_IALLGATHERV,
  MPICOUNT_IREDUCE_SCATTER,
  MPICOUNT_SEND,
  MPICOUNT_OTHER,
  MPICOUNT_KINDS
} MPICountKind;

static const char *const mpicount_names[] = {"MPI_Gather",  "MPI_Gatherv",    "MPI_Bcast",      "MPI_Alltoall",    "MPI_Alltoallv",       "MPI_Allgather", "MPI_Allgatherv",
                                             "MPI_Ireduce", "MPI_Iallreduce", "MPI_Ialltoallv", "MPI_Iallgatherv", "MPI_Ireduce_scatter", "MPI_Send",      "MPI_Allreduce by MPI_BAND",
                                             "other calls"};

typedef struct {
  long      calls[MPICOUNT_KINDS];
  long long sent, received;
  long long reduced; /* in send buffers of other MPI_Allreduce, which is among the others and not in sent */
} MPICount;

static MPICount mpicount;
static MPI_Comm mpicount_ignored                                                                   = MPI_COMM_NULL;
static void (*mpicount_received)(MPICountKind kind, int sender, unsigned char *data, size_t bytes) = NULL;

static inline void mpicount_reset(void)
{
  memset(&mpicount, 0, sizeof(mpicount));
}

static inline long long mpicount_bytes(long long count, MPI_Datatype type)
{
  int bytes;

  PMPI_Type_size(type, &bytes);
  return count * bytes;
}

static inline int mpicount_size(MPI_Comm comm)
{
  int size;

  PMPI_Comm_size(comm, &size);
  return size;
}

static inline int mpicount_rank(MPI_Comm comm)
{
  int rank;

  PMPI_Comm_rank(comm, &rank);
  return rank;
}

static inline int mpicount_counts(MPI_Comm comm)
{
  return comm != MPI_COMM_SELF && (comm == MPI_COMM_NULL || comm != mpicount_ignored);
}

static inline void mpicount_call(MPICountKind kind, long long sent)
{
  mpicount.calls[kind]++;
  mpicount.sent += sent;
}

/* What came from rank r is counts[r] entries at starts[r], or count entries at r * count */
static inline void mpicount_got(MPICountKind kind, MPI_Comm comm, void *buffer, const int counts[], const int starts[], int count, MPI_Datatype type)
{
  for (int r = 0; r < mpicount_size(comm); r++) {
    const long long bytes = mpicount_bytes(counts == NULL ? count : counts[r], type), at = mpicount_bytes(starts == NULL ? (long long)r * count : starts[r], type);

    mpicount.received += bytes;
    if (mpicount_received != NULL) mpicount_received(kind, r, (unsigned char *)buffer + at, (size_t)bytes);
  }
}

/* MPICH's header does not make its functions visible, as Open MPI's does, and PETSc's flags may hide them */
#if defined(__GNUC__)
  #pragma GCC visibility push(default)
#endif

int MPI_Gather(const void *send, int count, MPI_Datatype type, void *recv, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
  const int err = PMPI_Gather(send, count, type, recv, recvcount, recvtype, root, comm);

  if (!mpicount_counts(comm)) return err;
  mpicount_call(MPICOUNT_GATHER, mpicount_bytes(count, type));
  if (mpicount_rank(comm) == root) mpicount_got(MPICOUNT_GATHER, comm, recv, NULL, NULL, recvcount, recvtype);
  return err;
}

int MPI_Gatherv(const void *send, int count, MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
  const int err = PMPI_Gatherv(send, count, type, recv, counts, starts, recvtype, root, comm);

  if (!mpicount_counts(comm)) return err;
  mpicount_call(MPICOUNT_GATHERV, mpicount_bytes(count, type));
  if (mpicount_rank(comm) == root) mpicount_got(MPICOUNT_GATHERV, comm, recv, counts, starts, 0, recvtype);
  return err;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  const int       err   = PMPI_Bcast(buffer, count, type, root, comm);
  const long long bytes = mpicount_bytes(count, type);

  if (!mpicount_counts(comm)) return err;
  mpicount_call(MPICOUNT_BCAST, mpicount_rank(comm) == root ? bytes : 0);
  if (mpicount_rank(comm) != root) {
    mpicount.received += bytes;
    if (mpicount_received != NULL) mpicount_received(MPICOUNT_BCAST, root, (unsigned char *)buffer, (size_t)bytes);
  }
  return err;
}

int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *recv, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
  const int err = PMPI_Alltoall(send, count, type, recv, recvcount, recvtype, comm);

  if (!mpicount_counts(comm)) return err;
  mpicount_call(MPICOUNT_ALLTOALL, mpicount_bytes((long long)count * mpicount_size(comm), type));
  mpicount_got(MPICOUNT_ALLTOALL, comm, recv, NULL, NULL, recvcount, recvtype);
  return err;
}

int MPI_Alltoallv(const void *send, const int sendcounts[], const int sendstarts[], MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, MPI_Comm comm)
{
  const int err = PMPI_Alltoallv(send, sendcounts, sendstarts, type, recv, counts, starts, recvtype, comm);
  long long all = 0;

  for (int r = 0; r < mpicount_size(comm); r++) all += sendcounts[r];
  if (!mpicount_counts(comm)) return err;
  mpicount_call(MPICOUNT_ALLTOALLV, mpicount_bytes(all, type));
  mpicount_got(MPICOUNT_ALLTOALLV, comm, recv, counts, starts, 0, recvtype);
  return err;
}

/* Of derived types; counted as the one above. What came is given to nobody */
int MPI_Alltoallw(const void *send, const int sendcounts[], const int sendstarts[], const MPI_Datatype types[], void *recv, const int counts[], const int starts[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
  long long bytes = 0;
  int       size;

  PMPI_Comm_size(comm, &size);
  for (int r = 0; r < size && mpicount_counts(comm); r++) bytes += mpicount_bytes(sendcounts[r], types[r]);
  if (mpicount_counts(comm)) mpicount_call(MPICOUNT_ALLTOALLV, bytes);
  return PMPI_Alltoallw(send, sendcounts, sendstarts, types, recv, counts, starts, recvtypes, comm);
}

int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *recv, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
  const int err = PMPI_Allgather(send, count, type, recv, recvcount, recvtype, comm);

  if (!mpicount_counts(comm)) return err;
  mpicount_call(MPICOUNT_ALLGATHER, mpicount_bytes(count, type));
  mpicount_got(MPICOUNT_ALLGATHER, comm, recv, NULL, NULL, recvcount, recvtype);
  return err;
}

int MPI_Allgatherv(const void *send, int count, MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, MPI_Comm comm)
{
  const int err = PMPI_Allgatherv(send, count, type, recv, counts, starts, recvtype, comm);

  if (!mpicount_counts(comm)) return err;
  mpicount_call(MPICOUNT_ALLGATHERV, mpicount_bytes(count, type));
  mpicount_got(MPICOUNT_ALLGATHERV, comm, recv, counts, starts, 0, recvtype);
  return err;
}

int MPI_Ireduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request)
{
  mpicount_call(MPICOUNT_IREDUCE, mpicount_bytes(count, type));
  if (mpicount_rank(comm) == root) mpicount.received += mpicount_bytes(count, type);
  return PMPI_Ireduce(send, recv, count, type, op, root, comm, request);
}

int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
  mpicount_call(MPICOUNT_IALLREDUCE, mpicount_bytes(count, type));
  mpicount.received += mpicount_bytes(count, type);
  return PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}

int MPI_Ialltoallv(const void *send, const int sendcounts[], const int sendstarts[], MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
  long long all = 0, came = 0;

  for (int r = 0; r < mpicount_size(comm); r++) {
    all += sendcounts[r];
    came += counts[r];
  }
  if (mpicount_counts(comm)) {
    mpicount_call(MPICOUNT_IALLTOALLV, mpicount_bytes(all, type));
    mpicount.received += mpicount_bytes(came, recvtype);
  }
  return PMPI_Ialltoallv(send, sendcounts, sendstarts, type, recv, counts, starts, recvtype, comm, request);
}

/* What is sent in place is this rank's part of the buffer */
int MPI_Iallgatherv(const void *send, int count, MPI_Datatype type, void *recv, const int counts[], const int starts[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
  long long came = 0;

  for (int r = 0; r < mpicount_size(comm); r++) came += counts[r];
  if (mpicount_counts(comm)) {
    mpicount_call(MPICOUNT_IALLGATHERV, send == MPI_IN_PLACE ? mpicount_bytes(counts[mpicount_rank(comm)], recvtype) : mpicount_bytes(count, type));
    mpicount.received += mpicount_bytes(came, recvtype);
  }
  return PMPI_Iallgatherv(send, count, type, recv, counts, starts, recvtype, comm, request);
}

int MPI_Ireduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
  long long all = 0;

  for (int r = 0; r < mpicount_size(comm); r++) all += counts[r];
  if (mpicount_counts(comm)) mpicount_call(MPICOUNT_IREDUCE_SCATTER, mpicount_bytes(all, type));
  return PMPI_Ireduce_scatter(send, recv, counts, type, op, comm, request);
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
  const int       err   = PMPI_Allreduce(send, recv, count, type, op, comm);
  const long long bytes = mpicount_bytes(count, type);

  if (!mpicount_counts(comm) || (op == MPI_MAX && bytes == 24)) return err; /* before a step ranks agree that they take it: no traffic of its own */
  mpicount_call(MPICOUNT_OTHER, 0);
  mpicount.reduced += bytes;
  return err;
}

int MPI_Send(const void *send, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
  if (mpicount_counts(comm)) mpicount_call(MPICOUNT_SEND, mpicount_bytes(count, type));
  return PMPI_Send(send, count, type, to, tag, comm);
}

int MPI_Recv(void *recv, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
  const int       err   = PMPI_Recv(recv, count, type, from, tag, comm, status);
  const long long bytes = mpicount_bytes(count, type); /* as many as come: the library asks for no others */

  if (!mpicount_counts(comm)) return err;
  mpicount.received += bytes;
  if (mpicount_received != NULL) mpicount_received(MPICOUNT_SEND, from, (unsigned char *)recv, (size_t)bytes);
  return err;
}

/* Counted whatever they move */
#define MPICOUNT_FORBID(name, parameters, arguments, comm) \
  int MPI_##name parameters \
  { \
    if (mpicount_counts(comm)) mpicount_call(MPICOUNT_OTHER, 0); \
    return PMPI_##name arguments; \
  }
MPICOUNT_FORBID(Ssend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c), c)
MPICOUNT_FORBID(Rsend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c), c)
MPICOUNT_FORBID(Bsend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c), c)
MPICOUNT_FORBID(Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q), c)
MPICOUNT_FORBID(Issend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q), c)
MPICOUNT_FORBID(Irsend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q), c)
MPICOUNT_FORBID(Ibsend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q), c)
MPICOUNT_FORBID(Sendrecv, (const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from, int rtag, MPI_Comm c, MPI_Status *s), (b, n, t, to, tag, rb, rn, rt, from, rtag, c, s), c)
MPICOUNT_FORBID(Start, (MPI_Request * q), (q), MPI_COMM_NULL)
MPICOUNT_FORBID(Startall, (int n, MPI_Request q[]), (n, q), MPI_COMM_NULL)
MPICOUNT_FORBID(Put, (const void *b, int n, MPI_Datatype t, int to, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Win w), (b, n, t, to, at, tn, tt, w), MPI_COMM_NULL)
MPICOUNT_FORBID(Get, (void *b, int n, MPI_Datatype t, int to, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Win w), (b, n, t, to, at, tn, tt, w), MPI_COMM_NULL)
MPICOUNT_FORBID(Accumulate, (const void *b, int n, MPI_Datatype t, int to, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Op o, MPI_Win w), (b, n, t, to, at, tn, tt, o, w), MPI_COMM_NULL)
MPICOUNT_FORBID(Scatter, (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root, MPI_Comm c), (b, n, t, rb, rn, rt, root, c), c)
MPICOUNT_FORBID(Scatterv, (const void *b, const int n[], const int d[], MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root, MPI_Comm c), (b, n, d, t, rb, rn, rt, root, c), c)
MPICOUNT_FORBID(Reduce, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), (b, rb, n, t, o, root, c), c)
MPICOUNT_FORBID(Reduce_scatter, (const void *b, void *rb, const int n[], MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c), c)
MPICOUNT_FORBID(Reduce_scatter_block, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c), c)
MPICOUNT_FORBID(Scan, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c), c)
MPICOUNT_FORBID(Exscan, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c), c)

/* What these give is not there yet; they count as those that wait */
int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
  mpicount_call(MPICOUNT_BCAST, mpicount_rank(comm) == root ? mpicount_bytes(count, type) : 0);
  if (mpicount_rank(comm) != root) mpicount.received += mpicount_bytes(count, type);
  return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

#define MPICOUNT_BEGINS(name, kind, entries, came, parameters, arguments) \
  int MPI_##name parameters \
  { \
    if (mpicount_counts(c)) { \
      mpicount_call(kind, mpicount_bytes(entries, t)); \
      mpicount.received += mpicount_bytes(came, rt); \
    } \
    return PMPI_##name arguments; \
  }

static inline long long mpicount_sum(MPI_Comm comm, int root, const int counts[], int count)
{
  long long sum = 0;

  for (int r = 0; r < mpicount_size(comm) && (root < 0 || root == mpicount_rank(comm)); r++) sum += counts != NULL ? counts[r] : count;
  return sum;
}

MPICOUNT_BEGINS(Igather, MPICOUNT_GATHER, b == MPI_IN_PLACE ? 0 : n, mpicount_sum(c, root, NULL, rn) - (b == MPI_IN_PLACE ? rn : 0), (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q),
                (b, n, t, rb, rn, rt, root, c, q))
MPICOUNT_BEGINS(Igatherv, MPICOUNT_GATHERV, n, mpicount_sum(c, root, rn, 0), (const void *b, int n, MPI_Datatype t, void *rb, const int rn[], const int rd[], MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q),
                (b, n, t, rb, rn, rd, rt, root, c, q))
MPICOUNT_BEGINS(Iallgather, MPICOUNT_ALLGATHER, n, mpicount_sum(c, -1, NULL, rn), (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *q), (b, n, t, rb, rn, rt, c, q))
MPICOUNT_BEGINS(Ialltoall, MPICOUNT_ALLTOALL, (long long)n *mpicount_size(c), mpicount_sum(c, -1, NULL, rn), (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *q), (b, n, t, rb, rn, rt, c, q))

#if defined(__GNUC__)
  #pragma GCC visibility pop
#endif
