#if !defined(REAL)
/*
   Linear combinations and norms of arrays. This file includes itself once for each precision: REAL is the
   type of an entry, OTHER the type of the other precision, BITS the integers of the width of REAL,
   REAL_NAME(name) the name of a function.
*/
  #include "muonstretch.h"
  #include <math.h>

  /*
     Independent partial sums: what a compiler needs to make vector code of a sum without reordering it itself
  */
  #define SUMS 8
  /* Entries of a block whose partial sums are added up before the next one begins */
  #define BLOCK 1024

/* 2^-exponent as the product of two factors: one alone may not be representable */
static void PowerOfTwo(int exponent, double factor[2])
{
  factor[0] = ldexp(1.0, -(exponent / 2));
  factor[1] = ldexp(1.0, -(exponent - exponent / 2));
}

/* A NaN is in no range */
static int InRange(double sum)
{
  return sum > 1e-200 && sum < 1e300;
}

  #define TWICE "passes.c"
  #include "muontwice.h"

#else

  #define TOP_BIT ((BITS)1 << (8 * sizeof(BITS) - 1))

/*
   Reaches the top bit exactly where |x| reaches the number whose bits are limit: absolute values are in the
   order of their bits, those that are not finite at the end
*/
MUON_KERNEL_INLINE BITS REAL_NAME(Reached)(REAL x, BITS limit)
{
  BITS bits;

  memcpy(&bits, &x, sizeof(bits));
  return (bits & ~TOP_BIT) + (TOP_BIT - limit);
}

MUON_KERNEL_INLINE BITS REAL_NAME(Image)(double limit)
{
  const REAL x = (REAL)limit;
  BITS       bits;

  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelIsBelow)(size_t m, size_t n, const void *X, size_t ldx, double limit)
{
  const BITS image   = REAL_NAME(Image)(limit);
  BITS       reached = 0;

  Flatten(&m, &n, ldx, ldx, ldx);
  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx;

    for (size_t i = 0; i < m; i++) reached |= REAL_NAME(Reached)(x[i], image);
  }
  return (reached & TOP_BIT) == 0;
}

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelAxpby)(size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy)
{
  const REAL ra = (REAL)a, rb = (REAL)b;

  Flatten(&m, &n, ldx, ldy, ldy);
  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx;
    REAL       *y = (REAL *)Y + j * ldy;

    if (b == 0 && a == 1) memmove(y, x, m * sizeof(REAL));
    else if (b == 0) {
      for (size_t i = 0; i < m; i++) y[i] = ra * x[i];
    } else if (b == 1) {
      for (size_t i = 0; i < m; i++) y[i] += ra * x[i];
    } else {
      for (size_t i = 0; i < m; i++) y[i] = ra * x[i] + rb * y[i];
    }
  }
}

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelAxpbyOther)(size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy)
{
  Flatten(&m, &n, ldx, ldy, ldy);
  for (size_t j = 0; j < n; j++) {
    const OTHER *x = (const OTHER *)X + j * ldx;
    REAL        *y = (REAL *)Y + j * ldy;

    if (b == 0) {
      for (size_t i = 0; i < m; i++) y[i] = (REAL)(a * (double)x[i]);
    } else {
      for (size_t i = 0; i < m; i++) y[i] = (REAL)(a * (double)x[i] + b * (double)y[i]);
    }
  }
}

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelMomentum)(size_t m, size_t n, double previous, const void *M, size_t ldm, double fresh, const void *G, size_t ldg, void *Z, size_t ldz)
{
  const REAL a = (REAL)previous, b = (REAL)fresh;
  const BITS infinite = REAL_NAME(Image)(HUGE_VAL);
  BITS       reached  = 0;

  Flatten(&m, &n, previous == 0 ? ldg : ldm, ldg, ldz);
  for (size_t j = 0; j < n; j++) {
    const REAL *g = (const REAL *)G + j * ldg, *old = previous == 0 ? g : (const REAL *)M + j * ldm;
    REAL       *z = (REAL *)Z + j * ldz;

    if (previous == 0) {
      for (size_t i = 0; i < m; i++) {
        const REAL sum = b * g[i];

        reached |= REAL_NAME(Reached)(sum, infinite);
        z[i] = sum;
      }
    } else {
      for (size_t i = 0; i < m; i++) {
        const REAL sum = a * old[i] + b * g[i];

        reached |= REAL_NAME(Reached)(sum, infinite);
        z[i] = sum;
      }
    }
  }
  return (reached & TOP_BIT) == 0;
}

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelMomentumOther)(size_t m, size_t n, double previous, const void *M, size_t ldm, double fresh, const void *G, size_t ldg, void *Z, size_t ldz)
{
  const BITS infinite = REAL_NAME(Image)(HUGE_VAL);
  BITS       reached  = 0;

  Flatten(&m, &n, previous == 0 ? ldg : ldm, ldg, ldz);
  for (size_t j = 0; j < n; j++) {
    const OTHER *g   = (const OTHER *)G + j * ldg;
    const REAL  *old = previous == 0 ? NULL : (const REAL *)M + j * ldm;
    REAL        *z   = (REAL *)Z + j * ldz;

    for (size_t i = 0; i < m; i++) {
      const REAL sum = (REAL)(previous == 0 ? fresh * (double)g[i] : previous * (double)old[i] + fresh * (double)g[i]);

      reached |= REAL_NAME(Reached)(sum, infinite);
      z[i] = sum;
    }
  }
  return (reached & TOP_BIT) == 0;
}

