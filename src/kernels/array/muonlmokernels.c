#if !defined(REAL)
/*
   Norms of slices of arrays, their largest entries, and the matrices made of them. This file includes itself
   once for each precision: REAL is the type of an entry, REAL_NAME(name) the name of a function.
*/
  #include "muonlmokernels.h"
  #include "muonclones.h"
  #include <math.h>

  /*
     Independent partial results: what a compiler needs to make vector code of a sum or a maximum without
     reordering it itself
  */
  #define LANES 8
  /* Slices across the lines whose partial results stay in the first cache while the lines pass */
  #define STRIP 256
  /* Entries whose largest is taken before it is compared with what came before */
  #define GROUP 64

/* t^p for t in [0, 1] */
static double Power(double t, double p)
{
  return p == 2.0 ? t * t : (p == 1.0 ? t : pow(t, p));
}

  #define TWICE "muonlmokernels.c"
  #include "muontwice.h"

void MuonKernelSliceNorms(size_t count, double p, const double *most, const double *sum, double *size, int *exponent)
{
  for (size_t k = 0; k < count; k++) {
    int first = 0, second = 0;

    size[k] = p == 1.0 ? sum[k] : (p == 2.0 ? sqrt(sum[k]) : pow(sum[k], 1 / p));
    if (most != NULL) size[k] *= frexp(most[k], &first);
    size[k]     = frexp(size[k], &second);
    exponent[k] = first + second;
  }
}

/* The largest of c, and whether there is one that is not 0 */
static int Largest(size_t count, const double *size, const int *exponent, size_t *largest)
{
  int any = 0;

  *largest = 0;
  for (size_t k = 0; k < count; k++) {
    if (size[k] == 0) continue;
    if (!any || exponent[k] > exponent[*largest] || (exponent[k] == exponent[*largest] && size[k] > size[*largest])) *largest = k;
    any = 1;
  }
  return any;
}

/* c_k over the largest, in [0, 1] */
static double Ratio(const double *size, const int *exponent, size_t k, size_t largest)
{
  return ldexp(size[k] / size[largest], exponent[k] - exponent[largest]);
}

static double SumOfRatios(size_t count, double p, const double *size, const int *exponent, size_t largest)
{
  double sum = 0;

  for (size_t k = 0; k < count; k++) {
    if (size[k] != 0) sum += Power(Ratio(size, exponent, k, largest), p);
  }
  return sum;
}

double MuonKernelVectorNorm(size_t count, double p, const double *size, const int *exponent, int *total)
{
  size_t largest;
  double norm;
  int    more;

  *total = 0;
  if (!Largest(count, size, exponent, &largest)) return 0;
  norm = size[largest];
  if (p == 1.0) norm *= SumOfRatios(count, p, size, exponent, largest);
  else if (p == 2.0) norm *= sqrt(SumOfRatios(count, p, size, exponent, largest));
  else if (p != HUGE_VAL) norm *= pow(SumOfRatios(count, p, size, exponent, largest), 1 / p);
  norm   = frexp(norm, &more);
  *total = exponent[largest] + more;
  return norm;
}

void MuonKernelVectorDual(size_t count, double p, const double *size, const int *exponent, double *weight)
{
  size_t largest;
  double scale;

  for (size_t k = 0; k < count; k++) weight[k] = 0;
  if (!Largest(count, size, exponent, &largest)) return;
  if (p == 1.0) weight[largest] = 1;
  else if (p == HUGE_VAL) {
    for (size_t k = 0; k < count; k++) weight[k] = size[k] != 0;
  } else {
    /* (p*-1) is 1/(p-1), and (p*-1)/p* is 1/p */
    scale = pow(SumOfRatios(count, p / (p - 1), size, exponent, largest), -1 / p);
    for (size_t k = 0; k < count; k++) {
      if (size[k] != 0) weight[k] = scale * Power(Ratio(size, exponent, k, largest), 1 / (p - 1));
    }
  }
}

void MuonKernelSliceFactors(size_t count, const double *size, const int *exponent, const double *weight, double *f0, double *f1)
{
  for (size_t k = 0; k < count; k++) {
    const int half = exponent[k] / 2;

    f0[k] = size[k] != 0 ? ldexp(1.0, -half) : 0;
    f1[k] = size[k] != 0 ? ldexp(-weight[k] / size[k], -(exponent[k] - half)) : 0;
  }
}

