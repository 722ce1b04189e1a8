/*
   Rational functions of the Gram matrix of a panel, as sums of inverses: what zolotarev evaluates once with
   several poles, and qdwh in each step with one.
*/
#pragma once

#include "muonpolarpanel.h"
#include "../kernels/dense/muonpolarkernels.h"
#include "../kernels/dense/muonpolarzolotarev.h"

/* *any: whether something failed on any rank: what a LAPACK makes of the same bits may differ between them */
PETSC_INTERN PetscErrorCode MuonPolarPanelFailed(MuonPolarPanel *, int failed, PetscBool *any);
/*
   *B = I + sum_j a_j (R / nu^2 + c_j I)^-1 with the poles z, from the Gram matrix R. *failed, on all ranks, where
   a matrix is not positive definite. *B is R where no rank has more than one pole, else scratch of which the
   caller has the mark, as is another such matrix, and R is still there
*/
PETSC_INTERN PetscErrorCode MuonPolarRational(MuonPolarPanel *, const MuonKernelZolotarev *z, double nu2, void *R, void **B, PetscBool *failed);
/* The same, and whole, for a function of one with one pole, where MuonKernelZolotarevNest() knows such; on one rank's host */
PETSC_INTERN PetscErrorCode MuonPolarRationalNested(MuonPolarPanel *, const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, double nu2, void *P, void **B, PetscBool *failed);
