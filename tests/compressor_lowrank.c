static char help[] = "Low-rank types: worked examples and constants of topsvd, and what the subspace iteration of powersgd converges to, keeps and forgets.\n";

#include "compressor_common.h"
#include "wire_header.h"
#include "parameters.h"

static PetscErrorCode Create(const char type[], PetscInt rank, MuonCompressor *c)
{
  const TestChoice choice = {type, 0.1, rank, MUON_COMPRESSOR_VALUES_NATIVE, 0};

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C(X) in Y, which takes effect where commit is true, and the rank of the message */
static PetscErrorCode Send(MuonCompressor c, Mat X, PetscBool commit, Mat Y, PetscInt *rank)
{
  MuonStatus     status;
  unsigned char *buf;
  size_t         bytes;

  PetscFunctionBegin;
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_OK, "Status %s", MuonStatuses[status]);
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
  if (commit) PetscCall(MuonCompressorCommit(c));
  if (rank != NULL) *rank = buf[6];
  PetscCall(PetscFree(buf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(Mat X, Mat Y, PetscReal *squares)
{
  Mat      E;
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(TestMatCreate(m, n, 0, &E));
  PetscCall(TestMatAxpby(1.0, X, 0.0, E));
  PetscCall(TestMatAxpby(-1.0, Y, 1.0, E));
  PetscCall(TestMatSquares(E, squares));
  PetscCall(TestMatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Gaussian matrix of that rank */
static PetscErrorCode SetRank(Mat X, PetscInt rank, unsigned long long *state)
{
  Mat          A, B;
  PetscScalar *a, *b;
  PetscInt     m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(TestMatCreate(m, rank, 0, &A));
  PetscCall(TestMatCreate(n, rank, 0, &B));
  PetscCall(TestMatNormal(A, 1.0, state));
  PetscCall(TestMatNormal(B, 1.0, state));
  PetscCall(TestMatGet(A, PETSC_TRUE, &a));
  PetscCall(TestMatGet(B, PETSC_TRUE, &b));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) {
      PetscScalar x = 0;

      for (PetscInt k = 0; k < rank; k++) x += a[i * rank + k] * b[j * rank + k];
      PetscCall(TestMatSet(X, i, j, x));
    }
  }
  PetscCall(PetscFree(a));
  PetscCall(PetscFree(b));
  PetscCall(TestMatDestroy(&A));
  PetscCall(TestMatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   [[3, 0], [4, 0], [0, 2]] has the singular values 5 and 2: its best approximation of rank 1 is its first
   column
*/
static PetscErrorCode CheckExample(void)
{
  const PetscScalar a[]         = {3, 0, 4, 0, 0, 2};
  const PetscReal   exponents[] = {2, PETSC_INFINITY, 1, 3};
  const char *const types[]     = {MUONCOMPRESSORRANKK, MUONCOMPRESSORTOPSVD, MUONCOMPRESSORPOWERSGD};
  MuonCompressor    c;
  Mat               A, Y;
  PetscScalar      *y;
  PetscReal         p;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(3, 2, 1, &A));
  PetscCall(TestMatCreate(3, 2, 0, &Y));
  for (PetscInt e = 0; e < 6; e++) PetscCall(TestMatSet(A, e / 2, e % 2, a[e]));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscCall(Create(types[t], 1, &c));
    /* (2/5)^2 a step brings the second direction below every tolerance */
    for (PetscInt k = 0; k < (t == 2 ? 40 : 1); k++) PetscCall(Send(c, A, PETSC_TRUE, Y, NULL));
    PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
    for (PetscInt e = 0; e < 6; e++) TestCheck(PetscAbsScalar(y[e] - (e % 2 == 0 ? a[e] : 0)) <= 20 * PETSC_MACHINE_EPSILON, "%s: entry %" PetscInt_FMT " is %g", types[t], e, (double)y[e]);
    PetscCall(PetscFree(y));
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscCall(Create(MUONCOMPRESSORTOPSVD, 1, &c));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(exponents); k++) {
    PetscCall(SetNumber((PetscObject)c, "compressor_topsvd_schatten", exponents[k]));
    PetscCall(GetReal((PetscObject)c, "compressor_topsvd_schatten", &p));
    TestCheck(PetscMin(p, PETSC_INFINITY) == exponents[k], "Exponent %g, expected %g", (double)p, (double)exponents[k]);
    PetscCall(Send(c, A, PETSC_FALSE, Y, NULL));
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&A));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The constants for 10 x 100, 3 triples of 10; rounding only takes away, at most how much the bound of
   section 3 says
*/
static PetscErrorCode CheckAlphas(void)
{
  const double u = 1.0 / 16777216, e = 3 * u + 2 * u * u + u * u * (1 + u) * 1.7320508075688772;
  const struct {
    PetscReal            p;
    PetscInt             rank;
    MuonCompressorValues values;
    double               alpha;
  } table[]               = {{1.0, 3, MUON_COMPRESSOR_VALUES_NATIVE, 0.51},
                             {2.0, 3, MUON_COMPRESSOR_VALUES_NATIVE, 0.3},
                             {4.0, 3, MUON_COMPRESSOR_VALUES_NATIVE, 1 - 0.83666002653407556},
                             {PETSC_INFINITY, 3, MUON_COMPRESSOR_VALUES_NATIVE, 0.0},
                             {1.0, 10, MUON_COMPRESSOR_VALUES_NATIVE, 1.0},
                             {PETSC_INFINITY, 30, MUON_COMPRESSOR_VALUES_NATIVE, 1.0},
                             {2.0, 3, MUON_COMPRESSOR_VALUES_NATURAL, PetscDefined(USE_REAL_SINGLE) ? 295.0 / 512 * 0.3 : 0.3 * (1 - 217.0 / 512 * pow(1 + u, 6) - e * e) - u * u * 1.7320508075688772},
                             {1.0, 3, MUON_COMPRESSOR_VALUES_NATURAL, -1.0},
                             {PETSC_INFINITY, 10, MUON_COMPRESSOR_VALUES_NATURAL, -1.0},
                             {PETSC_INFINITY, 3, MUON_COMPRESSOR_VALUES_BF16, -1.0},
                             {2.0, 3, MUON_COMPRESSOR_VALUES_SINGLE, PetscDefined(USE_REAL_SINGLE) ? 0.3 : 0.3 * (1 - e * e) - u * u * 1.7320508075688772},
                             {1.0, 3, MUON_COMPRESSOR_VALUES_SINGLE, PetscDefined(USE_REAL_SINGLE) ? 0.51 : 1 - (0.7 + e * 2.4494897427831781) * (0.7 + e * 2.4494897427831781)},
                             {4.0, 10, MUON_COMPRESSOR_VALUES_SINGLE, PetscDefined(USE_REAL_SINGLE) ? 1.0 : 1 - 9 * u * u * 3.1622776601683795}};
  const PetscInt halves[] = {5, 5};
  MuonCompressor c;
  PetscReal      alpha;

  PetscFunctionBegin;
  PetscCall(Create(MUONCOMPRESSORTOPSVD, 1, &c));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    PetscCall(SetNumber((PetscObject)c, "compressor_topsvd_schatten", table[k].p));
    PetscCall(SetNumber((PetscObject)c, "compressor_rank", table[k].rank));
    PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[table[k].values]));
    PetscCall(MuonCompressorGetAlpha(c, 10, 100, &alpha));
    TestCheck(PetscAbsReal(alpha - (PetscReal)table[k].alpha) <= 10 * PETSC_MACHINE_EPSILON, "Row %zu: alpha %.16g, expected %.16g", k, (double)alpha, table[k].alpha);
  }
  /* Squares add up over blocks, 3 triples of 5 in each, powers of other norms do not */
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_rank", "3"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "native"));
  PetscCall(MuonCompressorSetBlocks(c, 2, halves, 1, NULL));
  for (PetscInt p = 1; p < 3; p++) {
    PetscCall(SetNumber((PetscObject)c, "compressor_topsvd_schatten", (PetscReal)p));
    PetscCall(MuonCompressorGetAlpha(c, 10, 100, &alpha));
    TestCheck(PetscAbsReal(alpha - (PetscReal)(p == 1 ? -1.0 : 0.6)) <= 10 * PETSC_MACHINE_EPSILON, "Blocks: alpha %g in the norm of exponent %" PetscInt_FMT, (double)alpha, p);
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(Create(MUONCOMPRESSORPOWERSGD, 3, &c));
  PetscCall(MuonCompressorGetAlpha(c, 10, 100, &alpha));
  TestCheck(alpha == -1.0, "powersgd: alpha %g", (double)alpha);
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   On diag(2, 1), with rows and columns of zeros, each product multiplies the second entry of a vector by half
   of what the first gets: tan, the quotient of the two in p, which the first column of p p^T A shows, goes
   down by (1/2)^2 a sweep. No sum has two terms, so that the quotient has no more than the roundings of a few
   products
*/
static PetscErrorCode CheckRate(PetscInt m, PetscInt n, PetscInt sweeps)
{
  MuonCompressor c;
  Mat            A, Y;
  PetscReal      before = 0;
  PetscInt       got;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 2, &A));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatSet(A, 0, 0, 2.0));
  PetscCall(TestMatSet(A, 1, 1, 1.0));
  PetscCall(Create(MUONCOMPRESSORPOWERSGD, 1, &c));
  PetscCall(SetNumber((PetscObject)c, "compressor_powersgd_sweeps", sweeps));
  PetscCall(GetInt((PetscObject)c, "compressor_powersgd_sweeps", &got));
  TestCheck(got == sweeps, "%" PetscInt_FMT " sweeps, expected %" PetscInt_FMT, got, sweeps);
  for (PetscInt k = 0; k < 6; k++) {
    PetscScalar    *y;
    PetscReal       tangent;
    const PetscReal rate = PetscPowRealInt(0.25, (int)sweeps);

    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(Send(c, A, PETSC_TRUE, Y, NULL));
    PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
    tangent = y[n] / y[0];
    TestCheck(k == 0 || PetscAbsReal(tangent - rate * before) <= 60 * (PetscReal)sweeps * PETSC_MACHINE_EPSILON * PetscAbsReal(tangent), "%" PetscInt_FMT " sweeps: %g after %g", sweeps, (double)tangent, (double)before);
    before = tangent;
    PetscCall(PetscFree(y));
  }
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&A));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What powersgd sends is a projection of A: ||A - C||^2 = ||A||^2 - ||C||^2, and no closer to A than the best
   of that rank (Eckart and Young). A larger subspace has the smaller one in it at the first step, and that of
   all directions leaves the best one
