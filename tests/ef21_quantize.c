static char help[] = "EF21-Muon with quantized messages: each layer has its own choices, those of the type too, on whatever rank it is served, and the loss falls.\n";

#include "muon_common.h"
#include "parameters.h"

static PetscErrorCode CheckLayer(Problem *p, PetscInt l, PetscInt bits, PetscInt length, MuonCompressorBlockNorm norm)
{
  MuonCompressor          up, down;
  MuonCompressorBlockNorm gotnorm;
  PetscInt                gotbits, gotlength;
  PetscBool               sign;

  PetscFunctionBegin;
  PetscCall(MuonEF21GetLayerCompressors(p->muon, p->layer[l], &up, &down));
  PetscCall(GetInt((PetscObject)up, "compressor_bits", &gotbits));
  PetscCall(GetInt((PetscObject)up, "compressor_qsgd_block_length", &gotlength));
  PetscCall(GetEnum((PetscObject)up, "compressor_qsgd_block_norm", MuonCompressorBlockNorms, (int *)&gotnorm));
  PetscCheck(gotbits == bits && gotlength == length && gotnorm == norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s has %" PetscInt_FMT " bits, blocks of %" PetscInt_FMT " and the norm %s", Shapes[l].name, gotbits, gotlength,
             MuonCompressorBlockNorms[gotnorm]);
  if (down != NULL) {
    PetscCall(PetscObjectTypeCompare((PetscObject)down, MUONCOMPRESSORSIGN, &sign));
    PetscCheck(sign, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s has another compressor for servers", Shapes[l].name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem        p;
  MuonCompressor c;
  PetscReal      first = 0, last = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(ProblemCreate(PETSC_COMM_WORLD, MUONEF21, &p));
  PetscCall(MuonSetMaxSteps(p.muon, 60));
  PetscCall(MuonSetLearningRate(p.muon, (PetscReal)0.05));
  PetscCall(MuonEF21GetCompressor(p.muon, &c));
  PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORQSGD));
  PetscCall(MuonObjectSetParameter((PetscObject)c, "compressor_qsgd_block_length", "64"));
  PetscCall(MuonSetFromOptions(p.muon));
  for (PetscInt k = 0; k < 60; k++) {
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonGetLoss(p.muon, k == 0 ? &first : &last));
  }
  /*
     The losses of the ranks have minima of their own, which is why not all of it goes; without a step it
     would stay
  */
  PetscCheck(last < (PetscReal)0.4 * first, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The loss went from %g to %g", (double)first, (double)last);
  PetscCall(CheckLayer(&p, 0, 3, 64, MUON_COMPRESSOR_BLOCK_NORM_MAX));
  PetscCall(CheckLayer(&p, 1, 6, 32, MUON_COMPRESSOR_BLOCK_NORM_L2));
  PetscCall(CheckLayer(&p, 3, 3, 64, MUON_COMPRESSOR_BLOCK_NORM_MAX));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    args: -ef21_compressor_bits 3 -ef21_server_compressor sign -ef21_server_compressor_values bf16
    args: -muon_layer_h0.qkv_ef21_compressor_bits 6 -muon_layer_h0.qkv_ef21_compressor_qsgd_block_length 32 -muon_layer_h0.qkv_ef21_compressor_qsgd_block_norm l2

TEST*/
