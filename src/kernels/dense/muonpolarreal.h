/*
   Arithmetic of the polar factors in a precision of their own, whatever the scalar of the matrices is: arrays
   without padding between columns unless a leading dimension is named, on BLAS and LAPACK. Symmetric matrices
   are s x s with leading dimension s and are given and left as their lower triangle; what lies above is not
   read and not kept.

   Raw pointers, no PETSc, no MPI. One table of operations for each precision, so that a method is written
   once.
*/
#pragma once

#include "../codec/muonkernels.h"
#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/*
   Factorizations of a device, for muonpolarsolve.h and the exact factor, in single and double: as the
   functions of those names there. Matrices are without gaps, pointers are to the memory of the device.

   decompose   A = U S V^T for an m x n matrix with m >= n, A being lost: U (m x n), S decreasing, V (n x n); 0, or what LAPACK's info says
   invert      A^-1 from its Cholesky factor, lower triangles both; 0 where it went well
*/
typedef struct {
  int (*decompose)(size_t m, size_t n, void *A, void *S, void *U, void *V);
  int (*cholesky)(size_t s, void *A);
  int (*invert)(size_t s, void *L);
  void (*solve)(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy);
  void (*times)(int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy);
  double (*distance)(size_t s, const void *A, double scale);
  double (*trace)(size_t s, const void *A);
} MuonKernelFactors;

typedef struct {
  const char *name; /* as an option says it: single, double, bf16, tf32 */
  size_t      size; /* bytes of an entry of an array: 4 for bf16 too, whose products alone are rounded */
  double      unit; /* roundoff of a product: 2^-24, 2^-53, 2^-8 */
  /* Y = G / (norm 2^exponent); Q = scale Y; G and Q have entries of the precision that is given */
  void (*load)(size_t m, size_t n, MuonPrecision precision, const void *G, size_t ldg, double norm, int exponent, void *Y, size_t ldy);
  void (*store)(size_t m, size_t n, double scale, const void *Y, size_t ldy, MuonPrecision precision, void *Q, size_t ldq);
  /* A = a Y Y^T + b A (left: Y is s x l) or a Y^T Y + b A (Y is l x s) */
  void (*gram)(int left, size_t s, size_t l, double a, const void *Y, size_t ldy, double b, void *A);
  /*
     Z = a B Y + b Z (left: Y is s x l) or a Y B + b Z (Y is l x s); B is symmetric, and held what hold() made
     of it or NULL; b == 0 overwrites
  */
  void (*multiply)(int left, size_t s, size_t l, double a, const void *B, const void *held, const void *Y, size_t ldy, double b, void *Z, size_t ldz);
  /* A becomes whole: the upper triangle from the lower one */
  void (*mirror)(size_t s, void *A);
  /*
     C = a A B + b C, where A and B are symmetric, whole and commute, so that C is symmetric too; b == 0
     overwrites
  */
  void (*product)(size_t s, double a, const void *A, const void *B, double b, void *C);
  /*
     What multiply() makes of B, for several calls: it is there until the next hold(), product(), or
     multiply() without it. NULL where that is nothing
  */
  const void *(*hold)(size_t s, const void *B);
  MuonMemory memory; /* where all matrices are */
  /* What MuonKernelRealRowSums(), Scale() and Shift() do in the memory of a device; NULL on the host */
  void (*rowsums)(size_t s, const void *A, double *sums);
  void (*scale)(int left, size_t s, size_t l, const double *d, void *Y, size_t ldy);
  void (*shift)(size_t s, double shift, void *A);
  /*
     Steps of Y <- c1 Y + (c2 A + c3 A A) Y, A being the Gram matrix of Y, for count panels of one shape, one
     behind the other without gaps, in as many calls as for one; c holds three numbers for each step. Z is as
     large as all panels. After a step of which last is 0 the next Gram matrix comes from this one, as
     MUONPOLARGRAM has it; last NULL: all are formed anew. A has 4 s x s entries for each panel, 2 where last
     is NULL. Returns Y or Z, in which the result is. NULL on the host
  */
  void *(*polynomials)(int left, size_t s, size_t l, size_t count, int steps, const double c[], const unsigned char last[], void *Y, void *Z, void *A);
  const MuonKernelFactors *factors; /* NULL on the host, and for a precision of which a device has none */
} MuonKernelReal;

extern const MuonKernelReal MuonKernelRealSingle, MuonKernelRealDouble;
/* NULL where the library was built without oneDNN */
extern const MuonKernelReal *const MuonKernelRealBF16;

/*
   That of the name for the memory of the device; NULL where the library was built without Kokkos, or the
   device has no such arithmetic
*/
const MuonKernelReal *MuonKernelRealOfDevice(const char *name);

/* The kernels for arrays of its entries */
static inline const MuonKernels *MuonKernelRealArrays(const MuonKernelReal *real)
{
  return MuonKernelsGet(real->size == sizeof(float) ? MUON_SINGLE : MUON_DOUBLE, real->memory);
}

/*
   What the arrays of a precision need beside products: sums[i] = sum_j |a_ij| of a symmetric matrix, and
   diag(d) on the short side of Y (left: s x l) or Y of l x s; sums and d are on the host
*/
void MuonKernelRealRowSums(const MuonKernelReal *real, size_t s, const void *A, double *sums);
void MuonKernelRealScale(const MuonKernelReal *real, int left, size_t s, size_t l, const double *d, void *Y, size_t ldy);
/* A + shift I */
void MuonKernelRealShift(const MuonKernelReal *real, size_t s, double shift, void *A);

MUON_C_END
