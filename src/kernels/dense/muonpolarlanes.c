#include "muonpolarzolotarev.h"
#include "../array/muonclones.h"
#include <math.h>
#include <string.h>

/*
   Polar factors of small matrices, one in each lane of a vector. Calls of the BLAS take longer than the products of such matrices. The
   result in a lane does not depend on the other lanes. Of symmetric matrices both triangles are computed.
*/

#if defined(MUON_KERNEL_HAVE_LANES)

/* Numbers of all lanes, at any address; their bits */
typedef float   Lanes __attribute__((vector_size(4 * MUON_KERNEL_LANES), aligned(4)));
typedef int32_t Bits __attribute__((vector_size(4 * MUON_KERNEL_LANES), aligned(4)));

/* The terms of row i of a product: all, those up to term i, or from it on. EQUAL: the result is symmetric */
enum {
  ALL   = 0,
  UPTO  = 1,
  FROM  = 2,
  EQUAL = 4
};

/* C = A B, m x n, with at most k terms; entry (i, t) of A is at i ai + t at, entry (t, j) of B at t bt + j bj */
MUON_KERNEL_INLINE void Product(const int terms, size_t m, size_t n, size_t k, const Lanes *A, size_t ai, size_t at, const Lanes *B, size_t bt, size_t bj, Lanes *C)
{
  for (size_t i = 0; i < m; i++) {
    const size_t first = terms & FROM ? i : 0, last = terms & UPTO ? i + 1 : k, columns = terms & EQUAL ? i + 1 : n;

    for (size_t j = 0; j < columns; j += 4) {
      const size_t j1 = j + 1 < columns ? j + 1 : j, j2 = j + 2 < columns ? j + 2 : j, j3 = j + 3 < columns ? j + 3 : j;
      const Lanes *b0 = B + j * bj, *b1 = B + j1 * bj, *b2 = B + j2 * bj, *b3 = B + j3 * bj;
      Lanes        c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0};

      for (size_t t = first; t < last; t++) {
        const Lanes a = A[i * ai + t * at];

        c0 += a * b0[t * bt];
        c1 += a * b1[t * bt];
        c2 += a * b2[t * bt];
        c3 += a * b3[t * bt];
      }
      C[i + j3 * m] = c3;
      C[i + j2 * m] = c2;
      C[i + j1 * m] = c1;
      C[i + j * m]  = c0;
    }
    for (size_t j = 0; j < i && terms & EQUAL; j++) C[j + i * m] = C[i + j * m];
  }
}

static void Root(Lanes *x)
{
  float y[MUON_KERNEL_LANES];

  memcpy(y, x, sizeof(y));
  for (int k = 0; k < MUON_KERNEL_LANES; k++) y[k] = (float)sqrt((double)y[k]);
  memcpy(x, y, sizeof(y));
}

/*
   A becomes the inverse X of its Cholesky factor, X(i, j) at j + i s, by an elimination in [A I]: row j has the inverse up to
   column j, and the transposed factor behind it. A lane that is not positive definite becomes NaN
*/
MUON_KERNEL_INLINE void Inverse(size_t s, Lanes *A)
{
  for (size_t j = 0; j < s; j++) {
    Lanes *row = A + j * s, pivot = row[j];

    Root(&pivot);
    pivot  = 1.0f / pivot;
    row[j] = pivot;
    for (size_t k = 0; k < s; k++) {
      if (k != j) row[k] *= pivot;
    }
    for (size_t i = j + 1; i < s; i++) {
      Lanes      *below = A + i * s;
      const Lanes by    = row[i];

      for (size_t k = 0; k < j; k++) below[k] -= by * row[k];
      below[j] = -by * row[j];
      for (size_t k = i; k < s; k++) below[k] -= by * row[k];
    }
  }
}

/* An upper bound of the largest eigenvalue of A: the smaller one of its largest row sum and its Frobenius norm */
MUON_KERNEL_INLINE void Bound(size_t s, const Lanes *A, Lanes *bound)
{
  Lanes squares = {0};
  Bits  most    = {0}, most1; /* positive numbers are in the order of their bits */

  for (size_t i = 0; i < s; i++) {
    Lanes sum = {0};

    for (size_t j = 0; j < s; j++) {
      squares += A[j + i * s] * A[j + i * s];
      sum += (Lanes)((Bits)A[j + i * s] & INT32_MAX);
    }
    most1 = (Bits)sum > most;
    most  = ((Bits)sum & most1) | (most & ~most1);
  }
  Root(&squares);
  most1  = (Bits)squares < most;
  *bound = (Lanes)(((Bits)squares & most1) | (most & ~most1));
}

