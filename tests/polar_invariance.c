static char help[] = "What every polar factor keeps: transposition, rotation, scale, leading dimension, empty and extreme input.\n\n";

#include "polar_common.h"

static PetscErrorCode Check(MuonPolar polar)
{
  static const int shapes[][2] = {{1, 1}, {1, 6}, {6, 1}, {12, 12}, {8, 20}, {20, 8}};
  const int        largest = PetscDefined(USE_REAL_SINGLE) ? 120 : 1000, smallest = PetscDefined(USE_REAL_SINGLE) ? -140 : -1060;
  double           growth = 1.0, eps = 0.0;
  MuonPolarType    type;
  PetscBool        exact;

  PetscFunctionBeginUser;
  PetscCall(MuonPolarGetType(polar, &type));
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(PetscStrcmp(type, MUONPOLARSVD, &exact));
  /* The slope at zero of fifteen cubic or ten quintic steps, the steepest of the polynomials here, is 537, and no method is steeper where the singular values are here; that of the exact factor is the
     condition, 10 */
  growth = exact == PETSC_TRUE ? 10.0 : 1000.0;

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int    m = shapes[k][0], n = shapes[k][1];
    const double bound = growth * 32.0 * (m + n) * eps;
    double      *A, *B, *Q, *R, *T, *U, *V;

    PetscCall(PetscMalloc7(m * n, &A, m * n, &B, m * n, &Q, m * n, &R, m * n, &T, m * m, &U, n * n, &V));
    TestDecades(m, n, 1.0, A);
    PetscCall(TestApply(polar, m, n, 0, A, MUON_STATUS_OK, Q));
    PetscCheck(TestDistance(m * n, Q, NULL) > 0.5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The factor of a %d x %d matrix has norm %g", m, n, TestDistance(m * n, Q, NULL));

    /*
       The same bits for another leading dimension, after other work, and for a power of two times the matrix
    */
    PetscCall(TestApply(polar, m, n, 2, A, MUON_STATUS_OK, R));
    PetscCheck(TestDistance(m * n, Q, R) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the leading dimension changes the factor by %g", m, n, TestDistance(m * n, Q, R));
    for (int e = -40; e <= 40; e += 80) {
      for (int i = 0; i < m * n; i++) B[i] = ldexp(A[i], e);
      PetscCall(TestApply(polar, m, n, 1, B, MUON_STATUS_OK, R));
      PetscCheck(TestDistance(m * n, Q, R) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the factor of 2^%d G is another by %g", m, n, e, TestDistance(m * n, Q, R));
    }
    for (int i = 0; i < m * n; i++) B[i] = (double)(PetscScalar)(A[i] * 3.7e-5);
    PetscCall(TestApply(polar, m, n, 1, B, MUON_STATUS_OK, R));
    PetscCheck(TestDistance(m * n, Q, R) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the factor of c G is another by %g", m, n, TestDistance(m * n, Q, R));

    /* Close to overflow nothing overflows; where entries are subnormal their rounding is what is left */
    for (int i = 0; i < m * n; i++) B[i] = ldexp(A[i], largest);
    PetscCall(TestApply(polar, m, n, 1, B, MUON_STATUS_OK, R));
    PetscCheck(TestDistance(m * n, Q, R) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the factor of 2^%d G is another by %g", m, n, largest, TestDistance(m * n, Q, R));
    for (int i = 0; i < m * n; i++) B[i] = (double)(PetscScalar)ldexp(A[i], smallest);
    PetscCall(TestApply(polar, m, n, 1, B, MUON_STATUS_OK, T));
    for (int i = 0; i < m * n; i++) B[i] = ldexp(B[i], -smallest);
    PetscCall(TestApply(polar, m, n, 1, B, MUON_STATUS_OK, R));
    PetscCheck(TestDistance(m * n, T, R) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the factor of a subnormal matrix is another by %g", m, n, TestDistance(m * n, T, R));

    /* polar(-G) = -polar(G), and of what is a function of singular values polar(G^T) = polar(G)^T, polar(U G V) = U polar(G) V for orthogonal U and V */
    for (int i = 0; i < m * n; i++) B[i] = -A[i];
    PetscCall(TestApply(polar, m, n, 1, B, MUON_STATUS_OK, R));
    for (int i = 0; i < m * n; i++) R[i] = -R[i];
    PetscCheck(TestDistance(m * n, Q, R) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the factor of -G differs by %g, bound %g", m, n, TestDistance(m * n, Q, R), bound);
    if (strcmp(type, MUONPOLARMUD) != 0) {
      for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) B[j + i * n] = A[i + j * m];
      }
      PetscCall(TestApply(polar, n, m, 1, B, MUON_STATUS_OK, T));
      for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) R[i + j * m] = T[j + i * n];
      }
      PetscCheck(TestDistance(m * n, Q, R) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the transpose's factor is another by %g, bound %g", m, n, TestDistance(m * n, Q, R), bound);
      TestOrthonormal(m, m, U);
      TestOrthonormal(n, n, V);
      TestMultiply(m, n, m, U, A, 0, T);
      TestMultiply(m, n, n, T, V, 0, B);
      for (int i = 0; i < m * n; i++) B[i] = (double)(PetscScalar)B[i];
      PetscCall(TestApply(polar, m, n, 1, B, MUON_STATUS_OK, R));
      TestMultiply(m, n, m, U, Q, 0, T);
      TestMultiply(m, n, n, T, V, 0, B);
      PetscCheck(TestDistance(m * n, B, R) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the rotated factor is another by %g, bound %g", m, n, TestDistance(m * n, B, R), bound);
    }

    PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, R));
    PetscCheck(TestDistance(m * n, Q, R) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the factor depends on what was computed before", m, n);
    PetscCall(PetscFree7(A, B, Q, R, T, U, V));
  }
  /* Empty ones */
  PetscCall(TestApply(polar, 0, 5, 0, NULL, MUON_STATUS_OK, NULL));
  PetscCall(TestApply(polar, 5, 0, 0, NULL, MUON_STATUS_OK, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonPolar    polar;
  const char **types;
  PetscBool    all = PETSC_FALSE, exact;
  int          count;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-all", &all, NULL));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  if (all == PETSC_FALSE) {
    PetscCall(MuonPolarSetFromOptions(polar));
    PetscCall(Check(polar));
  } else {
    PetscCall(PetscFunctionListGet(MuonPolarList, &types, &count));
    for (int t = 0; t < count && types[t] != NULL; t++) {
      PetscCall(MuonPolarSetType(polar, types[t]));
      PetscCall(PetscStrcmp(types[t], MUONPOLARSVD, &exact));
      PetscCall(TestSetPrecision(polar, MUON_POLAR_PRECISION_DETERMINE));
      PetscCall(Check(polar));
      if (exact == PETSC_TRUE) continue;
      PetscCall(TestSetPrecision(polar, MUON_POLAR_PRECISION_DOUBLE));
      PetscCall(Check(polar));
    }
    PetscCall(PetscFree(types));
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # Every registered type as it is by default, and in double
  table: suffix | args
    all          | -all
    svd          | -lmo_polar_type svd -lmo_polar_svd_type {{lapack trlanczos randomized}}
    newtonschulz | -lmo_polar_type newtonschulz -lmo_polar_precision {{single double}} -lmo_polar_coefficients {{kj quintic cubic}}

TEST*/
