#include "muonpolarkernels.h"
#include <math.h>
#include <string.h>

static const MuonKernelPolynomial polynomials[] = {
  {"kj", 5, 1, {{3.4445, -4.7750, 2.0315}}},
  {"quintic", 10, 1, {{1.875, -1.25, 0.375}}},
  {"cubic", 15, 1, {{1.5, -0.5, 0.0}}},
};

const MuonKernelPolynomial *MuonKernelPolynomialGet(int number)
{
  return number >= 0 && number < (int)(sizeof(polynomials) / sizeof(polynomials[0])) ? &polynomials[number] : NULL;
}

const MuonKernelPolynomial *MuonKernelPolynomialFind(const char *name)
{
  const MuonKernelPolynomial *p;

  for (int i = 0; (p = MuonKernelPolynomialGet(i)) != NULL; i++) {
    if (strcmp(p->name, name) == 0) return p;
  }
  return NULL;
}

/* The chains of a sum or a maximum are four, so that no addition waits for the one before it */
double MuonKernelMaxAbs(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx)
{
  double most = 0.0;

  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x  = X + j * ldx;
    double                  m0 = 0.0, m1 = 0.0, m2 = 0.0, m3 = 0.0;
    size_t                  i;

    for (i = 0; i + 4 <= m; i += 4) {
      const double a0 = fabs((double)x[i]), a1 = fabs((double)x[i + 1]), a2 = fabs((double)x[i + 2]), a3 = fabs((double)x[i + 3]);

      m0 = a0 > m0 ? a0 : m0;
      m1 = a1 > m1 ? a1 : m1;
      m2 = a2 > m2 ? a2 : m2;
      m3 = a3 > m3 ? a3 : m3;
    }
    for (; i < m; i++) m0 = fabs((double)x[i]) > m0 ? fabs((double)x[i]) : m0;
    m0   = m1 > m0 ? m1 : m0;
    m2   = m3 > m2 ? m3 : m2;
    m0   = m2 > m0 ? m2 : m0;
    most = m0 > most ? m0 : most;
  }
  return most;
}

/* 2^-exponent as the product of two factors: one alone may not be representable */
static void PowerOfTwo(int exponent, double factor[2])
{
  factor[0] = ldexp(1.0, -(exponent / 2));
  factor[1] = ldexp(1.0, -(exponent - exponent / 2));
}

double MuonKernelNorm(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, int *exponent)
{
  const double most = MuonKernelMaxAbs(m, n, X, ldx);
  double       f[2], sum = 0.0;

  *exponent = 0;
  if (most == 0.0) return 0.0;
  (void)frexp(most, exponent);
  PowerOfTwo(*exponent, f);
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x  = X + j * ldx;
    double                  s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    size_t                  i;

    for (i = 0; i + 4 <= m; i += 4) {
      const double a0 = x[i] * f[0] * f[1], a1 = x[i + 1] * f[0] * f[1], a2 = x[i + 2] * f[0] * f[1], a3 = x[i + 3] * f[0] * f[1];

      s0 += a0 * a0;
      s1 += a1 * a1;
      s2 += a2 * a2;
      s3 += a3 * a3;
    }
    for (; i < m; i++) s0 += (x[i] * f[0] * f[1]) * (x[i] * f[0] * f[1]);
    sum += (s0 + s1) + (s2 + s3);
  }
  return sqrt(sum);
}

void MuonKernelDivide(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double norm, int exponent, MuonKernelScalar *Y, size_t ldy)
{
  double f[2];

  PowerOfTwo(exponent, f);
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;
    MuonKernelScalar       *y = Y + j * ldy;

    for (size_t i = 0; i < m; i++) y[i] = (MuonKernelScalar)(x[i] * f[0] * f[1] / norm);
  }
}

void MuonKernelSign(size_t m, size_t n, MuonKernelScalar s, const MuonKernelScalar *X, size_t ldx, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;
    MuonKernelScalar       *y = Y + j * ldy;

    for (size_t i = 0; i < m; i++) y[i] = x[i] > 0 ? s : (x[i] < 0 ? -s : (MuonKernelScalar)0);
  }
}

double MuonKernelDot(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const MuonKernelScalar *Y, size_t ldy)
{
  double sum = 0.0;

  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x  = X + j * ldx;
    const MuonKernelScalar *y  = Y + j * ldy;
    double                  s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    size_t                  i;

    for (i = 0; i + 4 <= m; i += 4) {
      s0 += (double)x[i] * (double)y[i];
      s1 += (double)x[i + 1] * (double)y[i + 1];
      s2 += (double)x[i + 2] * (double)y[i + 2];
      s3 += (double)x[i + 3] * (double)y[i + 3];
    }
    for (; i < m; i++) s0 += (double)x[i] * (double)y[i];
    sum += (s0 + s1) + (s2 + s3);
  }
  return sum;
}

double MuonKernelPolynomialFlops(size_t m, size_t n, const double c[3])
{
  const double s = (double)(m < n ? m : n), l = (double)(m < n ? n : m);

  return s * (s + 1) * l + (c[2] == 0.0 ? 0.0 : s * s * (s + 1)) + 2 * s * s * l;
}
