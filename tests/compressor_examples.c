static char help[] = "Messages and results by hand: signs, quantized blocks, whole lines and triples at the ends of what numbers can hold.\n";

#include "compressor_common.h"

/* All bytes of a message behind the hash of its layer, what it decodes to, and what it costs */
static PetscErrorCode CheckMessages(void)
{
  static const struct {
    const char *choice;
    PetscInt    m, n;
    double      x[6], y[6];     /* in the order of memory */
    const char *message;        /* hexadecimal */
    double      paper, entropy; /* 0: not known */
  } rows[] = {                  /* With integers for |x| s / scale nothing is left to chance: four codes once, one twice, and the scale */
              {"qsgd bits 3 qsgd_block_length 512", 2, 3, {3, -3, 1, -2, 0, -.0}, {3, -3, 1, -2}, "0B01530607BE0A0000004040", 50, 45.50977500432694},
              /* The four matrices of SignMuon's example: their rows are (4, 3; -3, 4), (-6, 8; 8, 6), (5, -12; 12, 5), (8, 15; -15, 8) */
              {"sign values single", 2, 2, {4, -3, 3, 4}, {3.5, -3.5, 3.5, 3.5}, "030104050D00006040", 0, 0},
              {"sign values single", 2, 2, {-6, 8, 8, 6}, {-7, 7, 7, 7}, "030104050E0000E040", 0, 0},
              {"sign values single", 2, 2, {5, 12, -12, 5}, {8.5, 8.5, -8.5, 8.5}, "030104050B00000841", 0, 0},
              {"sign values single", 2, 2, {8, -15, 15, 8}, {11.5, -11.5, 11.5, 11.5}, "030104050D00003841", 0, 0},
              /* Numbers that are not negative are positive, and so is -0 */
              {"sign values double", 3, 2, {3, 4, 0, 0, -0.0, 2}, {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, "030006093F000000000000F83F", 0, 0},
              {"sign values single", 3, 2, {3, 4, 0, 0, -0.0, 2}, {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, "030106053F0000C03F", 0, 0},
              {"sign values bf16", 3, 2, {3, 4, 0, 0, -0.0, 2}, {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, "030206033FC03F", 0, 0}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    MuonCompressor     c;
    MuonCompressorCost cost;
    Matrix             X, Y;
    Message            M;

    PetscCall(Make(&c, rows[k].choice));
    PetscCall(New(rows[k].m, rows[k].n, &X, &Y));
    PetscCall(NewMessage(&M));
    for (PetscInt e = 0; e < X->m * X->n; e++) SetAt(X, e, rows[k].x[e]);
    PetscCall(Send(c, X, NULL, M));
    TestNear(rows[k].choice, M->bytes, 4 + strlen(rows[k].message) / 2, 0);
    for (size_t b = 4; b < M->bytes; b++) {
      char text[3];

      PetscCall(PetscSNPrintf(text, sizeof(text), "%02X", (unsigned)M->buf[b]));
      TestCheck(strncmp(text, rows[k].message + 2 * (b - 4), 2) == 0, "Row %zu: byte %zu is %s", k, b, text);
    }
    PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
    for (PetscInt e = 0; e < X->m * X->n; e++) TestCheck(GetAt(Y, e) == rows[k].y[e], "Row %zu: entry %d is %g", k, (int)e, GetAt(Y, e));
    PetscCall(Cost(c, X, M, &cost));
    TestNear(rows[k].choice, cost.encoded, 8.0 * (double)M->bytes, 0);
    if (rows[k].paper > 0) TestNear(rows[k].choice, cost.paper, rows[k].paper, 0);
    if (rows[k].entropy > 0) TestNear(rows[k].choice, cost.entropy, rows[k].entropy, 1e-12 * rows[k].entropy);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Of lines given row by row, through columntopk and, transposed, through rowtopk, those are kept that the bits
   say: line 0 is the lowest. What is kept is kept exactly
*/
static PetscErrorCode CheckLines(void)
{
  const double tiny = ldexp(1, PetscDefined(USE_REAL_SINGLE) ? -140 : -1060), huge = ldexp(1, PetscDefined(USE_REAL_SINGLE) ? 127 : 1023);
  const struct {
    PetscInt    m, n;
    double      x[10];
    const char *rest; /* of the choice */
    unsigned    kept;
  } rows[] = {/* 3 x 2 as [[3, 0], [4, 0], [0, 2]]: column 0 has the length 5, row 1 the length 4 */
              {3, 2, {3, 0, 4, 0, 0, 2}, "ratio 0.5 line_norm 2", 1},
              {2, 3, {3, 4, 0, 0, 0, 2}, "ratio 0.1 line_norm 2", 2},
              /*
       Columns (3, 3, 3), (5, 0, 0), (4, 4, 0): the greatest in l1, in l_inf, and, with 32 of 27, 25 and 32
       squares, in l2; 81, 125 and 128 cubes; of fourth powers it is 625
    */
              {3, 3, {3, 5, 4, 3, 0, 4, 3, 0, 0}, "ratio 0.1 line_norm 1", 1},
              {3, 3, {3, 5, 4, 3, 0, 4, 3, 0, 0}, "ratio 0.1 line_norm 2", 4},
              {3, 3, {3, 5, 4, 3, 0, 4, 3, 0, 0}, "ratio 0.1 line_norm 3", 4},
              {3, 3, {3, 5, 4, 3, 0, 4, 3, 0, 0}, "ratio 0.1 line_norm 4", 2},
              {3, 3, {3, 5, 4, 3, 0, 4, 3, 0, 0}, "ratio 0.1 line_norm inf", 2},
              {3, 3, {3, 5, 4, 3, 0, 4, 3, 0, 0}, "ratio 0.7 line_norm 1", 5},
              /* Ties: all alike in l2, of signs and orders that differ */
              {2, 5, {3, -5, 4, 0, 5, 4, 0, 3, 5, 0}, "ratio 0.2 line_norm 2", 1},
              {2, 5, {3, -5, 4, 0, 5, 4, 0, 3, 5, 0}, "ratio 0.6 line_norm 2", 7},
              {2, 3, {0, 0, 0, 0, 0, 0}, "ratio 0.67 line_norm 2", 3},
              {1, 3, {1, -2, 3}, "ratio 0.67 line_norm 2", 6},
              {3, 1, {1, -2, 3}, "ratio 0.1 line_norm 2", 1},
              /* Squares that are out of range, of columns with sqrt(2), 2 and 2 times the unit, and of sqrt(2), 1 and 1 */
              {2, 3, {tiny, 0, 2 * tiny, tiny, 2 * tiny, 0}, "ratio 0.4 line_norm 2", 2},
              {2, 3, {tiny, 0, 2 * tiny, tiny, 2 * tiny, 0}, "ratio 0.7 line_norm 2", 6},
              {2, 3, {huge, 0, huge, huge, huge, 0}, "ratio 0.4 line_norm 2", 1},
              {2, 3, {huge, 0, huge, huge, huge, 0}, "ratio 0.4 line_norm 1", 1},
              {2, 3, {huge, 0, huge, huge, huge, 0}, "ratio 0.7 line_norm 2.5", 3}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    MuonCompressor c, r;
    Matrix         X, Y, Z, Xt, Yt;

    PetscCall(Make(&c, "columntopk values native %s", rows[k].rest));
    PetscCall(Make(&r, "rowtopk values native %s", rows[k].rest));
    PetscCall(New(rows[k].m, rows[k].n, &X, &Y, &Z));
    PetscCall(New(rows[k].n, rows[k].m, &Xt, &Yt));
    SetRows(X, rows[k].x);
    Transpose(X, Xt);
    PetscCall(Apply(c, 5, X, Y));
    PetscCall(Apply(r, 5, Xt, Yt));
    Transpose(Yt, Z);
    for (PetscInt e = 0; e < X->m * X->n; e++) {
      const double expected = (rows[k].kept >> e % X->n & 1u) != 0 ? rows[k].x[e] : 0;

      TestCheck(Get(Y, e / X->n, e % X->n) == expected, "Row %zu: entry %d is %g, expected %g", k, (int)e, Get(Y, e / X->n, e % X->n), expected);
    }
    TestCheck(Same(Y, Z), "Row %zu: rows are not columns of the transposed matrix", k);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Singular values that a codec writes as zero are no triples */
static PetscErrorCode CheckTriples(void)
{
  static const struct {
    const char *values;
    int         first, second, rank;
  } rows[] = {{"natural", -120, -126, 2}, {"natural", -120, -127, 1}, {"natural", -127, -130, 0}, /* of powers of two */
              {"single", -140, -149, 2},  {"single", -140, -150, 1},  {"bf16", -130, -133, 2},    {"bf16", -130, -140, 1}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    MuonCompressor c;
    Matrix         X, Y;
    Message        M;

    PetscCall(Make(&c, "topsvd rank 2 values %s", rows[k].values));
    PetscCall(New(4, 3, &X, &Y));
    PetscCall(NewMessage(&M));
    Set(X, 2, 0, ldexp(1, rows[k].first));
    Set(X, 0, 1, ldexp(1, rows[k].second));
    /* Single has no half of its smallest number */
    if (Get(X, 0, 1) != 0) {
      PetscCall(Send(c, X, NULL, M));
      TestCheck(M->buf[6] == rows[k].rank, "Row %zu: rank %d", k, (int)M->buf[6]);
      PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
    }
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   ||C(X) - X||^2 = ||X||^2 - d a^2 (1 - e^2) with a the mean of |X| and (1 + e) a what was sent; never above
   (1 - alpha) ||X||^2, and there for a matrix with one entry
*/
static PetscErrorCode CheckSigns(int values, PetscInt m, PetscInt n)
{
  /* To nearest: half a unit of 53, 24 and 8 bits, and of a sum of d numbers in double */
  const double   d = (double)(m * n), units[] = {0, (d + 2) * 2.3e-16 + (PetscDefined(USE_REAL_SINGLE) ? 6e-8 : 0), 6e-8, 0.00391, 1};
  MuonCompressor c;
  Matrix         X, Y;
  PetscReal      alpha;
  double         mean = 0, off, error, squares;

  PetscFunctionBegin;
  PetscCall(Make(&c, "sign values %s", MuonCompressorValuesTypes[values]));
  PetscCall(New(m, n, &X, &Y));
  Random(X, 1);
  PetscCall(Apply(c, 5, X, Y));
  for (PetscInt e = 0; e < m * n; e++) {
    mean += fabs(GetAt(X, e)) / d;
    TestNear("magnitude", fabs(GetAt(Y, e)), fabs(GetAt(Y, 0)), 0);
    TestCheck((GetAt(Y, e) > 0) == (GetAt(X, e) >= 0), "Entry %d is %g for %g", (int)e, GetAt(Y, e), GetAt(X, e));
  }
  off = fabs(GetAt(Y, 0)) / mean - 1;
  TestCheck(fabs(off) <= units[values] && (values != MUON_COMPRESSOR_VALUES_BF16 || fabs(off) > 6e-8), "The magnitude is off by %g", off);
  error   = Squares(X, Y);
  squares = Squares(X, NULL);
  /* Each of d squares is rounded a few times in the precision of PetscReal, and their sum d times in double */
  TestNear("identity", error, squares - d * mean * mean * (1 - off * off), (8 * TEST_EPSILON + d * 2.3e-16) * (squares + d * mean * mean));
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  TestCheck(alpha > 0 && (double)alpha * d <= 1, "alpha is %g", (double)alpha);
  if (values != MUON_COMPRESSOR_VALUES_NATURAL) TestMost("contraction", error, (1 - (double)alpha) * squares);
  /* d 2^k: the magnitude is a power of two, exact in every codec */
  Axpby(0, X, 0, X);
  Set(X, m * n / 2 / n, m * n / 2 % n, -4 * d);
  PetscCall(Apply(c, 5, X, Y));
  TestCheck(Squares(X, Y) == 16 * d * (d - 1), "A matrix with one entry: the square of the error is %g", Squares(X, Y));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Matrices of signs that are zero, empty or too small for the magnitude send a header; adding it changes
   nothing. The sums are of at most 585 numbers
*/
static PetscErrorCode CheckNothing(int values)
{
  static const struct {
    PetscInt m, n;
    double   x;
  } rows[] = {{5, 3, 0}, {0, 3, 0}, {5, 0, 0}, {1, 1, 0}, {1, 1, 0.5}, {9, 65, 2}, {4, 4, 1e-46}};
  /* The last is below the smallest number of binary32 */
  const PetscBool wide = values <= MUON_COMPRESSOR_VALUES_DOUBLE ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows) - PetscDefined(USE_REAL_SINGLE); k++) {
    const double    x = rows[k].x, squares = (double)(rows[k].m * rows[k].n) * x * x;
    const PetscBool sent = x > 1e-40 || (x > 0 && wide) ? PETSC_TRUE : PETSC_FALSE;
    MuonCompressor  c;
    Matrix          X, Y, Z;
    Message         M;

    PetscCall(Make(&c, "sign values %s", MuonCompressorValuesTypes[values]));
    PetscCall(New(rows[k].m, rows[k].n, &X, &Y, &Z));
    PetscCall(NewMessage(&M));
    for (PetscInt e = 0; e < X->m * X->n; e++) {
      SetAt(X, e, e % 2 == 0 ? x : -x);
      SetAt(Y, e, 7);
      SetAt(Z, e, 7);
    }
    PetscCall(Send(c, X, NULL, M));
    PetscCall(Decode(c, M, PETSC_TRUE, 1, Y));
    TestCheck((M->bytes > 8) == sent && (sent || Same(Y, Z)), "Row %zu: %zu bytes, or nothing was added and something changed", k, M->bytes);
    PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
    TestNear("decoded", Squares(Y, NULL), sent ? squares : 0, 600 * TEST_EPSILON * squares * sent);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that are not finite, wherever they are, and those whose mean does not fit; a mean in range of a sum that is not */
static PetscErrorCode CheckLarge(void)
{
  const double   large = (double)PETSC_MAX_REAL / 4 * 3, bad[] = {NAN, INFINITY, -INFINITY};
  MuonCompressor c;
  Matrix         X, Y, Z;
  Message        M;

  PetscFunctionBegin;
  PetscCall(Make(&c, "sign values bf16"));
  PetscCall(New(9, 8, &X));
  PetscCall(New(1, 2, &Y, &Z));
  PetscCall(NewMessage(&M));
  for (PetscInt k = 0; k < 3 * 11; k++) {
    SetAt(X, k / 3 * 7 % 72, bad[k % 3]);
    PetscCall(Encode(c, X, NULL, M));
    TestCheck(M->status == MUON_STATUS_NANORINF, "%g: status %s", bad[k % 3], MuonStatuses[M->status]);
    SetAt(X, k / 3 * 7 % 72, 1);
  }
  for (PetscInt e = 0; e < 72; e++) SetAt(X, e, 3.4e38);
  PetscCall(Encode(c, X, NULL, M));
  TestCheck(M->status == MUON_STATUS_NANORINF, "Beyond bf16: status %s", MuonStatuses[M->status]);
  PetscCall(Tune(c, "values native"));
  Set(Y, 0, 0, large);
  Set(Y, 0, 1, -large);
  PetscCall(Send(c, Y, NULL, M));
  PetscCall(Decode(c, M, PETSC_FALSE, 1, Z));
  TestCheck(Same(Y, Z), "Two large numbers became %g and %g", Get(Z, 0, 0), Get(Z, 0, 1));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scale of a block is its norm rounded up: never below it, and the largest entry within its rounding */
static PetscErrorCode CheckScales(int values, int norm)
{
  const double   units[] = {TEST_EPSILON, TEST_EPSILON, TEST_EPSILON + 1.2e-7, 1.0 / 128, 1};
  MuonCompressor c;
  Matrix         X, Y;
  Message        M;

  PetscFunctionBegin;
  PetscCall(Make(&c, "qsgd bits 8 qsgd_block_length 16 values %s", MuonCompressorValuesTypes[values]));
  PetscCall(Tune(c, "qsgd_block_norm %s", MuonCompressorBlockNorms[norm]));
  PetscCall(New(1, 16, &X, &Y));
  PetscCall(NewMessage(&M));
  for (PetscInt k = 0; k < 500; k++) {
    const double x = (double)(PetscReal)(ldexp(1, (int)(Bits() % 100) - 50) * (1 + Uniform()));
    double       off;
    float        scale;

    Set(X, 0, k % 16, x);
    PetscCall(MuonCompressorSetStep(c, k));
    PetscCall(Send(c, X, NULL, M));
    PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
    off = fabs(Get(Y, 0, k % 16) - x);
    /* Of 127 levels the one that is x is a whole number only where the scale is x; else it may be the next one on either side */
    TestCheck(off <= x * (1 + units[values]) / 127, "%g became %g with scales as %s", x, Get(Y, 0, k % 16), MuonCompressorValuesTypes[values]);
    TestCheck(values > MUON_COMPRESSOR_VALUES_DOUBLE || off <= 4 * TEST_EPSILON * x, "%g alone became %g", x, Get(Y, 0, k % 16));
    memcpy(&scale, M->buf + M->bytes - sizeof(scale), sizeof(scale));
    TestCheck(values != MUON_COMPRESSOR_VALUES_SINGLE || (double)scale >= x, "The scale of %.17g is %.17g", x, (double)scale);
    Set(X, 0, k % 16, 0);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block of sixteen entries with x in it, and then one of ones: what becomes of x, or there is no message */
static PetscErrorCode CheckEdges(void)
{
  static const struct {
    const char *values;
    double      x, becomes; /* NaN for no message */
  } rows[] = {{"single", NAN, NAN},
              {"single", INFINITY, NAN},
              {"single", -INFINITY, NAN},
              {"single", 0, 0},
              {"single", -3e38, -3e38},
              {"single", 1.2e-38, 1.2e-38},
              {"single", -1.1e-38 /* subnormal in binary32 */, 0},
              {"bf16", 3.4e38, NAN},
              {"natural", 1.8e38, NAN},
              {"natural", 1.7014118346046923e38, 1.7014118346046923e38},
              {"single", 3.5e38, NAN},
              {"double", 3.5e300, 3.5e300},
              {"double", -2e-300, -2e-300},
              {"double", 5e-301, 0}};

  PetscFunctionBegin;
  for (size_t k = 0; k < 2 * PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    const size_t   r = k / 2;
    const double   x = rows[r].x, becomes = rows[r].becomes;
    MuonCompressor c;
    Matrix         X, Y;
    Message        M;

    /* Others that single precision does not have */
    if (PetscDefined(USE_REAL_SINGLE) && r > 9) continue;
    PetscCall(Make(&c, "qsgd bits 4 qsgd_block_length 16 values %s qsgd_block_norm %s", rows[r].values, MuonCompressorBlockNorms[k % 2]));
    PetscCall(New(8, 5, &X, &Y));
    PetscCall(NewMessage(&M));
    SetAt(X, 7, x);
    for (PetscInt e = 16; e < 40; e++) SetAt(X, e, 1);
    PetscCall(Encode(c, X, NULL, M));
    TestCheck((M->status == MUON_STATUS_NANORINF) == isnan(becomes), "%g: status %s", x, MuonStatuses[M->status]);
    if (M->bytes > 0) {
      PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
      for (PetscInt e = 0; e < 16; e++) TestNear(rows[r].values, GetAt(Y, e), e == 7 ? becomes : 0, e == 7 ? fabs(becomes) * 1e-6 : 0);
      /* The last block has eight entries */
      for (PetscInt e = 16; e < 40 && k % 2 == MUON_COMPRESSOR_BLOCK_NORM_MAX; e++) TestNear(rows[r].values, GetAt(Y, e), 1, 1e-6);
    }
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The number of an entry does not depend on how many columns are looked at together: the entries as one row
   have the same message, and it decodes to the same numbers
*/
static PetscErrorCode CheckStrips(PetscInt m, PetscInt n, int length)
{
  MuonCompressor c;
  Matrix         X, row;
  Message        M, N;

  PetscFunctionBegin;
  PetscCall(Make(&c, "qsgd bits 5 qsgd_block_length %d values bf16", length));
  PetscCall(New(m, n, &X));
  PetscCall(New(1, m * n, &row));
  PetscCall(NewMessage(&M, &N));
  Random(X, 1);
  for (PetscInt e = 0; e < m * n; e++) SetAt(row, e, GetAt(X, e));
  PetscCall(Send(c, X, NULL, M));
  PetscCall(Send(c, row, NULL, N));
  PetscCall(Decode(c, M, PETSC_FALSE, 1, X));
  PetscCall(Decode(c, N, PETSC_FALSE, 1, row));
  TestCheck(SameMessage(M, N), "%d x %d in blocks of %d", (int)m, (int)n, length);
  for (PetscInt e = 0; e < m * n; e++) TestCheck(GetAt(row, e) == GetAt(X, e), "%d x %d in blocks of %d: entry %d", (int)m, (int)n, length, (int)e);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt signs[][2]  = {{7, 13}, {1, 1}, {64, 65}, {130, 3}};
  static const PetscInt strips[][2] = {{40, 3}, {33, 17}, {9, 129}, {300, 7}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(12));
  PetscCall(CheckMessages());
  PetscCall(CheckLines());
  PetscCall(CheckTriples());
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(signs) && values > 0; s++) PetscCall(CheckSigns(values, signs[s][0], signs[s][1]));
    PetscCall(CheckNothing(values));
    for (int norm = 0; norm < 2; norm++) PetscCall(CheckScales(values, norm));
  }
  PetscCall(CheckLarge());
  PetscCall(CheckEdges());
  for (size_t s = 0; s < 3 * PETSC_STATIC_ARRAY_LENGTH(strips); s++) PetscCall(CheckStrips(strips[s / 3][0], strips[s / 3][1], 16 << s % 3 * 3));
  /* More entries than are looked at together, with a block that ends in between */
  PetscCall(CheckStrips(129, 1021, 1024));
  PetscCall(CheckStrips(75, 1001, 65536));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
