#if !defined(REAL)
/*
   The kernels on arrays against loops that cannot be wrong, for sizes around those of stretches and blocks
   and with gaps between lines.
*/
  #include "kernels_common.h"

static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 17, 100};
static const size_t lines[]   = {0, 1, 3, 63, 64, 65, 130};

/* Rounding to p significant bits by scaling and the current mode of rounding, which is to nearest even */
static double Nearest(double x, int p)
{
  int exponent;

  if (x == 0) return x;
  (void)frexp(x, &exponent);
  return ldexp(rint(ldexp(x, p - exponent)), exponent - p);
}

  #define TEST_FILE "kernels_arithmetic.c"
  #define TEST_SEED 2
  #include "kernels_twice.h"

#else

typedef struct {
  size_t ld, size;
  REAL  *x;
} REAL_NAME(Array);
  #define Array    REAL_NAME(Array)

/* The gaps hold NaN: whoever reads them shows it */
static Array REAL_NAME(Create)(size_t m, size_t n, size_t gap, uint64_t *state)
{
  Array A;

  A.ld   = m + gap;
  A.size = A.ld * n;
  A.x    = (REAL *)Allocate(A.size * sizeof(*A.x));
  for (size_t k = 0; k < A.size; k++) A.x[k] = (REAL)(k % A.ld < m ? NextNormal(state) : (double)NAN);
  return A;
}

static Array REAL_NAME(Copy)(const Array *A)
{
  Array B = *A;

  B.x = (REAL *)Allocate(B.size * sizeof(*B.x));
  memcpy(B.x, A->x, B.size * sizeof(*B.x));
  return B;
}

static void REAL_NAME(CheckGaps)(const Array *A, size_t m, const char *what)
{
  for (size_t k = 0; k < A->size; k++) {
    if (k % A->ld >= m) Check(A->x[k] != A->x[k], "%s wrote between the lines", what);
  }
}

/* Entry e in the order of memory */
  #define At(A, e) ((A).x[(e) % m + (e) / m * (A).ld])

