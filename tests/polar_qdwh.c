static char help[] = "Halley's iteration with dynamic weights: steps, working accuracy up to condition 1e12, ranks of matrices, many ranks.\n\n";

#include "polar_common.h"
#include "kernels/dense/muonpolarkernels.h"

/* Steps until l is one to ten roundoffs, and those of them with weights that need a QR factorization */
static int Steps(double l, int *qr)
{
  int steps = 0;

  for (*qr = 0; 1.0 - l > 10.0 * 2.220446049250313e-16; steps++) {
    double w[3];

    MuonKernelHalley(l, w, &l);
    if (w[2] > 100.0) (*qr)++;
  }
  return steps;
}

/* What it did: steps, steps by QR, decompositions */
#define COUNT(polar) ((const PetscInt *)(polar)->data)

/*
   The orthogonal factor is one, it is that of G, and where the condition is modest it is the one of the
   decomposition. Of a matrix whose rows are on all ranks it is an isometry of that rank that reaches the nuclear norm
*/
static PetscErrorCode Check(MuonPolar polar, PetscBool spread, double unit, int m, int n, const double *sigma, int rank)
{
  const int s = PetscMin(m, n), l = PetscMax(m, n);
  double   *A, *Q, *U, *V, *W, *tau, most = 0.0, nuclear = 0.0;
  PetscInt  before;
  char      what[64];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%d x %d, rank %d, condition %g", m, n, rank, sigma[0] / sigma[rank - 1]));
  PetscCall(PetscMalloc6(m * n, &A, m * n, &Q, l * s, &U, l * s, &V, l * l, &W, s, &tau));
  for (int j = 0; j < s; j++) tau[j] = j < rank ? sigma[j] : 0.0;
  TestOfValues(m, n, tau, A);
  TestRound(m * n, A);
  before = COUNT(polar)[2];
  PetscCall(TestApplyAs(polar, TEST_MAT, spread ? TEST_EVEN : TEST_ALONE, m, n, 1, A, MUON_STATUS_OK, Q));
  TestNear(what, COUNT(polar)[2] - before, rank < s, 0.0);

  /* Q Q^T Q = Q and the rank, to ten roundoffs for each of the s sums of a product */
  TestMultiply(m, m, n, Q, Q, 1, W);
  TestMultiply(m, n, m, W, Q, 0, U);
  TestMost(what, TestDistance(m * n, U, Q), 10.0 * s * sqrt((double)s) * unit);
  TestNear(what, TestDot(m * n, Q, Q), rank, 20.0 * s * s * unit);
  /* H = G^T Q over the long side is symmetric to the same, positive semidefinite: <G,Q> is the nuclear norm */
  TestSVD(m, n, A, tau, U, V);
  for (int j = 0; j < s; j++) nuclear += tau[j];
  TestNear(what, TestDot(m * n, A, Q), nuclear, (spread ? 40.0 : 20.0) * s * unit * nuclear);
  if (!spread) TestMost(what, TestAsymmetry(m, n, A, Q), 20.0 * s * unit * TestDistance(m * n, A, NULL));
  /*
     A backward error of so many roundoffs of sigma_1 moves the factor by at most twice that over the smallest
     singular value (the sum of the two smallest for square matrices, no less)
  */
  for (int j = 0; j < rank; j++) most = PetscMax(most, tau[0] / tau[j]);
  TestMultiply(m, n, rank, U, V, 1, W);
  if (!spread) TestMost(what, TestDistance(m * n, W, Q), 40.0 * s * unit * most);
  PetscCall(PetscFree6(A, Q, U, V, W, tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Singular values 1 ... 10^-decades, or all but the first so small, or 1, 2, ... */
static void Fill(int s, int decades, int kind, double sigma[])
{
  for (int j = 0; j < s; j++) {
    const double power = kind == 1 ? (j > 0 ? 1.0 : 0.0) : s > 1 ? (double)j / (s - 1) : 0.0;

    sigma[j] = kind == 2 ? 1.0 + j : pow(10.0, -decades * power);
  }
}

static PetscErrorCode CheckWeights(void)
{
  static const double lows[][3] = {{1e-16, 6, 2}, {1e-8, 5, 2}, {1e-3, 4, 1}, {0.9, 3, 0}, {1.0, 0, 0}};
  double              w[3], l;
  int                 qr;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(lows); k++) {
    const int steps = Steps(lows[k][0], &qr);

    TestCheck((k == 3 ? steps <= 3 : steps == (int)lows[k][1]) && qr == (int)lows[k][2], "%d steps, %d by QR from %g", steps, qr, lows[k][0]);
  }
  MuonKernelHalley(1.0, w, &l);
  TestCheck(w[0] == 3.0 && w[1] == 1.0 && w[2] == 3.0 && l == 1.0, "Weights %g %g %g", w[0], w[1], w[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckOne(MuonPolar polar, int m, int n)
{
  const int s = PetscMin(m, n);
  double   *sigma;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(s, &sigma));
  for (int precision = PetscDefined(USE_REAL_SINGLE) ? 0 : 1; precision >= 0; precision--) {
    const double unit = precision == 0 ? ldexp(1.0, -24) : ldexp(1.0, -53);

    PetscCall(TestTune(polar, "precision %s", precision == 0 ? "single" : "double"));
    for (int decades = 0; decades <= (precision == 0 ? 4 : 12); decades += precision == 0 ? 2 : 4) {
      Fill(s, decades, 0, sigma);
      PetscCall(Check(polar, PETSC_FALSE, unit, m, n, sigma, s));
      /* The interval is estimated or guessed from below, never too large by much: no more steps than six */
      TestNear("steps", COUNT(polar)[0], 3.0, 3.0);
      TestNear("steps by QR", COUNT(polar)[1], decades == 12 && s > 1 ? 2.0 : 1.0, decades == 12 && s > 1 ? 0.0 : 1.0);
    }
    /* All but one small, and half of them */
    Fill(s, precision == 0 ? 4 : 9, 1, sigma);
    PetscCall(Check(polar, PETSC_FALSE, unit, m, n, sigma, s));
    Fill(s, 0, 2, sigma);
    if (s > 1) PetscCall(Check(polar, PETSC_FALSE, unit, m, n, sigma, s / 2));
  }
  PetscCall(PetscFree(sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Condition 1, 100 and the largest that working accuracy is promised for, and half of the singular values zero.
   A rank with less than s of the long side has no memory for the QR factorization, and makes more steps
*/
static PetscErrorCode CheckMany(MuonPolar polar)
{
  /* With 3 ranks: parts longer than the short side, shorter, empty, wide and tall */
  static const int shapes[][2] = {{90, 12}, {12, 90}, {24, 24}, {2, 2}, {30, 24}};
  const int        most = PetscDefined(USE_REAL_SINGLE) ? 4 : 12, decades[] = {0, 2, most, most};
  PetscBool        alone = PETSC_FALSE, byqr = PETSC_FALSE;
  PetscMPIInt      size;
  double           sigma[24];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < 4 * PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int       m = shapes[k / 4][0], n = shapes[k / 4][1], s = PetscMin(m, n), l = PetscMax(m, n);
    const PetscBool room = l / size >= s ? PETSC_TRUE : PETSC_FALSE;

    Fill(s, decades[k % 4], 0, sigma);
    PetscCall(Check(polar, PETSC_TRUE, PETSC_MACHINE_EPSILON / 2.0, m, n, sigma, k % 4 == 3 ? s / 2 : s));
    if (k % 4 != 2) continue;
    TestCheck((COUNT(polar)[1] > 0) == room && COUNT(polar)[0] <= (room ? 6 : 16), "%d steps, %d by QR", (int)COUNT(polar)[0], (int)COUNT(polar)[1]);
    if (room) byqr = PETSC_TRUE;
    else alone = PETSC_TRUE;
  }
  TestCheck(byqr && (size == 1 || alone), "Not both ways were taken");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {24, 24}, {16, 40}, {40, 16}, {33, 32}, {30, 200}};
  MuonPolar        polar;
  PetscBool        spread;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-spread", &spread));
  PetscCall(CheckWeights());
  PetscCall(TestMake(spread ? PETSC_COMM_WORLD : PETSC_COMM_SELF, "type qdwh", &polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes) && !spread; k++) PetscCall(CheckOne(polar, shapes[k][0], shapes[k][1]));
  if (spread) PetscCall(CheckMany(polar));
  else PetscCall(MuonPolarView(polar, NULL));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    filter: grep -c decomposition
    output_file: output/polar_qdwh_1.out

  test:
    suffix: spread
    nsize: {{1 3 4}}
    args: -spread

TEST*/
