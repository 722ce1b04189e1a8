static char help[] = "The spectral normalization: the start stays below the square root of two for hard spectra, numpy agrees, and what diverges in spite of it is a status.\n\n";

#include "polar_common.h"
#include "kernels/codec/muonkernels.h"

typedef struct {
  const char *folder;
  FILE       *list;
  int         dumped;
} Oracle;

/*
   The matrix by which the first step begins, which the polynomial x lays open, and the factor by a named set
*/
static PetscErrorCode Look(Oracle *oracle, MuonPolar polar, int m, int n, const double *A, PetscInt iterations, MuonPolarCoefficients set)
{
  const PetscReal one[3] = {1, 0, 0};
  const int       s      = PetscMin(m, n);
  MuonStatus      status;
  PetscInt        steps;
  double         *Y, *U, *V, *sigma, eps = 0.0;
  Mat             G, Q;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(m * n, &Y, m * s, &U, n * s, &V, s, &sigma));
  PetscCall(TestMat(m, n, 1, A, &G));
  PetscCall(TestMat(m, n, 0, NULL, &Q));
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(TestSetInt(polar, "power_iterations", iterations));
  for (int k = 0; k < 2; k++) {
    if (k == 0) PetscCall(MuonPolarSetCoefficientValues(polar, 3, one));
    else PetscCall(TestSetText(polar, "coefficients", set));
    PetscCall(TestGetSteps(polar, &steps));
    PetscCall(MuonPolarApply(polar, G, Q, &status));
    PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: status %d", m, n, (int)status);
    PetscCall(TestMatGet(Q, Y));
    if (k == 0) {
      TestSVD(m, n, Y, sigma, U, V);
      PetscCheck(sigma[0] < 1.41 && sigma[0] > 0.5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the iteration begins at a largest singular value of %g", m, n, sigma[0]);
    }
    PetscCall(TestDump(oracle->folder, "G", oracle->dumped, (size_t)m * n, A));
    PetscCall(TestDump(oracle->folder, "Q", oracle->dumped, (size_t)m * n, Y));
    fprintf(oracle->list, "%s %d %d %d %d %.17g\n", k == 0 ? "start" : set, (int)steps, (int)iterations, m, n, eps);
    oracle->dumped++;
  }
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&Q));
  PetscCall(PetscFree4(Y, U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int       shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {48, 48}, {24, 60}, {60, 24}};
  static const char     *sets[]      = {"cubic", "quintic", "kj"};
  const MuonKernelStream stream      = {0x506f6c6172ULL, 0, 0, 0, 0};
  Oracle                 oracle;
  MuonPolar              polar;
  MuonStatus             status;
  PetscBool              dump;
  char                   directory[PETSC_MAX_PATH_LEN], path[PETSC_MAX_PATH_LEN];
  double                 A[40 * 40], U[40 * 40], V[40 * 40], dot = 0.0, norm = 0.0, eps = 0.0;
  uint32_t               words[40];
  Mat                    G, Q;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", directory, sizeof(directory), &dump));
  PetscCheck(dump == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_USER, "This test needs -oracle_dir");
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases.txt", directory));
  oracle.folder = directory;
  oracle.dumped = 0;
  oracle.list   = fopen(path, "w");
  PetscCheck(oracle.list != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(TestSetText(polar, "normalization", "spectral"));
  PetscCall(MuonPolarSetFromOptions(polar));

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *B;

    PetscCall(PetscMalloc1(m * n, &B));
    for (int spectrum = 0; spectrum < TEST_ZERO; spectrum++) {
      for (int draw = 0; draw < (spectrum == TEST_GAUSSIAN ? 6 : 2); draw++) {
        TestMatrix(m, n, spectrum, B);
        PetscCall(Look(&oracle, polar, m, n, B, 1 + draw % 3, sets[(k + spectrum) % 3]));
      }
    }
    PetscCall(PetscFree(B));
  }
  /*
     One value over a tail that holds almost all of the Frobenius norm: two power iterations alone often see
     the tail
  */
  for (int draw = 0; draw < 8; draw++) {
    TestOrthonormal(40, 40, U);
    TestOrthonormal(40, 40, V);
    for (int j = 1; j < 40; j++) {
      for (int i = 0; i < 40; i++) U[i + j * 40] *= 0.4 + 0.05 * draw;
    }
    TestMultiply(40, 40, 40, U, V, 1, A);
    for (int i = 0; i < 1600; i++) A[i] = (double)(PetscScalar)A[i];
    PetscCall(Look(&oracle, polar, 40, 40, A, 1, "cubic"));
  }
  PetscCheck(fclose(oracle.list) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);

  /*
     Nothing helps where the direction of the start has no part of the largest singular vector, in double even
     after rounding: then the iteration diverges, which is a status, and the output stays as it was
  */
  MuonKernelStreamWords(&stream, 0, 40, words);
  TestOrthonormal(40, 40, V);
  for (int i = 0; i < 40; i++) {
    dot += ((double)words[i] / 2147483648.0 - 1.0) * V[i];
    norm += pow((double)words[i] / 2147483648.0 - 1.0, 2);
  }
  for (int i = 0; i < 40; i++) U[i] = V[i] - dot / norm * ((double)words[i] / 2147483648.0 - 1.0);
  norm = sqrt(TestDot(40, U, U));
  for (int i = 0; i < 40; i++) U[i] /= norm;
  /*
     A = 0.2 H + 0.8 (H u) u^T with an orthogonal H: singular values 1 along u, on the side of the columns,
     where a square matrix is worked on, and 0.2 across
  */
  for (int i = 0; i < 40; i++) {
    double part = 0.0;

    for (int j = 0; j < 40; j++) part += V[i + j * 40] * U[j];
    for (int j = 0; j < 40; j++) A[i + j * 40] = (double)(PetscScalar)(0.2 * V[i + j * 40] + 0.8 * part * U[j]);
  }
  PetscCall(TestSetText(polar, "coefficients", MUONPOLARCOEFFICIENTSCUBIC));
  PetscCall(TestSetInt(polar, "power_iterations", 1));
  PetscCall(TestMat(40, 40, 0, A, &G));
  for (int i = 0; i < 1600; i++) V[i] = 7.0;
  PetscCall(TestMat(40, 40, 0, V, &Q));
  PetscCall(MuonPolarApply(polar, G, Q, &status));
  PetscCall(TestMatGet(Q, V));
  PetscCall(TestEpsilon(polar, &eps));
  if (eps < 1e-10) PetscCheck(status == MUON_STATUS_LMO && V[0] == 7.0 && V[1599] == 7.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d of an iteration that must diverge, output %g", (int)status, V[0]);
  /* Enough iterations see what rounding has of it */
  PetscCall(TestSetInt(polar, "power_iterations", 60));
  PetscCall(MuonPolarApply(polar, G, Q, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d with 60 power iterations", (int)status);
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&Q));
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