*/
static PetscErrorCode CheckProjection(PetscInt m, PetscInt n, PetscInt rank, unsigned long long *state)
{
  const PetscInt  oversampling[] = {0, 2, 5, 1000};
  const PetscReal slack          = 40 * PetscMax(m, n) * PETSC_MACHINE_EPSILON;
  MuonCompressor  c, best;
  Mat             A, D, Y;
  PetscReal       all = 0, kept = 0, rest = 0, least = 0, before = 0;
  PetscInt        got;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 1, &A));
  PetscCall(TestMatCreate(m, n, 0, &D));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(oversampling); k++) {
    unsigned long long again = *state;

    PetscCall(TestMatNormal(A, 1.0, &again));
    PetscCall(Create(MUONCOMPRESSORTOPSVD, rank, &best));
    PetscCall(Create(MUONCOMPRESSORPOWERSGD, rank, &c));
    PetscCall(SetNumber((PetscObject)c, "compressor_powersgd_oversampling", oversampling[k]));
    PetscCall(GetInt((PetscObject)c, "compressor_powersgd_oversampling", &got));
    TestCheck(got == oversampling[k], "Oversampling %" PetscInt_FMT ", expected %" PetscInt_FMT, got, oversampling[k]);
    for (PetscInt step = 0; step < 5; step++) {
      PetscCall(Send(best, A, PETSC_TRUE, Y, NULL));
      PetscCall(Residual(A, Y, &least));
      PetscCall(Send(c, A, PETSC_TRUE, Y, NULL));
      PetscCall(Residual(A, Y, &rest));
      PetscCall(TestMatSquares(A, &all));
      PetscCall(TestMatSquares(Y, &kept));
      TestCheck(PetscAbsReal(rest + kept - all) <= slack * all, "%" PetscInt_FMT " x %" PetscInt_FMT ", step %" PetscInt_FMT ": %g and %g of %g", m, n, step, (double)kept, (double)rest, (double)all);
      TestCheck(rest >= least - slack * all && rest <= all * (1 + slack), "%" PetscInt_FMT " x %" PetscInt_FMT ": residual %g, the best is %g", m, n, (double)rest, (double)least);
      if (oversampling[k] == 1000) TestCheck(rest <= least + slack * all, "%" PetscInt_FMT " x %" PetscInt_FMT ": residual %g of all directions, the best is %g", m, n, (double)rest, (double)least);
      if (step == 0) {
        TestCheck(k == 0 || rest <= before + slack * all, "%" PetscInt_FMT " x %" PetscInt_FMT ": residual %g with %" PetscInt_FMT " more columns, %g with fewer", m, n, (double)rest, oversampling[k], (double)before);
        before = rest;
      }
      /* The next matrix is a little different */
      PetscCall(TestMatNormal(D, 0.1, &again));
      PetscCall(TestMatAxpby(1.0, D, 1.0, A));
    }
    PetscCall(MuonCompressorDestroy(&c));
    PetscCall(MuonCompressorDestroy(&best));
  }
  (void)TestBits(state);
  PetscCall(TestMatDestroy(&A));
  PetscCall(TestMatDestroy(&D));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All directions kept change nothing but the last bits; a matrix of rank r has come over after ceil(r / K)
   messages of what is missing, and its messages have no more columns than it has rank
