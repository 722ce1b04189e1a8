/*
   Arithmetic on arrays: momentum, residuals, selection, rounding, the counter-based random numbers.

   Raw pointers, no PETSc, no MPI. Matrices are column-major with a leading dimension unless a name says rows: the numbering of entries that ties, positions
   on the wire and random numbers use is row-major, entry = i n + j.
*/
#pragma once

#include <petscmuonconf.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* The scalar of the library's matrices; petscmuonconf.h says which */
#if defined(MUON_KERNEL_SINGLE)
typedef float MuonKernelScalar;
#else
typedef double MuonKernelScalar;
#endif

/* Philox4x32-10: out = the block of 128 bits at counter under key */
void MuonKernelPhilox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* A stream of random numbers: word e & 3 of block {e >> 2, layer, step, sender | direction << 31} under the seed belongs to entry e */
typedef struct {
  uint64_t seed;
  uint32_t layer, step, sender, direction;
} MuonKernelStream;
void MuonKernelStreamWords(const MuonKernelStream *stream, uint64_t first, size_t count, uint32_t *words);
/* words[4 k ...] = the four words of the block number[k] */
void MuonKernelStreamBlocks(const MuonKernelStream *stream, size_t count, const uint32_t *number, uint32_t *words);

/* 1 when all entries are finite */
int MuonKernelIsFinite(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx);
/* 1 when their absolute values are less than limit, which may be infinite */
int MuonKernelIsBelow(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, MuonKernelScalar limit);
/* G = previous M + fresh G: the new momentum takes the gradient's place; M is not read where previous == 0 */
void MuonKernelMomentum(size_t m, size_t n, MuonKernelScalar previous, const MuonKernelScalar *M, size_t ldm, MuonKernelScalar fresh, MuonKernelScalar *G, size_t ldg);
/* Y = a X + b Y; b == 0 overwrites whatever Y holds */
void MuonKernelAxpby(size_t m, size_t n, MuonKernelScalar a, const MuonKernelScalar *X, size_t ldx, MuonKernelScalar b, MuonKernelScalar *Y, size_t ldy);
/* rows = T - R in row-major order; R == NULL is zero */
void MuonKernelResidualRows(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, MuonKernelScalar *rows);
/* Y = a rows + b Y with rows in row-major order; b == 0 overwrites whatever Y holds */
void MuonKernelRowsAxpby(size_t m, size_t n, MuonKernelScalar a, const MuonKernelScalar *rows, MuonKernelScalar b, MuonKernelScalar *Y, size_t ldy);
/* How many of the bits first ... first + count - 1 are set */
size_t MuonKernelCountBits(const unsigned char *bitmap, size_t first, size_t count);
/* values = the entries of T - R in the bitmap (row-major order, LSB first), compact; R == NULL is zero. Returns 0, or 1 where an entry of T - R, in the bitmap or not, is not less than limit in absolute value */
int MuonKernelGather(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, MuonKernelScalar limit, const unsigned char *bitmap, MuonKernelScalar *values);
/* Y += a value (add), or Y = value, at the entries whose bits are set: bit first + i n + j of bitmap (LSB first) is that of row i, column j; values are in the order of the bits. Other entries stay as they are */
void MuonKernelScatter(size_t m, size_t n, const unsigned char *bitmap, size_t first, const MuonKernelScalar *values, int add, MuonKernelScalar a, MuonKernelScalar *Y, size_t ldy);
/* sum of squares and of absolute values, accumulated in double by blocks */
double MuonKernelSumSquares(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx);
double MuonKernelSumAbs(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx);

/*
   The count <= m n entries of T - R of largest absolute value, the lowest numbers first among equals: bitmap (LSB first, zero padding, whole words of 64 bits) and their values in row-major order at the front of kept, which
   has room for MuonKernelTopRoom() of them. Single rounds to binary32 first and compares what comes of it. scratch holds MuonKernelTopScratch() bytes for values of size bytes. At most two passes over the matrices. Returns 0, or 1
   where an entry is not finite: then bitmap and kept say nothing
*/
size_t MuonKernelTopRoom(size_t m, size_t n, size_t count);
size_t MuonKernelTopScratch(size_t m, size_t n, size_t size);
int    MuonKernelTop(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, size_t count, unsigned char *bitmap, MuonKernelScalar *kept, void *scratch);
int    MuonKernelTopSingle(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, size_t count, unsigned char *bitmap, float *kept, void *scratch);

