static char help[] = "One matrix, one step of Muon: the singular values of a gradient, of the step that is made of it, and of the weights before and after.\n\n"
                     "The gradient's singular values span five orders of magnitude. The step has the same singular vectors, and all its singular values are the learning rate:\n"
                     "every direction moves equally far. Try -lmo_polar_type newtonschulz, or -lmo_type frobenius, which only rescales the gradient.\n\n";

#include <petscmuon.h>

#define M 6
#define N 4

/* Orthonormal columns k = 0, 1, ... of the discrete cosine transform of m points */
static PetscReal Cosine(PetscInt i, PetscInt k, PetscInt m)
{
  return PetscSqrtReal((k == 0 ? 1 : 2) / (PetscReal)m) * PetscCosReal(PETSC_PI * (PetscReal)k * ((PetscReal)i + (PetscReal)0.5) / (PetscReal)m);
}

/* A = U diag(sigma) V^T with cosines as singular vectors */
static PetscErrorCode Build(const PetscReal sigma[N], Mat A)
{
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(MatDenseGetArrayWrite(A, &a));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < M; i++) {
      a[i + j * M] = 0; /* column-major, as all dense matrices of PETSc */
      for (PetscInt k = 0; k < N; k++) a[i + j * M] += sigma[k] * Cosine(i, k, M) * Cosine(j, k, N);
    }
  }
  PetscCall(MatDenseRestoreArrayWrite(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   sigma_k = u_k^T A v_k, which are the singular values of A, with sign, where its singular vectors are the
   cosines; else they leave something over
*/
static PetscErrorCode Print(const char what[], Mat A)
{
  const PetscScalar *a;
  PetscReal          sigma[N], square = 0, rest;

  PetscFunctionBeginUser;
  PetscCall(MatDenseGetArrayRead(A, &a));
  for (PetscInt i = 0; i < M * N; i++) square += PetscSqr(PetscRealPart(a[i]));
  rest = square;
  for (PetscInt k = 0; k < N; k++) {
    sigma[k] = 0;
    for (PetscInt j = 0; j < N; j++) {
      for (PetscInt i = 0; i < M; i++) sigma[k] += Cosine(i, k, M) * PetscRealPart(a[i + j * M]) * Cosine(j, k, N);
    }
    rest -= PetscSqr(sigma[k]);
  }
  PetscCall(MatDenseRestoreArrayRead(A, &a));
  PetscCheck(PetscAbsReal(rest) < 100 * PETSC_MACHINE_EPSILON * PetscMax(square, 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s has other singular vectors: %g is left of its square", what, (double)rest);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-16s", what));
  for (PetscInt k = 0; k < N; k++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %8.4f", (double)sigma[k]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal weights[N] = {4, 3, 2, 1}, gradient[N] = {10, 1, (PetscReal)0.01, (PetscReal)0.0001};
  Mat             W, G, S;
  Muon            muon;
  MuonLayer       layer;
  MuonLMO         lmo;
  MuonPolar       polar;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, M, N, NULL, &W));
  PetscCall(Build(weights, W));
  PetscCall(MatDuplicate(W, MAT_COPY_VALUES, &S));

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "w", W, &layer));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.5));
  PetscCall(MuonSetMomentum(muon, 0, MUON_MOMENTUM_CURRENT, MUON_NESTEROV_CURRENT)); /* the step is made of this gradient alone */
  PetscCall(MuonLayerGetLMO(layer, &lmo));
  PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(MuonSetFromOptions(muon));

  /* Without a routine of MuonSetObjectiveAndGradient() a step takes the gradients as the caller left them */
  PetscCall(MuonLayerGetGradient(layer, &G));
  PetscCall(Build(gradient, G));
  PetscCall(Print("gradient", G));
  PetscCall(Print("weights before", W));
  PetscCall(MuonStep(muon));
  PetscCall(Print("weights after", W));
  PetscCall(MatAYPX(S, -1, W, SAME_NONZERO_PATTERN));
  PetscCall(Print("step", S));

  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&W));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    tolerance: 1e-3
    test:
      suffix: check
      output_file: output/ex1_check.out
    table: suffix | args
      newtonschulz | -lmo_polar_type newtonschulz -lmo_polar_precision double -lmo_polar_coefficients {{kj quintic}separate output}
      frobenius    | -lmo_type frobenius

TEST*/