/*
   Every entry of Z is the number in double, rounded to REAL once or, where each of two products and their sum
   are rounded, up to eps of both. Two of the coefficients are powers of two, so that no product is rounded
*/
static void REAL_NAME(CheckSums)(size_t m, size_t n, size_t gap, uint64_t *state)
{
  static const double pairs[][2] = {{0.9, 0.1}, {-2, 0}, {1, 0}, {-2, 1}, {0.5, -0.25}, {0, 0.5}, {0.3, 0}};
  const REAL          zero       = 0;
  Array               X = REAL_NAME(Create)(m, n, gap, state), Y = REAL_NAME(Create)(m, n, 2 * gap, state), Z = REAL_NAME(Copy)(&Y);
  OTHER              *other = (OTHER *)Allocate((m + gap) * n * sizeof(*other));

  for (size_t k = 0; k < (m + gap) * n; k++) other[k] = (OTHER)X.x[k];
  for (size_t c = 0; c < sizeof(pairs) / sizeof(pairs[0]); c++) {
    const double a = pairs[c][0], b = pairs[c][1];

    for (int kind = 0; kind < 2; kind++) {
      memcpy(Z.x, Y.x, Y.size * sizeof(*Y.x));
      /* Nothing of Y is read where b is 0 */
      for (size_t k = 0; k < Z.size && b == 0; k++) Z.x[k] = (REAL)NAN;
      if (kind == 0) KERNELS->Axpby(m, n, a, X.x, X.ld, b, Z.x, Z.ld);
      else KERNELS->AxpbyOther(m, n, a, other, X.ld, b, Z.x, Z.ld);
      for (size_t e = 0; e < m * n; e++) {
        /*
           Of single entries the coefficients are rounded to single first, but where the other array has
           doubles
        */
        const double ra = kind == 0 ? (double)(REAL)a : a, rb = kind == 0 ? (double)(REAL)b : b, p = ra * (kind == 0 ? (double)At(X, e) : (double)other[e % m + e / m * X.ld]), q = rb * (double)At(Y, e);
        const double z = (double)At(Z, e);

        if (c == 0) Check(fabs(p + q - z) <= REAL_EPSILON * (fabs(p) + fabs(q)), "%g X + %g Y of %d x %d", a, b, (int)m, (int)n);
        else Check(z == (double)(REAL)(p + q), "%g X + %g Y of %d x %d", a, b, (int)m, (int)n);
      }
      REAL_NAME(CheckGaps)(&Z, m, "a sum");
    }
  }

  /*
     Momentum: also into the place of either, without a previous one, and with a gradient of the other
     precision
  */
  for (int way = 0; way < 5; way++) {
    const double previous = way == 3 ? 0 : 0.9, fresh = way == 3 ? 0.5 : 0.1;
    Array        M = REAL_NAME(Copy)(&X), G = REAL_NAME(Copy)(&Y), *to = way == 1 ? &G : way == 2 ? &M : &Z;
    int          finite;

    for (size_t k = 0; k < X.size; k++) other[k] = (OTHER)NextNormal(state);
    if (way == 4) finite = KERNELS->MomentumOther(m, n, previous, M.x, M.ld, fresh, other, X.ld, to->x, to->ld);
    else finite = KERNELS->Momentum(m, n, previous, way == 3 ? NULL : M.x, way == 3 ? 1 : M.ld, fresh, G.x, G.ld, to->x, to->ld);
    Check(finite == 1, "momentum of %d x %d is not finite", (int)m, (int)n);
    for (size_t e = 0; e < m * n; e++) {
      const double p = (way == 4 ? previous : (double)(REAL)previous) * (double)At(X, e), q = way == 4 ? fresh * (double)other[e % m + e / m * X.ld] : (double)(REAL)fresh * (double)At(Y, e);

      if (way == 4) Check(fabs(p + q - (double)At(*to, e)) <= (REAL_EPSILON / 2 + 2 * DBL_EPSILON) * (fabs(p) + fabs(q)), "momentum of both precisions");
      else if (way == 3) Check((double)At(*to, e) == q, "momentum without a previous one");
      else Check(fabs(p + q - (double)At(*to, e)) <= REAL_EPSILON * (fabs(p) + fabs(q)), "momentum of %d x %d, way %d", (int)m, (int)n, way);
    }
    REAL_NAME(CheckGaps)(to, m, "momentum");
    free(M.x);
    free(G.x);
  }
  KERNELS->MomentumOther(m, n, 0, NULL, 1, 0.5, other, X.ld, Z.x, Z.ld);
  for (size_t e = 0; e < m * n; e++) Check(At(Z, e) == (REAL)(0.5 * (double)other[e % m + e / m * X.ld]), "momentum of the other precision without a previous one");
  /*
     Cautious: entries that the step moves away from zero do not decay; into the place of the step too; zeros,
     which may keep or decay alike
  */
  for (int way = 0; way < 2 && m * n > 0; way++) {
    Array D = REAL_NAME(Copy)(&Y), *to = way == 1 ? &D : &Z;

    At(X, 0) = At(Y, m * n / 2) = At(D, m * n / 2) = zero;
    Check(KERNELS->Cautious(m, n, 0.75, X.x, X.ld, -0.5, D.x, D.ld, to->x, to->ld) == 1, "a cautious step of %d x %d is not finite", (int)m, (int)n);
    for (size_t e = 0; e < m * n; e++) {
      const REAL move = (REAL)-0.5 * At(Y, e), x = At(X, e), kept = (REAL)0.75 * x;

      Check(fabs((double)At(*to, e) - ((move > 0) == (x > 0) && move != 0 && x != 0 ? (double)x + (double)move : (double)kept + (double)move)) <= REAL_EPSILON * (fabs((double)x) + fabs((double)move)), "entry %d of a cautious step from %g by %g",
            (int)e, (double)x, (double)move);
    }
    REAL_NAME(CheckGaps)(to, m, "a cautious step");
    free(D.x);
  }
  if (m * n > 0) {
    At(Y, m * n - 1) = (REAL)INFINITY;
    Check(KERNELS->Cautious(m, n, 0.75, X.x, X.ld, -0.5, Y.x, Y.ld, Z.x, Z.ld) == 0, "infinity became finite");
    At(Y, m * n - 1) = 1;
  }
  /* What is not finite is seen wherever it is, and mended */
  for (size_t at = 0; at < m * n; at += m * n / 5 + 1) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};

    for (int b = 0; b < 3; b++) {
      const REAL was = At(Y, at);

      At(Y, at) = (REAL)bad[b];
      Check(KERNELS->Momentum(m, n, 0.9, X.x, X.ld, 0.1, Y.x, Y.ld, Z.x, Z.ld) == 0 && KERNELS->Momentum(m, n, 0, NULL, 1, 1, Y.x, Y.ld, Z.x, Z.ld) == 0, "%g became finite", bad[b]);
      (void)KERNELS->Momentum(m, n, 0.5, X.x, X.ld, 0.5, Y.x, Y.ld, Z.x, Z.ld);
      Check(KERNELS->MomentumReplace(m, n, 0.5, X.x, X.ld, Z.x, Z.ld) == 1, "%g is not counted", bad[b]);
      for (size_t e = 0; e < m * n; e++) Check(At(Z, e) == (e == at ? (REAL)0.5 * At(X, e) : (REAL)0.5 * At(X, e) + (REAL)0.5 * At(Y, e)), "mended entry %d", (int)e);
      (void)KERNELS->Momentum(m, n, 0, NULL, 1, 1, Y.x, Y.ld, Z.x, Z.ld);
      Check(KERNELS->MomentumReplace(m, n, 0, NULL, 1, Z.x, Z.ld) == 1 && At(Z, at) == zero, "%g is mended to something", bad[b]);
      REAL_NAME(CheckGaps)(&Z, m, "mending");
      At(Y, at) = was;
      for (size_t e = 0; e < X.size; e++) other[e] = 1;
      other[at % m + at / m * X.ld] = (OTHER)bad[b];
      Check(KERNELS->MomentumOther(m, n, 0.9, X.x, X.ld, 0.1, other, X.ld, Z.x, Z.ld) == 0, "%g of the other precision became finite", bad[b]);
    }
    if (IS_SINGLE) {
      for (size_t e = 0; e < X.size; e++) other[e] = 1;
      other[at % m + at / m * X.ld] = (OTHER)1e39;
      Check(KERNELS->MomentumOther(m, n, 0.5, X.x, X.ld, 0.5, other, X.ld, Z.x, Z.ld) == 0, "1e39 is a binary32");
    }
  }
  free(X.x);
  free(Y.x);
  free(Z.x);
  free(other);
}

