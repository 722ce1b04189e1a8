#include <petscmuonregressor.h> /*I "petscmuonregressor.h" I*/

/*
   A multilayer perceptron as a type of PetscRegressor: each rank computes loss and gradient of its own rows, and
   the optimizer trains the network over the ranks.
*/

#if defined(PETSCMUON_HAVE_REGRESSOR)
  #include <petsc/private/regressorimpl.h>
  #include <petscblaslapack.h>

  #define MLP_MAX_HIDDEN 32

static const char *const MLPActivations[] = {"tanh", "relu", "logistic"};

typedef struct {
  PetscInt nhidden, hidden[MLP_MAX_HIDDEN], activation, seed;
  /* From PetscRegressorSetUp() on */
  Muon         muon;
  PetscInt     nlayers, size[MLP_MAX_HIDDEN + 2]; /* features, hidden layers, 1 */
  PetscInt     nw, width;                         /* weights and biases; activations of a row */
  PetscScalar *w, *g;                             /* of each layer the matrix by columns, then its bias */
  PetscReal   *mean, *deviation;                  /* of each feature, and of the target */
  /* In PetscRegressorFit(): the rows of this rank and the target, standardized, and work */
  PetscInt           rows;
  const PetscScalar *x, *y;
  PetscScalar       *work;
} PetscRegressor_MLP;

