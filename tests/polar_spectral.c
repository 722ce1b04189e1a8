static char help[] = "The spectral normalization: the start stays below the square root of two for hard spectra, numpy agrees, and what diverges in spite of it is a status.\n\n";

#include "polar_common.h"
#include "kernels/codec/muonkernels.h"

/* The matrix by which the first step begins, which the polynomial x lays open, and the factor by a named set */
static PetscErrorCode Look(TestOracle *oracle, MuonPolar polar, int m, int n, const double *A, int iterations, const char set[])
{
  const PetscReal one[3] = {1, 0, 0};
  const int       s      = PetscMin(m, n);
  PetscInt        steps  = 0;
  double         *Y, *U, *V, *sigma, eps = 0.0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(m * n, &Y, m * s, &U, n * s, &V, s, &sigma));
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(TestTune(polar, "power_iterations %d", iterations));
  for (int k = 0; k < 2; k++) {
    if (k == 0) PetscCall(MuonPolarSetCoefficientValues(polar, 3, one));
    else PetscCall(TestTune(polar, "coefficients %s", set));
    PetscCall(TestGetSteps(polar, &steps, NULL));
    PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, Y));
    if (k == 0) {
      TestSVD(m, n, Y, sigma, U, V);
      TestCheck(sigma[0] < 1.41 && sigma[0] > 0.5, "%d x %d: the iteration begins at a largest singular value of %g", m, n, sigma[0]);
    }
    PetscCall(TestOracleAdd(oracle, (size_t)m * n, A, Y, "%s %d %d %d %d %.17g\n", k == 0 ? "start" : set, (int)steps, iterations, m, n, eps));
  }
  PetscCall(PetscFree4(Y, U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Nothing helps where the direction of the start has no part of the largest singular vector, in double even
   after rounding: then the iteration diverges, which is a status, and the output stays as it was. Enough iterations see what rounding has of it
*/
static PetscErrorCode CheckDivergence(MuonPolar polar, double *A, double *H, double *u)
{
  const MuonKernelStream stream = {0x506f6c6172ULL, 0, 0, 0, 0};
  uint32_t               words[40];
  double                 dot = 0.0, norm = 0.0, eps = 0.0;

  PetscFunctionBeginUser;
  MuonKernelStreamWords(&stream, 0, 40, words);
  TestOrthonormal(40, 40, H);
  for (int i = 0; i < 40; i++) {
    dot += ((double)words[i] / 2147483648.0 - 1.0) * H[i];
    norm += pow((double)words[i] / 2147483648.0 - 1.0, 2);
  }
  for (int i = 0; i < 40; i++) u[i] = H[i] - dot / norm * ((double)words[i] / 2147483648.0 - 1.0);
  norm = sqrt(TestDot(40, u, u));
  for (int i = 0; i < 40; i++) u[i] /= norm;
  /*
     A = 0.2 H + 0.8 (H u) u^T with an orthogonal H: singular values 1 along u, on the side of the columns,
     where a square matrix is worked on, and 0.2 across
  */
  for (int i = 0; i < 40; i++) {
    double part = 0.0;

    for (int j = 0; j < 40; j++) part += H[i + j * 40] * u[j];
    for (int j = 0; j < 40; j++) A[i + j * 40] = 0.2 * H[i + j * 40] + 0.8 * part * u[j];
  }
  TestRound(1600, A);
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(TestTune(polar, "coefficients cubic power_iterations 1"));
  if (eps < 1e-10) PetscCall(TestApply(polar, 40, 40, 0, A, MUON_STATUS_LMO, H));
  PetscCall(TestTune(polar, "power_iterations 60"));
  PetscCall(TestApply(polar, 40, 40, 0, A, MUON_STATUS_OK, H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int   shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {48, 48}, {24, 60}, {60, 24}};
  static const char *sets[]      = {"cubic", "quintic", "kj"};
  TestOracle         oracle;
  MuonPolar          polar;
  double             A[60 * 60], B[60 * 60], sigma[40];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestOracleOpen(&oracle));
  TestCheck(oracle.list != NULL, "This test needs -oracle_dir");
  PetscCall(TestMake(PETSC_COMM_SELF, "type newtonschulz normalization spectral", &polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    for (int spectrum = 0; spectrum < TEST_ZERO; spectrum++) {
      for (int draw = 0; draw < (spectrum == TEST_GAUSSIAN ? 6 : 2); draw++) {
        TestMatrix(shapes[k][0], shapes[k][1], spectrum, A);
        PetscCall(Look(&oracle, polar, shapes[k][0], shapes[k][1], A, 1 + draw % 3, sets[(k + spectrum) % 3]));
      }
    }
  }
  /* One value over a tail that holds almost all of the Frobenius norm: two power iterations alone often see the tail */
  for (int draw = 0; draw < 8; draw++) {
    for (int j = 0; j < 40; j++) sigma[j] = j == 0 ? 1.0 : 0.4 + 0.05 * draw;
    TestOfValues(40, 40, sigma, A);
    TestRound(1600, A);
    PetscCall(Look(&oracle, polar, 40, 40, A, 1, "cubic"));
  }
  PetscCall(TestOracleClose(&oracle));
  PetscCall(CheckDivergence(polar, A, B, sigma));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  test:
    args: -lmo_polar_precision {{single double}}
    oracle: polar_spectral.py

TEST*/
