static char help[] = "Polar factors of hard spectra against a Jacobi SVD, a scalar iteration and numpy.\n\n";

#include "polar_common.h"

/*
   Output ranges of algorithms in exact arithmetic for sigma/||G||_F in [l,1], l = 0.1, 0.01, 0.001, printed
   with three digits
*/
typedef struct {
  const char *coefficients;
  int         steps;
  double      c[3];
  double      range[3][2];
} Row;
static const Row rows[] = {{"kj", 5, {3.4445, -4.7750, 2.0315}, {{0.682, 1.134}, {0.682, 1.134}, {0.471, 1.202}}},
                           {"quintic", 5, {1.875, -1.25, 0.375}, {{0.996, 1.0}, {0.228, 1.0}, {0.023, 1.0}}},
                           {"quintic", 10, {1.875, -1.25, 0.375}, {{1.0, 1.0}, {1.0, 1.0}, {0.499, 1.0}}},
                           {"cubic", 5, {1.5, -0.5, 0.0}, {{0.659, 1.0}, {0.076, 1.0}, {0.008, 1.0}}},
                           {"cubic", 10, {1.5, -0.5, 0.0}, {{1.0, 1.0}, {0.529, 1.0}, {0.058, 1.0}}},
                           {"cubic", 15, {1.5, -0.5, 0.0}, {{1.0, 1.0}, {1.0, 1.0}, {0.417, 1.0}}}};

static double Polynomial(const Row *row, double x)
{
  return row->c[0] * x + row->c[1] * x * x * x + row->c[2] * x * x * x * x * x;
}

static double Slope(const Row *row, double x)
{
  return row->c[0] + 3.0 * row->c[1] * x * x + 5.0 * row->c[2] * x * x * x * x;
}

/* The largest factor by which an error made before any step has grown after the last */
static double Amplification(const Row *row)
{
  double most = 1.0;

  for (int g = 0; g <= 4096; g++) {
    for (int first = 0; first < row->steps; first++) {
      double x = g / 4096.0, slope = 1.0;

      for (int k = 0; k < row->steps; k++) {
        if (k >= first) slope *= Slope(row, x);
        x = Polynomial(row, x);
      }
      most = PetscMax(most, fabs(slope));
    }
  }
  return most;
}

