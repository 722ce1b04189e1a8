static char help[] = "Worked examples of polar factors, whose results are known in closed form or to ten digits.\n\n";

#include "polar_common.h"

static PetscErrorCode Expect(const char what[], MuonPolar polar, int m, int n, const double *A, const double *expected, double bound)
{
  double q[16], error;

  PetscFunctionBeginUser;
  PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, q));
  error = TestDistance(m * n, q, expected);
  PetscCheck(error <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %g, bound %g", what, error, bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* Column by column. Ten printed digits, and rounding that the steps enlarge by at most 500 */
  const double eps = PETSC_MACHINE_EPSILON, digits = 1e-10 + 2000.0 * eps;
  const double kj[5][2]    = {{1.1932694400, 0.9764819200}, {0.9119177066, 0.7211175921}, {0.8011376942, 1.0894568355}, {0.9747023594, 0.6960447483}, {0.7228761686, 1.1192039299}};
  const double diagonal[4] = {3, 0, 0, 4}, cubic[4] = {0.9999999972, 0, 0, 1.0}, last[4] = {kj[4][0], 0, 0, kj[4][1]};
  const double ones[4] = {1, 1, 1, 1}, halves[4] = {0.5, 0.5, 0.5, 0.5};
  const double tall[6] = {3, 4, 0, 0, 0, 2}, tallpolar[6] = {0.6, 0.8, 0, 0, 0, 1};
  const double wide[6] = {3, 0, 4, 0, 0, 2}, widepolar[6] = {0.6, 0, 0.8, 0, 0, 1};
  const struct {
    const char *what;
    int         m, n;
    double      A[6], Q[6], units;
  } rows[] = {{"diag(3,4)", 2, 2, {3, 0, 0, 4}, {1, 0, 0, 1}, 20},
              {"3 x 2 with singular values 5, 2", 3, 2, {3, 4, 0, 0, 0, 2}, {0.6, 0.8, 0, 0, 0, 1}, 50},
              {"2 x 3 with singular values 5, 2", 2, 3, {3, 0, 4, 0, 0, 2}, {0.6, 0, 0.8, 0, 0, 1}, 50},
              {"first aggregate of example A", 2, 2, {0, -4, 2, 0}, {0, -1, 1, 0}, 20},
              {"rank 1, canonical", 2, 2, {0, -2.5, 0, 0}, {0, -1, 0, 0}, 20},
              {"ones", 2, 2, {1, 1, 1, 1}, {0.5, 0.5, 0.5, 0.5}, 20},
              {"M_1 of example B", 2, 2, {4, -3, 3, 4}, {0.8, -0.6, 0.6, 0.8}, 20},
              {"M_2 of example B", 2, 2, {-6, 8, 8, 6}, {-0.6, 0.8, 0.8, 0.6}, 20}};
  MuonPolar          polar;
  MuonPolarType      type;
  MuonPolarPrecision precision;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));

  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  for (size_t k = 0; k < 8; k++) PetscCall(Expect(rows[k].what, polar, rows[k].m, rows[k].n, rows[k].A, rows[k].Q, rows[k].units * eps));

  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(TestSetPrecision(polar, MUON_POLAR_PRECISION_DOUBLE));
  for (PetscInt steps = 1; steps <= 5; steps++) {
    const double expected[4] = {kj[steps - 1][0], 0, 0, kj[steps - 1][1]};

    PetscCall(TestSetInt(polar, "steps", steps));
    PetscCall(Expect("KJ on diag(3,4)", polar, 2, 2, diagonal, expected, digits));
  }
  /* Five steps are also the default of these coefficients, and these coefficients that of the type */
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarGetPrecision(polar, &precision));
  PetscCall(MuonPolarGetType(polar, &type));
  PetscCheck(strcmp(type, MUONPOLARZOLOTAREV) == 0 && precision == MUON_POLAR_PRECISION_SINGLE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The default type is %s in %s", type, MuonPolarPrecisions[precision]);
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(TestSetPrecision(polar, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(Expect("the default coefficients", polar, 2, 2, diagonal, last, digits));
  PetscCall(TestSetText(polar, "coefficients", MUONPOLARCOEFFICIENTSCUBIC));
  PetscCall(TestSetInt(polar, "steps", 5));
  PetscCall(Expect("cubic on diag(3,4)", polar, 2, 2, diagonal, cubic, digits));
  PetscCall(TestSetInt(polar, "steps", PETSC_DETERMINE));
  PetscCall(Expect("cubic to the end", polar, 3, 2, tall, tallpolar, digits));
  PetscCall(TestSetText(polar, "coefficients", MUONPOLARCOEFFICIENTSQUINTIC));
  PetscCall(Expect("quintic to the end", polar, 2, 3, wide, widepolar, digits));
  PetscCall(Expect("quintic, rank 1", polar, 2, 2, ones, halves, digits));
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

TEST*/
