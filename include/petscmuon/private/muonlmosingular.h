/*
   Norms of the singular values: p-norms of them, p in [1, HUGE_VAL], by decompositions. All is collective on
   the ranks of the matrix, which is gathered on the first of them.
*/
#pragma once

#include <petscmuon/private/muonlmoimpl.h>

/*
   For a type's create(): all operations of the p-norm, and its data, a MuonLMOVectors. The object decomposes with
   lmo->svd, which the interface gives SLEPc's keys, sets up and destroys. A type may fill in others afterwards
*/
PETSC_EXTERN PetscErrorCode MuonLMOSetSingular(MuonLMO, double p);
/* The operation that makes the minimizer, for types that have another one for some matrices */
PETSC_EXTERN PetscErrorCode MuonLMOApply_Singular(MuonLMO, const MuonMatrix *G, const MuonMatrix *D, double *dual);
/*
   The largest triple of a real matrix: count is 1, or 0 where the matrix is zero. u are the entries of this rank's
   rows; either of u and v may be NULL
*/
PETSC_EXTERN PetscErrorCode MuonLMOSingularTriple(MuonLMO, const MuonMatrix *, double u[], double v[], double *sigma, PetscInt *count);
