#include <petscmuonregressor.h> /*I "petscmuonregressor.h" I*/

/*
   A multilayer perceptron as a type of PetscRegressor: each rank computes loss and gradient of its own rows, and
   the optimizer trains the network over the ranks.
*/

#if defined(PETSCMUON_HAVE_REGRESSOR)
  #include <petsc/private/regressorimpl.h>
  #include <petscmuon/private/petscmuonimpl.h>

  #define MLP_MAX_HIDDEN 32

static const char *const MLPActivations[] = {"tanh", "relu", "logistic"};

typedef struct {
  PetscInt nlayers, size[MLP_MAX_HIDDEN + 2]; /* features, hidden layers, 1 */
  PetscInt activation, seed;
  /* From PetscRegressorSetUp() on */
  Muon         muon;
  PetscInt     nw, width;        /* weights and biases; activations of a row */
  PetscScalar *w, *g;            /* of each layer the matrix by columns, then its bias */
  PetscReal   *mean, *deviation; /* of the target, and of each feature */
  /* After MLPBegin_Private(): the rows of this rank, standardized; the activations of each layer and, behind all, their derivatives */
  Mat                X;
  PetscBLASInt       rows;
  const PetscScalar *x, *y;
  PetscScalar       *work;
} PetscRegressor_MLP;

/* C = A B + beta C, where A or B may be transposed and C is m x n; no array has gaps, and those of data may have no rows */
static void MLPProduct_Private(int transa, int transb, PetscInt m, PetscInt n, PetscInt k, const PetscScalar A[], const PetscScalar B[], double beta, PetscScalar C[])
{
  const size_t lda = (size_t)PetscMax(transa ? k : m, 1), ldb = (size_t)PetscMax(transb ? n : k, 1);

  MuonKernelsHost[MUON_PETSCSCALAR].Multiply(transa, transb, (size_t)m, (size_t)n, (size_t)k, 1.0, A, lda, B, ldb, beta, C, (size_t)m);
}

/* Activations of the layers one behind the other, each a matrix with as many rows as the data has */
static PetscErrorCode MLPForward_Private(PetscRegressor_MLP *mlp)
{
  const PetscInt     n  = mlp->rows;
  const PetscScalar *in = mlp->x, *w = mlp->w;
  PetscScalar       *out = mlp->work;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < mlp->nlayers; l++) {
    const PetscInt m = mlp->size[l + 1], k = mlp->size[l];

    for (PetscInt i = 0; i < m * n; i++) out[i] = w[m * k + i / n];
    MLPProduct_Private(0, 1, n, m, k, in, w, 1, out);
    for (PetscInt i = 0; l < mlp->nlayers - 1 && i < m * n; i++) {
      out[i] = mlp->activation == 0 ? PetscTanhScalar(out[i]) : mlp->activation == 1 ? PetscMax(out[i], 0) : 1 / (1 + PetscExpScalar(-out[i]));
    }
    in = out;
    out += m * n;
    w += m * (k + 1);
  }
  PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)n * (PetscLogDouble)mlp->nw));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean square of what is left of the standardized target */
