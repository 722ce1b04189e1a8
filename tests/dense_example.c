static char help[] = "The worked example of Muon's momentum variants: two steps of a 2 x 2 layer from 0 with gradients diag(3,-3) and the identity.\n";

#include <petscmuon.h>

static MuonLayer layer;

static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  PetscScalar *g;
  PetscInt     step;
  Mat          G;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCall(MuonLayerGetGradient(layer, &G));
  PetscCall(MatDenseGetArray(G, &g));
  g[0] = step == 0 ? 3 : 1;
  g[1] = g[2] = 0;
  g[3]        = step == 0 ? -3 : 1;
  PetscCall(MatDenseRestoreArray(G, &g));
  *loss = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /*
     The last column: the second diagonal entry of X after two steps, and the sum of |u| that the oracle saw
     in the second
  */
  static const struct {
    MuonMomentumStyle style;
    MuonNesterovType  nesterov;
    MuonShapeFactor   factor;
    double            x, dual;
  } cases[] = {{MUON_MOMENTUM_EMA, MUON_NESTEROV_EMA, MUON_SHAPE_FACTOR_NONE, 0.2, 0.232875 + 0.037875},
               {MUON_MOMENTUM_SGD, MUON_NESTEROV_SGD, MUON_SHAPE_FACTOR_NONE, 0.2, 20 * (0.232875 + 0.037875)},
               {MUON_MOMENTUM_EMA, MUON_NESTEROV_NONE, MUON_SHAPE_FACTOR_NONE, 0.2, 0.1925 + 0.0925},
               {MUON_MOMENTUM_SGD, MUON_NESTEROV_NONE, MUON_SHAPE_FACTOR_NONE, 0.2, 20 * (0.1925 + 0.0925)},
               {MUON_MOMENTUM_EMA, MUON_NESTEROV_UNDAMPED, MUON_SHAPE_FACTOR_NONE, 0, 1.182875 + 0.912125},
               {MUON_MOMENTUM_EMA, MUON_NESTEROV_EMA, MUON_SHAPE_FACTOR_KJ, 0.2, 0.232875 + 0.037875},
               {MUON_MOMENTUM_SGD, MUON_NESTEROV_SGD, MUON_SHAPE_FACTOR_MOONLIGHT, 0.2, 20 * (0.232875 + 0.037875)}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
    const PetscReal    factor = cases[k].factor == MUON_SHAPE_FACTOR_MOONLIGHT ? (PetscReal)0.2 * PetscSqrtReal(2) : 1;
    const PetscScalar *w;
    Muon               muon;
    MuonLMO            lmo;
    MuonPolar          polar;
    Mat                W;
    PetscReal          dual;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 2, 2, NULL, &W));
    PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
    PetscCall(MuonSetType(muon, MUONDENSE));
    PetscCall(MuonAddLayer(muon, "w", W, &layer));
    PetscCall(MuonLayerGetLMO(layer, &lmo));
    PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
    PetscCall(MuonLMOGetPolar(lmo, &polar));
    PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
    PetscCall(MuonSetObjectiveAndGradient(muon, Objective, NULL));
    PetscCall(MuonSetLearningRate(muon, (PetscReal)0.1));
    PetscCall(MuonSetMomentum(muon, (PetscReal)0.95, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
    PetscCall(MuonSetMomentum(muon, PETSC_CURRENT, cases[k].style, MUON_NESTEROV_CURRENT));
    PetscCall(MuonSetMomentum(muon, PETSC_CURRENT, MUON_MOMENTUM_CURRENT, cases[k].nesterov));
    PetscCall(MuonSetParameter(muon, "muon_shape_factor", MuonShapeFactors[cases[k].factor]));
    PetscCall(MuonSetFromOptions(muon));
    PetscCall(MuonStep(muon));
    PetscCall(MuonStep(muon));
    PetscCall(MuonGetGradientDualNorm(muon, &dual));
    PetscCall(MatDenseGetArrayRead(W, &w));
    /*
       A polar factor accurate to a few units of the last place, two steps; u is a difference of numbers 10
       times as large
    */
    for (PetscInt e = 0; e < 4; e++) {
      const PetscReal expected = e == 0 ? (PetscReal)-0.2 * factor : e == 3 ? (PetscReal)cases[k].x * factor : 0, got = PetscRealPart(w[e]);

      PetscCheck(PetscAbsReal(got - expected) <= 16 * PETSC_MACHINE_EPSILON, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Case %d: entry (%d, %d) of X is %.17g, expected %.17g", (int)k, (int)(e % 2), (int)(e / 2), (double)got, (double)expected);
    }
    PetscCall(MatDenseRestoreArrayRead(W, &w));
    PetscCheck(PetscAbsReal(dual - (PetscReal)cases[k].dual) <= 100 * PETSC_MACHINE_EPSILON * dual, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Case %d: the oracle saw a momentum of dual norm %.17g, expected %.17g", (int)k, (double)dual, cases[k].dual);
    PetscCall(MuonDestroy(&muon));
    PetscCall(MatDestroy(&W));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}

TEST*/
