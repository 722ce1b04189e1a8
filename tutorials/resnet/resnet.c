static char help[] = "ResNet-18 on images of CIFAR-10's binary format, with SignMuon, Muon, AdamW or gradient descent by options alone.\n\n"
                     "  mpiexec -n 2 ./resnet -resnet_data cifar-10-batches-bin -muon_type sign -muon_learning_rate 1e-3\n\n"
                     "Without -resnet_data the program makes images of that format, ten kinds of gratings in noise. Every image counts alike, whatever the number of ranks.\n\n";

#include "cifar.h"

typedef struct {
  Net         net;
  Images      train, test;
  PetscInt    batch, share; /* images of a step, and those of this rank */
  PetscInt   *order;        /* of an epoch */
  PetscInt    epoch;        /* that it is the order of */
  PetscInt    seed;
  PetscMPIInt rank, size;
  NetReal    *x;
  PetscInt   *labels;
  double      sum, accuracy; /* of losses since the last test; of that test */
} Task;

/* Every epoch has an order of its own, the same on all ranks */
static void Shuffle(Task *task, PetscInt epoch)
{
  unsigned long long state = ((unsigned long long)task->seed << 32) + (unsigned long long)epoch;

  for (PetscInt i = 0; i < task->train.n; i++) task->order[i] = i;
  for (PetscInt i = task->train.n - 1; i > 0; i--) {
    const PetscInt j = (PetscInt)(ImagesRandom(&state) * (double)(i + 1)), k = task->order[i];

    task->order[i] = task->order[j];
    task->order[j] = k;
  }
  task->epoch = epoch;
}

