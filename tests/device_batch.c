static char help[] = "Steps of layers in the memory of a device that are moved together, beside those of the same layers one by one, and on the host.\n\n";

#include "parameters.h"
#include <petscmuon.h>
#include <petscmuon/private/muonkernelsdevice.h>
#include <petscmuon/private/muonlmoimpl.h>

enum {
  NLAYERS = 8,
  STEPS   = 3,
  RUNS    = 3,
  LARGEST = 1000
};

typedef struct {
  const char   *name;
  PetscDataType type;
  PetscBool     rowmajor;
  PetscInt      M, N, gap;
} Layer;

/*
   Eight matrices of 8 x 40 or, row by row, 40 x 8, three of them blocks of qkv; one that is padded, and in
   double; one whose entries move by themselves
*/
static const Layer layers[NLAYERS] = {{"a", PETSC_FLOAT, PETSC_FALSE, 8, 40, 0}, {"b", PETSC_FLOAT, PETSC_TRUE, 40, 8, 3},       {"qkv", PETSC_FLOAT, PETSC_FALSE, 24, 40, 1}, {"bias", PETSC_FLOAT, PETSC_FALSE, 29, 1, 0},
                                      {"c", PETSC_FLOAT, PETSC_FALSE, 8, 40, 2}, {"short", PETSC_DOUBLE, PETSC_FALSE, 8, 36, 0}, {"d", PETSC_FLOAT, PETSC_FALSE, 8, 40, 0},    {"e", PETSC_FLOAT, PETSC_TRUE, 40, 8, 0}};

/* On the host, together, one by one */
typedef struct {
  Muon      muon;
  MuonLayer layer[NLAYERS];
  void     *w[NLAYERS], *g[NLAYERS];
  PetscInt  products;
} Run;

static const MuonDevice *device;
static PetscInt          products;

static void Told(const char kernel[])
{
  if (strcmp(kernel, "Products") == 0) products++;
}

static PetscInt Entries(const Layer *layer)
{
  return layer->rowmajor ? layer->M * (layer->N + layer->gap) : layer->N * (layer->M + layer->gap);
}

static size_t Bytes(const Layer *layer)
{
  return (size_t)Entries(layer) * (layer->type == PETSC_FLOAT ? sizeof(float) : sizeof(double));
}

