/*
   What the types share whose messages are factors: how many columns they have, where they come from, and how
   they are written, checked and multiplied.

   The matrix of a message has the lines of the array as its rows: that is P Q^T, with P n x count and Q m x
   count for n lines of m entries. These types do not know the rows of the array, so that they see the matrix
   in memory by columns, m x n and Q P^T, whichever way it is stored.
*/
#pragma once

#include <petscmuon/private/muoncompressorcodec.h>

/* The most triples that a message has */
PETSC_INTERN PetscInt       MuonCompressorRank_Private(MuonCompressor, const MuonArray *shape);
PETSC_INTERN PetscErrorCode MuonCompressorRankLayout_Private(MuonCompressor, MuonWireForm, const MuonArray *shape, MuonCompressorLayout *);
/*
   The constant where that fraction of the square is kept, whose error by rounding to nearest is at most error
   of it and not orthogonal to the rest in mixed, and by drawing has the expectation drawn; -1 where that is
   none
*/
PETSC_INTERN PetscReal MuonCompressorFactorsAlpha_Private(double part, double drawn, double error, double mixed);

/* X = T - R by columns: T itself where R is NULL, else a copy in scratch */
PETSC_INTERN PetscErrorCode MuonCompressorResidual_Private(MuonCompressor, const MuonArray *T, const MuonArray *R, MuonArray *X);
/*
   The leading triples of T - R, which has the norm norm 2^scale: at most rank singular values, decreasing;
   values has room for found magnitudes, then found columns of P and of Q, in the precision of T. Sets the
   status where there are none to be had
*/
PETSC_INTERN PetscErrorCode MuonCompressorTriples_Private(MuonCompressor, const MuonArray *T, const MuonArray *R, PetscReal **sigma, void **values, PetscInt *found, double *norm, int *scale);

/*
   The payload of factors: in form triples count magnitudes, decreasing, then in either form count columns of
   P and count columns of Q, which stand behind one another in values, in the memory of shape. Entry k of
   values is rounded by entry k of the stream. Triples whose magnitude is written as zero are left out.
   Changes values
*/
PETSC_INTERN PetscErrorCode MuonCompressorFactorsEncode_Private(MuonCompressor, MuonWireForm, const MuonArray *shape, PetscInt64 *count, void *values, unsigned char payload[]);

/* Operations of such types. Validate refuses factors whose product could overflow */
PETSC_INTERN PetscErrorCode MuonCompressorLayout_Factors(MuonCompressor, const MuonArray *, MuonCompressorLayout *);
PETSC_INTERN PetscErrorCode MuonCompressorDecode_Factors(MuonCompressor, PetscInt64 count, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y);
PETSC_INTERN PetscErrorCode MuonCompressorValidate_Factors(MuonCompressor, const MuonArray *shape, PetscInt64 count, const unsigned char payload[], PetscBool *valid);
PETSC_INTERN PetscErrorCode MuonCompressorDescribe_Factors(MuonCompressor, size_t length, char text[]);
PETSC_INTERN PetscErrorCode MuonCompressorView_Factors(MuonCompressor, PetscViewer);
