static char help[] = "What is wrong with layers in the memory of a device: errors that name layer, key and value, on every rank.\n\n";

#include <petscmuon.h>
#include <petscmuon/private/muonkernelsdevice.h>

/* A type that knows nothing of devices */
static PetscErrorCode CreatePolar(MuonPolar polar)
{
  PetscFunctionBegin;
  (void)polar;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonDevice *device;
  const PetscInt    m = 6, n = 4;
  Muon              muon;
  MuonLayer         layer;
  MuonLayerArray    array;
  char              use[32] = "";
  double            host[24];
  void             *w, *g;
  PetscBool         mixed, gradient, claim, ranks;
  PetscMPIInt       rank;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarRegister("mine", CreatePolar, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-use", use, sizeof(use), NULL));
  PetscCall(PetscStrcmp(use, "mixed", &mixed));
  PetscCall(PetscStrcmp(use, "gradient", &gradient));
  PetscCall(PetscStrcmp(use, "claim", &claim));
  PetscCall(PetscStrcmp(use, "ranks", &ranks));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  device = MuonDeviceGet();
  PetscCheck(device != NULL && device->start() == NULL, PETSC_COMM_WORLD, PETSC_ERR_SUP, "No device");
  w = device->allocate(sizeof(host));
  g = device->allocate(sizeof(host));
  device->zero(sizeof(host), w);
  for (PetscInt k = 0; k < m * n; k++) host[k] = 1 + (double)k;
  device->copy(sizeof(host), host, g);
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type    = PETSC_DOUBLE;
  array.memtype = PETSC_MEMTYPE_DEVICE;
  array.M       = m;
  array.N       = n;
  array.w       = claim ? (void *)host : w;
  array.g       = mixed ? (void *)host : NULL;
  if (ranks && rank > 0) {
    array.w       = host;
    array.memtype = PETSC_MEMTYPE_HOST;
  }
  PetscCall(MuonAddLayerArray(muon, "q", &array, &layer));
  PetscCall(MuonLayerSetGradientArray(layer, gradient || array.w == host ? (void *)host : g));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonStep(muon));
  PetscCall(MuonDestroy(&muon));
  device->release(w);
  device->release(g);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: 2
    requires: kokkos

    # Nothing is wrong
    table: suffix | args | error | output_file
      none       | -lmo_polar_type newtonschulz -lmo_polar_precision {{tf32 bf16}} |                                         | output/kernels_ok.out
      claim      | -use claim                             | Layer "q": weights in the memory of the host, expected that of the device |
      mixed      | -use mixed                             | Layer "q": a gradient in the memory of the host, expected that of the device |
      gradient   | -use gradient                          | Layer "q": a gradient in the memory of the host, expected that of the device |
      ranks      | -use ranks                             | Layer "q": its field, precision, memory or order in it differs between the ranks |
      compressor | -ef21_compressor rankk                 | Layer "q": -ef21_compressor rankk has no kernels for weights in the memory of a device |
      packed     | -muon_state_precision {{bf16 int8}}    | -muon_state_precision {}: layer "q" is in the memory of a device, which has no kernels for it; expected native or single |
      lmo        | -lmo_type nuclear                      | Layer "q": -lmo_type nuclear has no kernels for weights in the memory of a device |

    test:
      suffix: polar
      args: -lmo_polar_type mine
      error: Layer "q": -lmo_polar_type mine has no kernels for weights in the memory of a device, expected newtonschulz, gram, svd, qdwh, zolotarev or mud

    test:
      suffix: precision
      args: -lmo_polar_type {{qdwh zolotarev}} -lmo_polar_precision tf32
      error: Option -lmo_polar_precision is tf32, expected single or double for the type

    test:
      suffix: mpi
      args: -muon_type dense -lmo_type row -muon_device_mpi -use_gpu_aware_mpi 0
      error: Layer "q": -muon_device_mpi true, and MPI takes no pointers to the memory of a device, or -use_gpu_aware_mpi says so; expected false

TEST*/
