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

#if defined(__GNUC__) && !defined(__INTEL_COMPILER) && !defined(__NVCOMPILER)
  #define MUON_KERNEL_HAVE_VECTORS
#endif

/*
   Polar factors of small matrices in single precision, by a function of one pole of one with one, where MUON_KERNEL_HAVE_VECTORS: s x l
   where left, else l x s, with s <= l. Their Frobenius norms must be 1. Steps of Lanczos from a vector of norm 1 describe the norms of the
   factors; NaN where a factorization failed. Work() gives the floats of the scratch memory.

   Small: a real matrix, in vectors along its columns. Work() also gives a leading dimension and a number of entries. There lie the matrix,
   then the vector that Lanczos starts from, as long as a column, all padded with zeros. The factor will lie behind three such vectors.

   Lanes: n complex ones at once, one in each lane of a vector. Move() puts them, one behind the other and each without padding, into the
   scratch memory, or gets the factors from there, and has memory for as many as there are lanes.
*/
size_t MuonKernelSmallWork(int left, size_t s, size_t l, size_t *ld, size_t *entries);
void   MuonKernelZolotarevSmall(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, int left, size_t s, size_t l, float *work, int steps, double *alpha, double *beta);

enum {
  MUON_KERNEL_LANES   = 8,
  MUON_KERNEL_LANCZOS = 8
};

typedef struct {
  float alpha[MUON_KERNEL_LANCZOS][MUON_KERNEL_LANES], beta[MUON_KERNEL_LANCZOS][MUON_KERNEL_LANES];
} MuonKernelLanczos;

size_t MuonKernelLanesWork(size_t s, size_t l);
void   MuonKernelLanesMove(int in, size_t n, int left, size_t s, size_t l, float *matrices, float *work);
void   MuonKernelZolotarevLanes(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const float *start, float *work, MuonKernelLanczos *);

MUON_C_END
