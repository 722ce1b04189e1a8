static char help[] = "A layer in the memory of a device, and one on the host, in a library that was built without Kokkos.\n\n";

#include <petscmuon.h>

int main(int argc, char **argv)
{
  double         w[6] = {1, 2, 3, 4, 5, 6}, g[6] = {1, 1, 1, 1, 1, 1};
  PetscBool      device = PETSC_FALSE;
  Muon           muon;
  MuonLayerArray array;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type = PETSC_DOUBLE;
  array.M    = 3;
  array.N    = 2;
  array.w    = w;
  array.g    = g;
  if (device) array.memtype = PETSC_MEMTYPE_DEVICE;
  PetscCall(MuonAddLayerArray(muon, "q", &array, NULL));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonStep(muon));
  PetscCheck(w[0] < 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The step did not lower a weight with a positive gradient");
  PetscCall(MuonDestroy(&muon));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a step on the host\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}
