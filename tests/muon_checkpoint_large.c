static char help[] = "A program that gives a checkpoint more than 2^31 bytes of a rank gets them back. One of many layers (-many) loads within the limit of a test: no layer looks at the records of all others.\n";

#include <petscmuon.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES ((size_t)2147483648 + 5)

/*
   All of these bytes are 0. The machine has neither the disk nor the memory for them: zeros are written as a
   hole of the file, and what is read goes again and again to the same MiB, but for the first and the last of
   the block, which are PETSc's
*/
#define PART ((size_t)1 << 20)

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
extern void  __libc_free(void *);

static char        *Block;
static const size_t Parts = BYTES / PART + 3;

PETSC_VISIBILITY_PUBLIC ssize_t write(int file, const void *from, size_t bytes)
{
  const char *c = (const char *)from;

  if (bytes == PART && c[0] == 0 && memcmp(c, c + 1, bytes - 1) == 0) return lseek(file, (off_t)bytes, SEEK_CUR) < 0 ? -1 : (ssize_t)bytes;
  return syscall(SYS_write, file, from, bytes);
}

static void *BlockCreate(void)
{
  FILE *file = tmpfile();

  Block = (char *)mmap(NULL, Parts * PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (file == NULL || ftruncate(fileno(file), (off_t)PART) != 0 || Block == (char *)MAP_FAILED) abort();
  for (size_t k = 1; k + 3 < Parts; k++) {
    if (mmap(Block + k * PART, PART, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fileno(file), 0) == MAP_FAILED) abort();
  }
  (void)fclose(file);
  return Block;
}

static int IsBlock(size_t bytes)
{
  return Block == NULL && bytes >= BYTES && bytes <= (Parts - 1) * PART;
}

PETSC_VISIBILITY_PUBLIC void *malloc(size_t bytes)
{
  return IsBlock(bytes) ? BlockCreate() : __libc_malloc(bytes);
}

PETSC_VISIBILITY_PUBLIC int posix_memalign(void **to, size_t alignment, size_t bytes)
{
  *to = IsBlock(bytes) ? BlockCreate() : __libc_memalign(alignment, bytes);
  return *to != NULL ? 0 : ENOMEM;
}

PETSC_VISIBILITY_PUBLIC void free(void *block)
{
  if (block == NULL || block != Block) __libc_free(block);
  else {
    (void)munmap(Block, Parts * PART);
    Block = NULL;
  }
}

static PetscErrorCode Give(Muon muon, PetscInt64 *bytes, const void **data, void *ctx)
{
  PetscFunctionBegin;
  *bytes = (PetscInt64)BYTES;
  *data  = ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Take(Muon muon, PetscMPIInt ranks, const PetscInt64 bytes[], const void *const data[], void *ctx)
{
  PetscFunctionBegin;
  PetscCheck(ranks == 1 && bytes[0] == (PetscInt64)BYTES && data[0] != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " bytes of rank 0 of %d", bytes[0], ranks);
  PetscCheck(Block != NULL && ((const char *)data[0])[BYTES - 1] == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The last byte is another, or the block was not that of the test");
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMany(void)
{
  enum {
    MANY = 20000
  };
  const PetscScalar *x;
  char               name[32];
  Vec               *w;
  Muon               muon;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(MANY, &w));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  for (int l = 0; l < MANY; l++) {
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, 1, &w[l]));
    PetscCall(VecSet(w[l], (PetscScalar)l));
    PetscCall(PetscSNPrintf(name, sizeof(name), "l%d", l));
    PetscCall(MuonAddVecLayer(muon, name, w[l], NULL));
  }
  PetscCall(MuonSaveCheckpoint(muon, "many", 1));
  for (int l = 0; l < MANY; l++) PetscCall(VecSet(w[l], -1));
  PetscCall(MuonLoadCheckpoint(muon, "many"));
  for (int l = 0; l < MANY; l++) {
    PetscCall(VecGetArrayRead(w[l], &x));
    PetscCheck(x[0] == (PetscScalar)l, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Layer %d has %g", l, (double)PetscRealPart(x[0]));
    PetscCall(VecRestoreArrayRead(w[l], &x));
    PetscCall(VecDestroy(&w[l]));
  }
  PetscCall(MuonDestroy(&muon));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckLarge(void)
{
  void     *zeros; /* pages that are only read are one page */
  MuonLayer layer;
  Muon      muon;
  Mat       W;

  PetscFunctionBegin;
  zeros = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PetscCheck(zeros != MAP_FAILED, PETSC_COMM_SELF, PETSC_ERR_MEM, "mmap()");
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 3, 2, NULL, &W));
  PetscCall(MuonCreate(PETSC_COMM_WORLD, &muon));
  PetscCall(MuonAddLayer(muon, "layer", W, &layer));
  PetscCall(MuonCheckpointRegister(muon, "large", Give, Take, zeros));
  PetscCall(MuonSaveCheckpoint(muon, "checkpoints", 1));
  PetscCall(MuonLoadCheckpoint(muon, "checkpoints"));
  PetscCall(MuonDestroy(&muon));
  PetscCall(MatDestroy(&W));
  (void)munmap(zeros, BYTES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool many;

  PetscFunctionBeginUser;
  PetscCall(PetscMuonInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-many", &many));
  PetscCall(many ? CheckMany() : CheckLarge());
  PetscCall(PetscMuonFinalize());
  return 0;
}

/*TEST

  # The sanitizer has functions of its own in place of malloc() as well, and takes more time than the limit
  build:
    requires: !sanitized

  test:
    output_file: output/wire_ok.out

  test:
    suffix: many
    args: -many

TEST*/