static void REAL_NAME(CheckNorms)(size_t m, size_t n, size_t gap, uint64_t *state)
{
  Array       X = REAL_NAME(Create)(m, n, gap, state), Y = REAL_NAME(Create)(m, n, 2 * gap, state);
  long double squares = 0, sum = 0, dot = 0, size = 0;
  double      most = 0;

  /* A sum of N terms in any order has an error below N eps times the sum of their sizes */
  for (size_t e = 0; e < m * n; e++) {
    const long double x = (long double)At(X, e), y = (long double)At(Y, e);

    squares += x * x;
    sum += fabsl(x);
    dot += x * y;
    size += fabsl(x * y);
    most = fabs((double)At(X, e)) > most ? fabs((double)At(X, e)) : most;
  }
  Check(fabsl(KERNELS->SumSquares(m, n, X.x, X.ld) - squares) <= (long double)(m * n + 1) * DBL_EPSILON * squares, "sum of squares of %d x %d", (int)m, (int)n);
  Check(fabsl(KERNELS->SumAbs(m, n, X.x, X.ld) - sum) <= (long double)(m * n) * DBL_EPSILON * sum, "sum of absolute values of %d x %d", (int)m, (int)n);
  Check(fabsl(KERNELS->Dot(m, n, X.x, X.ld, Y.x, Y.ld) - dot) <= (long double)(m * n + 1) * DBL_EPSILON * size, "scalar product of %d x %d", (int)m, (int)n);
  Check(KERNELS->MaxAbs(m, n, X.x, X.ld) == most, "largest of %d x %d", (int)m, (int)n);
  Check(KERNELS->IsBelow(m, n, X.x, X.ld, HUGE_VAL) == 1, "%d x %d is finite", (int)m, (int)n);
  for (size_t at = 0; at < m * n; at += m * n / 7 + 1) {
    const REAL was = At(X, at);

    for (int bad = 0; bad < 3; bad++) {
      At(X, at) = (REAL)(bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY);
      Check(KERNELS->IsBelow(m, n, X.x, X.ld, HUGE_VAL) == 0, "%d x %d is not finite", (int)m, (int)n);
    }
    At(X, at) = -4096;
    Check(KERNELS->IsBelow(m, n, X.x, X.ld, 4096) == 0, "the limit is not reached");
    At(X, at) = (REAL)4095.999;
    Check(KERNELS->IsBelow(m, n, X.x, X.ld, 4096) == 1, "the limit is reached too early");
    At(X, at) = was;
  }
  free(X.x);
  free(Y.x);
}

