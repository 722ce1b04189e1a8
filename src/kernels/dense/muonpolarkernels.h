/*
   Arithmetic of the polar factors and of the norm balls: scaled norms, signs, and the polynomial iterations
   on BLAS.

   Raw pointers, no PETSc, no MPI; matrices are column-major with a leading dimension. Sums are accumulated in
   double whatever the scalar is.
*/
#pragma once

#include "../codec/muonkernels.h"

MUON_C_BEGIN

/*
   A set of odd polynomials p(x) = c1 x + c2 x^3 + c3 x^5, one for each step. The table keeps them as their
   authors print them; MuonKernelPolynomialRow() gives those of a step, 0 first, with the rules of the set:
   what follows the last row, the rows at the start whose argument is divided by safety, and the factor by
   which the matrix is divided beyond its norm, which goes into the first step.
*/
typedef struct {
  const char *name;
  int         steps;    /* what it was made for */
  int         rows;     /* of c */
  int         cycle;    /* past the last row: 1 from the first again, 0 the last for ever */
  int         equalize; /* 1: the Gram matrix A is to be balanced first, by the diagonal of (sum_j |a_ij|)^(-1/2) on either side */
  double      safety, norm;
  int         safe; /* rows at the start to which safety applies */
  double      c[10][3];
} MuonKernelPolynomial;

/* The known sets; NULL past the last, and where there is none of that name */
const MuonKernelPolynomial *MuonKernelPolynomialGet(int number);
const MuonKernelPolynomial *MuonKernelPolynomialFind(const char *name);
void                        MuonKernelPolynomialRow(const MuonKernelPolynomial *p, int step, double c[3]);
/* p(x) becomes p(x / divisor) */
void MuonKernelPolynomialDivide(double divisor, double c[3]);

/*
   The weights of X (a I + b X^T X) (I + c X^T X)^-1 that are best for singular values in [l,1], and the new
   l, at most 1. (3, 1, 3) is Halley's own
*/
void MuonKernelHalley(double l, double weight[3], double *next);

MUON_C_END
