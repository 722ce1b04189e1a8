static char help[] = "Scratch memory: what is in use neither moves nor changes, what is released is used again, one block takes the place of several.\n\n";

#include <petscmuon/private/petscmuonimpl.h>

enum {
  DEPTH = 24,
  MOST  = 5000
};

/* Under the address sanitizer everything is a block of its own */
#if defined(__SANITIZE_ADDRESS__)
  #define SEPARATE PETSC_TRUE
#else
  #define SEPARATE PETSC_FALSE
#endif

/* One buffer in use, full of a byte that tells it from the others */
typedef struct {
  unsigned char *data;
  size_t         bytes;
  unsigned char  byte;
} Buffer;

static PetscErrorCode CheckBuffers(int n, const Buffer buffer[])
{
  PetscFunctionBeginUser;
  for (int k = 0; k < n; k++) {
    for (size_t i = 0; i < buffer[k].bytes; i++) PetscCheck(buffer[k].data[i] == buffer[k].byte, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Byte %zu of buffer %d of %d changed", i, k, n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random marks, sizes and releases; the most that is in use at once, as the caller counts it */
static PetscErrorCode Walk(MuonWorkspace work, PetscRandom random, size_t *most)
{
  Buffer        buffer[DEPTH];
  MuonMark      mark[DEPTH];
  size_t        used[DEPTH + 1] = {0};
  int           n               = 0;
  unsigned char byte            = 0;
  PetscReal     value;

  PetscFunctionBeginUser;
  for (int step = 0; step < 400; step++) {
    PetscCall(PetscRandomGetValueReal(random, &value));
    if (n == DEPTH || (n > 0 && value < 0.35)) {
      n = (int)(value / 0.35 * (n - 1)) % n;
      PetscCall(MuonWorkspaceRelease(work, &mark[n]));
    } else {
      buffer[n].bytes = (size_t)(value * MOST);
      buffer[n].byte  = ++byte;
      PetscCall(MuonWorkspaceMark(work, &mark[n]));
      PetscCall(MuonWorkspaceGet(work, buffer[n].bytes, &buffer[n].data));
      PetscCheck((size_t)buffer[n].data % 16 == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A buffer at %p is not aligned", (void *)buffer[n].data);
      memset(buffer[n].data, byte, buffer[n].bytes);
      used[n + 1] = used[n] + buffer[n].bytes;
      *most       = PetscMax(*most, used[n + 1]);
      n++;
    }
    PetscCall(CheckBuffers(n, buffer));
  }
  if (n > 0) PetscCall(MuonWorkspaceRelease(work, &mark[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MuonWorkspace work;
  MuonMark      mark;
  PetscRandom   random;
  size_t        most = 0, held, again;
  char         *first, *second, *third;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(MuonWorkspaceCreate(&work));
  for (int k = 0; k < 20; k++) PetscCall(Walk(work, random, &most));
  PetscCall(MuonWorkspaceGetBytes(work, &held));
  PetscCheck(held >= most && held <= most + 64 * DEPTH, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes are held, expected the %zu that were in use at once, and 64 a buffer at most", held, most);

  /* In one block from now on: buffers lie behind one another, and come back to where they were */
  PetscCall(MuonWorkspaceMark(work, &mark));
  PetscCall(MuonWorkspaceGet(work, 64, &first));
  PetscCall(MuonWorkspaceGet(work, held - 64, &second));
  PetscCheck(SEPARATE || second == first + 64, PETSC_COMM_SELF, PETSC_ERR_PLIB, "There are two blocks still");
  PetscCall(MuonWorkspaceRelease(work, &mark));
  PetscCall(MuonWorkspaceGet(work, 1, &third));
  PetscCheck(SEPARATE || third == first, PETSC_COMM_SELF, PETSC_ERR_PLIB, "What was released is not used again");
  PetscCall(MuonWorkspaceGetBytes(work, &again));
  PetscCheck(again == held, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes are held, expected the %zu of before", again, held);
  PetscCall(MuonWorkspaceRelease(work, &mark));
  PetscCall(MuonWorkspaceDestroy(&work));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: 0

TEST*/
