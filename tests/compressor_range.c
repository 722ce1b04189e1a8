static char help[] = "The range finder of rankk: projections that capture nearly what the best do, flat spectra, small ranks, matrices of any size, and its random numbers.\n";

#include "compressor_common.h"

static PetscErrorCode Create(const char method[], PetscInt rank, MuonCompressor *c)
{
  const TestChoice choice = {MUONCOMPRESSORRANKK, 0.1, rank, MUON_COMPRESSOR_VALUES_NATIVE, 0};

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, c));
  PetscCall(MuonObjectSetParameter((PetscObject)*c, "compressor_rankk_method", method));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = C(X), X - C(X) squared, and the columns of the message */
static PetscErrorCode Send(MuonCompressor c, Mat X, Mat Y, PetscReal *rest, PetscInt *rank)
{
  unsigned char *buf;
  size_t         bytes;
  Mat            E;
  PetscInt       m, n;

  PetscFunctionBegin;
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  TestCheck(bytes > 0, "No message");
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
  *rank = buf[6];
  PetscCall(PetscFree(buf));
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(TestMatCreate(m, n, 0, &E));
  PetscCall(TestMatAxpby(1.0, X, 0.0, E));
  PetscCall(TestMatAxpby(-1.0, Y, 1.0, E));
  PetscCall(TestMatSquares(E, rest));
  PetscCall(TestMatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is sent is a projection of X: ||X - C||^2 = ||X||^2 - ||C||^2, which is no less than what is left of
   the best of that rank, and at least .95 of the square of that is sent. A matrix of that rank comes over but for
   rounding
*/
static PetscErrorCode CheckShare(PetscInt m, PetscInt n, PetscInt rank, PetscInt of, PetscInt decay, unsigned long long *state)
{
  const PetscReal slack = 40 * PetscMax(m, n) * PETSC_MACHINE_EPSILON;
  MuonCompressor  c, best;
  Mat             A, B, X, Y;
  PetscReal       all = 0, kept = 0, rest = 0, least = 0;
  PetscInt        sent, columns;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, of, 0, &A));
  PetscCall(TestMatCreate(of, n, 0, &B));
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatNormal(A, 1.0, state));
  PetscCall(TestMatNormal(B, 1.0, state));
  if (of == PetscMin(m, n)) PetscCall(TestMatNormal(X, 1.0, state));
  else {
    Mat D;

    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
    PetscCall(MatCopy(D, X, SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&D));
  }
  if (decay > 0) {
    PetscScalar *x;

    PetscCall(TestMatGet(X, PETSC_TRUE, &x));
    for (PetscInt i = 0; i < m; i++) {
      for (PetscInt j = 0; j < n; j++) PetscCall(TestMatSet(X, i, j, x[i * n + j] / PetscPowRealInt((PetscReal)((i + 1) * (j + 1)), decay)));
    }
    PetscCall(PetscFree(x));
  }
  PetscCall(Create("range", rank, &c));
  PetscCall(Create("exact", rank, &best));
  PetscCall(TestMatSquares(X, &all));
  PetscCall(Send(best, X, Y, &least, &columns));
  PetscCall(Send(c, X, Y, &rest, &sent));
  PetscCall(TestMatSquares(Y, &kept));
  TestCheck(sent == columns, "%" PetscInt_FMT " x %" PetscInt_FMT ": %" PetscInt_FMT " columns, expected %" PetscInt_FMT, m, n, sent, columns);
  TestCheck(PetscAbsReal(rest + kept - all) <= slack * all, "%" PetscInt_FMT " x %" PetscInt_FMT ": %g and %g of %g", m, n, (double)kept, (double)rest, (double)all);
  TestCheck(rest >= least - slack * all && kept >= (PetscReal)0.95 * (all - least), "%" PetscInt_FMT " x %" PetscInt_FMT ", rank %" PetscInt_FMT ": %g are left, the best leaves %g of %g", m, n, rank, (double)rest, (double)least, (double)all);
  TestCheck(of > rank || rest <= PetscSqr(500 * PetscMax(m, n) * PETSC_MACHINE_EPSILON) * all, "%" PetscInt_FMT " x %" PetscInt_FMT " of rank %" PetscInt_FMT ": %g of %g are missing", m, n, of, (double)rest, (double)all);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&best));
  PetscCall(TestMatDestroy(&A));
  PetscCall(TestMatDestroy(&B));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of singular values that are all alike no subspace has more than its part, so that the constant of contraction, K/r, is
   reached. A power of two times the matrix has that power times the message, though its squares are out of
   range; zero has no columns, and what is not finite no message
