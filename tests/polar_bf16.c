static char help[] = "Polar factors by products of bfloat16 matrices against the same method in double.\n\n";

#include "polar_common.h"

static PetscErrorCode Apply(MuonPolar polar, MuonPolarPrecision precision, Mat G, int count, double *q)
{
  MuonStatus status;
  Mat        Q;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(G, MAT_DO_NOT_COPY_VALUES, &Q));
  PetscCall(TestSetPrecision(polar, precision));
  PetscCall(MuonPolarApply(polar, G, Q, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d", (int)status);
  PetscCall(TestMatGet(Q, q));
  for (int i = 0; i < count; i++) PetscCheck(!PetscIsInfOrNanReal((PetscReal)q[i]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %d is not finite", i);
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What Zolotarev's function promises in bfloat16: the factor of the rounded matrix, in the ball, whose product with
   the matrix lacks .022 of the nuclear norm at most beside what single precision lacks. Gaussian matrices, three
   decades, and 40 ones above a tail of .002, in which the directions of the rounding are as large
*/
static PetscErrorCode CheckBall(MuonPolar polar)
{
  static const int shapes[][2] = {{96, 384}, {384, 96}, {96, 96}};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1], s = PetscMin(m, n), l = PetscMax(m, n);
    double   *A, *Q, *U, *V, *sigma, *W;

    PetscCall(PetscMalloc6(m * n, &A, m * n, &Q, m * s, &U, n * s, &V, s, &sigma, 2 * l * s, &W));
    for (int kind = 0; kind < 3; kind++) {
      double gap[2], norm = 0.0, nuclear = 0.0;
      Mat    G;

      TestMatrix(m, n, TEST_GAUSSIAN, A);
      if (kind > 0) {
        TestOrthonormal(m, s, U);
        TestOrthonormal(n, s, V);
        for (int j = 0; j < s; j++) sigma[j] = kind == 1 ? pow(10.0, -3.0 * j / s) : j < 40 ? 1.0 : 0.002;
        PetscCall(PetscArrayzero(A, m * n));
        for (int j = 0; j < s; j++) {
          for (int c = 0; c < n; c++) {
            for (int i = 0; i < m; i++) A[i + c * m] += sigma[j] * U[i + j * m] * V[c + j * n];
          }
        }
      }
      for (int i = 0; i < m * n; i++) A[i] = (double)(PetscScalar)A[i];
      PetscCall(TestMat(m, n, 1, A, &G));
      TestSVD(m, n, A, sigma, W, W + l * s);
      for (int j = 0; j < s; j++) nuclear += sigma[j];
      for (int p = 0; p < 2; p++) {
        PetscCall(Apply(polar, p == 0 ? MUON_POLAR_PRECISION_SINGLE : MUON_POLAR_PRECISION_BF16, G, m * n, Q));
        gap[p] = 1.0;
        for (int i = 0; i < m * n; i++) gap[p] -= A[i] * Q[i] / nuclear;
      }
      TestSVD(m, n, Q, sigma, W, W + l * s);
      for (int j = 0; j < s; j++) norm = PetscMax(norm, sigma[j]);
      PetscCheck(norm <= 1.01, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, kind %d: the norm is %g", m, n, kind, norm);
      PetscCheck(gap[1] <= gap[0] + 0.022, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, kind %d: 1 - <G,Q>/nuclear norm is %g, and %g in single", m, n, kind, gap[1], gap[0]);
      PetscCheck(gap[0] != gap[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d, kind %d: nothing was rounded", m, n, kind);
      PetscCall(PetscInfo(polar, "%d x %d, kind %d: norm %g, gap %g, in single %g\n", m, n, kind, norm, gap[1], gap[0]));
      PetscCall(TestMatDestroy(&G));
    }
    PetscCall(PetscFree6(A, Q, U, V, sigma, W));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 40}, {40, 1}, {48, 48}, {40, 130}, {130, 40}, {64, 700}, {700, 64}};
  static const int spectra[]   = {TEST_GAUSSIAN, TEST_HARMONIC, TEST_MILD, TEST_DEFICIENT, TEST_FLAT};
  PetscBool        differs     = PETSC_FALSE;
  PetscReal        growth      = 1.0;
  MuonPolar        polar;
  PetscBool        rational;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-growth", &growth, NULL));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(PetscObjectTypeCompare((PetscObject)polar, MUONPOLARZOLOTAREV, &rational));
  if (rational) PetscCall(CheckBall(polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes) && !rational; k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *A, *Q, *R;

    PetscCall(PetscMalloc3(m * n, &A, m * n, &Q, m * n, &R));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(spectra); t++) {
      double error;
      Mat    G;

      TestMatrix(m, n, spectra[t], A);
      PetscCall(TestMat(m, n, 1, A, &G));
      PetscCall(Apply(polar, MUON_POLAR_PRECISION_DOUBLE, G, m * n, R));
      PetscCall(Apply(polar, MUON_POLAR_PRECISION_BF16, G, m * n, Q));
      /*
         Each operand of a product is off by at most 2^-8; polynomials that converge forget that but for the
         last step or two
      */
      error = TestDistance(m * n, Q, R) / TestDistance(m * n, R, NULL);
      PetscCheck(error <= growth * 2e-2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: the relative distance is %g", testspectra[spectra[t]], m, n, error);
      if (error > 1e-4) differs = PETSC_TRUE;
      PetscCall(TestMatDestroy(&G));
    }
    PetscCall(PetscFree3(A, Q, R));
  }
  /* Binary32 would be below that */
  PetscCheck(rational || differs == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nothing was rounded to bfloat16");
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  table: suffix | requires | args | env
       | onednn | -lmo_polar_type newtonschulz -lmo_polar_coefficients {{quintic cubic}} | OMP_NUM_THREADS=1
    # These do not converge. On the values that their steps visit the slope is at most 1.7 in absolute value, four times over
    kj | onednn | -lmo_polar_type newtonschulz -lmo_polar_coefficients kj -growth 8      | OMP_NUM_THREADS=1

  test:
    suffix: zolotarev
    requires: onednn
    env: OMP_NUM_THREADS=1
    args: -lmo_polar_type zolotarev -lmo_polar_zolotarev_poles 4

TEST*/
