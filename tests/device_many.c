static char help[] = "Polar factors of many matrices in the memory of a device: those of one shorter side in one call, each what it is alone, padded ones up to rounding.\n\n";

#include <petscmuonpolar.h>
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon/private/muonpolarimpl.h>
#include "polar/muonpolarpolynomial.h"

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
   them five that are a column shorter, and five that are tall and in double
*/
static MuonArray Shape(PetscInt k)
{
  const PetscBool tall = k % 15 == 7 ? PETSC_TRUE : PETSC_FALSE;
  MuonArray       a;

  memset(&a, 0, sizeof(a));
  a.memory    = MUON_DEVICE;
  a.precision = tall ? MUON_DOUBLE : MUON_SINGLE;
  a.len       = tall ? 13 : 4;
  a.count     = tall ? 4 : k % 15 == 11 ? 12 : 13;
  a.ld        = a.len;
  a.rowmajor  = k % 2;
  a.pairs     = 0;
  return a;
}

static double Entry(const MuonArray *a, const double data[], size_t e)
{
  return a->precision == MUON_SINGLE ? (double)((const float *)(const void *)data)[e] : data[e];
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
  const MuonDevice *device;
  MuonPolar         polar, each[MATRICES];
  MuonMatrix        G[MATRICES], Q[MATRICES];
  MuonStatus        status[MATRICES], alone;
  PetscInt          calls     = 0;
  PetscReal         tolerance = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  products = 0;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-calls", &calls, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(CheckPadding());
  device = MuonDeviceGet();
  PetscCheck(device != NULL && device->start() == NULL, PETSC_COMM_SELF, PETSC_ERR_SUP, "No device");
  PetscCall(MuonPolarCreate(PETSC_COMM_SELF, &polar));
  PetscCall(MuonPolarSetFromOptions(polar));
  polar->memory = MUON_DEVICE;
  for (PetscInt k = 0; k < MATRICES; k++) {
    MuonArray    a     = Shape(k);
    const size_t bytes = MuonArrayBytes(&a);
    double       x[LARGEST];

    for (PetscInt e = 0; e < LARGEST; e++) {
      const double y = k == 3 ? 0.0 : k == 5 && e == 2 ? NAN : sin(1.0 + 0.7 * (double)(e + LARGEST * k));

      if (a.precision == MUON_SINGLE) ((float *)(void *)x)[e] = (float)y;
      else x[e] = y;
    }
    a.data = device->allocate(bytes);
    device->copy(bytes, x, a.data);
    G[k]    = MuonMatrixOfArray(&a);
    each[k] = polar;
    a.data  = device->allocate(bytes);
    device->zero(bytes, a.data);
    Q[k] = MuonMatrixOfArray(&a);
  }
  PetscCall(MuonPolarSetUp(polar));
  device->trace(Told);
  PetscCall(MuonPolarApplyMatrices(1.0, MATRICES, each, G, Q, status));
  device->trace(NULL);
  PetscCheck(products == calls, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " calls of products, expected %" PetscInt_FMT, products, calls);
  for (PetscInt k = 0; k < MATRICES; k++) {
    const MuonArray *q     = &Q[k].here;
    const size_t     bytes = MuonArrayBytes(q);
    double           many[LARGEST], one[LARGEST], zero[LARGEST] = {0};
    PetscBool        same;

    device->copy(bytes, Q[k].here.data, many);
    device->zero(bytes, Q[k].here.data);
    PetscCall(MuonPolarApplyMatrices(1.0, 1, &polar, &G[k], &Q[k], &alone));
    PetscCheck(alone == status[k] && alone == (k == 5 ? MUON_STATUS_NANORINF : MUON_STATUS_OK), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Matrix %" PetscInt_FMT " ended with %s, and %s alone", k, MuonStatuses[status[k]], MuonStatuses[alone]);
    device->copy(bytes, Q[k].here.data, one);
    PetscCall(PetscMemcmp(many, one, bytes, &same));
    for (size_t e = 0; e < q->len * q->count && q->count == 12; e++) {
      const double x = Entry(q, many, e), y = Entry(q, one, e);

      PetscCheck(fabs(x - y) <= (double)tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Padded matrix %" PetscInt_FMT ", entry %zu: %g among many and %g alone", k, e, x, y);
    }
    PetscCheck(same == PETSC_TRUE || q->count == 12, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Matrix %" PetscInt_FMT " is another among many than alone", k);
    PetscCall(PetscMemcmp(many, zero, bytes, &same));
    PetscCheck(same == (k == 3 || k == 5 ? PETSC_TRUE : PETSC_FALSE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Matrix %" PetscInt_FMT " is zero, or should be", k);
    device->release(G[k].here.data);
    device->release(Q[k].here.data);
  }
  PetscCall(MuonPolarDestroy(&polar));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  testset:
    requires: kokkos
    output_file: output/kernels_ok.out

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
