static char help[] = "Polar factors of hard spectra, for numpy to compute them again.\n\n";

#include "polar_common.h"

int main(int argc, char **argv)
{
  static const int      shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {24, 24}, {16, 40}, {40, 16}, {33, 32}};
  double                eps         = 0.0;
  MuonPolar             polar;
  MuonPolarCoefficients coefficients;
  PetscInt              steps;
  PetscBool             dump;
  int                   dumped = 0;
  char                  path[PETSC_MAX_PATH_LEN], directory[PETSC_MAX_PATH_LEN] = ".";
  FILE                 *list;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-oracle_dir", directory, sizeof(directory), &dump));
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  PetscCall(TestEpsilon(polar, &eps));
  PetscCall(TestGetCoefficients(polar, &coefficients));
  PetscCall(TestGetSteps(polar, &steps));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/cases.txt", directory));
  list = dump == PETSC_TRUE ? fopen(path, "w") : tmpfile();
  PetscCheck(list != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", path);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *A, *Q;

    PetscCall(PetscMalloc2(m * n, &A, m * n, &Q));
    for (int spectrum = 0; spectrum < TEST_SPECTRA; spectrum++) {
      TestMatrix(m, n, spectrum, A);
      PetscCall(TestApply(polar, m, n, spectrum % 3, A, MUON_STATUS_OK, Q));
      fprintf(list, "%s %s %d %d %d %.17g\n", testspectra[spectrum], coefficients == NULL ? "svd" : coefficients, (int)steps, m, n, eps);
      if (dump == PETSC_TRUE) {
        PetscCall(TestDump(directory, "G", dumped, (size_t)m * n, A));
        PetscCall(TestDump(directory, "Q", dumped++, (size_t)m * n, Q));
      }
    }
    PetscCall(PetscFree2(A, Q));
  }
  fclose(list);
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  table: suffix | args | oracle
    svd     | -lmo_polar_type svd                                                                                                 | polar.py
    solvers | -lmo_polar_type svd -lmo_polar_svd_type {{lapack trlanczos}}                                                        | polar.py
    kj      | -lmo_polar_type newtonschulz -lmo_polar_precision {{single double}}                                                 | polar.py
    quintic | -lmo_polar_type newtonschulz -lmo_polar_precision double -lmo_polar_coefficients quintic -lmo_polar_steps {{5 10}}  | polar.py
    cubic   | -lmo_polar_type newtonschulz -lmo_polar_precision double -lmo_polar_coefficients cubic -lmo_polar_steps {{5 10 15}} | polar.py

TEST*/
