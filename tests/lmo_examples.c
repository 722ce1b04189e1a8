static char help[] = "Worked examples of linear minimization oracles, extreme magnitudes, ties, and the oracle of an approximate polar factor.\n\n";

#include "lmo_common.h"

/* The minimizer of A, its value and the norm of A, with a relative error of units of roundoff; exponents are 0 where they are the type's own */
typedef struct {
  const char   *what, *type;
  double        p, q;
  int           m, n;
  const double *A, *D;
  double        dual, norm, units;
} Example;

static PetscErrorCode Expect(MuonLMO lmo, const Example *e, int power)
{
  const double bound = e->units * PETSC_MACHINE_EPSILON;
  TestInput    G, D;
  PetscReal    value, norm, dual;
  double       A[16], d[16];

  PetscFunctionBeginUser;
  for (int i = 0; i < e->m * e->n; i++) A[i] = ldexp(e->A[i], power);
  PetscCall(TestCreate(TEST_MAT, TEST_ALONE, e->m, e->n, 1, A, &G));
  PetscCall(TestCreate(TEST_MAT, TEST_ALONE, e->m, e->n, 0, NULL, &D));
  PetscCall(MuonLMOApply(lmo, G.mat, D.mat, &value, NULL));
  PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_OK, e->what));
  PetscCall(TestGet(&D, d));
  TestMost(e->what, TestDistance(e->m * e->n, d, e->D), bound);
  TestNear(e->what, value, ldexp(e->dual, power), bound * ldexp(e->dual, power));
  PetscCall(TestInputNorms(lmo, &G, &norm, &dual));
  TestNear(e->what, norm, ldexp(e->norm, power), bound * ldexp(e->norm, power));
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a table; those that are scaled again with entries as small and as large as numbers get */
static PetscErrorCode Examples(MuonLMO lmo, int scaled, int count, const Example row[])
{
  PetscFunctionBeginUser;
  for (int k = 0; k < count; k++) {
    PetscCall(MuonLMOSetType(lmo, row[k].type));
    if (row[k].p > 0) PetscCall(TestSetExponents(lmo, row[k].p, row[k].q));
    PetscCall(Expect(lmo, &row[k], 0));
    if (scaled) PetscCall(Expect(lmo, &row[k], PetscDefined(USE_REAL_SINGLE) ? -125 : -1020));
    if (scaled) PetscCall(Expect(lmo, &row[k], PetscDefined(USE_REAL_SINGLE) ? 120 : 1015));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column-major, as everything here: A = [[3,0],[4,0],[0,2]] of section 8, with singular values 5 and 2 */
static const double A[6] = {3, 4, 0, 0, 0, 2};

static PetscErrorCode Worked(MuonLMO lmo)
{
  const double root = sqrt(29.0), max[6] = {-1, -1, 0, 0, 0, -1}, l1[6] = {0, -1, 0, 0, 0, 0}, colsum[6] = {0, -1, 0, 0, 0, -1}, column[6] = {-0.6, -0.8, 0, 0, 0, -1}, l21[6] = {-0.6, -0.8, 0, 0, 0, 0};
  const double frobenius[6] = {-3 / root, -4 / root, 0, 0, 0, -2 / root};
  /*
     mixed with p = 3 and q = 3/2: p* = 3/2, q* = 3; c = ((27^(1/2) + 64^(1/2))^(2/3), 2), C = (c_0^3 + 8)^(1/3); weights (c/C)^2, entries (g/c)^(1/2)
  */
  const double c = pow(sqrt(27.0) + 8.0, 2.0 / 3.0), C = cbrt(c * c * c + 8.0), d0 = (c / C) * (c / C), d1 = (2 / C) * (2 / C);
  const double mixed[6] = {-d0 * sqrt(3 / c), -d0 * sqrt(4 / c), 0, 0, 0, -d1};
  /* p = 1000 and q = 1 to some: columns are nearly signs over 2^(1/1000), the first has c = (3^(p*) + 4^(p*))^(1/p*) with p* = 1000/999 */
  const double p = 1000.0 / 999.0, big = pow(pow(3, p) + pow(4, p), 1 / p), high[6] = {-pow(3 / big, 1.0 / 999.0), -pow(4 / big, 1.0 / 999.0), 0, 0, 0, 0};
  /* Schatten with p = 3: p* = 3/2, weights (sigma/C)^(1/2) with C = (5^(3/2) + 2^(3/2))^(2/3); the left vectors are (0.6, 0.8, 0) and (0, 0, 1) */
  const double  S = pow(pow(5, 1.5) + pow(2, 1.5), 2.0 / 3.0), w = sqrt(5 / S), schatten[6] = {-0.6 * w, -0.8 * w, 0, 0, 0, -sqrt(2 / S)};
  const Example rows[] = {{"max", MUONLMOMAX, 0, 0, 3, 2, A, max, 9, 4, 0},
                          {"l1", MUONLMOL1, 0, 0, 3, 2, A, l1, 4, 9, 0},
                          {"1->1", MUONLMOCOLSUM, 0, 0, 3, 2, A, colsum, 6, 7, 0},
                          {"inf->inf", MUONLMOROWSUM, 0, 0, 3, 2, A, max, 9, 4, 0}, /* the example has one entry in each row */
                          {"1->2", MUONLMOCOLUMN, 0, 0, 3, 2, A, column, 7, 5, 4},
                          {"2->inf", MUONLMOROW, 0, 0, 3, 2, A, max, 9, 4, 4},
                          {"l21", MUONLMOL21, 0, 0, 3, 2, A, l21, 5, 7, 4},
                          {"Frobenius", MUONLMOFROBENIUS, 0, 0, 3, 2, A, frobenius, root, root, 4},
                          {"nuclear", MUONLMONUCLEAR, 0, 0, 3, 2, A, l21, 5, 7, 50},
                          {"Schatten, as it is", MUONLMOSCHATTEN, 0, 0, 3, 2, A, frobenius, root, root, 4},
                          {"Schatten 3", MUONLMOSCHATTEN, 3, 0, 3, 2, A, schatten, S, cbrt(133.0), 50},
                          {"mixed, as it is", MUONLMOMIXED, 0, 0, 3, 2, A, frobenius, root, root, 4},
                          {"mixed 3, 3/2", MUONLMOMIXED, 3, 1.5, 3, 2, A, mixed, C, pow(pow(91.0, 0.5) + pow(2, 1.5), 2.0 / 3.0), 20},
                          {"mixed 1000, 1", MUONLMOMIXED, 1000, 1, 3, 2, A, high, big, 6, 20}};

  PetscFunctionBeginUser;
  PetscCall(Examples(lmo, 1, (int)PETSC_STATIC_ARRAY_LENGTH(rows), rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns of a size of their own: those of other sizes neither drown them nor overflow */
static PetscErrorCode Ranges(MuonLMO lmo)
{
  const int e = PetscDefined(USE_REAL_SINGLE) ? 100 : 1000, low = PetscDefined(USE_REAL_SINGLE) ? -140 : -1060;
  /* [[3 2^e, 4 2^e], [3 2^-e, 4 2^-e], [0, 0]] and its transpose, which is 2 x 3; 2^low is denormal, where nothing is left of its square */
  const double  rows[6] = {ldexp(3, e), ldexp(3, -e), 0, ldexp(4, e), ldexp(4, -e), 0}, columns[6] = {ldexp(3, e), ldexp(4, e), ldexp(3, -e), ldexp(4, -e), 0, 0}, large = ldexp(5, e);
  const double  rowed[6] = {-0.6, -0.6, 0, -0.8, -0.8, 0}, columned[6] = {-0.6, -0.8, -0.6, -0.8, 0, 0}, first[6] = {-0.6, -0.8, 0, 0, 0, 0};
  const double  tiny[6]    = {ldexp(3, low), ldexp(4, low), 0, 0, 0, 0};
  const Example examples[] = {{"row of two sizes", MUONLMOROW, 0, 0, 3, 2, rows, rowed, large, large, 4},
                              {"column of two sizes", MUONLMOCOLUMN, 0, 0, 2, 3, columns, columned, large, large, 4},
                              {"column of denormal numbers", MUONLMOCOLUMN, 0, 0, 2, 3, tiny, first, ldexp(5, low), ldexp(5, low), 4},
                              {"l21 of two sizes", MUONLMOL21, 0, 0, 2, 3, columns, first, large, large, 4},
                              {"mixed 2, inf of two sizes", MUONLMOMIXED, 2, INFINITY, 2, 3, columns, columned, large, large, 4}};

  PetscFunctionBeginUser;
  PetscCall(Examples(lmo, 0, (int)PETSC_STATIC_ARRAY_LENGTH(examples), examples));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dual norm that no number holds: the minimizer is what it is, the norm and the sharp operator have a status */
static PetscErrorCode Overflow(MuonLMO lmo)
{
  const int    e    = PetscDefined(USE_REAL_SINGLE) ? 125 : 1021;
  const double a[4] = {ldexp(3, e), ldexp(4, e), ldexp(4, e), ldexp(3, e)}, expected[4] = {-0.6, -0.8, -0.8, -0.6};
  double       d[4];
  TestInput    G, D;
  PetscReal    norm, dual;

  PetscFunctionBeginUser;
  PetscCall(MuonLMOSetType(lmo, MUONLMOCOLUMN));
  PetscCall(TestCreate(TEST_MAT, TEST_ALONE, 2, 2, 1, a, &G));
  PetscCall(TestCreate(TEST_MAT, TEST_ALONE, 2, 2, 0, NULL, &D));
  PetscCall(TestInputApply(lmo, 0, &G, &D));
  PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_OK, "the minimizer"));
  PetscCall(TestInputNorms(lmo, &G, &norm, &dual));
  PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_NANORINF, "the dual norm"));
  PetscCall(TestInputApply(lmo, 1, &G, &D));
  PetscCall(TestStatus(PETSC_COMM_SELF, lmo->status, MUON_STATUS_NANORINF, "the sharp operator"));
  PetscCall(TestGet(&D, d));
  TestCheck(PetscIsNanReal(dual), "The dual norm is %g", (double)dual);
  TestMost("overflow", TestDistance(4, d, expected), 4.0 * PETSC_MACHINE_EPSILON);
  PetscCall(TestDestroy(&G));
  PetscCall(TestDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of equals the first in the order of the memory, in the matrix for a single entry, in the row or the column
   for one of each. An exponent one rounding above 1 is not 1: the conjugate is 2^52 or so, and the largest of unequal
   entries alone is left; and one whose conjugate rounds to 1 is infinity
*/
static PetscErrorCode Ties(MuonLMO lmo)
{
  /* [[1, -2, 0], [2, 2, 0], [-2, 1, 0]] */
  const double  T[9] = {1, 2, -2, -2, 2, 1, 0, 0, 0}, l1[9] = {0, -1, 0, 0, 0, 0, 0, 0, 0}, colsum[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0}, rowsum[9] = {0, -1, 1, 1, 0, 0, 0, 0, 0}, l21[9] = {-1.0 / 3, -2.0 / 3, 2.0 / 3, 0, 0, 0, 0, 0, 0};
  const double  zero[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, signs[9] = {-1, -1, 1, 0, 0, 0, 0, 0, 0}, near = (double)(PetscReal)(1.0 + PETSC_MACHINE_EPSILON);
  const Example rows[] = {{"l1 with ties", MUONLMOL1, 0, 0, 3, 3, T, l1, 2, 10, 0},
                          {"l1 of zero", MUONLMOL1, 0, 0, 3, 3, zero, zero, 0, 0, 0},
                          {"1->1 with ties", MUONLMOCOLSUM, 0, 0, 3, 3, T, colsum, 4, 5, 0},
                          {"inf->inf with ties", MUONLMOROWSUM, 0, 0, 3, 3, T, rowsum, 6, 4, 0},
                          {"l21 with ties", MUONLMOL21, 0, 0, 3, 3, T, l21, 3, 6, 4},
                          {"mixed 1, 1 with ties", MUONLMOMIXED, 1, 1, 3, 3, T, l1, 2, 10, 0},
                          {"mixed 1, inf with ties", MUONLMOMIXED, 1, INFINITY, 3, 3, T, colsum, 4, 5, 0},
                          {"mixed 2, 1 with ties", MUONLMOMIXED, 2, 1, 3, 3, T, l21, 3, 6, 4},
                          {"mixed inf, 1 with ties", MUONLMOMIXED, INFINITY, 1, 3, 3, T, signs, 5, 4, 0},
                          {"mixed near 1, 1", MUONLMOMIXED, near, 1, 3, 2, A, l1, 4, 9, 16},
                          {"mixed 1e30, 1", MUONLMOMIXED, 1e30, 1, 3, 3, T, signs, 5, 4, 16}};

  PetscFunctionBeginUser;
  PetscCall(Examples(lmo, 0, (int)PETSC_STATIC_ARRAY_LENGTH(rows), rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing in, nothing out */
static PetscErrorCode Empty(MuonLMO lmo)
{
  const int    shapes[][2] = {{0, 0}, {0, 4}, {4, 0}};
  const char **types;
  int          count;

  PetscFunctionBeginUser;
  PetscCall(PetscFunctionListGet(MuonLMOList, &types, &count));
  for (int t = 0; t < 3 * count && types[t / 3] != NULL; t++) {
    const Example e = {types[t / 3], types[t / 3], strcmp(types[t / 3], MUONLMOSCHATTEN) == 0 ? 3.0 : 0.0, 0, shapes[t % 3][0], shapes[t % 3][1], A, A, 0, 0, 0};

    PetscCall(Examples(lmo, 0, 1, &e));
  }
  PetscCall(PetscFree(types));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const double  spectral[6] = {-0.6, -0.8, 0, 0, 0, -1}, diagonal[4] = {3, 0, 0, -4}, kj[4] = {-0.7228761686, 0, 0, 1.1192039299}, step[4] = {0, -4, 2, 0}, stepped[4] = {0, 1, -1, 0};
  const Example exact[] = {{"spectral", MUONLMOSPECTRAL, 0, 0, 3, 2, A, spectral, 7, 5, 50}, {"first step of example A", MUONLMOSPECTRAL, 0, 0, 2, 2, step, stepped, 6, 4, 50}};
  /* KJ's coefficients leave the ball; -<G,D> is their own value for the dual norm, 7 */
  const Example leaves = {"spectral with KJ", MUONLMOSPECTRAL, 0, 0, 2, 2, diagonal, kj, 3 * 0.7228761686 + 4 * 1.1192039299, 4, 2000 + 1e-9 / PETSC_MACHINE_EPSILON};
  MuonLMO       lmo;
  MuonPolar     polar;
  MuonWorkspace work;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  /* One arena for the oracle, its polar factor and its norms, ours to destroy first */
  PetscCall(MuonWorkspaceCreate(&work));
  PetscCall(MuonLMOSetWorkspace(lmo, work));
  PetscCall(MuonWorkspaceDestroy(&work));
  PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(Examples(lmo, 0, 2, exact));
  PetscCall(Worked(lmo));
  PetscCall(Ranges(lmo));
  PetscCall(Overflow(lmo));
  PetscCall(Ties(lmo));
  PetscCall(Empty(lmo));
  PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(TestTune(polar, "type newtonschulz precision double"));
  PetscCall(Examples(lmo, 0, 1, &leaves));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:

TEST*/
