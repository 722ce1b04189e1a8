/*
   What the tests of the transport share, which know nothing of PETSc: checks that count what fails, and the
   end, where a failure of one rank is one of all.
*/
#pragma once

#include <transport/muontransport.h>
#include <stdio.h>
#include <stdlib.h>

static int failures = 0;

#define Check(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      failures++; \
    } \
  } while (0)

static inline int TestEnd(void)
{
  int all;

  PMPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}
