static char help[] = "Writes what compressors were given and what they made of it, for tests/oracle/compressor.py to do again.\n\n";

#include "compressor_common.h"

/* Row-major, in binary64 */
static PetscErrorCode WriteMat(const char dir[], PetscInt number, const char name[], Mat A)
{
  char         path[PETSC_MAX_PATH_LEN];
  PetscScalar *rows;
  PetscInt     m, n;
  FILE        *file;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(TestMatGetRows(A, &rows));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%" PetscInt_FMT ".%s", dir, number, name));
  file = fopen(path, "wb");
  TestCheck(file != NULL, "Cannot write %s", path);
  for (PetscInt k = 0; k < m * n; k++) {
    const double x = (double)rows[k];

    TestCheck(fwrite(&x, sizeof(x), 1, file) == 1, "Cannot write %s", path);
  }
  TestCheck(fclose(file) == 0, "Cannot write %s", path);
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteCase(const char dir[], FILE *cases, PetscInt number, const char type[], PetscReal ratio, PetscInt rank, MuonCompressorValues values, PetscInt m, PetscInt n, unsigned long long *state)
{
  const char        *names[] = {"embed", "h0.attn.q", "h11.mlp.down"};
  const char        *layer   = names[number % 3];
  const PetscInt64   seed    = number % 2 == 0 ? number : -number;
  const PetscInt     sender = number % 5, direction = number % 2, step = 1000 * number, bits = number % 4 == 0 ? 26 : PETSC_DETERMINE;
  const PetscReal    norms[] = {2, 1, PETSC_INFINITY, 3}, norm = norms[number % 4];
  char               path[PETSC_MAX_PATH_LEN];
  MuonCompressor     c;
  MuonCompressorCost cost;
  PetscReal          alpha;
  PetscBool          quantized;
  Mat                T, R, Y, sum;
  unsigned char     *buf;
  size_t             bytes;
  FILE              *file;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, type));
  PetscCall(MuonCompressorSetRatio(c, ratio));
  PetscCall(MuonCompressorSetRank(c, rank));
  PetscCall(MuonCompressorSetValues(c, values));
  PetscCall(MuonCompressorSetLineNorm(c, norm));
  PetscCall(MuonCompressorSetPaperIndexBits(c, bits));
  PetscCall(PetscStrcmp(type, MUONCOMPRESSORQSGD, &quantized));
  if (quantized) {
    PetscCall(MuonCompressorSetBits(c, 2 + number % 7));
    PetscCall(MuonCompressorQSGDSetBlockLength(c, (PetscInt)16 << number % 4));
    PetscCall(MuonCompressorQSGDSetBlockNorm(c, number / 7 % 2 == 0 ? MUON_COMPRESSOR_BLOCK_NORM_MAX : MUON_COMPRESSOR_BLOCK_NORM_L2));
  }
  PetscCall(MuonCompressorSetStream(c, seed, layer, sender, direction));
  PetscCall(MuonCompressorSetStep(c, step));
  PetscCall(TestMatCreate(m, n, 2, &T));
  PetscCall(TestMatCreate(m, n, 1, &R));
  PetscCall(TestMatCreate(m, n, 3, &Y));
  PetscCall(TestMatCreate(m, n, 0, &sum));
  PetscCall(TestMatNormal(T, 1.0, state));
  PetscCall(TestMatNormal(R, 0.25, state));
  /* Exact ties in every third case, zeros in every fifth, rows of different size in every second */
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const unsigned long long draw = TestBits(state);

      if (number % 3 == 1) {
        PetscCall(TestMatSet(T, i, j, ((PetscInt)(draw % 9) - 4) / (PetscScalar)8));
        PetscCall(TestMatSet(R, i, j, 0.125));
      } else if (number % 5 == 2 && draw % 2 == 0) {
        PetscCall(TestMatSet(T, i, j, 0.0));
        PetscCall(TestMatSet(R, i, j, 0.0));
      } else if (number % 2 == 1) PetscCall(TestMatSet(T, i, j, PetscPowRealInt(2.0, (int)(i % 5) - 2) * TestNormal(state)));
    }
  }
  PetscCall(TestEncode(c, T, R, &buf, &bytes));
  TestCheck(bytes > 0, "%s: no message", type);
  PetscCall(MuonCompressorDecode(c, bytes, buf, Y));
  PetscCall(TestMatAxpby(1.0, R, 0.0, sum));
  PetscCall(MuonCompressorDecodeAdd(c, 0.5, bytes, buf, sum));
  PetscCall(MuonCompressorGetCost(c, m, n, bytes, buf, &cost));
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  PetscCall(WriteMat(dir, number, "T", T));
  PetscCall(WriteMat(dir, number, "R", R));
  PetscCall(WriteMat(dir, number, "decoded", Y));
  PetscCall(WriteMat(dir, number, "sum", sum));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%" PetscInt_FMT ".message", dir, number));
  file = fopen(path, "wb");
  TestCheck(file != NULL && fwrite(buf, 1, bytes, file) == bytes && fclose(file) == 0, "Cannot write %s", path);
  fprintf(cases, "%d %s %.17g %d %s %d %d %lld", (int)number, type, (double)ratio, (int)rank, MuonCompressorValuesTypes[values], (int)m, (int)n, (long long)seed);
  fprintf(cases, " %s %d %d %d %d %.17g %.17g %.17g %.17g %.17g\n", layer, (int)sender, (int)direction, (int)step, (int)bits, cost.paper, cost.encoded, cost.entropy, (double)alpha, norm >= PETSC_INFINITY ? HUGE_VAL : (double)norm);
  PetscCall(PetscFree(buf));
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&R));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&sum));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt     shapes[][2] = {{24, 40}, {33, 17}, {1, 30}, {64, 9}};
  const PetscReal    ratios[]    = {0.1, 0.03, 0.6};
  char               dir[PETSC_MAX_PATH_LEN], path[PETSC_MAX_PATH_LEN + 16];
  FILE              *cases;
  PetscInt           number = 0;
  PetscBool          set;
  unsigned long long state = 9;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), &set));
  TestCheck(set, "-oracle_dir names the folder to write into");
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases", dir));
  cases = fopen(path, "w");
  TestCheck(cases != NULL, "Cannot write %s", path);
  fprintf(cases, "%s\n", PetscDefined(USE_REAL_SINGLE) ? "single" : "double");
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    const PetscInt m = shapes[s][0], n = shapes[s][1];

    PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORIDENTITY, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, m, n, &state));
    for (PetscInt k = 0; k < 3; k++) PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORNATURAL, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, m, n, &state));
    PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORNEAREST, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, m, n, &state));
    PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORTRUNCATED, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, m, n, &state));
    PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORBF16, 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, m, n, &state));
    for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
      PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORSIGN, 0.1, PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
      for (PetscInt k = 0; k < 3; k++) PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORQSGD, 0.1, PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
      for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(ratios); r++) {
        PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORTOPK, ratios[r], PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
        PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORDAMPING, ratios[r], PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
        PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORDROPOUT, r == 0 ? 1.0 : ratios[r], PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
        PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORCOLUMNTOPK, ratios[r], PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
        PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORROWTOPK, ratios[r], PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
        PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORRANDK, ratios[r], PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
        PetscCall(WriteCase(dir, cases, number++, MUONCOMPRESSORRANKK, ratios[r], r == 1 ? 3 : PETSC_DETERMINE, (MuonCompressorValues)values, m, n, &state));
      }
    }
  }
  TestCheck(fclose(cases) == 0, "Cannot write %s", path);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: compressor.py

TEST*/