/*
   Norms of any magnitude, and quotients: a norm that is a product by a
   power of two
*/
static void REAL_NAME(CheckScaled)(size_t m, size_t n, size_t gap, uint64_t *state)
{
  const int most = IS_SINGLE ? 88 : 1000;
  Array     X = REAL_NAME(Create)(m, n, gap, state), Y = REAL_NAME(Create)(m, n, 2 * gap, state), Z = REAL_NAME(Copy)(&X);
  double    squares = 0;
  int       exponent;

  for (size_t e = 0; e < m * n; e++) {
    At(Z, e) = (REAL)(float)At(Z, e);
    squares += (double)At(Z, e) * (double)At(Z, e);
  }
  for (int shift = -most; shift <= most; shift += most / 4) {
    double norm;

    for (size_t e = 0; e < m * n; e++) At(X, e) = (REAL)ldexp((double)At(Z, e), shift);
    norm = KERNELS->Norm(m, n, X.x, X.ld, &exponent);
    Check(fabs(ldexp(norm, exponent - shift) - sqrt(squares)) <= (double)(m * n + 4) * DBL_EPSILON * sqrt(squares), "norm of 2^%d X: %g 2^%d", shift, norm, exponent);
    if (m * n == 0) continue;
    KERNELS->Divide(m, n, X.x, X.ld, norm, exponent, Y.x, Y.ld);
    for (size_t e = 0; e < m * n; e++) {
      const double expected = (double)At(Z, e) / sqrt(squares);

      Check(fabs((double)At(Y, e) - expected) <= (REAL_EPSILON + (double)(m * n + 4) * DBL_EPSILON) * fabs(expected), "quotient of 2^%d X", shift);
    }
    REAL_NAME(CheckGaps)(&Y, m, "a quotient");
    /* By a power of two, in its own place: exact */
    KERNELS->Divide(m, n, X.x, X.ld, 1, shift, X.x, X.ld);
    for (size_t e = 0; e < m * n; e++) Check(At(X, e) == At(Z, e), "quotient by 2^%d", shift);
  }
  for (size_t e = 0; e < m * n; e++) At(X, e) = 0;
  Check(KERNELS->Norm(m, n, X.x, X.ld, &exponent) == 0 && exponent == 0, "norm of zero");
  for (int bad = 0; bad < 2 && m * n > 0; bad++) {
    At(X, m * n / 2) = (REAL)(bad == 0 ? NAN : INFINITY);
    Check(KERNELS->MaxAbs(m, n, X.x, X.ld) == HUGE_VAL, "what is not finite has a largest entry");
    Check(KERNELS->Norm(m, n, X.x, X.ld, &exponent) == HUGE_VAL, "what is not finite has a norm");
  }
  free(X.x);
  free(Y.x);
  free(Z.x);
}