#else

/* |x| or its square, one for each entry of a piece of a line */
MUON_KERNEL_INLINE void REAL_NAME(AddPowers)(size_t count, const REAL *x, int power, double *sum)
{
  if (power == 1) {
    for (size_t i = 0; i < count; i++) sum[i] += fabs((double)x[i]);
  } else {
    for (size_t i = 0; i < count; i++) sum[i] += (double)x[i] * (double)x[i];
  }
}

/* Entry number k of a slice goes to partial sum k % LANES, whichever way the slice lies */
MUON_KERNEL_CLONES void REAL_NAME(MuonKernelSliceSums)(size_t m, size_t n, const void *X, size_t ldx, int across, int power, double *sum)
{
  if (across) {
    for (size_t top = 0; top < m; top += STRIP) {
      const size_t count           = m - top < STRIP ? m - top : STRIP;
      double       s[LANES][STRIP] = {{0}};

      for (size_t j = 0; j < n; j++) REAL_NAME(AddPowers)(count, (const REAL *)X + j * ldx + top, power, s[j % LANES]);
      for (size_t i = 0; i < count; i++) sum[top + i] = ((s[0][i] + s[4][i]) + (s[1][i] + s[5][i])) + ((s[2][i] + s[6][i]) + (s[3][i] + s[7][i]));
    }
    return;
  }
  for (size_t j = 0; j < n; j++) {
    const REAL *x        = (const REAL *)X + j * ldx;
    double      s[LANES] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t      i        = 0;

    if (power == 1) {
      for (; i + LANES <= m; i += LANES) {
        for (size_t k = 0; k < LANES; k++) s[k] += fabs((double)x[i + k]);
      }
    } else {
      for (; i + LANES <= m; i += LANES) {
        for (size_t k = 0; k < LANES; k++) s[k] += (double)x[i + k] * (double)x[i + k];
      }
    }
    REAL_NAME(AddPowers)(m - i, x + i, power, s);
    sum[j] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  }
}

void REAL_NAME(MuonKernelSlicePowers)(size_t m, size_t n, const void *X, size_t ldx, int across, double p, const double *most, double *sum)
{
  for (size_t k = 0; k < (across ? m : n); k++) sum[k] = 0;
  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx;

    for (size_t i = 0; i < m; i++) {
      const size_t k = across ? i : j;

      if (most[k] != 0) sum[k] += Power(fabs((double)x[i]) / most[k], p);
    }
  }
}

/* Of the lines: the largest of a group first, then whether it is larger than what came before */
static void REAL_NAME(LineArgMax)(size_t m, size_t n, const REAL *X, size_t ldx, double *most, int64_t *place)
{
  for (size_t j = 0; j < n; j++) {
    const REAL *x     = X + j * ldx;
    REAL        best  = 0;
    size_t      where = 0, i;

    for (size_t top = 0; top < m; top += GROUP) {
      const size_t bottom   = m - top < GROUP ? m : top + GROUP;
      REAL         s[LANES] = {0, 0, 0, 0, 0, 0, 0, 0};

      for (i = top; i + LANES <= bottom; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
          const REAL a = (REAL)fabs((double)x[i + k]);

          s[k] = a > s[k] ? a : s[k];
        }
      }
      for (; i < bottom; i++) {
        const REAL a = (REAL)fabs((double)x[i]);

        s[0] = a > s[0] ? a : s[0];
      }
      for (size_t k = 1; k < LANES; k++) s[0] = s[k] > s[0] ? s[k] : s[0];
      /* Groups come in order: among equals the first stays */
      if (s[0] > best) {
        best  = s[0];
        where = top;
      }
    }
    most[j]  = (double)best;
    place[j] = -1;
    for (i = where; i < m && place[j] < 0 && best > 0; i++) {
      if (x[i] == best || x[i] == -best) place[j] = (int64_t)i;
    }
  }
}

