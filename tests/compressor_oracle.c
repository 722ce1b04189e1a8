static char help[] = "Writes what compressors were given and what they made of it, for tests/oracle/compressor.py to do again.\n\n";

#include "compressor_common.h"
#include "parameters.h"

/* In the order of memory, in binary64 */
static PetscErrorCode WriteArray(const char dir[], PetscInt number, const char name[], const MuonArray *A)
{
  char  path[PETSC_MAX_PATH_LEN];
  FILE *file;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%" PetscInt_FMT ".%s", dir, number, name));
  file = fopen(path, "wb");
  TestCheck(file != NULL, "Cannot write %s", path);
  for (size_t j = 0; j < A->count; j++) {
    for (size_t i = 0; i < A->len; i++) {
      const double x = A->rowmajor ? TestArrayGet(A, j, i) : TestArrayGet(A, i, j);

      TestCheck(fwrite(&x, sizeof(x), 1, file) == 1, "Cannot write %s", path);
    }
  }
  TestCheck(fclose(file) == 0, "Cannot write %s", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exact ties in every third case, zeros in every fifth, rows of different size in every second */
static void Fill(PetscInt number, const MuonArray *T, const MuonArray *R, unsigned long long *state)
{
  TestArrayNormal(T, 1.0, state);
  TestArrayNormal(R, 0.25, state);
  for (size_t i = 0; i < MuonArrayRows(T); i++) {
    for (size_t j = 0; j < MuonArrayColumns(T); j++) {
      const unsigned long long draw = TestBits(state);

      if (number % 3 == 1) {
        TestArraySet(T, i, j, ((int)(draw % 9) - 4) / 8.0);
        TestArraySet(R, i, j, 0.125);
      } else if (number % 5 == 2 && draw % 2 == 0) {
        TestArraySet(T, i, j, 0.0);
        TestArraySet(R, i, j, 0.0);
      } else if (number % 2 == 1) TestArraySet(T, i, j, ldexp((double)TestNormal(state), (int)(i % 5) - 2));
    }
  }
}

/*
   What a sender opens of its own message and a receiver of what came are the same, and both decode to what
   the message does; so do matrices of PETSc, where they have that precision and that order
*/
static PetscErrorCode CheckWays(MuonCompressor c, const MuonArray *T, const MuonArray *R, size_t bytes, const unsigned char buf[], const MuonCompressorCost *cost, const MuonValidated *own, const MuonArray *Y, const MuonArray *sum)
{
  const PetscInt     m = (PetscInt)MuonArrayRows(T), n = (PetscInt)MuonArrayColumns(T);
  MuonValidated      opened = {NULL, 0, NULL, 0, NULL};
  MuonCompressorCost count;
  MuonArray          Z;
  PetscBool          valid, same;

  PetscFunctionBegin;
  PetscCall(TestArrayCreate(m, n, T->precision, T->rowmajor, 4, &Z));
  PetscCall(MuonCompressorValidateArray(c, T, bytes, buf, PETSC_TRUE, &count, &opened, &valid));
  TestCheck(valid == PETSC_TRUE && opened.bytes == own->bytes && memcmp(opened.data, own->data, own->bytes) == 0, "Opened to %zu bytes, the sender has %zu", opened.bytes, own->bytes);
  TestCheck(count.paper == cost->paper && count.encoded == cost->encoded && count.entropy == cost->entropy, "Counted as %g, %g and %g, by the sender as %g, %g and %g", count.paper, count.encoded, count.entropy, cost->paper, cost->encoded,
            cost->entropy);
  PetscCall(MuonCompressorValidateArray(c, T, bytes, buf, PETSC_FALSE, &count, &opened, &valid));
  TestCheck(valid == PETSC_TRUE && count.paper == cost->paper && count.encoded == cost->encoded && count.entropy == -1, "Without the entropy it is %g", count.entropy);
  PetscCall(MuonCompressorDecodeValidated(c, &opened, PETSC_FALSE, 0.0, &Z));
  TestCheck(TestArraySame(Y, &Z) == PETSC_TRUE, "An opened message is something else");
  PetscCall(MuonCompressorDecodeArray(c, PETSC_FALSE, 0.0, bytes, buf, &Z, &valid));
  TestCheck(valid == PETSC_TRUE && TestArraySame(Y, &Z) == PETSC_TRUE, "A message is something else");
  TestArrayCopy(R, &Z);
  PetscCall(MuonCompressorDecodeValidated(c, &opened, PETSC_TRUE, 0.5, &Z));
  TestCheck(TestArraySame(sum, &Z) == PETSC_TRUE, "An opened message adds something else");
  TestArrayCopy(R, &Z);
  PetscCall(MuonCompressorDecodeArray(c, PETSC_TRUE, 0.5, bytes, buf, &Z, &valid));
  TestCheck(valid == PETSC_TRUE && TestArraySame(sum, &Z) == PETSC_TRUE, "A message adds something else");
  PetscCall(MuonCompressorDecodeArray(c, PETSC_FALSE, 0.0, bytes - 1, buf, &Z, &valid));
  TestCheck(valid == PETSC_FALSE, "A message without its end is decoded");
  PetscCall(MuonCompressorValidateArray(c, T, bytes - 1, buf, PETSC_FALSE, NULL, &opened, &valid));
  TestCheck(valid == PETSC_FALSE, "A message without its end is opened");
  if (!T->rowmajor && T->precision == (PetscDefined(USE_REAL_SINGLE) ? MUON_SINGLE : MUON_DOUBLE)) {
    Mat            A, B, C, D;
    unsigned char *other;
    size_t         others;

    PetscCall(TestMatCreate(m, n, 1, &A));
    PetscCall(TestMatCreate(m, n, 0, &B));
    PetscCall(TestMatCreate(m, n, 2, &C));
    PetscCall(TestMatCreate(m, n, 0, &D));
    PetscCall(TestMatOfArray(T, A));
    PetscCall(TestMatOfArray(R, B));
    PetscCall(TestEncode(c, A, B, &other, &others));
    TestCheck(others == bytes && memcmp(other, buf, bytes) == 0, "Matrices have another message than arrays");
    PetscCall(PetscFree(other));
    PetscCall(MuonCompressorDecode(c, PETSC_FALSE, 1, bytes, buf, C));
    PetscCall(TestMatOfArray(Y, D));
    PetscCall(TestMatSame(C, D, &same));
    TestCheck(same == PETSC_TRUE, "A matrix is decoded to something else");
    PetscCall(MuonCompressorDecode(c, PETSC_TRUE, 0.5, bytes, buf, B));
    PetscCall(TestMatOfArray(sum, D));
    PetscCall(TestMatSame(B, D, &same));
    TestCheck(same == PETSC_TRUE, "Something else is added to a matrix");
    PetscCall(TestCost(c, m, n, bytes, buf, &count));
    TestCheck(count.paper == cost->paper && count.encoded == cost->encoded && count.entropy == cost->entropy, "Later counted as %g, %g and %g", count.paper, count.encoded, count.entropy);
    PetscCall(TestMatDestroy(&A));
    PetscCall(TestMatDestroy(&B));
    PetscCall(TestMatDestroy(&C));
    PetscCall(TestMatDestroy(&D));
  }
  PetscCall(MuonValidatedDestroy(&opened));
  PetscCall(TestArrayDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteCase(TestOutput *out, const char type[], PetscReal ratio, PetscInt rank, MuonCompressorValues values, PetscInt entries, unsigned long long *state)
{
  const PetscInt     number = out->number++, m = out->m, n = out->n;
  const char        *layer  = TestCaseLayer(number);
  const PetscInt64   seed   = number % 2 == 0 ? number : -number;
  const PetscInt     sender = number % 5, direction = number % 2, step = 1000 * number, bits = number % 4 == 0 ? 26 : PETSC_DETERMINE;
  const PetscReal    norms[] = {2, 1, PETSC_INFINITY, 3}, norm = norms[number % 4];
  char               path[PETSC_MAX_PATH_LEN];
  MuonCompressor     c;
  MuonCompressorCost cost;
  MuonValidated      own = {NULL, 0, NULL, 0, NULL};
  PetscReal          alpha;
  PetscBool          quantized;
  MuonArray          T, R, Y, sum;
  unsigned char     *buf;
  size_t             bytes;
  FILE              *file;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, type));
  PetscCall(MuonCompressorSetRatio(c, ratio));
  PetscCall(SetNumber((PetscObject)c, "compressor_rank", rank));
  PetscCall(PetscStrcmp(type, MUONCOMPRESSORIDENTITY, &quantized));
  if (!quantized) PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[values]));
  PetscCall(TestSetOfType(c, "line_norm", norm));
  PetscCall(TestSetOfType(c, "block_entries", (double)entries));
  PetscCall(SetNumber((PetscObject)c, "compressor_paper_index_bits", bits));
  PetscCall(PetscStrcmp(type, MUONCOMPRESSORQSGD, &quantized));
  if (quantized) {
    PetscCall(SetNumber((PetscObject)c, "compressor_bits", 2 + number % 7));
    PetscCall(SetNumber((PetscObject)c, "compressor_qsgd_block_length", (PetscInt)16 << number % 4));
    PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_qsgd_block_norm", MuonCompressorBlockNorms[number / 7 % 2 == 0 ? MUON_COMPRESSOR_BLOCK_NORM_MAX : MUON_COMPRESSOR_BLOCK_NORM_L2]));
  }
  PetscCall(MuonCompressorSetStream(c, seed, layer, sender, direction));
  PetscCall(MuonCompressorSetStep(c, step));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 2, &T));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 1, &R));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 3, &Y));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 0, &sum));
  Fill(number, &T, &R, state);
  PetscCall(TestEncodeArray(c, &T, &R, &buf, &bytes, &cost, &own));
  TestCheck(bytes > 0, "%s: no message", type);
  PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_FALSE, 0.0, &Y));
  TestArrayCopy(&R, &sum);
  PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_TRUE, 0.5, &sum));
  PetscCall(CheckWays(c, &T, &R, bytes, buf, &cost, &own, &Y, &sum));
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  PetscCall(WriteArray(out->dir, number, "T", &T));
  PetscCall(WriteArray(out->dir, number, "R", &R));
  PetscCall(WriteArray(out->dir, number, "decoded", &Y));
  PetscCall(WriteArray(out->dir, number, "sum", &sum));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%" PetscInt_FMT ".message", out->dir, number));
  file = fopen(path, "wb");
  TestCheck(file != NULL && fwrite(buf, 1, bytes, file) == bytes && fclose(file) == 0, "Cannot write %s", path);
  fprintf(out->cases, "%d %s %.17g %d %s %d %d %lld", (int)number, type, (double)ratio, (int)rank, MuonCompressorValuesTypes[values], (int)m, (int)n, (long long)seed);
  fprintf(out->cases, " %s %d %d %d %d %.17g %.17g %.17g %.17g %.17g", layer, (int)sender, (int)direction, (int)step, (int)bits, cost.paper, cost.encoded, cost.entropy, (double)alpha, norm >= PETSC_INFINITY ? HUGE_VAL : (double)norm);
  fprintf(out->cases, " %s %s %d\n", out->precision == MUON_SINGLE ? "single" : "double", out->rowmajor ? "rows" : "columns", (int)entries);
  PetscCall(PetscFree(buf));
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(TestArrayDestroy(&T));
  PetscCall(TestArrayDestroy(&R));
  PetscCall(TestArrayDestroy(&Y));
  PetscCall(TestArrayDestroy(&sum));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteCases(TestOutput *out, unsigned long long *state)
{
  const char *const          dense[]    = {MUONCOMPRESSORIDENTITY, MUONCOMPRESSORNATURAL, MUONCOMPRESSORNATURAL, MUONCOMPRESSORNATURAL, MUONCOMPRESSORNEAREST, MUONCOMPRESSORTRUNCATED, MUONCOMPRESSORBF16};
  const char *const          partial[]  = {MUONCOMPRESSORTOPK, MUONCOMPRESSORDAMPING, MUONCOMPRESSORDROPOUT, MUONCOMPRESSORCOLUMNTOPK, MUONCOMPRESSORROWTOPK, MUONCOMPRESSORRANDK, MUONCOMPRESSORRANKK};
  const PetscReal            ratios[]   = {0.1, 0.03, 0.6};
  const MuonCompressorValues inblocks[] = {MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATURAL, MUON_COMPRESSOR_VALUES_2BIT};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(dense); k++) PetscCall(WriteCase(out, dense[k], 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0, state));
  for (int v = MUON_COMPRESSOR_VALUES_NATIVE; v <= MUON_COMPRESSOR_VALUES_NATURAL; v++) {
    const MuonCompressorValues values = (MuonCompressorValues)v;

    PetscCall(WriteCase(out, MUONCOMPRESSORSIGN, 0.1, PETSC_DETERMINE, values, 0, state));
    for (PetscInt k = 0; k < 3; k++) PetscCall(WriteCase(out, MUONCOMPRESSORQSGD, 0.1, PETSC_DETERMINE, values, 0, state));
    for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(ratios); r++) {
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(partial); k++) {
        /* Dropout of everything at first, and the rank itself once */
        PetscCall(WriteCase(out, partial[k], k == 2 && r == 0 ? 1.0 : ratios[r], k == 6 && r == 1 ? 3 : PETSC_DETERMINE, values, 0, state));
      }
    }
  }
  /* In blocks, of which the last is shorter in some shapes and the only one is in others; 0.001 of a block is less than one entry */
  for (size_t v = 0; v < PETSC_STATIC_ARRAY_LENGTH(inblocks); v++) {
    for (PetscInt k = 0; k < 4; k++) PetscCall(WriteCase(out, MUONCOMPRESSORTOPK, k == 3 ? 0.001 : ratios[k], PETSC_DETERMINE, inblocks[v], k == 2 && v == 2 ? 0 : 64 + 64 * (k % 2), state));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* The last has the size for which SparseLoCo's numbers are meant */
  const PetscInt     shapes[][2] = {{24, 40}, {33, 17}, {1, 30}, {64, 9}, {128, 160}};
  char               dir[PETSC_MAX_PATH_LEN], path[PETSC_MAX_PATH_LEN + 16];
  TestOutput         out;
  PetscBool          set;
  unsigned long long state = 9;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), &set));
  TestCheck(set, "-oracle_dir names the folder to write into");
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases", dir));
  out.dir    = dir;
  out.number = 0;
  out.cases  = fopen(path, "w");
  TestCheck(out.cases != NULL, "Cannot write %s", path);
  fprintf(out.cases, "%s\n", PetscDefined(USE_REAL_SINGLE) ? "single" : "double");
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
      out.m         = shapes[s][0];
      out.n         = shapes[s][1];
      out.precision = (MuonPrecision)precision;
      out.rowmajor  = ((int)s + precision) % 2;
      if (out.m < 128) PetscCall(WriteCases(&out, &state));
      else {
        PetscCall(WriteCase(&out, MUONCOMPRESSORTOPK, 0.015625, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_2BIT, 4096, &state));
        /* A bitmap that is decoded in two strips, the second in the middle of values that share magnitudes */
        PetscCall(WriteCase(&out, MUONCOMPRESSORTOPK, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_2BIT, 0, &state));
      }
    }
  }
  TestCheck(fclose(out.cases) == 0, "Cannot write %s", path);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: compressor.py

TEST*/
