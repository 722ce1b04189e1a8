/*
   Arithmetic of the polar factors and of the norm balls: scaled norms, signs, and the polynomial iterations on BLAS.

   Raw pointers, no PETSc, no MPI; matrices are column-major with a leading dimension. Sums are accumulated in double whatever the scalar is.
*/
#pragma once

#include "muonkernels.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* An odd polynomial for each step: p(x) = c[0] x + c[1] x^3 + c[2] x^5. Steps past the last row repeat it */
typedef struct {
  const char *name;
  int         steps; /* what it was made for */
  int         rows;
  double      c[1][3];
} MuonKernelPolynomial;

/* The known sets; NULL past the last, and where there is none of that name */
const MuonKernelPolynomial *MuonKernelPolynomialGet(int number);
const MuonKernelPolynomial *MuonKernelPolynomialFind(const char *name);

/* Largest absolute entry */
double MuonKernelMaxAbs(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx);
/* r with ||X||_F = r 2^*exponent, without overflow or underflow on the way; 0 when X is zero */
double MuonKernelNorm(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, int *exponent);
/* Y = X / (norm 2^exponent) */
void MuonKernelDivide(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double norm, int exponent, MuonKernelScalar *Y, size_t ldy);
/* Y = s sign(X), where sign(0) is 0 */
void MuonKernelSign(size_t m, size_t n, MuonKernelScalar s, const MuonKernelScalar *X, size_t ldx, MuonKernelScalar *Y, size_t ldy);
/* sum of X_ij Y_ij */
double MuonKernelDot(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const MuonKernelScalar *Y, size_t ldy);

/* The operations of one step by symmetric products, the square of the Gram matrix included */
double MuonKernelPolynomialFlops(size_t m, size_t n, const double c[3]);

#if defined(__cplusplus)
}
#endif
