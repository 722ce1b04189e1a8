static char help[] = "Poles, interval and precision of Zolotarev's approximation as they follow from the tolerance, their setters and getters, and the counted operations.\n\n";

#include "polar_common.h"

static PetscErrorCode Expect(MuonPolar polar, const char what[], PetscInt poles, double interval, MuonPolarPrecision precision)
{
  PetscInt           r;
  PetscReal          l;
  MuonPolarPrecision p;

  PetscFunctionBeginUser;
  PetscCall(MuonPolarZolotarevGetPoles(polar, &r));
  PetscCall(MuonPolarZolotarevGetInterval(polar, &l));
  PetscCall(MuonPolarGetPrecision(polar, &p));
  PetscCheck(r == poles && l == (PetscReal)interval && p == precision, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " poles on %g in precision %s, expected %" PetscInt_FMT " on %g in %s", what, r, (double)l, MuonPolarPrecisions[p], poles,
             interval, MuonPolarPrecisions[precision]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is logged is what is announced, and in units of s^3, beside the Gram matrix, the product with it and
   the estimate of the norm, what the poles take
*/
static PetscErrorCode Flops(MuonPolar polar, int m, int n, double cubes, PetscBool estimate)
{
  const double   s = PetscMin(m, n), l = PetscMax(m, n), expected = s * (s + 1.0) * l + cubes * s * s * s + 2.0 * s * s * l + (estimate == PETSC_TRUE ? 32.0 * s * l : 0.0);
  PetscLogDouble before, after, announced;
  double        *A;
  Mat            G, Q;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(m * n, &A));
  TestMatrix(m, n, TEST_GAUSSIAN, A);
  PetscCall(TestMat(m, n, 0, A, &G));
  PetscCall(TestMat(m, n, 0, NULL, &Q));
  PetscCall(PetscGetFlops(&before));
  PetscCall(MuonPolarApply(polar, G, Q));
  PetscCall(PetscGetFlops(&after));
  PetscCall(MuonPolarGetFlops(polar, m, n, &announced));
  PetscCheck(fabs((double)(after - before) - expected) <= 1e-9 * expected && fabs((double)announced - expected) <= 1e-9 * expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: %g operations logged, %g announced, %g expected", m, n,
             (double)(after - before), (double)announced, expected);
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&Q));
  PetscCall(PetscFree(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonPolar polar;
  PetscReal tolerance;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARZOLOTAREV));
  PetscCall(Expect(polar, "default", 4, 1e-3, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(Flops(polar, 30, 40, 4, PETSC_TRUE));
  /*
     The rows of the specification, and what lies between: the fewest flops that reach the tolerance, with 7
     and 10 poles nested
  */
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)0.07));
  PetscCall(Expect(polar, "tolerance 0.07", 3, 1e-3, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(Flops(polar, 40, 30, 3, PETSC_TRUE));
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)0.02));
  PetscCall(Expect(polar, "tolerance 0.02", 4, 1e-3, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)0.01));
  PetscCall(Expect(polar, "tolerance 0.01", 4, 3e-3, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)0.3));
  PetscCall(Expect(polar, "tolerance 0.3", 2, 1e-3, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)0.006));
  PetscCall(Expect(polar, "tolerance 0.006", 7, 3e-3, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(Flops(polar, 20, 20, 5, PETSC_TRUE));
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)0.004));
  PetscCall(Expect(polar, "tolerance 0.004", 7, 1e-3, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(Flops(polar, 20, 20, 5, PETSC_FALSE));
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)1e-4));
  PetscCall(Expect(polar, "tolerance 1e-4", 10, 1e-3, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(Flops(polar, 20, 25, 6, PETSC_FALSE));
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)2e-6));
  PetscCall(Expect(polar, "tolerance 2e-6", 12, 1e-3, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(MuonPolarGetTolerance(polar, &tolerance));
  PetscCheck(tolerance == (PetscReal)2e-6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The tolerance is %g", (double)tolerance);

  /* Set by hand; what is not set still follows from the tolerance */
  PetscCall(MuonPolarSetTolerance(polar, (PetscReal)0.02));
  PetscCall(MuonPolarZolotarevSetPoles(polar, 5));
  PetscCall(Expect(polar, "5 poles", 5, 1e-3, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(MuonPolarZolotarevSetInterval(polar, (PetscReal)0.01));
  PetscCall(Expect(polar, "5 poles on 0.01", 5, 0.01, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(Flops(polar, 33, 12, 5, PETSC_TRUE));
  PetscCall(MuonPolarZolotarevSetPoles(polar, PETSC_DETERMINE));
  PetscCall(Expect(polar, "interval 0.01", 3, 0.01, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(MuonPolarSetPrecision(polar, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(Expect(polar, "interval 0.01 in double", 3, 0.01, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(MuonPolarZolotarevSetInterval(polar, (PetscReal)PETSC_DETERMINE));
  PetscCall(MuonPolarSetPrecision(polar, MUON_POLAR_PRECISION_DETERMINE));
  PetscCall(Expect(polar, "default again", 4, 1e-3, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(Flops(polar, 1, 7, 0, PETSC_FALSE));

  /* Another type has no poles, and does not mind being given some */
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(MuonPolarZolotarevSetPoles(polar, 3));
  PetscCall(MuonPolarSetType(polar, MUONPOLARZOLOTAREV));
  PetscCall(Expect(polar, "anew", 4, 1e-3, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(MuonPolarSetOptionsPrefix(polar, "net_"));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(Expect(polar, "options", 6, 2e-4, MUON_POLAR_PRECISION_SINGLE));
  PetscCall(MuonPolarView(polar, NULL));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    args: -net_lmo_polar_zolotarev_poles 6 -net_lmo_polar_zolotarev_interval 2e-4 -net_lmo_polar_precision single
    filter: grep -v scratch

TEST*/
