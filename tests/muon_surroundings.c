static char help[] = "A program's surroundings change no weight: other optimizers on other ranks, threads that use MPI, an error handler of MPI; TAO on some of the ranks; a failure of MPI is an error.\n\n";

#include <petscmuontao.h>
#include <pthread.h>
#include <string.h>
#include "number_common.h"

#define ROWS    24
#define COLUMNS 10
#define STEPS   7

/* The next calls of the sum fail, as those of a lost connection do */
static PetscBool fails = PETSC_FALSE;

int MPI_Ireduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request)
{
  return fails ? MPI_ERR_OTHER : PMPI_Ireduce(in, out, count, type, op, root, comm, request);
}

int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
  return fails ? MPI_ERR_OTHER : PMPI_Reduce(in, out, count, type, op, root, comm);
}

/* The sum over workers j of |W - A_j|^2 / 2 */
static PetscErrorCode Objective(Muon muon, PetscReal *loss, void *ctx)
{
  MuonLayer          layer;
  Mat                W, G;
  PetscMPIInt        rank;
  const PetscScalar *w;
  PetscScalar       *g;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)muon), &rank));
  PetscCall(MuonGetLayer(muon, 0, &layer));
  PetscCall(MuonLayerGetWeights(layer, &W));
  PetscCall(MuonLayerGetGradient(layer, &G));
  PetscCall(MatDenseGetArrayRead(W, &w));
  PetscCall(MatDenseGetArrayWrite(G, &g));
  *loss = 0;
  for (PetscInt e = 0; e < ROWS * COLUMNS; e++) {
    g[e] = w[e] - (PetscReal)(TestHash(e, rank, 5, 0) % 1024) / 512 + 1;
    *loss += g[e] * g[e] / 2;
  }
  PetscCall(MatDenseRestoreArrayWrite(G, &g));
  PetscCall(MatDenseRestoreArrayRead(W, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MPI_Comm comm, const char type[], Mat *W, Muon *muon)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, W));
  PetscCall(MuonCreate(comm, muon));
  PetscCall(MuonSetType(*muon, type));
  PetscCall(MuonAddLayer(*muon, "hidden", *W, NULL));
  PetscCall(MuonSetObjectiveAndGradient(*muon, Objective, NULL));
  PetscCall(MuonSetMaxSteps(*muon, STEPS));
  PetscCall(MuonSetFromOptions(*muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Train(MPI_Comm comm, const char type[], Mat *W)
{
  Muon muon;

  PetscFunctionBegin;
  PetscCall(Create(comm, type, W, &muon));
  PetscCall(MuonSolve(muon));
  PetscCall(MuonDestroy(&muon));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two runs gave the same weights; the matrices go */
static PetscErrorCode Compare(Mat *A, Mat *B, const char what[])
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatEqual(*A, *B, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the weights differ from those of the run alone", what);
  PetscCall(MatDestroy(A));
  PetscCall(MatDestroy(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two optimizers of different types at once, on ranks of their own, while the last rank has none */
static PetscErrorCode Subcommunicators(void)
{
  const char *types[2] = {MUONEF21, MUONSIGN};
  PetscMPIInt rank, size;
  MPI_Comm    half;
  Mat         alone = NULL, together = NULL;
  int         color;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  color = rank == size - 1 ? MPI_UNDEFINED : rank % 2;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, color, -rank, &half));
  for (int one = 0; one < 2; one++) {
    if (color == one) PetscCall(Train(half, types[one], &alone));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  }
  if (half != MPI_COMM_NULL) {
    PetscCall(Train(half, types[color], &together));
    PetscCall(Compare(&alone, &together, "Two optimizers at once"));
    PetscCallMPI(MPI_Comm_free(&half));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  MPI_Comm      comm;
  volatile int *stop;
  int           rounds, wrong;
} Talk;

/* A thread of the program's own that sends to the next rank while the optimizer works */
static void *TalkRun(void *context)
{
  Talk *talk = (Talk *)context;
  int   rank, size, goon = 1;

  MPI_Comm_rank(talk->comm, &rank);
  MPI_Comm_size(talk->comm, &size);
  while (goon) {
    int mine = !*talk->stop, number = 1000 * rank + talk->rounds, came = -1;

    MPI_Sendrecv(&number, 1, MPI_INT, (rank + 1) % size, 7, &came, 1, MPI_INT, (rank + size - 1) % size, 7, talk->comm, MPI_STATUS_IGNORE);
    if (came != 1000 * ((rank + size - 1) % size) + talk->rounds) talk->wrong++;
    talk->rounds++;
    MPI_Allreduce(&mine, &goon, 1, MPI_INT, MPI_MAX, talk->comm);
  }
  return NULL;
}

static PetscErrorCode Threads(void)
{
  int          provided;
  volatile int stop = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Query_thread(&provided));
  PetscCheck(provided == MPI_THREAD_MULTIPLE, PETSC_COMM_SELF, PETSC_ERR_SUP, "This MPI has no MPI_THREAD_MULTIPLE");
  for (int e = 0; e < 3; e++) {
    const char *types[3] = {MUONDENSE, MUONEF21, MUONSIGN};
    Mat         alone, beside;
    Talk        talk = {MPI_COMM_NULL, &stop, 0, 0};
    pthread_t   thread;

    stop = 0;
    PetscCall(Train(PETSC_COMM_WORLD, types[e], &alone));
    PetscCallMPI(MPI_Comm_dup(PETSC_COMM_WORLD, &talk.comm));
    PetscCheck(pthread_create(&thread, NULL, TalkRun, &talk) == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "No thread could be started");
    PetscCall(Train(PETSC_COMM_WORLD, types[e], &beside));
    stop = 1;
    pthread_join(thread, NULL);
    PetscCheck(talk.rounds > 0 && talk.wrong == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d of the %d messages of the program's thread were others than it sent", talk.wrong, talk.rounds);
    PetscCallMPI(MPI_Comm_free(&talk.comm));
    PetscCall(Compare(&alone, &beside, "A thread that sends messages"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int called = 0;

static void Handler(MPI_Comm *comm, int *code, ...)
{
  (void)comm, (void)code;
  called++;
}

/* The program's handler stays, is not called for calls that succeed, and a call that fails is a PETSc error */
static PetscErrorCode Errors(void)
{
  MPI_Errhandler mine, before, after;
  Mat            with, without, W;
  Muon           muon;
  PetscErrorCode code;
  PetscInt       step;

  PetscFunctionBegin;
  PetscCall(Train(PETSC_COMM_WORLD, MUONDENSE, &without));
  PetscCallMPI(MPI_Comm_create_errhandler(Handler, &mine));
  PetscCallMPI(MPI_Comm_get_errhandler(PETSC_COMM_WORLD, &before));
  PetscCallMPI(MPI_Comm_set_errhandler(PETSC_COMM_WORLD, mine));
  PetscCall(Train(PETSC_COMM_WORLD, MUONDENSE, &with));
  PetscCallMPI(MPI_Comm_get_errhandler(PETSC_COMM_WORLD, &after));
  PetscCheck(after == mine, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The communicator of the program has another error handler than before");
  PetscCheck(called == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The program's error handler was called %d times in a run without errors", called);
  PetscCall(Compare(&without, &with, "An error handler of the program"));
  PetscCallMPI(MPI_Comm_set_errhandler(PETSC_COMM_WORLD, before));
  PetscCallMPI(MPI_Errhandler_free(&mine));
  PetscCallMPI(MPI_Errhandler_free(&after));
  PetscCallMPI(MPI_Errhandler_free(&before));

  PetscCall(Create(PETSC_COMM_WORLD, MUONDENSE, &W, &muon));
  PetscCall(MuonStep(muon));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  fails = PETSC_TRUE;
  code  = MuonStep(muon);
  fails = PETSC_FALSE;
  PetscCall(PetscPopErrorHandler());
  PetscCheck(code == PETSC_ERR_MPI, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d where MPI's sums failed, expected PETSC_ERR_MPI", (int)code);
  PetscCall(MuonGetStepNumber(muon, &step));
  PetscCheck(step == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %" PetscInt_FMT " after a step whose sums failed, expected 1", step);
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoObjective(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(VecCopy(x, g));
  PetscCall(VecShift(g, -1));
  PetscCall(VecNorm(g, NORM_2, f));
  *f *= *f / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One Tao on the even ranks and one on the odd ones, each solved again with another number of steps */
static PetscErrorCode Taos(void)
{
  PetscMPIInt rank;
  MPI_Comm    half;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % 2, rank, &half));
  {
    Tao       tao;
    Vec       x;
    PetscReal f[2];

    PetscCall(VecCreateMPI(half, PETSC_DECIDE, ROWS * COLUMNS, &x));
    PetscCall(TaoMuonRegister());
    PetscCall(TaoCreate(half, &tao));
    PetscCall(TaoSetType(tao, TAOMUON));
    PetscCall(TaoMuonSetLayers(tao, "hidden:24x10"));
    PetscCall(TaoSetObjectiveAndGradient(tao, NULL, TaoObjective, NULL));
    PetscCall(TaoSetSolution(tao, x));
    PetscCall(TaoSetFromOptions(tao));
    for (int again = 0; again < 2; again++) {
      PetscInt its;

      PetscCall(VecSet(x, 0));
      PetscCall(TaoSetMaximumIterations(tao, STEPS * (1 + rank % 2 + 2 * again)));
      PetscCall(TaoSolve(tao));
      PetscCall(TaoGetSolutionStatus(tao, &its, &f[again], NULL, NULL, NULL, NULL));
      PetscCheck(its == STEPS * (1 + rank % 2 + 2 * again), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " iterations, expected %d", its, STEPS * (1 + rank % 2 + 2 * again));
    }
    /* Steps of a fixed length: more of them come nearer, none stands still */
    PetscCheck(f[1] < f[0] && f[0] < (PetscReal)(ROWS * COLUMNS) / 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Objectives %g and %g after twice as many steps and more, expected to fall", (double)f[0], (double)f[1]);
    PetscCall(TaoDestroy(&tao));
    PetscCall(VecDestroy(&x));
  }
  PetscCallMPI(MPI_Comm_free(&half));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char what[16] = "";
  int  provided;

  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return 1;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-what", what, sizeof(what), NULL));
  if (strcmp(what, "halves") == 0) PetscCall(Subcommunicators());
  else if (strcmp(what, "threads") == 0) PetscCall(Threads());
  else if (strcmp(what, "errors") == 0) PetscCall(Errors());
  else PetscCall(Taos());
  PetscCall(PetscMuonFinalize());
  PetscFunctionReturn((PetscErrorCode)MPI_Finalize());
}

/*TEST

  testset:
    args: -muon_learning_rate 0.05
    table: suffix | nsize | args
      halves  | 5     | -what halves -ef21_compressor topk -muon_exchange_type {{layerwise star replicated}}
      threads | 3     | -what threads
      errors  | 2     | -what errors
      tao     | {{2 4}} | -what tao

TEST*/
