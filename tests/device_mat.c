static char help[] = "Layers whose matrices are in the memory of a device, by matrices that answer as those of CUDA do, beside layers of matrices on the host: the same bits.\n\n";

#include <petscmuon.h>
#include <petscmuon/private/petscmuonimpl.h>

enum {
  NLAYERS = 3,
  STEPS   = 3,
  MOST    = 32
};

/* One of four ranks has no row of the last */
static const char *const names[NLAYERS] = {"wide", "tall", "few"};
static const PetscInt    rows[NLAYERS] = {13, 37, 3}, columns[NLAYERS] = {29, 8, 5}, gap[NLAYERS] = {0, 3, 1};

/*
   A stand-in for a matrix in the memory of a device: a MATSEQDENSE with the functions by which PETSc asks for
   such memory, those of 3.18 and of what came later. Its memory on the host has NaN
*/
typedef struct {
  Mat          A;
  PetscScalar *data;
  size_t       bytes;
} StandIn;

static const MuonDevice *device;
static StandIn           standin[MOST];
static PetscInt          nstandins, taken, spread;
static PetscBool         deficient, whole, ready;

static StandIn *Find(Mat A)
{
  for (PetscInt k = 0; k < nstandins; k++) {
    if (standin[k].A == A) return &standin[k];
  }
  return NULL;
}

