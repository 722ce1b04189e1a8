#include "muonpolarzolotarev.h"
#include "../array/muonclones.h"
#include <math.h>
#include <string.h>

/*
   The polar factor of one small matrix, in vectors along its columns. At such sizes a BLAS spends more time on copies of operands and on the
   choice of a kernel than on products. Columns are padded with zeros to whole vectors, and their number to whole tiles.
*/

enum {
  ROWS = 8, /* of a vector; a tile has one or two of them */
  TILE = 4, /* columns of a tile */
  MOST = 4  /* vectors of a row that are in registers */
};

#define WHOLE(n, block) (((n) + (block)-1) / (block) * (block))

size_t MuonKernelSmallWork(int left, size_t s, size_t l, size_t *ld, size_t *entries)
{
  const size_t p = WHOLE(s, ROWS), n = WHOLE(s, TILE), most = p * WHOLE(l, TILE);

  *ld      = left ? p : WHOLE(l, ROWS);
  *entries = left ? most : *ld * n;
  return *entries + 3 * *ld + (*entries > most ? *entries : most) + 4 * p * n;
}

#if defined(MUON_KERNEL_HAVE_VECTORS)

/* Numbers at any address; their bits */
typedef float   Vector __attribute__((vector_size(4 * ROWS), aligned(4), may_alias));
typedef float   Vectors __attribute__((vector_size(8 * ROWS), aligned(4), may_alias));
typedef int32_t Bits __attribute__((vector_size(4 * ROWS), aligned(4), may_alias));

  #define AT(x)   (*(Vector *)(x))
  #define FROM(x) (*(const Vector *)(x))

  /* TILE columns of a product, one or two vectors of each, with the terms first..last-1 */
  #define COLUMNS(name, Type) \
    MUON_KERNEL_INLINE void name(size_t first, size_t last, const float *A, size_t lda, const float *B, size_t bt, size_t bj, float *C) \
    { \
      Type c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0}; \
\
      for (size_t t = first; t < last; t++) { \
        const Type   a = *(const Type *)(A + t * lda); \
        const float *b = B + t * bt; \
\
        c0 += a * b[0]; \
        c1 += a * b[bj]; \
        c2 += a * b[2 * bj]; \
        c3 += a * b[3 * bj]; \
      } \
      *(Type *)C             = c0; \
      *(Type *)(C + lda)     = c1; \
      *(Type *)(C + 2 * lda) = c2; \
      *(Type *)(C + 3 * lda) = c3; \
    }
COLUMNS(One, Vector)
COLUMNS(Two, Vectors)
  #undef COLUMNS

/* The terms of a tile of a product: all, those up to its last column, or from its first row on. LOWER: only tiles that reach the lower triangle */
enum {
  ALL   = 0,
  UPTO  = 1,
  SINCE = 2,
  LOWER = 4
};

/* C = A B, m x n of k terms, with the leading dimension of A; entry (t, j) of B is at t bt + j bj. m is whole vectors, n whole tiles */
MUON_KERNEL_INLINE void Product(const int terms, size_t m, size_t n, size_t k, const float *A, size_t lda, const float *B, size_t bt, size_t bj, float *C)
{
  for (size_t j = 0; j < n; j += TILE) {
    const size_t last = terms & UPTO && j + TILE < k ? j + TILE : k;

    for (size_t i = terms & LOWER ? j / ROWS * ROWS : 0; i < m; i += 2 * ROWS) {
      const size_t first = terms & SINCE ? i : 0;

      if (i + ROWS < m) Two(first, last, A + i, lda, B + j * bj, bt, bj, C + i + j * lda);
      else One(first, last, A + i, lda, B + j * bj, bt, bj, C + i + j * lda);
    }
  }
}

/* B = A^T for A m x n; in the same memory the lower triangle is copied to the upper one */
MUON_KERNEL_INLINE void Transpose(size_t m, size_t n, const float *A, size_t lda, float *B, size_t ldb)
{
  for (size_t j = 0; j < n; j += TILE) {
    for (size_t i = A == B ? j + TILE : 0; i < m; i += TILE) {
      float tile[TILE][TILE];

      for (size_t r = 0; r < TILE; r++) {
        for (size_t c = 0; c < TILE; c++) tile[r][c] = A[i + r + (j + c) * lda];
      }
      for (size_t r = 0; r < TILE; r++) memcpy(B + j + (i + r) * ldb, tile[r], sizeof(tile[r]));
    }
  }
}

