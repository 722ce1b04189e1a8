static char help[] = "Steps of layers in the memory of a device beside those of layers on the host: equal to the last bit, or within -tolerance where products are in another order.\n\n";

#include <petscmuon.h>
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon/private/muonimpl.h>

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

/*
   More entries than a block of sums has, an odd shape, and one column; with gaps and without, in both orders
   and precisions
*/
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

/* What is kept of a layer comes to the host by the same road as into a checkpoint */
static PetscErrorCode CompareState(Muon host, Muon far, PetscReal tolerance)
{
  MuonLayer a, b;
  Mat       A, B;
  PetscBool kept[2];
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MuonGetLayer(host, 0, &a));
  PetscCall(MuonGetLayer(far, 0, &b));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, layers[0].M, layers[0].N, NULL, &A));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
  PetscCall(MuonGetLayerState(host, a, "momentum", A, &kept[0]));
  PetscCall(MuonGetLayerState(far, b, "momentum", B, &kept[1]));
  PetscCheck(kept[0] == kept[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "A momentum is kept in one memory alone");
  if (kept[0]) {
    PetscCall(MatAXPY(B, -1, A, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(B, NORM_INFINITY, &norm));
    PetscCheck(norm <= tolerance * (PetscReal)layers[0].N, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The momenta in both memories differ by %g", (double)norm);
    PetscCall(MatNorm(A, NORM_INFINITY, &norm));
    PetscCheck(norm > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A momentum of zeros");
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
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
  PetscBool         staged = PETSC_FALSE, restart = PETSC_FALSE, sums, direct;
  double            before[2], after[2], copies[2], all = 0;
  PetscReal         tolerance = 0;
  PetscMPIInt       rank;
  const char       *reason;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-staged", &staged, &sums));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-restart", &restart, NULL));
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
    all += (double)(layers[l].M * layers[l].N) * (layers[l].type == PETSC_FLOAT ? sizeof(float) : sizeof(double));
    Fill(&layers[l], l, w[l]);
    device->copy(Bytes(&layers[l]), w[l], fw[l]);
  }
  PetscCall(MakeOptimizer(NULL, w, g, &host));
  PetscCall(MakeOptimizer(device, fw, fg, &far));
  if (staged) PetscCall(MuonSetParameter(far, "muon_device_mpi", "false"));
  PetscCall(MuonSetUp(far));
  direct = far->group[0]->exchange->device;
  PetscCheck(direct == PETSC_FALSE || staged == PETSC_FALSE, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "MPI is given the memory of the device");
  for (PetscInt step = 0; step < STEPS; step++) {
    for (int l = 0; l < NLAYERS; l++) {
      Fill(&layers[l], 100 * step + 10 * rank + l + 20, g[l]);
      device->copy(Bytes(&layers[l]), g[l], fg[l]);
    }
    /* An optimizer in place of the one on the device, which makes its state there from a checkpoint */
    if (restart && step == STEPS - 1) {
      PetscCall(MuonSaveCheckpoint(far, "device", 1));
      PetscCall(MuonDestroy(&far));
      PetscCall(MakeOptimizer(device, fw, fg, &far));
      PetscCall(MuonLoadCheckpoint(far, "device"));
    }
    PetscCall(MuonStep(host));
    device->moved(before, copies);
    PetscCall(MuonStep(far));
    device->moved(after, copies);
    /* Sums on the host fetch all entries, and after the first step nothing else does */
    PetscCheck(sums == PETSC_FALSE || step == 0 || (after[1] - before[1] >= all) == (direct == PETSC_FALSE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ": %g bytes came to the host, and the layers have %g", step, after[1] - before[1],
               all);
    for (int l = 0; l < NLAYERS; l++) {
      device->copy(Bytes(&layers[l]), fw[l], back[l]);
      PetscCall(Compare(&layers[l], step, tolerance, w[l], back[l]));
    }
  }
  PetscCall(CompareState(host, far, tolerance));
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
      args: -lmo_type frobenius -ef21_compressor {{identity topk natural nearest sign randk qsgd damping dropout rowtopk}} -ef21_server_compressor topk -ef21_server_compressor_ratio 0.4 -ef21_server_compressor_values native

    # Factors of rank 3 and 1, whose state goes on from a checkpoint. They are off by 8 (m + n) K roundings times the condition of what is made orthonormal, here below 10: 1.3e-3 of steps of length 0.1
    test:
      suffix: factors
      nsize: 2
      args: -lmo_type frobenius -ef21_compressor powersgd -ef21_server_compressor powersgd -ef21_server_compressor_rank 3 -tolerance 2e-4 -restart
    # The same of the range finder
    test:
      suffix: range
      nsize: 2
      args: -lmo_type frobenius -ef21_compressor rankk -ef21_compressor_rankk_method range -ef21_server_compressor rankk -ef21_server_compressor_rankk_method range -ef21_server_compressor_rank 3 -tolerance 2e-4 -restart

    # Points of the ball, which are written and read on the host
    test:
      suffix: downlink
      nsize: 2
      args: -lmo_type {{l1 l21 rowsum colsum}} -ef21_compressor topk -ef21_downlink step -muon_layer_bias_ef21_downlink weights -muon_measure_update_rms
    test:
      suffix: cautious
      nsize: 2
      args: -lmo_type rowsum -ef21_compressor topk -ef21_downlink step -muon_layer_bias_ef21_downlink weights -muon_weight_decay 0.1 -muon_weight_decay_style cautious

    # Sums by MPI, replicas that compare what they computed, momentum at the server, entries of both signs of Cautious
    test:
      suffix: dense
      nsize: 2
      args: -muon_type dense -lmo_type {{frobenius row rowsum l21 mixed}} -muon_exchange_type replicated -muon_weight_decay 0.1 -muon_weight_decay_style cautious -muon_nesterov ema
    # As on a device whose memory MPI does not take
    test:
      suffix: staged
      nsize: 2
      args: -muon_type dense -lmo_type row -muon_exchange_type layerwise -muon_exchange_mode {{reduce allreduce}} -staged {{0 1}}
    test:
      suffix: owners
      nsize: 2
      args: -muon_type dense -lmo_type column -muon_exchange_type layerwise -muon_exchange_mode {{reduce gather}} -muon_state_precision single -muon_nan zero -muon_clip 1

    # Votes by packed bits, in a row in which a layer need not begin at a byte; two workers tie
    test:
      suffix: sign
      nsize: 2
      args: -muon_type sign -sign_direction {{momentum gradient}} -sign_update {{none frobenius spectral}} -sign_tie {{zero random}} -muon_weight_decay 0.1 -sign_measure
    test:
      suffix: sign_counts
      nsize: 3
      args: -muon_type sign -sign_direction adam -muon_exchange_type star -muon_exchange_mode {{reduce gather}}
    test:
      suffix: sign_polar
      args: -muon_type sign -sign_direction polar -sign_update {{none polar}} -lmo_polar_type newtonschulz -lmo_polar_precision double -tolerance 1e-6

    # Products in another order: a step of length 0.1 after six of Newton and Schulz, whose rounding the polynomials of kj amplify by less than 3.5^5 = 525 units of the sums of up to 70 products
    test:
      suffix: polar
      args: -ef21_compressor identity -lmo_polar_type {{newtonschulz gram}} -lmo_polar_precision double -tolerance 1e-6 -muon_check_device

TEST*/
