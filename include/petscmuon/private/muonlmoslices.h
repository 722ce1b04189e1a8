/*
   Norms that are made of norms of columns, or of rows: the q-norm of the p-norms of these slices, with p and
   q in [1, HUGE_VAL], and q HUGE_VAL for rows.

   All is collective on the ranks of the matrix and ends with the same numbers on all of them. Results are the
   same bits for a matrix in row-major and in column-major memory, up to the order of ties between entries of
   the matrix where p = q = 1. Arithmetic is in double.
*/
#pragma once

#include <petscmuon/private/muonlmoimpl.h>

/*
   The type is the norm of these exponents: its operations and its data, which is a MuonLMOSlices. A type may
   fill in others afterwards
*/
typedef struct {
  PetscBool rows;
  PetscReal p, q; /* at least PETSC_INFINITY: HUGE_VAL */
} MuonLMOSlices;
PETSC_EXTERN PetscErrorCode MuonLMOSetSlices(MuonLMO, PetscBool rows, double p, double q);

/*
   The norm, the minimizer with its value, and the operations of that: powers, roots and divisions are one
   each, comparisons none. The dual norm is the norm with the conjugates of p and q
*/
PETSC_EXTERN PetscErrorCode MuonLMOSlicesNorm(MuonLMO, const MuonLMOSlices *, const MuonMatrix *, double *);
PETSC_EXTERN PetscErrorCode MuonLMOSlicesApply(MuonLMO, const MuonLMOSlices *, const MuonMatrix *, const MuonMatrix *, double *);
PETSC_EXTERN PetscErrorCode MuonLMOSlicesGetFlops(const MuonLMOSlices *, PetscInt m, PetscInt n, PetscLogDouble *);

/* The p-norm, p in {1, 2, HUGE_VAL}, of one number size 2^*exponent of each rank, in the same form */
PETSC_EXTERN PetscErrorCode MuonLMOCombine(MuonLMO, const MuonMatrix *, double p, double *size, int *exponent);
/* x = the sum over ranks in their order, the same bits on all */
PETSC_EXTERN PetscErrorCode MuonLMOSum(MuonLMO, const MuonMatrix *, PetscInt n, double x[]);

/* p* with 1/p + 1/p* = 1 */
PETSC_EXTERN double MuonLMOConjugate(double p);
/* An exponent as a user gives and sees it, with HUGE_VAL for PETSC_INFINITY. View prints one by its letter */
PETSC_EXTERN double         MuonLMOExponent(PetscReal p);
PETSC_EXTERN PetscErrorCode MuonLMOViewExponent(PetscViewer, const char letter[], PetscReal p);
