static char help[] = "Messages of all compressors: what they decode to, in any precision and order; zeros and no numbers, and state; by hand, and where no byte is trusted.\n";

#include "compressor_common.h"
#include <petscmuon/private/muoncompressorcodec.h>

/* A message decodes to what Apply() says, in place too; so does the next one, behind one that took effect: what the sender keeps of that, no receiver needs */
static PetscErrorCode CheckMessage(const char choice[], MuonPrecision precision, int rowmajor, PetscInt m, PetscInt n)
{
  MuonCompressor     c, receiver;
  MuonCompressorCost cost;
  Matrix             T, R, X, Y, Z, sum;
  Message            M;
  PetscBool          assignment;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(Make(&receiver, choice));
  PetscCall(NewArray(m, n, precision, rowmajor, &T, &R, &X, &Y, &Z, &sum));
  PetscCall(NewMessage(&M));
  Random(T, 1);
  Random(R, 0.5);
  Copy(T, X);
  assignment = c->assignment;
  TestCheck(assignment == Is(c, "identity"), "%s: assignment", choice);
  if (!assignment) Axpby(-1, R, 1, X);
  PetscCall(Ways(c, receiver, T, R, Y, sum, M, &cost));
  PetscCall(Apply(c, 5, X, Z));
  TestCheck(Same(Y, Z) && (!assignment || Same(Y, T)), "%s of %dx%d: the message is not what Apply() gives", choice, (int)m, (int)n);
  PetscCall(Apply(c, 5, X, X));
  TestCheck(Same(X, Y), "%s: not the same in place", choice);
  PetscCall(MuonCompressorCommit(c));
  PetscCall(MuonCompressorSetStep(c, 6));
  PetscCall(Ways(c, receiver, T, NULL, Y, sum, M, &cost));
  PetscCall(Apply(c, 6, T, Z));
  TestCheck(Same(Y, Z), "%s of %dx%d: the second message is not what Apply() gives", choice, (int)m, (int)n);
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zero in, zero out; a low-rank message has no triples then, and as many as there are for a matrix of small rank */
static PetscErrorCode CheckZero(const char choice[], MuonPrecision precision, int rowmajor, PetscInt m, PetscInt n)
{
  MuonCompressor     c;
  MuonCompressorCost cost;
  Matrix             X, Y, sum;
  Message            M;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(NewArray(m, n, precision, rowmajor, &X, &Y, &sum));
  PetscCall(NewMessage(&M));
  Random(Y, 1);
  PetscCall(Apply(c, 5, X, Y));
  TestCheck(Squares(Y, NULL) == 0, "%s: zero became something", choice);
  PetscCall(Ways(c, c, X, NULL, Y, sum, M, &cost));
  TestCheck(Squares(Y, NULL) == 0 && Squares(sum, NULL) == 0, "%s: zero was sent as something", choice);
  TestCheck(!Is(c, "rankk") || M->bytes == TestMessageBytes(0, 0), "%zu bytes for a zero matrix of %dx%d", M->bytes, (int)m, (int)n);
  if (Is(c, "rankk") && m > 0 && n > 0) {
    Set(X, m - 1, 0, 3);
    PetscCall(Encode(c, X, NULL, M));
    TestCheck(M->buf[6] == 1, "A matrix of rank 1 has a message of rank %d", (int)M->buf[6]);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not finite, in T, in R or in their difference, is a status and no message; the receiver's matrix stays as it was, and the next message is well again */
static PetscErrorCode CheckEnd(const char choice[], MuonPrecision precision, int rowmajor, PetscInt at, double t, double r)
{
  MuonCompressor c;
  MuonStatus     expected = MUON_STATUS_NANORINF;
  Matrix         T, R, Y, kept;
  Message        M;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(NewArray(9, 7, precision, rowmajor, &T, &R, &Y, &kept));
  PetscCall(NewMessage(&M));
  Random(T, 1);
  Random(Y, 1);
  Copy(Y, kept);
  Set(T, at / 7, at % 7, t);
  Set(R, at / 7, at % 7, r);
  /* An assignment has nothing to do with R */
  if (c->assignment && r != 0) expected = MUON_STATUS_OK;
  PetscCall(Encode(c, T, R, M));
  TestCheck(M->status == expected, "%s of %g - %g: status %s, expected %s", choice, t, r, MuonStatuses[M->status], MuonStatuses[expected]);
  if (r == 0) {
    PetscCall(Apply(c, 5, T, Y));
    TestCheck(Same(Y, kept), "%s: Apply() wrote something of %g", choice, t);
  }
  PetscCall(Send(c, kept, NULL, M));
  PetscCall(Decode(c, M, PETSC_FALSE, 0, Y));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An n x m array by rows has the lines of an m x n array by columns: the messages of all types are the same, with rows and columns
   exchanged for those that know them. So they are whatever the gaps between the lines are; what is one line has no distance to the next
*/
static PetscErrorCode CheckTransposed(const char choice[], MuonPrecision precision, PetscInt m, PetscInt n)
{
  Choice             other;
  MuonCompressor     c[3]; /* the last for one line without a distance */
  MuonCompressorCost cost;
  Matrix             T, R, Y, U, S, Z, V, sum, sums;
  Message            M, N;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(other, choice, sizeof(other)));
  if (strncmp(choice, "columntopk", 10) == 0) PetscCall(PetscSNPrintf(other, sizeof(other), "rowtopk%s", choice + 10));
  if (strncmp(choice, "rowtopk", 7) == 0) PetscCall(PetscSNPrintf(other, sizeof(other), "columntopk%s", choice + 7));
  PetscCall(NewArray(m, n, precision, 0, &T, &R, &Y, &sum));
  PetscCall(NewArray(n, m, precision, 1, &U, &S, &Z, &V, &sums));
  PetscCall(NewMessage(&M, &N));
  for (int k = 0; k < 3; k++) PetscCall(Make(&c[k], "%s", k == 1 ? other : choice));
  Random(T, 1);
  Random(R, 0.25);
  Transpose(T, U);
  Transpose(R, S);
  for (int step = 0; step < 2; step++) {
    for (int k = 0; k < 3; k++) PetscCall(MuonCompressorSetStep(c[k], 5 + step));
    PetscCall(Ways(c[0], c[0], T, R, Y, sum, M, &cost));
    PetscCall(Ways(c[1], c[1], U, S, Z, sums, N, &cost));
    TestCheck(SameMessage(M, N), "%s: rows have another message", choice);
    Transpose(Y, V);
    TestCheck(Same(Z, V), "%s: rows are not columns of the transposed matrix", choice);
    Transpose(sum, V);
    TestCheck(Same(sums, V), "%s: sums of rows are not those of columns of the transposed matrix", choice);
    if (n == 1) {
      const size_t ldt = T->array.ld, ldr = R->array.ld;

      T->array.ld = R->array.ld = 0;
      PetscCall(Ways(c[2], c[2], T, R, Y, sum, N, &cost));
      T->array.ld = ldt;
      R->array.ld = ldr;
      TestCheck(SameMessage(M, N), "%s: one line has another message", choice);
    }
    for (int k = 0; k < 3; k++) PetscCall(MuonCompressorCommit(c[k]));
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bases of power iterations are state: one for each line of the array, or entry of a line, and direction, of
   each block; nothing else is kept by any type
*/
static PetscErrorCode CheckState(const char choice[], PetscInt blocks)
{
  const size_t   entries = (size_t)blocks * 3 * 8;
  MuonCompressor c;
  Matrix         T;
  Message        M;
  Count          before, after, reset;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(Tune(c, "rank 3"));
  PetscCall(MuonCompressorSetBlocks(c, blocks, NULL, 1, NULL));
  PetscCall(NewArray(12, 8, MUON_SINGLE, 0, &T));
  PetscCall(NewMessage(&M));
  Random(T, 1);
  PetscCall(CountState(c, MUON_SINGLE, &before));
  for (PetscInt step = 0; step < 2; step++) {
    PetscCall(MuonCompressorSetStep(c, step));
    PetscCall(Encode(c, T, NULL, M));
    PetscCall(MuonCompressorCommit(c));
  }
  PetscCall(CountState(c, MUON_SINGLE, &after));
  PetscCall(MuonCompressorReset(c));
  PetscCall(CountState(c, MUON_SINGLE, &reset));
  TestCheck(before.bytes == 0 && reset.bytes == 0, "%s: %zu bytes of state at first, %zu after a reset", choice, before.bytes, reset.bytes);
  TestCheck((after.bytes > 0) == Is(c, "powersgd"), "%s: %zu bytes of state", choice, after.bytes);
  /* The start of the next message, and room for that of the one after it */
  TestCheck(!Is(c, "powersgd") || after.entries == entries || after.entries == 2 * entries, "%zu entries of state", after.entries);
  PetscCall(Free(0));
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

/* By hand: triples that are zero, the ends of what numbers can hold, entries that are not touched, and strips */
static PetscErrorCode CheckExamples(void)
{
  static const PetscInt strips[][2] = {{40, 3}, {33, 17}, {9, 129}, {300, 7}};

  PetscFunctionBegin;
  PetscCall(CheckTriples());
  PetscCall(CheckEnds());
  PetscCall(CheckUntouched());
  for (size_t s = 0; s < 3 * PETSC_STATIC_ARRAY_LENGTH(strips); s++) PetscCall(CheckStrips(strips[s / 3][0], strips[s / 3][1], 16 << s % 3 * 3));
  /* More entries than are looked at together, with a block that ends in between */
  PetscCall(CheckStrips(129, 1021, 1024));
  PetscCall(CheckStrips(75, 1001, 65536));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A type of which no size tells how much it keeps: the entries of at least 1 */
static PetscErrorCode MuonCompressorLayout_AtLeast(MuonCompressor c, const MuonArray *shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  layout->header.kind   = MUON_WIRE_SPARSE;
  layout->header.values = (uint8_t)MuonCompressorCodec_Private(c, shape);
  layout->header.count  = MuonArrayEntries(shape);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorEncode_AtLeast(MuonCompressor c, const MuonArray *T, const MuonArray *R, MuonCompressorLayout *layout, unsigned char payload[])
{
  const MuonKernels   *kernels = MuonArrayKernels(T);
  const size_t         d       = MuonArrayEntries(T);
  const MuonWireValues codec   = MuonCompressorCodec_Private(c, T);
  MuonArray            x       = *T;
  unsigned char       *bitmap;
  size_t               kept = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1((d + 63) / 64 * 8, &bitmap));
  PetscCall(PetscMalloc(d * sizeof(double) + 1, &x.data));
  kernels->Residual(T->len, T->count, T->data, T->ld, R != NULL ? R->data : NULL, R != NULL ? R->ld : 0, 0, d, x.data);
  for (size_t e = 0; e < d; e++) {
    /* NaN is less than nothing */
    if (fabs(GetRaw(&x, e)) < 1) continue;
    bitmap[e / 8] |= (unsigned char)(1 << e % 8);
    SetRaw(&x, kept++, GetRaw(&x, e));
    if (!(fabs(GetRaw(&x, e)) < MuonCompressorCodecLimit_Private(codec, T->precision))) c->status = MUON_STATUS_NANORINF;
  }
  PetscCall(MuonCompressorSetCount(c, layout, kept));
  MuonWireIndicesEncode((MuonWireIndices)layout->header.indices, d, kept, bitmap, payload);
  payload += layout->section.valuesat;
  if (codec != MUON_WIRE_VALUES_NATURAL) PetscCall(MuonCompressorValuesEncode_Private(c, codec, MUON_COMPRESSOR_ROUND_RANDOM, MUON_HOST, T->precision, kept, x.data, 0, payload));
  else {
    /* Natural values are rounded from binary32 */
    for (size_t k = 0; k < kept; k++) ((float *)x.data)[k] = (float)GetRaw(&x, k);
    PetscCall(MuonCompressorKeptEncode_Private(c, codec, MUON_SINGLE, d, bitmap, (PetscInt64)kept, x.data, payload));
  }
  PetscCall(PetscFree(bitmap));
  PetscCall(PetscFree(x.data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorDecode_AtLeast(MuonCompressor c, const MuonCompressorLayout *layout, const unsigned char payload[], PetscBool add, double scale, const MuonArray *Y)
{
  MuonWireIndexReader reader;

  PetscFunctionBegin;
  MuonWireIndexReaderInit(&reader, (MuonWireIndices)layout->header.indices, layout->section.numbered, layout->header.count, payload);
  PetscCall(MuonCompressorKeptDecode_Private(c, (MuonWireValues)layout->header.values, (PetscInt64)layout->header.count, &reader, payload + layout->section.valuesat, add, scale, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MuonCompressorCreate_AtLeast(MuonCompressor c)
{
  PetscFunctionBegin;
  c->ops->layout = MuonCompressorLayout_AtLeast;
  c->ops->encode = MuonCompressorEncode_AtLeast;
  c->ops->decode = MuonCompressorDecode_AtLeast;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How much messages of a matrix keep */
static PetscErrorCode GetLayout(MuonCompressor c, Matrix shape, MuonCompressorLayout *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(layout, sizeof(*layout)));
  PetscCall((*c->ops->layout)(c, &shape->array, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MuonCompressorDecode() must refuse, with a PETSc error and not by writing somewhere, exactly what MuonCompressorValidateArray() refuses. A copy of
   exactly so many bytes, so that tools that watch memory see a read past its end
*/
static PetscErrorCode CheckBytes(MuonCompressor c, size_t bytes, const unsigned char buf[], Matrix Y, PetscBool *valid)
{
  PetscErrorCode ierr;
  unsigned char *copy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(bytes, &copy));
  PetscCall(PetscArraycpy(copy, buf, bytes));
  PetscCall(MuonCompressorValidateArray(c, &Y->array, bytes, copy, PETSC_FALSE, NULL, NULL, valid));
  if (*valid) {
    PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, copy, Y->mat));
    TestCheck(!isnan(Squares(Y, NULL)), "A valid message holds NaN");
  } else {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, copy, Y->mat);
    if (ierr != PETSC_SUCCESS) ierr = MuonCompressorDecode(c, PETSC_TRUE, 1.0, bytes, copy, Y->mat);
    PetscCall(PetscPopErrorHandler());
    TestCheck(ierr != PETSC_SUCCESS, "A message that is not valid was decoded");
  }
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckForged(const char choice[], PetscInt m, PetscInt n)
{
  MuonCompressor       c, other;
  Matrix               X, Y, Z;
  Message              M, longer;
  size_t               bytes, most, othermost, head;
  PetscInt             accepted = 0;
  PetscBool            valid;
  unsigned long long   count, payload;
  MuonCompressorLayout layout;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(New(m, n, &X, &Y));
  PetscCall(New(m + 1, n, &Z));
  PetscCall(NewMessage(&M, &longer));
  Random(X, 1);
  PetscCall(Send(c, X, NULL, M));
  bytes = M->bytes;
  PetscCall(CheckBytes(c, bytes, M->buf, Y, &valid));
  TestCheck(valid, "%s: a good message is refused", choice);

  head = TestHeader(M->buf, &count, &payload);
  for (size_t bit = 0; bit < 8 * bytes; bit++) {
    M->buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
    PetscCall(CheckBytes(c, bytes, M->buf, Y, &valid));
    TestCheck(!valid || bit / 8 >= head, "%s: bit %zu of the header does not matter", choice, bit);
    accepted += valid;
    M->buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  /* Without a checksum, which packets have, a flipped bit of a value is another value */
  TestCheck(accepted > 0 || payload == 0, "%s: no value can be changed", choice);
  for (size_t cut = 0; cut < bytes; cut++) {
    PetscCall(CheckBytes(c, cut, M->buf, Y, &valid));
    TestCheck(!valid, "%s: %zu of %zu bytes are accepted", choice, cut, bytes);
  }
  PetscCall(PetscCalloc1(bytes + 1, &longer->buf));
  memcpy(longer->buf, M->buf, bytes);
  PetscCall(CheckBytes(c, bytes + 1, longer->buf, Y, &valid));
  TestCheck(!valid, "%s: a byte too many is accepted", choice);

  /* Numbers drawn at random in the places of the header */
  for (PetscInt k = 0; k < 2000; k++) {
    for (PetscInt b = 0; b < 1 + k % 4; b++) M->buf[Bits() % head] = (unsigned char)(Bits() % 3 == 0 ? 0xFF : Bits() % 256);
    PetscCall(CheckBytes(c, bytes, M->buf, Y, &valid));
    memcpy(M->buf, longer->buf, head);
  }

  /* Other layers, other shapes, other choices */
  PetscCall(MuonCompressorSetStream(c, 1, "v", 0, 0));
  PetscCall(CheckBytes(c, bytes, M->buf, Y, &valid));
  TestCheck(!valid, "%s: the message of another layer is accepted", choice);
  PetscCall(MuonCompressorSetStream(c, 11, "attn.qkv", 3, 1));
  PetscCall(CheckBytes(c, bytes, M->buf, Z, &valid));
  /* One entry among a few, or none, may be one of either size; so may be entries among others where nobody knows how many there are */
  PetscCall(MuonCompressorGetMaxBytes(c, m, n, &most));
  PetscCall(MuonCompressorGetMaxBytes(c, m + 1, n, &othermost));
  PetscCall(GetLayout(c, X, &layout));
  if (!layout.exact && layout.header.kind == MUON_WIRE_SPARSE) valid = PETSC_FALSE;
  TestCheck(!valid || payload == 0 || most == othermost, "%s: a message of another size is accepted", choice);
  PetscCall(Make(&other, Is(c, "identity") ? "natural" : "identity values native"));
  PetscCall(CheckBytes(other, bytes, M->buf, Y, &valid));
  /* Every entry in the width of PetscScalar looks alike, whoever sends it */
  if (M->buf[4] == 0 && payload == (unsigned long long)m * n * sizeof(PetscScalar)) valid = PETSC_FALSE;
  TestCheck(!valid, "A message of %s is accepted by another type", choice);
  /*
     Objects that choose otherwise: what has values of another kind is of another size, and what keeps less
     takes no more than that; codes have other bits, and blocks another length
  */
  for (int k = 0; k < (Is(c, "qsgd") ? 4 : 2); k++) {
    PetscBool expected = PETSC_FALSE;

    PetscCall(Make(&other, choice));
    if (k == 3) PetscCall(Tune(other, "bits %d", c->bits == 8 ? 7 : (int)c->bits + 1));
    else if (k == 2) PetscCall(Tune(other, "qsgd_block_length 512"));
    else if (k == 1) PetscCall(MuonCompressorSetRatio(other, c->ratio / 2));
    else PetscCall(Tune(other, "values %s", MuonCompressorValuesOf(c) == MUON_COMPRESSOR_VALUES_SINGLE ? "bf16" : "single"));
    PetscCall(MuonCompressorGetMaxBytes(other, m, n, &othermost));
    PetscCall(GetLayout(other, X, &layout));
    if (k == 0) expected = most == othermost ? PETSC_TRUE : PETSC_FALSE;
    if (k == 1) expected = count == layout.header.count || (!layout.exact && count < layout.header.count) ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(CheckBytes(other, bytes, M->buf, Y, &valid));
    TestCheck(valid == expected, "%s: %s", choice, k == 0 ? "values of another kind" : k == 1 ? "a message that keeps more" : "other blocks");
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of zero there may be a header alone: each of its bits matters all the same */
static PetscErrorCode CheckEmpty(const char choice[])
{
  MuonCompressor     c;
  Matrix             X, Y;
  Message            M;
  PetscBool          valid;
  unsigned long long count, payload;

  PetscFunctionBegin;
  PetscCall(Make(&c, choice));
  PetscCall(New(6, 5, &X, &Y));
  PetscCall(NewMessage(&M));
  PetscCall(Send(c, X, NULL, M));
  for (size_t bit = 0; bit < 8 * TestHeader(M->buf, &count, &payload); bit++) {
    TestCheck(payload == 0 || !Is(c, "rankk sign"), "%s: %zu bytes for a zero matrix", choice, M->bytes);
    M->buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
    PetscCall(CheckBytes(c, M->bytes, M->buf, Y, &valid));
    /* No codes at all may be coded */
    if (M->buf[4] == (MUON_WIRE_BLOCKS | MUON_WIRE_INDICES_CODED << 4) && payload == 0) valid = PETSC_FALSE;
    TestCheck(!valid, "%s: bit %zu of the header of a zero matrix does not matter", choice, bit);
    M->buf[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No byte that came over a wire is trusted: flipped, cut, prolonged and foreign messages are refused, or are finite */
static PetscErrorCode CheckCorrupt(void)
{
  Choice choice;

  PetscFunctionBegin;
  PetscCall(MuonCompressorRegister("atleast", MuonCompressorCreate_AtLeast, NULL));
  for (PetscInt k = 0; TestChoice(k, choice); k++) {
    PetscCall(CheckForged(choice, 9, 13));
    PetscCall(CheckForged(choice, 5, 3));
    PetscCall(CheckEmpty(choice));
  }
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    PetscCall(PetscSNPrintf(choice, sizeof(choice), "topk ratio 0.05 values %s", MuonCompressorValuesTypes[values]));
    PetscCall(CheckForged(choice, 21, 33));
    PetscCall(PetscSNPrintf(choice, sizeof(choice), "randk ratio 0.9 values %s", MuonCompressorValuesTypes[values]));
    PetscCall(CheckForged(choice, 11, 5));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {5, 3}, {8, 8}, {12, 31}, {40, 16}, {17, 129}, {0, 4}, {4, 0}};
  static const PetscInt arrays[][2] = {{1, 1}, {1, 9}, {9, 1}, {5, 3}, {12, 31}, {40, 16}, {70, 65}};
  static const double   bad[]       = {NAN, INFINITY, -INFINITY};
  char                  part[16]    = "all";
  PetscBool             trap;
  Choice                choice;
  Matrix                other;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(4));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  PetscCall(PetscStrcmp(part, "trap", &trap));
  if (strcmp(part, "examples") == 0) PetscCall(CheckExamples());
  if (strcmp(part, "corrupt") == 0) PetscCall(CheckCorrupt());
  for (PetscInt k = 0; (trap || strcmp(part, "all") == 0) && TestChoice(k, choice); k++) {
    /* What is not finite is a status, and not a signal where traps are set */
    for (int b = 0; b < 12; b++) PetscCall(CheckEnd(choice, (MuonPrecision)(b % 2), b / 2 % 2, b < 8 ? 62 : 20, bad[b / 4], 0));
    if (trap) continue;
    PetscCall(CheckEnd(choice, TEST_SCALAR, 0, 62, -(double)PETSC_MAX_REAL, (double)PETSC_MAX_REAL));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
      const PetscInt m = shapes[s][0], n = shapes[s][1];

      for (int gaps = 0; gaps < 3; gaps++) {
        Test.compact = gaps == 0 ? PETSC_TRUE : PETSC_FALSE;
        if (gaps == 2) PetscCall(New(1, 1, &other));
        PetscCall(CheckMessage(choice, TEST_SCALAR, 0, m, n));
      }
      PetscCall(CheckZero(choice, TEST_SCALAR, 0, m, n));
      for (int way = 0; way < 4 && m * n < 2; way++) PetscCall(CheckZero(choice, (MuonPrecision)(way / 2), way % 2, m, n));
    }
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(arrays); s++) {
      PetscCall(CheckTransposed(choice, MUON_SINGLE, arrays[s][0], arrays[s][1]));
      PetscCall(CheckTransposed(choice, MUON_DOUBLE, arrays[s][0], arrays[s][1]));
    }
    for (PetscInt blocks = 1; blocks < 3; blocks++) PetscCall(CheckState(choice, blocks));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
  # Numbers of double precision that a forged message has are infinite in single
  table: suffix | requires | args
    trap     |        | -part trap -fp_trap
    examples |        | -part examples
    corrupt  | double | -part corrupt

TEST*/
