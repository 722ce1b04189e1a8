static char help[] = "Factorizations that fail: repeated in double, on larger intervals, and at last by a singular value decomposition.\n\n";

#include "polar_common.h"
#include "kernels/dense/muonblas.h"

/*
   The BLAS's SYRK, which this program replaces by loops that can be told to be wrong: a factorization in double on an interval from 0.03 on fails for
   no matrix, only where arithmetic itself does. What is wrong has a negative diagonal
*/
static int testbroken = 0;

#define TEST_SYRK(REAL, name) \
  PETSC_EXTERN void name(const char *uplo, const char *trans, const MuonBLASInt *n, const MuonBLASInt *k, const REAL *alpha, const REAL *A, const MuonBLASInt *lda, const REAL *beta, REAL *C, const MuonBLASInt *ldc) \
  { \
    for (MuonBLASInt j = 0; j < *n; j++) { \
      for (MuonBLASInt i = *uplo == 'L' ? j : 0; i < (*uplo == 'L' ? *n : j + 1); i++) { \
        REAL sum = 0; \
\
        for (MuonBLASInt p = 0; p < *k; p++) sum += *trans == 'N' ? A[i + p * *lda] * A[j + p * *lda] : A[p + i * *lda] * A[p + j * *lda]; \
        C[i + j * *ldc] = (*beta == 0 ? 0 : *beta * C[i + j * *ldc]) + *alpha * sum; \
        if (testbroken && i == j) C[i + j * *ldc] = -1; \
      } \
    } \
  }

PETSC_EXTERN void MUON_BLAS(s, syrk, SYRK)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const float *, const float *, const MuonBLASInt *, const float *, float *, const MuonBLASInt *);
PETSC_EXTERN void MUON_BLAS(d, syrk, SYRK)(const char *, const char *, const MuonBLASInt *, const MuonBLASInt *, const double *, const double *, const MuonBLASInt *, const double *, double *, const MuonBLASInt *);
TEST_SYRK(float, MUON_BLAS(s, syrk, SYRK))
TEST_SYRK(double, MUON_BLAS(d, syrk, SYRK))

/* Q = the factor of A by Zolotarev's function with these settings; the object is shown */
static PetscErrorCode Factor(const char settings[], PetscBool show, int m, int n, const double *A, MuonStatus expected, double *Q)
{
  MuonPolar polar;

  PetscFunctionBeginUser;
  PetscCall(TestMake(PETSC_COMM_WORLD, "type zolotarev", &polar));
  PetscCall(TestTune(polar, "%s", settings));
  PetscCall(TestApplyAs(polar, TEST_MAT, TEST_EVEN, m, n, 0, A, expected, Q));
  if (show == PETSC_TRUE) PetscCall(MuonPolarView(polar, NULL));
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const int   m = 104, n = 97; /* too large for the kernels that do without the BLAS */
  double     *A, *Q, *R, *U, *V, *sigma;
  PetscMPIInt size;
  int         rank = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc6(m * n, &A, m * n, &Q, m * n, &R, m * n, &U, n * n, &V, n, &sigma));
  TestMatrix(m, n, TEST_DEFICIENT, A);
  TestSVD(m, n, A, sigma, U, V);
  while (rank < n && sigma[rank] > 1e-4 * sigma[0]) rank++;

  /*
     The zeros among the eigenvalues are rounded to some 1e-8, the smallest shift is far below: single
     precision fails, and then it is double precision as asked for from the start
  */
  PetscCall(Factor("zolotarev_poles 4 zolotarev_interval 1e-6 precision single", PETSC_TRUE, m, n, A, MUON_STATUS_OK, Q));
  PetscCall(Factor("zolotarev_poles 4 zolotarev_interval 1e-6 precision double", PETSC_TRUE, m, n, A, MUON_STATUS_OK, R));
  TestMost("repeated in double", TestDistance(m * n, Q, R), 0.0);

  /*
     Double precision fails too, on the first intervals: the result is that of the next one. With 4 poles on
     it the singular values, all but the zeros above 0.04 nu, end in [0.3,1]
  */
  PetscCall(Factor("zolotarev_poles 4 zolotarev_interval 1e-12 precision double", PETSC_FALSE, m, n, A, MUON_STATUS_OK, Q));
  PetscCall(Factor("zolotarev_poles 4 zolotarev_interval 4e-12 precision double", PETSC_FALSE, m, n, A, MUON_STATUS_OK, R));
  TestMost("interval 1e-12, enlarged to 4e-12", TestDistance(m * n, Q, R), 1e-6);
  for (int j = 0; j < rank; j++) {
    double f = 0.0;

    for (int i = 0; i < n; i++) f += V[i + j * n] * TestDot(m, U + j * m, Q + i * m);
    TestCheck(f > 0.1 && f <= 1.0 + 1e-6, "Singular value %g became %g", sigma[j], f);
  }

  /* Where all is wrong, the exact factor of a sequential matrix, and a status for a parallel one, whose factor stays as it was */
  testbroken = 1;
  PetscCall(Factor("", PETSC_TRUE, m, n, A, size == 1 ? MUON_STATUS_OK : MUON_STATUS_LMO, Q));
  testbroken = 0;
  TestMultiply(m, n, rank, U, V, 1, R);
  /* LAPACK's factors are off by a modest multiple of (m + n) eps times the condition, 12 here */
  if (size == 1) TestMost("the last resort", TestDistance(m * n, Q, R), 100.0 * (m + n) * PETSC_MACHINE_EPSILON);
  PetscCall(PetscFree6(A, Q, R, U, V, sigma));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # Factorizations of single matrices are the ones that fail first
  build:
    requires: double

  test:
    nsize: {{1 3}}
    filter: grep -v -e Object -e type -e scratch
    output_file: output/polar_zolotarev_retry_1.out

TEST*/
