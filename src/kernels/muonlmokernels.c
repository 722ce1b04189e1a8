#include "muonlmokernels.h"
#include <float.h>
#include <math.h>

/* Independent partial results: what a compiler needs to make vector code of a sum or a maximum without reordering it itself */
#define LANES 8
/* Rows of a strip: its results, one a row, stay in the first cache while the columns pass */
#define STRIP 1024
/* Entries whose largest is taken before it is compared with what came before */
#define GROUP 64

void MuonKernelColumnSums(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, int power, double *sum)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x        = X + j * ldx;
    double                  s[LANES] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t                  i        = 0;

    if (power == 1) {
      for (; i + LANES <= m; i += LANES) {
        for (size_t k = 0; k < LANES; k++) s[k] += fabs((double)x[i + k]);
      }
      for (; i < m; i++) s[i % LANES] += fabs((double)x[i]);
    } else {
      for (; i + LANES <= m; i += LANES) {
        for (size_t k = 0; k < LANES; k++) s[k] += (double)x[i + k] * (double)x[i + k];
      }
      for (; i < m; i++) s[i % LANES] += (double)x[i] * (double)x[i];
    }
    sum[j] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  }
}

int MuonKernelSumInRange(int power, double sum)
{
#if defined(MUON_KERNEL_SINGLE)
  /* The square of any single, down to the denormal ones, is a normal double */
  (void)power;
  (void)sum;
  return 1;
#else
  /* A square that underflows is off by 2^-1075 at most, which is nothing beside a sum above 2^-900; a sum of 0 may be squares that vanished */
  return sum <= DBL_MAX && (power == 1 || sum >= ldexp(1.0, -900));
#endif
}

void MuonKernelColumnMost(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double *most)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x        = X + j * ldx;
    MuonKernelScalar        s[LANES] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t                  i        = 0;

    for (; i + LANES <= m; i += LANES) {
      for (size_t k = 0; k < LANES; k++) {
        const MuonKernelScalar a = (MuonKernelScalar)fabs((double)x[i + k]);

        s[k] = a > s[k] ? a : s[k];
      }
    }
    for (; i < m; i++) {
      const MuonKernelScalar a = (MuonKernelScalar)fabs((double)x[i]);

      s[0] = a > s[0] ? a : s[0];
    }
    for (size_t k = 1; k < LANES; k++) s[0] = s[k] > s[0] ? s[k] : s[0];
    most[j] = (double)s[0];
  }
}

/* t^p for t in [0, 1] */
static double Power(double t, double p)
{
  return p == 2.0 ? t * t : (p == 1.0 ? t : pow(t, p));
}

void MuonKernelColumnPowers(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double p, const double *most, double *sum)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;

    sum[j] = 0;
    if (most[j] == 0) continue;
    for (size_t i = 0; i < m; i++) sum[j] += Power(fabs((double)x[i]) / most[j], p);
  }
}

void MuonKernelColumnArgMax(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double *most, int64_t *row)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x     = X + j * ldx;
    MuonKernelScalar        best  = 0;
    size_t                  where = 0, i;

    for (size_t top = 0; top < m; top += GROUP) {
      const size_t     bottom   = m - top < GROUP ? m : top + GROUP;
      MuonKernelScalar s[LANES] = {0, 0, 0, 0, 0, 0, 0, 0};

      for (i = top; i + LANES <= bottom; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
          const MuonKernelScalar a = (MuonKernelScalar)fabs((double)x[i + k]);

          s[k] = a > s[k] ? a : s[k];
        }
      }
      for (; i < bottom; i++) {
        const MuonKernelScalar a = (MuonKernelScalar)fabs((double)x[i]);

        s[0] = a > s[0] ? a : s[0];
      }
      for (size_t k = 1; k < LANES; k++) s[0] = s[k] > s[0] ? s[k] : s[0];
      /* Groups come in order: among equals the first stays */
      if (s[0] > best) {
        best  = s[0];
        where = top;
      }
    }
    most[j] = (double)best;
    row[j]  = -1;
    for (i = where; i < m && row[j] < 0 && best > 0; i++) {
      if (x[i] == best || x[i] == -best) row[j] = (int64_t)i;
    }
  }
}

void MuonKernelRowArgMax(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, MuonKernelScalar *most, int64_t *column)
{
  for (size_t i = 0; i < m; i++) {
    most[i]   = 0;
    column[i] = -1;
  }
  for (size_t top = 0; top < m; top += STRIP) {
    const size_t bottom = m - top < STRIP ? m : top + STRIP;

    for (size_t j = 0; j < n; j++) {
      const MuonKernelScalar *x = X + j * ldx;

      for (size_t i = top; i < bottom; i++) {
        const MuonKernelScalar a = (MuonKernelScalar)fabs((double)x[i]);

        /* Columns come in order: among equals the first stays */
        column[i] = a > most[i] ? (int64_t)j : column[i];
        most[i]   = a > most[i] ? a : most[i];
      }
    }
  }
}

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

