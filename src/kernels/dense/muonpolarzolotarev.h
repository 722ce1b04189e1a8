/*
   Zolotarev's rational approximation of the sign on the Gram matrix of a polar factor: its coefficients, and
   the inverses of symmetric positive definite matrices that it is made of.

   The odd rational function of type (2r+1, 2r) that is nearest to the sign on [-1,-l] and [l,1] is, up to
   scaling, Z(x) = x (1 + sum a_j / (x^2 + c_j)). With the Gram matrix R of Y, whose norm is at most 1, scale
   (I + sum a_j (R + c_j I)^{-1}) Y has the singular values scale Z(sigma), which lie in the unit ball, and in
   [lowest,1] for sigma in [l,1].

   Raw pointers, no PETSc, no MPI. Matrices are column-major; of the symmetric ones the lower triangle is read
   and written, and nothing above it.
*/
#pragma once

#include "muonpolarreal.h"

MUON_C_BEGIN

enum {
  MAXMUONKERNELPOLES = 12
};

typedef struct {
  int    poles;
  double a[MAXMUONKERNELPOLES], c[MAXMUONKERNELPOLES]; /* c increases, and c[0] is the smallest shift of a matrix that is to be inverted */
  double scale, lowest;
} MuonKernelZolotarev;

/* 1 <= poles <= 12, 1e-12 <= l < 1 */
void MuonKernelZolotarevSet(int poles, double l, MuonKernelZolotarev *z);
/* e of the range [(1-e)/(1+e),1] */
double MuonKernelZolotarevError(int poles, double l);
/*
   For poles = 4, 7, 10 the function is, exactly, one of 1, 2, 3 poles of one with one pole: Z(x) =
   second(first(x)). That takes fewer and better conditioned inverses. Returns the poles of the second one, 0
   where there is no such way
*/
int MuonKernelZolotarevNest(int poles, double l, MuonKernelZolotarev *first, MuonKernelZolotarev *second);

/* The operations for one precision; ld is the distance of columns, s where none is given */
typedef struct {
  const MuonKernelReal *real;
  /*
     An upper bound of the largest eigenvalue, the least of the largest row sum and of the Frobenius norm;
     rows is scratch of s numbers
  */
  double (*bound)(size_t s, const void *A, size_t ld, double *rows);
  /* B = x A + y B + z I; y == 0 overwrites */
  void (*combine)(size_t s, double x, const void *A, size_t lda, double y, void *B, size_t ldb, double z);
  /* W becomes its inverse. Returns 0, or 1 where it is not positive definite: then W is lost */
  int (*invert)(size_t s, void *W, size_t ld);
  /* A becomes whole: the upper triangle from the lower one */
  void (*mirror)(size_t s, void *A);
  /*
     B = (I + x A) (I + y B): x and y are not 0, A and B commute, B is whole; A is lost, and what the result
     has above the diagonal too. strip has room for s MuonKernelInverseStrip(s) entries
  */
  void (*product)(size_t s, double x, void *A, double y, void *B, void *strip);
  /*
     The same, B = (I + x A^{-1}) (I + y B), in fewer steps: W = A becomes the inverse X of its Cholesky
     factor, returning what invert does; then B follows from X, which is lost. strip has room for s entries
  */
  int (*root)(size_t s, void *W);
  void (*congruence)(size_t s, double x, void *X, double y, void *B, void *strip);
  /* u = x^2 Y Y^T v (left: Y is s x l) or x^2 Y^T Y v (Y is l x s) */
  void (*normal)(int left, size_t s, size_t l, double x, const void *Y, size_t ldy, const void *v, void *u);
  /*
     vectors: the inner product; y = a x + b y; x = numbers that are the same everywhere, and nobody's
     eigenvector
  */
  double (*dot)(size_t s, const void *x, const void *y);
  void (*axpby)(size_t s, double a, const void *x, double b, void *y);
  void (*draw)(size_t s, void *x);
  /*
     P, an array of s (s + 1) entries, holds a matrix. Afterwards the matrix is what lies above the diagonal
     with columns s + 1 apart, and the half from P + 1 on is free for another, with the same ld
  */
  void (*stow)(size_t s, void *P);
  /* That other becomes the stowed matrix + c I */
  void (*fetch)(size_t s, void *P, double c);
  /*
     x = a times columns first ... last - 1 of the triangle of W, one after the other; and A = x + z I for
     these columns
  */
  void (*pack)(size_t s, size_t first, size_t last, double a, const void *W, size_t ld, void *x);
  void (*unpack)(size_t s, size_t first, size_t last, const void *x, double z, void *A);
} MuonKernelInverse;

extern const MuonKernelInverse MuonKernelInverseSingle, MuonKernelInverseDouble;
size_t                         MuonKernelInverseStrip(size_t s);
double                         MuonKernelInverseFlops(size_t s);

MUON_C_END
