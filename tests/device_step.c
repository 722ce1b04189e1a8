static char help[] = "Steps of layers in the memory of a device beside those of layers on the host: equal to the last bit, or within -tolerance where products are in another order.\n\n";

#include <petscmuon.h>
#include <petscmuon/private/muonkernelsdevice.h>

enum {
  NLAYERS = 3,
  STEPS   = 3
};

typedef struct {
  const char   *name;
  PetscDataType type;
  PetscBool     rowmajor;
  PetscInt      M, N, gap;
} Layer;

/* More entries than a block of sums has, an odd shape, and one column; with gaps and without, in both orders and precisions */
static const Layer layers[NLAYERS] = {{"tall", PETSC_DOUBLE, PETSC_FALSE, 70, 33, 2}, {"wide", PETSC_FLOAT, PETSC_TRUE, 21, 64, 0}, {"bias", PETSC_FLOAT, PETSC_FALSE, 29, 1, 0}};

static PetscInt Lines(const Layer *layer)
{
  return layer->rowmajor ? layer->M : layer->N;
}

static PetscInt LD(const Layer *layer)
{
  return (layer->rowmajor ? layer->N : layer->M) + layer->gap;
}

static size_t Bytes(const Layer *layer)
{
  return (size_t)(Lines(layer) * LD(layer)) * (layer->type == PETSC_FLOAT ? sizeof(float) : sizeof(double));
}

static void Fill(const Layer *layer, PetscInt seed, void *data)
{
  for (PetscInt k = 0; k < Lines(layer) * LD(layer); k++) {
    const double x = PetscSinReal((PetscReal)(0.37 * (double)((k + 1) * (seed + 3)))) / (double)(1 + k % 5);

    if (layer->type == PETSC_FLOAT) ((float *)data)[k] = (float)x;
    else ((double *)data)[k] = x;
  }
}

static PetscErrorCode Compare(const Layer *layer, PetscInt step, PetscReal tolerance, const void *a, const void *b)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscMemcmp(a, b, Bytes(layer), &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < Lines(layer) * LD(layer); k++) {
    const double x = layer->type == PETSC_FLOAT ? (double)((const float *)a)[k] : ((const double *)a)[k], y = layer->type == PETSC_FLOAT ? (double)((const float *)b)[k] : ((const double *)b)[k];

    PetscCheck(PetscAbsReal((PetscReal)(x - y)) <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ", layer %s, entry %" PetscInt_FMT ": %.17g on the host and %.17g on the device, expected a difference of at most %g", step,
               layer->name, k, x, y, (double)tolerance);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeOptimizer(const MuonDevice *device, void *const w[], void *const g[], Muon *muon)
{
  PetscFunctionBegin;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, muon));
  for (int l = 0; l < NLAYERS; l++) {
    MuonLayerArray array;

    PetscCall(MuonLayerArrayInitialize(&array));
    array.type     = layers[l].type;
    array.rowmajor = layers[l].rowmajor;
    array.M        = layers[l].M;
    array.N        = layers[l].N;
    array.ld       = LD(&layers[l]);
    array.w        = w[l];
    array.g        = g[l];
    /* Of one layer the pointers tell where it is */
    if (device != NULL && l > 0) array.memtype = PETSC_MEMTYPE_DEVICE;
    PetscCall(MuonAddLayerArray(*muon, layers[l].name, &array, NULL));
  }
  PetscCall(MuonSetFromOptions(*muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MuonDevice *device;
  Muon              host, far;
  void             *w[NLAYERS], *g[NLAYERS], *back[NLAYERS], *fw[NLAYERS], *fg[NLAYERS];
  PetscReal         tolerance = 0;
  PetscMPIInt       rank;
  const char       *reason;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  device = MuonDeviceGet();
  PetscCheck(device != NULL, PETSC_COMM_WORLD, PETSC_ERR_SUP, "No Kokkos");
  reason = device->start();
  PetscCheck(reason == NULL, PETSC_COMM_WORLD, PETSC_ERR_SUP_SYS, "No device: %s", reason);
  for (int l = 0; l < NLAYERS; l++) {
    PetscCall(PetscMalloc1(Bytes(&layers[l]), (char **)&w[l]));
    PetscCall(PetscMalloc1(Bytes(&layers[l]), (char **)&g[l]));
    PetscCall(PetscMalloc1(Bytes(&layers[l]), (char **)&back[l]));
    fw[l] = device->allocate(Bytes(&layers[l]));
    fg[l] = device->allocate(Bytes(&layers[l]));
    Fill(&layers[l], l, w[l]);
    device->copy(Bytes(&layers[l]), w[l], fw[l]);
  }
  PetscCall(MakeOptimizer(NULL, w, g, &host));
  PetscCall(MakeOptimizer(device, fw, fg, &far));
  for (PetscInt step = 0; step < STEPS; step++) {
    for (int l = 0; l < NLAYERS; l++) {
      Fill(&layers[l], 100 * step + 10 * rank + l + 20, g[l]);
      device->copy(Bytes(&layers[l]), g[l], fg[l]);
    }
    PetscCall(MuonStep(host));
    PetscCall(MuonStep(far));
    for (int l = 0; l < NLAYERS; l++) {
      device->copy(Bytes(&layers[l]), fw[l], back[l]);
      PetscCall(Compare(&layers[l], step, tolerance, w[l], back[l]));
    }
  }
  PetscCall(MuonDestroy(&host));
  PetscCall(MuonDestroy(&far));
  for (int l = 0; l < NLAYERS; l++) {
    PetscCall(PetscFree(w[l]));
    PetscCall(PetscFree(g[l]));
    PetscCall(PetscFree(back[l]));
    device->release(fw[l]);
    device->release(fg[l]);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: kokkos
    output_file: output/kernels_ok.out
    args: -muon_learning_rate 0.1 -muon_layer_bias_rule adamw

    test:
      suffix: compressors
      nsize: 2
      args: -lmo_type frobenius -ef21_compressor {{identity topk natural nearest sign randk qsgd damping}} -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_server_compressor_values native

    # Sums by MPI, replicas that compare what they computed, momentum at the server, entries of both signs of Cautious
    test:
      suffix: dense
      nsize: 2
      args: -muon_type dense -lmo_type {{frobenius row rowsum l21 mixed}} -muon_exchange_type replicated -muon_weight_decay 0.1 -muon_weight_decay_style cautious -muon_nesterov ema
    test:
      suffix: owners
      nsize: 2
      args: -muon_type dense -lmo_type column -muon_exchange_type layerwise -muon_exchange_mode {{reduce gather}} -muon_state_precision single -muon_nan zero -muon_clip 1

    # Products in another order: a step of length 0.1 after six of Newton and Schulz, whose rounding the polynomials of kj amplify by less than 3.5^5 = 525 units of the sums of up to 70 products
    test:
      suffix: polar
      args: -ef21_compressor identity -lmo_polar_type {{newtonschulz gram}} -lmo_polar_precision double -tolerance 1e-6 -muon_check_device

TEST*/
