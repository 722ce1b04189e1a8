/*
   What the tests of compressors share: matrices and arrays with gaps between their lines, and numbers that
   are the same everywhere.
*/
#pragma once

#include <petscmuon/private/muoncompressorimpl.h>
#include <petscmuoncompat.h>
#include "parameters.h"

#define TestCheck(condition, ...) PetscCheck(condition, PETSC_COMM_SELF, PETSC_ERR_PLIB, __VA_ARGS__)

/* Cases that a program in numpy computes again */
typedef struct {
  const char   *dir;
  FILE         *cases;
  PetscInt      number, m, n;
  MuonPrecision precision;
  int           rowmajor;
} TestOutput;

static inline const char *TestCaseLayer(PetscInt number)
{
  return number % 3 == 0 ? "embed" : number % 3 == 1 ? "h0.attn.q" : "h11.mlp.down";
}

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

/* What a message of PetscScalars costs, with its entropy */
static inline PetscErrorCode TestCost(MuonCompressor c, PetscInt m, PetscInt n, size_t bytes, const unsigned char message[], MuonCompressorCost *cost)
{
  const MuonArray shape = MuonArrayOfScalars(m, n, NULL, m);
  PetscBool       valid;

  PetscFunctionBegin;
  PetscCall(MuonCompressorValidateArray(c, &shape, bytes, message, PETSC_TRUE, cost, NULL, &valid));
  TestCheck(valid, "%zu bytes are no message", bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
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

/* The entries row by row, or column by column as they lie in memory, which is how they are numbered. To be freed */
static inline PetscErrorCode TestMatGet(Mat A, PetscBool rowmajor, PetscScalar **entries)
{
  const PetscScalar *a;
  PetscInt           m, n, ld;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(PetscMalloc1((size_t)m * n + 1, entries));
  PetscCall(MatDenseGetArrayRead(A, &a));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < m; i++) (*entries)[rowmajor ? i * n + j : j * m + i] = a[i + j * ld];
  }
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entry number e, in the order of memory */
static inline PetscErrorCode TestMatSetEntry(Mat A, PetscInt e, PetscScalar x)
{
  PetscInt m;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, NULL));
  PetscCall(TestMatSet(A, e % m, e / m, x));
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
  PetscCall(TestMatGet(X, PETSC_TRUE, &x));
  PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
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
  PetscCall(TestMatGet(A, PETSC_TRUE, &a));
  for (PetscInt k = 0; k < m * n; k++) squares += (double)a[k] * (double)a[k];
  *sum = (PetscReal)squares;
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An m x n array of zeros of any precision, by columns or by rows, with gap entries between its lines, which
   hold NaN
