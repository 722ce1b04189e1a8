/*
   Arithmetic of the polar factors in a precision of their own, whatever the scalar of the matrices is: arrays
   without padding between columns unless a leading dimension is named, on BLAS and LAPACK. Symmetric matrices
   are s x s with leading dimension s and are given and left as their lower triangle; what lies above is not
   read and not kept. A panel Y is s x l (left) or l x s: what multiplies the short side from the left where
   it is s x l multiplies it transposed, and from the right, where it is l x s.

   Raw pointers, no PETSc, no MPI. There is one table of operations for each precision and memory, so that a
   method is written once: what a list names, a table has as a member, the host as functions MuonDense...,
   and a device as functions of the same names.

   load         Y = G / (norm 2^exponent), the entries of G being of the precision that is given
   store        Q = scale Y, likewise
   gram         A = a Y Y^T + b A (left) or a Y^T Y + b A
   multiply     Z = a B Y + b Z (left) or a Y B + b Z; B is symmetric, and held what hold() made of it or NULL; b == 0 overwrites
   mirror       A becomes whole: the upper triangle from the lower one
   product      C = a A B + b C, where A and B are symmetric, whole and commute, so that C is symmetric; b == 0 overwrites
   hold         what multiply() makes of B, for several calls: it is there until the next hold(), product(), or multiply() without it. NULL where that is nothing
   rowsums      sums[i] = sum_j |a_ij| of a symmetric matrix; sums is on the host
   scale        Y = diag(d) Y (left) or Y diag(d); d is on the host
   shift        A = A + shift I
   identity     A = a I, all of it
   cholesky     L L^T = A in place of the lower triangle; 0, or not where A is not positive definite: then A is lost
   invert       the lower triangle of A^-1 from that of its Cholesky factor; 0 where it went well
   solve        Y = L^-1 Y, or L^-T Y where transposed
   times        Y = L Y, or L^T Y
   distance     ||A / scale - I||_F of a symmetric A
   trace        of A
   decompose    A = U S V^T for an m x n matrix with m >= n, A being lost: U (m x n), S decreasing, V (n x n); 0, or what LAPACK's info says

   On the host alone, NULL elsewhere; ld is the distance of columns:

   inversenorm  an estimate, from below, of the largest column sum of the inverse of a positive definite A, or 0 where rounding makes A indefinite. A is whole; the upper triangle is lost. work has
                MuonDenseInverseNormBytes() bytes
   bound        an upper bound of the largest eigenvalue, the least of the largest row sum and of the Frobenius norm; rows is scratch of s numbers
   combine      B = x A + y B + z I; y == 0 overwrites
   inverse      W becomes its inverse; 0, or 1 where it is not positive definite: then W is lost
   shifted      B = (I + x A) (I + y B): x and y are not 0, A and B commute, B is whole; A is lost, and what the result has above the diagonal too. strip has room for s MuonKernelInverseStrip(s) entries
   root         W becomes the inverse of its Cholesky factor; 0, or 1 as inverse()
   congruence   B = (I + x A^{-1}) (I + y B) with the X that root() made of A, which is lost; strip has room for s entries
   normal       u = x^2 Y Y^T v (left) or x^2 Y^T Y v
   dot          inner product of vectors
   axpby        y = a x + b y
   draw         x = numbers that are the same everywhere, and nobody's eigenvector
   stow         P, an array of s (s + 1) entries, holds a matrix. Afterwards the matrix is what lies above the diagonal with columns s + 1 apart, and the half from P + 1 on is free for another, with the same ld
   fetch        that other becomes the stowed matrix + c I
   pack         x = a times columns first ... last - 1 of the triangle of W, one after the other
   unpack       A = x + z I for these columns

   In the memory of a device alone:

   polynomials  steps of Y <- c1 Y + (c2 A + c3 A A) Y, A being the Gram matrix of Y, for count panels of one shape, one behind the other without gaps, in as many calls as for one; c holds three numbers
                for each step. Z is as large as all panels. After a step of which last is 0 the next Gram
                matrix comes from this one, as MUONPOLARGRAM has it; last NULL: all are formed anew. A has
                4 s x s entries for each panel, 2 where last is NULL. Returns Y or Z, in which the result is
*/
#pragma once

#include "../codec/muonkernels.h"
#include <petscmuon/private/muonarray.h>

MUON_C_BEGIN