/*
   One step of Adam written down in double: some twenty roundings of numbers whose signs do not cancel but in
   x - r m
*/
static void REAL_NAME(CheckAdamW)(size_t m, size_t n, size_t gap, int nesterov, uint64_t *state)
{
  const double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-3, c1 = 0.19, c2 = 0.0975, rate = 0.01, keep = 0.999;
  Array        G = REAL_NAME(Create)(m, n, gap, state), X = REAL_NAME(Create)(m, n, 2 * gap, state), Y = REAL_NAME(Create)(m, n, 3 * gap, state), M = REAL_NAME(Create)(m, n, 0, state), V = REAL_NAME(Create)(m, n, 0, state);
  Array        M1 = REAL_NAME(Copy)(&M), V1 = REAL_NAME(Copy)(&V);

  for (size_t k = 0; k < V.size; k++) V.x[k] = (REAL)fabs((double)V.x[k]);
  Check(KERNELS->AdamW(m, n, G.x, G.ld, beta1, beta2, epsilon, nesterov, c1, c2, rate, keep, M.x, V.x, X.x, X.ld, M1.x, V1.x, Y.x, Y.ld) == 1, "Adam of %d x %d is not finite", (int)m, (int)n);
  for (size_t e = 0; e < m * n; e++) {
    const double g = (double)At(G, e), mean = beta1 * (double)M.x[e] + (1 - beta1) * g, square = beta2 * (double)V.x[e] + (1 - beta2) * g * g;
    const double size = fabs(beta1 * (double)M.x[e]) + fabs((1 - beta1) * g), seen = nesterov ? beta1 * mean + (1 - beta1) * g : mean, by = sqrt(square / c2) + epsilon;

    Check(fabs((double)M1.x[e] - mean) <= 3 * REAL_EPSILON * size && fabs((double)V1.x[e] - square) <= 4 * REAL_EPSILON * square, "moments of entry %d", (int)e);
    Check(fabs((double)At(Y, e) - (keep * (double)At(X, e) - rate * seen / c1 / by)) <= 20 * REAL_EPSILON * (fabs((double)At(X, e)) + rate * (size + fabs(g)) / c1 / by), "Adam of entry %d", (int)e);
  }
  REAL_NAME(CheckGaps)(&Y, m, "Adam");
  for (size_t at = 0; at < m * n; at += m * n / 5 + 1) {
    const REAL was = At(G, at);

    for (int bad = 0; bad < 3; bad++) {
      /* The square of the last is out of range */
      At(G, at) = (REAL)(bad == 0 ? (double)NAN : bad == 1 ? -(double)INFINITY : REAL_MOST);
      Check(KERNELS->AdamW(m, n, G.x, G.ld, beta1, beta2, epsilon, nesterov, c1, c2, rate, keep, M.x, V.x, X.x, X.ld, M1.x, V1.x, Y.x, Y.ld) == 0, "Adam with %g is finite", (double)At(G, at));
    }
    At(G, at) = was;
  }
  free(G.x);
  free(X.x);
  free(Y.x);
  free(M.x);
  free(V.x);
  free(M1.x);
  free(V1.x);
}

/* Stretches of T - R out of arrays and back, wherever they begin and end */
static void REAL_NAME(CheckStretches)(size_t m, size_t n, size_t gap, uint64_t *state)
{
  Array X = REAL_NAME(Create)(m, n, gap, state), Y = REAL_NAME(Create)(m, n, 2 * gap, state), Z = REAL_NAME(Copy)(&Y);
  REAL *x = (REAL *)Allocate((m * n + 1) * sizeof(*x));

  for (size_t first = 0; first <= m * n; first = 3 * first + 1) {
    for (size_t count = 0; first + count <= m * n; count = 2 * count + 1) {
      for (int without = 0; without < 2; without++) {
        x[count] = 77;
        KERNELS->Residual(m, n, X.x, X.ld, without ? NULL : Y.x, Y.ld, first, count, x);
        Check(x[count] == 77, "written behind %d entries", (int)count);
        for (size_t k = 0; k < count; k++) Check(x[k] == (without ? At(X, first + k) : At(X, first + k) - At(Y, first + k)), "entry %d of a residual of %d x %d", (int)(first + k), (int)m, (int)n);
      }
      for (int add = 0; add < 2; add++) {
        memcpy(Z.x, Y.x, Y.size * sizeof(*Y.x));
        KERNELS->Spread(m, n, first, count, x, add, 0.25, Z.x, Z.ld);
        for (size_t e = 0; e < m * n; e++)
          Check(At(Z, e) == (e < first || e >= first + count ? At(Y, e) : add ? At(Y, e) + (REAL)0.25 * x[e - first] : x[e - first]), "entry %d of %d x %d after a stretch of %d from %d", (int)e, (int)m, (int)n, (int)count, (int)first);
        REAL_NAME(CheckGaps)(&Z, m, "a stretch");
      }
    }
  }
  for (size_t first = 0; first < m; first++) {
    for (size_t count = 1; first + count <= m; count = 2 * count + 1) {
      for (int without = 0; without < 2; without++) {
        x[count * n] = 77;
        KERNELS->ResidualStrided(n, X.x, X.ld, without ? NULL : Y.x, Y.ld, first, count, x);
        Check(x[count * n] == 77, "written behind %d lines", (int)count);
        for (size_t k = 0; k < count * n; k++) {
          const size_t e = first + k / n + k % n * m;

          Check(x[k] == (without ? At(X, e) : At(X, e) - At(Y, e)), "entry %d across %d x %d", (int)e, (int)m, (int)n);
        }
      }
    }
  }
  free(X.x);
  free(Y.x);
  free(Z.x);
  free(x);
}

