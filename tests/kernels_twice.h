/*
   Includes TEST_FILE, which is the test itself, once for each precision: REAL is the type of an entry there,
   OTHER that of the other, IS_SINGLE tells which it is, REAL_NAME(name) is the name of a function, and
   KERNELS the column of the table of kernels that is tested. Where TEST_SEED is defined, a program that calls
   Check() of both with random numbers of that seed is all that is missing.
*/
#pragma once

#define REAL            float
#define OTHER           double
#define IS_SINGLE       1
#define REAL_EPSILON    ((double)FLT_EPSILON)
#define REAL_MOST       ((double)FLT_MAX)
#define REAL_NAME(name) name##Single
#define KERNELS         MuonKernelsGet(MUON_SINGLE, TestMemory)
#include TEST_FILE
#undef REAL
#undef OTHER
#undef IS_SINGLE
#undef REAL_EPSILON
#undef REAL_MOST
#undef REAL_NAME
#undef KERNELS

#define REAL            double
#define OTHER           float
#define IS_SINGLE       0
#define REAL_EPSILON    DBL_EPSILON
#define REAL_MOST       DBL_MAX
#define REAL_NAME(name) name##Double
#define KERNELS         MuonKernelsGet(MUON_DOUBLE, TestMemory)
#include TEST_FILE
#undef REAL
#undef OTHER
#undef IS_SINGLE
#undef REAL_EPSILON
#undef REAL_MOST
#undef REAL_NAME
#undef KERNELS

#if defined(TEST_SEED)
int main(int argc, char **argv)
{
  uint64_t state = TEST_SEED;

  TestColumn(argc, argv);
  CheckSingle(&state);
  CheckDouble(&state);
  printf("ok\n");
  return 0;
}
#endif
