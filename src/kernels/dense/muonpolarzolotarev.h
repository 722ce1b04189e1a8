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

double MuonKernelInverseFlops(size_t s);

MUON_C_END
