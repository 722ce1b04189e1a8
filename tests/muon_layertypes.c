static char help[] = "A layer with a type of its own has the choices of that type which were made for all layers, and above them its own.\n";

#include "problem.h"
#include "parameters.h"

int main(int argc, char **argv)
{
  Problem        p;
  MuonCompressor up;
  MuonLMO        lmo;
  PetscReal      exponent;
  char           text[16];
  PetscBool      late = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-late", &late, NULL));
  PetscCall(ProblemCreate(&p, 0, 0));
  if (late == PETSC_TRUE) {
    /* A type that code chooses reads its keys too, and a value that code chooses stays */
    PetscCall(MuonGetLayerCompressors(p.muon, NULL, &up, NULL));
    PetscCall(MuonCompressorSetType(up, MUONCOMPRESSORRANKK));
    PetscCall(MuonCompressorSetRatio(up, 0.5));
    PetscCall(MuonStep(p.muon));
    PetscCall(MuonGetLayerCompressors(p.muon, p.layer[1].layer, &up, NULL));
    PetscCall(GetReal((PetscObject)up, "compressor_ratio", &exponent));
    PetscCheck(exponent == 0.5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The ratio is %g", (double)exponent);
    if (p.rank == 0) PetscCall(MuonCompressorView(up, PETSC_VIEWER_STDOUT_SELF));
    PetscCall(ProblemDestroy(&p));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(MuonStep(p.muon));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MuonGetLayerCompressors(p.muon, p.layer[l].layer, &up, NULL));
    PetscCall(GetReal((PetscObject)up, "compressor_line_norm", &exponent));
    PetscCheck(exponent == (l == 0 ? 1 : 4), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s compares its columns by the norm %g", p.layer[l].shape->name, (double)exponent);
    PetscCall(MuonLayerGetLMO(p.layer[l].layer, &lmo));
    PetscCall(MuonObjectGetParameter((PetscObject)lmo, "lmo_schatten_exponent", text, sizeof(text)));
    PetscCheck(text[0] == (l == 0 ? '3' : '5'), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s has the Schatten norm %s", p.layer[l].shape->name, text);
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 2
    args: -problem_layers square,tall -ef21_compressor topk -ef21_compressor_line_norm 1 -lmo_type frobenius -lmo_schatten_exponent 3
    args: -muon_layer_square_ef21_compressor columntopk -muon_layer_square_lmo_type schatten
    args: -muon_layer_tall_ef21_compressor columntopk -muon_layer_tall_lmo_type schatten -muon_layer_tall_ef21_compressor_line_norm 4 -muon_layer_tall_lmo_schatten_exponent 5

  test:
    suffix: solver
    nsize: 2
    args: -late -problem_setup 0 -ef21_compressor topk -ef21_compressor_ratio 0.1 -ef21_compressor_svd_type cross
    filter: grep -o "last solver.*"

TEST*/
