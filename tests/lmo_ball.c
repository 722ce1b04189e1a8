static char help[] = "Linear minimization oracles: feasible, at the value of the dual norm, and no random feasible point does better. Of matrices and arrays of both precisions and orders.\n\n";

#include "lmo_common.h"

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 8}, {8, 1}, {3, 3}, {18, 18}, {12, 30}, {37, 11}, {40, 36}};
  MuonLMO          lmo;
  FILE            *data = NULL;
  TestOracle       oracle;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestOracleOpen(&oracle));
  PetscCall(TestNormsComplete());
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetFromOptions(lmo));
  if (oracle.list != NULL) {
    char path[PETSC_MAX_PATH_LEN + 16];

    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/data.f64", oracle.folder));
    data = fopen(path, "wb");
    TestCheck(data != NULL, "Cannot write %s", path);
  }
  for (int t = 0; t < TEST_NORMS; t++) {
    const TestNorm rounded = TestNormRounded(&testnorms[t]), *norm = &rounded;
    const int      singular = norm->kind == LMO_SINGULAR;

    PetscCall(TestNormSet(norm, lmo));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
      const int   m = shapes[k][0], n = shapes[k][1], mn = m * n;
      double     *A, *B, *D, *S, *Z;
      const char *name = TestNormName(norm);

      /* Lanczos iterations, which find one triple of a larger matrix, are what the last shape is for */
      if (k == PETSC_STATIC_ARRAY_LENGTH(shapes) - 1 && (singular == 0 || norm->p != 1.0)) continue;
      PetscCall(PetscMalloc5(mn, &A, mn, &B, mn, &D, mn, &S, mn, &Z));
      for (int spectrum = 0; spectrum < TEST_SPECTRA * TEST_VARIANTS; spectrum++) {
        const int      variant = spectrum / TEST_SPECTRA, kind = spectrum % TEST_SPECTRA, trials = (singular && PetscMin(m, n) > 10) || variant != TEST_MAT ? 4 : 30;
        const double   eps = TestInputEpsilon(norm, variant), real = PetscMax(eps, (double)PETSC_MACHINE_EPSILON); /* of entries, and of norms, which are PetscReal */
        TestInput      G, H;
        PetscReal      primal, dual;
        PetscLogDouble before, after, flops;
        double         truth, value, size, sum = 0.0, bound;

        /* Every norm meets every variant with each shape and each spectrum, but not all of them with all */
        if (variant != TEST_MAT && (t + (int)k + kind) % (TEST_VARIANTS - 1) != variant - 1) continue;
        TestMatrix(m, n, kind, A);
        for (int i = 0; i < mn && TestPrecision(variant) == MUON_SINGLE; i++) A[i] = (double)(float)A[i];
        /* An exact zero, so that sign(0) is seen, and a column and a row of them; rank and norms are those of the matrix as it then is */
        if (singular == 0 && mn > 1) A[mn / 2] = 0.0;
        if (singular == 0 && m > 10) {
          for (int i = 0; i < m; i++) A[i + m] = 0.0;
          for (int j = 0; j < n; j++) A[2 + j * m] = 0.0;
        }
        truth = TestNormOf(norm, 1, m, n, A);
        for (int i = 0; i < mn; i++) sum += fabs(A[i]);
        PetscCall(TestCreate(variant, TEST_ALONE, m, n, 2, A, &G));
        PetscCall(TestCreate(variant, TEST_ALONE, m, n, 1, NULL, &H));
        PetscCall(PetscGetFlops(&before));
        PetscCall(TestInputApply(lmo, 0, &G, &H));
        PetscCall(PetscGetFlops(&after));
        PetscCall(MuonLMOGetFlops(lmo, m, n, &flops));
        /* What SLEPc counts is its own */
        TestCheck(after - before == flops || (singular && norm->p != 2.0), "%s %d x %d: %g operations were logged, %g announced", name, m, n, (double)(after - before), (double)flops);
        PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_OK, name));
        PetscCall(TestGet(&G, D));
        TestMost(name, TestFarthest(mn, A, D), 0.0);
        PetscCall(TestGet(&H, D));

        /*
           Entries of D are at most 1 and a few roundings off: their products with A are eps of the absolute
           sum off, times what sums of mn terms add; LAPACK's factors add (m + n) eps s sigma_1
        */
        bound = eps * (singular ? 8.0 * (m + n) * PetscMin(m, n) * TestNormOf(&testnorms[0], 0, m, n, A) : 4.0 * truth) + eps * mn * sum * (TestPrecision(variant) == MUON_SINGLE ? 0.1 : 1.0);
        value = TestDot(mn, A, D);
        size  = TestNormOf(norm, 0, m, n, D);
        TestCheck(size <= 1.0 + 8.0 * (m + n) * eps, "%s, %s %d x %d: ||D|| - 1 = %g", name, testspectra[kind], m, n, size - 1.0);
        TestCheck(truth == 0.0 ? size == 0.0 : size >= 1.0 - 8.0 * (m + n) * eps, "%s, %s %d x %d: ||D|| = %g", name, testspectra[kind], m, n, size);
        TestCheck(fabs(value + truth) <= bound, "%s, %s %d x %d: <G,D> = %.16g, the dual norm %.16g", name, testspectra[kind], m, n, value, truth);
        for (int i = 0; i < mn && singular == 0; i++) {
          TestCheck(A[i] != 0.0 || D[i] == 0.0, "%s: entry %d of D is %g where that of G is 0", name, i, D[i]);
          TestCheck(A[i] * D[i] <= 0.0 && (norm->exact == 0 || fabs(D[i]) == 1.0 || D[i] == 0.0), "%s: entry %d of D is %g where that of G is %g", name, i, D[i], A[i]);
        }

        /* Random points of the ball, and the minimizer turned a little: none has a smaller inner product */
        for (int trial = 0; trial < trials; trial++) {
          double best;

          for (int i = 0; i < mn; i++) Z[i] = trial % 2 == 0 ? TestGaussian() : D[i] + 0.01 * TestGaussian();
          best = TestNormOf(norm, 0, m, n, Z);
          for (int i = 0; i < mn; i++) Z[i] /= best;
          best = TestDot(mn, A, Z);
          TestCheck(best >= value - bound, "%s, %s %d x %d: a feasible point has %.16g, the oracle's %.16g", name, testspectra[kind], m, n, best, value);
        }

        PetscCall(TestInputNorms(lmo, &G, &primal, &dual));
        size = TestNormOf(norm, 0, m, n, A);
        TestCheck(fabs((double)primal - size) <= bound + 4.0 * real * size, "%s, %s %d x %d: norm %.16g, expected %.16g", name, testspectra[kind], m, n, (double)primal, size);
        TestCheck(fabs((double)dual - truth) <= bound + 4.0 * (real - eps) * truth, "%s, %s %d x %d: dual norm %.16g, expected %.16g", name, testspectra[kind], m, n, (double)dual, truth);

        /* G# = -dual D, <G,G#> = dual^2 = ||G#||^2 */
        PetscCall(TestInputApply(lmo, 1, &G, &H));
        PetscCall(TestGet(&H, S));
        for (int i = 0; i < mn; i++) Z[i] = -truth * D[i];
        value = TestDistance(mn, S, Z);
        TestCheck(value <= bound * TestDistance(mn, D, NULL) + 4.0 * real * TestDistance(mn, Z, NULL), "%s, %s %d x %d: the sharp operator is off by %g", name, testspectra[kind], m, n, value);
        value = TestDot(mn, A, S);
        TestCheck(fabs(value - truth * truth) <= (2.0 * bound + 16.0 * (m + n) * real * truth) * truth, "%s, %s %d x %d: <G,G#> = %g, expected %g", name, testspectra[kind], m, n, value, truth * truth);
        value = TestNormOf(norm, 0, m, n, S);
        TestCheck(fabs(value - truth) <= bound + 16.0 * (m + n) * real * truth, "%s, %s %d x %d: ||G#|| = %g, expected %g", name, testspectra[kind], m, n, value, truth);
        if (data != NULL) {
          fprintf(oracle.list, "%d %.17g %.17g %s %d %d %d %.17g %.17g %.17g %.17g\n", norm->kind, norm->p, norm->q, testspectra[kind], m, n, TestIsByRows(variant), eps, real, (double)primal, (double)dual);
          TestCheck(fwrite(A, sizeof(double), (size_t)mn, data) + fwrite(D, sizeof(double), (size_t)mn, data) + fwrite(S, sizeof(double), (size_t)mn, data) == 3 * (size_t)mn, "Cannot write in %s", oracle.folder);
        }

        /* NaN is a status, and the output stays */
        for (int i = 0; i < mn; i++) B[i] = A[i];
        B[mn - 1] = kind % 2 == 0 ? NAN : INFINITY;
        PetscCall(TestDestroy(&G));
        PetscCall(TestCreate(variant, TEST_ALONE, m, n, 1, B, &G));
        for (int sharp = 0; sharp < 2; sharp++) {
          PetscCall(TestInputApply(lmo, sharp, &G, &H));
          PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_NANORINF, name));
          PetscCall(TestGet(&H, Z));
          TestMost(name, TestFarthest(mn, S, Z), 0.0);
        }
        PetscCall(TestInputNorms(lmo, &G, &primal, &dual));
        PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_NANORINF, name));
        TestCheck(PetscIsNanReal(primal) && PetscIsNanReal(dual), "%s %d x %d: norms of NaN are %g and %g", name, m, n, (double)primal, (double)dual);
        PetscCall(TestDestroy(&G));
        PetscCall(TestDestroy(&H));
      }
      PetscCall(PetscFree5(A, B, D, S, Z));
    }
  }
  if (data != NULL) TestCheck(fclose(data) == 0, "Cannot write in %s", oracle.folder);
  PetscCall(TestOracleClose(&oracle));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: lmo.py

TEST*/