size_t REAL_NAME(MuonKernelMomentumMend)(size_t m, size_t n, double previous, const void *M, size_t ldm, void *Z, size_t ldz)
{
  const BITS infinite = REAL_NAME(Image)(HUGE_VAL);
  size_t     count    = 0;

  for (size_t j = 0; j < n; j++) {
    REAL *z = (REAL *)Z + j * ldz;

    for (size_t i = 0; i < m; i++) {
      if ((REAL_NAME(Reached)(z[i], infinite) & TOP_BIT) == 0) continue;
      z[i] = previous == 0 ? 0 : (REAL)previous * ((const REAL *)M)[j * ldm + i];
      count++;
    }
  }
  return count;
}

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelCautious)(size_t m, size_t n, double keep, const void *X, size_t ldx, double by, const void *D, size_t ldd, void *Z, size_t ldz)
{
  const REAL a = (REAL)keep, b = (REAL)by;
  const BITS infinite = REAL_NAME(Image)(HUGE_VAL);
  BITS       reached  = 0;

  Flatten(&m, &n, ldx, ldd, ldz);
  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx, *d = (const REAL *)D + j * ldd;
    REAL       *z = (REAL *)Z + j * ldz;

    for (size_t i = 0; i < m; i++) {
      const REAL move = b * d[i], away = (move > 0 && x[i] > 0) || (move < 0 && x[i] < 0) ? x[i] : a * x[i], sum = away + move;

      reached |= REAL_NAME(Reached)(sum, infinite);
      z[i] = sum;
    }
  }
  return (reached & TOP_BIT) == 0;
}

/* The sum of the squares of all entries, or of their absolute values */
MUON_KERNEL_INLINE double REAL_NAME(Sum)(int squares, size_t m, size_t n, const void *X, size_t ldx)
{
  double total = 0;

  Flatten(&m, &n, ldx, ldx, ldx);
  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx;

    for (size_t i = 0; i < m; i += BLOCK) {
      const size_t count     = m - i < BLOCK ? m - i : BLOCK;
      double       sum[SUMS] = {0, 0, 0, 0, 0, 0, 0, 0};
      size_t       k         = 0;

      for (; k + SUMS <= count; k += SUMS) {
        for (size_t s = 0; s < SUMS; s++) sum[s] += squares ? (double)x[i + k + s] * (double)x[i + k + s] : fabs((double)x[i + k + s]);
      }
      for (; k < count; k++) sum[k % SUMS] += squares ? (double)x[i + k] * (double)x[i + k] : fabs((double)x[i + k]);
      total += ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
  }
  return total;
}

MUON_KERNEL_CLONES double REAL_NAME(MuonKernelSumSquares)(size_t m, size_t n, const void *X, size_t ldx)
{
  return REAL_NAME(Sum)(1, m, n, X, ldx);
}

MUON_KERNEL_CLONES double REAL_NAME(MuonKernelSumAbs)(size_t m, size_t n, const void *X, size_t ldx)
{
  return REAL_NAME(Sum)(0, m, n, X, ldx);
}

