static char help[] = "Every registered method on hard spectra, in every precision that it has, held to what its page promises, by a Jacobi SVD.\n\n";

#include "polar_common.h"

/*
   What a method promises as it is by default, for a singular value sigma of G and x = sigma / ||G||_F: the
   value of the factor for x in [0.1,1], [0.01,0.1) and [0.001,0.01), nothing above top, and errors of the
   arithmetic that grow at most so many times. A new type needs a row
*/
typedef struct {
  const char *type;
  double      range[3][2];
  double      top;
  double      growth;
} Promise;
static const Promise promises[] = {
  /* Exact: rounding alone, which the condition enlarges */
  {"svd", {{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}}, 1.0, 1e3},
  /*
     Four poles on [1e-3,1]: an error of 0.0189, and near 1e-3 in single 2^-24 over the smallest shift,
     1.1e-6, of the Gram matrix; inside the ball but for the guard's own error
  */
  {"zolotarev", {{0.962, 1.0}, {0.962, 1.0}, {0.90, 1.0}}, 1.01, 1e3},
  /* The ranges of K. Jordan's coefficients after five steps; their slope at zero is 485 */
  {"newtonschulz", {{0.682, 1.134}, {0.682, 1.134}, {0.471, 1.202}}, 1.203, 1e3},
  /*
     Those of the five rows of pe105, whose slope at zero is 806; the Gram matrix has the squares of the
     singular values
  */
  {"gram", {{0.846, 1.124}, {0.846, 1.124}, {0.729, 1.124}}, 1.125, 1e4},
  {"qdwh", {{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}}, 1.0, 1e3},
};

