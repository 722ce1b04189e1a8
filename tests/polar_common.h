/*
   What the tests of polar factors and norm balls share: matrices with a known kind of spectrum and a singular
   value decomposition of their own, by one-sided Jacobi rotations in double: another algorithm than any in
   the library, and another precision where the library is single.
*/
#pragma once

#include <petscmuoncompat.h>
#include <petscmuon/private/muonlmoimpl.h>
#include <petscmuon/private/muonpolarimpl.h>
#include "../src/polar/muonpolarpolynomial.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Parameters by the key behind the family, and what came of them */
static PETSC_UNUSED PetscErrorCode TestSetText(MuonPolar polar, const char key[], const char value[])
{
  char name[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(name, sizeof(name), "lmo_polar_%s", key));
  PetscCall(MuonObjectSetParameter((PetscObject)polar, name, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestSetReal(MuonPolar polar, const char key[], PetscReal value)
{
  char text[64];

  PetscFunctionBeginUser;
  PetscCall(MuonNumberWrite((double)value, sizeof(text), text));
  PetscCall(TestSetText(polar, key, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestSetInt(MuonPolar polar, const char key[], PetscInt value)
{
  PetscFunctionBeginUser;
  PetscCall(TestSetReal(polar, key, (PetscReal)value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The types' own cannot be named */
static PETSC_UNUSED PetscErrorCode TestSetPrecision(MuonPolar polar, MuonPolarPrecision precision)
{
  PetscFunctionBeginUser;
  if (precision == MUON_POLAR_PRECISION_DETERMINE) polar->precision = PETSC_DETERMINE;
  else PetscCall(TestSetText(polar, "precision", MuonPolarPrecisions[precision]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestHasSteps(MuonPolar polar, PetscBool *has)
{
  PetscFunctionBeginUser;
  PetscCall(MuonPolarSetUp(polar));
  *has = MuonParametersFind((PetscObject)polar, "steps", NULL) != NULL ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 0 where the type does not iterate */
static PETSC_UNUSED PetscErrorCode TestGetSteps(MuonPolar polar, PetscInt *steps)
{
  const MuonPolarPolynomials *p;
  PetscBool                   has = PETSC_FALSE;

  PetscFunctionBeginUser;
  *steps = 0;
  PetscCall(TestHasSteps(polar, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  p      = (MuonPolarPolynomials *)polar->data;
  *steps = p->steps != PETSC_DETERMINE ? p->steps : (p->known != NULL ? p->known->steps : p->nrows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestGetCoefficients(MuonPolar polar, const char **name)
{
  PetscBool has = PETSC_FALSE;

  PetscFunctionBeginUser;
  *name = NULL;
  PetscCall(TestHasSteps(polar, &has));
  if (has) *name = ((MuonPolarPolynomials *)polar->data)->known != NULL ? ((MuonPolarPolynomials *)polar->data)->known->name : "user";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No numbers are the rule's */
static PETSC_UNUSED PetscErrorCode TestSetRestart(MuonPolar polar, PetscInt count, const PetscInt steps[])
{
  char text[256] = "", *end = text;

  PetscFunctionBeginUser;
  if (count == 0) PetscCall(PetscStrncpy(text, "0", sizeof(text)));
  for (PetscInt i = 0; i < count; i++) end += sprintf(end, "%s%d", i > 0 ? "," : "", (int)steps[i]);
  PetscCall(TestSetText(polar, "gram_restart", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a type says of itself in a line */
static PETSC_UNUSED PetscErrorCode TestDescribe(MuonPolar polar, size_t length, char text[])
{
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(PetscViewerStringOpen(PetscObjectComm((PetscObject)polar), text, length, &viewer));
  PetscCall(MuonPolarView(polar, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a qdwh did: steps, steps by QR, decompositions */
static PETSC_UNUSED PetscErrorCode TestGetCounts(MuonPolar polar, PetscInt *steps, PetscInt *qr, PetscInt *decompositions)
{
  const PetscInt *count = (PetscInt *)polar->data;

  PetscFunctionBeginUser;
  if (steps != NULL) *steps = count[0];
  if (qr != NULL) *qr = count[1];
  if (decompositions != NULL) *decompositions = count[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exponents of norms, which objects of other types ignore */
static PETSC_UNUSED PetscErrorCode TestSetExponent(MuonLMO lmo, MuonLMOType type, const char key[], PetscReal p)
{
  char      text[64];
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompare((PetscObject)lmo, type, &same));
  if (!same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonNumberWrite((double)p, sizeof(text), text));
  PetscCall(MuonObjectSetParameter((PetscObject)lmo, key, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestSetMixed(MuonLMO lmo, PetscReal p, PetscReal q)
{
  PetscFunctionBeginUser;
  PetscCall(TestSetExponent(lmo, MUONLMOMIXED, "lmo_mixed_exponent_p", p));
  PetscCall(TestSetExponent(lmo, MUONLMOMIXED, "lmo_mixed_exponent_q", q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestSetSchatten(MuonLMO lmo, PetscReal p)
{
  PetscFunctionBeginUser;
  PetscCall(TestSetExponent(lmo, MUONLMOSCHATTEN, "lmo_schatten_exponent", p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sharp operator is the minimizer times minus its value, which may be too large */
static PETSC_UNUSED PetscErrorCode TestSharp(MuonLMO lmo, Mat G, Mat S)
{
  PetscReal  value;
  MuonStatus status;

  PetscFunctionBeginUser;
  PetscCall(MuonLMOApply(lmo, G, S, &value, &status));
  if (status == MUON_STATUS_OK && PetscIsInfOrNanReal(value)) lmo->status = MUON_STATUS_NANORINF;
  else if (status == MUON_STATUS_OK) PetscCall(MatScale(S, (PetscScalar)-value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED unsigned long long testseed = 88172645463325252ULL;

static PETSC_UNUSED double TestUniform(void)
{
  testseed ^= testseed << 13;
  testseed ^= testseed >> 7;
  testseed ^= testseed << 17;
  return (double)(testseed >> 11) / 9007199254740992.0;
}

static PETSC_UNUSED double TestGaussian(void)
{
  const double u = 1.0 - TestUniform(), v = TestUniform();

  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* k <= m orthonormal columns, by Gram and Schmidt twice */
static PETSC_UNUSED void TestOrthonormal(int m, int k, double *Q)
{
  for (int j = 0; j < k; j++) {
    for (int i = 0; i < m; i++) Q[i + j * m] = TestGaussian();
    for (int pass = 0; pass < 2; pass++) {
      double norm = 0.0;

      for (int p = 0; p < j; p++) {
        double dot = 0.0;

        for (int i = 0; i < m; i++) dot += Q[i + p * m] * Q[i + j * m];
        for (int i = 0; i < m; i++) Q[i + j * m] -= dot * Q[i + p * m];
      }
      for (int i = 0; i < m; i++) norm += Q[i + j * m] * Q[i + j * m];
      for (int i = 0; i < m; i++) Q[i + j * m] /= sqrt(norm);
    }
  }
}

/* C (m x n) = A (m x k) B, where B is n x k when its transpose is meant */
static PETSC_UNUSED void TestMultiply(int m, int n, int k, const double *A, const double *B, int transposed, double *C)
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
   A (m x n) = U diag(sigma) V^T with min(m,n) values, decreasing; U is m x s, V is n x s, and the column of U
   is zero where sigma is
*/
static PETSC_UNUSED void TestSVD(int m, int n, const double *A, double *sigma, double *U, double *V)
{
  const int l = m > n ? m : n, s = m > n ? n : m;
  double   *X = (double *)malloc(sizeof(double) * l * s), *W = (double *)calloc((size_t)s * s, sizeof(double));
  int       again = 1;

  for (int j = 0; j < s; j++) {
    for (int i = 0; i < l; i++) X[i + j * l] = m > n ? A[i + j * m] : A[j + i * m];
    W[j + j * s] = 1.0;
  }
  for (int sweep = 0; again && sweep < 60; sweep++) {
    again = 0;
    for (int p = 0; p < s; p++) {
      for (int q = p + 1; q < s; q++) {
        double a = 0.0, b = 0.0, c = 0.0, t, r, z;

        for (int i = 0; i < l; i++) {
          a += X[i + p * l] * X[i + p * l];
          b += X[i + q * l] * X[i + q * l];
          c += X[i + p * l] * X[i + q * l];
        }
        if (c == 0.0 || fabs(c) <= 1e-16 * sqrt(a) * sqrt(b)) continue;
        again = 1;
        z     = (b - a) / (2.0 * c);
        t     = (z >= 0.0 ? 1.0 : -1.0) / (fabs(z) + sqrt(1.0 + z * z));
        r     = 1.0 / sqrt(1.0 + t * t);
        for (int i = 0; i < l; i++) {
          const double x = X[i + p * l], y = X[i + q * l];

          X[i + p * l] = r * (x - t * y);
          X[i + q * l] = r * (y + t * x);
        }
        for (int i = 0; i < s; i++) {
          const double x = W[i + p * s], y = W[i + q * s];

          W[i + p * s] = r * (x - t * y);
          W[i + q * s] = r * (y + t * x);
        }
      }
    }
  }
  for (int j = 0; j < s; j++) {
    double norm = 0.0;

    for (int i = 0; i < l; i++) norm += X[i + j * l] * X[i + j * l];
    sigma[j] = sqrt(norm);
  }
  for (int j = 0; j < s; j++) {
    int    best = j;
    double swap;

    for (int k = j + 1; k < s; k++) {
      if (sigma[k] > sigma[best]) best = k;
    }
    swap        = sigma[j];
    sigma[j]    = sigma[best];
    sigma[best] = swap;
    for (int i = 0; i < l; i++) {
      swap            = X[i + j * l];
      X[i + j * l]    = X[i + best * l];
      X[i + best * l] = swap;
    }
    for (int i = 0; i < s; i++) {
      swap            = W[i + j * s];
      W[i + j * s]    = W[i + best * s];
      W[i + best * s] = swap;
    }
    for (int i = 0; i < l; i++) (m > n ? U : V)[i + j * l] = sigma[j] > 0.0 ? X[i + j * l] / sigma[j] : 0.0;
    for (int i = 0; i < s; i++) (m > n ? V : U)[i + j * s] = W[i + j * s];
  }
  free(X);
  free(W);
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
static PETSC_UNUSED const char *const testspectra[] = {"gaussian", "harmonic", "geometric", "mild", "deficient", "outlier", "flat", "zero"};

/*
   A matrix of that kind; its entries are then rounded to PetscScalar, and the rounded matrix is the one that
   a test compares with
*/
static PETSC_UNUSED void TestMatrix(int m, int n, int spectrum, double *A)
{
  const int    s      = m > n ? n : m;
  const double lowest = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-12;
  double      *U = (double *)malloc(sizeof(double) * m * s), *V = (double *)malloc(sizeof(double) * n * s);

  TestOrthonormal(m, s, U);
  TestOrthonormal(n, s, V);
  for (int j = 0; j < s; j++) {
    double sigma = 0.0;

    switch (spectrum) {
    case TEST_HARMONIC:
      sigma = 1.0 / (j + 1);
      break;
    case TEST_GEOMETRIC:
      sigma = s > 1 ? pow(lowest, (double)j / (s - 1)) : 1.0;
      break;
    case TEST_MILD:
      sigma = s > 1 ? pow(1e-3, (double)j / (s - 1)) : 1.0;
      break;
    case TEST_DEFICIENT:
      sigma = 2 * j < s ? 1.0 + j : 0.0;
      break;
    case TEST_OUTLIER:
      sigma = j == 0 ? 1000.0 : 1.0;
      break;
    case TEST_FLAT:
      sigma = 3.0;
      break;
    }
    for (int i = 0; i < m; i++) U[i + j * m] *= sigma;
  }
  TestMultiply(m, n, s, U, V, 1, A);
  for (int i = 0; i < m * n; i++) A[i] = (double)(PetscScalar)(spectrum == TEST_GAUSSIAN ? TestGaussian() : A[i]);
  free(U);
  free(V);
}

/*
   A Mat of leading dimension m + pad with the entries of A; the padding is NaN, so that whoever reads it
   shows it
*/
static PETSC_UNUSED PetscErrorCode TestMat(int m, int n, int pad, const double *A, Mat *M)
{
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_SELF, M));
  PetscCall(MatSetSizes(*M, m, n, m, n));
  PetscCall(MatSetType(*M, MATSEQDENSE));
  PetscCall(PetscMalloc1((size_t)(m + pad) * n + 1, &a));
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m + pad; i++) a[i + j * (m + pad)] = i < m && A != NULL ? (PetscScalar)A[i + j * m] : (PetscScalar)NAN;
  }
  PetscCall(MatDenseSetLDA(*M, m + pad > 0 ? m + pad : 1));
  PetscCall(MatSeqDenseSetPreallocation(*M, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees the array of TestMat() too, and sees that the padding is as it was */
static PETSC_UNUSED PetscErrorCode TestMatDestroy(Mat *M)
{
  PetscScalar *a, *array;
  PetscInt     m, n, lda;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(*M, &m, &n));
  PetscCall(MatDenseGetLDA(*M, &lda));
  PetscCall(MatDenseGetArray(*M, &a));
  array = a;
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = m; i < lda && m > 0; i++) PetscCheck(PetscIsNanScalar(a[i + j * lda]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " of column %" PetscInt_FMT " is padding and was written", i, j);
  }
  PetscCall(MatDenseRestoreArray(*M, &a));
  PetscCall(MatDestroy(M));
  PetscCall(PetscFree(array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = U diag(sigma) V^T with random U and V, rounded to PetscScalar; the decreasing sigma of TestDecades() are 1 ... 10^-decades */
static PETSC_UNUSED void TestOfSpectrum(int m, int n, const double *sigma, double *A)
{
  const int s = m > n ? n : m;
  double   *U = (double *)malloc(sizeof(double) * m * s), *V = (double *)malloc(sizeof(double) * n * s);

  TestOrthonormal(m, s, U);
  TestOrthonormal(n, s, V);
  for (int j = 0; j < s; j++) {
    for (int i = 0; i < m; i++) U[i + j * m] *= sigma[j];
  }
  TestMultiply(m, n, s, U, V, 1, A);
  for (int i = 0; i < m * n; i++) A[i] = (double)(PetscScalar)A[i];
  free(U);
  free(V);
}

static PETSC_UNUSED void TestDecades(int m, int n, double decades, double *A)
{
  const int s     = m > n ? n : m;
  double   *sigma = (double *)malloc(sizeof(double) * s);

  for (int j = 0; j < s; j++) sigma[j] = s > 1 ? pow(10.0, -decades * j / (s - 1)) : 1.0;
  TestOfSpectrum(m, n, sigma, A);
  free(sigma);
}

/* A matrix of all ranks with the entries of A, or 7, and rows of it here, PETSC_DECIDE for an even part */
static PETSC_UNUSED PetscErrorCode TestMatSpread(PetscInt rows, int m, int n, const double *A, Mat *M)
{
  PetscScalar *a;
  PetscInt     begin, end, lda;

  PetscFunctionBeginUser;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, rows, PETSC_DECIDE, m, n, NULL, M));
  PetscCall(MatGetOwnershipRange(*M, &begin, &end));
  PetscCall(MatDenseGetLDA(*M, &lda));
  PetscCall(MatDenseGetArrayWrite(*M, &a));
  for (int j = 0; j < n; j++) {
    for (PetscInt i = begin; i < end; i++) a[i - begin + j * lda] = A != NULL ? (PetscScalar)A[i + j * m] : (PetscScalar)7;
  }
  PetscCall(MatDenseRestoreArrayWrite(*M, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its entries on all ranks */
static PETSC_UNUSED PetscErrorCode TestMatGather(Mat M, double *whole)
{
  const PetscScalar *a;
  PetscInt           m, n, lda, begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(M, &m, &n));
  PetscCall(MatGetOwnershipRange(M, &begin, &end));
  PetscCall(MatDenseGetLDA(M, &lda));
  PetscCall(PetscArrayzero(whole, m * n));
  PetscCall(MatDenseGetArrayRead(M, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = begin; i < end; i++) whole[i + j * m] = (double)a[i - begin + j * lda];
  }
  PetscCall(MatDenseRestoreArrayRead(M, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, whole, (int)(m * n), MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor of A on all ranks, of which this one has so many rows */
static PETSC_UNUSED PetscErrorCode TestApplySpread(MuonPolar polar, PetscInt rows, int m, int n, const double *A, double *Q)
{
  Mat        G, R;
  MuonStatus status;

  PetscFunctionBeginUser;
  PetscCall(TestMatSpread(rows, m, n, A, &G));
  PetscCall(MatDuplicate(G, MAT_DO_NOT_COPY_VALUES, &R));
  PetscCall(MuonPolarApply(polar, G, R, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: status %s", m, n, MuonStatuses[status]);
  PetscCall(TestMatGather(R, Q));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The rows first ... first + rows - 1 of A (m x n, column-major, all on this rank) as an array of that
   precision and order, with padding that is NaN; 7 where A is NULL. To be freed
*/
static PETSC_UNUSED PetscErrorCode TestArray(MuonPrecision precision, int rowmajor, int first, int rows, int m, int n, int pad, const double *A, MuonArray *array)
{
  PetscFunctionBeginUser;
  array->len       = (size_t)(rowmajor ? n : rows);
  array->count     = (size_t)(rowmajor ? rows : n);
  array->ld        = array->len + (size_t)pad;
  array->precision = precision;
  array->memory    = MUON_HOST;
  array->rowmajor  = rowmajor;
  array->pairs     = 0;
  PetscCall(PetscMalloc(array->ld * array->count * MuonArrayEntryBytes(array) + 1, &array->data));
  for (size_t k = 0; k < array->ld * array->count; k++) {
    const int    i = (int)(k % array->ld), j = (int)(k / array->ld), padding = i >= (int)array->len;
    const double x = padding ? NAN : (A == NULL ? 7.0 : A[rowmajor ? first + j + i * m : first + i + j * m]);

    if (precision == MUON_SINGLE) ((float *)array->data)[k] = (float)x;
    else ((double *)array->data)[k] = x;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED double TestArrayGet(const MuonArray *array, int i, int j)
{
  const void *entry = MuonArrayAt(array, (size_t)i, (size_t)j);

  return array->precision == MUON_SINGLE ? (double)*(const float *)entry : *(const double *)entry;
}

/* Sees that the padding is as it was, and frees the entries */
static PETSC_UNUSED PetscErrorCode TestArrayDestroy(MuonArray *array)
{
  PetscFunctionBeginUser;
  for (size_t k = 0; k < array->ld * array->count; k++) {
    const double x = array->precision == MUON_SINGLE ? (double)((float *)array->data)[k] : ((double *)array->data)[k];

    PetscCheck(k % array->ld < array->len || x != x, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %d is padding and was written", (int)k);
  }
  PetscCall(PetscFree(array->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestMatGet(Mat M, double *A)
{
  const PetscScalar *a;
  PetscInt           m, n, lda;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(M, &m, &n));
  PetscCall(MatDenseGetLDA(M, &lda));
  PetscCall(MatDenseGetArrayRead(M, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) A[i + j * m] = (double)a[i + j * lda];
  }
  PetscCall(MatDenseRestoreArrayRead(M, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor of A (m x n), which is a matrix with pad entries between its columns and stays as it is */
static PETSC_UNUSED PetscErrorCode TestApply(MuonPolar polar, int m, int n, int pad, const double *A, MuonStatus expected, double *Q)
{
  Mat        G, R;
  MuonStatus status;

  PetscFunctionBeginUser;
  PetscCall(TestMat(m, n, pad, A, &G));
  PetscCall(TestMat(m, n, 3 - pad, NULL, &R));
  PetscCall(MuonPolarApply(polar, G, R, &status));
  PetscCheck(status == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: status %s", m, n, MuonStatuses[status]);
  PetscCall(TestMatGet(G, Q));
  for (int i = 0; i < m * n; i++) PetscCheck((PetscScalar)Q[i] == (PetscScalar)A[i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The input was changed");
  PetscCall(TestMatGet(R, Q));
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED double TestDot(int count, const double *x, const double *y)
{
  double sum = 0.0;

  for (int i = 0; i < count; i++) sum += x[i] * y[i];
  return sum;
}

/* Roundoff of a method: that of its kernel, or of PetscScalar where the input has more of it */
static PETSC_UNUSED PetscErrorCode TestEpsilon(MuonPolar polar, double *eps)
{
  MuonPolarPrecision precision;

  PetscFunctionBeginUser;
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  *eps = precision == MUON_POLAR_PRECISION_DOUBLE ? PETSC_MACHINE_EPSILON : 1.1920928955078125e-7;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frobenius norm of x - y, or of x */
static PETSC_UNUSED double TestDistance(int count, const double *x, const double *y)
{
  double sum = 0.0;

  for (int i = 0; i < count; i++) sum += (x[i] - (y != NULL ? y[i] : 0.0)) * (x[i] - (y != NULL ? y[i] : 0.0));
  return sqrt(sum);
}

/* Frobenius norm of H - H^T, where H is A^T Q over the long side of both */
static PETSC_UNUSED double TestAsymmetry(int m, int n, const double *A, const double *Q)
{
  const int s = m > n ? n : m, l = m > n ? m : n;
  double    sum = 0.0;

  for (int p = 0; p < s; p++) {
    for (int q = 0; q < p; q++) {
      double h = 0.0;

      for (int i = 0; i < l; i++) {
        const int a = m >= n ? i + p * m : p + i * m, b = m >= n ? i + q * m : q + i * m;

        h += A[a] * Q[b] - A[b] * Q[a];
      }
      sum += 2 * h * h;
    }
  }
  return sqrt(sum);
}

/*
   The count of bytes x and the file's name in the folder -oracle_dir, for the second implementation in numpy
*/
static PETSC_UNUSED PetscErrorCode TestDump(const char directory[], const char name[], int index, size_t count, const double *x)
{
  char  path[PETSC_MAX_PATH_LEN];
  FILE *file;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%s%d.f64", directory, name, index));
  file = fopen(path, "wb");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  PetscCheck(fwrite(x, sizeof(double), count, file) == count && fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}
