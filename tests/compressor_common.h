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

/* A compressor with what can be chosen of it; 0 bits are those of the type */
typedef struct {
  const char          *type;
  PetscReal            ratio;
  PetscInt             rank;
  MuonCompressorValues values;
  PetscInt             bits;
} TestChoice;

static inline PetscErrorCode TestCreate(const TestChoice *choice, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, choice->type));
  PetscCall(MuonCompressorSetRatio(*c, choice->ratio));
  PetscCall(MuonCompressorSetRank(*c, choice->rank));
  PetscCall(MuonCompressorSetValues(*c, choice->values));
  if (choice->bits > 0) PetscCall(MuonCompressorSetBits(*c, choice->bits));
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
   Choices that cover every type that is registered: those below, and for a type that is not among them one for each kind of values. Dropout is sent in some and dropped in others.
   The names stay valid until the types are destroyed
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
  PetscBool               same;

  PetscFunctionBegin;
  PetscCall(MuonCompressorInitializePackage());
  PetscCall(PetscArraycpy(choices, known, rows));
  *count = rows;
  PetscCall(PetscFunctionListGet(MuonCompressorList, &types, &ntypes));
  /* Some releases count an empty name at the end */
  for (int t = 0; t < ntypes && types[t] != NULL; t++) {
    PetscBool listed = PETSC_FALSE;

    for (PetscInt k = 0; k < rows && listed == PETSC_FALSE; k++) PetscCall(TestIs(&known[k], types[t], &listed));
    /* The steps of a norm are made of an oracle, and tested with it */
    PetscCall(PetscStrcmp(types[t], MUONCOMPRESSORSHARP, &same));
    for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL && listed == PETSC_FALSE && same == PETSC_FALSE; values++) {
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
