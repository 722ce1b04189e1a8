/*
   main() of the tests and tutorials that start PETSc, whose own is called MuonTestMain(). The runner puts
   cases of a program into one start of MPI, which costs more than most cases: MUON_TEST_CASES names a file
   with the folder of each case and its arguments, an argument a line and an empty line behind each case. A
   case finds PETSc as it was before the first, and leaves its output beside its folder's other files.

   Where MUON_TEST_ERRORS is set, the cases are to fail. The first error of a rank then ends its case alone.
*/
#include <petscsys.h>
#include <setjmp.h>
#include <unistd.h>

#define MAX_ARGUMENTS 256
#define MAX_LENGTH    4096

int MuonTestMain(int argc, char **argv);

static jmp_buf ended;

static PetscErrorCode End(MPI_Comm comm, int line, const char *function, const char *name, PetscErrorCode code, PetscErrorType type, const char *message, void *ctx)
{
  PetscFunctionBegin;
  fprintf(stderr, "%s\n", message);
  longjmp(ended, 1);
  PetscFunctionReturn(code);
}

/* PETSc is started before the program does it, so that this handler is below those of the program */
static int Fail(int argc, char **argv)
{
  volatile int status = 1;
  PetscBool    started;

  if (PetscInitialize(&argc, &argv, NULL, NULL) != 0 || PetscPushErrorHandler(End, NULL) != 0) return 1;
  if (setjmp(ended) == 0) status = MuonTestMain(argc, argv);
  if (PetscInitialized(&started) == 0 && started && (PetscPopErrorHandler() != 0 || PetscFinalize() != 0)) exit(1);
  return status;
}

static int Run(int rank, char *program, char line[][MAX_LENGTH], int n)
{
  char *argv[MAX_ARGUMENTS + 1], name[64];
  int   status, fails = getenv("MUON_TEST_ERRORS") != NULL;
  FILE *file;

  argv[0] = program;
  for (int i = 1; i < n; i++) argv[i] = line[i];
  argv[n] = NULL;
  if (chdir(line[0]) != 0) return 1;
  snprintf(name, sizeof(name), ".rank.%d.out", rank);
  if (freopen(name, "w", stdout) == NULL) return 1;
  snprintf(name, sizeof(name), ".rank.%d.text", rank);
  if (freopen(name, "w", stderr) == NULL) return 1;
  status = fails ? Fail(n, argv) : MuonTestMain(n, argv);
  fflush(stdout);
  fflush(stderr);
  if (!fails) return status;
  snprintf(name, sizeof(name), ".rank.%d.status", rank);
  file = fopen(name, "w");
  if (file == NULL) return 1;
  fprintf(file, "%d\n", status);
  return fclose(file);
}

int main(int argc, char **argv)
{
  static char line[MAX_ARGUMENTS][MAX_LENGTH];
  const char *cases = getenv("MUON_TEST_CASES");
  FILE       *file;
  int         rank, n = 0;

  if (cases == NULL) return MuonTestMain(argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  file = fopen(cases, "r");
  while (file != NULL && n < MAX_ARGUMENTS && fgets(line[n], MAX_LENGTH, file) != NULL) {
    line[n][strcspn(line[n], "\n")] = '\0';
    if (line[n][0] != '\0') n++;
    else {
      if (Run(rank, argv[0], line, n) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
      n = 0;
    }
  }
  if (file == NULL || n > 0) MPI_Abort(MPI_COMM_WORLD, 1);
  fclose(file);
  return MPI_Finalize();
}