/*
   The p-norm of a line, p from 1 to HUGE_VAL, in the order of norms: fraction 2^exponent, the fraction in [0.5, 1) or 0, is its square for p = 2 and the norm itself for any other p. Sums are in double and in a fixed order; entries of any
   size are in range. Returns 0, or 1 where x is not finite
*/
typedef struct {
  double fraction;
  int    exponent;
} MuonKernelLength;
int MuonKernelLineLength(size_t count, const MuonKernelScalar *x, double p, MuonKernelLength *length);
/* bitmap (LSB first, zero padding) of the count longest of lines, the lowest numbers first among equals; scratch holds a number for each line */
void MuonKernelSelectLines(size_t lines, const MuonKernelLength *lengths, size_t count, unsigned char *bitmap, size_t *scratch);

/* bitmap (LSB first, zero padding) of count entries, which follow from these three numbers alone, as src/wire/README.md says: seeds that are random make all sets of so many equally likely. count <= entries < 2^56 */
void MuonKernelSubset(size_t entries, size_t count, uint64_t seed, unsigned char *bitmap);

/* Natural compression (Philox word >> 9 added to the binary32 mantissa): codes sign << 8 | exponent. Returns 0, or 1 where an entry is not a finite binary32 */
int MuonKernelNatural(size_t entries, const MuonKernelScalar *x, const MuonKernelStream *stream, uint64_t first, uint16_t *codes);
/* the same for the entries in the bitmap only, whose values are compact and rounded to binary32 */
int MuonKernelNaturalKept(size_t entries, const float *values, const unsigned char *bitmap, const MuonKernelStream *stream, uint16_t *codes);
/* the same for entries whose numbers are first, first + stride, ... */
int MuonKernelNaturalStrided(size_t entries, const MuonKernelScalar *x, const MuonKernelStream *stream, uint64_t first, uint64_t stride, uint16_t *codes);
/* the same with one addend below 2^23 for all mantissas: 0 drops them, MUON_KERNEL_HALF goes to the nearest power of two and up from the middle */
#define MUON_KERNEL_HALF ((uint32_t)1 << 22)
int   MuonKernelPowers(size_t entries, const MuonKernelScalar *x, uint32_t addend, uint16_t *codes);
float MuonKernelNaturalValue(uint16_t code);
void  MuonKernelNaturalValues(size_t count, const uint16_t *codes, MuonKernelScalar *x);

/* y = x rounded to binary32, and from there to bfloat16, to nearest even. Return 0, or 1 where a result is not finite */
int MuonKernelToSingle(size_t count, const MuonKernelScalar *x, float *y);
int MuonKernelToBF16(size_t count, const MuonKernelScalar *x, float *y);

/*
   Quantization. Largest absolute value and Euclidean norm of entries, HUGE_VAL where one is not finite; the norm is at least the largest absolute value.

   codes of blocks of 2^lengthlog entries (at least 16) with a scale each that no entry of the block exceeds, all of them 0 where the scale is: 2 level + sign, 1 for a negative level. With y = |x| (levels / scale), quotient and
   product in binary64 and then rounded to binary32, at most levels, the level is the integer part of y, and one more where (word >> 8) 2^-24 of the entry's random word is less than the rest. first, the number of x[0], is
   a multiple of 2^lengthlog. A level stands for level (scale / levels) = level step
*/
double MuonKernelLargest(size_t entries, const MuonKernelScalar *x);
double MuonKernelEuclidean(size_t entries, const MuonKernelScalar *x);
void   MuonKernelQuantize(size_t entries, const MuonKernelScalar *x, unsigned lengthlog, const MuonKernelScalar *scales, unsigned levels, const MuonKernelStream *stream, uint64_t first, unsigned char *codes);
void   MuonKernelDequantize(size_t entries, const unsigned char *codes, MuonKernelScalar step, MuonKernelScalar *x);

/*
   bits: one an entry in row-major order (LSB first, zero padding), 1 where T - R >= 0, which both zeros are; R == NULL is zero. sumabs is the sum of the absolute values, accumulated in double by blocks. Returns 0, or 1
   where the sum is not finite, as where an entry is not
*/
int MuonKernelSigns(size_t m, size_t n, const MuonKernelScalar *T, size_t ldt, const MuonKernelScalar *R, size_t ldr, unsigned char *bits, double *sumabs);
/* Y += a where the bit is 1 and Y -= a where it is 0 */
void MuonKernelSignsAxpby(size_t m, size_t n, const unsigned char *bits, MuonKernelScalar a, MuonKernelScalar *Y, size_t ldy);

#if defined(__cplusplus)
}
#endif
