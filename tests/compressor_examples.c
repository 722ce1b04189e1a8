static char help[] = "What compressors do by hand: triples that are zero, the ends of what numbers can hold, entries that are not touched, and strips.\n";

#include "compressor_common.h"

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
   A number among others that are alike: what becomes of it, where NaN is for no message. Entries of these 8 x 5 or 2 x 1 matrices are doubles; qsgd has
   blocks of 16, and a block of other entries is not harmed. The first number that a type cannot write fails whether the number is drawn or not, what is not kept does no
   harm, and what is just below is written
*/
static PetscErrorCode CheckEnds(void)
{
  const double single = ldexp(1.0, 128) - ldexp(1.0, 103), bf16 = single - ldexp(1.0, 119), any = INFINITY; /* any number */
  const struct {
    const char *choice;
    double      x, others, becomes;
  } rows[] = {{"topk ratio 0.2 values native", 1e300, 1, 1e300},
              {"topk ratio 0.2 values single", 1e300, 1, NAN},
              {"topk ratio 0.2 values bf16", 3.4e38, 1, NAN},
              {"topk ratio 0.2 values natural", -1e300, 1, NAN},
              {"natural", 1e39, 1, NAN},
              {"nearest", 1e39, 1, NAN},
              {"truncated", 1e39, 1, NAN},
              {"bf16", 3.4e38, 1, NAN},
              {"damping ratio 0.2 values single", 1e39, 1, 2e38},
              {"damping ratio 0.2 values single", 2e39, 1, NAN},
              {"sign values bf16", 3.4e38, 3.4e38, NAN},
              /* A mean in range of a sum that is not */
              {"sign values native", DBL_MAX / 4 * 3, -DBL_MAX / 4 * 3, DBL_MAX / 4 * 3},
              /* Below the smallest number of binary32 */
              {"sign values native", 1e-46, 1e-46, 1e-46},
              {"sign values double", 1e-46, -1e-46, 1e-46},
              {"sign values single", 1e-46, 1e-46, 0},
              {"sign values bf16", -1e-46, 1e-46, 0},
              {"sign values natural", 1e-46, 1e-46, 0},
              {"qsgd values single", NAN, 0, NAN},
              {"qsgd values single", INFINITY, 0, NAN},
              {"qsgd values single", -INFINITY, 0, NAN},
              {"qsgd values single", 0, 0, 0},
              {"qsgd values single", -3e38, 0, -3e38},
              {"qsgd values single", 1.2e-38, 0, 1.2e-38},
              {"qsgd values single", -1.1e-38 /* subnormal in binary32 */, 0, 0},
              {"qsgd values single", 3.5e38, 0, NAN},
              {"qsgd values bf16", 3.4e38, 0, NAN},
              {"qsgd values natural", 1.8e38, 0, NAN},
              {"qsgd values natural", 1.7014118346046923e38, 0, 1.7014118346046923e38},
              {"qsgd values double", 3.5e300, 0, 3.5e300},
              {"qsgd values double", -2e-300, 0, -2e-300},
              {"qsgd values double", 5e-301, 0, 0},
              {"randk values single", -single, 1, NAN},
              {"randk values single", nextafter(-single, 0), 1, any},
              {"randk values natural", -single, 1, NAN},
              {"randk values natural", nextafter(-single, 0), 1, any},
              {"randk values bf16", -bf16, 1, NAN},
              {"randk values bf16", nextafter(-bf16, 0), 1, any},
              {"dropout values single", -single, 1, NAN},
              {"dropout values single", nextafter(-single, 0), 1, any},
              {"dropout values natural", -single, 1, NAN},
              {"dropout values natural", nextafter(-single, 0), 1, any},
              {"dropout values bf16", -bf16, 1, NAN},
              {"dropout values bf16", nextafter(-bf16, 0), 1, any}};

  PetscFunctionBegin;
  for (size_t k = 0; k < 2 * PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    const size_t    r     = k / 2;
    const PetscBool large = rows[r].others < -1 ? PETSC_TRUE : PETSC_FALSE;
    MuonCompressor  c;
    Matrix          X, Y;
    Message         M;

    PetscCall(Make(&c, rows[r].choice));
    if (Is(c, "randk dropout")) PetscCall(Tune(c, "ratio %s", k % 2 ? "1e-7" : "1"));
    if (Is(c, "qsgd")) PetscCall(Tune(c, "qsgd_block_length 16 qsgd_block_norm %s", MuonCompressorBlockNorms[k % 2]));
    PetscCall(NewArray(large ? 2 : 8, large ? 1 : 5, MUON_DOUBLE, 0, &X, &Y));
    PetscCall(NewMessage(&M));
    for (PetscInt e = 0; e < X->m * X->n; e++) SetAt(X, e, e < 16 || !Is(c, "qsgd") ? rows[r].others : 1);
    SetAt(X, large ? 1 : 7, rows[r].x);
    PetscCall(Encode(c, X, NULL, M));
    TestCheck((M->status == MUON_STATUS_NANORINF) == isnan(rows[r].becomes), "%s of %g: status %s", rows[r].choice, rows[r].x, MuonStatuses[M->status]);
    if (M->bytes > 0) {
      const double becomes = rows[r].becomes;

      PetscCall(Decode(c, M, PETSC_FALSE, 1, Y));
      if (becomes < any) TestNear(rows[r].choice, GetAt(Y, large ? 1 : 7), becomes, fabs(becomes) * 1e-6);
      for (PetscInt e = 0; e < 40 && Is(c, "qsgd"); e++) {
        /* The last block has eight entries */
        if (e != 7 && (e < 16 || k % 2 == MUON_COMPRESSOR_BLOCK_NORM_MAX)) TestNear(rows[r].choice, GetAt(Y, e), e < 16 ? 0 : 1, e < 16 ? 0 : 1e-6);
      }
      /* Where there is no magnitude a message of signs is a header, and adding it changes nothing */
      TestCheck(!Is(c, "sign") || (M->bytes == TestMessageBytes(0, 0)) == (becomes == 0), "%s of %g: %zu bytes", rows[r].choice, rows[r].x, M->bytes);
    }
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a sparse message leaves out is not touched, whatever it is */
static PetscErrorCode CheckUntouched(void)
{
  MuonCompressor c;
  Matrix         X, Y;
  Message        M;

  PetscFunctionBegin;
  PetscCall(Make(&c, "topk ratio 0.1 values single"));
  PetscCall(New(2, 6, &X, &Y));
  PetscCall(NewMessage(&M));
  Set(X, 1, 2, 8);
  for (PetscInt e = 0; e < 12; e++) SetAt(Y, e, e == 5 ? 1 : (double)NAN);
  PetscCall(Encode(c, X, NULL, M));
  PetscCall(Decode(c, M, PETSC_TRUE, 0.5, Y));
  for (PetscInt e = 0; e < 12; e++) TestCheck(e == 5 ? GetAt(Y, e) == 5 : isnan(GetAt(Y, e)), "Entry %d is %g", (int)e, GetAt(Y, e));
  PetscCall(Free(0));
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
  PetscCall(CheckTriples());
  PetscCall(CheckEnds());
  PetscCall(CheckUntouched());
  for (size_t s = 0; s < 3 * PETSC_STATIC_ARRAY_LENGTH(strips); s++) PetscCall(CheckStrips(strips[s / 3][0], strips[s / 3][1], 16 << s % 3 * 3));
  /* More entries than are looked at together, with a block that ends in between */
  PetscCall(CheckStrips(129, 1021, 1024));
  PetscCall(CheckStrips(75, 1001, 65536));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    link: internal

TEST*/
