/*
   Arithmetic of the polar factors in a precision of their own, whatever the scalar of the matrices is: arrays
   without padding between columns unless a leading dimension is named, on BLAS and LAPACK. Symmetric matrices
   are s x s with leading dimension s and are given and left as their lower triangle; what lies above is not
   read and not kept. A panel Y is s x l (left) or l x s: what multiplies the short side from the left where
   it is s x l multiplies it transposed, and from the right, where it is l x s.

   A complex matrix has pairs of reals as its entries: symmetric is Hermitian then, a transpose the conjugate
   one, factors and what a matrix is shifted or scaled by stay real. Load and store count reals, all else numbers.

   Raw pointers, no PETSc, no MPI. There is one table of operations for each precision and memory, so that a
   method is written once: what a list names, a table has as a member, the host as functions MuonDense...,
   and a device as functions of the same names.

   The operations that have a count work on so many matrices of one shape, one behind the other without gaps,
   in as many calls as for one. On the host count is 1.

   load         Y = G / (norm 2^exponent), the entries of G being of the precision that is given
   store        Q = scale Y, likewise
   gram         A = a Y Y^T + b A (left) or a Y^T Y + b A
   multiply     Z = a B Y + b Z (left) or a Y B + b Z; B is symmetric, and held what hold() made of it or NULL, where it may become whole; b == 0 overwrites
   mirror       A becomes whole: the upper triangle from the lower one
   product      C = a A B + b C, where A and B are symmetric, whole and commute, so that C is symmetric; b == 0 overwrites
   hold         what multiply() makes of B, for several calls: it is there until the next hold(), product(), or multiply() without it. NULL where that is nothing
   shift        A = A + shift I
   rowsums      sums[i] = sum_j |a_ij| of a symmetric matrix; sums is on the host
   bound        an upper bound of the largest eigenvalue, the least of the largest row sum and of the Frobenius norm; rows is scratch of s numbers on the host
   scale        Y = diag(d) Y (left) or Y diag(d); d is on the host
   identity     A = a I, all of it
   combine      B = x A + y B + z I; y == 0 overwrites; A may be B
   cholesky     L L^T = A in place of the lower triangle; 0, or not where A is not positive definite: then A is lost
   inverse      A becomes its inverse; 0, or not where A is not positive definite: then A is lost
   solve        Y = L^-1 Y, or L^-T Y where transposed
   times        Y = L Y, or L^T Y
   distance     ||A / scale - I||_F of a symmetric A
   trace        of A
   normal       u = x^2 Y Y^T v (left) or x^2 Y^T Y v
   decompose    A = U S V^T for an m x n matrix with m >= n, A being lost: U (m x n), S decreasing, V (n x n); 0, or what LAPACK's info says

   On the host and of real matrices alone, NULL elsewhere:

   root         W becomes the inverse of its Cholesky factor; 0, or 1 where it is not positive definite: then W is lost
   congruence   B = (I + x A^{-1}) (I + y B), whole as B was, with the X that root() made of A, which is lost; strip has room for s entries
   eigen        A becomes its eigenvectors, those of the largest eigenvalues first; 0, or not where LAPACK failed: then A is lost
*/
#pragma once

