static char help[] = "Compressors do what they say: exact selections, messages that decode to what was compressed, sizes, contraction, and what they do with zero and with NaN.\n";

#include "compressor_common.h"
#include <math.h>
#include "wire_header.h"

/*
   Bytes of a message, written down a second time. In the codecs 3 of
   positions and 4 of values it is shorter, how much tells the oracle
*/
static PetscErrorCode CheckBytes(const TestChoice *choice, PetscInt m, PetscInt n, size_t bytes, const unsigned char buf[])
{
  const struct {
    const char          *type;
    MuonCompressorValues values;
  } fixed[]                   = {{MUONCOMPRESSORIDENTITY, MUON_COMPRESSOR_VALUES_NATIVE},
                                 {MUONCOMPRESSORNATURAL, MUON_COMPRESSOR_VALUES_NATURAL},
                                 {MUONCOMPRESSORNEAREST, MUON_COMPRESSOR_VALUES_NATURAL},
                                 {MUONCOMPRESSORTRUNCATED, MUON_COMPRESSOR_VALUES_NATURAL},
                                 {MUONCOMPRESSORBF16, MUON_COMPRESSOR_VALUES_BF16}};
  const int          codecs[] = {PetscDefined(USE_REAL_SINGLE) ? 1 : 0, 0, 1, 2, 3};
  const size_t       widths[] = {64, 32, 16, 9, 9}, d = (size_t)m * (size_t)n, kept = PetscMin(d, PetscMax(1, (size_t)(choice->ratio * d + 1e-6)));
  const int          form = buf[4] % 16, indices = buf[4] / 16, codec = buf[5];
  const size_t       lines  = form == 10 ? (size_t)n : (size_t)m; /* rows on the wire are the columns of a matrix of PETSc */
  int                values = choice->values;
  unsigned long long head, payload;
  size_t             expected, count, numbered = 0, nvalues, width = 1;
  PetscBool          is;

  PetscFunctionBegin;
  expected = TestHeader(buf, &head, &payload);
  TestCheck(bytes == expected + (size_t)payload, "%s: %zu bytes, the header says %llu", choice->type, bytes, payload);
  count   = (size_t)head;
  nvalues = count;
  switch (form) {
  case 0: /* dense */
    TestCheck(count == d || count == 0, "%s: %zu entries of %zu", choice->type, count, d);
    break;
  case 1: /* sparse */
    numbered = d;
    break;
  case 2: /* low rank */
    expected += (count * (size_t)m * widths[codec] + 7) / 8;
    nvalues = count * (size_t)n;
    break;
  case 4: /* triples */
    expected += (count * widths[codec] + 7) / 8 + (count * (size_t)m * widths[codec] + 7) / 8;
    nvalues = count * (size_t)n;
    break;
  case 3: /* signs */
    TestCheck(count == d || count == 0, "%s: %zu signs of %zu", choice->type, count, d);
    expected += (count + 7) / 8;
    nvalues = count > 0;
    break;
  case 8: /* seeded */
    expected += 8;
    break;
  case 9:  /* whole columns */
  case 10: /* whole rows */
    numbered = lines;
    nvalues  = lines > 0 ? count * (d / lines) : 0;
    break;
  case 11: /* blocks */
    TestCheck(count == d || count == 0, "%s: %zu entries of %zu", choice->type, count, d);
    expected += (count * (buf[6] & 15u) + 7) / 8;
    nvalues = (count + ((size_t)16 << (buf[6] >> 4)) - 1) >> ((buf[6] >> 4) + 4);
    break;
  default:
    TestCheck(PETSC_FALSE, "%s: form %d", choice->type, form);
  }
  if (numbered > 0) {
    while ((size_t)1 << 8 * width < numbered) width++;
    expected += PetscMin((numbered + 7) / 8, count * width);
  }
  expected += (nvalues * widths[codec] + 7) / 8;
  TestCheck(indices >= 3 || codec == 4 ? bytes < expected : bytes == expected, "%s of %" PetscInt_FMT " x %" PetscInt_FMT ": %zu bytes, expected %zu", choice->type, m, n, bytes, expected);

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(fixed); k++) {
    PetscCall(TestIs(choice, fixed[k].type, &is));
    if (is) values = fixed[k].values;
  }
  TestCheck(codec == codecs[values] || (codec == 4 && values == MUON_COMPRESSOR_VALUES_NATURAL), "%s: codec %d of values", choice->type, codec);
  PetscCall(TestIs(choice, MUONCOMPRESSORTOPK, &is));
  if (is) TestCheck(count == kept, "%zu entries kept, expected %zu", count, kept);
  PetscCall(TestIs(choice, MUONCOMPRESSORDROPOUT, &is));
  if (is) TestCheck(count == (choice->ratio == 1.0 ? d : 0), "%zu entries with a ratio of %g", count, (double)choice->ratio);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message decodes to what Apply() says; nothing but the result changes; adding adds */