/* to = from - the sum of R(j, i) times row j of M over j = first..i-1, n vectors of it. Without from it is zero */
MUON_KERNEL_INLINE void Eliminate(const int n, size_t first, size_t i, size_t p, const float *from, const float *R, const float *M, float *to)
{
  const Vector zero = {0};
  Vector       c[MOST];

  for (int q = 0; q < n; q++) c[q] = from != NULL ? FROM(from + q * ROWS) : zero;
  for (size_t j = first; j < i; j++) {
    const float by = R[i + j * p];

    for (int q = 0; q < n; q++) c[q] -= by * FROM(M + q * ROWS + j * p);
  }
  for (int q = 0; q < n; q++) AT(to + q * ROWS) = c[q];
}

/* The vectors k..end-1 of row i; terms begin with row k where there is no from */
MUON_KERNEL_INLINE void EliminateRow(size_t k, size_t end, size_t i, size_t p, const float *from, const float *R, const float *M, float *to)
{
  for (size_t n; k < end; k += n * ROWS) {
    const float *some  = from != NULL ? from + k : NULL;
    const size_t first = from != NULL ? 0 : k;

    n = (end - k) / ROWS < MOST ? (end - k) / ROWS : MOST;
    if (n == 4) Eliminate(4, first, i, p, some, R, M + k, to + k);
    else if (n == 3) Eliminate(3, first, i, p, some, R, M + k, to + k);
    else if (n == 2) Eliminate(2, first, i, p, some, R, M + k, to + k);
    else Eliminate(1, first, i, p, some, R, M + k, to + k);
  }
}

/*
   X = the inverse of the Cholesky factor of A, entry (i, j) at j + i p and zeros behind the diagonal, by an elimination in [A I], row by
   row. R becomes the transposed factor. Of A the lower triangle is read. What follows a negative pivot is NaN
*/
MUON_KERNEL_INLINE void Inverse(size_t s, size_t p, const float *A, float *R, float *X)
{
  const Vector zero = {0};

  for (size_t i = 0; i < s; i++) {
    const size_t own = i / ROWS * ROWS;
    float       *row = X + i * p, pivot;

    EliminateRow(own, p, i, p, A + i * p, R, R, R + i * p);
    pivot = 1 / sqrtf(R[i + i * p]);
    for (size_t k = own; k < p; k += ROWS) AT(R + k + i * p) *= pivot;
    EliminateRow(0, own + ROWS, i, p, NULL, R, X, row);
    for (size_t k = 0; k <= own; k += ROWS) AT(row + k) *= pivot;
    for (size_t k = own + ROWS; k < p; k += ROWS) AT(row + k) = zero;
    row[i] = pivot;
  }
  memset(X + s * p, 0, (WHOLE(s, TILE) - s) * p * sizeof(*X));
}