int main(int argc, char **argv)
{
  static const int      shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {24, 24}, {16, 40}, {40, 16}, {33, 32}};
  double                eps         = 0.0;
  const Row            *row         = NULL;
  MuonPolar             polar;
  MuonPolarType         type;
  MuonPolarCoefficients coefficients;
  PetscInt              steps;
  PetscBool             exact, same, dump;
  int                   seen[3] = {0, 0, 0}, dumped = 0;
  char                  directory[PETSC_MAX_PATH_LEN];
  FILE                 *list = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", directory, sizeof(directory), &dump));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarGetType(polar, &type));
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(TestGetCoefficients(polar, &coefficients));
  PetscCall(TestGetSteps(polar, &steps));
  PetscCall(PetscStrcmp(type, MUONPOLARSVD, &exact));
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(rows); r++) {
    PetscCall(PetscStrcmp(rows[r].coefficients, coefficients, &same));
    if (same == PETSC_TRUE && rows[r].steps == steps) row = &rows[r];
  }
  PetscCheck(exact == PETSC_TRUE || row != NULL, PETSC_COMM_SELF, PETSC_ERR_USER, "No table for %s with %" PetscInt_FMT " steps", coefficients, steps);
  if (dump == PETSC_TRUE) {
    char path[PETSC_MAX_PATH_LEN];

    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases.txt", directory));
    list = fopen(path, "w");
    PetscCheck(list != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  }

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1], s = PetscMin(m, n), l = PetscMax(m, n);
    double   *A, *Q, *expected, *U, *V, *P, *sigma;

    PetscCall(PetscMalloc7(m * n, &A, m * n, &Q, m * n, &expected, m * s, &U, n * s, &V, m * m, &P, s, &sigma));
    for (int spectrum = 0; spectrum < TEST_SPECTRA; spectrum++) {
      Mat        G, R;
      MuonStatus status;
      double     norm, error, bound, nuclear = 0.0, inner;
      int        rank = 0;

      TestMatrix(m, n, spectrum, A);
      PetscCall(TestMat(m, n, spectrum % 3, A, &G));
      PetscCall(TestMat(m, n, (spectrum + 1) % 3, NULL, &R));
      PetscCall(MuonPolarApply(polar, G, R, &status));
      PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: status %d", testspectra[spectrum], m, n, (int)status);
      PetscCall(TestMatGet(G, Q));
      PetscCheck(TestDistance(m * n, A, Q) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: the input was changed", testspectra[spectrum], m, n);
      PetscCall(TestMatGet(R, Q));
      if (dump == PETSC_TRUE) {
        fprintf(list, "%s %s %d %d %d %.17g\n", testspectra[spectrum], exact == PETSC_TRUE ? "svd" : coefficients, (int)steps, m, n, eps);
        PetscCall(TestDump(directory, "G", dumped, (size_t)m * n, A));
        PetscCall(TestDump(directory, "Q", dumped++, (size_t)m * n, Q));
      }

      TestSVD(m, n, A, sigma, U, V);
      norm = TestDistance(m * n, A, NULL);
      while (rank < s && sigma[rank] > l * eps * sigma[0]) nuclear += sigma[rank++];
      for (int j = 0; j < rank; j++) {
        double f = 1.0;

        if (exact == PETSC_FALSE) {
          f = sigma[j] / norm;
          for (int i = 0; i < row->steps; i++) f = Polynomial(row, f);
        }
        for (int i = 0; i < m; i++) U[i + j * m] *= f;
      }
      TestMultiply(m, n, rank, U, V, 1, expected);
      error = TestDistance(m * n, Q, expected);
      inner = TestDot(m * n, A, Q);
      if (exact == PETSC_TRUE) {
        /*
           LAPACK's factors belong to a matrix at a distance of a modest multiple of (m + n) eps sigma_1, and
           the polar factor moves by at most 3/sigma_r of that distance
        */
        bound = rank > 0 ? 8.0 * (m + n) * eps * sigma[0] / sigma[rank - 1] : 0.0;
        /*
           That says nothing where the smallest singular value is tiny. An isometry it is there too, of the
           canonical rank, and it reaches the nuclear norm
        */
        TestMultiply(m, m, n, Q, Q, 1, P);
        TestMultiply(m, n, m, P, Q, 0, expected);
        PetscCheck(TestDistance(m * n, expected, Q) <= 8.0 * (m + n) * eps * sqrt((double)s), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: Q Q^T Q - Q has norm %g", testspectra[spectrum], m, n, TestDistance(m * n, expected, Q));
        PetscCheck(fabs(TestDot(m * n, Q, Q) - rank) <= 8.0 * (m + n) * eps * (s + 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: ||Q||_F^2 is %g for rank %d", testspectra[spectrum], m, n, TestDot(m * n, Q, Q), rank);
        PetscCheck(fabs(inner - nuclear) <= 8.0 * (m + n) * eps * s * sigma[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: <G,Q> is %.16g, the nuclear norm %.16g", testspectra[spectrum], m, n, inner, nuclear);
      } else {
        /* The rounding of one step, a modest multiple of (m + n) eps, grows by all the steps after it */
        bound = Amplification(row) * (row->steps + 1) * 2.0 * (m + n) * eps;
        for (int j = 0; j < rank; j++) {
          const char *name = testspectra[spectrum];
          double      f    = 0.0, lowest, highest;
          int         column;

          for (column = 0; column < 3 && sigma[j] / norm < pow(0.1, column + 1) * (1.0 - 1e-6); column++) continue;
          if (column == 3) continue;
          seen[column]++;
          /* f sigma(Q) along the pair of singular vectors; U already carries f */
          for (int q = 0; q < n; q++) {
            for (int p = 0; p < m; p++) f += U[p + j * m] * Q[p + q * m] * V[q + j * n];
          }
          f /= sqrt(TestDot(m, U + j * m, U + j * m));
          lowest  = row->range[column][0] - 6e-4 - bound;
          highest = row->range[column][1] + 6e-4 + bound;
          PetscCheck(f >= lowest && f <= highest, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: singular value %g of the normalized matrix became %g, outside [%g,%g]", name, m, n, sigma[j] / norm, f, lowest, highest);
        }
      }
      PetscCheck(error <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: error %g, bound %g", testspectra[spectrum], m, n, error, bound);
      PetscCall(TestMatDestroy(&G));
      PetscCall(TestMatDestroy(&R));
    }
    PetscCall(PetscFree7(A, Q, expected, U, V, P, sigma));
  }
  PetscCheck(exact == PETSC_TRUE || (seen[0] > 10 && seen[1] > 10 && seen[2] > 10), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The spectra do not reach every column of the table: %d %d %d", seen[0], seen[1], seen[2]);
  if (list != NULL) fclose(list);
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: svd
    args: -lmo_polar_type svd
    oracle: polar.py

  test:
    suffix: solvers
    args: -lmo_polar_type svd -lmo_polar_svd_type {{lapack trlanczos}}
    oracle: polar.py

  test:
    suffix: kj
    args: -lmo_polar_type newtonschulz -lmo_polar_precision {{single double}}
    oracle: polar.py

  test:
    suffix: quintic
    args: -lmo_polar_type newtonschulz -lmo_polar_precision double -lmo_polar_coefficients quintic -lmo_polar_steps {{5 10}}
    oracle: polar.py

  test:
    suffix: cubic
    args: -lmo_polar_type newtonschulz -lmo_polar_precision double -lmo_polar_coefficients cubic -lmo_polar_steps {{5 10 15}}
    oracle: polar.py

TEST*/
