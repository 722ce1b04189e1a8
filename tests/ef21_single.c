static char help[] = "Layers that are not compressed beside layers that are send four bytes an entry, in both directions; a run that diverges says so.\n\n";

#include <petscmuon.h>
#include <math.h>

#define ENTRIES 500 /* of the layer that is not compressed */

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  PetscInt n;

  PetscFunctionBegin;
  *loss = *(PetscReal *)ctx;
  PetscCall(MuonGetNumLayers(muon, &n));
  for (PetscInt l = 0; l < n; l++) {
    MuonLayer layer;
    Mat       G;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetGradient(layer, &G));
    PetscCall(MatZeroEntries(G));
    PetscCall(MatShift(G, 1. / 3));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Muon        muon;
  Mat         W[2];
  MuonTraffic traffic;
  PetscReal   loss  = 1;
  PetscBool   lossy = PETSC_TRUE, diverges = PETSC_FALSE;
  double      entry;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lossy", &lossy, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-diverges", &diverges, NULL));
  if (diverges) loss = (PetscReal)HUGE_VAL;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 2, NULL, &W[0]));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ENTRIES, 1, NULL, &W[1]));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "small", W[0], NULL));
  PetscCall(MuonAddLayer(muon, "bias", W[1], NULL));
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &loss));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetTraffic(muon, &traffic));
  /* Headers and the other layer are small beside the entries */
  entry = lossy ? 32 : 8 * (double)sizeof(PetscScalar);
  for (int way = 0; way < 2 && diverges == PETSC_FALSE; way++) {
    const double bits = way == 0 ? traffic.up[1] : traffic.down[1];

    PetscCheck(bits >= entry * ENTRIES && bits < (entry + 4) * ENTRIES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bits %s, expected %g an entry of %d", bits, way == 0 ? "up" : "down", entry, ENTRIES);
  }
  PetscCall(MuonDestroy(&muon));
  for (int l = 0; l < 2; l++) PetscCall(MatDestroy(&W[l]));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: 2
    args: -muon_layer_bias_rule adamw -muon_exchange_type star -muon_max_steps 3
    test:
      suffix: 1
      args: -ef21_compressor topk -ef21_server_compressor topk
    test:
      suffix: identity
      args: -lossy 0
    test:
      suffix: diverges
      args: -diverges
      output_file: output/ef21_single_diverges.out

TEST*/
