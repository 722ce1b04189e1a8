static char help[] = "Writes what compressors were given and what they made of it, for tests/oracle/compressor.py and lowrank.py to do again.\n\n";

#include "compressor_common.h"

/* Where cases go, and the matrices of the next one */
typedef struct {
  char          dir[PETSC_MAX_PATH_LEN];
  FILE         *cases;
  int           number, m, n, rowmajor;
  MuonPrecision precision;
} Output;

static PetscErrorCode Open(const Output *out, const char name[], FILE **file)
{
  char path[2 * PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%s", out->dir, name));
  *file = fopen(path, "wb");
  TestCheck(*file != NULL, "Cannot write %s", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Write(FILE *file, size_t bytes, const void *data)
{
  PetscFunctionBegin;
  TestCheck(fwrite(data, 1, bytes, file) == bytes, "Cannot write");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the order of memory, in binary64 */
static PetscErrorCode WriteMatrix(FILE *file, Matrix A)
{
  PetscFunctionBegin;
  for (PetscInt e = 0; e < A->m * A->n; e++) {
    const double x = GetAt(A, e);

    PetscCall(Write(file, sizeof(x), &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exact ties in every third case, zeros in every fifth, rows of different size in every second */
static void Fill(int number, Matrix T, Matrix R)
{
  Random(T, 1);
  Random(R, 0.25);
  for (PetscInt e = 0; e < T->m * T->n; e++) {
    const PetscInt           i = e / T->n, j = e % T->n;
    const unsigned long long draw = Bits();

    if (number % 3 == 1) {
      Set(T, i, j, ((int)(draw % 9) - 4) / 8.0);
      Set(R, i, j, 0.125);
    } else if (number % 5 == 2 && draw % 2 == 0) {
      Set(T, i, j, 0);
      Set(R, i, j, 0);
    } else if (number % 2 == 1) Set(T, i, j, ldexp(Normal(), (int)(i % 5) - 2));
  }
}

/* Small integers, so that no rounding makes the rank larger */
static PetscErrorCode SetRankTwo(Matrix X)
{
  Matrix a, b;

  PetscFunctionBegin;
  PetscCall(New(X->m, 2, &a));
  PetscCall(New(X->n, 2, &b));
  for (PetscInt e = 0; e < 2 * X->m; e++) SetAt(a, e, (double)(Bits() % 7) - 3);
  for (PetscInt e = 0; e < 2 * X->n; e++) SetAt(b, e, (double)(Bits() % 7) - 3);
  for (PetscInt e = 0; e < X->m * X->n; e++) {
    const PetscInt i = e / X->n, j = e % X->n;

    Set(X, i, j, Get(a, i, 0) * Get(b, j, 0) + Get(a, i, 1) * Get(b, j, 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A case: a message, or five of a matrix that changes: the second is of a matrix of rank 2 in every third case, the third does not take
   effect, the fourth is of a zero matrix. Each file has T - R, or T that is assigned, what the message decodes to, and the message
*/
static PetscErrorCode WriteCase(Output *out, int messages, const char format[], ...)
{
  const int          number = out->number, seed = number % 2 == 0 ? number : -number;
  const char        *layer = number % 3 == 0 ? "embed" : number % 3 == 1 ? "h0.attn.q" : "h11.mlp.down";
  MuonCompressor     c;
  MuonCompressorCost cost;
  Matrix             T, R, X, Y, E, sum;
  Message            M;
  PetscReal          alpha;
  Choice             choice;
  va_list            args;

  PetscFunctionBegin;
  va_start(args, format);
  PetscCall(PetscVSNPrintf(choice, sizeof(choice), format, NULL, args));
  va_end(args);
  PetscCall(Make(&c, "%s", choice));
  PetscCall(MuonCompressorSetStream(c, seed, layer, number % 5, number % 2));
  PetscCall(MuonCompressorGetAlpha(c, out->m, out->n, &alpha));
  PetscCall(NewArray(out->m, out->n, out->precision, out->rowmajor, &T, &R, &X, &Y, &E, &sum));
  PetscCall(NewMessage(&M));
  Random(T, 1);
  Random(R, 0.25);
  if (messages == 1) Fill(number, T, R);
  fprintf(out->cases, "case %d %d %d %d %s %d %d %.17g", number, out->m, out->n, seed, layer, number % 5, number % 2, (double)alpha);
  fprintf(out->cases, " %s %s %s\n", out->precision == MUON_SINGLE ? "single" : "double", out->rowmajor ? "rows" : "columns", choice);
  for (int k = 0; k < messages; k++) {
    const PetscBool whole = k == 1 && number % 3 == 0 ? PETSC_TRUE : PETSC_FALSE;
    char            path[32];
    FILE           *file;

    Copy(k == 3 ? R : T, X);
    if (whole) PetscCall(SetRankTwo(X));
    PetscCall(MuonCompressorSetStep(c, 100 * number + k));
    PetscCall(Ways(c, c, X, whole ? NULL : R, Y, sum, M, &cost));
    if (k != 2) PetscCall(MuonCompressorCommit(c));
    if (!whole && !Is(c, "identity")) Axpby(-1, R, 1, X);
    PetscCall(PetscSNPrintf(path, sizeof(path), "%d.%d", number, k));
    PetscCall(Open(out, path, &file));
    PetscCall(WriteMatrix(file, X));
    PetscCall(WriteMatrix(file, Y));
    PetscCall(Write(file, M->bytes, M->buf));
    TestCheck(fclose(file) == 0, "Cannot write %s", path);
    fprintf(out->cases, "message %d %d %.17g %.17g %.17g\n", 100 * number + k, k != 2, cost.paper, cost.encoded, cost.entropy);
    Random(E, 0.3);
    Axpby(1, E, 1, T);
  }
  PetscCall(Free(0));
  out->number++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteTopK(Output *out, double ratio, const char values[], int entries)
{
  const int bits = out->number % 4 == 0 ? 26 : PETSC_DETERMINE;

  PetscFunctionBegin;
  PetscCall(WriteCase(out, 1, "topk ratio %g paper_index_bits %d values %s block_entries %d", ratio, bits, values, entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteCases(Output *out)
{
  static const char *const dense[] = {"identity", "natural", "natural", "natural", "nearest", "truncated", "bf16"};
  static const char *const norms[] = {"2", "1", "inf", "3"}, *const blocknorms[] = {"max", "l2"};
  static const char *const partial[]  = {"topk", "damping", "dropout", "columntopk", "rowtopk", "randk"};
  static const double      ratios[]   = {0.1, 0.03, 0.6, 0.001};
  static const char *const inblocks[] = {"native", "natural", "2bit"};

  PetscFunctionBegin;
  for (int k = 0; k < 7; k++) PetscCall(WriteCase(out, 1, "%s", dense[k]));
  for (int v = MUON_COMPRESSOR_VALUES_NATIVE; v <= MUON_COMPRESSOR_VALUES_NATURAL; v++) {
    const char *values = MuonCompressorValuesTypes[v];

    PetscCall(WriteCase(out, 1, "sign values %s", values));
    for (int k = 0; k < 3; k++) {
      const int   n    = out->number;
      const char *norm = blocknorms[n / 7 % 2];

      PetscCall(WriteCase(out, 1, "qsgd values %s bits %d qsgd_block_length %d qsgd_block_norm %s", values, 2 + n % 7, 16 << n % 4, norm));
    }
    /* Dropout of everything at first */
    for (int k = 0; k < 18; k++) {
      const char  *type  = partial[k % 6];
      const double ratio = k == 2 ? 1 : ratios[k / 6];
      const int    n     = out->number;

      if (k % 6 == 0) PetscCall(WriteTopK(out, ratio, values, 0));
      else if (k % 6 == 3 || k % 6 == 4) PetscCall(WriteCase(out, 1, "%s ratio %g values %s line_norm %s", type, ratio, values, norms[n % 4]));
      else PetscCall(WriteCase(out, 1, "%s ratio %g values %s paper_index_bits %d", type, ratio, values, n % 4 == 0 ? 26 : PETSC_DETERMINE));
    }
  }
  /* In blocks, of which the last is shorter in some shapes and the only one is in others; 0.001 of a block is less than one entry */
  for (int k = 0; k < 12; k++) PetscCall(WriteTopK(out, ratios[k % 4], inblocks[k / 4], k == 10 ? 0 : 64 + 64 * (k % 2)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteLowRank(Output *out)
{
  static const int         shapes[][2] = {{24, 40}, {40, 17}, {1, 12}, {60, 9}}, larger[][2] = {{64, 70}, {110, 90}};
  static const char *const some[] = {"powersgd ratio 0.2 values native",
                                     "powersgd ratio 0.2 rank 2 values native powersgd_sweeps 3",
                                     "powersgd ratio 0.2 rank 3 values native powersgd_oversampling 2",
                                     "powersgd ratio 0.1 values double powersgd_sweeps 2 powersgd_oversampling 4",
                                     "topsvd ratio 0.2 values native topsvd_schatten 1",
                                     "topsvd ratio 0.2 rank 3 values native topsvd_schatten inf",
                                     "topsvd ratio 0.2 rank 8 values native topsvd_schatten 3.5"};

  PetscFunctionBegin;
  for (int s = 0; s < 24; s++) {
    out->m         = s < 16 ? shapes[s / 2 % 4][0] : larger[s / 2 % 2][0];
    out->n         = s < 16 ? shapes[s / 2 % 4][1] : larger[s / 2 % 2][1];
    out->precision = (MuonPrecision)(s % 2);
    out->rowmajor  = (s / 2 + s) % 2;
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(some) && s < 8; k++) PetscCall(WriteCase(out, 5, "%s", some[k]));
    for (int v = MUON_COMPRESSOR_VALUES_NATIVE; v <= MUON_COMPRESSOR_VALUES_NATURAL && s < 16; v++) {
      const char *values = MuonCompressorValuesTypes[v];
      const int   rank   = v == MUON_COMPRESSOR_VALUES_DOUBLE ? 1 : PETSC_DETERMINE;

      if (s < 8) PetscCall(WriteCase(out, 5, "rankk ratio 0.3 rank %d values %s", v == MUON_COMPRESSOR_VALUES_SINGLE ? 3 : PETSC_DETERMINE, values));
      if (s >= 8) PetscCall(WriteCase(out, 5, "rankk ratio 0.2 rank %d values %s rankk_method range", rank, values));
      else if (v > MUON_COMPRESSOR_VALUES_NATIVE) {
        PetscCall(WriteCase(out, 5, "powersgd ratio 0.15 values %s", values));
        PetscCall(WriteCase(out, 5, "topsvd ratio 0.15 values %s", values));
      }
    }
    /* Where one polynomial damps what few columns leave, and where there is another */
    if (s >= 16) PetscCall(WriteCase(out, 5, "rankk rank %d values native rankk_method range", s < 20 ? 1 : 3));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* The last has the size for which SparseLoCo's numbers are meant */
  static const int shapes[][2] = {{24, 40}, {33, 17}, {1, 30}, {64, 9}, {128, 160}};
  Output           out;
  PetscBool        set, lowrank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(9));
  PetscCall(PetscMemzero(&out, sizeof(out)));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-lowrank", &lowrank));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", out.dir, sizeof(out.dir), &set));
  TestCheck(set, "-oracle_dir names the folder to write into");
  PetscCall(Open(&out, "cases", &out.cases));
  fprintf(out.cases, "%s\n", PetscDefined(USE_REAL_SINGLE) ? "single" : "double");
  if (lowrank) PetscCall(WriteLowRank(&out));
  for (int s = 0; s < 10 && !lowrank; s++) {
    out.m         = shapes[s / 2][0];
    out.n         = shapes[s / 2][1];
    out.precision = (MuonPrecision)(s % 2);
    out.rowmajor  = (s / 2 + s) % 2;
    if (s < 8) PetscCall(WriteCases(&out));
    else {
      PetscCall(WriteTopK(&out, 0.015625, "2bit", 4096));
      /* A bitmap that is decoded in two strips, the second in the middle of values that share magnitudes */
      PetscCall(WriteTopK(&out, 0.1, "2bit", 0));
    }
  }
  TestCheck(fclose(out.cases) == 0, "Cannot write the cases");
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    oracle: compressor.py

  test:
    suffix: lowrank
    args: -lowrank
    oracle: lowrank.py

TEST*/
