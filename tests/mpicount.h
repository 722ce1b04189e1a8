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

/* What ends a step, in bytes that a rank sends: the numbers of the status reduction, and two more for the only group of layers */
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
  MPICOUNT_IALLTOALLV,
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

static inline void mpicount_came(MPICountKind kind, int sender, void *data, long long bytes)
{
  mpicount.received += bytes;
  if (mpicount_received != NULL) mpicount_received(kind, sender, (unsigned char *)data, (size_t)bytes);
}

/* What came from rank r is counts[r] entries at starts[r], or count entries at r * count */
static inline void mpicount_got(MPICountKind kind, MPI_Comm comm, void *buffer, const int counts[], const int starts[], int count, MPI_Datatype type)
{
  for (int r = 0; r < mpicount_size(comm); r++) mpicount_came(kind, r, (unsigned char *)buffer + mpicount_bytes(starts == NULL ? (long long)r * count : starts[r], type), mpicount_bytes(counts == NULL ? count : counts[r], type));
}

/* Of the counts of all ranks, or as many times one; nothing off the root, where there is one */
static inline long long mpicount_sum(MPI_Comm comm, int root, const int counts[], int count)
{
  long long sum = 0;

  for (int r = 0; r < mpicount_size(comm) && (root < 0 || root == mpicount_rank(comm)); r++) sum += counts != NULL ? counts[r] : count;
  return sum;
}

/* MPICH's header does not make its functions visible, as Open MPI's does, and PETSc's flags may hide them */
#if defined(__GNUC__)
  #pragma GCC visibility push(default)
#endif

