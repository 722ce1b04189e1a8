/*
   The norms of the library by their definitions, in double: what the tests of the oracles compare with. A
   type that is in MuonLMOList and not here is an error.
*/
#pragma once

#include "polar_common.h"
#include <petscmuon/private/muonlmoimpl.h>
#include <string.h>

enum {
  LMO_SINGULAR, /* the p-norm of the singular values */
  LMO_COLUMNS,  /* the q-norm of the p-norms of the columns */
  LMO_ROWS
};

typedef struct {
  const char *type;
  int         kind;
  double      p, q;
  int         exact; /* the minimizer has the entries 0, 1 and -1 only */
} TestNorm;

/* Types with exponents come with several */
static const TestNorm testnorms[] = {{MUONLMOSPECTRAL, LMO_SINGULAR, INFINITY, 0, 0},
                                     {MUONLMONUCLEAR, LMO_SINGULAR, 1, 0, 0},
                                     {MUONLMOSCHATTEN, LMO_SINGULAR, 2, 0, 0},
                                     {MUONLMOSCHATTEN, LMO_SINGULAR, 1, 0, 0},
                                     {MUONLMOSCHATTEN, LMO_SINGULAR, INFINITY, 0, 0},
                                     {MUONLMOSCHATTEN, LMO_SINGULAR, 1.25, 0, 0},
                                     {MUONLMOSCHATTEN, LMO_SINGULAR, 7, 0, 0},
                                     {MUONLMOFROBENIUS, LMO_COLUMNS, 2, 2, 0},
                                     {MUONLMOMAX, LMO_COLUMNS, INFINITY, INFINITY, 1},
                                     {MUONLMOL1, LMO_COLUMNS, 1, 1, 1},
                                     {MUONLMOCOLUMN, LMO_COLUMNS, 2, INFINITY, 0},
                                     {MUONLMOROW, LMO_ROWS, 2, INFINITY, 0},
                                     {MUONLMOCOLSUM, LMO_COLUMNS, 1, INFINITY, 1},
                                     {MUONLMOROWSUM, LMO_ROWS, 1, INFINITY, 1},
                                     {MUONLMOL21, LMO_COLUMNS, 2, 1, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, 2, 2, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, 1, 1, 1},
                                     {MUONLMOMIXED, LMO_COLUMNS, 1, INFINITY, 1},
                                     {MUONLMOMIXED, LMO_COLUMNS, INFINITY, INFINITY, 1},
                                     {MUONLMOMIXED, LMO_COLUMNS, 2, 1, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, 2, INFINITY, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, 1, 3, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, INFINITY, 1, 1},
                                     {MUONLMOMIXED, LMO_COLUMNS, INFINITY, 1.5, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, 1.5, 4, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, 3, 1, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, 1000, 1.001, 0},
                                     {MUONLMOMIXED, LMO_COLUMNS, 1.001, 1000, 0}};
#define TEST_NORMS ((int)PETSC_STATIC_ARRAY_LENGTH(testnorms))

/* 1/p + 1/p* = 1 */
static double TestConjugate(double p)
{
  return p == 1.0 ? INFINITY : (isinf(p) ? 1.0 : p / (p - 1.0));
}

/* The p-norm of count numbers that are stride apart, without overflow */
static double TestVectorNorm(int count, int stride, const double *x, double p)
{
  double most = 0.0, sum = 0.0;

  for (int i = 0; i < count; i++) most = PetscMax(most, fabs(x[i * stride]));
  if (isinf(p) || most == 0.0) return most;
  for (int i = 0; i < count; i++) sum += pow(fabs(x[i * stride]) / most, p);
  return most * pow(sum, 1.0 / p);
}

/* The norm of X, m x n, or its dual */
static PETSC_UNUSED double TestNormOf(const TestNorm *norm, int dual, int m, int n, const double *X)
{
  const int    s = PetscMin(m, n), count = norm->kind == LMO_SINGULAR ? s : (norm->kind == LMO_COLUMNS ? n : m);
  const double p = dual ? TestConjugate(norm->p) : norm->p, q = dual ? TestConjugate(norm->q) : norm->q;
  double      *c = (double *)calloc((size_t)(s + m * s + n * s + m + n), sizeof(double)), value;

  if (norm->kind == LMO_SINGULAR) {
    TestSVD(m, n, X, c, c + s, c + s + m * s);
    value = TestVectorNorm(count, 1, c, p);
  } else {
    for (int k = 0; k < count; k++) c[k] = norm->kind == LMO_COLUMNS ? TestVectorNorm(m, 1, X + k * m, p) : TestVectorNorm(n, m, X + k, p);
    value = TestVectorNorm(count, 1, c, q);
  }
  free(c);
  return value;
}

