static char help[] = "Writes what low-rank types were given, message after message, and what they made of it, for tests/oracle/lowrank.py to do again.\n\n";

#include "compressor_common.h"
#include "parameters.h"

typedef struct {
  const char          *type;
  PetscReal            ratio;
  PetscInt             rank, sweeps, oversampling;
  MuonCompressorValues values;
  PetscReal            schatten;
} Case;

/* In the order of memory, in binary64 */
static PetscErrorCode WriteArray(FILE *file, const MuonArray *A)
{
  PetscFunctionBegin;
  for (size_t j = 0; j < A->count; j++) {
    for (size_t i = 0; i < A->len; i++) {
      const double x = A->rowmajor ? TestArrayGet(A, j, i) : TestArrayGet(A, i, j);

      TestCheck(fwrite(&x, sizeof(x), 1, file) == 1, "Cannot write");
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small integers, so that no rounding makes the rank larger */
static PetscErrorCode SetRankTwo(const MuonArray *X, unsigned long long *state)
{
  const size_t m = MuonArrayRows(X), n = MuonArrayColumns(X);
  double      *factor;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * (m + n), &factor));
  for (size_t k = 0; k < 2 * (m + n); k++) factor[k] = (double)((int)(TestBits(state) % 7) - 3);
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) TestArraySet(X, i, j, factor[i] * factor[2 * m + j] + factor[m + i] * factor[2 * m + n + j]);
  }
  PetscCall(PetscFree(factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Five messages of a matrix that changes: the second is of a matrix of rank 2 in every third case, the third
   does not take effect, the fourth is of a zero matrix. Each file has T - R, what the message decodes to, and
   the message
*/
static PetscErrorCode WriteCase(TestOutput *out, const Case *what, unsigned long long *state)
{
  const PetscInt   number = out->number++, m = out->m, n = out->n;
  const char      *layer  = TestCaseLayer(number);
  const PetscInt64 seed   = number % 2 == 0 ? number : -number;
  const PetscInt   sender = number % 5, direction = number % 2;
  MuonCompressor   c;
  MuonArray        T, R, X, Y, D;
  MuonValidated    own = {NULL, 0, NULL, 0, NULL};
  PetscReal        alpha;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonCompressorSetType(c, what->type));
  PetscCall(MuonCompressorSetRatio(c, what->ratio));
  PetscCall(SetNumber((PetscObject)c, "compressor_rank", what->rank));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[what->values]));
  PetscCall(TestSetOfType(c, "powersgd_sweeps", what->sweeps));
  PetscCall(TestSetOfType(c, "powersgd_oversampling", what->oversampling));
  PetscCall(TestSetOfType(c, "topsvd_schatten", what->schatten));
  PetscCall(TestSetOfType(c, "rankk_method", 1)); /* range */
  PetscCall(MuonCompressorSetStream(c, seed, layer, sender, direction));
  PetscCall(MuonCompressorGetAlpha(c, m, n, &alpha));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 2, &T));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 1, &R));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 0, &X));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 3, &Y));
  PetscCall(TestArrayCreate(m, n, out->precision, out->rowmajor, 0, &D));
  TestArrayNormal(&T, 1.0, state);
  TestArrayNormal(&R, 0.25, state);
  fprintf(out->cases, "case %d %s %.17g %d %s %d %d %.17g %d %d", (int)number, what->type, (double)what->ratio, (int)what->rank, MuonCompressorValuesTypes[what->values], (int)what->sweeps, (int)what->oversampling,
          what->schatten >= PETSC_INFINITY ? INFINITY : (double)what->schatten, (int)m, (int)n);
  fprintf(out->cases, " %lld %s %d %d %.17g %s %s\n", (long long)seed, layer, (int)sender, (int)direction, (double)alpha, out->precision == MUON_SINGLE ? "single" : "double", out->rowmajor ? "rows" : "columns");
  for (PetscInt k = 0; k < 5; k++) {
    const PetscInt     step  = 100 * number + k;
    const PetscBool    whole = k == 1 && number % 3 == 0 ? PETSC_TRUE : PETSC_FALSE;
    char               path[PETSC_MAX_PATH_LEN];
    MuonCompressorCost cost;
    unsigned char     *buf;
    size_t             bytes;
    FILE              *file;

    TestArrayCopy(k == 3 ? &R : &T, &X);
    if (whole) PetscCall(SetRankTwo(&X, state));
    PetscCall(MuonCompressorSetStep(c, step));
    PetscCall(TestEncodeArray(c, &X, whole ? NULL : &R, &buf, &bytes, &cost, &own));
    TestCheck(bytes > 0, "%s: no message", what->type);
    PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_FALSE, 0.0, &Y));
    if (k != 2) PetscCall(MuonCompressorCommit(c));
    if (!whole) MuonArrayAxpby(-1.0, &R, 1.0, &X);
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%" PetscInt_FMT ".%" PetscInt_FMT, out->dir, number, k));
    file = fopen(path, "wb");
    TestCheck(file != NULL, "Cannot write %s", path);
    PetscCall(WriteArray(file, &X));
    PetscCall(WriteArray(file, &Y));
    TestCheck(fwrite(buf, 1, bytes, file) == bytes && fclose(file) == 0, "Cannot write %s", path);
    fprintf(out->cases, "message %d %d %.17g %.17g %.17g\n", (int)step, k != 2, cost.paper, cost.encoded, cost.entropy);
    PetscCall(PetscFree(buf));
    TestArrayNormal(&D, 0.3, state);
    MuonArrayAxpby(1.0, &D, 1.0, &T);
  }
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(TestArrayDestroy(&T));
  PetscCall(TestArrayDestroy(&R));
  PetscCall(TestArrayDestroy(&X));
  PetscCall(TestArrayDestroy(&Y));
  PetscCall(TestArrayDestroy(&D));
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt     shapes[][2] = {{24, 40}, {40, 17}, {1, 12}, {60, 9}}, larger[][2] = {{64, 70}, {110, 90}};
  const Case         some[]  = {{MUONCOMPRESSORPOWERSGD, 0.2, PETSC_DETERMINE, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, 2.0},
                                {MUONCOMPRESSORPOWERSGD, 0.2, 2, 3, 0, MUON_COMPRESSOR_VALUES_NATIVE, 2.0},
                                {MUONCOMPRESSORPOWERSGD, 0.2, 3, 1, 2, MUON_COMPRESSOR_VALUES_NATIVE, 2.0},
                                {MUONCOMPRESSORPOWERSGD, 0.1, PETSC_DETERMINE, 2, 4, MUON_COMPRESSOR_VALUES_DOUBLE, 2.0},
                                {MUONCOMPRESSORTOPSVD, 0.2, PETSC_DETERMINE, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, 1.0},
                                {MUONCOMPRESSORTOPSVD, 0.2, 3, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, PETSC_INFINITY},
                                {MUONCOMPRESSORTOPSVD, 0.2, 8, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, 3.5}};
  const char *const  types[] = {MUONCOMPRESSORPOWERSGD, MUONCOMPRESSORTOPSVD};
  char               dir[PETSC_MAX_PATH_LEN], path[PETSC_MAX_PATH_LEN + 16];
  TestOutput         out;
  PetscBool          set;
  unsigned long long state = 31;

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
  for (size_t s = 0; s < 2 * PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
    const PetscInt *shape = shapes[s % PETSC_STATIC_ARRAY_LENGTH(shapes)];

    for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
      out.m         = shape[0];
      out.n         = shape[1];
      out.precision = (MuonPrecision)precision;
      out.rowmajor  = ((int)s + precision) % 2;
      if (s >= PETSC_STATIC_ARRAY_LENGTH(shapes)) {
        for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
          const Case range = {MUONCOMPRESSORRANKK, 0.2, values == MUON_COMPRESSOR_VALUES_DOUBLE ? 1 : PETSC_DETERMINE, 1, 0, (MuonCompressorValues)values, 2.0};

          PetscCall(WriteCase(&out, &range, &state));
        }
        continue;
      }
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(some); k++) PetscCall(WriteCase(&out, &some[k], &state));
      for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
        for (int values = MUON_COMPRESSOR_VALUES_DOUBLE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
          const Case other = {types[t], 0.15, PETSC_DETERMINE, 1, 0, (MuonCompressorValues)values, 2.0};

          PetscCall(WriteCase(&out, &other, &state));
        }
      }
    }
  }
  /* Where one polynomial damps what few columns leave, and where there is another */
  for (size_t s = 0; s < 2 * PETSC_STATIC_ARRAY_LENGTH(larger); s++) {
    const Case range = {MUONCOMPRESSORRANKK, 0.2, s < 2 ? 1 : 3, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, 2.0};

    for (int precision = MUON_SINGLE; precision <= MUON_DOUBLE; precision++) {
      out.m         = larger[s % 2][0];
      out.n         = larger[s % 2][1];
      out.precision = (MuonPrecision)precision;
      out.rowmajor  = ((int)s + precision) % 2;
      PetscCall(WriteCase(&out, &range, &state));
    }
  }
  TestCheck(fclose(out.cases) == 0, "Cannot write %s", path);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: lowrank.py

TEST*/
