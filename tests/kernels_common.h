/*
   What the tests of the kernels share: the column of the table that is tested, and random numbers.
*/
#pragma once

#include "kernels/codec/muonkernels.h"
#include <petscmuon/private/muonkernelsdevice.h>
#include "check_common.h"
#include <float.h>
#include <math.h>

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

static inline double NextUniform(uint64_t *state)
{
  return (double)(NextBits(state) >> 11) / 9007199254740992.0;
}

static inline double NextNormal(uint64_t *state)
{
  const double u = NextUniform(state), v = NextUniform(state);

  return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}
