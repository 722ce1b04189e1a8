/*
   Arithmetic of the polar factors, in a precision that can differ from that of the matrices, by BLAS and LAPACK. Arrays have
   no padding between columns unless a leading dimension is an argument. Symmetric matrices are s x s with leading dimension
   s. Their lower triangle is read and written. Entries above it are not read and not preserved. A panel Y is s x l (left) or
   l x s: a matrix that multiplies an s x l panel from the left multiplies an l x s panel from the right, transposed.

   A complex matrix has pairs of reals as its entries. Then symmetric means Hermitian, and the transpose is the conjugate
   transpose. Factors, shifts and scales stay real. Load and store count reals, all other operations complex numbers.

   Raw pointers, no PETSc, no MPI. There is one table of operations for each precision and memory, so that a method is written
   once. Each name of a list is a member of the table, a function MuonDense... of the host, and a function of that name of a
   device.

   Operations with a count work on that many matrices of one shape, one behind the other without gaps, with as many calls as
   for one matrix. On the host count is 1.

   load         Y = G / (norm 2^exponent), with the entries of G in the given precision
   store        Q = scale Y, with the entries of Q in the given precision
   gram         A = a Y Y^T + b A (left) or a Y^T Y + b A
   multiply     Z = a B Y + b Z (left) or a Y B + b Z; B is symmetric; held is the result of hold() for it, or NULL, and then B may become whole; b == 0 overwrites
   mirror       copies the lower triangle of A to the upper one, so that A is whole
   product      C = a A B + b C, where A and B are symmetric, whole and commute, so that C is symmetric; b == 0 overwrites
   hold         prepares B for several calls of multiply(). The result is valid until the next hold(), product(), or multiply() without it. NULL if nothing is prepared
   shift        A = A + shift I
   rowsums      sums[i] = sum_j |a_ij| of a symmetric matrix; sums is on the host
   bound        an upper bound of the largest eigenvalue: the smaller one of the largest row sum and the Frobenius norm; rows is scratch of s numbers on the host
   scale        Y = diag(d) Y (left) or Y diag(d); d is on the host
   identity     A = a I, all of it
   combine      B = x A + y B + z I; y == 0 overwrites; A may be B
   cholesky     L L^T = A in the memory of the lower triangle; not 0 if A is not positive definite: then A is lost
   inverse      A becomes its inverse; not 0 if A is not positive definite: then A is lost
   solve        Y = L^-1 Y, or L^-T Y if transposed
   times        Y = L Y, or L^T Y
   distance     ||A / scale - I||_F of a symmetric A
   trace        the trace of A
   normal       u = x^2 Y Y^T v (left) or x^2 Y^T Y v
   decompose    A = U S V^T for an m x n matrix with m >= n: U (m x n), S decreasing, V (n x n). A is lost. Returns LAPACK's info

   Only on the host and for real matrices, otherwise NULL:

   root         W becomes the inverse of its Cholesky factor; 1 if it is not positive definite: then W is lost
   congruence   B = (I + x A^{-1}) (I + y B), with whole B, and with the result X of root() for A. X is lost; strip has room for s entries
   eigen        A becomes its eigenvectors, those of the largest eigenvalues first; not 0 if LAPACK failed: then A is lost
*/
#pragma once

#include "../codec/muonkernels.h"

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
  const char        *name;   /* the value of an option: single, double, bf16, tf32 */
  size_t             size;   /* bytes of an entry of a matrix; 4 for bf16, too, because only products are rounded */
  double             unit;   /* roundoff of a product: 2^-24, 2^-53, 2^-8 */
  MuonMemory         memory; /* the memory of all matrices */
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

/* load and store are the functions for reals */
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
/* For complex matrices, in both precisions */
extern const MuonKernelReal MuonKernelRealPairs[2];
/*
   Products of bfloat16 matrices by oneDNN. NULL if the library was built without oneDNN, or if it has no such products on this
   processor. A process has one set of buffers, which stays between calls: two threads must not use it at the same time. The
   second function frees it, and the next product allocates it again
*/
const MuonKernelReal *MuonKernelRealOfBF16(void);
void                  MuonKernelBF16Free(void);

/*
   The arithmetic of that name for the memory of the device. NULL if the library was built without Kokkos, or if the device
   has no such arithmetic
*/
const MuonKernelReal *MuonKernelRealOfDevice(const char *name);

MUON_C_END
