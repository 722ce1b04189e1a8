/*
   Counts the calls of MPI that move data, and the bytes in their send buffers, through MPI's profiling
   interface: a program may define MPI_Reduce() and go on to PMPI_Reduce(), and the libraries that it is
   linked with then call it, too.

   A program includes this header once, after all others. It counts between CountBegin() and CountEnd(); calls
   on the communicator that PETSc works on are left out.
*/
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* PETSc counts some of these by macros of the same names */
#undef MPI_Reduce
#undef MPI_Bcast
#undef MPI_Allreduce
#undef MPI_Reduce_scatter
#undef MPI_Allgather
#undef MPI_Allgatherv
#undef MPI_Alltoall
#undef MPI_Alltoallv
#undef MPI_Ireduce
#undef MPI_Ibcast
#undef MPI_Iallreduce

#define COUNT_NAMES 16

typedef struct {
  const char *name;
  int         calls;
  long long   bytes;
} Counted;

static struct {
  int      on, n;
  MPI_Comm ignored;
  Counted  row[COUNT_NAMES];
} counter;

static inline int CountSize(MPI_Comm comm)
{
  int size;

  PMPI_Comm_size(comm, &size);
  return size;
}

static inline int CountRank(MPI_Comm comm)
{
  int rank;

  PMPI_Comm_rank(comm, &rank);
  return rank;
}

static inline void Count(const char name[], long long entries, MPI_Datatype type, MPI_Comm comm)
{
  int i = 0, width;

  if (!counter.on || comm == counter.ignored || comm == MPI_COMM_SELF) return;
  PMPI_Type_size(type, &width);
  while (i < counter.n && strcmp(counter.row[i].name, name) != 0) i++;
  if (i == COUNT_NAMES) return;
  if (i == counter.n) counter.row[counter.n++].name = name;
  counter.row[i].calls++;
  counter.row[i].bytes += entries * width;
}

static inline void CountBegin(MPI_Comm ignored)
{
  memset(&counter, 0, sizeof(counter));
  counter.on      = 1;
  counter.ignored = ignored;
}

/*
   Collective: rank 0 prints a line for each function that was called, which are the same on all ranks. What
   is few bytes depends on what else a step says, and is not printed
*/
static inline void CountEnd(void)
{
  counter.on = 0;
  for (int i = 0; i < counter.n; i++) {
    const Counted *row  = &counter.row[i];
    int            many = 0;
    long long      bytes[64];

    PMPI_Gather(&row->bytes, 1, MPI_LONG_LONG, bytes, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (CountRank(MPI_COMM_WORLD) != 0) continue;
    for (int r = 0; r < CountSize(MPI_COMM_WORLD); r++) many |= bytes[r] >= 256;
    printf("  %-18s %2d calls, ", row->name, row->calls);
    if (many) printf("bytes sent by each rank");
    else printf("few bytes");
    for (int r = 0; r < CountSize(MPI_COMM_WORLD) && many; r++) printf(" %6lld", bytes[r]);
    printf("\n");
  }
  fflush(stdout);
}

static inline int CountCalls(const char name[])
{
  for (int i = 0; i < counter.n; i++) {
    if (strcmp(counter.row[i].name, name) == 0) return counter.row[i].calls;
  }
  return 0;
}

static inline long long CountSum(const int counts[], MPI_Comm comm)
{
  long long sum = 0;

  for (int r = 0; r < CountSize(comm); r++) sum += counts[r];
  return sum;
}

/* MPICH's header does not make its functions visible, as Open MPI's does, and PETSc's flags may hide them */
#if defined(__GNUC__)
  #pragma GCC visibility push(default)
#endif

/*
   COUNTED(function, its parameters, its arguments, entries that this rank sends, their type, the
   communicator)
*/
#define COUNTED(name, parameters, arguments, entries, type, comm) \
  int MPI_##name parameters \
  { \
    Count("MPI_" #name, entries, type, comm); \
    return PMPI_##name arguments; \
  }
COUNTED(Reduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c), (a, b, n, t, op, root, c), n, t, c)
COUNTED(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c), CountRank(c) == root ? n : 0, t, c)
COUNTED(Allreduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (a, b, n, t, op, c), n, t, c)
COUNTED(Reduce_scatter, (const void *a, void *b, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm c), (a, b, n, t, op, c), CountSum(n, c), t, c)
COUNTED(Allgather, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c), (a, n, t, b, m, u, c), n, t, c)
COUNTED(Allgatherv, (const void *a, int n, MPI_Datatype t, void *b, const int m[], const int d[], MPI_Datatype u, MPI_Comm c), (a, n, t, b, m, d, u, c), a == MPI_IN_PLACE ? m[CountRank(c)] : n, u, c)
COUNTED(Alltoall, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c), (a, n, t, b, m, u, c), (long long)n *CountSize(c), t, c)
COUNTED(Alltoallv, (const void *a, const int n[], const int d[], MPI_Datatype t, void *b, const int m[], const int e[], MPI_Datatype u, MPI_Comm c), (a, n, d, t, b, m, e, u, c), CountSum(n, c), t, c)
COUNTED(Ireduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c, MPI_Request *q), (a, b, n, t, op, root, c, q), n, t, c)
COUNTED(Iallreduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q), (a, b, n, t, op, c, q), n, t, c)
COUNTED(Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q), (b, n, t, root, c, q), CountRank(c) == root ? n : 0, t, c)

#if defined(__GNUC__)
  #pragma GCC visibility pop
#endif