static PetscErrorCode CheckMessage(const TestChoice *choice, PetscInt m, PetscInt n, PetscInt gap, unsigned long long *state)
{
  MuonCompressor c, receiver;
  MuonStatus     status;
  Mat            T, R, X, Y, Z, Tkept, Rkept;
  unsigned char *buf, *again;
  size_t         bytes, bytesagain, most;
  PetscBool      same, valid, assignment, identity, lowrank;
  PetscScalar   *y, *z, *sum;
  PetscReal      squares = 0;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  PetscCall(TestCreate(choice, &receiver));
  PetscCall(TestMatCreate(m, n, gap, &T));
  PetscCall(TestMatCreate(m, n, 2 * gap, &R));
  PetscCall(TestMatCreate(m, n, 0, &X));
  PetscCall(TestMatCreate(m, n, gap, &Y));
  PetscCall(TestMatCreate(m, n, 3 * gap, &Z));
  PetscCall(TestMatCreate(m, n, 0, &Tkept));
  PetscCall(TestMatCreate(m, n, 0, &Rkept));
  PetscCall(TestMatNormal(T, 1.0, state));
  PetscCall(TestMatNormal(R, 0.5, state));
  PetscCall(TestMatAxpby(1.0, T, 0.0, Tkept));
  PetscCall(TestMatAxpby(1.0, R, 0.0, Rkept));
  PetscCall(MuonCompressorIsAssignment(c, &assignment));
  PetscCall(TestIs(choice, MUONCOMPRESSORIDENTITY, &identity));
  TestCheck(assignment == identity, "%s: assignment", choice->type);
  PetscCall(TestMatAxpby(1.0, T, 0.0, X));
  if (!assignment) PetscCall(TestMatAxpby(-1.0, R, 1.0, X));

  PetscCall(TestEncode(c, T, R, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_OK, "%s: status %s", choice->type, MuonStatuses[status]);
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
  TestCheck(bytes <= most, "%s: more than the most bytes", choice->type);
  PetscCall(CheckBytes(choice, m, n, bytes, buf));
  lowrank = buf[4] == 2 || buf[4] == 4 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(MuonCompressorValidate(receiver, m, n, bytes, buf, &valid));
  TestCheck(valid, "%s of %" PetscInt_FMT " x %" PetscInt_FMT ": a good message is refused", choice->type, m, n);
  PetscCall(TestEncode(c, T, R, &again, &bytesagain));
  PetscCall(PetscMemcmp(buf, again, bytes, &same));
  TestCheck(same && bytes == bytesagain, "%s: another message the second time", choice->type);

  PetscCall(TestMatNormal(Y, 1.0, state));
  PetscCall(MuonCompressorDecode(receiver, PETSC_FALSE, 1, bytes, buf, Y));
  PetscCall(MuonCompressorApply(c, X, Z));
  PetscCall(TestMatSame(Y, Z, &same));
  TestCheck(same, "%s of %" PetscInt_FMT " x %" PetscInt_FMT ": the message is not what Apply() gives", choice->type, m, n);
  if (identity) {
    PetscCall(TestMatSame(Y, T, &same));
    TestCheck(same, "identity changed a bit");
  }
  PetscCall(TestMatSquares(X, &squares));

  /*
     Two roundings in a sum, and for a low-rank message min(m, n) terms of a product with factors of singular
     values: each entry of |P| |Q|^T is at most sigma_1
  */
  PetscCall(TestMatNormal(Z, 1.0, state));
  PetscCall(TestMatGet(Z, PETSC_TRUE, &z));
  PetscCall(MuonCompressorDecode(receiver, PETSC_TRUE, -0.3, bytes, buf, Z));
  PetscCall(TestMatGet(Z, PETSC_TRUE, &sum));
  PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
  for (PetscInt k = 0; k < m * n; k++) {
    const PetscReal bound = PETSC_MACHINE_EPSILON * (PetscAbsScalar(z[k]) + 2 * PetscAbsScalar(y[k]) + (lowrank ? 2 * (2 + PetscMin(m, n)) * PetscSqrtReal(squares) : 0));

    TestCheck(PetscAbsScalar(z[k] + (PetscReal)-0.3 * y[k] - sum[k]) <= bound, "%s: adding gave %g", choice->type, (double)sum[k]);
  }
  PetscCall(PetscFree(y));
  PetscCall(PetscFree(z));
  PetscCall(PetscFree(sum));

  PetscCall(TestMatSame(T, Tkept, &same));
  TestCheck(same, "%s: T was changed", choice->type);
  PetscCall(TestMatSame(R, Rkept, &same));
  TestCheck(same, "%s: R was changed", choice->type);

  /* In place */
  PetscCall(MuonCompressorApply(c, X, X));
  PetscCall(TestMatSame(X, Y, &same));
  TestCheck(same, "%s: not the same in place", choice->type);
  PetscCall(PetscFree(buf));
  PetscCall(PetscFree(again));

  /*
     A message that took effect, and the one after it: what the sender keeps of the first, no receiver needs
  */
  PetscCall(MuonCompressorCommit(c));
  PetscCall(MuonCompressorSetStep(c, 6));
  PetscCall(TestEncode(c, T, NULL, &buf, &bytes));
  PetscCall(MuonCompressorDecode(receiver, PETSC_FALSE, 1, bytes, buf, Y));
  PetscCall(MuonCompressorApply(c, T, Z));
  PetscCall(TestMatSame(Y, Z, &same));
  TestCheck(same, "%s of %" PetscInt_FMT " x %" PetscInt_FMT ": the second message is not what Apply() gives", choice->type, m, n);
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&R));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscCall(TestMatDestroy(&Tkept));
  PetscCall(TestMatDestroy(&Rkept));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&receiver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Top-K against choosing K times the first largest entry in the order of memory, on a grid of few values */
