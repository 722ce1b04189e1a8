static char help[] = "Compression without error feedback diverges: three workers, three unknowns, one number a message.\n\n"
                     "  mpiexec -n 3 ./feedback -muon_type ef14 -ef14_feedback 0\n"
                     "  mpiexec -n 3 ./feedback -muon_type ef14\n"
                     "  mpiexec -n 3 ./feedback -muon_type ef21\n\n";

#include <petscmuon.h>

/*
   f_j = (a_j x)^2 + |x|^2 / 4. At x = (t, t, t) the largest entry of the gradient of worker j is that where a_j is negative, and it
   points away from 0: the mean of the largest entries leads uphill, though that of the gradients leads to 0
*/
static const PetscReal a[3][3] = {{-3, 2, 2}, {2, -3, 2}, {2, 2, -3}};

static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  const PetscMPIInt rank = *(PetscMPIInt *)ctx;
  PetscReal         ax = 0, xx = 0;
  PetscScalar      *x, *g;
  MuonLayer         layer;
  Vec               X, G;

  PetscFunctionBeginUser;
  PetscCall(MuonGetLayer(muon, 0, &layer));
  PetscCall(MuonLayerGetWeightsVec(layer, &X));
  PetscCall(MuonLayerGetGradientVec(layer, &G));
  PetscCall(VecGetArray(X, &x));
  PetscCall(VecGetArray(G, &g));
  for (PetscInt i = 0; i < 3; i++) ax += a[rank][i] * PetscRealPart(x[i]);
  for (PetscInt i = 0; i < 3; i++) xx += PetscRealPart(x[i]) * PetscRealPart(x[i]);
  for (PetscInt i = 0; i < 3; i++) g[i] = 2 * ax * a[rank][i] + x[i] / 2;
  *loss = ax * ax + xx / 4;
  PetscCall(VecRestoreArray(G, &g));
  PetscCall(VecRestoreArray(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank, size;
  PetscReal   loss;
  PetscInt    steps;
  Muon        muon;
  Vec         x;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 3, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "%d ranks, expected 3", size);
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, 3, &x));
  PetscCall(VecSet(x, 1));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddVecLayer(muon, "x", x, NULL));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &rank));
  PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 601));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonGetMaxSteps(muon, &steps));
  for (PetscInt k = 0; k < steps; k++) {
    PetscCall(MuonStep(muon));
    PetscCall(MuonGetLoss(muon, &loss));
    if (k % 100 == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %3" PetscInt_FMT " loss %.1e\n", k, (double)loss));
  }
  PetscCall(MuonDestroy(&muon));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    nsize: 3
    tolerance: 0.1
    args: -lmo_type frobenius -muon_step sharp -muon_learning_rate 0.01
    test:
      suffix: none
      args: -muon_type ef14 -ef14_feedback 0 -ef14_compressor topk -ef14_compressor_ratio 0.33
      output_file: README.md
    test:
      suffix: ef14
      args: -muon_type ef14 -ef14_compressor topk -ef14_compressor_ratio 0.33
      output_file: README.md
    test:
      suffix: ef21
      args: -muon_type ef21 -ef21_compressor topk -ef21_compressor_ratio 0.33
      output_file: README.md

TEST*/
