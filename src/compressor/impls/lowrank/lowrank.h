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
