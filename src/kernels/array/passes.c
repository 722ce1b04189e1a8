#if !defined(REAL) && !defined(MUON_KERNELS_DEVICE)
/*
   Linear combinations and norms of arrays, and matrices that are computed from numbers of their vectors, for the host and
   for devices (muonpass.h). REAL is the type of an entry, OTHER the type of the other precision, BITS the integers with the
   width of REAL.
*/
  #include "muonpass.h"
  #include <float.h>
  #include <limits.h>

  #define TWICE "passes.c"
  #include "muontwice.h"

#else

  /* A sum of squares of at least this size loses much less than its last bit to underflow */
  #define LEAST_SQUARES  1e-250
  #define TOP_BIT        ((BITS)1 << (8 * sizeof(BITS) - 1))

FUNCTION(BITS, ImageOf)(REAL x)
{
  BITS bits;

  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

/*
   The top bit of the result is set exactly if |x| is at least the number with the bits limit: absolute values have the
   order of their bits, and numbers that are not finite come last
*/
FUNCTION(BITS, Reached)(REAL x, BITS limit)
{
  return (REAL_NAME(ImageOf)(x) & ~TOP_BIT) + (TOP_BIT - limit);
}

/* There is no branch on the sign of an entry, because processors cannot predict it, and no negative zero */
FUNCTION(REAL, SignTimes)(REAL x, double f)
{
  return (REAL)fabs(f) * (REAL)((f < 0 ? -1 : 1) * ((x > 0) - (x < 0)));
}

/* Replaces z if it is not finite, and then returns 1 */
FUNCTION(double, Replace)(REAL *z, BITS infinite, REAL replacement)
{
  if ((REAL_NAME(Reached)(*z, infinite) & TOP_BIT) == 0) return 0;
  *z = replacement;
  return 1;
}

KERNEL(int, IsBelow)(size_t m, size_t n, const void *X, size_t ldx, double limit)
{
  const BITS image = REAL_NAME(ImageOf)((REAL)limit);
  int        any;

  Flatten(&m, &n, ldx, ldx, ldx);
  READ(REAL, x, X);
  PASS_ANY(any, reached |= REAL_NAME(Reached)(AT(x), image));
  return !any;
}

/* a x + b y, for x of the same or the other precision. y is not read if b is 0 */
  #define COMBINED(type) (sizeof(type) != sizeof(REAL) ? (REAL)(b == 0 ? a * (double)AT(x) : a * (double)AT(x) + b * (double)AT(y)) : b == 0 ? ra * (REAL)AT(x) : ra * (REAL)AT(x) + rb * AT(y))

  #define AXPBY(name, type) \
    KERNEL(void, name)(size_t m, size_t n, double a, const void *X, size_t ldx, double b, void *Y, size_t ldy) \
    { \
      const REAL ra = (REAL)a, rb = (REAL)b; \
\
      Flatten(&m, &n, ldx, ldy, ldy); \
      READ(type, x, X); \
      WRITE(REAL, y, Y); \
      PASS(AT(y) = COMBINED(type)); \
    }
  #define MOMENTUM(name, type) \
    KERNEL(int, name)(size_t m, size_t n, double b, const void *M, size_t ldy, double a, const void *G, size_t ldx, void *Z, size_t ldz) \
    { \
      const REAL ra = (REAL)a, rb = (REAL)b; \
      const BITS infinite = REAL_NAME(ImageOf)((REAL)HUGE_VAL); \
      int        any; \
\
      Flatten(&m, &n, b == 0 ? ldz : ldy, ldx, ldz); \
      READ(type, x, G); \
      READ(REAL, y, b == 0 ? NULL : M); \
      WRITE(REAL, z, Z); \
      PASS_ANY(any, const REAL sum = COMBINED(type); reached |= REAL_NAME(Reached)(sum, infinite); AT(z) = sum); \
      return !any; \
    }

AXPBY(Axpby, REAL)
AXPBY(AxpbyOther, OTHER)
MOMENTUM(Momentum, REAL)
MOMENTUM(MomentumOther, OTHER)

KERNEL(size_t, MomentumReplace)(size_t m, size_t n, double beta, const void *M, size_t ldold, void *Z, size_t ldz)
{
  const REAL a        = (REAL)beta;
  const BITS infinite = REAL_NAME(ImageOf)((REAL)HUGE_VAL);
  double     count;

  Flatten(&m, &n, beta == 0 ? ldz : ldold, ldz, ldz);
  READ(REAL, old, beta == 0 ? NULL : M);
  WRITE(REAL, z, Z);
  PASS_SUM(count, REAL_NAME(Replace)(&AT(z), infinite, old == NULL ? (REAL)0 : a * AT(old)));
  return (size_t)count;
}

KERNEL(int, Cautious)(size_t m, size_t n, double decay, const void *X, size_t ldx, double scale, const void *D, size_t ldd, void *Z, size_t ldz)
{
  const REAL a = (REAL)decay, b = (REAL)scale;
  const BITS infinite = REAL_NAME(ImageOf)((REAL)HUGE_VAL);
  int        any;

  Flatten(&m, &n, ldx, ldd, ldz);
  READ(REAL, x, X);
  READ(REAL, d, D);
  WRITE(REAL, z, Z);
  PASS_ANY(any, const REAL move = b * AT(d), sum = ((move > 0 && AT(x) > 0) || (move < 0 && AT(x) < 0) ? AT(x) : a * AT(x)) + move; reached |= REAL_NAME(Reached)(sum, infinite); AT(z) = sum);
  return !any;
}

  #define SUM(name, term) \
    KERNEL(double, name)(size_t m, size_t n, const void *X, size_t ldx) \
    { \
      double total; \
\
      Flatten(&m, &n, ldx, ldx, ldx); \
      READ(REAL, x, X); \
      PASS_SUM(total, term); \
      return total; \
    }

SUM(SumSquares, (double)AT(x) * (double)AT(x))
SUM(SumAbs, fabs((double)AT(x)))

KERNEL(double, MaxAbs)(size_t m, size_t n, const void *X, size_t ldx)
{
  BITS most;
  REAL largest;

  Flatten(&m, &n, ldx, ldx, ldx);
  READ(REAL, x, X);
  PASS_MAX(most, BITS, (REAL_NAME(ImageOf)(AT(x)) & ~TOP_BIT));
  memcpy(&largest, &most, sizeof(largest));
  /* By its bits: clang compiles islessequal() to an instruction that traps a NaN */
  return most < REAL_NAME(ImageOf)((REAL)HUGE_VAL) ? (double)largest : HUGE_VAL;
}

/* The norm of X 2^-exponent: scaling by a power of two changes no bit of a quotient by the norm */
LOCAL(double, ScaledSumSquares)(size_t m, size_t n, const void *X, size_t ldx, int exponent)
{
  double f[2], total;

  PowerOfTwo(exponent, f);
  const double f0 = f[0], f1 = f[1];
  if (IS_DEVICE) Flatten(&m, &n, ldx, ldx, ldx);
  READ(REAL, x, X);
  if (exponent == 0) PASS_SUM(total, (double)AT(x) * (double)AT(x));
  else PASS_SUM(total, (AT(x) * f0 * f1) * (AT(x) * f0 * f1));
  return total;
}

KERNEL(double, Norm)(size_t m, size_t n, const void *X, size_t ldx, int *exponent)
{
  const double sum = REAL_NAME(ScaledSumSquares)(m, n, X, ldx, 0);
  double       most;

  *exponent = 0;
  /* The usual case: no overflow, and a sum that is much larger than anything lost to underflow */
  if (isgreater(sum, 1e-200) && isless(sum, 1e300)) return frexp(sqrt(sum), exponent);
  most = CALL(MaxAbs)(m, n, X, ldx);
  if (most == 0 || most > DBL_MAX) return most;
  (void)frexp(most, exponent);
  return sqrt(REAL_NAME(ScaledSumSquares)(m, n, X, ldx, *exponent));
}

KERNEL(double, Euclidean)(size_t entries, const void *X)
{
  const double sum = CALL(SumSquares)(entries, 1, X, entries);
  double       most;
  int          exponent;

  if (isgreater(sum, LEAST_SQUARES) && isless(sum, 1e250)) return sqrt(sum);
  most = CALL(MaxAbs)(entries, 1, X, entries);
  if (most == 0 || most > DBL_MAX) return most;
  (void)frexp(most, &exponent);
  return ldexp(sqrt(REAL_NAME(ScaledSumSquares)(entries, 1, X, entries, exponent)), exponent);
}

KERNEL(int, VectorLength)(size_t m, const void *X, double p, MuonKernelLength *length)
{
  const int    simple = p == 1 || p == 2;
  const size_t n = 1, ldx = m;
  double       most, scale, sum = !simple ? 0 : p == 1 ? CALL(SumAbs)(m, 1, X, m) : CALL(SumSquares)(m, 1, X, m);
  int          exponent = 0, shift = 0;

  if (!(islessequal(sum, DBL_MAX) && isgreaterequal(sum, LEAST_SQUARES))) {
    sum = most = CALL(MaxAbs)(m, 1, X, m);
    if (most > DBL_MAX) return 1;
    if (most > 0 && p < HUGE_VAL) {
      READ(REAL, x, X);
      (void)frexp(most, &exponent);
      /* A power of two causes no rounding: equal lengths compare as equal */
      scale = simple ? ldexp(0.5, exponent) : most;
      PASS_ORDERED(sum, Power(fabs((double)AT(x)) / scale, p));
      if (simple) exponent = (int)p * (exponent - 1);
      else sum = ldexp(most, -exponent) * pow(sum, 1 / p);
    }
  }
  length->fraction = frexp(sum, &shift);
  length->exponent = sum > 0 ? exponent + shift : INT_MIN;
  return 0;
}

KERNEL(void, Divide)(size_t m, size_t n, const void *X, size_t ldx, double norm, int exponent, void *Y, size_t ldy)
{
  double f[2];

  PowerOfTwo(exponent, f);
  const double f0 = f[0], f1 = f[1];
  Flatten(&m, &n, ldx, ldy, ldy);
  READ(REAL, x, X);
  WRITE(REAL, y, Y);
  PASS(AT(y) = (REAL)(AT(x) * f0 * f1 / norm));
}

KERNEL(double, Dot)(size_t m, size_t n, const void *X, size_t ldx, const void *Y, size_t ldy)
{
  double total;

  READ(REAL, x, X);
  READ(REAL, y, Y);
  PASS_SUM(total, (double)AT(x) * (double)AT(y));
  return total;
}

KERNEL(int, AdamW)
(size_t m, size_t n, const void *G, size_t ldg, double beta1, double beta2, double epsilon, int nesterov, double c1, double c2, double rate, double decay, const void *M, const void *V, const void *X, size_t ldx, void *Mnew, void *Vnew, void *Xnew,
 size_t ldy)
{
  const REAL   b1 = (REAL)beta1, b2 = (REAL)beta2, a1 = (REAL)(1 - beta1), a2 = (REAL)(1 - beta2), e = (REAL)epsilon, r1 = (REAL)c1, r2 = (REAL)c2, r = (REAL)rate, d = (REAL)decay;
  const BITS   infinite = REAL_NAME(ImageOf)((REAL)HUGE_VAL);
  const size_t ldm0 = m, ldv0 = m, ldm1 = m, ldv1 = m;
  int          any;

  READ(REAL, g, G);
  READ(REAL, x, X);
  READ(REAL, m0, M);
  READ(REAL, v0, V);
  WRITE(REAL, m1, Mnew);
  WRITE(REAL, v1, Vnew);
  WRITE(REAL, y, Xnew);
  PASS_ANY(any, {
    const REAL mean = b1 * AT(m0) + a1 * AT(g), square = b2 * AT(v0) + a2 * AT(g) * AT(g);
    const REAL moved = (nesterov ? b1 * mean + a1 * AT(g) : mean) / r1, sum = d * AT(x) - r * moved / ((REAL)sqrt((double)(square / r2)) + e);

    AT(m1) = mean;
    AT(v1) = square;
    AT(y)  = sum;
    reached |= REAL_NAME(Reached)(sum, infinite) | REAL_NAME(Reached)(square, infinite);
  });
  return !any;
}

KERNEL(void, VectorPowers)(size_t m, size_t n, const void *X, size_t ldx, int strided, double p, const double *most, double *sum)
{
  const size_t vectors = strided ? m : n, length = strided ? n : m;

  READ(REAL, x, X);
  LIST(const double, top, most, vectors);
  LIST(double, s, sum, vectors);
  /* The host reads memory in its order. The additions are the same */
  if (strided && !IS_DEVICE) {
    EACH(k, vectors, s[k] = 0);
    PASS(if (top[i] != 0) s[i] += Power(fabs((double)AT(x)) / top[i], p));
    return;
  }
  EACH(k, vectors, {
    double total = 0;

    for (size_t q = 0; q < length && top[k] != 0; q++) total += Power(fabs((double)x[strided ? q * ldx + k : k * ldx + q]) / top[k], p);
    s[k] = total;
  });
}

KERNEL(void, VectorScale)(size_t m, size_t n, const void *X, size_t ldx, int strided, const double *f0, const double *f1, void *Y, size_t ldy)
{
  READ(REAL, x, X);
  WRITE(REAL, y, Y);
  LIST(const double, a, f0, strided ? m : n);
  LIST(const double, b, f1, strided ? m : n);
  if (strided) PASS(AT(y) = b[i] == 0 ? (REAL)0 : (REAL)(AT(x) * a[i] * b[i]));
  else PASS_WITH(const double f = a[j]; const double g = b[j], AT(y) = g == 0 ? (REAL)0 : (REAL)(AT(x) * f * g));
}

KERNEL(void, VectorSign)(size_t m, size_t n, const void *X, size_t ldx, int strided, const double *F, void *Y, size_t ldy)
{
  READ(REAL, x, X);
  WRITE(REAL, y, Y);
  LIST(const double, f, F, strided ? m : n);
  if (strided) PASS(AT(y) = REAL_NAME(SignTimes)(AT(x), f[i]));
  else PASS_WITH(const double factor = f[j], AT(y) = REAL_NAME(SignTimes)(AT(x), factor));
}

KERNEL(void, VectorPower)(size_t m, size_t n, const void *X, size_t ldx, int strided, double power, const double *most, const double *F, void *Y, size_t ldy)
{
  READ(REAL, x, X);
  WRITE(REAL, y, Y);
  LIST(const double, top, most, strided ? m : n);
  LIST(const double, f, F, strided ? m : n);
  PASS({
    const size_t k = strided ? i : j;

    AT(y) = AT(x) == 0 ? (REAL)0 : (REAL)((AT(x) > 0 ? f[k] : -f[k]) * Power(fabs((double)AT(x)) / top[k], power));
  });
}

KERNEL(void, VectorPick)(size_t m, size_t n, const void *X, size_t ldx, int strided, const int64_t *place, const double *F, void *Y, size_t ldy)
{
  READ(REAL, x, X);
  WRITE(REAL, y, Y);
  LIST(const int64_t, at, place, strided ? m : n);
  LIST(const double, f, F, strided ? m : n);
  PASS(AT(y) = 0);
  EACH(k, strided ? m : n, {
    const size_t j = strided ? (size_t)at[k] : k, i = strided ? k : (size_t)at[k];

    if (at[k] >= 0) AT(y) = (REAL)(AT(x) > 0 ? f[k] : -f[k]);
  });
}

KERNEL(void, RankOne)(size_t m, size_t n, double a, const double *U, const double *V, void *Y, size_t ldy)
{
  WRITE(REAL, y, Y);
  LIST(const double, u, U, m);
  LIST(const double, v, V, n);
  PASS_WITH(const double b = a * v[j], AT(y) = (REAL)(b * u[i]));
}

  #undef LEAST_SQUARES
  #undef TOP_BIT
  #undef COMBINED
  #undef AXPBY
  #undef MOMENTUM
  #undef SUM
#endif
