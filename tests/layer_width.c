static char help[] = "What a step of rank one does to the output of a layer, for each shape factor and shape: the table of the page on rates.\n\n";

#include <petscmuon.h>

/* By how much one step of this rate moves W b, as root mean square beside that of b; the gradient is a b^T */
static PetscErrorCode Gain(PetscInt m, PetscInt n, const char factor[], PetscReal rate, PetscReal *gain)
{
  PetscReal norm[2];
  Muon      muon;
  MuonLayer layer;
  Mat       W, G;
  Vec       a, b, y;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, &W));
  PetscCall(MatZeroEntries(W));
  PetscCall(MatCreateVecs(W, &b, &a));
  PetscCall(VecDuplicate(a, &y));
  for (PetscInt i = 0; i < m; i++) PetscCall(VecSetValue(a, i, i % 2 == 0 ? 1 : -2, INSERT_VALUES));
  for (PetscInt j = 0; j < n; j++) PetscCall(VecSetValue(b, j, j % 3 == 1 ? 1 : 2 - 4 * (j % 2), INSERT_VALUES));
  PetscCall(MuonCreate(PETSC_COMM_SELF, &muon));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonAddLayer(muon, "w", W, &layer));
  PetscCall(MuonSetLearningRate(muon, rate));
  PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT));
  PetscCall(MuonSetParameter(muon, "lmo_polar_type", "svd"));
  PetscCall(MuonSetParameter(muon, "muon_shape_factor", factor));
  PetscCall(MuonLayerGetGradient(layer, &G));
  for (PetscInt i = 0; i < m; i++) {
    for (PetscInt j = 0; j < n; j++) {
      PetscScalar ai, bj;

      PetscCall(VecGetValues(a, 1, &i, &ai));
      PetscCall(VecGetValues(b, 1, &j, &bj));
      PetscCall(MatSetValue(G, i, j, ai * bj, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(G, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(G, MAT_FINAL_ASSEMBLY));
  PetscCall(MuonStep(muon));
  PetscCall(MatMult(W, b, y));
  PetscCall(VecNorm(y, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  *gain = norm[0] / PetscSqrtReal((PetscReal)m) / (norm[1] / PetscSqrtReal((PetscReal)n));
  PetscCall(VecDestroy(&a));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const factors[] = {"none", "kj", "moonlight", "scion"};

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  for (PetscInt width = 8; width <= 64; width *= 2) {
    const PetscInt shape[][2] = {{width, width}, {4 * width, width}, {width, 4 * width}};

    for (int s = 0; s < 3; s++) {
      const PetscReal m = (PetscReal)shape[s][0], n = (PetscReal)shape[s][1];
      const PetscReal expected[] = {PetscSqrtReal(n / m), PetscMax((PetscReal)1, PetscSqrtReal(n / m)), (PetscReal)0.2 * PetscSqrtReal(PetscMax(m, n) * n / m), 1};

      for (int f = 0; f < 4; f++) {
        const PetscReal rate = (PetscReal)0.125;
        PetscReal       gain = 0;

        PetscCall(Gain(shape[s][0], shape[s][1], factors[f], rate, &gain));
        PetscCheck(PetscAbsReal(gain / rate - expected[f]) < 8 * (m + n) * PETSC_MACHINE_EPSILON * expected[f], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g x %g, %s: the gain is %g, expected %g", (double)m, (double)n, factors[f], (double)(gain / rate),
                   (double)expected[f]);
      }
    }
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
