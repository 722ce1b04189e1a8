/* What the tests of the components without PETSc share: checks that say what failed, memory, and numbers that are the same everywhere. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define Check(condition, ...) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__); \
      fprintf(stderr, "\n"); \
      abort(); \
    } \
  } while (0)

/* Memory, each piece of its own, so that a sanitizer sees who leaves it. FreeFrom() gives back all but the first so many pieces */
static void **allocated;
static size_t allocations;

static inline void *Allocate(size_t bytes)
{
  if (allocations % 1024 == 0) allocated = (void **)realloc(allocated, (allocations + 1024) * sizeof(void *));
  Check(allocated != NULL, "no memory");
  allocated[allocations] = malloc(bytes > 0 ? bytes : 1);
  Check(allocated[allocations] != NULL, "no memory");
  return allocated[allocations++];
}

static inline void FreeFrom(size_t here)
{
  while (allocations > here) free(allocated[--allocations]);
}

/* SplitMix64: the tests of Philox must not be made of it */
static inline uint64_t NextBits(uint64_t *state)
{
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);

  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