/* A strip of rows whose sums are out of range: those are computed again, scaled by their largest entry */
static void RowNormsScaled(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, int power, double *size, int *exponent)
{
  double most[STRIP], sum[STRIP];
  int    any = 0;

  for (size_t i = 0; i < m; i++) most[i] = sum[i] = 0;
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;

    for (size_t i = 0; i < m; i++) most[i] = fabs((double)x[i]) > most[i] ? fabs((double)x[i]) : most[i];
  }
  for (size_t i = 0; i < m; i++) {
    if (MuonKernelSumInRange(power, size[i])) most[i] = 0;
    any |= most[i] != 0;
  }
  /* Most often they are rows of zeros */
  for (size_t j = 0; any && j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;

    for (size_t i = 0; i < m; i++) {
      if (most[i] != 0) sum[i] += Power(fabs((double)x[i]) / most[i], power);
    }
  }
  for (size_t i = 0; i < m; i++) {
    if (most[i] != 0) MuonKernelSliceNorms(1, power, most + i, sum + i, size + i, exponent + i);
    else MuonKernelSliceNorms(1, power, NULL, size + i, size + i, exponent + i);
  }
}

void MuonKernelRowNorms(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, int power, double *size, int *exponent)
{
  for (size_t top = 0; top < m; top += STRIP) {
    const size_t count = m - top < STRIP ? m - top : STRIP;
    double      *s     = size + top;
    int          good  = 1;

    for (size_t i = 0; i < count; i++) s[i] = 0;
    for (size_t j = 0; j < n; j++) {
      const MuonKernelScalar *x = X + top + j * ldx;

      if (power == 1) {
        for (size_t i = 0; i < count; i++) s[i] += fabs((double)x[i]);
      } else {
        for (size_t i = 0; i < count; i++) s[i] += (double)x[i] * (double)x[i];
      }
    }
    for (size_t i = 0; i < count; i++) good &= MuonKernelSumInRange(power, s[i]);
    if (good) MuonKernelSliceNorms(count, power, NULL, s, s, exponent + top);
    else RowNormsScaled(count, n, X + top, ldx, power, s, exponent + top);
  }
}

double MuonKernelScaledSum(size_t count, const MuonKernelScalar *x, int *exponent)
{
  double sum = 0;

  for (size_t k = 0; k < count; k++) sum += x[k];
  if (sum <= DBL_MAX) return frexp(sum, exponent);
  /* There are fewer than 2^64 of them */
  sum = 0;
  for (size_t k = 0; k < count; k++) sum += ldexp((double)x[k], -64);
  sum = frexp(sum, exponent);
  *exponent += 64;
  return sum;
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
    f1[k] = size[k] != 0 ? ldexp(-(weight != NULL ? weight[k] : 1.0) / size[k], -(exponent[k] - half)) : 0;
  }
}

void MuonKernelColumnsScale(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const double *f0, const double *f1, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;
    MuonKernelScalar       *y = Y + j * ldy;
    const double            a = f0[j], b = f1[j];

    if (b == 0) {
      for (size_t i = 0; i < m; i++) y[i] = 0;
    } else {
      for (size_t i = 0; i < m; i++) y[i] = (MuonKernelScalar)(x[i] * a * b);
    }
  }
}

void MuonKernelRowsScale(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const double *f0, const double *f1, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t top = 0; top < m; top += STRIP) {
    const size_t bottom = m - top < STRIP ? m : top + STRIP;

    for (size_t j = 0; j < n; j++) {
      const MuonKernelScalar *x = X + j * ldx;
      MuonKernelScalar       *y = Y + j * ldy;

      for (size_t i = top; i < bottom; i++) y[i] = (MuonKernelScalar)(x[i] * f0[i] * f1[i]);
    }
  }
}

/* No branch on the sign of an entry, which no processor predicts */
static int Sign(MuonKernelScalar x)
{
  return (x > 0) - (x < 0);
}

void MuonKernelColumnsSign(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const double *f, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x    = X + j * ldx;
    MuonKernelScalar       *y    = Y + j * ldy;
    const MuonKernelScalar  size = (MuonKernelScalar)fabs(f[j]);
    const int               sign = f[j] < 0 ? -1 : 1;

    for (size_t i = 0; i < m; i++) y[i] = size * (MuonKernelScalar)(sign * Sign(x[i]));
  }
}

void MuonKernelColumnsPower(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, double power, const double *most, const double *f, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;
    MuonKernelScalar       *y = Y + j * ldy;

    for (size_t i = 0; i < m; i++) y[i] = x[i] == 0 ? (MuonKernelScalar)0 : (MuonKernelScalar)((x[i] > 0 ? f[j] : -f[j]) * Power(fabs((double)x[i]) / most[j], power));
  }
}

void MuonKernelColumnsPick(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const int64_t *row, const double *f, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    const MuonKernelScalar *x = X + j * ldx;
    MuonKernelScalar       *y = Y + j * ldy;

    for (size_t i = 0; i < m; i++) y[i] = 0;
    if (row[j] >= 0) y[row[j]] = (MuonKernelScalar)(x[row[j]] > 0 ? f[j] : -f[j]);
  }
}

void MuonKernelRowsPick(size_t m, size_t n, const MuonKernelScalar *X, size_t ldx, const int64_t *column, double f, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    MuonKernelScalar *y = Y + j * ldy;

    for (size_t i = 0; i < m; i++) y[i] = 0;
  }
  for (size_t i = 0; i < m; i++) {
    if (column[i] >= 0) Y[i + (size_t)column[i] * ldy] = (MuonKernelScalar)(X[i + (size_t)column[i] * ldx] > 0 ? f : -f);
  }
}

void MuonKernelRankOne(size_t m, size_t n, double a, const MuonKernelScalar *u, const MuonKernelScalar *v, MuonKernelScalar *Y, size_t ldy)
{
  for (size_t j = 0; j < n; j++) {
    MuonKernelScalar *y = Y + j * ldy;
    const double      b = a * v[j];

    for (size_t i = 0; i < m; i++) y[i] = (MuonKernelScalar)(b * u[i]);
  }
}
