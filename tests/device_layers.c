static char help[] = "What looks at the weights of layers in the memory of a device, and what is wrong with these: errors that name layer, key and value, on every rank.\n\n";

#include "problem.h"

static Problem p;

/* That of which the gradient of problem.h is one, where there is no noise; those of a worker have parts of it */
static PetscErrorCode Loss(Muon muon, PetscReal *loss, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(ProblemObjective(muon, loss, ctx));
  *loss = 0;
  for (PetscInt l = 0; l < p.n; l++) {
    const ProblemArray *a = &p.layer[l].weights;
    const PetscInt      n = p.layer[l].shape->n, ranks = p.layer[l].ranks;

    for (PetscInt e = 0; e < a->count * n; e++) {
      const PetscInt row = a->first + e / n;
      const double   g   = ProblemGradient(&p, l, row, e % n, 0, ProblemGet(a, e / n, e % n));

      *loss += (PetscReal)((double)ranks * g * g / (double)(1 + (row * n + e % n + p.rank / ranks) % 3));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights in a file, and copies of the whole ones, are those on the device */
static PetscErrorCode CheckCopies(void)
{
  PetscViewer viewer;
  Mat         full, read;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "weights.bin", FILE_MODE_WRITE, &viewer));
  PetscCall(MuonViewWeights(p.muon, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, "weights.bin", FILE_MODE_READ, &viewer));
  ProblemFetch(&p);
  for (PetscInt l = 0; l < p.n; l++) {
    const ProblemArray *a = &p.layer[l].weights;
    PetscScalar        *w;

    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, p.layer[l].shape->m, p.layer[l].shape->n, NULL, &full));
    PetscCall(MuonLayerGetFullWeights(p.layer[l].layer, full));
    PetscCall(MatCreate(PETSC_COMM_SELF, &read));
    PetscCall(MatSetType(read, MATSEQDENSE));
    PetscCall(MatLoad(read, viewer));
    PetscCall(MatEqual(full, read, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Other weights in the file");
    PetscCall(MatDenseGetArray(full, &w));
    for (PetscInt e = 0; e < a->count * p.layer[l].shape->n; e++) {
      const PetscInt i = e % a->count, j = e / a->count;

      PetscCheck((double)PetscRealPart(w[a->first + i + j * p.layer[l].shape->m]) == ProblemGet(a, i, j), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Other weights in their copy");
    }
    PetscCall(MatDenseRestoreArray(full, &w));
    PetscCall(MatDestroy(&full));
    PetscCall(MatDestroy(&read));
  }
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A type that knows nothing of devices */
static PetscErrorCode CreatePolar(MuonPolar polar)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A layer of an array: weights or a gradient that are not where they are said to be, or where those of other ranks are; or a gradient matrix in the other memory than that of the weights */
static PetscErrorCode Wrong(const char wrong[])
{
  const MuonDevice *device   = MuonDeviceGet();
  double            host[24] = {0};
  void             *w        = device->allocate(sizeof(host));
  void             *g        = device->allocate(sizeof(host));
  Muon              muon;
  MuonLayer         layer;
  MuonLayerArray    array;
  Mat               G;

  PetscFunctionBegin;
  device->zero(sizeof(host), w);
  device->zero(sizeof(host), g);
  if (strcmp(wrong, "matrix") == 0) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, p.layer[0].shape->m, p.layer[0].shape->n, NULL, &G));
    if (p.device == PETSC_FALSE) PetscCall(FarMatMake(G));
    PetscCall(MuonLayerSetGradient(p.layer[0].layer, G));
    PetscCall(MatDestroy(&G));
    PetscCall(ProblemStep(&p));
  }
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonLayerArrayInitialize(&array));
  array.type    = PETSC_DOUBLE;
  array.memtype = strcmp(wrong, "ranks") == 0 && p.rank > 0 ? PETSC_MEMTYPE_HOST : PETSC_MEMTYPE_DEVICE;
  array.M       = 6;
  array.N       = 4;
  array.w       = strcmp(wrong, "claim") == 0 || array.memtype == PETSC_MEMTYPE_HOST ? (void *)host : w;
  array.g       = strcmp(wrong, "mixed") == 0 ? (void *)host : NULL;
  PetscCall(MuonAddLayerArray(muon, "q", &array, &layer));
  PetscCall(MuonLayerSetGradientArray(layer, strcmp(wrong, "gradient") == 0 || array.memtype == PETSC_MEMTYPE_HOST ? (void *)host : g));
  PetscCall(MuonStep(muon));
  PetscCall(MuonDestroy(&muon));
  device->release(w);
  device->release(g);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      wrong[32] = "";
  PetscReal off;
  PetscBool arrays;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(MuonPolarRegister("mine", CreatePolar, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wrong", wrong, sizeof(wrong), NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-problem_storage", &arrays));
  PetscCall(ProblemCreate(&p, 0, 0));
  PetscCall(MuonSetObjectiveAndGradient(p.muon, Loss, &p));
  if (wrong[0] != '\0') PetscCall(Wrong(wrong));
  for (int step = 0; step < 3; step++) PetscCall(ProblemStep(&p));
  if (arrays == PETSC_FALSE) {
    PetscCall(MuonTestGradient(p.muon, &off));
    PetscCheck(off <= (PetscReal)(sizeof(PetscScalar) == sizeof(float) ? 1e-2 : 1e-6), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient is off by %g", (double)off);
    PetscCall(CheckCopies());
  }
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: kokkos
    args: -problem_layers tall,wide,entry -problem_device
    testset:
      args: -problem_noise 0 -muon_learning_rate 0.1 -lmo_type frobenius
      filter: grep -v gradient
      table: suffix | nsize | args
        looks  |   |
        spread | 4 | -problem_ranks 2 -muon_assembly allgather
        rows   | 2 | -muon_type dense -muon_exchange_type rows
    testset:
      nsize: 2
      # Nothing is wrong
      test:
        suffix: none
        args: -problem_storage rows -lmo_polar_type newtonschulz -lmo_polar_precision {{tf32 bf16}}
      table: suffix | args | error
        host       | -wrong matrix -lmo_type frobenius                          | Layer "tall": a gradient in the memory of the host, expected that of the device
        device     | -wrong matrix -problem_device 0                            | Layer "tall": a gradient in the memory of the device, expected that of the host
        claim      | -wrong claim -lmo_type frobenius                           | Layer "q": weights in the memory of the host, expected that of the device
        mixed      | -wrong mixed -lmo_type frobenius                           | Layer "q": a gradient in the memory of the host, expected that of the device
        gradient   | -wrong gradient -lmo_type frobenius                        | Layer "q": a gradient in the memory of the host, expected that of the device
        ranks      | -wrong ranks -lmo_type frobenius                           | Layer "q": its field, precision, memory or order in it differs between the ranks
        compressor | -problem_storage rows -ef21_compressor rankk               | Layer "tall": -ef21_compressor rankk has no kernels for weights in the memory of a device
        packed     | -problem_storage rows -muon_state_precision {{bf16 int8}}  | -muon_state_precision {}: layer "tall" is in the memory of a device, which has no kernels for it; expected native or single
        lmo        | -problem_storage rows -lmo_type nuclear                    | Layer "tall": -lmo_type nuclear has no kernels for weights in the memory of a device
        polar      | -problem_storage rows -lmo_polar_type mine -lmo_type spectral | Layer "tall": -lmo_polar_type mine has no kernels for weights in the memory of a device, expected newtonschulz, gram, svd, qdwh, zolotarev or mud
        precision  | -problem_storage rows -lmo_type spectral -lmo_polar_type {{qdwh zolotarev}} -lmo_polar_precision tf32 | Option -lmo_polar_precision is tf32, expected single or double for the type
        mpi        | -problem_storage rows -muon_type dense -lmo_type row -muon_device_mpi -use_gpu_aware_mpi 0 | Layer "tall": -muon_device_mpi true, and MPI takes no pointers to the memory of a device, or -use_gpu_aware_mpi says so; expected false

TEST*/