/* clang-format off */
#define MUON_DENSE(OPERATION) \
  OPERATION(void, load, Load, (size_t m, size_t n, MuonPrecision precision, const void *G, size_t ldg, double norm, int exponent, void *Y, size_t ldy)) \
  OPERATION(void, store, Store, (size_t m, size_t n, double scale, const void *Y, size_t ldy, MuonPrecision precision, void *Q, size_t ldq)) \
  OPERATION(void, gram, Gram, (int left, size_t s, size_t l, double a, const void *Y, size_t ldy, double b, void *A)) \
  OPERATION(void, multiply, Multiply, (int left, size_t s, size_t l, double a, const void *B, const void *held, const void *Y, size_t ldy, double b, void *Z, size_t ldz)) \
  OPERATION(void, mirror, Mirror, (size_t s, void *A)) \
  OPERATION(void, product, Product, (size_t s, double a, const void *A, const void *B, double b, void *C)) \
  OPERATION(const void *, hold, Hold, (size_t s, const void *B)) \
  OPERATION(void, rowsums, RowSums, (size_t s, const void *A, double *sums)) \
  OPERATION(void, scale, Scale, (int left, size_t s, size_t l, const double *d, void *Y, size_t ldy)) \
  OPERATION(void, shift, Shift, (size_t s, double shift, void *A)) \
  OPERATION(void, identity, Identity, (size_t s, double a, void *A)) \
  OPERATION(int, cholesky, Cholesky, (size_t s, void *A)) \
  OPERATION(int, invert, Invert, (size_t s, void *L)) \
  OPERATION(void, solve, Solve, (int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)) \
  OPERATION(void, times, Times, (int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)) \
  OPERATION(double, distance, Distance, (size_t s, const void *A, double scale)) \
  OPERATION(double, trace, Trace, (size_t s, const void *A)) \
  OPERATION(int, decompose, Decompose, (size_t m, size_t n, void *A, void *S, void *U, void *V))

#define MUON_DENSE_HOST(OPERATION) \
  OPERATION(double, inversenorm, InverseNorm, (size_t s, void *A, void *work)) \
  OPERATION(double, bound, Bound, (size_t s, const void *A, size_t ld, double *rows)) \
  OPERATION(void, combine, Combine, (size_t s, double x, const void *A, size_t lda, double y, void *B, size_t ldb, double z)) \
  OPERATION(int, inverse, Inverse, (size_t s, void *W, size_t ld)) \
  OPERATION(void, shifted, Shifted, (size_t s, double x, void *A, double y, void *B, void *strip)) \
  OPERATION(int, root, Root, (size_t s, void *W)) \
  OPERATION(void, congruence, Congruence, (size_t s, double x, void *X, double y, void *B, void *strip)) \
  OPERATION(void, normal, Normal, (int left, size_t s, size_t l, double x, const void *Y, size_t ldy, const void *v, void *u)) \
  OPERATION(double, dot, Dot, (size_t s, const void *x, const void *y)) \
  OPERATION(void, axpby, Axpby, (size_t s, double a, const void *x, double b, void *y)) \
  OPERATION(void, draw, Draw, (size_t s, void *x)) \
  OPERATION(void, stow, Stow, (size_t s, void *P)) \
  OPERATION(void, fetch, Fetch, (size_t s, void *P, double c)) \
  OPERATION(void, pack, Pack, (size_t s, size_t first, size_t last, double a, const void *W, size_t ld, void *x)) \
  OPERATION(void, unpack, Unpack, (size_t s, size_t first, size_t last, const void *x, double z, void *A))

#define MUON_DENSE_DEVICE(OPERATION) \
  OPERATION(void *, polynomials, Polynomials, (int left, size_t s, size_t l, size_t count, int steps, const double c[], const unsigned char last[], void *Y, void *Z, void *A))
/* clang-format on */

#define MUON_DENSE_MEMBER(type, member, name, arguments) type(*member) arguments;
typedef struct {
  const char        *name;   /* as an option says it: single, double, bf16, tf32 */
  size_t             size;   /* bytes of an entry of an array: 4 for bf16 too, whose products alone are rounded */
  double             unit;   /* roundoff of a product: 2^-24, 2^-53, 2^-8 */
  MuonMemory         memory; /* where all matrices are */
  const MuonKernels *arrays; /* the kernels for arrays of its entries */
  MUON_DENSE(MUON_DENSE_MEMBER)
  MUON_DENSE_HOST(MUON_DENSE_MEMBER)
  MUON_DENSE_DEVICE(MUON_DENSE_MEMBER)
} MuonKernelReal;
#undef MUON_DENSE_MEMBER

#define MUON_DENSE_DECLARE(type, member, name, arguments) \
  type MuonDense##name##Single arguments; \
  type MuonDense##name##Double arguments;
MUON_DENSE(MUON_DENSE_DECLARE)
MUON_DENSE_HOST(MUON_DENSE_DECLARE)
#undef MUON_DENSE_DECLARE

size_t MuonDenseInverseNormBytes(size_t s);

extern const MuonKernelReal MuonKernelRealSingle, MuonKernelRealDouble;
/* NULL where the library was built without oneDNN */
extern const MuonKernelReal *const MuonKernelRealBF16;

/*
   That of the name for the memory of the device; NULL where the library was built without Kokkos, or the
   device has no such arithmetic
*/
const MuonKernelReal *MuonKernelRealOfDevice(const char *name);

MUON_C_END