void REAL_NAME(MuonKernelSliceArgMax)(size_t m, size_t n, const void *X, size_t ldx, int across, double *most, int64_t *place)
{
  if (!across) {
    REAL_NAME(LineArgMax)(m, n, (const REAL *)X, ldx, most, place);
    return;
  }
  for (size_t i = 0; i < m; i++) {
    most[i]  = 0;
    place[i] = -1;
  }
  for (size_t top = 0; top < m; top += STRIP) {
    const size_t bottom = m - top < STRIP ? m : top + STRIP;

    for (size_t j = 0; j < n; j++) {
      const REAL *x = (const REAL *)X + j * ldx;

      for (size_t i = top; i < bottom; i++) {
        const double a = fabs((double)x[i]);

        /* Lines come in order: among equals the first stays */
        place[i] = a > most[i] ? (int64_t)j : place[i];
        most[i]  = a > most[i] ? a : most[i];
      }
    }
  }
}

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelSliceScale)(size_t m, size_t n, const void *X, size_t ldx, int across, const double *f0, const double *f1, void *Y, size_t ldy)
{
  for (size_t top = 0; top < m; top += STRIP) {
    const size_t bottom = m - top < STRIP ? m : top + STRIP;

    for (size_t j = 0; j < n; j++) {
      const REAL *x = (const REAL *)X + j * ldx;
      REAL       *y = (REAL *)Y + j * ldy;

      if (across) {
        for (size_t i = top; i < bottom; i++) y[i] = f1[i] == 0 ? (REAL)0 : (REAL)(x[i] * f0[i] * f1[i]);
      } else if (f1[j] == 0) {
        for (size_t i = top; i < bottom; i++) y[i] = 0;
      } else {
        const double a = f0[j], b = f1[j];

        for (size_t i = top; i < bottom; i++) y[i] = (REAL)(x[i] * a * b);
      }
    }
  }
}

/* No branch on the sign of an entry, which no processor predicts; and no negative zero */
MUON_KERNEL_INLINE REAL REAL_NAME(SignTimes)(REAL x, double f)
{
  return (REAL)fabs(f) * (REAL)((f < 0 ? -1 : 1) * ((x > 0) - (x < 0)));
}

MUON_KERNEL_CLONES void REAL_NAME(MuonKernelSliceSign)(size_t m, size_t n, const void *X, size_t ldx, int across, const double *f, void *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx;
    REAL       *y = (REAL *)Y + j * ldy;

    if (across) {
      for (size_t i = 0; i < m; i++) y[i] = REAL_NAME(SignTimes)(x[i], f[i]);
    } else {
      const double factor = f[j];

      for (size_t i = 0; i < m; i++) y[i] = REAL_NAME(SignTimes)(x[i], factor);
    }
  }
}

void REAL_NAME(MuonKernelSlicePower)(size_t m, size_t n, const void *X, size_t ldx, int across, double power, const double *most, const double *f, void *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    const REAL *x = (const REAL *)X + j * ldx;
    REAL       *y = (REAL *)Y + j * ldy;

    for (size_t i = 0; i < m; i++) {
      const size_t k = across ? i : j;

      y[i] = x[i] == 0 ? (REAL)0 : (REAL)((x[i] > 0 ? f[k] : -f[k]) * Power(fabs((double)x[i]) / most[k], power));
    }
  }
}

void REAL_NAME(MuonKernelSlicePick)(size_t m, size_t n, const void *X, size_t ldx, int across, const int64_t *place, const double *f, void *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    REAL *y = (REAL *)Y + j * ldy;

    for (size_t i = 0; i < m; i++) y[i] = 0;
  }
  for (size_t k = 0; k < (across ? m : n); k++) {
    const size_t i = across ? k : (size_t)place[k], j = across ? (size_t)place[k] : k;

    if (place[k] >= 0) ((REAL *)Y)[i + j * ldy] = (REAL)(((const REAL *)X)[i + j * ldx] > 0 ? f[k] : -f[k]);
  }
}

void REAL_NAME(MuonKernelRankOne)(size_t m, size_t n, double a, const double *u, const double *v, void *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    REAL        *y = (REAL *)Y + j * ldy;
    const double b = a * v[j];

    for (size_t i = 0; i < m; i++) y[i] = (REAL)(b * u[i]);
  }
}

#endif