/* This rank's mean loss over its part of the step's batch, and its gradient */
static PetscErrorCode FormLossAndGradient(Muon muon, PetscReal *loss, void *ctx)
{
  Task          *task    = (Task *)ctx;
  const PetscInt batches = task->train.n / task->batch;
  PetscInt       step, right;
  double         value;

  PetscFunctionBeginUser;
  PetscCall(MuonGetStepNumber(muon, &step));
  if (step / batches != task->epoch) Shuffle(task, step / batches);
  for (PetscInt i = 0; i < task->share; i++) ImagesGet(&task->train, task->order[step % batches * task->batch + task->rank * task->share + i], task->x + i * CIFAR_PIXELS, &task->labels[i]);
  PetscCall(NetLoss(&task->net, task->share, task->x, task->labels, PETSC_TRUE, &value, &right));
  *loss = (PetscReal)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean loss over all test images, and the part of them that is known */
static PetscErrorCode Test(Muon muon, PetscReal *loss, void *ctx)
{
  Task  *task   = (Task *)ctx;
  double sum[2] = {0, 0};

  PetscFunctionBeginUser;
  for (PetscInt first = task->rank; first < task->test.n; first += task->size * task->share) {
    const PetscInt n = PetscMin(task->share, (task->test.n - 1 - first) / task->size + 1);
    PetscInt       right;
    double         mean;

    for (PetscInt i = 0; i < n; i++) ImagesGet(&task->test, first + i * task->size, task->x + i * CIFAR_PIXELS, &task->labels[i]);
    PetscCall(NetLoss(&task->net, n, task->x, task->labels, PETSC_FALSE, &mean, &right));
    sum[0] += mean * (double)n;
    sum[1] += (double)right;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  *loss          = (PetscReal)(sum[0] / (double)task->test.n);
  task->accuracy = sum[1] / (double)task->test.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line for each epoch, as a monitor of the optimizer: step s is done, with the loss at the weights before it */
static PetscErrorCode Progress(Muon muon, PetscInt s, PetscReal loss, void *ctx)
{
  Task          *task  = (Task *)ctx;
  const PetscInt steps = task->train.n / task->batch;
  PetscInt       tested;
  PetscReal      testloss;

  PetscFunctionBeginUser;
  task->sum += (double)loss;
  PetscCall(MuonGetValidation(muon, &testloss, &tested));
  if (tested != s) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "epoch %" PetscInt_FMT " loss %.4f, test: loss %.4f, right %.4f\n", s / steps + 1, task->sum / (double)(s % steps + 1), (double)testloss, task->accuracy));
  task->sum = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Images of a folder's files, or made ones, which a folder may get as files first */
static PetscErrorCode GetImages(const char folder[], PetscBool write, PetscInt made, Task *task)
{
  char path[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  if (write == PETSC_TRUE || folder[0] == '\0') {
    PetscCall(ImagesMake(made, 1, &task->train));
    PetscCall(ImagesMake(made / 4, 2, &task->test));
  }
  for (PetscInt b = 1; b <= 6 && folder[0] != '\0'; b++) {
    Images   *images = b < 6 ? &task->train : &task->test;
    PetscBool exists;

    if (b < 6) PetscCall(PetscSNPrintf(path, sizeof(path), "%s/data_batch_%" PetscInt_FMT ".bin", folder, b));
    else PetscCall(PetscSNPrintf(path, sizeof(path), "%s/test_batch.bin", folder));
    if (write == PETSC_TRUE && (b == 1 || b == 6)) {
      if (task->rank == 0) PetscCall(ImagesWrite(images, path));
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      images->n = 0;
    }
    PetscCall(PetscTestFile(path, '\0', &exists));
    if (b == 1 || b == 6 || (exists == PETSC_TRUE && write == PETSC_FALSE)) PetscCall(ImagesRead(path, images));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " images to train and %" PetscInt_FMT " to test%s%s\n", task->train.n, task->test.n,
                        write == PETSC_TRUE || folder[0] == '\0' ? ", made by this program: gratings in noise, no photographs" : " of ", write == PETSC_TRUE ? "" : folder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Task                task;
  Muon                muon;
  PetscInt            width = 8, epochs = 3, made = 2000, steps;
  double              sent[3];
  char                folder[PETSC_MAX_PATH_LEN] = "";
  MuonConvergedReason reason;
  MuonTraffic         traffic;
  PetscBool           write;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMemzero(&task, sizeof(task)));
  task.batch = 32;
  task.seed  = 1;
  task.epoch = -1;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "ResNet-18", NULL);
  PetscCall(PetscOptionsInt("-resnet_width", "Channels of the first blocks; 64 is ResNet-18", NULL, width, &width, NULL));
  PetscCall(PetscOptionsInt("-resnet_batch", "Images of a step, of all ranks together", NULL, task.batch, &task.batch, NULL));
  PetscCall(PetscOptionsInt("-resnet_epochs", "Times that each image is used", NULL, epochs, &epochs, NULL));
  PetscCall(PetscOptionsInt("-resnet_seed", "Seed of the weights and of the order of the images", NULL, task.seed, &task.seed, NULL));
  PetscCall(PetscOptionsInt("-resnet_images", "Images that are made where there are no files, and a quarter more to test", NULL, made, &made, NULL));
  PetscCall(PetscOptionsString("-resnet_data", "Folder of data_batch_1.bin and test_batch.bin", NULL, folder, folder, sizeof(folder), NULL));
  PetscCall(PetscOptionsString("-resnet_write", "Folder that gets the images that are made, from which they are read then", NULL, folder, folder, sizeof(folder), &write));
  PetscOptionsEnd();
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &task.rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &task.size));
  PetscCheck(task.batch > 0 && task.batch % task.size == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-resnet_batch %" PetscInt_FMT " must be a positive multiple of the %d ranks", task.batch, task.size);
  PetscCall(GetImages(folder, write, made, &task));
  PetscCheck(task.train.n >= task.batch, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-resnet_batch %" PetscInt_FMT " is more than the %" PetscInt_FMT " images", task.batch, task.train.n);
  task.share = task.batch / task.size;
  steps      = task.train.n / task.batch;
  PetscCall(PetscMalloc3(task.train.n, &task.order, task.share * CIFAR_PIXELS, &task.x, task.share, &task.labels));

  /* Matrices and kernels by the norm ball or by votes; what has an entry for each channel by AdamW, or by the optimizer that options name for all */
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(NetCreate(muon, width, task.share, task.seed, &task.net));
  PetscCall(MuonSetType(muon, MUONDENSE));
  PetscCall(MuonSetLayerTypes(muon, "*.norm:adamw,*.bias:adamw"));
  PetscCall(MuonSetAdamW(muon, (PetscReal)3e-3, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetSchedule(muon, MUON_SCHEDULE_LINEAR, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(muon, epochs * steps));
  PetscCall(MuonSetObjectiveAndGradient(muon, FormLossAndGradient, &task));
  PetscCall(MuonSetValidation(muon, Test, steps, &task));
  PetscCall(MuonMonitorSet(muon, Progress, &task, NULL));
  PetscCall(MuonSetFromOptions(muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonGetConvergedReason(muon, &reason));
  PetscCall(MuonGetStepNumber(muon, &steps));
  PetscCheck(reason >= 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Stopped at step %" PetscInt_FMT ": %s", steps, MuonConvergedReasons[reason]);
  PetscCall(MuonGetTraffic(muon, &traffic));
  sent[0] = traffic.total_up[1];
  sent[1] = traffic.total_down[1];
  sent[2] = traffic.dense * (double)PetscMax(steps, 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sent, 3, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "sent %.3f of fp32 up, %.3f down\n", sent[0] / sent[2], sent[1] / sent[2]));

  PetscCall(MuonDestroy(&muon));
  PetscCall(NetDestroy(&task.net));
  PetscCall(PetscFree3(task.order, task.x, task.labels));
  PetscCall(PetscFree(task.train.records));
  PetscCall(PetscFree(task.test.records));
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # The same losses on any number of ranks, and with images that went through files
  testset:
    args: -resnet_width 4 -resnet_images 32 -resnet_batch 8 -resnet_epochs 1 -muon_learning_rate 0.02
    filter: sed -e 1d -e /sent/d
    output_file: output/resnet_ranks.out
    tolerance: 1e-3
    table: suffix | nsize | args
      ranks | {{1 2}} |
      files |         | -resnet_write .
  test:
    suffix: sign
    nsize: 3
    args: -resnet_width 4 -resnet_images 12 -resnet_batch 6 -resnet_epochs 1 -muon_type sign -muon_learning_rate 1e-3 -muon_view
    filter: grep -o -E -e '^[0-9]+ images to .* test' -e 'b2.first.kernel, 8 x 36, lmo' -e 'b2.first.norm, 8 x 2, adamw'
  table: suffix | args | error
    bad_batch | -resnet_batch 0                         | -resnet_batch 0 must be a positive multiple of the 1 ranks
    bad_width | -resnet_images 32 -resnet_width 6       | -resnet_width 6 must be a positive multiple of 4
    bad_data  | -resnet_data ${PETSCMUON_DIR}/tutorials | tutorials/data_batch_1.bin: no such file
    few       | -resnet_images 8                        | -resnet_batch 32 is more than the 8 images

TEST*/
