static char help[] = "Types, setters, getters and options of MuonPolar and MuonLMO, the late start of SLEPc, and the counted operations.\n\n";

#include "polar_common.h"
#include <petscmuonlmo.h>
#include <slepcsys.h>

static PetscErrorCode Flops(MuonPolar polar, MuonLMO lmo, int m, int n)
{
  Mat            G, Q;
  double        *A;
  PetscLogDouble before, after, expected;
  MuonPolarType  type;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(m * n, &A));
  TestMatrix(m, n, TEST_GAUSSIAN, A);
  PetscCall(TestMat(m, n, 0, A, &G));
  PetscCall(TestMat(m, n, 0, NULL, &Q));
  PetscCall(PetscGetFlops(&before));
  if (polar != NULL) PetscCall(MuonPolarApply(polar, G, Q));
  else PetscCall(MuonLMOApply(lmo, G, Q));
  PetscCall(PetscGetFlops(&after));
  if (polar != NULL) PetscCall(MuonPolarGetFlops(polar, m, n, &expected));
  else PetscCall(MuonLMOGetFlops(lmo, m, n, &expected));
  if (polar != NULL) PetscCall(MuonPolarGetType(polar, &type));
  else PetscCall(MuonLMOGetType(lmo, &type));
  PetscCheck(after > before && fabs((double)(after - before - expected)) <= 1e-6 * expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on %d x %d: %g operations logged, %g announced", type, m, n, (double)(after - before), (double)expected);
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&Q));
  PetscCall(PetscFree(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectString(const char what[], const char is[], const char expected[])
{
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(is, expected, &same));
  PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is %s, expected %s", what, is, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const double    A[6] = {3, 4, 0, 0, 0, 2};
  MuonPolar              polar, child, again;
  MuonLMO                lmo;
  MuonPolarType          type;
  MuonPolarCoefficients  name;
  const PetscReal        values[6] = {2.0, -1.5, 0.5, 1.875, -1.25, 0.375};
  PetscReal              got[6]    = {7.0, 7.0, 7.0, 7.0, 7.0, 7.0};
  PetscReal              tolerance;
  MuonPolarPrecision     precision, before;
  MuonPolarNormalization normalization;
  PetscInt               count, steps, own = 0;
  PetscBool              started;
  PetscReal              norm;
  PetscLogDouble         flops;
  Mat                    G, Q;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-own_slepc", &own, NULL));
  PetscCall(MuonPolarCreate(PETSC_COMM_WORLD, &polar));
  PetscCall(MuonPolarGetType(polar, &type));
  PetscCheck(type == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A new object has the type %s", type);
  PetscCall(MuonPolarSetOptionsPrefix(polar, "a_"));
  /* What is set before the type stays; an option that is not given leaves it */
  PetscCall(MuonPolarSetSteps(polar, 7));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarGetType(polar, &type));
  PetscCall(ExpectString("Default type", type, MUONPOLARZOLOTAREV));
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCheck(steps == 7, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps", steps);
  /* -a_lmo_polar_coefficients cubic, and its own number of steps */
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  PetscCall(ExpectString("Coefficients", name, MUONPOLARCOEFFICIENTSCUBIC));
  PetscCall(MuonPolarSetSteps(polar, PETSC_DETERMINE));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCheck(steps == 15, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps", steps);
  /* A second prefix changes what is given behind it and nothing else */
  PetscCall(MuonPolarSetOptionsPrefix(polar, "b_"));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  PetscCheck(steps == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps", steps);
  PetscCall(ExpectString("Coefficients", name, MUONPOLARCOEFFICIENTSCUBIC));
  PetscCall(Flops(polar, NULL, 9, 21));
  PetscCall(Flops(polar, NULL, 21, 9));
  PetscCall(MuonPolarSetCoefficients(polar, MUONPOLARCOEFFICIENTSKJ));
  PetscCall(Flops(polar, NULL, 16, 16));
  /* Y Y^T is half of a product, so is A^2, the last product is whole */
  PetscCall(MuonPolarGetFlops(polar, 16, 40, &flops));
  PetscCheck(flops == 3.0 * (16.0 * 17 * 40 + 16.0 * 16 * 17 + 2.0 * 16 * 16 * 40), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g operations", (double)flops);

  /*
     SLEPc starts with the first object that needs it, not before; a program may start and end it on its own,
     earlier or later
  */
  PetscCall(SlepcInitialized(&started));
  PetscCheck(started == PETSC_FALSE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "SLEPc has started already");
  if (own == 1) PetscCall(SlepcInitialize(NULL, NULL, NULL, NULL));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(SlepcInitialized(&started));
  PetscCheck(started == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "SLEPc has not started");
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCheck(steps == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A decomposition makes %" PetscInt_FMT " steps", steps);
  PetscCall(Flops(polar, NULL, 12, 12));
  PetscCall(Flops(polar, NULL, 12, 30));
  PetscCall(MuonPolarReset(polar));
  PetscCall(Flops(polar, NULL, 30, 12));
  /* Back again: the choices of the other type are kept */
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  PetscCheck(steps == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps", steps);
  /* What an object without a choice has, what was set, and back */
  PetscCall(MuonPolarGetTolerance(polar, &tolerance));
  PetscCall(MuonPolarGetNormalization(polar, &normalization));
  PetscCall(MuonPolarGetPowerIterations(polar, &count));
  PetscCheck(tolerance == 0.0 && normalization == MUON_POLAR_NORMALIZATION_FROBENIUS && count == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Defaults: tolerance %g, normalization %d, %" PetscInt_FMT " power iterations", (double)tolerance,
             (int)normalization, count);
  PetscCall(MuonPolarSetNormalization(polar, MUON_POLAR_NORMALIZATION_SPECTRAL));
  PetscCall(MuonPolarSetPowerIterations(polar, 5));
  PetscCall(MuonPolarGetNormalization(polar, &normalization));
  PetscCall(MuonPolarGetPowerIterations(polar, &count));
  PetscCheck(normalization == MUON_POLAR_NORMALIZATION_SPECTRAL && count == 5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Normalization %d, %" PetscInt_FMT " power iterations", (int)normalization, count);
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  before = precision;
  PetscCall(MuonPolarSetPrecision(polar, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCheck(precision == MUON_POLAR_PRECISION_SINGLE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Precision %d", (int)precision);
  PetscCall(MuonPolarSetPrecision(polar, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCheck(precision == MUON_POLAR_PRECISION_DOUBLE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Precision %d", (int)precision);
  PetscCall(MuonPolarSetPrecision(polar, (MuonPolarPrecision)PETSC_DETERMINE));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCheck(precision == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Precision %d, was %d", (int)precision, (int)before);
  /* Polynomials of one's own: two steps, named user, until a set is named again */
  PetscCall(MuonPolarSetSteps(polar, PETSC_DETERMINE));
  PetscCall(MuonPolarSetCoefficientValues(polar, 6, values));
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  PetscCall(ExpectString("Coefficients", name, "user"));
  PetscCall(MuonPolarGetSteps(polar, &steps));
  count = 4;
  PetscCall(MuonPolarGetCoefficientValues(polar, &count, got));
  PetscCheck(steps == 2 && count == 6 && got[3] == values[3] && got[4] == 7.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " steps, %" PetscInt_FMT " values, %g %g", steps, count, (double)got[3], (double)got[4]);
  PetscCall(Flops(polar, NULL, 9, 21));
  PetscCall(MuonPolarSetCoefficients(polar, MUONPOLARCOEFFICIENTSQUINTIC));
  PetscCall(MuonPolarGetCoefficientValues(polar, &count, NULL));
  PetscCall(MuonPolarGetCoefficients(polar, &name));
  PetscCall(ExpectString("Coefficients", name, MUONPOLARCOEFFICIENTSQUINTIC));
  PetscCheck(count == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " values", count);
  PetscCall(MuonPolarDestroy(&polar));

  /* The child of an oracle reads behind its parent's prefix */
  PetscCall(MuonLMOCreate(PETSC_COMM_WORLD, &lmo));
  PetscCall(MuonLMOGetPolar(lmo, &child));
  PetscCall(MuonLMOSetOptionsPrefix(lmo, "c_"));
  PetscCall(MuonLMOSetFromOptions(lmo));
  PetscCall(MuonLMOGetPolar(lmo, &again));
  PetscCheck(child == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Another child at the second call");
  PetscCall(MuonLMOGetType(lmo, &type));
  PetscCall(ExpectString("Default norm", type, MUONLMOSPECTRAL));
  PetscCall(MuonPolarGetType(child, &type));
  PetscCall(ExpectString("Child's type", type, MUONPOLARSVD));
  PetscCall(Flops(NULL, lmo, 12, 18));
  PetscCall(TestMat(3, 2, 0, A, &G));
  PetscCall(TestMat(3, 2, 0, NULL, &Q));
  PetscCall(MuonLMOApply(lmo, G, Q));
  PetscCall(MuonLMOComputeNorm(lmo, G, &norm));
  PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MuonPolarSetType(child, MUONPOLARNEWTONSCHULZ));
  PetscCall(Flops(NULL, lmo, 12, 18));
  PetscCall(MuonLMOReset(lmo));
  PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MuonLMOSetType(lmo, MUONLMOMAX));
  PetscCall(Flops(NULL, lmo, 5, 6));
  PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MuonLMOSetType(lmo, MUONLMOFROBENIUS));
  PetscCall(Flops(NULL, lmo, 5, 6));
  PetscCall(MuonLMOView(lmo, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MuonLMOApply(lmo, G, Q));
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&Q));
  PetscCall(MuonLMODestroy(&lmo));
  if (own == 2) PetscCall(SlepcInitialize(NULL, NULL, NULL, NULL));
  if (own > 0) PetscCall(SlepcFinalize());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2}}
    args: -a_lmo_polar_coefficients cubic -b_lmo_polar_steps 3 -c_lmo_polar_type svd -own_slepc {{0 1 2}}
    filter: sed -e "s#[12] MPI process.*#MPI#" -e "s/scratch: [1-9][0-9]* bytes/scratch: some bytes/"
    output_file: output/polar_options_1.out

TEST*/
