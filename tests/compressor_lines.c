static char help[] = "Whole columns and rows: the worked example, ties, what is kept in each norm, and what is left after each step.\n";

#include "compressor_common.h"
#include <petscmuon/private/muoncompressorimpl.h>
#include "parameters.h"

static PetscErrorCode Create(const char type[], PetscReal ratio, PetscReal p, MuonCompressor *c)
{
  const TestChoice choice = {type, ratio, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_NATIVE, 0};

  PetscFunctionBegin;
  PetscCall(TestCreate(&choice, c));
  PetscCall(TestSetOfType(*c, "line_norm", p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transpose(Mat X, Mat Y)
{
  PetscScalar *rows;
  PetscInt     m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(TestMatGet(X, PETSC_TRUE, &rows));
  for (PetscInt e = 0; e < m * n; e++) PetscCall(TestMatSet(Y, e % n, e / n, rows[e]));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of lines given row by row, through columntopk and, transposed, through rowtopk, those are kept that the
   bits say: line 0 is the lowest. What is kept is kept exactly
*/
static PetscErrorCode CheckKept(const char what[], PetscInt m, PetscInt n, const PetscScalar x[], PetscReal ratio, PetscReal p, unsigned expected)
{
  MuonCompressor c, r;
  Mat            X, Y, Xt, Yt, Z;
  PetscScalar   *y;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(Create(MUONCOMPRESSORCOLUMNTOPK, ratio, p, &c));
  PetscCall(Create(MUONCOMPRESSORROWTOPK, ratio, p, &r));
  PetscCall(TestMatCreate(m, n, 1, &X));
  PetscCall(TestMatCreate(m, n, 2, &Y));
  PetscCall(TestMatCreate(n, m, 1, &Xt));
  PetscCall(TestMatCreate(n, m, 0, &Yt));
  PetscCall(TestMatCreate(m, n, 0, &Z));
  for (PetscInt e = 0; e < m * n; e++) PetscCall(TestMatSet(X, e / n, e % n, x[e]));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
  for (PetscInt e = 0; e < m * n; e++) {
    const PetscScalar is = (expected >> e % n & 1u) != 0 ? x[e] : 0.0;

    TestCheck(y[e] == is, "%s: entry (%" PetscInt_FMT ", %" PetscInt_FMT ") is %g, expected %g", what, e / n, e % n, (double)y[e], (double)is);
  }
  PetscCall(Transpose(X, Xt));
  PetscCall(MuonCompressorApply(r, Xt, Yt));
  PetscCall(Transpose(Yt, Z));
  PetscCall(TestMatSame(Y, Z, &same));
  TestCheck(same, "%s: rows are not columns of the transposed matrix", what);
  PetscCall(PetscFree(y));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Xt));
  PetscCall(TestMatDestroy(&Yt));
  PetscCall(TestMatDestroy(&Z));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckExamples(void)
{
  const PetscReal   tiny = PetscPowRealInt(2.0, PetscDefined(USE_REAL_SINGLE) ? -140 : -1060), huge = PetscPowRealInt(2.0, PetscDefined(USE_REAL_SINGLE) ? 127 : 1023), inf = PETSC_INFINITY;
  const PetscScalar example[] = {3, 0, 4, 0, 0, 2}, transposed[] = {3, 4, 0, 0, 0, 2};
  /*
     Columns (3, 3, 3), (5, 0, 0), (4, 4, 0): the greatest in l1, in l_inf, and, with 32 of 27, 25 and 32
     squares, in l2; 81, 125 and 128 cubes; of fourth powers it is 625
  */
  const PetscScalar norms[] = {3, 5, 4, 3, 0, 4, 3, 0, 0};
  /* Ties: all alike in l2, of signs and orders that differ */
  const PetscScalar ties[] = {3, -5, 4, 0, 5, 4, 0, 3, 5, 0};
  const PetscScalar zero[] = {0, 0, 0, 0, 0, 0}, one[] = {1, -2, 3}, size[] = {tiny, 0, 2 * tiny, tiny, 2 * tiny, 0}, large[] = {huge, 0, huge, huge, huge, 0};

  PetscFunctionBegin;
  /* 3 x 2 as [[3, 0], [4, 0], [0, 2]]: column 0 has the length 5, row 1 the length 4 */
  PetscCall(CheckKept("example", 3, 2, example, 0.5, 2.0, 1));
  PetscCall(CheckKept("example", 2, 3, transposed, 0.1, 2.0, 2));
  PetscCall(CheckKept("l1", 3, 3, norms, 0.1, 1.0, 1));
  PetscCall(CheckKept("l2", 3, 3, norms, 0.1, 2.0, 4));
  PetscCall(CheckKept("l3", 3, 3, norms, 0.1, 3.0, 4));
  PetscCall(CheckKept("l4", 3, 3, norms, 0.1, 4.0, 2));
  PetscCall(CheckKept("linf", 3, 3, norms, 0.1, inf, 2));
  PetscCall(CheckKept("l1, two", 3, 3, norms, 0.7, 1.0, 5));
  PetscCall(CheckKept("ties", 2, 5, ties, 0.2, 2.0, 1));
  PetscCall(CheckKept("ties", 2, 5, ties, 0.6, 2.0, 7));
  PetscCall(CheckKept("ties of zero", 2, 3, zero, 0.67, 2.0, 3));
  PetscCall(CheckKept("one row", 1, 3, one, 0.67, 2.0, 6));
  PetscCall(CheckKept("one column", 3, 1, one, 0.1, 2.0, 1));
  /*
     Squares that are out of range, of columns with sqrt(2), 2 and 2 times the unit, and of sqrt(2), 1 and 1
  */
  PetscCall(CheckKept("tiny", 2, 3, size, 0.4, 2.0, 2));
  PetscCall(CheckKept("tiny", 2, 3, size, 0.7, 2.0, 6));
  PetscCall(CheckKept("huge", 2, 3, large, 0.4, 2.0, 1));
  PetscCall(CheckKept("huge", 2, 3, large, 0.4, 1.0, 1));
  PetscCall(CheckKept("huge", 2, 3, large, 0.7, 2.5, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With all lines kept nothing changes but by the rounding of the values: natural ones are those of the type
   natural, as they have the random numbers of their places
*/
static PetscErrorCode CheckEverything(const char type[], PetscInt m, PetscInt n, unsigned long long *state)
{
  MuonCompressor c, dense;
  Mat            X, Y, Z;
  PetscReal      alpha;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 2, &X));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(TestMatCreate(m, n, 1, &Z));
  PetscCall(TestMatNormal(X, 1.0, state));
  PetscCall(Create(type, 1.0, 1.5, &c));
  PetscCall(Create(MUONCOMPRESSORNATURAL, 1.0, 2.0, &dense));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatSame(X, Y, &same));
  TestCheck(same, "%s: everything of %" PetscInt_FMT " x %" PetscInt_FMT " is something else", type, m, n);
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  TestCheck(alpha == 1.0, "%s: alpha of everything is %g", type, (double)alpha);
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "natural"));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(MuonCompressorApply(dense, X, Z));
  PetscCall(TestMatSame(Y, Z, &same));
  TestCheck(same, "%s: natural values of %" PetscInt_FMT " x %" PetscInt_FMT " are not those of natural", type, m, n);
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&Z));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&dense));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The receiver has all lines after as many messages as it takes, and not before */
static PetscErrorCode CheckResidual(const char type[], PetscReal ratio, PetscInt steps, PetscInt m, PetscInt n, unsigned long long *state)
{
  MuonCompressor c;
  Mat            X, G;
  unsigned char *buf;
  size_t         bytes;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 2, &X));
  PetscCall(TestMatCreate(m, n, 0, &G));
  PetscCall(TestMatNormal(X, 1.0, state));
  PetscCall(Create(type, ratio, 2.0, &c));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "double"));
  for (PetscInt k = 1; k <= steps; k++) {
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(TestEncode(c, X, G, &buf, &bytes));
    PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 1.0, bytes, buf, G));
    PetscCall(PetscFree(buf));
    PetscCall(TestMatSame(X, G, &same));
    TestCheck(same == (k == steps ? PETSC_TRUE : PETSC_FALSE), "%s: after %" PetscInt_FMT " of %" PetscInt_FMT " steps", type, k, steps);
  }
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&G));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||C(X) - X||^2 / ||X||^2 in l_{p,q} over columns, q == 0 being the Frobenius norm */
static PetscErrorCode Left(MuonCompressor c, Mat X, PetscReal p, PetscReal q, double *left)
{
  Mat          Y;
  PetscScalar *x, *y;
  PetscInt     m, n;
  double       all = 0, rest = 0;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(TestMatCreate(m, n, 0, &Y));
  PetscCall(MuonCompressorApply(c, X, Y));
  PetscCall(TestMatGet(X, PETSC_TRUE, &x));
  PetscCall(TestMatGet(Y, PETSC_TRUE, &y));
  if (q == 0) p = q = 2;
  for (PetscInt j = 0; j < n; j++) {
    double before = 0, after = 0;

    for (PetscInt i = 0; i < m; i++) {
      before += pow(fabs((double)x[i * n + j]), (double)p);
      after += pow(fabs((double)(x[i * n + j] - y[i * n + j])), (double)p);
    }
    all += pow(before, (double)(q / p));
    rest += pow(after, (double)(q / p));
  }
  *left = pow(rest / all, 2.0 / (double)q);
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(y));
  PetscCall(TestMatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckContraction(unsigned long long *state)
{
  const PetscInt  m = 16, n = 10;
  const PetscReal ps[] = {1.0, 1.5, 2.0, 4.0}, qs[] = {1.0, 2.0, 3.0};
  MuonCompressor  c;
  Mat             X;
  PetscReal       alpha;
  double          left = 0;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(m, n, 1, &X));
  for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(ps); a++) {
    for (PetscInt kept = 1; kept < n; kept += 3) {
      PetscCall(Create(MUONCOMPRESSORCOLUMNTOPK, (PetscReal)kept / n, ps[a], &c));
      PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
      for (PetscInt draw = 0; draw < 20; draw++) {
        PetscCall(TestMatNormal(X, 1.0, state));
        /*
           Columns between one entry and all, where the norms differ most, and of one length in every other
           draw: only the order of the columns tells them apart then
        */
        for (PetscInt e = 0; e < m * n; e++) {
          if (e / n > (PetscInt)(TestBits(state) % (unsigned long long)m)) PetscCall(TestMatSet(X, e / n, e % n, 0.0));
          else if (draw % 2 == 0) PetscCall(TestMatSet(X, e / n, e % n, 1.0));
        }
        PetscCall(Left(c, X, ps[a], 0, &left));
        TestCheck(left <= 1 - (double)alpha + 100 * (double)PETSC_MACHINE_EPSILON, "l%g, %" PetscInt_FMT " columns: %g is left, alpha %g", (double)ps[a], kept, left, (double)alpha);
        for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(qs); b++) {
          PetscCall(Left(c, X, ps[a], qs[b], &left));
          TestCheck(left <= pow(1 - (double)kept / n, 2.0 / (double)qs[b]) + 100 * (double)PETSC_MACHINE_EPSILON, "l%g,%g, %" PetscInt_FMT " columns: %g is left", (double)ps[a], (double)qs[b], kept, left);
        }
      }
      PetscCall(MuonCompressorDestroy(&c));
    }
  }
  /*
     No larger constant is true: all columns have the same l_p norm, the first ones, which are kept, the least
     in l_2: one entry for p > 2, entries that are all alike for p < 2
  */
  {
    const struct {
      PetscReal p, entry; /* of a column of equal entries with the l_p norm 1 */
    } worst[] = {{1.0, 0.0625}, {4.0, 0.5}, {PETSC_INFINITY, 1.0}, {2.0, 0.25}};

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(worst); k++) {
      const PetscReal flat = worst[k].entry;

      for (PetscInt kept = 1; kept < n; kept += 2) {
        for (PetscInt e = 0; e < m * n; e++) PetscCall(TestMatSet(X, e / n, e % n, (e % n < kept) == (worst[k].p < 2.0) ? flat : (e / n == 3 ? 1.0 : 0.0)));
        PetscCall(Create(MUONCOMPRESSORCOLUMNTOPK, (PetscReal)kept / n, worst[k].p, &c));
        PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
        PetscCall(Left(c, X, 2.0, 0, &left));
        TestCheck(PetscAbs(left - (1 - (double)alpha)) <= 100 * (double)PETSC_MACHINE_EPSILON, "l%g, %" PetscInt_FMT " columns: %g is left, alpha %g", (double)worst[k].p, kept, left, (double)alpha);
        PetscCall(MuonCompressorDestroy(&c));
      }
    }
  }
  PetscCall(TestMatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is set is what one gets, also in a copy; other types ignore it */
static PetscErrorCode CheckSetters(const char type[])
{
  MuonCompressor c, copy;
  PetscReal      p;
  char           text[64];
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_line_norm", "7.0"));
  PetscCall(MuonCompressorSetType(c, type));
  PetscCall(GetReal((PetscObject)c, "compressor_line_norm", &p));
  TestCheck(p == 7.0, "%s: a norm from before the type is %g", type, (double)p);
  PetscCall(MuonCompressorSetRatio(c, 0.25));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_line_norm", "inf"));
  PetscCall(GetReal((PetscObject)c, "compressor_line_norm", &p));
  TestCheck(p >= PETSC_INFINITY, "%s: inf is %g", type, (double)p);
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &copy));
  PetscCall(MuonCompressorSetType(copy, type));
  PetscCall(MuonParametersSetParent((PetscObject)copy, (PetscObject)c));
  PetscCall(GetReal((PetscObject)copy, "compressor_line_norm", &p));
  TestCheck(p >= PETSC_INFINITY, "%s: inf is %g in a copy", type, (double)p);
  PetscCall(MuonObjectSetParameter((PetscObject)copy, "compressor_line_norm", "1.5"));
  PetscCall(GetReal((PetscObject)c, "compressor_line_norm", &p));
  TestCheck(p >= PETSC_INFINITY, "%s: a copy changed the other", type);
  PetscCall(MuonCompressorDescribe_Private(copy, sizeof(text), text));
  PetscCall(PetscStrncmp(text + strlen(type), " ratio 0.25 single line_norm 1.5", 31, &same));
  TestCheck(same, "%s is described as %s", type, text);
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(MuonCompressorDestroy(&copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const  types[] = {MUONCOMPRESSORCOLUMNTOPK, MUONCOMPRESSORROWTOPK};
  unsigned long long state   = 12;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckExamples());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(CheckEverything(types[k], 1, 1, &state));
    PetscCall(CheckEverything(types[k], 7, 30, &state));
    PetscCall(CheckEverything(types[k], 30, 7, &state));
    PetscCall(CheckEverything(types[k], 1, 600, &state));
    PetscCall(CheckEverything(types[k], 600, 3, &state));
    PetscCall(CheckEverything(types[k], 21, 515, &state));
    /* 3 of 10 lines at a time take four steps, 1 of 10 ten, all one */
    PetscCall(CheckResidual(types[k], 0.3, 4, 10, 10, &state));
    PetscCall(CheckResidual(types[k], 0.1, 10, 10, 10, &state));
    PetscCall(CheckResidual(types[k], 1.0, 1, 5, 9, &state));
    PetscCall(CheckSetters(types[k]));
  }
  PetscCall(CheckResidual(MUONCOMPRESSORCOLUMNTOPK, 0.34, 3, 20, 6, &state));
  PetscCall(CheckResidual(MUONCOMPRESSORROWTOPK, 0.34, 3, 6, 20, &state));
  PetscCall(CheckContraction(&state));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    link: internal

TEST*/
