/*
   What the types of compressors share: values as bytes, how much a ratio keeps, what a message costs.
   precision is that of the entries at hand, in memory without gaps.
*/
#pragma once

#include <petscmuon/private/muoncompressorimpl.h>

/* max(1, floor(ratio max + 1e-9)), and at most max */
PETSC_EXTERN PetscInt64 MuonCompressorKept_Private(PetscReal, PetscInt64);
/* The random numbers of this object in this step */
PETSC_EXTERN MuonKernelStream MuonCompressorStream_Private(MuonCompressor);
/* Four of them that belong to no entry: the last block, which entries do not come to */
PETSC_EXTERN void MuonCompressorWords_Private(MuonCompressor, uint32_t words[4]);
/* A number of 32 bits that is the same for all shards of a layer */
PETSC_EXTERN PetscErrorCode MuonCompressorCoin_Private(MuonCompressor, uint32_t *);

/* How the values of an array are written: native ones in its precision */
PETSC_EXTERN MuonWireValues MuonCompressorCodec_Private(MuonCompressor, const MuonArray *);
/*
   The largest relative error of rounding to nearest, which natural values have to binary32, and the variance
   of what is drawn from there, in squares of the value
*/
PETSC_EXTERN void MuonCompressorCodecErrors_Private(MuonWireValues, MuonPrecision, double *nearest, double *variance);
/* 1 - the largest relative square of the error of a rounded value, in expectation */
PETSC_EXTERN PetscReal MuonCompressorCodecAlpha_Private(MuonWireValues, MuonPrecision);
/* A constant of contraction that PetscReal may not have must not grow by rounding to it */
PETSC_EXTERN PetscReal MuonCompressorRoundDown_Private(double);
PETSC_INTERN PetscReal MuonCompressorKeptAlpha_Private(double fraction, double q, double bound);

/*
   The least absolute value that is too large to be written, infinite where every number of the precision fits
*/
PETSC_EXTERN double MuonCompressorCodecLimit_Private(MuonWireValues, MuonPrecision);

/* How natural codes are rounded: at random with the number of the entry, or with the same addend to every mantissa */
typedef enum {
  MUON_COMPRESSOR_ROUND_RANDOM,
  MUON_COMPRESSOR_ROUND_NEAREST,
  MUON_COMPRESSOR_ROUND_DOWN
} MuonCompressorRounding;

/*
   A section of count values in a memory; entry first + k of the stream rounds the k-th. Sets the status where a
   value does not fit. Decode: values first ... first + count - 1 of a section; first is a multiple of 64
*/
PETSC_EXTERN PetscErrorCode MuonCompressorValuesEncode_Private(MuonCompressor, MuonWireValues, MuonCompressorRounding, MuonMemory, MuonPrecision, size_t count, const void *x, uint64_t first, unsigned char to[]);
PETSC_EXTERN PetscErrorCode MuonCompressorValuesDecode_Private(MuonCompressor, MuonWireValues, MuonMemory, MuonPrecision, size_t count, const unsigned char from[], uint64_t first, void *x);

/*
   A section of the values of the kept of entries, on the host and in increasing order of their numbers, by which
   natural ones are rounded. Decode walks the positions with the reader, which is at
   the first
*/
PETSC_EXTERN PetscErrorCode MuonCompressorKeptEncode_Private(MuonCompressor, MuonWireValues, MuonPrecision, size_t entries, const unsigned char bitmap[], PetscInt64 kept, const void *x, unsigned char to[]);
PETSC_EXTERN PetscErrorCode MuonCompressorKeptDecode_Private(MuonCompressor, MuonWireValues, PetscInt64 kept, MuonWireIndexReader *reader, const unsigned char from[], PetscBool add, double scale, const MuonArray *Y);

/*
   Messages with every entry: factor (T - R), R NULL being zero, in a codec. Without a payload Encode only sets the
   status where an entry cannot be written
*/
PETSC_EXTERN PetscErrorCode MuonCompressorDenseEncode_Private(MuonCompressor, MuonWireValues, MuonCompressorRounding, double factor, const MuonArray *T, const MuonArray *R, unsigned char payload[]);
PETSC_EXTERN PetscErrorCode MuonCompressorDenseDecode_Private(MuonCompressor, MuonWireValues, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y);

/*
   The entropy of a payload, and its bits by the formula of the EF21-Muon paper, where an index has indexbits,
   PETSC_DETERMINE being the fewest that number the entries
*/
PETSC_EXTERN PetscLogDouble MuonCompressorEntropy_Private(const MuonCompressorLayout *, const unsigned char payload[]);
PETSC_EXTERN PetscLogDouble MuonCompressorPaperBits_Private(const MuonCompressorLayout *, PetscInt indexbits);
