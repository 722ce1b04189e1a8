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

static inline void *Allocate(size_t bytes)
{
  void *memory = malloc(bytes > 0 ? bytes : 1);

  Check(memory != NULL, "no memory");
  return memory;
}

/* SplitMix64: the tests of Philox must not be made of it */
static inline uint64_t NextBits(uint64_t *state)
{
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);

  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
