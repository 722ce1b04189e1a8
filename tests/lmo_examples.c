static char help[] = "Worked examples of linear minimization oracles, extreme magnitudes, ties, norms of two names, and the oracle of an approximate polar factor.\n\n";

#include "polar_common.h"
#include <petscmuon/private/muonlmoimpl.h>

static PetscErrorCode Expect(const char what[], MuonLMO lmo, int m, int n, const double *A, const double *expected, double dual, double norm, double bound)
{
  Mat        G, D;
  MuonStatus status;
  PetscReal  last, computed;
  double     d[16];

  PetscFunctionBeginUser;
  PetscCall(TestMat(m, n, 1, A, &G));
  PetscCall(TestMat(m, n, 0, NULL, &D));
  PetscCall(MuonLMOApply(lmo, G, D, &last, &status));
  PetscCall(TestMatGet(D, d));
  PetscCheck(status == MUON_STATUS_OK && TestDistance(m * n, d, expected) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: status %d, error %g, bound %g", what, (int)status, TestDistance(m * n, d, expected), bound);
  PetscCheck(fabs((double)last - dual) <= bound * dual, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: -<G,D> is %.16g, expected %.16g", what, (double)last, dual);
  PetscCall(MuonLMOComputeNorm(lmo, G, &computed));
  PetscCheck(fabs((double)computed - norm) <= bound * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: norm %.16g, expected %.16g", what, (double)computed, norm);
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column-major, as everything here: A = [[3,0],[4,0],[0,2]] of section 8, with singular values 5 and 2 */
static const double A[6] = {3, 4, 0, 0, 0, 2};

/*
   The minimizer, its value and the norm, and the same where every entry is as small or as large as numbers
   get
*/
static PetscErrorCode ExpectScaled(const char what[], MuonLMO lmo, const double *expected, double dual, double norm, double bound)
{
  const int extremes[2] = {PetscDefined(USE_REAL_SINGLE) ? -125 : -1020, PetscDefined(USE_REAL_SINGLE) ? 120 : 1015};
  double    B[6];

  PetscFunctionBeginUser;
  PetscCall(Expect(what, lmo, 3, 2, A, expected, dual, norm, bound));
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 6; i++) B[i] = ldexp(A[i], extremes[k]);
    PetscCall(Expect(what, lmo, 3, 2, B, expected, ldexp(dual, extremes[k]), ldexp(norm, extremes[k]), bound));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Examples(MuonLMO lmo)
{
  const double eps = PETSC_MACHINE_EPSILON, root = sqrt(29.0);
  const double max[6] = {-1, -1, 0, 0, 0, -1}, l1[6] = {0, -1, 0, 0, 0, 0}, colsum[6] = {0, -1, 0, 0, 0, -1}, column[6] = {-0.6, -0.8, 0, 0, 0, -1}, l21[6] = {-0.6, -0.8, 0, 0, 0, 0};
  const double frobenius[6] = {-3 / root, -4 / root, 0, 0, 0, -2 / root};
  /*
     mixed with p = 3 and q = 3/2: p* = 3/2, q* = 3; c = ((27^(1/2) + 64^(1/2))^(2/3), 2), C = (c_0^3 +
     8)^(1/3); weights (c/C)^2, entries (g/c)^(1/2)
  */
  const double c = pow(sqrt(27.0) + 8.0, 2.0 / 3.0), C = cbrt(c * c * c + 8.0), d0 = (c / C) * (c / C), d1 = (2 / C) * (2 / C);
  const double mixed[6] = {-d0 * sqrt(3 / c), -d0 * sqrt(4 / c), 0, 0, 0, -d1};
  /*
     p = 1000 and q = 1 to some: columns are nearly signs over 2^(1/1000), the first has c = (3^(p*) +
     4^(p*))^(1/p*) with p* = 1000/999
  */
  const double p = 1000.0 / 999.0, big = pow(pow(3, p) + pow(4, p), 1 / p), high[6] = {-pow(3 / big, 1.0 / 999.0), -pow(4 / big, 1.0 / 999.0), 0, 0, 0, 0};
  /*
     Schatten with p = 3: p* = 3/2, weights (sigma/C)^(1/2) with C = (5^(3/2) + 2^(3/2))^(2/3); the left
     vectors are (0.6, 0.8, 0) and (0, 0, 1)
  */
  const double S = pow(pow(5, 1.5) + pow(2, 1.5), 2.0 / 3.0), w = sqrt(5 / S), schatten[6] = {-0.6 * w, -0.8 * w, 0, 0, 0, -sqrt(2 / S)};

  PetscFunctionBeginUser;
  PetscCall(MuonLMOSetType(lmo, MUONLMOMAX));
  PetscCall(ExpectScaled("max", lmo, max, 9.0, 4.0, 0.0));
  PetscCall(MuonLMOSetType(lmo, MUONLMOL1));
  PetscCall(ExpectScaled("l1", lmo, l1, 4.0, 9.0, 0.0));
  PetscCall(MuonLMOSetType(lmo, MUONLMOCOLSUM));
  PetscCall(ExpectScaled("1->1", lmo, colsum, 6.0, 7.0, 0.0));
  PetscCall(MuonLMOSetType(lmo, MUONLMOROWSUM));
  PetscCall(ExpectScaled("inf->inf", lmo, max, 9.0, 4.0, 0.0)); /* the example has one entry in each row */
  PetscCall(MuonLMOSetType(lmo, MUONLMOCOLUMN));
  PetscCall(ExpectScaled("1->2", lmo, column, 7.0, 5.0, 4.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMOROW));
  PetscCall(ExpectScaled("2->inf", lmo, max, 9.0, 4.0, 4.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMOL21));
  PetscCall(ExpectScaled("l21", lmo, l21, 5.0, 7.0, 4.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMOFROBENIUS));
  PetscCall(ExpectScaled("Frobenius", lmo, frobenius, root, root, 4.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMONUCLEAR));
  PetscCall(ExpectScaled("nuclear", lmo, l21, 5.0, 7.0, 50.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMOSCHATTEN));
  PetscCall(ExpectScaled("Schatten, as it is", lmo, frobenius, root, root, 4.0 * eps));
  PetscCall(TestSetSchatten(lmo, 3.0));
  PetscCall(ExpectScaled("Schatten 3", lmo, schatten, S, cbrt(133.0), 50.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMOMIXED));
  PetscCall(ExpectScaled("mixed, as it is", lmo, frobenius, root, root, 4.0 * eps));
  PetscCall(TestSetMixed(lmo, 3.0, 1.5));
  PetscCall(ExpectScaled("mixed 3, 3/2", lmo, mixed, C, pow(pow(91.0, 0.5) + pow(2, 1.5), 2.0 / 3.0), 20.0 * eps));
  PetscCall(TestSetMixed(lmo, 1000.0, 1.0));
  PetscCall(ExpectScaled("mixed 1000, 1", lmo, high, big, 6.0, 20.0 * eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns of a size of their own: those of other sizes neither drown them nor overflow */
static PetscErrorCode Ranges(MuonLMO lmo)
{
  const double eps = PETSC_MACHINE_EPSILON;
  const int    e = PetscDefined(USE_REAL_SINGLE) ? 100 : 1000, low = PetscDefined(USE_REAL_SINGLE) ? -140 : -1060;
  /*
     [[3 2^e, 4 2^e], [3 2^-e, 4 2^-e], [0, 0]] and its transpose, which is 2 x 3; 2^low is denormal, where
     nothing is left of its square
  */
  const double rows[6] = {ldexp(3, e), ldexp(3, -e), 0, ldexp(4, e), ldexp(4, -e), 0}, columns[6] = {ldexp(3, e), ldexp(4, e), ldexp(3, -e), ldexp(4, -e), 0, 0};
  const double rowed[6] = {-0.6, -0.6, 0, -0.8, -0.8, 0}, columned[6] = {-0.6, -0.8, -0.6, -0.8, 0, 0}, first[6] = {-0.6, -0.8, 0, 0, 0, 0};
  const double tiny[6] = {ldexp(3, low), ldexp(4, low), 0, 0, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(MuonLMOSetType(lmo, MUONLMOROW));
  PetscCall(Expect("row of two sizes", lmo, 3, 2, rows, rowed, ldexp(5, e), ldexp(5, e), 4.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMOCOLUMN));
  PetscCall(Expect("column of two sizes", lmo, 2, 3, columns, columned, ldexp(5, e), ldexp(5, e), 4.0 * eps));
  PetscCall(Expect("column of denormal numbers", lmo, 2, 3, tiny, first, ldexp(5, low), ldexp(5, low), 4.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMOL21));
  PetscCall(Expect("l21 of two sizes", lmo, 2, 3, columns, first, ldexp(5, e), ldexp(5, e), 4.0 * eps));
  PetscCall(MuonLMOSetType(lmo, MUONLMOMIXED));
  PetscCall(TestSetMixed(lmo, 2.0, PETSC_INFINITY));
  PetscCall(Expect("mixed 2, inf of two sizes", lmo, 2, 3, columns, columned, ldexp(5, e), ldexp(5, e), 4.0 * eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A dual norm that no number holds: the minimizer is what it is, the norm and the sharp operator have a
   status
*/
static PetscErrorCode Overflow(MuonLMO lmo)
{
  const int    e    = PetscDefined(USE_REAL_SINGLE) ? 125 : 1021;
  const double G[4] = {ldexp(3, e), ldexp(4, e), ldexp(4, e), ldexp(3, e)}, expected[4] = {-0.6, -0.8, -0.8, -0.6};
  double       d[4];
  Mat          M, D;
  MuonStatus   status[3];
  PetscReal    dual;

  PetscFunctionBeginUser;
  PetscCall(MuonLMOSetType(lmo, MUONLMOCOLUMN));
  PetscCall(TestMat(2, 2, 1, G, &M));
  PetscCall(TestMat(2, 2, 0, NULL, &D));
  PetscCall(MuonLMOApply(lmo, M, D, NULL, &status[0]));
  PetscCall(MuonLMOComputeDualNorm(lmo, M, &dual));
  status[1] = lmo->status;
  PetscCall(TestSharp(lmo, M, D));
  status[2] = lmo->status;
  PetscCall(TestMatGet(D, d));
  PetscCheck(status[0] == MUON_STATUS_OK && status[1] == MUON_STATUS_NANORINF && status[2] == MUON_STATUS_NANORINF, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Overflow: statuses %d %d %d", (int)status[0], (int)status[1], (int)status[2]);
  PetscCheck(PetscIsNanReal(dual) && TestDistance(4, d, expected) <= 4.0 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Overflow: dual norm %g, error %g", (double)dual, TestDistance(4, d, expected));
  PetscCall(TestMatDestroy(&M));
  PetscCall(TestMatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of equals the first in the order of the memory, in the matrix for a single entry, in the row or the column
   for one of each
*/
static PetscErrorCode Ties(MuonLMO lmo)
{
  /* [[1, -2, 0], [2, 2, 0], [-2, 1, 0]] */
  const double T[9] = {1, 2, -2, -2, 2, 1, 0, 0, 0}, l1[9] = {0, -1, 0, 0, 0, 0, 0, 0, 0}, colsum[9] = {0, -1, 0, 1, 0, 0, 0, 0, 0}, rowsum[9] = {0, -1, 1, 1, 0, 0, 0, 0, 0}, l21[9] = {-1.0 / 3, -2.0 / 3, 2.0 / 3, 0, 0, 0, 0, 0, 0};
  const double zero[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, first[9] = {0, -1, 0, 0, 0, 0, 0, 0, 0}, signs[9] = {-1, -1, 1, 0, 0, 0, 0, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(MuonLMOSetType(lmo, MUONLMOL1));
  PetscCall(Expect("l1 with ties", lmo, 3, 3, T, l1, 2.0, 10.0, 0.0));
  PetscCall(Expect("l1 of zero", lmo, 3, 3, zero, zero, 0.0, 0.0, 0.0));
  PetscCall(MuonLMOSetType(lmo, MUONLMOCOLSUM));
  PetscCall(Expect("1->1 with ties", lmo, 3, 3, T, colsum, 4.0, 5.0, 0.0));
  PetscCall(MuonLMOSetType(lmo, MUONLMOROWSUM));
  PetscCall(Expect("inf->inf with ties", lmo, 3, 3, T, rowsum, 6.0, 4.0, 0.0));
  PetscCall(MuonLMOSetType(lmo, MUONLMOL21));
  PetscCall(Expect("l21 with ties", lmo, 3, 3, T, l21, 3.0, 6.0, 4.0 * PETSC_MACHINE_EPSILON));
  PetscCall(MuonLMOSetType(lmo, MUONLMOMIXED));
  PetscCall(TestSetMixed(lmo, 1.0, 1.0));
  PetscCall(Expect("mixed 1, 1 with ties", lmo, 3, 3, T, l1, 2.0, 10.0, 0.0));
  PetscCall(TestSetMixed(lmo, 1.0, PETSC_INFINITY));
  PetscCall(Expect("mixed 1, inf with ties", lmo, 3, 3, T, colsum, 4.0, 5.0, 0.0));
  PetscCall(TestSetMixed(lmo, 2.0, 1.0));
  PetscCall(Expect("mixed 2, 1 with ties", lmo, 3, 3, T, l21, 3.0, 6.0, 4.0 * PETSC_MACHINE_EPSILON));
  PetscCall(TestSetMixed(lmo, PETSC_INFINITY, 1.0));
  PetscCall(Expect("mixed inf, 1 with ties", lmo, 3, 3, T, signs, 5.0, 4.0, 0.0));
  /*
     An exponent one rounding above 1 is not 1: the conjugate is 2^52 or so, and the largest of unequal
     entries alone is left
  */
  PetscCall(TestSetMixed(lmo, (PetscReal)(1.0 + PETSC_MACHINE_EPSILON), 1.0));
  PetscCall(Expect("mixed near 1, 1", lmo, 3, 2, A, first, 4.0, 9.0, 16.0 * PETSC_MACHINE_EPSILON));
  /* and one whose conjugate rounds to 1 is infinity */
  PetscCall(TestSetMixed(lmo, (PetscReal)1e30, 1.0));
  PetscCall(Expect("mixed 1e30, 1", lmo, 3, 3, T, signs, 5.0, 4.0, 16.0 * PETSC_MACHINE_EPSILON));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many ties in columns longer than what the kernels take at once, against the simplest search there is */
static PetscErrorCode LongTies(MuonLMO lmo)
{
  const MuonLMOType types[] = {MUONLMOL1, MUONLMOCOLSUM, MUONLMOROWSUM};
  const int         m = 2100, n = 3;
  double           *X, *E, *Y;
  Mat               G, D;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc3(m * n, &X, m * n, &E, m * n, &Y));
  /* The largest of a column is 2, first in row 63 + 64 j, where a group of 64 ends, and in others later */
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) X[i + j * m] = i < 63 + 64 * j ? (i + j) % 3 - 1 : (i + j) % 5 - 2;
    X[63 + 64 * j + j * m] = -2.0;
  }
  PetscCall(TestMat(m, n, 1, X, &G));
  PetscCall(TestMat(m, n, 0, NULL, &D));
  for (int t = 0; t < 3; t++) {
    int first = 0;

    for (int e = 0; e < m * n; e++) {
      E[e] = 0.0;
      if (fabs(X[e]) > fabs(X[first])) first = e;
    }
    for (int i = 0; i < m; i++) {
      int best = 0;

      for (int j = 0; j < n; j++) {
        if (fabs(X[i + j * m]) > fabs(X[i + best * m])) best = j;
      }
      if (t == 2) E[i + best * m] = X[i + best * m] > 0.0 ? -1.0 : (X[i + best * m] < 0.0 ? 1.0 : 0.0);
    }
    if (t == 0) E[first] = X[first] > 0.0 ? -1.0 : 1.0;
    for (int j = 0; j < n && t == 1; j++) {
      int best = 0;

      for (int i = 0; i < m; i++) {
        if (fabs(X[i + j * m]) > fabs(X[best + j * m])) best = i;
      }
      E[best + j * m] = X[best + j * m] > 0.0 ? -1.0 : 1.0;
    }
    PetscCall(MuonLMOSetType(lmo, types[t]));
    PetscCall(MuonLMOApply(lmo, G, D, NULL, NULL));
    PetscCall(TestMatGet(D, Y));
    PetscCheck(TestDistance(m * n, E, Y) == 0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %d x %d with ties: off by %g", types[t], m, n, TestDistance(m * n, E, Y));
  }
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&D));
  PetscCall(PetscFree3(X, E, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two names of one norm, on a matrix without structure */
static PetscErrorCode Same(MuonLMO lmo, MuonLMOType type, const char general[], PetscReal p, PetscReal q)
{
  const int    m = 12, n = 9;
  const double bound = 200.0 * PETSC_MACHINE_EPSILON;
  double       G[108], X[108], Y[108];
  PetscReal    norm[2], dual[2];
  Mat          M, D;

  PetscFunctionBeginUser;
  TestMatrix(m, n, TEST_GAUSSIAN, G);
  PetscCall(TestMat(m, n, 1, G, &M));
  PetscCall(TestMat(m, n, 0, NULL, &D));
  for (int k = 0; k < 2; k++) {
    PetscCall(MuonLMOSetType(lmo, k == 0 ? type : general));
    PetscCall(TestSetMixed(lmo, p, q)); /* ignored by the other types */
    PetscCall(TestSetSchatten(lmo, p));
    PetscCall(MuonLMOApply(lmo, M, D, NULL, NULL));
    PetscCall(TestMatGet(D, k == 0 ? X : Y));
    PetscCall(MuonLMOComputeNorm(lmo, M, &norm[k]));
    PetscCall(MuonLMOComputeDualNorm(lmo, M, &dual[k]));
  }
  PetscCheck(TestDistance(m * n, X, Y) <= bound * TestDistance(m * n, X, NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s and %s %g %g: minimizers differ by %g", type, general, (double)p, (double)q, TestDistance(m * n, X, Y));
  PetscCheck(PetscAbsReal(norm[0] - norm[1]) <= bound * norm[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s and %s %g %g: norms %.16g and %.16g", type, general, (double)p, (double)q, (double)norm[0], (double)norm[1]);
  PetscCheck(PetscAbsReal(dual[0] - dual[1]) <= bound * dual[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s and %s %g %g: dual norms %.16g and %.16g", type, general, (double)p, (double)q, (double)dual[0], (double)dual[1]);
  PetscCall(TestMatDestroy(&M));
  PetscCall(TestMatDestroy(&D));
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
  for (int t = 0; t < count && types[t] != NULL; t++) {
    PetscCall(MuonLMOSetType(lmo, types[t]));
    PetscCall(TestSetSchatten(lmo, 3.0));
    for (int k = 0; k < 3; k++) PetscCall(Expect(types[t], lmo, shapes[k][0], shapes[k][1], A, A, 0.0, 0.0, 0.0));
  }
  PetscCall(PetscFree(types));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const double  eps         = PETSC_MACHINE_EPSILON;
  const double  spectral[6] = {-0.6, -0.8, 0, 0, 0, -1};
  const double  diagonal[4] = {3, 0, 0, -4}, kj[4] = {-0.7228761686, 0, 0, 1.1192039299};
  const double  step[4] = {0, -4, 2, 0}, stepped[4] = {0, 1, -1, 0};
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
  PetscCall(Expect("spectral", lmo, 3, 2, A, spectral, 7.0, 5.0, 50.0 * eps));
  PetscCall(Expect("first step of example A", lmo, 2, 2, step, stepped, 6.0, 4.0, 50.0 * eps));
  PetscCall(Examples(lmo));
  PetscCall(Ranges(lmo));
  PetscCall(Overflow(lmo));
  PetscCall(Ties(lmo));
  PetscCall(LongTies(lmo));
  PetscCall(Empty(lmo));
  PetscCall(Same(lmo, MUONLMOFROBENIUS, MUONLMOMIXED, 2.0, 2.0));
  PetscCall(Same(lmo, MUONLMOFROBENIUS, MUONLMOSCHATTEN, 2.0, 2.0));
  PetscCall(Same(lmo, MUONLMONUCLEAR, MUONLMOSCHATTEN, 1.0, 1.0));
  PetscCall(Same(lmo, MUONLMOSPECTRAL, MUONLMOSCHATTEN, PETSC_INFINITY, 1.0));
  PetscCall(Same(lmo, MUONLMOMAX, MUONLMOMIXED, PETSC_INFINITY, PETSC_INFINITY));
  PetscCall(Same(lmo, MUONLMOL1, MUONLMOMIXED, 1.0, 1.0));
  PetscCall(Same(lmo, MUONLMOCOLUMN, MUONLMOMIXED, 2.0, PETSC_INFINITY));
  PetscCall(Same(lmo, MUONLMOCOLSUM, MUONLMOMIXED, 1.0, PETSC_INFINITY));
  PetscCall(Same(lmo, MUONLMOL21, MUONLMOMIXED, 2.0, 1.0));
  /* KJ's coefficients leave the ball; -<G,D> is their own value for the dual norm, 7 */
  PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(TestSetPrecision(polar, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(Expect("spectral with KJ", lmo, 2, 2, diagonal, kj, 3 * 0.7228761686 + 4 * 1.1192039299, 4.0, 1e-9 + 2000.0 * eps));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  test:

TEST*/
