/*
   What the methods share that apply an odd polynomial p(x) = c1 x + c2 x^3 + c3 x^5 to the singular values in each step: which polynomials those are, and a step on the panel.
*/
#pragma once

#include "muonpolarpanel.h"
#include "../kernels/muonpolarkernels.h"

/* The set that the object names, NULL where the user gave the coefficients */
PETSC_INTERN PetscErrorCode MuonPolarGetPolynomial_Private(MuonPolar, const MuonKernelPolynomial **);
/* Of the types that take any precision */
PETSC_INTERN PetscErrorCode MuonPolarSetUpPolynomial_Private(MuonPolar);
PETSC_INTERN PetscErrorCode MuonPolarGetPolynomialSteps_Private(MuonPolar, PetscInt *);
/* Those of a step, 0 first; polynomials of the user repeat the last one */
PETSC_INTERN void MuonPolarGetPolynomialRow_Private(MuonPolar, const MuonKernelPolynomial *, PetscInt, double[3]);
/* Before the first step, with the Gram matrix of the panel: balances both where the set asks for it, or divides the polynomial by the estimate of the spectral norm. The flops are those that it logs */
PETSC_INTERN PetscErrorCode MuonPolarPanelBegin(MuonPolarPanel *, const MuonKernelPolynomial *, void *A, double c[3]);
PETSC_INTERN PetscLogDouble MuonPolarPanelBeginFlops(MuonPolar, const MuonKernelPolynomial *, PetscInt, PetscInt);
/* Y = p(Y) with the Gram matrix A of the panel, which is lost; takes the slot MUON_WORK_POLAR_D where it needs the square */
PETSC_INTERN PetscErrorCode MuonPolarPanelPolynomial(MuonPolarPanel *, void *A, const double c[3]);
