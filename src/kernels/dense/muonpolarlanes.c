#include "muonpolarzolotarev.h"
#include "../array/muonclones.h"
#include <math.h>
#include <string.h>

/*
   Polar factors of small complex matrices, one in each lane of a vector. Calls of the BLAS take longer than the products of such matrices. The
   result in a lane does not depend on the other lanes. Of Hermitian matrices both triangles are computed. A number has two parts, one behind
   the other.
*/

#if defined(MUON_KERNEL_HAVE_VECTORS)

/* Numbers of all lanes, at any address; their bits */
typedef float   Lanes __attribute__((vector_size(4 * MUON_KERNEL_LANES), aligned(4)));
typedef int32_t Bits __attribute__((vector_size(4 * MUON_KERNEL_LANES), aligned(4)));

/*
   The terms of row i of a product: all, those up to term i, or from it on. EQUAL: the result is Hermitian. The conjugate of A or B
   is multiplied
*/
enum {
  ALL         = 0,
  UPTO        = 1,
  FROM        = 2,
  EQUAL       = 4,
  CONJUGATE_A = 8,
  CONJUGATE_B = 16
};

/* c = c + a b */
MUON_KERNEL_INLINE void Add(const int terms, const Lanes *a, const Lanes *b, Lanes *c)
{
  c[0] += a[0] * b[0];
  if (terms & (CONJUGATE_A | CONJUGATE_B)) c[0] += a[1] * b[1];
  else c[0] -= a[1] * b[1];
  if (terms & CONJUGATE_B) c[1] -= a[0] * b[1];
  else c[1] += a[0] * b[1];
  if (terms & CONJUGATE_A) c[1] -= a[1] * b[0];
  else c[1] += a[1] * b[0];
}

