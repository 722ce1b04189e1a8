static char help[] = "The costs of Table 2 of the EF21-Muon paper for the 124M model, from the sizes of its layers alone.\n";

#include "compressor_common.h"
#include <petscmuon/private/muoncompressorcodec.h>

/* Of the largest message of an m x n layer, which nobody has to write for that */
static PetscErrorCode PaperBits(MuonCompressor c, PetscInt m, PetscInt n, double *bits)
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

static PetscErrorCode CheckTable(void)
{
  static const struct {
    const char *choice;
    double      cost;
  } rows[]                          = {{"identity values single", 1.0000},          {"natural", 0.5000},
                                       {"topk ratio 0.20 values single", 0.3625},   {"topk ratio 0.15 values single", 0.2718},
                                       {"topk ratio 0.10 values single", 0.1812},   {"topk ratio 0.05 values single", 0.0906},
                                       {"topk ratio 0.15 values natural", 0.1969},  {"topk ratio 0.10 values natural", 0.1312},
                                       {"rankk ratio 0.20 values single", 0.2687},  {"rankk ratio 0.15 values single", 0.2019},
                                       {"rankk ratio 0.10 values single", 0.1335},  {"rankk ratio 0.05 values single", 0.0667},
                                       {"rankk ratio 0.15 values natural", 0.1010}, {"rankk ratio 0.10 values natural", 0.0667}};
  static const PetscInt shapes[][3] = {{50304, 768, 1}, {768, 768, 48}, {3072, 768, 12}, {768, 3072, 12}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    MuonCompressor c;
    double         bits, total = 0, dense = 0;

    PetscCall(Make(&c, "%s paper_index_bits 26", rows[k].choice));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++) {
      PetscCall(PaperBits(c, shapes[s][0], shapes[s][1], &bits));
      total += bits * (double)shapes[s][2];
      dense += 32.0 * (double)(shapes[s][0] * shapes[s][1] * shapes[s][2]);
    }
    TestCheck(dense == 32.0 * 123568128, "The model has %g entries", dense / 32);
    TestCheck(fabs(total / dense - rows[k].cost) <= 2e-4, "%s: cost %g, the paper says %g", rows[k].choice, total / dense, rows[k].cost);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The default price of an index is that of the layer: 4096 entries have numbers of 12 bits, 4097 of 13 */
static PetscErrorCode CheckIndices(void)
{
  static const struct {
    PetscInt m, n;
    double   bits;
  } rows[] = {{64, 64, 1024 * (16 + 12)}, {17, 241, 1024 * (16 + 13)}, {1, 1, 16}};
  MuonCompressor c;
  double         bits;

  PetscFunctionBegin;
  PetscCall(Make(&c, "topk ratio 0.25 values bf16"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    PetscCall(PaperBits(c, rows[k].m, rows[k].n, &bits));
    TestCheck(bits == rows[k].bits, "%d x %d costs %g", (int)rows[k].m, (int)rows[k].n, bits);
  }
  PetscCall(Free(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The figures of a message: the paper's does not depend on it, the encoded one is its length, and raw values are their own entropy.

   Half ones and half twos, all positive: no bit for the sign and one for the exponent of a dense entry, one
   for the sign and one for the exponent of a kept one. On the wire they are coded in 14 bytes: 1 for their
   length, 7 of table (8 bits, 25 for the first code and 16 for the second), 4 of state, and one word,
   because of 30 doublings of the state the 16th is one too many
*/
static PetscErrorCode CheckFigures(void)
{
  static const struct {
    const char        *choice;
    PetscBool          random; /* or half ones, half twos */
    unsigned long long count, payload;
    double             paper, entropy;
  } rows[] = {{"topk ratio 0.1 values bf16", PETSC_TRUE, 3, 3 + 6, 3 * (16 + 5), 59.987264012072536}, /* 48 and log2 of 4060 */
              {"natural", PETSC_FALSE, 30, 14, 480, 30},
              {"topk ratio 1 values natural", PETSC_FALSE, 30, 1 + 14, 30 * (16 + 5), 60}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows); k++) {
    MuonCompressor     c;
    MuonCompressorCost cost;
    Matrix             X;
    Message            M;

    PetscCall(Make(&c, rows[k].choice));
    PetscCall(New(6, 5, &X));
    PetscCall(NewMessage(&M));
    Random(X, 1);
    for (PetscInt e = 0; e < 30 && !rows[k].random; e++) Set(X, e / 5, e % 5, e % 2 == 0 ? 1 : 2);
    PetscCall(Send(c, X, NULL, M));
    PetscCall(Cost(c, X, M, &cost));
    TestNear(rows[k].choice, cost.paper, rows[k].paper, 0);
    TestNear(rows[k].choice, cost.encoded, 8.0 * (double)TestMessageBytes(rows[k].count, rows[k].payload), 0);
    TestNear(rows[k].choice, cost.entropy, rows[k].entropy, 1e-9);
    PetscCall(Free(0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(8));
  PetscCall(CheckTable());
  PetscCall(CheckIndices());
  PetscCall(CheckFigures());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    link: internal

TEST*/
