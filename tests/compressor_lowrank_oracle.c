static char help[] = "Writes what low-rank types were given, message after message, and what they made of it, for tests/oracle/lowrank.py to do again.\n\n";

#include "compressor_common.h"

typedef struct {
  const char          *type;
  PetscReal            ratio;
  PetscInt             rank, sweeps, oversampling;
  MuonCompressorValues values;
  PetscReal            schatten;
} Case;

static PetscErrorCode WriteMat(FILE *file, Mat A)
{
  PetscScalar *rows;
  PetscInt     m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(TestMatGetRows(A, &rows));
  for (PetscInt k = 0; k < m * n; k++) {
    const double x = (double)rows[k];

    TestCheck(fwrite(&x, sizeof(x), 1, file) == 1, "Cannot write");
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small integers, so that no rounding makes the rank larger */
static PetscErrorCode SetRankTwo(Mat X, unsigned long long *state)
{
  PetscScalar *factor;
  PetscInt     m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &m, &n));
  PetscCall(PetscMalloc1(2 * (m + n), &factor));
  for (PetscInt k = 0; k < 2 * (m + n); k++) factor[k] = (PetscScalar)((PetscInt)(TestBits(state) % 7) - 3);
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) PetscCall(TestMatSet(X, i, j, factor[i] * factor[2 * m + j] + factor[m + i] * factor[2 * m + n + j]));
  }
  PetscCall(PetscFree(factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Five messages of a matrix that changes: the second is of a matrix of rank 2 in every third case, the third does not take effect, the fourth is of a zero matrix. Each file has T - R, what the message decodes to, both by rows, and the message */
static PetscErrorCode WriteCase(const char dir[], FILE *cases, PetscInt number, const Case *what, PetscInt m, PetscInt n, unsigned long long *state)
{
  const char      *names[] = {"embed", "h0.attn.q", "h11.mlp.down"};
  const char      *layer   = names[number % 3];
  const PetscInt64 seed    = number % 2 == 0 ? number : -number;
  const PetscInt   sender = number % 5, direction = number % 2;
  MuonCompressor   c;
  Mat              T, R, X, Y, D;
  PetscReal        alpha;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, what->type));
  PetscCall(MuonCompressorSetRatio(c, what->ratio));
  PetscCall(MuonCompressorSetRank(c, what->rank));
  PetscCall(MuonCompressorSetValues(c, what->values));
  PetscCall(MuonCompressorPowerSGDSetSweeps(c, what->sweeps));
  PetscCall(MuonCompressorPowerSGDSetOversampling(c, what->oversampling));
  PetscCall(MuonCompressorTopSVDSetSchatten(c, what->schatten));
  PetscCall(MuonCompressorSetStream(c, seed, layer, sender, direction));
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  PetscCall(TestMatCreate(m, n, 2, &T));
  PetscCall(TestMatCreate(m, n, 1, &R));
  PetscCall(TestMatCreate(m, n, 0, &X));
  PetscCall(TestMatCreate(m, n, 3, &Y));
  PetscCall(TestMatCreate(m, n, 0, &D));
  PetscCall(TestMatNormal(T, 1.0, state));
  PetscCall(TestMatNormal(R, 0.25, state));
  fprintf(cases, "case %d %s %.17g %d %s %d %d %.17g %d %d", (int)number, what->type, (double)what->ratio, (int)what->rank, MuonCompressorValuesTypes[what->values], (int)what->sweeps, (int)what->oversampling,
          what->schatten >= PETSC_INFINITY ? INFINITY : (double)what->schatten, (int)m, (int)n);
  fprintf(cases, " %lld %s %d %d %.17g\n", (long long)seed, layer, (int)sender, (int)direction, (double)alpha);
  for (PetscInt k = 0; k < 5; k++) {
    const PetscInt     step = 100 * number + k;
    char               path[PETSC_MAX_PATH_LEN];
    MuonCompressorCost cost;
    PetscReal          contraction = -1;
    PetscBool          topsvd;
    unsigned char     *buf;
    size_t             bytes;
    FILE              *file;

    if (k == 3) PetscCall(TestMatAxpby(1.0, R, 0.0, X));
    else PetscCall(TestMatAxpby(1.0, T, 0.0, X));
    if (k == 1 && number % 3 == 0) PetscCall(SetRankTwo(X, state));
    PetscCall(MuonCompressorSetStep(c, step));
    PetscCall(TestEncode(c, X, k == 1 && number % 3 == 0 ? NULL : R, &buf, &bytes));
    TestCheck(bytes > 0, "%s: no message", what->type);
    PetscCall(MuonCompressorDecode(c, bytes, buf, Y));
    PetscCall(MuonCompressorGetCost(c, m, n, bytes, buf, &cost));
    PetscCall(PetscStrcmp(what->type, MUONCOMPRESSORTOPSVD, &topsvd));
    if (topsvd) PetscCall(MuonCompressorTopSVDGetContraction(c, &contraction));
    if (k != 2) PetscCall(MuonCompressorCommit(c));
    if (k != 1 || number % 3 != 0) PetscCall(TestMatAxpby(-1.0, R, 1.0, X));
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%" PetscInt_FMT ".%" PetscInt_FMT, dir, number, k));
    file = fopen(path, "wb");
    TestCheck(file != NULL, "Cannot write %s", path);
    PetscCall(WriteMat(file, X));
    PetscCall(WriteMat(file, Y));
    TestCheck(fwrite(buf, 1, bytes, file) == bytes && fclose(file) == 0, "Cannot write %s", path);
    fprintf(cases, "message %d %d %.17g %.17g %.17g %.17g\n", (int)step, k != 2, cost.paper, cost.encoded, cost.entropy, (double)contraction);
    PetscCall(PetscFree(buf));
    PetscCall(TestMatNormal(D, 0.3, state));
    PetscCall(TestMatAxpby(1.0, D, 1.0, T));
  }
  PetscCall(TestMatDestroy(&T));
  PetscCall(TestMatDestroy(&R));
  PetscCall(TestMatDestroy(&X));
  PetscCall(TestMatDestroy(&Y));
  PetscCall(TestMatDestroy(&D));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt     shapes[][2] = {{24, 40}, {40, 17}, {1, 12}, {60, 9}};
  const Case         some[]      = {{MUONCOMPRESSORPOWERSGD, 0.2, PETSC_DETERMINE, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, 2.0},
                                    {MUONCOMPRESSORPOWERSGD, 0.2, 2, 3, 0, MUON_COMPRESSOR_VALUES_NATIVE, 2.0},
                                    {MUONCOMPRESSORPOWERSGD, 0.2, 3, 1, 2, MUON_COMPRESSOR_VALUES_NATIVE, 2.0},
                                    {MUONCOMPRESSORPOWERSGD, 0.1, PETSC_DETERMINE, 2, 4, MUON_COMPRESSOR_VALUES_DOUBLE, 2.0},
                                    {MUONCOMPRESSORTOPSVD, 0.2, PETSC_DETERMINE, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, 1.0},
                                    {MUONCOMPRESSORTOPSVD, 0.2, 3, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, PETSC_INFINITY},
                                    {MUONCOMPRESSORTOPSVD, 0.2, 8, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, 3.5}};
  const char *const  types[]     = {MUONCOMPRESSORPOWERSGD, MUONCOMPRESSORTOPSVD};
  char               dir[PETSC_MAX_PATH_LEN], path[PETSC_MAX_PATH_LEN + 16];
  FILE              *cases;
  PetscInt           number = 0;
  PetscBool          set;
  unsigned long long state = 31;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), &set));
  TestCheck(set, "-oracle_dir names the folder to write into");
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases", dir));
  cases = fopen(path, "w");
  TestCheck(cases != NULL, "Cannot write %s", path);
  fprintf(cases, "%s\n", PetscDefined(USE_REAL_SINGLE) ? "single" : "double");
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(some); k++) PetscCall(WriteCase(dir, cases, number++, &some[k], shapes[s][0], shapes[s][1], &state));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
      for (int values = MUON_COMPRESSOR_VALUES_DOUBLE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
        const Case other = {types[t], 0.15, PETSC_DETERMINE, 1, 0, (MuonCompressorValues)values, 2.0};

        PetscCall(WriteCase(dir, cases, number++, &other, shapes[s][0], shapes[s][1], &state));
      }
    }
  }
  TestCheck(fclose(cases) == 0, "Cannot write %s", path);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: lowrank.py

TEST*/
