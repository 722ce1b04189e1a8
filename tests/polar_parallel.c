static char help[] = "Polar factors of arrays and Mats, on one rank and with rows on many: "
                     "the same factors and statuses everywhere, many in one call, what a rank holds and sends.\n\n";

#include "polar_common.h"
#include <slepcsvd.h>
#include "mpicount.h"

/*
   Numbers of binary32 have one factor, to the last bit of the precision that has fewer, whatever array they are in, and lines are lines, rows
   or columns. F is by columns; Q and R get the factor, and its rounded one
*/
static PetscErrorCode CheckBits(MuonPolar polar, int m, int n, const double *F, double *T, double *Q, double *R)
{
  const char *type = ((PetscObject)polar)->type_name;

  PetscFunctionBeginUser;
  for (int rowmajor = 0; rowmajor < 2; rowmajor++) {
    if (rowmajor && m == n && strcmp(type, MUONPOLARMUD) == 0) continue; /* its rows are no columns of the transpose */
    for (int i = 0; i < m * n; i++) T[rowmajor ? i / m + i % m * n : i] = F[i];
    PetscCall(TestApply(polar, rowmajor ? n : m, rowmajor ? m : n, 0, T, MUON_STATUS_OK, R));
    for (int i = 0; i < m * n; i++) Q[i] = R[rowmajor ? i / m + i % m * n : i];
    PetscCall(TestApplyAs(polar, TEST_SINGLE_COLUMNS + rowmajor, TEST_ALONE, m, n, (m + n) % 3, F, MUON_STATUS_OK, R));
    for (int i = 0; i < m * n; i++) TestNear(type, R[i], (float)Q[i], 0.0);
    PetscCall(TestApplyAs(polar, TEST_DOUBLE_COLUMNS + rowmajor, TEST_ALONE, m, n, (m + n) % 3, F, MUON_STATUS_OK, R));
    TestMost(type, TestFarthest(m * n, R, Q), PetscDefined(USE_REAL_SINGLE) ? ldexp(1.0, -24) : 0.0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckArrays(MuonPolar polar, int m, int n)
{
  const int          s    = PetscMin(m, n);
  const char        *type = ((PetscObject)polar)->type_name;
  MuonPolarPrecision precision;
  PetscInt           steps = 0;
  double            *A, *F, *T, *Q, *R, *U, *V, *sigma;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(m * n, &A, m * n, &F, m * n, &T, m * n, &Q, m * n, &R));
  PetscCall(PetscMalloc3(m * s, &U, n * s, &V, s, &sigma));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCall(TestGetSteps(polar, &steps));
  /* Singular values 1 ... 0.1 that nothing has rounded to PetscScalar, and the same rounded to binary32 */
  for (int j = 0; j < s; j++) sigma[j] = pow(0.1, s > 1 ? (double)j / (s - 1) : 0.0);
  TestOfValues(m, n, sigma, A);
  for (int i = 0; i < m * n; i++) F[i] = (double)(float)A[i];
  PetscCall(CheckBits(polar, m, n, F, T, Q, R));
  /*
     A double array in a single PETSc too, with digits that binary32 has not: against Jacobi's rotations,
     where the method is exact, and else its own result in the other distributions
  */
  for (int p = 0; p < 2; p++) {
    const double *from = p ? A : F, unit = ldexp(1.0, p == 0 || precision == MUON_POLAR_PRECISION_SINGLE ? -24 : -53);

    PetscCall(TestApplyAs(polar, p ? TEST_DOUBLE_COLUMNS : TEST_SINGLE_COLUMNS, TEST_ALONE, m, n, 0, from, MUON_STATUS_OK, Q));
    if (strcmp(type, MUONPOLARSVD) == 0 || (steps == 0 && precision == MUON_POLAR_PRECISION_DOUBLE)) {
      TestSVD(m, n, from, sigma, U, V);
      TestMultiply(m, n, s, U, V, 1, T);
      TestMost(type, TestFarthest(m * n, T, Q), 64.0 * (m + n) * unit);
    }
    /*
       Sums in another order: a method in which an inverse of the Gram matrix or a polynomial of slope 500 stands
       enlarges their rounding, a modest multiple of s for each of its steps, by no more than this
    */
    for (int how = TEST_ALONE; how < TEST_DISTRIBUTIONS; how++) {
      for (int rowmajor = 0; rowmajor < 2; rowmajor++) {
        PetscCall(TestApplyAs(polar, (p ? TEST_DOUBLE_COLUMNS : TEST_SINGLE_COLUMNS) + rowmajor, how, m, n, (m + n) % 3, from, MUON_STATUS_OK, R));
        TestMost(type, TestFarthest(m * n, R, Q), 2e4 * s * unit);
      }
    }
  }
  /* One entry that is not finite, on some rank, leaves the output alone everywhere; and zero is zero */
  PetscCall(PetscArraycpy(T, A, m * n));
  PetscCall(PetscArrayzero(F, m * n));
  for (int rowmajor = 0; rowmajor < 2; rowmajor++) {
    T[rowmajor ? m * n - 1 : m * n / 2] = rowmajor ? NAN : -INFINITY;
    for (int i = 0; i < m * n && rowmajor; i++) T[i] = (double)(float)T[i];
    for (int how = TEST_ALONE; how < TEST_DISTRIBUTIONS; how++) {
      PetscCall(TestApplyAs(polar, rowmajor ? TEST_SINGLE_ROWS : TEST_DOUBLE_COLUMNS, how, m, n, 1, T, MUON_STATUS_NANORINF, R));
      PetscCall(TestApplyAs(polar, rowmajor ? TEST_DOUBLE_ROWS : TEST_SINGLE_COLUMNS, how, m, n, 1, F, MUON_STATUS_OK, R));
      TestMost(type, TestDistance(m * n, R, NULL), 0.0);
    }
  }
  PetscCall(PetscFree5(A, F, T, Q, R));
  PetscCall(PetscFree3(U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Mats with rows on all ranks in one call, the same bits as one by one; one is zero, and one has a NaN on one rank alone, whose
   factor is left alone on all. The first rank has matrices of its own between the shared ones, whatever the order of sizes is
*/
static PetscErrorCode CheckMany(MuonPolar polar, int many, const int shapes[][2])
{
  const PetscInt sides[3] = {1, 9, 60};
  const char    *type     = ((PetscObject)polar)->type_name;
  TestInput      G[6], R[6];
  Mat            in[12], out[12];
  MuonStatus     status[12];
  double        *A[6], *Q[6], *S;
  PetscMPIInt    rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (int k = 0; k < many; k++) {
    const int m = shapes[k][0], n = shapes[k][1];

    PetscCall(PetscMalloc2(m * n, &A[k], m * n, &Q[k]));
    TestMatrix(m, n, k == 3 ? TEST_ZERO : TEST_HARMONIC, A[k]);
    if (k == 4) A[k][m - 1] = strlen(type) % 2 == 0 ? NAN : -INFINITY;
    PetscCall(TestApplyAs(polar, TEST_MAT, TEST_UNEVEN, m, n, k % 3, A[k], k == 4 ? MUON_STATUS_NANORINF : MUON_STATUS_OK, Q[k]));
  }
  for (int own = 0; own < 2; own++) {
    PetscInt n = 0;

    for (int k = 0; k < (own ? 3 : many); k++) {
      PetscCall(TestCreate(TEST_MAT, TEST_UNEVEN, shapes[k][0], shapes[k][1], 2 - k % 3, A[k], &G[k]));
      PetscCall(TestCreate(TEST_MAT, TEST_UNEVEN, shapes[k][0], shapes[k][1], 1, NULL, &R[k]));
      in[n]    = G[k].mat;
      out[n++] = R[k].mat;
      if (rank > 0 || !own) continue;
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, sides[k], sides[k], NULL, &in[n]));
      PetscCall(MatDuplicate(in[n], MAT_DO_NOT_COPY_VALUES, &out[n]));
      PetscCall(MatShift(in[n++], 2.0));
    }
    PetscCall(MuonPolarApplyMany(polar, n, in, out, status));
    for (PetscInt k = 0; k < n; k++) TestCheck(status[k] == (k == 4 && !own ? MUON_STATUS_NANORINF : MUON_STATUS_OK), "%s: status %s of matrix %d of many", type, MuonStatuses[status[k]], (int)k);
    for (PetscInt k = 1; k < n && own && rank == 0; k += 2) {
      PetscCall(MatDestroy(&in[k]));
      PetscCall(MatDestroy(&out[k]));
    }
    for (int k = 0; k < (own ? 3 : many); k++) {
      PetscCall(PetscMalloc1(shapes[k][0] * shapes[k][1], &S));
      PetscCall(TestGet(&R[k], S));
      TestMost(type, TestFarthest(shapes[k][0] * shapes[k][1], S, Q[k]), 0.0);
      PetscCall(PetscFree(S));
      PetscCall(TestDestroy(&G[k]));
      PetscCall(TestDestroy(&R[k]));
    }
  }
  for (int k = 0; k < many; k++) PetscCall(PetscFree2(A[k], Q[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank holds and sends for a factor, against the bound and the formulas; the factor against a Jacobi SVD */
static PetscErrorCode CheckScratch(const char type[], int single, int how, int m, int n)
{
  const int    s = PetscMin(m, n), l = PetscMax(m, n), zolotarev = strcmp(type, MUONPOLARZOLOTAREV) == 0, side = (s + 7) / 8 * 8, length = (l + 7) / 8 * 8;
  const double entry = single ? 4.0 : 8.0;
  MuonPolar    polar;
  MuonStatus   status;
  PetscMPIInt  size, rank;
  PetscInt     rows, local, steps = 0;
  size_t       bytes;
  MPICount     count;
  double      *A, *Q, *U, *V, *sigma, eps = 0.0, off = 0.0, entries, expected;
  TestInput    G, R;
  char         what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s %s %d x %d, distribution %d", type, single ? "single" : "double", m, n, how));
  PetscCall(PetscMalloc5(m * n, &A, m * n, &Q, m * s, &U, n * s, &V, s, &sigma));
  TestDecades(m, n, 1.0, A);
  PetscCall(TestCreate(TEST_MAT, how, m, n, 0, A, &G));
  PetscCall(TestCreate(TEST_MAT, how, m, n, 0, NULL, &R));
  size = G.matrix.size;
  rank = G.matrix.rank;
  rows = TestRows(how, m, size, rank);
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(TestTune(polar, "type %s precision %s", type, single ? "single" : "double"));
  PetscCall(TestGetSteps(polar, &steps));
  PetscCall(TestEpsilon(polar, &eps));
  mpicount_reset();
  PetscCall(MuonPolarApply(polar, G.mat, R.mat, &status));
  count = mpicount;
  PetscCall(TestStatus(PETSC_COMM_WORLD, status, MUON_STATUS_OK, what));

  /*
     U^T Q V is diagonal: a step rounds as a product does, and the slopes at zero, up to 1000, enlarge that;
     the diagonal is in the widest of the documented ranges
  */
  PetscCall(TestGet(&R, Q));
  TestSVD(m, n, A, sigma, U, V);
  for (int p = 0; p < s; p++) {
    for (int q = 0; q < s; q++) {
      double f = 0.0;

      for (int j = 0; j < n; j++) f += V[j + q * n] * TestDot(m, U + p * m, Q + j * m);
      if (p != q) off += f * f;
      else TestNear(what, f, 0.93, 0.28);
    }
  }
  TestMost(what, sqrt(off), 32e3 * (m + n) * eps);

  /*
     Entries of scratch: 3 d/J and a square, two of qdwh and three of zolotarev where a rank has several of its four poles, where d/J is what this
     rank has of the matrix, as rows or, of a wide one, as columns dealt evenly, and an even part of it where it has less; each of up to eight buffers
     is rounded up to 64 bytes
  */
  local   = size > 1 && m < n ? n / size + (rank < n % size ? 1 : 0) : (m < n ? n : rows);
  entries = PetscMax((double)rows * n, (double)s * local);
  if (how == TEST_EVEN && m % size == 0 && n % size == 0) TestNear(what, entries * size, (double)s * l, 0.0);
  entries = PetscMax(entries, (double)s * l / size);
  PetscCall(MuonWorkspaceGetBytes(polar->work, &bytes));
  if (zolotarev && single && size == 1 && s > 1) TestMost(what, bytes, (4.0 * side * side + 2.0 * side * length + 4.0 * length) * entry + 2 * 64);
  else TestMost(what, bytes, ((strcmp(type, MUONPOLARQDWH) == 0 ? 2 : zolotarev && size > 1 && size < 4 ? 3 : 1) * s * s + 3.0 * entries) * entry + 8 * 64);

  /*
     Sent: a wide matrix changes to columns and back. Newton and Schulz sum a triangle for each step, one
     number each for the largest exponent and the norm, and one for what the input is
  */
  TestNear(what, count.sent, entry * (size > 1 && m < n ? (double)rows * n + (double)s * local : 0.0), 0.0);
  TestNear(what, count.calls[MPICOUNT_ALLTOALLV], size > 1 && m < n ? 2 : 0, 0.0);
  expected = size > 1 ? 4 + 8 + entry * (double)steps * s * (s + 1) / 2 : 0.0;
  /* A debugging PETSc compares arguments by reductions of its own */
  if (strcmp(type, MUONPOLARNEWTONSCHULZ) == 0 && !PetscDefined(USE_DEBUG)) {
    TestNear(what, count.reduced, expected, 0.0);
    TestNear(what, count.calls[MPICOUNT_OTHER], size > 1 ? 2 + steps : 0, 0.0);
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&R));
  PetscCall(PetscFree5(A, Q, U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver of SLEPc that options may name, and that is refused where it is to decompose a matrix */
static PetscErrorCode Refuse(SVD svd)
{
  static int calls = 0;

  PetscFunctionBeginUser;
  PetscCheck(calls++ == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Refused");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error on the rank that gathers the matrix is one on all of its ranks, of the factor as of its quality */
static PetscErrorCode CheckError(void)
{
  MuonPolar        polar;
  MuonPolarQuality quality;
  Mat              G, Q;
  PetscErrorCode   ierr[2];

  PetscFunctionBeginUser;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 8, 5, NULL, &G));
  PetscCall(MatShift(G, 1.0));
  PetscCall(MatDuplicate(G, MAT_COPY_VALUES, &Q));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "refused_"));
  PetscCall(PetscOptionsSetValue(NULL, "-refused_lmo_polar_svd_type", "refuse"));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(SVDRegister("refuse", Refuse));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarSetUp(polar));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr[0] = MuonPolarApply(polar, G, Q, NULL);
  ierr[1] = MuonPolarComputeQuality(polar, G, Q, &quality);
  PetscCall(PetscPopErrorHandler());
  for (int k = 0; k < 2; k++) TestNear(k == 0 ? "a factor" : "a quality", ierr[k], PETSC_ERR_LIB, 0.0);
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&Q));
  /* What was begun where a call ended with an error stays allocated */
  PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[6][2] = {{1, 1}, {1, 9}, {9, 1}, {13, 13}, {8, 30}, {31, 10}};
  static const int large[][2]   = {{1, 1}, {1, 13}, {13, 1}, {36, 36}, {48, 24}, {24, 48}, {1800, 6}, {5, 1201}, {35, 36}, {37, 36}};
  const char     **types;
  MuonPolar        polar;
  int              count;
  PetscBool        options;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lmo_polar_normalization", &options));
  PetscCall(TestMake(PETSC_COMM_WORLD, "", &polar));
  PetscCall(PetscFunctionListGet(MuonPolarList, &types, &count));
  for (int t = 0; t < count && types[t] != NULL; t++) {
    PetscCall(MuonPolarSetType(polar, types[t]));
    for (int k = 0; k < 6; k++) PetscCall(CheckArrays(polar, shapes[k][0], shapes[k][1]));
    if (options) continue;
    PetscCall(CheckMany(polar, 6, shapes));
    /* The second is no function of singular values. Both precisions meet both distributions, in turns */
    for (int k = 0; k < 20 && strcmp(types[t], MUONPOLARSVD) != 0 && strcmp(types[t], MUONPOLARMUD) != 0; k++) PetscCall(CheckScratch(types[t], (k / 2 + k) % 2 == 0, k % 2 ? TEST_UNEVEN : TEST_EVEN, large[k / 2][0], large[k / 2][1]));
  }
  PetscCall(PetscFree(types));
  PetscCall(MuonPolarDestroy(&polar));
  if (!options) PetscCall(CheckError());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2 3 4 5}}

  test:
    suffix: spectral
    nsize: 3
    args: -lmo_polar_type newtonschulz -lmo_polar_normalization spectral

TEST*/