MUON_KERNEL_INLINE float Sum(const Vector x)
{
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/* A bound of the largest eigenvalue of A: its largest row sum, or its Frobenius norm where that is smaller. sums is scratch */
MUON_KERNEL_INLINE float Bound(size_t s, size_t p, const float *A, float *sums)
{
  Vector squares = {0};
  float  most    = 0, norm;

  memset(sums, 0, p * sizeof(*sums));
  for (size_t e = 0; e < s * p; e += ROWS) {
    AT(sums + e % p) += (Vector)((Bits)FROM(A + e) & INT32_MAX);
    squares += FROM(A + e) * FROM(A + e);
  }
  for (size_t i = 0; i < s; i++) most = sums[i] > most ? sums[i] : most;
  norm = sqrtf(Sum(squares));
  return norm < most ? norm : most;
}

/* MuonPolarRationalNested() with one pole: B, behind the Gram matrix P, becomes what the matrix is to be multiplied by. R is scratch */
MUON_KERNEL_INLINE void Evaluate(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t p, float *P, float *R)
{
  const size_t n = WHOLE(s, TILE);
  float       *B = P + p * n, *T = B + p * n, *X = T + p * n;
  const double a = first->a[0], c = first->c[0], square = first->scale * first->scale;
  const float  nu2 = Bound(s, p, P, R), shift = (float)(2 * a * square + second->c[0]);
  const float  scale  = (float)(first->scale * second->scale * a) * sqrtf(nu2);
  const float  linear = (float)(square * (a * a - 2 * a * c)) * nu2, quadratic = (float)(square * a * a * c) * nu2 * nu2, same = (float)square / nu2;

  memcpy(T, P, n * p * sizeof(*T));
  for (size_t i = 0; i < s; i++) T[i * (p + 1)] += (float)c * nu2;
  Inverse(s, p, T, R, X);
  Product(LOWER | SINCE, p, n, s, X, p, X, p, 1, B);
  Transpose(n, n, B, p, B, p);
  Product(LOWER, p, n, s, B, p, B, p, 1, T);
  for (size_t j = 0; j < n; j++) {
    for (size_t e = j * p + j / ROWS * ROWS; e < (j + 1) * p; e += ROWS) AT(P + e) = linear * AT(B + e) + same * AT(P + e) - quadratic * AT(T + e);
  }
  for (size_t i = 0; i < s; i++) {
    P[i * (p + 1)] += shift;
    B[i * (p + 1)] += 1.0f / ((float)a * nu2);
  }
  Inverse(s, p, P, R, X);
  /* The factor is scale (B + second a X^T (X B)) times the matrix */
  Product(UPTO, p, n, s, B, p, X, 1, p, T);
  Product(LOWER | SINCE, p, n, s, X, p, T, p, 1, P);
  for (size_t j = 0; j < n; j++) {
    for (size_t e = j * p + j / ROWS * ROWS; e < (j + 1) * p; e += ROWS) AT(B + e) = scale * (AT(B + e) + (float)second->a[0] * AT(P + e));
  }
  Transpose(n, n, B, p, B, p);
}

/* y = Q Q^T x for m x n Q, whole vectors and tiles, which are read once */
MUON_KERNEL_INLINE void Normal(size_t m, size_t n, const float *Q, const float *x, float *y)
{
  memset(y, 0, m * sizeof(*y));
  for (const float *q = Q; q < Q + n * m; q += TILE * m) {
    Vector c[TILE] = {{0}, {0}, {0}, {0}};
    float  by[TILE];

    for (size_t i = 0; i < m; i += ROWS) {
      for (size_t k = 0; k < TILE; k++) c[k] += FROM(q + i + k * m) * FROM(x + i);
    }
    for (size_t k = 0; k < TILE; k++) by[k] = Sum(c[k]);
    for (size_t i = 0; i < m; i += ROWS) {
      for (size_t k = 0; k < TILE; k++) AT(y + i) += by[k] * FROM(q + i + k * m);
    }
  }
}

/* The sum of the products of two vectors */
MUON_KERNEL_INLINE float Dot(size_t m, const float *x, const float *y)
{
  Vector sum = {0};

  for (size_t i = 0; i < m; i += ROWS) sum += FROM(x + i) * FROM(y + i);
  return Sum(sum);
}

/* Steps on Q Q^T; v has three vectors, the first one of norm 1 */
MUON_KERNEL_INLINE void Lanczos(size_t m, size_t n, const float *Q, float *v, int steps, double *alpha, double *beta)
{
  float *old = v + m, *u = old + m, a, b = 0;

  memset(old, 0, m * sizeof(*old));
  for (int step = 0; step < steps; step++) {
    float *swap = old;

    Normal(m, n, Q, v, u);
    a = Dot(m, u, v);
    for (size_t i = 0; i < m; i += ROWS) AT(u + i) -= a * FROM(v + i) + b * FROM(old + i);
    b = sqrtf(Dot(m, u, u));
    for (size_t i = 0; i < m; i += ROWS) AT(u + i) *= 1 / b;
    alpha[step] = (double)a;
    beta[step]  = (double)b;
    old         = v;
    v           = u;
    u           = swap;
  }
}

MUON_KERNEL_CLONES void MuonKernelZolotarevSmall(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, int left, size_t s, size_t l, float *work, int steps, double *alpha, double *beta)
{
  const size_t p = WHOLE(s, ROWS), n = WHOLE(s, TILE), length = WHOLE(l, TILE);
  size_t       ld, entries;
  float       *P = work + MuonKernelSmallWork(left, s, l, &ld, &entries) - 4 * p * n, *v = work + entries, *Q = v + 3 * ld;

  if (left) Product(LOWER, p, n, l, work, p, work, p, 1, P);
  else {
    if (n < p) memset(Q, 0, p * length * sizeof(*Q));
    Transpose(length, n, work, ld, Q, p);
    Product(LOWER, p, n, l, Q, p, Q, p, 1, P);
  }
  Transpose(n, n, P, p, P, p);
  Evaluate(first, second, s, p, P, Q);
  if (left) Product(ALL, p, length, s, P + p * n, p, work, 1, p, Q);
  else Product(ALL, ld, n, s, work, ld, P + p * n, 1, p, Q);
  Lanczos(ld, left ? length : n, Q, v, steps, alpha, beta);
}

#else
void MuonKernelZolotarevSmall(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, int left, size_t s, size_t l, float *work, int steps, double *alpha, double *beta) {}
#endif
