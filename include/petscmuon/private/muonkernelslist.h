#pragma once

/*
   A length in the order of lengths: fraction 2^exponent, the fraction in [0.5, 1) or 0, is its square for p =
   2 and the norm itself for any other p
*/
typedef struct {
  double fraction;
  int    exponent;
} MuonKernelLength;

/*
   The list of the kernels that pass over whole arrays: linear combinations, norms, what is finite. An array
   is m, n, X, ldx: n contiguous vectors of m entries.

   IsBelow          1 when all absolute values are less than limit, which may be infinite
   Axpby            Y = a X + b Y; b == 0 overwrites whatever Y holds
   AxpbyOther       the same with an X of the other precision: in double, and rounded once
   Momentum         Z = beta M + weight G, and 1 where Z is finite; M is not read where beta == 0; Z may be G or M
   MomentumOther    the same with a G of the other precision, and Z not G
   MomentumReplace  beta M takes the place of the entries of Z that are not finite, zero where beta == 0; returns how many
   Cautious         Z = X + scale D, with decay X in place of X where scale D and X do not have the same sign; 1 where Z is finite; Z may be D
   SumSquares       sum of squares, accumulated in double by blocks
   SumAbs           sum of absolute values, in the same way
   MaxAbs           largest absolute value, HUGE_VAL where an entry is not finite
   Norm             r with ||X||_F = r 2^*exponent, without overflow or underflow on the way; 0 when X is zero, HUGE_VAL when an entry is not finite
   Euclidean        Euclidean norm, at least the largest absolute value, HUGE_VAL where an entry is not finite
   VectorLength     the p-norm of x, p from 1 to HUGE_VAL. Sums are in double and in a fixed order; entries of any size are in range. Returns 0, or 1 where x is not finite
   Divide           Y = X / (norm 2^exponent)
   Dot              sum of X_ij Y_ij
   AdamW            one step of Adam with decoupled decay from the gradient G: moments M and V become Mnew and Vnew, all without gaps, and Xnew = decay X - rate (mhat / (sqrt(Vnew / c2) + epsilon)),
                    mhat = Mnew / c1, with nesterov (beta1 Mnew + (1 - beta1) G) / c1. Returns 1 where Xnew
                    and Vnew are finite
*/
/* clang-format off */
#define MUON_KERNELS_PASSES(KERNEL) \
  KERNEL(int, IsBelow, (size_t m, size_t n, const void *X, size_t ldx, double limit)) \
  KERNEL(void, Axpby, (size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy)) \
  KERNEL(void, AxpbyOther, (size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy)) \
  KERNEL(int, Momentum, (size_t m, size_t n, double beta, const void *M, size_t ldm, double weight, const void *G, size_t ldg, void *Z, size_t ldz)) \
  KERNEL(int, MomentumOther, (size_t m, size_t n, double beta, const void *M, size_t ldm, double weight, const void *G, size_t ldg, void *Z, size_t ldz)) \
  KERNEL(size_t, MomentumReplace, (size_t m, size_t n, double beta, const void *M, size_t ldm, void *Z, size_t ldz)) \
  KERNEL(int, Cautious, (size_t m, size_t n, double decay, const void *X, size_t ldx, double scale, const void *D, size_t ldd, void *Z, size_t ldz)) \
  KERNEL(double, SumSquares, (size_t m, size_t n, const void *X, size_t ldx)) \
  KERNEL(double, SumAbs, (size_t m, size_t n, const void *X, size_t ldx)) \
  KERNEL(double, MaxAbs, (size_t m, size_t n, const void *X, size_t ldx)) \
  KERNEL(double, Norm, (size_t m, size_t n, const void *X, size_t ldx, int *exponent)) \
  KERNEL(double, Euclidean, (size_t entries, const void *x)) \
  KERNEL(int, VectorLength, (size_t count, const void *x, double p, MuonKernelLength *length)) \
  KERNEL(void, Divide, (size_t m, size_t n, const void *X, size_t ldx, double norm, int exponent, void *Y, size_t ldy)) \
  KERNEL(double, Dot, (size_t m, size_t n, const void *X, size_t ldx, const void *Y, size_t ldy)) \
  KERNEL(int, AdamW, (size_t m, size_t n, const void *G, size_t ldg, double beta1, double beta2, double epsilon, int nesterov, double c1, double c2, double rate, double decay, const void *M, const void *V, \
                      const void *X, size_t ldx, void *Mnew, void *Vnew, void *Xnew, size_t ldy))