static PetscErrorCode CheckTies(PetscInt m, PetscInt n, PetscInt gap, PetscReal ratio, unsigned long long *state)
{
  const TestChoice choice = {MUONCOMPRESSORTOPK, ratio, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0};
  MuonCompressor   c;
  Mat              X, Y;
  PetscScalar     *x, *y, *expected;
  PetscInt         kept = PetscMax(1, (PetscInt)(ratio * m * n + 1e-6));
  PetscBool       *taken;

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, &c));
  PetscCall(TestMatCreate(m, n, gap, &X));
  PetscCall(TestMatCreate(m, n, gap, &Y));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) PetscCall(TestMatSet(X, i, j, ((PetscInt)(TestBits(state) % 7) - 3) / (PetscScalar)4));
  }
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatGet(X, PETSC_FALSE, &x));
  PetscCall(TestMatGet(Y, PETSC_FALSE, &y));
  PetscCall(PetscCalloc2(m * n, &expected, m * n, &taken));
  for (PetscInt k = 0; k < kept; k++) {
    PetscInt best = -1;

    for (PetscInt e = 0; e < m * n; e++) {
      if (!taken[e] && (best < 0 || PetscAbsScalar(x[e]) > PetscAbsScalar(x[best]))) best = e;
    }
    expected[best] = x[best];
    taken[best]    = PETSC_TRUE;
  }
  for (PetscInt e = 0; e < m * n; e++) TestCheck(y[e] == expected[e], "Entry (%" PetscInt_FMT ", %" PetscInt_FMT ") is %g, expected %g", e % m, e / m, (double)y[e], (double)expected[e]);
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(y));
  PetscCall(PetscFree2(expected, taken));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   X = U diag(s) V^T with U and V Hadamard matrices of 16 over 4, exact in binary: the leading triples of X
   are known
*/
static PetscScalar Hadamard(PetscInt i, PetscInt j)
{
  PetscInt bits = i & j, ones = 0;

  for (; bits > 0; bits /= 2) ones += bits % 2;
  return ones % 2 == 0 ? 0.25 : -0.25;
}

