/*
   What the types of compressors share: values as bytes, how much a ratio keeps, what a message costs.
*/
#pragma once

#include <petscmuon/private/muoncompressorimpl.h>
#include "../kernels/muonkernels.h"
#include "../wire/muonwire.h"

/* max(1, floor(ratio most + 1e-9)), and at most most */
PETSC_INTERN PetscInt64 MuonCompressorKept_Private(PetscReal, PetscInt64);
/* The random numbers of this object in this step */
PETSC_INTERN MuonKernelStream MuonCompressorStream_Private(MuonCompressor);
/* Four of them that belong to no entry: the last block, which entries do not come to */
PETSC_INTERN void MuonCompressorWords_Private(MuonCompressor, uint32_t words[4]);

PETSC_INTERN MuonWireValues MuonCompressorCodec_Private(MuonCompressorValues);
/* The largest relative error of rounding to nearest, which natural values have to binary32, and the variance of what is drawn from there, in squares of the value */
PETSC_INTERN PetscErrorCode MuonCompressorCodecErrors_Private(MuonWireValues, double *nearest, double *variance);
/* 1 - the largest relative square of the error of a rounded value, in expectation */
PETSC_INTERN PetscReal MuonCompressorCodecAlpha_Private(MuonWireValues);
/* A constant of contraction that PetscReal may not have must not grow by rounding to it */
PETSC_INTERN PetscReal MuonCompressorRoundDown_Private(double);

/* The least absolute value that is too large to be written, infinite where every number of PetscScalar fits */
PETSC_INTERN PetscScalar MuonCompressorCodecLimit_Private(MuonWireValues);

/* A section of count values; entry first + k of the stream rounds the k-th. Sets the status where a value does not fit */
PETSC_INTERN PetscErrorCode MuonCompressorValuesEncode_Private(MuonCompressor, MuonWireValues, PetscInt64 count, const PetscScalar x[], PetscInt64 first, unsigned char to[]);
/* Values first ... first + count - 1 of a section; first is a multiple of 8 */
PETSC_INTERN PetscErrorCode MuonCompressorValuesDecode_Private(MuonWireValues, PetscInt64 count, const unsigned char from[], PetscInt64 first, PetscScalar x[]);
/* A section of the values of kept entries in increasing order of their numbers: walks the positions with the reader, which is at the first, and does Y = Y + scale C where add is true, and Y = C else */
PETSC_INTERN PetscErrorCode MuonCompressorKeptDecode_Private(MuonCompressor, MuonWireValues, PetscInt m, PetscInt n, PetscInt64 kept, MuonWireIndexReader *reader, const unsigned char from[], PetscBool add, PetscReal scale, PetscScalar Y[],
                                                             PetscInt ldy);
/* Whether PetscScalar can hold the values of a section that is valid otherwise */
PETSC_INTERN PetscErrorCode MuonCompressorValuesFit_Private(MuonWireValues, PetscInt64 count, const unsigned char from[], PetscBool *);

/*
   Messages with every entry: factor (T - R), R NULL being zero, in a codec, raw values by columns and natural codes by rows. How natural codes are rounded is data: at random with the number of the entry, or
   with the same addend to every mantissa
*/
typedef enum {
  MUON_COMPRESSOR_ROUND_RANDOM,
  MUON_COMPRESSOR_ROUND_NEAREST,
  MUON_COMPRESSOR_ROUND_DOWN
} MuonCompressorRounding;
PETSC_INTERN PetscErrorCode MuonCompressorDenseEncode_Private(MuonCompressor, MuonWireValues, MuonCompressorRounding, PetscReal factor, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr,
                                                              unsigned char payload[]);
PETSC_INTERN PetscErrorCode MuonCompressorDenseFits_Private(MuonCompressor, MuonWireValues, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[],
                                                            PetscInt ldr); /* sets the status where an entry of T - R cannot be written */
PETSC_INTERN PetscErrorCode MuonCompressorDenseDecode_Private(MuonCompressor, MuonWireValues, PetscInt m, PetscInt n, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy);
/* What a type does that writes every entry in one codec, whatever the user chose: its layout, encode() and decode(). The choice is not copied */
typedef struct {
  MuonWireValues         codec;
  MuonCompressorRounding rounding;
} MuonCompressorDense;
PETSC_INTERN PetscErrorCode MuonCompressorSetDense_Private(MuonCompressor, const MuonCompressorDense *);

/* Y = 0 */
PETSC_INTERN PetscErrorCode MuonCompressorZero_Private(PetscInt m, PetscInt n, PetscScalar Y[], PetscInt ldy);
/* The operation of types with a ratio and values */
PETSC_INTERN PetscErrorCode MuonCompressorDescribe_Ratio(MuonCompressor, size_t length, char text[]);

/* The entropy of the payload of a message whose header fits */
PETSC_INTERN PetscErrorCode MuonCompressorEntropy_Private(const MuonWireMessage *, PetscInt64 rows, PetscInt64 columns, const unsigned char payload[], PetscLogDouble *);