/* clang-format on */

/*
   The list of the kernels that make and read messages: selection, rounding, quantization, signs. An array is
   m, n, X, ldx: n contiguous vectors of m entries; what has the name count or entries is without gaps. R == NULL is zero.
   Numbers of entries and bits of bitmaps (LSB first, zero padding) are in the order of memory: entry i of
   vector j is number j m + i.

   Residual         x = entries first ... first + count - 1 of T - R
   ResidualStrided  x = entries first ... first + count - 1 of every vector of T - R: the n of an entry one after the other
   Spread           Y += a x (add), or Y = x, at the entries first ... first + count - 1
   Top              the count <= m n entries of T - R of largest absolute value, the lowest numbers first among equals: bitmap (whole words of 64 bits) and their values in increasing order of their numbers at the front of kept, which has
                    room for MuonKernelTopRoom() of them. scratch holds MuonKernelTopScratch() bytes. At most
                    two passes over the arrays. Returns 0, or 1 where an entry is not finite: then bitmap and
                    kept say nothing
   TopRounded       the same with entries that are rounded to binary32 first, which kept has
   Gather           values = the entries of T - R in the bitmap. Returns 0, or 1 where an entry of T - R, in the bitmap or not, is not less than limit in absolute value
   Scatter          Y += a value (add), or Y = value, at the entries first ... first + count - 1 whose bits are set, first a multiple of 64; values are in the order of the bits. Other entries stay as they are
   Natural          natural compression (Philox word >> 9 added to the binary32 mantissa) of entries whose numbers are first, first + stride, ...: codes sign << 8 | exponent. Returns 0, or 1 where an entry is not a finite binary32
   Powers           the same with one addend below 2^23 for all mantissas: 0 drops them, MUON_KERNEL_HALF goes to the nearest power of two and up from the middle
   NaturalValues    the values of codes
   ToSingle         y = x rounded to binary32 and from there, with bf16, to bfloat16, to nearest even. Returns 0, or 1 where a result is not finite
   Quantize         codes of blocks of 2^lengthlog entries (at least 16) with a scale each that no entry of the block exceeds, all of them 0 where the scale is: 2 level + sign, 1 for a negative level. With y = |x| (levels / scale),
                    quotient and product in binary64 and then rounded to binary32, at most levels, the level
                    is the integer part of y, and one more where (word >> 8) 2^-24 of the entry's random word
                    is less than the rest. first, the number of x[0], is a multiple of 2^lengthlog
   Dequantize       x = level step, the level of the sign of its code
   Signs            bits: one an entry, 1 where T - R >= 0, which both zeros are; these have a 1 in zeros where that is not NULL. sumabs is the sum of the absolute values, accumulated in double by blocks. Returns 0, or 1 where the sum is not finite, as where an entry is not
   SignsAxpby       Y = decay X + scale s, s = 1 where the bit is 1 and -1 where it is 0, and 0 at the bits of ties where these are not NULL; X is not read where decay is 0; Y may be X

   Of matrices by columns, on BLAS and LAPACK; those without a leading dimension have no gaps:

   Multiply         Y (m x n) = a op(A) op(B) + b Y, k being the inner size; b == 0 overwrites
   Orthonormalize   P (m x l) = the orthogonal factor of itself, by Householder's method: its columns are orthonormal whatever the rank was. Returns LAPACK's info; where work is NULL it only tells how many entries of it are needed
   Rotation         W^T (l x l) of V = Z S W^T (n x l), V being overwritten; l singular values in S. Likewise
*/
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

