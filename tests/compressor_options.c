static char help[] = "Options, setters and getters of compressors, what they show, and the errors of wrong choices.\n";

#include "compressor_common.h"
#include "parameters.h"

static PetscErrorCode Create(const char prefix[], PetscInt direction, MuonCompressor *c)
{
  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_WORLD, c));
  PetscCall(MuonCompressorSetOptionsPrefix(*c, prefix));
  PetscCall(MuonCompressorSetStream(*c, 42, "attn.qkv", 2, direction));
  PetscCall(MuonCompressorSetFromOptions(*c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is set is what one gets */
static PetscErrorCode CheckSetters(void)
{
  MuonCompressor       c;
  MuonCompressorType   type;
  MuonCompressorValues values = MUON_COMPRESSOR_VALUES_SINGLE;
  PetscReal            ratio;
  PetscInt             rank, paperbits, bits;
  const char          *prefix;
  PetscBool            same;

  PetscFunctionBegin;
  PetscCall(MuonCompressorCreate(PETSC_COMM_WORLD, &c));
  PetscCall(MuonCompressorGetType(c, &type));
  PetscCall(PetscStrcmp(type, MUONCOMPRESSORIDENTITY, &same));
  TestCheck(same, "The default type is %s", type);
  PetscCall(GetReal((PetscObject)c, "compressor_ratio", &ratio));
  PetscCall(GetInt((PetscObject)c, "compressor_rank", &rank));
  PetscCall(GetEnum((PetscObject)c, "compressor_values", MuonCompressorValuesTypes, (int *)&values));
  PetscCall(GetInt((PetscObject)c, "compressor_bits", &bits));
  PetscCall(GetInt((PetscObject)c, "compressor_paper_index_bits", &paperbits));
  TestCheck(ratio == (PetscReal)0.1 && rank == PETSC_DETERMINE && (int)values == PETSC_DETERMINE && bits == 4 && paperbits == PETSC_DETERMINE, "Defaults");
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORRANKK));
  PetscCall(MuonCompressorSetRatio(c, 0.25));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_rank", "7"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_bits", "8"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "bf16"));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_paper_index_bits", "26"));
  PetscCall(MuonCompressorSetOptionsPrefix(c, "p_"));
  PetscCall(MuonCompressorReset(c));
  PetscCall(MuonCompressorGetType(c, &type));
  PetscCall(PetscStrcmp(type, MUONCOMPRESSORRANKK, &same));
  TestCheck(same, "The type is %s", type);
  PetscCall(GetReal((PetscObject)c, "compressor_ratio", &ratio));
  PetscCall(GetInt((PetscObject)c, "compressor_rank", &rank));
  PetscCall(GetEnum((PetscObject)c, "compressor_values", MuonCompressorValuesTypes, (int *)&values));
  PetscCall(GetInt((PetscObject)c, "compressor_bits", &bits));
  PetscCall(GetInt((PetscObject)c, "compressor_paper_index_bits", &paperbits));
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)c, &prefix));
  PetscCall(PetscStrcmp(prefix, "p_", &same));
  TestCheck(ratio == (PetscReal)0.25 && rank == 7 && values == MUON_COMPRESSOR_VALUES_BF16 && bits == 8 && paperbits == 26 && same, "Setters");
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_rank", "-1"));
  PetscCall(MuonCompressorDestroy(&c));
  TestCheck(c == NULL, "Destroyed");
  PetscCall(MuonCompressorDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solvers read their options at their first decomposition */
static PetscErrorCode Use(MuonCompressor c)
{
  Mat                X;
  unsigned long long state = 5;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(20, 30, 0, &X));
  PetscCall(TestMatNormal(X, 1.0, &state));
  PetscCall(MuonCompressorApply(c, X, X));
  PetscCall(TestMatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The wrong use that -wrong names */
static PetscErrorCode DoWrong(MuonCompressor c, const char wrong[])
{
  Mat           A, B;
  unsigned char buf[8];
  size_t        bytes;
  PetscBool     is;

  PetscFunctionBegin;
  PetscCall(TestMatCreate(3, 4, 0, &A));
  PetscCall(PetscStrcmp(wrong, "mattype", &is));
  if (is) {
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 3, 4, 1, NULL, &B));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MuonCompressorApply(c, B, A));
  }
  PetscCall(PetscStrcmp(wrong, "shape", &is));
  if (is) {
    PetscCall(TestMatCreate(4, 3, 0, &B));
    PetscCall(MuonCompressorApply(c, A, B));
  }
  PetscCall(PetscStrcmp(wrong, "capacity", &is));
  if (is) PetscCall(MuonCompressorEncode(c, A, NULL, sizeof(buf), buf, &bytes));
  /* Newer PETSc does not read NaN from the options */
  PetscCall(PetscStrcmp(wrong, "nan", &is));
  if (is) PetscCall(MuonCompressorSetRatio(c, NAN));
  PetscCall(TestMatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonCompressor up, down;
  char           wrong[64];
  PetscBool      set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckSetters());
  PetscCall(Create("ef21_", 0, &up));
  PetscCall(Create("ef21_server_", 1, &down));
  /* A layer's own prefix on top of the general one */
  PetscCall(MuonCompressorSetOptionsPrefix(down, "muon_layer_attn.qkv_ef21_server_"));
  PetscCall(MuonCompressorSetFromOptions(down));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wrong", wrong, sizeof(wrong), &set));
  if (set) PetscCall(DoWrong(up, wrong));
  PetscCall(Use(up));
  PetscCall(Use(down));
  PetscCall(MuonCompressorView(up, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MuonCompressorView(down, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MuonCompressorDestroy(&up));
  PetscCall(MuonCompressorDestroy(&down));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: default

  test:
    suffix: prefixes
    nsize: 2
    args: -ef21_compressor topk -ef21_compressor_ratio 0.05 -ef21_compressor_values natural
    args: -ef21_server_compressor rankk -ef21_server_compressor_rank 3 -ef21_server_compressor_svd_type lapack -ef21_server_compressor_values bf16
    args: -muon_layer_attn.qkv_ef21_server_compressor_rank 5

  test:
    suffix: natural
    args: -ef21_compressor natural -ef21_server_compressor rankk -ef21_server_compressor_ratio 0.2 -ef21_server_compressor_values native -ef21_compressor_paper_index_bits 26

  table: suffix | args
    powers   | -ef21_compressor nearest -ef21_server_compressor truncated
    multiple | -ef21_compressor bf16 -ef21_server_compressor damping -ef21_server_compressor_ratio 0.75 -ef21_server_compressor_values bf16
    blocks   | -ef21_compressor topk -ef21_compressor_ratio 0.015625 -ef21_compressor_block_entries 4096 -ef21_compressor_values 2bit
    coin     | -ef21_compressor dropout -ef21_compressor_values native -ef21_server_compressor dropout -ef21_server_compressor_ratio 0.5

  test:
    suffix: lines
    args: -ef21_compressor columntopk -ef21_compressor_ratio 0.2 -ef21_compressor_line_norm inf -ef21_compressor_values natural
    args: -ef21_server_compressor randk -muon_layer_attn.qkv_ef21_server_compressor rowtopk -muon_layer_attn.qkv_ef21_server_compressor_line_norm 1.5

  test:
    suffix: randk
    args: -ef21_compressor randk -ef21_compressor_values bf16 -ef21_server_compressor randk -ef21_server_compressor_ratio 0.01

  test:
    suffix: triples
    args: -ef21_compressor topsvd -ef21_compressor_topsvd_schatten inf -ef21_compressor_rank 3 -ef21_server_compressor topsvd -ef21_server_compressor_topsvd_schatten 1.5
    args: -muon_layer_attn.qkv_ef21_server_compressor_svd_type lapack

  test:
    suffix: subspace
    requires: double
    args: -ef21_compressor powersgd -ef21_compressor_powersgd_sweeps 2 -ef21_server_compressor powersgd -ef21_server_compressor_values natural
    args: -muon_layer_attn.qkv_ef21_server_compressor_powersgd_oversampling 3

  testset:
    nsize: 2
    table: suffix | args | error
      badtype     | -ef21_compressor topp                                     | -ef21_compressor of layer attn.qkv: unknown type topp, expected one of
      badratio    | -ef21_compressor_ratio {{0 -0.1 1.01}}                    | must be in (0.,1.]
      badratiokey | -ef21_server_compressor_ratio 2                           | Layer "attn.qkv": -ef21_server_compressor_ratio 2. must be in (0.,1.]
      nan         | -wrong nan                                                | must be in (0.,1.]
      badrank     | -ef21_compressor_rank {{0 -3}}                            | must be at least 1.
      badblock    | -ef21_compressor topk -ef21_compressor_block_entries -64  | Layer "attn.qkv": -ef21_compressor_block_entries -64. must be at least 0.
      badblocks   | -ef21_compressor topk -ef21_compressor_block_entries {{1 4095}} | expected 0 or a multiple of 64
      bad2bit     | -ef21_compressor {{randk columntopk}} -ef21_compressor_values 2bit | expected the type topk for it
      badnorm     | -ef21_compressor columntopk -ef21_compressor_line_norm {{0.5 -inf}} | must be at least 1.
    test:
      suffix: badnormkey
      args: -ef21_server_compressor rowtopk -ef21_server_compressor_line_norm 0
      error: Layer "attn.qkv": -ef21_server_compressor_line_norm 0. must be at least 1.
    test:
      suffix: badschatten
      args: -ef21_compressor topsvd -ef21_compressor_topsvd_schatten {{0.5 -inf}}
      error: must be at least 1.
    test:
      suffix: badsweeps
      args: -ef21_server_compressor powersgd -ef21_server_compressor_powersgd_sweeps 0
      error: Layer "attn.qkv": -ef21_server_compressor_powersgd_sweeps 0. must be at least 1.
    test:
      suffix: badoversampling
      args: -ef21_compressor powersgd -ef21_compressor_powersgd_oversampling -1
      error: Layer "attn.qkv": -ef21_compressor_powersgd_oversampling -1. must be at least 0.
    table: suffix | args | error
      badvalues    | -ef21_compressor_values half         | -ef21_compressor_values
      badbits      | -ef21_compressor_bits {{1 9}}        | must be in [2.,8.]
      badpaperbits | -ef21_compressor_paper_index_bits 65 | Layer "attn.qkv": -ef21_compressor_paper_index_bits 65. must be in [0.,64.]
      mattype      | -wrong mattype                       | -ef21_compressor of layer attn.qkv: X is a matrix of type seqaij, expected seqdense
      shape        | -wrong shape                         | -ef21_compressor of layer attn.qkv: CX is 4 x 3, expected 3 x 4
      capacity     | -wrong capacity                      | a buffer of 8 bytes, expected the

TEST*/
