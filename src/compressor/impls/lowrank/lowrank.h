/*
   Common declarations of the types that send factors: the number of columns, writing, and products.

   The rows of the matrix in a message are the contiguous vectors of the array. It is P Q^T, with P n x count and Q m x count
   for n vectors of m entries. These types do not distinguish row-major and column-major arrays: to them the matrix in memory is
   column-major, m x n, and equal to Q P^T.
*/
#pragma once

#include <petscmuon/private/muoncompressorcodec.h>

/* The largest number of triples of a message */
PETSC_INTERN PetscInt MuonCompressorRank_Private(MuonCompressor, const MuonArray *shape);
/* X = T - R, column-major: T itself if R is NULL, otherwise a copy in scratch */
PETSC_INTERN PetscErrorCode MuonCompressorResidual_Private(MuonCompressor, const MuonArray *T, const MuonArray *R, MuonArray *X);

/*
   Writes the payload of factors: for triples found magnitudes in decreasing order, then for all types found columns of P and of
   Q. They are one behind the other in values, in the memory of shape. Entry k of values is rounded by entry k of the stream.
   Triples with a magnitude that is written as zero are left out. Changes values
*/
PETSC_INTERN PetscErrorCode MuonCompressorFactorsEncode_Private(MuonCompressor, const MuonArray *shape, PetscInt found, void *values, MuonCompressorLayout *, unsigned char payload[]);

/* Operations of these types */
PETSC_INTERN PetscErrorCode MuonCompressorLayout_Factors(MuonCompressor, const MuonArray *, MuonCompressorLayout *);
PETSC_INTERN PetscErrorCode MuonCompressorDecode_Factors(MuonCompressor, const MuonCompressorLayout *, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y);

/* Columns of equal length, for the kernels of their precision and memory */
typedef struct {
  const MuonKernels *kernels;
  MuonMemory         memory;
  size_t             rows;
  char              *data;
} MuonColumns;

/*
   Norms          the Euclidean norms of the first count columns, on the host
   CopyLarger     copies those of the first count columns of X with a norm above least to the first columns of Y; returns their number
   Gaussian       entry e is sqrt(-2 log((w + 1) / 2^32)) cos(2 pi v / 2^32) with the words w = 2 e and v = 2 e + 1 of a stream with the
                  step number 2^32 - 1, which no step has: no word of it rounds a value. Fresh in each step, from column 0 on, entries
                  e and e + 1, e even, are the cosine and the sine with the words 2^33 + e and 2^33 + e + 1 of the step. Computed in the precision
                  of X. The host computes the numbers for a device
   Scale          the matrix for products, 2^-exponent X, and its Frobenius norm. exponent is 0 if products of two such matrices are
                  far from the ends of the range: then there is no copy. Sets the status if X is not finite
   Orthonormalize P becomes its orthogonal factor
   Rotation       W^T (l x l) of V = Z S W^T, and l singular values in S, on the host. V is overwritten. Both results are scratch
   Multiply       Y = a op(X) B + b Y for the columns first ... first + count - 1 of B and Y
*/
PETSC_INTERN void          *MuonColumnsAt(const MuonColumns *, size_t k);
PETSC_INTERN void           MuonColumnsNorms_Private(const MuonColumns *X, size_t count, double norms[]);
PETSC_INTERN void           MuonColumnsCopy_Private(const MuonColumns *X, size_t from, size_t count, const MuonColumns *Y, size_t to);
PETSC_INTERN size_t         MuonColumnsCopyLarger_Private(const MuonColumns *X, size_t count, const double norms[], double least, const MuonColumns *Y);
PETSC_INTERN PetscErrorCode MuonColumnsGaussian_Private(MuonCompressor, PetscBool fresh, size_t first, size_t count, const MuonColumns *X);
PETSC_INTERN PetscErrorCode MuonColumnsScale_Private(MuonCompressor, MuonArray *X, int *exponent, double *norm);
PETSC_INTERN PetscErrorCode MuonColumnsOrthonormalize_Private(MuonCompressor, size_t l, const MuonColumns *P);
PETSC_INTERN PetscErrorCode MuonColumnsRotation_Private(MuonCompressor, size_t l, const MuonColumns *V, void **WT, void **S);
PETSC_INTERN PetscErrorCode MuonColumnsMultiply_Private(const MuonArray *X, int transposed, size_t first, size_t count, double a, const MuonColumns *B, double b, const MuonColumns *Y);

/* rankk by a randomized range finder */
PETSC_INTERN PetscErrorCode MuonCompressorEncode_Range(MuonCompressor, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *, unsigned char payload[]);
