static char help[] = "The kernels that a step of EF21 queues, beside those of tests/benchmarks/gpu_step.h, which measures them without PETSc.\n\n";

#include <petscmuon.h>
#include "benchmarks/gpu_step.h"

enum {
  MOST   = 1000,
  LAYERS = 6
};

/* Two of one shape and two of its transpose come in two batches, and one goes alone; the last is moved by AdamW */
static const size_t shapes[LAYERS][2] = {{24, 40}, {40, 24}, {24, 40}, {40, 24}, {16, 20}, {24, 40}};

typedef struct {
  int         count;
  const char *name[MOST];
} Trace;

static Trace traces[2], *now;

/* What looks at the weights that others may write to is the driver's alone, and takes residuals as whole messages do */
static void Told(const char kernel[])
{
  if (strcmp(kernel, "Residual") == 0) return;
  if (now->count < MOST) now->name[now->count++] = kernel;
}

static void Record(Trace *trace)
{
  now        = trace;
  now->count = 0;
  device->trace(Told);
}

int main(int argc, char **argv)
{
  const char    *names[LAYERS] = {"q", "k", "v", "o", "p", "embedding"};
  StepLayer      layers[LAYERS];
  MuonLayerArray array;
  Muon           muon;
  void          *W[LAYERS], *G[LAYERS];

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  device = MuonDeviceGet();
  PetscCheck(device != NULL && device->start() == NULL, PETSC_COMM_WORLD, PETSC_ERR_SUP, "No device");
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (int l = 0; l < LAYERS; l++) {
    const size_t bytes = shapes[l][0] * shapes[l][1] * sizeof(float);

    StepLayerCreate(shapes[l][0], shapes[l][1], 0.1, l == LAYERS - 1, &layers[l]);
    W[l] = Allocated(bytes);
    G[l] = Allocated(bytes);
    device->copy(bytes, layers[l].W, W[l]);
    device->copy(bytes, layers[l].G, G[l]);
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type = PETSC_FLOAT;
    array.M    = (PetscInt)shapes[l][0];
    array.N    = (PetscInt)shapes[l][1];
    array.w    = W[l];
    array.g    = G[l];
    PetscCall(MuonAddLayerArray(muon, names[l], &array, NULL));
  }
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonStep(muon));
  Record(&traces[0]);
  PetscCall(MuonStep(muon));
  Record(&traces[1]);
  Step(MuonKernelRealOfDevice("single"), LAYERS, layers);
  device->trace(NULL);
  for (int k = 0; k < traces[0].count || k < traces[1].count; k++) {
    const char *driver = k < traces[0].count ? traces[0].name[k] : "nothing", *here = k < traces[1].count ? traces[1].name[k] : "nothing";

    PetscCheck(strcmp(driver, here) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Kernel %d of a step is %s, and %s in tests/benchmarks/gpu_step.h, after %s", k, driver, here, k > 0 ? traces[0].name[k - 1] : "nothing");
  }
  PetscCheck(traces[0].count > 50, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d kernels in a step", traces[0].count);
  PetscCall(MuonDestroy(&muon));
  for (int l = 0; l < LAYERS; l++) {
    device->release(W[l]);
    device->release(G[l]);
    StepLayerDestroy(&layers[l]);
  }
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  link: internal

  test:
    requires: kokkos
    args: -muon_learning_rate 0.02 -ef21_compressor topk -ef21_compressor_ratio 0.1 -ef21_server_compressor topk -ef21_server_compressor_ratio 0.1 -lmo_polar_type newtonschulz -lmo_polar_coefficients kj -muon_layer_embedding_type adamw

TEST*/
