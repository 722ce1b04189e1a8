static char help[] = "Minimizers over the unit balls of all norms, norms and sharp operators for tests/oracle/lmo.py: of matrices and arrays of both precisions and orders.\n\n";

#include "lmo_common.h"

/* One matrix by an oracle; its norms, minimizer and sharp operator go to the files */
static PetscErrorCode Write(MuonLMO lmo, const TestNorm *norm, int variant, int kind, int m, int n, const double *A, TestOracle *oracle, FILE *data)
{
  const double   eps = TestInputEpsilon(norm, variant), real = PetscMax(eps, (double)PETSC_MACHINE_EPSILON); /* of entries, and of norms, which are PetscReal */
  const size_t   mn   = (size_t)(m * n);
  const char    *name = TestNormName(norm);
  TestInput      G, H;
  PetscReal      primal, dual;
  PetscLogDouble before, after, flops;
  double        *D, *S;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(mn, &D, mn, &S));
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 2, A, &G));
  PetscCall(TestCreate(variant, TEST_ALONE, m, n, 1, NULL, &H));
  PetscCall(PetscGetFlops(&before));
  PetscCall(TestInputApply(lmo, 0, &G, &H));
  PetscCall(PetscGetFlops(&after));
  PetscCall(MuonLMOGetFlops(lmo, m, n, &flops));
  /* What SLEPc counts is its own */
  TestCheck(after - before == flops || (norm->kind == LMO_SINGULAR && norm->p != 2.0), "%s %d x %d: %g operations were logged, %g announced", name, m, n, (double)(after - before), (double)flops);
  PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_OK, name));
  PetscCall(TestGet(&G, S));
  TestMost(name, TestFarthest((int)mn, A, S), 0.0);
  PetscCall(TestGet(&H, D));
  PetscCall(TestInputNorms(lmo, &G, &primal, &dual));
  PetscCall(TestInputApply(lmo, 1, &G, &H));
  PetscCall(TestGet(&H, S));
  fprintf(oracle->list, "%d %.17g %.17g %d %s %d %d %d %.17g %.17g %.17g %.17g\n", norm->kind, norm->p, norm->q, norm->exact, testspectra[kind], m, n, variant, eps, real, (double)primal, (double)dual);
  TestCheck(fwrite(A, sizeof(double), mn, data) + fwrite(D, sizeof(double), mn, data) + fwrite(S, sizeof(double), mn, data) == 3 * mn, "Cannot write in %s", oracle->folder);
  PetscCall(TestInputNaN(lmo, variant, TEST_ALONE, m, n, A, (int)mn - 1, kind % 2 == 0 ? NAN : INFINITY, name));
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&H));
  PetscCall(PetscFree2(D, S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many ties in columns longer than what the kernels take at once: the largest of a column is 2, first in row 63 + 64 j, where a group of 64 ends, and in others later */
static void FillTies(int m, int n, double *A)
{
  for (int e = 0; e < m * n; e++) {
    const int i = e % m, j = e / m, first = 63 + 64 * j;

    A[e] = i < first ? (i + j) % 3 - 1 : i > first ? (i + j) % 5 - 2 : -2.0;
  }
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 8}, {8, 1}, {3, 3}, {18, 18}, {12, 30}, {37, 11}, {40, 36}};
  MuonLMO          lmo;
  FILE            *data;
  TestOracle       oracle;
  char             path[PETSC_MAX_PATH_LEN + 16];
  double           A[2100 * 3];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestOracleOpen(&oracle));
  PetscCall(TestNormsComplete());
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  PetscCall(MuonLMOSetFromOptions(lmo));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/data.f64", oracle.folder));
  data = fopen(path, "wb");
  TestCheck(oracle.list != NULL && data != NULL, "Cannot write %s", path);
  for (int t = 0; t < TEST_NORMS; t++) {
    /* With the exponents that a setter gets */
    const TestNorm  rounded  = {testnorms[t].type, testnorms[t].kind, (double)(PetscReal)testnorms[t].p, (double)(PetscReal)testnorms[t].q, testnorms[t].exact};
    const TestNorm *norm     = &rounded;
    const int       singular = norm->kind == LMO_SINGULAR;

    PetscCall(TestNormSet(norm, lmo));
    FillTies(2100, 3, A);
    if (norm->exact) PetscCall(Write(lmo, norm, TEST_MAT, TEST_FLAT, 2100, 3, A, &oracle, data));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
      const int m = shapes[k][0], n = shapes[k][1], mn = m * n;

      /* Lanczos iterations, which find one triple of a larger matrix, are what the last shape is for */
      if (k == PETSC_STATIC_ARRAY_LENGTH(shapes) - 1 && (singular == 0 || norm->p != 1.0)) continue;
      for (int spectrum = 0; spectrum < TEST_SPECTRA * TEST_VARIANTS; spectrum++) {
        const int variant = spectrum / TEST_SPECTRA, kind = spectrum % TEST_SPECTRA;

        /* Every norm meets every variant with each shape and each spectrum, but not all of them with all */
        if (variant != TEST_MAT && (t + (int)k + kind) % (TEST_VARIANTS - 1) != variant - 1) continue;
        TestMatrix(m, n, kind, A);
        for (int i = 0; i < mn && TestPrecision(variant) == MUON_SINGLE; i++) A[i] = (double)(float)A[i];
        /* An exact zero, so that sign(0) is seen, and a column and a row of them; rank and norms are those of the matrix as it then is */
        if (singular == 0 && mn > 1) A[mn / 2] = 0.0;
        for (int i = 0; i < mn && singular == 0 && m > 10; i++) A[i] = i / m == 1 || i % m == 2 ? 0.0 : A[i];
        PetscCall(Write(lmo, norm, variant, kind, m, n, A, &oracle, data));
      }
    }
  }
  TestCheck(fclose(data) == 0, "Cannot write in %s", oracle.folder);
  PetscCall(TestOracleClose(&oracle));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: lmo.py

TEST*/
