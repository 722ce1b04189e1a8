static char help[] = "The wrapper of SLEPc's SVD: few and all triples of hard spectra, arrays of both precisions and orders, solvers by options behind two prefixes, input that SLEPc must not see.\n\n";

#include "polar_common.h"
#include <petscmuon/private/petscmuonimpl.h>

static PetscErrorCode Check(MuonSVD svd, MuonPrecision precision, int rowmajor, int m, int n, int spectrum, int nsv)
{
  const int s = PetscMin(m, n), l = PetscMax(m, n);
  /* Of PetscScalar, in which SLEPc computes, or of the array, whichever has fewer digits */
  const double eps = precision == MUON_SINGLE ? ldexp(1.0, -23) : PETSC_MACHINE_EPSILON;
  double      *A, *B, *U, *V, *sigma, largest = 0.0, inner, error, best = 0.0;
  PetscReal   *values, *again;
  PetscScalar *left, *right, *left2;
  PetscInt     count, count2;
  MuonStatus   status;
  MuonArray    array;
  MuonMatrix   G;
  int          rank = 0, wanted;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(m * n, &A, m * n, &B, m * s, &U, n * s, &V, s, &sigma));
  PetscCall(PetscMalloc5(s, &values, s, &again, m * s, &left, n * s, &right, m * s, &left2));
  TestMatrix(m, n, spectrum, A);
  PetscCall(TestArray(precision, rowmajor, 0, m, m, n, 2, A, &array));
  G = MuonMatrixOfArray(&array);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) A[i + j * m] = TestArrayGet(&array, i, j);
  }
  TestSVD(m, n, A, sigma, U, V);
  PetscCall(MuonSVDCompute(svd, &G, nsv, values, left, right, &count, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, %d triples: status %d", testspectra[spectrum], m, n, nsv, (int)status);
  /* The same bits again, whatever the solver draws at random, and without vectors */
  PetscCall(MuonSVDCompute(svd, &G, nsv, again, left2, NULL, &count2, &status));
  PetscCheck(count2 == count, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, %d triples: ranks %" PetscInt_FMT " and %" PetscInt_FMT, testspectra[spectrum], m, n, nsv, count, count2);
  for (PetscInt i = 0; i < count; i++) PetscCheck(again[i] == values[i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: singular value %" PetscInt_FMT " differs between two runs", testspectra[spectrum], m, n, i);
  for (PetscInt i = 0; i < count * m; i++) PetscCheck(left2[i] == left[i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: singular vectors differ between two runs", testspectra[spectrum], m, n);
  PetscCall(MuonSVDCompute(svd, &G, nsv, again, NULL, NULL, &count2, &status));
  for (PetscInt i = 0; i < count; i++) PetscCheck(again[i] == values[i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: singular value %" PetscInt_FMT " differs without vectors", testspectra[spectrum], m, n, i);

  while (rank < s && sigma[rank] > l * eps * sigma[0]) rank++;
  wanted = PetscMin(rank, nsv);
  PetscCheck(count == wanted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, %d triples: %" PetscInt_FMT " above the tolerance, expected %d", testspectra[spectrum], m, n, nsv, count, wanted);
  /*
     Backward stability: the singular values of a matrix at a distance of a modest multiple of (m + n) eps
     sigma_1
  */
  for (int i = 0; i < count; i++) largest = PetscMax(largest, fabs((double)values[i] - sigma[i]));
  PetscCheck(largest <= 8.0 * (m + n) * eps * sigma[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, %d triples: singular values off by %g sigma_1", testspectra[spectrum], m, n, nsv, largest / sigma[0]);
  for (int p = 0; p < count; p++) {
    for (int q = 0; q < count; q++) {
      double a = p == q ? -1.0 : 0.0, b = a;

      for (int i = 0; i < m; i++) a += (double)left[i + p * m] * (double)left[i + q * m];
      for (int i = 0; i < n; i++) b += (double)right[i + p * n] * (double)right[i + q * n];
      PetscCheck(fabs(a) <= 8.0 * (m + n) * eps && fabs(b) <= 8.0 * (m + n) * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, %d triples: vectors %d and %d are off by %g and %g", testspectra[spectrum], m, n, nsv, p, q, a, b);
    }
  }
  /* Iterations go on until the residual is a rounding, which says more than their singular values do */
  for (int p = 0; p < count; p++) {
    double square = 0.0;

    for (int i = 0; i < m; i++) {
      double r = -(double)values[p] * (double)left[i + p * m];

      for (int j = 0; j < n; j++) r += A[i + j * m] * (double)right[j + p * n];
      square += r * r;
    }
    for (int j = 0; j < n; j++) {
      double r = -(double)values[p] * (double)right[j + p * n];

      for (int i = 0; i < m; i++) r += A[i + j * m] * (double)left[i + p * m];
      square += r * r;
    }
    PetscCheck(sqrt(square) <= 8.0 * (m + n) * eps * sigma[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, %d triples: the residual of number %d is %g sigma_1", testspectra[spectrum], m, n, nsv, p, sqrt(square) / sigma[0]);
  }
  /* No approximation of that rank is better, and this one is as good */
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) {
      inner = A[i + j * m];
      for (int p = 0; p < count; p++) inner -= (double)left[i + p * m] * (double)values[p] * (double)right[j + p * n];
      B[i + j * m] = inner;
    }
  }
  for (int i = wanted; i < s; i++) best += sigma[i] * sigma[i];
  best  = sqrt(best);
  error = TestDistance(m * n, B, NULL);
  PetscCheck(error <= best + 1e-7 * best + 8.0 * (m + n) * eps * s * sigma[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, %d triples: error %g, the best is %g", testspectra[spectrum], m, n, nsv, error, best);
  PetscCall(TestArrayDestroy(&array));
  PetscCall(PetscFree5(A, B, U, V, sigma));
  PetscCall(PetscFree5(values, again, left, right, left2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A tolerance ends the iteration earlier, and not too early; by default it goes as far as the entries have
   digits
*/
static PetscErrorCode CheckTolerance(void)
{
  enum {
    SIDE = 60
  };
  const double tolerance[] = {1e-3, -1.0};
  double       A[SIDE * SIDE];
  PetscReal    sigma[4];
  PetscScalar  left[4 * SIDE], right[4 * SIDE];
  PetscInt     count;
  MuonStatus   status;
  MuonArray    array;
  MuonMatrix   G;
  MuonSVD      svd;

  PetscFunctionBeginUser;
  TestMatrix(SIDE, SIDE, TEST_GAUSSIAN, A);
  PetscCall(MuonSVDCreate(PETSC_COMM_SELF, &svd));
  for (int precision = 0; precision < 2; precision++) {
    PetscCall(TestArray((MuonPrecision)precision, 0, 0, SIDE, SIDE, SIDE, 0, A, &array));
    G = MuonMatrixOfArray(&array);
    for (int k = 0; k < 2; k++) {
      const double eps  = PetscMax((double)PETSC_MACHINE_EPSILON, precision == MUON_SINGLE ? ldexp(1.0, -23) : ldexp(1.0, -52));
      double       most = 0.0;

      PetscCall(MuonSVDSetTolerance(svd, (PetscReal)tolerance[k]));
      PetscCall(MuonSVDCompute(svd, &G, 4, sigma, left, right, &count, &status));
      PetscCheck(count == 4 && status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " triples, status %d", count, (int)status);
      for (int p = 0; p < 4; p++) {
        double square = 0.0;

        for (int j = 0; j < SIDE; j++) {
          double r = -(double)sigma[p] * (double)right[j + p * SIDE];

          for (int i = 0; i < SIDE; i++) r += TestArrayGet(&array, i, j) * (double)left[i + p * SIDE];
          square += r * r;
        }
        most = PetscMax(most, sqrt(square) / (double)sigma[0]);
      }
      PetscCheck(tolerance[k] > 0.0 ? most > 1e-6 && most <= 2e-3 : most <= 1e3 * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Precision %d, tolerance %g: the residual is %g sigma_1", precision, tolerance[k], most);
    }
    PetscCall(TestArrayDestroy(&array));
  }
  PetscCall(MuonSVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {20, 20}, {50, 50}, {40, 90}, {90, 40}};
  const double     special[4]  = {3, 0, 0, 4};
  MuonSVD          svd;
  MuonPolar        parent;
  MuonStatus       status;
  PetscReal        values[2];
  PetscScalar      left[4], right[4];
  PetscInt         count;
  double           B[4], error;
  MuonArray        G;
  MuonMatrix       M;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &parent));
  PetscCall(MuonSVDCreate(PETSC_COMM_SELF, &svd));
  PetscCall(MuonSVDSetFromOptions(svd, (PetscObject)parent, "all_"));
  PetscCall(MuonPolarSetOptionsPrefix(parent, "one_"));
  PetscCall(MuonSVDSetFromOptions(svd, (PetscObject)parent, "all_"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int s = PetscMin(shapes[k][0], shapes[k][1]);

    for (int spectrum = 0; spectrum < TEST_ZERO; spectrum++) {
      for (int kind = 0; kind < 4; kind++) {
        const MuonPrecision precision = kind % 2 ? MUON_SINGLE : MUON_DOUBLE;

        /* The order and the other precision change no more than how entries are read */
        if (kind > 0 && spectrum != TEST_GAUSSIAN && spectrum != TEST_DEFICIENT) continue;
        if (kind == 0) PetscCall(Check(svd, precision, kind / 2, shapes[k][0], shapes[k][1], spectrum, 1));
        PetscCall(Check(svd, precision, kind / 2, shapes[k][0], shapes[k][1], spectrum, PetscMax(1, s / 12)));
        PetscCall(Check(svd, precision, kind / 2, shapes[k][0], shapes[k][1], spectrum, s));
      }
    }
  }
  PetscCall(MuonSVDView(svd, PETSC_VIEWER_STDOUT_SELF));
  PetscCall(CheckTolerance());

  /* What SLEPc never sees */
  for (int bad = 0; bad < 3; bad++) {
    for (int i = 0; i < 4; i++) B[i] = bad == 0 ? 0.0 : special[i];
    if (bad > 0) B[3] = bad == 1 ? NAN : -INFINITY;
    PetscCall(TestArray(MUON_PETSCSCALAR, 0, 0, 2, 2, 2, 1, B, &G));
    M = MuonMatrixOfArray(&G);
    PetscCall(MuonSVDCompute(svd, &M, 2, values, left, right, &count, &status));
    PetscCheck(count == 0 && status == (bad == 0 ? MUON_STATUS_OK : MUON_STATUS_NANORINF), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Matrix %d: count %" PetscInt_FMT ", status %d", bad, count, (int)status);
    PetscCall(TestArrayDestroy(&G));
  }
  PetscCall(TestArray(MUON_PETSCSCALAR, 0, 0, 0, 0, 5, 0, NULL, &G));
  M = MuonMatrixOfArray(&G);
  PetscCall(MuonSVDCompute(svd, &M, 0, values, left, right, &count, &status));
  PetscCheck(count == 0 && status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Empty matrix: count %" PetscInt_FMT ", status %d", count, (int)status);
  PetscCall(TestArrayDestroy(&G));
  /* Singular values of any magnitude */
  for (int e = PetscDefined(USE_REAL_SINGLE) ? -120 : -1000; e <= 1000; e += PetscDefined(USE_REAL_SINGLE) ? 240 : 2000) {
    if (PetscDefined(USE_REAL_SINGLE) && e > 120) break;
    for (int i = 0; i < 4; i++) B[i] = ldexp(special[i], e);
    PetscCall(TestArray(MUON_PETSCSCALAR, 0, 0, 2, 2, 2, 1, B, &G));
    M = MuonMatrixOfArray(&G);
    PetscCall(MuonSVDCompute(svd, &M, 2, values, left, right, &count, &status));
    error = fabs(ldexp((double)values[0], -e) - 4.0) + fabs(ldexp((double)values[1], -e) - 3.0);
    PetscCheck(count == 2 && error < 40.0 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "2^%d diag(3,4): %" PetscInt_FMT " singular values %g %g", e, count, (double)values[0], (double)values[1]);
    PetscCall(TestArrayDestroy(&G));
  }
  PetscCall(MuonSVDDestroy(&svd));
  PetscCall(MuonPolarDestroy(&parent));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  table: suffix | args
    default   |
    trlanczos | -all_svd_type trlanczos
    # The later prefix wins
    prefixes  | -all_svd_type trlanczos -one_all_svd_type lapack

  # An iteration that is not allowed to converge: LAPACK takes over, which View tells
  test:
    suffix: takeover
    args: -all_svd_type trlanczos -all_svd_max_it 1
    filter: grep "took over" | sed -e "s/over [0-9]* times/over/"

  table: suffix | args | error
    unknown | -all_svd_type {{bogus lapak}} | Unknown SVD type given:
    nsv     | -one_all_svd_nsv 3            | Option -one_all_svd_nsv asks for 3 singular triples

TEST*/
