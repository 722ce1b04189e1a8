static char help[] = "Checkpoints beside what equivalence compares: bytes of the program, weights alone, when steps write them, what a run begins with, files that are damaged, what does not fit: it is refused and changes nothing.\n";

#include "problem.h"
#include <petscmuon/private/muonimpl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define STEPS 4
#define BASE  "-muon_learning_rate 0.125 -muon_type ef21 -muon_exchange_type star -ef21_server_compressor topk -ef21_server_compressor_ratio 0.3 "

/* The run, and others: what they are refused with where the run was saved, and whether its weights alone are taken */
#define RUN BASE "-ef21_compressor topk -ef21_compressor_ratio 0.3 -muon_layer_types gain:adamw"
static const struct {
  const char *options, *words;
  PetscBool   weights;
} Others[] = {
  {RUN, NULL, PETSC_TRUE},
  {"-muon_learning_rate 0.125 -muon_type dense -muon_exchange_type star -muon_layer_types gain:adamw", "it has 0 of 36 entries of momentum of layer \"square\"", PETSC_TRUE},
  {BASE "-ef21_compressor topk -muon_layer_types gain:adamw -problem_layers square,tall,wide,row,gain", "of layer \"embed\", which the optimizer does not keep", PETSC_FALSE},
  {BASE "-ef21_compressor topk -problem_layers column", "of layer \"column\"", PETSC_FALSE},
  {BASE "-ef21_compressor topk -muon_layer_types gain:adamw -muon_momentum 0", "it has momentum of layer \"square\", which the optimizer does not keep", PETSC_TRUE},
  {BASE "-ef21_compressor topk -muon_layer_types gain:adamw -muon_state_precision single", "momentum of layer \"square\" has 8 bytes an entry and|-muon_restart_convert takes another precision", PETSC_TRUE},
  {BASE "-ef21_compressor rankk -muon_layer_types gain:adamw", NULL, PETSC_TRUE},
  {BASE "-ef21_compressor topk", "it has 0 of 11 entries of weights of layer \"gain\"", PETSC_TRUE},
  {BASE "-ef21_compressor topk -muon_layer_types gain:adamw -ef21_server_compressor identity", "it has weights of layer \"square\", which the optimizer does not keep", PETSC_TRUE},
};

