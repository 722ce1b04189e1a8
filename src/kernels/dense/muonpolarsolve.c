#if !defined(REAL)
  #include "muonpolarsolve.h"
  #include "muonpanels.h"
  #include <petscmuon/private/muonkernelsdevice.h>
  #include <math.h>
  #include <string.h>

  /* As in muonpolarreal.c: this file includes itself once for each precision */
  #define TWICE "../dense/muonpolarsolve.c"
  #include "../array/muontwice.h"

int MuonKernelRealCholesky(const MuonKernelReal *real, size_t s, void *A)
{
  if (real->factors != NULL) return real->factors->cholesky(s, A) != 0;
  return real->size == sizeof(float) ? CholeskySingle(s, (float *)A) : CholeskyDouble(s, (double *)A);
}

double MuonKernelRealInverseNorm(const MuonKernelReal *real, size_t s, void *A, void *work)
{
  return real->size == sizeof(float) ? InverseNormSingle(s, (float *)A, (float *)work) : InverseNormDouble(s, (double *)A, (double *)work);
}

size_t MuonKernelRealInverseNormScratch(const MuonKernelReal *real, size_t s)
{
  return s * (5 * real->size + sizeof(MuonBLASInt));
}

void MuonKernelRealSolve(const MuonKernelReal *real, int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)
{
  if (real->factors != NULL) real->factors->solve(left, transposed, s, l, L, Y, ldy);
  else if (real->size == sizeof(float)) SolveSingle(left, transposed, s, l, (const float *)L, (float *)Y, ldy);
  else SolveDouble(left, transposed, s, l, (const double *)L, (double *)Y, ldy);
}

void MuonKernelRealTimes(const MuonKernelReal *real, int left, int transposed, size_t s, size_t l, const void *L, void *Y, size_t ldy)
{
  if (real->factors != NULL) real->factors->times(left, transposed, s, l, L, Y, ldy);
  else if (real->size == sizeof(float)) TimesSingle(left, transposed, s, l, (const float *)L, (float *)Y, ldy);
  else TimesDouble(left, transposed, s, l, (const double *)L, (double *)Y, ldy);
}

void MuonKernelRealSetIdentity(const MuonKernelReal *real, size_t s, double a, void *A)
{
  if (real->memory == MUON_DEVICE) MuonDeviceGet()->zero(s * s * real->size, A);
  else memset(A, 0, s * s * real->size);
  MuonKernelRealShift(real, s, a, A);
}

double MuonKernelRealDistance(const MuonKernelReal *real, size_t s, const void *A, double scale)
{
  if (real->factors != NULL) return real->factors->distance(s, A, scale);
  return real->size == sizeof(float) ? DistanceSingle(s, (const float *)A, scale) : DistanceDouble(s, (const double *)A, scale);
}

double MuonKernelRealTrace(const MuonKernelReal *real, size_t s, const void *A)
{
  double trace = 0.0;

  if (real->factors != NULL) return real->factors->trace(s, A);
  for (size_t i = 0; i < s; i++) trace += real->size == sizeof(float) ? (double)((const float *)A)[i * (s + 1)] : ((const double *)A)[i * (s + 1)];
  return trace;
}

void MuonKernelHalley(double l, double weight[3], double *next)
{
  const double q = l * l, d = cbrt(4.0 * (1.0 - q) / (q * q)), r = sqrt(1.0 + d);

  weight[0] = r + 0.5 * sqrt(8.0 - 4.0 * d + 8.0 * (2.0 - q) / (q * r));
  weight[1] = 0.25 * (weight[0] - 1.0) * (weight[0] - 1.0);
  weight[2] = weight[0] + weight[1] - 1.0;
  *next     = l * (weight[0] + weight[1] * q) / (1.0 + weight[2] * q);
  if (!(*next < 1.0)) *next = 1.0;
}

#else

static int REAL_NAME(Cholesky)(size_t s, REAL *A)
{
  const MuonBLASInt side = (MuonBLASInt)s;
  MuonBLASInt       info = 0;

  if (s > 0) REAL_POTRF("L", &side, A, &side, &info);
  return info != 0;
}

static double REAL_NAME(InverseNorm)(size_t s, REAL *A, REAL *work)
{
  const MuonBLASInt side     = (MuonBLASInt)s;
  REAL             *diagonal = work, norm = 1, inverse = 0;
  MuonBLASInt       info = 0, *integers = (MuonBLASInt *)(void *)(work + 5 * s);

  if (s == 0) return 0.0;
  for (size_t i = 0; i < s; i++) diagonal[i] = A[i * (s + 1)];
  REAL_POTRF("U", &side, A, &side, &info);
  /* With a norm of A of one the reciprocal of the condition number is that of the inverse's norm */
  if (info == 0) REAL_POCON("U", &side, A, &side, &norm, &inverse, work + s, integers, &info);
  for (size_t i = 0; i < s; i++) A[i * (s + 1)] = diagonal[i];
  return info == 0 && inverse > 0 ? 1.0 / (double)inverse : 0.0;
}

static void REAL_NAME(Solve)(int left, int transposed, size_t s, size_t l, const REAL *L, REAL *Y, size_t ldy)
{
  const MuonBLASInt side = (MuonBLASInt)s, rows = (MuonBLASInt)(left ? s : l), columns = (MuonBLASInt)(left ? l : s), ld = (MuonBLASInt)ldy;
  const REAL        one = 1;

  if (s == 0 || l == 0) return;
  REAL_NAME(MuonPanelTrsm)(left ? "L" : "R", !transposed == !left ? "T" : "N", &rows, &columns, &one, L, &side, Y, &ld);
}

static void REAL_NAME(Times)(int left, int transposed, size_t s, size_t l, const REAL *L, REAL *Y, size_t ldy)
{
  const MuonBLASInt side = (MuonBLASInt)s, rows = (MuonBLASInt)(left ? s : l), columns = (MuonBLASInt)(left ? l : s), ld = (MuonBLASInt)ldy;
  const REAL        one = 1;

  if (s == 0 || l == 0) return;
  REAL_NAME(MuonPanelTrmm)(left ? "L" : "R", !transposed == !left ? "T" : "N", &rows, &columns, &one, L, &side, Y, &ld);
}

static double REAL_NAME(Distance)(size_t s, const REAL *A, double scale)
{
  double sum = 0.0;

  for (size_t j = 0; j < s; j++) {
    const double d = (double)A[j * (s + 1)] / scale - 1.0;

    sum += d * d;
    for (size_t i = j + 1; i < s; i++) sum += 2.0 * ((double)A[i + j * s] / scale) * ((double)A[i + j * s] / scale);
  }
  return sqrt(sum);
}
#endif