/* With the exponents that a setter gets */
static PETSC_UNUSED TestNorm TestNormRounded(const TestNorm *norm)
{
  TestNorm rounded = *norm;

  rounded.p = (double)(PetscReal)norm->p;
  rounded.q = (double)(PetscReal)norm->q;
  return rounded;
}

/* The name for messages */
static PETSC_UNUSED const char *TestNormName(const TestNorm *norm)
{
  static char name[64];

  (void)PetscSNPrintf(name, sizeof(name), "%s p %g q %g", norm->type, norm->p, norm->q);
  return name;
}

/* The type, its exponents and an exact polar factor */
static PETSC_UNUSED PetscErrorCode TestNormSet(const TestNorm *norm, MuonLMO lmo)
{
  const PetscReal p = isinf(norm->p) ? PETSC_INFINITY : (PetscReal)norm->p, q = isinf(norm->q) ? PETSC_INFINITY : (PetscReal)norm->q;

  PetscFunctionBeginUser;
  PetscCall(MuonLMOSetType(lmo, norm->type));
  if (strcmp(norm->type, MUONLMOMIXED) == 0) PetscCall(TestSetMixed(lmo, p, q));
  if (strcmp(norm->type, MUONLMOSCHATTEN) == 0) PetscCall(TestSetSchatten(lmo, p));
  if (strcmp(norm->type, MUONLMOSPECTRAL) == 0) {
    MuonPolar polar;

    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix on one rank as the oracles may get it: a Mat, or an array of either precision and order, with
   padding that is NaN
*/
typedef struct {
  int        variant;
  Mat        mat;
  MuonMatrix matrix;
  char      *memory;
} TestInput;

enum {
  TEST_MAT,
  TEST_SINGLE_COLUMNS,
  TEST_SINGLE_ROWS,
  TEST_DOUBLE_COLUMNS,
  TEST_DOUBLE_ROWS,
  TEST_VARIANTS
};
static PETSC_UNUSED const char *const testvariants[] = {"Mat", "single by columns", "single by rows", "double by columns", "double by rows"};

static PETSC_UNUSED MuonPrecision TestPrecision(int variant)
{
  return variant == TEST_MAT ? MUON_PETSCSCALAR : (variant <= TEST_SINGLE_ROWS ? MUON_SINGLE : MUON_DOUBLE);
}

/* The roundoff of results: singular values are computed in PetscScalar */
static PETSC_UNUSED double TestInputEpsilon(const TestNorm *norm, int variant)
{
  const double own = TestPrecision(variant) == MUON_SINGLE ? 1.1920928955078125e-7 : 2.220446049250313e-16;

  return norm->kind == LMO_SINGULAR && norm->p != 2.0 ? PetscMax(own, (double)PETSC_MACHINE_EPSILON) : own;
}

/* An array over memory of (m + pad) x n or (n + pad) x m entries */
static PETSC_UNUSED MuonArray TestArrayOf(int variant, int m, int n, int pad, void *memory)
{
  MuonArray array;

  array.rowmajor  = variant == TEST_SINGLE_ROWS || variant == TEST_DOUBLE_ROWS;
  array.len       = (size_t)(array.rowmajor ? n : m);
  array.count     = (size_t)(array.rowmajor ? m : n);
  array.ld        = array.len + (size_t)pad;
  array.precision = TestPrecision(variant);
  array.memory    = MUON_HOST;
  array.pairs     = 0;
  array.data      = memory;
  return array;
}

static PETSC_UNUSED double TestArrayEntry(const MuonArray *array, size_t at)
{
  return array->precision == MUON_SINGLE ? (double)((float *)array->data)[at] : ((double *)array->data)[at];
}

static PETSC_UNUSED void TestArrayPut(MuonArray *array, size_t at, double x)
{
  if (array->precision == MUON_SINGLE) ((float *)array->data)[at] = (float)x;
  else ((double *)array->data)[at] = x;
}

/* A is by columns, NULL for NaN */
static PETSC_UNUSED PetscErrorCode TestInputCreate(int variant, int m, int n, int pad, const double *A, TestInput *x)
{
  MuonArray array;

  PetscFunctionBeginUser;
  x->variant = variant;
  x->mat     = NULL;
  x->memory  = NULL;
  if (variant == TEST_MAT) {
    PetscCall(TestMat(m, n, pad, A, &x->mat));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1((size_t)(m + pad) * (size_t)(n + pad) * sizeof(double) + 1, &x->memory));
  array = TestArrayOf(variant, m, n, pad, x->memory);
  for (size_t j = 0; j < array.count; j++) {
    for (size_t i = 0; i < array.ld; i++) TestArrayPut(&array, i + j * array.ld, i < array.len && A != NULL ? (array.rowmajor ? A[j + i * (size_t)m] : A[i + j * (size_t)m]) : (double)NAN);
  }
  x->matrix = MuonMatrixOfArray(&array);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestInputGet(const TestInput *x, double *A)
{
  const MuonArray *array = &x->matrix.here;

  PetscFunctionBeginUser;
  if (x->mat != NULL) PetscCall(TestMatGet(x->mat, A));
  else {
    for (size_t j = 0; j < array->count; j++) {
      for (size_t i = 0; i < array->len; i++) A[array->rowmajor ? j + i * array->count : i + j * array->len] = TestArrayEntry(array, i + j * array->ld);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestInputDestroy(TestInput *x)
{
  const MuonArray *array = &x->matrix.here;

  PetscFunctionBeginUser;
  if (x->variant == TEST_MAT) PetscCall(TestMatDestroy(&x->mat));
  else {
    for (size_t j = 0; j < array->count; j++) {
      for (size_t i = array->len; i < array->ld; i++) PetscCheck(isnan(TestArrayEntry(array, i + j * array->ld)), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Padding of line %d was written", (int)j);
    }
    PetscCall(PetscFree(x->memory));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestInputApply(MuonLMO lmo, const TestInput *G, const TestInput *D)
{
  double     value;
  MuonStatus status;

  PetscFunctionBeginUser;
  if (G->mat != NULL) PetscCall(MuonLMOApply(lmo, G->mat, D->mat, NULL, NULL));
  else PetscCall(MuonLMOApplyMatrix(lmo, &G->matrix, &D->matrix, &value, &status));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode TestInputNorms(MuonLMO lmo, const TestInput *G, PetscReal *norm, PetscReal *dual)
{
  PetscFunctionBeginUser;
  if (G->mat != NULL) {
    PetscCall(MuonLMOComputeNorm(lmo, G->mat, norm));
    PetscCall(MuonLMOComputeDualNorm(lmo, G->mat, dual));
  } else {
    PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_FALSE, &G->matrix, norm, NULL));
    PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_TRUE, &G->matrix, dual, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sharp operator of arrays is the minimizer times minus its value */
static PETSC_UNUSED PetscErrorCode TestInputSharp(MuonLMO lmo, const TestInput *G, const TestInput *S)
{
  double     value;
  MuonStatus status;

  PetscFunctionBeginUser;
  if (G->mat != NULL) PetscCall(TestSharp(lmo, G->mat, S->mat));
  else {
    PetscCall(MuonLMOApplyMatrix(lmo, &G->matrix, &S->matrix, &value, &status));
    if (status == MUON_STATUS_OK) MuonArrayAxpby(-value, &S->matrix.here, 0.0, &S->matrix.here);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every type of the library must be among the norms above */
static PETSC_UNUSED PetscErrorCode TestNormsComplete(void)
{
  const char **types;
  int          count;

  PetscFunctionBeginUser;
  PetscCall(MuonLMOInitializePackage());
  PetscCall(PetscFunctionListGet(MuonLMOList, &types, &count));
  PetscCheck(count > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No types");
  for (int t = 0; t < count && types[t] != NULL; t++) {
    int k = 0;

    while (k < TEST_NORMS && strcmp(testnorms[k].type, types[t]) != 0) k++;
    PetscCheck(k < TEST_NORMS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The test has no definition of the norm %s", types[t]);
  }
  PetscCall(PetscFree(types));
  PetscFunctionReturn(PETSC_SUCCESS);
}