*/
static PetscErrorCode CheckFlat(PetscInt m, PetscInt n, PetscInt rank)
{
  const int      powers[] = {0, PetscDefined(USE_REAL_SINGLE) ? 100 : 800, PetscDefined(USE_REAL_SINGLE) ? -60 : -800};
  MuonCompressor c;
  MuonStatus     status;
  Mat            X, Y;
  PetscReal      alpha, rest = 0;
  PetscInt       sent;
  unsigned char *buf;
  size_t         bytes;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 2, &X));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(Create("range", rank, &c));
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  TestCheck(PetscAbsReal(alpha - (PetscReal)rank / PetscMin(m, n)) <= 4 * PETSC_MACHINE_EPSILON, "alpha is %g", (double)alpha);
  PetscCall(Send(c, X, Y, &rest, &sent));
  TestCheck(sent == 0 && rest == 0, "Zero has %" PetscInt_FMT " columns", sent);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(powers); k++) {
    for (PetscInt i = 0; i < PetscMin(m, n); i++) PetscCall(TestMatSet(X, m - 1 - i, i, PetscPowRealInt(2.0, powers[k])));
    PetscCall(Send(c, X, Y, &rest, &sent));
    PetscCall(TestMatAxpby(PetscPowRealInt(2.0, -powers[k]), X, 0.0, X));
    PetscCall(TestMatAxpby(-PetscPowRealInt(2.0, -powers[k]), Y, 1.0, X));
    PetscCall(TestMatSquares(X, &rest));
    TestCheck(sent == rank && PetscAbsReal(rest / PetscMin(m, n) - (1 - alpha)) <= 40 * PetscMax(m, n) * PETSC_MACHINE_EPSILON, "2^%d: %g are left with %" PetscInt_FMT " columns, alpha is %g", powers[k], (double)rest, sent, (double)alpha);
    PetscCall(TestMatAxpby(0.0, X, 0.0, X));
  }
  PetscCall(TestMatSet(X, m - 1, n - 1, NAN));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_NANORINF && bytes == 0, "NaN has status %s", MuonStatuses[status]);
  PetscCall(PetscFree(buf));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message is the same wherever and whenever it is made again, and starts anew in each step and for each sender */
static PetscErrorCode CheckStart(unsigned long long *state)
{
  MuonCompressor c, twin;
  Mat            X, Y, Z;
  PetscReal      rest;
  PetscInt       sent;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(30, 30, 0, &X));
  PetscCall(TestMatCreate(30, 30, 0, &Y));
  PetscCall(TestMatCreate(30, 30, 0, &Z));
  PetscCall(TestMatNormal(X, 1.0, state));
  PetscCall(Create("range", 2, &c));
  PetscCall(Create("range", 2, &twin));
  for (int k = 0; k < 4; k++) {
    PetscCall(Send(c, X, Y, &rest, &sent));
    PetscCall(MuonCompressorCommit(c));
    if (k == 2) PetscCall(MuonCompressorSetStep(twin, 6));
    if (k == 3) {
      PetscCall(MuonCompressorSetStream(twin, 11, "attn.qkv", 4, 1));
      PetscCall(MuonCompressorSetStep(twin, 5));
    }
    PetscCall(Send(twin, X, Z, &rest, &sent));
    PetscCall(TestMatSame(Y, Z, &same));
    TestCheck(same == (k < 2 ? PETSC_TRUE : PETSC_FALSE), "Message %d is %s", k, same ? "the same" : "another");
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&twin));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /*
     Rows, columns, rank of the message and of the matrix, and its decay: with the Gram matrix and without, with more columns than
     are sent and without, with one polynomial and with more, with few that have most of the square and without
  */
  const PetscInt     shapes[][5] = {{60, 60, 9, 60, 0}, {40, 160, 6, 40, 0}, {160, 40, 6, 40, 0}, {100, 96, 1, 96, 0},  {96, 100, 1, 96, 0},   {90, 110, 70, 90, 0}, {110, 90, 70, 90, 0}, {40, 30, 6, 4, 0},  {200, 100, 2, 2, 0},
                                    {1, 7, 1, 1, 0},    {7, 1, 1, 1, 0},     {70, 80, 6, 70, 0},  {400, 90, 12, 90, 0}, {650, 630, 1, 630, 0}, {70, 80, 6, 70, 1},   {400, 90, 12, 90, 1}, {80, 70, 6, 70, 3}, {100, 120, 70, 100, 1}};
  unsigned long long state       = 5;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) PetscCall(CheckShare(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], shapes[s][4], &state));
  PetscCall(CheckFlat(30, 20, 3));
  PetscCall(CheckFlat(20, 30, 3));
  PetscCall(CheckFlat(100, 100, 1));
  PetscCall(CheckStart(&state));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
