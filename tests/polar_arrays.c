static char help[] = "Polar factors of arrays: both precisions whatever PetscScalar is, lines that are columns or rows, on one rank and with rows on many.\n\n";

#include "polar_common.h"
#include <petscmuon/private/muonpolarimpl.h>

/* How many of m rows this rank gets: evenly, all on the last rank, uneven and none on the first, or none on every other one */
static PetscInt Rows(int how, PetscInt m, PetscMPIInt size, PetscMPIInt rank)
{
  if (how == 1) return rank == size - 1 ? m : 0;
  if (how == 3) return rank % 2 == 0 ? m / ((size + 1) / 2) + (rank / 2 < m % ((size + 1) / 2) ? 1 : 0) : 0;
  if (how == 2) return (m * (rank + 1) * rank) / (size * (size + 1)) - (rank > 0 ? (m * rank * (rank - 1)) / (size * (size + 1)) : 0) + (rank == size - 1 ? m - (m * size * (size - 1)) / (size * (size + 1)) : 0);
  return m / size + (rank < m % size ? 1 : 0);
}

typedef struct {
  MuonMatrix matrix;
  PetscInt  *ranges;
} Spread;

/* The rows of A that this rank has, all of them where how is -1 */
static PetscErrorCode SpreadCreate(int how, MuonPrecision precision, int rowmajor, int pad, int m, int n, const double *A, Spread *spread)
{
  MuonMatrix *M = &spread->matrix;
  PetscInt    rows;
  MuonArray   whole;

  PetscFunctionBeginUser;
  spread->ranges = NULL;
  if (how < 0) {
    PetscCall(TestArray(precision, rowmajor, 0, m, m, n, pad, A, &whole));
    *M = MuonMatrixOfArray(&whole);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  M->comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_size(M->comm, &M->size));
  PetscCallMPI(MPI_Comm_rank(M->comm, &M->rank));
  M->rows    = m;
  M->columns = n;
  rows       = Rows(how, m, M->size, M->rank);
  PetscCall(PetscCalloc1(M->size + 1, &spread->ranges));
  PetscCallMPI(MPI_Allgather(&rows, 1, MPIU_INT, spread->ranges + 1, 1, MPIU_INT, M->comm));
  for (PetscMPIInt r = 0; r < M->size; r++) spread->ranges[r + 1] += spread->ranges[r];
  M->ranges = M->size > 1 ? spread->ranges : NULL;
  M->first  = spread->ranges[M->rank];
  PetscCheck(spread->ranges[M->size] == m, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The ranks have %" PetscInt_FMT " of %d rows", spread->ranges[M->size], m);
  PetscCall(TestArray(precision, rowmajor, (int)M->first, (int)rows, m, n, pad, A, &M->here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpreadDestroy(Spread *spread)
{
  PetscFunctionBeginUser;
  PetscCall(TestArrayDestroy(&spread->matrix.here));
  PetscCall(PetscFree(spread->ranges));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference of an entry here to that of A, or to 7, infinite for a NaN */
static double Difference(const MuonMatrix *M, const double *A)
{
  double most = 0.0;

  for (size_t i = 0; i < MuonArrayRows(&M->here); i++) {
    for (size_t j = 0; j < MuonArrayColumns(&M->here); j++) {
      const double d = fabs(TestArrayGet(&M->here, (int)i, (int)j) - (A != NULL ? A[M->first + (PetscInt)i + (PetscInt)j * M->rows] : 7.0));

      most = d <= most ? most : (d == d ? d : INFINITY);
    }
  }
  return most;
}

static PetscErrorCode Apply(MuonPolar polar, const char what[], int how, MuonPrecision precision, int rowmajor, int m, int n, const double *A, MuonStatus expected, const double *Q, double bound)
{
  Spread     G, R;
  MuonStatus status;
  double     off;

  PetscFunctionBeginUser;
  PetscCall(SpreadCreate(how, precision, rowmajor, (m + n) % 3, m, n, A, &G));
  PetscCall(SpreadCreate(how, precision, rowmajor, (m + n + 1) % 3, m, n, NULL, &R));
  PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &G.matrix, &R.matrix, &status));
  PetscCheck(status == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, distribution %d, precision %d, order %d: status %d, expected %d", what, m, n, how, (int)precision, rowmajor, (int)status, (int)expected);
  off = Difference(&R.matrix, Q);
  PetscCheck(off <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, distribution %d, precision %d, order %d: an entry is off by %g, bound %g", what, m, n, how, (int)precision, rowmajor, off, bound);
  if (expected == MUON_STATUS_OK) {
    off = Difference(&G.matrix, A);
    PetscCheck(off == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, distribution %d: the input was changed", what, m, n, how);
  }
  PetscCall(SpreadDestroy(&G));
  PetscCall(SpreadDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor by the Mat-based function, in the precision of PetscScalar */
static PetscErrorCode ApplyMat(MuonPolar polar, int m, int n, const double *A, double *Q)
{
  Mat G, R;

  PetscFunctionBeginUser;
  PetscCall(TestMat(m, n, 0, A, &G));
  PetscCall(TestMat(m, n, 0, NULL, &R));
  PetscCall(MuonPolarApply(polar, G, R, NULL));
  PetscCall(TestMatGet(R, Q));
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Transpose(int m, int n, const double *A, double *T)
{
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) T[j + i * n] = A[i + j * m];
  }
}

static PetscErrorCode CheckType(MuonPolar polar, const char type[], int m, int n)
{
  const int          s = PetscMin(m, n);
  MuonPolarPrecision precision;
  double            *A, *F, *T, *Q, *R, *U, *V, *sigma, unit, largest;
  PetscBool          exact, iterates;
  PetscInt           steps;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc5(m * n, &A, m * n, &F, m * n, &T, m * n, &Q, m * n, &R));
  PetscCall(PetscMalloc3(m * s, &U, n * s, &V, s, &sigma));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCall(TestGetSteps(polar, &steps));
  iterates = steps > 0 ? PETSC_TRUE : PETSC_FALSE;
  /* Singular values 1 ... 0.1 that nothing has rounded to PetscScalar, and the same rounded to binary32 */
  TestOrthonormal(m, s, U);
  TestOrthonormal(n, s, V);
  for (int j = 0; j < s; j++) {
    for (int i = 0; i < m; i++) U[i + j * m] *= pow(0.1, s > 1 ? (double)j / (s - 1) : 0.0);
  }
  TestMultiply(m, n, s, U, V, 1, A);
  for (int i = 0; i < m * n; i++) F[i] = (double)(float)A[i];

  /*
     On one rank: numbers of binary32 have one factor, to the last bit of the precision that has fewer,
     whatever array they are in; and lines are lines, rows or columns
  */
  PetscCall(ApplyMat(polar, m, n, F, Q));
  for (int i = 0; i < m * n; i++) R[i] = (double)(float)Q[i];
  for (int rowmajor = 0; rowmajor < 2; rowmajor++) {
    PetscCall(PetscArraycpy(T, F, m * n));
    if (rowmajor && m == n && strcmp(type, MUONPOLARMUD) == 0) continue; /* its rows are no columns of the transpose */
    if (rowmajor) {
      Transpose(m, n, F, T);
      PetscCall(ApplyMat(polar, n, m, T, R));
      Transpose(n, m, R, Q);
      for (int i = 0; i < m * n; i++) R[i] = (double)(float)Q[i];
    }
    PetscCall(Apply(polar, type, -1, MUON_SINGLE, rowmajor, m, n, F, MUON_STATUS_OK, R, 0.0));
    PetscCall(Apply(polar, type, -1, MUON_DOUBLE, rowmajor, m, n, F, MUON_STATUS_OK, Q, PetscDefined(USE_REAL_SINGLE) ? ldexp(1.0, -24) : 0.0));
  }

  /*
     A double array in a single PETSc too, with digits that binary32 has not: against Jacobi's rotations,
     where the method is exact, and else its own result in the other distributions
  */
  PetscCall(PetscStrcmp(type, MUONPOLARSVD, &exact));
  for (int p = 0; p < 2; p++) {
    const MuonPrecision of   = p ? MUON_DOUBLE : MUON_SINGLE;
    const double       *from = p ? A : F;
    Spread              G, W;
    MuonStatus          status;

    unit = PetscMax(of == MUON_SINGLE ? ldexp(1.0, -24) : ldexp(1.0, -53), precision == MUON_POLAR_PRECISION_SINGLE ? ldexp(1.0, -24) : ldexp(1.0, -53));
    PetscCall(SpreadCreate(-1, of, 0, 0, m, n, from, &G));
    PetscCall(SpreadCreate(-1, of, 0, 1, m, n, NULL, &W));
    PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &G.matrix, &W.matrix, &status));
    for (int j = 0; j < n; j++) {
      for (int i = 0; i < m; i++) Q[i + j * m] = TestArrayGet(&W.matrix.here, i, j);
    }
    PetscCall(SpreadDestroy(&G));
    PetscCall(SpreadDestroy(&W));
    if (exact == PETSC_TRUE || (iterates == PETSC_FALSE && precision == MUON_POLAR_PRECISION_DOUBLE)) {
      PetscCall(PetscArraycpy(T, from, m * n));
      TestSVD(m, n, T, sigma, U, V);
      TestMultiply(m, n, s, U, V, 1, T);
      largest = 0.0;
      for (int i = 0; i < m * n; i++) largest = PetscMax(largest, fabs(T[i] - Q[i]));
      PetscCheck(largest <= 64.0 * (m + n) * unit, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d, precision %d: off by %g, bound %g", type, m, n, (int)of, largest, 64.0 * (m + n) * unit);
    }
    /*
       Sums in another order: a method in which an inverse of the Gram matrix or a polynomial of slope 500 stands
       enlarges their rounding, a modest multiple of s for each of its steps, by no more than this
    */
    for (int how = -1; how < 4; how++) {
      for (int rowmajor = 0; rowmajor < 2; rowmajor++) PetscCall(Apply(polar, type, how, of, rowmajor, m, n, from, MUON_STATUS_OK, Q, 2e4 * s * unit));
    }
  }

  /* One entry that is not finite, on some rank, leaves the output alone everywhere; and zero is zero */
  PetscCall(PetscArraycpy(T, A, m * n));
  for (int rowmajor = 0; rowmajor < 2; rowmajor++) {
    T[rowmajor ? m * n - 1 : m * n / 2] = rowmajor ? NAN : -INFINITY;
    for (int how = -1; how < 4; how++) PetscCall(Apply(polar, type, how, rowmajor ? MUON_SINGLE : MUON_DOUBLE, rowmajor, m, n, T, MUON_STATUS_NANORINF, NULL, 0.0));
  }
  PetscCall(PetscArrayzero(T, m * n));
  for (int rowmajor = 0; rowmajor < 2; rowmajor++) {
    for (int how = -1; how < 4; how++) PetscCall(Apply(polar, type, how, rowmajor ? MUON_DOUBLE : MUON_SINGLE, rowmajor, m, n, T, MUON_STATUS_OK, T, 0.0));
  }
  PetscCall(PetscFree5(A, F, T, Q, R));
  PetscCall(PetscFree3(U, V, sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {13, 13}, {8, 30}, {31, 10}};
  const char     **types;
  MuonPolar        polar;
  int              count;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(PetscFunctionListGet(MuonPolarList, &types, &count));
  for (int t = 0; t < count && types[t] != NULL; t++) {
    PetscCall(MuonPolarSetType(polar, types[t]));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) PetscCall(CheckType(polar, types[t], shapes[k][0], shapes[k][1]));
  }
  PetscCall(PetscFree(types));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 5}}

  test:
    suffix: spectral
    nsize: 3
    args: -lmo_polar_type newtonschulz -lmo_polar_normalization spectral

TEST*/
