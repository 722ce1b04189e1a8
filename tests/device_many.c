static char help[] = "Polar factors of many matrices in the memory of a device: those of one shorter side in one call, each what it is alone, padded ones up to rounding.\n\n";

#include "polar_common.h"

enum {
  MATRICES = 75,
  LARGEST  = 13 * 4
};

static PetscInt products;

static void Told(const char kernel[])
{
  if (strcmp(kernel, "Products") == 0) products++;
}

/*
   65 of one shape, in both orders of its entries and with gaps, one of them zero and one with a NaN; between
   them five that are a column shorter, and five that are tall and in double. Without A a result that nobody has written
*/
static PetscErrorCode Create(int k, const double A[], TestInput *x)
{
  const int tall = k % 15 == 7, len = tall ? 13 : 4, count = tall ? 4 : k % 15 == 11 ? 12 : 13, byrows = k % 2;

  PetscFunctionBegin;
  PetscCall(TestCreate((tall ? TEST_DOUBLE_COLUMNS : TEST_SINGLE_COLUMNS) + byrows, TEST_ALONE, byrows ? count : len, byrows ? len : count, 0, A, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By hand: 4 * 12 * count <= 5 * sum */
static PetscErrorCode CheckPadding(void)
{
  const struct {
    PetscInt n, expected;
    size_t   s, longer[8];
  } cases[] = {{1, 1, 4, {12}},
               {4, 4, 4, {12, 12, 12, 12}},
               {2, 2, 4, {12, 8}},                      /* 96 <= 100 */
               {2, 1, 4, {12, 7}},                      /* 96 > 95 */
               {8, 7, 4, {12, 12, 12, 12, 8, 6, 6, 4}}, /* 336 <= 340, then 384 > 360 */
               {3, 2, 2048, {2049, 2049, 2048}},        /* large enough alone */
               {3, 3, 2048, {2048, 2047, 2046}}};

  PetscFunctionBegin;
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
    const PetscInt count = MuonPolarPadded_Private(cases[k].n, cases[k].s, cases[k].longer);

    PetscCheck(count == cases[k].expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %zu: %" PetscInt_FMT " matrices are padded together, expected %" PetscInt_FMT, k, count, cases[k].expected);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonPolar  polar, each[MATRICES];
  TestInput  G[MATRICES], Q[MATRICES], own;
  MuonMatrix from[MATRICES], to[MATRICES];
  MuonStatus status[MATRICES], alone;
  PetscInt   calls     = 0;
  PetscReal  tolerance = 0;
  double     many[LARGEST], one[LARGEST];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  products = 0;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-calls", &calls, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(CheckPadding());
  PetscCall(TestMake(PETSC_COMM_SELF, "", &polar));
  for (int k = 0; k < MATRICES; k++) {
    double x[LARGEST];

    for (int e = 0; e < LARGEST; e++) x[e] = k == 3 ? 0.0 : k == 5 && e == 2 ? NAN : sin(1.0 + 0.7 * (double)(e + LARGEST * k));
    PetscCall(Create(k, x, &G[k]));
    PetscCall(Create(k, NULL, &Q[k]));
    from[k] = G[k].matrix;
    to[k]   = Q[k].matrix;
    each[k] = polar;
  }
  PetscCall(MuonPolarSetUp(polar));
  MuonDeviceGet()->trace(Told);
  PetscCall(MuonPolarApplyMatrices(1.0, MATRICES, each, from, to, status));
  MuonDeviceGet()->trace(NULL);
  TestCheck(products == calls, "%d calls of products, expected %d", (int)products, (int)calls);
  for (int k = 0; k < MATRICES; k++) {
    const int entries = (int)(Q[k].matrix.rows * Q[k].matrix.columns);
    char      what[32];

    PetscCall(PetscSNPrintf(what, sizeof(what), "matrix %d", k));
    PetscCall(Create(k, NULL, &own));
    PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &from[k], &own.matrix, &alone));
    TestCheck(alone == status[k] && alone == (k == 5 ? MUON_STATUS_NANORINF : MUON_STATUS_OK), "%s ended with %s, and %s alone", what, MuonStatuses[status[k]], MuonStatuses[alone]);
    PetscCall(TestGet(&Q[k], many));
    PetscCall(TestGet(&own, one));
    TestMost(what, TestFarthest(entries, many, one), own.matrix.here.count == 12 ? (double)tolerance : 0.0);
    TestNear(what, TestUntouched(entries, many), k == 5 ? entries : 0, 0.0);
    if (k != 5) TestCheck((TestDistance(entries, many, NULL) == 0.0) == (k == 3), "%s is zero, or should be", what);
    PetscCall(TestDestroy(&own));
    PetscCall(TestDestroy(&G[k]));
    PetscCall(TestDestroy(&Q[k]));
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  link: internal

  testset:
    requires: kokkos
    args: -device

    # 68 matrices in two batches, and 5 in one: three products in each of five steps. A sum in another order is off by 12 units, which the slope of kj, less than 3.5^5 = 525, raises; operands of 8 or 11 bits may round to the other side
    table: suffix | args
      kj            | -lmo_polar_type newtonschulz -lmo_polar_precision {{single double}} -calls 45 -tolerance 4e-4
      rounded       | -lmo_polar_type newtonschulz -lmo_polar_precision {{tf32 bf16}} -calls 45 -tolerance 0.1
      gram_rounded  | -lmo_polar_type gram -lmo_polar_precision bf16 -lmo_polar_gram_restart 2 -calls 54 -tolerance 0.1
      # Two products in each of fifteen steps
      cubic         | -lmo_polar_type newtonschulz -lmo_polar_coefficients cubic -calls 90 -tolerance 4e-4
      # With a restart after two of five steps the products are 4, 3, 4, 4 and 3, with none 4, 4, 4, 4 and 3, and with one after each step those of newtonschulz
      gram          | -lmo_polar_type gram -lmo_polar_precision {{single double}} -lmo_polar_gram_restart 2 -calls 54 -tolerance 4e-4
      gram_none     | -lmo_polar_type gram -lmo_polar_gram_restart 0 -lmo_polar_precision double -calls 57 -tolerance 4e-4
      gram_each     | -lmo_polar_type gram -lmo_polar_gram_restart 1,2,3,4 -calls 45 -tolerance 4e-4
      # One by one: three products in each of five steps, and eleven of the estimate
      spectral      | -lmo_polar_type newtonschulz -lmo_polar_normalization spectral -lmo_polar_power_iterations 2 -calls 1898
      gram_spectral | -lmo_polar_type gram -lmo_polar_normalization spectral -lmo_polar_power_iterations 2 -lmo_polar_gram_restart 2 -calls 2117

TEST*/
