/*
   What the tests of the kernels share: checks that say what failed, and numbers that are the same everywhere.
*/
#pragma once

#include "kernels/codec/muonkernels.h"
#include <petscmuon/private/muonkernelsdevice.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define Check(condition, ...) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
      fprintf(stderr, __VA_ARGS__); \
      fprintf(stderr, "\n"); \
      exit(1); \
    } \
  } while (0)

/*
   Which column of the table of kernels is tested: the host's, or that of the device where the program's first
   argument is device. Its kernels then copy what the test has on the host
*/
static MuonMemory TestMemory = MUON_HOST;

static inline void TestColumn(int argc, char **argv)
{
  const MuonDevice *device = MuonDeviceGet();

  if (argc < 2 || strcmp(argv[1], "device") != 0) return;
  Check(device != NULL && device->start() == NULL, "no device");
  device->stage(1);
  TestMemory = MUON_DEVICE;
}

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

static inline double NextUniform(uint64_t *state)
{
  return (double)(NextBits(state) >> 11) / 9007199254740992.0;
}

static inline double NextNormal(uint64_t *state)
{
  const double u = NextUniform(state), v = NextUniform(state);

  return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}