static void REAL_NAME(CheckScatter)(size_t m, size_t n, size_t gap, unsigned density, uint64_t *state)
{
  const size_t   entries = m * n;
  Array          Y = REAL_NAME(Create)(m, n, gap, state), Z = REAL_NAME(Copy)(&Y);
  unsigned char *bitmap = (unsigned char *)Allocate((entries + 7) / 8);
  REAL          *values = (REAL *)Allocate(entries * sizeof(*values));

  for (size_t k = 0; k < (entries + 7) / 8; k++) bitmap[k] = (unsigned char)(density == 8 ? 255 : density == 0 ? 0 : NextBits(state) & (density == 1 ? NextBits(state) & NextBits(state) : 255));
  for (size_t k = 0; k < entries; k++) values[k] = (REAL)NextNormal(state);
  for (size_t first = 0; first <= entries; first += 64 * (1 + entries / 640)) {
    for (size_t count = 0; first + count <= entries; count = count == 0 ? 1 : 3 * count) {
      size_t set = 0;

      for (size_t e = first; e < first + count; e++) set += bitmap[e / 8] >> e % 8 & 1u;
      Check(MuonKernelCountBits(bitmap, first, count) == set, "bits of %d from %d", (int)count, (int)first);
      for (int add = 1; add >= 0; add--) {
        size_t at = 0;

        KERNELS->Scatter(m, n, bitmap, first, count, values, add, (double)(REAL)0.7, Z.x, Z.ld);
        for (size_t e = 0; e < entries; e++) {
          if (e >= first && e < first + count && (bitmap[e / 8] >> e % 8 & 1)) {
            At(Y, e) = add ? At(Y, e) + (REAL)0.7 * values[at] : values[at];
            at++;
          }
          Check(At(Z, e) == At(Y, e), "entry %d of %d x %d", (int)e, (int)m, (int)n);
        }
      }
    }
  }
  REAL_NAME(CheckGaps)(&Z, m, "entries");
  free(Y.x);
  free(Z.x);
  free(bitmap);
  free(values);
}

/* Signs of zeros, of the smallest numbers and of differences that vanish */
static void REAL_NAME(CheckSigns)(size_t m, size_t n, size_t gap, uint64_t *state)
{
  const REAL     tiny = (REAL)(IS_SINGLE ? 1e-45 : 5e-324), a = (REAL)0.3;
  const REAL     special[] = {0, -(REAL)0, 1, -1, tiny, -tiny};
  Array          T = REAL_NAME(Create)(m, n, gap, state), R = REAL_NAME(Create)(m, n, 2 * gap, state), Y = REAL_NAME(Create)(m, n, gap, state), Z = REAL_NAME(Copy)(&Y);
  const size_t   bytes = (m * n + 7) / 8;
  unsigned char *bits = (unsigned char *)Allocate(bytes + 1), *expected = (unsigned char *)Allocate(bytes + 1), *zeros = (unsigned char *)Allocate(bytes + 1), *vanish = (unsigned char *)Allocate(bytes + 1);
  double         sum;

  for (size_t k = 0; k < m * n; k += 3) {
    At(T, k) = special[NextBits(state) % 6];
    if (k % 2 == 0) At(R, k) = NextBits(state) % 3 == 0 ? At(T, k) : special[NextBits(state) % 6];
  }
  for (int without = 0; without < 2; without++) {
    long double exact = 0;

    memset(expected, 0, bytes + 1);
    memset(bits, 0xA5, bytes + 1);
    expected[bytes] = 0xA5;
    memset(vanish, 0, bytes + 1);
    memset(zeros, 0, bytes + 1);
    for (size_t e = 0; e < m * n; e++) {
      const REAL x = without ? At(T, e) : At(T, e) - At(R, e);

      if (x >= 0) expected[e / 8] |= (unsigned char)(1 << e % 8);
      if (x == 0) vanish[e / 8] |= (unsigned char)(1 << e % 8);
      exact += fabsl((long double)x);
    }
    Check(KERNELS->Signs(m, n, T.x, T.ld, without ? NULL : R.x, R.ld, bits, NULL, &sum) == 0, "%d x %d is finite", (int)m, (int)n);
    Check(memcmp(bits, expected, bytes + 1) == 0, "signs of %d x %d alone", (int)m, (int)n);
    Check(KERNELS->Signs(m, n, T.x, T.ld, without ? NULL : R.x, R.ld, bits, zeros, &sum) == 0 && memcmp(zeros, vanish, bytes + 1) == 0, "zeros of %d x %d", (int)m, (int)n);
    Check(memcmp(bits, expected, bytes + 1) == 0, "signs of %d x %d", (int)m, (int)n);
    /* As above */
    Check(fabsl(sum - exact) <= (long double)(m * n) * DBL_EPSILON * exact, "sum of absolute values beside the signs of %d x %d", (int)m, (int)n);
    for (int add = 1; add >= 0; add--) {
      KERNELS->SignsAxpby(m, n, bits, NULL, add, Z.x, Z.ld, 0.3, Z.x, Z.ld);
      for (size_t e = 0; e < m * n; e++) {
        const REAL sign = expected[e / 8] >> e % 8 & 1 ? a : -a;

        At(Y, e) = add ? At(Y, e) + sign : sign;
        Check(At(Z, e) == At(Y, e), "signs in %d x %d", (int)m, (int)n);
      }
      REAL_NAME(CheckGaps)(&Z, m, "signs");
    }
  }
  for (size_t at = 0; at < m * n; at += m * n / 7 + 1) {
    for (int bad = 0; bad < 3; bad++) {
      REAL      *x   = at % 2 == 0 ? &At(T, at) : &At(R, at);
      const REAL was = *x;

      *x = (REAL)(bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY);
      Check(KERNELS->Signs(m, n, T.x, T.ld, R.x, R.ld, bits, NULL, &sum) == 1, "entry %d of %d x %d is not finite", (int)at, (int)m, (int)n);
      *x = was;
    }
  }
  free(T.x);
  free(R.x);
  free(Y.x);
  free(Z.x);
  free(bits);
  free(expected);
  free(zeros);
  free(vanish);
}

