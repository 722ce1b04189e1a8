static char help[] = "Norm balls of matrices whose rows lie on many ranks: as on one, ties and statuses included; every type, any distribution. Arrays of both precisions, with the same bits in both orders.\n\n";

#include "lmo_common.h"

/* How many of m rows this rank gets: evenly, all on the last rank, none on every other one, or uneven */
static PetscInt Rows(int how, PetscInt m, PetscMPIInt size, PetscMPIInt rank)
{
  if (how == 1) return rank == size - 1 ? m : 0;
  if (how == 2) {
    const PetscInt half = (size + 1) / 2;

    return rank % 2 == 0 ? m / half + (rank / 2 < m % half ? 1 : 0) : 0;
  }
  if (how == 3) return (m * (rank + 1) * (rank + 1)) / (size * size) - (m * rank * rank) / (size * size);
  return m / size + (rank < m % size ? 1 : 0);
}

/* A parallel matrix with one row of padding that is NaN; entries of A, or 7 */
static PetscErrorCode Create(int how, int m, int n, const double *A, Mat *M, PetscScalar **array)
{
  PetscMPIInt size, rank;
  PetscInt    local, begin;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  local = Rows(how, m, size, rank);
  PetscCallMPI(MPI_Scan(&local, &begin, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  begin -= local;
  PetscCall(PetscMalloc1((size_t)(local + 1) * n + 1, array));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i <= local; i++) (*array)[i + j * (local + 1)] = i == local ? (PetscScalar)NAN : (A != NULL ? (PetscScalar)A[begin + i + j * m] : (PetscScalar)7);
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, M));
  PetscCall(MatSetSizes(*M, local, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(*M, MATMPIDENSE));
  PetscCall(MatDenseSetLDA(*M, local + 1));
  PetscCall(MatMPIDenseSetPreallocation(*M, *array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Mat *M, PetscScalar *array)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(M));
  PetscCall(PetscFree(array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole matrix on every rank; padding must still be NaN */
static PetscErrorCode Get(Mat M, double *A)
{
  const PetscScalar *a;
  PetscInt           m, n, lda, begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(M, &m, &n));
  PetscCall(MatGetOwnershipRange(M, &begin, &end));
  PetscCall(MatDenseGetLDA(M, &lda));
  for (PetscInt i = 0; i < m * n; i++) A[i] = 0.0;
  PetscCall(MatDenseGetArrayRead(M, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = begin; i < end; i++) A[i + j * m] = (double)a[i - begin + j * lda];
    PetscCheck(PetscIsNanScalar(a[end - begin + j * lda]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Padding was written");
  }
  PetscCall(MatDenseRestoreArrayRead(M, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, A, (PetscMPIInt)(m * n), MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Status(MuonLMO lmo, MuonStatus expected, const char what[])
{
  MuonStatus status;
  int        range[2];

  PetscFunctionBeginUser;
  status = lmo->status;
  range[0] = (int)status;
  range[1] = -(int)status;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(range[0] == (int)expected && range[1] == -(int)expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the statuses are between %d and %d, expected %d", what, -range[1], range[0], (int)expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same bits on all ranks, and near the value on one */
static PetscErrorCode Value(PetscReal value, PetscReal alone, double bound, const char what[])
{
  double range[2] = {(double)value, -(double)value};

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(range[0] == -range[1] && fabs((double)value - (double)alone) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: between %.17g and %.17g, on one rank %.17g", what, -range[1], range[0], (double)alone);
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  GAUSSIAN,
  TIES,
  WIDE_RANGE,
  ZERO,
  FILLS
};

static void Fill(int fill, int m, int n, double *A)
{
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) {
      double a = 0.0;

      if (fill == GAUSSIAN) a = TestGaussian();
      /*
         Each column and each row has many that are largest, and columns are equal up to sign in pairs; every
         fifth row and column is zero
      */
      if (fill == TIES && i % 5 != 3 && j % 5 != 4) a = (i + j / 2) % 3 == 0 ? 2.0 : (j % 2 == 0 ? -2.0 : 1.0);
      if (fill == TIES && j % 2 == 1 && i % 5 != 3 && j % 5 != 4) a = -A[i + (j - 1) * m];
      /* Columns whose squares vanish or overflow, in doubles */
      if (fill == WIDE_RANGE) a = ldexp(TestGaussian(), (PetscDefined(USE_REAL_SINGLE) ? 30 : 300) * (j % 3 - 1) * 2);
      A[i + j * m] = (double)(PetscScalar)a;
    }
  }
}

/*
   This rank's rows of A as an array with a line of padding that is NaN; ranges has room for the ranks and one
   more
*/
static PetscErrorCode CreateArray(int variant, int how, int m, int n, const double *A, PetscInt ranges[], char **memory, MuonMatrix *matrix)
{
  PetscMPIInt size, rank;
  PetscInt    first = 0;
  MuonArray   array;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscMPIInt r = 0; r < size; r++) {
    ranges[r] = first;
    first += Rows(how, m, size, r);
  }
  ranges[size] = first;
  first        = ranges[rank];
  PetscCall(PetscMalloc1((size_t)(m + 1) * (size_t)(n + 1) * sizeof(double), memory));
  array = TestArrayOf(variant, (int)(ranges[rank + 1] - first), n, 1, *memory);
  for (size_t j = 0; j < array.count; j++) {
    for (size_t i = 0; i < array.ld; i++) TestArrayPut(&array, i + j * array.ld, i == array.len || A == NULL ? (double)NAN : (array.rowmajor ? A[(size_t)first + j + i * (size_t)m] : A[(size_t)first + i + j * (size_t)m]));
  }
  *matrix         = MuonMatrixOfArray(&array);
  matrix->comm    = size > 1 ? PETSC_COMM_WORLD : MPI_COMM_SELF;
  matrix->rank    = rank;
  matrix->size    = size;
  matrix->rows    = m;
  matrix->columns = n;
  matrix->first   = first;
  matrix->ranges  = size > 1 ? ranges : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole matrix, by columns, on every rank; padding must still be NaN */
static PetscErrorCode GetArray(const MuonMatrix *matrix, double *A)
{
  const MuonArray *array = &matrix->here;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < matrix->rows * matrix->columns; i++) A[i] = 0.0;
  for (size_t j = 0; j < array->count; j++) {
    for (size_t i = 0; i < array->len; i++) A[(size_t)matrix->first + (array->rowmajor ? j + i * (size_t)matrix->rows : i + j * (size_t)matrix->rows)] = TestArrayEntry(array, i + j * array->ld);
    PetscCheck(isnan(TestArrayEntry(array, array->len + j * array->ld)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Padding was written");
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, A, (PetscMPIInt)(matrix->rows * matrix->columns), MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays on many ranks as on one, and row-major, which is the variant behind the first, as column-major */
static PetscErrorCode Arrays(const TestNorm *norm, MuonLMO lmo, MuonLMO alone, int how, PetscBool ties, int m, int n, const double *A, int first, const char name[])
{
  const int mn = m * n;
  /*
     Sums, and the first of equal entries where there is one in all, are in the order of the memory only there
  */
  const PetscBool same = norm->kind != LMO_SINGULAR && !(norm->p == 1.0 && norm->q == 1.0 && ties == PETSC_TRUE) ? PETSC_TRUE : PETSC_FALSE;
  PetscMPIInt     size;
  PetscInt       *ranges;
  double         *D[2], *E[2];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc5(mn, &D[0], mn, &D[1], mn, &E[0], mn, &E[1], size + 1, &ranges));
  for (int variant = first; variant < first + 2; variant++) {
    const int    order = variant == TEST_SINGLE_ROWS || variant == TEST_DOUBLE_ROWS;
    const double eps = TestInputEpsilon(norm, variant), terms = 1.0 + (norm->p > 1.0 && norm->p < 1.1 ? 1.0 / (norm->p - 1.0) : 0.0) + (norm->q > 1.0 && norm->q < 1.1 ? 1.0 / (norm->q - 1.0) : 0.0);
    const double bound = norm->exact || norm->kind == LMO_ROWS ? 0.0 : eps * (m + n) * terms;
    TestInput    G, H;
    MuonMatrix   P, Q;
    char        *p, *q;
    PetscReal    primal[2], dual[2];
    double       value;
    MuonStatus   status;

    PetscCall(TestInputCreate(variant, m, n, 1, A, &G));
    PetscCall(TestInputCreate(variant, m, n, 0, NULL, &H));
    PetscCall(TestInputApply(alone, &G, &H));
    PetscCall(TestInputGet(&H, D[order]));
    PetscCall(TestInputNorms(alone, &G, &primal[0], &dual[0]));
    PetscCall(CreateArray(variant, how, m, n, A, ranges, &p, &P));
    PetscCall(CreateArray(variant, how, m, n, NULL, ranges, &q, &Q));
    PetscCall(MuonLMOApplyMatrix(lmo, &P, &Q, &value, &status));
    PetscCall(Status(lmo, MUON_STATUS_OK, name));
    PetscCall(GetArray(&Q, E[order]));
    for (int i = 0; i < mn; i++)
      PetscCheck(fabs(E[order][i] - D[order][i]) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s %d x %d, distribution %d: entry %d of D is %.17g, on one rank %.17g", name, testvariants[variant], m, n, how, i, E[order][i], D[order][i]);
    PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_FALSE, &P, &primal[1], NULL));
    PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_TRUE, &P, &dual[1], NULL));
    PetscCall(Value(primal[1], primal[0], PetscMax(eps, (double)PETSC_MACHINE_EPSILON) * (m + n) * (double)primal[0], name));
    PetscCall(Value(dual[1], dual[0], PetscMax(eps, (double)PETSC_MACHINE_EPSILON) * (m + n) * (double)dual[0], name));
    for (int i = 0; order == 1 && i < mn; i++) {
      PetscCheck(same == PETSC_TRUE ? E[0][i] == E[1][i] && D[0][i] == D[1][i] : ties == PETSC_TRUE || fabs(E[0][i] - E[1][i]) <= eps * (m + n), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s, %s %d x %d, distribution %d: entry %d of D is %.17g, by columns %.17g", name, testvariants[variant], m, n, how, i, E[1][i], E[0][i]);
    }
    PetscCall(PetscFree(p));
    PetscCall(PetscFree(q));
    PetscCall(TestInputDestroy(&G));
    PetscCall(TestInputDestroy(&H));
  }
  PetscCall(PetscFree5(D[0], D[1], E[0], E[1], ranges));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 9}, {9, 1}, {13, 13}, {6, 40}, {1100, 5}};
  const double     eps         = PETSC_MACHINE_EPSILON;
  MuonLMO          lmo, alone;
  PetscMPIInt      size, rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(TestNormsComplete());
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &alone));
  for (int t = 0; t < TEST_NORMS; t++) {
    const TestNorm *norm     = &testnorms[t];
    const int       singular = norm->kind == LMO_SINGULAR;

    /* lmo_examples sees that these are other names of the norms above */
    if (strcmp(norm->type, MUONLMOMIXED) == 0 && (norm->p == 1.0 || norm->p == 2.0 || norm->p == norm->q) && (norm->q == 1.0 || norm->q == 2.0 || isinf(norm->q))) continue;
    PetscCall(TestNormSet(norm, lmo));
    PetscCall(TestNormSet(norm, alone));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
      const int   m = shapes[k][0], n = shapes[k][1], mn = m * n;
      double     *A, *D, *E, *S;
      const char *name = TestNormName(norm);

      PetscCall(PetscMalloc4(mn, &A, mn, &D, mn, &E, mn, &S));
      for (int fill = 0; fill < FILLS; fill++) {
        Mat          G, H, P, Q;
        PetscScalar *p, *q;
        PetscReal    primal[2], dual[2];
        double       sum = 0.0, bound;

        /* Singular values of this range tell nothing: the smaller are rounding */
        if (singular && fill == WIDE_RANGE) continue;
        Fill(fill, m, n, A);
        for (int i = 0; i < mn; i++) sum += fabs(A[i]);
        PetscCall(TestMat(m, n, 0, A, &G));
        PetscCall(TestMat(m, n, 0, NULL, &H));
        PetscCall(MuonLMOApply(alone, G, H, NULL, NULL));
        PetscCall(TestMatGet(H, D));
        PetscCall(MuonLMOComputeNorm(alone, G, &primal[0]));
        PetscCall(MuonLMOComputeDualNorm(alone, G, &dual[0]));
        /* Every norm meets every distribution, in one shape or the other */
        {
          const int how = (t + (int)k + fill) % 4;

          PetscCall(Create(how, m, n, A, &P, &p));
          PetscCall(Create(how, m, n, NULL, &Q, &q));
          PetscCall(MuonLMOApply(lmo, P, Q, NULL, NULL));
          PetscCall(Status(lmo, MUON_STATUS_OK, name));
          PetscCall(Get(Q, E));
          /* Whole rows and single entries are the same to the last bit. Sums over ranks turn a quotient of D, raised to 1/(p-1) or 1/(q-1), by a few eps times the logarithm of the number of terms in one
             of them, all in all by less than their number; so do products of factors of the same decomposition */
          bound = eps * (m + n) * (1.0 + (norm->p > 1.0 && norm->p < 1.1 ? 1.0 / (norm->p - 1.0) : 0.0) + (norm->q > 1.0 && norm->q < 1.1 ? 1.0 / (norm->q - 1.0) : 0.0));
          if (norm->exact || norm->kind == LMO_ROWS) bound = 0.0;
          for (int i = 0; i < mn; i++) PetscCheck(fabs(E[i] - D[i]) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, fill %d, %d x %d, distribution %d: entry %d of D is %.17g, on one rank %.17g", name, fill, m, n, how, i, E[i], D[i]);
          PetscCall(Get(P, S));
          PetscCheck(TestDistance(mn, S, A) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, fill %d, %d x %d: the input was changed", name, fill, m, n);

          PetscCall(MuonLMOComputeNorm(lmo, P, &primal[1]));
          PetscCall(Status(lmo, MUON_STATUS_OK, name));
          PetscCall(Value(primal[1], primal[0], eps * (m + n) * (double)primal[0], name));
          PetscCall(MuonLMOComputeDualNorm(lmo, P, &dual[1]));
          PetscCall(Value(dual[1], dual[0], eps * (m + n) * (double)dual[0], name));
          PetscCall(TestSharp(lmo, P, Q));
          PetscCall(Get(Q, S));
          for (int i = 0; i < mn; i++)
            PetscCheck(fabs(S[i] + (double)dual[0] * D[i]) <= (bound + 2.0 * eps * (m + n)) * (double)dual[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, fill %d, %d x %d: entry %d of the sharp operator is %.17g", name, fill, m, n, i, S[i]);

          /* NaN on the rank of one row only */
          if (fill == GAUSSIAN) {
            for (int row = 0; row < m; row += PetscMax(1, m - 1)) {
              PetscInt begin, end;

              PetscCall(MatGetOwnershipRange(P, &begin, &end));
              if (row >= begin && row < end) p[row - begin] = (PetscScalar)(how % 2 == 0 ? NAN : -INFINITY);
              PetscCall(MuonLMOApply(lmo, P, Q, NULL, NULL));
              PetscCall(Status(lmo, MUON_STATUS_NANORINF, name));
              PetscCall(TestSharp(lmo, P, Q));
              PetscCall(Status(lmo, MUON_STATUS_NANORINF, name));
              PetscCall(Get(Q, E));
              PetscCheck(TestDistance(mn, E, S) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: NaN in row %d changed the output", name, row);
              PetscCall(MuonLMOComputeNorm(lmo, P, &primal[1]));
              PetscCall(MuonLMOComputeDualNorm(lmo, P, &dual[1]));
              PetscCall(Status(lmo, MUON_STATUS_NANORINF, name));
              PetscCheck(PetscIsNanReal(primal[1]) && PetscIsNanReal(dual[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: norms of NaN in row %d are %g and %g", name, row, (double)primal[1], (double)dual[1]);
              if (row >= begin && row < end) p[row - begin] = (PetscScalar)A[row];
            }
          }
          PetscCall(Destroy(&P, p));
          PetscCall(Destroy(&Q, q));
          PetscCall(Arrays(norm, lmo, alone, how, fill == TIES ? PETSC_TRUE : PETSC_FALSE, m, n, A, (t + (int)k) % 2 == 0 || (fill == WIDE_RANGE && PetscDefined(USE_REAL_DOUBLE)) ? TEST_DOUBLE_COLUMNS : TEST_SINGLE_COLUMNS, name));
        }
        PetscCall(TestMatDestroy(&G));
        PetscCall(TestMatDestroy(&H));
      }
      PetscCall(PetscFree4(A, D, E, S));
    }
  }
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(MuonLMODestroy(&alone));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}

TEST*/