static PetscErrorCode Check(MuonPolar polar, const Promise *promise, double unit, int spectrum, int m, int n, double scale, int seen[])
{
  const int    s = PetscMin(m, n), l = PetscMax(m, n);
  const double bound = promise->growth * (m + n) * unit;
  const char  *name = testspectra[spectrum], *type = promise->type;
  double      *A, *B, *U, *V, *sigma, *tau, norm, nuclear = 0.0, most = 0.0, least = 0.0, inner, error = 0.0;
  int          rank = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(m * n, &A, m * n, &B, l * s, &U, l * s, &V, s, &sigma));
  PetscCall(PetscMalloc1(s, &tau));
  TestMatrix(m, n, spectrum, A);
  for (int i = 0; i < m * n; i++) A[i] = (double)(PetscScalar)(scale * A[i]);
  PetscCall(TestApply(polar, m, n, spectrum % 3, A, MUON_STATUS_OK, B));
  /* The numbers below are those of the matrix before it was scaled */
  for (int i = 0; i < m * n; i++) A[i] /= scale;

  /* Within the ball that the method promises, whatever the input */
  TestSVD(m, n, B, tau, U, V);
  PetscCheck(tau[0] <= promise->top + bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: a singular value of the factor is %g, expected at most %g", type, name, m, n, tau[0], promise->top);
  TestSVD(m, n, A, sigma, U, V);
  norm = TestDistance(m * n, A, NULL);
  while (rank < s && sigma[rank] > l * PETSC_MACHINE_EPSILON * sigma[0]) nuclear += sigma[rank++];
  /* For each singular pair of G what the factor makes of it */
  for (int j = 0; j < rank; j++) {
    double f = 0.0;
    int    column;

    for (int q = 0; q < n; q++) {
      for (int p = 0; p < m; p++) f += U[p + j * m] * B[p + q * m] * V[q + j * n];
    }
    for (column = 0; column < 3 && sigma[j] / norm < pow(0.1, column + 1) * (1.0 - 1e-6); column++) continue;
    /* Below the last column anything from nothing to the top */
    most += sigma[j] * (column < 3 ? promise->range[column][1] : promise->top);
    least += sigma[j] * (column < 3 ? promise->range[column][0] : -bound);
    if (column == 3) continue;
    seen[column]++;
    /* The ranges have three digits; rounding is enlarged the more the smaller the singular value is */
    PetscCheck(f >= promise->range[column][0] - 6e-4 - bound && f <= promise->range[column][1] + 6e-4 + bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: singular value %g of the normalized matrix became %g, outside of [%g,%g]", type, name, m,
               n, sigma[j] / norm, f, promise->range[column][0], promise->range[column][1]);
  }
  /* 6.5: close to the nuclear norm */
  inner = TestDot(m * n, A, B);
  PetscCheck(inner >= least - (6e-4 + bound) * nuclear && inner <= most + (6e-4 + bound) * nuclear, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: <G,Q> is %g, expected between %g and %g, nuclear norm %g", type, name, m, n, inner, least, most,
             nuclear);
  /* The singular vectors are those of G: the product of G and the factor over the long side is symmetric */
  error = TestAsymmetry(m, n, A, B);
  PetscCheck(error <= bound * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: G^T Q is off symmetry by %g ||G||", type, name, error / norm);
  /* Nothing where G has nothing: the canonical partial isometry */
  for (int j = rank; j < s && spectrum == TEST_DEFICIENT; j++) {
    const double *v = m > n ? V + j * n : U + j * m;

    error = 0.0;
    for (int i = 0; i < l; i++) {
      double sum = 0.0;

      for (int k = 0; k < s; k++) sum += (m > n ? B[i + k * m] : B[k + i * m]) * v[k];
      error += sum * sum;
    }
    PetscCheck(sqrt(error) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d: a direction that G does not have is %g in the factor", type, name, m, n, sqrt(error));
  }
  if (spectrum == TEST_ZERO) PetscCheck(TestDistance(m * n, B, NULL) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the factor of zero has norm %g", type, TestDistance(m * n, B, NULL));
  PetscCall(PetscFree5(A, B, U, V, sigma));
  PetscCall(PetscFree(tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {28, 28}, {16, 40}, {40, 16}, {30, 29}};
  MuonPolar        polar;
  const char     **types;
  int              count;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(PetscFunctionListGet(MuonPolarList, &types, &count));
  for (int t = 0; t < count && types[t] != NULL; t++) {
    const Promise *promise = NULL;
    PetscBool      same, exact, factor;

    /* No polar factor: see polar_mud.c */
    PetscCall(PetscStrcmp(types[t], MUONPOLARMUD, &factor));
    if (factor) continue;

    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(promises); p++) {
      PetscCall(PetscStrcmp(promises[p].type, types[t], &same));
      if (same == PETSC_TRUE) promise = &promises[p];
    }
    PetscCheck(promise != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The test knows no promise of the type %s: add one", types[t]);
    PetscCall(MuonPolarSetType(polar, types[t]));
    PetscCall(PetscStrcmp(types[t], MUONPOLARSVD, &exact));
    for (int precision = MUON_POLAR_PRECISION_SINGLE; precision <= (exact == PETSC_TRUE ? MUON_POLAR_PRECISION_SINGLE : MUON_POLAR_PRECISION_DOUBLE); precision++) {
      int    seen[3] = {0, 0, 0};
      double unit    = PETSC_MACHINE_EPSILON;

      PetscCall(TestSetPrecision(polar, exact == PETSC_TRUE ? MUON_POLAR_PRECISION_DETERMINE : (MuonPolarPrecision)precision));
      if (exact == PETSC_FALSE) PetscCall(TestEpsilon(polar, &unit));
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
        for (int spectrum = 0; spectrum < TEST_SPECTRA; spectrum++) PetscCall(Check(polar, promise, unit, spectrum, shapes[k][0], shapes[k][1], 1.0, seen));
      }
      for (int spectrum = 0; spectrum < TEST_SPECTRA; spectrum += 2) {
        PetscCall(Check(polar, promise, unit, spectrum, 12, 17, 1e30, seen));
        PetscCall(Check(polar, promise, unit, spectrum, 17, 12, 1e-30, seen));
      }
      PetscCheck(seen[0] > 10 && seen[1] > 10 && seen[2] > 10, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The spectra do not reach every range: %d %d %d", seen[0], seen[1], seen[2]);
    }
  }
  PetscCall(PetscFree(types));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