*/
static PetscErrorCode CheckEverything(const char type[], PetscInt oversampling, PetscInt m, PetscInt n, unsigned long long *state)
{
  const PetscInt  least = PetscMin(m, n), keep = 2;
  const PetscReal rounding = 500 * PetscMax(m, n) * PETSC_MACHINE_EPSILON;
  MuonCompressor  c;
  Mat             X, Y, G;
  PetscReal       all = 0, rest = 0;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatCreate(m, n, 0, &G));
  PetscCall(TestMatNormal(X, 1.0, state));
  PetscCall(Create(type, 1000, &c));
  PetscCall(TestSetOfType(c, "powersgd_oversampling", oversampling));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(Send(c, X, PETSC_TRUE, Y, NULL));
    PetscCall(TestMatSquares(X, &all));
    PetscCall(Residual(X, Y, &rest));
    TestCheck(rest <= PetscSqr(rounding) * all, "%s of everything, %" PetscInt_FMT " x %" PetscInt_FMT ": off by %g", type, m, n, (double)PetscSqrtReal(rest));
  }
  PetscCall(MuonCompressorDestroy(&c));
  for (PetscInt rank = 1; rank <= least; rank += 2) {
    PetscInt sent = 0;

    PetscCall(Create(type, keep, &c));
    PetscCall(TestSetOfType(c, "powersgd_oversampling", oversampling));
    PetscCall(SetRank(X, rank, state));
    PetscCall(TestMatSquares(X, &all));
    PetscCall(TestMatAxpby(0.0, X, 0.0, G));
    for (PetscInt k = 0; k < (rank + keep - 1) / keep; k++) {
      unsigned char *buf;
      size_t         bytes;

      PetscCall(MuonCompressorSetStep(c, k));
      PetscCall(TestEncode(c, X, G, &buf, &bytes));
      PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 1.0, bytes, buf, G));
      PetscCall(MuonCompressorCommit(c));
      sent += buf[6];
      PetscCall(PetscFree(buf));
    }
    PetscCall(Residual(X, G, &rest));
    TestCheck(rest <= PetscSqr(rounding) * all, "%s, rank %" PetscInt_FMT " of %" PetscInt_FMT " x %" PetscInt_FMT ": %g of %g are missing", type, rank, m, n, (double)PetscSqrtReal(rest), (double)PetscSqrtReal(all));
    TestCheck(sent <= rank + keep - 1 && (rank > keep || sent == rank), "%s: %" PetscInt_FMT " columns for a matrix of rank %" PetscInt_FMT, type, sent, rank);
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two objects that were shown different matrices write the same bytes for X if what they keep is the same */
static PetscErrorCode CheckTwins(MuonCompressor c, MuonCompressor twin, Mat X, PetscBool expected, const char what[])
{
  unsigned char *buf, *other;
  size_t         bytes, otherbytes;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(TestEncode(twin, X, NULL, &other, &otherbytes));
  PetscCall(PetscMemcmp(buf, other, PetscMin(bytes, otherbytes), &same));
  if (bytes != otherbytes) same = PETSC_FALSE;
  TestCheck(same == expected, "After %s: %s", what, same ? "the same message" : "another message");
  PetscCall(PetscFree(buf));
  PetscCall(PetscFree(other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckState(PetscInt m, PetscInt n, PetscInt oversampling, unsigned long long *state)
{
  MuonCompressor c, twin, fresh;
  MuonStatus     status;
  Mat            A, B, Z, bad, small, Y;
  unsigned char *buf;
  size_t         bytes;
  PetscInt       rank;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 1, &A));
  PetscCall(TestMatCreate(m, n, 0, &B));
  PetscCall(TestMatCreate(m, n, 2, &Z));
  PetscCall(TestMatCreate(m, n, 0, &bad));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatCreate(m, n - 1, 0, &small));
  PetscCall(TestMatNormal(A, 1.0, state));
  PetscCall(TestMatNormal(B, 1.0, state));
  PetscCall(TestMatNormal(bad, 1.0, state));
  PetscCall(TestMatNormal(small, 1.0, state));
  PetscCall(TestMatSet(bad, m - 1, n - 1, NAN));
  PetscCall(Create(MUONCOMPRESSORPOWERSGD, 2, &c));
  PetscCall(Create(MUONCOMPRESSORPOWERSGD, 2, &twin));
  PetscCall(Create(MUONCOMPRESSORPOWERSGD, 2, &fresh));
  PetscCall(TestSetOfType(c, "powersgd_oversampling", oversampling));
  PetscCall(TestSetOfType(twin, "powersgd_oversampling", oversampling));
  PetscCall(TestSetOfType(fresh, "powersgd_oversampling", oversampling));

  PetscCall(Send(c, A, PETSC_FALSE, Y, NULL));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a message that did not take effect"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(MuonCompressorReset(twin));
  PetscCall(Send(c, A, PETSC_TRUE, Y, NULL));
  PetscCall(CheckTwins(c, twin, B, PETSC_FALSE, "a message that took effect"));
  PetscCall(Send(twin, A, PETSC_TRUE, Y, NULL));
  PetscCall(CheckTwins(c, twin, A, PETSC_TRUE, "the same messages"));
  /* A step that diverges, then the one that replaces it */
  PetscCall(Send(c, B, PETSC_FALSE, Y, NULL));
  PetscCall(CheckTwins(c, twin, A, PETSC_TRUE, "a step that diverged"));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(MuonCompressorCommit(twin));
  PetscCall(MuonCompressorCommit(c));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a commit without a message"));
  PetscCall(Send(c, Z, PETSC_TRUE, Y, &rank));
  TestCheck(rank == 0, "Zero has rank %" PetscInt_FMT, rank);
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "a zero matrix"));
  PetscCall(TestEncode(c, bad, NULL, &buf, &bytes));
  PetscCall(MuonCompressorGetStatus(c, &status));
  TestCheck(status == MUON_STATUS_NANORINF && bytes == 0, "NaN has status %s", MuonStatuses[status]);
  PetscCall(MuonCompressorCommit(c));
  PetscCall(PetscFree(buf));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "NaN"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_FALSE, "some messages"));
  PetscCall(CheckTwins(c, fresh, small, PETSC_TRUE, "a change of the size"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_rank", "3"));
  PetscCall(MuonObjectSetParameter((PetscObject)fresh, "compressor_rank", "3"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a change of the rank"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_rank", "2"));
  PetscCall(CheckTwins(c, twin, B, PETSC_TRUE, "the old rank again"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(MuonObjectSetParameter((PetscObject)fresh, "compressor_rank", "2"));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a reset"));
  /* The start is the sender's own, and the same in each step */
  PetscCall(MuonCompressorSetStep(c, 77));
  PetscCall(CheckTwins(c, fresh, B, PETSC_TRUE, "a step"));
  PetscCall(MuonCompressorSetStream(c, 11, "attn.qkv", 4, 1));
  PetscCall(CheckTwins(c, fresh, B, PETSC_FALSE, "a change of the sender"));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&twin));
  PetscCall(MuonCompressorDestroy(&fresh));
  PetscCall(TestMatDestroy(&A));
  PetscCall(TestMatDestroy(&B));
  PetscCall(TestMatDestroy(&Z));
  PetscCall(TestMatDestroy(&bad));
  PetscCall(TestMatDestroy(&small));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Directions that vanish come back: after a matrix of rank 1 the next one has all its columns, and one that
   is orthogonal to all that was kept is met at once
*/
static PetscErrorCode CheckVanish(PetscInt oversampling, unsigned long long *state)
{
  const PetscInt m = 9, n = 12;
  MuonCompressor c;
  Mat            X, Y;
  PetscReal      all = 0, rest = 0;
  PetscInt       rank;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 0, &X));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(Create(MUONCOMPRESSORPOWERSGD, 4, &c));
  PetscCall(TestSetOfType(c, "powersgd_oversampling", oversampling));
  for (PetscInt j = 0; j < n; j++) {
    /* Only column j, by turns of one entry, which leaves exact zeros everywhere, and of all */
    PetscCall(TestMatAxpby(0.0, X, 0.0, X));
    for (PetscInt i = 0; i < (j % 2 == 0 ? 1 : m); i++) PetscCall(TestMatSet(X, i, j, TestNormal(state)));
    PetscCall(Send(c, X, PETSC_TRUE, Y, &rank));
    PetscCall(TestMatSquares(X, &all));
    PetscCall(Residual(X, Y, &rest));
    TestCheck(rank == 1 && rest <= PetscSqr(100 * PETSC_MACHINE_EPSILON) * all, "Column %" PetscInt_FMT ": rank %" PetscInt_FMT ", %g of %g are missing", j, rank, (double)rest, (double)all);
  }
  PetscCall(TestMatNormal(X, 1.0, state));
  PetscCall(Send(c, X, PETSC_TRUE, Y, &rank));
  TestCheck(rank == 4, "%" PetscInt_FMT " columns after matrices of rank 1", rank);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of two times the matrix has that power times the message, though its squares are out of range */
static PetscErrorCode CheckScale(PetscInt oversampling, unsigned long long *state)
{
  const int      powers[] = {PetscDefined(USE_REAL_SINGLE) ? 100 : 800, PetscDefined(USE_REAL_SINGLE) ? -60 : -800};
  MuonCompressor c, scaled;
  Mat            X, Y, Z;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(11, 7, 1, &X));
  PetscCall(TestMatCreate(11, 7, 0, &Y));
  PetscCall(TestMatCreate(11, 7, 0, &Z));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(powers); k++) {
    const PetscReal factor = PetscPowRealInt(2.0, powers[k]);

    PetscCall(Create(MUONCOMPRESSORPOWERSGD, 3, &c));
    PetscCall(Create(MUONCOMPRESSORPOWERSGD, 3, &scaled));
    PetscCall(TestSetOfType(c, "powersgd_oversampling", oversampling));
    PetscCall(TestSetOfType(scaled, "powersgd_oversampling", oversampling));
    for (PetscInt step = 0; step < 3; step++) {
      PetscCall(TestMatNormal(X, 1.0, state));
      PetscCall(Send(c, X, PETSC_TRUE, Y, NULL));
      PetscCall(TestMatAxpby(factor, Y, 0.0, Y));
      PetscCall(TestMatAxpby(factor, X, 0.0, X));
      PetscCall(Send(scaled, X, PETSC_TRUE, Z, NULL));
      PetscCall(TestMatSame(Y, Z, &same));
      TestCheck(same, "2^%d times the matrix is not 2^%d times the message", powers[k], powers[k]);
    }
    PetscCall(MuonCompressorDestroy(&c));
    PetscCall(MuonCompressorDestroy(&scaled));
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Singular values that a codec writes as zero are no triples */
static PetscErrorCode CheckSmall(void)
{
  const struct {
    MuonCompressorValues values;
    int                  first, second;
    PetscInt             rank;
  } table[] = {{MUON_COMPRESSOR_VALUES_NATURAL, -120, -126, 2}, {MUON_COMPRESSOR_VALUES_NATURAL, -120, -127, 1}, {MUON_COMPRESSOR_VALUES_NATURAL, -127, -130, 0}, {MUON_COMPRESSOR_VALUES_SINGLE, -140, -149, 2},
               {MUON_COMPRESSOR_VALUES_SINGLE, -140, -150, 1},  {MUON_COMPRESSOR_VALUES_BF16, -130, -133, 2},    {MUON_COMPRESSOR_VALUES_BF16, -130, -140, 1}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    MuonCompressor c;
    Mat            X, Y;
    unsigned char *buf;
    size_t         bytes;
    PetscBool      valid;
    PetscReal      first = (PetscReal)ldexp(1.0, table[k].first), second = (PetscReal)ldexp(1.0, table[k].second);

    /* Single has no half of its smallest number */
    if (second == 0.0) continue;
    PetscCall(Create(MUONCOMPRESSORTOPSVD, 2, &c));
    PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[table[k].values]));
    PetscCall(TestMatCreate(4, 3, 0, &X));
    PetscCall(TestMatCreate(4, 3, 0, &Y));
    PetscCall(TestMatSet(X, 2, 0, first));
    PetscCall(TestMatSet(X, 0, 1, second));
    PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
    TestCheck(bytes > 0 && buf[6] == table[k].rank, "Row %zu: rank %d, expected %" PetscInt_FMT, k, (int)buf[6], table[k].rank);
    PetscCall(MuonCompressorValidate(c, 4, 3, bytes, buf, &valid));
    TestCheck(valid, "Row %zu: a good message is refused", k);
    PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
    PetscCall(PetscFree(buf));
    PetscCall(TestMatDestroy(&X));
    PetscCall(TestMatDestroy(&Y));
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What natural compression adds to the square of a number in expectation: (x - 2^a) (2^(a + 1) - x), where
   2^a <= x < 2^(a + 1)
*/
static double Variance(double x)
{
  int    exponent;
  double low;

  x = fabs(x);
  if (x == 0) return 0;
  (void)frexp(x, &exponent);
  low = ldexp(1.0, exponent - 1);
  return (x - low) * (2 * low - x);
}

/*
   Roundings of P and Q that are independent of each other and of the part that is left out: E ||A - C||^2 =
   ||A||^2 - ||P Q^T||^2 + sum_k (E ||p_k||^2 E ||q_k||^2 - ||p_k||^2 ||q_k||^2), at most ||A||^2 - 47/64
   ||P^T A||^2. The mean of many steps is within five of its standard deviations
*/
static PetscErrorCode CheckNatural(PetscInt m, PetscInt n, unsigned long long *state)
{
  const PetscInt draws = 400, rank = 3;
  MuonCompressor c;
  Mat            A, Y;
  PetscReal     *factors, all = 0, kept = 0, rest = 0;
  unsigned char *buf;
  size_t         bytes;
  double         expected, mean = 0, squares = 0, deviation;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 0, &A));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatNormal(A, 1.0, state));
  PetscCall(TestMatSquares(A, &all));
  PetscCall(Create(MUONCOMPRESSORPOWERSGD, rank, &c));
  PetscCall(TestEncode(c, A, NULL, &buf, &bytes));
  TestCheck(bytes == TestMessageBytes((unsigned long long)rank, (size_t)(rank * (m + n)) * sizeof(PetscReal)), "%zu bytes", bytes);
  PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
  PetscCall(TestMatSquares(Y, &kept));
  PetscCall(PetscMalloc1(rank * (m + n), &factors));
  PetscCall(PetscMemcpy(factors, buf + bytes - (size_t)(rank * (m + n)) * sizeof(PetscReal), (size_t)(rank * (m + n)) * sizeof(PetscReal)));
  expected = (double)(all - kept);
  for (PetscInt k = 0; k < rank; k++) {
    double p = 0, q = 0, dp = 0, dq = 0;

    /* Rows of the wire, the columns of the matrix, come first */
    for (PetscInt j = 0; j < n; j++) {
      p += PetscSqr((double)factors[k * n + j]);
      dp += Variance((double)factors[k * n + j]);
    }
    for (PetscInt i = 0; i < m; i++) {
      q += PetscSqr((double)factors[rank * n + k * m + i]);
      dq += Variance((double)factors[rank * n + k * m + i]);
    }
    expected += (p + dp) * (q + dq) - p * q;
  }
  TestCheck(expected <= (double)all - 47.0 / 64 * (double)kept, "%g is expected, of %g and %g", expected, (double)all, (double)kept);
  PetscCall(PetscFree(factors));
  PetscCall(PetscFree(buf));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "natural"));
  for (PetscInt k = 0; k < draws; k++) {
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(Send(c, A, PETSC_FALSE, Y, NULL));
    PetscCall(Residual(A, Y, &rest));
    mean += (double)rest / (double)draws;
    squares += PetscSqr((double)rest) / (double)draws;
  }
  deviation = sqrt((squares - mean * mean) / (double)draws);
  TestCheck(deviation < 0.02 * mean && PetscAbs(mean - expected) <= 5 * deviation, "The square of the error is %g in the mean, expected %g within %g", mean, expected, 5 * deviation);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&A));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   diag(2, 1) in each of four blocks of different sizes: the best approximations of rank 1 leave a 1 in each,
   which only a state of its own for each block comes to