static PetscErrorCode Create(int r, Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &run->muon));
  for (int l = 0; l < NLAYERS; l++) {
    MuonLayerArray array;
    MuonLMO        lmo;
    MuonPolar      polar;

    if (r == 0) {
      PetscCall(PetscMalloc1(Bytes(&layers[l]), (char **)&run->w[l]));
      PetscCall(PetscMalloc1(Bytes(&layers[l]), (char **)&run->g[l]));
    } else {
      run->w[l] = device->allocate(Bytes(&layers[l]));
      run->g[l] = device->allocate(Bytes(&layers[l]));
    }
    PetscCall(MuonLayerArrayInitialize(&array));
    array.type     = layers[l].type;
    array.rowmajor = layers[l].rowmajor;
    array.M        = layers[l].M;
    array.N        = layers[l].N;
    array.ld       = (layers[l].rowmajor ? layers[l].N : layers[l].M) + layers[l].gap;
    array.w        = run->w[l];
    array.g        = run->g[l];
    PetscCall(MuonAddLayerArray(run->muon, layers[l].name, &array, &run->layer[l]));
    PetscCall(MuonLayerGetLMO(run->layer[l], &lmo));
    PetscCall(MuonLMOGetPolar(lmo, &polar));
  }
  PetscCall(MuonSetFromOptions(run->muon));
  if (r == 2) PetscCall(MuonSetParameter(run->muon, "muon_device_batch_bytes", "0"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(int r, Run *run)
{
  PetscFunctionBegin;
  PetscCall(MuonDestroy(&run->muon));
  for (int l = 0; l < NLAYERS; l++) {
    if (r == 0) {
      PetscCall(PetscFree(run->w[l]));
      PetscCall(PetscFree(run->g[l]));
    } else {
      device->release(run->w[l]);
      device->release(run->g[l]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bad: an entry is no number */
static void Fill(int l, PetscInt step, PetscMPIInt rank, PetscBool bad, Run run[RUNS])
{
  double data[LARGEST];

  for (PetscInt e = 0; e < Entries(&layers[l]); e++) {
    const double x = bad && e == 1 ? NAN : sin(0.37 * (double)((e + 1) * (100 * step + 10 * rank + l + 20))) / (double)(1 + e % 5);

    if (layers[l].type == PETSC_FLOAT) ((float *)(void *)data)[e] = (float)x;
    else data[e] = x;
  }
  for (int r = 0; r < RUNS; r++) device->copy(Bytes(&layers[l]), data, step < 0 ? run[r].w[l] : run[r].g[l]);
}

static PetscErrorCode Compare(const char what[], const char name[], PetscReal tolerance, const double x[RUNS])
{
  PetscFunctionBegin;
  for (int r = 0; r < RUNS; r++) {
    PetscCheck(PetscAbsReal((PetscReal)(x[r] - x[2])) <= tolerance * PetscMax(1, PetscAbsReal((PetscReal)x[2])), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of layer \"%s\" is %.9g %s, and %.9g one by one on the device", what, name, x[r],
               r == 0 ? "on the host" : "where layers move together", x[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareAll(PetscReal tolerance, Run run[RUNS])
{
  PetscReal           value;
  MuonConvergedReason reason[RUNS];
  double              x[RUNS];

  PetscFunctionBegin;
  for (int r = 0; r < RUNS; r++) {
    PetscCall(MuonGetConvergedReason(run[r].muon, &reason[r]));
    PetscCall(MuonGetGradientDualNorm(run[r].muon, &value));
    x[r] = (double)value;
  }
  PetscCheck(reason[0] == reason[2] && reason[1] == reason[2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step ended with %s on the host, %s together and %s one by one", MuonConvergedReasons[reason[0]], MuonConvergedReasons[reason[1]],
             MuonConvergedReasons[reason[2]]);
  PetscCall(Compare("Dual norm", "all", tolerance, x));
  for (int l = 0; l < NLAYERS; l++) {
    double data[RUNS][LARGEST];

    for (int r = 0; r < RUNS; r++) {
      device->copy(Bytes(&layers[l]), run[r].w[l], data[r]);
      PetscCall(MuonLayerGetUpdateRMS(run[r].layer[l], &value));
      x[r] = (double)value;
    }
    PetscCall(Compare("Size of the update", layers[l].name, tolerance, x));
    for (PetscInt e = 0; e < Entries(&layers[l]); e++) {
      for (int r = 0; r < RUNS; r++) x[r] = layers[l].type == PETSC_FLOAT ? (double)((const float *)(const void *)data[r])[e] : data[r][e];
      PetscCall(Compare("An entry", layers[l].name, tolerance, x));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Run            run[RUNS];
  PetscInt       calls[2] = {-1, -1}, two = 2, sum[2];
  PetscBool      bad       = PETSC_FALSE;
  PetscReal      tolerance = (PetscReal)1e-6, bytes; /* of numbers near one and below */
  PetscLogDouble scratch[2];
  PetscMPIInt    rank;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-calls", calls, &two, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bad", &bad, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  device = MuonDeviceGet();
  PetscCheck(device != NULL && device->start() == NULL, PETSC_COMM_WORLD, PETSC_ERR_SUP, "No device");
  for (int r = 0; r < RUNS; r++) PetscCall(Create(r, &run[r]));
  for (int l = 0; l < NLAYERS; l++) Fill(l, -1, 0, PETSC_FALSE, run);
  for (PetscInt step = 0; step < STEPS; step++) {
    for (int l = 0; l < NLAYERS; l++) Fill(l, step, rank, bad && step == STEPS - 1 && rank == 0 && l == 4 ? PETSC_TRUE : PETSC_FALSE, run);
    for (int r = 0; r < RUNS; r++) {
      products = 0;
      device->trace(Told);
      PetscCall(MuonStep(run[r].muon));
      device->trace(NULL);
      run[r].products = products;
    }
    PetscCall(CompareAll(tolerance, run));
    for (int r = 1; r < RUNS; r++) PetscCallMPI(MPI_Allreduce(&run[r].products, &sum[r - 1], 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCheck(calls[0] < 0 || (bad && step == STEPS - 1) || (sum[0] == calls[0] && sum[1] == calls[1]), PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%" PetscInt_FMT " calls of products together and %" PetscInt_FMT " one by one, expected %" PetscInt_FMT " and %" PetscInt_FMT, sum[0], sum[1], calls[0], calls[1]);
  }
  /*
     Sums and new weights of a run, and a batch of the polar factors, beside what one layer needs; slots begin
     at multiples of 256 bytes
  */
  for (int r = 1; r < RUNS; r++) PetscCall(MuonGetMemory(run[r].muon, NULL, NULL, &scratch[r - 1]));
  PetscCall(GetReal((PetscObject)run[1].muon, "muon_device_batch_bytes", &bytes));
  PetscCheck(scratch[0] <= scratch[1] + 2 * bytes + 2 * 256 * NLAYERS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes of scratch together, %g one by one, expected at most %g more", scratch[0], scratch[1], (double)(2 * bytes));
  for (int r = 0; r < RUNS; r++) PetscCall(Destroy(r, &run[r]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: kokkos
    output_file: output/kernels_ok.out
    args: -muon_learning_rate 0.1 -muon_layer_bias_rule adamw -muon_layer_qkv_blocks_rows 8,8,8 -lmo_polar_precision double

    # All nine matrices in one batch: three products in each of five steps. As in device_step, rounding in double is nothing beside that of the weights to single
    table: suffix | nsize | args
      together |   | -ef21_compressor identity -lmo_polar_type newtonschulz -muon_measure_update_rms -muon_weight_decay 0.1 -calls 15,135
      # A sum and new weights of 8 x 40 have 2560 bytes, two panels and two squares in double 6144: two runs, a to qkv and the rest, with five and four matrices in batches of at most two
      bound    |   | -muon_type dense -muon_exchange_mode gather -lmo_polar_type newtonschulz -muon_device_batch_bytes 12800 -calls 75,135
      # The restart after two of five steps: 18 products
      gram     |   | -ef21_compressor topk -ef21_compressor_ratio 0.5 -lmo_polar_type gram -lmo_polar_gram_restart 2 -calls 18,162
      # Sums and new weights are scratch at the one rank that serves, then kept
      scratch  | 2 | -muon_type dense -muon_exchange_type star -muon_exchange_mode gather -lmo_polar_type newtonschulz -calls 15,135
    test:
      suffix: sums
      nsize: 2
      args: -muon_type dense -muon_exchange_type star -muon_exchange_mode reduce -muon_clip 1 -lmo_polar_type newtonschulz -muon_nesterov ema -calls 15,135

    # What differs in its choices is no part of the batch
    test:
      suffix: choices
      args: -muon_type dense -lmo_polar_type newtonschulz -muon_layer_c_lmo_polar_steps 4 -muon_layer_d_lmo_polar_coefficients cubic -muon_layer_e_lmo_type frobenius -calls 57,132

    # What is single in memory and double in the weights goes by itself
    table: suffix | nsize | args
      mixed       |   | -muon_type dense -muon_state_precision single -lmo_polar_type newtonschulz -calls 30,135
      # Votes with the signs of the factors
      votes       | 2 | -muon_type sign -lmo_polar_type newtonschulz -sign_tie zero -calls 30,270
      votes_bound |   | -muon_type sign -lmo_polar_type newtonschulz -muon_device_batch_bytes 12800 -calls 75,135
      # What has no batches
      single      |   | -muon_type dense -lmo_polar_type {{qdwh zolotarev mud}}
      # A layer that has no step, and all that diverge, the first of which ends the work one by one, leave everything as it was on all ranks
      nan         | 2 | -muon_type dense -muon_exchange_type layerwise -muon_exchange_mode gather -lmo_polar_type newtonschulz -bad -calls 30,135
      diverge     |   | -muon_type dense -lmo_polar_type newtonschulz -lmo_polar_coefficient_values 10,0,0 -lmo_polar_steps 5 -calls 10,10

TEST*/