static PetscErrorCode Steps(Problem *p, PetscInt steps)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < steps; s++) PetscCall(MuonStep(p->muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On every rank, with these words; nothing has changed */
static PetscErrorCode Refused(Problem *p, PetscBool load, const char folder[], const char words[])
{
  ProblemImage image;
  MuonTraffic  before, now;

  PetscFunctionBegin;
  PetscCall(ProblemTakeImage(p, &image));
  PetscCall(MuonGetTraffic(p->muon, &before));
  Fails(load ? MuonLoadCheckpoint(p->muon, folder) : MuonSaveCheckpoint(p->muon, folder, 1), FAILS_ANY, words);
  PetscCall(ProblemCheckImage(p, &image, folder, words));
  PetscCall(MuonGetTraffic(p->muon, &now));
  PetscCheck(memcmp(now.total_up, before.total_up, sizeof(now.total_up)) == 0 && memcmp(now.total_down, before.total_down, sizeof(now.total_down)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: other totals", folder);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a folder has a checkpoint of a step, with its counter */
static PetscErrorCode CheckThere(const char folder[], PetscInt step, PetscInt counter, PetscBool expected)
{
  char      path[PETSC_MAX_PATH_LEN];
  PetscBool there;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/step-%012d-%06d/manifest", folder, (int)step, (int)counter));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTestFile(path, 'r', &there));
  PetscCheck(there == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is %sthere", path, there ? "" : "not ");
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of a rank: as many as its number, with what says whose they are */
typedef struct {
  PetscMPIInt   rank;
  unsigned char mine[64];
  PetscMPIInt   ranks; /* that were there, after a load */
  PetscInt      fails; /* 1: to give, 2: to take */
} Bytes;

static PetscErrorCode Give(Muon muon, PetscInt64 *bytes, const void **data, void *ctx)
{
  Bytes   *b = (Bytes *)ctx;
  PetscInt step;

  PetscFunctionBegin;
  if (b->fails == 1) PetscFunctionReturn(PETSC_ERR_USER);
  PetscCall(MuonGetStepNumber(muon, &step));
  *bytes = b->rank;
  *data  = b->mine;
  for (PetscMPIInt k = 0; k < b->rank; k++) b->mine[k] = (unsigned char)(16 * step + b->rank);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Take(Muon muon, PetscMPIInt ranks, const PetscInt64 bytes[], const void *const data[], void *ctx)
{
  Bytes      *b = (Bytes *)ctx;
  PetscInt    step;
  PetscMPIInt size;

  PetscFunctionBegin;
  if (b->fails == 2) PetscFunctionReturn(PETSC_ERR_USER);
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)muon), &size));
  b->ranks = ranks;
  for (PetscMPIInt r = 0; r < ranks; r++) {
    if (ranks == size && r != b->rank) {
      PetscCheck(data[r] == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Bytes of rank %d", r);
      continue;
    }
    PetscCheck(bytes[r] == r, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " bytes of rank %d", bytes[r], r);
    for (PetscMPIInt k = 0; k < r; k++) PetscCheck(((const unsigned char *)data[r])[k] == 16 * step + r, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Byte %d of rank %d", k, r);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The program's bytes, on the same ranks and on one */
static PetscErrorCode CheckBytes(void)
{
  Problem p, q, r;
  Bytes   a = {0, {0}, 0, 0}, b = a;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, RUN));
  PetscCall(ProblemCreateWith(&q, RUN));
  PetscCall(ProblemCreateWith(&r, RUN));
  a.rank = b.rank = p.rank;
  Fails(MuonCheckpointRegister(p.muon, "a b", Give, Take, &a), FAILS_ANY, "the name \"a b\", expected at most 100 letters");
  PetscCall(MuonCheckpointRegister(p.muon, "first", Give, Take, &a));
  PetscCall(MuonCheckpointRegister(p.muon, "data.2", Give, Take, &a));
  PetscCall(MuonCheckpointRegister(p.muon, "data.2", Give, Take, &a));
  PetscCall(MuonCheckpointRegister(q.muon, "first", Give, Take, &b));
  PetscCall(Steps(&p, 2));
  PetscCall(MuonSaveCheckpoint(p.muon, "bytes", 2));
  Fails(MuonLoadCheckpoint(r.muon, "bytes"), FAILS_ANY, "it has program.first of layer \"\", which the optimizer does not keep");
  Fails(MuonLoadCheckpoint(q.muon, "bytes"), FAILS_ANY, "it has program.data.2 of layer \"\", which the optimizer does not keep");
  PetscCall(MuonCheckpointRegister(q.muon, "data.2", Give, Take, &b));
  PetscCall(MuonLoadCheckpoint(q.muon, "bytes"));
  PetscCheck(b.ranks == p.size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d ranks", b.ranks);
  /* Weights alone need none of them */
  PetscCall(MuonSetParameter(r.muon, "muon_restart_state", "weights"));
  PetscCall(MuonLoadCheckpoint(r.muon, "bytes"));
  PetscCall(ProblemDestroy(&r));
  /* Whoever fails, it is everybody's error; what is there stays */
  a.fails = p.rank == p.size - 1 ? 1 : 0;
  Fails(MuonSaveCheckpoint(p.muon, "bytes", 1), FAILS_ANY, "the routine that gives the bytes of the program \"first\" failed");
  b.fails = p.rank == 0 ? 2 : 0;
  Fails(MuonLoadCheckpoint(q.muon, "bytes"), FAILS_ANY, "the routine that takes the bytes of the program \"first\" failed");
  PetscCall(ProblemCheckStep(&q, 2));
  PetscCall(ProblemDestroy(&q));
  b.fails = 0;
  PetscCall(ProblemCreateWith(&q, RUN " -problem_mean 0"));
  PetscCall(MuonCheckpointRegister(q.muon, "first", Give, Take, &b));
  PetscCall(MuonCheckpointRegister(q.muon, "data.2", Give, Take, &b));
  PetscCall(MuonLoadCheckpoint(q.muon, "bytes"));
  PetscCheck(b.ranks == p.size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d ranks", b.ranks);
  PetscCall(ProblemDestroy(&q));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights alone: any optimizer at step 0, which then goes the way of one that began with them */
static PetscErrorCode CheckWeights(void)
{
  Problem   p, q, r;
  PetscReal error[2];

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, RUN));
  PetscCall(Steps(&p, STEPS));
  PetscCall(MuonEF21GetAggregateError(p.muon, &error[0]));
  PetscCall(MuonSaveCheckpoint(p.muon, "weights", 1));
  PetscCall(MuonEF21GetAggregateError(p.muon, &error[1]));
  PetscCheck(error[0] == -1 && error[1] >= 0 && error[1] <= 1000 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An aggregate error of %g, and of %g in a checkpoint", (double)error[0], (double)error[1]);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Others); k++) {
    for (PetscInt before = 0; before < (k < 2 ? 3 : 1) && Others[k].weights; before += 2) {
      PetscCall(ProblemCreateWith(&q, "%s%s -muon_restart_state weights", Others[k].options, before > 0 ? "" : " -muon_restart weights"));
      PetscCall(ProblemCreateWith(&r, Others[k].options));
      PetscCall(Steps(&q, before));
      for (PetscInt l = 0; l < p.n; l++) PetscCall(PetscMemcpy(r.layer[l].weights.data, p.layer[l].weights.data, (size_t)(p.layer[l].weights.ld * p.layer[l].shape->n) * sizeof(PetscScalar)));
      PetscCall(MuonWeightsChanged(r.muon));
      if (before > 0) PetscCall(MuonLoadCheckpoint(q.muon, "weights"));
      PetscCall(ProblemCheckStep(&q, 0));
      PetscCall(Steps(&q, 3));
      PetscCall(Steps(&r, 3));
      PetscCall(ProblemCheckSame(&q, &r, Others[k].options, "weights"));
      PetscCall(ProblemDestroy(&q));
      PetscCall(ProblemDestroy(&r));
    }
  }
  PetscCall(ProblemCreateWith(&q, "%s -muon_restart_state weights", Others[2].options));
  PetscCall(Refused(&q, PETSC_TRUE, "weights", "it has weights of layer \"embed\", which the optimizer does not keep"));
  /* A layer that the checkpoint has not */
  PetscCall(MuonSaveCheckpoint(q.muon, "fewer", 1));
  PetscCall(ProblemDestroy(&q));
  PetscCall(ProblemCreateWith(&q, "%s -muon_restart_state weights", Others[3].options));
  PetscCall(Refused(&q, PETSC_TRUE, "weights", "it has 0 of 6 entries of weights of layer \"column\""));
  PetscCall(ProblemDestroy(&q));
  PetscCall(MuonSetParameter(p.muon, "muon_restart_state", "weights"));
  PetscCall(Refused(&p, PETSC_TRUE, "fewer", "it has 0 of 30 entries of weights of layer \"embed\""));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights of layers that are whole, in rows on all ranks, or kept in rows, as matrices in one file: MatLoad() reads what the layers have */
static PetscErrorCode CheckMatrices(void)
{
  const char *const cuts[] = {"", " -problem_ranks 0", " -muon_exchange_type rows"};
  PetscViewer       viewer;
  Problem           p;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cuts); k++) {
    double weights[256], *at = weights;

    PetscCall(ProblemCreateWith(&p, "-muon_learning_rate 0.125 -muon_type dense -problem_layers mat,column,blocks,bias -muon_layer_blocks_blocks_rows 2,4,3%s", cuts[k]));
    PetscCall(Steps(&p, 1));
    PetscCall(ProblemGatherWeights(&p, PETSC_COMM_WORLD, weights));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "weights.bin", FILE_MODE_WRITE, &viewer));
    PetscCall(MuonViewWeights(p.muon, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, "weights.bin", FILE_MODE_READ, &viewer));
    for (PetscInt l = 0; l < p.n; l++) {
      const PetscInt m = p.layer[l].shape->m, n = p.layer[l].shape->n;
      ProblemArray   a = {NULL, PETSC_SCALAR, PETSC_FALSE, 0, m, m, 0, 0, NULL};
      Mat            W;

      PetscCall(MatCreate(PETSC_COMM_SELF, &W));
      PetscCall(MatSetType(W, MATSEQDENSE));
      PetscCall(MatLoad(W, viewer));
      PetscCall(ProblemOfMat(W, &a));
      for (PetscInt e = 0; e < m * n; e++)
        PetscCheck(ProblemGet(&a, e / n, e % n) == at[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " of layer %s in the file is %g, expected %g", e, p.layer[l].shape->name, ProblemGet(&a, e / n, e % n), at[e]);
      at += m * n;
      PetscCall(MatDestroy(&W));
    }
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Viewers that take no state, or no weights; a disk that is full */
static PetscErrorCode CheckViewers(void)
{
  Problem     p;
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, RUN));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "state.bin", FILE_MODE_WRITE, &viewer));
  Fails(MuonView(p.muon, viewer), FAILS_ANY, "A viewer of type binary: state goes to a folder, by -muon_checkpoint FOLDER");
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerCreate(PETSC_COMM_WORLD, &viewer));
  PetscCall(PetscViewerSetType(viewer, PETSCVIEWERVTK));
  Fails(MuonView(p.muon, viewer), FAILS_ANY, "Muon cannot be shown by a viewer of type vtk, expected ascii");
  Fails(MuonConvergedReasonView(p.muon, viewer), FAILS_ANY, "Muon cannot be shown by a viewer of type vtk, expected ascii");
  PetscCall(PetscViewerDestroy(&viewer));
  Fails(MuonViewWeights(p.muon, PETSC_VIEWER_STDOUT_WORLD), FAILS_ANY, "A viewer of type ascii, expected one of type binary");
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "state.bin", FILE_MODE_READ, &viewer));
  Fails(MuonViewWeights(p.muon, viewer), FAILS_ANY, "A viewer that was opened to read");
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "/dev/full", FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  Fails(MuonViewWeights(p.muon, viewer), FAILS_ANY, "/dev/full: cannot write to it: No space left on device");
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All bytes of a file, when all ranks have come so far */
static PetscErrorCode Bytewise(const char path[], size_t room, void *bytes, size_t *length)
{
  FILE *file;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  file = fopen(path, "rb");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", path);
  *length = fread(bytes, 1, room, file);
  (void)fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A run that is interrupted in a row, behind its checkpoint, and one that was not, have the same file; what
   another run left is gone
*/
static PetscErrorCode CheckFiles(void)
{
  const char *const options[] = {" -muon_max_steps 8 -muon_monitor_csv whole.csv", " -muon_max_steps 5 -muon_checkpoint files -muon_checkpoint_interval 3 -muon_monitor_csv resumed.csv",
                                 " -muon_max_steps 8 -muon_checkpoint files -muon_checkpoint_interval 3 -muon_monitor_csv resumed.csv -muon_restart files",
                                 " -muon_max_steps 8 -muon_checkpoint files -muon_checkpoint_interval 3 -muon_monitor_csv resumed.csv"};
  static char       whole[1 << 16], resumed[1 << 16];
  size_t            expected = 0, length;
  Problem           p;

  PetscFunctionBegin;
  for (int run = 0; run < 4; run++) {
    PetscCall(ProblemCreateWith(&p, RUN " -muon_schedule constant -problem_setup 0%s", options[run]));
    if (run == 1) {
      FILE *file;

      /* A job that is killed: its last checkpoint is of step 3 */
      PetscCall(Steps(&p, 5));
      PetscCall(ProblemDestroy(&p));
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      file = p.rank == 0 ? fopen("resumed.csv", "ab") : NULL;
      if (file != NULL) (void)fprintf(file, "5,0.1");
      if (file != NULL) (void)fclose(file);
      continue;
    }
    if (run == 2) PetscCall(MuonStep(p.muon)); /* a program that loops over steps calls no MuonSetUp() */
    PetscCall(MuonSolve(p.muon));
    PetscCall(ProblemDestroy(&p));
    PetscCall(Bytewise(run == 0 ? "whole.csv" : "resumed.csv", sizeof(whole), run == 0 ? whole : resumed, run == 0 ? &expected : &length));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCheck(run == 0 || (length == expected && memcmp(whole, resumed, length) == 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The file of run %d is\n%s, expected\n%s", run, resumed, whole);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Time that is always up, and none; what is listed where options are others is compared by the runner */
static PetscErrorCode CheckSeconds(void)
{
  Problem p, q;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, RUN " -muon_checkpoint seconds"));
  PetscCall(MuonSetParameter(p.muon, "muon_checkpoint_seconds", "1e-30"));
  PetscCall(Steps(&p, 3));
  PetscCall(MuonSetParameter(p.muon, "muon_checkpoint_seconds", "0"));
  PetscCall(Steps(&p, 1));
  PetscCall(ProblemCreateWith(&q, RUN " -muon_learning_rate 0.1 -muon_schedule cosine -muon_max_steps 77 -muon_layer_tall_scale 4 -muon_layer_square_learning_rate 0.3"));
  PetscCall(MuonLoadCheckpoint(q.muon, "seconds"));
  PetscCall(ProblemCheckStep(&q, 3));
  PetscCall(Steps(&q, 1));
  PetscCall(ProblemDestroy(&p));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same command line each time: nothing is there, then what was left after 5 steps, then the end */
static PetscErrorCode CheckRestart(void)
{
  const int last = 7, begins[] = {0, 5, last};
  double    a[256], b[256];
  Problem   p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, RUN " -muon_max_steps 7 -muon_schedule constant"));
  PetscCall(MuonSolve(p.muon));
  PetscCall(ProblemGatherWeights(&p, PETSC_COMM_SELF, a));
  PetscCall(ProblemDestroy(&p));
  for (int job = 0; job < 3; job++) {
    PetscCall(ProblemCreateWith(&p, RUN " -muon_checkpoint jobs -muon_checkpoint_interval 2 -muon_restart jobs -muon_restart_if_present -muon_schedule constant -muon_max_steps %d", job == 0 ? 5 : last));
    PetscCall(ProblemCheckStep(&p, begins[job]));
    PetscCall(MuonSolve(p.muon));
    PetscCall(ProblemGatherWeights(&p, PETSC_COMM_SELF, b));
    PetscCheck(job == 0 || memcmp(a, b, 156 * sizeof(*a)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Job %d ends somewhere else", job);
    PetscCall(ProblemDestroy(&p));
    if (job > 0) continue;
    PetscCall(CheckThere("jobs", 2, 1, PETSC_FALSE));
    PetscCall(CheckThere("jobs", 4, 2, PETSC_TRUE));
    PetscCall(CheckThere("jobs", 5, 3, PETSC_TRUE));
  }
  /* No step, no checkpoint */
  PetscCall(CheckThere("jobs", 6, 4, PETSC_TRUE));
  PetscCall(CheckThere("jobs", last, 5, PETSC_TRUE));
  PetscCall(CheckThere("jobs", last, 6, PETSC_FALSE));
  /* After a reset a run is new, until another folder is named */
  PetscCall(ProblemCreateWith(&p, RUN " -muon_restart jobs"));
  PetscCall(MuonReset(p.muon));
  PetscCall(MuonSetUp(p.muon));
  PetscCall(ProblemCheckStep(&p, 0));
  PetscCall(MuonSetRestart(p.muon, "jobs/"));
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemCheckStep(&p, last + 1));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last rank asks */
static PetscErrorCode CheckRequest(void)
{
  Problem p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, RUN " -muon_checkpoint asked -problem_bad 3"));
  PetscCall(MuonStep(p.muon));
  if (p.rank == p.size - 1) MuonCheckpointRequest(p.muon);
  PetscCall(MuonStep(p.muon));
  PetscCall(CheckThere("asked", 2, 1, PETSC_TRUE));
  PetscCall(MuonStep(p.muon));
  PetscCall(CheckThere("asked", 3, 2, PETSC_FALSE));
  /* A step that diverges writes none; whoever asked gets the next one */
  if (p.rank == 0) MuonCheckpointRequest(p.muon);
  PetscCall(MuonStep(p.muon));
  PetscCall(CheckThere("asked", 3, 2, PETSC_FALSE));
  PetscCall(MuonStep(p.muon));
  PetscCall(CheckThere("asked", 4, 2, PETSC_TRUE));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On every rank, and once more where it is tried again */
static PetscErrorCode CheckSteps(void)
{
  Problem p;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, RUN " -muon_restart nowhere -problem_setup 0"));
  for (PetscInt k = 0; k < 2; k++) {
    Fails(MuonStep(p.muon), FAILS_ANY, "nowhere: cannot list the folder: No such file or directory");
  }
  PetscCall(MuonSetRestart(p.muon, ""));
  PetscCall(MuonStep(p.muon));
  /* Folders that differ are found before anybody writes */
  for (int none = 1; none >= 0 && p.size > 1; none--) {
    PetscCall(MuonSetCheckpoint(p.muon, p.rank == 0 ? "one" : none ? "" : "two", 1));
    Fails(MuonStep(p.muon), FAILS_ANY, "differs between the ranks since the last step: -muon_checkpoint ");
  }
  PetscCall(ProblemCheckStep(&p, 1));
  PetscCall(ProblemDestroy(&p));
  /* Behind the last step that has a number */
  PetscCall(ProblemCreateWith(&p, RUN));
  PetscCall(MuonSetStepNumber(p.muon, PETSC_MAX_INT));
  Fails(MuonStep(p.muon), FAILS_ANY, "is the last that this PETSc's integers can count");
  PetscCall(ProblemCheckStep(&p, PETSC_MAX_INT));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0 alone writes so many bytes of a file over those of another, or removes it where there are none */
static PetscErrorCode Replace(const char path[], size_t length, const void *bytes)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCheck(rank > 0 || length > 0 || remove(path) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", path);
  if (rank == 0 && length > 0) {
    FILE *file = fopen(path, "wb");

    PetscCheck(file != NULL && fwrite(bytes, 1, length, file) == length, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", path);
    (void)fclose(file);
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flips a bit in the middle of a file */
static PetscErrorCode Damage(const char path[])
{
  static unsigned char bytes[1 << 16];
  size_t               length;

  PetscFunctionBegin;
  PetscCall(Bytewise(path, sizeof(bytes), bytes, &length));
  bytes[100] ^= 4;
  PetscCall(Replace(path, length, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckRefused(void)
{
  Problem p, q, r;

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, RUN));
  PetscCall(ProblemCreateWith(&q, RUN));
  PetscCall(Refused(&p, PETSC_TRUE, "nowhere", "nowhere: cannot list the folder: No such file or directory"));
  PetscCall(Refused(&p, PETSC_FALSE, "nowhere/else", "nowhere/else: cannot make the folder: No such file or directory"));
  PetscCall(Steps(&p, 1));
  PetscCall(MuonSaveCheckpoint(p.muon, "refused", 2));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(Others); k++) {
    if (Others[k].words == NULL || (strstr(Others[k].options, "single") != NULL && PetscDefined(USE_REAL_SINGLE))) continue;
    for (PetscInt before = 0; before < 2; before++) { /* with state that was made, and with none */
      PetscCall(ProblemCreateWith(&r, Others[k].options));
      PetscCall(Steps(&r, before));
      PetscCall(Refused(&r, PETSC_TRUE, "refused", Others[k].words));
      PetscCall(ProblemDestroy(&r));
    }
  }
  /* The folder is the first optimizer's until that is destroyed */
  PetscCall(Refused(&q, PETSC_FALSE, "refused/", "refused/lock: the folder is in use by another job (host "));
  PetscCall(Steps(&p, 1));
  PetscCall(MuonSaveCheckpoint(p.muon, "refused//", 2));
  PetscCall(Steps(&p, 1));
  PetscCall(MuonSaveCheckpoint(p.muon, "refused", 2));
  /* The latest is damaged, then the one before it too, which leaves none: the first of three was removed */
  PetscCall(Damage("refused/step-000000000003-000003/rank-000000"));
  PetscCall(MuonLoadCheckpoint(q.muon, "refused"));
  PetscCall(ProblemCheckStep(&q, 2));
  PetscCall(Damage("refused/step-000000000002-000002/manifest"));
  PetscCall(Refused(&q, PETSC_TRUE, "refused", "refused/step-000000000002-000002/manifest: is damaged"));
  PetscCall(ProblemDestroy(&p));
  PetscCall(MuonSaveCheckpoint(q.muon, "refused", 1));
  PetscCall(MuonLoadCheckpoint(q.muon, "refused"));
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The latest generation is bad: the one before it is taken on all ranks, with a line that says so */
static PetscErrorCode CheckOlder(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MuonLoadCheckpoint(p->muon, "bad"));
  PetscCall(ProblemCheckStep(p, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Files of two runs, files that are gone, of a later version, each byte of a small one, and a disk that is
   full in the middle of a file
*/
static PetscErrorCode CheckBad(void)
{
  const char *const    rank0 = "bad/step-000000000002-000002/rank-000000", *manifest = "bad/step-000000000002-000002/manifest";
  static unsigned char bytes[1 << 16], other[1 << 16], early[1 << 16];
  size_t               length, otherlength, earlylength;
  Problem              p, q;
  struct rlimit        limit, most;

  PetscFunctionBegin;
  for (PetscInt run = 0; run < 2; run++) {
    PetscCall(ProblemCreateWith(run == 0 ? &q : &p, Others[3].options));
    for (PetscInt s = 0; s < 2; s++) {
      PetscCall(Steps(run == 0 ? &q : &p, 1));
      PetscCall(MuonSaveCheckpoint(run == 0 ? q.muon : p.muon, run == 0 ? "otherrun" : "bad", 2));
    }
  }
  PetscCall(Bytewise(rank0, sizeof(bytes), bytes, &length));
  PetscCall(Bytewise("otherrun/step-000000000002-000002/rank-000000", sizeof(other), other, &otherlength));
  PetscCall(Bytewise("bad/step-000000000001-000001/rank-000000", sizeof(early), early, &earlylength));
  PetscCall(ProblemDestroy(&q));
  PetscCall(Replace(rank0, otherlength, other));
  PetscCall(CheckOlder(&p));
  PetscCall(Replace(rank0, earlylength, early));
  PetscCall(CheckOlder(&p));
  PetscCall(Replace(rank0, 0, NULL));
  PetscCall(CheckOlder(&p));
  for (size_t k = 0; k < length; k += 1 + length / 100) {
    bytes[k] ^= 64;
    PetscCall(Replace(rank0, length, bytes));
    PetscCall(CheckOlder(&p));
    bytes[k] ^= 64;
    PetscCall(Replace(rank0, k == 0 ? 1 : k, bytes));
    PetscCall(CheckOlder(&p));
  }
  PetscCall(Replace(rank0, length, bytes));
  PetscCall(MuonLoadCheckpoint(p.muon, "bad"));
  PetscCall(ProblemCheckStep(&p, 2));
  /* No file is longer than half of what a rank writes: an error, and what was there stays */
  PetscCall(getrlimit(RLIMIT_FSIZE, &most) == 0 ? PETSC_SUCCESS : PETSC_ERR_SYS);
  limit          = most;
  limit.rlim_cur = (rlim_t)(length / 2);
  (void)signal(SIGXFSZ, SIG_IGN);
  PetscCall(setrlimit(RLIMIT_FSIZE, &limit) == 0 ? PETSC_SUCCESS : PETSC_ERR_SYS);
  Fails(MuonSaveCheckpoint(p.muon, "bad", 1), FAILS_ANY, "File too large");
  PetscCall(setrlimit(RLIMIT_FSIZE, &most) == 0 ? PETSC_SUCCESS : PETSC_ERR_SYS);
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCheck(access("bad/step-000000000002-000003", F_OK) != 0 && access(manifest, F_OK) == 0 && access("bad/step-000000000001-000001", F_OK) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A save that failed left or removed something");
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(MuonSaveCheckpoint(p.muon, "bad", 1));
  PetscCall(MuonLoadCheckpoint(p.muon, "bad"));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckBytes());
  PetscCall(CheckWeights());
  PetscCall(CheckMatrices());
  PetscCall(CheckViewers());
  PetscCall(CheckFiles());
  PetscCall(CheckSeconds());
  PetscCall(CheckRestart());
  PetscCall(CheckRequest());
  PetscCall(CheckSteps());
  PetscCall(CheckRefused());
  PetscCall(CheckBad());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    # of the lines that say that an older checkpoint is taken only the first: how many there are depends on the lengths of files
    filter: grep -v -e "^Checkpoint: ranks was" -e "^Checkpoint: layer" -e state_precision -e exchange_type | sed -E -e "s,rank 0 of [13],rank 0," | awk "/the one before it is taken/ {if (++n > 5) next} {print}" | uniq -c
    output_file: output/muon_checkpoint_1.out

TEST*/
