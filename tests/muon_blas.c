static char help[] = "A slow OpenBLAS is told once and in -muon_view, and oneDNN multiplies in its place.\n\n";

#include "problem.h"
#include "polar_common.h"

/* Takes the place of the function that OpenBLAS has: kernels older than any processor with wider vectors */
PETSC_EXTERN char *openblas_get_corename(void)
{
  static char core[] = "Prescott";

  return core;
}

/*
   Factors of sides at which every cut is taken. A product in single precision is off by some 2^-24 relative to
   the norms of its operands, the inverses by that over the smallest shift, 1e-5: here, where singular values are
   above .3 of the bound, by 1e-4 at most. Another order of the sums is seen in some bit
*/
static PetscErrorCode CompareProducts(void)
{
  static const int         shapes[][2] = {{40, 130}, {300, 120}, {200, 700}};
  static const char *const names[]     = {"blas", "onednn"};
  MuonPolar                polar;

  PetscFunctionBeginUser;
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const int m = shapes[k][0], n = shapes[k][1];
    double   *A, *Q[2], error;

    PetscCall(PetscMalloc3(m * n, &A, m * n, &Q[0], m * n, &Q[1]));
    TestMatrix(m, n, TEST_GAUSSIAN, A);
    for (int i = 0; i < 2; i++) {
      PetscCall(TestSetText(polar, "products", names[i]));
      PetscCall(TestApply(polar, m, n, 1, A, MUON_STATUS_OK, Q[i]));
    }
    error = TestDistance(m * n, Q[0], Q[1]) / TestDistance(m * n, Q[0], NULL);
    PetscCheck(error > 0 && error <= 1e-4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d x %d: the relative distance is %g", m, n, error);
    PetscCall(PetscFree3(A, Q[0], Q[1]));
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem   problem;
  PetscBool compare = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PETSC_STDERR = PETSC_STDOUT;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-compare", &compare, NULL));
  if (compare) PetscCall(CompareProducts());
  else {
    PetscCall(ProblemCreateWith(&problem, ""));
    for (int step = 0; step < 2; step++) PetscCall(MuonStep(problem.muon));
    PetscCall(MuonView(problem.muon, PETSC_VIEWER_STDOUT_WORLD));
    PetscCall(ProblemDestroy(&problem));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # Once in two steps of two ranks, and in the view; the numbers are the processor's, the last clause that of a library with oneDNN
  test:
    nsize: 2
    env: OPENBLAS_CORETYPE=
    filter: grep OpenBLAS | sed -e 's/has [0-9]\+/has N/' -e 's/=[A-Za-z]\+/=NAME/' -e 's/; products in single precision go through oneDNN//'

  test:
    suffix: set
    env: OPENBLAS_CORETYPE=Haswell
    filter: grep -c OpenBLAS
    output_file: output/muon_blas_set.out

  test:
    suffix: onednn
    requires: onednn
    env: OPENBLAS_CORETYPE=
    filter: grep -c "; products in single precision go through oneDNN"

  test:
    suffix: products
    requires: onednn
    env: OMP_NUM_THREADS=1
    args: -compare -lmo_polar_precision single

  test:
    suffix: absent
    requires: !onednn
    args: -compare -lmo_polar_products onednn
    error: Option -lmo_polar_products is onednn, and the library was built without oneDNN, expected blas

TEST*/