static void REAL_NAME(CheckGather)(size_t m, size_t n, size_t gap, unsigned density, uint64_t *state)
{
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  Array               T = REAL_NAME(Create)(m, n, gap, state), R = REAL_NAME(Create)(m, n, 2 * gap, state);
  unsigned char      *bitmap = (unsigned char *)Allocate((m * n + 7) / 8);
  REAL               *values = (REAL *)Allocate((m * n + 1) * sizeof(*values));

  memset(bitmap, 0, (m * n + 7) / 8);
  for (size_t e = 0; e < m * n; e++) {
    if (NextBits(state) % 8 < density) bitmap[e / 8] |= (unsigned char)(1u << e % 8);
  }
  for (int zero = 0; zero < 2; zero++) {
    size_t count = 0;

    for (size_t k = 0; k <= m * n; k++) values[k] = -7;
    Check(KERNELS->Gather(m, n, T.x, T.ld, zero ? NULL : R.x, R.ld, HUGE_VAL, bitmap, values) == 0, "%d x %d is not finite", (int)m, (int)n);
    for (size_t e = 0; e < m * n; e++) {
      if (bitmap[e / 8] >> e % 8 & 1) Check(values[count++] == (zero ? At(T, e) : At(T, e) - At(R, e)), "gathered entry %d of %d x %d", (int)e, (int)m, (int)n);
    }
    Check(values[count] == -7, "gathered more than there is");
  }
  /* Wherever it is, in T, in R or in their difference */
  for (size_t e = 0; e < m * n; e += 1 + m * n / 5) {
    REAL *t = &At(T, e), *r = &At(R, e), twas = *t, rwas = *r;

    for (size_t b = 0; b < 3; b++) {
      *t = (REAL)bad[b];
      Check(KERNELS->Gather(m, n, T.x, T.ld, R.x, R.ld, HUGE_VAL, bitmap, values) == 1 && KERNELS->Gather(m, n, T.x, T.ld, NULL, 0, HUGE_VAL, bitmap, values) == 1, "%g of T is finite", bad[b]);
      *t = twas;
      *r = (REAL)bad[b];
      Check(KERNELS->Gather(m, n, T.x, T.ld, R.x, R.ld, HUGE_VAL, bitmap, values) == 1, "%g of R is finite", bad[b]);
    }
    *t = (REAL)REAL_MOST;
    *r = -*t;
    Check(KERNELS->Gather(m, n, T.x, T.ld, R.x, R.ld, HUGE_VAL, bitmap, values) == 1, "a difference out of range is finite");
    *t = -4096;
    *r = 0;
    Check(KERNELS->Gather(m, n, T.x, T.ld, R.x, R.ld, 4096, bitmap, values) == 1, "the limit is not reached");
    *t = (REAL)4095.999;
    Check(KERNELS->Gather(m, n, T.x, T.ld, R.x, R.ld, 4096, bitmap, values) == 0, "the limit is reached too early");
    *t = twas;
    *r = rwas;
  }
  free(T.x);
  free(R.x);
  free(bitmap);
  free(values);
}

