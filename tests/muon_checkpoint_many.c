static char help[] = "A checkpoint of many layers loads within the limit of a test: no layer looks at the records of all others.\n";

#include <petscmuon.h>

int main(int argc, char **argv)
{
  PetscInt     n = 20000;
  PetscScalar *x;
  Muon         muon;
  Vec          w;
  char         name[32];

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-layers", &n, NULL));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < n; l++) {
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, 1, &w));
    PetscCall(VecSet(w, (PetscScalar)l));
    PetscCall(PetscSNPrintf(name, sizeof(name), "l%" PetscInt_FMT, l));
    PetscCall(MuonAddVecLayer(muon, name, w, NULL));
    PetscCall(VecDestroy(&w));
  }
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSaveCheckpoint(muon, "many", 1));
  for (PetscInt l = 0; l < n; l++) {
    MuonLayer layer;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetWeightsVec(layer, &w));
    PetscCall(VecSet(w, -1));
  }
  PetscCall(MuonLoadCheckpoint(muon, "many"));
  for (PetscInt l = 0; l < n; l++) {
    MuonLayer layer;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetWeightsVec(layer, &w));
    PetscCall(VecGetArray(w, &x));
    PetscCheck(x[0] == (PetscScalar)l, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %" PetscInt_FMT " has %g", l, (double)PetscRealPart(x[0]));
    PetscCall(VecRestoreArray(w, &x));
  }
  PetscCall(MuonDestroy(&muon));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:
    # It is about time, of which the sanitizer takes more than the limit
    requires: !sanitized
    nsize: 1

TEST*/
