static char help[] = "Options, setters and getters of compressors, what they show, and the setters of wrong choices.\n";

#include "compressor_common.h"
#include "fails.h"

/* Parameters: the type that has it, its default, a value as text and as a number, and another one */
static PetscErrorCode CheckParameters(void)
{
  static const struct {
    const char *type, *key, *text, *other;
    double      before, after;
  } rows[] = {{"rankk", "compressor_ratio", "0.25", "0.5", 0.1, 0.25},
              {"rankk", "compressor_rank", "7", "-1", PETSC_DETERMINE, 7},
              {"rankk", "compressor_values", "bf16", "native", PETSC_DETERMINE, MUON_COMPRESSOR_VALUES_BF16},
              {"rankk", "compressor_bits", "8", "3", 4, 8},
              {"rankk", "compressor_paper_index_bits", "26", "3", PETSC_DETERMINE, 26},
              {"qsgd", "compressor_qsgd_block_length", "65536", "16", 256, 65536},
              {"qsgd", "compressor_qsgd_block_norm", "l2", "max", MUON_COMPRESSOR_BLOCK_NORM_MAX, MUON_COMPRESSOR_BLOCK_NORM_L2},
              {"columntopk", "compressor_line_norm", "inf", "1.5", 2, INFINITY},
              {"rowtopk", "compressor_line_norm", "7", "1.5", 2, 7},
              {"powersgd", "compressor_powersgd_oversampling", "3", "0", 0, 3},
              {"powersgd", "compressor_powersgd_sweeps", "4", "2", 1, 4},
              {"topsvd", "compressor_topsvd_schatten", "1", "inf", 2, 1}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    const char *const *names = k == 6 ? MuonCompressorBlockNorms : MuonCompressorValuesTypes;
    MuonCompressor     c[3]; /* set before it has the type, after it, and a child of that */
    double             before = 0, after = 0, follows = 0;

    for (int i = 0; i < 3; i++) {
      PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c[i]));
      PetscCall(TestKeep(NULL, c[i], NULL));
      if (i == 0) PetscCall(MuonObjectSetParameter((PetscObject)c[0], rows[k].key, rows[k].text));
      PetscCall(MuonCompressorSetType(c[i], rows[k].type));
    }
    PetscCall(GetNumber((PetscObject)c[1], rows[k].key, names, &before));
    TestCheck(before == (double)(PetscReal)rows[k].before, "%s: the default is %g", rows[k].key, before);
    PetscCall(MuonObjectSetParameter((PetscObject)c[1], rows[k].key, rows[k].text));
    PetscCall(MuonParametersSetParent((PetscObject)c[2], (PetscObject)c[1]));
    for (int i = 0; i < 3; i++) {
      PetscCall(MuonCompressorReset(c[i]));
      PetscCall(GetNumber((PetscObject)c[i], rows[k].key, names, &after));
      TestCheck(after == rows[k].after || (after >= PETSC_INFINITY && isinf(rows[k].after)), "%s is %g in object %d", rows[k].key, after, i);
    }
    /* The child follows its parent, and has its own value where it was given one, which changes nothing above */
    PetscCall(MuonObjectSetParameter((PetscObject)c[1], rows[k].key, rows[k].other));
    for (int own = 0; own < 2; own++) {
      if (own == 1) PetscCall(MuonObjectSetParameter((PetscObject)c[2], rows[k].key, rows[k].text));
      PetscCall(GetNumber((PetscObject)c[1], rows[k].key, names, &before));
      PetscCall(GetNumber((PetscObject)c[2], rows[k].key, names, &follows));
      TestCheck(before != after && (own == 0 ? before == follows : after == follows || (after >= PETSC_INFINITY && follows >= PETSC_INFINITY)), "%s: a child has %g, its parent %g, set: %d", rows[k].key, follows, before, own);
    }
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckObjects(void)
{
  MuonCompressor     c;
  MuonCompressorType type;
  const char        *prefix;
  char               text[64];

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_WORLD, &c));
  PetscCall(MuonCompressorGetType(c, &type));
  TestCheck(strcmp(type, MUONCOMPRESSORIDENTITY) == 0, "The default type is %s", type);
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  /* A type that keeps something leaves nothing behind */
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORPOWERSGD));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORRANKK));
  PetscCall(MuonCompressorSetOptionsPrefix(c, "p_"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(MuonCompressorGetType(c, &type));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)c, &prefix));
  TestCheck(strcmp(type, MUONCOMPRESSORRANKK) == 0 && strcmp(prefix, "p_") == 0, "The type is %s, the prefix %s", type, prefix);
  PetscCall(Tune(c, "rowtopk ratio 0.25 line_norm 1.5"));
  PetscCall(MuonCompressorDescribe_Private(c, sizeof(text), text));
  TestCheck(strncmp(text, "rowtopk ratio 0.25 single line_norm 1.5", 39) == 0, "Described as %s", text);
  PetscCall(MuonCompressorDestroy(&c));
  TestCheck(c == NULL, "Destroyed");
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds "topk ratio 0.1" as -PREFIXcompressor topk -PREFIXcompressor_ratio 0.1; the first of an odd number of words is the type */
static PetscErrorCode Insert(PetscOptions options, const char prefix[], const char choice[])
{
  char **word, option[160];
  int    n;

  PetscFunctionBegin;
  PetscCall(PetscStrToArray(choice, ' ', &n, &word));
  for (int k = n % 2 == 0 ? 0 : -1; k < n; k += 2) {
    if (k < 0) PetscCall(PetscSNPrintf(option, sizeof(option), "-%scompressor %s", prefix, word[0]));
    else PetscCall(PetscSNPrintf(option, sizeof(option), "-%scompressor_%s %s", prefix, word[k], word[k + 1]));
    PetscCall(PetscOptionsInsertString(options, option));
  }
  PetscCall(PetscStrToArrayDestroy(n, word));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Compressors of both directions from the options, the second with a layer's own keys on top, at work: solvers read theirs at their first decomposition.
   What they show is the type and what differs from the defaults
*/
static PetscErrorCode CheckViews(void)
{
  static const struct {
    PetscInt    server;
    const char *options, *layer, *shown;
  } rows[] = {{0, "identity", "", "identity"},
              {1, "identity", "", "identity"},
              {0, "topk ratio 0.05 values natural", "", "topk|ratio: 0.05|values: natural"},
              {1, "rankk rank 3 svd_type lapack values bf16", "rank 5", "rankk|rank: 5|values: bf16"},
              {1, "rankk ratio 0.2 values native", "", "rankk|ratio: 0.2|values: native"},
              {0, "natural paper_index_bits 26", "", "natural"},
              {0, "nearest", "", "nearest"},
              {1, "truncated", "", "truncated"},
              {0, "bf16", "", "bf16"},
              {1, "damping ratio 0.75 values bf16", "", "damping|ratio: 0.75|values: bf16"},
              {0, "topk ratio 0.015625 values 2bit block_entries 4096", "", "topk|ratio: 0.015625|values: 2bit|block_entries: 4096"},
              {0, "dropout values native", "", "dropout|values: native"},
              {1, "dropout ratio 0.5", "", "dropout|ratio: 0.5"},
              {0, "qsgd", "", "qsgd"},
              {1, "qsgd bits 6 qsgd_block_length 2048 qsgd_block_norm l2 values bf16", "", "qsgd|bits: 6|values: bf16|qsgd_block_length: 2048|qsgd_block_norm: l2"},
              {0, "columntopk ratio 0.2 line_norm inf values natural", "", "columntopk|ratio: 0.2|values: natural|line_norm: inf"},
              {1, "randk", "rowtopk line_norm 1.5", "rowtopk|line_norm: 1.5"},
              {0, "randk values bf16", "", "randk|values: bf16"},
              {1, "randk ratio 0.01", "", "randk|ratio: 0.01"},
              {0, "topsvd topsvd_schatten inf rank 3", "", "topsvd|rank: 3|topsvd_schatten: inf"},
              {1, "topsvd topsvd_schatten 1.5", "svd_type lapack", "topsvd|topsvd_schatten: 1.5"},
              {0, "powersgd powersgd_sweeps 2", "", "powersgd|powersgd_sweeps: 2"},
              {1, "powersgd values natural", "powersgd_oversampling 3", "powersgd|values: natural|powersgd_oversampling: 3"}};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    const char    *own = "muon_layer_attn.qkv_ef21_server_", *prefix = rows[k].server ? "ef21_server_" : "ef21_", *last = rows[k].server ? own : prefix;
    const int      type = (int)strcspn(rows[k].shown, "|");
    char           expected[512], found[512] = "", line[256], path[32];
    PetscOptions   options;
    PetscInt       unused;
    MuonCompressor c;
    Matrix         X;
    PetscViewer    viewer;
    FILE          *file;

    PetscCall(PetscOptionsCreate(&options));
    PetscCall(Insert(options, prefix, rows[k].options));
    PetscCall(Insert(options, own, rows[k].layer));
    PetscCall(MuonCompressorCreate(PETSC_COMM_WORLD, &c));
    PetscCall(TestKeep(NULL, c, NULL));
    PetscCall(PetscObjectSetOptions((PetscObject)c, options));
    PetscCall(MuonCompressorSetOptionsPrefix(c, prefix));
    PetscCall(MuonCompressorSetStream(c, 42, "attn.qkv", 2, (int)rows[k].server));
    PetscCall(MuonCompressorSetFromOptions(c));
    PetscCall(MuonCompressorSetOptionsPrefix(c, last));
    if (rows[k].server) PetscCall(MuonCompressorSetFromOptions(c));
    PetscCall(New(20, 30, &X));
    Random(X, 1);
    PetscCall(Apply(c, 0, X, X));
    PetscCall(PetscSNPrintf(path, sizeof(path), "view%zu", k));
    PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, path, &viewer));
    PetscCall(MuonCompressorView(c, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    (void)snprintf(expected, sizeof(expected), "MuonCompressor Object: (%s) %d MPI process%s|type: %.*s|layer: attn.qkv, sender: %s 2%s", last, size, size > 1 ? "es" : "", type, rows[k].shown, rows[k].server ? "server" : "worker",
                   rows[k].shown + type);
    PetscCall(PetscSNPrintf(line, sizeof(line), "|singular values by SLEPc, options -%scompressor_svd_*, last solver: lapack", last));
    if (Is(c, "rankk topsvd")) PetscCall(PetscStrlcat(expected, line, sizeof(expected)));
    file = fopen(path, "r");
    TestCheck(file != NULL, "Cannot read %s", path);
    while (fgets(line, sizeof(line), file) != NULL) {
      line[strcspn(line, "\n")] = '\0';
      if (found[0] != '\0') PetscCall(PetscStrlcat(found, "|", sizeof(found)));
      PetscCall(PetscStrlcat(found, line + strspn(line, " "), sizeof(found)));
    }
    fclose(file);
    TestCheck(strcmp(found, expected) == 0, "%s shows %s, expected %s", rows[k].options, found, expected);
    PetscCall(Free(0));
    PetscCall(PetscOptionsAllUsed(options, &unused));
    TestCheck(unused == 0, "%d of the options %s and %s are not read", (int)unused, rows[k].options, rows[k].layer);
    PetscCall(PetscOptionsDestroy(&options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wrong calls, and what is said of them on every rank */
static PetscErrorCode CheckCalls(void)
{
  MuonCompressor c;
  Matrix         A, B;
  Mat            sparse;
  unsigned char  buf[8];
  size_t         bytes;

  PetscFunctionBegin;
  PetscCall(Make(&c, "identity"));
  PetscCall(MuonCompressorSetOptionsPrefix(c, "ef21_"));
  PetscCall(New(3, 4, &A));
  PetscCall(New(4, 3, &B));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 3, 4, 1, NULL, &sparse));
  PetscCall(MatAssemblyBegin(sparse, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(sparse, MAT_FINAL_ASSEMBLY));
  Fails(MuonCompressorApply(c, sparse, A->mat, NULL), FAILS_ANY, "-ef21_compressor of layer attn.qkv: X is a matrix of type seqaij, expected seqdense");
  Fails(MuonCompressorApply(c, A->mat, B->mat, NULL), FAILS_ANY, "-ef21_compressor of layer attn.qkv: CX is 4 x 3, expected 3 x 4");
  Fails(MuonCompressorEncode(c, A->mat, NULL, sizeof(buf), buf, &bytes), FAILS_ANY, "a buffer of 8 bytes, expected the");
  /* Newer PETSc does not read NaN from the options */
  Fails(MuonCompressorSetRatio(c, (PetscReal)NAN), FAILS_ANY, "must be in (0.,1.]");
  PetscCall(Tune(c, "qsgd"));
  Fails(MuonCompressorGetMaxBytes(c, 1048576, 8193, &bytes), FAILS_ANY, "attn.qkv: a layer of 1048576 x 8193, expected at most 2^33 entries");
  PetscCall(MatDestroy(&sparse));
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonCompressor c;
  Matrix         X;
  PetscBool      wrong;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(5));
  PetscCall(New(3, 4, &X));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-wrong", &wrong));
  for (int server = 0; server < 2 && wrong; server++) {
    PetscCall(Make(&c, "identity"));
    PetscCall(MuonCompressorSetOptionsPrefix(c, server ? "ef21_server_" : "ef21_"));
    PetscCall(MuonCompressorSetFromOptions(c));
    PetscCall(Apply(c, 0, X, X));
  }
  PetscCall(CheckParameters());
  PetscCall(CheckObjects());
  PetscCall(CheckCalls());
  PetscCall(CheckViews());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    nsize: {{1 2}}

  testset:
    nsize: 2
    args: -wrong
    table: suffix | args | error
      badtype | -ef21_compressor topp | Layer "attn.qkv": -ef21_compressor: unknown type topp, expected one of
      badratio | -ef21_compressor_ratio {{0 -0.1 1.01}} | must be in (0.,1.]
      badratiokey | -ef21_server_compressor_ratio 2 | Layer "attn.qkv": -ef21_server_compressor_ratio 2. must be in (0.,1.]
      badrank | -ef21_compressor_rank {{0 -3}} | must be at least 1.
      badblock | -ef21_compressor topk -ef21_compressor_block_entries -64 | Layer "attn.qkv": -ef21_compressor_block_entries -64. must be at least 0.
      badblocks | -ef21_compressor topk -ef21_compressor_block_entries {{1 4095}} | expected 0 or a multiple of 64
      bad2bit | -ef21_compressor {{randk columntopk}} -ef21_compressor_values 2bit | expected the type topk for it
      badnorm | -ef21_compressor columntopk -ef21_compressor_line_norm {{0.5 -inf}} | must be at least 1.
      badnormkey | -ef21_server_compressor rowtopk -ef21_server_compressor_line_norm 0 | Layer "attn.qkv": -ef21_server_compressor_line_norm 0. must
      badschatten | -ef21_compressor topsvd -ef21_compressor_topsvd_schatten {{0.5 -inf}} | must be at least 1.
      badsweeps | -ef21_compressor powersgd -ef21_compressor_powersgd_sweeps 0 | Layer "attn.qkv": -ef21_compressor_powersgd_sweeps 0. must
      badsampling | -ef21_compressor powersgd -ef21_compressor_powersgd_oversampling -1 | Layer "attn.qkv": -ef21_compressor_powersgd_oversampling -1.
      badlength | -ef21_compressor qsgd -ef21_compressor_qsgd_block_length 48 | expected a power of two from 16 to 65536
      badlengthkey | -ef21_compressor qsgd -ef21_compressor_qsgd_block_length 0 | Layer "attn.qkv": -ef21_compressor_qsgd_block_length 0. must
      badblocknorm | -ef21_compressor qsgd -ef21_compressor_qsgd_block_norm l1 | -ef21_compressor_qsgd_block_norm
      badvalues | -ef21_compressor_values half | -ef21_compressor_values
      badbits | -ef21_compressor_bits {{1 9}} | must be in [2.,8.]
      badpaperbits | -ef21_compressor_paper_index_bits 65 | Layer "attn.qkv": -ef21_compressor_paper_index_bits 65. must be in [0.,64.]

TEST*/