/* The chains of a sum or a maximum are four, so that no addition waits for the one before it */
double REAL_NAME(MuonKernelMaxAbs)(size_t m, size_t n, const void *X, size_t ldx)
{
  double most = 0.0;

  for (size_t j = 0; j < n; j++) {
    const REAL *x  = (const REAL *)X + j * ldx;
    double      m0 = 0.0, m1 = 0.0, m2 = 0.0, m3 = 0.0;
    size_t      i;

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

MUON_KERNEL_INLINE double REAL_NAME(ScaledSumSquares)(size_t m, size_t n, const REAL *X, size_t ldx, double f0, double f1)
{
  double sum = 0.0;

  for (size_t j = 0; j < n; j++) {
    const REAL *x  = X + j * ldx;
    double      s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    size_t      i;

    for (i = 0; i + 4 <= m; i += 4) {
      const double a0 = x[i] * f0 * f1, a1 = x[i + 1] * f0 * f1, a2 = x[i + 2] * f0 * f1, a3 = x[i + 3] * f0 * f1;

      s0 += a0 * a0;
      s1 += a1 * a1;
      s2 += a2 * a2;
      s3 += a3 * a3;
    }
    for (; i < m; i++) s0 += (x[i] * f0 * f1) * (x[i] * f0 * f1);
    sum += (s0 + s1) + (s2 + s3);
  }
  return sum;
}

int REAL_NAME(MuonKernelIsOrdinary)(size_t m, size_t n, const void *X, size_t ldx)
{
  return InRange(REAL_NAME(ScaledSumSquares)(m, n, (const REAL *)X, ldx, 1.0, 1.0));
}

double REAL_NAME(MuonKernelNorm)(size_t m, size_t n, const void *X, size_t ldx, int *exponent)
{
  const double sum = REAL_NAME(ScaledSumSquares)(m, n, (const REAL *)X, ldx, 1.0, 1.0);
  double       f[2], most;

  /*
     Almost always nothing overflowed, and what may have underflowed is nothing beside the rest. Scaling by a
     power of two changes no bit of the quotients by the norm
  */
  *exponent = 0;
  if (InRange(sum)) return frexp(sqrt(sum), exponent);
  if (!REAL_NAME(MuonKernelIsBelow)(m, n, X, ldx, HUGE_VAL)) return HUGE_VAL;
  most = REAL_NAME(MuonKernelMaxAbs)(m, n, X, ldx);
  if (most == 0.0) return 0.0;
  (void)frexp(most, exponent);
  PowerOfTwo(*exponent, f);
  return sqrt(REAL_NAME(ScaledSumSquares)(m, n, (const REAL *)X, ldx, f[0], f[1]));
}

void REAL_NAME(MuonKernelDivide)(size_t m, size_t n, const void *X, size_t ldx, double norm, int exponent, void *Y, size_t ldy)
{
  double f[2];

  PowerOfTwo(exponent, f);
  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx;
    REAL       *y = (REAL *)Y + j * ldy;

    for (size_t i = 0; i < m; i++) y[i] = (REAL)(x[i] * f[0] * f[1] / norm);
  }
}

void REAL_NAME(MuonKernelSign)(size_t m, size_t n, double s, const void *X, size_t ldx, void *Y, size_t ldy)
{
  const REAL size = (REAL)fabs(s);
  const int  sign = s < 0 ? -1 : 1;

  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx;
    REAL       *y = (REAL *)Y + j * ldy;

    /* No branch on the sign of an entry, which no processor predicts; and no negative zero */
    for (size_t i = 0; i < m; i++) y[i] = size * (REAL)(sign * ((x[i] > 0) - (x[i] < 0)));
  }
}

double REAL_NAME(MuonKernelDot)(size_t m, size_t n, const void *X, size_t ldx, const void *Y, size_t ldy)
{
  double sum = 0.0;

  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx, *y = (const REAL *)Y + j * ldy;
    double      s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    size_t      i;

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

MUON_KERNEL_CLONES int REAL_NAME(MuonKernelAdamW)(size_t m, size_t n, const void *G, size_t ldg, double beta1, double beta2, double epsilon, int nesterov, double c1, double c2, double rate, double keep, const void *M, const void *V, const void *X,
                                                  size_t ldx, void *Mnew, void *Vnew, void *Xnew, size_t ldn)
{
  const REAL b1 = (REAL)beta1, b2 = (REAL)beta2, a1 = (REAL)(1 - beta1), a2 = (REAL)(1 - beta2), e = (REAL)epsilon, r1 = (REAL)c1, r2 = (REAL)c2, r = (REAL)rate, k = (REAL)keep;
  const BITS infinite = REAL_NAME(Image)(HUGE_VAL);
  BITS       reached  = 0;

  for (size_t j = 0; j < n; j++) {
    const REAL *g = (const REAL *)G + j * ldg, *x = (const REAL *)X + j * ldx, *m0 = (const REAL *)M + j * m, *v0 = (const REAL *)V + j * m;
    REAL       *y = (REAL *)Xnew + j * ldn, *m1 = (REAL *)Mnew + j * m, *v1 = (REAL *)Vnew + j * m;

    for (size_t i = 0; i < m; i++) {
      const REAL mean = b1 * m0[i] + a1 * g[i], square = b2 * v0[i] + a2 * g[i] * g[i];
      const REAL seen = (nesterov ? b1 * mean + a1 * g[i] : mean) / r1, sum = k * x[i] - r * seen / ((REAL)sqrt((double)(square / r2)) + e);

      m1[i] = mean;
      v1[i] = square;
      y[i]  = sum;
      reached |= REAL_NAME(Reached)(sum, infinite) | REAL_NAME(Reached)(square, infinite);
    }
  }
  return (reached & TOP_BIT) == 0;
}

  #undef TOP_BIT
#endif
