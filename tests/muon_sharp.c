static char help[] = "Sharp steps in two norms are methods that everybody knows: gradient descent, and signs times the sum of the absolute entries.\n";

#include <petscmuon.h>

#define M 5
#define N 7

/* f(W) = |W - A|^2 / 2 */
static PetscErrorCode FormGradient(Muon muon, PetscReal *loss, void *ctx)
{
  MuonLayer layer;
  Mat       W, G;

  PetscFunctionBeginUser;
  PetscCall(MuonGetLayer(muon, 0, &layer));
  PetscCall(MuonLayerGetWeights(layer, &W));
  PetscCall(MuonLayerGetGradient(layer, &G));
  PetscCall(MatCopy(W, G, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(G, -1, (Mat)ctx, SAME_NONZERO_PATTERN));
  *loss = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonLMOType norms[] = {MUONLMOFROBENIUS, MUONLMOMAX};
  const PetscReal   rate = (PetscReal)0.03, tolerance = 16 * PETSC_MACHINE_EPSILON;
  PetscRandom       random;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetFromOptions(random));
  for (int k = 0; k < 2; k++) {
    Mat          W, A;
    Muon         muon;
    MuonLayer    layer;
    MuonLMO      lmo;
    PetscScalar *w, *a, expected[M * N] = {0};

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &W));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &A));
    PetscCall(MatSetRandom(A, random));
    PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
    PetscCall(MuonAddLayer(muon, "w", W, &layer));
    PetscCall(MuonLayerGetLMO(layer, &lmo));
    PetscCall(MuonLMOSetType(lmo, norms[k]));
    PetscCall(MuonSetObjectiveAndGradient(muon, FormGradient, A));
    PetscCall(MuonSetLearningRate(muon, rate));
    PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
    PetscCall(MuonSetParameter(muon, "muon_step", "sharp"));
    PetscCall(MuonSetFromOptions(muon));
    for (PetscInt s = 0; s < 10; s++) {
      PetscReal sum = 0;

      PetscCall(MuonStep(muon));
      PetscCall(MatDenseGetArray(W, &w));
      PetscCall(MatDenseGetArray(A, &a));
      for (PetscInt e = 0; e < M * N; e++) sum += PetscAbsScalar(expected[e] - a[e]);
      for (PetscInt e = 0; e < M * N; e++) {
        const PetscReal g = PetscRealPart(expected[e] - a[e]);

        expected[e] -= rate * (k == 0 ? g : g > 0 ? sum : -sum);
        PetscCheck(PetscAbsScalar(w[e] - expected[e]) <= tolerance * (1 + PetscAbsScalar(expected[e])), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, step %" PetscInt_FMT ", entry %" PetscInt_FMT ": %.17g, expected %.17g", norms[k], s, e,
                   (double)PetscRealPart(w[e]), (double)PetscRealPart(expected[e]));
        expected[e] = w[e]; /* roundings do not add up */
      }
      PetscCall(MatDenseRestoreArray(A, &a));
      PetscCall(MatDenseRestoreArray(W, &w));
    }
    PetscCall(MuonDestroy(&muon));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&W));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    args: -muon_type {{dense ef21}shared output}

TEST*/
