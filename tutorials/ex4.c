static char help[] = "SignMuon can go the wrong way: a linear function of a 4 x 4 matrix on which the sign after the polar factor ascends, and what descends.\n\n"
                     "f(X) = <G, X>, G = s u v^T + O with an orthogonal O that takes v to u. The polar factor of G is O for every s > 0, so SignMuon takes the same steps for all of them, and f falls by\n"
                     "(532 - 43 s)/103 times the learning rate in each: it grows where s > 12.37. The sign of the gradient itself, and EF21-Muon whose messages are signs, too, descend.\n\n"
                     "  ./ex4 -sign_direction gradient\n"
                     "  mpiexec -n 3 ./ex4 -muon_max_steps 100\n\n";

#include <petscmuon.h>

typedef struct {
  MuonLayer layer;
  Mat       G;
  PetscReal value; /* of f at the weights of the last step */
} Problem;

/* G by columns */
static PetscErrorCode FillGradient(PetscReal s, Mat G)
{
  static const PetscReal O[4][4] = {{101, 20, 2, -2}, {-20, 97, 20, -20}, {-2, 20, 2, 101}, {-2, 20, -101, -2}};
  static const PetscReal u[4] = {10, -3, 10, 10}, v[4] = {10, 3, -10, 10};
  PetscScalar           *g;

  PetscFunctionBeginUser;
  PetscCall(MatDenseGetArrayWrite(G, &g));
  for (PetscInt j = 0; j < 4; j++) {
    for (PetscInt i = 0; i < 4; i++) g[i + 4 * j] = s * u[i] * v[j] / 309 + O[i][j] / 103;
  }
  PetscCall(MatDenseRestoreArrayWrite(G, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FormValueAndGradient(Muon muon, PetscReal *value, void *ctx)
{
  Problem           *p = (Problem *)ctx;
  const PetscScalar *w, *g;
  Mat                W, G;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetGradient(p->layer, &G));
  PetscCall(MatCopy(p->G, G, SAME_NONZERO_PATTERN));
  PetscCall(MuonLayerGetWeights(p->layer, &W));
  PetscCall(MatDenseGetArrayRead(W, &w));
  PetscCall(MatDenseGetArrayRead(p->G, &g));
  *value = 0;
  for (PetscInt e = 0; e < 16; e++) *value += PetscRealPart(g[e] * w[e]);
  PetscCall(MatDenseRestoreArrayRead(p->G, &g));
  PetscCall(MatDenseRestoreArrayRead(W, &w));
  p->value = *value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How much f has changed a step, over 20 steps from 0, in units of the learning rate */
static PetscErrorCode Run(MuonType type, PetscReal s, PetscReal *slope)
{
  const PetscReal rate = (PetscReal)0.001;
  Muon            muon;
  MuonLMO         lmo;
  MuonPolar       polar;
  MuonCompressor  c;
  PetscInt        steps;
  PetscBool       ef21;
  Problem         p;
  Mat             W;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 4, NULL, &W));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 4, NULL, &p.G));
  PetscCall(FillGradient(s, p.G));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonSetType(muon, type));
  PetscCall(MuonAddLayer(muon, "w", W, &p.layer));
  PetscCall(MuonLayerGetLMO(p.layer, &lmo));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(PetscStrcmp(type, MUONEF21, &ef21));
  if (ef21 == PETSC_TRUE) {
    PetscCall(MuonGetLayerCompressors(muon, NULL, &c, NULL));
    PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORSIGN));
    PetscCall(MuonGetLayerCompressors(muon, NULL, NULL, &c));
    PetscCall(MuonCompressorSetType(c, MUONCOMPRESSORSIGN));
  }
  PetscCall(MuonSetLearningRate(muon, rate));
  PetscCall(MuonSetMaxSteps(muon, 20));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_CONSTANT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT)); /* the formula is of one rate */
  PetscCall(MuonSetObjectiveAndGradient(muon, FormValueAndGradient, &p));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(FormValueAndGradient(muon, slope, &p));
  PetscCall(MuonGetStepNumber(muon, &steps));
  *slope /= steps * rate;
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&p.G));
  PetscCall(MatDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscReal sizes[] = {10, 13, 100};

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%6s %20s %20s\n", "s", "SignMuon", "EF21-Muon by signs"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    PetscReal sign, ef21;

    PetscCall(Run(MUONSIGN, sizes[k], &sign));
    PetscCall(Run(MUONEF21, sizes[k], &ef21));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%6g %9.3f %10s %9.3f %10s\n", (double)sizes[k], (double)sign, sign > 0 ? "ascends" : "descends", (double)ef21, ef21 > 0 ? "ascends" : "descends"));
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double !complex
    tolerance: 1e-3
    test:
      suffix: check
      nsize: {{1 3}}
      output_file: output/ex4_check.out
    # The sign of the gradient descends whatever s is
    test:
      suffix: gradient
      args: -sign_direction gradient

TEST*/
