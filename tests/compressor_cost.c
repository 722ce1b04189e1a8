static char help[] = "The costs of Table 2 of the EF21-Muon paper for the 124M model, from the sizes of its layers alone.\n";

#include "compressor_common.h"
#include "wire_header.h"
#include <petscmuon/private/muoncompressorcodec.h>
#include "parameters.h"

typedef struct {
  const char          *type;
  PetscReal            ratio;
  MuonCompressorValues values;
  double               cost;
} Row;

/*
   One count of a message, whoever takes it: the sender while it writes, the receiver while it checks, or
   anybody later
*/
static PetscErrorCode CheckCounts(const char type[], unsigned long long *state)
{
  MuonCompressor     c;
  MuonCompressorCost cost[3];
  MuonValidated      opened;
  MuonMatrix         x;
  Mat                X;
  unsigned char     *buf;
  size_t             most, bytes;
  PetscBool          valid;

  PetscFunctionBeginUser;
  PetscCall(TestMatCreate(40, 24, 0, &X));
  PetscCall(TestMatNormal(X, 1.0, state));
  for (int values = MUON_COMPRESSOR_VALUES_NATIVE; values <= MUON_COMPRESSOR_VALUES_NATURAL; values++) {
    PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
    PetscCall(MuonCompressorSetType(c, type));
    PetscCall(MuonCompressorSetRatio(c, 0.25));
    PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[(MuonCompressorValues)values]));
    PetscCall(MuonCompressorGetMaxBytes(c, 40, 24, &most));
    PetscCall(PetscMalloc1(most, &buf));
    PetscCall(PetscMemzero(cost, sizeof(cost)));
    PetscCall(PetscMemzero(&opened, sizeof(opened)));
    PetscCall(MuonMatGetMatrix(X, PETSC_FALSE, &x));
    PetscCall(MuonCompressorEncodeArray(c, &x.here, NULL, most, buf, &bytes, PETSC_TRUE, &cost[0], NULL));
    PetscCall(MuonCompressorValidateArray(c, &x.here, bytes, buf, PETSC_TRUE, &cost[1], &opened, &valid));
    TestCheck(valid == PETSC_TRUE, "%s: a message that is not valid", type);
    PetscCall(TestCost(c, 40, 24, bytes, buf, &cost[2]));
    for (int k = 0; k < 2; k++) {
      TestCheck(cost[k].paper == cost[2].paper && cost[k].encoded == cost[2].encoded && cost[k].entropy == cost[2].entropy, "%s: counted as %g, %g and %g, later as %g, %g and %g", type, cost[k].paper, cost[k].encoded, cost[k].entropy, cost[2].paper,
                cost[2].encoded, cost[2].entropy);
    }
    TestCheck(cost[2].encoded == 8.0 * (double)bytes && cost[2].paper > 0, "%s: %zu bytes counted as %g, %g and %g", type, bytes, cost[2].paper, cost[2].encoded, cost[2].entropy);
    /* No message, no cost: bytes that are cut off are none */
    cost[1].encoded = -1;
    PetscCall(MuonCompressorValidateArray(c, &x.here, bytes - 1, buf, PETSC_TRUE, &cost[1], &opened, &valid));
    TestCheck(valid == PETSC_FALSE && cost[1].encoded == -1, "%s: a message without its end is counted", type);
    PetscCall(MuonValidatedDestroy(&opened));
    PetscCall(MuonMatRestoreMatrix(X, PETSC_FALSE, &x));
    PetscCall(PetscFree(buf));
    PetscCall(MuonCompressorDestroy(&c));
  }
  PetscCall(TestMatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the largest message of an m x n layer, which nobody has to write for that */
static PetscErrorCode PaperBits(MuonCompressor c, PetscInt m, PetscInt n, PetscLogDouble *bits)
{
  const MuonArray      shape = MuonArrayOfScalars(m, n, NULL, m);
  MuonCompressorLayout layout;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&layout, sizeof(layout)));
  layout.rows    = (uint64_t)n;
  layout.columns = (uint64_t)m;
  PetscUseTypeMethod(c, layout, &shape, &layout);
  PetscCall(MuonCompressorSetCount(c, &layout, layout.header.count));
  *bits = MuonCompressorPaperBits_Private(&layout, c->paperbits);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Row          table[]     = {{MUONCOMPRESSORIDENTITY, 1.0, MUON_COMPRESSOR_VALUES_SINGLE, 1.0000}, {MUONCOMPRESSORNATURAL, 1.0, MUON_COMPRESSOR_VALUES_SINGLE, 0.5000}, {MUONCOMPRESSORTOPK, 0.20, MUON_COMPRESSOR_VALUES_SINGLE, 0.3625},
                                    {MUONCOMPRESSORTOPK, 0.15, MUON_COMPRESSOR_VALUES_SINGLE, 0.2718},    {MUONCOMPRESSORTOPK, 0.10, MUON_COMPRESSOR_VALUES_SINGLE, 0.1812},   {MUONCOMPRESSORTOPK, 0.05, MUON_COMPRESSOR_VALUES_SINGLE, 0.0906},
                                    {MUONCOMPRESSORTOPK, 0.15, MUON_COMPRESSOR_VALUES_NATURAL, 0.1969},   {MUONCOMPRESSORTOPK, 0.10, MUON_COMPRESSOR_VALUES_NATURAL, 0.1312},  {MUONCOMPRESSORRANKK, 0.20, MUON_COMPRESSOR_VALUES_SINGLE, 0.2687},
                                    {MUONCOMPRESSORRANKK, 0.15, MUON_COMPRESSOR_VALUES_SINGLE, 0.2019},   {MUONCOMPRESSORRANKK, 0.10, MUON_COMPRESSOR_VALUES_SINGLE, 0.1335},  {MUONCOMPRESSORRANKK, 0.05, MUON_COMPRESSOR_VALUES_SINGLE, 0.0667},
                                    {MUONCOMPRESSORRANKK, 0.15, MUON_COMPRESSOR_VALUES_NATURAL, 0.1010},  {MUONCOMPRESSORRANKK, 0.10, MUON_COMPRESSOR_VALUES_NATURAL, 0.0667}};
  const PetscInt     shapes[][3] = {{50304, 768, 1}, {768, 768, 48}, {3072, 768, 12}, {768, 3072, 12}};
  MuonCompressor     c;
  MuonCompressorCost cost;
  PetscLogDouble     bits, dense = 0;
  Mat                X;
  unsigned char     *buf;
  size_t             bytes;
  const char       **types;
  int                ntypes;
  unsigned long long state = 8;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonCompressorCreate(PETSC_COMM_SELF, &c));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_paper_index_bits", "26"));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) dense += 32.0 * shapes[s][0] * shapes[s][1] * shapes[s][2];
  TestCheck(dense == 32.0 * 123568128, "The model has %g entries", dense / 32);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    PetscLogDouble total = 0;

    PetscCall(MuonCompressorSetType(c, table[k].type));
    PetscCall(MuonCompressorSetRatio(c, table[k].ratio));
    PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", MuonCompressorValuesTypes[table[k].values]));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
      PetscCall(PaperBits(c, shapes[s][0], shapes[s][1], &bits));
      total += bits * shapes[s][2];
    }
    TestCheck(PetscAbs(total / dense - table[k].cost) <= 2e-4, "%s %g: cost %g, the paper says %g", table[k].type, (double)table[k].ratio, total / dense, table[k].cost);
  }

  /* The default price of an index is that of the layer: 4096 entries have numbers of 12 bits, 4097 of 13 */
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(c, 0.25));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "bf16"));
  PetscCall(SetNumber((PetscObject)c, "compressor_paper_index_bits", PETSC_DETERMINE));
  PetscCall(PaperBits(c, 64, 64, &bits));
  TestCheck(bits == 1024 * (16 + 12), "64 x 64 costs %g", bits);
  PetscCall(PaperBits(c, 17, 241, &bits));
  TestCheck(bits == 1024 * (16 + 13), "17 x 241 costs %g", bits);
  PetscCall(PaperBits(c, 1, 1, &bits));
  TestCheck(bits == 16, "1 x 1 costs %g", bits);

  /*
     The figures of a message: the paper's does not depend on it, the encoded one is its length, and raw
     values are their own entropy
  */
  PetscCall(TestMatCreate(6, 5, 1, &X));
  PetscCall(TestMatNormal(X, 1.0, &state));
  PetscCall(MuonCompressorSetRatio(c, 0.1));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(TestCost(c, 6, 5, bytes, buf, &cost));
  TestCheck(cost.paper == 3 * (16 + 5) && cost.encoded == 8.0 * (double)TestMessageBytes(3, 3 + 6), "Cost of 3 of 30 entries: %g and %g", cost.paper, cost.encoded);
  TestCheck(PetscAbs(cost.entropy - (3 * 16 + PetscLog2Real((PetscReal)4060.0))) <= 100 * PETSC_MACHINE_EPSILON * cost.entropy, "Entropy of 3 of 30 entries: %g", cost.entropy);
  PetscCall(PetscFree(buf));

  /*
     Half ones and half twos, all positive: no bit for the sign and one for the exponent of a dense entry, one
     for the sign and one for the exponent of a kept one. On the wire they are coded in 14 bytes: 1 for their
     length, 7 of table (8 bits, 25 for the first code and 16 for the second), 4 of state, and one word,
     because of 30 doublings of the state the 16th is one too many
  */
  for (PetscInt e = 0; e < 30; e++) PetscCall(TestMatSet(X, e / 5, e % 5, e % 2 == 0 ? 1.0 : 2.0));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORNATURAL));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(TestCost(c, 6, 5, bytes, buf, &cost));
  TestCheck(cost.paper == 480 && cost.encoded == 8.0 * (double)TestMessageBytes(30, 14) && cost.entropy == 30, "Dense natural: %g, %g and %g", cost.paper, cost.encoded, cost.entropy);
  PetscCall(PetscFree(buf));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(c, 1.0));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_values", "natural"));
  PetscCall(TestEncode(c, X, NULL, &buf, &bytes));
  PetscCall(TestCost(c, 6, 5, bytes, buf, &cost));
  TestCheck(cost.encoded == 8.0 * (double)TestMessageBytes(30, 1 + 14) && PetscAbs(cost.entropy - 60) <= 1e-9, "Sparse natural: %g and %g", cost.encoded, cost.entropy);
  PetscCall(PetscFree(buf));

  PetscCall(PetscFunctionListGet(MuonCompressorList, &types, &ntypes));
  for (int k = 0; k < ntypes && types[k] != NULL; k++) PetscCall(CheckCounts(types[k], &state)); /* some releases count an empty name at the end */
  PetscCall(PetscFree(types));
  PetscCall(TestMatDestroy(&X));
  PetscCall(MuonCompressorDestroy(&c));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    link: internal

TEST*/