#include "../codec/muonkernels.h"
#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/* clang-format off */
#define MUON_DENSE(OPERATION) \
  OPERATION(void, load, Load, (size_t m, size_t n, MuonPrecision precision, const void *G, size_t ldg, double norm, int exponent, void *Y, size_t ldy)) \
  OPERATION(void, store, Store, (size_t m, size_t n, double scale, const void *Y, size_t ldy, MuonPrecision precision, void *Q, size_t ldq)) \
  OPERATION(void, gram, Gram, (int left, size_t s, size_t l, size_t count, double a, const void *Y, size_t ldy, double b, void *A)) \
  OPERATION(void, multiply, Multiply, (int left, size_t s, size_t l, size_t count, double a, const void *B, const void *held, const void *Y, size_t ldy, double b, void *Z, size_t ldz)) \
  OPERATION(void, mirror, Mirror, (size_t s, size_t count, void *A)) \
  OPERATION(void, product, Product, (size_t s, size_t count, double a, const void *A, const void *B, double b, void *C)) \
  OPERATION(const void *, hold, Hold, (size_t s, size_t count, const void *B)) \
  OPERATION(void, rowsums, RowSums, (size_t s, const void *A, double *sums)) \
  OPERATION(void, scale, Scale, (int left, size_t s, size_t l, const double *d, void *Y, size_t ldy)) \
  OPERATION(void, shift, Shift, (size_t s, size_t count, double shift, void *A)) \
  OPERATION(void, identity, Identity, (size_t s, double a, void *A)) \
  OPERATION(int, cholesky, Cholesky, (size_t s, void *A)) \
  OPERATION(int, inverse, Inverse, (size_t s, void *A)) \
  OPERATION(void, solve, Solve, (int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)) \
  OPERATION(void, times, Times, (int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)) \
  OPERATION(double, distance, Distance, (size_t s, const void *A, double scale)) \
  OPERATION(double, trace, Trace, (size_t s, const void *A)) \
  OPERATION(double, bound, Bound, (size_t s, void *A, double *rows)) \
  OPERATION(void, combine, Combine, (size_t s, double x, const void *A, double y, void *B, double z)) \
  OPERATION(void, normal, Normal, (int left, size_t s, size_t l, double x, const void *Y, size_t ldy, const void *v, void *u)) \
  OPERATION(int, decompose, Decompose, (size_t m, size_t n, void *A, void *S, void *U, void *V))

#define MUON_DENSE_HOST(OPERATION) \
  OPERATION(int, root, Root, (size_t s, void *W)) \
  OPERATION(void, congruence, Congruence, (size_t s, double x, void *X, double y, void *B, void *strip)) \
  OPERATION(int, eigen, Eigen, (size_t s, void *A))
/* clang-format on */

#define MUON_DENSE_MEMBER(type, member, name, arguments) type(*member) arguments;
typedef struct {
  const char        *name;   /* as an option says it: single, double, bf16, tf32 */
  size_t             size;   /* bytes of an entry of a matrix: 4 for bf16 too, whose products alone are rounded */
  double             unit;   /* roundoff of a product: 2^-24, 2^-53, 2^-8 */
  MuonMemory         memory; /* where all matrices are */
  const MuonKernels *arrays; /* the kernels for arrays of its reals */
  size_t             parts;  /* reals of an entry: 1, or 2 of complex matrices */
  MUON_DENSE(MUON_DENSE_MEMBER)
  MUON_DENSE_HOST(MUON_DENSE_MEMBER)
} MuonKernelReal;
#undef MUON_DENSE_MEMBER

#define MUON_DENSE_DECLARE(type, member, name, arguments) \
  type MuonDense##name##Single arguments; \
  type MuonDense##name##Double arguments;
MUON_DENSE(MUON_DENSE_DECLARE)
MUON_DENSE_HOST(MUON_DENSE_DECLARE)
#undef MUON_DENSE_DECLARE

/* Load and store are those of reals */
#define MuonDenseLoadPairSingle  MuonDenseLoadSingle
#define MuonDenseLoadPairDouble  MuonDenseLoadDouble
#define MuonDenseStorePairSingle MuonDenseStoreSingle
#define MuonDenseStorePairDouble MuonDenseStoreDouble
#define MUON_DENSE_DECLARE(type, member, name, arguments) \
  type MuonDense##name##PairSingle arguments; \
  type MuonDense##name##PairDouble arguments;
MUON_DENSE(MUON_DENSE_DECLARE)
#undef MUON_DENSE_DECLARE

extern const MuonKernelReal MuonKernelRealSingle, MuonKernelRealDouble;
/* Of complex matrices in either precision */
extern const MuonKernelReal MuonKernelRealPairs[2];
/*
   Products of bfloat16 matrices by oneDNN; NULL where the library was built without it, or it multiplies none
   on this processor. What they keep between calls is there once in a process, two threads may not use it at
   once, and the second function frees it; the next product starts anew
*/
const MuonKernelReal *MuonKernelRealOfBF16(void);
void                  MuonKernelBF16Free(void);

/*
   That of the name for the memory of the device; NULL where the library was built without Kokkos, or the
   device has no such arithmetic
*/
const MuonKernelReal *MuonKernelRealOfDevice(const char *name);

MUON_C_END
