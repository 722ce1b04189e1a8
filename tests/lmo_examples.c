static char help[] = "Worked examples of linear minimization oracles, extreme magnitudes, and the oracle of an approximate polar factor.\n\n";

#include "polar_common.h"
#include <petscmuon/private/muonlmoimpl.h>

static PetscErrorCode Expect(const char what[], MuonLMO lmo, int m, int n, const double *A, const double *expected, double dual, double norm, double bound)
{
  Mat        G, D;
  MuonStatus status;
  PetscReal  last, computed;
  double     d[16];

  PetscFunctionBeginUser;
  PetscCall(TestMat(m, n, 1, A, &G));
  PetscCall(TestMat(m, n, 0, NULL, &D));
  PetscCall(MuonLMOApply(lmo, G, D));
  PetscCall(MuonLMOGetStatus(lmo, &status));
  PetscCall(TestMatGet(D, d));
  PetscCheck(status == MUON_STATUS_OK && TestDistance(m * n, d, expected) <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: status %d, error %g, bound %g", what, (int)status, TestDistance(m * n, d, expected), bound);
  PetscCall(MuonLMOGetLastDual(lmo, &last));
  PetscCheck(fabs((double)last - dual) <= bound * dual, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: -<G,D> is %.16g, expected %.16g", what, (double)last, dual);
  PetscCall(MuonLMOComputeNorm(lmo, G, &computed));
  PetscCheck(fabs((double)computed - norm) <= bound * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: norm %.16g, expected %.16g", what, (double)computed, norm);
  PetscCall(TestMatDestroy(&G));
  PetscCall(TestMatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const double  eps = PETSC_MACHINE_EPSILON, root = sqrt(29.0);
  const double  A[6] = {3, 4, 0, 0, 0, 2}, spectral[6] = {-0.6, -0.8, 0, 0, 0, -1}, max[6] = {-1, -1, 0, 0, 0, -1};
  const double  frobenius[6] = {-3 / root, -4 / root, 0, 0, 0, -2 / root};
  const double  diagonal[4] = {3, 0, 0, -4}, kj[4] = {-0.7228761686, 0, 0, 1.1192039299};
  const double  step[4] = {0, -4, 2, 0}, stepped[4] = {0, 1, -1, 0};
  double        B[6];
  MuonLMO       lmo;
  MuonPolar     polar;
  MuonWorkspace work;
  const int     extremes[2] = {PetscDefined(USE_REAL_SINGLE) ? -125 : -1020, PetscDefined(USE_REAL_SINGLE) ? 120 : 1015};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonLMOCreate(PETSC_COMM_SELF, &lmo));
  /* One arena for the oracle, its polar factor and its norms, ours to destroy first */
  PetscCall(MuonWorkspaceCreate(&work));
  PetscCall(MuonLMOSetWorkspace(lmo, work));
  PetscCall(MuonWorkspaceDestroy(&work));

  PetscCall(MuonLMOSetType(lmo, MUONLMOMAX));
  PetscCall(Expect("max", lmo, 3, 2, A, max, 9.0, 4.0, 0.0));
  PetscCall(MuonLMOSetType(lmo, MUONLMOFROBENIUS));
  PetscCall(Expect("Frobenius", lmo, 3, 2, A, frobenius, root, root, 4.0 * eps));
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 6; i++) B[i] = ldexp(A[i], extremes[k]);
    PetscCall(Expect("Frobenius of extreme magnitude", lmo, 3, 2, B, frobenius, ldexp(root, extremes[k]), ldexp(root, extremes[k]), 4.0 * eps));
  }
  PetscCall(MuonLMOSetType(lmo, MUONLMOSPECTRAL));
  PetscCall(MuonLMOGetPolar(lmo, &polar));
  PetscCall(MuonPolarSetType(polar, MUONPOLARSVD));
  PetscCall(Expect("spectral", lmo, 3, 2, A, spectral, 7.0, 5.0, 50.0 * eps));
  PetscCall(Expect("first step of example A", lmo, 2, 2, step, stepped, 6.0, 4.0, 50.0 * eps));
  /* The default polar factor leaves the ball; -<G,D> is its own value for the dual norm, 7 */
  PetscCall(MuonPolarSetType(polar, MUONPOLARNEWTONSCHULZ));
  PetscCall(MuonPolarSetPrecision(polar, MUON_POLAR_PRECISION_DOUBLE));
  PetscCall(Expect("spectral with KJ", lmo, 2, 2, diagonal, kj, 3 * 0.7228761686 + 4 * 1.1192039299, 4.0, 1e-9 + 2000.0 * eps));
  PetscCall(MuonLMODestroy(&lmo));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    link: internal

  test:

TEST*/