*/
static PetscErrorCode CheckBlocks(void)
{
  const PetscInt rows[] = {2, 3}, columns[] = {4, 2};
  MuonCompressor c;
  Mat            X, Y;
  PetscReal      rest = 0;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(5, 6, 0, &X));
  PetscCall(TestMatCreate(5, 6, 0, &Y));
  for (PetscInt b = 0; b < 4; b++) {
    for (PetscInt k = 0; k < 2; k++) PetscCall(TestMatSet(X, (b / 2) * rows[0] + k, (b % 2) * columns[0] + k, 2.0 - (PetscReal)k));
  }
  PetscCall(Create(MUONCOMPRESSORPOWERSGD, 1, &c));
  PetscCall(MuonCompressorSetBlocks(c, 2, rows, 2, columns));
  for (PetscInt k = 0; k < 16; k++) {
    unsigned char *buf;
    size_t         bytes;

    PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
    PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, Y));
    PetscCall(MuonCompressorCommit(c));
    PetscCall(PetscFree(buf));
    PetscCall(Residual(X, Y, &rest));
  }
  /* tan^2 goes down by 2^-4 a step, 2^-60 in all but the first */
  TestCheck(PetscAbsReal(rest - 4) <= 100 * PETSC_MACHINE_EPSILON, "Four blocks leave %.17g, expected 4", (double)rest);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt     shapes[][2] = {{12, 12}, {31, 8}, {8, 31}, {1, 7}, {7, 1}, {1, 1}};
  unsigned long long state       = 21;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckExample());
  PetscCall(CheckAlphas());
  for (PetscInt sweeps = 1; sweeps < 4; sweeps++) {
    PetscCall(CheckRate(2, 2, sweeps));
    PetscCall(CheckRate(5, 4, sweeps));
    PetscCall(CheckRate(3, 40, sweeps));
  }
  PetscCall(CheckProjection(20, 20, 4, &state));
  PetscCall(CheckProjection(50, 12, 3, &state));
  PetscCall(CheckProjection(12, 50, 3, &state));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    PetscCall(CheckEverything(MUONCOMPRESSORTOPSVD, 0, shapes[s][0], shapes[s][1], &state));
    PetscCall(CheckEverything(MUONCOMPRESSORPOWERSGD, 0, shapes[s][0], shapes[s][1], &state));
    PetscCall(CheckEverything(MUONCOMPRESSORPOWERSGD, 3, shapes[s][0], shapes[s][1], &state));
  }
  for (PetscInt oversampling = 0; oversampling < 4; oversampling += 3) {
    PetscCall(CheckState(14, 9, oversampling, &state));
    PetscCall(CheckState(9, 14, oversampling, &state));
    PetscCall(CheckVanish(oversampling, &state));
    PetscCall(CheckScale(oversampling, &state));
  }
  PetscCall(CheckNatural(20, 30, &state));
  PetscCall(CheckNatural(40, 9, &state));
  PetscCall(CheckSmall());
  PetscCall(CheckBlocks());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