static void REAL_NAME(CheckRounding)(uint64_t *state)
{
  const double special[] = {0, 1, 1 + 1.0 / 256, 1 + 3.0 / 256, 1 + 1.0 / 128, 1 - 1.0 / 512, FLT_MIN, FLT_MAX / 2, 3.3895313892515355e38};
  const REAL   bad[3] = {(REAL)NAN, (REAL)INFINITY, (REAL)-INFINITY}, largest = (REAL)FLT_MAX;
  REAL         many[5] = {1, 2, 3, 4, 5};
  float        rounded[5];

  for (int k = 0; k < 20000; k++) {
    const size_t specials = sizeof(special) / sizeof(special[0]);
    const double draw     = (size_t)k < specials ? special[k] : ldexp(NextNormal(state), (int)(NextBits(state) % 240) - 120);
    const REAL   x        = (REAL)(k % 2 == 0 ? draw : -draw);
    float        y, z;

    if (fabs((double)x) < FLT_MIN && x != 0) continue;
    Check(KERNELS->ToSingle(1, &x, 0, &y) == 0 && (double)y == Nearest((double)x, 24), "%.17g to binary32 gave %.9g", (double)x, (double)y);
    Check(KERNELS->ToSingle(1, &x, 1, &z) == 0 && (double)z == Nearest(Nearest((double)x, 24), 8), "%.17g to bf16 gave %.9g", (double)x, (double)z);
  }
  for (int b = 0; b < 3; b++) {
    for (int at = 0; at < 5; at++) {
      many[at] = bad[b];
      Check(KERNELS->ToSingle(5, many, 0, rounded) == 1 && KERNELS->ToSingle(5, many, 1, rounded) == 1, "entry %d is not finite", at);
      many[at] = 1;
    }
  }
  Check(KERNELS->ToSingle(1, &largest, 0, rounded) == 0 && KERNELS->ToSingle(1, &largest, 1, rounded) == 1, "the largest binary32 rounds to Inf in bf16");
  if (!IS_SINGLE) {
    many[0] = (REAL)1e39;
    Check(KERNELS->ToSingle(1, many, 0, rounded) == 1 && KERNELS->ToSingle(1, many, 1, rounded) == 1, "1e39 does not fit");
  }
}

static void REAL_NAME(Check)(uint64_t *state)
{
  for (size_t r = 0; r < sizeof(lengths) / sizeof(lengths[0]); r++) {
    for (size_t c = 0; c < sizeof(lines) / sizeof(lines[0]); c++) {
      const size_t m = lengths[r], n = lines[c];

      for (size_t gap = 0; gap < 3; gap++) {
        REAL_NAME(CheckSums)(m, n, gap, state);
        REAL_NAME(CheckNorms)(m, n, gap, state);
        REAL_NAME(CheckScaled)(m, n, gap, state);
      }
      for (size_t gap = 0; gap < 2; gap++) {
        REAL_NAME(CheckAdamW)(m, n, gap, (int)gap, state);
        REAL_NAME(CheckStretches)(m, n, gap, state);
        REAL_NAME(CheckSigns)(m, n, gap, state);
        for (unsigned density = 0; density < 9; density += 4) REAL_NAME(CheckGather)(m, n, gap, density, state);
        for (unsigned density = 0; density < 9; density += density < 2 ? 1 : 6) REAL_NAME(CheckScatter)(m, n, gap, density, state);
      }
    }
  }
  REAL_NAME(CheckSigns)(513, 130, 0, state);
  REAL_NAME(CheckSigns)(1030, 67, 1, state);
  REAL_NAME(CheckRounding)(state);
}

  #undef Array
  #undef At
#endif

/*TEST

  link: internal

  testset:
    nsize: 0
    output_file: output/kernels_ok.out

    test:
    test:
      suffix: device
      requires: kokkos
      args: device

TEST*/
