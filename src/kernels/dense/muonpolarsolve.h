/*
   Triangular factors on the short side of a panel: for methods that divide by the Gram matrix, in the
   precisions that have a LAPACK. And the weights of Halley's iteration.

   A panel is s x l (left) or l x s, as in muonpolarreal.h; matrices are s x s with leading dimension s, and
   of L the lower triangle is read. What multiplies the short side from the left where the panel is s x l
   multiplies it transposed, and from the right, where the panel is l x s.
*/
#pragma once

#include "muonpolarreal.h"

MUON_C_BEGIN

/* L L^T = A in place of the lower triangle; 0, or 1 where A is not positive definite: then A is lost */
int MuonKernelRealCholesky(const MuonKernelReal *real, size_t s, void *A);
/*
   An estimate, from below, of the norm of the inverse of a positive definite A, the largest column sum, or 0
   where rounding makes A indefinite. A is whole; the upper triangle is lost, the lower one is left. work
   holds 5 s entries and s of MuonBLASInt
*/
double MuonKernelRealInverseNorm(const MuonKernelReal *real, size_t s, void *A, void *work);
size_t MuonKernelRealInverseNormScratch(const MuonKernelReal *real, size_t s);
/* Y = L^-1 Y, or L^-T Y; a is a factor */
void MuonKernelRealSolve(const MuonKernelReal *real, int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy);
/* Y = L Y, or L^T Y */
void MuonKernelRealTimes(const MuonKernelReal *real, int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy);
/* A = a I, all of it */
void MuonKernelRealSetIdentity(const MuonKernelReal *real, size_t s, double a, void *A);
/* ||A / scale - I||_F of a symmetric A */
double MuonKernelRealDistance(const MuonKernelReal *real, size_t s, const void *A, double scale);
double MuonKernelRealTrace(const MuonKernelReal *real, size_t s, const void *A);

/*
   The weights of X (a I + b X^T X) (I + c X^T X)^-1 that are best for singular values in [l,1], and the new
   l, at most 1. (3, 1, 3) is Halley's own
*/
void MuonKernelHalley(double l, double weight[3], double *next);

MUON_C_END
