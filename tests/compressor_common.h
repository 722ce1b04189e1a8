/*
   What the tests of compressors share: matrices with gaps between their columns, and numbers that are the same everywhere.
*/
#pragma once

#include <petscmuoncompressor.h>
#include <petscmuonretro.h>

#define TestCheck(condition, ...) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)

/* SplitMix64: the tests of Philox must not be made of it */
static inline unsigned long long TestBits(unsigned long long *state)
{
  unsigned long long z = (*state += 0x9E3779B97F4A7C15ull);

  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

static inline PetscReal TestUniform(unsigned long long *state)
{
  return (PetscReal)(TestBits(state) >> 40) / (PetscReal)16777216.0;
}

static inline PetscReal TestNormal(unsigned long long *state)
{
  const PetscReal u = TestUniform(state), v = TestUniform(state);

  return PetscSqrtReal(-2 * PetscLogReal(1 - u)) * PetscCosReal(2 * PETSC_PI * v);
}

/* m x n with gap rows between the columns, which hold NaN: whoever uses them shows it */
static inline PetscErrorCode TestMatCreate(PetscInt m, PetscInt n, PetscInt gap, Mat *A)
{
  PetscScalar *a;
  PetscInt     ld = PetscMax(m + gap, 1);

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)ld * PetscMax(n, 1), &a));
  for (PetscInt k = 0; k < ld * PetscMax(n, 1); k++) a[k] = k % ld < m ? 0.0 : NAN;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, m, n, m, n));
  PetscCall(MatSetType(*A, MATSEQDENSE));
  PetscCall(MatDenseSetLDA(*A, ld));
  PetscCall(MatSeqDenseSetPreallocation(*A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestMatDestroy(Mat *A)
{
  PetscScalar *a, *kept;
  PetscInt     m, n, ld;

  PetscFunctionBegin;
  PetscCall(MatGetSize(*A, &m, &n));
  PetscCall(MatDenseGetLDA(*A, &ld));
  PetscCall(MatDenseGetArray(*A, &a));
  kept = a;
  for (PetscInt k = 0; k < ld * n; k++) TestCheck(k % ld < m || PetscIsNanScalar(a[k]), "Written between the columns");
  PetscCall(MatDenseRestoreArray(*A, &a));
  PetscCall(MatDestroy(A));
  PetscCall(PetscFree(kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestMatSet(Mat A, PetscInt i, PetscInt j, PetscScalar x)
{
  PetscScalar *a;
  PetscInt     ld;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(MatDenseGetArray(A, &a));
  a[i + j * ld] = x;
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestMatNormal(Mat A, PetscReal scale, unsigned long long *state)
{
  PetscScalar *a;
  PetscInt     m, n, ld;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(MatDenseGetArray(A, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) a[i + j * ld] = scale * TestNormal(state);
  }
  PetscCall(MatDenseRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries in row-major order, to be freed */
static inline PetscErrorCode TestMatGetRows(Mat A, PetscScalar **rows)
{
  const PetscScalar *a;
  PetscInt           m, n, ld;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(PetscMalloc1((size_t)m * n + 1, rows));
  PetscCall(MatDenseGetArrayRead(A, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) (*rows)[i * n + j] = a[i + j * ld];
  }
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = a X + b Y; b == 0 overwrites */
static inline PetscErrorCode TestMatAxpby(PetscScalar a, Mat X, PetscScalar b, Mat Y)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           m, n, ldx, ldy;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArray(Y, &y));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) y[i + j * ldy] = b == 0.0 ? a * x[i + j * ldx] : a * x[i + j * ldx] + b * y[i + j * ldy];
  }
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(MatDenseRestoreArray(Y, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the entries are the same bits */
static inline PetscErrorCode TestMatSame(Mat X, Mat Y, PetscBool *same)
{
  PetscScalar *x, *y;
  PetscInt     m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(TestMatGetRows(X, &x));
  PetscCall(TestMatGetRows(Y, &y));
  PetscCall(PetscMemcmp(x, y, (size_t)m * n * sizeof(PetscScalar), same));
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestMatSquares(Mat A, PetscReal *sum)
{
  PetscScalar *a;
  PetscInt     m, n;
  double       squares = 0;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(TestMatGetRows(A, &a));
  for (PetscInt k = 0; k < m * n; k++) squares += (double)a[k] * (double)a[k];
  *sum = (PetscReal)squares;
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The message of T - R in a buffer of its own */
static inline PetscErrorCode TestEncode(MuonCompressor c, Mat T, Mat R, unsigned char **buf, size_t *bytes)
{
  PetscInt m, n;
  size_t   most;

  PetscFunctionBegin;
  PetscCall(MatGetSize(T, &m, &n));
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
  PetscCall(PetscMalloc1(most, buf));
  PetscCall(MuonCompressorEncode(c, T, R, most, *buf, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