static PetscErrorCode CheckRankK(PetscInt keep)
{
  const TestChoice choice = {MUONCOMPRESSORRANKK, 0.5, keep, MUON_COMPRESSOR_VALUES_NATIVE, 0};
  const PetscInt   n      = 16;
  MuonCompressor   c;
  Mat              X, Y;
  PetscScalar     *y;

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, &c));
  PetscCall(TestMatCreate(n, n, 3, &X));
  PetscCall(TestMatCreate(n, n, 1, &Y));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      PetscScalar x = 0;

      for (PetscInt k = 0; k < n; k++) x += Hadamard(i, k) * (n - k) * Hadamard(k, j);
      PetscCall(TestMatSet(X, i, j, x));
    }
  }
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      PetscScalar x = 0;

      for (PetscInt k = 0; k < keep; k++) x += Hadamard(i, k) * (n - k) * Hadamard(k, j);
      /*
         The vectors move by eps ||X|| over the distance to the next singular value, which is 1, or by twice
         that where X^T X is formed; n covers the constants of the solvers
      */
      TestCheck(PetscAbsScalar(y[i * n + j] - x) <= n * n * n * PETSC_MACHINE_EPSILON, "Rank %" PetscInt_FMT ": entry (%" PetscInt_FMT ", %" PetscInt_FMT ") is off by %g", keep, i, j, (double)(y[i * n + j] - x));
    }
  }
  PetscCall(PetscFree(y));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Types of which a ratio of 1 keeps everything change nothing, Rank-K only rounds */
static PetscErrorCode CheckEverything(PetscInt m, PetscInt n, unsigned long long *state)
{
  const char *const types[] = {MUONCOMPRESSORTOPK, MUONCOMPRESSORRANDK, MUONCOMPRESSORDAMPING, MUONCOMPRESSORDROPOUT};
  TestChoice        choice  = {MUONCOMPRESSORTOPK, 1.0, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0};
  MuonCompressor    c;
  Mat               X, Y;
  PetscReal         alpha, error, squares;
  PetscBool         same;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 2, &X));
  PetscCall(TestMatCreate(m, n, 1, &Y));
  PetscCall(TestMatNormal(X, 1.0, state));
  PetscCall(TestCreate(&choice, &c));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscCall(MuonCompressorSetType(c, types[t]));
    PetscCall(MuonCompressorApply(c, X, Y));
    PetscCall(TestMatSame(X, Y, &same));
    TestCheck(same, "%s of everything changed a bit", types[t]);
    PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
    TestCheck(alpha == 1.0, "alpha of %s of everything is %g", types[t], (double)alpha);
  }
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORRANKK));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatAxpby(-1.0, X, 1.0, Y));
  PetscCall(TestMatSquares(X, &squares));
  PetscCall(TestMatSquares(Y, &error));
  TestCheck(PetscSqrtReal(error) <= 10 * PetscMax(m, n) * PETSC_MACHINE_EPSILON * PetscSqrtReal(squares), "Rank-K of everything is off by %g", (double)PetscSqrtReal(error));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Repeated compression of what is missing: the receiver comes to M after as many messages as it takes, and
   contracts by alpha at each
