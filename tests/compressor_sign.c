static char help[] = "Scaled signs: worked examples, the order of the bits, the error by its identity, a magnitude that is rounded once, and matrices with nothing to send.\n";

#include "compressor_common.h"

static PetscErrorCode Create(MuonCompressorValues values, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, c));
  PetscCall(MuonCompressorSetType(*c, MUONCOMPRESSORSIGN));
  PetscCall(MuonObjectSetParameter((PetscObject)(*c), "compressor_values", MuonCompressorValuesTypes[values]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fill(Mat X, const double rows[])
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  for (PetscInt k = 0; k < m * n; k++) PetscCall(TestMatSet(X, k / n, k % n, (PetscScalar)rows[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||C(X) - X||^2 and ||X||^2 */
static PetscErrorCode Error(MuonCompressor c, Mat X, Mat Y, PetscReal *error, PetscReal *squares)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatAxpby(-1.0, X, 1.0, Y));
  PetscCall(TestMatSquares(Y, error));
  PetscCall(TestMatSquares(X, squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* [[3,0],[4,0],[0,2]]: the magnitude is 9/6 and the constant of contraction 81/174, all exact in binary */
static PetscErrorCode CheckExample(void)
{
  const double   rows[] = {3, 0, 4, -0.0, 0, 2};
  MuonCompressor c;
  Mat            X, Y;
  PetscScalar   *y;
  PetscReal      error = 0, squares = 0, alpha;
  unsigned char *buf;
  size_t         bytes;

  PetscFunctionBegin;
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_BF16; values++) {
    PetscCall(Create((MuonCompressorValues)values, &c));
    PetscCall(TestMatCreate(3, 2, 2, &X));
    PetscCall(TestMatCreate(3, 2, 1, &Y));
    PetscCall(Fill(X, rows));
    PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
    TestCheck(buf[8] == 0x3F, "Signs of numbers that are not negative are %x", buf[8]);
    PetscCall(PetscFree(buf));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
    for (PetscInt k = 0; k < 6; k++) TestCheck(y[k] == 1.5, "Entry %" PetscInt_FMT " is %g, expected 1.5", k, (double)y[k]);
    PetscCall(PetscFree(y));
    PetscCall(Error(c, X, Y, &error, &squares));
    TestCheck(squares == 29 && error == 15.5, "The square of the error is %g, expected 29 (1 - 81/174)", (double)error);
    PetscCall(MuonCompressorGetAlpha(c, 3, 2, &alpha));
    TestCheck(alpha <= (PetscReal)1 / 6 && alpha >= (PetscReal)0.99998 / 6, "alpha is %g, expected 1/6", (double)alpha);
    PetscCall(TestMatDestroy(&X));
    PetscCall(TestMatDestroy(&Y));
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The four matrices of SignMuon's example, by rows, and their bytes, by columns; the whole message of the
   first is written down
*/
static PetscErrorCode CheckBits(void)
{
  const double        matrices[4][4] = {{4, 3, -3, 4}, {-6, 8, 8, 6}, {5, -12, 12, 5}, {8, 15, -15, 8}};
  const unsigned char bytesof[]      = {0x0D, 0x0E, 0x0B, 0x0D};
  const unsigned char message[]      = {3, 1, 4, 5, 0x0D, 0x00, 0x00, 0x60, 0x40};
  const PetscScalar   third[]        = {8.5, -8.5, 8.5, 8.5};
  MuonCompressor      c;
  Mat                 X, Y;
  PetscScalar        *y;
  unsigned char      *buf;
  size_t              bytes;
  PetscBool           same;

  PetscFunctionBegin;
  PetscCall(Create(MUON_COMPRESSOR_VALUES_SINGLE, &c));
  PetscCall(TestMatCreate(2, 2, 1, &X));
  PetscCall(TestMatCreate(2, 2, 0, &Y));
  for (int k = 0; k < 4; k++) {
    PetscCall(Fill(X, matrices[k]));
    PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
    TestCheck(bytes == 8 + 1 + 4 && buf[8] == bytesof[k], "Worker %d: byte %x of %zu, expected %x", k + 1, buf[8], bytes, bytesof[k]);
    if (k == 0) {
      PetscCall(PetscMemcmp(buf + 4, message, sizeof(message), &same));
      TestCheck(same, "The message of the first worker");
    }
    if (k == 2) {
      PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
      PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
      for (int e = 0; e < 4; e++) TestCheck(y[e] == third[e], "Entry %d is %g, expected %g", e, (double)y[e], (double)third[e]);
      PetscCall(PetscFree(y));
    }
    PetscCall(PetscFree(buf));
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   ||C(X) - X||^2 = ||X||^2 - d a^2 (1 - e^2) with a the mean of |X| and (1 + e) a what was sent; never above
   (1 - alpha) ||X||^2, and there for a matrix with one entry
*/
static PetscErrorCode CheckError(MuonCompressorValues values, PetscInt m, PetscInt n, unsigned long long *state)
{
  const PetscInt d = m * n;
  MuonCompressor c;
  Mat            X, Y;
  PetscScalar   *x, *y;
  PetscReal      error = 0, squares = 0, alpha;
  double         mean = 0, off;

  PetscFunctionBegin;
  PetscCall(Create(values, &c));
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(m, n, 2, &Y));
  PetscCall(TestMatNormal(X, 1.0, state));
  PetscCall(TestMatGet(X, PETSC_TRUE, &x));
  for (PetscInt k = 0; k < d; k++) mean += (double)PetscAbsScalar(x[k]) / d;
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
  for (PetscInt k = 0; k < d; k++) TestCheck(PetscAbsScalar(y[k]) == PetscAbsScalar(y[0]) && (y[k] > 0) == (x[k] >= 0), "Entry %" PetscInt_FMT " is %g for %g", k, (double)y[k], (double)x[k]);
  off = (double)PetscAbsScalar(y[0]) / mean - 1;
  /* To nearest: half a unit of 53, 24 and 8 bits, and of a sum of d numbers in double */
  if (values == MUON_COMPRESSOR_VALUES_DOUBLE) TestCheck(fabs(off) <= (d + 2) * 2.3e-16 + (PetscDefined(USE_REAL_SINGLE) ? 6e-8 : 0), "The magnitude is off by %g", off);
  if (values == MUON_COMPRESSOR_VALUES_SINGLE) TestCheck(fabs(off) <= 6.0e-8, "The magnitude is off by %g", off);
  if (values == MUON_COMPRESSOR_VALUES_BF16) TestCheck(fabs(off) <= 0.00391 && fabs(off) > 6e-8, "The magnitude is off by %g", off);
  PetscCall(Error(c, X, Y, &error, &squares));
  /*
     Each of d squares is rounded a few times in the precision of PetscReal, and their sum d times in double
  */
  TestCheck(PetscAbsReal(error - (PetscReal)((double)squares - d * mean * mean * (1 - off * off))) <= (8 * PETSC_MACHINE_EPSILON + d * (PetscReal)2.3e-16) * (squares + d * (PetscReal)(mean * mean)), "The square of the error is %g of %g",
            (double)error, (double)squares);
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  TestCheck(alpha > 0 && alpha * d <= 1, "alpha is %g", (double)alpha);
  TestCheck(values == MUON_COMPRESSOR_VALUES_NATURAL || error <= (1 - alpha) * squares, "The square of the error is %g of %g, alpha is %g", (double)error, (double)squares, (double)alpha);
  /* d 2^k: the magnitude is a power of two, exact in every codec */
  for (PetscInt k = 0; k < d; k++) PetscCall(TestMatSet(X, k / n, k % n, k == d / 2 ? -4 * (PetscScalar)d : 0.0));
  PetscCall(Error(c, X, Y, &error, &squares));
  TestCheck(error == (PetscReal)(16.0 * d * (d - 1)), "A matrix with one entry: the square of the error is %g, expected %d", (double)error, 16 * (int)(d * (d - 1)));
  TestCheck(PetscAbsReal(error - (1 - 1 / (PetscReal)d) * squares) <= 2 * PETSC_MACHINE_EPSILON * squares, "The bound is not reached: %g of %g", (double)error, (double)squares);
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(y));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A natural magnitude of 3/2 is 1 or 2, each with probability 1/2, so that the error is 7/8 of 81/174 in the
   mean: six standard deviations
*/
static PetscErrorCode CheckNatural(void)
{
  const double   rows[] = {3, 0, 4, 0, 0, 2};
  const PetscInt draws  = 2000;
  MuonCompressor c;
  Mat            X, Y;
  PetscScalar   *y;
  PetscInt       up = 0;

  PetscFunctionBegin;
  PetscCall(Create(MUON_COMPRESSOR_VALUES_NATURAL, &c));
  PetscCall(TestMatCreate(3, 2, 2, &X));
  PetscCall(TestMatCreate(3, 2, 1, &Y));
  PetscCall(Fill(X, rows));
  for (PetscInt k = 0; k < draws; k++) {
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
    TestCheck(y[0] == 1 || y[0] == 2, "The magnitude is %g", (double)y[0]);
    if (y[0] == 2) up++;
    PetscCall(PetscFree(y));
  }
  TestCheck(PetscAbsReal(up - draws / (PetscReal)2) <= 3 * PetscSqrtReal((PetscReal)draws), "%" PetscInt_FMT " of %" PetscInt_FMT " times up", up, draws);
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices that are zero, empty or too small for the magnitude send a header; adding it changes nothing */
static PetscErrorCode CheckNothing(MuonCompressorValues values, PetscInt m, PetscInt n, PetscScalar x, PetscBool sent)
{
  MuonCompressor c;
  MuonStatus     status;
  Mat            X, Y, Z;
  unsigned char *buf;
  size_t         bytes;
  PetscBool      valid, same;
  PetscReal      squares = 0;

  PetscFunctionBegin;
  PetscCall(Create(values, &c));
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(m, n, 2, &Y));
  PetscCall(TestMatCreate(m, n, 2, &Z));
  for (PetscInt k = 0; k < m * n; k++) {
    PetscCall(TestMatSet(X, k / n, k % n, k % 2 == 0 ? x : -x));
    PetscCall(TestMatSet(Y, k / n, k % n, 7));
    PetscCall(TestMatSet(Z, k / n, k % n, 7));
  }
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_OK && (bytes > 8) == sent, "%" PetscInt_FMT " x %" PetscInt_FMT " of %g: %zu bytes", m, n, (double)x, bytes);
  PetscCall(MuonCompressorValidate(c, m, n, bytes, buf, &valid));
  TestCheck(valid, "A good message is refused");
  PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 1.0, bytes, buf, Y));
  PetscCall(TestMatSame(Y, Z, &same));
  TestCheck(same || sent, "Nothing was added, and something changed");
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
  PetscCall(TestMatSquares(Y, &squares));
  /* The sums are of at most 585 numbers */
  TestCheck(sent ? PetscAbsReal(squares - m * n * x * x) <= 600 * PETSC_MACHINE_EPSILON * squares : squares == 0, "%" PetscInt_FMT " x %" PetscInt_FMT " of %g decodes to a matrix of square %g", m, n, (double)x, (double)squares);
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that are not finite, wherever they are, and those whose mean does not fit */
static PetscErrorCode CheckInfinite(void)
{
  const PetscScalar bad[] = {NAN, INFINITY, -INFINITY};
  MuonCompressor    c;
  MuonStatus        status;
  Mat               X;
  unsigned char    *buf;
  size_t            bytes;

  PetscFunctionBegin;
  PetscCall(Create(MUON_COMPRESSOR_VALUES_BF16, &c));
  PetscCall(TestMatCreate(9, 8, 1, &X));
  for (PetscInt k = 0; k < 72; k += 7) {
    for (int b = 0; b < 3; b++) {
      PetscCall(TestMatSet(X, k / 8, k % 8, bad[b]));
      PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
      PetscCall(MuonCompressorGetStatus(c, &status));
      TestCheck(status == MUON_STATUS_NANORINF && bytes == 0, "%g: status %s, %zu bytes", (double)bad[b], MuonStatuses[status], bytes);
      PetscCall(PetscFree(buf));
    }
    PetscCall(TestMatSet(X, k / 8, k % 8, 1.0));
  }
  for (PetscInt k = 0; k < 72; k++) PetscCall(TestMatSet(X, k / 8, k % 8, (PetscScalar)3.4e38));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_NANORINF && bytes == 0, "Beyond bf16: status %s, %zu bytes", MuonStatuses[status], bytes);
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&X));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A mean in range of a sum that is not */
static PetscErrorCode CheckHuge(void)
{
  const TestChoice  choice = {MUONCOMPRESSORSIGN, (PetscReal)0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0};
  const PetscScalar x      = PETSC_MAX_REAL / 4 * 3;
  MuonCompressor    c;
  MuonStatus        status;
  PetscScalar      *y;
  Mat               X, Y;

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, &c));
  PetscCall(TestMatCreate(1, 2, 1, &X));
  PetscCall(TestMatCreate(1, 2, 0, &Y));
  PetscCall(TestMatSet(X, 0, 0, x));
  PetscCall(TestMatSet(X, 0, 1, -x));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_OK, "The mean of two large numbers has status %s", MuonStatuses[status]);
  PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
  TestCheck(y[0] == x && y[1] == -x, "Two large numbers became %g and %g", (double)y[0], (double)y[1]);
  PetscCall(PetscFree(y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt     shapes[][2] = {{7, 13}, {1, 1}, {64, 65}, {130, 3}};
  unsigned long long state       = 8;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckExample());
  PetscCall(CheckBits());
  PetscCall(CheckHuge());
  for (int values = MUON_COMPRESSOR_VALUES_DOUBLE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) PetscCall(CheckError((MuonCompressorValues)values, shapes[s][0], shapes[s][1], &state));
  }
  PetscCall(CheckNatural());
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    const PetscBool wide = values == MUON_COMPRESSOR_VALUES_DOUBLE || (values == MUON_COMPRESSOR_VALUES_NATIVE && !PetscDefined(USE_REAL_SINGLE)) ? PETSC_TRUE : PETSC_FALSE;

    PetscCall(CheckNothing((MuonCompressorValues)values, 5, 3, 0.0, PETSC_FALSE));
    PetscCall(CheckNothing((MuonCompressorValues)values, 0, 3, 0.0, PETSC_FALSE));
    PetscCall(CheckNothing((MuonCompressorValues)values, 5, 0, 0.0, PETSC_FALSE));
    PetscCall(CheckNothing((MuonCompressorValues)values, 1, 1, 0.0, PETSC_FALSE));
    PetscCall(CheckNothing((MuonCompressorValues)values, 1, 1, 0.5, PETSC_TRUE));
    PetscCall(CheckNothing((MuonCompressorValues)values, 9, 65, 2, PETSC_TRUE));
    /* Below the smallest number of binary32 */
    if (!PetscDefined(USE_REAL_SINGLE)) PetscCall(CheckNothing((MuonCompressorValues)values, 4, 4, (PetscScalar)1e-46, wide));
  }
  PetscCall(CheckInfinite());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
