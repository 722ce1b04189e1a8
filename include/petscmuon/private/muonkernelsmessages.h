/*
   The list of the kernels that make and read messages: selection, rounding, quantization, signs. An array is
   m, n, X, ldx: n lines of m entries; what has the name count or entries is without gaps. R == NULL is zero.
   Numbers of entries and bits of bitmaps (LSB first, zero padding) are in the order of memory: entry i of
   line j is number j m + i.

   Residual         x = entries first ... first + count - 1 of T - R
   ResidualAcross   x = entries first ... first + count - 1 of every line of T - R: the n of an entry one after the other
   Spread           Y += a x (add), or Y = x, at the entries first ... first + count - 1
   Top              the count <= m n entries of T - R of largest absolute value, the lowest numbers first among equals: bitmap (whole words of 64 bits) and their values in increasing order of their numbers at the front of kept, which has
                    room for MuonKernelTopRoom() of them. scratch holds MuonKernelTopScratch() bytes. At most
                    two passes over the arrays. Returns 0, or 1 where an entry is not finite: then bitmap and
                    kept say nothing
   TopRounded       the same with entries that are rounded to binary32 first, which kept has
   Gather           values = the entries of T - R in the bitmap. Returns 0, or 1 where an entry of T - R, in the bitmap or not, is not less than limit in absolute value
   Scatter          Y += a value (add), or Y = value, at the entries first ... first + count - 1 whose bits are set, first a multiple of 64; values are in the order of the bits. Other entries stay as they are
   LineLength       the p-norm of a line, p from 1 to HUGE_VAL. Sums are in double and in a fixed order; entries of any size are in range. Returns 0, or 1 where x is not finite
   Natural          natural compression (Philox word >> 9 added to the binary32 mantissa) of entries whose numbers are first, first + stride, ...: codes sign << 8 | exponent. Returns 0, or 1 where an entry is not a finite binary32
   Powers           the same with one addend below 2^23 for all mantissas: 0 drops them, MUON_KERNEL_HALF goes to the nearest power of two and up from the middle
   NaturalValues    the values of codes
   ToSingle         y = x rounded to binary32
   ToBF16           and from there to bfloat16, to nearest even. Both return 0, or 1 where a result is not finite
   Largest          largest absolute value, HUGE_VAL where an entry is not finite
   Euclidean        Euclidean norm, at least the largest absolute value, HUGE_VAL likewise
   Quantize         codes of blocks of 2^lengthlog entries (at least 16) with a scale each that no entry of the block exceeds, all of them 0 where the scale is: 2 level + sign, 1 for a negative level. With y = |x| (levels / scale),
                    quotient and product in binary64 and then rounded to binary32, at most levels, the level
                    is the integer part of y, and one more where (word >> 8) 2^-24 of the entry's random word
                    is less than the rest. first, the number of x[0], is a multiple of 2^lengthlog
   Dequantize       x = level step, the level of the sign of its code
   Signs            bits: one an entry, 1 where T - R >= 0, which both zeros are. sumabs is the sum of the absolute values, accumulated in double by blocks. Returns 0, or 1 where the sum is not finite, as where an entry is not
   SignsAxpby       Y += a where the bit is 1 and Y -= a where it is 0; without add Y = a and Y = -a
   SignsMove        Y = keep X + by s, s = 1 where the bit is 1 and -1 where it is 0, and 0 at the bits of ties where these are not NULL; Y may be X

   Of matrices by columns, on BLAS and LAPACK; those without a leading dimension have no gaps:

   Multiply         Y (m x n) = a op(A) op(B) + b Y, k being the inner size; b == 0 overwrites
   Orthonormalize   P (m x l) = the orthogonal factor of itself, by Householder's method: its columns are orthonormal whatever the rank was. Returns LAPACK's info; where work is NULL it only tells how many entries of it are needed
   Rotation         W^T (l x l) of V = Z S W^T (n x l), V being overwritten; l singular values in S. Likewise
*/
#pragma once

/*
   A stream of random numbers: word e & 3 of block {e >> 2, layer, step, sender | direction << 31} under the
   seed belongs to entry e
*/
typedef struct {
  uint64_t seed;
  uint32_t layer, step, sender, direction;
} MuonKernelStream;

/* Words first ... first + count - 1 of it */
MUON_EXPORT void MuonKernelStreamWords(const MuonKernelStream *stream, uint64_t first, size_t count, uint32_t *words);
/* words[4 k ...] = the four words of the block number[k] */
MUON_EXPORT void MuonKernelStreamBlocks(const MuonKernelStream *stream, size_t count, const uint32_t *number, uint32_t *words);

/*
   A length in the order of lengths: fraction 2^exponent, the fraction in [0.5, 1) or 0, is its square for p =
   2 and the norm itself for any other p
*/
typedef struct {
  double fraction;
  int    exponent;
} MuonKernelLength;

#define MUON_KERNELS_MESSAGES(KERNEL) \
  KERNEL(void, Residual, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t first, size_t count, void *x)) \
  KERNEL(void, ResidualAcross, (size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t first, size_t count, void *x)) \
  KERNEL(void, Spread, (size_t m, size_t n, size_t first, size_t count, const void *x, int add, double a, void *Y, size_t ldy)) \
  KERNEL(int, Top, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t count, unsigned char *bitmap, void *kept, void *scratch)) \
  KERNEL(int, TopRounded, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t count, unsigned char *bitmap, float *kept, void *scratch)) \
  KERNEL(int, Gather, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, double limit, const unsigned char *bitmap, void *values)) \
  KERNEL(void, Scatter, (size_t m, size_t n, const unsigned char *bitmap, size_t first, size_t count, const void *values, int add, double a, void *Y, size_t ldy)) \
  KERNEL(int, LineLength, (size_t count, const void *x, double p, MuonKernelLength *length)) \
  KERNEL(int, Natural, (size_t entries, const void *x, const MuonKernelStream *stream, uint64_t first, uint64_t stride, uint16_t *codes)) \
  KERNEL(int, Powers, (size_t entries, const void *x, uint32_t addend, uint16_t *codes)) \
  KERNEL(void, NaturalValues, (size_t count, const uint16_t *codes, void *x)) \
  KERNEL(int, ToSingle, (size_t count, const void *x, float *y)) \
  KERNEL(int, ToBF16, (size_t count, const void *x, float *y)) \
  KERNEL(double, Largest, (size_t entries, const void *x)) \
  KERNEL(double, Euclidean, (size_t entries, const void *x)) \
  KERNEL(void, Quantize, (size_t entries, const void *x, unsigned lengthlog, const double *scales, unsigned levels, const MuonKernelStream *stream, uint64_t first, unsigned char *codes)) \
  KERNEL(void, Dequantize, (size_t entries, const unsigned char *codes, double step, void *x)) \
  KERNEL(int, Signs, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, unsigned char *bits, double *sumabs)) \
  KERNEL(void, SignsAxpby, (size_t m, size_t n, const unsigned char *bits, int add, double a, void *Y, size_t ldy)) \
  KERNEL(void, SignsMove, (size_t m, size_t n, const unsigned char *bits, const unsigned char *ties, double keep, const void *X, size_t ldx, double by, void *Y, size_t ldy)) \
  KERNEL(void, Multiply, (int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy)) \
  KERNEL(int, Orthonormalize, (size_t m, size_t l, void *P, size_t *entries, void *work)) \
  KERNEL(int, Rotation, (size_t n, size_t l, void *V, void *WT, void *S, size_t *entries, void *work))