/* Calls that wait; names are in parentheses, since PETSc counts some of these calls by macros. came: what is done with what came */
#define MPICOUNT_WAITS(name, kind, entries, came, parameters, arguments) \
  int(MPI_##name) parameters \
  { \
    const int err = PMPI_##name arguments; \
\
    if (!mpicount_counts(c)) return err; \
    mpicount_call(kind, mpicount_bytes(entries, t)); \
    came; \
    return err; \
  }

MPICOUNT_WAITS(Gather, MPICOUNT_GATHER, n, if (mpicount_rank(c) == root) mpicount_got(MPICOUNT_GATHER, c, rb, NULL, NULL, rn, rt), (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root, MPI_Comm c),
               (b, n, t, rb, rn, rt, root, c))
MPICOUNT_WAITS(Gatherv, MPICOUNT_GATHERV, n, if (mpicount_rank(c) == root) mpicount_got(MPICOUNT_GATHERV, c, rb, rn, rd, 0, rt), (const void *b, int n, MPI_Datatype t, void *rb, const int rn[], const int rd[], MPI_Datatype rt, int root, MPI_Comm c),
               (b, n, t, rb, rn, rd, rt, root, c))
MPICOUNT_WAITS(Bcast, MPICOUNT_BCAST, mpicount_rank(c) == root ? n : 0, if (mpicount_rank(c) != root) mpicount_came(MPICOUNT_BCAST, root, b, mpicount_bytes(n, t)), (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
MPICOUNT_WAITS(Alltoall, MPICOUNT_ALLTOALL, (long long)n *mpicount_size(c), mpicount_got(MPICOUNT_ALLTOALL, c, rb, NULL, NULL, rn, rt), (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c), (b, n, t, rb, rn, rt, c))
MPICOUNT_WAITS(Alltoallv, MPICOUNT_ALLTOALLV, mpicount_sum(c, -1, n, 0), mpicount_got(MPICOUNT_ALLTOALLV, c, rb, rn, rd, 0, rt),
               (const void *b, const int n[], const int d[], MPI_Datatype t, void *rb, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm c), (b, n, d, t, rb, rn, rd, rt, c))
MPICOUNT_WAITS(Allgather, MPICOUNT_ALLGATHER, n, mpicount_got(MPICOUNT_ALLGATHER, c, rb, NULL, NULL, rn, rt), (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c), (b, n, t, rb, rn, rt, c))
MPICOUNT_WAITS(Allgatherv, MPICOUNT_ALLGATHERV, n, mpicount_got(MPICOUNT_ALLGATHERV, c, rb, rn, rd, 0, rt), (const void *b, int n, MPI_Datatype t, void *rb, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm c), (b, n, t, rb, rn, rd, rt, c))
MPICOUNT_WAITS(Send, MPICOUNT_SEND, n, (void)0, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))

/* As many bytes as come: the library asks for no others */
int(MPI_Recv)(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
  const int err = PMPI_Recv(b, n, t, from, tag, c, s);

  if (mpicount_counts(c)) mpicount_came(MPICOUNT_SEND, from, b, mpicount_bytes(n, t));
  return err;
}

/* Of derived types; counted as the one above. What came is given to nobody */
int(MPI_Alltoallw)(const void *b, const int n[], const int d[], const MPI_Datatype t[], void *rb, const int rn[], const int rd[], const MPI_Datatype rt[], MPI_Comm c)
{
  long long bytes = 0;

  for (int r = 0; r < mpicount_size(c) && mpicount_counts(c); r++) bytes += mpicount_bytes(n[r], t[r]);
  if (mpicount_counts(c)) mpicount_call(MPICOUNT_ALLTOALLV, bytes);
  return PMPI_Alltoallw(b, n, d, t, rb, rn, rd, rt, c);
}

int(MPI_Allreduce)(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c)
{
  const int       err   = PMPI_Allreduce(b, rb, n, t, o, c);
  const long long bytes = mpicount_bytes(n, t);

  if (!mpicount_counts(c) || (o == MPI_MAX && bytes == 24)) return err; /* before a step ranks agree that they take it: no traffic of its own */
  mpicount_call(MPICOUNT_OTHER, 0);
  mpicount.reduced += bytes;
  return err;
}

/* Counted whatever they move */
#define MPICOUNT_FORBID(name, parameters, arguments, comm) \
  int(MPI_##name) parameters \
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

/* What these give is not there yet: nobody is called with it */
#define MPICOUNT_BEGINS(name, kind, out, came, parameters, arguments) \
  int(MPI_##name) parameters \
  { \
    if (mpicount_counts(c)) { \
      mpicount_call(kind, out); \
      mpicount.received += came; \
    } \
    return PMPI_##name arguments; \
  }

MPICOUNT_BEGINS(Ireduce, MPICOUNT_IREDUCE, mpicount_bytes(n, t), mpicount_rank(c) == root ? mpicount_bytes(n, t) : 0, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c, MPI_Request *q), (b, rb, n, t, o, root, c, q))
MPICOUNT_BEGINS(Iallreduce, MPICOUNT_IALLREDUCE, mpicount_bytes(n, t), mpicount_bytes(n, t), (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q), (b, rb, n, t, o, c, q))
MPICOUNT_BEGINS(Ireduce_scatter, MPICOUNT_IREDUCE_SCATTER, mpicount_bytes(mpicount_sum(c, -1, n, 0), t), 0, (const void *b, void *rb, const int n[], MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q), (b, rb, n, t, o, c, q))
MPICOUNT_BEGINS(Ialltoallv, MPICOUNT_IALLTOALLV, mpicount_bytes(mpicount_sum(c, -1, n, 0), t), mpicount_bytes(mpicount_sum(c, -1, rn, 0), rt),
                (const void *b, const int n[], const int d[], MPI_Datatype t, void *rb, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm c, MPI_Request *q), (b, n, d, t, rb, rn, rd, rt, c, q))
/* What is sent in place is this rank's part of the buffer */
MPICOUNT_BEGINS(Iallgatherv, MPICOUNT_IALLGATHERV, b == MPI_IN_PLACE ? mpicount_bytes(rn[mpicount_rank(c)], rt) : mpicount_bytes(n, t), mpicount_bytes(mpicount_sum(c, -1, rn, 0), rt),
                (const void *b, int n, MPI_Datatype t, void *rb, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm c, MPI_Request *q), (b, n, t, rb, rn, rd, rt, c, q))
/* These count as those that wait */
MPICOUNT_BEGINS(Ibcast, MPICOUNT_BCAST, mpicount_rank(c) == root ? mpicount_bytes(n, t) : 0, mpicount_rank(c) != root ? mpicount_bytes(n, t) : 0, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q), (b, n, t, root, c, q))
MPICOUNT_BEGINS(Igather, MPICOUNT_GATHER, mpicount_bytes(b == MPI_IN_PLACE ? 0 : n, t), mpicount_bytes(mpicount_sum(c, root, NULL, rn) - (b == MPI_IN_PLACE ? rn : 0), rt),
                (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q), (b, n, t, rb, rn, rt, root, c, q))
MPICOUNT_BEGINS(Igatherv, MPICOUNT_GATHERV, mpicount_bytes(n, t), mpicount_bytes(mpicount_sum(c, root, rn, 0), rt),
                (const void *b, int n, MPI_Datatype t, void *rb, const int rn[], const int rd[], MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q), (b, n, t, rb, rn, rd, rt, root, c, q))
MPICOUNT_BEGINS(Iallgather, MPICOUNT_ALLGATHER, mpicount_bytes(n, t), mpicount_bytes(mpicount_sum(c, -1, NULL, rn), rt), (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *q),
                (b, n, t, rb, rn, rt, c, q))
MPICOUNT_BEGINS(Ialltoall, MPICOUNT_ALLTOALL, mpicount_bytes((long long)n *mpicount_size(c), t), mpicount_bytes(mpicount_sum(c, -1, NULL, rn), rt), (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *q),
                (b, n, t, rb, rn, rt, c, q))

#if defined(__GNUC__)
  #pragma GCC visibility pop
#endif