/* C = A B, m x n, with at most k terms; entry (i, t) of A is at i ai + t at, entry (t, j) of B at t bt + j bj, in numbers */
MUON_KERNEL_INLINE void Product(const int terms, size_t m, size_t n, size_t k, const Lanes *A, size_t ai, size_t at, const Lanes *B, size_t bt, size_t bj, Lanes *C)
{
  const size_t size = 2 * sizeof(*C);

  for (size_t i = 0; i < m; i++) {
    const size_t first = terms & FROM ? i : 0, last = terms & UPTO ? i + 1 : k, columns = terms & EQUAL ? i + 1 : n;

    for (size_t j = 0; j < columns; j += 4) {
      const size_t j1 = j + 1 < columns ? j + 1 : j, j2 = j + 2 < columns ? j + 2 : j, j3 = j + 3 < columns ? j + 3 : j;
      const Lanes *b0 = B + 2 * j * bj, *b1 = B + 2 * j1 * bj, *b2 = B + 2 * j2 * bj, *b3 = B + 2 * j3 * bj;
      Lanes        c0[2] = {{0}}, c1[2] = {{0}}, c2[2] = {{0}}, c3[2] = {{0}};

      for (size_t t = first; t < last; t++) {
        const Lanes *a = A + 2 * (i * ai + t * at);

        Add(terms, a, b0 + 2 * t * bt, c0);
        Add(terms, a, b1 + 2 * t * bt, c1);
        Add(terms, a, b2 + 2 * t * bt, c2);
        Add(terms, a, b3 + 2 * t * bt, c3);
      }
      memcpy(C + 2 * (i + j3 * m), c3, size);
      memcpy(C + 2 * (i + j2 * m), c2, size);
      memcpy(C + 2 * (i + j1 * m), c1, size);
      memcpy(C + 2 * (i + j * m), c0, size);
    }
    for (size_t j = 0; j < i && terms & EQUAL; j++) {
      C[2 * (j + i * m)]     = C[2 * (i + j * m)];
      C[2 * (j + i * m) + 1] = -C[2 * (i + j * m) + 1];
    }
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
   A becomes the inverse X of its Cholesky factor, the conjugate of X(i, j) at j + i s, by an elimination in [A I]: row j has the
   inverse up to column j, and the conjugate transposed factor behind it. A lane that is not positive definite becomes NaN
*/
MUON_KERNEL_INLINE void Inverse(size_t s, Lanes *A)
{
  for (size_t j = 0; j < s; j++) {
    Lanes *row = A + 2 * j * s, pivot = row[2 * j];

    Root(&pivot);
    pivot = 1.0f / pivot;
    for (size_t k = 0; k < 2 * s; k++) row[k] *= pivot;
    row[2 * j]     = pivot;
    row[2 * j + 1] = 0 * pivot;
    for (size_t i = j + 1; i < s; i++) {
      Lanes *below = A + 2 * i * s, by[2] = {-row[2 * i], row[2 * i + 1]};

      for (size_t k = 0; k < 2; k++) below[2 * j + k] = by[k] * pivot;
      for (size_t k = 0; k < j; k++) Add(ALL, by, row + 2 * k, below + 2 * k);
      for (size_t k = i; k < s; k++) Add(ALL, by, row + 2 * k, below + 2 * k);
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
      const Lanes *a       = A + 2 * (j + i * s);
      Lanes        modulus = a[0] * a[0] + a[1] * a[1];

      squares += a[0] * a[0];
      squares += a[1] * a[1];
      Root(&modulus);
      sum += modulus;
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

  Product(EQUAL | CONJUGATE_B, s, s, l, Y, 1, s, Y, s, 1, P);
  Bound(s, P, &nu2);
  for (size_t e = 0; e < 2 * s * s; e++) T[e] = e % (2 * (s + 1)) == 0 ? P[e] + (float)c * nu2 : P[e];
  Inverse(s, T);
  Product(EQUAL | FROM | CONJUGATE_B, s, s, s, T, 1, s, T, s, 1, B);
  Product(EQUAL, s, s, s, B, 1, s, B, 1, s, T);
  for (size_t e = 0; e < 2 * s * s; e++) P[e] = linear * nu2 * B[e] + (float)square / nu2 * P[e] - quadratic * nu2 * nu2 * T[e];
  for (size_t i = 0; i < s; i++) {
    P[2 * (i + i * s)] += shift;
    B[2 * (i + i * s)] += 1.0f / ((float)a * nu2);
  }
  Inverse(s, P);
  /* The factor of Y is scale a nu (B + second a X^H (X B)) */
  Product(UPTO | CONJUGATE_A, s, s, s, P, s, 1, B, 1, s, T);
  Product(EQUAL | FROM, s, s, s, P, 1, s, T, 1, s, Q);
  nu = nu2;
  Root(&nu);
  scale = (float)(first->scale * second->scale * a) * nu;
  for (size_t e = 0; e < 2 * s * s; e++) T[e] = scale * (B[e] + (float)second->a[0] * Q[e]);
  Product(ALL, s, l, s, T, 1, s, Y, 1, s, Q);
}

/* On Q Q^H, which W becomes. v has three vectors */
MUON_KERNEL_INLINE void Lanczos(size_t s, size_t l, const Lanes *Q, const float *start, Lanes *W, Lanes *v, MuonKernelLanczos *lanczos)
{
  Lanes *old = v + 2 * s, *u = old + 2 * s, before = {0};

  Product(EQUAL | CONJUGATE_B, s, s, l, Q, 1, s, Q, s, 1, W);
  for (size_t i = 0; i < 2 * s; i++) {
    old[i] = before;
    v[i]   = before + (i % 2 == 0 ? start[i / 2] : 0.0f);
  }
  for (int step = 0; step < MUON_KERNEL_LANCZOS; step++) {
    Lanes alpha = {0}, beta = {0}, *swap = old;

    for (size_t i = 0; i < s; i++) {
      Lanes sum[2] = {{0}};

      for (size_t j = 0; j < s; j++) Add(CONJUGATE_A, W + 2 * (j + i * s), v + 2 * j, sum);
      for (size_t k = 0; k < 2; k++) {
        u[2 * i + k] = sum[k];
        alpha += sum[k] * v[2 * i + k];
      }
    }
    for (size_t i = 0; i < 2 * s; i++) {
      u[i] -= alpha * v[i] + before * old[i];
      beta += u[i] * u[i];
    }
    Root(&beta);
    for (size_t i = 0; i < 2 * s; i++) u[i] /= beta;
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
  Lanes *Y = (Lanes *)work, *Q = Y + 2 * s * l, *P = Q + 2 * s * l, *B = P + 2 * s * s;

  Factor(first, second, s, l, Y, Q, P, B, B + 2 * s * s);
  Lanczos(s, l, Q, start, P, B, lanczos);
}

#else
void MuonKernelZolotarevLanes(const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const float *start, float *work, MuonKernelLanczos *lanczos) {}
#endif

size_t MuonKernelLanesWork(size_t s, size_t l)
{
  return 2 * (2 * s * l + 3 * s * s + 3 * s) * MUON_KERNEL_LANES;
}

MUON_KERNEL_CLONES void MuonKernelLanesMove(int in, size_t n, int left, size_t s, size_t l, float *matrices, float *work)
{
  const size_t across = left ? 1 : l, along      = left ? s : 1;
  float       *matrix[MUON_KERNEL_LANES], *lanes = work + (in ? 0 : 2 * s * l * MUON_KERNEL_LANES);

  for (size_t k = 0; k < MUON_KERNEL_LANES; k++) matrix[k] = matrices + (k < n || !in ? k : n - 1) * 2 * s * l;
  for (size_t j = 0; j < l; j++) {
    for (size_t i = 0; i < 2 * s; i++, lanes += MUON_KERNEL_LANES) {
      const size_t e = 2 * (i / 2 * across + j * along) + i % 2;

      for (size_t k = 0; k < MUON_KERNEL_LANES && in; k++) lanes[k] = matrix[k][e];
      for (size_t k = 0; k < MUON_KERNEL_LANES && !in; k++) matrix[k][e] = lanes[k];
    }
  }
}
