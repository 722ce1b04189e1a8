#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE /* dladdr() */
#endif
static char help[] = "Whichever allocation fails, the run ends with an error: no crash, no hang, and no step that was taken without what it needed.\n\n";

#include "problem.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/*
   One of the allocations fails that this library asks for by whatever way, or PETSc's by PetscMalloc(): its
   hash tables do not look at what they get. What MPI, the C library and BLAS allocate never fails. Behind
   these functions stand those of GNU's C library.
*/
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int  counts = 0;
static long calls = 0, failing = 0; /* since they are counted; the number of the one that fails, 0 for none */

static int IsFailing(const void *caller)
{
  Dl_info info;

  if (counts == 0 || dladdr(caller, &info) == 0 || info.dli_fname == NULL || strstr(info.dli_fname, "libpetsc") == NULL) return 0;
  if (strstr(info.dli_fname, "libpetscmuon") == NULL && (info.dli_sname == NULL || strncmp(info.dli_sname, "Petsc", 5) != 0 || strstr(info.dli_sname, "lloc") == NULL)) return 0;
  return ++calls == failing;
}

PETSC_VISIBILITY_PUBLIC void *malloc(size_t bytes)
{
  return IsFailing(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

PETSC_VISIBILITY_PUBLIC void *calloc(size_t n, size_t bytes)
{
  return IsFailing(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}

PETSC_VISIBILITY_PUBLIC void *realloc(void *old, size_t bytes)
{
  return IsFailing(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}

PETSC_VISIBILITY_PUBLIC void *memalign(size_t alignment, size_t bytes)
{
  return IsFailing(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

PETSC_VISIBILITY_PUBLIC int posix_memalign(void **data, size_t alignment, size_t bytes)
{
  if (IsFailing(__builtin_return_address(0))) return ENOMEM;
  *data = __libc_memalign(alignment, bytes);
  return 0;
}

/* Algorithms, compressors and exchanges between them have every way to move and to keep something */
static const char *const Runs[] = {"-muon_type ef21 -muon_exchange_type star -ef21_compressor topk -ef21_compressor_values natural -ef21_server_compressor topk",
                                   "-muon_type ef21 -muon_exchange_type layerwise -ef21_compressor powersgd -ef21_server_compressor topk", "-muon_type dense -muon_nesterov ema -muon_exchange_type layerwise -muon_exchange_mode reduce",
                                   "-muon_type sign -muon_momentum_at worker -muon_exchange_type star -muon_exchange_mode gather -lmo_type spectral"};
#define NRUNS ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(Runs))

static PetscErrorCode Run(PetscInt which)
{
  Problem p;
  char    folder[64];

  PetscFunctionBegin;
  PetscCall(ProblemCreateWith(&p, Runs[which]));
  for (int k = 0; k < 2; k++) PetscCall(MuonStep(p.muon));
  PetscCall(PetscSNPrintf(folder, sizeof(folder), "checkpoint%" PetscInt_FMT, which));
  PetscCall(MuonSaveCheckpoint(p.muon, folder, 1));
  PetscCall(MuonLoadCheckpoint(p.muon, folder));
  PetscCall(MuonStep(p.muon));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In a process of its own, which ends by itself or after a time that no run needs: 0 for an error, 1 where
   all went on, 2 where the run has fewer allocations
*/
static int Child(PetscInt which, long number)
{
  const pid_t child = fork();
  int         status;

  if (child == 0) {
    PetscErrorCode ierr;

    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    signal(SIGFPE, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    (void)alarm(60);
    failing = number;
    counts  = 1;
    ierr    = Run(which);
    counts  = 0;
    _exit(calls < number ? 2 : ierr != PETSC_SUCCESS ? 0 : 1);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
  PetscInt    stride = 1, fraction = -1, bad = 0;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-stride", &stride, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-fraction", &fraction, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (fraction >= 0) {
    /* On the first rank alone, after so many hundredths of all; the other one waits for it */
    for (PetscInt which = 0; which < NRUNS; which++) PetscCall(Run(which));
    counts = 1;
    for (PetscInt which = 0; which < NRUNS; which++) PetscCall(Run(which));
    failing = rank == 0 ? 1 + calls * fraction / 100 : 0;
    calls   = 0;
    for (PetscInt which = 0; which < NRUNS; which++) PetscCall(Run(which));
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nobody said that allocation %ld failed", failing);
  }
  for (PetscInt which = 0; which < NRUNS; which++) PetscCall(Run(which)); /* what is made once is there */
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  for (PetscInt which = 0; which < NRUNS; which++) {
    int  result = 0;
    long number;

    for (number = 1 + which; result != 2 && bad < 20; number += stride) {
      result = Child(which, number);
      if (result == 0 || result == 2) continue;
      bad++;
      if (result == 1) (void)fprintf(stderr, "run %d: allocation %ld failed, and all went on\n", (int)which, number);
      else (void)fprintf(stderr, "run %d: after allocation %ld failed the process ended with %d\n", (int)which, number, result);
    }
    if (number < 500) {
      (void)fprintf(stderr, "run %d has only %ld allocations\n", (int)which, number);
      bad++;
    }
  }
  PetscCall(PetscPopErrorHandler());
  PetscCheck(bad == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " failed allocations did not end the run", bad);
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # The sanitizer has functions of its own in place of malloc() as well
  test:
    nsize: 0
    requires: !sanitized
    args: -stride 97
    timeoutfactor: 2

TEST*/
