static char help[] = "Linear minimization oracles: feasible, at the value of the dual norm, and no random feasible point does better.\n\n";

#include "polar_common.h"
#include <petscmuonlmo.h>

enum {
  SPECTRAL,
  MAX,
  FROBENIUS,
  NORMS
};
static const char *const names[] = {MUONLMOSPECTRAL, MUONLMOMAX, MUONLMOFROBENIUS};

/* Both norms by their definitions, the singular values by Jacobi rotations */
static double Norm(int norm, int dual, int m, int n, const double *X)
{
  const int s = PetscMin(m, n);
  double   *sigma, *U, *V, value = 0.0;

  if (norm == SPECTRAL) {
    sigma = (double *)malloc(sizeof(double) * (s + m * s + n * s));
    U     = sigma + s;
    V     = U + m * s;
    TestSVD(m, n, X, sigma, U, V);
    for (int i = 0; i < s; i++) value = dual ? value + sigma[i] : PetscMax(value, sigma[i]);
    free(sigma);
    return value;
  }
  for (int i = 0; i < m * n; i++) {
    if (norm == FROBENIUS) value += X[i] * X[i];
    else value = dual ? value + fabs(X[i]) : PetscMax(value, fabs(X[i]));
  }
  return norm == FROBENIUS ? sqrt(value) : value;
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 8}, {8, 1}, {3, 3}, {18, 18}, {12, 30}, {30, 12}};
  const double     eps         = PETSC_MACHINE_EPSILON;
  MuonLMO          lmo;
  MuonStatus       status;
  PetscBool        dump;
  char             directory[PETSC_MAX_PATH_LEN];
  FILE            *list   = NULL;
  int              dumped = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", directory, sizeof(directory), &dump));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetFromOptions(lmo));
  if (dump == PETSC_TRUE) {
    char path[PETSC_MAX_PATH_LEN];

    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases.txt", directory));
    list = fopen(path, "w");
    PetscCheck(list != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  }
  for (int norm = 0; norm < NORMS; norm++) {
    PetscCall(MuonLMOSetType(lmo, names[norm]));
    if (norm == SPECTRAL) {
      MuonPolar polar;

      PetscCall(MuonLMOGetPolar(lmo, &polar));
      PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
    }
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
      const int m = shapes[k][0], n = shapes[k][1], mn = m * n;
      double   *A, *B, *D, *S, *Z;

      PetscCall(PetscMalloc5(mn, &A, mn, &B, mn, &D, mn, &S, mn, &Z));
      for (int spectrum = 0; spectrum < TEST_SPECTRA; spectrum++) {
        Mat       G, H;
        PetscReal primal, dual;
        double    truth, value, size, sum, bound;

        TestMatrix(m, n, spectrum, A);
        /* An exact zero, so that sign(0) is seen; rank and norms are those of the matrix as it then is */
        if (norm != SPECTRAL && mn > 1) A[mn / 2] = 0.0;
        truth = Norm(norm, 1, m, n, A);
        sum   = Norm(MAX, 1, m, n, A);
        PetscCall(TestMat(m, n, 2, A, &G));
        PetscCall(TestMat(m, n, 1, NULL, &H));
        PetscCall(MuonLMOApply(lmo, G, H));
        PetscCall(MuonLMOGetStatus(lmo, &status));
        PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: status %d", names[norm], testspectra[spectrum], m, n, (int)status);
        PetscCall(TestMatGet(G, D));
        PetscCheck(TestDistance(mn, A, D) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: the input was changed", names[norm], testspectra[spectrum], m, n);
        PetscCall(TestMatGet(H, D));

        /* Sums of mn terms in any order differ by mn eps of their absolute sum at most; LAPACK's factors add (m + n) eps s sigma_1 */
        bound = eps * (norm == SPECTRAL ? 8.0 * (m + n) * PetscMin(m, n) * Norm(SPECTRAL, 0, m, n, A) : 4.0 * truth) + eps * mn * sum * (PetscDefined(USE_REAL_SINGLE) ? 0.1 : 1.0);
        value = TestDot(mn, A, D);
        size  = Norm(norm, 0, m, n, D);
        PetscCheck(size <= 1.0 + 8.0 * (m + n) * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: ||D|| - 1 = %g", names[norm], testspectra[spectrum], m, n, size - 1.0);
        PetscCheck(spectrum == TEST_ZERO ? size == 0.0 : size >= 1.0 - 8.0 * (m + n) * eps, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: ||D|| = %g", names[norm], testspectra[spectrum], m, n, size);
        PetscCheck(fabs(value + truth) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: <G,D> = %.16g, the dual norm %.16g", names[norm], testspectra[spectrum], m, n, value, truth);
        for (int i = 0; i < mn && norm == MAX; i++) PetscCheck(D[i] == (A[i] > 0.0 ? -1.0 : (A[i] < 0.0 ? 1.0 : 0.0)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "max: entry %d of D is %g where that of G is %g", i, D[i], A[i]);

        /* Random points of the ball, and the minimizer turned a little: none has a smaller inner product */
        for (int trial = 0; trial < 30; trial++) {
          double best;

          for (int i = 0; i < mn; i++) Z[i] = trial % 2 == 0 ? TestGaussian() : D[i] + 0.01 * TestGaussian();
          best = Norm(norm, 0, m, n, Z);
          for (int i = 0; i < mn; i++) Z[i] /= best;
          best = TestDot(mn, A, Z);
          PetscCheck(best >= value - bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: a feasible point has %.16g, the oracle's %.16g", names[norm], testspectra[spectrum], m, n, best, value);
        }

        PetscCall(MuonLMOComputeNorm(lmo, G, &primal));
        PetscCall(MuonLMOComputeDualNorm(lmo, G, &dual));
        PetscCheck(fabs((double)primal - Norm(norm, 0, m, n, A)) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: norm %.16g, expected %.16g", names[norm], testspectra[spectrum], m, n, (double)primal, Norm(norm, 0, m, n, A));
        PetscCheck(fabs((double)dual - truth) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: dual norm %.16g, expected %.16g", names[norm], testspectra[spectrum], m, n, (double)dual, truth);

        /* G# = -dual D */
        PetscCall(MuonLMOSharp(lmo, G, H));
        PetscCall(TestMatGet(H, S));
        for (int i = 0; i < mn; i++) Z[i] = -truth * D[i];
        value = TestDistance(mn, S, Z);
        PetscCheck(value <= bound * TestDistance(mn, D, NULL) + 4.0 * eps * TestDistance(mn, Z, NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: the sharp operator is off by %g", names[norm], testspectra[spectrum], m, n, value);
        PetscCheck(TestDot(mn, A, S) >= 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: <G,G#> = %g", names[norm], testspectra[spectrum], m, n, TestDot(mn, A, S));
        if (dump == PETSC_TRUE) {
          fprintf(list, "%s %s %d %d %.17g %.17g %.17g\n", names[norm], testspectra[spectrum], m, n, eps, (double)primal, (double)dual);
          PetscCall(TestDump(directory, "G", dumped, (size_t)mn, A));
          PetscCall(TestDump(directory, "S", dumped, (size_t)mn, S));
          PetscCall(TestDump(directory, "D", dumped++, (size_t)mn, D));
        }

        /* NaN is a status, and the output stays */
        for (int i = 0; i < mn; i++) B[i] = A[i];
        B[mn - 1] = NAN;
        PetscCall(TestMatDestroy(&G));
        PetscCall(TestMat(m, n, 1, B, &G));
        PetscCall(MuonLMOApply(lmo, G, H));
        PetscCall(MuonLMOGetStatus(lmo, &status));
        PetscCall(TestMatGet(H, Z));
        PetscCheck(status == MUON_STATUS_NANORINF && TestDistance(mn, S, Z) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: NaN gave the status %d and changed the output by %g", names[norm], m, n, (int)status, TestDistance(mn, S, Z));
        PetscCall(MuonLMOSharp(lmo, G, H));
        PetscCall(TestMatGet(H, Z));
        PetscCall(MuonLMOGetStatus(lmo, &status));
        PetscCheck(status == MUON_STATUS_NANORINF && TestDistance(mn, S, Z) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: NaN gave the sharp operator the status %d", names[norm], m, n, (int)status);
        PetscCall(MuonLMOComputeNorm(lmo, G, &primal));
        PetscCall(MuonLMOComputeDualNorm(lmo, G, &dual));
        PetscCall(MuonLMOGetStatus(lmo, &status));
        PetscCheck(status == MUON_STATUS_NANORINF && PetscIsNanReal(primal) && PetscIsNanReal(dual), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: norms of NaN are %g and %g", names[norm], m, n, (double)primal, (double)dual);
        PetscCall(TestMatDestroy(&G));
        PetscCall(TestMatDestroy(&H));
      }
      PetscCall(PetscFree5(A, B, D, S, Z));
    }
  }
  if (list != NULL) fclose(list);
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: lmo.py

TEST*/