static PetscErrorCode Take(Mat A, PetscScalar **array)
{
  PetscFunctionBegin;
  *array = Find(A)->data;
  taken++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TakeWith(Mat A, PetscScalar **array, PetscMemType *memtype)
{
  PetscFunctionBegin;
  PetscCall(Take(A, array));
  *memtype = PETSC_MEMTYPE_CUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GiveBack(Mat A, PetscScalar **array)
{
  PetscFunctionBegin;
  PetscCheck(*array == Find(A)->data, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Another pointer comes back");
  *array = NULL;
  taken--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(Mat, MatDuplicateOption, Mat *);

static PetscErrorCode MakeStandIn(Mat A)
{
  StandIn     *s = &standin[nstandins++];
  PetscInt     m, n, ld;
  PetscScalar *host;

  PetscFunctionBegin;
  PetscCheck(nstandins <= MOST, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many matrices");
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatDenseGetLDA(A, &ld));
  PetscCall(MatDenseGetArray(A, &host));
  for (PetscInt k = 0; k < m * n; k++) host[k % m + k / m * ld] = (PetscScalar)NAN;
  PetscCall(MatDenseRestoreArray(A, &host));
  s->A     = A;
  s->bytes = (size_t)(ld * n) * sizeof(PetscScalar);
  s->data  = (PetscScalar *)device->allocate(s->bytes);
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, "seqdensecuda"));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDenseCUDAGetArray_C", Take));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDenseCUDAGetArrayRead_C", Take));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDenseCUDARestoreArray_C", GiveBack));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDenseCUDARestoreArrayRead_C", GiveBack));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDenseGetArrayAndMemType_C", TakeWith));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDenseGetArrayReadAndMemType_C", TakeWith));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDenseRestoreArrayAndMemType_C", GiveBack));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDenseRestoreArrayReadAndMemType_C", GiveBack));
  PetscCall(MatSetOperation(A, MATOP_DUPLICATE, (void (*)(void))Duplicate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(Mat A, MatDuplicateOption option, Mat *B)
{
  PetscInt m, n;

  PetscFunctionBegin;
  (void)option;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, m, n, NULL, B));
  PetscCall(MakeStandIn(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of one rank, or with its rows on several */
static PetscErrorCode MakeMat(MPI_Comm comm, PetscInt l, PetscBool far, Mat *A)
{
  PetscMPIInt size;
  Mat         here;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows[l], columns[l]));
  PetscCall(MatSetType(*A, MATDENSE));
  if (size == 1) PetscCall(MatDenseSetLDA(*A, rows[l] + gap[l]));
  PetscCall(MatSetUp(*A));
  PetscCall(MatDenseGetLocalMatrix(*A, &here));
  if (far) PetscCall(MakeStandIn(here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between the rows here of a matrix, wherever it is, and numbers without gaps on the host */
static PetscErrorCode Move(Mat A, PetscBool out, PetscScalar x[], PetscInt *first, PetscInt *count)
{
  StandIn     *s;
  Mat          here;
  PetscInt     m, n, ld;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLocalMatrix(A, &here));
  PetscCall(MatGetSize(here, &m, &n));
  PetscCall(MatDenseGetLDA(here, &ld));
  s = Find(here);
  if (s != NULL) {
    PetscCall(PetscMalloc1(ld * n, &array));
    device->copy(s->bytes, s->data, array);
  } else PetscCall(MatDenseGetArray(A, &array));
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(out ? x + j * m : array + j * ld, out ? array + j * ld : x + j * m, m));
  if (s != NULL) {
    if (out == PETSC_FALSE) device->copy(s->bytes, array, s->data);
    PetscCall(PetscFree(array));
  } else PetscCall(MatDenseRestoreArray(A, &array));
  PetscCall(MatGetOwnershipRange(A, first, NULL));
  *count = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of rank one where all columns are the same */
static PetscScalar Coefficient(PetscInt l, PetscInt k, PetscInt rank, PetscInt step)
{
  if (deficient) k %= rows[l];
  return PetscSinReal((PetscReal)(1 + k % 17) * (PetscReal)(3 + l + 5 * rank + step)) / (PetscReal)(1 + k % 3);
}

/* |W|^2 / 2 + <C, W>, whose gradient is W + C. Losses are averaged over the ranks, and those of a worker have parts of one */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  PetscInt    step;
  PetscMPIInt rank;

  PetscFunctionBegin;
  (void)ctx;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MuonGetStepNumber(muon, &step));
  *loss = 0;
  for (PetscInt l = 0; l < NLAYERS; l++) {
    PetscScalar x[37 * 29];
    PetscInt    first, m;
    MuonLayer   layer;
    Mat         W, G;

    PetscCall(MuonGetLayer(muon, l, &layer));
    PetscCall(MuonLayerGetWeights(layer, &W));
    PetscCall(MuonLayerGetGradient(layer, &G));
    PetscCall(Move(W, PETSC_TRUE, x, &first, &m));
    if (whole) {
      for (PetscInt k = 0; k < rows[l] * columns[l]; k++) x[k] = Coefficient(l, k, (PetscInt)rank, step);
      PetscCall(Move(G, PETSC_FALSE, x, &first, &m));
      PetscCall(PetscObjectStateIncrease((PetscObject)G));
      if (ready) PetscCall(MuonLayerGradientReady(layer));
      continue;
    }
    for (PetscInt k = 0; k < m * columns[l]; k++) {
      const PetscScalar c = Coefficient(l, first + k % m + k / m * rows[l], (PetscInt)rank / spread, step);

      *loss += (PetscReal)spread * x[k] * (x[k] / 2 + c);
      x[k] += c;
    }
    PetscCall(Move(G, PETSC_FALSE, x, &first, &m));
    PetscCall(PetscObjectStateIncrease((PetscObject)G));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The weights, and those after one more step, are the same when the optimizer goes back to a checkpoint */
static PetscErrorCode GoBack(Muon muon, Mat W[])
{
  PetscScalar was[2][NLAYERS][37 * 29], is[37 * 29];

  PetscFunctionBegin;
  PetscCall(MuonSaveCheckpoint(muon, "kept", 1));
  for (PetscInt round = 0; round < 2; round++) {
    if (round == 1) PetscCall(MuonLoadCheckpoint(muon, "kept"));
    for (PetscInt steps = 0; steps < 2; steps++) {
      if (steps == 1) PetscCall(MuonStep(muon));
      for (PetscInt l = 0; l < NLAYERS; l++) {
        PetscInt first, m;

        PetscCall(Move(W[l], PETSC_TRUE, round == 0 ? was[steps][l] : is, &first, &m));
        PetscCheck(round == 0 || memcmp(was[steps][l], is, (size_t)(m * columns[l]) * sizeof(is[0])) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %s: other weights %" PetscInt_FMT " steps after the checkpoint", names[l], steps);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Muon        muon[2];
  Mat         W[2][NLAYERS], G[NLAYERS], wrong = NULL;
  PetscScalar x[37 * 29], y[37 * 29];
  PetscBool   given = PETSC_FALSE, test = PETSC_FALSE, same;
  PetscInt    error     = -1, first, m;
  PetscReal   tolerance = 0;
  PetscMPIInt rank;
  MPI_Comm    comm;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  nstandins = taken = 0;
  spread            = 1;
  deficient = whole = ready = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-given", &given, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-test", &test, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-wrong", &error, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-spread", &spread, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-deficient", &deficient, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-whole", &whole, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ready", &ready, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  device = MuonDeviceGet();
  PetscCheck(device != NULL && device->start() == NULL, PETSC_COMM_WORLD, PETSC_ERR_SUP, "No device");
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank / (PetscMPIInt)spread, rank, &comm));
  for (int far = 0; far < 2; far++) {
    PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon[far]));
    for (PetscInt l = 0; l < NLAYERS; l++) {
      MuonLayer layer;

      PetscCall(MakeMat(comm, l, far ? PETSC_TRUE : PETSC_FALSE, &W[far][l]));
      PetscCall(MatGetLocalSize(W[far][l], &m, NULL));
      PetscCall(MatGetOwnershipRange(W[far][l], &first, NULL));
      for (PetscInt k = 0; k < m * columns[l]; k++) x[k] = Coefficient(l, first + k % m + k / m * rows[l], 1, 100);
      PetscCall(Move(W[far][l], PETSC_FALSE, x, &first, &m));
      PetscCall(MuonAddLayer(muon[far], names[l], W[far][l], &layer));
      if (whole) PetscCall(MuonLayerSetWholeGradient(layer, PETSC_TRUE));
      if (far == 0 || given == PETSC_FALSE) continue;
      PetscCall(MakeMat(whole ? PETSC_COMM_SELF : comm, l, PETSC_TRUE, &G[l]));
      PetscCall(MuonLayerSetGradient(layer, G[l]));
    }
    PetscCall(MuonSetObjectiveAndGradient(muon[far], Objective, NULL));
    PetscCall(MuonSetFromOptions(muon[far]));
  }
  if (error >= 0) {
    MuonLayer layer;

    PetscCall(MakeMat(comm, 0, error == 0 ? PETSC_TRUE : PETSC_FALSE, &wrong));
    PetscCall(MuonGetLayer(muon[error], 0, &layer));
    PetscCall(MuonLayerSetGradient(layer, wrong));
  }
  for (PetscInt step = 0; step < STEPS; step++) {
    PetscObjectState before, after;

    PetscCall(PetscObjectStateGet((PetscObject)W[1][0], &before));
    for (int far = 0; far < 2; far++) PetscCall(MuonStep(muon[far]));
    PetscCall(PetscObjectStateGet((PetscObject)W[1][0], &after));
    PetscCheck(after > before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step wrote to a matrix whose state is the same");
    PetscCheck(taken == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " arrays did not come back", taken);
    for (PetscInt l = 0; l < NLAYERS; l++) {
      PetscCall(Move(W[0][l], PETSC_TRUE, x, &first, &m));
      PetscCall(Move(W[1][l], PETSC_TRUE, y, &first, &m));
      for (PetscInt k = 0; k < m * columns[l]; k++)
        PetscCheck(PetscAbsReal(x[k] - y[k]) <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT ", layer %s, entry %" PetscInt_FMT ": %.17g on the host and %.17g on the device", step, names[l], k, (double)x[k], (double)y[k]);
    }
  }
  /* All else that looks at the weights where they are */
  if (test) {
    PetscViewer viewer;
    PetscReal   off;
    Mat         full, read;

    PetscCall(MuonTestGradient(muon[1], &off));
    PetscCheck(off <= (PetscReal)(sizeof(PetscScalar) == sizeof(float) ? 1e-2 : 1e-6), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The gradient is off by %g", (double)off);
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "weights.bin", FILE_MODE_WRITE, &viewer));
    PetscCall(MuonViewWeights(muon[1], viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, "weights.bin", FILE_MODE_READ, &viewer));
    for (PetscInt l = 0; l < NLAYERS; l++) {
      MuonLayer layer;

      PetscCall(MuonGetLayer(muon[1], l, &layer));
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows[l], columns[l], NULL, &full));
      PetscCall(MuonLayerGetFullWeights(layer, full));
      PetscCall(MatCreate(PETSC_COMM_SELF, &read));
      PetscCall(MatSetType(read, MATSEQDENSE));
      PetscCall(MatLoad(read, viewer));
      PetscCall(MatEqual(full, read, &same));
      PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Other weights in the file");
      PetscCall(Move(full, PETSC_TRUE, x, &first, &m));
      PetscCall(Move(W[1][l], PETSC_TRUE, y, &first, &m));
      for (PetscInt k = 0; k < m * columns[l]; k++) PetscCheck(x[first + k % m + k / m * rows[l]] == y[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Other weights in their copy");
      PetscCall(MatDestroy(&full));
      PetscCall(MatDestroy(&read));
    }
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(GoBack(muon[1], W[1]));
  }
  for (int far = 0; far < 2; far++) {
    PetscCall(MuonDestroy(&muon[far]));
    for (PetscInt l = 0; l < NLAYERS; l++) PetscCall(MatDestroy(&W[far][l]));
  }
  for (PetscInt l = 0; l < NLAYERS && given; l++) PetscCall(MatDestroy(&G[l]));
  PetscCallMPI(MPI_Comm_free(&comm));
  for (PetscInt k = 0; k < nstandins; k++) device->release(standin[k].data);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  testset:
    requires: kokkos
    output_file: output/kernels_ok.out
    args: -muon_learning_rate 0.1 -lmo_type frobenius

    # The gradient in the layer's matrix, or in the caller's
    table: suffix | nsize | args
      ef21  | 2 | -ef21_compressor topk -ef21_server_compressor topk -given {{0 1}}
      dense |   | -muon_type dense -muon_nan zero -muon_weight_decay 0.1 -muon_weight_decay_style coupled -given {{0 1}}
      # A sum by MPI reads the gradient where it is
      sum   | 2 | -muon_type dense -muon_exchange_mode reduce
    test:
      suffix: looks
      args: -test
      filter: grep -v gradient

    # Rows on the ranks of two workers, or of one
    test:
      suffix: spread
      nsize: 4
      args: -spread 2 -ef21_compressor topk -ef21_server_compressor topk -muon_assembly {{allgather owner gram}} -test -given
      filter: grep -v gradient
    table: suffix | nsize | args | filter
      slices | 4 | -spread 4 -muon_type dense -lmo_type {{row column rowsum}} -muon_assembly gram |
      # Gradients of all rows on every rank, of which the sum begins in the callback, or in the step
      summed | 4 | -spread 2 -muon_type dense -whole -given -ready {{0 1}}                        |
      rows   | 2 | -muon_type dense -muon_exchange_type rows -test                                | grep -v gradient
    test:
      suffix: votes
      nsize: 4
      args: -spread 2 -muon_type sign -lmo_type spectral -sign_direction momentum -sign_update {{none frobenius spectral}} -muon_assembly allgather

  # Products in another order, see device_polar of equivalence
  testset:
    requires: kokkos
    nsize: 4
    output_file: output/kernels_ok.out
    args: -muon_learning_rate 0.1 -lmo_polar_precision double -tolerance 1e-6

    table: suffix | requires | args
      panel     |        | -spread 4 -muon_type dense -lmo_polar_type {{newtonschulz gram qdwh zolotarev}} -muon_assembly gram
      # A decomposition takes over
      deficient |        | -spread 4 -muon_type dense -lmo_polar_type qdwh -muon_assembly gram -deficient
      # Where PetscScalar is single, so is the decomposition
      whole     | double | -spread 2 -lmo_polar_type svd -muon_assembly owner -muon_assembly_precision bf16
      majority  |        | -spread 2 -muon_type sign -sign_update polar -lmo_polar_type newtonschulz -muon_assembly allgather

  testset:
    requires: kokkos

    table: suffix | args | error
      host   | -wrong 1 | Layer "wide": a gradient in the memory of the host, expected that of the device
      device | -wrong 0 | Layer "wide": a gradient in the memory of the device, expected that of the host

TEST*/
