static char help[] = "Halley's iteration with dynamic weights: counts of steps, working accuracy against a Jacobi SVD up to condition 1e12, matrices that are not of full rank.\n\n";

#include "polar_common.h"
#include "kernels/dense/muonpolarkernels.h"

/* Steps until l is one to ten roundoffs, and those of them with weights that need a QR factorization */
static int Steps(double l, int *qr)
{
  int steps = 0;

  for (*qr = 0; 1.0 - l > 10.0 * 2.220446049250313e-16; steps++) {
    double w[3];

    MuonKernelHalley(l, w, &l);
    if (w[2] > 100.0) (*qr)++;
  }
  return steps;
}

/*
   The orthogonal factor is one, it is that of G, and where the condition is modest it is the one of the
   decomposition
*/
static PetscErrorCode Check(MuonPolar polar, double unit, int m, int n, const double *sigma, int rank)
{
  const int  s = PetscMin(m, n), l = PetscMax(m, n);
  double    *A, *Q, *U, *V, *W, *H, *tau, error = 0.0, most = 0.0, nuclear = 0.0;
  Mat        G, R;
  MuonStatus status;
  PetscInt   count, before;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc7(m * n, &A, m * n, &Q, l * s, &U, l * s, &V, l * l, &W, s * s, &H, s, &tau));
  TestOrthonormal(m, s, U);
  TestOrthonormal(n, s, V);
  for (int j = 0; j < s; j++) {
    for (int i = 0; i < m; i++) U[i + j * m] *= j < rank ? sigma[j] : 0.0;
  }
  TestMultiply(m, n, s, U, V, 1, A);
  for (int i = 0; i < m * n; i++) A[i] = (double)(PetscScalar)A[i];
  PetscCall(TestMat(m, n, 1, A, &G));
  PetscCall(TestMat(m, n, 2, NULL, &R));
  PetscCall(TestGetCounts(polar, NULL, NULL, &before));
  PetscCall(MuonPolarApply(polar, G, R, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: status %s", m, n, MuonStatuses[status]);
  PetscCall(TestGetCounts(polar, NULL, NULL, &count));
  PetscCheck(count - before == (rank < s ? 1 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, rank %d: %" PetscInt_FMT " decompositions", m, n, rank, count - before);
  PetscCall(TestMatGet(R, Q));

  /* Q Q^T Q = Q and the rank, to ten roundoffs for each of the s sums of a product */
  TestMultiply(m, m, n, Q, Q, 1, W);
  TestMultiply(m, n, m, W, Q, 0, U);
  error = TestDistance(m * n, U, Q);
  PetscCheck(error <= 10.0 * s * sqrt((double)s) * unit, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, condition %g: Q Q^T Q - Q has norm %g, bound %g", m, n, sigma[0] / sigma[rank - 1], error, 10.0 * s * sqrt((double)s) * unit);
  PetscCheck(fabs(TestDot(m * n, Q, Q) - rank) <= 20.0 * s * s * unit, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, rank %d: ||Q||_F^2 is %g", m, n, rank, TestDot(m * n, Q, Q));
  /*
     H = G^T Q over the long side is symmetric to the same, positive semidefinite: <G,Q> is the nuclear norm
  */
  for (int p = 0; p < s; p++) {
    for (int q = 0; q < s; q++) {
      H[p + q * s] = 0.0;
      for (int i = 0; i < l; i++) H[p + q * s] += m >= n ? A[i + p * m] * Q[i + q * m] : A[p + i * m] * Q[q + i * m];
    }
  }
  error = 0.0;
  for (int p = 0; p < s; p++) {
    for (int q = 0; q < s; q++) error += (H[p + q * s] - H[q + p * s]) * (H[p + q * s] - H[q + p * s]);
  }
  TestSVD(m, n, A, tau, U, V);
  for (int j = 0; j < s; j++) nuclear += tau[j];
  PetscCheck(sqrt(error) <= 20.0 * s * unit * TestDistance(m * n, A, NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, condition %g: G^T Q is off symmetry by %g ||G||", m, n, tau[0] / tau[rank - 1], sqrt(error) / TestDistance(m * n, A, NULL));
  PetscCheck(fabs(TestDot(m * n, A, Q) - nuclear) <= 20.0 * s * unit * nuclear, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, condition %g: <G,Q> is %.16g, the nuclear norm %.16g", m, n, tau[0] / tau[rank - 1], TestDot(m * n, A, Q), nuclear);
  /*
     A backward error of so many roundoffs of sigma_1 moves the factor by at most twice that over the smallest
     singular value (the sum of the two smallest for square matrices, no less)
  */
  for (int j = 0; j < rank; j++) most = PetscMax(most, tau[0] / tau[j]);
  TestMultiply(m, n, rank, U, V, 1, W);
  error = TestDistance(m * n, W, Q);
  PetscCheck(error <= 40.0 * s * unit * most, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, condition %g: off by %g, bound %g", m, n, most, error, 40.0 * s * unit * most);
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&R));
  PetscCall(PetscFree7(A, Q, U, V, W, H, tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int    shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {24, 24}, {16, 40}, {40, 16}, {33, 32}, {30, 200}};
  static const double lows[][3]   = {{1e-16, 6, 2}, {1e-8, 5, 2}, {1e-3, 4, 1}, {0.9, 3, 0}, {1.0, 0, 0}};
  MuonPolar           polar;
  double             *sigma, w[3], l;
  int                 qr;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(lows); k++) {
    const int steps = Steps(lows[k][0], &qr);

    PetscCheck(k == 3 ? steps <= 3 : steps == (int)lows[k][1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d steps from %g, expected %g", steps, lows[k][0], lows[k][1]);
    PetscCheck(qr == (int)lows[k][2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d steps by QR from %g, expected %g", qr, lows[k][0], lows[k][2]);
  }
  MuonKernelHalley(1.0, w, &l);
  PetscCheck(w[0] == 3.0 && w[1] == 1.0 && w[2] == 3.0 && l == 1.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Halley's weights are %g %g %g", w[0], w[1], w[2]);

  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARQDWH));
  PetscCall(MuonPolarSetFromOptions(polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1], s = PetscMin(m, n);

    PetscCall(PetscMalloc1(s, &sigma));
    for (int precision = PetscDefined(USE_REAL_SINGLE) ? 0 : 1; precision >= 0; precision--) {
      const double unit = precision == 0 ? ldexp(1.0, -24) : ldexp(1.0, -53);

      PetscCall(TestSetPrecision(polar, precision == 0 ? MUON_POLAR_PRECISION_SINGLE : MUON_POLAR_PRECISION_DOUBLE));
      for (int decades = 0; decades <= (precision == 0 ? 4 : 12); decades += precision == 0 ? 2 : 4) {
        PetscInt steps, by;

        for (int j = 0; j < s; j++) sigma[j] = s > 1 ? pow(10.0, -(double)decades * j / (s - 1)) : 1.0;
        PetscCall(Check(polar, unit, m, n, sigma, s));
        /* The interval is estimated or guessed from below, never too large by much: no more steps than six */
        PetscCall(TestGetCounts(polar, &steps, &by, NULL));
        PetscCheck(steps <= 6 && by <= 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, 1e-%d: %" PetscInt_FMT " steps, %" PetscInt_FMT " by QR", m, n, decades, steps, by);
        if (decades == 12) PetscCheck(s == 1 || by >= 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, 1e-12: %" PetscInt_FMT " steps by QR", m, n, by);
      }
      /* All but one small, and half of them */
      for (int j = 0; j < s; j++) sigma[j] = j == 0 ? 1.0 : (precision == 0 ? 1e-4 : 1e-9);
      PetscCall(Check(polar, unit, m, n, sigma, s));
      for (int j = 0; j < s; j++) sigma[j] = 1.0 + j;
      if (s > 1) PetscCall(Check(polar, unit, m, n, sigma, s / 2));
    }
    PetscCall(PetscFree(sigma));
  }
  PetscCall(MuonPolarView(polar, NULL));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    filter: grep -c decomposition
    output_file: output/polar_qdwh_1.out

TEST*/