#define MUON_KERNELS_MESSAGES(KERNEL) \
  KERNEL(void, Residual, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t first, size_t count, void *x)) \
  KERNEL(void, ResidualStrided, (size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t first, size_t count, void *x)) \
  KERNEL(void, Spread, (size_t m, size_t n, size_t first, size_t count, const void *x, int add, double a, void *Y, size_t ldy)) \
  KERNEL(int, Top, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t count, unsigned char *bitmap, void *kept, void *scratch)) \
  KERNEL(int, TopRounded, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, size_t count, unsigned char *bitmap, float *kept, void *scratch)) \
  KERNEL(int, Gather, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, double limit, const unsigned char *bitmap, void *values)) \
  KERNEL(void, Scatter, (size_t m, size_t n, const unsigned char *bitmap, size_t first, size_t count, const void *values, int add, double a, void *Y, size_t ldy)) \
  KERNEL(int, Natural, (size_t entries, const void *x, const MuonKernelStream *stream, uint64_t first, uint64_t stride, uint16_t *codes)) \
  KERNEL(int, Powers, (size_t entries, const void *x, uint32_t addend, uint16_t *codes)) \
  KERNEL(void, NaturalValues, (size_t count, const uint16_t *codes, void *x)) \
  KERNEL(int, ToSingle, (size_t count, const void *x, int bf16, float *y)) \
  KERNEL(void, Quantize, (size_t entries, const void *x, unsigned lengthlog, const double *scales, unsigned levels, const MuonKernelStream *stream, uint64_t first, unsigned char *codes)) \
  KERNEL(void, Dequantize, (size_t entries, const unsigned char *codes, double step, void *x)) \
  KERNEL(int, Signs, (size_t m, size_t n, const void *T, size_t ldt, const void *R, size_t ldr, unsigned char *bits, unsigned char *zeros, double *sumabs)) \
  KERNEL(void, SignsAxpby, (size_t m, size_t n, const unsigned char *bits, const unsigned char *ties, double decay, const void *X, size_t ldx, double scale, void *Y, size_t ldy)) \
  KERNEL(void, Multiply, (int transa, int transb, size_t m, size_t n, size_t k, double a, const void *A, size_t lda, const void *B, size_t ldb, double b, void *Y, size_t ldy)) \
  KERNEL(int, Orthonormalize, (size_t m, size_t l, void *P, size_t *entries, void *work)) \
  KERNEL(int, Rotation, (size_t n, size_t l, void *V, void *WT, void *S, size_t *entries, void *work))

/*
   The list of the kernels that norm balls are made of: norms of vectors, and the matrices made of them. An
   array is m, n, X, ldx. Its vectors are the n contiguous ones or, with strided, the m that have one entry in
   each of these. What is said of vector k is in an array of doubles, and sums are in double. Results are the
   same bits for a vector whichever way it lies.

   VectorSums       sum[k] = sum of |x|^power over vector k, power 1 or 2, in eight partial sums
   VectorPowers     sum[k] = sum of (|x| / most[k])^p, 0 where most[k] is 0
   VectorArgMax     most[k] = largest |x| and place[k] where it is first, -1 in a vector of zeros
   VectorScale      y = x f0[k] f1[k], and 0 where f1[k] is 0
   VectorSign       y = f[k] sign(x); sign(0) is 0
   VectorPower      y = f[k] sign(x) (|x| / most[k])^power, power > 0
   VectorPick       y = f[k] sign(x) at place[k], and 0 elsewhere; -1 picks nothing
   RankOne          Y = a u v^T, u along the contiguous vectors, v along the strided ones
*/
#define MUON_KERNELS_NORMS(KERNEL) \
  KERNEL(void, VectorSums, (size_t m, size_t n, const void *X, size_t ldx, int strided, int power, double *sum)) \
  KERNEL(void, VectorPowers, (size_t m, size_t n, const void *X, size_t ldx, int strided, double p, const double *most, double *sum)) \
  KERNEL(void, VectorArgMax, (size_t m, size_t n, const void *X, size_t ldx, int strided, double *most, int64_t *place)) \
  KERNEL(void, VectorScale, (size_t m, size_t n, const void *X, size_t ldx, int strided, const double *f0, const double *f1, void *Y, size_t ldy)) \
  KERNEL(void, VectorSign, (size_t m, size_t n, const void *X, size_t ldx, int strided, const double *f, void *Y, size_t ldy)) \
  KERNEL(void, VectorPower, (size_t m, size_t n, const void *X, size_t ldx, int strided, double power, const double *most, const double *f, void *Y, size_t ldy)) \
  KERNEL(void, VectorPick, (size_t m, size_t n, const void *X, size_t ldx, int strided, const int64_t *place, const double *f, void *Y, size_t ldy)) \
  KERNEL(void, RankOne, (size_t m, size_t n, double a, const double *u, const double *v, void *Y, size_t ldy))
