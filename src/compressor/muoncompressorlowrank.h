/*
   What the types share whose messages are factors: how many columns they have, where they come from, and how they are written, checked and multiplied.
*/
#pragma once

#include "muoncompressorcodec.h"

/* The most triples that a message of an m x n layer has */
PETSC_INTERN PetscInt       MuonCompressorRank_Private(MuonCompressor, PetscInt m, PetscInt n);
PETSC_INTERN PetscErrorCode MuonCompressorRankLayout_Private(MuonCompressor, MuonWireForm, PetscInt m, PetscInt n, MuonCompressorLayout *);

/* X = T - R: T itself where R is NULL, else a copy in MUON_WORK_COMPRESSOR_A */
PETSC_INTERN PetscErrorCode MuonCompressorResidual_Private(MuonCompressor, PetscInt m, PetscInt n, const PetscScalar T[], PetscInt ldt, const PetscScalar R[], PetscInt ldr, const PetscScalar **X, PetscInt *ldx);
/* The leading triples of X: at most rank singular values, decreasing, then found columns of U in P and found columns of V right behind them. Sets the status where there are none to be had */
PETSC_INTERN PetscErrorCode MuonCompressorTriples_Private(MuonCompressor, MuonSVD, PetscInt m, PetscInt n, const PetscScalar X[], PetscInt ldx, PetscInt rank, PetscReal sigma[], PetscScalar P[], PetscInt *found);

/*
   The payload of factors: in form triples count magnitudes, decreasing, then in either form count columns of P and count columns of Q, which stand behind one another in values. Entry k of values is rounded by entry k of
   the stream. Triples whose magnitude is written as zero are left out. Uses MUON_WORK_COMPRESSOR_B, where values may be, and changes values
*/
PETSC_INTERN PetscErrorCode MuonCompressorFactorsEncode_Private(MuonCompressor, MuonWireForm, PetscInt m, PetscInt n, PetscInt64 *count, PetscScalar values[], unsigned char payload[]);

/* Operations of such types. Validate refuses factors whose product could overflow */
PETSC_INTERN PetscErrorCode MuonCompressorDecode_Factors(MuonCompressor, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool add, PetscReal scale, PetscScalar Y[], PetscInt ldy);
PETSC_INTERN PetscErrorCode MuonCompressorValidate_Factors(MuonCompressor, PetscInt m, PetscInt n, PetscInt64 count, const unsigned char payload[], PetscBool *valid);
PETSC_INTERN PetscErrorCode MuonCompressorDescribe_Factors(MuonCompressor, size_t length, char text[]);
PETSC_INTERN PetscErrorCode MuonCompressorViewRank_Private(MuonCompressor, PetscViewer);
