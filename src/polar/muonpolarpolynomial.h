/*
   What the methods share that apply an odd polynomial p(x) = c1 x + c2 x^3 + c3 x^5 to the singular values in
   each step: which polynomials those are, and a step on the panel.
*/
#pragma once

#include "muonpolarpanel.h"
#include "../kernels/dense/muonpolarkernels.h"

/* The set that the object names, NULL where the user gave the coefficients */
PETSC_INTERN PetscErrorCode MuonPolarGetPolynomial_Private(MuonPolar, const MuonKernelPolynomial **);
/* Of the types that take any precision */
PETSC_INTERN PetscErrorCode MuonPolarSetUpPolynomial_Private(MuonPolar);
PETSC_INTERN PetscErrorCode MuonPolarGetPolynomialSteps_Private(MuonPolar, PetscInt *);
/* Those of a step, 0 first; polynomials of the user repeat the last one */
PETSC_INTERN void MuonPolarGetPolynomialRow_Private(MuonPolar, const MuonKernelPolynomial *, PetscInt, double[3]);
/*
   Before the first step, with the Gram matrix of the panel: balances both where the set asks for it, or
   divides the polynomial by the estimate of the spectral norm. The flops are those that it logs
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelBegin(MuonPolarPanel *, const MuonKernelPolynomial *, void *A, double c[3]);
PETSC_INTERN PetscLogDouble MuonPolarPanelBeginFlops(MuonPolar, const MuonKernelPolynomial *, PetscInt, PetscInt);
/*
   Y = p(Y) with the Gram matrix A of the panel, which is lost; takes scratch for another where it
   needs the square
*/
PETSC_INTERN PetscErrorCode MuonPolarPanelPolynomial(MuonPolarPanel *, void *A, const double c[3]);

/*
   Of a matrix with the sides s <= l: in last whether the Gram matrix is formed anew after each step, and in
   anew whether it is after all
*/
typedef PetscErrorCode (*MuonPolarSegmentsFn)(MuonPolar, PetscInt steps, size_t s, size_t l, unsigned char last[], PetscBool *anew);
/*
   The operation applymany of a type with polynomials. segments: as the type has it, NULL where all steps are
   anew; in a batch what is said of its longest matrix holds for all. watch: whether the iteration may
   diverge. What is found out about each matrix first, a spectral norm or a balance, makes them go one by one
*/
PETSC_INTERN PetscErrorCode MuonPolarApplyBatches_Private(MuonPolar, PetscBool watch, MuonPolarSegmentsFn segments, PetscInt n, const MuonMatrix G[], const MuonMatrix Q[], MuonStatus status[]);
/*
   Of matrices with a shorter side s and longer sides in decreasing order, how many from the first on are in a
   batch, padded to the first one's. All that have it; and shorter ones while one of the first keeps no GPU
   busy alone and all of the padded batch are at most 5/4 of what they were: of the work the part with the
   longer side grows by that, the rest does not
*/
PETSC_INTERN PetscInt MuonPolarPadded_Private(PetscInt n, size_t s, const size_t longer[]);