/* MuonPolarRationalNested() with one pole, and the product; Y has the Frobenius norm 1, Q becomes its factor */
MUON_KERNEL_INLINE void Factor(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const Lanes *Y, Lanes *Q, Lanes *P, Lanes *B, Lanes *T)
{
  const double a = first->a[0], c = first->c[0], square = first->scale * first->scale;
  const float  linear = (float)(square * (a * a - 2 * a * c)), quadratic = (float)(square * a * a * c), shift = (float)(2 * a * square + second->c[0]);
  Lanes        nu2, nu, scale;

  Product(EQUAL, s, s, l, Y, 1, s, Y, s, 1, P);
  Bound(s, P, &nu2);
  for (size_t e = 0; e < s * s; e++) T[e] = e % (s + 1) == 0 ? P[e] + (float)c * nu2 : P[e];
  Inverse(s, T);
  Product(EQUAL | FROM, s, s, s, T, 1, s, T, s, 1, B);
  Product(EQUAL, s, s, s, B, 1, s, B, 1, s, T);
  for (size_t e = 0; e < s * s; e++) P[e] = linear * nu2 * B[e] + (float)square / nu2 * P[e] - quadratic * nu2 * nu2 * T[e];
  for (size_t i = 0; i < s; i++) {
    P[i + i * s] += shift;
    B[i + i * s] += 1.0f / ((float)a * nu2);
  }
  Inverse(s, P);
  /* The factor of Y is scale a nu (B + second a X^T (X B)) */
  Product(UPTO, s, s, s, P, s, 1, B, 1, s, T);
  Product(EQUAL | FROM, s, s, s, P, 1, s, T, 1, s, Q);
  nu = nu2;
  Root(&nu);
  scale = (float)(first->scale * second->scale * a) * nu;
  for (size_t e = 0; e < s * s; e++) T[e] = scale * (B[e] + (float)second->a[0] * Q[e]);
  Product(ALL, s, l, s, T, 1, s, Y, 1, s, Q);
}

/* On Q Q^T, which W becomes. v has three vectors */
MUON_KERNEL_INLINE void Lanczos(size_t s, size_t l, const Lanes *Q, const float *start, Lanes *W, Lanes *v, MuonKernelLanczos *lanczos)
{
  Lanes *old = v + s, *u = old + s, before = {0};

  Product(EQUAL, s, s, l, Q, 1, s, Q, s, 1, W);
  for (size_t i = 0; i < s; i++) {
    old[i] = before;
    v[i]   = before + start[i];
  }
  for (int step = 0; step < MUON_KERNEL_LANCZOS; step++) {
    Lanes alpha = {0}, beta = {0}, *swap = old;

    for (size_t i = 0; i < s; i++) {
      Lanes sum = {0};

      for (size_t j = 0; j < s; j++) sum += W[j + i * s] * v[j];
      u[i] = sum;
      alpha += sum * v[i];
    }
    for (size_t i = 0; i < s; i++) {
      u[i] -= alpha * v[i] + before * old[i];
      beta += u[i] * u[i];
    }
    Root(&beta);
    for (size_t i = 0; i < s; i++) u[i] /= beta;
    memcpy(lanczos->alpha[step], &alpha, sizeof(alpha));
    memcpy(lanczos->beta[step], &beta, sizeof(beta));
    before = beta;
    old    = v;
    v      = u;
    u      = swap;
  }
}

MUON_KERNEL_CLONES void MuonKernelZolotarevLanes(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const float *start, float *work, MuonKernelLanczos *lanczos)
{
  Lanes *Y = (Lanes *)work, *Q = Y + s * l, *P = Q + s * l, *B = P + s * s;

  Factor(first, second, s, l, Y, Q, P, B, B + s * s);
  Lanczos(s, l, Q, start, P, B, lanczos);
}

#else
void MuonKernelZolotarevLanes(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const float *start, float *work, MuonKernelLanczos *lanczos) {}
#endif

size_t MuonKernelLanesWork(size_t s, size_t l)
{
  return (2 * s * l + 3 * s * s + 3 * s) * MUON_KERNEL_LANES;
}

MUON_KERNEL_CLONES void MuonKernelLanesMove(int in, size_t n, int left, size_t s, size_t l, float *matrices, float *work)
{
  const size_t across = left ? 1 : l, along      = left ? s : 1;
  float       *matrix[MUON_KERNEL_LANES], *lanes = work + (in ? 0 : s * l * MUON_KERNEL_LANES);

  for (size_t k = 0; k < MUON_KERNEL_LANES; k++) matrix[k] = matrices + (k < n || !in ? k : n - 1) * s * l;
  for (size_t j = 0; j < l; j++) {
    for (size_t i = 0; i < s; i++, lanes += MUON_KERNEL_LANES) {
      const size_t e = i * across + j * along;

      for (size_t k = 0; k < MUON_KERNEL_LANES && in; k++) lanes[k] = matrix[k][e];
      for (size_t k = 0; k < MUON_KERNEL_LANES && !in; k++) matrix[k][e] = lanes[k];
    }
  }
}