/* C = A B + beta C, where A or B may be transposed and C is m x n */
static PetscErrorCode MLPProduct_Private(const char trans[], PetscInt m, PetscInt n, PetscInt k, const PetscScalar *A, PetscInt lda, const PetscScalar *B, PetscInt ldb, PetscScalar beta, PetscScalar *C)
{
  const PetscScalar one       = 1;
  const PetscInt    number[6] = {m, n, k, PetscMax(lda, 1), PetscMax(ldb, 1), PetscMax(m, 1)};
  PetscBLASInt      b[6];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 6; i++) PetscCall(PetscBLASIntCast(number[i], &b[i]));
  PetscCallBLAS("BLASgemm", BLASgemm_(trans, trans + 1, &b[0], &b[1], &b[2], &one, A, &b[3], B, &b[4], &beta, C, &b[5]));
  PetscCall(PetscLogFlops(2.0 * m * n * k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Activations of the layers one behind the other, each a matrix with as many rows as the data has */
static PetscErrorCode MLPForward_Private(PetscRegressor_MLP *mlp, PetscInt n, const PetscScalar *in, PetscScalar *out, const PetscScalar **result)
{
  const PetscScalar *w = mlp->w;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < mlp->nlayers; l++) {
    const PetscInt m = mlp->size[l + 1], k = mlp->size[l];

    for (PetscInt i = 0; i < m * n; i++) out[i] = w[m * k + i / n];
    PetscCall(MLPProduct_Private("NT", n, m, k, in, n, w, m, 1, out));
    for (PetscInt i = 0; l < mlp->nlayers - 1 && i < m * n; i++) {
      out[i] = mlp->activation == 0 ? PetscTanhScalar(out[i]) : mlp->activation == 1 ? PetscMax(out[i], 0) : 1 / (1 + PetscExpScalar(-out[i]));
    }
    in = out;
    out += m * n;
    w += m * (k + 1);
  }
  *result = in;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean square of what is left of the standardized target */
static PetscErrorCode MLPObjective_Private(Muon muon, PetscReal *loss, void *ctx)
{
  PetscRegressor_MLP *mlp = (PetscRegressor_MLP *)ctx;
  const PetscInt      n   = mlp->rows;
  PetscScalar        *act = mlp->work, *delta = act + mlp->width * n, *next = delta + mlp->width * n, *swap;
  const PetscScalar  *out, *in, *w                                          = mlp->w + mlp->nw;
  PetscScalar        *g = mlp->g + mlp->nw;

  PetscFunctionBegin;
  *loss = 0;
  PetscCall(MLPForward_Private(mlp, n, mlp->x, act, &out));
  for (PetscInt i = 0; i < n; i++) {
    *loss += PetscSqr(PetscRealPart(out[i] - mlp->y[i])) / (PetscReal)n;
    delta[i] = 2 * (out[i] - mlp->y[i]) / (PetscReal)n;
  }
  act += mlp->width * n;
  for (PetscInt l = mlp->nlayers - 1; l >= 0; l--) {
    const PetscInt m = mlp->size[l + 1], k = mlp->size[l];

    act -= m * n;
    in = l > 0 ? act - k * n : mlp->x;
    w -= m * (k + 1);
    g -= m * (k + 1);
    PetscCall(MLPProduct_Private("TN", m, k, n, delta, n, in, n, 0, g));
    PetscCall(PetscArrayzero(g + m * k, m));
    for (PetscInt i = 0; i < m * n; i++) g[m * k + i / n] += delta[i];
    if (l == 0) break;
    PetscCall(MLPProduct_Private("NN", n, k, m, delta, n, w, m, 0, next));
    for (PetscInt i = 0; i < k * n; i++) next[i] *= mlp->activation == 0 ? 1 - in[i] * in[i] : mlp->activation == 1 ? (PetscScalar)(in[i] > 0) : in[i] * (1 - in[i]);
    swap  = delta;
    delta = next;
    next  = swap;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector has one entry for each row, on each rank, and the matrix the features of the network */
static PetscErrorCode MLPCheckData_Private(PetscRegressor regressor, Mat X, Vec y, const char what[])
{
  const PetscInt features = ((PetscRegressor_MLP *)regressor->data)->size[0];
  PetscInt       N, rows, local;
  PetscMPIInt    same;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &N));
  PetscCheck(N == features, PetscObjectComm((PetscObject)regressor), PETSC_ERR_ARG_SIZ, "A matrix of %" PetscInt_FMT " features, expected the %" PetscInt_FMT " of the first fit; PetscRegressorReset() starts anew", N, features);
  PetscCall(MatGetLocalSize(X, &rows, NULL));
  PetscCall(VecGetLocalSize(y, &local));
  same = local == rows ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)regressor)));
  PetscCheck(same == 1, PetscObjectComm((PetscObject)regressor), PETSC_ERR_ARG_SIZ, "%" PetscInt_FMT " entries of the %s and %" PetscInt_FMT " rows of the matrix are on this rank, expected as many on each", local, what, rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is constant up to the rounding of its mean keeps its scale */
static PetscReal MLPDeviation_Private(PetscReal norm, PetscInt rows, PetscReal mean)
{
  const PetscReal deviation = norm / PetscSqrtReal((PetscReal)rows);

  return deviation > (PetscReal)rows * PETSC_MACHINE_EPSILON * PetscAbsReal(mean) ? deviation : 1;
}

/* A standardized copy, by mean and deviation over the rows of all ranks; a fit computes these */
static PetscErrorCode MLPStandardize_Private(PetscRegressor_MLP *mlp, Mat X, PetscBool fit, Mat *copy)
{
  PetscInt     rows, M, N;
  PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(MatConvert(X, MATDENSE, MAT_INITIAL_MATRIX, copy));
  PetscCall(MatGetSize(X, &M, &N));
  PetscCall(MatGetLocalSize(X, &rows, NULL));
  if (fit) PetscCall(MatGetColumnMeansRealPart(*copy, mlp->mean));
  PetscCall(MatDenseGetArray(*copy, &x));
  for (PetscInt i = 0; i < rows * N; i++) x[i] -= mlp->mean[i / rows];
  PetscCall(MatDenseRestoreArray(*copy, &x));
  if (fit) PetscCall(MatGetColumnNorms(*copy, NORM_2, mlp->deviation));
  for (PetscInt j = 0; fit && j < N; j++) mlp->deviation[j] = MLPDeviation_Private(mlp->deviation[j], M, mlp->mean[j]);
  PetscCall(MatDenseGetArray(*copy, &x));
  for (PetscInt i = 0; i < rows * N; i++) x[i] /= mlp->deviation[i / rows];
  PetscCall(MatDenseRestoreArray(*copy, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Uniform within sqrt(6 / (inputs + outputs)), the same on all ranks */
static PetscErrorCode MLPInitialize_Private(PetscRegressor_MLP *mlp)
{
  PetscRandom  random;
  PetscScalar *w = mlp->w;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)mlp->seed));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt l = 0; l < mlp->nlayers; l++) {
    const PetscInt  m = mlp->size[l + 1], k = mlp->size[l];
    const PetscReal range = PetscSqrtReal(6 / (PetscReal)(m + k));

    PetscCall(PetscRandomSetInterval(random, -range, range));
    for (PetscInt i = 0; i < m * k; i++) PetscCall(PetscRandomGetValue(random, w++));
    for (PetscInt i = 0; i < m; i++) *w++ = 0;
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorReset_MLP(PetscRegressor regressor)
{
  PetscRegressor_MLP *mlp = (PetscRegressor_MLP *)regressor->data;

  PetscFunctionBegin;
  PetscCall(MuonDestroy(&mlp->muon));
  PetscCall(PetscFree4(mlp->w, mlp->g, mlp->mean, mlp->deviation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorSetUp_MLP(PetscRegressor regressor)
{
  PetscRegressor_MLP *mlp    = (PetscRegressor_MLP *)regressor->data;
  const char         *prefix = ((PetscObject)regressor)->prefix;
  MPI_Comm            comm   = PetscObjectComm((PetscObject)regressor);
  PetscInt            at     = 0;
  char                text[PETSC_MAX_OPTION_NAME];
  MuonLayerArray      array;

  PetscFunctionBegin;
  PetscCheck(regressor->training != NULL && regressor->target != NULL, comm, PETSC_ERR_ORDER, "-%sregressor_type " PETSCREGRESSORMLP ": no rows and no target, expected PetscRegressorFit() to set up", prefix != NULL ? prefix : "");
  PetscCall(MatGetSize(regressor->training, NULL, &mlp->size[0]));
  mlp->nlayers            = mlp->nhidden + 1;
  mlp->size[mlp->nlayers] = 1;
  mlp->nw = mlp->width = 0;
  for (PetscInt l = 0; l < mlp->nlayers; l++) {
    if (l < mlp->nhidden) mlp->size[l + 1] = mlp->hidden[l];
    mlp->nw += mlp->size[l + 1] * (mlp->size[l] + 1);
    mlp->width += mlp->size[l + 1];
  }
  PetscCall(PetscMalloc4(mlp->nw, &mlp->w, mlp->nw, &mlp->g, mlp->size[0] + 1, &mlp->mean, mlp->size[0] + 1, &mlp->deviation));
  PetscCall(MuonCreate(comm, &mlp->muon));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)mlp->muon, (PetscObject)regressor, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)mlp->muon, ((PetscObject)regressor)->options));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%sregressor_mlp_", prefix != NULL ? prefix : ""));
  PetscCall(MuonSetOptionsPrefix(mlp->muon, text));
  for (PetscInt l = 0; l < mlp->nlayers; l++) {
    PetscCall(MuonLayerArrayInitialize(&array));
    for (PetscInt bias = 0; bias < 2; bias++) {
      array.M = mlp->size[l + 1];
      array.N = bias ? 1 : mlp->size[l];
      array.w = mlp->w + at;
      array.g = mlp->g + at;
      PetscCall(PetscSNPrintf(text, sizeof(text), "%s%" PetscInt_FMT, bias ? "b" : "W", l + 1));
      PetscCall(MuonAddLayerArray(mlp->muon, text, &array, NULL));
      at += array.M * array.N;
    }
  }
  PetscCall(PetscSNPrintf(text, sizeof(text), "b*:" MUONLAYERADAMW ",W%" PetscInt_FMT ":" MUONLAYERADAMW, mlp->nlayers));
  PetscCall(MuonSetRuleMatch(mlp->muon, text));
  PetscCall(MuonSetObjectiveAndGradient(mlp->muon, MLPObjective_Private, mlp));
  PetscCall(MuonSetLearningRate(mlp->muon, (PetscReal)0.05));
  PetscCall(MuonSetAdamW(mlp->muon, (PetscReal)0.01, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(mlp->muon, 500));
  PetscCall(MuonSetSchedule(mlp->muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetFromOptions(mlp->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorFit_MLP(PetscRegressor regressor)
{
  PetscRegressor_MLP *mlp  = (PetscRegressor_MLP *)regressor->data;
  MPI_Comm            comm = PetscObjectComm((PetscObject)regressor);
  const PetscInt      N    = mlp->size[0];
  Mat                 X;
  Vec                 y;
  PetscInt            M;
  PetscScalar         sum;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MLPCheckData_Private(regressor, regressor->training, regressor->target, "target"));
  PetscCall(MatGetSize(regressor->training, &M, NULL));
  PetscCheck(M > 0, comm, PETSC_ERR_ARG_SIZ, "No rows to fit, expected some");
  PetscCheck(regressor->regularizer_weight == regressor->default_regularizer_weight, comm, PETSC_ERR_SUP,
             "-regressor_type " PETSCREGRESSORMLP " knows no regularizer, and its weight was set to %g; -regressor_mlp_muon_weight_decay is that of the optimizer", (double)regressor->regularizer_weight);
  PetscCall(MLPStandardize_Private(mlp, regressor->training, PETSC_TRUE, &X));
  PetscCall(VecDuplicate(regressor->target, &y));
  PetscCall(VecCopy(regressor->target, y));
  PetscCall(VecSum(y, &sum));
  mlp->mean[N] = PetscRealPart(sum) / (PetscReal)M;
  PetscCall(VecShift(y, -mlp->mean[N]));
  PetscCall(VecNorm(y, NORM_2, &mlp->deviation[N]));
  mlp->deviation[N] = MLPDeviation_Private(mlp->deviation[N], M, mlp->mean[N]);
  PetscCall(VecScale(y, 1 / mlp->deviation[N]));
  PetscCall(MLPInitialize_Private(mlp));
  PetscCall(VecGetLocalSize(y, &mlp->rows));
  PetscCall(PetscMalloc1(3 * mlp->width * mlp->rows, &mlp->work));
  PetscCall(MatDenseGetArrayRead(X, &mlp->x));
  PetscCall(VecGetArrayRead(y, &mlp->y));
  PetscCall(MuonReset(mlp->muon));
  PetscCall(MuonSetWorkerWeight(mlp->muon, (PetscReal)mlp->rows));
  PetscCall(MuonSolve(mlp->muon));
  PetscCall(VecRestoreArrayRead(y, &mlp->y));
  PetscCall(MatDenseRestoreArrayRead(X, &mlp->x));
  PetscCall(PetscFree(mlp->work));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&X));
  PetscCall(MuonGetConvergedReason(mlp->muon, &reason));
  PetscCheck(reason >= 0, comm, PETSC_ERR_NOT_CONVERGED, "-regressor_type " PETSCREGRESSORMLP ": the optimizer ended with %s, expected a fit", MuonConvergedReasons[reason]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorPredict_MLP(PetscRegressor regressor, Mat X, Vec y)
{
  PetscRegressor_MLP *mlp = (PetscRegressor_MLP *)regressor->data;
  Mat                 copy;
  PetscScalar        *work, *target;
  const PetscScalar  *x, *out;
  PetscInt            rows;

  PetscFunctionBegin;
  PetscCall(MLPCheckData_Private(regressor, X, y, "prediction"));
  PetscCall(MLPStandardize_Private(mlp, X, PETSC_FALSE, &copy));
  PetscCall(VecGetLocalSize(y, &rows));
  PetscCall(PetscMalloc1(mlp->width * rows, &work));
  PetscCall(MatDenseGetArrayRead(copy, &x));
  PetscCall(MLPForward_Private(mlp, rows, x, work, &out));
  PetscCall(MatDenseRestoreArrayRead(copy, &x));
  PetscCall(VecGetArrayWrite(y, &target));
  for (PetscInt i = 0; i < rows; i++) target[i] = mlp->mean[mlp->size[0]] + mlp->deviation[mlp->size[0]] * out[i];
  PetscCall(VecRestoreArrayWrite(y, &target));
  PetscCall(PetscFree(work));
  PetscCall(MatDestroy(&copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorSetFromOptions_MLP(PetscRegressor regressor, PetscOptionItems PetscOptionsObject)
{
  PetscRegressor_MLP *mlp    = (PetscRegressor_MLP *)regressor->data;
  const char         *prefix = ((PetscObject)regressor)->prefix;
  PetscInt            n      = MLP_MAX_HIDDEN, hidden[MLP_MAX_HIDDEN];
  PetscBool           flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Multilayer perceptron");
  PetscCall(PetscArraycpy(hidden, mlp->hidden, mlp->nhidden));
  PetscCall(PetscOptionsIntArray("-regressor_mlp_layers", "Neurons of each hidden layer", NULL, hidden, &n, &flg));
  if (flg) {
    PetscCheck(regressor->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)regressor), PETSC_ERR_ORDER, "-%sregressor_mlp_layers must be set before PetscRegressorFit(), or after PetscRegressorReset()", prefix != NULL ? prefix : "");
    for (PetscInt l = 0; l < n; l++) {
      PetscCheck(hidden[l] > 0, PetscObjectComm((PetscObject)regressor), PETSC_ERR_ARG_OUTOFRANGE, "-%sregressor_mlp_layers: layer %" PetscInt_FMT " has %" PetscInt_FMT " neurons, expected at least 1", prefix != NULL ? prefix : "", l + 1, hidden[l]);
    }
    PetscCall(PetscArraycpy(mlp->hidden, hidden, n));
    mlp->nhidden = n;
  }
  PetscCall(PetscOptionsEList("-regressor_mlp_activation", "Function of the hidden layers", NULL, MLPActivations, PETSC_STATIC_ARRAY_LENGTH(MLPActivations), MLPActivations[mlp->activation], &mlp->activation, NULL));
  PetscCall(PetscOptionsInt("-regressor_mlp_seed", "Seed of the first weights", NULL, mlp->seed, &mlp->seed, NULL));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorView_MLP(PetscRegressor regressor, PetscViewer viewer)
{
  PetscRegressor_MLP *mlp = (PetscRegressor_MLP *)regressor->data;
  PetscReal           loss;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "hidden layers:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (PetscInt l = 0; l < mlp->nhidden; l++) PetscCall(PetscViewerASCIIPrintf(viewer, " %" PetscInt_FMT, mlp->hidden[l]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s, activation %s\n", mlp->nhidden > 0 ? "" : " none", MLPActivations[mlp->activation]));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (mlp->muon == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetLoss(mlp->muon, &loss));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " features, %" PetscInt_FMT " weights; %g of the variance is left\n", mlp->size[0], mlp->nw, (double)loss));
  PetscCall(MuonView(mlp->muon, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorMLPGetMuon_MLP(PetscRegressor regressor, Muon *muon)
{
  PetscFunctionBegin;
  *muon = ((PetscRegressor_MLP *)regressor->data)->muon;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorDestroy_MLP(PetscRegressor regressor)
{
  PetscFunctionBegin;
  PetscCall(PetscRegressorReset_MLP(regressor));
  PetscCall(PetscObjectComposeFunction((PetscObject)regressor, "PetscRegressorMLPGetMuon_C", NULL));
  PetscCall(PetscFree(regressor->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PETSCREGRESSORMLP - A multilayer perceptron, trained by a `Muon` on rows that are spread over the ranks

  Options Database Keys:
+ -regressor_mlp_layers 64,64                  - neurons of each hidden layer
. -regressor_mlp_activation tanh|relu|logistic - function of the hidden layers, tanh by default
- -regressor_mlp_seed seed                     - of the first weights

  Level: beginner

  Notes:
  A program that does not know this library gets the type by `-dll_append /path/to/libpetscmuon.so` and
  `-regressor_type mlp`. It takes PETSc 3.24 or newer.

  The layers of the optimizer are W1, b1, W2 and so on, and all keys of `Muon` hold behind the prefix
  `regressor_mlp_`, `-regressor_mlp_muon_type ef21` for instance. By default it takes 500 steps with rates of 0.05, and 0.01 for AdamW, that
  fall to 0. Muon updates the matrices but for the last one, AdamW the rest; `-regressor_mlp_muon_rule_match`
  chooses others.

  Each step uses all rows. Each rank computes the gradient of its own, which weighs as many as they are; the
  optimizer sends messages instead of gradients where a compressor is chosen. Features and target are standardized
  over all rows, so that the loss is the part of the target's variance that is left. All ranks begin with the same
  weights, each fit anew.

  The matrix is one that `MatConvert()` makes a `MATDENSE` of. The target is one vector. There is no regularizer\: a weight that
  `PetscRegressorSetRegularizerWeight()` set is an error, and `-regressor_mlp_muon_weight_decay` takes its place.

.seealso: `PetscRegressorSetType()`, `PetscRegressorFit()`, `PetscRegressorPredict()`, `PetscRegressorMLPGetMuon()`, `Muon`, `MuonSetWorkerWeight()`
M*/
static PetscErrorCode PetscRegressorCreate_MLP(PetscRegressor regressor)
{
  PetscRegressor_MLP *mlp;

  PetscFunctionBegin;
  PetscCall(PetscNew(&mlp));
  mlp->nhidden   = 2;
  mlp->hidden[0] = mlp->hidden[1] = 64;
  mlp->seed                       = 1;
  regressor->data                 = (void *)mlp;
  regressor->ops->setup           = PetscRegressorSetUp_MLP;
  regressor->ops->setfromoptions  = PetscRegressorSetFromOptions_MLP;
  regressor->ops->fit             = PetscRegressorFit_MLP;
  regressor->ops->predict         = PetscRegressorPredict_MLP;
  regressor->ops->view            = PetscRegressorView_MLP;
  regressor->ops->reset           = PetscRegressorReset_MLP;
  regressor->ops->destroy         = PetscRegressorDestroy_MLP;
  PetscCall(PetscObjectComposeFunction((PetscObject)regressor, "PetscRegressorMLPGetMuon_C", PetscRegressorMLPGetMuon_MLP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PetscRegressorMLPGetMuon - Gets the optimizer that trained a `PETSCREGRESSORMLP`

  Not Collective; No Fortran Support

  Input Parameter:
. regressor - the regressor, of type `PETSCREGRESSORMLP`

  Output Parameter:
. muon - the optimizer, borrowed, for `MuonGetLoss()` or `MuonGetTraffic()`; `NULL` before the first `PetscRegressorFit()`

  Level: intermediate

.seealso: `PETSCREGRESSORMLP`, `Muon`
@*/
PetscErrorCode PetscRegressorMLPGetMuon(PetscRegressor regressor, Muon *muon)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(regressor, PETSCREGRESSOR_CLASSID, 1);
  PetscAssertPointer(muon, 2);
  PetscUseMethod(regressor, "PetscRegressorMLPGetMuon_C", (PetscRegressor, Muon *), (regressor, muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*@
  PetscRegressorMLPRegister - Registers `PETSCREGRESSORMLP` among the types of `PetscRegressor`, where PETSc has that class

  Not Collective

  Level: advanced

  Note:
  `PetscMuonInitialize()` and the hook for `-dll_append` call it.

.seealso: `PETSCREGRESSORMLP`, `PetscRegressorRegister()`, `PetscMuonInitialize()`
@*/
PetscErrorCode PetscRegressorMLPRegister(void)
{
  PetscFunctionBegin;
#if defined(PETSCMUON_HAVE_REGRESSOR)
  PetscCall(PetscRegressorRegister(PETSCREGRESSORMLP, PetscRegressorCreate_MLP));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