*/
static PetscErrorCode CheckResidual(const TestChoice *choice, PetscInt m, PetscInt n, unsigned long long *state)
{
  const PetscInt  most     = 12;
  const PetscReal rounding = PetscSqr(20 * PetscMax(m, n) * PETSC_MACHINE_EPSILON);
  MuonCompressor  c;
  Mat             M, G, E;
  unsigned char  *buf;
  size_t          bytes;
  PetscReal       alpha, before, after = 0, all = 0;
  PetscInt        steps;
  PetscBool       same, topk, exact;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  PetscCall(TestMatCreate(m, n, 2, &M));
  PetscCall(TestMatCreate(m, n, 0, &G));
  PetscCall(TestMatCreate(m, n, 0, &E));
  PetscCall(TestMatNormal(M, 1.0, state));
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  TestCheck(alpha > 0.0 && alpha <= 1.0, "%s: alpha is %g", choice->type, (double)alpha);
  PetscCall(TestIs(choice, MUONCOMPRESSORTOPK, &topk));
  exact = choice->values == MUON_COMPRESSOR_VALUES_NATIVE ? PETSC_TRUE : PETSC_FALSE;
  steps = (PetscInt)PetscCeilReal(1 / alpha - (PetscReal)1e-6);
  TestCheck(!exact || steps <= most, "%s: %" PetscInt_FMT " steps are too many for the test", choice->type, steps);
  PetscCall(TestMatSquares(M, &all));
  before = all;
  for (PetscInt k = 0; k < most; k++) {
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(TestEncode(c, M, G, &buf, &bytes));
    PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 1.0, bytes, buf, G));
    PetscCall(PetscFree(buf));
    PetscCall(TestMatAxpby(1.0, M, 0.0, E));
    PetscCall(TestMatAxpby(-1.0, G, 1.0, E));
    PetscCall(TestMatSquares(E, &after));
    TestCheck(after <= (1 - alpha) * before + rounding * all, "%s: step %" PetscInt_FMT " took %g to %g, alpha %g", choice->type, k, (double)before, (double)after, (double)alpha);
    before = after;
    if (exact && k == steps - 1) {
      PetscCall(TestMatSame(M, G, &same));
      if (topk) TestCheck(same, "Top-K has not all entries after %" PetscInt_FMT " steps", steps);
      else TestCheck(after <= rounding * all, "Rank-K is off by %g after %" PetscInt_FMT " steps", (double)PetscSqrtReal(after), steps);
    }
  }
  PetscCall(TestMatDestroy(&M));
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&E));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Zero in, zero out; a low-rank message has no triples then, and as many as there are for a matrix of small
   rank
