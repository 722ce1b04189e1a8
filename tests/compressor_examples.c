static char help[] = "Messages and results by hand: signs, quantized blocks and triples at the ends of what numbers can hold.\n";

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
   have the same message, and it decodes to the same numbers. Behind 65536 entries the same numbers come again, and are rounded otherwise
*/
static PetscErrorCode CheckStrips(PetscInt m, PetscInt n, int length)
{
  MuonCompressor c;
  const PetscInt strip = 65536;
  Matrix         X, row;
  Message        M, N;
  PetscInt       others = 0;

  PetscFunctionBegin;
  PetscCall(Make(&c, "qsgd bits 5 qsgd_block_length %d values bf16", length));
  PetscCall(New(m, n, &X));
  PetscCall(New(1, m * n, &row));
  PetscCall(NewMessage(&M, &N));
  Random(X, 1);
  for (PetscInt e = strip; e < m * n; e++) SetAt(X, e, GetAt(X, e - strip));
  for (PetscInt e = 0; e < m * n; e++) SetAt(row, e, GetAt(X, e));
  PetscCall(Send(c, X, NULL, M));
  PetscCall(Send(c, row, NULL, N));
  PetscCall(Decode(c, M, PETSC_FALSE, 1, X));
  PetscCall(Decode(c, N, PETSC_FALSE, 1, row));
  TestCheck(SameMessage(M, N), "%d x %d in blocks of %d", (int)m, (int)n, length);
  for (PetscInt e = 0; e < m * n; e++) TestCheck(GetAt(row, e) == GetAt(X, e), "%d x %d in blocks of %d: entry %d", (int)m, (int)n, length, (int)e);
  for (PetscInt e = strip; e < m * n; e++) others += GetAt(X, e) != GetAt(X, e - strip);
  TestCheck(m * n <= strip || others > 0, "%d x %d in blocks of %d: strips have the same random numbers", (int)m, (int)n, length);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt strips[][2] = {{40, 3}, {33, 17}, {9, 129}, {300, 7}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(12));
  PetscCall(CheckMessages());
  PetscCall(CheckTriples());
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    PetscCall(CheckNothing(values));
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
