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

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestStart(8));
  PetscCall(CheckTable());
  PetscCall(CheckIndices());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    link: internal

TEST*/