*/
static PetscErrorCode CheckZero(const TestChoice *choice, PetscInt m, PetscInt n)
{
  MuonCompressor     c;
  MuonStatus         status;
  MuonCompressorCost cost;
  Mat                X, Y;
  unsigned char     *buf;
  size_t             bytes;
  PetscReal          squares;
  PetscBool          rankk, valid;
  unsigned long long state = 99;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  PetscCall(TestIs(choice, MUONCOMPRESSORRANKK, &rankk));
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatNormal(Y, 1.0, &state));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatSquares(Y, &squares));
  TestCheck(squares == 0.0, "%s: zero became something", choice->type);
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_OK, "%s: zero has status %s", choice->type, MuonStatuses[status]);
  if (rankk) TestCheck(bytes == TestMessageBytes(0, 0), "%zu bytes for a zero matrix of %" PetscInt_FMT " x %" PetscInt_FMT, bytes, m, n);
  PetscCall(MuonCompressorValidate(c, m, n, bytes, buf, &valid));
  TestCheck(valid, "%s: the message of zero is refused", choice->type);
  PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 2.0, bytes, buf, Y));
  PetscCall(TestMatSquares(Y, &squares));
  TestCheck(squares == 0.0, "%s: zero was added as something", choice->type);
  PetscCall(TestCost(c, m, n, bytes, buf, &cost));
  TestCheck(cost.encoded == 8.0 * bytes && cost.entropy >= 0.0, "%s: cost of zero", choice->type);
  PetscCall(PetscFree(buf));
  if (rankk && m > 0 && n > 0) {
    PetscCall(TestMatSet(X, m - 1, 0, 3.0));
    PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
    TestCheck(buf[6] == 1, "A matrix of rank 1 has a message of rank %d", (int)buf[6]);
    PetscCall(PetscFree(buf));
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not finite, or does not fit, is a status and no message; the receiver's matrix stays as it was */
static PetscErrorCode CheckNotFinite(const TestChoice *choice, PetscScalar t, PetscScalar r, MuonStatus expected)
{
  const PetscInt     m = 9, n = 7;
  MuonCompressor     c;
  MuonStatus         status;
  Mat                T, R, Y, Ykept;
  unsigned char     *buf;
  size_t             bytes;
  PetscBool          same, assignment;
  unsigned long long state = 98;

  PetscFunctionBegin;
  PetscCall(TestCreate(choice, &c));
  /* An assignment has nothing to do with R */
  PetscCall(MuonCompressorIsAssignment(c, &assignment));
  if (assignment && r != 0.0) expected = MUON_STATUS_OK;
  PetscCall(TestMatCreate(m, n, 1, &T));
  PetscCall(TestMatCreate(m, n, 0, &R));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatCreate(m, n, 0, &Ykept));
  PetscCall(TestMatNormal(T, 1.0, &state));
  PetscCall(TestMatNormal(Y, 1.0, &state));
  PetscCall(TestMatAxpby(1.0, Y, 0.0, Ykept));
  PetscCall(TestMatSet(T, m - 1, n - 1, t));
  PetscCall(TestMatSet(R, m - 1, n - 1, r));
  PetscCall(TestEncode(c, T, R, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == expected, "%s of %g - %g: status %s, expected %s", choice->type, (double)t, (double)r, MuonStatuses[status], MuonStatuses[expected]);
  TestCheck((bytes == 0) == (status != MUON_STATUS_OK), "%s: %zu bytes with status %s", choice->type, bytes, MuonStatuses[status]);
  if (r == 0.0 && expected != MUON_STATUS_OK) {
    PetscCall(MuonCompressorApply(c, T, Y));
    PetscCall(TestMatSame(Y, Ykept, &same));
    TestCheck(same, "%s: Apply() wrote something with status %s", choice->type, MuonStatuses[status]);
  }
  /* The next one is well again */
  PetscCall(MuonCompressorApply(c, Ykept, Y));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_OK, "%s: status %s stays", choice->type, MuonStatuses[status]);
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&R));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Ykept));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a sparse message leaves out is not touched, whatever it is */
static PetscErrorCode CheckUntouched(void)
{
  const TestChoice choice = {MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0};
  MuonCompressor   c;
  Mat              X, Y;
  unsigned char   *buf;
  size_t           bytes;
  PetscScalar     *y;

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, &c));
  PetscCall(TestMatCreate(2, 6, 0, &X));
  PetscCall(TestMatCreate(2, 6, 0, &Y));
  PetscCall(TestMatSet(X, 1, 2, 8.0));
  for (PetscInt e = 0; e < 12; e++) PetscCall(TestMatSetEntry(Y, e, e == 5 ? 1.0 : NAN));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 0.5, bytes, buf, Y));
  PetscCall(TestMatGet(Y, PETSC_FALSE, &y));
  for (PetscInt e = 0; e < 12; e++) TestCheck(e == 5 ? y[e] == 5.0 : PetscIsNanScalar(y[e]), "Entry %" PetscInt_FMT " is %g", e, (double)y[e]);
  PetscCall(PetscFree(y));
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max(1, floor(r d + 1e-9)) where r d is an integer but not in floating point, and the alphas of the table */
static PetscErrorCode CheckAlphas(void)
{
  /* What binary32, in which such entries are compared, does not see of doubles */
  const PetscReal unseen = PetscDefined(USE_REAL_SINGLE) ? 1.0 : 1.0 - 1.0 / 4194304.0;
  /*
     What natural values leave of doubles, which are rounded to binary32; of both factors of rank 10 in the
     last
  */
  const double u = PetscDefined(USE_REAL_SINGLE) ? 0.0 : 1.0 / 16777216.0, natural = 1 - (1 + u) * (1 + u) / 8 - u * u, both = 1 - 17.0 / 64 * pow(1 + u, 4) - 4 * u * u - u * u * 3.1622776601683795;
  const struct {
    TestChoice choice;
    PetscReal  alpha;
  } table[] = {{{MUONCOMPRESSORIDENTITY, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, 1.0},   {{MUONCOMPRESSORNATURAL, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, (PetscReal)natural},
               {{MUONCOMPRESSORSIGN, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0.001},     {{MUONCOMPRESSORSIGN, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATURAL, 0}, (PetscReal)(0.001 * natural)},
               {{MUONCOMPRESSORTOPK, 0.7, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0.7},       {{MUONCOMPRESSORTOPK, 0.29, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0.29},
               {{MUONCOMPRESSORTOPK, 0.00001, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0.001}, {{MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATURAL, 0}, (PetscReal)(0.1 * natural) * unseen},
               {{MUONCOMPRESSORRANKK, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0.3},      {{MUONCOMPRESSORRANKK, 0.3, 6, MUON_COMPRESSOR_VALUES_NATIVE, 0}, 0.6},
               {{MUONCOMPRESSORRANKK, 0.3, 60, MUON_COMPRESSOR_VALUES_NATURAL, 0}, (PetscReal)both}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    MuonCompressor c;
    PetscReal      alpha;

    PetscCall(TestCreate(&table[k].choice, &c));
    PetscCall(MuonCompressorGetAlpha(c, 10, 100, &alpha));
    TestCheck(PetscAbsReal(alpha - table[k].alpha) <= 4 * PETSC_MACHINE_EPSILON, "%s with ratio %g: alpha %g, expected %g", table[k].choice.type, (double)table[k].choice.ratio, (double)alpha, (double)table[k].alpha);
    PetscCall(MuonCompressorDestroy(&c));
  }
  /* Nothing is left out of nothing, whatever the type */
  {
    TestChoice choices[TEST_MOST_CHOICES];
    PetscInt   nchoices = 0;

    PetscCall(TestGetChoices(&nchoices, choices));
    for (PetscInt k = 0; k < nchoices; k++) {
      MuonCompressor c;
      PetscReal      wide, tall;

      PetscCall(TestCreate(&choices[k], &c));
      PetscCall(MuonCompressorGetAlpha(c, 0, 7, &wide));
      PetscCall(MuonCompressorGetAlpha(c, 7, 0, &tall));
      TestCheck(wide == 1.0 && tall == 1.0, "%s: alpha %g and %g without entries", choices[k].type, (double)wide, (double)tall);
      PetscCall(MuonCompressorDestroy(&c));
    }
  }
  /* 0.29 times 100 is less than 29 in binary64, 0.7 times 10 less than 7 in binary32 */
  for (PetscInt k = 1; k < 100; k++) {
    const TestChoice percent = {MUONCOMPRESSORTOPK, (PetscReal)k / 100, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0};
    MuonCompressor   c;
    PetscReal        alpha;

    PetscCall(TestCreate(&percent, &c));
    PetscCall(MuonCompressorGetAlpha(c, 10, 10, &alpha));
    TestCheck(PetscAbsReal(alpha - (PetscReal)k / 100) <= PETSC_MACHINE_EPSILON, "%" PetscInt_FMT " percent of 100 are %g", k, (double)(100 * alpha));
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {5, 3}, {8, 8}, {12, 31}, {40, 16}, {17, 129}};
  /* What is rounded at random contracts in expectation only, as compressor_alpha shows */
  const TestChoice residual[] = {
    {MUONCOMPRESSORSIGN, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},  {MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0},    {MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
    {MUONCOMPRESSORTOPK, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_BF16, 0},    {MUONCOMPRESSORNEAREST, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0}, {MUONCOMPRESSORTRUNCATED, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
    {MUONCOMPRESSORBF16, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},  {MUONCOMPRESSORDAMPING, 0.6, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_BF16, 0},   {MUONCOMPRESSORDAMPING, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},
    {MUONCOMPRESSORRANKK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0}, {MUONCOMPRESSORRANKK, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0},   {MUONCOMPRESSORRANKK, 0.3, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_BF16, 0}};
  TestChoice         choices[TEST_MOST_CHOICES];
  PetscInt           nchoices = 0;
  unsigned long long state    = 4;
  PetscBool          trap     = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestGetChoices(&nchoices, choices));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-trap", &trap));
  if (trap) {
    /* What is not finite is a status, not a signal, where traps are set */
    for (PetscInt k = 0; k < nchoices; k++) {
      PetscCall(CheckNotFinite(&choices[k], NAN, 0.0, MUON_STATUS_NANORINF));
      PetscCall(CheckNotFinite(&choices[k], -INFINITY, 0.0, MUON_STATUS_NANORINF));
    }
    PetscCall(PetscFinalize());
    return 0;
  }
  for (PetscInt k = 0; k < nchoices; k++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
      for (PetscInt gap = 0; gap < 3; gap++) PetscCall(CheckMessage(&choices[k], shapes[s][0], shapes[s][1], gap, &state));
      PetscCall(CheckZero(&choices[k], shapes[s][0], shapes[s][1]));
    }
    PetscCall(CheckZero(&choices[k], 0, 5));
    PetscCall(CheckZero(&choices[k], 5, 0));
    PetscCall(CheckMessage(&choices[k], 0, 4, 1, &state));
    PetscCall(CheckMessage(&choices[k], 4, 0, 1, &state));
    PetscCall(CheckNotFinite(&choices[k], NAN, 0.0, MUON_STATUS_NANORINF));
    PetscCall(CheckNotFinite(&choices[k], -INFINITY, 0.0, MUON_STATUS_NANORINF));
    PetscCall(CheckNotFinite(&choices[k], -PETSC_MAX_REAL, PETSC_MAX_REAL, MUON_STATUS_NANORINF));
  }
  for (PetscInt gap = 0; gap < 3; gap++) {
    PetscCall(CheckTies(12, 11, gap, 0.1, &state));
    PetscCall(CheckTies(7, 40, gap, 0.5, &state));
    PetscCall(CheckTies(65, 9, gap, 0.83, &state));
  }
  for (PetscInt k = 1; k < 16; k++) PetscCall(CheckRankK(k));
  PetscCall(CheckEverything(10, 30, &state));
  PetscCall(CheckEverything(30, 10, &state));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(residual); k++) {
    PetscCall(CheckResidual(&residual[k], 20, 30, &state));
    PetscCall(CheckResidual(&residual[k], 30, 20, &state));
  }
  PetscCall(CheckUntouched());
  PetscCall(CheckAlphas());
  if (!PetscDefined(USE_REAL_SINGLE)) {
    const TestChoice  wide          = {MUONCOMPRESSORTOPK, 0.2, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0};
    const char *const narrowtypes[] = {MUONCOMPRESSORNATURAL, MUONCOMPRESSORNEAREST, MUONCOMPRESSORTRUNCATED, MUONCOMPRESSORBF16};
    const char *const draws[]       = {MUONCOMPRESSORRANDK, MUONCOMPRESSORDROPOUT};
    TestChoice        narrow        = wide;

    /*
       What does not fit into binary32 is refused by what is written in it, and what is not kept does no harm
    */
    PetscCall(CheckNotFinite(&wide, 1e300, 0.0, MUON_STATUS_OK));
    narrow.values = MUON_COMPRESSOR_VALUES_SINGLE;
    PetscCall(CheckNotFinite(&narrow, 1e300, 0.0, MUON_STATUS_NANORINF));
    narrow.values = MUON_COMPRESSOR_VALUES_BF16;
    PetscCall(CheckNotFinite(&narrow, 3.4e38, 0.0, MUON_STATUS_NANORINF));
    narrow.values = MUON_COMPRESSOR_VALUES_NATURAL;
    PetscCall(CheckNotFinite(&narrow, -1e300, 0.0, MUON_STATUS_NANORINF));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(narrowtypes); k++) {
      narrow.type = narrowtypes[k];
      PetscCall(CheckNotFinite(&narrow, k == 3 ? 3.4e38 : 1e39, 0.0, MUON_STATUS_NANORINF));
    }
    /*
       What cannot be written fails whether it is drawn or not: just below the first number that rounds to
       none, and that number
    */
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(draws); k++) {
      for (int values = MUON_COMPRESSOR_VALUES_SINGLE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
        const double limit = ldexp(1.0, 128) - ldexp(1.0, 103) - (values == MUON_COMPRESSOR_VALUES_BF16 ? ldexp(1.0, 119) : 0);

        narrow.type   = draws[k];
        narrow.values = (MuonCompressorValues)values;
        for (int all = 0; all < 2; all++) {
          narrow.ratio = all ? 1 : 1e-7;
          PetscCall(CheckNotFinite(&narrow, (PetscScalar)nextafter(-limit, 0), 0.0, MUON_STATUS_OK));
          PetscCall(CheckNotFinite(&narrow, (PetscScalar)-limit, 0.0, MUON_STATUS_NANORINF));
        }
      }
    }
    narrow.ratio  = 0.2;
    narrow.type   = MUONCOMPRESSORDAMPING;
    narrow.values = MUON_COMPRESSOR_VALUES_SINGLE;
    PetscCall(CheckNotFinite(&narrow, 1e39, 0.0, MUON_STATUS_OK));
    PetscCall(CheckNotFinite(&narrow, 2e39, 0.0, MUON_STATUS_NANORINF));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

  test:
    suffix: trap
    args: -trap -fp_trap

TEST*/
