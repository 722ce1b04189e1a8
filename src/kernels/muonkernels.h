/*
   Arithmetic that does not depend on the precision of an array: bits, sizes, the counter-based random numbers.

   Raw pointers, no PETSc, no MPI. The kernels of arrays are in petscmuon/private/muonarray.h.
*/
#pragma once

#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/* Philox4x32-10: out = the block of 128 bits at counter under key */
void MuonKernelPhilox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* How many of the bits first ... first + count - 1 are set, first a multiple of 64 */
size_t MuonKernelCountBits(const unsigned char *bitmap, size_t first, size_t count);

/* bitmap (LSB first, zero padding) of the count longest of lines, the lowest numbers first among equals; scratch holds a number for each line */
void MuonKernelSelectLines(size_t lines, const MuonKernelLength *lengths, size_t count, unsigned char *bitmap, size_t *scratch);

/* bitmap (LSB first, zero padding) of count entries, which follow from these three numbers alone, as src/wire/README.md says: seeds that are random make all sets of so many equally likely. count <= entries < 2^56 */
void MuonKernelSubset(size_t entries, size_t count, uint64_t seed, unsigned char *bitmap);

/* Natural codes, as the kernel Natural makes them, for the entries in the bitmap only, whose values are compact and rounded to binary32. Returns 0, or 1 where a value is not finite */
int   MuonKernelNaturalKept(size_t entries, const float *values, const unsigned char *bitmap, const MuonKernelStream *stream, uint16_t *codes);
float MuonKernelNaturalValue(uint16_t code);

MUON_C_END
