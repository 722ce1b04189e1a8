static char help[] = "A program outside the tree: two matrices follow their targets.\n";

#include <petscmuon.h>

static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  PetscInt nlayers;

  PetscFunctionBeginUser;
  *loss = 0;
  PetscCall(MuonGetNumLayers(muon, &nlayers));
  for (PetscInt l = 0; l < nlayers; l++) {
    MuonLayer layer;
    Mat       W, G;
    PetscReal norm;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetWeights(layer, &W));
    PetscCall(MuonLayerGetGradient(layer, &G));
    PetscCall(MatCopy(W, G, SAME_NONZERO_PATTERN));
    PetscCall(MatAXPY(G, -1.0, ((Mat *)ctx)[l], SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(G, NORM_FROBENIUS, &norm));
    *loss += norm * norm / 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *names[] = {"first", "second"};
  Mat         W[2], T[2];
  Muon        muon;
  PetscReal   before, after;
  PetscInt    size[] = {6, 4, 5};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < 2; l++) {
    PetscScalar *t;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, size[l], size[l + 1], NULL, &W[l]));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, size[l], size[l + 1], NULL, &T[l]));
    PetscCall(MatDenseGetArrayWrite(T[l], &t));
    for (PetscInt i = 0; i < size[l] * size[l + 1]; i++) t[i] = (PetscScalar)((i * 7) % 5 - 2) / 4;
    PetscCall(MatDenseRestoreArrayWrite(T[l], &t));
    PetscCall(MuonAddLayer(muon, names[l], W[l], NULL));
  }
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, T));
  PetscCall(MuonSetLearningRate(muon, 0.1));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 100));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonStep(muon));
  PetscCall(MuonGetLoss(muon, &before));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetLoss(muon, &after));
  PetscCheck(after < 0.1 * before, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The loss went from %g to %g only", (double)before, (double)after);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the loss fell below a tenth\n"));
  PetscCall(MuonDestroy(&muon));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MatDestroy(&W[l]));
    PetscCall(MatDestroy(&T[l]));
  }
  PetscCall(PetscFinalize());
  return 0;
}
