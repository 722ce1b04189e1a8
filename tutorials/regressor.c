static char help[] = "A surrogate of a function by PETSc's regressors: -regressor_type mlp trains a network on rows that are spread over the ranks.\n\n"
                     "  mpiexec -n 2 ./regressor -regressor_mlp_layers 32,32 -regressor_mlp_muon_max_steps 300\n\n";

#include <petscmuonregressor.h>

#if defined(PETSCMUON_HAVE_REGRESSOR) /* by PETSc 3.24 and newer */

int main(int argc, char **argv)
{
  PetscRegressor surrogate;
  Mat            X;
  Vec            y, predicted;
  PetscInt       first, last;
  PetscReal      scale, error;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  /* A row is a sample: two features, and the target sin(3 x1) cos(2 x2) */
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 401, 2, NULL, &X));
  PetscCall(MatCreateVecs(X, NULL, &y));
  PetscCall(MatGetOwnershipRange(X, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    const PetscReal x1 = 2 * (PetscReal)(i % 20) / 19 - 1, x2 = 2 * (PetscReal)(i / 20) / 20 - 1;

    PetscCall(MatSetValue(X, i, 0, x1, INSERT_VALUES));
    PetscCall(MatSetValue(X, i, 1, x2, INSERT_VALUES));
    PetscCall(VecSetValue(y, i, PetscSinReal(3 * x1) * PetscCosReal(2 * x2), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(y));
  PetscCall(VecAssemblyEnd(y));

  PetscCall(PetscRegressorCreate(PETSC_COMM_WORLD, &surrogate));
  PetscCall(PetscRegressorSetType(surrogate, PETSCREGRESSORMLP));
  PetscCall(PetscRegressorSetFromOptions(surrogate));
  PetscCall(PetscRegressorFit(surrogate, X, y));
  PetscCall(VecDuplicate(y, &predicted));
  PetscCall(PetscRegressorPredict(surrogate, X, predicted));

  PetscCall(VecNorm(y, NORM_2, &scale));
  PetscCall(VecAXPY(predicted, -1, y));
  PetscCall(VecNorm(predicted, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "relative error below a tenth: %s\n", error < scale / 10 ? "yes" : "no"));

  PetscCall(PetscRegressorDestroy(&surrogate));
  PetscCall(VecDestroy(&predicted));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&X));
  PetscCall(PetscMuonFinalize());
  return 0;
}

#else

int main(void)
{
  return help[0] == '\0';
}

#endif

/*TEST

  build:
    requires: defined(PETSCMUON_HAVE_REGRESSOR)

  testset:
    args: -regressor_mlp_layers 32,32
    output_file: output/regressor_1.out
    test:
      suffix: check
      nsize: {{1 3}}
      args: -regressor_mlp_muon_max_steps 200
    test:
      suffix: compressed
      nsize: 2
      args: -regressor_mlp_muon_type ef21 -regressor_mlp_ef21_compressor topk

  test:
    suffix: gradient
    nsize: 2
    requires: double
    args: -regressor_mlp_layers 8,4 -regressor_mlp_muon_max_steps 2 -regressor_mlp_muon_test_gradient -regressor_mlp_activation {{tanh relu logistic}}
    filter: grep probably
    output_file: output/regressor_gradient.out

TEST*/
