#if !defined(REAL)
/*
   Norms of the vectors of an array, their sums and their largest entries. This file includes itself once for each
   precision: REAL is the type of an entry, REAL_NAME(name) the name of a function.
*/
  #include "muonlmokernels.h"
  #include "muonpass.h"

  /* The number of strided vectors at a time: their partial results stay in the first cache */
  #define STRIP 256
  #define GROUP 64

  #define TWICE "muonlmokernels.c"
  #include "muontwice.h"

void MuonKernelVectorNorms(size_t count, double p, const double *most, const double *sum, double *size, int *exponent)
{
  for (size_t k = 0; k < count; k++) {
    int first = 0, second = 0;

    size[k] = p == 1.0 ? sum[k] : (p == 2.0 ? sqrt(sum[k]) : pow(sum[k], 1 / p));
    if (most != NULL) size[k] *= frexp(most[k], &first);
    size[k]     = frexp(size[k], &second);
    exponent[k] = first + second;
  }
}

/* Finds the largest c. Returns whether there is one that is not 0 */
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

/* c_k divided by the largest, in [0, 1] */
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

double MuonKernelScaledNorm(size_t count, double p, const double *size, const int *exponent, int *total)
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

void MuonKernelScaledDual(size_t count, double p, const double *size, const int *exponent, double *weight)
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

void MuonKernelVectorFactors(size_t count, const double *size, const int *exponent, const double *weight, double *f0, double *f1)
{
  for (size_t k = 0; k < count; k++) {
    const int half = exponent[k] / 2;

    f0[k] = size[k] != 0 ? ldexp(1.0, -half) : 0;
    f1[k] = size[k] != 0 ? ldexp(-weight[k] / size[k], -(exponent[k] - half)) : 0;
  }
}

#else

/* Entry number k of a vector is added to partial sum k % LANES, for contiguous and for strided vectors */
MUON_KERNEL_CLONES void REAL_NAME(MuonKernelVectorSums)(size_t m, size_t n, const void *X, size_t ldx, int strided, int power, double *sum)
{
  const REAL *x = (const REAL *)X;

  for (size_t j = 0; j < n && !strided; j++) {
    sum[j] = 0;
    if (power == 1) ADD_LANES(sum[j], 0, m, fabs((double)AT(x)));
    else ADD_LANES(sum[j], 0, m, (double)AT(x) * (double)AT(x));
  }
  for (size_t top = 0; top < m && strided; top += STRIP) {
    const size_t bottom          = m - top < STRIP ? m : top + STRIP;
    double       s[LANES][STRIP] = {{0}};

    for (size_t j = 0; j < n; j++) {
      for (size_t i = top; i < bottom; i++) s[j % LANES][i - top] += power == 1 ? fabs((double)AT(x)) : (double)AT(x) * (double)AT(x);
    }
    for (size_t i = 0; i < bottom - top; i++) sum[top + i] = ((s[0][i] + s[4][i]) + (s[1][i] + s[5][i])) + ((s[2][i] + s[6][i]) + (s[3][i] + s[7][i]));
  }
}

/* The order is that of vectors and entries, so that the first of equal entries is found. A NaN is never found */
void REAL_NAME(MuonKernelVectorArgMax)(size_t m, size_t n, const void *X, size_t ldx, int strided, double *most, int64_t *place)
{
  const REAL *x = (const REAL *)X;

  for (size_t k = 0; k < (strided ? m : n); k++) {
    most[k]  = 0;
    place[k] = -1;
  }
  for (size_t j = 0; j < n && !strided; j++) {
    REAL   best  = 0;
    size_t where = 0;

    /* The largest of a group, then a comparison with the largest before it */
    for (size_t top = 0; top < m; top += GROUP) {
      const size_t bottom = m - top < GROUP ? m : top + GROUP;
      REAL         here   = 0;

      MAX_LANES(here, REAL, top, bottom, (REAL)fabs((double)AT(x)));
      where = here > best ? top : where;
      best  = here > best ? here : best;
    }
    most[j] = (double)best;
    for (size_t i = where; i < m && place[j] < 0 && best > 0; i++) {
      if (fabs((double)AT(x)) == (double)best) place[j] = (int64_t)i;
    }
  }
  for (size_t top = 0; top < m && strided; top += STRIP) {
    const size_t bottom = m - top < STRIP ? m : top + STRIP;

    for (size_t j = 0; j < n; j++) {
      for (size_t i = top; i < bottom; i++) {
        const double a = fabs((double)AT(x));

        place[i] = a > most[i] ? (int64_t)j : place[i];
        most[i]  = a > most[i] ? a : most[i];
      }
    }
  }
}
#endif
