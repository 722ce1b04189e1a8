static char help[] = "Error feedback is needed: Top-1 of the gradients themselves ascends on this problem, EF21 descends.\n";

#include <petscmuon.h>
#include <stdio.h>

typedef struct {
  MuonLayer   layer;
  PetscMPIInt rank;
} Problem;

/* f_j(x) = (a_j x)^2 + |x|^2/4 */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  static const PetscReal a[3][3] = {{-3, 2, 2}, {2, -3, 2}, {2, 2, -3}};
  Problem               *p       = (Problem *)ctx;
  Mat                    X, G;
  PetscScalar           *x, *g;
  PetscReal              product = 0, square = 0;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetWeights(p->layer, &X));
  PetscCall(MuonLayerGetGradient(p->layer, &G));
  PetscCall(MatDenseGetArray(X, &x));
  PetscCall(MatDenseGetArray(G, &g));
  for (PetscInt i = 0; i < 3; i++) {
    product += a[p->rank][i] * PetscRealPart(x[i]);
    square += PetscRealPart(x[i] * x[i]);
  }
  for (PetscInt i = 0; i < 3; i++) g[i] = 2 * product * a[p->rank][i] + x[i] / 2;
  *loss = product * product + square / 4;
  PetscCall(MatDenseRestoreArray(G, &g));
  PetscCall(MatDenseRestoreArray(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char           dir[PETSC_MAX_PATH_LEN] = ".", path[PETSC_MAX_PATH_LEN];
  FILE          *file                    = NULL;
  Problem        p;
  Muon           muon;
  MuonLMO        lmo;
  MuonCompressor up;
  Mat            X;
  PetscScalar   *x;
  PetscReal      loss = 0, mine;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", dir, sizeof(dir), NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &p.rank));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 1, NULL, &X));
  PetscCall(MatDenseGetArray(X, &x));
  for (PetscInt i = 0; i < 3; i++) x[i] = 1;
  PetscCall(MatDenseRestoreArray(X, &x));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "x", X, &p.layer));
  PetscCall(MuonLayerGetLMO(p.layer, &lmo));
  PetscCall(MuonLMOSetType(lmo, MUONLMOFROBENIUS));
  PetscCall(MuonSetObjectiveAndGradient(muon, Objective, &p));
  PetscCall(MuonSetType(muon, MUONEF21));
  PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetLearningRate(muon, 0.02));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 400));
  PetscCall(MuonEF21GetCompressor(muon, &up));
  PetscCall(MuonCompressorSetType(up, MUONCOMPRESSORTOPK));
  PetscCall(MuonCompressorSetRatio(up, (PetscReal)0.34));
  PetscCall(MuonObjectSetParameter((PetscObject)up, "compressor_values", "double"));
  PetscCall(MuonSetFromOptions(muon));
  if (p.rank == 0) {
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s/losses", dir));
    file = fopen(path, "w");
    PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  }
  for (PetscInt s = 0; s < 400; s++) {
    PetscCall(MuonStep(muon));
    PetscCall(MuonGetLoss(muon, &loss));
    if (file != NULL) fprintf(file, "%.17g\n", (double)loss);
    PetscCheck(s != 0 || PetscAbsReal(loss - (PetscReal)1.75) <= 8 * PETSC_MACHINE_EPSILON, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Loss %g at the beginning, expected 1.75", (double)loss);
    PetscCheck(s != 50 || PetscAbsReal(loss - (PetscReal)0.431) <= 5e-4, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Loss %g in step 50, expected 0.431", (double)loss);
  }
  PetscCheck(file == NULL || fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", path);
  PetscCall(Objective(muon, &mine, &p));
  PetscCallMPI(MPI_Allreduce(&mine, &loss, 1, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscCheck(loss / 3 < (PetscReal)1e-6, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Loss %g at the end, expected less than 1e-6", (double)loss / 3);
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&X));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: 3
    test:
      suffix: exchange
      args: -muon_exchange_type {{star layerwise replicated}}
    test:
      suffix: control
      requires: double numpy
      oracle: ef21.py feedback

TEST*/
