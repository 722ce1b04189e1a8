/*
   The norms of the library, which tests/oracle/lmo.py computes by their definitions. A type that is in
   MuonLMOList and not here is an error.
*/
#pragma once

#include "polar_common.h"

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

/* The name for messages */
static inline const char *TestNormName(const TestNorm *norm)
{
  static char name[64];

  (void)PetscSNPrintf(name, sizeof(name), "%s p %g q %g", norm->type, norm->p, norm->q);
  return name;
}

/* Exponents, of a type that has some */
static inline PetscErrorCode TestSetExponents(MuonLMO lmo, double p, double q)
{
  const char *const type  = ((PetscObject)lmo)->type_name;
  const int         mixed = strcmp(type, MUONLMOMIXED) == 0;
  char              text[64];

  PetscFunctionBegin;
  for (int k = 0; k < (mixed ? 2 : strcmp(type, MUONLMOSCHATTEN) == 0 ? 1 : 0); k++) {
    PetscCall(MuonNumberWrite(k == 0 ? p : q, sizeof(text), text));
    PetscCall(MuonObjectSetParameter((PetscObject)lmo, !mixed ? "lmo_schatten_exponent" : k == 0 ? "lmo_mixed_exponent_p" : "lmo_mixed_exponent_q", text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The type, its exponents and an exact polar factor */
static inline PetscErrorCode TestNormSet(const TestNorm *norm, MuonLMO lmo)
{
  PetscFunctionBegin;
  PetscCall(MuonLMOSetType(lmo, norm->type));
  PetscCall(TestSetExponents(lmo, norm->p, norm->q));
  if (strcmp(norm->type, MUONLMOSPECTRAL) == 0) {
    MuonPolar polar;

    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The roundoff of results: singular values are computed in PetscScalar */
static inline double TestInputEpsilon(const TestNorm *norm, int variant)
{
  const double own = TestPrecision(variant) == MUON_SINGLE ? 1.1920928955078125e-7 : 2.220446049250313e-16;

  return norm->kind == LMO_SINGULAR && norm->p != 2.0 ? PetscMax(own, (double)PETSC_MACHINE_EPSILON) : own;
}

/* The minimizer, or the sharp operator: the minimizer times minus its value, which may be too large */
static inline PetscErrorCode TestInputApply(MuonLMO lmo, int sharp, const TestInput *G, const TestInput *D)
{
  double     value;
  PetscReal  real;
  MuonStatus status;

  PetscFunctionBegin;
  if (G->mat == NULL) PetscCall(MuonLMOApplyMatrix(lmo, &G->matrix, &D->matrix, &value, &status));
  else {
    PetscCall(MuonLMOApply(lmo, G->mat, D->mat, &real, &status));
    value = (double)real;
  }
  if (status == MUON_STATUS_OK && sharp && PetscIsInfOrNanReal((PetscReal)value)) lmo->status = MUON_STATUS_NANORINF;
  else if (status == MUON_STATUS_OK && sharp) MuonArrayAxpby(-value, &D->matrix.here, 0.0, &D->matrix.here);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestInputNorms(MuonLMO lmo, const TestInput *G, PetscReal *norm, PetscReal *dual)
{
  PetscFunctionBegin;
  if (G->mat != NULL) {
    PetscCall(MuonLMOComputeNorm(lmo, G->mat, norm));
    PetscCall(MuonLMOComputeDualNorm(lmo, G->mat, dual));
  } else {
    PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_FALSE, &G->matrix, norm, NULL));
    PetscCall(MuonLMOComputeNormMatrix(lmo, PETSC_TRUE, &G->matrix, dual, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry of A that is none: a status on all ranks, nothing is written, and the norms are NaN */
static inline PetscErrorCode TestInputNaN(MuonLMO lmo, int variant, int how, int m, int n, const double *A, int at, double none, const char what[])
{
  TestInput P, Q;
  PetscReal primal, dual;
  double   *T;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(m * n, &T));
  PetscCall(PetscArraycpy(T, A, m * n));
  T[at] = none;
  PetscCall(TestCreate(variant, how, m, n, 1, T, &P));
  PetscCall(TestCreate(variant, how, m, n, 1, NULL, &Q));
  for (int sharp = 0; sharp < 2; sharp++) {
    PetscCall(TestInputApply(lmo, sharp, &P, &Q));
    PetscCall(TestStatus(P.matrix.comm, lmo->status, MUON_STATUS_NANORINF, what));
  }
  PetscCall(TestGet(&Q, T));
  TestNear(what, TestUntouched(m * n, T), m * n, 0.0);
  PetscCall(TestInputNorms(lmo, &P, &primal, &dual));
  PetscCall(TestStatus(P.matrix.comm, lmo->status, MUON_STATUS_NANORINF, what));
  TestCheck(PetscIsNanReal(primal) && PetscIsNanReal(dual), "%s: norms with %g at %d are %g and %g", what, none, at, (double)primal, (double)dual);
  PetscCall(TestDestroy(&P));
  PetscCall(TestDestroy(&Q));
  PetscCall(PetscFree(T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every type of the library must be among the norms above */
static inline PetscErrorCode TestNormsComplete(void)
{
  const char **types;
  int          count;

  PetscFunctionBegin;
  PetscCall(MuonLMOInitializePackage());
  PetscCall(PetscFunctionListGet(MuonLMOList, &types, &count));
  TestCheck(count > 0, "No types");
  for (int t = 0; t < count && types[t] != NULL; t++) {
    int k = 0;

    while (k < TEST_NORMS && strcmp(testnorms[k].type, types[t]) != 0) k++;
    TestCheck(k < TEST_NORMS, "The test has no definition of the norm %s", types[t]);
  }
  PetscCall(PetscFree(types));
  PetscFunctionReturn(PETSC_SUCCESS);
}
