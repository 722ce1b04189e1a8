static char help[] = "Polar factors of many matrices in the memory of a device: those of one shape in one call, each what it is alone.\n\n";

#include <petscmuonpolar.h>
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon/private/muonpolarimpl.h>

enum {
  MATRICES = 75,
  LARGEST  = 6 * 4
};

static PetscInt products;

static void Told(const char kernel[])
{
  if (strcmp(kernel, "Products") == 0) products++;
}

/* 70 of one shape, in both orders of its entries and with gaps, one of them zero and one with a NaN; and between them five that are tall and in double */
static MuonArray Shape(PetscInt k)
{
  MuonArray a;

  memset(&a, 0, sizeof(a));
  a.memory    = MUON_DEVICE;
  a.precision = k % 15 == 7 ? MUON_DOUBLE : MUON_SINGLE;
  a.m         = k % 15 == 7 ? 6 : 4;
  a.n         = k % 15 == 7 ? 4 : 6;
  a.ld        = a.m;
  a.rowmajor  = k % 2;
  return a;
}

int main(int argc, char **argv)
{
  const MuonDevice *device;
  MuonPolar         polar;
  MuonMatrix        G[MATRICES], Q[MATRICES];
  MuonStatus        status[MATRICES], alone;
  PetscInt          calls = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-calls", &calls, NULL));
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
    G[k]   = MuonMatrixOfArray(&a);
    a.data = device->allocate(bytes);
    device->zero(bytes, a.data);
    Q[k] = MuonMatrixOfArray(&a);
  }
  PetscCall(MuonPolarSetUp(polar));
  device->trace(Told);
  PetscCall(MuonPolarApplyMatrices(polar, MATRICES, G, Q, status));
  device->trace(NULL);
  PetscCheck(products == calls, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " calls of products, expected %" PetscInt_FMT, products, calls);
  for (PetscInt k = 0; k < MATRICES; k++) {
    const size_t bytes = MuonArrayBytes(&Q[k].here);
    double       many[LARGEST], one[LARGEST], zero[LARGEST] = {0};
    PetscBool    same;

    device->copy(bytes, Q[k].here.data, many);
    device->zero(bytes, Q[k].here.data);
    PetscCall(MuonPolarApplyMatrix(polar, &G[k], &Q[k]));
    PetscCall(MuonPolarGetStatus(polar, &alone));
    PetscCheck(alone == status[k] && alone == (k == 5 ? MUON_STATUS_NANORINF : MUON_STATUS_OK), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Matrix %" PetscInt_FMT " ended with %s, and %s alone", k, MuonStatuses[status[k]], MuonStatuses[alone]);
    device->copy(bytes, Q[k].here.data, one);
    PetscCall(PetscMemcmp(many, one, bytes, &same));
    PetscCheck(same == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Matrix %" PetscInt_FMT " is another among many than alone", k);
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

  testset:
    requires: kokkos
    output_file: output/kernels_ok.out
    args: -lmo_polar_type newtonschulz

    # 68 matrices in batches of 64 and 4, and 5 in one: three products in each of five steps
    test:
      suffix: kj
      args: -lmo_polar_precision {{single double tf32 bf16}} -calls 45

    # Two products in each of fifteen steps
    test:
      suffix: cubic
      args: -lmo_polar_coefficients cubic -calls 90

    # One by one: three products in each of five steps, and eleven of the estimate
    test:
      suffix: spectral
      args: -lmo_polar_normalization spectral -lmo_polar_power_iterations 2 -calls 1898

TEST*/
