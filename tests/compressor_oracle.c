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

/* The compressor of a case, whose stream depends on its number, and how it is named */
static PetscErrorCode MakeCase(const Output *out, const char choice[], MuonCompressor *c, const char **layer)
{
  const int number = out->number;

  PetscFunctionBegin;
  *layer = number % 3 == 0 ? "embed" : number % 3 == 1 ? "h0.attn.q" : "h11.mlp.down";
  PetscCall(Make(c, choice));
  PetscCall(MuonCompressorSetStream(*c, number % 2 == 0 ? number : -number, *layer, number % 5, number % 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EncodeOwn(MuonCompressor c, Matrix T, Matrix R, Message M, MuonCompressorCost *cost, MuonValidated *own)
{
  PetscFunctionBegin;
  PetscCall(Send(c, T, R, M));
  PetscCall(MuonCompressorEncodeArray(c, &T->array, R != NULL ? &R->array : NULL, M->room, M->buf, &M->bytes, PETSC_TRUE, cost, own));
  TestCheck(M->bytes > 0, "%s: no message", ((PetscObject)c)->type_name);
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

static PetscBool SameCost(const MuonCompressorCost *a, const MuonCompressorCost *b, PetscBool entropy)
{
  return a->paper == b->paper && a->encoded == b->encoded && (entropy ? a->entropy == b->entropy : b->entropy == -1) ? PETSC_TRUE : PETSC_FALSE;
}

/*
   What a sender opens of its own message and a receiver of what came are the same, and both decode to what
   the message does; so do matrices of PETSc, where they have that precision and that order
*/
static PetscErrorCode CheckWays(MuonCompressor c, Matrix A[4], Message M, const MuonCompressorCost *cost, const MuonValidated *own)
{
  const Matrix       T = A[0], R = A[1], Y = A[2], sum = A[3];
  MuonValidated      opened = {NULL, 0, NULL, 0, NULL};
  MuonCompressorCost count;
  Matrix             Z;
  Message            other;
  PetscBool          valid;

  PetscFunctionBegin;
  PetscCall(NewArray(T->m, T->n, T->array.precision, T->array.rowmajor, &Z));
  PetscCall(NewMessage(&other));
  PetscCall(MuonCompressorValidateArray(c, &T->array, M->bytes, M->buf, PETSC_TRUE, &count, &opened, &valid));
  TestCheck(valid && opened.bytes == own->bytes && memcmp(opened.data, own->data, own->bytes) == 0, "The sender has opened something else");
  TestCheck(SameCost(cost, &count, PETSC_TRUE), "Counted as %g, %g and %g", count.paper, count.encoded, count.entropy);
  PetscCall(MuonCompressorValidateArray(c, &T->array, M->bytes, M->buf, PETSC_FALSE, &count, &opened, &valid));
  TestCheck(valid && SameCost(cost, &count, PETSC_FALSE), "Without the entropy it is %g", count.entropy);
  for (int add = 0; add < 2; add++) {
    Copy(R, Z);
    PetscCall(MuonCompressorDecodeValidated(c, &opened, (PetscBool)add, 0.5 * add, &Z->array));
    TestCheck(Same(add ? sum : Y, Z), "An opened message is something else");
    Copy(R, Z);
    PetscCall(MuonCompressorDecodeArray(c, (PetscBool)add, 0.5 * add, M->bytes, M->buf, &Z->array, &valid));
    TestCheck(valid && Same(add ? sum : Y, Z), "A message is something else");
    Copy(R, Z);
    PetscCall(Decode(c, M, (PetscBool)add, 0.5 * add, Z));
    TestCheck(Same(add ? sum : Y, Z), "A matrix is decoded to something else");
  }
  PetscCall(Send(c, T, R, other));
  TestCheck(SameMessage(M, other), "Matrices have another message than arrays");
  PetscCall(MuonCompressorDecodeArray(c, PETSC_FALSE, 0, M->bytes - 1, M->buf, &Z->array, &valid));
  TestCheck(!valid, "A message without its end is decoded");
  /* No message, no cost: bytes that are cut off are none */
  count.encoded = -1;
  PetscCall(MuonCompressorValidateArray(c, &T->array, M->bytes - 1, M->buf, PETSC_TRUE, &count, &opened, &valid));
  TestCheck(!valid && count.encoded == -1, "A message without its end is opened");
  PetscCall(MuonValidatedDestroy(&opened));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* entries: of a block of topk */
static PetscErrorCode WriteCase(Output *out, const char type[], double ratio, int rank, int values, int entries)
{
  static const char *const norms[] = {"2", "1", "inf", "3"}, *const suffixes[] = {"T", "R", "decoded", "sum", "message"};
  const int          number = out->number, bits = number % 4 == 0 ? 26 : PETSC_DETERMINE, step = 1000 * number;
  const char        *layer, *name = MuonCompressorValuesTypes[values];
  MuonCompressor     c;
  MuonCompressorCost cost;
  MuonValidated      own = {NULL, 0, NULL, 0, NULL};
  PetscReal          alpha;
  Matrix             A[4]; /* T, R, what the message decodes to, and R with half of it */
  Message            M;

  PetscFunctionBegin;
  PetscCall(MakeCase(out, type, &c, &layer));
  PetscCall(MuonCompressorSetRatio(c, (PetscReal)ratio));
  if (!Is(c, "identity")) PetscCall(Tune(c, "values %s", name));
  PetscCall(Tune(c, "rank %d paper_index_bits %d", rank, bits));
  if (Is(c, "columntopk rowtopk")) PetscCall(Tune(c, "line_norm %s", norms[number % 4]));
  if (Is(c, "topk")) PetscCall(Tune(c, "block_entries %d", entries));
  if (Is(c, "qsgd")) PetscCall(Tune(c, "bits %d qsgd_block_length %d", 2 + number % 7, 16 << number % 4));
  if (Is(c, "qsgd") && number / 7 % 2 == 1) PetscCall(Tune(c, "qsgd_block_norm l2"));
  PetscCall(MuonCompressorSetStep(c, step));
  PetscCall(NewArray(out->m, out->n, out->precision, out->rowmajor, &A[0], &A[1], &A[2], &A[3]));
  PetscCall(NewMessage(&M));
  Fill(number, A[0], A[1]);
  PetscCall(EncodeOwn(c, A[0], A[1], M, &cost, &own));
  PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_FALSE, 0.0, &A[2]->array));
  Copy(A[1], A[3]);
  PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_TRUE, 0.5, &A[3]->array));
  PetscCall(CheckWays(c, A, M, &cost, &own));
  PetscCall(MuonCompressorGetAlpha(c, out->m, out->n, &alpha));
  for (int k = 0; k < 5; k++) {
    char  path[32];
    FILE *file;

    PetscCall(PetscSNPrintf(path, sizeof(path), "%d.%s", number, suffixes[k]));
    PetscCall(Open(out, path, &file));
    if (k < 4) PetscCall(WriteMatrix(file, A[k]));
    else PetscCall(Write(file, M->bytes, M->buf));
    TestCheck(fclose(file) == 0, "Cannot write %s", path);
  }
  fprintf(out->cases, "%d %s %.17g %d %s %d %d", number, type, (double)(PetscReal)ratio, rank, name, out->m, out->n);
  fprintf(out->cases, " %d %s %d %d %d %d", number % 2 == 0 ? number : -number, layer, number % 5, number % 2, step, bits);
  fprintf(out->cases, " %.17g %.17g %.17g %.17g %s", cost.paper, cost.encoded, cost.entropy, (double)alpha, norms[number % 4]);
  fprintf(out->cases, " %s %s %d\n", out->precision == MUON_SINGLE ? "single" : "double", out->rowmajor ? "rows" : "columns", entries);
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(Free(0));
  out->number++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteCases(Output *out)
{
  static const char *const dense[]    = {"identity", "natural", "natural", "natural", "nearest", "truncated", "bf16"};
  static const char *const partial[]  = {"topk", "damping", "dropout", "columntopk", "rowtopk", "randk", "rankk"};
  static const double      ratios[]   = {0.1, 0.03, 0.6, 0.001};
  static const int         inblocks[] = {MUON_COMPRESSOR_VALUES_NATIVE, MUON_COMPRESSOR_VALUES_NATURAL, MUON_COMPRESSOR_VALUES_2BIT};

  PetscFunctionBegin;
  for (int k = 0; k < 7; k++) PetscCall(WriteCase(out, dense[k], 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_SINGLE, 0));
  for (int v = MUON_COMPRESSOR_VALUES_NATIVE; v <= MUON_COMPRESSOR_VALUES_NATURAL; v++) {
    PetscCall(WriteCase(out, "sign", 0.1, PETSC_DETERMINE, v, 0));
    for (int k = 0; k < 3; k++) PetscCall(WriteCase(out, "qsgd", 0.1, PETSC_DETERMINE, v, 0));
    /* Dropout of everything at first, and the rank itself once */
    for (int k = 0; k < 21; k++) PetscCall(WriteCase(out, partial[k % 7], k == 2 ? 1 : ratios[k / 7], k == 13 ? 3 : PETSC_DETERMINE, v, 0));
  }
  /* In blocks, of which the last is shorter in some shapes and the only one is in others; 0.001 of a block is less than one entry */
  for (int k = 0; k < 12; k++) PetscCall(WriteCase(out, "topk", ratios[k % 4], PETSC_DETERMINE, inblocks[k / 4], k == 10 ? 0 : 64 + 64 * (k % 2)));
  PetscFunctionReturn(PETSC_SUCCESS);
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

/* A low-rank type, with what chooses it as the oracle reads it */
typedef struct {
  const char *type;
  double      ratio;
  int         rank, sweeps, oversampling, values;
  const char *schatten;
} Case;

/*
   Five messages of a matrix that changes: the second is of a matrix of rank 2 in every third case, the third
   does not take effect, the fourth is of a zero matrix. Each file has T - R, what the message decodes to, and
   the message
*/
static PetscErrorCode WriteMessages(Output *out, const Case *what)
{
  const int          number = out->number;
  const char        *layer, *values = MuonCompressorValuesTypes[what->values], *precision = out->precision == MUON_SINGLE ? "single" : "double";
  MuonCompressor     c;
  MuonCompressorCost cost;
  MuonValidated      own = {NULL, 0, NULL, 0, NULL};
  Matrix             T, R, X, Y, E;
  Message            M;
  PetscReal          alpha;

  PetscFunctionBegin;
  PetscCall(MakeCase(out, what->type, &c, &layer));
  PetscCall(MuonCompressorSetRatio(c, (PetscReal)what->ratio));
  PetscCall(Tune(c, "rank %d values %s", what->rank, values));
  if (Is(c, "powersgd")) PetscCall(Tune(c, "powersgd_sweeps %d powersgd_oversampling %d", what->sweeps, what->oversampling));
  if (Is(c, "topsvd")) PetscCall(Tune(c, "topsvd_schatten %s", what->schatten));
  if (Is(c, "rankk")) PetscCall(Tune(c, "rankk_method range"));
  PetscCall(MuonCompressorGetAlpha(c, out->m, out->n, &alpha));
  PetscCall(NewArray(out->m, out->n, out->precision, out->rowmajor, &T, &R, &X, &Y, &E));
  PetscCall(NewMessage(&M));
  Random(T, 1);
  Random(R, 0.25);
  fprintf(out->cases, "case %d %s %.17g %d %s %d", number, what->type, (double)(PetscReal)what->ratio, what->rank, values, what->sweeps);
  fprintf(out->cases, " %d %s", what->oversampling, what->schatten);
  fprintf(out->cases, " %d %d %d %s %d %d %.17g", out->m, out->n, number % 2 == 0 ? number : -number, layer, number % 5, number % 2, (double)alpha);
  fprintf(out->cases, " %s %s\n", precision, out->rowmajor ? "rows" : "columns");
  for (int k = 0; k < 5; k++) {
    const PetscBool whole = k == 1 && number % 3 == 0 ? PETSC_TRUE : PETSC_FALSE;
    char            path[32];
    FILE           *file;

    Copy(k == 3 ? R : T, X);
    if (whole) PetscCall(SetRankTwo(X));
    PetscCall(MuonCompressorSetStep(c, 100 * number + k));
    PetscCall(EncodeOwn(c, X, whole ? NULL : R, M, &cost, &own));
    PetscCall(MuonCompressorDecodeValidated(c, &own, PETSC_FALSE, 0.0, &Y->array));
    if (k != 2) PetscCall(MuonCompressorCommit(c));
    if (!whole) Axpby(-1, R, 1, X);
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
  PetscCall(MuonValidatedDestroy(&own));
  PetscCall(Free(0));
  out->number++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteLowRank(Output *out)
{
  static const int  shapes[][2] = {{24, 40}, {40, 17}, {1, 12}, {60, 9}}, larger[][2] = {{64, 70}, {110, 90}};
  static const Case some[] = {{"powersgd", 0.2, PETSC_DETERMINE, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, "2"},
                              {"powersgd", 0.2, 2, 3, 0, MUON_COMPRESSOR_VALUES_NATIVE, "2"},
                              {"powersgd", 0.2, 3, 1, 2, MUON_COMPRESSOR_VALUES_NATIVE, "2"},
                              {"powersgd", 0.1, PETSC_DETERMINE, 2, 4, MUON_COMPRESSOR_VALUES_DOUBLE, "2"},
                              {"topsvd", 0.2, PETSC_DETERMINE, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, "1"},
                              {"topsvd", 0.2, 3, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, "inf"},
                              {"topsvd", 0.2, 8, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, "3.5"}};

  PetscFunctionBegin;
  for (int s = 0; s < 16; s++) {
    out->m         = shapes[s / 2 % 4][0];
    out->n         = shapes[s / 2 % 4][1];
    out->precision = (MuonPrecision)(s % 2);
    out->rowmajor  = (s / 2 + s) % 2;
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(some) && s < 8; k++) PetscCall(WriteMessages(out, &some[k]));
    for (int v = MUON_COMPRESSOR_VALUES_NATIVE; v <= MUON_COMPRESSOR_VALUES_NATURAL; v++) {
      const Case powersgd = {"powersgd", 0.15, PETSC_DETERMINE, 1, 0, v, "2"}, topsvd = {"topsvd", 0.15, PETSC_DETERMINE, 1, 0, v, "2"};
      const Case range = {"rankk", 0.2, v == MUON_COMPRESSOR_VALUES_DOUBLE ? 1 : PETSC_DETERMINE, 1, 0, v, "2"};

      if (s >= 8) PetscCall(WriteMessages(out, &range));
      else if (v > MUON_COMPRESSOR_VALUES_NATIVE) {
        PetscCall(WriteMessages(out, &powersgd));
        PetscCall(WriteMessages(out, &topsvd));
      }
    }
  }
  /* Where one polynomial damps what few columns leave, and where there is another */
  for (int s = 0; s < 8; s++) {
    const Case range = {"rankk", 0.2, s < 4 ? 1 : 3, 1, 0, MUON_COMPRESSOR_VALUES_NATIVE, "2"};

    out->m         = larger[s / 2 % 2][0];
    out->n         = larger[s / 2 % 2][1];
    out->precision = (MuonPrecision)(s % 2);
    out->rowmajor  = (s / 2 + s) % 2;
    PetscCall(WriteMessages(out, &range));
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
      PetscCall(WriteCase(&out, "topk", 0.015625, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_2BIT, 4096));
      /* A bitmap that is decoded in two strips, the second in the middle of values that share magnitudes */
      PetscCall(WriteCase(&out, "topk", 0.1, PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_2BIT, 0));
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
