static char help[] = "Checkpoints: bytes of the program, weights alone, another precision, options that are others, files of monitors and weights that go on, state that is not there yet.\n";

#include "checkpoint_common.h"
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define RUN (&Cases[0])

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

/* The program's bytes, on the same ranks and on one less */
static PetscErrorCode CheckBytes(void)
{
  TestProblem p, q, r;
  Bytes       a = {0, {0}, 0, 0}, b = a;
  MPI_Comm    comm;
  PetscInt    step;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 0, &p));
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 0, &q));
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 0, &r));
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
  PetscCall(TestDestroy(&r));
  /* Whoever fails, it is everybody's error; what is there stays */
  a.fails = p.rank == p.size - 1 ? 1 : 0;
  Fails(MuonSaveCheckpoint(p.muon, "bytes", 1), FAILS_ANY, "the routine that gives the bytes of the program \"first\" failed");
  b.fails = p.rank == 0 ? 2 : 0;
  Fails(MuonLoadCheckpoint(q.muon, "bytes"), FAILS_ANY, "the routine that takes the bytes of the program \"first\" failed");
  PetscCall(MuonGetStepNumber(q.muon, &step));
  PetscCheck(step == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
  PetscCall(TestDestroy(&q));
  b.fails = 0;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, p.rank < p.size - 1 ? 0 : MPI_UNDEFINED, p.rank, &comm));
  if (comm != MPI_COMM_NULL) {
    PetscCall(Create(comm, RUN, 0, &q));
    PetscCall(MuonCheckpointRegister(q.muon, "first", Give, Take, &b));
    PetscCall(MuonCheckpointRegister(q.muon, "data.2", Give, Take, &b));
    PetscCall(MuonLoadCheckpoint(q.muon, "bytes"));
    PetscCheck(b.ranks == p.size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d ranks", b.ranks);
    PetscCall(TestDestroy(&q));
    PetscCallMPI(MPI_Comm_free(&comm));
  }
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights alone: any optimizer at step 0, which then goes the way of one that began with them */
static PetscErrorCode CheckWeights(void)
{
  TestProblem p, q, r;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 0, &p));
  PetscCall(Steps(&p, STEPS));
  PetscCall(MuonSaveCheckpoint(p.muon, "weights", 1));
  for (PetscInt change = 0; change < 8; change++) {
    for (PetscInt before = 0; before < 3; before += 2) {
      PetscInt step;

      if (change == 2 || change == 3 || (before > 0 && change > 1)) continue;
      PetscCall(Create(PETSC_COMM_WORLD, RUN, change, &q));
      PetscCall(Create(PETSC_COMM_WORLD, RUN, change, &r));
      PetscCall(Steps(&q, before));
      for (PetscInt l = 0; l < p.n; l++) {
        PetscReal *rows;

        PetscCall(PetscMalloc1(TestEntries(&p.shape[l]), &rows));
        PetscCall(TestGetWeights(&p, l, rows));
        PetscCall(TestSetWeights(&r, l, rows));
        PetscCall(PetscFree(rows));
      }
      PetscCall(MuonSetParameter(q.muon, "muon_restart_state", "weights"));
      if (before > 0) PetscCall(MuonLoadCheckpoint(q.muon, "weights"));
      else PetscCall(MuonSetRestart(q.muon, "weights"));
      PetscCall(MuonSetUp(q.muon));
      PetscCall(MuonGetStepNumber(q.muon, &step));
      PetscCheck(step == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
      PetscCall(Steps(&q, 3));
      PetscCall(Steps(&r, 3));
      PetscCall(CheckSame(&q, &r, change, "after a start with weights alone"));
      PetscCall(TestDestroy(&q));
      PetscCall(TestDestroy(&r));
    }
  }
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 2, &q));
  PetscCall(MuonSetParameter(q.muon, "muon_restart_state", "weights"));
  Fails(MuonLoadCheckpoint(q.muon, "weights"), FAILS_ANY, "it has weights of layer \"embed\", which the optimizer does not keep");
  PetscCall(TestDestroy(&q));
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 3, &q));
  PetscCall(MuonSetParameter(q.muon, "muon_restart_state", "weights"));
  Fails(MuonLoadCheckpoint(q.muon, "weights"), FAILS_ANY, "it has 0 of 6 entries of weights of layer \"other\"");
  PetscCall(TestDestroy(&q));
  /* A layer that the checkpoint has not */
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 2, &q));
  PetscCall(MuonSaveCheckpoint(q.muon, "fewer", 1));
  PetscCall(TestDestroy(&q));
  PetscCall(MuonSetParameter(p.muon, "muon_restart_state", "weights"));
  Fails(MuonLoadCheckpoint(p.muon, "fewer"), FAILS_ANY, "it has 0 of 30 entries of weights of layer \"embed\"");
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every entry of the momentum of all layers as double */
static PetscErrorCode GetMomentum(TestProblem *p, PetscReal all[])
{
  PetscInt at = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < p->n; at += TestEntries(&p->shape[l++])) {
    Mat A;

    PetscCall(TestGetState(p->muon, p->layer[l], "momentum", &A));
    PetscCall(PetscArrayzero(all + at, TestEntries(&p->shape[l])));
    if (A != NULL) PetscCall(TestMatGetRows(A, all + at));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another precision of the state: an error that says how, then each entry rounded once, or as it is */
static PetscErrorCode CheckPrecision(void)
{
  PetscFunctionBegin;
  for (PetscInt from = 0; from < 2; from++) {
    const Case  single = {MUONEF21, MUONEXCHANGELAYERWISE, MUONCOMPRESSORPOWERSGD, MUONCOMPRESSORTOPK, 0.9, MUON_MOMENTUM_AT_WORKER, MUON_EF21_INIT_ZERO, PETSC_TRUE, PETSC_FALSE};
    Case        native = single;
    TestProblem p, q;
    PetscReal  *a, *b;
    PetscInt    d;

    if (PetscDefined(USE_REAL_SINGLE)) continue;
    native.single = PETSC_FALSE;
    PetscCall(Create(PETSC_COMM_WORLD, from == 0 ? &native : &single, 0, &p));
    PetscCall(Create(PETSC_COMM_WORLD, from == 0 ? &single : &native, 0, &q));
    PetscCall(Steps(&p, STEPS));
    PetscCall(Steps(&q, from)); /* with state that was made, and with none */
    PetscCall(MuonSaveCheckpoint(p.muon, from == 0 ? "native" : "single", 1));
    Fails(MuonLoadCheckpoint(q.muon, from == 0 ? "native" : "single"), FAILS_ANY, "-muon_restart_convert takes another precision");
    PetscCall(MuonSetParameter(q.muon, "muon_restart_convert", "true"));
    PetscCall(MuonLoadCheckpoint(q.muon, from == 0 ? "native" : "single"));
    d = TestTotal(&p);
    PetscCall(PetscMalloc2(d, &a, d, &b));
    PetscCall(GetMomentum(&p, a));
    PetscCall(GetMomentum(&q, b));
    for (PetscInt e = 0; e < d; e++) PetscCheck((PetscReal)(float)a[e] == b[e], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " of the momentum is %g, expected %g", e, (double)b[e], (double)a[e]);
    PetscCall(PetscFree2(a, b));
    PetscCall(Steps(&q, 2));
    PetscCall(TestCheckReplicas(&q, "of another precision", STEPS + 2));
    PetscCall(TestDestroy(&p));
    PetscCall(TestDestroy(&q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A checkpoint of before the first step, loaded in the middle: moments, which are made at a first step, begin
   anew
*/
static PetscErrorCode CheckStepZero(void)
{
  TestProblem p, q;
  PetscReal  *a, *b;
  PetscInt    d;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < NCASES; k++) {
    PetscCall(Create(PETSC_COMM_WORLD, &Cases[k], 0, &p));
    PetscCall(Create(PETSC_COMM_WORLD, &Cases[k], 0, &q));
    d = TestTotal(&p);
    PetscCall(PetscMalloc2(d, &a, d, &b));
    PetscCall(MuonSaveCheckpoint(p.muon, "zero", 1));
    PetscCall(Steps(&q, 3));
    PetscCall(MuonLoadCheckpoint(q.muon, "zero"));
    PetscCall(Steps(&p, 3));
    PetscCall(Steps(&q, 3));
    PetscCall(TestGetAllWeights(&p, a));
    PetscCall(TestGetAllWeights(&q, b));
    PetscCheck(memcmp(a, b, (size_t)d * sizeof(*a)) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %" PetscInt_FMT ": after a load of step 0 the run is another", k);
    PetscCall(PetscFree2(a, b));
    PetscCall(TestDestroy(&p));
    PetscCall(TestDestroy(&q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Viewers that take no state, or no weights; a disk that is full */
static PetscErrorCode CheckViewers(void)
{
  TestProblem p;
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 0, &p));
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
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Read(const char name[], char text[], size_t room)
{
  FILE  *file;
  size_t length;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  file = fopen(name, "rb");
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", name);
  length       = fread(text, 1, room - 1, file);
  text[length] = '\0';
  (void)fclose(file);
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A run that is interrupted in a row, behind its checkpoint, and one that was not, have the same file; what
   another run left is gone
*/
static PetscErrorCode CheckFiles(void)
{
  static char        whole[1 << 16], resumed[1 << 16];
  TestProblem        p;
  PetscMPIInt        rank;
  FILE              *file;
  static const char *name[] = {"whole", "resumed"};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt run = 0; run < 4; run++) {
    char path[64];

    PetscCall(Create(PETSC_COMM_WORLD, RUN, 0, &p));
    PetscCall(MuonSetMaxSteps(p.muon, run == 1 ? 5 : 8));
    PetscCall(MuonSetSchedule(p.muon, MUON_SCHEDULE_CONSTANT, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT)); /* whoever loops over the steps */
    PetscCall(MuonSetCheckpoint(p.muon, run == 0 ? NULL : "files", 3));
    if (run == 2) PetscCall(MuonSetRestart(p.muon, "files"));
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s.csv", name[run > 0]));
    PetscCall(MuonMonitorSetCSV(p.muon, path));
    if (run == 1) {
      /* A job that is killed: its last checkpoint is of step 3 */
      PetscCall(Steps(&p, 5));
      PetscCall(TestDestroy(&p));
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      file = rank == 0 ? fopen("resumed.csv", "ab") : NULL;
      if (file != NULL) (void)fprintf(file, "5,0.1");
      if (file != NULL) (void)fclose(file);
      continue;
    }
    if (run == 2) PetscCall(MuonStep(p.muon)); /* a program that loops over steps calls no MuonSetUp() */
    PetscCall(MuonSolve(p.muon));
    PetscCall(TestDestroy(&p));
    PetscCall(Read(run == 0 ? "whole.csv" : "resumed.csv", run == 0 ? whole : resumed, sizeof(whole)));
    PetscCheck(run != 2 || strcmp(whole, resumed) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The file of the monitor is\n%s, expected\n%s", resumed, whole);
    PetscCheck(run != 3 || strcmp(whole, resumed) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The file of a new run is\n%s, expected\n%s", resumed, whole);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Time that is always up, and none; what is listed where options are others is compared by the runner */
static PetscErrorCode CheckSeconds(void)
{
  TestProblem p, q;
  PetscInt    step;

  PetscFunctionBegin;
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 0, &p));
  PetscCall(Create(PETSC_COMM_WORLD, RUN, 0, &q));
  PetscCall(MuonSetCheckpoint(p.muon, "seconds", PETSC_CURRENT));
  PetscCall(MuonSetParameter(p.muon, "muon_checkpoint_seconds", "1e-30"));
  PetscCall(Steps(&p, 3));
  PetscCall(MuonSetParameter(p.muon, "muon_checkpoint_seconds", "0"));
  PetscCall(Steps(&p, 1));
  PetscCall(MuonSetLearningRate(q.muon, (PetscReal)0.1));
  PetscCall(MuonSetSchedule(q.muon, MUON_SCHEDULE_COSINE, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(MuonSetMaxSteps(q.muon, 77));
  PetscCall(MuonLayerSetScale(q.layer[1], 4));
  PetscCall(MuonLayerSetLearningRate(q.layer[0], (PetscReal)0.3));
  PetscCall(MuonLoadCheckpoint(q.muon, "seconds"));
  PetscCall(MuonGetStepNumber(q.muon, &step));
  PetscCheck(step == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
  PetscCall(Steps(&q, 1));
  PetscCall(TestDestroy(&p));
  PetscCall(TestDestroy(&q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0 alone writes so many bytes of a file over those of another, or removes it where there are none */
static PetscErrorCode Replace(const char path[], size_t length, const void *bytes)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0 && length == 0) PetscCheck(remove(path) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", path);
  if (rank == 0 && length > 0) {
    FILE *file = fopen(path, "wb");

    PetscCheck(file != NULL && fwrite(bytes, 1, length, file) == length, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", path);
    (void)fclose(file);
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bytewise(const char path[], size_t room, unsigned char bytes[], size_t *length)
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

/* The latest generation is bad: the one before it is taken on all ranks, with a line that says so */
static PetscErrorCode CheckOlder(TestProblem *p)
{
  PetscInt step;

  PetscFunctionBegin;
  PetscCall(MuonLoadCheckpoint(p->muon, "bad"));
  PetscCall(MuonGetStepNumber(p->muon, &step));
  PetscCheck(step == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
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
  TestProblem          p, q;
  struct rlimit        limit, most;
  PetscInt             step;

  PetscFunctionBegin;
  for (PetscInt run = 0; run < 2; run++) {
    PetscCall(Create(PETSC_COMM_WORLD, RUN, 3, run == 0 ? &q : &p));
    for (PetscInt s = 0; s < 2; s++) {
      PetscCall(Steps(run == 0 ? &q : &p, 1));
      PetscCall(MuonSaveCheckpoint(run == 0 ? q.muon : p.muon, run == 0 ? "otherrun" : "bad", 2));
    }
  }
  PetscCall(Bytewise(rank0, sizeof(bytes), bytes, &length));
  PetscCall(Bytewise("otherrun/step-000000000002-000002/rank-000000", sizeof(other), other, &otherlength));
  PetscCall(Bytewise("bad/step-000000000001-000001/rank-000000", sizeof(early), early, &earlylength));
  PetscCall(TestDestroy(&q));
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
  PetscCall(MuonGetStepNumber(p.muon, &step));
  PetscCheck(step == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT, step);
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
  PetscCall(TestDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(CheckBytes());
  PetscCall(CheckWeights());
  PetscCall(CheckPrecision());
  PetscCall(CheckStepZero());
  PetscCall(CheckViewers());
  PetscCall(CheckFiles());
  PetscCall(CheckSeconds());
  PetscCall(CheckBad());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    # of the lines that say that an older checkpoint is taken only the first: how many there are depends on the lengths of files
    filter: grep -v -e "^Checkpoint: ranks was" -e "^Checkpoint: layer" -e state_precision -e exchange_type | sed -E -e "s,rank 0 of [13],rank 0," | awk "/the one before it is taken/ {if (++n > 3) next} {print}"
    output_file: output/muon_checkpoint_program_1.out

TEST*/
