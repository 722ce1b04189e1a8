static char help[] = "Zolotarev's approximation on hard spectra against a Jacobi SVD and the scalar function, written down a second time.\n\n";

#include "polar_common.h"
#include "zolotarev_common.h"

/*
   By how much the function of the Gram matrix changes along the singular vectors i and j, for an error of
   that matrix of norm 1: a divided difference times the singular value that is multiplied by it
*/
static double Sensitivity(const Zolotarev *f, double xi, double xj)
{
  double sum = 0.0;

  for (int k = 0; k < f->poles; k++) sum += (double)(f->a[k] / ((xi * xi + f->c[k]) * (xj * xj + f->c[k])));
  return (double)f->scale * sum * xj;
}

/* The bound of the largest singular value that is written down in the man page */
static double Bound(int m, int n, const double *A)
{
  const int s = PetscMin(m, n), l = PetscMax(m, n);
  double    most = 0.0, squares = 0.0;

  for (int i = 0; i < s; i++) {
    double row = 0.0;

    for (int j = 0; j < s; j++) {
      double sum = 0.0;

      for (int k = 0; k < l; k++) sum += m < n ? A[i + k * m] * A[j + k * m] : A[k + i * m] * A[k + j * m];
      row += fabs(sum);
      squares += sum * sum;
    }
    most = PetscMax(most, row);
  }
  return sqrt(PetscMin(most, sqrt(squares)));
}

int main(int argc, char **argv)
{
  static const int   shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {24, 24}, {16, 40}, {40, 16}, {33, 32}, {20, 110}, {45, 52}};
  MuonPolar          polar;
  MuonPolarPrecision precision;
  Zolotarev          f;
  PetscReal          least = 0.0;
  double             interval, unit;
  int                poles, below = 0, within = 0;
  char               text[256];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestMake(PETSC_COMM_SELF, "type zolotarev", &polar));
  PetscCall(TestDescribe(polar, sizeof(text), text));
  TestCheck(sscanf(strstr(text, " poles from") - 2, "%d poles from %lg", &poles, &interval) == 2, "View says %s", text);
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-least", &least, NULL));
  f    = ZolotarevOf(poles, interval);
  unit = precision == MUON_POLAR_PRECISION_SINGLE || PetscDefined(USE_REAL_SINGLE) ? 5.96e-8 : 1.11e-16;

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1], s = PetscMin(m, n);
    double   *A, *Q, *expected, *U, *V, *W, *X, *Z, *sigma, *values;

    PetscCall(PetscMalloc5(m * n, &A, m * n, &Q, m * n, &expected, m * s, &U, n * s, &V));
    PetscCall(PetscMalloc5(m * s, &W, n * s, &Z, m * s, &X, s, &sigma, s, &values));
    /* The second time the matrix has its spectrum on the diagonal */
    for (int spectrum = 0; spectrum < 2 * TEST_SPECTRA; spectrum++) {
      double nu, bound, top, nuclear = 0.0, inner = 0.0, slack = 0.0;
      char   what[64];

      PetscCall(PetscSNPrintf(what, sizeof(what), "%s %d x %d", testspectra[spectrum % TEST_SPECTRA], m, n));
      TestMatrix(m, n, spectrum % TEST_SPECTRA, A);
      if (spectrum >= TEST_SPECTRA) {
        TestSVD(m, n, A, sigma, U, V);
        PetscCall(PetscArrayzero(A, m * n));
        for (int j = 0; j < s; j++) A[j + j * m] = (double)(PetscScalar)(j % 2 == 0 ? sigma[j] : -sigma[j]);
      }
      PetscCall(TestApply(polar, m, n, spectrum % 3, A, MUON_STATUS_OK, Q));

      TestSVD(m, n, A, sigma, U, V);
      nu = Bound(m, n, A);
      PetscCall(PetscArraycpy(W, U, m * s));
      for (int j = 0; j < s; j++) {
        const double x = nu > 0.0 ? sigma[j] / nu : 0.0, y = (double)ZolotarevAt(&f, x);

        if (x >= interval) {
          within++;
          TestCheck(y >= f.lowest - 1e-12 && y <= 1.0 + 1e-12, "%s: %g becomes %g, outside of [%g,1]", what, x, y, (double)f.lowest);
        } else below++;
        nuclear += sigma[j];
        inner += sigma[j] * y;
        for (int i = 0; i < m; i++) W[i + j * m] *= y;
      }
      TestMultiply(m, n, s, W, V, 1, expected);
      /*
         The Gram matrix, its Cholesky factors and what they leave are wrong by some (s + l)^{1/2} u. The matrix of the function has the norm top, and
         is rounded as the input is. To first order the product with the gradient feels what is on the diagonal only
      */
      bound = top = 0.0;
      for (int i = 0; i < s; i++) {
        const double x = nu > 0.0 ? sigma[i] / nu : 0.0;
        double       q = 1.0;

        for (int j = 0; j < s; j++) bound = PetscMax(bound, Sensitivity(&f, x, nu > 0.0 ? sigma[j] / nu : 0.0));
        for (int j = 0; j < f.poles; j++) q += (double)(f.a[j] / (x * x + f.c[j]));
        top = PetscMax(top, f.scale * q);
      }
      for (int i = 0; i < s && nu > 0.0; i++) slack += sigma[i] * (Sensitivity(&f, sigma[i] / nu, sigma[i] / nu) + top * sigma[i] / nu);
      bound = 16.0 * sqrt((double)(m + n)) * unit * (bound + top);
      slack = 8.0 * sqrt((double)(m + n)) * unit * (slack + nuclear) + bound * bound * nuclear;
      TestMost(what, TestDistance(m * n, Q, expected), bound);
      TestNear(what, TestDot(m * n, A, Q), inner, slack);
      /* In the ball, up to what eight steps of Lanczos leave of an excess in single precision */
      TestSVD(m, n, Q, values, X, Z);
      TestMost(what, values[0], 1.0 + (unit > 1e-10 ? PetscMin(bound, 0.01) : bound));
      TestMost(what, (double)least * nuclear, TestDot(m * n, A, Q));
    }
    PetscCall(PetscFree5(A, Q, expected, U, V));
    PetscCall(PetscFree5(W, Z, X, sigma, values));
  }
  TestCheck(within > 300 && (below > 10 || interval < 1e-3), "%d singular values on the interval, %d below", within, below);
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # What is promised of the default: at most 0.03 of the nuclear norm is missing
  table: suffix | args
    default | -least 0.97
    single  | -lmo_polar_precision single -lmo_polar_zolotarev_poles {{1 3 4 7}} -lmo_polar_zolotarev_interval 1e-3
    double  | -lmo_polar_precision double -lmo_polar_zolotarev_poles {{2 4 7 10 12}} -lmo_polar_zolotarev_interval {{1e-5 0.1}}

TEST*/
