/*
   Scalars as the integers of their width, for the files of this room alone: a test of bits raises no floating-point exception and survives every flag of a compiler.
*/
#pragma once

#include "muonkernels.h"

#if defined(MUON_KERNEL_SINGLE)
typedef uint32_t Bits;
#else
typedef uint64_t Bits;
#endif

#define SIGN_SHIFT (8 * sizeof(Bits) - 1)
#define TOP_BIT    ((Bits)1 << SIGN_SHIFT)
