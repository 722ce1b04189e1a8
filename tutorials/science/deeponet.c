static char help[] = "A DeepONet learns the solution operator a -> u of -(a u')' = 1, u(0) = u(1) = 0, for log-normal a. KSP makes the data in the same job, and each rank keeps its own.\n\n"
                     "  mpiexec -n 2 ./deeponet -muon_layer_types '*:adamw' -muon_adamw_learning_rate 3e-3\n"
                     "  mpiexec -n 2 ./deeponet -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd\n\n";

#include "diffusion.h"
#include "mlp.h"

typedef struct {
  MLP          branch, trunk; /* of log a, and of x */
  Data         train, test;
  PetscInt     batch, next;               /* functions of this rank in a step, and the first of the next step */
  PetscReal    scale;                     /* mean of u^2 in the training data of all ranks */
  PetscScalar  x[POINTS], factor[POINTS]; /* points of the grid, and x (1 - x)/2, which is u for a = 1 */
  PetscScalar *E, *dB, *dT;               /* residuals, and derivatives by the outputs of both networks */
} DeepONet;

/*
   E = prediction - u for n functions from the first: the prediction at point i is factor_i <trunk(x_i),
   branch(a)> / width. sum is that of the squares
*/
static PetscErrorCode Residual(DeepONet *net, const Data *data, PetscInt first, PetscInt n, PetscReal *sum)
{
  const PetscInt     width = net->branch.width[net->branch.n];
  const PetscScalar *B, *T;

  PetscFunctionBeginUser;
  PetscCall(MLPForward(&net->branch, n, 1, &data->a[CELLS * first], &B));
  PetscCall(MLPForward(&net->trunk, POINTS, 1, net->x, &T));
  PetscCall(Gemm("T", "N", POINTS, n, width, 1 / (PetscScalar)width, T, B, 0, net->E));
  *sum = 0;
  for (PetscInt i = 0; i < POINTS * n; i++) {
    net->E[i] = net->factor[i % POINTS] * net->E[i] - data->u[POINTS * first + i];
    *sum += PetscRealPart(net->E[i] * net->E[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The loss is the mean square of the residual over that of u */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  DeepONet          *net   = (DeepONet *)ctx;
  const PetscInt     width = net->branch.width[net->branch.n];
  const PetscScalar *B, *T;
  PetscReal          scale;

  PetscFunctionBeginUser;
  if (net->next + net->batch > net->train.n) net->next = 0;
  PetscCall(Residual(net, &net->train, net->next, net->batch, loss));
  net->next += net->batch;
  scale = 1 / (net->scale * (PetscReal)(POINTS * net->batch));
  *loss *= scale;
  for (PetscInt i = 0; i < POINTS * net->batch; i++) net->E[i] *= net->factor[i % POINTS];
  B = net->branch.Z[net->branch.n - 1];
  T = net->trunk.Z[net->trunk.n - 1];
  PetscCall(Gemm("N", "N", width, net->batch, POINTS, 2 * scale / (PetscReal)width, T, net->E, 0, net->dB));
  PetscCall(Gemm("N", "T", width, POINTS, net->batch, 2 * scale / (PetscReal)width, B, net->E, 0, net->dT));
  PetscCall(MLPBackward(&net->branch, net->dB, NULL));
  PetscCall(MLPBackward(&net->trunk, net->dT, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums over all ranks */
static PetscErrorCode MeanSquare(PetscReal sum, PetscInt n, PetscReal *mean)
{
  PetscReal both[2] = {sum, (PetscReal)(n * POINTS)};

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, both, 2, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  *mean = both[0] / both[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    samples = 1024, batch = 128, width = 96, steps, sizes[5];
  PetscReal   sum = 0, error, square;
  PetscMPIInt size;
  PetscRandom random;
  MuonTraffic traffic;
  DeepONet    net;
  Muon        muon;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMemzero(&net, sizeof(net)));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-deeponet_samples", &samples, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-deeponet_batch", &batch, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-deeponet_width", &width, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(batch >= size && batch <= samples, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-deeponet_batch %" PetscInt_FMT ", expected %d to -deeponet_samples %" PetscInt_FMT, batch, size, samples);
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(CreateData(samples, random, &net.train));
  PetscCall(CreateData(samples / 4, random, &net.test));
  PetscCall(PetscRandomDestroy(&random));
  for (PetscInt i = 0; i < POINTS; i++) {
    net.x[i]      = (PetscReal)(i + 1) / CELLS;
    net.factor[i] = net.x[i] * (1 - net.x[i]) / 2;
  }
  for (PetscInt i = 0; i < POINTS * net.train.n; i++) sum += PetscRealPart(net.train.u[i] * net.train.u[i]);
  PetscCall(MeanSquare(sum, net.train.n, &net.scale));
  net.batch = batch / size;
  PetscCall(PetscMalloc3(POINTS * PetscMax(net.batch, net.test.n), &net.E, width * net.batch, &net.dB, width * POINTS, &net.dT));

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (PetscInt l = 0; l < 5; l++) sizes[l] = width;
  sizes[0] = CELLS;
  PetscCall(MLPCreate(muon, "branch", 4, sizes, 1, &net.branch));
  sizes[0] = 1;
  PetscCall(MLPCreate(muon, "trunk", 4, sizes, 2, &net.trunk));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &net));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.b?:adamw,trunk.W0:adamw")); /* vectors, and the matrix of one column */
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.01));
  PetscCall(MuonSetAdamW(muon, (PetscReal)0.01, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));

  PetscCall(Residual(&net, &net.test, 0, net.test.n, &sum));
  PetscCall(MeanSquare(sum, net.test.n, &error));
  sum = 0;
  for (PetscInt i = 0; i < POINTS * net.test.n; i++) sum += PetscRealPart(net.test.u[i] * net.test.u[i]);
  PetscCall(MeanSquare(sum, net.test.n, &square));
  PetscCall(MuonGetTraffic(muon, &traffic));
  PetscCall(MuonGetStepNumber(muon, &steps));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "relative test error %.4f after %" PetscInt_FMT " steps, sent %.3f of fp32 up, %.3f down\n", (double)PetscSqrtReal(error / square), steps, traffic.total_up[1] / (traffic.dense * (PetscLogDouble)steps),
                        traffic.total_down[1] / (traffic.dense * (PetscLogDouble)steps)));

  PetscCall(MuonDestroy(&muon));
  PetscCall(MLPDestroy(&net.branch));
  PetscCall(MLPDestroy(&net.trunk));
  PetscCall(PetscFree3(net.E, net.dB, net.dT));
  PetscCall(PetscFree2(net.train.a, net.train.u));
  PetscCall(PetscFree2(net.test.a, net.test.u));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # short forms of the runs in the text
  testset:
    nsize: 2
    output_file: README.md
    filter: awk '/^relative/ {$4 = $4 < 0.4 ? "small" : $4; print}'
    filter_output: awk '/^relative/ {$4 = $4 < 0.4 ? "small" : $4; print}'
    # lengths of messages depend on what they say
    tolerance: 5e-2
    table: suffix | requires | args
      # identity sends native scalars
      text  | double | -deeponet_samples 256 -deeponet_width 32 -muon_max_steps 150
      adamw | double | -deeponet_samples 256 -deeponet_width 32 -muon_max_steps 150 -muon_layer_types '*:adamw'
    test:
      suffix: qsgd
      requires: double
      args: -deeponet_samples 256 -deeponet_width 32 -muon_max_steps 150 -muon_type ef21 -ef21_compressor qsgd -ef21_server_compressor qsgd
    test:
      suffix: topk
      requires: double
      args: -deeponet_samples 256 -deeponet_width 32 -muon_max_steps 150 -muon_type ef21 -ef21_compressor topk -ef21_compressor_values natural -ef21_server_compressor qsgd
  testset:
    nsize: 2
    requires: single
    args: -deeponet_samples 256 -deeponet_width 32 -muon_max_steps 50
    test:
      suffix: single

TEST*/
