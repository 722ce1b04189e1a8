static char help[] = "Trains a network with two layers on data in memory. Each rank has its share of the data; the losses do not depend on the number of ranks.\n\n"
                     "  mpiexec -n 3 ./ex2 -muon_exchange_type replicated -muon_monitor\n\n";

#include <petscmuon.h>

#define INPUTS  8
#define HIDDEN  32
#define OUTPUTS 4
#define SAMPLES 240 /* of all ranks together: 1, 2, 3, 4, 5 or 6 have equal shares, so that the mean of the ranks' gradients is the gradient */

typedef struct {
  MuonLayer layer[2];
  PetscInt  n;       /* samples of this rank */
  Mat       X, Y, H; /* a column is a sample: inputs, outputs, activations of the hidden layer */
  Mat       G[2];    /* gradients */
} Network;

/* Fractional parts of multiples of irrational numbers, in (-1, 1): data without files, the same everywhere */
static PetscReal Quasirandom(PetscInt i, PetscInt j)
{
  const double x = (double)(i + 1) * sqrt((double)(2 + 3 * j));

  return (PetscReal)(2 * (x - floor(x)) - 1);
}

/* The function to learn is y_k = sin(2 x_k) cos(x_{k+1}) */
static PetscErrorCode CreateData(Network *net)
{
  PetscMPIInt  size, rank;
  PetscScalar *x, *y;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCheck(SAMPLES % size == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%d samples cannot be shared equally by %d ranks", SAMPLES, size);
  net->n = SAMPLES / size;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, INPUTS, net->n, NULL, &net->X));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, OUTPUTS, net->n, NULL, &net->Y));
  PetscCall(MatDenseGetArrayWrite(net->X, &x));
  PetscCall(MatDenseGetArrayWrite(net->Y, &y));
  for (PetscInt s = 0; s < net->n; s++) {
    for (PetscInt i = 0; i < INPUTS; i++) x[i + s * INPUTS] = Quasirandom(rank * net->n + s, i);
    for (PetscInt k = 0; k < OUTPUTS; k++) y[k + s * OUTPUTS] = PetscSinScalar(2 * x[k + s * INPUTS]) * PetscCosScalar(x[k + 1 + s * INPUTS]);
  }
  PetscCall(MatDenseRestoreArrayWrite(net->Y, &y));
  PetscCall(MatDenseRestoreArrayWrite(net->X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = |W2 tanh(W1 X) - Y|^2 / (2 n), with E the residual: dW2 = E H^T / n and dW1 = ((W2^T E) (1 - H^2)) X^T / n */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Network        *net   = (Network *)ctx;
  const PetscReal scale = 1 / (PetscReal)net->n;
  const MatReuse  reuse = net->H == NULL ? MAT_INITIAL_MATRIX : MAT_REUSE_MATRIX;
  Mat             W1, W2, E, D;
  PetscScalar    *d, *h;
  PetscReal       norm;

  PetscFunctionBeginUser;
  PetscCall(MuonLayerGetWeights(net->layer[0], &W1));
  PetscCall(MuonLayerGetWeights(net->layer[1], &W2));
  PetscCall(MatMatMult(W1, net->X, reuse, 1, &net->H));
  PetscCall(MatDenseGetArray(net->H, &h));
  for (PetscInt i = 0; i < HIDDEN * net->n; i++) h[i] = PetscTanhScalar(h[i]);
  PetscCall(MatDenseRestoreArray(net->H, &h));
  PetscCall(MatMatMult(W2, net->H, MAT_INITIAL_MATRIX, 1, &E));
  PetscCall(MatAXPY(E, -1, net->Y, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(E, NORM_FROBENIUS, &norm));
  *loss = norm * norm * scale / 2;

  PetscCall(MatScale(E, scale));
  PetscCall(MatMatTransposeMult(E, net->H, reuse, 1, &net->G[1]));
  PetscCall(MatTransposeMatMult(W2, E, MAT_INITIAL_MATRIX, 1, &D));
  PetscCall(MatDenseGetArray(D, &d));
  PetscCall(MatDenseGetArray(net->H, &h));
  for (PetscInt i = 0; i < HIDDEN * net->n; i++) d[i] *= 1 - h[i] * h[i];
  PetscCall(MatDenseRestoreArray(net->H, &h));
  PetscCall(MatDenseRestoreArray(D, &d));
  PetscCall(MatMatTransposeMult(D, net->X, reuse, 1, &net->G[0]));
  /* The layers can take a matrix of ours instead of filling theirs */
  for (PetscInt l = 0; l < 2; l++) PetscCall(MuonLayerSetGradient(net->layer[l], net->G[l]));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every rank starts from the same weights; PetscMuon checks that */
static PetscErrorCode CreateWeights(PetscInt m, PetscInt n, PetscInt seed, Mat *W)
{
  PetscScalar *w;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, W));
  PetscCall(MatDenseGetArrayWrite(*W, &w));
  for (PetscInt i = 0; i < m * n; i++) w[i] = Quasirandom(i, seed) / PetscSqrtReal((PetscReal)n);
  PetscCall(MatDenseRestoreArrayWrite(*W, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Network  net = {{NULL, NULL}, 0, NULL, NULL, NULL, {NULL, NULL}};
  Mat      W[2];
  Muon     muon;
  PetscInt steps;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(CreateData(&net));
  PetscCall(CreateWeights(HIDDEN, INPUTS, 40, &W[0]));
  PetscCall(CreateWeights(OUTPUTS, HIDDEN, 50, &W[1]));

  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "hidden", W[0], &net.layer[0]));
  PetscCall(MuonAddLayer(muon, "output", W[1], &net.layer[1]));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &net));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLearningRate(muon, (PetscReal)0.1));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, 100));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonGetMaxSteps(muon, &steps));
  for (PetscInt s = 0; s < steps; s++) { /* MuonSolve() is this loop without the output */
    MuonConvergedReason reason;
    PetscReal           loss;

    PetscCall(MuonStep(muon));
    PetscCall(MuonGetConvergedReason(muon, &reason));
    if (reason < 0) break; /* on all ranks; the weights are those of the step before */
    PetscCall(MuonGetLoss(muon, &loss));
    if (s % 20 == 0 || s == steps - 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %3" PetscInt_FMT " loss %.5f\n", s, (double)loss));
  }
  PetscCall(MuonConvergedReasonViewFromOptions(muon));
  PetscCall(MuonViewFromOptions(muon, NULL, "-muon_view"));

  PetscCall(MuonDestroy(&muon));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(MatDestroy(&W[l]));
    PetscCall(MatDestroy(&net.G[l]));
  }
  PetscCall(MatDestroy(&net.H));
  PetscCall(MatDestroy(&net.X));
  PetscCall(MatDestroy(&net.Y));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/ex2_1.out
    requires: double
    # a loss is printed to a fifth digit after the point
    tolerance: 1e-3
    args: -lmo_polar_precision double
    table: suffix | nsize | args
      check    | {{1 3}} |
      exchange | {{2 4}} | -muon_exchange_type {{star layerwise replicated}}

  # a loop of one's own ends like MuonSolve(): it leaves where a step failed, and says why where it is asked
  testset:
    requires: double
    args: -muon_converged_reason
    filter: grep Muon
    table: suffix | args
      iterating |
      diverged  | -muon_learning_rate 1e300

  # every norm trains
  testset:
    output_file: output/ex2_lmo.out
    filter: awk '/loss/ {if (first == "") first = $4; last = $4} END {print (last < first / 2 ? "trained" : "not trained: " first " " last)}'
    test:
      suffix: lmo
      args: -lmo_type {{spectral nuclear schatten frobenius max l1 column row colsum rowsum l21 mixed}}
    test:
      suffix: lmo_layer
      nsize: 2
      args: -muon_type ef21 -ef21_compressor topk -muon_layer_hidden_lmo_type {{spectral nuclear schatten frobenius max l1 column row colsum rowsum l21 mixed}}
    test:
      suffix: lmo_exponents
      nsize: 2
      args: -lmo_type mixed -lmo_mixed_exponent_p 3 -lmo_mixed_exponent_q inf -muon_layer_output_lmo_type schatten -muon_layer_output_lmo_schatten_exponent 1.5

  test:
    suffix: single
    requires: single
    nsize: {{1 3}}
    output_file: output/ex2_1.out
    # a hundred steps carry roundings of 6e-8 into the third digit
    tolerance: 2e-2

TEST*/