static PetscErrorCode MLPObjective_Private(Muon muon, PetscReal *loss, void *ctx)
{
  PetscRegressor_MLP *mlp = (PetscRegressor_MLP *)ctx;
  const PetscInt      n   = mlp->rows;
  PetscScalar        *out = mlp->work + (mlp->width - 1) * n, *g = mlp->g + mlp->nw;
  const PetscScalar  *w = mlp->w + mlp->nw;

  PetscFunctionBegin;
  *loss = 0;
  PetscCall(MLPForward_Private(mlp));
  for (PetscInt i = 0; i < n; i++) {
    *loss += PetscSqr(PetscRealPart(out[i] - mlp->y[i])) / (PetscReal)n;
    out[i + mlp->width * n] = 2 * (out[i] - mlp->y[i]) / (PetscReal)n;
  }
  for (PetscInt l = mlp->nlayers - 1; l >= 0; l--) {
    const PetscInt     m = mlp->size[l + 1], k = mlp->size[l];
    const PetscScalar *delta = out + mlp->width * n, *in = l > 0 ? out - k * n : mlp->x;

    w -= m * (k + 1);
    g -= m * (k + 1);
    MLPProduct_Private(1, 0, m, k, n, delta, in, 0, g);
    PetscCall(PetscArrayzero(g + m * k, m));
    for (PetscInt i = 0; i < m * n; i++) g[m * k + i / n] += delta[i];
    if (l == 0) break;
    out -= k * n;
    MLPProduct_Private(0, 0, n, k, m, delta, w, 0, out + mlp->width * n);
    for (PetscInt i = 0; i < k * n; i++) out[i + mlp->width * n] *= mlp->activation == 0 ? 1 - in[i] * in[i] : mlp->activation == 1 ? (PetscScalar)(in[i] > 0) : in[i] * (1 - in[i]);
  }
  PetscCall(PetscLogFlops(4.0 * (PetscLogDouble)n * (PetscLogDouble)mlp->nw));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By mean and deviation over all ranks, which a fit computes. What is constant up to the rounding of its mean keeps its scale */
static PetscErrorCode MLPStandardize_Private(Vec v, PetscBool fit, PetscReal *mean, PetscReal *deviation)
{
  PetscInt M;

  PetscFunctionBegin;
  PetscCall(VecGetSize(v, &M));
  if (fit) PetscCall(VecMean(v, mean));
  PetscCall(VecShift(v, -*mean));
  if (fit) PetscCall(VecNorm(v, NORM_2, deviation));
  if (fit) *deviation /= PetscSqrtReal((PetscReal)M);
  if (fit && !(*deviation > (PetscReal)M * PETSC_MACHINE_EPSILON * PetscAbsReal(*mean))) *deviation = 1;
  PetscCall(VecScale(v, 1 / *deviation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A standardized copy of the rows, and work. The vector has one entry for each row, on each rank, and the matrix the features of the network */
static PetscErrorCode MLPBegin_Private(PetscRegressor regressor, Mat X, Vec y, PetscBool fit)
{
  PetscRegressor_MLP *mlp  = (PetscRegressor_MLP *)regressor->data;
  MPI_Comm            comm = PetscObjectComm((PetscObject)regressor);
  PetscInt            M, N, local;
  PetscLayout         rows, entries;
  PetscBool           same;
  Vec                 column;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, &M, &N));
  PetscCheck(M > 0 || fit == PETSC_FALSE, comm, PETSC_ERR_ARG_SIZ, "No rows to fit, expected some");
  PetscCheck(N == mlp->size[0], comm, PETSC_ERR_ARG_SIZ, "A matrix of %" PetscInt_FMT " features, expected the %" PetscInt_FMT " of the first fit; PetscRegressorReset() starts anew", N, mlp->size[0]);
  PetscCall(MatGetLayouts(X, &rows, NULL));
  PetscCall(VecGetLayout(y, &entries));
  PetscCall(PetscLayoutCompare(rows, entries, &same));
  PetscCall(MatGetLocalSize(X, &local, NULL));
  PetscCheck(same, comm, PETSC_ERR_ARG_SIZ, "The matrix has %" PetscInt_FMT " rows on this rank, expected as many entries of the %s on each", local, fit ? "target" : "prediction");
  PetscCall(PetscBLASIntCast(local, &mlp->rows));
  PetscCall(MatConvert(X, MATDENSE, MAT_INITIAL_MATRIX, &mlp->X));
  for (PetscInt j = 0; j < N; j++) {
    PetscCall(MatDenseGetColumnVec(mlp->X, j, &column));
    PetscCall(MLPStandardize_Private(column, fit, &mlp->mean[j + 1], &mlp->deviation[j + 1]));
    PetscCall(MatDenseRestoreColumnVec(mlp->X, j, &column));
  }
  PetscCall(PetscMalloc1((fit ? 2 : 1) * mlp->width * mlp->rows, &mlp->work));
  PetscCall(MatDenseGetArrayRead(mlp->X, &mlp->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorReset_MLP(PetscRegressor regressor)
{
  PetscRegressor_MLP *mlp = (PetscRegressor_MLP *)regressor->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectCompose((PetscObject)regressor, "Muon", NULL));
  PetscCall(MuonDestroy(&mlp->muon));
  PetscCall(PetscFree4(mlp->w, mlp->g, mlp->mean, mlp->deviation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorSetUp_MLP(PetscRegressor regressor)
{
  PetscRegressor_MLP *mlp    = (PetscRegressor_MLP *)regressor->data;
  MPI_Comm            comm   = PetscObjectComm((PetscObject)regressor);
  const char         *prefix = ((PetscObject)regressor)->prefix;
  char                text[64];
  MuonLayerArray      array;

  PetscFunctionBegin;
  PetscCheck(regressor->training != NULL && regressor->target != NULL, comm, PETSC_ERR_ORDER, "-regressor_type " PETSCREGRESSORMLP ": no rows and no target, expected PetscRegressorFit() to set up");
  PetscCall(MatGetSize(regressor->training, NULL, &mlp->size[0]));
  mlp->size[mlp->nlayers] = 1;
  mlp->nw = mlp->width = 0;
  for (PetscInt l = 0; l < mlp->nlayers; l++) {
    PetscCheck(mlp->size[l + 1] > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "-%sregressor_mlp_layers: layer %" PetscInt_FMT " has %" PetscInt_FMT " neurons, expected at least 1", prefix != NULL ? prefix : "", l + 1, mlp->size[l + 1]);
    mlp->nw += mlp->size[l + 1] * (mlp->size[l] + 1);
    mlp->width += mlp->size[l + 1];
  }
  PetscCall(PetscMalloc4(mlp->nw, &mlp->w, mlp->nw, &mlp->g, mlp->size[0] + 1, &mlp->mean, mlp->size[0] + 1, &mlp->deviation));
  PetscCall(MuonCreate(comm, &mlp->muon));
  PetscCall(PetscObjectCompose((PetscObject)regressor, "Muon", (PetscObject)mlp->muon));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)mlp->muon, (PetscObject)regressor, 1));
  PetscCall(PetscObjectSetOptions((PetscObject)mlp->muon, ((PetscObject)regressor)->options));
  PetscCall(MuonSetOptionsPrefix(mlp->muon, prefix));
  PetscCall(MuonAppendOptionsPrefix(mlp->muon, "regressor_mlp_"));
  PetscCall(MuonLayerArrayInitialize(&array));
  array.w = mlp->w;
  array.g = mlp->g;
  for (PetscInt i = 0; i < 2 * mlp->nlayers; i++) {
    array.M = mlp->size[i / 2 + 1];
    array.N = i % 2 ? 1 : mlp->size[i / 2];
    PetscCall(PetscSNPrintf(text, sizeof(text), "%s%" PetscInt_FMT, i % 2 ? "b" : "W", i / 2 + 1));
    PetscCall(MuonAddLayerArray(mlp->muon, text, &array, NULL));
    array.w = (PetscScalar *)array.w + array.M * array.N;
    array.g = (PetscScalar *)array.g + array.M * array.N;
  }
  PetscCall(PetscSNPrintf(text, sizeof(text), "b*:" MUONLAYERADAMW ",W%" PetscInt_FMT ":" MUONLAYERADAMW, mlp->nlayers));
  PetscCall(MuonSetLayerTypes(mlp->muon, text));
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
  PetscScalar        *w    = mlp->w;
  PetscRandom         random;
  Vec                 y;
  MuonConvergedReason reason;

  PetscFunctionBegin;
  PetscCheck(regressor->regularizer_weight == regressor->default_regularizer_weight, comm, PETSC_ERR_SUP,
             "-regressor_type " PETSCREGRESSORMLP " knows no regularizer, and its weight was set to %g; -regressor_mlp_muon_weight_decay is that of the optimizer", (double)regressor->regularizer_weight);
  PetscCall(MLPBegin_Private(regressor, regressor->training, regressor->target, PETSC_TRUE));
  PetscCall(VecDuplicate(regressor->target, &y));
  PetscCall(VecCopy(regressor->target, y));
  PetscCall(MLPStandardize_Private(y, PETSC_TRUE, mlp->mean, mlp->deviation));
  /* Uniform within sqrt(6 / (inputs + outputs)), the same on all ranks */
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)mlp->seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(PetscArrayzero(w, mlp->nw));
  for (PetscInt l = 0; l < mlp->nlayers; l++) {
    const PetscInt  m = mlp->size[l + 1], k = mlp->size[l];
    const PetscReal range = PetscSqrtReal(6 / (PetscReal)(m + k));

    PetscCall(PetscRandomSetInterval(random, -range, range));
    PetscCall(PetscRandomGetValues(random, m * k, w));
    w += m * (k + 1);
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(VecGetArrayRead(y, &mlp->y));
  PetscCall(MuonReset(mlp->muon));
  PetscCall(MuonSetWorkerWeight(mlp->muon, (PetscReal)mlp->rows));
  PetscCall(MuonSolve(mlp->muon));
  PetscCall(VecRestoreArrayRead(y, &mlp->y));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDenseRestoreArrayRead(mlp->X, &mlp->x));
  PetscCall(PetscFree(mlp->work));
  PetscCall(MatDestroy(&mlp->X));
  PetscCall(MuonGetConvergedReason(mlp->muon, &reason));
  PetscCheck(reason >= 0, comm, PETSC_ERR_NOT_CONVERGED, "-regressor_type " PETSCREGRESSORMLP ": the optimizer ended with %s, expected a fit", MuonConvergedReasons[reason]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorPredict_MLP(PetscRegressor regressor, Mat X, Vec y)
{
  PetscRegressor_MLP *mlp = (PetscRegressor_MLP *)regressor->data;
  PetscScalar        *target;

  PetscFunctionBegin;
  PetscCall(MLPBegin_Private(regressor, X, y, PETSC_FALSE));
  PetscCall(MLPForward_Private(mlp));
  PetscCall(VecGetArrayWrite(y, &target));
  for (PetscInt i = 0; i < mlp->rows; i++) target[i] = mlp->mean[0] + mlp->deviation[0] * mlp->work[(mlp->width - 1) * mlp->rows + i];
  PetscCall(VecRestoreArrayWrite(y, &target));
  PetscCall(MatDenseRestoreArrayRead(mlp->X, &mlp->x));
  PetscCall(PetscFree(mlp->work));
  PetscCall(MatDestroy(&mlp->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorSetFromOptions_MLP(PetscRegressor regressor, PetscOptionItems PetscOptionsObject)
{
  PetscRegressor_MLP *mlp    = (PetscRegressor_MLP *)regressor->data;
  const char         *prefix = ((PetscObject)regressor)->prefix;
  PetscInt            n      = MLP_MAX_HIDDEN;
  PetscBool           flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Multilayer perceptron");
  PetscCall(PetscOptionsHasName(((PetscObject)regressor)->options, prefix, "-regressor_mlp_layers", &flg));
  PetscCheck(flg == PETSC_FALSE || regressor->setupcalled == PETSC_FALSE, PetscObjectComm((PetscObject)regressor), PETSC_ERR_ORDER, "-%sregressor_mlp_layers must be set before PetscRegressorFit(), or after PetscRegressorReset()",
             prefix != NULL ? prefix : "");
  PetscCall(PetscOptionsIntArray("-regressor_mlp_layers", "Neurons of each hidden layer", NULL, mlp->size + 1, &n, &flg));
  if (flg) mlp->nlayers = n + 1;
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
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " hidden layers, activation %s\n", mlp->nlayers - 1, MLPActivations[mlp->activation]));
  if (mlp->muon == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MuonGetLoss(mlp->muon, &loss));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " features, %" PetscInt_FMT " weights; %g of the variance is left\n", mlp->size[0], mlp->nw, (double)loss));
  PetscCall(MuonView(mlp->muon, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscRegressorDestroy_MLP(PetscRegressor regressor)
{
  PetscFunctionBegin;
  PetscCall(PetscRegressorReset_MLP(regressor));
  PetscCall(PetscFree(regressor->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PETSCREGRESSORMLP - A multilayer perceptron, trained by a `Muon` on rows that are distributed over the ranks

  Options Database Keys:
+ -regressor_mlp_layers 64,64                  - neurons of each hidden layer
. -regressor_mlp_activation tanh|relu|logistic - function of the hidden layers, tanh by default
- -regressor_mlp_seed seed                     - seed of the initial weights

  Level: beginner

  Notes:
  A program without a line for this library uses the type by `-dll_append /path/to/libpetscmuon.so` and
  `-regressor_type mlp`. It needs PETSc 3.24 or newer.

  The layers of the optimizer are W1, b1, W2 and so on. All keys of `Muon` have the prefix `regressor_mlp_`, for example
  `-regressor_mlp_muon_type ef21`. By default it takes 500 steps with rates of 0.05, and 0.01 for AdamW, which decrease to 0. Muon updates
  all matrices except the last, AdamW the rest; `-regressor_mlp_muon_layer_types` sets others.

  Each step uses all rows. Each rank computes the gradient of its own rows, weighted by their number. With a compressor
  the optimizer sends messages instead of gradients. Features and target are standardized over all rows, so that the
  loss is the unexplained part of the target's variance. All ranks start with the same weights. Each fit starts anew.

  From the first fit on the optimizer is composed with the regressor as "Muon". `PetscObjectQuery()` returns it, for
  `MuonGetLoss()` or `MuonGetTraffic()`.

  `MatConvert()` must be able to convert the matrix to `MATDENSE`. The target is one vector. There is no regularizer\: a weight
  set by `PetscRegressorSetRegularizerWeight()` is an error. Use `-regressor_mlp_muon_weight_decay` instead.

.seealso: `PetscRegressorSetType()`, `PetscRegressorFit()`, `PetscRegressorPredict()`, `Muon`, `MuonSetWorkerWeight()`, `PetscObjectQuery()`
M*/
static PetscErrorCode PetscRegressorCreate_MLP(PetscRegressor regressor)
{
  PetscRegressor_MLP *mlp;

  PetscFunctionBegin;
  PetscCall(PetscNew(&mlp));
  mlp->nlayers = 3;
  mlp->size[1] = mlp->size[2]    = 64;
  mlp->seed                      = 1;
  regressor->data                = (void *)mlp;
  regressor->ops->setup          = PetscRegressorSetUp_MLP;
  regressor->ops->setfromoptions = PetscRegressorSetFromOptions_MLP;
  regressor->ops->fit            = PetscRegressorFit_MLP;
  regressor->ops->predict        = PetscRegressorPredict_MLP;
  regressor->ops->view           = PetscRegressorView_MLP;
  regressor->ops->reset          = PetscRegressorReset_MLP;
  regressor->ops->destroy        = PetscRegressorDestroy_MLP;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*@
  PetscRegressorMLPRegister - Registers `PETSCREGRESSORMLP` as a type of `PetscRegressor`, if PETSc has that class

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
