static char help[] = "Prints Table 2 of the EF21-Muon paper for the 124M model: what the paper says, what its formula says of these layers, what is sent, and the entropy of that.\n\n"
                     "  ./table2 -benchmark_model_divide 1\n\n"
                     "All costs are relative to 32 bits an entry. The formula is the paper's, with 26 bits for an index and 16 for a natural value. One normally distributed matrix in single precision is made a\n"
                     "message of for each shape of layer, and counts as often as the model has it; the bytes are those of one worker in one step.\n\n";

#include "messages.h"
#include <petscmuon/private/muoncompressorcodec.h>

static const char *const Rows[]  = {TABLE2_ROWS};
static const double      Paper[] = {1.0000, 0.5000, 0.3625, 0.2718, 0.1812, 0.0906, 0.1969, 0.1312, 0.2687, 0.2019, 0.1335, 0.0667, 0.1010, 0.0667};

/* Adds the costs of a layer, in bits, to those of the others, as often as the model has it */
static PetscErrorCode AddLayer(MuonCompressor c, const MuonArray *X, double count, MuonCompressorCost *sum)
{
  MuonCompressorCost cost;
  MuonStatus         status;
  unsigned char     *message;
  size_t             most, bytes;

  PetscFunctionBeginUser;
  PetscCall(MuonCompressorGetMaxBytesOf(c, X, &most));
  PetscCall(PetscMalloc1(most, &message));
  PetscCall(MuonCompressorEncodeArray(c, X, NULL, most, message, &bytes, PETSC_TRUE, &cost, NULL));
  status = c->status;
  PetscCheck(status == MUON_STATUS_OK && cost.encoded == 8. * (double)bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %s, and %g bits of %zu bytes", MuonStatuses[status], cost.encoded, bytes);
  PetscCall(PetscFree(message));
  sum->paper += count * cost.paper;
  sum->encoded += count * cost.encoded;
  sum->entropy += count * cost.entropy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The paper's formula of the largest messages of the whole model, which nobody has to write for that, is what the paper says */
static PetscErrorCode CheckFormula(MuonCompressor c, const char row[], double paper)
{
  double bits = 0, dense = 0;

  PetscFunctionBeginUser;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(NanoGPT); s++) {
    const MuonArray      shape  = MuonArrayOfScalars(NanoGPT[s].rows, NanoGPT[s].columns, NULL, NanoGPT[s].rows);
    MuonCompressorLayout layout = {0};

    layout.rows    = (uint64_t)NanoGPT[s].columns;
    layout.columns = (uint64_t)NanoGPT[s].rows;
    PetscUseTypeMethod(c, layout, &shape, &layout);
    PetscCall(MuonCompressorSetCount(c, &layout, layout.header.count));
    bits += (double)NanoGPT[s].count * MuonCompressorPaperBits_Private(&layout, c->paperbits);
    dense += 32 * (double)NanoGPT[s].count * (double)MuonArrayEntries(&shape);
  }
  PetscCheck(dense == 32.0 * 123568128 && fabs(bits / dense - paper) <= 2e-4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: cost %g of %g entries, the paper says %g", row, bits / dense, dense / 32, paper);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonArray          X[PETSC_STATIC_ARRAY_LENGTH(NanoGPT)];
  unsigned long long state   = 2;
  PetscInt           divide  = 1;
  double             entries = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-benchmark_model_divide", &divide, NULL));
  PetscCheck(divide > 0 && divide <= 768, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-benchmark_model_divide %" PetscInt_FMT ": expected 1 to 768", divide);
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(NanoGPT); s++) {
    const MuonArray shape = MuonArrayOfScalars(NanoGPT[s].rows / divide, NanoGPT[s].columns / divide, NULL, NanoGPT[s].rows / divide);

    PetscCall(MuonArrayCreate(&shape, MUON_SINGLE, &X[s]));
    for (size_t j = 0; j < X[s].count; j++) {
      for (size_t i = 0; i < X[s].len; i++) *(float *)MuonArrayAt(&X[s], i, j) = (float)Normal(&state);
    }
    entries += (double)NanoGPT[s].count * (double)MuonArrayEntries(&X[s]);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.0f entries; parts of %.0f bytes in binary32\n%-22s%9s%9s%9s%9s%14s\n", entries, 4 * entries, "compressor", "paper", "formula", "sent", "entropy", "bytes sent"));
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(Rows); r++) {
    MuonCompressorCost sum;
    MuonCompressor     c;

    PetscCall(PetscMemzero(&sum, sizeof(sum)));
    PetscCall(CompressorCreate(Rows[r], &c));
    PetscCall(CheckFormula(c, Rows[r], Paper[r]));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(NanoGPT); s++) PetscCall(AddLayer(c, &X[s], (double)NanoGPT[s].count, &sum));
    PetscCall(MuonCompressorDestroy(&c));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-22s%9.4f%9.4f%9.4f%9.4f%14.0f\n", Rows[r], Paper[r], sum.paper / (32 * entries), sum.encoded / (32 * entries), sum.entropy / (32 * entries), sum.encoded / 8));
  }
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(NanoGPT); s++) PetscCall(MuonArrayDestroy(&X[s]));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  # Of small layers, but for what depends on the last bits of singular vectors
  testset:
    args: -benchmark_model_divide 32
    test:
      filter: awk '/rankk/ {print $1, $2, $3, $4, $5; next} {print}'
    test:
      suffix: none
      args: -benchmark_model_divide 0
      error: -benchmark_model_divide 0

TEST*/