*/
static inline PetscErrorCode TestArrayCreate(PetscInt m, PetscInt n, MuonPrecision precision, int rowmajor, PetscInt gap, MuonArray *A)
{
  PetscFunctionBegin;
  A->rowmajor  = rowmajor;
  A->pairs     = 0;
  A->len       = (size_t)(rowmajor ? n : m);
  A->count     = (size_t)(rowmajor ? m : n);
  A->ld        = A->len + (size_t)gap;
  A->precision = precision;
  A->memory    = MUON_HOST;
  PetscCall(PetscMalloc(PetscMax(A->ld * A->count, 1) * MuonArrayEntryBytes(A), &A->data));
  for (size_t k = 0; k < A->ld * A->count; k++) {
    const double x = k % A->ld < A->len ? 0 : (double)NAN;

    if (precision == MUON_SINGLE) ((float *)A->data)[k] = (float)x;
    else ((double *)A->data)[k] = x;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestArrayDestroy(MuonArray *A)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < A->ld * A->count; k++) TestCheck(k % A->ld < A->len || PetscIsNanReal(A->precision == MUON_SINGLE ? (PetscReal)((float *)A->data)[k] : (PetscReal)((double *)A->data)[k]), "Written between the lines");
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline double TestArrayGet(const MuonArray *A, size_t i, size_t j)
{
  return A->precision == MUON_SINGLE ? (double)*(float *)MuonArrayAt(A, i, j) : *(double *)MuonArrayAt(A, i, j);
}

static inline void TestArraySet(const MuonArray *A, size_t i, size_t j, double x)
{
  if (A->precision == MUON_SINGLE) *(float *)MuonArrayAt(A, i, j) = (float)x;
  else *(double *)MuonArrayAt(A, i, j) = x;
}

/*
   The same matrix for the same state, whatever its precision and its order are, but for the rounding of its
   entries
*/
static inline void TestArrayNormal(const MuonArray *A, double scale, unsigned long long *state)
{
  for (size_t j = 0; j < MuonArrayColumns(A); j++) {
    for (size_t i = 0; i < MuonArrayRows(A); i++) TestArraySet(A, i, j, scale * (double)TestNormal(state));
  }
}

/* Y = X */
static inline void TestArrayCopy(const MuonArray *X, const MuonArray *Y)
{
  for (size_t j = 0; j < MuonArrayColumns(X); j++) {
    for (size_t i = 0; i < MuonArrayRows(X); i++) TestArraySet(Y, i, j, TestArrayGet(X, i, j));
  }
}

/* Whether the entries are the same numbers, bit for bit where they have the same precision */
static inline PetscBool TestArraySame(const MuonArray *X, const MuonArray *Y)
{
  for (size_t j = 0; j < MuonArrayColumns(X); j++) {
    for (size_t i = 0; i < MuonArrayRows(X); i++) {
      const double x = TestArrayGet(X, i, j), y = TestArrayGet(Y, i, j);

      if (memcmp(&x, &y, sizeof(x)) != 0) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

/* The entries of a matrix as those of an array */
static inline PetscErrorCode TestMatOfArray(const MuonArray *X, Mat A)
{
  PetscFunctionBegin;
  for (size_t j = 0; j < MuonArrayColumns(X); j++) {
    for (size_t i = 0; i < MuonArrayRows(X); i++) PetscCall(TestMatSet(A, (PetscInt)i, (PetscInt)j, (PetscScalar)TestArrayGet(X, i, j)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The message of T - R, to be freed, and what its sender opens of it */
static inline PetscErrorCode TestEncodeArray(MuonCompressor c, const MuonArray *T, const MuonArray *R, unsigned char **buf, size_t *bytes, MuonCompressorCost *cost, MuonValidated *own)
{
  size_t most;

  PetscFunctionBegin;
  PetscCall(MuonCompressorGetMaxBytesOf(c, T, &most));
  PetscCall(PetscMalloc1(most, buf));
  PetscCall(MuonCompressorEncodeArray(c, T, R, most, *buf, bytes, cost != NULL ? PETSC_TRUE : PETSC_FALSE, cost, own));
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

/* A compressor with what can be chosen of it; 0 bits are those of the type */
typedef struct {
  const char          *type;
  PetscReal            ratio;
  PetscInt             rank;
  MuonCompressorValues values;
  PetscInt             bits;
} TestChoice;

/* A parameter of some types alone: without effect on the others */
static inline PetscErrorCode TestSetOfType(MuonCompressor c, const char key[], double value)
{
  PetscFunctionBegin;
  if (MuonParametersFind((PetscObject)c, key, NULL) != NULL) PetscCall(MuonParametersAssign((PetscObject)c, key, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Uncompressed messages are native unless single is asked for, which is a test of its own */
static inline PetscErrorCode TestCreate(const TestChoice *choice, MuonCompressor *c)
{
  PetscBool identity;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(choice->type, MUONCOMPRESSORIDENTITY, &identity));
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, choice->type));
  PetscCall(MuonCompressorSetRatio(*c, choice->ratio));
  PetscCall(SetNumber((PetscObject)(*c), "compressor_rank", choice->rank));
  if (!identity || choice->values != MUON_COMPRESSOR_VALUES_SINGLE) PetscCall(MuonObjectSetParameter((PetscObject)(*c), "compressor_values", MuonCompressorValuesTypes[choice->values]));
  if (choice->bits > 0) PetscCall(SetNumber((PetscObject)(*c), "compressor_bits", choice->bits));
  PetscCall(MuonCompressorSetStream(*c, 11, "attn.qkv", 3, 1));
  PetscCall(MuonCompressorSetStep(*c, 5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestIs(const TestChoice *choice, const char type[], PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscStrcmp(choice->type, type, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define TEST_MOST_CHOICES 256

/*
   Choices that cover every type that is registered: those below, and for a type that is not among them one
   for each kind of values. Dropout is sent in some and dropped in others. The names stay valid until the
   types are destroyed
*/
static inline PetscErrorCode TestGetChoices(PetscInt *count, TestChoice choices[TEST_MOST_CHOICES])
{
  static const TestChoice known[] = {{MUONCOMPRESSORIDENTITY, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORNATURAL, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORNEAREST, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORTRUNCATED, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORBF16, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORDAMPING, 1.0, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0},
                                     {MUONCOMPRESSORDAMPING, 0.7, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0},
                                     {MUONCOMPRESSORDAMPING, 0.7, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_DOUBLE, 0},
                                     {MUONCOMPRESSORDAMPING, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORDAMPING, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_BF16, 0},
                                     {MUONCOMPRESSORDAMPING, 0.9, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATURAL, 0},
                                     {MUONCOMPRESSORDROPOUT, 1.0, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0},
                                     {MUONCOMPRESSORDROPOUT, 1e-7, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_DOUBLE, 0},
                                     {MUONCOMPRESSORDROPOUT, 1.0, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORDROPOUT, 1.0, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_BF16, 0},
                                     {MUONCOMPRESSORDROPOUT, 1.0, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATURAL, 0},
                                     {MUONCOMPRESSORDROPOUT, 1e-7, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATURAL, 0},
                                     {MUONCOMPRESSORTOPK, 0.001, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0},
                                     {MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0},
                                     {MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_DOUBLE, 0},
                                     {MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORTOPK, 0.5, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_BF16, 0},
                                     {MUONCOMPRESSORTOPK, 0.02, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATURAL, 0},
                                     {MUONCOMPRESSORTOPK, 1.0, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATURAL, 0},
                                     {MUONCOMPRESSORRANKK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0},
                                     {MUONCOMPRESSORRANKK, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_DOUBLE, 0},
                                     {MUONCOMPRESSORRANKK, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
                                     {MUONCOMPRESSORRANKK, 0.3, 2, MUON_COMPRESSOR_VALUES_BF16, 0},
                                     {MUONCOMPRESSORRANKK, 0.3, 1000, MUON_COMPRESSOR_VALUES_NATURAL, 0}};
  const PetscInt          rows    = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(known);
  const char            **types;
  int                     ntypes;

  PetscFunctionBegin;
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(PetscArraycpy(choices, known, rows));
  *count = rows;
  PetscCall(PetscFunctionListGet(MuonCompressorList, &types, &ntypes));
  /* Some releases count an empty name at the end */
  for (int t = 0; t < ntypes && types[t] != NULL; t++) {
    PetscBool listed = PETSC_FALSE;

    for (PetscInt k = 0; k < rows && listed == PETSC_FALSE; k++) PetscCall(TestIs(&known[k], types[t], &listed));
    for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL && listed == PETSC_FALSE; values++) {
      TestChoice *choice = &choices[(*count)++];

      TestCheck(*count <= TEST_MOST_CHOICES, "More than %d choices", TEST_MOST_CHOICES);
      choice->type   = types[t];
      choice->ratio  = (PetscReal)(values % 2 == 0 ? 0.1 : 0.4);
      choice->rank   = PETSC_DETERMINE;
      choice->values = (MuonCompressorValues)values;
      choice->bits   = 2 + values;
    }
  }
  PetscCall(PetscFree(types));
  PetscFunctionReturn(PETSC_SUCCESS);
}
