/*
   What the norms that are made of norms of columns, or of rows, share: l_{p,q} is the q-norm of the p-norms of the columns. Both on sequential dense matrices and on parallel ones with
   their rows over ranks, where everything is collective on the communicator of the matrix and ends with the same numbers on all of its ranks.
*/
#pragma once

#include <petscmuon/private/muonlmoimpl.h>

/* Norm, dual norm and minimizer of l_{p,q} over columns, p and q in [1, HUGE_VAL]; arithmetic is in double */
PETSC_INTERN PetscErrorCode MuonLMOColumnsNorm_Private(MuonLMO, double p, double q, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode MuonLMOColumnsDualNorm_Private(MuonLMO, double p, double q, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode MuonLMOColumnsApply_Private(MuonLMO, double p, double q, Mat, Mat, PetscReal *);
/* Operations of the last; powers, roots and divisions are one each, comparisons none */
PETSC_INTERN PetscErrorCode MuonLMOColumnsFlops_Private(double p, double q, PetscInt m, PetscInt n, PetscLogDouble *);
/* The q-norm of the p-norms of the rows, p 1 or 2, q 1 or HUGE_VAL */
PETSC_INTERN PetscErrorCode MuonLMORowsNorm_Private(MuonLMO, int p, double q, Mat, PetscReal *);
/* The p-norm, p in {1, 2, HUGE_VAL}, of one number size 2^*exponent of each rank, in the same form */
PETSC_INTERN PetscErrorCode MuonLMOCombine_Private(MuonLMO, Mat, double p, double *size, int *exponent);
/* x = the sum over ranks in their order, the same bits on all; uses MUON_WORK_LMO_B */
PETSC_INTERN PetscErrorCode MuonLMOSum_Private(MuonLMO, Mat, PetscInt n, double x[]);
/* p* with 1/p + 1/p* = 1 */
PETSC_INTERN double MuonLMOConjugate_Private(double p);
/* An exponent as a user gives it: HUGE_VAL for PETSC_INFINITY; an error that names the key where it is not in [1, inf]; a line of View */
PETSC_INTERN double         MuonLMOExponent_Private(PetscReal p);
PETSC_INTERN PetscErrorCode MuonLMOCheckExponent_Private(MuonLMO, const char key[], PetscReal p);
PETSC_INTERN PetscErrorCode MuonLMOViewExponent_Private(PetscViewer, const char key[], PetscReal p);
