static char help[] = "Polar factors by products of bfloat16 matrices against the same method in double.\n\n";

#include "polar_common.h"

static PetscErrorCode Apply(MuonPolar polar, MuonPolarPrecision precision, Mat G, int count, double *q)
{
  MuonStatus status;
  Mat        Q;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(G, MAT_DO_NOT_COPY_VALUES, &Q));
  PetscCall(TestSetPrecision(polar, precision));
  PetscCall(MuonPolarApply(polar, G, Q, &status));
  PetscCheck(status == MUON_STATUS_OK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Status %d", (int)status);
  PetscCall(TestMatGet(Q, q));
  for (int i = 0; i < count; i++) PetscCheck(!PetscIsInfOrNanReal((PetscReal)q[i]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %d is not finite", i);
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const int shapes[][2] = {{1, 1}, {1, 40}, {40, 1}, {48, 48}, {40, 130}, {130, 40}, {64, 700}, {700, 64}};
  static const int spectra[]   = {TEST_GAUSSIAN, TEST_HARMONIC, TEST_MILD, TEST_DEFICIENT, TEST_FLAT};
  PetscBool        differs     = PETSC_FALSE;
  PetscReal        growth      = 1.0;
  MuonPolar        polar;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-growth", &growth, NULL));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *A, *Q, *R;

    PetscCall(PetscMalloc3(m * n, &A, m * n, &Q, m * n, &R));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(spectra); t++) {
      double error;
      Mat    G;

      TestMatrix(m, n, spectra[t], A);
      PetscCall(TestMat(m, n, 1, A, &G));
      PetscCall(Apply(polar, MUON_POLAR_PRECISION_DOUBLE, G, m * n, R));
      PetscCall(Apply(polar, MUON_POLAR_PRECISION_BF16, G, m * n, Q));
      /*
         Each operand of a product is off by at most 2^-8; polynomials that converge forget that but for the
         last step or two
      */
      error = TestDistance(m * n, Q, R) / TestDistance(m * n, R, NULL);
      PetscCheck(error <= growth * 2e-2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s %d x %d: the relative distance is %g", testspectra[spectra[t]], m, n, error);
      if (error > 1e-4) differs = PETSC_TRUE;
      PetscCall(TestMatDestroy(&G));
    }
    PetscCall(PetscFree3(A, Q, R));
  }
  /* Binary32 would be below that */
  PetscCheck(differs == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nothing was rounded to bfloat16");
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  table: suffix | requires | args | env
       | onednn | -lmo_polar_type newtonschulz -lmo_polar_coefficients {{quintic cubic}} | OMP_NUM_THREADS=1
    # These do not converge. On the values that their steps visit the slope is at most 1.7 in absolute value, four times over
    kj | onednn | -lmo_polar_type newtonschulz -lmo_polar_coefficients kj -growth 8      | OMP_NUM_THREADS=1

TEST*/
