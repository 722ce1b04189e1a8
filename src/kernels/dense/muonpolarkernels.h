/*
   Arithmetic of the polar factors and of the norm balls: scaled norms, signs, and the polynomial iterations by BLAS.

   Raw pointers, no PETSc, no MPI. Matrices are column-major with a leading dimension. Sums are accumulated in double for
   both precisions.
*/
#pragma once

#include "../codec/muonkernels.h"

MUON_C_BEGIN

/*
   A set of odd polynomials p(x) = c1 x + c2 x^3 + c3 x^5, one for each step. The table has them as their authors print them.
   MuonKernelPolynomialRow() returns those of a step, counted from 0, after the rules of the set: the rows after the last one,
   the first rows, which have the argument divided by safety, and the factor by which the matrix is divided beyond its norm.
   This factor is part of the first step.
*/
typedef struct {
  const char *name;
  int         steps;    /* what it was made for */
  int         rows;     /* of c */
  int         cycle;    /* after the last row: 1 begins again with the first row, 0 repeats the last row */
  int         equalize; /* 1: the Gram matrix A is balanced first, by the diagonal of (sum_j |a_ij|)^(-1/2) on both sides */
  double      safety, norm;
  int         safe; /* the number of first rows to which safety applies */
  double      c[10][3];
} MuonKernelPolynomial;

/* The known sets; NULL after the last one, and if there is none of that name */
const MuonKernelPolynomial *MuonKernelPolynomialGet(int number);
const MuonKernelPolynomial *MuonKernelPolynomialFind(const char *name);
void                        MuonKernelPolynomialRow(const MuonKernelPolynomial *p, int step, double c[3]);
/* p(x) becomes p(x / divisor) */
void MuonKernelPolynomialDivide(double divisor, double c[3]);

/*
   The best weights of X (a I + b X^T X) (I + c X^T X)^-1 for singular values in [l,1], and the new l, at most 1. Halley's
   weights are (3, 1, 3)
*/
void MuonKernelHalley(double l, double weight[3], double *next);

MUON_C_END
