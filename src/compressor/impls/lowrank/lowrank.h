/*
   What the types share whose messages are factors: how many columns they have, and how they are written and
   multiplied.

   The matrix of a message has the contiguous vectors of the array as its rows: that is P Q^T, with P n x count
   and Q m x count for n vectors of m entries. These types do not know the rows of the array, so that they see the matrix
   in memory by columns, m x n and Q P^T, whichever way it is stored.
*/
#pragma once

#include <petscmuon/private/muoncompressorcodec.h>

/* The largest number of triples of a message */
PETSC_INTERN PetscInt MuonCompressorRank_Private(MuonCompressor, const MuonArray *shape);
/* X = T - R by columns: T itself where R is NULL, else a copy in scratch */
PETSC_INTERN PetscErrorCode MuonCompressorResidual_Private(MuonCompressor, const MuonArray *T, const MuonArray *R, MuonArray *X);

/*
   The payload of factors: of triples found magnitudes, decreasing, then in any case as many columns of P and of
   Q, which stand behind one another in values, in the memory of shape. Entry k of values is rounded by entry k of
   the stream. Triples whose magnitude is written as zero are left out. Changes values
*/
PETSC_INTERN PetscErrorCode MuonCompressorFactorsEncode_Private(MuonCompressor, const MuonArray *shape, PetscInt found, void *values, MuonCompressorLayout *, unsigned char payload[]);

/* Operations of such types */
PETSC_INTERN PetscErrorCode MuonCompressorLayout_Factors(MuonCompressor, const MuonArray *, MuonCompressorLayout *);
PETSC_INTERN PetscErrorCode MuonCompressorDecode_Factors(MuonCompressor, const MuonCompressorLayout *, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y);

/* Many columns of so many entries each, for kernels of their precision and memory */
typedef struct {
  const MuonKernels *kernels;
  MuonMemory         memory;
  size_t             rows;
  char              *data;
} MuonColumns;

/*
   Norms          the Euclidean norms of the first count columns, on the host
   CopyLarger     those of the first count columns of X whose norm exceeds least become the first of Y; returns how many there are
   Gaussian       entry e is sqrt(-2 log((w + 1) / 2^32)) cos(2 pi v / 2^32) with the words w = 2 e and v = 2 e + 1 of a stream whose number
                  of the step, 2^32 - 1, is that of no step: no word of it rounds a value. Fresh in each step, from column 0 on, entries
                  e and e + 1, e even, are the cosine and the sine with the words 2^33 + e and 2^33 + e + 1 of the step. Computed in the precision
                  of X. A device gets what the host drew
   Scale          the matrix that is multiplied, 2^-exponent X, and its Frobenius norm. exponent is 0 where products of two such matrices are
                  far from the ends of the range: then no copy is needed. Sets the status where X is not finite
   Orthonormalize P = the orthogonal factor of itself
   Rotation       W^T (l x l) of V = Z S W^T, V being overwritten; l singular values in S, which is on the host. Both are scratch
   Multiply       columns first ... first + count - 1 of Y become a op(X) times those of B, plus b times themselves
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
