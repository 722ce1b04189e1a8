/*
   What the tests of polar factors and norm balls share: polar factors by a line of text, matrices with a known kind of spectrum, on one
   rank or with their rows on all, in any order and precision, and a singular value decomposition of their own, by one-sided Jacobi
   rotations in double: another algorithm than any in the library, and another precision where the library is single.
*/
#pragma once

#include <petscmuoncompat.h>
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonpolarimpl.h>
#include "../src/polar/muonpolarpolynomial.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "near.h"

/* A parameter by the key behind the family; no value is the default */
static inline PetscErrorCode TestSetText(MuonPolar polar, const char key[], const char value[])
{
  char name[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "lmo_polar_%s", key));
  PetscCall(MuonObjectSetParameter((PetscObject)polar, name, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A line of keys and their values, "type newtonschulz steps 5". The precision "own" is that of the type, which no text can ask for; "empty" is
   an empty text, the default of a list
*/
static inline PetscErrorCode TestTune(MuonPolar polar, const char format[], ...)
{
  char    line[256];
  va_list args;

  PetscFunctionBegin;
  va_start(args, format);
  (void)vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  for (char *key = strtok(line, " "), *value; key != NULL; key = strtok(NULL, " ")) {
    value = strtok(NULL, " ");
    TestCheck(value != NULL, "%s of \"%s\" has no value", key, format);
    if (strcmp(key, "type") == 0) PetscCall(MuonPolarSetType(polar, value));
    else if (strcmp(key, "precision") == 0 && strcmp(value, "own") == 0) polar->precision = PETSC_DETERMINE;
    else PetscCall(TestSetText(polar, key, strcmp(value, "empty") == 0 ? "" : value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of that line, and then of the options */
static inline PetscErrorCode TestMake(MPI_Comm comm, const char line[], MuonPolar *polar)
{
  PetscFunctionBegin;
  PetscCall(MuonPolarCreate(comm, polar));
  PetscCall(TestTune(*polar, "%s", line));
  PetscCall(MuonPolarSetFromOptions(*polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The steps; none where the type does not iterate */
static inline PetscErrorCode TestGetSteps(MuonPolar polar, PetscInt *steps)
{
  const MuonPolarPolynomials *p = (MuonPolarPolynomials *)polar->data;

  PetscFunctionBegin;
  PetscCall(MuonPolarSetUp(polar));
  *steps = 0;
  if (MuonParametersFind((PetscObject)polar, "steps", NULL) == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *steps = p->steps != PETSC_DETERMINE ? p->steps : (p->known != NULL ? p->known->steps : p->nrows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a type says of itself in a line */
static inline PetscErrorCode TestDescribe(MuonPolar polar, size_t length, char text[])
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerStringOpen(PetscObjectComm((PetscObject)polar), text, length, &viewer));
  PetscCall(MuonPolarView(polar, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static unsigned long long testseed = 88172645463325252ULL;

static inline double TestUniform(void)
{
  testseed ^= testseed << 13;
  testseed ^= testseed >> 7;
  testseed ^= testseed << 17;
  return (double)(testseed >> 11) / 9007199254740992.0;
}

static inline double TestGaussian(void)
{
  const double u = 1.0 - TestUniform(), v = TestUniform();

  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static inline double TestDot(int count, const double *x, const double *y)
{
  double sum = 0.0;

  for (int i = 0; i < count; i++) sum += x[i] * y[i];
  return sum;
}

/* k <= m orthonormal columns, by Gram and Schmidt twice */
static inline void TestOrthonormal(int m, int k, double *Q)
{
  for (int j = 0; j < k; j++) {
    for (int i = 0; i < m; i++) Q[i + j * m] = TestGaussian();
    for (int pass = 0; pass < 2; pass++) {
      double norm;

      for (int p = 0; p < j; p++) {
        const double dot = TestDot(m, Q + p * m, Q + j * m);

        for (int i = 0; i < m; i++) Q[i + j * m] -= dot * Q[i + p * m];
      }
      norm = sqrt(TestDot(m, Q + j * m, Q + j * m));
      for (int i = 0; i < m; i++) Q[i + j * m] /= norm;
    }
  }
}

/* C (m x n) = A (m x k) B, where B is n x k when its transpose is meant */
static inline void TestMultiply(int m, int n, int k, const double *A, const double *B, int transposed, double *C)
{
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) {
      double sum = 0.0;

      for (int p = 0; p < k; p++) sum += A[i + p * m] * (transposed ? B[j + p * n] : B[p + j * k]);
      C[i + j * m] = sum;
    }
  }
}

/*
   A (m x n) = U diag(sigma) V^T with min(m,n) values, decreasing; U is m x s, V is n x s, and the column of U is zero where sigma is.
   The rows of X from l on are the rotations; the longer of two columns comes first
*/
static inline void TestSVD(int m, int n, const double *A, double *sigma, double *U, double *V)
{
  const int l = m > n ? m : n, s = m > n ? n : m, h = l + s;
  double   *X     = (double *)calloc((size_t)h * s, sizeof(double));
  int       again = 1;

  for (int j = 0; j < s; j++) {
    for (int i = 0; i < l; i++) X[i + j * h] = m > n ? A[i + j * m] : A[j + i * m];
    X[l + j + j * h] = 1.0;
  }
  for (int sweep = 0; again && sweep < 60; sweep++) {
    again = 0;
    for (int p = 0; p < s; p++) {
      for (int q = p + 1; q < s; q++) {
        const double a = TestDot(l, X + p * h, X + p * h), b = TestDot(l, X + q * h, X + q * h), c = TestDot(l, X + p * h, X + q * h);
        const int    orthogonal = fabs(c) <= 1e-16 * sqrt(a) * sqrt(b);
        double       t          = 0.0, r;

        if (orthogonal && a >= b) continue;
        again = 1;
        if (!orthogonal) {
          const double z = (b - a) / (2.0 * c);

          t = (z >= 0.0 ? 1.0 : -1.0) / (fabs(z) + sqrt(1.0 + z * z));
        }
        r = 1.0 / sqrt(1.0 + t * t);
        for (int i = 0; i < h; i++) {
          const double x = X[i + p * h], y = X[i + q * h];

          X[i + (a >= b ? p : q) * h] = r * (x - t * y);
          X[i + (a >= b ? q : p) * h] = r * (y + t * x);
        }
      }
    }
  }
  for (int j = 0; j < s; j++) {
    sigma[j] = sqrt(TestDot(l, X + j * h, X + j * h));
    for (int i = 0; i < l; i++) (m > n ? U : V)[i + j * l] = sigma[j] > 0.0 ? X[i + j * h] / sigma[j] : 0.0;
    for (int i = 0; i < s; i++) (m > n ? V : U)[i + j * s] = X[l + i + j * h];
  }
  free(X);
}

enum {
  TEST_GAUSSIAN,
  TEST_HARMONIC,
  TEST_GEOMETRIC,
  TEST_MILD,
  TEST_DEFICIENT,
  TEST_OUTLIER,
  TEST_FLAT,
  TEST_ZERO,
  TEST_SPECTRA
};
static const char *const testspectra[] = {"gaussian", "harmonic", "geometric", "mild", "deficient", "outlier", "flat", "zero"};

/* A = U diag(sigma) V^T with random U and V, min(m,n) values; not rounded */
static inline void TestOfValues(int m, int n, const double *sigma, double *A)
{
  const int s = m > n ? n : m;
  double   *U = (double *)malloc(sizeof(double) * m * s), *V = (double *)malloc(sizeof(double) * n * s);

  TestOrthonormal(m, s, U);
  TestOrthonormal(n, s, V);
  for (int j = 0; j < s; j++) {
    for (int i = 0; i < m; i++) U[i + j * m] *= sigma[j];
  }
  TestMultiply(m, n, s, U, V, 1, A);
  free(U);
  free(V);
}

/* The rounded matrix is the one that a test compares with */
static inline void TestRound(int count, double *A)
{
  for (int i = 0; i < count; i++) A[i] = (double)(PetscScalar)A[i];
}

/* A matrix of that kind, or with decreasing singular values 1 ... 10^-decades, rounded to PetscScalar */
static inline void TestMatrix(int m, int n, int spectrum, double *A)
{
  const int    s      = m > n ? n : m;
  const double lowest = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-12;
  double      *sigma  = (double *)malloc(sizeof(double) * s);

  for (int j = 0; j < s; j++) {
    const double part = s > 1 ? (double)j / (s - 1) : 0.0;

    sigma[j] = spectrum == TEST_HARMONIC  ? 1.0 / (j + 1)
             : spectrum == TEST_GEOMETRIC ? pow(lowest, part)
             : spectrum == TEST_MILD      ? pow(1e-3, part)
             : spectrum == TEST_DEFICIENT ? (2 * j < s ? 1.0 + j : 0.0)
             : spectrum == TEST_OUTLIER   ? (j == 0 ? 1000.0 : 1.0)
             : spectrum == TEST_FLAT      ? 3.0
                                          : 0.0;
  }
  TestOfValues(m, n, sigma, A);
  for (int i = 0; i < m * n && spectrum == TEST_GAUSSIAN; i++) A[i] = TestGaussian();
  TestRound(m * n, A);
  free(sigma);
}

static inline void TestDecades(int m, int n, double decades, double *A)
{
  const int s     = m > n ? n : m;
  double   *sigma = (double *)malloc(sizeof(double) * s);

  for (int j = 0; j < s; j++) sigma[j] = s > 1 ? pow(10.0, -decades * j / (s - 1)) : 1.0;
  TestOfValues(m, n, sigma, A);
  TestRound(m * n, A);
  free(sigma);
}

/* A matrix as callers have it: a Mat, or an array of either precision and order; its padding is NaN, so that it shows who reads it */
enum {
  TEST_MAT,
  TEST_SINGLE_COLUMNS,
  TEST_SINGLE_ROWS,
  TEST_DOUBLE_COLUMNS,
  TEST_DOUBLE_ROWS,
  TEST_VARIANTS
};
static const char *const testvariants[] = {"Mat", "single by columns", "single by rows", "double by columns", "double by rows"};

/* On this rank alone, or with its rows on all: even parts, all on the last, none on every other one, more the higher the rank is */
enum {
  TEST_ALONE = -1,
  TEST_EVEN,
  TEST_LAST,
  TEST_OTHER,
  TEST_UNEVEN,
  TEST_DISTRIBUTIONS
};

typedef struct {
  Mat        mat; /* of the same memory, or NULL */
  MuonMatrix matrix;
  PetscInt  *ranges;
} TestInput;

static inline MuonPrecision TestPrecision(int variant)
{
  return variant == TEST_MAT ? MUON_PETSCSCALAR : (variant <= TEST_SINGLE_ROWS ? MUON_SINGLE : MUON_DOUBLE);
}

static inline int TestIsByRows(int variant)
{
  return variant == TEST_SINGLE_ROWS || variant == TEST_DOUBLE_ROWS;
}

/* The number at a place of the memory, padding included */
static inline double TestGetRaw(const MuonArray *a, size_t at)
{
  return a->precision == MUON_SINGLE ? (double)((float *)a->data)[at] : ((double *)a->data)[at];
}

static inline void TestSetRaw(const MuonArray *a, size_t at, double x)
{
  if (a->precision == MUON_SINGLE) ((float *)a->data)[at] = (float)x;
  else ((double *)a->data)[at] = x;
}

static inline PetscInt TestRows(int how, PetscInt m, PetscMPIInt size, PetscMPIInt rank)
{
  const PetscInt half = (size + 1) / 2;

  switch (how) {
  case TEST_LAST:
    return rank == size - 1 ? m : 0;
  case TEST_OTHER:
    return rank % 2 == 0 ? m / half + (rank / 2 < m % half ? 1 : 0) : 0;
  case TEST_UNEVEN:
    return m * (rank + 1) * (rank + 1) / (size * size) - m * rank * rank / (size * size);
  default:
    return m / size + (rank < m % size ? 1 : 0);
  }
}

/* A is by columns and all of it on every rank; NULL for NaN, which a result must not be */
static inline PetscErrorCode TestCreate(int variant, int how, int m, int n, int pad, const double *A, TestInput *x)
{
  MuonMatrix *M = &x->matrix;
  MuonArray  *a = &M->here;
  PetscInt    rows;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(x, sizeof(*x)));
  M->comm = how == TEST_ALONE ? PETSC_COMM_SELF : PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_size(M->comm, &M->size));
  PetscCallMPI(MPI_Comm_rank(M->comm, &M->rank));
  PetscCall(PetscCalloc1(M->size + 1, &x->ranges));
  for (PetscMPIInt r = 0; r < M->size; r++) x->ranges[r + 1] = x->ranges[r] + TestRows(how, m, M->size, r);
  TestCheck(x->ranges[M->size] == m, "The ranks have %d of %d rows", (int)x->ranges[M->size], m);
  M->rows      = m;
  M->columns   = n;
  M->first     = x->ranges[M->rank];
  M->ranges    = M->size > 1 ? x->ranges : NULL;
  rows         = x->ranges[M->rank + 1] - M->first;
  a->rowmajor  = TestIsByRows(variant);
  a->len       = (size_t)(a->rowmajor ? n : rows);
  a->count     = (size_t)(a->rowmajor ? rows : n);
  a->ld        = PetscMax(a->len + (size_t)pad, 1);
  a->precision = TestPrecision(variant);
  PetscCall(PetscMalloc(a->ld * a->count * sizeof(double) + 1, &a->data));
  for (size_t k = 0; k < a->ld * a->count; k++) {
    const size_t i = k % a->ld, j = k / a->ld;

    TestSetRaw(a, k, A == NULL || i >= a->len ? (double)NAN : A[(size_t)M->first + (a->rowmajor ? j + i * (size_t)m : i + j * (size_t)m)]);
  }
  if (variant != TEST_MAT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(M->comm, &x->mat));
  PetscCall(MatSetSizes(x->mat, rows, how == TEST_ALONE ? n : PETSC_DECIDE, m, n));
  PetscCall(MatSetType(x->mat, how == TEST_ALONE ? MATSEQDENSE : MATMPIDENSE));
  PetscCall(MatDenseSetLDA(x->mat, (PetscInt)a->ld));
  if (how == TEST_ALONE) PetscCall(MatSeqDenseSetPreallocation(x->mat, (PetscScalar *)a->data));
  else PetscCall(MatMPIDenseSetPreallocation(x->mat, (PetscScalar *)a->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of it on every rank */
static inline PetscErrorCode TestGet(const TestInput *x, double *A)
{
  const MuonMatrix *M = &x->matrix;
  const MuonArray  *a = &M->here;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(A, M->rows * M->columns));
  for (size_t k = 0; k < a->len * a->count; k++) {
    const size_t i = k % a->len, j = k / a->len;

    A[(size_t)M->first + (a->rowmajor ? j + i * (size_t)M->rows : i + j * (size_t)M->rows)] = TestGetRaw(a, i + j * a->ld);
  }
  if (M->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, A, (PetscMPIInt)(M->rows * M->columns), MPI_DOUBLE, MPI_SUM, M->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sees that the padding is as it was, and frees the entries */
static inline PetscErrorCode TestDestroy(TestInput *x)
{
  const MuonArray *a = &x->matrix.here;

  PetscFunctionBegin;
  for (size_t k = 0; k < a->ld * a->count; k++) TestCheck(k % a->ld < a->len || isnan(TestGetRaw(a, k)), "Padding of line %d was written", (int)(k / a->ld));
  PetscCall(MatDestroy(&x->mat));
  PetscCall(PetscFree(x->matrix.here.data));
  PetscCall(PetscFree(x->ranges));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frobenius norm of x - y, or of x */
static inline double TestDistance(int count, const double *x, const double *y)
{
  double sum = 0.0;

  for (int i = 0; i < count; i++) sum += (x[i] - (y != NULL ? y[i] : 0.0)) * (x[i] - (y != NULL ? y[i] : 0.0));
  return sqrt(sum);
}

/* The largest difference of two entries, infinite for a NaN that the other one is not */
static inline double TestFarthest(int count, const double *x, const double *y)
{
  double most = 0.0;

  for (int i = 0; i < count; i++) {
    const double d = x[i] == y[i] || (isnan(x[i]) && isnan(y[i])) ? 0.0 : fabs(x[i] - y[i]);

    most = d <= most ? most : (isnan(d) ? INFINITY : d);
  }
  return most;
}

/* How many entries were not written */
static inline int TestUntouched(int count, const double *x)
{
  int untouched = 0;

  for (int i = 0; i < count; i++) untouched += isnan(x[i]) != 0;
  return untouched;
}

/* Every rank has this status */
static inline PetscErrorCode TestStatus(MPI_Comm comm, MuonStatus status, MuonStatus expected, const char what[])
{
  int range[2];

  PetscFunctionBegin;
  range[0] = (int)status;
  range[1] = -(int)status;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, comm));
  TestCheck(range[0] == (int)expected && range[1] == -(int)expected, "%s: the statuses are between %s and %s, expected %s", what, MuonStatuses[-range[1]], MuonStatuses[range[0]], MuonStatuses[expected]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The factor of A, all of it on every rank. A stays as it is, and of what has no factor nothing is written. Between the columns or rows of A
   are pad entries, and others between those of the factor
*/
static inline PetscErrorCode TestApplyAs(MuonPolar polar, int variant, int how, int m, int n, int pad, const double *A, MuonStatus expected, double *Q)
{
  TestInput  G, R;
  MuonStatus status;
  char       what[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s %d x %d, %s, distribution %d", ((PetscObject)polar)->type_name, m, n, testvariants[variant], how));
  PetscCall(TestCreate(variant, how, m, n, pad, A, &G));
  PetscCall(TestCreate(variant, how, m, n, (pad + 1) % 3, NULL, &R));
  if (variant == TEST_MAT) PetscCall(MuonPolarApply(polar, G.mat, R.mat, &status));
  else PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &G.matrix, &R.matrix, &status));
  PetscCall(TestStatus(G.matrix.comm, status, expected, what));
  PetscCall(TestGet(&G, Q));
  TestCheck(TestFarthest(m * n, Q, A) == 0.0, "%s: the input was changed", what);
  PetscCall(TestGet(&R, Q));
  TestCheck(TestUntouched(m * n, Q) == (expected == MUON_STATUS_OK ? 0 : m * n), "%s: %d entries of the factor were not written", what, TestUntouched(m * n, Q));
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestApply(MuonPolar polar, int m, int n, int pad, const double *A, MuonStatus expected, double *Q)
{
  PetscFunctionBegin;
  PetscCall(TestApplyAs(polar, TEST_MAT, TEST_ALONE, m, n, pad, A, expected, Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Roundoff of a method: that of its kernel, or of PetscScalar where the input has more of it */
static inline PetscErrorCode TestEpsilon(MuonPolar polar, double *eps)
{
  MuonPolarPrecision precision;

  PetscFunctionBegin;
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  *eps = precision == MUON_POLAR_PRECISION_DOUBLE ? PETSC_MACHINE_EPSILON : 1.1920928955078125e-7;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   For the second implementations in numpy: matrix number count and what was made of it go to files in a folder, one line of what they are to
   cases.txt
*/
typedef struct {
  char  folder[PETSC_MAX_PATH_LEN];
  FILE *list; /* NULL without -oracle_dir */
  int   count;
} TestOracle;

static inline PetscErrorCode TestOracleOpen(TestOracle *oracle)
{
  char      path[PETSC_MAX_PATH_LEN + 16];
  PetscBool found;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(oracle, sizeof(*oracle)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", oracle->folder, sizeof(oracle->folder), &found));
  if (!found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases.txt", oracle->folder));
  oracle->list = fopen(path, "w");
  TestCheck(oracle->list != NULL, "Cannot write %s", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestOracleWrite(TestOracle *oracle, const char name[], const char suffix[], const void *data, size_t bytes)
{
  char  path[PETSC_MAX_PATH_LEN + 32];
  FILE *file;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%s%d.%s", oracle->folder, name, oracle->count, suffix));
  file = fopen(path, "wb");
  TestCheck(file != NULL && (bytes == 0 || fwrite(data, bytes, 1, file) == 1) && fclose(file) == 0, "Cannot write %s", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestOracleClose(TestOracle *oracle)
{
  PetscFunctionBegin;
  if (oracle->list != NULL) TestCheck(fclose(oracle->list) == 0, "cases.txt was not written");
  PetscFunctionReturn(PETSC_SUCCESS);
}
