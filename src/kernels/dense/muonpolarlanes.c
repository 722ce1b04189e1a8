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

/*
   The terms of row i of a product: all, those up to term i, or from it on. EQUAL: the result is Hermitian. The conjugate of A or B
   is multiplied. A number has one part or two, which are one behind the other
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
MUON_KERNEL_INLINE void Add(const int parts, const int terms, const Lanes *a, const Lanes *b, Lanes *c)
{
  c[0] += a[0] * b[0];
  if (parts == 1) return;
  if (terms & (CONJUGATE_A | CONJUGATE_B)) c[0] += a[1] * b[1];
  else c[0] -= a[1] * b[1];
  if (terms & CONJUGATE_B) c[1] -= a[0] * b[1];
  else c[1] += a[0] * b[1];
  if (terms & CONJUGATE_A) c[1] -= a[1] * b[0];
  else c[1] += a[1] * b[0];
}

/* C = A B, m x n, with at most k terms; entry (i, t) of A is at i ai + t at, entry (t, j) of B at t bt + j bj, in numbers */
MUON_KERNEL_INLINE void Product(const int parts, const int terms, size_t m, size_t n, size_t k, const Lanes *A, size_t ai, size_t at, const Lanes *B, size_t bt, size_t bj, Lanes *C)
{
  const size_t size = (size_t)parts * sizeof(*C);

  for (size_t i = 0; i < m; i++) {
    const size_t first = terms & FROM ? i : 0, last = terms & UPTO ? i + 1 : k, columns = terms & EQUAL ? i + 1 : n;

    for (size_t j = 0; j < columns; j += 4) {
      const size_t j1 = j + 1 < columns ? j + 1 : j, j2 = j + 2 < columns ? j + 2 : j, j3 = j + 3 < columns ? j + 3 : j, r = (size_t)parts;
      const Lanes *b0 = B + r * j * bj, *b1 = B + r * j1 * bj, *b2 = B + r * j2 * bj, *b3 = B + r * j3 * bj;
      Lanes        c0[2] = {{0}}, c1[2] = {{0}}, c2[2] = {{0}}, c3[2] = {{0}};

      for (size_t t = first; t < last; t++) {
        const Lanes *a = A + r * (i * ai + t * at);

        Add(parts, terms, a, b0 + r * t * bt, c0);
        Add(parts, terms, a, b1 + r * t * bt, c1);
        Add(parts, terms, a, b2 + r * t * bt, c2);
        Add(parts, terms, a, b3 + r * t * bt, c3);
      }
      memcpy(C + r * (i + j3 * m), c3, size);
      memcpy(C + r * (i + j2 * m), c2, size);
      memcpy(C + r * (i + j1 * m), c1, size);
      memcpy(C + r * (i + j * m), c0, size);
    }
    for (size_t j = 0; j < i && terms & EQUAL; j++) {
      memcpy(C + (size_t)parts * (j + i * m), C + (size_t)parts * (i + j * m), size);
      if (parts == 2) C[2 * (j + i * m) + 1] = -C[2 * (j + i * m) + 1];
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
MUON_KERNEL_INLINE void Inverse(const int parts, size_t s, Lanes *A)
{
  const size_t r = (size_t)parts;

  for (size_t j = 0; j < s; j++) {
    Lanes *row = A + r * j * s, pivot = row[r * j];

    Root(&pivot);
    pivot = 1.0f / pivot;
    for (size_t k = 0; k < r * s; k++) row[k] *= pivot;
    row[r * j] = pivot;
    if (parts == 2) row[2 * j + 1] = 0 * pivot;
    for (size_t i = j + 1; i < s; i++) {
      Lanes *below = A + r * i * s, by[2] = {-row[r * i], row[r * i + r - 1]};

      for (size_t k = 0; k < r; k++) below[r * j + k] = by[k] * pivot;
      for (size_t k = 0; k < j; k++) Add(parts, ALL, by, row + r * k, below + r * k);
      for (size_t k = i; k < s; k++) Add(parts, ALL, by, row + r * k, below + r * k);
    }
  }
}

/* An upper bound of the largest eigenvalue of A: the smaller one of its largest row sum and its Frobenius norm */
MUON_KERNEL_INLINE void Bound(const int parts, size_t s, const Lanes *A, Lanes *bound)
{
  Lanes squares = {0};
  Bits  most    = {0}, most1; /* positive numbers are in the order of their bits */

  for (size_t i = 0; i < s; i++) {
    Lanes sum = {0};

    for (size_t j = 0; j < s; j++) {
      const Lanes *a = A + (size_t)parts * (j + i * s);
      Lanes        modulus;

      squares += a[0] * a[0];
      if (parts == 1) {
        modulus = (Lanes)((Bits)a[0] & INT32_MAX);
      } else {
        squares += a[1] * a[1];
        modulus = a[0] * a[0] + a[1] * a[1];
        Root(&modulus);
      }
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
MUON_KERNEL_INLINE void Factor(const int parts, const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const Lanes *Y, Lanes *Q, Lanes *P, Lanes *B, Lanes *T)
{
  const double a = first->a[0], c = first->c[0], square = first->scale * first->scale;
  const float  linear = (float)(square * (a * a - 2 * a * c)), quadratic = (float)(square * a * a * c), shift = (float)(2 * a * square + second->c[0]);
  const size_t r = (size_t)parts;
  Lanes        nu2, nu, scale;

  Product(parts, EQUAL | CONJUGATE_B, s, s, l, Y, 1, s, Y, s, 1, P);
  Bound(parts, s, P, &nu2);
  for (size_t e = 0; e < r * s * s; e++) T[e] = e % (r * (s + 1)) == 0 ? P[e] + (float)c * nu2 : P[e];
  Inverse(parts, s, T);
  Product(parts, EQUAL | FROM | CONJUGATE_B, s, s, s, T, 1, s, T, s, 1, B);
  Product(parts, EQUAL, s, s, s, B, 1, s, B, 1, s, T);
  for (size_t e = 0; e < r * s * s; e++) P[e] = linear * nu2 * B[e] + (float)square / nu2 * P[e] - quadratic * nu2 * nu2 * T[e];
  for (size_t i = 0; i < s; i++) {
    P[r * (i + i * s)] += shift;
    B[r * (i + i * s)] += 1.0f / ((float)a * nu2);
  }
  Inverse(parts, s, P);
  /* The factor of Y is scale a nu (B + second a X^H (X B)) */
  Product(parts, UPTO | CONJUGATE_A, s, s, s, P, s, 1, B, 1, s, T);
  Product(parts, EQUAL | FROM, s, s, s, P, 1, s, T, 1, s, Q);
  nu = nu2;
  Root(&nu);
  scale = (float)(first->scale * second->scale * a) * nu;
  for (size_t e = 0; e < r * s * s; e++) T[e] = scale * (B[e] + (float)second->a[0] * Q[e]);
  Product(parts, ALL, s, l, s, T, 1, s, Y, 1, s, Q);
}

/* On Q Q^H, which W becomes. v has three vectors */
MUON_KERNEL_INLINE void Lanczos(const int parts, size_t s, size_t l, const Lanes *Q, const float *start, Lanes *W, Lanes *v, MuonKernelLanczos *lanczos)
{
  const size_t r   = (size_t)parts;
  Lanes       *old = v + r * s, *u = old + r * s, before = {0};

  Product(parts, EQUAL | CONJUGATE_B, s, s, l, Q, 1, s, Q, s, 1, W);
  for (size_t i = 0; i < r * s; i++) {
    old[i] = before;
    v[i]   = before + (i % r == 0 ? start[i / r] : 0.0f);
  }
  for (int step = 0; step < MUON_KERNEL_LANCZOS; step++) {
    Lanes alpha = {0}, beta = {0}, *swap = old;

    for (size_t i = 0; i < s; i++) {
      Lanes sum[2] = {{0}};

      for (size_t j = 0; j < s; j++) Add(parts, CONJUGATE_A, W + r * (j + i * s), v + r * j, sum);
      for (size_t k = 0; k < r; k++) {
        u[r * i + k] = sum[k];
        alpha += sum[k] * v[r * i + k];
      }
    }
    for (size_t i = 0; i < r * s; i++) {
      u[i] -= alpha * v[i] + before * old[i];
      beta += u[i] * u[i];
    }
    Root(&beta);
    for (size_t i = 0; i < r * s; i++) u[i] /= beta;
    memcpy(lanczos->alpha[step], &alpha, sizeof(alpha));
    memcpy(lanczos->beta[step], &beta, sizeof(beta));
    before = beta;
    old    = v;
    v      = u;
    u      = swap;
  }
}

MUON_KERNEL_INLINE void Compute(const int parts, const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const float *start, float *work, MuonKernelLanczos *lanczos)
{
  const size_t r = (size_t)parts;
  Lanes       *Y = (Lanes *)work, *Q = Y + r * s * l, *P = Q + r * s * l, *B = P + r * s * s;

  Factor(parts, first, second, s, l, Y, Q, P, B, B + r * s * s);
  Lanczos(parts, s, l, Q, start, P, B, lanczos);
}

MUON_KERNEL_CLONES void MuonKernelZolotarevLanes(size_t parts, const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const float *start, float *work, MuonKernelLanczos *lanczos)
{
  if (parts == 2) Compute(2, first, second, s, l, start, work, lanczos);
  else Compute(1, first, second, s, l, start, work, lanczos);
}

#else
void MuonKernelZolotarevLanes(size_t parts, const MuonKernelZolotarev *first, const MuonKernelZolotarev *second, size_t s, size_t l, const float *start, float *work, MuonKernelLanczos *lanczos) {}
#endif

size_t MuonKernelLanesWork(size_t parts, size_t s, size_t l)
{
  return parts * (2 * s * l + 3 * s * s + 3 * s) * MUON_KERNEL_LANES;
}

MUON_KERNEL_CLONES void MuonKernelLanesMove(int in, size_t n, int left, size_t parts, size_t s, size_t l, float *matrices, float *work)
{
  const size_t across = left ? 1 : l, along      = left ? s : 1;
  float       *matrix[MUON_KERNEL_LANES], *lanes = work + (in ? 0 : parts * s * l * MUON_KERNEL_LANES);

  for (size_t k = 0; k < MUON_KERNEL_LANES; k++) matrix[k] = matrices + (k < n || !in ? k : n - 1) * parts * s * l;
  for (size_t j = 0; j < l; j++) {
    for (size_t i = 0; i < parts * s; i++, lanes += MUON_KERNEL_LANES) {
      const size_t e = parts * (i / parts * across + j * along) + i % parts;

      for (size_t k = 0; k < MUON_KERNEL_LANES && in; k++) lanes[k] = matrix[k][e];
      for (size_t k = 0; k < MUON_KERNEL_LANES && !in; k++) matrix[k][e] = lanes[k];
    }
  }
}
